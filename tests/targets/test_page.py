"""docs/targets.md is what ``python -m tests.targets --write`` writes, no cell of it is silently wrong or silently old, and most of
issue 17's networks run in OpenCV 4.6."""

import pytest

from bridge.targets import words
from bridge.targets.deployed import AGREES, DIFFERS
from bridge.targets.profile import profile_of, profiles
from bridge.targets.rules import RULES
from converters.forms import LOWERINGS
from tests.models.networks import networks

from .__main__ import ISSUE, NETWORKS, PAGE, SHOWN, ZOO, recorded, written
from .cells import up_to_date
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


@pytest.mark.models
@pytest.mark.parametrize("name", ["lenet", "gru_states"])
def test_a_cell_is_of_the_file_that_is_written_today(name: str) -> None:
    """Or it says that it is not, or does not know its file."""
    (network,) = (n for n in networks() if n.name == name)
    cells, old = recorded(), {}
    for target in SHOWN:
        known = cells[target, name]
        now = up_to_date(network, profile_of(target), known, runs=False)
        if known.get("now", known.get("file")) != now.get("now", now.get("file")) and "file" in known:
            old[target] = now
    assert old == {}, "python -m tests.targets --stale --networks " + name


def test_all_that_profiles_know_has_words() -> None:
    assert set(words.WRONG) == set(RULES) and list(words.LOWERED) == list(LOWERINGS)
    for profile in profiles().values():
        assert all(", which " in said for said in words.wrong(profile))
        assert len(words.forms(profile)) >= len(profile.forms)
