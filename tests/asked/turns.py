"""Calls out of turn, twice, or on several objects at once: what has to come first, and what a second call finds."""

from __future__ import annotations

import contextlib
import logging
import time

import numpy as np

from .modules import examples, net, ready
from .questions import ask, attempt, numbers, plain

STEPS = ("made", "bound", "initialized", "not trained")


def _kinds(mx):
    """A module of each kind, and how it is bound."""
    described = [("data", (4, 5))], [("softmax_label", (4,))]

    def bucketed(key):
        return net(mx), ("data",), ("softmax_label",)

    def chain():
        made = mx.mod.SequentialModule()
        first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="first")
        made.add(mx.mod.Module(first, label_names=None))
        return made.add(mx.mod.Module(net(mx)), take_labels=True, auto_wiring=True)

    return {
        "module": (lambda: mx.mod.Module(net(mx)), described),
        "buckets": (lambda: mx.mod.BucketingModule(bucketed, default_bucket_key=3), described),
        "chain": (chain, described),
    }


@ask
def out_of_turn(mx, folder):
    """Every method of every kind of module, at every step of its making."""
    found = {}
    batch = next(examples(mx))
    batch.bucket_key, batch.provide_data, batch.provide_label = 3, [("data", (4, 5))], [("softmax_label", (4,))]
    names = [("data", (4, 5))], [("softmax_label", (4,))]
    calls = {
        "get_params": lambda m: m.get_params() and 0,
        "init_params": lambda m: m.init_params(),
        "set_params": lambda m: m.set_params({}, {}, allow_missing=True),
        "init_optimizer": lambda m: m.init_optimizer(),
        "forward": lambda m: m.forward(batch),
        "backward": lambda m: m.backward(),
        "forward_backward": lambda m: m.forward_backward(batch),
        "update": lambda m: m.update(),
        "get_outputs": lambda m: m.get_outputs() and 0,
        "get_input_grads": lambda m: m.get_input_grads() and 0,
        "update_metric": lambda m: m.update_metric(mx.metric.create("acc"), batch.label),
        "install_monitor": lambda m: m.install_monitor(mx.mon.Monitor(1)),
        "prepare": lambda m: m.prepare(batch),
        "data_shapes": lambda m: m.data_shapes and 0,
        "label_shapes": lambda m: m.label_shapes and 0,
        "output_shapes": lambda m: m.output_shapes and 0,
        "score": lambda m: m.score(examples(mx), "acc") and 0,
        "predict": lambda m: m.predict(examples(mx)) and 0,
        "iter_predict": lambda m: len(list(m.iter_predict(examples(mx)))),
        "save_checkpoint": lambda m: m.save_checkpoint(str(folder / "x"), 1),
        "save_optimizer_states": lambda m: m.save_optimizer_states(str(folder / "x.states")),
        "load_optimizer_states": lambda m: m.load_optimizer_states(str(folder / "none.states")),
        "reshape": lambda m: m.reshape([("data", (2, 5))], [("softmax_label", (2,))]),
        "switch_bucket": lambda m: m.switch_bucket(3, *names),
        "get_states": lambda m: m.get_states() and 0,
        "set_states": lambda m: m.set_states(value=1),
    }
    for kind, (make, described) in _kinds(mx).items():
        for step in STEPS:
            for name, call in calls.items():
                if not hasattr(type(make()), name) or (name == "get_states" and step != "made"):
                    continue  # where there are no states MXNet fails, and here there are none

                def tried(make=make, step=step, call=call, described=described):
                    module = make()
                    if step != "made":
                        module.bind(*described, for_training=step != "not trained", inputs_need_grad=False)
                    if step in ("initialized", "not trained"):
                        module.init_params()
                        module.forward(batch)
                    call(module)
                    return 0

                got = attempt(tried)
                if got and got["raises"][0] != "AssertionError":
                    got = {"raises": ["Exception"]}  # MXNet fails at something; here it may be said before
                found[f"{kind} {step} {name}"] = got
    return found


@ask
def optimizers_again(mx, folder):
    """States that were loaded with a checkpoint count once; an optimizer that is made anew begins anew."""
    found = {}
    given = {"learning_rate": 0.5, "momentum": 0.9}

    def trained(module, steps):
        for _ in range(steps):
            module.forward_backward(next(examples(mx)))
            module.update()
        return dict(sorted(plain(module.get_params()[0]).items()))

    module = ready(mx)
    module.init_optimizer(optimizer_params=given)
    found["first"] = trained(module, 2)
    module.save_checkpoint(str(folder / "m"), 7, save_optimizer_states=True)
    for times in (1, 2):
        again = mx.mod.Module.load(str(folder / "m"), 7, load_optimizer_states=True)
        again.bind([("data", (4, 5))], [("softmax_label", (4,))])
        for _ in range(times):
            again.init_optimizer(optimizer_params=given, force_init=True)
        found[f"loaded {times}"] = trained(again, 1)
    again = mx.mod.Module.load(str(folder / "m"), 7)
    again.bind([("data", (4, 5))], [("softmax_label", (4,))])
    again.init_optimizer(optimizer_params=given)
    found["without"] = trained(again, 1)
    again.init_params(
        arg_params={n: v * 0 + 0.25 for n, v in again.get_params()[0].items()},
        aux_params=again.get_params()[1],
        force_init=True,
    )
    found["set anew"] = dict(sorted(plain(again.get_params()[0]).items()))
    return found


