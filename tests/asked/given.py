"""Values that look like nothing (0, "", [], False), settings that differ from axis to axis, resets in the middle."""

# ruff: noqa: B023, E731  calls are made at once
from __future__ import annotations

import random

import numpy as np

from .fitting import silent
from .optimizers import trained
from .questions import ask, attempt, numbers, plain


@ask
def parameters_that_exist(mx, folder):
    """Answers of a second get() of a parameter to properties that are 0, False or empty, on either side."""
    found = {}
    for key, first, second in (
        ("rate 0 after 1", {}, {"lr_mult": 0}), ("rate 1 after 0", {"lr_mult": 0}, {"lr_mult": 1}),
        ("rate 0 again", {"lr_mult": 0}, {"lr_mult": 0.0}), ("decay 0 after 1", {}, {"wd_mult": 0.0}),
        ("decay 1 after 0", {"wd_mult": 0}, {"wd_mult": 1}), ("None after 0", {"lr_mult": 0}, {"lr_mult": None}),
        ("no name after one", {"init": "ones"}, {"init": ""}), ("a name after none", {"init": ""}, {"init": "ones"}),
        ("a name after None", {"init": None}, {"init": "ones"}),
        ("deferred after not", {}, {"allow_deferred_init": True}),
        ("not after deferred", {"allow_deferred_init": True}, {"allow_deferred_init": False}),
        ("fixed after not", {}, {"differentiable": False}),
        ("not after fixed", {"differentiable": False}, {"differentiable": True}),
        ("shape of none", {"shape": (2, 3)}, {"shape": ()}),
        ("zeros after a shape", {"shape": (2, 3)}, {"shape": (0, 0)}),
        ("a shape after zeros", {"shape": (0, 3)}, {"shape": (2, 0)}),
    ):  # fmt: skip

        def twice(first=first, second=second):
            dictionary = mx.gluon.ParameterDict("p_")
            dictionary.get("w", **first)
            got = dictionary.get("w", **second)
            return [got.lr_mult, got.wd_mult, str(got.init), str(got.shape), got.grad_req]

        found[key] = attempt(twice)
    names = mx.gluon.ParameterDict("ab_")
    names.get("ab_ab_x", shape=(1,), init="ones")
    names.get("x", shape=(2,), init="zeros")
    names.initialize()
    for prefix in ("", "a", "ab_", "ab_ab_"):
        path = str(folder / f"p{prefix}")
        found[f"saved without {prefix}"] = attempt(lambda: names.save(path, prefix) or sorted(mx.nd.load(path)))
    return found


@ask
def cells_of_different_axes(mx, folder):
    """Convolutional cells whose kernels, pads and dilations are others along each axis."""
    found = {}
    contrib = mx.gluon.contrib.rnn
    for name, shape, i2h, h2h, pad, i2h_dilate, h2h_dilate in (
        ("Conv2DRNNCell", (2, 7, 9), (2, 3), (3, 5), (1, 0), (1, 2), (2, 1)),
        ("Conv2DLSTMCell", (2, 7, 9), (3, 2), (1, 3), (0, 2), (2, 1), (1, 3)),
        ("Conv2DGRUCell", (2, 7, 9), (1, 3), (5, 1), (2, 1), (3, 1), (1, 2)),
        ("Conv3DRNNCell", (2, 5, 6, 7), (1, 2, 3), (3, 1, 5), (0, 1, 2), (1, 2, 1), (1, 2, 1)),
        ("Conv1DGRUCell", (2, 9), 3, 3, 0, 2, 3),
    ):
        given = {
            "i2h_kernel": i2h,
            "h2h_kernel": h2h,
            "i2h_pad": pad,
            "i2h_dilate": i2h_dilate,
            "h2h_dilate": h2h_dilate,
        }
        cell = getattr(contrib, name)(shape, 2, prefix="c_", **given)
        cell.initialize()
        for i, parameter in enumerate(cell.collect_params().values()):
            parameter.set_data(mx.nd.array(numbers(*parameter.shape, seed=i)))
        states = [mx.nd.array(numbers(*s["shape"], seed=5)) for s in cell.state_info(3)]
        out, after = cell(mx.nd.array(numbers(3, *shape)), states)
        found[name] = plain([out, after, [list(s["shape"]) for s in cell.state_info(1)]])
    return found


