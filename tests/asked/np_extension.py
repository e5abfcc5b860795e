"""``mx.npx``: its operators upon arrays, their gradients, and the same in hybridized blocks; its files."""

# ruff: noqa: N803

from __future__ import annotations

import base64
import pathlib
import threading

import numpy as np

from .questions import ask, attempt, numbers


def whole(*values):
    """Whole numbers, as indices are given."""
    return np.array(values, np.float32)


X = numbers(2, 3, seed=1)
PICTURE = numbers(1, 2, 5, 5, seed=2)
GAMMA, BETA, MEAN, VARIANCE = (numbers(2, seed=s, low=0.5) for s in (3, 4, 5, 6))
ANCHORS = np.array([[[0.1, 0.1, 0.5, 0.5], [0.4, 0.4, 0.9, 0.8], [0.0, 0.2, 0.3, 0.9]]], np.float32)

OPERATORS = {
    "relu": (lambda x, a: x.relu(a), X),
    "sigmoid": (lambda x, a: x.sigmoid(a), X),
    "activation": (lambda x, a: x.activation(a, act_type="softrelu"), X),
    "activation by position": (lambda x, a: x.activation(a, "tanh"), X),
    "leaky": (lambda x, a: x.leaky_relu(a, act_type="leaky", slope=0.3), X),
    "elu": (lambda x, a: x.leaky_relu(a, act_type="elu"), X),
    "gelu": (lambda x, a: x.leaky_relu(a, act_type="gelu"), X),
    "prelu": (lambda x, a, g: x.leaky_relu(a, g, act_type="prelu"), X, numbers(3, seed=7)),
    "arange like": (lambda x, a: x.arange_like(a, start=1, step=0.5), X),
    "arange like an axis": (lambda x, a: x.arange_like(a, axis=-1), X),
    "batch dot": (lambda x, a, b: x.batch_dot(a, b), numbers(2, 3, 4), numbers(2, 4, 2)),
    "batch dot transposed": (lambda x, a, b: x.batch_dot(a, b, transpose_b=True), numbers(2, 3, 4), numbers(2, 2, 4)),
    "flatten": (lambda x, a: x.batch_flatten(a), PICTURE),
    "batch norm": (
        lambda x, *a: x.batch_norm(*a, eps=1e-3, fix_gamma=False, use_global_stats=True),
        PICTURE, GAMMA, BETA, MEAN, VARIANCE,
    ),
    "cast": (lambda x, a: x.cast(a, dtype="int32"), 3 * X),
    "convolution": (
        lambda x, a, w, b: x.convolution(a, w, b, kernel=(3, 3), num_filter=3, pad=(1, 0), stride=(2, 1)),
        PICTURE, numbers(3, 2, 3, 3), numbers(3),
    ),
    "convolution without bias": (
        lambda x, a, w: x.convolution(data=a, weight=w, kernel=(2, 2), num_filter=2, no_bias=True, num_group=2),
        PICTURE, numbers(2, 1, 2, 2),
    ),
    "deconvolution": (
        lambda x, a, w: x.deconvolution(a, w, kernel=(2, 2), num_filter=2, stride=(2, 2)), PICTURE, numbers(2, 2, 2, 2),
    ),
    "dropout when not training": (lambda x, a: x.dropout(a, p=0.5), X),
    "dropout of none": (lambda x, a: x.dropout(a, p=0.0, mode="always"), X),
    "embedding": (lambda x, i, w: x.embedding(i, w, input_dim=4, output_dim=3), np.array([1, 3, 0, 3], np.int32), numbers(4, 3)),
    "erf": (lambda x, a: x.erf(a), X),
    "erfinv": (lambda x, a: x.erfinv(a), X),
    "gamma": (lambda x, a: x.gamma(a), X + 2),
    "gammaln": (lambda x, a: x.gammaln(a), X + 2),
    "fully connected": (
        lambda x, a, w, b: x.fully_connected(a, w, b, num_hidden=4), numbers(2, 3, 2), numbers(4, 6), numbers(4),
    ),
    "fully connected not flat": (
        lambda x, a, w: x.fully_connected(a, w, num_hidden=4, no_bias=True, flatten=False), numbers(2, 3, 2), numbers(4, 2),
    ),
    "fully connected of a row": (
        lambda x, a, w: x.fully_connected(a, w, num_hidden=4, no_bias=True, flatten=False), numbers(3), numbers(4, 3),
    ),
    "gather nd": (lambda x, a, i: x.gather_nd(a, i), X, np.array([[0, 1], [2, 0]], np.int64)),
    "layer norm": (lambda x, *a: x.layer_norm(*a, axis=-1, eps=1e-5), X, numbers(3, seed=8), numbers(3, seed=9)),
    "layer norm of axis 0": (lambda x, *a: x.layer_norm(*a, axis=0), X, numbers(2, seed=8), numbers(2, seed=9)),
    "softmax": (lambda x, a: x.softmax(a), X),
    "softmax along": (lambda x, a: x.softmax(a, axis=0, temperature=2.0), X),
    "softmax of lengths": (
        lambda x, a, n: x.softmax(a, n, axis=1, use_length=True), numbers(2, 4, 3), np.array([[1, 4, 2], [3, 0, 4]], np.int32),
    ),
    "softmax in float64": (lambda x, a: x.softmax(a, dtype="float64"), X),
    "log softmax": (lambda x, a: x.log_softmax(a, axis=-1), X),
    "log softmax along": (lambda x, a: x.log_softmax(a, 0, 0.5), X),
    "multibox prior": (lambda x, a: x.multibox_prior(a, sizes=(0.5, 0.2), ratios=(1, 2)), numbers(1, 2, 2, 2)),
    "multibox target": (
        lambda x, *a: x.multibox_target(*a), ANCHORS, np.array([[[1, 0.1, 0.1, 0.5, 0.6], [-1, -1, -1, -1, -1]]], np.float32),
        numbers(1, 3, 3),
    ),
    "multibox detection": (
        lambda x, *a: x.multibox_detection(*a, nms_threshold=0.4),
        np.array([[[0.1, 0.2, 0.8], [0.7, 0.3, 0.1], [0.2, 0.5, 0.1]]], np.float32), numbers(1, 12) / 5, ANCHORS,
    ),
    "nonzero": (lambda x, a: x.nonzero(a), np.array([[0, 2, 0], [1, 0, 3]], np.float32)),
    "nonzero of none": (lambda x, a: x.nonzero(a), np.zeros((2, 2), np.float32)),
    "one hot": (lambda x, a: x.one_hot(a, depth=4), whole(1, 3, 0)),
    "one hot of numbers": (
        lambda x, a: x.one_hot(a, depth=3, on_value=2, off_value=-1, dtype="int32"), np.array([[0, 2]], np.int64),
    ),
    "pick": (lambda x, a, i: x.pick(a, i), X, whole(2, 0)),
    "pick along": (lambda x, a, i: x.pick(a, i, axis=0, keepdims=True), X, whole(1, 0, 1)),
    "pick beyond": (lambda x, a, i: x.pick(a, i, mode="wrap"), X, whole(4, -1)),
    "pooling": (lambda x, a: x.pooling(a, kernel=(2, 2), pool_type="sum", stride=(2, 1), pad=(1, 1)), PICTURE),
    "pooling of all": (lambda x, a: x.pooling(a, global_pool=True, pool_type="avg", kernel=(1, 1)), PICTURE),
    "pooling full": (
        lambda x, a: x.pooling(a, kernel=(2, 2), stride=(2, 2), pool_type="avg", pooling_convention="full"), PICTURE,
    ),
    "reshape like": (lambda x, a, b: x.reshape_like(a, b), X, numbers(3, 2)),
    "reshape like a part": (
        lambda x, a, b: x.reshape_like(a, b, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2), numbers(6, 2), numbers(2, 3, 4),
    ),
    "roi pooling": (
        lambda x, a, r: x.roi_pooling(a, r, pooled_size=(2, 2), spatial_scale=1.0),
        PICTURE, np.array([[0, 0, 0, 3, 3], [0, 1, 1, 4, 2]], np.float32),
    ),
    "sequence mask": (
        lambda x, a, n: x.sequence_mask(a, n, use_sequence_length=True, value=-1), numbers(3, 2, 2), whole(1, 3),
    ),
    "sequence mask along": (
        lambda x, a, n: x.sequence_mask(a, n, use_sequence_length=True, axis=1), numbers(2, 3), whole(2, 0),
    ),
    "sequence mask of all": (lambda x, a: x.sequence_mask(a), X),
    "shape array": (lambda x, a: x.shape_array(a), numbers(2, 0, 3)),
    "shape array of a number": (lambda x, a: x.shape_array(a), np.array(2.0, np.float32)),
    "slice": (lambda x, a: x.slice(a, begin=(0, 1), end=(None, 3)), X),
    "slice backwards": (lambda x, a: x.slice(a, begin=(None, -1), end=(None, None), step=(1, -2)), X),
    "smooth l1": (lambda x, a: x.smooth_l1(a, scalar=1.5), 2 * X),
    "topk": (lambda x, a: x.topk(a, k=2), X),
    "topk of both": (lambda x, a: x.topk(a, k=2, ret_typ="both", axis=-1, dtype="int32"), X),
    "topk of values": (lambda x, a: x.topk(a, axis=0, k=1, ret_typ="value", is_ascend=True), X),
    "topk masked": (lambda x, a: x.topk(a, k=1, ret_typ="mask"), X),
    "recurrent": (
        lambda x, *a: x.rnn(*a, mode="rnn_tanh", state_size=2, num_layers=1),
        numbers(3, 2, 2), numbers(12, seed=11), numbers(1, 2, 2),
    ),
    "lstm": (
        lambda x, *a: x.rnn(*a, mode="lstm", state_size=2, num_layers=1, state_outputs=True),
        numbers(3, 2, 2), numbers(48, seed=12), numbers(1, 2, 2, seed=13), numbers(1, 2, 2, seed=14),
    ),
    "gru both ways": (
        lambda x, *a: x.rnn(*a, mode="gru", state_size=2, num_layers=1, bidirectional=True, state_outputs=True),
        numbers(3, 2, 2), numbers(72, seed=15), numbers(2, 2, 2, seed=16),
    ),
    "resize": (lambda x, a: x.image.resize(a, size=(3, 2)), np.arange(48, dtype=np.uint8).reshape(4, 4, 3)),
    "to tensor": (lambda x, a: x.image.to_tensor(a), np.arange(24, dtype=np.uint8).reshape(2, 4, 3)),
    "normalize": (lambda x, a: x.image.normalize(a, mean=(0.1, 0.2, 0), std=(0.5, 0.4, 1)), numbers(3, 2, 3)),
    "crop": (lambda x, a: x.image.crop(a, x=1, y=0, width=2, height=3), numbers(4, 4, 3)),
    "flipped": (lambda x, a: x.image.flip_left_right(a), np.arange(24, dtype=np.uint8).reshape(2, 4, 3)),
    "flipped upside down": (lambda x, a: x.image.flip_top_bottom(a), np.arange(24, dtype=np.uint8).reshape(2, 4, 3)),
    "constraint": (lambda x, a: x.constraint_check(a, "not so"), np.array([True, True])),
    **{
        f"reshape to {shape}{' from the end' * bool(more)}": (
            lambda x, a, shape=shape, more=more: x.reshape(a, shape, **more), numbers(2, 3, 1, 4),
        )
        for shape, more in [
            ((-1,), {}), (-1, {}), ((-2, -1), {}), ((-2, -2, -1), {}), ((-4,), {}), ((-2, -4), {}), ((-5, -5), {}),
            ((-5, -4), {}), ((-2, -2, -3, -2), {}), ((-2, -2, -2, -6, 2, -1), {}), ((-6, 1, -1, -4), {}), ((4, -4), {}),
            ((6, -1), {}), ((-1, 12), {"reverse": True}), ((-2, -1), {"reverse": True}), ((-4, -5), {"reverse": True}),
            ((-3, 2), {}), ((5, -1), {}), ((-7,), {}), ((-1, -1), {}), ((0, -1), {}), ((-6, 3, 3, -4), {}),
        ]
    },
    "reshape of none": (lambda x, a: x.reshape(a, (-2, 0, 5)), numbers(2, 0, 3)),
    "reshape of a number": (lambda x, a: x.reshape(a, ()), numbers(1, 1)),
}  # fmt: skip
"""Calls and what they are given."""


