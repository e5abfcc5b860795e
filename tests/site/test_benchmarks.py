"""docs/benchmarks.md is made of the records of runs."""

import re
from typing import Any

import pytest

from tests.house.docs import ROOT
from tests.site.benchmarks import HEAD, kept, page, record, recorded, results_of, tables


def test_the_page_is_up_to_date() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    assert text == page(recorded()), "run python -m tests.site.benchmarks > docs/benchmarks.md"
    assert text.startswith(HEAD) and len(recorded()) >= 1


def test_every_record_says_where_when_and_how() -> None:
    for made in recorded():
        assert (ROOT / "benchmarks" / f"{made['benchmark']}.py").is_file()
        assert made["command"].startswith(f"python benchmarks/{made['benchmark']}.py ")
        assert made["machine"]["processor"] and made["machine"]["cores"] and made["load"] >= 0
        assert len(made["date"]) == 10 and made["versions"]["gluonnx"]
        assert all(rows for _, rows in tables(made["results"]))


@pytest.mark.parametrize(
    ("results", "want"),
    [
        ({"mlp": {"imperative": 2.0}}, [("", [{"": "mlp", "imperative": 2.0}])]),
        ({"model": "a", "seconds": {"write": 1.0}}, [("", [{"model": "a", "seconds write": 1.0}])]),
        ([{"model": "a", "seconds": {"write": 1.0}}], [("", [{"model": "a", "seconds write": 1.0}])]),
        (
            [{"machine": "m"}, {"section": "a", "x": 1}, {"section": "b", "y": 2}, {"section": "a", "x": 3}],
            [("a", [{"x": 1}, {"x": 3}]), ("b", [{"y": 2}])],
        ),
        ({"cores": 2, "rows": [{"x": 1}, {"x": 2}]}, [("", [{"cores": 2}]), ("rows", [{"x": 1}, {"x": 2}])]),
        (
            {"load": 1.0, "none": {"s": 1}, "local:2": {"s": 2}},
            [("", [{"load": 1.0}]), ("by kind", [{"": "none", "s": 1}, {"": "local:2", "s": 2}])],
        ),
        (
            {"chain": {"parse": {"400": 1}, "run": {"400": 2}}},
            [("chain", [{"": "parse", "400": 1}, {"": "run", "400": 2}])],
        ),
    ],
)
def test_results_become_tables(results: Any, want: Any) -> None:
    assert tables(results) == want


def test_results_are_read_among_words() -> None:
    assert results_of('[\n{"a": 1}\n]') == [{"a": 1}]
    assert results_of('2 models\n{"a": 1}\n') == {"a": 1}
    assert results_of('{"a": 1}\n{"a": 2}\n') == [{"a": 1}, {"a": 2}]
    with pytest.raises(SystemExit, match="got no JSON from the benchmark"):
        results_of("words\n")


def a_record(name: str, load: float, date: str = "2026-01-02", results: Any = None) -> dict[str, Any]:
    return {
        "benchmark": name,
        "command": f"python benchmarks/{name}.py x --json",
        "date": date,
        "versions": {"gluonnx": "1"},
        "machine": {"processor": "P", "cores": 2, "kernels": None},
        "load": load,
        "results": results or [{"model": "a", "seconds": 1.23456}],
    }


def test_a_page_of_several_records() -> None:
    text = page([a_record("convert", 0.5), a_record("engine", 7.0)])
    assert "| model | seconds |\n|---|---:|\n| a | 1.235 |\n" in text
    assert "none, NumPy does everything, load 0.5" in text
    assert "| [convert](#convert) | 2026-01-02 | P, 2 cores | 0.5 |" in text
    assert "| [engine](#engine) | 2026-01-02 | P, 2 cores | 7.0, busy |" in text
    quiet, loaded = text.split("## engine")
    assert "**A busy machine" in loaded and "**A busy machine" not in quiet
    assert "The runs of engine were on a busy machine" in quiet


def test_a_page_says_when_none_of_its_times_mean_anything() -> None:
    assert "**No run on a quiet machine" in page([a_record("convert", 7.0), a_record("engine", 7.0)])
    text = page([a_record("convert", 0.5)])
    assert "busy machine" not in text and "quiet machine" not in text
    assert "(`start` is what\nthose cost)" in text and "--repeats N" not in text


def test_a_single_row_of_many_figures_stands_upright() -> None:
    text = page([a_record("convert", 0.5, results={f"n{i}": i for i in range(12)})])
    assert "| figure | value |\n|---|---:|\n| n0 | 0 |\n" in text and "| n11 | 11 |" in text


def test_short_tables_stand_before_long_ones() -> None:
    rows = [{"section": "each", "x": i} for i in range(3)] + [{"section": "means", "x": 1.0}]
    text = page([a_record("convert", 0.5, results=rows)])
    assert text.index("### convert: means") < text.index("### convert: each")


def test_a_busy_run_takes_no_place_of_a_quiet_one() -> None:
    quiet, loaded, later = (
        a_record("convert", 0.5),
        a_record("convert", 9.0, "2026-02-01"),
        a_record("convert", 1, "2026-03-01"),
    )
    assert kept([quiet], loaded) == [quiet] and kept([loaded], quiet) == [quiet] and kept([quiet], later) == [later]
    other = a_record("accuracy", 9.0)
    assert kept([quiet], other) == [other, quiet] and kept([loaded], loaded | {"date": "x"})[0]["date"] == "x"


def programs() -> list[str]:
    """Benchmarks that are run by their name."""
    return [p.stem for p in (ROOT / "benchmarks").glob("*.py") if re.search(r"ArgumentParser", p.read_text())]


@pytest.mark.parametrize("name", programs())
def test_every_benchmark_has_the_option_that_records_ask_for(name: str) -> None:
    text = (ROOT / "benchmarks" / f"{name}.py").read_text()
    assert re.search(r'add_argument\("--json", (action="store_true"|nargs="\?")', text), name


def test_a_run_is_recorded() -> None:
    pytest.importorskip("onnxruntime")
    made = record("decoding", ["64x64", "--seconds", "0.01"])
    assert made["command"] == "python benchmarks/decoding.py 64x64 --seconds 0.01 --json" and made["machine"]["cores"]
    ((title, rows),) = tables(made["results"])
    assert not title and len(rows) > 2 and all(row["case"] == "64x64" and row["us"] > 0 for row in rows)
    with pytest.raises(SystemExit, match="ended with status 2; nothing was recorded"):
        record("decoding", ["--what"])
