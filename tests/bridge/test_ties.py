"""Outputs that choose between numbers which are equal up to rounding: no difference, and no proof; a wrong choice stays one."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import bridge
import hybrid as mx
from bridge import judge

SIZE = 8
TABLE = np.random.default_rng(3).standard_normal((2 * SIZE, 5)).astype(np.float32)
X = np.random.default_rng(0).standard_normal((16, SIZE)).astype(np.float32)


def model(
    *, divided: bool, choice: str = "ArgMax", last: str = "label", axis: int = 1, **attributes: int
) -> onnx.ModelProto:
    """The place of the largest of x / 3 (divided, or multiplied by a third) and x * 0.33333334, and a row of a table for it.

    Each number occurs twice, the same up to rounding, so that which of the two is the larger, rounding decides."""
    third = np.asarray(3 if divided else 1 / 3, np.float32)
    nodes = [
        helper.make_node("Div" if divided else "Mul", ["x", "third"], ["one"], "one"),
        helper.make_node("Mul", ["x", "near"], ["two"], "two"),
        helper.make_node("Concat", ["one", "two"], ["scores"], "scores", axis=1),
        helper.make_node(choice, ["scores"], ["label"], "label", axis=axis, **{"keepdims": 0, **attributes}),
        helper.make_node("Gather", ["table", "label"], ["row"], "row"),
    ]
    kind = TensorProto.INT64 if last == "label" else TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", SIZE])],
        [helper.make_tensor_value_info(last, kind, None)],
        [
            numpy_helper.from_array(third, "third"),
            numpy_helper.from_array(np.asarray(0.33333334, np.float32), "near"),
            numpy_helper.from_array(TABLE, "table"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def verified(a: Any, b: Any, **options: Any) -> bridge.VerifyResult:
    return bridge.verify(a, b, inputs={"x": X}, **options)


@pytest.fixture
def _without_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that float64 tells nothing, as where inputs moved by a rounding happen to move no choice."""
    monkeypatch.setattr(judge, "_truth", lambda *_: None)


@pytest.mark.usefixtures("_without_float64")
@pytest.mark.parametrize("last", ["label", "row"])
def test_ties_are_no_difference_and_no_proof(last: str) -> None:
    """Also of what follows from the choice, here a row of a table, which is another altogether."""
    a, b = model(divided=True, last=last), model(divided=False, last=last)
    one, two = (bridge.run(m, {"x": X})[last] for m in (a, b))
    assert not np.array_equal(one, two)
    result = verified(a, b)
    assert result.verdict == "equivalent"  # one, two and scores agree, and say something
    assert result.little == (f"{last} depends on which of some numbers that are equal up to rounding is chosen",)
    (found,) = result.differences
    assert found.equal and found.settled_by == "ties"
    (told,) = [w for w in result.warnings if "chosen otherwise" in w]
    assert "of label (ArgMax)" in told and "those of scores that" in told


@pytest.mark.usefixtures("_without_float64")
def test_of_a_symbol_too_whose_places_are_floats() -> None:
    x: Any = mx.sym.var("x")
    scores = mx.sym.concat(x / 3, x * 0.33333334, dim=1, name="scores")
    net = mx.sym.argmax(scores, axis=1, name="label")
    other = model(divided=False)
    other.graph.node.insert(4, helper.make_node("Cast", ["whole"], ["label"], "cast", to=TensorProto.FLOAT))
    other.graph.node[3].output[0] = "whole"
    del other.graph.node[5:]
    other.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    result = verified(net, other)
    assert result.verdict == "equivalent" and result.differences[0].settled_by == "ties"


@pytest.mark.parametrize(
    "wrong",
    [{"choice": "ArgMin"}, {"axis": 0}, {"keepdims": 1}, {"select_last_index": 1}],
    ids=lambda w: "".join(map(str, w)),
)
@pytest.mark.parametrize("last", ["label", "row"])
@pytest.mark.parametrize(("divided", "float64"), [(True, True), (False, False)])
def test_a_wrong_choice_is_still_one(
    wrong: dict[str, Any], last: str, divided: bool, float64: bool, request: pytest.FixtureRequest
) -> None:
    """Among ties (not divided) too."""
    if not float64:
        request.getfixturevalue("_without_float64")
    values = X.copy()
    values[:, 1] = values[:, 0] = 9.0  # equal to the last bit: who takes the last of them takes another
    result = bridge.verify(
        model(divided=True, last=last), model(divided=divided, last=last, **wrong), inputs={"x": values}
    )
    assert result.verdict == "not equivalent"
    assert result.divergence is not None and result.divergence.node == "label"


