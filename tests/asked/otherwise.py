"""Parameters given otherwise than their defaults, and the other outcome of conditions that programs seldom meet."""

# ruff: noqa: B023, E731  calls are made at once
from __future__ import annotations

import warnings

import numpy as np

from .modules import examples, net, params, ready, weights
from .questions import ask, attempt, numbers, plain


def filled(mx, block, scale=1.0):
    """The block, its parameters numbers that differ."""
    block.initialize(mx.init.One())
    for i, parameter in enumerate(block.collect_params().values()):
        if parameter.shape and 0 not in parameter.shape:
            parameter.set_data(mx.nd.array(numbers(*parameter.shape, seed=i) * scale, dtype=parameter.dtype))
    return block


def shown(mx, block, *inputs):
    """Results of a block with the dtypes of its parameters, hybridized and not, and its printed form."""
    found = [repr(block), sorted(str(np.dtype(p.dtype)) for p in block.collect_params().values())]
    for hybrid in (False, True):
        block.hybridize(hybrid)
        found.append(block(*inputs))
    return found


@ask
def layouts_of_pooling(mx, folder):
    """Every pooling layer with the layouts that there are and one that is none."""
    nn = mx.gluon.nn
    found = {}
    for axes, (first, last) in enumerate((("NCW", "NWC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC")), 1):
        x = mx.nd.array(numbers(2, 3, 4, 5, 6)[(slice(None),) * (axes + 2) + (0,) * (3 - axes)])
        for kind in ("Max", "Avg"):
            for name, given in ((f"{kind}Pool{axes}D", {"pool_size": 2}), (f"Global{kind}Pool{axes}D", {})):
                for layout in (first, last, "NHC"):

                    def pooled(name=name, given=given, layout=layout):
                        layer = getattr(nn, name)(layout=layout, **given)
                        return [repr(layer), layer(x)]

                    found[f"{name} {layout}"] = attempt(pooled)
    return found


@ask
def dtypes_of_layers(mx, folder):
    """Dense, embeddings and recurrent layers made for another dtype than float32."""
    gluon = mx.gluon
    found = {}
    x, rows = mx.nd.array(numbers(2, 4), dtype="float64"), mx.nd.array([[1, 4], [0, 1]])
    found["dense"] = shown(mx, filled(mx, gluon.nn.Dense(3, in_units=4, dtype="float64", prefix="d_")), x)
    for dtype in ("float64", "float16"):
        table = filled(mx, gluon.nn.Embedding(5, 2, dtype=dtype, prefix="e_"))
        found[f"embedding {dtype}"] = shown(mx, table, rows)
    sparse = gluon.contrib.nn.SparseEmbedding(5, 2, dtype="float64", prefix="s_")
    found["sparse"] = [repr(sparse), np.dtype(sparse.weight.dtype).name, sparse.weight._grad_stype]
    for kind, given in (("RNN", {"activation": "tanh"}), ("GRU", {}), ("LSTM", {})):
        layer = filled(mx, getattr(gluon.rnn, kind)(3, input_size=2, dtype="float64", prefix="r_", **given))
        found[kind] = attempt(lambda: shown(mx, layer, mx.nd.array(numbers(4, 2, 2), dtype="float64")))
    return found


@ask
def settings_of_layers(mx, folder):
    """Deconvolutions without bias, sums over other axes, names and parameters from outside."""
    gluon, nd = mx.gluon, mx.nd
    nn, rnn, contrib = gluon.nn, gluon.rnn, gluon.contrib
    found = {}
    turned = nn.Conv3DTranspose(2, 2, activation="tanh", use_bias=False, in_channels=3, prefix="c_")
    found["deconvolution"] = shown(mx, filled(mx, turned), nd.array(numbers(1, 3, 2, 2, 2)))
    shared = gluon.ParameterDict("shared_")
    for name, make in (
        ("identity", lambda: contrib.nn.Identity(params=shared)), ("dropout", lambda: rnn.DropoutCell(0.5, params=shared)),
    ):  # fmt: skip
        block = make()
        found[name] = [block.params.prefix, block.prefix != "shared_", sorted(block.collect_params())]
    both = rnn.BidirectionalCell(rnn.RNNCell(2, prefix="l_"), rnn.RNNCell(2, prefix="r_"), output_prefix="both_")
    outs, after = both.unroll(2, mx.sym.var("x"), layout="NTC", merge_outputs=False)
    found["both"] = [[o.name for o in outs], [s.name for s in after], both.state_info(3), both.state_info(batch_size=0)]
    outs, _ = both.unroll(2, mx.sym.var("x"), layout="NTC", merge_outputs=True)
    found["both joined"] = outs.name
    for axis in (0, 1):
        loss = gluon.loss.CosineEmbeddingLoss(batch_axis=axis, margin=0.1)
        pair = nd.array(numbers(3, 4)), nd.array(numbers(3, 4, seed=5))
        found[f"cosine {axis}"] = attempt(lambda: [repr(loss), loss(*pair, nd.array([1, -1, 1]))])
    for where in ("l0_h2r_weight", "r0_h2r_weight"):
        lstm = rnn.LSTM(
            3, input_size=2, projection_size=2, bidirectional=True, prefix="p_",
            h2r_weight_initializer=mx.init.Constant(0.25),
        )  # fmt: skip
        lstm.initialize(mx.init.Zero())
        found[where] = lstm.params[f"p_{where}"].data()
    return found


