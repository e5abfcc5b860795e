"""The oldest opsets at which operators are written, found by writing their own examples at every opset.

``python -m converters.oldest`` tries all and writes oldest.json, from which the tables of operators are made; a test holds it to
what is found. What onnxruntime computes of what is written: tests/converters/test_older.py.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hybrid.core.error import MXNetError
from hybrid.core.examples import Maker
from hybrid.core.op import OPS, Example, Spec
from hybrid.formats.files import write
from hybrid.ir.graph import Entry, Graph, Node

from .error import ConversionError
from .export import FLOOR, convert, newest_opset
from .registry import EXPORT, OLDEST
from .writer import Converted

RECORD = Path(__file__).with_name("oldest.json")


def is_written(example: Example, opset: int) -> bool:
    """True where a graph of an example alone is written at an opset: with its inputs fed, or all but the first stored."""
    return any(write_alone(example, opset, stored) is not None for stored in (False, True))


def write_alone(example: Example, opset: int | str | None, stored: bool, **options: Any) -> Converted | None:
    """The file of a graph of an example alone; None where it is not written. stored: all inputs but the first are stored, as layers
    have them, else all are fed. options: those of convert."""
    names = example.op.input_names()
    feeds = dict(zip(names, example.arrays, strict=True))
    node = Node(example.op, "node", [Entry(Node(None, n)) for n in names], example.op.dump())
    graph = Graph(Entry(node, i) for i in range(node.num_visible_outputs))
    params = {n: feeds[n] for n in names[1:]} if stored else {}
    inputs = {n: Spec(a.shape, a.dtype) for n, a in feeds.items() if n not in params}
    try:
        return convert(graph, params, inputs, opset, **options)
    except (ConversionError, MXNetError):
        return None


def tried(name: str) -> tuple[int, ...]:
    """The oldest opset at which an example of an operator is written, and the one from which on all that ever are; one number
    where that is one.

    Found from FLOOR downwards, and upwards for what FLOOR does not say; operators without examples count from FLOOR on."""
    first = max(FLOOR, min(EXPORT[name]))
    since = [_since(example, first) for example in OPS[name].examples(Maker(OPS[name]))]
    known = [v for v in since if v is not None] or [first]
    return tuple(sorted({min(known), max(known)}))


def _since(example: Example, first: int) -> int | None:
    """The opset from which on an example is written; None where no opset says it."""
    if is_written(example, first):
        return next((v + 1 for v in range(first - 1, OLDEST - 1, -1) if not is_written(example, v)), OLDEST)
    return next((v for v in range(first + 1, newest_opset() + 1) if is_written(example, v)), None)


@functools.cache
def recorded() -> dict[str, tuple[int, ...]]:
    """The opsets that ``tried`` has found of every operator."""
    groups = json.loads(RECORD.read_text(encoding="utf-8"))
    return {name: tuple(map(int, opsets.split())) for opsets, names in groups.items() for name in names.split()}


def dumps(found: dict[str, Sequence[int]]) -> str:
    """The record of what was found: operators by their opsets."""
    groups: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, opsets in found.items():
        groups[tuple(opsets)].append(name)
    return json.dumps({" ".join(map(str, k)): " ".join(sorted(groups[k])) for k in sorted(groups)}, indent=1) + "\n"


if __name__ == "__main__":
    from . import ops  # noqa: F401  fills EXPORT

    write(RECORD, dumps({name: tried(name) for name in EXPORT}))
