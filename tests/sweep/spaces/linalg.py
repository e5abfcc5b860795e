"""Matrices."""

import numpy as np

from fixtures.make.cases import uniform, values

from ..space import opt, space

BOOL = opt(True, False)
TWO = ["float32", "float64"]
MATRICES = np.array([[[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]], [[2, 0, 1], [0, 5, 1], [1, 1, 3]]])
SKEW = MATRICES + np.array([[0, 0.3, -0.2], [-0.1, 0, 0.4], [0.7, -0.5, 0]])


def matrix(rows, columns, turned, a):
    """A stack of matrices; the axis of rows is where the attribute axis says."""
    shape = (columns, rows) if turned is True else (rows, columns)
    axis = -2 if a.axis is None else a.axis
    batch = (2, 2)[: a.batch]
    rank = 2 + len(batch)
    at = axis % rank if -rank <= axis < rank else rank - 2
    whole = [*batch, shape[1]]
    whole.insert(min(at, rank - 2), shape[0])
    return uniform(*whole, dtype=a.dtype)


AXES = opt(-2, lambda a: -3 if a.batch else -2, lambda a: 0 if a.batch else -2, lambda a: 1 if a.batch > 1 else -2)
space(
    "_linalg_gemm2",
    lambda a: [matrix(3, 4, a.transpose_a, a), matrix(4, 2, a.transpose_b, a)],
    {"transpose_a": BOOL, "transpose_b": BOOL, "alpha": opt(1.5, -1), "axis": AXES},
    {"batch": [0, 1, 2], "dtype": TWO},
)
space(
    "_linalg_gemm",
    lambda a: [matrix(3, 4, a.transpose_a, a), matrix(4, 2, a.transpose_b, a), matrix(3, 2, False, a)],
    {"transpose_a": BOOL, "transpose_b": BOOL, "alpha": opt(1.5), "beta": opt(0.5, 0), "axis": AXES},
    {"batch": [0, 1, 2], "dtype": TWO},
)
space(
    "_linalg_syrk",
    lambda a: [uniform(*a.shape, dtype=a.dtype)],
    {"transpose": BOOL, "alpha": opt(1.5, -2)},
    {"shape": [(3, 4), (2, 4, 3), (2, 2, 3, 3)], "dtype": TWO},
)
space(
    "_linalg_makediag",
    lambda a: [uniform(*a.shape, dtype=a.dtype)],
    {"offset": opt(0, 1, -1, 2)},
    {"shape": [(3,), (2, 3), (2, 2, 2)], "dtype": TWO},
)
space(
    "_linalg_extractdiag",
    lambda a: [uniform(*a.shape, dtype=a.dtype)],
    {"offset": opt(0, 1, -1, 2)},
    {"shape": [(3, 3), (2, 4, 4), (2, 2, 3, 3)], "dtype": TWO},
)
space(
    "_linalg_extracttrian",
    lambda a: [uniform(*a.shape, dtype=a.dtype)],
    {"offset": opt(0, 1, -1), "lower": BOOL},
    {"shape": [(3, 3), (2, 4, 4)], "dtype": TWO},
)
space(
    "_linalg_maketrian",
    lambda a: [uniform(*a.shape, dtype=a.dtype)],
    {"offset": opt(0, 1, -1), "lower": BOOL},
    {"shape": [(6,), (2, 3), (2, 2, 10)], "dtype": TWO},
)
space(
    "_linalg_trmm _linalg_trsm",
    lambda a: [
        values(SKEW[0] if a.one else SKEW, a.dtype),
        uniform(*(() if a.one else (2,)), *((4, 3) if a.rightside is True else (3, 4)), dtype=a.dtype),
    ],
    {"transpose": BOOL, "rightside": BOOL, "lower": BOOL, "alpha": opt(1.5)},
    {"one": [True, False], "dtype": TWO},
)
space(
    "_linalg_potrf _linalg_det _linalg_inverse _linalg_sumlogdiag _linalg_slogdet _linalg_potri",
    lambda a: [values(MATRICES[0] if a.one else MATRICES, a.dtype)],
    {},
    {"one": [True, False], "dtype": TWO},
)
space(
    "_linalg_syevd",
    lambda a: [values(MATRICES[0] if a.one else MATRICES, a.dtype)],
    {},
    {"one": [True, False], "dtype": TWO},
)
space(
    "_linalg_gelqf",
    lambda a: [values(SKEW[0, :2] if a.one else SKEW[:, :2], a.dtype)],
    {},
    {"one": [True, False], "dtype": TWO},
)
