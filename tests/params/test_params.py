"""`.params` files: what real MXNet versions wrote, round trips, and files that are cut, damaged or something else."""

import builtins
import gzip
import io
import json
import os
import re
import struct
import tarfile
import threading
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hybrid.core.attrs import (
    DTYPE_FLAGS,
    MXNET_DTYPES,
    OWN_DTYPES,
    DTypeKind,
    declare_dtype,
    declared_dtype,
    dtype,
    dtype_flag,
)
from hybrid.core.error import FormatError, MXNetError
from hybrid.formats import params
from hybrid.formats.params import CSR, RowSparse, load, save, split

FIXTURES = Path(__file__).parents[2] / "fixtures"
FOLDERS = sorted(FIXTURES.glob("params/*/"))
EVERY = sorted([*FIXTURES.glob("params/*/*.params"), *FIXTURES.glob("json/*/*.params")])
LATEST = FIXTURES / "params" / "1.9.1"
GENERATION = {"0.9.5": 0, "0.10.0": 0, "0.11.0": 0xF993FAC8, "2.0.0b1": 0xF993FACA}


def label(path: Path) -> str:
    return "/".join(path.parts[-3:])


def named(loaded):
    return loaded if isinstance(loaded, dict) else {str(index): array for index, array in enumerate(loaded)}


def dense(array):
    return array.todense() if isinstance(array, (RowSparse, CSR)) else array


def encoded(data) -> bytes:
    target = io.BytesIO()
    save(target, data)
    return target.getvalue()


# what MXNet wrote


def test_fixtures_exist_for_every_generation():
    versions = ["0.9.5", "0.10.0", "0.11.0", "0.12.1", "1.0.0", "1.2.1", "1.5.1", "1.9.1", "2.0.0b1"]
    assert [folder.name for folder in FOLDERS] == sorted(versions)
    assert len(EVERY) > 80


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_reads_what_each_version_wrote(folder):
    expected = np.load(folder / "expected.npz")
    assert expected.files
    for key in expected.files:
        file, name = key.split("/", 1)
        array = named(load(folder / f"{file}.params"))[name]
        if name == "bfloat16":
            array = array.astype(np.float32)
        np.testing.assert_array_equal(dense(array), expected[key], strict=True)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_version_wrote_the_generation_it_is_known_for(folder):
    magic = struct.unpack_from("<I", (folder / "list.params").read_bytes(), 24)[0]
    assert magic == GENERATION.get(folder.name, 0xF993FAC9) or (magic == 1 and GENERATION[folder.name] == 0)


def test_none_arrays_are_none():
    for version in ("0.9.5", "0.10.0", "0.11.0"):
        loaded = load(FIXTURES / "params" / version / "none.params")
        assert loaded["nothing"] is None
        assert loaded["z"].shape == (2, 3)


def writes_v2(path: Path) -> bool:
    return path.parent.name in {"0.12.1", "1.0.0", "1.2.1", "1.5.1", "1.9.1"} and path.stem != "zero_v2"


@pytest.mark.parametrize("path", [path for path in EVERY if writes_v2(path)], ids=label)
def test_writes_the_bytes_of_1_9_1_and_those_before_it(path):
    assert encoded(load(path)) == path.read_bytes()


@pytest.mark.parametrize("path", EVERY, ids=label)
def test_everything_MXNet_wrote_survives_a_rewrite(path):  # noqa: N802
    first = load(path)
    given = named(first)
    if any(array is None for array in given.values()):
        with pytest.raises(TypeError, match="NoneType"):
            save(io.BytesIO(), first)
        given = {name: array for name, array in given.items() if array is not None}
    again = named(load(encoded(given)))
    if given:
        assert list(again) == list(given)
    for name, array in given.items():
        np.testing.assert_array_equal(dense(again[name]), dense(array), strict=True)


def test_mxnet_2_writes_npz_under_the_name_params():
    path = FIXTURES / "json" / "2.0.0b1" / "gluon-0000.params"
    loaded = load(path)
    with np.load(path) as expected:
        assert list(loaded) == expected.files
        for name in expected.files:
            np.testing.assert_array_equal(loaded[name], expected[name], strict=True)
            assert not loaded[name].flags.writeable


