"""Places, lengths and classes beyond both ends: the engine compiled, its NumPy rules and onnxruntime do one thing with them."""

import numpy as np

import converters
from converters.registry import EXPORT
from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.op import Example
from hybrid.execution.program import Program
from tests.grouped import each
from tests.table.examples import Numbered, examples, graph_of, numbered
from tests.table.goldens import close
from tests.table.test_goldens import run_onnx

FIRST = (0, 3, 5)


def beyond(example: Example, first: int) -> Example | None:
    """The example with places right before, at and far beyond the ends of what is allowed, from the first of such a list on; None
    where nothing of it is a place."""
    names, shapes = example.op.input_names(), [a.shape for a in example.arrays]
    arrays, found = list(example.arrays), False
    for i, (name, array) in enumerate(zip(names, arrays)):
        domain = example.op.domain(name, shapes)
        if domain is not None and domain.integer and array.dtype.kind in "iuf":
            low, high = int(domain.low), int(min(domain.high, 99))
            least = max(low - 3, np.iinfo(array.dtype).min) if array.dtype.kind in "iu" else low - 3
            values = [max(least, low - 1), high + 1, low, high, high + 7, least, (low + high) // 2]
            arrays[i] = np.resize(np.roll(values, -first), array.shape).astype(array.dtype)
            found = True
    return Example(example.op, tuple(arrays)) if found else None


NUMBERED = enumerate(e for e in examples() if not e.op.name.startswith("_onnx_"))
ALL = [(i, b) for i, e in NUMBERED for first in FIRST if (b := beyond(e, first)) is not None]


def result(example: Example) -> list[np.ndarray] | None:
    """Result of the engine; None where it refuses."""
    graph, feeds = graph_of(example)
    try:
        return Program(graph).run({k: v.copy() for k, v in feeds.items()})
    except MXNetError:
        return None


@each(ALL, numbered)
def test_places_beyond_the_ends_mean_one_thing(row: Numbered, by_numpy: None) -> None:
    example = row[1]
    want = result(example)
    native.use(native.LEVELS[-1] if native.LEVELS else None)
    got = result(example)
    assert (want is None) == (got is None)
    if want is None or got is None:
        return
    for one, other in zip(got, want, strict=True):
        close(one, other, example.op)
    if example.op.name in EXPORT:
        graph, feeds = graph_of(example)
        for one, other in zip(run_onnx(converters.to_onnx(graph, {}, feeds), feeds), want, strict=True):
            close(one, other, example.op)
