"""Files of optimizer states: MXNet's are read, ours come back whole, and nothing in a file is executed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.core.error import FormatError
from hybrid.optimizer import states as files
from tests.optimizer.test_optimizers import flat

FOLDER = Path(__file__).parents[2] / "fixtures" / "optimizer"
STORE = np.load(FOLDER / "states.npz")
NAMES = ["sgd-states", "sgd-whole", "adam-whole", "nadam-states"]


def updater(name: str = "sgd", **attrs: Any) -> mx.optimizer.Updater:
    made = mx.optimizer.get_updater(mx.optimizer.create(name, **attrs))
    for i in range(3):
        made(i, mx.nd.array([0.5, -0.5]), mx.nd.ones((2,)))
    return made


@pytest.mark.parametrize("name", NAMES)
def test_reads_what_mxnet_wrote(name: str) -> None:
    loaded = updater()
    loaded.set_states((FOLDER / f"{name}.states").read_bytes())
    assert sorted(loaded.states) == [0, 1, 2]
    for i, state in loaded.states.items():
        for j, array in enumerate(flat(state)):
            want = STORE[f"{name}/{i}/{j}"]
            assert array.dtype == want.dtype
            np.testing.assert_array_equal(array.asnumpy(), want)
    if name == "sgd-whole":
        assert (loaded.optimizer.momentum, loaded.optimizer.multi_precision) == (0.9, True)
        assert loaded.optimizer.idx2name[0] == "fc_weight"
    if name == "adam-whole":
        assert type(loaded.optimizer) is mx.optimizer.Adam
        assert loaded.optimizer.lr_scheduler.factor == 0.5
        assert loaded.optimizer.num_update == 5
        assert loaded.optimizer.learning_rate == pytest.approx(0.001 * 0.5**2)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", ["sgd", "adam", "rmsprop", "dcasgd", "lbsgd"])
def test_comes_back_whole(name: str, whole: bool) -> None:
    scheduler = mx.lr_scheduler.CosineScheduler(10, np.float32(0.5))  # type: ignore[arg-type]
    first = updater(name, momentum=0.9) if name == "sgd" else updater(name, lr_scheduler=scheduler)
    second = updater()
    second.set_states(first.get_states(dump_optimizer=whole))
    for i, state in first.states.items():
        assert type(second.states[i]) is type(state)
        for a, b in zip(flat(state), flat(second.states[i]), strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    if whole:
        assert type(second.optimizer) is type(first.optimizer)
        assert second.optimizer._index_update_count is second.optimizer._all_index_update_counts[0]
        second(0, mx.nd.ones((2,)), mx.nd.ones((2,)))
        assert second.optimizer.num_update == 2


@pytest.mark.parametrize("name", ["sgd", "adam", "rmsprop"])
def test_states_go_where_the_weight_is(name: str) -> None:
    """Those that were read are on the first device until they meet their weight."""
    first, second = updater(name, **({"momentum": 0.9} if name == "sgd" else {})), updater(name)
    second.set_states(first.get_states(dump_optimizer=True))
    there = mx.cpu(1)
    weight = mx.nd.array([0.5, -0.5], ctx=there)
    for _ in range(2):
        second(0, mx.nd.ones((2,), ctx=there), weight)
        assert {a.context for a in flat(second.states[0])} == {there}
    assert {a.context for a in flat(second.states[1])} == {mx.cpu()}


class Mine(mx.optimizer.SGD):
    """A program's own optimizer."""

    extra = None


def test_optimizers_of_the_program_itself() -> None:
    first, second = mx.optimizer.get_updater(Mine(learning_rate=0.3)), updater()
    first.optimizer.extra = [1, (2**70, -1), "ä", {"x": None, "y": True}]  # type: ignore[assignment]
    second.set_states(first.get_states(dump_optimizer=True))
    assert type(second.optimizer) is Mine
    assert second.optimizer.extra == first.optimizer.extra
    first.optimizer.extra = len  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"Mine\['extra'\]: got builtin_function_or_method"):
        first.get_states(dump_optimizer=True)


def test_keys_that_are_used_twice_come_back_as_one() -> None:
    array = mx.nd.ones((2,))
    loaded, _ = files.load(files.dump({0: array, "a": (array, None)}))
    assert loaded[0] is loaded["a"][0]


