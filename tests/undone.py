"""Mixed precision switched on for a while, and undone for the tests that follow: a program cannot undo it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

from hybrid import nd, sym
from hybrid.contrib import amp
from hybrid.contrib.amp import casting
from hybrid.core import functions


@contextlib.contextmanager
def amp_undone() -> Iterator[None]:
    """``with`` block in which amp.init may be called once, and after which it was not."""
    with contextlib.ExitStack() as stack:
        for name, value in (
            ("_amp_initialized", False),
            ("_amp_loss_scale_initialized", False),
            ("_loss_scaler", None),
        ):
            stack.enter_context(mock.patch.object(amp.amp, name, value))
        for module in (nd, sym):
            stack.enter_context(mock.patch.object(module, "Custom", module.Custom))
        try:
            yield
        finally:
            functions.AROUND.clear()
            functions.OPERANDS.clear()
            for namespace in functions.NAMESPACES:
                namespace._forget()
            casting._forget(nd)
