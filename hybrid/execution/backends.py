"""The backends that there are, in one list, and which of them runs what."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..core.changes import backends_changed
from ..core.error import MXNetError
from ..core.op import Op
from ..ir.infer import RAISED
from .backend import Backend, Bound, Request
from .compiled import Compiled
from .hooks import HOOKS
from .interpreter import NumPy

NUMPY = NumPy()
"""The reference: it runs what all others decline, what they are held against, and what is to be observed."""
BACKENDS: list[Backend] = [Compiled(), NUMPY]
"""In the order in which they are asked."""


def register(backend: Backend) -> None:
    """Ask this backend first from now on."""
    BACKENDS.insert(0, backend)
    backends_changed()


def unregister(backend: Backend) -> None:
    """Ask this backend no more."""
    BACKENDS.remove(backend)
    backends_changed()


def bind(request: Request) -> Bound | None:
    """The graph, bound to the first backend that does not decline it; None where that is NumPy."""
    for backend in BACKENDS:
        if backend is NUMPY:
            break
        if (bound := backend.bind(request)) is not None:
            return bound
    return None


def trace(make: Callable[[], Request]) -> Callable[[tuple[int, ...]], Bound | None] | None:
    """The graph for all sizes that its trace holds for, see Backend.trace, by the backend that is asked first. None where that
    is none, or where the graph cannot be traced: it is then bound for each set of sizes, and who is wrong told so.

    make: infers with sizes that stand for others, and may raise whatever a rule does that takes none but numbers."""
    if BACKENDS[0] is NUMPY:
        return None
    try:
        return BACKENDS[0].trace(make())
    except (MXNetError, *RAISED):
        return None


def takes(op: Op, work: int) -> bool:
    """True where an operator that is called alone is worth being bound by another backend than NumPy, see Backend.takes."""
    return any(b is not NUMPY and b.takes(op, work) for b in BACKENDS)


def update(op: Op, work: int, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> bool:
    """Apply an operator that always writes to its inputs, see Backend.update; False, and nothing done, where it has to be applied
    as any other: for who takes it, or to be seen by hooks."""
    if HOOKS:
        return False
    for backend in BACKENDS:
        if backend.update(op, arrays, outs):
            return True
        if backend.takes(op, work):
            break
    return False


def warn_of_missing() -> None:
    """To be called when NumPy is to run something large: backends that would have taken it say why they are not there."""
    for backend in BACKENDS:
        backend.warn_if_missing()


def release_memory() -> int:
    """Give back to the system what backends keep and do not use; gives its size in bytes."""
    return sum(b.release_memory() for b in BACKENDS)
