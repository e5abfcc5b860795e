"""Options that commands share: groups of them in a function's signature, which are one by one on the command line."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge import cases, draws
from bridge.cli import COMMANDS, app, command
from bridge.command.conversion_options import Conversion
from bridge.command.groups import grouped
from bridge.command.options import Comparing, Feeding, General
from bridge.command.pipeline_options import Before, Behind
from bridge.command.precision_options import Asked
from bridge.inputs import parse_names
from bridge.recorded import load_recording
from bridge.renaming import parse_renames
from bridge.targets.profile import profiles_of
from tests.house.docs import ROOT
from tests.models.networks import FOLDER

SHARED = {
    "convert": (Feeding, Conversion, Before, Behind, Asked, Comparing, General),
    "deploy": (Feeding, Conversion, Before, Behind, Asked, Comparing, General),
    "import": (Feeding, Comparing, General),
    "verify": (Feeding, Comparing, General),
}
LENET, FEEDS = FOLDER / "lenet" / "model", FOLDER / "lenet" / "inputs.npz"
Count = Annotated[int, typer.Option("--count", help="A number.")]


@dataclass(frozen=True)
class Sizes:
    count: Count = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None


@pytest.mark.parametrize("name", SHARED)
def test_commands_have_all_options_of_their_groups(name: str) -> None:
    found = {p.name: p for p in command(name).params}
    for group in SHARED[name]:
        for field in fields(group):
            option = found[field.name]
            assert not option.required and option.opts[0].startswith("--")
            assert (option.default or None) == (field.default or None), field.name


def test_a_group_is_one_value_inside_and_its_options_outside() -> None:
    seen = []

    @grouped
    def work(place: Annotated[str, typer.Argument()], more: bool = False, *, sizes: Sizes) -> None:
        """Do it."""
        seen.append((place, more, sizes))

    app = typer.Typer()
    app.command()(work)
    for words, wanted in (
        (["a"], ("a", False, Sizes())),
        (["a", "--count", "5", "--name", "x", "--name", "y", "--more"], ("a", True, Sizes(5, ["x", "y"]))),
    ):
        result = CliRunner().invoke(app, words)
        assert (result.exit_code, seen.pop()) == (0, wanted), result.output
    assert CliRunner().invoke(app, ["a", "--sizes", "1"]).exit_code == 2
    assert CliRunner().invoke(app, ["a", "--count", "many"]).exit_code == 2
    told = CliRunner().invoke(app, ["--help"]).output
    assert "Do it." in told and "A number." in told and told.index("--more") < told.index("--count")


def test_two_options_of_one_name_are_refused() -> None:
    def work(count: int = 1, *, sizes: Sizes) -> None:
        pass

    with pytest.raises(TypeError, match="work: two options are called count"):
        grouped(work)


# -- options that may be repeated --------------------------------------------------------------------------------------------

NAMES = ("--draws", "--outputs", "--target", "--free", "--keep-float", "--map", "--rename")
"""Options of which a value is a name, or a pair of them, so that commas can stand between."""


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_may_be_repeated_says_so_in_one_way(name: str) -> None:
    for option in command(name).params:
        if option.param_type_name == "option" and option.multiple:
            ends = "May be repeated, or with commas." if option.opts[0] in NAMES else "May be repeated."
            assert option.help.endswith(ends), (name, option.opts)


def words_of(*arguments: object) -> str:
    """The error of a command line, which is no traceback and no box."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 2 and result.stderr.startswith("error: "), result.output
    assert not set("╭│╰") & set(result.output) and "Usage:" not in result.output
    return result.stderr.splitlines()[0].removeprefix("error: ")


def test_names_are_taken_with_commas_and_repeated_alike(tmp_path: Path) -> None:
    inner = ("pooling0_output", "fullyconnected0_output")
    for number, given in enumerate((["--outputs", ",".join(inner)], [w for n in inner for w in ("--outputs", n)])):
        place = tmp_path / f"{number}.npz"
        done = CliRunner().invoke(app, ["record", str(LENET), "--inputs", str(FEEDS), "-o", str(place), *given])
        assert done.exit_code == 0, done.output
        assert list(load_recording(place).runs[0].outputs) == [*inner]
    assert parse_names(["a=b,c=d", "e=f"]) == {"a": "b", "c": "d", "e": "f"} == parse_renames(["a=b", "c=d,e=f"])
    assert [p.name for p in profiles_of(["openvino,mnn", "tract"])] == ["openvino", "mnn", "tract"]
    x, y = mx.sym.var("x"), mx.sym.var("a,b")
    graph = bridge.open_model(
        mx.sym.Group([mx.sym.relu(mx.sym.broadcast_add(x, y), name="c,d"), mx.sym.exp(x, name="e")]), {}
    )
    chosen = graph.select(["c,d", "e"]).graph
    assert chosen is not None and [o.name for o in chosen.outputs] == ["c,d_output", "e_output"]


def test_values_that_hold_commas_are_refused_with_what_to_do(tmp_path: Path) -> None:
    for option, first, second in (
        ("input", "data:1,1,28,28", "mask:1,2"),
        ("range", "data:0,1", "mask:0,2"),
        ("dynamic", "data:0=batch", "mask:0=batch,1=n"),
    ):
        said = words_of("convert", LENET, f"--{option}", f"{first},{second}")
        assert said == f"{option} '{first},{second}': one input each time; give --{option} {first} --{option} {second}"
    said = words_of("run", LENET, "--inputs", f"{FEEDS},{FEEDS}")
    assert said.endswith(f"no such file; give the option once for each of {FEEDS}, {FEEDS}")
    assert words_of("convert", LENET, "--dynamic", "bacth") == "dynamic 'bacth': did you mean batch?"
    assert "or batch" in words_of("convert", LENET, "--dynamic", "everything")


