"""Interleaved attention as ONNX at lengths and batches that only arrive at run time: scores, mask, weights, values."""

import numpy as np
import pytest

import converters
from hybrid import symbol
from hybrid.execution.program import Program
from tests.table.test_goldens import run_onnx


def attention(heads: int, own: bool) -> symbol.Symbol:
    contrib = symbol.contrib
    if own:
        mixed = symbol.var("queries_keys_values")
        scores = contrib.interleaved_matmul_selfatt_qk(mixed, heads=heads)
    else:
        mixed = symbol.var("keys_values")
        scores = contrib.interleaved_matmul_encdec_qk(symbol.var("queries"), mixed, heads=heads)
    weights = symbol.softmax(scores, axis=-1)
    values = contrib.interleaved_matmul_selfatt_valatt if own else contrib.interleaved_matmul_encdec_valatt
    return symbol.Group([values(mixed, weights, heads=heads), scores])


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("own", [True, False])
def test_lengths_and_batches(heads: int, own: bool) -> None:
    graph, units = attention(heads, own).graph, 8
    rng = np.random.default_rng(0)
    axes = (
        {"queries_keys_values": ("t", "n", 3 * units)}
        if own
        else {"queries": ("t", "n", units), "keys_values": ("s", "n", 2 * units)}
    )
    model = converters.to_onnx(graph, {}, axes)
    for sizes in ({"t": 3, "n": 2, "s": 4}, {"t": 1, "n": 1, "s": 1}, {"t": 5, "n": 3, "s": 2}):
        feeds = {k: rng.normal(size=[sizes.get(d, d) for d in v]).astype("f4") for k, v in axes.items()}
        for got, want in zip(run_onnx(model, feeds), Program(graph).run(feeds), strict=True):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * max(1, np.abs(want).max()))
