"""States and flags that few programs meet: modules that are not ready, files with too much or too little, readers half read."""

# ruff: noqa: B023  calls are made at once
from __future__ import annotations

import numpy as np

from .modules import params, weights
from .questions import ask, attempt, numbers, plain

SHAPES, LABELS = [("data", (4, 5))], [("softmax_label", (4,))]
QUESTIONS = ("symbol", "data_shapes", "label_shapes", "output_shapes", "data_names", "output_names", "get_params")
"""Calls that leave a module as it is."""
STATES = ("made", "bound", "filled", "optimizing")


def small(mx):
    """One layer."""
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="softmax")


def kinds(mx):
    """Functions that make a module of each kind."""

    def chain():
        made = mx.mod.SequentialModule()
        return made.add(mx.mod.Module(small(mx)), take_labels=True)

    return {
        "module": lambda: mx.mod.Module(small(mx)),
        "buckets": lambda: mx.mod.BucketingModule(
            lambda key: (small(mx), ("data",), ("softmax_label",)), default_bucket_key=5
        ),
        "chain": chain,
        "python": lambda: mx.mod.PythonLossModule(grad_func=lambda scores, labels: mx.nd.ones((4, 5)) * 2),
    }


def reader(mx, count=10):
    """A reader whose batches name their bucket."""

    class Named(mx.io.NDArrayIter):
        def next(self):
            batch = super().next()
            batch.bucket_key = 5
            return batch

    return Named(numbers(count, 5), (np.arange(count) * 7 % 3).astype(np.float32), 4)


def brought(mx, made, state):
    """A module in a state."""
    order = STATES.index(state)
    if order > 0:
        labels = [("softmax_label", (4, 5))] if isinstance(made, mx.mod.PythonLossModule) else LABELS
        made.bind(SHAPES, labels)
    if order > 1:
        own, aux = weights(mx, small(mx), data=(4, 5), softmax_label=(4,))
        if isinstance(made, mx.mod.PythonLossModule):
            own, aux = {}, {}
        made.init_params(arg_params=own, aux_params=aux)
    if order > 2:
        made.init_optimizer(kvstore=None)
    return made


