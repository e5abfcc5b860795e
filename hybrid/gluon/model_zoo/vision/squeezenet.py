"""SqueezeNet. Iandola et al. 2016, arXiv:1602.07360."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent
from ..model_store import ROOT, load_pretrained

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

_CPU = cpu()

_FIRST = {"1.0": (96, 7), "1.1": (64, 3)}
"""Channels and kernel of the first convolution."""

_FIRES = {
    "1.0": (((16, 64), (16, 64), (32, 128)), ((32, 128), (48, 192), (48, 192), (64, 256)), ((64, 256),)),
    "1.1": (((16, 64), (16, 64)), ((32, 128), (32, 128)), ((48, 192), (48, 192), (64, 256), (64, 256))),
}
"""Fire modules between the poolings: channels that they squeeze to, and of either half that they expand to."""


def _conv(channels: int, kernel_size: int, padding: int = 0) -> nn.HybridSequential:
    out = nn.HybridSequential(prefix="")
    out.add(nn.Conv2D(channels, kernel_size, padding=padding), nn.Activation("relu"))
    return out


def _fire(squeeze: int, expand: int) -> nn.HybridSequential:
    """A 1x1 convolution, then a 1x1 and a 3x3 side by side."""
    out = nn.HybridSequential(prefix="")
    out.add(_conv(squeeze, 1))
    paths = HybridConcurrent(axis=1, prefix="")
    paths.add(_conv(expand, 1), _conv(expand, 3, 1))
    out.add(paths)
    return out


class SqueezeNet(HybridBlock):
    """Fire modules: (N, 3, 224, 224) -> (N, classes). Raises AssertionError for a version other than 1.0 and 1.1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.SqueezeNet("1.1", classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any):
        super().__init__(**kwargs)
        if version not in _FIRES:
            raise AssertionError(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
        channels, kernel = _FIRST[version]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(channels, kernel_size=kernel, strides=2), nn.Activation("relu"))
            for fires in _FIRES[version]:
                self.features.add(nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True))
                for squeeze, expand in fires:
                    self.features.add(_fire(squeeze, expand))
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(nn.Conv2D(classes, kernel_size=1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """Scores of the classes."""
        return self.output(self.features(x))


def get_squeezenet(
    version: str, pretrained: bool = False, ctx: Any = _CPU, root: str = ROOT, **kwargs: Any
) -> SqueezeNet:
    """SqueezeNet of version 1.0 or 1.1; pretrained reads root, see model_store."""
    net = SqueezeNet(version, **kwargs)
    if pretrained:
        load_pretrained(net, f"squeezenet{version}", root, ctx)
    return net


def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.squeezenet1_0(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1: as accurate with 2.4 times less computation.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.squeezenet1_1(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_squeezenet("1.1", **kwargs)
