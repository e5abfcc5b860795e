"""Steps of a compiled model that NumPy computes: which operators, how many, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hybrid import native
from hybrid.core.op import Spec
from hybrid.execution.backend import Fallback
from hybrid.execution.program import Program


class FallbackCount(NamedTuple):
    """So many steps of one operator that NumPy computes for one reason."""

    operator: str
    count: int
    why: str


def fallbacks_of(program: Program, specs: Mapping[str, Spec]) -> tuple[FallbackCount, ...]:
    """Those of a program for inputs of these shapes and dtypes, the most frequent first; all, where no kernels are in use."""
    stored = {n: Spec(a.shape, a.dtype) for n, a in program.constants.items()}
    key = tuple(x for n in program.names for x in {**stored, **specs}[n])
    return _counted(program.prepare(key).bound.fallbacks())


def _counted(found: Iterable[Fallback]) -> tuple[FallbackCount, ...]:
    off = native.level() is None
    counts = Counter((f.operator, "no kernels are in use" if off else f.why) for f in found)
    return tuple(FallbackCount(operator, count, why) for (operator, why), count in counts.most_common())
