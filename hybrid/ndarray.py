"""``mx.nd``: making arrays, reading and writing them, and the functions made from the operators.

The arrays themselves are in eager/array.py.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as onp

from .context import Context, resolve
from .core import functions
from .core.attrs import DTYPE_FLAGS, MXNET_DTYPES
from .core.error import OperandError, OpError
from .core.later import Later
from .core.memory_budget import afford_array
from .core.op import lookup
from .device import registry
from .eager.array import NDArray, binary, invoke, with_face
from .eager.dispatch import array_dtype
from .eager.functions import INTERNAL, OPERATORS, namespace
from .eager.tape import STATE
from .execution.scheduler import SCHEDULER

py_slice = slice
"""Python's, by the name that it has in MXNet beside the operator's."""
NDArray.__module__ = __name__  # which pickles name, and which brings its methods
__path__: list[str] = []  # so that "import mxnet.ndarray.contrib" may look inside (compat.py)


def _function(name: str) -> Any:
    row = functions.BINARY[name]

    def function(lhs: Any, rhs: Any) -> Any:
        for side in (lhs, rhs):
            if isinstance(side, NDArray) and side.stype != "default":
                from .eager.sparse import broadcast

                return broadcast(row, lhs, rhs)
        return binary(row, lhs, rhs)

    function.__name__ = function.__qualname__ = name
    text = f"``{name}`` of two arrays, which broadcast, or of an array and a number."
    function.__doc__ = Later(text, lambda: f"{text}\n\n{_example(row)}")
    return function


def _example(row: functions.Binary) -> str:
    """The section of a docstring with an example of a function of two arguments."""
    shown = onp.array([row.plain(3, 2), row.plain(7, 2)], "float32")
    call = f"mx.nd.{row.name}(mx.nd.array([3, 7]), 2).asnumpy()"
    notes = f"Operators {row.array}, {row.scalar} and {row.reflected} of MXNet."
    return f"Notes\n-----\n{notes}\n\nExamples\n--------\n>>> from gluonnx import mx\n>>> {call}\n{shown!r}"


add, subtract, multiply, divide = map(_function, ("add", "subtract", "multiply", "divide"))
modulo, maximum, minimum = map(_function, ("modulo", "maximum", "minimum"))
equal, not_equal, greater, greater_equal = map(_function, ("equal", "not_equal", "greater", "greater_equal"))
lesser, lesser_equal = map(_function, ("lesser", "lesser_equal"))


def power(base: Any, exp: Any) -> Any:
    """base to the power of exp; arrays broadcast, either may be a number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.power(mx.nd.array([2, 3]), 2).asnumpy()
    array([4., 9.], dtype=float32)
    """
    return binary(functions.BINARY["power"], base, exp)


logical_and, logical_or, logical_xor = map(_function, ("logical_and", "logical_or", "logical_xor"))
true_divide = divide


# -- methods of arrays that need more than arrays -----------------------------------------------------------------------------


@functions.method_of(NDArray)
def backward(
    self: NDArray, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True
) -> None:
    """Compute gradients of everything that this was computed of and that has room for one; see autograd.backward.

    out_grad: what the array's elements weigh, of its shape; None: 1 each. retain_graph: keep what was recorded, to go through it
    again. train_mode: False for gradients of inference. Raises MXNetError for an array that was not recorded.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([2., 4.], dtype=float32)
    """
    from .eager.backward import backward

    backward([self], None if out_grad is None else [out_grad], retain_graph, train_mode)


@functions.method_of(NDArray)
def tostype(self: NDArray, stype: str) -> Any:
    """The array in another storage, stype: ``default``, ``row_sparse`` or (of two axes) ``csr``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.array([[0, 0], [1, 2]]).tostype("row_sparse").indices.asnumpy()
    array([1])
    """
    from .eager.sparse import apply, from_dense

    if STATE.recording and self._origin is not None:
        return apply(lookup("cast_storage").bind(stype=stype), [self])
    return from_dense(self, stype)


@functions.method_of(NDArray)
def as_np_ndarray(self: NDArray) -> Any:
    """The same memory and history as an array of mx.np. Raises TypeError for a sparse array.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.array([1, 2]).as_np_ndarray()
    array([1., 2.])
    """
    from .np_functions import methods

    return with_face(self, methods.ndarray)


# -- making arrays --------------------------------------------------------------------------------------------------------


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> Any:
    """An NDArray of the values; a csr matrix of a sparse source, SciPy's too. dtype: that of an NDArray or sparse source, else
    float32.

    Raises TypeError for what NumPy cannot make an array of.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.array([[1, 2], [3, 4]]).asnumpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    >>> mx.nd.array([1, 2], dtype="int32").dtype.__name__
    'int32'
    """
    if isinstance(source_array, NDArray):
        if source_array.stype != "default":
            from .eager.sparse import array as sparse_array

            return sparse_array(source_array, ctx, dtype)
        wanted = source_array._dtype if dtype is None else array_dtype(dtype)
        if STATE.recording and source_array._origin is not None:
            made = source_array.copy() if wanted == source_array._dtype else source_array.astype(wanted)
            return made._on(resolve(ctx)) if made._ctx != resolve(ctx) else made
        memory: Any = source_array._read()
    elif getattr(source_array, "format", None) == "csr" and hasattr(source_array, "tocsr"):  # SciPy's
        from .eager.sparse import array as sparse_array

        return sparse_array(source_array, ctx, dtype)
    else:
        wanted = array_dtype(dtype)
        try:
            memory = onp.asarray(source_array)
            if memory.dtype.kind in "OSU":  # numbers as texts are read, None is not a number
                memory = onp.array(source_array, dtype=wanted)
            if memory.dtype.kind not in "biufV":
                raise ValueError
        except (TypeError, ValueError):
            raise TypeError("source_array must be array like object") from None
    with onp.errstate(all="ignore"):
        return NDArray._own(onp.array(memory, dtype=wanted, order="C"), resolve(ctx))


def from_numpy(ndarray: onp.ndarray, zero_copy: bool = True) -> NDArray:
    """An NDArray of a NumPy array; with zero_copy sharing its memory, which must then be C-contiguous and writable.

    Raises ValueError for memory that cannot be shared, and for a dtype that MXNet has not.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> shared = np.ones(2, "float32")
    >>> x = mx.nd.from_numpy(shared)
    >>> shared[0] = 5
    >>> x.asnumpy()
    array([5., 1.], dtype=float32)
    """
    if ndarray.dtype.kind not in "biufV" or ndarray.dtype.name not in DTYPE_FLAGS:
        raise ValueError(f"{ndarray.dtype} is not supported.")
    if zero_copy and not (ndarray.flags.c_contiguous and ndarray.flags.writeable):
        raise ValueError("from_numpy: only C-contiguous, writable arrays can be shared; use zero_copy=False")
    if zero_copy:
        return NDArray._own(ndarray, resolve(None))._mark_external()
    return NDArray._own(onp.array(ndarray, order="C"), resolve(None))


class _Capsule:
    """A DLPack capsule as the object that NumPy wants to take it from.

    Then also what keeps its memory: NumPy calls that read-only, because such a capsule cannot say whether it is."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def as_array(self) -> onp.ndarray:
        """The memory as a writable array."""
        self._array = onp.from_dlpack(self)
        described = dict(self._array.__array_interface__)
        self.__array_interface__ = {**described, "data": (described["data"][0], False)}
        return onp.asarray(self)


