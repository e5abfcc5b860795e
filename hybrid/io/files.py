"""Iterators over files: CSV, LibSVM and MNIST's. All of a file is read at once."""

from __future__ import annotations

import logging
import math
import os
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..core.error import FormatError, MXNetError
from ..eager.sparse import csr_matrix
from ..formats.files import lines, locate_errors
from ..ndarray import NDArray
from .base import DataBatch, DataDesc, DataIter
from .idx import read_idx

DTYPES = ("float32", "float64", "int32", "int64", "int8", "uint8")


HARMLESS = (
    "preprocess_threads",
    "verbose",
    "device_id",
    "shuffle_chunk_size",
    "shuffle_chunk_seed",
    "prefetch_buffer",
    "ctx",
)
"""Settings that only concern how MXNet's iterators go about it."""


def warn_of_unknown(iterator: Any, names: Iterable[str]) -> None:
    """Say which arguments an iterator does not know; MXNet's do not look at them, and programs give them what others know."""
    found = ", ".join(map(repr, names))
    if found:
        warnings.warn(f"{type(iterator).__name__}: Cannot find argument {found}; ignored, as by MXNet", stacklevel=3)


class MXDataIter(DataIter):
    """Base class of iterators over files: batches of what ``_batch`` gives for the numbers of examples.

    Raises MXNetError where a batch is larger than all there is, or batch_size is less than 1.

    Parameters
    ----------
    count : int
        Number of examples.
    batch_size : int
        Number of examples in a batch.
    round_batch : bool, default True
        The last batch is filled up from the start, and the next epoch begins behind what filled it; else it is filled up with
        what stood there in the batch before.
    data_name : str, default 'data'
        Name of the data.
    label_name : str, default 'softmax_label'
        Name of the labels.
    ignored : keywords
        Settings of how MXNet's iterators go about it, such as preprocess_threads; of others a warning says that they are not
        known.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import pathlib
    >>> _ = pathlib.Path("data.csv").write_text("1\\n2\\n3\\n")
    >>> data = mx.io.CSVIter(data_csv="data.csv", data_shape=(1,), batch_size=2)
    >>> isinstance(data, mx.io.MXDataIter)
    True
    >>> for epoch in range(2):
    ...     data.reset()
    ...     print([(batch.data[0].asnumpy().ravel().tolist(), batch.pad) for batch in data])
    [([1.0, 2.0], 0), ([3.0, 1.0], 1)]
    [([2.0, 3.0], 0)]
    """

    _mixer: np.random.RandomState | None = None
    """Generator of the order of each epoch, for iterators that shuffle; set before the base's own __init__."""

    _repeats = True
    """True: its own settings decide all that it gives, epoch for epoch (hybrid/resuming)."""

    def __init__(
        self,
        count: int,
        batch_size: int,
        round_batch: bool = True,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **ignored: Any,
    ):
        warn_of_unknown(self, [name for name in ignored if name not in HARMLESS])
        if batch_size < 1:
            raise MXNetError(f"{type(self).__name__}: got batch_size={batch_size}, wanted at least 1")
        if round_batch and count < batch_size:
            raise MXNetError(f"{type(self).__name__}: got {count} examples, wanted at least batch_size={batch_size}")
        super().__init__(batch_size)
        self._count, self._round = count, round_batch
        self._names = data_name, label_name
        self._order = np.arange(count)
        self._start = 0
        self._before = np.zeros(batch_size, np.int64)
        self._skip = False
        self._rewind()
        self._mix()
        data, label = (arrays[0] for arrays in self._batch(np.arange(batch_size) % max(count, 1)))
        self.provide_data = [DataDesc(data_name, data.shape, data.dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, label.dtype)]

    def _batch(self, places: np.ndarray) -> tuple[list[NDArray], list[NDArray]]:
        """Data and labels of the examples with these numbers."""
        raise NotImplementedError

    def _mix(self) -> None:
        """Draw a new order, where there is something to draw it."""
        if self._mixer is not None:
            self._mixer.shuffle(self._order)

    def _rewind(self) -> None:
        self._place, self._ended = self._start, False
        self._current: Any = None

    def debug_skip_load(self) -> None:
        """Give the first batch over and over, to time what comes after.

        Examples
        --------
        >>> from gluonnx import mx
        >>> import pathlib
        >>> _ = pathlib.Path("data.csv").write_text("1\\n2\\n3\\n4\\n")
        >>> data = mx.io.CSVIter(data_csv="data.csv", data_shape=(1,), batch_size=2)
        >>> data.debug_skip_load()
        >>> [next(data).data[0].asnumpy().ravel().tolist() for _ in range(3)]
        [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]
        """
        self._skip = True
        logging.info("Set debug_skip_load to be true, will simply return first batch")

    def reset(self) -> None:
        """Start again, behind the examples that filled up the last batch, in a new order with shuffle."""
        self._rewind()
        self._mix()

    def iter_next(self) -> bool:
        """Go to the next batch; False when none is left."""
        if self._skip and self._current is not None:
            return True
        if self._ended:
            return False
        found = next(self._turns(), None)
        if found is None:
            return False
        places, pad = found
        self._place += self.batch_size
        self._ended = pad > 0
        self._start = pad if self._round else 0
        self._before = places
        chosen = self._order[places]
        self._current = DataBatch(*self._batch(chosen), pad, chosen.astype(np.uint64))
        return True

    def _turns(self) -> Iterator[tuple[np.ndarray, int]]:
        """Places in the order, and how many of them only pad, of every batch that this epoch still has."""
        before = self._before
        for start in range(self._place, self._count, self.batch_size):
            places = np.arange(start, start + self.batch_size)
            pad = max(0, start + self.batch_size - self._count)
            if pad and self._round:
                places %= self._count
            elif pad:
                places[-pad:] = before[-pad:]
            yield places, pad
            before = places

    def getdata(self) -> list[NDArray]:
        """The data of the current batch."""
        return self._current.data

    def getlabel(self) -> list[NDArray]:
        """The labels of the current batch."""
        return self._current.label

    def getindex(self) -> Any:
        """The numbers of the examples in the current batch."""
        return self._current.index

    def getpad(self) -> int:
        """Number of examples at the end of the current batch that fill it up."""
        return self._current.pad


