"""Shares of sweeps are fixed, leave out no group, and are all cases when put together."""

from pathlib import Path

import pytest

from tests import shares
from tests.grouped import each

pytest_plugins = ["pytester"]
NAMES = [f"case {i}" for i in range(200)]
SWEEP = """
import pytest
from tests.grouped import each

@pytest.mark.share(4)
@pytest.mark.parametrize("number", range(40))
def test_marked(number):
    print("tried marked", number)

@each([(g, i) for g in "ab" for i in range(40)], lambda row: (row[0], str(row[1])), share=4)
def test_grouped(row):
    print("tried grouped", *row)

def test_alone():
    print("tried alone")
"""


def of_turn(monkeypatch: pytest.MonkeyPatch, turn: int) -> list[str]:
    monkeypatch.setattr(shares, "everything", False)
    monkeypatch.setattr(shares, "turn", turn)
    return list(shares.some(NAMES, str, 5))


def test_turns_are_all_together_and_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [of_turn(monkeypatch, turn) for turn in range(5)]
    assert sorted(name for names in turns for name in names) == sorted(NAMES)
    assert all(20 < len(turn) < 60 for turn in turns)
    assert of_turn(monkeypatch, 5) == turns[0]
    assert turns[0][:3] == ["case 10", "case 13", "case 14"], "another share than on other machines"


def test_each_case_has_a_value_whose_turn_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    for turn in range(3):
        monkeypatch.setattr(shares, "turn", turn)
        monkeypatch.setattr(shares, "everything", False)
        seen.update(shares.one((13, 17, 24), "relu plain"))
        assert {v for name in NAMES for v in shares.one((13, 17, 24), name)} == {13, 17, 24}
    assert seen == {13, 17, 24}
    monkeypatch.setattr(shares, "everything", True)
    assert shares.one((13, 17, 24), "relu plain") == (13, 17, 24)
    assert list(shares.some(NAMES, str, 5)) == NAMES


@pytest.mark.parametrize("count", [1, 2, 50])
def test_no_group_is_left_out(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "everything", False)
    rows = [(name, str(i)) for name in NAMES for i in range(count)]

    def check(row: tuple[str, str]) -> None:
        assert row in rows

    (mark,) = each(rows, lambda row: row, share=7)(check).pytestmark  # type: ignore[attr-defined]
    assert [group.id for group in mark.args[1]] == NAMES


def tried(pytester: pytest.Pytester, *options: str) -> dict[str, int]:
    """Number of cases that were tried of each test of the sweep, run as a test of this suite."""
    done = pytester.runpytest_subprocess("-q", "-s", "-p", "no:cacheprovider", "-p", "tests.conftest", *options)
    assert done.ret == 0, done.stdout.str()
    words = [line.split()[1] for line in done.stdout.str().replace(".tried", "\ntried").splitlines() if "tried" in line]
    return {word: words.count(word) for word in words}


def test_what_the_options_select(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(test_sweep=SWEEP)
    pytester.makeini("[pytest]\nmarkers = share\n")
    assert tried(pytester, "--all-cases") == {"marked": 40, "grouped": 80, "alone": 1}
    found = tried(pytester, "--turn", "1")
    assert found["alone"] == 1
    assert 3 < found["marked"] < 20
    assert 8 < found["grouped"] < 40
    assert tried(pytester, "test_sweep.py::test_marked[3]") == {"marked": 1}, "left out though it was named"
