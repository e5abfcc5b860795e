"""Operators on images (``_image_*``): made ready for a network, cut, resized, and varied at random for training.

Images are (height, width, channels), or a batch of them where it says so; what ``_image_normalize`` takes has its
channels first, as ``_image_to_tensor`` gives it. MXNet computes in float32, whatever the dtype; results in whole numbers lose
their fraction, and uint8 stops at its limits.

MXNet hands the gradient of flips and of everything random on as it is, which is wrong. Here flips flip it, and what is
random has none.
"""

from typing import Any

import numpy as np

from ..core.attrs import Floats, Shape
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, is_known, show
from .common import truncate, want_rank, want_some
from .composing import known, of_floats
from .resample import DTYPES, LINEAR, METHODS, resize

FLOAT32 = float(np.finfo(np.float32).eps)
GRAY = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in the brightness that the eye sees."""
LIGHT = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]) * [
    55.46,
    4.794,
    1.148,
]
"""The principal components of ImageNet's colors times their deviations (Krizhevsky et al. 2012), one a column."""


def _wide(data: np.ndarray) -> np.ndarray:
    """The numbers as float32, or float64 where they are."""
    return data.astype(np.float64 if data.dtype == np.float64 else np.float32)


def _saturate(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Results in a dtype: whole numbers lose their fraction, and uint8 stops at its limits."""
    if dtype == np.uint8:
        values = values.clip(0, 255)
    return truncate(values, dtype) if dtype.kind in "iu" else values.astype(dtype, copy=False)


class Picture(Op):
    """Base: one image (height, width, 1 or 3), and one of the same shape comes out."""

    exception = "varies images at random, or rounds as the image libraries do"

    inputs = ("data",)
    epsilon = FLOAT32

    def infer_shape(self, data):
        want_rank(self, data, 3)
        if data[2] is not UNKNOWN and data[2] not in (1, 3):
            raise self.error(
                f"got an image of shape {show(data)}, wanted (height, width, channels) with 1 or 3 channels"
            )
        return data


@op("_image_to_tensor", "_npx__image_to_tensor")
class ToTensor(Op):
    """Images with numbers from 0 to 255 as float32 from 0 to 1, channels first.

    Shapes: (H, W, C) -> (C, H, W), or (N, H, W, C) -> (N, C, H, W)."""

    inputs = ("data",)

    def infer_shape(self, data):
        want_rank(self, data, 3, 4)
        return (*data[:-3], data[-1], *data[-3:-1])

    def infer_type(self, data):
        return np.dtype(np.float32)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def composition(self, F, data):
        if not known(data):
            return None
        rank = len(data.shape)
        values = F.transpose(data, axes=(*range(rank - 3), rank - 1, rank - 3, rank - 2))
        if data.dtype == np.float16:
            return F.Cast(values / 255, dtype="float32")
        return F.Cast(values, dtype="float32") / 255

    def compute(self, data):
        values = np.ascontiguousarray(np.moveaxis(data, -1, -3))
        if values.dtype == np.float16:  # which stays what MXNet computes in
            return (values / np.float16(255)).astype(np.float32)
        return values.astype(np.float32) / np.float32(255)

    @classmethod
    def examples(cls, make):
        yield make(make.integers(4, 5, 3, high=256, dtype="uint8"))
        yield make(make.uniform(2, 4, 5, 1, high=255))


@op("_image_normalize", "_npx__image_normalize")
class Normalize(Op):
    """(data - mean) / std, channel by channel.

    mean and std are one number or as many as there are channels (1 or 3).
    Shapes: (C, H, W) -> the same, or (N, C, H, W) -> the same."""

    mean: Floats = (0.0, 0.0, 0.0, 0.0)
    std: Floats = (1.0, 1.0, 1.0, 1.0)

    inputs = ("data",)
    epsilon = FLOAT32

    def infer_shape(self, data):
        want_rank(self, data, 3, 4)
        channels = data[-3]
        if channels is UNKNOWN:
            return data
        if channels not in (1, 3):
            raise self.error(f"got data of shape {show(data)}, wanted 1 or 3 channels, (channels, height, width)")
        for name, given in (("mean", self.mean), ("std", self.std)):
            if len(given) not in (1, channels):
                raise self.error(f"got {name} {given} for {channels} channels, wanted 1 number or {channels}")
        return data

    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """mean and std as float32 arrays that broadcast with images."""
        mean, std = (np.array(values, np.float32).reshape(-1, 1, 1) for values in (self.mean, self.std))
        return mean, std

    def composition(self, F, data):
        if not known(data) or not of_floats(data):
            return None
        wide = F.Cast(data, dtype="float64" if data.dtype == np.float64 else "float32")
        for names, function in ((self.mean, F.broadcast_sub), (self.std, F.broadcast_div)):
            numbers = [F._full(shape=(1,), value=float(np.float32(v)), dtype="float32") for v in names]
            column = numbers[0] if len(numbers) == 1 else F.Concat(*numbers, dim=0)
            column = F._np_reshape(column, newshape=(-1, 1, 1))
            wide = function(wide, F.Cast(column, dtype="float64") if data.dtype == np.float64 else column)
        return F.Cast(wide, dtype=data.dtype)

    def compute(self, data):
        mean, std = self.columns()
        with np.errstate(divide="ignore", invalid="ignore"):
            values = (_wide(data) - mean) / std
        return truncate(values, data.dtype) if data.dtype.kind in "iu" else values.astype(data.dtype, copy=False)

    def gradient(self, F, dy, data, y):
        return F.image.normalize(dy, mean=(0.0,), std=self.std)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, 5), mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
        yield make(make.uniform(2, 1, 4, 5), mean=(0.5,), std=(0.25,))


@op("_image_crop", "_npx__image_crop")
class ImageCrop(Op):
    """The part of images that begins at column x and row y.

    Shapes: (H, W, C) -> (height, width, C), or (N, H, W, C) -> (N, height, width, C)."""

    meanings = {"x": "First column, in pixels.", "y": "First row, in pixels."}

    x: int
    y: int
    width: int
    height: int

    inputs = ("data",)
    only_moves_data = True

    def check(self):
        if self.width < 1 or self.height < 1:
            return f"got width={self.width}, height={self.height}, wanted at least 1"
        if self.x < 0 or self.y < 0:
            return f"got x={self.x}, y={self.y}, wanted at least 0"
        return None

    def infer_shape(self, data):
        want_rank(self, data, 3, 4)
        for name, start, size, full in (
            ("x + width", self.x, self.width, data[-2]),
            ("y + height", self.y, self.height, data[-3]),
        ):
            if full is not UNKNOWN and start + size > full:
                raise self.error(f"got {name} = {start + size} for images of shape {show(data)}, wanted at most {full}")
        return (*data[:-3], self.height, self.width, data[-1])

    def window(self) -> tuple[Any, ...]:
        """The index of the part."""
        return (..., slice(self.y, self.y + self.height), slice(self.x, self.x + self.width), slice(None))

    def composition(self, F, data):
        rows = F.slice_axis(data, axis=-3, begin=self.y, end=self.y + self.height)
        return F.slice_axis(rows, axis=-2, begin=self.x, end=self.x + self.width)

    def compute(self, data):
        return data[self.window()].copy()

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5, 4, 3), x=1, y=2, width=3, height=2)
        yield make(make.uniform(2, 5, 4, 1), x=0, y=0, width=1, height=5)


@op("_image_resize", "_npx__image_resize")
class ImageResize(Op):
    """Images in another size.

    size: (width, height), or one number for both; with keep_ratio one number is the shorter side. interp: 0 nearest, 1 linear,
    2 cubic, 3 area, 4 Lanczos over 8x8, 5 linear with exact rounding.
    Shapes: (H, W, C) -> (height, width, C), or (N, H, W, C) -> (N, height, width, C). uint8, 16 bits, float32 or float64."""

    meanings = {"size": "Width and height of the result in pixels, or one number for both."}

    size: Shape = ()
    keep_ratio: bool = False
    interp: int = LINEAR

    exception = "varies images at random, or rounds as the image libraries do"

    inputs = ("data",)
    epsilon = FLOAT32
    tolerance = 64.0

    def check(self):
        if len(self.size) not in (1, 2) or min(self.size) < 1:
            return f"got size={self.size}, wanted a number above 0, or (width, height)"
        if self.interp not in range(len(METHODS)):
            return f"got interp={self.interp}, wanted 0 to {len(METHODS) - 1}"
        return None

    def infer_shape(self, data):
        want_rank(self, data, 3, 4)
        want_some(self, data, *range(len(data)))
        height, width = data[-3:-1]
        if len(self.size) == 2:
            width, height = self.size
        elif not self.keep_ratio:
            width = height = self.size[0]
        elif is_known((height, width)):
            short = self.size[0]
            height, width = (height * short // width, short) if height > width else (short, width * short // height)
        else:
            height = width = UNKNOWN
        return (*data[:-3], height, width, data[-1])

    def infer_type(self, data):
        if data.name not in DTYPES:
            raise self.error(f"got images of {data}, wanted {', '.join(DTYPES)}; cast them")
        return data

    def compute(self, data):
        height, width = map(int, self.infer_shape(data.shape)[-3:-1])
        if data.ndim == 3:
            return resize(data, width, height, self.interp)
        return np.stack([resize(image, width, height, self.interp) for image in data])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5, 4, 3, high=255), size=(7, 9))
        yield make(make.uniform(2, 6, 4, 1, high=255), size=(3,), keep_ratio=True)
        yield make(make.uniform(5, 4, 3, high=255), size=(9, 7), interp=0)


class Flip(Picture):
    """Base of flips."""

    only_moves_data = True
    left_open = ("axis",)
    axis = 0

    def composition(self, F, data):
        return F.reverse(data, axis=(self.axis,))

    def compute(self, data):
        return np.flip(data, self.axis).copy()

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 5, 3))


@op("_image_flip_left_right", "_npx__image_flip_left_right")
class FlipLeftRight(Flip):
    """An image mirrored left to right. Shapes: (H, W, C) -> the same."""

    axis = 1


@op("_image_flip_top_bottom", "_npx__image_flip_top_bottom")
class FlipTopBottom(Flip):
    """An image mirrored top to bottom. Shapes: (H, W, C) -> the same."""


class RandomFlip(Picture):
    """Base of flips that happen half of the time."""

    needs = ("rng",)
    axis = 0

    def compute(self, data, *, rng: Any = None):
        return (np.flip(data, self.axis) if rng.random() < 0.5 else data).copy()

    @classmethod
    def examples(cls, make):
        yield make(make.array(np.ones((4, 5, 3))))  # the same either way


@op("_image_random_flip_left_right", "_npx__image_random_flip_left_right")
class RandomFlipLeftRight(RandomFlip):
    """An image that is mirrored left to right with probability 1/2. Shapes: (H, W, C) -> the same."""

    axis = 1


@op("_image_random_flip_top_bottom", "_npx__image_random_flip_top_bottom")
class RandomFlipTopBottom(RandomFlip):
    """An image that is mirrored top to bottom with probability 1/2. Shapes: (H, W, C) -> the same."""


def brighter(x: np.ndarray, factor: float) -> np.ndarray:
    """Every number times the factor."""
    return x * np.float32(factor)


def contrast_residual(x: np.ndarray, factor: float) -> np.ndarray:
    """The distance of every number from the mean brightness times the factor."""
    gray = x @ GRAY if x.shape[2] == 3 else x
    return x * np.float32(factor) + np.float32(1 - factor) * gray.mean(dtype=np.float64).astype(np.float32)


def saturation_residual(x: np.ndarray, factor: float) -> np.ndarray:
    """The distance of every number from its pixel's brightness times the factor; gray stays.

    For brightness MXNet's operator takes that of blue alone (its SaturationJitterAug has it right), and so it is here."""
    if x.shape[2] == 1:
        return x
    return x * np.float32(factor) + x[:, :, 2:].astype(np.float32) * GRAY[2] * np.float32(1 - factor)


def rotate_hue(x: np.ndarray, turns: float) -> np.ndarray:
    """Hues moved on round the color circle; gray stays. By way of hue, lightness and saturation, in float32."""
    if x.shape[2] == 1:
        return x
    x = x.astype(np.float32) / np.float32(255)
    highest, lowest = x.max(axis=2), x.min(axis=2)
    span, light = highest - lowest, (highest + lowest) * np.float32(0.5)
    red, green, blue = np.moveaxis(x, 2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        saturation = np.where(light < 0.5, span / (highest + lowest), span / (2 - highest - lowest))
        degrees = np.float32(60) / span
        hue = np.where(
            highest == red,
            (green - blue) * degrees,
            np.where(highest == green, (blue - red) * degrees + 120, (red - green) * degrees + 240),
        )
    colored = span > np.finfo(np.float32).eps
    hue = np.where(colored, np.where(hue < 0, hue + 360, hue), 0) + np.float32(turns * 360)
    saturation = np.where(colored, saturation, 0)
    top = np.where(light <= 0.5, light * (1 + saturation), light + saturation - light * saturation)
    bottom = 2 * light - top
    sixths = (hue * np.float32(6 / 360)) % 6
    sector = np.floor(sixths)
    rising = bottom + (top - bottom) * (sixths - sector)
    falling = bottom + (top - bottom) * (1 - (sixths - sector))
    levels = np.stack([top, rising, bottom, falling])
    # which of the levels red, green and blue have in each sixth of the circle
    places = np.array([[0, 1, 2], [3, 0, 2], [2, 0, 1], [2, 3, 0], [1, 2, 0], [0, 2, 3]])[sector.astype(np.int64) % 6]
    colors = np.take_along_axis(levels, np.moveaxis(places, 2, 0), axis=0)
    return np.where(colored[:, :, None], np.moveaxis(colors, 0, 2), light[:, :, None]) * np.float32(255)


class RandomFactor(Picture):
    """Base of what varies an image by a factor from min_factor to max_factor."""

    min_factor: float
    max_factor: float

    needs = ("rng",)

    def check(self):
        if not 0 <= self.min_factor <= self.max_factor < np.inf:
            return f"got factors {self.min_factor} to {self.max_factor}, wanted a range of numbers of at least 0"
        return None

    def vary(self, x: np.ndarray, factor: float) -> np.ndarray:
        """The float32 image varied."""
        raise NotImplementedError

    def compute(self, data, *, rng: Any = None):
        factor = rng.uniform(self.min_factor, self.max_factor)
        return _saturate(self.vary(_wide(data), factor), data.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 5, 3, low=0, high=255), min_factor=0.7, max_factor=0.7)


@op("_image_random_brightness", "_npx__image_random_brightness")
class RandomBrightness(RandomFactor):
    """An image made brighter or darker: times a random factor. Shapes: (H, W, C) -> the same."""

    def vary(self, x, factor):
        return brighter(x, factor)


@op("_image_random_contrast", "_npx__image_random_contrast")
class RandomContrast(RandomFactor):
    """An image with more or less contrast: by a random factor away from its mean. Shapes: (H, W, C) -> the same."""

    def vary(self, x, factor):
        return contrast_residual(x, factor)


@op("_image_random_saturation", "_npx__image_random_saturation")
class RandomSaturation(RandomFactor):
    """An image with more or less color: by a random factor away from gray. Shapes: (H, W, C) -> the same."""

    def vary(self, x, factor):
        return saturation_residual(x, factor)


@op("_image_random_hue", "_npx__image_random_hue")
class RandomHue(RandomFactor):
    """An image with its hues turned by a random number of turns. Shapes: (H, W, C) -> the same."""

    tolerance = 256.0

    def vary(self, x, factor):
        return rotate_hue(x, factor)


@op("_image_random_color_jitter", "_npx__image_random_color_jitter")
class RandomColorJitter(Picture):
    """Brightness, contrast, saturation and hue varied in random order.

    Each by a factor from 1 - amount to 1 + amount, hue by turns from -amount to amount. Shapes: (H, W, C) -> the same."""

    brightness: float
    contrast: float
    saturation: float
    hue: float

    needs = ("rng",)

    def check(self):
        amounts = self.brightness, self.contrast, self.saturation, self.hue
        return None if np.isfinite(amounts).all() else f"got amounts {amounts}, wanted finite numbers"

    def compute(self, data, *, rng: Any = None):
        steps = [
            (amount, start, vary)
            for amount, start, vary in (
                (self.brightness, 1, brighter),
                (self.contrast, 1, contrast_residual),
                (self.saturation, 1, saturation_residual),
                (self.hue, 0, rotate_hue),
            )
            if amount > 0
        ]
        for step in rng.permutation(len(steps)):
            amount, start, vary = steps[step]
            data = _saturate(vary(_wide(data), start + rng.uniform(-amount, amount)), data.dtype)
        return data.copy()

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 5, 3, low=0, high=255), brightness=0, contrast=0, saturation=0, hue=0)