def _shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, int) else tuple(int(n) for n in shape)


def _files(path: Any) -> list[str]:
    """The file, or all files of a folder in order. Raises MXNetError where there is none."""
    path = os.fspath(path)
    if os.path.isdir(path):
        found = sorted(os.path.join(path, name) for name in os.listdir(path))
        if not found:
            raise MXNetError(f"{path}: a folder without files")
        return found
    if not os.path.exists(path):
        raise MXNetError(f"{path}: No such file or directory")
    return [path]


class CSVIter(MXDataIter):
    """Batches of the rows of CSV files, each an example: data (batch, *data_shape), labels (batch, *label_shape).

    Labels of one number are (batch,). Further arguments are those of MXDataIter.

    Parameters
    ----------
    data_csv : path
        A file, or a folder whose files are read in the order of their names. Blank lines are passed over.
    data_shape : tuple of int
        Shape of an example; a row has as many numbers.
    label_csv : path, default 'NULL'
        Rows of the labels; without it every label is 0.
    label_shape : tuple of int, default (1,)
        Shape of a label.
    batch_size : int
        Number of examples in a batch, which has to be given.
    round_batch : bool, default True
        The last batch is filled up from the start; else with what stood there in the batch before.
    dtype : str or dtype, default None
        Dtype of data and labels: float32 (that of None), int32 or int64.

    Raises FormatError that names a row which does not fit, MXNetError for files that are not there, for a number of labels other
    than that of examples, and for other dtypes.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import pathlib
    >>> _ = pathlib.Path("data.csv").write_text("1,2\\n3,4\\n5,6\\n7,8\\n")
    >>> data = mx.io.CSVIter(data_csv="data.csv", data_shape=(2,), batch_size=2)
    >>> [batch.data[0].asnumpy().tolist() for batch in data]
    [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]
    """

    def __init__(
        self,
        data_csv: Any,
        data_shape: Any,
        label_csv: Any = "NULL",
        label_shape: Any = (1,),
        batch_size: int = 0,
        round_batch: bool = True,
        dtype: Any = None,
        **kwargs: Any,
    ):
        dtype = np.dtype("float32" if dtype is None or dtype == "None" else dtype)
        if dtype.name not in ("float32", "int32", "int64"):
            raise MXNetError(f"CSVIter: {dtype} is not supported; wanted float32, int32 or int64")
        self._data = _read_csv(data_csv, _shape(data_shape), dtype)
        label_shape = _shape(label_shape)
        if label_csv in (None, "NULL"):
            label_shape = ()  # one zero an example, whatever label_shape says, as in MXNet
            self._label = np.zeros(len(self._data), dtype)
        else:
            self._label = _read_csv(label_csv, label_shape, dtype)
        if len(self._data) != len(self._label):
            raise MXNetError(f"CSVIter: {len(self._data)} rows of data, but {len(self._label)} of labels")
        if math.prod(label_shape) == 1:
            self._label = self._label.reshape(-1)
        super().__init__(len(self._data), batch_size, round_batch, **kwargs)

    def _batch(self, places: np.ndarray) -> tuple[list[NDArray], list[NDArray]]:
        return (
            [nd.array(self._data[places], dtype=self._data.dtype)],
            [nd.array(self._label[places], dtype=self._label.dtype)],
        )


