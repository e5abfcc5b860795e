"""Samplers, of which shapes and dtypes can be compared, and densities."""

from fixtures.make.cases import uniform, values

from ..space import opt, space

FLOATS = ["float32", "float64", "float16"]
DRAWN = {"shape": [(2, 3), (4,), (1, 2, 2), 3], "ctx": opt("cpu(0)"), "dtype": opt("None", *FLOATS)}
space("_random_uniform", lambda a: [], {"low": opt(-1), "high": opt(2.5), **DRAWN})
space("_random_normal", lambda a: [], {"loc": opt(-1), "scale": opt(2.5), **DRAWN})
space("_random_gamma", lambda a: [], {"alpha": opt(2), "beta": opt(0.5), **DRAWN})
space("_random_exponential", lambda a: [], {"lam": opt(2), **DRAWN})
space("_random_poisson", lambda a: [], {"lam": opt(4), **DRAWN})
space("_random_negative_binomial", lambda a: [], {"k": opt(3), "p": [0.4, 0.9], **DRAWN})
space("_random_generalized_negative_binomial", lambda a: [], {"mu": opt(2), "alpha": opt(0.3), **DRAWN})
space(
    "_random_randint",
    lambda a: [],
    {"low": [0, -3], "high": [5, 9], "shape": [(2, 3), (4,)], "dtype": opt("int32", "int64")},
)
LIKE = {"shape": [(5,), (2, 3)], "dtype": FLOATS}


def like(a):
    return [uniform(*a.shape, dtype=a.dtype)]


space("_random_uniform_like", like, {"low": opt(-1), "high": opt(2.5)}, LIKE)
space("_random_normal_like", like, {"loc": opt(-1), "scale": opt(2.5)}, LIKE)
space("_random_gamma_like", like, {"alpha": opt(2), "beta": opt(0.5)}, LIKE)
space("_random_exponential_like _random_poisson_like", like, {"lam": opt(2)}, LIKE)
space("_random_negative_binomial_like", like, {"k": opt(3), "p": [0.4]}, LIKE)
space("_random_generalized_negative_binomial_like", like, {"mu": opt(2), "alpha": opt(0.3)}, LIKE)
SAMPLED = {"shape": opt("()", (2,), (2, 3)), "dtype": opt("None", *FLOATS)}
GIVEN = {"of": [(2,), (2, 3)], "kind": ["float32", "float64"]}


def parameters(low, high, count):
    return lambda a: [uniform(*a.of, low=low, high=high, dtype=a.kind) for _ in range(count)]


space(
    "_sample_uniform",
    lambda a: [uniform(*a.of, low=0, dtype=a.kind), uniform(*a.of, low=1, high=2, dtype=a.kind)],
    SAMPLED,
    GIVEN,
)
space("_sample_normal _sample_gamma", parameters(0.5, 2, 2), SAMPLED, GIVEN)
space("_sample_exponential _sample_poisson", parameters(0.5, 2, 1), SAMPLED, GIVEN)
space(
    "_sample_negative_binomial",
    lambda a: [uniform(*a.of, low=1, high=4, dtype=a.kind), uniform(*a.of, low=0.2, high=0.9, dtype=a.kind)],
    SAMPLED,
    GIVEN,
)
space("_sample_generalized_negative_binomial", parameters(0.5, 2, 2), SAMPLED, GIVEN)
space(
    "_sample_multinomial",
    lambda a: [values([0.2, 0.5, 0.3] if a.rank == 1 else [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], a.kind)],
    {
        "shape": opt("()", 1, 4, (2, 3)),
        "get_prob": opt(True, False),
        "dtype": opt("int32", "float32", "float64", "float16", "uint8"),
    },
    {"rank": [1, 2], "kind": ["float32", "float64"]},
)
space("_shuffle", lambda a: [uniform(*a.shape, dtype=a.dtype)], {}, LIKE)
PDF = {"is_log": opt(True, False)}
SAMPLES = {"draws": [(4,), (2, 4)], "dtype": ["float32", "float64"]}


def density(count, low=0.5, high=2.0, whole=False):
    """Draws, and the parameters that they come from: one each, or one for each row."""

    def inputs(a):
        draw = (
            (lambda rng: rng.randint(0, 5, a.draws).astype(a.dtype))
            if whole
            else uniform(*a.draws, low=0.1, high=2, dtype=a.dtype)
        )
        return [
            draw,
            *(
                uniform(*(a.draws[:-1] or (1,))[: len(a.draws) - 1], low=low, high=high, dtype=a.dtype)
                for _ in range(count)
            ),
        ]

    return inputs


space("_random_pdf_normal _random_pdf_gamma", density(2), PDF, SAMPLES)
space("_random_pdf_exponential", density(1), PDF, SAMPLES)
space("_random_pdf_poisson", density(1, whole=True), PDF, SAMPLES)
space("_random_pdf_negative_binomial", density(2, 0.2, 0.9, whole=True), PDF, SAMPLES)
space("_random_pdf_generalized_negative_binomial", density(2, whole=True), PDF, SAMPLES)
space(
    "_random_pdf_uniform",
    lambda a: [
        uniform(2, 4, low=0.2, high=0.8, dtype=a.dtype),
        uniform(2, low=0, high=0.1, dtype=a.dtype),
        uniform(2, low=1, high=2, dtype=a.dtype),
    ],
    PDF,
    {"dtype": ["float32", "float64"]},
)
space(
    "_random_pdf_dirichlet",
    lambda a: [values([[[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]], a.dtype), uniform(1, 3, low=0.5, high=2, dtype=a.dtype)],
    PDF,
    {"dtype": ["float32", "float64"]},
)
