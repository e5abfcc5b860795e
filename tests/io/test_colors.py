"""Colors varied in bytes: what MXNet 1.9.1 gave for a picture is what these functions give for some amount.

MXNet draws amounts that nobody can ask for. Recorded on 2026-11-29 with real MXNet 1.9.1 (ImageRecordIter with one setting, batches
of 64 times the same picture, a PNG), a picture each: its four colors as they came out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid.io import colors

PICTURE = np.array([[[115, 90, 60], [230, 180, 120]], [[100, 100, 100], [200, 200, 200]]], np.uint8)
FACTORS = np.linspace(0.5, 1.5, 4001)
MXNET: dict[str, Any] = {
    "brightened": [
        [[69, 54, 36], [139, 109, 72], [60, 60, 60], [121, 121, 121]],
        [[155, 121, 81], [255, 242, 161], [134, 134, 134], [255, 255, 255]],
        [[119, 93, 62], [238, 187, 124], [104, 104, 104], [207, 207, 207]],
    ],
    "contrasted": [
        [[121, 103, 80], [206, 169, 125], [110, 110, 110], [184, 184, 184]],
        [[108, 75, 36], [255, 193, 114], [88, 88, 88], [219, 219, 219]],
        [[110, 79, 42], [251, 190, 116], [91, 91, 91], [214, 214, 214]],
    ],
    "saturated": [
        [[116, 90, 59], [232, 180, 119], [100, 100, 100], [200, 200, 200]],
        [[122, 91, 55], [244, 183, 109], [100, 100, 100], [200, 200, 200]],
        [[101, 87, 71], [203, 175, 141], [100, 100, 100], [200, 200, 200]],
    ],
    "hue": [
        [[116, 60, 60], [230, 120, 120], [100, 100, 100], [200, 200, 200]],
        [[116, 81, 60], [230, 160, 120], [100, 100, 100], [200, 200, 200]],
    ],
    "saturation": [
        [[121, 90, 55], [235, 179, 115], [106, 94, 94], [203, 197, 197]],
        [[123, 90, 53], [236, 179, 114], [108, 92, 92], [205, 195, 195]],
        [[114, 90, 62], [228, 179, 122], [100, 100, 100], [200, 200, 200]],
    ],
    "lightness": [
        [[85, 66, 45], [223, 157, 81], [77, 77, 77], [177, 177, 177]],
        [[169, 132, 89], [243, 218, 189], [141, 141, 141], [241, 241, 241]],
        [[134, 104, 70], [234, 192, 144], [114, 114, 114], [214, 214, 214]],
    ],
    "lighted": [
        [[104, 84, 59], [219, 174, 119], [89, 94, 99], [189, 194, 199]],
        [[79, 52, 22], [194, 142, 82], [64, 62, 62], [164, 162, 162]],
        [[75, 52, 29], [190, 142, 89], [60, 62, 69], [160, 162, 169]],
    ],
}


@pytest.mark.parametrize("name", ["brightened", "contrasted", "saturated"])
def test_factors_give_what_mxnet_gave(name: str) -> None:
    for want in MXNET[name]:
        found = [f for f in FACTORS if (getattr(colors, name)(PICTURE, f).reshape(4, 3) == want).all()]
        assert found and max(found) - min(found) < 0.02


@pytest.mark.parametrize("name", ["hue", "saturation", "lightness"])
def test_amounts_give_what_mxnet_gave(name: str) -> None:
    place = ["hue", "saturation", "lightness"].index(name)
    for want in MXNET[name]:
        every = (tuple(amount if i == place else 0 for i in range(3)) for amount in range(-50, 51))
        assert any((colors.shifted(PICTURE, amounts).reshape(4, 3) == want).all() for amounts in every)  # type: ignore[arg-type]


def test_lights_give_what_mxnet_gave() -> None:
    """A color that lies on the principal components, the same for all pixels."""
    for want in MXNET["lighted"]:
        shift = np.array(want[3]) - 200
        alpha = np.linalg.solve(colors.COMPONENTS * colors.DEVIATIONS, shift)
        assert (colors.lighted(PICTURE, alpha).reshape(4, 3) == want).all() and np.abs(alpha).max() < 4


def test_bytes_in_and_out() -> None:
    """Values that a byte cannot hold are the nearest that it can; nothing else is changed by an amount of none."""
    many = np.random.RandomState(0).randint(0, 256, (40, 50, 3)).astype(np.uint8)
    for vary in (colors.brightened, colors.contrasted, colors.saturated):
        assert (vary(many, 1.0) == many).all()
        strong = vary(many, 3.0)
        assert strong.dtype == np.uint8 and strong.max() == 255
    assert (colors.lighted(many, [0, 0, 0]) == many).all()
    assert (colors.lighted(many, [-9, 0, 0]) == 255).all() and (colors.lighted(many, [9, 0, 0]) == 0).all()
    assert np.abs(colors.shifted(many, (0, 0, 0)).astype(int) - many).max() <= 6
