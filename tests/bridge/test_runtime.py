"""onnxruntime in a process of its own: what ends that, and what becomes of it."""

import gc
import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest

import bridge
from bridge import EngineError, runtime
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


def test_the_process_ends_when_nobody_has_a_session() -> None:
    one = engine()
    one.run({"x": X})
    two = engine()
    two.run({"x": X})
    assert one._runner is two._runner is not None
    process = two._runner._copy
    del one
    two.rest()
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
    one.move_here()
    assert isinstance(one._session, runtime.OwnSession)
    assert one._runner is None
    np.testing.assert_array_equal(one.run({"x": X})["y"], X + X)
