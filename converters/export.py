"""Writes a graph of MXNet operators as ONNX: one walk, every node through its translation, all problems collected."""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from hybrid.core.error import InternalError, MXNetError
from hybrid.core.op import OPS, Spec
from hybrid.core.shapes import UNKNOWN, MaybeShape, Undecided, is_known, show
from hybrid.core.version import VERSION
from hybrid.ir.facts import Facts
from hybrid.ir.graph import Entry, Graph, Node, SubgraphFunction
from hybrid.ir.infer import Inference, infer
from hybrid.ir.json import UnknownOp
from hybrid.ops.onnx.base import OBJECT
from hybrid.passes.resolve_open_ranges import resolve_open_ranges
from hybrid.passes.strip_labels import strip_labels

from . import ops, ort_kernels  # noqa: F401  ops fills the registry
from .builder import Builder, Value, beyond_schema, domain_opset
from .detector import before_suppression, with_plugin
from .error import ConversionError, Problem, Unsupported, UnsupportedModel
from .forms import PLAIN, TENSORRT, Forms, for_training
from .lowering import lower
from .names import kept_names, onnx_names
from .onnx_graph import OPEN, OnnxGraph, live
from .onnx_types import KEY as KIND
from .onnx_types import code_of, kind_of
from .passes import clean
from .registry import EXPORT, NOT_EXPORTED, OLDEST, PASSTHROUGH, export_handler
from .training import training_form
from .writer import Converted, words_of

# https://github.com/onnx/onnx/blob/main/docs/Versioning.md
_IR_VERSIONS = dict(zip(range(7, 28), (3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13)))
_IR_NEWEST = 14

FLOOR = 13
"""The oldest opset that is written unless an older one is asked for."""
RANKLESS = 21
"""The opset with whose IR version, 10, outputs need no rank."""
PROBES = (((101, 2), (211, 6)), ((23, 2), (41, 6)), ((7, 1), (11, 3)), ((3, 1), (5, 2)))
"""Pairs of sizes of open axes that tell what follows them: of the first axis, and how much more each further one has."""
NEWEST = "newest"
"""The word for the newest opset at which nothing is lost."""


def ir_version(opset: int) -> int:
    """The IR version that came with an opset: what older readers of that opset still understand."""
    return _IR_VERSIONS.get(opset, _IR_NEWEST)


def newest_opset() -> int:
    """The newest opset that the installed onnx defines."""
    return onnx.defs.onnx_opset_version()


def default_opset() -> int:
    """The newest opset that loses nothing: what is written when the newest is asked for."""
    return min(ort_kernels.DEFAULT_OPSET, newest_opset())


def least_opset(graph: Graph, newest: int | None = None) -> int:
    """The oldest opset, from FLOOR on, that knows all operators of a graph: it may still write some better at a newer one."""
    newest = newest_opset() if newest is None else newest
    least = FLOOR
    for node in graph.all_nodes():
        if node.op is None or node.op.name not in EXPORT:
            continue
        least = max(least, min(EXPORT[node.op.name]))
        standing: tuple[str, str] | None = PASSTHROUGH.get(node.op.name)
        while standing is not None and least < newest and beyond_schema(*standing, node.op, least):
            least += 1
    return min(least, newest)


def opsets_for(graph: Graph, default: int | None = None, newest: int | None = None) -> list[int]:
    """The opsets to try when the newest is asked for, best first: that at which all operators of the family are themselves, and the
    oldest, from the default on, at which there is a translation for all."""
    newest = newest_opset() if newest is None else newest
    enough = best = default_opset() if default is None else default
    for node in graph.all_nodes():
        if node.op is None or node.op.name not in EXPORT:
            continue
        enough = max(enough, min(EXPORT[node.op.name]))
        standing: tuple[str, str] | None = PASSTHROUGH.get(node.op.name)
        while standing is not None and best < newest_opset() and beyond_schema(*standing, node.op, best):
            best += 1
    return [o for o in dict.fromkeys((max(best, enough), enough)) if o <= newest] or [newest]


