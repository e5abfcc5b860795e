"""Estimators again: examples along another axis, own handlers, networks of which a part is initialized, checkpoints."""

# ruff: noqa: B023  calls are made at once
from __future__ import annotations

import contextlib
import io
import os
import warnings

import numpy as np

from .questions import ask, attempt, numbers, plain


def columns(samples):
    """A batch whose examples are columns."""
    return np.stack([s[0] for s in samples], 1), np.array([[s[1] for s in samples]], np.float32)


def network(mx, *contexts, prefix="net_", layers=(5, 1), hybrid=True, seed=0):
    nn = mx.gluon.nn
    block = (nn.HybridSequential if hybrid else nn.Sequential)(prefix=prefix)
    with block.name_scope():
        for i, size in enumerate(layers):
            block.add(nn.Dense(size, in_units=(4, *layers)[i], activation=None if i else "tanh"))
    block.initialize(ctx=list(contexts) or [mx.cpu()])
    for i, parameter in enumerate(block.collect_params().values()):
        parameter.set_data(mx.nd.array(numbers(*parameter.shape, seed=i + seed)))
    return block


def state(estimator):
    return plain([
        [p.data(p.list_ctx()[0]) for p in estimator.net.collect_params().values()],
        [list(m.get()) for m in estimator.train_metrics + estimator.val_metrics],
    ])  # fmt: skip


def silent(call):
    with contextlib.redirect_stdout(io.StringIO()) as said, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        got = attempt(call)
    return got, said.getvalue(), [type(w.message).__name__ for w in warned]


