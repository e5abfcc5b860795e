"""Models laid out for what serves them: the files, and what they give when they are run as their servers run them."""

import hashlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import onnx
import pytest
from PIL import Image
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.serving import triton
from bridge.serving.package import Package, safe_name
from hybrid.core.op import Spec

SOURCE = Path(__file__).parents[2] / "fixtures" / "models" / "squeezenet" / "model"
NAMES = tuple(f"class {i}" for i in range(10))
PICTURES = bridge.Preprocess(layout="NHWC", uint8=True, unit=True, resize=(64, 56), mean=(0.4, 0.5, 0.6), bgr=True)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of pictures of any size and number, with names."""
    path = tmp_path_factory.mktemp("served") / "classifier.onnx"
    wanted = bridge.Postprocess(labels=NAMES)
    bridge.convert(SOURCE, output=path, batch="batch", preprocess=PICTURES, postprocess=wanted, draws=("expected",))
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two inputs and outputs, of fixed sizes."""
    left, right = mx.sym.var("left"), mx.sym.var("right")
    outputs = mx.sym.Group([mx.sym.broadcast_add(left, right, name="sum"), mx.sym.sum(left, name="all")])
    path = tmp_path_factory.mktemp("served") / "plain.onnx"
    bridge.convert(outputs, inputs={"left": (2, 3), "right": (2, 3)}, output=path)
    return path


def pixels(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)


def right_answer(model: Path, array: np.ndarray) -> np.ndarray:
    """Scores that our engine makes of pixels, by the network and a pipeline in NumPy."""
    x = array.astype(np.float32).transpose(0, 3, 1, 2)
    x = mx.nd.contrib.BilinearResize2D(mx.nd.array(x), height=64, width=56, align_corners=False).asnumpy()
    x = x[:, ::-1] / 255 - np.float32([0.4, 0.5, 0.6]).reshape(1, 3, 1, 1)
    return bridge.run(SOURCE, {"data": x.astype(np.float32)})["softmax_output"]


@contextmanager
def modules(folder: Path, *names: str) -> Iterator[list[ModuleType]]:
    """Modules of a folder, imported as a server does, and forgotten at the end."""
    sys.path.insert(0, str(folder))
    try:
        yield [importlib.import_module(n) for n in names]
    finally:
        sys.path.remove(str(folder))
        for name in (*names, "served_model"):
            sys.modules.pop(name, None)


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# -- Triton ----------------------------------------------------------------------------------------------------------------


def test_a_model_repository(model: Path, tmp_path: Path) -> None:
    result = bridge.deploy(model, "triton", tmp_path / "repository", name="net", max_batch=16)
    folder = tmp_path / "repository" / "net"
    assert sorted(files_of(folder)) == ["1/model.onnx", "config.pbtxt", "labels.txt"]
    assert (folder / "1" / "model.onnx").read_bytes() == model.read_bytes()
    assert (folder / "labels.txt").read_text().splitlines() == list(NAMES)
    text = (folder / "config.pbtxt").read_text()
    assert "max_batch_size: 16" in text and "dims: [ -1, -1, 3 ]" in text and "dynamic_batching" in text
    assert result.verdict == "equivalent" and len(result.files) == 3 and len(result.classes) == 10
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_versions_follow_each_other_and_keep_the_configuration(model: Path, plain: Path, tmp_path: Path) -> None:
    bridge.deploy(model, "triton", tmp_path, name="net")
    (tmp_path / "net" / "config.pbtxt").write_text("# edited\n")
    (tmp_path / "net" / "notes").mkdir()
    (tmp_path / "net" / "7").mkdir()
    (tmp_path / "net" / "7" / "model.onnx").write_bytes(model.read_bytes())
    result = bridge.deploy(model, "triton", tmp_path, name="net", replace=True)
    assert (tmp_path / "net" / "8" / "model.onnx").is_file()
    assert (tmp_path / "net" / "config.pbtxt").read_text() == "# edited\n"
    assert any("stays as it is" in w for w in result.warnings)
    before = files_of(tmp_path)
    with pytest.raises(bridge.BadInput, match=re.escape(f"(--name), or remove {tmp_path / 'net'} first")):
        bridge.deploy(plain, "triton", tmp_path, name="net", replace=True)
    with pytest.raises(bridge.BadInput, match="other names of classes"):
        bridge.deploy(SOURCE, "triton", tmp_path, name="net", labels=NAMES[::-1], batch="batch", preprocess=PICTURES)
    assert files_of(tmp_path) == before


