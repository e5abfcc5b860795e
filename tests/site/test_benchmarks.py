"""docs/benchmarks.md is made of the records of runs."""

from tests.house.docs import ROOT
from tests.site.benchmarks import HEAD, _rows, page, recorded


def test_the_page_is_up_to_date() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    assert text == page(recorded()), "run python -m tests.site.benchmarks > docs/benchmarks.md"
    assert text.startswith(HEAD) and len(recorded()) >= 1


def test_every_record_says_where_when_and_how() -> None:
    for record in recorded():
        assert (ROOT / "benchmarks" / f"{record['benchmark']}.py").is_file()
        assert record["command"].startswith(f"python benchmarks/{record['benchmark']}.py ")
        assert record["machine"]["processor"] and record["machine"]["cores"] and record["load"] >= 0
        assert len(record["date"]) == 10 and record["versions"]["gluonnx"]
        assert _rows(record["results"])


def test_results_become_rows() -> None:
    assert _rows({"mlp": {"imperative": 2.0}}) == [{"": "mlp", "imperative": 2.0}]
    assert (
        _rows({"model": "a", "seconds": {"write": 1.0}})
        == _rows([{"model": "a", "seconds": {"write": 1.0}}])
        == [{"model": "a", "seconds write": 1.0}]
    )
    record = {
        "benchmark": "convert",
        "command": "python benchmarks/convert.py x --json",
        "date": "2026-01-02",
        "versions": {"gluonnx": "1"},
        "machine": {"processor": "P", "cores": 2, "kernels": None},
        "load": 0.5,
        "results": [{"model": "a", "seconds": 1.23456}],
    }
    text = page([record])
    assert (
        "| model | seconds |\n|---|---:|\n| a | 1.235 |\n" in text and "none, NumPy does everything, load 0.5" in text
    )
