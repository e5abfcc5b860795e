"""The closed core as a page: the primitives with their rules, what the compositions are made of, the exceptions with their reasons.

``python -m converters.core_table > docs/core.md`` writes it anew.
"""

from __future__ import annotations

import inspect
from collections import defaultdict

import numpy as np

from hybrid.core.error import MXNetError
from hybrid.core.examples import Maker
from hybrid.core.op import OPS, Op
from hybrid.core.shapes import show
from hybrid.core.unread import perhaps_unread
from hybrid.ir.compose import COMPOSITION, EXCEPTION, PRIMITIVE, core_kind_of

from . import coverage

_KINDS = {"floats": "float32", "integers": "int32", "bools": "bool"}


def core() -> dict[str, dict[str, type[Op]]]:
    """The operators by what they are in the core, then by name."""
    found: dict[str, dict[str, type[Op]]] = {kind: {} for kind in (PRIMITIVE, COMPOSITION, EXCEPTION)}
    for name, cls in sorted(OPS.items(), key=lambda item: item[0].lower()):
        found[core_kind_of(cls)][name] = cls
    return found


def _shapes(cls: type[Op]) -> str:
    """The shapes of the first example, and those that its shape rule gives."""
    for op, arrays in cls.examples(Maker(cls)):
        if "subgraphs" in op.needs:
            return ""
        try:
            found = op.infer_shape(*(a.shape for a in arrays))
        except (MXNetError, TypeError):  # values decide
            return ""
        shapes = found if isinstance(found, list) else [found]
        return f"{', '.join(show(a.shape) for a in arrays)} -> {', '.join(map(show, shapes))}"
    return ""


def _dtypes(cls: type[Op]) -> str:
    """Kinds of numbers that the dtype rule takes in the place of the first example's floats."""
    for op, arrays in cls.examples(Maker(cls)):
        taken = []
        for kind, dtype in _KINDS.items():
            dtypes = tuple(np.dtype(dtype) if a.dtype == np.float32 else a.dtype for a in arrays)
            try:
                op.infer_input_types(dtypes, (None,) * len(op.output_names()))
                op.want_dtype(dtypes)
                op.infer_type(*dtypes)
            except (MXNetError, ValueError):
                continue
            taken.append(kind)
        floats = any(a.dtype == np.float32 for a in arrays)
        return "" if not floats else "all" if len(taken) == len(_KINDS) else ", ".join(taken)
    return ""


def markdown() -> str:
    """The page as docs/core.md holds it."""
    kinds = core()
    rows = {row.name: row for row in coverage.rows()}
    lines = [
        "# The core",
        "",
        "Every operator is a primitive, a composition that is said in other operators, or an exception with its reason.",
        "[Decision 0018](decisions/0018-the-closed-core.md) says what that is for.",
        "",
        "Written by `python -m converters.core_table > docs/core.md`; a test holds it to the classes.",
        "",
        "| | operators |",
        "|---|---|",
        f"| primitives | {len(kinds[PRIMITIVE])} |",
        f"| compositions, made of primitives and of other compositions | {len(kinds[COMPOSITION])} |",
        f"| exceptions | {len(kinds[EXCEPTION])} |",
        "",
        "## Primitives",
        "",
        "- *shapes*: what the shape rule says of the first example; *dtypes*: what the dtype rule takes for its float32.",
        "- *gradient*, *kernel*, *ONNX*: as in [operators.md](operators.md).",
        "",
        "| operator | what it computes | shapes | dtypes | gradient | kernel | ONNX from opset |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, cls in kinds[PRIMITIVE].items():
        row = rows[name]
        text = (inspect.getdoc(cls) or "").split("\n")[0]
        opsets = ", ".join(map(str, row.opsets))
        cells = (f"`{name}`", text, _shapes(cls), _dtypes(cls), row.gradient, row.kernel, opsets or "no")
        lines.append(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in cells)} |")
    lines += ["", "## Compositions", "", "What each is made of in its examples, one step down.", ""]
    lines += ["| operator | made of |", "|---|---|"]
    lines += [f"| `{n}` | {', '.join(f'`{p}`' for p in coverage.made_of(c))} |" for n, c in kinds[COMPOSITION].items()]
    lines += ["", "## Exceptions", "", "| reason | operators |", "|---|---|"]
    reasons = defaultdict(list)
    for name, cls in kinds[EXCEPTION].items():
        reasons[cls.exception].append(name)
    for reason, names in sorted(reasons.items()):
        lines.append(f"| {reason} | {', '.join(f'`{n}`' for n in names)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with perhaps_unread():
        print(markdown(), end="")
