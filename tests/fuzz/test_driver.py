"""The driver itself: a surface of every outcome, which is this module; and a few cases of each real one."""

import ctypes
import os
import pickle
import random
import sys
import time

import pytest

from . import REFUSED, RIGHT, driver, guided, surfaces, worker

SURFACE = "toy"
SECONDS = 0.3
MEMORY = 1 << 30


def seeds():
    return [b"seed"]


def mutate(rng, seed):
    return seed + bytes([rng.randrange(256)])


def judge(case):
    if "TOY_WAITS" in os.environ:
        time.sleep(1000)
    match case[-1] % 16:
        case 0:
            ctypes.string_at(1)  # a crash
        case 1:
            while True:
                pass
        case 2:
            bytearray(1 << 40)
        case 3:
            raise ValueError("untyped")
        case 4:
            while True:
                try:
                    while True:
                        pass
                except Exception:
                    pass
    return REFUSED if case[-1] % 2 else RIGHT


@pytest.mark.slow
def test_each_outcome_is_counted_and_kept(tmp_path):
    here = sys.modules[__name__]
    count = 48
    wanted = [worker.case_of(here, seeds(), 3, i)[-1] % 16 for i in range(count)]
    assert {0, 1, 2, 3, 4} <= set(wanted)
    found = driver.run(here, seed=3, count=count, seconds=None, jobs=2, keep=tmp_path, say=lambda text: None)
    assert found.count == count
    assert found.outcomes[driver.CRASH] == wanted.count(0)
    assert found.outcomes[driver.FAULT] == sum(w in (1, 2, 3, 4) for w in wanted)
    assert found.outcomes[RIGHT] == sum(w > 4 and w % 2 == 0 for w in wanted)
    assert found.outcomes[REFUSED] == sum(w > 4 and w % 2 == 1 for w in wanted)
    kinds = sorted(name.split("-")[0] for name in found.kept)
    assert kinds == ["Endless", "MemoryError", "ValueError", *["crash"] * wanted.count(0)]
    (kept,) = (tmp_path / SURFACE).glob("ValueError*.bytes")
    with pytest.raises(ValueError, match="untyped"):
        worker.attempt(here, worker.load(kept), 10)


def test_an_error_that_is_its_own_cause_has_a_name():
    error = ValueError("turns")
    error.__cause__ = error
    assert worker.kind_of(error).startswith("ValueError-")


@pytest.mark.slow
def test_a_process_that_waits_for_ever_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "START", 2)
    monkeypatch.setenv("TOY_WAITS", "1")
    here = sys.modules[__name__]
    found = driver.run(here, seed=3, count=1, seconds=None, jobs=1, keep=tmp_path, say=lambda text: None)
    assert +found.outcomes == {driver.ENDLESS: 1}


@pytest.mark.slow
@pytest.mark.parametrize("name", surfaces())
def test_cases_follow_from_seed_and_number(name):
    module = surfaces()[name]
    found = module.seeds()
    assert found
    assert pickle.dumps(worker.case_of(module, found, 5, 7)) == pickle.dumps(worker.case_of(module, found, 5, 7))


@pytest.mark.parametrize("name", guided.PARSERS)
def test_cases_go_through_the_guided_target(name):
    """Seeds as bytes are seeds again, and what mutate makes of them is the case that judge takes."""
    module = surfaces()[name]
    for number, seed in enumerate(module.seeds()[:3]):
        as_bytes = guided.encoded(seed)
        case = module.mutate(random.Random(number), guided.seed_of(name, as_bytes))
        assert case == module.mutate(random.Random(number), seed)
        assert guided.decoded(name, guided.encoded(case)) == case