def test_a_second_version_needs_no_leave_to_replace(model: Path, tmp_path: Path) -> None:
    bridge.deploy(model, "triton", tmp_path, name="net")
    assert bridge.deploy(model, "triton", tmp_path, name="net").files == (str(tmp_path / "net" / "2" / "model.onnx"),)


def test_fixed_sizes_are_served_as_they_are(plain: Path, tmp_path: Path) -> None:
    result = bridge.deploy(plain, "triton", tmp_path)
    text = (tmp_path / "plain" / "config.pbtxt").read_text()
    assert "max_batch_size: 0" in text and "dynamic_batching" not in text and "dims: [ 2, 3 ]" in text
    assert any("--dynamic batch" in w for w in result.warnings)


def test_a_batch_that_triton_cannot_make_is_refused(plain: Path, model: Path, tmp_path: Path) -> None:
    """An error before the work where it is known by then, and else before anything is put there."""
    size = {"inputs": {"data": (1, 3, 56, 56)}}
    for source, options, said in (
        (SOURCE, size, "add --dynamic batch"),
        (
            SOURCE,
            {**size, "dynamic": {"data": {2: "height"}}},
            r"exactly 1 \(data is 1 x 3 x height x 56\).*add --dynamic",
        ),
        (plain, {}, "convert with --dynamic batch"),
        (model, {"to": "python"}, "--to python makes none"),
    ):
        with pytest.raises(bridge.BadInput, match=f"--max-batch 16: .*{said}"):
            bridge.deploy(source, **{"to": "triton", "place": tmp_path / "out", "max_batch": 16, **options})
        assert not (tmp_path / "out").exists()
    bridge.deploy(model, "triton", tmp_path, name="net")
    with pytest.raises(bridge.BadInput, match=r"config\.pbtxt says 8, for all versions"):
        bridge.deploy(model, "triton", tmp_path, name="net", max_batch=16)
    assert len(bridge.deploy(model, "triton", tmp_path, name="net", max_batch=8).files) == 1


ARCHIVE = SOURCE.parents[2] / "sagemaker" / "classification.tar.gz"


def trained_with(batch: int, folder: Path) -> Path:
    """The archive as a training with that batch leaves it."""
    with tarfile.open(ARCHIVE) as file:
        members = {m.name.removeprefix("./"): file.extractfile(m).read() for m in file.getmembers() if m.isfile()}  # type: ignore[union-attr]
    shapes = json.loads(members["model-shapes.json"])
    shapes[0]["shape"][0] = batch
    members["model-shapes.json"] = json.dumps(shapes).encode()
    path = folder / "model.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("to", ["triton", "python"])
def test_the_batch_of_the_training_is_told(to: str, tmp_path: Path) -> None:
    archive = trained_with(4, tmp_path)
    said = "every request holds exactly 4, the batch of the training (data is 4 x 3 x 20 x 20)"
    options: dict[str, object]
    for number, (options, told) in enumerate(
        (
            ({}, True),
            ({"batch": "batch"}, False),
            ({"batch": 4}, False),
            ({"inputs": {"data": (4, 3, 20, 20)}}, False),
        )
    ):
        found = " ".join(bridge.deploy(archive, to, tmp_path / str(number), **options).warnings)  # type: ignore[arg-type]
        assert (said in found and "add --dynamic batch" in found) == told, options


def test_a_report_proves_what_was_deployed(tmp_path: Path) -> None:
    """Names of what was read, hashes of what was written, and all that was compared; less on the terminal."""
    report = tmp_path / "deploy.md"
    arguments = ["deploy", ARCHIVE, tmp_path / "r", "--to", "triton", "--name", "net", "--dynamic", "batch"]
    done = CliRunner().invoke(app, [*map(str, arguments), "--report", str(report)])
    assert done.exit_code == 0, done.output
    text, terminal = report.read_text(), done.output
    written = (tmp_path / "r" / "net" / "1" / "model.onnx").read_bytes()
    source = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()
    for part in (hashlib.sha256(written).hexdigest(), f"sha {source[:8]}", "further inputs", "seed 0", "layers 1-"):
        assert part in text and part not in terminal, part
    assert re.search("at batch [0-9]+ and [0-9]+", text)
    for said in (text, terminal):
        assert "classification.tar.gz (image-classification-0003.params)" in said
    assert "equivalent: net is ready for triton" in terminal
    made = bridge.inspect(tmp_path / "r" / "net" / "1" / "model.onnx").provenance
    assert made["symbol.sha256"] == source and made["params"] == "image-classification-0003.params"
    told = json.loads(CliRunner().invoke(app, [*map(str, arguments), "--json"]).stdout)
    assert told["verification"]["verdict"] == "equivalent" and "conversion" not in told
    assert bridge.deploy(written_to(tmp_path), "python", tmp_path / "p").as_dict()["verification"] is None


