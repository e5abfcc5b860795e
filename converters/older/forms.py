"""Forms of operators by the opset that they come before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..error import Unsupported

MODERN = 13
"""The opset from which all operators have the forms that translations ask for, or say themselves what they do before."""

Form = Callable[..., Any]
_FORMS: dict[str, dict[int, Form]] = {}


def before(opset: int, *names: str) -> Callable[[Form], Form]:
    """Register the form of operators before an opset: ``form(b, op_type, *inputs, **attributes)`` with the inputs that are asked
    for (Values, numbers, None) and the attributes, ``outputs`` among these where there are several."""

    def register(form: Form) -> Form:
        for name in names:
            _FORMS.setdefault(name, {})[opset] = form
        return form

    return register


def form_of(op_type: str, opset: int) -> Form | None:
    """The form of an operator at an opset; None where it is the newest."""
    limits = [limit for limit in _FORMS.get(op_type, ()) if limit > opset]
    return _FORMS[op_type][min(limits)] if limits else None


def wanting(opset: int, what: str, needed: int | None) -> Unsupported:
    """The refusal of what an opset has no form for: ``what`` is a noun, ``needed`` the first opset that has it."""
    return Unsupported(f"{what}: no form at opset {opset}" + (f", needs opset {needed}" if needed else ""), needed)
