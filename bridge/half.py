"""A model of half precision beside one of float32: from outside it is one of float32 too, and how exact numbers have to be is what
half precision allows."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from converters.error import ConversionError
from converters.onnx_types import HALF_CODES, dtype_of
from converters.proto_nodes import reads
from converters.writer import PROTOBUF_LIMIT
from hybrid.core.attrs import HALVES, is_float, is_half
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.ir.graph import Entry

from .compare import coarsest
from .engines import Arrays, Engine, NativeEngine, OnnxEngine
from .models import BadInput, Model

SINGLE = np.dtype(np.float32)
PRECISION = "gluonnx.precision"
"""The member of a file's metadata that says which precision it was written in (bridge/precision)."""


def half_of(model: Model) -> str:
    """The half precision that an ONNX model says it was written in, or else that it holds most of its floats in, of what is stored
    (and, where that is little, of its tensors); empty where it is more exact."""
    if model.proto is None:
        return ""
    told = next((p.value for p in model.proto.metadata_props if p.key == PRECISION), "")
    if told in HALVES:
        return told
    counts: dict[str, int] = {}
    for tensor in model.proto.graph.initializer:
        name = _float_of(tensor.data_type)
        counts[name] = counts.get(name, 0) + int(np.prod(tensor.dims, dtype=np.int64))
    for value in (*model.proto.graph.input, *model.proto.graph.value_info):
        name = _float_of(value.type.tensor_type.elem_type)
        counts[name] = counts.get(name, 0) + 1
    counts.pop("", None)
    most = max(counts, key=lambda name: counts[name], default="")
    return most if most in HALVES else ""


def _float_of(code: int) -> str:
    """The name of a dtype of floats; empty for another."""
    if code in (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING):
        return ""
    dtype = dtype_of(code)
    return dtype.name if is_float(dtype) else ""


