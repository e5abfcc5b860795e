"""Augmenters and an iterator for object detection: boxes are kept in step with their images.

A label is an array of objects (class, left, top, right, bottom, ...), the places as shares of width and height."""

from __future__ import annotations

import logging
import math
import random
import warnings
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..core.error import FormatError
from ..io.base import DataDesc
from ..ndarray import NDArray
from .augment import Augmenter, CastAug, ForceResizeAug, ResizeAug, color_augmenters
from .image import copyMakeBorder, fixed_crop
from .iterator import ImageIter

Sample = tuple[NDArray, np.ndarray]


class DetAugmenter(Augmenter):
    """Base class: called with an image, (height, width, 3), and its label, (objects, 5 or more), it gives both anew.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> class Inverted(mx.image.DetAugmenter):
    ...     def __call__(self, src, label):
    ...         return 255 - src, label
    >>> image, label = Inverted()(mx.nd.ones((2, 2, 3)), np.array([[0, 0.1, 0.2, 0.5, 0.6]]))
    >>> image.asnumpy()[0, 0], Inverted().dumps()
    (array([254., 254., 254.], dtype=float32), '["inverted", {}]')
    """

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:  # type: ignore[override]
        raise NotImplementedError("Must override implementation.")


class DetBorrowAug(DetAugmenter):
    """An augmenter that moves nothing, so that labels stay. Raises TypeError for what is none.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> augmenter = mx.image.DetBorrowAug(mx.image.ForceResizeAug((4, 4)))
    >>> image, label = augmenter(mx.nd.ones((8, 8, 3), dtype="uint8"), np.array([[0, 0.1, 0.2, 0.5, 0.6]]))
    >>> image.shape, label.tolist()
    ((4, 4, 3), [[0.0, 0.1, 0.2, 0.5, 0.6]])
    """

    def __init__(self, augmenter: Augmenter):
        if not isinstance(augmenter, Augmenter):
            raise TypeError(f"Borrowing from invalid Augmenter: {type(augmenter).__name__}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        """Its name and the augmenter's."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several, drawn each time, or none.

    Parameters
    ----------
    aug_list : DetAugmenter or list of DetAugmenter
        The augmenters; others raise ValueError.
    skip_prob : float, default 0
        Probability of none.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> augmenter = mx.image.DetRandomSelectAug([mx.image.DetHorizontalFlipAug(1)], skip_prob=0)
    >>> image, label = augmenter(mx.nd.ones((8, 8, 3)), np.array([[0, 0.25, 0.2, 0.5, 0.6]]))
    >>> label.tolist()
    [[0.0, 0.5, 0.2, 0.75, 0.6]]
    """

    def __init__(self, aug_list: Any, skip_prob: float = 0):
        super().__init__(skip_prob=skip_prob)
        aug_list = aug_list if isinstance(aug_list, list | tuple) else [aug_list]
        if not all(isinstance(a, DetAugmenter) for a in aug_list):
            raise ValueError("Allow DetAugmenter in list only")
        self.aug_list = list(aug_list)
        self.skip_prob = skip_prob if aug_list else 1

    def dumps(self) -> Any:
        """Its name and those it has."""
        return [type(self).__name__.lower(), [a.dumps() for a in self.aug_list]]

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Mirrored left to right with probability p.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> augmenter = mx.image.DetHorizontalFlipAug(p=1)
    >>> image, label = augmenter(mx.nd.arange(6).reshape((1, 2, 3)), np.array([[0, 0.25, 0.2, 0.5, 0.6]]))
    >>> image.asnumpy().tolist(), label.tolist()
    ([[[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]], [[0.0, 0.5, 0.2, 0.75, 0.6]])
    """

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label = label.copy()
            label[:, [1, 3]] = 1.0 - label[:, [3, 1]]
        return src, label


def _range(value: Any) -> tuple[float, float]:
    """Limits, both the same for a single number."""
    low, high = value if isinstance(value, tuple | list) else (value, value)
    return low, high


def _areas(boxes: np.ndarray) -> np.ndarray:
    """Areas of boxes (left, top, right, bottom), 0 for those that are inside out."""
    return (boxes[:, 2] - boxes[:, 0]).clip(0) * (boxes[:, 3] - boxes[:, 1]).clip(0)


class _RandomBox(DetAugmenter):
    """Base of those that draw a box of random area and proportions until one fits."""

    def __init__(self, aspect_ratio_range: Any, area_range: Any, max_attempts: int, **kwargs: Any):
        self.aspect_ratio_range, self.area_range = _range(aspect_ratio_range), _range(area_range)
        super().__init__(
            aspect_ratio_range=self.aspect_ratio_range,
            area_range=self.area_range,
            max_attempts=max_attempts,
            **kwargs,
        )
        self.max_attempts = max_attempts
        low, high = self.aspect_ratio_range
        problems = [] if self._possible() else [f"area_range: {self.area_range}"]
        problems += [] if 0 < low <= high else [f"aspect_ratio_range: {self.aspect_ratio_range}"]
        self.enabled = not problems
        if problems:
            warnings.warn(f"Skip {type(self).__name__} due to invalid {' and '.join(problems)}", stacklevel=3)

    def _possible(self) -> bool:
        """True when boxes of such areas can be there."""
        raise NotImplementedError


class DetRandomCropAug(_RandomBox):
    """A part of random area and proportions that covers enough of every object that it touches.

    Warns, and does nothing, where a range is empty.

    Parameters
    ----------
    min_object_covered : float, default 0.1
        Share of every object touched that a part has to cover, and more.
    aspect_ratio_range : float or tuple of float, default (0.75, 1.33)
        Least and greatest width / height of the part.
    area_range : float or tuple of float, default (0.05, 1.0)
        Least and greatest share of the image that it covers.
    min_eject_coverage : float, default 0.3
        Objects of which no more than this share is left are dropped.
    max_attempts : int, default 50
        Parts that are tried before the image stays as it is.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> augmenter = mx.image.DetRandomCropAug(min_object_covered=0.9, area_range=(0.3, 0.5))
    >>> image, label = augmenter(mx.nd.ones((20, 20, 3)), np.array([[0, 0.4, 0.4, 0.6, 0.6]]))
    >>> 0.3 <= image.shape[0] * image.shape[1] / 400 <= 0.5, label.shape
    (True, (1, 5))
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ):
        super().__init__(
            aspect_ratio_range,
            area_range,
            max_attempts,
            min_object_covered=min_object_covered,
            min_eject_coverage=min_eject_coverage,
        )
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage

    def _possible(self) -> bool:
        return self.area_range[1] > 0 and self.area_range[0] <= self.area_range[1]

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            size = self._size(height, width)
            if size is None:
                continue
            w, h = size
            y, x = random.randint(0, height - h), random.randint(0, width - w)
            box = x / width, y / height, (x + w) / width, (y + h) / height
            if w * h >= 2 and self._covers(label, np.array(box, label.dtype), height, width):
                kept = self._objects_inside(label, x / width, y / height, w / width, h / height)
                if len(kept):
                    return fixed_crop(src, x, y, w, h), kept
        return src, label

    def _size(self, height: int, width: int) -> tuple[int, int] | None:
        """A width and height, or None where the proportions drawn do not fit."""
        least, most = (share * height * width for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        highest = round(math.sqrt(most / ratio))
        if round(highest * ratio) > width:
            highest = int((width + 0.4999999) / ratio)
        highest = min(highest, height)
        h = min(round(math.sqrt(least / ratio)), highest)
        if h < highest:
            h = random.randint(h, highest)
        if h * round(h * ratio) < least:
            h += 1
        if h * round(h * ratio) > most:
            h -= 1
        w = round(h * ratio)
        fits = least <= w * h <= most and 0 <= w <= width and 0 <= h <= height
        return (w, h) if fits else None

    def _covers(self, label: np.ndarray, part: np.ndarray, height: int, width: int) -> bool:
        """True when enough of every object that the part touches is in it, and it touches one."""
        boxes = label[:, 1:5]
        areas = _areas(boxes)
        seen = areas * width * height > 2
        boxes, areas = boxes[seen], areas[seen]
        low, high = np.maximum(boxes[:, :2], part[:2]), np.minimum(boxes[:, 2:], part[2:])
        covered = _areas(np.concatenate([low, high], axis=1)) / areas
        covered = covered[covered > 0]
        return covered.size > 0 and bool(covered.min() > self.min_object_covered)

    def _objects_inside(self, label: np.ndarray, left: float, top: float, width: float, height: float) -> np.ndarray:
        """The objects that stay, as shares of the part."""
        out = label.copy()
        out[:, [1, 3]] = (out[:, [1, 3]] - left) / width
        out[:, [2, 4]] = (out[:, [2, 4]] - top) / height
        out[:, 1:5] = out[:, 1:5].clip(0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            coverage = _areas(out[:, 1:5]) * width * height / _areas(label[:, 1:5])
        return out[(out[:, 3] > out[:, 1]) & (out[:, 4] > out[:, 2]) & (coverage > self.min_eject_coverage)]


class DetRandomPadAug(_RandomBox):
    """The image somewhere on a larger area of one color, of random size and proportions.

    Warns, and does nothing, where a range is empty or no area is larger than the image.

    Parameters
    ----------
    aspect_ratio_range : float or tuple of float, default (0.75, 1.33)
        Least and greatest width / height of the area.
    area_range : float or tuple of float, default (1.0, 3.0)
        Least and greatest size of the area, in images.
    max_attempts : int, default 50
        Areas that are tried before the image stays as it is.
    pad_val : float or sequence of float, default (128, 128, 128)
        Pixel values of the color, one for each channel.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> augmenter = mx.image.DetRandomPadAug(area_range=(2.0, 3.0))
    >>> image, label = augmenter(mx.nd.ones((20, 20, 3)), np.array([[0, 0.0, 0.0, 1.0, 1.0]]))
    >>> 2 <= image.shape[0] * image.shape[1] / 400 <= 3, (label[0, 3:] - label[0, 1:3] < 1).tolist()
    (True, [True, True])
    """

    def __init__(
        self,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ):
        super().__init__(aspect_ratio_range, area_range, max_attempts, pad_val=pad_val)
        self.pad_val = pad_val if isinstance(pad_val, list | tuple) else (pad_val,) * 3

    def _possible(self) -> bool:
        return self.area_range[1] > 1.0 and self.area_range[0] <= self.area_range[1]

    def __call__(self, src: NDArray, label: np.ndarray) -> Sample:
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            least, most = (share * height * width for share in self.area_range)
            ratio = random.uniform(*self.aspect_ratio_range)
            h, highest = round(math.sqrt(least / ratio)), round(math.sqrt(most / ratio))
            if round(h * ratio) < width:
                h = int((width + 0.499999) / ratio)
            h = min(max(h, height), highest)
            if h < highest:
                h = random.randint(h, highest)
            w = round(h * ratio)
            if h - height < 2 or w - width < 2:
                continue
            y, x = random.randint(0, h - height), random.randint(0, w - width)
            out = label.copy()
            out[:, [1, 3]] = (out[:, [1, 3]] * width + x) / w
            out[:, [2, 4]] = (out[:, [2, 4]] * height + y) / h
            return copyMakeBorder(src, y, h - y - height, x, w - x - width, 0, values=self.pad_val), out
        return src, label


def CreateMultiRandCropAugmenter(  # noqa: N802  MXNet's name
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """One of several random crops; every setting but skip_prob may be a list with one value for each.

    Raises AssertionError for lists of different lengths.

    Parameters
    ----------
    min_object_covered : float or list, default 0.1
        Share of every object touched that a part has to cover, and more.
    aspect_ratio_range : float or tuple of float or list, default (0.75, 1.33)
        Least and greatest width / height of the part.
    area_range : float or tuple of float or list, default (0.05, 1.0)
        Least and greatest share of the image that it covers.
    min_eject_coverage : float or list, default 0.3
        Objects of which no more than this share is left are dropped.
    max_attempts : int or list, default 50
        Parts that are tried before the image stays as it is.
    skip_prob : float, default 0
        Probability of no crop.

    Examples
    --------
    >>> from gluonnx import mx
    >>> augmenter = mx.image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9])
    >>> [crop.min_object_covered for crop in augmenter.aug_list]
    [0.1, 0.5, 0.9]
    """
    settings = [
        value if isinstance(value, list) else [value]
        for value in (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    ]
    count = max(map(len, settings))
    if not all(len(s) in (1, count) for s in settings):
        raise AssertionError("lists of settings must have one length")
    rows = zip(*(s * count if len(s) == 1 else s for s in settings))
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in rows], skip_prob=skip_prob)


def CreateDetAugmenter(  # noqa: N802  MXNet's name
    data_shape: tuple[int, int, int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:
    """The usual augmenters for detection, in the usual order.

    Parameters
    ----------
    data_shape : tuple of int
        (channels, height, width) that images shall have.
    resize : int, default 0
        Pixels of the shorter side before all else; 0: leave it.
    rand_crop : float, default 0
        Probability that a part is taken; see ``CreateMultiRandCropAugmenter``.
    rand_pad : float, default 0
        Probability that the image is put on a larger area; see ``DetRandomPadAug``.
    rand_gray : float, default 0
        Probability that it turns gray.
    rand_mirror : bool, default False
        Swap left and right half of the time.
    mean : True, array or None, default None
        Taken off at last: True for ImageNet's, or 1 or 3 numbers, in pixel values; None: nothing.
    std : True, array or None, default None
        Divided by after that: True for ImageNet's, or 1 or 3 numbers; None: nothing.
    brightness : float, default 0
        Pixels times a random factor from 1 - brightness to 1 + brightness.
    contrast : float, default 0
        The same for their distance from the mean brightness.
    saturation : float, default 0
        The same for their distance from each pixel's gray.
    pca_noise : float, default 0
        Deviation of random factors of ImageNet's principal components of colors.
    hue : float, default 0
        Colors turned by up to hue half turns about the gray axis.
    inter_method : int, default 2
        Interpolation as in ``imresize``.
    min_object_covered : float or list, default 0.1
        Share of every object touched that a part has to cover, and more.
    aspect_ratio_range : float or tuple of float or list, default (0.75, 1.33)
        Least and greatest width / height of the part.
    area_range : float or tuple of float or list, default (0.05, 3.0)
        Least and greatest share of the image that it covers; the greatest is also that of a padded area.
    min_eject_coverage : float or list, default 0.3
        Objects of which no more than this share is left are dropped.
    max_attempts : int or list, default 50
        Parts that are tried before the image stays as it is.
    pad_val : float or sequence of float, default (127, 127, 127)
        Pixel values around a padded image.

    Examples
    --------
    >>> from gluonnx import mx
    >>> chain = mx.image.CreateDetAugmenter((3, 4, 4), rand_mirror=True, mean=True)
    >>> [type(augmenter).__name__ for augmenter in chain]
    ['DetHorizontalFlipAug', 'DetBorrowAug', 'DetBorrowAug', 'DetBorrowAug']
    """
    made: list[DetAugmenter] = []
    if resize > 0:
        made.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        crops = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
        made.append(CreateMultiRandCropAugmenter(*crops, skip_prob=1 - rand_crop))
    if rand_mirror:
        made.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        made.append(DetRandomSelectAug([pad], 1 - rand_pad))
    made.append(DetBorrowAug(ForceResizeAug((data_shape[2], data_shape[1]), inter_method)))
    made.append(DetBorrowAug(CastAug()))
    colors = color_augmenters(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray)
    return made + [DetBorrowAug(augmenter) for augmenter in colors]


class ImageDetIter(ImageIter):
    """As ImageIter, for detection: labels are (batch, objects, width), filled up with -1.

    A label in a file is: how many numbers its header has (itself included), how many an object has, the rest of the header, and
    the objects. Images without a proper object are left out. Further arguments are those of CreateDetAugmenter.

    Parameters
    ----------
    batch_size : int
        Number of images in a batch.
    data_shape : tuple of int
        (3, height, width) of an image in a batch.
    path_imgrec : path or None, default None
        Record file, as im2rec makes it.
    path_imglist : path or None, default None
        List of images: lines of number, labels and file, with tabs between; beside a record file its labels count.
    path_root : path or None, default None
        Folder that files in a list start from.
    path_imgidx : path or None, default None
        Index of the record file, which shuffle and parts need.
    shuffle : bool, default False
        Draw a new order at every reset, from Python's ``random``.
    part_index : int, default 0
        The part that this iterator reads, from 0.
    num_parts : int, default 1
        Number of equal parts that the images are divided into; what is left over is in none.
    aug_list : list of DetAugmenter or None, default None
        Augmenters; None: those of ``CreateDetAugmenter(data_shape, **kwargs)``.
    imglist : list or None, default None
        Labels and file of each image, [label, ..., file], in place of path_imglist.
    data_name : str, default 'data'
        Name of the images.
    label_name : str, default 'label'
        Name of the labels.
    last_batch_handle : str, default 'pad'
        Fate of the images that do not fill a batch: "pad", "discard" or "roll_over" as in NDArrayIter.

    Raises FormatError that names an image whose label is none or has objects of another width.

    Examples
    --------
    >>> from gluonnx import mx
    >>> from PIL import Image
    >>> Image.new("RGB", (8, 8)).save("0.png")
    >>> cat, dog = [0, 0.1, 0.2, 0.5, 0.6], [1, 0.0, 0.5, 0.5, 1.0]
    >>> files = [[[2, 5, *cat, *dog], "0.png"], [[2, 5, *dog], "0.png"]]  # a header of 2 numbers, objects of 5
    >>> batches = mx.image.ImageDetIter(2, (3, 4, 4), imglist=files, path_root=".")
    >>> batch = batches.next()
    >>> batch.data[0].shape, batch.label[0].shape
    ((2, 3, 4, 4), (2, 2, 5))
    >>> batch.label[0].asnumpy()[1].round(1)
    array([[ 1. ,  0. ,  0.5,  0.5,  1. ],
           [-1. , -1. , -1. , -1. , -1. ]], dtype=float32)
    >>> batches.reshape(label_shape=(3, 5))
    >>> batches.provide_label[0].shape
    (2, 3, 5)
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, int, int],
        path_imgrec: Any = None,
        path_imglist: Any = None,
        path_root: Any = None,
        path_imgidx: Any = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Any = None,
        imglist: Any = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ):
        super().__init__(
            batch_size=batch_size,
            data_shape=data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=[],
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
        )
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape = self._largest_label()
        self._describe(label_name, self.label_shape)

    def _describe(self, name: str, shape: tuple[int, int]) -> None:
        self.provide_label = [DataDesc(name, (self.batch_size, *shape))]

    def _largest_label(self) -> tuple[int, int]:
        """The most objects that an image has, and how many numbers an object."""
        count = width = 0
        self.reset()
        while True:
            try:
                objects = self._objects(self.next_sample()[0])
            except StopIteration:
                break
            if count and objects.shape[1] != width:
                raise FormatError(
                    f"{self._last}: got objects of {objects.shape[1]} numbers, wanted {width} as those before have"
                )
            count, width = max(count, len(objects)), objects.shape[1]
        self.reset()
        return count, width

    def _objects(self, label: Any) -> np.ndarray:
        """The objects of a label that have an area. Raises FormatError where there are none or the numbers do not add up."""
        raw = np.asarray(label, np.float32).ravel()
        if raw.size < 7:
            raise FormatError(f"Label shape is invalid: {raw.shape}")
        if not np.isfinite(raw[:2]).all():
            raise FormatError(f"Label starts with {raw[:2].tolist()}, wanted the sizes of its header and of an object")
        header, width = int(raw[0]), int(raw[1])
        if header < 2 or width < 5 or (raw.size - header) % width:
            raise FormatError(f"Label shape {raw.shape} inconsistent with annotation width {width}.")
        objects = raw[header:].reshape(-1, width)
        objects = objects[(objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])]
        if not len(objects):
            raise FormatError("Encounter sample with no valid label.")
        return objects

    def example(self, label: Any, image: NDArray) -> tuple[Any, NDArray] | None:
        """The objects of a label, (objects, width), and an image ready for a batch, (3, height, width); None for one to leave out.

        Raises FormatError where no object of a label is a proper one.

        Examples
        --------
        >>> from gluonnx import mx
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> batches = mx.image.ImageDetIter(1, (3, 4, 4), imglist=[[[2, 5, 0, 0.25, 0.25, 0.5, 0.5], "0.png"]])
        >>> label, image = batches.example([2, 5, 1, 0, 0, 0.5, 1], mx.nd.ones((8, 8, 3), dtype="uint8"))
        >>> label, image.shape
        (array([[1. , 0. , 0. , 0.5, 1. ]], dtype=float32), (3, 4, 4))
        """
        try:
            self.check_valid_image([image])
            image, objects = self.augmentation_transform(image, self._objects(label))
            proper = (objects[:, 0] >= 0) & (objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])
            if not proper.any():
                raise FormatError("Invalid label occurs.")
        except RuntimeError as error:
            logging.debug("Invalid image, skipping: %s", error)
            return None
        full = np.full(self.label_shape, -1, np.float32)
        full[: len(objects)] = objects
        return full, self.postprocess_data(image)

    def augmentation_transform(self, data: NDArray, label: np.ndarray) -> Sample:  # type: ignore[override]
        """The image, data, (height, width, 3), and its objects, label, (objects, width), through all augmenters.

        Examples
        --------
        >>> from gluonnx import mx
        >>> import numpy as np
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> batches = mx.image.ImageDetIter(1, (3, 4, 4), imglist=[[[2, 5, 0, 0.25, 0.25, 0.5, 0.5], "0.png"]])
        >>> objects = np.array([[0, 0.25, 0.25, 0.5, 0.5]])
        >>> image, objects = batches.augmentation_transform(mx.nd.ones((8, 8, 3), dtype="uint8"), objects)
        >>> image.shape, objects.tolist()
        ((4, 4, 3), [[0.0, 0.25, 0.25, 0.5, 0.5]])
        """
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def reshape(self, data_shape: Any = None, label_shape: Any = None) -> None:
        """Other shapes of images (data_shape) or labels (label_shape, objects and their width) from the next batch on."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.provide_data = [DataDesc(self.provide_data[0].name, (self.batch_size, *data_shape))]
            self.data_shape = data_shape
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.label_shape = tuple(label_shape)
            self._describe(self.provide_label[0].name, self.label_shape)

    def check_label_shape(self, label_shape: Any) -> None:
        """Raise ValueError unless label_shape has room for all objects and is as wide as they are.

        Examples
        --------
        >>> from gluonnx import mx
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> batches = mx.image.ImageDetIter(1, (3, 4, 4), imglist=[[[2, 5, 0, 0.25, 0.25, 0.5, 0.5], "0.png"]])
        >>> batches.check_label_shape((1, 6))
        Traceback (most recent call last):
            ...
        ValueError: label_shape object width inconsistent: 5 vs 6.
        """
        if len(label_shape) != 2:
            raise ValueError("label_shape should have length 2")
        if label_shape[0] < self.label_shape[0]:
            raise ValueError(
                f"Attempts to reduce label count from {self.label_shape[0]} to {label_shape[0]}, not allowed."
            )
        if label_shape[1] != self.label_shape[1]:
            raise ValueError(f"label_shape object width inconsistent: {self.label_shape[1]} vs {label_shape[1]}.")

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give both iterators, this and it, labels of the same shape, the larger; verbose: log that. Returns it.

        Raises AssertionError for another kind of iterator, or objects of another width.

        Examples
        --------
        >>> from gluonnx import mx
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> cat, dog = [0, 0.1, 0.2, 0.5, 0.6], [1, 0.0, 0.5, 0.5, 1.0]
        >>> train = mx.image.ImageDetIter(1, (3, 4, 4), imglist=[[[2, 5, *cat], "0.png"]])
        >>> test = mx.image.ImageDetIter(1, (3, 4, 4), imglist=[[[2, 5, *cat, *dog], "0.png"]])
        >>> train.sync_label_shape(test).label_shape, train.label_shape
        ((2, 5), (2, 5))
        """
        if not isinstance(it, ImageDetIter):
            raise AssertionError("Synchronize with invalid iterator.")
        if self.label_shape[1] != it.label_shape[1]:
            raise AssertionError("object width mismatch.")
        count = max(self.label_shape[0], it.label_shape[0])
        for one in (self, it):
            if count > one.label_shape[0]:
                one.reshape(None, (count, one.label_shape[1]))
                if verbose:
                    logging.info("Resized label_shape to (%d, %d).", count, one.label_shape[1])
        return it