def to_onnx(
    symbol: Any,
    params: Mapping[str, np.ndarray] | None,
    inputs: Mapping[str, Any],
    opset: int | str | None = None,
    *,
    training: bool = False,
    forms: Forms = PLAIN,
) -> onnx.ModelProto:
    """A symbol with parameters as an ONNX model.

    symbol: hybrid Symbol or Graph. params: arrays by name, with or without ``arg:`` and ``aux:``. inputs: a shape, an
    array or a Spec by name; dims that are strings are dynamic axes of that name. opset: 7 to the newest that the
    installed onnx defines, or "newest" for the newest at which nothing is lost; by default the oldest from 13 on that loses
    nothing for this graph (docs/decisions/0029-opsets.md). training: as MXNet trains it, with losses, labels and statistics
    (training.py). forms: those that the graph is written in.
    Raises UnsupportedModel listing every node that does not translate, ConversionError for anything else.
    """
    return convert(symbol, params, inputs, opset, training=training, forms=forms).proto()


def convert(
    symbol: Any,
    params: Mapping[str, np.ndarray] | None,
    inputs: Mapping[str, Any],
    opset: int | str | None = None,
    *,
    default_dtype: Any = np.float32,
    default: int | None = None,
    newest: int | None = None,
    training: bool = False,
    facts: Facts | None = None,
    keep_inputs: bool = False,
    forms: Forms = PLAIN,
) -> Converted:
    """As to_onnx, but the weights stay where they are until the result is saved.

    default, newest: the opset to prefer when the newest is asked for, and the newest to choose when none is. facts: those of the
    graph and its parameters, where there are some already. keep_inputs: those named in inputs stay where nothing reads them
    (labels).
    forms: those that the graph is written in."""
    graph = symbol if isinstance(symbol, Graph) else symbol.graph
    params = {k.removeprefix("arg:").removeprefix("aux:"): np.asarray(v) for k, v in (params or {}).items()}
    if training:
        known = _Export(Facts(graph, params, default_dtype), inputs, OLDEST)
        graph = training_form(graph, known._infer({}))
        forms = for_training(forms)
    graph = strip_labels(graph)
    if facts is None or facts.graph is not graph:
        facts = Facts(graph, params, default_dtype)
    tied = resolve_open_ranges(graph)
    if tied is not graph:
        inputs = _Export(facts, inputs, OLDEST).with_dtypes(inputs)
        graph, facts = tied, Facts(tied, params, default_dtype)
    if forms.nms != PLAIN.nms:
        cut = before_suppression(graph, _Export(facts, inputs, OLDEST)._infer({}))
        made = convert(
            cut.graph, params, inputs, opset, default_dtype=default_dtype, default=default, newest=newest,
            keep_inputs=keep_inputs, forms=replace(forms, nms=PLAIN.nms),
        )  # fmt: skip
        return with_plugin(made, cut.suppression) if forms.nms == TENSORRT else made
    if opset is None or isinstance(opset, str):
        if opset not in (None, NEWEST):
            raise ConversionError(f"got opset {opset!r}, wanted a number or {NEWEST!r}")

        def at(choice: int) -> _Export:
            return _Export(facts, inputs, choice, keep_inputs=keep_inputs, forms=forms)

        newest_choices = opsets_for(graph, default, newest)
        if opset is None:
            return _oldest(at, least_opset(graph, newest), newest_choices, newest or newest_opset())
        for choice in newest_choices:
            with contextlib.suppress(UnsupportedModel):  # the older one may do with fewer operators
                return at(choice).run()
        return _oldest(at, newest_choices[-1], newest_choices, newest or newest_opset())  # what needs a newer one
    if not OLDEST <= opset <= newest_opset():
        raise ConversionError(
            f"got opset {opset}, wanted {OLDEST} to {newest_opset()} (the newest that onnx {onnx.__version__} defines)"
        )
    return _Export(facts, inputs, opset, keep_inputs=keep_inputs, forms=forms).run()


