"""Sizes for the axes that an ONNX file leaves open, where they can be chosen."""

from __future__ import annotations

from collections.abc import Collection

from hybrid.core.op import Spec
from hybrid.core.shapes import MaybeShape

from .models import Model, specs_of_onnx
from .pipeline.preprocess import sample_of, taken_by


def is_open(spec: Spec) -> bool:
    """True where an axis has no size."""
    return any(isinstance(d, str) for d in spec.shape or ())


def with_batch(spec: Spec, size: int) -> Spec:
    """The spec of an input with a batch of that size, where the batch is all that it leaves open."""
    first, *rest = spec.shape or (1,)
    if isinstance(first, str) and not any(isinstance(d, str) for d in rest):
        return Spec((size, *rest), spec.dtype)
    return spec


def sized(model: Model, batch: int = 1) -> dict[str, Spec]:
    """The inputs of an ONNX model as it declares them: with a batch chosen where that is all that is open, and with some size of
    pictures where it says that it resizes them itself."""
    if model.proto is None:
        return {}
    found = specs_of_onnx(model.proto)
    sides = sample_of(taken_by(model.proto))
    if sides is not None:
        for name, spec in found.items():
            open_ = [i for i, d in enumerate(spec.shape or ()) if i and isinstance(d, str)]
            if (
                spec.shape is not None and len(spec.shape) == 4 and len(open_) == 2
            ):  # height, then width, in either layout
                chosen = dict(zip(open_, sides))
                found[name] = Spec(tuple(chosen.get(i, d) for i, d in enumerate(spec.shape)), spec.dtype)
    return {n: with_batch(s, batch) for n, s in found.items()}


def as_example(shape: MaybeShape, batches: Collection[str] = ()) -> str:
    """Sizes that fit a declared shape, as they are written: the batch 1, and usual ones where others are open. batches: names of
    axes that are the batch of another input, wherever they stand."""
    if shape is None:
        return "1,3,224,224"
    usual = "224" if len(shape) == 4 else "16"
    return ",".join(
        ("1" if i == 0 or d in batches else usual) if isinstance(d, str) else str(d) for i, d in enumerate(shape)
    )