@ask
def norm_over_devices(mx, folder):
    """SyncBatchNorm in its settings: parameters, moving averages and results in and out of training."""
    found = {}
    x = numbers(4, 3, 2, 2)
    for name, given in (
        ("plain", {}), ("momentum", {"momentum": 0.25}), ("epsilon", {"epsilon": 0.5}), ("no center", {"center": False}),
        ("no scale", {"scale": False}), ("global", {"use_global_stats": True}),
    ):  # fmt: skip
        norm = mx.gluon.contrib.nn.SyncBatchNorm(3, num_devices=1, prefix=f"n{len(found)}_", **given)
        norm.initialize()
        for i, end in enumerate(("gamma", "beta", "running_mean", "running_var")):
            getattr(norm, end).set_data(mx.nd.array(numbers(3, seed=i, low=0.5, high=1.5)))
        data = mx.nd.array(x)
        data.attach_grad()
        with mx.autograd.record():
            out = norm(data) * mx.nd.array(numbers(4, 3, 2, 2, seed=3))
        out.backward()
        trained = [p.grad() for p in (norm.gamma, norm.beta) if p.grad_req != "null"]
        states = [norm.running_mean.data(), norm.running_var.data(), norm.beta.data()]
        found[name] = plain([out, data.grad, trained, states, norm(data)])
        found[f"{name} learns"] = [norm.gamma.grad_req, norm.beta.grad_req]
    return found


@ask
def deformable_settings(mx, folder):
    """Deformable convolutions with settings that are refused, and how they show themselves."""
    cnn = mx.gluon.contrib.cnn
    found = {}
    for kind in ("DeformableConvolution", "ModulatedDeformableConvolution"):
        for name, given in (("layout", {"layout": "NCW"}), ("one", {}), ("named", {"op_name": kind})):
            found[f"{kind} {name}"] = attempt(lambda: repr(getattr(cnn, kind)(2, prefix="d_", **given)))
    return found


@ask
def networks_of_other_sizes(mx, folder):
    """The shapes of parameters of networks of the zoo with other numbers of classes and widths."""
    vision = mx.gluon.model_zoo.vision
    found = {}
    for name, block in (
        ("alexnet", vision.AlexNet(classes=7, prefix="a_")), ("inception", vision.Inception3(classes=5, prefix="i_")),
        ("densenet", vision.DenseNet(4, 3, [2, 1], bn_size=2, classes=6, prefix="d_")),
        ("densenet as it is", vision.DenseNet(4, 3, [2, 1], prefix="e_")),
    ):  # fmt: skip
        shapes = [[n, list(p.shape)] for n, p in block.collect_params().items()]
        found[name] = [len(shapes), *shapes[:14], shapes[-2:]]
    return found


@ask
def parameters_of_dictionaries(mx, folder):
    """load_dict with keys that no parameter wants; update with several that clash."""
    gluon = mx.gluon
    found = {}
    values = {"p_w": mx.nd.array([1.0, 2]), "p_x": mx.nd.array([3.0])}
    for name, given in (
        ("extra", {}), ("extra ignored", {"ignore_extra": True}), ("named", {"ignore_extra": True, "filename": "kept.params"}),
        ("missing", {"ignore_extra": True, "filename": "kept.params", "restore_prefix": "q_"}),
    ):  # fmt: skip

        def loaded(given=given):
            own = gluon.ParameterDict("p_")
            weight = own.get("w", shape=(2,))
            own.load_dict(values, ctx=mx.cpu(), **given)
            return weight.data()

        found[name] = attempt(loaded)
    left, right = gluon.ParameterDict("p_"), gluon.ParameterDict("p_")
    for one in (left, right):
        one.get("a", shape=(1,))
        one.get("b", shape=(1,))
    found["clash"] = attempt(lambda: left.update(right))
    return found


