"""``mx.np.linalg``: matrices factored, inverted and measured (np_functions/linalg.py); six functions are NumPy's own."""

from __future__ import annotations

from ..core.showing import from_functions
from ..np_functions.side import NP
from .fallback_linalg import cond, lstsq, matrix_power, matrix_rank, multi_dot, qr  # noqa: F401

__getattr__, __dir__ = from_functions(globals(), lambda name: getattr(NP.linalg, name), NP.linalg.names)