def _oldest(at: Callable[[int], _Export], least: int, otherwise: Sequence[int], newest: int) -> Converted:
    """The model at the oldest opset that loses nothing: from ``least`` on, on to what its translations wish for.

    otherwise: opsets to try where that fails; its error is that of the last of them."""
    opset, made = least, None
    while True:
        export = at(opset)
        try:
            made = export.run()
        except UnsupportedModel:
            if made is not None:
                return made  # the wish is not granted
        wished = max((w for w in export.wishes() if w <= newest), default=0)
        if wished <= opset:
            break
        opset = wished
    if made is not None:
        return made
    *better, last = [o for o in otherwise if o != opset] or [opset]
    for choice in better:
        with contextlib.suppress(UnsupportedModel):
            return at(choice).run()
    return at(last).run()


def untranslatable(graph: Graph, opset: int | None = None) -> list[Problem]:
    """Every node that has no translation at all (whatever its inputs), without converting."""
    opset = least_opset(graph) if opset is None else opset
    return [p for n in graph.all_nodes() if n.op is not None and (p := _no_handler(n, opset))]


def _no_handler(node: Node, opset: int) -> Problem | None:
    assert node.op is not None
    if isinstance(node.op, UnknownOp):
        return Problem(node.name, node.op.name, node.op.reason)
    if export_handler(node.op.name, opset) is None:
        reason = NOT_EXPORTED.get(node.op.name, "")
        if not reason:
            reason = f"no translation at opset {opset}, needs opset {min(EXPORT[node.op.name])}"
        return Problem(node.name, node.op.name, reason)
    return None


def _read(graph: Graph) -> set[tuple[int, int]]:
    """(id of node, output index) of everything that a node or the graph itself reads."""
    return {(id(e.node), e.index) for e in (*(e for n in graph.nodes for e in n.inputs), *graph.outputs)}


def _tied(graph: Graph, params: Mapping[str, Any]) -> frozenset[str]:
    """Names of trained parameters that several nodes read: each is to stay one, to be trained as one again."""
    counts = Counter(e.node for n in graph.nodes for e in n.inputs if e.node.is_variable)
    trained = (
        n.name
        for n, count in counts.items()
        if count > 1 and n.name in params and n.attrs.get("__grad_req__") != "null"
    )
    return frozenset(name for name in trained if params[name].dtype.kind == "f" and params[name].ndim)


def _open(shape: MaybeShape) -> tuple[Any, ...] | None:
    return None if shape is None else tuple(OPEN if d is UNKNOWN else d for d in shape)


def _empty_array(spec: Spec) -> np.ndarray | None:
    """The array that a tensor of numbers is, where it is known to have no elements; else None."""
    if not is_known(spec.shape) or 0 not in spec.shape or spec.dtype is None or spec.dtype == OBJECT:
        return None
    return np.empty(spec.shape, spec.dtype)


