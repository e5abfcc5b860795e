"""``mx.np.random`` and ``mx.npx.random``: shapes and dtypes of what they draw, imperatively and hybridized, gradients of parameters
where no number that was drawn comes into them, and what is refused. Left out: what MXNet crashes at, or draws from no law."""

# ruff: noqa: N803
from __future__ import annotations

import numpy as np

from .questions import ask, attempt


class Array:
    """Numbers that are given as an array of mx.np."""

    def __init__(self, *values, dtype="float32"):
        self.values = np.array(values, dtype)

    def __repr__(self):
        return f"{self.values.dtype}{self.values.tolist()}"

    def make(self, mx):
        flat = mx.nd.array(self.values.reshape(-1), dtype=self.values.dtype).as_np_ndarray()
        return flat.reshape(self.values.shape)


class Number(Array):
    """A number that is given as an array of shape ()."""

    def __init__(self, value, dtype="float32"):
        self.values = np.array(value, dtype)


A, EYE, TWO, ROW = Array, Array((1, 0), (0, 1)), (3, 2), Array(1, 2)

CALLS = [
    ("normal", ([1, 2],), {}),
    ("normal", (1, -1), {}),
    ("normal", (ROW, A(-1, 2)), {}),
    ("normal", (ROW, A(1, 2, 3)), {}),
    ("normal", (ROW,), {"size": (3,)}),
    ("normal", (ROW,), {"size": 3}),
    ("normal", (ROW,), {"size": TWO}),
    ("normal", (ROW,), {"size": 2}),
    ("normal", (ROW,), {}),
    ("normal", (ROW, 2.0), {"dtype": "float64"}),
    ("normal", (1.0, ROW), {"size": TWO}),
    ("normal", (ROW, ROW), {"size": (4, 2), "dtype": "float16"}),
    ("normal", (A(1, 2, dtype="int32"),), {}),
    ("normal", (A(1, 2, dtype="float64"),), {}),
    ("normal", (A((1,), (2,)), A((1, 2, 3))), {}),
    ("normal", (Number(1), 1.0), {}),
    ("normal", (), {"size": ()}),
    ("normal", (), {"size": (0, 3)}),
    ("normal", (), {"dtype": "float16"}),
    ("normal", (), {"dtype": "int32"}),
    ("normal", (), {"dtype": float}),
    ("normal", ("a",), {}),
    ("normal", (None, 1), {}),
    ("normal", (1, None), {}),
    ("normal", (), {"size": [2, 3]}),
    ("normal", (), {"size": (2,), "out": A(0, 0)}),
    ("normal", (), {"size": (2,), "out": A(0, 0, 0)}),
    ("normal", (), {"out": A(0, 0, 0)}),
    ("normal", (ROW, ROW), {"out": A(0, 0)}),
    ("uniform", (2, 1), {}),
    ("uniform", (ROW,), {"high": 5, "size": (4, 2)}),
    ("uniform", (0, A(3, 4)), {}),
    ("uniform", (Number(1), Number(2)), {}),
    ("uniform", (), {"dtype": "float64", "size": (2, 0)}),
    ("randint", (3,), {}),
    ("randint", (3,), {"size": (2, 2)}),
    ("randint", (-5, 5, 3), {"dtype": "int32"}),
    ("randint", (3,), {"size": 4, "dtype": "float32"}),
    ("randint", (3,), {"size": 4, "dtype": "int8"}),
    ("randint", (2.5,), {}),
    ("randint", (0, 5), {"out": A(0, 0, 0, dtype="int64")}),
    ("randint", (0, 5), {"size": (3,), "out": A(0, 0, 0, dtype="int64")}),
    ("randint", (0, 5), {"size": (3,), "out": A(0, 0, 0)}),
    ("choice", (5,), {}),
    ("choice", (5,), {"size": 3}),
    ("choice", (5, 3, False), {}),
    ("choice", (A(1, 2, 3),), {"size": (2, 2)}),
    ("choice", (A(1, 2, 3),), {"p": A(0.1, 0.2, 0.7)}),
    ("choice", (3,), {"p": A(0.1, 0.2, 0.7), "size": 4}),
    ("choice", (3,), {"p": [0.1, 0.2, 0.7], "size": 4}),
    ("choice", ([1, 2, 3],), {}),
    ("multinomial", (10, [0.2, 0.8]), {}),
    ("multinomial", (10, [0.2, 0.8]), {"size": (2,)}),
    ("multinomial", (10, A(0.2, 0.8)), {"size": 3}),
    ("multinomial", (10, [[0.2, 0.8]]), {}),
    ("multinomial", (10, A(0.2, 0.8)), {"size": ()}),
    ("multinomial", (10, [0.2, 0.8]), {"dtype": "int32"}),
    ("multinomial", (10, EYE), {}),
    ("multinomial", (10, np.array([0.2, 0.8])), {}),
    ("multivariate_normal", (A(0, 1), EYE), {}),
    ("multivariate_normal", (A(0, 1), EYE), {"size": 3}),
    ("multivariate_normal", (A(0, 1), EYE), {"size": TWO}),
    ("multivariate_normal", (A((0, 1), (2, 3), (4, 5)), EYE), {"size": 4}),
    ("multivariate_normal", ([0, 1], EYE), {}),
    ("multivariate_normal", (A(0, 1, 2), EYE), {}),
    ("multivariate_normal", (A(0, 1), A((-1, 0), (0, 1))), {}),
    ("gamma", (2,), {}),
    ("gamma", (A(2, 3), 2), {"size": (4, 2)}),
    ("gamma", (2, A(2, 3)), {"dtype": "float64"}),
    ("gamma", (-1,), {}),
    ("gamma", (0,), {}),
    ("gamma", (1, 0), {}),
    ("gamma", (A(-1, 2),), {}),
    ("gamma", (2,), {"size": 3, "dtype": "float64"}),
    ("gamma", (2,), {"out": A(0, 0, 0)}),
    ("gamma", ([1, 2],), {}),
    ("beta", (1, 2), {}),
    ("beta", (ROW, 2), {}),
    ("beta", (ROW, 2), {"size": TWO, "dtype": "float16"}),
    ("beta", (-1, 2), {}),
    ("chisquare", (3,), {}),
    ("chisquare", (A(3, 4),), {"size": (2, 2)}),
    ("chisquare", (0,), {}),
    ("exponential", (), {}),
    ("exponential", (ROW,), {}),
    ("exponential", (-1,), {}),
    ("exponential", (A(-1, 2),), {}),
    ("exponential", (0,), {}),
    ("exponential", (2,), {"size": 3, "out": A(0, 0, 0)}),
    ("weibull", (1,), {}),
    ("weibull", (0,), {}),
    ("weibull", (A(0, 1),), {}),
    ("weibull", (-1,), {}),
    ("pareto", (2,), {}),
    ("pareto", (0,), {}),
    ("pareto", (ROW,), {"size": (5, 2)}),
    ("power", (2,), {}),
    ("power", (0,), {}),
    ("power", (A(1, 0),), {}),
    ("power", (ROW,), {"size": TWO}),
    ("rayleigh", (), {}),
    ("rayleigh", (ROW,), {}),
    ("rayleigh", (-1,), {}),
    ("rayleigh", (A(-1, 1),), {}),
    ("gumbel", (0, -1), {}),
    ("gumbel", (A(0, 1), A(2, 3)), {"size": (4, 2)}),
    ("logistic", (0, -1), {}),
    ("logistic", (1, A(2, 3)), {}),
    ("lognormal", (0, -1), {}),
    ("lognormal", (1, A(2, 3)), {}),
    ("rand", (), {}),
    ("rand", (2, 3), {}),
    ("rand", ((2, 3),), {}),
    ("rand", (2,), {"dtype": "float64"}),
    ("randn", (), {}),
    ("randn", (2, 3), {}),
    ("shuffle", (A(1, 2, 3),), {}),
    ("shuffle", ([1, 2],), {}),
    ("x.bernoulli", (0.3,), {}),
    ("x.bernoulli", (), {"prob": 1.3}),
    ("x.bernoulli", (), {"logit": 1.3, "size": (2,)}),
    ("x.bernoulli", (A(0.2, 0.3),), {}),
    ("x.bernoulli", (A(0.2, 1.3),), {}),
    ("x.bernoulli", (), {"logit": A(0.2, 1.3), "size": TWO, "dtype": "bool"}),
    ("x.bernoulli", (0.2, 0.3), {}),
    ("x.bernoulli", (), {}),
    ("x.bernoulli", (), {"prob": 0.3, "dtype": "int64"}),
    ("x.bernoulli", (), {"prob": 0.3, "dtype": "int32"}),
    ("x.normal_n", (), {}),
    ("x.normal_n", (ROW, 3, (2, 3)), {}),
    ("x.normal_n", (ROW, ROW), {"batch_shape": 4}),
    ("x.normal_n", (ROW, -1), {}),
    ("x.uniform_n", (ROW, 3, (2, 3)), {}),
    ("x.uniform_n", (1, 3, (2, 3)), {"dtype": "float64"}),
]
"""Functions, those of mx.npx.random with an x, and what they are given."""


