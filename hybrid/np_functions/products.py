"""Products of vectors, matrices and tensors, and polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import only_defaults
from .side import Side, function


@function("np")
def dot(F: Side, a: Any, b: Any, out: Any = None) -> Any:  # noqa: N803
    """The product of two arrays: over the last axis of a and the last but one of b; with a single number, element by element."""
    return F.ops._np_dot(a, b, out=out)


@function("np")
def matmul(F: Side, a: Any, b: Any, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803
    """The matrix product over the last two axes; those before them broadcast."""
    if kwargs:
        only_defaults("matmul", kwargs)
    return F.ops._npi_matmul(a, b, out=out)


@function("np")
def tensordot(F: Side, a: Any, b: Any, axes: Any = 2) -> Any:  # noqa: N803
    """The sum of products over axes: the last of a and first of b by their number, or two lists of axes.

    Raises ValueError for axes that are no pair of lists of one length."""
    if np.isscalar(axes):
        return F.ops._npi_tensordot_int_axes(a, b, axes=axes)
    if len(axes) != 2:
        raise ValueError(f"tensordot: axes must be a number or two lists, got {axes!r}")
    left, right = ((side,) if np.isscalar(side) else tuple(side) for side in axes)
    if len(left) != len(right):
        raise ValueError(f"tensordot: got {len(left)} axes of a and {len(right)} of b")
    return F.ops._npi_tensordot(a, b, a_axes_summed=left, b_axes_summed=right)


@function("np")
def inner(F: Side, a: Any, b: Any) -> Any:  # noqa: N803
    """The sum of products over the last axes of two arrays."""
    return tensordot(F, a, b, (-1, -1))


def _flat(F: Side, array: Any) -> Any:  # noqa: N803
    return F.ops._np_reshape(array, newshape=(-1,))


@function("np")
def outer(F: Side, a: Any, b: Any) -> Any:  # noqa: N803
    """All products of an element of a and one of b."""
    return tensordot(F, _flat(F, a), _flat(F, b), 0)


@function("np")
def vdot(F: Side, a: Any, b: Any) -> Any:  # noqa: N803
    """The sum of the products of the elements of two arrays, which are taken as vectors."""
    return tensordot(F, _flat(F, a), _flat(F, b), 1)


@function("np")
def einsum(F: Side, *operands: Any, **kwargs: Any) -> Any:  # noqa: N803
    """Einstein's sum: ``einsum("ij,jk->ik", a, b)``. optimize: bring the products into a good order first."""
    optimize, out = kwargs.pop("optimize", False), kwargs.pop("out", None)
    subscripts, *arrays = operands
    return F.ops._npi_einsum(*arrays, subscripts=subscripts, optimize=int(bool(optimize)), out=out)


@function("np")
def polyval(F: Side, p: Any, x: Any) -> Any:  # noqa: N803
    """The values at x of the polynomial with the coefficients p, the highest power's first.

    Raises TypeError where one is an array of mx.np and the other is not."""
    ours = isinstance(p, F.kind), isinstance(x, F.kind)
    if all(ours):
        return F.ops._npi_polyval(p, x)
    if not any(ours):
        return np.polyval(p, x)
    raise TypeError(f"polyval: wanted two {F.kind.__name__}s of mx.np, got {type(p).__name__} and {type(x).__name__}")
