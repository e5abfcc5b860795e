"""Update operators against what MXNet 1.9.1 gave for the same arrays: outputs, and every input afterwards."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid import nd
from hybrid.core.error import MXNetError
from hybrid.core.op import REGISTRY
from hybrid.ndarray import invoke

FOLDER = Path(__file__).parents[2] / "fixtures" / "optimizer"
CASES = json.loads((FOLDER / "operators.json").read_text())["cases"]
STORE = np.load(FOLDER / "operators.npz")


# Inputs that MXNet leaves otherwise than they should be, and why.
WRONG = {
    ("mp_lamb_update_phase2", "weight32"): "MXNet forgets to write the float32 weight: it stands still for ever",
    ("_adamw_update", "grad"): "MXNet scales and clips the gradient in its place, although it is an input",
}


def close(got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype
    eps, scale = float(np.finfo(want.dtype).eps), float(np.abs(want).max(initial=0))
    np.testing.assert_allclose(got, want, rtol=0, atol=8 * eps * scale)


def array(values: np.ndarray) -> nd.NDArray:
    return nd.array(values, dtype=values.dtype)


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in CASES])
def test_updates_as_mxnet_does(case: dict[str, Any]) -> None:
    op = REGISTRY[case["operator"]].bind(**case["attrs"])
    inputs = [array(STORE[f"{case['id']}/in{i}"]) for i in range(case["inputs"])]
    names = op.input_names()
    weights = [a for n, a in zip(names, inputs) if n.split("_")[0] == "weight"]
    writes = getattr(op, "always_mutates", False) and "phase1" not in op.name
    got = invoke(op, inputs, (weights if len(weights) > 1 else weights[0]) if writes else None)
    for i, result in enumerate(got if isinstance(got, list) else [got]):
        close(result.asnumpy(), STORE[f"{case['id']}/out{i}"])
    for i, (name, held) in enumerate(zip(names, inputs)):
        if (case["operator"], name) not in WRONG:
            close(held.asnumpy(), STORE[f"{case['id']}/after{i}"])


def test_states_are_written_without_out_too() -> None:
    weight, grad, mom = nd.ones((2,)), nd.ones((2,)), nd.zeros((2,))
    new = nd.sgd_mom_update(weight, grad, mom, lr=0.5, momentum=0.9)
    assert new.asnumpy().tolist() == [0.5, 0.5]
    assert mom.asnumpy().tolist() == [-0.5, -0.5]
    assert weight.asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan])
def test_adamw_skips_a_step_whose_loss_was_scaled_too_far(scale: float) -> None:
    weight, grad, mean, var = (nd.ones((2,)) for _ in range(4))
    nd._internal._adamw_update(weight, grad, mean, var, nd.array([scale]), lr=0.1, eta=1.0, out=weight)
    assert [a.asnumpy().tolist() for a in (weight, mean, var)] == [[1, 1]] * 3


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan])
def test_adamw_of_several_weights_skips_such_a_step_for_all(scale: float) -> None:
    rng = np.random.default_rng(3)
    blocks = [[nd.array(rng.uniform(0.5, 2, (n,))) for _ in range(4)] for n in (2, 3)]
    before = [[a.asnumpy() for a in block] for block in blocks]
    flat = [a for block in blocks for a in block]
    attrs = {"lrs": (0.1, 0.2), "wds": (0.1, 0.3), "etas": (1.0, 0.5), "num_weights": 2}
    for factor in (scale, 1.0):
        nd._internal._multi_adamw_update(*flat, nd.array([factor]), out=[b[0] for b in blocks], **attrs)
        moved = [[not np.array_equal(a.asnumpy(), old) for a, old in zip(b, o)] for b, o in zip(blocks, before)]
        assert moved == [[factor == 1, False, factor == 1, factor == 1]] * 2


def test_reset_arrays() -> None:
    one, two = nd.ones((2,)), nd.ones((3,), dtype="float16")
    nd.reset_arrays(one, two, num_arrays=2)
    assert not one.asnumpy().any()
    assert not two.asnumpy().any()


def test_rates_have_to_be_as_many_as_weights() -> None:
    with pytest.raises(MXNetError, match=r"lrs=\(0\.1,\), wanted 2 numbers"):
        nd.multi_sgd_update(*[nd.ones((2,))] * 4, lrs=(0.1,), wds=(0, 0), num_weights=2)
    with pytest.raises(MXNetError, match=r"wd=0\.1, wanted 0"):
        nd.sparse.adagrad_update(*[nd.ones((2, 2))] * 3, lr=0.1, wd=0.1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("as_array", [False, True])
def test_scale_of_several_weights_has_their_dtype(dtype, as_array):
    """One step of AdamW from a mean and variance of 0: by lr times the sign of the gradient, whatever its scale."""
    weights, grads = ([nd.array([v, -v], dtype=dtype) for v in values] for values in ((1.0, 2.0), (3.0, -4.0)))
    states = [[nd.zeros(2, dtype=dtype) for _ in weights] for _ in range(2)]
    scale = nd.array([0.5], dtype=dtype) if as_array else 0.5
    nd.contrib.multi_adamw_update(
        weights, grads, *states, scale, lrs=[0.1, 0.2], wds=[0.0, 0.0], etas=[1.0, 1.0], epsilon=0.0, out=weights
    )
    step = 0.1 / 0.001**0.5  # without the corrections for the first steps
    for weight, start, lr, sign in zip(weights, (1.0, 2.0), (0.1, 0.2), (1, -1)):
        assert weight.dtype == np.dtype(dtype)
        wanted = np.array([start, -start]) - lr * step * sign * np.array([1, -1])
        np.testing.assert_allclose(weight.asnumpy(), wanted, rtol=1e-5)
    with pytest.raises(MXNetError, match="dtypes"):
        other = "float64" if dtype == "float32" else "float32"
        nd.contrib.multi_adamw_update(
            weights, grads, *states, nd.ones(1, dtype=other), lrs=[0.1, 0.2], wds=[0, 0], etas=[1, 1], out=weights
        )
