"""Programs that use gluon, written for MXNet: fixtures/make/gluon.py runs them in MXNet 1.9.1, the tests in this engine.

Each gets the package, a function that shows something (its text is compared), one that shows which error a call raises,
one that shows the warnings of a call, and an empty folder.
"""

# ruff: noqa: N803, N806  F and classes are called as in every MXNet program
from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Program = Callable[["Stage"], None]
PROGRAMS: dict[str, Program] = {}


class Stage:
    """What a program works with, and the lines it showed: texts, and ("raises", names of the error's classes)."""

    def __init__(self, mx: Any, folder: Path):
        self.mx, self.nd, self.sym, self.gluon = mx, mx.nd, mx.sym, mx.gluon
        self.folder = folder
        self.lines: list[Any] = []

    def show(self, *values: Any) -> None:
        """Show values as print would."""
        self.lines.append(" ".join(map(str, values)))

    def raises(self, call: Callable[[], Any]) -> None:
        """Show the classes of the error that a call raises, the error's own first."""
        try:
            call()
        except Exception as error:
            self.lines.append(["raises", [c.__name__ for c in type(error).__mro__ if c is not object]])
            return
        self.lines.append("no error")

    def warned(self, call: Callable[[], Any], *words: str) -> Any:
        """Show which of the words are in the warnings of a call; gives the call's result."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
        text = "\n".join(str(w.message) for w in caught)
        self.show("warned of", [word for word in words if word in text])
        return result

    def printed(self, call: Callable[[], Any]) -> None:
        """Show what a call prints."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            call()
        self.lines.extend(out.getvalue().splitlines())

    def graph(self, prefix: str) -> None:
        """Show the symbol of an exported model node by node."""
        symbol = self.mx.sym.load(f"{prefix}-symbol.json")
        attributes = symbol.attr_dict()
        for internal in symbol.get_internals():
            # __init__ of a Constant holds an address; "x" and "__x__" are two spellings of one thing
            own = attributes.get(internal.name, {})
            known = {k: v for k, v in own.items() if not v.startswith("Constant_") and f"__{k}__" not in own}
            self.show(internal.list_outputs(), sorted(known.items()))

    def parameters(self, filename: Any) -> None:
        """Show what a parameter file holds."""
        for name, array in self.nd.load(str(filename)).items():
            self.show(name, array.shape, array.dtype.__name__)


def program(function: Program) -> Program:
    """Register a program under its name."""
    PROGRAMS[function.__name__] = function
    return function


# -- layers to play with: no more than a parameter or two each ------------------------------------------------------------


def layers(s: Stage) -> tuple[Any, Any, Any]:
    """(Dense, Norm, Sequential), as classes of the package."""

    class Dense(s.gluon.HybridBlock):
        def __init__(self, units: int, in_units: int = 0, bias: bool = True, **kwargs: Any):
            super().__init__(**kwargs)
            self._units = units
            with self.name_scope():
                self.weight = self.params.get(
                    "weight", shape=(units, in_units), init=s.mx.init.One(), allow_deferred_init=True
                )
                self.bias = (
                    self.params.get("bias", shape=(units,), init="zeros", allow_deferred_init=True) if bias else None
                )

        def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
            options = {"num_hidden": self._units, "no_bias": bias is None, "name": "fwd"}
            return (
                F.FullyConnected(x, weight, **options) if bias is None else F.FullyConnected(x, weight, bias, **options)
            )

    class Norm(s.gluon.HybridBlock):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                for name, init, request in (
                    ("gamma", "ones", "write"),
                    ("beta", "zeros", "write"),
                    ("running_mean", "zeros", "null"),
                    ("running_var", "ones", "null"),
                ):
                    parameter = self.params.get(
                        name,
                        shape=(0,),
                        init=init,
                        grad_req=request,
                        allow_deferred_init=True,
                        differentiable=request == "write",
                    )
                    setattr(self, name, parameter)

        def hybrid_forward(self, F: Any, x: Any, **parameters: Any) -> Any:
            ordered = [parameters[n] for n in ("gamma", "beta", "running_mean", "running_var")]
            return F.BatchNorm(x, *ordered, fix_gamma=False, name="fwd")

    class Sequential(s.gluon.HybridBlock):
        def add(self, *blocks: Any) -> None:
            for block in blocks:
                self.register_child(block)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            for block in self._children.values():
                x = block(x)
            return x

    return Dense, Norm, Sequential


