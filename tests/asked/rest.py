"""mx.rnn's cells and files, FeedForward, the old autograd, loaders as iterators, old executors, Estimator, drawings of networks."""

# ruff: noqa: B023  calls are made at once
from __future__ import annotations

import contextlib
import io
import random

import numpy as np

from .modules import examples, net, weights
from .questions import ask, attempt, logged, numbers, plain


def unrolled(mx, cell, length=3, shape=(2, 3, 4), **settings):
    """Outputs and states of an unrolled cell, its arguments, and its weights taken apart and put together again."""
    outputs, states = cell.unroll(length, mx.sym.var("data"), **settings)
    flat = []
    for s in states:
        flat += s if isinstance(s, list) else [s]
    symbol = mx.sym.Group((list(outputs) if isinstance(outputs, list) else [outputs]) + flat)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=shape)
    for i, name in enumerate(sorted(executor.arg_dict)):
        array = executor.arg_dict[name]
        array[:] = numbers(*array.shape, seed=i)
    found = [symbol.list_arguments(), symbol.list_outputs(), plain(executor.forward(is_train=False))]
    kept = {k: v for k, v in executor.arg_dict.items() if k != "data"}
    apart = cell.unpack_weights(kept)
    found += [dict(sorted(plain(apart).items())), dict(sorted(plain(cell.pack_weights(apart)).items()))]
    return found


@ask
def symbolic_cells(mx, folder):
    r = mx.rnn
    found = {}

    def stack(*cells):
        made = r.SequentialRNNCell()
        for cell in cells:
            made.add(cell)
        return made

    table = {
        "rnn": (lambda: r.RNNCell(3, prefix="c_"), {}),
        "rnn relu merged": (lambda: r.RNNCell(3, activation="relu", prefix="c_"), {"merge_outputs": True}),
        "rnn TNC": (lambda: r.RNNCell(3, prefix="c_"), {"layout": "TNC", "shape": (3, 2, 4)}),
        "lstm": (lambda: r.LSTMCell(3, prefix="c_", forget_bias=2.0), {}),
        "lstm TNC merged": (
            lambda: r.LSTMCell(3, prefix="c_"),
            {"layout": "TNC", "shape": (3, 2, 4), "merge_outputs": True},
        ),
        "gru": (lambda: r.GRUCell(3, prefix="c_"), {"merge_outputs": True}),
        "stack": (
            lambda: stack(r.GRUCell(3, prefix="a_"), r.DropoutCell(0.4), r.LSTMCell(2, prefix="b_")),
            {"merge_outputs": True},
        ),
        "stack apart": (
            lambda: stack(r.RNNCell(4, prefix="a_"), r.ResidualCell(r.RNNCell(4, prefix="b_"))),
            {"merge_outputs": False},
        ),
        "residual merged": (lambda: r.ResidualCell(r.GRUCell(4, prefix="b_")), {"merge_outputs": True}),
        "both": (lambda: r.BidirectionalCell(r.LSTMCell(2, prefix="l_"), r.GRUCell(3, prefix="r_")), {}),
        "both merged": (
            lambda: r.BidirectionalCell(r.RNNCell(2, prefix="l_"), r.GRUCell(3, prefix="r_")),
            {"merge_outputs": True},
        ),
        "zone": (lambda: r.ZoneoutCell(r.RNNCell(3, prefix="c_"), 0.3, 0.2), {}),
        **{
            f"fused {mode} {layers} {both}": (
                lambda mode=mode, layers=layers, both=both: r.FusedRNNCell(
                    2, layers, mode, both, get_next_state=True, prefix="f_"
                ),
                {"layout": "TNC", "shape": (3, 2, 4), "merge_outputs": True},
            )
            for mode, layers, both in (
                ("lstm", 1, False),
                ("lstm", 2, True),
                ("gru", 2, False),
                ("rnn_tanh", 1, True),
                ("rnn_relu", 2, False),
            )
        },
        **{
            f"unfused {mode} {both}": (
                lambda mode=mode, both=both: r.FusedRNNCell(2, 2, mode, both, dropout=0.2, prefix="f_").unfuse(),
                {},
            )
            for mode, both in (("lstm", True), ("gru", False), ("rnn_tanh", False), ("rnn_relu", True))
        },
    }
    for name, (make, settings) in table.items():
        with mx.name.NameManager():
            found[name] = attempt(lambda m=make, s=settings: unrolled(mx, m(), **s))
    with mx.name.NameManager():
        fused = r.FusedRNNCell(2, 2, "lstm", True, prefix="f_")
        outputs, _ = fused.unroll(3, mx.sym.var("data"), layout="NTC", merge_outputs=True)
        symbol = mx.sym.Group([outputs])
        executor = symbol.simple_bind(mx.cpu(), data=(2, 3, 4))
        kept = {k: mx.nd.array(numbers(*v.shape, seed=3)) for k, v in executor.arg_dict.items() if k == "f_parameters"}
        r.save_rnn_checkpoint(fused, str(folder / "r"), 3, symbol, kept, {})
        held = mx.nd.load(str(folder / "r-0003.params"))
        back = r.load_rnn_checkpoint([fused], str(folder / "r"), 3)
        found["files"] = [sorted(held), back[1], {k: v - back[1][k] for k, v in kept.items()}]
        save = r.do_rnn_checkpoint(fused, str(folder / "every"), 2)
        for epoch in range(4):
            save(epoch, symbol, kept, {})
        found["saved"] = sorted(p.name for p in folder.iterdir())
    with mx.name.NameManager():
        cell = r.LSTMCell(2, prefix="c_")
        begin = cell.begin_state()
        found["begin"] = [s.name for s in begin] + [s.name for s in cell.begin_state()]
        cell.reset()
        found["begin again"] = [s.name for s in cell.begin_state()]
        out, state = cell(mx.sym.var("x"), cell.begin_state())
        found["step"] = [out.name, [s.name for s in state], cell.state_shape if hasattr(cell, "state_shape") else 0]
        shared = r.RNNParams("p_")
        found["shared"] = [
            r.RNNCell(2, params=shared).params is shared,
            shared.get("w").name,
            shared.get("w") is shared.get("w"),
        ]
        mixed = r.SequentialRNNCell(params=shared)
        found["both given"] = attempt(lambda: mixed.add(r.RNNCell(2, params=r.RNNParams("q_"))))
    return found


