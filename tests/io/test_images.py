"""Images that cannot be read, and what the image functions and iterators refuse."""

import inspect
import io
import logging
import random
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import image, nd
from hybrid.core.error import FormatError, MXNetError
from hybrid.formats import images
from hybrid.ops import resample

pytest.importorskip("PIL")
DATA = Path(__file__).parents[2] / "fixtures/data"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int) -> bytes:
    """A PNG file that claims a size and holds next to nothing."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"0" * 100)) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow's, of broken notes in a file
@pytest.mark.parametrize("name", ["a.jpg", "gray.jpg", "a.png", "a.bmp"])
def test_broken_files_are_refused_or_read(name: str) -> None:
    rng = random.Random(name)
    whole = (DATA / name).read_bytes()
    refused = 0
    for _ in range(100):
        content = bytearray(whole)
        if rng.random() < 0.3:
            del content[rng.randrange(len(content)) :]
        for _ in range(rng.choice((0, 1, 20))):
            if content:
                content[rng.randrange(len(content))] = rng.randrange(256)
        try:
            assert images.decode(bytes(content), rng.choice((-1, 0, 1))).dtype == np.uint8
        except FormatError:
            refused += 1
    assert refused


def test_sizes_that_a_header_only_claims() -> None:
    for size in ((100000, 100000), (2**31 - 1, 1)):
        with pytest.raises(FormatError):
            images.decode(png(*size))


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        (image.imdecode, ("text",), ValueError, "buf must be of type bytes"),
        (image.imdecode, (b"",), FormatError, "image of 0 bytes"),
        (image.imdecode, (b"abc", 3), MXNetError, "flag=3"),
        (image.imread, ("/nope.png",), MXNetError, "Imread: '/nope.png' couldn't open file: No such file"),
        (image.imread, (DATA / "data.csv",), FormatError, "Imread: .*data.csv: cannot decode"),
        (image.imresize, (nd.zeros((2, 2, 3), dtype="uint8"), 0, 1), MXNetError, "a size is 0"),
        (image.imresize, (nd.zeros((2, 2, 3), dtype="uint8"), 3, 3, 7), MXNetError, "interpolation method 7"),
        (image.imresize, (nd.zeros((2, 2, 3), dtype="int32"), 3, 3), MXNetError, "images of int32 cannot be resized"),
        (image.copyMakeBorder, (nd.zeros((2, 2, 3)), 1, 1, 1, 1, 9), MXNetError, "border type 9"),
        (image.resize_short, (nd.zeros((2, 2, 3)), 3, 11), ValueError, "Unknown interp method 11"),
        (image.imrotate, (nd.zeros((3, 2, 2)), 1, True, True), ValueError, "cannot be both True"),
        (image.imrotate, (nd.zeros((3, 2, 2), dtype="uint8"), 1), TypeError, "Only `float32`"),
        (image.imrotate, (nd.zeros((2, 2)), 1), ValueError, "Only 3D and 4D"),
        (image.imrotate, (nd.zeros((2, 3, 2, 2)), [1]), ValueError, "must be equal to the number"),
    ],
)
def test_refusals(function: Any, arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        function(*arguments)


def test_results_in_given_arrays() -> None:
    """All functions of images that take ``out`` write to it, and to no array of another shape."""
    source = image.imread(DATA / "a.png")
    content = (DATA / "a.png").read_bytes()
    calls: dict[str, Any] = {
        "imdecode": lambda **more: image.imdecode(content, **more),
        "imread": lambda **more: image.imread(DATA / "a.png", **more),
        "imresize": lambda **more: image.imresize(source, 6, 5, **more),
        "copyMakeBorder": lambda **more: image.copyMakeBorder(source, 1, 0, 2, 3, type=1, **more),
    }
    assert {
        n for n, f in vars(image).items() if inspect.isfunction(f) and "out" in inspect.signature(f).parameters
    } == {*calls}
    for name, call in calls.items():
        want = call().asnumpy()
        for dtype in ("uint8", "float32"):
            out = nd.full(want.shape, 7, dtype=dtype)
            assert call(out=out) is out, name
            assert out.dtype == np.dtype(dtype) and (out.asnumpy() == want).all(), name
        height, width, channels = want.shape
        for shape in ((width, height, channels), (height + 1, width, channels), (1, 1, 1)):
            out = nd.full(shape, 7, dtype="uint8")
            with pytest.raises(MXNetError, match="in out, wanted"):
                call(out=out)
            assert (out.asnumpy() == 7).all(), name


def test_interpolation_is_the_one_asked_for() -> None:
    """Functions and augmenters that cut out a part, or resize, do what imresize does with the part they say; nearest pixels
    are NumPy's."""
    pixels = np.random.default_rng(3).integers(0, 256, (19, 26, 3)).astype(np.uint8)
    source = nd.array(pixels, dtype="uint8")
    size = (9, 7)  # width, height

    def nearest(part: np.ndarray, width: int, height: int) -> np.ndarray:
        rows, columns = (np.arange(n) * o // n for n, o in ((height, part.shape[0]), (width, part.shape[1])))
        return part[rows[:, None], columns]

    def cuts(interp: int) -> dict[str, Any]:
        """By name: the picture and the part that it is made of."""
        return {
            "fixed_crop": (image.fixed_crop(source, 3, 2, 20, 11, size, interp), (3, 2, 20, 11)),
            "random_crop": image.random_crop(source, (40, 50), interp),
            "center_crop": image.center_crop(source, (50, 30), interp),
            "random_size_crop": image.random_size_crop(source, size, (0.5, 0.9), (0.7, 1.3), interp),
            "random_size_crop that does not fit": image.random_size_crop(
                source, (30, 60), (4.0, 5.0), (1.0, 1.0), interp
            ),
            "random_size_crop too long": image.random_size_crop(source, (60, 21), (0.9, 1.0), (40.0, 50.0), interp),
        }

    random.seed(7)
    for interp in range(5):
        for name, (found, (x0, y0, width, height)) in cuts(interp).items():
            part = pixels[y0 : y0 + height, x0 : x0 + width]
            wide, high = found.shape[1], found.shape[0]
            wants = [image.imresize(nd.array(part, dtype="uint8"), wide, high, i).asnumpy() for i in range(5)]
            assert (found.asnumpy() == wants[interp]).all(), (name, interp)
            assert (wants[0] == nearest(part, wide, high)).all(), name
            for one, other in ((0, 1), (0, 2), (1, 2), (2, 4)):
                assert (wants[one] != wants[other]).any(), name  # they can be told apart
        for shorter, (width, height) in ((9, (26 * 9 // 19, 9)), (30, (26 * 30 // 19, 30))):
            want = image.imresize(source, width, height, interp).asnumpy()
            assert (image.resize_short(source, shorter, interp).asnumpy() == want).all(), interp
        for made, function in (
            (image.ResizeAug(9, interp), lambda i=interp: image.resize_short(source, 9, i)),
            (image.ForceResizeAug((11, 6), interp), lambda i=interp: image.imresize(source, 11, 6, i)),
            (image.RandomCropAug((40, 50), interp), lambda i=interp: image.random_crop(source, (40, 50), i)[0]),
            (image.CenterCropAug((50, 30), interp), lambda i=interp: image.center_crop(source, (50, 30), i)[0]),
            (
                image.RandomSizedCropAug((30, 60), (4.0, 5.0), (1.0, 1.0), interp),
                lambda i=interp: image.random_size_crop(source, (30, 60), (4.0, 5.0), (1.0, 1.0), i)[0],
            ),
        ):
            random.seed(interp)
            want = function().asnumpy()
            random.seed(interp)
            assert (made(source).asnumpy() == want).all(), (type(made).__name__, interp)


def test_encoding_and_decoding() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 4)).astype(np.uint8)
    for part in (pixels, pixels[:, :, :3], pixels[:, :, 0]):
        assert (images.decode(images.encode(part, ".png"), -1) == part).all()
    with pytest.raises(MXNetError, match="cannot encode an image of float32"):
        images.encode(pixels.astype(np.float32))


def test_augmenters_say_what_they_are() -> None:
    made = image.CreateAugmenter((3, 4, 5), rand_mirror=True, mean=np.array([1.0, 2, 3]))
    assert [a.dumps() for a in made] == [
        '["centercropaug", {"size": [5, 4], "interp": 2}]',
        '["horizontalflipaug", {"p": 0.5}]',
        '["castaug", {"type": "float32"}]',
        '["colornormalizeaug", {"mean": [1.0, 2.0, 3.0], "std": null}]',
    ]
    with pytest.raises(NotImplementedError):
        image.Augmenter()(nd.zeros((2, 2, 3)))
    with pytest.raises(TypeError, match="Borrowing from invalid Augmenter"):
        image.DetBorrowAug(3)  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="Skip DetRandomCropAug due to invalid area_range"):
        assert not image.DetRandomCropAug(area_range=(0.5, 0.2)).enabled


def test_iterators_name_the_image_they_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"bad")
    iterator = mx.image.ImageIter(1, (3, 4, 4), path_root=str(tmp_path), imglist=[[1, "bad.png"]])
    with pytest.raises(RuntimeError, match=r"Broken image filename: bad.png, cannot decode"):
        next(iterator)
    with pytest.raises(ValueError, match="3 channels"):
        mx.image.ImageIter(1, (1, 4, 4), imglist=[[1, "x"]])
    with pytest.raises(AssertionError, match="int8 label not supported"):
        mx.image.ImageIter(1, (3, 4, 4), imglist=[[1, "x"]], dtype="int8")
    (tmp_path / "x.lst").write_text("1\tcat\ta.png\n")
    with pytest.raises(ValueError, match=r"x.lst, line 1: got '1\\tcat"):
        mx.image.ImageIter(1, (3, 4, 4), path_imglist=tmp_path / "x.lst")


