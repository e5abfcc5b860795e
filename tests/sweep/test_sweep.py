"""No combination of attributes comes out wrong: one of every space here and those of chosen.json, a share of all of
them in the slow run, at one opset each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import converters

from .. import shares
from . import spaces
from .space import Point, Space
from .verdicts import OPSETS, WRONG, Verdict, judge, recorded

DECLARED = [
    pytest.param(family, several, id=operator)
    for family, operators in spaces.load().items()
    for operator, several in operators.items()
]
CHOSEN = json.loads(Path(__file__).with_name("chosen.json").read_text())
SHARE = 5
every = pytest.mark.parametrize("family, several", DECLARED)


def faults(verdicts: Iterable[Verdict]) -> str:
    return "\n".join(f"{v.point.key}: {v.detail}" for v in verdicts if v.word == WRONG)


@every
def test_one(family: str, several: list[Space]) -> None:
    """Of each space one combination, whichever comes first: they are in no particular order."""
    assert not faults(judge(family, next(space.points()), (converters.default_opset(),)) for space in several)


@pytest.mark.parametrize("family", spaces.FAMILIES)
def test_chosen(family: str) -> None:
    """Combinations that tell more than the first, and than recorded cases: see choose.py."""
    found = spaces.load()[family]
    points = [found[o][number].at(indices) for o in found for number, *indices in CHOSEN.get(o, ())]
    assert None not in points, "chosen.json is of other spaces: run python -m tests.sweep.choose"
    assert not faults(judge(family, point, (converters.default_opset(),)) for point in points if point)


def looked_at(space: Space) -> Iterator[Point]:
    """One combination in SHARE."""
    for key in shares.some(space.keys, f"{space.operator} {{}}".format, SHARE):
        point = space.at(space.keys[key])
        assert point is not None
        yield point


@pytest.mark.slow
@every
def test_all(family: str, several: list[Space]) -> None:
    """Of each space one combination in SHARE, at one of the opsets."""
    points = (point for space in several for point in looked_at(space))
    assert not faults(judge(family, p, shares.one(OPSETS, f"{p.operator} {p.key}")) for p in points)


@pytest.mark.slow
@pytest.mark.parametrize("family", spaces.FAMILIES)
def test_record_is_of_these_spaces(family: str) -> None:
    declared = {
        operator: {key for space in several for key in space.keys}
        for operator, several in spaces.load()[family].items()
    }
    assert {operator: rows.keys() for operator, rows in recorded(family).items()} == declared