@ask
def estimators_again(mx, folder):
    e, gluon, nn, found = mx.gluon.contrib.estimator, mx.gluon, mx.gluon.nn, {}
    x, y = numbers(12, 4), numbers(12, seed=3)
    rows = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), 4)
    more = gluon.data.DataLoader(gluon.data.ArrayDataset(x[::-1].copy(), y * 2), 4)

    def batchify(samples):
        data, label = columns([(plain(s[0]), plain(s[1])) for s in samples])
        return [mx.nd.array(data), mx.nd.array(label)]

    across = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), 4, batchify_fn=batchify)

    class Turned(gluon.HybridBlock):
        def __init__(self, inner):
            super().__init__(prefix="turned_")
            self.inner = inner

        def hybrid_forward(self, F, x):  # noqa: N803
            return self.inner(F.transpose(x))

    def made(block, *contexts, **given):
        trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.3, "momentum": 0.5})
        given.setdefault("train_metrics", mx.metric.MSE())
        return e.Estimator(
            net=block, loss=gluon.loss.L2Loss(), trainer=trainer, context=list(contexts) or mx.cpu(), **given
        )

    with contextlib.redirect_stdout(io.StringIO()):
        for count in (1, 2):
            contexts = [mx.cpu(i) for i in range(count)]
            est = made(Turned(network(mx, *contexts)), *contexts)
            est.fit(across, val_data=across, epochs=2, batch_axis=1)
            found[f"columns {count}"] = state(est)
            est = made(Turned(network(mx, *contexts)), *contexts)
            est.evaluate(across, batch_axis=1)
            found[f"evaluated columns {count}"] = state(est)[1]
        events = []

        class Note(e.TrainBegin, e.EpochBegin, e.EpochEnd, e.BatchBegin, e.BatchEnd):
            def __init__(self, name):
                self.name = name

            def train_begin(self, estimator, *args, **kwargs):
                events.append(self.name + " train")

            def epoch_begin(self, estimator, *args, **kwargs):
                events.append(self.name + " epoch")

            def epoch_end(self, estimator, *args, **kwargs):
                events.append(self.name + " epoch end")

            def batch_begin(self, estimator, *args, **kwargs):
                events.append(self.name + " batch")

            def batch_end(self, estimator, *args, **kwargs):
                events.append(self.name + " batch end")

        for name, handlers in {
            "updating": lambda est: [Note("a"), e.GradientUpdateHandler()],
            "measuring": lambda est: [Note("a"), e.MetricHandler(est.train_metrics)],
            "logging": lambda est: [Note("a"), e.LoggingHandler("epoch", metrics=est.train_metrics), Note("b")],
            "validating": lambda est: [Note("a"), e.ValidationHandler(more, est.evaluate, epoch_period=2), Note("b")],
            "one": lambda est: Note("a"),
            "all": lambda est: [
                e.LoggingHandler("epoch", metrics=est.train_metrics),
                e.MetricHandler(est.train_metrics),
                e.GradientUpdateHandler(),
                e.ValidationHandler(more, est.evaluate, event_handlers=[e.MetricHandler(est.val_metrics)]),
            ],
        }.items():
            est = made(network(mx))
            est.fit(rows, val_data=more, epochs=3, event_handlers=handlers(est))
            found[f"handlers {name}"] = [state(est), list(events)]
            events.clear()
        for name, handlers in {
            "two": lambda est: [Note("a"), Note("b")],
            "measuring": lambda est: [Note("a"), e.MetricHandler(est.val_metrics)],
            "logging": lambda est: [e.LoggingHandler("epoch", metrics=est.val_metrics), Note("b")],
        }.items():
            est = made(network(mx))
            est.evaluate(more, event_handlers=handlers(est))
            found[f"evaluated {name}"] = [state(est), list(events)]
            events.clear()
        est = made(
            network(mx), val_net=network(mx, seed=7, prefix="v_"), val_loss=gluon.loss.L1Loss(),
            val_metrics=[mx.metric.MAE(), mx.metric.Loss()],
        )  # fmt: skip
        est.fit(rows, val_data=more, epochs=1)
        found["another network"] = state(est)
        inner = mx.metric.CompositeEvalMetric([mx.metric.MAE(), mx.metric.MSE()])
        est = made(network(mx), train_metrics=mx.metric.CompositeEvalMetric([inner, mx.metric.RMSE()]))
        found["parts of metrics"] = [m.name for m in est.train_metrics]
    found["refused"] = [
        silent(lambda: made(network(mx), train_metrics=[mx.metric.MAE(), "mse"]))[0],
        silent(lambda: made(network(mx), val_loss="l1"))[0],
        silent(lambda: e.Estimator(network(mx), gluon.loss.L2Loss(), context=[mx.cpu(), "cpu"]))[0],
        silent(lambda: made(network(mx)).fit(rows, epochs=1, event_handlers=[Note("a"), "b"]))[0],
        silent(lambda: made(network(mx)).fit(rows, epochs=1, event_handlers=["b", Note("a")]))[0],
        silent(lambda: e.LoggingHandler("batch"))[0],
    ]

    class Half:
        def fit_batch(self, *args):
            return 0

    class Other:
        def evaluate_batch(self, *args):
            return 0

    found["halves"] = [silent(lambda: made(network(mx), batch_processor=kind()))[0] for kind in (Half, Other)]

    def begun(which, **given):
        block = nn.HybridSequential(prefix="n_")
        with block.name_scope():
            block.add(nn.Dense(3, in_units=4), nn.Dense(1, in_units=3))
        if which is not None:
            for i in which:
                block[i].initialize(mx.init.Constant(0.25))
        e.Estimator(block, gluon.loss.L2Loss(), train_metrics=mx.metric.MSE(), **given)
        return [float(abs(p.data().asnumpy() - 0.5).max()) < 1e-6 for p in block.collect_params().values()]

    for which in (None, (0,), (1,), (0, 1)):
        for given in ({"initializer": mx.init.Constant(0.5)}, {}):
            found[f"initialized {which} {len(given)}"] = [*silent(lambda: begun(which, **given))[::2]]
    return found


