"""Memory that is kept: what is counted, what bounds it, and that arrays over it are arrays like any other."""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import hybrid as mx
from hybrid import native

compiled = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")


@pytest.fixture
def stats() -> Iterator[dict[str, int]]:
    """The numbers before the test; nothing is kept when it begins, and the bound is put back when it ends."""
    gc.freeze()  # what dies is what the test lets go of; to collect what others left would take a second
    native.release_memory()
    before = mx.memory_stats()
    yield before
    native.set_memory_bound(before["bound"])


def changed(before: dict[str, int]) -> dict[str, int]:
    return {k: v - before[k] for k, v in mx.memory_stats().items()}


@compiled
def test_what_dies_is_used_again(stats: dict[str, int]) -> None:
    first = native.empty((1000, 1000), np.dtype("float32"))
    there = first.ctypes.data
    size = changed(stats)["allocated"]
    assert 4_000_000 <= size <= 4_000_000 * 9 / 8
    del first
    assert changed(stats)["allocated"] == 0 and changed(stats)["cached"] == size
    again = native.empty((999, 1000), np.dtype("float32"))  # about as large is good enough
    assert again.ctypes.data == there
    assert changed(stats)["hits"] == 1 and changed(stats)["misses"] == 1 and changed(stats)["cached"] == 0
    del again
    assert native.release_memory() == size
    assert changed(stats)["cached"] == 0
    assert mx.memory_stats()["peak"] >= size


@compiled
def test_no_more_is_kept_than_the_bound(stats: dict[str, int]) -> None:
    native.set_memory_bound(3_000_000)
    arrays = [native.empty((n * 100_000,), np.dtype("uint8")) for n in range(1, 12)]
    arrays.append(native.empty((4_000_000,), np.dtype("uint8")))  # larger than the bound: goes back at once
    while arrays:
        arrays.pop(0)
        assert mx.memory_stats()["cached"] <= 3_000_000
    # what died last is what is kept
    assert mx.memory_stats()["cached"] >= 2_000_000
    native.set_memory_bound(0)
    assert mx.memory_stats()["cached"] == 0
    with pytest.raises(ValueError, match="got -1"):
        native.set_memory_bound(-1)


@compiled
def test_what_one_large_run_needed_is_not_kept_for_good(stats: dict[str, int]) -> None:
    """More is given back than was in use lately: in the last stretch of 512 requests and the one before it."""
    large = native.empty((200, 1000, 1000), np.dtype("uint8"))
    del large
    assert changed(stats)["cached"] >= 200_000_000
    for _ in range(3 * 512):
        native.empty((100, 1000), np.dtype("uint8"))
    assert changed(stats)["cached"] <= 1_000_000


@compiled
def test_memory_goes_back_on_demand(stats: dict[str, int]) -> None:
    native.empty((200, 1000, 1000), np.dtype("uint8"))
    mx.cpu().empty_cache()
    assert mx.memory_stats()["cached"] == 0


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (7, 5), (300, 400)])
def test_an_array_like_any_other(shape: tuple[int, ...], dtype: str) -> None:
    array = native.empty(shape, np.dtype(dtype))
    assert array.shape == shape and array.dtype == dtype
    assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned
    array[...] = 1
    view = array.reshape(-1)[::2].T
    del array
    assert view.sum() == view.size  # the memory lives as long as any view of it


@compiled
def test_alignment_of_all_sizes() -> None:
    held = [native.empty((n,), np.dtype("uint8")) for n in (0, 1, 63, 64, 65, 4095, 1 << 18, (1 << 21) + 1, 5 << 20)]
    for a in held:
        a.fill(1)
    assert all(a.ctypes.data % 64 == 0 for a in held)
    starts = sorted((a.ctypes.data, a.nbytes) for a in held if a.nbytes)
    assert all(at + size <= after for (at, size), (after, _) in itertools.pairwise(starts))


@compiled
def test_there_is_no_memory_for_what_is_too_large(stats: dict[str, int]) -> None:
    """Nor is what the system refuses counted."""
    for shape in ((1 << 61,), (1 << 40, 1 << 40), (1 << 46,)):
        with pytest.raises(MemoryError):
            native.empty(shape, np.dtype("float64"))
    assert changed(stats)["allocated"] == 0 and changed(stats)["peak"] == 0


@compiled
def test_threads_do_not_get_each_others_memory(stats: dict[str, int]) -> None:
    native.set_memory_bound(1 << 20)
    wrong: list[int] = []

    def work(number: int) -> None:
        sizes = np.random.default_rng(number).integers(1, 300_000, 400)
        held: list[np.ndarray] = []
        for size in sizes.tolist():
            array = native.empty((size,), np.dtype("uint8"))
            array.fill(number)
            held.append(array)
            if len(held) > 6:
                gone = held.pop(size % 6)
                if gone.min() != number or gone.max() != number:
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert changed(stats)["allocated"] == 0


def test_numbers_without_the_compiled_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_core", None)
    assert set(mx.memory_stats().values()) == {0}
    assert native.release_memory() == 0
    native.set_memory_bound(1)
    assert native.empty((2, 3), np.dtype("float32")).shape == (2, 3)
