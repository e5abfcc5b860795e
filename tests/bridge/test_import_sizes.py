"""gluonnx import at another batch than the file's, at other sizes, and with axes of any size."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from typer.testing import CliRunner

import bridge
from bridge import resizing
from bridge.cli import app
from bridge.engines import EngineError, OnnxEngine
from bridge.importing import MISDECLARED
from bridge.resizing import grown, resized

RNG = np.random.default_rng(3)


def file(tmp_path: Path, text: str, opset: int = 13, **stored: Any) -> Path:
    """A model of the text, whose weights are drawn for a shape, or given as a list of whole numbers."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> net {text}')
    for name, value in stored.items():
        array = RNG.standard_normal(value).astype(np.float32) if isinstance(value, tuple) else np.array(value)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    return path


CNN = """(float[1, 3, 12, 12] data) => (float[1, 5] y, float[1, 4, 36] z)
{ c = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (data, w)  r = Relu (c)
  z = Reshape (r, zs)  p = GlobalAveragePool (r)  f = Reshape (p, fs)  y = Gemm (f, d) }"""


@pytest.fixture
def cnn(tmp_path: Path) -> Path:
    return file(tmp_path, CNN, w=(4, 3, 3, 3), d=(4, 5), zs=[1, 4, 36], fs=[1, -1])


def shapes_of(prefix: Path, **inputs: np.ndarray) -> dict[str, tuple[int, ...]]:
    return {n: a.shape for n, a in bridge.run(prefix, inputs).items()}


def test_another_batch(cnn: Path, tmp_path: Path) -> None:
    found = bridge.import_onnx(cnn, output=tmp_path / "out", inputs={"data": (4, 3, 12, 12)})
    assert found.verified
    assert found.inputs["data"]["shape"] == [4, 3, 12, 12]
    assert found.repairs == (
        "Reshape z held the file's sizes: [1, 4, 36] -> [0, 4, 36]",
        "Reshape f held the file's sizes: [1, -1] -> [0, -1]",
    )
    x = RNG.standard_normal((4, 3, 12, 12)).astype(np.float32)
    got = bridge.run(tmp_path / "out", {"data": x})
    for i in range(4):
        want = bridge.run(cnn, {"data": x[i : i + 1]})
        for name, array in want.items():
            np.testing.assert_allclose(got[name][i : i + 1], array, rtol=1e-4, atol=1e-5)


def test_an_open_batch_and_another_height_from_the_command_line(cnn: Path, tmp_path: Path) -> None:
    options = ["import", cnn, "-o", tmp_path / "out", "--dynamic", "data:0=n", "--input", "data:1,3,16,12"]
    result = CliRunner().invoke(app, list(map(str, options)))
    assert result.exit_code == 0, result.output
    assert "n x 3 x 16 x 12" in result.output
    x = np.zeros((5, 3, 16, 12), np.float32)
    assert shapes_of(tmp_path / "out", data=x) == {"y": (5, 5), "z": (5, 4, 48)}


def test_a_batch_that_is_the_files_changes_nothing(cnn: Path, tmp_path: Path) -> None:
    assert not bridge.import_onnx(cnn, inputs={"data": (1, 3, 12, 12)}).repairs


