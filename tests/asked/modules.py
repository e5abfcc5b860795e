"""Module and its kin, Trainer and stores in their settings: devices, stores, requests for gradients, files, buckets, callbacks."""

# ruff: noqa: E731, N806  calls are made at once; F and letters are called as in every MXNet program
from __future__ import annotations

import numpy as np

from .questions import ask, attempt, logged, numbers, plain


def net(mx, dropout=0.0):
    """Two dense layers with a norm between."""
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    hidden = mx.sym.BatchNorm(mx.sym.Activation(hidden, act_type="tanh"), fix_gamma=False, momentum=0.7, name="bn")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax")


def two_inputs(mx):
    """Two inputs, two outputs of which one is no loss."""
    left = mx.sym.FullyConnected(mx.sym.var("a"), num_hidden=2, name="fa")
    right = mx.sym.FullyConnected(mx.sym.var("b"), num_hidden=2, name="fb")
    return mx.sym.Group(
        [mx.sym.LinearRegressionOutput(left + right, mx.sym.var("y"), name="out"), mx.sym.square(left, name="sq")]
    )


def weights(mx, symbol, **shapes):
    arguments, _, states = symbol.infer_shape(**shapes)
    own = {
        n: mx.nd.array(numbers(*s, seed=i))
        for i, (n, s) in enumerate(zip(symbol.list_arguments(), arguments))
        if n not in shapes
    }
    aux = {
        n: mx.nd.array(numbers(*s, seed=9 + i, low=0.5, high=1.5))
        for i, (n, s) in enumerate(zip(symbol.list_auxiliary_states(), states))
    }
    return own, aux


def examples(mx, count=10, size=4, **settings):
    return mx.io.NDArrayIter(numbers(count, 5), (np.arange(count) * 7 % 3).astype(np.float32), size, **settings)


def params(module):
    arguments, states = module.get_params()
    return [dict(sorted(arguments.items())), dict(sorted(states.items()))]


def ready(mx, symbol=None, shapes=None, labels=None, **given):
    """A bound module with weights."""
    symbol = net(mx) if symbol is None else symbol
    bind = {k: given.pop(k) for k in ("inputs_need_grad", "grad_req", "for_training") if k in given}
    module = mx.mod.Module(symbol, **given)
    shapes, labels = shapes or [("data", (4, 5))], [("softmax_label", (4,))] if labels is None else labels
    module.bind(shapes, labels or None, **bind)
    own, aux = weights(mx, symbol, **{n: s for n, s in [*shapes, *labels]})
    module.init_params(arg_params=own, aux_params=aux)
    return module


@ask
def devices_and_stores(mx, folder):
    """Three steps on one, two and three devices, with shares of work, through all stores, by optimizers with states."""
    found = {}
    for devices, load in ((1, None), (2, None), (3, [1, 3, 2])):
        for store in (None, "local", "device"):
            for optimizer, settings in (
                ("sgd", {"learning_rate": 0.2, "momentum": 0.5, "wd": 0.1}),
                ("adam", {"learning_rate": 0.05}),
            ):
                if (optimizer == "adam" and (load or devices == 3)) or (store == "local" and (load or devices == 3)):
                    continue
                module = ready(
                    mx, shapes=[("data", (6, 5))], labels=[("softmax_label", (6,))],
                    context=[mx.cpu(i) for i in range(devices)], work_load_list=load,
                    fixed_param_names=["fc1_bias"] if load else None,
                )  # fmt: skip
                module.init_optimizer(kvstore=store, optimizer=optimizer, optimizer_params=settings)
                metric = mx.metric.create(["acc", "ce"])
                for batch in examples(mx, 18, 6):
                    module.forward_backward(batch)
                    module.update()
                    module.update_metric(metric, batch.label)
                shapes = [[list(part.shape) for part in out] for out in module.get_outputs(merge_multi_context=False)]
                key = f"{devices} {load} {store} {optimizer}"
                found[key] = [params(module), metric.get(), shapes, module.get_outputs()[0]]
    return found