def _sparse_table(gluon):
    """Four rows of ones, kept and trained by rows."""
    table = gluon.Parameter("table", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse", init="ones")
    table.initialize()
    return table


@ask
def deferred_beside_sparse(mx, folder):
    """A Trainer of a sparse table and of a layer whose shape is known later: saving, setting and stepping in between."""
    gluon, nd = mx.gluon, mx.nd
    table = _sparse_table(gluon)
    dense = gluon.nn.Dense(2, prefix="d_")
    dense.initialize(mx.init.One())
    late = dense.collect_params()
    params = {"table": table, **{n: p for n, p in late.items()}}
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.5, "momentum": 0.5}, kvstore="local")
    rows = nd.array([0, 1, 2, 3])
    found = {"before": plain(table.row_sparse_data(rows))}
    path = str(folder / "states")
    found["save"] = attempt(lambda: trainer.save_states(path))
    with mx.autograd.record():
        loss = (dense(nd.array(numbers(3, 4))) ** 2).sum()
    loss.backward()
    dense.weight.set_data(nd.array(numbers(2, 4, seed=2)))
    for turn in range(2):
        with mx.autograd.record():
            whole = table.row_sparse_data(rows)
            loss = (dense(nd.array(numbers(3, 4))) ** 2).sum() + (nd.dot(nd.array(numbers(3, 4)), whole) ** 2).sum()
        loss.backward()
        trainer.step(2)
        found[f"after {turn}"] = plain([table.row_sparse_data(rows), dense.weight.data(), dense.bias.data()])
    found["save later"] = attempt(lambda: trainer.save_states(path))
    return found


@ask
def rows_of_sparse_weights(mx, folder):
    """sparse_row_id_fn through all loops of a Module: what is warned of, and what comes out."""
    found = {}
    batches = lambda: examples(mx, 8)

    def row_ids(batch):
        return {}

    for store in ("local", None):
        module = ready(mx)
        module.init_optimizer(kvstore=store, optimizer="sgd", optimizer_params={"learning_rate": 0.1})
        for name, call in (
            ("score", lambda: module.score(batches(), "acc", sparse_row_id_fn=row_ids)),
            ("predict", lambda: module.predict(batches(), sparse_row_id_fn=row_ids)),
            ("iter_predict", lambda: [plain(o) for o, _, _ in module.iter_predict(batches(), sparse_row_id_fn=row_ids)]),
            ("fit", lambda: module.fit(batches(), num_epoch=1, sparse_row_id_fn=row_ids) or params(module)),
        ):  # fmt: skip
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                got = plain(call())
            found[f"{store} {name}"] = [got, sum("sparse_row_id_fn" in str(w.message) for w in caught)]
    iterator = batches()
    next(iterator)
    found["on"] = [[plain(o), n] for o, n, _ in ready(mx).iter_predict(iterator, reset=False)]
    found["anew"] = [[plain(o), n] for o, n, _ in ready(mx).iter_predict(iterator)]
    return found


@ask
def modules_at_their_edges(mx, folder):
    """Updates of a module that is not trained, reshape to what it is, shared modules, groups as one dict for two devices."""
    found = {}
    still = ready(mx, for_training=False)
    still.init_optimizer(optimizer_params={"learning_rate": 0.1})
    batch = next(examples(mx))
    still.forward(batch)
    before = plain(params(still))
    found["shared"] = attempt(lambda: shared(mx, mx.mod.Module(net(mx))))
    unset = mx.mod.Module(net(mx))
    unset.bind([("data", (4, 5))], [("softmax_label", (4,))])
    found["shared unset"] = attempt(lambda: shared(mx, unset))
    module = ready(mx)
    for name, labels in (("with", [("softmax_label", (4,))]), ("without", None)):
        module.reshape([("data", (4, 5))], labels)
        found[f"labels {name}"] = str(module.label_shapes)
        module.forward(batch, is_train=False)
        found[f"as it is {name}"] = plain(module.get_outputs())
    x, y = mx.sym.var("data"), mx.sym.var("y")
    product = mx.sym.broadcast_mul(x, y)
    free = mx.mod.Module(product, label_names=["y"])
    free.bind([("data", (4, 5))], [("y", (4, 1))])
    free.init_params()
    found["unknown label"] = attempt(lambda: free.reshape([("data", (2, 5))]))
    with_state, plain_one = (
        mx.mod.Module(mx.sym.broadcast_mul(x, mx.sym.var(name, shape=(4, 1))), label_names=None, state_names=states)
        for name, states in (("s", ["s"]), ("w_weight", None))
    )
    plain_one.bind([("data", (4, 5))])
    plain_one.init_params(mx.init.One())
    with_state.bind([("data", (4, 5))], shared_module=plain_one)
    with_state.set_states(value=0.5)
    with_state.forward(batch, is_train=False)
    found["a state of its own"] = with_state.get_outputs()
    groups = mx.mod.Module(
        net(mx), context=[mx.cpu(0), mx.cpu(1)], group2ctxs={"a": [mx.cpu(2), mx.cpu(3)], "b": mx.cpu(1)}
    )
    groups.bind([("data", (4, 5))], [("softmax_label", (4,))])
    own, aux = weights(mx, net(mx), data=(4, 5), softmax_label=(4,))
    groups.init_params(arg_params=own, aux_params=aux)
    groups.forward(batch, is_train=False)
    found["groups"] = groups.get_outputs()
    return [found, before]