@ask
def sentences(mx, folder):
    r = mx.rnn
    random.seed(3)
    np.random.seed(3)
    lines = [
        [1, 2, 3],
        [4, 5],
        [6, 7, 8, 9],
        [2, 4],
        [3, 3, 3],
        [1, 9],
        [5, 6, 7],
        [8, 8],
        [7, 6],
        [1, 1, 1, 1, 1, 1, 1],
    ]
    found = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for key, given in {
            "plain": {},
            "buckets": {"buckets": [3, 5, 9]},
            "names": {"buckets": [4], "data_name": "x", "label_name": "y", "invalid_label": -7, "dtype": "int32"},
            "TN": {"layout": "TN", "buckets": [2, 4]},
        }.items():
            made = r.BucketSentenceIter(lines, 2, **given)
            epochs = []
            for _ in range(2):
                for b in made:
                    described = [
                        [list(d), d.layout, np.dtype(d.dtype).name] for d in [*b.provide_data, *b.provide_label]
                    ]
                    epochs.append([b.bucket_key, b.pad, plain([b.data, b.label]), described])
                made.reset()
            found[key] = [
                epochs,
                made.default_bucket_key,
                made.buckets,
                [list(d) for d in [*made.provide_data, *made.provide_label]],
            ]
        found["layout"] = attempt(lambda: r.BucketSentenceIter(lines, 2, layout="XY"))
    words = [["a", "b"], ["b", "c", "a"], ["d"]]
    found["coded"] = [
        list(r.encode_sentences(words)),
        list(r.encode_sentences(words, invalid_label=2, start_label=1)),
        list(r.encode_sentences(words, invalid_key="b", invalid_label=5, start_label=4)),
        attempt(lambda: r.encode_sentences([["z"]], vocab={"a": 7})),
        list(r.encode_sentences([["a", "z", "y"]], vocab={"a": 7, "u": 9}, unknown_token="u")),
    ]
    return found