@ask
def labels_of_other_values(mx, folder):
    """Losses for labels that are none of those they speak of, weights of 0, and a batch along another axis."""
    loss, found = mx.gluon.loss, {}
    x, y = (mx.nd.array(numbers(3, 4, seed=s)) for s in (1, 2))
    odd = mx.nd.array([[0.0, 1, -1, 2], [-3, 0, 0.5, 1], [1, 1, 0, -0.25]])
    for name, made in {
        "hinge": loss.HingeLoss(), "squared": loss.SquaredHingeLoss(margin=0), "signed": loss.LogisticLoss(),
        "binary": loss.LogisticLoss(label_format="binary"), "huber": loss.HuberLoss(rho=0.5), "l1": loss.L1Loss(weight=0),
        "l2": loss.L2Loss(weight=0.0), "sigmoid": loss.SigmoidBCELoss(), "from sigmoid": loss.SigmoidBCELoss(from_sigmoid=True),
    }.items():  # fmt: skip
        if name == "from sigmoid":
            found[name] = made(mx.nd.abs(x), odd)
        else:
            found[name] = [made(x, odd), made(x, odd, mx.nd.array([[0.0], [2], [1]]))]
    for margin in (0, 0.3, -0.5):
        cosine = loss.CosineEmbeddingLoss(margin=margin)
        found[f"cosine {margin}"] = [cosine(x, y, mx.nd.array(row)) for row in ([0.0, 1, -1], [2.0, -2, 0.5])]
        found[f"triplet {margin}"] = loss.TripletLoss(margin=margin)(x, y, x * y)
    for axis in (0, 1):
        found[f"axis {axis}"] = [
            made(batch_axis=axis, **more)(x, y) for made, more in (
                (loss.L1Loss, {}), (loss.L2Loss, {}), (loss.HuberLoss, {}), (loss.HingeLoss, {}),
                (loss.KLDivLoss, {"from_logits": False}),
                (loss.SquaredHingeLoss, {}), (loss.LogisticLoss, {}), (loss.SigmoidBCELoss, {}),
                (loss.PoissonNLLLoss, {}), (loss.SDMLLoss, {}),
            )
        ]  # fmt: skip
        found[f"triplet axis {axis}"] = loss.TripletLoss(batch_axis=axis)(x, y, x * y)
    return plain(found)


@ask
def functions_by_name(mx, folder):
    """Lambdas of functions of one, two and three arrays, by name and as functions, hybridized or not."""
    nn = mx.gluon.nn
    x, y, z = (mx.nd.array(numbers(3, 3, seed=s)) for s in (1, 2, 3))
    found = {}
    for hybrid in (False, True):
        for name, arrays in (
            ("tanh", (x,)),
            ("broadcast_sub", (x, y)),
            ("dot", (x, y)),
            ("where", (x > 0, y, z)),
            ("concat", (x, y, z)),
        ):
            block = nn.HybridLambda(name)
            if hybrid:
                block.hybridize()
            found[f"{name} {hybrid}"] = attempt(lambda: block(*arrays))
            found[f"{name} Lambda"] = attempt(lambda: nn.Lambda(name)(*arrays))
        block = nn.HybridLambda(lambda F, a, b, c: F.broadcast_sub(a, b) * c)  # noqa: N803  MXNet's name
        if hybrid:
            block.hybridize()
        found[f"function {hybrid}"] = block(x, y, z)
    return plain(found)


@ask
def cells_used_again(mx, folder):
    """Names and numbers of stacked, parallel and modified cells unrolled and reset twice; states given to what has none."""
    rnn, found = mx.gluon.rnn, {}
    x = mx.nd.array(numbers(2, 3, 4))

    def pair(kind):
        cells = [kind(4, input_size=4, prefix=f"{p}_") for p in "ab"]
        if kind is rnn.LSTMCell:
            return rnn.BidirectionalCell(*cells)
        stack = rnn.SequentialRNNCell(prefix="s_")
        for cell in cells:
            stack.add(rnn.ZoneoutCell(rnn.ResidualCell(cell), 0.0, 0.0) if kind is rnn.GRUCell else cell)
        return stack

    for kind in (rnn.RNNCell, rnn.GRUCell, rnn.LSTMCell):
        cell = pair(kind)
        for turn in (1, 2):
            out, _ = cell.unroll(2, mx.sym.var("x"), merge_outputs=True)
            found[f"{kind.__name__} {turn}"] = [
                n for n in out.get_internals().list_outputs() if "_t" in n or "begin" in n
            ]
        cell.initialize(mx.init.One())
        if kind is rnn.RNNCell:
            for _ in range(2):  # steps go on counting until they are reset
                cell(x[:, 0], cell.begin_state(batch_size=2))
            found["counted"] = [c._counter for c in (cell, *cell._children.values())]
            cell.reset()
            found["reset"] = [c._counter for c in (cell, *cell._children.values())]
        found[f"{kind.__name__} values"] = cell.unroll(3, x, merge_outputs=True)
    for rate in (0, 0.5):
        drop = rnn.DropoutCell(rate)
        for merge in (None, True, False):
            for states in (None, [], [x]):
                found[f"dropped {rate} {merge} {states is None} {len(states or ())}"] = plain(
                    drop.unroll(3, x, states, merge_outputs=merge)
                )
    return plain(found)


