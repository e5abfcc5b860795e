"""Finds where two models part: the first tensor that differs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from .compare import Difference, Tolerance, compare, statistics
from .engines import Engine, EngineError, Tensor, in_groups
from .result import Case, Divergence

EXPOSED_BYTES = 256 << 20  # of tensors held at a time while looking for the first that differs
EXPLAINED = 8  # tensors that differ of which the nodes are run alone


def first_divergence(
    left: Engine,
    right: Engine,
    case: Case,
    tolerance: Tolerance | None = None,
    pairs: Mapping[str, str] | None = None,
) -> Divergence | None:
    """The first tensor, in the order in which the left side makes them, that differs though its node gets the same inputs; where
    none of those looked at does, the first that differs. pairs: the right side's names by the left's; by default tensors pair by
    name, those of other shapes or dtypes only where nothing else differs."""
    theirs = {t.name: t for t in right.inner_tensors()}
    names = pairs or {n: n for n in theirs}
    common = [t for t in left.inner_tensors() if names.get(t.name) in theirs]
    found: list[tuple[Tensor, Difference]] = []
    first: Divergence | None = None
    sizes = left.sizes(case.feeds)
    for group in in_groups(common, lambda t: sizes.get(t.name, EXPOSED_BYTES // 32), EXPOSED_BYTES):
        want = left.expose(case.feeds, [t.name for t in group])
        try:
            got = right.expose(case.feeds, [names[t.name] for t in group])
        except EngineError:
            continue  # a runtime may refuse to show some tensors; the others still tell
        for tensor in group:
            if tensor.name not in want or names[tensor.name] not in got:
                continue
            difference = compare(tensor.name, got[names[tensor.name]], want[tensor.name], tolerance)
            if difference.equal:
                continue
            found.append((tensor, difference))
            if difference.compared and len(found) <= EXPLAINED:
                here = _explain(
                    left, right, case, tensor, theirs[names[tensor.name]], difference, tolerance, names, want
                )
                if here.kind == "local":
                    return here
                first = first or here
    if first is None and found:
        tensor, difference = found[0]
        first = _explain(left, right, case, tensor, theirs[names[tensor.name]], difference, tolerance, names)
    return first


def _explain(
    left: Engine,
    right: Engine,
    case: Case,
    mine: Tensor,
    theirs: Tensor,
    difference: Difference,
    tolerance: Tolerance | None,
    pairs: Mapping[str, str],
    known: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> Divergence:
    """The divergence at a tensor. known: values of the left side that were shown; for others that it reads the whole model is run
    again."""
    names = list(dict.fromkeys(mine.inputs))
    given = {n: v for n in names if (v := case.feeds.get(n, known.get(n))) is not None}
    lacking = [n for n in names if n not in given and left.parameter(n) is None]
    if lacking:
        given |= left.expose(case.feeds, lacking)
    try:
        want = left.compute_alone(mine, given)
        got = right.compute_alone(theirs, {pairs.get(n, n): v for n, v in given.items()})
    except EngineError:
        want = got = None
    local = None if want is None or got is None else compare(mine.name, got, want, tolerance)
    stats = {name: statistics(value) for name, value in given.items()}
    return Divergence(mine.name, mine.node, mine.operator, difference, local, stats, theirs.name, theirs.node)
