"""Things that MXNet takes though they look as if they did not fit, and others that it refuses: head gradients of another shape,
slopes, modes of indices, pads, attributes as NumPy has them, shapes that follow backwards.

Left out: what MXNet computes of memory that is not the array's (head gradients with fewer elements), and what it refuses although
the meaning is plain, which is taken here: head gradients of as many elements for any operator, attributes as arrays of NumPy's,
pads as large as the kernel, axes from the end in broadcast_axis, one place as a vector in gather_nd, files of the other reading of
shapes; and shapes of which more follows here."""

# ruff: noqa: E501, B008
from __future__ import annotations

import numpy as np

from .questions import ask, attempt, numbers


def answers(calls):
    """Answer to each call, or the error that it raises."""
    return {name: attempt(call) for name, call in calls.items()}


@ask
def head_gradients(mx, folder):
    def through(function, data, head, dtype="float32"):
        x = mx.nd.array(data)
        x.attach_grad()
        with mx.autograd.record():
            y = function(x)
        y.backward(mx.nd.array(head, dtype=dtype))
        return x.grad

    def bound(head):
        net = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w"), no_bias=True, num_hidden=3) * 2
        x, w = mx.nd.array(numbers(2, 4)), mx.nd.array(numbers(3, 4))
        gx, gw = mx.nd.zeros((2, 4)), mx.nd.zeros((3, 4))
        made = net.bind(mx.cpu(), {"x": x, "w": w}, {"x": gx, "w": gw})
        made.forward(is_train=True)
        made.backward(mx.nd.array(head))
        return [gx, gw]

    def cached(head):
        net = mx.gluon.nn.Dense(3, in_units=4, weight_initializer="ones")
        net.initialize()
        net.hybridize()
        x = mx.nd.array(numbers(2, 4))
        with mx.autograd.record():
            y = net(x)
        y.backward(mx.nd.array(head))
        return net.weight.grad()

    def several(heads):
        x = mx.nd.array(numbers(2, 3))
        x.attach_grad()
        with mx.autograd.record():
            a, b = x * 2, x.sum(axis=1)
        mx.autograd.backward([a, b], [None if h is None else mx.nd.array(h) for h in heads])
        return x.grad

    def given(head):
        x = mx.nd.array(numbers(2, 3))
        x.attach_grad()
        with mx.autograd.record():
            y = x * x
        return mx.autograd.grad(y, [x], head_grads=[mx.nd.array(head)])

    square, scale = (lambda x: x * x), (lambda x: x.sum(axis=1))
    calls = {}
    alike = {"flat": (6,), "turned": (3, 2), "in front": (1, 2, 3), "behind": (2, 3, 1)}
    for name, shape in alike.items():
        head = numbers(*shape)
        calls[f"square, {name}"] = lambda h=head: through(square, numbers(2, 3), h)
        calls[f"scaled, {name}"] = lambda h=head: through(lambda x: x * 2, numbers(2, 3), h)
        calls[f"grad, {name}"] = lambda h=head: given(h)
        calls[f"two heads, {name}"] = lambda h=head: several([h, None])
    for name, shape in {"fewer": (2, 2), "one": (1,), "a column": (2, 1), "a row": (1, 3), "more": (4, 3)}.items():
        head = numbers(*shape)
        calls[f"exp, {name}"] = lambda h=head: through(lambda x: x.exp(), numbers(2, 3), h)
        calls[f"softmax, {name}"] = lambda h=head: through(lambda x: x.softmax(), numbers(2, 3), h)
        calls[f"bound, {name}"] = lambda h=head: bound(h)
        calls[f"cached, {name}"] = lambda h=head: cached(h)
    for name, shape in {"column": (2, 1), "one": (1,), "more": (4,)}.items():
        if shape == (2, 1):
            calls[f"sum, {name}"] = lambda h=numbers(*shape): through(scale, numbers(2, 3), h)
        calls[f"dense, {name}"] = lambda h=numbers(*shape): through(
            lambda x: mx.nd.FullyConnected(x, mx.nd.ones((1, 3)), no_bias=True, num_hidden=1), numbers(2, 3), h
        )
    for dtype in ("float64", "float16", "int32"):
        calls[f"square of {dtype}"] = lambda d=dtype: through(square, numbers(2, 3), 3 * numbers(2, 3), d)
    return answers(calls)


