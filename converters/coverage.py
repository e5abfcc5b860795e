"""The table of operators: what the engine has, and what of it is written as ONNX. Derived from the registries.

``python -m converters.coverage > docs/operators.md`` writes it anew.
"""

from __future__ import annotations

from typing import NamedTuple

import hybrid.ops  # noqa: F401  fills OPS
from hybrid.op import OPS

from . import ops  # noqa: F401  fills EXPORT
from .registry import EXPORT, NOT_EXPORTED


class Row(NamedTuple):
    """One operator."""

    name: str
    aliases: tuple[str, ...]
    opsets: tuple[int, ...]
    """Opsets from which a translation holds, oldest first; empty when there is none."""
    reason: str
    """Why there is none."""


def rows() -> list[Row]:
    """Every operator, by name."""
    return [
        Row(name, cls.aliases, tuple(sorted(EXPORT.get(name, ()))), NOT_EXPORTED.get(name, ""))
        for name, cls in sorted(OPS.items(), key=lambda item: item[0].lower())
    ]


def markdown() -> str:
    """The table as docs/operators.md holds it."""
    table = rows()
    written = sum(bool(r.opsets) for r in table)
    lines = [
        "# Operators",
        "",
        "Written by `python -m converters.coverage > docs/operators.md`; a test holds it to the registries.",
        "",
        f"{len(table)} operators run in the engine, {written} of them are written as ONNX. Attributes that ONNX cannot say are",
        "refused with the reason when a model has them; `gluonnx inspect` lists all such nodes of yours.",
        "",
        "| operator | other names | ONNX from opset |",
        "|---|---|---|",
    ]
    for row in table:
        said = ", ".join(map(str, row.opsets)) or f"no: {row.reason}"
        lines.append(f"| `{row.name}` | {', '.join(f'`{a}`' for a in row.aliases)} | {said} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
