"""The state of an import: the tensors and subgraphs of the model, what the walks through it share; and the result."""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
import onnx

from hybrid.core.attrs import declare_dtype
from hybrid.core.op import Spec
from hybrid.core.shapes import MaybeShape, show
from hybrid.ir.graph import Entry, Graph, Node

from . import symbolic_shapes
from .error import ConversionError, Problem, Unsupported
from .held import DOUBTFUL, HELD, SINGLE, THROUGH, is_doubtful, is_held, is_single
from .legacy_fixes import MXNET_GRAPH
from .names import Names
from .proto_nodes import function_key, reads, stored_tensors
from .reader import OnnxFile
from .stored_names import MXNET, equal, is_made_up, relaid

_PREPARING = frozenset(("Cast", "Identity", "Transpose", "Slice", "Split", "Gather", "Sub", "Div"))
"""Operators by which an input becomes what the network wants."""
FOLDED = 4096
"""Elements up to which the result of an operator on constants is computed when reading."""
INLINE = 1024
"""Elements up to which whole numbers, truth values and words that the family reads are part of the graph."""


class ImportedValue:
    """A tensor of the model being read.

    shape: dims with UNKNOWN for those only known at run time; None when the rank is not known. const: the array, when it is known
    now. weight: whether that is a parameter, which training changes, and not a number that belongs to the model's structure.
    dims: the shape with Counts for what is not known, which say what it depends on (symbolic_shapes.py); partial: likewise for
    what is in a small tensor of whole numbers, as an object array. Either is None when nobody has asked or nothing is
    known. kind: the declared type of what is no tensor. parts: the elements of a sequence that is made within the graph. rows:
    where a loop has made them, the tensor of which they are the slices along its first axis.
    """

    __slots__ = ("const", "dims", "dtype", "entry", "kind", "name", "partial", "parts", "rows", "shape", "weight")

    def __init__(
        self,
        name: str,
        shape: MaybeShape = None,
        dtype: np.dtype | None = None,
        const: np.ndarray | None = None,
        entry: Entry | None = None,
        *,
        weight: bool = False,
        kind: onnx.TypeProto | None = None,
    ):
        self.name, self.shape, self.dtype, self.const, self.entry = name, shape, dtype, const, entry
        self.weight, self.kind = weight, kind
        self.dims: tuple[Any, ...] | None = None
        self.partial: np.ndarray | None = None
        self.parts: tuple[ImportedValue, ...] | None = None
        self.rows: ImportedValue | None = None

    @property
    def rank(self) -> int:
        """Raises Unsupported when it is not known."""
        if self.shape is None:
            raise Unsupported(f"the rank of {self.name} is not known")
        return len(self.shape)

    @property
    def fixed(self) -> bool:
        """True for a constant that training does not change."""
        return self.const is not None and not self.weight

    def ints(self) -> list[int]:
        """The whole numbers that a constant holds. Raises Unsupported when it is none."""
        if self.const is None:
            raise Unsupported(f"{self.name} is only known at run time")
        return [int(v) for v in self.const.reshape(-1)]

    def item(self) -> Any:
        """The one number that a constant holds. Raises Unsupported when it is none, or does not have one element."""
        if self.const is None:
            raise Unsupported(f"{self.name} is only known at run time")
        if self.const.size != 1:
            raise Unsupported(f"got {self.name} of shape {show(self.shape)}, wanted one number")
        return self.const.item()

    def normalize_axis(self, axis: int) -> int:
        """The axis counted from the first; negative ones count from behind. Raises Unsupported when there is no such axis."""
        if not -self.rank <= axis < self.rank:
            raise Unsupported(f"got axis {axis} for {self.rank} dimensions")
        return axis % self.rank

    def __repr__(self) -> str:
        return f"ImportedValue({self.name}, {self.shape}, {self.dtype})"


class ImportedSubgraph(NamedTuple):
    """A subgraph as a node of control flow holds it."""

    graph: Graph
    reads: tuple[int, ...]
    """Values of the graph's variables, in their order: places in the subgraph's inputs followed by ``captured``."""
    captured: tuple[ImportedValue, ...]
    """Values of the graph around it that it reads."""
    inputs: int
    """Number of inputs of the subgraph."""
    results: tuple[ImportedValue, ...]


class Imported(NamedTuple):
    """A model that has been read."""

    graph: Graph
    params: dict[str, np.ndarray]
    inputs: dict[str, Spec]
    """Of the model, in order, those that nothing reads included; dims without a value are strings (their name or "?")."""
    outputs: tuple[str, ...]
    """The names that the model gives its outputs."""
    tensors: dict[str, Entry]
    """Entries of the model's tensors in the graph."""
    repairs: tuple[str, ...]
    """Faults of the file that have been put right."""
    opset: int
    kinds: dict[str, onnx.TypeProto]
    """The declared types of inputs and outputs."""
    doubts: tuple[str, ...] = ()
    """Questions that the file leaves open although the numbers depend on them, and how it was read."""
    changes_numerics: bool = False
    """True when repairs change numbers that a runtime computes from the file as it stands."""
    training: dict[str, tuple[str, ...]] = {}
    """Facts to know before it is trained, each with the nodes or parameters that it is of."""