@ask
def resets_in_the_middle(mx, folder):
    """Batches of iterators after a reset that comes before the first, a middle, the last and after the last batch."""
    found = {}

    def column(batch):
        return [batch.data[0].asnumpy()[:, 0].astype(int).tolist(), batch.pad]

    (folder / "d.csv").write_text("".join(f"{i}\n" for i in range(10)))
    for size in (3, 5, 10):
        for name, make in {
            **{
                way: lambda way=way: mx.io.NDArrayIter(np.arange(10.0).reshape(10, 1), None, size, last_batch_handle=way)
                for way in ("pad", "discard", "roll_over")
            },
            "csv": lambda: mx.io.CSVIter(data_csv=str(folder / "d.csv"), data_shape=(1,), batch_size=size),
            "csv cut": lambda: mx.io.CSVIter(data_csv=str(folder / "d.csv"), data_shape=(1,), batch_size=size, round_batch=False),
            "resized": lambda: mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(10.0).reshape(10, 1), None, size), 3),
            "resized apart": lambda: mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(10.0).reshape(10, 1), None, size), 3, False),
        }.items():  # fmt: skip
            for taken in (0, 1, 2, 3, 9):

                def tried(make=make, taken=taken):
                    made = make()
                    seen = []
                    for _ in range(2):
                        seen.append([column(b) for _, b in zip(range(taken), made)])
                        made.reset()
                    return [*seen, [column(b) for b in made]]

                if not (name.startswith("csv") and taken < 9):  # MXNet has read ahead by then, and goes on from there
                    found[f"{name} {size} {taken}"] = attempt(tried)
    return found


@ask
def small_and_empty(mx, folder):
    """FeedForward of fewer examples than a batch and of no batches; norms of nothing; rows for each of several arrays."""
    found = {}
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    head = mx.sym.SoftmaxOutput(symbol, name="softmax")
    arrays = {"fc_weight": mx.nd.array(numbers(2, 3)), "fc_bias": mx.nd.zeros(2)}

    def model(**given):
        return mx.model.FeedForward(head, arg_params=dict(arrays), **given)

    x, y = numbers(6, 3), np.array([0.0, 1, 1, 0, 1, 0], np.float32)
    for size in (4, 6, 128):
        found[f"predicted {size}"] = attempt(lambda: model(numpy_batch_size=size, aux_params={}).predict(x))

        def fitted(size=size):
            made = model(numpy_batch_size=size, num_epoch=2, learning_rate=0.5)
            np.random.seed(0)
            made.fit(x, y)
            return [made.arg_params["fc_weight"], made.arg_params["fc_bias"]]

        found[f"fitted {size}"] = attempt(fitted)
    extra = {"no_mean": mx.nd.ones(2)}
    for allow in (False, True):
        found[f"extra {allow}"] = attempt(lambda: model(aux_params=extra, allow_extra_params=allow).predict(x))
    store = mx.kv.create("local")
    store.init("w", mx.nd.array(numbers(5, 2)).tostype("row_sparse"))
    for count in (1, 2, 3):
        for ids in ([[0.0, 3]], [[0.0], [1.0, 4], [2.0]][:count]):
            outs = [mx.nd.sparse.zeros("row_sparse", (5, 2)) for _ in range(count)]
            store.row_sparse_pull("w", out=outs, row_ids=[mx.nd.array(i) for i in ids])
            found[f"rows {count} {len(ids)}"] = [o.asnumpy() for o in outs]
    for key, arrays in {
        "zeros": (np.zeros(3), np.zeros((2, 2))), "small": (np.full(2, 1e-9), np.zeros(1)), "ones": (np.ones(4),),
    }.items():  # fmt: skip
        for most in (0, 0.5, 2, 100):
            for finite in (True, False):
                given = [mx.nd.array(a) for a in arrays]
                norm = mx.gluon.utils.clip_global_norm(given, most, finite)
                found[f"norm {key} {most} {finite}"] = [norm, given]
    return plain(found)