class _Export:
    """One conversion."""

    def __init__(
        self,
        facts: Facts,
        inputs: Mapping[str, Any],
        opset: int,
        *,
        keep_inputs: bool = False,
        forms: Forms = PLAIN,
    ):
        self.kept = frozenset(inputs) if keep_inputs else frozenset[str]()
        self.facts, self.graph, self.params, self.opset = facts, facts.graph, facts.params, opset
        self.axes: dict[str, tuple[str | None, ...]] = {}  # names of dynamic axes by input
        self.given: dict[str, Spec] = {}
        self.kinds = {n.name: n.attrs[KIND] for n in self.graph.variables() if KIND in n.attrs}
        """The types of inputs that are no tensors."""
        names = {n.name for n in self.graph.variables()}
        for name, wanted in inputs.items():
            if name not in names:
                raise ConversionError(f"got input {name!r}, wanted some of {', '.join(self._free())}")
            shape, dtype = self._read_input(wanted)
            self.axes[name] = tuple(d if isinstance(d, str) else None for d in shape or ())
            known = None if shape is None else tuple(UNKNOWN if isinstance(d, str) else d for d in shape)
            self.given[name] = Spec(known, dtype)
        self.builder = Builder(opset, forms)
        # variables keep their names, those too that come after a node whose output is called so
        self.reserved = {onnx_names(e.node)[e.index] for e in self.graph.outputs} & {*kept_names(self.graph).values()}
        """Names that outputs have had in ONNX before, for them alone."""
        self.builder.names.taken |= names | self.reserved
        self.values: dict[tuple[int, int], Value] = {}
        self.read = _read(self.graph)
        self.builder.tied = _tied(self.graph, self.params)
        self.problems: list[Problem] = []

    def _free(self) -> list[str]:
        return [n.name for n in self.graph.variables() if n.name not in self.params]

    @staticmethod
    def _read_input(wanted: Any) -> tuple[Sequence[Any] | None, np.dtype | None]:
        if isinstance(wanted, Spec):
            return wanted.shape, wanted.dtype
        if isinstance(wanted, np.ndarray | np.generic):
            return wanted.shape, wanted.dtype
        return tuple(d if isinstance(d, str) else int(d) for d in wanted), None

    def run(self) -> Converted:
        self.inference = self._infer({})
        for node in self.graph.nodes:
            if node.is_variable:
                self._variable(node)
            else:
                self._operator(node)
        if self.problems:
            raise UnsupportedModel(list(dict.fromkeys(self.problems)))  # a loop's condition is written twice
        outputs = self._outputs()
        self._drop_unused({name for name, _ in outputs})
        types = self._open_types(outputs)  # of the graph as translated, of which more is told
        if not self.builder.forms.keep_graph:
            written = self._written({name for name, _ in outputs})
            clean(written)
            lower(written, self.builder.forms.lowered)
        self._refuse_lost()
        return self._assemble(outputs, types)

    def _infer(self, sizes: Mapping[str, int]) -> Inference:
        """Inference with dynamic axes unknown, or at the sizes given for their names."""
        specs = {}
        for name, spec in self.given.items():
            named = self.axes[name]
            shape = spec.shape and tuple(sizes.get(n, d) if n else d for n, d in zip(named, spec.shape))
            specs[name] = Spec(shape, spec.dtype)
        specs |= {name: Spec((), np.dtype(object)) for name in self.kinds}
        try:
            return self.facts.infer(specs)
        except InternalError:
            raise
        except MXNetError as error:
            foreign = untranslatable(self.graph, self.opset)
            if foreign:
                raise UnsupportedModel(foreign) from error
            raise ConversionError(str(error)) from error

    def with_dtypes(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs, with the dtypes that the graph says they have: one made of it may say less."""
        found, told = self._infer({}), dict(inputs)
        for node in self.graph.variables():
            name = node.name
            if name not in self.params and name not in self.kinds:
                shape = self._read_input(inputs[name])[0] if name in inputs else None
                told[name] = Spec(shape, found.spec(Entry(node)).dtype)  # type: ignore[arg-type]
        return told

    def _variable(self, node: Node) -> None:
        """It keeps its name; two variables of one name are one tensor, as in MXNet's binding."""
        spec = self.inference.spec(Entry(node))
        if node.name in self.params:
            array = self.params[node.name]
            self.values[id(node), 0] = Value(node.name, array.shape, array.dtype, array)
        else:
            self.values[id(node), 0] = Value(node.name, spec.shape, spec.dtype)

    def _operator(self, node: Node) -> None:
        op, b = node.op, self.builder
        assert op is not None
        missing = _no_handler(node, self.opset)
        specs = [self.inference.spec(Entry(node, i)) for i in range(node.num_outputs)]
        results: list[Value] = []
        if missing:
            self.problems.append(missing)
        elif (empty := self._nothing(node, specs)) is not None:
            start = b.enter(node.name, specs)
            made = [
                Value(name, *spec) if array is None else b.node("Identity", b.const(array))
                for name, spec, array in zip(node.outputs, specs, empty)
            ]
            results = b.leave(start, made, self._names(node))
        else:
            handler = export_handler(op.name, self.opset)
            assert handler is not None
            b.wishes += [(None, v) for v in EXPORT[op.name] if self.opset < v <= ort_kernels.WELCOME]
            start = b.enter(node.name, specs)
            try:
                subgraphs = [SubgraphFunction(graph, self._body) for graph in node.subgraphs]
                options = {"subgraphs": subgraphs} if "subgraphs" in op.needs else {}
                b.origin = node, self.inference
                made = handler(b, op, *(self.values[id(e.node), e.index] for e in node.inputs), **options)
                made = list(made) if isinstance(made, tuple | list) else [made]
                made = [v if s.dtype is None else b.cast(v, s.dtype) for v, s in zip(made, specs)]
                results = b.leave(start, made, self._names(node))
            except Unsupported as reason:
                if reason.opset is not None:
                    b.wishes.append((None, reason.opset))
                self.problems.append(Problem(node.name, op.name, str(reason)))
            except Undecided:
                self.problems.append(Problem(node.name, op.name, "needs sizes of its inputs that are dynamic"))
            except (ConversionError, InternalError):
                raise
            except MXNetError as error:  # in a body
                self.problems.append(Problem(node.name, op.name, str(error)))
            except MemoryError as error:
                self.problems.append(Problem(node.name, op.name, f"memory does not suffice: {error}"))
            except Exception as error:
                raise InternalError(
                    f"{node.name} ({op.name}): its translation to ONNX failed ({type(error).__name__}: {error}); "
                    "this is a bug, please report it"
                ) from error
        for i, spec in enumerate(specs):
            if i < len(results):
                value = results[i]
                shape = value.shape if value.const is not None else spec.shape
                self.values[id(node), i] = Value(value.name, shape, spec.dtype or value.dtype, value.const)
            else:  # a stand-in, so that the walk can go on and find further problems
                self.values[id(node), i] = Value(node.outputs[i], spec.shape, spec.dtype)
                if not missing and results:
                    self._refuse_use(node, i)

    def _names(self, node: Node) -> tuple[str, ...]:
        """Names for a node's outputs, those that were reserved for them among these."""
        names = onnx_names(node)
        taken = self.reserved.intersection(names)
        self.reserved -= taken
        self.builder.names.taken -= taken
        return names

    def _nothing(self, node: Node, specs: Sequence[Spec]) -> list[np.ndarray | None] | None:
        """The outputs, those that are read, where none of these has an element whatever arrives; else None. onnxruntime's kernels
        refuse such sizes, give other ones, or end the process, each in its own way."""
        arrays = [_empty_array(s) for s in specs]
        wanted = [a for i, a in enumerate(arrays) if (id(node), i) in self.read]
        return None if not wanted or any(a is None for a in wanted) else arrays

    def _body(self, graph: Graph, b: Builder, held: Sequence[Value]) -> list[Value]:
        """A subgraph of control flow, translated into b: its outputs when its variables hold these values."""
        inner = copy.copy(self)  # problems are shared
        inner.graph, inner.builder = graph, b
        given = graph.feeds(held)
        shapes, dtypes = {n: v.shape for n, v in given.items()}, {n: v.dtype for n, v in given.items()}
        values = {n: v.const for n, v in given.items() if v.const is not None}
        inner.inference = infer(graph, shapes, dtypes, values=values)
        inner.values = {(id(n), 0): given[n.name] for n in graph.variables()}
        inner.read = _read(graph)
        scope, results = b.scope, b.results
        for node in graph.nodes:
            if not node.is_variable:
                inner._operator(node)
        b.enter(scope, results)
        return [inner.values[id(e.node), e.index] for e in graph.outputs]

    def _refuse_use(self, node: Node, index: int) -> None:
        if (id(node), index) in self.read:
            assert node.op is not None
            self.problems.append(
                Problem(node.name, node.op.name, f"output {node.outputs[index]} has no ONNX counterpart")
            )

    def _outputs(self) -> list[tuple[str, Entry]]:
        """(ONNX name, entry) of every output; what is an input, a constant or listed twice gets an Identity."""
        b = self.builder
        made = {name for node in b.nodes for name in node.outputs}
        out = []
        for entry in self.graph.outputs:
            value = self.values[id(entry.node), entry.index]
            if value.name not in made:
                start = b.enter(entry.name)
                name = self._names(entry.node)[entry.index]
                (value,) = b.leave(start, [b.node("Identity", value)], [name])
            else:
                made.discard(value.name)
            out.append((value.name, entry))
        return out

    def _drop_unused(self, wanted: set[str]) -> None:
        """Nodes that no output needs (what computes a shape that turned out static) do not belong in the model."""
        self.builder.nodes[:] = live(self.builder.nodes, wanted)

    def _written(self, outputs: set[str]) -> OnnxGraph:
        """The nodes written so far, with what is known of their tensors; rewritings change them in place."""
        b, told = self.builder, {v.name: Spec(_open(v.shape), v.dtype) for v in self.values.values()}
        free = [n.name for n in self.graph.variables() if n.name not in self.params]
        for name in free:
            axes, shape = self.axes.get(name, ()), told[name].shape
            if shape is not None and len(axes) == len(shape):
                told[name] = Spec(tuple(a or d for a, d in zip(axes, shape)), told[name].dtype)
        inputs = {n: told.pop(n) for n in free if n in told}
        return OnnxGraph(b.nodes, b.initializers, inputs, frozenset(outputs), self.opset, b.unique, told, b.tied)

    def wishes(self) -> set[int]:
        """Opsets that have a better form of something that is written, after ``run``."""
        kept = {id(node.outputs) for node in self.builder.nodes}
        return {opset for outputs, opset in self.builder.wishes if outputs is None or id(outputs) in kept}

    def _refuse_lost(self) -> None:
        lost = {}
        for node in self.builder.nodes:
            if ort_kernels.is_lost(node.op_type, self.opset):
                lost.setdefault(node.owner[0], node.op_type)
        if lost:
            what = "cannot run in onnxruntime"
            reason = f"onnxruntime has no kernel at opset {self.opset}; opset {default_opset()} loses nothing"
            raise UnsupportedModel([Problem(name, op_type, reason) for name, op_type in lost.items()], what)

    def _open_types(self, outputs: list[tuple[str, Entry]]) -> dict[str, onnx.TypeProto]:
        """The types of outputs of which inference knows no rank or dtype, as ONNX itself infers them."""
        open_ = [
            (name, entry)
            for name, entry in outputs
            if (s := self.inference.spec(entry)).shape is None or s.dtype is None or (not s.shape and s.dtype == OBJECT)
        ]
        types = {n: kind_of(e.node.attrs[KIND]) for n, e in open_ if KIND in e.node.attrs and not e.index}
        untyped = [n for n, _ in open_ if n not in types]
        if untyped:
            nodes, opsets = self._nodes()
            types |= _types(nodes, self._graph_inputs(), self.builder.initializers, opsets, untyped)
        return types

    def _nodes(self) -> tuple[list[onnx.NodeProto], list[onnx.OperatorSetIdProto]]:
        """All nodes, and the opsets of their domains."""
        nodes = self.builder.nodes
        domains = dict.fromkeys(["", *(n.domain for n in nodes)])
        return [n.proto() for n in nodes], [helper.make_opsetid(d, domain_opset(d, self.opset)) for d in domains]

    def _graph_inputs(self) -> list[onnx.ValueInfoProto]:
        """The inputs that a node reads, and those that are kept. Raises ConversionError for those of unknown shapes."""
        used = {name for node in self.builder.nodes for name in node.reads()} | self.kept
        graph_inputs, unknown = [], []
        for node in self.graph.variables():
            value = self.values[id(node), 0]
            if node.name in self.params or node.name not in used or any(i.name == node.name for i in graph_inputs):
                continue
            if node.name in self.kinds:
                graph_inputs.append(helper.make_value_info(node.name, kind_of(self.kinds[node.name])))
                continue
            spec = self.given.get(node.name)
            shape = value.shape if value.shape is not None else spec.shape if spec else None
            names = self.axes.get(node.name) or (None,) * len(shape or ())
            if shape is None or any(d is UNKNOWN and n is None for d, n in zip(shape, names)):
                unknown.append(f"{node.name} {show(shape)}")
                continue
            graph_inputs.append(_tensor_info(node.name, value.dtype, shape, names))
        if unknown:
            raise ConversionError(
                f"cannot tell the shape of {', '.join(unknown)}; give shapes for them"
                " (for instance --input data:1,3,224,224), or parameters if they are weights"
            )
        return graph_inputs

    def _assemble(self, outputs: list[tuple[str, Entry]], types: Mapping[str, onnx.TypeProto]) -> Converted:
        b = self.builder
        used = {name for node in b.nodes for name in node.reads()} | self.kept
        graph_inputs = self._graph_inputs()
        nodes, opsets = self._nodes()
        named = self._output_axes([entry for _, entry in outputs])
        graph_outputs = []
        for (name, entry), names in zip(outputs, named):
            if name in types:
                graph_outputs.append(helper.make_value_info(name, types[name]))
                continue
            spec = self.inference.spec(entry)
            graph_outputs.append(_tensor_info(name, spec.dtype, spec.shape, names))
        if any(
            o.type.WhichOneof("value") == "tensor_type" and not o.type.tensor_type.HasField("shape")
            for o in graph_outputs
        ):
            b.since(RANKLESS)
        stored = {k: v for k, v in b.initializers.items() if k in used}
        words = [words_of(k, v) for k, v in stored.items() if v.dtype.kind == "O"]  # which are no bytes to copy
        graph = helper.make_graph(nodes, "gluonnx", graph_inputs, graph_outputs, words)
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=ir_version(self.opset),
            producer_name="gluonnx",
            producer_version=VERSION,
        )
        return Converted(model, {k: v for k, v in stored.items() if v.dtype.kind != "O"})

    def _output_axes(self, entries: Sequence[Entry]) -> list[tuple[str | None, ...]]:
        """Names for dynamic axes of outputs: that of the input axis which they follow one to one.

        Found by inferring at two sets of sizes: an output dim that equals the input dim at both follows it. Where large sizes do
        not fit the graph, which a table of positions limits, smaller ones are tried."""
        axes = list(dict.fromkeys(n for names in self.axes.values() for n in names if n))
        shapes = [self.inference.spec(e).shape for e in entries]
        if not axes or all(is_known(s) for s in shapes):
            return [(None,) * len(s or ()) for s in shapes]
        # no two axes lie equally far apart in both, or one that is some elements longer would go by the other's name
        for pair in PROBES:
            probes = [{name: base + step * i for i, name in enumerate(axes)} for base, step in pair]
            try:
                seen = [self._infer(p) for p in probes]
                break
            except ConversionError:
                continue
        else:
            return [(None,) * len(s or ()) for s in shapes]
        named = []
        for entry, shape in zip(entries, shapes):
            pairs = list(zip(*(i.spec(entry).shape or () for i in seen)))
            following = [
                next((n for n in axes if all(d == p[n] for d, p in zip(pair, probes) if d is not UNKNOWN)), None)
                for pair in pairs
            ]
            named.append(tuple(n if d is UNKNOWN else None for n, d in zip(following, shape or ())))
        return named


