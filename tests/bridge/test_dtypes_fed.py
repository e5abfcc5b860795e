"""Arrays of another dtype than the network takes: said with the file's name before anything runs, and only where it is so."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.models import as_whole, check_dtypes, hold_dtypes, open_model
from hybrid import native
from hybrid.core.op import Spec
from hybrid.ir import facts

SAID = "data is float64, the model takes float32; save it as array.astype('float32')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that says no dtype, its ONNX file, and arrays as NumPy makes them."""
    path = tmp_path_factory.mktemp("fed")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.Activation(net, act_type="tanh", name="out")
    net.save(str(path / "net-symbol.json"))
    rng = np.random.default_rng(0)
    weights = {"arg:fc_weight": rng.normal(size=(2, 3)), "arg:fc_bias": rng.normal(size=2)}
    mx.nd.save(str(path / "net-0000.params"), {n: mx.nd.array(a) for n, a in weights.items()})
    bridge.convert(path / "net", inputs={"data": (2, 3)}, batch="batch", output=path / "net.onnx")
    np.savez(path / "x.npz", data=rng.normal(size=(2, 3)))
    np.savez(path / "larger.npz", data=rng.normal(size=(5, 3)))
    for file in ("net.onnx", "net-symbol.json", "net-0000.params"):
        shutil.copy(path / file, path / file.replace("net", "compiled"))
    np.savez(path / "right.npz", data=rng.normal(size=(2, 3)).astype(np.float32))
    return path


WITH_KERNELS = pytest.mark.skipif(native.level() is None, reason="NumPy has no programs to save")


@pytest.fixture
def compiled(folder: Path, request: pytest.FixtureRequest) -> None:
    """The file beside a model from which it starts, where the command is for that."""
    model = request.getfixturevalue("command").split()[1]
    if model.startswith("compiled"):
        bridge.compile(folder / model, inputs=folder / "right.npz")


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "command",
    [
        "run net --inputs x.npz",
        "run net --engine onnxruntime --inputs x.npz",
        "run net.onnx --inputs x.npz",
        "convert net --inputs x.npz -o made.onnx",
        "convert net --inputs right.npz --also x.npz -o made.onnx",
        "deploy net made --to triton --inputs x.npz",
        "verify net net.onnx --inputs x.npz",
        "verify net.onnx net --inputs x.npz",
        "verify net.onnx net.onnx --inputs x.npz",
        "verify net net.onnx --inputs right.npz --also x.npz",
        pytest.param("compile net --inputs x.npz -o made.gluonnx", marks=WITH_KERNELS),
        pytest.param("compile net.onnx --inputs x.npz -o made.gluonnx", marks=WITH_KERNELS),
        pytest.param("run compiled --compiled --inputs x.npz", marks=WITH_KERNELS),
        pytest.param("run compiled --compiled --inputs larger.npz", marks=WITH_KERNELS),
        pytest.param("run compiled.onnx --compiled --inputs x.npz", marks=WITH_KERNELS),
        "record net --inputs x.npz -o made.npz",
        "record net.onnx --inputs x.npz -o made.npz",
        "bench net --inputs x.npz --seconds 0.01",
        "matrix net --inputs x.npz",
        "matrix net net.onnx --inputs x.npz",
    ],
)
def test_every_command_names_the_file(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, command.split())
    said = " ".join(done.output.split())
    file = next(word for word in command.split() if word in ("x.npz", "larger.npz"))
    assert done.exit_code == 2 and f"{file}: {SAID}" in said and "gluonnx explain dtype-of-input" in said, done.output
    assert not list(folder.glob("made*"))