def test_npz_layouts():
    arrays = {"i": np.arange(3, dtype=">i2"), "b": np.array([True, False]), "s": np.float32(2).reshape(())}
    arrays |= {"f": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "e": np.zeros((0, 3))}
    loaded = load(packed(np.savez, **arrays))
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array, strict=True)
        assert loaded[name].flags.aligned


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npz_with_headers_of_every_version(version):
    array, member, whole = np.arange(6.0).reshape(2, 3), io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(member, array, version)
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("x.npy", member.getvalue())
    np.testing.assert_array_equal(load(whole.getvalue())["x"], array, strict=True)


# round trips

NAMES = st.text(st.characters(codec="utf-8"), max_size=12)
DTYPES = st.sampled_from([dtype(name) for name in DTYPE_FLAGS if dtype(name).isbuiltin == 1 and name != "object"])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))


@given(st.dictionaries(NAMES, ARRAYS, min_size=1, max_size=4))
def test_round_trip_named(data):
    again = load(encoded(data))
    assert list(again) == list(data)
    for name, array in data.items():
        np.testing.assert_array_equal(again[name], array, strict=True)
        assert again[name].flags.aligned
        assert not again[name].flags.writeable
    assert encoded(again) == encoded(data)


@given(st.lists(ARRAYS, max_size=4))
def test_round_trip_list(data):
    again = load(encoded(data))
    assert isinstance(again, list)
    assert len(again) == len(data)
    for one, other in zip(again, data, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


@st.composite
def sparse(draw):
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    dtype = draw(st.sampled_from(["f4", "f8", "i4"]))
    full = draw(hnp.arrays(dtype, (rows, columns), elements=st.integers(0, 2)))
    if draw(st.booleans()):
        index = np.flatnonzero(full.any(axis=1))
        return full, RowSparse(full[index], index, full.shape)
    at = np.nonzero(full)
    return full, CSR(full[at], np.concatenate([[0], np.cumsum((full != 0).sum(axis=1))]), at[1], full.shape)


@given(sparse())
def test_round_trip_sparse(case):
    full, array = case
    np.testing.assert_array_equal(array.todense(), full, strict=True)
    again = load(encoded({"x": array}))["x"]
    assert type(again) is type(array)
    np.testing.assert_array_equal(again.todense(), full, strict=True)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_what_only_v3_can_say_is_written_so(shape):
    """All of a file, as MXNet does: a size of 0 in V2 is one that nobody knows."""
    content = encoded({"x": np.zeros(shape, np.float32), "y": np.zeros(1, np.float32)})
    assert content[24:28] == struct.pack("<I", 0xF993FACA)
    assert struct.pack("<I", 0xF993FAC9) not in content


def test_one_array_layouts_and_byte_orders():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    for given_ in (array, np.asfortranarray(array), array.astype(">f4"), np.repeat(array, 2, axis=1)[:, ::2]):
        assert encoded(given_) == encoded([array])
    np.testing.assert_array_equal(load(encoded(array))[0], array, strict=True)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1, -2.5, 1e30], ml_dtypes.bfloat16)
    np.testing.assert_array_equal(load(encoded([array]))[0], array, strict=True)


