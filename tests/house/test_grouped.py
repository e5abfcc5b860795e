"""Tests of many rows: all rows are tried, all that fail are told, and one can be asked for alone."""

import pytest

from tests.grouped import each, run


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
