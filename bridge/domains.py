"""Numbers that inputs take, as a graph's operators say it: what means something, what is defined beyond that, what is expected."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hybrid.core.op import Domain
from hybrid.ir.graph import Entry, Node
from hybrid.ir.infer import Inference
from hybrid.ir.strict import is_strict

from .stems import JOINS, expected


class Taken(NamedTuple):
    """Numbers that an input takes."""

    domain: Domain | None = None
    """Those that mean something to the operators which read it; None for any."""
    accepted: Domain | None = None
    """Those of which the operators say what becomes of them: the domain, and what is moved into it."""
    expected: Domain | None = None
    """Those that the first operators expect where none has a domain."""
    rows: int = 0
    """Rows of the table that it picks from; 0 where it picks from none."""
    mask: bool = False
    """True for ones where something is, and zeros where nothing is: padding."""

    def both(self, other: Taken) -> Taken:
        """Numbers that two readers take."""
        domain, accepted = (
            b if a is None else a if b is None else intersect(a, b)
            for a, b in ((self.domain, other.domain), (self.accepted, other.accepted))
        )
        return Taken(
            domain,
            accepted,
            self.expected or other.expected,
            max(self.rows, other.rows),
            self.mask or other.mask,
        )


def numbers_taken(inference: Inference, params: Mapping[str, np.ndarray] | None = None) -> dict[str, Taken]:
    """By name of a graph's variables, from the operators that read them, also through operators that only move values. params:
    by which the first operators may scale an input."""
    graph = inference.graph
    found: dict[tuple[int, int], Taken] = {}
    for node in reversed(graph.nodes):  # readers before what they read
        if node.op is None:
            continue
        ins = [inference.spec(e).shape for e in node.inputs]
        passed = _passed(node, found.get((id(node), 0)))
        for position, entry in enumerate(node.inputs):
            name = node.op.input_names()[position]
            domain = node.op.domain(name, ins)
            own = passed if position == 0 or node.op.name in JOINS else None
            if domain is not None:
                picks = node.op.picks not in ("", name) and domain.integer
                accepted = node.op.accepts(name, ins) or domain
                if is_strict(node):  # one round is all that it goes
                    accepted = Domain(-domain.high - 1, domain.high, domain.integer)
                own = Taken(domain, accepted, rows=int(domain.high) + 1 if picks else 0)
            if own is not None:
                key = (id(entry.node), entry.index)
                have = found.get(key)
                found[key] = own if have is None else have.both(own)
    first, readers = expected(graph, params), graph.uses()
    out: dict[str, Taken] = {}
    for node in graph.variables():
        own = found.get((id(node), 0), Taken())._replace(expected=first.get(node.name))
        if own.domain is None and own.expected is None:
            own = own._replace(mask=_is_mask(node, inference.spec(Entry(node)).dtype, readers))
        out[node.name] = out[node.name].both(own) if node.name in out else own
    return out


def _passed(node: Node, result: Taken | None) -> Taken | None:
    """Numbers that a node takes as its first input by what its readers take."""
    assert node.op is not None
    if result is None or node.op.only_moves_data or node.op.name in JOINS:
        return result
    limits = _limits(node)
    if limits is None or result.domain is None:
        return None
    low, high = limits
    own, reach = Domain(low, high, result.domain.integer), 2 * (high - low) + 3
    accepted = Domain(low - reach, high + reach, own.integer)  # what is beyond is moved inside
    return result._replace(domain=intersect(result.domain, own), accepted=accepted)


def _limits(node: Node) -> tuple[float, float] | None:
    """The least and the greatest number that a node clips to; None where it does not, or they are not known."""
    assert node.op is not None
    if node.op.name == "clip":
        found = [getattr(node.op, "a_min", None), getattr(node.op, "a_max", None)]
    elif node.op.name == "_onnx_Clip":
        named = dict(zip(node.op.input_names(), node.inputs))
        values = [getattr(named[n].node.op, "value", None) if n in named else None for n in ("min", "max")]
        found = [None if v is None or np.size(v) != 1 else float(np.reshape(v, ())) for v in values]
    else:
        return None
    low, high = found
    return None if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)) else (low, high)


BLOCKING = 100
"""The least that a mask's zeros are multiplied by, so that softmax leaves them out."""


def _is_mask(
    variable: Node, dtype: np.dtype | None, readers: Mapping[tuple[int, int], Sequence[tuple[Node, int]]]
) -> bool:
    """True for an input that says where something is: whole numbers that are called a mask, or that are taken from 1 to be
    multiplied by a large negative number, held against 0 or 1, or made truths."""
    whole = dtype is not None and dtype.kind in "iu"
    if whole and "mask" in variable.name.lower():
        return True
    left, turned = [(variable, False)], {id(variable)}
    while left:
        node, is_turned = left.pop()
        for reader, position in readers.get((id(node), 0), ()):
            op = reader.op
            if op is None or position or id(reader) in turned:
                continue
            name, scalar = op.name, float(getattr(op, "scalar", math.nan))
            if whole and (
                (name == "Cast" and getattr(op, "dtype", "") == np.bool_) or (name in COMPARED and scalar in (0, 1))
            ):
                return True
            if is_turned and name == "_mul_scalar" and scalar <= -BLOCKING:
                return True
            if op.only_moves_data or name == "Cast" or (name == "_rminus_scalar" and scalar == 1 and not is_turned):
                turned.add(id(reader))
                left.append((reader, is_turned or name == "_rminus_scalar"))
    return False


COMPARED = ("_equal_scalar", "_not_equal_scalar", "_greater_scalar")
"""Comparisons that tell a mask's ones from its zeros."""


def intersect(a: Domain, b: Domain) -> Domain:
    """The intersection of two domains."""
    columns = zip(a.columns or [a] * len(b.columns), b.columns or [b] * len(a.columns))
    low, high, integer = max(a.low, b.low), min(a.high, b.high), a.integer or b.integer
    return Domain(low, high, integer, tuple(itertools.starmap(intersect, columns)))


def within_dtype(domain: Domain, dtype: np.dtype) -> Domain:
    """The part of a domain that a dtype holds; of whole numbers where it holds no others."""
    if dtype.kind not in "iu":
        return domain
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    columns = tuple(within_dtype(column, dtype) for column in domain.columns)
    return Domain(max(math.ceil(domain.low), least), min(math.floor(domain.high), most), True, columns)
