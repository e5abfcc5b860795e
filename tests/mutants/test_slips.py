"""Drawn slips: what syntax suggests, and how they are tried."""

import ast
import json
import subprocess
import sys

import pytest

from tests.house.docs import ROOT

from .slips import slips

MODULE = '''\
"""A module."""

def bounded(low: int, high: int, values: list[int]) -> list[int]:
    """The values from low to high."""
    if not values:
        raise ValueError(f"got {len(values)} values")
    first, second = values[0], values[1:]
    found = [v for v in second if low <= v
             and v < high + 1]
    found.sort(key=abs, reverse=True)
    return min(first, 3), found
'''


def planted(module: str = MODULE) -> dict[str, set[str]]:
    """Changed lines, by kind of slip."""
    found: dict[str, set[str]] = {}
    for slip in slips("x.py", module):
        text = slip.plant(module)
        ast.parse(text)
        assert text.count("\n") == module.count("\n"), slip
        changed = [b for a, b in zip(module.splitlines(), text.splitlines()) if a != b]
        assert changed, slip
        found.setdefault(slip.kind, set()).add(changed[0].strip())
    return found


def test_slips_are_what_syntax_suggests():
    found = planted()
    assert found["border"] >= {"found = [v for v in second if low < v"}
    assert found["not left out"] == {"if (values):"}
    assert found["never so"] == {"if False:"} and found["always so"] == {"if True:"}
    assert "found = [v for v in list(second)[:-1] if low <= v" in found["all but the last"]
    assert found["slice from the start"] == {"first, second = values[0], values[:]"}
    assert found["no bound"] == {"return first, found", "return 3, found"}
    assert found["argument left out"] >= {"found.sort(reverse=True)", "found.sort(key=abs)", "return min(first), found"}
    assert "found = [v for v in second if high <= v" in found["another variable"]
    assert "first, second = values[1], values[1:]" in found["other constant"]
    assert "found.sort(key=abs, reverse=False)" in found["other constant"]
    assert found["dropped statement"] == {"pass"}


def test_messages_annotations_and_examples_are_left_alone():
    lines = {s.line for s in slips("x.py", MODULE)}
    assert lines.isdisjoint({1, 3, 4, 6})
    assert not slips("x.py", "class A:\n    def examples(cls, make):\n        return make(1 + 2)\n")


def test_lines_are_those_at_which_it_runs():
    [cut] = [s for s in slips("x.py", MODULE) if s.kind == "condition left out"]
    assert set(cut.lines) == {8, 9} and cut.plant(MODULE).splitlines()[7].endswith("if (True")


@pytest.mark.slow
def test_drawn_slips_are_tried_against_the_tests_that_run_them(tmp_path):
    pytest.importorskip("coverage")
    tests = "tests/test_initializer.py"
    record = subprocess.run([sys.executable, "-m", "tests.mutants.covered", tmp_path, tests], cwd=ROOT, check=False)
    assert record.returncode == 0
    command = [sys.executable, "-m", "tests.mutants.forked", tmp_path, "--count=8", "--json", "--only=initializer.py"]
    done = subprocess.run([*command, "--tests", tests], cwd=ROOT, capture_output=True, text=True, check=False)
    rows = [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")]
    assert len(rows) == 8, done.stdout + done.stderr
    assert {r["result"] for r in rows} <= {"caught", "survived", "untried"}
    caught = [r for r in rows if r["result"] == "caught"]
    assert caught and all(r["by"].startswith(tests) for r in caught)
    assert done.returncode == int(any(r["result"] == "survived" for r in rows))
