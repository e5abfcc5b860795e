"""The verdict over two models: what is always looked at, what only upon suspicion, and who decides
(docs/decisions/0015-what-equivalent-means.md)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from converters.error import ConversionError
from hybrid.core.attrs import is_float
from hybrid.core.error import MXNetError
from hybrid.core.op import OPS

from .answers import answers_of
from .cases import pair_outputs, refuse_random
from .change.causes import causes
from .change.reduce import write_repro
from .compare import TOLERANCES, Difference, Tolerance, compare, one_winner, within
from .conditioning import allowance, carried, explained, native_of, reaches, truth_of
from .engines import Arrays, Engine, EngineError, NativeEngine, OnnxEngine
from .faces import words
from .faces.notebook import listener
from .half import HalfEngine
from .kernels import kernels_at_fault
from .layers import study
from .locate import first_divergence
from .models import BadInput, Model
from .movement import INPUTS, follows, ranked_otherwise, with_movement
from .nodewise import (
    Exercised,
    NodewiseResult,
    is_near,
    is_quantized,
    look_closer,
    node_by_node,
    rounding_of_bounded,
    rounds_to_integers,
)
from .paths import listed
from .result import Case, Divergence, Progress, VerifyResult, with_warnings
from .ties import settle_ties

TINY = 1e-9
"""The largest number of an output below which a note asks whether its weights are those that were meant."""
SHOWN_SPAN = 6
"""Nodes that could only be compared together which are named one by one."""


def check(
    left: Engine,
    right: Engine,
    cases: Sequence[Case],
    *,
    reference: Engine | None = None,
    tolerance: Tolerance | None = None,
    repro: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    layers: bool = False,
) -> VerifyResult:
    """Compare two engines on cases; the right side is held against the left.

    reference: the side whose precision counts, by default the left. layers: measure every layer also where they agree.

    Always: the outputs of every case, and on the first case every tensor that both make, node by node from the same values. Where
    outputs differ by more than the reference's precision, or say little, that case too is compared node by node; when all nodes are
    right by themselves, float64 says whether the outputs are as near to the truth as the arithmetic of this network allows.
    A tolerance that is given decides alone, over the outputs."""
    return _Trial(left, right, cases, reference or left, tolerance, repro, listener(progress), layers).run()


class _Trial:
    """One comparison, and what has been found so far."""

    def __init__(
        self,
        left: Engine,
        right: Engine,
        cases: Sequence[Case],
        reference: Engine,
        tolerance: Tolerance | None,
        repro: str | os.PathLike[str] | None,
        tell: Progress,
        layers: bool = False,
    ):
        self.left, self.right, self.cases, self.reference = left, right, cases, reference
        self.tolerance, self.repro, self.tell, self.layers = tolerance, repro, tell, layers
        self.warnings: list[str] = []
        self.inner: dict[int, NodewiseResult] = {}
        self._exercised: Exercised = set()
        self._wanted: list[Arrays] = []
        self._got: list[Arrays] = []
        """By case the outputs of both sides."""
        self.pairs: list[tuple[str, str]] = []
        self.divergence: Divergence | None = None
        self._followed: dict[int, Mapping[str, np.ndarray]] = {}
        """By case distances of a runtime from float64 at single nodes, by the source's tensors: those that were followed last."""
        self._truth_of: tuple[Case, tuple[Arrays, Sequence[Arrays]] | None] | None = None
        """The case that float64 was asked of last, and what it said."""

    def run(self) -> VerifyResult:
        refuse_random(self.left, self.right)
        self.cases, self._wanted, self._got, left_out = answers_of(self.left, self.right, self.cases, self.tell)
        runs, worst, run_of, failed = [], {}, {}, None
        shown: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        """By output got and want of the case where it is worst."""
        for index, (case, want, got) in enumerate(zip(self.cases, self._wanted, self._got, strict=True)):
            self.pairs = pair_outputs(list(want), list(got))  # how many parts a sequence has, the inputs decide
            differences = self._decide(index, want, got)
            run = {"shapes": case.shapes, "seed": case.seed, "kind": case.kind, "inputs": case.described()}
            runs.append({**run, "differences": [d.as_dict() for d in differences]})
            for d in differences:
                if d.name not in worst or _counts(d) > _counts(worst[d.name]):
                    worst[d.name], run_of[d.name] = d, len(runs) - 1
                    shown[d.name] = (got[dict(self.pairs)[d.name]], want[d.name])
            wrong = not all(d.equal for d in differences) or bool(self._faults(index))
            if wrong and failed is None:
                failed = index
        worst = {n: dataclasses.replace(d, winner=one_winner(n, runs)) for n, d in worst.items()}
        if failed is None:
            worst = {n: self._with_movement(d) for n, d in worst.items()}
            self.warnings += ranked_otherwise([n for n, d in worst.items() if not d.constant], runs)
        self.warnings += [remark for case in self.cases for remark in case.remarks()]
        little = self._little(list(worst.values()))
        self._tiny(runs)
        if failed is not None:
            self._locate(failed, [d["name"] for d in runs[failed]["differences"] if not d["equal"]])
        faults = [f for index in self.inner for f in self._faults(index)]
        result = VerifyResult(
            self.left.label,
            self.right.label,
            "not equivalent" if failed is not None else "says little" if self._says_little(little) else "equivalent",
            tuple(runs),
            tuple(worst.values()),
            self.divergence,
            run_of=run_of,
            faults=tuple(dict.fromkeys(f.node for f in faults)),
            located=tuple({f.tensor: f for f in reversed(faults)}.values())[::-1],
            inner=max((len(i.compared) for i in self.inner.values()), default=0),
            little=tuple(f"{d.name} {d.little}" for d in little),
            causes={} if failed is None else self._causes(faults),
            repro=self._write_repro(failed),  # which may warn
            warnings=tuple(dict.fromkeys([*self.warnings, *left_out])),
        )
        return self._study(result, failed, shown) if self.layers or failed is not None else result

    def _study(
        self, result: VerifyResult, failed: int | None, outputs: Mapping[str, tuple[np.ndarray, np.ndarray]]
    ) -> VerifyResult:
        """The result with its layers, measured on the case that failed, or the first."""
        index = failed or 0
        case, inner = self.cases[index], self.inner.get(index)
        precision = {} if self.tolerance else self.reference.precision(case.feeds)

        def limits(mine: str, theirs: str) -> Tolerance | None:
            return self.tolerance or TOLERANCES.get(precision.get(mine if self.reference is self.left else theirs, ""))

        own, inside = ({}, {}) if inner is None else (inner.compared, inner.pairs_from(self.left))
        try:
            return study(
                result,
                self.left,
                self.right,
                case,
                self.pairs,
                outputs,
                inside=inside,
                local=own,
                limits=limits,
                settled={d["name"]: d["settled_by"] for d in result.runs[index]["differences"] if d["equal"]},
                tell=self.tell,
            )
        except (EngineError, MXNetError) as error:  # the verdict matters more
            return with_warnings(result, [f"layers were not measured ({str(error).splitlines()[0]})"])

    # -- one case ---------------------------------------------------------------------------------------------------

    def _decide(self, index: int, want: Arrays, got: Arrays) -> list[Difference]:
        """The differences of all outputs of a case, settled as far as they can be."""
        case = self.cases[index]
        limits = self._limits(case)
        if self.tolerance is None:  # half precision before them does not make whole numbers less exact
            limits |= {n: None for n in limits if not is_float(want[n].dtype)}
        differences = [compare(a, got[b], want[a], limits[a]) for a, b in self.pairs]
        if self.tolerance is not None:
            return differences
        suspect = not all(d.equal and not d.little for d in differences)
        if index == 0 or suspect:
            self._inspect(index)
        if all(d.equal for d in differences) or self._faults(index):
            return differences
        inner = self.inner[index]
        if not (inner.agrees or inner.hidden) or not all(d.compared for d in differences):
            return differences
        self.tell("asking float64")
        if inner.hidden:  # an engine of another make, whose nodes have nothing to say for it
            return self._by_float64(case, differences, want, got, alone=True)
        return self._accept_rounding(index, differences, want, got)

    def _limits(self, case: Case) -> dict[str, Tolerance | None]:
        """Tolerances of the outputs; None for that of their dtype."""
        precision = {} if self.tolerance else self.reference.precision(case.feeds)
        key = 0 if self.reference is self.left else 1
        return {p[0]: self.tolerance or TOLERANCES.get(precision.get(p[key], "")) for p in self.pairs}

    def _with_movement(self, difference: Difference) -> Difference:
        """The difference of an output, saying whether that hardly moves on the left side."""
        name = difference.name
        known = [(case, want[name]) for case, want in zip(self.cases, self._wanted) if name in want]
        limits = self._limits(known[0][0]).get(name)
        found = with_movement(difference, [c.feeds for c, _ in known], [a for _, a in known], limits)
        if found.still == INPUTS:
            other = dict(self.pairs).get(name, name)
            if not (follows(self.left, name) and follows(self.right, other)):
                return difference
        return found

    def _inspect(self, index: int) -> None:
        """Compare a case node by node."""
        self.tell("comparing node by node")
        inner = node_by_node(self.left, self.right, self.cases[index], self.pairs, self.reference, self._exercised)
        self.inner[index] = inner
        self.warnings += inner.notes
        if inner.problem:
            self.warnings.append(f"tensors inside were not compared ({inner.problem}): only the outputs were")

    def _faults(self, index: int) -> list[Divergence]:
        return self.inner[index].faults if index in self.inner else []

    def _accept_rounding(
        self, index: int, differences: list[Difference], want: Arrays, got: Arrays
    ) -> list[Difference]:
        """Differences of outputs though every node is right by itself: rounding that has grown, or what a runtime fuses."""
        case = self.cases[index]
        out = self._by_float64(case, differences, want, got)
        if not all(d.equal for d in out):
            out = self._by_inexact_nodes(index, out, want, got)
        if not all(d.equal for d in out):
            out = self._by_ties(index, out, (want, got))
        if all(d.equal for d in out):
            return out
        worst = next(d for d in out if not d.equal)
        protos = [e.proto for e in (self.left, self.right) if isinstance(e, OnnxEngine)]
        if any(map(rounds_to_integers, protos)):
            self.warnings.append(
                f"the model rounds to whole numbers inside, which magnifies rounding ({worst.name}: {worst.reason}); each of its "
                f"{len(self.inner[index].compared)} tensors is the same when computed from the same inputs{self._in_run(case)}"
            )
            return [d if d.equal else d.accept("node by node") for d in out]
        if any(isinstance(e, OnnxEngine) and not e.plain for e in (self.left, self.right)):
            self.tell("comparing without fused nodes")
            plain = [type(e)(e.model, plain=True) if isinstance(e, OnnxEngine) else e for e in (self.left, self.right)]
            again = [e.run(case.feeds) if isinstance(e, OnnxEngine) else w for e, w in zip(plain, (want, got))]
            unfused = [compare(a, again[1][b], again[0][a], self._limit(d)) for (a, b), d in zip(self.pairs, out)]
            unfused = self._by_float64(case, unfused, *again)
            if all(d.equal for d in unfused):
                note = (
                    "both agree with onnxruntime's graph optimizations off; with them on, fused nodes round elsewhere "
                    f"({worst.name}: {worst.reason}){self._in_run(case)}"
                )
                half = any(self.reference.precision(case.feeds).values())
                if half or any(map(is_quantized, protos)):
                    self.warnings.append(note)
                    return unfused
                self.warnings.append(f"{note}; --atol and --rtol accept it")
        # where much saturates or ties, and in half precision, rounding decides; each node is right by itself
        if case.kind in ("wide", "edges") or isinstance(self.reference, HalfEngine):
            return [d if d.equal or d.misplaced else d.accept("node by node") for d in out]
        return out

    def _by_inexact_nodes(
        self, index: int, differences: list[Difference], want: Arrays, got: Arrays
    ) -> list[Difference]:
        """The differences, those settled that a runtime's known rounding at single nodes explains. The models agree in float64
        there; float64 of the whole network with that rounding in it has to give what the runtime gives, as near as float32 comes
        to it, and the other side has to be as near to float64 without. What is beyond that stays refused."""
        case, inner = self.cases[index], self.inner[index]
        source = inner.source
        native = None if source is None else native_of(source)
        if source is None or native is None or not inner.pairs or isinstance(self.reference, HalfEngine):
            return differences
        self.tell("following what a runtime rounds at single nodes")
        feeds = native.complete(case.feeds)
        asked = native_of(self.reference) or native_of(self.left) or native_of(self.right)
        known = self._truth_of if asked is native else None  # which takes as long as all else here
        truths = known[1] if known is not None and known[0] is case else truth_of(native, feeds)
        first = source is self.left
        mine, theirs, other = (want, got, self.right) if first else (got, want, self.left)
        out, errors = list(differences), inner.inexact
        for closer in (False, True):
            if truths is None or all(d.equal for d in out):
                break
            if closer:
                try:
                    errors = look_closer(source, other, case, inner.pairs)
                except (EngineError, MXNetError, KeyError):
                    break
            off = carried(native, feeds, errors)
            if off is None:
                continue
            self._followed[index] = errors
            nodes = listed(dict.fromkeys(t.node for t in source.inner_tensors() if t.name in errors))
            for i, (d, pair) in enumerate(zip(out, self.pairs)):
                here, there = pair if first else pair[::-1]
                room = rounding_of_bounded(native.graph.outputs[native.outputs.index(here)]) if here in errors else 0.0
                if d.equal or not d.compared or not explained(truths, off, here, mine[here], theirs[there], room):
                    continue
                self.warnings.append(
                    f"{d.name}: {d.reason}; that is what {other.label} rounds at {nodes}, which this network magnifies: float64 "
                    f"with that rounding in it gives the same{self._in_run(case)}"
                )
                out[i] = d.accept("float64")
        if truths is None or not errors or all(d.equal for d in out):
            return out
        made = self._with_numbers_of(other, source, case, {n: inner.pairs[n] for n in errors if n in inner.pairs})
        nodes = listed(dict.fromkeys(t.node for t in source.inner_tensors() if t.name in errors))
        for i, (d, pair) in enumerate(zip(out, self.pairs)):
            here, there = pair if first else pair[::-1]
            if d.equal or not d.compared or here not in made or made[here].shape != theirs[there].shape:
                continue
            allowed = allowance(truths, here, mine[here])
            if allowed is not None and within(theirs[there], made[here], allowed):
                self.warnings.append(
                    f"{d.name}: {d.reason}; that is what {other.label} rounds at {nodes}, which this network magnifies: with its "
                    f"numbers there {source.label} gives the same{self._in_run(case)}"
                )
                out[i] = d.accept("node by node")
        return out

    @staticmethod
    def _with_numbers_of(other: Engine, source: Engine, case: Case, names: Mapping[str, str]) -> Arrays:
        """The source's outputs, by its names, where those who read some tensors inside are given what the other side makes of them
        in a run of its own, as far as that is near to what the source makes: how a sum of many numbers is rounded depends on each
        of them, and so does what a tiny number is divided by. names: of the other side's tensors by the source's."""
        try:
            native = native_of(source)
            feeds = case.feeds if native is None else native.complete(case.feeds)
            own, theirs = source.expose(feeds, names), other.expose(case.feeds, names.values())
            inside = {n: m for n, m in names.items() if n in own and m in theirs and n not in source.outputs}
            given = {n: theirs[m] for n, m in inside.items() if is_near(theirs[m], own[n])}
            return source.run_forced(frozenset(given), {**feeds, **given}, source.outputs) if given else {}
        except (EngineError, MXNetError, KeyError, ValueError):  # who does not show what is inside
            return {}

    def _by_ties(self, index: int, differences: list[Difference], results: tuple[Arrays, Arrays]) -> list[Difference]:
        """The differences, those settled that come of choices between numbers which agree up to rounding."""
        case, inner = self.cases[index], self.inner[index]
        if not inner.pairs:  # only outputs are seen
            return differences
        self.tell("looking for ties")
        precision = self.reference.precision(case.feeds)
        if self.reference is not self.left:
            theirs = {**inner.pairs_from(self.left), **dict(self.pairs)}
            precision = {a: precision.get(b, "") for a, b in theirs.items()}
        out, choices = settle_ties(self.left, self.right, case, inner, self.pairs, differences, results, precision)
        self.warnings += [f"{c.words}{self._in_run(case)}" for c in choices]
        return out

    def _in_run(self, case: Case) -> str:
        """Words for the run that a note is of, where there are others: a node may be right in one and wrong in another."""
        number = next((i for i, each in enumerate(self.cases, 1) if each is case), 0)
        return f" (run {number}, {words.kind({'kind': case.kind})})" if number and len(self.cases) > 1 else ""

    @staticmethod
    def _limit(difference: Difference) -> Tolerance | None:
        return TOLERANCES.get(difference.dtype)

    def _by_float64(
        self, case: Case, differences: list[Difference], want: Arrays, got: Arrays, *, alone: bool = False
    ) -> list[Difference]:
        """The differences, those settled where both sides are as near to float64 as float32 runs of this network come. alone: no
        node was looked at, so that where rounding alone decides nothing is settled."""
        if all(d.equal for d in differences):
            return differences
        asked = self.reference if native_of(self.reference) else self.left
        truths = _truth(asked, self.right, case)
        self._truth_of = case, truths
        out = []
        for d, found in reaches(differences, self.pairs, want, got, truths):
            overflows = bool(d.misplaced) and isinstance(self.reference, HalfEngine)  # which is no rounding
            if found is None or overflows:
                out.append(d)
                continue
            errors, usual, scale = found.errors, found.usual, found.scale
            d = dataclasses.replace(d, from_float64=(*errors, usual))
            if not found.reached:
                distances = f"{errors[0]:.2e} and {errors[1]:.2e} from float64, where {usual:.2e} is usual"
                out.append(d.refuse(f"{d.reason}; {distances}"))
                continue
            far = (
                f"{d.name} is {errors[0] / scale:.1e} of its scale from float64 in {self.left.label}, {errors[1] / scale:.1e} in "
                f"{self.right.label}, and {usual / scale:.1e} in float32 runs whose inputs are moved by one unit in the last place"
            )
            if found.small:  # beside other channels only
                out.append(d.accept("float64"))
            elif not found.blunt:
                self.warnings.append(f"rounding grows in this network: {far}{self._in_run(case)}")
                out.append(d.accept("float64"))
            elif alone:
                out.append(d.refuse(f"{d.reason}; rounding alone decides here: {far}"))
            else:
                note = f"rounding alone decides here: {far}; every node is right by itself{self._in_run(case)}"
                self.warnings.append(note)
                out.append(d.accept("node by node"))
        return out

    # -- the whole --------------------------------------------------------------------------------------------------

    def _little(self, worst: Sequence[Difference]) -> list[Difference]:
        """Outputs that agree and say little by it; notes of what they are."""
        found = sorted((d for d in worst if d.equal and d.little), key=lambda d: not d.broken)
        said = self._last_informative()
        for d in found:
            before = f"; {said} before it agrees" if said else ""
            self.warnings.append(f"output {d.name} {d.little}: agreement there says little{before}")
        for d in worst:
            if d.not_finite and d.equal and not d.little:
                self.warnings.append(f"output {d.name} holds {d.not_finite} NaN or infinite values of {d.size}")
        return found

    def _tiny(self, runs: Sequence[Mapping[str, Any]]) -> None:
        """Notes of outputs that are next to nothing in every run."""
        largest: dict[str, float] = {}
        for d in (d for run in runs for d in run["differences"] if d["compared"]):
            largest[d["name"]] = max(largest.get(d["name"], 0.0), d["scale"])
        for name, scale in largest.items():
            if 0 < scale < TINY:
                self.warnings.append(
                    f"output {name} is nowhere larger than {scale:.1e}: weights may be random, or lost on the way here"
                )

    def _last_informative(self) -> str:
        """The last tensor inside that agrees and says something; empty when there is none."""
        outputs = {n for pair in self.pairs for n in pair}
        inner = [i for i in self.inner.values() if i.agrees]
        names = [n for i in inner for n, d in i.compared.items() if d.equal and not d.little and n not in outputs]
        return names[-1] if names else ""

    def _says_little(self, little: list[Difference]) -> bool:
        """True where an output says little and nothing before it says more; always where an output holds no number at all, or all
        are constants that may come of a tensor that does."""
        if any(d.broken for d in little):
            return True
        if not little or self.tolerance is not None:
            return False
        flat = len(little) == len(self.pairs) and all(d.constant for d in little)
        return not self._last_informative() or (flat and any(map(self._breaks, self.inner)))

    def _breaks(self, index: int) -> bool:
        """True where a tensor inside holds no number at all in a case whose inputs do."""
        given = (a for a in self.cases[index].feeds.values() if is_float(a.dtype))
        return all(np.isfinite(a).all() for a in given) and any(d.broken for d in self.inner[index].compared.values())

    def _locate(self, failed: int, outputs: Sequence[str]) -> None:
        """Find the place where a case fails. outputs: those that differ, by the left side's names."""
        case = self.cases[failed]
        if failed not in self.inner:  # a tolerance that is given decides over the outputs, and the nodes say why
            self._inspect(failed)
        inner, faults = self.inner[failed], self._faults(failed)
        limits = self.tolerance or TOLERANCES.get(max(self.reference.precision(case.feeds).values(), default=""))
        if faults:
            beyond = [f for f in faults if self.tolerance is None or _surely_beyond(f, self.tolerance)]
            self.divergence = (beyond or faults)[0]
        else:
            self.tell("looking for the first node that differs")
            first = first_divergence(self.left, self.right, case, limits, inner.pairs_from(self.left) or None)
            self.divergence = self._inexact(failed, outputs, first, limits) or first
        if self.divergence is not None and self.divergence.span:
            span = self.divergence.span
            nodes = ", ".join(span) if len(span) <= SHOWN_SPAN else f"{span[0]} to {span[-1]} ({len(span)} nodes)"
            self.warnings.append(
                f"{nodes} could only be compared together: the models have no tensor in common between them"
            )
        if self.divergence is None:
            why = inner.problem or "every tensor inside that both have is the same"
            self.warnings.append(f"no node is named: {why}")
        for engine, given in ((self.left, self._wanted[failed]), (self.right, self._got[failed])):
            fault = kernels_at_fault(engine, case.feeds, given) if isinstance(engine, NativeEngine) else None
            if fault is not None:
                self.warnings.append(fault)

    def _inexact(
        self, failed: int, outputs: Sequence[str], first: Divergence | None, limits: Tolerance | None
    ) -> Divergence | None:
        """The node before outputs that differ where a runtime is furthest off, though the models agree in float64 there; None where
        there is none, or another says more: what it makes from the same values, or the order that it puts near ties in."""
        inner, case = self.inner[failed], self.cases[failed]
        source, errors = inner.source, self._followed.get(failed, inner.inexact)
        if source is None or not errors:
            return None
        if first is not None:
            known = inner.compared.get(first.tensor if source is self.left else first.second)
            if (first.kind == "local" and (known is None or not known.equal)) or _ranks(first.operator):
                return None
        theirs = dict(self.pairs)
        before = _before(source, outputs if source is self.left else [theirs[n] for n in outputs])
        far = {n: float(np.abs(e).max(initial=0)) / (inner.compared[n].scale or 1.0) for n, e in errors.items()
               if n in before and n in inner.compared}  # fmt: skip
        name = max(far, key=far.__getitem__, default=None)
        if name is None:
            return None
        names = (name, inner.pairs[name]) if source is self.left else (inner.pairs[name], name)
        try:
            shown = [e.expose(case.feeds, [n]).get(n) for e, n in zip((self.left, self.right), names)]
        except (EngineError, MXNetError):
            return None
        if shown[0] is None or shown[1] is None:
            return None
        mine, second = (
            next(t for t in e.inner_tensors() if t.name == n) for e, n in zip((self.left, self.right), names)
        )
        other = self.right if source is self.left else self.left
        return Divergence(
            mine.name,
            mine.node,
            mine.operator,
            compare(mine.name, shown[1], shown[0], limits),
            inner.compared[name],
            {},
            second.name,
            second.node,
            inexact=f"{other.label} is {far[name]:.1e} of its scale from float64 at this node; in float64 the models agree",
        )

    def _causes(self, faults: Sequence[Divergence]) -> Mapping[str, tuple[str, ...]]:
        """The differences of the models, which are found without running them, at the nodes at fault."""
        nodes = faults or ([self.divergence] if self.divergence is not None else [])
        left, right = (getattr(e, "model", None) for e in (self.left, self.right))
        if left is None or right is None or not nodes:  # of a runner there may be nothing to be seen inside
            return {}
        self.tell("comparing weights and attributes")
        try:
            also = {f.node: [*([f.second_node] if f.second_node else []), *f.span] for f in reversed(nodes)}
            left, right = (_whole(e, m) for e, m in ((self.left, left), (self.right, right)))
            return causes(left, right, [f.node for f in nodes], also)
        except (MXNetError, ConversionError, OSError) as error:  # the verdict matters more
            self.warnings.append(f"what differs between the models was not looked for ({str(error).splitlines()[0]})")
            return {}

    def _write_repro(self, failed: int | None) -> str | None:
        if self.divergence is None or self.repro is None or failed is None:
            return None
        try:
            return str(write_repro(Path(self.repro), self.left, self.right, self.divergence, self.cases[failed]))
        except (OSError, BadInput, EngineError, MXNetError, ConversionError) as error:  # the verdict matters more
            said = str(error).splitlines()[0]
            self.warnings.append(f"no reproduction was written to {os.fspath(self.repro)}: {said}")
            return None


