"""Builds the nodes of an ONNX graph: ``b.Clip(x, 0.0, 6.0)`` appends a node and gives its output as a Value.

The builder reads onnx's own operator schemas, so that translations need not say what follows from them: the dtype of each
result; the dtype of Python numbers (that of the sibling operand, so no float64 constant in a float32 graph); and, by the
kernel table, casts around operators that onnxruntime has no kernel for in the dtype at hand.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from hybrid.core.attrs import DTypeKind, Kind, Optional
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN
from hybrid.ir.graph import Node
from hybrid.ir.infer import Inference

from . import older, ort_kernels
from .error import Unsupported
from .forms import PLAIN, Forms
from .names import Names
from .onnx_types import code_of, dtype_of
from .registry import ML, MS, TRAINING
from .schemas import schema_of
from .value import Value

Number = bool | int | float


class OnnxNode(NamedTuple):
    """A node to be: protobuf objects are made once at the end."""

    op_type: str
    inputs: tuple[str, ...]
    outputs: list[str]
    attrs: dict[str, Any]
    owner: list[str]  # [name]; filled in when the MXNet node it came from is done
    domain: str = ""

    def reads(self) -> Iterator[str]:
        """Names of all tensors read, by the nodes of subgraphs too."""
        yield from self.inputs
        yield from self.reads_inside()

    def reads_inside(self) -> Iterator[str]:
        """Names of all tensors that the nodes of subgraphs read."""
        for body in self.attrs.values():
            if isinstance(body, onnx.GraphProto):
                yield from _reads(body)

    def proto(self) -> onnx.NodeProto:
        empty = [k for k, v in self.attrs.items() if isinstance(v, list | tuple) and not v]  # of no type that shows
        made = helper.make_node(
            self.op_type,
            self.inputs,
            self.outputs,
            name=self.owner[0] or None,
            domain=self.domain or None,
            **{k: v for k, v in self.attrs.items() if k not in empty},
        )
        made.attribute.extend(helper.make_attribute(k, [], attr_type=onnx.AttributeProto.INTS) for k in empty)
        return made


def _reads(body: onnx.GraphProto) -> Iterator[str]:
    for node in body.node:
        yield from node.input
        for inner in (a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH):
            yield from _reads(inner)


class Signature(NamedTuple):
    """The part of an onnx.defs.OpSchema that the builder needs."""

    version: int
    inputs: tuple[tuple[str, bool], ...]  # type variable or concrete type, variadic
    outputs: tuple[tuple[str, bool], ...]
    heterogeneous: bool


# opsets of the other standard domains that are written: each with the newest that came no later than the model's opset
DOMAINS = {ML: {10: 2, 15: 3, 20: 4, 22: 5}, TRAINING: {13: 1}, MS: {13: 1}}


def domain_opset(domain: str, opset: int) -> int:
    """The version of a domain that goes with an opset of the standard's own."""
    if not domain:
        return opset
    return max((v for since, v in DOMAINS.get(domain, {}).items() if since <= opset), default=1)


@functools.cache
def signature_of(op_type: str, opset: int, domain: str = "") -> Signature:
    """The operator's schema at an opset of its domain. Raises Unsupported when ONNX does not define it there."""
    found = schema_of(op_type, domain_opset(domain, opset), domain)
    if found is None:
        raise (
            Unsupported(f"ONNX defines no {op_type} at opset {opset} of {domain}")
            if domain
            else older.undefined(op_type, opset)
        )
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic

    single = {c.type_param_str: c.allowed_type_strs[0] for c in found.type_constraints if len(c.allowed_type_strs) == 1}

    def formal(parameters: Any) -> tuple[tuple[str, bool], ...]:
        return tuple((str(single.get(p.type_str, p.type_str)), p.option == variadic) for p in parameters)

    mixed = any(p.option == variadic and not p.is_homogeneous for p in found.inputs)
    return Signature(found.since_version, formal(found.inputs), formal(found.outputs), mixed)


_AS_GIVEN = ("Cast", "SplitToSequence")
"""Operators whose operands are not cast to a dtype that there is a kernel for: what a sequence holds could not be cast back."""

_FOREIGN = Signature(1, (), (), True)
"""Of an operator whose schema onnx does not have."""


