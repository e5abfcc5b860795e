"""Rare uses of executors, modules, functions with gradients of their own, and loops inside loops."""

# ruff: noqa: B023, E501  calls are made at once
from __future__ import annotations

import json

from .modules import net, weights
from .questions import ask, attempt, numbers, plain


@ask
def executors_again(mx, folder):
    """Shared arrays, inputs of other shapes, gradients twice, modes that stay."""
    sym, nd, found = mx.sym, mx.nd, {}
    x = sym.var("x")
    layer = sym.FullyConnected(x, num_hidden=3, name="fc")
    for kind in ("float32", "float64"):
        first = layer.simple_bind(mx.cpu(), x=(2, 4), type_dict={"x": kind})
        first.arg_dict["fc_weight"][:] = numbers(3, 4)

        def shared(kind=kind, first=first):
            other = layer.simple_bind(
                mx.cpu(),
                x=(5, 4),
                type_dict={"x": "float32"},
                shared_exec=first,
                shared_arg_names=["fc_weight"],
                shared_buffer={},
            )
            return [other.arg_dict["fc_weight"], other.arg_dict["fc_bias"].shape]

        if kind == "float32":
            found["shared"] = attempt(shared)
    executor = layer.simple_bind(mx.cpu(), x=(2, 4))
    for name, array in executor.arg_dict.items():
        array[:] = numbers(*array.shape, seed=len(name))
    for shape in ((4, 2), (8,), (2, 2, 2), (1, 4), (2, 4)):
        found[f"fed {shape}"] = attempt(lambda shape=shape: executor.forward(x=nd.array(numbers(*shape))))
    found["unknown"] = attempt(lambda: executor.forward(y=nd.ones((2, 4))))
    for request in ("write", "add"):
        executor = layer.simple_bind(mx.cpu(), request, x=(2, 4))
        for name, array in executor.arg_dict.items():
            array[:] = numbers(*array.shape, seed=len(name))
        with mx.autograd.record():
            out = executor.forward(is_train=True)[0]
            modes = [mx.autograd.is_recording(), mx.autograd.is_training()]
        modes += [mx.autograd.is_recording(), mx.autograd.is_training()]
        executor.backward([nd.ones((2, 3))])
        executor.backward([nd.array(numbers(2, 3))])
        found[f"twice {request}"] = [out, executor.grad_dict["fc_weight"], executor.grad_dict["x"], modes]
    return plain(found)


