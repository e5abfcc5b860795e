"""Instructions of the documents: they are followed, in copies, and work."""

import ast
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.docs import BLOCK, ROOT, Block, block, blocks, pairs, says
from tests.house.source import nodes, sources

README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
PACKAGES = ("bridge", "converters", "gluonnx", "hybrid")
# set-up blocks: `main-job` runs in test_main_job, `tests` in .ci/run (it would call itself from here)
SET_UP = ("main-job", "tests")
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("commands", "python", "from-onnx", "programs", "engine")]
"""Pages that tell at length what the README says in a line."""


def copy(target: Path, *parts: str) -> Path:
    """The named files and folders of the checkout, under target, and what Python has compiled of them, but for files of that which
    another process is about to rename."""
    for part in parts:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, target / part, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            (target / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, target / part)
    return target


def run(command: list[str], cwd: Path, **environment: str) -> str:
    """Output of the command; all of it is shown when it fails."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def with_command(folder: Path, packages: Path | None = None) -> dict[str, str]:
    """An environment in which ``gluonnx`` is the command of the packages in the folder, or elsewhere, and ``python`` the one that
    runs this."""
    packages = packages or folder
    commands = folder / ".commands"
    commands.mkdir()
    for name, what in (
        ("gluonnx", f"PYTHONPATH={packages} exec {sys.executable} -m gluonnx"),
        ("python", f"exec {sys.executable}"),
    ):
        (commands / name).write_text(f'#!/bin/sh\n{what} "$@"\n')
        (commands / name).chmod(0o755)
    return {"PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(packages)}


def execute(part: Block, folder: Path, environment: dict[str, str]) -> str:
    """Output of the block; ``file: PATH`` makes a file of it."""
    if part.name == "file":
        (folder / part.argument).write_text(part.text)
    elif part.language == "python":
        return run([sys.executable, "-W", "error", "-c", part.text], folder, **environment)
    elif part.language == "bash":
        return run(["bash", "-euc", part.text], folder, **environment)
    return ""


@pytest.mark.slow
def test_blocks_of_the_readme_and_its_pages_run(tmp_path: Path) -> None:
    copy(tmp_path, *PACKAGES, "fixtures/models", "fixtures/onnx/torch_cnn_legacy")
    environment = with_command(tmp_path)
    (job, shown), *_ = pairs(blocks(README))
    assert job.name == "main-job"
    assert shown
    command = re.sub(r"^\S*/gluonnx", "gluonnx", job.text.split("\n", 1)[1])
    assert says(shown, run(["bash", "-euc", command], tmp_path, **environment))
    for part in (b for page in (README, *PAGES) for b in blocks(page)):
        if part.name not in SET_UP:
            execute(part, tmp_path, environment)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["precision", "exit-statuses"])
def test_blocks_of_a_page_run(name: str, tmp_path: Path) -> None:
    """In a folder of their own, beside the fixtures: what prints nothing that the page shows ends well."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    environment = with_command(tmp_path, ROOT)
    parts = [*pairs(blocks(ROOT / "docs" / f"{name}.md"))]
    assert any(part.language in ("bash", "python") for part, _ in parts)
    for part, expected in parts:
        printed = execute(part, tmp_path, environment)
        assert expected is None or says(expected, printed), f"{part.text}\nshown:\n{expected}\nprinted:\n{printed}"


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_print_what_they_show(page: Path, tmp_path: Path) -> None:
    """Each page's blocks in order, in one folder, beside the fixtures."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    environment = with_command(tmp_path, ROOT)
    shown = 0
    for part, expected in pairs(blocks(page)):
        printed = execute(part, tmp_path, environment)
        if expected is not None:
            shown += 1
            assert says(expected, printed), f"{part.text}\nshown:\n{expected}\nprinted:\n{printed}"
    assert shown >= 2


def test_what_a_document_shows_is_compared() -> None:
    printed = "read a\nwrote b (3.5 kB)  \nnote: c\n"
    assert says("read a\nwrote b (...)\nnote: c\n", printed)
    assert says("read a\n...\n", printed)
    assert not says("read a\n", printed)
    assert not says("read a\nwrote c (...)\nnote: c\n", printed)
    parts = [Block("", "", "bash", "a"), Block("output", "", "text", "b"), Block("", "", "bash", "c")]
    assert [(p.text, e) for p, e in pairs(parts)] == [("a", "b"), ("c", None)]


def test_tutorials_are_narrow() -> None:
    """Prose and commands: what is printed is as wide as it is."""
    for page in TUTORIALS:
        shown = "".join(b.text for b in blocks(page) if b.name == "output").splitlines()
        assert not [line for line in page.read_text().splitlines() if len(line) > 100 and line not in shown], page


@pytest.mark.slow
def test_main_job_from_nothing(tmp_path: Path) -> None:
    """The README's first command as it stands, environment and installation included."""
    copy(tmp_path, *PACKAGES, "fixtures/models", "pyproject.toml", "README.md", "LICENSE")
    assert "equivalent" in run(["bash", "-euc", block(README, "main-job").text], tmp_path)
    assert list(tmp_path.glob("*.onnx"))


@pytest.mark.parametrize(
    "path", [p for p in ROOT.rglob("*.md") if not p.relative_to(ROOT).parts[0].startswith(".")], ids=lambda p: p.name
)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert "://" in target or (path.parent / target).exists(), target


