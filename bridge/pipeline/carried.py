"""Steps that an ONNX file says it does before and behind its network, put around that network to compare it with the file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hybrid.core.attrs import is_half
from hybrid.core.op import Spec

from ..models import Model, specs_of_onnx
from ..openings import is_open, sized
from ..paths import BadInput
from .postprocess import KEY as BEHIND
from .postprocess import Postprocess, postprocessed
from .preprocess import KEY as BEFORE
from .preprocess import Preprocess, Ranges, preprocessed, taken_by

KINDS = {"layout": str, "input": str, "output": str, "top_k": int, "axis": int}
"""Types of the fields whose defaults do not show them, where they are said."""
Steps = TypeVar("Steps", Preprocess, Postprocess)


class Carried(NamedTuple):
    """A network with the steps of a file around it."""

    model: Model
    specs: dict[str, Spec]
    """Shapes and dtypes of its inputs, as far as they are known."""
    ranges: Ranges
    said: str
    """A remark on the steps; empty where the file does none."""


def said_by(file: Model, kind: type[Steps], key: str) -> Steps | None:
    """The steps that a file's metadata tell under a key; None where they tell nothing. Raises BadInput for what cannot be read."""
    text = next((p.value for p in file.proto.metadata_props if p.key == key), "") if file.proto is not None else ""
    if not text:
        return None
    try:
        told: Any = json.loads(text)
        values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in told.items()}
        found = kind(**values)
        for field in dataclasses.fields(kind):
            wanted = bool if isinstance(field.default, bool) else KINDS.get(field.name, object)
            if (value := getattr(found, field.name)) is not None and not isinstance(value, wanted):
                raise TypeError(f"{field.name}: {value!r}")
        if isinstance(found, Preprocess):
            found.problems()
        return found
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise BadInput(
            f"{file.name}: its metadata say under {key} what it does, in words that this release of gluonnx does not know: "
            f"{text[:80]}"
        ) from None


def widened(dtype: np.dtype | None) -> np.dtype | None:
    """The dtype, float32 in the place of half precision."""
    return np.dtype(np.float32) if is_half(dtype) else dtype


def with_steps_of(
    model: Model,
    file: Model,
    specs: Mapping[str, Spec],
    ranges: Ranges | None,
    names: Mapping[str, str] | None = None,
    behind: bool = True,
) -> Carried:
    """A network with the steps that an ONNX file of this package does before and behind it. specs, ranges: what is given of inputs,
    by the name of either side. names: the file's names of the network's inputs. behind: False leaves out what is behind it.

    Raises BadInput where the steps do not go with the network."""
    found = dict(specs)
    limits = dict(ranges or {})
    before = said_by(file, Preprocess, BEFORE)
    if before is not None and before.input is not None and model.graph is not None and file.proto is not None:
        declared = specs_of_onnx(file.proto)
        theirs = (names or {}).get(before.input, before.input)
        theirs = theirs if theirs in declared else next(iter(declared), theirs) if len(declared) == 1 else theirs
        if theirs != before.input and theirs in limits:
            limits.setdefault(before.input, limits.pop(theirs))
        own = {n: s for n, s in found.items() if n in model.variables()}
        told = found.get(before.input) or found.get(theirs) or Spec()
        chosen = sized(file).get(theirs, Spec())
        shape = told.shape if told.shape is not None else None if is_open(chosen) else chosen.shape
        takes = widened(chosen.dtype)  # half precision is rounded on its way into the file
        dtype = widened(told.dtype) or takes
        if takes is not None and dtype != takes:
            steps = ", ".join(sorted(taken_by(file.proto).keys() - {"input"}))
            raise BadInput(
                f"input {before.input}: got {dtype}, and {file.name} takes {takes}, for it prepares pictures itself "
                f"({steps}): arrays, also recorded ones, have to be those of the file"
            )
        made = preprocessed(model, before, {**own, before.input: Spec(shape, dtype)}, {}, limits)
        model, limits = made.model, dict(made.ranges)
        if not {before.input, theirs} & set(found):
            found[before.input] = made.specs[before.input]
    after = said_by(file, Postprocess, BEHIND) if behind else None
    if after is not None:
        known = {n: s for n, s in found.items() if n in model.variables()}
        model = postprocessed(model, after, known)
    done = [_words(steps) for steps in (before, after) if steps is not None]
    said = (
        f"{file.name} does this by itself, and here the network beside it did it too: {'; '.join(done)}" if done else ""
    )
    return Carried(model, found, limits, said)


def _words(steps: Preprocess | Postprocess) -> str:
    """The steps as they are asked for, in few words."""
    asked = {
        n: v for n, v in dataclasses.asdict(steps).items() if v not in (None, False, ()) and n not in ("input", "twice")
    }
    return ", ".join(n if v is True else f"{n} {_value(v)}" for n, v in asked.items())


def _value(value: Any) -> str:
    return ",".join(f"{v:g}" for v in value) if isinstance(value, tuple) else str(value)
