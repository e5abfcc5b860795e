"""Models in archives and folders: SageMaker's as real MXNet 1.9.1 wrote and ran them, and archives that want to do harm."""

import gc
import gzip
import io
import json
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.recorded import feeds_of
from hybrid import native
from hybrid.core.error import OutOfMemory
from hybrid.core.memory_budget import memory_budget, set_memory_budget
from tests.models.networks import networks

SAGEMAKER = Path(__file__).parents[2] / "fixtures/sagemaker"
CNN = Path(__file__).parents[2] / "fixtures/onnx/torch_cnn_legacy/model.onnx"
LENET = next(n for n in networks() if n.name == "lenet").folder
FILES = {n: (LENET / n).read_bytes() for n in ("model-symbol.json", "model-0000.params")}


def packed(path: Path, files: dict[str, bytes]) -> Path:
    """An archive of the kind that the name says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            for name, content in files.items():
                out.writestr(name, content)
        return path
    with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz") as out:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    ("name", "outputs", "left_out"),
    [
        (
            "detection",
            ["cls_prob_output", "det_out_output"],
            {"loc_loss_output": ("label",), "cls_label_output": ("label",)},
        ),
        ("classification", ["softmax_output"], {}),
    ],
)
def test_sagemaker_models_convert_as_they_are(name: str, outputs: list[str], left_out: object, tmp_path: Path) -> None:
    """No sizes and no outputs are named; what the ONNX file gives is what MXNet recorded."""
    source = SAGEMAKER / f"{name}.tar.gz"
    target = tmp_path / "x.onnx"
    result = bridge.convert(source, output=target)
    assert result.verification is not None and result.verification.equivalent
    assert list(result.outputs) == outputs
    assert result.left_out == left_out
    assert result.read[0] == str(source)
    assert Path(result.read[1]).parent == source and result.read[1].endswith(".params")
    side = {"detection": 32, "classification": 20}[name]
    assert result.inputs["data"]["shape"] == [1, 3, side, side]
    with np.load(SAGEMAKER / f"{name}.npz") as recorded:
        wanted = {k.partition("/")[2]: v for k, v in recorded.items() if k.startswith("outputs/")}
        data = recorded["inputs/data"]
    got = bridge.run(source, {"data": data})
    assert list(got) == outputs
    for output, numbers in wanted.items():
        np.testing.assert_allclose(got[output], numbers, atol=2e-5, err_msg=output)
    if name == "detection":  # made for a batch of one
        for output, numbers in bridge.run(target, {"data": data}).items():
            np.testing.assert_allclose(numbers, wanted[output], atol=2e-5, err_msg=output)
    assert bridge.verify(source, target).equivalent
    assert set(bridge.inspect(source).outputs) == set(outputs)


def test_what_a_label_feeds_stays_when_the_label_is_an_input() -> None:
    source = SAGEMAKER / "detection.tar.gz"
    named = bridge.inspect(source, inputs={"data": (1, 3, 32, 32), "label": (1, 2, 5)})
    assert list(named.outputs) == ["cls_prob_output", "loc_loss_output", "cls_label_output", "det_out_output"]
    assert not named.left_out
    kept = bridge.convert(source, outputs=["loc_loss"], inputs={"label": (1, 2, 5)}, verify=False)
    assert list(kept.outputs) == ["loc_loss_output"]


@pytest.mark.parametrize("name", ["m.tar.gz", "m.tgz", "m.tar", "m.zip", "m.bin"])
def test_archives_of_every_kind(name: str, tmp_path: Path) -> None:
    files = {f"./{n}": c for n, c in FILES.items()} | {"code/inference.py": b"import os", "train.log": b"x" * 5000}
    model = bridge.open_model(packed(tmp_path / name, files))
    assert model.name == ("m.bin" if name == "m.bin" else "m")
    assert model.path == tmp_path / name
    assert model.params_path == tmp_path / name / "model-0000.params"
    assert model.files() == [tmp_path / name]
    want = bridge.open_model(LENET / "model")
    for key, array in want.params.items():
        np.testing.assert_array_equal(model.params[key], array)
    assert not [p for p in tmp_path.iterdir() if p.name != name]


@pytest.mark.parametrize("name", ["m.tar.gz", "m.zip"])
def test_a_script_in_an_archive_is_told(name: str, tmp_path: Path) -> None:
    """Whatever it does around the network is lost, and nobody would look for it."""
    source = packed(tmp_path / name, FILES | {"./code/inference.py": b"import os", "train.log": b"x"})
    sizes = {"data": (1, 1, 28, 28)}
    for found in (
        bridge.inspect(source),
        bridge.convert(source, inputs=sizes, verify=False),
        bridge.deploy(source, "triton", tmp_path / "there", inputs=sizes, verify=False),
    ):
        (said,) = (w for w in found.warnings if "the archive holds code/inference.py" in w)
        assert "--softmax, --labels" in said
    shown = CliRunner().invoke(app, ["inspect", str(source)]).output
    assert "note: the archive holds code/inference.py" in shown
    assert not bridge.inspect(packed(tmp_path / f"plain-{name}", FILES | {"train.log": b"x"})).warnings


def test_parameters_may_be_given_beside_an_archive(tmp_path: Path) -> None:
    source = packed(tmp_path / "m.zip", {"model-symbol.json": FILES["model-symbol.json"]})
    assert bridge.open_model(source).params == {}
    assert bridge.open_model(source, LENET / "model-0000.params").params_path == LENET / "model-0000.params"


def test_what_is_in_an_archive_is_said(tmp_path: Path) -> None:
    onnx_model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [])).SerializeToString()
    several = {f"{n}-symbol.json": b"{}" for n in "abcdefg"}
    for files, said in (
        ({"deep/model.onnx": onnx_model}, r"m.zip/deep/model.onnx: got .* wanted a whole ONNX model"),
        (several, r"holds 7 symbols \(a-symbol.json, b-symbol.json, .* and 2 more\); unpack it"),
        ({"readme.txt": b"x"}, r"holds no .json and no .params file, wanted a -symbol.json"),
        ({"net.params": b"x"}, r"holds net.params, wanted a -symbol.json"),
        ({"model-symbol.json": b"<html>"}, r"m.zip/model-symbol.json"),
    ):
        for name in ("m.zip", "m.tar.gz"):
            path = packed(tmp_path / name, files)
            with pytest.raises(bridge.BadInput, match=said.replace("m.zip", name)):
                bridge.open_model(path)
    for name in ("m.zip", "m.tar.gz"):
        with pytest.raises(bridge.BadInput, match=f"{name}: an MXNet symbol already; import takes an ONNX file"):
            bridge.import_onnx(packed(tmp_path / name, FILES))
    (tmp_path / "m.onnx.gz").write_bytes(gzip.compress(onnx_model))
    with pytest.raises(bridge.BadInput, match="gzip, and no tar archive inside; unpack it"):
        bridge.open_model(tmp_path / "m.onnx.gz")


def link(name: str, kind: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with tarfile.open(path, "w:gz") as out:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            out.addfile(member)

    return write


def zip_link(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as out:
        entry = zipfile.ZipInfo("model-symbol.json")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        out.writestr(entry, "/etc/passwd")


def bomb(path: Path) -> None:
    packed(path.with_suffix(".zip"), {"big.params": bytes(40 << 20), **FILES}).rename(path)


def claims(path: Path) -> None:
    """A header that claims a terabyte."""
    member = tarfile.TarInfo("model-0000.params")
    member.size = 1 << 40
    path.write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024)))


def long_note(path: Path) -> None:
    """A note on the next member that is larger than any name."""
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 1 << 30
    path.write_bytes(gzip.compress(member.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 20)))


def cut_off(path: Path) -> None:
    packed(path, FILES)
    path.write_bytes(path.read_bytes()[:2000])


HARM: dict[str, tuple[Callable[[Path], object], str]] = {
    "outside": (lambda p: packed(p, {"../model-symbol.json": b"{}"}), "would be written outside"),
    "absolute": (lambda p: packed(p, {"/tmp/model-symbol.json": b"{}"}), "would be written outside"),
    "drive": (lambda p: packed(p, {"c:\\model-symbol.json": b"{}"}), "would be written outside"),
    "outside by backslash": (lambda p: packed(p, {"a\\..\\..\\model-symbol.json": b"{}"}), "would be written outside"),
    "symbolic link": (link("model-symbol.json", tarfile.SYMTYPE), "is a link or no plain file"),
    "hard link": (link("model-symbol.json", tarfile.LNKTYPE), "is a link or no plain file"),
    "device": (link("model-symbol.json", tarfile.CHRTYPE), "is a link or no plain file"),
    "link in a zip": (zip_link, "is a link or no plain file"),
    "cut off": (cut_off, "damaged archive|cut off"),
    "claims": (claims, "memory budget"),
    "long note": (long_note, "damaged archive"),
    "expands": (bomb, "memory budget"),
}


@pytest.mark.parametrize("name", HARM)
def test_archives_that_want_to_do_harm(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tar.gz"
    write, said = HARM[name]
    write(path)
    before = memory_budget()
    set_memory_budget(32 << 20)
    try:
        with pytest.raises((bridge.BadInput, OutOfMemory), match=said):
            bridge.open_model(path)
    finally:
        set_memory_budget(None)
    assert before
    assert [p.name for p in tmp_path.iterdir()] == ["m.tar.gz"]


def test_two_members_of_one_name(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "m.tar", "w") as out:
        for _ in range(2):
            out.addfile(tarfile.TarInfo("./model-symbol.json"), io.BytesIO())
    with pytest.raises(bridge.BadInput, match=r"holds './model-symbol.json' twice"):
        bridge.open_model(tmp_path / "m.tar")


FORKS = b"\0\5\x16\7\0\2\0\0Mac OS X        "
"""The beginning of an AppleDouble file."""


@pytest.mark.parametrize("name", ["m.tar.gz", "m.zip", "folder"])
def test_what_a_system_puts_into_archives_and_folders_is_no_model(name: str, tmp_path: Path) -> None:
    """macOS packs a file beside each, with what its file system holds of it."""
    files = {f"._{n}": FORKS for n in FILES} | {f"__MACOSX/._{n}": FORKS for n in FILES} | FILES
    files |= {".DS_Store": b"\0\0\0\1Bud1", "__MACOSX/model-symbol.json": FORKS, "._notes.py": FORKS}
    if name == "folder":
        for member, content in files.items():
            (tmp_path / name / member).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / member).write_bytes(content)
        model = bridge.open_model(tmp_path / name)
    else:
        model = bridge.open_model(packed(tmp_path / name, files))
    assert model.graph is not None and model.params and not model.notes
    alone = packed(tmp_path / "alone.tar.gz", {f"._{n}": FORKS for n in FILES})
    with pytest.raises(bridge.BadInput, match=r"holds no .json and no .params file, wanted"):
        bridge.open_model(alone)


def test_what_a_system_puts_beside_arrays_is_no_array(tmp_path: Path) -> None:
    """Arrays that were unpacked and packed again, and a folder of such files."""
    np.savez(tmp_path / "x.npz", data=np.ones((1, 1, 28, 28), "f"))
    (tmp_path / "._x.npz").write_bytes(FORKS)
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("__MACOSX/._data.npy", FORKS)
    model = bridge.open_model(LENET / "model")
    assert [sorted(each) for each in feeds_of(tmp_path, model)] == [["data"]]


def test_folders(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "model-shapes.json").write_text(json.dumps([{"name": "data", "shape": [0, 1, 28, 28]}]))
    model = bridge.open_model(tmp_path)
    assert model.path == tmp_path / "model-symbol.json"
    assert model.sizes == {"data": (1, 1, 28, 28)}
    assert bridge.convert(tmp_path, verify=False).inputs["data"]["shape"] == [1, 1, 28, 28]
    given = bridge.convert(tmp_path, inputs={"data": (2, 1, 28, 28)}, verify=False)
    assert given.inputs["data"]["shape"] == [2, 1, 28, 28]
    (tmp_path / "other-symbol.json").write_bytes(FILES["model-symbol.json"])
    with pytest.raises(
        bridge.BadInput, match=r"2 -symbol.json files \(model-symbol.json, other-symbol.json\); name the"
    ):
        bridge.open_model(tmp_path)
    assert not bridge.open_model(tmp_path / "model").sizes  # whose sizes they are is not known
    with pytest.raises(bridge.BadInput, match=r"below it are a/model-symbol.json, a/other-symbol.json"):
        inner = tmp_path / "a"
        inner.mkdir()
        for path in tmp_path.glob("*-symbol.json"):
            path.rename(inner / path.name)
        bridge.open_model(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "sizes"),
    [
        ("hyperparams.json", '{"image_shape": "300"}', {"data": (1, 3, 300, 300)}),
        ("hyperparams.json", '{"image_shape": "1,28,30"}', {"data": (1, 1, 28, 30)}),
        ("hyperparams.json", '{"resize_width": 256, "num_classes": 3}', {"data": (1, 3, 256, 256)}),
        ("hyperparams.json", '{"resize_width": "64", "resize_height": "48"}', {"data": (1, 3, 48, 64)}),
        ("hyperparams.json", '{"image_shape": "300", "resize_width": "64"}', {"data": (1, 3, 300, 300)}),
        ("hyperparams.json", '{"image_shape": "0"}', {}),
        ("hyperparams.json", '{"resize_width": "-5"}', {}),
        ("hyperparams.json", "{", {}),
        ("signature.json", '{"inputs": [{"data_name": "x", "data_shape": [0, 4]}]}', {"x": (1, 4)}),
        ("model-shapes.json", '[{"name": "x", "shape": [-3]}]', {}),
    ],
)
def test_sizes_beside_a_symbol(name: str, text: str, sizes: object, tmp_path: Path) -> None:
    for file, content in FILES.items():
        (tmp_path / file).write_bytes(content)
    (tmp_path / name).write_text(text)
    model = bridge.open_model(tmp_path)
    assert model.sizes == sizes
    assert bool(model.unread) != bool(sizes)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("model-shapes.json", "{", "model-shapes.json: cannot be read (Expecting property name"),
        ("model-shapes.json", "[" * 100_000, "model-shapes.json: cannot be read ("),
        (
            "model-shapes.json",
            '[{"name": "data"}]',
            "model-shapes.json: it holds something else (no 'shape'), wanted [{",
        ),
        ("model-shapes.json", '{"data": [1, 1, 28, 28]}', "model-shapes.json: it holds something else ("),
        (
            "model-shapes.json",
            '[{"name": "data", "shape": [1, -1]}]',
            "it gives data the shape (1, -1), wanted positive",
        ),
        ("signature.json", "[]", "signature.json: it holds something else ("),
        ("hyperparams.json", '{"image_shape": "3,a"}', "hyperparams.json: it holds something else (invalid literal"),
    ],
)
def test_shapes_beside_a_symbol_that_cannot_be_read_are_told(name: str, text: str, says: str, tmp_path: Path) -> None:
    """They are told where a shape is asked for; one that is given needs no file."""
    for file, content in FILES.items():
        (tmp_path / file).write_bytes(content)
    (tmp_path / name).write_text(text)
    with pytest.raises(bridge.BadInput) as error:
        bridge.convert(tmp_path, verify=False)
    assert says in error.value.problems[0] and "cannot tell the shape of input data" in error.value.problems[1]
    given = bridge.convert(tmp_path, inputs={"data": (1, 1, 28, 28)}, verify=False)
    assert given.inputs["data"]["shape"] == [1, 1, 28, 28]


def test_hyperparameters_of_another_algorithm_are_no_fault(tmp_path: Path) -> None:
    for file, content in FILES.items():
        (tmp_path / file).write_bytes(content)
    (tmp_path / "hyperparams.json").write_text('{"epochs": "3"}')
    assert not bridge.open_model(tmp_path).unread


# -- archives that deploy writes, whose model is an ONNX file ----------------------------------------------------------------


@pytest.fixture(
    scope="module", params=["sagemaker m.tar.gz", "mms m.mar", "sagemaker folder", "mms folder", "triton folder"]
)
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to, name = request.param.split()
    place = tmp_path_factory.mktemp("deployed") / name
    bridge.deploy(LENET / "model", to, place, inputs={"data": (2, 1, 28, 28)})
    return place


def test_what_was_deployed_is_verified_on_either_side(deployed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for sides in ((LENET / "model", deployed), (deployed, LENET / "model"), (deployed, deployed)):
        result = bridge.verify(*map(str, sides), inputs=None if deployed in sides[:1] else {"data": (2, 1, 28, 28)})
        assert result.equivalent and result.inner
        for side, files in zip(sides, result.files):
            if side == deployed and deployed.is_file():
                assert [f.path for f in files] == [str(deployed)]
    told = CliRunner().invoke(app, ["verify", str(LENET / "model"), str(deployed), "--json"])
    assert told.exit_code == 0 and json.loads(told.output)["equivalent"], told.output
    weights = str(LENET / "model-0000.params")  # of the side that holds none
    told = CliRunner().invoke(app, ["verify", str(deployed), str(LENET / "model"), "--params", weights])
    assert told.exit_code == 0, told.output
    (found,) = bridge.run(deployed, {"data": np.ones((2, 1, 28, 28), "f")}).values()
    assert found.shape == (2, 10)


def test_another_model_that_was_deployed_is_told_from_it(tmp_path: Path) -> None:
    other = bridge.open_model(LENET / "model")
    weights = {n: a * np.float32(1.01) if n == "fullyconnected0_weight" else a for n, a in other.params.items()}
    assert weights.keys() == other.params.keys() and "fullyconnected0_weight" in weights
    wrong = bridge.open_model(mx.sym.load(str(LENET / "model-symbol.json")), weights)
    bridge.deploy(wrong, "mms", tmp_path / "m.mar", inputs={"data": (2, 1, 28, 28)})
    result = bridge.verify(LENET / "model", tmp_path / "m.mar")
    assert result.divergence is not None and result.divergence.node == "fullyconnected0"
    assert "m.mar" in str(result)


def with_weights_beside(path: Path) -> dict[str, bytes]:
    """Members of an archive with an ONNX model whose weights lie in a file of their own."""
    made = bridge.convert(LENET / "model", inputs={"data": (2, 1, 28, 28)}, output=path / "x.onnx")
    assert made.verification is not None
    onnx.save(
        onnx.load(path / "x.onnx"), path / "model.onnx", save_as_external_data=True, location="weights.bin",
        size_threshold=0,
    )  # fmt: skip
    return {f"deep/{n}": (path / n).read_bytes() for n in ("model.onnx", "weights.bin")} | {"deep/other.bin": b"x"}


def test_weights_beside_the_model_in_an_archive_are_read(tmp_path: Path) -> None:
    """And removed with it, and nothing else is unpacked."""
    for name in ("m.zip", "m.tar.gz"):
        model = bridge.open_model(packed(tmp_path / name, with_weights_beside(tmp_path)))
        assert (model.name, model.place, model.files()) == ("m", tmp_path / name, [tmp_path / name])
        assert model.read == (str(tmp_path / name),) and str(tmp_path / name) in repr(model)
        folder = model.archive.folder  # type: ignore[union-attr]
        assert sorted(p.name for p in folder.rglob("*") if p.is_file()) == ["model.onnx", "weights.bin"]
        assert bridge.verify(model, LENET / "model").equivalent
        assert bridge.verify(model.select(["fullyconnected0"]), LENET / "model", outputs=["fullyconnected0"]).equivalent
        bridge.deploy(model, "sagemaker", tmp_path / f"{name}-again")
        assert (tmp_path / f"{name}-again" / "weights.bin").is_file()
        if hasattr(os, "fork"):  # a copy of the process that ends leaves the folder to this one
            child = os.fork()
            if not child:
                model.archive.close()  # type: ignore[union-attr]
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0 and folder.is_dir()
        del model
        gc.collect()
        assert not folder.exists()


@pytest.mark.skipif(native.level() is None, reason="NumPy has no programs to save")
@pytest.mark.parametrize("name", ["m.zip", "m.tar.gz"])
def test_an_archive_with_an_onnx_model_is_imported(name: str, tmp_path: Path) -> None:
    """As a file by itself is, wherever an ONNX model is taken; a script in it is told of."""
    source = packed(tmp_path / name, {"deep/net.onnx": CNN.read_bytes(), "code/inference.py": b"x"})
    wanted = bridge.import_onnx(CNN)
    result = CliRunner().invoke(app, ["import", str(source)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["m-0000.params", "m-symbol.json", name])
    for given in ({}, {"inputs": {"image": (3, 3, 32, 32)}}, {"dynamic": {"image": {0: "n"}}}):
        made = bridge.import_onnx(source, **given)
        assert (made.parameters, made.operators) == (wanted.parameters, wanted.operators)
        assert any("code/inference.py" in w for w in made.warnings)
    assert any("code/inference.py" in w for w in bridge.inspect(source).warnings)
    data = mx.nd.random.uniform(shape=(2, 3, 32, 32))
    nets = [mx.contrib.onnx.import_to_gluon(path) for path in (source, CNN)]
    got, want = (net(data)[0].asnumpy() for net in nets)
    np.testing.assert_array_equal(got, want)
    assert mx.contrib.onnx.import_model(source)[1].keys() == mx.contrib.onnx.import_model(CNN)[1].keys()
    assert mx.contrib.onnx.get_model_metadata(source) == mx.contrib.onnx.get_model_metadata(CNN)


@pytest.mark.skipif(native.level() is None, reason="NumPy has no programs to save")
def test_an_archive_is_compiled_beside_itself(tmp_path: Path) -> None:
    source = packed(tmp_path / "m.zip", with_weights_beside(tmp_path))
    made = bridge.compile(source)
    assert made.file == str(tmp_path / "m.gluonnx")
    feeds = {"data": np.ones((2, 1, 28, 28), "f")}
    (got,), (want,) = bridge.CompiledModel(source).run(feeds).values(), bridge.run(LENET / "model", feeds).values()
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_nothing_stays_of_an_archive_that_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    members = with_weights_beside(tmp_path)
    for files, said in (
        ({"model.onnx": b"no model"}, r"m.zip/model.onnx"),
        (
            dict(list(members.items())[:1]),
            r"m.zip: its model deep/model.onnx has weights in deep/weights.bin, which the archive does not hold",
        ),
        ({"a.onnx": b"1", "b/c.onnx": b"2"}, r"holds 2 ONNX models \(a.onnx, b/c.onnx\); unpack it"),
        ({"a.onnx": b"1", "../weights.bin": b"2"}, "would be written outside of the folder"),
    ):
        with pytest.raises((bridge.BadInput, mx.MXNetError), match=said):
            bridge.open_model(packed(tmp_path / "m.zip", files))
        gc.collect()
        assert not list((tmp_path / "scratch").iterdir()), said
