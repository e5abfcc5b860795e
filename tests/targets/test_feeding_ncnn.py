"""Inputs of ncnn, which has no batch: its converter says which axis it took for one, and that axis alone is left out."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "bridge" / "scripts" / "run_on_target.py"


class Mat:
    def __init__(self, array: np.ndarray):
        self.array = array

    def clone(self) -> Mat:
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


class Net:
    """An engine that gives its only input back."""

    def __init__(self) -> None:
        self.opt = types.SimpleNamespace()

    def load_param(self, _path: str) -> int:
        return 0

    load_model = load_param

    def create_extractor(self) -> Net:
        return self

    def __enter__(self) -> Net:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def input(self, _name: str, mat: Mat) -> int:
        self.fed = mat
        return 0

    def extract(self, _name: str) -> tuple[int, Mat]:
        return 0, self.fed


@pytest.mark.parametrize(("axis", "wanted"), [(0, (4, 6)), (1, (1, 4, 6)), (233, (1, 4, 6))])
def test_the_axis_that_the_converter_took_for_a_batch(
    axis: int, wanted: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("run_on_target", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def converted(_words: list[str], _folder: str | None = None) -> str:
        for name in ("pnnx.param", "pnnx.bin", "ncnn.param", "ncnn.bin"):
            (tmp_path / f"model.{name}").write_text("Softmax s 1 1 in0 out0\n")
        fed = f'    ex.input("in0", ncnn.Mat(in0.numpy(), batch_index={axis}).clone())\n'
        (tmp_path / "model_ncnn.py").write_text(fed)
        return ""

    monkeypatch.setitem(sys.modules, "ncnn", types.SimpleNamespace(Net=Net, Mat=Mat))
    monkeypatch.setattr(script, "_called", converted)
    monkeypatch.setattr(script, "_inside", lambda _package, name: name)
    asked = {"folder": str(tmp_path), "inputs": {"x": [[1, 4, 6], "float32"]}, "outputs": {"y": [1, 4, 6]}}
    (found,) = script.ncnn("m.onnx", asked)({"x": np.ones((1, 4, 6), np.float32)})
    assert found.shape == wanted
