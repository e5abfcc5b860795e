"""Forms of ONNX's operators before opset 13, made of what translations ask for, which is the newest form.

    @before(10, "Slice")
    def slice_by_attributes(b, op_type, x, starts, ends, axes=None, steps=None):
        ...
        return b.plain("Slice", x, starts=..., ends=..., axes=...)

``b.Slice(x, starts, ends)`` comes here where the builder's opset lies before 10; of several forms of an operator the one of the
least opset above the builder's is taken. ``b.plain`` writes a node as it is told. A constant operand becomes an
attribute; what is computed where the older form has attributes, and what no older operators amount to, raises Unsupported with the
opset that has it. Numbers are those of the newest form, NaN and infinities too, or it is not written.

Attributes, inputs and dtypes that a schema lacks need no entry: ``fitting`` and the builder go by the schemas.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known

from .error import Unsupported
from .onnx_types import code_of
from .schemas import schema_of
from .value import Value

MODERN = 13
"""The opset from which all operators have the forms that translations ask for, or say themselves what they do before."""

Form = Callable[..., Any]
_FORMS: dict[str, dict[int, Form]] = {}


def before(opset: int, *names: str) -> Callable[[Form], Form]:
    """Register the form of operators before an opset: ``form(b, op_type, *inputs, **attributes)`` with the inputs that are asked
    for (Values, numbers, None) and the attributes, ``outputs`` among these where there are several."""

    def register(form: Form) -> Form:
        for name in names:
            _FORMS.setdefault(name, {})[opset] = form
        return form

    return register


def form_of(op_type: str, opset: int) -> Form | None:
    """The form of an operator at an opset; None where it is the newest."""
    limits = [limit for limit in _FORMS.get(op_type, ()) if limit > opset]
    return _FORMS[op_type][min(limits)] if limits else None


def wanting(opset: int, what: str, needed: int | None) -> Unsupported:
    """The refusal of what an opset has no form for: ``what`` is a noun, ``needed`` the first opset that has it."""
    return Unsupported(f"{what}: no form at opset {opset}" + (f", needs opset {needed}" if needed else ""), needed)


# -- what schemas say ---------------------------------------------------------------------------------------------------


def _first(op_type: str, opset: int, told: Callable[[Any], bool]) -> int | None:
    """The first opset above ``opset`` whose schema of an operator is told to do; None where there is none."""
    newest = onnx.defs.onnx_opset_version()
    found = ((v, schema_of(op_type, v)) for v in range(opset + 1, newest + 1))
    return next((v for v, schema in found if schema is not None and told(schema)), None)


def undefined(op_type: str, opset: int) -> Unsupported:
    """The refusal of an operator that came later, or that there is none of."""
    came = _first(op_type, opset, bool)
    return Unsupported(f"ONNX defines no {op_type} at opset {opset}" + (f", needs opset {came}" if came else ""), came)


def attributes_at(
    op_type: str, opset: int, attrs: dict[str, Any], inputs: int, outputs: int, domain: str = ""
) -> dict[str, Any]:
    """The attributes that an opset's schema has; others may have their defaults alone. Raises Unsupported otherwise, and for more
    inputs or outputs than it has."""
    schema = schema_of(op_type, opset, domain)
    for count, most, what in ((inputs, "max_input", "inputs"), (outputs, "max_output", "outputs")):
        if count > getattr(schema, most):
            needed = _first(op_type, opset, lambda s, n=count, m=most: n <= getattr(s, m))
            raise wanting(opset, f"{op_type} with {count} {what}", needed)
    beyond = [name for name in attrs if name not in schema.attributes]
    if not beyond:
        return attrs
    newest = onnx.defs.get_schema(op_type, domain)
    for name in beyond:
        known = newest.attributes.get(name)
        default = (
            helper.get_attribute_value(known.default_value) if known is not None and known.default_value.name else None
        )
        value = attrs[name].encode() if isinstance(attrs[name], str) else attrs[name]
        ones = isinstance(value, list | tuple) and all(v == 1 for v in value)
        if value != default and not (name == "dilations" and ones):
            needed = None if domain else _first(op_type, opset, lambda s, n=name: n in s.attributes)
            shown = f" = {attrs[name]!r}" if isinstance(attrs[name], int | float | str) else ""
            raise wanting(opset, f"{op_type} with {name}{shown}", needed)
    return {k: v for k, v in attrs.items() if k not in beyond}


_SPELT = {"float": "float32", "double": "float64", "string": "object"}


@functools.cache
def allowed(op_type: str, opset: int, variable: str) -> frozenset[str] | None:
    """Names of the dtypes that an opset's schema allows for a type variable, as NumPy calls them; None where it has no such."""
    for constraint in schema_of(op_type, opset).type_constraints:
        if constraint.type_param_str == variable:
            names = (t[7:-1] for t in constraint.allowed_type_strs if t.startswith("tensor("))
            return frozenset(_SPELT.get(n) or n for n in names)
    return None


