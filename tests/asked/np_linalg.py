"""Functions of mx.np.linalg: numbers, gradients, symbols, what is refused. Factors free up to a sign are multiplied again."""

from __future__ import annotations

import numpy as np

from .questions import ask, attempt, cell, numpy_mode

GENERATOR = np.random.RandomState(4)
ARRAYS = {
    "m": np.array([[4, 1], [2, 3]]),
    "s": np.array([[4, 1], [1, 3]]),
    "v": np.array([1, 2]),
    "t": np.array([[[4, 1, 0], [1, 5, 2], [0, 2, 6]], [[3, 0, 1], [0, 4, 0], [1, 0, 5]]]),
    "w": np.array([[4, 1, -7], [2, 3, 0.5]]),
    "b": np.arange(24).reshape(2, 3, 4) - 10,
    "u": np.array([3, -4, 0]),
    "q": GENERATOR.uniform(-1, 1, (4, 6, 8, 3)),
    "r": GENERATOR.uniform(-1, 1, (6, 4, 2, 3, 4)),
    "y": GENERATOR.uniform(-1, 1, (6, 4)),
    "o": np.zeros((0, 3, 3)),
}
NORMS = {
    "all": {},
    "all kept": {"keepdims": True},
    "rows": {"axis": 1},
    "columns kept": {"axis": 0, "keepdims": True},
    "one": {"ord": 1, "axis": 1},
    "zero": {"ord": 0, "axis": 1},
    "three": {"ord": 3, "axis": 0},
    "half": {"ord": 0.5, "axis": 1},
    "minus one": {"ord": -1, "axis": 0},
    "inf": {"ord": "inf", "axis": 1},
    "minus inf": {"ord": "-inf", "axis": 1},
    "two": {"ord": 2, "axis": -1},
    "matrix": {"axis": (0, 1)},
    "matrix one": {"ord": 1, "axis": (0, 1)},
    "matrix minus one": {"ord": -1, "axis": (1, 0)},
    "matrix two": {"ord": 2, "axis": (0, 1)},
    "matrix minus two": {"ord": -2, "axis": (0, 1)},
    "matrix inf": {"ord": "inf", "axis": (0, 1)},
    "matrix minus inf": {"ord": "-inf", "axis": (1, 0), "keepdims": True},
    "nuclear": {"ord": "nuc", "axis": (0, 1)},
    "frobenius": {"ord": "fro", "axis": (0, 1), "keepdims": True},
    "inf of all": {"ord": "inf"},
    "one of all": {"ord": 1},
    "two of all": {"ord": 2},
    "infinity": {"ord": np.inf},
    "infinity of matrices": {"ord": -np.inf, "axis": (1, 0)},
}
CALLS = {
    **{f"norm {name}": ("w", lambda xp, w, given=given: xp.linalg.norm(w, **given)) for name, given in NORMS.items()},
    "norm of a vector": ("u", lambda xp, u: xp.linalg.norm(u)),
    "norm of a vector, one": ("u", lambda xp, u: xp.linalg.norm(u, 1)),
    "norm of three axes": ("b", lambda xp, b: xp.linalg.norm(b)),
    "norm of three axes, two": ("b", lambda xp, b: xp.linalg.norm(b, axis=(0, 2))),
    "norm of three axes, nuclear": ("b", lambda xp, b: xp.linalg.norm(b, "nuc", axis=(0, 2))),
    "singular values": ("b", lambda xp, b: xp.linalg.svd(b)[1]),
    "cholesky": ("t", lambda xp, t: xp.linalg.cholesky(t)),
    "inverse": ("t", lambda xp, t: xp.linalg.inv(t)),
    "inverse of one": ("m", lambda xp, m: xp.linalg.inv(m)),
    "inverse of none": ("o", lambda xp, o: xp.linalg.inv(o)),
    "determinant": ("m", lambda xp, m: xp.linalg.det(m)),
    "determinants": ("t", lambda xp, t: xp.linalg.det(t)),
    "determinants of none": ("o", lambda xp, o: xp.linalg.det(o)),
    "logarithm": ("m", lambda xp, m: xp.linalg.slogdet(m)[1]),
    "sign": ("t", lambda xp, t: xp.linalg.slogdet(t)[0]),
    "solve": ("m v", lambda xp, m, v: xp.linalg.solve(m, v)),
    "solve more": ("t t", lambda xp, t, r: xp.linalg.solve(t, r)),
    "tensor inverse": ("q", lambda xp, q: xp.linalg.tensorinv(q)),
    "tensor solution": ("r y", lambda xp, r, y: xp.linalg.tensorsolve(r, y)),
    "pseudo-inverse": ("w", lambda xp, w: xp.linalg.pinv(w)),
    "pseudo-inverses": ("b", lambda xp, b: xp.linalg.pinv(b, rcond=0.01)),
    "eigenvalues": ("m", lambda xp, m: xp.linalg.eigvals(m)),
    "symmetric eigenvalues": ("t", lambda xp, t: xp.linalg.eigvalsh(t)),
    "upper eigenvalues": ("m", lambda xp, m: xp.linalg.eigvalsh(m, UPLO="U")),
    "eig": ("m", lambda xp, m: xp.linalg.eig(m)[0]),
    "eigh": ("t", lambda xp, t: xp.linalg.eigh(t)[0]),
}
ALONE = ("eig", "upper", "pseudo", "symmetric", "tensor")
"""Beginnings of names of what has no gradient in MXNet, or one of large numbers."""
TWICE = ("matrix two", "matrix minus two", "one of all", "two of all", "infinity", "infinity of matrices")
"""Norms whose gradients MXNet multiplies by those of what they give a second time."""


