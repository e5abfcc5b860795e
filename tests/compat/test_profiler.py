"""The profiler sees what runs while it is on, and leaves no trace afterwards."""

import json
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid import profiler
from hybrid.core.op import REGISTRY
from hybrid.execution.program import watched


@pytest.fixture(autouse=True)
def settings(tmp_path: Path):
    before = dict(profiler._PROFILER.settings)
    profiler.set_config(aggregate_stats=True, filename=str(tmp_path / "trace.json"))
    yield
    profiler.set_state("stop")
    profiler._PROFILER.settings.update(before)
    assert not watched(), "kernels are in use again"


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


def test_nothing_stays_behind() -> None:
    own = {cls: cls.__dict__.get("compute") for cls in REGISTRY.values()}
    profiler.set_state("run")
    assert all("compute" in cls.__dict__ for cls in own)
    profiler.set_state("stop")
    assert own == {cls: cls.__dict__.get("compute") for cls in REGISTRY.values()}


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
    with pytest.raises(AssertionError, match="Support: 'table', 'json'"):
        profiler.dumps(format="xml")
    with pytest.raises(AssertionError, match="sort_by"):
        profiler.dumps(sort_by="name")
    with pytest.warns(UserWarning, match="deprecated"):
        profiler.profiler_set_config(filename=profiler._PROFILER.settings["filename"])
