"""Stores of several processes, against what two workers and a server of MXNet 1.9.1 answered, and against one process."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.distributed.launching import needs_mpi, succeed
from tests.house.docs import ROOT

pytestmark = needs_mpi
ANSWERS = json.loads((ROOT / "fixtures/distributed/asked.json").read_text())


def flat(value: Any) -> np.ndarray:
    return np.concatenate([flat(v) for v in value]) if isinstance(value, list) else np.array([value], np.float64)


@pytest.mark.parametrize("kind", ["dist_sync", "dist_device_sync", "dist_async", "2bit"])
def test_as_mxnet_answered(kind: str, tmp_path: Path) -> None:
    succeed(2, "asked.py", kind, tmp_path / "out")
    for rank, wanted in enumerate(ANSWERS[kind]):
        told = json.loads((tmp_path / f"out-{rank}.json").read_text())
        assert sorted(told) == sorted(wanted)
        assert told.pop("type") == wanted["type"]
        for name in told:
            limit = 2e-7 if name == "adam" else 0  # MXNet's square root is another
            np.testing.assert_allclose(flat(told[name]), flat(wanted[name]), rtol=0, atol=limit, err_msg=name)


def test_what_was_recorded_says_something() -> None:
    bits = np.array(ANSWERS["2bit"][0]["bits"])
    assert {0, 0.5, -0.5, 1} <= set(bits.reshape(-1))
    assert ANSWERS["dist_sync"][0]["workers"] == 2


def weights(path: Path) -> tuple[list[np.ndarray], dict[str, int]]:
    with np.load(path) as held:
        return [held[k] for k in sorted(held) if k != "told"], json.loads(str(held["told"]))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[np.ndarray]]:
    """The weights that training of a form leads to in one process, which trains once."""

    @functools.cache
    def trained(form: str) -> list[np.ndarray]:
        path = tmp_path_factory.mktemp(form) / "alone.npz"
        succeed(0, "training.py", form, "none", path)
        return weights(path)[0]

    return trained


@pytest.mark.parametrize("form", ["gluon", "module", "sparse"])
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_trains_as_one_process_does(
    form: str, ranks: int, alone: Callable[[str], list[np.ndarray]], tmp_path: Path
) -> None:
    succeed(ranks, "training.py", form, "dist_sync", tmp_path / "together.npz")
    together, told = weights(tmp_path / "together.npz")
    assert told["size"] == ranks
    for one, other in zip(alone(form), together, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-6)
    if (
        form == "sparse"
    ):  # at most 3 words of 24/ranks samples in 11 steps, rows of 8 numbers and their own; and the dense layer
        table = 11 * (3 * 24 // ranks) * (8 * 4 + 8)
        rest = 11 * (8 + 2 * 36 * 4)
        assert 0 < told["sent"] <= (ranks - 1) * (table + rest)
        assert told["sent"] < 5000 * 8 * 4  # the table, once


@pytest.mark.parametrize("ranks", [0, 2])
def test_states_and_rows_that_owners_hold(ranks: int, tmp_path: Path) -> None:
    succeed(ranks, "saving.py", tmp_path / "out")
    for rank in range(max(1, ranks)):
        told = json.loads((tmp_path / f"out-{rank}.json").read_text())
        assert told["table"] == [[0, 0]] * 3 + [[-2, -2], [0, 0]]
        assert told["values"] == [[-1, -1], [-2, -2], [-3, -3]]
        assert told["states"] == {"a": [-1, -1], "b": [-2, -2], "c": [-3, -3]}