def test_bfloat16_without_ml_dtypes_is_a_clear_error(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "ml_dtypes":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(FormatError, match=r"array 0 of 9, offset 60: .*pip install ml_dtypes"):
        load(LATEST / "dtypes.params")


def test_sources(tmp_path):
    path = LATEST / "dict.params"
    first = load(path)
    file = io.BytesIO(b"before" + path.read_bytes())
    file.seek(6)
    with open(path, "rb") as opened:
        for source in (str(path), path.read_bytes(), bytearray(path.read_bytes()), file, opened):
            again = load(source)
            assert list(again) == list(first)
            np.testing.assert_array_equal(again["arg:w"], first["arg:w"])
    assert list(load(path, mmap=False)) == list(first)
    with pytest.raises(TypeError, match="binary mode"), open(FIXTURES / "README.md", encoding="utf-8") as text:
        load(text)
    with pytest.raises(TypeError, match="wanted a path"):
        load(3)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.params")


def test_split():
    arrays = dict.fromkeys(["arg:w", "aux:m", "0.weight", "0.running_mean", "odd:name"])
    arguments, states = split(arrays, aux=["0.running_mean"])
    assert list(arguments) == ["w", "0.weight", "odd:name"]
    assert list(states) == ["m", "0.running_mean"]
    with pytest.raises(FormatError, match="two arrays are called 'w'"):
        split(dict.fromkeys(["arg:w", "w"]))
    with pytest.raises(FormatError, match="without names"):
        split([None])
    assert split(load(FIXTURES / "json" / "1.9.1" / "argmax-0000.params")) == ({}, {})


# dtypes that MXNet lacks

NARROW = {"int2": 3, "uint2": 3, "int4": 15, "uint4": 15, "float4_e2m1fn": 15, "float6_e2m3fn": 63, "float6_e3m2fn": 63}


def test_codes_are_those_of_mshadow_and_never_change():
    assert dict(zip(MXNET_DTYPES, range(13), strict=True)) == {name: dtype_flag(name) for name in MXNET_DTYPES}
    assert [DTYPE_FLAGS[name] for name in OWN_DTYPES] == list(range(64, 79))
    assert OWN_DTYPES[0] == "complex64"
    assert OWN_DTYPES[-1] == "object"
    with pytest.raises(ValueError, match="complex64 has no code in MXNet"):
        dtype_flag("complex64")


@pytest.mark.parametrize("name", DTYPE_FLAGS)
def test_names_of_dtypes_round_trip(name):
    kind = DTypeKind("dtype")
    assert kind.write(kind.read(name)) == name
    assert kind.read(kind.read(name)) == kind.read(name)
    assert declared_dtype(declare_dtype(name)) == name


def every_value(name: str) -> np.ndarray:
    """One of each of the values that a dtype of up to eight bits has, others as random bytes."""
    wanted = dtype(name)
    bits = NARROW.get(name, 255)
    rng = np.random.default_rng(0)
    raw = np.arange(bits + 1, dtype=np.uint8) if wanted.itemsize == 1 else rng.integers(0, 2, 64, np.uint8)
    return raw.view(wanted)


@pytest.mark.parametrize("name", [name for name in OWN_DTYPES if name != "object"])
def test_arrays_of_own_dtypes(name):
    array = every_value(name)
    for given_ in (array, array[:1].reshape(()), array[:0], array[::-2], array[:4].reshape(2, 2).T):
        again = load(encoded({"x": given_, "y": np.ones(3, np.int8)}))["x"]
        assert again.dtype == array.dtype
        assert again.shape == given_.shape
        assert again.tobytes() == given_.tobytes()
        assert again.flags.aligned
        assert not again.flags.writeable


@pytest.mark.parametrize("name", NARROW)
def test_narrow_dtypes_keep_to_their_bits(name):
    loose = np.array([0xF0 | 1, 0xFC, 3], np.uint8)  # what stands above the bits changes no value
    kept = load(encoded([loose.view(dtype(name))]))[0]
    assert kept.view(np.uint8).tolist() == (loose & NARROW[name]).tolist()
    bytes_ = listed(record(dtype=DTYPE_FLAGS[name], data=bytes([NARROW[name] + 1])))
    with pytest.raises(FormatError, match=f"a byte above {NARROW[name]} in an array of {name}"):
        load(bytes_)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)


@given(hnp.arrays(object, SHAPES, elements=TEXTS))
def test_arrays_of_strings(array):
    again = load(encoded({"s": array, "x": np.ones(2, np.float32)}))
    assert again["s"].dtype == object
    assert again["s"].shape == array.shape
    assert again["s"].ravel().tolist() == array.ravel().tolist()
    assert not again["s"].flags.writeable
    np.testing.assert_array_equal(again["x"], np.ones(2, np.float32))


def test_only_unicode_strings_are_written():
    for bad, message in (
        (np.array(["a", 3], object), "got int in an array of objects"),
        (np.array([b"a"], object), "got bytes in an array of objects"),
        (np.array(["\ud800"], object), "not Unicode"),
        (RowSparse(np.array(["a"], object), np.array([1]), (3,)), "strings in a sparse array"),
    ):
        with pytest.raises(FormatError, match=message):
            encoded({"x": bad})


def test_strings_cut_off_anywhere():
    whole = encoded({"s": np.array([["one", ""], ["zwölf", "水"]], object)})
    for size in range(len(whole)):
        with pytest.raises(FormatError, match=r"offset|an empty file|the first bytes"):
            load(whole[:size])


# speed and memory