@ask
def modules_that_are_not_ready(mx, folder):
    """Refusals of each kind of module of calls that come before it is made, bound, has parameters, has an optimizer."""
    found = {}
    batch = reader(mx).next()
    own, aux = weights(mx, small(mx), data=(4, 5), softmax_label=(4,))
    calls = {
        "symbol": lambda m: m.symbol, "data_shapes": lambda m: m.data_shapes, "label_shapes": lambda m: m.label_shapes,
        "output_shapes": lambda m: m.output_shapes, "data_names": lambda m: m.data_names,
        "output_names": lambda m: m.output_names, "get_params": lambda m: m.get_params(),
        "init_params": lambda m: m.init_params(mx.init.One()),
        "set_params": lambda m: m.set_params(own, aux), "some": lambda m: m.set_params(own, aux, allow_missing=True),
        "save_params": lambda m: m.save_params(str(folder / "p")),
        "forward": lambda m: m.forward(batch, is_train=True), "backward": lambda m: m.backward(),
        "both": lambda m: m.forward_backward(batch), "update": lambda m: m.update(),
        "outputs": lambda m: m.get_outputs(), "input_grads": lambda m: m.get_input_grads(),
        "states": lambda m: m.get_states(False), "set_states": lambda m: m.set_states(value=0),
        "metric": lambda m: m.update_metric(mx.metric.Loss(), batch.label),
        "monitor": lambda m: m.install_monitor(mx.mon.Monitor(1)), "prepare": lambda m: m.prepare(batch),
        "init_optimizer": lambda m: m.init_optimizer(kvstore=None),
        "predict": lambda m: m.predict(reader(mx)), 
        "score": lambda m: m.score(reader(mx), "acc"), "iter": lambda m: len(list(m.iter_predict(reader(mx)))),
        "reshape": lambda m: m.reshape(SHAPES, LABELS),
        "switch": lambda m: m.switch_bucket(5, SHAPES, LABELS), "borrow": lambda m: m.borrow_optimizer(m),
        "checkpoint": lambda m: m.save_checkpoint(str(folder / "c"), 1),
        "keep": lambda m: m.save_optimizer_states(str(folder / "s")),
        "take up": lambda m: m.load_optimizer_states(str(folder / "s")),
    }  # fmt: skip
    for kind, make in kinds(mx).items():
        for order, state in enumerate(STATES):
            made = brought(mx, make(), state)
            for name, call in calls.items():
                if kind == "python" and order > 1 and name in ("states", "set_states", "predict", "score", "iter"):
                    continue  # MXNet's never count as filled
                answer = attempt(lambda: call(made) is not calls and "done")
                found[f"{kind} {state} {name}"] = answer
                if answer == "done" and name not in QUESTIONS:  # it may be in another state now
                    made = brought(mx, make(), state)
    found["load without"] = [
        attempt(lambda: mx.mod.BucketingModule.load(str(folder / "none"), 1, default_bucket_key=5)),
        attempt(lambda: mx.mod.BucketingModule.load_dict(default_bucket_key=5)),
    ]
    taken = mx.mod.BucketingModule.load_dict(
        {5: small(mx)},
        sym_gen=lambda key: (small(mx), ("data",), ("softmax_label",)),
        default_bucket_key=5,
        arg_params=own,
        aux_params=aux,
    )
    few = {n: a * 0 for n, a in own.items() if n == "fc_bias"}
    found["not bound"] = attempt(lambda: taken.set_params(few, aux, allow_missing=True, force_init=False))
    taken.bind(SHAPES, LABELS)
    taken.set_params(few, aux, allow_missing=True, force_init=False)
    found["kept"] = params(taken)
    taken.set_params(few, aux, allow_missing=True)
    found["set"] = params(taken)
    first, second = (brought(mx, mx.mod.Module(small(mx)), state) for state in ("optimizing", "filled"))
    second.borrow_optimizer(first)
    for _ in range(2):
        second.forward_backward(batch)
        second.update()
    kept = (second._optimizer, second._kvstore, second._update_on_kvstore, second._updater)
    found["borrowed"] = [
        second._optimizer is first._optimizer, [k is None for k in kept], params(second), second.optimizer_initialized,
    ]  # fmt: skip
    return found


@ask
def parameters_with_flags(mx, folder):
    """init_params and set_params of every kind of module with too few and too many arrays, before and after it has some."""
    found = {}
    own, aux = weights(mx, small(mx), data=(4, 5), softmax_label=(4,))
    own = {n: a + 3 for n, a in own.items()}
    few, many = {n: own[n] for n in ("fc_bias",)}, {**own, "other": mx.nd.ones((2,))}
    for kind, make in kinds(mx).items():
        if kind == "python":
            continue
        for state in ("bound", "filled"):
            for given, arrays in (("all", own), ("few", few), ("many", many), ("none", None)):
                for number in range(8):
                    flags = {
                        k: bool(number >> i & 1) for i, k in enumerate(("allow_missing", "force_init", "allow_extra"))
                    }

                    def asked(way, make=make, state=state, arrays=arrays, flags=flags):
                        made = brought(mx, make(), state)
                        if way == "init":
                            made.init_params(mx.init.One(), arg_params=arrays, aux_params=arrays and aux, **flags)
                        else:
                            made.set_params(arrays, aux, **flags)
                        return {n: float(a.sum().asscalar()) for n, a in sorted(made.get_params()[0].items())}

                    found[f"{kind} {state} {given} {number}"] = [
                        attempt(lambda: asked("init")),
                        attempt(lambda: asked("set")) if arrays else None,
                    ]
    return found


@ask
def files_with_flags(mx, folder):
    """load_parameters of files with places and with full names, of too much and too little, in every combination of flags."""
    found = {}

    def block(units=(2, 3)):
        made = mx.gluon.nn.HybridSequential(prefix="n_")
        with made.name_scope():
            for count in units:
                made.add(mx.gluon.nn.Dense(count, in_units=2))
        made.initialize(mx.init.Zero())
        return made

    for name, units in (("same", (2, 3)), ("less", (2,)), ("more", (2, 3, 4))):
        other = block(units)
        for i, p in enumerate(other.collect_params().values()):
            p.set_data(mx.nd.ones(p.shape) * (i + 1))
        other.save_parameters(str(folder / "places"))
        other.collect_params().save(str(folder / "names"), strip_prefix="n_")
        other.collect_params().save(str(folder / "full"))
        for form in ("places", "names", "full"):
            for number in range(4):
                flags = {k: bool(number >> i & 1) for i, k in enumerate(("allow_missing", "ignore_extra"))}

                def loaded(form=form, flags=flags, own=False):
                    made = block()
                    if own:
                        made.collect_params().load(str(folder / form), **flags)
                    else:
                        made.load_parameters(str(folder / form), **flags)
                    return [float(p.data().sum().asscalar()) for p in made.collect_params().values()]

                found[f"{name} {form} {number}"] = [attempt(loaded), attempt(lambda: loaded(own=True))]
    return found


