"""Refusals of iterators, their printed forms, and mistakes of MXNet."""

import copy
import pickle
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import io, nd
from hybrid.core.error import FormatError, MXNetError
from hybrid.io import colors

DATA = np.arange(20, dtype=np.float32).reshape(10, 2)
FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_descriptions() -> None:
    desc = io.DataDesc("x", (1, 2))
    assert repr(desc) == "DataDesc[x,(1, 2),<class 'numpy.float32'>,NCHW]"
    assert tuple(desc) == ("x", (1, 2))
    assert desc == io.DataDesc("x", (1, 2), "int8")
    assert [io.DataDesc.get_batch_axis(x) for x in ("TNC", None, "TC")] == [1, 0, -1]
    assert repr(io.DataDesc.get_list([("a", (1,))], [("a", "int8")])) == "[DataDesc[a,(1,),int8,NCHW]]"
    assert repr(io.DataDesc.get_list([("a", (1,))], None)) == "[DataDesc[a,(1,),<class 'numpy.float32'>,NCHW]]"


def test_batches_print_their_shapes() -> None:
    iterator = io.NDArrayIter([DATA, DATA], None, 5)
    assert [d.name for d in iterator.provide_data] == ["_0_data", "_1_data"]
    assert iterator.provide_label == []
    assert str(next(iterator)) == "DataBatch: data shapes: [(5, 2), (5, 2)] label shapes: None"
    with pytest.raises(AssertionError, match="Data must be list of NDArrays"):
        io.DataBatch(DATA)


def test_descriptions_of_ndarray_iter() -> None:
    iterator = io.NDArrayIter({"b": DATA, "a": nd.array(DATA, dtype="int32")}, {"l": np.arange(10)}, 5)
    assert [(d.name, d.shape, d.dtype) for d in iterator.provide_data] == [
        ("a", (5, 2), np.int32),
        ("b", (5, 2), np.float32),
    ]
    assert [(d.name, d.shape, d.dtype) for d in iterator.provide_label] == [("l", (5,), np.float32)]


def test_shuffling_keeps_dtypes() -> None:
    """MXNet makes float32 of everything that it shuffles."""
    iterator = io.NDArrayIter(nd.array(DATA, dtype="float16"), nd.arange(10, dtype="int32"), 5, shuffle=True)
    batch = next(iterator)
    assert (batch.data[0].dtype, batch.label[0].dtype) == (np.float16, np.int32)
    assert (batch.data[0].asnumpy()[:, 0] == 2 * batch.label[0].asnumpy()).all()


def test_the_batch_axis_may_be_another() -> None:
    """MXNet counts examples along the first axis whatever the layout, and drops half of these."""
    values = np.arange(24, dtype=np.float32).reshape(3, 8)
    iterator = io.NDArrayIter(values, np.arange(8), 4, layout="TN")
    assert iterator.provide_data[0].shape == (3, 4)
    got = np.concatenate([b.data[0].asnumpy() for b in iterator], axis=1)
    assert (got == values).all()


def test_batches_are_copies() -> None:
    array = nd.array(DATA)
    batch = next(io.NDArrayIter(array, None, 5))
    batch.data[0][:] = -1
    assert (array.asnumpy() == DATA).all()


