"""Gradients in two bits a number, with what that loses carried over to the next: ``set_gradient_compression``.

Source: MXNet's gradient compression of type 2bit, after Seide et al., "1-bit stochastic gradient descent" (2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.error import MXNetError

PER_BYTE = 4
UP, DOWN = 3, 2
"""Codes of +threshold and -threshold; 0 is nothing."""
_SHIFTS = np.array([6, 4, 2, 0], np.uint8)


def threshold_of(settings: dict[str, Any]) -> float | None:
    """The threshold that compression_params ask for, None for type "none".

    Raises ValueError without a type, MXNetError for another one and for a threshold that is not above 0."""
    if "type" not in settings:
        raise ValueError("compression_params requires `type` to be set")
    unknown = sorted(set(settings) - {"type", "threshold"})
    if unknown:
        raise MXNetError(f"compression_params: got {', '.join(unknown)}, wanted type and threshold")
    kind, threshold = settings["type"], float(settings.get("threshold", 0.5))
    if kind == "none":
        return None
    if kind != "2bit":
        raise MXNetError(f"compression_params: got type {kind!r}, wanted '2bit' or 'none'")
    if not threshold > 0:
        raise MXNetError(f"compression_params: got threshold {threshold}, wanted one above 0")
    return threshold


def compress(values: np.ndarray, residual: np.ndarray, threshold: float) -> np.ndarray:
    """Codes of a flat float32 array, four to a byte. residual: what is left of it and of those before, kept up to date."""
    bound = np.float32(threshold)
    residual += values
    up, down = residual >= bound, residual <= -bound
    residual[up] -= bound
    residual[down] += bound
    codes = np.zeros(-(-len(values) // PER_BYTE) * PER_BYTE, np.uint8)
    codes[: len(values)] = UP * up.view(np.uint8) + DOWN * down.view(np.uint8)
    return np.bitwise_or.reduce(codes.reshape(-1, PER_BYTE) << _SHIFTS, axis=1)


def expand(codes: np.ndarray, count: int, threshold: float) -> np.ndarray:
    """The ``count`` numbers that codes stand for, float32."""
    parts = (codes[:, None] >> _SHIFTS) & 3
    meaning = np.array([0, 0, -threshold, threshold], np.float32)
    return meaning[parts.reshape(-1)[:count]]