def _types(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    stored: Mapping[str, np.ndarray],
    opsets: Sequence[onnx.OperatorSetIdProto],
    names: Sequence[str],
) -> dict[str, onnx.TypeProto]:
    """The types that ONNX itself infers of outputs. Raises ConversionError where it infers none."""
    weights = [_tensor_info(n, a.dtype, a.shape, ()) for n, a in stored.items()]
    outputs = [helper.make_empty_tensor_value_info(n) for n in dict.fromkeys(names)]
    model = helper.make_model(helper.make_graph(nodes, "types", [*inputs, *weights], outputs), opset_imports=opsets)
    found = {o.name: o.type for o in onnx.shape_inference.infer_shapes(model).graph.output}
    unknown = [n for n in names if found[n].WhichOneof("value") is None]
    if unknown:
        raise ConversionError(
            f"cannot tell the type of the outputs {', '.join(unknown)}; give the shapes of all inputs"
        )
    return found


def _tensor_info(
    name: str, dtype: np.dtype | None, shape: Sequence[Any] | None, names: Sequence[str | None]
) -> onnx.ValueInfoProto:
    code = TensorProto.FLOAT if dtype is None else code_of(dtype)
    dims = None if shape is None else [n if d is UNKNOWN else d for d, n in zip(shape, names or (None,) * len(shape))]
    return helper.make_tensor_value_info(name, code, dims)


def unexplained_operators() -> set[str]:
    """Operators that have neither a translation nor a reason: the completeness test wants none."""
    return set(OPS) - set(EXPORT) - set(NOT_EXPORTED)
