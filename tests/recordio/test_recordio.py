"""Record files: MXNet's own, written back byte for byte, and everything that can be wrong with one."""

import copy
import gc
import io
import os
import pickle
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid import recordio
from hybrid.core.error import FormatError, MXNetError

FIXTURES = Path(__file__).parents[2] / "fixtures/recordio"
MAGIC = struct.pack("<I", 0xCED7230A)


def read_all(path: Path) -> list[bytes]:
    reader = recordio.MXRecordIO(path, "r")
    records = list(iter(reader.read, None))
    reader.close()
    return records


def write_all(path: Path, records: list[bytes]) -> bytes:
    writer = recordio.MXRecordIO(path, "w")
    for record in records:
        writer.write(record)
    writer.close()
    return path.read_bytes()


def test_mxnets_file_is_read_and_written_back_byte_for_byte(tmp_path: Path) -> None:
    records = read_all(FIXTURES / "plain.rec")
    assert records[:5] == [b"", b"a", b"abcd", MAGIC, MAGIC + MAGIC]
    assert records[8] == b"abcd" + MAGIC + b"efgh" + MAGIC + MAGIC + b"z"
    assert len(records) == 10
    assert write_all(tmp_path / "again.rec", records) == (FIXTURES / "plain.rec").read_bytes()


def test_mxnets_index_is_read_and_written_back(tmp_path: Path) -> None:
    reader = recordio.MXIndexedRecordIO(FIXTURES / "indexed.idx", FIXTURES / "indexed.rec", "r")
    assert reader.keys == [3, 1, 2]
    assert [reader.read_idx(k) for k in (1, 2, 3)] == [b"record 1", b"record 2", b"record 3"]
    assert reader.read() == b"record 1"  # what stands after record 3
    writer = recordio.MXIndexedRecordIO(tmp_path / "i.idx", tmp_path / "i.rec", "w")
    for key in reader.keys:
        assert writer.tell() == reader.idx[key]
        writer.write_idx(key, reader.read_idx(key))
    writer.close()
    assert (writer.keys, writer.idx) == (reader.keys, reader.idx)
    for name in ("idx", "rec"):
        assert (tmp_path / f"i.{name}").read_bytes() == (FIXTURES / f"indexed.{name}").read_bytes()