@ask
def gradients_of_modules(mx, folder):
    """Requests for gradients by a word, a list and a dict; of inputs; out_grads; states; several inputs."""
    found = {}
    batch = next(examples(mx))
    for key, request in {
        "write": "write",
        "add": "add",
        "null": "null",
        "dict": {"fc1_weight": "add", "fc2_weight": "write", "fc2_bias": "null", "data": "write"},
    }.items():
        module = ready(mx, grad_req=request, inputs_need_grad=key != "null", context=[mx.cpu(0), mx.cpu(1)])
        for _ in range(2):
            module.forward(batch, is_train=True)
            module.backward()
        group = module._exec_group
        names = [n for n in group.param_names]
        kept = {n: [g for g in grads] for n, grads in zip(names, group.grad_arrays) if grads[0] is not None}
        found[key] = [
            kept if key != "null" else 0,
            attempt(module.get_input_grads),
            attempt(lambda m=module: m.get_input_grads(False)),
        ]
    symbol = two_inputs(mx)
    module = ready(
        mx, symbol, [("a", (4, 3)), ("b", (4, 2))], [("y", (4, 2))], data_names=["a", "b"], label_names=["y"],
        inputs_need_grad=True,
    )  # fmt: skip
    arrays = [mx.nd.array(numbers(4, 3)), mx.nd.array(numbers(4, 2))]
    module.forward(mx.io.DataBatch(arrays, [mx.nd.array(numbers(4, 2, seed=4))]), is_train=True)
    module.backward([mx.nd.array(numbers(4, 2, seed=5)), mx.nd.array(numbers(4, 2, seed=6))])
    found["two"] = [
        module.get_outputs(),
        module.get_input_grads(),
        module.data_names,
        module.output_names,
        module.label_names,
    ]
    found["shapes"] = [
        [list(d) for d in module.data_shapes],
        [list(d) for d in module.label_shapes],
        module.output_shapes,
    ]
    silent = ready(mx, for_training=False)
    silent.forward(batch)
    found["inference"] = [plain(silent.get_outputs()), attempt(lambda: silent.backward()), silent.for_training]
    silent.forward(batch, is_train=False)
    moved = mx.io.DataBatch([mx.nd.array(numbers(2, 5))], [mx.nd.array([0, 1])])
    silent.forward(moved)
    found["smaller batch"] = [
        plain(silent.get_outputs()),
        [list(d) for d in silent.data_shapes],
        [list(d) for d in silent.label_shapes],
    ]
    silent.reshape([("data", (3, 5))], [("softmax_label", (3,))])
    silent.forward(mx.io.DataBatch([mx.nd.array(numbers(3, 5))], None))
    found["reshaped"] = silent.get_outputs()
    state = mx.sym.var("h", init=mx.init.Zero())
    cell = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc") + state, act_type="tanh"
    )
    carried = ready(
        mx, mx.sym.Group([cell, mx.sym.BlockGrad(cell)]), [("data", (4, 5))], [], label_names=None, state_names=["h"]
    )
    carried.set_states(value=0.25)
    carried.forward(batch, is_train=False)
    first = [o.copy() for o in carried.get_outputs()]
    states = [part[0].copy() for part in carried.get_states(False)]
    carried.set_states(states=[[o] for o in first[1:]])
    carried.forward(batch, is_train=False)
    found["states"] = [first, states, carried.get_states(False), carried.get_outputs()]
    return found


