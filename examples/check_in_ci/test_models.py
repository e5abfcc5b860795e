"""The same in pytest, by the plugin that comes with gluonnx: `python -m pytest` in this folder."""

import pytest

MODELS = "../../fixtures/models"


def test_lenet_gives_what_mxnet_gave(gluonnx):
    gluonnx.assert_equivalent(f"{MODELS}/lenet/model", "lenet.onnx", baseline="lenet.npz")


@pytest.mark.parametrize("seed", [0, 1])
def test_faces_on_other_pictures(gluonnx, seed):
    gluonnx.assert_equivalent(
        f"{MODELS}/arcface/model", "face.onnx", ranges={"data": (0, 255)}, seed=seed
    )
