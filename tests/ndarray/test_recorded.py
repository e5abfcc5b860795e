"""Calls of the array API whose results real MXNet 1.9.1 recorded: fixtures/make/ndarray.py wrote them down."""

import json
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx

from .calls import perform

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "ndarray"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json")) if path.stem != "birth"}


def same(got, want) -> bool:
    """Equal, values to some epsilons of their dtype."""
    if isinstance(want, dict) and "values" in want and isinstance(got, dict):
        if {k: v for k, v in got.items() if k != "values"} != {k: v for k, v in want.items() if k != "values"}:
            return False
        tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-12}.get(want.get("dtype", want["is"]), 0)
        a, b = (np.array([float(v) for v in r["values"]]) for r in (got, want))
        return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    if isinstance(want, list) and isinstance(got, list):
        return len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, dict) and "error" in want:
        return isinstance(got, dict) and (want["error"][0] in got.get("error", ()))
    return type(got) is type(want) and got == want


@pytest.mark.parametrize("family", CASES)
def test_calls_give_what_mxnet_gives(family: str) -> None:
    wrong = []
    for call, want in CASES[family]:
        got = perform(mx, call)
        if not same(got, want):
            wrong.append(f"{json.dumps(call)}\n  wanted {json.dumps(want)}\n  got    {json.dumps(got)}")
    assert not wrong, f"{len(wrong)} of {len(CASES[family])}:\n" + "\n".join(wrong[:80])