@ask
def over_iterators(mx, folder):
    """score, predict, iter_predict and fit: parts, merged or not, callbacks, epochs, metrics, checkpoints taken up again."""
    module, found = ready(mx), {}
    data = examples(mx)
    calls = []
    note = lambda p: calls.append([p.epoch, p.nbatch, p.eval_metric.get()[1]])
    found["score"] = [
        module.score(data, "acc"),
        module.score(
            data,
            ["acc", mx.metric.CrossEntropy()],
            num_batch=2,
            batch_end_callback=[note],
            score_end_callback=note,
            epoch=7,
        ),
        module.score(data, mx.metric.Accuracy(), reset=False),
        calls,
    ]
    found["predict"] = [
        module.predict(data),
        module.predict(data, num_batch=1),
        module.predict(data, merge_batches=False),
        module.predict(data, always_output_list=True),
        module.predict(mx.nd.array(numbers(4, 5))).copy(),
        attempt(lambda: module.predict([1])),
    ]
    data.reset()
    found["predict on"] = [next(data).pad, module.predict(data, reset=False)]
    found["iterated"] = [plain([outs, n, b.pad]) for outs, n, b in module.iter_predict(data, num_batch=3)]

    def fitted(tag, more, symbol=None, **given):
        made = mx.mod.Module(net(mx) if symbol is None else symbol, context=given.pop("context", mx.cpu()))
        own, aux = weights(mx, made.symbol, data=(4, 5), softmax_label=(4,))
        events = []
        with logged() as lines:
            made.fit(
                examples(mx), arg_params=own, aux_params=aux, optimizer_params={"learning_rate": 0.3, "momentum": 0.5},
                batch_end_callback=lambda p: events.append(["batch", p.epoch, p.nbatch]),
                epoch_end_callback=[lambda e, s, a, x: events.append(["epoch", e, sorted(a), sorted(x)])],
                **{"num_epoch": 2, **more},
            )  # fmt: skip
        found[tag] = [lines, events, params(made)]
        return made

    fitted("plain", {})
    fitted("validated", {"eval_data": examples(mx, 7, 2), "validation_metric": "ce", "eval_metric": ["acc", "ce"]})
    fitted("ended", {
        "eval_data": examples(mx, 7, 2), "begin_epoch": 1, "num_epoch": 3,
        "eval_end_callback": lambda p: calls.append(["end", p.epoch, p.nbatch]),
        "eval_batch_end_callback": [lambda p: calls.append(["eval", p.epoch, p.nbatch])],
    })  # fmt: skip
    found["called"] = calls
    first = fitted("store", {"kvstore": "device"}, context=[mx.cpu(0), mx.cpu(1)])
    first.save_checkpoint(str(folder / "m"), 2, save_optimizer_states=True)
    found["files"] = sorted(p.name for p in folder.iterdir())
    for states in (True, False):
        again = mx.mod.Module.load(str(folder / "m"), 2, load_optimizer_states=states, context=[mx.cpu(0), mx.cpu(1)])
        again.fit(
            examples(mx),
            num_epoch=3,
            begin_epoch=2,
            kvstore="device",
            optimizer_params={"learning_rate": 0.3, "momentum": 0.5},
        )
        found[f"taken up {states}"] = params(again)
    first.save_params(str(folder / "p"))
    other = ready(mx)
    other.load_params(str(folder / "p"))
    found["loaded"] = params(other)
    given = {"fc1_bias": mx.nd.array(numbers(4, seed=77))}
    found["set"] = [
        attempt(lambda: other.set_params(given, {})),
        attempt(lambda: other.set_params(given, {}, allow_missing=True)),
        params(other),
        attempt(
            lambda: other.set_params({"fc1_bias": given["fc1_bias"] * 2}, {}, allow_missing=True, force_init=False)
        ),
        params(other),
        attempt(lambda: other.init_params(mx.init.Constant(3))),
        params(other)[0]["fc1_bias"],
        attempt(lambda: other.init_params(mx.init.Constant(3), given, {}, allow_missing=True, force_init=True)),
        params(other),
    ]
    return found