def found(module, name):
    """The function of mx or of F."""
    first, _, last = name.rpartition(".")
    return getattr((module.npx if first else module.np).random, last)


def drawn(mx, name, args, kwargs):
    """Shape and dtype of what a function draws, and whether a hybridized block gives such."""
    made = [a.make(mx) if isinstance(a, Array) else a for a in args]
    named = {k: a.make(mx) if isinstance(a, Array) else a for k, a in kwargs.items()}
    inputs = [a for a in (*made, *named.values()) if isinstance(a, mx.nd.NDArray)]

    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, trigger, *given):
            given = iter(given)
            own = [next(given) if isinstance(a, mx.nd.NDArray) else a for a in made]
            more = {k: next(given) if isinstance(a, mx.nd.NDArray) else a for k, a in named.items()}
            return found(F, name)(*own, **more), F.npx.relu(trigger)

    def described(value):
        return (
            None if value is None else [list(value.asnumpy().shape), str(value.asnumpy().dtype), type(value).__name__]
        )

    answer = attempt(lambda: described(found(mx, name)(*made, **named)))
    if "out" in named or name in ("shuffle", "randn", "multinomial") or (isinstance(answer, dict) and not inputs):
        return answer
    block = Block()
    block.hybridize()
    again = attempt(lambda: described(block(A(1.0).make(mx), *inputs)[0]))
    if isinstance(answer, dict) and isinstance(again, dict):
        return [answer, True]
    return [answer, again == answer or again]


