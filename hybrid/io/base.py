"""The base of data iterators, and iterators made of others."""

from __future__ import annotations

import threading
from collections import namedtuple
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from ..core.watch import Made, tell_calls, told


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):  # dtype and layout are no part of the tuple
    """Name, shape, dtype and layout of an array that an iterator gives. As a tuple: the name and the shape.

    layout: a letter for each axis; N is the axis along which the examples of a batch stand.

    Examples
    --------
    >>> from gluonnx import mx
    >>> desc = mx.io.DataDesc("data", (32, 3, 224, 224), dtype="uint8", layout="NCHW")
    >>> desc.name, desc.shape, mx.io.DataDesc.get_batch_axis(desc.layout)
    ('data', (32, 3, 224, 224), 0)
    """

    dtype: Any
    layout: str | None

    def __new__(cls, name: str, shape: Any, dtype: Any = np.float32, layout: str | None = "NCHW") -> DataDesc:
        made = super().__new__(cls, name, shape)
        made.dtype = dtype
        made.layout = layout
        return made

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.name, self.shape, self.dtype, self.layout

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Axis N: 0 without a layout, -1 where it has none."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Any, types: Any) -> list[DataDesc]:
        """Descriptions from (name, shape) pairs, shapes, and (name, dtype) pairs, types; the latter None for float32.

        Examples
        --------
        >>> from gluonnx import mx
        >>> found = mx.io.DataDesc.get_list([("data", (2, 3))], [("data", "uint8")])
        >>> found[0].name, found[0].shape, found[0].dtype
        ('data', (2, 3), 'uint8')
        """
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


