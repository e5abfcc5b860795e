"""Errors: reasons why a model cannot be written as ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ConversionError(ValueError):
    """Any reason for which there is no ONNX model: the input is at fault, or ONNX cannot say it."""


class Unsupported(Exception):
    """Raised inside an operator's translation: what ONNX cannot say. The walk adds the node and goes on."""

    def __init__(self, reason: str, opset: int | None = None):
        """opset: the first that has words for it, where it is one of those that come later than the one being written."""
        self.opset = opset
        super().__init__(reason)


class Problem(NamedTuple):
    """One node that does not translate."""

    node: str
    operator: str
    reason: str

    def __str__(self) -> str:
        return f"{self.node} ({self.operator}): {self.reason}"


SHOWN = 5
"""Problems that a message lists; all of them are in ``problems``."""


class UnsupportedModel(ConversionError):
    """Every node that does not translate, in ``problems``."""

    def __init__(self, problems: Sequence[Problem], what: str = "cannot be written as ONNX", hint: str = ""):
        """hint: a last line, that says what can be done."""
        self.problems = tuple(problems)
        count = f"{len(self.problems)} node{'s' if len(self.problems) > 1 else ''}"
        lines = [f"{count} {what}:", *map(str, self.problems)]
        left = len(self.problems) - SHOWN
        more = [f"... and {left} more"] if left > 0 else []
        self.hint = hint
        end = f"\n{hint}" if hint else ""
        self.full = "\n  ".join(lines) + end
        """The message with all problems; that of the error stops after a few."""
        super().__init__("\n  ".join([*lines[: SHOWN + 1], *more]) + end)