def flat(found):
    """A list of what was given."""
    return list(found) if isinstance(found, (list, tuple)) else [found]


def given(mx, names, dtype="float64"):
    """Arrays by their names."""
    return [mx.np.array(ARRAYS[k], dtype=dtype) for k in names.split()]


@ask
def numbers(mx, folder):
    """Answers of functions."""
    with numpy_mode(mx) as xp:
        return {
            name: cell(lambda c=call, n=names: c(xp, *given(mx, n)).astype("float32"))
            for name, (names, call) in CALLS.items()
        }


@ask
def dtypes(mx, folder):
    """Dtypes and shapes of what functions of float32 give."""
    with numpy_mode(mx) as xp:
        return {
            name: attempt(
                lambda c=call, n=names: (lambda y: [str(y.dtype), list(y.shape)])(c(xp, *given(mx, n, "float32")))
            )
            for name, (names, call) in CALLS.items()
        }


@ask
def gradients(mx, folder):
    """Answers of backward, of the sum of squares."""

    def gradient(call, names):
        arrays = given(mx, names)
        for array in arrays:
            array.attach_grad()
        with mx.autograd.record():
            found = call(mx.np, *arrays)
            total = (found * found).sum()
        total.backward()
        return [array.grad.astype("float32") for array in arrays]

    with numpy_mode(mx):
        return {
            name: cell(lambda c=call, n=names: gradient(c, n))
            for name, (names, call) in CALLS.items()
            if not name.startswith(ALONE) and name.removeprefix("norm ") not in TWICE
        }


@ask
def symbols(mx, folder):
    """Answers of the same functions of symbols, bound."""

    def bound(call, names):
        arrays = {f"x{j}": ARRAYS[k].astype(np.float32) for j, k in enumerate(names.split())}
        out = call(mx.sym.np, *(mx.sym.var(k).as_np_ndarray() for k in arrays))
        values = {k: mx.nd.array(v) for k, v in arrays.items()}
        return [y.asnumpy() for y in out.bind(mx.cpu(), values, grad_req="null").forward()]

    with numpy_mode(mx):
        return {
            name: cell(lambda c=call, n=names: bound(c, n))
            for name, (names, call) in CALLS.items()
            if "tensor" not in name and "none" not in name and name != "norm infinity"
        }


@ask
def whole(mx, folder):
    """Products of factors."""
    with numpy_mode(mx) as xp:
        t, b, m = given(mx, "t b m")

        def svd():
            ut, values, v = xp.linalg.svd(b)
            return [
                xp.matmul(ut * values[:, None], v).astype("float32"),
                list(map(str, (ut.shape, values.shape, v.shape))),
            ]

        def eigh():
            values, vectors = xp.linalg.eigh(t)
            return xp.matmul(vectors * values[:, None], vectors.swapaxes(1, 2)).astype("float32")

        def eig():
            values, vectors = xp.linalg.eig(m)
            return (m @ vectors - vectors * values).round(4)

        def qr():
            q, r = xp.linalg.qr(m)
            return [q @ r, type(q).__name__]

        return {
            "svd": cell(svd),
            "eigh": cell(eigh),
            "eig": cell(eig),
            "qr": cell(qr),
            "power": cell(lambda: xp.linalg.matrix_power(m, 3)),
            "rank": cell(lambda: int(xp.linalg.matrix_rank(m))),
            "multi dot": cell(lambda: xp.linalg.multi_dot([m, m, m])),
            "cond": cell(lambda: float(xp.linalg.cond(m))),
            "lstsq": cell(lambda: xp.linalg.lstsq(m, xp.array([1.0, 2.0]), rcond=None)[0]),
            "tuples": [type(f(t)).__name__ for f in (xp.linalg.svd, xp.linalg.eig, xp.linalg.eigh, xp.linalg.slogdet)],
        }


@ask
def what_is_refused(mx, folder):
    """Errors."""
    with numpy_mode(mx) as xp:
        m, w, b = (xp.array(ARRAYS[k]) for k in "mwb")

        calls = {
            "axis": lambda: xp.linalg.norm(m, axis=[0]),
            "ord": lambda: xp.linalg.norm(m, "foo"),
            "axes": lambda: xp.linalg.norm(b, axis=(0, 1, 2)),
            "nuclear of vectors": lambda: xp.linalg.norm(m, "nuc", axis=1),
            "inverse": lambda: xp.linalg.inv(w),
            "singular": lambda: xp.linalg.inv(xp.array([[1.0, 2], [2, 4]])),
            "integers": lambda: xp.linalg.inv(xp.ones((2, 2), dtype="int32")),
            "hermitian": lambda: xp.linalg.pinv(m, hermitian=True),
            "cholesky": lambda: xp.linalg.cholesky(xp.array([[1.0, 2], [2, 1]])),
            "complex": lambda: xp.linalg.eigvals(xp.array([[0.0, -1], [1, 0]])),
            "solve": lambda: xp.linalg.solve(m, xp.ones(3)),
            "determinant": lambda: xp.linalg.det(w),
            "axis beyond": lambda: xp.linalg.norm(m, axis=5),
        }
        return {name: attempt(call) for name, call in calls.items()}