@ask
def modules_again(mx, folder):
    """Parameters that nobody has, outputs from some to some, batches that do not fit, labels along the second axis, files."""
    found, symbol = {}, net(mx)
    own, aux = weights(mx, symbol, data=(4, 5), softmax_label=(4,))
    for extra in (False, True):

        def given(extra=extra):
            module = mx.mod.Module(symbol)
            module.bind([("data", (4, 5))], [("softmax_label", (4,))])
            module.init_params(
                arg_params={**own, "more": mx.nd.ones(2)}, aux_params={**aux, "less": mx.nd.ones(3)}, allow_extra=extra
            )
            return sorted(module.get_params()[0])

        found[f"extra {extra}"] = attempt(given)
    for labels in (3, 5, 4):
        found[f"labels {labels}"] = attempt(
            lambda labels=labels: mx.mod.Module(symbol).bind([("data", (4, 5))], [("softmax_label", (labels,))])
        )
    module = mx.mod.Module(symbol)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(arg_params=own, aux_params=aux)
    two = mx.sym.Group([mx.sym.var("a") * 2, mx.sym.var("b") * 3])
    pair = mx.mod.Module(two, ["a", "b"], None)
    pair.bind([("a", (2, 3)), ("b", (2, 3))])
    pair.init_params()
    found["too few"] = attempt(lambda: pair.forward(mx.io.DataBatch([mx.nd.ones((2, 3))], [])) and 0)
    fixed = mx.mod.Module(symbol, fixed_param_names=["fc1_weight", "fc1_bias"])
    fixed.bind([("data", (4, 5))], [("softmax_label", (4,))])
    fixed.init_params(arg_params=own, aux_params=aux)
    fixed.init_optimizer(optimizer_params={"learning_rate": 0.5})
    fixed.forward_backward(mx.io.DataBatch([mx.nd.array(numbers(4, 5))], [mx.nd.array([0, 1, 2, 0])]))
    fixed.update()
    found["fixed"] = dict(sorted(plain(fixed.get_params()[0]).items()))
    x = mx.sym.var("x")
    layouts = ["TNC", "NTC", "TNC"]
    outs = [x + 1, mx.sym.swapaxes(x * 2, dim1=0, dim2=1), x * 3]
    group = mx.sym.Group(outs)
    for i, layout in enumerate(layouts):
        group[i]._set_attr(__layout__=layout)
    for devices in (1, 2):
        many = mx.mod.Module(group, ["x"], None, context=[mx.cpu(i) for i in range(devices)])
        many.bind([mx.io.DataDesc("x", (3, 4, 2), layout="TNC")])
        many.init_params()
        many.forward(mx.io.DataBatch([mx.nd.array(numbers(3, 4, 2))], []), is_train=False)
        for begin, end in ((0, None), (0, 2)) if devices == 2 else ((0, None), (1, None), (1, 2), (2, 3), (0, 2)):
            found[f"outputs {devices} {begin} {end}"] = plain(many._exec_group.get_outputs(True, begin, end))
    data = mx.sym.var("data")
    scores = mx.sym.SoftmaxOutput(
        mx.sym.reshape(data, shape=(-1, 3)), mx.sym.reshape(mx.sym.var("label"), shape=(-1,)), name="s"
    )
    for devices in (1, 2):
        timed = mx.mod.Module(scores, ["data"], ["label"], context=[mx.cpu(i) for i in range(devices)])
        timed.bind([mx.io.DataDesc("data", (2, 4, 3), layout="TNC")], [mx.io.DataDesc("label", (2, 4), layout="TN")])
        timed.init_params()
        batch = mx.io.DataBatch([mx.nd.array(numbers(2, 4, 3))], [mx.nd.array([[0, 1, 2, 0], [1, 1, 0, 2]])])
        timed.forward(batch, is_train=False)
        seen = []

        def note(label, pred):
            seen.append([label, pred])
            return 0.0

        timed.update_metric(mx.metric.CustomMetric(note, allow_extra_outputs=True), batch.label)
        found[f"labels of {devices}"] = seen
    cast = mx.sym.exp(mx.sym.amp_cast(mx.sym.var("data"), dtype="float32"))
    plainly = mx.mod.Module(cast, label_names=None)
    plainly.bind([("data", (2, 3))])
    plainly.init_params()
    for name, given in {"usual": {}, "kept": {"remove_amp_cast": False}}.items():
        plainly.save_checkpoint(str(folder / name), 2, **given)
        found[f"file {name}"] = [n["op"] for n in json.loads((folder / f"{name}-symbol.json").read_text())["nodes"]]
    return found


@ask
def own_functions_again(mx, folder):
    """autograd.Function of several inputs and outputs of other dtypes, some unused; what kind is given back; modes inside."""
    nd, ag, found = mx.nd, mx.autograd, {}

    class Mixed(ag.Function):
        def __init__(self, kind):
            super().__init__()
            self.kind = kind

        def forward(self, a, b):
            self.save_for_backward(a, b)
            told.append(["forward", ag.is_recording(), ag.is_training()])
            return self.kind([a * b, a + 1, b.astype("float64") * 2])

        def backward(self, p, q, r):
            told.append(
                ["backward", ag.is_recording(), ag.is_training(), *[[g.dtype.__name__, g.asnumpy()] for g in (p, q, r)]]
            )
            a, b = self.saved_tensors
            return p * b + q, p * a + 2 * r.astype("float32")

    for kind in (list, tuple):
        for used in ((0, 1, 2), (0,), (2,), (1, 0)):
            for training in (True, False):
                told = []
                a, b = nd.array(numbers(2, 3)), nd.array(numbers(2, 3, seed=4))
                a.attach_grad()
                b.attach_grad()
                with ag.record(training):
                    out = Mixed(kind)(a, b)
                    loss = sum((out[i].astype("float32") * (i + 2)).sum() for i in used)
                loss.backward(train_mode=training)
                found[f"{kind.__name__} {used} {training}"] = [type(out).__name__, out, a.grad, b.grad, told]
    for dtype in ("float32", "float64"):
        x, y = nd.array(numbers(2, 2), dtype=dtype), nd.array(numbers(3), dtype=dtype)
        x.attach_grad()
        y.attach_grad()
        with ag.record():
            z = (x * x * x).sum()
        found[f"grad {dtype}"] = attempt(lambda: [[g.dtype.__name__, g] for g in ag.grad([z], [x], retain_graph=True)])
        found[f"after {dtype}"] = [attempt(lambda: z.backward()), x.grad, attempt(lambda: z.backward())]
    one, two = nd.array(numbers(3)), nd.array(numbers(3, seed=1))
    for argnum in (None, 0, 1, [1], [1, 0]):
        both = mx.contrib.autograd.grad_and_loss(lambda p, q: p * p * q, argnum)
        found[f"grad_and_loss {argnum}"] = list(both(one, two))
        found[f"grad {argnum}"] = list(mx.contrib.autograd.grad(lambda p, q: p * p * q, argnum)(one, two))
    return plain(found)