def network(s: Stage, **kwargs: Any) -> Any:
    """Two dense layers with a norm between, as attributes."""
    Dense, Norm, _ = layers(s)

    class HybridNet(s.gluon.HybridBlock):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                self.hidden = Dense(3)
                self.norm = Norm()
                self.output = Dense(2, bias=False)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            s.show("forward", type(x).__name__, x.name if isinstance(x, s.sym.Symbol) else x.shape)
            x = F.relu(self.hidden(x))
            x = self.norm(F.relu(x) + 1)
            return self.output(x * x)

    return HybridNet(**kwargs)


def filled(s: Stage) -> Any:
    """The network with weights that a formula gives."""
    net = network(s, prefix="net_")
    net.initialize()
    net(s.nd.zeros((1, 4)))
    for number, parameter in enumerate(net.collect_params().values()):
        count = parameter.data().size
        values = [(7 * i + 3 * number) % 11 / 8 + 0.125 for i in range(count)]  # exact in float32, variances positive
        parameter.set_data(s.nd.array(values).reshape(parameter.shape))
    return net


# -- names ----------------------------------------------------------------------------------------------------------------


@program
def names(s: Stage) -> None:
    Dense, _, Sequential = layers(s)
    with s.mx.name.NameManager():
        first, second = Dense(2), Dense(2)
        s.show(first.name, first.prefix, second.prefix, first.weight.name)
        net = Sequential()
        with net.name_scope():
            net.add(Dense(1), Dense(1))
            inner = Sequential()
            with inner.name_scope():
                inner.add(Dense(4))
            net.add(inner)
        net.add(Dense(3))
        s.show(net)
        s.show(net.collect_params())
        given = Sequential(prefix="net_")
        with given.name_scope():
            given.add(Dense(1), Dense(1, prefix="own_"), Dense(1, prefix=""), Dense(1, prefix="x"))
        s.show(given.prefix, [c.name for c in given._children.values()], list(given.collect_params().keys()))
        empty = Sequential(prefix="")
        with empty.name_scope():
            empty.add(Dense(1))
        s.show(repr(empty.prefix), repr(empty.name), list(empty.collect_params().keys()))
        with s.mx.name.Prefix("pre_"):
            s.show(Dense(1).prefix)
        with given.name_scope():
            again = Dense(1)
        s.show(again.prefix, again.params.prefix)


@program
def sharing(s: Stage) -> None:
    Dense, _, Sequential = layers(s)
    first = Dense(2, 3, prefix="a_")
    second = Dense(2, 3, prefix="b_", params=first.params)
    s.show(second.prefix, second.params.prefix, second.weight is first.weight, second.collect_params())
    tower = Sequential(prefix="t_")
    with tower.name_scope():
        tower.add(Dense(2, 2), Dense(2, 2))
    twin = Sequential(prefix="u_", params=tower.collect_params())
    with twin.name_scope():
        twin.add(Dense(2, 2), Dense(2, 2))
    s.show(twin.prefix, list(twin.collect_params().keys()))
    s.show([a is b for a, b in zip(tower.collect_params().values(), twin.collect_params().values())])
    tower.initialize()
    twin(s.nd.ones((1, 2))).wait_to_read()
    both = Sequential(prefix="both_")
    both.add(tower, twin)
    s.show(len(both._collect_params_with_prefix()), sorted(both._collect_params_with_prefix()))
    both.save_parameters(str(s.folder / "all"))
    both.save_parameters(str(s.folder / "once"), deduplicate=True)
    s.parameters(s.folder / "all")
    s.parameters(s.folder / "once")
    both.load_parameters(str(s.folder / "once"))
    both.load_parameters(str(s.folder / "all"))


# -- parameters -----------------------------------------------------------------------------------------------------------