def _whole(engine: Engine, model: Model) -> Model:
    """The model with its weights, which a file that has just been written is run without: they lie in the file."""
    if isinstance(engine, OnnxEngine) and model.path and model.file is None and not engine.proto.graph.initializer:
        return dataclasses.replace(model, proto=engine.full_proto())
    return model


def _ranks(operator: str) -> bool:
    """True for an operator that puts numbers in an order."""
    return operator in OPS and OPS[operator].is_ordering


def _before(engine: Engine, names: Iterable[str]) -> set[str]:
    """Tensors of an engine that these are made from, these included."""
    read = {t.name: t.inputs for t in engine.inner_tensors()}
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += read.get(name, ())
    return found


def _counts(difference: Difference) -> tuple[bool, bool, float]:
    """The rank of an output's difference among those of all cases: one that differs, then one that says something, then the
    greatest. An output says little only where it does so in all cases."""
    return not difference.equal, not difference.little, difference.max_rel


def _surely_beyond(fault: Divergence, tolerance: Tolerance) -> bool:
    """True where a node alone is off by more than a tolerance allows anywhere."""
    found = fault.accumulated
    if not found.compared or found.misplaced or not found.max_rel:
        return True
    scale = found.max_abs / found.max_rel
    return found.max_abs > tolerance.limit(scale) + tolerance.rtol * scale


def _truth(engine: Engine, other: Engine, case: Case) -> tuple[Arrays, Sequence[Arrays]] | None:
    """The outputs in float64 and of some float32 runs (truth_of); None when no side can be evaluated in NumPy."""
    native = native_of(engine) or native_of(other)
    if native is None:
        return None
    return truth_of(native, native.complete(case.feeds))
