"""Draws of a verification: as expected, wide, at the edges, at another size, and of every row of small tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import bridge
import hybrid as mx

RNG = np.random.default_rng(0)
ROWS = 30
S = mx.sym


def dense(x: Any) -> Any:
    return S.FullyConnected(x, num_hidden=3, name="fc", flatten=False)


FC = {"fc_weight": RNG.normal(size=(3, 4)).astype("f"), "fc_bias": np.ones(3, "f")}
TABLE = {"table": RNG.normal(size=(ROWS, 4)).astype("f")}
IDS = S.Embedding(S.var("ids"), S.var("table"), input_dim=ROWS, output_dim=4, name="rows")
MASKED = S.SequenceMask(S.var("x"), S.var("lengths"), use_sequence_length=True, axis=1, name="masked")

NETS: dict[str, tuple[Any, dict[str, np.ndarray], dict[str, Any]]] = {
    "dense": (dense(S.var("x")), FC, {"x": (9, 4)}),
    "pixels": (dense((S.var("x") - 127.5) / 128), FC, {"x": (2, 4)}),
    "ids": (dense(IDS), FC | TABLE, {"ids": (2, 5)}),
    "lengths": (dense(MASKED), FC, {"x": (2, 40, 4), "lengths": (2,)}),
    "one": (dense(S.var("x")), FC, {"x": (1, 4)}),
}


def constant(model: onnx.ModelProto, name: str, value: Any) -> str:
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def before(model: onnx.ModelProto, name: str, *nodes: onnx.NodeProto) -> None:
    """Put nodes between an input and those that read it; they read name and give "changed"."""
    for node in model.graph.node:
        node.input[:] = ["changed" if n == name else n for n in node.input]
    for at, node in enumerate(nodes):
        model.graph.node.insert(at, node)


def clip(model: onnx.ModelProto) -> None:
    limits = [constant(model, f"limit{i}", np.float32(n)) for i, n in enumerate((-20, 20))]
    before(model, "x", helper.make_node("Clip", ["x", *limits], ["changed"]))


def no_negatives(model: onnx.ModelProto) -> None:
    before(model, "x", helper.make_node("Relu", ["x"], ["changed"]))


def unclipped(model: onnx.ModelProto) -> None:
    [node] = (n for n in model.graph.node if n.op_type == "Clip")
    node.op_type = "Identity"
    node.input[:] = node.input[:1]


def one_row(model: onnx.ModelProto) -> None:
    [table] = (i for i in model.graph.initializer if i.name == "table")
    array = numpy_helper.to_array(table).copy()
    array[23, 1] += 0.01
    table.CopyFrom(numpy_helper.from_array(array, "table"))


def batch_of_two(model: onnx.ModelProto) -> None:
    """One more than it should be where the batch is 2."""
    two, zero = constant(model, "two", np.int64(2)), constant(model, "zero", np.int64(0))
    before(
        model,
        "x",
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", zero], ["batch"]),
        helper.make_node("Equal", ["batch", two], ["is_two"]),
        helper.make_node("Cast", ["is_two"], ["more"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Add", ["x", "more"], ["changed"]),
    )


def never_short(model: onnx.ModelProto) -> None:
    before(model, "lengths", helper.make_node("Max", ["lengths", constant(model, "least", np.float32(2))], ["changed"]))


FAULTS: dict[str, tuple[str, Callable[[onnx.ModelProto], None], str]] = {
    "a clip at 20": ("dense", clip, "wide"),
    "large numbers": ("pixels", clip, "expected"),
    "an unclipped index": ("ids", unclipped, "edges"),
    "one wrong row of a table": ("ids", one_row, "expected"),
    "a batch of 2": ("one", batch_of_two, "another size"),
    "negative numbers": ("pixels", no_negatives, "wide"),
    "short sequences": ("lengths", never_short, "edges"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The networks as ONNX, with a batch of any size."""
    folder = tmp_path_factory.mktemp("draws")
    for name, (net, params, inputs) in NETS.items():
        axes = {n: {0: "batch"} for n in inputs}
        bridge.convert(net, params, inputs=inputs, dynamic=axes, output=folder / f"{name}.onnx")
    return folder


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_ordinary_inputs_do_not_show_is_found(name: str, files: Path) -> None:
    which, plant, kind = FAULTS[name]
    net, params, inputs = NETS[which]
    model = onnx.load(files / f"{which}.onnx")
    for seed in (0, 1, 2):
        assert bridge.verify(net, model, params=params, inputs=inputs, seed=seed).equivalent
    plant(model)
    onnx.checker.check_model(model)
    wrong = set()
    for seed in (0, 1, 2):
        result = bridge.verify(net, model, params=params, inputs=inputs, seed=seed)
        assert result.verdict == "not equivalent", seed
        wrong |= {run["kind"] for run in result.runs if not all(d["equal"] for d in run["differences"])}
    assert kind in wrong