@pytest.mark.parametrize("name", ["deploy", "precision"])
def test_pages_with_pictures_say_what_reads_them(name: str) -> None:
    """Pillow is an extra, and a page that is followed from the top should not end in its absence."""
    first = "--image reads" if name == "deploy" else "--quantize FOLDER"
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").replace("`", "")
    assert 0 < text.index("pip install pillow") - text.index(first) < 200


DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md")]
DOCUMENTS += sorted((ROOT / "docs" / "decisions").glob("*.md"))
EXAMPLES = {
    "train.py",
    "script.py",
    "wheel.py",
    "model.onnx",
    "docs/decisions/NNNN-title.md",
    "NNNN-title.md",
    "FILE.md",
    "gluonnx.toml",
}
"""Paths that documents use as examples, and a setting that looks like one."""


@functools.cache
def known_paths() -> frozenset[str]:
    """Every file and folder of the checkout by all ends of its path: ``lower.py``, ``execution/lower.py``, ..."""
    found = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name == ".ci" or name[0] not in "._"]
        for name in (*folders, *files):
            parts = (Path(folder) / name).relative_to(ROOT).parts
            found.update("/".join(parts[i:]) for i in range(len(parts)))
    return frozenset(found)


@functools.cache
def members() -> dict[str, set[str]]:
    """Names that the bodies of the product's classes define, by the name of the class; of classes of one name those of all."""
    found: dict[str, set[str]] = {}
    for node in (n for s in sources() for n in nodes(s.tree) if isinstance(n, ast.ClassDef)):
        own = found.setdefault(node.name, set())
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef):
                own.add(inner.name)
            elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                own.add(inner.id)
            elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
                own.add(inner.attr)
    return found


def stale_names(text: str) -> list[str]:
    """Paths of source files that a document names and that are not there, and members that classes do not have."""
    made = {argument for name, argument, *_ in BLOCK.findall(text) if name == "file"}
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    paths = re.findall(r"(?<![\w./*-])(?:\.\./)*((?:[\w.-]+/)*\w[\w.-]*\.(?:py|h|cc|inc|md|toml))\b(?![\w/*])", prose)
    wrong = [path for path in dict.fromkeys(paths) if path not in known_paths() | made | EXAMPLES]
    for name, member in dict.fromkeys(re.findall(r"`([A-Z]\w+)\.([a-z_]\w*)(?:\([^`]*\))?`", prose)):
        if name in members() and member not in members()[name]:
            wrong.append(f"{name}.{member}")
    return wrong


def test_documents_name_what_is_there() -> None:
    """Paths and members of classes; what a document proposes and nobody has made is no path."""
    wrong = [f"{path.relative_to(ROOT)}: {name}" for path in DOCUMENTS for name in stale_names(path.read_text())]
    assert not wrong, "documents name what is not there:\n" + "\n".join(wrong)


def test_the_test_of_names_sees() -> None:
    text = "graph/lower.py, execution/lower.py and `Op.ranks`, `Op.is_ordering`, `Op.gradient(F, dy)`\n"
    assert stale_names(text) == ["graph/lower.py", "Op.ranks"]


def apply(part: Block, folder: Path) -> None:
    """``file: PATH`` makes a file of the block; ``insert: PATH after TEXT`` puts it after the line that holds the text."""
    if part.name == "file":
        (folder / part.argument).write_text(part.text)
    elif part.name == "insert":
        name, text = part.argument.split(" after ", 1)
        lines = (folder / name).read_text().splitlines(keepends=True)
        (position,) = (i for i, line in enumerate(lines) if text in line)
        (folder / name).write_text("".join([*lines[: position + 1], part.text, *lines[position + 1 :]]))


@pytest.mark.slow
def test_adding_an_operator_as_described(tmp_path: Path) -> None:
    """The recipe's blocks, applied to a copy of the packages, pass the tests that are generated for them."""
    copy(
        tmp_path,
        *PACKAGES,
        "tests/__init__.py",
        "tests/grouped.py",
        "tests/shares.py",
        "tests/table",
        "fixtures/mixed.json",
        "fixtures/variants.json",
        "pyproject.toml",
    )
    (tmp_path / "fixtures" / "ops").mkdir(parents=True)
    environment = with_command(tmp_path)
    for part in blocks(CONTRIBUTING):
        if part.name in ("file", "insert") and not part.argument.startswith("fixtures/"):
            apply(part, tmp_path)
    (tmp_path / "docs").mkdir()
    run(
        ["bash", "-euc", block(CONTRIBUTING, "operator-table").text.replace("python", sys.executable, 1)],
        tmp_path,
        **environment,
    )
    assert "soft_shrink" in (tmp_path / "docs/operators.md").read_text()
    python = block(CONTRIBUTING, "try").text
    run([sys.executable, "-c", python], tmp_path, **environment)
    command = block(CONTRIBUTING, "generated-tests").text.replace(
        "pytest", f"{sys.executable} -m pytest -p no:cacheprovider", 1
    )
    summary = run(["bash", "-euc", command], tmp_path, **environment)
    passed = int(re.search(r"(\d+) passed", summary)[1])  # type: ignore[index]
    assert passed >= 12, summary


@pytest.mark.mxnet
def test_recording_goldens_as_described(tmp_path: Path) -> None:
    copy(tmp_path, "fixtures/make")
    for part in blocks(CONTRIBUTING):
        if part.name in ("file", "insert") and part.argument.startswith("fixtures/"):
            apply(part, tmp_path)
    command = block(CONTRIBUTING, "record").text
    run(["bash", "-euc", command], tmp_path, MXNET_PYTHON=os.environ["MXNET_PYTHON"])
    assert "one-sided" in (tmp_path / "fixtures/ops/clip.json").read_text()
