"""Every runner of a model against every other, on the same inputs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from converters.error import ConversionError
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec

from .cases import make_case, pair_outputs
from .compare import TOLERANCES, Tolerance, as_tolerance, compare
from .conditioning import native_of, settle, truth_of
from .engines import Arrays, Engine, EngineError
from .faces.notebook import listener
from .inputs import Inputs, as_specs, load_feeds, sources_of
from .models import (
    BadInput,
    Model,
    described,
    hold_dtypes,
    in_own_dtypes,
    names_to_fill,
    specs_of_onnx,
    without_open_axes,
)
from .recorded import load_recording
from .result import Progress
from .runners import opened, runner_for

DEFAULT = ("gluonnx", "gluonnx:plain", "onnxruntime")
"""Runners where none are named."""


@dataclass(frozen=True)
class Cell:
    """Two runners beside each other."""

    difference: float
    """The greatest over all outputs, of the largest number there."""
    output: str
    """The output that it is in."""
    equal: bool
    reason: str = ""
    """Reason why they are not equal, or cannot be compared; empty when they are."""


@dataclass(frozen=True)
class MatrixResult:
    """The result of matrix: a table of runners by runners.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.matrix("model", inputs={"data": (1, 3)}, runners=["gluonnx", "onnxruntime"])
    >>> result.runners, len(result.rows())
    (('gluonnx', 'onnxruntime'), 2)
    >>> result.as_dict()["equal"]
    True
    >>> result.equal
    True
    """

    runners: tuple[str, ...]
    """Their names."""
    cells: tuple[tuple[Cell | None, ...], ...]
    """A row for each runner; None where one of the two failed, and for a runner beside itself."""
    errors: dict[str, str]
    """By runner the words of those that failed."""
    inputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name."""
    seconds: dict[str, float]
    """Of each runner, for opening and one run."""

    @property
    def equal(self) -> bool:
        """True where all that ran agree, and more than one did."""
        found = [c for row in self.cells for c in row if c is not None]
        return bool(found) and all(c.equal for c in found)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "equal": self.equal}

    def rows(self) -> list[list[str]]:
        """The table as texts: difference over scale, with a mark where it is beyond tolerance."""
        out = []
        for i, (name, row) in enumerate(zip(self.runners, self.cells)):
            texts = ["" if i == j else "failed" if c is None else _cell(c) for j, c in enumerate(row)]
            out.append([name, *texts])
        return out

    def __str__(self) -> str:
        rows = [["", *map(str, range(1, len(self.runners) + 1))]]
        rows += [[f"{i} {row[0]}", *row[1:]] for i, row in enumerate(self.rows(), 1)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [
            "  ".join(t.ljust(w) if i == 0 else t.rjust(w) for i, (t, w) in enumerate(zip(r, widths))).rstrip()
            for r in rows
        ]
        lines += [f"{name}: {text}" for name, text in self.errors.items()]
        return "\n".join([*lines, "all agree" if self.equal else "not all agree (!: beyond tolerance)"])


def _cell(cell: Cell) -> str:
    return f"{cell.difference:.1e}{'' if cell.equal else ' !'}" if np.isfinite(cell.difference) else "differs !"


def matrix(
    models: Any,
    runners: Sequence[str] = (),
    *,
    inputs: Inputs | str | os.PathLike[str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    params: Any = None,
    seed: int = 0,
    tolerance: Tolerance | tuple[float, float] | None = None,
    progress: Progress | None = None,
) -> MatrixResult:
    """Run models on runners, each on the same inputs, and compare all with all.

    models: one or a list of what open_model takes, of functions from arrays by name to outputs, and of recordings (.npz), which are
    rows by themselves. runners: names as runners.SPECS has them; by default those of DEFAULT. inputs:
    arrays or shapes by name, or an .npz; by default those of the recording among the models, or seeded ones of the models' own
    shapes. tolerance: in place of the dtypes' own. A runner that fails is a row that says so. Raises BadInput.
    ranges: (low, high) of what is drawn, by name. seed: of the numbers that are drawn. progress: called with a text whenever
    something else begins.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.matrix("model", inputs={"data": (1, 3)}, runners=["gluonnx", "onnxruntime"])
    >>> result.equal
    True
    """
    tell = listener(progress)
    several = list(models) if isinstance(models, list | tuple) else [models]
    found = [opened(m, params) for m in several]
    fed = _inputs(several, found, inputs)
    given, arrays = as_specs(fed)
    for model in found:
        if isinstance(model, Model) and model.graph is not None:
            hold_dtypes(model, arrays, sources_of(fed))
    declared = _declared(found)
    given = in_own_dtypes(given, declared)
    specs = {**without_open_axes(declared), **given}
    limits = as_tolerance(tolerance)
    sides: dict[str, Engine] = {}
    for source, model in zip(several, found):
        if not isinstance(model, Model):
            sides[_unique(model.label, sides)] = model
            continue
        own = specs if model.is_onnx else {n: s for n, s in specs.items() if n in model.variables()}
        for runner in runners or DEFAULT:
            name = runner if len(found) == 1 else f"{_name(source, model)} {runner}"
            sides[_unique(name, sides)] = runner_for(model, runner, own)
    if len(sides) < 2:
        raise BadInput(f"got one runner ({', '.join(sides)}), wanted two or more to compare")
    first = next(
        (s for s in sides.values() if s.model.graph is not None or s.model.proto is not None),
        next(iter(sides.values())),
    )
    feeds: Arrays | None = None
    results: dict[str, Arrays] = {}
    errors: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for name, side in sides.items():
        tell(f"running {name}")
        start = time.perf_counter()
        try:
            own = given if feeds else {n: s for n, s in specs.items() if n in given or n in first.inputs}
            case = make_case(
                first, side, own, feeds or arrays, seed, ranges=None if feeds else ranges, files=sources_of(fed)
            )
            feeds = feeds or {n: case.feeds[n] for n in case.shapes}
            results[name] = {n: np.asarray(a) for n, a in side.run(case.feeds).items()}
        except (EngineError, MXNetError, ConversionError) as error:
            errors[name] = str(error).splitlines()[0]
        seconds[name] = time.perf_counter() - start
        side.free_memory()

    def table(truths: Any = None) -> tuple[tuple[Cell | None, ...], ...]:
        known = {n: results.get(n) for n in sides}
        return tuple(
            tuple(
                None if a == b or x is None or y is None else _compare(x, y, limits, truths) for b, y in known.items()
            )
            for a, x in known.items()
        )

    cells, native = table(), native_of(first)
    if native is not None and limits is None and feeds and not all(c is None or c.equal for row in cells for c in row):
        tell("asking float64")
        cells = table(truth_of(native, native.complete(feeds)))
    return MatrixResult(tuple(sides), cells, errors, described(feeds or {}), seconds)


def _name(source: Any, model: Model) -> str:
    """The name of a model; of one that was opened from a file that of the file, which tells a symbol from its conversion."""
    path = source if isinstance(source, str | Path) else model.path
    return Path(path).name if path is not None else model.name


def _declared(models: Sequence[Model | Engine]) -> dict[str, Spec]:
    """Shapes and dtypes of inputs that ONNX models say."""
    out: dict[str, Spec] = {}
    for model in models:
        if isinstance(model, Model) and model.proto is not None:
            out = {**specs_of_onnx(model.proto), **out}
    return out


def _unique(name: str, taken: Mapping[str, Any]) -> str:
    count = 2
    made = name
    while made in taken:
        made, count = f"{name} #{count}", count + 1
    return made


def _inputs(sources: Sequence[Any], models: Sequence[Model | Engine], inputs: Any) -> Inputs | None:
    """The inputs that are given, or those that a recording among the models has."""
    if isinstance(inputs, str | os.PathLike):
        named = [m for m in models if isinstance(m, Model)]
        return load_feeds(inputs, names_to_fill(named[0]) if named else [])
    if inputs is not None:
        return inputs
    recorded = [m for m in sources if isinstance(m, str | Path) and Path(m).suffix == ".npz"]
    return dict(load_recording(recorded[0]).runs[0].inputs) if recorded else None


def _compare(want: Arrays, got: Arrays, tolerance: Tolerance | None, truths: Any = None) -> Cell:
    """The outputs of two runners, by name or place."""
    try:
        pairs = pair_outputs(list(want), list(got))
    except BadInput as error:
        return Cell(np.inf, "", False, str(error))
    worst = Cell(0.0, pairs[0][0] if pairs else "", True)
    for a, b in pairs:
        x, y = _as_coarse(want[a], got[b])
        plain = compare(a, y, x, tolerance or TOLERANCES.get(x.dtype.name))
        (found,) = settle([plain], [(a, b)], {a: x}, {b: y}, truths)
        size = found.max_rel if found.compared and not found.misplaced else np.inf
        if (not found.equal, size) > (not worst.equal, worst.difference):
            worst = Cell(float(size), a, found.equal, found.reason)
    return worst


def _as_coarse(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Floats in the coarser one's dtype: a runner may be more exact than another."""
    if x.dtype == y.dtype or x.dtype.kind != "f" or y.dtype.kind != "f":
        return x, y
    dtype = min(x.dtype, y.dtype, key=lambda d: d.itemsize)
    return x.astype(dtype), y.astype(dtype)
