"""The tables of operators: what the engine has, what of it is written as ONNX, what of ONNX is read. Derived from the registries.

``python -m converters.coverage > docs/operators.md`` writes it anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import onnx

import hybrid.ops  # noqa: F401  fills OPS
from hybrid.op import OPS

from . import ops  # noqa: F401  fills EXPORT
from .registry import EXPORT, IMPORT, NOT_EXPORTED, NOT_IMPORTED


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
    return "\n".join([*lines, *_read()]) + "\n"


def _read() -> list[str]:
    """The table of ONNX operators that are read."""
    lines = [
        "",
        "# ONNX operators",
        "",
        f"{len(IMPORT)} operators are read. A version of an operator is read by what holds from the newest opset not above it. "
        "Those that",
        "ONNX itself defines by others and that are not in the table are read as these. Operators that MXNet lacks, or has in a",
        "narrower form, become operators of the family `_onnx_` ([decision 0011](decisions/0011-the-family-onnx.md)).",
        "What of ONNX's own tests does not pass: [backend-suite.md](backend-suite.md).",
        "",
        "| domain | operator | read from opset |",
        "|---|---|---|",
    ]
    for domain, name in sorted({*IMPORT, *NOT_IMPORTED}):
        since = ", ".join(map(str, sorted(IMPORT.get((domain, name), ()))))
        lines.append(f"| {domain} | `{name}` | {since or f'no: {NOT_IMPORTED[domain, name]}'} |")
    return lines


def unread() -> list[tuple[str, str]]:
    """Operators of the installed onnx that are neither read, nor defined by others, nor refused with a reason."""
    known = {*IMPORT, *NOT_IMPORTED}
    schemas: Any = onnx.defs.get_all_schemas()
    basic = {(s.domain, s.name) for s in schemas if not (s.has_function or s.has_context_dependent_function)}
    return sorted(basic - known)


if __name__ == "__main__":
    print(markdown(), end="")
