"""Pictures from files as inputs: size, layout, numbers, batches, and what the report says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from hybrid.core.op import Spec
from hybrid.formats.images import encode

pytest.importorskip("PIL")
S: Any = mx.sym


def gluonnx(*arguments: object) -> Any:
    """The command's result."""
    return CliRunner().invoke(app, [*map(str, arguments)])


def pixels(number: int, high: int = 6, wide: int = 8) -> np.ndarray:
    return np.random.default_rng(number).integers(0, 256, (high, wide, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures") / "faces"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.png").write_bytes(encode(pixels(number), ".png"))
    (folder / "notes.txt").write_text("no picture")
    return folder


def network(scaled: bool = True) -> tuple[Any, dict[str, Any]]:
    x = (S.var("data") - 127.5) / 128 if scaled else S.var("data")
    net = S.Convolution(x, kernel=(3, 3), num_filter=2, name="conv")
    rng = np.random.default_rng(0)
    return net, {"conv_weight": rng.normal(size=(2, 3, 3, 3)).astype("f"), "conv_bias": np.ones(2, "f")}


def test_pictures_have_the_size_layout_and_numbers_of_the_input(faces: Path) -> None:
    model = bridge.open_model(*network())
    sets = bridge.load_images(faces, model, inputs={"data": Spec((2, 3, 6, 8))})
    assert [list(s) for s in sets] == [["data"]] * 2
    want = np.stack([pixels(i) for i in (0, 1, 2, 0)]).transpose(0, 3, 1, 2).astype("f")  # the last batch begins again
    assert all((s["data"] == want[2 * i : 2 * i + 2]).all() for i, s in enumerate(sets))
    assert sets[0].sources == {"data": "faces/0.png, faces/1.png, RGB from 0 to 255"}
    (one,) = bridge.load_images(faces / "1.png", model, inputs={"data": (1, 3, 3, 4)}, ranges={"data": (-1, 1)})
    assert one["data"].shape == (1, 3, 3, 4) and -1 <= one["data"].min() < -0.3 and 0.3 < one["data"].max() <= 1
    assert one["data"].mean() == pytest.approx(pixels(1).mean() / 127.5 - 1, abs=1e-2)
    plain = bridge.open_model(*network(scaled=False))
    (usual,) = bridge.load_images(faces / "0.png", plain, inputs={"data": Spec((1, 3, 6, 8))})
    want = (pixels(0) / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(usual["data"][0].transpose(1, 2, 0), want, rtol=1e-5, atol=1e-6)
    assert usual.sources["data"].endswith("faces/0.png, RGB as networks for ImageNet have them")
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        net (uint8[n, h, w, 3] x, uint8[n, 1, 4, 4] gray) => (uint8[n, h, w, 3] y) { y = Identity (x) }""")
    opened = bridge.open_model(model)
    (whole,) = bridge.load_images([f"x={faces}", f"gray={faces}"], opened, together=True)
    assert (whole["x"] == np.stack([pixels(i) for i in range(3)])).all() and whole["x"].dtype == np.uint8
    assert whole["gray"].shape == (3, 1, 4, 4)
    assert [s["x"].shape[0] for s in bridge.load_images(f"x={faces}", opened)] == [1, 1, 1]


def test_pictures_that_cannot_be_meant(faces: Path, tmp_path: Path) -> None:
    model = bridge.open_model(*network())
    known: Any = {"inputs": {"data": Spec((1, 3, 6, 8))}}
    two = bridge.open_model(S.Group([S.relu(S.var("a")), S.relu(S.var("b"))]), {})
    both: Any = {"inputs": {n: Spec((1, 3, 2, 2)) for n in "ab"}}
    (tmp_path / "damaged.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    cases: Any = (
        (faces, two, both, "which of a, b is meant: --image NAME=PATH"),
        (faces, two, {}, "say its shape: --input NAME:1,3,224,224"),
        (faces / "none.png", model, known, "no such file; wanted a picture or a folder of them"),
        (tmp_path / "damaged.png", model, known, "damaged.png: cannot decode"),
        (f"data={faces.parent}", model, known, "a folder without pictures"),
        (f"a={faces}", two, {"inputs": {n: Spec((1, 3)) for n in "ab"}}, r"got pictures for \(1, 3\), wanted 4 axes"),
    )
    for path, given, options, said in cases:
        with pytest.raises(bridge.BadInput, match=said):
            bridge.load_images(path, given, **options)


def test_commands_take_pictures_and_say_so(faces: Path, tmp_path: Path) -> None:
    net, params = network()
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, net, {n: mx.nd.array(a) for n, a in params.items()}, {})
    size, target = ("--input", "data:2,3,6,8"), tmp_path / "net.onnx"
    made = gluonnx("convert", tmp_path / "net", *size, "--image", faces, "-o", target)
    assert made.exit_code == 0, made.output
    told = gluonnx("verify", tmp_path / "net", target, "--image", faces, *size, "--json")
    assert told.exit_code == 0
    result = bridge.verify(tmp_path / "net", target, inputs=bridge.load_images(faces, bridge.open_model(target))[0])
    assert result.runs[0]["inputs"]["data"]["from"] == "from faces/0.png, faces/1.png, RGB from 0 to 255"
    assert gluonnx("verify", tmp_path / "net", target, "--image", faces, "--range", "data:0,1", *size).exit_code == 0
    assert gluonnx("import", target, "-o", tmp_path / "back", "--image", faces).exit_code == 0
    ran = gluonnx("run", target, "--image", faces / "0.png", "-o", tmp_path / "out.npz")
    assert ran.exit_code == 0, ran.output
    with np.load(tmp_path / "out.npz") as found:
        want = bridge.run(target, {"data": np.stack([pixels(0)] * 2).transpose(0, 3, 1, 2).astype("f")})
        assert (found["conv_output"] == want["conv_output"]).all()
    many = gluonnx("run", target, "--image", faces)
    assert many.exit_code == 2 and "more pictures than one batch" in many.output
    assert "or --image for one of pictures" in gluonnx("run", target).output