def test_opening_half_a_gigabyte_is_a_matter_of_milliseconds(tmp_path):
    path, count = tmp_path / "big.params", 125_000_000
    head = struct.pack("<QQQIiIqiii", 0x112, 0, 1, 0xF993FAC9, 0, 1, count, 1, 0, 0)
    with open(path, "wb") as file:  # a hole: takes no disk
        file.write(head)
        file.seek(len(head) + 4 * count)
        file.write(struct.pack("<QQ", 1, 1) + b"x")
    tracemalloc.start()
    begin = time.perf_counter()
    array = load(path)["x"]
    took = time.perf_counter() - begin
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert array.shape == (count,)
    assert array[-1] == 0
    assert took < 0.1
    assert peak < 1 << 20


def test_float32_files_are_views_and_mixed_ones_are_still_aligned():
    raw = np.frombuffer(encoded({"a": np.ones(3, np.float32), "b": np.ones((2, 3), np.float32)}), np.uint8)
    loaded = load(raw.tobytes())
    assert all(array.base is not None for array in loaded.values())
    loaded = load(encoded({"a": np.ones(3, np.int8), "b": np.arange(5.0), "c": np.arange(3, dtype=np.float32)}))
    assert all(array.flags.aligned for array in loaded.values())
    np.testing.assert_array_equal(loaded["b"], np.arange(5.0))


# damage


@pytest.mark.parametrize("path", [p for p in EVERY if p.stat().st_size < 700 and p.stem != "empty"], ids=label)
def test_cut_off_anywhere_is_a_format_error(path):
    whole = path.read_bytes()
    for size in range(0, len(whole), 1 if path.parent == LATEST else 7):
        with pytest.raises(FormatError, match=r"offset|zip|an empty file|the first bytes"):
            load(whole[:size])


def test_a_cut_names_file_array_offset_got_and_wanted(tmp_path):
    path = tmp_path / "cut.params"
    path.write_bytes((LATEST / "dict.params").read_bytes()[:183])
    with pytest.raises(FormatError) as problem:
        load(path)
    text = str(problem.value)
    assert str(path) in text
    assert "array 2 of 3, offset 180: data float32[1, 2, 1] wants 8 bytes, got 3" in text
    assert "fetch it again" in text
    assert isinstance(problem.value, MXNetError)


def test_damage_anywhere_is_never_another_exception():
    """Every byte of files with all kinds of records, set to several values: read, or FormatError, never another."""
    npz = FIXTURES / "json" / "2.0.0b1" / "gluon-save_parameters.params"
    words = encoded({"s": np.array([["one", ""], ["zwölf", "水"]], object), "n": every_value("int2")})
    files = (LATEST / "dtypes.params", LATEST / "sparse.params", LATEST / "np_shape.params", npz)
    for whole in (*(path.read_bytes() for path in files), words):
        for at in range(len(whole)):
            for value in (0, 1, 0x7F, 0xFF):
                changed = bytearray(whole)
                changed[at] = value
                try:
                    load(bytes(changed))
                except FormatError as problem:
                    assert str(problem)


def record(*, magic=0xF993FAC9, storage=0, ndim=1, dims=(1,), dtype=0, data=b"\0" * 4) -> bytes:
    return struct.pack(f"<IiI{len(dims)}qiii", magic, storage, ndim, *dims, 1, 0, dtype) + data


def listed(*records: bytes, count=None, names=()) -> bytes:
    body = b"".join(records) + struct.pack("<Q", len(names))
    for name in names:
        body += struct.pack("<Q", len(name)) + name
    return struct.pack("<QQQ", 0x112, 0, len(records) if count is None else count) + body


