"""MobileNet (Howard et al. 2017, arXiv:1704.04861) and MobileNet V2 (Sandler et al. 2018, arXiv:1801.04381)."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...block import HybridBlock
from ..model_store import ROOT, load_pretrained

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_5",
    "mobilenet0_25",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]

_CPU = cpu()

_SEPARABLE = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
"""MobileNet: channels that each depthwise separable convolution gives, and its stride."""

_BOTTLENECKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""MobileNet V2: factor of expansion, channels, how many in a row, and the stride of the first."""


class RELU6(HybridBlock):
    """x clipped to [0, 6]."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """The activation of x."""
        return F.clip(x, 0, 6, name="relu6")


def _add_conv(
    out: nn.HybridSequential,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    pad: int = 0,
    num_group: int = 1,
    active: bool = True,
    relu6: bool = False,
) -> None:
    """A convolution, its normalization, and unless active is off its activation."""
    out.add(nn.Conv2D(channels, kernel, stride, pad, groups=num_group, use_bias=False))
    out.add(nn.BatchNorm(scale=True))
    if active:
        out.add(RELU6() if relu6 else nn.Activation("relu"))


class LinearBottleneck(HybridBlock):
    """Expand channels t times, convolve each by itself, project: with a shortcut when shapes allow it."""

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        with self.name_scope():
            self.out = nn.HybridSequential()
            wide = in_channels * t
            _add_conv(self.out, wide, relu6=True)
            _add_conv(self.out, wide, kernel=3, stride=stride, pad=1, num_group=wide, relu6=True)
            _add_conv(self.out, channels, active=False, relu6=True)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """The bottleneck's output for x."""
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(HybridBlock):
    """Depthwise separable convolutions: (N, 3, H, W) -> (N, classes). multiplier scales all numbers of channels.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.MobileNet(0.25, classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                channels = int(32 * multiplier)
                _add_conv(self.features, channels, kernel=3, pad=1, stride=2)
                for wider, stride in _SEPARABLE:
                    _add_conv(self.features, channels, kernel=3, stride=stride, pad=1, num_group=channels)
                    channels = int(wider * multiplier)
                    _add_conv(self.features, channels)
                self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """Scores of the classes."""
        return self.output(self.features(x))


class MobileNetV2(HybridBlock):
    """Linear bottlenecks: (N, 3, H, W) -> (N, classes). multiplier scales all numbers of channels.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.MobileNetV2(0.25, classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                channels = int(32 * multiplier)
                _add_conv(self.features, channels, kernel=3, stride=2, pad=1, relu6=True)
                for t, wider, repeats, first_stride in _BOTTLENECKS:
                    for number in range(repeats):
                        stride = 1 if number else first_stride
                        self.features.add(LinearBottleneck(channels, int(wider * multiplier), t, stride))
                        channels = int(wider * multiplier)
                last = int(1280 * multiplier) if multiplier > 1.0 else 1280
                _add_conv(self.features, last, relu6=True)
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """Scores of the classes."""
        return self.output(self.features(x))


def _suffix(multiplier: float) -> str:
    """Spelling of a multiplier in file names: 1.0, 0.75, 0.5, 0.25."""
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text


def get_mobilenet(
    multiplier: float, pretrained: bool = False, ctx: Any = _CPU, root: str = ROOT, **kwargs: Any
) -> MobileNet:
    """MobileNet of any multiplier; pretrained (0.25, 0.5, 0.75, 1.0) reads root, see model_store.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.get_mobilenet(0.3, classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    net = MobileNet(multiplier, **kwargs)
    if pretrained:
        load_pretrained(net, f"mobilenet{_suffix(multiplier)}", root, ctx)
    return net


def get_mobilenet_v2(
    multiplier: float, pretrained: bool = False, ctx: Any = _CPU, root: str = ROOT, **kwargs: Any
) -> MobileNetV2:
    """MobileNet V2 of any multiplier; pretrained (0.25, 0.5, 0.75, 1.0) reads root, see model_store.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.get_mobilenet_v2(0.3, classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    net = MobileNetV2(multiplier, **kwargs)
    if pretrained:
        load_pretrained(net, f"mobilenetv2_{_suffix(multiplier)}", root, ctx)
    return net


def mobilenet1_0(**kwargs: Any) -> MobileNet:
    """MobileNet of multiplier 1.0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.mobilenet1_0(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_mobilenet(1.0, **kwargs)


def mobilenet_v2_1_0(**kwargs: Any) -> MobileNetV2:
    """MobileNet V2 of multiplier 1.0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.mobilenet_v2_1_0(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet0_75(**kwargs: Any) -> MobileNet:
    """MobileNet of multiplier 0.75.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.mobilenet0_75(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_mobilenet(0.75, **kwargs)


def mobilenet_v2_0_75(**kwargs: Any) -> MobileNetV2:
    """MobileNet V2 of multiplier 0.75.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.mobilenet_v2_0_75(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet0_5(**kwargs: Any) -> MobileNet:
    """MobileNet of multiplier 0.5.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.mobilenet0_5(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_mobilenet(0.5, **kwargs)


def mobilenet_v2_0_5(**kwargs: Any) -> MobileNetV2:
    """MobileNet V2 of multiplier 0.5.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.mobilenet_v2_0_5(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet0_25(**kwargs: Any) -> MobileNet:
    """MobileNet of multiplier 0.25.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.mobilenet0_25(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_0_25(**kwargs: Any) -> MobileNetV2:
    """MobileNet V2 of multiplier 0.25.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.mobilenet_v2_0_25(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_mobilenet_v2(0.25, **kwargs)
