"""Kernels that move elements: every bit as NumPy has it."""

import numpy as np
import pytest

from hybrid import native
from hybrid.op import lookup

from .single import Single, reference

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool")


def numbers(*shape, dtype="float32", seed=0):
    """Elements of all bit patterns that the dtype has for ordinary numbers."""
    values = np.random.default_rng(seed).integers(-100, 100, shape)
    return values.astype(dtype)


def same(name, arrays, *, halo=(0, 0), threads=(1, 2), lanes=None, **attrs):
    """Hold the kernel against NumPy, bit for bit. lanes: how many channels of a blocked result mean anything."""
    op = lookup(name).bind(**attrs)
    for count in threads:
        native.set_num_threads(count)
        single = Single(op, arrays, halo=halo, threads=count)
        assert single.there
        for got, want in zip(single.run(arrays), reference(op, arrays, single.specs), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


SHAPES = [
    (2, 21, 3, 5),
    (1, 32, 4, 4),
    (3, 3, 17, 19),
    (1, 16, 1, 1),
    (2, 1, 7, 33),
    (0, 5, 2, 2),
    (1, 40, 0, 3),
    (1, 64, 56, 56),
]


@pytest.mark.parametrize("halo", [(0, 0), (1, 1), (2, 0), (0, 3)])
@pytest.mark.parametrize("shape", SHAPES)
def test_pack(level, shape, halo):
    same("_fused_pack", [numbers(*shape)], halo=halo)


@pytest.mark.parametrize("halo", [(0, 0), (1, 1), (2, 0), (0, 3)])
@pytest.mark.parametrize("shape", SHAPES)
def test_unpack(level, shape, halo):
    n, c, h, w = shape
    same("_fused_unpack", [numbers(n, -(-c // 16), h, w, 16)], halo=halo, channels=c)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pack_and_unpack_move_every_dtype(level, dtype):
    same("_fused_pack", [numbers(2, 37, 5, 9, dtype=dtype)])
    same("_fused_unpack", [numbers(2, 3, 5, 9, 16, dtype=dtype)], channels=37)


@pytest.mark.parametrize("halo", [(0, 0), (1, 2), (1, 0)])
def test_fused_concat(level, halo):
    parts = [numbers(2, b, 5, 7, 16, seed=b) for b in (1, 3, 2)]
    same("_fused_concat", parts, halo=halo, num_args=3)
    same("_fused_concat", parts[:1], halo=halo, num_args=1)
    same("_fused_concat", [np.zeros((0, 2, 3, 3, 16), "float32")] * 2, halo=halo, num_args=2)


def test_fused_concat_between_halos_and_in_place(level):
    """Inputs and output lie apart differently; what is in place already stays."""
    a, b = numbers(2, 1, 4, 6, 16), numbers(2, 2, 4, 6, 16, seed=1)
    wide = (4 + 2) * (6 + 4) * 16
    stride = 3 * wide
    tensors = [
        ("float32", a.shape, True, 0, 0, a[0].size, 1, 0),
        ("float32", b.shape, True, 0, 1, 2 * 4 * 8 * 16, 1, 1),
        ("float32", (2, 3, 4, 6, 16), True, 1, 2, stride, 2, 0),
    ]
    program = native.program(tensors, [("_fused_concat", {}, [0, 1], [2], False)], 0, 2, 1, 0, 1, False)
    out = np.full((2, 3, 6, 10, 16), 7, "float32")
    program.run([a, np.pad(b, ((0, 0), (0, 0), (0, 0), (1, 1), (0, 0)))], [out], None)
    want = np.pad(np.concatenate([a, b], 1), ((0, 0), (0, 0), (1, 1), (2, 2), (0, 0)))
    np.testing.assert_array_equal(out, want)

    tensors = [  # the first part is packed to where it belongs in the result
        ("float32", (2, 16, 4, 6), False, 0, 0, 0, 1, 0),
        ("float32", (2, 1, 4, 6, 16), True, 1, 2, stride, 0, 0),
        ("float32", b.shape, True, 0, 0, b[0].size, 1, 1),
        ("float32", (2, 3, 4, 6, 16), True, 1, 2, stride, 0, 0),
        ("float32", (2, 48, 4, 6), False, 0, 0, 0, 2, 0),
    ]
    steps = [
        ("_fused_pack", {}, [0], [1], False),
        ("_fused_concat", {}, [1, 2], [3], False),
        ("_fused_unpack", {"channels": 48}, [3], [4], False),
    ]
    program = native.program(tensors, steps, 2 * stride * 4, 2, 1, 0, 1, False)
    plain, result = numbers(2, 16, 4, 6, seed=3), np.empty((2, 48, 4, 6), "float32")
    program.run([plain, b], [result], None)
    np.testing.assert_array_equal(result[:, :16], plain)
    np.testing.assert_array_equal(result[:, 16:], b.transpose(0, 1, 4, 2, 3).reshape(2, 32, 4, 6))
