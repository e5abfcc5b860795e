"""Training that is cut off: ``resuming.py gluon|module STORE FOLDER|- OUT [BATCHES [EPOCHS]]``; the last rank is killed after these
batches, where that is no ``-``.

Weights of the end go to OUT, of rank 0. Dropout, shuffling, momentum, a rate schedule and compressed gradients all have a state."""

import itertools
import os
import signal
import sys

import mxnet as mx
import numpy as np

FORM, STORE, FOLDER, OUT = sys.argv[1:5]
LEFT = int(sys.argv[5]) if sys.argv[5:6] not in ([], ["-"]) else None
EPOCHS = int(sys.argv[6]) if len(sys.argv) > 6 else 4
mx.random.seed(11)
np.random.seed(11)
store = mx.kv.create(STORE) if STORE != "none" else None
rank, size = (store.rank, store.num_workers) if store else (0, 1)
random = np.random.RandomState(rank)
X, Y = random.randn(40, 6).astype(np.float32), random.randint(0, 3, 40).astype(np.float32)
SCHEDULE = mx.lr_scheduler.FactorScheduler(5, 0.7, base_lr=0.1)
SETTINGS = {"learning_rate": 0.1, "lr_scheduler": SCHEDULE}


TICKS = itertools.count()  # of this process: fit goes on with numbers that its callbacks count in


def tick(*ignored):
    done = next(TICKS)
    if done == LEFT and rank == size - 1:
        os.kill(os.getpid(), signal.SIGKILL)


def gluon():
    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Dense(16, activation="relu"),
        mx.gluon.nn.BatchNorm(),
        mx.gluon.nn.Dropout(0.5),
        mx.gluon.nn.Dense(3),
    )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    compression = {"type": "2bit", "threshold": 0.05} if size > 1 else None
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", SETTINGS, kvstore=store, compression_params=compression)
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(X, Y), 8, shuffle=True)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    run = mx.resuming.Training(None if FOLDER == "-" else FOLDER, net=net, trainer=trainer, every=2)
    for _ in run.epochs(EPOCHS):
        for x, y in run.batches(loader):
            with mx.autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(8 * size)
            tick()
    return {name: p.data().asnumpy() for name, p in net._collect_params_with_prefix().items()}


def module():
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="one")
    hidden = mx.sym.Dropout(mx.sym.BatchNorm(mx.sym.Activation(hidden, act_type="relu"), name="bn"), p=0.5)
    symbol = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name="two"), name="softmax")
    made = mx.mod.Module(symbol)
    batches = mx.io.NDArrayIter(X, Y, 8, shuffle=True)
    made.fit(
        batches,
        num_epoch=EPOCHS,
        kvstore=store or "local",
        optimizer="sgd",
        optimizer_params={**SETTINGS, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        batch_end_callback=tick,
    )
    arguments, states = made.get_params()
    return {name: a.asnumpy() for name, a in {**arguments, **states}.items()}


weights = {"gluon": gluon, "module": module}[FORM]()
np.savez(f"{OUT}-{rank}.npz", done=next(TICKS), **weights)