def shared(mx, other):
    mx.mod.Module(net(mx)).bind([("data", (4, 5))], [("softmax_label", (4,))], shared_module=other)


def buckets(mx, states=(), **given):
    """A BucketingModule over lengths, with a state as large as the batch and one as long as the bucket."""

    def generate(key):
        x = mx.sym.var("data")
        summed = mx.sym.sum(x, axis=1, keepdims=True)
        hidden = mx.sym.FullyConnected(summed, num_hidden=3, name="fc")
        if states:
            hidden = hidden + mx.sym.var("kept", shape=(4, 3))
            hidden = mx.sym.broadcast_add(hidden, mx.sym.sum(mx.sym.var("long", shape=(4, key)), axis=1, keepdims=True))
        hidden = mx.sym.BatchNorm(hidden, fix_gamma=False, name="bn")
        return mx.sym.LinearRegressionOutput(hidden, mx.sym.var("y"), name="out"), ["data"], ["y"]

    return mx.mod.BucketingModule(generate, default_bucket_key=6, state_names=list(states), **given)


def bucket(mx, key):
    return mx.io.DataBatch(
        [mx.nd.array(numbers(4, key, seed=key))], [mx.nd.array(numbers(4, 3))], bucket_key=key,
        provide_data=[("data", (4, key))], provide_label=[("y", (4, 3))],
    )  # fmt: skip


def fed(mx, module):
    shapes = {"fc_weight": (3, 1), "fc_bias": (3,), "bn_gamma": (3,), "bn_beta": (3,)}
    own = {n: mx.nd.array(numbers(*s, seed=len(n))) for n, s in shapes.items()}
    aux = {"bn_moving_mean": mx.nd.array(numbers(3)), "bn_moving_var": mx.nd.array(numbers(3, low=0.5, high=1.5))}
    module.init_params(arg_params=own, aux_params=aux)


@ask
def settings_of_buckets(mx, folder):
    """BucketingModule with shares of work, groups, compression, states of several shapes, and made of parameters."""
    found = {}
    for name, given in (
        ("plain", {}), ("work", {"context": [mx.cpu(0), mx.cpu(1)], "work_load_list": [1, 3]}),
        ("groups", {"group2ctxs": {"a": mx.cpu(1)}}),
        ("compression", {"context": [mx.cpu(0), mx.cpu(1)], "compression_params": {"type": "2bit", "threshold": 0.5}}),
        ("states", {"states": ("kept", "long")}),
    ):  # fmt: skip

        def trained(given=given):
            module = buckets(mx, **given)
            module.bind([("data", (4, 6))], [("y", (4, 3))])
            fed(mx, module)
            module.init_optimizer(optimizer_params={"learning_rate": 0.1})
            shown = []
            for key in (6, 3, 6, 3):
                if given.get("states"):
                    module.prepare(bucket(mx, key), sparse_row_id_fn=lambda batch: {})
                    module.switch_bucket(key, [("data", (4, key))], [("y", (4, 3))])
                    module.set_states(value=0.1 * key)
                module.forward(bucket(mx, key))
                shown.append(plain(module.get_outputs()))
                module.backward()
                module.update()
            return [shown, *params(module)]

        found[name] = attempt(trained)
    module = buckets(mx)
    module.bind([("data", (4, 6))], [("y", (4, 3))])
    fed(mx, module)
    for name, given in (("default", {}), ("True", {"remove_amp_cast": True}), ("False", {"remove_amp_cast": False})):
        module.save_checkpoint(str(folder / name), 3, **given)
        found[f"saved {name}"] = sorted(p.name for p in folder.glob(f"{name}*"))
    nameless = lambda names: lambda key: (mx.sym.zeros((2, 2)) + mx.sym.var("w", shape=(2, 2)), names, None)
    for names in (None, []):
        found[f"no data {names}"] = attempt(lambda: str(mx.mod.BucketingModule(nameless(names), 1).data_names))
    return found