_EXACT = {
    "bool": ("uint8", "int32", "int64", "float32"),
    "uint8": ("int32", "int64", "float32"),
    "int8": ("int32", "int64", "float32"),
    "uint16": ("int32", "int64", "float32"),
    "int16": ("int32", "int64", "float32"),
    "int32": ("int64", "float64"),
    "uint32": ("int64", "float64"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
}
"""Dtypes that hold every value of one."""


def fitting(op_type: str, opset: int, variable: str, dtype: np.dtype) -> np.dtype | None:
    """The dtype to cast an operand to where an opset's schema does not allow its own, and one to come does; None where it does, or
    none to come.

    Raises Unsupported where no dtype that it allows holds every value."""
    names = allowed(op_type, opset, variable)
    if names is None or dtype.name in names:
        return None
    needed = allowing(op_type, opset, variable, dtype)
    for wider in _EXACT.get(dtype.name, ()):
        if wider in names and (needed or opset < MODERN):
            return np.dtype(wider)
    if needed is None and opset >= MODERN:
        return None
    raise wanting(opset, f"{op_type} of {dtype.name}", needed)


@functools.cache
def allowing(op_type: str, opset: int, variable: str, dtype: np.dtype) -> int | None:
    """The first opset after one whose schema allows a dtype for a type variable."""
    return _first(op_type, opset, lambda s: dtype.name in (allowed(op_type, s.since_version, variable) or ()))


@functools.cache
def allowing_later(op_type: str, opset: int, variable: str, dtype: np.dtype) -> int | None:
    """The first opset that allows a dtype for a type variable, where this one does not; None where it does, or none will."""
    names = allowed(op_type, opset, variable)
    return None if names is None or dtype.name in names else allowing(op_type, opset, variable, dtype)


# -- what is known of operands ------------------------------------------------------------------------------------------


def constant(x: Any) -> np.ndarray | None:
    """The array that an operand is, where it is known; None where it is computed or left out."""
    if x is None:
        return None
    return x.const if isinstance(x, Value) else np.asarray(x)


def _numbers(b: Any, op_type: str, x: Any, name: str, needed: int) -> list[Any] | None:
    """An operand as the attribute that it was; None where it is left out. Raises Unsupported where it is computed."""
    if x is None:
        return None
    array = constant(x)
    if array is None:
        raise wanting(b.opset, f"{op_type} with computed {name}", needed)
    return np.ravel(array).tolist()


def shape(b: Any, x: Any) -> MaybeShape:
    """The shape of a Value as far as it is known when converting: of what translations make in between, as onnx infers it."""
    if x.shape is not None:
        return x.shape
    if x.const is not None:
        return x.const.shape
    made = b.makers.get(x.name)
    if made is None:
        return None
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, TensorProto] = {}
    for name in filter(None, made.inputs):
        value = b.values[name]
        if value.dtype is None:
            return None
        dims = shape(b, value)
        known = None if dims is None else [None if d is UNKNOWN else d for d in dims]
        types[name] = helper.make_tensor_type_proto(code_of(value.dtype), known)
        if value.const is not None and value.const.size <= 64:
            data[name] = onnx.numpy_helper.from_array(value.const, name)
    schema = schema_of(made.op_type, b.opset)
    try:
        found = onnx.shape_inference.infer_node_outputs(
            schema, made.proto(), types, data, opset_imports=[helper.make_opsetid("", b.opset)]
        )
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError):
        return None
    tensor = found[x.name].tensor_type if x.name in found else None
    if tensor is None or not tensor.HasField("shape"):
        return None
    x.shape = tuple(d.dim_value if d.HasField("dim_value") else UNKNOWN for d in tensor.shape.dim)
    return x.shape