@ask
def feed_forward(mx, folder):
    """Arrays and iterators, sizes of epochs and batches, devices, files, callbacks."""
    symbol, found = net(mx), {}
    own, aux = weights(mx, symbol, data=(4, 5), softmax_label=(4,))
    x, y = numbers(10, 5), (np.arange(10) * 7 % 3).astype(np.float32)

    def model(**given):
        given = {
            "num_epoch": 2,
            "learning_rate": 0.2,
            "numpy_batch_size": 4,
            "arg_params": own,
            "aux_params": aux,
            **given,
        }
        return mx.model.FeedForward(symbol, **given)

    for key, given, data in (
        ("two devices", {"ctx": [mx.cpu(0), mx.cpu(1)]}, lambda: examples(mx)),
        ("short epochs", {"epoch_size": 2}, lambda: examples(mx)),
        ("long epochs", {"epoch_size": 4, "num_epoch": 1}, lambda: examples(mx)),
        ("later", {"begin_epoch": 1, "num_epoch": 2, "momentum": 0.5, "wd": 0.1}, lambda: examples(mx)),
    ):
        made, events = model(**given), []
        with logged() as lines:
            made.fit(
                data(), eval_data=examples(mx, 6, 4), eval_metric=["acc", "ce"],
                batch_end_callback=lambda p: events.append(["batch", p.epoch, p.nbatch]),
                epoch_end_callback=lambda e, s, a, b: events.append(["epoch", e, sorted(a), sorted(b)]),
            )  # fmt: skip
        found[key] = plain(
            [lines, events, dict(sorted(made.arg_params.items())), dict(sorted(made.aux_params.items()))]
        )
    made = model()
    found["predicted"] = [
        made.predict(x),
        made.predict(examples(mx), num_batch=1),
        list(made.predict(examples(mx), return_data=True)),
    ]
    found["scored"] = [float(made.score(examples(mx), "ce")), float(made.score(examples(mx), num_batch=1))]
    made.save(str(folder / "f"))
    made.save(str(folder / "f"), 7)
    again = mx.model.FeedForward.load(str(folder / "f"), 7, numpy_batch_size=4)
    found["files"] = [sorted(p.name for p in folder.iterdir()), again.predict(x), again.begin_epoch]
    np.random.seed(0)
    fitted = mx.model.FeedForward.create(
        symbol,
        examples(mx),
        num_epoch=1,
        optimizer="sgd",
        initializer=mx.init.Zero(),
        learning_rate=0.5,
        numpy_batch_size=4,
    )
    found["created"] = plain(dict(sorted(fitted.arg_params.items())))
    found["refused"] = [
        attempt(lambda: model().fit(x)),
        attempt(lambda: model().fit(x, y[:5])),
    ]
    return found


