"""The DataLoader: what it gives in this process, from processes (forked or spawned) and threads, and how it ends."""

import copyreg
import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd
from hybrid.gluon import data
from hybrid.gluon.data import workers

FIXTURES = Path(__file__).parents[3] / "fixtures/recordio"


class Numbers(data.Dataset):
    """Example i: an image of i's and i itself; ``act(i)`` comes first."""

    def __init__(self, count: int, side: int = 4, act: Callable[[int], Any] | None = None):
        self.count, self.side, self.act = count, side, act

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, idx: int) -> tuple[Any, int]:
        if self.act is not None:
            self.act(idx)
        return nd.full((3, self.side, self.side), idx, dtype="float32"), int(idx)


def fail_at_5(i: int) -> None:
    if i == 5:
        raise KeyError("number five")


class Odd(Exception):
    """An error that cannot be rebuilt from its arguments."""

    def __init__(self, one: int, two: int):
        super().__init__(f"odd {one} {two}")


def fail_oddly(i: int) -> None:
    raise Odd(i, 2)


@pytest.fixture(autouse=True)
def odd_stays_odd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask has all errors of a process that imports it rebuilt otherwise (tblib)."""
    monkeypatch.delitem(copyreg.dispatch_table, Odd, raising=False)


def die(i: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave(i: int) -> None:
    os._exit(3)


def sleep(i: int) -> None:
    time.sleep(60)


def draw(samples: list[Any]) -> Any:
    """A batchify function that gives random numbers and the process it ran in."""
    return os.getpid(), np.random.rand(), nd.random.uniform(shape=(1,)).asscalar() if hasattr(nd, "random") else 0.0


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No process, file or descriptor is left by a test."""
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    gc.freeze()  # what other tests have left is not looked at: it may be a million objects, each time
    yield
    gc.collect()
    assert not multiprocessing.active_children()
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 1


