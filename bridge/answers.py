"""Answers of two engines to the cases of a verification; a made-up case that one refuses gives way to a milder one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hybrid.core.error import MXNetError

from .draws import SMALL_TABLE, enlarged
from .engines import Arrays, Engine, EngineError, OutOfTime
from .half import HalfEngine
from .models import BadInput
from .result import Case, Progress
from .scripts import plain_draws
from .scripts.plain_draws import MADE_UP

Answer = tuple[Case, Arrays]


def answers_of(
    left: Engine, right: Engine, cases: Sequence[Case], tell: Progress
) -> tuple[list[Case], list[Arrays], list[Arrays], list[str]]:
    """The cases that both have run, their outputs, and notes of what was left out. One engine runs after the other, and the left
    one on one set of sizes after the other, so that weights are held once.

    A case that was made up and that one refuses gives way to a milder one; the last is left out. The same where the left side's
    numbers overflow, which they do not as the network expects its inputs: what has overflowed on both sides says nothing."""
    notes: list[str] = []
    known: dict[int, Answer] = {}
    shapes = [case.shapes for case in cases]
    order = sorted(range(len(cases)), key=lambda i: shapes.index(shapes[i]))
    for before, number in zip([*order[:1], *order], order):
        if shapes[before] != shapes[number]:
            left.free_memory()
        answer = _answer(left, cases[number], tell, notes, next(iter(known.values()))[1] if known else {})
        if answer is not None:
            known[number] = answer
    left.free_memory()
    answers = [known[i] for i in sorted(known)]
    chosen: list[Case] = []
    wanted: list[Arrays] = []
    got: list[Arrays] = []
    for case, want in answers:
        said: list[str] = []
        # half precision overflows earlier
        usual = got[0] if got and isinstance(right, HalfEngine) else {}
        found = _answer(right, case, tell, said, usual)
        if found is not None and found[0] is not case:  # a milder one, which the left has not run
            again = _answer(left, found[0], tell, said, answers[0][1])
            left.free_memory()
            found, want = (found, again[1]) if again is not None and again[0] is found[0] else (None, want)
        notes += said
        if found is None:
            continue
        chosen.append(found[0])
        wanted.append(want)
        got.append(found[1])
    right.free_memory()
    return chosen, wanted, got, [*dict.fromkeys(notes), *_rows_left(chosen)]


def first_that_runs(
    label: str, case: Case, run: Callable[[Case], Arrays], usual: Arrays
) -> tuple[Answer, str] | tuple[None, str]:
    """The case, or the first milder one, that an engine of this label runs, and its outputs; None, and why, where it runs none of
    them. usual: what it makes of the first case, beside which draws that nobody asked for may neither overflow nor vanish."""

    def refusal(error: Exception) -> str:
        refused = isinstance(error, EngineError | MXNetError | BadInput) and not isinstance(error, OutOfTime)
        return f"{label} refuses it ({str(error).splitlines()[0]})" if refused else ""

    chosen, outputs, why = plain_draws.first_that_runs(case, run, refusal, usual)
    return (None, why) if chosen is None or outputs is None else ((chosen, outputs), "")


def _answer(engine: Engine, case: Case, tell: Progress, notes: list[str], usual: Arrays) -> Answer | None:
    """The answer of an engine to a case or a milder one, with a note of a draw that was left out."""

    def run(current: Case) -> Arrays:
        tell(f"running {engine.label} on {', '.join(f'{k} {v}' for k, v in current.shapes.items())}")
        return engine.run(current.feeds)

    found, why = first_that_runs(engine.label, case, run, usual)
    if found is None and case.kind in MADE_UP:
        notes.append(f"the draw of {'wider numbers' if case.kind == 'wide' else 'edges'} was left out: {why}")
    return found


def _rows_left(cases: Sequence[Case]) -> list[str]:
    """Notes of small tables of which not every row was looked at; enters into each case how many were, up to it."""
    seen: dict[str, np.ndarray] = {}
    for case in cases:
        for name, (_, size) in case.rows.items():
            mask = seen[name] = enlarged(seen.get(name), size)
            places = case.feeds[name].astype(np.float64).reshape(-1)
            mask[places[(places >= 0) & (places < size)].astype(np.int64)] = True
            case.rows[name] = int(mask.sum()), mask.size
    return [
        f"{int(mask.sum())} of {mask.size} rows of the table that input {name} picks from were looked at; give it more places to "
        "look at all"
        for name, mask in seen.items()
        if mask.size <= SMALL_TABLE and not mask.all()
    ]