@ask
def loops_inside_loops(mx, folder):
    """Loops that read several outputs of one node from outside, states in another order, loops inside loops."""
    sym, nd, found = mx.sym, mx.nd, {}
    x, w = numbers(3, 2, 4), numbers(2, 4, seed=7)

    def run(made, inputs):
        group = sym.Group(list(made)) if isinstance(made, (list, tuple)) else made
        executor = group.bind(
            mx.cpu(), {n: nd.array(a) for n, a in inputs.items()}, {n: nd.zeros(a.shape) for n, a in inputs.items()}
        )
        outs = executor.forward(is_train=True)
        executor.backward([nd.array(numbers(*o.shape, seed=i)) for i, o in enumerate(outs)])
        return [outs, {n: executor.grad_dict[n] for n in inputs}, sorted(group.list_arguments())]

    def cut():
        return sym.SliceChannel(sym.var("w"), num_outputs=2, axis=0, squeeze_axis=True)

    def outside():
        halves = cut()
        outs, states = sym.contrib.foreach(
            lambda p, s: (p * halves[1] + s, s + halves[0]), sym.var("x"), sym.zeros((2, 4))
        )
        return [outs, states]

    def swapped():
        halves = cut()
        outs, states = sym.contrib.foreach(
            lambda p, s: ([p + s[1], p * s[0]], [s[1] * 0.5, s[0] + p]),
            sym.var("x"),
            [halves[1] * sym.ones((2, 4)), halves[0] + sym.zeros((2, 4))],
        )
        return [*outs, *states]

    def same():
        outs, states = sym.contrib.foreach(
            lambda p, s: ([p * 2 + s, s], [s, p + s]) and ([s * p, s * p], s * p), sym.var("x"), sym.var("w")
        )
        return [*outs, states]

    def nested():
        def row(p, s):
            inner, last = sym.contrib.foreach(
                lambda q, t: (q * t + s, t + q), p, sym.slice_axis(s, axis=0, begin=0, end=1).reshape((4,))
            )
            return inner, s + sym.broadcast_mul(inner, last.reshape((1, 4)))

        outs, states = sym.contrib.foreach(row, sym.var("x"), sym.var("w"))
        return [outs, states]

    for make in (outside, swapped, same, nested):
        found[make.__name__] = attempt(lambda make=make: run(make(), {"x": x, "w": w}))
    return found


