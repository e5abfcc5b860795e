"""Files in another precision where they are deployed: it is the rewritten file that runs there, and what it gives decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import bridge
import hybrid as mx
from bridge.precision import places
from bridge.precision.places import check_places, compared
from bridge.targets.deployed import TargetFailed
from bridge.targets.profile import profiles_of
from converters import UnsupportedModel
from converters.precision.retype import from_proto

RNG = np.random.default_rng(3)
NET = mx.sym.FullyConnected(
    mx.sym.relu(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=16, name="a")), num_hidden=5, name="b"
)
PARAMS = {
    "a_weight": RNG.standard_normal((16, 8)), "a_bias": RNG.standard_normal(16),
    "b_weight": RNG.standard_normal((5, 16)), "b_bias": RNG.standard_normal(5),
}  # fmt: skip
PARAMS = {n: a.astype(np.float32) for n, a in PARAMS.items()}
KINDS = [bridge.Half(), bridge.Half(io=True), bridge.Quantized()]


def made(precision: Any, path: Path, target: str = "onnx-reference") -> Any:
    told = {"inputs": {"x": (2, 8)}, "output": path, "targets": target, "draws": ("expected",)}
    return bridge.convert_in(precision, NET, PARAMS, opset=None if target.startswith("tensorrt") else 19, **told)


@pytest.mark.parametrize("precision", KINDS, ids=("float16 inside", "float16", "int8"))
def test_the_rewritten_file_is_run_and_what_it_gave_is_in_it(
    precision: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, real = [], places.TargetRunner

    class Watched(real):
        def run(self, feeds: Any) -> Any:
            seen.append({n.op_type for n in onnx.load(self.path).graph.node})
            return super().run(feeds)

    monkeypatch.setattr(places, "TargetRunner", Watched)
    found = made(precision, tmp_path / "net.onnx")
    (outcome,) = found.targets
    assert (outcome.target, outcome.verdict, len(seen) > 0) == ("onnx-reference", "agrees", True)
    assert "of signal to noise, where onnxruntime has" in outcome.reason
    wanted = "QuantizeLinear" if isinstance(precision, bridge.Quantized) else "Gemm"
    assert all(wanted in kinds for kinds in seen)
    told = [
        p.value for p in onnx.load(tmp_path / "net.onnx").metadata_props if p.key == "gluonnx.target.onnx-reference"
    ]
    assert len(told) == 1 and told[0].startswith("agrees, onnx ")


@pytest.mark.parametrize("precision", KINDS, ids=("float16 inside", "float16", "int8"))
def test_a_target_that_gives_other_numbers_gets_no_file(
    precision: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = places.TargetRunner

    class Wrong(real):
        def run(self, feeds: Any) -> Any:
            return {n: a + a.dtype.type(0.3) * a[:, ::-1] for n, a in super().run(feeds).items()}

    monkeypatch.setattr(places, "TargetRunner", Wrong)
    with pytest.raises(TargetFailed, match=r"onnx-reference: onnx .*differs.*b_output: \d"):
        made(precision, tmp_path / "net.onnx")
    assert not list(tmp_path.iterdir())


def test_a_target_that_is_not_here_is_not_said_to_agree(tmp_path: Path) -> None:
    (outcome,) = made(bridge.Half(), tmp_path / "net.onnx", "tensorrt-8").targets
    assert outcome.verdict == "fits" and not outcome.release
    told = {p.key: p.value for p in onnx.load(tmp_path / "net.onnx").metadata_props}
    assert told["gluonnx.target.tensorrt-8"] == "fits by its profile, not run"


def test_what_a_target_lacks_for_the_precision_is_named(tmp_path: Path) -> None:
    made(bridge.Quantized(), tmp_path / "net.onnx")
    (profile,) = profiles_of(["onnx-reference"])
    converted = from_proto(onnx.load(tmp_path / "net.onnx"))
    check_places([profile], converted)
    with pytest.raises(UnsupportedModel, match="DequantizeLinear") as caught:
        check_places([replace(profile, lacks=("DequantizeLinear",))], converted)
    assert len(caught.value.problems) == sum(n.op_type == "DequantizeLinear" for n in converted.model.graph.node)


def test_rules_for_one_output() -> None:
    """Numbers may be as far off as onnxruntime's; integers are somebody's; shapes and what is not finite have to be the same."""
    x = RNG.standard_normal((4, 50)).astype(np.float32)
    near, far = (x + s * RNG.standard_normal(x.shape).astype(np.float32) for s in (0.01, 0.1))
    broken = near.copy()
    broken[0, 0] = np.nan
    for right, got, good in (
        (near, x, True), (near, near, True), (far, near, True), (near, far, False), (x, near, False),
        (x, x + np.float32(1e-4), True), (far, far, True), (near, broken, False), (broken, broken, True),
        (near, near[:2], False),
    ):  # fmt: skip
        assert compared([x], [right], [got])[1] == good
    whole = np.arange(6)
    other = whole.copy()
    other[0] = 9
    for right, got, good in ((whole, whole, True), (other, whole, True), (other, other, True), (whole, other, False)):
        assert compared([whole], [right], [got])[1] == good


@pytest.mark.parametrize("target", ["tensorrt-7", "tensorrt-8"])
@pytest.mark.parametrize("precision", [bridge.Quantized(), bridge.Quantized(activations="uint8", weights="int7")])
def test_tensorrt_gets_integers_that_it_reads(precision: bridge.Quantized, target: str, tmp_path: Path) -> None:
    """int8 with zero points of 0, and biases as floats, as onnx-tensorrt's table says."""
    found = made(precision, tmp_path / "net.onnx", target)
    assert [o.verdict for o in found.targets] == ["fits"]
    model = onnx.load(tmp_path / "net.onnx")
    stored = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
    pairs = [n for n in model.graph.node if n.op_type in ("QuantizeLinear", "DequantizeLinear")]
    assert len(pairs) >= 4
    for node in pairs:
        zero = stored[node.input[2]]
        assert (zero.dtype, zero.any()) == (np.int8, False), node.name
    others = made(bridge.Quantized(), tmp_path / "other.onnx")  # the same for any engine
    assert others.accuracy.calibration["activations"] == "uint8"
    assert bridge.verify_targets(tmp_path / "other.onnx", [target]).outcomes[0].verdict == "does not fit"