ABSURD = {
    "arrays": (listed(count=2**60), "1152921504606846976 arrays promised"),
    "more arrays than fit": (listed(count=3), "3 arrays promised, but 8 bytes hold at most 2"),
    "ndim": (listed(record(ndim=10**6)), "got 1000000 dimensions"),
    "ndim in V0": (listed(struct.pack("<I", 77) + b"\0" * 400), "got record magic 0x4d"),
    "negative ndim in V3": (listed(record(magic=0xF993FACA, ndim=0xFFFFFFF0)), "got -16 dimensions"),
    "size": (listed(record(dims=(2**62,))), f"wants {2**64} bytes, got"),
    "product past 64 bits": (listed(record(ndim=2, dims=(2**40, 2**40))), f"wants {2**82} bytes"),
    "negative size": (listed(record(dims=(-5,))), r"got \(-5,\), wanted no negative size"),
    "zero-size past addressing": (listed(record(ndim=3, dims=(0, 2**62, 2**62), data=b"")), "got shape"),
    "dtype": (listed(record(dtype=99)), "got dtype flag 99"),
    "storage": (listed(record(storage=7)), "got storage type 7"),
    "sparse in V3": (listed(record(magic=0xF993FACA, storage=1)), "got storage type 1"),
    "magic": (listed(record(magic=0xF993FACB)), "got record magic 0xf993facb"),
    "bool byte": (listed(record(dtype=7, data=b"\2")), "a byte above 1 in an array of bool"),
    "strings": (
        listed(record(dtype=DTYPE_FLAGS["object"], dims=(2**40,))),
        f"lengths of strings .* wants {2**43} bytes",
    ),
    "length of a string": (
        listed(record(dtype=DTYPE_FLAGS["object"], data=struct.pack("<Q", 2**63))),
        f"text of strings .* wants {2**63} bytes",
    ),
    "lengths past 64 bits": (
        listed(record(dtype=DTYPE_FLAGS["object"], dims=(4,), data=struct.pack("<4Q", *[2**64 - 1] * 4))),
        f"text of strings .* wants {2**66 - 4} bytes",
    ),
    "string not UTF-8": (
        listed(record(dtype=DTYPE_FLAGS["object"], data=struct.pack("<Q", 1) + b"\xff")),
        "a string that is not UTF-8",
    ),
    "zero-size strings past addressing": (
        listed(record(dtype=DTYPE_FLAGS["object"], ndim=3, dims=(0, 2**62, 2**62), data=b"")),
        "got shape",
    ),
    "strings in a sparse array": (
        listed(
            struct.pack("<IiIqIqiiiiIq", 0xF993FAC9, 1, 1, 1, 1, 3, 1, 0, DTYPE_FLAGS["object"], 6, 1, 1) + bytes(16),
        ),
        "strings in a sparse array",
    ),
    "name count": (listed(record(), names=(b"a", b"b")), "got 2 names for 1 arrays"),
    "huge name count": (listed(record())[:-8] + struct.pack("<Q", 2**63), f"got {2**63} names promised"),
    "huge name": (listed(record())[:-8] + struct.pack("<QQ", 1, 2**62), f"text wants {2**62} bytes"),
    "twice": (listed(record(), record(), names=(b"a", b"a")), "got 'a' twice"),
    "not UTF-8": (listed(record(), names=(b"\xff",)), "not UTF-8"),
    "trailing bytes": (listed(record()) + b"more", "got 4 bytes after the last name"),
}


@pytest.mark.parametrize("case", ABSURD)
def test_absurd_claims_cost_no_memory(case):
    data, message = ABSURD[case]
    tracemalloc.start()
    with pytest.raises(FormatError, match=message):
        load(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_an_absurd_zip_directory_costs_no_memory():
    whole = bytearray(packed(np.savez, x=np.ones(3)))
    at = whole.rindex(b"PK\5\6")
    struct.pack_into("<I", whole, at + 12, 0xFFFFFFF0)  # size of the directory
    tracemalloc.start()
    with pytest.raises(FormatError, match="a damaged or cut zip"):
        load(bytes(whole))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_zip_members_that_overlap():
    whole = packed(np.savez, x=np.ones(300))
    at, end = whole.rindex(b"PK\1\2"), whole.rindex(b"PK\5\6")
    entry, tail = whole[at:end], bytearray(whole[end:])
    entries = entry + entry.replace(b"x.npy", b"y.npy")
    struct.pack_into("<HHI", tail, 8, 2, 2, len(entries))
    with pytest.raises(FormatError, match="members larger than"):
        load(whole[:at] + entries + bytes(tail))


def sparse_record(storage, stored, shape, parts, data) -> bytes:
    head = struct.pack(f"<IiI{len(stored)}q", 0xF993FAC9, storage, len(stored), *stored)
    head += struct.pack(f"<I{len(shape)}qiii", len(shape), *shape, 1, 0, 0)
    for part in parts:
        head += struct.pack("<iIq", 6, 1, len(part))
    return head + np.asarray(data, "<f4").tobytes() + b"".join(np.asarray(part, "<i8").tobytes() for part in parts)


@pytest.mark.parametrize(
    ("bytes_", "message"),
    [
        (sparse_record(1, (2, 2), (5, 2), [[1, 5]], [1, 2, 3, 4]), "row indices: got one outside, wanted 0 to 4"),
        (sparse_record(1, (2, 2), (5, 2), [[-1, 2]], [1, 2, 3, 4]), "row indices: got one outside"),
        (sparse_record(1, (2, 2), (5, 2), [[3, 3]], [1, 2, 3, 4]), "row indices: got one twice"),
        (sparse_record(1, (2, 2), (5, 2), [[3]], [1, 2, 3, 4]), "row data: got"),
        (sparse_record(2, (2,), (2, 3), [[0, 1, 2], [0, 3]], [1, 2]), "column indices: got one outside, wanted 0 to 2"),
        (sparse_record(2, (2,), (2, 3), [[0, 3, 2], [0, 1]], [1, 2]), "indptr: got other bounds"),
        (sparse_record(2, (2,), (2, 3), [[0, 2], [0, 1]], [1, 2]), "indptr: got"),
        (sparse_record(2, (2,), (6,), [[0, 2], [0, 1]], [1, 2]), "CSR shape"),
    ],
)
def test_sparse_parts_must_fit(bytes_, message):
    with pytest.raises(FormatError, match=message):
        load(listed(bytes_))


# other files


def zipped(**members: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), data)
    return target.getvalue()