@ask
def checkpoints_again(mx, folder):
    e, gluon, found = mx.gluon.contrib.estimator, mx.gluon, {}
    rows = gluon.data.DataLoader(gluon.data.ArrayDataset(numbers(12, 4), numbers(12, seed=3)), 4)

    def made(**given):
        block = network(mx, **given)
        if given.get("hybrid", True):
            block.hybridize()
        trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.5})
        return e.Estimator(net=block, loss=gluon.loss.L2Loss(), train_metrics=mx.metric.MSE(), trainer=trainer)

    def saved(key, fit, hybrid=True, **given):
        est = made(hybrid=hybrid)
        if given.pop("watched", False):
            given["monitor"] = est.train_metrics[0]
        path = folder / key
        warned = silent(lambda: est.fit(rows, event_handlers=[e.CheckpointHandler(str(path), "m", **given)], **fit))
        files = sorted(p.name for p in path.iterdir()) if path.exists() else []
        return [warned[0] if isinstance(warned[0], dict) else 0, files, state(est)[0]]

    found["every other epoch"] = saved("a", {"epochs": 5}, epoch_period=2)
    found["every third"] = saved("b", {"epochs": 5}, epoch_period=3, batch_period=4, max_checkpoints=9)
    found["not hybrid"] = saved("c", {"epochs": 1}, hybrid=False)
    found["watched"] = saved("d", {"epochs": 2}, watched=True, mode="min")
    found["best of most"] = saved("e", {"epochs": 3}, watched=True, mode="max", save_best=True, verbose=1)
    found["best of least"] = saved("f", {"epochs": 3}, watched=True, mode="min", save_best=True)
    found["best of nothing"] = silent(lambda: e.CheckpointHandler(str(folder / "g"), save_best=True))[0]
    found["resumed"] = [
        saved("h", {"epochs": 2}),
        saved("h", {"epochs": 5}, resume_from_checkpoint=True, max_checkpoints=9),
        saved("h", {"epochs": 5}, resume_from_checkpoint=True),
        saved("h", {"epochs": 3}, resume_from_checkpoint=True),
    ]
    found["resumed by batches"] = [
        saved("i", {"batches": 4}, epoch_period=None, batch_period=2),
        saved("i", {"batches": 9}, epoch_period=None, batch_period=2, resume_from_checkpoint=True),
    ]
    found["periods that do not fit"] = [
        saved("j", fit, resume_from_checkpoint=True, **given)[0]
        for fit in ({"epochs": 3}, {"batches": 3})
        for given in (
            {"epoch_period": 1, "batch_period": 2},
            {"epoch_period": None, "batch_period": 2},
            {"epoch_period": 1, "batch_period": None},
            {"epoch_period": None, "batch_period": None},
        )
    ]
    saved("k", {"epochs": 2})
    for name in os.listdir(str(folder / "k")):
        if name.endswith("1batch6.states"):
            os.remove(str(folder / "k" / name))
    found["without states"] = saved("k", {"epochs": 4}, resume_from_checkpoint=True)[0]

    class Told(mx.metric.EvalMetric):
        def __init__(self, name, values):
            super().__init__(name)
            self.now = values[0]

        def get(self):
            return self.name, self.now

        def update(self, labels, preds):
            pass

    for name, values, given in (
        ("falling", [5, 4, 4.5, 3, 3.5, 3.6, 3.7, 3], {"mode": "min", "patience": 2}),
        ("rising", [1, 2, 2, 3, 3, 3, 2, 1], {"mode": "max", "patience": 2}),
        ("by little", [1, 1.05, 1.2, 1.25, 1.29, 1.3], {"mode": "max", "patience": 1, "min_delta": 0.1}),
        ("falling by little", [1, 0.95, 0.8, 0.75, 0.75], {"mode": "min", "patience": 1, "min_delta": 0.1}),
        ("nothing", [float("nan")], {"mode": "min"}),
        ("late", [float("nan"), 3, float("nan"), 3, 2], {"mode": "min", "patience": 1}),
        ("from below", [1, 2, 3, 4], {"mode": "max", "patience": 2, "baseline": 2.5}),
        ("at once", [1, 1, 1], {"mode": "max"}),
    ):
        metric = Told(name, list(values))
        stop = e.EarlyStoppingHandler(metric, **given)
        stop.train_begin(None)

        def watch():
            told = []
            for metric.now in values:
                told.append(bool(stop.epoch_end(None)))
                if told[-1]:
                    break
            return [told, stop.wait, stop.stopped_epoch, float(stop.best), stop.current_epoch]

        found[f"stopped {name}"] = silent(watch)[::2]
    found["watching what cannot be"] = [
        silent(lambda: e.EarlyStoppingHandler(mx.metric.CompositeEvalMetric([mx.metric.MSE()]), mode="min"))[0],
        silent(lambda: e.EarlyStoppingHandler("mse"))[0],
    ]
    return found