def _read_csv(path: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """All rows, (rows, *shape)."""
    rows = []
    width = math.prod(shape)
    for name in _files(path):
        for number, line in lines(name):
            if not line.strip():
                continue
            with locate_errors(f"{name}, line {number}"):
                row = _numbers(line.split(","), dtype)
                if len(row) != width:
                    raise FormatError(f"got {len(row)} numbers, wanted {width} for shape {shape}")
            rows.append(row)
    return np.array(rows, dtype).reshape(len(rows), *shape)


def _numbers(texts: Iterable[str], dtype: np.dtype) -> np.ndarray:
    """Numbers in text. Raises FormatError for what is none, or none that the dtype can hold."""
    if dtype.kind == "f":
        try:
            with np.errstate(over="ignore"):  # what is too large is infinity, as in MXNet
                return np.array([float(text) for text in texts], np.float64).astype(dtype)
        except ValueError as error:
            raise FormatError(f"{error}; wanted numbers") from error
    limits = np.iinfo(dtype)
    values = [_whole(text) for text in texts]
    outside = [value for value in values if not limits.min <= value <= limits.max]
    if outside:
        raise FormatError(f"got {outside[0]}, wanted whole numbers from {limits.min} to {limits.max} for {dtype}")
    return np.array(values, dtype)


def _whole(text: str) -> int:
    """A whole number, which may be written as 2.0 or 2e3."""
    try:
        return int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError as error:
            raise FormatError(f"{error}; wanted whole numbers") from error
        if not value.is_integer():
            raise FormatError(f"got {text.strip()!r}, wanted whole numbers") from None
        return int(value)


class LibSVMIter(MXDataIter):
    """Batches of the rows of a LibSVM file as csr matrices (batch, width): lines ``label index:value ...``, indices from 0.

    Further arguments are those of MXDataIter.

    Parameters
    ----------
    data_libsvm : path
        A file, or a folder whose files are read in the order of their names.
    data_shape : tuple of int
        Shape of a row, (width,).
    label_libsvm : path, default 'NULL'
        A file in the same form (what stands first in a line is passed over), whose rows are labels, as csr matrices too; without
        it the numbers that lines begin with are the labels, (batch,).
    label_shape : tuple of int, default (1,)
        Shape of a label of that file.
    num_parts : int, default 1
        Number of parts that the examples are divided into, one for each worker.
    part_index : int, default 0
        The part that this iterator reads, from 0; the last has what is left over.
    batch_size : int
        Number of examples in a batch, which has to be given.
    round_batch : bool, default True
        The last batch is filled up from the start; anything else raises MXNetError.
    dtype : str or dtype, default None
        float32; anything else raises MXNetError.

    Raises FormatError that names a line it cannot read, or an index that is twice there or outside of data_shape.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import pathlib
    >>> _ = pathlib.Path("data.svm").write_text("1 0:0.5 2:1.5\\n0 1:2.5\\n")
    >>> data = mx.io.LibSVMIter(data_libsvm="data.svm", data_shape=(3,), batch_size=2)
    >>> batch = next(data)
    >>> batch.data[0].asnumpy(), batch.label[0].asnumpy()
    (array([[0.5, 0. , 1.5],
           [0. , 2.5, 0. ]], dtype=float32), array([1., 0.], dtype=float32))
    """

    def __init__(
        self,
        data_libsvm: Any,
        data_shape: Any,
        label_libsvm: Any = "NULL",
        label_shape: Any = (1,),
        num_parts: int = 1,
        part_index: int = 0,
        batch_size: int = 0,
        round_batch: bool = True,
        dtype: Any = None,
        **kwargs: Any,
    ):
        if not round_batch:
            raise MXNetError("LibSVMIter: round_batch=False is not supported")
        if dtype is not None and dtype not in ("None", "float32", np.float32):
            raise MXNetError(f"LibSVMIter: got dtype={dtype}, wanted float32")
        rows = _read_libsvm(data_libsvm, _shape(data_shape))
        self._labels: Any = None
        if label_libsvm not in (None, "NULL"):
            self._labels = _read_libsvm(label_libsvm, _shape(label_shape))
            if len(self._labels) != len(rows):
                raise MXNetError(f"LibSVMIter: {len(rows)} rows of data, but {len(self._labels)} of labels")
        chosen = _part(len(rows), num_parts, part_index)
        self._rows = rows[chosen]
        self._labels = None if self._labels is None else self._labels[chosen]
        self._widths = int(np.prod(_shape(data_shape))), int(np.prod(_shape(label_shape)))
        super().__init__(len(self._rows), batch_size, True, **kwargs)

    def _batch(self, places: np.ndarray) -> tuple[list[NDArray], list[NDArray]]:
        data = _csr([self._rows[i] for i in places], self._widths[0])
        if self._labels is None:
            return [data], [nd.array([self._rows[i][0] for i in places])]
        return [data], [_csr([self._labels[i] for i in places], self._widths[1])]


Row = tuple[float, np.ndarray, np.ndarray]
"""Label, indices, values."""


def _read_libsvm(path: Any, shape: tuple[int, ...]) -> list[Row]:
    rows: list[Row] = []
    width = math.prod(shape)
    for name in _files(path):
        for number, line in lines(name):
            fields = line.split()
            if not fields:
                continue
            where = f"{name}, line {number}"
            try:
                label = float(fields.pop(0).split(":")[0])  # a weight may follow it
                pairs = [field.split(":") for field in fields]
                places = [int(i) for i, _ in pairs]
                values = _numbers((v for _, v in pairs), np.dtype(np.float32))
            except ValueError as error:
                raise FormatError(f"{where}: got {line[:80]!r}, wanted label index:value ...") from error
            if any(not 0 <= place < width for place in places):
                raise FormatError(f"{where}: got an index outside of 0 to {width - 1}")
            if len(set(places)) < len(places):
                raise FormatError(f"{where}: got an index twice, wanted each once")
            rows.append((label, np.array(places, np.int64), values))
    return rows


def _csr(rows: list[Row], width: int) -> NDArray:
    starts = np.concatenate([[0], np.cumsum([len(r[1]) for r in rows])])
    parts = (np.concatenate([r[2] for r in rows]), np.concatenate([r[1] for r in rows]), starts)
    return csr_matrix(parts, (len(rows), width))


def _want_part(num_parts: int, part_index: int) -> None:
    """Raise MXNetError when there is no such part."""
    if not 0 <= part_index < num_parts:
        raise MXNetError(f"got part_index={part_index}, num_parts={num_parts}; wanted an index below the number")


def _part(count: int, num_parts: int, part_index: int) -> slice:
    """The examples of one part of several, as CSV, LibSVM and record files are divided: the last takes what is left over."""
    _want_part(num_parts, part_index)
    size = count // num_parts
    return slice(part_index * size, count if part_index == num_parts - 1 else (part_index + 1) * size)


class MNISTIter(MXDataIter):
    """Batches of MNIST's files: images (batch, 1, 28, 28), pixels / 256, and labels (batch,), both float32.

    Examples that do not fill a batch are left out. Further arguments are those of MXDataIter.

    Parameters
    ----------
    image : path, default './train-images-idx3-ubyte'
        IDX file of the images, compressed where it ends in .gz.
    label : path, default './train-labels-idx1-ubyte'
        IDX file of the labels.
    batch_size : int, default 128
        Number of examples in a batch.
    shuffle : bool, default True
        Mix the examples: one order, which stays.
    flat : bool, default False
        Images are (batch, 784).
    seed : int, default 0
        Seed of the order.
    silent : bool, default False
        Do not log how many images there are.
    num_parts : int, default 1
        Number of parts that the examples are divided into, one for each worker.
    part_index : int, default 0
        The part that this iterator reads, from 0.
    dtype : str or dtype, default None
        float32; anything else raises MXNetError.
    input_shape : tuple of int or None, default None
        Read over, as by MXNet.

    Raises FormatError for files that are none of MNIST's, MXNetError for those that are not there or do not belong together.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import pathlib
    >>> import struct
    >>> pixels = bytes([128]) * (2 * 28 * 28)
    >>> _ = pathlib.Path("images").write_bytes(struct.pack(">4I", 2051, 2, 28, 28) + pixels)
    >>> _ = pathlib.Path("labels").write_bytes(struct.pack(">2I", 2049, 2) + bytes([7, 3]))
    >>> data = mx.io.MNISTIter(image="images", label="labels", batch_size=2, shuffle=False)
    >>> batch = data.next()
    >>> batch.data[0].shape, batch.data[0].max().asscalar().item(), batch.label[0].asnumpy().tolist()
    ((2, 1, 28, 28), 0.5, [7.0, 3.0])
    """

    def __init__(
        self,
        image: Any = "./train-images-idx3-ubyte",
        label: Any = "./train-labels-idx1-ubyte",
        batch_size: int = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        silent: bool = False,
        num_parts: int = 1,
        part_index: int = 0,
        dtype: Any = None,
        input_shape: Any = None,
        **kwargs: Any,
    ):
        if dtype is not None and dtype not in ("None", "float32", np.float32):
            raise MXNetError(f"MNISTIter: got dtype={dtype}, wanted float32")
        images, labels = read_idx(_files(image)[0], 3), read_idx(_files(label)[0], 1)
        if len(images) != len(labels):
            raise MXNetError(f"MNISTIter: {len(images)} images, but {len(labels)} labels")
        _want_part(num_parts, part_index)
        chosen = slice(len(images) * part_index // num_parts, len(images) * (part_index + 1) // num_parts)
        self._images, self._labels, self._flat = images[chosen], labels[chosen], bool(flat)
        count = len(self._images) // batch_size * batch_size
        super().__init__(count, batch_size, **kwargs)
        self._order = np.arange(len(self._images))
        if shuffle:
            np.random.RandomState(seed).shuffle(self._order)
        if not silent:
            # not logging.info, which would set up the root logger before the program does
            logging.getLogger().info(
                "MNISTIter: load %d images, shuffle=%d, shape=%s", len(images), shuffle, images.shape
            )

    def getindex(self) -> Any:
        """Zeros, as in MXNet.

        Examples
        --------
        >>> from gluonnx import mx
        >>> import pathlib
        >>> import struct
        >>> pixels = bytes(2 * 28 * 28)
        >>> _ = pathlib.Path("images").write_bytes(struct.pack(">4I", 2051, 2, 28, 28) + pixels)
        >>> _ = pathlib.Path("labels").write_bytes(struct.pack(">2I", 2049, 2) + bytes([7, 3]))
        >>> data = mx.io.MNISTIter(image="images", label="labels", batch_size=2)
        >>> data.iter_next(), data.getindex().tolist()
        (True, [0, 0])
        """
        return np.zeros(self.batch_size, np.uint64)

    def _batch(self, places: np.ndarray) -> tuple[list[NDArray], list[NDArray]]:
        images = self._images[places].astype(np.float32) / np.float32(256)
        images = images.reshape(len(images), -1) if self._flat else images[:, None]
        return [nd.array(images)], [nd.array(self._labels[places].astype(np.float32))]
