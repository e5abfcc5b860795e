"""Operators' own examples in half precision: what inference accepts runs, compiled and in NumPy, as what was inferred. No operator
is named here."""

import numpy as np
import pytest

from hybrid.core.attrs import dtype as dtype_of
from hybrid.core.error import MXNetError
from hybrid.execution.program import Program
from hybrid.ir.graph import Graph
from hybrid.ir.infer import Inference, infer
from tests.table.examples import examples, graph_of

Feeds = dict[str, np.ndarray]


def inferred(graph: Graph, feeds: Feeds) -> Inference:
    return infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})


def halved(graph: Graph, feeds: Feeds, dtype: np.dtype) -> tuple[Feeds, Inference] | None:
    """The feeds with all float32 arrays in that dtype, or the first alone and what inference makes of the others; None where
    inference refuses both."""
    with np.errstate(over="ignore"):
        all_of_them = {k: v.astype(dtype) if v.dtype == np.float32 else v for k, v in feeds.items()}
    try:
        return all_of_them, inferred(graph, all_of_them)
    except MXNetError:
        pass
    first = next(iter(feeds))
    try:
        found = infer(graph, {k: v.shape for k, v in feeds.items()}, {first: all_of_them[first].dtype})
        dtypes = {n.name: found.dtypes[id(n), 0] for n in graph.variables()}
        with np.errstate(over="ignore"):
            mixed = {k: v.astype(dtypes[k] or v.dtype) for k, v in feeds.items()}
        return mixed, inferred(graph, mixed)
    except MXNetError:
        return None


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_what_is_accepted_runs(name: str) -> None:
    dtype, problems, ran = dtype_of(name), [], 0
    for example in examples():
        graph, feeds = graph_of(example)
        if not any(v.dtype == np.float32 for v in feeds.values()):
            continue
        found = halved(graph, feeds, dtype)
        if found is None:
            continue
        arrays, inference = found
        for native in (False, True):
            try:
                results = Program(graph, native=native).run(arrays)
            except Exception as error:
                problems.append(f"{example.op!r}, native={native}: {error}")
                continue
            ran += 1
            wanted = [inference.spec(e).dtype for e in graph.outputs]
            if [r.dtype for r in results] != wanted:
                problems.append(f"{example.op!r}, native={native}: {[r.dtype for r in results]}, inferred {wanted}")
    assert not problems, "\n".join(problems)
    assert ran > 1900
