"""mxboard: what is written of scalars, histograms, images and text, counted and weighed."""

import glob
import os
import tempfile

import mxnet as mx
import numpy as np
from mxboard import SummaryWriter


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


with tempfile.TemporaryDirectory() as folder:
    with SummaryWriter(logdir=folder, verbose=False) as writer:
        for step in range(5):
            writer.add_scalar("loss", 1.0 / (step + 1), step)
            writer.add_histogram("weights", mx.nd.array(np.arange(100) * 0.01 + step), step, bins=10)
        writer.add_image("picture", mx.nd.arange(48).reshape((1, 3, 4, 4)) / 48)
        writer.add_text("note", "a line")
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3)
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(3))
        net.initialize()
        net.hybridize()
        net(mx.nd.ones((1, 4)))
        writer.add_graph(net)
    files = glob.glob(os.path.join(folder, "*tfevents*"))
    report("files", len(files))
    with open(files[0], "rb") as file:
        text = file.read()
    report("tags", *(text.count(tag) for tag in (b"loss", b"weights", b"picture", b"note", b"FullyConnected")))
