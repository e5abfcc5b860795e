"""Bounds on what is remembered of operators, however many there are: counts of objects, no times."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, lr_scheduler, native, nd
from hybrid.core.op import INSTANCES, Memo, Op
from hybrid.eager import dispatch

Step = Callable[[int], object]


def updating(name: str) -> Step:
    """Steps of an optimizer whose rate a scheduler changes every time."""
    made = mx.optimizer.create(name, learning_rate=0.1, lr_scheduler=lr_scheduler.PolyScheduler(10**6, 0.1, pwr=2))
    update = mx.optimizer.get_updater(made)
    weight, gradient = nd.ones((2, 2)), nd.full((2, 2), 0.1)
    return lambda i: update(0, gradient, weight)


def recorded() -> Step:
    x: Any = nd.ones((2, 2))
    x.attach_grad()

    def step(i: int) -> None:
        with autograd.record():
            y = x * (1 + i * 1e-4)
        y.backward()

    return step


@pytest.fixture(scope="module", autouse=True)
def apart() -> None:
    """Set aside what other tests have left: it may be a million objects, each time."""
    gc.collect()
    gc.freeze()


def live(kind: type) -> int:
    gc.collect()
    return sum(isinstance(o, kind) for o in gc.get_objects())


OPTIMIZERS = ("adagrad", "adam", "lamb", "nadam")
small: Any = nd.ones((2, 2))
STEPS = {
    **{name: updating(name) for name in OPTIMIZERS},
    "multiplied": lambda i: small * (1 + i * 1e-4),
    "sliced": lambda i: nd.slice(small, begin=(-i - 1, 0), end=(i + 1, 2)),
    "recorded": recorded(),
}


@pytest.mark.parametrize("name", STEPS)
def test_numbers_that_change_with_every_step_leave_nothing_behind(name: str) -> None:
    """Once as many instances are there as are remembered at most, there are no more, and no more objects of any kind."""
    step = STEPS[name]
    for i in range(INSTANCES + 100):
        step(i)
    before, objects = live(Op), live(object)
    for i in range(INSTANCES + 100, INSTANCES + 500):
        step(i)
    assert live(Op) <= before + 50
    assert live(object) <= objects + 400


def test_shapes_that_change_with_every_call_leave_no_more_than_a_bound() -> None:
    for i in range(3 * Memo.MOST):
        nd.sum(nd.relu(nd.ones((1, i + 1))), axis=1).reshape((-1,))
    for o in gc.get_objects():
        if isinstance(o, Op):
            assert len(o.calls) <= Memo.MOST and len(o.memo) <= Memo.MOST


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
def test_programs_of_large_calls_are_bounded() -> None:
    def compiled() -> set[int]:
        calls = [o for o in gc.get_objects() if isinstance(o, dispatch.SpecializedCall)]
        return {id(bound) for call in calls for bound in call.bound.values() if bound is not None}

    before = compiled()  # of other tests, which may hold theirs
    big: Any = nd.ones((600, 600))
    for i in range(dispatch.PROGRAMS + 60):
        big.__mul__(1 + i * 1e-4)
    nd.waitall()
    assert len(compiled() - before) <= dispatch.PROGRAMS


def test_numbers_that_change_with_every_call_are_inferred_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes and dtypes do not depend on them."""
    inferred: list[str] = []
    infer = dispatch.specs_of
    monkeypatch.setattr(dispatch, "specs_of", lambda op, *told: [inferred.append(op.name), infer(op, *told)][1])
    odd: Any = nd.ones((3, 5, 7))
    for i in range(1, 30):
        number = i * 0.01
        np.testing.assert_array_equal((odd * number).asnumpy(), np.full((3, 5, 7), number, np.float32))
        np.testing.assert_array_equal(nd.clip(odd, -number, number).asnumpy(), np.full((3, 5, 7), number, np.float32))
    assert sorted({*inferred}) == ["_mul_scalar", "clip"]
    assert len(inferred) == 2


def test_large_arrays_are_computed_with_their_own_numbers() -> None:
    """Whoever computes them, once and again."""
    big: Any = nd.ones((400, 500))
    for number in (0.5, 0.25, 3.0, 0.5, 3.0):
        assert (big * number)[399, 499].asscalar() == number
        assert nd.clip(big * 9, 0, number)[7, 7].asscalar() == number
        assert nd.sgd_update(big, big, lr=number, wd=0.0)[3, 3].asscalar() == 1 - number


def test_a_memo_forgets_when_it_is_full() -> None:
    memo = Memo()
    for i in range(Memo.MOST):
        memo[i] = i
    assert memo.get(0) == 0
    memo["one more"] = 1
    assert dict(memo) == {"one more": 1}
