"""Batches of arrays that are in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..core.error import MXNetError
from ..ndarray import NDArray
from .base import DataBatch, DataDesc, DataIter

LAST_BATCH = ("pad", "discard", "roll_over")


class NDArrayIter(DataIter):
    """Batches of arrays: of one, a list, or a dict of them, which come out in the order of their names.

    Raises AssertionError without data.

    Parameters
    ----------
    data : array, list of arrays, or dict of str to array
        Inputs; what is no NDArray becomes one of float32.
    label : array, list, dict or None, default None
        Labels, with as many examples.
    batch_size : int, default 1
        Number of examples in a batch.
    shuffle : bool, default False
        Draw a new order at every reset, from ``numpy.random``.
    last_batch_handle : str, default 'pad'
        Fate of the examples that do not fill a batch: "pad" fills it up from the start (``pad`` of the batch says how many),
        "discard" drops them, "roll_over" keeps them for the first batch of the next epoch.
    data_name : str, default 'data'
        Name of a single input; several in a list are called _0_data, _1_data, ...
    label_name : str, default 'softmax_label'
        Name of a single label, likewise.
    layout : str, default 'NCHW'
        A letter for each axis; N is the axis of the examples.

    Raises TypeError for what are no arrays, ValueError for arrays of fewer examples than the first, NotImplementedError for
    csr arrays other than with "discard".

    Examples
    --------
    >>> from gluonnx import mx
    >>> batches = mx.io.NDArrayIter({"a": mx.nd.arange(5)}, mx.nd.ones(5), batch_size=2)
    >>> [(b.data[0].asnumpy().tolist(), b.pad) for b in batches]
    [([0.0, 1.0], 0), ([2.0, 3.0], 0), ([4.0, 0.0], 1)]"""

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ):
        super().__init__(batch_size)
        if last_batch_handle not in LAST_BATCH:
            raise ValueError(f"last_batch_handle={last_batch_handle!r}, wanted one of {', '.join(LAST_BATCH)}")
        self.layout = layout
        self.data = _name_arrays(data, data_name)
        self.label = _name_arrays(label, label_name)
        if not self.data:
            raise AssertionError("NDArrayIter needs data")
        if last_batch_handle != "discard" and any(a.stype == "csr" for _, a in (*self.data, *self.label)):
            raise NotImplementedError(
                "`NDArrayIter` only supports ``CSRNDArray`` with `last_batch_handle` set to `discard`."
            )
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.num_data = self._count(self.data[0][1])
        for name, array in (*self.data, *self.label):
            if self._count(array) < self.num_data:
                raise ValueError(
                    f"NDArrayIter: {name} has {self._count(array)} examples, {self.data[0][0]} has {self.num_data}"
                )
        self.idx = np.arange(self.num_data)
        self._order = np.arange(self.num_data)
        """The examples' numbers as they were given, in the order in which they stand now."""
        self.cursor = -batch_size
        self._kept: dict[str, list[NDArray]] = {}
        self.reset()

    @property
    def data_list(self) -> list[NDArray]:
        """All arrays, those of the labels last.

        Examples
        --------
        >>> from gluonnx import mx
        >>> batches = mx.io.NDArrayIter(mx.nd.ones((4, 3)), mx.nd.ones(4), batch_size=2)
        >>> [array.shape for array in batches.data_list]
        [(4, 3), (4,)]
        """
        return [array for _, array in (*self.data, *self.label)]

    @property
    def num_source(self) -> int:
        """Number of arrays.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.io.NDArrayIter(mx.nd.ones((4, 3)), mx.nd.ones(4), batch_size=2).num_source
        2
        """
        return len(self.data) + len(self.label)

    def _axis(self, array: NDArray) -> int:
        """The axis of the examples, which for arrays of fewer dims than the layout has (labels) is the first."""
        axis = self.layout.find("N")
        return axis if axis < array.ndim else 0

    def _count(self, array: NDArray) -> int:
        return array.shape[self._axis(array)]

    def _describe(self, arrays: list[tuple[str, NDArray]]) -> list[DataDesc]:
        out = []
        for name, array in arrays:
            shape, axis = array.shape, self._axis(array)
            out.append(
                DataDesc(name, (*shape[:axis], self.batch_size, *shape[axis + 1 :]), array.dtype, layout=self.layout)
            )
        return out

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data.

        Examples
        --------
        >>> from gluonnx import mx
        >>> batches = mx.io.NDArrayIter(mx.nd.ones((5, 3)), batch_size=2)
        >>> [(desc.name, desc.shape) for desc in batches.provide_data]
        [('data', (2, 3))]
        """
        return self._describe(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the labels.

        Examples
        --------
        >>> from gluonnx import mx
        >>> batches = mx.io.NDArrayIter(mx.nd.ones((5, 3)), mx.nd.ones(5), batch_size=2)
        >>> [(desc.name, desc.shape) for desc in batches.provide_label]
        [('softmax_label', (2,))]
        """
        return self._describe(self.label)

    def hard_reset(self) -> None:
        """Start again, without the examples kept for "roll_over".

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.array([1, 2, 3])
        >>> batches = mx.io.NDArrayIter(x, batch_size=2, last_batch_handle="roll_over")
        >>> [batch.data[0].asnumpy().tolist() for batch in batches]  # 3 is kept for the next epoch
        [[1.0, 2.0]]
        >>> batches.hard_reset()
        >>> [batch.data[0].asnumpy().tolist() for batch in batches]
        [[1.0, 2.0]]
        """
        if self.shuffle:
            self._shuffle_data()
        self.cursor = -self.batch_size
        self._kept.clear()

    def _standing(self) -> dict[str, np.ndarray]:
        """The place where it stands at the beginning of an epoch (hybrid/resuming)."""
        kept = {f"kept/{which}/{i}": a.asnumpy() for which, arrays in self._kept.items() for i, a in enumerate(arrays)}
        cursor, size = np.array(self.cursor), np.array(self.batch_size)
        return {"idx": self.idx.copy(), "order": self._order, "cursor": cursor, "batch_size": size, **kept}

    def _stand(self, place: Mapping[str, np.ndarray]) -> None:
        """Stand where _standing was asked. Raises MXNetError for a place in other examples, and in batches of another size that are
        not at their beginning."""
        if len(place["order"]) != self.num_data:
            raise MXNetError(
                f"NDArrayIter: got a place in {len(place['order'])} examples, wanted one in {self.num_data}"
            )
        cursor, size = int(place["cursor"]), int(place.get("batch_size", self.batch_size))
        if size != self.batch_size:
            if cursor != -size:
                raise MXNetError(
                    f"NDArrayIter: got a place in batches of {size}, wanted one in batches of {self.batch_size}"
                )
            cursor = -self.batch_size
        found = np.empty(self.num_data, np.int64)
        found[self._order] = np.arange(self.num_data)
        self._reorder_all(found[place["order"]])
        self.idx, self._order, self.cursor = place["idx"].copy(), place["order"].copy(), cursor
        self._kept.clear()
        for name in sorted(n for n in place if n.startswith("kept/")):
            self._kept.setdefault(name.split("/")[1], []).append(nd.array(place[name], dtype=place[name].dtype))

    def reset(self) -> None:
        """Start again; with "roll_over" from the examples left over.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.array([1, 2, 3])
        >>> batches = mx.io.NDArrayIter(x, batch_size=2, last_batch_handle="roll_over")
        >>> [batch.data[0].asnumpy().tolist() for batch in batches]  # 3 is kept for the next epoch
        [[1.0, 2.0]]
        >>> batches.reset()
        >>> [batch.data[0].asnumpy().tolist() for batch in batches]
        [[3.0, 1.0], [2.0, 3.0]]
        """
        if self.shuffle:
            self._shuffle_data()
        left = self.num_data - self.cursor
        if self.last_batch_handle == "roll_over" and 0 < left < self.batch_size:
            self.cursor = -left - self.batch_size
        else:
            self.cursor = -self.batch_size

    def iter_next(self) -> bool:
        """Go to the next batch; False when no example is left."""
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration after the last, full or padded."""
        if not self.iter_next():
            raise StopIteration
        data, label = self.getdata(), self.getlabel()
        if self.last_batch_handle != "pad" and self.cursor + self.batch_size > self.num_data:
            self._kept = {"data": data, "label": label}
            raise StopIteration
        return DataBatch(data=data, label=label, pad=self.getpad(), index=None)

    def getdata(self) -> list[NDArray]:
        """The data of the current batch."""
        return self._batch(self.data, "data")

    def getlabel(self) -> list[NDArray]:
        """The labels of the current batch."""
        return self._batch(self.label, "label")

    def getpad(self) -> int:
        """Number of examples at its end that come from the start; with "roll_over": of those at its start from the last
        epoch."""
        if self.last_batch_handle == "pad":
            return max(0, self.cursor + self.batch_size - self.num_data)
        if self.last_batch_handle == "roll_over":
            return max(0, -self.cursor)
        return 0

    def _batch(self, arrays: list[tuple[str, NDArray]], which: str) -> list[NDArray]:
        """The examples at the cursor: of each array a new one."""
        if self.cursor >= self.num_data:
            raise AssertionError("DataIter needs reset.")
        stop = self.cursor + self.batch_size
        if stop > self.num_data and self.last_batch_handle == "pad":
            places = nd.array(np.arange(self.cursor, stop) % self.num_data, dtype="int32")
            return [nd.take(a, places, axis=self._axis(a)) for _, a in arrays]
        if self.cursor < 0 and stop > self.num_data:
            raise ValueError(
                f"NDArrayIter: {-self.cursor} examples left over and all {self.num_data} do not fill a batch of {self.batch_size}"
            )
        begin, stop = max(self.cursor, 0), min(stop, self.num_data)
        chosen = [nd.slice_axis(a, axis=self._axis(a), begin=begin, end=stop) for _, a in arrays]
        if self.cursor >= 0 or not arrays:
            return chosen
        if which not in self._kept:
            raise AssertionError("the first batch after a roll-over was asked for twice")
        return [nd.concat(old, new, dim=self._axis(new)) for old, new in zip(self._kept.pop(which), chosen)]

    def _shuffle_data(self) -> None:
        """Draw the next order, and put the arrays into it."""
        np.random.shuffle(self.idx)  # scripts seed this generator, and expect MXNet's order
        self._order = self._order[self.idx]
        self._reorder_all(self.idx)

    def _reorder_all(self, order: np.ndarray) -> None:
        self.data = [(name, self._reorder(array, order)) for name, array in self.data]
        self.label = [(name, self._reorder(array, order)) for name, array in self.label]

    def _reorder(self, array: NDArray, order: np.ndarray) -> NDArray:
        values = np.take(array.asnumpy(), order, axis=self._axis(array))
        return nd.array(values, array.context, array.dtype).tostype(array.stype)


def _name_arrays(data: Any, default: str) -> list[tuple[str, NDArray]]:
    """Names and arrays, in the order of the names; float32 for what is no NDArray yet, as ``nd.array`` makes it."""
    if data is None:
        return []
    if isinstance(data, NDArray | np.ndarray):
        data = [data]
    if isinstance(data, list | tuple):
        names = [default] if len(data) == 1 else [f"_{i}_{default}" for i in range(len(data))]
        data = dict(zip(names, data))
    if not isinstance(data, dict):
        raise TypeError(
            f"Input must be NDArray, numpy.ndarray, a list of them or dict with them as values; got {type(data).__name__}"
        )
    return sorted((name, _array(name, value)) for name, value in data.items())


def _array(name: str, value: Any) -> NDArray:
    if isinstance(value, NDArray):
        return value
    try:
        return nd.array(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Invalid type '{type(value)}' for {name}, should be NDArray or numpy.ndarray") from error
