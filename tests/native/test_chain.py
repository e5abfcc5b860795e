"""Chains of element-wise operators against NumPy: every word, every way of broadcasting, layouts, limits of float32."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.ops.fused import EXACT, LOGIC, OPCODES, WHOLE_ONLY
from tests.grouped import over
from tests.native.single import ARENA, CONSTANT, INPUT, OUTPUT, Single, reference, specs_of, using

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

EPSILON = np.finfo(np.float32).eps
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, 88.9, -104.5],
    np.float32,
)  # fmt: skip


def chain(code: str, count: int):
    return lookup("_fused_chain").bind(num_args=count, code=code)


def same(got: np.ndarray, wanted: np.ndarray, exact: np.ndarray, ulps: float, scale: float) -> None:
    """Infinities and NaN as NumPy has them; numbers within so many epsilons of the exact ones, or of NumPy's, relative to
    themselves or to the scale, whichever is larger."""
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(wanted), scale).astype(np.float64)
        error = np.minimum(np.abs(got - exact), np.abs(got - wanted.astype(np.float64))) / (size * EPSILON)
    finite = np.isfinite(wanted) & np.isfinite(exact)
    assert np.all(got[np.isinf(wanted)] == wanted[np.isinf(wanted)])
    worst = np.nanargmax(np.where(finite, error, -1)) if finite.any() else 0
    assert not finite.any() or error.flat[worst] <= ulps, (got.flat[worst], wanted.flat[worst], error.flat[worst])


def compare(code: str, *arrays: np.ndarray, ulps: float = 4, scaled=False, constants=()) -> None:
    """scaled: errors count relative to the largest result, for where results cancel. On one thread and on two."""
    op = chain(code, len(arrays))
    specs = specs_of(op, arrays)
    with np.errstate(all="ignore"):
        (wanted,) = reference(op, arrays, specs)
        exact = op.compute(*(a.astype(np.float64) for a in arrays))
    scale = np.abs(wanted).max(initial=0) if scaled else np.finfo(np.float32).tiny
    first = b""
    for count in (1, 2):
        with using(count):
            single = Single(op, arrays, constants=constants, threads=count, specs=specs)
            assert single.there
            (got,) = single.run(arrays)
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype
        if got.tobytes() != first:
            same(got, wanted, exact, ulps, scale)
        first = got.tobytes()


ULPS = {"gelu": 64, "tan": 4, "pow": 1}
"""gelu: far below 0, where NumPy's own float64 formula cancels."""


@pytest.mark.parametrize("word", [w for w, (n, _) in OPCODES.items() if n == 1 and w not in WHOLE_ONLY])
def test_unary_words(level, word):
    rng = np.random.default_rng(1)
    spread = rng.uniform(-1, 1, 997) * 10.0 ** rng.uniform(-30, 30, 997)
    x = np.concatenate([SPECIAL, rng.uniform(-20, 20, 1003), rng.uniform(-1, 1, 500), spread]).astype(np.float32)
    with np.errstate(over="ignore"):
        compare(f"$0 {word}", x if word != "gelu" else x[np.abs(x) < 4], ulps=ULPS.get(word, 4))


@pytest.mark.parametrize("power", [2, 3])
def test_small_powers(level, power):
    """Powers that are products, to a unit in the last place."""
    x = np.random.default_rng(3).uniform(-1, 1, 997) * 10.0 ** np.random.default_rng(4).uniform(-30, 30, 997)
    with np.errstate(over="ignore"):
        compare(f"$0 {power}.0 pow", np.concatenate([SPECIAL, x]).astype(np.float32), ulps=1)