@program
def parameter(s: Stage) -> None:
    Parameter = s.gluon.Parameter
    p = Parameter("w", shape=(2, 3), init=s.mx.init.One())
    s.show(p, p.grad_req, p.lr_mult, p.wd_mult, p.init is not None)
    s.raises(p.data)
    s.raises(p.grad)
    s.raises(p.list_ctx)
    s.raises(lambda: p.reset_ctx(s.mx.cpu()))
    p.initialize()
    s.show(p.data(), p.grad(), p.list_ctx(), p.list_data(), p.list_grad())
    s.warned(p.initialize, "already initialized", "force_reinit")
    p.initialize(init=s.mx.init.Zero(), force_reinit=True)
    s.show(p.data())
    p.set_data(s.nd.ones((2, 3)) * 2)
    s.show(p.data())
    with s.mx.autograd.record():
        y = (p.data() * p.data()).sum()
    y.backward()
    s.show(p.grad())
    p.zero_grad()
    s.show(p.grad())
    p.grad_req = "add"
    for _ in range(2):
        with s.mx.autograd.record():
            y = (p.data() * p.data()).sum()
        y.backward()
    s.show(p.grad())
    p.grad_req = "null"
    s.raises(p.grad)
    s.raises(p.list_grad)
    p.grad_req = "write"
    s.show(p.grad())
    s.raises(lambda: setattr(p, "grad_req", "sometimes"))
    p.cast("float64")
    s.show(p, p.data().dtype.__name__, p.grad().dtype.__name__)
    p.dtype = "float16"
    s.show(p, p.data())
    s.raises(lambda: setattr(p, "shape", (3, 3)))
    s.raises(lambda: p.set_data(s.nd.ones((3, 3))))
    p.initialize(ctx=[s.mx.cpu(0), s.mx.cpu(1)], init="ones", force_reinit=True)
    s.show(p.list_ctx(), [d.context for d in p.list_data()], p.data(s.mx.cpu(1)).context)
    s.raises(lambda: p.data(s.mx.cpu(2)))
    s.show(p.data().context)
    p.reset_ctx(s.mx.cpu(1))
    s.show(p.list_ctx(), p.data().context)
    s.raises(lambda: Parameter("x", shape=(0, 2)).initialize())
    s.raises(lambda: Parameter("x").initialize())
    waiting = Parameter("x", shape=(0, 2), allow_deferred_init=True)
    waiting.initialize(init="ones", ctx=s.mx.cpu(1))
    s.raises(waiting.data)
    s.raises(waiting.list_data)
    s.raises(waiting.grad)
    s.show(waiting.list_ctx(), waiting)
    s.raises(waiting._finish_deferred_init)
    waiting.initialize(init="ones", ctx=s.mx.cpu(1))
    waiting.set_data(s.nd.ones((1, 2)) * 5)
    s.show(waiting)
    waiting._finish_deferred_init()
    s.show(waiting.data())
    fixed = Parameter("f", shape=2, differentiable=False)
    fixed.grad_req = "write"
    s.show(fixed, fixed.grad_req)
    v = Parameter("v", shape=(2, 0), lr_mult=0.5, wd_mult=0.0, init=s.mx.init.One(), dtype="float64").var()
    s.show(v, sorted(v.attr_dict()["v"].items()))
    s.show(p.var() is p.var())


@program
def sparse_parameter(s: Stage) -> None:
    p = s.gluon.Parameter("w", shape=(3, 2), stype="row_sparse", init="ones")
    p.initialize()
    s.raises(p.data)
    s.raises(p.list_data)
    s.raises(lambda: p.row_sparse_data(s.nd.array([0, 2])))
    s.raises(lambda: s.gluon.Parameter("w", shape=(3, 2)).row_sparse_data(s.nd.array([0])))
    s.raises(lambda: s.gluon.Parameter("w", stype="wrong"))
    s.raises(lambda: s.gluon.Parameter("w", grad_stype="wrong"))
    g = s.gluon.Parameter("g", shape=(3, 2), grad_stype="row_sparse", init="ones")
    g.initialize()
    s.show(g.grad().stype, g.data().stype)
    g.zero_grad()


