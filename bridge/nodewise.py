"""Two models node by node: every tensor that both have, computed by each side from the same values.

What differs here is the node itself: nothing has been inherited. A difference is rounding when it is no more than the operator's
own tolerance; beyond that float64 decides. The node is evaluated in float64 on the same values, and again with these moved by one
unit in the last place: what float32 can give lies around the first by some times what the second moves. A result outside is a
fault, unless the *models* agree in float64: then a runtime computes this node badly, and the models are the same."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import onnx

from hybrid.core.attrs import HALVES, is_float, is_half
from hybrid.core.attrs import dtype as read_dtype
from hybrid.core.error import MXNetError
from hybrid.ir.graph import Entry
from hybrid.ir.infer import infer

from .compare import (
    TOLERANCES,
    Difference,
    Tolerance,
    close_within,
    compare,
    distance,
    rule_scales,
    slice_scales,
    statistics,
)
from .conditioning import native_of
from .engines import GIVEN, Arrays, Engine, EngineError, NativeEngine, Part, Tensor, in_groups
from .exact import epsilon
from .half import HalfEngine
from .pairing import Pairing, by_name, match
from .result import Case, Divergence
from .stems import depending

EXPOSED_BYTES = 96 << 20  # of tensors and of weights held at a time
DRAWS = 4  # of values moved by a unit in the last place
UNITS = 32.0  # how many times that response another float32 result may be off: sums in another order, Winograd
UNITS_COARSE = 4.0  # the same for float16 and bfloat16, which are computed in float32 and rounded once
OWN = 2.0  # how many times the rounding of one side, over several nodes, that of the other may be; and models in half precision
STEPS = 8.0  # units in the last place that may decide between two whole numbers
SHARP = (
    1024.0  # epsilons of a slice's scale up to which being within rounding is enough for a verdict; of half precision 1
)
FEW = 8.0  # units in the last place of a slice's scale that any runtime is off
RUNTIME = 1e-3  # of a tensor's scale that a runtime may be off where the models agree in float64
LARGE = 8  # operators in one piece from which on float64 has to say that the models agree: rounding hides more there

ROUNDING = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinear", "QGemm", "DynamicQuantize")
"""Prefixes of the names of operators that round to integers."""
WHOLE = ("QLinear", "QGemm", "MatMulNBits", "MatMulInteger", "ConvInteger")
"""Prefixes of further names of operators, which compute with integers."""


def rounds_to_integers(proto: onnx.ModelProto) -> bool:
    """True where the model rounds to whole numbers inside."""
    return any(n.op_type.startswith(ROUNDING) for n in proto.graph.node)


def is_quantized(proto: onnx.ModelProto) -> bool:
    """True where a model computes with whole numbers for weights or values."""
    return any("quant" in n.op_type.lower() or n.op_type.startswith(WHOLE) for n in proto.graph.node)


Exercised = set[tuple[str, str, tuple[str, ...]]]
"""Layers by the names of what they make, on both sides, and of what they are made from."""


@dataclass
class NodewiseResult:
    """Findings of a comparison node by node."""

    compared: dict[str, Difference] = field(default_factory=dict)
    """By the name of the tensor: the node alone, the same values on both sides."""
    faults: list[Divergence] = field(default_factory=list)
    """Nodes that compute something else, in order."""
    notes: list[str] = field(default_factory=list)
    problem: str = ""
    """Reason why it could not be done; empty when it was."""
    hidden: bool = False
    """True where a side is a runner, of which only outputs are seen."""
    source: Engine | None = None
    """The side whose values both sides were given."""
    pairs: dict[str, str] = field(default_factory=dict)
    """Names of the other side's tensors by those of the source's."""
    inexact: dict[str, np.ndarray] = field(default_factory=dict)
    """By the name of the source's tensor: distance from float64 of the other side's runtime, where the models agree in float64."""
    disputed: dict[str, set[str]] = field(default_factory=dict)
    """Tensors that differ and are made from others that differ: these may be no pair."""

    @property
    def agrees(self) -> bool:
        return not self.problem and not self.faults and bool(self.compared)

    def pairs_from(self, engine: Engine) -> dict[str, str]:
        """Names of the other side's tensors by those of this engine's."""
        return self.pairs if self.source is engine else {b: a for a, b in self.pairs.items()}


def node_by_node(
    left: Engine,
    right: Engine,
    case: Case,
    outputs: Sequence[tuple[str, str]] = (),
    reference: Engine | None = None,
    exercised: Exercised | None = None,
) -> NodewiseResult:
    """Every tensor that both engines make, from the same values. outputs: which outputs belong together, where names differ.
    reference: whose dtypes say how exact numbers have to be; by default the left side. exercised: layers that were right on another
    case also with no zero going in, which they prove once; gets those of this one."""
    exercised = set() if exercised is None else exercised
    swap = isinstance(right, NativeEngine) and not isinstance(left, NativeEngine)
    source, other = (right, left) if swap or isinstance(left, HalfEngine) else (left, right)
    flip = source is right
    named = [(b, a) if flip else (a, b) for a, b in outputs]
    inner = NodewiseResult(source=source)
    for engine in (left, right):
        if not engine.inner_tensors():
            inner.problem, inner.hidden = f"{engine.label} shows nothing inside", True
            return inner
    for pairs in (_pairs(source, other, named), _pairs(source, other, named, only=True)):
        if not pairs:
            inner.problem = inner.problem or "no tensor goes by the same name in both"
            continue
        try:
            inner = _compare(source, other, case, pairs, reference or left, exercised)
        except (EngineError, MXNetError, KeyError) as error:
            inner.problem = inner.problem or str(error).splitlines()[0]
            continue
        break
    if inner.problem or not inner.compared.keys() - dict(named).keys() or inner.disputed:
        inner = _matched(source, other, case, dict(named), inner, reference or left, exercised) or inner
    inner.source = source
    return inner


def _matched(
    source: Engine,
    other: Engine,
    case: Case,
    outputs: dict[str, str],
    by_names: NodewiseResult,
    reference: Engine,
    exercised: Exercised,
) -> NodewiseResult | None:
    """The comparison of tensors that are paired by what they hold, for where names do not pair them well; None where that pairs no
    more."""
    same = {n: by_names.pairs[n] for n, d in by_names.compared.items() if d.equal and n not in outputs}
    try:
        pairing = match(source, other, case, outputs, same)
        while pairing is not None and len(pairing.pairs) > len(outputs):
            found = _compare(source, other, case, pairing.pairs, reference, exercised)
            # a pair that makes wrong what is right without it is none
            none = {
                r
                for f, read in found.disputed.items()
                if f in pairing.sure
                for r in read - pairing.sure - outputs.keys()
            }
            if not none:
                return _without_disputed(source, other, case, pairing, found, reference, outputs, exercised)
            pairing = pairing._replace(pairs=[(a, b) for a, b in pairing.pairs if a.name not in none])
    except (EngineError, MXNetError, KeyError, ValueError):
        return None
    return None


def _without_disputed(
    source: Engine,
    other: Engine,
    case: Case,
    pairing: Pairing,
    found: NodewiseResult,
    reference: Engine,
    outputs: Mapping[str, str],
    exercised: Exercised,
) -> NodewiseResult:
    """The comparison without pairs that differ and from which others follow that differ, where nothing differs without them: then
    they only look alike (boxes that are nearly their anchors), and what is between is the same."""
    doubtful = {r for read in found.disputed.values() for r in read} - outputs.keys()
    if not doubtful:
        return found
    kept = [(a, b) for a, b in pairing.pairs if a.name not in doubtful]
    again = _compare(source, other, case, kept, reference, exercised)
    return found if again.faults or again.problem else again


def _pairs(
    source: Engine, other: Engine, outputs: Sequence[tuple[str, str]], only: bool = False
) -> list[tuple[Tensor, Tensor]]:
    """Tensors that belong together, in the order the source makes them: outputs as they are paired, what is inside by names that
    occur once on each side. only: outputs alone."""
    mine, theirs = by_name(source), by_name(other)
    partner = dict(outputs)
    taken = set(partner.values())
    out = []
    for name, tensor in mine.items():
        match = partner.get(name, name if not only and name not in taken else None)
        if match in theirs:
            out.append((tensor, theirs[match]))
    return out


def _compare(
    source: Engine,
    other: Engine,
    case: Case,
    pairs: list[tuple[Tensor, Tensor]],
    reference: Engine,
    exercised: Exercised,
) -> NodewiseResult:
    inner = NodewiseResult()
    theirs = {a.name: b.name for a, b in pairs}
    theirs_by_name = {b.name: b for _, b in pairs}
    cut, cut_other = frozenset(theirs), frozenset(theirs.values())
    precision = reference.precision(case.feeds)
    judge = _Judge(source, other, cut, cut_other, theirs)
    weights = _Weights(source, other)
    groups = _groups(source, case, [a for a, _ in pairs], cut)
    fed = dict(case.feeds)
    twins = {**case.names, **{m: n for n, m in case.names.items()}}  # names of inputs by those that the other side has
    if isinstance(source, NativeEngine):  # labels too, which float64 asks for
        fed |= source.complete(case.feeds)

    def visit(index: int, shown: Arrays) -> None:
        group = groups[index].tensors
        values = {n: v for n, v in shown.items() if v.dtype != object} | fed
        given = {theirs.get(n, n): v for n, v in values.items()}
        made = other.run_forced(cut_other, given, [theirs[t.name] for t in group])
        for tensor in group:
            if tensor.name not in values or theirs[tensor.name] not in made:
                continue
            enter(tensor, made.pop(theirs[tensor.name]), values[tensor.name], values)
        exercise([t for t in group if t.name in inner.compared and inner.compared[t.name].equal], values)

    def enter(tensor: Tensor, got: np.ndarray, want: np.ndarray, values: Arrays, where: str = "") -> None:
        key = tensor.name if reference is source else theirs[tensor.name]
        rounded = precision.get(key, "")
        held = read_dtype(rounded) if isinstance(other, HalfEngine) and rounded else None
        found, note = judge.local(tensor, got, want, values, rounded, held)
        if not found.equal and where:
            found = found.refuse(f"{found.reason}, {where}")
        inner.compared[tensor.name] = found
        if note:
            inner.notes.append(note)
        if judge.off is not None and not where:
            held_already = sum(e.nbytes for e in inner.inexact.values())
            if held_already + judge.off.nbytes <= EXPOSED_BYTES:
                inner.inexact[tensor.name] = judge.off
        if not found.equal:
            stats = {n: statistics(values[n]) for n in dict.fromkeys(tensor.inputs) if n in values}
            part = source.part(cut, [tensor.name])
            span = tuple(n.name for n in part.graph.nodes if n.op is not None) if part is not None else ()
            second = theirs_by_name[theirs[tensor.name]]
            inner.faults.append(
                Divergence(
                    tensor.name, tensor.node, tensor.operator, found, found, stats, second.name, second.node,
                    span if len(span) > 1 else (),
                )
            )  # fmt: skip

    def exercise(group: list[Tensor], values: Arrays) -> None:
        """Layers whose weights are not stored alike, again with no zero going in: a weight that only meets zeros proves nothing.
        Zeros of every run stay, as a recurrence's first state: one side may have them once, the other twice."""
        parts = ((t, source.part(cut, [t.name])) for t in group)
        chosen = {
            t.name: p.reads
            for t, p in parts
            if p is not None and (t.name, theirs[t.name], p.reads) not in exercised and weights.unlike(p.reads)
        }
        read = {n for reads in chosen.values() for n in reads if n in values and n not in weights.settled}
        filled = {n: without_zeros(values[n], n) for n in read}
        layers = [t for t in group if any(filled.get(n) is not values.get(n) for n in chosen.get(t.name, ()))]
        if not layers:
            return
        # an input that the other side calls otherwise is filled there too; and that side may make them from more
        given = {**values, **filled, **{twins[n]: a for n, a in filled.items() if n in twins}}
        try:
            want = source.run_forced(cut, given, [t.name for t in layers])
            got = other.run_forced(
                cut_other, {theirs.get(n, n): v for n, v in given.items()}, [theirs[t.name] for t in layers]
            )
        except (EngineError, MXNetError):  # what was made up is no input for it
            return
        for tensor in layers:
            enter(tensor, got[theirs[tensor.name]], want[tensor.name], given, "where no zero goes in")
            if inner.compared[tensor.name].equal:
                exercised.add((tensor.name, theirs[tensor.name], chosen[tensor.name]))

    source.walk(case.feeds, [g.shown for g in groups], visit)
    inner.pairs = theirs
    wrong = {f.tensor for f in inner.faults}
    for name in wrong:
        part = source.part(cut, [name]) if len(wrong) > 1 else None
        if part is not None and wrong.intersection(part.reads):
            inner.disputed[name] = wrong.intersection(part.reads)
    if not inner.compared:
        inner.problem = "no tensor inside could be shown"
    return inner


