"""ImageRecordIter: batches of augmented images from a record file, with the settings of MXNet's iterator in C++."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import image, recordio
from ..core.error import FormatError, MXNetError
from ..formats import images
from ..formats.files import locate_errors
from ..image.image import Box, interp_method, resized, short_size, sized_box
from ..ops import resample
from . import colors
from .decoding import DRAWN, DecodingIter, Room
from .files import HARMLESS, _part, _shape, warn_of_unknown

MISSING: dict[str, Any] = {
    "aug_seq": "aug_default",
    "max_rotate_angle": 0,
    "rotate": -1,
    "max_shear_ratio": 0,
    "max_random_scale": 1,
    "min_random_scale": 1,
    "max_img_size": 1e10,
    "min_img_size": 0,
    "max_random_contrast": 0,
    "max_random_illumination": 0,
}
"""Settings of MXNet's iterator that are not there, with the values at which they change nothing."""


SUITING = 9
"""The interpolation that suits the sizes."""


def _grown(width: int, height: int, size: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Sizes that an image takes until a part of size = (width, height) fits into it: first high enough, then wide enough."""
    steps = []
    if height < size[1]:
        width, height = int(np.float32(size[1] * width) / np.float32(height)), size[1]
        steps.append((width, height))
    if width < size[0]:
        width, height = size[0], int(np.float32(size[0] * height) / np.float32(width))
        steps.append((width, height))
    return tuple(steps)


class _Choice(NamedTuple):
    """Choices drawn for an image: the part to cut out, the ways to resize it before and after, and how its colors are varied."""

    grown: tuple[tuple[int, int], ...]
    """Widths and heights that an image smaller than the part has to grow to, one after the other."""
    box: Box
    mirrored: bool
    method_before: int
    method: int
    colors: list[tuple[Callable[..., np.ndarray], Any]]
    """Functions of colors.py with what they take besides the pixels."""


class ImageRecordIter(DecodingIter):
    """Batches of images (batch, *data_shape), red first, and labels, (batch,) or (batch, label_width).

    Every image: resize (its shorter side), random_resized_crop, or pad and then the part of data_shape in the middle or with
    rand_crop anywhere, for which an image that is too low or too narrow grows, with its proportions; mirrored; colors varied, in
    bytes (brightness, contrast and saturation in an order that is drawn; hue, saturation and lightness; pca_noise); at last
    (x - mean) / std * scale.

    From the first batch of an epoch on a thread reads prefetch_buffer batches ahead (0: none), for which preprocess_threads
    threads decode, at most one for each core. The numbers are the same with any of them, and all that is drawn comes of seed.

    Parameters
    ----------
    path_imgrec : path
        Record file, as im2rec makes it.
    data_shape : tuple of int
        (channels, height, width) of an image in a batch; 1 channel (gray) or 3.
    batch_size : int
        Number of examples in a batch, which has to be given.
    path_imgidx : path, default ''
        Index of the record file, where there is one: the records are then read in its order.
    path_imglist : path, default ''
        List of images (number, labels and path, between tabs) whose labels take the place of those in the records.
    label_width : int, default 1
        Numbers in a label.
    shuffle : bool, default False
        Draw a new order every epoch.
    seed : int, default 0
        Seed of the order, and of all that is drawn for an image.
    seed_aug : int or None, default None
        Seed of what is drawn for an image, in place of seed.
    num_parts : int, default 1
        Number of parts that the records are divided into, one for each worker.
    part_index : int, default 0
        The part that this iterator reads, from 0; the last has what is left over.
    round_batch : bool, default True
        The last batch is filled up from the start, and the next epoch begins behind what filled it; else it is filled up with
        what stood there in the batch before.
    dtype : str or dtype, default None
        Dtype of the images, float32 or float64; None: float32 (the UInt8 and Int8 iterators have uint8 and int8 alone).
    resize : int, default -1
        Pixels of the shorter side, before anything is cut out; -1: leave it.
    rand_crop : bool, default False
        Cut from anywhere, not from the middle.
    max_crop_size : int, default -1
        Cut a square instead, of pixels drawn from min_crop_size to this, and resize it to data_shape; -1: of data_shape.
    min_crop_size : int, default -1
        The least that its side has; to be given with max_crop_size.
    random_resized_crop : bool, default False
        Cut a part of random area and proportions and resize it to data_shape; rand_crop and pad do nothing then.
    max_aspect_ratio : float, default 0
        Of such a part the most that width / height may be, where min_aspect_ratio is given; else width / height lies between
        1 / (1 + max_aspect_ratio) and 1 + max_aspect_ratio.
    min_aspect_ratio : float or None, default None
        The least that width / height may be.
    max_random_area : float, default 1
        The most that such a part covers, as a share of the image.
    min_random_area : float, default 1
        The least that it covers.
    brightness : float, default 0
        Pixels times a random factor from 1 - brightness to 1 + brightness.
    contrast : float, default 0
        The same for their distance from the mean gray (in which red and blue have each other's weights, as in MXNet).
    saturation : float, default 0
        The same for their distance from each pixel's gray.
    random_h : int, default 0
        The most that hue is changed by, of 180.
    random_s : int, default 0
        The most that saturation is changed by, of 255.
    random_l : int, default 0
        The most that lightness is changed by, of 255.
    pca_noise : float, default 0
        Deviation of random factors of ImageNet's principal components of colors, which are added.
    fill_value : int, default 255
        Pixel value of the border that pad adds.
    inter_method : int, default 1
        Interpolation: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 what suits, 10 any, drawn for each image.
    pad : int, default 0
        Pixels added on each side.
    mirror : bool, default False
        Swap left and right.
    rand_mirror : bool, default False
        Swap them for half of the images, drawn.
    mean_r : float, default 0
        Mean of the first channel, red (of the only one where images are gray), in pixel values, taken off.
    mean_g : float, default 0
        Mean of green.
    mean_b : float, default 0
        Mean of blue.
    mean_a : float, default 0
        Read over, since no image has a fourth channel.
    mean_img : path, default ''
        File of the mean image, of data_shape, in the place of these means. Where it is not there it is made, as in MXNet: the mean
        of what this iterator would give without it, so of pixels less mean_r and so on and times scale, of one epoch.
    std_r : float, default 1
        Deviation of the first channel, which it is divided by.
    std_g : float, default 1
        Deviation of green.
    std_b : float, default 1
        Deviation of blue.
    std_a : float, default 1
        Read over, since no image has a fourth channel.
    scale : float, default 1
        Factor of what comes of that.
    data_name : str, default 'data'
        Name of the data.
    label_name : str, default 'softmax_label'
        Name of the labels.
    preprocess_threads : int, default 4
        Threads that decode, at most one for each core.
    prefetch_buffer : int, default 4
        Batches that are read ahead.
    others : keywords
        Settings of MXNet's iterator that are not there, taken at the values that change nothing.

    Raises MXNetError for settings that are not there, FormatError for a broken record, an image that is smaller than
    max_crop_size, or other labels than label_width says. Needs Pillow.

    Examples
    --------
    >>> from gluonnx import mx
    >>> records = mx.recordio.MXRecordIO("data.rec", "w")
    >>> pixels = mx.nd.full((8, 8, 3), 200, dtype="uint8").asnumpy()
    >>> for label in range(4):
    ...     header = mx.recordio.IRHeader(0, label, label, 0)
    ...     records.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> records.close()
    >>> data = mx.io.ImageRecordIter(path_imgrec="data.rec", data_shape=(3, 8, 8), batch_size=2)
    >>> [(batch.data[0].shape, batch.label[0].asnumpy().tolist()) for batch in data]
    [((2, 3, 8, 8), [0.0, 1.0]), ((2, 3, 8, 8), [2.0, 3.0])]
    """

    dtypes = ("float32", "float64")
    normal_dtype = "float32"

    def __init__(
        self,
        path_imgrec: Any = "",
        data_shape: Any = (),
        batch_size: int = 0,
        path_imgidx: Any = "",
        path_imglist: Any = "",
        label_width: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        seed_aug: int | None = None,
        num_parts: int = 1,
        part_index: int = 0,
        round_batch: bool = True,
        dtype: Any = None,
        resize: int = -1,
        rand_crop: bool = False,
        max_crop_size: int = -1,
        min_crop_size: int = -1,
        random_resized_crop: bool = False,
        max_aspect_ratio: float = 0.0,
        min_aspect_ratio: float | None = None,
        max_random_area: float = 1.0,
        min_random_area: float = 1.0,
        brightness: float = 0.0,
        contrast: float = 0.0,
        saturation: float = 0.0,
        random_h: int = 0,
        random_s: int = 0,
        random_l: int = 0,
        pca_noise: float = 0.0,
        fill_value: int = 255,
        inter_method: int = 1,
        pad: int = 0,
        mirror: bool = False,
        rand_mirror: bool = False,
        mean_r: float = 0.0,
        mean_g: float = 0.0,
        mean_b: float = 0.0,
        mean_a: float = 0.0,
        mean_img: Any = "",
        std_r: float = 1.0,
        std_g: float = 1.0,
        std_b: float = 1.0,
        std_a: float = 1.0,
        scale: float = 1.0,
        data_name: str = "data",
        label_name: str = "softmax_label",
        preprocess_threads: int = 4,
        prefetch_buffer: int = 4,
        **others: Any,
    ):
        warn_of_unknown(self, [name for name in others if name not in HARMLESS and name not in MISSING])
        wrong = {k: v for k, v in others.items() if k in MISSING and v != MISSING[k]}
        if wrong:
            raise MXNetError(
                f"{type(self).__name__}: {', '.join(f'{k}={v!r}' for k, v in wrong.items())} cannot be had here; "
                "use mx.image.ImageIter with augmenters, or gluon.data"
            )
        if not path_imgrec:
            raise MXNetError(f"{type(self).__name__}: Required parameter path_imgrec is not presented")
        self._dtype = np.dtype(self.normal_dtype if dtype is None or dtype == "None" else dtype)
        if self._dtype.name not in self.dtypes:
            raise MXNetError(f"{type(self).__name__}: got dtype={dtype}, wanted {' or '.join(self.dtypes)}")
        self._shape = _shape(data_shape)
        if len(self._shape) != 3 or self._shape[0] not in (1, 3):
            raise MXNetError(f"{type(self).__name__}: got data_shape={data_shape}, wanted (1 or 3, height, width)")
        self._width = label_width
        self._file = recordio.MXRecordIO(path_imgrec, "r")
        if path_imgidx:
            index = recordio.MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
            starts = [index.idx[key] for key in index.keys]
            index.close()
        else:
            starts = self._file.positions()
        self._starts = starts[_part(len(starts), num_parts, part_index)]
        self._listed = image.iterator.read_list(path_imglist) if path_imglist else None
        self._random = random.Random(seed if seed_aug is None else seed_aug)
        self._mixer = np.random.RandomState(seed) if shuffle else None
        self._resize, self._pad, self._fill_value, self._method = resize, pad, fill_value, inter_method
        self._rand_crop, self._mirror, self._rand_mirror = rand_crop, mirror, rand_mirror
        self._squares = None if max_crop_size == min_crop_size == -1 else (min_crop_size, max_crop_size)
        if self._squares is not None and not 1 <= min_crop_size <= max_crop_size:
            raise MXNetError(
                f"{type(self).__name__}: got min_crop_size={min_crop_size}, max_crop_size={max_crop_size}, wanted "
                "1 <= min_crop_size <= max_crop_size"
            )
        self._crops: Any = None
        if random_resized_crop:
            most = 1 + max_aspect_ratio
            least = 1 / most if min_aspect_ratio is None else min_aspect_ratio
            ratio = (least, most if min_aspect_ratio is None else max_aspect_ratio)
            self._crops = ((min_random_area, max_random_area), ratio)
        self._jitters = [
            (vary, amount)
            for vary, amount in (
                (colors.brightened, brightness),
                (colors.contrasted, contrast),
                (colors.saturated, saturation),
            )
            if amount
        ]
        self._shifts, self._pca_noise = (random_h, random_s, random_l), pca_noise
        if self._shape[0] != 3 and (self._jitters or any(self._shifts) or pca_noise):
            raise MXNetError(
                f"{type(self).__name__}: colors of images of 1 channel cannot be varied; wanted data_shape=(3, ...)"
            )
        channels = self._shape[0]
        self._mean = np.array([mean_r, mean_g, mean_b][:channels], np.float32)[:, None, None]
        self._scale = scale / np.array([std_r, std_g, std_b][:channels], np.float32)[:, None, None]
        if mean_img and self._dtype != np.uint8:
            self._mean = self._mean_image(mean_img)
        super().__init__(batch_size, round_batch, data_name, label_name, preprocess_threads, prefetch_buffer)

    def _room(self, count: int) -> Room:
        """Memory for the data and labels of a batch."""
        return np.empty((count, *self._shape), self._dtype), np.empty((count, self._width), np.float32)

    def _give(self, room: Room) -> tuple[np.ndarray, np.ndarray]:
        """Data and labels; these without an axis for one number."""
        data, labels = room
        return data, labels[:, 0].copy() if self._width == 1 else labels

    def _decode(self, start: int) -> tuple[np.ndarray, np.ndarray]:
        """The pixels and the labels of the record at a position."""
        with locate_errors(f"{self._file.uri}, record at byte {start}"):
            header, data = recordio.unpack(self._file.read_at(start) or b"")
            pixels = images.decode(data, 1 if self._shape[0] == 3 else 0)
            label = np.asarray(header.label, np.float32).reshape(-1)
            if self._listed is not None:
                if header.id not in self._listed:
                    raise FormatError(f"the image of number {header.id} is not in path_imglist")
                label = self._listed[header.id][0]
            if len(label) != self._width:
                raise FormatError(
                    f"rec file provide {len(label)}-dimensional label but label_width is set to {self._width}"
                )
        return pixels[:, :, None] if pixels.ndim == 2 else pixels, label

    def _draw(self, start: int, example: tuple[np.ndarray, np.ndarray]) -> _Choice:
        """Choices for an image."""
        height, width = example[0].shape[:2]
        before = self._draw_method() if self._resize > 0 else self._method
        if self._resize > 0:
            width, height = short_size(height, width, self._resize)
        size = self._shape[2], self._shape[1]
        grown: tuple[tuple[int, int], ...] = ()
        after = self._method
        if self._crops is not None:
            area, ratio = self._crops
            box = sized_box(height, width, size, area, ratio, self._random)
        else:
            height, width = height + 2 * self._pad, width + 2 * self._pad
            cut = size
            if self._squares is not None:
                if self._squares[1] > min(height, width):
                    raise FormatError(
                        f"{self._file.uri}, record at byte {start}: input image size smaller than max_crop_size: "
                        f"{(height, width)} against {self._squares[1]}"
                    )
                side = self._random.randint(*self._squares)
                cut = side, side
            elif grown := _grown(width, height, size):
                if after == SUITING:
                    after = interp_method(after, (height, width, size[1], size[0]))
                width, height = grown[-1]
            spare_y, spare_x = height - cut[1], width - cut[0]
            y, x = (self._random.randint(0, s) if self._rand_crop else s // 2 for s in (spare_y, spare_x))
            box = x, y, *cut
        mirrored = bool(self._mirror or (self._rand_mirror and self._random.random() < 0.5))
        if after == DRAWN and (grown or box[2:] != size):
            after = self._draw_method()
        drawn: list[Any] = [
            (vary, 1 + self._random.uniform(-most, most))
            for vary, most in self._random.sample(self._jitters, len(self._jitters))
        ]
        if any(self._shifts):
            drawn.append((colors.shifted, tuple(int(self._random.uniform(-most, most)) for most in self._shifts)))
        if self._pca_noise:
            drawn.append((colors.lighted, [self._random.gauss(0, self._pca_noise) for _ in range(3)]))
        return _Choice(grown, box, mirrored, before, after, drawn)

    def _draw_method(self) -> int:
        """Interpolation of one resizing."""
        return self._random.randint(0, 4) if self._method == DRAWN else self._method

    def _fill(self, example: tuple[np.ndarray, np.ndarray], choice: _Choice, row: Room) -> None:
        """Put an image, varied as was drawn, and its labels into their places."""
        pixels, row[1][...] = example
        if self._resize > 0:
            width, height = short_size(pixels.shape[0], pixels.shape[1], self._resize)
            pixels = resized(pixels, width, height, choice.method_before)
        if self._pad and self._crops is None:
            pixels = resample.pad(pixels, self._pad, self._pad, self._pad, self._pad, 0, self._fill_value)
        for width, height in choice.grown:
            pixels = resized(pixels, width, height, choice.method)
        x, y, width, height = choice.box
        pixels = pixels[y : y + height, x : x + width]
        _, high, wide = self._shape
        if (width, height) != (wide, high):
            pixels = resized(pixels, wide, high, choice.method)
        for vary, amount in choice.colors:
            pixels = vary(pixels, amount)
        self._finish(pixels, row[0][..., ::-1] if choice.mirrored else row[0])  # a mean image turns with its image

    def _finish(self, pixels: np.ndarray, room: np.ndarray) -> None:
        """Put pixels (height, width, channels) into a batch, normalized."""
        wide = room if room.dtype == np.float32 else np.empty(self._shape, np.float32)
        np.subtract(np.moveaxis(pixels, 2, 0), self._mean, out=wide)
        wide *= self._scale
        if wide is not room:
            room[...] = wide


class ImageRecordUInt8Iter(ImageRecordIter):
    """As ImageRecordIter, with pixels as they are, uint8; mean, std and scale do not count.

    Examples
    --------
    >>> from gluonnx import mx
    >>> records = mx.recordio.MXRecordIO("data.rec", "w")
    >>> pixels = mx.nd.full((8, 8, 3), 200, dtype="uint8").asnumpy()
    >>> header = mx.recordio.IRHeader(0, 1, 0, 0)
    >>> records.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> records.close()
    >>> data = mx.io.ImageRecordUInt8Iter(path_imgrec="data.rec", data_shape=(3, 8, 8), batch_size=1)
    >>> data.next().data[0][0, 0, 0].asnumpy()
    array([200, 200, 200, 200, 200, 200, 200, 200], dtype=uint8)
    """

    dtypes = ("uint8",)
    normal_dtype = "uint8"

    def _finish(self, pixels: np.ndarray, room: np.ndarray) -> None:
        """Put pixels into a batch as they are."""
        room[...] = np.moveaxis(pixels.clip(0, 255), 2, 0)


class ImageRecordInt8Iter(ImageRecordUInt8Iter):
    """As ImageRecordIter, with pixels less the mean, rounded, as int8 from -128 to 127; std and scale do not count.

    Examples
    --------
    >>> from gluonnx import mx
    >>> records = mx.recordio.MXRecordIO("data.rec", "w")
    >>> pixels = mx.nd.full((8, 8, 3), 200, dtype="uint8").asnumpy()
    >>> header = mx.recordio.IRHeader(0, 1, 0, 0)
    >>> records.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> records.close()
    >>> options = {"data_shape": (3, 8, 8), "mean_r": 128, "mean_g": 128, "mean_b": 128}
    >>> data = mx.io.ImageRecordInt8Iter(path_imgrec="data.rec", batch_size=1, **options)
    >>> data.next().data[0][0, 0, 0].asnumpy()
    array([72, 72, 72, 72, 72, 72, 72, 72], dtype=int8)
    """

    dtypes = ("int8",)
    normal_dtype = "int8"

    def _finish(self, pixels: np.ndarray, room: np.ndarray) -> None:
        """Put pixels into a batch, less the whole numbers nearest to the mean; what int8 cannot hold is its nearest."""
        mean = np.trunc(self._mean + np.copysign(np.float32(0.5), self._mean))  # halves away from 0, as in C
        room[...] = (np.moveaxis(pixels, 2, 0).clip(0, 255) - mean).clip(-128, 127)


ImageRecordIter_v1 = ImageRecordIter
ImageRecordUInt8Iter_v1 = ImageRecordUInt8Iter
