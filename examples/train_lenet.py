"""Train LeNet, export it as MXNet does, convert it to ONNX, and check the file on new digits.

    python examples/train_lenet.py                                         # digits drawn here
    python examples/train_lenet.py --mnist FOLDER --count 60000 --epochs 5    # MNIST's files

It writes into the current folder."""

import argparse
import time

import gluonnx
import numpy as np
from gluonnx import mx
from gluonnx.mx import autograd, gluon
from gluonnx.mx.gluon import nn

import digits


def lenet():
    """LeNet with ReLU and max pooling, for pictures of 28 x 28."""
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, kernel_size=5, activation="relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Conv2D(50, kernel_size=5, activation="relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Dense(128, activation="relu"),
        nn.Dense(10),
    )
    return net


def train(net, data, epochs, rate=0.003):
    """Train with Adam, and print loss and accuracy of each epoch."""
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": rate})
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    for epoch in range(epochs):
        losses, accuracy, start = mx.metric.Loss(), mx.metric.Accuracy(), time.perf_counter()
        for x, y in data:
            with autograd.record():
                scores = net(x)
                loss = entropy(scores, y)
            loss.backward()
            trainer.step(batch_size=len(x))
            losses.update(None, loss)
            accuracy.update(y, scores)
        mean, right, seconds = losses.get()[1], accuracy.get()[1], time.perf_counter() - start
        print(f"epoch {epoch + 1}: loss {mean:.3f}, accuracy {right:.1%}, {seconds:.1f} s")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--mnist", metavar="FOLDER", help="a folder with MNIST's four files")
    options.add_argument("--count", type=int, default=1024, help="digits to train on")
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("-o", "--output", default="lenet", help="prefix of the files written")
    given = options.parse_args()

    mx.random.seed(0)
    np.random.seed(0)
    dataset = gluon.data.ArrayDataset(*digits.load(given.count, given.mnist))
    net = lenet()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    train(net, gluon.data.DataLoader(dataset, batch_size=32, shuffle=True), given.epochs)

    net.export(given.output)  # -symbol.json and -0000.params, which MXNet 1.9.1 reads as well
    file, one = f"{given.output}.onnx", {"data": (1, 1, 28, 28)}
    print(gluonnx.convert(given.output, inputs=one, batch="batch", output=file))

    pictures, labels = digits.load(256, given.mnist, train=False)
    (scores,) = gluonnx.run(file, {"data": pictures}).values()  # by onnxruntime
    print(f"{file} on {len(labels)} new digits: {np.mean(scores.argmax(1) == labels):.1%} right")


if __name__ == "__main__":
    main()
