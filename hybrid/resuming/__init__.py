"""Training that goes on where it was cut off, bit for bit: weights, optimizer, rates, random numbers and the place in the data.

``python -m hybrid --resume FOLDER train.py`` has ``Module.fit`` keep all of that in a folder, with what its callbacks carry, and
go on from it. A program with a loop of its own says where its epochs and batches are::

    run = mx.resuming.Training(net=net, trainer=trainer)
    for epoch in run.epochs(10):
        for data, label in run.batches(loader):
            ...
            trainer.step(len(data))

Of several processes rank 0 writes the file, whole and at once, with what differs between ranks. docs/distributed.md."""

from .training import Training

__all__ = ["Training"]
