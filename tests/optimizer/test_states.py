"""Files of optimizer states: MXNet's are read, ours come back whole, and nothing in a file is executed."""

import pickle
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


def test_every_protocol_of_pickle_is_read() -> None:
    """Pickles of programs: containers that are shared, numbers of NumPy, texts, of each generation of operations."""
    shared = [1, -2, 2**40]
    value = {
        0: (shared, shared), "text": ("one",), 2: ("a", 2), 3: (1, 2.5, None), 4: (1, 2, 3, 4), "none": (), 5: [[], {}],
        6: True, 7: -(2**70), 8: ["x", ["y", "x"]], 9: {"k": shared},
        10: np.float32(1.25), 11: np.float64(-0.1), 12: np.int64(-7), 13: np.int32(2**20), 14: np.bool_(True), 15: np.float16(0.3),
        **{100 + i: f"text {i}" for i in range(300)},
    }  # fmt: skip
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        held, optimizer = files.load(pickle.dumps(value, protocol))
        assert optimizer is None and held == value, protocol
        assert held[0][0] is held[0][1] is held[9]["k"], protocol
        assert [type(held[i]) for i in range(10, 16)] == [type(value[i]) for i in range(10, 16)], protocol
    lists = b"(dp0\nI0\n(lp1\nI5\naI6\nasI1\ng1\ns."  # as Python 2 wrote them
    assert files.load(lists)[0] == {0: [5, 6], 1: [5, 6]}
    assert files.load(b"(I0\n(I5\nI6\nld.")[0] == {0: [5, 6]}
    large = pickle.dumps({0: np.float64(3)}, 2)
    assert b"<" in large
    with pytest.raises(FormatError, match="byte order '>', wanted little-endian"):
        files.load(large.replace(b"<", b">"))


def test_arrays_of_every_class_and_twice_remembered() -> None:
    whole = files.dump({0: mx.nd.array([1.5, 2.5]), 1: None})
    for kind in ("ndarray\nNDArray", "sparse\nRowSparseNDArray", "sparse\nCSRNDArray"):
        data = whole.replace(b"mxnet.ndarray.ndarray\nNDArray", f"mxnet.ndarray.{kind}".encode())
        assert files.load(data)[0][0].asnumpy().tolist() == [1.5, 2.5], kind
    made = b"cmxnet.ndarray.ndarray\nNDArray\nN\x85R"
    twice = whole.replace(made + b"\x94", made + b"q\x14q\x15").replace(b"Nu.", b"(h\x14h\x15tu.")
    first, second = files.load(twice)[0][1]
    assert first is second and first.asnumpy().tolist() == [1.5, 2.5]