def embedding(dtype: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Rows of a table by their numbers, and weights beside them."""
    rows = mx.sym.Embedding(mx.sym.var("ids"), mx.sym.var("table"), input_dim=5, output_dim=3, name="rows")
    return mx.sym.FullyConnected(rows + mx.sym.var("more"), mx.sym.var("weight"), num_hidden=2, no_bias=True), {
        "table": np.ones((5, 3), dtype),
        "weight": np.ones((2, 6), dtype),
    }


@pytest.mark.parametrize("ids", [np.int32, np.int64, np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_runs_is_not_refused(ids: Any, dtype: Any) -> None:
    """Numbers of rows are of any dtype, and a network in half or double precision takes its own."""
    net, params = embedding(dtype)
    feeds = {"ids": np.ones((1, 2), ids), "more": np.ones((1, 2, 3), dtype)}
    hold_dtypes(open_model(net, params), feeds)
    (found,) = bridge.run(net, feeds, params=params).values()
    np.testing.assert_array_equal(found, np.full((1, 2), 12))


def test_the_one_that_does_not_fit_is_blamed() -> None:
    """Neither an input that fits beside it, nor one that comes before it."""
    net, params = embedding(np.float32)
    specs = {"ids": Spec((1, 2), np.dtype("int64")), "more": Spec((1, 2, 3), np.dtype("float64"))}
    (said,) = check_dtypes(open_model(net, params), specs, {"more": "x.npz"})
    assert said.startswith("x.npz: more is float64, the model takes float32")
    two = open_model(mx.sym.var("a") + mx.sym.var("b"), {})
    dtypes = {"a": np.dtype("float64"), "b": np.dtype("float32")}
    (said,) = check_dtypes(two, {n: Spec((2,), d) for n, d in dtypes.items()})
    assert said.startswith("input a: got float64, wanted float32")
    assert check_dtypes(two, {n: Spec((2,), dtypes["a"]) for n in dtypes}) == []


def test_a_file_of_another_precision_is_still_compared(folder: Path, tmp_path: Path) -> None:
    """True on both sides: what goes into a float16 file is rounded."""
    half = tmp_path / "half.onnx"
    bridge.convert_in(bridge.Half(), folder / "net", inputs={"data": (2, 3)}, output=half)
    for pair in ((folder / "net", half), (half, folder / "net")):
        assert bridge.verify(*pair, inputs=folder / "right.npz").equivalent


@WITH_KERNELS
def test_arrays_are_looked_at_by_the_inference_that_the_run_is_of(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one size there is one inference; a comparison converts besides, for sizes that are open."""
    seen: list[Any] = []
    found = facts.infer
    monkeypatch.setattr(facts, "infer", lambda graph, shapes, *a, **k: _seen(seen, shapes, found, graph, *a, **k))
    feeds = dict(np.load(folder / "right.npz"))
    bridge.compile(folder / "net", inputs=feeds, output=tmp_path / "net.gluonnx")
    assert seen == ["(2, 3)"]
    started = bridge.CompiledModel(folder / "net", compiled=tmp_path / "net.gluonnx")
    started.run(feeds)
    assert seen == ["(2, 3)"], "nothing is inferred of what it was compiled for"
    for ran in (
        lambda: bridge.run(folder / "net", feeds),
        lambda: bridge.run(folder / "net", feeds, engine="onnxruntime"),
        lambda: bridge.record(folder / "net", feeds),
        lambda: bridge.bench(folder / "net", inputs=feeds, seconds=0.01),
        lambda: bridge.convert(folder / "net", inputs=feeds, output=tmp_path / "net.onnx"),
        lambda: bridge.verify(folder / "net", folder / "net.onnx", inputs=feeds),
        lambda: started.run({"data": np.ones((2, 3, 1), "f")}),
    ):
        seen.clear()
        ran()
        assert sum(shape in ("(2, 3)", "(2, 3, 1)") for shape in seen) == 1, seen


def _seen(
    seen: list[Any], shapes: Mapping[str, Any], infer: Callable[..., Any], graph: Any, *told: Any, **more: Any
) -> Any:
    seen.append(str(shapes.get("data")))  # sizes that are not known compare with none
    return infer(graph, shapes, *told, **more)


@pytest.fixture(scope="module")
def ids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that a file picks from by int64, as convert advises it, and recordings as MXNet makes them, of float32."""
    path = tmp_path_factory.mktemp("ids")
    net = mx.sym.Embedding(mx.sym.var("ids"), input_dim=9, output_dim=3, name="rows")
    net.save(str(path / "net-symbol.json"))
    table = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    mx.nd.save(str(path / "net-0000.params"), {"arg:rows_weight": mx.nd.array(table)})
    given = {"ids": Spec((2, 4), np.dtype("int64"))}
    bridge.convert(path / "net", inputs=given, batch="batch", output=path / "net.onnx")
    bridge.import_onnx(path / "net.onnx", output=path / "again")
    for name, numbers in (
        ("whole", np.arange(8).reshape(2, 4)),
        ("part", np.full((2, 4), 2.5)),
        ("far", np.full((2, 4), 1e30)),
    ):
        array = numbers.astype(np.float32)
        np.savez(path / f"{name}.npz", ids=array)
        if name == "whole":
            bridge.record(path / "net", {"ids": array}, path / "recorded.npz")
    return path


@pytest.mark.parametrize(
    "command",
    [
        "run net.onnx --inputs whole.npz",
        "run again --inputs whole.npz",
        "verify net net.onnx --inputs whole.npz",
        "verify net.onnx net --inputs whole.npz",
        "verify again net.onnx --inputs whole.npz",
        "verify net net.onnx --expected recorded.npz",
        "verify net.onnx --expected recorded.npz",
        "verify again --expected recorded.npz",
        "import net.onnx --expected recorded.npz -o made",
        "record net.onnx --inputs whole.npz -o made.npz",
        "bench net.onnx --inputs whole.npz --seconds 0.01",
        pytest.param("compile net.onnx --inputs whole.npz -o made.gluonnx", marks=WITH_KERNELS),
    ],
)
def test_floats_of_a_file_that_are_whole_numbers_are_integers(
    ids: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As MXNet records positions; others are refused, with the first that is none."""
    monkeypatch.chdir(ids)
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    if "verify" in command:
        assert "whole numbers of float32 there" in " ".join(done.output.split())
    for name, words in (("part", "2.5 at (0, 0) is no whole number"), ("far", "1e+30 at (0, 0) is beyond int64")):
        if "whole.npz" in command:
            done = CliRunner().invoke(app, command.replace("whole.npz", f"{name}.npz").split())
            said = " ".join(done.output.split())
            assert done.exit_code == 2 and f"{name}.npz: ids is float32, the model takes int64" in said, said
            assert words in said


def test_of_a_program_s_own_floats_nothing_else_is_made(ids: Path) -> None:
    with pytest.raises(bridge.BadInput, match="got float32, wanted int64"):
        bridge.run(ids / "net.onnx", {"ids": np.ones((2, 4), np.float32)})


def test_what_is_taken_for_whole_numbers() -> None:
    for numbers, dtype, words in (
        ([0.0, -0.0, 127.0, -128.0], "int8", ""),
        ([0.0, 128.0], "int8", "128 at (1) is beyond int8"),
        ([2.0**63], "int64", "9.22337e+18 at (0) is beyond int64"),
        ([1.0, np.nan], "int32", "nan at (1) is no whole number"),
        ([np.inf], "int32", "inf at (0) is no whole number"),
        ([-1.0], "uint8", "-1 at (0) is beyond uint8"),
        ([0.5], "int32", "0.5 at (0) is no whole number"),
    ):
        found, why = as_whole(np.array(numbers), np.dtype(dtype))
        assert why == words
        assert (found is None) == bool(words) and (found is None or found.dtype == dtype)


@WITH_KERNELS
def test_a_program_is_told_too(folder: Path, tmp_path: Path) -> None:
    bridge.compile(folder / "net", inputs=folder / "right.npz", output=tmp_path / "net.gluonnx")

    def started(model: Path, feeds: Any) -> Any:
        return bridge.CompiledModel(model, compiled=tmp_path / "net.gluonnx").run(feeds)

    call: Callable[..., Any]
    for call in (bridge.run, bridge.record, started):
        with pytest.raises(bridge.BadInput, match="input data: got float64, wanted float32; convert it"):
            call(folder / "net", {"data": np.ones((2, 3))})
    with pytest.raises(bridge.BadInput, match=r"x\.npz: data is float64"):
        bridge.run(folder / "net", folder / "x.npz")


def test_a_file_that_takes_doubles_is_fed_doubles(tmp_path: Path) -> None:
    """An error for float32 there: NumPy calls float64 equal to no dtype at all."""
    path = tmp_path / "double.onnx"
    bridge.convert(mx.sym.exp(mx.sym.var("data")), {}, inputs={"data": np.ones(2)}, output=path)
    np.savez(tmp_path / "single.npz", data=np.ones(2, np.float32))
    np.savez(tmp_path / "double.npz", data=np.ones(2))
    with pytest.raises(bridge.BadInput, match=r"single\.npz: data is float32, the model takes float64"):
        bridge.run(path, tmp_path / "single.npz")
    assert len(bridge.run(path, tmp_path / "double.npz")) == 1