class DataBatch:
    """One batch: lists of arrays for data and label, and how many examples at its end only pad it.

    Parameters
    ----------
    data : list of NDArray
        Inputs, the examples along the batch axis of each.
    label : list of NDArray or None, default None
        Labels, in the same order of examples.
    pad : int or None, default None
        Number of examples at the end that only fill the batch up; metrics and ``predict`` leave them out.
    index : array of int or None, default None
        Numbers of the examples.
    bucket_key : object or None, default None
        Bucket of the batch, by which BucketingModule chooses its network.
    provide_data : list of DataDesc or None, default None
        Descriptions of data, where they differ from the iterator's own, as those of a bucket do.
    provide_label : list of DataDesc or None, default None
        Descriptions of label.

    Raises AssertionError where data or label is no list.

    Examples
    --------
    >>> from gluonnx import mx
    >>> print(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.zeros(2)], pad=1))
    DataBatch: data shapes: [(2, 3)] label shapes: [(2,)]"""

    def __init__(
        self,
        data: Any,
        label: Any = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Any = None,
        provide_label: Any = None,
    ):
        if data is not None and not isinstance(data, list | tuple):
            raise AssertionError("Data must be list of NDArrays")
        if label is not None and not isinstance(label, list | tuple):
            raise AssertionError("Label must be list of NDArrays")
        self.data: Any = data
        self.label: Any = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        data = [array.shape for array in self.data]
        label = [array.shape for array in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {data} label shapes: {label}"


class DataIter:
    """Base class of iterators over batches: define ``next``, or ``iter_next`` and the getters it uses.

    ``provide_data`` and ``provide_label`` are lists of DataDesc.

    Parameters
    ----------
    batch_size : int, default 0
        Number of examples in a batch.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Counting(mx.io.DataIter):
    ...     provide_data = [mx.io.DataDesc("data", (2, 1))]
    ...     provide_label = []
    ...     def reset(self):
    ...         self.at = 0
    ...     def next(self):
    ...         if self.at == 2:
    ...             raise StopIteration
    ...         self.at += 1
    ...         return mx.io.DataBatch([mx.nd.full((2, 1), self.at)])
    >>> batches = Counting(batch_size=2)
    >>> batches.reset()
    >>> [batch.data[0][0].asscalar().item() for batch in batches]
    [1.0, 2.0]
    """

    provide_data: Any
    provide_label: Any

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        tell_calls(cls)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        Made.add(made)
        return made

    def __init__(self, batch_size: int = 0):
        self.batch_size = batch_size

    def __iter__(self) -> DataIter:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def reset(self) -> None:
        """Start again from the first batch."""

    @told
    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration after the last.

        Examples
        --------
        >>> from gluonnx import mx
        >>> batches = mx.io.NDArrayIter(mx.nd.array([1, 2, 3]), batch_size=2)
        >>> batches.next().data[0].asnumpy()
        array([1., 2.], dtype=float32)
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(data=self.getdata(), label=self.getlabel(), pad=self.getpad(), index=self.getindex())

    def iter_next(self) -> Any:
        """Go to the next batch; False when there is none.

        Examples
        --------
        >>> from gluonnx import mx
        >>> batches = mx.io.NDArrayIter(mx.nd.array([1, 2, 3]), batch_size=2)
        >>> while batches.iter_next():
        ...     print(batches.getdata()[0].asnumpy())
        [1. 2.]
        [3. 1.]
        """

    def getdata(self) -> Any:
        """The data of the current batch, a list of arrays.

        Examples
        --------
        >>> from gluonnx import mx
        >>> batches = mx.io.NDArrayIter(mx.nd.array([1, 2, 3]), batch_size=2)
        >>> batches.iter_next()
        True
        >>> batches.getdata()[0].asnumpy()
        array([1., 2.], dtype=float32)
        """

    def getlabel(self) -> Any:
        """The labels of the current batch, a list of arrays.

        Examples
        --------
        >>> from gluonnx import mx
        >>> batches = mx.io.NDArrayIter(mx.nd.ones((3, 4)), mx.nd.array([0, 1, 0]), batch_size=2)
        >>> batches.iter_next()
        True
        >>> batches.getlabel()[0].asnumpy()
        array([0., 1.], dtype=float32)
        """

    def getindex(self) -> Any:
        """Indices of the examples in the current batch, or None.

        Examples
        --------
        >>> from gluonnx import mx
        >>> import pathlib
        >>> _ = pathlib.Path("data.csv").write_text("1\\n2\\n3\\n4\\n")
        >>> batches = mx.io.CSVIter(data_csv="data.csv", data_shape=(1,), batch_size=2)
        >>> batches.iter_next(), batches.getindex().tolist()
        (True, [0, 1])
        >>> batches.iter_next(), batches.getindex().tolist()
        (True, [2, 3])
        """
        return None

    def getpad(self) -> Any:
        """Number of examples at the end of the current batch that only pad it.

        Examples
        --------
        >>> from gluonnx import mx
        >>> batches = mx.io.NDArrayIter(mx.nd.array([1, 2, 3]), batch_size=2)
        >>> while batches.iter_next():
        ...     print(batches.getpad())
        0
        1
        """


class _Holding(DataIter):
    """An iterator that holds the batch it is at."""

    current_batch: Any = None

    def getdata(self) -> Any:
        return self.current_batch.data

    def getlabel(self) -> Any:
        return self.current_batch.label

    def getindex(self) -> Any:
        return self.current_batch.index

    def getpad(self) -> Any:
        return self.current_batch.pad


class ResizeIter(_Holding):
    """Another iterator with a number of batches of its own an epoch: cut off, or started again in between.

    Parameters
    ----------
    data_iter : DataIter
        The other iterator.
    size : int
        Batches an epoch.
    reset_internal : bool, default True
        ``reset`` resets the other iterator too; else it goes on where it stands.

    Examples
    --------
    >>> from gluonnx import mx
    >>> three = mx.io.NDArrayIter(mx.nd.arange(6), batch_size=2)
    >>> len(list(mx.io.ResizeIter(three, 5)))
    5"""

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True):
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self._repeats = getattr(data_iter, "_repeats", False)
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        """Count from 0 again."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Go to the next batch; False after ``size`` of them.

        Examples
        --------
        >>> from gluonnx import mx
        >>> two = mx.io.NDArrayIter(mx.nd.arange(4), batch_size=2)
        >>> one = mx.io.ResizeIter(two, size=1)
        >>> one.iter_next(), one.iter_next()
        (True, False)
        """
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class PrefetchingIter(_Holding):
    """Other iterators side by side, each read one batch ahead by a thread of its own.

    A batch has the arrays of all iterators, one iterator's after the other's. An error in an iterator is raised by the ``next``
    that would have given its batch; AssertionError where one ends before another or their ``pad`` differs.

    Parameters
    ----------
    iters : DataIter or list of DataIter
        Iterators of one batch size.
    rename_data : list of dict or None, default None
        From old to new names, one dict for each iterator, of the data that it describes by DataDescs.
    rename_label : list of dict or None, default None
        The same for labels.

    Examples
    --------
    >>> from gluonnx import mx
    >>> left, right = (mx.io.NDArrayIter(mx.nd.ones((4, n)), batch_size=2) for n in (3, 5))
    >>> both = mx.io.PrefetchingIter([left, right], rename_data=[{"data": "left"}, {"data": "right"}])
    >>> [(d.name, d.shape) for d in both.provide_data]
    [('left', (2, 3)), ('right', (2, 5))]"""

    def __init__(self, iters: Any, rename_data: Any = None, rename_label: Any = None):
        self.iters = iters if isinstance(iters, list) else [iters]
        self.n_iter = len(self.iters)
        self._repeats = all(getattr(i, "_repeats", False) for i in self.iters)
        if self.n_iter <= 0:
            raise AssertionError("PrefetchingIter needs an iterator")
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0][1][0])
        self._pending: list[Future[Any]] = []
        self._fetch()

    def _fetch(self) -> None:
        """Have every iterator read its next batch."""
        self._pending = [_begun(i.next) for i in self.iters]

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data of all iterators, renamed."""
        return _rename([i.provide_data for i in self.iters], self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the labels of all iterators, renamed.

        Examples
        --------
        >>> from gluonnx import mx
        >>> left, right = (mx.io.NDArrayIter(mx.nd.ones((4, 3)), mx.nd.ones(4), 2) for _ in range(2))
        >>> names = [{"softmax_label": "left_label"}, {"softmax_label": "right_label"}]
        >>> both = mx.io.PrefetchingIter([left, right], rename_label=names)
        >>> [(desc.name, desc.shape) for desc in both.provide_label]
        [('left_label', (2,)), ('right_label', (2,))]
        """
        return _rename([i.provide_label for i in self.iters], self.rename_label)

    def reset(self) -> None:
        """Start all iterators again; batches read ahead are dropped."""
        for future in self._pending:
            future.exception()  # waits; the error of a batch that nobody asked for is nobody's
        for iterator in self.iters:
            iterator.reset()
        self._fetch()

    def iter_next(self) -> bool:
        """Go to the next batch. Raises AssertionError where one iterator ends before another."""
        batches = [future.result() for future in self._pending]
        ended = [b is None for b in batches]
        if not all(ended) and any(ended):
            raise AssertionError("Number of entry mismatches between iterators")
        if all(ended):
            return False
        if len({b.pad for b in batches}) != 1:
            raise AssertionError("Different pad number in the data batches")
        self.current_batch = DataBatch(
            [array for b in batches for array in b.data],
            [array for b in batches for array in b.label],
            batches[0].pad,
            batches[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._fetch()
        return True

    def next(self) -> DataBatch:
        """The next batch, of all iterators together.

        Examples
        --------
        >>> from gluonnx import mx
        >>> left, right = (mx.io.NDArrayIter(mx.nd.full(4, n), batch_size=2) for n in (1, 2))
        >>> batch = mx.io.PrefetchingIter([left, right]).next()
        >>> [array.asnumpy().tolist() for array in batch.data]
        [[1.0, 1.0], [2.0, 2.0]]
        """
        if not self.iter_next():
            raise StopIteration
        return self.current_batch


def _begun(step: Callable[[], Any]) -> Future[Any]:
    """Call step in a thread of its own, which the end of the program does not wait for: what it reads may never come. None for
    StopIteration, which a Future would not pass on."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(step())
        except StopIteration:
            future.set_result(None)
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="PrefetchingIter", daemon=True).start()
    return future


def _rename(provided: Sequence[Any], names: Any) -> list[DataDesc]:
    """Descriptions with new names: one dict for each iterator. Raises TypeError for one that is no list of descriptions."""
    if any(isinstance(d, str) for descriptions in provided for d in descriptions):
        raise TypeError(
            f"provide_data and provide_label must be lists of DataDescs or of (name, shape), got {provided}"
        )
    if names is None:
        return [d for descriptions in provided for d in descriptions]
    out = []
    for descriptions, new in zip(provided, names):
        for d in descriptions:
            # MXNet renames descriptions, and leaves plain tuples their name
            renamed = isinstance(d, DataDesc)
            out.append(DataDesc(new[d.name], d.shape, d.dtype, d.layout) if renamed else DataDesc(*d))
    return out
