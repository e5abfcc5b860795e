"""docs/targets.md is what ``python -m tests.targets --write`` writes, no cell of it is silently wrong or silently old, and most of
issue 17's networks run in OpenCV 4.6."""

from bridge.targets.deployed import AGREES, DIFFERS
from bridge.targets.profile import profiles

from .__main__ import ISSUE, NETWORKS, PAGE, SHOWN, ZOO, recorded, written
from .rebuilt import COMMITTED


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "python -m tests.targets --write"


def test_every_cell_was_measured_and_none_is_wrong() -> None:
    cells = recorded()
    assert {(t, n) for t, n in cells if n in NETWORKS} == {(t, n) for t in SHOWN for n in NETWORKS}
    assert {n for _, n in cells} == {*NETWORKS, *ISSUE, *ZOO}
    assert [k for k, c in cells.items() if c["verdict"] == DIFFERS] == []
    assert {t for t, _ in cells} <= set(profiles())


def test_opencv_46_runs_most_of_the_issues_networks() -> None:
    cells = recorded()
    assert len({*COMMITTED, *ISSUE}) == 34
    assert sum(cells["opencv-4.6", n]["verdict"] == AGREES for n in (*COMMITTED, *ISSUE)) >= 24
