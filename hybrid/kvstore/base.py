"""The base of every store of arrays, and how stores are made by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from ..base import _as_list
from ..core.error import MXNetError
from ..ndarray import NDArray

T = TypeVar("T", bound=type)

STORES: dict[str, Callable[[str], Any]] = {}
"""Functions that make the stores, by name, called with the name; the module that defines a store enters it."""


class KVStoreBase:
    """Base of stores; programs may define and register their own. Keys are ints or strs; several are a list, with as many values.

    Methods raise NotImplementedError where a store does not define them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> @mx.kvstore.KVStoreBase.register
    ... class Greatest(mx.kvstore.KVStoreBase):
    ...     type, rank, num_workers = "greatest", 0, 1
    ...     def broadcast(self, key, value, out, priority=0):
    ...         out[:] = value
    ...     def pushpull(self, key, value, out=None, priority=0):
    ...         for array in value if out is None else [out]:
    ...             array[:] = mx.nd.stack(*value).max(axis=0)
    ...     def is_capable(self, capability):
    ...         return False  # no optimizer
    >>> store, out = mx.kvstore.create("greatest"), mx.nd.zeros(2)
    >>> store.broadcast("w", mx.nd.array([5, 6]), out=out)
    >>> out.asnumpy()
    array([5., 6.], dtype=float32)
    >>> store.pushpull("w", [mx.nd.array([1, 4]), mx.nd.array([3, 2])], out=out)
    >>> out.asnumpy()
    array([3., 4.], dtype=float32)
    >>> store.is_capable(mx.kvstore.KVStoreBase.OPTIMIZER), store.type, store.rank, store.num_workers
    (False, 'greatest', 0, 1)
    """

    OPTIMIZER: ClassVar[str] = "optimizer"
    kv_registry: ClassVar[dict[str, Any]] = {}

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Keep a value under a key and copy it to all of out, an NDArray or a list of them. priority: read over, since all is done
        at once."""
        raise NotImplementedError

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Add up the arrays of one shape that value lists, of each key, and copy the sum to out, or over the values.

        priority: read over."""
        raise NotImplementedError

    def set_optimizer(self, optimizer: Any) -> None:
        """Update what is kept by an optimizer when gradients are pushed.

        Examples
        --------
        >>> from gluonnx import mx
        >>> store, out = mx.kvstore.create("local"), mx.nd.zeros(2)
        >>> store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
        >>> store.init("w", mx.nd.array([1, 2]))
        >>> store.push("w", mx.nd.array([2, 2]))
        >>> store.pull("w", out=out)
        >>> out.asnumpy()
        array([0., 1.], dtype=float32)
        """
        raise NotImplementedError

    def is_capable(self, capability: str) -> bool:
        """True when the store has a capability; ``KVStoreBase.OPTIMIZER`` is all that can be asked.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.kvstore.create("local").is_capable(mx.kvstore.KVStoreBase.OPTIMIZER)
        True
        """
        raise NotImplementedError

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer to a file (fname), and with dump_optimizer the optimizer itself.

        Examples
        --------
        >>> from gluonnx import mx
        >>> store = mx.kvstore.create("local")
        >>> store.set_optimizer(mx.optimizer.Adam())
        >>> store.init("w", mx.nd.ones(2))
        >>> store.push("w", mx.nd.ones(2))
        >>> store.save_optimizer_states("net.states")
        >>> store.load_optimizer_states("net.states")
        """
        raise NotImplementedError

    def load_optimizer_states(self, fname: str) -> None:
        """Read the states of the optimizer from a file (fname) that save_optimizer_states wrote.

        Examples
        --------
        >>> from gluonnx import mx
        >>> store = mx.kvstore.create("local")
        >>> store.set_optimizer(mx.optimizer.Adam())
        >>> store.init("w", mx.nd.ones(2))
        >>> store.push("w", mx.nd.ones(2))
        >>> store.save_optimizer_states("net.states")
        >>> store.load_optimizer_states("net.states")
        """
        raise NotImplementedError

    @property
    def type(self) -> str:
        """The name that the store was made by."""
        raise NotImplementedError

    @property
    def rank(self) -> int:
        """The number of this worker, from 0."""
        raise NotImplementedError

    @property
    def num_workers(self) -> int:
        """Number of workers."""
        raise NotImplementedError

    @staticmethod
    def register(klass: T) -> T:
        """Make a class (klass) known to ``create`` by its name in small letters. Decorator. Warns where the name is taken.

        Raises AssertionError for what is no class."""
        if not isinstance(klass, type):
            raise AssertionError(f"register: got {klass!r}, wanted a class")
        name = klass.__name__.lower()
        if name in KVStoreBase.kv_registry:
            before = KVStoreBase.kv_registry[name]
            warnings.warn(
                f"WARNING: New kvstore {klass.__module__}.{klass.__name__} is overriding existing kvstore "
                f"{before.__module__}.{before.__name__}",
                stacklevel=2,
            )
        KVStoreBase.kv_registry[name] = klass
        return klass


