"""The command of the face tutorial for detectors like RetinaFace, on a small one of the same kind."""

import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import hybrid as mx
from bridge.cli import app
from tests.house.docs import ROOT


def detector():
    """Two strides, of which the coarser map is enlarged, cropped and added to the finer one; scores and boxes of each."""
    params: dict[str, mx.nd.NDArray] = {}

    def conv(x, name: str, taken: int, made: int, side: int = 3, stride: int = 1):
        draw = np.random.default_rng(len(params)).normal(0, 0.1, (made, taken, side, side))
        params[f"arg:{name}_weight"] = mx.nd.array(draw.astype(np.float32))
        told = {"kernel": (side,) * 2, "stride": (stride,) * 2, "pad": (side // 2,) * 2}
        return mx.sym.Convolution(x, num_filter=made, no_bias=True, name=name, **told)

    fine = conv(mx.sym.var("data"), "first", 3, 4, stride=16)
    coarse = conv(fine, "second", 4, 4, stride=2)
    up = mx.sym.UpSampling(coarse, scale=2, sample_type="nearest", num_args=1, name="up")
    merged = mx.sym.Crop(up, fine, num_args=2, name="crop") + fine
    outputs = []
    for stride, x in ((32, coarse), (16, merged)):
        outputs += [conv(x, f"score{stride}", 4, 4, 1), conv(x, f"box{stride}", 4, 8, 1)]
    return mx.sym.Group(outputs), params


def test_the_command_for_detectors_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/tutorials/face-model.md").read_text(encoding="utf-8")
    found = re.search(r"^gluonnx (convert face/mnet .*?)```", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    monkeypatch.chdir(tmp_path)
    (tmp_path / "face").mkdir()
    symbol, params = detector()
    symbol.save("face/mnet-symbol.json")
    mx.nd.save("face/mnet-0000.params", params)
    told = CliRunner().invoke(app, shlex.split(found[1].replace("\\\n", " ")))
    assert told.exit_code == 0, told.output
    assert "compared all 4 outputs in" in told.output
    (data,) = onnx.load("det.onnx").graph.input
    assert [d.dim_param or d.dim_value for d in data.type.tensor_type.shape.dim] == [1, "height", "width", 3]