@program
def constant(s: Stage) -> None:
    c = s.gluon.Constant("const", [[1, 2], [3, 4]])
    s.show(c, c.grad_req, c.value)
    c.initialize()
    s.show(c.data())
    c.initialize(init=s.mx.init.One(), force_reinit=True)
    s.warned(lambda: setattr(c, "grad_req", "write"), "grad_req", "ignored", "const")
    s.show(c.grad_req)
    s.raises(c.grad)
    d = s.gluon.ParameterDict("net_")
    k = d.get_constant("k", s.nd.array([1.0, 2.0]))
    s.show(d, k is d.get_constant("k"), k is d.get_constant("k", s.nd.array([1.0, 2.0])))
    s.raises(lambda: d.get_constant("other"))
    s.raises(lambda: d.get_constant("k", s.nd.array([1.0, 3.0])))
    d.get("w", shape=(2,))
    s.raises(lambda: d.get_constant("w", s.nd.array([1.0, 3.0])))
    d.initialize(s.mx.init.Zero())
    s.show(d["net_k"].data(), d["net_w"].data())

    class Net(s.gluon.HybridBlock):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                self.shift = self.params.get_constant("shift", s.nd.array([[1.0, 2.0]]))

        def hybrid_forward(self, F: Any, x: Any, shift: Any) -> Any:
            return F.broadcast_add(x, shift)

    net = Net(prefix="n_")
    net.initialize()
    s.show(net(s.nd.zeros((2, 2))))
    net.hybridize()
    s.show(net(s.nd.zeros((2, 2))))
    net.export(str(s.folder / "c"))
    s.graph(str(s.folder / "c"))
    s.parameters(s.folder / "c-0000.params")


@program
def parameter_dict(s: Stage) -> None:
    d = s.gluon.ParameterDict("net_")
    w = d.get("w", shape=(2, 0), init="ones")
    s.show(d, repr(d), d.prefix, list(d), list(d.keys()), "net_w" in d)
    s.show(d.get("w", shape=(0, 3)) is w, w)
    s.raises(lambda: d.get("w", shape=(5, 3)))
    s.raises(lambda: d.get("w", shape=(2, 3, 1)))
    s.raises(lambda: d.get("w", lr_mult=3.0))
    s.show(d.get("w", dtype="float32") is w)
    s.raises(lambda: d.get("w", dtype="float64"))
    s.raises(lambda: d["w"])
    other = s.gluon.ParameterDict("net_", shared=d)
    s.show(other, other.get("w") is w, list(other))
    clash = s.gluon.ParameterDict("net_")
    clash.get("w")
    s.raises(lambda: d.update(clash))
    d.get("b", shape=(2,), allow_deferred_init=True, init=s.mx.init.Constant(3))
    d.initialize(ctx=s.mx.cpu(0))
    s.show(d["net_b"].data(), d["net_w"].data(), d.list_ctx())
    d.setattr("grad_req", "null")
    d.setattr("lr_mult", 0.25)
    s.show(w.grad_req, w.lr_mult)
    d.setattr("grad_req", "write")
    d.zero_grad()
    d.save(str(s.folder / "d.params"))
    s.parameters(s.folder / "d.params")
    d.save(str(s.folder / "s.params"), strip_prefix="net_")
    s.parameters(s.folder / "s.params")
    s.raises(lambda: d.save(str(s.folder / "x.params"), strip_prefix="other_"))
    d["net_b"].set_data(s.nd.zeros(2))
    d.load(str(s.folder / "s.params"), restore_prefix="net_")
    s.show(d["net_b"].data())
    s.raises(lambda: d.load(str(s.folder / "s.params")))
    s.raises(lambda: d.load(str(s.folder / "s.params"), restore_prefix="other_"))
    s.raises(lambda: d.load(str(s.folder / "d.params"), ctx=s.mx.cpu(1)))
    d.get("more", shape=(1,), init="ones")
    s.raises(lambda: d.load(str(s.folder / "d.params")))
    d.load(str(s.folder / "d.params"), allow_missing=True)
    s.raises(d["net_more"].data)
    small = s.gluon.ParameterDict("net_")
    small.get("b", dtype="float64", shape=(2,))
    s.raises(lambda: small.load(str(s.folder / "d.params")))
    s.raises(lambda: small.load(str(s.folder / "d.params"), ignore_extra=True))
    small.load(str(s.folder / "d.params"), ignore_extra=True, cast_dtype=True)
    s.show(small, small["net_b"].data().dtype.__name__)
    small.load(str(s.folder / "d.params"), ignore_extra=True, cast_dtype=True, dtype_source="saved")
    s.show(small, small["net_b"].data().dtype.__name__)
    d.load_dict({"arg:net_w": s.nd.ones((2, 3)) * 4, "aux:net_b": s.nd.ones(2)}, allow_missing=True)
    s.show(d["net_w"].data(), d["net_b"].data())
    s.raises(lambda: d.reset_ctx(s.mx.cpu(1)))
    d["net_more"].initialize()
    d.reset_ctx(s.mx.cpu(1))
    s.show(d["net_w"].list_ctx())


# -- blocks ---------------------------------------------------------------------------------------------------------------