@pytest.mark.parametrize("word", [w for w, (n, _) in OPCODES.items() if n > 1 and w not in WHOLE_ONLY])
def test_words_of_more_operands(level, word):
    rng = np.random.default_rng(2)
    count = OPCODES[word][0]
    edges = np.array(list(itertools.product(SPECIAL, repeat=2)), np.float32)
    for low, high in ((-3, 3), (0.1, 2)):
        more = rng.uniform(low, high, (1021, 2)).astype(np.float32)
        a, b = np.concatenate([edges, more]).T
        operands = (a, b, a[::-1].copy())[:count]
        compare(f"{' '.join(f'${i}' for i in range(count))} {word}", *operands)
        for which in range(count):  # one operand is a number, then a tensor of one element
            words = " ".join("-1.5" if i == which else f"${i - (i > which)}" for i in range(count))
            compare(f"{words} {word}", *(o for i, o in enumerate(operands) if i != which))
            one = [np.float32([1.5]) if i == which else o for i, o in enumerate(operands)]
            compare(f"{' '.join(f'${i}' for i in range(count))} {word}", *one)


@pytest.mark.parametrize(
    "code",
    [
        "$0 0 gt $0 $0 0 min expm1 0.25 mul where",  # elu
        "$0 softplus tanh $0 mul",  # mish
        "$0 negative softplus negative",  # log_sigmoid
        "$0 $0 abs 1 add div",  # softsign
        "$0 0.2 mul 0.5 add 0 max 1 min",  # hard_sigmoid
        "$0 $0 sigmoid mul",
        "$0 -1 max 2.5 min",
        "$0",
        "$0 exp $0 exp $0 exp add mul",
        "$0 2 mul $0 add $0 3 mul $0 4 mul add mul $0 sub",
        "$0 relu $0 add relu $0 mul 1 add relu",
    ],
)
@over("size", [0, 1, 15, 16, 17, 1023, 1024, 1025, 4096, 100003])
def test_compositions(level, code, size):
    x = np.random.default_rng(size).uniform(-3, 3, size).astype(np.float32)
    compare(code, x, scaled=True)


SHAPES = [
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4, 5), (3, 1, 1)),
    ((2, 7, 9, 31), (7, 1, 1), (7, 1, 1)),
    ((3, 64, 40, 33), (64, 1, 1), (1,)),
    ((5, 64), (64,), (5, 1)),
    ((300, 768), (768,), (768,)),
    ((3000, 3), (3,), (3000, 1)),
    ((2, 3, 20, 20), (2, 1, 20, 20), (2, 3, 20, 20)),
    ((2, 1, 5), (1, 4, 1), (3, 1, 1, 1)),
    ((4, 1, 300), (1, 7, 1)),
    ((1,), ()),
    ((), ()),
    ((), (3, 3)),
    ((2, 0, 3), (3,)),
    ((0, 5), (5,), (1, 1)),
    ((1, 2, 3, 1, 4, 1, 5), (2, 1, 2, 1, 6, 1)),
    ((2, 4, 7, 7, 16), (1, 4, 1, 1, 16), (1, 4, 1, 1, 16)),
    ((1, 4, 28, 28, 16), (1, 4, 1, 1, 16), (16,)),
    ((2, 2, 6, 5, 16), (2, 2, 6, 5, 16), (1, 2, 1, 1, 1)),
    ((2, 3, 2, 3, 2, 3), (3, 1, 3, 1, 3), (2, 1, 2, 1, 2, 1)),
    ((130, 17, 17), (17, 1), (130, 1, 17)),
]


@over("shapes", SHAPES)
def test_broadcasting(level, shapes):
    rng = np.random.default_rng(3)
    arrays = [rng.uniform(0.5, 2, s).astype(np.float32) for s in shapes]
    compare("$0 $1 mul", *arrays[:2], scaled=True)
    compare("$1 sqrt $0 sub", *arrays[:2], scaled=True)
    compare("$0 exp", *arrays[:2], scaled=True)  # the shape is that of all inputs
    if len(shapes) > 2:
        compare("$0 $1 mul $2 add relu", *arrays, scaled=True)
        compare("$0 $1 sub $2 exp 1 add rsqrt mul tanh", *arrays, scaled=True)
        compare("$2 $1 div $0 add", *arrays, scaled=True, constants=(1, 2))


