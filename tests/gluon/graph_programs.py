"""Programs about hybridized blocks, and what else there is; see stage.py."""

# ruff: noqa: N803, N806  F and classes are called as in every MXNet program
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.gluon.stage import Stage, layers, network, program

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
            except Exception as error:
                if "'Symbol'" in str(error):
                    s.show(error)
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

    class Shaped(s.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
            return x * x.shape[0] * weight

    for shape in ((0,), (4,)):
        shaped = Shaped()
        shaped.weight = shaped.params.get("weight", shape=shape, init="ones", allow_deferred_init=True)
        shaped.initialize()
        s.raises(lambda shaped=shaped: s.show(shaped(s.nd.ones((2, 4)))))


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
def tutorials(s: Stage) -> None:
    """The networks of the public tutorials on hybridization."""
    mx, nn, gluon = s.mx, s.gluon.nn, s.gluon

    class Net(gluon.HybridBlock):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                self.conv1 = nn.Conv2D(6, kernel_size=5)
                self.pool1 = nn.MaxPool2D(pool_size=2)
                self.conv2 = nn.Conv2D(16, kernel_size=5)
                self.pool2 = nn.MaxPool2D(pool_size=2)
                self.fc1 = nn.Dense(120)
                self.fc2 = nn.Dense(84)
                self.fc3_weight = self.params.get("fc3_weight", shape=(10, 84))

        def hybrid_forward(self, F: Any, x: Any, fc3_weight: Any) -> Any:
            s.show(x if isinstance(x, s.sym.Symbol) else x.shape)
            x = self.pool1(F.relu(self.conv1(x)))
            x = self.pool2(F.relu(self.conv2(x)))
            x = x.reshape((0, -1))
            x = F.relu(self.fc1(x))
            x = F.relu(self.fc2(x))
            return F.dot(x, fc3_weight, transpose_b=True)

    with mx.name.NameManager():
        net = Net()
        net.initialize(mx.init.Constant(0.01))
        s.show(net, net.collect_params())
        x = mx.nd.ones((2, 1, 28, 28))
        plain = net(x)
        net(x)
        net.hybridize()
        s.show(abs((net(x) - plain).asnumpy()).max() < 1e-5, plain.shape)
        net(x)
        s.show(net.collect_params())
        net.export(str(s.folder / "model"), epoch=1)
        s.graph(str(s.folder / "model"))
        again = gluon.SymbolBlock.imports(
            str(s.folder / "model-symbol.json"), ["data"], str(s.folder / "model-0001.params")
        )
        s.show(abs((again(x) - plain).asnumpy()).max() < 1e-5, again)
        s.printed(lambda: (net.hybridize(False), net.summary(x)))

        net = nn.HybridSequential()
        net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
        net.initialize(mx.init.One())
        net(mx.nd.ones((1, 512)))
        net.hybridize()
        s.show(net, net(mx.nd.ones((1, 512))).shape)
        net.export(str(s.folder / "mlp"))
        s.graph(str(s.folder / "mlp"))

        class HybridNet(nn.HybridBlock):
            def __init__(self, **kwargs: Any):
                super().__init__(**kwargs)
                self.hidden = nn.Dense(10)
                self.output = nn.Dense(2)

            def hybrid_forward(self, F: Any, x: Any) -> Any:
                s.show("F: ", F.__name__.split(".")[-1])
                s.show("x: ", x)
                x = F.relu(self.hidden(x))
                s.show("hidden: ", x)
                return self.output(x)

        net = HybridNet()
        net.initialize(mx.init.One())
        x = mx.nd.ones((1, 4))
        s.show(net(x))
        net.hybridize()
        s.show(net(x))
        s.show(net(x))
        out = net(mx.sym.var("data"))
        s.show(out, out.list_arguments())

        body = nn.HybridSequential()
        with body.name_scope():
            body.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.Flatten(), nn.Dense(2))
        s.show(body, body.prefix, list(body.collect_params().keys()))
        s.show(body(mx.sym.var("data")).get_internals().list_outputs())


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
