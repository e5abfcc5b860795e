"""Graphs trained as users train them: bound with gradients, run several times, by compiled kernels and by NumPy alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import hybrid as mx
from hybrid import native
from hybrid.core.error import OpError
from hybrid.ir.graph import Graph
from hybrid.symbol import Symbol

Arrays = Mapping[str, np.ndarray]
RUNS = 3


class Trained(NamedTuple):
    """Results of some steps of training, and of inference after them: by name, "run/kind/name"."""

    arrays: dict[str, np.ndarray]
    error: str = ""
    """Reason for which there are no gradients, if so."""


@contextmanager
def numpy_alone() -> Iterator[None]:
    """Without compiled kernels."""
    before = native.use(None)
    try:
        yield
    finally:
        native.use(before)


def trained(graph: Graph, feeds: Arrays, seed: int = 0) -> Trained:
    """RUNS times forward and backward, with gradients for all floating inputs and seeded ones arriving at the outputs; then
    inference. Where something has no derivative, forward alone."""
    symbol = Symbol(graph.outputs)
    rng = np.random.default_rng(seed)
    given = {n: mx.nd.array(feeds[n], dtype=feeds[n].dtype) for n in symbol.list_arguments()}
    states = {n: mx.nd.array(feeds[n], dtype=feeds[n].dtype) for n in symbol.list_auxiliary_states()}
    wanted = {n: mx.nd.zeros(a.shape, dtype=a.dtype) for n, a in given.items() if np.dtype(a.dtype).kind == "f"}
    made: dict[str, np.ndarray] = {}

    def note(run: Any, kind: str, arrays: Mapping[Any, Any]) -> None:
        made.update((f"{run}/{kind}/{n}", a.asnumpy()) for n, a in arrays.items() if a is not None)

    mx.random.seed(seed)
    error = ""
    bound = symbol.bind(mx.cpu(), given, args_grad=wanted, aux_states=states)
    for run in range(RUNS):
        outputs = bound.forward(is_train=True)
        note(run, "output", dict(enumerate(outputs)))
        heads = [mx.nd.array(rng.uniform(-1, 1, y.shape), dtype=y.dtype) for y in outputs]
        try:
            bound.backward(heads)
        except OpError as problem:
            error = str(problem)
        note(run, "gradient", bound.grad_dict)
        note(run, "state", bound.aux_dict)
    note("inference", "output", dict(enumerate(bound.forward(is_train=False))))
    note("inference", "state", bound.aux_dict)
    return Trained(made, error)


def differences(got: Trained, want: Trained, tolerance: float, rounding: float) -> list[str]:
    """Differences of two ways to train: beyond so many epsilons, but at least ``rounding``, times an array's scale.

    Epsilon is that of the narrowest dtype there is, which what is wider may come from; the scale is no less than CANCELLED of the
    largest number of the whole, of which gradients may be what is left."""
    if got.error != want.error:
        return [f"compiled: {got.error or 'has gradients'}; NumPy: {want.error or 'has gradients'}"]
    found = [f"{n} is there in one only" for n in got.arrays.keys() ^ want.arrays.keys()]
    eps = max((float(np.finfo(a.dtype).eps) for a in want.arrays.values() if a.dtype.kind == "f"), default=0.0)
    largest = max((_scale(a) for a in want.arrays.values()), default=0.0)
    for name, wanted in want.arrays.items():
        array = got.arrays.get(name, wanted)
        if (array.shape, array.dtype) != (wanted.shape, wanted.dtype):
            found.append(f"{name}: {array.dtype}{array.shape}, wanted {wanted.dtype}{wanted.shape}")
        elif wanted.dtype.kind not in "fc":
            found += [f"{name}: other values"] * (not np.array_equal(array, wanted))
        else:
            finite = np.isfinite(wanted)
            alike = np.array_equal(array[~finite], wanted[~finite], equal_nan=True)
            scale = max(_scale(wanted), CANCELLED * largest)
            limit = tolerance * max(eps, rounding) * scale
            off = float(np.abs(array[finite].astype(float) - wanted[finite]).max(initial=0))
            if not alike or not off <= limit:
                found.append(
                    f"{name}: off by {off:.3g} of {scale:.3g}" if alike else f"{name}: NaN or infinity elsewhere"
                )
    return found


CANCELLED = 0.03


def _scale(array: np.ndarray) -> float:
    """The largest finite number in it."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0)) if array.dtype.kind == "f" else 0.0
