"""Parts of arrays of mx.np, read and written: keys of all kinds and mixtures, views, gradients.

Left out: where MXNet fails although there is an answer (parts of no size), NumPy's arrays of one number as keys, masks that are
written to as if they were numbers, and negative numbers beside index arrays where something is written or goes back: MXNet writes
somewhere else then."""

from __future__ import annotations

import random

import numpy as np

from .questions import ask, attempt, cell, numpy_mode

KINDS = ("int", "slice", "none", "ellipsis", "list", "array", "int32", "int64", "float32", "uint8", "int8")
SHAPES = ((3,), (2, 3), (2, 3, 4), (2, 3, 2, 3))


def part_of(rng, mx, kind, size, shape, negative):
    """A part of a key for an axis of the size; shape: that of index arrays; negative: whether they may have such numbers."""
    if kind == "int":
        return rng.randint(-size if negative else 0, size - 1)
    if kind == "slice":
        while True:
            found = slice(
                *(rng.choice([None, *range(-size, size + 1)]) for _ in "ab"), rng.choice([None, 1, 2, -1, -2])
            )
            if len(range(size)[found]):
                return found
    numbers = [rng.randint(-size if negative and kind[0] != "u" else 0, size - 1) for _ in range(int(np.prod(shape)))]
    values = np.array(numbers).reshape(shape)
    if kind == "list":
        return values.tolist()
    return values if kind == "array" else mx.np.array(values, dtype=kind)


def keys(mx, seed, count, kinds=KINDS, negative=True):
    """(shape, key) in pairs, the same ones for a seed."""
    rng = random.Random(seed)
    for _ in range(count):
        shape = rng.choice(SHAPES)
        used = rng.randint(1, len(shape))
        chosen = [rng.choice(kinds) for _ in range(used)]
        while sum(k not in ("none", "ellipsis") for k in chosen) > len(shape) or chosen.count("ellipsis") > 1:
            chosen.pop()
        spoken = [k for k in chosen if k not in ("none", "ellipsis")]
        behind = (
            spoken[len([k for k in chosen[: chosen.index("ellipsis")] if k != "none"]) :]
            if "ellipsis" in chosen
            else []
        )
        of_arrays = rng.choice([(2,), (3,), (1,), (2, 2), (1, 2)])
        key, axis = [], 0
        for kind in chosen:
            if kind in ("none", "ellipsis"):
                key.append(None if kind == "none" else ...)
                axis = len(shape) - len(behind) if kind == "ellipsis" else axis
                continue
            key.append(part_of(rng, mx, kind, shape[axis], of_arrays, negative))
            axis += 1
        yield shape, key[0] if len(key) == 1 and rng.random() < 0.7 else tuple(key)


def numbered(mx, shape, dtype="float32"):
    """Numbers from 0."""
    return mx.np.array(np.arange(int(np.prod(shape))).reshape(shape), dtype=dtype)


@ask
def parts(mx, folder):
    """Answers to keys."""
    with numpy_mode(mx):
        return [cell(lambda s=shape, k=key: numbered(mx, s, "int32")[k]) for shape, key in keys(mx, 5, 240)]


@ask
def new_axes_among_arrays(mx, folder):
    """Answers to keys with many new axes, whose places are MXNet's own."""
    kinds = ("none", "none", "list", "int32", "slice", "ellipsis")
    with numpy_mode(mx):
        return [cell(lambda s=shape, k=key: numbered(mx, s, "int32")[k]) for shape, key in keys(mx, 6, 120, kinds)]


@ask
def gradients_of_parts(mx, folder):
    """Answers of backward through keys."""

    def gradient(shape, key):
        x = numbered(mx, shape)
        x.attach_grad()
        with mx.autograd.record():
            y = x[key]
            z = (y * y).sum()
        z.backward()
        return x.grad

    with numpy_mode(mx):
        return [cell(lambda s=shape, k=key: gradient(s, k)) for shape, key in keys(mx, 7, 60, negative=False)]