@ask
def optimizers_of_modules(mx, folder):
    """Optimizers that init_optimizer makes of names and objects, again or not; borrowed states; refusals."""
    found = {}
    module = ready(mx)
    with logged() as lines:
        module.init_optimizer(optimizer_params=(("learning_rate", 0.3),))
        found["scaled"] = [
            module._optimizer.rescale_grad,
            module._optimizer.lr,
            sorted(module._optimizer.idx2name.items()),
        ]
        module.init_optimizer(optimizer="adam")
        found["kept"] = type(module._optimizer).__name__
        module.init_optimizer(optimizer="adam", force_init=True, optimizer_params={"rescale_grad": 0.5})
        found["forced"] = [type(module._optimizer).__name__, module._optimizer.rescale_grad]
        module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    found["logged"] = lines
    own = mx.optimizer.SGD(learning_rate=0.1, momentum=0.5, rescale_grad=0.25)
    first = ready(mx, context=[mx.cpu(0), mx.cpu(1)])
    first.init_optimizer(kvstore=None, optimizer=own)
    found["own"] = [first._optimizer is own, sorted(own.idx2name.items()), own.rescale_grad]
    twin = mx.mod.Module(net(mx), context=[mx.cpu(0), mx.cpu(1)])
    twin.bind([("data", (2, 5))], [("softmax_label", (2,))], shared_module=first)
    for made, count in ((first, 4), (twin, 2), (first, 4)):
        made.forward_backward(next(examples(mx, size=count)))
        made.update()
    found["shared"] = [params(first), own.num_update, twin.get_params()[0]["fc2_bias"]]
    first.save_optimizer_states(str(folder / "s"))
    first.forward_backward(next(examples(mx)))
    first.update()
    before = params(first)[0]["fc2_weight"].copy()
    first.load_optimizer_states(str(folder / "s"))
    first.forward_backward(next(examples(mx)))
    first.update()
    found["states"] = [before, params(first)]
    with mx.AttrScope(lr_mult="0.0"):
        still = mx.sym.var("fc_weight", wd_mult=2)
    symbol = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), still, num_hidden=2, name="fc"), mx.sym.var("softmax_label")
    )
    slow = ready(mx, symbol, labels=[("softmax_label", (4, 2))])
    slow.init_optimizer(optimizer_params={"learning_rate": 0.5, "wd": 0.1})
    slow.forward_backward(mx.io.DataBatch([mx.nd.array(numbers(4, 5))], [mx.nd.array(numbers(4, 2))]))
    slow.update()
    found["multiplied"] = params(slow)
    for key, call in {
        "no bind": lambda: mx.mod.Module(net(mx)).init_params(),
        "no params": lambda: mx.mod.Module(net(mx)).forward(None),
        "no optimizer": lambda: ready(mx).update(),
        "data name": lambda: mx.mod.Module(net(mx), data_names=["x"]),
        "fixed name": lambda: mx.mod.Module(net(mx), fixed_param_names=["x"]),
        "bound name": lambda: mx.mod.Module(net(mx)).bind([("x", (4, 5))]),
        "work": lambda: mx.mod.Module(net(mx), work_load_list=[1, 2]),
        "missing": lambda: _initialized(mx, arg_params={}),
        "grad of inputs": lambda: mx.mod.Module(net(mx)).bind(
            [("data", (4, 5))], for_training=False, inputs_need_grad=True
        ),
        "no gradients": lambda: ready(mx).get_input_grads(),
        "not an optimizer": lambda: ready(mx).init_optimizer(optimizer=3),
        "not divisible": lambda: ready(mx, context=[mx.cpu(i) for i in range(5)]),
    }.items():
        found[key] = "none" if not isinstance(attempt(call), dict) else "refused"
    return found


def _initialized(mx, **given):
    module = mx.mod.Module(net(mx))
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(**given)


