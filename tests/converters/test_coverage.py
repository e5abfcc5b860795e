"""docs/operators.md says what the registries say."""

from pathlib import Path

from converters.coverage import markdown, rows


def test_the_table_is_up_to_date() -> None:
    said = (Path(__file__).parents[2] / "docs" / "operators.md").read_text()
    assert said == markdown(), "run: python -m converters.coverage > docs/operators.md"


def test_every_row_has_a_translation_or_a_reason() -> None:
    assert not [row.name for row in rows() if bool(row.opsets) == bool(row.reason)]
