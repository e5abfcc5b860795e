"""Operators without a translation of their own, written as what they are composed of (``Op.composition``)."""

from __future__ import annotations

from typing import Any

from hybrid.core.op import OPS, Op, Spec
from hybrid.ir.compose import COMPOSITION, composition, core_kind_of, infer_body
from hybrid.ir.graph import Entry

from .builder import Value
from .error import Unsupported
from .registry import EXPORT, NOT_EXPORTED, OLDEST, export_handler, exports


def export_composition(b: Any, op: Op, *inputs: Any) -> list[Any]:
    """The operator as the translations of those it is composed of write it."""
    specs = [Spec(x.shape, x.dtype) for x in inputs]
    body = composition(op, specs)
    if body is None:
        raise Unsupported("is not said in operators that ONNX has for these attributes, dtypes and sizes")
    known, wanted = infer_body(body, specs), b.results
    values: dict[tuple[int, int], Any] = {}
    for node in body.nodes:
        if node.op is None:
            values[id(node), 0] = inputs[int(node.name[1:])]
            continue
        handler = export_handler(node.op.name, b.opset)
        if handler is None:
            raise Unsupported(f"is made of {node.op.name}, which has no translation at opset {b.opset}")
        b.results = [known.spec(Entry(node, i)) for i in range(node.num_outputs)]
        made = handler(b, node.op, *(values[id(e.node), e.index] for e in node.inputs))
        for i, (value, spec) in enumerate(zip(made if isinstance(made, tuple | list) else [made], b.results)):
            value = value if spec.dtype is None else b.cast(value, spec.dtype)
            shape = value.shape if value.const is not None else spec.shape
            values[id(node), i] = Value(value.name, shape, value.dtype, value.const)
    b.results = wanted
    return [values[id(e.node), e.index] for e in body.outputs if (id(e.node), e.index) in values]


def register_compositions() -> None:
    """Give every composition that has neither a translation nor a reason this one."""
    missing = [
        n for n, cls in OPS.items() if n not in EXPORT and n not in NOT_EXPORTED and core_kind_of(cls) is COMPOSITION
    ]
    exports(*missing, since=OLDEST)(export_composition)
