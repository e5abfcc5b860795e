"""Facts beside a baseline's numbers: which files it is of, which inputs it was recorded with, and which bounds these reach."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hybrid.core.attrs import is_float
from hybrid.core.error import MXNetError
from hybrid.core.shapes import show
from hybrid.ir.graph import Entry as Tensor
from hybrid.ir.graph import Node
from hybrid.passes.strip_labels import label_names

from ..cases import taken
from ..compare import Difference
from ..engines import EngineError, NativeEngine, engine_for
from ..inputs import as_specs
from ..models import BadInput, Model
from ..recorded import Recording, feeds_of, hashes
from .config import NAME, Entry
from .contents import changed_interface, changed_operations, changed_weights, few

HELD = "held"
"""The fact of a baseline that has the hashes of each file of its model."""
PART = 0.5
"""Part of a range that numbers drawn from it span at least."""
ENOUGH = 64
"""Numbers of which that can be said."""
SIGNS = {"lower": -1, "upper": 1}
"""Signs with which the number that is nearest to a bound is the greatest."""
TOLD = 3
"""Nodes that are named."""


def hashes_of(model: Model) -> dict[str, str]:
    """The hashes of the files that a model was read from, by their names."""
    return hashes(p for p in model.files() if p.is_file())


def changed_files(
    baseline: Recording,
    file: str,
    own: Mapping[str, str],
    first: bool,
    old: Mapping[str, Any] | None = None,
    new: Mapping[str, Any] | None = None,
) -> list[str]:
    """Words for each file that is another than the one that the baseline is of. own: the hashes of those read now, by name. first:
    True for the model's first file, which is the one that was recorded. old, new: contents then and now, where both are known: a
    file that says the same in another way is no other."""
    held = baseline.facts.get(HELD)
    stored = held.get(file) if isinstance(held, Mapping) else None
    if not isinstance(stored, Mapping):
        stored = baseline.facts.get("files")
        if not isinstance(stored, Mapping) or not (first or set(stored) & set(own)):
            return []
    words = []
    for name, digest in own.items():
        if name in stored:
            if stored[name] != digest and (what := _what(name, old, new)) is not None:
                words.append(f"{_kind(name)} changed since the baseline: {name}{what and f' ({what})'}")
            continue
        other = next((n for n in stored if n not in own and _stem(n) == _stem(name)), None)
        if other is not None:
            words.append(f"{name} was read, and the baseline is of {other}")
    return words


def _what(name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str | None:
    """Words for what changed in a file; None where nothing did that means anything, and no words where that is not known."""
    if not old or not new or "operations" not in old or "operations" not in new:
        return ""
    kind = _kind(name)
    if kind == "weights":
        found = changed_weights(old, new)
    else:
        found = [*changed_interface(old, new), *changed_operations(old, new)]
        found += [] if kind == "the symbol" else [f"weight {w}" for w in changed_weights(old, new)]
    return few(found) if found else None


def _kind(name: str) -> str:
    return "weights" if name.endswith(".params") else "the symbol" if name.endswith("-symbol.json") else "the file"


def _stem(name: str) -> str:
    """The name of a file of parameters without its epoch."""
    return re.sub(r"(-\d+)?\.params$", ".params", name)


def other_inputs(entry: Entry, baseline: Recording, model: Model) -> str:
    """Words for what gluonnx.toml says of inputs and a baseline was not recorded with; empty where there is nothing. model: the
    first file's."""
    if not any(each.inputs for each in baseline.runs):
        return ""  # the file's inputs are what its outputs are held to
    return "; ".join(
        (*_other_arrays(entry, baseline, model), *_other_ranges(entry, baseline), *_other_draws(entry, baseline))
    )