FLOATS = [np.dtype(np.float64), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
WHOLE = [np.dtype(d) for d in ("int8", "uint8", "int32", "int64")]
BOOL = np.dtype(bool)
WIDE = [
    1e10,
    -1e10,
    3e9,
    2.0**31,
    -(2.0**31),
    2.0**63,
    65520,
    65519.99,
    65504,
    1 + 2**-11,
    1 + 2**-11 + 2**-30,
    1e-8,
    300.7,
    -300.7,
]
STEPS = {np.dtype(np.float64): 2.0**-52, np.dtype(np.float16): 2.0**-10, FLOATS[2]: 2.0**-7}
LEAST = {np.dtype(np.float64): 1e-300, np.dtype(np.float16): 6e-5, FLOATS[2]: 1e-38}


def numbers(dtype: np.dtype, seed: int) -> np.ndarray:
    """Numbers of a dtype, its ends among them."""
    rng = np.random.default_rng(seed)
    if dtype == BOOL:
        return rng.integers(0, 2, 301) > 0
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        ends = [0, 0, 1, 2, 3, limits.min, limits.max, limits.min, limits.max]
        return rng.permutation(np.array([*ends, *rng.integers(max(-9, limits.min), 40, 300)]).astype(dtype))
    with np.errstate(over="ignore"):
        return rng.permutation(
            np.concatenate([SPECIAL, rng.uniform(-20, 20, 400), rng.uniform(-1, 1, 300)]).astype(dtype)
        )


def hold(code: str, *arrays: np.ndarray, ulps: float = 4) -> None:
    """The kernel gives NumPy's numbers: whole ones to the bit, halves rounded as these; on one thread and on two."""
    op = chain(code, len(arrays))
    for count in (1, 2):
        with using(count):
            single = Single(op, arrays, threads=count)
            assert single.there, code
            with np.errstate(all="ignore"):
                (wanted,) = reference(op, arrays, single.specs)
            (got,) = single.run(arrays)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        if got.dtype.kind in "iub":
            np.testing.assert_array_equal(got, wanted, err_msg=f"{code} of {arrays[0].dtype}")
            continue
        dtype, (got, wanted) = got.dtype, (got.astype(np.float64), wanted.astype(np.float64))
        step = STEPS.get(dtype, EPSILON) * (1 if dtype.itemsize == 2 else ulps)
        with np.errstate(all="ignore"):
            error = np.abs(got - wanted) / np.maximum(np.abs(wanted), LEAST.get(dtype, 1e-37))
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | (error <= step)
        assert same.all(), (code, arrays[0].dtype, got[~same][:3], wanted[~same][:3])


DEEP = {"gelu", "gamma", "gammaln"}
"""Words whose meaning in NumPy cancels: held where it does not."""


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE, BOOL], ids=str)
def test_other_dtypes(level, dtype):
    """Every word that there is for a dtype."""
    words = LOGIC if dtype == BOOL else EXACT if dtype.kind in "iu" else set(OPCODES) - WHOLE_ONLY
    for word in sorted(words):
        operands = [numbers(dtype, i) for i in range(OPCODES[word][0])]
        if word in DEEP:
            operands = [np.abs(o[np.isfinite(o)]) for o in operands]
        code = " ".join([*(f"${i}" for i in range(len(operands))), word])
        hold(code, *operands, ulps=64 if word in DEEP else 4)
        if len(operands) == 2:
            hold(f"$0 {1 if dtype == BOOL else 3} {word}", operands[0])
            hold(code, operands[0], operands[1][:1])


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), *FLOATS, *WHOLE, BOOL], ids=str)
def test_casts(level, dtype):
    """From a dtype to every other, by a chain and by the operator: rounding, ends, what no integer holds."""
    given = numbers(dtype, 1)
    if dtype.kind not in "iub":
        with np.errstate(over="ignore"):
            given = np.concatenate([given, np.array(WIDE).astype(dtype)])
    for other in (np.dtype(np.float32), *FLOATS, *WHOLE, BOOL):
        hold(f"$0 {other}", given, ulps=0)
        op = lookup("Cast").bind(dtype=other)
        single = Single(op, [given])
        assert single.there
        with np.errstate(all="ignore"):
            (wanted,) = reference(op, [given], single.specs)
        np.testing.assert_array_equal(
            single.run([given])[0].astype(float), wanted.astype(float), err_msg=f"{dtype} {other}"
        )


