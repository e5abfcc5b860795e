"""Programs about names, parameters, blocks and their files; see stage.py."""

# ruff: noqa: N803, N806  F and classes are called as in every MXNet program
from __future__ import annotations

from typing import Any

from tests.gluon.stage import Stage, layers, network, program

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