def unknown_inputs(entry: Entry, baseline: Recording, model: Model) -> str:
    """The error where gluonnx.toml names inputs that there are not, whoever recorded the baseline; empty where there are none.
    model: the first file's."""
    named = dict.fromkeys((*(entry.inputs if isinstance(entry.inputs, Mapping) else ()), *entry.ranges))
    left = [n for n in named if not any(n in each.inputs for each in baseline.runs)]
    if not left:
        return ""
    wanted = taken(engine_for(model))
    labels = () if model.graph is None else label_names(model.graph)  # which may be given, and are not read
    unknown = [n for n in left if n not in wanted and n not in labels]
    if not unknown:
        return ""
    said = "; ".join(f"got input {n!r}, wanted some of {', '.join(wanted) or 'none'}" for n in unknown)
    return f"{entry.files[0]} does not take the inputs that {NAME} has: {said}; correct them there"


def _other_arrays(entry: Entry, baseline: Recording, model: Model) -> Iterable[str]:
    """Words for sizes and arrays (inputs = ...) that are not those of the runs."""
    given = entry.given_inputs()
    if given is None:
        return
    sets = [as_specs(each) for each in feeds_of(given, model)]
    runs = baseline.asked
    if len(sets) == 1 and not sets[0][1]:
        sets = sets * len(runs)
    if len(sets) != len(runs):
        yield f"inputs are {len(sets)} set(s), and {len(runs)} were recorded"
        return
    told = set()
    for (specs, arrays), run in zip(sets, runs):
        for name, spec in specs.items():
            there = run.inputs.get(name)
            if there is None or name in told:
                continue
            if spec.shape is not None and tuple(spec.shape) != there.shape:
                told.add(name)
                yield f"{name} is {show(spec.shape)}, and {show(there.shape)} was recorded"
            elif name in arrays and not np.array_equal(
                arrays[name].astype(there.dtype), there, equal_nan=is_float(there.dtype)
            ):
                told.add(name)
                yield f"{name} has other numbers than were recorded"


def _other_ranges(entry: Entry, baseline: Recording) -> Iterable[str]:
    """Words for ranges = ... beside the ranges that were asked for, or, where nobody noted them, beside the numbers."""
    noted = baseline.facts.get("ranges") if baseline.drawn else None
    for name, (low, high) in entry.ranges.items():
        if isinstance(noted, Mapping):
            ends = noted.get(name)
            if ends is None or list(map(float, ends)) != [low, high]:
                before = "none was asked for" if ends is None else f"{ends[0]:g} to {ends[1]:g} was recorded"
                yield f"the range of {name} is {low:g} to {high:g}, and {before}"
            continue
        arrays = [r.inputs[name] for r in baseline.runs if name in r.inputs and r.inputs[name].size]
        if not arrays or not is_float(arrays[0].dtype):
            continue
        least, most = float(min(a.min() for a in arrays)), float(max(a.max() for a in arrays))
        narrow = sum(a.size for a in arrays) >= ENOUGH and most - least < PART * (high - low)
        slack = 1e-3 * (high - low)  # of half precision
        if least < low - slack or most > high + slack or (narrow and not baseline.by_mxnet):
            yield f"the range of {name} is {low:g} to {high:g}, and numbers from {least:g} to {most:g} were recorded"


def _other_draws(entry: Entry, baseline: Recording) -> Iterable[str]:
    """Words for seed = ... and runs = ..., where all was drawn."""
    if not baseline.drawn:
        return
    seed, runs = baseline.facts.get("seed"), len(baseline.asked)
    if entry.seed and seed is not None and seed != entry.seed:
        yield f"the seed is {entry.seed}, and {seed} was recorded"
    if entry.runs > 1 and not isinstance(entry.given_inputs(), list) and entry.runs > runs:
        yield f"runs are {entry.runs}, and {runs} was recorded" if runs == 1 else f"runs are {entry.runs}, not {runs}"


def left_out(entry: Entry, baseline: Recording) -> list[str]:
    """Files that the baseline was written with, and gluonnx.toml does not list any more. One that is listed from another folder,
    as where gluonnx.toml was moved, is the same."""
    held = baseline.facts.get(HELD)
    if not isinstance(held, Mapping):
        return []
    listed = [os.path.normpath(f) for f in (*entry.files, *entry.sharing)]
    left = [f for f in held if os.path.normpath(f) not in listed]
    new = [_file_name(f) for f in listed if f not in map(os.path.normpath, held)]
    gone = []
    for file in left:
        if _file_name(file) in new:
            new.remove(_file_name(file))
        else:
            gone.append(file)
    return gone


