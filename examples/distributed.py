"""Train on several processes, each with its part of the data; rank 0 exports and converts.

    pip install mpi4py mpich
    mpirun -n 2 python examples/distributed.py
    mpirun -n 8 -hosts a,b python examples/distributed.py --mnist FOLDER --count 60000

Started without mpirun it is a world of one process."""

import argparse

import gluonnx
import numpy as np
from gluonnx import mx
from gluonnx.mx import autograd, gluon

import digits
import train_lenet


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--mnist", metavar="FOLDER", help="a folder with MNIST's four files")
    options.add_argument("--count", type=int, default=1024, help="digits to train on, of all ranks")
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--batch", type=int, default=32, help="of each rank (%(default)s)")
    given = options.parse_args()

    store = mx.kv.create("dist_sync")
    rank, ranks = store.rank, store.num_workers
    mx.random.seed(0)  # the same first weights on all ranks
    np.random.seed(rank)  # and another order of pictures
    net = train_lenet.lenet()
    net.initialize(mx.init.Xavier())
    net.hybridize()

    pictures, labels = digits.load(given.count, given.mnist)
    part = gluon.data.ArrayDataset(pictures[rank::ranks], labels[rank::ranks])
    data = gluon.data.DataLoader(part, given.batch, shuffle=True, last_batch="discard")
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003}, kvstore=store)
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    for epoch in range(given.epochs):
        losses = mx.metric.Loss()
        for x, y in data:
            with autograd.record():
                loss = entropy(net(x), y)
            loss.backward()
            trainer.step(batch_size=ranks * len(x))  # the total batch
            losses.update(None, loss)
        print(f"rank {rank} of {ranks}, epoch {epoch + 1}: loss {losses.get()[1]:.3f}", flush=True)

    if rank == 0:  # the others have the same weights
        net.export("distributed")
        one = {"data": (1, 1, 28, 28)}
        print(gluonnx.convert("distributed", inputs=one, batch="batch", output="distributed.onnx"))
    test, right = digits.load(256, given.mnist, train=False)
    accuracy = (net(mx.nd.array(test)).argmax(axis=1).asnumpy() == right).mean()
    print(f"rank {rank} of {ranks}: {accuracy:.1%} right")


if __name__ == "__main__":
    main()