def packed(write, *args, **kwargs) -> bytes:
    target = io.BytesIO()
    write(target, *args, **kwargs)
    return target.getvalue()


def tarred() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.params"), io.BytesIO(b""))
    return target.getvalue()


FOREIGN = {
    "empty": (b"", "an empty file"),
    "LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "git lfs pull"),
    "HTML": (b"\n<!DOCTYPE html><html>", "a web page"),
    "gzip": (gzip.compress(b"x"), "gunzip"),
    "tar": (tarred(), "a tar archive"),
    "zip that lists nothing": (b"PK\x03\x04" + zipped(), r"a zip file holding \[\]"),
    "start of a zip": (b"PK\x03\x04\x14", "a damaged or cut zip"),
    "zip": (zipped(a_dot_params=b""), r"a zip file holding \['a.params'\]"),
    "Torch": (zipped(archive__data_dot_pkl=b""), "a Torch file"),
    "old Torch": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "pickles are never opened"),
    "npy": (packed(np.save, np.ones(3)), "numpy.load"),
    "compressed npz": (packed(np.savez_compressed, x=np.ones(999)), "is compressed"),
    "npz of objects": (packed(np.savez, x=np.array([{}], object)), "wanted one as MXNet 2.0 writes"),
    "cut npz": (packed(np.savez, x=np.ones(3))[:-40], "a damaged or cut zip"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "HDF5"),
    "JSON": (json.dumps({"nodes": []}).encode(), "a JSON file"),
    "ONNX": (b"\x08\x07\x12\x07pytorch\x1a\x031.3", "an ONNX model"),
    "safetensors": (struct.pack("<Q", 60) + b'{"__metadata__":{}}', "safetensors"),
    "RecordIO": (struct.pack("<I", 0xCED7230A) + b"\0" * 9, "RecordIO"),
    "big-endian": (struct.pack(">QQQ", 0x112, 0, 0), "big-endian"),
    "magic cut": (b"\x12\x01", "the first bytes of a .params file"),
    "text": (b"hello", "an unknown kind of file starting with 68 65 6c 6c 6f"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_other_files_are_recognised(kind, tmp_path):
    data, message = FOREIGN[kind]
    path = tmp_path / "model.params"
    path.write_bytes(data)
    for source in (path, data, io.BytesIO(data)):
        with pytest.raises(FormatError, match=message) as problem:
            load(source)
        assert re.search("wanted (a|one) ", str(problem.value))
    with pytest.raises(FormatError, match=re.escape(str(path))):
        load(path)


def test_a_real_onnx_file_is_recognised():
    helper = pytest.importorskip("onnx").helper
    model = helper.make_model(helper.make_graph([], "empty", [], []))
    with pytest.raises(FormatError, match="an ONNX model"):
        load(model.SerializeToString())


# writing


def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "model.params"
    save(path, [np.ones(3, np.float32)])
    old = path.read_bytes()
    mapped = load(path)[0]
    for bad in (
        {"x": None},
        [np.array(["text"])],
        {3: np.ones(2)},
        [np.ones(2, np.dtype([("a", "f4")]))],
        ["x"],
        [[1, 2]],
        5,
    ):
        with pytest.raises((TypeError, FormatError)):
            save(path, bad)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError("disk full")))
        save(path, [np.zeros(9, np.float32)])
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["model.params"]
    save(path, [np.zeros(2, np.float32)])  # over a file that is mapped
    np.testing.assert_array_equal(mapped, np.ones(3))
    np.testing.assert_array_equal(load(path)[0], np.zeros(2))