@ask
def side_by_side(mx, folder):
    """Iterators side by side: descriptions, batches and what batches say of themselves; ends that differ."""
    io, found = mx.io, {}

    def one(name, count=7, seed=0, **more):
        data = {f"{name}b": numbers(count, 2, seed=seed), f"{name}a": numbers(count, 3, 2, seed=seed)}
        label = {f"{name}l": numbers(count, seed=seed + 1)}
        return io.NDArrayIter(data, label, **{"batch_size": 3, **more})

    new = [{"xa": "p", "xb": "q"}, {"ya": "r", "yb": "s"}], [{"xl": "t"}, {"yl": "u"}]
    for key, more in {"plain": {}, "renamed": {"rename_data": new[0], "rename_label": new[1]}}.items():
        made = io.PrefetchingIter([one("x"), one("y", seed=5)], **more)

        def told(descriptions):
            return [[d.name, list(d.shape), np.dtype(d.dtype).name, d.layout] for d in descriptions]

        found[f"{key} described"] = [told(made.provide_data), told(made.provide_label), made.batch_size]
        for epoch in range(2):
            batches = []
            for b in made:
                batches.append(
                    [
                        b.data,
                        b.label,
                        b.pad,
                        b.index is None,
                        told(b.provide_data),
                        told(b.provide_label),
                        made.getpad(),
                    ]
                )
            found[f"{key} epoch {epoch}"] = batches
            made.reset()
    uneven = io.PrefetchingIter([one("x"), one("y", count=8)])
    found["pad"] = attempt(lambda: len([b.pad for b in uneven]))
    resized = {}
    for size in (2, 5):
        for inside in (True, False):
            made = io.ResizeIter(one("x"), size, reset_internal=inside)
            epochs = []
            for _ in range(2):
                epochs.append([[b.data[1], b.label[0], b.pad] for b in made])
                made.reset()
            resized[f"{size} {inside}"] = [epochs, made.batch_size, [d.name for d in made.provide_label]]
    found["resized"] = resized
    return found


@ask
def dtypes_that_follow(mx, folder):
    """infer_type of blocks, with what parameters hold afterwards; cast before and after values are there."""
    nn, found = mx.gluon.nn, {}

    def made():
        net = nn.HybridSequential(prefix="n_")
        with net.name_scope():
            net.add(nn.Dense(3, in_units=4), nn.Dense(2, in_units=3, use_bias=False))
        return net

    def told(net):
        return {n: np.dtype(p.dtype).name for n, p in net.collect_params().items()}

    x = mx.nd.array(numbers(2, 4))
    for kind in ("float16", "float64", "float32"):
        for filled in (False, True):
            net = made()
            if filled:
                net.initialize(mx.init.Constant(0.5))
            net.hybridize()
            found[f"infer {kind} {filled}"] = [
                attempt(lambda net=net, kind=kind: net.infer_type(x.astype(kind))),
                told(net),
            ]
            net = made()
            if filled:
                net.initialize(mx.init.Constant(0.5))
            net.cast(kind)
            if not filled:
                net.initialize(mx.init.Constant(0.5))
            out = net(x.astype(kind)) if kind != "float16" else net.collect_params()["n_dense0_bias"].data()
            found[f"cast {kind} {filled}"] = [told(net), out.astype("float32"), np.dtype(out.dtype).name]
    for kind in ("float16", "float64"):
        p = mx.gluon.Parameter("p", shape=(2, 3), dtype=kind)
        p.initialize(mx.init.Constant(2))
        p.set_data(mx.nd.array(numbers(2, 3)))
        found[f"set {kind}"] = [np.dtype(p.data().dtype).name, p.data().astype("float32")]
        p = mx.gluon.Parameter("p", shape=(2, 0), dtype=kind, allow_deferred_init=True)
        p.initialize(mx.init.Constant(2))
        p.set_data(mx.nd.array(numbers(2, 3)))
        found[f"set waiting {kind}"] = [p.shape, np.dtype(p.dtype).name]
    return found


