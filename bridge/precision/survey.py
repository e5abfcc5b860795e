"""The numbers that the tensors inside a network hold, measured in float32 over its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx

from converters.onnx_types import HALF_CODES, dtype_of
from converters.precision.retype import tensor_types
from converters.writer import Converted
from hybrid.core.attrs import is_float, is_half

from ..engines import Arrays, OnnxEngine, in_groups
from ..half import with_rounding
from ..models import Model, onnx_spec, specs_of_onnx

HELD = 512 << 20
"""Bytes of tensors that are held at a time."""
UNKNOWN_SIZE = 1 << 20


@dataclass(frozen=True)
class Range:
    """The numbers of a tensor over all inputs; what is not finite is left out."""

    low: float = math.inf
    high: float = -math.inf
    whole: bool = True
    """True where all are whole numbers."""

    @property
    def greatest(self) -> float:
        """The greatest magnitude."""
        return max(abs(self.low), abs(self.high)) if self.low <= self.high else 0.0

    def with_values(self, array: np.ndarray) -> Range:
        """The range of these numbers too."""
        finite = array if np.isfinite(array).all() else array[np.isfinite(array)]
        if not finite.size:
            return self
        whole = self.whole and bool((finite == np.trunc(finite)).all())
        return replace(
            self, low=min(self.low, float(finite.min())), high=max(self.high, float(finite.max())), whole=whole
        )


def engine_of(
    converted: Converted, name: str, outputs: Sequence[str] = (), *, rounding: bool = False, **options: Any
) -> OnnxEngine:
    """onnxruntime on a model in memory. outputs: further tensors that it gives. rounding: every tensor of half precision is rounded
    to that, which onnxruntime spares itself. options: as OnnxEngine takes them."""
    proto = with_rounding(converted.proto()) if rounding else converted.proto()
    known = {o.name for o in proto.graph.output}
    proto.graph.output.extend(onnx.helper.make_empty_tensor_value_info(n) for n in outputs if n not in known)
    return OnnxEngine(Model(name, proto=proto), **options)


def as_taken(converted: Converted, feeds: Mapping[str, np.ndarray]) -> Arrays:
    """Inputs in the dtypes that a model takes."""
    own = {i.name: onnx_spec(i).dtype for i in converted.model.graph.input}
    return {n: a.astype(own[n], copy=False) for n, a in feeds.items() if n in own}


def halves(converted: Converted) -> int:
    """Number of tensors of half precision."""
    found = sum(is_half(a.dtype) for a in converted.initializers.values())
    found += sum(is_half(s.dtype) for s in specs_of_onnx(converted.model).values())
    return found + sum(
        a.i in HALF_CODES for n in converted.model.graph.node if n.op_type == "Cast" for a in n.attribute
    )


def float_tensors(converted: Converted) -> dict[str, int]:
    """Names of the float tensors that nodes of the graph make, inputs included, in order; and their bytes, as far as known."""
    typed = tensor_types(converted).graph
    infos = {i.name: i.type.tensor_type for i in (*typed.input, *typed.value_info, *typed.output)}
    inputs = [i.name for i in converted.model.graph.input]
    made = [o for n in converted.model.graph.node for o in n.output if o]
    out = {}
    for name in (*inputs, *made):
        kind = infos.get(name)
        if kind is None or not kind.elem_type or not is_float(dtype_of(kind.elem_type)):
            continue
        dims = [d.dim_value for d in kind.shape.dim] if kind.HasField("shape") else [0]
        out[name] = 4 * math.prod(dims) if all(dims) else UNKNOWN_SIZE
    return out


def groups_of(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Tensors in groups that fit into HELD."""
    return in_groups(sizes, sizes.__getitem__, HELD)


def visit(
    converted: Converted,
    sizes: Mapping[str, int],
    feeds: Sequence[Arrays],
    see: Callable[[str, np.ndarray], None],
) -> None:
    """Show every tensor of every run. sizes: as float_tensors gives them. Raises EngineError."""
    for group in groups_of(sizes):
        engine = engine_of(converted, "model", group, plain=True)
        for given in feeds:
            shown = {**given, **engine.run_unchecked(given)}
            for name in group:
                if name in shown:
                    see(name, shown[name])
        engine.free_memory()


def survey(converted: Converted, feeds: Sequence[Arrays]) -> dict[str, Range]:
    """The range of every float tensor, inputs included."""
    found: dict[str, Range] = {}

    def see(name: str, array: np.ndarray) -> None:
        found[name] = found.get(name, Range()).with_values(array.astype(np.float32, copy=False))

    visit(converted, float_tensors(converted), feeds, see)
    return found
