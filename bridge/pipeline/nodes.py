"""Nodes that are added to a network."""

from __future__ import annotations

from typing import Any

from hybrid.core.functions import attribute_text
from hybrid.core.op import lookup
from hybrid.ir.graph import Entry, Node


def apply(operator: str, name: str, *inputs: Entry, **attrs: Any) -> Entry:
    """The first output of an operator that is applied under a name."""
    texts = {k: attribute_text(v) for k, v in attrs.items()}
    return Entry(Node(lookup(operator).bind(**texts), name, inputs, texts))
