"""The store within one process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import optimizer as opt
from ..base import _as_list
from ..core.error import MXNetError
from ..eager.sparse import rows_of_array
from ..formats.files import read, write
from ..formats.params import RowSparse
from ..ndarray import NDArray
from .base import STORES, KVStoreBase, sum_arrays

Updater = Callable[[Any, NDArray, NDArray], None]


def _pairs(keys: Any, values: Any) -> Iterator[tuple[Any, list[NDArray]]]:
    """(key, arrays) for one key or a list of them. Raises AssertionError for other keys, or not as many values."""
    if isinstance(keys, list | tuple):
        if len(keys) != len(values):
            raise AssertionError(f"got {len(keys)} keys and {len(values)} values, wanted as many")
        if len({isinstance(k, str) for k in keys}) > 1:
            raise AssertionError("inconsistent types of keys detected.")
        for key, value in zip(keys, values):
            yield from _pairs(key, value)
        return
    if not isinstance(keys, int | str):
        raise AssertionError(f"unexpected type for keys: {type(keys)}")
    arrays = _as_list(values)
    if not arrays or not all(isinstance(a, NDArray) for a in arrays):
        raise AssertionError(f"key {keys}: wanted an NDArray or a list of them")
    yield keys, arrays


class KVStore(KVStoreBase):
    """Arrays by key. What is pushed from several devices is added up; with an optimizer it updates what is kept.

    Keys are ints or strs, values NDArrays or lists of them, one for each device; several keys go in a list, with as many values.
    Other keys and values raise AssertionError, keys that nothing was kept under MXNetError. priority is read over everywhere.

    Parameters
    ----------
    kind : str, default 'local'
        The name that ``type`` gives.

    Examples
    --------
    >>> from gluonnx import mx
    >>> store = mx.kv.create("local")
    >>> store.init("w", mx.nd.ones(2))
    >>> store.push("w", [mx.nd.ones(2), 2 * mx.nd.ones(2)])  # added up
    >>> out = mx.nd.zeros(2)
    >>> store.pull("w", out=out)
    >>> out.asnumpy()
    array([3., 3.], dtype=float32)
    >>> store.type, store.rank, store.num_workers
    ('local', 0, 1)
    >>> store.is_capable("optimizer")
    True
    """

    def __init__(self, kind: str = "local") -> None:
        self._type = kind
        self._kept: dict[Any, NDArray] = {}
        self._updater: Any = None

    def init(self, key: Any, value: Any) -> None:
        """Keep a copy of the first value under its key. Raises MXNetError for a key that is there already."""
        for name, arrays in _pairs(key, value):
            if name in self._kept:
                raise MXNetError(f"duplicate init of key {name}")
            self._kept[name] = arrays[0].copy()

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Add up the arrays of a value; the sum is kept under its key, or given to the updater as a gradient.

        priority: read over."""
        for name, arrays in _pairs(key, value):
            kept, total = self._of(name), self._sum(name, arrays, priority)
            self._apply(name, total, kept)

    def _sum(self, name: Any, arrays: list[NDArray], priority: int) -> NDArray:
        """The sum of what is pushed."""
        return sum_arrays(arrays)

    def _apply(self, name: Any, total: NDArray, kept: NDArray) -> None:
        """Update what is kept by a sum, or keep that."""
        if self._updater is not None:
            self._updater(name, total, kept)
        else:
            self._kept[name] = total.copy()

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy what is kept under a key to arrays.

        out: where to; None raises AssertionError. priority: read over. ignore_sparse: leave out arrays that are sparse, for which
        row_sparse_pull is there."""
        if out is None:
            raise AssertionError("pull: wanted arrays in out")
        for name, arrays in _pairs(key, out):
            for array in arrays:
                if ignore_sparse and array.stype != "default":
                    warnings.warn(
                        f"pull leaves out {name}, which is {array.stype}: use row_sparse_pull, or a Module's prepare with "
                        "sparse_row_id_fn",
                        stacklevel=2,
                    )
                    continue
                self._of(name).copyto(array)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """push a value under its key, then pull to out, or over the value. priority: read over.

        Examples
        --------
        >>> from gluonnx import mx
        >>> store = mx.kv.create()
        >>> store.init("w", mx.nd.zeros(2))
        >>> out = mx.nd.empty(2)
        >>> store.pushpull("w", [mx.nd.ones(2), 2 * mx.nd.ones(2)], out=out)
        >>> out.asnumpy()
        array([3., 3.], dtype=float32)
        """
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """init a key with a value, then pull to out. priority: read over.

        Examples
        --------
        >>> from gluonnx import mx
        >>> store = mx.kv.create()
        >>> copies = [mx.nd.empty(2), mx.nd.empty(2)]
        >>> store.broadcast("w", mx.nd.ones(2), out=copies)
        >>> [copy.asnumpy().tolist() for copy in copies]
        [[1.0, 1.0], [1.0, 1.0]]
        """
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> None:
        """Copy the rows of a key's array that row_ids lists to out; all others become zero. priority: read over.

        row_ids: NDArrays of row numbers, one for all of out, or one each (a list for each of several keys, too). Raises
        AssertionError without out or row_ids.

        Examples
        --------
        >>> from gluonnx import mx
        >>> store = mx.kv.create()
        >>> store.init("w", mx.nd.array([[1, 2], [3, 4], [5, 6]]).tostype("row_sparse"))
        >>> out = mx.nd.sparse.zeros("row_sparse", (3, 2))
        >>> store.row_sparse_pull("w", out=out, row_ids=mx.nd.array([0, 2]))
        >>> out.asnumpy()
        array([[1., 2.],
               [0., 0.],
               [5., 6.]], dtype=float32)
        """
        if out is None or row_ids is None:
            raise AssertionError("row_sparse_pull: wanted arrays in out, and row_ids")
        wanted = [rows for part in _as_list(row_ids) for rows in _as_list(part)]
        place = 0
        for name, arrays in _pairs(key, out):
            for array in arrays:
                rows = wanted[0] if len(wanted) == 1 else wanted[place]
                place += 1
                self._rows(name, array, np.unique(rows.asnumpy().astype(np.int64)))

    def _rows(self, name: Any, out: Any, rows: np.ndarray) -> None:
        held = self._of(name)
        found = RowSparse(rows_of_array(held, rows), rows, held.shape)
        if out.stype == "row_sparse":
            out.__init__(found, out.context)
        else:
            out[:] = found.todense()

    def _of(self, name: Any) -> NDArray:
        if name not in self._kept:
            raise MXNetError(f"key {name} has not been inited")
        return self._kept[name]

    # -- optimizer ----------------------------------------------------------------------------------------------------

    def is_capable(self, capability: str) -> bool:
        """True when the store has a capability: ``KVStoreBase.OPTIMIZER``, as it takes one. Raises ValueError for another."""
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise ValueError(f"Unknown capability: {capability}")
        return True

    def set_optimizer(self, optimizer: opt.Optimizer) -> None:
        """Pushed sums are gradients from now on, by which the optimizer, an mx.optimizer.Optimizer, updates what is kept.

        Examples
        --------
        >>> from gluonnx import mx
        >>> store = mx.kv.create()
        >>> store.init(0, mx.nd.ones(2))
        >>> store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
        >>> store.push(0, mx.nd.ones(2))  # a gradient now
        >>> out = mx.nd.empty(2)
        >>> store.pull(0, out=out)
        >>> out.asnumpy()
        array([0.5, 0.5], dtype=float32)
        """
        self.set_updater(opt.get_updater(optimizer))

    def set_updater(self, updater: Updater) -> None:
        """``updater(key, pushed, kept)`` is called for every push from now on.

        Examples
        --------
        >>> from gluonnx import mx
        >>> store = mx.kv.create()
        >>> store.init(0, mx.nd.ones(2))
        >>> def add(key, pushed, kept):
        ...     kept += pushed
        >>> store.set_updater(add)
        >>> out = mx.nd.empty(2)
        >>> store.pushpull(0, mx.nd.ones(2), out=out)
        >>> out.asnumpy()
        array([2., 2.], dtype=float32)
        """
        self._updater = updater

    _set_updater = set_updater

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer (and itself, with dump_optimizer) to a file, fname.

        Raises AssertionError where no optimizer was set.

        Examples
        --------
        >>> from gluonnx import mx
        >>> from pathlib import Path
        >>> store = mx.kv.create()
        >>> store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
        >>> store.save_optimizer_states("optimizer.states", dump_optimizer=True)
        >>> store.load_optimizer_states("optimizer.states")
        >>> Path("optimizer.states").exists()
        True
        """
        write(fname, self._with_states("save").get_states(dump_optimizer))

    def load_optimizer_states(self, fname: str) -> None:
        """Read the states of the optimizer from a file, fname. Raises FormatError when it holds none, AssertionError where no
        optimizer was set.

        Examples
        --------
        >>> from gluonnx import mx
        >>> store = mx.kv.create()
        >>> store.load_optimizer_states("optimizer.states")
        Traceback (most recent call last):
            ...
        AssertionError: Cannot load states: there is no optimizer; call set_optimizer first
        """
        self._with_states("load").set_states(read(fname), fname)

    def _with_states(self, what: str) -> opt.Updater:
        if not isinstance(self._updater, opt.Updater):
            raise AssertionError(f"Cannot {what} states: there is no optimizer; call set_optimizer first")
        return self._updater

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Refuse compression_params with MXNetError: within one process nothing is sent that could be compressed.

        Examples
        --------
        >>> from gluonnx import mx
        >>> try:
        ...     mx.kv.create().set_gradient_compression({"type": "2bit"})
        ... except mx.MXNetError as error:
        ...     print(error)
        Gradient compression is not supported for this type of kvstore
        """
        raise MXNetError("Gradient compression is not supported for this type of kvstore")

    # -- this process ---------------------------------------------------------------------------------------------------

    @property
    def type(self) -> str:
        return self._type

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1

    def _barrier(self) -> None:
        """Wait for all other workers; there are none."""


NAMES = ("local", "device", "local_update_cpu", "local_allreduce_cpu", "local_allreduce_device")
"""MXNet's names for stores that differ in where they add up. On a CPU they are all the same."""
STORES.update(dict.fromkeys(NAMES, KVStore))