def look_closer(source: Engine, other: Engine, case: Case, pairs: Mapping[str, str]) -> dict[str, np.ndarray]:
    """By the name of the source's tensor what the other side's runtime is off there, from the same values: of nodes that are off by
    more than a few units in the last place, though that is no fault of any, and where the models agree in float64. pairs: names of
    the other side's tensors by the source's. Asked for where outputs are further apart than rounding takes them."""
    mine = {t.name: t for t in source.inner_tensors()}
    tensors = [t for n, t in mine.items() if n in pairs]
    cut, cut_other = frozenset(pairs), frozenset(pairs.values())
    judge = _Judge(source, other, cut, cut_other, pairs)
    groups = _groups(source, case, tensors, cut)
    fed = dict(case.feeds) | (source.complete(case.feeds) if isinstance(source, NativeEngine) else {})
    found: dict[str, np.ndarray] = {}

    def visit(index: int, shown: Arrays) -> None:
        values = {n: v for n, v in shown.items() if v.dtype != object} | fed
        given = {pairs.get(n, n): v for n, v in values.items()}
        made = other.run_forced(cut_other, given, [pairs[t.name] for t in groups[index].tensors])
        for tensor in groups[index].tensors:
            got, want = made.get(pairs[tensor.name]), values.get(tensor.name)
            off = None if got is None or want is None else judge.off_by(tensor, got, want, values)
            if off is not None and sum(e.nbytes for e in found.values()) + off.nbytes <= EXPOSED_BYTES:
                found[tensor.name] = off

    source.walk(case.feeds, [g.shown for g in groups], visit)
    return found


