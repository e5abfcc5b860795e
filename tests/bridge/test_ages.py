"""Models written by every generation of MXNet, 0.8 to 2.0: converted, verified, and held against the recorded numbers."""

from pathlib import Path

import numpy as np
import pytest

import bridge

FOLDER = Path(__file__).parents[2] / "fixtures" / "json"
ALL = sorted(
    p for p in FOLDER.glob("*/*-symbol.json") if p.with_name(p.name.replace("-symbol.json", "-input.npz")).exists()
)


def arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as stored:
        return {k: stored[k] for k in stored.files}


@pytest.mark.parametrize(
    "symbol", [pytest.param(p, id=f"{p.parent.name}-{p.name.removesuffix('-symbol.json')}") for p in ALL]
)
def test_every_generation_converts(symbol: Path, tmp_path: Path) -> None:
    inputs = arrays(symbol.with_name(symbol.name.replace("-symbol.json", "-input.npz")))
    recorded = symbol.with_name(symbol.name.replace("-symbol.json", "-output.npz"))
    target = tmp_path / "model.onnx"
    result = bridge.convert(symbol, inputs=inputs, output=target)
    assert result.verified
    if not recorded.exists():
        return  # that MXNet could not run it; equivalence with our engine is what there is
    want = [a for name, a in sorted(arrays(recorded).items()) if name != "names"]
    got = bridge.run(target, {k: v for k, v in inputs.items() if k in result.inputs}).values()
    for value, other in zip(got, want, strict=True):
        np.testing.assert_allclose(value, other, atol=1e-5 * max(1.0, float(np.abs(other).max())), rtol=0)
