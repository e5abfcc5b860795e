"""The compiled part (hybrid/native) as a backend. What it makes of a graph is in lower.py, which loads when there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .. import native
from ..core.op import Op
from .backend import SMALL, Backend, Bound, Request
from .interpreter import Interpretation
from .stages import decided, in_stages
from .told import told

HEAVY = 1 << 13
"""Elements from which operators with a kernel of their own are worth a call of the compiled part."""


class Compiled(Backend):
    """Kernels of the CPU level in use; it declines everything where there is none."""

    def bind(self, request: Request) -> Bound | None:
        if native.level() is None:
            return None
        from .lower import lower

        def otherwise() -> Bound | None:
            return decided(request) or in_stages(request, Interpretation(request))

        return lower(request) or told(request, otherwise) or otherwise()

    def trace(self, request: Request) -> Callable[[tuple[int, ...]], Bound | None] | None:
        if native.level() is None:
            return None
        from .lower import lower_for_sizes

        lowered = lower_for_sizes(request)
        return None if lowered is None else lowered.program

    def takes(self, op: Op, work: int) -> bool:
        """True for what is large, and for a kernel that NumPy is no match for, other than in passing over memory once."""
        worth = work > SMALL or (work >= HEAVY and op.name in native.names())
        return worth and not op.mutates and "rng" not in op.needs

    def update(self, op: Op, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> bool:
        return op.compute_into(arrays, outs)

    def warn_if_missing(self) -> None:
        native.warn_not_compiled()

    def release_memory(self) -> int:
        return native.release_memory()
