"""VGG networks, plain and with batch normalization. Simonyan and Zisserman 2015, arXiv:1409.1556."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ....initializer import Xavier
from ... import nn
from ...block import HybridBlock
from ..model_store import ROOT, load_pretrained

__all__ = [
    "VGG",
    "get_vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

_CPU = cpu()
_FILTERS = [64, 128, 256, 512, 512]

vgg_spec = {
    11: ([1, 1, 2, 2, 2], _FILTERS),
    13: ([2, 2, 2, 2, 2], _FILTERS),
    16: ([2, 2, 3, 3, 3], _FILTERS),
    19: ([2, 2, 4, 4, 4], _FILTERS),
}
"""By the number of layers: convolutions in each stage, and their channels."""


class VGG(HybridBlock):
    """Stages of 3x3 convolutions with pooling between, and three dense layers: (N, 3, H, W) -> (N, classes).

    layers and filters say how many convolutions each stage has, and of how many channels. Raises AssertionError when they
    differ in length.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.VGG([1, 1], [8, 16], classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    def __init__(
        self,
        layers: list[int],
        filters: list[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise AssertionError(f"layers and filters must be of one length, got {len(layers)} and {len(filters)}")
        with self.name_scope():
            self.features = self._make_features(layers, filters, batch_norm)
            for _ in range(2):
                self.features.add(
                    nn.Dense(4096, activation="relu", weight_initializer="normal", bias_initializer="zeros"),
                    nn.Dropout(rate=0.5),
                )
            self.output = nn.Dense(classes, weight_initializer="normal", bias_initializer="zeros")

    def _make_features(self, layers: list[int], filters: list[int], batch_norm: bool) -> nn.HybridSequential:
        features = nn.HybridSequential(prefix="")
        for count, channels in zip(layers, filters):
            for _ in range(count):
                features.add(
                    nn.Conv2D(
                        channels,
                        kernel_size=3,
                        padding=1,
                        weight_initializer=Xavier(rnd_type="gaussian", factor_type="out", magnitude=2),
                        bias_initializer="zeros",
                    )
                )
                if batch_norm:
                    features.add(nn.BatchNorm())
                features.add(nn.Activation("relu"))
            features.add(nn.MaxPool2D(strides=2))
        return features

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """Scores of the classes."""
        return self.output(self.features(x))


def get_vgg(num_layers: int, pretrained: bool = False, ctx: Any = _CPU, root: str = ROOT, **kwargs: Any) -> VGG:
    """The VGG network of 11, 13, 16 or 19 layers; pretrained reads root, see model_store. Raises KeyError for others.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.get_vgg(11, classes=10, batch_norm=True)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    layers, filters = vgg_spec[num_layers]
    net = VGG(layers, filters, **kwargs)
    if pretrained:
        load_pretrained(net, f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}", root, ctx)
    return net


def vgg11(**kwargs: Any) -> VGG:
    """VGG of 11 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.vgg11(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_vgg(11, **kwargs)


def vgg13(**kwargs: Any) -> VGG:
    """VGG of 13 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.vgg13(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_vgg(13, **kwargs)


def vgg16(**kwargs: Any) -> VGG:
    """VGG of 16 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.vgg16(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_vgg(16, **kwargs)


def vgg19(**kwargs: Any) -> VGG:
    """VGG of 19 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.vgg19(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs: Any) -> VGG:
    """VGG of 11 layers with batch normalization.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.vgg11_bn(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_vgg(11, **{**kwargs, "batch_norm": True})


def vgg13_bn(**kwargs: Any) -> VGG:
    """VGG of 13 layers with batch normalization.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.vgg13_bn(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_vgg(13, **{**kwargs, "batch_norm": True})


def vgg16_bn(**kwargs: Any) -> VGG:
    """VGG of 16 layers with batch normalization.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.vgg16_bn(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_vgg(16, **{**kwargs, "batch_norm": True})


def vgg19_bn(**kwargs: Any) -> VGG:
    """VGG of 19 layers with batch normalization.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.vgg19_bn(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_vgg(19, **{**kwargs, "batch_norm": True})
