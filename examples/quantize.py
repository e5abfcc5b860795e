"""Make 8-bit integers of a LeNet, and tell what that costs: in all, layer by layer, and in top-1.

    python examples/quantize.py                                  # trains one first
    python examples/quantize.py --mnist FOLDER --method entropy

It writes into the current folder."""

import argparse

import gluonnx
import numpy as np
from gluonnx import mx
from gluonnx.mx import gluon

import digits
import train_lenet


def top1(file, pictures, labels):
    """The share of pictures that an ONNX file names rightly, in onnxruntime."""
    (scores,) = gluonnx.run(file, {"data": pictures}).values()
    return np.mean(scores.argmax(1) == labels)


def trained(mnist):
    """A LeNet after an epoch or two, exported; the prefix of its files."""
    mx.random.seed(0)
    np.random.seed(0)
    net = train_lenet.lenet()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    dataset = gluon.data.ArrayDataset(*digits.load(1024, mnist))
    train_lenet.train(net, gluon.data.DataLoader(dataset, 32, shuffle=True), epochs=2)
    net.export("lenet")
    return "lenet"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--mnist", metavar="FOLDER", help="a folder with MNIST's four files")
    options.add_argument("--model", metavar="PREFIX", help="a network that is there already")
    options.add_argument("--method", default="minmax", help="minmax, percentile or entropy")
    given = options.parse_args()

    prefix = given.model or trained(given.mnist)
    shape = {"data": (1, 1, 28, 28)}
    gluonnx.convert(prefix, inputs=shape, batch="batch", output="float.onnx")
    seen, _ = digits.load(128, given.mnist)
    wanted = gluonnx.Quantized(data={"data": seen}, method=given.method)
    made = gluonnx.convert_in(wanted, prefix, inputs=shape, batch="batch", output="int8.onnx")

    print(f"{'layer':34} {'operator':8} {'max error':>9} {'of scale':>8} {'SQNR dB':>7}")
    for row in made.accuracy.layers:
        error = f"{row.max_abs:9.2g} {row.max_rel:8.1%} {row.sqnr:7.1f}"
        print(f"{row.tensor:34} {row.operator:8} {error}")
    for stay in made.accuracy.stays:
        print(f"in float32: {stay.node}, {stay.reason}")

    pictures, labels = digits.load(512, given.mnist, train=False)
    before, after = made.accuracy.bytes
    print(f"\n{'':8} {'bytes':>9} {'top-1':>6}")
    print(f"{'float32':8} {before:9} {top1('float.onnx', pictures, labels):6.1%}")
    print(f"{'int8':8} {after:9} {top1('int8.onnx', pictures, labels):6.1%}")


if __name__ == "__main__":
    main()