@ask
def cells_that_are_held(mx, folder):
    """A cell that a modifier holds begins no states of its own; the modifier does, with its own function and names."""
    r, found = mx.gluon.rnn, {}
    cells = {
        "rnn": lambda: r.RNNCell(3, input_size=3, prefix="a_"),
        "lstm": lambda: r.LSTMCell(3, input_size=3, prefix="a_"),
        "gru": lambda: r.GRUCell(3, input_size=3, prefix="a_"),
        "residual": lambda: r.ResidualCell(r.GRUCell(3, input_size=3, prefix="a_")),
        "zoneout": lambda: r.ZoneoutCell(r.GRUCell(3, input_size=3, prefix="a_"), 0.2, 0.3),
    }

    def stack():
        made = r.HybridSequentialRNNCell(prefix="s_")
        made.add(cells["lstm"]())
        made.add(r.DropoutCell(0.0))
        made.add(r.RNNCell(3, input_size=3, prefix="b_"))
        return made

    cells["stack"] = stack
    for name, make in cells.items():
        for modifier in ("ResidualCell", "ZoneoutCell"):
            inner = make()
            outer = attempt(lambda inner=inner, modifier=modifier: getattr(r, modifier)(inner) and 0)
            if outer != 0:
                found[f"{name} {modifier}"] = outer
                continue
            inner = make()
            outer = getattr(r, modifier)(inner)
            found[f"{name} {modifier}"] = [
                attempt(lambda inner=inner: inner.begin_state(2) and 0),
                attempt(lambda inner=inner: r.ResidualCell(inner) and 0),
                attempt(lambda outer=outer: outer.begin_state(batch_size=2, func=mx.nd.ones)),
                [list(i["shape"]) for i in outer.state_info(2)],
                attempt(lambda inner=inner: inner.begin_state(2) and 0),  # held still
            ]
    return found


@contextlib.contextmanager
def _clock():
    """A clock that a list holds, and the lines that are logged meanwhile as they are."""
    now, lines, real, logger = [1000.0], [], time.time, logging.getLogger()

    class Keeper(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    keeper, level = Keeper(), logger.level
    logger.addHandler(keeper)
    logger.setLevel(logging.INFO)
    time.time = lambda: now[0]
    try:
        yield now, lines
    finally:
        time.time = real
        logger.removeHandler(keeper)
        logger.setLevel(level)


@ask
def times_that_are_told(mx, folder):
    """Speeds and durations in what is logged, by a clock that goes on with every batch."""
    found = {}

    class Ticking(mx.io.NDArrayIter):
        def next(self):
            now[0] += 0.25
            return super().next()

    with _clock() as (now, lines):
        data = Ticking(numbers(10, 5), (np.arange(10) * 7 % 3).astype(np.float32), 2)
        module = mx.mod.Module(net(mx))
        meters = [mx.callback.Speedometer(2, 2), mx.callback.Speedometer(2, 1, auto_reset=False)]
        module.fit(
            data,
            data,
            num_epoch=2,
            batch_end_callback=meters,
            initializer=mx.init.Constant(0.1),
            eval_batch_end_callback=mx.callback.Speedometer(4, 3),
        )
        found["module"] = list(lines)
        del lines[:]
        meter = mx.callback.Speedometer(3, 2)
        for batch, passed in ((0, 1), (1, 2), (2, 3), (3, 0.5), (4, 0.25), (0, 9), (1, 1), (2, 1)):
            now[0] += passed
            meter(mx.model.BatchEndParam(epoch=1, nbatch=batch, eval_metric=None, locals=None))
        found["meter"] = list(lines)
    e = mx.gluon.contrib.estimator
    metrics = [mx.metric.Accuracy(name="training accuracy"), mx.metric.Loss(name="training loss")]
    logger = logging.getLogger()
    trainer = mx.gluon.Trainer(_filled(mx).collect_params(), "sgd", {"learning_rate": 0.125})
    for interval in ("epoch", 1, 2):
        for used in (metrics, [mx.metric.Accuracy(name="validation accuracy")], []):
            with _clock() as (now, lines):
                handler = e.LoggingHandler(interval, used)
                for number, limits in enumerate(((2, None), (None, 5))):
                    told = type(
                        "Told",
                        (),
                        {"logger": logger, "trainer": trainer, "max_epoch": limits[0], "max_batch": limits[1]},
                    )()
                    now[0] += 7
                    handler.train_begin(told)
                    for epoch in range(2):
                        now[0] += 3 + epoch
                        handler.epoch_begin(told)
                        for batch in range(3):
                            now[0] += 0.5
                            handler.batch_begin(told, batch=[numbers(4, 5)])
                            now[0] += 0.25 + batch
                            for m in used:
                                m.reset()
                                if "loss" not in m.name:
                                    m.update([mx.nd.array([0, 1, 1])], [mx.nd.array([0, batch, 1])])
                                else:
                                    m.update(0, [mx.nd.array([0.5, batch, number])])
                            handler.batch_end(told, batch=[mx.nd.array(numbers(4 + batch, 5))])
                        handler.epoch_end(told)
                    now[0] += 1.75
                    handler.train_end(told)
                found[f"estimator {interval} {len(used)} {[m.name for m in used][:1]}"] = list(lines)
    return found


def _filled(mx):
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.Constant(0.5))
    return net
