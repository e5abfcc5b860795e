"""Errors: reasons why a model cannot be written as ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ConversionError(ValueError):
    """Any reason for which there is no ONNX model: the input is at fault, or ONNX cannot say it."""


class Unsupported(Exception):
    """Raised inside an operator's translation: what ONNX cannot say. The walk adds the node and goes on."""


class Problem(NamedTuple):
    """One node that does not translate."""

    node: str
    operator: str
    reason: str

    def __str__(self) -> str:
        return f"{self.node} ({self.operator}): {self.reason}"


class UnsupportedModel(ConversionError):
    """Every node that does not translate, in ``problems``."""

    def __init__(self, problems: Sequence[Problem], what: str = "cannot be written as ONNX"):
        self.problems = tuple(problems)
        count = f"{len(self.problems)} node{'s' if len(self.problems) > 1 else ''}"
        super().__init__("\n  ".join([f"{count} {what}:", *map(str, self.problems)]))
