"""Arrays of mx.np and symbols as Python's objects: methods, texts, numbers, copies, comparisons, errors."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np

from .questions import ask, attempt, cell, numpy_mode

VALUES = np.array([[3, -1, 2.5], [0, 4, -2]], np.float32)


@ask
def texts(mx, folder):
    """Answers of repr, str and format."""
    with numpy_mode(mx) as xp:
        arrays = {
            **{
                d: xp.array([1, 2], dtype=d)
                for d in ("float16", "float32", "float64", "int8", "uint8", "int32", "int64")
            },
            "bool": xp.array([True, False], dtype="bool"),
            "matrix": xp.array(VALUES),
            "matrix of int32": xp.array(VALUES, dtype="int32"),
            "number": xp.array(1.5),
            "number of int8": xp.array(1, dtype="int8"),
            "no rows": xp.zeros((0, 3)),
            "no rows of int32": xp.zeros((0, 3), dtype="int32"),
            "none": xp.array([]),
            "large": xp.arange(2000),
            "large of int32": xp.zeros((2000, 2), dtype="int32"),
            "small numbers": xp.array([1e-9, 1.0]),
            "infinite": xp.array([np.inf, np.nan, -np.inf]),
        }
        found = {name: [repr(array), str(array), f"{array}"] for name, array in arrays.items()}
        found["format of a number"] = attempt(lambda: f"{xp.array(3.14159):.3f} {xp.array(7, dtype='int32'):05d}")
        found["format of an array"] = attempt(lambda: f"{xp.array(VALUES):.3f}")
        return found


@ask
def methods(mx, folder):
    """Answers of methods of arrays."""
    with numpy_mode(mx) as xp:
        x, n, o = xp.array(VALUES), xp.array(2.5), xp.zeros((0, 3))
        calls = {
            "T": lambda: x.T,
            "T of a number": lambda: n.T,
            "reshape": lambda: x.reshape(3, 2),
            "reshape tuple": lambda: x.reshape((-1, 2)),
            "reshape order": lambda: x.reshape(6, order="C"),
            "reshape number": lambda: n.reshape(()),
            "reshape nothing": lambda: o.reshape(3, -1),
            "transpose": lambda: x.transpose(),
            "transpose axes": lambda: x.transpose(1, 0),
            "transpose none": lambda: x.transpose(None),
            "transpose tuple": lambda: x.transpose((0, 1)),
            "swapaxes": lambda: x.swapaxes(0, 1),
            "flatten": lambda: x.flatten(),
            "squeeze": lambda: x[None].squeeze(0),
            "sum": lambda: x.sum(),
            "sum axes": lambda: x.sum(axis=(0, 1), keepdims=True),
            "sum dtype": lambda: x.sum(0, "int32"),
            "sum nothing": lambda: o.sum(axis=0),
            "prod": lambda: x.prod(axis=1),
            "mean": lambda: x.mean(),
            "mean axis": lambda: x.mean(axis=0),
            "std": lambda: x.std(),
            "std ddof": lambda: x.std(axis=1, ddof=1),
            "var": lambda: x.var(axis=0, keepdims=True),
            "cumsum": lambda: x.cumsum(),
            "cumsum axis": lambda: x.cumsum(axis=1),
            "max": lambda: x.max(axis=1),
            "min": lambda: x.min(),
            "argmax": lambda: x.argmax(),
            "argmax axis": lambda: x.argmax(axis=0),
            "argmin": lambda: x.argmin(axis=1),
            "argsort": lambda: x.argsort(),
            "argsort axis": lambda: x.argsort(axis=0),
            "clip": lambda: x.clip(0, 3),
            "clip above": lambda: x.clip(None, 1),
            "clip below": lambda: x.clip(min=1),
            "round": lambda: x.round(),
            "repeat": lambda: x.repeat(2),
            "repeat axis": lambda: x.repeat(2, axis=0),
            "take": lambda: x.take(xp.array([0, 2]), axis=1),
            "dot": lambda: x.dot(x.T),
            "nonzero": lambda: list(x.nonzero()),
            "nonzero number": lambda: list(n.nonzero()),
            "all": lambda: x.all(),
            "all axis": lambda: x.all(axis=0),
            "any": lambda: x.any(axis=1, keepdims=True),
            "broadcast": lambda: x.broadcast_to((2, 2, 3)),
            "astype": lambda: x.astype("int32"),
            "astype bool": lambda: x.astype(bool),
            "astype float64": lambda: x.astype(np.float64),
            "astype same": lambda: x.astype("float32", copy=False) is x,
            "copy": lambda: x.copy(),
            "copyto": lambda: x.copyto(xp.zeros((2, 3), dtype="int32")),
            "copyto device": lambda: x.copyto(mx.cpu()),
            "device": lambda: x.as_in_ctx(mx.cpu()) is x,
            "detach": lambda: x.detach(),
            "item": lambda: [x.item(1), x.item(1, 2), x.item((0, 2)), n.item()],
            "tolist": lambda: str([x.tolist(), n.tolist(), o.tolist()]),
            "view": lambda: x.reshape_view(3, 2),
            "slice assign": lambda: x.copy().slice_assign(xp.ones((1, 2)), (0, 0), (1, 2), (None, None)),
            "slice assign scalar": lambda: x.copy().slice_assign_scalar(9, (0, 0), (1, 2), (None, None)),
            "attributes": lambda: str([x.shape, x.ndim, x.size, x.dtype, x.stype, str(x.ctx), len(x)]),
            "floor": lambda: math.floor(x),
            "ceil": lambda: math.ceil(x),
            "trunc": lambda: math.trunc(x),
            "python round": lambda: round(x),
            "python round digits": lambda: round(x, 1),
            "abs": lambda: abs(x),
            "negative": lambda: -x,
            "negative uint8": lambda: -xp.array([1, 2], dtype="uint8"),
            "invert": lambda: ~xp.array([1, 2], dtype="int32"),
            "matmul": lambda: x @ x.T,
            "copy of": lambda: copy.copy(x),
            "deep copy": lambda: copy.deepcopy(x),
            "pickle": lambda: pickle.loads(pickle.dumps(x)),
            "pickle number": lambda: pickle.loads(pickle.dumps(n)),
            "pickle nothing": lambda: pickle.loads(pickle.dumps(o)),
            "list": lambda: list(x),
            "sum of": lambda: sum(x),
            "sorted": lambda: sorted(xp.array([3, 1, 2])),
            "python": lambda: [float(n), int(n), bool(n), complex(n).real],
            "gradient": lambda: (x.attach_grad(), x.grad)[1],
            "no gradient": lambda: str(x.detach().grad),
        }
        return {name: cell(call) for name, call in calls.items()}


@ask
def in_place(mx, folder):
    """Arrays after operators in place."""
    with numpy_mode(mx) as xp:

        def after(change, dtype="float32"):
            x = xp.array(VALUES, dtype=dtype)
            same = x
            x = change(x)
            return [x, int(x is same)]

        def add(x):
            x += 1
            return x

        def subtract(x):
            x -= xp.ones((3,))
            return x

        def multiply(x):
            x *= 2
            return x

        def divide(x):
            x /= 4
            return x

        def remainder(x):
            x %= 3
            return x

        def power(x):
            x **= 2
            return x

        def both(x):
            x &= 3
            return x

        def either(x):
            x |= 1
            return x

        def one_of(x):
            x ^= 1
            return x

        of_floats = {
            f.__name__: cell(lambda f=f: after(f)) for f in (add, subtract, multiply, divide, remainder, power)
        }
        return {**of_floats, **{f.__name__: cell(lambda f=f: after(f, "int32")) for f in (both, either, one_of)}}


@ask
def errors(mx, folder):
    """Errors of methods and of Python's functions."""
    with numpy_mode(mx) as xp:
        x, n = xp.array(VALUES), xp.array(2.5)
        calls = {
            "float": lambda: float(x),
            "int": lambda: int(x),
            "bool": lambda: bool(x),
            "len": lambda: len(n),
            "item": lambda: x.item(),
            "reshape": lambda: x.reshape(),
            "reshape F": lambda: x.reshape(6, order="F"),
            "reshape what": lambda: x.reshape(6, foo=1),
            "reshape not": lambda: x.reshape(5),
            "flatten F": lambda: x.flatten(order="F"),
            "copy F": lambda: x.copy("F"),
            "astype F": lambda: x.astype("int32", "F"),
            "astype safe": lambda: x.astype("int32", casting="safe"),
            "astype subok": lambda: x.astype("int32", subok=False),
            "copyto": lambda: x.copyto(3),
            "copyto nd": lambda: x.copyto(mx.nd.ones((2, 3))),
            "copyto shape": lambda: x.copyto(xp.zeros((3, 2))),
            "sort": lambda: x.sort(),
            "none": lambda: x == None,  # noqa: E711
            "list": lambda: x == [1],
            "add list": lambda: x.__add__([1, 2, 3]),
            "add nd": lambda: x + mx.nd.ones((2, 3)),
            "floor division": lambda: x // 2,
            "shift": lambda: x << 1,
            "matmul": lambda: x @ x,
            "matmul number": lambda: 2 @ x,
            "invert": lambda: ~x,
            "contains": lambda: 0 in x,
            "what": lambda: x.foo,
            "index": lambda: x.asscalar(),
            "stype": lambda: x.tostype("default"),
            "pick": lambda: x.pick(n),
            "shapes": lambda: x + xp.ones((2, 2)),
        }
        found = {name: attempt(call) for name, call in calls.items()}
        names = sorted(
            k for k in dir(mx.nd.NDArray) if k[0] != "_" and k not in ("asscalar", "broadcast_like", "tostype")
        )
        refused = [k for k in names if _refused(getattr(x, k, None))]
        return {**found, "refused": refused}


def _refused(method):
    """True where a method says that there is none."""
    if not callable(method):
        return False
    try:
        method()
    except AttributeError as error:
        return "no attribute" in str(error)
    except Exception:
        return False
    return False


@ask
def copies_to_itself(mx, folder):
    """Answer of copyto for the array itself, and its warning."""
    import warnings

    with numpy_mode(mx) as xp, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x = xp.array(VALUES)
        found = x.copyto(x)
        return [str(found), [w.category.__name__ for w in told]]