@ask
def parts_that_are_written(mx, folder):
    """Arrays after an assignment of a number, an array, one that broadcasts, NumPy's array, a list."""

    def written(shape, key, way):
        x = numbered(mx, shape, "int32")
        values = -1 - np.arange(x[key].size, dtype="int32").reshape(x[key].shape)
        if way == 0:
            x[key] = -1
        elif way == 1:
            x[key] = mx.np.array(values)
        elif way == 2:
            x[key] = mx.np.array(values[..., :1] if values.ndim else values, dtype="float64")
        else:
            x[key] = values if way == 3 else values.tolist()
        return x

    with numpy_mode(mx):
        return [
            cell(lambda s=shape, k=key, w=i % 5: written(s, k, w))
            for i, (shape, key) in enumerate(keys(mx, 8, 160, negative=False))
        ]


@ask
def masks(mx, folder):
    """Answers to masks, alone and beside others, and single bools."""

    def mask(*values):
        return mx.np.array(values, dtype="bool")

    with numpy_mode(mx) as xp:
        x = numbered(mx, (2, 3, 2))
        calls = {
            "whole": lambda: x[x > 4], "leading": lambda: x[mask(True, False)], "two": lambda: x[x[:, :, 0] > 3],
            "none": lambda: x[x > 99], "list": lambda: x[[False, True]], "numpy": lambda: x[np.array([False, True])],
            "second": lambda: x[:, mask(True, False, True)], "beside a number": lambda: x[1, mask(True, False, True)],
            "beside a slice": lambda: x[mask(True, True), 1:], "last": lambda: x[:, :, mask(False, True)],
            "beside numbers": lambda: x[mask(True, True), [0, 2]], "list beside": lambda: x[:, [True, False, True]],
            "numpy beside": lambda: x[:, np.array([True, False, True])], "true": lambda: x[True], "false": lambda: x[False],
            "array true": lambda: x[mask(True)[0]], "true within": lambda: x[:, True], "false within": lambda: x[0, False],
            "of a number": lambda: xp.array(3.0)[xp.array(True, dtype="bool")], "number true": lambda: xp.array(3.0)[True],
            "number false": lambda: xp.array(3.0)[False],
        }  # fmt: skip
        found = {name: cell(call) for name, call in calls.items()}
        for name, call in {
            "too many": lambda: x[xp.ones((2, 3, 2, 1), dtype="bool")],
            "another size": lambda: x[mask(True, False, True)],
            "another size within": lambda: x[:, mask(True, False)],
        }.items():
            found[name] = attempt(call)
        return found


@ask
def masks_that_are_written(mx, folder):
    """Arrays after assignments at masks, and gradients through masks."""
    with numpy_mode(mx) as xp:

        def written(key, value):
            x = numbered(mx, (2, 3))
            x[key(x)] = value
            return x

        def gradient(key):
            x = numbered(mx, (2, 3))
            x.attach_grad()
            with mx.autograd.record():
                y = (x[key] ** 2).sum()
            y.backward()
            return x.grad

        first = xp.array([True, False], dtype="bool")
        columns = xp.array([True, False, True], dtype="bool")
        return {
            "number": cell(lambda: written(lambda x: x > 2, 7)),
            "numbers": cell(lambda: written(lambda x: x > 2, xp.array([7, 8, 9]))),
            "one number": cell(lambda: written(lambda x: x > 2, xp.array([7.0]))),
            "of no dims": cell(lambda: written(lambda x: x > 2, xp.array(7.0))),
            "row": cell(lambda: written(lambda x: first, xp.array([7, 8, 9]))),
            "rows": cell(lambda: written(lambda x: first, xp.array([[7, 8, 9]]))),
            "columns": cell(lambda: written(lambda x: (slice(None), columns), 7)),
            "true": cell(lambda: written(lambda x: True, 7)),
            "false": cell(lambda: written(lambda x: False, 7)),
            "gradient": cell(lambda: gradient(numbered(mx, (2, 3)) > 2)),
            "gradient of rows": cell(lambda: gradient(first)),
            "gradient of columns": cell(lambda: gradient((slice(None), columns))),
        }