def sum_arrays(values: list[NDArray]) -> NDArray:
    """The sum of arrays of one shape, on the device of the first; sparse when they all are."""
    if len(values) == 1:
        return values[0]
    total: Any = values[0]
    here = values[0].context
    for value in values[1:]:  # places of the CPU read each other's memory
        near = not here.is_device and not value.context.is_device
        total = total + (value if near else value.as_in_context(here))
    return total


class AddingStore(KVStoreBase):
    """Base of stores that keep nothing: they only add up and copy."""

    def total(self, key: Any, values: list[NDArray], priority: int) -> NDArray:
        """The sum of all that is pushed, of which values are what this process pushes."""
        raise NotImplementedError

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        values = _as_list(value)
        total = self.total(key, values, priority)
        for target in values if out is None else _as_list(out):
            target[:] = total

    def is_capable(self, capability: str) -> bool:
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise ValueError(f"Unknown capability: {capability}")
        return False


@KVStoreBase.register
class TestStore(AddingStore):
    """A store that keeps nothing: it only adds up and copies."""

    __test__ = False  # no test case of pytest

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        for target in _as_list(out):
            target[:] = value

    def total(self, key: Any, values: list[NDArray], priority: int) -> NDArray:
        return sum_arrays(values).copy()

    @property
    def type(self) -> str:
        return "teststore"

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1


def create(name: str = "local") -> Any:
    """The store of that name, in any letters.

    Parameters
    ----------
    name : str, default 'local'
        "local", "device" and their kin add up within one process; ``dist_*`` over processes, which needs mpi4py; others were
        registered.

    Raises MXNetError for those that are not here, TypeError for what is no str.

    Examples
    --------
    >>> from gluonnx import mx
    >>> store, out = mx.kvstore.create("local"), mx.nd.zeros(2)
    >>> store.init("w", mx.nd.zeros(2))
    >>> store.push("w", [mx.nd.array([1, 2]), mx.nd.array([10, 20])])
    >>> store.pull("w", out=out)
    >>> out.asnumpy().tolist()
    [11.0, 22.0]"""
    if not isinstance(name, str):
        raise TypeError("name must be a string")
    word = name.lower()
    if word in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[word]()
    if word in STORES:
        return STORES[word](word)
    if word.startswith(("dist", "p3", "byteps")):
        reason = "it needs servers of its own"
    else:
        reason = "it needs GPUs" if word.startswith("nccl") else "there is no such store"
    raise MXNetError(f"kvstore {name!r}: {reason}; this engine has {', '.join([*STORES, *KVStoreBase.kv_registry])}")


def choose(kvstore: Any, devices: int, arrays: dict[str, NDArray]) -> tuple[Any, bool]:
    """(store or None, whether to update weights in it) for training on so many devices.

    One device in one process needs no store. Raises TypeError for what is neither store nor name nor None."""
    if kvstore is None or isinstance(kvstore, KVStoreBase):
        store = kvstore
    elif isinstance(kvstore, str):
        store = None if devices == 1 and not kvstore.startswith(("dist", "horovod")) else create(kvstore)
    else:
        raise TypeError("kvstore must be KVStore, str or None")
    # MXNet does not copy arrays of more than 16M numbers back and forth
    large = kvstore == "local" and max((a.size for a in arrays.values()), default=0) > 1024 * 1024 * 16
    return store, store is not None and not large and store.is_capable(KVStoreBase.OPTIMIZER)
