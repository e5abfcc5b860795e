"""A rank that goes wrong ends all others, with one error that says what happened, in bounded time."""

from __future__ import annotations

import time

import pytest

from hybrid.core.error import MXNetError
from hybrid.kvstore import world
from tests.distributed.launching import needs_mpi, run

TIMEOUT = 3
SAYS = {
    "raises": "rank 1 ended by ValueError",
    "killed": "",  # mpirun says it
    "stopped": "no sign of life from rank 1 (stopped, or out of reach)",
    "sleeps": "still running, but not in the same call: rank 1",
    "returns": "rank 1 ended while rank 0 of 2 waits in \"push of key 'a'\"",
    "exits": "rank 1 ended while rank 0 of 2 waits in \"push of key 'a'\"",
    "other_key": "where rank 0 has key 'key of all' default (2,) float32",
    "other_shape": "rank 1 has key 'a' default (3,) float32 where rank 0 has key 'a' default (2,) float32",
    "server": "ValueError: no update today",
}
QUICK = ("raises", "killed", "stopped", "other_shape")


@needs_mpi
@pytest.mark.parametrize("how", [pytest.param(h, marks=() if h in QUICK else pytest.mark.slow) for h in SAYS])
def test_one_error_ends_all(how: str) -> None:
    begin = time.monotonic()
    ended = run(2, "failing.py", how, timeout=60, **{world.TIMEOUT: str(TIMEOUT)})
    assert time.monotonic() - begin < 40  # of which the start takes most, on a machine with other work
    assert ended.returncode != 0
    assert "done 0" not in ended.stdout
    said = ended.stdout + ended.stderr
    other = "where rank 1 has key 'a' default (3,)" if how == "other_shape" else "where rank 1 has key 'key of one'"
    assert SAYS[how] in said or (how.startswith("other") and other in said), said
    if how != "killed":
        assert said.count("all 2 ranks are ended") >= 1, said


@pytest.mark.parametrize("text", ["", "soon", "0", "-3", "nan"])
def test_a_timeout_that_is_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(world.TIMEOUT, text)
    with pytest.raises(MXNetError, match="wanted a number of seconds above 0"):
        world.timeout()