def written_to(folder: Path) -> Path:
    return folder / "r" / "net" / "1" / "model.onnx"


def test_inspect_says_which_parameters_it_took(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["inspect", str(ARCHIVE)])
    assert "classification.tar.gz (image-classification-0003.params)" in done.output, done.output
    for end in ("-symbol.json", "-0000.params"):
        (tmp_path / f"net{end}").write_bytes(Path(f"{SOURCE}{end}").read_bytes())
    (tmp_path / "net-0007.params").write_bytes(Path(f"{SOURCE}-0000.params").read_bytes())
    found = bridge.inspect(tmp_path / "net").read
    assert [Path(p).name for p in found] == ["net-symbol.json", "net-0007.params"]


def test_what_was_deployed_is_opened_by_its_folder(model: Path, plain: Path, tmp_path: Path) -> None:
    """A repository, or a model in it, means the version that is served; and an ONNX file wants no parameters in a folder either."""
    repository = tmp_path / "repository"
    for _ in range(2):
        bridge.deploy(model, "triton", repository, name="net")
    (repository / "net" / "10").mkdir()
    (repository / "net" / "10" / "notes.txt").write_text("none yet")
    (repository / ".hidden").mkdir()
    for place in (repository, repository / "net"):
        assert bridge.open_model(place).path == repository / "net" / "2" / "model.onnx"
    size = {"inputs": {"data": (1, 20, 30, 3)}}
    for to in ("python", "sagemaker", "mms", "cpp"):
        bridge.deploy(model, to, tmp_path / to)
        assert bridge.open_model(tmp_path / to).path == tmp_path / to / "model.onnx"
    assert bridge.verify(tmp_path / "python", repository, **size).equivalent
    bridge.deploy(SOURCE, "triton", tmp_path / "other", inputs={"data": (1, 3, 56, 56)})
    done = CliRunner().invoke(
        app, ["verify", str(SOURCE), str(tmp_path / "other"), "--params", f"{SOURCE}-0000.params"]
    )
    assert done.exit_code == 0 and "EQUIVALENT" in done.output, done.output
    bridge.deploy(plain, "triton", repository)
    with pytest.raises(
        bridge.BadInput, match=r"a repository of 2 models \(net, plain\); name the one you mean, such as .*net"
    ):
        bridge.open_model(repository)


def test_what_a_configuration_cannot_say() -> None:
    package = Package("net", {}, {"x": Spec(("n", 0), np.dtype(np.float32))}, {})
    with pytest.raises(bridge.BadInput, match="empty"):
        triton.config(package, 8)
    with pytest.raises(bridge.BadInput, match="complex64"):
        triton.config(Package("net", {}, {"x": Spec((1,), np.dtype(np.complex64))}, {}), 0)


