"""Special functions as ONNX, against the engine, over their whole domain."""

from typing import Any

import numpy as np
import pytest

import converters
from hybrid.execution.program import Program
from tests.table.goldens import run_onnx

from .test_detection_dynamic import graph_of

POLES = [0.0, -1, -2, -3, -33, -170, np.inf, -np.inf, np.nan]
NEAR = [
    1,
    2,
    3,
    35,
    36,
    171,
    172,
    170.5,
    -0.5,
    -1.5,
    -170.5,
    0.5,
    2.5,
    12.999,
    13,
    -13.5,
    200,
    -200.5,
    1e10,
    -1e10 - 0.5,
]
TINY = [1e-30, -1e-30, 1e-300, -1e-300, 1e30, 1e300]


def grid(name: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if name in ("erf", "erfinv"):
        ends = 1 - 10 ** rng.uniform(-16, 0, 2000)
        wide = rng.uniform(-1, 1, 4000) if name == "erfinv" else rng.uniform(-7, 7, 4000)
        return np.concatenate([[0, 1, -1, 1.5, -2, 0.85, 0.46875], POLES, TINY, ends, -ends, wide])
    around = 10 ** rng.uniform(-30, 10, 2000)
    return np.concatenate([POLES, NEAR, TINY, around, -around[around < 1e3], rng.uniform(-40, 40, 4000)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["gamma", "gammaln", "erfinv", "erf"])
def test_whole_domain(name: str, dtype: Any) -> None:
    """Within an epsilon in float32 (erf in onnxruntime's own kernel: two); in float64 within 32, of 1 where gammaln crosses 0."""
    with np.errstate(over="ignore"):
        x = grid(name).astype(dtype)
    graph = graph_of(name, {})
    (got,) = run_onnx(converters.to_onnx(graph, {}, {"data": x}), {"data": x})
    (want,) = Program(graph).run({"data": x})
    assert got.dtype == want.dtype == dtype
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    eps = np.finfo(dtype).eps * (32 if dtype == "float64" else 2)
    np.testing.assert_allclose(
        got[finite], want[finite], rtol=eps, atol=eps if name == "gammaln" and dtype == "float64" else 0
    )