@ask
def buckets(mx, folder):
    """Parameters, outputs, gradients, metrics, states and names of a BucketingModule, before and after it changes its bucket."""

    def generate(length):
        data = mx.sym.var("data")
        summed = mx.sym.sum(mx.sym.reshape(data, (-1, length, 2)), axis=1) * (1.0 / length)
        hidden = mx.sym.FullyConnected(summed, num_hidden=4)  # of one name in every bucket
        scores = mx.sym.FullyConnected(hidden, num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(scores, name="softmax"), ["data"], ["softmax_label"]

    def batch(length, count=4, seed=0):
        data = mx.nd.array(numbers(count, length * 2, seed=seed))
        label = mx.nd.array(np.arange(count) % 3)
        return mx.io.DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=length,
            provide_data=[("data", data.shape)],
            provide_label=[("softmax_label", label.shape)],
        )

    found = {}
    module = mx.mod.BucketingModule(
        generate, default_bucket_key=5, context=[mx.cpu(0), mx.cpu(1)], fixed_param_names=None
    )
    found["unbound"] = [
        module.data_names,
        module.output_names,
        attempt(lambda: module.data_shapes),
        attempt(lambda: module.symbol),
    ]
    module.bind([("data", (4, 10))], [("softmax_label", (4,))], inputs_need_grad=True)
    symbol = generate(5)[0]
    own, aux = weights(mx, symbol, data=(4, 10), softmax_label=(4,))
    module.init_params(arg_params=own, aux_params=aux)
    found["bound"] = [
        module.data_names, module.output_names, [list(d) for d in module.data_shapes], [list(d) for d in module.label_shapes],
        module.output_shapes, module.symbol.list_arguments(),
    ]  # fmt: skip
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    metric = mx.metric.create("ce")
    found["steps"] = []
    for number, length in enumerate((5, 3, 3, 4, 5, 3)):
        one = batch(length, seed=number)
        if number == 3:
            module.prepare(one)
        module.forward(one, is_train=True)
        module.backward()
        found["steps"].append(
            plain([module.get_outputs(), module.get_input_grads(), [list(d) for d in module.data_shapes]])
        )
        module.update()
        module.update_metric(metric, one.label)
        found["steps"].append(plain([metric.get(), params(module)]))
    module.forward(batch(3, 2), is_train=False)
    found["smaller"] = plain([module.get_outputs(False), module.output_shapes])
    given = {"fc_bias": mx.nd.array([1, 2, 3])}
    module.set_params(given, {}, allow_missing=True)
    module.forward(batch(4), is_train=False)
    found["set"] = plain([params(module), module.get_outputs()])
    module.set_params({**own, "fc_bias": mx.nd.array([3, 2, 1])}, {})
    module.forward(batch(3), is_train=False)
    found["set all"] = plain([params(module), module.get_outputs(), module.get_states(False)])
    module.switch_bucket(6, [("data", (4, 12))], [("softmax_label", (4,))])
    found["switched"] = [[list(d) for d in module.data_shapes], module.for_training]
    module.forward(batch(6), is_train=False)
    found["sixth"] = plain(module.get_outputs())
    monitor = mx.mon.Monitor(1, pattern=".*output", sort=True)
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(batch(3), is_train=False)
    found["watched"] = [[step, name] for step, name, _ in monitor.toc()]
    monitor.tic()
    module.forward(batch(2), is_train=False)
    found["watched anew"] = [[step, name] for step, name, _ in monitor.toc()]
    again = mx.mod.BucketingModule(generate, default_bucket_key=5)
    found["refused"] = [
        attempt(lambda: mx.mod.BucketingModule(generate)),
        attempt(lambda: again.forward(batch(3))),
        attempt(lambda: mx.mod.BucketingModule.load("x", 1)),
        attempt(lambda: again.bind([("data", (4, 10))], shared_module=module)),
    ]
    return found


@ask
def chained(mx, folder):
    """A SequentialModule step by step, with gradients of its inputs; a module written in Python."""
    first = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1"), act_type="tanh")
    second = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("middle"), num_hidden=3, name="fc2"), name="softmax")
    found = {}
    chain = mx.mod.SequentialModule()
    found["empty"] = [
        chain.data_names,
        chain.output_names,
        attempt(lambda: chain.bind([("data", (4, 5))])),
        attempt(lambda: chain.data_shapes),
    ]
    chain.add(mx.mod.Module(first, label_names=None))
    chain.add(mx.mod.Module(second, data_names=["middle"]), take_labels=True, auto_wiring=True)
    chain.bind([("data", (4, 5))], [("softmax_label", (4,))], inputs_need_grad=True)
    a, _ = weights(mx, first, data=(4, 5))
    b, _ = weights(mx, second, middle=(4, 3), softmax_label=(4,))
    chain.init_params(arg_params={**a, **b}, aux_params={})
    chain.init_params(mx.init.Zero())
    found["bound"] = [
        chain.data_names, chain.output_names, [list(d) for d in chain.data_shapes], [list(d) for d in chain.label_shapes],
        chain.output_shapes, params(chain),
    ]  # fmt: skip
    chain.init_optimizer(optimizer_params={"learning_rate": 0.4})
    chain.init_optimizer(optimizer="adam")
    metric = mx.metric.create("ce")
    for batch in examples(mx, 8, 4):
        chain.forward_backward(batch)
        found[f"gradients {len(found)}"] = plain(chain.get_outputs())
        chain.update()
        chain.update_metric(metric, batch.label)
    found["after"] = [params(chain), metric.get()]
    monitor = mx.mon.Monitor(1, pattern=".*output")
    chain.install_monitor(monitor)
    monitor.tic()
    chain.forward(batch, is_train=False)
    found["watched"] = sorted(name for _, name, _ in monitor.toc())
    twice = mx.mod.SequentialModule()
    twice.add(mx.mod.Module(first, label_names=None)).add(mx.mod.Module(first, label_names=None), auto_wiring=True)
    twice.bind([("data", (4, 3))])
    found["twice"] = attempt(twice.init_params)
    found["unknown"] = attempt(
        lambda: mx.mod.SequentialModule().add(mx.mod.Module(first, label_names=None), no_such=True)
    )
    found["before"] = attempt(lambda: mx.mod.SequentialModule().get_params())

    def slope(scores, labels):
        return scores - mx.nd.one_hot(labels, 3)

    last = mx.mod.PythonLossModule(name="own", data_names=["x"], grad_func=slope)
    last.bind([("x", (4, 3))], [("softmax_label", (4,))], inputs_need_grad=True)
    last.init_params()
    last.init_optimizer()
    last.forward(mx.io.DataBatch([mx.nd.array(numbers(4, 3))], [mx.nd.array([0, 2, 1, 1])]), is_train=True)
    last.backward()
    last.update()
    found["python"] = [
        last.get_outputs(), last.get_input_grads(), last.data_names, last.output_names, last.output_shapes, last.get_params(),
        [list(d) for d in last.data_shapes], [list(d) for d in last.label_shapes],
    ]  # fmt: skip
    return found