@ask
def crops_of_a_size(mx, folder):
    """Parts of random areas and proportions, given as numbers, tuples and lists."""
    found = {}
    image = mx.nd.array(np.arange(24 * 31 * 3).reshape(24, 31, 3) % 251, dtype="uint8")
    for key, area in {
        "number": 0.3, "tuple": (0.1, 0.5), "list": [0.1, 0.5], "whole": 1.0, "one": 1, "too much": (3, 4),
    }.items():  # fmt: skip
        for ratio in ((0.5, 2.0), [1, 1]):
            random.seed(3)
            crop = lambda: mx.image.random_size_crop(image, (9, 5), area, ratio)[1]
            found[f"{key} {ratio}"] = attempt(lambda: [crop() for _ in range(4)])
    return found


@ask
def forms_of_states(mx, folder):
    """Loops of symbols whose bodies give their states back in other forms."""
    x, found = mx.sym.var("x"), {}
    a, b = mx.sym.zeros((2,)), mx.sym.ones((2,))
    data = mx.nd.array(numbers(3, 2))

    def ran(outs, states):
        flat = []

        def walk(value):
            if isinstance(value, (list, tuple)):
                for v in value:
                    walk(v)
            else:
                flat.append(value)

        walk([outs, states])
        return mx.sym.Group(flat).eval(x=data)

    for key, states, back in (
        ("list", [a, b], lambda s, d: [s[0] + d, s[1] * d]), ("nested", [a, [b]], lambda s, d: [s[0] + d, [s[1][0] * d]]),
        ("flat of nested", [a, [b]], lambda s, d: [s[0] + d, s[1][0] * d]),
        ("nested of flat", [a, b], lambda s, d: [[s[0] + d], s[1] * d]),
        ("one", a, lambda s, d: s + d), ("list of one", a, lambda s, d: [s + d]), ("one of a list", [a], lambda s, d: s[0] + d),
        ("swapped", [a, [b]], lambda s, d: [[s[1][0] * d], s[0] + d]),
    ):  # fmt: skip
        found[key] = attempt(lambda: ran(*mx.sym.contrib.foreach(lambda d, s: (d * 2, back(s, d)), x, states)))
    return found


@ask
def orders_of_handlers(mx, folder):
    """In which order an estimator calls handlers of its own and others, also while it evaluates."""
    est, calls = mx.gluon.contrib.estimator, []

    class Told(est.EpochBegin, est.EpochEnd, est.BatchBegin, est.BatchEnd, est.TrainBegin, est.TrainEnd):
        def __init__(self, name, priority):
            self.name, self.priority = name, priority

        def _tell(self, what):
            calls.append(f"{what} {self.name}")

        epoch_begin = lambda self, *a, **k: self._tell("epoch_begin")
        epoch_end = lambda self, *a, **k: self._tell("epoch_end")
        batch_begin = lambda self, *a, **k: self._tell("batch_begin")
        batch_end = lambda self, *a, **k: self._tell("batch_end")
        train_begin = lambda self, *a, **k: self._tell("train_begin")
        train_end = lambda self, *a, **k: self._tell("train_end")

    data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(numbers(4, 3), numbers(4, 1)), 2)
    net = mx.gluon.nn.Dense(1, in_units=3)
    net.initialize(mx.init.One())
    made = silent(
        lambda: [est.Estimator(net, mx.gluon.loss.L2Loss(), trainer=mx.gluon.Trainer(net.collect_params(), "sgd"))]
    )[0][0]
    handlers = [Told("late", 5), Told("early", -3000), Told("middle", 0), Told("middle again", 0)]
    silent(lambda: made.fit(data, epochs=1, event_handlers=list(handlers)))
    fitted, calls[:] = list(calls), []  # lists of handlers are copied: MXNet adds its own to them
    silent(lambda: made.evaluate(data, event_handlers=list(handlers)))
    return [fitted, list(calls)]