@ask
def slopes(mx, folder):
    calls = {}
    for shape in ((3,), (1,), (1, 3), (3, 1), (1, 3, 1), (1, 3, 1, 1), (3, 1, 1), (2, 3), (4,), (2, 3, 4, 4), (1, 1)):
        for data in ((2, 3), (2, 3, 4, 4), (3,), (2, 3, 1, 4)):
            x, gamma = numbers(*data), numbers(*shape)
            calls[f"{shape} of {data}"] = lambda x=x, g=gamma: mx.nd.LeakyReLU(
                mx.nd.array(x), mx.nd.array(g), act_type="prelu"
            )
            if len(shape) <= min(2, len(data)) and shape not in ((3, 1), (4,)):
                calls[f"{shape} of {data}, inferred"] = lambda x=x, g=gamma: mx.sym.LeakyReLU(
                    mx.sym.var("x"), mx.sym.var("g"), act_type="prelu"
                ).infer_shape(x=x.shape, g=g.shape)

    def gradients(x, g):
        x, g = mx.nd.array(x), mx.nd.array(g)
        x.attach_grad()
        g.attach_grad()
        with mx.autograd.record():
            y = mx.nd.LeakyReLU(x, g, act_type="prelu")
        y.backward()
        return [x.grad, g.grad]

    for shape in ((3,), (1,), (1, 3), (1, 3, 1, 1)):
        calls[f"gradients {shape}"] = lambda g=numbers(*shape): gradients(numbers(2, 3, 4, 4), g)
    calls["of data of one row"] = lambda: gradients(numbers(2, 3), numbers(1, 3))
    return answers(calls)


@ask
def modes(mx, folder):
    data, places = numbers(4, 3), np.array([-7, -5, -4, -1, 0, 3, 4, 9, 100])
    calls = {}
    for mode in ("clip", "wrap", "raise", "nothing"):
        for axis in (0, 1, -1, -2, 2, -3):
            inside = places if mode != "raise" else np.array([0, 2, 1])
            for dtype in ("float32", "int32", "int64"):
                calls[f"take {mode} {axis} {dtype}"] = lambda m=mode, a=axis, i=inside, d=dtype: mx.nd.take(
                    mx.nd.array(data), mx.nd.array(i, dtype=d), axis=a, mode=m
                )
    for place in (-1, 4, 100, -5):
        calls[f"take raise at {place}"] = lambda p=place: mx.nd.take(
            mx.nd.array(data), mx.nd.array([p]), mode="raise"
        ).asnumpy()
    calls["take of uint8"] = lambda: mx.nd.take(mx.nd.array(data), mx.nd.array([1, 2], dtype="uint8"))
    calls["take of fractions"] = lambda: mx.nd.take(mx.nd.array(data), mx.nd.array([0.5, 1.99, -0.5, 2.5]))
    calls["take of fractions, wrapped"] = lambda: mx.nd.take(
        mx.nd.array(data), mx.nd.array([0.5, 1.99, -0.5, -1.5, 4.5]), mode="wrap"
    )
    for dtype in ("float32", "int32"):
        for name, index in {
            "inside": [[0, 3, 1], [2, 0, 1]],
            "negative": [[-1, -4, 0], [-1, -3, -2]],
            "rows": [[0, -1, 3]],
        }.items():
            calls[f"gather_nd {name} {dtype}"] = lambda i=index, d=dtype: mx.nd.gather_nd(
                mx.nd.array(data), mx.nd.array(i, dtype=d)
            )
    calls["gather_nd of too many"] = lambda: mx.nd.gather_nd(mx.nd.array(data), mx.nd.array([[0], [0], [0]]))
    for mode in ("clip", "wrap"):
        for axis in (0, 1, -1):
            count = 3 if axis == 0 else 4
            at = np.array([-5, 7, 1, 2])[:count]
            calls[f"pick {mode} {axis}"] = lambda m=mode, a=axis, i=at: mx.nd.pick(
                mx.nd.array(data), mx.nd.array(i), axis=a, mode=m
            )
    calls["batch_take"] = lambda: mx.nd.batch_take(mx.nd.array(data), mx.nd.array([-1, 0, 2, 7], dtype="int32"))
    for place in (-1, 9):
        calls[f"Embedding at {place}"] = lambda p=place: mx.nd.Embedding(
            mx.nd.array([p, 0]), mx.nd.array(data), input_dim=4, output_dim=3
        )
        calls[f"one_hot at {place}"] = lambda p=place: mx.nd.one_hot(mx.nd.array([p, 0]), 4)
        calls[f"scatter_nd at {place}"] = lambda p=place: mx.nd.scatter_nd(
            mx.nd.array([1.0]), mx.nd.array([[0], [1]]), shape=(2, 3)
        )
    return answers(calls)