@ask
def trainers(mx, folder):
    """Devices, stores, where weights are updated, batch sizes, requests, gradients that did not come, rates, files."""
    gluon, found = mx.gluon, {}

    def block(devices):
        made = gluon.nn.HybridSequential(prefix="net_")
        with made.name_scope():
            made.add(gluon.nn.Dense(3, in_units=4, activation="tanh"), gluon.nn.Dense(2, in_units=3))
        made.initialize(ctx=[mx.cpu(i) for i in range(devices)])
        for seed, parameter in enumerate(made.collect_params().values()):
            parameter.set_data(mx.nd.array(numbers(*parameter.shape, seed=seed)))
        return made

    def passed(made, devices, step, scale=1.0):
        parts = gluon.utils.split_and_load(mx.nd.array(numbers(6, 4, seed=step)), [mx.cpu(i) for i in range(devices)])
        with mx.autograd.record():
            losses = [(made(p) ** 2).sum() * scale for p in parts]
        mx.autograd.backward(losses)

    def values(made):
        return [p.data(p.list_ctx()[-1]) for p in made.collect_params().values()]

    for devices in (1, 2, 3):
        for store, here in (
            (None, None),
            ("local", None),
            ("device", None),
            ("device", False),
            ("local", True),
            ("device", True),
        ):
            if here and devices == 1:
                continue
            for name, settings in (("sgd", {"learning_rate": 0.1, "momentum": 0.5, "wd": 0.1}), ("adam", {})):
                if name == "adam" and (devices == 3 or here is None):
                    continue
                made = block(devices)
                trainer = gluon.Trainer(
                    made.collect_params(), name, dict(settings), kvstore=store, update_on_kvstore=here
                )

                def steps(made=made, trainer=trainer, devices=devices):
                    for step in range(3):
                        passed(made, devices, step)
                        trainer.step(6)
                    return values(made)

                found[f"{devices} {store} {here} {name}"] = attempt(steps)
    made = block(2)
    trainer = gluon.Trainer(
        made.collect_params(), "sgd", {"learning_rate": 0.1, "rescale_grad": 2.0}, update_on_kvstore=False
    )
    passed(made, 2, 0)
    trainer.allreduce_grads()
    found["summed"] = [p.grad(mx.cpu(1)) for p in made.collect_params().values()]
    trainer.update(4)
    found["apart"] = [values(made), trainer.learning_rate, trainer.optimizer.rescale_grad]
    trainer.set_learning_rate(0.7)
    passed(made, 2, 1)
    trainer.step(4)
    found["faster"] = [values(made), trainer.learning_rate, trainer.optimizer.num_update]
    made = block(1)
    trainer = gluon.Trainer(made.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.5})
    passed(made, 1, 0)
    trainer.step(6)
    found["stale"] = [
        attempt(lambda: trainer.step(6)),
        values(made),
        attempt(lambda: trainer.step(6, ignore_stale_grad=True)),
        values(made),
    ]
    with mx.autograd.record():
        loss = (made[0](mx.nd.array(numbers(6, 4))) ** 2).sum()
    loss.backward()
    trainer.step(6, ignore_stale_grad=True)
    found["half"] = values(made)
    made = block(1)
    made[1].bias.grad_req = "null"
    made[0].bias.lr_mult = 0.5
    made[1].weight.wd_mult = 3.0
    made[0].weight.grad_req = "add"
    trainer = gluon.Trainer(made.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 0.2})
    for step in range(2):
        passed(made, 1, step)
    trainer.step(6)
    found["multiplied"] = values(made)
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.4)
    for where in (False, True):
        made = block(2)
        trainer = gluon.Trainer(
            made.collect_params(), "sgd", {"lr_scheduler": schedule, "momentum": 0.5}, update_on_kvstore=where
        )
        rates = []
        for step in range(4):
            if step == 2:
                trainer.save_states(str(folder / "s"))
                trainer = gluon.Trainer(made.collect_params(), "sgd", {"momentum": 0.1}, update_on_kvstore=where)
                trainer.load_states(str(folder / "s"))
            passed(made, 2, step)
            trainer.step(6)
            rates.append(trainer.learning_rate)
        found[f"from a file {where}"] = [values(made), rates, trainer.optimizer.momentum, trainer.optimizer.num_update]
    refused = {
        "no list": lambda: gluon.Trainer(3, "sgd"),
        "no parameters": lambda: gluon.Trainer([3], "sgd"),
        "object and settings": lambda: gluon.Trainer(made.collect_params(), mx.optimizer.SGD(), {"learning_rate": 1}),
        "scheduled": lambda: gluon.Trainer(made.collect_params(), "sgd", {"lr_scheduler": schedule}).set_learning_rate(
            1
        ),
        "on the store": lambda: gluon.Trainer(
            block(2).collect_params(), "sgd", update_on_kvstore=True
        ).allreduce_grads(),
    }
    found["refused"] = {k: attempt(call) for k, call in refused.items()}
    return found


