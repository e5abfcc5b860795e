"""Chains of element-wise operators against NumPy: every word, every way of broadcasting, layouts, limits of float32."""

import itertools

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.ops.fused import OPCODES
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


@pytest.mark.parametrize("word", [w for w, (n, _) in OPCODES.items() if n == 1])
def test_unary_words(level, word):
    rng = np.random.default_rng(1)
    spread = rng.uniform(-1, 1, 997) * 10.0 ** rng.uniform(-30, 30, 997)
    x = np.concatenate([SPECIAL, rng.uniform(-20, 20, 1003), rng.uniform(-1, 1, 500), spread]).astype(np.float32)
    with np.errstate(over="ignore"):
        compare(f"$0 {word}", x if word != "gelu" else x[np.abs(x) < 4], ulps=ULPS.get(word, 4))


@pytest.mark.parametrize("word", [w for w, (n, _) in OPCODES.items() if n > 1])
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


@pytest.mark.parametrize(("dtype", "words"), [
    (np.float64, ["add", "sub", "mul", "div", "max", "min", "leaky", "eq", "lt", "and", "copysign"]),
    (np.int32, ["add", "sub", "mul", "max", "min", "eq", "ge", "xor"]),
    (np.int64, ["add", "sub", "mul", "max", "min", "ne", "gt", "or"]),
])  # fmt: skip
def test_other_dtypes(level, dtype, words):
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-9, 9, (37, 41)).astype(dtype) for _ in range(2))
    for word in words:
        for code in (f"$0 $1 {word}", f"$0 3 {word} relu $1 abs sub", f"$0 $1 mul $0 {word} negative square"):
            op = chain(code, 2)
            single = Single(op, (a, b))
            assert single.there
            (wanted,) = reference(op, (a, b), single.specs)
            (got,) = single.run((a, b))
            np.testing.assert_array_equal(got, wanted)


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


@pytest.mark.parametrize("code", ["$0 exp", "$0 2.5 mul", "$0 1e30 add", "$0 nan add", "$0 $0 div"])
def test_integers_are_refused_where_the_code_makes_other_numbers(code):
    op = chain(code, 1)
    assert op.infer_type(np.dtype("float64")) == np.float64
    with pytest.raises(OpError, match="wanted floats"):
        op.infer_type(np.dtype("int32"))
    assert chain("$0 3 mul relu", 1).infer_type(np.dtype("int32")) == np.int32