@ask
def losses_again(mx, folder):
    """Losses with weights of nothing and None, other axes of batches and classes, weights of samples, inputs of another form."""
    gl, nd, found = mx.gluon.loss, mx.nd, {}
    p, q = nd.array(numbers(3, 4, 2)), nd.array(numbers(3, 4, 2, seed=5))
    some = nd.array(abs(numbers(3, 1, 1, seed=2)))
    logs, shares = nd.log_softmax(p, axis=1), nd.softmax(q, axis=1)
    positive = nd.array(abs(numbers(2, seed=9)) + 0.5)
    makes = {
        "l2": (gl.L2Loss, (p, q)), "l1": (gl.L1Loss, (p, q)), "huber": (lambda **k: gl.HuberLoss(rho=0.3, **k), (p, q)),
        "hinge": (lambda **k: gl.HingeLoss(margin=0.7, **k), (p, q > 0)), "squared": (lambda **k: gl.SquaredHingeLoss(margin=0.7, **k), (p, q)),
        "logistic": (gl.LogisticLoss, (p, nd.sign(q))), "binary": (lambda **k: gl.LogisticLoss(label_format="binary", **k), (p, q > 0)),
        "bce": (gl.SigmoidBCELoss, (p, q > 0)), "bce sure": (lambda **k: gl.SigmoidBCELoss(from_sigmoid=True, **k), (nd.sigmoid(p), nd.sigmoid(q))),
        "ce": (lambda **k: gl.SoftmaxCELoss(axis=1, sparse_label=False, **k), (p, shares)),
        "ce sparse": (lambda **k: gl.SoftmaxCELoss(axis=1, **k), (p, nd.array([[0, 1], [2, 3], [1, 0]]))),
        "kl": (gl.KLDivLoss, (logs, shares)), "kl of scores": (lambda **k: gl.KLDivLoss(from_logits=False, axis=1, **k), (p, shares)),
        "poisson": (gl.PoissonNLLLoss, (p, nd.array(abs(numbers(3, 4, 2, seed=7)) * 4))),
    }  # fmt: skip
    for name, (make, inputs) in makes.items():
        for given in (
            {},
            {"weight": None} if name != "l2" else {},
            {"weight": 0},
            {"weight": 2.5},
            {"batch_axis": 1},
            {"batch_axis": 2, "weight": 0.5},
        ):

            def told(make=make, inputs=inputs, given=given, more=()):
                for array in inputs[:1]:
                    array.attach_grad()
                with mx.autograd.record():
                    out = make(**given)(*inputs, *more)
                out.backward()
                return [out, inputs[0].grad]

            found[f"{name} {sorted(given.items())}"] = attempt(told)
            if given in ({}, {"weight": 2.5}):
                found[f"{name} {sorted(given.items())} weighted"] = attempt(lambda: told(more=(some,)))
        if name.startswith("bce"):
            found[f"{name} positive"] = attempt(lambda make=make, inputs=inputs: make()(*inputs, None, positive))
    a, b, c = (nd.array(numbers(4, 3, seed=s)) for s in range(3))
    label = nd.array([1, -1, 1, -1])
    for given in ({}, {"margin": 0.3}, {"margin": -0.4, "weight": 2.0}):
        found[f"cosine {sorted(given.items())}"] = attempt(
            lambda given=given: gl.CosineEmbeddingLoss(**given)(a, b, label)
        )
        found[f"cosine flat {sorted(given.items())}"] = attempt(
            lambda given=given: gl.CosineEmbeddingLoss(**given)(a.reshape((2, 6)), b, label)
        )
        found[f"triplet {sorted(given.items())}"] = attempt(lambda given=given: gl.TripletLoss(**given)(a, b, c))
    found["triplet of columns"] = attempt(lambda: gl.TripletLoss(batch_axis=1)(a, b, c))
    for given in ({}, {"smoothing_parameter": 0.1}):
        found[f"sdml {sorted(given)}"] = attempt(lambda given=given: gl.SDMLLoss(**given)(a, b))
    scores, classes = nd.array(numbers(2, 6, 4)), nd.array([[1, 0, 2], [2, 1, -1]])
    for layout, turned in (("NTC", "NT"), ("TNC", "NT"), ("NTC", "TN"), ("TNC", "TN")):
        made = gl.CTCLoss(layout, turned)
        x = scores if layout == "NTC" else scores.transpose((1, 0, 2))
        y = classes if turned == "NT" else classes.T
        for lengths in (
            (None, None),
            (nd.array([6, 5]), None),
            (None, nd.array([2, 1])),
            (nd.array([4, 6]), nd.array([1, 2])),
        ):
            found[f"ctc {layout} {turned} {[length is None for length in lengths]}"] = attempt(
                lambda: made(x, y, *lengths)
            )
    return found


