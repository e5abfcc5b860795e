"""ImageDetRecordIter with chance: wherever an object goes, its label goes with it, within the bounds that were set."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.core.error import FormatError
from hybrid.io import colors
from tests.asked.detecting import png

HEIGHT, WIDTH = 60, 80
BOX = np.array([0.25, 0.3, 0.75, 0.8])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Images of a dark ground with one bright object, which BOX says, and a second one in the corner without brightness."""
    folder = tmp_path_factory.mktemp("detection")
    writer = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "w")
    left, top, right, bottom = (BOX * [WIDTH, HEIGHT, WIDTH, HEIGHT]).astype(int)
    pixels = np.full((HEIGHT, WIDTH, 3), 60, np.uint8)
    pixels[top:bottom, left:right] = 200
    label = [2, 6, 1, *BOX, 5, 2, 0, 0, 0.05, 0.05, 6]
    for i in range(24):
        writer.write_idx(i, mx.recordio.pack(mx.recordio.IRHeader(0, np.array(label, np.float32), i, 0), png(pixels)))
    writer.close()
    return str(folder / "a.rec")


def examples(path: str, **options: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Images (height, width) of the first channel and objects, of 240 draws."""
    options = {"data_shape": (3, HEIGHT, WIDTH), "batch_size": 24, "inter_method": 0, "seed": 3, **options}
    made = mx.io.ImageDetRecordIter(path_imgrec=path, **options)
    found = []
    for _ in range(10):
        for batch in made:
            for image, label in zip(batch.data[0].asnumpy(), batch.label[0].asnumpy()):
                _, height, width, count = label[:4].astype(int)
                found.append((image[0, :height, :width], label[6 : 4 + count].reshape(-1, 6)))
        made.reset()
    return found


def place(image: np.ndarray) -> np.ndarray:
    """Left, top, right, bottom of what is bright, as shares."""
    rows, columns = np.nonzero((image > 130).any(1))[0], np.nonzero((image > 130).any(0))[0]
    height, width = image.shape
    return np.array([columns[0] / width, rows[0] / height, (columns[-1] + 1) / width, (rows[-1] + 1) / height])


def agree(image: np.ndarray, objects: np.ndarray, within: float) -> None:
    bright = objects[objects[:, 0] == 1]
    assert len(bright) == 1
    np.testing.assert_allclose(place(image), bright[0, 1:5], atol=within)
    assert bright[0, 5] == 5


def test_mirrored(path: str) -> None:
    sides = []
    for image, objects in examples(path, rand_mirror_prob=0.5):
        agree(image, objects, 1e-6)
        sides.append(objects[1, 1] > 0.5)
    assert 0.35 < np.mean(sides) < 0.65


def test_padded(path: str) -> None:
    sizes = []
    for image, objects in examples(path, rand_pad_prob=0.75, max_pad_scale=3.0, fill_value=7):
        agree(image, objects, 0.03)
        sizes.append(objects[0, 3] - objects[0, 1])
        assert ((image == 7).any()) == (sizes[-1] < 0.49)
    sizes = np.array(sizes)
    assert 0.15 < (sizes > 0.49).mean() < 0.4 and 1 / 6 - 0.01 < sizes.min() < 0.2


@pytest.mark.parametrize("mode", ["center", "overlap"])
def test_cropped(path: str, mode: str) -> None:
    """Both samplers are used, each within its bounds; where there is no brightness the object is not told of."""
    bounds: dict[str, Any] = {
        "num_crop_sampler": 2,
        "min_crop_scales": (0.6, 0.3),
        "max_crop_scales": "(0.9, 0.5)",
        "min_crop_aspect_ratios": 0.8,
        "max_crop_aspect_ratios": 1.25,
        "min_crop_overlaps": (0.2, 0.1),
        "max_crop_trials": 100,
    }
    scales = []
    drawn = examples(path, rand_crop_prob=1.0, crop_emit_mode=mode, emit_overlap_thresh=0.4, **bounds)
    for image, objects in drawn:
        assert 1 <= len(objects) <= 2
        if (objects[:, 0] == 1).any():
            agree(image, objects, 0.09)  # a pixel and a half of the smallest part
            left, top, right, bottom = objects[objects[:, 0] == 1][0, 1:5]
            if left > 0 and right < 1 and top > 0 and bottom < 1:
                scales.append((0.25 / ((right - left) * (bottom - top))) ** 0.5)
    assert len(scales) > 40 and min(scales) > 0.59 and max(scales) < 0.91
    widths = np.array([o[o[:, 0] == 1][0, 3] - o[o[:, 0] == 1][0, 1] for _, o in drawn if (o[:, 0] == 1).any()])
    assert len(widths) > 200 and (widths > 0.95).mean() > 0.15


def test_no_crop_within_the_bounds_leaves_the_image(path: str) -> None:
    never = {
        "rand_crop_prob": 1.0,
        "min_crop_scales": 0.1,
        "max_crop_scales": 0.2,
        "min_crop_object_coverages": 0.9,
        "max_crop_trials": 3,
    }
    seen = [objects for image, objects in examples(path, **never) if not agree(image, objects, 1e-6)]
    assert all(len(objects) == 2 for objects in seen)


def test_colors_leave_places_alone(path: str) -> None:
    chances = {f"random_{n}_prob": 0.7 for n in ("hue", "saturation", "illumination", "contrast")}
    amounts = {
        "max_random_hue": 18,
        "max_random_saturation": 32,
        "max_random_illumination": 32,
        "max_random_contrast": 0.2,
    }
    values = set()
    for image, objects in examples(path, **chances, **amounts):
        agree(image, objects, 1e-6)
        values.add(float(image[0, 0]))
    assert len(values) > 40 and min(values) < 40 and max(values) > 80


def test_hue_lightness_saturation_and_back() -> None:
    """As OpenCV has them in bytes: hue in halves of degrees; the way back loses what rounding does."""
    samples = np.array(
        [[[255, 0, 0], [0, 255, 0], [0, 0, 255], [128, 128, 128], [255, 255, 255], [10, 60, 30]]], np.uint8
    )
    found = np.moveaxis(colors.to_hls(samples), 0, 2)[0]
    assert found[:5].tolist() == [[0, 128, 255], [60, 128, 255], [120, 128, 255], [0, 128, 0], [0, 255, 0]]
    assert found[5].tolist() == [72, 35, 182]
    many = np.random.RandomState(0).randint(0, 256, (40, 50, 3)).astype(np.uint8)
    assert np.abs(colors.from_hls(colors.to_hls(many)).astype(int) - many).max() <= 6


def test_a_new_order_each_epoch(path: str) -> None:
    made = mx.io.ImageDetRecordIter(path_imgrec=path, data_shape=(3, 6, 8), batch_size=24, shuffle=True, seed=1)
    orders = []
    for _ in range(2):
        orders.append([int(i) for batch in made for i in batch.index])
        made.reset()
    assert orders[0] != orders[1] and all(sorted(order) == list(range(24)) for order in orders)


def test_labels_that_are_none(tmp_path: Path) -> None:
    for numbers in ([1], [2, 4, 0, 0, 0, 1, 1], [1, 5, 0, 0, 0, 1, 1], [2, 5, 0, 0, 0, 1, 1, 4], [9, 5, 0, 0, 0, 1, 1]):
        writer = mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
        header = mx.recordio.IRHeader(0, np.array(numbers, np.float32), 0, 0)
        writer.write(mx.recordio.pack(header, png(np.zeros((4, 4, 3), np.uint8))))
        writer.close()
        with pytest.raises(FormatError, match="got a label of"):
            mx.io.ImageDetRecordIter(path_imgrec=str(tmp_path / "a.rec"), data_shape=(3, 4, 4), batch_size=1)
    with (
        pytest.warns(UserWarning, match="Cannot find argument 'rand_crop'; ignored"),
        pytest.raises(FormatError, match="got a label of"),
    ):
        mx.io.ImageDetRecordIter(
            path_imgrec=str(tmp_path / "a.rec"), data_shape=(3, 4, 4), batch_size=1, rand_crop=True
        )