@ask
def optimizers_of_zeros(mx, folder):
    """Every number of every optimizer as 0, which is not what it is when it is left out."""
    found = {}
    own = {
        "sgd": ("momentum",), "nag": ("momentum",), "signum": ("momentum", "wd_lh"), "ftml": ("beta1", "beta2", "epsilon"),
        "lars": ("momentum", "eta", "eps"), "lbsgd": ("warmup_epochs", "updates_per_epoch"), "dcasgd": ("lamda",),
        "lamb": ("beta1", "beta2", "epsilon", "lower_bound", "upper_bound"), "adam": ("beta1", "beta2", "epsilon"),
        "adagrad": ("eps",), "rmsprop": ("gamma1", "epsilon", "clip_weights"), "adadelta": ("rho", "epsilon"),
        "ftrl": ("lamda1", "beta"), "adamax": ("beta1", "beta2"), "nadam": ("beta1", "beta2", "epsilon", "schedule_decay"),
    }  # fmt: skip
    for name, settings in own.items():
        rate = {} if name == "adadelta" else {"learning_rate": 0.3}
        shared = ("learning_rate", "wd", "clip_gradient", *(("rescale_grad",) if name != "lars" else ()))
        for setting in (*shared, *settings):  # MXNet's LARS divides by the norm of what rescale_grad=0 leaves
            found[f"{name} {setting}"] = attempt(lambda: trained(mx, name, {**rate, setting: 0}, 2))
    found["clip_weights centered"] = attempt(lambda: trained(mx, "rmsprop", {"centered": True, "clip_weights": 0}, 2))
    for rate in (0, 0.0, None):
        schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.4)
        optimizer = mx.optimizer.SGD(learning_rate=rate, lr_scheduler=schedule)
        found[f"scheduled {rate}"] = [optimizer.learning_rate, schedule.base_lr]
    for name, made in {
        "factor": lambda: mx.lr_scheduler.FactorScheduler(1, 0, stop_factor_lr=0, base_lr=0.4),
        "floor": lambda: mx.lr_scheduler.FactorScheduler(1, 0.1, stop_factor_lr=0, base_lr=1e-7),
        "base": lambda: mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0),
        "many": lambda: mx.lr_scheduler.MultiFactorScheduler([1, 3], 0, base_lr=0.4),
        "power": lambda: mx.lr_scheduler.PolyScheduler(4, 0.4, pwr=0, final_lr=0.1),
        "warm": lambda: mx.lr_scheduler.CosineScheduler(
            4, 0.4, warmup_steps=2, warmup_begin_lr=0, warmup_mode="constant"
        ),
    }.items():
        found[f"schedule {name}"] = attempt(lambda: [(lambda s: [s(i) for i in range(7)])(made())])
    return plain(found)