@program
def block(s: Stage) -> None:
    Dense, _, _ = layers(s)

    class Model(s.gluon.Block):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                self.one = Dense(2, 3)
                self.two = Dense(2)
                self.scale = self.params.get("scale", shape=(1,), init="ones")

        def forward(self, x: Any, twice: bool = False) -> Any:
            x = self.two(self.one(x)) * self.scale.data()
            return x * 2 if twice else x

    model = Model()
    s.show(model)
    s.show(model.params, model.collect_params(), model.collect_params(".*weight"), model.collect_params("one"))
    s.show(list(model._collect_params_with_prefix()))
    model.initialize()
    x = s.nd.ones((1, 3))
    order: list[str] = []
    before = model.register_forward_pre_hook(lambda b, i: order.append(f"before {b.name == model.name} {len(i)}"))
    after = model.one.register_forward_hook(lambda b, i, o: order.append(f"after {o.shape} {i[0].shape}"))
    s.show(model(x), model(x, True))
    s.show(order)
    before.detach()
    with after:
        pass
    model(x)
    s.show(len(order))
    s.show([type(b).__name__ for b in applied(model)])
    s.raises(lambda: setattr(model, "one", 3))
    s.raises(lambda: setattr(model, "scale", Dense(2)))
    s.raises(lambda: setattr(model, "scale", model.one.weight))
    model.one = Dense(2, 3, prefix="new_")
    s.show(list(model.collect_params().keys()))
    model.register_child(Dense(1), "extra")
    model.register_child(Dense(1))
    s.show(list(model._children))
    model.blocks = [Dense(1)]
    s.warned(model.collect_params, "unregistered container", "Model.blocks")
    model.cast("float64")
    s.show(sorted({p.dtype for p in model.params.values()}), model.two.weight.dtype)
    model.hybridize()
    s.show(model.two._active)
    s.raises(lambda: s.gluon.Block()(x))
    s.raises(lambda: s.gluon.HybridBlock()(x))
    s.raises(lambda: s.gluon.HybridBlock().register_child(model))
    s.raises(lambda: setattr(s.gluon.HybridBlock(), "child", model))


def applied(model: Any) -> list[Any]:
    """The blocks that apply meets, in order."""
    met: list[Any] = []
    assert model.apply(met.append) is model
    return met


@program
def parameter_files(s: Stage) -> None:
    def make() -> Any:
        net = network(s, prefix="net_")
        net.initialize()
        net(s.nd.ones((2, 4)))
        return net

    net, filename = make(), str(s.folder / "p.params")
    net.save_parameters(filename)
    s.parameters(filename)
    net.hidden.weight.set_data(s.nd.ones((3, 4)) * 7)
    other = network(s, prefix="other_")
    other.load_parameters(filename)
    s.show(other.hidden.weight.data(), other.hidden.weight.list_ctx())
    s.raises(lambda: other.load_parameters(filename, ctx=s.mx.cpu(1)))
    moved = network(s)
    moved.load_parameters(filename, ctx=[s.mx.cpu(1), s.mx.cpu(2)])
    s.show(moved.hidden.weight.list_ctx())
    stored = s.nd.load(filename)
    s.nd.save(filename, {k: v for k, v in stored.items() if k != "norm.beta"} | {"foo.bar": s.nd.ones(1)})
    s.raises(lambda: make().load_parameters(filename))
    s.raises(lambda: make().load_parameters(filename, allow_missing=True))
    s.raises(lambda: make().load_parameters(filename, ignore_extra=True))
    make().load_parameters(filename, allow_missing=True, ignore_extra=True)
    s.nd.save(filename, {k: v.astype("float64") for k, v in stored.items()})
    s.raises(lambda: make().load_parameters(filename))
    cast = make()
    cast.load_parameters(filename, cast_dtype=True)
    s.show(cast.hidden.weight, cast.hidden.weight.data().dtype.__name__)
    cast.load_parameters(filename, cast_dtype=True, dtype_source="saved")
    s.show(cast.hidden.weight, cast.hidden.weight.data().dtype.__name__)
    s.nd.save(filename, {**stored, "hidden.weight": s.nd.ones((3, 5))})
    s.raises(lambda: make().load_parameters(filename))
    old = str(s.folder / "old.params")
    s.warned(lambda: net.save_params(old), "save_params is deprecated")
    s.parameters(old)
    s.warned(lambda: make().load_params(old), "load_params is deprecated")
    net.collect_params().save(old)
    s.raises(lambda: make().load_parameters(old))
    make().collect_params().load(old)
    Dense, _, Sequential = layers(s)
    alone = Dense(2, 3)
    alone.initialize()
    alone.save_parameters(filename)
    s.parameters(filename)
    alone.load_parameters(filename)
    Dense(2, 3).load_parameters(filename)
    Sequential().save_parameters(filename)
    Sequential().load_parameters(filename)


