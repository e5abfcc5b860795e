"""Rarer uses of Module and its kin, FeedForward, stores, optimizers: several of everything, layouts, what is passed on."""

# ruff: noqa: B023, E731  calls are made at once
from __future__ import annotations

import numpy as np

from .modules import examples, net, params, ready, two_inputs, weights
from .questions import ask, attempt, logged, numbers, plain


def both(mx, seed=0, count=4):
    """A batch for two_inputs."""
    data = [mx.nd.array(numbers(count, 3, seed=seed)), mx.nd.array(numbers(count, 2, seed=seed))]
    return mx.io.DataBatch(data, [mx.nd.array(numbers(count, 2, seed=seed + 4))], pad=0)


def pair(mx, devices=2, **given):
    """A bound module of two inputs and two outputs."""
    return ready(
        mx, two_inputs(mx), [("a", (4, 3)), ("b", (4, 2))], [("y", (4, 2))], data_names=["a", "b"], label_names=["y"],
        context=[mx.cpu(i) for i in range(devices)], **given,
    )  # fmt: skip


@ask
def requests(mx, folder):
    """grad_req as a list, as a dict of some and of unknown names, for training and not."""
    found = {}
    batch = next(examples(mx))
    names = net(mx).list_arguments()
    mixed = [
        "add" if n == "fc2_weight" else "null" if n in ("data", "softmax_label", "fc1_bias") else "write" for n in names
    ]
    for key, request in {
        "list": mixed, "tuple": tuple(mixed), "dict": {"fc1_weight": "add", "bn_beta": "null"},
        "short": mixed[1:], "long": [*mixed, "write"], "number": 3,
    }.items():  # fmt: skip
        for training in (True, False) if key in ("list", "tuple", "dict") else (True,):

            def tried(request=request, training=training):
                module = ready(mx, grad_req=request, for_training=training)
                for _ in range(2):
                    module.forward(batch, is_train=training)
                    if training:
                        module.backward()
                held = module._exec_group.execs[0].grad_arrays
                return [[g is None for g in held], [g for g in held if g is not None], module.get_outputs()]

            found[f"{key} {training}"] = attempt(tried)
    return found


@ask
def layouts(mx, folder):
    """Batches on the second axis, and inputs and outputs without one, over one and two devices."""
    found = {}
    x, scale = mx.sym.var("x"), mx.sym.var("scale")
    moved = mx.sym.broadcast_mul(x, mx.sym.reshape(scale, shape=(1, 1, 2)))
    symbol = mx.sym.Group([moved, mx.sym.sum(scale * scale, axis=0, keepdims=True)])
    symbol[0]._set_attr(__layout__="TNC")
    symbol[1]._set_attr(__layout__="C")
    desc = [mx.io.DataDesc("x", (3, 4, 2), layout="TNC"), mx.io.DataDesc("scale", (2,), layout="C")]
    batch = mx.io.DataBatch([mx.nd.array(numbers(3, 4, 2)), mx.nd.array([2.0, -3.0])], [], provide_data=desc)
    heads = [mx.nd.array(numbers(3, 4, 2, seed=5)), mx.nd.array([1.5])]
    for devices in (1, 2):
        module = mx.mod.Module(symbol, ["x", "scale"], None, context=[mx.cpu(i) for i in range(devices)])
        module.bind(desc, inputs_need_grad=True)
        module.init_params()
        module.forward(batch, is_train=True)
        module.backward(heads)
        found[str(devices)] = plain([
            module.get_outputs(), module.get_outputs(False), module.get_input_grads(), module.get_input_grads(False),
            module.output_shapes if devices == 1 else 0,
        ])  # fmt: skip
        smaller = [mx.io.DataDesc("x", (3, 2, 2), layout="TNC"), desc[1]]
        module.forward(
            mx.io.DataBatch([mx.nd.array(numbers(3, 2, 2)), batch.data[1]], [], provide_data=smaller), is_train=False
        )
        found[f"{devices} smaller"] = plain(module.get_outputs())
    return found