@ask
def pads(mx, folder):
    calls, x = {}, numbers(1, 2, 5, 6)
    for convention in ("valid", "full", "same"):
        for kernel in ((2, 2), (3, 3), (1, 3)):
            for pad in ((0, 0), (1, 1), (2, 2), (3, 3), (0, 2)):
                beyond = any(p >= k for p, k in zip(pad, kernel))
                for kind in ("sum",) if beyond else ("max", "avg", "sum"):
                    calls[f"{kind} {kernel} {pad} {convention}"] = lambda k=kernel, p=pad, t=kind, c=convention: (
                        mx.nd.Pooling(mx.nd.array(x), kernel=k, pad=p, pool_type=t, pooling_convention=c, stride=(2, 2))
                    )
    for kernel in ((6, 7), (5, 7), (9, 9)):
        for convention in ("valid", "full"):
            calls[f"beyond {kernel} {convention}"] = lambda k=kernel, c=convention: mx.nd.Pooling(
                mx.nd.array(x), kernel=k, pad=(0, 0), pooling_convention=c
            )
            calls[f"beyond {kernel} {convention}, padded"] = lambda k=kernel, c=convention: mx.nd.Pooling(
                mx.nd.array(x), kernel=k, pad=(2, 2), pooling_convention=c
            )
    calls["a line, same"] = lambda: mx.nd.Pooling(
        mx.nd.array(numbers(1, 2, 7)), kernel=(3,), stride=(2,), pooling_convention="same"
    )
    calls["a line, same, padded"] = lambda: mx.nd.Pooling(
        mx.nd.array(numbers(1, 2, 7)), kernel=(3,), stride=(2,), pad=(1,), pooling_convention="same"
    )
    calls["global with pads"] = lambda: mx.nd.Pooling(mx.nd.array(x), kernel=(2, 2), pad=(3, 3), global_pool=True)
    calls["global without kernel"] = lambda: mx.nd.Pooling(mx.nd.array(x), global_pool=True, pool_type="avg")
    calls["without kernel"] = lambda: mx.nd.Pooling(mx.nd.array(x))
    return answers(calls)


