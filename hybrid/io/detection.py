"""ImageDetRecordIter: batches of images with the objects in them from a record file, with the settings of MXNet's iterator."""

from __future__ import annotations

import ast
import functools
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import image, recordio
from ..core.error import FormatError, MXNetError
from ..formats import images
from ..formats.files import locate_errors
from ..image.image import resized
from . import colors
from .decoding import DRAWN, DecodingIter, Room
from .files import HARMLESS, _part, _shape, warn_of_unknown


class _Sampler(NamedTuple):
    """Bounds of one way to cut a part out of an image."""

    scales: tuple[float, float]
    ratios: tuple[float, float]
    overlaps: tuple[float, float]
    sample_coverages: tuple[float, float]
    object_coverages: tuple[float, float]
    trials: int


class _Label:
    """The objects of an image: a header, whose first two numbers are its own width and that of an object, and then rows of
    (class, left, top, right, bottom, ...), the places as shares of width and height. Objects without an area are left out.

    Raises FormatError."""

    def __init__(self, numbers: np.ndarray):
        header, width = (int(n) for n in numbers[:2]) if len(numbers) >= 7 else (0, 0)
        if header < 2 or width < 5 or header > len(numbers) or (len(numbers) - header) % width:
            raise FormatError(
                f"got a label of {len(numbers)} numbers that begins with {numbers[:2].tolist()}, wanted the width of its header "
                "(2 or more), that of an object (5 or more), and whole objects behind the header"
            )
        self.header = numbers[:header]
        rows = numbers[header:].reshape(-1, width)
        self.rows = rows[(rows[:, 3] > rows[:, 1]) & (rows[:, 4] > rows[:, 2])]

    def numbers(self) -> np.ndarray:
        """The label anew, with the objects as they are now."""
        return np.concatenate([self.header, self.rows.ravel()])

    def project(self, x: float, y: float, width: float, height: float) -> np.ndarray:
        """The objects with their places as shares of a part of the image."""
        rows = self.rows.copy()
        for column, start, size in ((1, x, width), (2, y, height)):
            rows[:, column] = np.maximum(0, (rows[:, column] - start) / size)
            rows[:, column + 2] = np.minimum(1, (rows[:, column + 2] - start) / size)
        return rows

    def mirror(self) -> None:
        """Turn left and right around."""
        rows = self.rows.copy()
        rows[:, 1], rows[:, 3] = 1 - self.rows[:, 3], 1 - self.rows[:, 1]
        self.rows = rows

    def crop(self, box: tuple[float, float, float, float], sampler: _Sampler, keep: Callable[..., np.ndarray]) -> bool:
        """Cut a part out where one object at least fits the bounds and one stays; True when it was done."""
        if not len(self.rows):
            return True
        x, y, width, height = box
        left, top, right, bottom = self.rows[:, 1:5].T
        common = np.maximum(0, np.minimum(right, x + width) - np.maximum(left, x))
        common = common * np.maximum(0, np.minimum(bottom, y + height) - np.maximum(top, y))
        own, part = (right - left) * (bottom - top), width * height
        fits = np.ones(len(self.rows), bool)
        for share, (least, most) in (
            (common / (own + part - common), sampler.overlaps),
            (common / part, sampler.sample_coverages),
            (common / own, sampler.object_coverages),
        ):
            if least > 0 or most < 1:
                fits &= (share >= least) & (share <= most)
        stay = keep(self.rows, box, common / own)
        if not fits.any() or not stay.any():
            return False
        self.rows = self.project(*box)[stay]
        return True


def _centers_inside(rows: np.ndarray, box: tuple[float, float, float, float], _: np.ndarray) -> np.ndarray:
    x, y, width, height = box
    across, down = (rows[:, 1] + rows[:, 3]) / 2, (rows[:, 2] + rows[:, 4]) / 2
    return (across >= x) & (across < x + width) & (down >= y) & (down < y + height)


def _share_inside(
    rows: np.ndarray, box: tuple[float, float, float, float], share: np.ndarray, least: float
) -> np.ndarray:
    return share > least


class _Example(NamedTuple):
    """Content of a record: an image (height, width, channels), its objects, and its own number."""

    pixels: np.ndarray
    label: _Label
    number: int


class _Choice(NamedTuple):
    """Choices drawn for an image, and its label as they leave it."""

    method_before: int
    colors: list[float]
    """Numbers added to hue, saturation and lightness; and the share of the pixels that is added to them."""
    mirrored: bool
    sides: tuple[int, int, int, int] | None
    """Pixels above, below, left and right of it on a larger one."""
    part: tuple[int, int, int, int] | None
    """Top, left, height and width of the part that is taken."""
    method: int
    label: np.ndarray


