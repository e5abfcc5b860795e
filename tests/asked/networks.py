"""Parameters and dicts of them, blocks as graphs, their files, symbols as blocks, operators of a program itself."""

# ruff: noqa: N803, N806  calls are made at once; F and classes are called as in every MXNet program
from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np

from .blocks import fill
from .questions import ask, attempt, numbers, plain


@ask
def parameters(mx, folder):
    """One parameter: which initializer counts, copies on devices, requests, casts, moves, constants, sparse ones."""
    found, P, init = {}, mx.gluon.Parameter, mx.init

    def made(**given):
        return P("p_weight", **{"shape": (2, 3), **given})

    for key, own, first, default in (
        ("own", init.Constant(2), None, init.Constant(5)),
        ("given", init.Constant(2), init.Constant(3), init.Constant(5)),
        ("default", None, None, init.Constant(5)),
        ("text", "ones", None, init.Constant(5)),
    ):
        p = made(init=own)
        p.initialize(first, default_init=default)
        found[f"initialized {key}"] = p.data()
    bias = P("p_bias", shape=(3,))
    bias.initialize(init.Constant(4))
    found["bias"] = bias.data()
    p = made(init=init.Constant(1))
    p.initialize(ctx=[mx.cpu(0), mx.cpu(2)])
    p.data(mx.cpu(2))[:] = mx.nd.array(numbers(2, 3), mx.cpu(2))
    found["copies"] = [p.list_data(), [str(c) for c in p.list_ctx()], attempt(lambda: p.data(mx.cpu(1)))]
    p.reset_ctx(mx.cpu(1))
    found["moved"] = [p.data(), [str(c) for c in p.list_ctx()], str(p.grad().context)]
    p.set_data(mx.nd.array(numbers(2, 3, seed=4)))
    found["set"] = [p.data(), str(p.data().context)]
    p.cast("float16")
    found["cast"] = [p.data(), p.grad().dtype.__name__, np.dtype(p.dtype).name]
    q = made(grad_req="add", init="ones")
    q.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    for turn in range(3):
        for ctx in q.list_ctx():
            with mx.autograd.record():
                y = (q.data(ctx) * mx.nd.array(numbers(2, 3, seed=turn), ctx)).sum()
            y.backward()
        if turn == 1:
            found["added"] = [g.copy() for g in q.list_grad()]
            q.zero_grad()
    found["added anew"] = q.list_grad()
    q.grad_req = "write"
    found["written"] = [q.grad_req, q.grad(mx.cpu(1))]
    waiting = P("w", shape=(0, 3), allow_deferred_init=True, init=init.Constant(6))
    waiting.initialize(ctx=mx.cpu(1))
    waiting.shape = (2, 3)
    waiting._finish_deferred_init()
    found["deferred"] = [waiting.data(), waiting.shape]
    late = P("w", shape=(0, 3), allow_deferred_init=True)
    late.initialize(ctx=mx.cpu(1))
    late.set_data(mx.nd.array(numbers(4, 3)))
    late._finish_deferred_init()
    found["set before"] = [late.data(), str(late.data().context)]
    constant = mx.gluon.Constant("c", [[1, 2], [3, 4.5]])
    constant.initialize()
    found["constant"] = [constant.data(), constant.grad_req, repr(constant), attempt(lambda: constant.grad())]
    variable = made(lr_mult=0.5, wd_mult=2.0, dtype="float64").var()
    found["variable"] = [variable.name, dict(sorted(variable.attr_dict()["p_weight"].items()))]
    sparse = P("s", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse", init=init.One())
    found["sparse"] = [attempt(lambda: P("s", shape=(1,), stype="x")), attempt(lambda: P("s", grad_stype="x"))]
    sparse.initialize()
    mx.gluon.Trainer([sparse], "sgd")
    found["rows"] = [sparse.row_sparse_data(mx.nd.array([1, 3])), attempt(sparse.data)]
    return found


@ask
def dicts(mx, folder):
    """ParameterDicts: names, sharing, what does not agree, all at once, files in every way of reading."""
    D, found = mx.gluon.ParameterDict, {}
    d = D("net_")
    w = d.get("weight", shape=(2, 0), init="zeros", dtype="float32")
    found["got"] = [d.get("weight") is w, d.get("weight", shape=(0, 3)) is w, w.shape, d.prefix, list(d.keys())]
    found["conflicts"] = [
        attempt(lambda: d.get("weight", shape=(5, 3)) and 0),
        attempt(lambda: d.get("weight", shape=(2, 3, 1)) and 0),
        attempt(lambda: d.get("weight", dtype="float16") and 0),
        attempt(lambda: d.get("weight", lr_mult=3.0) and 0),
        attempt(lambda: d.get_constant("weight", np.zeros((2, 3))) and 0),
        attempt(lambda: d.get_constant("none") and 0),
    ]
    c = d.get_constant("c", np.float32([1, 2]))
    found["constants"] = [
        d.get_constant("c", np.float32([1, 2])) is c,
        attempt(lambda: d.get_constant("c", np.float32([1, 3])) and 0),
    ]
    shared = D("other_", shared=d)
    found["shared"] = [shared.get("weight").name, D("net_", shared=d).get("weight") is w, repr(d)]
    e = D("net_")
    e.get("bias", shape=(2,), init="ones")
    d.update(e)
    clash = D("net_")
    clash.get("weight", shape=(2, 3))
    found["updated"] = [list(d.keys()), attempt(lambda: d.update(clash))]
    d.initialize(mx.init.Constant(3), ctx=[mx.cpu(0), mx.cpu(1)])
    found["initialized"] = [[n, p.data(mx.cpu(1))] for n, p in d.items()]
    d.setattr("grad_req", "null")
    d.setattr("lr_mult", 0.25)
    found["all"] = [[p.grad_req, p.lr_mult] for p in d.values()]
    d.reset_ctx(mx.cpu(1))
    found["moved"] = [str(x) for x in d.list_ctx()]

    def fresh(prefix="net_", dtype="float32", extra=True):
        own = D(prefix)
        own.get("weight", shape=(2, 3), dtype=dtype)
        if extra:
            own.get("bias", shape=(2,), dtype=dtype)
        return own

    full = fresh()
    full.initialize()
    for i, p in enumerate(full.values()):
        p.set_data(mx.nd.array(numbers(*p.shape, seed=i)))
    full.save(str(folder / "full"))
    full.save(str(folder / "short"), strip_prefix="net_")
    mx.nd.save(str(folder / "one"), {"net_weight": full["net_weight"].data()})
    mx.nd.save(
        str(folder / "kinds"), {"arg:net_weight": full["net_weight"].data(), "aux:net_bias": full["net_bias"].data()}
    )
    mx.nd.save(str(folder / "half"), {n: p.data().astype("float16") for n, p in full.items()})
    found["saved"] = [sorted(mx.nd.load(str(folder / n))) for n in ("full", "short")]
    found["not stripped"] = attempt(lambda: full.save(str(folder / "x"), strip_prefix="xyz_"))

    def loaded(name, own=None, **given):
        own = fresh() if own is None else own
        own.load(str(folder / name), **given)
        return [
            [n, p.data(), np.dtype(p.dtype).name, str(p.list_ctx())] if p._data is not None else [n, "waits"]
            for n, p in own.items()
        ]

    found["loaded"] = {
        "full": attempt(lambda: loaded("full")),
        "elsewhere": attempt(lambda: loaded("full", ctx=[mx.cpu(1), mx.cpu(2)])),
        "short": attempt(lambda: loaded("short", restore_prefix="net_")),
        "short without prefix": attempt(lambda: loaded("short")),
        "kinds": attempt(lambda: loaded("kinds")),
        "one": attempt(lambda: loaded("one")),
        "one allowed": attempt(lambda: loaded("one", allow_missing=True)),
        "more": attempt(lambda: loaded("full", fresh(extra=False))),
        "more ignored": attempt(lambda: loaded("full", fresh(extra=False), ignore_extra=True)),
        "half": attempt(lambda: loaded("half")),
        "half cast": attempt(lambda: loaded("half", cast_dtype=True)),
        "half kept": attempt(lambda: loaded("half", cast_dtype=True, dtype_source="saved")),
        "double": attempt(lambda: loaded("full", fresh(dtype="float64"), cast_dtype=True)),
        "wrong source": attempt(lambda: loaded("half", cast_dtype=True, dtype_source="x")),
    }
    return found


@ask
def blocks_as_graphs(mx, folder):
    """Nested inputs and outputs, optional ones, shapes that change, children that change, hooks, casts, summaries, apply."""
    gluon, nn, found = mx.gluon, mx.gluon.nn, {}

    class Net(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.first = nn.Dense(3, activation="tanh")
                self.second = nn.Dense(2, use_bias=False)
                self.scale = self.params.get("scale", shape=(1,), init=mx.init.Constant(0.5))

        def hybrid_forward(self, F, x, pair, flag=None, scale=None):
            a, b = pair
            y = self.first(x) * 2
            z = self.second(F.broadcast_mul(y, scale)) + a
            return [z, [b - a, y]] if flag is None else [z * flag, [b + a, y]]

    x, a, b = (mx.nd.array(v) for v in (numbers(4, 5), numbers(4, 2, seed=1), numbers(4, 2, seed=2)))
    net = Net(prefix="net_")
    net.initialize()
    net(x, [a, b])
    fill(mx, net)
    for key, given in {
        "eager": None,
        "hybrid": {},
        "static": {"static_alloc": True, "static_shape": True},
        "options": {"inline_limit": 1, "forward_bulk_size": 3, "backward_bulk_size": 4},
        "off": {"active": False},
    }.items():
        if given is not None:
            net.hybridize(**given)
        out = net(x, [a, b])
        with mx.autograd.record():
            two = net(x * 2, [b, a])
            loss = (two[0] * two[0]).sum() + two[1][1].sum()
        loss.backward()
        found[key] = plain([out, two, [p.grad() for p in net.collect_params().values()], net(x[:2], [a[:2], b[:2]])])
    net.hybridize(False)
    found["flagged"] = plain(net(x, [a, b], mx.nd.array([3.0])))
    net.hybridize()
    net(x, [a, b])
    found["structure"] = [attempt(lambda: net(x, a)), attempt(lambda: net(x, [a, [b]]))]
    net.export(str(folder / "net"), epoch=7)
    symbol = mx.sym.load(str(folder / "net-symbol.json"))
    found["exported"] = [
        sorted(p.name for p in folder.iterdir()),
        symbol.list_arguments(),
        symbol.list_outputs(),
        sorted(mx.nd.load(str(folder / "net-0007.params"))),
    ]
    again = gluon.SymbolBlock.imports(
        str(folder / "net-symbol.json"), ["data0", "data1", "data2"], str(folder / "net-0007.params")
    )
    found["imported"] = plain([again(x, a, b), sorted(again.collect_params().keys())])
    moved = gluon.SymbolBlock.imports(
        str(folder / "net-symbol.json"), ["data0", "data1", "data2"], str(folder / "net-0007.params"), ctx=mx.cpu(1)
    )
    found["imported elsewhere"] = [str(o.context) for o in moved(*[v.as_in_context(mx.cpu(1)) for v in (x, a, b)])]

    small = nn.HybridSequential(prefix="s_")
    with small.name_scope():
        small.add(nn.Dense(4, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    small.initialize()
    small(x)
    fill(mx, small)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        small.summary(x)
    found["summary"] = printed.getvalue().splitlines()
    small.hybridize()
    before = small(x)
    small.add(nn.Dense(3, in_units=2, prefix="late_"))
    small[3].initialize(mx.init.Constant(0.25))
    found["grown"] = plain([before, small(x), list(small.collect_params(".*weight").keys())])
    found["chosen"] = [list(small.collect_params(p).keys()) for p in ("s_.*bias", ".*running_.*", "late_", "nothing")]
    names = []
    small.apply(lambda block: names.append(block.name))
    found["applied"] = names
    events = []
    handle = small[0].register_forward_hook(lambda blk, given, out: events.append(["after", given[0].shape, out.shape]))
    pre = small[0].register_forward_pre_hook(lambda blk, given: events.append(["before", given[0].shape]))
    small.hybridize(False)
    small(x)
    handle.detach()
    small(x)
    pre.detach()
    small(x)
    found["hooked"] = events
    small.cast("float16")
    found["half"] = [[n, np.dtype(p.dtype).name] for n, p in small.collect_params().items()]
    small.cast("float64")
    found["double"] = plain(small(x.astype("float64")))
    shapes = nn.Dense(3, prefix="d_")
    shapes.infer_shape(x)
    found["inferred"] = [shapes.weight.shape, np.dtype(shapes.weight.dtype).name]
    found["refused"] = [
        attempt(lambda: net(3)),
        attempt(lambda: net.export(str(folder / "q")) if net.hybridize() is None else 0),
        attempt(lambda: setattr(net, "first", 3)),
        attempt(lambda: nn.Dense(2)(x)),
        attempt(lambda: gluon.Block()(x)),
        attempt(lambda: gluon.HybridBlock().register_child(nn.Sequential())),
    ]
    return found


@ask
def files_of_blocks(mx, folder):
    """save_parameters and load_parameters in every way; symbols as blocks with their own inputs, outputs and parameters."""
    gluon, nn, found = mx.gluon, mx.gluon.nn, {}

    def made(prefix="n_", more=False, dtype="float32"):
        block = nn.HybridSequential(prefix=prefix)
        with block.name_scope():
            block.add(nn.Dense(3, in_units=4, dtype=dtype), nn.Dense(2, in_units=3, dtype=dtype))
            if more:
                block.add(nn.Dense(1, in_units=2))
        return block

    one = made()
    one.initialize()
    fill(mx, one)
    one.save_parameters(str(folder / "one"))
    tied = nn.HybridSequential(prefix="t_")
    with tied.name_scope():
        tied.add(nn.Dense(4, in_units=4, prefix="a_"))
        tied.add(nn.Dense(4, in_units=4, prefix="b_", params=tied[0].params))
    tied.initialize()
    fill(mx, tied)
    tied.save_parameters(str(folder / "tied"))
    tied.save_parameters(str(folder / "tied once"), deduplicate=True)
    found["names"] = [sorted(mx.nd.load(str(folder / n))) for n in ("one", "tied", "tied once")]
    one.collect_params().save(str(folder / "old"), strip_prefix="n_")
    mx.nd.save(str(folder / "half"), {n: v.astype("float16") for n, v in mx.nd.load(str(folder / "one")).items()})

    def loaded(block, name, **given):
        block.load_parameters(str(folder / name), **given)
        return [
            [n, p.data(p.list_ctx()[-1]), len(p.list_ctx())]
            for n, p in block.collect_params().items()
            if p._data is not None
        ]

    found["loaded"] = {
        "again": attempt(lambda: loaded(made("m_"), "one")),
        "devices": attempt(lambda: loaded(made(), "one", ctx=[mx.cpu(1), mx.cpu(2)])),
        "old": attempt(lambda: loaded(made("m_"), "old")),
        "missing": attempt(lambda: loaded(made(more=True), "one")),
        "missing allowed": attempt(lambda: loaded(made(more=True), "one", allow_missing=True)),
        "extra": attempt(lambda: loaded(made()[:1], "one")),
        "extra ignored": attempt(lambda: loaded(made()[:1], "one", ignore_extra=True)),
        "half": attempt(lambda: loaded(made(), "half")),
        "half cast": attempt(lambda: loaded(made(), "half", cast_dtype=True)),
        "half kept": attempt(lambda: loaded(made(), "half", cast_dtype=True, dtype_source="saved")),
        "tied": attempt(lambda: loaded(tied, "tied")),
        "tied once": attempt(lambda: loaded(tied, "tied once")),
    }
    data, other = mx.sym.var("data"), mx.sym.var("other")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), act_type="tanh", name="act")
    normed = mx.sym.BatchNorm(hidden, fix_gamma=False, name="bn")
    group = mx.sym.Group([normed, mx.sym.dot(hidden, other, name="dot")])
    block = gluon.SymbolBlock(group, [data, other])
    block.initialize()
    x, w = mx.nd.array(numbers(4, 5)), mx.nd.array(numbers(3, 2))
    block(x, w)
    fill(mx, block)
    for hybrid in (False, True):
        block.hybridize(hybrid)
        with mx.autograd.record():
            outs = block(x, w)
            loss = (outs[0] * outs[0]).sum() + outs[1].sum()
        loss.backward()
        grads = {n: p.grad() for n, p in block.collect_params().items() if p.grad_req != "null"}
        found[f"symbol {hybrid}"] = plain(
            [
                outs,
                grads,
                block(x, w),
                {n: p.data() for n, p in block.collect_params().items() if "running" in n or "moving" in n},
            ]
        )
    internal = gluon.SymbolBlock(group.get_internals()["act_output"], data, params=block.collect_params())
    found["inner"] = plain([internal(x), list(internal.collect_params().keys())])
    found["requests"] = [[n, p.grad_req, p.shape] for n, p in block.collect_params().items()]
    found["refused"] = [
        attempt(lambda: gluon.SymbolBlock(group, [data, hidden])),
        attempt(lambda: gluon.SymbolBlock.imports("nowhere", "data")),
    ]
    return found


@ask
def own_operators(mx, folder):
    """CustomOps of several inputs and outputs, with states, attributes and requests, as losses; the older kinds."""
    found = {}

    class Mixed(mx.operator.CustomOp):
        def __init__(self, power):
            self.power = power

        def forward(self, is_train, req, in_data, out_data, aux):
            a, b = in_data
            self.assign(out_data[0], req[0], a**self.power + b)
            self.assign(out_data[1], req[1], (a - b).sum(axis=1))
            if is_train:
                aux[0][:] = aux[0] * 0.5 + a.mean()

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            a = in_data[0]
            second = out_grad[1].expand_dims(1)
            self.assign(
                in_grad[0], req[0], out_grad[0] * self.power * a ** (self.power - 1) + mx.nd.broadcast_like(second, a)
            )
            self.assign(in_grad[1], req[1], out_grad[0] - mx.nd.broadcast_like(second, a))

    @mx.operator.register("asked_mixed")
    class MixedProp(mx.operator.CustomOpProp):
        def __init__(self, power="2"):
            super().__init__(need_top_grad=True)
            self.power = int(power)

        def list_arguments(self):
            return ["left", "right"]

        def list_outputs(self):
            return ["mixed", "summed"]

        def list_auxiliary_states(self):
            return ["seen"]

        def infer_shape(self, in_shape):
            return [in_shape[0], in_shape[0]], [in_shape[0], in_shape[0][:1]], [[1]]

        def create_operator(self, ctx, shapes, dtypes):
            return Mixed(self.power)

    x, y = mx.nd.array(numbers(3, 2)), mx.nd.array(numbers(3, 2, seed=1))
    for power in (2, 3):
        seen = mx.nd.array([4.0])
        for v in (x, y):
            v.attach_grad()
        with mx.autograd.record():
            outs = mx.nd.Custom(x, y, seen, op_type="asked_mixed", power=power)
            loss = (outs[0] * 2).sum() + (outs[1] * outs[1]).sum()
        loss.backward()
        found[f"eager {power}"] = plain([outs, x.grad, y.grad])
    left = mx.sym.var("left")
    symbol = mx.sym.Custom(left, op_type="asked_mixed", name="own", power=3)
    found["symbol"] = [
        symbol.list_arguments(),
        symbol.list_outputs(),
        symbol.list_auxiliary_states(),
        symbol.infer_shape(left=(3, 2)),
    ]
    for request in ("write", "add", "null"):
        names = symbol.list_arguments()
        grads = {n: mx.nd.array(numbers(3, 2, seed=8)) for n in names}
        executor = symbol.bind(
            mx.cpu(), dict(zip(names, (x, y))), grads, request, {symbol.list_auxiliary_states()[0]: mx.nd.array([4.0])}
        )
        first = plain(executor.forward(is_train=True))
        executor.backward([mx.nd.array(numbers(3, 2, seed=2)), mx.nd.array(numbers(3, seed=3))])
        found[f"bound {request}"] = plain([first, grads, executor.aux_arrays])

    class Slope(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], mx.nd.softmax(in_data[0]))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_data[0] - mx.nd.one_hot(in_data[1], 3))

    @mx.operator.register("asked_slope")
    class SlopeProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], in_shape[0][:1]], [in_shape[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            return Slope()

    scores = mx.nd.array(numbers(4, 3))
    scores.attach_grad()
    with mx.autograd.record():
        out = mx.nd.Custom(scores, mx.nd.array([0, 2, 1, 1]), op_type="asked_slope")
    out.backward()
    found["loss"] = [out, scores.grad]

    class Old(mx.operator.NumpyOp):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * in_data[1]

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = out_grad[0] * in_data[1]
            in_grad[1][:] = out_grad[0] * in_data[0]

        def list_arguments(self):
            return ["a", "b"]

        def infer_shape(self, in_shape):
            return [in_shape[0], in_shape[0]], [in_shape[0]]

    class OldArrays(mx.operator.NDArrayOp):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * 3

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = out_grad[0] * 3

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, symbol, given in (
            ("numpy", Old()(mx.sym.var("a"), mx.sym.var("b"), name="old"), [x, y]),
            ("arrays", OldArrays()(data=mx.sym.var("a"), name="old"), [x]),
        ):
            grads = [mx.nd.zeros(v.shape) for v in given]
            executor = symbol.bind(mx.cpu(), given, grads)
            outs = plain(executor.forward(is_train=True))
            executor.backward([mx.nd.array(numbers(3, 2, seed=6))])
            found[key] = plain([outs, grads, symbol.list_arguments()])
    return found