def test_optimizers_of_both_modules_of_mxnet() -> None:
    """The bytes name the module where MXNet has the class; a class of the program is not found under MXNet's name."""
    for optimizer, home in (
        (mx.optimizer.GroupAdaGrad(learning_rate=0.25), b"cmxnet.optimizer.contrib\nGroupAdaGrad\n"),
        (mx.optimizer.Adam(learning_rate=0.25), b"cmxnet.optimizer.optimizer\nAdam\n"),
    ):
        data = files.dump(({}, optimizer))
        assert home in data
        _, found = files.load(data)
        assert type(found) is type(optimizer) and found.lr == 0.25
    assert b"cmxnet.lr_scheduler\nPolyScheduler\n" in files.dump({0: mx.lr_scheduler.PolyScheduler(5)})
    own = files.dump(({}, Mine(learning_rate=0.5)))
    assert files.load(own)[1].lr == 0.5  # type: ignore[union-attr]
    stolen = own.replace(f"c{__name__}\n".encode(), b"cmxnet.optimizer.optimizer\n")
    with pytest.raises(FormatError, match="no optimizer or scheduler known here"):
        files.load(stolen)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_limits_are_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest that is taken, and one beyond."""
    deep = nested(files.MOST_DEPTH - 1)
    for value, more in (
        ({0: (1 << files.MOST_BITS) - 1}, {0: 1 << files.MOST_BITS}),
        ({0: deep}, {0: [deep]}),
        ({0: deep[0], 1: [deep[0]]}, {0: deep[0], 1: [[deep[0]]]}),  # known from a place less deep
    ):
        assert files.load(files.dump(value))[0] == value
        with pytest.raises(FormatError, match="optimizer states: got"):
            files.load(files.dump(more))
    monkeypatch.setattr(files, "MOST_THINGS", 4)
    assert files.load(files.dump({0: 1, 1: (2,)}))[0] == {0: 1, 1: (2,)}  # the dict, 1, the tuple, 2
    with pytest.raises(FormatError, match="got more than 4 things"):
        files.load(files.dump({0: 1, 1: (2, 3)}))
    monkeypatch.setattr(files, "MOST_THINGS", 1 << 10)
    scheduler = b"cmxnet.lr_scheduler\nFactorScheduler\n)\x81}(X\x07\x00\x00\x00base_lrK\x01ub"
    count = files.MOST_OBJECTS
    assert (
        len(files.load(b"\x80\x02}(" + b"".join(b"K" + bytes([i]) + scheduler for i in range(count)) + b"u.")[0])
        == count
    )
    with pytest.raises(FormatError, match=f"more than {count} objects"):
        files.load(b"\x80\x02}(" + b"".join(b"K" + bytes([i]) + scheduler for i in range(count + 1)) + b"u.")
    copies = b"c_codecs\nencode\nh\x00\x85R"
    text = b"X\x90\x01\x00\x00" + b"a" * 400 + b"\x94"
    data = b"\x80\x04}(K\x00(" + text + copies * 3 + b"tu."
    with pytest.raises(FormatError, match="more content than the file has bytes"):
        files.load(data.ljust(599))
    assert files.load(data.ljust(600))[0] == {0: ("a" * 400, *[b"a" * 400] * 3)}  # twice as many bytes as it has
    made = files.load(b"\x80\x04}K\x00cbuiltins\nbytearray\n)Rs.")[0]
    assert made == {0: b""}


SGD = b"cmxnet.optimizer.optimizer\nSGD\n"
REFUSED = {
    "three instead of a pair": (b"\x80\x02}NN\x87.", "got tuple, wanted a dict"),
    "a pair without an optimizer": (b"\x80\x02}K\x05\x86.", "got tuple, wanted a dict"),
    "a list": (b"\x80\x02].", "got list, wanted a dict"),
    "a name that is no text": (b"\x80\x04}(K\x00K\x01\x8c\x02ls\x93u.", "name that is no text"),
    "a module that is no text": (b"\x80\x04}(K\x00\x8c\x02osK\x01\x93u.", "name that is no text"),
    "a call of a number": (b"\x80\x02}(K\x00K\x07)Ru.", "got a call of int"),
    "a call with a number": (b"\x80\x02}(K\x00cbuiltins\nbytearray\nK\x07Ru.", "got a call of _Name"),
    "an object of a number": (b"\x80\x02}(K\x00K\x07)\x81u.", "object made of arguments"),
    "an object of arguments": (b"\x80\x02}(K\x00" + SGD + b"K\x01\x85\x81u.", "object made of arguments"),
    "content that is no dict": (b"\x80\x02}" + SGD + b")\x81K\x05b\x86.", "got int as the content of a SGD"),
    "a name for what is stored elsewhere": (
        b"\x80\x02}" + SGD + b")\x81}Qu\x86.",
        "the operation BINPERSID is not one",
    ),
    "a number of a registry": (b"\x80\x02}(K\x00\x82\x01u.", "the operation EXT1 is not one"),
    "a setting that is no text": (b"\x80\x02}" + SGD + b")\x81}K\x01K\x05sb\x86.", "got 1 among the settings of SGD"),
    "an array of a text": (
        b"\x80\x02}(K\x00cmxnet.ndarray.ndarray\nNDArray\nN\x85R}X\x06\x00\x00\x00handleX\x01\x00\x00\x00asbu.",
        "an array of str, wanted bytes",
    ),
    "an array of no shape": (
        b"\x80\x02}(K\x00cmxnet.ndarray.ndarray\nNDArray\nN\x85R}X\x06\x00\x00\x00handle"
        b"cbuiltins\nbytearray\nX\x10\x00\x00\x00"
        + b"\xc9\xfa\x93\xf9\0\0\0\0\0\0\0\0".decode("latin-1").encode()
        + b"\x85Rsbu.",
        "an array that was never given a shape",
    ),
    "another dtype": (b"\x80\x02}(K\x00cnumpy\ndtype\nX\x02\x00\x00\x00c8\x85Ru.", "they call numpy.dtype"),
    "a number of no dtype": (
        b"\x80\x02}(K\x00cnumpy.core.multiarray\nscalar\nK\x01C\x04abcd\x86Ru.",
        "got a number of the type int",
    ),
    "another function of numpy": (
        b"\x80\x02}(K\x00cnumpy.core.multiarray\n_reconstruct\n)Ru.",
        "_reconstruct, which is not done",
    ),
    "another scalar": (b"\x80\x02}(K\x00cnumpy.other\nscalar\n)Ru.", "numpy.other.scalar, which is not done"),
    "an array of another package": (b"\x80\x02}(K\x00cmxnet.other\nNDArray\nN\x85Ru.", "they call mxnet.other.NDArray"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why(name: str) -> None:
    data, why = REFUSED[name]
    with pytest.raises(FormatError, match="optimizer states: .*" + why):
        files.load(data)