def _numbers(value: Any, count: int, name: str) -> list[float]:
    """A setting of each of several samplers, given as one number, a tuple, or the text of one."""
    value = ast.literal_eval(value) if isinstance(value, str) else value
    values = [float(v) for v in value] if isinstance(value, list | tuple) else [float(value)]
    if len(values) == 1:
        values *= max(count, 1)
    if len(values) != max(count, 1):
        raise MXNetError(
            f"ImageDetRecordIter: got {len(values)} numbers in {name}, wanted 1 or num_crop_sampler={count}"
        )
    return values


class ImageDetRecordIter(DecodingIter):
    """Batches of images (batch, *data_shape), red first, and of labels (batch, 4 + width): channels, height and width of the image,
    how many numbers follow, and those of the record, filled up with label_pad_value.

    A record's label is (width of the header, width of an object, ..., then class, left, top, right, bottom, ... of each object),
    places being shares of width and height. Every image, in this order: resized; its colors changed (as OpenCV's HLS has them);
    mirrored; put on a larger one; a part of it taken, where one of the samplers finds one within its bounds; brought to
    data_shape; at last (x - mean) / std * scale. Data and labels are float32.

    From the first batch of an epoch on a thread reads prefetch_buffer batches ahead (0: none), for which preprocess_threads
    threads decode, at most one for each core. The numbers are the same with any of them.

    Parameters
    ----------
    path_imglist : path, default ''
        List of images (number, labels and path, between tabs) whose labels take the place of those in the records.
    path_imgrec : path, default './data/imgrec.rec'
        Record file, as im2rec makes it.
    aug_seq : str, default 'det_aug_default'
        The only sequence of augmenters that there is.
    label_width : int, default -1
        Numbers in every label of the records; -1: as many as it has.
    data_shape : tuple of int
        (channels, height, width) of an image in a batch; 1 channel (gray) or 3.
    num_parts : int, default 1
        Number of parts that the records are divided into, one for each worker.
    part_index : int, default 0
        The part that this iterator reads, from 0; the last has what is left over.
    label_pad_width : int, default 0
        Numbers that every label is filled up to; 0: those of the longest.
    label_pad_value : float, default -1
        Number that fills them up.
    shuffle : bool, default False
        Draw a new order every epoch.
    seed : int, default 0
        Seed of the order and of all that is drawn.
    batch_size : int
        Number of examples in a batch, which has to be given.
    round_batch : bool, default True
        The last batch is filled up from the start, and the next epoch begins behind what filled it; else it is filled up with
        what stood there in the batch before.
    dtype : str or dtype, default None
        float32; anything else raises MXNetError.
    resize : int, default -1
        Pixels of the shorter side, before all else; -1: leave it.
    rand_crop_prob : float, default 0
        Probability that a part is taken.
    min_crop_scales : float or tuple of float, default (0.0,)
        The least square root of the part's share of the image, one for all samplers or one for each.
    max_crop_scales : float or tuple of float, default (1.0,)
        The most.
    min_crop_aspect_ratios : float or tuple of float, default (1.0,)
        The least width / height of the part, one for all samplers or one for each.
    max_crop_aspect_ratios : float or tuple of float, default (1.0,)
        The most.
    min_crop_overlaps : float or tuple of float, default (0.0,)
        The least intersection over union of the part and one object, one for all samplers or one for each.
    max_crop_overlaps : float or tuple of float, default (1.0,)
        The most.
    min_crop_sample_coverages : float or tuple of float, default (0.0,)
        The least share of the part that one object covers, one for all samplers or one for each.
    max_crop_sample_coverages : float or tuple of float, default (1.0,)
        The most.
    min_crop_object_coverages : float or tuple of float, default (0.0,)
        The least share of one object that the part covers, one for all samplers or one for each.
    max_crop_object_coverages : float or tuple of float, default (1.0,)
        The most.
    num_crop_sampler : int, default 1
        Number of samplers, which are tried in an order that is drawn.
    crop_emit_mode : str, default 'center'
        Objects that stay in a part: "center" those whose middle is in it, "overlap" those by emit_overlap_thresh.
    emit_overlap_thresh : float, default 0.3
        Share of an object that has to be in the part, and more.
    max_crop_trials : int or tuple of int, default (25,)
        Parts that a sampler tries.
    rand_pad_prob : float, default 0
        Probability that an image is put somewhere on a larger one.
    max_pad_scale : float, default 1
        The most that the larger one's sides are, in sides of the image.
    max_random_hue : int, default 0
        The most that hue is changed by, of 180.
    random_hue_prob : float, default 0
        Probability of that.
    max_random_saturation : int, default 0
        The most that saturation is changed by, of 255.
    random_saturation_prob : float, default 0
        Probability of that.
    max_random_illumination : int, default 0
        The most that lightness is changed by, of 255.
    random_illumination_prob : float, default 0
        Probability of that.
    max_random_contrast : float, default 0
        Pixels times a factor from 1 - max_random_contrast to 1 + max_random_contrast.
    random_contrast_prob : float, default 0
        Probability of that.
    rand_mirror_prob : float, default 0
        Probability that left and right are swapped.
    fill_value : int, default 127
        Pixel value of what a larger image has around it.
    inter_method : int, default 1
        Interpolation: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 what suits, 10 any, drawn for each image.
    resize_mode : str, default 'force'
        Way to data_shape: "force" to just that size; "fit" as large as fits in its proportions, and "shrink" the same without
        enlarging, both at the left and top with 0 beside it.
    mean_img : path, default ''
        File of the mean image, of data_shape, for means of 0; made of all images where it is not there.
    mean_r : float, default 0
        Mean of the first channel, red (of the only one where images are gray), in pixel values, taken off.
    mean_g : float, default 0
        Mean of green.
    mean_b : float, default 0
        Mean of blue.
    mean_a : float, default 0
        Mean of a fourth channel, which no image has; more than 0 it only keeps mean_img from being read.
    std_r : float, default 0
        Deviation of the first channel, which it is divided by where it is more than 0.
    std_g : float, default 0
        Deviation of green.
    std_b : float, default 0
        Deviation of blue.
    std_a : float, default 0
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
        Settings of how MXNet's iterators go about it; of others a warning says that they are not known.

    Raises MXNetError for settings that are not there or make no sense, FormatError for a broken record or label. Needs Pillow.

    Examples
    --------
    >>> from gluonnx import mx
    >>> records = mx.recordio.MXRecordIO("data.rec", "w")
    >>> pixels = mx.nd.full((8, 8, 3), 200, dtype="uint8").asnumpy()
    >>> label = [2, 5, 1, 0.25, 0.25, 0.75, 0.75]  # two widths, then class and corners of an object
    >>> header = mx.recordio.IRHeader(0, label, 0, 0)
    >>> records.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> records.close()
    >>> data = mx.io.ImageDetRecordIter(path_imgrec="data.rec", data_shape=(3, 8, 8), batch_size=1)
    >>> batch = data.next()
    >>> batch.data[0].shape, batch.label[0].shape
    ((1, 3, 8, 8), (1, 11))
    >>> batch.label[0][0].asnumpy().tolist()
    [3.0, 8.0, 8.0, 7.0, 2.0, 5.0, 1.0, 0.25, 0.25, 0.75, 0.75]
    """

    def __init__(
        self,
        path_imglist: Any = "",
        path_imgrec: Any = "./data/imgrec.rec",
        aug_seq: str = "det_aug_default",
        label_width: int = -1,
        data_shape: Any = (),
        num_parts: int = 1,
        part_index: int = 0,
        label_pad_width: int = 0,
        label_pad_value: float = -1.0,
        shuffle: bool = False,
        seed: int = 0,
        batch_size: int = 0,
        round_batch: bool = True,
        dtype: Any = None,
        resize: int = -1,
        rand_crop_prob: float = 0.0,
        min_crop_scales: Any = (0.0,),
        max_crop_scales: Any = (1.0,),
        min_crop_aspect_ratios: Any = (1.0,),
        max_crop_aspect_ratios: Any = (1.0,),
        min_crop_overlaps: Any = (0.0,),
        max_crop_overlaps: Any = (1.0,),
        min_crop_sample_coverages: Any = (0.0,),
        max_crop_sample_coverages: Any = (1.0,),
        min_crop_object_coverages: Any = (0.0,),
        max_crop_object_coverages: Any = (1.0,),
        num_crop_sampler: int = 1,
        crop_emit_mode: str = "center",
        emit_overlap_thresh: float = 0.3,
        max_crop_trials: Any = (25,),
        rand_pad_prob: float = 0.0,
        max_pad_scale: float = 1.0,
        max_random_hue: int = 0,
        random_hue_prob: float = 0.0,
        max_random_saturation: int = 0,
        random_saturation_prob: float = 0.0,
        max_random_illumination: int = 0,
        random_illumination_prob: float = 0.0,
        max_random_contrast: float = 0.0,
        random_contrast_prob: float = 0.0,
        rand_mirror_prob: float = 0.0,
        fill_value: int = 127,
        inter_method: int = 1,
        resize_mode: str = "force",
        mean_img: Any = "",
        mean_r: float = 0.0,
        mean_g: float = 0.0,
        mean_b: float = 0.0,
        mean_a: float = 0.0,
        std_r: float = 0.0,
        std_g: float = 0.0,
        std_b: float = 0.0,
        std_a: float = 0.0,
        scale: float = 1.0,
        data_name: str = "data",
        label_name: str = "softmax_label",
        preprocess_threads: int = 4,
        prefetch_buffer: int = 4,
        **others: Any,
    ):
        self._shape = _shape(data_shape)
        for name, given, wanted in (
            ("aug_seq", aug_seq, ("det_aug_default",)),
            ("dtype", dtype, (None, "None", "float32")),
            ("inter_method", inter_method, (0, 1, 2, 3, 4, 9, 10)),
            ("crop_emit_mode", crop_emit_mode, ("center", "overlap")),
            ("resize_mode", resize_mode, ("force", "shrink", "fit")),
            ("number of channels in data_shape", self._shape[:1], ((1,), (3,))),
            ("length of data_shape", len(self._shape), (3,)),
        ):
            if given not in wanted:
                raise MXNetError(f"ImageDetRecordIter: got {name}={given!r}, wanted {' or '.join(map(repr, wanted))}")
        warn_of_unknown(self, [name for name in others if name not in HARMLESS])
        self._samplers = self._read_samplers(
            num_crop_sampler,
            scales=(min_crop_scales, max_crop_scales),
            aspect_ratios=(min_crop_aspect_ratios, max_crop_aspect_ratios),
            overlaps=(min_crop_overlaps, max_crop_overlaps),
            sample_coverages=(min_crop_sample_coverages, max_crop_sample_coverages),
            object_coverages=(min_crop_object_coverages, max_crop_object_coverages),
            trials=max_crop_trials,
        )
        self._keep: Callable[..., np.ndarray] = _centers_inside
        if crop_emit_mode == "overlap":
            self._keep = functools.partial(_share_inside, least=emit_overlap_thresh)
        self._crop_prob, self._pad_prob, self._mirror_prob = rand_crop_prob, rand_pad_prob, rand_mirror_prob
        self._pad_scale, self._fill_value = max_pad_scale, fill_value
        self._resize, self._mode, self._method = resize, resize_mode, inter_method
        self._colors = (
            (max_random_hue, random_hue_prob),
            (max_random_saturation, random_saturation_prob),
            (max_random_illumination, random_illumination_prob),
            (max_random_contrast, random_contrast_prob),
        )
        self._random, self._mixer = random.Random(seed), np.random.RandomState(seed) if shuffle else None
        self._ids: np.ndarray | None = None
        self._listed = image.iterator.read_list(path_imglist) if path_imglist else None
        self._file = recordio.MXRecordIO(path_imgrec, "r")
        starts = self._file.positions()
        self._starts = starts[_part(len(starts), num_parts, part_index)]
        self._fill_label, self._width = label_pad_value, self._label_width(label_width, label_pad_width)
        channels = self._shape[0]
        self._mean: np.ndarray = np.zeros((channels, 1, 1), np.float32)
        self._std = np.array([s if s > 0 else 1 for s in (std_r, std_g, std_b)][:channels], np.float32)[:, None, None]
        self._scale = np.float32(scale)
        if max(mean_r, mean_g, mean_b, mean_a) > 0:
            self._mean = np.array([mean_r, mean_g, mean_b][:channels], np.float32)[:, None, None]
        elif mean_img:
            self._mean = self._mean_image(mean_img)
        super().__init__(batch_size, round_batch, data_name, label_name, preprocess_threads, prefetch_buffer)

    @staticmethod
    def _read_samplers(count: int, *, trials: Any, **bounds: tuple[Any, Any]) -> list[_Sampler]:
        """The samplers. Raises MXNetError for bounds that leave nothing between them."""
        ranges = []
        for name, (least, most) in bounds.items():
            pairs = list(zip(_numbers(least, count, f"min_crop_{name}"), _numbers(most, count, f"max_crop_{name}")))
            for low, high in pairs:
                if (
                    high < low
                    or (name in ("scales", "aspect_ratios") and low < 0)
                    or (name == "scales" and not low < high <= 1)
                ):
                    raise MXNetError(
                        f"ImageDetRecordIter: got min_crop_{name}={low}, max_crop_{name}={high}, which leaves nothing"
                    )
            ranges.append(pairs)
        tries = [int(n) for n in _numbers(trials, count, "max_crop_trials")]
        return [_Sampler(*settings) for settings in zip(*ranges, tries)][: max(count, 0)]

    def _label_width(self, wanted: int, padded: int) -> int:
        """Numbers in a filled up label. Raises MXNetError where a label has more, FormatError where it has not those wanted."""
        most = 0
        for start in self._starts:
            with locate_errors(f"{self._file.uri}, record at byte {start}"):
                label = self._label(self._unpack(start)[0])
                if wanted > 0 and len(label) != wanted:
                    raise FormatError(
                        f"rec file provide {len(label)}-dimensional label but label_width is set to {wanted}"
                    )
            most = max(most, len(label))
        if self._listed is not None:
            most = max(most, *(len(label) for label, _ in self._listed.values()))
        if 0 < padded < most:
            raise MXNetError(f"ImageDetRecordIter: label_pad_width: {padded} smaller than estimated width: {most}")
        return max(most, padded)

    def _unpack(self, start: int) -> tuple[Any, bytes]:
        """The header and the compressed image of the record at a position."""
        return recordio.unpack(self._file.read_at(start) or b"")

    def _label(self, header: Any) -> np.ndarray:
        """The numbers of a record's label."""
        if self._listed is None:
            return np.asarray(header.label, np.float32).reshape(-1)
        if header.id not in self._listed:
            raise FormatError(f"the image of number {header.id} is not in path_imglist")
        return self._listed[header.id][0]

    def iter_next(self) -> bool:
        """Go to the next batch; False when none is left."""
        before = self._current
        there = super().iter_next()
        if there and self._current is not before:
            self._current.index = self._ids
        return there

    def _room(self, count: int) -> Room:
        """Memory for the data, the labels and the numbers of a batch."""
        data, labels = np.empty((count, *self._shape), np.float32), np.empty((count, 4 + self._width), np.float32)
        return data, labels, np.empty(count, np.uint64)

    def _give(self, room: Room) -> tuple[np.ndarray, np.ndarray]:
        """Data and labels of a batch, whose numbers are kept."""
        data, labels, self._ids = room
        return data, labels

    def _decode(self, start: int) -> _Example:
        """Content of the record at a position."""
        with locate_errors(f"{self._file.uri}, record at byte {start}"):
            header, data = self._unpack(start)
            label = _Label(self._label(header))
            pixels = images.decode(data, 1 if self._shape[0] == 3 else 0)
        return _Example(pixels[:, :, None] if pixels.ndim == 2 else pixels, label, header.id)

    def _happens(self, probability: float) -> bool:
        return probability > 0 and self._random.random() < probability

    def _draw_method(self) -> int:
        """Interpolation of one resizing."""
        return self._random.randint(0, 4) if self._method == DRAWN else self._method

    def _draw(self, start: int, example: _Example) -> _Choice:
        """Choices for an image; its objects are moved as they say."""
        height, width = self._size_before(*example.pixels.shape[:2])
        before = self._draw_method() if self._resize != -1 else self._method
        label = example.label
        amounts = [self._random.uniform(-1, 1) * most if self._happens(p) else 0.0 for most, p in self._colors]
        mirrored = self._happens(self._mirror_prob)
        if mirrored:
            label.mirror()
        sides = self._padded(height, width, label) if self._pad_scale > 1 and self._happens(self._pad_prob) else None
        if sides is not None:
            height, width = height + sides[0] + sides[1], width + sides[2] + sides[3]
        part = self._cropped(height, width, label) if self._samplers and self._happens(self._crop_prob) else None
        return _Choice(before, amounts, mirrored, sides, part, self._draw_method(), label.numbers())

    def _fill(self, example: _Example, choice: _Choice, row: Room) -> None:
        """Put an image, varied as was drawn, its label and its number into their places."""
        pixels = example.pixels
        if self._resize != -1:
            height, width = self._size_before(*pixels.shape[:2])
            pixels = resized(pixels, width, height, choice.method_before)
        if choice.mirrored:
            pixels = pixels[:, ::-1]
        pixels = self._placed(pixels, choice)
        pixels = self._fitted(pixels, choice.method)
        height, width = pixels.shape[:2]
        data, label, number = row
        data[...] = 0
        data[:, :height, :width] = np.moveaxis(pixels, 2, 0)
        data -= self._mean
        data /= self._std
        data *= self._scale
        label[...] = self._fill_label
        label[:4] = (self._shape[0], height, width, len(choice.label))
        label[4 : 4 + len(choice.label)] = choice.label
        number[...] = example.number

    def _placed(self, pixels: np.ndarray, choice: _Choice) -> np.ndarray:
        """An image with its colors varied, on the larger one if there is one, and of that the part that is taken. Colors are varied
        pixel by pixel, so that what is cut off is left out."""
        height, width = pixels.shape[:2]
        above, below, left, right = choice.sides or (0, 0, 0, 0)
        y, x, high, wide = choice.part or (0, 0, height + above + below, width + left + right)
        high, wide = min(high, height + above + below - y), min(wide, width + left + right - x)
        rows = slice(max(y - above, 0), min(max(y + high - above, 0), height))
        columns = slice(max(x - left, 0), min(max(x + wide - left, 0), width))
        pixels = _colored(pixels[rows, columns], choice.colors)
        if choice.sides is None:
            return pixels
        whole = np.full((high, wide, pixels.shape[2]), self._fill_value, np.uint8)
        top, start = max(above - y, 0), max(left - x, 0)
        whole[top : top + pixels.shape[0], start : start + pixels.shape[1]] = pixels
        return whole

    def _size_before(self, height: int, width: int) -> tuple[int, int]:
        """Height and width before all else is done with an image."""
        short = min(height, width)
        return (
            (height, width) if self._resize == -1 else (self._resize * height // short, self._resize * width // short)
        )

    def _padded(self, height: int, width: int, label: _Label) -> tuple[int, int, int, int] | None:
        """Pixels above, below, left and right of an image of that size on a larger one."""
        scale = self._random.uniform(1, self._pad_scale)
        if scale < 1.05:
            return None
        x, y = (self._random.uniform(0, scale - 1) for _ in range(2))
        label.rows = label.project(-x, -y, scale, scale)
        return int(y * height), int((scale - y - 1) * height), int(x * width), int((scale - x - 1) * width)

    def _cropped(self, height: int, width: int, label: _Label) -> tuple[int, int, int, int] | None:
        """Top, left, height and width of a part of an image of that size."""
        for sampler in self._random.sample(self._samplers, len(self._samplers)):
            for _ in range(sampler.trials):
                box = x, y, across, down = self._box(sampler, width / height)
                if label.crop(box, sampler, self._keep):
                    return int(y * height), int(x * width), max(1, int(down * height)), max(1, int(across * width))
        return None

    def _box(self, sampler: _Sampler, shape: float) -> tuple[float, float, float, float]:
        """A part of an image whose width is ``shape`` times its height: left, top, width, height as shares."""
        scale = self._random.uniform(*sampler.scales) + 1e-12
        least = max(sampler.ratios[0] / shape, scale * scale)
        most = min(sampler.ratios[1] / shape, 1 / (scale * scale))
        ratio = self._random.uniform(least, most) ** 0.5
        width, height = min(1.0, scale * ratio), min(1.0, scale / ratio)
        return self._random.uniform(0, 1 - width), self._random.uniform(0, 1 - height), width, height

    def _fitted(self, pixels: np.ndarray, method: int) -> np.ndarray:
        """An image brought to data_shape, or into it."""
        height, width = self._shape[1:]
        if self._mode != "force":
            own_height, own_width = pixels.shape[:2]
            ratio = np.float32(
                min(np.float32(height) / np.float32(own_height), np.float32(width) / np.float32(own_width))
            )
            if self._mode == "shrink" and ratio >= 1:
                return pixels
            height, width = int(ratio * np.float32(own_height)), int(ratio * np.float32(own_width))
        return resized(pixels, width, height, method)


def _colored(pixels: np.ndarray, amounts: list[float]) -> np.ndarray:
    """An image with so much added to its hue, saturation and lightness, and of its pixels to them."""
    hue, saturation, lightness = (int(a) for a in amounts[:3])
    if (hue or saturation or lightness) and pixels.shape[2] == 3:
        pixels = colors.shifted(pixels, (hue, saturation, lightness))
    if abs(amounts[3]) > 1e-3:
        pixels = colors.brightened(pixels, 1 + amounts[3])
    return pixels