def from_dlpack(dlpack: Any) -> NDArray:
    """An NDArray of a DLPack capsule, or of anything with ``__dlpack__``, sharing its memory where that can be written to.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.nd.from_dlpack(np.ones(2, "float32")).asnumpy()
    array([1., 1.], dtype=float32)
    """
    found = onp.from_dlpack(dlpack) if hasattr(dlpack, "__dlpack__") else _Capsule(dlpack).as_array()
    return from_numpy(found, zero_copy=bool(found.flags.c_contiguous and found.flags.writeable))


def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule of an array once it holds its values, to be read.

    Examples
    --------
    >>> from gluonnx import mx
    >>> capsule = mx.nd.to_dlpack_for_read(mx.nd.ones(2))
    >>> mx.nd.from_dlpack(capsule).asnumpy()
    array([1., 1.], dtype=float32)
    """
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> Any:
    """A DLPack capsule of an array once nobody else has to read it, to be written to.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.ones(2)
    >>> mx.nd.from_dlpack(mx.nd.to_dlpack_for_write(x))[:] = 3
    >>> x.asnumpy()
    array([3., 3.], dtype=float32)
    """
    return data.to_dlpack_for_write()


def _shape(shape: Any) -> tuple[int, ...]:
    try:
        found = (operator.index(shape),) if hasattr(shape, "__index__") else tuple(map(operator.index, shape))
    except TypeError:
        raise OpError(
            f"Invalid Parameter format for shape, wanted a number or a tuple of them, got {shape!r}"
        ) from None
    if any(n < 0 for n in found):
        raise OpError(f"shape {found}: wanted no negative dimensions")
    return found


def _make_array(values: onp.ndarray, ctx: Context | None, given: dict[str, Any]) -> NDArray:
    """An NDArray of these values, or the array ``out`` with them written to it. Raises OpError for unknown keywords."""
    out = given.pop("out", None)
    given.pop("name", None)
    given = {n: v for n, v in given.items() if not (n.startswith("__") and n.endswith("__"))}  # hints: __layout__
    if given:
        raise OpError(f"Cannot find argument {', '.join(map(repr, given))}, wanted shape, ctx, dtype or out")
    if out is None:
        return NDArray._own(values, resolve(ctx))
    out[:] = values
    return out


def _room(shape: Any, dtype: Any) -> tuple[tuple[int, ...], onp.dtype]:
    """The shape and dtype of an array to be made. Raises OutOfMemory where it takes more than the memory budget."""
    sizes, kind = _shape(shape), array_dtype(dtype)
    afford_array(sizes, kind, "an array")
    return sizes, kind


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None, **kwargs: Any) -> Any:
    """An array of zeros, float32 when dtype is None; ``stype`` as for tostype.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.zeros((2, 3)).asnumpy()
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    if stype not in (None, "default"):
        from .eager.sparse import zeros as sparse_zeros

        return sparse_zeros(stype, shape, ctx, dtype, **kwargs)
    return _make_array(onp.zeros(*_room(shape, dtype)), ctx, kwargs)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """An array of ones, float32 when dtype is None.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.ones(2, dtype="int32").asnumpy().tolist()
    [1, 1]
    """
    return _make_array(onp.ones(*_room(shape, dtype)), ctx, kwargs)


