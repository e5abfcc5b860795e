"""Runs graphs. A Program is a graph ready to run; it makes one plan per set of input shapes and dtypes and keeps it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import native
from ..core.changes import LAST, draw
from ..core.error import InternalError, MXNetError, OutOfMemory
from ..core.fp_warnings import quietly
from ..core.op import Spec
from ..core.shapes import is_known
from ..ir.facts import Facts
from ..ir.graph import Graph, Node, SubgraphFunction
from ..ir.infer import Inference, infer
from .apply import afford_all, apply_tracked, failure
from .plan import Plan, Step, make_plan, work_of

if TYPE_CHECKING:
    from .lower import CompiledProgram

Observer = Callable[[Node, tuple[np.ndarray, ...]], None]


_exchanges = 0
_watched = False


def is_instrumented() -> bool:
    """True where operators' ``compute`` is exchanged at the moment: then NumPy does every step, so that each is seen."""
    return _watched


def invalidate_compute_cache(exchanged: bool) -> None:
    """To be called when operators' ``compute`` has been exchanged (by the profiler), and when each is its own again: no run reuses
    what it had looked up."""
    global _exchanges, _watched
    _exchanges += 1
    _watched = exchanged


def _too_large(error: Exception) -> OutOfMemory:
    return OutOfMemory(f"the graph's tensors do not fit into memory: {error}; give smaller inputs")


_REFUSED = (ValueError, RuntimeError, MemoryError, OverflowError)
"""Exceptions that the compiled part raises."""


def _refusal(error: Exception) -> MXNetError:
    """The exception for an error of the compiled part: it gets what inference accepts, so that to refuse it is a fault of one."""
    if isinstance(error, MemoryError):
        return _too_large(error)
    return InternalError(f"the compiled part refuses what inference accepts: {error}; please report it with the symbol")


class _Arena:
    """The memory of one run, and the steps with their places in it: concurrent runs of one plan each take their own."""

    def __init__(self, plan: Plan):
        try:
            self.memory = np.empty(plan.arena, np.uint8)
            self.views = [b.view(self.memory) for b in plan.buffers]
        except (MemoryError, ValueError) as error:
            raise _too_large(error) from error
        self.code: list[_Instruction] = []
        """The steps as a first run has found them to be; empty before."""
        self.exchange = -1
        """Number of times that operators' compute had been exchanged by then."""

    def outs(self, step: Step) -> np.ndarray | None:
        """The step's output buffer, if that is in the arena."""
        return None if step.buffer is None else self.views[step.buffer]


class _Instruction(NamedTuple):
    """A step that has been proven: what it computes is what inference said."""

    compute: Callable[..., Any] | None
    """None for what needs more than arrays, and goes through ``apply``."""
    inputs: tuple[int, ...]
    output: int
    dying: tuple[int, ...]
    copies: bool
    """True when the result is memory of an input that it must not be."""
    step: Step


class Specialization:
    """A graph for inputs of certain shapes and dtypes: what inference says, and how it runs."""

    def __init__(self, graph: Graph, inference: Inference, names: Sequence[str], lowered: CompiledProgram | None):
        self._graph, self._names = graph, names
        self.inference = inference
        self.lowered = lowered
        """The graph as a program of the compiled part, where there is one."""
        self.arenas: list[_Arena] = []
        """Those that no run of the plan is using at the moment."""
        self.outputs = tuple(map(inference.spec, graph.outputs))
        self.known = all(is_known(s.shape) and s.dtype is not None for s in self.outputs)
        """True when the shapes of the outputs are known before it runs."""
        self.work = work_of(graph, inference)

    @functools.cached_property
    def plan(self) -> Plan:
        """The plan for the NumPy interpreter."""
        return make_plan(self._graph, self.inference, self._names)


