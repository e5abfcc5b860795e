"""``mx.np.random``: NumPy's names of what draws random numbers, with parameters that are numbers or arrays of mx.np."""

from __future__ import annotations

from ..core.showing import from_functions
from ..np_functions.side import NP

__getattr__, __dir__ = from_functions(globals(), lambda name: getattr(NP.random, name), NP.random.names)
