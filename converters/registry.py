"""Who translates what: one table from MXNet operators to the functions that write them as ONNX.

    @to_onnx("clip")
    def _(b, op, data):
        return b.Clip(data, op.a_min, op.a_max)

``b`` is the Builder, ``op`` the typed operator, then one Value per input (op.takes()); the result is a Value or a tuple of
them, one per output (those after the visible ones may be left out). A translation that depends on the opset is
registered once per ``since``; the newest not above the model's opset is taken. What ONNX cannot say has an entry in
NOT_EXPORTED with the reason, or raises Unsupported for the attributes in question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OLDEST = 13
"""The oldest opset that is written: below it axes are attributes and Softmax means something else."""

Handler = Callable[..., Any]
EXPORT: dict[str, dict[int, Handler]] = {}
NOT_EXPORTED: dict[str, str] = {}


def to_onnx(*names: str, since: int = OLDEST) -> Callable[[Handler], Handler]:
    """Register a translation for MXNet operators (canonical names), valid from an opset on."""

    def register(handler: Handler) -> Handler:
        for name in names:
            versions = EXPORT.setdefault(name, {})
            if since in versions:
                raise TypeError(f"{name}: exported twice since opset {since}")
            versions[since] = handler
        return handler

    return register


def one_to_one(**pairs: str) -> None:
    """Operators whose ONNX counterpart takes the same inputs and no attributes: MXNet name = ONNX name."""
    for name, onnx_name in pairs.items():
        to_onnx(name)(_same(onnx_name))


def _same(onnx_name: str) -> Handler:
    def handler(b: Any, op: Any, *inputs: Any) -> Any:
        return b.node(onnx_name, *inputs)

    return handler


def not_exported(reason: str, *names: str) -> None:
    """Say why operators have no translation."""
    for name in names:
        NOT_EXPORTED[name] = reason


def handler_for(name: str, opset: int) -> Handler | None:
    """The translation of an operator at an opset; None when there is none (never an older meaning by accident)."""
    versions = [v for v in EXPORT.get(name, {}) if v <= opset]
    return EXPORT[name][max(versions)] if versions else None
