"""Answers of MXNet 1.9.1 to the questions of this folder (fixtures/asked, by fixtures/make/asked.py), which are given here too."""

import importlib
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx

from .questions import QUESTIONS, answer

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "asked"
RECORDED = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json")) if path.stem != "birth"}
for stem in RECORDED:
    importlib.import_module(f"{__package__}.{stem}")

TOLERANCE = 2e-5
"""Of the largest number of an array: float32 is rounded in another order here and there."""

HALF = 2.0**-11
"""The same for the question about training with activations in float16, of which this is half a unit in the last place."""


def differences(got: Any, want: Any, path: str) -> list[str]:
    """Paths at which two answers differ, with both values."""
    if isinstance(want, dict) and isinstance(got, dict) and "raises" in want and "raises" in got:
        return [] if want["raises"][0] in got["raises"] else [f"{path}: {got['raises'][0]}, wanted {want['raises']}"]
    if isinstance(want, dict) and want.keys() == {"refused"}:  # what MXNet lacks may be here
        return []
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        if "array" in want and (got["shape"], got["dtype"]) == (want["shape"], want["dtype"]):
            a, b = (np.array(side["array"], np.float64) for side in (got, want))
            scale = np.abs(b[np.isfinite(b)]).max(initial=1e-6)
            tolerance = HALF if "half_precision" in path else TOLERANCE
            same = np.allclose(a, b, rtol=0, atol=tolerance * scale + 2e-6, equal_nan=True)
            return [] if same else [f"{path}:\n got    {a}\n wanted {b}"]
        return [d for k in want for d in differences(got[k], want[k], f"{path}/{k}")]
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [d for i, (g, w) in enumerate(zip(got, want)) for d in differences(g, w, f"{path}/{i}")]
    if isinstance(want, float) and isinstance(got, float):
        if math.isclose(got, want, rel_tol=TOLERANCE, abs_tol=1e-9) or (math.isnan(got) and math.isnan(want)):
            return []
    elif type(got) is type(want) and (got == want or (isinstance(want, str) and same_text(got, want))):
        return []
    return [f"{path}:\n got    {got!r}\n wanted {want!r}"]


def same_text(got: str, want: str) -> bool:
    """True where texts are the same but for the last digits of numbers in them."""
    a, b = (re.split(r"(\d+\.\d+)", text) for text in (got, want))
    return a[::2] == b[::2] and np.allclose([*map(float, a[1::2])], [*map(float, b[1::2])], rtol=1e-4, atol=2e-6)


def test_all_questions_were_asked() -> None:
    assert {n for stem, answers in RECORDED.items() for n in answers} == set(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_what_mxnet_answered(name: str, tmp_path: Path) -> None:
    if name.startswith(("pictures", "detecting", "overlooked/mean")):
        pytest.importorskip("PIL")
    got = json.loads(json.dumps(answer(QUESTIONS[name], mx, tmp_path)))
    found = differences(got, RECORDED[name.partition("/")[0]][name], name)
    assert not found, f"{len(found)} differ:\n" + "\n".join(found)
