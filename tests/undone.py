"""Ways to undo what a program does to the whole process, for the tests that follow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

from hybrid import nd, registry, sym
from hybrid.contrib import amp
from hybrid.contrib.amp import casting
from hybrid.core import functions
from hybrid.kvstore import KVStoreBase
from hybrid.ops import custom
from hybrid.optimizer import Optimizer


@contextlib.contextmanager
def amp_undone() -> Iterator[None]:
    """``with`` block in which amp.init may be called once, and after which it was not."""
    scaler = ("_loss_scaler", None)
    with contextlib.ExitStack() as stack:
        for name, value in (("_amp_initialized", False), ("_amp_loss_scale_initialized", False), scaler):
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


@contextlib.contextmanager
def registered_undone() -> Iterator[None]:
    """``with`` block after which no metric, initializer, optimizer, store or operator is registered that was not before."""
    with contextlib.ExitStack() as stack:
        for table in (*registry._TABLES.values(), Optimizer.opt_registry, KVStoreBase.kv_registry, custom.KNOWN):
            stack.enter_context(mock.patch.dict(table))
        yield