def made(mx, values):
    """An array of mx.np."""
    if not values.size:
        return mx.nd.zeros(values.shape, dtype=values.dtype).as_np_ndarray()
    return mx.nd.array(values.reshape(-1), dtype=values.dtype).as_np_ndarray().reshape(values.shape)


def same(a, b):
    """True where two answers are equal."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) or isinstance(b, dict):
        return a == b
    return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, atol=1e-5, equal_nan=True)


def applied(mx, call, arrays):
    """Outputs of an operator, the gradients of its inputs where it has one output, and whether a hybridized block agrees."""

    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, *inputs):
            return call(F.npx, *inputs)

    def run(block):
        inputs = [made(mx, a) for a in arrays]
        kinds = [a.dtype.kind for a in arrays]
        for array, kind in zip(inputs, kinds):
            if kind == "f":
                array.attach_grad()
        with mx.autograd.record(train_mode=False):
            out = block(*inputs)
        if isinstance(out, (list, tuple)):
            return [o.asnumpy() for o in out]
        value = out.asnumpy()
        if value.dtype.kind != "f" or not value.size or "f" not in kinds:
            return [value]
        out.backward(made(mx, numbers(*value.shape, seed=20).astype(value.dtype)))
        return [value, *(a.grad.asnumpy() for a, kind in zip(inputs, kinds) if kind == "f")]

    eager = attempt(lambda: run(lambda *inputs: call(mx.npx, *inputs)))
    block = Block()
    block.hybridize()
    compiled = attempt(lambda: run(block))
    return {"eager": eager, "hybridized": True if same(eager, compiled) else compiled}


@ask
def operators(mx, folder):
    """Answers of mx.npx, one or more for each of its operators."""
    with mx.util.np_shape(True), mx.util.np_array(True):
        return {name: applied(mx, call, arrays) for name, (call, *arrays) in OPERATORS.items()}


@ask
def files(mx, folder):
    """Bytes of what mx.npx.save writes, and what is read again."""
    path = str(pathlib.Path(folder) / "arrays")

    def array(values, dtype="float32"):
        return made(mx, np.array(values, dtype))

    def kept(value):
        mx.npx.save(path, value)
        found = mx.npx.load(path)
        kinds = [type(v).__name__ for v in (found.values() if isinstance(found, dict) else found)]
        text = base64.b64encode(pathlib.Path(path).read_bytes()).decode()
        return [text, type(found).__name__, kinds, found, mx.nd.load(path)]

    off = [attempt(lambda: mx.npx.save(path, mx.nd.ones((1,)).as_np_ndarray())), attempt(lambda: mx.npx.load(path))]
    with mx.util.np_shape(True), mx.util.np_array(True):
        mixed = {"w": array([1, 2], "int8"), "b": array(1, "bool"), "c": array([[]], "int32"), "d": array([1], "uint8")}
        given = {
            "one": array([1, 2]), "list": [array([[1, 2]]), array(3, "float64")], "dict": mixed, "none": [],
            "half": array([1.5], "float16"),
            "tuple": (array(1),), "number": 3, "of mx.nd": mx.nd.ones((1,)),
            "list of mx.nd": [mx.nd.ones((1,))], "keys": {1: array(1)},
        }  # fmt: skip
        found = {name: attempt(lambda: kept(value)) for name, value in given.items()}  # noqa: B023
        found["by mx.nd"] = attempt(lambda: mx.nd.save(path, [array(1)]))
        mx.nd.save(path, {"a": mx.nd.ones((2, 3))})
        found["of mx.nd in the mode"] = base64.b64encode(pathlib.Path(path).read_bytes()).decode()
        found["no name"] = attempt(lambda: mx.npx.load(3))
    return {"off": off, **found}


@ask
def the_mode(mx, folder):
    """States of the mode in functions, methods and properties that are decorated, in scopes, after switches, and in threads.

    Left out: class methods, at which MXNet fails, and setters of properties, which it leaves as they are."""
    util = mx.util

    def now():
        return [util.is_np_shape(), util.is_np_array(), mx.npx.is_np_shape(), mx.npx.is_np_array()]

    def within(decorator):
        @decorator
        def function(value, *, more=1):
            """Text."""
            return [now(), value, more]

        class Base:
            def above(self):
                return now()

        @decorator
        class Kind(Base):
            held = 3

            def __init__(self):
                self.first = now()

            def method(self, value):
                return [now(), value]

            @property
            def own(self):
                return now()

            @staticmethod
            def alone(value=2):
                return [now(), value]

        kind = Kind()
        return [
            function(3, more=2), function.__name__, function.__doc__, Kind.__name__, Kind.held, kind.first, kind.method(4),
            kind.own, attempt(lambda: Kind.alone(1)), kind.above(), Base().above(), now(),
        ]  # fmt: skip

    def switched(*args, **kwargs):
        util.set_np(*args, **kwargs)
        try:
            return now()
        finally:
            util.reset_np()

    def raised():
        try:
            util.use_np(lambda: 1 // 0)()
        except ZeroDivisionError:
            return now()

    def nested():
        found = []
        with util.np_shape(True):
            found.append(now())
            with util.np_array(True):
                found.append(now())
                found.append([attempt(lambda: util.set_np_shape(False)), now()])
                with util.np_shape(True):
                    found.append(now())
                found.append([attempt(lambda: util.np_shape(False).__enter__()), now()])
            with util.np_array(False):
                found.append(now())
        return [*found, now()]

    def threads():
        util.set_np()
        try:
            told = []
            thread = threading.Thread(target=lambda: told.append(now()))
            thread.start()
            thread.join()
            return [told, now()]
        finally:
            util.reset_np()

    return {
        "use_np": within(util.use_np), "use_np_shape": within(util.use_np_shape), "use_np_array": within(util.use_np_array),
        "set": [switched(), switched(True, True), switched(True, False), switched(False, False), switched(shape=True, array=False)],
        "refused": [
            attempt(lambda: switched(False, True)), attempt(lambda: util.use_np(3)), attempt(lambda: util.use_np_array("a")), now(),
        ],
        "raised": raised(), "nested": nested(), "threads": threads(), "shape": [util.set_np_shape(True), util.set_np_shape(False)],
    }  # fmt: skip
