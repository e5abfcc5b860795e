"""Positions that may not lie outside of what they pick from.

ONNX's Gather takes positions from -n to n - 1 and refuses others. MXNet has no operator of which that is true: its take clips, goes
round, or refuses negative ones too. What is imported is a take that goes round, so that MXNet loads it, and the node says that
positions beyond one round are an error. MXNet passes over that, we do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..core.error import OpError, at_node
from ..core.shapes import UNKNOWN, is_known
from ..ops.casting import Cast
from ..ops.creation import ArangeLike
from .graph import Graph, Node
from .infer import Inference

POSITIONS = "__positions__"
"""The attribute of such a node."""
STRICT = "strict"
"""Its value."""


def is_strict(node: Node) -> bool:
    """True for a node that refuses positions outside of -n to n - 1."""
    return node.attrs.get(POSITIONS) == STRICT


class Picks(NamedTuple):
    """Positions that a graph is given, and what they pick from."""

    node: str
    operator: str
    """Names of the node that picks, and of its operator."""
    positions: str
    """Name of the variable that holds them."""
    table: str
    """Name of the variable that they pick from,"""
    axis: int
    """and along which axis."""

    def refuse(self, positions: np.ndarray, size: int) -> None:
        """Raise OpError for positions that are outside."""
        if outside(positions, size):
            raise at_node(
                OpError,
                self.node,
                self.operator,
                f"got positions {positions.min()} to {positions.max()} in input {self.positions}, wanted {-size} to {size - 1}: "
                f"{self.table} has {size} rows",
            )


def outside(positions: np.ndarray, size: int) -> bool:
    """True where one is outside; where one is NaN too."""
    return bool(positions.size) and not (positions.min() >= -size and positions.max() < size)


def picks(graph: Graph) -> Iterator[Picks]:
    """Those of a graph that are given as they are, or moved and cast first. What is computed inside nobody looks at."""
    for node in graph.nodes:
        if node.op is None or not is_strict(node):
            continue
        table, places = node.inputs
        while not places.node.is_variable and _keeps_numbers(places.node):
            places = places.node.inputs[0]
        if places.node.is_variable and table.node.is_variable:
            axis = int(getattr(node.op, "axis", 0))
            yield Picks(node.name, node.op.name, places.node.name, table.node.name, axis)


def refuse_counted(inference: Inference) -> None:
    """Raise OpError where numbers that are counted up from 0, as many as there are places along an axis, go beyond the rows of what
    they pick from: a table of positions ends somewhere."""
    for node in inference.graph.nodes:
        if node.op is None or not is_strict(node):
            continue
        table, places = node.inputs
        while not places.node.is_variable and _keeps_numbers(places.node):
            places = places.node.inputs[0]
        made: Any = places.node.op
        if not places.node.means(ArangeLike) or (made.start, made.step, made.repeat) != (0, 1, 1):
            continue
        shape, rows = inference.spec(places).shape, inference.spec(table).shape
        axis = int(getattr(node.op, "axis", 0))
        if shape is not None and rows is not None and is_known(shape) and rows[axis] is not UNKNOWN:
            count = math.prod(shape)
            if count > rows[axis]:
                reason = (
                    f"got positions 0 to {count - 1}, wanted no more than {rows[axis] - 1}: "
                    f"{table.node.name} has {rows[axis]} rows"
                )
                raise at_node(OpError, node.name, node.op.name, reason)


def _keeps_numbers(node: Node) -> bool:
    return node.means(Cast) or (node.op is not None and node.op.only_moves_data)


def refuse(found: tuple[Picks, ...], array_of: Callable[[str], np.ndarray | None]) -> None:
    """Raise OpError where positions are outside of what they pick from. array_of: arrays by name of variable; None for one that
    nobody looks at."""
    for each in found:
        positions, table = array_of(each.positions), array_of(each.table)
        if positions is not None and table is not None:
            each.refuse(positions, table.shape[each.axis])
