"""Every error has its entry, every entry an error; commands that fail name it, and ``gluonnx explain`` says it."""

import builtins
import importlib
import json
import re
from pathlib import Path

import onnx
import onnx.parser
import pytest
from typer.testing import CliRunner

import bridge
from bridge.cli import app
from bridge.paths import BadInput
from bridge.troubles import TROUBLES, Trouble, more, trouble_of
from converters.error import Problem, UnsupportedModel
from hybrid.core.error import MXNetError
from tests.house.docs import ROOT
from tests.house.source import PACKAGES
from tests.site.troubleshooting import page

DOCUMENT = ROOT / "docs" / "troubleshooting.md"
ARCFACE = "fixtures/models/arcface/model"
LENET = "fixtures/models/lenet/model"
SIGNALS = {
    "bridge.models.NoParams": "a BadInput that knows what is missing; explained as that one",
    "bridge.many.children.Killed": "between the processes of many models; a model's note says it",
    "bridge.many.children.TooLarge": "the same",
    "bridge.runtime.Late": "between onnxruntime's process and its caller; told as OutOfTime",
    "bridge.scripts.run_on_target.Refused": "inside of the process that runs on a target; told as bridge's Refused",
    "converters.node_importer.NoReading": "collected into one UnsupportedModel",
    "converters.node_importer._Reported": "the same",
    "hybrid.core.attrs.NotTaken": "between attributes and Op.bind, which says it as an OpError",
    "hybrid.core.shapes.Undecided": "between rules of shapes and inference",
    "hybrid.execution.lower.CannotLower": "between a graph and its backends: NumPy runs it then",
    "hybrid.gluon.data.workers.WorkerTraceback": "the cause of an error that a worker's process raised",
}
"""Exceptions that no caller gets, and where they end."""


CLASS = re.compile(r"^class (\w+)\((.*)\):", re.MULTILINE)


def defined() -> set[str]:
    """Every class of exceptions of the packages, by module and name."""
    found = {n for n, c in vars(builtins).items() if isinstance(c, type) and issubclass(c, BaseException)}
    classes = {
        f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}.{name}": set(re.findall(r"\w+", bases))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name, bases in CLASS.findall(path.read_text(encoding="utf-8"))
    }
    ours: set[str] = set()
    while more := {n for n, bases in classes.items() if n not in ours and bases & found}:
        ours |= more
        found |= {name.rpartition(".")[2] for name in more}
    return ours


def raised(name: str) -> type[BaseException]:
    module, _, cls = name.rpartition(".")
    return getattr(importlib.import_module(module), cls)


def shown(trouble: Trouble) -> BaseException:
    """An error of the entry's class that says the entry's example."""
    cls = raised(trouble.error)
    if cls is UnsupportedModel:
        _, *lines = trouble.example.splitlines()
        parts = [re.fullmatch(r"  (\S+) \((\w+)\): (.*)", line) for line in lines]
        return UnsupportedModel([Problem(*p.groups()) for p in parts if p])
    if issubclass(cls, OSError):
        return cls(trouble.example)
    error = cls.__new__(cls)
    error.args = (trouble.example,)
    return error


def test_every_error_has_an_entry_and_every_entry_an_error() -> None:
    ours = defined()
    entries = {t.error for t in TROUBLES if not t.error.startswith("builtins.")}
    assert ours - entries - set(SIGNALS) == set(), "errors without an entry in bridge/troubles.py"
    assert entries - ours == set(), "entries of errors that are not there"
    assert set(SIGNALS) - ours == set() and not set(SIGNALS) & entries
    assert all(issubclass(raised(t.error), BaseException) for t in TROUBLES)


def test_of_each_class_the_last_entry_holds_for_all_others() -> None:
    for name in {t.error for t in TROUBLES}:
        of_class = [t.says for t in TROUBLES if t.error == name]
        assert of_class[-1] == "" and "" not in of_class[:-1], name


def test_the_page_is_up_to_date_and_has_every_anchor() -> None:
    text = DOCUMENT.read_text()
    assert text == page(), "run python -m tests.site.troubleshooting > docs/troubleshooting.md"
    assert re.findall(r'<a id="(.+?)"></a>', text) == [t.anchor for t in TROUBLES]
    assert len({t.anchor for t in TROUBLES}) == len({t.title for t in TROUBLES}) == len(TROUBLES)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda t: t.anchor)
def test_an_example_leads_to_its_entry(trouble: Trouble) -> None:
    assert trouble_of(shown(trouble)) is trouble


def test_what_has_no_entry_of_its_own_has_that_of_its_class() -> None:
    class Own(MXNetError):
        pass

    assert more(Own("x")) == "gluonnx explain mxnet-error"
    assert more(KeyError("x")) == "gluonnx explain internal-error"
    several = BadInput("one", "two", "3", "4", "5", "unknown input x: the model takes y")
    assert more(several) == "gluonnx explain unknown-input"


