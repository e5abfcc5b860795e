"""ImageRecordIter that reads ahead: the numbers of one that does not, errors in their place, and no thread that stays."""

from __future__ import annotations

import copy
import gc
import hashlib
import os
import pickle
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.core.error import FormatError, MXNetError
from hybrid.io.ahead import Ahead

pytest.importorskip("PIL")

COUNT, BATCH = 22, 4


def objects(number: int) -> list[float]:
    """A label of one to three objects."""
    rows = [[k, 0.1 * k, 0.2, 0.1 * k + 0.3, 0.7 + 0.05 * k] for k in range(number % 3 + 1)]
    return [2, 5, *(value for row in rows for value in row)]


def write_records(path: Path, broken: tuple[int, ...] = (), twice: tuple[int, ...] = (), several: bool = False) -> str:
    """Records of noise of several sizes; some cut off, some with two labels; with several objects each, or a label."""
    numbers = np.random.RandomState(7)
    writer = mx.recordio.MXRecordIO(str(path), "w")
    for i in range(COUNT):
        height, width = numbers.randint(30, 60, 2)
        pixels = numbers.randint(0, 256, (height, width, 3)).astype(np.uint8)
        label = objects(i) if several else [i, i] if i in twice else float(i)
        record = mx.recordio.pack_img((0, label, i, 0), pixels, 90, ".jpg")
        writer.write(record[: len(record) - 300] if i in broken else record)
    writer.close()
    return str(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_records(tmp_path_factory.mktemp("ahead") / "whole.rec")


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_records(tmp_path_factory.mktemp("ahead") / "damaged.rec", broken=(9, 11, 17), twice=(20,))


@pytest.fixture(scope="module")
def detected(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """As whole and damaged, with labels of objects."""
    folder = tmp_path_factory.mktemp("ahead")
    whole = write_records(folder / "objects.rec", several=True)
    return whole, write_records(folder / "broken.rec", broken=(9, 11, 17), several=True)


def made(path: str, kind: str = "", **more: Any) -> Any:
    options: dict[str, Any] = {"data_shape": (3, 24, 28), "batch_size": BATCH, "seed": 3, **more}
    name = "ImageDetRecordIter" if kind == "Det" else f"ImageRecord{kind}Iter"
    return getattr(mx.io, name)(path_imgrec=path, **options)


def threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith(("ahead", "decode"))]


def ended() -> bool:
    """True as soon as no thread of ours is left."""
    end = time.monotonic() + 10
    while threads() and time.monotonic() < end:
        time.sleep(0.01)
    return not threads()


def story(iterator: Any, leave: int = 2) -> list[Any]:
    """All that an iterator does in four epochs, the second of which is left early: batches, errors, and the program's own random
    numbers between them."""
    random.seed(5)
    np.random.seed(6)
    told: list[Any] = []
    for epoch in range(4):
        for number in range(COUNT):
            try:
                batch = iterator.next()
            except StopIteration:
                break
            except FormatError as error:
                told.append(str(error))
                continue
            data, label = batch.data[0], batch.label[0]
            told.append((data.dtype, data.asnumpy().tobytes(), label.asnumpy().tolist(), batch.pad, list(batch.index)))
            told.append((random.random(), np.random.rand()))
            if epoch == 1 and number == leave:
                break
        iterator.reset()
    return told


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "cut": {"shuffle": True, "rand_crop": True, "rand_mirror": True, "resize": 32, "mean_r": 9, "std_g": 3},
    "sized": {"random_resized_crop": True, "min_random_area": 0.1, "max_aspect_ratio": 0.3, "rand_mirror": True},
    "suited": {"random_resized_crop": True, "min_random_area": 0.3, "inter_method": 9},
    "drawn": {"random_resized_crop": True, "min_random_area": 0.1, "inter_method": 10, "resize": 40, "brightness": 0.3},
    "colors": {
        "rand_crop": True,
        "brightness": 0.3,
        "contrast": 0.2,
        "saturation": 0.4,
        "pca_noise": 0.1,
        "random_h": 9,
    },
    "padded": {"pad": 3, "fill_value": 7, "rand_crop": True, "round_batch": False, "dtype": "float64"},
    "gray": {"data_shape": (1, 24, 28), "rand_crop": True, "resize": 33},
    "uint8": {"kind": "UInt8", "rand_crop": True, "rand_mirror": True, "contrast": 0.4},
    "int8": {"kind": "Int8", "rand_crop": True, "mean_r": 120.5},
}
HUES = {f"{name}_prob": 0.6 for name in ("random_hue", "random_saturation", "random_illumination", "random_contrast")}
DETECTION: dict[str, dict[str, Any]] = {
    "plain": {},
    "colors": {**HUES, "max_random_hue": 20, "max_random_saturation": 30, "max_random_contrast": 0.4, "mean_g": 9},
    "parts": {
        "rand_crop_prob": 0.8,
        "min_crop_scales": 0.3,
        "rand_pad_prob": 0.6,
        "max_pad_scale": 2.0,
        "shuffle": True,
    },
    "drawn": {"inter_method": 10, "resize": 26, "rand_mirror_prob": 0.5, "resize_mode": "fit", "round_batch": False},
    "inside": {"rand_crop_prob": 0.8, "crop_emit_mode": "overlap", "num_crop_sampler": 2, "resize_mode": "shrink"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_numbers_do_not_depend_on_reading_ahead(name: str, whole: str, damaged: str) -> None:
    for path in (whole, damaged):
        want = story(made(path, **SETTINGS[name], prefetch_buffer=0))
        assert any(isinstance(told, str) for told in want) == (path == damaged)
        for buffer, workers in ((1, 1), (4, 4), (50, 2)):
            got = story(made(path, **SETTINGS[name], prefetch_buffer=buffer, preprocess_threads=workers))
            assert got == want


@pytest.mark.parametrize("name", DETECTION)
def test_numbers_of_detection_do_not_depend_on_reading_ahead(name: str, detected: tuple[str, str]) -> None:
    stories = []
    for path in detected:
        want = story(made(path, "Det", **DETECTION[name], prefetch_buffer=0))
        stories.append(want)
        for buffer, workers in ((1, 1), (4, 4), (50, 2)):
            got = story(made(path, "Det", **DETECTION[name], prefetch_buffer=buffer, preprocess_threads=workers))
            assert got == want
    assert [any(isinstance(told, str) for told in want) for want in stories] == [False, True]


@pytest.mark.parametrize("prefetch", [0, 3])
def test_an_error_of_a_later_step_leaves_the_numbers_as_they_are(
    prefetch: int, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example that fails when it is put into its batch: the next batch is drawn for as if nothing behind it had been read."""
    fill = mx.io.ImageRecordIter._fill

    def failing(self: Any, example: Any, choice: Any, row: Any) -> None:
        if example[1][0] == 6:
            raise FormatError("the sixth")
        fill(self, example, choice, row)

    iterator = made(whole, rand_crop=True, brightness=0.4, prefetch_buffer=prefetch)
    monkeypatch.setattr(mx.io.ImageRecordIter, "_fill", failing)
    iterator.next()
    with pytest.raises(FormatError, match="the sixth"):
        iterator.next()
    expected = random.Random()
    expected.setstate(iterator._random.getstate())
    sizes = [mx.image.imdecode(mx.recordio.unpack(iterator._file.read_at(s))[1]).shape for s in iterator._starts[8:12]]
    want = [iterator_choice(expected, *size[:2]) for size in sizes]
    drawn: list[Any] = []
    draw = mx.io.ImageRecordIter._draw

    def noted(self: Any, start: int, example: Any) -> Any:
        choice = draw(self, start, example)
        drawn.append((*choice.box[:2], choice.colors[0][1]))
        return choice

    monkeypatch.setattr(mx.io.ImageRecordIter, "_draw", noted)
    assert list(iterator.next().index) == [8, 9, 10, 11]
    assert drawn[:4] == want


def iterator_choice(numbers: random.Random, height: int, width: int) -> tuple[int, int, float]:
    """Left, top and brightness, drawn for an image of that size."""
    top, left = numbers.randint(0, height - 24), numbers.randint(0, width - 28)
    numbers.sample(["brightness"], 1)  # the order
    return left, top, 1 + numbers.uniform(-0.4, 0.4)


def test_colors_come_of_the_seed(whole: str) -> None:
    """Not of the program's own random numbers, which they leave alone."""
    options = {"rand_crop": True, "brightness": 0.4, "pca_noise": 0.1, "saturation": 0.3, "contrast": 0.2}
    told = []
    for own, seed in ((1, 3), (2, 3), (1, 4)):
        random.seed(own)
        np.random.seed(own)
        before = random.getstate(), np.random.get_state()[1].tobytes()
        told.append(next(made(whole, **options, seed=seed)).data[0].asnumpy())
        assert (random.getstate(), np.random.get_state()[1].tobytes()) == before
    np.testing.assert_array_equal(told[0], told[1])
    assert (told[0] != told[2]).any()


def test_errors_name_their_record_and_come_in_their_place(damaged: str) -> None:
    """The batches of a damaged file: what is whole is given, what is not is told when its turn has come."""
    positions = mx.recordio.MXRecordIO(damaged, "r").positions()
    iterator = made(damaged, prefetch_buffer=4)
    turns: list[Any] = []
    while True:
        try:
            turns.append(list(iterator.next().index))
        except StopIteration:
            break
        except FormatError as error:
            turns.append(str(error))
    first, second, broken, again, also, labels = turns
    assert (first, second, again) == ([0, 1, 2, 3], [4, 5, 6, 7], [12, 13, 14, 15])
    for text, number, why in ((broken, 9, "cannot decode"), (also, 17, "cannot decode"), (labels, 20, "2-dimensional")):
        assert f"{damaged}, record at byte {positions[number]}: " in text and why in text


def test_batches_are_ready_before_they_are_asked_for(whole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as prefetch_buffer says and no more, whole images in memory at most twice the threads."""
    seen: list[int] = []
    decode = mx.io.ImageRecordIter._decode

    def noted(self: Any, start: int) -> Any:
        seen.append(start)
        return decode(self, start)

    monkeypatch.setattr(mx.io.ImageRecordIter, "_decode", noted)
    iterator = made(whole, prefetch_buffer=2, preprocess_threads=1)
    seen.clear()
    iterator.next()
    wanted = 3 * BATCH + 2  # the one taken, two ahead, and two images
    end = time.monotonic() + 10
    while len(seen) < wanted and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(seen) == wanted
    assert iterator._ahead._results.qsize() == 2
    seen.clear()
    serial = made(whole, prefetch_buffer=0)
    seen.clear()
    serial.next()
    assert len(seen) == BATCH


def test_no_thread_stays(whole: str) -> None:
    assert ended()
    iterator = made(whole)
    assert not threads()  # reading begins with the first batch
    iterator.next()
    assert threads()
    iterator.reset()
    assert not threads()
    for _ in iterator:
        break
    del iterator
    gc.collect()
    assert ended()
    several = [made(whole) for _ in range(3)]
    for one in several:
        assert len(list(one)) == 6
    assert ended()  # at the end of an epoch already
    del several
    cycle: list[Any] = [made(whole)]
    cycle.append(cycle)
    cycle[0].next()
    del cycle
    gc.collect()
    assert ended()


def test_first_batch_over_and_over(whole: str) -> None:
    iterator = made(whole, rand_crop=True)
    first = iterator.next()
    iterator.debug_skip_load()
    for _ in range(10):
        assert iterator.next().data[0] is first.data[0]
    iterator.reset()
    assert iterator.next().data[0] is not first.data[0]


def test_copies_go_on_by_themselves(whole: str) -> None:
    """A copy and one that was sent elsewhere give what the original would."""
    iterator = made(whole, rand_mirror=True, rand_crop=True)
    iterator.next()
    twins = [pickle.loads(pickle.dumps(iterator)), copy.deepcopy(iterator)]
    want = [batch.data[0].asnumpy() for batch in iterator]
    for twin in twins:
        for expected, batch in zip(want, twin, strict=True):
            np.testing.assert_array_equal(batch.data[0].asnumpy(), expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_goes_on_by_itself(whole: str) -> None:
    """A forked process has none of the threads; it reads the rest, and so does its parent."""
    iterator = made(whole, rand_mirror=True, shuffle=True)
    iterator.next()
    inside, outside = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = b"".join(batch.data[0].asnumpy().tobytes() for batch in iterator)
            iterator.reset()
            os.write(outside, hash_of(told).encode())
        finally:
            os._exit(0)
    os.close(outside)
    want = hash_of(b"".join(batch.data[0].asnumpy().tobytes() for batch in iterator))
    with os.fdopen(inside) as pipe:
        assert pipe.read() == want
    assert os.waitpid(child, 0)[1] == 0


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_an_interrupt_loses_one_batch(whole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As without reading ahead: what is asked for next is the next batch, in its own numbers."""
    iterator, plain = made(whole), made(whole, prefetch_buffer=0)
    iterator.next()

    def interrupted(self: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ahead, "take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            iterator.next()
    assert not threads()
    plain.next()
    plain.next()
    one, two = iterator.next(), plain.next()
    assert list(one.index) == list(two.index) == [8, 9, 10, 11]
    np.testing.assert_array_equal(one.data[0].asnumpy(), two.data[0].asnumpy())


def test_settings_without_sense(whole: str) -> None:
    wrong: dict[str, Any]
    for wrong in ({"preprocess_threads": 0}, {"prefetch_buffer": -1}):
        with pytest.raises(MXNetError, match="wanted at least 1 and 0"):
            made(whole, **wrong)


def test_a_file_that_goes_away_is_told_at_the_next_epoch(tmp_path: Path) -> None:
    path = write_records(tmp_path / "gone.rec")
    iterator = made(path)
    os.remove(path)
    with pytest.raises(MXNetError, match=r"cannot open the record file .*gone\.rec"):
        iterator.next()


@pytest.mark.parametrize("kind", ["", "Det"])
def test_a_file_that_is_cut_short_while_it_is_read(kind: str, tmp_path: Path) -> None:
    """Batches that are whole are given; each batch behind the cut tells of it, and then the epoch ends."""
    path = write_records(tmp_path / "cut.rec", several=bool(kind))
    iterator = made(path, kind, batch_size=2)
    positions = mx.recordio.MXRecordIO(path, "r").positions()
    os.truncate(path, positions[11] + 40)
    told: list[Any] = []
    while len(told) < 2 * COUNT:
        try:
            told.append(list(iterator.next().index))
        except StopIteration:
            break
        except FormatError as error:
            told.append(str(error))
    assert told[:5] == [[2 * i, 2 * i + 1] for i in range(5)] and len(told) == COUNT // 2
    assert f"record at byte {positions[11]}" in told[5] and "is cut off" in told[5]
    assert all("has no record" in text for text in told[6:])
    assert ended()
    with pytest.raises(FormatError, match="is cut off"):
        made(path, kind)


STUCK = """
    import time
    import numpy as np
    import hybrid as mx

    class Stuck(mx.io.NDArrayIter):
        def next(self):
            if self.cursor >= 4:
                print("stuck", flush=True)
                time.sleep(600)
            return super().next()

    ahead = mx.io.PrefetchingIter(Stuck(np.zeros((40, 3)), np.zeros(40), batch_size=4))
    ahead.next()
    ahead.next()
    time.sleep(0.2)
    print("end", flush=True)
"""


def test_a_source_that_hangs_does_not_keep_the_program_from_ending() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(mx.__file__).parent.parent)}
    program = [sys.executable, "-c", textwrap.dedent(STUCK)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, env=environment, check=True)
    assert done.stdout.split() == ["stuck", "end"] and not done.stderr


def test_steps_made_ahead() -> None:
    """Errors of a generator come when their step is asked for, and its end is an error of its own."""

    def steps(stopped: Any) -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("three")

    ahead = Ahead(steps, 5)
    assert (ahead.take(), ahead.take()) == (1, 2)
    with pytest.raises(ValueError, match="three"):
        ahead.take()
    short = Ahead(lambda stopped: iter([1]), 1)
    assert short.take() == 1
    with pytest.raises(RuntimeError, match="no more"):
        short.take()