def _attribute(value: Any, kind: Kind) -> Any:
    """Make the value that helper.make_node makes an attribute of the field's type from."""
    if isinstance(kind, Optional):
        kind = kind.kind
    if isinstance(kind, DTypeKind):
        return TensorProto.STRING if value == np.dtype(object) else code_of(value)
    if isinstance(value, np.ndarray):
        return onnx.numpy_helper.from_array(value)
    return int(value) if isinstance(value, bool) else list(value) if isinstance(value, tuple) else value


def _count_fields(op: Any) -> tuple[str, ...]:
    """Fields of a family operator that say how many inputs and outputs it has, and are no attributes in ONNX."""
    return ("given", "num_outputs", op.count)


def beyond_schema(domain: str, op_type: str, op: Any, opset: int) -> list[str]:
    """List what an operator of the family has that ONNX does not know at an opset: attributes that are not at their default,
    inputs, or the operator itself."""
    schema = schema_of(op_type, domain_opset(domain, opset), domain)
    if schema is None:
        return [op_type] if not domain else []
    beyond = [f"attribute {n}" for n in op.dump() if n not in schema.attributes and n not in _count_fields(op)]
    return beyond + [f"input {n}" for n in getattr(op, "given", ()) if op.inputs.index(n) >= schema.max_input]


def _formal(parameters: tuple[tuple[str, bool], ...], index: int) -> str:
    if index < len(parameters):
        return parameters[index][0]
    return parameters[-1][0] if parameters and parameters[-1][1] else ""


def _concrete(type_str: str) -> np.dtype | None:
    """The dtype of "tensor(int64)"; None for a type variable."""
    if not type_str.startswith("tensor("):
        return None
    name = type_str[7:-1]
    return np.dtype({"float": "float32", "double": "float64", "string": "object"}.get(name, name))


def _carried_dtypes(attrs: dict[str, Any], outputs: int) -> list[np.dtype | None] | None:
    """dtypes of what Scan, Loop and If give: those of the last outputs of their body; None for what is no tensor."""
    body = next((v for v in attrs.values() if isinstance(v, onnx.GraphProto)), None)
    if body is None:
        return None
    codes = [o.type.tensor_type.elem_type for o in body.output[-outputs:]]
    return [dtype_of(code) if code else None for code in codes]


