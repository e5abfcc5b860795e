"""Sizes of inputs as the file declares them that a network was imported from.

An ONNX model means something at the sizes that its inputs declare: its constants may hold them, and runtimes refuse others. MXNet's
``__shape__`` is no more than a start for inference, which sizes that are given replace. So an imported input has both: what MXNet
reads, and an attribute that it passes over and that is held to here.
"""

from __future__ import annotations

import json
from typing import Any

from ..core.error import OpError
from ..core.shapes import UNKNOWN, MaybeShape, merge, show
from .graph import Node

SIZES = "__sizes__"
"""The attribute of such an input: a list in JSON, with names of axes of any size, and null for those without a name."""


def declare(shape: MaybeShape) -> dict[str, str]:
    """The attribute for a declared shape, of sizes, names and "?"; none where not even the rank is declared."""
    if shape is None:
        return {}
    sizes = [None if d is UNKNOWN or d == "?" else d if isinstance(d, str) else int(d) for d in shape]
    return {SIZES: json.dumps(sizes)}


def declared(node: Node) -> tuple[int | str | None, ...] | None:
    """The sizes that a variable is declared with, names, and None for axes of any size without one; None where it has no such
    declaration. Raises OpError for an attribute that is something else."""
    text = node.attrs.get(SIZES)
    if text is None:
        return None
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(
        d is None or isinstance(d, str) or (type(d) is int and d >= 0) for d in found
    ):
        raise OpError(f"variable {node.name}: {SIZES}={text!r} is not a list of sizes")
    return tuple(found)


def held(node: Node, given: MaybeShape) -> MaybeShape:
    """The shape of a variable that is given one, with the sizes that it declares. Raises OpError where both differ."""
    sizes = declared(node)
    if sizes is None:
        return given
    shape = tuple(d if isinstance(d, int) else UNKNOWN for d in sizes)
    try:
        return merge(given, shape)
    except ValueError:
        assert given is not None
        raise OpError(
            f"input {node.name}: got shape {show(given)}, wanted {show(tuple('?' if d is None else d for d in sizes))}, as the "
            f"ONNX model declares that this was imported from: its constants may hold these sizes. {_advice(node, given, shape)}"
        ) from None


def _advice(node: Node, given: tuple[Any, ...], shape: tuple[Any, ...]) -> str:
    if len(given) != len(shape):
        return "Give the axes that it has"
    other = [a for a, (g, d) in enumerate(zip(given, shape)) if g is not UNKNOWN and d is not UNKNOWN and g != d]
    if other == [0]:
        return "Import it with an open batch, which compares other sizes too: gluonnx import FILE.onnx --dynamic batch"
    axes = ",".join(f"{a}={f'd{a}' if a else 'batch'}" for a in other)
    return f"Import it with open axes, which compares other sizes too: gluonnx import FILE.onnx --dynamic {node.name}:{axes}"