def test_dtypes_change_within_a_chain(level):
    """Conditions of any dtype, numbers of other sizes, operands that repeat, halves that are rounded each time."""
    f16, f32, i64, u8, truth = (
        numbers(np.dtype(d), 2)[:290] for d in (np.float16, np.float32, np.int64, np.uint8, bool)
    )
    column = f16[:5, None]
    hold("$0 bool float32 $1 $2 float32 where", i64, f32, f16)
    hold("$0 float32 $1 float32 mul 1 add int8 $2 bool int8 3 $0 int8 where add", u8, f16, truth)
    hold("$0 0.1 mul 0.1 add $0 sub", f16)
    hold("$0 float32 0.1 mul 0.1 add float16 $0 sub", f16)
    hold("$0 $1 add", f16, column)
    hold("$0 $1 gt $2 and int64", f16, column, column)
    hold("$0 $1 float16 ne bool $2 xor", f16, i64, truth)
    hold("$0 float64 $1 float64 div float32 $2 float32 add int64", i64, u8, f16)
    hold("$0 9007199254740993 add $0 -9007199254740993 mul max", i64)
    for size in (0, 1, 15, 16, 17, 1023, 1025, 40000):
        x = np.resize(np.clip(f32, -60000, 60000), size)
        hold("$0 float16 1.5 mul float64 $0 float64 sub uint8 $0 0 gt uint8 or bool", x)
        hold("$0 0.5 gt $0 $0 negative where", x.astype(np.float16))
        hold("$0 3 mul 7 add", x.astype(np.float16).view(np.int8)[:size])


@pytest.mark.parametrize("code", ["$0 $1", "$0 add", "$2", "$0 nonsense", ""])
def test_bad_code_has_no_kernel(level, code):
    program = native.program(
        [("float32", (3,), False, 0, 0, 0, INPUT, 0), ("float32", (3,), False, 0, 0, 0, OUTPUT, 0)],
        [("_fused_chain", {"code": code}, [0], [1], False)], 0, 1, 1, 0, 1, False,
    )  # fmt: skip
    assert program.native() == [False]


def _surrounded(array: np.ndarray, halo: tuple[int, int], extra: int) -> np.ndarray:
    """A blocked array with zeros around each plane, images `extra` blocks further apart."""
    (h, w), (n, b, y, x, _) = halo, array.shape
    whole = np.zeros((n, b + extra, y + 2 * h, x + 2 * w, 16), np.float32)
    whole[:, :b, h : h + y, w : w + x] = array
    return whole