def test_constants_that_mix_samples_are_seen(cnn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its repair [1, -1] puts all samples into one row, and every runtime agrees on what follows."""
    path = file(
        tmp_path,
        "(float[1, 4, 6] x) => (float[1, 1] y) { f = Reshape (x, s) y = ReduceMax <axes = [1]> (f) }",
        s=[1, -1],
    )
    assert bridge.import_onnx(path, inputs={"x": (3, 4, 6)}).verified
    monkeypatch.setattr(resizing._Resizing, "_adapt", lambda self, node: None)
    with pytest.raises(
        bridge.BadInput, match=r"does not mean the same at a batch of 3: y \(1, 1\) is not what the file"
    ):
        bridge.import_onnx(path, inputs={"x": (3, 4, 6)})


def test_samples_that_meet_are_refused(tmp_path: Path) -> None:
    path = file(tmp_path, "(float[2, 5] x) => (float[2, 5] y) { y = Softmax <axis = 0> (x) }")
    with pytest.raises(bridge.BadInput, match="does not mean the same at a batch of 4: y"):
        bridge.import_onnx(path, inputs={"x": (4, 5)}, output=tmp_path / "out")
    assert not list(tmp_path.glob("out*"))


def test_what_holds_the_size_and_has_no_other_form_is_named(tmp_path: Path) -> None:
    """A class token stored for a batch of one, beside a position that suits any."""
    path = file(
        tmp_path,
        """(float[1, 6, 4] x) => (float[1, 7, 4] y)
        { <name_here> = Identity (x) }""".replace(
            "<name_here> = Identity (x)", "t = Concat <axis = 1> (token, x)  y = Add (t, place)"
        ),
        token=(1, 1, 4),
        place=(1, 7, 4),
    )
    for change in ({"inputs": {"x": (3, 6, 4)}}, {"dynamic": {"x": {0: "n"}}}):
        with pytest.raises(bridge.BadInput, match=r"cannot be brought to x .*, 6, 4\).* held by Concat t \("):
            bridge.import_onnx(path, **change)


def test_a_reshape_that_stood_for_a_transposition_is_refused(tmp_path: Path) -> None:
    """For a batch of one, time comes first by reshaping; for others that has no such form, and what runs along time says so."""
    path = file(
        tmp_path,
        "(float[1, 6, 4] x) => (float[6, 1, 4] y) { r = Reshape (x, s)  y = CumSum (r, zero) }",
        s=[6, 1, 4],
        zero=0,
    )
    with pytest.raises(bridge.BadInput, match=r"not mean the same at a batch of 3.* written anew were Reshape r"):
        bridge.import_onnx(path, inputs={"x": (3, 6, 4)})


@pytest.mark.parametrize("change", [{"inputs": {"x": (5, 3, 4)}}, {"dynamic": {"x": {1: "n"}}}])
def test_states_of_zeros_follow_the_batch(tmp_path: Path, change: dict[str, Any]) -> None:
    path = file(
        tmp_path,
        """(float[5, 1, 4] x) => (float[5, 1, 1, 3] y)
        { h = ConstantOfShape (hs)  y = LSTM <hidden_size = 3> (x, w, r, , , h, h) }""",
        w=(1, 12, 4),
        r=(1, 12, 3),
        hs=[1, 1, 3],
    )
    found = bridge.import_onnx(path, **change)
    assert found.verified
    assert "LSTM y held the file's sizes: a state of [1, 1, 3] zeros -> none" in found.repairs


def test_computed_shapes_follow_by_themselves(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        """(float[2, 3, 4] x) => (float[2, 12] y)
        { s = Shape (x)  n = Gather <axis = 0> (s, zero)  t = Concat <axis = 0> (n, rest)  y = Reshape (x, t) }""",
        zero=[0],
        rest=[-1],
    )
    found = bridge.import_onnx(path, dynamic={"x": {0: "n"}})
    assert found.verified
    assert not found.repairs


def test_sizes_of_a_resize(tmp_path: Path) -> None:
    text = '(float[1, 2, 4, 4] x) => (float[1, 2, 8, 8] y) { y = Resize <mode = "nearest"> (x, , , s) }'
    path = file(tmp_path, text, s=[1, 2, 8, 8])
    given = bridge.import_onnx(path, inputs={"x": (3, 2, 4, 4)})
    assert given.repairs == ("Resize y held the file's sizes: [1, 2, 8, 8] -> [3, 2, 8, 8]",)
    assert "scales [1.0, 1.0, 2.0, 2.0]" in bridge.import_onnx(path, dynamic={"x": {0: "n"}}).repairs[0]


def test_wrong_requests(cnn: Path) -> None:
    with pytest.raises(bridge.BadInput, match=r"dynamic data: got axis 4 of 4: \(1, 3, 12, 12\)"):
        bridge.import_onnx(cnn, dynamic={"data": {4: "n"}})
    with pytest.raises(bridge.BadInput, match="dynamic dota: the model takes data"):
        bridge.import_onnx(cnn, dynamic={"dota": {0: "n"}})


@pytest.mark.parametrize(
    ("before", "after", "made", "want"),
    [
        ((1, 3, 4), (5, 3, 4), (1, 12), (5, 12)),
        ((2, 3, 4), (6, 3, 4), (6, 4), (18, 4)),
        ((1, 512, 1, 1), (4, 512, 1, 1), (1, 512), (4, 512)),
        ((1, 8, 7, 7), (1, 8, 9, 9), (1, 8, 49), (1, 8, 81)),
        ((1, 196, 64), (4, 196, 64), (1, 196, 8, 8), (4, 196, 8, 8)),
        ((1, 8, 7, 7), (1, 8, 7, 9), (1, 8, 7, 7), (1, 8, 7, 9)),
        ((4, 3, 2), (4, 6, 2), (2, 12), None),
        ((2, 6), (3, 6), (4, 3), (6, 3)),
        ((2, 3), (3, 3), (3, 2), None),
    ],
)
def test_what_a_reshape_stands_for(before: Any, after: Any, made: Any, want: Any) -> None:
    assert grown(before, after, made) == want


@pytest.mark.parametrize(
    ("before", "after", "made", "rest", "want"),
    [
        ((2, 24, 8, 8), (2, 24, 9, 9), (2, 6, 256), 2, (2, 6, 324)),
        ((2, 24, 8, 8), (3, 24, 8, 8), (2, 6, 256), 2, (3, 6, 256)),
        ((2, 24, 8, 8), (2, 24, 9, 9), (2, 48, 32), 2, None),
        ((2, 24, 8, 8), (2, 24, 9, 9), (2, 6, 256), 1, None),
        ((2, 24, 8, 8), (2, 36, 8, 8), (2, 6, 256), 2, (2, 9, 256)),
    ],
)
def test_what_is_left_grows(before: Any, after: Any, made: Any, rest: int, want: Any) -> None:
    assert grown(before, after, made, rest) == want


GROUPS = """(float[{batch}, 24, 8, 8] data) => (float[{batch}, 4] y)
{{ g = Reshape (data, groups)  i = InstanceNormalization (g, one, zero)  s = Shape (data)  b = Reshape (i, s)
  p = GlobalAveragePool (b)  f = Flatten (p)  y = Gemm (f, d) }}"""


@pytest.mark.parametrize("batch", ["2", "n"])
def test_channels_in_groups_hold_no_size(batch: str, tmp_path: Path) -> None:
    """As a GroupNorm of PyTorch is exported: the last axis has whatever is left."""
    given = {"groups": [0, 6, -1], "one": (6,), "zero": (6,), "d": (24, 4)}
    path = file(tmp_path, GROUPS.format(batch=batch), **given)
    found = bridge.import_onnx(path, output=tmp_path / "out", inputs={"data": (2, 24, 10, 12)})
    assert found.verified and found.repairs == ()
    found = bridge.import_onnx(path, output=tmp_path / "open", dynamic={"data": {2: "h", 3: "w"}})
    assert found.verified
    assert shapes_of(tmp_path / "open", data=np.ones((2, 24, 5, 9), np.float32)) == {"y": (2, 4)}


POSITIONS = """(float[n, 24, 8, 8] data) => (float[64, heads, 6] y)
{ g = Reshape (data, groups)  i = InstanceNormalization (g, one, zero)  s = Shape (data)  b = Reshape (i, s)
  r = Reshape (b, rows)  t = Transpose <perm = [2, 0, 1]> (r)
  n = Gather (s, first)  h = Mul (n, four)  k = Concat <axis = 0> (places, h, six)  y = Reshape (t, k) }"""


def test_the_node_that_holds_the_size_is_named_and_not_one_before_it(tmp_path: Path) -> None:
    """Attention over as many places as there were when the file was exported; of the batch it says nothing."""
    given = {"groups": [0, 6, -1], "one": (6,), "zero": (6,), "rows": [0, 24, -1]}
    given |= {"first": [0], "four": [4], "places": [64], "six": [6]}
    path = file(tmp_path, POSITIONS, **given)
    for asked in ({"inputs": {"data": (2, 24, 10, 10)}}, {"dynamic": {"data": {2: "h", 3: "w"}}}):
        with pytest.raises(bridge.BadInput, match=r"held by Reshape y \(to \[64, 8, 6\], which would be \[") as refused:
            bridge.import_onnx(path, **asked)
        assert "Reshape g" not in str(refused.value) and "Reshape r" not in str(refused.value)


def test_the_model_is_left_as_it_is(cnn: Path) -> None:
    model = onnx.load(cnn)
    kept = model.SerializeToString()
    found = resized(model, {"data": ("n", 3, 12, 12)})
    assert model.SerializeToString() == kept
    assert found.proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    onnx.checker.check_model(found.proto, full_check=True)


@pytest.mark.parametrize("open_axis", [True, False])
def test_wrong_shapes_that_a_file_declares_inside_are_passed_over(
    open_axis: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """onnxruntime believes them, and may put a tensor into memory of another size: paddle2onnx writes such boxes."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]> net (float[n, 2] x) => (float[n, 2] y)
        <float[n, 3] part> { part = Exp (x) y = Neg (part) }""")
    if not open_axis:
        for info in (*model.graph.input, *model.graph.output):
            info.type.tensor_type.shape.dim[0].dim_value = 3
    onnx.save(model, tmp_path / "net.onnx")
    run = OnnxEngine.run

    def believing(self: OnnxEngine, feeds: Any) -> Any:
        if self.proto.graph.value_info:
            raise EngineError(f"onnxruntime failed: {MISDECLARED}. {{2,2}} != {{2,3}}")
        return run(self, feeds)

    monkeypatch.setattr(OnnxEngine, "run", believing)
    found = bridge.import_onnx(tmp_path / "net.onnx", output=tmp_path / "net")
    assert found.verification is not None and found.verification.equivalent
    assert any("without the shapes that it declares inside" in w for w in found.verification.warnings)
