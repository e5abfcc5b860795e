"""Shapes as NumPy reads them (np_shape): sizes of 0, single numbers, sizes that are not known. Left out: what MXNet crashes at,
and what it refuses although NumPy has an answer, which is given here (parts of no size, the only element of a number, layers on
no rows)."""

# ruff: noqa: E731
from __future__ import annotations

import numpy as np

from .questions import ask, attempt


def answered(mx, calls, again=False):
    """Answers with np_shape on; again: those with it off too."""
    found = {}
    for name, call in calls.items():
        with mx.util.np_shape(True):
            found[name] = attempt(call)
        if again:
            found[f"{name}, off"] = attempt(call)
    return found


@ask
def arrays_of_no_size_and_of_no_dims(mx, folder):
    """Answers of what makes arrays."""
    nd = mx.nd
    return answered(mx, {
        "zeros": lambda: nd.zeros((0, 3)), "zeros of a number": lambda: nd.zeros(0), "ones": lambda: nd.ones(()),
        "empty": lambda: nd.empty((0, 2)).shape, "full": lambda: nd.full((), 3.0), "array of a number": lambda: nd.array(3.0),
        "array of an array": lambda: nd.array(np.array(2.0)), "array of none": lambda: nd.array([]),
        "array of rows": lambda: nd.array(np.zeros((0, 3))), "size": lambda: nd.array(np.zeros((2, 0, 3))).size,
        "linspace": lambda: nd.linspace(0, 1, 0), "like": lambda: nd.zeros_like(nd.ones((0, 2))),
        "like a number": lambda: nd.ones_like(nd.ones(())), "copy": lambda: nd.zeros((0, 2)).copy(),
        "cast": lambda: nd.zeros((0, 2)).astype("int32"), "to": lambda: nd.ones(()).copyto(nd.zeros(())),
        "length of none": lambda: len(nd.zeros((0, 2))),
        "truth": lambda: bool(nd.ones(())), "rows": lambda: [r.shape for r in nd.zeros((0, 2))],
        "dims": lambda: [nd.ones(()).size, nd.ones(()).ndim], "equal": lambda: nd.ones(()) == 1,
        "drawn": lambda: nd.random.uniform(shape=(0, 2)), "a number drawn": lambda: nd.random.normal(shape=()).shape,
        "drawn by default": lambda: nd.random.uniform().shape, "drawn of 0": lambda: nd.random.normal(shape=0).shape,
        "integers drawn": lambda: nd.random.randint(0, 3, shape=(2, 0)).shape,
        "text": lambda: repr(nd.ones(())), "text of none": lambda: repr(nd.zeros((0, 2))),
    })  # fmt: skip


@ask
def operators_on_no_elements(mx, folder):
    """Answers of operators."""
    nd = mx.nd
    none, one = lambda *s: nd.zeros(s or (0, 3)), lambda: nd.ones(())
    return answered(mx, {
        "sum": lambda: nd.sum(nd.ones((2, 3))), "sum of columns": lambda: nd.sum(none(), axis=0),
        "sum of none": lambda: nd.sum(none()),
        "dot": lambda: nd.dot(nd.ones((3,)), nd.ones((3,))), "concat": lambda: nd.concat(none(0, 2), nd.ones((1, 2)), dim=0),
        "add": lambda: none() + 1, "broadcast": lambda: nd.broadcast_add(none(0, 2), nd.ones((1, 2))),
        "relu": lambda: nd.relu(none()),
        "number": lambda: nd.square(one()), "numbers": lambda: one() + one(),
        "number and more": lambda: nd.broadcast_add(one(), nd.ones((2,))),
        "take": lambda: nd.take(nd.ones((2, 3)), none(0,)),
        "no row": lambda: nd.contrib.boolean_mask(nd.ones((2, 3)), nd.array([0, 0])),
        "expand": lambda: nd.expand_dims(one(), axis=0), "squeeze": lambda: nd.squeeze(nd.ones((1, 1))),
        "squeeze all": lambda: nd.ones((1,)).squeeze(), "transpose": lambda: nd.transpose(one()),
        "stack": lambda: nd.stack(one(), one()), "split": lambda: nd.split(none(0, 4), num_outputs=2, axis=1),
        "where": lambda: nd.where(one(), one(), nd.zeros(())), "spread": lambda: nd.broadcast_to(one(), shape=(2, 3)),
        "one hot": lambda: nd.one_hot(none(0,), 3), "softmax": lambda: nd.softmax(none()),
        "embedding": lambda: nd.Embedding(none(0,), nd.ones((2, 3)), input_dim=2, output_dim=3),
        "reshape": lambda: nd.ones((1,)).reshape(()), "flat": lambda: one().reshape((-1,)),
        "kept": lambda: nd.ones((2, 3)).reshape((0, -1)),
        "element": lambda: nd.arange(4)[2], "element of two": lambda: nd.array([[1, 2], [3, 4]])[1, 0],
        "elements": lambda: nd.array([[1, 2], [3, 4]])[[1, 0], [0, 0]], "row": lambda: nd.array([[1, 2], [3, 4]])[1],
    })  # fmt: skip