@ask
def summaries_again(mx, folder):
    """Tables of networks with joined, cut and grouped layers, for columns anywhere."""
    import contextlib
    import io

    sym, found = mx.sym, {}
    x = sym.var("x")
    parts = sym.SliceChannel(x, num_outputs=2, name="cut")
    joined = sym.Concat(parts[0], parts[1], x, dim=1, name="join")
    conv = sym.Convolution(joined, kernel=(3, 2), num_filter=6, num_group=2, no_bias=True, name="conv")
    pooled = sym.Pooling(sym.BatchNorm(conv, name="bn"), kernel=(2, 2), name="pool")
    top = sym.FullyConnected(sym.Flatten(pooled, name="flat"), num_hidden=5, no_bias=True, name="fc")
    both = sym.FullyConnected(
        sym.Concat(top, sym.Flatten(x, name="all"), dim=1, name="both"), num_hidden=3, name="last"
    )
    table = sym.Embedding(sym.var("i"), input_dim=7, output_dim=4, name="table")
    for name, symbol, shapes in (
        ("both", both, {"x": (2, 4, 5, 6)}),
        ("without shapes", top, None),
        ("table", table, {"i": (2, 3)}),
    ):
        for given in (
            {},
            {"line_length": 60},
            {"positions": [0.3, 0.6, 0.75, 1.0]},
            {"positions": [30, 50, 60, 90], "line_length": 90},
        ):
            text = io.StringIO()

            def shown(symbol=symbol, shapes=shapes, given=given, text=text):
                with contextlib.redirect_stdout(text):
                    mx.viz.print_summary(symbol, shapes, **given)
                return text.getvalue().splitlines()

            found[f"{name} {sorted(given.items())}"] = attempt(shown)
    return found


@ask
def buckets_again(mx, folder):
    """Buckets that come before they are asked for, predictions kept, totals over resets, optimizers of rare settings."""
    nd, found = mx.nd, {}

    def generate(key):
        data = mx.sym.var("data")
        layer = mx.sym.FullyConnected(mx.sym.sum(data, axis=1), num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(layer, name="softmax"), ("data",), ("softmax_label",)

    def batch(key, seed=0):
        return mx.io.DataBatch(
            [nd.array(numbers(4, key, 5, seed=seed))], [nd.array([0, 1, 2, 1])], bucket_key=key,
            provide_data=[mx.io.DataDesc("data", (4, key, 5))], provide_label=[mx.io.DataDesc("softmax_label", (4,))],
        )  # fmt: skip

    made = mx.mod.BucketingModule(generate, 6)
    made.bind(batch(6).provide_data, batch(6).provide_label)
    made.init_params(mx.init.Constant(0.1))
    made.init_optimizer(optimizer_params={"learning_rate": 0.5})
    told = []
    made.forward(batch(6), is_train=True)
    for key in (3, 6, 2):
        made.prepare(batch(key))
        told.append([made._curr_bucket_key, [list(d.shape) for d in made.data_shapes], sorted(made._buckets)])
        made.backward()
        made.update()
        made.forward(batch(key), is_train=True)
        told.append([made._curr_bucket_key, made.get_outputs()[0].asnumpy()])
    found["prepared"] = plain(told)
    found["after"] = dict(sorted(plain(made.get_params()[0]).items()))
    simple = mx.mod.Module(mx.sym.var("data") * 2, label_names=None)
    data = mx.io.NDArrayIter(numbers(5, 3), batch_size=2)
    simple.bind(data.provide_data, for_training=False)
    simple.init_params()
    found["predicted"] = plain(
        [simple.predict(data), simple.predict(data, merge_batches=False), simple.predict(data, always_output_list=True)]
    )
    found["of an array"] = plain(simple.predict(nd.array(numbers(2, 3))))
    for rate, scheduler in ((0.1, 0.4), (0.4, 0.1), (None, 0.3), (0.2, None)):
        plan = None if scheduler is None else mx.lr_scheduler.FactorScheduler(3, 0.5, base_lr=scheduler)
        for clip in (None, 0.05, 0, -1):

            def stepped(rate=rate, plan=plan, clip=clip):
                made = (
                    mx.optimizer.SGD(learning_rate=rate, lr_scheduler=plan, clip_gradient=clip)
                    if rate is not None
                    else mx.optimizer.SGD(lr_scheduler=plan, clip_gradient=clip)
                )
                updater, w = mx.optimizer.get_updater(made), nd.array(numbers(3))
                for _ in range(2):
                    updater(0, nd.array(numbers(3, seed=1)), w)
                return [w, made.learning_rate]

            found[f"sgd {rate} {scheduler} {clip}"] = attempt(stepped)
    for kind in ("AdaGrad", "Adam", "DCASGD", "SGLD", "AdaDelta", "Nadam", "Ftrl"):
        for clip in (0, 0.02):

            def limited(kind=kind, clip=clip):
                made = getattr(mx.optimizer, kind)(clip_gradient=clip, wd=0.01)
                updater, w = mx.optimizer.get_updater(made), nd.array(numbers(4))
                for i in range(2):
                    updater(0, nd.array(numbers(4, seed=i)), w)
                return w

            if kind != "SGLD":
                found[f"{kind} {clip}"] = attempt(limited)
    return found


@ask
def watching_again(mx, folder):
    """Monitors that begin twice, statistics of every shape; updaters whose weights are named in bytes."""
    nd, found = mx.nd, {}

    def watched(interval, *shape):
        monitor = mx.mon.Monitor(interval, stat_func=lambda a: a * 1, pattern="up_output")
        executor = mx.sym.square(mx.sym.var("x"), name="up").simple_bind(mx.cpu(), x=shape)
        monitor.install(executor)
        return monitor, executor

    for interval in (1, 2):
        monitor, executor = watched(interval, 1)
        told = []
        for step in range(6):
            monitor.tic()
            executor.forward(x=nd.array([step]))[0].wait_to_read()
            if step in (1, 4, 5):
                told.append([[row[0], row[1], row[2].split()] for row in monitor.toc()])
        found[f"begun twice {interval}"] = told
    for shape in ((1,), (1, 1), (2,), (1, 2)):
        monitor, executor = watched(1, *shape)
        monitor.tic()
        executor.forward(x=nd.ones(shape) * 0.5)[0].wait_to_read()
        found[f"shape {shape}"] = [list(row) for row in monitor.toc()]
    for names in (["a", "b"], [0, 1]):
        updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.5, learning_rate=0.25))
        w = [nd.array(numbers(3)), nd.array(numbers(2, 2))]
        for _ in range(2):
            for i, name in enumerate(names):
                updater(name.encode() if isinstance(name, str) else name, nd.array(numbers(*w[i].shape, seed=4)), w[i])
        found[f"updated {names}"] = [w, sorted(map(str, updater.states))]
    return plain(found)


