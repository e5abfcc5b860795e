"""Functions of mx.np that reshape, join, cut, repeat, pad, take, put in and leave out: their answers, gradients, and symbols."""

from __future__ import annotations

import numpy as np

from .questions import ask, attempt, cell, numpy_mode

ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3) - 2,
    "b": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "v": np.array([3, -1, 2], np.float32),
    "n": np.array(3, np.float32),
    "o": np.zeros((0, 3), np.float32),
    "w": np.array([[[1], [2]]], np.float32),
    "i": np.array([0, 2, 1], np.int32),
}
CALLS = {
    "reshape": ("a", lambda xp, a: xp.reshape(a, (3, 2))),
    "reshape to a row": ("a", lambda xp, a: xp.reshape(a, 6)),
    "reshape what is left": ("b", lambda xp, b: xp.reshape(b, (-1, 4))),
    "reshape nothing": ("o", lambda xp, o: xp.reshape(o, (3, -1))),
    "reshape a number": ("n", lambda xp, n: xp.reshape(n, (1, 1))),
    "ravel": ("b", lambda xp, b: xp.ravel(b)),
    "ravel a number": ("n", lambda xp, n: xp.ravel(n)),
    "expand": ("a", lambda xp, a: xp.expand_dims(a, 1)),
    "expand behind": ("a", lambda xp, a: xp.expand_dims(a, -1)),
    "expand a number": ("n", lambda xp, n: xp.expand_dims(n, 0)),
    "squeeze": ("w", lambda xp, w: xp.squeeze(w)),
    "squeeze one": ("w", lambda xp, w: xp.squeeze(w, axis=-1)),
    "squeeze two": ("w", lambda xp, w: xp.squeeze(w, axis=(0, 2))),
    "at least 1": ("n v", lambda xp, n, v: xp.atleast_1d(n, v)),
    "at least 2": ("n v a", lambda xp, *x: xp.atleast_2d(*x)),
    "at least 3": ("n v a b", lambda xp, *x: xp.atleast_3d(*x)),
    "at least, one": ("v", lambda xp, v: xp.atleast_3d(v)),
    "broadcast": ("v", lambda xp, v: xp.broadcast_to(v, (2, 3))),
    "broadcast a number": ("n", lambda xp, n: xp.broadcast_to(n, (2, 2))),
    "broadcast nothing": ("o", lambda xp, o: xp.broadcast_to(o, (2, 0, 3))),
    "copy": ("a", lambda xp, a: xp.copy(a)),
    "transpose": ("b", lambda xp, b: xp.transpose(b)),
    "transpose axes": ("b", lambda xp, b: xp.transpose(b, (1, 0, 2))),
    "transpose from behind": ("b", lambda xp, b: xp.transpose(b, (-1, 0, 1))),
    "transpose a number": ("n", lambda xp, n: xp.transpose(n)),
    "transpose nothing": ("o", lambda xp, o: xp.transpose(o)),
    "swap": ("b", lambda xp, b: xp.swapaxes(b, 0, -1)),
    "move": ("b", lambda xp, b: xp.moveaxis(b, 0, -1)),
    "move two": ("b", lambda xp, b: xp.moveaxis(b, (0, 1), (-1, 0))),
    "flip": ("a", lambda xp, a: xp.flip(a)),
    "flip one": ("b", lambda xp, b: xp.flip(b, 1)),
    "flip two": ("b", lambda xp, b: xp.flip(b, (0, -1))),
    "flip a number": ("n", lambda xp, n: xp.flip(n)),
    "flip up": ("a", lambda xp, a: xp.flipud(a)),
    "flip left": ("a", lambda xp, a: xp.fliplr(a)),
    "roll": ("a", lambda xp, a: xp.roll(a, 1)),
    "roll back": ("a", lambda xp, a: xp.roll(a, -2, axis=1)),
    "roll two": ("b", lambda xp, b: xp.roll(b, (1, 2), axis=(0, 2))),
    "roll far": ("v", lambda xp, v: xp.roll(v, 7)),
    "roll nothing": ("o", lambda xp, o: xp.roll(o, 1)),
    "turn": ("a", lambda xp, a: xp.rot90(a)),
    "turn thrice": ("b", lambda xp, b: xp.rot90(b, 3, (1, 2))),
    "turn back": ("a", lambda xp, a: xp.rot90(a, -1)),
    "turn half": ("a", lambda xp, a: xp.rot90(a, 2, (1, 0))),
    "diagonal of a matrix": ("a", lambda xp, a: xp.diag(a)),
    "upper": ("a", lambda xp, a: xp.diag(a, 1)),
    "lower": ("a", lambda xp, a: xp.diag(a, k=-1)),
    "matrix of": ("v", lambda xp, v: xp.diag(v)),
    "matrix of, upper": ("v", lambda xp, v: xp.diag(v, 2)),
    "flat": ("a", lambda xp, a: xp.diagflat(a, -1)),
    "diagonals": ("b", lambda xp, b: xp.diagonal(b)),
    "diagonals between": ("b", lambda xp, b: xp.diagonal(b, 1, 1, 2)),
    "diagonals back": ("b", lambda xp, b: xp.diagonal(b, -1, 2, 0)),
    "join": ("a a", lambda xp, *x: xp.concatenate(x)),
    "join columns": ("a a", lambda xp, *x: xp.concatenate(x, axis=-1)),
    "join all": ("a v", lambda xp, *x: xp.concatenate(x, axis=None)),
    "join nothing": ("o a", lambda xp, *x: xp.concatenate(x)),
    "join one": ("a", lambda xp, *x: xp.concatenate(x)),
    "append": ("a v", lambda xp, a, v: xp.append(a, v)),
    "append rows": ("a a", lambda xp, a, b: xp.append(a, b, axis=0)),
    "stack": ("a a", lambda xp, *x: xp.stack(x)),
    "stack last": ("a a", lambda xp, *x: xp.stack(x, axis=-1)),
    "stack numbers": ("n n", lambda xp, *x: xp.stack(x)),
    "rows": ("v a", lambda xp, *x: xp.vstack(x)),
    "rows of numbers": ("n n", lambda xp, *x: xp.vstack(x)),
    "row stack": ("v v", lambda xp, *x: xp.row_stack(x)),
    "side by side": ("a a", lambda xp, *x: xp.hstack(x)),
    "vectors": ("v v", lambda xp, *x: xp.hstack(x)),
    "numbers": ("n n", lambda xp, *x: xp.hstack(x)),
    "depth": ("a a", lambda xp, *x: xp.dstack(x)),
    "depth of vectors": ("v v", lambda xp, *x: xp.dstack(x)),
    "columns": ("v v", lambda xp, *x: xp.column_stack(x)),
    "split": ("a", lambda xp, a: xp.split(a, 2)),
    "split columns": ("a", lambda xp, a: xp.split(a, 3, axis=1)),
    "split at": ("b", lambda xp, b: xp.split(b, (1, 3), axis=2)),
    "split unevenly": ("v", lambda xp, v: xp.array_split(v, 2)),
    "split into many": ("b", lambda xp, b: xp.array_split(b, 3, axis=-1)),
    "split at, unevenly": ("b", lambda xp, b: xp.array_split(b, (2,), axis=1)),
    "split columns of": ("a", lambda xp, a: xp.hsplit(a, 3)),
    "split a vector": ("v", lambda xp, v: xp.hsplit(v, (1,))),
    "split rows of": ("b", lambda xp, b: xp.vsplit(b, 2)),
    "split depth": ("b", lambda xp, b: xp.dsplit(b, 2)),
    "tile": ("a", lambda xp, a: xp.tile(a, 2)),
    "tile rows": ("a", lambda xp, a: xp.tile(a, (2, 1))),
    "tile more": ("v", lambda xp, v: xp.tile(v, (2, 1, 2))),
    "tile a number": ("n", lambda xp, n: xp.tile(n, (2, 2))),
    "tile never": ("a", lambda xp, a: xp.tile(a, (0, 1))),
    "repeat": ("a", lambda xp, a: xp.repeat(a, 2)),
    "repeat columns": ("a", lambda xp, a: xp.repeat(a, 2, axis=1)),
    "repeat back": ("b", lambda xp, b: xp.repeat(b, 3, axis=-2)),
    "repeat a number": ("n", lambda xp, n: xp.repeat(n, 3)),
    "pad": ("a", lambda xp, a: xp.pad(a, ((1, 1), (0, 2)))),
    "pad edge": ("a", lambda xp, a: xp.pad(a, ((1, 1), (0, 2)), "edge")),
    "pad reflect": ("a", lambda xp, a: xp.pad(a, ((1, 0), (1, 2)), "reflect")),
    "pad symmetric": ("a", lambda xp, a: xp.pad(a, ((2, 1), (1, 3)), "symmetric")),
    "pad maximum": ("a", lambda xp, a: xp.pad(a, ((1, 1), (0, 2)), "maximum")),
    "pad minimum": ("a", lambda xp, a: xp.pad(a, ((1, 1), (0, 2)), mode="minimum")),
    "pad a vector": ("v", lambda xp, v: xp.pad(v, ((1, 2),))),
    "pad three": ("b", lambda xp, b: xp.pad(b, ((0, 0), (1, 0), (0, 1)), "edge")),
    "take": ("a i", lambda xp, a, i: xp.take(a, i)),
    "take columns": ("a i", lambda xp, a, i: xp.take(a, i, axis=1)),
    "take back": ("b i", lambda xp, b, i: xp.take(b, i, axis=-2)),
    "take clip": ("v i", lambda xp, v, i: xp.take(v, i * 3 - 2, mode="clip")),
    "take wrap": ("v i", lambda xp, v, i: xp.take(v, i * 3 - 2, mode="wrap")),
    "take rows of places": ("v i", lambda xp, v, i: xp.take(v, xp.reshape(i, (3, 1)))),
    "put in": ("a", lambda xp, a: xp.insert(a, 1, 5)),
    "put in a column": ("a", lambda xp, a: xp.insert(a, -1, 5, axis=1)),
    "put in rows": ("a a", lambda xp, a, b: xp.insert(a, 1, b, axis=0)),
    "put in at": ("a v", lambda xp, a, v: xp.insert(a, slice(0, 3), v, axis=1)),
    "leave out": ("a", lambda xp, a: xp.delete(a, 1)),
    "leave out columns": ("a", lambda xp, a: xp.delete(a, slice(0, 2), axis=1)),
    "leave out every other": ("b", lambda xp, b: xp.delete(b, slice(None, None, 2), axis=2)),
    "leave out the last": ("a", lambda xp, a: xp.delete(a, -1, axis=0)),
    "resize": ("a", lambda xp, a: xp.resize(a, (3, 3))),
    "resize to less": ("a", lambda xp, a: xp.resize(a, 4)),
    "places": ("i", lambda xp, i: xp.unravel_index(i, (2, 3))),
    "diagonal places": ("a", lambda xp, a: xp.diag_indices_from(a[:, 0:2])),
}
"""Names of arrays, and a function of the module and of them."""
UNEVEN = (
    "places",
    "diagonal places",
    "turn",
    "turn thrice",
    "turn back",
    *(f"at least{n}" for n in (" 1", " 2", " 3", ", one")),
)
"""Functions without gradients, and those whose gradients are wrong in MXNet: turned the other way, or 0."""