def test_a_link_and_permissions_survive(tmp_path):
    path, link = tmp_path / "model.params", tmp_path / "link.params"
    path.write_bytes(b"")
    path.chmod(0o640)
    link.symlink_to(path)
    save(link, [np.ones(3)])
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert len(load(path)) == 1


def test_saving_what_was_loaded_over_itself(tmp_path):
    path = tmp_path / "model.params"
    path.write_bytes((LATEST / "dict.params").read_bytes())
    save(path, load(path))
    assert path.read_bytes() == (LATEST / "dict.params").read_bytes()


def test_sparse_and_scalar_cannot_share_a_file():
    rows = RowSparse(np.ones((1, 2), np.float32), np.array([1]), (3, 2))
    with pytest.raises(FormatError, match=r"array 'r' is sparse, .*use \.todense\(\)"):
        save(io.BytesIO(), {"r": rows, "s": np.float32(3).reshape(())})


@pytest.mark.parametrize("dims", [31, 32])
def test_arrays_have_up_to_as_many_dimensions_as_numpy(dims: int, tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, *[1] * (dims - 2), 3)
    save(tmp_path / "x.params", {"x": array})
    got = np.asarray(dict(load(tmp_path / "x.params"))["x"])
    np.testing.assert_array_equal(got, array, strict=True)


def test_how_far_claims_and_members_may_go():
    """A shape of -1 dimensions and sizes is none (V3), as many dimensions as NumPy has; one beyond is refused."""
    v3 = 0xF993FACA
    many = (1,) * params.MAX_NDIM
    for bytes_, want in (
        (record(magic=v3, ndim=2**32 - 1, dims=(), data=b""), None),
        (record(magic=v3, ndim=2, dims=(3, -1), data=b""), None),
        (record(magic=v3, ndim=1, dims=(-1,), data=b""), None),
        (record(magic=v3, ndim=0, dims=(), data=b"\0\0\x80?"), np.float32(1)),
        (record(ndim=0, dims=(), data=b""), None),
        (record(ndim=len(many), dims=many, data=b"\0\0\x80?"), np.ones(many, np.float32)),
    ):
        if want is None:  # such a record ends with its shape
            bytes_ = bytes_[: 12 + 8 * max(struct.unpack("<i", bytes_[8:12])[0], 0)]
        (got,) = params.load(listed(bytes_))
        assert got is None if want is None else (got.shape == want.shape and (got == want).all())
    for bytes_, message in (
        (record(magic=v3, ndim=2**32 - 2, dims=(), data=b""), "got -2 dimensions"),
        (record(magic=v3, ndim=2, dims=(3, -2), data=b""), "-2"),
        (record(magic=v3, ndim=2, dims=(-1, -2), data=b""), "-2"),
        (record(ndim=1, dims=(-1,), data=b""), "-1"),
        (record(ndim=params.MAX_NDIM + 1, dims=(1,) * (params.MAX_NDIM + 1)), f"got {params.MAX_NDIM + 1} dimensions"),
    ):
        with pytest.raises(FormatError, match=message):
            params.load(listed(bytes_))
    old = (
        struct.pack("<I", params.MAX_NDIM)
        + struct.pack(f"<{params.MAX_NDIM}I", *many)
        + struct.pack("<iii", 1, 0, 0)
        + b"\0\0\x80?"
    )
    assert params.load(listed(old))[0].shape == many
    with pytest.raises(FormatError, match="got record magic"):
        params.load(listed(struct.pack("<I", params.MAX_NDIM + 1) + old[4:]))