@ask
def several(mx, folder):
    """Modules of two inputs and outputs on two devices: prediction, shapes that change, metrics, lists of batches, parts."""
    module, found = pair(mx, inputs_need_grad=True), {}
    module.forward(both(mx), is_train=True)
    group = module._exec_group
    found["some"] = plain([group.get_outputs(True, 1), group.get_outputs(True, 0, 1), group.get_outputs(False, 1, 2)])
    found["all"] = plain([module.get_outputs(), module.get_outputs(False)])
    module.backward([mx.nd.array(numbers(4, 2, seed=7)), mx.nd.array(numbers(4, 2, seed=8))])
    found["gradients"] = plain(module.get_input_grads())
    found["kept"] = plain(group.grad_arrays)
    module.reshape([("a", (4, 3)), ("b", (4, 2))], [("y", (4, 2))])
    found["as before"] = [plain(module.get_outputs()), module._exec_group is group]
    module.forward(mx.io.DataBatch(both(mx, 1, 2).data, both(mx, 1, 2).label), is_train=False)
    found["moved"] = [
        plain(module.get_outputs()),
        [list(d) for d in module.data_shapes],
        [list(d) for d in module.label_shapes],
    ]
    module.forward([both(mx, 2, 2), both(mx, 3, 2)], is_train=False)
    found["list"] = [plain(module.get_outputs()), [list(d) for d in module.data_shapes]]
    found["unlike"] = attempt(lambda: module.forward([both(mx, 2, 2), both(mx, 3, 3)]))
    metric = mx.metric.CustomMetric(
        lambda label, got: float(np.abs(label - got).sum()), output_names=["out_output"], label_names=["y"]
    )
    module.forward(both(mx), is_train=False)
    module.update_metric(metric, both(mx).label)
    found["metric"] = metric.get()[1]
    size = {"a": numbers(10, 3), "b": numbers(10, 2)}
    data = mx.io.NDArrayIter(size, {"y": numbers(10, 2, seed=1)}, 4)
    found["predicted"] = [
        module.predict(data), module.predict(data, merge_batches=False), module.predict(data, num_batch=0),
        module.predict(data, num_batch=2),
    ]  # fmt: skip
    found["iterated"] = [plain([o, n]) for o, n, _ in module.iter_predict(data, num_batch=2)]
    data.reset()
    module.bind(data.provide_data, data.provide_label, for_training=False, force_rebind=True)
    found["bound anew"] = [module.for_training, attempt(lambda: module.backward()), module.params_initialized]
    module.forward(next(data))
    found["and run"] = plain(module.get_outputs()[0])
    return found


@ask
def carried_states(mx, folder):
    """Two states on two devices: set to a value, to lists, asked for together and by device."""
    h, c, data = mx.sym.var("h", init=mx.init.Zero()), mx.sym.var("c", init=mx.init.Zero()), mx.sym.var("data")
    cell = mx.sym.FullyConnected(data, num_hidden=3, name="fc") + h * 2 - c
    symbol = mx.sym.Group([cell, mx.sym.BlockGrad(h + cell), mx.sym.BlockGrad(c * cell)])
    module = ready(
        mx, symbol, [("data", (4, 5))], [], label_names=None, state_names=["h", "c"], context=[mx.cpu(0), mx.cpu(1)]
    )
    found = {"at first": plain(module.get_states(False))}
    module.set_states(value=0.5)
    found["a value"] = plain(module.get_states(False))
    lists = [[mx.nd.array(numbers(2, 3, seed=i + 2 * j)) for j in range(2)] for i in range(2)]
    module.set_states(states=lists)
    found["lists"] = plain(module.get_states(merge_multi_context=False))
    module.forward(next(examples(mx)), is_train=False)
    found["outputs"] = plain(module.get_outputs())
    module.set_states(states=module.get_outputs(False)[1:])
    found["outputs again"] = plain(module.get_states(False))
    found["both"] = attempt(lambda: module.set_states(lists, 1))
    found["neither"] = attempt(lambda: module.set_states())
    return found


