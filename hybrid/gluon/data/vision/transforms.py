"""Transforms of images: blocks for ``Dataset.transform_first``. Images are (height, width, channels) until ToTensor."""

from __future__ import annotations

import numbers
import random
from typing import Any

import numpy as np

from .... import image
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Sequential

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "Resize",
    "Rotate",
    "ToTensor",
]


class Compose(Sequential):
    """Several transforms one after the other. Neighbours that can be are run as one graph.

    Examples
    --------
    >>> from gluonnx import mx
    >>> T = mx.gluon.data.vision.transforms
    >>> transform = T.Compose([T.Resize(4), T.ToTensor(), T.Normalize(0.5, 0.25)])
    >>> transform(mx.nd.zeros((8, 8, 3), dtype="uint8"))[:, 0, 0].asnumpy()
    array([-2., -2., -2.], dtype=float32)
    """

    def __init__(self, transforms: Any):
        super().__init__()
        group: list[Any] = []
        for transform in [*transforms, None]:
            if isinstance(transform, HybridBlock):
                group.append(transform)
                continue
            if len(group) > 1:
                together = HybridSequential()
                together.add(*group)
                together.hybridize()
                group = [together]
            self.add(*group, *([] if transform is None else [transform]))
            group = []


class Cast(HybridBlock):
    """Converted to a dtype.

    Examples
    --------
    >>> from gluonnx import mx
    >>> image = mx.nd.arange(24).reshape((4, 2, 3)).astype("uint8")  # (H, W, C)
    >>> mx.gluon.data.vision.transforms.Cast("float32")(image).dtype.__name__
    'float32'
    """

    def __init__(self, dtype: Any = "float32"):
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.cast(x, self._dtype)


class ToTensor(HybridBlock):
    """Images of 0 to 255 as float32 of 0 to 1, channels first: (H, W, C) -> (C, H, W), or with a batch axis before.

    Examples
    --------
    >>> from gluonnx import mx
    >>> image = mx.nd.arange(24).reshape((4, 2, 3)).astype("uint8")  # (H, W, C)
    >>> mx.gluon.data.vision.transforms.ToTensor()(image).shape
    (3, 4, 2)
    """

    def __init__(self):
        super().__init__()

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """(x - mean) / std of images with their channels first; mean and std one number, or one a channel.

    Examples
    --------
    >>> from gluonnx import mx
    >>> normalize = mx.gluon.data.vision.transforms.Normalize(mean=0.5, std=[0.5, 0.25, 1])
    >>> normalize(mx.nd.ones((3, 2, 2)))[:, 0, 0].asnumpy()
    array([1. , 2. , 0.5], dtype=float32)
    """

    def __init__(self, mean: Any = 0.0, std: Any = 1.0):
        super().__init__()
        self._mean, self._std = mean, std

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.normalize(x, self._mean, self._std)


def _want_float32(x: Any) -> None:
    if x.dtype is not np.float32:
        raise TypeError("This transformation only supports float32. Consider calling it after ToTensor")


class Rotate(Block):
    """Turned by an angle; see ``image.imrotate``. Channels first, float32.

    Examples
    --------
    >>> from gluonnx import mx
    >>> rotate = mx.gluon.data.vision.transforms.Rotate(90)
    >>> rotate(mx.nd.arange(4).reshape((1, 2, 2)))[0].asnumpy().round()
    array([[1., 3.],
           [0., 2.]], dtype=float32)
    """

    def __init__(self, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False):
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: Any) -> Any:
        """The image turned."""
        _want_float32(x)
        return image.imrotate(x, *self._args)


class RandomRotation(Block):
    """Turned by a random angle between two limits, with probability rotate_with_proba. Channels first, float32.

    Raises ValueError for angle_limits out of order, and for a probability beyond 0..1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.data.vision.transforms.RandomRotation((-10, 10))(mx.nd.ones((3, 8, 8))).shape
    (3, 8, 8)
    """

    def __init__(
        self, angle_limits: Any, zoom_in: bool = False, zoom_out: bool = False, rotate_with_proba: float = 1.0
    ):
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ValueError("`angle_limits` must be an ordered tuple")
        if not 0 <= rotate_with_proba <= 1:
            raise ValueError("Probability of rotating the image should be between 0 and 1")
        self._args = (angle_limits, zoom_in, zoom_out)
        self._rotate_with_proba = rotate_with_proba

    def forward(self, x: Any) -> Any:
        """The image, turned or not."""
        if np.random.random() > self._rotate_with_proba:
            return x
        _want_float32(x)
        return image.random_rotate(x, *self._args)


def _pair(size: Any) -> Any:
    """(width, height) of one number or two."""
    return (size, size) if isinstance(size, numbers.Number) else size


class RandomResizedCrop(Block):
    """A part of random area and proportions, resized to (width, height); see ``image.random_size_crop``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> image = mx.nd.arange(24).reshape((4, 2, 3)).astype("uint8")  # (H, W, C)
    >>> mx.gluon.data.vision.transforms.RandomResizedCrop((3, 5))(image).shape
    (5, 3, 3)
    """

    def __init__(
        self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3.0 / 4.0, 4.0 / 3.0), interpolation: int = 1
    ):
        super().__init__()
        self._args = (_pair(size), scale, ratio, interpolation)

    def forward(self, x: Any) -> Any:
        """A part of the image."""
        return image.random_size_crop(x, *self._args)[0]


