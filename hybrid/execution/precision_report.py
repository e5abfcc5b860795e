"""Costs of a reduced precision on given inputs: a program beside the same one with weights as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.precision import FLOAT32
from .backend import ReducedLayer
from .program import Program


class OutputError(NamedTuple):
    """Distance of an output from what weights as they are give."""

    output: str
    error: float
    """The largest difference, by the largest size of a number in the output."""
    mean: float
    """The root of the mean square of the differences, by that of the output."""


class PrecisionReport(NamedTuple):
    """Costs of a precision on the inputs that were given."""

    precision: str
    outputs: tuple[OutputError, ...]
    layers: tuple[ReducedLayer, ...]
    """Products whose weights are held so; none where no step of the compiled program has such."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "precision": self.precision,
            "outputs": [o._asdict() for o in self.outputs],
            "layers": [{**r._asdict(), "shape": list(r.shape)} for r in self.layers],
        }

    def __str__(self) -> str:
        lines = [f"weights as {self.precision}, beside float32 on the inputs given:"]
        lines += [
            f"  output {o.output}: largest error {o.error:.2e} of its largest number, mean {o.mean:.2e}"
            for o in self.outputs
        ]
        lines += [f"  {r.node} ({r.operator}{r.shape}): weights lose {r.error:.2e}" for r in self.layers]
        if not self.layers:
            lines.append("  no product has constant weights that are held so")
        return "\n".join(lines)


def report(program: Program, feeds: Mapping[str, np.ndarray], names: Sequence[str], precision: str) -> PrecisionReport:
    """The report of a program of that precision for these inputs. names: of its outputs."""
    plain = Program(program.graph, program.constants, fixed=program.fixed, precise=program.precise, precision=FLOAT32)
    want, got = plain.run(feeds), program.run(feeds)
    outputs = tuple(_error(name, w, g) for name, w, g in zip(names, want, got, strict=True))
    arrays = [feeds[n] if n in feeds else program.constants[n] for n in program.names]
    key = tuple(x for a in arrays for x in (a.shape, a.dtype))
    bound = program.prepare(key, frozenset(n for n in feeds if n in program.constants)).bound
    return PrecisionReport(precision, outputs, tuple(bound.reduced()))


def _error(name: str, want: np.ndarray, got: np.ndarray) -> OutputError:
    if want.shape != got.shape:  # data decided about the shape, and the data differ
        return OutputError(name, float("inf"), float("inf"))
    wide = np.dtype(np.complex128 if want.dtype.kind == "c" else np.float64)
    want, got = want.astype(wide), got.astype(wide)
    with np.errstate(all="ignore"):
        same = (want == got) | (np.isnan(want) & np.isnan(got))
        difference = np.where(same, 0, np.abs(want - got))
        difference = np.where(np.isnan(difference), np.inf, difference)
        sizes = np.abs(np.where(np.isfinite(want), want, 0))
        worst, size = float(difference.max(initial=0)), float(sizes.max(initial=0))
        lost, all_ = float(np.square(difference).sum()), float(np.square(sizes).sum())
    return OutputError(name, _by(worst, size), _by(lost, all_) ** 0.5)


def _by(a: float, b: float) -> float:
    """a / b, where 0 is 0 of anything."""
    return 0.0 if a == 0 else float("inf") if b == 0 else a / b
