"""The profiler sees what runs while it is on, and leaves no trace afterwards."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import profiler
from hybrid.core.op import REGISTRY
from hybrid.execution.hooks import HOOKS
from hybrid.execution.program import Program


@pytest.fixture(autouse=True)
def settings(tmp_path: Path):
    before = dict(profiler._PROFILER.settings)
    profiler.set_config(aggregate_stats=True, filename=str(tmp_path / "trace.json"))
    yield
    profiler.set_state("stop")
    profiler._PROFILER.settings.update(before)
    assert not HOOKS, "kernels are in use again"


def counts() -> dict[str, dict[str, int]]:
    table = json.loads(profiler.dumps(format="json"))["Time"]
    return {category: {name: row["Count"] for name, row in rows.items()} for category, rows in table.items()}


def test_eager_operators_are_timed() -> None:
    a = mx.nd.ones((600, 600))
    profiler.set_state("run")
    for _ in range(3):
        b = mx.nd.dot(a, a)  # handed to the engine
    c = mx.nd.ones(2) + 1  # done at once
    profiler.pause()
    (c * 2).wait_to_read()
    profiler.resume()
    (c - 1).wait_to_read()
    b.wait_to_read()
    profiler.set_state("stop")
    (c / 2).wait_to_read()
    assert counts() == {"operator": {"dot": 3, "_plus_scalar": 1, "_minus_scalar": 1}}


def test_graphs_that_ran_before_are_timed_too() -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(3, activation="relu"), mx.gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((2, 4))
    before = [net(x).asnumpy() for _ in range(3)][-1]
    profiler.set_state("run")
    during = [net(x).asnumpy() for _ in range(2)][-1]
    profiler.set_state("stop")
    assert np.array_equal(before, net(x).asnumpy())
    # recorded operators run one by one, as NumPy computes them
    np.testing.assert_allclose(during, before, rtol=0, atol=4 * np.finfo(np.float32).eps * np.abs(before).max())
    assert counts() == {"operator": {"FullyConnected": 4, "Activation": 2}}


def test_operators_are_what_they_are_while_they_are_watched() -> None:
    own = {cls: cls.__dict__.get("compute") for cls in REGISTRY.values()}
    profiler.set_state("run")
    assert own == {cls: cls.__dict__.get("compute") for cls in REGISTRY.values()}


def test_steps_of_an_optimizer_are_timed() -> None:
    weight, grad = mx.nd.ones(3), mx.nd.ones(3)
    for state in ("stop", "run", "stop"):
        profiler.set_state(state)
        mx.nd.sgd_update(weight, grad, lr=0.5, out=weight)
        (weight * 2).wait_to_read()  # known by then as something to be done at once
    assert counts() == {"operator": {"sgd_update": 1, "_mul_scalar": 1}} and weight.asnumpy().tolist() == [-0.5] * 3


def test_what_programs_record(tmp_path: Path) -> None:
    profiler.set_config(profile_symbolic=False, profile_imperative=False)
    domain = profiler.Domain("mine")
    profiler.set_state("run")
    task, frame, event = domain.new_task("task"), domain.new_frame("frame"), profiler.Event("event")
    for span in (task, frame, event, task):
        span.start()
        span.stop()
    counter = domain.new_counter("counter", 5)
    counter += 3
    counter -= 1
    domain.new_marker("marker").mark("global")
    mx.nd.ones(2).wait_to_read()
    assert counts() == {"mine": {"task": 2}, "mine,frame": {"frame": 1}, "event": {"event": 1}}
    assert [str(x) for x in (domain, task, frame, event, counter)] == ["mine", "task", "frame", "event", "counter"]
    profiler.dump()
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["args"]["counter"] for e in events if e["ph"] == "C"] == [5, 8, 7]
    assert [e["s"] for e in events if e["ph"] == "i"] == ["g"]
    assert all(e["dur"] >= 0 for e in events if e["ph"] == "X")
    assert {e["name"]: e["cat"] for e in events if "cat" in e} == {
        "task": "mine", "frame": "mine,frame", "event": "event", "counter": "mine", "marker": "mine,instant_marker",
    }  # fmt: skip


def test_times_of_a_trace_are_microseconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([5_000_000, 7_500_000, 8_000_000])
    monkeypatch.setattr(profiler.time, "perf_counter_ns", lambda: next(clock))
    domain = profiler.Domain("mine")
    profiler.set_state("run")
    task = domain.new_task("task")
    task.start()
    task.stop()
    domain.new_marker("marker").mark()
    monkeypatch.undo()
    profiler.dump()
    found = {e["name"]: e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}
    assert found["task"]["dur"] == 2500 and found["marker"]["ts"] - found["task"]["ts"] == 3000


def test_the_table() -> None:
    profiler.set_state("run")
    (mx.nd.ones(2) + 1).wait_to_read()
    profiler.set_state("stop")
    lines = profiler.dumps(reset=True).splitlines()
    assert lines[:5] == [
        "",
        "Profile Statistics:",
        "\tNote the difference in units for different entries.",
        "operator",
        "=================",
    ]
    assert lines[5] == (
        "Name                          Total Count        Time (ms)    Min Time (ms)    Max Time (ms)    Avg Time (ms)"
    )
    assert lines[7].startswith("_plus_scalar                            1  ") and len(lines[7]) == len(lines[5])
    assert profiler.dumps() == "\nProfile Statistics:\n\tNote the difference in units for different entries.\n"
    profiler.set_config(aggregate_stats=False)
    assert profiler.dumps() == ""


def test_what_is_refused() -> None:
    with pytest.raises(KeyError):
        profiler.set_state("go")
    with pytest.raises(mx.MXNetError, match="Cannot find argument 'foo'"):
        profiler.set_config(foo=1)
    with pytest.raises(mx.MXNetError, match="Invalid Parameter format for profile_all"):
        profiler.set_config(profile_all="x")
    for call in (profiler.set_state, profiler.pause, profiler.resume, profiler.dump):
        with pytest.raises(mx.MXNetError, match="no server process"):
            call(profile_process="server")
        with pytest.raises(KeyError):
            call(profile_process="other")
    (
        profiler.set_state("stop", profile_process="worker"),
        profiler.pause("worker"),
        profiler.resume(profile_process="worker"),
    )
    with pytest.raises(AssertionError, match="Support: 'table', 'json'"):
        profiler.dumps(format="xml")
    with pytest.raises(AssertionError, match="sort_by"):
        profiler.dumps(sort_by="name")
    with pytest.warns(UserWarning, match="deprecated"):
        profiler.profiler_set_config(filename=profiler._PROFILER.settings["filename"])


def test_times_and_their_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Known times: what the columns hold, in which order the rows are, which records are shown."""
    kept = profiler._PROFILER
    profiler.set_state("run")
    for name, times in {"a": (1, 9), "b": (4,), "c": (2, 2, 3)}.items():
        for time in times:
            kept.note("operator", name, 1, 0, time * 1_000_000)
    kept.note("other", "x", 1, 0, 500_000)
    profiler.set_state("stop")
    kept.note("operator", "late", 1, 0, 1)
    orders = {"total": "acb", "avg": "abc", "min": "bca", "max": "abc", "count": "cab"}
    for key, order in orders.items():
        for ascending in (False, True):
            table = json.loads(profiler.dumps(format="json", sort_by=key, ascending=ascending))["Time"]
            assert "".join(table["operator"]) == (order[::-1] if ascending else order), key
    assert table["operator"]["a"] == {"Count": 2, "Total": 10.0, "Min": 1.0, "Max": 9.0, "Avg": 5.0}
    lines = profiler.dumps().split("\n")
    rows = [line.split() for line in lines if line[:1] in "abcx" and line.strip()]
    assert rows == [
        ["a", "2", "10.0000", "1.0000", "9.0000", "5.0000"], ["c", "3", "7.0000", "2.0000", "3.0000", "2.3333"],
        ["b", "1", "4.0000", "4.0000", "4.0000", "4.0000"], ["x", "1", "0.5000", "0.5000", "0.5000", "0.5000"],
    ]  # fmt: skip
    assert [line for line in lines if line in ("operator", "other")] == ["operator", "other"]