@ask
def priorities_of_stores(mx, folder):
    """Stores are told priorities, which change nothing; rows of several keys and devices at once."""
    nd = mx.nd
    found = {}
    for kind in ("local", "device", "teststore"):
        store = mx.kv.create(kind)
        outs = [nd.zeros((2, 2)), nd.zeros((2, 2))]
        store.broadcast("a", nd.array(numbers(2, 2)), outs, priority=3)
        found[f"{kind} broadcast"] = plain(outs)
        pushed = [nd.array(numbers(2, 2, seed=i)) for i in (1, 2)]
        store.pushpull("a", pushed, out=outs, priority=-2)
        found[f"{kind} pushpull"] = plain([outs, pushed])
        store.pushpull("a", pushed, priority=5)
        found[f"{kind} over"] = plain(pushed)
    store = mx.kv.create("local")
    for i, key in enumerate("rs"):
        store.init(key, nd.array(numbers(5, 2, seed=i)).tostype("row_sparse"))
    outs = [[nd.zeros((5, 2), stype="row_sparse") for _ in range(2)] for _ in range(2)]
    ids = [[nd.array([0, 3]), nd.array([4])], [nd.array([1]), nd.array([2, 3])]]
    store.row_sparse_pull(["r", "s"], out=outs, row_ids=ids, priority=4)
    found["rows"] = plain(outs)
    store.push("s", [nd.array(numbers(5, 2, seed=i)).tostype("row_sparse") for i in range(3)])
    store.row_sparse_pull("s", out=outs[0], row_ids=nd.arange(5))
    found["sum"] = plain(outs[0])
    return found


@ask
def cells_of_old(mx, folder):
    """Convolutional cells with initializers and layouts, fused cells in both directions, lists without a length."""
    rnn, sym = mx.rnn, mx.sym
    found = {}
    for kind in ("ConvRNNCell", "ConvLSTMCell", "ConvGRUCell"):
        for name, shape, given in (
            ("plain", (2, 3, 6, 6), {}), ("last", (2, 6, 6, 3), {"conv_layout": "NHWC"}),
            ("initializers", (2, 3, 6, 6), {
                "i2h_weight_initializer": "ones", "h2h_weight_initializer": "zeros", "i2h_bias_initializer": "ones",
                "h2h_bias_initializer": "one",
            }),
        ):  # fmt: skip

            def made(kind=kind, shape=shape, given=given):
                cell = getattr(rnn, kind)(shape, 4, **given)
                outs, _ = cell.unroll(2, [sym.var("a"), sym.var("b")], cell.begin_state(func=sym.zeros, batch_size=2))
                own = {n: a.get("__init__") for n, a in sorted(outs[1].attr_dict().items()) if "__init__" in a}
                shapes = outs[1].infer_shape(a=shape, b=shape)
                return [own, [list(s) for s in shapes[0]], [list(s) for s in shapes[1]], cell.state_info]

            found[f"{kind} {name}"] = attempt(made)
    for name, left, right in (("fused", 1, 1), ("mixed", 1, 0), ("plain", 0, 0)):
        for merge in (None, True, False):

            def both(left=left, right=right, merge=merge):
                cells = [
                    rnn.FusedRNNCell(2, mode="rnn_tanh", prefix=p) if fused else rnn.RNNCell(2, prefix=p)
                    for p, fused in (("l_", left), ("r_", right))
                ]
                cell = rnn.BidirectionalCell(*cells)
                outs, _ = cell.unroll(3, sym.var("x"), layout="NTC", merge_outputs=merge)
                joined = isinstance(outs, sym.Symbol)
                group = outs if joined else sym.Group(list(outs))
                shapes = dict(zip(group.list_arguments(), group.infer_shape(x=(2, 3, 4))[0]))
                given = {n: mx.nd.array(numbers(*s, seed=len(n))) for n, s in sorted(shapes.items())}
                return [joined, group.list_outputs(), group.eval(**given)]

            found[f"{name} {merge}"] = attempt(both)
    fused = rnn.FusedRNNCell(2, mode="gru", prefix="f_")
    outs, _ = fused.unroll(None, [sym.var("a"), sym.var("b")], merge_outputs=True)
    found["no length"] = [list(s) for s in outs.infer_shape(a=(2, 4), b=(2, 4))[1]]
    return found