def lit(data: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """The image with alpha's combination of the principal components added to every pixel; gray stays."""
    if data.shape[2] == 1:
        return data.copy()
    return _saturate(_wide(data) + (LIGHT @ alpha).astype(np.float32), data.dtype)


@op("_image_adjust_lighting", "_npx__image_adjust_lighting")
class AdjustLighting(Picture):
    """AlexNet's change of lighting, by three given amounts. Shapes: (H, W, C) -> the same."""

    meanings = {"alpha": "Amounts of the three colours of lighting, in units of 1 for 255."}

    alpha: Floats

    exception = "varies images at random, or rounds as the image libraries do"

    def check(self):
        return None if len(self.alpha) == 3 else f"got alpha={self.alpha}, wanted 3 numbers"

    def compute(self, data):
        return lit(data, np.array(self.alpha))

    def gradient(self, F, dy, data, y):
        return dy

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 5, 3, low=0, high=255), alpha=(0.1, -0.2, 0.3))
        yield make(make.integers(4, 5, 3, high=256, dtype="uint8"), alpha=(1, 0, 0))


@op("_image_random_lighting", "_npx__image_random_lighting")
class RandomLighting(Picture):
    """AlexNet's change of lighting, by three normal random numbers of deviation alpha_std. Shapes: (H, W, C) -> the same."""

    alpha_std: float = 0.05

    needs = ("rng",)

    def check(self):
        return (
            None if 0 <= self.alpha_std < np.inf else f"got alpha_std={self.alpha_std}, wanted a number of at least 0"
        )

    def compute(self, data, *, rng: Any = None):
        return lit(data, rng.normal(0, self.alpha_std, 3))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 5, 3, low=0, high=255), alpha_std=0)