@ask
def what_is_passed_on(mx, folder):
    """allow_missing, allow_extra, force_init, rebinding and requests of Module, BucketingModule and SequentialModule."""
    found = {}

    def generate(key):
        data = mx.sym.sum(mx.sym.reshape(mx.sym.var("data"), (-1, key, 2)), axis=1)
        return (
            mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), name="softmax"),
            ["data"],
            ["softmax_label"],
        )

    def chain(request):
        made = mx.mod.SequentialModule()
        first = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc0"), act_type="tanh")
        made.add(mx.mod.Module(first, label_names=None))
        second = mx.sym.SoftmaxOutput(
            mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="softmax"
        )
        return made.add(mx.mod.Module(second), take_labels=True, auto_wiring=True)

    makers = {
        "module": lambda: mx.mod.Module(generate(2)[0]),
        "buckets": lambda: mx.mod.BucketingModule(generate, 2),
        "chain": lambda: chain("write"),
    }
    shapes = [("data", (4, 4))], [("softmax_label", (4,))]
    batch = mx.io.DataBatch(
        [mx.nd.array(numbers(4, 4))], [mx.nd.array([0, 2, 1, 2])], pad=0, bucket_key=2,
        provide_data=shapes[0], provide_label=shapes[1],
    )  # fmt: skip
    for key, make in makers.items():
        own = {"fc_weight": mx.nd.array(numbers(3, 2)), "fc_bias": mx.nd.array(numbers(3))}
        if key == "chain":
            own |= {"fc0_weight": mx.nd.array(numbers(2, 4)), "fc0_bias": mx.nd.array(numbers(2))}
        some = {"fc_bias": mx.nd.array([1, 2, 3])}
        extra = {**own, "other": mx.nd.array([1.0])}
        module = make()
        module.bind(*shapes, grad_req="add")
        rows = found[key] = []
        tell = lambda module=module: attempt(lambda: dict(sorted(module.get_params()[0].items())))
        tries = [
            lambda: module.init_params(mx.init.Constant(2), arg_params=some, aux_params={}),
            lambda: module.init_params(
                mx.init.Constant(2), arg_params=some, aux_params={}, allow_missing=True, force_init=True
            ),
            lambda: module.init_params(mx.init.Constant(7)),
            lambda: module.init_params(mx.init.Constant(5), force_init=True),
            lambda: module.init_params(None, arg_params=own, aux_params={}, force_init=True),
            lambda: module.init_params(None, arg_params=extra, aux_params={}, force_init=True),
            lambda: module.init_params(None, arg_params=extra, aux_params={}, force_init=True, allow_extra=True),
            lambda: module.set_params(some, {}, allow_missing=True, force_init=False),
            lambda: module.set_params(some, {}, allow_missing=True),
            lambda: module.set_params({"other": mx.nd.array([1.0])}, {}, allow_missing=True),
            lambda: module.set_params({"other": mx.nd.array([1.0])}, {}, allow_missing=True, allow_extra=True),
            lambda: module.set_params(some, {}),
            lambda: module.set_params(extra, {}),
            lambda: module.set_params(extra, {}, allow_extra=True),
            lambda: module.set_params({k: v * 2 for k, v in own.items()}, {}, force_init=False),
            lambda: module.set_params(own, {}),
        ]
        for number, call in enumerate(tries):
            if key == "chain" and number in (0, 1, 9, 11, 12):
                continue  # every layer of MXNet's looks for what belongs to the other
            got = attempt(call)
            rows.append([number, got if isinstance(got, dict) else "done", tell()])
        for _ in range(2):
            module.forward(batch, is_train=True)
            module.backward()
        held = {"module": module, "buckets": getattr(module, "_curr_module", None)}.get(key) or module._modules[-1]
        rows.append(plain(held._exec_group.grad_arrays))
        with logged() as lines:
            module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.1})
            module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.5})
            module.update()
            rows.append(tell())
            module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.5}, force_init=True)
            module.update()
            rows.append(tell())
            module.bind(*shapes, for_training=False)
            rows.append(key == "chain" or module.for_training)  # which MXNet's chain never says
        rows.append(lines)
        module.bind([("data", (2, 4))], [("softmax_label", (2,))], for_training=False, force_rebind=True)
        rows += [[list(d) for d in module.data_shapes], module.for_training, module.params_initialized]
        metric = mx.metric.create("ce")
        if module.params_initialized:
            small = [("data", (2, 4))], [("softmax_label", (2,))]
            module.forward(mx.io.DataBatch(
                [batch.data[0][:2]], [batch.label[0][:2]], bucket_key=2, provide_data=small[0], provide_label=small[1]
            ))  # fmt: skip
            module.update_metric(metric, [batch.label[0][:2]])
            rows += [plain(module.get_outputs()), metric.get()[1], attempt(lambda: module.backward())]
    return found