class _Weights:
    """Parameters of one side that the other does not store by the same name."""

    def __init__(self, source: Engine, other: Engine):
        self.source, self.other = source, other
        self.known: dict[str, bool] = {}

    def unlike(self, names: Iterable[str]) -> bool:
        """True where there are parameters among these, and one of them is not stored alike."""
        return any([self._unlike(n) for n in names])

    def _unlike(self, name: str) -> bool:
        if name not in self.known:
            mine = self.source.parameter(name)
            theirs = None if mine is None else self.other.parameter(name)
            self.known[name] = mine is not None and (theirs is None or not np.array_equal(mine, theirs))
        return self.known[name]

    @functools.cached_property
    def settled(self) -> set[str]:
        """Names of tensors of this side that hold the same in every run."""
        return _settled(self.source)


def _settled(source: Engine) -> set[str]:
    """Names of tensors that hold the same in every run of these sizes, whatever the values of the inputs."""
    native = native_of(source)
    if native is None:
        return set()
    free = depending(native.graph, native.model.params, sizes=False)
    return {
        native.name_of(Entry(node, i))
        for node in native.graph.nodes
        if node.op is not None and id(node) not in free
        for i in range(node.num_outputs)
    }


def without_zeros(array: np.ndarray, name: str) -> np.ndarray:
    """The array with others of its own values in place of zeros, as a unit that is dead here gives them elsewhere; the array itself
    where there are none. name: seeds the draw."""
    if not is_float(array.dtype) or array.size < 2:
        return array
    zero = array == 0
    if not zero.any():
        return array
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    alive = array[~zero & np.isfinite(array.astype(np.float32, copy=False))]
    out = array.copy()
    count = int(zero.sum())
    out[zero] = rng.choice(alive, count) if alive.size else rng.standard_normal(count).astype(array.dtype)
    return out


