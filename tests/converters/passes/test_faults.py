"""Faults in weights that hold a normalization: seen, and named with the nodes that the weights stand for."""

from __future__ import annotations

import onnx
import pytest

import bridge
from tests.bridge.faults import planted
from tests.models.networks import FOLDER

FAULTS = ("one_element_wrong_by_a_tenth", "a_layer_wrong_by_a_500th", "kernels_flipped", "a_bias_wrong_by_a_hundredth")


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, onnx.ModelProto]:
    prefix = str(FOLDER / "gluon_resnet_v1" / "model")
    target = tmp_path_factory.mktemp("clean") / "model.onnx"
    result = bridge.convert(prefix, inputs={"data": (1, 3, 32, 32)}, output=target)
    assert result.verification is not None and result.verification.equivalent
    assert "BatchNormalization" not in result.operators and result.verification.inner > 5
    return prefix, onnx.load(target)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_folded_weights_are_named(clean: tuple[str, onnx.ModelProto], fault: str) -> None:
    prefix, model = clean
    wrong = planted(model, fault)
    assert wrong is not None
    stored = {i.name: i.raw_data for i in model.graph.initializer}
    (changed,) = (i.name for i in wrong.graph.initializer if i.raw_data != stored[i.name])
    reader = next(n for n in wrong.graph.node if changed in n.input)
    result = bridge.verify(prefix, wrong)
    assert result.verdict == "not equivalent" and result.divergence is not None
    assert result.divergence.tensor == reader.output[0] and result.divergence.second_node == reader.name


def test_names_of_tensors_mean_what_they_meant(clean: tuple[str, onnx.ModelProto]) -> None:
    prefix, model = clean
    native = bridge.open_model(prefix)
    assert native.graph is not None
    known = {e.name for e in native.graph.internals().outputs}
    convolutions = [n for n in model.graph.node if n.op_type == "Conv"]
    assert convolutions and all(n.output[0] in known for n in convolutions)
    assert all(n.input[1].endswith("_folded") and n.input[1] not in native.params for n in convolutions)
