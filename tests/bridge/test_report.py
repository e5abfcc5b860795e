"""Printed reports of each command: every line, from results whose figures are known; and what its options hand on."""

import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge import cli, report
from bridge.bench import BenchResult, Peak, StepTime
from bridge.command import converting, options, running, shell, verifying
from bridge.compare import Difference
from bridge.convert import ConvertResult
from bridge.faces import words
from bridge.faces.text import render
from bridge.fallbacks import FallbackCount
from bridge.importing import ImportResult
from bridge.inspect import InspectResult, OperatorsResult
from bridge.paths import bytes_text
from bridge.printable import clean, printable
from bridge.recorded import own_version
from bridge.result import Divergence, VerifyResult
from converters import ConversionError, Problem, UnsupportedModel
from converters.coverage import Row
from hybrid.core.error import InternalError, MXNetError
from tests.models.networks import FOLDER

NEAR = Difference(
    "y",
    "float32",
    (2, 3),
    True,
    "",
    max_abs=1.26e-5,
    max_rel=2.5e-6,
    cosine=0.99999914,
    top1=0.5,
    needs=3.01e-6,
    relative=4e-6,
    index=(1, 2),
    tolerance="atol 1e-05 x 4 + rtol 0.0001",
)
FAR = Difference(
    "z",
    "float16",
    (4,),
    False,
    "1 of 4 beyond",
    max_abs=0.25,
    max_rel=0.5,
    cosine=-0.25,
    needs=0.25,
    index=(3,),
    beyond=1,
)
OTHER = Difference("w", "int64", (4,), False, "shape (3,), wanted (4,)", compared=False)
SETTLED = replace(NEAR, name="s", settled_by="float64", top1=None)
HEAD = "output beyond max abs at max rel needs atol of scale cosine top-1 verdict"
LINES = {
    "y": "y 0 1.3e-05 (1,2) 4.0e-06 3.1e-06 2.5e-06 0.9999991 50.0% equal",
    "z": "z 1/4 2.5e-01 (3) 0 2.5e-01 5.0e-01 -0.2500000 differs",
    "w": "w differs",
    "s": "s 0 1.3e-05 (1,2) 4.0e-06 3.1e-06 2.5e-06 0.9999991 equal by float64",
}
BRIEF = "|a - b| may be atol 1e-05 x 4 + rtol 0.0001 of |a|"
RULE = "tolerance atol 1e-05 x 4 + rtol 0.0001"
FOUND = VerifyResult(
    "one", "two", "equivalent", ({}, {}), (NEAR, SETTLED), seconds=1.234, inner=7, warnings=("mind", "me")
)
CONVERTED = ConvertResult(
    model="net",
    files=("a.onnx", "a.onnx.data"),
    opset=17,
    inputs={"x": {"shape": ["n", 3], "dtype": "float32"}, "k": {"shape": [], "dtype": None}},
    outputs={"y": {"shape": None, "dtype": "float16"}},
    operators={"Conv": 3, "Relu": 2},
    parameters=1234567,
    bytes=2_500_000,
    verified=True,
    verification=FOUND,
    pruned=("label", "other"),
    unused=("p0", "p1", "p2", "p3", "p4"),
    warnings=("first", "second"),
    seconds={"read": 0.126, "verify": 2.0},
    sha256={"a.onnx": "12ab"},
)
IMPORTED = ImportResult(
    model="net",
    files=("a-symbol.json", "a-0000.params"),
    opset=13,
    inputs={"x": {"shape": [2], "dtype": "float32"}},
    outputs={n: {"shape": [2], "dtype": "float32"} for n in ("y", "z")},
    operators={},
    parameters=12,
    bytes=999,
    repairs=("this", "that"),
    mxnet=("_onnx_A, 2 times", "_onnx_B"),
    verified=True,
    witness="onnxruntime",
    verification=FOUND,
    warnings=("first",),
    seconds={"read": 0.5},
)


def lines(capsys: pytest.CaptureFixture[str], shown: Any) -> list[str]:
    """Printed lines, with single spaces, without empty lines."""
    report.show(shown)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_every_way_to_be_equal_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    ways = ("float64", "tolerance", "node by node", "rounding of one node", "")
    found = replace(FOUND, differences=tuple(replace(NEAR, name=f"y{i}", settled_by=w) for i, w in enumerate(ways)))
    shown = lines(capsys, report.verify_table(found))
    assert [line.split("50.0% ")[1] for line in shown[3:8]] == [f"equal by {w}" if w else "equal" for w in ways]
    for inner in (1, 2):
        told = f"inside {inner} tensors were computed by both from the same values"
        assert told in lines(capsys, report.verify_table(replace(FOUND, inner=inner)))
    assert not any(line.startswith("inside") for line in lines(capsys, report.verify_table(replace(FOUND, inner=0))))


