"""Kernels that move elements: every bit as NumPy has it."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.fp_warnings import ignoring_fp_warnings
from hybrid.core.op import lookup

from ..grouped import over
from .single import Single, reference

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool")


def numbers(*shape, dtype="float32", seed=0):
    """Elements of all bit patterns that the dtype has for ordinary numbers."""
    values = np.random.default_rng(seed).integers(-100, 100, shape)
    return values.astype(dtype)


def same(name, arrays, *, halo=(0, 0), threads=(1, 2), **attrs):
    """Hold the kernel against NumPy, bit for bit."""
    op = lookup(name).bind(**attrs)
    wanted = specs = None
    for count in threads:
        native.set_num_threads(count)
        single = Single(op, arrays, halo=halo, threads=count, specs=specs)
        specs = single.specs
        assert single.there
        wanted = reference(op, arrays, specs) if wanted is None else wanted
        for got, want in zip(single.run(arrays), wanted, strict=True):
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


@over("halo", [(0, 0), (1, 1), (2, 0), (0, 3)])
@over("shape", SHAPES)
def test_pack(level, shape, halo):
    same("_fused_pack", [numbers(*shape)], halo=halo)


@over("halo", [(0, 0), (1, 1), (2, 0), (0, 3)])
@over("shape", SHAPES)
def test_unpack(level, shape, halo):
    n, c, h, w = shape
    same("_fused_unpack", [numbers(n, -(-c // 16), h, w, 16)], halo=halo, channels=c)


@over("halo", [(0, 0), (1, 2), (1, 0)])
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


CASES = [
    ("transpose", [(3, 5)], {}),
    ("transpose", [(2, 3, 4, 5)], {"axes": (0, 2, 1, 3)}),
    ("transpose", [(2, 65, 70)], {"axes": (0, 2, 1)}),
    ("transpose", [(1, 128, 12, 64)], {"axes": (0, 2, 3, 1)}),
    ("transpose", [(2, 57, 33, 3)], {"axes": (0, -1, 1, 2)}),
    ("transpose", [(2, 3, 57, 33)], {"axes": (0, 2, 3, 1)}),
    ("transpose", [(2, 4, 33)], {"axes": (0, 2, 1)}),
    ("transpose", [(33, 2)], {}),
    ("transpose", [(130, 17)], {}),
    ("transpose", [(2, 1, 3, 1, 4, 2)], {"axes": (5, 3, 1, 4, 2, 0)}),
    ("transpose", [(2, 0, 3)], {}),
    ("transpose", [(7,)], {}),
    ("transpose", [()], {}),
    ("_np_transpose", [(4, 6, 5)], {}),
    ("SwapAxis", [(3, 40, 50)], {"dim1": 0, "dim2": -1}),
    ("_np_moveaxis", [(3, 4, 5)], {"source": (0, 2), "destination": (-1, 0)}),
    ("Concat", [(2, 3, 4), (2, 1, 4), (2, 0, 4)], {"num_args": 3}),
    ("Concat", [(2, 3), (2, 4)], {"num_args": 2, "dim": -1}),
    ("Concat", [(600, 70), (600, 41)], {"num_args": 2, "dim": 1}),
    ("_npi_concatenate", [(2, 3), (4, 1)], {"num_args": 2, "axis": None}),
    ("_npi_concatenate", [(2, 3), (4, 3)], {"num_args": 2, "axis": 0}),
    ("stack", [(2, 3), (2, 3)], {"num_args": 2, "axis": -1}),
    ("stack", [(2, 3), (2, 3), (2, 3)], {"num_args": 3, "axis": 1}),
    ("stack", [()], {"num_args": 1}),
    ("_npi_stack", [(5,), (5,)], {"num_args": 2, "axis": 0}),
    ("_npi_vstack", [(3,), (3,)], {"num_args": 2}),
    ("_npi_hstack", [(3,), (2,)], {"num_args": 2}),
    ("_npi_hstack", [(3, 2), (3, 4)], {"num_args": 2}),
    ("_npi_column_stack", [(3,), (3, 2)], {"num_args": 2}),
    ("_npi_dstack", [(3,), (3,)], {"num_args": 2}),
    ("SliceChannel", [(2, 6, 5)], {"num_outputs": 3}),
    ("SliceChannel", [(2, 3, 5)], {"num_outputs": 3, "squeeze_axis": True, "axis": 1}),
    ("SliceChannel", [(20, 3, 800)], {"num_outputs": 4, "axis": -1}),
    ("_split_v2", [(7, 3)], {"indices": (0, 2, 2, 5), "axis": 0}),
    ("_split_v2", [(7, 3)], {"indices": (), "sections": 3, "axis": 0}),
    ("_npi_hsplit", [(2, 5)], {"indices": (0, 1)}),
    ("_npi_dsplit", [(2, 1, 5)], {"indices": (0, 1)}),
    ("slice", [(6, 7, 8)], {"begin": (1, None, -3), "end": (5, None, None)}),
    ("slice", [(6, 7, 8)], {"begin": (None, 5), "end": (None, None), "step": (-1, -2)}),
    ("slice", [(6, 7)], {"begin": (9, -20), "end": (-20, 20), "step": (-2, 3)}),
    ("slice", [(6, 7)], {"begin": (4,), "end": (2,)}),
    ("slice", [(6, 7)], {"begin": (), "end": ()}),
    ("slice", [(6, 7)], {"begin": (-9,), "end": (-1,), "step": (None,)}),
    ("slice_axis", [(4, 5, 6)], {"axis": -2, "begin": -4, "end": None}),
    ("slice_axis", [(4, 5, 6)], {"axis": 2, "begin": 1, "end": 3}),
    ("slice_like", [(4, 5, 6), (2, 3, 4)], {}),
    ("slice_like", [(4, 5, 6), (2, 3)], {"axes": (0, 1)}),
    ("Crop", [(1, 2, 6, 8)], {"num_args": 1, "h_w": (2, 3), "offset": (1, 2)}),
    ("Crop", [(1, 2, 6, 8), (1, 2, 3, 3)], {"num_args": 2, "center_crop": True}),
    ("_slice_assign", [(4, 5), (2, 2)], {"begin": (1, 0), "end": (3, None), "step": (1, 3)}),
    ("broadcast_to", [(2, 1, 3)], {"shape": (2, 40, 3)}),
    ("broadcast_to", [(2, 300, 1)], {"shape": (0, 0, 70)}),
    ("broadcast_to", [(1, 1)], {"shape": (7, 9)}),
    ("_npi_broadcast_to", [(3, 1)], {"shape": (2, 3, 4)}),
    ("broadcast_axis", [(1, 3, 1)], {"axis": (0, 2), "size": (2, 4)}),
    ("broadcast_like", [(1, 3), (4, 3)], {}),
    ("broadcast_like", [(2, 1, 2), (4, 3)], {"lhs_axes": (1,), "rhs_axes": (0,)}),
    ("_backward_broadcast_like", [(3, 1), (2, 3, 4)], {}),
    ("tile", [(2, 3)], {"reps": (2, 1, 3)}),
    ("tile", [(2, 3, 4)], {"reps": (5,)}),
    ("tile", [(2, 3)], {"reps": (0, 2)}),
    ("repeat", [(2, 3, 40)], {"repeats": 3, "axis": 1}),
    ("repeat", [(2, 3, 40)], {"repeats": 2, "axis": -1}),
    ("repeat", [(5, 6)], {"repeats": 7}),
    ("repeat", [(5, 6)], {"repeats": 0}),
    ("UpSampling", [(2, 3, 5, 7)], {"scale": 2, "sample_type": "nearest", "num_args": 1}),
    ("UpSampling", [(1, 2, 4, 4), (1, 1, 2, 2)], {"scale": 3, "sample_type": "nearest", "num_args": 2}),
    ("reverse", [(3, 4, 50)], {"axis": (2,)}),
    ("reverse", [(3, 4, 5)], {"axis": (0, -1)}),
    ("reverse", [(0, 4)], {"axis": (0,)}),
    ("_npi_flip", [(3, 4)], {"axis": None}),
    ("depth_to_space", [(2, 12, 3, 50)], {"block_size": 2}),
    ("depth_to_space", [(1, 27, 4, 5)], {"block_size": 3}),
    ("space_to_depth", [(2, 3, 6, 100)], {"block_size": 2}),
    ("space_to_depth", [(1, 2, 20, 10)], {"block_size": 5}),
    *(
        ("Pad", [(1, 2, 5, 7)], {"mode": mode, "pad_width": (0, 0, 0, 0, 2, 1, 3, 0), "constant_value": -2})
        for mode in ("constant", "edge", "reflect")
    ),
    ("Pad", [(2, 1, 3, 4, 5)], {"mode": "reflect", "pad_width": (0, 0, 0, 0, 2, 2, 1, 0, 3, 4)}),
]


@pytest.mark.parametrize(("name", "shapes", "attrs"), CASES, ids=lambda x: x if isinstance(x, str) else None)
def test_moving(level, name, shapes, attrs):
    arrays = [numbers(*s, seed=i) for i, s in enumerate(shapes)]
    same(name, arrays, **attrs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_moving_every_dtype(level, dtype):
    for name, shapes, attrs in CASES[2:6] + CASES[7:8] + CASES[60:66]:
        same(name, [numbers(*s, dtype=dtype) for s in shapes], threads=(1,), **attrs)


def test_padding_with_what_the_dtype_does_not_hold_is_left_to_numpy(level):
    op = lookup("Pad").bind(mode="constant", pad_width=(0,) * 7 + (1,), constant_value=1e12)
    assert not Single(op, [numbers(1, 1, 2, 2, dtype="int32")]).there
    assert Single(op, [numbers(1, 1, 2, 2)]).there


@pytest.mark.parametrize("value", [1.5, -1.75, 0.5, -0.5])
def test_fractions_are_cut_off_around_whole_numbers(level, value):
    for dtype in ("int8", "int32", "int64"):
        data = numbers(1, 1, 2, 2, dtype=dtype)
        same("Pad", [data], mode="constant", pad_width=(0,) * 7 + (1,), constant_value=value)
        same("SequenceMask", [data[0, 0], numbers(2) * 0], use_sequence_length=True, value=value)


@pytest.mark.parametrize(("name", "shapes", "attrs"), CASES, ids=lambda x: x if isinstance(x, str) else None)
def test_moving_back(level, name, shapes, attrs):
    back = f"_backward_{name}"
    if (
        (back, "float32") not in native.kernels()
        or name == "broadcast_like"
        or attrs.get("mode", "constant") != "constant"
    ):
        pytest.skip(f"no kernel for {back}")
    arrays = [numbers(*s, seed=i) for i, s in enumerate(shapes)]
    dy = lookup(name).bind(**attrs).compute(*arrays)
    if not hasattr(lookup(back), "linear_in"):  # all gradients at once
        same(back, [numbers(*dy.shape, seed=9), *arrays], **attrs)
        return
    linear = range(1) if name in ("slice_like", "Crop") else range(len(shapes))
    for of in linear:
        same(back, [numbers(*dy.shape, seed=9), *arrays], of=of, **attrs)


INDEX_DTYPES = ("float32", "float64", "int32", "int64", "int8", "uint8")


def places(*shape, size, dtype="float32", seed=5):
    """Positions on an axis of that size, and outside of it on both sides where the dtype has such numbers."""
    low = 0 if dtype.startswith("u") else -2 * size
    where = np.random.default_rng(seed).integers(low, 3 * size, shape)
    if dtype.startswith("float"):
        where = where + 0.75
        flat = where.reshape(-1)
        flat[:4] = (np.nan, np.inf, -np.inf, -0.5)[: flat.size]
    return where.astype(dtype)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_take(level, mode, dtype):
    for shape, axis in [((7, 5), 0), ((3, 9), 1), ((4, 6, 11), -2), ((9,), 0), ((5, 130), 0)]:
        where = places(4, 7, size=shape[axis], dtype=dtype)
        same("take", [numbers(*shape), where], axis=axis, mode=mode)
        dy = numbers(*lookup("take").bind(axis=axis, mode=mode).compute(numbers(*shape), where).shape)
        same("_backward_take", [dy, numbers(*shape), where], axis=axis, mode=mode, of=0)
    same("take", [numbers(3, 4), np.zeros((0, 2), dtype)], mode=mode)
    same("take", [numbers(3, 4), np.asarray(places(1, size=3, dtype=dtype)[0])], mode=mode)
    same("take", [numbers(3, 4), np.array([2, 0])], mode="raise")


@pytest.mark.parametrize("dtype", DTYPES)
def test_indexing_moves_every_dtype(level, dtype):
    for columns in (1, 5):
        data = numbers(6, columns, dtype=dtype)
        same("take", [data, places(9, size=6)])
        same("Embedding", [places(9, size=6), data], input_dim=6, output_dim=columns)
        same("pick", [data, places(6, size=columns)])
        same("SequenceReverse", [data, places(columns, size=6)], use_sequence_length=True)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_embedding(level, dtype):
    weight, where = numbers(50, 33), places(4, 9, size=50 if dtype != "int8" else 20, dtype=dtype)
    same("Embedding", [where, weight], input_dim=50, output_dim=33)
    same("_contrib_SparseEmbedding", [where, weight], input_dim=50, output_dim=33)
    same("_backward_Embedding", [numbers(4, 9, 33), where, weight], input_dim=50, output_dim=33, of=1)


def test_embedding_gradients_of_many_columns(level):
    weight, where = numbers(40, 700), places(300, size=40)
    same("_backward_Embedding", [numbers(300, 700), where, weight], input_dim=40, output_dim=700, of=1)
    wide = numbers(300, 700, dtype="float64")
    same("_backward_Embedding", [wide, where, weight.astype("float64")], input_dim=40, output_dim=700, of=1)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize(("shape", "axis"), [((6, 5), -1), ((6, 5), 0), ((3, 4, 140), 1), ((7,), 0), ((300, 10), 1)])
def test_pick(level, shape, axis, mode):
    size, rest = shape[axis], tuple(n for i, n in enumerate(shape) if i != axis % len(shape))
    for keep in (False, True):
        kept = tuple(1 if i == axis % len(shape) else n for i, n in enumerate(shape))
        where = places(*(kept if keep else rest or (1,)), size=size)
        attrs = {"axis": axis, "mode": mode, "keepdims": keep}
        same("pick", [numbers(*shape), where], **attrs)
        dy = numbers(*lookup("pick").bind(**attrs).compute(numbers(*shape), where).shape, seed=3)
        same("_backward_pick", [dy, numbers(*shape), where], of=0, **attrs)


def test_batch_take(level):
    same("batch_take", [numbers(9, 4), places(9, size=4, dtype="int32")])


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_one_hot(level, dtype):
    same("one_hot", [places(5, 7, size=6, dtype=dtype)], depth=6)
    same("one_hot", [places(300, size=6, dtype=dtype)], depth=6, on_value=5.5, off_value=-1.5)
    for out in ("float64", "int32", "int64", "uint8"):
        same("one_hot", [places(5, size=6, dtype=dtype)], depth=6, on_value=3, off_value=2, dtype=out)


@pytest.mark.parametrize("name", ["SequenceMask", "SequenceReverse", "SequenceLast"])
@over("shape", [(5, 4), (6, 3, 7), (40, 30, 50)])
@pytest.mark.parametrize("axis", [0, 1])
def test_sequences(level, name, shape, axis):
    if name == "SequenceReverse" and axis:
        pytest.skip("takes steps first")
    for lengths in (
        [],
        [places(shape[1 - axis], size=shape[axis])],
        [places(shape[1 - axis], size=shape[axis], dtype="int32")],
    ):
        attrs = {"use_sequence_length": bool(lengths), "axis": axis}
        if name == "SequenceMask":
            attrs["value"] = -2.5
        same(name, [numbers(*shape), *lengths], **attrs)
        dy = lookup(name).bind(**attrs).compute(numbers(*shape, seed=2), *lengths)
        same(f"_backward_{name}", [dy, numbers(*shape), *lengths], of=0, **attrs)


CASTS = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool", "bfloat16")


def awkward(dtype):
    """Numbers that are large, small, fractions, and none at all, as far as the dtype has them."""
    wide = [
        0,
        -0.0,
        1,
        -1,
        0.5,
        -0.99,
        1.75,
        126.6,
        255,
        256,
        300,
        -129,
        65504,
        65519.9,
        1e5,
        2**53,
        1e19,
        1e30,
        1e-8,
        3e-5,
    ]
    wide += [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 + 5, 2**63, -(2**63), 1 / 3, np.nan, np.inf, -np.inf]
    wide = np.concatenate([wide, np.random.default_rng(0).normal(0, 1e3, 3000)])
    found = ignoring_fp_warnings(lookup("Cast").bind(dtype=dtype).compute, wide)
    if dtype not in NANS:
        return found
    bits = np.array(
        [sign | nan for nan in NANS[dtype] for sign in (0, 1 << 8 * found.itemsize - 1)], f"u{found.itemsize}"
    )
    return np.concatenate([found, bits.view(found.dtype)])


NANS = {
    "float16": (0x7C01, 0x7E00, 0x7FFF),
    "bfloat16": (0x7F81, 0x7FC0, 0x7FFF),
    "float32": (0x7F800001, 0x7FC00000, 0x7FFF8001, 0x7FFFFFFF),
    "float64": (0x7FF0000000000001, 0x7FF8000000000000, 0x7FFFFFFFFFFFFFFF),
}
"""The smallest and the largest that are none: rounding the one gives infinity, the other 0, where nobody takes care."""


@pytest.mark.parametrize("source", CASTS)
def test_cast(level, source):
    data = awkward(source)
    for target in CASTS:
        op = lookup("Cast").bind(dtype=target)
        single = Single(op, [data])
        if not single.there:
            assert "float32" not in (source, target)
            continue
        (got,), (want,) = single.run([data]), reference(op, [data], single.specs)
        assert got.dtype == want.dtype
        with np.errstate(invalid="ignore"):  # NaNs that signal
            one, other = got.astype("f8"), want.astype("f8")
        np.testing.assert_array_equal(one, other)
        assert (np.signbit(one) == np.signbit(other))[~np.isnan(other)].all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_where(level, dtype):
    rng = np.random.default_rng(3)
    for condition in ("float32", "uint8", "bool"):
        for shape in [(3, 40), (), (0, 3), (5,)]:
            same(
                "where",
                [rng.integers(0, 2, shape).astype(condition), *(numbers(*shape, dtype=dtype, seed=i) for i in (1, 2))],
            )
    same("where", [np.array([1, np.nan, 0, -0.0], "f4"), *(numbers(4, 3, 50, dtype=dtype, seed=i) for i in (1, 2))])


SIDES = [
    [(3, 1), (3, 4), (4,)],
    [(2, 3, 4), (1,), (3, 1)],
    [(4,), (2, 3, 1), (2, 1, 1)],
    [(1,), (3, 4), ()],
    [(300, 1), (1, 500), (300, 500)],
]


@pytest.mark.parametrize("shapes", SIDES)
def test_where_with_broadcasting(level, shapes):
    same("_npi_where", [numbers(*shapes[0]) > 0, numbers(*shapes[1]), numbers(*shapes[2])])
    same("_npi_where", [numbers(*shapes[0]), numbers(*shapes[1], dtype="int64"), numbers(*shapes[2], dtype="int64")])


BORDERS = ("constant", "edge", "reflect", "symmetric")


@pytest.mark.parametrize("mode", BORDERS)
def test_pads_of_any_rank_and_width(level, mode):
    """Wider than the data too, which is mirrored again and again then."""
    for shape, pads in (
        ((3,), ((2, 1),)),
        ((1,), ((3, 2),)),
        ((4,), ((9, 14),)),
        ((2, 3), ((0, 0), (4, 0))),
        ((2, 3), ((3, 1), (0, 0))),
        ((2, 3, 4, 5), ((0, 0), (1, 2), (0, 3), (2, 0))),
        ((2, 3, 1, 2), ((1, 1), (0, 0), (0, 0), (0, 0))),
        ((40, 50, 3), ((3, 3), (2, 2), (0, 0))),
    ):
        for dtype in DTYPES:
            value = 0.0 if dtype in ("bool", "float16") or mode != "constant" else 3.0
            same("_npi_pad", [numbers(*shape, dtype=dtype)], pad_width=pads, mode=mode, constant_value=value)
    if mode == "constant":
        same("_npi_pad", [numbers(0, 3)], pad_width=((1, 2), (0, 1)), constant_value=2.0)


@pytest.mark.parametrize("mode", ("constant", "edge", "reflect", "wrap"))
def test_pads_that_come_with_a_run(level, mode):
    for dtype in DTYPES:
        for pads in ([0, 2, 1, 1, 0, 3], [-1, 0, 2, 1, -2, 7], [0, 0, -1, 0, 0, -2], [0] * 6):
            data = [numbers(3, 4, 5, dtype=dtype), np.array(pads)]
            same("_onnx_Pad", data, mode=mode)
            same("_onnx_Pad", [*data, numbers(1, dtype=dtype)], mode=mode, given=("constant_value",))
        some = [numbers(3, 4, dtype=dtype), np.array([1, 2]), numbers(1, dtype=dtype), np.array([-1], "int32")]
        same("_onnx_Pad", some, mode=mode, given=("constant_value", "axes"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_middle_is_cut_or_surrounded(level, dtype):
    for sizes in ((4, 3, 5), (7, 3, 2), (1, 6, 8), (0, 3, 5)):
        same("_onnx_CenterCropPad", [numbers(4, 3, 5, dtype=dtype), np.array(sizes)])
    same("_onnx_CenterCropPad", [numbers(4, 3, 5, dtype=dtype), np.array([2, 8])], axes=(-1, 0))


@pytest.mark.parametrize("mode", ("linear", "circular"))
def test_caches_take_steps(level, mode):
    for dtype in DTYPES:
        past, update = numbers(3, 2, 6, 4, dtype=dtype), numbers(3, 2, 2, 4, dtype=dtype)
        same("_onnx_TensorScatter", [past, update], mode=mode)
        where = [4, 0, 3] if mode == "linear" else [5, -1, 2**40]
        same("_onnx_TensorScatter", [past, update, np.array(where)], mode=mode, given=("write_indices",))
        last = past.reshape(3, 12, 4)
        same(
            "_onnx_TensorScatter",
            [last, last[..., :3], np.array([1, 0, 1])],
            mode=mode,
            axis=2,
            given=("write_indices",),
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles(level, dtype):
    for shape in ((4, 4), (2, 3, 5), (7,), (3, 1), (0, 3), (2, 70, 60)):
        for k in (0, 1, -2, 9, -9, 2**62, -(2**62)):
            same("_npi_tril", [numbers(*shape, dtype=dtype)], k=k)
            if len(shape) > 1:
                for upper in (True, False):
                    given = [numbers(*shape, dtype=dtype), np.array(k)]
                    same("_onnx_Trilu", given, upper=upper, given=("k",))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_hot_along_an_axis(level, dtype):
    for shape in ((4,), (2, 3), (), (2, 0), (70, 3)):
        where = np.random.default_rng(1).integers(-7, 7, shape)
        for axis in range(-1 - len(shape), len(shape) + 1):
            pair = numbers(2, dtype=dtype)
            for kind in ("int64", "int32", "float32"):
                same("_onnx_OneHot", [where.astype(kind), np.array(5), pair], axis=axis)


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_by_conditions_of_every_dtype(level, dtype):
    condition = numbers(3, 40, dtype=dtype) * (numbers(3, 40, seed=5) > 0).astype(dtype)
    if dtype.startswith("float"):
        condition[0, :3] = np.nan, -0.0, np.inf
    same("where", [condition, numbers(3, 40, seed=1), numbers(3, 40, seed=2)])
    same("_npi_where", [condition[:, :1], numbers(3, 40, seed=1), numbers(40, seed=2)])