def widen_half(arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Arrays by name, those of half precision in float32."""
    return {n: a.astype(SINGLE) if is_half(a.dtype) else a for n, a in arrays.items()}


def widen_specs(specs: Mapping[str, Spec]) -> dict[str, Spec]:
    """Specs by name, those of half precision in float32."""
    return {n: Spec(s.shape, SINGLE) if is_half(s.dtype) else s for n, s in specs.items()}


def with_rounding(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with an Identity behind every tensor of half precision that a node makes.

    onnxruntime has few kernels of float16 for CPUs: it computes in float32 and takes the casts between two such nodes away, so that
    numbers between them are not rounded, and do not overflow, as they are and do where there are such kernels. Identity has one."""
    try:
        typed = onnx.shape_inference.infer_shapes(model).graph
    except (onnx.shape_inference.InferenceError, ValueError):
        typed = model.graph
    codes = {i.name: i.type.tensor_type.elem_type for i in (*typed.value_info, *typed.output)}
    half = {n for n, c in codes.items() if c in HALF_CODES}
    out = onnx.ModelProto()
    out.CopyFrom(model)
    del out.graph.node[:]
    for node in model.graph.node:
        new = out.graph.node.add()
        new.CopyFrom(node)
        made = [o for o in node.output if o in half]
        new.output[:] = [f"{o}/unrounded" if o in half else o for o in node.output]
        for name in made:
            out.graph.node.append(onnx.helper.make_node("Identity", [f"{name}/unrounded"], [name], f"{name}/rounded"))
    return out


def _saturated(value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers in another dtype of floats, finite ones as the nearest finite number of it."""
    with np.errstate(over="ignore"):
        found = value.astype(dtype)
        over = ~np.isfinite(found.astype(SINGLE)) & np.isfinite(value) if is_half(dtype) else np.False_
        if over.any():
            most = np.finfo(np.float16).max if dtype.name == "float16" else float.fromhex("0x1.fep127")
            found[over] = np.copysign(most, value[over]).astype(dtype)
    return found


class HalfEngine(OnnxEngine):
    """onnxruntime on a model of half precision. Floats that go in are rounded to what the model's tensors hold; outputs are
    widened. Tensors of a piece of it, which are compared one by one, come out as they are held."""

    def __init__(self, model: Model, **options: Any):
        super().__init__(model, **options)
        self.held = self.specs
        self.specs = widen_specs(self.specs)
        self._as_held = OnnxEngine(model, **options)
        self._options = options

    @property
    def precision_name(self) -> str:
        """The name of the dtype that most of its floats are held in."""
        return half_of(self.model) or "float16"

    @property
    def rounded(self) -> dict[str, np.dtype]:
        """Dtypes of the inputs of half precision."""
        return {n: s.dtype for n, s in self.held.items() if is_half(s.dtype)}

    @functools.cached_property
    def _dtypes(self) -> dict[str, np.dtype]:
        """Dtypes of tensors, as far as they are known."""
        try:
            proto = onnx.shape_inference.infer_shapes(self.proto)
        except (onnx.shape_inference.InferenceError, ValueError):
            proto = self.proto
        infos = (*proto.graph.value_info, *proto.graph.output, *proto.graph.input)
        codes = {i.name: i.type.tensor_type.elem_type for i in infos}
        return {n: dtype_of(c) for n, c in codes.items() if _float_of(c)}

    def narrow(self, values: Mapping[str, np.ndarray]) -> Arrays:
        """Values as the model's tensors hold them: finite ones stay finite, as a mask of -1e18 does that became -65504."""
        found = {}
        for name, value in values.items():
            dtype = self._dtypes.get(name)
            found[name] = value if dtype is None or not is_float(value.dtype) else _saturated(value, dtype)
        return found

    def precision(self, feeds: Mapping[str, np.ndarray]) -> dict[str, str]:
        found, before = super().precision(feeds), {}
        while found != before:  # those who made it may have put its casts behind the nodes that read them
            before = dict(found)
            for node in self.proto.graph.node:
                read = [found.get(n, "") for n in reads(node)]
                found |= {name: coarsest([found[name], *read]) for name in node.output}
        return found

    @functools.cached_property
    def _rounding(self) -> OnnxEngine:
        """onnxruntime where every tensor is rounded to what it is held in."""
        if self.full_proto().ByteSize() > PROTOBUF_LIMIT:
            return self._as_held
        model = Model(self.model.name, proto=with_rounding(self.full_proto()))
        return OnnxEngine(model, **{**self._options, "plain": True, "scratch": False})

    def run_unchecked(self, feeds: Mapping[str, np.ndarray]) -> Arrays:
        return widen_half(self._rounding.run_unchecked(self.narrow(feeds)))

    def expose(self, feeds: Mapping[str, np.ndarray], names: Iterable[str]) -> Arrays:
        return widen_half(self._rounding.expose(self.narrow(feeds), names))

    def free_memory(self) -> None:
        super().free_memory()
        self._rounding.free_memory()

    def compute_alone(self, tensor: Any, given: Mapping[str, np.ndarray]) -> np.ndarray | None:
        found = super().compute_alone(tensor, self.narrow(given))
        return None if found is None else widen_half({"": found})[""]

    def run_forced(self, cut: frozenset[str], values: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        return self._as_held.run_forced(cut, self.narrow(values), names)

    def exact(
        self,
        cut: frozenset[str],
        values: Mapping[str, np.ndarray],
        name: str,
        jitter: tuple[float, int] | None = None,
        halved: bool = False,
    ) -> np.ndarray | None:
        return super().exact(cut, self.narrow(values), name, jitter, halved)

    def exact_by_oracle(
        self, cut: frozenset[str], values: Mapping[str, np.ndarray], name: str, halved: bool = False
    ) -> np.ndarray | None:
        return super().exact_by_oracle(cut, self.narrow(values), name, halved)

    @functools.cached_property
    def native_engine(self) -> NativeEngine | None:
        try:
            return _HalfNative(self.model.native, self.held)
        except (MXNetError, ConversionError, BadInput):
            return None


class _HalfNative(NativeEngine):
    """Our engine on a model of half precision as we read it, which takes float32 too."""

    def __init__(self, model: Model, held: Mapping[str, Spec]):
        super().__init__(model, held)
        self.held = held

    def complete(self, feeds: Mapping[str, np.ndarray]) -> Arrays:
        given = {n: a if n not in self.held else a.astype(self.held[n].dtype) for n, a in feeds.items()}
        return super().complete(given)


def engines_apart(left: Engine, right: Engine, specs: Mapping[str, Spec]) -> tuple[Engine, Engine]:
    """The engines, the one of half precision as a HalfEngine where the other is more exact, or takes inputs that are.
    specs: what is known of inputs."""
    kinds = [half_of(e.model) for e in (left, right)]
    made = [
        HalfEngine(e.model)
        if isinstance(e, OnnxEngine)
        and ((kind and not other) or _rounds_inputs(e, peer))
        and _is_finer(peer, specs, e.model)  # last, since it infers the whole graph
        else e
        for e, kind, other, peer in ((left, *kinds, right), (right, *kinds[::-1], left))
    ]
    if any(isinstance(e, HalfEngine) for e in made):  # what goes in is float32, on both sides
        made = [HalfEngine(e.model) if type(e) is OnnxEngine and _halved_inputs(e) else e for e in made]
    return made[0], made[1]


def _halved_inputs(engine: OnnxEngine) -> set[str]:
    """Inputs of half precision."""
    return {n for n, s in engine.specs.items() if is_half(s.dtype)}


def _rounds_inputs(engine: OnnxEngine, peer: Engine) -> bool:
    """True where an input of half precision is float32 on the other side."""
    return isinstance(peer, OnnxEngine) and bool(_halved_inputs(engine) - _halved_inputs(peer))


def _is_finer(engine: Engine, specs: Mapping[str, Spec], other: Model) -> bool:
    """True where an engine's model holds more exactly what the other one, an ONNX model, holds in half precision. Of mixed
    precision (amp_cast) what is cast to half counts as that, so that each tensor is compared with the other's."""
    if not isinstance(engine, NativeEngine):
        return True
    params = engine.model.params
    try:
        inferred = engine.model.infer({n: s for n, s in specs.items() if n in engine.inputs})
    except MXNetError:  # what is not known yet a draw may tell; what is wrong whoever draws says
        inferred = None
    halved = {n for n, a in params.items() if is_half(a.dtype)}
    for node in engine.graph.nodes:
        if node.op is None or inferred is None:
            continue
        if any(is_half(inferred.spec(Entry(node, i)).dtype) for i in range(node.num_outputs)):
            halved |= {e.name for e in node.inputs if e.node.is_variable and e.name in params}
    theirs = other.proto.graph.initializer if other.proto is not None else ()
    held = sum(int(np.prod(t.dims, dtype=np.int64)) for t in theirs if _float_of(t.data_type) in HALVES)
    return held > 1.05 * sum(params[n].size for n in halved)  # numbers of operators are stored in the file too
