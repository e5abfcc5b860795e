"""``mx.npx``: what NumPy does not have: operators of neural networks for arrays of mx.np, the mode, and files."""

# ruff: noqa: F401  names that the module shows
from __future__ import annotations

from ..context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from ..core.showing import from_functions
from ..ndarray import waitall
from ..np_functions.side import NPX
from ..util import get_cuda_compute_capability, is_np_array, is_np_shape, reset_np, set_np
from . import random
from .utils import load, save

__getattr__, __dir__ = from_functions(globals(), lambda name: getattr(NPX, name), NPX.names, ("image",))