def test_csr_data() -> None:
    csr = nd.array(DATA).tostype("csr")
    batches = list(io.NDArrayIter(csr, None, 4, last_batch_handle="discard"))
    assert [b.data[0].asnumpy()[0, 0] for b in batches] == [0, 8]
    with pytest.raises(NotImplementedError, match="only supports ``CSRNDArray``"):
        io.NDArrayIter(csr, None, 4)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("x",), {}, TypeError, "Input must be NDArray"),
        (({"a": "x"},), {}, TypeError, "Invalid type '<class 'str'>' for a"),
        ((None,), {}, AssertionError, "needs data"),
        (([],), {}, AssertionError, "needs data"),
        ((DATA, np.arange(5), 4), {}, ValueError, "softmax_label has 5 examples, data has 10"),
        ((DATA,), {"last_batch_handle": "zz"}, ValueError, "last_batch_handle='zz'"),
    ],
)
def test_ndarray_iter_refuses(arguments: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        io.NDArrayIter(*arguments, **options)


@pytest.mark.parametrize("shuffle", [False, True])
def test_what_the_first_array_has_no_examples_for_is_left_out(shuffle: bool) -> None:
    """As MXNet takes labels of which there are more."""
    labels = np.arange(100, 113)
    batches = list(io.NDArrayIter(DATA, labels, 5, shuffle=shuffle))
    rows = np.concatenate([b.data[0].asnumpy() for b in batches])
    seen = np.concatenate([b.label[0].asnumpy() for b in batches])
    assert len(batches) == 2 and sorted(seen.tolist()) == labels[:10].tolist()
    np.testing.assert_array_equal(rows, DATA[seen.astype(int) - 100])


def test_more_left_over_than_fills_a_batch() -> None:
    iterator = io.NDArrayIter(DATA, None, 25, last_batch_handle="roll_over")
    assert list(iterator) == []
    iterator.reset()
    with pytest.raises(ValueError, match="10 examples left over and all 10 do not fill a batch of 25"):
        next(iterator)
    twice = io.NDArrayIter(DATA, None, 20, last_batch_handle="roll_over")
    assert list(twice) == []
    twice.reset()
    np.testing.assert_array_equal(next(twice).data[0].asnumpy(), np.concatenate([DATA, DATA]))


class Failing(io.NDArrayIter):
    """Raises in its second batch."""

    def next(self) -> io.DataBatch:
        if self.cursor == 0:
            raise ZeroDivisionError("second batch")
        return super().next()


def test_prefetching_passes_errors_on() -> None:
    iterator = io.PrefetchingIter(Failing(DATA, None, 5))
    next(iterator)
    with pytest.raises(ZeroDivisionError, match="second batch"):
        next(iterator)
    iterator.reset()
    assert next(iterator).data[0].shape == (5, 2)


def test_prefetching_checks_that_iterators_go_together() -> None:
    iterator = io.PrefetchingIter([io.NDArrayIter(DATA, None, 5), io.NDArrayIter(DATA[:5], None, 5)])
    next(iterator)
    with pytest.raises(AssertionError, match="Number of entry mismatches"):
        next(iterator)


def test_prefetching_leaves_no_thread() -> None:
    """A thread lives as long as it reads a batch."""
    may_go_on = threading.Event()

    class Held(io.NDArrayIter):
        def next(self) -> Any:
            if self.cursor >= 0:
                may_go_on.wait(10)
            return super().next()

    before = threading.enumerate()  # other tests may have iterators that are still alive
    iterator = io.PrefetchingIter(Held(DATA, None, 5))
    next(iterator)
    own = [t for t in threading.enumerate() if t not in before and t.name.startswith("PrefetchingIter")]
    assert len(own) == 1 and own[0].daemon
    del iterator
    may_go_on.set()
    for thread in own:
        thread.join(10)
    assert not any(t.is_alive() for t in own)


def test_csv_refuses(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("1,2\n3,4\n")
    good = {"data_csv": str(path), "data_shape": (2,), "batch_size": 1}
    for change, error, message in (
        ({"data_shape": (3,)}, FormatError, "x.csv, line 1: got 2 numbers, wanted 3"),
        ({"data_csv": str(tmp_path / "nope")}, MXNetError, "nope: No such file"),
        ({"dtype": "float16"}, MXNetError, "float16 is not supported"),
        ({"batch_size": 3}, MXNetError, "got 2 examples, wanted at least batch_size=3"),
        ({"batch_size": 0}, MXNetError, "batch_size=0"),
        ({"label_csv": str(FIXTURES / "data/label.csv")}, MXNetError, "2 rows of data, but 10 of labels"),
    ):
        with pytest.raises(error, match=message):
            io.CSVIter(**{**good, **change})
    with pytest.warns(UserWarning, match="CSVIter: Cannot find argument 'bla', 'foo'; ignored"):
        assert next(io.CSVIter(**good, bla=3, ctx="cpu", foo=1)).data[0].asnumpy().tolist() == [[1, 2]]
    given = {"prefetch_buffer": 2, "ctx": "cpu", "verbose": True, "preprocess_threads": 3, "dtype": "None"}
    assert next(io.CSVIter(**good, **given)).data[0].asnumpy().tolist() == [[1, 2]]
    path.write_text("5\n6\n")
    single = io.CSVIter(data_csv=str(path), data_shape=1, batch_size=2)
    assert next(single).data[0].asnumpy().tolist() == [[5], [6]]
    path.write_text("1,x\n")
    with pytest.raises(FormatError, match="line 1: could not convert"):
        io.CSVIter(**good)
    path.write_text("1,2.5\n")
    with pytest.raises(FormatError, match=r"got .2\.5., wanted whole numbers"):
        io.CSVIter(**good, dtype="int32")
    path.write_text("1,2e1\n")
    assert next(io.CSVIter(**good, dtype="int32")).data[0].asnumpy().tolist() == [[1, 20]]  # MXNet reads 2


def test_libsvm_refuses(tmp_path: Path) -> None:
    path = tmp_path / "x.svm"
    good = {"data_libsvm": str(path), "data_shape": (4,), "batch_size": 1}
    for text, message in (
        ("1 2", "wanted label index:value"),
        ("1 4:1", "outside of 0 to 3"),
        ("x 1:1", "wanted label"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=f"line 1.*{message}"):
            io.LibSVMIter(**good)
    (tmp_path / "several").mkdir()
    for name, text in (("b", "3 1:4"), ("a", "1 0:2\n2 3:3")):
        (tmp_path / "several" / name).write_text(text)
    both = io.LibSVMIter(data_libsvm=str(tmp_path / "several"), data_shape=4, batch_size=3)
    batch = next(both)
    assert batch.data[0].asnumpy().tolist() == [[2, 0, 0, 0], [0, 0, 0, 3], [0, 4, 0, 0]]
    assert batch.label[0].asnumpy().tolist() == [1, 2, 3]
    path.write_text("1 0:1\n")
    with pytest.raises(MXNetError, match="round_batch=False is not supported"):
        io.LibSVMIter(**good, round_batch=False)


def test_mnist_files_that_are_none(tmp_path: Path) -> None:
    images, labels = FIXTURES / "data/train-images-idx3-ubyte", FIXTURES / "data/train-labels-idx1-ubyte"
    with pytest.raises(FormatError, match="no IDX file of 3-dimensional"):
        io.MNISTIter(image=labels, label=labels)
    (tmp_path / "cut").write_bytes(images.read_bytes()[:-3])
    with pytest.raises(FormatError, match="not as long as an array of shape"):
        io.MNISTIter(image=tmp_path / "cut", label=labels)
    (tmp_path / "short").write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 1, 0]))
    with pytest.raises(FormatError, match="no IDX file of 3-dimensional"):
        io.MNISTIter(image=tmp_path / "short", label=labels)
    (tmp_path / "long").write_bytes(images.read_bytes() + b"x")
    with pytest.raises(FormatError, match="not as long as an array of shape"):
        io.MNISTIter(image=tmp_path / "long", label=labels)
    (tmp_path / "few").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
    with pytest.raises(MXNetError, match="10 images, but 2 labels"):
        io.MNISTIter(image=images, label=tmp_path / "few")
    (tmp_path / "huge").write_bytes(bytes([0, 0, 8, 3]) + b"\xff" * 12)
    with pytest.raises(FormatError, match="not as long as"):
        io.MNISTIter(image=tmp_path / "huge", label=labels)


