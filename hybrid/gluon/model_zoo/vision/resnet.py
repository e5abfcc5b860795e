"""Residual networks. V1: He et al. 2016, arXiv:1512.03385; V2: He et al. 2016, arXiv:1603.05027."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...block import HybridBlock
from ..model_store import ROOT, load_pretrained

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
]

_CPU = cpu()


def _conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(channels, kernel_size=3, strides=stride, padding=1, use_bias=False, in_channels=in_channels)


def _shortcut(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(channels, kernel_size=1, strides=stride, use_bias=False, in_channels=in_channels)


class _BlockV1(HybridBlock):
    """Activation last: relu(body(x) + x), where x is convolved first if shapes change."""

    def _add_downsample(self, downsample: bool, channels: int, stride: int, in_channels: int) -> None:
        self.downsample = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(_shortcut(channels, stride, in_channels), nn.BatchNorm())


class BasicBlockV1(_BlockV1):
    """Two 3x3 convolutions, of ResNet V1 with 18 and 34 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> block = mx.gluon.model_zoo.vision.BasicBlockV1(16, stride=2, downsample=True, in_channels=8)
    >>> block.initialize()
    >>> block(mx.nd.ones((1, 8, 6, 6))).shape
    (1, 16, 3, 3)
    """

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any):
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(
            _conv3x3(channels, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels, 1, channels),
            nn.BatchNorm(),
        )
        self._add_downsample(downsample, channels, stride, in_channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """The block's output for x."""
        residual = x if self.downsample is None else self.downsample(x)
        return F.Activation(residual + self.body(x), act_type="relu")


