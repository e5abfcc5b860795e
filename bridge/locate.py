"""Finds where two models part: the first tensor that differs."""

from __future__ import annotations

from collections.abc import Iterator

from .compare import Difference, Tolerance, compare, statistics
from .engines import Engine, EngineError, Tensor
from .result import Case, Divergence

EXPOSED_BYTES = 256 << 20  # of tensors held at a time while looking for the first that differs


def first_divergence(left: Engine, right: Engine, case: Case, tolerance: Tolerance | None = None) -> Divergence | None:
    """The first tensor, in the order in which the left side makes them, that both have by name and that differs."""
    theirs = {t.name: t for t in right.inner_tensors()}
    common = [t for t in left.inner_tensors() if t.name in theirs]
    for group in _groups(left, case, common):
        want = left.expose(case.feeds, [t.name for t in group])
        try:
            got = right.expose(case.feeds, [t.name for t in group])
        except EngineError:
            continue  # a runtime may refuse to show some tensors; the others still tell
        for tensor in group:
            if tensor.name not in want or tensor.name not in got:
                continue
            difference = compare(tensor.name, got[tensor.name], want[tensor.name], tolerance)
            if not difference.equal:
                return _explain(left, right, case, tensor, theirs[tensor.name], difference, tolerance)
    return None


def _groups(left: Engine, case: Case, tensors: list[Tensor]) -> Iterator[list[Tensor]]:
    """Tensors in order, in groups whose values fit EXPOSED_BYTES."""
    sizes = left.sizes(case.feeds)
    group: list[Tensor] = []
    held = 0
    for tensor in tensors:
        size = sizes.get(tensor.name, EXPOSED_BYTES // 32)
        if group and held + size > EXPOSED_BYTES:
            yield group
            group, held = [], 0
        group.append(tensor)
        held += size
    if group:
        yield group


def _explain(
    left: Engine,
    right: Engine,
    case: Case,
    mine: Tensor,
    theirs: Tensor,
    difference: Difference,
    tolerance: Tolerance | None,
) -> Divergence:
    names = list(dict.fromkeys(mine.inputs))
    given = {**left.expose(case.feeds, names), **{k: v for k, v in case.feeds.items() if k in names}}
    try:
        want, got = left.compute_alone(mine, given), right.compute_alone(theirs, given)
    except EngineError:
        want = got = None
    local = None if want is None or got is None else compare(mine.name, got, want, tolerance)
    stats = {name: statistics(value) for name, value in given.items()}
    return Divergence(mine.name, mine.node, mine.operator, difference, local, stats)
