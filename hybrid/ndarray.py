"""Arrays, and the operators on them. Everything that computes goes through ``invoke``.

An NDArray holds a NumPy array of its own, C-contiguous and writable; slices that MXNet gives as views (whole rows, or
anything contiguous) and reshapes share it, so writing to one shows in the other; everything else is a copy.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import frontend
from .attrs import dtype as read_dtype
from .context import Context, resolve
from .error import MXNetError, OperandError, OpError
from .graph.executor import apply
from .graph.graph import Entry, Graph, Node
from .graph.infer import infer
from .op import Op, Spec, lookup
from .shapes import show


@functools.lru_cache(maxsize=4096)
def _specs(op: Op, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[np.dtype, ...]) -> tuple[Spec, ...]:
    """What the operator gives for such inputs; by the same inference that graphs get. Raises OpError when they do not fit."""
    inputs = [Node(None, f"{i}") for i in range(len(shapes))]
    node = Node(op, op.name, map(Entry, inputs))
    graph = Graph([Entry(node, i) for i in range(len(node.outputs))])
    result = infer(graph, {n.name: s for n, s in zip(inputs, shapes)}, {n.name: d for n, d in zip(inputs, dtypes)})
    return tuple(map(result.spec, graph.outputs))


def invoke(op: Op, inputs: Sequence[NDArray], out: Any = None, *, training: bool = False) -> Any:
    """Apply an operator: an NDArray, or a list of them when it has several visible outputs.

    inputs in the order of ``op.takes()``. out: an NDArray or a list of them to write the results to.
    Raises OpError when inputs (or out) do not fit the operator."""
    wanted = op.takes()
    if len(inputs) != len(wanted):
        raise OpError(f"{op.name}: got {len(inputs)} inputs, wanted {len(wanted)} ({', '.join(wanted)})")
    arrays = [x._array for x in inputs]
    specs = _specs(op, tuple(a.shape for a in arrays), tuple(a.dtype for a in arrays))
    results = apply(op, arrays, specs, name=op.name, training=training)[: op.visible()]
    if out is not None:
        targets = [out] if isinstance(out, NDArray) else list(out)
        if len(targets) != len(results):
            raise OpError(f"{op.name}: got {len(targets)} arrays in out, wanted {len(results)}")
        for target, result in zip(targets, results):
            target._overwrite(result, op.name)
        return out
    ctx = inputs[0]._ctx if inputs else resolve(None)
    made = [NDArray._own(_owned(r), ctx) for r in results]
    return made[0] if len(made) == 1 else made


def _owned(result: np.ndarray) -> np.ndarray:
    """The result, or a copy where it is a view (of an input, say) or laid out otherwise than NDArrays are."""
    plain = result.base is None and result.flags.c_contiguous and result.flags.writeable
    return result if plain else np.array(result, order="C")


def _call(cls: type[Op], name: str, inputs: dict[str, Any] | list[Any], given: dict[str, Any]) -> Any:
    """What an nd function does; see frontend.Call."""
    out = given.pop("out", None)
    given.pop("name", None)
    ctx = given.pop("ctx", None) if "ctx" not in cls.fields else None
    arrays = {k: given.pop(k) for k in list(given) if isinstance(given[k], NDArray)}
    if isinstance(inputs, list):
        inputs = [
            *inputs,
            *(arrays.pop(f"arg{i}") for i in range(len(inputs), len(inputs) + len(arrays)) if f"arg{i}" in arrays),
        ]
        values: Sequence[Any] = inputs
    else:
        values = list(inputs.values())
    for value in values:
        if not isinstance(value, NDArray):
            raise OperandError(
                f"{name}: inputs must be NDArrays, got {type(value).__name__}; make one with mx.nd.array"
            )
    op = cls.bind(**frontend.attributes(cls, {**given, **arrays}, len(inputs)))
    if isinstance(inputs, dict):
        wanted = op.takes()
        missing = [n for n in wanted if n not in inputs]
        extra = [n for n in inputs if n not in wanted]
        if missing or extra:
            problems = [f"{', '.join(missing)} missing"] if missing else []
            problems += [f"{', '.join(extra)} not taken with these attributes"] if extra else []
            raise OpError(f"{op.name}: {'; '.join(problems)}; its inputs are {', '.join(wanted) or 'none'}")
        values = [inputs[n] for n in wanted]
    result = invoke(op, values, out)
    return result if ctx is None else result.as_in_context(ctx)


class NDArray:
    """An array of numbers on a device. Made by ``mx.nd.array`` and its kin."""

    __slots__ = ("__weakref__", "_array", "_ctx")
    __array_priority__ = 1000.0  # NumPy's operators leave mixed operands to ours

    stype = "default"

    def __init__(self, source: Any, ctx: Context | None = None, dtype: Any = None):
        self._array = np.array(source, dtype=dtype, order="C")
        self._ctx = resolve(ctx)

    @staticmethod
    def _own(memory: np.ndarray, ctx: Context) -> NDArray:
        """The NDArray of this very memory, which must be C-contiguous and writable."""
        made = NDArray.__new__(NDArray)
        made._array, made._ctx = memory, ctx
        return made

    def _overwrite(self, values: np.ndarray, what: str) -> None:
        """Take over an operator's result. Raises OpError when shape or dtype differ."""
        if values.shape != self.shape or values.dtype != self._array.dtype:
            raise OpError(
                f"{what}: result is {values.dtype}{show(values.shape)}, but out is {self._array.dtype}{show(self.shape)}; "
                "wanted the same"
            )
        self._array[...] = values

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> type:
        return self._array.dtype.type

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def context(self) -> Context:
        return self._ctx

    ctx = context

    @property
    def T(self) -> NDArray:  # noqa: N802  MXNet's and NumPy's name
        return self.transpose()

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d NDArray")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"\n{self._array!s}\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self._ctx}>"

    def __bool__(self) -> bool:
        if self.size != 1:
            if self.size == 0:
                return False
            raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")
        return bool(self._array.reshape(())[()])

    def __hash__(self) -> int:
        return id(self) // 16

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        return operator.index(self.asscalar())

    def __iter__(self) -> Iterator[NDArray]:
        return (self[i] for i in range(len(self)))

    # -- to and fro ---------------------------------------------------------------------------------------------------

    def asnumpy(self) -> np.ndarray:
        """A NumPy array with a copy of the values."""
        return self._array.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an NDArray gives its values as a copy only")
        return np.array(self._array, dtype=dtype)

    def asscalar(self) -> Any:
        """The only value. Raises ValueError when there is not exactly one."""
        if self.size != 1:
            raise ValueError("The current array is not a scalar")
        return self._array.reshape(())[()]

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        wanted = read_dtype(dtype)
        if not copy and wanted == self._array.dtype:
            return self
        return invoke(lookup("Cast").bind(dtype=wanted), [self])

    def copy(self) -> NDArray:
        return self._own(self._array.copy(), self._ctx)

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy the values into another array of the same shape (its dtype stays), or into a new one on a device."""
        if isinstance(other, Context):
            return self._own(self._array.copy(), resolve(other))
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto does not support type {type(other)}")
        if other is self:
            warnings.warn("You are attempting to copy an array to itself", RuntimeWarning, stacklevel=2)
            return self
        if other.shape != self.shape:
            raise MXNetError(f"copyto: got an array of shape {show(other.shape)}, wanted {show(self.shape)}")
        _assign(other._array, ..., self._array)
        return other

    def as_in_context(self, context: Context) -> NDArray:
        return self if context == self._ctx else self.copyto(context)

    as_in_ctx = as_in_context

    def detach(self) -> NDArray:
        """The same memory without history."""
        return self._own(self._array, self._ctx)

    def as_nd_ndarray(self) -> NDArray:
        return self

    def wait_to_read(self) -> None:
        """Return when the values are there; operators here finish before they return."""

    wait_to_write = wait_to_read

    def tostype(self, stype: str) -> Any:
        """The array as ``default``, ``row_sparse`` or ``csr``."""
        from .sparse import from_dense

        return from_dense(self, stype)

    def _stored(self) -> Any:
        """What params.save writes."""
        return self._array

    def __reduce__(self) -> Any:
        return type(self), (self._array, self._ctx)

    def __copy__(self) -> NDArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> NDArray:
        return self.copy()

    # -- parts --------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> NDArray:
        index, basic = _index(key, self.ndim)
        part = self._array[index]
        if part.ndim == 0 and self.ndim:
            part = part.reshape(1)  # MXNet has no 0-d arrays outside of its NumPy mode
        if not (basic and part.flags.c_contiguous):
            part = np.array(part, order="C")
        return self._own(part, self._ctx)

    def __setitem__(self, key: Any, value: Any) -> None:
        index, _ = _index(key, self.ndim)
        _assign(self._array, index, value._array if isinstance(value, NDArray) else value)

    def reshape(self, *shape: Any, **kwargs: Any) -> NDArray:
        """The same memory in another shape; 0, -1, -2, -3 and -4 as in the operator Reshape."""
        if len(shape) == 1 and isinstance(shape[0], tuple | list):
            shape = tuple(shape[0])
        elif not shape:
            shape = kwargs.pop("shape", ())
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            if not shape:
                raise AssertionError("Shape must be provided.")
        reverse = kwargs.pop("reverse", False)
        if kwargs:
            raise TypeError(f"reshape() takes the keywords shape and reverse, got {', '.join(kwargs)}")
        op = lookup("Reshape").bind(shape=shape, reverse=reverse)
        return self._alias(op)

    def _alias(self, op: Op) -> NDArray:
        """The array in the shape that an operator would give it, sharing memory."""
        (spec,) = _specs(op, (self.shape,), (self._array.dtype,))
        return self._own(self._array.reshape(spec.shape), self._ctx)  # type: ignore[arg-type]

    def expand_dims(self, axis: int, inplace: bool = False) -> NDArray:
        op = lookup("expand_dims").bind(axis=axis)
        return self._alias(op) if inplace else invoke(op, [self])

    def flatten(self, inplace: bool = False) -> NDArray:
        op = lookup("Flatten").bind()
        return self._alias(op) if inplace else invoke(op, [self])

    def squeeze(self, axis: Any = None, inplace: bool = False) -> NDArray:
        op = lookup("squeeze").bind(axis=axis)
        return self._alias(op) if inplace else invoke(op, [self])

    def transpose(self, *axes: Any, **kwargs: Any) -> NDArray:
        chosen = kwargs.get("axes", axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes)
        return invoke(lookup("transpose").bind(axes=tuple(chosen or ())), [self])

    def broadcast_to(self, shape: Any) -> NDArray:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return invoke(lookup("broadcast_to").bind(shape=shape), [self._padded(len(shape))])

    def broadcast_like(self, other: NDArray) -> NDArray:
        return self.broadcast_to(other.shape)

    def _padded(self, ndim: int) -> NDArray:
        """The array with axes of 1 in front, up to ``ndim``."""
        return self._own(self._array.reshape((1,) * (ndim - self.ndim) + self.shape), self._ctx)

    def diag(self, k: int = 0, **kwargs: Any) -> NDArray:
        return invoke(lookup("diag").bind(k=k, **kwargs), [self])

    # -- arithmetic ---------------------------------------------------------------------------------------------------

    def __neg__(self) -> NDArray:
        return _binary(frontend.BINARY["multiply"], self, -1.0)

    def __abs__(self) -> NDArray:
        return invoke(lookup("abs").bind(), [self])

    def __iadd__(self, other: Any) -> NDArray:
        return self._inplace("add", other)

    def __isub__(self, other: Any) -> NDArray:
        return self._inplace("subtract", other)

    def __imul__(self, other: Any) -> NDArray:
        return self._inplace("multiply", other)

    def __itruediv__(self, other: Any) -> NDArray:
        return self._inplace("divide", other)

    def __imod__(self, other: Any) -> NDArray:
        return self._inplace("modulo", other)

    def _inplace(self, name: str, other: Any) -> NDArray:
        return _binary(frontend.BINARY[name], self, other, out=self)


def _index(key: Any, ndim: int) -> tuple[tuple[Any, ...], bool]:
    """A key as NumPy takes it, ending in or holding an Ellipsis (so that even one element comes as an array), and
    whether it is basic: without index arrays. Arrays and lists are integer indices in MXNet, also boolean ones."""
    parts = key if isinstance(key, tuple) else (key,)
    index: list[Any] = []
    basic = True
    for part in parts:
        if isinstance(part, NDArray | np.ndarray | list):
            array = np.asarray(part._array if isinstance(part, NDArray) else part)
            if array.dtype.kind not in "iufb":
                raise IndexError(f"index array of dtype {array.dtype}, wanted integers")
            index.append(array.astype(np.int64))
            basic = False
        elif part is None or part is Ellipsis or isinstance(part, slice):
            index.append(part)
        elif hasattr(part, "__index__") and not isinstance(part, str):
            index.append(operator.index(part))
        else:
            raise ValueError(f"NDArray does not support slicing with key {part} of type {type(part)}.")
    if not any(p is Ellipsis for p in index):
        used = sum(p is not None for p in index)
        if used > ndim:
            raise IndexError(f"too many indices ({used}) for array with {ndim} dimensions")
        index.append(Ellipsis)
    return tuple(index), basic


def _assign(target: np.ndarray, index: Any, value: Any) -> None:
    """target[index] = value, broadcast and cast to the dtype of target as MXNet does."""
    with np.errstate(all="ignore"):
        target[index] = np.asarray(value).astype(target.dtype, copy=False)


def _binary(row: frontend.Binary, lhs: Any, rhs: Any, out: NDArray | None = None) -> Any:
    """A function of two arguments of which either may be a number. Raises TypeError for anything else."""
    left, right = isinstance(lhs, NDArray), isinstance(rhs, NDArray)
    if left and right:
        rank = max(lhs.ndim, rhs.ndim)
        return invoke(lookup(row.array).bind(), [lhs._padded(rank), rhs._padded(rank)], out)
    array, number = (lhs, rhs) if left else (rhs, lhs)
    if not isinstance(number, int | float | np.number | np.bool_):
        raise TypeError(f"type {type(number)} not supported")
    if not (left or right):
        return row.plain(lhs, rhs)
    return invoke(lookup(row.scalar if left else row.reflected).bind(scalar=float(number)), [array], out)


frontend.add_operators(NDArray, _binary)
_OP = frontend.Namespace(f"{__name__}.op", "", _call, ("out", "name"))
frontend.add_methods(NDArray, _OP)


def _function(name: str) -> Any:
    row = frontend.BINARY[name]

    def function(lhs: Any, rhs: Any) -> Any:
        return _binary(row, lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}`` of two arrays, which broadcast, or of an array and a number."
    return function


add, subtract, multiply, divide = map(_function, ("add", "subtract", "multiply", "divide"))
modulo, power, maximum, minimum = map(_function, ("modulo", "power", "maximum", "minimum"))
equal, not_equal, greater, greater_equal = map(_function, ("equal", "not_equal", "greater", "greater_equal"))
lesser, lesser_equal = map(_function, ("lesser", "lesser_equal"))
true_divide = divide


# -- making arrays --------------------------------------------------------------------------------------------------------


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> Any:
    """An NDArray of the values. dtype: that of an NDArray or sparse source, else float32."""
    if isinstance(source_array, NDArray):
        memory: Any = source_array._array
        wanted = memory.dtype if dtype is None else read_dtype(dtype)
    else:
        wanted = read_dtype("float32" if dtype is None else dtype)
        try:
            memory = np.asarray(source_array)
            if memory.dtype.kind not in "biufV":
                raise ValueError
        except ValueError:
            raise TypeError("source_array must be array like object") from None
    with np.errstate(all="ignore"):
        return NDArray._own(np.array(memory, dtype=wanted, order="C"), resolve(ctx))


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True) -> NDArray:
    """An NDArray of a NumPy array; with zero_copy sharing its memory, which must then be C-contiguous and writable."""
    if zero_copy and not (ndarray.flags.c_contiguous and ndarray.flags.writeable):
        raise ValueError("from_numpy: only C-contiguous, writable arrays can be shared; use zero_copy=False")
    return NDArray._own(ndarray if zero_copy else np.array(ndarray, order="C"), resolve(None))


def _shape(shape: Any) -> tuple[int, ...]:
    return (operator.index(shape),) if hasattr(shape, "__index__") else tuple(map(operator.index, shape))


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None, **kwargs: Any) -> Any:
    """An array of zeros, float32 when dtype is None; ``stype`` as for tostype."""
    made = NDArray._own(np.zeros(_shape(shape), read_dtype(dtype or "float32")), resolve(ctx))
    return made if stype in (None, "default") else made.tostype(stype)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """An array of ones, float32 when dtype is None."""
    return NDArray._own(np.ones(_shape(shape), read_dtype(dtype or "float32")), resolve(ctx))


def full(
    shape: Any, val: float, ctx: Context | None = None, dtype: Any = np.float32, out: NDArray | None = None
) -> NDArray:
    """An array (or ``out``) with val everywhere."""
    made = empty(shape, ctx, dtype) if out is None else out
    made[:] = val
    return made


def empty(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None) -> Any:
    """An array of zeros: what "empty" memory holds should not depend on what was there."""
    return zeros(shape, ctx, dtype, stype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: Any = None,
    ctx: Context | None = None,
    dtype: Any = np.float32,
) -> NDArray:
    """start, start + step, ... up to but not including stop, each ``repeat`` times; arange(n) counts from 0."""
    if stop is None:
        start, stop = 0, start
    values = np.repeat(np.arange(start, stop, step, dtype=np.float64), repeat)
    return NDArray._own(values.astype(read_dtype(dtype)), resolve(ctx))


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: Any = np.float32
) -> NDArray:
    """num numbers from start to stop, evenly spaced; stop is the last of them with endpoint."""
    return NDArray._own(np.linspace(start, stop, num, endpoint=endpoint).astype(read_dtype(dtype)), resolve(ctx))


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:  # noqa: N803
    """(N, M) zeros, or (N, N), with ones on the k-th diagonal."""
    return NDArray._own(np.eye(N, M or None, k, read_dtype(dtype or "float32")), resolve(ctx))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis."""
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return invoke(lookup("Concat").bind(dim=axis, num_args=len(arrays)), list(arrays))


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> NDArray:
    """The array with axes at other places, the others in their order."""
    return NDArray._own(np.array(np.moveaxis(tensor._array, source, destination), order="C"), tensor._ctx)