@ask
def views(mx, folder):
    """Arrays after a part of them was written to: it is a view or a copy."""
    with numpy_mode(mx) as xp:

        def after(part):
            x = numbered(mx, (2, 3))
            found = part(x)
            found[() if found.ndim == 0 else slice(None)] = 9
            return x

        parts = {
            "number": lambda x: x[1], "back": lambda x: x[-1], "element": lambda x: x[0, 1], "rows": lambda x: x[0:1],
            "all": lambda x: x[:], "nothing": lambda x: x[()], "dots": lambda x: x[...], "column": lambda x: x[:, 1],
            "columns": lambda x: x[:, 0:2], "part of a row": lambda x: x[0, 1:], "step": lambda x: x[0:2:2],
            "reverse": lambda x: x[0:1, ::-1], "reverse of one": lambda x: x[1:0:-1, 0:1], "new axis": lambda x: x[None],
            "new axis behind": lambda x: x[0, None], "list": lambda x: x[[0]], "index array": lambda x: x[xp.array([0])],
            "part of a part": lambda x: x[0:1][0][0:2], "reshape": lambda x: x.reshape(3, 2), "flat": lambda x: x.reshape(-1),
            "reshape view": lambda x: x.reshape_view(3, 2), "transpose": lambda x: x.T, "squeeze": lambda x: x.squeeze(),
            "expand": lambda x: xp.expand_dims(x, 0), "detach": lambda x: x.detach(), "ravel": xp.ravel,
            "flatten": lambda x: x.flatten(), "nd": lambda x: x.as_nd_ndarray(), "split": lambda x: xp.split(x, 2)[0],
            "at least": xp.atleast_3d, "broadcast": lambda x: xp.broadcast_to(x, (2, 3)),
            "swap": lambda x: x.swapaxes(0, 1), "copy": lambda x: x.copy(), "astype": lambda x: x.astype("float32"),
            "astype itself": lambda x: x.astype("float32", copy=False), "device": lambda x: x.as_in_ctx(mx.cpu()),
            "single bool": lambda x: x[:, True],
        }  # fmt: skip
        return {name: cell(lambda part=part: after(part)) for name, part in parts.items()}


@ask
def what_is_no_key(mx, folder):
    """Errors of keys and of assignments, in recorded graphs too."""
    with numpy_mode(mx) as xp:

        def put(key, value, shape=(2, 3)):
            x = numbered(mx, shape)
            x[key] = value
            return x

        def recorded(key, value, of_graph):
            x, y = numbered(mx, (2, 3)), numbered(mx, (2, 3))
            for a in (x, y) if of_graph else (y,):
                a.attach_grad()
            with mx.autograd.record():
                x[key] = value(y)
            return x

        x, number = numbered(mx, (2, 3)), xp.array(3.0)
        calls = {
            "beyond": lambda: x[5], "beyond back": lambda: x[-3], "beyond in second": lambda: x[:, 7], "list": lambda: x[[0, 7]],
            "index array": lambda: x[:, xp.array([5])], "too many": lambda: x[0, 1, 2], "too many slices": lambda: x[:, :, :],
            "two dots": lambda: x[..., ...], "float": lambda: x[1.5], "text": lambda: x["x"], "step": lambda: x[::0],
            "step within": lambda: x[:, ::0], "arrays": lambda: x[[0, 1], [0, 1, 2]], "of a number": lambda: number[0],
            "dots of a number": lambda: number[...], "new axis of a number": lambda: number[None], "itself": lambda: number[()],
            "write beyond": lambda: put(5, 1), "write beyond in second": lambda: put((0, 3), 1),
            "write nd": lambda: put(0, mx.nd.ones((3,))), "write text": lambda: put(0, "s"),
            "write another shape": lambda: put(0, xp.ones((2, 3))), "write a list": lambda: put(0, [1, 2]),
            "write into a number": lambda: put((), 4, ()), "write dots of a number": lambda: put(..., 4, ()),
            "write a list into a number": lambda: put((), [4.0], ()), 
            "write one into a number": lambda: put((), xp.array([4.0]), ()),
            "in a graph": lambda: recorded(0, lambda y: 1, True), "of a graph": lambda: recorded(0, lambda y: y[0], False),
            "all of a graph": lambda: recorded(slice(None), lambda y: y, False),
            "beside a graph": lambda: recorded(0, lambda y: 1, False),
        }  # fmt: skip
        return {name: attempt(call) for name, call in calls.items()}