def test_more_dimensions_than_files_hold_are_refused() -> None:
    most = np.ones((1,) * params.MAX_NDIM, np.float32)
    try:
        more = most[None]
    except (IndexError, ValueError):  # NumPy before 2 has no more itself
        return
    with pytest.raises(FormatError, match=f"wanted .*up to {params.MAX_NDIM}-d"):
        params.encode_list({"a": more})
    ((_, got),) = params.load(b"".join(params.encode_list({"a": most}))).items()
    assert got.shape == most.shape


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = (LATEST / "dict.params").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    got = load(pipe)
    writer.join()
    for name, array in load(content).items():
        np.testing.assert_array_equal(got[name], array)


def test_memory_of_views_of_mapped_files_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each file once; arrays that lie elsewhere are left alone."""
    released = []

    class Spy(params.map_file):
        def madvise(self, advice: int, *rest: int) -> None:
            released.append(len(self))
            super().madvise(advice, *rest)

    monkeypatch.setattr(params, "map_file", Spy)
    sizes, arrays = [], []
    for count in (10_000, 20_000):
        path = tmp_path / f"{count}.params"
        save(path, {"x": np.arange(count, dtype=np.float32), "y": np.ones(3, np.float32)})
        sizes.append(path.stat().st_size)
        arrays += load(path).values()
    params.release([np.ones(3), None, 3])
    assert not released
    params.release([np.ones(3), arrays[0][5:][::2], arrays[1], arrays[2].reshape(100, -1)[3]])
    assert released == sizes
    assert [a.sum() for a in arrays] == [np.arange(10_000).sum(), 3, np.arange(20_000, dtype=np.float32).sum(), 3]


def test_what_cannot_be_written_says_why():
    rows = params.RowSparse(np.ones((1, 2)), np.array([1]), (3, 2))
    empty = params.RowSparse(np.ones((0, 2)), np.zeros(0, np.int64), (0, 2))

    class Half:
        dtype = np.dtype("float32")

    for data, error, message in (
        ([np.float32(1), rows], FormatError, "is sparse, and it or another"),
        ([empty], FormatError, "number 0 is sparse, and it or another"),
        ({"a": 3}, TypeError, "'a': got int"),
        ({"a": Half()}, TypeError, "'a': got Half"),
        ({"a": np.zeros(2, "M8[D]")}, FormatError, r"got datetime64\[D\]\[2\], wanted"),
        ({3: np.ones(2)}, TypeError, "got the name 3"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            params.encode_list(data)
    for make, message in (
        (lambda: params.RowSparse(np.ones(()), np.zeros(0, np.int64), ()), "at least one dimension"),
        (lambda: params.CSR(np.ones((1, 1)), np.array([0, 1]), np.array([[0]]), (1, 2)), "CSR data"),
        (lambda: params.CSR(np.ones(1), np.array([0, 1]), np.array([0.0]), (1, 2)), "integers"),
        (lambda: params.CSR(np.ones(1), np.array([0.0, 1]), np.array([0]), (1, 2)), "integers"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


def test_names_and_states_of_every_form():
    """aux: and arg: by their prefix; other prefixes belong to the name; names that are known to be states."""
    one, two, three, four = (np.full(1, i) for i in range(4))
    found = split({"arg:w": one, "aux:m": two, "other:x": three, "v": four}, ["v", "w"])
    assert found == ({"w": one, "other:x": three}, {"m": two, "v": four})


def test_npz_members_twice_and_of_other_kinds():
    plain = packed(np.savez, a=np.arange(3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            body = zipfile.ZipFile(io.BytesIO(plain)).read("a.npy")
            archive.writestr("a.npy", body)
            archive.writestr("a.npy", body)
    with pytest.raises(FormatError, match="got 'a' twice"):
        params.load(out.getvalue())
    for members, message in (
        ({"a.npy": body, "archive/data.pkl": b"x"}, "Torch"), ({"a.npy": body, "b.txt": b"x"}, "a zip file holding"),
    ):  # fmt: skip
        with pytest.raises(FormatError, match=message):
            params.load(zipped(**members))
    marked = bytearray(plain)
    at = marked.rindex(b"PK\x01\x02")
    marked[at + 8] |= 1  # encrypted
    with pytest.raises(FormatError, match="compressed or encrypted"):
        params.load(bytes(marked))
    (exact,) = params.load(zipped(**{"a.npy": body})).values()  # a member may be all of the bytes but its headers
    assert exact.tolist() == [0, 1, 2]
