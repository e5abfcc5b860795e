"""``mx.nd``: making arrays, reading and writing them, and the functions made from the operators.

The arrays themselves are in array.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import frontend
from .array import NDArray, binary, invoke
from .attrs import dtype as read_dtype
from .context import Context, resolve
from .engine import ENGINE
from .error import OperandError, OpError
from .op import Op, lookup

__path__: list[str] = []  # so that "import mxnet.ndarray.contrib" may look inside (compat.py)


def _call(cls: type[Op], name: str, inputs: dict[str, Any] | list[Any], given: dict[str, Any]) -> Any:
    """What an nd function does; see frontend.Call."""
    out = given.pop("out", None)
    given.pop("name", None)
    ctx = given.pop("ctx", None)  # a Context, or the text that an attribute of that name holds
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
    return result.as_in_context(ctx) if isinstance(ctx, Context) else result


_TAIL = ("out", "name")
_FAST = frontend.Fast(NDArray, invoke)
_OP = frontend.Namespace(f"{__name__}.op", "", _call, _TAIL, _FAST)
frontend.add_methods(NDArray, _OP)


def _function(name: str) -> Any:
    row = frontend.BINARY[name]

    def function(lhs: Any, rhs: Any) -> Any:
        return binary(row, lhs, rhs)

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
        memory: Any = source_array._values
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
    return NDArray._own(np.array(np.moveaxis(tensor._values, source, destination), order="C"), tensor._ctx)


def split_v2(ary: NDArray, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
    """Parts of an array: so many equal ones, or cut before the given indices."""
    even = isinstance(indices_or_sections, int)
    indices = () if even else (0, *indices_or_sections)
    sections = indices_or_sections if even else 0
    op = lookup("_split_v2").bind(indices=indices, axis=axis, squeeze_axis=squeeze_axis, sections=sections)
    return invoke(op, [ary])


def waitall() -> None:
    """Return when all operators have finished. Raises the first error that nobody has met yet."""
    ENGINE.wait_all()


# -- files ----------------------------------------------------------------------------------------------------------------


def wrap(loaded: Any) -> Any:
    """What params.load gives, as NDArrays: a dict or a list."""
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
    return wrap(params.load(fname))


def load_frombuffer(buf: bytes) -> Any:
    """load from bytes."""
    from . import params

    return wrap(params.load(bytes(buf)))


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

_submodules = {n: frontend.Namespace(f"{__name__}.{n}", p, _call, _TAIL, _FAST) for n, p in frontend.SUBMODULES.items()}
_submodules["op"] = _OP
_submodules["contrib"] = frontend.Namespace(
    f"{__name__}.contrib", "_contrib_", _call, _TAIL, _FAST, f"{__package__}.contrib.eager"
)


def __getattr__(name: str) -> Any:
    if name in _submodules:
        return _submodules[name]
    if name == "sparse":
        from . import sparse

        return sparse
    if name == "random":
        from .sampling import ARRAYS

        return ARRAYS.random
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(_submodules["_internal"] if name.startswith("_") else _OP, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_submodules, *_OP.names()})