@ask
def estimators_again(mx, folder):
    """Checkpoints beside those of other models, initializers over two devices, metrics that validation does not share."""
    e, found = mx.gluon.contrib.estimator, {}

    def made(devices=1, initializer=None, metrics=None, prefix="n_"):
        net = mx.gluon.nn.Dense(2, in_units=3, prefix=prefix)
        return e.Estimator(
            net,
            mx.gluon.loss.L2Loss(),
            train_metrics=metrics,
            initializer=initializer,
            context=[mx.cpu(i) for i in range(devices)],
        )

    for devices in (1, 2):
        for name, initializer in (("constant", mx.init.Constant(0.25)), ("none", None)):
            estimator = made(devices, initializer)
            held = estimator.net.collect_params()["n_weight"]
            values = [held.data(c) for c in held.list_ctx()] if initializer else []
            found[f"initialized {devices} {name}"] = plain([[str(c) for c in held.list_ctx()], values])
    both = mx.metric.CompositeEvalMetric([mx.metric.MSE(), mx.metric.MAE()])
    estimator = made(metrics=[both, mx.metric.RMSE()])
    estimator.net.initialize(mx.init.Constant(0.5), force_reinit=True)
    for metric in estimator.train_metrics:
        metric.update([mx.nd.array(numbers(4))], [mx.nd.array(numbers(4, seed=3))])
    found["shared"] = [[m.name, m.get()] for m in (*estimator.train_metrics, *estimator.val_metrics)]
    data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(numbers(8, 3), numbers(8, 2)), 4)
    for prefix, epochs in (("model", 2), ("model2", 4), ("a-model", 6)):
        estimator = made(initializer=mx.init.Constant(0.25), metrics=[mx.metric.MSE()])
        estimator.fit(data, epochs=epochs, event_handlers=[e.CheckpointHandler(str(folder), model_prefix=prefix)])
    for prefix in ("model", "model2", "a-model", "other", "mode."):
        estimator = made(initializer=mx.init.Constant(0.25), metrics=[mx.metric.MSE()])
        handler = e.CheckpointHandler(str(folder), model_prefix=prefix, resume_from_checkpoint=True, max_checkpoints=3)
        found[f"resumed {prefix}"] = attempt(lambda: estimator.fit(data, epochs=8, event_handlers=[handler]))
        found[f"trained {prefix}"] = plain([handler.trained_epoch, estimator.net.weight.data()])
    return found
