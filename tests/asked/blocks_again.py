"""Seldom uses of blocks: parameters chosen by a pattern, hooks that come and go, inputs that are None, files of other dtypes."""

# ruff: noqa: N803  F is MXNet's name
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
    """Which containers of blocks that nobody registered are warned of."""
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