@program
def model_files(s: Stage) -> None:
    net = network(s, prefix="net_")
    net.initialize()
    net.hybridize()
    x = s.nd.ones((2, 4))
    wanted = net(x)
    net.save(str(s.folder / "m"))
    s.show(sorted(p.name for p in s.folder.iterdir()))
    again = network(s, prefix="other_")
    again.load(str(s.folder / "m"))
    s.show(again.name, again.collect_params())
    s.show((again(x) - wanted).abs().max().asscalar())


@program
def summary(s: Stage) -> None:
    Dense, Norm, _ = layers(s)
    nn = s.gluon.nn
    net = nn.HybridSequential()
    net.add(Dense(4), Norm(), Dense(4, 4))
    net.initialize()
    s.printed(lambda: net.summary(s.nd.ones((2, 3))))

    class Pair(s.gluon.Block):
        def forward(self, x: Any, other: Any) -> Any:
            return x, [other, x]

    s.printed(lambda: Pair().summary(s.nd.ones((2, 3)), s.nd.ones((1,))))
    s.show(len(net[0]._forward_hooks))
    net.hybridize()
    s.raises(lambda: net.summary(s.nd.ones((2, 3))))


# -- hybridize ------------------------------------------------------------------------------------------------------------


@program
def hybridize(s: Stage) -> None:
    net = network(s, prefix="net_")
    net.initialize()
    x = s.nd.ones((2, 4))
    plain = net(x)
    s.show(plain)
    net(x)
    net.hybridize()
    s.show((net(x) - plain).abs().max().asscalar())
    net(s.nd.ones((5, 4)))
    net.export(str(s.folder / "n"), epoch=3)
    s.show(sorted(p.name for p in s.folder.iterdir()))
    s.graph(str(s.folder / "n"))
    s.parameters(s.folder / "n-0003.params")
    net.hybridize(False)
    net(x)
    net.hybridize(static_alloc=True, static_shape=True)
    net(x)
    net.output = type(net.output)(5, 3, prefix="fresh_")
    net.output.initialize()
    s.show(net(x).shape, net._flags)
    out = net(s.sym.var("data"))
    s.show(type(out).__name__, out.name, out.list_arguments(), out.list_auxiliary_states())
    fresh = network(s, prefix="fresh_")
    s.raises(lambda: fresh.export(str(s.folder / "f")))
    s.raises(lambda: fresh(x))
    fresh.hybridize()
    s.raises(lambda: fresh(x))
    fresh.initialize()
    s.raises(lambda: fresh(3))
    s.raises(lambda: fresh(None))
    s.show(fresh(x).shape)
    s.raises(lambda: fresh(s.nd.ones((2, 5))))
    with s.mx.autograd.record():
        loss = fresh(x).sum()
    loss.backward()
    s.show(fresh.hidden.weight.grad().shape, fresh.norm.running_mean.data())


@program
def training_mode(s: Stage) -> None:
    for active in (False, True):
        net = network(s, prefix="net_")
        net.initialize()
        if active:
            net.hybridize()
        x = s.nd.array([[1, 2, 3, 4], [2, 2, 2, 3], [0, 1, 5, 2]])
        with s.mx.autograd.record():
            y = net(x)
            loss = (y * y).sum()
        loss.backward()
        s.show(y.round(), net.norm.running_mean.data(), net.norm.running_var.data())
        s.show((net.hidden.weight.grad() * 1000).round(), net.norm.gamma.grad().shape)
        s.show((net(x) * 100).round())