def test_no_augmenters_are_none_at_all(tmp_path: Path) -> None:
    """An empty list is one, and not the default ones: images come as they are."""
    pixels = np.random.default_rng(0).integers(0, 256, (4, 5, 3), np.uint8)
    (tmp_path / "a.png").write_bytes(images.encode(pixels, ".png"))
    for given, size in ((None, 4), ([], 5)):
        iterator = mx.image.ImageIter(1, (3, 4, size), path_root=str(tmp_path), imglist=[[1, "a.png"]], aug_list=given)
        found = next(iterator).data[0].asnumpy()[0].transpose(1, 2, 0)
        assert len(iterator.auglist) == (0 if given == [] else 2)
        assert np.isin(found, pixels).all() if given is None else (found == pixels).all()


def test_a_record_behind_the_end_of_the_file_is_named(tmp_path: Path) -> None:
    """As an index has it that was made of a longer file."""
    writer = mx.recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w")
    writer.write_idx(0, mx.recordio.pack(mx.recordio.IRHeader(0, 1.0, 0, 0), b"x"))
    end = writer.tell()
    writer.close()
    (tmp_path / "a.idx").write_text(f"7\t{end}\n")
    iterator = mx.image.ImageIter(
        1, (3, 4, 4), path_imgrec=str(tmp_path / "a.rec"), path_imgidx=str(tmp_path / "a.idx"), shuffle=True
    )
    with pytest.raises((FormatError, RuntimeError), match=r"a\.rec.*index: 7"):
        next(iterator)


