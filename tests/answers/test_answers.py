"""Cases of the fuzzer that let something matter that nothing else does: their answers are as they were when recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.answers import SURFACES, alike, answer, recorded

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