def full(
    shape: Any, val: float, ctx: Context | None = None, dtype: Any = onp.float32, out: NDArray | None = None
) -> NDArray:
    """An array (or ``out``) with val everywhere.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.full((2,), 3).asnumpy()
    array([3., 3.], dtype=float32)
    """
    made = empty(shape, ctx, dtype) if out is None else out
    made[:] = val
    return made


def empty(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None) -> Any:
    """An array of zeros: what "empty" memory holds should not depend on what was there.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, ctx, dtype, stype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: Any = None,
    ctx: Context | None = None,
    dtype: Any = onp.float32,
) -> NDArray:
    """start, start + step, ... up to but not including stop, each ``repeat`` times; arange(n) counts from 0.

    Raises OpError for a step of 0, and for what is no number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.arange(1, 4).asnumpy()
    array([1., 2., 3.], dtype=float32)
    >>> mx.nd.arange(2, repeat=2).asnumpy()
    array([0., 0., 1., 1.], dtype=float32)
    """
    if stop is None:
        start, stop = 0, start
    if stop is None or not step:
        raise OpError(f"arange: got start {start}, stop {stop}, step {step}, wanted numbers, and no step of 0")
    values = onp.repeat(onp.arange(start, stop, step, dtype=onp.float64), repeat)
    return NDArray._own(values.astype(array_dtype("float64" if dtype is None else dtype)), resolve(ctx))


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: Any = onp.float32
) -> NDArray:
    """num numbers from start to stop, evenly spaced; stop is the last of them with endpoint.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.linspace(0, 1, 5).asnumpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    return NDArray._own(
        onp.linspace(start, stop, num, endpoint=endpoint).astype(array_dtype("float64" if dtype is None else dtype)),
        resolve(ctx),
    )


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:  # noqa: N803
    """(N, M) zeros, or (N, N), with ones on the k-th diagonal.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.eye(2, 3, k=1).asnumpy()
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    return _make_array(onp.eye(N, M or None, k, array_dtype(dtype)), ctx, kwargs)


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis; with one of them and not always_copy, that one.

    Raises OperandError for anything but a list of at least one NDArray.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.concatenate([mx.nd.ones((1, 2)), mx.nd.zeros((1, 2))]).asnumpy()
    array([[1., 1.],
           [0., 0.]], dtype=float32)
    """
    if not isinstance(arrays, list | tuple) or not arrays or not all(isinstance(a, NDArray) for a in arrays):
        raise OperandError("concatenate: wanted a list of at least one NDArray")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return invoke(lookup("Concat").bind(dim=axis, num_args=len(arrays)), list(arrays))


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> NDArray:
    """The array with axes at other places, the others in their order.

    Raises ValueError when the lists of axes do not go together or name an axis that is not there.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.moveaxis(mx.nd.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """

    def read(axes: Any, what: str) -> list[int]:
        given = [axes] if isinstance(axes, int) else list(axes)
        if not all(-tensor.ndim <= axis < tensor.ndim for axis in given):
            raise ValueError(f"{what} should verify 0 <= axis < tensor.ndim ({tensor.ndim}). Got {axes}")
        return [axis % tensor.ndim for axis in given]

    where, to = read(source, "Source"), read(destination, "Destination")
    if len(where) != len(to):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    if len({*where}) != len(where) or len({*to}) != len(to):
        raise ValueError(f"moveaxis: got {source} and {destination}, wanted every axis once")
    order = [axis for axis in range(tensor.ndim) if axis not in where]
    for place, axis in sorted(zip(to, where)):
        order.insert(place, axis)
    return tensor.transpose(order)