@over("shape", [(2, 3, 7, 5), (1, 2, 56, 28), (1, 1, 1, 1), (2, 2, 14, 14)])
@over(
    "halos",
    [((0, 0), (1, 1), (2, 3)), ((1, 1), (0, 0), (0, 0)), ((1, 1), (1, 1), (1, 1)), ((0, 2), (1, 0), (1, 2))],
)
@over("extra", [0, 1])
def test_blocked_with_halos(level, threads, shape, halos, extra):
    """relu((data + other) * scale); each has a halo of its own, and may be a part of a concatenation."""
    rng = np.random.default_rng(5)
    _, b, h, w = shape
    data, other = (rng.uniform(-1, 1, (*shape, 16)).astype(np.float32) for _ in range(2))
    scale = rng.uniform(0.5, 2, (1, b, 1, 1, 16)).astype(np.float32)
    inputs = [_surrounded(data, halos[0], extra), _surrounded(other, halos[1], 0)]
    out = _surrounded(np.full_like(data, np.nan), halos[2], extra)
    places = [(*halo, a.strides[0] // 4) for halo, a in zip(halos, (*inputs, out))]
    tensors = [
        ("float32", (*shape, 16), True, *places[0], INPUT, 0),
        ("float32", (*shape, 16), True, *places[1], INPUT, 1),
        ("float32", scale.shape, False, 0, 0, 0, CONSTANT, 0),
        ("float32", (*shape, 16), True, *places[2], OUTPUT, 0),
    ]
    step = ("_fused_chain", {"code": "$0 $1 add $2 mul relu"}, [0, 1, 2], [3], False)
    program = native.program(tensors, [step], 0, 2, 1, 1, threads, False)
    assert program.native() == [True]
    program.set_constants([scale], [0])
    program.run(inputs, [out], None)
    hh, hw = halos[2]
    np.testing.assert_array_equal(out[:, :b, hh : hh + h, hw : hw + w], np.maximum((data + other) * scale, 0))
    np.testing.assert_array_equal(out, _surrounded(out[:, :b, hh : hh + h, hw : hw + w], halos[2], extra))


@pytest.mark.parametrize("code", ["$0 $1 add relu", "$1 $0 sub $0 mul", "$0 exp $0 add $1 mul $0 sub"])
@over("other", [(700, 37), (37,), (700, 1), (1,)])
def test_in_place(level, threads, code, other):
    """The output has the memory of the first operand, which is itself computed."""
    rng = np.random.default_rng(6)
    a, b = rng.uniform(-1, 1, (700, 37)).astype(np.float32), rng.uniform(-1, 1, other).astype(np.float32)
    plain = (False, 0, 0, 0)
    tensors = [
        ("float32", a.shape, *plain, INPUT, 0),
        ("float32", b.shape, *plain, INPUT, 1),
        ("float32", a.shape, *plain, ARENA, 0),
        ("float32", a.shape, *plain, ARENA, 0),
        ("float32", a.shape, *plain, OUTPUT, 0),
    ]
    steps = [
        ("_fused_chain", {"code": "$0 2 mul"}, [0], [2], False),
        ("_fused_chain", {"code": code}, [2, 1], [3], False),
        ("_fused_chain", {"code": "$0"}, [3], [4], False),
    ]
    program = native.program(tensors, steps, a.nbytes, 2, 1, 0, threads, False)
    out = np.empty_like(a)
    program.run([a, b], [out], None)
    wanted = chain(code, 2).compute(a * 2, b)
    np.testing.assert_allclose(out, wanted, rtol=4 * EPSILON, atol=4 * EPSILON)


@pytest.mark.parametrize("code", ["$0 exp", "$0 2.5 mul", "$0 1e30 add", "$0 nan add", "$0 reciprocal"])
def test_integers_are_refused_where_the_code_makes_other_numbers(code):
    op = chain(code, 1)
    assert op.infer_type(np.dtype("float64")) == np.float64
    with pytest.raises(OpError, match="wanted floats"):
        op.infer_type(np.dtype("int32"))
    assert chain("$0 3 mul relu", 1).infer_type(np.dtype("int32")) == np.int32


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_doubles_end_as_halves(dtype: str) -> None:
    rng = np.random.default_rng(7)
    wide, half = rng.uniform(-3, 3, 300), rng.uniform(-3, 3, 300).astype(getattr(ml_dtypes, dtype, dtype))
    hold(f"$0 $1 float64 mul {dtype}", wide, half)
    hold(f"$0 exp {dtype}", wide)
    hold(f"$0 $1 mul {dtype}", wide, wide[::-1].copy())
