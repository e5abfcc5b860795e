"""Seldom uses of blocks: parameters chosen by a pattern, hooks that come and go, inputs that are None, files of other dtypes."""

# ruff: noqa: N803, N806  F is MXNet's name, P and D are classes
from __future__ import annotations

import json
import warnings

import numpy as np

from .questions import ask, attempt, numbers, plain


def _net(mx, prefix="n_", **more):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        inner = nn.HybridSequential(prefix="in_")
        with inner.name_scope():
            inner.add(nn.Dense(4, in_units=3), nn.BatchNorm(in_channels=4))
        net.add(nn.Dense(3, in_units=5, activation="relu"), inner, nn.Dense(2, in_units=4, use_bias=False))
    net.initialize(mx.init.Xavier())
    for i, parameter in enumerate(net.collect_params().values()):
        low = 0.2 if parameter.name.endswith(("var", "gamma")) else -1.0
        parameter.set_data(mx.nd.array(numbers(*parameter.shape, seed=i, low=low)))
    return net


@ask
def chosen_parameters(mx, folder):
    """collect_params by patterns, which count from the start of the full name."""
    net = _net(mx)
    patterns = (
        "dense",
        "n_",
        ".*weight",
        "n_in_dense0_weight|n_dense1_bias",
        "weight",
        ".*(mean|var)$",
        "n_in_.*",
        "x",
        "",
    )
    found = {p: list(net.collect_params(p)) for p in patterns}
    found["none"] = list(net.collect_params())
    found["of a part"] = [list(net[1].collect_params(p)) for p in (".*gamma", "in_", "n_in_batchnorm0_beta")]
    return found


@ask
def hooks_that_come_and_go(mx, folder):
    """Hooks before and after, of hybridized blocks that have run before they came and run after they went."""
    found = {}
    for hybrid in (False, True):
        told = []
        net = _net(mx)
        x = mx.nd.array(numbers(2, 5))
        if hybrid:
            net.hybridize()
        for _ in range(3):
            net(x)
        handles = {}

        def hook(name, told=told):
            def called(block, inputs, *out):
                told.append([name, block.name, [list(i.shape) for i in inputs], [list(o.shape) for o in out]])

            return called

        for name in ("first", "second", "last"):
            handles[name] = net.register_forward_hook(hook(name))
        for name in ("before", "late before"):
            handles[name] = net.register_forward_pre_hook(hook(name))
        handles["inner"] = net[0].register_forward_hook(hook("inner"))
        for _ in range(2):
            net(x)
            told.append("called")
        for name in ("first", "before", "late before"):
            handles[name].detach()
        net(x)
        told.append("called without")
        with net.register_forward_hook(hook("inside")):
            net(x)
        net(x)
        for name in ("second", "last", "inner"):
            handles[name].detach()
        for _ in range(3):
            net(x)
        told.append("none left")
        alone = net.register_forward_pre_hook(hook("alone before"))
        net(x)
        alone.detach()
        alone = net.register_forward_hook(hook("alone after"))
        net(x)
        alone.detach()
        net(x)
        found[f"hybrid {hybrid}"] = told
    return found


@ask
def inputs_that_are_none(mx, folder):
    """None among the inputs of hybridized blocks: results, what the variables are called, and other Nones afterwards."""

    class Some(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, a, b=None, c=None):
            out = a * 2
            if b is not None:
                out = out + (b[0] - b[1] if isinstance(b, (list, tuple)) else b)
            return out if c is None else F.concat(out, c, dim=1)

    a, b, c = (mx.nd.array(numbers(2, 3, seed=i)) for i in range(3))
    found = {}
    for name, args in {
        "one": (a,), "one and none": (a, None), "none between": (a, None, c), "none after": (a, b, None), "all": (a, b, c),
        "list": (a, [b, c]), "list and none": (a, [b, c], None), "list and more": (a, [b, c], a), "nothing": (None, None),
    }.items():  # fmt: skip
        net = Some()
        net.hybridize()

        def run(net=net, args=args, name=name):
            out = net(*args)
            net.export(str(folder / name.replace(" ", "_")), epoch=3)
            symbol = mx.sym.load(str(folder / f"{name.replace(' ', '_')}-symbol.json"))
            return [out, symbol.list_inputs()]

        found[name] = attempt(run)
        found[f"{name}, then one"] = attempt(lambda net=net: net(a))
        found[f"{name}, then more"] = attempt(lambda net=net: net(a, b, c))
    return found


