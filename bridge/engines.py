"""The two ways to run a model - our own engine and onnxruntime - behind one face that can also show every tensor inside."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import onnx
from google.protobuf.message import EncodeError
from onnx.external_data_helper import load_external_data_for_model

from converters.error import ConversionError
from converters.names import own_names, unique
from converters.onnx_types import code_of, dtype_of
from converters.proto_nodes import reads
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.core.precision import FLOAT32
from hybrid.core.shapes import is_known, show
from hybrid.execution.hooks import Observer
from hybrid.execution.precision_report import PrecisionReport, report
from hybrid.execution.program import Program
from hybrid.formats.files import write
from hybrid.formats.params import release
from hybrid.ir.facts import Facts
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.passes.strip_labels import label_names

from . import runtime
from .compare import coarsest
from .cut import MADE, cut_out, inner_outputs, widened_model
from .exact import Exact, widen
from .models import BadInput, Model, specs_of_onnx, split_inputs, too_large, without_params

Arrays = dict[str, np.ndarray]

REMEMBERED = 4
"""Runs by NumPy whose outputs are remembered."""
GIVEN = "given/"
"""Prefix of the name of a tensor whose value is given to a part of a graph."""


class EngineError(RuntimeError):
    """An engine could not load or run the model; the text is the engine's own.

    Examples
    --------
    >>> import gluonnx
    >>> import numpy as np
    >>> import onnx
    >>> text = '<ir_version: 8, opset_import: ["mine" : 1]> g (float[2] x) => (float[2] y) { y = mine.Odd(x) }'
    >>> model = onnx.parser.parse_model(text)
    >>> try:
    ...     gluonnx.run(model, {"x": np.float32([1, 2])}, engine="onnxruntime")
    ... except gluonnx.EngineError as error:
    ...     print("mine" in str(error))
    True
    """


class OutOfTime(EngineError):
    """An engine took longer than the time limit: the model may hold a loop without an end."""

    def __init__(self, what: str, limit: object):
        super().__init__(
            f"{what} within {limit}; it may hold a loop without an end: if it does not, allow more (--time-limit, "
            "bridge.set_time_limit)"
        )


T = TypeVar("T")


class Tensor(NamedTuple):
    """A tensor inside a model: who makes it, from which others."""

    name: str
    node: str
    operator: str
    inputs: tuple[str, ...]


def in_groups(items: Iterable[T], size_of: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Items in order, in groups of ``most`` bytes, or of one that is larger."""
    group: list[T] = []
    held = 0
    for item in items:
        size = size_of(item)
        if group and held + size > most:
            yield group
            group, held = [], 0
        group.append(item)
        held += size
    if group:
        yield group


class Part(NamedTuple):
    """A piece of a model: what makes some tensors from others."""

    graph: Graph
    reads: tuple[str, ...]
    """Names of the tensors, inputs and parameters that it is made from."""
    operators: int
    tolerance: float
    """The greatest of its operators' (Op.tolerance)."""


