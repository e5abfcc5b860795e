"""The tool itself; the clients need an environment of their own."""

from __future__ import annotations

from .__main__ import document, missed, raised
from .measure import differing, numbers, verdicts
from .table import CLIENTS


def test_numbers_are_read_with_names_of_several_words_and_compared():
    text = "noise\nNUMBER cnn predicts 0.5 1.0\nNUMBER loss nan\n"
    assert numbers(text)[0] == ("cnn predicts", [0.5, 1.0])
    assert [name for name, _ in numbers("NUMBER loss 1\nNUMBER loss 2\n")] == ["loss", "loss (2)"]
    assert differing([("a", [1.0])], [("a", [1.0005])]) == []
    assert differing([("a", [1.0])], [("a", [1.01]), ("b", [1.0])]) == ["a", "b"]
    assert differing([("a", [1.0, 2.0])], [("a", [1.0])]) == ["a"]
    assert differing([("a", [float("nan")])], [("a", [1.0])]) == ["a"]


def test_floors_only_rise_and_what_is_below_is_told():
    row = {"client": "keras", "version": "1", "modules": 3, "modules real": 4, "reasons": {"keras.x": "no"}}
    assert missed([row], {"keras": {"modules": 4, "tests": 9}}) == ["keras: 3 modules, at least 4 before"]
    assert missed([row], {"keras": {"modules": 3}}) == []
    assert raised([row], {"keras": {"modules": 4, "tests": 9}}) == {"keras": {"modules": 4, "tests": 9}}
    assert raised([row], {}) == {"keras": {"modules": 3}}
    assert "| keras | 1 | 3 of 4 | - | - |" in document([row]) and "keras.x: no" in document([row])


def test_reports_of_pytest_are_read(tmp_path):
    report = tmp_path / "report.xml"
    cases = '<testcase classname="m" name="a"/><testcase classname="m" name="b"><failure message="no"/></testcase>'
    report.write_text(f'<testsuite>{cases}<testcase classname="m" name="c"><skipped/></testcase></testsuite>')
    assert verdicts(report) == {"m::a": "passed", "m::b": "no", "m::c": "skipped"}
    assert verdicts(tmp_path / "none.xml") == {}


def test_every_job_belongs_to_a_client():
    jobs = next(c.job for c in CLIENTS.values() if c.job).parent
    assert {p.stem for p in jobs.glob("*.py")} <= set(CLIENTS)
