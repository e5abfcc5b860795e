"""Imported graphs in the forms that MXNet 1.9.1 itself loads: operators of the family ``_onnx_`` said in operators of MXNet.

What an operator takes as tensors and MXNet as attributes - shapes, axes, sizes - is known once all sizes are; so graphs are lowered
with sizes for every input. Compositions (``Op.composition``) say most; rules here say what depends on such values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hybrid.core.attrs import MXNET_DTYPES
from hybrid.core.error import MXNetError
from hybrid.core.op import BACKWARD, FAMILY, FUSED, REGISTRY, Op, Spec
from hybrid.core.shapes import is_known
from hybrid.execution.apply import apply
from hybrid.ir.build import Expression, F
from hybrid.ir.compose import composition, inline, is_pure
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import Inference, infer
from hybrid.ir.json import UnknownOp

from .import_state import parameter_attributes
from .names import Names
from .onnx_types import known_dims

ABSENT = frozenset(
    ("_npi_zeros_like", "_npi_ones_like", "_npx_log_sigmoid", "_npx_mish", "CuDNNBatchNorm", "log_sigmoid", "mish")
)
"""Operators of other versions of MXNet that are here too; the rest of those that it lacks are known by their prefix."""
DTYPES = MXNET_DTYPES[: MXNET_DTYPES.index("bool") + 1]
"""Dtypes that operators of 1.9.1 compute with on every device; it cuts bfloat16 off instead of rounding it."""
FLOAT32 = frozenset(
    (
        "Convolution",
        "Deconvolution",
        "FullyConnected",
        "InstanceNorm",
        "_npi_matmul",
        "batch_dot",
        "dot",
        "linalg_gemm2",
    )
)
"""Operators that it has for no float16 on CPUs."""
AXES = {"transpose": 6}
"""Axes that operators take, at most."""
SPREADING = (
    "broadcast_",
    "_npi_where",
    "_npi_add",
    "_npi_subtract",
    "_npi_multiply",
    "_npi_true_divide",
    "_npi_maximum",
)
"""Beginnings of the names of operators whose inputs broadcast, so that one number may as well have an axis."""
WHOLE = 1 << 24
"""Whole numbers up to which float32 holds all."""
ROUNDS = 8
"""Compositions within compositions, at most."""


class Lowered(NamedTuple):
    """A graph with its parameters in MXNet's forms."""

    graph: Graph
    params: dict[str, np.ndarray]
    lacking: tuple[str, ...]
    """Nodes that have no form in MXNet 1.9.1, with what they lack; empty where it loads the graph."""


class Given(NamedTuple):
    """Inputs of an operator, and what is known of them: for rules."""

    inputs: tuple[Expression, ...]
    specs: tuple[Spec, ...]
    values: tuple[np.ndarray | None, ...]
    """Numbers of the inputs that are constant."""
    out: Spec
    constant: Callable[[np.ndarray], Expression]
    """An array as a parameter."""

    def by_name(self, op: Op) -> dict[str, int]:
        """Places of the inputs by their names."""
        return {n: i for i, n in enumerate(op.input_names())}


Rule = Callable[[Any, Given], "Expression | None"]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """A decorator for what says operators of the family in MXNet's; it gives None where there is no such form."""

    def register(function: Rule) -> Rule:
        RULES.update((f"{FAMILY}{n}", function) for n in names)
        return function

    return register


def in_mxnet(op: Op | type[Op]) -> bool:
    """True for an operator that MXNet 1.9.1 has."""
    if isinstance(op, UnknownOp) and op.name not in REGISTRY:
        return False
    return not op.name.startswith((FAMILY, BACKWARD, FUSED)) and op.name not in ABSENT


def lowered(graph: Graph, params: Mapping[str, np.ndarray], inputs: Mapping[str, Spec]) -> Lowered:
    """A graph in operators of MXNet 1.9.1 as far as there are such. inputs: their specs, with sizes."""
    return _Lowering(graph, params, inputs).run()