# -- a command line that cannot be read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["nope"], "no such command 'nope'; gluonnx --help lists all"),
        (
            ["matrix", "x", "--seeds", "1"],
            "no such option --seeds; did you mean --scaled or --seed? gluonnx matrix --help lists all",
        ),
        (["inspect", "x", "--nothing"], "no such option: --nothing; gluonnx inspect --help lists all"),
        (["deploy", "x", "y", "--to", "triton", "--max-batch", "0"], "--max-batch: (got 0, )?wanted 1 or more"),
        (["bench", "x", "--seconds", "many"], "--seconds: (got 'many', )?wanted a number"),
        (["record", "x", "--runs", "many"], "--runs: (got 'many', )?wanted a whole number"),
        (["convert", "x", "--nms", "some"], "--nms: got 'some', wanted one of onnx, none, tensorrt-plugin"),
        (["convert", "x", "y", "z"], r"got unexpected extra argument\(?s?\)? \(z\); gluonnx convert --help lists all"),
        (["convert"], "missing argument 'symbol'; gluonnx convert --help lists all"),
        (["convert", "x", "-o"], "option '-o' requires an argument; gluonnx convert --help lists all"),
    ],
    ids=str,
)
def test_what_is_mistyped_is_said_as_every_other_error(line: list[str], said: str) -> None:
    pattern = said.replace("?", r"\?") if "did you mean" in said else said
    found = words_of(*line).replace("'SYMBOL'", "'symbol'")
    assert re.fullmatch(pattern, found), found
    as_json = CliRunner().invoke(app, [line[0], "--json", *line[1:]])
    assert as_json.exit_code == 2 and json.loads(as_json.stdout)["error"].replace("'SYMBOL'", "'symbol'") == found


# -- commands that draw inputs -----------------------------------------------------------------------------------------------

DRAWING = ("convert", "deploy", "import", "verify", "record", "matrix", "reduce", "bench", "compile")


@pytest.mark.parametrize("name", DRAWING)
def test_commands_that_draw_inputs_are_told_what_in_one_way(name: str) -> None:
    """A command that takes a seed draws, and takes sizes, arrays, pictures and ranges, in the same words."""
    found = {p.name: p for p in command(name).params}
    wanted = {p.name: p for p in command("verify").params}
    for option in ("input", "image", "range", "seed"):
        assert (found[option].opts, found[option].help) == (wanted[option].opts, wanted[option].help)
    assert "inputs" in found
    drawing = [n for n in COMMANDS if any(p.name == "seed" for p in command(n).params)]
    assert sorted(drawing) == sorted(DRAWING)


def test_ranges_reach_what_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command feeds numbers from the range, and refuses one of an input that there is not."""
    fed: list[np.ndarray] = []
    whole = draws.draw

    def seen(*told: Any, **more: Any) -> Any:
        feeds = whole(*told, **more)
        fed.extend(feeds.values())
        return feeds

    monkeypatch.setattr(cases, "draw", seen)
    monkeypatch.setattr(draws, "draw", seen)
    other = tmp_path / "other-symbol.json"
    symbol = (LENET.with_name("model-symbol.json")).read_text()
    other.write_text(symbol.replace('"tanh"', '"relu"', 1))
    shutil.copy(LENET.with_name("model-0000.params"), tmp_path / "other-0000.params")
    for number, line in enumerate((
        ["matrix", LENET, "--runners", "gluonnx,gluonnx:plain"],
        ["bench", LENET, "--seconds", "0.02"],
        ["compile", LENET, "-o", tmp_path / "lenet.gluonnx"],
        ["reduce", LENET, other, "-o", tmp_path / "small"],
        ["record", LENET, "-o", tmp_path / "truth.npz"],
    )):  # fmt: skip
        fed.clear()
        told = [*map(str, line), "--input", "data:2,1,28,28", "--range"]
        done = CliRunner().invoke(app, [*told, "data:5,6"])
        assert done.exit_code == 0, (number, done.output)
        assert fed and fed[0].min() >= 5 and fed[0].max() <= 6, line[0]
        assert "got input 'dat', wanted some of data" in CliRunner().invoke(app, [*told, "dat:5,6"]).output, line[0]


def test_pictures_are_recorded(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    net, picture = FOLDER / "squeezenet" / "model", ROOT / "fixtures" / "data" / "a.png"
    line = ["record", str(net), "--input", "data:1,3,56,56", "--image", str(picture), "--range", "data:0,1"]
    done = CliRunner().invoke(app, [*line, "-o", str(tmp_path / "truth.npz")])
    assert done.exit_code == 0, done.output
    (run,) = load_recording(tmp_path / "truth.npz").runs
    assert run.inputs["data"].shape == (1, 3, 56, 56) and 0 <= run.inputs["data"].min() < run.inputs["data"].max() <= 1
    assert (
        "EQUIVALENT" in CliRunner().invoke(app, ["verify", str(net), "--expected", str(tmp_path / "truth.npz")]).output
    )