@ask
def containers_of_blocks(mx, folder):
    """Warnings about containers of blocks that nobody registered."""
    nn = mx.gluon.nn

    class Holder(mx.gluon.Block):
        def __init__(self, **held):
            super().__init__()
            self.own = nn.Dense(2, in_units=3, prefix="own_")
            for key, value in held.items():
                setattr(self, key, value)

    def other():
        return nn.Dense(2, in_units=3, prefix="other_")

    found = {}
    for name, held in {
        "list": {"x": [other()]}, "private": {"_x": [other()]}, "dict": {"x": {"a": 3, "b": other()}}, "tuple": {"x": (3, other())},
        "nested": {"x": [3, {"a": [other()]}]}, "none of them": {"x": [3, {"a": ["b"]}]}, "keys": {"x": {"a": 1}},
        "alone": {"x": other()},
    }.items():  # fmt: skip
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            parameters = list(Holder(**held).collect_params())
        told = [str(w.message) for w in caught]
        found[name] = [parameters, [t.partition('"')[2].partition('"')[0] for t in told if "container" in t]]
    holder = Holder()
    holder.x = [holder.own]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        holder.collect_params()
    found["of a child"] = len([w for w in caught if "container" in str(w.message)])
    return found


@ask
def files_of_other_dtypes(mx, folder):
    """Parameters that are loaded from files of another dtype, by place and by old names, in every way to ask for it."""
    found = {}
    source = _net(mx)
    kinds = ("float16", "float32", "float64")
    for kind in kinds:
        made = {n: p.data().astype(kind) for n, p in source._collect_params_with_prefix().items()}
        mx.nd.save(str(folder / f"place-{kind}"), made)
        mx.nd.save(
            str(folder / f"name-{kind}"), {n[2:]: p.data().astype(kind) for n, p in source.collect_params().items()}
        )
        mx.nd.save(str(folder / f"full-{kind}"), {n: p.data().astype(kind) for n, p in source.collect_params().items()})
    for kind in kinds:
        for way in ("place", "name", "full"):
            for asked in (
                {},
                {"cast_dtype": True},
                {"cast_dtype": True, "dtype_source": "saved"},
                {"cast_dtype": True, "dtype_source": "other"},
            ):
                for filled in (True, False):

                    def load(kind=kind, way=way, asked=asked, filled=filled):
                        net = _net(mx)
                        if not filled:
                            net = mx.gluon.nn.HybridSequential(prefix="n_")
                            with net.name_scope():
                                net.add(mx.gluon.nn.Dense(3, in_units=5))
                            more = {"ignore_extra": True}
                        else:
                            more = {}
                        path = str(folder / f"{way}-{kind}")
                        if way == "full":
                            net.collect_params().load(path, mx.cpu(), **asked, **more)
                        else:
                            net.load_parameters(path, **asked, **more)
                        held = net.collect_params()
                        first = held[next(iter(held))].data()
                        return [
                            sorted({np.dtype(p.data().dtype).name for p in held.values()}),
                            sorted({np.dtype(p.dtype).name for p in held.values()}),
                            first.astype("float64"),
                        ]

                    found[f"{kind} {way} {sorted(asked.items())} {filled}"] = attempt(load)
    return found


@ask
def types_of_states(mx, folder):
    """infer_type of a network with auxiliary states, for inputs of every dtype."""
    found = {}
    for kind in ("float16", "float32", "float64"):
        net = _net(mx)
        net.hybridize()

        def run(net=net, kind=kind):
            net.infer_type(mx.nd.array(numbers(2, 5)).astype(kind))

        found[kind] = [attempt(run), {n: np.dtype(p.dtype).name for n, p in net.collect_params().items()}]
        norm = mx.gluon.nn.BatchNorm(in_channels=5, prefix="b_")
        norm.initialize()
        norm.hybridize()
        found[f"{kind} norm"] = [
            attempt(lambda norm=norm, kind=kind: norm.infer_type(mx.nd.array(numbers(2, 5)).astype(kind))),
            {n: np.dtype(p.dtype).name for n, p in norm.collect_params().items()},
        ]
    return found


