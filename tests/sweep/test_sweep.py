"""No combination of attributes comes out wrong: a few of every operator here, all of them in the slow run."""

from __future__ import annotations

import itertools

import pytest

from . import spaces
from .space import Space
from .verdicts import WRONG, judge, recorded

QUICK = 2
"""Combinations of a space in the quick run; they come in no particular order."""

DECLARED = [
    pytest.param(family, several, id=operator)
    for family, operators in spaces.load().items()
    for operator, several in operators.items()
]
every = pytest.mark.parametrize("family, several", DECLARED)


def faults(family: str, several: list[Space], quick: bool) -> str:
    points = (point for space in several for point in itertools.islice(space.points(), QUICK if quick else None))
    verdicts = [judge(family, point) for point in points]
    return "\n".join(f"{v.point.key}: {v.detail}" for v in verdicts if v.word == WRONG)


@every
def test_a_few(family: str, several: list[Space]) -> None:
    assert not faults(family, several, quick=True)


@pytest.mark.slow
@every
def test_all(family: str, several: list[Space]) -> None:
    assert not faults(family, several, quick=False)


@pytest.mark.slow
@pytest.mark.parametrize("family", spaces.FAMILIES)
def test_record_is_of_these_spaces(family: str) -> None:
    declared = {
        operator: {point.key for space in several for point in space.points()}
        for operator, several in spaces.load()[family].items()
    }
    assert {operator: rows.keys() for operator, rows in recorded(family).items()} == declared