@ask
def numbers_that_are_set_and_kept(mx, folder):
    """Answers of assignments, gradients, files and stores."""
    nd = mx.nd

    def put(key):
        array = nd.ones(())
        array[key] = 5
        return array

    def gradient(function, x):
        x.attach_grad()
        with mx.autograd.record():
            y = function(x)
        y.backward()
        return [y.shape, x.grad]

    def saved(value):
        nd.save(str(folder / "a"), value)
        return [(folder / "a").stat().st_size, nd.load(str(folder / "a"))]

    def stored():
        store, out = mx.kv.create("local"), nd.zeros(())
        store.init("a", nd.ones(()))
        store.pull("a", out=out)
        return out

    return answered(mx, {
        "all": lambda: put(slice(None)), "the number": lambda: put(()), "gradient": lambda: gradient(lambda x: x * 2, nd.ones(())),
        "gradient of an element": lambda: gradient(lambda x: x[1] * 3, nd.array([1, 2])),
        "gradient of none": lambda: gradient(lambda x: x * 2, nd.ones((0, 2))),
        "saved": lambda: saved([nd.ones(())]), "saved of none": lambda: saved({"a": nd.zeros((0, 2))}),
        "saved as ever": lambda: saved([nd.ones((2,))]), "stored": stored,
    })  # fmt: skip


@ask
def shapes_that_are_inferred(mx, folder):
    """Answers of symbols, with the mode on and off."""
    sym = mx.sym
    sine = lambda **shape: sym.sin(sym.var("d", **shape))
    dense = sym.FullyConnected(sym.var("d"), num_hidden=3, name="f")
    calls = {}
    for shape in ((0, 2, 3), (-1, 2, 3), ()):
        calls[f"declared {shape}"] = lambda shape=shape: sine(shape=shape).infer_shape_partial()
        calls[f"declared {shape}, whole"] = lambda shape=shape: sine(shape=shape).infer_shape()
        calls[f"given {shape}"] = lambda shape=shape: sine().infer_shape_partial(d=shape)
        calls[f"given {shape}, whole"] = lambda shape=shape: sine().infer_shape(d=shape)
    for shape in ((0, 4), (-1, 4)):
        calls[f"dense {shape}"] = lambda shape=shape: dense.infer_shape_partial(d=shape)
        calls[f"dense {shape}, whole"] = lambda shape=shape: dense.infer_shape(d=shape)
    calls["nothing"] = lambda: sine().infer_shape_partial()
    calls["zeros"] = lambda: sym.zeros((0, 2)).infer_shape()
    calls["ones"] = lambda: sym.ones((2, 2)).infer_shape()
    calls["attribute"] = lambda: sine(shape=(0, 2)).list_attr()
    return answered(mx, calls, again=True)


