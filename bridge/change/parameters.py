"""Differences of two arrays in words: how many elements, where, and by what rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid.core.attrs import is_float

SAME = 1e-5  # spread of a ratio or offset up to which it is one
LISTED = 3  # places that are named before they are counted


def words(got: np.ndarray, want: np.ndarray, axes: Sequence[str] = ()) -> str:
    """The difference of ``got`` from ``want``; empty where there is none. axes: the names of what the dimensions count."""
    if got.shape != want.shape:
        turned = _transposition(got, want)
        return f"is transposed ({turned})" if turned else f"shape {_shape(want)} -> {_shape(got)}"
    if same(got, want):
        return "" if got.dtype == want.dtype else f"dtype {want.dtype} -> {got.dtype}, the numbers are the same"
    dtype = f"dtype {want.dtype} -> {got.dtype}, " if got.dtype != want.dtype else ""
    if dtype and is_float(got.dtype) and np.array_equal(want.astype(got.dtype), got, equal_nan=True):
        return f"{dtype}rounded to it"
    if got.dtype == object or want.dtype == object:
        return f"{dtype}{int((got != want).sum()):,} of {want.size:,} elements differ"
    differs = ~_equal(got, want)
    count = int(differs.sum())
    number = (
        f"{dtype}{count:,} of {want.size:,} elements differ"
        if want.size > 1
        else f"{dtype}{_value(want)} -> {_value(got)}"
    )
    if want.size == 1:
        return number
    parts = [number, _place(differs, axes), _rule(got, want, differs, axes)]
    return ", ".join(p for p in parts if p)


def single_slice(got: np.ndarray, want: np.ndarray) -> int | None:
    """The index along the first axis of the one slice that differs; None where there are several, or no slices."""
    if got.shape != want.shape or want.ndim < 2 or len(want) < 2 or object in (got.dtype, want.dtype):
        return None
    rows = np.flatnonzero((~_equal(got, want)).reshape(len(want), -1).any(axis=1))
    return int(rows[0]) if len(rows) == 1 else None


def same(got: np.ndarray, want: np.ndarray) -> bool:
    """True where the numbers are the same, bit for bit but for the sign of zero and what kind of NaN."""
    if got.dtype == object or want.dtype == object:
        return got.shape == want.shape and bool((got == want).all())
    if got.shape != want.shape:
        return False
    if got.dtype == want.dtype and np.array_equal(got, want):
        return True
    return bool(_equal(got, want).all())


def _equal(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    found = got == want
    if is_float(got.dtype) and is_float(want.dtype):
        found |= np.isnan(got) & np.isnan(want)
    return found


def _shape(array: np.ndarray) -> str:
    return "x".join(map(str, array.shape)) or "scalar"


def _value(array: np.ndarray) -> str:
    return f"{array.reshape(-1)[0]:.7g}" if is_float(array.dtype) else str(array.reshape(-1)[0])


def _transposition(got: np.ndarray, want: np.ndarray) -> str:
    """The order of axes in which ``want`` is ``got``; empty where it is in none of the usual ones."""
    if got.ndim != want.ndim or got.size != want.size or got.ndim < 2:
        return ""
    axes = range(want.ndim)
    for order in (
        (*reversed(axes),),
        (*axes[1:], 0),
        (want.ndim - 1, *axes[:-1]),
        (*axes[2:], 1, 0),
        (1, 0, *axes[2:]),
    ):
        turned = want.transpose(order)
        if turned.shape == got.shape and same(got, turned):
            return f"axes {', '.join(map(str, order))}"
    return ""


def _place(differs: np.ndarray, axes: Sequence[str]) -> str:
    """Slices that all of the differing elements lie in."""
    if differs.ndim == 1:
        places = np.flatnonzero(differs)
        name = str(axes[0]) if axes else "element"
        return _listed("at", name, places) if len(places) < len(differs) else ""
    found = []
    for axis in range(differs.ndim):
        places = np.flatnonzero(differs.any(axis=tuple(i for i in range(differs.ndim) if i != axis)))
        if len(places) < differs.shape[axis]:
            found.append((len(places) / differs.shape[axis], axis, places))
    if not found:
        return ""
    if int(differs.sum()) == 1:
        return f"at {tuple(int(i) for i in np.argwhere(differs)[0])}"
    _, axis, places = min(found, key=lambda f: (f[0], f[1]))
    name = str(axes[axis]) if axis < len(axes) else f"index of axis {axis}"
    return _listed("all in", name, places)


def _listed(how: str, name: str, places: np.ndarray) -> str:
    if len(places) == 1:
        return f"{how} {name} {places[0]}"
    shown = ", ".join(map(str, places[:LISTED]))
    plural = f"{name}s" if not name.startswith("index") else name.replace("index", "indices")
    run = f"{places[0]} to {places[-1]}" if len(places) > LISTED and np.ptp(places) == len(places) - 1 else ""
    return f"{how} {plural} {run or shown}{'' if run or len(places) <= LISTED else f' and {len(places) - LISTED} more'}"


def _rule(got: np.ndarray, want: np.ndarray, differs: np.ndarray, axes: Sequence[str]) -> str:
    """The rule by which the differing elements differ, or how much they do."""
    if not is_float(got.dtype):
        shift = got[differs].astype(np.float64) - want[differs].astype(np.float64)
        return f"each {shift[0]:+g}" if np.ptp(shift) == 0 else f"by up to {np.abs(shift).max():g}"
    new = got[differs].astype(np.float64)
    old = want[differs].astype(np.float64)
    bad = ~np.isfinite(new) & np.isfinite(old)
    if bad.any():
        kind = "NaN" if np.isnan(new[bad]).all() else "infinite" if np.isinf(new[bad]).all() else "NaN or infinite"
        return f"{int(bad.sum()):,} {'is' if bad.sum() == 1 else 'are'} {kind}"
    if (~np.isfinite(old)).any():
        return f"{int((~np.isfinite(old)).sum()):,} were NaN or infinite"
    if len(new) == 1:
        return f"{old[0]:.7g} -> {new[0]:.7g}{f', ratio {new[0] / old[0]:.6g}' if old[0] and new[0] else ''}"
    swapped = _swapped(got, want, differs, axes)
    if swapped:
        return swapped
    if not new.any():
        return "now 0"
    apart = np.abs(new - old)
    ulp = np.abs(old).max() * float(np.finfo(np.float32).eps) * 4
    if old.all() and (new / old).std() <= SAME * abs((new / old).mean()) + np.median(ulp / np.abs(old)):
        weight = np.abs(old) >= np.median(np.abs(old))
        ratio = float((new / old)[weight].mean())
        if not np.isclose(ratio, 1.0, rtol=1e-6) and np.allclose(new, ratio * old, rtol=1e-5, atol=0):
            return f"ratio {ratio:.6g}"
    if np.array_equal(want.astype(np.float16).astype(got.dtype), got):
        return "rounded to float16"
    if apart.min() > 0 and np.ptp(new - old) <= SAME * apart.max() + ulp:
        return f"each {float((new - old).mean()):+.6g}"
    return f"by up to {apart.max():.3g} (of {np.abs(want[np.isfinite(want)]).max(initial=0):.3g})"


def _swapped(got: np.ndarray, want: np.ndarray, differs: np.ndarray, axes: Sequence[str]) -> str:
    """Two slices along the first axis in each other's place, or all of them in another order."""
    rows = np.flatnonzero(differs.reshape(len(differs), -1).any(axis=1))
    name = axes[0] if axes else "row"
    if len(rows) == 2 and np.array_equal(got[rows[0]], want[rows[1]]) and np.array_equal(got[rows[1]], want[rows[0]]):
        return f"{name}s {rows[0]} and {rows[1]} are swapped"
    if len(rows) > 2:
        before = sorted(want[i].tobytes() for i in rows)
        if before == sorted(got[i].tobytes() for i in rows):
            return f"the {name}s are in another order"
    return ""