def test_tritons_own_parser(model: Path, plain: Path, tmp_path: Path) -> None:
    """The text reads back as its proto, every field as it was meant."""
    pytest.importorskip("tritonclient.grpc")
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

    bridge.deploy(model, "triton", tmp_path, name="net")
    bridge.deploy(plain, "triton", tmp_path)
    found = {
        n: text_format.Parse((tmp_path / n / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
        for n in ("net", "plain")
    }
    net, fixed = found["net"], found["plain"]
    assert (net.name, net.backend, net.max_batch_size) == ("net", "onnxruntime", 8)
    assert [(i.name, list(i.dims), i.data_type) for i in net.input] == [
        ("data", [-1, -1, 3], model_config_pb2.TYPE_UINT8)
    ]
    assert [(o.name, list(o.dims), o.label_filename) for o in net.output] == [("softmax_output", [10], "labels.txt")]
    assert net.HasField("dynamic_batching") and not fixed.HasField("dynamic_batching")
    assert (
        net.instance_group[0].count == 1 and net.instance_group[0].kind == model_config_pb2.ModelInstanceGroup.KIND_AUTO
    )
    assert [list(i.dims) for i in fixed.input] == [[2, 3], [2, 3]] and fixed.max_batch_size == 0
    strange = 'a"b\\c\nd é'
    specs = {strange: Spec(("n",), np.dtype(np.int64))}
    read = text_format.Parse(triton.config(Package("net", {}, specs, specs), 4), model_config_pb2.ModelConfig())
    assert read.input[0].name == strange and list(read.input[0].dims) == [1] and read.input[0].HasField("reshape")
    assert list(read.input[0].reshape.shape) == []
    for dtype, name in triton.TYPES.items():
        if dtype not in ("str", "object"):
            assert name in model_config_pb2.DataType.keys()  # noqa: SIM118  an enum of protobuf


# -- SageMaker and multi-model-server -----------------------------------------------------------------------------------------


def test_an_archive_of_sagemaker(model: Path, tmp_path: Path) -> None:
    bridge.deploy(model, "sagemaker", tmp_path / "model.tar.gz")
    first = (tmp_path / "model.tar.gz").read_bytes()
    bridge.deploy(model, "sagemaker", tmp_path / "model.tar.gz", replace=True)
    assert (tmp_path / "model.tar.gz").read_bytes() == first
    with tarfile.open(tmp_path / "model.tar.gz") as file:
        names = file.getnames()
        assert all(m.isreg() for m in file.getmembers())
        file.extractall(tmp_path / "unpacked", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    wanted = {"code/inference.py", "code/served_model.py", "code/requirements.txt", "labels.txt", "model.onnx"}
    assert set(names) == wanted
    picture = pixels(2, 20, 30, 3)
    right = right_answer(model, picture)
    with modules(tmp_path / "unpacked" / "code", "inference") as (code,):
        loaded = code.model_fn(str(tmp_path / "unpacked"))
        npy, npz, encoded = io.BytesIO(), io.BytesIO(), io.BytesIO()
        np.save(npy, picture)
        np.savez(npz, data=picture)
        text = json.dumps(picture.tolist())
        for body, kind in (
            (text, "application/json"),
            (json.dumps({"data": picture.tolist()}), "application/json; charset=utf-8"),
            (json.dumps({"instances": picture.tolist()}), "application/json"),
            (npy.getvalue(), "application/x-npy"),
            (npz.getvalue(), "application/x-npz"),
        ):
            outputs = code.predict_fn(code.input_fn(body, kind), loaded)
            answer, said = code.output_fn(outputs, "application/json")
            assert said == "application/json"
            np.testing.assert_allclose(json.loads(answer), right, rtol=1e-4, atol=1e-6)
        Image.fromarray(picture[0]).save(encoded, "png")
        outputs = code.predict_fn(code.input_fn(encoded.getvalue(), "image/png"), loaded)
        # the decoder gives red first, and the file takes blue first: as if the array had been turned
        np.testing.assert_allclose(
            outputs["softmax_output"], right_answer(model, picture[:1, :, :, ::-1]), rtol=1e-4, atol=1e-6
        )
        answer, _ = code.output_fn(outputs, "application/x-npy")
        np.testing.assert_array_equal(np.load(io.BytesIO(answer)), outputs["softmax_output"])
        answer, _ = code.output_fn(outputs, "text/csv, */*")
        np.testing.assert_allclose(
            np.loadtxt(io.StringIO(answer), delimiter=","), outputs["softmax_output"][0], rtol=1e-6
        )
        for call in (
            lambda: code.input_fn("1", "text/html"),
            lambda: code.output_fn(outputs, "text/html"),
            lambda: code.predict_fn({"other": picture}, loaded),
            lambda: code.predict_fn(picture[0], loaded),
            lambda: code.predict_fn(picture + 0.5, loaded),
            lambda: code.predict_fn(picture.astype(int) * 300, loaded),
        ):
            with pytest.raises(ValueError, match="got"):
                call()


def test_what_deploy_wrote_needs_no_look_at_its_programs(model: Path, tmp_path: Path) -> None:
    """They do nothing but what the file says; those that somebody changed may."""
    bridge.deploy(model, "sagemaker", tmp_path / "model.tar.gz")
    assert not bridge.open_model(tmp_path / "model.tar.gz").notes
    bridge.deploy(model, "mms", tmp_path / "net.mar")
    assert not bridge.open_model(tmp_path / "net.mar").notes
    bridge.deploy(model, "sagemaker", tmp_path / "out")
    with (tmp_path / "out" / "code" / "inference.py").open("a") as file:
        file.write("print()\n")
    with tarfile.open(tmp_path / "changed.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "out", ".")
    (note,) = bridge.open_model(tmp_path / "changed.tar.gz").notes
    assert note.startswith("the archive holds code/inference.py: ")


def test_sagemakers_own_toolkit(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = pytest.importorskip("sagemaker_inference.transformer")
    bridge.deploy(model, "sagemaker", tmp_path / "m")
    monkeypatch.setenv("SAGEMAKER_PROGRAM", "inference.py")
    monkeypatch.setenv("SAGEMAKER_BASE_DIR", str(tmp_path))
    picture = pixels(1, 20, 30, 3)
    properties = {"Content-Type": "application/json", "Accept": "application/json"}
    request = SimpleNamespace(get_request_properties=lambda: properties, report_status=lambda *a, **k: None)
    context = SimpleNamespace(
        system_properties={"model_dir": str(tmp_path / "m")},
        request_processor=[request],
        set_response_content_type=lambda *a: None,
        set_response_status=lambda **k: None,
    )
    with modules(tmp_path / "m" / "code", "inference"):
        served = transformer.Transformer()
        (answer,) = served.transform([{"body": json.dumps(picture.tolist()).encode()}], context)
    np.testing.assert_allclose(json.loads(answer), right_answer(model, picture), rtol=1e-4, atol=1e-6)


def test_an_archive_of_multi_model_server(model: Path, tmp_path: Path) -> None:
    bridge.deploy(model, "mms", tmp_path / "net.mar", name="net")
    with zipfile.ZipFile(tmp_path / "net.mar") as file:
        file.extractall(tmp_path / "unpacked")
    folder = tmp_path / "unpacked"
    manifest = json.loads((folder / "MAR-INF" / "MANIFEST.json").read_text())
    assert manifest["model"] == {"modelName": "net", "handler": "service.py:handle"}
    signature = json.loads((folder / "signature.json").read_text())
    assert signature["inputs"] == [{"data_name": "data", "data_shape": [0, 0, 0, 3]}]
    assert (folder / "synset.txt").read_text().splitlines() == list(NAMES)
    picture = pixels(1, 20, 30, 3)
    encoded, npy = io.BytesIO(), io.BytesIO()
    Image.fromarray(picture[0, :, :, ::-1]).save(encoded, "png")
    np.save(npy, picture)
    context = SimpleNamespace(system_properties={"model_dir": str(folder)})
    contents = [encoded.getvalue(), npy.getvalue(), json.dumps(picture.tolist()).encode(), {"data": picture.tolist()}]
    with modules(folder, "service") as (service,):
        assert service.handle(None, context) is None
        answers = service.handle([{"body": c} for c in contents] + [{"data": npy.getvalue()}], context)
    (right,) = right_answer(model, picture)
    order = np.argsort(-right)[:5]
    assert len(answers) == 5
    for answer in answers:
        (row,) = answer
        assert [r["class"] for r in row] == [NAMES[i] for i in order]
        np.testing.assert_allclose([r["probability"] for r in row], right[order], rtol=1e-4)


def test_multi_model_servers_own_loader(model: Path, tmp_path: Path) -> None:
    loaders = pytest.importorskip("mms.model_loader")
    bridge.deploy(model, "mms", tmp_path / "net", name="net")
    npy = io.BytesIO()
    picture = pixels(1, 20, 30, 3)
    np.save(npy, picture)
    with modules(tmp_path / "net", "service"):
        service = loaders.ModelLoaderFactory.get_model_loader(str(tmp_path / "net")).load(
            "net", str(tmp_path / "net"), "service.py:handle", None, 1
        )
        request = {"requestId": b"1", "parameters": [{"name": "body", "value": npy.getvalue(), "contentType": "x"}]}
        answer = bytes(service.predict([request]))
    assert b"Prediction success" in answer and NAMES[int(right_answer(model, picture).argmax())].encode() in answer


# -- programs ----------------------------------------------------------------------------------------------------------------


def called(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_program_in_python(model: Path, tmp_path: Path) -> None:
    bridge.deploy(model, "python", tmp_path / "program")
    picture = pixels(2, 20, 30, 3)
    np.savez(tmp_path / "in.npz", data=picture)
    Image.fromarray(picture[0, :, :, ::-1]).save(tmp_path / "in.png")
    run = [sys.executable, "program/run.py"]
    np.savez(tmp_path / "wide.npz", data=picture.astype(float))
    assert (
        "data is float64 and was taken in the type of the model, tensor(uint8)"
        in called([*run, "wide.npz"], tmp_path).stdout
    )
    done = called([*run, "in.npz", "--output", "out.npz", "-k", "2"], tmp_path)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as file:
        found = file["softmax_output"]
    right = right_answer(model, picture)
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-6)
    lines = done.stdout.splitlines()
    assert lines[0] == "softmax_output: float32 (2, 10)" and len(lines) == 5
    assert lines[1] == f"[0] {right[0].max():.6f} {NAMES[int(right[0].argmax())]}"
    done = called([*run, "in.png", "-k", "2"], tmp_path)
    assert done.returncode == 0 and done.stdout.splitlines()[1:] == lines[1:3]


def test_the_program_in_cpp(model: Path, plain: Path, tmp_path: Path) -> None:
    """With ONNXRUNTIME_ROOT of the environment, an unpacked release of onnxruntime."""
    root = os.environ.get("ONNXRUNTIME_ROOT")
    if root is None:
        pytest.skip("no headers of onnxruntime: ONNXRUNTIME_ROOT names no unpacked release")
    bridge.deploy(model, "cpp", tmp_path / "program")
    strict = "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"
    for command in (
        ["cmake", "-S", ".", "-B", "build", f"-DONNXRUNTIME_ROOT={root}", strict],
        ["cmake", "--build", "build"],
    ):
        done = called(command, tmp_path / "program")
        assert done.returncode == 0, done.stdout + done.stderr
    run = str(tmp_path / "program" / "build" / "run")
    picture = pixels(2, 20, 30, 3)
    np.save(tmp_path / "in.npy", picture)
    Image.fromarray(picture[0, :, :, ::-1]).save(tmp_path / "in.ppm")
    (tmp_path / "out").mkdir()
    done = called([run, "program/model.onnx", "data=in.npy", "--output", "out"], tmp_path)
    assert done.returncode == 0, done.stderr
    right = right_answer(model, picture)
    np.testing.assert_allclose(np.load(tmp_path / "out" / "0.npy"), right, rtol=1e-4, atol=1e-6)
    lines = done.stdout.splitlines()
    assert lines[0] == "softmax_output: <f4 2 x 10" and len(lines) == 11
    assert lines[1].startswith("[0] ") and lines[1].endswith(NAMES[int(right[0].argmax())])
    done = called([run, "program/model.onnx", "data=in.ppm"], tmp_path)
    assert done.returncode == 0 and done.stdout.splitlines()[1:] == lines[1:6]
    for array, name in ((np.float32([[1, 2, 3], [4, 5, 6]]), "left"), (np.ones((2, 3), np.float32), "right")):
        np.save(tmp_path / f"{name}.npy", array)
    done = called([run, str(plain), "left=left.npy", "right=right.npy", "--output", "out"], tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "0.npy"), [[2, 3, 4], [5, 6, 7]])
    np.testing.assert_allclose(np.load(tmp_path / "out" / "1.npy"), [21])
    for arguments, said in (
        (["left=left.npy"], "takes right"),
        (["left=left.npy", "right=right.npy", "x=left.npy"], "no input x"),
        (["left=in.ppm", "right=right.npy"], "prepared numbers"),
        (["left=none.npy", "right=right.npy"], "cannot read"),
        (["left=in.npy", "right=right.npy"], "error"),
    ):
        done = called([run, str(plain), *arguments], tmp_path)
        assert done.returncode == 2 and said in done.stderr


def test_prepared_numbers_are_no_pictures(plain: Path, tmp_path: Path) -> None:
    """A model of unknown preparation takes no picture: its numbers would be wrong without a word."""
    data = tmp_path / "bare.onnx"
    bridge.convert(SOURCE, inputs={"data": (1, 3, 56, 56)}, output=data)
    bridge.deploy(data, "python", tmp_path / "program")
    Image.fromarray(pixels(56, 56, 3)).save(tmp_path / "in.png")
    done = called([sys.executable, "program/run.py", "in.png"], tmp_path)
    assert done.returncode != 0 and "takes prepared numbers" in done.stderr


# -- all of them ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["triton", "sagemaker", "mms", "python", "cpp"])
def test_external_data_and_files_that_are_there(to: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    bridge.convert(SOURCE, inputs={"data": (1, 3, 56, 56)}, output=source / "net.onnx", external_data=True)
    bridge.deploy(source / "net.onnx", to, tmp_path / "place")
    (written,) = (tmp_path / "place").rglob("model.onnx")
    feeds = {"data": np.ones((1, 3, 56, 56), np.float32)}
    found, right = bridge.run(written, feeds), bridge.run(source / "net.onnx", feeds)
    np.testing.assert_array_equal(found["softmax_output"], right["softmax_output"])
    if to == "triton":
        return
    before = files_of(tmp_path / "place")
    with pytest.raises(bridge.BadInput, match="--replace"):
        bridge.deploy(source / "net.onnx", to, tmp_path / "place")
    assert files_of(tmp_path / "place") == before
    bridge.deploy(source / "net.onnx", to, tmp_path / "place", replace=True)
    assert files_of(tmp_path / "place") == before


def test_nothing_appears_when_something_is_wrong(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(onnx.load(plain).SerializeToString()[:-40])
    before = files_of(tmp_path)
    for model, options, said in (
        (plain, {"to": "kubernetes"}, "wanted one of triton"),
        (plain, {"place": tmp_path / "file"}, "wanted a folder"),
        (plain, {"place": tmp_path / "none" / "deep"}, "no folder"),
        (plain, {"name": "../up"}, "such as"),
        (plain, {"name": "a b"}, "such as a_b"),
        (plain, {"max_batch": 0}, "1 or more"),
        (plain, {"batch": 1}, "belong to the conversion"),
        (plain, {"preprocess": PICTURES}, "belong to the conversion"),
        (SOURCE, {}, "--input"),
    ):
        with pytest.raises(bridge.BadInput, match=said):
            bridge.deploy(model, **{"to": "python", "place": tmp_path / "out", **options})
        assert files_of(tmp_path) == before and not (tmp_path / "out").exists()
    with pytest.raises(Exception, match="broken"):
        bridge.deploy(broken, "python", tmp_path / "out")
    monkeypatch.setattr("bridge.serving.deploy.move", lambda *pairs: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="the disk is full"):
        bridge.deploy(plain, "triton", tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.onnx", "file"]


def test_names_stay_inside() -> None:
    for text in ("../../etc", "a/b", "...", "", "é", "a\\b:c", "-x"):
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", safe_name(text)), text
        assert "/" not in safe_name(text) and not safe_name(text).startswith(".")


def test_labels_of_an_served_model(plain: Path, model: Path, tmp_path: Path) -> None:
    names = ("one", "two", "three")
    bridge.deploy(plain, "python", tmp_path / "a", labels=names)
    assert (tmp_path / "a" / "labels.txt").read_text().split() == list(names)
    assert bridge.inspect(tmp_path / "a" / "model.onnx").classes == names
    with pytest.raises(bridge.BadInput, match="carries 10 names"):
        bridge.deploy(model, "python", tmp_path / "b", labels=names)


@pytest.fixture
def ranker(tmp_path: Path) -> Path:
    """Scores of five classes, of four for each of three words, and the two best of the five."""
    x = mx.sym.var("data")
    scores = mx.sym.softmax(mx.sym.FullyConnected(x, num_hidden=5, name="top"), name="scores")
    words = mx.sym.reshape(mx.sym.FullyConnected(x, num_hidden=12, name="of_words"), shape=(-1, 3, 4), name="words")
    best = mx.sym.topk(scores, k=2, ret_typ="both", name="best")
    net = mx.sym.Group([scores, words, best[0], best[1]])
    shapes = {"data": (1, 6)}
    rng = np.random.default_rng(0)
    found = dict(zip(net.list_arguments(), net.infer_shape(**shapes)[0]))
    arrays = {n: mx.nd.array(rng.normal(size=s)) for n, s in found.items() if n not in shapes}
    mx.model.save_checkpoint(str(tmp_path / "ranker"), 0, net, arrays, {})
    return tmp_path / "ranker"


@pytest.mark.parametrize("by", ["symbol", "file"])
def test_labels_are_of_the_scores_of_classes(by: str, ranker: Path, tmp_path: Path) -> None:
    """And not of the best two of them, however many names there are: a line says which output has them."""
    told = {"inputs": {"data": (1, 6)}, "batch": "batch"}
    names = [f"kind {i}" for i in range(5)]
    if by == "symbol":
        done = bridge.deploy(ranker, "triton", tmp_path / "r", labels=names, **told)
        assert "labels: 5 names for the classes of scores_output" in done.warnings
        with pytest.raises(bridge.BadInput, match="got 2 names, and no output has as many classes"):
            bridge.deploy(ranker, "triton", tmp_path / "two", labels=names[:2], **told)
    else:
        bridge.convert(ranker, output=tmp_path / "r.onnx", **told)
        done = bridge.deploy(tmp_path / "r.onnx", "triton", tmp_path / "r", name="ranker", labels=names)
        two = bridge.deploy(tmp_path / "r.onnx", "triton", tmp_path / "two", name="ranker", labels=names[:2])
        assert any("no output holds a score for each of 2 names" in w for w in two.warnings)
        assert "label_filename" not in (tmp_path / "two" / "ranker" / "config.pbtxt").read_text()
    assert "labels.txt names the classes of scores_output" in done.warnings
    text = (tmp_path / "r" / "ranker" / "config.pbtxt").read_text()
    assert [part.split('"')[1] for part in text.split("output [")[1:] if "label_filename" in part] == ["scores_output"]


def test_the_command_line(tmp_path: Path) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("\n".join(NAMES))

    def run(*arguments: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(map(str, arguments)))
        return result.exit_code, result.output

    pictures = ("--uint8", "--layout", "NHWC", "--resize", "64x56", "--unit")
    place = tmp_path / "repository"
    code, said = run(
        "deploy", SOURCE, place, "--to", "triton", "--labels", labels, *pictures, "--dynamic", "batch", "--json"
    )
    assert code == 0 and json.loads(said)["verdict"] == "equivalent"
    assert (place / "model" / "config.pbtxt").is_file()
    said = run("deploy", SOURCE, tmp_path / "p", "--to", "python", "--input", "data:1,56,56,3", *pictures[:3])[1]
    assert "run.py PICTURE or INPUTS.npz" in " ".join(said.split()), said
    code, said = run("deploy", SOURCE, tmp_path / "x", "--to", "python", "--input", "data:1,3,56,56", "--top-k", 2)
    assert "run.py INPUTS.npz" in " ".join(said.split()), said
    assert code == 0 and "is ready for python" in said and (tmp_path / "x" / "run.py").is_file()
    named = run("deploy", SOURCE, tmp_path / "z", "--to", "python", "--input", "data:1,3,56,56", "--labels", labels)[1]
    assert re.search("classes +10: class 0, class 1, class 2, class 3, class 4 and 5 more", named), named
    code, said = run("deploy", SOURCE, tmp_path / "y")
    assert code == 2 and not (tmp_path / "y").exists()
    assert "--to is required" in said and "triton, sagemaker, mms, python, cpp" in said


def test_what_convert_takes_deploy_takes(plain: Path, tmp_path: Path) -> None:
    """Forms and another precision; of an ONNX model names of classes alone."""

    def run(*arguments: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(map(str, ("deploy", *arguments, "--to", "python"))))
        return result.exit_code, result.output

    size = ("--input", "data:1,3,56,56")
    code, said = run(SOURCE, tmp_path / "half", *size, "--fp16", "--fp16-io", "--seed", 1)
    assert code == 0, said
    assert {s["dtype"] for s in bridge.inspect(tmp_path / "half" / "model.onnx").inputs.values()} == {"float16"}
    code, said = run(SOURCE, tmp_path / "kept", *size, "--keep-graph", "--opset", 15, "--external-data")
    assert code == 0 and onnx.load(tmp_path / "kept" / "model.onnx").opset_import[0].version == 15, said
    assert sorted(p.name for p in (tmp_path / "kept").glob("model*")) == ["model.onnx", "model.onnx.data"]
    labels = tmp_path / "labels.txt"
    labels.write_text("one\ntwo\nthree")
    code, said = run(plain, tmp_path / "named", "--labels", labels)
    assert code == 0 and bridge.inspect(tmp_path / "named" / "model.onnx").classes == ("one", "two", "three"), said
    for options in (
        ["--fp16"],
        ["--keep-graph"],
        ["--softmax", "--labels", labels],
        ["--opset", 15],
        ["--image", "x.png"],
    ):
        code, said = run(plain, tmp_path / "no", *options)
        assert code == 2 and not (tmp_path / "no").exists(), (options, said)
