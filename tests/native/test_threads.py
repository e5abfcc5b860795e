"""Threads: as many as asked for, the same numbers whoever computes them, and nothing hangs: not a fork, not the exit."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import hybrid as mx
from hybrid import native
from hybrid.core.changes import LAST
from hybrid.core.op import lookup
from hybrid.execution.lower import CompiledProgram
from hybrid.execution.program import Program

from .single import Single

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

START = """
import os, sys, threading, time
import numpy as np
from hybrid import native
from tests.native.test_threads import softmax
"""


def softmax(threads: int, seed: int = 0):
    """run() -> what a softmax that is large enough to be handed over gives."""
    data = np.random.default_rng(seed).uniform(-1, 1, (1000, 300)).astype("float32")
    single = Single(lookup("softmax").bind(), (data,), threads=threads)
    assert single.there
    return lambda: single.run((data,))[0]


def python(program: str, *, within: float = 60) -> str:
    """Output of the program, in a process of its own that may not hang."""
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=within,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def number():
    """Puts the number of threads back."""
    before = native.threads()
    yield before
    native.set_num_threads(before)


def test_the_number_of_threads_can_be_set(number: int) -> None:
    before = LAST.backends
    mx.set_num_threads(3)
    assert mx.get_num_threads() == native.threads() == 3
    assert LAST.backends > before, "programs are made anew"
    program = Program(mx.sym.exp(mx.sym.var("x")).graph)
    for count in (2, 3):
        mx.set_num_threads(count)
        for size in (2, 5):
            program.run({"x": np.ones(size, np.float32)})
        assert len(program._plans) == 2, "those made for other numbers of threads are forgotten"
    with pytest.raises(ValueError, match="got 0"):
        mx.set_num_threads(0)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux binds processes to CPUs")
def test_by_default_there_are_as_many_threads_as_cpus_for_this_process() -> None:
    assert 1 <= int(python("print(native.threads())")) <= len(os.sched_getaffinity(0))
    one = "os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1]); print(native.threads())"
    assert python(one) == "1\n"


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_callers_at_once_get_what_one_alone_gets(threads: int) -> None:
    """More callers than CPUs, more threads than CPUs: the same bits each time."""
    runs = [softmax(threads, seed) for seed in range(4)]
    alone = [run() for run in runs]
    wrong: list[int] = []

    def work(i: int) -> None:
        for j in range(25):
            if not np.array_equal(runs[(i + j) % 4](), alone[(i + j) % 4]):
                wrong.append(i)

    callers = [threading.Thread(target=work, args=(i,)) for i in range(5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert not wrong and not any(c.is_alive() for c in callers)


def test_other_weights_between_two_looks_at_them() -> None:
    """Another thread has its own packed after this one has found its own there, and before it runs."""
    x, w = mx.sym.var("x"), mx.sym.var("w")
    turned = mx.sym.transpose(w, name="turned")  # computed where the weights are packed
    made = mx.sym.Group([mx.sym.FullyConnected(x, turned, num_hidden=3, no_bias=True, name="y"), turned, w, x])
    rng = np.random.default_rng(3)
    data, *weights = (rng.uniform(-1, 1, shape).astype("f") for shape in ((5, 4), (4, 3), (4, 3)))
    program = Program(made.graph, fixed=["w"])
    feeds = {"x": data, "w": weights[0]}
    lowered = program._specialize([feeds[n] for n in program.names], feeds).bound
    assert isinstance(lowered, CompiledProgram)

    def arrays(weight: np.ndarray) -> list[np.ndarray]:
        return [{"x": data, "w": weight}[n] for n in program.names]

    def meanwhile(*given: object) -> object:
        other = next(others, None)
        if other is not None:
            lowered.run(arrays(other))
        return lowered.core.run(*given)

    for versions in (None, [("first", n) for n in program.names]):
        others = iter(weights[1:])
        results, done = lowered._run_with_constants(meanwhile, arrays(weights[0]), versions, None)
        assert done
        for got, want in zip(results, (data @ weights[0], weights[0].T, weights[0], data), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_threads_of_its_own() -> None:
    """Data loaders fork when they like: also while other threads run programs."""
    python("""
        run = softmax(2)
        want, stop = run(), False
        def work():
            while not stop:
                run()
        callers = [threading.Thread(target=work) for _ in range(2)]
        for caller in callers:
            caller.start()
        for _ in range(20):
            child = os.fork()
            if not child:
                own = softmax(2)
                os._exit(not all(np.array_equal(own(), want) for _ in range(5)))
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        for caller in callers:
            caller.join()
    """)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_may_give_other_weights_to_a_program_that_ran_meanwhile() -> None:
    python("""
        from hybrid.core.op import lookup
        from tests.native.single import Single
        x, w = np.ones((64, 512), "f"), np.ones((512, 512), "f")
        single = Single(lookup("FullyConnected").bind(num_hidden=512, no_bias=True), [x, w], constants=[1], threads=2)
        stop = False
        def work():
            while not stop:
                single.run([x, w])
        caller = threading.Thread(target=work)
        caller.start()
        for _ in range(20):
            child = os.fork()
            if not child:
                single.program.set_constants([2 * w], [0])
                os._exit(not (single.run([x, w])[0] == 1024).all())
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        caller.join()
    """)


def test_the_process_ends_while_threads_work() -> None:
    python("""
        run = softmax(2)
        def work():
            while True:
                run()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
    """)


def test_the_process_ends_while_the_engine_works() -> None:
    """Nobody waits for what nobody asks for."""
    python("""
        import hybrid as mx
        x = mx.nd.ones((600, 600))
        for _ in range(20):
            y = mx.nd.dot(x, x)
    """)