@given(
    st.lists(
        st.lists(st.one_of(st.just(MAGIC), st.binary(max_size=9), st.just(MAGIC[:3]))).map(b"".join),
        max_size=5,
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, records: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("rec") / "x.rec"
    assert write_all(path, records).count(MAGIC) >= len(records)
    assert read_all(path) == records


def test_reset_starts_again() -> None:
    reader = recordio.MXRecordIO(FIXTURES / "plain.rec", "r")
    first = [reader.read() for _ in range(3)]
    reader.reset()
    assert [reader.read() for _ in range(3)] == first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"garbage garbage!", "must start with 0a23d7ce"),
        (MAGIC, "cut off in the header"),
        (MAGIC + struct.pack("<I", 5) + b"abcde", "cut off: a record of 5 bytes"),
        (MAGIC + struct.pack("<I", (1 << 29) - 1), "cut off: a record of 536870911 bytes"),
        (MAGIC + struct.pack("<I", 2 << 29 | 4) + b"abcd", "out of order"),
        (MAGIC + struct.pack("<I", 1 << 29 | 4) + b"abcd", "cut off in the header"),
        ((MAGIC + struct.pack("<I", 1 << 29 | 4) + b"abcd") * 2, "out of order"),
        (MAGIC + struct.pack("<I", 7 << 29 | 4) + b"abcd", "out of order"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.rec").write_bytes(content)
    reader = recordio.MXRecordIO(tmp_path / "x.rec", "r")
    with pytest.raises(FormatError, match=f"Invalid RecordIO File.*x.rec.*at byte.*{message}"):
        list(iter(reader.read, None))


def test_misuse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Invalid flag x"):
        recordio.MXRecordIO(tmp_path / "a", "x")
    with pytest.raises(MXNetError, match=r"cannot open the record file .*nope.*No such file"):
        recordio.MXRecordIO(tmp_path / "nope", "r")
    writer = recordio.MXRecordIO(tmp_path / "w.rec", "w")
    with pytest.raises(TypeError, match="must be bytes"):
        writer.write("text")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="opened for writing"):
        writer.read()
    with pytest.raises(MXNetError, match="close it first"):
        pickle.dumps(writer)
    writer.close()
    writer.close()
    with pytest.raises(RuntimeError, match=r"closed; call reset"):
        writer.write(b"x")
    reader = recordio.MXRecordIO(FIXTURES / "plain.rec", "r")
    with pytest.raises(AssertionError, match="opened for reading"):
        reader.write(b"x")
    indexed = recordio.MXIndexedRecordIO(FIXTURES / "indexed.idx", FIXTURES / "indexed.rec", "r")
    with pytest.raises(KeyError, match="99"):
        indexed.read_idx(99)
    with pytest.raises(AssertionError):
        indexed.tell()


def test_broken_indices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        recordio.MXIndexedRecordIO(tmp_path / "nope.idx", FIXTURES / "indexed.rec", "r")
    (tmp_path / "x.idx").write_text("1\t0\nnonsense\n")
    with pytest.raises(FormatError, match="line 2: got 'nonsense"):
        recordio.MXIndexedRecordIO(tmp_path / "x.idx", FIXTURES / "indexed.rec", "r")
    (tmp_path / "x.idx").write_text("1\t1000000\n2\t4\n")
    reader = recordio.MXIndexedRecordIO(tmp_path / "x.idx", FIXTURES / "indexed.rec", "r")
    with pytest.raises(FormatError, match="do not belong together"):
        reader.read_idx(1)
    with pytest.raises(FormatError, match="at byte 4"):
        reader.read_idx(2)


def test_a_copy_reads_for_itself() -> None:
    reader = recordio.MXIndexedRecordIO(FIXTURES / "indexed.idx", FIXTURES / "indexed.rec", "r")
    for other in (pickle.loads(pickle.dumps(reader)), copy.copy(reader)):
        assert other.keys == reader.keys
        assert other.read_idx(2) == b"record 2"
    assert reader.read_idx(1) == b"record 1"  # still open
    reader.close()
    closed = pickle.loads(pickle.dumps(reader))
    assert not closed.is_open
    assert closed.read_idx(3) == b"record 3"


def test_threads_read_at_once() -> None:
    reader = recordio.MXIndexedRecordIO(FIXTURES / "indexed.idx", FIXTURES / "indexed.rec", "r")
    wrong: list[object] = []

    def read(key: int) -> None:
        wrong.extend(got for _ in range(200) if (got := reader.read_idx(key)) != b"record %d" % key)

    threads = [threading.Thread(target=read, args=(k,)) for k in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_process_opens_the_file_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = recordio.MXRecordIO(FIXTURES / "plain.rec", "r")
    indexed = recordio.MXIndexedRecordIO(FIXTURES / "indexed.idx", FIXTURES / "indexed.rec", "r")
    file = indexed._file
    monkeypatch.setattr(os, "getpid", lambda: -1)  # what a child sees
    with pytest.raises(RuntimeError, match="Forbidden operation in multiple processes"):
        plain.read()
    assert indexed.read_idx(1) == b"record 1"
    assert indexed._file is not file


def test_headers_and_labels() -> None:
    packed = recordio.pack(recordio.IRHeader(0, [1, 2, 3], 7, 0), b"zz")
    assert packed[:4] == b"\3\0\0\0"
    header, rest = recordio.unpack(packed)
    assert repr(header) == "HEADER(flag=3, label=array([1., 2., 3.], dtype=float32), id=7, id2=0)"
    assert rest == b"zz"
    header, rest = recordio.unpack(recordio.pack(recordio.IRHeader(0, [4], 7, 0), b"zz"))  # a list of one label
    assert (header.flag, header.label.tolist(), rest) == (1, [4], b"zz")
    assert recordio.unpack(recordio.pack((3, np.float64(2.5), 5, 1), b"q")) == ((0, 2.5, 5, 1), b"q")
    for short in (packed[:20], packed[:30]):
        with pytest.raises(FormatError, match="packed record"):
            recordio.unpack(short)


def test_mxnets_packed_images() -> None:
    pytest.importorskip("PIL")
    expected = np.load(FIXTURES / "expected.npz")
    reader = recordio.MXIndexedRecordIO(FIXTURES / "packed.idx", FIXTURES / "packed.rec", "r")
    for key in reader.keys:
        header, image = recordio.unpack_img(reader.read_idx(key) or b"")
        assert (image[:, :, ::-1] == expected[f"image/{key}"]).all()  # blue first
        assert np.array_equal(header.label, expected[f"label/{key}"])
        assert header.id == 100 + key


@pytest.mark.parametrize(("extension", "difference"), [(".png", 0), (".jpg", 12), (".bmp", 0)])
def test_images_are_packed_and_unpacked(extension: str, difference: int) -> None:
    pytest.importorskip("PIL")
    y, x = np.mgrid[0:16, 0:24]
    image = np.stack([x * 5, y * 7, x + y], axis=2).astype(np.uint8)
    quality = 9 if extension == ".png" else 95
    for array in (image, image[:, :, 0]):
        record = recordio.pack_img(recordio.IRHeader(0, 2.0, 1, 0), array, quality, extension)
        header, back = recordio.unpack_img(record)
        assert header.label == 2
        assert back.shape == array.shape
        assert np.abs(back.astype(int) - array).max() <= difference
    assert recordio.unpack_img(record, iscolor=1)[1].shape == (16, 24, 3)
    with pytest.raises(FormatError, match="cannot decode an image of 3 bytes"):
        recordio.unpack_img(recordio.pack((0, 1.0, 0, 0), b"abc"))
    with pytest.raises(FormatError, match="image of 0 bytes"):
        recordio.unpack_img(recordio.pack((0, 1.0, 0, 0), b""))
    with pytest.raises(MXNetError, match=r"cannot encode images as '\.xyz'"):
        recordio.pack_img((0, 1.0, 0, 0), image, img_fmt=".xyz")


def test_limits_of_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest record, a place that is none, keys that would break the index, labels of exactly their bytes."""
    monkeypatch.setattr(recordio, "LENGTH_BITS", 4)
    writer = recordio.MXRecordIO(tmp_path / "a.rec", "w")
    writer.write(b"x" * 15)
    with pytest.raises(MXNetError, match="a record of 16 bytes is too long"):
        writer.write(b"x" * 16)
    monkeypatch.undo()
    writer.reset()
    writer.write(b"one")
    writer.close()
    reader = recordio.MXRecordIO(tmp_path / "a.rec", "r")
    assert reader.read_at(0) == b"one" and reader.read_at(12) is None
    for place in (-1, 13):
        with pytest.raises(FormatError, match="has no record: it has 12 bytes"):
            reader.read_at(place)
    named = recordio.MXIndexedRecordIO(tmp_path / "n.idx", tmp_path / "n.rec", "w", key_type=str)
    for key in ("a\tb", "a\nb", "a\rb"):
        with pytest.raises(MXNetError, match="without tabs and line ends"):
            named.write_idx(key, b"x")
    named.write_idx("a b", b"x")
    named.close()
    assert (tmp_path / "n.idx").read_text() == "a b\t0\n"
    again = recordio.MXIndexedRecordIO(tmp_path / "n.idx", tmp_path / "n.rec", "r", key_type=str)
    assert again.read_idx("a b") == b"x"
    header = struct.pack("<IfQQ", 2, 0.0, 7, 8)
    found, rest = recordio.unpack(header + np.array([1.5, 2.5], "<f4").tobytes())
    assert found.label.tolist() == [1.5, 2.5] and (found.id, found.id2, rest) == (7, 8, b"")
    with pytest.raises(FormatError, match="2 labels, but only 7 bytes"):
        recordio.unpack(header + b"\0" * 7)
    with pytest.raises(MXNetError, match=r"cannot open the record file .*none"):
        recordio.MXRecordIO(tmp_path / "none" / "a.rec", "w")
    with pytest.raises(MXNetError, match=r"cannot open the record file .*is a folder"):
        recordio.MXRecordIO(tmp_path, "w")
    with pytest.raises(MXNetError, match=r"cannot open the record file .*Is a directory"):
        recordio.MXRecordIO(tmp_path, "r")


def test_copies_of_closed_files_and_two_channels(tmp_path: Path) -> None:
    writer = recordio.MXRecordIO(tmp_path / "a.rec", "w")
    writer.write(b"one")
    writer.close()
    copied = pickle.loads(pickle.dumps(writer))
    assert not copied.is_open and copied.uri == writer.uri
    reader = recordio.MXRecordIO(tmp_path / "a.rec", "r")
    assert pickle.loads(pickle.dumps(reader)).read() == b"one"
    reader.close()
    assert not pickle.loads(pickle.dumps(reader)).is_open
    pytest.importorskip("PIL")
    gray = np.arange(6, dtype=np.uint8).reshape(2, 3) * 40
    for picture in (
        gray,
        gray[..., None],
        np.stack([gray, gray + 1, gray + 2], -1),
        np.stack([gray, gray, gray + 1, gray + 2], -1),
    ):
        _, got = recordio.unpack_img(recordio.pack_img((0, 3.0, 1, 0), picture, 9, ".png"), -1)
        np.testing.assert_array_equal(got, picture[..., 0] if picture.shape[2:] == (1,) else picture)
    from PIL import Image

    _, packed = recordio.unpack(recordio.pack_img((0, 3.0, 1, 0), picture, 9, ".png"))
    # blue comes first in memory, opacity last in the file as well
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(packed))), picture[..., [2, 1, 0, 3]])


def test_a_fork_publishes_nothing(tmp_path: Path) -> None:
    """Records that the parent wrote appear when the parent closes it."""
    writer = recordio.MXRecordIO(tmp_path / "a.rec", "w")
    writer.write(b"one")
    child = os.fork()
    if not child:
        try:
            writer.close()
            os._exit(1 if (tmp_path / "a.rec").exists() else 0)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    writer.close()
    assert read_all(tmp_path / "a.rec") == [b"one"]


def test_a_writer_that_nobody_closes_is_published_when_it_is_gone(tmp_path: Path) -> None:
    gc.freeze()  # what other tests have left is not looked at
    writer = recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    writer.write(b"one")
    assert not (tmp_path / "a.rec").exists()
    del writer
    gc.collect()
    assert read_all(tmp_path / "a.rec") == [b"one"]
    indexed = recordio.MXIndexedRecordIO(str(tmp_path / "b.idx"), str(tmp_path / "b.rec"), "w")
    indexed.write_idx(3, b"three")
    indexed.write_idx(1, b"one")
    del indexed
    gc.collect()
    reader = recordio.MXIndexedRecordIO(str(tmp_path / "b.idx"), str(tmp_path / "b.rec"), "r")
    assert reader.keys == [3, 1] and [reader.read_idx(k) for k in (1, 3)] == [b"one", b"three"]