class BottleneckV1(_BlockV1):
    """1x1, 3x3 and 1x1 convolutions, of ResNet V1 with 50 layers and more.

    Examples
    --------
    >>> from gluonnx import mx
    >>> block = mx.gluon.model_zoo.vision.BottleneckV1(16, stride=2, downsample=True, in_channels=8)
    >>> block.initialize()
    >>> block(mx.nd.ones((1, 8, 6, 6))).shape
    (1, 16, 3, 3)
    """

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any):
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(
            nn.Conv2D(channels // 4, kernel_size=1, strides=stride),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels // 4, 1, channels // 4),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, kernel_size=1, strides=1),
            nn.BatchNorm(),
        )
        self._add_downsample(downsample, channels, stride, in_channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """The block's output for x."""
        out = self.body(x)
        return F.Activation(out + (x if self.downsample is None else self.downsample(x)), act_type="relu")


class BasicBlockV2(HybridBlock):
    """Two 3x3 convolutions, each after its normalization, of ResNet V2 with 18 and 34 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> block = mx.gluon.model_zoo.vision.BasicBlockV2(16, stride=2, downsample=True, in_channels=8)
    >>> block.initialize()
    >>> block(mx.nd.ones((1, 8, 6, 6))).shape
    (1, 16, 3, 3)
    """

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any):
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)
        self.downsample = _shortcut(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """The block's output for x."""
        out = F.Activation(self.bn1(x), act_type="relu")
        residual = x if self.downsample is None else self.downsample(out)
        out = F.Activation(self.bn2(self.conv1(out)), act_type="relu")
        return self.conv2(out) + residual


class BottleneckV2(HybridBlock):
    """1x1, 3x3 and 1x1 convolutions, each after its normalization, of ResNet V2 with 50 layers and more.

    Examples
    --------
    >>> from gluonnx import mx
    >>> block = mx.gluon.model_zoo.vision.BottleneckV2(16, stride=2, downsample=True, in_channels=8)
    >>> block.initialize()
    >>> block(mx.nd.ones((1, 8, 6, 6))).shape
    (1, 16, 3, 3)
    """

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any):
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = nn.Conv2D(channels // 4, kernel_size=1, strides=1, use_bias=False)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels // 4, stride, channels // 4)
        self.bn3 = nn.BatchNorm()
        self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=1, use_bias=False)
        self.downsample = _shortcut(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """The block's output for x."""
        out = F.Activation(self.bn1(x), act_type="relu")
        residual = x if self.downsample is None else self.downsample(out)
        out = F.Activation(self.bn2(self.conv1(out)), act_type="relu")
        out = F.Activation(self.bn3(self.conv2(out)), act_type="relu")
        return self.conv3(out) + residual


class _ResNet(HybridBlock):
    """Stages of residual blocks of one kind, features first, then a dense layer."""

    features: Any
    output: Any

    def _check(self, layers: list[int], channels: list[int]) -> None:
        if len(layers) != len(channels) - 1:
            raise AssertionError(
                f"{len(layers)} stages want {len(layers) + 1} numbers of channels, the first layer's included; "
                f"got {len(channels)}"
            )

    def _add_first(self, channels: int, thumbnail: bool) -> None:
        """The layers before the stages; for thumbnails they keep the image's size."""
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
            return
        self.features.add(
            nn.Conv2D(channels, 7, 2, 3, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(3, 2, 1),
        )

    def _add_stages(self, block: Any, layers: list[int], channels: list[int]) -> None:
        for number, count in enumerate(layers, 1):
            before, after = channels[number - 1], channels[number]
            stage = nn.HybridSequential(prefix=f"stage{number}_")
            with stage.name_scope():
                stride = 1 if number == 1 else 2
                stage.add(block(after, stride, after != before, in_channels=before, prefix=""))
                for _ in range(count - 1):
                    stage.add(block(after, 1, False, in_channels=after, prefix=""))
            self.features.add(stage)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """Scores of the classes."""
        return self.output(self.features(x))


class ResNetV1(_ResNet):
    """(N, 3, H, W) -> (N, classes). layers: blocks of each stage; channels: of the first layer, then of each stage.

    Raises AssertionError when these do not go together.

    Examples
    --------
    >>> from gluonnx import mx
    >>> vision = mx.gluon.model_zoo.vision
    >>> net = vision.ResNetV1(vision.BasicBlockV1, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(mx.nd.ones((1, 3, 8, 8))).shape
    (1, 10)
    """

    def __init__(
        self,
        block: type[HybridBlock],
        layers: list[int],
        channels: list[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_first(channels[0], thumbnail)
            self._add_stages(block, layers, channels)
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """(N, 3, H, W) -> (N, classes), activations before convolutions; arguments and errors as ResNetV1's.

    Examples
    --------
    >>> from gluonnx import mx
    >>> vision = mx.gluon.model_zoo.vision
    >>> net = vision.ResNetV2(vision.BasicBlockV2, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(mx.nd.ones((1, 3, 8, 8))).shape
    (1, 10)
    """

    def __init__(
        self,
        block: type[HybridBlock],
        layers: list[int],
        channels: list[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.BatchNorm(scale=False, center=False))
            self._add_first(channels[0], thumbnail)
            self._add_stages(block, layers, channels)
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes, in_units=channels[-1])


resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], [64, 64, 128, 256, 512]),
    34: ("basic_block", [3, 4, 6, 3], [64, 64, 128, 256, 512]),
    50: ("bottle_neck", [3, 4, 6, 3], [64, 256, 512, 1024, 2048]),
    101: ("bottle_neck", [3, 4, 23, 3], [64, 256, 512, 1024, 2048]),
    152: ("bottle_neck", [3, 8, 36, 3], [64, 256, 512, 1024, 2048]),
}
"""By the number of layers: the kind of block, blocks of each stage, channels."""

resnet_net_versions = [ResNetV1, ResNetV2]
resnet_block_versions = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


def get_resnet(
    version: int, num_layers: int, pretrained: bool = False, ctx: Any = _CPU, root: str = ROOT, **kwargs: Any
) -> Any:
    """The ResNet of version 1 or 2 with 18, 34, 50, 101 or 152 layers; pretrained reads root, see model_store.

    Raises AssertionError for others.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.get_resnet(2, 18, classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    if num_layers not in resnet_spec:
        raise AssertionError(f"Invalid number of layers: {num_layers}. Options are {list(resnet_spec)}")
    if version not in (1, 2):
        raise AssertionError(f"Invalid resnet version: {version}. Options are 1 and 2.")
    kind, layers, channels = resnet_spec[num_layers]
    net = resnet_net_versions[version - 1](resnet_block_versions[version - 1][kind], layers, channels, **kwargs)
    if pretrained:
        load_pretrained(net, f"resnet{num_layers}_v{version}", root, ctx)
    return net


def resnet18_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 of 18 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet18_v1(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 of 34 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet34_v1(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 of 50 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet50_v1(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 of 101 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet101_v1(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs: Any) -> ResNetV1:
    """ResNet V1 of 152 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet152_v1(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 of 18 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet18_v2(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 of 34 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet34_v2(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 of 50 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet50_v2(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 of 101 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet101_v2(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs: Any) -> ResNetV2:
    """ResNet V2 of 152 layers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.model_zoo.vision.resnet152_v2(classes=10)
    >>> net(mx.sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return get_resnet(2, 152, **kwargs)