class CropResize(HybridBlock):
    """The part of width x height at (x, y), resized where ``size`` says so.

    Examples
    --------
    >>> from gluonnx import mx
    >>> image = mx.nd.arange(24).reshape((4, 2, 3)).astype("uint8")  # (H, W, C)
    >>> mx.gluon.data.vision.transforms.CropResize(0, 1, 2, 3)(image).shape
    (3, 2, 3)
    """

    def __init__(self, x: int, y: int, width: int, height: int, size: Any = None, interpolation: int | None = None):
        super().__init__()
        self._box = (x, y, width, height)
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        out = F.image.crop(x, *self._box)
        return F.image.resize(out, self._size, False, self._interpolation) if self._size else out


class CenterCrop(Block):
    """The part of (width, height) in the middle, enlarged where the image is smaller.

    Examples
    --------
    >>> from gluonnx import mx
    >>> image = mx.nd.arange(24).reshape((4, 2, 3)).astype("uint8")  # (H, W, C)
    >>> mx.gluon.data.vision.transforms.CenterCrop((2, 3))(image).shape
    (3, 2, 3)
    """

    def __init__(self, size: Any, interpolation: int = 1):
        super().__init__()
        self._args = (_pair(size), interpolation)

    def forward(self, x: Any) -> Any:
        """The middle of the image."""
        return image.center_crop(x, *self._args)[0]


class Resize(HybridBlock):
    """Resized to (width, height), or one number for both; with keep_ratio that is the shorter side.

    Examples
    --------
    >>> from gluonnx import mx
    >>> image = mx.nd.arange(24).reshape((4, 2, 3)).astype("uint8")  # (H, W, C)
    >>> mx.gluon.data.vision.transforms.Resize((3, 5))(image).shape
    (5, 3, 3)
    """

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1):
        super().__init__()
        self._args = (size, keep_ratio, interpolation)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.resize(x, *self._args)


class RandomFlipLeftRight(HybridBlock):
    """Mirrored left to right with probability 1/2.

    Examples
    --------
    >>> from gluonnx import mx
    >>> image = mx.nd.arange(24).reshape((4, 2, 3)).astype("uint8")  # (H, W, C)
    >>> mx.gluon.data.vision.transforms.RandomFlipLeftRight()(image).shape
    (4, 2, 3)
    """

    def __init__(self):
        super().__init__()

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """Mirrored top to bottom with probability 1/2.

    Examples
    --------
    >>> from gluonnx import mx
    >>> image = mx.nd.arange(24).reshape((4, 2, 3)).astype("uint8")  # (H, W, C)
    >>> mx.gluon.data.vision.transforms.RandomFlipTopBottom()(image).shape
    (4, 2, 3)
    """

    def __init__(self):
        super().__init__()

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_flip_top_bottom(x)


class _RandomFactor(HybridBlock):
    """Base of those that vary an image by a factor from 1 - amount (at least 0) to 1 + amount."""

    def __init__(self, amount: float):
        super().__init__()
        self._args = (max(0, 1 - amount), 1 + amount)


class RandomBrightness(_RandomFactor):
    """Brightness times a random factor.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.data.vision.transforms.RandomBrightness(0.1)(mx.nd.ones((4, 2, 3))).shape
    (4, 2, 3)
    """

    def __init__(self, brightness: float):
        super().__init__(brightness)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_brightness(x, *self._args)


class RandomContrast(_RandomFactor):
    """Contrast times a random factor.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.data.vision.transforms.RandomContrast(0.1)(mx.nd.ones((4, 2, 3))).shape
    (4, 2, 3)
    """

    def __init__(self, contrast: float):
        super().__init__(contrast)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_contrast(x, *self._args)


class RandomSaturation(_RandomFactor):
    """Saturation times a random factor.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.data.vision.transforms.RandomSaturation(0.1)(mx.nd.ones((4, 2, 3))).shape
    (4, 2, 3)
    """

    def __init__(self, saturation: float):
        super().__init__(saturation)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_saturation(x, *self._args)


class RandomHue(_RandomFactor):
    """Hues turned by up to ``hue`` turns.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.data.vision.transforms.RandomHue(0.1)(mx.nd.ones((4, 2, 3))).shape
    (4, 2, 3)
    """

    def __init__(self, hue: float):
        super().__init__(hue)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_hue(x, *self._args)


class RandomColorJitter(HybridBlock):
    """Brightness, contrast, saturation and hue varied, in random order.

    Examples
    --------
    >>> from gluonnx import mx
    >>> jitter = mx.gluon.data.vision.transforms.RandomColorJitter(brightness=0.1, hue=0.1)
    >>> jitter(mx.nd.ones((4, 2, 3))).shape
    (4, 2, 3)
    """

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0):
        super().__init__()
        self._args = (brightness, contrast, saturation, hue)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_color_jitter(x, *self._args)


class RandomLighting(HybridBlock):
    """AlexNet's change of lighting, of deviation alpha.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.data.vision.transforms.RandomLighting(0.1)(mx.nd.ones((4, 2, 3))).shape
    (4, 2, 3)
    """

    def __init__(self, alpha: float):
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_lighting(x, self._alpha)


class RandomApply(Sequential):
    """A transform with probability p.

    Examples
    --------
    >>> from gluonnx import mx
    >>> T = mx.gluon.data.vision.transforms
    >>> transform = T.RandomApply(T.Cast("float32"), p=1.0)
    >>> transform(mx.nd.ones((2, 2, 3), dtype="uint8")).dtype.__name__
    'float32'
    """

    def __init__(self, transforms: Any, p: float = 0.5):
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, x: Any) -> Any:
        """The image, transformed or not."""
        return x if self.p < random.random() else self.transforms(x)
