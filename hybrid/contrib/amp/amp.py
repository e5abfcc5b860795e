"""Automatic mixed precision is not there: only what programs ask before they use it (GluonNLP reads ``_amp_initialized``)."""

from __future__ import annotations

from typing import Any

from ...core.error import MXNetError

__all__ = ["init"]

_amp_initialized = False


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Any = None,
    conditional_fp32_ops: Any = None,
    fp32_ops: Any = None,
) -> None:
    """Raises MXNetError, always: computing in float32 all the same would give other numbers than were asked for."""
    raise MXNetError(
        f"amp.init: operators cannot be switched to {target_dtype} as a whole; leave amp out to compute in float32, "
        "or cast the network with net.cast('float16')"
    )