@ask
def rates_that_were_zero(mx, folder):
    """LARS whose rate was 0 before, with momentum corrected and not; LBSGD that begins in a later epoch."""
    found = {}
    for name, kind, given in (
        ("lars", "lars", {"momentum": 0.9}), ("lars uncorrected", "lars", {"momentum": 0.9, "momentum_correction": False}),
        ("lars lazy", "lars", {"momentum": 0.9, "lazy_update": False}),
        *((f"lbsgd {s} {w} {b}", "lbsgd", {
            "warmup_strategy": s, "warmup_epochs": w, "begin_epoch": b, "batch_scale": 2, "updates_per_epoch": 2,
        }) for s in ("linear", "power2", "sqrt", "lars", "other") for w, b in ((0, 0), (2, 0), (2, 1))),
    ):  # fmt: skip
        optimizer = mx.optimizer.create(kind, learning_rate=0.0 if kind == "lars" else 0.1, **given)
        updater = mx.optimizer.get_updater(optimizer)
        weight = mx.nd.array(numbers(3, 2))
        shown = []
        for i, rate in enumerate((0.0, 0.2, 0.1, 0.4) if kind == "lars" else (0.1,) * 5):
            optimizer.set_learning_rate(rate)
            updater(0, mx.nd.array(numbers(3, 2, seed=i)), weight)
            shown.append(plain(weight))
        found[name] = shown
    return found


@ask
def bodies_of_control_flow(mx, folder):
    """Bodies that give nothing, or what they were given, and a loop variable that is there twice."""
    sym, flow = mx.sym, mx.sym.contrib
    x, s = mx.nd.array(numbers(3, 2)), mx.nd.array([0.5, 2])
    found = {}
    for name, make in (
        ("foreach of nothing", lambda: flow.foreach(lambda d, t: ([], t + d), sym.var("x"), sym.var("s"))),
        ("foreach as it is", lambda: flow.foreach(lambda d, t: (d, t), sym.var("x"), sym.var("s"))),
        ("while twice", lambda: flow.while_loop(
            lambda a, b: sym.sum(a) < 9, lambda a, b: ([a - b], [a + 1, b + a]), [sym.var("s"), sym.var("s")], 4,
        )),
        ("while of nothing", lambda: flow.while_loop(
            lambda a: sym.sum(a) < 9, lambda a: ([], [a + 1]), [sym.var("s")], 4,
        )),
    ):  # fmt: skip

        def run(make=make):
            made = sym.Group([part for parts in make() for part in (parts if isinstance(parts, list) else [parts])])
            given = {n: v for n, v in (("x", x), ("s", s)) if n in made.list_arguments()}
            return [made.list_arguments(), made.eval(**given)]

        found[name] = attempt(run)
    return found


@ask
def frozen_beside_sparse(mx, folder):
    """Layers that are not trained come to their shapes, and the second is set, when a sparse table has been trained for a while."""
    gluon, nd = mx.gluon, mx.nd
    table = _sparse_table(gluon)
    dense = gluon.nn.HybridSequential(prefix="d_")
    with dense.name_scope():
        dense.add(gluon.nn.Dense(3), gluon.nn.Dense(2))
    dense.collect_params().setattr("grad_req", "null")
    dense.initialize(mx.init.One())
    params = {"table": table, **{n: p for n, p in dense.collect_params().items()}}
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.1, "momentum": 0.9}, kvstore="local")
    rows = nd.array([0, 1, 2, 3])
    found = []
    for turn in range(4):
        if turn == 2:
            dense(nd.array(numbers(3, 4)))
            dense[1].weight.set_data(nd.array(numbers(2, 3, seed=2)))
        with mx.autograd.record():
            whole = table.row_sparse_data(rows)
            loss = (nd.dot(nd.array(numbers(3, 4)), whole) ** 2).sum()
        loss.backward()
        trainer.step(2)
        found.append(plain(table.row_sparse_data(rows)))
    return [found, dense[0].weight.data(), dense[1].weight.data()]