@ask
def buckets_with_everything(mx, folder):
    """Buckets made before the optimizer, gradients of outputs that are no losses, states, fixed parameters, devices, load_dict."""
    found = {}

    def generate(key):
        data, state = mx.sym.var("data"), mx.sym.var("state", init=mx.init.Zero())
        summed = mx.sym.sum(mx.sym.reshape(data, (-1, key, 2)), axis=1)
        y = mx.sym.FullyConnected(summed, num_hidden=3, name="fc") + state
        return mx.sym.Group([mx.sym.tanh(y, name="y"), mx.sym.BlockGrad(y * 2, name="next")]), ["data"], None

    def batch(key, seed=0):
        data = mx.nd.array(numbers(4, key * 2, seed=seed))
        return mx.io.DataBatch(
            [data], [], pad=0, bucket_key=key, provide_data=[("data", data.shape)], provide_label=None
        )

    module = mx.mod.BucketingModule(
        generate,
        default_bucket_key=4,
        context=[mx.cpu(0), mx.cpu(1)],
        state_names=["state"],
        fixed_param_names=["fc_bias"],
    )
    own = {"fc_weight": mx.nd.array(numbers(3, 2)), "fc_bias": mx.nd.array(numbers(3))}
    module.bind([("data", (4, 8))], inputs_need_grad=True, grad_req={"fc_weight": "add", "data": "write"})
    module.init_params(arg_params=own, aux_params={})
    module.switch_bucket(3, [("data", (4, 6))])
    module.switch_bucket(2, [("data", (4, 4))])
    module.init_optimizer(None, "sgd", {"learning_rate": 0.3, "momentum": 0.5, "wd": 0.1})
    heads = [mx.nd.array(numbers(4, 3, seed=8)), mx.nd.array(numbers(4, 3, seed=9))]
    rows = found["steps"] = []
    for number, key in enumerate((3, 2, 4, 2, 3, 5)):
        one = batch(key, number)
        module.prepare(one)
        module.forward(one, is_train=True)
        module.backward(heads)
        rows.append(
            plain(
                [
                    module.get_outputs(),
                    module.get_outputs(False),
                    module.get_input_grads(),
                    module.get_input_grads(False),
                ]
            )
        )
        module.set_states(states=module.get_outputs(False)[1:])
        rows.append(plain(module.get_states(False)))
        if number == 3:
            module.set_states(value=0.25)
        rows.append(plain(module._curr_module._exec_group.grad_arrays[0]))
        module.update()
        rows.append(plain(dict(sorted(module.get_params()[0].items()))))
    found["kept"] = (
        [module._buckets[2]._updater is module._buckets[4]._updater, module._kvstore is None]
        if hasattr(module, "_kvstore")
        else [True, True]
    )

    def plainly(key):
        data = mx.sym.sum(mx.sym.reshape(mx.sym.var("data"), (-1, key, 2)), axis=1)
        return (
            mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), name="softmax"),
            ["data"],
            ["softmax_label"],
        )

    given = {
        "sym_dict": {k: plainly(k)[0] for k in (2, 3)}, "sym_gen": plainly, "default_bucket_key": 3,
        "arg_params": own, "aux_params": {},
    }  # fmt: skip
    loaded = mx.mod.BucketingModule.load_dict(**given, context=[mx.cpu(0), mx.cpu(1)])
    found["initialized"] = loaded.params_initialized
    loaded.bind([("data", (4, 6))], [("softmax_label", (4,))], for_training=False)
    for key in (3, 2, 4):
        one = batch(key)
        one.provide_label, one.label = [("softmax_label", (4,))], [mx.nd.array([1, 0, 2, 1])]
        loaded.forward(one)
        metric = mx.metric.create("ce")
        loaded.update_metric(metric, one.label)
        again = mx.metric.create("ce")
        loaded.update_metric(again, [[one.label[0][:2]], [one.label[0][2:]]], pre_sliced=True)
        found[f"loaded {key}"] = plain([loaded.get_outputs(), metric.get()[1], again.get()[1]])
    return found


