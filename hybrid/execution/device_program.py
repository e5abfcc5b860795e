"""Graphs on a device: one operator after the other, everything between them in the device's memory; as one captured graph where the
memory of a run is kept (``static_alloc``).

``DeviceBackend`` is a backend whose arrays come from the host and go back there: registered before the others it has a
device compute whatever anybody runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.forking import cached_property, rlock
from ..core.op import Op
from ..core.shapes import is_known
from ..device.array import DeviceArray
from ..device.base import Captured, Device
from ..ir.graph import Entry, Graph
from ..ir.infer import Inference, infer
from ..ops.fused import FusedElementwise
from ..ops.fused_attention import FusedAttention
from ..ops.fused_norm import RMSNorm
from ..ops.normalization import LayerNorm
from ..passes import PASSES, Optimized, Rewriter, optimize
from ..passes.hoist_constants import without_hoisting
from .backend import Backend, Bound, Fallback, Request, too_large
from .hooks import HOOKS, Observer
from .on_device import apply_on_device
from .plan import Plan, make_plan

FUSED = (FusedElementwise.name, LayerNorm.name, RMSNorm.name, FusedAttention.name)
"""Operators that passes make of several, and a device runs as one."""
USED = (
    "fold_shapes",
    "resolve_like_ops",
    "remove_identities",
    "eliminate_common_subexpressions",
    "fuse_layer_norm",
    "fuse_attention",
    "fold_batch_norm",
    "fuse_elementwise",
)
"""Passes that are no business of the compiled part's alone."""
WARM = 2
"""Runs before one is captured: by then all is allocated, and every operator has shown where it runs."""


class _Replay:
    """A captured run: the arrays that it reads, those that it makes, and how to run it again."""

    def __init__(self, inputs: list[Any], outputs: list[Any], captured: Captured):
        self.inputs, self.outputs, self.captured = inputs, outputs, captured
        self.versions: list[Any] = [None] * len(inputs)
        """Of what the inputs hold, where that is known."""


