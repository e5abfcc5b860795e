"""Programs written for MXNet 1.x, run as they are by ``python -m hybrid``, print what they printed in real MXNet 1.9.1.

fixtures/programs/<program>.json holds what that was. Line breaks and blanks do not count (NumPy aligns columns by their last
digits), nor do times, nor what our engine logs where its compiled part is missing."""

import hashlib
import json
import math
import re
from pathlib import Path

import pytest

from tests.fresh import run

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = sorted((ROOT / "tests" / "programs").glob("*.py"))
RELATIVE, ABSOLUTE = 2e-4, 1e-5
"""Losses after some steps of training differ by what float32 rounding has grown to."""

_TIMES = re.compile(r"Time cost=\S+|Speed: \S+")
_LOGGED = re.compile(r"^gluonnx runs without its compiled part.*\n?", re.MULTILINE)
_SCALAR = re.compile(r"np\.(?:float|int)\d+\(([^()]*)\)")  # NumPy 2's way of showing its numbers
_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])-?(?:\d+\.\d*|\.\d+|\d+(?=e[-+]\d))(?:e[-+]?\d+)?|(?<![\w.])-?(?:nan|inf)\b)|[\w.]+|[^\w\s]"
)


def _tokens(lines):
    text = _SCALAR.sub(r"\1", _TIMES.sub("", _LOGGED.sub("", "\n".join(lines))))
    return [float(m[0]) if m["number"] else m[0] for m in _TOKEN.finditer(text)]


def _same(ours, theirs):
    if isinstance(ours, float) and isinstance(theirs, float):
        return (math.isnan(ours) and math.isnan(theirs)) or math.isclose(
            ours, theirs, rel_tol=RELATIVE, abs_tol=ABSOLUTE
        )
    return ours == theirs


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_programs_print_what_they_print_in_mxnet(program, tmp_path):
    recorded = json.loads((ROOT / "fixtures" / "programs" / f"{program.stem}.json").read_text())
    assert hashlib.sha256(program.read_bytes()).hexdigest() == recorded["birth"]["sha256"], "record it again"
    done = run([str(program)], tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    ours, theirs = _tokens(done.stdout.splitlines()), _tokens(recorded["output"])
    for i, (a, b) in enumerate(zip(ours, theirs)):
        assert _same(a, b), f"token {i}: here ... {ours[i - 12 : i + 4]}, in MXNet ... {theirs[i - 12 : i + 4]}"
    assert len(ours) == len(theirs), (ours[len(theirs) :], theirs[len(ours) :])


def test_every_program_is_recorded():
    recorded = {p.stem for p in (ROOT / "fixtures" / "programs").glob("*.json")}
    assert {p.stem for p in PROGRAMS} == recorded