def ranked(*, divided: bool, **attributes: Any) -> Any:
    """Rows of a score and a box in the order of their scores, of which each occurs twice, the same up to rounding."""
    x: Any = mx.sym.var("x")
    one = x / 3 if divided else x * np.float32(1 / 3)
    scores = mx.sym.concat(one, x * 0.33333334, dim=1, name="scores")
    rows = mx.sym.concat(mx.sym.expand_dims(scores, axis=2), mx.sym.reshape(mx.sym.var("boxes"), (16, -1, 4)), dim=2)
    told = {"overlap_thresh": 1.0, "coord_start": 1, "score_index": 0, "valid_thresh": -9, **attributes}
    return mx.sym.contrib.box_nms(rows, name="rows", **told)


BOXES = np.random.default_rng(1).uniform(0, 1, (16, 2 * SIZE, 4)).astype(np.float32)
BOXES[..., 2:] += BOXES[..., :2]


@pytest.mark.usefixtures("_without_float64")
def test_rows_in_the_order_of_ties_are_no_difference() -> None:
    result = bridge.verify(ranked(divided=True), ranked(divided=False), inputs={"x": X, "boxes": BOXES})
    assert result.verdict == "equivalent"
    (found,) = result.differences
    assert found.max_abs > 0.1 and found.settled_by == "ties" and "chosen" in found.little
    (told,) = [w for w in result.warnings if "chosen otherwise" in w]
    assert f"{found.beyond} of 1280 numbers of rows_output0 (_contrib_box_nms)" in told


@pytest.mark.usefixtures("_without_float64")
@pytest.mark.parametrize("wrong", [{"topk": 15}, {"overlap_thresh": 0.6}, {"valid_thresh": 0.0}, {"score_index": 1}])
def test_rows_that_a_wrong_node_orders_are_found(wrong: dict[str, Any]) -> None:
    for divided in (True, False):
        one, two = ranked(divided=True), ranked(divided=divided, **wrong)
        result = bridge.verify(one, two, inputs={"x": X, "boxes": BOXES})
        assert result.verdict == "not equivalent"
        assert result.divergence is not None and result.divergence.node == "rows" and result.divergence.kind == "local"


@pytest.mark.usefixtures("_without_float64")
def test_rows_of_wrong_scores_are_no_tie() -> None:
    x: Any = mx.sym.var("x")
    wrong = ranked(divided=True)(x=x * 1.001)
    result = bridge.verify(ranked(divided=True), wrong, inputs={"x": X, "boxes": BOXES})
    assert result.verdict == "not equivalent"


def test_scores_that_are_wrong_make_no_tie() -> None:
    """Less than a tenth of a percent off, which moves no score far, and choices: the node before them is at fault."""
    a, b = model(divided=True), model(divided=True)
    b.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.asarray(3.001, np.float32), "third"))
    result = verified(a, b)
    assert result.verdict == "not equivalent"
    assert result.divergence is not None and result.divergence.node == "one"


def test_whole_numbers_behind_half_precision_are_exact(tmp_path: Path) -> None:
    """A label of some hundreds that is one too large in a larger batch alone: half precision of scores is no leave for it."""

    def labels(most: int) -> onnx.ModelProto:
        nodes = [
            helper.make_node("Cast", ["x"], ["half"], "half", to=TensorProto.FLOAT16),
            helper.make_node("ArgMax", ["half"], ["place"], "place", axis=1, keepdims=0),
            helper.make_node("Shape", ["x"], ["batch"], "batch", end=1),
            helper.make_node("Greater", ["batch", "most"], ["many"], "many"),
            helper.make_node("Cast", ["many"], ["more"], "more", to=TensorProto.INT64),
            helper.make_node("Add", ["place", "more"], ["label"], "label"),
        ]
        graph = helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1000])],
            [helper.make_tensor_value_info("label", TensorProto.INT64, ["N"])],
            [numpy_helper.from_array(np.array([most], np.int64), "most")],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    shapes: dict[str, Any] = {"x": (2, 1000)}
    assert bridge.verify(labels(99), labels(99), inputs=shapes).verdict == "equivalent"
    assert bridge.verify(labels(99), labels(2), inputs=shapes).verdict == "not equivalent"
