"""ONNX operators that MXNet's become, for the docstrings of nd and sym: found by writing each operator's first example.

``python -m tests.house.onnx_names`` writes hybrid/core/onnx_names.txt anew."""

from __future__ import annotations

import warnings
from pathlib import Path

import converters.ops  # noqa: F401  fills EXPORT
import hybrid
from converters.error import ConversionError
from converters.export import FLOOR, convert
from converters.registry import EXPORT
from hybrid.core.error import MXNetError
from hybrid.core.examples import Maker
from hybrid.core.op import FAMILY, OPS, Spec
from hybrid.ir.graph import Entry, Graph, Node

RECORD = Path(hybrid.__file__).parent / "core" / "onnx_names.txt"
MOST = 4
"""Operators that are named; of longer lists the first."""


def written_as(name: str) -> str:
    """ONNX operators that the first example of an operator is written as, in order, each once; empty where it is not written."""
    example = next(iter(OPS[name].examples(Maker(OPS[name]))), None)
    if name not in EXPORT or name.startswith(FAMILY) or example is None:
        return ""
    names = example.op.input_names()
    feeds = dict(zip(names, example.arrays, strict=True))
    node = Node(example.op, "node", [Entry(Node(None, n)) for n in names], example.op.dump())
    graph = Graph(Entry(node, i) for i in range(node.num_visible_outputs))
    for stored in (names[len(names) :], names[1:]):
        inputs = {n: Spec(a.shape, a.dtype) for n, a in feeds.items() if n not in stored}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = convert(graph, {n: feeds[n] for n in stored}, inputs, FLOOR)
        except (ConversionError, MXNetError):
            continue
        kinds = list(dict.fromkeys(n.op_type for n in made.model.graph.node))
        return ", ".join(kinds[:MOST]) + (f" and {len(kinds) - MOST} more" if len(kinds) > MOST else "")
    return ""


def text() -> str:
    """The whole file."""
    found = {name: written_as(name) for name in sorted(OPS)}
    return "".join(f"{name} {said}\n" for name, said in found.items() if said)


if __name__ == "__main__":
    RECORD.write_text(text(), encoding="utf-8")
