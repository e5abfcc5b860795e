"""A compiled kernel that is wrong: verification says that it is the kernel, not the model."""

import numpy as np
import pytest

import bridge
from hybrid import native
from hybrid.execution import lower
from tests.house.docs import ROOT

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="there is no compiled part")


def test_a_wrong_kernel_is_named(monkeypatch, tmp_path):
    right = lower.CompiledProgram.run

    def wrong(self, *arguments):
        return [y + np.float32(0.25) for y in right(self, *arguments)]

    monkeypatch.setattr(lower.CompiledProgram, "run", wrong)
    with pytest.raises(bridge.NotEquivalent) as caught:
        bridge.convert(
            ROOT / "fixtures/models/arcface/model", inputs={"data": (1, 3, 32, 32)}, output=tmp_path / "m.onnx"
        )
    assert "differ from its own NumPy rules" in str(caught.value.result.warnings)
    assert not (tmp_path / "m.onnx").exists()