@ask
def symbols_that_run(mx, folder):
    """Answers of bound symbols, and of symbols in files, which know in which mode they were made."""
    sym = mx.sym
    bound = lambda **shape: sym.square(sym.var("d")).simple_bind(mx.cpu(), **shape).forward()[0]
    found = answered(mx, {
        "zeros": lambda: sym.zeros((0, 2)).eval()[0], "none": lambda: bound(d=(0, 2)),
        "a number": lambda: sym.square(sym.var("d")).bind(mx.cpu(), {"d": mx.nd.ones(())}).forward()[0],
    })  # fmt: skip
    with mx.util.np_shape(True):
        text = (sym.zeros((0, 2)) + sym.var("a")).tojson()
    found["attribute"] = '"is_np_shape": ["int", 1]' in text
    found["attribute when off"] = "is_np_shape" in (sym.zeros((0, 2)) + sym.var("a")).tojson()
    return found


@ask
def parameters_and_layers(mx, folder):
    """Answers of Gluon, with the mode on and off."""
    gluon, nd = mx.gluon, mx.nd

    def parameter(shape, later=None):
        made = gluon.Parameter("p", shape=shape, allow_deferred_init=True)
        made.initialize()
        before = made.shape
        if later is not None:
            made.shape = later
            made._finish_deferred_init()
        return [before, made.data().shape]

    def layer(rows, hybrid):
        net = gluon.nn.Dense(2)
        net.initialize(mx.init.One())
        if hybrid:
            net.hybridize()
        return [net.weight.shape, net(nd.ones((rows, 3))), net.weight.shape]

    calls = {f"parameter {s} {t}": lambda s=s, t=t: parameter(s, t) for s, t in (
        ((0, 2), None), ((0, 2), (3, 2)), ((-1, 2), (3, 2)), ((3, 2), None)
    )}  # fmt: skip
    for hybrid in (False, True):
        calls[f"layer {hybrid}"] = lambda hybrid=hybrid: layer(2, hybrid)
    on = {"a number": lambda: parameter(())}
    known = gluon.utils.shape_is_known
    calls["known"] = lambda: [known(s) for s in (None, (2, 3), (1, 2))]
    on["known with np_shape"] = lambda: [known(s) for s in ((), (0, 2), (-1, 2))]
    found = answered(mx, calls)
    found["off"] = {n: attempt(c) for n, c in calls.items() if "(-1, 2)" not in n}
    return [found, answered(mx, on)]


@ask
def scopes_and_decorators(mx, folder):
    """Answers of what switches the mode."""
    util = mx.util
    state = lambda: util.is_np_shape()

    @util.use_np_shape
    class Counter:
        """Methods of each kind."""

        made = []

        def __init__(self):
            self.made.append(state())

        def method(self):
            return state()

        @staticmethod
        def free():
            return state()

        @property
        def value(self):
            return state()

    @util.use_np_shape
    def function(x, y=1):
        """Words."""
        return [x, y, state()]

    counter = Counter()
    found = {
        "class": [counter.made, counter.method(), Counter.free(), counter.value, state()],
        "function": [function(1, y=2), function.__name__, function.__doc__, state()],
        "set": [
            util.set_np_shape(True),
            state(),
            util.set_np_shape(True),
            util.set_np_shape(False),
            util.set_np_shape(False),
        ],
    }
    with util.np_shape():
        within = [state()]
        with util.np_shape(False):
            within.append(state())
        within.append(state())
    found["scopes"] = [*within, state()]

    def fails():
        with util.np_shape():
            raise KeyError(state())

    found["raised"] = [attempt(fails), state()]
    found["others"] = [attempt(lambda: util.use_np_shape(3)), attempt(lambda: util.set_np(False, True))]
    util.set_np(True, False)
    found["np without arrays"] = [state(), util.is_np_array()]
    util.reset_np()
    found["reset"] = state()
    return found