@ask
def nothing_given(mx, folder):
    """Arguments of the other classes that are 0, empty or False."""
    m, g, found = mx.metric, mx.gluon, {}
    x = mx.nd.array(numbers(4, 3))
    from collections import Counter

    counter = Counter({"a": 3, "b": 1})
    for given in (
        {"most_freq_count": 0}, {"reserved_tokens": []}, {"unknown_token": ""}, {"counter": Counter()}, {"min_freq": 0},
        {"reserved_tokens": [""], "unknown_token": 0},
    ):  # fmt: skip

        def vocabulary(given=given):
            made = mx.contrib.text.vocab.Vocabulary(**{"counter": counter, **given})
            return [made.idx_to_token, made.reserved_tokens, made.unknown_token, made.to_indices(["a", "none"])]

        found[f"vocabulary {sorted(given.items())}"] = attempt(vocabulary)
    counted = Counter()
    mx.contrib.text.utils.count_tokens_from_str("a b\na", counter_to_update=counted)
    found["counted"] = dict(counted)
    labels, preds = mx.nd.array([0, 1, 0, 2]), mx.nd.softmax(x)
    for key, make in {
        "no outputs": lambda: m.Accuracy(output_names=[]),
        "no labels": lambda: m.Accuracy(label_names=[]),
        "neither": lambda: m.Accuracy(output_names=[], label_names=[]),
        "no name": lambda: m.Accuracy(name=""),
        "own without name": lambda: m.CustomMetric(lambda a, b: 0, name=""),
        "own of None": lambda: m.CustomMetric(lambda a, b: (0, 0)),
        "ignored 0": lambda: m.Perplexity(0),
        "none ignored": lambda: m.Perplexity(None),
        "eps 0": lambda: m.CrossEntropy(eps=0),
        "axis 0": lambda: m.Accuracy(axis=0),
        "none": lambda: m.CompositeEvalMetric([]),
        "composed": lambda: m.CompositeEvalMetric([m.Loss()], output_names=[]),
    }.items():

        def measured(make=make):
            made = make()
            made.update_dict({"l": labels if key != "axis 0" else labels[:3]}, {"p": preds})
            return [made.name, *made.get(), *made.get_global()]

        found[key] = attempt(measured)
    data = g.data
    array = data.ArrayDataset(list(range(5)))
    for key, call in {
        "taken 0": lambda: list(array.take(0)),
        "taken None": lambda: list(array.take(None)),
        "sharded": lambda: list(array.shard(1, 0)),
        "no batches": lambda: list(data.DataLoader(array, batch_sampler=[])),
        "batches of none": lambda: list(data.DataLoader(array, batch_sampler=[[]])),
        "size 0": lambda: list(data.DataLoader(array, batch_size=0)),
        "last of no name": lambda: len(data.DataLoader(array, 2, last_batch="")),
        "sampler of nothing": lambda: len(data.DataLoader(array, 2, sampler=[])),
        "length 0": lambda: list(data.SequentialSampler(0, 3)),
        "empty set": lambda: list(data.DataLoader(data.ArrayDataset([]), 2)),
        "workers": lambda: [b.asnumpy() for b in data.DataLoader(array, 2, num_workers=0, prefetch=0)],
        "loop": lambda: mx.nd.contrib.while_loop(lambda a: a > 0, lambda a: (a, [a - 1]), [mx.nd.array([3.0])], 0),
        "data of no name": lambda: [
            list(d) for d in mx.io.NDArrayIter(numbers(4, 2), numbers(4), 2, data_name="", label_name="").provide_data
        ],
        "no label": lambda: mx.io.NDArrayIter(numbers(4, 2), [], 2).provide_label,
        "no label in a dict": lambda: mx.io.NDArrayIter(numbers(4, 2), {}, 2).provide_label,
        "no batch": lambda: mx.io.NDArrayIter(numbers(4, 2), batch_size=0).provide_data,
        "resized to 0": lambda: [b.pad for b in mx.io.ResizeIter(mx.io.NDArrayIter(numbers(4, 2), batch_size=2), 0)],
        "no augmenters": lambda: (
            mx.image.ImageIter(1, (3, 4, 4), imglist=[[1, "a"]], path_root="", aug_list=[]).auglist
        ),
        "augmenters": lambda: [
            a.dumps()
            for a in mx.image.CreateAugmenter(
                (3, 4, 4), resize=0, mean=None, std=None, brightness=0, hue=0, pca_noise=0, rand_gray=0, inter_method=0
            )
        ],
        "nothing to normalize": lambda: mx.image.color_normalize(x.copy(), 0, None),
        "no scale": lambda: mx.image.color_normalize(x.copy(), None, 0),
        "child of no name": lambda: (
            lambda b: [b.register_child(g.nn.Dense(1, prefix="d_"), ""), list(b._children)][1]
        )(g.nn.HybridSequential()),
        "states of none": lambda: [
            g.rnn.SequentialRNNCell().begin_state(),
            g.rnn.SequentialRNNCell().unroll(2, mx.nd.ones((2, 2, 3)), begin_state=[]),
        ],
        "sums": lambda: mx.test_utils.np_reduce(numbers(2, 3), 0, True, np.sum),
        "all sums": lambda: mx.test_utils.np_reduce(numbers(2, 3), (), False, np.sum),
        "kept": lambda: mx.nd.Dropout(x, p=0, mode="always"),
        "repeated": lambda: g.data.vision.transforms.RandomLighting(0)(x.expand_dims(2).tile((1, 1, 3))),
    }.items():
        found[key] = attempt(call)
    for number in (0, 1):
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        bucketing = mx.mod.BucketingModule(lambda key: (net, ["data"], []), default_bucket_key=number)
        bucketing.bind([("data", (2, 3))], None, for_training=False)
        bucketing.init_params(mx.init.One())
        batch = mx.io.DataBatch([x[:2]], bucket_key=0, provide_data=[("data", (2, 3))], provide_label=None)
        bucketing.forward(batch)
        found[f"bucket {number}"] = bucketing.get_outputs()
    return plain(found)