@ask
def stores(mx, folder):
    """Values of several keys, devices, and kinds of updates."""
    found = {}
    for kind in ("local", "device"):
        kv = mx.kv.create(kind)
        kv.init("w", mx.nd.array(numbers(2, 3)))
        kv.init(["p", "q"], [mx.nd.array(numbers(2)), mx.nd.array(numbers(3))])
        outs = [mx.nd.zeros((2, 3), ctx=mx.cpu(i)) for i in range(3)]
        kv.pull("w", out=outs)
        found[f"{kind} pulled"] = [o.copy() for o in outs]
        kv.push("w", [mx.nd.array(numbers(2, 3, seed=i), mx.cpu(i)) for i in range(3)])
        kv.pull("w", out=outs, priority=3)
        found[f"{kind} summed"] = outs[2].copy()
        a, b = mx.nd.zeros((2,)), mx.nd.zeros((3,))
        kv.pull(["p", "q"], out=[a, b])
        kv.pushpull(["q", "p"], [[b * 2, b], [a, a]], out=[b, a])
        found[f"{kind} several"] = plain([a, b])
        kv.pushpull("w", [mx.nd.array(numbers(2, 3, seed=7))] * 2, out=outs)
        found[f"{kind} both"] = outs[1].copy()
        kv.broadcast("new", mx.nd.array(numbers(2, 2)), out=[mx.nd.zeros((2, 2)), outs[0][:, :2].copy()])
        target = mx.nd.zeros((2, 2), ctx=mx.cpu(1))
        kv.pull("new", target)
        found[f"{kind} broadcast"] = target
        kv = mx.kv.create(kind)  # MXNet's first update of a key that was pushed to before begins from what comes in
        kv.init(["w", "p", "q"], [mx.nd.array(numbers(2, 3)), mx.nd.array(numbers(2)), mx.nd.array(numbers(3))])
        kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5, momentum=0.5, wd=0.1, rescale_grad=2.0))
        for step in range(2):
            kv.push("w", [mx.nd.array(numbers(2, 3, seed=step), mx.cpu(i)) for i in range(2)])
            kv.push(["p", "q"], [[mx.nd.array(numbers(2))], [mx.nd.array(numbers(3))] * 2])
        kv.pull("w", out=outs)
        kv.pull(["p", "q"], out=[a, b])
        found[f"{kind} updated"] = plain([outs[0], a, b])
        kv.save_optimizer_states(str(folder / "s"), dump_optimizer=True)
        kv.load_optimizer_states(str(folder / "s"))
        kv.push("p", mx.nd.array([1, 2]))
        kv.pull("p", a)
        found[f"{kind} after a file"] = a
        kv.init("rows", mx.nd.array(numbers(4, 2)).tostype("row_sparse"))
        rows = mx.nd.zeros((4, 2)).tostype("row_sparse")
        kv.row_sparse_pull("rows", out=rows, row_ids=mx.nd.array([3, 1, 3]))
        found[f"{kind} rows"] = [rows, rows.indices]
        found[f"{kind} kinds"] = [kv.type, kv.rank, kv.num_workers]
    return found