def test_spans_counters_and_old_names(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="set_config"):
        profiler.profiler_set_config("all", str(tmp_path / "old.json"))
    assert profiler._PROFILER.settings["profile_all"] and profiler._PROFILER.settings["profile_symbolic"]
    with pytest.warns(UserWarning, match="set_config"):
        profiler.profiler_set_config("symbolic", str(tmp_path / "old.json"))
    assert not profiler._PROFILER.settings["profile_all"]
    with pytest.warns(UserWarning, match="set_state"):
        profiler.profiler_set_state("run")
    assert profiler._PROFILER.running
    domain = profiler.Domain("own")
    task = domain.new_task("task")
    task.stop()  # not begun
    task.start()
    task.stop()
    task.stop()  # ended
    counter = domain.new_counter("count", 5)
    counter += 3
    counter -= 6
    counter.increment()
    counter.decrement(4)
    silent = domain.new_counter("silent")
    profiler.pause()
    domain.new_marker("unseen").mark()
    profiler.resume()
    domain.new_marker("seen").mark("global")
    profiler.dump(finished=False)
    assert profiler._PROFILER.running
    events = json.loads((tmp_path / "old.json").read_text())["traceEvents"]
    shown = [e for e in events if e["name"] in ("task", "unseen", "seen")]
    assert [(e["name"], e["ph"], e.get("s")) for e in shown] == [("task", "X", None), ("seen", "i", "g")] or [
        (e["name"], e["ph"], e.get("s")) for e in shown
    ] == [("task", "X", None), ("seen", "i", "global")]
    assert [e["args"]["count"] for e in events if e["name"] == "count"] == [5, 8, 2, 3, -1]
    assert not [e for e in events if e["name"] == "silent"] and str(silent) == "silent"
    with pytest.warns(UserWarning, match=r"profiler\.dump\(\)"):
        profiler.dump_profile()
    assert not profiler._PROFILER.running
    again = domain.new_marker("afterwards")
    again.mark()
    assert not [r for r in profiler._PROFILER.records if r.name == "afterwards"]