class Engine(Protocol):
    """Protocol of a side of a verification."""

    label: str
    model: Model
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def run(self, feeds: Mapping[str, np.ndarray]) -> Arrays: ...

    def inner_tensors(self) -> list[Tensor]:
        """Every tensor in the order it is made."""
        ...

    def expose(self, feeds: Mapping[str, np.ndarray], names: Iterable[str]) -> Arrays:
        """The values of tensors inside."""
        ...

    def walk(
        self, feeds: Mapping[str, np.ndarray], groups: Sequence[Sequence[str]], visit: Callable[[int, Arrays], None]
    ) -> None:
        """Show the values of each group of tensors, in order, as soon as they are known; visit gets the group's number."""
        ...

    def parameter(self, name: str) -> np.ndarray | None:
        """The parameter of this name; None when there is none."""
        ...

    def free_memory(self) -> None:
        """Give back the memory that runs keep for the next; it is taken again when needed."""
        ...

    def compute_alone(self, tensor: Tensor, given: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """The tensor computed from values given for some others; None when they do not determine it."""
        ...

    def run_forced(self, cut: frozenset[str], values: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        """The tensors ``names`` when all that reads one of ``cut`` reads it from ``values``, node by node as the
        model says."""
        ...

    def exact(
        self,
        cut: frozenset[str],
        values: Mapping[str, np.ndarray],
        name: str,
        jitter: tuple[float, int] | None = None,
        halved: bool = False,
    ) -> np.ndarray | None:
        """As forced, one tensor, in float64; None when that cannot be. jitter, halved: as Exact.run takes them."""
        ...

    def exact_by_oracle(
        self, cut: frozenset[str], values: Mapping[str, np.ndarray], name: str, halved: bool = False
    ) -> np.ndarray | None:
        """As exact, by an evaluator that is not ours; None when there is none. halved: half precision widened
        too."""
        ...

    def part(self, cut: frozenset[str], names: Sequence[str]) -> Part | None:
        """The part that makes the tensors ``names`` when all that reads one of ``cut`` is given its value; None when not known."""
        ...

    def sizes(self, feeds: Mapping[str, np.ndarray]) -> dict[str, int]:
        """Bytes of tensors and of the weights that their nodes read, as far as that is known."""
        ...

    def precision(self, feeds: Mapping[str, np.ndarray]) -> dict[str, str]:
        """For every tensor the name of the coarsest dtype that it or anything it is computed from was rounded to."""
        ...


def _describe(node: Node) -> str:
    return f"node {node.name} ({node.op.name if node.op else 'variable'})"


def outputs_by_numpy(
    graph: Graph,
    params: Mapping[str, np.ndarray],
    feeds: Mapping[str, np.ndarray],
    observe: Observer | None = None,
    facts: Facts | None = None,
) -> list[np.ndarray]:
    """The outputs of one run by NumPy, without kernels, of which nothing is kept. The rest as Program and its run take it."""
    program = Program(graph, params, native=False, facts=facts)
    outputs = program.run(feeds, observe)
    program.forget()
    return outputs


class NativeEngine:
    """Our own engine, on a symbol with parameters."""

    label = "gluonnx"

    def __init__(
        self, model: Model, named: Mapping[str, Any] | None = None, precision: str = FLOAT32, plain: bool = False
    ):
        """precision: of constant weights; whoever compares leaves it alone. plain: by NumPy, without kernels."""
        if model.graph is None:
            raise BadInput(f"{model.name}: ONNX models run on onnxruntime; choose --engine onnxruntime")
        self.model, self.graph = model, model.graph
        self.plain = plain
        self.program = Program(model.graph, model.params, facts=model.facts, precision=precision, native=not plain)
        free, missing = split_inputs(model, named or {})
        if missing:
            raise without_params(model, missing)
        self.inputs = tuple(free)
        self._cut: tuple[frozenset[str], dict[str, Entry]] | None = None
        self._zeros: dict[Any, np.ndarray] = {}
        self._by_numpy: deque[tuple[Arrays, list[np.ndarray]]] = deque(maxlen=REMEMBERED)
        self.outputs = unique(map(self._called, self.graph.outputs))

    def _called(self, entry: Entry) -> str:
        """The name of a node's output as in the model that the graph was read from, which others may have too."""
        return self.model.names.get(entry.name, entry.name)

    @functools.cached_property
    def _own_names(self) -> dict[tuple[int, int], str]:
        return own_names(self.graph, self._called)

    def name_of(self, entry: Entry) -> str:
        """The name of a node's output, which no other one has."""
        return self._own_names.get((id(entry.node), entry.index)) or self._called(entry)

    def run(self, feeds: Mapping[str, np.ndarray]) -> Arrays:
        complete = self.complete(feeds)
        problems = too_large((_describe(entry.node), spec) for entry, spec in self.specs(complete))
        if problems:
            raise BadInput(*problems)
        return tensors(zip(self.outputs, self.program.run(complete)))

    def run_by_numpy(self, complete: Mapping[str, np.ndarray], observe: Observer | None = None) -> list[np.ndarray]:
        """The outputs by NumPy, without kernels. Those of the last runs are remembered, since who compares asks for them again.
        observe: as Program.run takes it."""
        if observe is None:
            for fed, outputs in self._by_numpy:
                if fed.keys() == complete.keys() and all(fed[n] is a for n, a in complete.items()):
                    return outputs
        outputs = outputs_by_numpy(self.graph, self.model.params, complete, observe, facts=self.model.facts)
        self._by_numpy.append((dict(complete), outputs))
        return outputs

    def precision_report(self, feeds: Mapping[str, np.ndarray]) -> PrecisionReport:
        """Costs of the precision on these inputs."""
        return report(self.program, self.complete(feeds), self.outputs, self.program.precision)

    def complete(self, feeds: Mapping[str, np.ndarray]) -> Arrays:
        """feeds with zeros for what inference does not read (labels), without those that the graph does not have (inputs that an
        ONNX model declares and nothing reads). Raises BadInput naming every other missing input."""
        feeds = {n: a for n, a in feeds.items() if n in self.inputs}
        lacking = [n for n in self.inputs if n not in feeds]
        if not lacking:
            return feeds
        ignored = set(label_names(self.graph))
        inferred = self.model.infer({n: Spec(a.shape, a.dtype) for n, a in feeds.items()})
        out, missing = dict(feeds), []
        nodes = {n.name: n for n in self.graph.variables()}
        for name in lacking:
            spec = inferred.spec(Entry(nodes[name]))
            if name in ignored and is_known(
                spec.shape
            ):  # the same array where feeds are the same, so that they are known again
                key = name, tuple(spec.shape), spec.dtype
                if key not in self._zeros:
                    self._zeros[key] = np.zeros(spec.shape, spec.dtype)
                out[name] = self._zeros[key]
            else:
                missing.append(name)
        if missing:
            raise BadInput(*(f"missing input {n}" for n in missing))
        return out

    def specs(self, complete: Mapping[str, np.ndarray]) -> Iterator[tuple[Entry, Spec]]:
        """Inferred specs of every output of all nodes that compute something."""
        inference = self.program.inference(complete)
        for node in self.graph.nodes:
            if node.op is not None:
                yield from ((e, inference.spec(e)) for e in (Entry(node, i) for i in range(node.num_outputs)))

    def precision(self, feeds: Mapping[str, np.ndarray]) -> dict[str, str]:
        inference = self.program.inference(self.complete(feeds))
        found: dict[tuple[int, int], str] = {}
        for node in self.graph.nodes:
            read = [found[id(e.node), e.index] for e in node.inputs] if node.op is not None else []
            for i in range(node.num_outputs):
                dtype = inference.spec(Entry(node, i)).dtype
                own = "" if dtype is None or node.op is None else dtype.name  # what is stored or fed is not rounded
                found[id(node), i] = coarsest([own, *read])
        inner = {
            self.name_of(Entry(n, i)): found[id(n), i] for n in self.graph.nodes for i in range(n.num_visible_outputs)
        }
        return inner | {name: found[id(e.node), e.index] for name, e in zip(self.outputs, self.graph.outputs)}

    def exact_by_oracle(
        self, cut: frozenset[str], values: Mapping[str, np.ndarray], name: str, halved: bool = False
    ) -> np.ndarray | None:
        return None

    def sizes(self, feeds: Mapping[str, np.ndarray]) -> dict[str, int]:
        known = ((e, s.shape) for e, s in self.specs(self.complete(feeds)))
        stored = {
            n.name: sum(self.model.params[e.name].nbytes for e in n.inputs if e.name in self.model.params)
            for n in self.graph.nodes
            if n.op is not None
        }
        return {
            self.name_of(e): 4 * math.prod(shape) + (0 if e.index else stored[e.node.name])
            for e, shape in known
            if is_known(shape)
        }

    def _parts(self, cut: frozenset[str]) -> dict[str, Entry]:
        """For every tensor what makes it from those of ``cut``: who reads one of these reads a variable of its name after GIVEN."""
        if self._cut is None or self._cut[0] != cut:
            makers: dict[str, Entry] = {}

            def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
                if node.op is None:
                    return None
                made = Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
                pairs = [(self.name_of(Entry(node, i)), Entry(made, i)) for i in range(node.num_outputs)]
                makers.update(pairs)
                return [Entry(Node(None, f"{GIVEN}{n}")) if n in cut else e for n, e in pairs]

            Graph([Entry(n) for n in self.graph.nodes]).rewrite(change)  # all of them: some outputs are read by nothing
            self._cut = (cut, makers)
        return self._cut[1]

    def part(self, cut: frozenset[str], names: Sequence[str]) -> Part:
        """The part that makes the tensors ``names`` when all that reads one of ``cut`` is given its value."""
        graph = Graph([self._parts(cut)[n] for n in names])
        read = [n.name for n in graph.variables()]
        makers = [n.op for n in graph.nodes if n.op is not None]
        return Part(graph, tuple(n.removeprefix(GIVEN) for n in read), len(makers), max(op.tolerance for op in makers))

    def run_forced(self, cut: frozenset[str], values: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        graph = self.part(cut, names).graph
        results = Program(graph, self.model.params, native=False).run(self.part_values(graph, values))
        return {n: np.array(v) for n, v in zip(names, results)}

    def exact(
        self,
        cut: frozenset[str],
        values: Mapping[str, np.ndarray],
        name: str,
        jitter: tuple[float, int] | None = None,
        halved: bool = False,
    ) -> np.ndarray | None:
        graph = self.part(cut, [name]).graph
        try:
            return Exact(graph, self.model.params).run(self.part_values(graph, values), jitter, halved)[0]
        except MXNetError:
            return None

    @staticmethod
    def part_values(graph: Graph, values: Mapping[str, np.ndarray]) -> Arrays:
        """Values for the variables of a part."""
        names = {n.name: n.name.removeprefix(GIVEN) for n in graph.variables()}
        return {n: values[name] for n, name in names.items() if name in values}

    def inner_tensors(self) -> list[Tensor]:
        return [
            Tensor(self.name_of(Entry(n, i)), n.name, n.op.name, tuple(map(self.name_of, n.inputs)))
            for n in self.graph.nodes
            if n.op is not None
            for i in range(n.num_visible_outputs)
        ]

    def expose(self, feeds: Mapping[str, np.ndarray], names: Iterable[str]) -> Arrays:
        wanted = set(names)
        seen = {k: v for k, v in feeds.items() if k in wanted}

        def observe(node: Node, outputs: tuple[np.ndarray, ...]) -> None:
            for index, value in enumerate(outputs):
                name = self.name_of(Entry(node, index))
                if name in wanted:
                    seen[name] = np.array(value)

        self.run_by_numpy(self.complete(feeds), observe)
        return seen

    def walk(
        self, feeds: Mapping[str, np.ndarray], groups: Sequence[Sequence[str]], visit: Callable[[int, Arrays], None]
    ) -> None:
        last = {name: i for i, group in enumerate(groups) for name in group}
        seen = {k: v for k, v in feeds.items() if k in last}
        current = 0

        def show() -> None:
            nonlocal current
            visit(current, {n: seen[n] for n in groups[current] if n in seen})
            for name in groups[current]:
                if last[name] == current:
                    seen.pop(name, None)
            current += 1

        def observe(node: Node, outputs: tuple[np.ndarray, ...]) -> None:
            for index, value in enumerate(outputs):
                name = self.name_of(Entry(node, index))
                if last.get(name, -1) >= current:
                    seen[name] = np.array(value)
            while current < len(groups) and all(n in seen for n in groups[current]):
                show()

        self.run_by_numpy(self.complete(feeds), observe)
        while current < len(groups):  # some tensors are made by nobody
            show()

    def parameter(self, name: str) -> np.ndarray | None:
        return self.model.params.get(name)

    def free_memory(self) -> None:
        self.program.forget()
        self.program = Program(self.graph, self.model.params, facts=self.model.facts, native=not self.plain)
        release(self.model.params.values())

    def compute_alone(self, tensor: Tensor, given: Mapping[str, np.ndarray]) -> np.ndarray | None:
        made = (Entry(n, i) for n in self.graph.nodes if n.op is not None for i in range(n.num_outputs))
        node, index = next(e for e in made if self.name_of(e) == tensor.name)
        variables = [Node(None, f"input{i}") for i in range(len(node.inputs))]
        feeds = {}
        for variable, entry in zip(variables, node.inputs):
            value = given.get(self.name_of(entry), self.model.params.get(entry.name))
            if value is not None:
                feeds[variable.name] = value
        copy = Node(node.op, node.name, [Entry(v) for v in variables], node.attrs, node.subgraphs)
        if len(feeds) < len(variables):
            return None
        return Program(Graph([Entry(copy, index)])).run(feeds)[0]


class OnnxEngine:
    """onnxruntime on an ONNX model: from its file where there is one, so that the weights are read once."""

    label = "onnxruntime"

    def __init__(
        self,
        model: Model,
        *,
        threads: int = 0,
        frugal: bool = False,
        plain: bool = False,
        scratch: bool = False,
        level: str = "all",
        provider: str = runtime.CPU,
    ):
        """frugal: for few runs. plain: node by node, as the model says; fused nodes of quantised models round elsewhere. scratch:
        pieces of the model may be written beside it. level: of graph optimizations (runtime.LEVELS). provider: of kernels."""
        self.level, self.provider = level, provider
        self.frugal, self.plain, self.scratch = frugal, plain, scratch
        assert model.proto is not None
        self.model, self.proto, self.threads = model, model.proto, threads
        self.specs: dict[str, Spec] = specs_of_onnx(model.proto)
        self.inputs = tuple(self.specs)
        self.outputs = tuple(o.name for o in model.proto.graph.output)
        # opened when it is first run, so that two engines need not hold the weights at once
        self._session: Any = None
        self._own = False
        self._runner: runtime.Runner | None = None
        """Kept as long as this is, for the sessions of parts."""

    def open(self) -> None:
        """Load the model now. Raises EngineError when that is not possible."""
        if self._session is None or (self._runner is not None and self._runner.ended):
            assert self.model.proto is not None
            self._session = self._open(
                os.path.abspath(self.model.path) if self.model.path else _serialize(self.model.proto), own=self._own
            )

    def _open(self, source: str | bytes, own: bool = False) -> Any:
        settings = runtime.Settings(self.frugal, self.plain, self.threads, self.level, self.provider)
        try:
            session = runtime.OwnSession(source, settings) if own else runtime.open_session(source, settings)
        except runtime.RunFailed as error:
            raise EngineError(f"{runtime.LABEL} refused {self.model.name}: {error}") from error
        except runtime.Late as error:
            raise OutOfTime(f"{runtime.LABEL} has not opened {self.model.name}", error) from error
        except runtime.ProcessEnded as error:
            raise EngineError(f"{runtime.LABEL} ended the process that opened {self.model.name} ({error})") from error
        if isinstance(session, runtime.Session):
            self._runner = session.runner
        return session

    @staticmethod
    def _run(session: Any, feeds: Mapping[str, np.ndarray]) -> Arrays:
        try:
            return tensors(session.run(feeds))
        except runtime.RunFailed as error:
            raise EngineError(f"{runtime.LABEL} failed: {error}") from error
        except runtime.Late as error:
            raise OutOfTime(f"{runtime.LABEL} has not run the model to its end", error) from error
        except runtime.ProcessEnded as error:
            raise EngineError(f"{runtime.LABEL} ended the process that ran it ({error})") from error

    def run(self, feeds: Mapping[str, np.ndarray]) -> Arrays:
        missing = [n for n in self.inputs if n not in feeds]
        if missing:
            raise BadInput(*(f"missing input {n}" for n in missing))
        problems = []
        for name, wanted in self.specs.items():
            got, shape = feeds[name], wanted.shape
            if got.dtype != wanted.dtype:
                problems.append(f"input {name}: got {got.dtype}, wanted {wanted.dtype}; convert it with astype")
            fits = shape is None or (
                len(shape) == got.ndim and all(isinstance(w, str) or w == g for w, g in zip(shape, got.shape))
            )
            if not fits:
                problems.append(f"input {name}: got shape {show(got.shape)}, {called(self.model)} wants {show(shape)}")
        if problems:
            raise BadInput(*problems)
        return self.run_unchecked(feeds)

    def run_unchecked(self, feeds: Mapping[str, np.ndarray]) -> Arrays:
        """As run, with feeds that are not checked and may be too many."""
        self.open()
        return self._run(self._session, feeds)

    def open_in_process(self) -> None:
        """Open the model in this process, whatever it may end: for who measures, and has run it before."""
        self.free_memory()
        self._own, self._runner = True, None
        self.open()

    def walk(
        self, feeds: Mapping[str, np.ndarray], groups: Sequence[Sequence[str]], visit: Callable[[int, Arrays], None]
    ) -> None:
        for index, group in enumerate(groups):
            visit(index, self.expose(feeds, group))

    def parameter(self, name: str) -> np.ndarray | None:
        tensor = self._initializers.get(name)
        if tensor is None:
            return None
        folder = str(Path(self.model.path).parent) if self.model.path else ""
        return np.asarray(onnx.numpy_helper.to_array(tensor, folder))

    @functools.cached_property
    def _initializers(self) -> dict[str, onnx.TensorProto]:
        return {i.name: i for i in self._proto_without_weights.graph.initializer}

    def free_memory(self) -> None:
        if isinstance(self._session, runtime.Session):
            self._session.close()
        self._session = None

    def sizes(self, feeds: Mapping[str, np.ndarray]) -> dict[str, int]:
        return {}

    @functools.cached_property
    def native_engine(self) -> NativeEngine | None:
        """The model on our engine; None when it cannot be read."""
        try:
            return NativeEngine(self.model.native, self.specs)
        except (MXNetError, ConversionError, BadInput):
            return None

    def part(self, cut: frozenset[str], names: Sequence[str]) -> Part | None:
        """As NativeEngine.part, of the model as it is read native_engine; None when it cannot be."""
        try:
            return None if self.native_engine is None else self.native_engine.part(cut, names)
        except KeyError:  # reading it has done away with a tensor
            return None

    def run_forced(self, cut: frozenset[str], values: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        if self.scratch:  # beside the weights, so that onnxruntime maps them
            model = cut_out(self._proto_without_weights, cut, values, names)
            place = Path(str(self.model.path)).with_name("part.onnx")
            write(place, _serialize(model))
        else:
            model, place = self.piece(cut, values, names), None
        part = type(self)(Model(self.model.name, proto=model, path=place), frugal=True, plain=True)
        results = part.run_unchecked(values)
        return {n.removesuffix(MADE): v for n, v in results.items()}

    def exact(
        self,
        cut: frozenset[str],
        values: Mapping[str, np.ndarray],
        name: str,
        jitter: tuple[float, int] | None = None,
        halved: bool = False,
    ) -> np.ndarray | None:
        if self.part(cut, [name]) is None:
            return None
        assert self.native_engine is not None
        return self.native_engine.exact(cut, values, name, jitter, halved)

    def exact_by_oracle(
        self, cut: frozenset[str], values: Mapping[str, np.ndarray], name: str, halved: bool = False
    ) -> np.ndarray | None:
        """By onnx's own evaluator, which knows nothing of how we read a model."""
        model = widened_model(self.piece(cut, values, [name]), halved)
        given = {n: widen(v) for n, v in values.items()}
        with contextlib.suppress(EngineError, KeyError), np.errstate(all="ignore"):
            return ReferenceEngine(Model(self.model.name, proto=model)).run_unchecked(given)[f"{name}{MADE}"]
        return None

    def precision(self, feeds: Mapping[str, np.ndarray]) -> dict[str, str]:
        return self._precision

    @functools.cached_property
    def _precision(self) -> dict[str, str]:
        """The same for all feeds: ONNX models say their dtypes."""
        try:
            inferred = onnx.shape_inference.infer_shapes(self.proto)
        except (onnx.shape_inference.InferenceError, ValueError):
            inferred = self.proto
        infos = (*inferred.graph.value_info, *inferred.graph.output)
        codes = {i.name: i.type.tensor_type.elem_type for i in infos}  # 0 for what is none
        found: dict[str, str] = {}
        for node in self.proto.graph.node:
            read = [found.get(n, "") for n in reads(node)]
            for name in node.output:
                found[name] = coarsest([dtype_of(codes[name]).name if codes.get(name) else "", *read])
        return found

    def inner_tensors(self) -> list[Tensor]:
        stored = {i.name for i in self.proto.graph.initializer}
        hidden = {o for n in self.proto.graph.node for o in inner_outputs(n)}  # by another tensor, in a body
        return [
            Tensor(name, node.name or name, node.op_type, tuple(i for i in node.input if i and i not in stored))
            for node in self.proto.graph.node
            for name in node.output
            if name and name not in hidden
        ]

    def piece(self, cut: frozenset[str], values: Mapping[str, np.ndarray], names: Sequence[str]) -> onnx.ModelProto:
        """The piece of the model that cut_out gives; only the weights of this piece are read where they lie beside the model."""
        model = cut_out(self._proto_without_weights, cut, values, names)
        if self.model.path:
            load_external_data_for_model(model, str(Path(self.model.path).parent))
        return model

    @functools.cached_property
    def _proto_without_weights(self) -> onnx.ModelProto:
        """The model without the weights that lie beside it."""
        return onnx.load(os.fspath(self.model.path), load_external_data=False) if self.model.path else self.proto

    def full_proto(self) -> onnx.ModelProto:
        """The model with its weights."""
        return onnx.load(os.fspath(self.model.path)) if self.model.path else self.proto

    def expose(self, feeds: Mapping[str, np.ndarray], names: Iterable[str]) -> Arrays:
        wanted = list(dict.fromkeys(names))
        copy = onnx.ModelProto()
        copy.CopyFrom(self.full_proto())
        known = set(self.outputs)
        copy.graph.output.extend(onnx.helper.make_empty_tensor_value_info(n) for n in wanted if n not in known)
        return {k: v for k, v in self._run(self._open(_serialize(copy)), feeds).items() if k in set(wanted)}

    def compute_alone(self, tensor: Tensor, given: Mapping[str, np.ndarray]) -> np.ndarray | None:
        model = self.cut(tensor, given)
        return None if model is None else self._run(self._open(_serialize(model)), given)[tensor.name]

    def cut(self, tensor: Tensor, given: Mapping[str, np.ndarray]) -> onnx.ModelProto | None:
        """The part of the model that makes a tensor from others; None when they do not determine it."""
        whole = self.full_proto()
        listed = list(whole.graph.node)
        maker = {name: i for i, node in enumerate(listed) for name in node.output}
        stored = {i.name: i for i in whole.graph.initializer}
        feeds: Arrays = {}
        weights, chosen, stack, seen = {}, set(), [tensor.name], set()
        while stack:
            name = stack.pop()
            if not name or name in seen:
                continue
            seen.add(name)
            if name in given and name != tensor.name:
                feeds[name] = given[name]
            elif name in stored:
                weights[name] = stored[name]
            elif name in maker:
                chosen.add(maker[name])
                stack.extend(listed[maker[name]].input)
            else:
                return None
        graph = onnx.helper.make_graph(
            [listed[i] for i in sorted(chosen)],
            "alone",
            [onnx.helper.make_tensor_value_info(k, code_of(v.dtype), v.shape) for k, v in feeds.items()],
            [onnx.helper.make_empty_tensor_value_info(tensor.name)],
            list(weights.values()),
        )
        return onnx.helper.make_model(graph, opset_imports=whole.opset_import, ir_version=whole.ir_version)


class ReferenceEngine(OnnxEngine):
    """The evaluator that the onnx package ships, for models that onnxruntime does not open."""

    label = "onnx's reference evaluator"

    def _open(self, source: str | bytes, own: bool = False) -> Any:
        from onnx.reference import ReferenceEvaluator

        from .oracle_functions import wide_functions

        try:
            model = onnx.load_from_string(source) if isinstance(source, bytes) else source
            return ReferenceEvaluator(model, new_ops=wide_functions())
        except Exception as error:  # it raises whatever NumPy or protobuf do
            raise EngineError(f"onnx {onnx.__version__} refused {self.model.name}: {error}") from error

    @staticmethod
    def _run(session: Any, feeds: Mapping[str, np.ndarray]) -> Arrays:
        try:
            results = session.run(None, {k: v for k, v in feeds.items() if k in session.input_names})
        except Exception as error:
            raise EngineError(f"onnx's reference evaluator failed: {error}") from error
        return tensors(zip(session.output_names, results))


def tensors(results: Iterable[tuple[str, Any]]) -> Arrays:
    """Results by name; of what is no tensor its parts: ``scores[0]`` of a sequence, ``scores[0]['cat']`` of its maps."""
    out: Arrays = {}
    for name, value in results:
        if isinstance(value, np.ndarray) and value.dtype == object and not value.ndim:
            value = value[()]
        if isinstance(value, list):
            out |= {f"{name}[{len(value)}]": np.array(len(value))}
            out |= tensors((f"{name}[{i}]", v) for i, v in enumerate(value))
        elif isinstance(value, Mapping):
            out |= tensors((f"{name}[{key!r}]", value[key]) for key in sorted(value))
        elif value is not None:
            out[name] = np.asarray(value)
    return out


def _serialize(proto: onnx.ModelProto) -> bytes:
    """The model as bytes. Raises EngineError past 2 GB, which protobuf does not write."""
    try:
        return proto.SerializeToString()
    except (EncodeError, ValueError) as error:
        raise EngineError(f"the model with its weights is no one message ({error})") from error


def called(model: Model) -> str:
    """The name of the file that a model is read from, as its own may be that of several; of one in memory its own."""
    return model.name if model.path is None else model.path.name


def engine_for(model: Model, named: Mapping[str, Any] | None = None) -> Engine:
    """The engine that runs a model as it is: symbols natively, ONNX in onnxruntime."""
    return OnnxEngine(model) if model.is_onnx else NativeEngine(model, named)
