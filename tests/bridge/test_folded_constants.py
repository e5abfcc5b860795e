"""Constants that follow from shapes, which a file stores in float32: judged as parameters are; a fault in them stays one."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import bridge
import hybrid as mx
from bridge.exact import Exact
from bridge.models import open_model
from tests.bridge.campaign import renamed

INPUTS = {"data": (1, 3, 32, 32)}


def detector(seed: int = 0) -> tuple[Any, dict[str, np.ndarray]]:
    """A detector of four feature maps, whose offsets hardly move boxes, so that those are nearly the anchors. The file folds what
    makes these: eleven nodes of the symbol can only be compared together."""
    x: Any = mx.sym.var("data")
    scores, offsets, anchors = [], [], []
    for i in range(4):
        x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), stride=(1 + (i > 0),) * 2, num_filter=8, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
        for found, kind, channels in ((scores, "scores", 9), (offsets, "offsets", 12)):
            y = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=channels, name=f"{kind}{i}")
            found.append(mx.sym.Flatten(mx.sym.transpose(y, axes=(0, 2, 3, 1))))
        prior = mx.sym.contrib.MultiBoxPrior(
            x, sizes=(0.1 + 0.15 * i, 0.17 + 0.2 * i), ratios=(1, 2), name=f"anchors{i}"
        )
        anchors.append(mx.sym.Flatten(prior))
    classes = mx.sym.transpose(mx.sym.reshape(mx.sym.concat(*scores, dim=1), shape=(0, -1, 3)), axes=(0, 2, 1))
    classes = mx.sym.softmax(classes, axis=1, name="probabilities")
    boxes = mx.sym.reshape(mx.sym.concat(*anchors, dim=1), shape=(1, -1, 4))
    network = mx.sym.contrib.MultiBoxDetection(
        classes, mx.sym.concat(*offsets, dim=1, name="places"), boxes, nms_threshold=0.45, nms_topk=400, name="found"
    )
    rng = np.random.default_rng(seed)
    shapes = dict(zip(network.list_arguments(), network.infer_shape(**INPUTS)[0]))
    scale = {"conv": 0.2, "scores": 0.2, "offsets": 0.05}
    params = {
        n: (rng.standard_normal(s) * next(v for k, v in scale.items() if n.startswith(k))).astype(np.float32)
        for n, s in shapes.items()
        if n != "data"
    }
    return network, params


def stored(model: onnx.ModelProto) -> list[onnx.TensorProto]:
    """The centres and sizes of the anchors, which a file holds."""
    return [i for i in model.graph.initializer if len(i.dims) == 3 and i.dims[0] == 1 and i.dims[2] == 2]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_right_detector_is_not_refused(seed: int, tmp_path: Path) -> None:
    """Boxes whose offsets are 0 are anchors, which the file holds as centres and sizes: one step of float32 beside the symbol's."""
    network, params = detector(seed)
    found = bridge.convert(network, params, inputs=INPUTS, output=tmp_path / "m.onnx", seed=seed)
    assert found.verified
    assert len(stored(onnx.load(tmp_path / "m.onnx"))) == 2


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the detector of seed 0."""
    path = tmp_path_factory.mktemp("right") / "m.onnx"
    bridge.convert(*detector(), inputs=INPUTS, output=path)
    return path


def test_boxes_are_not_taken_for_their_anchors(right: Path, tmp_path: Path) -> None:
    """In a file with other names inside: they differ by less than some tensors that are one, and the anchors are nowhere in it."""
    onnx.save(renamed(onnx.load(right)), tmp_path / "renamed.onnx")
    found = bridge.verify(open_model(*detector()), tmp_path / "renamed.onnx", inputs=INPUTS)
    assert found.verdict == "equivalent" and found.inner > 20


def all_of_a_size(array: np.ndarray) -> np.ndarray:
    return array * np.float32(1.0005)


def one_by_a_thousandth(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array[0, 1500, 1] += 1e-3
    return array


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("wrong", [all_of_a_size, one_by_a_thousandth])
def test_wrong_anchors_are_found(which: int, wrong: Any, right: Path, tmp_path: Path) -> None:
    model = onnx.load(right)
    anchors = stored(model)[which]
    anchors.CopyFrom(numpy_helper.from_array(wrong(numpy_helper.to_array(anchors)), anchors.name))
    onnx.save(model, tmp_path / "wrong.onnx")
    found = bridge.verify(open_model(*detector()), tmp_path / "wrong.onnx", inputs=INPUTS)
    assert found.verdict == "not equivalent"
    assert found.divergence is not None and found.divergence.node == "found"


def test_what_follows_from_no_input_is_moved() -> None:
    """Of several nodes; whole numbers are the same in float32, and a node alone has nothing inside that could be folded."""
    x, data = mx.sym.var("x"), {"x": np.zeros((1, 1, 2, 2), np.float32)}

    def moved(symbol: Any) -> np.ndarray:
        run = Exact(open_model(symbol, {}).graph, {})  # type: ignore[arg-type]
        (still,), (other,) = run.run(data), run.run(data, (1.0, 0))
        return np.abs(other - still)

    prior = mx.sym.contrib.MultiBoxPrior(x, sizes=(0.3,), name="anchors")
    apart = moved(prior * 2)
    assert 0 < apart.max() <= 2 * 2.0**-23 and apart.any(axis=(0, 1)).all()
    assert not moved(prior).any()
    assert not moved(mx.sym.broadcast_add(mx.sym.ones((1, 1)), mx.sym.sum(x)) * 3).any()
    twice = moved(mx.sym.reshape(prior, shape=(-1,)))
    assert 0 < twice.max() <= 2.0**-23, "moved once, where it comes from"