def test_operators_inside_of_others_are_not_counted() -> None:
    """A body of a loop runs inside of it."""
    profiler.set_config(profile_all=True)
    data = mx.sym.var("x")
    loop, _ = mx.sym.contrib.foreach(lambda x, s: (mx.sym.exp(x) + s, s + 1), data, mx.sym.var("s"))
    made = loop.bind(mx.cpu(), {"x": mx.nd.ones((3, 2)), "s": mx.nd.ones(2)})
    profiler.set_state("run")
    made.forward()
    mx.nd.waitall()
    profiler.set_state("stop")
    found = counts().get("operator", {})
    assert "exp" not in found and found


@pytest.mark.parametrize("kind", [staticmethod, lambda function: np.negative], ids=["static", "ufunc"])
def test_operators_that_compute_by_a_function_of_their_arrays_alone(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators to which no instance is bound."""
    monkeypatch.setattr(REGISTRY["erfinv"], "compute", kind(lambda data: -data))
    profiler.set_config(profile_all=True)
    profiler.set_state("run")
    graph = mx.sym.erfinv(mx.sym.var("x")).graph
    assert Program(graph, native=False).run({"x": np.full((2,), 0.25, np.float32)})[0].tolist() == [-0.25, -0.25]
    profiler.set_state("stop")
    assert counts()["operator"]["erfinv"] == 1
    assert Program(graph, native=False).run({"x": np.full((2,), 0.25, np.float32)})[0].tolist() == [-0.25, -0.25]
