"""Are two arrays the same numbers? Tolerances by dtype, and measures that a person can judge by."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hybrid.core.attrs import HALVES, is_float

from .measures import Details
from .models import BadInput

FACTOR = 8.0
"""Times that a run may be as far from the truth as others of its precision are."""
THIN = 8
"""Elements up to which the largest of a slice says little of its magnitude."""
SHARE = 0.1
"""Of the magnitude that slices have in the middle, that such a slice has at least."""
RESOLUTION = 1 / 128
"""Of the tensor's largest number that the scale of a slice is at least: times 1e-5 that is what float32 resolves beside it."""
SCALED = re.compile(r" x [^ ]+( to [^ ]+ by channel)?")
"""Scales of outputs within the words of a rule: those of the numbers that were compared."""
SIGNAL = "of signal to noise"
"""Behind the decibels of a judge that asks for so many: what it accepts is near enough and not equal."""
TIES = "ties"
"""The judge that finds outputs equal which differ by choices between equal numbers alone (ties.py)."""


STILL: Mapping[str, str] = {
    "elements": "is one value everywhere, up to the tolerance",
    "inputs": "hardly moves between inputs: by less than the tolerance",
}
"""Words for what hardly moves, by between what (Difference.still)."""


class Tolerance(NamedTuple):
    """|got - want| may be atol + rtol * |want|, element by element, as NumPy has it.

    Examples
    --------
    >>> import gluonnx
    >>> gluonnx.Tolerance(1e-5, 1e-3).limit(10.0)
    1e-05
    """

    atol: float
    rtol: float
    scaled: bool = False
    """True where atol counts times the largest |want| of the element's channel, or row (rule_scales)."""

    def limit(self, scale: float) -> float:
        """atol for numbers whose largest |want| is scale."""
        return self.atol * scale if self.scaled else self.atol

    def words(self, scale: float, least: float | None = None) -> str:
        """The rule for a tensor in words. scale: the largest |want|; least: that of the channel where it is least.

        Examples
        --------
        >>> import gluonnx
        >>> gluonnx.TOLERANCES["float32"].words(10.0, least=0.5)
        'atol 1e-05 x 0.5 to 10 by channel + rtol 0.0001'
        """
        low, high = f"{scale if least is None else least:.3g}", f"{scale:.3g}"
        of = "" if not self.scaled else f" x {high}" if low == high else f" x {low} to {high} by channel"
        return f"atol {self.atol:g}{of} + rtol {self.rtol:g}"


# float64 as float32: onnxruntime lacks float64 kernels (Conv, LSTM, ...) and such nodes run in float32
TOLERANCES: Mapping[str, Tolerance] = {
    "float64": Tolerance(1e-5, 1e-4, scaled=True),
    "float32": Tolerance(1e-5, 1e-4, scaled=True),
    "float16": Tolerance(2.5e-3, 1e-3, scaled=True),
    "bfloat16": Tolerance(2e-2, 1e-2, scaled=True),
}


def as_tolerance(limits: Tolerance | tuple[float, float] | None) -> Tolerance | None:
    """(atol, rtol), as NumPy means them, as a Tolerance. Raises BadInput for limits that nothing or everything would meet (NaN)."""
    if limits is None:
        return None
    if not isinstance(limits, tuple | list) or not 2 <= len(limits) <= 3:
        raise BadInput(f"got tolerance {limits!r}, wanted (atol, rtol), such as (1e-5, 1e-4)")
    atol, rtol, *scaled = limits
    limits = Tolerance(atol, rtol, *map(bool, scaled))
    if not (0 <= limits.atol < np.inf and 0 <= limits.rtol < np.inf):
        raise BadInput(f"got tolerance atol {limits[0]:g}, rtol {limits[1]:g}, wanted finite numbers of 0 or more")
    return limits


def coarsest(dtypes: Iterable[str]) -> str:
    """The name among these that rounds most; empty when none of them rounds more than float32 does."""
    seen = set(dtypes)
    return next((d for d in HALVES if d in seen), "")