@ask
def watching(mx, folder):
    """Monitors and callbacks: patterns, intervals, functions, order, what they log."""
    found, symbol = {}, net(mx)
    for key, given in {
        "all": {"interval": 1},
        "sorted": {"interval": 1, "sort": True},
        "pattern": {"interval": 1, "pattern": "fc.*"},
        "every second": {"interval": 2, "pattern": ".*output"},
        "own": {"interval": 1, "pattern": "fc2.*", "stat_func": lambda x: x.max()},
        "two": {"interval": 1, "pattern": "fc2.*", "stat_func": lambda x: [x.max(), x.min()]},
        "inputs too": {"interval": 1, "pattern": "fc1.*|data", "monitor_all": True},
    }.items():
        module = ready(mx)
        monitor = mx.mon.Monitor(**given)
        module.install_monitor(monitor)
        steps = []
        with logged() as lines:
            for _ in range(3):
                monitor.tic()
                module.forward(next(examples(mx)), is_train=True)
                steps.append([[n, name, value.strip().split("\t")] for n, name, value in monitor.toc()])
            monitor.tic()
            module.forward(next(examples(mx)), is_train=True)
            monitor.toc_print()
        found[key] = [[[row[0], row[1], len(row[2])] for row in step] for step in steps]
        found[key] += [[float(v) for row in step for v in row[2]] for step in steps[:1]] + [len(lines)]
    metric = mx.metric.create(["acc", "ce"])
    label, pred = [mx.nd.array([0, 1, 2])], [mx.nd.softmax(mx.nd.array(numbers(3, 3)))]
    P = mx.model.BatchEndParam
    with logged() as lines:
        for given in ({"frequent": 2}, {"frequent": 3, "auto_reset": False}, {"frequent": 1}):
            metric.reset()
            meter = mx.callback.Speedometer(4, **given)
            for batch in (0, 1, 2, 3, 4, 0, 1, 2):
                metric.update(label, pred)
                meter(P(epoch=1, nbatch=batch, eval_metric=metric, locals=None))
                lines.append(str([int(m.num_inst) for m in metric.metrics]))
        for period in (1, 2):
            for reset in (True, False):
                note = mx.callback.log_train_metric(period, auto_reset=reset)
                for batch in range(3):
                    metric.update(label, pred)
                    note(P(epoch=2, nbatch=batch, eval_metric=metric, locals=None))
                    lines.append(str([int(m.num_inst) for m in metric.metrics]))
        for total, length in ((10, 80), (3, 7)):
            bar = mx.callback.ProgressBar(total, length)
            for batch in (0, 1, total):
                bar(P(epoch=0, nbatch=batch, eval_metric=None, locals=None))
        mx.callback.LogValidationMetricsCallback()(P(epoch=4, nbatch=0, eval_metric=metric, locals=None))
        mx.callback.LogValidationMetricsCallback()(P(epoch=4, nbatch=0, eval_metric=None, locals=None))
    found["logged"] = lines
    own, aux = weights(mx, symbol, data=(4, 5), softmax_label=(4,))
    for name, period in (("a", 1), ("b", 3), ("c", 0)):
        save = mx.callback.do_checkpoint(str(folder / name), period)
        for epoch in range(4):
            save(epoch, symbol, own, aux)
    module = ready(mx)
    module.init_optimizer(optimizer_params={"momentum": 0.5})
    for name, period, states in (("d", 2, True), ("e", 1, False)):
        save = mx.callback.module_checkpoint(module, str(folder / name), period, states)
        for epoch in range(2):
            save(epoch)
    found["files"] = sorted(p.name for p in folder.iterdir())
    loaded = mx.model.load_checkpoint(str(folder / "a"), 3)
    found["loaded"] = [loaded[0].list_outputs(), dict(sorted(loaded[1].items())), dict(sorted(loaded[2].items()))]
    found["params"] = [sorted(part) for part in mx.model.load_params(str(folder / "a"), 2)]
    return found
