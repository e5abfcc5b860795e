"""DenseNet. Huang et al. 2017, arXiv:1608.06993."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent, Identity
from ..model_store import ROOT, load_pretrained

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]

_CPU = cpu()

densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}
"""By the number of layers: channels of the first convolution, channels each layer adds, layers of each block."""


def _norm_conv(out: nn.HybridSequential, channels: int, kernel_size: int, padding: int = 0) -> None:
    out.add(
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(channels, kernel_size=kernel_size, padding=padding, use_bias=False),
    )


def _dense_layer(growth_rate: int, bn_size: int, dropout: float) -> HybridConcurrent:
    """New channels beside the old ones."""
    new = nn.HybridSequential(prefix="")
    _norm_conv(new, bn_size * growth_rate, 1)
    _norm_conv(new, growth_rate, 3, 1)
    if dropout:
        new.add(nn.Dropout(dropout))
    out = HybridConcurrent(axis=1, prefix="")
    out.add(Identity(), new)
    return out


class DenseNet(HybridBlock):
    """Blocks whose layers see all layers before: (N, 3, 224, 224) -> (N, classes).

    Each layer adds growth_rate channels; bn_size times as many lie between its two convolutions.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.DenseNet(16, growth_rate=8, block_config=[2, 2, 2, 2], classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: list[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                nn.Conv2D(num_init_features, kernel_size=7, strides=2, padding=3, use_bias=False),
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.MaxPool2D(pool_size=3, strides=2, padding=1),
            )
            channels = num_init_features
            for number, layers in enumerate(block_config, 1):
                if number > 1:  # a transition halves channels and size
                    channels //= 2
                    transition = nn.HybridSequential(prefix="")
                    _norm_conv(transition, channels, 1)
                    transition.add(nn.AvgPool2D(pool_size=2, strides=2))
                    self.features.add(transition)
                block = nn.HybridSequential(prefix=f"stage{number}_")
                with block.name_scope():
                    for _ in range(layers):
                        block.add(_dense_layer(growth_rate, bn_size, dropout))
                self.features.add(block)
                channels += layers * growth_rate
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(pool_size=7), nn.Flatten())
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """Scores of the classes."""
        return self.output(self.features(x))


def get_densenet(
    num_layers: int, pretrained: bool = False, ctx: Any = _CPU, root: str = ROOT, **kwargs: Any
) -> DenseNet:
    """The DenseNet of 121, 161, 169 or 201 layers; pretrained reads root, see model_store. Raises KeyError for others."""
    net = DenseNet(*densenet_spec[num_layers], **kwargs)
    if pretrained:
        load_pretrained(net, f"densenet{num_layers}", root, ctx)
    return net


def densenet121(**kwargs: Any) -> DenseNet:
    """DenseNet of 121 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.densenet121(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_densenet(121, **kwargs)


def densenet161(**kwargs: Any) -> DenseNet:
    """DenseNet of 161 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.densenet161(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_densenet(161, **kwargs)


def densenet169(**kwargs: Any) -> DenseNet:
    """DenseNet of 169 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.densenet169(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_densenet(169, **kwargs)


def densenet201(**kwargs: Any) -> DenseNet:
    """DenseNet of 201 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.densenet201(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_densenet(201, **kwargs)
