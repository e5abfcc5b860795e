"""What programs written for MXNet, which nobody here wrote, ask of it; answers are those of MXNet 1.9.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd, sym
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd, sym
from tests.compat.test_compat import python


def test_importing_mxnet_imports_what_it_imports() -> None:
    """Sockeye uses multiprocessing.pool without importing it; importing hybrid alone does not pay for it."""
    program = """
import sys
import hybrid
assert "multiprocessing.pool" not in sys.modules
hybrid.install_as_mxnet()
import multiprocessing
import mxnet
with multiprocessing.pool.ThreadPool(1) as pool:
    print(pool.map(str, [1, 2]))
"""
    done = python("-c", program)
    assert (done.stdout, done.stderr) == ("['1', '2']\n", "")


class Holder:
    """Something with a dtype."""

    def __init__(self, dtype: Any):
        self.dtype = dtype


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (nd.zeros((2, 2), dtype="int32"), "int32"),
        (nd.zeros((2, 2), dtype="float16").tostype("csr"), "float16"),
        (mx.gluon.Parameter("p", shape=(1,), dtype="float64"), "float64"),
        (np.float16(3), "float16"),
        (Holder("int8"), "int8"),
        (Holder(np.uint8), "uint8"),
        (Holder(None), "float64"),  # as NumPy has it
    ],
)
def test_a_dtype_is_taken_from_anything_that_has_one(given: Any, wanted: str) -> None:
    x = nd.array([1.7, 2])
    made = [
        x.astype(given), nd.cast(x, dtype=given), nd.ones((2,), dtype=given), nd.array([1, 2], dtype=given),
        nd.arange(2, dtype=given), nd.one_hot(x, depth=3, dtype=given), nd.ones((2, 2)).tostype("csr").astype(given),
    ]  # fmt: skip
    assert [np.dtype(a.dtype).name for a in made] == [wanted] * len(made)
    assert x.astype(nd.ones((1,)), copy=False) is x
    if given is not None and getattr(given, "dtype", None) is not None:
        for symbol in (sym.cast(sym.var("x"), dtype=given), sym.zeros((2,), dtype=given), sym.var("x").astype(given)):
            assert next(iter(symbol.attr_dict().values()))["dtype"] == wanted


@pytest.mark.parametrize("given", [np.zeros(1, "int8"), Holder("text"), Holder(Holder(5))])
def test_what_has_no_dtype_of_arrays_is_refused(given: Any) -> None:
    with pytest.raises(TypeError):
        nd.ones((2,)).astype(given)
    with pytest.raises((TypeError, ValueError)):
        sym.zeros((2,), dtype=given)


def test_numbers_are_drawn_in_the_dtype_of_an_array() -> None:
    like = nd.zeros((1,), dtype="float64")
    assert nd.random.uniform(shape=(2,), dtype=like).dtype is np.float64
    assert nd.random.multinomial(nd.array([0.5, 0.5]), dtype=like).dtype is np.float64


def test_arrays_are_made_of_numbers_as_texts() -> None:
    for source in (["1", "2"], [b"1", b"2"], np.array(["1", "2"]), np.array(["1", 2], object), [1, "2"]):
        for dtype in ("int32", "float16", "uint8"):
            made = nd.array(source, dtype=dtype)
            assert made.dtype is np.dtype(dtype).type
            assert made.asnumpy().tolist() == [1, 2]
    made = nd.array([["1.5", "2"]])
    assert made.dtype is np.float32
    assert made.asnumpy().tolist() == [[1.5, 2]]
    assert np.isnan(nd.array([None]).asscalar())
    for source, dtype in ((["a"], "float32"), (["1.5"], "int32"), ([None], "int32"), ([[1], [2, 3]], None)):
        with pytest.raises(TypeError, match="source_array must be array like object"):
            nd.array(source, dtype=dtype)
