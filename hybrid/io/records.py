"""ImageRecordIter: batches of augmented images from a record file, with the settings of MXNet's iterator in C++."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .. import image, recordio
from .. import ndarray as nd
from ..core.error import FormatError, MXNetError
from ..formats.files import locate_errors
from ..image.image import sized_crop
from ..ndarray import NDArray
from .files import HARMLESS, MXDataIter, _part, _shape, warn_of_unknown

MISSING: dict[str, Any] = {
    "aug_seq": "aug_default",
    "max_rotate_angle": 0,
    "rotate": -1,
    "max_shear_ratio": 0,
    "max_crop_size": -1,
    "min_crop_size": -1,
    "max_random_scale": 1,
    "min_random_scale": 1,
    "max_img_size": 1e10,
    "min_img_size": 0,
    "random_h": 0,
    "random_s": 0,
    "random_l": 0,
    "mean_img": "",
    "max_random_contrast": 0,
    "max_random_illumination": 0,
}
"""Settings of MXNet's iterator that are not there, with the values at which they change nothing."""


class ImageRecordIter(MXDataIter):
    """Batches of images (batch, *data_shape), red first, and labels.

    path_imgrec, and path_imgidx where there is one. Every image: resize (its shorter side), random_resized_crop, or pad and then
    the part of data_shape in the middle or with rand_crop anywhere; mirrored with mirror, or at random with rand_mirror; colors
    varied by brightness, contrast, saturation, pca_noise; at last (x - mean) / std * scale. shuffle with seed draws a
    new order every epoch; num_parts and part_index: one of several parts.

    Raises MXNetError for settings that are not there, FormatError for a broken record, an image that is smaller than
    data_shape, or other labels than label_width says. Needs Pillow."""

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
        random_resized_crop: bool = False,
        max_aspect_ratio: float = 0.0,
        min_aspect_ratio: float | None = None,
        max_random_area: float = 1.0,
        min_random_area: float = 1.0,
        brightness: float = 0.0,
        contrast: float = 0.0,
        saturation: float = 0.0,
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
        std_r: float = 1.0,
        std_g: float = 1.0,
        std_b: float = 1.0,
        std_a: float = 1.0,
        scale: float = 1.0,
        data_name: str = "data",
        label_name: str = "softmax_label",
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
        self._resize, self._pad, self._fill, self._method = resize, pad, fill_value, inter_method
        self._rand_crop, self._mirror, self._rand_mirror = rand_crop, mirror, rand_mirror
        self._crops: Any = None
        if random_resized_crop:
            most = 1 + max_aspect_ratio
            least = 1 / most if min_aspect_ratio is None else min_aspect_ratio
            ratio = (least, most if min_aspect_ratio is None else max_aspect_ratio)
            self._crops = ((min_random_area, max_random_area), ratio)
        colors = image.augment
        self._colors = [
            kind(amount)
            for kind, amount in (
                (colors.BrightnessJitterAug, brightness),
                (colors.ContrastJitterAug, contrast),
                (colors.SaturationJitterAug, saturation),
            )
            if amount
        ] + ([colors.LightingAug(pca_noise, *colors.COLORS)] if pca_noise else [])
        channels = self._shape[0]
        self._mean = np.array([mean_r, mean_g, mean_b][:channels], np.float32)
        self._scale = scale / np.array([std_r, std_g, std_b][:channels], np.float32)
        super().__init__(len(self._starts), batch_size, round_batch, data_name, label_name)

    def _batch(self, places: np.ndarray) -> tuple[list[NDArray], list[NDArray]]:
        examples = [self._example(self._starts[i]) for i in places]
        labels = np.stack([label for _, label in examples]).astype(np.float32)
        data = np.stack([pixels for pixels, _ in examples]).astype(self._dtype)
        return [nd.array(data, dtype=self._dtype)], [nd.array(labels[:, 0] if self._width == 1 else labels)]

    def _example(self, start: int) -> tuple[np.ndarray, np.ndarray]:
        """The pixels and labels of the record at a position."""
        with locate_errors(f"{self._file.uri}, record at byte {start}"):
            header, data = recordio.unpack(self._file.read_at(start) or b"")
            picture = image.imdecode(data, 1 if self._shape[0] == 3 else 0)
        label = np.asarray(header.label, np.float32).reshape(-1)
        if self._listed is not None:
            if header.id not in self._listed:
                raise FormatError(f"{self._file.uri}: the image of number {header.id} is not in path_imglist")
            label = self._listed[header.id][0]
        if len(label) != self._width:
            raise FormatError(
                f"{self._file.uri}: rec file provide {len(label)}-dimensional label but label_width is set to {self._width}"
            )
        pixels = self._augment(picture)
        return self._finish(np.moveaxis(pixels, 2, 0)), label

    def _augment(self, picture: NDArray) -> np.ndarray:
        """The image cut to size and varied, (height, width, channels)."""
        height, width = self._shape[1:]
        if self._resize > 0:
            picture = image.resize_short(picture, self._resize, self._method)
        if self._crops is not None:
            area, ratio = self._crops
            picture = sized_crop(picture, (width, height), area, ratio, self._method, self._random)[0]
        else:
            if self._pad:
                p = self._pad
                picture = image.copyMakeBorder(picture, p, p, p, p, 0, self._fill)
            spare_y, spare_x = picture.shape[0] - height, picture.shape[1] - width
            if spare_y < 0 or spare_x < 0:
                raise FormatError(
                    f"{self._file.uri}: input image size smaller than input shape: {picture.shape[:2]} against {(height, width)}"
                )
            y, x = (self._random.randint(0, s) if self._rand_crop else s // 2 for s in (spare_y, spare_x))
            picture = image.fixed_crop(picture, x, y, width, height)
        if self._colors:
            picture = picture.astype("float32")
            for augmenter in self._colors:
                picture = augmenter(picture)
        pixels = picture.asnumpy()
        if self._mirror or (self._rand_mirror and self._random.random() < 0.5):
            pixels = pixels[:, ::-1]
        return pixels

    def _finish(self, pixels: np.ndarray) -> np.ndarray:
        """Normalized, with channels first."""
        return (pixels.astype(np.float32) - self._mean[:, None, None]) * self._scale[:, None, None]


class ImageRecordUInt8Iter(ImageRecordIter):
    """As ImageRecordIter, with pixels as they are, uint8."""

    dtypes = ("uint8",)
    normal_dtype = "uint8"

    def _finish(self, pixels: np.ndarray) -> np.ndarray:
        """As they are, with channels first."""
        return pixels.clip(0, 255)


class ImageRecordInt8Iter(ImageRecordUInt8Iter):
    """As ImageRecordIter, with pixels less the mean, rounded, as int8 from -128 to 127; std and scale do not count."""

    dtypes = ("int8",)
    normal_dtype = "int8"

    def _finish(self, pixels: np.ndarray) -> np.ndarray:
        """Less the whole numbers nearest to the mean, with channels first; what int8 cannot hold is its nearest."""
        mean = np.trunc(self._mean + np.copysign(np.float32(0.5), self._mean))  # halves away from 0, as in C
        return (super()._finish(pixels) - mean[:, None, None]).clip(-128, 127)


ImageRecordIter_v1 = ImageRecordIter
ImageRecordUInt8Iter_v1 = ImageRecordUInt8Iter
