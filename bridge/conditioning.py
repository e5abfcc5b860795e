"""Conditioning of a network: how near to float64 float32 runs of it come, and whether two results are as near as that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hybrid.core.attrs import is_float
from hybrid.core.error import MXNetError
from hybrid.ir.graph import Entry

from .compare import FACTOR, TOLERANCES, Difference, distance, rule_scales, within
from .engines import Arrays, Engine, NativeEngine, OnnxEngine, outputs_by_numpy
from .exact import Exact, perturb

WITNESSED = 2  # runs in float32 with inputs and parameters moved by a unit in the last place
BLUNT = 0.05  # of an output's scale: where rounding is magnified to more, rounding decides


def native_of(engine: Engine) -> NativeEngine | None:
    """The engine that evaluates a side in NumPy: itself, or the ONNX model as we read it."""
    return (
        engine if isinstance(engine, NativeEngine) else engine.native_engine if isinstance(engine, OnnxEngine) else None
    )


class Witnesses(Sequence[Arrays]):
    """Outputs of float32 runs in NumPy whose inputs and parameters are moved by up to a unit in the last place (the first: by
    none). Each runs when it is first asked for, and raises MXNetError where it cannot."""

    def __init__(self, native: NativeEngine, feeds: Arrays):
        self.native, self.feeds = native, feeds
        self._known: dict[int, Arrays] = {}

    def __len__(self) -> int:
        return WITNESSED + 1

    def __getitem__(self, seed: Any) -> Any:
        if not 0 <= seed < len(self):
            raise IndexError(seed)
        if seed not in self._known:
            self._known[seed] = dict(zip(self.native.outputs, self._run(seed)))
        return self._known[seed]

    def _run(self, seed: int) -> list[np.ndarray]:
        native = self.native
        if not seed:
            return native.run_by_numpy(self.feeds)
        given, params = ({n: moved(n, a, seed) for n, a in x.items()} for x in (self.feeds, native.model.params))
        return outputs_by_numpy(native.graph, params, given)


def truth_of(native: NativeEngine, feeds: Arrays) -> tuple[Arrays, Sequence[Arrays]] | None:
    """The outputs in float64, and those of some float32 runs (Witnesses). None when the network cannot be evaluated so."""
    runs = Witnesses(native, feeds)
    try:
        truth = dict(zip(native.outputs, Exact(native.graph, native.model.params).run(feeds)))
        runs[0]
    except MXNetError:
        return None
    return truth, runs


def carried(native: NativeEngine, feeds: Arrays, errors: Mapping[str, np.ndarray]) -> Arrays | None:
    """The outputs in float64 where tensors inside are off by errors, by their names: what becomes of an engine's rounding at a few
    nodes if all others are exact. None when the network cannot be evaluated so."""
    keys = {
        native.name_of(Entry(n, i)): (id(n), i)
        for n in native.graph.nodes
        if n.op is not None
        for i in range(n.num_outputs)
    }
    if not errors or not errors.keys() <= keys.keys():
        return None
    try:
        added = {keys[n]: e for n, e in errors.items()}
        return dict(zip(native.outputs, Exact(native.graph, native.model.params).run(feeds, added=added)))
    except (MXNetError, ValueError):  # errors of another shape than the tensor
        return None


def moved(name: str, array: np.ndarray, seed: int) -> np.ndarray:
    """Floats moved by up to a unit in the last place; by none with seed 0."""
    if not seed or not is_float(array.dtype):
        return array
    return perturb(array, 1.0, seed, name).astype(array.dtype)


def settle(
    differences: Sequence[Difference],
    pairs: Sequence[tuple[str, str]],
    want: Mapping[str, np.ndarray],
    got: Mapping[str, np.ndarray],
    truths: tuple[Arrays, Sequence[Arrays]] | None,
) -> list[Difference]:
    """The differences of outputs; accepted where both are as near to float64 as float32 runs of the network come. truths: as
    truth_of gives them, by the names of either side."""
    return [
        d.accept("float64") if found is not None and found.reached and not found.blunt else d
        for d, found in reaches(differences, pairs, want, got, truths, every=True)
    ]


def reaches(
    differences: Sequence[Difference],
    pairs: Sequence[tuple[str, str]],
    want: Mapping[str, np.ndarray],
    got: Mapping[str, np.ndarray],
    truths: tuple[Arrays, Sequence[Arrays]] | None,
    every: bool = False,
) -> Iterator[tuple[Difference, Reach | None]]:
    """Each difference with the distances of both sides from float64; None where it is equal anyhow, or float64 says nothing of it.
    truths: as truth_of gives them, by the names of either side. every: of all runs, also where fewer show that both are within and
    ``small``: more runs would allow more, and nothing less."""
    truth, runs = truths or ({}, [])
    for d, (a, b) in zip(differences, pairs):
        name = a if a in truth else b
        exact = truth.get(name)
        if d.equal or not d.compared or exact is None or exact.shape != d.shape or not is_float(want[a].dtype):
            yield d, None
            continue
        try:
            for count in (len(runs),) if every else range(1, len(runs) + 1):
                found = reach(exact, [runs[i][name] for i in range(count)], want[a], got[b])
                if found.reached and found.small:
                    break
        except MXNetError:  # a run whose numbers are moved
            yield d, None
        else:
            yield d, found


class Reach(NamedTuple):
    """Distances of two results from float64."""

    errors: tuple[float, float]
    usual: float
    """The greatest distance of those float32 runs that were asked."""
    scale: float
    """The largest finite number there is, or 1."""
    reached: bool
    """True where both are within FACTOR times that distance, or within the rule for float32, channel by channel."""

    @property
    def small(self) -> bool:
        """True where both are within the rule for float32 beside the largest number of all channels."""
        return max(self.errors) <= TOLERANCES["float32"].atol * self.scale

    @property
    def blunt(self) -> bool:
        """True where float32 runs differ so much that rounding alone decides."""
        return self.usual >= BLUNT * self.scale


def reach(exact: np.ndarray, runs: Sequence[np.ndarray], first: np.ndarray, second: np.ndarray) -> Reach:
    """Distances of two results from what float64 gives. runs: the same by float32."""
    usual = max(distance(each, exact) for each in runs)
    allowed = _allowed(exact, usual)
    return Reach(
        (distance(first, exact), distance(second, exact)),
        usual,
        float(np.abs(exact[np.isfinite(exact)]).max(initial=0)) or 1.0,
        all(within(x, exact, allowed) for x in (first, second)),
    )


def _allowed(exact: np.ndarray, usual: float) -> np.ndarray:
    """The distance from float64 that a result may have, where float32 runs have the usual one."""
    return np.maximum(FACTOR * usual, TOLERANCES["float32"].atol * rule_scales(exact))


def explained(
    truths: tuple[Arrays, Sequence[Arrays]],
    off: Arrays,
    name: str,
    mine: np.ndarray,
    other: np.ndarray,
    room: float = 0.0,
) -> bool:
    """True where one side is as near to float64 as float32 runs come, and the other as near to float64 with a known rounding in
    it. truths: as truth_of gives them. off: as carried gives it. room: by how much more that rounding may be another where what
    goes in is another by a unit in the last place."""
    shifted, allowed = off.get(name), allowance(truths, name, mine)
    if allowed is None or shifted is None or not shifted.shape == mine.shape == other.shape:
        return False
    return within(other, shifted, allowed + room)


def allowance(truths: tuple[Arrays, Sequence[Arrays]], name: str, mine: np.ndarray) -> np.ndarray | None:
    """The distance from float64 that an output may have, of which one side is as near as float32 runs come; None where it is not,
    and where rounding alone decides. truths: as truth_of gives them."""
    exact = truths[0].get(name)
    if exact is None or exact.shape != mine.shape:
        return None
    try:
        runs = [run[name] for run in truths[1]]
    except MXNetError:  # a run whose numbers are moved
        return None
    found = reach(exact, runs, mine, mine)
    return _allowed(exact, found.usual) if found.reached and not found.blunt else None
