"""Do outputs move with the inputs? Where they hardly do, another model that moves as little agrees, whatever it computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hybrid.core.attrs import is_float

from .compare import TOLERANCES, Difference, Tolerance, rule_scales
from .engines import Arrays, Engine, NativeEngine

ELEMENTS, INPUTS = "elements", "inputs"
"""Kinds of places between which an output hardly moves."""
SIZES = ("Shape", "Size")
"""Operators of ONNX whose results follow from shapes."""
FEW = 0.5
"""Share of rows whose largest number is at the same place below which a note says it."""


def with_movement(
    d: Difference, feeds: Sequence[Arrays], found: Sequence[np.ndarray], limits: Tolerance | None
) -> Difference:
    """The difference of an output, saying where agreement says little because it hardly moves. feeds, found: inputs of the runs,
    and what it is there. limits: the tolerance that decides; by default that of its dtype."""
    if not d.equal or not d.compared or d.little:
        return d
    first = found[0].reshape(-1)[:1]
    if _differ(feeds) and all(
        a.size and bool((a == first).all()) for a in found
    ):  # of one element in each run, for instance
        return replace(d, constant=True)
    limits = limits or TOLERANCES.get(d.dtype)
    if limits is None or not all(a.size and is_float(a.dtype) for a in found):
        return d
    found = [a.astype(np.float32) if a.dtype.itemsize < 4 else a for a in found]
    if not all(np.isfinite(a).all() for a in found):
        return d
    return replace(d, still=_still(feeds, found, limits))


def _still(feeds: Sequence[Arrays], found: Sequence[np.ndarray], limits: Tolerance) -> str:
    """Kind of places between which an output hardly moves; empty where it moves, or nothing says whether it does."""
    low, high = min(float(a.min()) for a in found), max(float(a.max()) for a in found)
    scale = max(abs(low), abs(high))
    most = limits.limit(scale) + limits.rtol * scale
    if high - low <= most and (_differ(feeds) or any(a.size > 1 for a in found)):
        return ELEMENTS
    told = False
    for shape in dict.fromkeys(a.shape[1:] for a in found):
        group = [(f, a if a.ndim else a[None]) for f, a in zip(feeds, found) if a.shape[1:] == shape]
        rows = [a for f, a in group if len(a) > 1 and _rows_differ(f, len(a))]
        if len(group) > 1 and _differ([f for f, _ in group]):
            rows = [a for _, a in group]
        if not rows:
            continue
        told = True
        moved = np.max([a.max(axis=0) for a in rows], axis=0) - np.min([a.min(axis=0) for a in rows], axis=0)
        if float(moved.max()) > most:
            return ""
        allowed = np.max([_allowed(a, limits).max(axis=0) for a in rows], axis=0)
        if (moved > allowed).any():
            return ""
    return INPUTS if told else ""


def _allowed(array: np.ndarray, limits: Tolerance) -> np.ndarray:
    """For each element the distance from which on another number is a difference."""
    wide = np.abs(array.astype(np.float64))
    return limits.atol * (rule_scales(array) if limits.scaled else 1.0) + limits.rtol * wide


def _differ(feeds: Sequence[Arrays]) -> bool:
    """True where runs have other inputs of the same shapes, or other shapes."""
    first = feeds[0]
    return any(n in each and not np.array_equal(a, each[n]) for each in feeds[1:] for n, a in first.items())


def _rows_differ(feeds: Arrays, rows: int) -> bool:
    """True where an input of so many rows has different ones."""
    return any(bool(a.ndim and len(a) == rows and (a != a[:1]).any()) for a in feeds.values())


def follows(engine: Engine, output: str) -> bool:
    """True where an output of an engine follows from what its inputs hold, as far as that can be told; false where it is a
    constant, or follows from their shapes."""
    tensors = {t.name: t for t in engine.inner_tensors()}
    if isinstance(engine, NativeEngine):
        output = dict(zip(engine.outputs, map(engine.name_of, engine.graph.outputs))).get(output, output)
    if not tensors:
        return True
    stack, seen = [output], set()
    while stack:
        name = stack.pop()
        if name in engine.inputs:
            return True
        tensor = tensors.get(name)
        if name not in seen and tensor is not None and tensor.operator not in SIZES:
            stack += tensor.inputs
        seen.add(name)
    return False


def ranked_otherwise(names: Iterable[str], runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Notes of outputs that agree, by these names, and whose largest numbers are at other places in most rows. runs: those of a
    result; what is drawn wide or at edges is left out, where rows may be all alike."""
    for name in names:
        found = [
            d for run in runs if run["kind"] not in ("wide", "edges") for d in run["differences"] if d["name"] == name
        ]
        ranked = [(d["shape"][0], d["top1"]) for d in found if d["top1"] is not None and len(d["shape"]) == 2]
        rows = sum(count for count, _ in ranked)
        share = sum(count * same for count, same in ranked) / rows if rows else 1.0
        if share < FEW:
            yield (
                f"output {name} agrees, and yet the largest number of a row is at the same place in {share:.1%} of its rows "
                "(top-1): its numbers are nearer to each other than the tolerance; give inputs that tell more (--inputs, --image)"
            )
