"""Examples that users give, to measure and calibrate on, and their classes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.core.attrs import is_float
from hybrid.core.op import Spec

from ..engines import Arrays
from ..images import load_images, picture_files
from ..inputs import as_specs, in_old_names, load_feeds
from ..models import Model, names_to_fill, specs_of_onnx
from ..openings import batches_of
from ..paths import BadInput, files_of, plural
from ..result import not_finite
from ..settle import told_by_arrays
from .wishes import Data

OPEN_BATCH = 16
"""Batch that examples are given in where a model takes any."""

FAR = 10.0
"""Times that examples are larger or smaller than what the network was compared on, beyond which that is said."""


@dataclass(frozen=True)
class Examples:
    """Sets of inputs."""

    feeds: Sequence[Arrays]
    told: str
    """The source that they come from."""
    count: int | None = None
    """Number of examples, where they are counted: what is behind that in the last set is there again."""
    labels: np.ndarray | None = None
    """Their classes (count,)."""
    drawn: bool = False
    """True where numbers were drawn since none were given."""
    compared: Mapping[str, tuple[str, np.ndarray]] = field(default_factory=dict)
    """By input where it came from, and what it was, when the file before was compared; empty where examples are that."""


def check_examples(examples: Examples, calibrate: bool) -> None:
    """Raise BadInput for examples that tell nothing: NaN, which is NaN in any precision. calibrate: integers get their ranges from
    them, so that infinite numbers tell nothing either, and numbers that are all one, from which integers would hold that one number
    and a measurement on the same examples would find no error."""
    problems, varying, same = [], False, []
    what = "calibration" if calibrate else "examples"
    for name in dict.fromkeys(n for feeds in examples.feeds for n in feeds):
        arrays = [np.asarray(feeds[name]) for feeds in examples.feeds if name in feeds]
        if any(a.dtype.kind not in "biuf" and not is_float(a.dtype) for a in arrays) or not any(a.size for a in arrays):
            varying = True  # nothing is known of these
            continue
        counts: Counter[str] = Counter()
        for array in arrays:
            counts.update(not_finite(array))
        if not calibrate:
            del counts["infinite"]  # as a mask may have them: they stay so
        if counts:
            problems.append(
                f"{what}: {name} of {examples.told} holds {sum(counts.values())} of {sum(a.size for a in arrays)} numbers that are "
                f"{'NaN or infinite' if calibrate else 'NaN'}, wanted {'finite ones' if calibrate else 'numbers'}; take these "
                f"examples out{' (for a mask write a large finite number, such as -1e9)' if calibrate else ''}"
            )
            continue
        low, high = (float(end([end(a) for a in arrays if a.size])) for end in (np.min, np.max))
        if low < high:
            varying = True
        else:
            same.append(f"{name} is {low:g} throughout")
    if calibrate and same and not varying and not problems:
        problems.append(
            f"calibration: {', '.join(same)} in {examples.told}, wanted numbers that vary as those do that the network will get; "
            "check how the file was written, and give some dozens of real examples"
        )
    if problems:
        raise BadInput(*problems)


def notes_of_calibration(examples: Examples) -> tuple[str, ...]:
    """Remarks on examples that integers were calibrated on: that they were drawn, or are far from what the network was
    compared on."""
    if examples.drawn:
        return (
            f"calibrated on drawn numbers ({examples.told}), which shows that it works and no more: inputs of another scale may be "
            "far off; for a file that is used, give examples of your own, such as --quantize FOLDER or --quantize DATA.npz",
        )
    notes = []
    for name, (origin, array) in examples.compared.items():
        given = [np.asarray(feeds[name]) for feeds in examples.feeds if name in feeds]
        if not is_float(array.dtype) or not array.size or not any(a.size for a in given):
            continue
        low, high = (float(end([end(a) for a in given if a.size])) for end in (np.min, np.max))
        own = float(np.abs(array.astype(np.float64)).max())
        reach = max(abs(low), abs(high))
        if min(own, reach) > 0 and max(own, reach) > FAR * min(own, reach):
            notes.append(
                f"{name}: calibrated on {low:.4g} to {high:.4g}, compared on {origin} (at most {own:.3g}) before it became int8. "
                f"If the network takes what you calibrated on, compare on it too: --range {name}:{low:.4g},{high:.4g}; if it takes "
                "normalised numbers, normalise the examples: integers hold the range of these alone"
            )
    return tuple(notes)


def sizes_told(
    data: Data, model: Model, inputs: Mapping[str, Any], rename: Mapping[str, str], batch: int | str | None
) -> tuple[dict[str, Spec], list[str]]:
    """Specs of inputs of which examples alone tell the sizes, and remarks on these. inputs: those that are given. rename: names
    that examples have for inputs. batch: how many of them go together, where that is asked for. Raises BadInput."""
    specs, source = as_specs(inputs)[0], "examples"
    size = batch if isinstance(batch, int) else None
    arrays: Any = data
    if isinstance(data, str | os.PathLike):
        files = _array_files(Path(data))
        if not files and Path(data).suffix not in (".npz", ".npy"):  # pictures are of any size
            return {}, []
        first = files[0] if files else Path(data)
        arrays, source = load_feeds(first, [rename.get(n, n) for n in names_to_fill(model, specs)]), first.name
        if files:  # each is a set
            arrays = in_old_names(arrays, rename, model.variables())
            return told_by_arrays(model, specs, arrays, source, size)
    elif not isinstance(data, Mapping):
        return told_by_arrays(model, specs, in_old_names(next(iter(data), {}), rename, model.variables()), source, size)
    arrays = in_old_names(arrays, rename, model.variables())
    told, notes = told_by_arrays(model, specs, arrays, source, size or 1)
    own = names_to_fill(model, specs)
    sized = {*own} <= {*specs}  # then what does not fit of the examples is told where these are read
    if not told and not sized and not {*arrays} & {*own, *specs}:
        raise BadInput(f"{source}: no input {', '.join(arrays) or 'at all'}; there are {', '.join(own)}")
    return told, notes


def load_examples(
    data: Data, model: Model, given: Mapping[str, Spec], ranges: Mapping[str, tuple[float, float]] | None
) -> Examples:
    """Examples for an ONNX model. given: shapes of inputs that the model leaves open. Raises BadInput."""
    assert model.proto is not None
    own = specs_of_onnx(model.proto)
    specs = {n: Spec(given[n].shape, s.dtype) if n in given else s for n, s in own.items()}
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        if path.suffix in (".npz", ".npy"):
            arrays = load_feeds(path, list(specs))
            return _split(arrays, specs, path.name)
        if not path.exists():
            raise BadInput(
                f"{path}: no such file or folder; wanted a folder of pictures, an .npz of arrays (N, ...) or a folder of .npz"
            )
        if files := _array_files(path):
            # each has sizes of its own where the model leaves axes open
            parts = [_split(load_feeds(file, list(own)), own, file.name) for file in files]
            feeds = [each for part in parts for each in part.feeds]
            return Examples(feeds, f"{plural(len(feeds), 'set')} of {plural(len(files), 'file')} in {path.name}")
        files = picture_files(path, nested=True)
        sets = load_images(path, model, inputs=_closed(specs), ranges=ranges, most=None, nested=True)
        # one picture has no class, and neither has a folder that holds but one folder
        classes = sorted({f.parent.name for f in files}) if path.is_dir() and files[0].parent != path else []
        classes = classes if len(classes) > 1 else []
        labels = np.array([classes.index(f.parent.name) for f in files]) if classes else None
        told = f"{plural(len(files), 'picture')} of {path.name}" + (f", {len(classes)} classes" if classes else "")
        return Examples([dict(s) for s in sets], told, len(files), labels)
    if isinstance(data, Mapping):
        return _split(data, specs, "arrays given")
    sets = [{n: np.asarray(a) for n, a in each.items()} for each in data]
    if not sets:
        raise BadInput("no examples: give one set of arrays by name at least")
    return Examples([_checked(s, specs) for s in sets], f"{plural(len(sets), 'set')} given")


def _array_files(path: Path) -> list[Path]:
    """The .npz files of a folder that has no pictures, by name."""
    found = [p for p in files_of(path) if p.suffix.lower() == ".npz" and p.is_file()] if path.is_dir() else []
    if found:
        try:
            picture_files(path, nested=True)
        except BadInput:
            return found
    return []


def _closed(specs: Mapping[str, Spec]) -> dict[str, Spec]:
    """Specs with a batch where only that is open."""
    out = {}
    for name, spec in specs.items():
        first, *rest = spec.shape or (0,)
        if isinstance(first, str) and not any(isinstance(d, str) for d in rest):
            spec = Spec((OPEN_BATCH, *rest), spec.dtype)
        out[name] = spec
    return out


def _split(arrays: Mapping[str, Any], specs: Mapping[str, Spec], told: str) -> Examples:
    """Arrays (N, ...) as batches of what the model takes; an array of just the shape that an input has goes into every batch."""
    other, lacking = [n for n in arrays if n not in specs], [n for n in specs if n not in arrays]
    problems = [f"{told}: no input {n}; there are {', '.join(specs)}" for n in other]
    problems += [f"{told}: nothing for input {n}, {spec_text(specs[n])}" for n in lacking]
    if len(other) == 1 == len(lacking):  # one thing is wrong, and there is one way to put it right
        problems = [
            f"{told}: no input {other[0]}, and nothing for input {lacking[0]}, {spec_text(specs[lacking[0]])}; if it is that one, "
            f"rename the array to {lacking[0]}"
        ]
    if problems:
        raise BadInput(*problems)
    given = {n: np.asarray(a) for n, a in arrays.items()}
    whole = {n: a for n, a in given.items() if _is(a.shape, specs[n].shape)}
    if len(whole) == len(given) and not any(_leading(s) is None for s in specs.values()):
        return Examples([_checked(given, specs)], f"{told}, as one set")
    batches = batches_of(specs)
    axes = {n: next((i for i, d in enumerate(s.shape or ()) if d in batches), 0) for n, s in specs.items()}
    open_ = {n for n, s in specs.items() if _leading(s) is None or (s.shape or (0,))[axes[n]] in batches}
    many = {n: a for n, a in given.items() if n not in whole or n in open_}
    whole = {n: a for n, a in whole.items() if n not in many}
    counts = {len(a) for n, a in many.items() if a.ndim and not axes[n] and _fits_but(a.shape, specs[n].shape, 0)}
    if not counts:  # none has its batch in front
        counts = {a.shape[i] for n, a in many.items() for i in range(a.ndim) if _fits_but(a.shape, specs[n].shape, i)}
    alone = set()  # with an axis more than the model takes, of the examples
    for name, array in many.items():
        shape = specs[name].shape or ()
        if _fits_but(array.shape, shape, axes[name]):
            continue
        others = [i for i in range(array.ndim) if {array.shape[i]} == counts and _fits_but(array.shape, shape, i)]
        if others:  # what has its batch elsewhere, as states of a recurrence
            axes[name] = others[0]
        elif _is(array.shape[1:], shape) and 1 in array.shape[1:]:
            alone.add(name)
        else:
            problems.append(
                f"{told}: {name} is {array.shape}, wanted (N, ...) of {spec_text(specs[name])}, or N in the place of its batch; "
                "examples in sets as the model takes them go into an .npz each, in a folder"
            )
    counts = {len(a) if n in alone else a.shape[axes[n]] for n, a in many.items() if a.ndim > axes[n]}
    if len(counts) > 1 and not problems:
        problems.append(f"{told}: arrays of {' and '.join(map(str, sorted(counts)))} examples, wanted as many of each")
    if 0 in counts:
        problems.append(f"{told}: no examples in it")
    if problems:
        raise BadInput(*problems)
    [count] = counts
    sizes = [(specs[n].shape or (1,))[axes[n]] for n in many if n not in alone]
    batch = next((b for b in sizes if isinstance(b, int)), 1 if alone else min(OPEN_BATCH, count))
    if alone and batch != 1:
        raise BadInput(f"{told}: {', '.join(sorted(alone))}: one example each, and the model takes {batch} at a time")
    feeds = []
    for start in range(0, count, batch):
        chosen = np.arange(start, start + batch) % count
        part = {n: a[start] if n in alone else a.take(chosen, axes[n]) for n, a in many.items()}
        feeds.append(_checked({**part, **whole}, specs))
    return Examples(feeds, f"{plural(count, 'example')} of {told}", count)


def _fits_but(shape: tuple[int, ...], wanted: Any, axis: int) -> bool:
    """True for a shape that has another size in the place of one axis at most."""
    pairs = zip(shape, wanted or ())
    return len(shape) == len(wanted or ()) and all(
        i == axis or isinstance(w, str) or w == g for i, (g, w) in enumerate(pairs)
    )


def spec_text(spec: Spec) -> str:
    """A shape and dtype in words."""
    return f"{'x'.join(map(str, spec.shape or ())) or 'scalar'} {spec.dtype}"


def _is(shape: tuple[int, ...], wanted: Any) -> bool:
    return (
        wanted is not None
        and len(shape) == len(wanted)
        and all(isinstance(w, str) or w == g for g, w in zip(shape, wanted))
    )


def _leading(spec: Spec) -> int | None:
    """The batch that an input has; None where it takes any."""
    return spec.shape[0] if spec.shape and isinstance(spec.shape[0], int) else None


def _checked(arrays: Mapping[str, np.ndarray], specs: Mapping[str, Spec]) -> Arrays:
    missing = [n for n in specs if n not in arrays]
    if missing:
        raise BadInput(*(f"a set of examples without input {n}, {spec_text(specs[n])}" for n in missing))
    return {n: np.ascontiguousarray(np.asarray(arrays[n]).astype(specs[n].dtype, copy=False)) for n in specs}


def load_labels(labels: Any, count: int | None) -> np.ndarray:
    """Classes of examples, (N,): integers, one a line of a .txt (what follows the last space, so that "name 3" is 3 too), or the
    only array of an .npz. Raises BadInput."""
    if isinstance(labels, str | os.PathLike):
        path = Path(labels)
        if not path.is_file():
            raise BadInput(
                f"{path}: no such file; wanted the classes of the examples, a number a line (.txt), or an .npz"
            )
        if path.suffix == ".txt":
            lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            try:
                found = np.array([int(words[-1]) for words in lines])
            except ValueError as error:
                raise BadInput(f"{path}: {error}; wanted a whole number at the end of each line") from None
        else:
            arrays = load_feeds(path, ["labels"])
            found = np.asarray(next(iter(arrays.values())))
    else:
        found = np.asarray(labels)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and not (found == np.trunc(found)).all()):
        raise BadInput(f"labels: got {found.dtype} {found.shape}, wanted whole numbers (N,), the class of each example")
    if count is not None and len(found) != count:
        raise BadInput(f"labels: got {len(found)}, wanted {count}, one for each example")
    return found.astype(np.int64)
