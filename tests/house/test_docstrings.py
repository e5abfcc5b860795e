"""Docstrings of product and tests open with a noun or a verb, not with a question; every function has a name."""

import ast
import re
from collections.abc import Iterator

from tests.house.docs import ROOT
from tests.house.source import nodes, sources

QUESTIONS = re.compile(r"(What|Whether|Which|Who|Whose|How|Why|Where|When)\b")
SUSPECT = re.compile(r"^\s*[\"']+" + QUESTIONS.pattern, re.MULTILINE)
"""A line that may open such a docstring."""


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, text) of every docstring, those below attributes and constants included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def test_docstrings_open_with_a_noun_or_a_verb() -> None:
    trees = [(s.path, s.tree) for s in sources()]
    for path in sorted(path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")):
        if SUSPECT.search(text := path.read_text()):  # parsing all of them takes seconds
            trees.append((path, ast.parse(text)))
    found = [f"{path}:{line} {t}" for path, tree in trees for line, t in texts(tree) if QUESTIONS.match(t)]
    assert not found, 'say the fact ("True where ...", "Shape of ...", "Return ..."):\n' + "\n".join(found)


def test_every_function_has_a_name() -> None:
    found = [
        f"{s.path}:{node.lineno}"
        for s in sources()
        for node in nodes(s.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.strip("_")
    ]
    assert not found, "functions called _, which neither a search nor a traceback finds:\n" + "\n".join(found)


def test_the_tests_see() -> None:
    planted = ast.parse('"""What it is."""\nx = 1\n"""Whether it is."""\ndef f():\n    """Whatever."""\n    "Shape."\n')
    assert [t for _, t in texts(planted) if QUESTIONS.match(t)] == ["What it is.", "Whether it is."]
    assert SUSPECT.findall('"""What it is."""\n    "Which."\nx = "Who"\n    \'Why\'\n') == ["What", "Which", "Why"]
