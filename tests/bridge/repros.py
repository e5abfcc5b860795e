"""Reads the folders that reduce and --repro write, as those who get them do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

import bridge


class Repro:
    """Such a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.model = onnx.load(folder / "model.onnx")
        onnx.checker.check_model(self.model)
        self.given = self._arrays("input")
        self.want = self._arrays("output")

    def _arrays(self, kind: str) -> dict[str, np.ndarray]:
        files = sorted((self.folder / "test_data_set_0").glob(f"{kind}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
        tensors = [onnx.load_tensor(f) for f in files]
        return {t.name: numpy_helper.to_array(t) for t in tensors}

    def theirs(self) -> np.ndarray:
        """The output of model.onnx in onnxruntime."""
        session = onnxruntime.InferenceSession(self.folder / "model.onnx", providers=["CPUExecutionProvider"])
        return np.asarray(session.run(None, self.given)[0])

    def ours(self) -> np.ndarray:
        """The output of the symbol in our engine."""
        model = bridge.open_model(self.folder / "a-symbol.json")
        (value,) = bridge.run(model, {n: a for n, a in self.given.items() if n in model.variables()}).values()
        return value

    def script(self) -> int:
        """The exit status of repro.py, which imports nothing of ours."""
        text = (self.folder / "repro.py").read_text()
        assert "bridge" not in text
        assert "hybrid" not in text
        assert len(text.splitlines()) < 20
        return subprocess.run(
            [sys.executable, "repro.py"], cwd=self.folder, capture_output=True, check=False
        ).returncode
