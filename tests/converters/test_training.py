"""Training forms: outputs and statistics against Program(training=True), gradients of losses against those of the heads, and
onnxruntime on what is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import converters
from converters.training import training_form
from hybrid import symbol
from hybrid.graph.executor import Program
from hybrid.graph.gradient import gradients
from hybrid.graph.graph import Entry, Graph
from hybrid.graph.infer import infer
from tests.table.goldens import Case, cases, close
from tests.table.test_goldens import run_onnx
from tests.table.test_gradients import MEANINGLESS

Feeds = dict[str, np.ndarray]


def trained(graph: Graph, feeds: Mapping[str, np.ndarray], **options: Any) -> Graph:
    shapes, dtypes = {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()}
    return training_form(graph, infer(graph, shapes, dtypes), **options)


HEADS = {
    *("SoftmaxOutput", "LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput", "SVMOutput"),
    *("MakeLoss", "make_loss"),
}
LOSSES = [
    pytest.param(c, id=f"{c.operator}-{c.id}")
    for c in cases()
    if c.operator in HEADS and "grad" in c.data and (c.operator, c.id) not in MEANINGLESS and c.attrs.get("out_grad") != "True"
]


@pytest.mark.parametrize("case", LOSSES)
def test_losses_have_the_gradients_that_mxnet_starts_with(case: Case) -> None:
    feeds = dict(zip(case.names, case.arrays()))
    graph = trained(case.graph(), feeds)
    prediction, loss = graph.outputs
    assert loss.name == "node_loss_output"
    data = next(n for n in graph.variables() if n.name == "data")
    (found,) = gradients(symbol, [(loss, None)], [data])
    assert found is not None
    used = {n.name for n in Graph([found]).variables()}
    (got,) = Program(Graph([found])).run({n: a for n, a in feeds.items() if n in used})
    close(got, case.data["grad"]["data"], case.op(), max(case.eps, float(np.finfo(np.float32).eps)))
    model = converters.to_onnx(case.graph(), {}, feeds, 21, training=True)
    want = Program(graph).run(feeds)
    for result, value in zip(run_onnx(model, feeds), want, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-5, atol=1e-5 * max(1, float(np.abs(value).max(initial=0))))