@ask
def old_names(mx, folder):
    """contrib.autograd, contrib.io, executor managers, mx.util."""
    a, found = mx.contrib.autograd, {}

    def function(x, y):
        return x * x * y + mx.nd.Dropout(x, p=0.0) * 3

    x, y = mx.nd.array(numbers(2, 3)), mx.nd.array(numbers(2, 3, seed=1))
    for number in (None, 0, 1, [1], [1, 0]):
        found[f"gradients {number}"] = a.grad(function, number)(x, y)
    found["and outputs"] = list(a.grad_and_loss(function)(x, y))
    found["several"] = list(a.grad_and_loss(lambda v: [v * v, v * 5])(x))
    found["refused"] = [attempt(lambda: a.grad(function)(x, 3.0)), attempt(lambda: a.backward(x))]
    first = a.set_is_training(True)
    second = a.set_is_training(False)
    found["switched"] = [bool(first), bool(second), mx.autograd.is_recording(), mx.autograd.is_training()]
    with a.train_section():
        inside = [mx.autograd.is_recording(), mx.autograd.is_training()]
        with a.test_section():
            inside += [mx.autograd.is_recording(), mx.autograd.is_training()]
        inside += [mx.autograd.is_recording(), mx.autograd.is_training()]
    found["sections"] = [*inside, mx.autograd.is_recording(), mx.autograd.is_training()]
    grad = mx.nd.zeros((2, 3))
    a.mark_variables([x], [grad])
    with a.train_section():
        z = x * x
    a.backward([z], [y])
    found["backward"] = grad.copy()
    with a.train_section():
        z = x * y
    a.compute_gradient([z])
    found["computed"] = grad
    d = mx.gluon.data
    loader = d.DataLoader(d.ArrayDataset(numbers(7, 2), np.arange(7, dtype=np.float32)), 3)
    made = mx.contrib.io.DataLoaderIter(loader, data_name="x", label_name="y")
    batches = []
    for _ in range(2):
        for b in made:
            kept = 3 - b.pad  # what fills a batch up is in MXNet whatever was in memory
            batches.append(plain([b.data[0][:kept], b.label[0][:kept], b.data[0].shape, b.pad]))
        made.reset()
    found["loader"] = [
        batches,
        made.batch_size,
        [list(v) for v in made.provide_data],
        [list(v) for v in made.provide_label],
    ]
    typed = mx.contrib.io.DataLoaderIter(loader, dtype="float16")
    found["loader of halves"] = [
        np.dtype(typed.provide_data[0].dtype).name,
        plain(typed.next().data),
        [list(v) for v in typed.provide_label],
    ]
    symbol = net(mx)
    own, aux = weights(mx, symbol, data=(4, 5), softmax_label=(4,))
    names = [symbol.list_arguments(), [n for n in symbol.list_arguments() if n in own], symbol.list_auxiliary_states()]
    devices = [mx.cpu(0), mx.cpu(1)]
    manager = mx.executor_manager.DataParallelExecutorManager(
        symbol, devices, examples(mx), *names, work_load_list=[1, 1]
    )
    manager.set_params(own, aux)
    metric = mx.metric.create("ce")
    for batch in list(examples(mx))[:2]:
        manager.load_data_batch(batch)
        manager.forward(is_train=True)
        manager.backward()
        manager.update_metric(metric, batch.label)
    found["manager"] = [
        manager.param_names, [[g.copy() for g in grads] for grads in manager.grad_arrays],
        [[v.copy() for v in arrays] for arrays in manager.param_arrays][:1],
        [[v.copy() for v in arrays] for arrays in manager.aux_arrays],
        metric.get(),
    ]  # fmt: skip
    target = {k: mx.nd.zeros(v.shape) for k, v in own.items()}
    states = {k: mx.nd.zeros(v.shape) for k, v in aux.items()}
    manager.copy_to(target, states)
    found["copied"] = [dict(sorted(target.items())), dict(sorted(states.items()))]
    cut = mx.executor_manager._split_input_slice
    found["cut"] = [
        [[s.start, s.stop] for s in cut(n, w)] for n, w in ((10, [1, 1]), (10, [1, 2, 2]), (7, [1, 1, 1]), (9, [3, 1]))
    ]
    found["not cut"] = attempt(lambda: cut(2, [1, 1, 1]))
    return found


