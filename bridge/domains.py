"""Numbers that inputs take, as a graph's operators say it: what means something, what is defined beyond that, what is expected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hybrid.core.op import Domain
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import Inference
from hybrid.ir.strict import is_strict


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


JOINS = ("Concat", "stack", "_npi_concatenate", "_npi_stack")
"""Operators that put values of all their inputs into one array."""


def numbers_taken(inference: Inference) -> dict[str, Taken]:
    """By name of a graph's variables, from the operators that read them, also through operators that only move values."""
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
    first, readers = expected(graph), graph.uses()
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


STEM = ("_copy", "identity", "Cast", "BlockGrad", "_minus_scalar", "_plus_scalar", "_mul_scalar", "_div_scalar")
"""Operators by which networks bring pixels to small numbers."""
PIXELS = Domain(0, 255)
DEVIATIONS = 10
"""The most standard deviations that pixels are taken to be wide: those of pictures are a tenth of 255 at the least."""


class Stem(NamedTuple):
    """Outcome of a graph's first operators for an input x: x * factor + shift."""

    shift: float
    factor: float
    last: Node
    """The last of them."""

    @property
    def expects(self) -> Domain | None:
        """Numbers that come out of it as small ones, about from -1 to 1; None where it does not make small ones of larger ones."""
        if not 0 < abs(self.factor) < 0.5:
            return None
        low, high = sorted(((-1 - self.shift) / self.factor, (1 - self.shift) / self.factor))
        if self.shift == 0:
            low, high = 0.0, max(-low, high)
        near = abs(low - PIXELS.low) < 4 and abs(high - PIXELS.high) < 4
        # one deviation to either side of the mean of pixels, as (x / 255 - 0.6) / 0.25 has it
        inside = self.shift != 0 and PIXELS.low <= low and high <= PIXELS.high and abs(self.factor) * 255 <= DEVIATIONS
        return PIXELS if near or inside else Domain(low, high)


def stem_of(readers: Mapping[tuple[int, int], Sequence[tuple[Node, int]]], variable: Node) -> Stem:
    """Outcome of a graph's first operators for a variable that nothing else reads. readers: as Graph.uses tells them."""
    node, shift, factor = variable, 0.0, 1.0
    while True:
        following = readers.get((id(node), 0), ())
        op = following[0][0].op if len(following) == 1 and not following[0][1] else None
        if op is None or not (op.name in STEM or op.only_moves_data):
            return Stem(shift, factor, node)
        node = following[0][0]
        assert node.op is not None
        scalar = float(getattr(node.op, "scalar", 0.0))
        if node.op.name in ("_minus_scalar", "_plus_scalar"):
            shift += scalar if node.op.name == "_plus_scalar" else -scalar
        elif scalar and node.op.name in ("_mul_scalar", "_div_scalar"):
            by = scalar if node.op.name == "_mul_scalar" else 1 / scalar
            shift, factor = shift * by, factor * by


def expected(graph: Graph) -> dict[str, Domain]:
    """Numbers that inputs hold by what the graph's first operators make of them: (x - 127.5) / 128 expects pixels. Those that
    nothing scales are left out."""
    readers = graph.uses()
    found = {v.name: stem_of(readers, v).expects for v in graph.variables()}
    return {name: domain for name, domain in found.items() if domain is not None}


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
    return Domain(max(a.low, b.low), min(a.high, b.high), a.integer or b.integer)


def within_dtype(domain: Domain, dtype: np.dtype) -> Domain:
    """The part of a domain that a dtype holds; of whole numbers where it holds no others."""
    if dtype.kind not in "iu":
        return domain
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return Domain(max(math.ceil(domain.low), least), min(math.floor(domain.high), most), integer=True)
