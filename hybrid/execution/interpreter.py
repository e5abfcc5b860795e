"""NumPy as a backend: a plan, run step by step. It takes every graph, and what it gives is what graphs mean."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.error import MXNetError
from ..core.forking import cached_property
from ..core.fp_warnings import ignoring_fp_warnings
from .apply import failure
from .backend import Backend, Bound, Fallback, Request, too_large
from .hooks import HOOKS, Observer
from .plan import Plan, Step, make_plan


class Arena:
    """The memory of one run, and the steps with their places in it: concurrent runs of one plan each take their own."""

    def __init__(self, plan: Plan):
        try:
            self.memory = np.empty(plan.arena, np.uint8)
            self.views = [b.view(self.memory) for b in plan.buffers]
        except (MemoryError, ValueError) as error:
            raise too_large(error) from error
        self.code: list[Instruction] | None = None
        """The steps as a first run has found them to be; None before."""

    def buffer(self, step: Step) -> np.ndarray | None:
        """The step's output buffer, if that is in the arena."""
        return None if step.buffer is None else self.views[step.buffer]


class Instruction(NamedTuple):
    """A step that has been proven: what it computes is what inference said."""

    compute: Callable[..., Any] | None
    """None for what needs more than arrays, and goes through ``apply``."""
    inputs: tuple[int, ...]
    output: int
    dying: tuple[int, ...]
    copies: bool
    """True when the result is memory of an input that it must not be."""
    step: Step


class Interpretation(Bound):
    """A graph that NumPy computes. Results may be memory of the arrays that were given."""

    observes = aliases = True

    def __init__(self, request: Request):
        self._request = request
        self.arenas: list[Arena] = []
        """Those that no run of the plan is using at the moment."""

    @cached_property
    def plan(self) -> Plan:
        """The steps in order, made when first asked for."""
        return make_plan(self._request.graph, self._request.inference, self._request.names)

    def fallbacks(self) -> list[Fallback]:
        why = "the graph is not compiled"
        return [Fallback(n.name, n.op.name, why) for n in self._request.graph.nodes if n.op is not None]

    def run(
        self,
        arrays: Sequence[np.ndarray],
        versions: Sequence[Any] | None = None,
        rng: np.random.Generator | None = None,
        observe: Observer | None = None,
    ) -> list[np.ndarray]:
        plan = self.plan
        try:
            arena = self.arenas.pop()
        except IndexError:
            arena = Arena(plan)
        values: list[Any] = [None] * plan.slots
        for slot, place in plan.variables:
            values[slot] = arrays[place]
        if arena.code is not None and observe is None and not HOOKS:
            ignoring_fp_warnings(self._run_again, arena.code, arena, values, rng)
        else:
            ignoring_fp_warnings(self._run_first, plan, arena, values, observe, rng)
        outputs = [
            np.array(values[s]) if copy or _in_arena(arena, values[s]) else values[s] for s, copy in plan.results
        ]
        self.arenas.append(arena)
        return outputs

    def _apply(
        self, step: Step, arena: Arena, values: list[Any], rng: np.random.Generator | None
    ) -> tuple[tuple[np.ndarray, ...], bool]:
        """Run a step with all checks: its results, and whether they had to be copied out of its inputs."""
        inputs = [values[i] for i in step.inputs]
        results, copied = self._request.apply(step.node, inputs, step.specs, rng, arena.buffer(step))
        for slot, result in zip(step.outputs, results):
            values[slot] = result
        return results, copied

    def _run_first(
        self,
        plan: Plan,
        arena: Arena,
        values: list[Any],
        observe: Observer | None,
        rng: np.random.Generator | None,
    ) -> None:
        """Run every step with all checks, and note what ``_run_again`` need not find out again."""
        code = []
        for step in plan.steps:
            results, copies = self._apply(step, arena, values, rng)
            if observe is not None:
                observe(step.node, results)
            for slot in step.dying:
                values[slot] = None
            compute = None
            if step.plain:
                out = arena.buffer(step)
                compute = step.op.compute if out is None else functools.partial(step.op.compute, out=out)  # type: ignore[call-arg]
            code.append(Instruction(compute, step.inputs, step.outputs[0], step.dying, copies, step))
        arena.code = code

    def _run_again(
        self, code: Sequence[Instruction], arena: Arena, values: list[Any], rng: np.random.Generator | None
    ) -> None:
        """Run every step as the first run has found it to be."""
        step: Step | None = None
        array = np.ndarray
        try:
            for compute, inputs, output, dying, copies, step in code:
                if compute is None:
                    self._apply(step, arena, values, rng)
                else:
                    result = compute(*[values[i] for i in inputs])
                    if type(result) is not array:
                        result = _single_output(result)
                    values[output] = result.copy() if copies else result
                for slot in dying:
                    values[slot] = None
        except MXNetError as error:
            if error.node:
                raise
            assert step is not None
            raise failure(step.op, [values[i] for i in step.inputs], step.node.name, error) from error
        except Exception as error:
            assert step is not None
            raise failure(step.op, [values[i] for i in step.inputs], step.node.name, error) from error


class NumPy(Backend):
    """The reference, and the last in the list."""

    def bind(self, request: Request) -> Interpretation:
        return Interpretation(request)


def _single_output(result: Any) -> np.ndarray:
    """The array of an operator with one output, however compute gave it."""
    if isinstance(result, tuple | list):
        (result,) = result
    return np.asarray(result)


def _in_arena(arena: Arena, array: np.ndarray) -> bool:
    """True where the array is memory of the arena; a view's base is always the array that owns the memory."""
    return array.base is arena.memory
