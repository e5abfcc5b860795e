"""ONNX operators that MXNet's become, for the docstrings of nd and sym: found by writing each operator's first example.

``python -m tests.house.onnx_names`` writes hybrid/core/onnx_names.txt anew."""

from __future__ import annotations

import warnings
from pathlib import Path

import converters.ops  # noqa: F401  fills EXPORT
import hybrid
from converters.export import FLOOR
from converters.oldest import write_alone
from converters.registry import EXPORT
from hybrid.core.examples import Maker
from hybrid.core.op import FAMILY, OPS

RECORD = Path(hybrid.__file__).parent / "core" / "onnx_names.txt"
MOST = 4
"""Operators that are named; of longer lists the first."""


def written_as(name: str) -> str:
    """ONNX operators that the first example of an operator is written as, in order, each once; empty where it is not written."""
    example = next(iter(OPS[name].examples(Maker(OPS[name]))), None)
    if name not in EXPORT or name.startswith(FAMILY) or example is None:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = next(filter(None, (write_alone(example, FLOOR, stored) for stored in (False, True))), None)
    if made is None:
        return ""
    kinds = list(dict.fromkeys(n.op_type for n in made.model.graph.node))
    return ", ".join(kinds[:MOST]) + (f" and {len(kinds) - MOST} more" if len(kinds) > MOST else "")


def text() -> str:
    """The whole file."""
    found = {name: written_as(name) for name in sorted(OPS)}
    return "".join(f"{name} {said}\n" for name, said in found.items() if said)


if __name__ == "__main__":
    RECORD.write_text(text(), encoding="utf-8")
