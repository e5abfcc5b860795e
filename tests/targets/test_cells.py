"""Cells of the matrix know which file they were measured with."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bridge.targets.deployed import AGREES
from bridge.targets.profile import profile_of
from tests.models.networks import networks

from .cells import digest_of, measured, up_to_date


def _model(kind: str = "Add", value: float = 1.0, size: int = 3, whole: int = 7) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    stored = [
        numpy_helper.from_array(np.full(size, value, np.float32), "w"),
        numpy_helper.from_array(np.array(whole), "i"),
    ]
    nodes = [helper.make_node(kind, ["x", "w"], ["y"])]
    return helper.make_model(
        helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [1])], [info("y", TensorProto.FLOAT, None)], stored)
    )


def test_a_digest_is_of_what_a_file_says_and_not_of_how_weights_are_rounded() -> None:
    first = digest_of(_model())
    assert digest_of(_model(value=1.5)) == first
    others = {
        digest_of(m) for m in (_model("Sub"), _model(size=4), _model(whole=8), _model(size=1), _model(size=1, value=2))
    }
    assert len(others | {first}) == 6
    told = _model()
    told.metadata_props.add(key="gluonnx.version", value="2")
    assert digest_of(told) == first


def test_a_cell_of_another_file_is_marked_or_measured_anew() -> None:
    (network,) = (n for n in networks() if n.name == "logistic_regression")
    profile = profile_of("onnxruntime")
    cell = measured(network, profile)
    assert cell["verdict"] == AGREES
    assert up_to_date(network, profile, cell, runs=True) is cell
    old = cell | {"file": "0123456789abcdef", "error": 0.125}
    marked = up_to_date(network, profile, old, runs=False)
    assert marked == old | {"now": cell["file"]}
    assert up_to_date(network, profile, marked, runs=False) is marked
    assert up_to_date(network, profile, cell | {"now": "f"}, runs=False) == cell
    again = up_to_date(network, profile, old, runs=True)
    assert (again["file"], again["error"]) == (cell["file"], cell["error"])
