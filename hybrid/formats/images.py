"""Images to and from compressed bytes. The one place that uses Pillow, which is optional: ``pip install pillow``."""

from __future__ import annotations

import functools
import io
import logging
from typing import Any

import numpy as np

from ..core.error import FormatError, MXNetError

LARGEST = 1 << 28
"""Images of more pixels are refused, whatever a header claims."""
ALWAYS = 1 << 24
"""Pixels that any file may claim to have."""
DENSEST = 8 * 1032
"""Pixels a byte that a file may claim beyond that: one bit each, deflated as far as deflate can."""
READ = ("JPEG", "PNG", "BMP", "DIB", "WEBP", "TIFF", "PPM", "GIF", "JPEG2000")
"""Pillow's names of what is read. Some of the others start programs, and MXNet reads none of them."""
FORMATS = {
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".png": "PNG",
    ".bmp": "BMP",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}


def _pillow() -> Any:
    """Pillow's module Image. Raises MXNetError where Pillow is not installed."""
    try:
        from PIL import Image  # type: ignore[import-not-found]
    except ImportError:
        raise MXNetError("images need the package Pillow: pip install pillow") from None
    _quieten()
    return Image


@functools.cache
def _quieten() -> None:
    """Keep what Pillow says of every part of a file out of the logs of programs that log at DEBUG, as MXNet's examples do. A level
    that somebody has set stays."""
    logger = logging.getLogger("PIL")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)


@functools.cache
def _readable(images: Any) -> list[str]:
    """Those of READ that this Pillow was built with."""
    images.init()
    return [name for name in READ if name in images.OPEN]


def decode(data: Any, color: int = 1) -> np.ndarray:
    """The pixels of an image as uint8: (height, width, 3) in the order red, green, blue, or (height, width) for gray.

    color: 1 always three channels, 0 gray, -1 as stored (gray, three, or with opacity four).
    Raises FormatError for bytes that are no image or are cut off, MXNetError without Pillow."""
    images = _pillow()
    data = bytes(data)
    if not data:
        raise FormatError("an image of 0 bytes")
    try:
        pixels, kind = _decode(images, data, color)
    except FormatError:
        raise
    except Exception as error:  # a damaged picture brings Pillow's readers to raise nearly anything
        raise FormatError(f"cannot decode an image of {len(data)} bytes: {error}") from error
    return pixels if color or pixels.ndim == 2 else _gray(pixels, kind)


def _decode(images: Any, data: bytes, color: int) -> tuple[np.ndarray, str | None]:
    """The pixels as decode gives them, but in color where gray is to be made of it, and the kind of file."""
    image = images.open(io.BytesIO(data), formats=_readable(images))
    most = min(LARGEST, max(ALWAYS, DENSEST * len(data)))
    if image.width * image.height > most:
        raise FormatError(
            f"an image of {image.width}x{image.height} pixels; the most is {most} for {len(data)} bytes, 2**28 at all"
        )
    kind = image.format
    if not color:
        image.draft("L", image.size)  # brightness is what a JPEG holds
    image.load()
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        # 16 bits a channel: the upper 8 count
        image = images.fromarray((np.asarray(image, np.float64) / 256).clip(0, 255).astype(np.uint8))
    if color < 0:
        color_of_mode = {"1": "L", "L": "L", "LA": "RGBA", "PA": "RGBA", "RGBA": "RGBA"}
        transparent = "transparency" in image.info and image.mode in ("P", "RGB", "L")
        wanted = "RGBA" if transparent else color_of_mode.get(image.mode, "RGB")
    else:
        wanted = "RGB" if color or image.mode not in ("1", "L") else "L"
    return np.array(image if image.mode == wanted else image.convert(wanted)), kind


def _gray(pixels: np.ndarray, kind: str | None) -> np.ndarray:
    """The brightness of colors, rounded as OpenCV's readers do: that of PNG cuts off."""
    red, green, blue = np.moveaxis(pixels.astype(np.int64), 2, 0)
    if kind == "PNG":
        return (red * 9797 + green * 19234 + blue * 3737 >> 15).astype(np.uint8)
    return (red * 4899 + green * 9617 + blue * 1868 + 8192 >> 14).astype(np.uint8)


def encode(pixels: np.ndarray, extension: str = ".jpg", quality: int = 95) -> bytes:
    """Pixels (uint8, as ``decode`` gives them) compressed as the file extension says.

    Raises MXNetError for another extension, shape or dtype, or without Pillow."""
    images = _pillow()
    kind = FORMATS.get(extension.lower())
    if kind is None:
        raise MXNetError(f"cannot encode images as {extension!r}; wanted one of {', '.join(FORMATS)}")
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.dtype != np.uint8 or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))):
        raise MXNetError(
            f"cannot encode an image of {pixels.dtype}{pixels.shape}; wanted uint8, (height, width) or (height, width, 3 or 4)"
        )
    if kind == "JPEG" and pixels.ndim == 3:
        pixels = pixels[:, :, :3]
    options = {"JPEG": {"quality": quality}, "PNG": {"compress_level": min(quality, 9)}, "WEBP": {"quality": quality}}
    out = io.BytesIO()
    images.fromarray(np.ascontiguousarray(pixels)).save(out, kind, **options.get(kind, {}))
    return out.getvalue()