@ask
def readers_in_the_middle(mx, folder):
    """Results of predict, score and fit of models and modules on a reader that was begun, with and without a reset."""
    found = {}
    own, aux = weights(mx, small(mx), data=(4, 5), softmax_label=(4,))

    def begun(left):
        data = reader(mx, 12)
        for _ in range(left):
            data.next()
        return data

    for kind, make in kinds(mx).items():
        if kind == "python":
            continue
        module = make()
        module.bind(SHAPES, LABELS)
        module.init_params(arg_params=own, aux_params=aux)
        for left in (0, 1, 3):
            for reset in (True, False):
                found[f"{kind} {left} {reset}"] = [
                    attempt(lambda: module.predict(begun(left), reset=reset)),
                    attempt(lambda: len(list(module.iter_predict(begun(left), reset=reset)))),
                    attempt(lambda: [[n, float(v)] for n, v in module.score(begun(left), "ce", reset=reset)]),
                ]
    model = mx.model.FeedForward(small(mx), num_epoch=1, arg_params=own, aux_params=aux, numpy_batch_size=4)
    for left in (0, 1, 3):
        for reset in (True, False):
            found[f"model {left} {reset}"] = [
                attempt(lambda: float(model.score(begun(left), "ce", reset=reset))),
                *(
                    attempt(lambda: list(model.predict(begun(left), reset=reset, return_data=data)))
                    for data in ((False, True) if reset or left < 3 else ())
                ),
            ]

    def fitted(left):
        made = mx.model.FeedForward(small(mx), num_epoch=1, arg_params=own, aux_params=aux, learning_rate=0.5)
        made.fit(begun(left), eval_data=begun(left), kvstore=None)
        return plain(dict(sorted(made.arg_params.items())))

    def trained(left):
        made = mx.mod.Module(small(mx))
        made.fit(begun(left), eval_data=begun(left), num_epoch=1, kvstore=None, arg_params=own, aux_params=aux)
        return plain(params(made))

    for left in (0, 1, 3):
        found[f"fitted {left}"] = [attempt(lambda: fitted(left)), attempt(lambda: trained(left))]
    return found


@ask
def own_parameters_of_cells(mx, folder):
    """Cells put into groups: whose parameters are whose, of groups and cells with and without parameters of their own."""
    r, found = mx.rnn, {}
    for group in ("stack", "pair"):
        for outer in (False, True):
            for inner in ("given", "shared") if outer else ("own", "given", "shared"):

                def made(group=group, outer=outer, inner=inner):
                    shared = r.RNNParams("s_")
                    shared.get("more")
                    given = {"params": shared} if outer else {}
                    kept = {"own": None, "given": r.RNNParams("g_"), "shared": shared}[inner]
                    cells = [r.RNNCell(2, prefix=p, params=kept) for p in ("l_", "r_")]
                    if group == "pair":
                        around = r.BidirectionalCell(*cells, **given)
                    else:
                        around = r.SequentialRNNCell(**given)
                        for cell in cells:
                            around.add(cell)
                    return [sorted(c.params._params) for c in (around, *cells)] + [sorted(shared._params)]

                found[f"{group} {outer} {inner}"] = attempt(made)
    for around in ("ResidualCell", "ZoneoutCell"):
        inner = r.RNNCell(2, prefix="i_")
        cell = getattr(r, around)(inner)
        found[around] = [cell.params is inner.params, sorted(cell.params._params)]
    for key, cell in {
        "rnn": r.RNNCell(2, prefix="c_"), "lstm": r.LSTMCell(2, prefix="c_"), "gru": r.GRUCell(2, prefix="c_"),
        "fused": r.FusedRNNCell(2, 2, mode="lstm", bidirectional=True, prefix="c_"),
        "pair": r.BidirectionalCell(r.LSTMCell(2, prefix="l_"), r.GRUCell(2, prefix="r_")),
        "residual": r.ResidualCell(r.LSTMCell(2, prefix="c_")),
    }.items():  # fmt: skip
        outs, _ = cell.unroll(2, mx.sym.var("x"), merge_outputs=True)
        shapes = zip(outs.list_arguments(), outs.infer_shape(x=(1, 2, 2))[0])
        given = {n: mx.nd.array(numbers(*s, seed=i)) for i, (n, s) in enumerate(shapes) if n != "x"}
        apart = cell.unpack_weights(given)
        kept = sorted(apart)
        back = cell.pack_weights(apart)
        # who passes a dict has it afterwards as it was
        found[f"packed {key}"] = [
            sorted(given),
            kept,
            sorted(apart),
            sorted(back),
            plain({n: back[n] - given[n] for n in given}),
        ]
    return found


