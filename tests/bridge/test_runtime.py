"""onnxruntime in a process of its own: what ends that, and what becomes of it."""

import gc
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
from bridge import EngineError, runtime
from bridge.cli import app
from bridge.engines import OnnxEngine
from bridge.models import Model

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are not copied"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

X = np.arange(6, dtype=np.float32).reshape(2, 3)
DOUBLED = """<ir_version: 8, opset_import: ["": 17]> net (float[N, M] x) => (float[N, M] y) { y = Add (x, x) }"""
ENDS = (
    """<ir_version: 8, opset_import: ["": 17]> net (float[N, M] x) => (float[A, B] y) { y = Unique <axis = 0> (x) }"""
)


ENDLESS = """<ir_version: 8, opset_import: ["": 17]> net (float[2, 3] x) => (float[2, 3] y) {
c = Constant <value = bool {1}> ()
y = Loop <body = again (int64 i, bool so, float[2, 3] s) => (bool too, float[2, 3] t) {
    too = Identity (so) t = Neg (s) }> (, c, x) }"""


def engine(text: str = DOUBLED) -> OnnxEngine:
    return OnnxEngine(Model("net", proto=onnx.parser.parse_model(text)))


def exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_models_that_end_the_process_are_told(tmp_path: Path) -> None:
    """By run, verify and import; the reference evaluator is asked then. Sizes may be known to nobody but the run."""
    path = tmp_path / "net.onnx"
    onnx.save(onnx.parser.parse_model(ENDS), path)
    empty = {"x": X[:, :0]}
    with pytest.raises(EngineError, match=r"onnxruntime [\d.]+ ended the process that ran it \(SIGABRT\)"):
        bridge.run(path, empty)
    with pytest.raises(EngineError, match="ended the process"):
        bridge.verify(path, path, inputs=empty)
    found = bridge.import_onnx(path, inputs=empty)
    assert found.witness == "onnx's reference evaluator"
    assert any("ended the process" in w for w in found.warnings)
    hidden = ENDS.replace("{ y", "{ e = Constant <value_ints = [1]> () none = Slice (x, e, e, e) y").replace(
        "(x) }", "(none) }"
    )
    with pytest.raises(EngineError, match="ended the process"):
        engine(hidden).run({"x": X})


def test_a_loop_without_an_end_is_ended(tmp_path: Path) -> None:
    """By run, verify and import, which asks nobody else then; and what comes after it runs."""
    path, text = (
        tmp_path / "net.onnx",
        "not run the model to its end within 0.3 s; .*--time-limit, bridge.set_time_limit",
    )
    onnx.save(onnx.parser.parse_model(ENDLESS), path)
    before = bridge.set_time_limit(0.3)
    try:
        for use in (
            lambda: bridge.run(path, {"x": X}),
            lambda: bridge.verify(path, path),
            lambda: bridge.import_onnx(path),
        ):
            with pytest.raises(EngineError, match=text):
                use()
        told = CliRunner().invoke(app, ["verify", str(path), str(path), "--time-limit", "0.4"])
        assert told.exit_code == 3, told.output
        assert "within 0.4 s" in told.output
        assert CliRunner().invoke(app, ["verify", str(path), str(path), "--time-limit", "0"]).exit_code == 2
        bridge.set_time_limit(0.3)
    finally:
        assert bridge.set_time_limit(before) == 0.3
    assert before == 600
    np.testing.assert_array_equal(engine().run({"x": X})["y"], X + X)


def test_opening_is_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    one = engine()
    one.run({"x": X})
    assert one._runner is not None
    monkeypatch.setattr(type(one._runner._pipe), "poll", lambda _self, limit: False)
    with pytest.raises(EngineError, match="not opened net within 600 s"):
        engine().open()
    assert not exists(one._runner._copy)
    monkeypatch.undo()
    np.testing.assert_array_equal(one.run({"x": X})["y"], X + X)


def test_time_limits_are_positive() -> None:
    for wrong in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="wanted a positive number of seconds"):
            bridge.set_time_limit(wrong)
    before = bridge.set_time_limit(float("inf"))
    assert bridge.set_time_limit(2) is None
    assert bridge.set_time_limit(None) == 2
    assert bridge.set_time_limit(before) is None


def test_sessions_are_opened_again_after_an_end() -> None:
    doubled, ends = engine(), engine(ENDS)
    np.testing.assert_array_equal(doubled.run({"x": X})["y"], X + X)
    before = doubled._runner
    with pytest.raises(EngineError, match="ended the process"):
        ends.run({"x": X[:, :0]})
    assert before is not None
    assert before.ended
    np.testing.assert_array_equal(doubled.run({"x": X})["y"], X + X)
    assert doubled._runner is runtime.current() is not before


def test_the_process_ends_when_nobody_has_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    current: Any = runtime.current
    monkeypatch.setattr(runtime, "current", current.__wrapped__)  # tests/conftest.py keeps it
    monkeypatch.setattr(runtime, "_running", None)
    one = engine()
    one.run({"x": X})
    two = engine()
    two.run({"x": X})
    assert one._runner is two._runner is not None
    process = two._runner._copy
    del one
    two.free_memory()
    assert exists(process)
    np.testing.assert_array_equal(two.run({"x": X})["y"], X + X)
    del two
    gc.collect()
    assert not exists(process)


def test_a_question_that_is_given_up_leaves_no_answer_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    one = engine()
    one.run({"x": X})
    assert one._runner is not None

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(one._runner._pipe), "recv", lambda _self: interrupted())
    with pytest.raises(KeyboardInterrupt):
        one.run({"x": X + 1})
    monkeypatch.undo()
    np.testing.assert_array_equal(one.run({"x": X})["y"], X + X)


def test_threads_take_turns_and_copies_of_the_process_have_their_own() -> None:
    """A killed one is told, too."""
    one, wrong = engine(), []

    def run(add: int) -> None:
        for i in range(20):
            if not np.array_equal(one.run({"x": X + add + i})["y"], 2 * (X + add + i)):
                wrong.append((add, i))

    threads = [threading.Thread(target=run, args=(100 * t,)) for t in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    copy = os.fork()
    if not copy:
        os._exit(0 if np.array_equal(one.run({"x": X})["y"], X + X) else 1)
    assert os.waitpid(copy, 0)[1] == 0
    assert one._runner is not None
    os.kill(one._runner._copy, signal.SIGKILL)
    with pytest.raises(EngineError, match=r"\(SIGKILL\)"):
        one.run({"x": X})


def test_who_measures_does_so_here() -> None:
    one = engine()
    one.run({"x": X})
    one.open_in_process()
    assert isinstance(one._session, runtime.OwnSession)
    assert one._runner is None
    np.testing.assert_array_equal(one.run({"x": X})["y"], X + X)