class OnDevice(Bound):
    """A graph on a device."""

    def __init__(self, request: Request, device: Device):
        self.request, self.device = request, device
        optimized = _optimized(request)
        self._main = make_plan(optimized.main, optimized.inference, _names(optimized.main))
        self._names = _names(optimized.main)
        self._place = {n: i for i, n in enumerate(request.names)}
        self._feeds = {n: i for i, n in enumerate(optimized.feeds)}
        self._constant = optimized.constant
        self._inference = optimized.inference
        self._watched = () if self._constant is None else tuple(self._place[n.name] for n in self._constant.variables())
        self._held: tuple[Any, list[Any]] | None = None
        """Arrays that follow from constants, and the versions of these."""
        self._uploaded: dict[int, tuple[Any, Any, Any]] = {}
        """Copies of constant arrays of the host: the array, its version, and the copy."""
        self._runs = 0
        self._replay: _Replay | None = None
        self._lock = rlock()
        self._reasons: dict[str, Fallback] = {}
        self._written = request.graph.written_variables(request.training)
        self._draws = any(n.op is not None and n.op.draws(request.training) for n in request.graph.nodes)

    def fallbacks(self) -> list[Fallback]:
        """Steps that the CPU computed so far."""
        return [*self._reasons.values()]

    # -- device arrays in and out ---------------------------------------------------------------------------------------

    def run_there(
        self, arrays: Sequence[Any], versions: Sequence[Any] | None, rng: np.random.Generator | None = None
    ) -> list[Any]:
        """The outputs on the device, for arrays on it. versions: as in run."""
        with self._lock:
            self._runs += 1
            held = self._constants(arrays, versions, rng)
            given = [held[self._feeds[n]] if n in self._feeds else arrays[self._place[n]] for n in self._names]
            if not self.request.keep or self._written or self._draws or self._reasons or HOOKS or self._runs <= WARM:
                results = self._steps(self._main, given, rng)
                return self._own(results, given)
            known = [None if versions is None or n in self._feeds else versions[self._place[n]] for n in self._names]
            return self._replayed(given, known, rng)

    def _constants(self, arrays: Sequence[Any], versions: Sequence[Any] | None, rng: Any) -> list[Any]:
        if self._constant is None:
            return []
        known = None if versions is None else [versions[i] for i in self._watched]
        if self._held is None or known is None or self._held[0] != known:
            names = _names(self._constant)
            plan = make_plan(self._constant, self._constant_inference, names)
            given = [arrays[self._place[n]] for n in names]
            made = self._own(self._steps(plan, given, rng), given)
            self._held = known, made
            self._replay = None
        return self._held[1]

    @cached_property
    def _constant_inference(self) -> Inference:
        assert self._constant is not None
        found = self.request.inference
        specs = {
            n.name: found.spec(Entry(v))
            for n in self._constant.variables()
            for v in self.request.graph.variables()
            if v.name == n.name
        }
        shapes = {n: s.shape for n, s in specs.items()}
        return infer(self._constant, shapes, {n: s.dtype for n, s in specs.items()})

    def _steps(self, plan: Plan, given: Sequence[Any], rng: np.random.Generator | None) -> list[Any]:
        values: list[Any] = [None] * plan.slots
        for slot, place in plan.variables:
            values[slot] = given[place]
        for step in plan.steps:
            inputs = [values[i] for i in step.inputs]
            made, why = apply_on_device(
                self.device,
                step.op,
                inputs,
                step.specs,
                name=step.node.name,
                training=self.request.training,
                subgraphs=self.request.subgraphs(step.node, rng),
                rng=rng,
            )
            if why is not None:
                self._reasons[step.node.name] = Fallback(step.node.name, step.op.name, why)
            for slot, result in zip(step.outputs, made):
                values[slot] = result
            for slot in step.dying:
                values[slot] = None
        return [values[s] for s, _ in plan.results]

    def _own(self, results: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """The results, each in memory of its own."""
        taken = {self.device.owner(a) for a in given if type(a) is DeviceArray}
        made = []
        for result in results:
            if type(result) is DeviceArray:
                if self.device.owner(result) in taken:
                    result = self.device.duplicate(result)
                taken.add(self.device.owner(result))
            made.append(result)
        return made

    def _replayed(self, given: list[Any], versions: list[Any], rng: np.random.Generator | None) -> list[Any]:
        """A run of the captured graph on other inputs."""
        replay = self._replay
        if replay is None:
            inputs = [self.device.duplicate(a) if type(a) is DeviceArray else a for a in given]
            outputs, captured = self.device.capture(lambda: self._steps(self._main, inputs, rng))
            if self._reasons:  # which copied, so that nothing of it is in the graph
                return self._own(self._steps(self._main, given, rng), given)
            self._replay = replay = _Replay(inputs, outputs, captured)
        for i, (place, array, name) in enumerate(zip(replay.inputs, given, self._names)):
            same = name in self._feeds or (name in self.request.fixed and versions[i] is not None)
            key = versions[i]
            if type(array) is DeviceArray and not (same and replay.versions[i] == key):
                place[...] = array
            replay.versions[i] = key
        replay.captured.replay()
        return [self.device.duplicate(y) if type(y) is DeviceArray else y for y in replay.outputs]

    # -- host arrays in and out -----------------------------------------------------------------------------------------

    def run(
        self,
        arrays: Sequence[np.ndarray],
        versions: Sequence[Any] | None = None,
        rng: np.random.Generator | None = None,
        observe: Observer | None = None,
    ) -> list[np.ndarray]:
        try:
            there = [self._brought(i, a, None if versions is None else versions[i]) for i, a in enumerate(arrays)]
            made = self.run_there(there, versions, rng)
            for name in self._written:
                place = self._place.get(name)
                if place is not None and type(there[place]) is DeviceArray:
                    arrays[place][...] = self.device.download(there[place])
            return [self.device.download(y) if type(y) is DeviceArray else y for y in made]
        except MemoryError as error:
            raise too_large(error) from error

    def _brought(self, place: int, array: np.ndarray, version: Any) -> Any:
        """An array of the host on the device: constants are copied once a version."""
        if not self.device.takes_dtype(array.dtype):
            return array
        if self.request.names[place] not in self.request.fixed:
            return self.device.upload(array)
        known = self._uploaded.get(place)
        if known is None or known[0] is not array or known[1] != version:
            known = self._uploaded[place] = array, version, self.device.upload(array)
        return known[2]


class DeviceBackend(Backend):
    """A device as a backend: it takes whatever is bound, and what it does not have the CPU computes."""

    def __init__(self, device: Device):
        self.device = device

    def bind(self, request: Request) -> Bound | None:
        return OnDevice(request, self.device)

    def takes(self, op: Op, work: int) -> bool:
        return True

    def release_memory(self) -> int:
        return self.device.release_memory()


def _optimized(request: Request) -> Optimized:
    """The graph as it is run: with what a device has as one, where all shapes are known."""
    graph, inference = request.graph, request.inference
    known = all(
        is_known((s := inference.spec(Entry(n, i))).shape) and s.dtype is not None and not s.dtype.hasobject
        for n in graph.nodes
        for i in range(n.num_outputs)
    )
    if not known or any(n.subgraphs for n in graph.nodes):
        return without_hoisting(graph, Rewriter(inference, training=request.training))
    rewriter = Rewriter(inference, constants=request.fixed, training=request.training, native=FUSED)
    return optimize(graph, rewriter, [n for n in PASSES if n not in USED])


def _names(graph: Graph) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n.name for n in graph.variables()))