def test_detection_labels_that_do_not_add_up() -> None:
    for label, message in (
        ([2, 5, 0, 0.1, 0.1], "Label shape is invalid"),
        ([2, 5, 0, 0.1, 0.1, 0.5, 0.5, 7], "inconsistent with annotation width 5"),
        ([2, 5, 0, 0.5, 0.5, 0.1, 0.1], "no valid label"),
    ):
        with pytest.raises(RuntimeError, match=message):
            mx.image.ImageDetIter(1, (3, 8, 8), path_root=str(DATA), imglist=[[label, "a.png"]])
    label = [2, 5, 0, 0.1, 0.1, 0.5, 0.5]
    one = mx.image.ImageDetIter(1, (3, 8, 8), path_root=str(DATA), imglist=[[label, "a.png"]])
    two = mx.image.ImageDetIter(1, (3, 8, 8), path_root=str(DATA), imglist=[[[*label, *label[2:]], "a.png"]])
    assert one.sync_label_shape(two) is two
    assert one.provide_label[0].shape == two.provide_label[0].shape == (1, 2, 5)
    assert next(one).label[0].asnumpy()[0, 1].tolist() == [-1] * 5
    with pytest.raises(ValueError, match="reduce label count from 2 to 1"):
        one.reshape(label_shape=(1, 5))
    for shape, message in (((8, 8), "should have length 3"), ((1, 8, 8), "to have 3 channels")):
        with pytest.raises(ValueError, match=message):
            one.reshape(data_shape=shape)
    assert one.provide_data[0].shape == (1, 3, 8, 8)


