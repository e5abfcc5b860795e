"""Choosing between arrays: which conditions go with which shapes."""

import pytest

from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer


def shape_of(condition: tuple[int, ...]) -> tuple[int, ...]:
    names = ("condition", "x", "y")
    node = Node(lookup("where").bind(), "where", [Entry(Node(None, n)) for n in names])
    return infer(Graph([Entry(node)]), {"condition": condition, "x": (2, 3), "y": (2, 3)}).spec(Entry(node)).shape


@pytest.mark.parametrize("condition", [(2, 3), (2,)])
def test_a_condition_has_the_shape_or_chooses_rows(condition: tuple[int, ...]) -> None:
    assert shape_of(condition) == (2, 3)


@pytest.mark.parametrize("condition", [(1, 3), (2, 1), (3,), (1,), (), (8, 2, 3)])
def test_a_condition_is_not_broadcast(condition: tuple[int, ...]) -> None:
    """MXNet 1.9.1 refuses each of these too."""
    with pytest.raises(OpError):
        shape_of(condition)