class _Group(NamedTuple):
    """Tensors that are compared together, and the names of those to be shown for it: these, and what they are made from."""

    tensors: list[Tensor]
    shown: list[str]


def _groups(source: Engine, case: Case, tensors: list[Tensor], cut: frozenset[str]) -> list[_Group]:
    """Tensors in order, in groups that with their weights fit EXPOSED_BYTES."""
    sizes = source.sizes(case.feeds)
    out = []
    for group in in_groups(tensors, lambda t: sizes.get(t.name, EXPOSED_BYTES // 64), EXPOSED_BYTES):
        part = source.part(cut, [t.name for t in group])
        reads = set(part.reads) if part is not None else {n for t in group for n in t.inputs}
        out.append(_Group(group, list(dict.fromkeys([*(t.name for t in group), *(n for n in cut if n in reads)]))))
    return out


class _Judge:
    """Decides of one node whether two results are the same number."""

    def __init__(
        self, source: Engine, other: Engine, cut: frozenset[str], cut_other: frozenset[str], theirs: Mapping[str, str]
    ):
        self.source, self.other, self.cut, self.cut_other, self.theirs = source, other, cut, cut_other, theirs
        self.off: np.ndarray | None = None
        """Distance from float64 of the other side's last result, where the models agree in float64 and its runtime is off."""

    def local(
        self,
        tensor: Tensor,
        got: np.ndarray,
        want: np.ndarray,
        values: Arrays,
        rounded: str,
        held: np.dtype | None = None,
    ) -> tuple[Difference, str]:
        """got, which the other side makes of these values, against want, which the source makes of them; and what to note.
        rounded: the coarsest dtype that the reference itself has gone through, if it is coarser than float32. held: the dtype that
        the other side holds it in, where it is a model of half precision beside one of float32."""
        self.off = None
        if got.shape != want.shape and _spreads(got, want.shape):
            got = np.broadcast_to(got, want.shape)  # a batch of 1 that those who read it broadcast
        if got.shape != want.shape or not (is_float(want.dtype) or want.dtype.kind in "iub"):
            return compare(tensor.name, got, want), ""
        dtype = np.dtype(want.dtype) if is_float(want.dtype) else np.dtype(np.float32)
        if rounded != want.dtype.name and is_float(want.dtype) and epsilon(want.dtype) > epsilon(np.dtype(np.float32)):
            dtype = np.dtype(np.float32)  # the reference does not round this tensor to half precision
        dtype = held or dtype
        if is_float(want.dtype) and got.dtype != want.dtype and is_float(got.dtype):
            got = got.astype(want.dtype)  # what is more exact inside is no fault; what is less shows in the numbers
        part = self.source.part(self.cut, [tensor.name])
        if rounded in HALVES and part is not None and dtype == np.float32 and self._rounds(part, values):
            dtype = read_dtype(rounded)  # on the way: who leaves out such a pair of casts is the more exact
        units = max(part.tolerance if part else 0.0, UNITS)
        large = part is not None and part.operators > LARGE
        if is_float(want.dtype) and got.dtype == want.dtype:
            limit = epsilon(dtype) * (1 if is_half(dtype) else units)
            found = close_within(tensor.name, got, want, 0.0 if large else limit)
            if found is not None:
                return found, ""
        plain = compare(tensor.name, got, want, Tolerance(0.0, 0.0) if is_float(want.dtype) else None)
        if plain.equal or not plain.compared or (plain.misplaced and not _same_kind(got, want)):
            return plain, ""
        return self._by_float64(tensor, plain, _flat(got), _flat(want), values, dtype, units, part, held)

    def _by_float64(
        self,
        tensor: Tensor,
        plain: Difference,
        got: np.ndarray,
        want: np.ndarray,
        values: Arrays,
        dtype: np.dtype,
        units: float,
        part: Part | None,
        held: np.dtype | None,
    ) -> tuple[Difference, str]:
        truth = self._exact(tensor, values)
        if truth is None or truth.shape != got.shape:
            tolerance = TOLERANCES.get(dtype.name)
            found = compare(tensor.name, got, want, tolerance)
            return (found.accept("tolerance") if found.equal else found), ""
        moved = np.zeros_like(truth)
        whole = plain.dtype.startswith(("int", "uint", "bool"))
        unit = 1.0 if held is None else epsilon(held) / epsilon(np.dtype(np.float32))
        for seed in range(DRAWS):
            other = self._exact(tensor, values, (STEPS if whole else unit, seed))
            if other is not None and other.shape == truth.shape:
                with np.errstate(invalid="ignore"):  # infinite on both sides
                    moved = np.maximum(moved, np.nan_to_num(np.abs(_flat(other) - truth), nan=np.inf))
        response = moved if whole else slice_scales(moved)
        halved = is_half(dtype)
        factor = UNITS_COARSE if halved else units
        half = epsilon(dtype) * np.abs(truth)
        allowed = response if whole else factor * (response + half)
        if part is not None and part.operators > 1 and not (whole or halved or held is not None):
            # what is rounded on the way moves more than what goes in: coordinates of a large picture, read at between its elements
            allowed = np.maximum(allowed, OWN * slice_scales(np.nan_to_num(np.abs(want - truth), nan=0.0, posinf=0.0)))
        wrong = ~_within(got, truth, allowed)
        if held is not None:  # its weights are rounded, so that the models differ in float64
            wrong &= ~_beyond_range(got, truth, held)
            what = f"beyond what {held.name} gives"
            return (plain.refuse(_count_wrong(wrong, got, truth, what)) if wrong.any() else plain.accept("float64")), ""
        # where one unit in the last place moves much, being within its reach says little: the models have to agree in float64
        sharp = (1 if halved else SHARP) * epsilon(dtype) * rule_scales(truth)
        doubtful = ~_within(got, truth, np.minimum(allowed, sharp))
        if not doubtful.any() and (part is None or part.operators <= LARGE):
            return plain.accept("float64"), ""
        # float64 does not round as half precision does, so that models which are the same agree as well there as in float32
        reach = response * (epsilon(np.dtype(np.float32)) / epsilon(dtype))
        apart = 2 * np.minimum(reach, sharp) + half
        smooth = self._exact(tensor, values, halved=True) if halved else truth  # who casts less is the more exact
        smooth = truth if smooth is None or smooth.shape != truth.shape else smooth
        if halved and part is not None and part.operators > 1:  # nor is who rounds elsewhere on the way any worse
            apart = np.maximum(
                apart, OWN * np.maximum(slice_scales(want - smooth), self._rounding(tensor, values, smooth))
            )
        found = [self._foreign(tensor, values, halved)]
        agree = [_same(found[0], smooth, apart)]
        if not wrong.any() and not agree[0]:  # how we read the other model is no word against its runtime
            found.append(self._read(tensor, values, halved))
            agree.append(_same(found[1], smooth, apart))
        if not wrong.any() and any(agree):
            return plain.accept("float64"), ""
        if agree[0] and not whole:
            scale = _scale(truth)
            errors = [distance(x, truth) / scale for x in (got, want)]
            # what is bounded by itself is approximated to so much of its bound, however small it is here
            most = max(RUNTIME, _bounded(part) / scale)
            if errors[0] <= most:
                with np.errstate(invalid="ignore"):  # infinite on both sides
                    self.off = np.nan_to_num(got - truth, nan=0.0, posinf=0.0, neginf=0.0)
            if errors[0] <= TOLERANCES[dtype.name].atol:
                return plain.accept("float64"), ""
            if errors[0] <= OWN * errors[1] <= OWN * most:  # as near as the other side comes
                return plain.accept("float64"), ""
            if errors[0] <= most:
                note = (
                    f"{self.other.label} is inexact at {tensor.node} ({tensor.operator}): {errors[0]:.1e} of its scale from "
                    f"float64, {self.source.label} {errors[1]:.1e}; in float64 the models agree"
                )
                return plain.accept("float64"), note
        # who evaluates the other model may err (onnx's evaluator reads no sequence lengths): it counts if its runtime comes near
        against = [w for w, yes in zip(found, agree) if w is not None and not yes and w.shape == truth.shape]
        for w in against:
            if _within(got, w, np.full(w.shape, RUNTIME * _scale(w))).all():
                what = "differ between the models in float64 too"
                return plain.refuse(_count_wrong(~_within(w, smooth, apart), w, smooth, what)), ""
        if wrong.any():
            return plain.refuse(_count_wrong(wrong, got, truth, "beyond what rounding gives")), ""
        if doubtful.any():
            what = "beyond a sure tolerance, and float64 does not confirm it"
            return plain.refuse(_count_wrong(doubtful, got, truth, what)), ""
        return plain.accept("float64"), ""

    def off_by(self, tensor: Tensor, got: np.ndarray, want: np.ndarray, values: Arrays) -> np.ndarray | None:
        """Distance of got from float64; None where it is a few units in the last place, or the models do not agree in float64."""
        single = np.dtype(np.float32)
        if got.shape != want.shape or not got.dtype == want.dtype == single:
            return None
        close = close_within(tensor.name, got, want, FEW * epsilon(single)) is not None
        # what is bounded by itself may vanish, which its logarithm magnifies however near to zero it was
        if close and (np.array_equal(got, want) or not _bounded(self.source.part(self.cut, [tensor.name]))):
            return None
        truth = self._exact(tensor, values)
        if truth is None or truth.shape != got.shape:
            return None
        moves = [self._exact(tensor, values, (1.0, seed)) for seed in range(DRAWS)]
        response = slice_scales(np.max([np.abs(m - truth) for m in moves if m is not None], axis=0, initial=0.0))
        apart = 2 * np.minimum(response, SHARP * epsilon(single) * rule_scales(truth))
        if not np.isfinite(truth).all() or not _same(self._foreign(tensor, values, False), truth, apart):
            return None
        return _flat(got) - truth

    def _rounds(self, part: Part, values: Arrays) -> bool:
        """True where a part computes in half precision, of which a pair of casts alone is no more than a loss."""
        names = {n.name: n.name.removeprefix(GIVEN) for n in part.graph.variables()}
        found = {n: values.get(name, self.source.parameter(name)) for n, name in names.items()}
        known = {n: a for n, a in found.items() if a is not None}
        try:
            inferred = infer(part.graph, {n: a.shape for n, a in known.items()}, {n: a.dtype for n, a in known.items()})
        except MXNetError:
            return False
        halves = {
            (id(n), i)
            for n in part.graph.nodes
            for i in range(n.num_outputs)
            if is_half(inferred.spec(Entry(n, i)).dtype)
        }
        return any(
            (id(n), 0) in halves and any((id(e.node), e.index) in halves for e in n.inputs)
            for n in part.graph.nodes
            if n.op is not None
        )

    def _exact(
        self, tensor: Tensor, values: Arrays, jitter: tuple[float, int] | None = None, halved: bool = False
    ) -> np.ndarray | None:
        found = self.source.exact(self.cut, values, tensor.name, jitter, halved)
        return None if found is None else _flat(found)

    def _rounding(self, tensor: Tensor, values: Arrays, smooth: np.ndarray) -> np.ndarray:
        """Moves of a tensor, by slice, when floats of all that it is made from are moved as half precision rounds them."""
        runs = [self._exact(tensor, values, (0.5, seed), halved=True) for seed in range(DRAWS)]
        moves = [np.abs(r - smooth) for r in runs if r is not None and r.shape == smooth.shape]
        return slice_scales(np.max(moves, axis=0)) if moves else np.zeros_like(smooth)

    def _foreign(self, tensor: Tensor, values: Arrays, halved: bool) -> np.ndarray | None:
        """The other model in float64, by an evaluator that is not ours. halved: in place of half precision too."""
        found = self.other.exact_by_oracle(self.cut_other, self._their_names(values), self.theirs[tensor.name], halved)
        return None if found is None else _flat(found)

    def _read(self, tensor: Tensor, values: Arrays, halved: bool) -> np.ndarray | None:
        """The other model in float64, as we read it."""
        found = self.other.exact(self.cut_other, self._their_names(values), self.theirs[tensor.name], halved=halved)
        return None if found is None else _flat(found)

    def _their_names(self, values: Arrays) -> Arrays:
        return {self.theirs.get(n, n): v for n, v in values.items()}


def _same(oracle: np.ndarray | None, truth: np.ndarray, apart: np.ndarray) -> bool:
    """True where the oracle says what the truth says."""
    return oracle is not None and oracle.shape == truth.shape and bool(_within(oracle, truth, apart).all())


def _spreads(array: np.ndarray, shape: tuple[int, ...]) -> bool:
    """True where an array has the rank of a shape and broadcasts to it."""
    return array.ndim == len(shape) and all(n in (1, wanted) for n, wanted in zip(array.shape, shape))


def _bounded(part: Part | None) -> float:
    return max(map(rounding_of_bounded, part.graph.outputs), default=0.0) if part is not None else 0.0


def rounding_of_bounded(entry: Entry) -> float:
    """Error in float32 of implementations of a function that is bounded by itself, however small its results are; 0 where a tensor
    is made by another."""
    return FEW * epsilon(np.dtype(np.float32)) * entry.node.op.bound if entry.node.op is not None else 0.0


def _scale(array: np.ndarray) -> float:
    """The greatest finite magnitude, or 1."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0)) or 1.0


def is_near(got: np.ndarray, want: np.ndarray) -> bool:
    """True where floats are off by no more than a runtime may be at one node."""
    return (
        got.shape == want.shape
        and got.dtype == want.dtype
        and is_float(want.dtype)
        and distance(got, _flat(want)) <= RUNTIME * _scale(want)
    )


def _flat(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def _same_kind(got: np.ndarray, want: np.ndarray) -> bool:
    """True where values are finite on both sides at the same places, or the rest can be told from rounding (an overflow)."""
    return bool((np.isnan(got) == np.isnan(want)).all())


def _within(got: np.ndarray, truth: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """A mask where got is within bounds; not finite only where the truth is not, or overflows in float32."""
    with np.errstate(invalid="ignore"):
        same = (got == truth) | (np.isnan(got) & np.isnan(truth))
        over = np.isinf(got) & (np.sign(got) == np.sign(truth)) & (np.abs(truth) > 0.99 * np.finfo(np.float32).max)
        tiny = np.abs(got - truth) <= np.finfo(np.float32).tiny  # what float32 flushes to 0
        return same | over | tiny | (np.abs(got - truth) <= allowed)


def _beyond_range(got: np.ndarray, truth: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A mask of numbers that half precision cannot tell from what they should be: too small for it, or too large."""
    most, tiny = (3.3e38, 1.2e-38) if dtype.name == "bfloat16" else (65504.0, 6.2e-5)
    large = (np.abs(truth) > 0.99 * most) & (np.abs(got) > 0.99 * most) & (np.sign(got) == np.sign(truth))
    with np.errstate(invalid="ignore"):  # infinite on both sides
        return large | (np.abs(got - truth) <= tiny)


def _count_wrong(wrong: np.ndarray, got: np.ndarray, truth: np.ndarray, what: str) -> str:
    error = np.where(wrong, np.nan_to_num(np.abs(got - truth), nan=np.inf), -1.0)
    where = np.unravel_index(int(error.argmax()), error.shape)
    place = tuple(int(i) for i in where)
    return f"{int(wrong.sum())} of {wrong.size} {what}, the worst at {place}: {got[where]:.7g} for {truth[where]:.7g}"