def test_mnist_is_shuffled_once_and_images_keep_their_labels() -> None:
    files = {name: FIXTURES / f"data/train-{name}s-idx{n}-ubyte" for name, n in (("image", 3), ("label", 1))}

    def epochs(**given: Any) -> list[list[tuple[float, float]]]:
        found = io.MNISTIter(**files, batch_size=5, silent=True, **given)
        read = []
        for _ in range(2):
            batches = [(b.data[0].asnumpy(), b.label[0].asnumpy()) for b in found]
            read.append([(float(x.sum()), float(y)) for xs, ys in batches for x, y in zip(xs, ys)])
            found.reset()
        assert read[0] == read[1]
        return read[0]

    plain, one, again, other = (epochs(**g) for g in ({"shuffle": False}, {"seed": 1}, {"seed": 1}, {"seed": 2}))
    assert one == again and len({tuple(found) for found in (plain, one, other, epochs())}) == 4
    images, labels = (
        np.frombuffer(files[name].read_bytes()[skip:], np.uint8) for name, skip in (("image", 16), ("label", 8))
    )
    whole = {(int(x.sum()) / 256, float(y)) for x, y in zip(images.reshape(10, -1).astype(int), labels)}
    assert len(whole) == 10 and all(set(found) == whole for found in (plain, one, other))


def test_image_record_iter_refuses() -> None:
    pytest.importorskip("PIL")
    good = {"path_imgrec": str(FIXTURES / "data/images.rec"), "data_shape": (3, 12, 16), "batch_size": 2}
    for change, error, message in (
        ({"max_rotate_angle": 10, "rotate": 3}, MXNetError, "max_rotate_angle=10, rotate=3 cannot be had here"),
        ({"path_imgrec": ""}, MXNetError, "Required parameter path_imgrec"),
        ({"data_shape": (2, 5, 5)}, MXNetError, "wanted .1 or 3, height, width"),
        ({"max_crop_size": 100, "min_crop_size": 2}, FormatError, "input image size smaller than max_crop_size"),
        ({"max_crop_size": 2, "min_crop_size": 3}, MXNetError, "wanted 1 <= min_crop_size <= max_crop_size"),
        ({"max_crop_size": 2}, MXNetError, "min_crop_size=-1, max_crop_size=2, wanted 1 <="),
        ({"label_width": 2}, FormatError, "1-dimensional label but label_width is set to 2"),
        ({"dtype": "int8"}, MXNetError, "got dtype=int8"),
    ):
        with pytest.raises(error, match=message):
            io.ImageRecordIter(**{**good, **change})
    with pytest.warns(UserWarning, match="ImageRecordIter: Cannot find argument 'bla'; ignored"):
        assert io.ImageRecordIter(**good, bla=3, random_h=0, device_id=1).provide_data[0].shape == (2, 3, 12, 16)


@pytest.mark.parametrize("form", [str, np.dtype, lambda name: getattr(np, name)], ids=["name", "dtype", "class"])
def test_iterators_of_float32_refuse_float64(form: Any) -> None:
    """Before they look for their files, which are missing."""
    for make in (
        lambda dtype: io.LibSVMIter(data_libsvm="gone", data_shape=(3,), batch_size=2, dtype=dtype),
        lambda dtype: io.MNISTIter(image="gone", label="gone", batch_size=2, dtype=dtype),
    ):
        with pytest.raises(MXNetError, match=r"got dtype=.*float64.*wanted float32"):
            make(form("float64"))
        with pytest.raises(Exception, match="gone"):
            make(form("float32"))


def test_image_record_iter_at_random() -> None:
    pytest.importorskip("PIL")
    options: dict[str, Any] = {
        "path_imgrec": str(FIXTURES / "data/images.rec"),
        "data_shape": (3, 10, 12),
        "batch_size": 5,
        "shuffle": True,
        "rand_crop": True,
        "rand_mirror": True,
        "seed": 4,
    }
    iterators = [mx.io.ImageRecordIter(**options) for _ in range(2)]
    for _ in range(3):
        one, two = (next(i) for i in iterators)
        assert sorted(one.label[0].asnumpy()) == [0, 1, 2, 3, 4]
        assert (one.label[0].asnumpy() == two.label[0].asnumpy()).all()
        assert (one.data[0].asnumpy() == two.data[0].asnumpy()).all()
        for iterator in iterators:
            iterator.reset()
    upright = {**options, "shuffle": False, "rand_crop": False}
    want = next(mx.io.ImageRecordIter(**{**upright, "rand_mirror": False})).data[0].asnumpy()

    class Fixed(random.Random):
        def random(self) -> float:
            return draw

    for draw, mirrored in ((0.49, True), (0.5, False)):  # one in two, just
        iterator = mx.io.ImageRecordIter(**upright)
        iterator._random = Fixed(draw)
        np.testing.assert_array_equal(next(iterator).data[0].asnumpy(), want[..., ::-1] if mirrored else want)
    small = mx.io.ImageRecordInt8Iter(path_imgrec=options["path_imgrec"], data_shape=(3, 12, 16), batch_size=2)
    plain = mx.io.ImageRecordUInt8Iter(path_imgrec=options["path_imgrec"], data_shape=(3, 12, 16), batch_size=2)
    one, two = next(small).data[0], next(plain).data[0]
    assert one.dtype == np.int8
    assert (one.asnumpy() == two.asnumpy().clip(max=127)).all()


