"""The precision of weights: as what constant matrices of products are held where graphs are compiled for inference.

float32 is as they are. bfloat16 halves what has to be read of them, int8 quarters it, and both cost accuracy: whoever wants that
says so, for all networks here or for one (``hybridize(precision=...)``), and is told what it costs (``precision_report``).
Decision 0023."""

from __future__ import annotations

from typing import Any

from .changes import backends_changed

FLOAT32 = "float32"
PRECISIONS = (FLOAT32, "bfloat16", "int8")

_chosen = FLOAT32


def check_precision(name: Any, asked: str) -> str:
    """The precision of that name. asked: who asks, for the message. Raises ValueError for any other name."""
    if not isinstance(name, str) or name not in PRECISIONS:
        raise ValueError(f"{asked}: got {name!r}, wanted one of {', '.join(PRECISIONS)}")
    return name


def precision() -> str:
    """The precision of networks that have none of their own, as set_precision has it.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.precision()
    'float32'
    """
    return _chosen


def set_precision(name: str) -> str:
    """Hold constant weights of products (FullyConnected, dot, MatMul, Gemm) as "bfloat16" or "int8" from now on, in networks
    that are compiled for inference and say nothing else; "float32" for weights as they are, as at first. Gives what was set
    before.

    Sums stay float32, and so do the weights of what trains, has gradients taken or is ``precise``, and those in bodies of
    control flow. Raises ValueError for another name.

    Examples
    --------
    >>> from gluonnx import mx
    >>> before = mx.set_precision("bfloat16")
    >>> mx.precision()
    'bfloat16'
    >>> _ = mx.set_precision(before)
    """
    global _chosen
    before, _chosen = _chosen, check_precision(name, "set_precision")
    if before != _chosen:
        backends_changed()
    return before
