"""Parameters that are taken out of MXNet's fused quantised layers: the same integers by the same rules."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bridge
from hybrid.passes import optimize

from ..models.networks import FOLDER, Network
from .optimizing import NATIVE, counted, plainly, rewriter_of, run

PRODUCTS = frozenset(("_fused_quantized_conv", "_fused_quantized_dense"))
NAMES = [p.name for p in sorted(FOLDER.glob("quantized_*"))]
LEFT = {"quantized_residual_none": {"_sg_mkldnn_fully_connected": 2}}
"""By network the fused layers that stay: bias and range of the data decide what their weights are, and the latter is not known."""


@pytest.mark.parametrize("name", NAMES)
def test_the_same_numbers(name: str) -> None:
    network = Network(name, FOLDER / name, json.loads((FOLDER / name / "birth.json").read_text()))
    model = bridge.open_model(network.prefix)
    graph, (feeds, _) = model.graph, next(iter(network.runs()))
    assert graph is not None
    wanted = {n.name for n in graph.variables()}
    params = {n: np.asarray(a) for n, a in model.params.items() if n in wanted and n not in feeds}
    feeds = {n: a for n, a in feeds.items() if n in wanted}
    found = optimize(graph, rewriter_of(graph, feeds, params, native=NATIVE | PRODUCTS))
    left = {n: c for n, c in counted(found.main).items() if n in ("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected")}
    assert left == LEFT.get(name, {})
    for got, want in zip(run(found, feeds, params), plainly(graph, feeds, params), strict=True):
        np.testing.assert_array_equal(got, want)
