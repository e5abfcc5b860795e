"""Arrays without axes and without elements under functions of mx.np: eagerly, and in blocks that are hybridized."""

from __future__ import annotations

import numpy as np

from .questions import ask, attempt, cell, numpy_mode

EXTREMES = (((), 0), ((), -1), ((), 1), ((), None), ((5, 0, 3), 0), ((5, 0, 3), -1), ((5, 0, 3), 1), ((0, 2), 1))
SYSTEMS = (
    ((), (), None),
    ((), (1,), None),
    ((), (1, 1, 1), None),
    ((), (2,), None),
    ((1, 1, 1), (), (0, 1, 2)),
    ((1, 1), (1, 1), None),
    ((1, 1), (1, 1, 1), None),
    ((1, 1), (1, 1, 1, 1, 1), None),
    ((1,), (1,), None),
    ((2, 2), (2, 1), None),
    ((2, 2), (2,), None),
)
RESIZED = (((2, 0, 1), (2, 2)), ((0,), ()), ((0,), (0,)), ((3,), (0,)), ((2, 3), (7,)), ((), (2, 2)))


def both(mx, function, *arrays):
    """Answers of a function of (F, arrays) eagerly and hybridized."""

    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, *given):  # noqa: N803
            return function(F, *given)

    found = []
    for hybridized in (False, True):
        block = Block()
        block.hybridize(hybridized)
        found.append(attempt(lambda block=block: block(*arrays)))
    if any(isinstance(x, dict) for x in found):
        return found
    return [cell(lambda x=x: x) for x in found]


@ask
def places_of_extremes(mx, folder):
    """Places of the largest and the smallest."""
    with numpy_mode(mx) as xp:
        return {
            f"{name} {shape} {axis}": both(
                mx, lambda side, x, n=name, a=axis: getattr(side.np, n)(x, axis=a), xp.ones(shape)
            )
            for name in ("argmax", "argmin")
            for shape, axis in EXTREMES
        }


@ask
def tensor_equations(mx, folder):
    """Solutions, and their gradients, where b has as many axes as a, or more."""
    with numpy_mode(mx) as xp:
        found = {}
        for left, right, axes in SYSTEMS:
            a = xp.array(2 * np.eye(int(np.prod(left) ** 0.5)).reshape(left) + np.arange(np.prod(left)).reshape(left))
            b = xp.array(np.arange(3.0, 3.0 + np.prod(right)).reshape(right))
            name = f"{left} {right} {axes}"
            found[name] = both(mx, lambda side, a, b, axes=axes: side.np.linalg.tensorsolve(a, b, axes), a, b)
            if left and right and not isinstance(found[name][0], dict):
                for x in (a, b):
                    x.attach_grad()
                with mx.autograd.record():
                    y = xp.linalg.tensorsolve(a, b, axes)
                y.backward()
                found[f"gradients {name}"] = [cell(lambda x=x: x.grad) for x in (a, b)]
        return found


@ask
def other_sizes(mx, folder):
    """The numbers of arrays in shapes of more, or fewer."""
    with numpy_mode(mx) as xp:
        return {
            f"{old} {new} {dtype}": both(
                mx,
                lambda side, x, new=new: side.np.resize(x, new),
                xp.array(np.arange(np.prod(old)).reshape(old), dtype=dtype),
            )
            for old, new in RESIZED
            for dtype in ("float32", "int8", "bool")
        }


@ask
def masks_without_axes(mx, folder):
    """Arrays without axes, and with them, into which a mask without axes puts a number or an array."""
    with numpy_mode(mx) as xp:
        ops = mx.nd.np._internal
        found = {}
        for mask in (True, False):
            for shape in ((), (2,)):
                for value in (7.0, xp.array(5.0), xp.array([5.0])):
                    kind = "scalar" if isinstance(value, float) else "tensor"

                    def put(x, kind=kind, mask=mask, value=value):
                        given = xp.array(mask, dtype=bool)
                        assign = getattr(ops, f"boolean_mask_assign_{kind}")
                        return (
                            assign(x, given, value=value, start_axis=0, out=x)
                            if kind == "scalar"
                            else assign(x, given, value, start_axis=0, out=x)
                        )

                    name = f"{mask} {shape} {kind} {getattr(value, 'shape', '')}"
                    found[name] = cell(lambda shape=shape, put=put: put(xp.ones(shape)))
        return found