EVIL = [
    b"cos\nsystem\n(S'touch /tmp/gluonnx-was-here'\ntR.",
    b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.",
    b"\x80\x02cbuiltins\neval\nX\x03\x00\x00\x001+1\x85R.",
    b"\x80\x02cmxnet.optimizer.optimizer\nSGD\n)R.",
    b"\x80\x02csubprocess\nPopen\n)\x81.",
    b"\x80\x02}(ios\nsystem\nu.",
    b"\x80\x02cmxnet.optimizer.optimizer\nNoSuch\n)\x81}b.",
]


@pytest.mark.parametrize("data", EVIL)
def test_nothing_is_executed(data: bytes) -> None:
    with pytest.raises(FormatError, match="optimizer states"):
        updater().set_states(data)


def test_damaged_files_are_refused() -> None:
    whole = updater("adam").get_states(dump_optimizer=True)
    rng = np.random.default_rng(0)
    for _ in range(300):
        data = bytearray(whole[: rng.integers(len(whole))] if rng.random() < 0.5 else whole)
        if data:
            data[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        try:
            files.load(bytes(data))
        except FormatError:
            continue
    for data in (b"", b".", b"N.", b"K\x01.", b"\x80\x02}", b"}\x94h\x05."):
        with pytest.raises(FormatError):
            files.load(data)


HEAD = b"\x80\x04"
BOMBS = {
    "tuples inside one another": HEAD + b"}N" + b"\x85" * 100_000 + b"K\x00\x86.",
    "a tuple as a key": HEAD + b"}(" + b"N" + b"\x85" * 100_000 + b"Nu.",
    "lists inside one another": HEAD + b"}(K\x00" + b"]" * 5_000 + b"a" * 4_999 + b"u.",
    "a list that holds itself": HEAD + b"}(K\x00]\x94h\x00au.",
    "each level twice": HEAD
    + b"}(K\x00N\x85\x94"
    + b"".join(b"0h" + bytes([i]) + b"h" + bytes([i]) + b"\x86\x94" for i in range(28))
    + b"u.",
    "zeros by number": HEAD + b"}(K\x00cbuiltins\nbytearray\n\x8a\x06\x00\x00\x00\x00\x00\x01\x85Ru.",
    "a long length": HEAD + b"}(K\x00\x8e\x00\x00\x00\x00\x00\x00\x00\x01u.",
    "one text again and again": HEAD
    + b"}(K\x00X\x00\x10\x00\x00"
    + b"a" * 4096
    + b"\x94"
    + b"("
    + b"c_codecs\nencode\nh\x00\x85R" * 100
    + b"tu.",
    "a number of a million bits": HEAD + b"}(K\x00\x8b\x00\x00\x02\x00" + b"\x7f" * (1 << 17) + b"u.",
    "an array of no bytes": HEAD + b"}(K\x00cmxnet.ndarray.ndarray\nNDArray\nN\x85R}X\x06\x00\x00\x00handleK\x05sbu.",
    "an array that is never filled": HEAD + b"}(K\x00cmxnet.ndarray.ndarray\nNDArray\nN\x85Ru.",
    "an optimizer of nothing": HEAD + b"}cmxnet.optimizer.optimizer\nSGD\n)\x81\x86.",
    "a method that is a number": HEAD + b"}cmxnet.optimizer.optimizer\nSGD\n)\x81}X\x06\x00\x00\x00updateK\x05sb\x86.",
    "a rate that is a text": HEAD
    + b"}cmxnet.optimizer.optimizer\nSGD\n)\x81}X\x02\x00\x00\x00lrX\x01\x00\x00\x00asb\x86.",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bytes_that_would_break_a_reader_are_refused(name: str) -> None:
    made = updater()
    before = dict(made.states)
    with pytest.raises(FormatError, match="optimizer states: "):
        made.set_states(BOMBS[name])
    assert made.states == before


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.states"
    path.write_bytes(BOMBS["zeros by number"])
    weight = mx.gluon.Parameter("weight", shape=(2,))
    weight.initialize()
    trainer = mx.gluon.Trainer([weight], "sgd")
    with pytest.raises(FormatError, match=r"a\.states: optimizer states: got bytes made of int"):
        trainer.load_states(str(path))
    with pytest.raises(FileNotFoundError):
        trainer.load_states(str(tmp_path / "none"))