@pytest.fixture(params=["fork", "spawn"])
def method(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways to start a process, set as a program would set them."""
    old = multiprocessing.get_start_method()
    multiprocessing.set_start_method(request.param, force=True)
    yield request.param
    multiprocessing.set_start_method(old, force=True)


def check(batches: Any, count: int, size: int, side: int) -> None:
    seen = 0
    for images, labels in batches:
        assert labels.asnumpy().tolist() == list(range(seen, min(seen + size, count)))
        assert images.shape == (len(labels), 3, side, side)
        assert images.dtype == np.float32
        assert (images.asnumpy()[:, 2, 3, 1] == labels.asnumpy()).all()
        seen += len(labels)
    assert seen == count


@pytest.mark.parametrize("side", [4, 64])
@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}], ids=str)
def test_batches_come_in_order(options: dict[str, Any], side: int) -> None:
    loader = data.DataLoader(Numbers(10, side), 4, **options)
    assert len(loader) == 3
    for _ in range(2):
        check(loader, 10, 4, side)


def test_processes_started_either_way(method: str) -> None:
    loader = data.DataLoader(Numbers(10, 64), 4, num_workers=2)
    check(loader, 10, 4, 64)


def test_batches_from_processes_are_ordinary_arrays() -> None:
    loader = data.DataLoader(Numbers(4, 64), 4, num_workers=1)
    ((images, _),) = list(loader)
    del loader
    images[:] = 7
    assert (images + 1).asnumpy().max() == 8
    assert images.context == mx.cpu()


@pytest.mark.parametrize("options", [{}, {"num_workers": 1}, {"num_workers": 1, "thread_pool": True}], ids=str)
def test_errors_say_where_they_come_from(options: dict[str, Any]) -> None:
    loader = data.DataLoader(Numbers(8, act=fail_at_5), 2, **options)
    batches = iter(loader)
    assert [next(batches)[1].asnumpy().tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="number five") as caught:
        next(batches)
    if options == {"num_workers": 1}:
        assert isinstance(caught.value.__cause__, workers.WorkerTraceback)
        assert "in fail_at_5" in str(caught.value.__cause__)
    assert next(iter(loader))[1].asnumpy().tolist() == [0, 1]  # the loader goes on


def test_errors_that_cannot_be_sent_are_named() -> None:
    with pytest.raises(RuntimeError, match="Odd: odd 0 2"):
        next(iter(data.DataLoader(Numbers(2, act=fail_oddly), 2, num_workers=1)))


def test_batches_that_cannot_be_sent_are_named() -> None:
    loader = data.DataLoader(Numbers(2), 2, batchify_fn=lambda samples: lambda: None, num_workers=1)
    with pytest.raises((AttributeError, TypeError, RuntimeError), match="pickle"):
        next(iter(loader))


class Choosy:
    """A batchify function: what it gives hangs on the first sample's number."""

    def __init__(self, side: int, as_ndarray: bool):
        self.side, self.as_ndarray = side, as_ndarray

    def __call__(self, samples: list[Any]) -> Any:
        number = samples[0][1]
        library: Any = nd if self.as_ndarray else np
        arrays = [library.full((self.side, self.side), number + i) for i in (0.25, 0.5)]
        if number == 0:
            return [*arrays, lambda: None]
        if number == 2:
            return {"first": arrays, "second": (lambda: None, arrays[0])}
        if number == 4:
            raise Odd(number, 1)
        return arrays


@pytest.mark.parametrize("as_ndarray", [True, False])
def test_batches_after_those_that_failed_are_right(as_ndarray: bool) -> None:
    """Nothing of a batch that could not be sent, or made, is taken for a part of another one."""
    for side in (3, 120):  # through the pipe, in shared memory
        pool = workers.ProcessWorkers(1, Numbers(8), Choosy(side, as_ndarray))
        with ThreadPoolExecutor(1) as reader:  # one that waits for the rest of what is none ends when the process does
            try:
                keys = [pool.submit([i], i) for i in range(8)]
                for i, key in enumerate(keys):
                    answer = reader.submit(pool.result, key, 20)
                    if i in (0, 2, 4):
                        with pytest.raises((AttributeError, TypeError, RuntimeError), match=r"pickle|Odd"):
                            answer.result(20)
                        continue
                    found = [x.asnumpy() if as_ndarray else x for x in answer.result(20)]
                    assert [x.shape for x in found] == [(side, side)] * 2
                    assert [np.unique(x).tolist() for x in found] == [[i + 0.25], [i + 0.5]]
            finally:
                pool.close()


@pytest.mark.parametrize(("act", "how"), [(die, "was killed by signal 9"), (leave, "ended with exit code 3")])
def test_a_worker_that_dies_is_reported(act: Callable[[int], None], how: str) -> None:
    loader = data.DataLoader(Numbers(8, act=act), 2, num_workers=2, timeout=30)
    with pytest.raises(RuntimeError, match=f"DataLoader worker 0 .* {how}"):
        next(iter(loader))


def test_a_slow_worker_times_out() -> None:
    loader = data.DataLoader(Numbers(8, act=sleep), 2, num_workers=1, timeout=0.5)
    with pytest.raises(multiprocessing.TimeoutError, match=r"no batch within 0.5 seconds"):
        next(iter(loader))
    assert not multiprocessing.active_children()


def test_a_slow_thread_times_out() -> None:
    loader = data.DataLoader(Numbers(2, act=lambda i: time.sleep(1)), 2, num_workers=1, timeout=0.1, thread_pool=True)
    with pytest.raises(multiprocessing.TimeoutError, match=r"no batch within 0.1 seconds"):
        next(iter(loader))


def test_passes_that_are_left_or_interleaved() -> None:
    loader = data.DataLoader(Numbers(12), 2, num_workers=2)
    for images, labels in loader:
        assert images is not None
        if labels.asnumpy()[0] == 4:
            break
    check(loader, 12, 2, 4)
    one, two = iter(loader), iter(loader)
    for first, second in zip(one, two, strict=True):
        assert first[1].asnumpy().tolist() == second[1].asnumpy().tolist()
    assert not loader._workers._results
    assert not loader._workers._dropped


def test_an_abandoned_loader_ends_its_workers() -> None:
    loader = data.DataLoader(Numbers(12, 64), 2, num_workers=2)
    batches = iter(loader)
    next(batches)
    processes = list(loader._workers._processes)
    del loader, batches
    gc.collect()
    assert not any(p.is_alive() for p in processes)


def test_workers_draw_different_but_repeatable_numbers() -> None:
    def run(workers: int = 2) -> list[Any]:
        np.random.seed(5)
        return list(data.DataLoader(Numbers(4), 1, batchify_fn=draw, num_workers=workers))

    first, second = run(), run()
    assert [b[1:] for b in first] == [b[1:] for b in second] == [b[1:] for b in run(3)]
    assert len({b[1] for b in first}) == 4
    assert first[0][0] == first[2][0] != first[1][0] == first[3][0]
    np.random.seed(5)
    expected = np.random.rand()
    np.random.seed(5)
    list(data.DataLoader(Numbers(4), 1, num_workers=2))
    assert np.random.rand() == expected  # the program's own numbers stay as they were


def test_auto_reload_prefetches() -> None:
    asked: list[int] = []
    loader = data.DataLoader(
        Numbers(4, act=asked.append), 2, num_workers=1, thread_pool=True, auto_reload=True, prefetch=1
    )
    check(loader, 4, 2, 4)
    deadline = time.monotonic() + 10
    while len(asked) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert asked == [0, 1, 2, 3, 0, 1]
    loader.clean()
    check(loader, 4, 2, 4)
    for count in (0, 1):  # what was made ahead is forgotten
        samples = [1, 2]
        loader = data.DataLoader(data.SimpleDataset(samples), 2, num_workers=count, thread_pool=True, auto_reload=True)
        loader.clean()
        samples[:] = [3, 4]
        (batch,) = loader
        assert batch.asnumpy().tolist() == [3, 4]


def test_records_are_read_by_several_processes() -> None:
    dataset = data.RecordFileDataset(FIXTURES / "indexed.rec")
    dataset[0]
    loader = data.DataLoader(dataset, 1, batchify_fn=lambda records: records[0], num_workers=2)
    assert list(loader) == [b"record 3", b"record 1", b"record 2"]


@pytest.mark.parametrize("options", [{}, {"num_workers": 1}, {"num_workers": 1, "thread_pool": True}], ids=str)
def test_batches_keep_their_dtypes(options: dict[str, Any]) -> None:
    """However they come here, and whatever their size."""
    dtypes = ("uint8", "int32", "int64", "float16", "float64")
    samples = [tuple(nd.array(np.full(n, i), dtype=d) for d in dtypes for n in (2, 9000)) for i in (1, 2)]
    (batch,) = data.DataLoader(data.SimpleDataset(samples), 2, **options)
    assert [np.dtype(b.dtype).name for b in batch] == [d for d in dtypes for _ in range(2)]
    assert all(b[:, -1].asnumpy().tolist() == [1, 2] for b in batch)


def test_batches_of_all_kinds() -> None:
    samples = [(1, 2.5, np.float32(3), np.arange(2)), (4, 5.5, np.float32(6), np.arange(2))]
    (batch,) = data.DataLoader(data.SimpleDataset(samples), 2)
    assert isinstance(batch, list)
    assert [b.dtype for b in batch] == [np.int64, np.float64, np.float32, np.int64]
    assert batch[3].shape == (2, 2)
    with pytest.raises(TypeError, match="cannot make a batch of str such as 'x'; give the DataLoader a batchify_fn"):
        next(iter(data.DataLoader(data.SimpleDataset(["x", "y"]), 2)))


def test_pinned_batches() -> None:
    ((images, labels),) = data.DataLoader(Numbers(2), 2, pin_memory=True)
    assert images.context == labels.context == mx.cpu_pinned()


def test_arguments_that_contradict_each_other() -> None:
    numbers = Numbers(4)
    sampler = data.SequentialSampler(4)
    with pytest.raises(ValueError, match="batch_size must be specified unless"):
        data.DataLoader(numbers)
    with pytest.raises(ValueError, match="shuffle must not be specified if sampler"):
        data.DataLoader(numbers, 2, shuffle=True, sampler=sampler)
    with pytest.raises(ValueError, match="must not be specified if batch_sampler is specified"):
        data.DataLoader(numbers, 2, batch_sampler=data.BatchSampler(sampler, 2))
    with pytest.raises(AssertionError, match="timeout must be positive, given 0"):
        data.DataLoader(numbers, 2, timeout=0)


def test_a_program_that_ends_or_is_killed_leaves_no_process() -> None:
    """A script that falls off its end with a pass open; and one whose main process is killed."""
    code = """
import os, sys, signal
from tests.gluon.data.test_dataloader import Numbers
from hybrid.gluon import data
loader = data.DataLoader(Numbers(100, 64), 2, num_workers=2)
batches = iter(loader)
next(batches)
print(*(p.pid for p in loader._workers._processes), flush=True)
if sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""
    for how in ("end", "kill"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, how], capture_output=True, text=True, timeout=60
        )
        pids = done.stdout.split()
        assert len(pids) == 2, done.stderr
        assert not done.stderr
        deadline = time.monotonic() + 10
        while any(running(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(running(pid) for pid in pids)


def running(pid: str) -> bool:
    """True where a process is there and no zombie (an orphan's is the business of init)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_batches_are_taken_apart_and_put_together_as_they_were() -> None:
    """Containers and arrays of every kind go to a process and back, here in one; from a size on their memory is shared."""
    small = np.arange(workers.LARGE // 4, dtype=np.float32)
    large = np.arange(workers.LARGE // 4 + 1, dtype=np.float32)
    turned = np.arange(2 * workers.LARGE, dtype=np.int16).reshape(2, -1).T
    words = np.array(["a"] * workers.LARGE, dtype=object)
    batch = {
        "a": [small, (large, nd.array(large * 2))],
        "b": {"c": turned, "d": nd.array(small * 3)},
        "e": words,
        "f": 3,
    }
    memory: list[np.ndarray] = []
    apart = workers._detach(batch, memory)
    assert [m.nbytes for m in memory] == [large.nbytes, large.nbytes, turned.nbytes]
    assert all(m.flags.c_contiguous for m in memory)
    assert apart["a"][0] is small and apart["e"] is words and apart["f"] == 3
    sent = iter(memory)
    back = workers._attach(apart, lambda form: next(sent).reshape(form.shape).astype(form.dtype))
    assert list(back) == list("abef") and [type(p) for p in (back["a"], back["a"][1], back["b"])] == [list, tuple, dict]
    kinds = [type(v) for v in (back["a"][0], *back["a"][1], back["b"]["c"], back["b"]["d"])]
    assert kinds == [np.ndarray, np.ndarray, nd.NDArray, np.ndarray, nd.NDArray]
    for got, want in zip(
        (back["a"][0], *back["a"][1], *back["b"].values()), (small, large, large * 2, turned, small * 3)
    ):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.asnumpy() if isinstance(got, nd.NDArray) else got, want)
    assert workers._sendable(ValueError("x")).args == ("x",)


def both_generators(samples: list[Any]) -> Any:
    return random.random(), float(np.random.rand()), mx.nd.random.uniform(shape=(1,)).asscalar()


def test_every_generator_differs_in_every_worker() -> None:
    np.random.seed(5)
    drawn = list(data.DataLoader(Numbers(3), 1, batchify_fn=both_generators, num_workers=3))
    assert [len(set(column)) for column in zip(*drawn)] == [3, 3, 3]


def test_batches_on_a_pinned_device_and_what_loaders_take_for_nothing() -> None:
    ((images, (labels, other)),) = data.DataLoader(
        Numbers(2), 2, pin_memory=True, pin_device_id=1,
        batchify_fn=lambda samples: [nd.array([1, 2]), [nd.array([3]), "a word"]],
    )  # fmt: skip
    assert images.context == labels.context == mx.cpu_pinned(1) and other == "a word"
    for options in ({"num_workers": -1}, {"num_workers": 1, "thread_pool": True, "prefetch": -3}):
        check(data.DataLoader(Numbers(4), 2, **options), 4, 2, 4)
    loader = data.DataLoader(Numbers(4), 2, auto_reload=False)
    first = iter(loader)
    next(first)
    loader.refresh()
    again = loader._iter
    list(first)  # a pass that ends leaves what was begun meanwhile
    assert loader._iter is again


class Late(data.dataset.Dataset):
    """Its own time is up at once."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> Any:
        raise TimeoutError("the dataset's own")


def test_a_dataset_that_runs_out_of_time_itself_says_so() -> None:
    loader = data.DataLoader(Late(), 1, num_workers=1, thread_pool=True)
    with pytest.raises(TimeoutError, match="the dataset's own"):
        next(iter(loader))


def test_a_loader_goes_on_after_an_error() -> None:
    for options in ({"num_workers": 1, "thread_pool": True}, {"num_workers": 1}):
        acts: list[Callable[[int], None]] = [leave_quietly if "thread_pool" not in options else late]
        numbers = Numbers(4, act=lambda i, acts=acts: [act(i) for act in acts] and None)
        loader = data.DataLoader(numbers, 2, timeout=0.1 if "thread_pool" in options else 30, **options)
        with pytest.raises((RuntimeError, multiprocessing.TimeoutError), match=r"exit code 0|within 0\.1 seconds"):
            next(iter(loader))
        assert not loader._workers.alive
        acts.clear()
        loader._timeout = 30
        check(loader, 4, 2, 4)


def leave_quietly(i: int) -> None:
    os._exit(0)


def late(i: int) -> None:
    time.sleep(0.3)


class Stubborn:
    """A process that notes what is done to it, and lives until it is killed."""

    def __init__(self, ends_at: str):
        self.ends_at, self.told = ends_at, list[str]()

    def is_alive(self) -> bool:
        return self.ends_at not in self.told

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.told.append(name)


def test_processes_are_ended_by_whom_they_belong_to() -> None:
    for ends_at, told in (
        ("join", ["join"]),
        ("terminate", ["join", "terminate", "join"]),
        ("kill", ["join", "terminate", "join", "kill", "join"]),
    ):
        for owner in (os.getpid(), os.getpid() + 1):
            process, pipe = Stubborn(ends_at), Stubborn("")
            workers._stop(owner, [process], [pipe])
            own = owner == os.getpid()
            assert (process.told, pipe.told) == ((told, ["send", "close"]) if own else ([], []))


def test_loaders_of_others_wait_as_long_as_they_are_told() -> None:
    class Pool:
        def apply_async(self, function: Any, given: Any) -> Any:
            indices, batchify, _ = given
            return SimpleNamespace(get=lambda timeout: waited.append(timeout) or nd.array(batchify(indices)))

    waited: list[float] = []
    for given, timeout, place in (({}, 120, 0), ({"timeout": 7, "pin_device_id": 2, "data_loader": self_made}, 7, 2)):
        batches = data.dataloader._MultiWorkerIter(
            Pool(), list, [[1, 2], [3]], pin_memory=True, worker_fn=len, dataset=[], **given
        )
        assert [(b.asnumpy().tolist(), b.context) for b in batches] == [
            ([1, 2], mx.cpu_pinned(place)), ([3], mx.cpu_pinned(place))
        ]  # fmt: skip
        assert waited == [timeout] * 2 and batches._data_loader is given.get("data_loader")
        waited.clear()


self_made = object()