def _rank(b: Any, op_type: str, x: Any, needed: int = 11) -> int:
    known = shape(b, x)
    if known is None:
        raise wanting(b.opset, f"{op_type} of a tensor whose rank is not known", needed)
    return len(known)


def _static(b: Any, op_type: str, x: Any, needed: int) -> tuple[int, ...]:
    """The shape of an operand. Raises Unsupported where a size is only known at run time."""
    known = shape(b, x)
    if not is_known(known):
        raise wanting(b.opset, f"{op_type} of sizes that are only known at run time", needed)
    return known


def _whole(dtype: np.dtype | None) -> bool:
    return dtype is not None and dtype.kind in "iub"


def _value(b: Any, x: Any, sibling: Any) -> Any:
    """The bounds of Slice as attributes, by steps of one."""
    """An operand as a Value, a number in its sibling's dtype."""
    return x if isinstance(x, Value) else b.const(x, sibling.dtype)


def _two(b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of one dtype as Values."""
    return (_value(b, x, y), _value(b, y, x))


# -- axes ---------------------------------------------------------------------------------------------------------------

_COUNTED = frozenset(
    name
    for names in (
        "ArgMax ArgMin Concat Flatten Hardmax LogSoftmax Softmax Split Squeeze TopK Unsqueeze ReduceL1 ReduceL2 ReduceLogSum",
        "ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
    )
    for name in names.split()
)
"""Operators whose axes count from the front alone before opset 11."""


def front_axes(b: Any, op_type: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes with axes counted from the front, where an operator has no others before opset 11."""
    if b.opset >= 11 or op_type not in _COUNTED:
        return attrs
    changed = dict(attrs)
    for name in ("axis", "axes"):
        given = attrs.get(name)
        axes = [given] if isinstance(given, int) else list(given or ())
        if any(a < 0 for a in axes):
            rank = max(_rank(b, op_type, x) for x in inputs[:1]) + (len(axes) if op_type == "Unsqueeze" else 0)
            axes = [a % rank for a in axes]
            changed[name] = axes[0] if isinstance(given, int) else axes
    return changed


@before(13, "Squeeze", "Unsqueeze")
def axes_by_attribute(b: Any, op_type: str, x: Any, axes: Any = None) -> Any:
    """The axes of Squeeze and Unsqueeze as an attribute, in order."""
    found = _numbers(b, op_type, axes, "axes", 13)
    attrs = front_axes(b, op_type, [x], {"axes": found})
    return b.plain(op_type, x, axes=attrs["axes"] and sorted(attrs["axes"]))


@before(13, "ReduceSum")
def sum_over_axes(
    b: Any, op_type: str, x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0, **given: Any
) -> Any:
    """The axes of ReduceSum as an attribute."""
    found = given.get("axes", _numbers(b, op_type, axes, "axes", 13))
    if not found and noop_with_empty_axes:
        return b.plain("Identity", x)
    return b.plain(op_type, x, axes=found or None, keepdims=keepdims)


@before(13, "Split")
def split_by_attribute(b: Any, op_type: str, x: Any, sizes: Any = None, **attrs: Any) -> Any:
    """The sizes of Split's parts as an attribute."""
    return b.plain(op_type, x, split=_numbers(b, op_type, sizes, "sizes", 13), **attrs)


@before(13, "Softmax", "LogSoftmax", "Hardmax")
def along_last_axis(b: Any, op_type: str, x: Any, *, axis: int = -1) -> Any:
    """These took all axes from one on together, which is one axis where it is the last."""
    rank = _rank(b, op_type, x, 13)
    axis %= rank
    if axis == rank - 1:
        return b.plain(op_type, x, axis=axis)
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return b.transpose(b.plain(op_type, b.transpose(x, perm), axis=rank - 1), perm)


@before(9, "Flatten")
def flat(b: Any, op_type: str, x: Any, *, axis: int = 1) -> Any:
    """Of floats alone before opset 9."""
    if x.dtype is None or x.dtype.kind == "f":
        return b.plain(op_type, x, axis=axis)
    sizes = shape(b, x)
    if axis == 1 and (sizes is None or not any(d == 0 for d in sizes if d is not UNKNOWN)):
        return b.plain("Reshape", x, [0, -1])
    known = _static(b, op_type, x, 9)
    rest = int(np.prod(known[axis:], dtype=np.int64))
    return b.plain("Reshape", x, [int(np.prod(known[:axis], dtype=np.int64)), rest])


# -- attributes in the place of inputs ------------------------------------------------------------------------------------


@before(12, "Clip")
def clip_whole_numbers(b: Any, op_type: str, x: Any, low: Any = None, high: Any = None) -> Any:
    """Clip is of floats alone before opset 12, with bounds as attributes before 11; float64 has kernels for Max and Min."""
    if not _whole(x.dtype) and x.dtype != np.float64:
        if b.opset >= 11:
            return b.plain(op_type, x, low, high)
        bounds = {"min": constant(low), "max": constant(high)}
        given = {"min": low, "max": high}
        if all(bounds[name] is not None for name in given if given[name] is not None):
            return b.plain(op_type, x, **{k: float(v.reshape(())) for k, v in bounds.items() if v is not None})
    for bound, kind in ((low, "Max"), (high, "Min")):
        if bound is not None:
            x = b.node(kind, x, _value(b, bound, x))
    return x


@before(11, "Pad")
def pad_by_attributes(
    b: Any, op_type: str, x: Any, pads: Any, value: Any = None, axes: Any = None, *, mode: str = "constant"
) -> Any:
    """The pads of Pad, and the number that fills them, as attributes."""
    filled = 0.0 if value is None else constant(value)
    if filled is None:
        raise wanting(b.opset, "Pad with a computed value", 11)
    filled = float(np.reshape(filled, ()))
    return b.plain(op_type, x, pads=_numbers(b, op_type, pads, "pads", 11), mode=mode, value=filled)


@before(10, "Slice")
def slice_by_attributes(
    b: Any, op_type: str, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None
) -> Any:
    """The bounds of Slice as attributes, by steps of one."""
    first, last = (_numbers(b, op_type, v, n, 10) for v, n in ((starts, "starts"), (ends, "ends")))
    assert first is not None and last is not None
    along = _numbers(b, op_type, axes, "axes", 10) or list(range(len(first)))
    strides = _numbers(b, op_type, steps, "steps", 10) or [1] * len(first)
    if any(a < 0 for a in along):
        along = [a % _rank(b, op_type, x, 10) for a in along]
    plain = [i for i, step in enumerate(strides) if step == 1]
    if plain:
        starts, ends = [first[i] for i in plain], [last[i] for i in plain]
        if b.opset < 10 and any(abs(v) >= 2**31 for v in (*starts, *ends)):
            starts, ends = ([max(min(v, 2**31 - 1), 1 - 2**31) for v in part] for part in (starts, ends))
        sliced = b.plain(op_type, x, starts=starts, ends=ends, axes=[along[i] for i in plain])
    else:
        sliced = x
    if len(plain) < len(strides):
        sizes = shape(b, x)
        for i in (i for i in range(len(strides)) if i not in plain):
            size = UNKNOWN if sizes is None else sizes[along[i]]
            if size is UNKNOWN:
                raise wanting(b.opset, f"Slice with a step of {strides[i]} along an axis of unknown size", 10)
            chosen = np.arange(int(size))[slice(*_bounds(first[i], last[i], strides[i]))]
            sliced = b.plain("Gather", sliced, chosen, axis=along[i])
    return sliced


def _bounds(start: int, end: int, step: int) -> tuple[int, int | None, int]:
    """Those of a slice of Python: an end far below zero is none."""
    return start, None if step < 0 and end <= -(2**31) + 1 else end, step


@before(11, "TopK")
def top_of_all(
    b: Any, op_type: str, x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1, outputs: int = 2
) -> Any:
    """The largest alone, of floats."""
    del sorted
    if not _whole(x.dtype):
        given = x if largest else b.node("Neg", x)
    elif x.dtype.itemsize < 8:  # no whole number is lost, and the least has a negative
        given = b.cast(x, np.float64)
        given = given if largest else b.node("Neg", given)
    else:
        raise wanting(b.opset, f"TopK of {x.dtype.name}", 11)
    if b.opset < 10:
        numbers = _numbers(b, op_type, k, "k", 10)
        assert numbers is not None
        found = b.plain(op_type, given, k=numbers[0], axis=axis, outputs=outputs)
    else:
        found = b.plain(op_type, given, k, axis=axis, outputs=outputs)
    tops = found[0] if largest else b.node("Neg", found[0])
    return (b.cast(tops, x.dtype) if x.dtype is not None else tops, found[1])


@before(11, "Gemm")
def with_summand(b: Any, op_type: str, x: Any, y: Any, c: Any = None, **attrs: Any) -> Any:
    """The summand has to be there before opset 11; some engines want one number for each column."""
    known = shape(b, y)
    columns = known[0 if attrs.get("transB") else 1] if known is not None else UNKNOWN
    zeros = np.zeros(1 if columns is UNKNOWN else columns, x.dtype)
    return b.plain(op_type, x, y, zeros if c is None else c, **attrs)


@before(13, "Resize")
def resize_with_region(
    b: Any, op_type: str, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, **attrs: Any
) -> Any:
    """Resize of opset 11 wants all inputs; that of opset 10, and Upsample, know one way to place pixels."""
    if b.opset >= 11:
        none = np.zeros(0, np.float32)
        return b.plain(op_type, x, none if roi is None else roi, none if scales is None else scales, sizes, **attrs)
    mode = attrs.pop("mode", "nearest")
    placed = attrs.pop("coordinate_transformation_mode", "half_pixel")
    rounded = attrs.pop("nearest_mode", "round_prefer_floor") if mode == "nearest" else "floor"
    if roi is not None or sizes is not None or placed != "asymmetric" or rounded != "floor" or mode == "cubic" or attrs:
        raise wanting(b.opset, f"Resize of mode {mode}, {placed}" + (" to sizes" if sizes is not None else ""), 11)
    if b.opset == 10:
        return b.plain(op_type, x, scales, mode=mode)
    if b.opset == 9:
        return b.plain("Upsample", x, scales, mode=mode)
    return b.plain("Upsample", x, scales=_numbers(b, "Upsample", scales, "scales", 9), mode=mode)


@before(11, "ScatterElements")
def scatter(b: Any, op_type: str, x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none") -> Any:
    """Scatter, as it was called from opset 9 on."""
    if reduction != "none":
        raise wanting(b.opset, f"{op_type} with reduction = {reduction!r}", 16)
    if b.opset < 9:
        raise undefined(op_type, b.opset)
    return b.plain("Scatter", x, _from_front(b, indices, _static(b, op_type, x, 11)[axis]), updates, axis=axis)


@before(11, "DepthToSpace")
def depth_to_space(b: Any, op_type: str, x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    """Columns before rows came with opset 11."""
    if mode == "DCR":
        return b.plain(op_type, x, blocksize=blocksize)
    n, c, h, w = _static(b, op_type, x, 11)
    deep = c // blocksize**2
    parts = b.transpose(b.reshape(x, [n, deep, blocksize, blocksize, h, w]), (0, 1, 4, 2, 5, 3))
    return b.reshape(parts, [n, deep, h * blocksize, w * blocksize])


# -- comparing ----------------------------------------------------------------------------------------------------------


def _no_nan(b: Any, *values: Any) -> Iterator[Any]:
    """Truths that none of the values is NaN, of those that can be."""
    for x in values:
        if not _whole(x.dtype) and (x.const is None or np.isnan(x.const).any()):
            yield b.node("Not", b.node("IsNaN", x))


@before(9, "IsNaN")
def neither_above_nor_below(b: Any, op_type: str, x: Any) -> Any:
    """A number is less than 1 or greater than 0."""
    return b.node("Not", b.node("Or", b.node("Less", x, 1), b.node("Greater", x, 0)))


@before(10, "IsInf")
def beyond_the_last(b: Any, op_type: str, x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    """Beyond the largest number there is."""
    x = b.wide(x)
    last = float(np.finfo(x.dtype).max)
    high, low = b.node("Greater", x, last), b.node("Less", x, -last)
    if detect_negative and detect_positive:
        return b.node("Or", high, low)
    return low if detect_negative else high


@before(11, "Equal")
def neither_less_nor_greater(b: Any, op_type: str, x: Any, y: Any) -> Any:
    """Equal is of bools, int32 and int64 before opset 11."""
    x, y = _two(b, x, y)
    if x.dtype is None or x.dtype.kind != "f":
        return b.plain(op_type, x, y)
    same = b.node("Not", b.node("Or", b.node("Less", x, y), b.node("Greater", x, y)))
    return functools.reduce(lambda a, c: b.node("And", a, c), _no_nan(b, x, y), same)


@before(12, "GreaterOrEqual", "LessOrEqual")
def or_equal(b: Any, op_type: str, x: Any, y: Any) -> Any:
    """Not the contrary, where both are numbers."""
    x, y = _two(b, x, y)
    contrary = b.node("Less" if op_type == "GreaterOrEqual" else "Greater", x, y)
    return functools.reduce(lambda a, c: b.node("And", a, c), _no_nan(b, x, y), b.node("Not", contrary))


@before(9, "Where")
def choose(b: Any, op_type: str, condition: Any, x: Any, y: Any) -> Any:
    """Bools by logic and whole numbers by products; floats may be infinite, and infinity times 0 is NaN."""
    x, y = _two(b, x, y)
    if x.dtype == np.bool_:
        return b.node("Or", b.node("And", condition, x), b.node("And", b.node("Not", condition), y))
    if not _whole(x.dtype):
        raise undefined(op_type, b.opset)
    taken = b.cast(condition, x.dtype)
    left = b.cast(b.node("Not", condition), x.dtype)
    return b.node("Add", b.node("Mul", taken, x), b.node("Mul", left, y))


@before(12, "Max", "Min")
def greater_of_two(b: Any, op_type: str, *inputs: Any) -> Any:
    """Of floats alone before opset 12, and of one shape before 8."""
    first = next(x for x in inputs if isinstance(x, Value))
    values = [_value(b, x, first) for x in inputs]
    whole = _whole(first.dtype)
    if b.opset >= 8 and not whole:
        return b.plain(op_type, *values)
    if b.opset < 8 and not whole:
        sizes = {shape(b, x) for x in values if x.const is None or x.const.size != 1}
        known = next(iter(sizes), None)
        if len(sizes) != 1 or not is_known(known):
            if (
                len(values) == 2
                and values[1].const is not None
                and values[1].const.size == 1
                and first.dtype != np.float64
            ):
                bound = "min" if op_type == "Max" else "max"
                return b.plain("Clip", values[0], **{bound: float(values[1].const.reshape(()))})
            raise wanting(b.opset, f"{op_type} of tensors that broadcast", 8)
        return b.plain(
            op_type, *(x if shape(b, x) == known else b.const(np.broadcast_to(x.const, known)) for x in values)
        )
    compared = "Less" if op_type == "Max" else "Greater"
    return functools.reduce(lambda x, y: b.node("Where", b.node(compared, x, y), y, x), values)


@before(8, "Sum")
def add_up(b: Any, op_type: str, *inputs: Any) -> Any:
    """Sum does not broadcast before opset 8."""
    return functools.reduce(lambda x, y: b.node("Add", x, y), inputs)


# -- rounding and counting ------------------------------------------------------------------------------------------------


@before(11, "Round")
def to_even(b: Any, op_type: str, x: Any) -> Any:
    """The whole number below, and one more from the middle on, in the middle itself where that one is odd."""
    below = b.node("Floor", x)
    rest = b.node("Sub", x, below)
    odd = b.node("Sub", below, b.node("Mul", b.node("Floor", b.node("Mul", below, 0.5)), 2))
    middle = b.node("And", b.node("Not", b.node("Less", rest, 0.5)), b.node("Greater", odd, 0.5))
    up = b.node("Or", b.node("Greater", rest, 0.5), middle)
    return b.node("Add", below, b.cast(up, x.dtype))


@before(9, "Sign")
def sign_of(b: Any, op_type: str, x: Any) -> Any:
    """Sign as (x > 0) - (x < 0)."""
    return b.node("Sub", b.cast(b.node("Greater", x, 0), x.dtype), b.cast(b.node("Less", x, 0), x.dtype))


@before(10, "Mod")
def remainder(b: Any, op_type: str, x: Any, y: Any, *, fmod: int = 0) -> Any:
    """Of whole numbers: what is left of the quotient that is cut off, brought to the divisor's sign."""
    x, y = _two(b, x, y)
    if fmod or not _whole(x.dtype):
        raise undefined(op_type, b.opset)
    left = b.node("Sub", x, b.node("Mul", b.node("Div", x, y), y))
    if x.dtype.kind == "u":
        return left
    low, negative = b.node("Less", left, 0), b.node("Less", y, 0)
    other = b.node("And", b.node("Xor", low, negative), b.node("Not", b.node("Equal", left, 0)))
    return b.node("Where", other, b.node("Add", left, y), left)


@before(11, "Range")
def counted(b: Any, op_type: str, start: Any, limit: Any, step: Any) -> Any:
    """Constants, or the places of as many ones."""
    known = [constant(v) for v in (start, limit, step)]
    if all(v is not None for v in known):
        first = next((v for v in (start, limit, step) if isinstance(v, Value)), None)
        dtype = np.dtype(np.int64) if first is None else first.dtype
        begin, end, by = (v.item() for v in known if v is not None)
        return b.const(np.arange(begin, end, by, dtype=dtype))
    if known[0] is None or known[2] is None or known[0] != 0 or known[2] != 1 or b.opset < 9 or not _whole(limit.dtype):
        raise undefined(op_type, b.opset)
    count = b.reshape(b.cast(limit, np.int64), [1])
    ones = b.plain("ConstantOfShape", count, value=onnx.numpy_helper.from_array(np.ones(1, np.int64)), dtype=np.int64)
    return b.cast(b.plain("Squeeze", b.plain("NonZero", ones), axes=[0]), limit.dtype)


@before(8, "Expand")
def tiled(b: Any, op_type: str, x: Any, dims: Any) -> Any:
    """Expand as Tile, of what has the wanted rank."""
    wanted = constant(dims)
    if wanted is None:
        raise undefined(op_type, b.opset)
    given = _static(b, op_type, x, 8)
    target = np.broadcast_shapes(given, tuple(np.ravel(wanted).tolist()))
    given = (1,) * (len(target) - len(given)) + given
    repeats = [n if own == 1 else 1 for n, own in zip(target, given)]
    return b.plain("Tile", b.reshape(x, list(given)), repeats) if target else x


@before(11, "CumSum")
def sums_so_far(b: Any, op_type: str, x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    """CumSum as a product with a triangle of ones."""
    along = constant(axis)
    if along is None:
        raise undefined(op_type, b.opset)
    sizes = _static(b, op_type, x, 11)
    at = int(along.reshape(())) % len(sizes)
    ones = np.triu(np.ones((sizes[at], sizes[at])), 1 if exclusive else 0)
    perm = [*(a for a in range(len(sizes)) if a != at), at]
    summed = b.node("MatMul", b.transpose(x, perm), b.const((ones.T if reverse else ones).astype(x.dtype)))
    return b.transpose(summed, np.argsort(perm).tolist())


# -- gathering ------------------------------------------------------------------------------------------------------------


def _from_front(b: Any, indices: Any, size: int) -> Any:
    """Indices along an axis of that size, those that count from its end from its beginning."""
    if indices.const is not None:
        return b.const(np.where(indices.const < 0, indices.const + size, indices.const).astype(indices.dtype))
    behind = b.cast(b.node("Less", indices, 0), indices.dtype)
    return b.node("Add", indices, b.node("Mul", behind, size))


def _strides(sizes: Sequence[int]) -> np.ndarray:
    """Number of elements that a step along each axis passes."""
    return np.append(np.cumprod(sizes[:0:-1], dtype=np.int64)[::-1], 1) if sizes else np.zeros(0, np.int64)


def _index(b: Any, x: Any) -> Any:
    return b.cast(_value(b, x, b.const(0)), np.int64)


@before(11, "GatherElements")
def gather_flat(b: Any, op_type: str, x: Any, indices: Any, *, axis: int = 0) -> Any:
    """A Gather from all elements in a row."""
    indices = _index(b, indices)
    sizes, chosen = _static(b, op_type, x, 11), _static(b, op_type, indices, 11)
    axis %= len(sizes)
    steps = _strides(sizes)
    grid = np.indices(chosen, dtype=np.int64)
    base = sum((grid[a] * steps[a] for a in range(len(sizes)) if a != axis), np.zeros(chosen, np.int64))
    places = b.node("Add", b.node("Mul", _from_front(b, indices, sizes[axis]), int(steps[axis])), b.const(base))
    return b.node("Gather", b.reshape(x, [-1]), places, axis=0)


def _places(b: Any, op_type: str, sizes: Sequence[int], indices: Any, batch: int = 0) -> tuple[Any, int, int]:
    """Places of the slices that rows of indices name, with the axes before ``batch`` counted along; number of axes that
    are named, elements of a slice."""
    chosen = _static(b, op_type, indices, 12 if batch else 11)
    depth = chosen[-1]
    named = sizes[batch : batch + depth]
    steps = _strides([*named]) if depth else np.zeros(0, np.int64)
    parts = [_from_front(b, b.node("Gather", indices, a, axis=len(chosen) - 1), n) for a, n in enumerate(named)]
    places = functools.reduce(
        lambda x, y: b.node("Add", x, y), [b.node("Mul", p, int(s)) for p, s in zip(parts, steps)]
    )
    if batch:
        size = int(np.prod(named, dtype=np.int64))
        first = np.arange(int(np.prod(chosen[:batch], dtype=np.int64))).reshape(chosen[:batch]) * size
        places = b.node("Add", places, b.const(first.reshape(*chosen[:batch], *(1,) * (len(chosen) - 1 - batch))))
    return places, depth, int(np.prod(sizes[batch + depth :], dtype=np.int64))


@before(12, "GatherND")
def gather_slices(b: Any, op_type: str, x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    """A Gather from all slices in a row."""
    if b.opset == 11 and not batch_dims:
        return b.plain(op_type, x, indices)
    indices = _index(b, indices)
    sizes = _static(b, op_type, x, 12 if batch_dims else 11)
    places, depth, _ = _places(b, op_type, sizes, indices, batch_dims)
    return b.node("Gather", b.reshape(x, [-1, *sizes[batch_dims + depth :]]), places, axis=0)


@before(11, "ScatterND")
def scatter_flat(b: Any, op_type: str, x: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    """A Scatter over all elements in a row."""
    if reduction != "none":
        raise wanting(b.opset, f"{op_type} with reduction = {reduction!r}", 16)
    if b.opset < 9:
        raise undefined(op_type, b.opset)
    indices = _index(b, indices)
    sizes = _static(b, op_type, x, 11)
    places, _, width = _places(b, op_type, sizes, indices)
    every = b.node("Add", b.node("Mul", b.reshape(places, [-1, 1]), width), b.const(np.arange(width)))
    done = b.plain("Scatter", b.reshape(x, [-1]), b.reshape(every, [-1]), b.reshape(updates, [-1]), axis=0)
    return b.reshape(done, list(sizes))
