"""Symbol JSON: read, written, inspected, inferred, run by both engines."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

from bridge.inspect import inspect
from hybrid.core.error import MXNetError
from hybrid.core.shapes import is_known
from hybrid.ir import json as symbol_json
from hybrid.ir.graph import Entry, Graph
from hybrid.ir.infer import infer

from . import REFUSED, RIGHT
from .graphs import (
    RUNS,
    Disagreement,
    Doc,
    arrays_for,
    changed,
    comparable,
    compared,
    network_docs,
    one_node_docs,
    typed,
)

SURFACE = "symbols"


def seeds() -> list[Any]:
    """One operator each, and a share of networks."""
    networks = network_docs()
    return [*one_node_docs(), *networks * 3]


def mutate(rng: random.Random, seed: Doc) -> bytes:
    """A Symbol JSON, and behind a line of its own what to feed it."""
    doc = changed(rng, seed)
    text = json.dumps(doc["symbol"])
    if rng.random() < 0.05:
        text = _damaged(rng, text)
    return f"{json.dumps(doc['feeds'])}\n{text}".encode(errors="surrogatepass")


def _damaged(rng: random.Random, text: str) -> str:
    place = rng.randrange(len(text))
    end = min(len(text), place + rng.choice([1, 1, 5, 100]))
    deep = rng.choice([50, 3000, 100_000])
    return rng.choice(
        [
            text[:place],
            text[:place] + text[end:],
            text[:place] + rng.choice('{}[],:"0e') + text[end:],
            text[:place] + text[place:end] * 3 + text[end:],
            text[:place] + "[" * deep + "]" * deep + text[end:],
            text[:place] + "9" * deep + text[end:],
        ]
    )


def judge(case: bytes) -> str:
    first, _, text = case.partition(b"\n")
    doc = {"feeds": json.loads(first)}
    try:
        graph = symbol_json.loads(text, foreign=True)
        written = symbol_json.dumps(graph)
        if not _foreign(graph) and symbol_json.dumps(symbol_json.loads(written)) != written:
            raise Disagreement("the symbol that was written is read as another")
        inspect_names(graph)
        graph = symbol_json.loads(text)
        return RIGHT if _runs(graph, doc) else REFUSED
    except MXNetError as error:
        if not typed(error):
            raise
        return REFUSED


def _foreign(graph: Graph) -> bool:
    return any(isinstance(n.op, symbol_json.UnknownOp) for n in graph.all_nodes())


def inspect_names(graph: Graph) -> None:
    """Inspect the graph without shapes; it lists problems and raises for none of them."""
    if len(graph.nodes) < 50:
        inspect(graph)


def _runs(graph: Graph, doc: Doc) -> bool:
    """True where inference and both engines have an answer, the same. Raises MXNetError where all refuse."""
    shapes = {n: tuple(s) for n, (_, s) in doc["feeds"].items()}
    dtypes = {n: d for n, (d, _) in doc["feeds"].items()}
    names = [n.name for n in graph.variables()]
    found = infer(graph, {n: shapes[n] for n in names if n in shapes}, {n: dtypes[n] for n in names if n in dtypes},
                  default_dtype=np.float32)  # fmt: skip
    specs = {n.name: found.spec(Entry(n)) for n in graph.variables()}
    if not all(is_known(s.shape) for s in specs.values()):
        return True
    size = sum(int(np.prod(s, dtype=object)) for s in found.shapes.values() if is_known(s))
    if size > RUNS:
        return True
    doc["feeds"] |= {n: [str(s.dtype), list(s.shape or ())] for n, s in specs.items()}
    return compared(graph, arrays_for(doc), comparable(graph))
