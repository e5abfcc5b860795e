"""docs/targets.md is what ``python -m tests.targets --write`` writes, and no cell of it is silently wrong."""

from bridge.targets.deployed import DIFFERS
from bridge.targets.profile import profiles

from .__main__ import NETWORKS, PAGE, SHOWN, recorded, written


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "python -m tests.targets --write"


def test_every_cell_was_measured_and_none_is_wrong() -> None:
    cells = recorded()
    assert set(cells) == {(t, n) for t in SHOWN for n in NETWORKS}
    assert [k for k, c in cells.items() if c["verdict"] == DIFFERS] == []
    assert {t for t, _ in cells} <= set(profiles())