@ask
def chains_of_several(mx, folder):
    """A chain whose layers hand on two arrays, on two devices, with out_grads, a loss in Python at the end, and refusals."""
    found = {}
    x = mx.sym.var("data")
    first = mx.sym.Group(
        [
            mx.sym.FullyConnected(x, num_hidden=3, name="fa"),
            mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=2, name="fb")),
        ]
    )
    q = mx.sym.var("q")
    second = mx.sym.Group(
        [mx.sym.FullyConnected(mx.sym.var("p"), num_hidden=2, name="fc") * q, mx.sym.square(q, name="sq")]
    )
    devices = [mx.cpu(0), mx.cpu(1)]
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(first, label_names=None, context=devices))
    chain.add(mx.mod.Module(second, data_names=["p", "q"], label_names=None, context=devices), auto_wiring=True)
    chain.bind([mx.io.DataDesc("data", (4, 5))], inputs_need_grad=True)
    a, _ = weights(mx, first, data=(4, 5))
    b, _ = weights(mx, second, p=(4, 3), q=(4, 2))
    chain.init_params(arg_params={**a, **b}, aux_params={}, allow_missing=True)
    chain.init_optimizer(None, "sgd", {"learning_rate": 0.4})
    chain.inputs_need_grad = True  # MXNet's does not remember that it was bound so
    batch = next(examples(mx))
    for number in range(2):
        chain.forward(batch, is_train=True)
        chain.backward([mx.nd.array(numbers(4, 2, seed=3)), mx.nd.array(numbers(4, 2, seed=4))])
        found[str(number)] = plain(
            [chain.get_outputs(), chain.get_outputs(False), chain.get_input_grads(), chain.get_input_grads(False)]
        )
        chain.update()
    found["after"] = plain(dict(sorted(chain.get_params()[0].items())))
    found["shapes"] = [
        [list(d) for d in chain.data_shapes],
        chain.label_shapes,
        [[n, list(s)] for n, s in chain.output_shapes],
    ]
    wrong = mx.mod.SequentialModule().add(mx.mod.Module(second, data_names=["p", "q"], label_names=None))
    wrong.add(mx.mod.Module(mx.sym.square(mx.sym.var("r")), data_names=["r"], label_names=None), auto_wiring=True)
    found["another number"] = attempt(lambda: wrong.bind([("p", (4, 3)), ("q", (4, 2))]))

    def slope(scores, labels):
        return scores.asnumpy() - labels.asnumpy()[:, None]

    last = mx.mod.SequentialModule().add(
        mx.mod.Module(mx.sym.FullyConnected(x, num_hidden=3, name="fc"), label_names=None)
    )
    last.add(mx.mod.PythonLossModule(grad_func=slope), take_labels=True, auto_wiring=True)
    last.bind([("data", (4, 5))], [("softmax_label", (4,))])
    own, _ = weights(mx, mx.sym.FullyConnected(x, num_hidden=3, name="fc"), data=(4, 5))
    last.init_params(arg_params=own, aux_params={})
    last.init_optimizer(optimizer_params={"learning_rate": 0.4, "rescale_grad": 0.5})
    metric = mx.metric.create("acc")
    last.forward(batch)
    last.backward()
    last.update()
    last.update_metric(metric, batch.label)
    found["python"] = plain([dict(sorted(last.get_params()[0].items())), last.get_outputs(), metric.get()[1]])
    found["python refuses"] = [
        attempt(lambda: last.update_metric(metric, batch.label, pre_sliced=True)),
        attempt(lambda: mx.mod.PythonLossModule(label_names=["a", "b"])),
        attempt(lambda: mx.mod.PythonLossModule().bind([("data", (4, 3))], [("softmax_label", (4,))], grad_req="add")),
        attempt(lambda: mx.mod.PythonLossModule().bind([("x", (4, 3))], [("softmax_label", (4,))])),
        attempt(lambda: mx.mod.PythonLossModule().bind([("data", (4, 3))], [("y", (4,))])),
    ]
    alone = mx.mod.PythonLossModule()
    alone.bind([("data", (4, 3))], None, for_training=False)
    alone.init_params()
    silent = mx.metric.create("acc")
    alone.forward(mx.io.DataBatch([mx.nd.array(numbers(4, 3))], None))
    alone.update_metric(silent, None)
    found["no labels"] = [silent.get()[1], attempt(lambda: alone.backward())]
    alone.bind([("data", (2, 3))], [("softmax_label", (2,))], force_rebind=True)
    found["again"] = [[list(d) for d in alone.data_shapes], alone.for_training]
    alone.forward(mx.io.DataBatch([mx.nd.array(numbers(2, 3))], [mx.nd.array([1, 0])]))
    found["undefined"] = [
        attempt(lambda: alone.backward()),
        attempt(lambda: alone.install_monitor(None)),
        plain(alone.get_outputs()),
    ]

    class Two(mx.mod.PythonModule):
        """Two inputs, no labels."""

        def _compute_output_shapes(self):
            return [("sum", self._data_shapes[0][1])]

        def forward(self, data_batch, is_train=None):
            self.made = data_batch.data[0] + data_batch.data[1]

        def get_outputs(self, merge_multi_context=True):
            return [self.made]

    two = Two(["a", "b"], None, ["sum"])
    found["labels"] = attempt(lambda: two.bind([("a", (2, 3)), ("b", (2, 3))], [("anything", (2,))]))
    two.bind([("a", (2, 3)), ("b", (2, 3))])
    two.init_params()
    two.forward(mx.io.DataBatch([mx.nd.array(numbers(2, 3)), mx.nd.array(numbers(2, 3, seed=1))], None))
    found["two"] = [
        plain(two.get_outputs()),
        [[n, list(s)] for n, s in two.output_shapes],
        attempt(lambda: Two(["a", "b"], None, []).bind([("b", (2,)), ("a", (2,))])),
    ]
    return found