@dataclass(frozen=True)
class Difference:
    """The difference of ``got`` from ``want``. Measures cover the elements that are finite on both sides.

    Examples
    --------
    >>> import gluonnx
    >>> import numpy as np
    >>> difference = gluonnx.compare("y", np.float32([1, 2]), np.float32([1, 2.5]))
    >>> difference.equal, round(difference.max_abs, 3)
    (False, 0.5)
    >>> difference.size, difference.little, difference.broken, difference.as_dict()["index"]
    (2, '', False, (1,))
    >>> difference.accept("float64").equal, difference.refuse("too far").reason
    (True, 'too far')
    """

    name: str
    """The tensor's name."""
    dtype: str
    """That of want."""
    shape: tuple[int, ...]
    """That of want."""
    equal: bool
    """True where it is within the rule, or a judge found that it is."""
    reason: str
    """Reason why they are not equal; empty when they are."""
    max_abs: float = 0.0
    """The largest |got - want|."""
    max_rel: float = 0.0
    """max_abs over the largest |want|."""
    cosine: float = 1.0
    """Cosine of the angle between both, as vectors."""
    top1: float | None = None
    """Share of rows whose largest element is at the same place (2-D and up, last axis of 2 or more)."""
    winner: int | None = None
    """Place of the largest element of every row of want, in all runs; None where rows have it at several places, or there is one
    row alone."""
    not_finite: int = 0
    """Number of elements of want that are NaN or infinite."""
    constant: bool = False
    """want is one value everywhere: agreement says little."""
    saturated: bool = False
    """want is 0 or 1 everywhere, as a softmax of large scores gives: agreement hides how far the scores are apart."""
    still: str = ""
    """Kind of places between which want moves by less than the tolerance, over all runs: "elements", or "inputs"; empty where it
    moves more."""

    compared: bool = True
    """False when the shapes or dtypes differ: then there are no measures."""
    misplaced: int = 0
    """Number of elements that are NaN or infinite on one side only."""
    settled_by: str = ""
    """The judge that found them equal where the plain tolerance does not: "float64", for instance."""
    tolerance: str = ""
    """The rule in words; empty where numbers have to be the same."""
    needs: float = 0.0
    """The smallest atol with which all elements were within atol + rtol * |want|."""
    index: tuple[int, ...] = ()
    """Place of max_abs."""
    beyond: int = 0
    """Number of elements outside the rule, those included that are NaN or infinite on one side only."""
    scale: float = 0.0
    """The largest finite |want|."""
    limit: float = 0.0
    """atol of the rule for this tensor."""
    rms: float = 0.0
    """Root of the mean square of the differences."""
    relative: float = 0.0
    """The largest |got - want| / |want| where want is not 0."""
    relative_index: tuple[int, ...] = ()
    """Place of relative."""
    from_float64: tuple[float, float, float] | None = None
    """The greatest distances from float64 of want, of got, and of float32 runs whose inputs are moved by one unit in the last
    place (of as many as it took); None where float64 was not asked."""
    details: Details | None = None
    """Measures of where it is shown."""

    @property
    def little(self) -> str:
        """Reason why agreement here says little; empty when it says something."""
        if not self.size:
            return "is empty"
        if self.broken:
            return "is NaN or infinite everywhere"
        if self.saturated:
            return "is 0 or 1 everywhere, which hides differences of the scores"
        if self.settled_by == "node by node":
            return "depends on how sums are rounded"
        if self.settled_by == TIES:
            return "depends on which of some numbers that are equal up to rounding is chosen"
        if self.still:
            return STILL[self.still]
        return "is one value everywhere" if self.constant else ""

    @property
    def broken(self) -> bool:
        """True where no element of want is a finite number, as where weights hold NaN."""
        return 0 < self.size == self.not_finite

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def accept(self, by: str) -> Difference:
        """The same difference, found to be none, and by which judge."""
        return replace(self, equal=True, reason="", settled_by=by)

    def refuse(self, reason: str) -> Difference:
        """The same difference, found to be one, and why (reason)."""
        return replace(self, equal=False, reason=reason)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def compare(name: str, got: np.ndarray, want: np.ndarray, tolerance: Tolerance | None = None) -> Difference:
    """The difference of one tensor, got, from another, want: of the same shape and dtype, or they are not equal.

    name: what results call it. tolerance: by default that of want's dtype (TOLERANCES); integers and bools have to be the same
    without one. NaN equals NaN, and an infinity the same one.

    >>> import numpy as np, bridge
    >>> found = bridge.compare("scores", np.float32([1, 2.1]), np.float32([1, 2]))
    >>> found.equal, round(found.max_abs, 3), found.index
    (False, 0.1, (1,))"""
    got, want = np.asarray(got), np.asarray(want)
    dtype, shape = want.dtype.name, want.shape
    if got.shape != want.shape and (got.size or want.size or got.ndim != want.ndim):  # of a loop that never runs
        return Difference(name, dtype, shape, False, f"shape {got.shape}, wanted {want.shape}", compared=False)
    if got.dtype != want.dtype:
        return Difference(name, dtype, shape, False, f"dtype {got.dtype}, wanted {want.dtype}", compared=False)
    if want.size == 0:
        return Difference(name, dtype, shape, True, "")
    limits = tolerance or TOLERANCES.get(dtype)
    if limits is None:
        return _compare_exact(name, got, want)
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite_a, finite_b = np.isfinite(a), np.isfinite(b)
    misplaced = ~((finite_a & finite_b) | (a == b) | (np.isnan(a) & np.isnan(b)))
    both, total = finite_a & finite_b, want.size
    whole = bool(both.all())  # as a rule: nothing has to be picked, which takes as long as all else
    a, b = (x.reshape(-1) if whole else x[both] for x in (a, b))
    delta, scale = np.abs(a - b), float(np.abs(b).max(initial=0))
    over = delta - limits.rtol * np.abs(b)
    scales = np.zeros(0)
    if limits.scaled:
        scales = np.broadcast_to(rule_scales(want), want.shape)
        scales = scales.reshape(-1) if whole else scales[both]
    beyond = int((over > (limits.atol * scales if limits.scaled else limits.atol)).sum())
    rule = limits.words(scale, float(scales.min(initial=scale)))
    reasons = []
    if misplaced.any():
        where = tuple(int(i) for i in np.argwhere(misplaced)[0])
        reasons.append(
            f"NaN or infinity differ at {int(misplaced.sum())} of {total}, first at {where}: {got[where]} for {want[where]}"
        )
    if beyond:
        reasons.append(f"{beyond} of {total} beyond {rule}")
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    max_abs = float(delta.max(initial=0))
    places = range(total) if whole else np.flatnonzero(both)
    relative = np.divide(delta, np.abs(b), out=np.zeros_like(delta), where=b != 0)
    most = int(relative.argmax()) if relative.any() else -1
    return Difference(
        name,
        dtype,
        shape,
        not reasons,
        "; ".join(reasons),
        max_abs=max_abs,
        max_rel=max_abs / scale if scale else max_abs,
        cosine=float(a @ b) / norm if norm else float(np.array_equal(a, b)),
        top1=_top1(got, want),
        winner=_winner(want),
        not_finite=int((~finite_b).sum()),
        misplaced=int(misplaced.sum()),
        constant=total > 1 and b.size == total and bool((b == b[0]).all()),
        saturated=total > 1
        and b.size == total
        and scale > 0.5  # tiny numbers are near 0, and no scores
        and bool((np.abs(b * (b - 1)) < 1e-9).all())
        and bool((b != b[0]).any()),
        tolerance=rule,
        needs=max(0.0, float(over.max(initial=0))),
        index=_place(places[delta.argmax()], shape) if delta.size else (),
        beyond=beyond + int(misplaced.sum()),
        scale=scale,
        limit=limits.limit(scale),
        rms=math.sqrt(float(delta @ delta) / delta.size) if delta.size else 0.0,
        relative=float(relative[most]) if most >= 0 else 0.0,
        relative_index=_place(places[most], shape) if most >= 0 else (),
    )


