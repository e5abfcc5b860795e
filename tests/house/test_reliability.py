"""The page of docs that tells what campaigns found is what their records say, and the list of planted faults fits the code."""

import json

from tests.grouped import each
from tests.house.docs import ROOT
from tests.mutants.faults import FAULTS, Fault
from tests.reliability import PAGE, page, records


def test_the_page_is_written_from_the_records() -> None:
    assert PAGE.read_text() == page(records()), "run python -m tests.reliability > docs/reliability.md"


def test_a_fault_shows() -> None:
    row = {"surface": "params", "date": "2026-11-22T00:00:00Z", "commit": "abc", "count": 5}
    text = page([row | {"outcomes": {"right": 3, "crash": 2}}])
    assert "| params | 5 | 3 | 0 | 2 | 2026-11-22 | abc | 0 | 0 |" in text
    assert json.loads(json.dumps(row)) == row


def test_cases_of_earlier_commits_count_apart() -> None:
    """A mended fault is no fault of what there is; what there is has not stood up to the earlier cases."""
    before = {"surface": "params", "date": "2026-11-22T00:00:00Z", "commit": "abc", "count": 5}
    now = before | {"date": "2026-11-23T00:00:00Z", "commit": "def", "count": 7}
    text = page([now | {"outcomes": {"right": 7}}, before | {"outcomes": {"right": 4, "crash": 1}}])
    assert "| params | 7 | 7 | 0 | 0 | 2026-11-23 | def | 5 | 1 |" in text


def test_of_a_planted_fault_the_last_run_counts() -> None:
    row = {"area": "readers", "name": "a", "date": "2026-11-22T00:00:00Z", "commit": "abc", "caught": False}
    text = page([row | {"date": "2026-11-23T00:00:00Z", "caught": True}, row, row | {"name": "b"}])
    assert "| readers | 2 | 1 | b |" in text


@each(FAULTS, lambda fault: (fault.area.replace(" ", "_"), fault.name))
def test_faults_can_be_planted(fault: Fault) -> None:
    text = (ROOT / fault.file).read_text()
    assert fault.plant(text) != text