@ask
def estimators(mx, folder):
    """Handlers: order, periods, stopping, checkpoints, resuming, early stopping; metrics; validation."""
    e, gluon, found = mx.gluon.contrib.estimator, mx.gluon, {}
    events = []

    class Note(e.TrainBegin, e.TrainEnd, e.EpochBegin, e.EpochEnd, e.BatchBegin, e.BatchEnd):
        def train_begin(self, estimator, *args, **kwargs):
            events.append("train")

        def train_end(self, estimator, *args, **kwargs):
            events.append("end")

        def epoch_begin(self, estimator, *args, **kwargs):
            events.append("epoch")

        def epoch_end(self, estimator, *args, **kwargs):
            events.append("epoch end")

        def batch_begin(self, estimator, *args, **kwargs):
            events.append(sorted(kwargs))

        def batch_end(self, estimator, *args, **kwargs):
            events.append([sorted(kwargs), float(sum(part.sum().asscalar() for part in kwargs["loss"]))])

    data = gluon.data.DataLoader(gluon.data.ArrayDataset(numbers(10, 4), (np.arange(10) * 7 % 3).astype(np.float32)), 4)
    other = gluon.data.DataLoader(
        gluon.data.ArrayDataset(numbers(6, 4, seed=2), (np.arange(6) % 3).astype(np.float32)), 4
    )

    def made(devices=1, **given):
        block = gluon.nn.HybridSequential(prefix="net_")
        with block.name_scope():
            block.add(gluon.nn.Dense(5, in_units=4, activation="tanh"), gluon.nn.Dense(3, in_units=5))
        contexts = [mx.cpu(i) for i in range(devices)]
        block.initialize(ctx=contexts)
        for seed, parameter in enumerate(block.collect_params().values()):
            parameter.set_data(mx.nd.array(numbers(*parameter.shape, seed=seed)))
        block.hybridize()
        trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.3, "momentum": 0.5})
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        return e.Estimator(net=block, loss=loss, trainer=trainer, context=contexts, **given)

    def state(est):
        return plain(
            [
                [p.data(p.list_ctx()[0]) for p in est.net.collect_params().values()],
                *([m.get()] for m in est.train_metrics + est.val_metrics),
            ]
        )

    with contextlib.redirect_stdout(io.StringIO()):
        for key, given, options in (
            ("epochs", {"epochs": 2}, {}),
            ("batches", {"batches": 5}, {}),
            ("validated", {"epochs": 2, "val_data": other}, {}),
            (
                "metrics",
                {"epochs": 1, "val_data": other},
                {"train_metrics": mx.metric.TopKAccuracy(2), "val_metrics": [mx.metric.CrossEntropy()]},
            ),
            ("two devices", {"epochs": 2, "val_data": other}, {"devices": 2}),
            ("noted", {"epochs": 1, "event_handlers": [Note()]}, {}),
        ):
            est = made(**options)
            est.fit(train_data=data, **given)
            found[key] = state(est)
        found["events"] = events
        est = made()
        est.evaluate(other)
        found["evaluated"] = state(est)
        est = made()
        periods = []
        handler = e.ValidationHandler(other, lambda **k: periods.append(sorted(k)), epoch_period=2, batch_period=3)
        est.fit(train_data=data, epochs=4, event_handlers=[handler])
        found["periods"] = periods
        for key, given in {
            "epochs": {"epoch_period": 1, "max_checkpoints": 2},
            "batches": {"epoch_period": None, "batch_period": 2},
            "best": {"save_best": True, "mode": "min"},
        }.items():
            est = made()
            if key == "best":
                given["monitor"] = est.train_metrics[-1]
            saver = e.CheckpointHandler(str(folder / key), model_prefix="m", **given)
            est.fit(train_data=data, epochs=3, event_handlers=[saver])
            found[f"saved {key}"] = [sorted(p.name for p in (folder / key).iterdir()), saver.saved_checkpoints]
        est = made()
        est.fit(train_data=data, epochs=2, event_handlers=[e.CheckpointHandler(str(folder / "r"), "m")])
        est = made()
        est.fit(
            train_data=data,
            epochs=4,
            event_handlers=[e.CheckpointHandler(str(folder / "r"), "m", resume_from_checkpoint=True)],
        )
        found["resumed"] = [state(est), sorted(p.name for p in (folder / "r").iterdir())]
        for key, given in {
            "at once": {"mode": "min", "baseline": 0.0},
            "patient": {"mode": "min", "baseline": 0.0, "patience": 2},
            "delta": {"mode": "min", "min_delta": 100.0, "patience": 1},
            "greater": {"mode": "max", "patience": 3},
        }.items():
            est = made()
            stopper = e.EarlyStoppingHandler(est.train_metrics[-1], **given)
            est.fit(train_data=data, epochs=4, event_handlers=[stopper])
            found[f"stopped {key}"] = [stopper.stopped_epoch, stopper.current_epoch, stopper.wait, float(stopper.best)]
    found["refused"] = [
        attempt(lambda: made().fit(train_data=data)),
        attempt(lambda: made().fit(train_data=data, epochs=1, batches=1)),
        attempt(lambda: made().fit(train_data=[1], epochs=1)),
        attempt(lambda: e.EarlyStoppingHandler(3)),
        attempt(lambda: e.CheckpointHandler(str(folder), save_best=True)),
        attempt(lambda: e.LoggingHandler("x")),
        attempt(lambda: made(train_metrics=3)),
        attempt(lambda: e.Estimator(net=made().net, loss=3)),
        attempt(lambda: e.Estimator(net=made().net, loss=gluon.loss.L2Loss(), trainer=3)),
        attempt(lambda: e.Estimator(net=made().net, loss=gluon.loss.L2Loss(), context=3)),
        attempt(lambda: made().fit(train_data=data, epochs=1, event_handlers=3)),
    ]
    return found