@ask
def likes(mx, folder):
    calls = {}
    for a, b, left, right in (
        ((1, 3), (2, 3), None, None), ((3,), (2, 3), None, None), ((1, 3, 1), (2, 3, 4), None, None), ((2, 3), (2, 3), None, None),
        ((1, 3), (5, 6, 2), (0,), (-1,)), ((1, 3), (5, 6, 2), (0,), (2,)), ((1, 1), (5, 6, 2), (0, 1), (2, 0)), ((1, 3), (5, 6), (0,), None),
        ((1, 3), (5, 6), (1,), (1,)), ((1, 3), (5, 6), (0, 1), (0, 1)), ((1, 3), (5, 3), (-2,), (-2,)), ((1, 3), (5, 3), (2,), (0,)),
        ((1, 3), (5, 3), 0, 0), ((1, 1), (5, 3), (0, 0), (0, 1)), ((2, 3), (4, 3), None, None), ((1,), (2, 3), (0,), (1,)),
    ):  # fmt: skip
        given = {} if left is None else {"lhs_axes": left}
        given |= {} if right is None else {"rhs_axes": right}
        calls[f"broadcast_like {a} {b} {left} {right}"] = lambda a=a, b=b, g=given: mx.nd.broadcast_like(
            mx.nd.array(numbers(*a)), mx.nd.array(numbers(*b)), **g
        )
    for shape, to in (
        ((1, 3), (2, 3)),
        ((1, 3), (2, 0)),
        ((1, 3), (0, 0)),
        ((3,), (2, 3)),
        ((1, 3), (2,)),
        ((2, 3), (4, 3)),
        ((1, 3), (2, -1)),
    ):
        calls[f"broadcast_to {shape} {to}"] = lambda s=shape, t=to: mx.nd.broadcast_to(
            mx.nd.array(numbers(*s)), shape=t
        )
    for axis, size in (
        (0, 2),
        ((0,), (2,)),
        ((0, 2), (2, 3)),
        ((2, 0), (3, 2)),
        (1, 2),
        (3, 2),
        ((), ()),
        ((0, 2), (2,)),
    ):
        calls[f"broadcast_axis {axis} {size}"] = lambda a=axis, s=size: mx.nd.broadcast_axis(
            mx.nd.array(numbers(1, 3, 1)), axis=a, size=s
        )
    for axes in ((), (0,), (1,), (-1,), (0, -1), (2,), (-3,), (1, 1), 0):
        calls[f"slice_like {axes}"] = lambda a=axes: mx.nd.slice_like(
            mx.nd.array(numbers(4, 5)), mx.nd.array(numbers(2, 3)), axes=a
        )
    calls["slice_like of fewer dims"] = lambda: mx.nd.slice_like(
        mx.nd.array(numbers(4, 5)), mx.nd.array(numbers(2)), axes=(0,)
    )
    calls["slice_like of fewer dims, all"] = lambda: mx.nd.slice_like(
        mx.nd.array(numbers(4, 5)), mx.nd.array(numbers(2))
    )
    calls["slice_like larger"] = lambda: mx.nd.slice_like(mx.nd.array(numbers(2, 3)), mx.nd.array(numbers(4, 5)))
    for a, b, given in (
        ((2, 6), (3, 4), {}), ((2, 6), (2, 7), {"lhs_begin": 1, "lhs_end": 2, "rhs_begin": 1, "rhs_end": 2}), ((12,), (3, 4), {}), ((2, 6), (5, 4), {}),
        ((30, 7), (15, 2, 4), {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": 2}), ((2, 6), (3, 4), {"lhs_begin": 0}),
        ((30, 7), (15, 2, 4), {"lhs_begin": None, "lhs_end": 1, "rhs_begin": None, "rhs_end": 2}), ((2, 6), (3, 4), {"lhs_begin": -2, "lhs_end": 2, "rhs_begin": 0, "rhs_end": 2}),
    ):  # fmt: skip
        calls[f"reshape_like {a} {b} {given}"] = lambda a=a, b=b, g=given: mx.nd.reshape_like(
            mx.nd.array(numbers(*a)), mx.nd.array(numbers(*b)), **g
        )
    return answers(calls)


@ask
def depths(mx, folder):
    calls = {}
    for shape in ((1, 4, 2, 3), (1, 8, 2, 2), (1, 3, 2, 2), (4, 2, 3), (1, 4, 2, 3, 1), (1, 4, 1, 1), (2, 9, 1, 2)):
        for block in (1, 2, 3, 0, -1, -2, 4):
            for name in ("depth_to_space", "space_to_depth"):
                calls[f"{name} {shape} {block}"] = lambda s=shape, b=block, n=name: getattr(mx.nd, n)(
                    mx.nd.array(numbers(*s)), b
                )
    return answers(calls)


@ask
def attributes_of_numpy(mx, folder):
    nd, x = mx.nd, lambda *shape: mx.nd.array(numbers(*shape))
    i, f, b = np.int64, np.float32, np.bool_
    calls = {
        "axis": lambda: nd.sum(x(2, 3, 4), axis=i(1)),
        "axis of an array of one": lambda: nd.sum(x(2, 3, 4), axis=np.array([1])),
        "axis of an array without dims": lambda: nd.sum(x(2, 3, 4), axis=np.array(1)),
        "axis of numbers": lambda: nd.sum(x(2, 3, 4), axis=(i(0), i(2))),
        "keepdims": lambda: nd.sum(x(2, 3), axis=1, keepdims=b(True)),
        "shape of numbers": lambda: nd.reshape(x(2, 3, 4), shape=[i(4), np.int32(-1)]),
        "method reshape of numbers": lambda: x(2, 3, 4).reshape(i(4), i(6)),
        "slice of numbers": lambda: nd.slice(x(4, 5), begin=(i(1), None), end=(i(3), i(4))),
        "slice_axis": lambda: nd.slice_axis(x(4, 5), axis=i(0), begin=i(1), end=np.int32(3)),
        "clip": lambda: nd.clip(x(4, 5), f(-0.5), np.float64(0.5)),
        "clip of an array without dims": lambda: nd.clip(x(4, 5), np.array(-0.5), np.array(0.5)),
        "clip of an array of one": lambda: nd.clip(x(4, 5), np.array([-0.5]), np.array([0.5])),
        "kernel of numbers": lambda: nd.Pooling(x(1, 2, 4, 4), kernel=(i(2), i(2)), stride=(i(2), i(2))),
        "num_hidden": lambda: nd.FullyConnected(x(2, 4), x(3, 4), no_bias=b(True), num_hidden=i(3)),
        "repeats": lambda: nd.repeat(x(2, 3), repeats=i(2), axis=i(1)),
        "depth": lambda: nd.one_hot(nd.array([0, 2]), i(4), on_value=f(0.5)),
        "topk": lambda: nd.topk(x(2, 5), k=i(2), ret_typ="value", axis=i(-1)),
        "pad of numbers": lambda: nd.pad(
            x(1, 1, 2, 2), mode="constant", pad_width=tuple(np.array([0, 0, 0, 0, 1, 1, 1, 1])), constant_value=f(3)
        ),
        "split": lambda: nd.split(x(4, 6), num_outputs=i(3), axis=i(1)),
        "split_v2": lambda: nd.split_v2(x(4, 6), np.array([1, 3]), axis=1),
        "split_v2 of numbers": lambda: nd.split_v2(x(4, 6), (i(1), i(3)), axis=i(1)),
        "transpose of numbers": lambda: nd.transpose(x(2, 3, 4), axes=tuple(np.array([2, 0, 1]))),
        "zeros": lambda: nd.zeros(np.array([2, 3])),
        "zeros of numbers": lambda: nd.zeros((i(2), np.int32(3))),
        "zeros of a number": lambda: nd.zeros(i(2)),
        "full": lambda: nd.full((2, 3), f(0.1)),
        "arange": lambda: nd.arange(f(1), i(7), step=f(2)),
        "scalar": lambda: x(2, 3) * f(0.1),
        "scalar of doubles": lambda: x(2, 3) * np.float64(0.1),
        "scalar of integers": lambda: nd.array([1, 2, 3], dtype="int32") * i(2),
        "scalar in front": lambda: f(2) - x(2, 3),
        "scalar that is True": lambda: x(2, 3) + b(True),
        "times an array without dims": lambda: x(2, 3) * np.array(2.0),
        "dtype": lambda: nd.cast(x(2, 3), dtype=np.dtype("float64")),
        "dtype of a type": lambda: nd.cast(x(2, 3), dtype=np.float16),
        "mode that is no word": lambda: nd.take(x(2, 3), nd.array([1]), mode=i(1)),
        "LayerNorm": lambda: nd.LayerNorm(x(2, 3), nd.ones(3), nd.zeros(3), axis=i(-1), eps=f(1e-5)),
        "smooth_l1": lambda: nd.smooth_l1(x(2, 3), scalar=f(2)),
        "expand_dims": lambda: nd.expand_dims(x(2, 3), axis=i(1)),
        "swapaxes": lambda: nd.swapaxes(x(2, 3, 4), i(0), i(2)),
        "concat": lambda: nd.concat(x(2, 3), x(2, 3), dim=i(1)),
        "norm": lambda: nd.norm(x(2, 3), ord=i(1), axis=i(1)),
        "uniform": lambda: nd.random.uniform(f(0), f(1), shape=(i(2), i(3))).shape,
        "index": lambda: x(4, 5)[i(2)],
        "index of an array": lambda: x(4, 5)[np.array([1, 3])],
        "index to a number": lambda: x(4, 5)[i(1) : i(3), np.int32(2)],
    }

    def written(**attrs):
        return mx.sym.Pooling(mx.sym.var("x"), name="pool", **attrs).list_attr()

    calls |= {
        "written, numbers": lambda: written(kernel=(i(2), i(2)), pool_type="max", stride=(np.int32(1), 2)),
        "written, scalar": lambda: (mx.sym.var("x") * f(0.1)).list_attr()["scalar"],
        "written, scalar of doubles": lambda: (mx.sym.var("x") * np.float64(0.1)).list_attr()["scalar"],
        "written, an axis": lambda: mx.sym.sum(mx.sym.var("x"), axis=i(1)).list_attr(),
        "written, a bool": lambda: mx.sym.sum(mx.sym.var("x"), axis=1, keepdims=b(True)).list_attr(),
        "written, a dtype": lambda: mx.sym.cast(mx.sym.var("x"), dtype=np.dtype("float64")).list_attr(),
        "a shape": lambda: mx.sym.var("x", shape=np.array([2, 3])).list_attr(),
        "a shape of numbers": lambda: mx.sym.var("x", shape=(i(2), i(3))).list_attr(),
    }
    return answers(calls)


@ask
def backwards(mx, folder):
    v = mx.sym.var

    def follows(made, **shapes):
        def call():
            ins, outs, _ = made.infer_shape_partial(**shapes)
            return [dict(zip(made.list_arguments(), ins)), outs]

        return call

    def ends(made, *shapes):
        """Shapes of the inputs that follow from the outputs'."""
        outs = [made[i] for i in range(len(shapes))]
        whole = mx.sym.Group([mx.sym.elemwise_add(o, v(f"end{i}")) for i, o in enumerate(outs)])
        return follows(whole, **{f"end{i}": s for i, s in enumerate(shapes)})

    x, y = v("x"), v("y")
    calls = {
        "transpose by axes": ends(mx.sym.transpose(x, axes=(2, 0, 1)), (2, 3, 4)),
        "transpose, partly": ends(mx.sym.transpose(x, axes=(2, 0, 1)), (2, 0, 4)),
        "transpose of partly known": follows(mx.sym.transpose(x, axes=(1, 0)), x=(2, 0)),
        "slice": ends(mx.sym.slice(x, begin=(0, 1), end=(2, 3)), (2, 2)),
        "slice of unknown": follows(mx.sym.slice(x, begin=(0, 1), end=(2, 3))),
        "slice of partly known": follows(mx.sym.slice(x, begin=(0, 1), end=(2, 3)), x=(0, 5)),
        "slice to the end, of partly known": follows(mx.sym.slice(x, begin=(0, 1), end=(None, None)), x=(0, 5)),
        "slice_axis": ends(mx.sym.slice_axis(x, axis=1, begin=1, end=3), (2, 2)),
        "slice_axis of partly known": follows(mx.sym.slice_axis(x, axis=1, begin=1, end=3), x=(0, 5)),
        "SliceChannel of partly known": follows(mx.sym.SliceChannel(x, num_outputs=2, axis=1), x=(0, 4)),
        "batch_dot": ends(mx.sym.batch_dot(x, y), (2, 3, 4)),
        "batch_dot of one": follows(mx.sym.batch_dot(x, y), x=(2, 3, 4)),
        "batch_dot of the other": follows(mx.sym.batch_dot(x, y), y=(2, 3, 4)),
        "dot": follows(mx.sym.dot(x, y), x=(2, 3)),
        "dot of partly known": follows(mx.sym.dot(x, y), x=(0, 3), y=(3, 4)),
        "Convolution of partly known": follows(
            mx.sym.Convolution(x, v("w"), v("b"), kernel=(3, 3), num_filter=4), x=(0, 2, 5, 5)
        ),
        "Convolution of unknown channels": follows(
            mx.sym.Convolution(x, v("w"), v("b"), kernel=(3, 3), num_filter=4), x=(1, 0, 5, 5)
        ),
        "Pooling of partly known": follows(mx.sym.Pooling(x, kernel=(2, 2)), x=(0, 2, 5, 5)),
        "concat of partly known": follows(mx.sym.concat(x, y, dim=1), x=(0, 3), y=(2, 0)),
        "stack": ends(mx.sym.stack(x, y, axis=1), (2, 2, 3)),
        "reshape": ends(mx.sym.reshape(x, shape=(2, -1)), (2, 6)),
        "reshape keeps": ends(mx.sym.reshape(x, shape=(0, 0)), (2, 6)),
        "reshape backwards": ends(mx.sym.reshape(v("x", shape=(0, 3)), shape=(-1, 3)), (4, 3)),
        "flatten": ends(mx.sym.flatten(x), (2, 6)),
        "expand_dims": ends(mx.sym.expand_dims(x, axis=1), (2, 1, 3)),
        "squeeze": ends(mx.sym.squeeze(x, axis=1), (2, 3)),
        "sum of partly known": follows(mx.sym.sum(x, axis=1), x=(0, 3, 4)),
        "sum along what is not known": follows(mx.sym.sum(x, axis=1), x=(2, 0, 4)),
        "broadcast_add": follows(mx.sym.broadcast_add(x, y), x=(2, 3)),
        "elemwise_add of partly known": follows(x + y, x=(0, 3), y=(2, 0)),
        "Embedding of partly known": follows(mx.sym.Embedding(x, v("w"), input_dim=5, output_dim=4), x=(0, 3)),
        "pick of partly known": follows(mx.sym.pick(x, y), x=(0, 3)),
        "softmax of partly known": follows(mx.sym.softmax(x), x=(0, 3)),
        "BatchNorm of partly known": follows(mx.sym.BatchNorm(x, v("g"), v("b"), v("m"), v("s")), x=(0, 3, 0)),
        "LayerNorm of partly known": follows(mx.sym.LayerNorm(x, v("g"), v("b")), x=(0, 3)),
        "Activation": ends(mx.sym.Activation(x, act_type="relu"), (2, 3)),
        "SoftmaxOutput": follows(mx.sym.SoftmaxOutput(x, v("l")), x=(2, 3)),
        "SoftmaxOutput of partly known": follows(mx.sym.SoftmaxOutput(x, v("l")), x=(0, 3)),
        "cast": ends(mx.sym.cast(x, dtype="float16"), (2, 3)),
        "reverse": ends(mx.sym.reverse(x, axis=0), (2, 3)),
        "repeat of partly known": follows(mx.sym.repeat(x, repeats=2, axis=1), x=(0, 3)),
        "slice_like": follows(mx.sym.slice_like(x, y), y=(2, 3)),
        "broadcast_like": follows(mx.sym.broadcast_like(x, y), y=(2, 3)),
        "UpSampling of partly known": follows(mx.sym.UpSampling(x, scale=2, sample_type="nearest"), x=(0, 2, 3, 3)),
        "sequence_mask of partly known": follows(mx.sym.SequenceMask(x, y, use_sequence_length=True), x=(0, 2, 3)),
        "RNN of partly known": follows(
            mx.sym.RNN(x, v("p"), v("s"), state_size=3, num_layers=1, mode="gru"), x=(0, 2, 4)
        ),
    }
    return answers(calls)


@ask
def saved_scalars(mx, folder):
    def shapes_of(path):
        with mx.util.np_shape(True):
            found = mx.nd.load(path)
        return {k: [a.shape, a.dtype, a.asnumpy()] for k, a in found.items()}

    def save():
        with mx.util.np_shape(True):
            mx.nd.save(
                str(folder / "a"), {"scalar": mx.nd.array(2.5), "none": mx.nd.zeros((0, 3)), "two": mx.nd.ones((2,))}
            )
        return shapes_of(str(folder / "a"))

    def parameters():
        with mx.util.np_shape(True):
            made = mx.gluon.Parameter("p", shape=())
            made.initialize(mx.init.One())
            both = mx.gluon.ParameterDict()
            both._params["p"] = made
            both.save(str(folder / "p"))
            return {k: [v.shape, v.asnumpy()] for k, v in mx.nd.load(str(folder / "p")).items()}

    return answers({"on": save, "a parameter": parameters})
