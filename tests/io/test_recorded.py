"""Iterators, images, augmenters and transforms give what MXNet 1.9.1 gave: fixtures/data, by fixtures/make/data_calls.py."""

import importlib.util
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import hybrid as mx

FIXTURES = Path(__file__).parents[2] / "fixtures"


def load_calls() -> ModuleType:
    spec = importlib.util.spec_from_file_location("data_calls", FIXTURES / "make/data_calls.py")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


CALLS = load_calls().CALLS


def recorded() -> dict[str, list[np.ndarray]]:
    found = defaultdict(list)
    with np.load(FIXTURES / "data/expected.npz") as stored:
        for name in sorted(stored):
            found[name.split("/")[0]].append(stored[name])
    return found


EXPECTED = recorded()


def test_everything_that_was_recorded_is_asked_for() -> None:
    assert CALLS.keys() == EXPECTED.keys()


@pytest.mark.parametrize("name", CALLS)
def test_gives_what_mxnet_gave(name: str) -> None:
    pytest.importorskip("PIL")
    got = [np.asarray(part) for part in CALLS[name](mx, FIXTURES / "data")]
    assert len(got) == len(EXPECTED[name])
    for number, (result, want) in enumerate(zip(got, EXPECTED[name], strict=True)):
        assert result.shape == want.shape, number
        if want.ndim:
            assert result.dtype == want.dtype, number
        if want.dtype.kind == "f":
            scale = max(1.0, np.abs(want).max(initial=0.0))
            np.testing.assert_allclose(
                result, want, rtol=0, atol=64 * np.finfo(np.float32).eps * scale, err_msg=str(number)
            )
        else:
            np.testing.assert_array_equal(result, want, err_msg=str(number))
