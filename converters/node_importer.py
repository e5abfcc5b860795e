"""Imports the nodes of a model: each through its reading, all problems collected.

What is known when reading - shapes, dtypes, values that follow from constants and static shapes - is known to the readings, so that
axes and shapes which arrive as tensors become attributes of MXNet's own operators wherever they are constant. Where they are not,
an operator of the family ``_onnx_`` takes them as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto

from hybrid.core.attrs import DTypeKind, Optional
from hybrid.core.error import InternalError, MXNetError
from hybrid.core.op import REGISTRY, Op, Spec
from hybrid.core.shapes import UNKNOWN, identical, is_known
from hybrid.execution.apply import apply
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import node_dtypes, node_shapes
from hybrid.ir.json import UnknownOp, is_hidden

from . import legacy_fixes, symbolic_shapes
from .error import ConversionError, Problem, Unsupported
from .import_state import (
    FOLDED,
    INLINE,
    ImportedSubgraph,
    ImportedValue,
    ImportState,
    dtype_attribute,
    parameter_attributes,
)
from .onnx_types import code_of, declared_spec, dtype_of, known_dims
from .proto_nodes import attribute_of, function_key, standard_of, topological_order
from .registry import FAMILY, NOT_IMPORTED, STANDARD, earlier_import_handler, family_name, import_handler
from .schemas import attribute_types, misfit, missing_inputs, well_formed

DEPTH = 32
"""Functions within functions, at most."""
EXPANDED = 200_000
"""Nodes of functions that are read, at most: functions that call each other twice each double them at every level."""

_IGNORED = frozenset(("consumed_inputs",))  # attributes of opset 1 that helped to plan memory


class NoReading(Unsupported):
    """There is nothing that reads the operator."""


class _Reported(Unsupported):
    """A node cannot be read because of something in its subgraphs, which has been noted."""


class Importer:
    """The context that readings write with, for one graph: ``g.relu(x)`` applies MXNet's operator and gives its output as an
    ImportedValue.

    Its scope holds the tensors by name; what it does not hold is looked for in the graph around it."""

    def __init__(
        self,
        shared: ImportState,
        opsets: Mapping[str, int],
        outer: Importer | None = None,
        *,
        inline: bool = False,
        function: tuple[str, str, str] | None = None,
    ):
        self.shared, self.opsets, self.outer = shared, opsets, outer
        self.inline = inline or function is not None
        """True when its nodes belong to the graph around it: the body of a function, or a branch that is always taken."""
        self.closed = function is not None
        """True when it sees nothing of the graph around it: the body of a function."""
        self.function = function
        self.scope: dict[str, ImportedValue] = {}
        self.captured: dict[tuple[int, int], tuple[ImportedValue, Node]] = {}
        self.node: onnx.NodeProto = onnx.NodeProto()
        self.domain = ""
        self.depth = 0 if outer is None else outer.depth + 1
        self.absent: frozenset[str] = frozenset()
        """Inputs of a function that its call leaves out."""
        self._made: list[Node] = []
        self._references: Mapping[str, AttributeProto] = {} if outer is None or self.closed else outer._references

    # -- what readings ask -----------------------------------------------------------------------------------------------

    @property
    def opset(self) -> int:
        """The version of the standard's operators that the model is written in."""
        return self.opsets.get("", 1)

    @property
    def outputs(self) -> int:
        """Number of outputs of the node that are named; those left out in between count."""
        return len(self.node.output)

    def wants(self, index: int) -> bool:
        """True when an output of the node is named."""
        return index < len(self.node.output) and bool(self.node.output[index])

    def is_read(self, index: int) -> bool:
        """True when something may read an output of the node: a node of the model or an output of it. Of bodies always."""
        return self.outer is not None or self.node.output[index] in self.shared.read

    def sized(self, size: Any, dtype: np.dtype | None) -> tuple[ImportedValue, int] | None:
        """An input of the model of that dtype that has a size known only at run time, and at which axis; None inside of
        subgraphs and functions."""
        found = self.shared.sizes.get(size, ()) if self.outer is None else ()
        return next(((value, axis) for value, axis in found if dtype is not None and value.dtype == dtype), None)

    def note_fix(self, what: str, *, changes_numerics: bool = False) -> None:
        """Note that something in the file was wrong, and how it was put right. departs: runtimes may compute other numbers from the
        file as it stands."""
        self.shared.repairs.append(f"{self.label}: {what}")
        self.shared.changes_numerics |= changes_numerics

    def note_ambiguity(self, what: str) -> None:
        """Note that the file leaves something open, and how it was read."""
        self.shared.doubts.append(f"{self.label}: {what}")

    def note_training(self, what: str) -> None:
        """Note of the node being read what is to be known before the network is trained."""
        self.shared.training.setdefault(what, []).append(self.label)

    @property
    def label(self) -> str:
        """The node being read, for messages: its name or that of its first output."""
        return self.node.name or next((o for o in self.node.output if o), "") or self.node.op_type

    # -- values ----------------------------------------------------------------------------------------------------------

    def const(self, value: Any, dtype: Any = None, name: str = "") -> ImportedValue:
        """A constant; part of the graph only when something reads it as a tensor.

        Raises Unsupported for what the dtype does not hold."""
        try:
            array = np.asarray(value, dtype)
        except (ValueError, OverflowError):
            raise Unsupported(f"got {value}, wanted what {dtype} holds") from None
        return ImportedValue(name, array.shape, array.dtype, array)

    def entry(self, value: ImportedValue, *, family: bool = False) -> Entry:
        """Entry of the value in the graph. A constant becomes a parameter, or for the family's own operators a constant node
        if it is small and no float, or not to be trained and of one element."""
        if value.entry is not None:
            return value.entry
        array = value.const
        if array is None:
            raise Unsupported(f"{value.name} has no value")
        inlined = (
            family and not value.weight and array.size <= INLINE and (array.dtype.kind in "iubO" or array.size == 1)
        )
        if inlined or array.dtype.kind == "O":
            op = REGISTRY[f"{FAMILY}Constant"].bind(value=array)
            return Entry(Node(op, self.shared.unique(value.name or f"{self.label}_constant"), (), op.dump()))
        return self._parameter(value)

    def _parameter(self, value: ImportedValue) -> Entry:
        """The variable of a stored array, as this graph sees it. Parameters belong to the graph around everything."""
        shared, array, name = self.shared, value.const, value.name
        assert array is not None
        known = shared.parameters.get(id(array))
        if known is None:
            name = shared.stored.get(id(array)) or shared.unique(name or f"{self.label}_constant")
            attrs = parameter_attributes(array, trained=value.weight, held=id(array) in shared.held)
            shared.params[name] = array
            known = shared.parameters[id(array)] = Entry(Node(None, name, (), attrs))
        return self._capture_through(ImportedValue(name, value.shape, value.dtype, None, known))

    def _capture_through(self, value: ImportedValue) -> Entry:
        """Entry that stands here for a value of the outermost graph: every graph in between captures it."""
        if self.outer is None:
            assert value.entry is not None
            return value.entry
        if self.inline:
            return self.outer._capture_through(value)
        return self._capture(
            ImportedValue(value.name, value.shape, value.dtype, None, self.outer._capture_through(value))
        )

    def find(self, name: str) -> ImportedValue | None:
        """The tensor of that name, here or in the graph around; None for a name that nothing has."""
        here = self.scope.get(name)
        if here is not None or self.outer is None or self.closed:
            return here
        found = self.outer.find(name)
        if found is None or found.const is not None or self.inline:
            return found
        inside = ImportedValue(name, found.shape, found.dtype, None, self._capture(found), kind=found.kind)
        inside.partial, inside.dims = found.partial, symbolic_shapes.dims(found)
        self.scope[name] = (
            inside  # by the name asked for: inside a function it is called otherwise than where it was made
        )
        return inside

    def left_out(self, name: str) -> bool:
        """True for an input of a function which its call leaves out."""
        if not name or name in self.absent:
            return True
        return self.outer is not None and not self.closed and name not in self.scope and self.outer.left_out(name)

    def _capture(self, found: ImportedValue) -> Entry:
        """The variable by which this subgraph takes a value of the graph around it."""
        assert found.entry is not None
        key = id(found.entry.node), found.entry.index
        if key not in self.captured:
            name = self.shared.unique(f"{found.name or 'value'}_outer")
            self.captured[key] = found, Node(None, name, (), dtype_attribute(found.dtype))
        return Entry(self.captured[key][1])

    def own_copy(self, value: ImportedValue, name: str, *, weight: bool) -> ImportedValue:
        """A stored tensor as a parameter of its own."""
        assert value.const is not None
        made = self.const(value.const.copy(), name=name)
        made.weight = weight
        return made

    def is_sole_reader(self, value: ImportedValue) -> bool:
        """True when nothing else in the model's own graph reads what holds a constant's numbers; within other graphs always."""
        if self.outer is None and any(source == value.name for source, _ in self.shared.relaid.values()):
            return False
        readers = self.shared.readers.get(value.name) if self.outer is None else None
        same = self.shared.stored.get(id(value.const), value.name) == value.name
        return self.outer is not None or not value.weight or (same and (readers is None or len(readers) == 1))

    @property
    def outermost(self) -> bool:
        """True when the nodes being read belong to the model's own graph, not to one within it."""
        return self.outer is None or (self.inline and self.outer.outermost)

    # -- nodes -----------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or name not in REGISTRY:
            raise AttributeError(name)
        return lambda *inputs, **attrs: self.apply(name, *inputs, **attrs)

    def apply(self, name: str, *inputs: ImportedValue, subgraphs: Sequence[ImportedSubgraph] = (), **attrs: Any) -> Any:
        """Append a node that applies an operator; gives its Value, or a tuple when it has several visible outputs. Attributes of
        which the name begins with two underscores are the node's, not the operator's.

        Constants in, constant out: small results are computed here and now, unless a parameter is among the inputs."""
        cls = REGISTRY[name]
        own = {k: attrs.pop(k) for k in [*attrs] if is_hidden(k)}
        if cls.inputs[:1] and cls.inputs[0].startswith("*") and cls.count in cls.fields:
            attrs.setdefault(cls.count, len(inputs) + len(subgraphs))
        op = cls.bind(**attrs)
        if len(op.input_names()) != len(inputs):
            raise Unsupported(
                f"{name} takes {len(op.input_names())} inputs ({', '.join(op.input_names())}), got {len(inputs)}"
            )
        folded = None if subgraphs else self._fold(op, inputs)
        if folded is not None:
            return folded[0] if op.num_visible_outputs() == 1 else tuple(folded[: op.num_visible_outputs()])
        family = name.startswith(FAMILY)
        entries = [self.entry(v, family=family) for v in inputs]
        node = Node(op, self.label, entries, {**op.dump(), **own}, [b.graph for b in subgraphs])
        self._made.append(node)
        specs = self._infer(node, inputs)
        results = [ImportedValue("", s.shape, s.dtype, None, Entry(node, i)) for i, s in enumerate(specs)]
        symbolic_shapes.through(op, inputs, results)
        return results[0] if op.num_visible_outputs() == 1 else tuple(results[: op.num_visible_outputs()])

    def adopt(self, graph: Graph, known: Iterable[Node], likes: Iterable[ImportedValue]) -> list[ImportedValue]:
        """The outputs of a graph that was made otherwise than by apply, each with the shape and dtype of a value. Its nodes that
        were not known become parts of the node being read."""
        there = {id(n) for n in known}
        self._made += [n for n in graph.nodes if id(n) not in there and not n.is_variable]
        return [ImportedValue("", v.shape, v.dtype, None, e) for e, v in zip(graph.outputs, likes)]

    def _fold(self, op: Op, inputs: Sequence[ImportedValue]) -> list[ImportedValue] | None:
        if (op.needs and set(op.needs) - {"values", "training"}) or op.mutates:
            return None
        if not inputs or any(v.const is None or v.weight for v in inputs):
            return self._from_shapes(op, inputs)
        if sum(v.const.size for v in inputs if v.const is not None) > FOLDED:
            return None
        shapes = self._infer(Node(op, self.label, [Entry(Node(None, "")) for _ in inputs]), inputs)
        if any(s.shape is not None and is_known(s.shape) and np.prod(s.shape, dtype=float) > FOLDED for s in shapes):
            return None
        blank = [Spec()] * len(op.output_names())
        arrays = apply(op, [v.const for v in inputs if v.const is not None], blank, name=self.label)
        if any(a.dtype.kind == "O" and not a.ndim and not isinstance(a[()], str) for a in arrays):
            return None  # a sequence is no constant
        return [ImportedValue("", a.shape, a.dtype, a) for a in arrays]

    def _from_shapes(self, op: Op, inputs: Sequence[ImportedValue]) -> list[ImportedValue] | None:
        """Outputs that follow from the shapes of the inputs alone, or from them and constants (Shape, Size)."""
        if type(op).infer_value is Op.infer_value or any(v.weight for v in inputs[1:]):
            return None
        found = op.infer_value([None if v.weight else v.const for v in inputs], [v.shape for v in inputs])
        return None if found is None else [ImportedValue("", found.shape, found.dtype, found)]

    def _infer(self, node: Node, inputs: Sequence[ImportedValue]) -> list[Spec]:
        """Infer the specs of a node's outputs. Raises Unsupported when the inputs do not fit it."""
        count = len(node.outputs)
        try:
            dtypes = node_dtypes(node, [v.dtype for v in inputs], [None] * count)[len(inputs) :]
            known = [v.const if v.const is not None and v.const.size <= INLINE else None for v in inputs]
            if getattr(node.op, "partial", False):
                known = [symbolic_shapes.with_unknown(v) if k is None else k for k, v in zip(known, inputs)]
            shapes = node_shapes(node, [v.shape for v in inputs], [None] * count, known)[len(inputs) :]
        except MXNetError as error:
            raise Unsupported(str(error)) from error
        return [Spec(s, d) for s, d in zip(shapes, dtypes)]

    def passthrough(self, *inputs: ImportedValue | None, **attributes: Any) -> Any:
        """The node as it stands: the operator of the family by its name, with these inputs and ONNX attributes."""
        name = family_name(self.node.op_type, self.domain)
        cls = REGISTRY[name]
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        fields = {}
        for key, value in attributes.items():
            if key not in cls.fields:
                raise Unsupported(
                    f"attribute {key} is not known to {self.node.op_type}; it takes {', '.join(cls.fields)}"
                )
            kind = cls.fields[key].kind
            kind = kind.kind if isinstance(kind, Optional) else kind
            if isinstance(kind, DTypeKind) and isinstance(value, int):
                value = dtype_of(value)
            fields[key] = value
        optional = getattr(cls, "optional", ())
        if optional:
            fields["given"] = tuple(n for n, v in zip(cls.inputs, given) if n in optional and v is not None)
        if "num_outputs" in cls.fields and "num_outputs" not in fields:
            fields["num_outputs"] = self.outputs
        if not cls.inputs[:1] or not cls.inputs[0].startswith("*"):
            missing = [
                n for n, v in zip(cls.inputs, [*given, *[None] * len(cls.inputs)]) if v is None and n not in optional
            ]
            if missing or len(given) > len(cls.inputs):
                raise Unsupported(f"got {len(given)} inputs, wanted {', '.join(cls.inputs)}")
        return self.apply(name, *(v for v in given if v is not None), **fields)

    # -- subgraphs ---------------------------------------------------------------------------------------------------------

    def body(
        self,
        proto: onnx.GraphProto,
        specs: Sequence[Spec | ImportedValue | None] = (),
        kinds: Sequence[onnx.TypeProto | None] = (),
    ) -> ImportedSubgraph:
        """A subgraph, read. specs: what is known of its inputs, None where that is what they declare; kinds: types of inputs that
        declare none."""
        inner = Importer(self.shared, self.opsets, self)
        if inner.depth > DEPTH:
            raise Unsupported(f"graphs are nested deeper than {DEPTH}")
        inner.initializers(proto)
        formal = []
        for index, info in enumerate(proto.input):
            spec = specs[index] if index < len(specs) else None
            declared = declared_spec(info.type)
            shape = known_dims(declared.shape) if spec is None else spec.shape
            dtype = declared.dtype if spec is None or spec.dtype is None else spec.dtype
            node = Node(None, self.shared.unique(info.name), (), dtype_attribute(dtype))
            formal.append(node)
            kind = info.type if info.type.WhichOneof("value") else kinds[index] if index < len(kinds) else None
            value = ImportedValue(info.name, shape, dtype, None, Entry(node), kind=kind)
            if identical(shape, ()) and identical(known_dims(declared.shape), (1,)):
                # tf2onnx declares the counter of a Loop so, and uses it so; onnxruntime gives it as declared
                value = inner.expand_dims(value, axis=0)
                value.name = info.name
                value.entry.node.name = self.shared.unique(f"{info.name}_1d")
            inner.scope[info.name] = value
        results = inner._made_by(proto)
        graph = Graph(inner._result(v) for v in results)
        captured = inner.captured.values()
        place = {id(n): i for i, n in enumerate((*formal, *(node for _, node in captured)))}
        return ImportedSubgraph(
            graph,
            tuple(place[id(n)] for n in graph.variables()),
            tuple(value for value, _ in captured),
            len(formal),
            results,
        )

    def branch(self, proto: onnx.GraphProto) -> tuple[ImportedValue, ...]:
        """Outputs of a subgraph without inputs, its nodes read as part of this graph."""
        inner = Importer(self.shared, self.opsets, self, inline=True)
        inner.initializers(proto)
        return inner._made_by(proto)

    def _made_by(self, proto: onnx.GraphProto) -> tuple[ImportedValue, ...]:
        """The outputs of a subgraph whose inputs and initializers are there. Raises _Reported when it cannot be read."""
        problems = len(self.shared.problems)
        self.walk(proto.node)
        results = []
        for info in proto.output:
            value = self.find(info.name)
            if value is None:
                raise Unsupported(f"the subgraph's output {info.name} is made by nothing")
            if value.kind is None and info.type.WhichOneof("value") not in (None, "tensor_type"):
                value.kind = info.type
            results.append(value)
        if len(self.shared.problems) > problems:
            raise _Reported("its subgraph cannot be read")
        return tuple(results)

    def _result(self, value: ImportedValue) -> Entry:
        return self.entry(value, family=True)

    # -- the walk ----------------------------------------------------------------------------------------------------------

    def initializers(self, graph: onnx.GraphProto) -> None:
        """Put the graph's stored tensors into the scope; floats are weights wherever they stand, single numbers aside."""
        own = self.outer is None
        relaid = self.shared.relaid if own else {}
        for tensor in graph.initializer:
            if tensor.name not in relaid:
                array = self.shared.arrays[tensor.name] if own else self.shared.file.array(tensor)
                self._store(tensor.name, array)
        for sparse in graph.sparse_initializer:
            self._store(sparse.values.name, self.shared.file.sparse(sparse))
        for name, (source, axes) in relaid.items():
            self._lay_out(name, self.scope[source], axes, self.shared.arrays[name].shape)

    def _lay_out(self, name: str, source: ImportedValue, axes: tuple[int, ...], shape: tuple[int, ...]) -> None:
        """Put a tensor into the scope that is a parameter with its axes in another order, reshaped."""
        self.node, self._made = onnx.helper.make_node("Transpose", [source.name], [name], name=name), []
        self.domain, made = "", source
        if axes != tuple(range(len(axes))):
            made = self.apply("transpose", made, axes=axes)
        if made.shape != shape:
            made = self.apply("Reshape", made, shape=shape)
        self._name_results(self.node, [made])
        self.shared.training.setdefault(
            "another layout of a parameter, stored beside it, and one with it here", []
        ).append(f"{name} of {source.name}")

    def _store(self, name: str, array: np.ndarray) -> None:
        trained = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
        self.scope[name] = ImportedValue(name, array.shape, array.dtype, array, weight=trained and array.ndim > 0)
        if self.outer is None:
            self.shared.stored[id(array)] = name
            if trained:
                self.shared.judge(name, array)

    def walk(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """Read nodes, inputs before users whatever their order in the file."""
        listed = list(nodes)
        order = topological_order(listed)
        if any(a is not b for a, b in zip(order, listed)):
            self.shared.repairs.append("nodes stood before what they read: put in order")
        for node in order:
            self._read(node)

    def _read(self, proto: onnx.NodeProto) -> None:
        self.node, self._made = proto, []
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        try:
            if not proto.output:
                raise Unsupported("got no outputs, wanted one at least; export the model again")
            inputs = [self._input(name) for name in proto.input]
            attributes, problems = self._attributes(proto)
            found = self._translate(inputs, attributes, problems)
            results = list(found) if isinstance(found, tuple | list) else [found]
            self._follow(inputs, attributes, results)
            further = [o for o in proto.output[len(results) :] if o]
            if further:
                raise Unsupported(f"output {further[0]} is not computed")
        except InternalError:
            raise
        except (Unsupported, ConversionError, MXNetError) as error:
            # what follows from a node that could not be read is no problem of its own
            follows = isinstance(error, _Reported) or any(map(self._is_stand_in, proto.input))
            results = self._stand_in(str(error), reported=follows and not isinstance(error, NoReading))
        except MemoryError as error:
            results = self._stand_in(f"memory does not suffice: {error}")
        except Exception as error:
            raise InternalError(
                f"{self.label} ({proto.op_type}): its reading failed ({type(error).__name__}: {error}); "
                "this is a bug, please report it"
            ) from error
        if self.shared.unread and any(map(self._is_stand_in, proto.input)):
            self.shared.unread.update((id(node), node) for node in self._made)
        self._name_results(proto, results)

    def _attributes(self, proto: onnx.NodeProto) -> tuple[dict[str, Any], list[str]]:
        """The attributes of a node by name, in the forms that its schema gives them; and the faults of others."""
        values = {a.name: attribute_of(a, self._references, self.shared.file) for a in proto.attribute}
        given = {k: v for k, v in values.items() if v is not None and k not in _IGNORED}
        opset = self.opsets.get(self.domain, 1)
        if not self.domain:
            given = legacy_fixes.with_dtypes(self, given, opset)
        types = attribute_types(proto.op_type, opset, self.domain, False)
        if not types or not given.keys() <= types.keys():
            types = attribute_types(proto.op_type, opset, self.domain)
        known = types or self._function() is not None
        reading = None if known else import_handler(self.domain, proto.op_type, opset)
        return well_formed(types if reading is None else reading.types, given)

    def _function(self) -> onnx.FunctionProto | None:
        """The model's function that says what the node computes. A reading that a user has registered, for a domain of their
        own, goes before it (docs/plugins.md); where the model defines an operator of ours anew, the model's word counts."""
        function = self.shared.functions.get(function_key(self.node))
        if function is None or self.domain in STANDARD:
            return function
        return None if import_handler(self.domain, self.node.op_type, self.opsets.get(self.domain, 1)) else function

    def _stand_in(self, reason: str, *, reported: bool = False) -> list[ImportedValue | None]:
        """Stand-ins for the outputs of the node being read, which cannot be. reported: a problem says so already."""
        if not reported:
            self.shared.problems.append(Problem(self.label, self.node.op_type, reason))
        names = self.node.output
        node = Node(UnknownOp(self.node.op_type, 0, len(names), reason), self.label)
        self.shared.unread[id(node)] = node
        return [ImportedValue(name, None, None, None, Entry(node, i)) for i, name in enumerate(names)]

    def _follow(
        self, inputs: Sequence[ImportedValue | None], attributes: Mapping[str, Any], results: list[ImportedValue | None]
    ) -> None:
        """Note what of a node's whole numbers follows from sizes that only the run will tell."""
        first = results[0] if results else None
        if self.domain or first is None or first.const is not None:
            return
        symbolic_shapes.note_shape(self.node.op_type, inputs, first)
        found = symbolic_shapes.follow(self.node.op_type, inputs, attributes, first)
        if found is not None:
            first.partial = found
            numbers = found.reshape(-1)
            if not any(isinstance(n, symbolic_shapes.Count) for n in numbers) and all(
                _fits(n, first.dtype) for n in numbers
            ):
                array = found.astype(first.dtype)
                results[0] = ImportedValue("", array.shape, array.dtype, array)

    def _input(self, name: str) -> ImportedValue | None:
        if self.left_out(name):
            return None
        found = self.find(name)
        if found is None:
            raise Unsupported(f"its input {name} is neither an input of the model, a parameter, nor made by a node")
        return found

    def _is_stand_in(self, name: str) -> bool:
        """True when a tensor stands for the output of a node that could not be read, or follows from one."""
        found = self.find(name) if name else None
        return found is not None and found.entry is not None and id(found.entry.node) in self.shared.unread

    def _name_results(self, proto: onnx.NodeProto, results: Sequence[ImportedValue | None]) -> None:
        """Name what has been made: the node after itself or its first output, and its parts after it."""
        final = {id(v.entry.node) for v in results if v is not None and v.entry is not None}
        if self._made:
            first = next((o for o in proto.output if o), "")
            own = first.removesuffix("_output") if len(first) > 7 else first
            # what the model gives goes by the name it is known by, whatever its node is called
            base = own if self.outer is None and first in self.shared.results else proto.name or own
            for node in reversed(self._made):
                # the node that gives the results goes by the name; others are its parts
                assert node.op is not None
                node.name = self.shared.unique(base if id(node) in final else f"{base}/{node.op.name.strip('_')}")
        for name, value in zip(proto.output, results):
            if name and value is not None:
                known = ImportedValue(
                    name, value.shape, value.dtype, value.const, value.entry, weight=value.weight, kind=value.kind
                )
                known.partial, known.dims, known.parts, known.rows = value.partial, value.dims, value.parts, value.rows
                self.scope[name] = known

    def _translate(self, inputs: list[ImportedValue | None], attributes: dict[str, Any], problems: list[str]) -> Any:
        """Results of the node. problems: faults that have been found in it so far."""
        name = self.node.op_type
        function = self._function()
        if function is not None:
            return self.expand(function, inputs)
        opset = self.opsets.get(self.domain, 1)
        problems += [f"input {missing} is left out" for missing in missing_inputs(name, opset, self.domain, inputs)]
        if not self.domain and not problems:
            inputs, attributes, opset = legacy_fixes.fix_node(self, inputs, attributes, opset)
        reading = import_handler(self.domain, name, opset)
        if reading is None:
            if problems:
                raise Unsupported("; ".join(problems))
            standard = standard_of(
                self.node, self.domain, opset, lambda: [_type_of(self._input(n)) for n in self.node.input]
            )
            if standard is not None:
                return self.expand(standard, inputs)
            reason = NOT_IMPORTED.get((self.domain, name))
            where = f" of domain {self.domain}" if self.domain else ""
            foreign = "" if self.domain else _unheard(name, opset)
            own = f", domain={self.domain!r}" if self.domain else ""
            hint = f"define one in a plug-in (--plugin FILE.py) with converters.registry.imports({name!r}{own})"
            raise NoReading(reason or f"no reading for {name}{where} at opset {opset}{foreign}; {hint}")
        while inputs and inputs[-1] is None:
            inputs.pop()
        unknown = [a for a in attributes if a not in reading.attributes]
        if unknown and not reading.everything:
            earlier = earlier_import_handler(self.domain, name, opset, attributes)
            if earlier is not None:
                self.note_fix(f"attribute {', '.join(unknown)} belongs to an older opset than {opset}: read as there")
                reading, unknown = earlier, []
        if unknown and not reading.everything:
            known = ", ".join(sorted(reading.attributes)) or "none"
            problems.append(f"unknown attribute {', '.join(unknown)} (at opset {opset} it takes {known})")
        missing = sorted(reading.required - set(attributes))
        if missing:
            problems.append(f"attribute {', '.join(missing)} is required")
        most = len(inputs) if reading.most is None else reading.most
        if not reading.least <= len(inputs) <= most:
            wanted = "any number" if reading.most is None else most
            problems.append(f"got {len(inputs)} inputs, wanted {reading.least} to {wanted}")
        wrong = misfit(name, opset, self.domain, [None if v is None else v.dtype for v in inputs])
        if wrong:
            problems.append(wrong)
        if problems:
            raise Unsupported("; ".join(problems))
        return legacy_fixes.fix_output(self, reading.handler(self, *inputs, **attributes))

    def expand(
        self, function: onnx.FunctionProto, inputs: Sequence[ImportedValue | None]
    ) -> list[ImportedValue | None]:
        """The outputs of a function's nodes, read in a scope of their own that belongs to this graph."""
        opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in function.opset_import}
        key = function_key(function)
        within: Importer | None = self
        while within is not None:
            if within.function == key:
                raise Unsupported(
                    f"the function {function.name} calls itself, wanted functions that end; write it as a Loop"
                )
            within = within.outer
        inner = Importer(self.shared, {**self.opsets, **opsets}, self, function=key)
        if inner.depth > DEPTH:
            raise Unsupported(f"functions call each other deeper than {DEPTH}")
        self.shared.expanded += len(function.node)
        if self.shared.expanded > EXPANDED or self.shared.expansion(function, DEPTH) > EXPANDED:
            raise Unsupported(f"the model's functions expand to more than {EXPANDED} nodes")
        references = {a.name: a for a in function.attribute_proto}
        for attribute in self.node.attribute:
            resolved = attribute
            if attribute.ref_attr_name:
                if attribute.ref_attr_name not in self._references:
                    continue
                resolved = self._references[attribute.ref_attr_name]
            references[attribute.name] = resolved
        inner._references = references
        for formal, value in zip(function.input, inputs):
            if value is not None:
                inner.scope[formal] = value
        inner.absent = frozenset(function.input) - set(inner.scope)
        problems = len(self.shared.problems)
        inner.walk(function.node)
        if len(self.shared.problems) > problems:
            inside = self.shared.problems[problems:]
            del self.shared.problems[problems:]
            raise Unsupported(f"in the function {function.name}: {'; '.join(map(str, inside))}")
        return [inner.find(name) for name in function.output]


def _fits(number: int, dtype: np.dtype | None) -> bool:
    """True when a dtype, if it is one of whole numbers, has that number."""
    return dtype is None or dtype.kind not in "iu" or np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def _unheard(name: str, opset: int) -> str:
    """Words for an operator that ONNX lacks at an opset."""
    if not onnx.defs.has(name):
        return ", an operator that ONNX has never had"
    versions = [s.since_version for s in onnx.defs.get_all_schemas_with_history() if not s.domain and s.name == name]
    return f", which ONNX has had since opset {min(versions)}" if min(versions) > opset else ""


def _type_of(value: ImportedValue | None) -> onnx.TypeProto:
    """The type of an input for a definition that depends on it. Raises Unsupported where it is not known."""
    if value is None:
        return onnx.TypeProto()
    if value.kind is not None:
        return value.kind
    if value.dtype is None:
        raise Unsupported(f"the dtype of {value.name} is not known")
    dims = None if value.shape is None else [None if d is UNKNOWN else d for d in value.shape]
    return onnx.helper.make_tensor_type_proto(code_of(value.dtype), dims)