@ask
def convolutions_in_cells(mx, folder):
    """Cells of mx.rnn with convolutions: shapes in every layout, what initializes them, numbers, with everything given."""
    sym, found = mx.sym, {}
    more = {
        "h2h_kernel": (3, 1), "h2h_dilate": (2, 1), "i2h_kernel": (2, 3), "i2h_stride": (1, 2), "i2h_pad": (1, 0),
        "i2h_dilate": (1, 2), "prefix": "c_", "activation": "tanh", "i2h_weight_initializer": mx.init.One(),
        "h2h_weight_initializer": mx.init.Zero(), "i2h_bias_initializer": mx.init.Constant(2.0),
        "h2h_bias_initializer": mx.init.Constant(3.0),
    }  # fmt: skip
    for kind in ("ConvRNNCell", "ConvLSTMCell", "ConvGRUCell"):
        for layout, shape in (("NCHW", (2, 3, 6, 7)), ("NHWC", (2, 6, 7, 3))):
            for name, given in (("plain", {}), ("all", more)):

                def made(kind=kind, layout=layout, shape=shape, given=given):
                    cell = getattr(mx.rnn, kind)(shape, 4, conv_layout=layout, **given)
                    outs, _ = cell.unroll(2, [sym.var("a"), sym.var("b")])
                    group = sym.Group(outs)
                    shapes = group.infer_shape(a=shape, b=shape)
                    starts = {n: a.get("__init__") for n, a in sorted(group.attr_dict().items()) if "__init__" in a}
                    answer = [cell.state_info, group.list_arguments(), plain(shapes[0]), plain(shapes[1]), starts]
                    if layout == "NCHW":
                        values = [
                            mx.nd.array(numbers(*s, seed=i))
                            for i, s in enumerate(shapes[0])
                        ]  # fmt: skip
                        executor = group.bind(mx.cpu(), values)
                        answer.append([o.asnumpy() for o in executor.forward()])
                    return answer

                found[f"{kind} {layout} {name}"] = attempt(made)
    return found


