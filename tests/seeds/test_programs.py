"""The programs of the pages that this product began with, run as a user runs them: ``python -m hybrid``.

What they print is what real MXNet printed (fixtures/seeds) and what the pages show (``#>`` lines in the programs), random
numbers and times aside.
"""

import re
from pathlib import Path

import pytest

from tests import fresh

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
SYNONYMS = {"OpError": "MXNetError"}
"""Classes of errors that this package tells more exactly, by those that MXNet has."""


def run(program: Path, folder: Path) -> str:
    found = fresh.run([str(HERE / "notebook.py"), str(program)], folder)
    assert found.returncode == 0, found.stderr
    return found.stdout


def plain(line: str, random: bool) -> str:
    """A line with what may differ taken out: where a module lies, blanks in arrays, and random numbers."""
    line = re.sub(r"<module '(?:mxnet|hybrid)\.(\w+)' from '.*'>", r"<module \1>", line)
    line = re.sub(r"module 'hybrid\.", "module 'mxnet.", line)
    line = re.sub(r"^(\w+) $", lambda m: SYNONYMS.get(m[1], m[1]), line)
    line = re.sub(r"\d\.\d{4} sec", "some time", line)
    if random and re.fullmatch(r"[\[\](),.\s\d e+-]*", line):
        return ""
    return re.sub(r"\s+", " ", re.sub(r"\[\s+", "[", line)).strip()


def lines(text: str, random: bool) -> list[str]:
    return [found for line in text.splitlines() if (found := plain(line, random))]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_program(program: Path, tmp_path: Path) -> None:
    source = program.read_text(encoding="utf-8")
    random = "\n# random\n" in source
    shown = lines(run(program, tmp_path), random)
    assert shown == lines((ROOT / "fixtures" / "seeds" / f"{program.stem}.txt").read_text(encoding="utf-8"), random)
    rest = iter(shown)
    for wanted in lines("\n".join(re.findall(r"^#> ?(.*)$", source, re.MULTILINE)), random):
        assert wanted in rest, f"the page shows {wanted!r} after what was found before"


def test_every_seed_is_here() -> None:
    """Seed 004 holds no code: the page's programs were lost on their way."""
    text = "".join(p.read_text(encoding="utf-8") for p in PROGRAMS)
    assert {n for n in re.findall(r"\b00\d\b", text)} == {"000", "001", "002", "003"}


def test_random_numbers_are_drawn(tmp_path: Path) -> None:
    """Arrays that the comparison leaves out are there: of the right shapes, not all alike."""
    text = run(HERE / "programs" / "hybrid_net.py", tmp_path)
    assert len(re.findall(r"<NDArray 1x2 @cpu\(0\)>", text)) == 5
    numbers = [float(n) for n in re.findall(r"-?\d\.\d{4,}", text)]
    assert len(set(numbers)) > 5 and all(abs(n) < 10 for n in numbers)