@ask
def draws(mx, folder):
    """Shapes and dtypes."""
    with mx.util.np_shape(True), mx.util.np_array(True):
        return {f"{name} {args} {kwargs}": drawn(mx, name, args, kwargs) for name, args, kwargs in CALLS}


@ask
def gradients(mx, folder):
    """Gradients of parameters by what was drawn, which samples that are put in say: 0 where they agree."""
    laws = {
        "normal": ((0.5, 2.0), lambda y, loc, scale: (np.ones_like(y), (y - loc) / scale)),
        "gumbel": ((0.5, 2.0), lambda y, loc, scale: (np.ones_like(y), (y - loc) / scale)),
        "logistic": ((0.5, 2.0), lambda y, loc, scale: (np.ones_like(y), (y - loc) / scale)),
        "exponential": ((2.0,), lambda y, scale: (y / scale,)),
        "rayleigh": ((2.0,), lambda y, scale: (y / scale,)),
        "weibull": ((2.0,), lambda y, a: (-y * np.log(y) / a,)),
        "pareto": ((2.0,), lambda y, a: (-(y + 1) * np.log1p(y) / a,)),
        "uniform": ((0.5, 2.0), None),
        "gamma": ((0.5, 2.0), None),
        "power": ((0.5,), None),
        "beta": ((0.5, 2.0), None),
        "chisquare": ((3.0,), None),
        "lognormal": ((0.5, 2.0), lambda y, mean, sigma: (y, y * (np.log(y) - mean) / sigma)),
        "x.normal_n": ((0.5, 2.0), lambda y, loc, scale: (np.ones_like(y), (y - loc) / scale)),
        "x.bernoulli": ((0.0,), None),
    }
    answers = {}
    with mx.util.np_shape(True), mx.util.np_array(True):
        for name, (values, slopes) in laws.items():

            def slope(name=name, values=values, slopes=slopes):
                parameters = [A(v, v + 1).make(mx) for v in values]
                for p in parameters:
                    p.attach_grad()
                size = {"batch_shape" if name.endswith("_n") else "size": (4,) if name.endswith("_n") else (4, 2)}
                with mx.autograd.record():
                    y = found(mx, name)(*parameters, **size)
                y.backward()
                got = [p.grad.asnumpy() for p in parameters]
                if slopes is None:
                    return got
                wanted = slopes(y.asnumpy().astype(np.float64), *(np.array([v, v + 1]) for v in values))
                return [bool(np.allclose(g, w.sum(0), rtol=1e-3, atol=1e-4)) for g, w in zip(got, wanted)]

            answers[name] = attempt(slope)
    return answers