def _place(flat: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers along each axis of an element that is counted through all."""
    return tuple(int(i) for i in np.unravel_index(int(flat), shape))


def is_whole(array: np.ndarray) -> bool:
    """True for whole numbers, in whatever dtype: MXNet's argmax gives floats."""
    if array.dtype.kind in "iub":
        return True
    if not is_float(array.dtype) or not array.size:
        return False
    wide = array.astype(np.float64)
    return bool(np.isfinite(wide).all() and (wide == np.rint(wide)).all())


def distance(got: np.ndarray, truth: np.ndarray) -> float:
    """The greatest distance from the truth; infinite where one is finite and the other not."""
    return float(_distances(got, truth).max(initial=0))


def within(got: np.ndarray, truth: np.ndarray, allowed: np.ndarray) -> bool:
    """True where every element is as near to the truth as allowed."""
    return bool((_distances(got, truth) <= allowed).all())


def _distances(got: np.ndarray, truth: np.ndarray) -> np.ndarray:
    a = got.astype(np.float64)
    with np.errstate(invalid="ignore"):
        same = (a == truth) | (np.isnan(a) & np.isnan(truth))
        return np.where(same, 0.0, np.nan_to_num(np.abs(np.where(same, truth, a) - truth), nan=np.inf))


def close_within(name: str, got: np.ndarray, want: np.ndarray, limit: float) -> Difference | None:
    """The difference of two arrays of one shape and float dtype where every element is within limit times the greatest of its
    slices (slices_over); None where one is not, or is not finite. Without the measures that ask for float64: a few passes over
    memory."""
    if not want.size:
        return Difference(name, want.dtype.name, want.shape, True, "")
    a, b = (x.astype(np.float32) if x.dtype.itemsize < 4 else x for x in (got, want))
    low, high = float(b.min()), float(b.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        delta, size = np.abs(a - b), np.abs(b)
        for axes in slices_over(b.ndim):
            if not (delta.max(axis=axes) <= limit * size.max(axis=axes)).all():
                return None
    scale, max_abs = max(-low, high), float(delta.max())
    many = want.size > 1
    return Difference(
        name,
        want.dtype.name,
        want.shape,
        True,
        "",
        max_abs=max_abs,
        max_rel=max_abs / scale if scale else max_abs,
        scale=scale,
        constant=many and low == high,
        saturated=many and low < high and scale > 0.5 and bool((np.abs(b * (b - 1)) < 1e-9).all()),
        settled_by="rounding of one node" if max_abs else "",
    )


def slices_over(ndim: int) -> list[tuple[int, ...]]:
    """The axes that each kind of slice covers: one channel, one column (along the second axis, and along the last); of a vector
    each element is its own. Channels of different magnitudes each have their own scale."""
    if ndim < 2:
        return [()]
    return [tuple(i for i in range(ndim) if i != kept) for kept in sorted({1, ndim - 1})]


def slice_scales(array: np.ndarray) -> np.ndarray:
    """For each element the greatest magnitude in its slices (slices_over), of these the least."""
    return _scales(_sizes(array), 0.0)


def rule_scales(array: np.ndarray) -> np.ndarray:
    """For each element what atol of a scaled rule counts times: as slice_scales; a slice of few elements, which may all happen to
    be small, counts as at least a share of what such slices have in the middle, and all as at least RESOLUTION of the largest."""
    size = _sizes(array)
    return np.maximum(_scales(size, SHARE), RESOLUTION * float(size.max(initial=0)))


def _sizes(array: np.ndarray) -> np.ndarray:
    """The size of each finite element, and 0 of others."""
    size, finite = np.abs(array.astype(np.float64)), np.isfinite(array)
    return size if finite.all() else np.where(finite, size, 0.0)


def _scales(size: np.ndarray, share: float) -> np.ndarray:
    if not size.size:
        return size
    along = []
    for axes in slices_over(size.ndim):
        largest = size.max(axis=axes, keepdims=True)
        if share and size.size < THIN * largest.size:
            largest = np.maximum(largest, share * np.median(largest))
        along.append(np.broadcast_to(largest, size.shape))
    return np.minimum.reduce(along)


def _compare_exact(name: str, got: np.ndarray, want: np.ndarray) -> Difference:
    wrong = int((got != want).sum())
    delta = np.abs(got.astype(np.float64) - want.astype(np.float64)) if want.dtype.kind in "iub" else np.zeros(1)
    reason = f"{wrong} of {want.size} differ" if wrong else ""
    constant = want.size > 1 and want.dtype.kind in "iub" and bool((want == want.flat[0]).all())
    return Difference(
        name,
        want.dtype.name,
        want.shape,
        not wrong,
        reason,
        max_abs=float(delta.max()),
        constant=constant,
        beyond=wrong,
        index=_place((got != want).reshape(-1).argmax(), want.shape) if wrong else (),
    )


def _top1(got: np.ndarray, want: np.ndarray) -> float | None:
    if want.ndim < 2 or want.shape[-1] < 2 or not want.size:
        return None
    return float((got.argmax(-1) == want.argmax(-1)).mean())


def _winner(want: np.ndarray) -> int | None:
    """Place of the largest element of every row; None where that is at several places, or there are no rows."""
    if want.ndim != 2 or want.shape[-1] < 2 or not want.size:
        return None
    places = want.argmax(-1)
    return int(places[0]) if (places == places[0]).all() else None


def one_winner(name: str, runs: Sequence[Mapping[str, Any]]) -> int | None:
    """Place of the largest element of an output in all rows of all runs; None where that is at several places, or there is one row.
    runs: those of a result."""
    found = [d for run in runs for d in run["differences"] if d["name"] == name]
    places = {d["winner"] for d in found}
    rows = sum(d["shape"][0] for d in found if d["winner"] is not None)
    return next(iter(places)) if len(places) == 1 and rows > 1 else None


def statistics(array: np.ndarray) -> dict[str, Any]:
    """Statistics of a tensor for a person: shape, dtype, range, mean, NaNs and infinities."""
    out: dict[str, Any] = {"shape": list(array.shape), "dtype": array.dtype.name}
    if array.size and array.dtype.kind in "fiu":
        with np.errstate(invalid="ignore"):  # NaN of some bit patterns
            values = array.astype(np.float64)
        finite = values[np.isfinite(values)]
        if finite.size:
            out |= {"min": float(finite.min()), "max": float(finite.max()), "mean": float(finite.mean())}
        out |= {"nan": int(np.isnan(values).sum()), "inf": int(np.isinf(values).sum())}
    return out