def test_the_cause_of_many_problems_is_that_of_any() -> None:
    problems = [Problem(f"n{i}", "Crop", "is not said") for i in range(9)]
    assert more(UnsupportedModel(problems)).endswith(" cannot-be-written")
    assert more(UnsupportedModel([*problems, Problem("z", "Mine", "unknown operator 'Mine'")])).endswith(
        " unknown-operator"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "anchor"),
    [
        ("convert nothere", 2, "no-such-file"),
        (f"convert {ARCFACE} -o a.onnx", 2, "shape-of-input"),
        (f"convert {ARCFACE} -o a.onnx --input dat:1,3,32,32", 2, "unknown-input"),
        (f"convert {ARCFACE} -o a.onnx --input data:1,4,32,32", 2, "channels"),
        (f"convert {ARCFACE} -o no/a.onnx --input data:1,3,32,32", 2, "place-to-write"),
        (f"convert {ARCFACE} -o a.onnx --input data:1,3,32,32 --opset 99", 2, "value-of-option"),
        (f"convert {ARCFACE} -o a.onnx --input data:1,3,32,32 --outputs nope", 2, "unknown-output"),
        ("convert cut -o a.onnx --input data:1,3", 2, "damaged-file"),
        ("convert half -o a.onnx --input data:1,3,32,32", 2, "damaged-file"),
        ("convert alone -o a.onnx --input data:1,3,32,32", 2, "missing-parameters"),
        ("convert mine -o a.onnx --input data:1,3", 2, "unknown-operator"),
        ("import alone-symbol.json", 2, "other-direction"),
        (f"convert {LENET} -o a.onnx --input data:1,1,32,32", 2, "channels"),
        (f"convert {LENET} -o a.onnx --input data:1,1,28,28 --labels two.txt", 2, "names-of-classes"),
        ("import foo.onnx", 2, "no-reading"),
    ],
)
def test_a_command_ends_in_the_one_that_says_more(
    arguments: str, status: int, anchor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    symbol, params = ((ROOT / f"{ARCFACE}{end}").read_bytes() for end in ("-symbol.json", "-0000.params"))
    for name, written, weights in (
        ("cut", symbol[:3000], b""),
        ("half", symbol, params[:5000]),
        ("alone", symbol, b""),
    ):
        (tmp_path / f"{name}-symbol.json").write_bytes(written)
        if weights:
            (tmp_path / f"{name}-0000.params").write_bytes(weights)
    (tmp_path / "two.txt").write_text("a\nb\n", encoding="utf-8")
    foo = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["my.dom": 1]> m (float[3] x) => (float[3] y) { y = my.dom.Foo (x) }'
    )
    onnx.save(foo, tmp_path / "foo.onnx")
    network = [{"op": "null", "name": "data", "inputs": []}, {"op": "MyOwn", "name": "mine", "inputs": [[0, 0, 0]]}]
    (tmp_path / "mine-symbol.json").write_text(json.dumps({"nodes": network, "arg_nodes": [0], "heads": [[1, 0, 0]]}))
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, arguments.split())
    assert done.exit_code == status, done.output
    assert done.stderr.splitlines()[-1] == f"for more: gluonnx explain {anchor}"
    told = json.loads(CliRunner().invoke(app, [*arguments.split(), "--json"]).stdout)
    assert told["see"] == f"gluonnx explain {anchor}" and told["see"] not in told["error"]


def test_python_keeps_the_message_as_it_is() -> None:
    with pytest.raises(bridge.BadInput, match=r"wanted a -symbol.json") as caught:
        bridge.convert("nothere", inputs={}, output="a.onnx")
    assert "explain" not in str(caught.value)


def explained(*words: str) -> str:
    done = CliRunner().invoke(app, ["explain", *words], env={"COLUMNS": "100", "TERM": "dumb"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda t: t.anchor)
def test_explain_says_all_of_an_entry(trouble: Trouble) -> None:
    said = "".join(explained(trouble.anchor).split())
    assert all("".join(text.split()) in said for text in (trouble.title, trouble.example))
    assert all("".join(re.split(r"[\[(]", text)[0].split()) in said for text in (trouble.means, *trouble.do))
    assert not re.search(r"\]\([^)]*\.md", said), "a link of Markdown"
    assert f"docs/troubleshooting.md#{trouble.anchor};" in said


def test_explain_finds_entries_by_words() -> None:
    assert explained("network", "Scales", "already") == explained("scaled-twice")
    assert explained("my.onnx: unknown input image: the model takes data") == explained("unknown-input")
    listed = explained("opset").splitlines()
    assert len(listed) > 3 and all(line.split()[0] in {t.anchor for t in TROUBLES} for line in listed[:-1])
    assert [line.split()[0] for line in explained().splitlines()[:-1]] == [t.anchor for t in TROUBLES]
    done = CliRunner().invoke(app, ["explain", "no-such-thing"])
    assert done.exit_code == 2 and "gluonnx explain lists all" in done.stderr


def test_what_is_named_elsewhere_is_there() -> None:
    texts = [path.read_text(encoding="utf-8") for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    texts += [path.read_text(encoding="utf-8") for path in ROOT.glob("docs/**/*.md")]
    named = {name for text in texts for name in re.findall(r"gluonnx explain ([a-z]+(?:-[a-z]+)+)", text)}
    assert "training-unkept" in named and named <= {t.anchor for t in TROUBLES}
