"""ImageIter: batches of augmented images from a record file or from image files that a list names."""

from __future__ import annotations

import logging
import numbers
import os
import random
from typing import Any

import numpy as np

from .. import ndarray as nd
from .. import recordio
from ..core.error import FormatError, MXNetError
from ..formats.files import lines, locate_errors, read
from ..io.base import DataBatch, DataDesc, DataIter
from ..ndarray import NDArray
from .augment import CreateAugmenter
from .image import imdecode

LABELS = ("int32", "float32", "int64", "float64")


class ImageIter(DataIter):
    """Batches of images (batch, 3, height, width), float32, and labels, (batch,) or (batch, label_width).

    Images come from a record file, or from files that a list names. Further arguments are those of CreateAugmenter.

    Parameters
    ----------
    batch_size : int
        Number of images in a batch.
    data_shape : tuple of int
        (3, height, width) of an image in a batch.
    label_width : int, default 1
        Numbers in a label.
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
    aug_list : list of Augmenter or None, default None
        Augmenters; None: those of ``CreateAugmenter(data_shape, **kwargs)``.
    imglist : list or None, default None
        Labels and file of each image, [label, ..., file], in place of path_imglist.
    data_name : str, default 'data'
        Name of the images.
    label_name : str, default 'softmax_label'
        Name of the labels.
    dtype : str, default 'float32'
        Dtype of labels read from a list: int32, int64, float32 or float64.
    last_batch_handle : str, default 'pad'
        Fate of the images that do not fill a batch: "pad", "discard" or "roll_over" as in NDArrayIter.

    Raises FormatError that names an image which cannot be read, AssertionError where nothing says which images there are.

    Examples
    --------
    >>> from gluonnx import mx
    >>> from PIL import Image
    >>> for number in range(3):
    ...     Image.new("RGB", (8, 8), (number, 0, 0)).save(f"{number}.png")
    >>> files = [[number, f"{number}.png"] for number in range(3)]
    >>> batches = mx.image.ImageIter(2, (3, 4, 4), imglist=files, path_root=".")
    >>> first = batches.next()
    >>> first.data[0].shape, first.label[0].asnumpy()
    ((2, 3, 4, 4), array([0., 1.], dtype=float32))
    >>> next(batches).pad
    1
    >>> batches.hard_reset()
    >>> label, data = batches.next_sample()
    >>> image = batches.imdecode(data)
    >>> label.asnumpy(), image.shape, data == batches.read_image("0.png")
    (array([0.], dtype=float32), (8, 8, 3), True)
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, int, int],
        label_width: int = 1,
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
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ):
        super().__init__(batch_size)
        if not path_imgrec and not path_imglist and not isinstance(imglist, list):
            raise AssertionError("give path_imgrec, path_imglist or imglist")
        if dtype not in LABELS:
            raise AssertionError(f"{dtype} label not supported")
        self.check_data_shape(data_shape)
        self.imgrec: Any = None
        self.seq: list[Any] | None = None
        if path_imgrec and path_imgidx:
            self.imgrec = recordio.MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
            self.seq = list(self.imgrec.keys)
        elif path_imgrec:
            self.imgrec = recordio.MXRecordIO(path_imgrec, "r")
            if shuffle or num_parts != 1:
                raise AssertionError("shuffle and num_parts need path_imgidx")
        self.imglist: dict[Any, tuple[np.ndarray, str]] | None = None
        if path_imglist:
            self.imglist = read_list(path_imglist, dtype)
        elif isinstance(imglist, list):
            self.imglist = {str(i): _entry(item, dtype) for i, item in enumerate(imglist, 1)}
        if self.imgrec is None:
            assert self.imglist is not None
            self.seq = list(self.imglist)
        if num_parts > 1:
            if not 0 <= part_index < num_parts:
                raise AssertionError(f"part_index={part_index} of num_parts={num_parts}")
            assert self.seq is not None
            size = len(self.seq) // num_parts
            self.seq = self.seq[part_index * size : (part_index + 1) * size]
        self.path_root = path_root
        self.data_shape = data_shape
        self.label_width = label_width
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.provide_data = [DataDesc(data_name, (batch_size, *data_shape))]
        shape = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_label = [DataDesc(label_name, shape)]
        self.num_image = None if self.seq is None else len(self.seq)
        self.cur = 0
        self._last: Any = None
        """Name of the current sample."""
        self._ended = False
        self._kept: list[tuple[Any, NDArray]] = []
        self.reset()

    def reset(self) -> None:
        """Start again; with "roll_over" from the images left over."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self.cur = 0
        self._ended = False
        if self.imgrec is not None:
            self.imgrec.reset()

    def hard_reset(self) -> None:
        """Start again, without the images left over."""
        self._kept = []
        self.reset()

    def next_sample(self) -> tuple[Any, bytes]:
        """The next label, an NDArray where it is from a list, and compressed image. Raises StopIteration after the last."""
        if self.seq is None:
            record = self.imgrec.read()
            self._last = f"index: {self.cur}"
            self.cur += 1
            if record is None:
                raise StopIteration
            header, data = self._unpack(record)
            return header.label, data
        if self.cur >= len(self.seq):
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            assert self.imglist is not None
            label, name = self.imglist[key]
            self._last = f"filename: {name}"
            return nd.array(label, dtype=label.dtype), self.read_image(name)
        self._last = f"index: {key}"
        header, data = self._unpack(self.imgrec.read_idx(key))
        if self.imglist is None:
            return header.label, data
        label, _ = self.imglist[key]
        return nd.array(label, dtype=label.dtype), data

    def _unpack(self, record: bytes | None) -> tuple[Any, bytes]:
        """The header and the image of the record read last. Raises FormatError that names it."""
        with locate_errors(f"{self.imgrec.uri}, {self._last}"):
            return recordio.unpack(record or b"")

    def _examples(self, count: int) -> list[tuple[Any, NDArray]]:
        """Up to so many labels and images, augmented; fewer at the end. Images that cannot be used are left out."""
        found: list[tuple[Any, NDArray]] = []
        while len(found) < count:
            try:
                label, data = self.next_sample()
            except StopIteration:
                break
            example = self.example(label, self.imdecode(data))
            if example is not None:
                found.append(example)
        return found

    def example(self, label: Any, image: NDArray) -> tuple[Any, NDArray] | None:
        """An image ready for a batch, (3, height, width), with its label; None for one to leave out.

        image: (height, width, 3), as it was read.

        Examples
        --------
        >>> from gluonnx import mx
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> batches = mx.image.ImageIter(1, (3, 4, 4), imglist=[[7, "0.png"]])
        >>> label, image = batches.example(7, mx.nd.ones((8, 8, 3), dtype="uint8"))
        >>> label, image.shape, image.dtype.__name__
        (7, (3, 4, 4), 'float32')
        """
        try:
            self.check_valid_image([image])
        except RuntimeError as error:
            logging.debug("Invalid image, skipping: %s", error)
            return None
        return label, self.postprocess_data(self.augmentation_transform(image))

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration after the last."""
        if self._ended:
            raise StopIteration
        examples, self._kept = self._kept, []
        wanted = self.batch_size - len(examples)
        examples += self._examples(wanted)
        if len(examples) == self.batch_size:
            return self.batch(examples, wanted % self.batch_size)  # the pad after a roll-over is MXNet's
        pad = self.batch_size - len(examples)
        self._ended = True
        if not examples or self.last_batch_handle == "discard":
            raise StopIteration
        if self.last_batch_handle == "roll_over":
            self._kept = examples
            raise StopIteration
        while len(examples) < self.batch_size:
            self._again()
            more = self._examples(self.batch_size - len(examples))
            if not more:
                raise StopIteration
            examples += more
        return self.batch(examples, pad)

    def _again(self) -> None:
        """Go back to the first image, to fill a batch."""
        self.cur = 0
        if self.seq is None:
            self.imgrec.reset()

    def batch(self, examples: list[tuple[Any, NDArray]], pad: int) -> DataBatch:
        """A batch of examples, labels and images, of which pad only fill it up. Raises MXNetError for images of another shape than
        data_shape, FormatError for labels of another width.

        Examples
        --------
        >>> from gluonnx import mx
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> batches = mx.image.ImageIter(2, (3, 4, 4), imglist=[[7, "0.png"]])
        >>> image = mx.nd.ones((3, 4, 4))
        >>> batches.batch([(7, image), (8, image)], pad=0).label[0].asnumpy()
        array([7., 8.], dtype=float32)
        """
        data = nd.stack(*[image.astype("float32") for _, image in examples])
        if data.shape[1:] != tuple(self.data_shape):
            raise MXNetError(f"the augmenters gave images of {data.shape[1:]}, wanted {self.data_shape}")
        labels = [np.asarray(label, np.float32).reshape(-1) for label, _ in examples]
        wanted = self.provide_label[0].shape
        for label in labels:
            if label.size * len(labels) != np.prod(wanted):
                raise FormatError(f"{label.size} labels an image, wanted label_width={self.label_width}")
        return DataBatch([data], [nd.array(np.stack(labels).reshape(wanted))], pad=pad)

    def check_data_shape(self, data_shape: Any) -> None:
        """Raise ValueError unless data_shape is (3, height, width).

        Examples
        --------
        >>> from gluonnx import mx
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> batches = mx.image.ImageIter(1, (3, 4, 4), imglist=[[7, "0.png"]])
        >>> batches.check_data_shape((1, 4, 4))
        Traceback (most recent call last):
            ...
        ValueError: This iterator expects inputs to have 3 channels.
        """
        if len(data_shape) != 3:
            raise ValueError("data_shape should have length 3, with dimensions CxHxW")
        if data_shape[0] != 3:
            raise ValueError("This iterator expects inputs to have 3 channels.")

    def check_valid_image(self, data: Any) -> None:
        """Raise FormatError where data, a list of one, holds no image.

        Examples
        --------
        >>> from gluonnx import mx
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> batches = mx.image.ImageIter(1, (3, 4, 4), imglist=[[7, "0.png"]])
        >>> batches.check_valid_image([mx.nd.ones((8, 8, 3))])  # says nothing: it is one
        """
        if not data[0].shape:
            raise FormatError("Data shape is wrong")

    def imdecode(self, s: bytes) -> NDArray:
        """The image in bytes, s: (height, width, 3), uint8. Raises FormatError that names it, MXNetError without Pillow."""
        try:
            return imdecode(s)
        except (ValueError, RuntimeError) as error:
            kind = FormatError if isinstance(error, FormatError) else MXNetError
            raise kind(f"Broken image {self._last}, {error}") from error

    def read_image(self, fname: str) -> bytes:
        """The content of a file, fname, under path_root."""
        return read(os.path.join(self.path_root or "", fname))

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """The image, data, (height, width, 3), through all augmenters.

        Examples
        --------
        >>> from gluonnx import mx
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> batches = mx.image.ImageIter(1, (3, 4, 4), imglist=[[7, "0.png"]])
        >>> batches.augmentation_transform(mx.nd.ones((8, 8, 3), dtype="uint8")).shape
        (4, 4, 3)
        """
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """An image, datum, (height, width, 3), with its channels first: (3, height, width).

        Examples
        --------
        >>> from gluonnx import mx
        >>> from PIL import Image
        >>> Image.new("RGB", (8, 8)).save("0.png")
        >>> batches = mx.image.ImageIter(1, (3, 4, 4), imglist=[[7, "0.png"]])
        >>> batches.postprocess_data(mx.nd.ones((4, 6, 3))).shape
        (3, 4, 6)
        """
        return nd.transpose(datum, axes=(2, 0, 1))


def read_list(path: Any, dtype: str = "float32") -> dict[int, tuple[np.ndarray, str]]:
    """Labels and file by number from an image list (im2rec's .lst). Raises FormatError that names a line it cannot read."""
    out: dict[int, tuple[np.ndarray, str]] = {}
    for number, line in lines(path):
        fields = line.strip().split("\t")
        try:
            out[int(fields[0])] = np.array([float(f) for f in fields[1:-1]], dtype), fields[-1]
        except (ValueError, IndexError, OverflowError):
            raise FormatError(
                f"{path}, line {number}: got {line[:80]!r}, wanted number, labels and file with tabs between"
            ) from None
    return out


def _entry(item: Any, dtype: str) -> tuple[np.ndarray, str]:
    """Labels and file of an element of imglist: [label, ..., file] or [[labels], file]."""
    labels = item[:-1] if len(item) > 2 or isinstance(item[0], numbers.Number) else item[0]
    return np.array(labels, dtype), item[-1]
