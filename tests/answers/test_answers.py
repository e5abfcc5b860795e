"""Cases of the fuzzer that let something matter that nothing else does: their answers are as they were when recorded."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from hybrid.core.op import OPS
from tests.answers import SURFACES, alike, answer, inference, numbers, recorded

PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("surface", SURFACES)
def test_answers_are_as_they_were(surface: str, part: int) -> None:
    wrong: list[Any] = []
    for case, then in recorded(surface)[part::PARTS]:
        now = answer(surface, case)
        if not alike(now, then):
            wrong.append(f"{json.dumps(case)[:600]}\n  then {json.dumps(then)}\n  now  {json.dumps(now)}")
    assert not wrong, f"{len(wrong)} changed (python -m tests.answers records them):\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("part", range(PARTS))
def test_inference_says_what_it_said(part: int) -> None:
    """Of examples with one shape, dtype or attribute changed."""
    then = json.loads(inference.RECORDED.read_text())
    wrong: list[str] = []
    for name in sorted(OPS)[part::PARTS]:
        now = inference.answers(OPS[name])
        codes = then.get(name, "")
        if len(codes) != 2 * len(now):
            wrong.append(f"{name}: {len(now)} cases, {len(codes) // 2} are recorded")
        else:
            wrong += [
                f"{name}: {change}: {codes[2 * i : 2 * i + 2]} became {digits}"
                for i, (change, digits) in enumerate(now)
                if digits != codes[2 * i : 2 * i + 2]
            ]
    assert not wrong, f"{len(wrong)} changed (python -m tests.answers.inference records them):\n" + "\n".join(
        wrong[:20]
    )


@pytest.mark.parametrize("part", range(PARTS))
def test_numbers_are_as_they_were(part: int) -> None:
    """Of examples with another attribute, or of another dtype."""
    then = json.loads(numbers.RECORDED.read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [d for name in sorted(OPS)[part::PARTS] for d in numbers.differences(OPS[name], then.get(name, []))]
    told = "\n".join(wrong[:20])
    assert not wrong, f"{len(wrong)} changed (python -m tests.answers.numbers records them):\n{told}"
