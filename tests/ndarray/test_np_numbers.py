"""Numbers beside arrays of mx.np."""

import operator
from typing import Any

import numpy as np
import pytest

import hybrid as mx


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
def test_fractions_beside_whole_numbers_are_not_cut(dtype: str) -> None:
    """MXNet cuts them without a word, and does not in graphs; here arrays and graphs answer as NumPy does."""
    with mx.np_shape(), mx.np_array():
        x = mx.np.array([1, 1, 1], dtype=dtype)
        plain = x.asnumpy()
        compared = () if dtype == "bool" else ("lt", "ge")  # beside bool MXNet's operators take any number for a bool
        for name in ("add", "sub", "mul", "truediv", *compared):
            for call in (
                lambda a, o=name: getattr(operator, o)(a, 2.5),
                lambda a, o=name: getattr(operator, o)(2.5, a),
            ):
                wanted, got = call(plain), call(x)
                if name == "truediv":
                    wanted = wanted.astype(got.dtype)
                np.testing.assert_array_equal(got.asnumpy(), wanted)
                graph = call(mx.sym.var("x").as_np_ndarray())
                np.testing.assert_array_equal(_run(graph, x), wanted)
        if dtype != "bool":
            with pytest.raises(mx.MXNetError, match="out is"):
                x += 2.5
            x += 2
            assert x.asnumpy().tolist() == [3, 3, 3] and x.dtype == dtype


def test_calls_with_negative_zero_are_not_taken_for_those_with_zero() -> None:
    """Operators are remembered by what they were called with, and 0.0, 0 and -0.0 are equal."""
    with mx.np_shape(), mx.np_array():
        x, ones = mx.np.ones(2), mx.nd.ones(2)
        for _ in range(2):
            for number, sign in ((0.0, 1), (-0.0, -1), (0, 1), (-0.0, -1), (0.0, 1)):
                for y in (
                    mx.np.full_like(x, number),
                    mx.np.full((2,), number),
                    mx.np.clip(-x, number, number),
                    mx.nd.clip(-ones, number, number),
                ):
                    assert np.copysign(1, y.asnumpy()[0]) == sign, (number, y)


def _run(graph: Any, x: Any) -> np.ndarray:
    """The output of a graph of one input."""
    return mx.gluon.SymbolBlock(graph, mx.sym.var("x").as_np_ndarray())(x).asnumpy()
