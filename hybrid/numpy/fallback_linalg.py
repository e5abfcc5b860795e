"""Functions of mx.np.linalg that are NumPy's own; see fallback.py."""

from __future__ import annotations

from numpy.linalg import cond, lstsq, matrix_power, matrix_rank, multi_dot, qr

__all__ = ["cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr"]