def split_v2(ary: NDArray, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
    """Parts of an array: so many equal ones, or cut before the given indices."""
    even = isinstance(indices_or_sections, int)
    indices = () if even else (0, *indices_or_sections)
    sections = indices_or_sections if even else 0
    op = lookup("_split_v2").bind(indices=indices, axis=axis, squeeze_axis=squeeze_axis, sections=sections)
    return invoke(op, [ary])


def waitall() -> None:
    """Return when all operators have finished; here they finish before they return."""


# -- files ----------------------------------------------------------------------------------------------------------------


def _wrap(loaded: Any) -> Any:
    from . import params

    def one(value: Any) -> Any:
        if isinstance(value, params.RowSparse | params.CSR):
            from .sparse import from_parts

            return from_parts(value)
        return None if value is None else NDArray(value)

    return {k: one(v) for k, v in loaded.items()} if isinstance(loaded, dict) else [one(v) for v in loaded]


def load(fname: Any) -> Any:
    """The arrays of a ``.params`` file: a dict when they have names, else a list. Raises FormatError for other files."""
    from . import params

    if isinstance(fname, int):
        raise TypeError(f"fname required to be a string or path, got {fname!r}")
    return _wrap(params.load(fname))


def load_frombuffer(buf: bytes) -> Any:
    """load from bytes."""
    from . import params

    return _wrap(params.load(bytes(buf)))


def save(fname: Any, data: Any) -> None:
    """Write an NDArray, a list or a dict of them as MXNet 1.9.1 does."""
    from . import params

    if isinstance(data, NDArray):
        data = [data]
    if not isinstance(data, dict | list):
        raise ValueError("data needs to either be a NDArray, dict of str, NDArray pairs or a list of NDarrays.")
    values = list(data.values()) if isinstance(data, dict) else data
    if not all(isinstance(v, NDArray) for v in values) or not all(
        isinstance(k, str) for k in data if isinstance(data, dict)
    ):
        raise TypeError("save only accept dict str->NDArray or list of NDArray")
    parts = [v._stored() for v in values]
    params.save(fname, dict(zip(data, parts)) if isinstance(data, dict) else parts)


# -- functions made from the operators --------------------------------------------------------------------------------------

_submodules = {
    n: frontend.Namespace(f"{__name__}.{n}", p, _call, ("out", "name")) for n, p in frontend.SUBMODULES.items()
}
_submodules["op"] = _OP


def __getattr__(name: str) -> Any:
    if name in _submodules:
        return _submodules[name]
    if name == "sparse":
        from . import sparse

        return sparse
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(_submodules["_internal"] if name.startswith("_") else _OP, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_submodules, *_OP.names()})