@ask
def exports_with_casts(mx, folder):
    """Casts of automatic mixed precision, kept or taken out of the symbol that is written."""

    class Cast(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.amp_cast(F.exp(F.amp_cast(x, dtype="float16")), dtype="float32")

    found = {}
    net = Cast(prefix="c_")
    net.hybridize()
    net(mx.nd.array(numbers(2, 3)))
    for name, given in {"usual": {}, "kept": {"remove_amp_cast": False}, "removed": {"remove_amp_cast": True}}.items():
        net.export(str(folder / name), epoch=12, **given)
        found[name] = [n["op"] for n in json.loads((folder / f"{name}-symbol.json").read_text())["nodes"]]
    found["files"] = sorted(p.name for p in folder.iterdir())
    return plain(found)


@ask
def parameters_again(mx, folder):
    """Parameters made, shared, switched and loaded in rare ways."""
    P, D, found = mx.gluon.Parameter, mx.gluon.ParameterDict, {}
    for request in ("write", "add", "null", "else"):
        p = P("p", grad_req="null", shape=(2, 3), differentiable=False)

        def switch(p=p, request=request):
            p.grad_req = request
            p.initialize(mx.init.Constant(2))
            p.grad_req = request
            return [p.grad_req, attempt(p.grad), attempt(p.list_grad)]

        found[f"not differentiable {request}"] = attempt(switch)
        found[f"made {request}"] = attempt(
            lambda request=request: P("p", request, (2, 3), differentiable=False).grad_req
        )

        def trained(request=request):
            q = P("q", shape=(2, 3))
            q.initialize(mx.init.Constant(0.5))
            told = []
            for now in ("write", request, "write", request):
                q.grad_req = now

                def step(q=q):
                    with mx.autograd.record():
                        y = (q.data() * q.data() * 3).sum()
                    y.backward()

                told.append([attempt(step), attempt(step), attempt(q.grad), q.grad_req])
            return told

        found[f"switched {request}"] = attempt(trained)
    for known in ((0, 3), (2, 0), (-1, 3), (2, -1), (0, 0), (2, 3), None, (0,)):
        for new in ((2, 3), (0, 3), (2, 4), (2,), (5, -1)):

            def given(known=known, new=new):
                p = P("p", shape=known, allow_deferred_init=True)
                p.shape = new
                return p.shape

            found[f"shape {known} {new}"] = attempt(given)

            def got(known=known, new=new):
                d = D("d_")
                first = d.get("w", shape=known, allow_deferred_init=True)
                again = d.get("w", shape=new)
                return [first is again, again.shape]

            found[f"got {known} {new}"] = attempt(got)
    for name, init in {"none": None, "one": mx.init.One(), "text": "zeros", "constant": mx.init.Constant(7)}.items():

        def constant(init=init):
            c = mx.gluon.Constant("c", numbers(2, 2))
            c.initialize(init) if init is not None else c.initialize()
            return [c.data(), c.grad_req, attempt(c.grad)]

        found[f"constant {name}"] = attempt(constant)

        def of_dict(init=init):
            d = D("d_")
            d.get_constant("c", numbers(2, 2))
            d.get("w", shape=(2,), init="ones")
            d.initialize(init or mx.init.Constant(3), force_reinit=True)
            return {n: p.data() for n, p in d.items()}

        found[f"constants of a dict {name}"] = attempt(of_dict)
    d = D("net_")
    for i, n in enumerate(("a", "b")):
        p = d.get(n, shape=(2, 1 + i))
        p.initialize()
        p.set_data(mx.nd.array(numbers(2, 1 + i)))
    d.save(str(folder / "full"))
    d.save(str(folder / "bare"), strip_prefix="net_")
    found["stripped"] = attempt(lambda: d.save(str(folder / "no"), strip_prefix="other_"))
    for file in ("full", "bare"):
        for prefix in ("", "net_", "other_", "net_a"):
            for missing in (False, True):
                for extra in (False, True):

                    def load(file=file, prefix=prefix, missing=missing, extra=extra):
                        e = D("net_")
                        for i, n in enumerate(("a", "b")):
                            e.get(n, shape=(2, 1 + i), init="zeros")
                        e.initialize()
                        e.load(str(folder / file), mx.cpu(), missing, extra, prefix)
                        return {n: p.data() for n, p in e.items()}

                    found[f"loaded {file} {prefix} {missing} {extra}"] = attempt(load)
    return found


@ask
def stale_gradients(mx, folder):
    """Steps after which a gradient has not come, on one device and two, updated here and in the store."""
    found = {}
    for devices in (1, 2):
        for stored in (
            (None, True, False) if devices == 2 else (None, False)
        ):  # MXNet has no store for one device to hold it
            for ignore in (False, True):

                def train(devices=devices, stored=stored, ignore=ignore, late=False):
                    contexts = [mx.cpu(i) for i in range(devices)]
                    net = [mx.gluon.Parameter(n, shape=(2, 2)) for n in "ab"]
                    for i, p in enumerate(net):
                        p.initialize(mx.init.Constant(i + 1), ctx=contexts)
                    trainer = mx.gluon.Trainer(
                        net, "sgd", {"learning_rate": 0.25, "momentum": 0.5}, update_on_kvstore=stored
                    )
                    told = []
                    for used in ((0,), (0, 1), (1,)) if late else ((0, 1), (0,), (0, 1), (1,), ()):
                        with mx.autograd.record():
                            losses = [
                                sum(((net[i].data(c) * (k + 1 + i)) for i in used), mx.nd.zeros((2, 2), c)).sum()
                                for k, c in enumerate(contexts)
                            ]
                        for y in losses if used else ():
                            y.backward()
                        told.append([attempt(lambda: trainer.step(2, ignore)), [p.data(contexts[-1]) for p in net]])
                    return told

                found[f"{devices} {stored} {ignore}"] = attempt(train)
                found[f"{devices} {stored} {ignore} late"] = attempt(lambda train=train: train(late=True))
    return found
