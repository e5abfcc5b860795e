"""Runs graphs. A Program is a graph ready to run; it makes one plan per set of input shapes and dtypes and keeps it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.changes import LAST, draw
from ..core.dims import Trace
from ..core.error import MXNetError
from ..core.forking import cached_property, lock, rlock
from ..core.op import Spec
from ..core.precision import FLOAT32, check_precision
from ..core.precision import precision as chosen_precision
from ..core.shapes import is_known
from ..ir.facts import Facts
from ..ir.graph import Graph, Node, SubgraphFunction
from ..ir.infer import Inference, infer
from ..ir.strict import picks, refuse, refuse_counted
from .apply import afford_all
from .backend import Bound, Request
from .backends import NUMPY, bind
from .backends import trace as trace_graph
from .flow import Flow
from .hooks import HOOKS, Observer
from .interpreter import Interpretation
from .plan import Plan, work_of
from .varying import Varying

if TYPE_CHECKING:
    from ..device.base import Device
    from .device_program import OnDevice


class Specialization:
    """A graph for inputs of certain shapes and dtypes: what inference says, and who runs it.

    request: makes what is bound, when it is asked for. bind: finds who runs the graph when nobody looks, at the first run; NumPy if
    it finds nobody. outputs: what the outputs are, and work: how long a run takes, where the request need not be asked."""

    def __init__(
        self,
        request: Callable[[], Request],
        bind: Callable[[], Bound | None],
        outputs: tuple[Spec, ...] | None = None,
        work: int | None = None,
    ):
        self._make, self._bind = request, bind
        self._bound: Bound | None = None
        self._binding = rlock()
        if outputs is None or work is None:
            inference = self.request.inference
            outputs = tuple(map(inference.spec, self.request.graph.outputs))
            work = work_of(self.request.graph, inference)
        self.outputs, self.work = outputs, work
        self.known = all(is_known(s.shape) and s.dtype is not None for s in outputs)
        """True when the shapes of the outputs are known before it runs."""

    @property
    def bound(self) -> Bound:
        """The graph as it runs when nobody looks."""
        if self._bound is None:
            with self._binding:  # of this alone: binding takes time, and other graphs may be bound within
                if self._bound is None:
                    self._bound = self._bind() or self.reference
        return self._bound

    @cached_property
    def request(self) -> Request:
        """The graph as it is bound."""
        return self._make()

    @property
    def inference(self) -> Inference:
        """The inference for these inputs."""
        return self.request.inference

    @cached_property
    def reference(self) -> Interpretation:
        """The graph as NumPy runs it."""
        return NUMPY.bind(self.request)

    def runner(self, observe: Observer | None = None) -> Bound:
        """The one that runs now: NumPy, where a hook or an observer would see nothing of what else would."""
        bound = self.bound
        return bound if bound.observes or (observe is None and not HOOKS) else self.reference


class Program:
    """A graph that runs. Safe for concurrent inference; a training run writes to the auxiliary states it is given.

    constants: arrays by variable name that stay the same from run to run (parameters). fixed: names of inputs that rarely have
    other values; those that operators read as parameters are taken for such anyway, unless
    it is None. precise: no kernel that trades accuracy for
    speed. keep: whether the memory of a run stays with the program for the next one. plans: how many sets of
    input shapes it remembers. native: whether other backends than NumPy may be asked at all. facts: those of the graph with these
    constants, where there are some already. precision: of constant weights, see core/precision.py, None for what set_precision
    says when the graph is bound; float32 all the same where it is precise or trains.
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
        precision: str | None = FLOAT32,
    ):
        self.graph, self.facts = graph, facts
        self.training, self.precise, self.keep, self.native = training, precise, keep, native
        self._precision = None if precision is None else check_precision(precision, "Program")
        names = {n.name for n in graph.variables()}
        self.constants = {k: v for k, v in (constants or {}).items() if k in names}
        self.inputs = tuple(dict.fromkeys(n.name for n in graph.variables() if n.name not in self.constants))
        self.names = tuple(dict.fromkeys(n.name for n in graph.variables()))
        """All variables, in the order that prepare and execute take them."""
        self._picks = tuple(picks(graph))
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
        for inner in [*self._subprograms.values()]:
            self._subprograms |= inner._subprograms
            if inner._flow is not None:
                inner._flow.whole = False
        """Those of the subgraphs of all depths: compiled, a body is a part of the program."""
        self._flow: Flow | None = Flow(self._part, self.constants) if native else None
        self.plans = plans
        self._plans: dict[Any, Specialization] = {}
        self._varying: dict[Any, Varying] = {}
        self._lock = lock()

    def _part(
        self,
        graph: Graph,
        fixed: Collection[str],
        constants: Mapping[str, np.ndarray] | None = None,
        single: bool = False,
        computed: Collection[str] = (),
    ) -> Program:
        """A program of a part of this, see Flow."""
        made = Program(
            graph,
            constants,
            training=self.training,
            fixed=fixed,
            precise=self.precise,
            keep=self.keep,
            precision=self._precision,
        )
        made.fixed -= {*computed}
        if single:  # where it is not compiled its own rule is what is left
            made._flow = None
        elif made._flow is not None:
            made._flow.undecided = self._flow is not None and self._flow.undecided and not constants
            made._flow.whole = False
            made._flow.told = made.constants if constants else {}
        return made

    @property
    def precision(self) -> str:
        """As what constant weights of products may be held, were it bound now."""
        if self.training or self.precise:
            return FLOAT32
        return self._precision or chosen_precision()

    def bound_for(self, key: tuple[Any, ...]) -> Bound | None:
        """The graph bound for such arrays, see prepare; None where NumPy runs it."""
        found = self.prepare(key)
        return None if found.bound.aliases else found.bound

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
        return self._specialize(
            [feeds[n] if n in feeds else self.constants[n] for n in self.names], feeds
        ).reference.plan

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
        if self._picks:
            refuse(self._picks, dict(zip(self.names, arrays)).get)
        moment = draw() if moment is None else moment
        versions = [(moment, id(a)) if n in feeds else None for n, a in zip(self.names, arrays)]
        runner = self._specialize(arrays, feeds).runner(observe)
        if not runner.aligns:
            arrays = [a if n in feeds else self._aligned.get(n, a) for n, a in zip(self.names, arrays)]
        return runner.run(arrays, versions, rng, observe)

    @cached_property
    def _aligned(self) -> dict[str, np.ndarray]:
        """Copies of the constants that are not aligned, as in a file they need not be: NumPy would copy them on every use."""
        return {n: a.copy() for n, a in self.constants.items() if not a.flags.aligned}

    def prepare(self, key: tuple[Any, ...], replaced: frozenset[str] = frozenset()) -> Specialization:
        """The plan for inputs of such shapes and dtypes: shape, dtype, shape, ... in the order of ``names``.

        replaced: constants that have other values this time. Raises OpError when they do not fit the graph."""
        place = (key, replaced, backends := LAST.backends)
        found = self._plans.get(place)
        if found is None:
            found = self._for_sizes_that_vary(key, replaced, backends)
            if found is None:
                request = self._request(key, replaced)
                found = Specialization(lambda: request, lambda: bind(request) if self.native else None)
            with self._lock:
                for old in [p for p in self._plans if p[-1] != backends]:  # nobody asks for them any more
                    del self._plans[old]
                for old in [p for p in self._varying if p[-1] != backends]:
                    del self._varying[old]
                self._plans[place] = found
                if len(self._plans) > self.plans:
                    self._plans.pop(next(iter(self._plans)))
        return found

    def on(self, device: Device, key: tuple[Any, ...]) -> OnDevice:
        """The graph on a device, for inputs of such shapes and dtypes as in prepare. Raises OpError where they do not fit."""
        place = (key, device, LAST.backends)
        found: Any = self._plans.get(place)
        if found is None:
            from .device_program import OnDevice  # which most programs never need

            found = OnDevice(self._request(key, frozenset()), device)
            with self._lock:
                for old in [p for p in self._plans if p[-1] != LAST.backends]:
                    del self._plans[old]
                self._plans[place] = found
                if len(self._plans) > self.plans:
                    self._plans.pop(next(iter(self._plans)))
        return found

    def forget(self) -> None:
        """Give back the memory of what is bound, at once: what is bound refers to this, and would wait for a collection of garbage.
        It is bound anew when it is asked for."""
        with self._lock:
            self._plans.clear()
            self._varying.clear()
        vars(self).pop("_aligned", None)

    def is_ready(self, key: tuple[Any, ...]) -> bool:
        """True where prepare has been asked for such arrays before, or a trace of the graph takes them."""
        if (key, frozenset(), LAST.backends) in self._plans:
            return True
        varying = self._varying.get((tuple(map(len, key[::2])), key[1::2], frozenset(), LAST.backends))
        return varying is not None and varying.is_traced(key)

    def interpreted(self, key: tuple[Any, ...]) -> Bound:
        """The graph as NumPy runs it, for such arrays."""
        return NUMPY.bind(self._request(key, frozenset()))

    def _request(self, key: tuple[Any, ...], replaced: frozenset[str], trace: Trace | None = None) -> Request:
        """The graph to be bound, with what inference says of it. trace: of the sizes in the key that stand for others."""
        specs = dict(zip(self.names, map(Spec, key[::2], key[1::2])))
        if trace is None:
            inference = self._infer(specs, replaced)
            afford_all(self.graph, inference)
        else:
            inference = self._infer_anew(specs, replaced)
        return Request(
            self.graph,
            inference,
            self.names,
            self.fixed,
            self.training,
            self.precise,
            self.keep,
            self._subgraphs_of,
            self._flow,
            trace,
            self.precision,
        )

    def _for_sizes_that_vary(
        self, key: tuple[Any, ...], replaced: frozenset[str], backends: int
    ) -> Specialization | None:
        """The program for a call like one before with other sizes, where the graph could be traced; None for a first call."""
        if not self.native or self.facts is not None:  # who has facts shares inferences, one for each set of sizes
            return None
        place = (tuple(map(len, key[::2])), key[1::2], replaced, backends)
        varying = self._varying.get(place)
        if varying is None:
            with self._lock:
                self._varying[place] = Varying(
                    key, lambda sizes, trace: trace_graph(lambda: self._request(sizes, replaced, trace))
                )
            return None
        bound = varying.bind(key)
        if bound is None:
            return None
        outputs = tuple(Spec(*o) for o in bound.outputs)
        return Specialization(lambda: self._request(key, replaced), lambda: bound, outputs, bound.work)

    def _infer(self, specs: Mapping[str, Spec], replaced: frozenset[str]) -> Inference:
        if self.facts is not None:
            return self.facts.infer({n: s for n, s in specs.items() if n not in self.constants or n in replaced})
        return self._infer_anew(specs, replaced)

    def _infer_anew(self, specs: Mapping[str, Spec], replaced: frozenset[str]) -> Inference:
        shapes, dtypes = {n: s.shape for n, s in specs.items()}, {n: s.dtype for n, s in specs.items()}
        values = {n: v for n, v in self.constants.items() if n not in replaced}
        inference = infer(self.graph, shapes, dtypes, values=values)
        refuse_counted(inference)
        return inference

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