def split_v2(ary: NDArray, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
    """Parts of an array (ary) along an axis, a list of them, or the array where there is one; operator _split_v2.

    indices_or_sections: the number of equal parts, or a tuple of the indices before which it is cut. squeeze_axis: leave out the
    axis, of parts of length 1.

    Raises ValueError unless the axis can be cut into so many equal parts, or for what is neither a number nor a tuple.

    Examples
    --------
    >>> from gluonnx import mx
    >>> [part.shape for part in mx.nd.split_v2(mx.nd.ones((5, 2)), (2, 3))]
    [(2, 2), (1, 2), (2, 2)]
    """
    if isinstance(indices_or_sections, int):
        indices, sections = (), indices_or_sections
        if ary.shape[axis] % sections:
            raise ValueError("array split does not result in an equal division")
    elif isinstance(indices_or_sections, tuple):
        indices, sections = (0, *indices_or_sections), 0
    else:
        raise ValueError("indices_or_sections must either int or tuple of ints")
    op = lookup("_split_v2").bind(indices=indices, axis=axis, squeeze_axis=squeeze_axis, sections=sections)
    return invoke(op, [ary])


def histogram(a: NDArray, bins: Any = 10, range: tuple[float, float] | None = None) -> Any:
    """Count the values that fall into each bin; gives the counts and the (bins + 1,) edges between the bins.

    bins: an array of edges, or how many bins of equal width there are from the least to the greatest value (then both
    results are float32), or over the given range. The last bin includes its end; values beyond the range are not counted.

    Raises ValueError for bins of another kind.

    Examples
    --------
    >>> from gluonnx import mx
    >>> counts, edges = mx.nd.histogram(mx.nd.array([1, 3, 3.5]), bins=2, range=(0, 4))
    >>> counts.asnumpy().tolist(), edges.asnumpy().tolist()
    ([1, 2], [0.0, 2.0, 4.0])
    """
    values = a.asnumpy().ravel()
    if isinstance(bins, NDArray):
        counts, _ = onp.histogram(values, bins.asnumpy())
        edges = bins.copy()
    elif not isinstance(bins, int):
        raise ValueError("bins argument should be either an integer or an NDArray")
    elif range is None:
        found = onp.histogram(values, bins)
        return tuple(array(part, a.context) for part in found)
    else:
        counts, where = onp.histogram(values, bins, range)
        edges = array(where, a.context, a.dtype)
    return [array(counts, a.context, "int64"), edges]


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write into each row of ``out``, (n, classes), a one at the index given for the row and zeros elsewhere.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.onehot_encode(mx.nd.array([2, 0]), mx.nd.zeros((2, 3))).asnumpy()
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    rows = indices.asnumpy().astype(onp.int64)
    out[:] = onp.arange(out.shape[1]) == rows[:, None]
    return out


NDArray.split_v2 = split_v2  # type: ignore[attr-defined]  no operator that a method could be made from


def Custom(*args: NDArray, op_type: str, out: Any = None, name: str | None = None, **kwargs: Any) -> Any:  # noqa: N802
    """An operator registered with mx.operator.register, applied to arrays in order or by name: its inputs, then its
    auxiliary states. Other keywords are what its CustomOpProp is made with.

    Raises OpError when inputs are missing or too many.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Doubled(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], 2 * in_data[0])
    >>> @mx.operator.register("doubled")
    ... class DoubledProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Doubled()
    >>> mx.nd.Custom(mx.nd.array([1, 2]), op_type="doubled").asnumpy()
    array([2., 4.], dtype=float32)
    """
    arrays = {k: v for k, v in kwargs.items() if isinstance(v, NDArray)}
    op = lookup("Custom").bind(op_type=op_type, **{k: v for k, v in kwargs.items() if k not in arrays})
    wanted = op.input_names()
    given = {**dict(zip(wanted, args)), **arrays}
    if len(args) + len(arrays) != len(wanted) or set(given) != set(wanted):
        raise OpError(
            f"Custom: {op_type} got {len(args)} inputs{f' and {list(arrays)}' if arrays else ''}, "
            f"wanted {', '.join(wanted)}"
        )
    return invoke(op, [given[n] for n in wanted], out)


def waitall() -> None:
    """Return when all operators have finished. Raises the first error that nobody has met yet.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.ones((2, 2)) * 3
    >>> mx.nd.waitall()  # by now x is computed
    """
    SCHEDULER.wait_all()
    registry.synchronize()


# -- files ----------------------------------------------------------------------------------------------------------------


def wrap(loaded: Any) -> Any:
    """Make NDArrays of what params.load gives: a dict or a list."""
    from .formats import params

    copied = 0

    def one(value: Any) -> Any:
        nonlocal copied
        if isinstance(value, params.RowSparse | params.CSR):
            from .eager.sparse import from_parts

            return from_parts(value)
        if value is None:
            return None
        array = NDArray(value)
        copied += value.nbytes
        if copied > 1 << 24:  # so that a large file is not in memory twice
            params.release([value])
            copied = 0
        return array

    return {k: one(v) for k, v in loaded.items()} if isinstance(loaded, dict) else [one(v) for v in loaded]


def load(fname: Any) -> Any:
    """The arrays of a ``.params`` file: a dict when they have names, else a list. Raises FormatError for other files.

    Raises TypeError for a number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.save("arrays.params", {"x": mx.nd.array([1, 2])})
    >>> mx.nd.load("arrays.params")["x"].asnumpy()
    array([1., 2.], dtype=float32)
    """
    from .formats import params

    if isinstance(fname, int):
        raise TypeError(f"fname required to be a string or path, got {fname!r}")
    return wrap(params.load(fname))


def load_frombuffer(buf: bytes) -> Any:
    """load from bytes.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.save("arrays.params", [mx.nd.array([1, 2])])
    >>> import pathlib
    >>> mx.nd.load_frombuffer(pathlib.Path("arrays.params").read_bytes())[0].asnumpy()
    array([1., 2.], dtype=float32)
    """
    from .formats import params

    return wrap(params.load(bytes(buf)))


def save(fname: Any, data: Any) -> None:
    """Write an NDArray, a list or a dict of them as MXNet 1.9.1 does. Raises TypeError for arrays of mx.np.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.save("arrays.params", {"weight": mx.nd.ones((2, 3)), "bias": mx.nd.zeros(2)})
    >>> {name: array.shape for name, array in mx.nd.load("arrays.params").items()}
    {'weight': (2, 3), 'bias': (2,)}
    """
    from .formats import params

    values = data.values() if isinstance(data, dict) else data if isinstance(data, list) else [data]
    if any(isinstance(v, NDArray) and v._face is not NDArray for v in values):
        raise TypeError("cannot save mxnet.numpy.ndarray using mxnet.ndarray.save; use mxnet.numpy.save instead.")

    params.save(fname, to_stored(data))


def to_stored(data: Any) -> Any:
    """An NDArray, a list or a dict of them as params.save takes them."""
    if isinstance(data, NDArray):
        data = [data]
    if not isinstance(data, dict | list):
        raise ValueError("data needs to either be a NDArray, dict of str, NDArray pairs or a list of NDarrays.")
    values = list(data.values()) if isinstance(data, dict) else data
    if not all(isinstance(v, NDArray) for v in values) or not all(
        isinstance(k, str) for k in data if isinstance(data, dict)
    ):
        raise TypeError("save only accept dict str->NDArray or list of NDArray")
    parts = [v._saved_form() for v in values]
    return dict(zip(data, parts)) if isinstance(data, dict) else parts


# -- functions made from the operators --------------------------------------------------------------------------------------

_submodules = {n: namespace(f"{__name__}.{n}", p) for n, p in functions.SUBMODULES.items()}
_submodules["op"] = OPERATORS
_submodules["_internal"] = INTERNAL
_submodules["sparse"] = namespace(f"{__name__}.sparse", "_sparse_", "hybrid.eager.sparse")
_submodules["contrib"] = namespace(f"{__name__}.contrib", "_contrib_", "hybrid.contrib.eager")


def _backward_gather_nd(
    data: NDArray, indices: NDArray, shape: Any, out: Any = None, name: str | None = None
) -> NDArray:
    """The sum of the parts of data that gather_nd reads from each place of an array of that shape."""
    like = zeros(shape, data.context, data.dtype)
    return invoke(lookup("_backward_gather_nd").bind(), [data, like, indices], out)


functions.put(OPERATORS, Custom)  # its inputs go by names that only its CustomOpProp knows
functions.put(INTERNAL, _backward_gather_nd)  # gradients have the operator with the array itself, not its shape
_DTYPE_MX_TO_NP = {-1: None, **{flag: onp.dtype(name).type for flag, name in enumerate(MXNET_DTYPES[:8])}}
_DTYPE_NP_TO_MX = {v: k for k, v in _DTYPE_MX_TO_NP.items()}
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}
_STORAGE_TYPE_UNDEFINED, _STORAGE_TYPE_DEFAULT, _STORAGE_TYPE_ROW_SPARSE, _STORAGE_TYPE_CSR = -1, 0, 1, 2
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_STORAGE_TYPE_ID_TO_STR = {v: k for k, v in _STORAGE_TYPE_STR_TO_ID.items()}


def __getattr__(name: str) -> Any:
    if name in ("ndarray", "utils"):  # modules of MXNet with parts of what is here
        return sys.modules[__name__]
    if name.startswith("gen_"):
        return _submodules[name.removeprefix("gen_")]
    if name == "__all__":  # asked for by "from mxnet.ndarray import *"
        return functions.starred(globals(), OPERATORS, "CachedOp")
    if name == "CachedOp":
        from .eager.cached_op import CachedOp

        return CachedOp
    if name in _submodules:
        return _submodules[name]
    if name == "random":
        from .sampling import ARRAYS

        return ARRAYS.random
    if name in ("np", "npx", "numpy", "numpy_extension"):
        from .np_functions import side

        return side.NP if name in ("np", "numpy") else side.NPX
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = getattr(_submodules["_internal"] if name.startswith("_") else OPERATORS, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = found  # coming here takes as long as half a call
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_submodules, *OPERATORS.names()})
