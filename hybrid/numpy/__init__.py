"""``mx.np``: NumPy's functions for arrays of MXNet, which record gradients and run on the engine.

The functions are defined in np_functions; what is not, is NumPy's own (fallback.py), outside of autograd.record().
"""

from __future__ import annotations

import numpy as onp

from .. import ndarray as _nd  # noqa: F401  what arrays of either face can do
from ..core.showing import from_functions
from ..eager.np_array import ndarray
from ..np_functions import methods, protocol  # noqa: F401  what arrays can do, and NumPy's functions with them
from ..np_functions.side import NP
from . import fallback, fallback_linalg, linalg, random  # noqa: F401

pi, e, inf, nan, newaxis = onp.pi, onp.e, onp.inf, onp.nan, None
NAN = NaN = nan
PINF, NINF, PZERO, NZERO = inf, -inf, 0.0, -0.0
float16, float32, float64 = onp.float16, onp.float32, onp.float64
uint8, int8, int32, int64, bool_ = onp.uint8, onp.int8, onp.int32, onp.int64, onp.bool_
bool = bool
finfo = onp.finfo
_STR_2_DTYPE_ = {
    **{t.__name__: t for t in (float16, float32, float64, uint8, int8, int32, int64)},
    "float": float64,
    "int": int64,
    "bool": bool,
    "bool_": bool_,
    "None": None,
}
ndarray.__module__ = __name__  # which pickles name
globals().update({name: getattr(fallback, name) for name in fallback.__all__})
for _name in fallback_linalg.__all__:
    setattr(NP.linalg, _name, getattr(fallback_linalg, _name))


__getattr__, __dir__ = from_functions(globals(), lambda name: getattr(NP, name), NP.names)
