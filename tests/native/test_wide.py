"""Products, convolutions, pooling, softmax and layer normalization of float64 against NumPy: edges of panels, strides, threads."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup
from tests.native.single import Single, reference, specs_of, using

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

SIZES = [
    (1, 1, 1),
    (1, 40, 33),
    (3, 16, 7),
    (8, 17, 64),
    (9, 15, 5),
    (130, 33, 20),
    (200, 5, 3),
    (0, 4, 3),
    (4, 0, 3),
    (3, 4, 0),
]


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def hold(name: str, *arrays: np.ndarray, constants=(), bound: float = 64, **attrs) -> None:
    """As NumPy's numbers within a bound in epsilons of the output's scale, the same on one thread and on three."""
    op = lookup(name).bind(**attrs)
    specs = specs_of(op, arrays)
    wanted = reference(op, arrays, specs)
    first = None
    for count in (1, 3):
        with using(count):
            single = Single(op, arrays, constants=constants, threads=count, specs=specs)
            assert single.there, op
            made = single.run(arrays)
        for got, want in zip(made, wanted):
            scale = np.abs(want[np.isfinite(want)]).max(initial=1e-300)
            np.testing.assert_allclose(got, want, rtol=0, atol=bound * 2.0**-52 * scale, err_msg=repr(op))
        first = first or [g.tobytes() for g in made]
        assert first == [g.tobytes() for g in made], (op, [a.shape for a in arrays])


def test_products(level):
    for m, n, k in SIZES:
        for ta in (False, True):
            for tb in (False, True):
                a, b = random(*((k, m) if ta else (m, k))), random(*((n, k) if tb else (k, n)))
                if m and n and k:
                    hold("dot", a, b, transpose_a=ta, transpose_b=tb, constants=(1,))
                batch = [np.stack([x, 2 * x, -x]) for x in (a, b)]
                hold("batch_dot", *batch, transpose_a=ta, transpose_b=tb)
                hold("_linalg_gemm", *batch, random(3, m, n), transpose_a=ta, transpose_b=tb, alpha=0.1, beta=-0.3)
        if m and n and k:
            hold("FullyConnected", random(m, k), random(n, k), random(n), num_hidden=n, constants=(1, 2))
            hold("FullyConnected", random(m, k), random(n, k), num_hidden=n, no_bias=True)
    hold("_npi_matmul", random(2, 1, 5, 7), random(3, 7, 18))
    hold("_npi_matmul", random(7), random(3, 7, 18))


def test_convolutions(level):
    cases = [
        ((2, 3, 9, 21), 5, {"kernel": (3, 3), "pad": (1, 1)}),
        ((1, 4, 12, 11), 6, {"kernel": (3, 2), "stride": (2, 3), "dilate": (2, 1), "pad": (2, 0), "num_group": 2}),
        ((2, 6, 30), 6, {"kernel": (5,), "pad": (4,), "num_group": 6}),
        ((1, 2, 5, 4, 6), 3, {"kernel": (2, 3, 3), "pad": (1, 0, 2), "stride": (1, 1, 2)}),
        ((3, 17, 1, 1), 20, {"kernel": (1, 1)}),
    ]
    for shape, filters, attrs in cases:
        weight = random(filters, shape[1] // attrs.get("num_group", 1), *attrs["kernel"])
        hold("Convolution", random(*shape), weight, random(filters), num_filter=filters, constants=(1, 2), **attrs)
        hold("Convolution", random(*shape), weight, num_filter=filters, no_bias=True, **attrs)


def test_pooling(level):
    x = random(2, 3, 9, 11)
    x[0, 0, 2, 3], x[1, 1, 0, 0] = np.inf, -np.inf
    for attrs in (
        {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1), "pool_type": "max"},
        {"kernel": (3, 3), "stride": (2, 2), "pool_type": "max", "pooling_convention": "full"},
        {"global_pool": True, "pool_type": "max"},
    ):
        hold("Pooling", x, **attrs)
    x = random(2, 3, 9, 11)
    for kind in (
        {"pool_type": "avg"},
        {"pool_type": "sum"},
        {"pool_type": "lp", "p_value": 2},
        {"pool_type": "lp", "p_value": 3},
    ):
        hold("Pooling", np.abs(x), kernel=(3, 2), stride=(2, 2), pad=(1, 0), **kind)
        hold("Pooling", np.abs(x[:, :, 0]), kernel=(4,), pad=(2,), count_include_pad=False, **kind)
        hold("Pooling", np.abs(x[:, :, None]), global_pool=True, **kind)


def test_rows(level):
    for shape in ((3, 1), (5, 7), (4, 8), (2, 9, 33), (2, 1000), (1, 0)):
        x = 30 * random(*shape)
        for axis in {-1, len(shape) - 2}:
            hold("softmax", x, axis=axis, temperature=0.7)
            hold("log_softmax", x, axis=axis)
            hold("softmin", x, axis=axis)
            if x.size:
                size = shape[axis]
                hold("LayerNorm", x + 1e3, random(size), random(size), axis=axis, bound=1e6, output_mean_var=True)
    x = np.array([[0.0, np.inf], [np.nan, 1], [-np.inf, -np.inf], [-np.inf, 1e300]])
    with np.errstate(all="ignore"):
        hold("softmax", x)
        hold("log_softmax", x[3:])