def test_image_record_iter_takes_the_defaults_of_mxnet() -> None:
    """Settings that are not there may be given as long as they change nothing."""
    pytest.importorskip("PIL")
    options = {"path_imgrec": str(FIXTURES / "data/images.rec"), "data_shape": (3, 8, 9), "batch_size": 2}
    defaults = {
        "max_rotate_angle": 0, "rotate": -1, "max_shear_ratio": 0.0, "max_crop_size": -1, "min_crop_size": -1,
        "max_random_scale": 1, "min_random_scale": 1, "max_img_size": 1e10, "min_img_size": 0, "random_h": 0, "random_s": 0,
        "random_l": 0, "mean_img": "", "max_random_contrast": 0, "max_random_illumination": 0, "aug_seq": "aug_default",
        "preprocess_threads": 4, "verbose": True, "shuffle_chunk_size": 0, "shuffle_chunk_seed": 0, "prefetch_buffer": 4,
    }  # fmt: skip
    without_effect = {"mean_a": 7.0, "std_a": 3.0, "resize": 0}  # there is no fourth channel, and no size of 0
    one, *others = (next(mx.io.ImageRecordIter(**options, **more)) for more in ({}, defaults, without_effect))
    for other in others:
        np.testing.assert_array_equal(one.data[0].asnumpy(), other.data[0].asnumpy())
    with (
        pytest.raises(MXNetError, match=r"^ImageRecordIter: rotate=3 cannot"),
        pytest.warns(UserWarning, match=r"'unknown'; ign"),
    ):
        mx.io.ImageRecordIter(**options, unknown=3, rotate=3)
    for name, value in defaults.items():
        if name in ("random_h", "random_s", "random_l"):
            continue
        if isinstance(value, int | float) and not isinstance(value, bool) and "chunk" not in name and "pre" not in name:
            with pytest.raises(MXNetError, match=name):
                mx.io.ImageRecordIter(**options, **{name: value + 1})


def record_of_pictures(folder: Path, labels: Any, height: int = 4, width: int = 6) -> tuple[str, np.ndarray]:
    """A file of lossless pictures, and their pixels as (picture, channel, row, column)."""
    pixels = np.random.RandomState(2).randint(0, 256, (len(labels), height, width, 3)).astype(np.uint8)
    writer = mx.recordio.MXRecordIO(str(folder / "p.rec"), "w")
    for number, (picture, label) in enumerate(zip(pixels, labels)):
        writer.write(mx.recordio.pack_img((0, label, number, 0), picture[..., ::-1], 9, ".png"))
    writer.close()
    return str(folder / "p.rec"), np.moveaxis(pixels, -1, 1).astype(np.float32)