@program
def structures(s: Stage) -> None:
    class Net(s.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, states: Any, extra: Any = None) -> Any:
            s.show("forward", type(x).__name__, type(states).__name__, extra is None)
            first, (second,) = states
            total = x + first if extra is None else x + first + extra
            return total, [second, (x, F.split(x, num_outputs=2, axis=0))]

    def shown(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value).__name__, [shown(v) for v in value]
        return value.asnumpy().tolist()

    a, b, c = s.nd.ones((2, 1)), s.nd.ones((2, 1)) * 2, s.nd.ones((2, 1)) * 3
    for active in (False, True):
        net = Net(prefix="n_")
        net.hybridize(active)
        s.show(shown(net(a, [b, [c]])))
        s.show(shown(net(a, (b, [c]), None)))
        if active:
            s.raises(lambda net=net: net(a, [b, [c]], c))
            s.raises(lambda net=net: net(a, [b, c]))
            s.show(net._in_format, net._out_format)
            net.export(str(s.folder / "s"))
            s.graph(str(s.folder / "s"))
            net.hybridize()
            s.show(shown(net(a, [b, [c]], c)))
        s.raises(lambda net=net: net(a, [s.sym.var("x"), [c]]))
        s.raises(lambda net=net: net(None, [None, [None]]))
    out = net(s.sym.var("x"), [s.sym.var("y"), [s.sym.var("z")]])
    s.show(type(out).__name__, out[0].name, out[1][0].name, out[1][1][1].name)
    net = Net(prefix="n_")
    net.hybridize()
    s.raises(lambda: net(a, [b.as_in_context(s.mx.cpu(1)), [c]]))

    class Unused(s.gluon.HybridBlock):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            self.spare = self.params.get("spare", shape=(1,))

        def hybrid_forward(self, F: Any, x: Any, y: Any, spare: Any) -> Any:
            return x * 2

    net = Unused(prefix="u_")
    net.initialize()
    net.hybridize()
    s.warned(lambda: net(a, b), "1-th input", "u_spare is not used")


@program
def pitfalls(s: Stage) -> None:
    def net(function: Callable[[Any, Any], Any]) -> Any:
        class Net(s.gluon.HybridBlock):
            def hybrid_forward(self, F: Any, x: Any) -> Any:
                return function(F, x)

        return Net()

    x = s.nd.array([[1.0, 2.0], [3.0, 4.0]])
    for function in (
        lambda F, x: x * x.shape[0],
        lambda F, x: x + F.array([1.0]),
        lambda F, x: x * float(x.asnumpy().sum()),
        lambda F, x: x[1],
        lambda F, x: x[0] * 1,
        lambda F, x: x + F.ones((1, 2)),
        lambda F, x: F.broadcast_add(x, F.ones((1, 2))),
        lambda F, x: F.concat(x, x, dim=1),
        lambda F, x: x.__iadd__(1),
        lambda F, x: x if x else x * 2,
        lambda F, x: 3,
    ):
        for active in (False, True):
            block = net(function)
            block.hybridize(active)
            try:
                out = block(x)
                s.show(out.asnumpy().tolist() if hasattr(out, "asnumpy") else out)
            except Exception:
                s.raises(lambda block=block: block(x))


@program
def partial(s: Stage) -> None:
    Dense, _, _ = layers(s)

    class Model(s.gluon.Block):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                self.body = network(s)
                self.head = Dense(2)

        def forward(self, x: Any) -> Any:
            s.show("outer", type(x).__name__)
            return self.head(self.body(x))

    model = Model(prefix="m_")
    model.initialize()
    model.hybridize()
    x = s.nd.ones((2, 3))
    s.show(model(x))
    s.show(model(x).shape)
    model.body.hybridize(False)
    model(x)
    model.body.export(str(s.folder / "x")) if model.body._cached_graph else s.show("nothing to export")
    model.head.export(str(s.folder / "head"))
    s.graph(str(s.folder / "head"))


@program
def operator_hooks(s: Stage) -> None:
    net = network(s, prefix="net_")
    net.initialize()
    seen: list[Any] = []

    def hook(name: Any, operator: Any, _: Any) -> None:  # MXNet passes the array's address
        seen.append([n.decode() if isinstance(n, bytes) else n for n in (name, operator)])

    def operators() -> list[str]:
        return [b for a, b in zip([None, *(o for _, o in seen)], (o for _, o in seen)) if a != b]

    net.register_op_hook(hook)
    x = s.nd.ones((2, 4))
    net(x)
    s.show(seen)
    net.hybridize()
    net(x)
    s.show([(name.rsplit("_", 1)[0], operator) for name, operator in seen])
    seen.clear()
    net.register_op_hook(hook, True)
    with s.mx.autograd.record():
        y = net(x)
    s.show(operators(), len([n for n, _ in seen if n.startswith("net_dense0")]))
    y.backward()
    s.show(net.hidden.weight.grad().shape)


