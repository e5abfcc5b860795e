"""Pictures of digits for the examples: those of MNIST, or digits that are drawn here."""

import numpy as np
from gluonnx import mx

GLYPHS = "75557 26227 71747 71717 55711 74717 74757 71222 75757 75717".split()
"""By digit five rows of three dots, each row an octal number."""


def load(count, folder=None, train=True, seed=0):
    """`count` pictures of digits and what they show: float32 (count, 1, 28, 28) from 0 to 1, int32.

    folder: where MNIST's four files are (train-images-idx3-ubyte.gz and so on); without one the
    digits are drawn, in the same way for the same seed, and others for training than for testing.
    """
    if folder is not None:
        pictures, labels = mx.gluon.data.vision.MNIST(folder, train=train)[:count]
        return pictures.asnumpy().transpose(0, 3, 1, 2).astype("float32") / 255, labels[:count]
    rng = np.random.default_rng([seed, train])
    labels = rng.integers(0, 10, count).astype("int32")
    pictures = rng.uniform(0, 0.3, (count, 1, 28, 28)).astype("float32")
    for picture, label in zip(pictures[:, 0], labels):
        dots = np.array([[int(row) >> bit & 1 for bit in (2, 1, 0)] for row in GLYPHS[label]])
        top, left = rng.integers(2, 7), rng.integers(6, 11)
        drawn = np.kron(dots, np.ones((4, 4))) * rng.uniform(0.5, 0.7)
        picture[top : top + 20, left : left + 12] += drawn.astype("float32")
    return pictures, labels