def test_pictures_of_records_by_hand(tmp_path: Path) -> None:
    """Parts, labels of several numbers, borders, scales, mirrors, gray, dtypes: against the pixels that were written."""
    pytest.importorskip("PIL")
    labels = [[i, i + 0.5] for i in range(7)]
    path, pixels = record_of_pictures(tmp_path, labels)
    base = {"path_imgrec": path, "data_shape": (3, 4, 6), "batch_size": 3, "label_width": 2}

    def first(**more: Any) -> tuple[np.ndarray, np.ndarray]:
        batch = next(mx.io.ImageRecordIter(**{**base, **more}))
        return batch.data[0].asnumpy(), batch.label[0].asnumpy()

    data, label = first()
    np.testing.assert_array_equal(data, pixels[:3])
    np.testing.assert_array_equal(label, labels[:3])
    np.testing.assert_array_equal(first(num_parts=2, part_index=1)[1], labels[3:6])  # 7 // 2 in the first
    np.testing.assert_array_equal(first(mirror=True)[0], pixels[:3, :, :, ::-1])
    padded = np.pad(pixels[:3], ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=9)
    np.testing.assert_array_equal(first(pad=1, fill_value=9, data_shape=(3, 6, 8))[0], padded)
    np.testing.assert_array_equal(first(data_shape=(3, 2, 4))[0], pixels[:3, :, 1:3, 1:5])
    mean, std = np.array([10, 20, 30.0])[:, None, None], np.array([2, 4, 8.0])[:, None, None]
    got, _ = first(mean_r=10, mean_g=20, mean_b=30, std_r=2, std_g=4, std_b=8, scale=0.5)
    np.testing.assert_allclose(got, (pixels[:3] - mean) * 0.5 / std, rtol=1e-5)
    assert first(dtype="None")[0].dtype == np.float32
    gray, _ = first(data_shape=(1, 4, 6))
    red, green, blue = np.moveaxis(pixels[:3], 1, 0)
    assert gray.shape == (3, 1, 4, 6) and np.abs(gray[:, 0] - (0.299 * red + 0.587 * green + 0.114 * blue)).max() <= 1
    iterator = mx.io.ImageRecordIter(**base, round_batch=False, data_name="x", label_name="y")
    assert [d.name for d in (*iterator.provide_data, *iterator.provide_label)] == ["x", "y"]
    assert [(b.pad, b.label[0].shape) for b in iterator] == [(0, (3, 2)), (0, (3, 2)), (2, (3, 2))]
    for amounts in (
        {"brightness": 0.5},
        {"contrast": 0.5},
        {"saturation": 0.5},
        {"brightness": 0.5, "contrast": 0.5},
        {"pca_noise": 0.5},
    ):
        changed, _ = first(**amounts)
        assert np.abs(changed - pixels[:3]).max() > 0.5, amounts
    crops = {"rand_crop": True, "data_shape": (3, 1, 2)}
    one, same, other = (
        first(**crops, **seeds)[0] for seeds in ({"seed_aug": 3}, {"seed": 7, "seed_aug": 3}, {"seed_aug": 4})
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any() and (first(**crops, seed=3)[0] == one).all()
    seen: list[Any] = []

    # nothing is read ahead from here on: a thread would note at any time
    crops = {"random_resized_crop": True, "data_shape": (3, 2, 3), "min_random_area": 0.1, "prefetch_buffer": 0}
    assert (first(**crops, seed_aug=3)[0] == first(**crops, seed_aug=3)[0]).all()
    assert (first(**crops, seed_aug=3)[0] != first(**crops, seed_aug=4)[0]).any()

    def noted(height: int, width: int, size: Any, area: Any, ratio: Any, generator: Any) -> Any:
        seen.append((size, area, ratio))
        return 0, 0, *size

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hybrid.io.records.sized_box", noted)
        areas = {**crops, "min_random_area": 0.2, "max_random_area": 0.3}
        first(**areas, max_aspect_ratio=0.25)
        assert set(seen) == {((3, 2), (0.2, 0.3), (0.8, 1.25))}  # as MXNet's: 1 + max_aspect_ratio, and one by it
        seen.clear()
        first(**areas, min_aspect_ratio=0.75, max_aspect_ratio=1.5)
        assert set(seen) == {((3, 2), (0.2, 0.3), (0.75, 1.5))}
    for shape in ((3, 4), (3, 4, 6, 1), (4, 4, 6)):
        with pytest.raises(MXNetError, match=r"wanted \(1 or 3, height, width\)"):
            first(data_shape=shape)


def test_pictures_that_are_smaller_than_their_part_grow(tmp_path: Path) -> None:
    """High enough at first, then wide enough, with their proportions; the part is cut from what that gives. As MXNet does."""
    pytest.importorskip("PIL")
    path, pixels = record_of_pictures(tmp_path, range(3))  # of 4 by 6

    def first(**given: Any) -> np.ndarray:
        base = {"path_imgrec": path, "data_shape": (3, 8, 12), "batch_size": 3, "inter_method": 0}
        return mx.io.ImageRecordIter(**{**base, **given}).next().data[0].asnumpy()

    def twice(x: np.ndarray) -> np.ndarray:
        return x.repeat(2, axis=2).repeat(2, axis=3)

    np.testing.assert_array_equal(first(), twice(pixels))
    np.testing.assert_array_equal(first(data_shape=(3, 8, 6)), twice(pixels)[..., 3:9])
    np.testing.assert_array_equal(first(data_shape=(3, 2, 12)), twice(pixels)[:, :, 3:5])
    bordered = np.pad(pixels, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=7)
    np.testing.assert_array_equal(first(data_shape=(3, 12, 16), pad=1, fill_value=7), twice(bordered))
    assert first(data_shape=(3, 9, 40)).shape == (3, 3, 9, 40)  # 13 by 9 first, then 40 by 27
    corners = {x.tobytes() for x in first(data_shape=(3, 8, 3), rand_crop=True)}
    assert corners <= {twice(pixels)[n, ..., x : x + 3].tobytes() for n in range(3) for x in range(10)}
    # what suits is found out once, for the part: it is no larger in both directions, so not cubic
    suiting = first(data_shape=(3, 8, 4), inter_method=9)
    np.testing.assert_array_equal(suiting, first(data_shape=(3, 8, 4), inter_method=1))
    assert (suiting != first(data_shape=(3, 8, 4), inter_method=2)).any()
    np.testing.assert_array_equal(first(inter_method=9), first(inter_method=2))
    assert first(inter_method=10).shape == (3, 3, 8, 12)


def test_squares_of_drawn_sizes_are_cut_and_resized(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    path, pixels = record_of_pictures(tmp_path, range(3))

    def first(**given: Any) -> np.ndarray:
        base = {"path_imgrec": path, "data_shape": (3, 8, 8), "batch_size": 3, "inter_method": 0}
        return mx.io.ImageRecordIter(**{**base, **given}).next().data[0].asnumpy()

    middle = first(max_crop_size=4, min_crop_size=4)
    np.testing.assert_array_equal(middle, pixels[..., 1:5].repeat(2, axis=2).repeat(2, axis=3))
    sizes = {first(max_crop_size=4, min_crop_size=1, seed=n)[0].tobytes() for n in range(30)}
    assert len(sizes) == 4
    places = {first(max_crop_size=2, min_crop_size=2, rand_crop=True, seed=n)[0].tobytes() for n in range(200)}
    assert len(places) == 15  # of 3 rows and 5 columns


def test_every_setting_of_record_iterators(tmp_path: Path) -> None:
    """Settings alone and together, against what they say, done in NumPy to the pixels that were written."""
    pytest.importorskip("PIL")
    path, pixels = record_of_pictures(tmp_path, [0.5, 1.5, 2.5, 3.5, 4.5], 5, 7)
    base = {"path_imgrec": path, "data_shape": (3, 5, 7), "batch_size": 2}
    names = {"": mx.io.ImageRecordIter, "uint8": mx.io.ImageRecordUInt8Iter, "int8": mx.io.ImageRecordInt8Iter}

    def made(kind: str = "", **more: Any) -> Any:
        return names[kind](**{**base, **more})

    def seeded(kind: str = "", **more: Any) -> np.ndarray:
        return next(made(kind, seed=5, **more)).data[0].asnumpy()

    def labels(iterator: Any) -> list[list[float]]:
        iterator.reset()
        return [b.label[0].asnumpy().tolist() for b in iterator]

    first = pixels[:2]
    numbers = first.astype(np.int64)
    gray = (numbers[:, 0] * 9797 + numbers[:, 1] * 19234 + numbers[:, 2] * 3737 >> 15)[:, None]  # OpenCV's, of PNG
    means, by_channel = {"mean_r": 200, "mean_g": -100, "mean_b": 30}, np.array([200, -100, 30])[:, None, None]
    for kind, more, dtype, want in (
        ("", {"data_shape": (1, 5, 7), **means, "std_r": 4, "std_g": 3}, "float32", (gray - 200) / 4),
        ("", {"mirror": True, "rand_mirror": True}, "float32", first[..., ::-1]),
        ("", {"dtype": "float64", "scale": 0.5}, "float64", first / 2),
        ("", {"dtype": np.dtype("float64"), "scale": 0.5}, "float64", first / 2),  # which NumPy says equals None
        ("", {"std_r": 4, "std_b": 16, "mean_g": 8, "scale": 3}, "float32",
         (first - [[[0]], [[8]], [[0]]]) * 3 / [[[4]], [[1]], [[16]]]),
        ("uint8", {"mirror": True, "mean_r": 9, "std_g": 3, "scale": 4}, "uint8", first[..., ::-1]),
        ("uint8", {"data_shape": (1, 5, 7)}, "uint8", gray),
        ("int8", {**means, "std_r": 5, "scale": 9}, "int8", (first - by_channel).clip(-128, 127)),
        ("int8", {"mean_r": 127.5, "mean_g": -0.5, "mean_b": 0.4}, "int8",
         (first - [[[128]], [[-1]], [[0]]]).clip(-128, 127)),
    ):  # fmt: skip
        iterator = made(kind, **more)
        got = next(iterator).data[0]
        assert got.asnumpy().dtype == dtype, (kind, more)
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6, atol=1e-4, err_msg=f"{kind} {more}")
        assert [(tuple(d), np.dtype(d.dtype)) for d in iterator.provide_data] == [(("data", want.shape), dtype)]
    for kind, dtypes in (("", ("uint8", "int8")), ("uint8", ("float32", "int8")), ("int8", ("float32", "uint8"))):
        for dtype in dtypes:
            with pytest.raises(MXNetError, match=f"got dtype={dtype}"):
                made(kind, dtype=dtype)

    # colors: by the iterator's generator, brightness, contrast and saturation in an order that is drawn for each picture; in bytes
    kinds = {"brightness": colors.brightened, "contrast": colors.contrasted, "saturation": colors.saturated}
    most = {"brightness": 0.9, "contrast": 0.7, "saturation": 0.5}
    drawn, wanted, orders = random.Random(5), [], set()
    for picture in [*first, *first]:  # a batch that tells the shapes, and the first
        picture = picture.transpose(1, 2, 0)
        order = drawn.sample(list(kinds), 3)
        orders.add(tuple(order))
        for name, factor in [(name, 1 + drawn.uniform(-most[name], most[name])) for name in order]:
            picture = kinds[name](picture, factor)
        wanted.append(picture.transpose(2, 0, 1))
    np.testing.assert_array_equal(seeded(**most), wanted[2:])
    assert len(orders) > 1
    np.testing.assert_array_equal(seeded("uint8", **most), wanted[2:])
    for amounts in (
        {"random_h": 40},
        {"random_s": 90},
        {"random_l": 60},
        {"random_h": 9, "random_s": 9, "random_l": 9},
    ):
        varied = seeded(**amounts)
        assert (
            (varied != first).any() and varied.min() >= 0 and varied.max() <= 255 and (varied == np.rint(varied)).all()
        )
    for amounts in ({"brightness": 0.5}, {"random_l": 9}, {"pca_noise": 0.1}):
        with pytest.raises(MXNetError, match="of 1 channel cannot be varied"):
            made(data_shape=(1, 5, 7), **amounts)
    lighted = seeded(pca_noise=0.5)
    lights = []
    for light, inside in zip(
        lighted - first, (lighted > 0) & (lighted < 255)
    ):  # one change of color for all of a picture
        lights.append([set(channel[there]) for channel, there in zip(light, inside)])
        assert all(len(found) == 1 for found in lights[-1])
    assert lights[0] != lights[1]

    # sizes: the method is handed on to both ways of resizing
    picture = nd.array(first[0].transpose(1, 2, 0), dtype="uint8")
    for method in (0, 2, 3):
        short = mx.image.resize_short(picture, 3, method).asnumpy().transpose(2, 0, 1)
        got = next(made(data_shape=short.shape, resize=3, inter_method=method)).data[0].asnumpy()[0]
        np.testing.assert_array_equal(got, short, err_msg=str(method))
        whole = {"min_random_area": 1.0, "min_aspect_ratio": 7 / 5, "max_aspect_ratio": 7 / 5}
        want = mx.image.imresize(picture, 4, 3, method).asnumpy().transpose(2, 0, 1)
        got = next(made(data_shape=(3, 3, 4), random_resized_crop=True, inter_method=method, **whole)).data[0]
        np.testing.assert_array_equal(got.asnumpy()[0], want, err_msg=str(method))
    with pytest.raises(FormatError, match=r"\(5, 7\) against 6"):
        made(max_crop_size=6, min_crop_size=1)

    # at random: every part and both directions come, and nothing else
    iterator, seen = made(data_shape=(3, 3, 6), rand_crop=True, rand_mirror=True, seed_aug=1), set()
    for _ in range(25):
        iterator.reset()
        for batch in iterator:
            for part, label in zip(batch.data[0].asnumpy(), batch.label[0].asnumpy()):
                source = pixels[int(label)]
                seen |= {
                    (y, x, step)
                    for y in range(3)
                    for x in range(2)
                    for step in (1, -1)
                    if (source[:, y : y + 3, x : x + 6][..., ::step] == part).all()
                }
    assert seen == {(y, x, step) for y in range(3) for x in range(2) for step in (1, -1)}

    # order: of the file, or by seed (not seed_aug) another in every epoch; what ends an epoch
    assert labels(made()) == [[0.5, 1.5], [2.5, 3.5], [4.5, 0.5]]
    again = made()
    assert [labels(again), labels(again)][1] == [[1.5, 2.5], [3.5, 4.5]]  # behind what filled up the last batch
    cut = made(round_batch=False)
    assert [labels(cut), labels(cut)] == [[[0.5, 1.5], [2.5, 3.5], [4.5, 3.5]]] * 2
    orders = [labels(made(shuffle=True, batch_size=5, seed=s, seed_aug=a)) for s, a in ((3, 1), (3, 2), (4, 1))]
    assert orders[0] == orders[1] != orders[2] and sorted(orders[2][0]) == [0.5, 1.5, 2.5, 3.5, 4.5]
    mixed = made(shuffle=True, batch_size=5, seed=3)
    assert labels(mixed) != labels(mixed)
    assert labels(made(num_parts=2, part_index=0)) == [[0.5, 1.5]]
    assert labels(made(num_parts=2, part_index=1, batch_size=3)) == [[2.5, 3.5, 4.5]]

    # labels: of one number a vector, also in batches of one; of more a table; a list goes by the pictures' numbers
    assert labels(made(batch_size=1)) == [[0.5], [1.5], [2.5], [3.5], [4.5]]
    assert tuple(made(batch_size=1).provide_label[0]) == ("softmax_label", (1,))
    (tmp_path / "p.lst").write_text("".join(f"{n}\t{n}.25\t{-n}\tx.png\n" for n in (4, 2, 0, 3, 1)))
    listed = made(path_imglist=str(tmp_path / "p.lst"), label_width=2, batch_size=5)
    assert labels(listed) == [[[0.25, 0], [1.25, -1], [2.25, -2], [3.25, -3], [4.25, -4]]]
    assert tuple(listed.provide_label[0]) == ("softmax_label", (5, 2))


def test_iterators_of_several_arrays() -> None:
    """Two iterators together: names, order, pads, ends; reordering keeps all arrays in step."""
    x, y = np.arange(14.0).reshape(7, 2), np.arange(7.0)
    sources = lambda: [  # noqa: E731
        mx.io.NDArrayIter({"a": x, "b": x + 100}, {"l": y, "m": y + 10}, 3),
        mx.io.NDArrayIter({"c": x * 2}, {"n": -y}, 3),
    ]
    both = mx.io.PrefetchingIter(sources(), [{"a": "A", "b": "B"}, {"c": "C"}], [{"l": "L", "m": "M"}, {"n": "N"}])
    assert [d.name for d in both.provide_data] == ["A", "B", "C"] and [d.name for d in both.provide_label] == [
        "L",
        "M",
        "N",
    ]
    assert [d.name for d in mx.io.PrefetchingIter(sources()).provide_data] == ["a", "b", "c"]
    assert both.provide_data[2].shape == (3, 2)
    for _ in range(2):
        batches = list(both)
        assert [b.pad for b in batches] == [0, 0, 2]
        for i, batch in enumerate(batches[:2]):
            part = slice(3 * i, 3 * i + 3)
            for got, want in zip((*batch.data, *batch.label), (x, x + 100, x * 2, y, y + 10, -y), strict=True):
                np.testing.assert_array_equal(got.asnumpy(), want[part])
        both.reset()

    class Pairs(mx.io.DataIter):
        """Descriptions as plain pairs, which MXNet does not rename."""

        provide_data: Any = (("a", (1,)), ("b", (1,)))
        provide_label: Any = ()

        def next(self) -> Any:
            raise StopIteration

    renamed = mx.io.PrefetchingIter(Pairs(), [{"a": "A", "b": "B"}], [{}])
    assert [tuple(d) for d in renamed.provide_data] == [("a", (1,)), ("b", (1,))] and list(renamed) == []
    np.random.seed(3)
    mixed = mx.io.NDArrayIter({"a": x, "b": x + 100}, {"l": y, "m": y + 10}, 7, shuffle=True)
    (batch,) = list(mixed)
    a, b, left, m = (v.asnumpy() for v in (*batch.data, *batch.label))
    assert sorted(left) == y.tolist() != left.tolist()
    np.testing.assert_array_equal(a, x[left.astype(int)])
    np.testing.assert_array_equal(b, a + 100)
    np.testing.assert_array_equal(m, left + 10)
    over = mx.io.NDArrayIter(x, y, 3, last_batch_handle="roll_over")
    list(over)
    over.reset()
    over.iter_next()
    over.getdata()
    with pytest.raises(AssertionError, match="asked for twice"):
        over.getdata()
    done = mx.io.NDArrayIter(x[:6], y[:6], 3)
    list(done)
    with pytest.raises(AssertionError, match="needs reset"):
        done.getdata()


def test_descriptions_and_batches_of_several() -> None:
    listed = mx.io.DataDesc.get_list([("a", (2, 3)), ("b", (4,))], [("b", np.int32), ("a", np.float16)])
    assert [(d.name, d.shape, np.dtype(d.dtype).name, d.layout) for d in listed] == [
        ("a", (2, 3), "float16", "NCHW"), ("b", (4,), "int32", "NCHW"),
    ]  # fmt: skip
    assert [(d.name, np.dtype(d.dtype).name) for d in mx.io.DataDesc.get_list([("a", (2,)), ("b", (4,))], None)] == [
        ("a", "float32"), ("b", "float32"),
    ]  # fmt: skip
    desc = mx.io.DataDesc("x", (2, 3), np.float16, "NTC")
    for copied in (copy.copy(desc), pickle.loads(pickle.dumps(desc))):
        assert (copied, copied.dtype, copied.layout) == (desc, np.float16, "NTC")
    arrays = [mx.nd.ones((2, 3)), mx.nd.ones(2)]
    assert str(mx.io.DataBatch(arrays, arrays[::-1])).endswith(
        "data shapes: [(2, 3), (2,)] label shapes: [(2,), (2, 3)]"
    )
    assert mx.io.DataBatch(None).data is None and mx.io.DataBatch(arrays, None).label is None
    for given in ((arrays[0], None), (arrays, arrays[0])):
        with pytest.raises(AssertionError, match="must be list of NDArrays"):
            mx.io.DataBatch(*given)
    plain = mx.io.DataIter(4)
    assert (
        plain.batch_size,
        plain.reset(),
        plain.iter_next(),
        plain.getdata(),
        plain.getlabel(),
        plain.getindex(),
        plain.getpad(),
    ) == (4, *[None] * 6)


def test_examples_may_stand_along_any_axis() -> None:
    """Batches are those of the same arrays with the examples first, moved."""
    for layout, shape in (("TNC", (3, 7, 2)), ("TCN", (3, 2, 7)), ("CN", (3, 7))):
        axis = layout.find("N")
        data = {n: np.random.default_rng(i).normal(size=shape).astype(np.float32) for i, n in enumerate("ba")}
        label = {"l": np.arange(7.0), **({"m": data["a"] * 2} if axis == 1 else {})}
        first = (
            {n: np.moveaxis(a, axis, 0) for n, a in data.items()},
            {n: np.moveaxis(a, axis, 0) if n == "m" else a for n, a in label.items()},
        )
        for end in ("pad", "discard", "roll_over"):
            for shuffle in (False, True):
                for reset in ("reset", "hard_reset"):
                    read = []
                    for given, named in (((data, label), layout), (first, "N" + layout.replace("N", ""))):
                        np.random.seed(8)
                        made = io.NDArrayIter(*given, 3, shuffle, end, layout=named)
                        epochs = []
                        for _ in range(3):
                            epochs.append(
                                [([a.asnumpy() for a in b.data], [a.asnumpy() for a in b.label], b.pad) for b in made]
                            )
                            getattr(made, reset)()
                        read.append(epochs)
                        assert made.num_data == 7
                    assert [len(e) for e in read[0]] == [len(e) for e in read[1]] and len(read[1][0]) == 2 + (
                        end == "pad"
                    )
                    for got, want in zip((b for e in read[0] for b in e), (b for e in read[1] for b in e)):
                        assert got[2] == want[2]
                        for a, b in zip(got[0], want[0], strict=True):
                            np.testing.assert_array_equal(a, np.moveaxis(b, 0, axis))
                        np.testing.assert_array_equal(got[1][0], want[1][0])
                        if axis == 1:
                            np.testing.assert_array_equal(got[1][1], np.moveaxis(want[1][1], 0, axis))


def test_rows_of_libsvm_keep_their_labels_in_every_part(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data, label = (
        np.where(rng.random((9, n)) < 0.5, rng.integers(1, 99, (9, n)) / 4, 0).astype(np.float32) for n in (5, 6)
    )
    for name, rows in (("d", data), ("l", label)):
        lines = [f"{i}.5 " + " ".join(f"{j}:{v:g}" for j, v in enumerate(row) if v) for i, row in enumerate(rows)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    for shape in ((6,), (2, 3)):
        for parts in (1, 2, 4):
            for part in range(parts):
                size = 9 // parts
                want = list(range(part * size, 9 if part == parts - 1 else (part + 1) * size))
                made = io.LibSVMIter(tmp_path / "d", (5,), tmp_path / "l", shape, parts, part, batch_size=2)
                batches = list(made)
                chosen = [want[i % len(want)] for i in range(2 * len(batches))]
                assert len(batches) == -(-len(want) // 2) and batches[-1].pad == len(chosen) - len(want)
                for rows, got in ((data, [b.data[0] for b in batches]), (label, [b.label[0] for b in batches])):
                    assert {a.stype for a in got} == {"csr"} and {a.shape for a in got} == {(2, rows.shape[1])}
                    np.testing.assert_array_equal(np.concatenate([a.asnumpy() for a in got]), rows[chosen])
                alone = io.LibSVMIter(tmp_path / "d", (5,), num_parts=parts, part_index=part, batch_size=1)
                assert [float(b.label[0].asnumpy()[0]) for b in alone] == [i + 0.5 for i in want]


def test_numbers_that_only_their_own_dtype_holds(tmp_path: Path) -> None:
    texts = {"int64": "9007199254740993,-9223372036854775808", "int32": "2e9,-2.0", "float32": "1e400,-0.1"}
    for kind, text in texts.items():
        (tmp_path / kind).write_text(text + "\n")
        made = next(io.CSVIter(tmp_path / kind, (2,), batch_size=1, dtype=kind)).data[0].asnumpy()[0]
        want = (
            [2**53 + 1, -(2**63)]
            if kind == "int64"
            else np.array([2e9, -2]).astype(kind)
            if kind == "int32"
            else np.float32([np.inf, -0.1])
        )
        assert made.dtype == kind and made.tolist() == list(want)
    with pytest.raises(FormatError, match="got 9223372036854775808"):
        (tmp_path / "more").write_text("9223372036854775808,1\n")
        io.CSVIter(tmp_path / "more", (2,), batch_size=1, dtype="int64")


def test_what_is_renamed_keeps_its_layout_and_dtype() -> None:
    """MXNet forgets the layout."""
    one = io.NDArrayIter({"x": np.zeros((3, 4, 2), np.float32)}, {"y": np.zeros((3, 4), np.float32)}, 2, layout="TNC")
    made = io.PrefetchingIter([one], [{"x": "p"}], [{"y": "q"}])
    assert [(d.name, d.shape, d.layout) for d in (*made.provide_data, *made.provide_label)] == [
        ("p", (3, 2, 2), "TNC"),
        ("q", (3, 2), "TNC"),
    ]
