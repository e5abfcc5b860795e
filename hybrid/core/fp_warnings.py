"""NumPy without warnings: inf and nan are values, not events, as in MXNet."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


class _WithoutWarnings(threading.local):
    """``run(function, *arguments)`` calls a function without warnings.

    NumPy 2 keeps that setting in a context variable, and entering a context of our own costs a fifteenth of its
    ``errstate``. A context cannot be entered twice, so inside of it ``run`` is the plain call."""

    run: Callable[..., Any]

    def __init__(self) -> None:
        if int(np.__version__.partition(".")[0]) >= 2:
            context = contextvars.Context()
            context.run(np.seterr, all="ignore")
            self.run = context.run
        else:
            self.run = np.errstate(all="ignore")(_call)


WITHOUT_WARNINGS = _WithoutWarnings()


def ignoring_fp_warnings(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function without warnings; what it calls may do the same."""
    run = WITHOUT_WARNINGS.run
    WITHOUT_WARNINGS.run = _call
    try:
        return run(function, *arguments)
    finally:
        WITHOUT_WARNINGS.run = run