class _Lowering:
    """One lowering."""

    def __init__(self, graph: Graph, params: Mapping[str, np.ndarray], inputs: Mapping[str, Spec]):
        self.graph, self.params, self.inputs = graph, dict(params), inputs
        self.names = Names(n.name for n in graph.nodes)
        self.inference: Inference
        self.changed = False

    def run(self) -> Lowered:
        for _ in range(ROUNDS):
            self.inference = self._infer()
            self.changed = False
            self.graph = self.graph.rewrite(self._change)
            if not self.changed:
                break
        self._give_scalars_axes()
        used = {n.name for n in self.graph.variables()}
        params = {n: a for n, a in self.params.items() if n in used}
        return Lowered(self.graph, params, tuple(self._lacking(params)))

    def _infer(self) -> Inference:
        known = {n: Spec(a.shape, a.dtype) for n, a in self.params.items()}
        known |= {n: Spec(known_dims(s.shape), s.dtype) for n, s in self.inputs.items() if n not in known}
        return infer(
            self.graph,
            {n: s.shape for n, s in known.items() if s.shape is not None},
            {n: s.dtype for n, s in known.items() if s.dtype is not None},
            values=self.params,
            follow=True,
        )

    def _give_scalars_axes(self) -> None:
        """Parameters of one number and no axes get one, where all that read them broadcast it to something with axes."""
        for variable in self.graph.variables():
            array = self.params.get(variable.name)
            if array is None or array.shape != ():
                continue
            readers = [n for n in self.graph.nodes if any(e.node is variable for e in n.inputs)]
            spread = all(n.op is not None and n.op.name.startswith(SPREADING) for n in readers)
            if spread and all(self.inference.spec(Entry(n)).shape for n in readers):
                self.params[variable.name] = array.reshape(1)
                variable.attrs["__shape__"] = "(1,)"

    def _lacking(self, params: Mapping[str, np.ndarray]) -> Iterator[str]:
        found = self._infer()
        yield from (f"parameter {n} of {a.dtype}" for n, a in params.items() if a.dtype.name not in DTYPES)
        for node in self.graph.nodes:
            specs = [found.spec(Entry(node, i)) for i in range(node.num_visible_outputs)]
            if node.op is not None and not in_mxnet(node.op):
                yield f"{node.name} ({node.op.name})"
                continue
            most = AXES.get(node.op.name) if node.op is not None else None
            for spec in specs:
                if spec.shape == ():
                    yield f"{node.name}, which has no axes: MXNet knows such as NumPy's arrays alone"
                elif most is not None and spec.shape is not None and len(spec.shape) > most:
                    yield f"{node.name} ({node.op.name if node.op else ''} of {len(spec.shape)} axes, {most} at most)"
                elif spec.dtype is not None and spec.dtype.name not in DTYPES and node.name not in params:
                    yield f"{node.name} of {spec.dtype}"

    def _value(self, entry: Entry) -> np.ndarray | None:
        """The numbers of a tensor that is constant."""
        node = entry.node
        if node.op is None:
            return self.params.get(node.name)
        if node.op.name == f"{FAMILY}Constant":
            return node.op.value  # type: ignore[attr-defined]
        return (self.inference.values or {}).get((id(node), entry.index))

    def _parameter(self, array: np.ndarray, name: str) -> Expression:
        name = self.names.unique(name)
        self.params[name] = array
        return Expression((Entry(Node(None, name, (), parameter_attributes(array, trained=False))),))

    def _change(self, node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        op = node.op
        if op is None or not is_pure(op):
            return None
        specs = tuple(self.inference.spec(e) for e in node.inputs)
        if in_mxnet(op):
            if op.name in FLOAT32 and any(s.dtype == np.float16 for s in specs):
                made = _in_float32(op, inputs)
            elif op.name == "_npi_pad" and len(op.pad_width) == 1:  # type: ignore[attr-defined]
                made = _padded_vector(op, inputs[0])
            else:
                return None
            self.changed = True
            return self._named(node, made, {id(e.node) for e in inputs})
        before = {id(e.node) for e in inputs}
        made = self._by_rule(node, op, inputs, specs)
        if made is None:
            try:
                body = composition(op, specs)
            except MXNetError:
                body = None
            made = None if body is None else inline(body, inputs, node.name)
        if made is None:
            return None
        self.changed = True
        return self._named(node, made, before)

    def _by_rule(self, node: Node, op: Op, inputs: tuple[Entry, ...], specs: tuple[Spec, ...]) -> list[Entry] | None:
        from hybrid.ops.onnx.reduce import Reduction  # loaded with the readings, not before

        values = tuple(map(self._value, node.inputs))
        count = itertools.count()

        def constant(array: np.ndarray) -> Expression:
            return self._parameter(array, f"{node.name}_constant{next(count) or ''}")

        if node.num_outputs == 1 and all(v is not None for v in values):
            own = op.value if op.name == f"{FAMILY}Constant" else None  # type: ignore[attr-defined]
            array = (
                own if own is not None else apply(op, [v for v in values if v is not None], [Spec()], name=node.name)[0]
            )
            if array.dtype.name in MXNET_DTYPES:
                return [self._parameter(array, f"{node.name}_value").entry]
        found = _reduction if isinstance(op, Reduction) else RULES.get(op.name)
        if found is None:
            return None
        out = self.inference.spec(Entry(node, 0))
        given = Given(tuple(Expression((e,)) for e in inputs), specs, values, out, constant)
        made = found(op, given)
        return None if made is None else list(made.entries)

    def _named(self, node: Node, made: Sequence[Entry], before: set[int]) -> list[Entry]:
        """The entries that stand for a node, the last made of them under its name, and its name in ONNX."""
        out = list(made)
        if out[0].node.op is None or id(out[0].node) in before:  # what is there already goes by its own name
            out[0] = F.identity(Expression((out[0],))).entry
        final = out[0].node
        for each in Graph(out).nodes:
            if each.op is None or id(each) in before or each is final or not _is_new(each, node):
                continue
            each.name = self.names.unique(f"{node.name}_{each.op.name.strip('_').lower()}")
        final.name = node.name
        final.attrs = {**final.attrs, **{k: v for k, v in node.attrs.items() if k.startswith("__")}}
        return out


def _is_new(node: Node, of: Node) -> bool:
    """True for a node that a rule or a composition has just made in the place of another."""
    assert node.op is not None
    return node.name in (node.op.name.lower(),) or node.name.startswith(f"{of.name}_")


def _in_float32(op: Op, inputs: Sequence[Entry]) -> list[Entry]:
    """An operator on halves, computed in float32 and rounded once."""
    wide = [F.Cast(Expression((e,)), dtype="float32").entry for e in inputs]
    made = Expression((Entry(Node(op, op.name.lower(), wide, op.dump())),))
    return [F.Cast(made, dtype="float16").entry]


def _padded_vector(op: Any, data: Entry) -> list[Entry]:
    """A padded vector, as a matrix of one row: MXNet 1.9.1 pads two axes and more."""
    row = F.reshape(Expression((data,)), shape=(1, -1))
    options = {"mode": op.mode, "constant_value": op.constant_value}
    return [F.reshape(F._npi_pad(row, pad_width=((0, 0), *op.pad_width), **options), shape=(-1,)).entry]


# -- rules -----------------------------------------------------------------------------------------------------------------


def _static(spec: Spec) -> tuple[int, ...] | None:
    """A shape that attributes can say: all of it known, no size of 0, and one axis at least."""
    return spec.shape if spec.shape and is_known(spec.shape) and 0 not in spec.shape else None


@rule("Reshape")
def _reshape(op: Any, given: Given) -> Expression | None:
    shape = _static(given.out)
    return None if shape is None else F.reshape(given.inputs[0], shape=shape)


@rule("Expand")
def _expand(op: Any, given: Given) -> Expression | None:
    shape, old = _static(given.out), _static(given.specs[0])
    if shape is None or old is None:
        return None
    x = given.inputs[0]
    if len(old) < len(shape):
        x = F.reshape(x, shape=(1,) * (len(shape) - len(old)) + old)
    return F.broadcast_to(x, shape=shape)


@rule("Clip")
def _clip(op: Any, given: Given) -> Expression | None:
    """Whole numbers; MXNet holds bounds as float32, and compares with those."""
    dtype, places = given.specs[0].dtype, given.by_name(op)
    bounds = {n: given.values[places[n]] for n in ("min", "max") if n in places}
    if dtype is None or dtype.kind not in "iu" or any(b is None for b in bounds.values()):
        return None
    told = {n: int(np.asarray(b).reshape(-1)[0]) for n, b in bounds.items()}
    limits = np.iinfo(dtype)
    low, high = told.get("min", limits.min), told.get("max", limits.max)
    if low > high or any(abs(b) > WHOLE for b in told.values()):
        return None
    return F.clip(given.inputs[0], a_min=float(low), a_max=float(high))


def _reduction(op: Any, given: Given) -> Expression | None:
    """A reduction along axes that are constant."""
    shape, dtype = _static(given.specs[0]), given.specs[0].dtype
    kept = _static(given.out)
    if shape is None or kept is None or dtype is None or dtype.kind != "f" or dtype.itemsize < 4:
        return None
    if len(given.values) > 1 and given.values[1] is None:
        return None
    axes = op.along(given.values[1] if len(given.values) > 1 else None, len(shape))
    made = op.said(F, given.inputs[0], axes)
    return made if op.keepdims else F.reshape(made, shape=kept)


@rule("Resize")
def _resize(op: Any, given: Given) -> Expression | None:
    """Axis after axis: places to take, or a matrix of weights; whole factors of images are UpSampling."""
    old, new, places = _static(given.specs[0]), _static(given.out), given.by_name(op)
    dtype = given.specs[0].dtype
    control = {n: given.values[places[n]] for n in ("scales", "sizes") if n in places}
    whole = op.keep_aspect_ratio_policy == "stretch" and not op.cropped
    if old is None or new is None or dtype is None or not whole or any(v is None for v in control.values()):
        return None
    if dtype.kind != "f":
        return None
    listed = control.get("scales")
    scales: dict[int, Any] = {} if listed is None else dict(zip(op.along(len(old)), listed))
    axes = [a for a in range(len(old)) if old[a] != new[a] or scales.get(a, 1) != 1]
    weights = {a: _weights(op, old[a], new[a], scales.get(a)) for a in axes}
    x = given.inputs[0]
    if op.mode == "nearest":
        taken = {a: w.argmax(0) for a, w in weights.items()}
        factors = {new[a] // old[a] for a in axes}
        repeated = all(np.array_equal(t, np.arange(new[a]) * old[a] // new[a]) for a, t in taken.items())
        if (
            len(old) == 4
            and axes == [2, 3]
            and len(factors) == 1
            and repeated
            and new[2] % old[2] == new[3] % old[3] == 0
        ):
            return F.UpSampling(x, scale=factors.pop(), sample_type="nearest", num_args=1)
        for axis, each in taken.items():
            x = F.take(x, given.constant(each.astype(np.int32)), axis=axis)
        return x
    for axis, each in weights.items():
        last = len(old) - 1
        x = x if axis == last else F.swapaxes(x, dim1=axis, dim2=last)
        x = F.dot(x, given.constant(each.astype(dtype)))
        x = x if axis == last else F.swapaxes(x, dim1=axis, dim2=last)
    return x


def _weights(op: Any, old: int, new: int, scale: Any) -> np.ndarray:
    """Shares of the old places along an axis in each of the new, (old, new), as the operator itself has them."""
    name, value = ("sizes", [new]) if scale is None else ("scales", [scale])
    dtype = np.int64 if scale is None else np.float32
    one = type(op).bind(**{**op.dump(), "axes": (1,), "given": (name,)})
    arrays = [np.eye(old, dtype=np.float32), np.array(value, dtype)]
    return apply(one, arrays, [Spec()], name="weights")[0]


def _rounded(x: Expression) -> Expression:
    """x rounded half to even; MXNet's rint goes down from halves."""
    low = F.rint(x)
    half = F._equal_scalar(x - low, scalar=0.5)
    return low + half * F._mod_scalar(low, scalar=2.0)


def _levels(dtype: np.dtype) -> tuple[float, float] | None:
    """The least and the greatest of whole numbers that float32 holds exactly."""
    if dtype.kind not in "iu" or dtype.itemsize > 2:
        return None
    info = np.iinfo(dtype)
    return float(info.min), float(info.max)


def _along(array: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """A scale or zero point as it broadcasts over data of that shape."""
    if array.size == 1:
        return array.reshape((1,) * len(shape))
    return array.reshape([-1 if a == axis % len(shape) else 1 for a in range(len(shape))])


def _scaling(op: Any, given: Given) -> tuple[Expression, np.ndarray, tuple[int, ...]] | None:
    """The scale as a parameter, the zero point as numbers, and the shape of the data; None where they are not constant."""
    shape = _static(given.specs[0])
    scale = given.values[1]
    zero = given.values[2] if len(given.values) > 2 else np.zeros(1)
    fits = op.block_size == 0 and scale is not None and scale.dtype == np.float32 and zero is not None
    if shape is None or not fits or getattr(op, "precision", None) is not None:
        return None
    assert scale is not None and zero is not None
    return given.constant(_along(scale, shape, op.axis)), _along(zero.astype(np.float32), shape, op.axis), shape


@rule("QuantizeLinear")
def _quantize(op: Any, given: Given) -> Expression | None:
    """Levels of 8 bits, which MXNet's Cast gives after all has been done in float32."""
    found = _scaling(op, given)
    made = given.out.dtype
    levels = _levels(made) if made is not None and made.itemsize == 1 else None
    if found is None or levels is None or given.specs[0].dtype != np.float32:
        return None
    scale, zero, _ = found
    x = _rounded(F.broadcast_div(given.inputs[0], scale))
    if zero.any():
        x = F.broadcast_add(x, given.constant(zero))
    return F.Cast(F.clip(x, a_min=levels[0], a_max=levels[1]), dtype=made)


@rule("DequantizeLinear")
def _dequantize(op: Any, given: Given) -> Expression | None:
    found = _scaling(op, given)
    dtype = given.specs[0].dtype
    if found is None or dtype is None or dtype.name not in ("uint8", "int8", "int32") or given.out.dtype != np.float32:
        return None
    scale, zero, _ = found
    x = F.Cast(given.inputs[0], dtype="float32")
    if dtype == np.int32 and zero.any():
        return None
    if zero.any():
        x = F.broadcast_sub(x, given.constant(zero))
    return F.broadcast_mul(x, scale)


@rule("ml_ArrayFeatureExtractor")
def _extract(op: Any, given: Given) -> Expression | None:
    shape, old = _static(given.out), _static(given.specs[0])
    if shape is None or old is None or given.specs[1].shape is None:
        return None
    return F.reshape(F.take(given.inputs[0], given.inputs[1], axis=len(old) - 1, mode="clip"), shape=shape)
