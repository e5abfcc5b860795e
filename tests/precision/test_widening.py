"""gluonnx import --fp32: files in half precision as symbols in float32, held against the file and against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
from bridge.cli import app
from bridge.precision import widening
from hybrid.formats import params

SOURCE = Path(__file__).parents[2] / "fixtures/models/squeezenet/model"


@pytest.fixture(scope="module", params=[True, False], ids=("float16", "float16 inside"))
def half(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network in float16, with inputs and outputs in it or not."""
    path = tmp_path_factory.mktemp("half") / "net.onnx"
    told = {"inputs": {"data": (1, 3, 40, 40)}, "draws": ("expected",), "output": path}
    bridge.convert_in(bridge.Half(io=request.param), SOURCE, **told)
    return path


def test_the_symbol_is_in_float32(half: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["import", str(half), "-o", str(tmp_path / "net"), "--fp32"])
    assert result.exit_code == 0, result.output
    assert "became float32; the file gives the same numbers" in " ".join(result.output.split())
    stored = {k: v for k, v in params.load(tmp_path / "net-0000.params").items()}
    assert {a.dtype.name for a in stored.values() if a.dtype.kind == "f"} == {"float32"}
    held = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(half).graph.initializer}
    name, own = next((n, a) for n, a in stored.items() if n.partition(":")[2] in held and a.ndim == 4)
    np.testing.assert_array_equal(own, held[name.partition(":")[2]].astype(np.float32))  # what they were, to the bit
    x = np.random.default_rng(0).standard_normal((1, 3, 40, 40)).astype(np.float32)
    mine, theirs = (next(iter(bridge.run(m, {"data": x}).values())) for m in (tmp_path / "net", SOURCE))
    assert mine.dtype == np.float32
    np.testing.assert_allclose(mine, theirs, atol=2e-3)


def test_a_model_that_is_changed_on_the_way_is_not_written(
    half: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = widening.retype

    def wrong(converted, *given, **told):
        made = real(converted, *given, **told)
        weight = next(n for n, a in made.converted.initializers.items() if a.ndim == 4)
        made.converted.initializers[weight] = made.converted.initializers[weight][::-1].copy()
        return made

    monkeypatch.setattr(widening, "retype", wrong)
    with pytest.raises(bridge.NotEquivalent):
        bridge.import_widened(half, output=tmp_path / "net")
    assert not list(tmp_path.iterdir())


def test_what_is_in_float32_already_is_told(tmp_path: Path) -> None:
    bridge.convert(SOURCE, inputs={"data": (1, 3, 40, 40)}, output=tmp_path / "net.onnx", verify=False)
    result = CliRunner().invoke(app, ["import", str(tmp_path / "net.onnx"), "-o", str(tmp_path / "out"), "--fp32"])
    assert result.exit_code == 2 and "leave out --fp32" in result.output
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]
