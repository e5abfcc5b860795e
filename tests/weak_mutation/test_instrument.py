"""What is said of a toy: each slip that its calls could not tell apart, and none other."""

import ast
from collections.abc import Iterator
from typing import Any

import pytest

from . import instrument
from .instrument import RECORDERS, Instrument, lacking

TOY = '''
def f(x, low=0, *, names=None):
    """A toy."""
    if x < low or (names and not x):
        x = x + low
    total = x * 3 - len(names or ())
    for n in names or ["a"]:
        total = total // 1
    return [total if low else n for n in "ab" if n != "b"]
'''


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(instrument, "places", [])
    monkeypatch.setattr(instrument, "seen", [])
    tree = ast.fix_missing_locations(Instrument("toy.py").visit(ast.parse(TOY)))
    space: dict[str, Any] = dict(RECORDERS)
    exec(compile(tree, "toy.py", "exec"), space)
    yield space["f"]


def holes() -> set[str]:
    found = ((p, lacking(p.kind, bits)) for p, bits in zip(instrument.places, instrument.seen))
    return {f"{p.line}: {why}: {p.text}" for p, why in found if why}


def test_calls_leave_holes_until_values_tell_apart(toy: Any) -> None:
    assert any("never run" in hole for hole in holes())
    assert toy(5) == ["a"]
    assert holes() == {
        "2: always its default: f(low)", "2: always its default: f(names)", "4: always false: x < low",
        "4: never equal: x < low", "4: always false: names", "4: never run: x", "5: never run: x + low",
        "6: right is always nothing: x * 3 - len(names or ())", "6: always false: names", "7: always false: names",
        "7: never of several: names or ['a']", "8: right is always 1: total // 1", "9: always false: low",
    }  # fmt: skip
    assert toy(1, 1, names=["q", "r"]) == [1]
    toy(0, names=["q"])
    toy(1, 2)
    assert toy.__doc__ == "A toy."
    assert holes() == {"8: right is always 1: total // 1"}


def test_what_cannot_be_compared_says_nothing(toy: Any) -> None:
    import numpy as np

    with pytest.raises(ValueError, match="truth value"):
        toy(np.ones(2))
    assert not any("x < low" in hole and "equal" in hole for hole in holes())
