"""CTCLoss as ONNX: against the engine at sizes that only arrive at run time, and against all paths, counted one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import converters
from hybrid import symbol
from hybrid.execution.program import Program
from tests.table.test_goldens import run_onnx

ATTRIBUTES = [
    {"blank_label": blank, "use_data_lengths": steps, "use_label_lengths": labels}
    for blank, steps, labels in itertools.product(("first", "last"), (False, True), (False, True))
]
every = pytest.mark.parametrize("attrs", ATTRIBUTES, ids=lambda a: "-".join(map(str, a.values())))


def loss(attrs: dict[str, Any]) -> symbol.Symbol:
    names = ["data", "label", *(n for n in ("data_lengths", "label_lengths") if attrs[f"use_{n}"])]
    return symbol.CTCLoss(**{n: symbol.var(n) for n in names}, **attrs)


def feeds_of(
    attrs: dict[str, Any], steps: int, batch: int, classes: int, count: int, seed: int
) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    low, padding = (1, 0) if attrs["blank_label"] == "first" else (0, -1)
    label = rng.integers(low, low + classes - 1, (batch, count))
    sizes = rng.integers(0, count + 1, batch)
    if not attrs["use_label_lengths"]:
        label[np.arange(count) >= sizes[:, None]] = padding
    feeds = {
        "data": rng.uniform(-3, 3, (steps, batch, classes)),
        "label": label,
        "data_lengths": rng.integers(0, steps + 1, batch),
        "label_lengths": sizes,
    }
    return {n: a.astype(np.float32) for n, a in feeds.items() if attrs.get(f"use_{n}", True)}


@every
@pytest.mark.parametrize("training", [False, True])
def test_sizes_at_run_time(attrs: dict[str, Any], training: bool) -> None:
    graph = loss(attrs).graph
    named = {"data": ("time", "batch", "classes"), "label": ("batch", "count")}
    named |= {n.name: ("batch",) for n in graph.variables() if n.name.endswith("lengths")}
    model = converters.to_onnx(graph, {}, named, 17, training=training)
    for seed, sizes in enumerate([(6, 5, 4, 3), (9, 2, 7, 5), (3, 6, 3, 3), (1, 1, 3, 1)]):
        feeds = feeds_of(attrs, *sizes, seed=seed)
        (got,), (want,) = run_onnx(model, feeds), Program(graph, training=training).run(feeds)
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)


@every
def test_all_paths(attrs: dict[str, Any]) -> None:
    feeds = feeds_of(attrs, 4, 4, 3, 2, seed=7)
    (got,) = run_onnx(converters.to_onnx(loss(attrs), {}, feeds), feeds)
    blank = 0 if attrs["blank_label"] == "first" else 2
    odds = np.exp(feeds["data"].astype(np.float64))
    odds /= odds.sum(2, keepdims=True)
    for row in range(4):
        steps = int(feeds["data_lengths"][row]) if attrs["use_data_lengths"] else 4
        label = [int(c) for c in feeds["label"][row]]
        if attrs["use_label_lengths"]:
            label = label[: int(feeds["label_lengths"][row])]
        else:
            padding = 0 if blank == 0 else -1
            label = label[: label.index(padding)] if padding in label else label
        total = sum(
            float(np.prod([odds[t, row, c] for t, c in enumerate(path)]))
            for path in itertools.product(range(3), repeat=steps)
            if [c for c, _ in itertools.groupby(path) if c != blank] == label
        )
        assert got[row] == pytest.approx(-np.log(total) if total else 0, abs=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_dtypes_that_mxnet_refuses(dtype: str) -> None:
    attrs = ATTRIBUTES[-1]
    feeds = feeds_of(attrs, 5, 3, 4, 2, seed=1)
    feeds = {**feeds, "data": feeds["data"].astype(dtype), "label_lengths": feeds["label_lengths"].astype(np.int32)}
    graph = loss(attrs).graph
    (got,), (want,) = run_onnx(converters.to_onnx(graph, {}, feeds), feeds), Program(graph).run(feeds)
    assert got.dtype == want.dtype == np.dtype(dtype)
    np.testing.assert_allclose(got, want, rtol=2e-3 if dtype == "float16" else 1e-12)