@ask
def steps_of_cells(mx, folder):
    """Names and numbers of outputs and states, step by step, after a reset and inside others, of every cell of mx.rnn."""
    r, sym, found = mx.rnn, mx.sym, {}

    def pair():
        made = r.SequentialRNNCell()
        made.add(r.LSTMCell(2, prefix="a_"))
        made.add(r.RNNCell(2, prefix="b_"))
        return made

    kinds = {
        "rnn": lambda: r.RNNCell(2, prefix="c_"), "lstm": lambda: r.LSTMCell(2, prefix="c_"),
        "gru": lambda: r.GRUCell(2, prefix="c_"), "dropout": lambda: r.DropoutCell(0.5), "stack": pair,
        "residual": lambda: r.ResidualCell(r.LSTMCell(2, prefix="c_")), 
        "zoneout": lambda: r.ZoneoutCell(r.LSTMCell(2, prefix="c_"), 0.5, 0.25),
        "half": lambda: r.ZoneoutCell(r.LSTMCell(2, prefix="c_"), 0.5),
        "other": lambda: r.ZoneoutCell(r.GRUCell(2, prefix="c_"), 0.0, 0.25),
        "bidirectional": lambda: r.BidirectionalCell(r.LSTMCell(2, prefix="l_"), r.GRUCell(2, prefix="r_")),
        "fused": lambda: r.FusedRNNCell(2, mode="lstm", prefix="c_"),
    }  # fmt: skip
    x = sym.var("x")
    for kind, make in kinds.items():

        def step(cell, states):
            out, after = cell(x, states)
            return [
                out.name,
                isinstance(after, list),
                [s.name for s in after],
                out.tojson().count('"op": "Dropout"'),
            ], after

        def steps(kind=kind, make=make):
            with mx.name.NameManager():
                cell = make()
                states, answer = cell.begin_state(), []
                answer.append([s.name for s in states])
                for _ in range(2):
                    shown, states = step(cell, states)
                    answer.append(shown)
                if kind in ("zoneout", "half", "other"):
                    return answer  # MXNet's leave the cell inside as it is
                cell.reset()
                begin = cell.begin_state()
                answer += [[s.name for s in begin], step(cell, begin)[0]]
            return answer

        def inside(around, make=make):
            with mx.name.NameManager():
                inner = make()
                outer = around(inner)
                return [
                    attempt(lambda: len(inner.begin_state())), attempt(lambda: len(outer.begin_state())),
                    attempt(lambda: len(inner.state_info)), inner._modified,
                ]  # fmt: skip

        found[kind] = [attempt(steps)]
        if kind not in ("stack", "bidirectional"):  # which MXNet cannot have inside others
            found[kind] += [attempt(lambda: inside(r.ResidualCell)), attempt(lambda: inside(r.ZoneoutCell))]
    return found


@ask
def parameters_of_layers(mx, folder):
    """Parameters of layers with everything given: kind of storage, gradients, dtype, factors, what fills them."""
    nn, rnn, more, found = mx.gluon.nn, mx.gluon.rnn, mx.gluon.contrib, {}
    one, two = mx.init.One(), mx.init.Constant(2.0)
    both = {"weight_initializer": one, "bias_initializer": two}
    norm = {"gamma_initializer": two, "beta_initializer": one}
    seen = {"running_mean_initializer": two, "running_variance_initializer": one}
    cell = {
        "i2h_weight_initializer": one, "h2h_weight_initializer": two, "i2h_bias_initializer": two, "h2h_bias_initializer": one,
    }  # fmt: skip
    layers = {
        "dense": lambda: nn.Dense(3, dtype="float16", in_units=2, **both),
        "embedding": lambda: nn.Embedding(4, 2, "float64", one, True), "plain embedding": lambda: nn.Embedding(4, 2),
        "sparse embedding": lambda: more.nn.SparseEmbedding(4, 2, "float32", two),
        "batch": lambda: nn.BatchNorm(1, 0.5, 1e-3, False, False, True, in_channels=3, **norm, **seen),
        "scaled": lambda: nn.BatchNorm(center=False, scale=True, in_channels=3), "plain batch": lambda: nn.BatchNorm(),
        "sync": lambda: more.nn.SyncBatchNorm(3, 1, 0.5, 1e-3, False, True, False, **norm, **seen),
        "layer": lambda: nn.LayerNorm(1, 1e-3, False, True, in_channels=3, **norm),
        "group": lambda: nn.GroupNorm(3, 1e-3, True, False, in_channels=3, **norm),
        "instance": lambda: nn.InstanceNorm(1, 1e-3, True, False, in_channels=3, **norm),
        "prelu": lambda: nn.PReLU(two, 3), "shared prelu": lambda: nn.PReLU(),
        "deformable": lambda: more.cnn.DeformableConvolution(
            2, 3, offset_weight_initializer=one, offset_bias_initializer=two, **both
        ),
        **{f"c{d}": lambda d=d: getattr(nn, f"Conv{d}D")(2, 3, in_channels=4, **both) for d in (1, 2, 3)},
        **{f"t{d}": lambda d=d: getattr(nn, f"Conv{d}DTranspose")(2, 3, in_channels=4, **both) for d in (1, 2, 3)},
        **{
            n: lambda n=n: getattr(rnn, n)(2, 2, "NTC", 0.5, True, 3, dtype="float16", **cell)
            for n in ("LSTM", "GRU", "RNN")
        },
        "projected": lambda: rnn.LSTM(2, projection_size=3, input_size=4, h2r_weight_initializer=two, **cell),
        **{n: lambda n=n: getattr(rnn, n)(2, input_size=3, **cell) for n in ("LSTMCell", "GRUCell", "RNNCell")},
        "lstmp": lambda: more.rnn.LSTMPCell(2, 3, input_size=4, h2r_weight_initializer=two, **cell),
        **{
            f"Conv{d}D{n}Cell": lambda d=d, n=n: getattr(more.rnn, f"Conv{d}D{n}Cell")((4, *(5, 6, 7)[:d]), 2, 3, 3, **cell)
            for d in (1, 2, 3) for n in ("RNN", "LSTM", "GRU")
        },
    }  # fmt: skip
    for name, make in layers.items():

        def described(make=make):
            with mx.name.NameManager():
                layer = make()
            rows = []
            for place, p in sorted(layer._collect_params_with_prefix().items()):
                filled = p.init if isinstance(p.init, str) or p.init is None else p.init.dumps()
                rows.append([
                    place, list(p.shape) if p.shape else None, str(np.dtype(p.dtype)), p.grad_req, p._stype, p._grad_stype,
                    filled, bool(p._allow_deferred_init), bool(p._differentiable), p.lr_mult, p.wd_mult,
                ])  # fmt: skip
            return rows

        found[name] = attempt(described)
    return found


