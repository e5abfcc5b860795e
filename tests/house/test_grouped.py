"""Tests of many rows: all rows are tried, all that fail are told, and one can be asked for alone."""

import pytest

from tests.grouped import each, over, run


def test_all_rows_are_tried_and_all_that_fail_are_told() -> None:
    tried = []

    def check(row: int) -> None:
        tried.append(row)
        assert row % 2, f"{row} is even"

    with pytest.raises(
        AssertionError, match=r"2 of 4 rows fail:\n\[a\] AssertionError: 0 is even(.|\n)*\[c\]"
    ) as caught:
        run(zip("abcd", range(4)), check)
    assert tried == [0, 1, 2, 3]
    assert "0 is even" in str(caught.value.__cause__)


@pytest.mark.parametrize("other", ["x"])
@each(range(6), lambda row: ("even" if row % 2 == 0 else "odd", f"number {row}"))
def test_rows_come_by_groups_with_other_parameters(row: int, other: str) -> None:
    assert (type(row), other) == (int, "x")


def test_every_group_is_a_test_of_its_own(request: pytest.FixtureRequest) -> None:
    start = test_rows_come_by_groups_with_other_parameters.__name__
    names = {i.name.removeprefix(start) for i in request.session.items if i.name.startswith(start)}
    assert names <= {"[even-x]", "[odd-x]"}


@over("number, word", [(1, "one"), (2, "two")])
@pytest.mark.parametrize("other", ["x"])
@over("more", [10, 20])
def test_every_combination_is_tried(number: int, other: str, word: str, more: int) -> None:
    assert (len(word), other) == (3, "x") and more in (10, 20)
    COMBINED.append((number, more))


COMBINED: list[tuple[int, int]] = []


def test_combinations_are_rows_of_one_test(request: pytest.FixtureRequest) -> None:
    @over("a, b", [(1, 2), (3, 4)])
    @over("c", [2, 5])
    def check(a: int, b: int, c: int) -> None:
        assert b == c, f"{a}{b}{c}"

    with pytest.raises(AssertionError, match=r"(?s)3 of 4 rows fail:\n\[1-2-5\].*125\n.*\[3-4-2\].*342\n.*\[3-4-5\]"):
        check(request)
    if COMBINED and not request.config.getoption("--row"):
        assert COMBINED == [(1, 10), (1, 20), (2, 10), (2, 20)]