def test_settings_of_detection_at_their_edges() -> None:
    """An object that is covered just as much as it has to be is not covered enough, as in MXNet."""
    label = np.array([[0, 0, 0, 0.5, 0.5]], np.float32)
    for least, covers in ((0.5, False), (0.49, True)):
        cut = mx.image.DetRandomCropAug(min_object_covered=least)
        assert cut._covers(label, np.array([0, 0, 0.25, 0.5], np.float32), 100, 100) is covers
    crops = mx.image.CreateDetAugmenter((3, 8, 8), rand_crop=1, min_eject_coverage=0.7)[0]
    assert [a.min_eject_coverage for a in crops.aug_list] == [0.7]
    for wrong in ([1.0, 2.0, 3.0], np.array([1.0, 2.0])):
        with pytest.raises(AssertionError, match="wanted True or an array of 1 or 3"):
            mx.image.CreateAugmenter((3, 8, 8), mean=wrong)
    one = mx.image.ImageIter(1, (3, 8, 8), path_root=str(DATA), imglist=[[1, "a.png"]])
    with pytest.raises(FormatError, match="shape is wrong"):
        one.check_valid_image([np.array(3.0)])


def test_pixels_of_every_kind_of_picture() -> None:
    """16 bits a channel, palettes, opacity, one bit: as gray, in color and as stored."""
    from PIL import Image

    gray16 = np.array([[0, 255, 256], [40000, 65535, 511]], np.uint16)
    wide = gray16.astype(np.int32) * 2 - 100
    gray = np.array([[3, 200, 77], [0, 255, 128]], np.uint8)
    colors = np.random.RandomState(0).randint(0, 256, (2, 3, 4)).astype(np.uint8)
    marks = np.array([[True, False, True], [False, False, True]])

    def stored(image: Any, kind: str = "png", **more: Any) -> bytes:
        out = io.BytesIO()
        image.save(out, kind, **more)
        return out.getvalue()

    palette = Image.fromarray(gray // 100, "P")
    palette.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    picked = np.array([[10, 20, 30], [40, 50, 60], [70, 80, 90]])[gray // 100]
    opaque = np.where(gray // 100 == 1, 0, 255)[..., None]
    see_through = np.where(gray == 200, 0, 255)[..., None]
    as_colors = lambda values: np.repeat(values[..., None], 3, -1)  # noqa: E731
    cases: dict[str, tuple[bytes, np.ndarray, np.ndarray | None]] = {
        "16 bits": (stored(Image.fromarray(gray16)), gray16 // 256, None),
        "16 bits of tiff": (stored(Image.fromarray(gray16), "tiff"), gray16 // 256, None),
        "32 bits": (stored(Image.fromarray(wide), "tiff"), (wide / 256).clip(0, 255).astype(int), None),
        "floats": (stored(Image.fromarray(gray16.astype(np.float32)), "tiff"), gray16 // 256, None),
        "gray": (stored(Image.fromarray(gray)), gray, gray),
        "one bit": (stored(Image.fromarray(marks)), marks * 255, marks * 255),
        "opacity": (stored(Image.fromarray(colors)), colors, None),
        "gray and opacity": (
            stored(Image.fromarray(colors[..., :2], "LA")), np.concatenate([as_colors(colors[..., 0]), colors[..., 1:2]], -1), None,
        ),
        "palette": (stored(palette), picked, None),
        "palette, one clear": (stored(palette, transparency=1), np.concatenate([picked, opaque], -1), None),
        "gray, one clear": (
            stored(Image.fromarray(gray), transparency=200), np.concatenate([as_colors(gray), see_through], -1), gray,
        ),
        "color, one clear": (
            stored(Image.fromarray(colors[..., :3]), transparency=tuple(int(v) for v in colors[0, 1, :3])),
            np.concatenate([colors[..., :3], np.where((colors[..., :3] == colors[0, 1, :3]).all(-1), 0, 255)[..., None]], -1),
            None,
        ),
    }  # fmt: skip
    wrong = []
    for name, (data, want, as_gray) in cases.items():
        in_color = want[..., :3] if want.ndim == 3 else as_colors(want)
        for color, expected in (
            (-1, want),
            (1, in_color),
            (0, as_gray if as_gray is not None or want.ndim == 3 else want),
        ):
            if expected is None:
                continue
            got = images.decode(data, color)
            if got.dtype != np.uint8 or got.shape != expected.shape or (got != expected).any():
                wrong.append(f"{name} {color}: got {got.tolist()}, wanted {expected.tolist()}")
    assert not wrong, "\n".join(wrong)


def test_what_can_be_encoded() -> None:
    gray = np.arange(6, dtype=np.uint8).reshape(2, 3) * 40
    color = np.stack([gray, gray[::-1], gray[:, ::-1], gray + 1], -1)
    for pixels, want in ((gray, gray), (gray[..., None], gray), (color[..., :3], color[..., :3]), (color, color)):
        assert (images.decode(images.encode(pixels, ".PNG"), -1) == want).all()
    assert images.decode(images.encode(color, ".jpg"), -1).shape == (2, 3, 3)
    noise = np.random.RandomState(1).randint(0, 4, (64, 64)).astype(np.uint8)
    sizes = {q: len(images.encode(noise, ".png", q)) for q in (0, 1, 9, 95)}
    assert sizes[0] > sizes[1] > sizes[9] == sizes[95]
    for refused in (gray.astype(np.int16), gray[0], color[..., :2], color[None], gray.reshape(2, 3, 1, 1)):
        with pytest.raises(mx.MXNetError, match="cannot encode an image of"):
            images.encode(refused)
    with pytest.raises(mx.MXNetError, match=r"cannot encode images as '\.gif'"):
        images.encode(gray, ".gif")


def test_pictures_as_large_as_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many pixels as their bytes allow, and one beyond, at each of the three limits."""
    data = images.encode(np.arange(36, dtype=np.uint8).reshape(3, 4, 3), ".png")
    for always, densest, largest, fits in (
        (12, 0, 100, True), (11, 0, 100, False), (0, 12 / len(data), 100, True), (0, 11.9 / len(data), 100, False),
        (100, 100, 12, True), (100, 100, 11, False),
    ):  # fmt: skip
        for name, value in (("ALWAYS", always), ("DENSEST", densest), ("LARGEST", largest)):
            monkeypatch.setattr(images, name, value)
        if fits:
            assert images.decode(data).shape[:2] == (3, 4)
        else:
            with pytest.raises(FormatError, match="an image of 4x3 pixels; the most is"):
                images.decode(data)


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    for call in (lambda: images.decode(b"x"), lambda: images.encode(np.zeros((2, 2), np.uint8))):
        with pytest.raises(mx.MXNetError, match="pip install pillow"):
            call()


@pytest.mark.parametrize("height, width", [(9, 40), (40, 9), (12, 12), (2, 30), (30, 2)])
def test_random_parts_lie_inside_of_long_pictures(height: int, width: int) -> None:
    """Every part of so many, with the pixels of its place; they reach all ends."""
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3)).astype(np.uint8)
    source, ends = nd.array(pixels, dtype="uint8"), set()
    random.seed(7)
    for turn in range(300):
        x, y, w, h = image.random_size_crop(source, (4, 3), (0.05, 1.0), (0.2, 5.0), 0)[1]
        assert x >= 0 and y >= 0 and w > 0 and h > 0 and x + w <= width and y + h <= height, turn
        ends |= {(side, turn % 2) for side, at in (("left", x == 0), ("right", x + w == width), ("top", y == 0)) if at}
        part, (x, y, w, h) = image.random_crop(source, (min(5, width), min(4, height)), 0)
        np.testing.assert_array_equal(part.asnumpy(), pixels[y : y + h, x : x + w])
    assert {side for side, _ in ends} == {"left", "right", "top"}


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_gray_images_of_two_axes_are_resized_as_those_of_one_channel(dtype: str) -> None:
    picture = np.random.default_rng(5).uniform(0, 255, (5, 7)).astype(dtype)
    for method in (0, 1, 2, 3, 4):
        wide = resample.resize(picture[:, :, None], 9, 4, method)
        np.testing.assert_array_equal(resample.resize(picture, 9, 4, method), wide[:, :, 0], err_msg=str(method))


def test_a_program_that_logs_everything_has_no_line_for_each_part_of_a_file(caplog: pytest.LogCaptureFixture) -> None:
    """Programs for MXNet set the root logger to DEBUG, and read thousands of files. A level that somebody has set stays."""
    pillow = logging.getLogger("PIL")
    before = pillow.level
    try:
        for given, silent in ((logging.NOTSET, True), (logging.DEBUG, False)):
            pillow.setLevel(given)
            images._quieten.cache_clear()
            caplog.clear()
            with caplog.at_level(logging.DEBUG):
                image.imdecode((DATA / "a.png").read_bytes())
            assert (not caplog.records) == silent
    finally:
        pillow.setLevel(before)


def test_borders_are_filled_as_opencv_fills_them() -> None:
    """One value for all channels or one for each, further ones read over; bytes get the nearest that there is."""
    for dtype, values, wanted in (
        ("uint8", 7, [7, 7, 7]), ("uint8", (1.6, 300, -3), [2, 255, 0]), ("float32", (1.5, 2, 3, 4), [1.5, 2, 3]),
    ):  # fmt: skip
        image = mx.nd.ones((1, 1, 3), dtype=dtype)
        bordered = mx.image.copyMakeBorder(image, 1, 0, 0, 0, values=values)
        assert bordered.asnumpy().tolist() == [[wanted], [[1, 1, 1]]]


def test_a_batch_is_no_image() -> None:
    """Its first two axes were taken for height and width."""
    batch = mx.nd.zeros((2, 8, 10, 3), dtype="uint8")
    functions = mx.image.center_crop, mx.image.random_crop
    for call in (
        mx.gluon.data.vision.transforms.CenterCrop(4),
        *(lambda x, f=f: f(x, (4, 4)) for f in functions),
        lambda x: mx.image.resize_short(x, 4),
    ):
        with pytest.raises(ValueError, match=r"got an array of shape \(2, 8, 10, 3\), wanted one image"):
            call(batch)


def test_labels_of_a_list_are_arrays(tmp_path: Path) -> None:
    """As in MXNet, for programs that make batches of next_sample themselves."""
    (tmp_path / "0.png").write_bytes(b"not read here")
    for listed, wanted in (([3.0, "0.png"], [3]), ([1.0, 2.0, "0.png"], [1, 2]), ([[4.0, 5.0], "0.png"], [4, 5])):
        width = len(wanted)
        iterator = mx.image.ImageIter(1, (3, 4, 4), label_width=width, imglist=[listed], path_root=str(tmp_path))
        label, data = iterator.next_sample()
        assert isinstance(label, mx.nd.NDArray) and label.asnumpy().tolist() == wanted and data == b"not read here"
