"""Inputs as pictures, where they look like images."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from .result import Case

SIDE = 56
"""Pixels along the longer side of a picture."""
LEAST = 8
MOST = 4
"""Pictures of one input."""


def pictures_of(case: Case) -> dict[str, tuple[bytes, ...]]:
    """Small PNG images by input, of those that look like images."""
    found = {name: _images(case.feeds[name]) for name in case.shapes}
    return {name: images for name, images in found.items() if images}


def _images(array: np.ndarray) -> tuple[bytes, ...]:
    if array.ndim != 4 or array.dtype.kind not in "fu" or not array.size:
        return ()
    if array.shape[1] in (1, 3):
        array = array[:MOST].transpose(0, 2, 3, 1)
    elif array.shape[3] not in (1, 3):
        return ()
    if min(array.shape[1:3]) < LEAST:
        return ()
    step = -(-max(array.shape[1:3]) // SIDE)
    pixels = array[:MOST, ::step, ::step].astype(np.float64)
    low, high = (float(f(pixels[np.isfinite(pixels)], initial=0)) for f in (np.min, np.max))
    scaled = np.nan_to_num((pixels - low) / ((high - low) or 1), nan=0.0, posinf=1.0, neginf=0.0)
    return tuple(png((image * 255).round().astype(np.uint8)) for image in scaled)


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of (height, width, 1 or 3) bytes."""
    height, width, depth = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[depth], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(d)) + kind + d + struct.pack(">I", zlib.crc32(kind + d)) for kind, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