def _file_name(file: str) -> str:
    """The name of a file without its folder; of a symbol the prefix."""
    return os.path.basename(file).removesuffix("-symbol.json")


def stale(entry: Entry, words: str) -> str:
    """The error where a baseline was recorded with other inputs than gluonnx.toml has. words: which."""
    said = f"{entry.baseline} was recorded with other inputs than {NAME} has ({words})"
    return f"{said}: correct {NAME}, or run gluonnx check --update where those are meant"


def loose(differences: Iterable[Difference]) -> list[str]:
    """Warnings of tolerances that accept anything: atol is as large as the largest number of the output."""
    return [
        f"output {d.name}: atol {d.limit:g} is larger than its largest number ({d.scale:.2g}), so that it accepts nearly anything; "
        "give none, or scaled = true"
        for d in differences
        if d.compared and d.limit > d.scale > 0
    ]


# -- bounds -----------------------------------------------------------------------------------------------------------------


def unreached_bounds(baseline: Recording, model: Model) -> list[str]:
    """Words for bounds inside the model (of clips, the zero of relus) that no recorded input reaches: that these change would not
    be seen. Empty where all are reached, and where the model cannot be looked into."""
    try:
        native = model if model.graph is not None else model.native
        assert native.graph is not None
        bounds = {(n, end): v for n in native.graph.nodes for end, v in _bounds(n).items()}
        seen: dict[Any, float] = {}
        for run in baseline.runs:
            left = [key for key in bounds if key not in seen or not _met(key[1], seen[key], bounds[key])]
            if not left:
                break
            engine = NativeEngine(native.inferring({n: a for n, a in as_specs(run.inputs)[0].items()}), run.inputs)
            names = {node: engine.name_of(Tensor(_of_name(engine, node), 0)) for node, _ in left}
            values = engine.expose(run.inputs, names.values())
            for node, end in left:
                array = values.get(names[node])
                if array is None or not array.size:
                    continue
                most = float(np.nanmax(array * SIGNS[end]))
                seen[node, end] = max(seen.get((node, end), -np.inf), most)
    except (BadInput, EngineError, MXNetError, StopIteration):
        return []
    found = [(*key, bound) for key, bound in bounds.items() if key in seen and not _met(key[1], seen[key], bound)]
    if not found:
        return []
    told = [
        f"{node.name} ({node.op.name if node.op else ''}): {end} {bound:g}, reached {seen[node, end] * SIGNS[end]:.3g}"
        for node, end, bound in found[:TOLD]
    ]
    more = f"; and {len(found) - TOLD} more" if len(found) > TOLD else ""
    return [
        f"no recorded input reaches {len(found)} of {len(bounds)} bounds, so that a change of these is not seen: "
        f"{'; '.join(told)}{more}; give inputs or ranges that do"
    ]


def _of_name(engine: NativeEngine, node: Node) -> Node:
    """The node of this name in the graph that an engine runs."""
    return next(n for n in engine.graph.nodes if n.name == node.name)


def _met(end: str, seen: float, bound: float) -> bool:
    """True where a number is at its bound; the least ones are kept with the other sign."""
    limit = bound * SIGNS[end]
    return seen >= limit - 1e-6 * abs(limit)


def _bounds(node: Node) -> dict[str, float]:
    """The bounds of what a node gives, by the end that they are at."""
    name = "" if node.op is None else node.op.name
    if name == "clip":
        low, high = (float(getattr(node.op, key)) for key in ("a_min", "a_max"))
        return {k: v for k, v in (("lower", low), ("upper", high)) if abs(v) < 1e30}
    if name == "relu" or (name == "Activation" and getattr(node.op, "act_type", "") == "relu"):
        return {"lower": 0.0}
    return {}
