"""Sizes for the axes that an ONNX file leaves open, where they can be chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hybrid.core.op import Spec
from hybrid.core.shapes import MaybeShape

from .models import Model, specs_of_onnx
from .pipeline.preprocess import sample_of, taken_by

UNNAMED = "?"
"""The name of open axes that have none."""


def is_open(spec: Spec) -> bool:
    """True where an axis has no size."""
    return any(isinstance(d, str) for d in spec.shape or ())


def with_batch(spec: Spec, size: int) -> Spec:
    """The spec of an input with a batch of that size, where the batch is all that it leaves open."""
    first, *rest = spec.shape or (1,)
    if isinstance(first, str) and not any(isinstance(d, str) for d in rest):
        return Spec((size, *rest), spec.dtype)
    return spec


def labels_of(declared: Mapping[str, Spec], given: Mapping[str, Spec]) -> dict[str, int]:
    """Sizes of the axes that a file leaves open, by their names, as far as shapes that are given tell them."""
    found: dict[str, int] = {}
    for name, spec in given.items():
        own = declared.get(name, Spec()).shape or ()
        if spec.shape is not None and len(own) == len(spec.shape):
            pairs = zip(own, spec.shape)
            found |= {d: size for d, size in pairs if isinstance(d, str) and d != UNNAMED and isinstance(size, int)}
    return found


def batches_of(declared: Mapping[str, Spec]) -> set[str]:
    """Names of open axes that come first in some input: of the batch, wherever they stand in others."""
    return {s.shape[0] for s in declared.values() if s.shape and isinstance(s.shape[0], str)} - {UNNAMED}


def filled(spec: Spec, sizes: Mapping[str, int]) -> Spec:
    """The spec with sizes in the place of names."""
    if spec.shape is None:
        return spec
    return Spec(tuple(sizes.get(d, d) if isinstance(d, str) else d for d in spec.shape), spec.dtype)


def sized(model: Model, batch: int = 1, given: Mapping[str, Spec] | None = None) -> dict[str, Spec]:
    """The inputs of an ONNX model as it declares them: with a batch chosen where that is all that is open, with some size of
    pictures where it says that it resizes them itself, and with what shapes that are given tell of axes of the same name."""
    if model.proto is None:
        return {}
    found = specs_of_onnx(model.proto)
    told, batches = labels_of(found, given or {}), batches_of(found)
    sides = sample_of(taken_by(model.proto))
    if sides is not None:
        for name, spec in found.items():
            open_ = [i for i, d in enumerate(spec.shape or ()) if i and isinstance(d, str)]
            if (
                spec.shape is not None and len(spec.shape) == 4 and len(open_) == 2
            ):  # height, then width, in either layout
                chosen = dict(zip(open_, sides))
                found[name] = Spec(tuple(chosen.get(i, d) for i, d in enumerate(spec.shape)), spec.dtype)
    out = {}
    for name, spec in found.items():
        spec = filled(spec, told)
        closed = filled(spec, dict.fromkeys(batches, batch))
        out[name] = with_batch(spec if is_open(closed) else closed, batch)
    return out


def as_example(shape: MaybeShape, batches: Collection[str] = ()) -> str:
    """Sizes that fit a declared shape, as they are written: the batch 1, and usual ones where others are open. batches: names of
    axes that are the batch of another input, wherever they stand."""
    if shape is None:
        return "1,3,224,224"
    usual = "224" if len(shape) == 4 else "16"
    return ",".join(
        ("1" if i == 0 or d in batches else usual) if isinstance(d, str) else str(d) for i, d in enumerate(shape)
    )