@ask
def descriptions_of_batches(mx, folder):
    """Names, shapes, dtypes and layouts that readers tell, and the dtypes of what they give."""
    io, found = mx.io, {}
    (folder / "d.csv").write_text("1,2\n3,4\n5,6\n")
    (folder / "l.csv").write_text("1\n0\n2\n")
    x = {d: (numbers(4, 2) * 9).astype(d) for d in ("float64", "float16", "int32", "uint8")}
    y = np.arange(4)

    def loader(dtype, **given):
        dataset = mx.gluon.data.ArrayDataset(mx.nd.array(x["float64"]), mx.nd.array(y))
        return mx.contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(dataset, 3), dtype=dtype, **given)

    readers = {
        **{f"arrays {d}": lambda d=d, a=a: io.NDArrayIter(a, y.astype(d), 2) for d, a in x.items()},
        **{f"nd {d}": lambda d=d, a=a: io.NDArrayIter({"a": mx.nd.array(a, dtype=d)}, {"b": mx.nd.array(y, dtype=d)}, 2)
           for d, a in x.items()},
        **{f"loader {d}": lambda d=d: loader(d) for d in ("float64", "float16", "int32")},
        "loader names": lambda: loader("float32", data_name="a", label_name="b"),
        **{f"csv {d}": lambda d=d: io.CSVIter(
            data_csv=str(folder / "d.csv"), data_shape=(2,), label_csv=str(folder / "l.csv"), batch_size=2, dtype=d)
           for d in ("float32", "int32", "int64")},
        "resized": lambda: io.ResizeIter(io.NDArrayIter(x["float64"], y.astype("int32"), 2), 3),
        "ahead": lambda: io.PrefetchingIter(
            io.NDArrayIter(x["float16"], y, 2), rename_data=[{"data": "q"}], rename_label=[{"softmax_label": "w"}]
        ),
        "sentences": lambda: mx.rnn.BucketSentenceIter([[1, 2], [3, 4], [5, 6]], 2, [2], 0, "a", "b", "float64", "TN"),
    }  # fmt: skip
    for name, make in readers.items():

        def told(make=make):
            reader = make()
            descriptions = [
                [d.name, list(d.shape), str(np.dtype(d.dtype)), d.layout]
                for part in (reader.provide_data, reader.provide_label)
                for d in part
            ]
            batch = reader.next()
            own = [
                [d.name, list(d.shape), str(np.dtype(d.dtype))]
                for part in (batch.provide_data, batch.provide_label)
                for d in part or ()
            ]
            arrays = [[str(np.dtype(a.dtype)), list(a.shape)] for a in [*batch.data, *batch.label]]
            return [descriptions, own, arrays, reader.batch_size]

        found[name] = attempt(told)
    return found