@program
def infer(s: Stage) -> None:
    net = network(s, prefix="net_")
    net.infer_shape(s.nd.ones((2, 4)))
    s.show(net.collect_params())
    net.infer_type(s.nd.ones((2, 4)))
    s.show(net.collect_params())
    s.raises(lambda: net.infer_type(s.nd.ones((2, 4), dtype="float64")))
    net = network(s, prefix="net_")
    net.initialize()
    net.cast("float16")
    s.show(net.collect_params())
    s.raises(lambda: net.optimize_for(s.nd.ones((2, 4))))


@program
def symbol_block(s: Stage) -> None:
    net = network(s, prefix="net_")
    net.initialize()
    net.hybridize()
    x = s.nd.ones((2, 4))
    wanted = net(x)
    prefix = str(s.folder / "n")
    net.export(prefix)
    block = s.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["data"], f"{prefix}-0000.params")
    s.show(block, repr(block.prefix), block.name[:11], list(block.collect_params().keys()))
    s.show((block(x) - wanted).abs().max().asscalar(), list(block._reg_params))
    with s.mx.autograd.record():
        loss = block(x).sum()
    loss.backward()
    s.show(block.collect_params()["net_dense1_weight"].grad().shape)
    internals = block(s.sym.var("data")).get_internals()
    s.show(internals.list_outputs())
    part = s.gluon.SymbolBlock(
        [internals["net_relu0_output"], internals["net_norm0_fwd_output"]], s.sym.var("data"), net.collect_params()
    )
    s.show([y.shape for y in part(x)], part.collect_params())
    s.show(part.collect_params()["net_dense0_weight"] is net.hidden.weight)

    class Outer(s.gluon.HybridBlock):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                self.features = part
                self.head = net.output

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            low, high = self.features(x)
            return self.head(low + high)

    outer = Outer(prefix="outer_")
    plain = outer(x)
    outer.hybridize()
    s.show((outer(x) - plain).abs().max().asscalar())
    outer.export(str(s.folder / "o"))
    s.graph(str(s.folder / "o"))
    block.cast("float16")
    s.show([(p.name, p.dtype) for p in block.collect_params().values()])
    s.raises(lambda: s.gluon.SymbolBlock(internals["net_relu0_output"], internals["net_dense0_fwd_output"]))
    missing = s.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", "data")
    s.raises(lambda: missing(x))
    missing.initialize(s.mx.init.One())
    s.show(missing(x).shape)


@program
def utilities(s: Stage) -> None:
    utils, nd, mx = s.gluon.utils, s.nd, s.mx
    x = nd.arange(10).reshape((5, 2))
    s.show(utils.split_data(x, 5), utils.split_data(x, 2, even_split=False), utils.split_data(x, 2, batch_axis=1))
    s.raises(lambda: utils.split_data(x, 2))
    s.show([p.context for p in utils.split_and_load(x, [mx.cpu(0), mx.cpu(1)], even_split=False)])
    s.show(utils.split_and_load([[1, 2], [3, 4]], [mx.cpu(0)]))
    arrays = [nd.ones((2, 2)) * 3, nd.ones(3) * 4]
    s.show(round(float(utils.clip_global_norm(arrays, 1.0)), 4), [(a * 1000).round() for a in arrays])
    arrays = [nd.ones(1) * 0.5]
    s.show(type(utils.clip_global_norm(arrays, 1.0, check_isfinite=False)).__name__, arrays)
    s.warned(lambda: utils.clip_global_norm([nd.array([float("nan")])], 1.0), "nan or inf")
    path = s.folder / "x.txt"
    path.write_text("gluon")
    s.show(
        utils.check_sha1(str(path), "a" * 40), utils.check_sha1(str(path), "4eb84b8b3d5d4c1fba1d0b9c1b23a8b6d5c1ab5d")
    )
    s.show([utils.shape_is_known(shape) for shape in (None, (), (0, 2), (1, 2))])
    s.raises(lambda: utils.shape_is_known((1, -1)))
    handle = utils.HookHandle()
    from collections import OrderedDict

    hooks: Any = OrderedDict()
    handle.attach(hooks, print)
    s.show(len(hooks))
    s.raises(lambda: handle.attach(hooks, print))
    handle.detach()
    s.show(len(hooks))