class ImportState:
    """State that the walks through a model, its subgraphs and its functions share."""

    def __init__(self, file: OnnxFile):
        proto = file.proto
        self.file = file
        self.repairs: list[str] = []
        self.doubts: list[str] = []
        self.training: dict[str, list[str]] = {}
        self.changes_numerics = False
        self.dense: set[str] = set()
        """Outputs of dense layers whose data were repaired to be whole images."""
        self.problems: list[Problem] = []
        self.unread: dict[int, Node] = {}
        """Stand-ins for nodes that could not be read, and what was made from them."""
        self.opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in proto.opset_import}
        if not self.opsets:
            self.opsets = {"": 1}
            if proto.ir_version >= 3:
                self.repairs.append("the file names no opset: it is read as opset 1")
        newest = onnx.defs.onnx_opset_version()
        if self.opsets.get("", 0) > newest:
            raise ConversionError(
                f"got a model of opset {self.opsets['']}, wanted 1 to {newest}, the newest that onnx {onnx.__version__} defines: "
                "install a newer onnx, or export the model at an older opset"
            )
        self.functions = {function_key(f): f for f in proto.functions}
        self.params: dict[str, np.ndarray] = {}
        self.parameters: dict[int, Entry] = {}
        """The variables that hold them, by the id of the array."""
        self.results = {o.name for o in proto.graph.output}
        """Outputs of the model."""
        self.expanded = 0
        """Nodes of functions that have been read."""
        self._expansions: dict[tuple[str, str, str], int] = {}
        self.sizes: dict[symbolic_shapes.Count, list[tuple[ImportedValue, int]]] = {}
        """Inputs of the model, with an axis, by the sizes that only the run will tell."""
        self.producer = proto.producer_name or (MXNET if proto.graph.name == MXNET_GRAPH else "")
        self.held: set[int] = set()
        """Stored arrays that are no parameters by all signs, by their ids."""
        self.stored: dict[int, str] = {}
        """Names of the model's own initializers, by the id of the array."""
        names = (t.name for t in (*proto.graph.initializer, *proto.graph.input))
        self.overridden = frozenset(i.name for i in proto.graph.input if proto.ir_version >= 4)
        """Inputs of the model; those that it stores too have that for a default. Before IR 4 all that is stored is an input."""
        self.names = Names((*names, *(s.values.name for s in proto.graph.sparse_initializer)))

    def expansion(self, function: onnx.FunctionProto, depth: int) -> int:
        """Number of nodes that a function becomes with what it calls to this depth, before any is read; those of subgraphs,
        which may never be read, do not count."""
        key = function_key(function)
        if key not in self._expansions:
            self._expansions[key] = 0  # one that calls itself has an error of its own
            called = (self.functions.get(function_key(n)) for n in function.node)
            inside = (self.expansion(f, depth - 1) for f in called if f is not None and depth)
            self._expansions[key] = len(function.node) + sum(inside)
        return self._expansions[key]

    def judge(self, name: str, array: np.ndarray) -> None:
        """Note of a stored tensor of floats whether it is held, and whether that is in doubt."""
        readers = self._final_readers(name)
        if not array.ndim:
            if is_single(name, readers, self.producer):
                self.training.setdefault(SINGLE, []).append(name)
        elif is_held(name, array, readers, self.producer, self._fed):
            self.held.add(id(array))
            self.training.setdefault(HELD, []).append(name)
        elif is_doubtful(name, readers):
            self.training.setdefault(DOUBTFUL, []).append(name)

    def _final_readers(self, name: str) -> list[tuple[onnx.NodeProto | None, int]]:
        """Readers of a tensor, and of what only lays it out otherwise."""
        found, ahead, seen = [], [name], {name}
        while ahead:
            for node, place in self._consumers.get(ahead.pop(), ()):
                if node is None or place or node.op_type not in THROUGH or node.domain:
                    found.append((node, place))
                    continue
                ahead += [o for o in node.output if o not in seen]
                seen.update(node.output)
        return found

    @functools.cached_property
    def _consumers(self) -> dict[str, list[tuple[onnx.NodeProto | None, int]]]:
        """Readers of all tensors of the model's graph, as ``readers`` has them."""
        graph = self.file.proto.graph
        found: dict[str, list[tuple[onnx.NodeProto | None, int]]] = {o.name: [(None, -1)] for o in graph.output}
        for node in graph.node:
            for place, name in enumerate(node.input):
                found.setdefault(name, []).append((node, place))
            for name in itertools.islice(reads(node), sum(map(bool, node.input)), None):
                found.setdefault(name, []).append((node, -1))
        return found

    @functools.cached_property
    def _fed(self) -> frozenset[str]:
        """Inputs of the model, and what is made of them without other numbers, or by subtracting and dividing."""
        graph = self.file.proto.graph
        found = {i.name for i in graph.input} - {t.name for t in graph.initializer}
        for node in graph.node:
            if node.op_type in _PREPARING and not found.isdisjoint(node.input[:1]):
                found.update(node.output)
        return frozenset(found)

    @functools.cached_property
    def merged(self) -> frozenset[str]:
        """Parameters that PyTorch's exporter has not stored, since another one held the same numbers: it writes an Identity of that
        one, under the name of this one. (Of what is one parameter in PyTorch, it writes one name.)"""
        proto = self.file.proto
        if proto.producer_name != "pytorch":
            return frozenset()
        stored = {t.name for t in proto.graph.initializer}
        copies = (
            n for n in proto.graph.node if n.op_type == "Identity" and not n.domain and stored.intersection(n.input[:1])
        )
        return frozenset(o for n in copies for o in n.output[:1] if not is_made_up(o))

    @functools.cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """The model's own initializers, by name."""
        return {t.name: self.file.array(t) for t in self.file.proto.graph.initializer}

    @functools.cached_property
    def relaid(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Stored tensors that are parameters in another layout, as stored_names.relaid gives them."""
        read = {n: r for n, r in self.readers.items() if any(m is None or m.op_type != "Shape" for m, _ in r)}
        arrays = {n: a for n, a in self.arrays.items() if n in read and a.ndim and a.dtype.kind == "f"}
        states = {n for n, r in read.items() if any(m is not None and m.op_type == "BatchNormalization" for m, _ in r)}
        found = relaid(arrays, self.producer)
        for group in equal(arrays, self.producer):
            self.training.setdefault(
                "equal numbers under several names, which are trained as several parameters", []
            ).append(" and ".join(group))
        return {n: f for n, f in found.items() if n not in self.overridden and n not in states}

    @functools.cached_property
    def readers(self) -> dict[str, list[tuple[onnx.NodeProto | None, int]]]:
        """Readers of the model's stored tensors, by name: nodes, and which of their inputs that is (-1 within a subgraph of
        theirs); None for an output of the model."""
        graph = self.file.proto.graph
        constants = (o for n in graph.node if n.op_type == "Constant" for o in n.output)
        stored = (*(t.name for t in graph.initializer), *constants, *self.merged)
        return {name: self._consumers.get(name, []) for name in stored}

    @functools.cached_property
    def trains(self) -> bool:
        """True where a node says that it is in training mode: then those that say they are not have been held back on purpose,
        while in a file for inference none is, and which of them are to train nobody has said."""
        graphs: list[Any] = [self.file.proto.graph, *self.file.proto.functions]
        opset = self.opsets.get("", 1)
        while graphs:
            graph = graphs.pop()
            stored = stored_tensors(graph)
            for node in graph.node:
                graphs += [g for a in node.attribute for g in (a.g, *a.graphs) if g.node]
                if node.op_type == "BatchNormalization" and not node.domain:
                    on = any(a.name == "training_mode" and a.i for a in node.attribute)
                    on |= opset < 14 and sum(map(bool, node.output)) > 1
                else:
                    mode = stored.get(node.input[2]) if node.op_type == "Dropout" and len(node.input) > 2 else None
                    on = mode is not None and bool(self.file.array(mode).any())
                if on:
                    return True
        return False

    @functools.cached_property
    def read(self) -> frozenset[str]:
        """Names of the model's graph that something reads: nodes, those of subgraphs too, and outputs."""
        graph = self.file.proto.graph
        return frozenset(itertools.chain((o.name for o in graph.output), *map(reads, graph.node)))

    def unique(self, name: str) -> str:
        """The name, or the name with a number when it is taken."""
        return self.names.unique(name)


def parameter_attributes(array: np.ndarray, *, trained: bool, held: bool = False) -> dict[str, str]:
    """The hidden attributes of a parameter's variable, as Gluon writes them. One that is not trained, since it is a number of the
    model's structure, learns nothing in MXNet, which knows of rates only. held: it is so until somebody says otherwise."""
    rate = "1.0" if trained and not held else "0.0"
    attrs = {"__shape__": str(array.shape), **dtype_attribute(array.dtype), "__lr_mult__": rate, "__wd_mult__": rate}
    if trained and not held:
        return attrs
    return {**attrs, "__grad_req__": "null", **({"__held__": "1"} if trained else {})}


def dtype_attribute(dtype: np.dtype | None) -> dict[str, str]:
    """The hidden attributes of a variable of a dtype."""
    return {} if dtype is None else {"__dtype__": declare_dtype(dtype)}