@ask
def fitting(mx, folder):
    """What fit hands on: parameters that are missing, rebinding, initializing anew, metrics made before, optimizers."""
    found = {}

    def fitted(tag, module=None, data=None, **given):
        module = module or mx.mod.Module(net(mx), context=[mx.cpu(0), mx.cpu(1)])
        own, aux = weights(mx, net(mx), data=(4, 5), softmax_label=(4,))
        settings = {"arg_params": own, "aux_params": aux, "num_epoch": 1, "optimizer_params": {"learning_rate": 0.3}}
        metric = mx.metric.CrossEntropy(name="own")
        with logged() as lines:
            module.fit(data or examples(mx), eval_metric=metric, **{**settings, **given})
        found[tag] = [params(module), metric.get(), lines, [list(d) for d in module.data_shapes]]
        return module

    first = fitted("adam", optimizer="adam")
    fitted("goes on", first, optimizer="sgd")
    fitted("anew", first, force_init=True)
    fitted("other size", first, examples(mx, 8, 2), force_rebind=True)
    own, _ = weights(mx, net(mx), data=(4, 5), softmax_label=(4,))
    some = {k: v for k, v in own.items() if k != "fc1_bias"}
    fitted("missing", arg_params=some, allow_missing=True, initializer=mx.init.Constant(0.5))
    found["refused"] = attempt(lambda: fitted("", arg_params=some))
    bound = ready(mx, for_training=False)
    found["not for training"] = attempt(lambda: fitted("bound", bound))
    fitted("for training", ready(mx, for_training=False), force_rebind=True)
    return found
