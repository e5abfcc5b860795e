"""Fine-tune a vision transformer that came as ONNX: a new head first, then all of it, and back.

    python examples/finetune_vit.py                              # a tiny one, from PyTorch
    python examples/finetune_vit.py vit_b_16.onnx --size 224

It writes into the current folder."""

import argparse
from pathlib import Path

import gluonnx
import numpy as np
from gluonnx import mx
from gluonnx.mx import autograd, gluon

import digits

TINY = Path(__file__).parents[1] / "fixtures/onnx/torch_vit_float16/model.onnx"


def pictures(count, size, train):
    """Digits as colour pictures of that size, float32 (count, 3, size, size), and their classes."""
    x, y = digits.load(count, train=train)
    x = mx.nd.contrib.BilinearResize2D(mx.nd.array(x), height=size, width=size)
    return mx.nd.repeat(x, repeats=3, axis=1) * 2 - 1, mx.nd.array(y)


def train(net, data, epochs, rate, test):
    """Train what is not frozen; print the last epoch's loss, and the accuracy on `test`."""
    free = {n: p for n, p in net.collect_params().items() if p.grad_req != "null"}
    trainer = gluon.Trainer(free, "adam", {"learning_rate": rate})
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(epochs):
        losses = mx.metric.Loss()
        for x, y in data:
            with autograd.record():
                loss = entropy(net(x), y)
            loss.backward()
            trainer.step(batch_size=len(x))
            losses.update(None, loss)
    right = mx.nd.mean(net(test[0]).argmax(axis=1) == test[1]).asscalar()
    count = sum(p.data().size for p in free.values())
    print(f"{count} weights trained: loss {losses.get()[1]:.3f}, {right:.1%} of new digits right")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", default=TINY, help="an ONNX file")
    options.add_argument("--size", type=int, default=16, help="of pictures (%(default)s)")
    options.add_argument("--epochs", type=int, nargs=2, default=(3, 8), help="frozen, then free")
    given = options.parse_args()

    mx.random.seed(0)
    np.random.seed(0)
    ((name, what),) = gluonnx.inspect(given.model).inputs.items()
    wide = what["dtype"] == "float32"  # which training wants
    read = gluonnx.import_onnx if wide else gluonnx.import_widened
    print(read(given.model, output="imported"))

    features = mx.sym.load("imported-symbol.json").get_children()[0]  # that the last layer reads
    body = gluon.SymbolBlock(features, mx.sym.var(name))
    body.collect_params().load("imported-0000.params", ignore_extra=True)
    net = gluon.nn.HybridSequential()
    net.add(body, gluon.nn.Dense(10))
    net[1].initialize(mx.init.Xavier())
    net.hybridize()

    dataset = gluon.data.ArrayDataset(*pictures(1024, given.size, train=True))
    data, test = gluon.data.DataLoader(dataset, 32, True), pictures(256, given.size, train=False)
    for freedom, epochs, rate in zip(("null", "write"), given.epochs, (0.03, 0.01)):
        body.collect_params().setattr("grad_req", freedom)
        train(net, data, epochs, rate, test)

    net.export("tuned")
    print(gluonnx.convert("tuned", inputs={"data": test[0][:1].shape}, output="tuned.onnx"))


if __name__ == "__main__":
    main()
