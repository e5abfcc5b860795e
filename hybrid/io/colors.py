"""Colors of images in bytes, (height, width, 3), red first, varied as MXNet's iterators in C++ do: each step gives bytes again,
rounded and cut off at 0 and 255 (MXNet 1.9.1 with OpenCV 3.4.2, whose answers are in tests/io/test_colors.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..image.augment import COLORS

DEVIATIONS, COMPONENTS = COLORS


def brightened(pixels: np.ndarray, factor: float) -> np.ndarray:
    """Pixels times a factor."""
    return _bytes(pixels * np.float32(factor))


def contrasted(pixels: np.ndarray, factor: float) -> np.ndarray:
    """The distance from the mean gray times a factor."""
    mean = _gray(pixels).mean()
    return _bytes(pixels * np.float32(factor) + np.float32((1 - factor) * mean))


def saturated(pixels: np.ndarray, factor: float) -> np.ndarray:
    """The distance from each pixel's gray times a factor."""
    return _bytes(pixels * np.float32(factor) + (_gray(pixels) * np.float32(1 - factor))[:, :, None])


def lighted(pixels: np.ndarray, alpha: Any) -> np.ndarray:
    """One color added to all pixels: the principal components of ImageNet's colors, times their deviations, times three numbers."""
    return _bytes(pixels + ((COMPONENTS * alpha) @ DEVIATIONS).astype(np.float32))


def shifted(pixels: np.ndarray, amounts: tuple[int, int, int]) -> np.ndarray:
    """Whole numbers added to hue (of 180), saturation and lightness (of 255), as OpenCV has them in bytes."""
    hue, saturation, lightness = amounts
    planes = to_hls(pixels)
    for plane, amount, most in zip(planes, (hue, lightness, saturation), (180, 255, 255)):
        plane += amount
        plane.clip(0, most, out=plane)
    return from_hls(planes)


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.rint(values).clip(0, 255).astype(np.uint8)


def _gray(pixels: np.ndarray) -> np.ndarray:
    """Gray in bytes, float32. MXNet holds blue first where it asks OpenCV for the gray of red first: red and blue have each other's
    weights."""
    red, green, blue = np.moveaxis(pixels.astype(np.int32), 2, 0)
    return ((1868 * red + 9617 * green + 4899 * blue + 8192) >> 14).astype(np.float32)


def to_hls(pixels: np.ndarray) -> np.ndarray:
    """Hue (of 180), lightness and saturation (of 255) of RGB: (3, height, width), whole numbers in float32."""
    red, green, blue = np.ascontiguousarray(np.moveaxis(pixels, 2, 0)).astype(np.float32) / 255
    most, least = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    spread, total = most - least, most + least
    some = np.where(spread > 0, spread, 1)
    planes = np.empty((3, *spread.shape), np.float32)
    planes[2] = spread / np.where(spread > 0, np.where(total < 1, total, 2 - total), 1) * 255
    planes[1] = total / 2 * 255
    hue = np.where(most == green, 2 + (blue - red) / some, 4 + (red - green) / some)
    hue = np.where(most == red, (green - blue) / some, hue) * 30
    planes[0] = np.where(hue < 0, hue + 180, hue)
    return np.rint(planes, out=planes)


def from_hls(planes: np.ndarray) -> np.ndarray:
    """RGB, uint8, of what to_hls gives."""
    hue, lightness, saturation = planes[0] / 30 * 2, planes[1] / 255, planes[2] / 255
    reach = saturation * np.minimum(lightness, 1 - lightness)
    pixels = np.empty((*hue.shape, 3), np.uint8)
    for channel, offset in enumerate((0, 8, 4)):  # of red, green and blue on a circle of 12
        place = offset + hue
        place = np.where(place >= 12, place - 12, place)
        level = lightness - reach * np.clip(np.minimum(place - 3, 9 - place), -1, 1)
        pixels[:, :, channel] = np.rint(level * 255).clip(0, 255)
    return pixels