class Program:
    """A graph that runs. Safe for concurrent inference; a training run writes to the auxiliary states it is given.

    constants: arrays by variable name that stay the same from run to run (parameters). fixed: names of inputs that rarely have
    other values; those that operators read as parameters are taken for such anyway, unless
    it is None. precise: no kernel that trades accuracy for
    speed. keep: whether the memory of a run stays with the program for the next one. plans: how many sets of
    input shapes it remembers. native: whether compiled kernels may be used at all. facts: those of the graph with these
    constants, where there are some already.
    """

    PLANS = 32
    """Kept per program unless said otherwise, least recently used dropped."""

    def __init__(
        self,
        graph: Graph,
        constants: Mapping[str, np.ndarray] | None = None,
        *,
        training: bool = False,
        fixed: Iterable[str] | None = (),
        precise: bool = False,
        keep: bool = False,
        plans: int = PLANS,
        native: bool = True,
        facts: Facts | None = None,
    ):
        self.graph, self.facts = graph, facts
        self.training, self.precise, self.keep, self.native = training, precise, keep, native
        names = {n.name for n in graph.variables()}
        # NumPy copies an operand that is not aligned on every use
        self.constants = {k: v if v.flags.aligned else v.copy() for k, v in (constants or {}).items() if k in names}
        self.inputs = tuple(dict.fromkeys(n.name for n in graph.variables() if n.name not in self.constants))
        self.names = tuple(dict.fromkeys(n.name for n in graph.variables()))
        """All variables, in the order that prepare and execute take them."""
        written = graph.written_variables(training)
        self.written = tuple(i for i, n in enumerate(self.names) if n in written)
        """Variables that a run writes to, by their place in ``names``."""
        self.fixed = frozenset(self.constants)
        if not training and fixed is not None:
            self.fixed |= _fixed_names(graph) | {*fixed}
        self.fixed -= written
        self._subprograms = {
            id(g): Program(g, training=training, precise=precise, native=native)
            for n in graph.nodes
            for g in n.subgraphs
        }
        self.plans = plans
        self._plans: dict[Any, Specialization] = {}
        self._lock = threading.Lock()

    def _subgraphs_of(self, node: Node, rng: np.random.Generator | None) -> list[SubgraphFunction]:
        """The subgraphs of a node for one application of its operator, which writes to no array that it holds more than once: what
        has the same address all through it has the same values. rng: where they draw from, as in run."""
        if not node.subgraphs:
            return []
        moment = draw()

        def through(graph: Graph, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
            return self._subprograms[id(graph)].run(graph.feeds(arrays), rng=rng, moment=moment)

        return [SubgraphFunction(g, through) for g in node.subgraphs]

    def plan(self, feeds: Mapping[str, np.ndarray]) -> Plan:
        """The plan for inputs of these shapes and dtypes. Raises OpError when they do not fit the graph."""
        return self._specialize([feeds[n] if n in feeds else self.constants[n] for n in self.names], feeds).plan

    def inference(self, feeds: Mapping[str, np.ndarray]) -> Inference:
        """The inference for inputs of these shapes and dtypes. Raises OpError when they do not fit the graph."""
        return self._specialize([feeds[n] if n in feeds else self.constants[n] for n in self.names], feeds).inference

    def run(
        self,
        feeds: Mapping[str, Any],
        observe: Observer | None = None,
        rng: np.random.Generator | None = None,
        moment: int | None = None,
    ) -> list[np.ndarray]:
        """The outputs. ``observe(node, outputs)`` sees every step's results as they are made; it must copy what it keeps.
        rng: where random operators draw from, this thread's generator if None. moment: a number that runs share between which
        nobody writes to an array of feeds.

        Raises MXNetError naming every missing or unknown input, or the node at which something failed."""
        feeds = {k: np.asarray(v) for k, v in feeds.items()}
        self._check(feeds)
        arrays = [feeds[n] if n in feeds else self.constants[n] for n in self.names]
        moment = draw() if moment is None else moment
        versions = [(moment, id(a)) if n in feeds else None for n, a in zip(self.names, arrays)]
        return self.execute(self._specialize(arrays, feeds), arrays, observe, rng, versions)

    def prepare(self, key: tuple[Any, ...], replaced: frozenset[str] = frozenset()) -> Specialization:
        """The plan for inputs of such shapes and dtypes: shape, dtype, shape, ... in the order of ``names``.

        replaced: constants that have other values this time. Raises OpError when they do not fit the graph."""
        place = (key, replaced, backends := LAST.backends)
        found = self._plans.get(place)
        if found is None:
            inference = self._infer(dict(zip(self.names, map(Spec, key[::2], key[1::2]))), replaced)
            afford_all(self.graph, inference)
            found = Specialization(self.graph, inference, self.names, self._lower(inference))
            with self._lock:
                for old in [p for p in self._plans if p[-1] != backends]:  # nobody asks for them any more
                    del self._plans[old]
                self._plans[place] = found
                if len(self._plans) > self.plans:
                    self._plans.pop(next(iter(self._plans)))
        return found

    def _infer(self, specs: Mapping[str, Spec], replaced: frozenset[str]) -> Inference:
        if self.facts is not None:
            return self.facts.infer({n: s for n, s in specs.items() if n not in self.constants or n in replaced})
        shapes, dtypes = {n: s.shape for n, s in specs.items()}, {n: s.dtype for n, s in specs.items()}
        return infer(self.graph, shapes, dtypes, values={n: v for n, v in self.constants.items() if n not in replaced})

    def execute(
        self,
        prepared: Specialization,
        arrays: Sequence[np.ndarray],
        observe: Observer | None = None,
        rng: np.random.Generator | None = None,
        versions: Sequence[Any] | None = None,
    ) -> list[np.ndarray]:
        """The outputs for arrays in the order of ``names``; what it was prepared for has to be what they are.

        versions: of the arrays, something each that changes with the values; None when arrays are never written to."""
        lowered = prepared.lowered
        if lowered is not None and observe is None and not is_instrumented():
            try:
                return quietly(lowered.run, arrays, versions, rng)
            except MXNetError:
                raise
            except _REFUSED as error:
                raise _refusal(error) from error
        plan, arenas = prepared.plan, prepared.arenas
        try:
            arena = arenas.pop()
        except IndexError:
            arena = _Arena(plan)
        values: list[Any] = [None] * plan.slots
        for slot, place in plan.variables:
            values[slot] = arrays[place]
        if arena.exchange == _exchanges and observe is None:
            quietly(self._again, arena, values, rng)
        else:
            quietly(self._first, plan, arena, values, observe, rng)
        outputs = [np.array(values[s]) if copy or _in(arena, values[s]) else values[s] for s, copy in plan.results]
        arenas.append(arena)
        return outputs

    def _lower(self, inference: Inference) -> CompiledProgram | None:
        """The graph as a program of the compiled part; None when there is no such part, or nothing in it for it to do."""
        if not self.native or native.level() is None:
            return None
        from .lower import lower

        try:
            return lower(
                self.graph, inference, self.names, self._perform, fixed=self.fixed, training=self.training, precise=self.precise,
                keep=self.keep,
            )  # fmt: skip
        except MXNetError:
            raise
        except _REFUSED as error:
            raise _refusal(error) from error

    def _perform(
        self, node: Node, arrays: Sequence[np.ndarray], specs: Sequence[Spec], rng: np.random.Generator | None
    ) -> Sequence[np.ndarray]:
        """A step that has no kernel."""
        assert node.op is not None
        subgraphs = self._subgraphs_of(node, rng)
        return apply_tracked(node.op, arrays, specs, node.name, self.training, None, subgraphs, rng)[0]

    def _apply(
        self, step: Step, arena: _Arena, values: list[Any], rng: np.random.Generator | None
    ) -> tuple[tuple[np.ndarray, ...], bool]:
        """Run a step with all checks: its results, and whether they had to be copied out of its inputs."""
        inputs, subgraphs = [values[i] for i in step.inputs], self._subgraphs_of(step.node, rng)
        results, copied = apply_tracked(
            step.op, inputs, step.specs, step.node.name, self.training, arena.outs(step), subgraphs, rng
        )
        for slot, result in zip(step.outputs, results):
            values[slot] = result
        return results, copied

    def _first(
        self,
        plan: Plan,
        arena: _Arena,
        values: list[Any],
        observe: Observer | None,
        rng: np.random.Generator | None,
    ) -> None:
        """Run every step with all checks, and note what ``_again`` need not find out again."""
        code = []
        for step in plan.steps:
            results, copies = self._apply(step, arena, values, rng)
            if observe is not None:
                observe(step.node, results)
            for slot in step.dying:
                values[slot] = None
            compute = None
            if step.plain:
                out = arena.outs(step)
                compute = step.op.compute if out is None else functools.partial(step.op.compute, out=out)  # type: ignore[call-arg]
            code.append(_Instruction(compute, step.inputs, step.outputs[0], step.dying, copies, step))
        arena.code, arena.exchange = code, _exchanges

    def _again(self, arena: _Arena, values: list[Any], rng: np.random.Generator | None) -> None:
        """Run every step as the first run has found it to be."""
        step: Step | None = None
        array = np.ndarray
        try:
            for compute, inputs, output, dying, copies, step in arena.code:
                if compute is None:
                    self._apply(step, arena, values, rng)
                else:
                    result = compute(*[values[i] for i in inputs])
                    if type(result) is not array:
                        result = _single(result)
                    values[output] = result.copy() if copies else result
                for slot in dying:
                    values[slot] = None
        except MXNetError as error:
            if str(error).startswith("Error in operator"):
                raise
            assert step is not None
            raise failure(step.op, [values[i] for i in step.inputs], step.node.name, error) from error
        except Exception as error:
            assert step is not None
            raise failure(step.op, [values[i] for i in step.inputs], step.node.name, error) from error

    def _check(self, feeds: Mapping[str, np.ndarray]) -> None:
        missing = [n for n in self.inputs if n not in feeds]
        known = {*self.inputs, *self.constants}
        extra = [n for n in feeds if n not in known]
        if missing or extra:
            problems = [f"missing {', '.join(missing)}"] if missing else []
            problems += [f"unknown {', '.join(extra)}"] if extra else []
            raise MXNetError(f"inputs do not fit the graph: {'; '.join(problems)}; it takes {', '.join(self.inputs)}")

    def _specialize(self, arrays: Sequence[np.ndarray], feeds: Mapping[str, np.ndarray]) -> Specialization:
        key = tuple(x for a in arrays for x in (a.shape, a.dtype))
        return self.prepare(key, frozenset(n for n in feeds if n in self.constants))


def _fixed_names(graph: Graph) -> frozenset[str]:
    """Names of variables that operators read as parameters, and as nothing else."""
    readers = graph.uses()
    found = []
    for node in graph.variables():
        roles = readers.get((id(node), 0), ())
        if roles and all(
            r.op is not None and i < len(n := r.op.input_names()) and n[i] in r.op.parameters for r, i in roles
        ):
            found.append(node.name)
    return frozenset(found)


def _single(result: Any) -> np.ndarray:
    """The array of an operator with one output, however compute gave it."""
    if isinstance(result, tuple | list):
        (result,) = result
    return np.asarray(result)


def _in(arena: _Arena, array: np.ndarray) -> bool:
    """True where the array is memory of the arena; a view's base is always the array that owns the memory."""
    return array.base is arena.memory
