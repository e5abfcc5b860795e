"""Inception V3. Szegedy et al. 2016, arXiv:1512.00567."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent
from ..model_store import ROOT, load_pretrained

__all__ = ["Inception3", "inception_v3"]

_CPU = cpu()

Conv = tuple[Any, ...]
"""channels, kernel, and where they are not 1 and 0 stride and padding."""


def _conv(channels: int, kernel: Any, stride: int = 1, padding: Any = 0) -> nn.HybridSequential:
    """A convolution, its normalization and activation."""
    out = nn.HybridSequential(prefix="")
    out.add(
        nn.Conv2D(channels, kernel, stride, padding, use_bias=False),
        nn.BatchNorm(epsilon=0.001),
        nn.Activation("relu"),
    )
    return out


def _branch(pool: str | None, *convs: Conv) -> nn.HybridSequential:
    """A pooling, if any, then convolutions."""
    out = nn.HybridSequential(prefix="")
    if pool == "avg":
        out.add(nn.AvgPool2D(pool_size=3, strides=1, padding=1))
    elif pool == "max":
        out.add(nn.MaxPool2D(pool_size=3, strides=2))
    for conv in convs:
        out.add(_conv(*conv))
    return out


def _module(prefix: str, *branches: Any) -> HybridConcurrent:
    """Branches side by side; one is what _branch takes."""
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        for pool, *convs in branches:
            out.add(_branch(pool, *convs))
    return out


def _make_a(pool_features: int, prefix: str) -> HybridConcurrent:
    return _module(
        prefix,
        (None, (64, 1)),
        (None, (48, 1), (64, 5, 1, 2)),
        (None, (64, 1), (96, 3, 1, 1), (96, 3, 1, 1)),
        ("avg", (pool_features, 1)),
    )


def _make_b(prefix: str) -> HybridConcurrent:
    return _module(prefix, (None, (384, 3, 2)), (None, (64, 1), (96, 3, 1, 1), (96, 3, 2)), ("max",))


def _make_c(channels_7x7: int, prefix: str) -> HybridConcurrent:
    def wide(channels: int) -> Conv:
        return channels, (1, 7), 1, (0, 3)

    def high(channels: int) -> Conv:
        return channels, (7, 1), 1, (3, 0)

    c = channels_7x7
    return _module(
        prefix,
        (None, (192, 1)),
        (None, (c, 1), wide(c), high(192)),
        (None, (c, 1), high(c), wide(c), high(c), wide(192)),
        ("avg", (192, 1)),
    )


def _make_d(prefix: str) -> HybridConcurrent:
    return _module(
        prefix,
        (None, (192, 1), (320, 3, 2)),
        (None, (192, 1), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2)),
        ("max",),
    )


def _make_e(prefix: str) -> HybridConcurrent:
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        out.add(_branch(None, (320, 1)))
        for convs in (((384, 1),), ((448, 1), (384, 3, 1, 1))):
            branch = nn.HybridSequential(prefix="")
            branch.add(_branch(None, *convs))
            split = HybridConcurrent(axis=1, prefix="")
            split.add(_branch(None, (384, (1, 3), 1, (0, 1))), _branch(None, (384, (3, 1), 1, (1, 0))))
            branch.add(split)
            out.add(branch)
        out.add(_branch("avg", (192, 1)))
    return out


class Inception3(HybridBlock):
    """Modules of convolutions side by side: (N, 3, 299, 299) -> (N, classes).

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.Inception3(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 299, 299))[1]
    [(1, 10)]
    """

    def __init__(self, classes: int = 1000, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                _conv(32, 3, 2),
                _conv(32, 3),
                _conv(64, 3, 1, 1),
                nn.MaxPool2D(pool_size=3, strides=2),
                _conv(80, 1),
                _conv(192, 3),
                nn.MaxPool2D(pool_size=3, strides=2),
                _make_a(32, "A1_"),
                _make_a(64, "A2_"),
                _make_a(64, "A3_"),
                _make_b("B_"),
                _make_c(128, "C1_"),
                _make_c(160, "C2_"),
                _make_c(160, "C3_"),
                _make_c(192, "C4_"),
                _make_d("D_"),
                _make_e("E1_"),
                _make_e("E2_"),
                nn.AvgPool2D(pool_size=8),
                nn.Dropout(0.5),
            )
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """Scores of the classes."""
        return self.output(self.features(x))


def inception_v3(pretrained: bool = False, ctx: Any = _CPU, root: str = ROOT, **kwargs: Any) -> Inception3:
    """Inception V3; pretrained reads root, see model_store.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.inception_v3(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 299, 299))[1]
    [(1, 10)]
    """
    net = Inception3(**kwargs)
    if pretrained:
        load_pretrained(net, "inceptionv3", root, ctx)
    return net