def flat(found):
    """A list of what was given."""
    return list(found) if isinstance(found, (list, tuple)) else [found]


@ask
def functions(mx, folder):
    """Answers of functions of arrays."""
    with numpy_mode(mx) as xp:
        return {
            name: cell(
                lambda c=call, n=names: flat(c(xp, *(xp.array(ARRAYS[k], dtype=ARRAYS[k].dtype) for k in n.split())))
            )
            for name, (names, call) in CALLS.items()
        }


@ask
def gradients(mx, folder):
    """Answers of backward, of the sum of squares of what each function gives."""

    def gradient(call, names):
        arrays = [mx.np.array(ARRAYS[k], dtype=ARRAYS[k].dtype) for k in names.split()]
        for array in arrays:
            if array.dtype != np.int32:
                array.attach_grad()
        with mx.autograd.record():
            total = 0
            for found in flat(call(mx.np, *arrays)):
                total = total + (found * found).sum()
        total.backward()
        return [array.grad for array in arrays if array.dtype != np.int32]

    with numpy_mode(mx):
        return {
            name: cell(lambda c=call, n=names: gradient(c, n))
            for name, (names, call) in CALLS.items()
            if name not in UNEVEN
        }


@ask
def symbols(mx, folder):
    """Answers of the same functions of symbols, bound."""

    def bound(call, names):
        given = {f"x{j}": ARRAYS[k] for j, k in enumerate(names.split())}
        out = call(mx.sym.np, *(mx.sym.var(k, dtype=v.dtype).as_np_ndarray() for k, v in given.items()))
        out = mx.sym.Group(flat(out)) if isinstance(out, (list, tuple)) else out
        values = {k: mx.nd.array(v, dtype=v.dtype) for k, v in given.items()}
        return [y.asnumpy() for y in out.bind(mx.cpu(), values, grad_req="null").forward()]

    with numpy_mode(mx):
        return {
            name: cell(lambda c=call, n=names: bound(c, n))
            for name, (names, call) in CALLS.items()
            if not name.startswith("leave out")  # of which MXNet's symbols give nothing
        }