class Builder:
    """The graph under construction, for one opset."""

    def __init__(self, opset: int, forms: Forms = PLAIN):
        self.opset, self.forms = opset, forms
        self.nodes: list[OnnxNode] = []
        self.initializers: dict[str, np.ndarray] = {}
        self.names = Names()
        self.tied: frozenset[str] = frozenset()
        """Stored tensors of which no copy is made in another layout."""
        self._constants: dict[Any, Value] = {}
        self._casts: dict[tuple[str, str], Value] = {}
        self._scope = ""
        self.results: Sequence[Spec] = ()
        self.wishes: list[tuple[list[str] | None, int]] = []
        """Opsets that have a better form of what is written, each with the outputs of the node, where that is one."""
        self.values: dict[str, Value] = {}
        """Values by name, and"""
        self.makers: dict[str, OnnxNode] = {}
        """nodes by output: before opset 13, where forms ask for the shapes of what is made in between (older)."""
        self.origin: tuple[Node, Inference] | None = None
        """The MXNet node being translated, and what is inferred of its graph, to look where an input comes from."""
        self.in_body = False
        """True for the builder of a subgraph, which reads tensors that the graph around it makes."""

    @property
    def scope(self) -> str:
        """The name of the MXNet node being translated."""
        return self._scope

    def since(self, opset: int) -> bool:
        """True where the opset being written has what came with one; else it is noted that that would say it better."""
        if self.opset < opset:
            self.wishes.append((None, opset))
        return self.opset >= opset

    # -- names --------------------------------------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        """The name, or the name with a number when it is taken."""
        return self.names.unique(name)

    def enter(self, node_name: str, results: Sequence[Spec] = ()) -> int:
        """Begin the translation of an MXNet node; gives the position from which its ONNX nodes start.

        results: what inference says of the node's outputs; translations find it as ``b.results``."""
        self._scope = node_name
        self.results = results
        self._casts.clear()
        return len(self.nodes)

    def leave(self, start: int, results: Sequence[Value], names: Sequence[str]) -> list[Value]:
        """End it: results made since ``start`` get the names that MXNet gives the node's outputs."""
        made = {name: node for node in self.nodes[start:] for name in node.outputs}
        renamed: dict[str, str] = {}
        for value, name in zip(results, names):
            if value.name in made and value.name not in renamed:
                renamed[value.name] = self.unique(name)
        for position in range(start, len(self.nodes)):
            node = self.nodes[position]
            node.outputs[:] = [renamed.get(n, n) for n in node.outputs]
            if any(n in renamed for n in node.inputs):
                self.nodes[position] = node._replace(inputs=tuple(renamed.get(n, n) for n in node.inputs))
        for node in self.nodes[start:]:
            final = any(n in renamed.values() for n in node.outputs)
            node.owner[0] = node.owner[0] or self.unique(self._scope if final else f"{self._scope}/{node.op_type}")
        return [Value(renamed.get(v.name, v.name), v.shape, v.dtype, v.const) for v in results]

    # -- values -------------------------------------------------------------------------------------------------------

    def const(self, value: Any, dtype: Any = None, name: str | None = None) -> Value:
        """A constant. Python numbers need a dtype unless they are integers, which become int64 (ONNX's axes and shapes).

        Raises Unsupported for a whole number that the dtype does not hold."""
        if dtype is not None and np.dtype(dtype).kind in "iu" and type(value) is int:
            bounds = np.iinfo(dtype)
            if not bounds.min <= value <= bounds.max:
                raise Unsupported(
                    f"needs {value} as {np.dtype(dtype).name}, which that cannot hold; cast to another dtype"
                )
        array = np.asarray(value, dtype)
        if dtype is None and not isinstance(value, np.ndarray | np.generic):
            if array.size and array.dtype.kind not in "iu":
                raise TypeError(f"a constant {value!r} needs a dtype")
            array = array.astype(np.int64)
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= 1024 and name is None else None
        if key is not None and key in self._constants:
            return self._constants[key]
        made = Value(self.unique(name or f"{self._scope or 'const'}/const"), array.shape, array.dtype, array)
        if key is not None:
            self._constants[key] = made
        return made

    def like(self, value: Any, sibling: Value, name: str | None = None) -> Value:
        """A constant of the sibling's dtype."""
        return self.const(value, sibling.dtype, name)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        if not op_type[:1].isupper():
            raise AttributeError(op_type)
        return functools.partial(self.node, op_type)

    def node(
        self, op_type: str, *inputs: Any, outputs: int = 1, dtype: Any = None, domain: str = "", **attrs: Any
    ) -> Any:
        """Append a node; gives its Value, or a tuple when ``outputs`` is more than one.

        Inputs are Values, None (an optional input left out), arrays, or Python numbers, whose dtype follows from the schema.
        dtype: that of the results where the schema leaves it to an attribute (other than Cast's ``to``); a number is ONNX's own
        code, and the attribute ``dtype`` itself. Before opset 13 the node, or those that amount to it, have the forms of that opset
        (older)."""
        form = older.form_of(op_type, self.opset) if self.opset < older.MODERN and not domain else None
        if form is None:
            return self.plain(op_type, *inputs, outputs=outputs, dtype=dtype, domain=domain, **attrs)
        given = {k: v for k, v in attrs.items() if v is not None}
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        return form(self, op_type, *inputs, **given, **({"outputs": outputs} if outputs > 1 else {}))

    def plain(
        self, op_type: str, *inputs: Any, outputs: int = 1, dtype: Any = None, domain: str = "", **attrs: Any
    ) -> Any:
        """As ``node``, in the form that is given, whatever the opset."""
        schema = _FOREIGN if domain == MS else signature_of(op_type, self.opset, domain)
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        variables = [_formal(schema.inputs, i) for i in range(len(inputs))]
        bound = {v: x.dtype for v, x in zip(variables, inputs) if isinstance(x, Value) and x.dtype is not None}
        values = [None if x is None else self._operand(x, v, bound) for x, v in zip(inputs, variables)]
        names = [self.unique(f"{self._scope}/{op_type}_output") for _ in range(outputs)]
        swapped: dict[str, np.dtype] = {}
        if not (schema.heterogeneous or domain):
            for variable, original in bound.items():
                if op_type in _AS_GIVEN:
                    if came := older.allowing_later(op_type, self.opset, variable, original):
                        raise older.wanting(self.opset, f"{op_type} of {original.name}", came)
                    continue
                other = self._substitute(op_type, schema, variable, original)
                if other is not None:
                    swapped[variable] = other
                    if better := ort_kernels.gaining(op_type, self.opset, variable, original, other):
                        self.wishes.append((names, better))
        values = [self.cast(x, swapped[v]) if x is not None and v in swapped else x for x, v in zip(values, variables)]
        for value in values:
            if value is not None and value.const is not None:
                self.initializers[value.name] = value.const
        if isinstance(dtype, int):
            attrs["dtype"], dtype = dtype, None
        clean = {k: v for k, v in attrs.items() if v is not None}
        if self.opset < older.MODERN and domain != MS:
            clean = older.front_axes(self, op_type, values, clean)
            at = domain_opset(domain, self.opset)
            clean = older.attributes_at(op_type, at, clean, len(values), outputs, domain)
        read = tuple("" if v is None else v.name for v in values)
        made_node = OnnxNode(op_type, read, names, clean, [""], domain)
        self.nodes.append(made_node)
        results = []
        carried = _carried_dtypes(clean, outputs)
        for index, name in enumerate(names):
            variable = _formal(schema.outputs, index)
            own = carried[index] if carried else _concrete(variable) or swapped.get(variable) or bound.get(variable)
            own = own or self._declared_dtype(clean, dtype)
            if own is not None and not domain and (came := older.allowing_later(op_type, self.opset, variable, own)):
                raise older.wanting(self.opset, f"{op_type} to {own.name}", came)
            made = Value(name, None, own)
            if self.opset < older.MODERN:
                self.values |= {v.name: v for v in (made, *values) if v is not None}
                self.makers[name] = made_node
            results.append(self.cast(made, bound[variable]) if variable in swapped else made)
        return results[0] if outputs == 1 else tuple(results)

    def _substitute(self, op_type: str, schema: Signature, variable: str, dtype: np.dtype) -> np.dtype | None:
        """The dtype to cast operands of a type variable to, so that the schema allows and onnxruntime computes it; None where that
        is theirs."""
        wider = older.fitting(op_type, self.opset, variable, dtype)
        other = ort_kernels.substitute(op_type, schema.version, variable, dtype if wider is None else wider)
        return wider if other is None else other

    def _declared_dtype(self, attrs: dict[str, Any], dtype: Any) -> np.dtype | None:
        if dtype is not None:
            return np.dtype(dtype)
        code = attrs.get("to", attrs.get("dtype"))
        if code is not None:
            return np.dtype(dtype_of(code))
        value = attrs.get("value")
        return dtype_of(value.data_type) if isinstance(value, TensorProto) else None

    def _operand(self, x: Any, variable: str, bound: dict[str, np.dtype]) -> Value:
        if isinstance(x, Value):
            return x
        if isinstance(x, np.ndarray | np.generic):
            made = self.const(x)
        else:
            dtype = _concrete(variable) or bound.get(variable)
            made = self.const(x, dtype) if dtype is not None else self.const(x)
        if made.dtype is not None:
            bound.setdefault(variable, made.dtype)
        return made

    def passthrough(self, domain: str, op_type: str, op: Any, inputs: Sequence[Value]) -> Any:
        """An operator of the family ``_onnx_`` as the ONNX operator that it is: fields are attributes, optional inputs keep their
        places. Raises Unsupported when the opset does not know an attribute that is not at its default."""
        if domain != MS:
            signature_of(op_type, self.opset, domain)
        schema = schema_of(op_type, domain_opset(domain, self.opset), domain)
        beyond = beyond_schema(domain, op_type, op, self.opset)
        if not domain and older.form_of(op_type, self.opset) is not None:  # an input may be an attribute
            beyond = [what for what in beyond if not what.startswith("input ")]
        if beyond:
            newer = range(self.opset + 1, onnx.defs.onnx_opset_version() + 1)
            needed = next((v for v in newer if not beyond_schema(domain, op_type, op, v)), None)
            raise older.wanting(self.opset, f"{op_type} with {', '.join(beyond)}", needed)
        attrs = {}
        for field in op.fields.values():
            value = getattr(op, field.name)
            empty = value is None or (isinstance(value, tuple) and not value and field.default == ())
            known = field.name in schema.attributes if schema is not None else field.name not in _count_fields(op)
            if known and not empty:
                attrs[field.name] = _attribute(value, field.kind)
        placed = op.by_input(inputs)
        while placed and placed[-1] is None:
            placed.pop()
        attrs.setdefault("dtype", self.results[0].dtype)
        return self.node(op_type, *placed, outputs=op.num_visible_outputs(), domain=domain, **attrs)

    # -- what many translations need ------------------------------------------------------------------------------------

    def cast(self, x: Value, dtype: Any) -> Value:
        """x in another dtype: no node when it has it already, a new constant when x is one."""
        wanted = np.dtype(dtype)
        if x.dtype is not None and x.dtype == wanted:  # None == float64 is True in NumPy
            return x
        if x.const is not None:
            return self.const(x.const.astype(wanted), name=f"{x.name}_{wanted.name}")
        key = (x.name, wanted.name)
        if key not in self._casts:
            made = self.node("Cast", x, to=code_of(wanted))
            self._casts[key] = Value(made.name, x.shape, wanted)
        return self._casts[key]

    def wide(self, x: Value) -> Value:
        """Cast 16-bit values to float32, so that what is computed from them is rounded once, at the end; others as they are."""
        return self.cast(x, np.float32) if x.dtype is not None and x.dtype.itemsize == 2 else x

    def rename(self, x: Value) -> Value:
        """x under another name: what is an input, a constant or an output already cannot be an output (again)."""
        return Value(self.node("Identity", x).name, x.shape, x.dtype)

    def to_integer(self, x: Value, dtype: Any) -> Value:
        """Floats cut off to integers; what an 8- or 16-bit type cannot hold wraps round, as a C cast through int32 does."""
        wanted = np.dtype(dtype)
        return self.cast(self.cast(x, np.int32) if wanted.itemsize < 4 and wanted.kind != "b" else x, wanted)

    def reshape(self, x: Value, dims: Sequence[int] | Value, *, allowzero: bool = False) -> Value:
        """x reshaped to dims (0 copies and -1 infers a dim, as ONNX Reshape); a constant is reshaped here and now."""
        if x.const is not None and x.name not in self.tied and not isinstance(dims, Value) and 0 not in dims:
            return self._layout_constant(x, x.const.reshape(dims))
        return self.node("Reshape", x, dims, allowzero=int(allowzero) or None)

    def unsqueeze(self, x: Value, axes: Iterable[int]) -> Value:
        """x with new axes of size 1 at the (final) positions ``axes``."""
        axes = list(axes)
        if x.const is not None and x.name not in self.tied and axes:
            return self._layout_constant(x, np.expand_dims(x.const, tuple(axes)))
        return self.node("Unsqueeze", x, axes) if axes else x

    def squeeze(self, x: Value, axes: Iterable[int]) -> Value:
        """x without the axes, which have size 1."""
        axes = list(axes)
        return self.node("Squeeze", x, axes) if axes else x

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        """x with permuted axes."""
        if list(perm) == list(range(len(perm))):
            return x
        if x.const is not None and x.name not in self.tied:
            return self._layout_constant(x, x.const.transpose(perm))
        return self.node("Transpose", x, perm=list(perm))

    def _layout_constant(self, x: Value, array: np.ndarray) -> Value:
        return self.const(array, name=f"{x.name}_{'x'.join(map(str, array.shape))}")

    def slice(self, x: Value, starts: Any, ends: Any, axes: Any, steps: Any = None) -> Value:
        """ONNX Slice; numbers become int64 constants."""
        return self.node("Slice", x, starts, ends, axes, steps)

    def reduce(self, kind: str, x: Value, axes: Sequence[int] | None, *, keepdims: bool) -> Value:
        """ReduceSum, ReduceMean, ... by ``kind``; axes None means all. Axes are an input since 13 (Sum) or 18."""
        op_type = f"Reduce{kind}"
        if axes is not None and not len(axes):
            axes = None
        if len(signature_of(op_type, max(self.opset, older.MODERN)).inputs) > 1:
            return self.node(op_type, x, None if axes is None else list(axes), keepdims=int(keepdims))
        return self.node(op_type, x, axes=None if axes is None else list(axes), keepdims=int(keepdims))

    def split(self, x: Value, sizes: Sequence[int], axis: int) -> tuple[Value, ...]:
        """x cut along axis into pieces of the given sizes."""
        made = self.node("Split", x, list(sizes), axis=axis, outputs=len(sizes))
        return made if len(sizes) > 1 else (made,)

    def shape_of(self, x: Value, axis: int | None = None) -> Value:
        """The run-time shape of x as a 1-D int64 tensor, or the one size along axis as a 1-D tensor of length 1."""
        whole = self.node("Shape", x)
        return whole if axis is None else self.node("Gather", whole, [axis], axis=0)

    def dims(self, *parts: Any) -> Value | list[int]:
        """A shape from numbers and 1-D int64 Values: a plain list when all are numbers, else a Concat."""
        if not any(isinstance(p, Value) for p in parts):
            return [int(p) for p in parts]
        values, run = [], []
        for part in parts:
            if isinstance(part, Value):
                if run:
                    values.append(self.const(run))
                    run = []
                values.append(part)
            else:
                run.append(int(part))
        if run:
            values.append(self.const(run))
        return self.node("Concat", *values, axis=0) if len(values) > 1 else values[0]

    def size(self, x: Value, axis: int) -> Any:
        """The size along axis: a number where it is known, else a 1-D tensor of length 1 (both fit ``dims``)."""
        known = UNKNOWN if x.shape is None else x.shape[axis]
        return self.shape_of(x, axis) if known is UNKNOWN else known

    def counting(self, size: Any) -> Value:
        """0, 1, ... up to a size, as ``size`` gives it: int64 (size,)."""
        return (
            self.const(np.arange(size)) if isinstance(size, int) else self.node("Range", 0, self.squeeze(size, [0]), 1)
        )

    # -- control flow ---------------------------------------------------------------------------------------------------

    def body(self, make: Callable[..., Iterable[Value]], *inputs: Any) -> onnx.GraphProto:
        """A subgraph for Scan, Loop or If: ``make(inner builder, one Value per input)`` gives its outputs.

        inputs: the dtype of each, or its Spec (Loop insists on the shapes of its counter and condition). It may read values
        of the graph around it; its constants are stored there."""
        inner = Builder(self.opset, self.forms)
        inner.in_body, inner.tied = True, self.tied
        inner.initializers, inner.names, inner._constants = self.initializers, self.names, self._constants
        inner.values, inner.makers, inner.wishes = self.values, self.makers, self.wishes
        inner._scope = scope = f"{self._scope}/body"
        specs = [i if isinstance(i, Spec) else Spec(None, np.dtype(i)) for i in inputs]
        given = [Value(self.unique(f"{inner._scope}/input"), *spec) for spec in specs]
        results = []
        for value in make(inner, *given):
            inner._scope = scope
            distinct = any(value.name in n.outputs for n in inner.nodes) and all(value.name != r.name for r in results)
            results.append(value if distinct else inner.rename(value))
        for node in inner.nodes:
            if ort_kernels.is_lost(node.op_type, self.opset):
                raise Unsupported(f"onnxruntime has no kernel at opset {self.opset} for {node.op_type}")
            node.owner[0] = node.owner[0] or self.unique(f"{scope}/{node.op_type}")

        def declare(value: Value) -> onnx.ValueInfoProto:
            if value.dtype is None or value.dtype == np.dtype(object):
                return helper.make_empty_tensor_value_info(value.name)  # readers see what it is
            dims = None if value.shape is None else [None if d is UNKNOWN else d for d in value.shape]
            return helper.make_tensor_value_info(value.name, code_of(value.dtype), dims)

        protos = [node.proto() for node in inner.nodes]
        return helper.make_graph(protos, scope, [*map(declare, given)], [*map(declare, results)])