def test_measures_of_nothing_are_shown_and_those_that_are_none_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    zero = replace(NEAR, max_abs=0.0, max_rel=0.0, relative=0.0, needs=0.0, cosine=0.0, top1=0.0)
    apart = replace(zero, compared=False, equal=False, reason="shape (2,), wanted (3,)")
    found = replace(FOUND, differences=(zero, replace(zero, top1=None), apart))
    assert lines(capsys, report.verify_table(found))[3:7] == [
        "y 0 0 0 0 0 0.0000000 0.0% equal",
        "y 0 0 0 0 0 0.0000000 equal",
        "y differs",
        "y: shape (2,), wanted (3,)",
    ]
    told = lines(capsys, report.convert_table(replace(CONVERTED, parameters=0, seconds={"read": 0.0}, opset=0)))
    assert {"parameters 0", "seconds read 0.00", "opset 0"} <= set(told)
    shown = {"none": np.zeros((0, 2), np.float32), "one": np.float32(0), "flags": np.array([False])}
    assert lines(capsys, report.arrays(shown)) == ["none float32 0 x 2", "one float32 scalar, 0 to 0", "flags bool 1"]


def test_converted(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [
        "input x float32 n x 3",
        "input k dtype unknown scalar",
        "output y float16 shape unknown",
        "left out label, other (not read at inference)",
        "operators Conv 3, Relu 2",
        "opset 17",
        "parameters 1,234,567",
        "seconds read 0.13, verify 2.00",
        "sha256 a.onnx 12ab",
        "compared all 2 outputs in 2 runs (given): off by 2.5e-06 of scale at most",
        HEAD,
        LINES["y"],
        LINES["s"],
        BRIEF,
        "note: 5 parameters are not in the graph: p0, p1, p2, p3, p4",
        "note: first",
        "note: second",
        "equivalent: wrote a.onnx and a.onnx.data (2.5 MB)",
    ]
    assert lines(capsys, report.convert_table(CONVERTED)) == wanted
    bare = replace(CONVERTED, verification=None, files=(), sha256={}, pruned=(), unused=(), warnings=())
    assert lines(capsys, report.convert_table(bare)) == [*wanted[:3], *wanted[4:8], "not verified"]
    many = replace(CONVERTED, unused=tuple("abcdef"))
    assert "note: 6 parameters are not in the graph: a, b, c, d, e ..." in lines(capsys, report.convert_table(many))
    little = replace(CONVERTED, verification=replace(FOUND, verdict="says little"))
    assert lines(capsys, report.convert_table(little))[-1] == "says little: wrote a.onnx and a.onnx.data (2.5 MB)"


def test_imported(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [
        "input x float32 2",
        "output y float32 2",
        "output z float32 2",
        "operators none",
        "opset 13",
        "parameters 12",
        "in MXNet 1.9.1 does not load: it lacks _onnx_A, 2 times, _onnx_B",
        "seconds read 0.50",
        "repaired: this",
        "repaired: that",
        HEAD,
        LINES["y"],
        LINES["s"],
        BRIEF,
        "note: first",
        "equivalent to onnxruntime: wrote a-symbol.json and a-0000.params (999 bytes)",
    ]
    assert lines(capsys, report.import_table(IMPORTED)) == wanted
    bare = replace(IMPORTED, verification=None, mxnet=(), repairs=(), files=())
    assert lines(capsys, report.import_table(bare))[6:] == [
        "in MXNet 1.9.1 loads",
        *wanted[7:8],
        "note: first",
        "not verified",
    ]
    little = replace(IMPORTED, verification=replace(FOUND, verdict="says little"))
    assert lines(capsys, report.import_table(little))[-1].startswith("says little: wrote")


def test_verified(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [
        "EQUIVALENT one against two, 2 runs, 1.2 s",
        RULE,
        HEAD,
        LINES["y"],
        LINES["s"],
        "inside 7 tensors were computed by both from the same values",
        "note: mind",
        "note: me",
    ]
    assert lines(capsys, report.verify_table(FOUND)) == wanted
    stats = {"a": {"shape": [2], "dtype": "float32", "min": -0.53159731626, "max": 2.0, "mean": 0.5}, "b": {"nan": 1}}
    for local, kind, said in (
        (FAR, "local", "the node itself computes something else from the same values"),
        (NEAR, "accumulated", "the node is right by itself; what differs has grown before it"),
        (None, "unknown", "the node could not be run alone"),
    ):
        parted = Divergence("t", "n", "Conv", replace(FAR, reason="3 of 4 beyond"), local, stats)
        assert parted.kind == kind
        result = replace(
            FOUND, verdict="not equivalent", differences=(NEAR, FAR, OTHER), divergence=parted, repro="there", inner=0,
            causes={"n": ("weight W[5]: 9 of 90 differ", "epsilon 1e-05 -> 0.01"), "m": ("Relu became Identity",)},
            faults=("n", "m"),
        )  # fmt: skip
        shown = lines(capsys, report.verify_table(result))
        assert shown[:6] == ["NOT EQUIVALENT one against two, 2 runs, 1.2 s", RULE, *[HEAD, *map(LINES.get, "yzw")]]
        assert shown[6:9] == ["z: 1 of 4 beyond", "w: shape (3,), wanted (4,)", "first n (Conv), tensor t"]
        assert shown[9].startswith(said)
        assert shown[10:] == [
            f"found {1 if local is FAR else 3} of 4 beyond (max abs 2.5e-01)",
            "what weight W[5]: 9 of 90 differ",
            "epsilon 1e-05 -> 0.01",
            "reads a (2) float32, -0.5316 to 2, mean 0.5",
            "b shape unknown, 1 nan",
            "also m: Relu became Identity",
            "written reproduction in there",
            "note: mind",
            "note: me",
        ]
    shape = replace(FOUND, divergence=Divergence("t", "n", "Conv", OTHER, None, {}))
    assert "found shape (3,), wanted (4,)" in lines(capsys, report.verify_table(shape))


def test_inspected(capsys: pytest.CaptureFixture[str]) -> None:
    result = InspectResult(
        model="net",
        kind="symbol",
        inputs={"x": {"shape": [2, "?"], "dtype": "float32"}},
        outputs={"y": {}},
        labels=("l1", "l2"),
        parameters=12345,
        parameter_bytes=1000,
        dtypes={"float32": 3, "int8": 1},
        missing=("w", "b"),
        unused=("u", "v"),
        operators={"Conv": 1},
        opset=21,
        problems=(Problem("n1", "Op", "why"), Problem("n2", "Oq", "so")),
        checked="whole",
        repairs=("r",),
    )
    wanted = [
        "net (symbol, opset 21)",
        "input x float32 2 x ?",
        "output y dtype unknown shape unknown",
        "labels l1, l2 (not read at inference)",
        "parameters 12,345 (1.0 kB; float32 3, int8 1)",
        "operators Conv 1",
        "in MXNet 1.9.1 loads",
        "missing w, b",
        "unused u, v",
        "to repair: r",
        "2 do not convert",
        "node operator reason",
        "n1 Op why",
        "n2 Oq so",
    ]
    assert lines(capsys, report.inspect_table(result)) == wanted
    bare = replace(result, labels=(), missing=(), unused=(), repairs=(), problems=())
    short = [*wanted[:3], *wanted[4:7]]
    assert lines(capsys, report.inspect_table(bare)) == [*short, "every node converts"]
    known = "every operator is known; give input shapes (--input) to try every node"
    assert lines(capsys, report.inspect_table(replace(bare, checked="operators"))) == [*short, known]
    assert lines(capsys, report.inspect_table(replace(bare, checked=""))) == short
    some = (FallbackCount("dot", 3, "it has no kernel"), FallbackCount("unique", 1, "data decide"))
    table = [
        "computed by NumPy, of all steps: 4",
        "operator steps why",
        "dot 3 it has no kernel",
        "unique 1 data decide",
    ]
    assert lines(capsys, report.inspect_table(replace(bare, fallbacks=some))) == [*short, "every node converts", *table]
    all_compiled = lines(capsys, report.inspect_table(replace(bare, fallbacks=())))
    assert all_compiled == [*short, "every node converts", "every step has a kernel"]


def test_listed(capsys: pytest.CaptureFixture[str]) -> None:
    fields: dict[str, Any] = dict.fromkeys(Row._fields, "")
    rows = (
        Row(**{**fields, "name": "A", "aliases": ("a1", "a2"), "gradient": "yes", "kernel": "no", "opsets": (13, 18),
               "refused": ("r1", "r2"), "read": ("X", "Y")}),
        Row(**{**fields, "name": "B", "aliases": (), "gradient": "zero", "kernel": "some", "opsets": (), "reason": "because",
               "refused": (), "read": ()}),
    )  # fmt: skip
    wanted = [
        "operator other names gradient kernel ONNX refused from ONNX",
        "A a1, a2 yes no 13, 18 r1; r2 X, Y",
        "B zero some no: because",
    ]
    assert lines(capsys, report.operators_table(OperatorsResult(rows, {}))) == wanted
    more = [*wanted, "2 are not here", "operator why", "k second", "z first"]
    assert lines(capsys, report.operators_table(OperatorsResult(rows, {"z": "first", "k": "second"}))) == more


def test_benched(capsys: pytest.CaptureFixture[str]) -> None:
    times = {
        "gluonnx": {"median": 0.002, "low": 0.001, "high": 0.0035, "best": 0.0009, "samples": 5},
        "onnxruntime": {"median": 0.005, "low": 0.004, "high": 0.0061, "best": 0.003, "samples": 6},
    }
    steps = (
        StepTime("n1", "Conv", "gemm", (2, 3), 1e-6, 0.25, 1.26, 2.5, 0.504),
        StepTime("n2", "Relu", "numpy", (), 3e-6, 0.75, 0.0, 12.5, 0.0),
    )
    inputs = {n: {"shape": s, "dtype": "float32"} for n, s in (("x", [2, 3]), ("k", []))}
    result = BenchResult(
        "net", inputs, 3, "v3", times, 2.5, True, (NEAR, replace(SETTLED, max_rel=3e-6)), steps,
        Peak(1.5e11, 2.25e10), ("w1",),
    )  # fmt: skip
    head = "model inputs threads gluonnx ms onnxruntime ms ratio max rel verdict"
    measured = "net x 2x3, k scalar 3 2 (1-3.5) 5 (4-6.1) 2.50"
    wanted = [
        head,
        f"{measured} 3.0e-06 equal",
        "net: 2 steps, 0.004 ms one by one; the machine reaches 150 GF/s",
        "and 22.5 GB/s",
        "us share operator kernel output GF/s GB/s of peak node",
        "3.0 75.0% Relu numpy scalar 12.5 n2",
        "1.0 25.0% Conv gemm 2x3 1.3 2.5 50% n1",
        "note: w1",
    ]
    assert lines(capsys, report.bench_table([result])) == wanted
    falling = replace(result, fallbacks=(FallbackCount("Relu", 1, "it has no kernel"),))
    told = ["computed by NumPy, of all steps: 1", "operator steps why", "Relu 1 it has no kernel"]
    assert lines(capsys, report.bench_table([falling])) == [*wanted[:-1], *told, wanted[-1]]
    wrong = replace(result, equivalent=False, differences=(NEAR, FAR), steps=(), warnings=())
    warned = replace(result, steps=(), warnings=("w2", "w3"))
    assert lines(capsys, report.bench_table([warned]))[-2:] == ["note: w2", "note: w3"]  # without a profile too
    several = lines(capsys, report.bench_table([replace(warned, model="m2"), result, warned]))
    assert several[:5] == [head, f"m2{measured[3:]} 3.0e-06 equal", *[f"{measured} 3.0e-06 equal"] * 2, "note: w2"]
    assert several[5:] == ["note: w3", *wanted[2:], "note: w2", "note: w3"]
    shown = lines(capsys, report.bench_table([wrong, replace(wrong, differences=(), model="m2")]))
    assert shown == [head, f"{measured} 5.0e-01 differs: 1 of 4 beyond", f"m2{measured[3:]} 0.0e+00 equal"]


def test_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    found = {
        "a": np.array([[1.5, -2], [0, 1.23456789]], np.float32),
        "b\x1b": np.array(3),
        "c": np.array([True]),
        "d": np.zeros((0, 2)),
        "e": np.array([250, 3], np.uint8),
    }
    assert lines(capsys, report.arrays(found)) == [
        "a float32 2 x 2, -2 to 1.5", r"b\x1b int64 scalar, 3 to 3", "c bool 1", "d float64 0 x 2", "e uint8 2, 3 to 250",
    ]  # fmt: skip


def test_sizes_of_files() -> None:
    for count, said in (
        (0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (1_000_000, "1.0 MB"),
        (2_345_000_000, "2.3 GB"), (12_345_000_000_000, "12345.0 GB"),
    ):  # fmt: skip
        assert bytes_text(count) == said


def test_files_of_reports(tmp_path: Path) -> None:
    report.save(report.convert_table(CONVERTED), tmp_path / "r.md", "gluonnx convert ````x")
    text = (tmp_path / "r.md").read_text()
    fence = "`" * 5
    assert text.startswith("# ✅ equivalent\n\nnet\n")
    assert f"{fence}bash\ngluonnx convert ````x\n{fence}\n" in text and f"gluonnx {own_version()}" in text
    assert "equivalent: wrote a.onnx and a.onnx.data (2.5 MB)" in text
    assert all(line == line.rstrip() for line in text.splitlines())
    report.save(report.verify_table(FOUND), tmp_path / "r.html", "gluonnx verify")
    html = (tmp_path / "r.html").read_text()
    assert "gluonnx verify" in html and "7 tensors inside" in html and html.count("<html") == 1
    told = {"worst": float("nan"), "most": [float("inf")], "k": np.float32(2)}
    report.save(report.verify_table(FOUND), tmp_path / "r.json", "gluonnx verify", told)
    found = json.loads((tmp_path / "r.json").read_text())
    assert (found["schema"], found["worst"], found["most"]) == ("gluonnx-report/1", "nan", ["inf"])


# -- the options ---------------------------------------------------------------------------------------------------------


def handed(function: str, *arguments: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments that a command hands to a function of the package."""
    seen: list[Any] = []

    def record(*args: Any, **kwargs: Any) -> None:
        seen.append((args, kwargs))
        raise bridge.EngineError("enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bridge, function, record)
        result = CliRunner().invoke(cli.app, list(map(str, arguments)))
    assert result.exit_code == 3, result.output
    return seen[0]


CONVERT = {
    "dynamic": ({}, ["--dynamic", "x:0=n", "--dynamic", "x:1=m"], {"x": {0: "n", 1: "m"}}),
    "opset": (None, ["--opset", "15"], 15),
    "outputs": (None, ["--outputs", "a", "--outputs", "b"], ["a", "b"]),
    "verify": (True, ["--no-verify"], False),
    "seed": (0, ["--seed", "7"], 7),
    "tolerance": (None, ["--atol", "0.5"], (0.5, 1e-4, False)),
    "external_data": (None, ["--external-data"], True),
    "training": (False, ["--training"], True),
    "repro": (None, ["--repro", "folder"], Path("folder")),
    "strict": (False, ["--strict"], True),
    "inputs": ({}, ["--input", "x:2,3:float16"], {"x": bridge.models.Spec((2, 3), np.dtype("float16"))}),
}
VERIFY = {k: CONVERT[k] for k in ("outputs", "seed", "tolerance", "repro", "inputs")} | {
    "runs": (1, ["--runs", "4"], 4),
    "names": ({}, ["--map", "a=b", "--map", "c=d"], {"a": "b", "c": "d"}),
    "ranges": ({}, ["--range", "a:0,255"], {"a": (0.0, 255.0)}),
}
IMPORT = {k: CONVERT[k] for k in ("verify", "seed", "repro", "strict", "inputs")}
IMPORT["tolerance"] = (None, ["--rtol", "0.25", "--scaled"], (1e-5, 0.25, True))
BENCH = {k: CONVERT[k] for k in ("seed", "inputs")} | {
    "tolerance": (None, ["--rtol", "0.25", "--atol", "0"], (0.0, 0.25, False)),
    "batch": (None, ["--batch", "3"], 3),
    "threads": (None, ["--threads", "2"], 2),
    "seconds": (2.0, ["--seconds", "0.5"], 0.5),
    "profile": (False, ["--profile"], True),
}


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A symbol and its parameters, and an ONNX file of it."""
    tmp_path = tmp_path_factory.mktemp("mlp")
    x = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    rng = np.random.default_rng(0)
    params = {"fc_weight": mx.nd.array(rng.normal(size=(2, 3))), "fc_bias": mx.nd.array(rng.normal(size=2))}
    mx.model.save_checkpoint(str(tmp_path / "net"), 3, x, params, {})
    bridge.convert(tmp_path / "net", inputs={"x": (4, 3)}, output=tmp_path / "net.onnx", verify=False)
    return tmp_path / "net"


@pytest.mark.parametrize("command", ["convert", "verify", "import", "bench"])
def test_every_option_is_handed_on_alone_and_with_every_other(command: str, mlp: Path) -> None:
    options: dict[str, Any] = {"convert": CONVERT, "verify": VERIFY, "import": IMPORT, "bench": BENCH}[command]
    function = {"import": "import_onnx"}.get(command, command)
    given = {"verify": [mlp, f"{mlp}.onnx"], "import": [f"{mlp}.onnx", "-o", mlp.with_name("out")]}.get(command, [mlp])
    names = list(options)
    chosen = [(), *((n,) for n in names), tuple(names[::2]), tuple(names)]
    for some in chosen:
        said = [text for name in some for text in options[name][1]]
        _, kwargs = handed(function, command, *given, *said)
        found = {n: kwargs[n] for n in names}
        assert found == {n: options[n][2 if n in some else 0] for n in names}, some
        assert callable(kwargs["progress"])


def test_the_models_that_are_handed_on(mlp: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.params"
    other.write_bytes(mlp.with_name("net-0003.params").read_bytes())
    (model,), kwargs = handed("convert", "convert", mlp, other)
    assert (model.name, model.params_path, kwargs["output"]) == ("net", other, mlp.with_name("net.onnx"))
    assert handed("convert", "convert", mlp, "-o", tmp_path / "q.onnx")[1]["output"] == tmp_path / "q.onnx"
    (a, b), _ = handed("verify", "verify", mlp, f"{mlp}.onnx", "--params", other)
    assert (a.is_onnx, a.params_path, b.is_onnx, b.path) == (False, other, True, mlp.with_name("net.onnx"))
    (a, b), _ = handed("verify", "verify", f"{mlp}.onnx", mlp, "--params", other)
    assert (a.is_onnx, b.is_onnx, b.params_path) == (True, False, other)
    (first,), _ = handed("bench", "bench", mlp, f"{mlp}.onnx", "--params", other)
    assert first.params_path == other
    there = tmp_path / "there.onnx"
    there.write_bytes(mlp.with_name("net.onnx").read_bytes())
    (opened,), kwargs = handed("import_onnx", "import", there)
    assert (opened.path, kwargs["output"]) == (there, tmp_path / "there")
    np.savez(tmp_path / "x.npz", x=np.eye(3, dtype=np.float32))
    np.savez(tmp_path / "y.npz", x=np.eye(2, 3, dtype=np.float32))
    for function, command in (("convert", ["convert", mlp]), ("import_onnx", ["import", there])):
        also = ["--also", tmp_path / "y.npz", "--also", tmp_path / "x.npz"]
        _, kwargs = handed(function, *command, "--inputs", tmp_path / "x.npz", *also)
        assert kwargs["inputs"]["x"].tolist() == np.eye(3).tolist()
        assert [len(each["x"]) for each in kwargs["also"]] == [2, 3]
    assert handed("convert", "convert", mlp)[1]["also"] == []
    args, kwargs = handed("inspect", "inspect", mlp, other, "--input", "x:2,3", "--opset", "15")
    assert (args, kwargs["opset"], kwargs["inputs"]["x"].shape) == ((str(mlp), other), 15, (2, 3))
    assert handed("operators", "inspect", mlp, "--operators")[0] == (str(mlp),)
    args, kwargs = handed(
        "run", "run", mlp, other, "--inputs", tmp_path / "x.npz", "--engine", "native", "--outputs", "fc"
    )
    assert (args[0].params_path, kwargs) == (other, {"engine": "native", "outputs": ["fc"], "precision": "float32"})
    assert args[1]["x"].tolist() == np.eye(3).tolist()


def test_the_opset_of_inspect_and_the_status_of_bench(mlp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models of which one differs: status 1."""
    times = {
        "gluonnx": {"median": 1.0, "low": 1.0, "high": 1.0},
        "onnxruntime": {"median": 1.0, "low": 1.0, "high": 1.0},
    }
    right = BenchResult("net", {}, 1, None, times, 1.0, True, (NEAR,))
    wrong = replace(right, equivalent=False, differences=(FAR,))
    for results, code in (([right, right], 0), ([right, wrong], 1), ([wrong, right], 1)):
        left = iter(results)
        monkeypatch.setattr(bridge, "bench", lambda *_, left=left, **__: next(left))
        for asked in ((), ("--json",)):
            left = iter(results)
            monkeypatch.setattr(bridge, "bench", lambda *_, left=left, **__: next(left))
            found = CliRunner().invoke(cli.app, ["bench", str(mlp), f"{mlp}.onnx", *asked])
            assert found.exit_code == code
        told = [m["equivalent"] for m in json.loads(found.stdout)["models"]]
        assert told == [r.equivalent for r in results]


def test_every_error_has_its_status(mlp: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["gluonnx", "inspect", "net"])
    problems = [{"node": "n", "operator": "Op", "reason": "why"}]
    for error, code, said, listed in (
        (bridge.BadInput("one", "two"), 2, "one\ntwo", ["one", "two"]),
        (UnsupportedModel([Problem("n", "Op", "why")]), 2, "why", problems),
        (ConversionError("no"), 2, "no", []),
        (MXNetError("bad"), 2, "bad", []),
        (OSError("disk"), 2, "disk", []),
        (bridge.EngineError("runtime"), 3, "runtime", []),
        (MemoryError(), 2, "out of memory (no details); give smaller input shapes", []),
        (MemoryError("9 GB"), 2, "out of memory (9 GB); give smaller input shapes", []),
        (ZeroDivisionError("zero"), 70, "internal error: ZeroDivisionError: zero (", []),
        (InternalError("n (sin): odd"), 70, "internal error: InternalError: n (sin): odd (", []),
    ):

        def fail(*_: Any, error: BaseException = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr(bridge, "inspect", fail)
        plain = CliRunner().invoke(cli.app, ["inspect", str(mlp)])
        assert (plain.exit_code, plain.stdout) == (code, ""), error
        assert said in plain.stderr and plain.stderr.startswith("error: ")
        found = CliRunner().invoke(cli.app, ["inspect", str(mlp), "--json"])
        assert found.exit_code == code
        data = json.loads(found.stdout)
        assert said in data["error"] and data["problems"] == (listed or [data["error"]]), error
        assert data["exit"] == code


def test_every_command_says_its_errors_as_it_is_asked_to(
    mlp: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those of the work and those of showing what came of it: on stderr, or with --json as JSON."""
    np.savez(tmp_path / "x.npz", x=np.ones((4, 3), np.float32))
    symbol, file = str(mlp), f"{mlp}.onnx"
    wrong = []
    for function, *arguments in (
        ("convert", "convert", symbol, "-o", str(tmp_path / "y.onnx")),
        ("import_onnx", "import", file, "-o", str(tmp_path / "y")),
        ("verify", "verify", symbol, file),
        ("inspect", "inspect", symbol),
        ("operators", "inspect", "--operators"),
        ("operators", "inspect", symbol, "--operators"),
        ("run", "run", symbol, "--inputs", str(tmp_path / "x.npz")),
        ("bench", "bench", symbol),
    ):
        places = {"convert": converting, "import": converting, "verify": verifying}
        for place, stage in ((bridge, function), (places.get(arguments[0], running), "print_result")):

            def fail(*_: Any, **__: Any) -> None:
                raise OSError("disk")

            with monkeypatch.context() as patch:
                patch.setattr(bridge, function, lambda *_, **__: MagicMock())
                patch.setattr(place, stage, fail)
                plain, asked = (CliRunner().invoke(cli.app, [*arguments, *more]) for more in ((), ("--json",)))
            found = json.loads(asked.stdout)
            told = asked.exit_code, (found["error"], found["problems"]), asked.stderr
            said = (plain.exit_code, plain.stdout, plain.stderr), told
            if said != ((2, "", "error: disk\nfor more: gluonnx explain os-error\n"), (2, ("disk", ["disk"]), "")):
                wrong.append((arguments[0], stage, said))
    assert not wrong


def test_every_input_output_and_repair_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    shapes = {"y": {"shape": [2, "n"], "dtype": "float32"}, "z": {"shape": [3], "dtype": "int64"}}
    told = lines(capsys, report.convert_table(replace(CONVERTED, outputs=shapes)))
    assert [line.split()[:2] for line in told if line.startswith("output ")][:2] == [["output", "y"], ["output", "z"]]
    x, z = mx.sym.var("x", shape=(2, 3)), mx.sym.var("z", shape=(4,))
    found = bridge.inspect(mx.sym.Group([mx.sym.relu(x, name="a"), mx.sym.sin(z, name="b")]))
    told = lines(capsys, report.inspect_table(replace(found, repairs=("one", "two"))))
    assert [" ".join(line.split()) for line in told if line.startswith(("input", "output"))] == [
        "input x float32 2 x 3", "input z float32 4", "output a_output float32 2 x 3", "output b_output float32 4",
    ]  # fmt: skip
    assert [line for line in told if line.startswith("to repair")] == ["to repair: one", "to repair: two"]


class Terminal(Console):
    """A terminal whose text is kept."""

    written = io.StringIO()

    def __init__(self, **options: Any):
        options.pop("stderr", None)
        super().__init__(**{**options, "file": self.written, "force_terminal": True, "width": 60})


def test_what_a_terminal_sees(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Progress is told, but not for machines; reports are as wide as the terminal."""
    monkeypatch.setattr(shell, "Console", Terminal)
    monkeypatch.setattr(report, "Console", Terminal)
    monkeypatch.setattr(Terminal, "written", io.StringIO())
    with shell.progress(True) as tell:
        tell("unseen")
    assert Terminal.written.getvalue() == ""
    with shell.progress(False) as tell:
        tell("at\x1b [red]work")
    shown = Terminal.written.getvalue()
    assert "starting" in shown or "at" in shown
    assert r"at\x1b [red]work" in shown and "unseen" not in shown
    report.show("shown here")
    assert "shown here" in Terminal.written.getvalue()
    assert capsys.readouterr().out == ""


def test_a_reader_who_leaves_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Text that the interpreter still writes goes nowhere."""

    def left(_: object) -> None:
        raise BrokenPipeError

    moved: list[tuple[str, int]] = []
    monkeypatch.setattr(report, "show", left)
    monkeypatch.setattr(os, "open", lambda path, mode: (path, mode))
    monkeypatch.setattr(os, "dup2", lambda one, two: moved.append((one, two)))
    with open(tmp_path / "out", "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        shell.print_result({}, False, lambda: "text")
        monkeypatch.undo()
        assert moved == [((os.devnull, os.O_WRONLY), out.fileno())]


def test_statuses_that_commands_ask_for_are_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in (typer.Exit(5), typer.Abort(), typer.BadParameter("no")):
        with pytest.raises(type(asked)), shell.errors(False):
            raise asked
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(cli, "app", lambda **options: calls.append(options))
    cli.main()
    assert calls == [{"prog_name": "gluonnx", "windows_expand_args": False}]


def test_the_inputs_that_a_file_of_arrays_has_to_fill(mlp: Path) -> None:
    head = mx.sym.SoftmaxOutput(mx.sym.var("x"), name="softmax")
    model = bridge.open_model(head)
    assert bridge.models.names_to_fill(model, {}) == ["x"]
    only = bridge.open_model(mx.sym.SoftmaxOutput(mx.sym.zeros((2, 3)), mx.sym.var("label"), name="s"))
    assert bridge.models.names_to_fill(only, {}) == ["label"]
    assert bridge.models.names_to_fill(bridge.models.Model("empty"), {}) == []
    assert options.read_inputs(model, ["x:2,3"], None).keys() == {"x"}
    np.savez(mlp.parent / "arrays.npz", x=np.ones((4, 3), np.float32))
    given = options.read_inputs(model, ["x:2,3", "z:5"], mlp.parent / "arrays.npz")
    assert given.keys() == {"x", "z"} and given["x"].shape == (4, 3)


def test_what_is_made_printable() -> None:
    for text, want in (
        ("plain", "plain"),
        ("é ß", "é ß"),
        ("a\x1bb", r"a\x1bb"),
        ("\u202ehi", r"\u202ehi"),
        ("tab\t", r"tab\t"),
    ):
        assert printable(text) == want
    assert printable("one\ntwo\x00", keep="\n") == "one\ntwo\\x00"
    assert clean(VerifyResult) is VerifyResult
    assert clean({"a\x00": ("b\x00", ["c\x00", 5], Problem("d\x00", "e", "f"))}) == {
        r"a\x00": (r"b\x00", [r"c\x00", 5], Problem(r"d\x00", "e", "f"))
    }
    assert clean(replace(NEAR, name="n\x00")).name == r"n\x00"


def test_outputs_of_one_name_are_told_apart_in_a_narrow_terminal() -> None:
    sides = ["softmax_output", *(f"softmax_output ({side} model, recorded)" for side in ("first", "second"))]
    assert [words.shorten_output(name, 22) for name in sides] == [
        "softmax_output",
        "softmax_output (first)",
        "softm..output (second)",
    ]
    assert words.shorten_output(sides[1], 80) == sides[1]


def test_columns_that_matter_least_are_left_out_where_there_is_no_room() -> None:
    """Whole words in the others, and what is left out is said."""
    table = report.operators_table(bridge.operators(FOLDER / "lenet" / "model"))
    for width, left in ((80, "no room here for: other names, refused (--json has all)"), (200, "")):
        console = Console(file=io.StringIO(), width=width, color_system=None)
        console.print(render(table))
        printed = console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
        assert "FullyConnected  " in printed and "GlobalAveragePool" in printed
        assert left in printed and ("no room" in printed) == bool(left)