@ask
def what_functions_refuse(mx, folder):
    """Errors of functions."""
    with numpy_mode(mx) as xp:
        a, b, n = (xp.array(ARRAYS[k]) for k in "abn")
        calls = {
            "pad one number": lambda: xp.pad(a, 1),
            "pad floats": lambda: xp.pad(a, ((1.5, 1), (0, 0))),
            "pad wrap": lambda: xp.pad(a, ((1, 1), (0, 2)), "wrap"),
            "pad mean": lambda: xp.pad(a, ((1, 1), (0, 2)), "mean"),
            "pad what": lambda: xp.pad(a, ((1, 1), (0, 2)), "foo"),
            "pad two values": lambda: xp.pad(a, ((1, 1), (0, 2)), constant_values=(1, 2)),
            "pad edge with": lambda: xp.pad(a, ((1, 1), (0, 2)), "edge", constant_values=1),
            "pad odd": lambda: xp.pad(a, ((1, 1), (0, 2)), "reflect", reflect_type="odd"),
            "split unevenly": lambda: xp.split(a, 4),
            "split by a float": lambda: xp.split(a, 1.5),
            "dsplit": lambda: xp.dsplit(a, 2),
            "vsplit": lambda: xp.vsplit(xp.ones(3), 3),
            "hsplit": lambda: xp.hsplit(n, 1),
            "reshape": lambda: xp.reshape(a, (4, 2)),
            "reshape twice": lambda: xp.reshape(a, (-1, -1)),
            "ravel F": lambda: xp.ravel(a, order="F"),
            "squeeze": lambda: xp.squeeze(a, axis=0),
            "expand": lambda: xp.expand_dims(a, 5),
            "transpose": lambda: xp.transpose(a, (0, 1, 2)),
            "swap": lambda: xp.swapaxes(a, 0, 5),
            "join": lambda: xp.concatenate([a, b]),
            "join numbers": lambda: xp.concatenate([n, n]),
            "stack": lambda: xp.stack([a, b]),
            "take beyond": lambda: xp.take(a, xp.array([0, 7])),
            "take what": lambda: xp.take(a, xp.array([0]), mode="foo"),
            "insert a list": lambda: xp.insert(a, 1, [5]),
            "insert at a list": lambda: xp.insert(a, [0, 1], a),
            "delete a list": lambda: xp.delete(a, [0]),
            "delete beyond": lambda: xp.delete(a, 7, axis=0),
            "broadcast": lambda: xp.broadcast_to(a, (2, 2)),
            "diag": lambda: xp.diag(b),
            "diagonal": lambda: xp.diagonal(n),
            "diagonal places": lambda: xp.diag_indices_from(xp.ones(3)),
            "move": lambda: xp.moveaxis(a, 0, 5),
            "ravel what": lambda: xp.ravel([1, 2]),
            "tile what": lambda: xp.tile([1, 2], 2),
            "flip what": lambda: xp.flip([1, 2]),
            "places F": lambda: xp.unravel_index(xp.array([1]), (2, 3), order="F"),
        }
        return {name: attempt(call) for name, call in calls.items()}


@ask
def functions_of_numbers(mx, folder):
    """Answers where Python's numbers are given."""
    with numpy_mode(mx) as xp:
        a = xp.array(ARRAYS["a"])
        return {
            "tile": cell(lambda: xp.tile(5, 3)),
            "ravel": cell(lambda: xp.ravel(5)),
            "broadcast": cell(lambda: xp.broadcast_to(5, (2, 2))),
            "flip": cell(lambda: int(xp.flip(5))),
            "places": cell(lambda: [int(x) for x in xp.unravel_index(5, (2, 3))]),
            "shape": cell(lambda: str(xp.shape(a))),
            "same": cell(lambda: xp.broadcast_arrays(a, a)[0] is a),
            "arrays": cell(lambda: xp.broadcast_arrays(xp.ones((1, 3)), xp.ones((2, 1)))),
        }
