"""python -m tests.sweep.choose > tests/sweep/chosen.json: the combinations that every quick run tries (ten minutes).

Between them they take the steps from line to line inside the package ``converters``, and give the attributes of each translation
the values, that the recorded cases, the operators' examples and the first combination of each space leave out."""

from __future__ import annotations

import functools
import heapq
import json
import sys
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import converters
from converters.registry import EXPORT, export_handler
from hybrid.core.error import MXNetError
from hybrid.ir.graph import Graph

from ..table.examples import examples, graph_of
from ..table.goldens import PARAMETERS, cases
from . import spaces
from .verdicts import case_of

HERE = str(Path(converters.__file__).parent)
LOOKED_AT = 40
"""Combinations of a space that are considered."""

Told = set[Hashable]


def told(graph: Graph, feeds: Mapping[str, np.ndarray], operator: str, attrs: Mapping[str, Any]) -> Told:
    """Steps that an export takes, and the attributes' values with the translation that reads them."""
    steps: Told = set()

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        before = 0

        def step(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal before
            if event == "line":
                steps.add((frame.f_code, before, frame.f_lineno))
                before = frame.f_lineno
            return step

        return step

    stored = {n: a for n, a in feeds.items() if n in PARAMETERS}
    sys.settrace(enter)
    try:
        converters.to_onnx(graph, stored, {n: a for n, a in feeds.items() if n not in PARAMETERS}, 21)
    except converters.ConversionError:
        pass  # a refusal takes steps too
    finally:
        sys.settrace(None)
    handler = export_handler(operator, 21)
    while isinstance(handler, functools.partial):
        handler = handler.func
    return steps | {(getattr(handler, "__code__", handler), n, str(v)) for n, v in attrs.items()}


def known() -> Told:
    """Steps and values that the tests of recorded cases and of examples show."""
    found: Told = set()
    for case in cases():
        if case.operator in EXPORT and not case.beyond_onnx:
            found |= told(case.graph(), dict(zip(case.names, case.arrays())), case.operator, case.attrs)
    for example in examples():
        if example.op.name in EXPORT:
            found |= told(*graph_of(example), example.op.name, example.op.dump())
    return found


def offered() -> Iterator[tuple[str, list[int], Told]]:
    """Combinations with their operator, and by their space and its indices; the first of each space with none."""
    for operators in spaces.load().values():
        for operator, several in operators.items():
            for number, space in enumerate(several if operator in EXPORT else ()):
                points = list(space.points())
                for i in range(0, len(points), max(1, len(points) // LOOKED_AT)):
                    try:
                        case = case_of(points[i], None)
                        feeds = dict(zip(case.names, case.arrays()))
                        shown = told(case.graph(), feeds, operator, points[i].attrs)
                    except MXNetError:
                        continue
                    yield operator, [number, *points[i].indices] if i else [], shown


def main() -> None:
    have, heap = known(), []
    for count, (operator, place, shown) in enumerate(offered()):
        if place:
            heap.append((0, count, operator, place, shown))
        else:
            have |= shown
    heap = [(-len(shown - have), *rest, shown) for _, *rest, shown in heap]
    heapq.heapify(heap)
    chosen: dict[str, list[list[int]]] = {}
    while heap:
        gain, count, operator, place, shown = heapq.heappop(heap)
        new = len(shown - have)
        if new and new == -gain:
            chosen.setdefault(operator, []).append(place)
            have |= shown
        elif new:
            heapq.heappush(heap, (-new, count, operator, place, shown))
    lines = (f"{json.dumps(operator)}: {json.dumps(sorted(places))}" for operator, places in sorted(chosen.items()))
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
