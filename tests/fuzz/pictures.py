"""Damaged pictures: pixels of the size that the file says, or refused."""

from __future__ import annotations

import io
import random
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

from hybrid.core.error import MXNetError
from hybrid.formats import images

from . import REFUSED, RIGHT
from .damage import damaged, number

SURFACE = "images"
FOLDER = Path(__file__).parents[2] / "fixtures" / "data"


def seeds() -> list[bytes]:
    found = [path.read_bytes() for path in sorted(FOLDER.glob("*")) if path.suffix in (".jpg", ".png", ".bmp")]
    picture = Image.fromarray(np.arange(768, dtype=np.uint8).reshape(16, 16, 3))
    for kind, mode in (
        ("PNG", "P"),
        ("PNG", "LA"),
        ("PNG", "I;16"),
        ("JPEG", "CMYK"),
        ("TIFF", "RGB"),
        ("GIF", "P"),
        ("WEBP", "RGB"),
    ):
        out = io.BytesIO()
        made = (
            Image.fromarray(np.arange(256, dtype=np.uint16).reshape(16, 16))
            if mode == "I;16"
            else picture.convert(mode)
        )
        made.save(out, kind)
        found.append(out.getvalue())
    return found


def mutate(rng: random.Random, seed: bytes) -> bytes:
    """The first bytes, where sizes stand, changed; or any."""
    if rng.random() < 0.5:
        return damaged(rng, seed)
    size = rng.choice((1, 2, 4))
    at = rng.randrange(min(len(seed), 200))
    value = number(rng, size)
    return seed[:at] + (value[::-1] if rng.random() < 0.5 else value) + seed[at + size :]


def judge(case: bytes) -> str:
    outcome = REFUSED
    for color in (1, 0, -1):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow's, of metadata
                pixels = images.decode(case, color)
        except MXNetError:
            continue
        assert pixels.dtype == np.uint8
        assert pixels.ndim == 2 if color == 0 else pixels.ndim == 3 if color == 1 else pixels.ndim in (2, 3)
        assert color != 1 or pixels.shape[2] == 3
        outcome = RIGHT
    return outcome
