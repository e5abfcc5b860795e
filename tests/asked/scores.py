"""Metrics in every setting, several outputs at a time, local and global; initializers that draw nothing."""

# ruff: noqa: B023  calls are made at once; F and letters are called as in every MXNet program
from __future__ import annotations

import numpy as np

from .questions import ask, attempt, logged, numbers


def said(mx, make, updates, reset=None):
    """Values of a metric after every update, since reset_local (before the update of that number) and altogether."""
    metric = make()
    found = [metric.name, attempt(lambda: metric.get_config()), str(metric), metric.get_global()]
    for step, (labels, preds) in enumerate(updates):
        if step == reset:
            metric.reset_local()
            found.append([metric.get(), metric.get_global()])
        metric.update([mx.nd.array(x) for x in labels], [mx.nd.array(x) for x in preds])
        found += [metric.get(), metric.get_global(), metric.get_name_value(), metric.get_global_name_value()]
    metric.reset()
    return [*found, metric.get(), metric.get_global(), float(metric.num_inst)]


def chances(*shape, seed=0):
    drawn = numbers(*shape, seed=seed, low=0.05, high=1.0)
    return drawn / drawn.sum(1, keepdims=True)


def picks(count, *shape, seed=0):
    return np.random.RandomState(seed).randint(0, count, shape).astype(np.float32)


@ask
def metrics(mx, folder):
    m = mx.metric
    four = [
        ([picks(4, 5, seed=i), picks(4, 3, seed=9 + i)], [chances(5, 4, seed=i), chances(3, 4, seed=7 + i)])
        for i in range(3)
    ]
    two = [
        ([picks(2, 6, seed=i), picks(2, 4, seed=9 + i)], [chances(6, 2, seed=i), chances(4, 2, seed=7 + i)])
        for i in range(3)
    ]
    real = [
        ([numbers(4, 2, seed=i), numbers(3, seed=i)], [numbers(4, 2, seed=5 + i), numbers(3, seed=8 + i)])
        for i in range(3)
    ]
    flat = [([numbers(6, seed=i)], [numbers(6, seed=5 + i)]) for i in range(3)]
    pixels = [([picks(3, 2, 4, seed=i)], [numbers(2, 3, 4, seed=i)]) for i in range(2)]
    last = [([picks(3, 2, 4, seed=i)], [chances(2, 3, 4, seed=i).transpose(0, 2, 1).copy()]) for i in range(2)]
    decided = [([picks(3, 5, seed=i)], [picks(3, 5, seed=4 + i)]) for i in range(2)]
    never = [([np.zeros(3, np.float32)], [np.float32([[0.9, 0.1], [0.7, 0.3], [0.6, 0.4]])])]
    wrong = [([np.ones(3, np.float32)], [np.float32([[0.9, 0.1], [0.7, 0.3], [0.6, 0.4]])])]
    mixed = [([np.float32([0, 1, 1])], [np.float32([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]])])]
    table = [
        ("Accuracy", {}, four),
        ("Accuracy", {"axis": 0}, [([picks(2, 4)], [numbers(2, 4)])]),
        ("Accuracy", {"axis": 2, "name": "right"}, last),
        ("Accuracy", {}, pixels),
        ("Accuracy", {}, decided),
        ("TopKAccuracy", {"top_k": 2}, four),
        ("TopKAccuracy", {"top_k": 3, "name": "best"}, four),
        *(
            (k, {"average": a}, u)
            for k in ("F1", "MCC")
            for a in ("macro", "micro")
            for u in (two, never, wrong, mixed)
        ),
        ("PCC", {}, two),
        ("PCC", {}, four),
        ("PCC", {}, decided),
        ("PCC", {}, never),
        ("MAE", {}, real),
        ("MSE", {}, real),
        ("RMSE", {}, real),
        ("RMSE", {"name": "root"}, flat),
        ("CrossEntropy", {}, four),
        ("CrossEntropy", {"eps": 0.5}, four),
        ("NegativeLogLikelihood", {"eps": 0.5}, four),
        ("Perplexity", {"ignore_label": None}, four),
        ("Perplexity", {"ignore_label": 2}, four),
        ("Perplexity", {"ignore_label": 0, "axis": -1}, [([picks(4, 2, 3)], [chances(6, 4).reshape(2, 3, 4)])]),
        ("PearsonCorrelation", {}, real),
        ("PearsonCorrelation", {"average": "micro"}, flat),
        ("Loss", {}, real),
        ("Torch", {}, real),
        ("Caffe", {"name": "c"}, real),
    ]
    found = {}
    for number, (name, settings, updates) in enumerate(table):
        for reset in (None, 1):
            if name in ("PearsonCorrelation", "F1", "MCC", "PCC") and reset and settings.get("average") == "micro":
                continue
            call = attempt(lambda n=name, s=settings, u=updates, r=reset: said(mx, lambda: getattr(m, n)(**s), u, r))
            found[f"{number} {name} {settings} {reset}"] = call
    return found


@ask
def metrics_of_metrics(mx, folder):
    m = mx.metric
    label, pred = (
        [mx.nd.array(picks(4, 5)), mx.nd.array(picks(4, 3))],
        [mx.nd.array(chances(5, 4)), mx.nd.array(chances(3, 4))],
    )

    def compared(label, pred):
        return float(np.abs(label - pred.argmax(1)).sum()), 2 * len(label)

    def single(label, pred):
        return float(pred.max() - label.min())

    both = m.create(["acc", "ce"])
    both.add(m.TopKAccuracy(2))
    both.add(compared)
    both.update(label, pred)
    first = [both.get(), both.get_global(), both.get_name_value(), both.get_metric(1).name, str(both)]
    both.reset_local()
    first += [both.get(), both.get_global()]
    both.update(label[:1], pred[:1])
    first += [both.get(), both.get_global(), attempt(both.get_config)]
    both.reset()
    named = m.CompositeEvalMetric(["acc", m.CrossEntropy(output_names=["b"], label_names=["y"])], name="two")
    named.update_dict({"y": label[0]}, {"b": pred[0]})
    chosen = m.CompositeEvalMetric(["acc"], output_names=["b"], label_names=["y"])
    chosen.update_dict({"y": label[0], "z": label[1]}, {"a": pred[1], "b": pred[0]})
    ordered = m.MAE(output_names=["b", "a"], label_names=["y", "z"])
    ordered.update_dict({"z": label[1], "y": label[0]}, {"a": label[1] + 2, "b": label[0] + 1, "c": pred[0]})
    extra = m.CustomMetric(single, "mine", allow_extra_outputs=True)
    extra.update(label[:1], [*pred, pred[0]])
    plain = m.np(single, name=None)
    plain.update(label, pred)
    tuples = m.np(compared, "pairs")
    tuples.update(label, pred)
    tuples.update(label, pred)
    one = m.create("acc")
    one.update(label[0], pred[0])
    return {
        "both": first,
        "named": [named.get(), named.name, named.get_config()["name"]],
        "chosen": chosen.get(),
        "ordered": ordered.get(),
        "extra": [extra.get(), extra.name, extra.num_inst],
        "plain": [plain.get(), plain.num_inst],
        "tuples": [tuples.get(), tuples.num_inst, tuples.get_global()],
        "one": one.get(),
        "names": [m.create(n).name for n in ("acc", "ce", "nll_loss", "top_k_acc", "pearsonr") if n != "top_k_acc"],
        "created": [
            m.create("top_k_accuracy", top_k=3).name,
            m.create("perplexity", None).ignore_label,
            m.create("acc", axis=2).axis,
            m.create(both) is both,
            m.create(["acc", "mse"], name="x").get_metric(0).name,
        ],
        "refused": [
            attempt(call)
            for call in (
                lambda: m.create("acc").update(label, pred[:1]),
                lambda: m.create("acc").update(label[:1], pred[1:]),
                lambda: m.np(single).update(label, pred[:1]),
                lambda: m.create("ce").update(label[:1], pred[1:]),
                lambda: m.create("perplexity", None).update(label[:1], pred[1:]),
                lambda: m.create("perplexity", None).update(label, pred[:1]),
                lambda: m.TopKAccuracy(top_k=2).update([label[0]], [mx.nd.array(numbers(5, 2, 2))]),
                lambda: m.TopKAccuracy(top_k=1),
                lambda: m.F1().update([mx.nd.array([0, 1, 2])], [mx.nd.array(numbers(3, 2))]),
                lambda: m.create("no_such"),
                lambda: m.PearsonCorrelation().update([mx.nd.array(numbers(3))], [mx.nd.array(numbers(3, 1))]),
                lambda: m.EvalMetric("x").update([], []),
            )
        ],
        "checked": [
            attempt(lambda: m.check_label_shapes([1, 2], [1])),
            attempt(lambda: m.check_label_shapes(label[0], pred[0], shape=True)),
            attempt(lambda: m.check_label_shapes(label[0], pred[0], wrap=True)),
            attempt(lambda: m.check_label_shapes(label[0], label[0], wrap=True, shape=True)),
        ],
    }


@ask
def initializers(mx, folder):
    """Meaning of names, attributes and patterns; bilinear weights, biases of gates, files; verbose and not."""
    init = mx.init

    def filled(initializer, name, shape=(4, 3), attrs=None, desc=True):
        array = mx.nd.array(numbers(*shape))
        initializer(init.InitDesc(name, attrs) if desc else name, array)
        return array

    found = {}
    for name in (
        "a_weight",
        "a_bias",
        "a_gamma",
        "a_beta",
        "a_min",
        "a_max",
        "a_moving_mean",
        "a_running_var",
        "a_other",
        "a_moving_inv_var",
        "a_moving_avg",
        "upsampling_weight",
        "stn_loc_weight",
        "a_moving_var",
    ):
        shape = (1, 2, 4, 3) if name.startswith("ups") else (4, 3)
        for desc in (True, False):
            found[f"{name} {desc}"] = attempt(lambda n=name, s=shape, d=desc: filled(init.Constant(7), n, s, desc=d))
    found["stn_loc_bias"] = attempt(lambda: filled(init.Constant(7), "stn_loc_bias", (6,), desc=False))
    found["stn_loc_bias of 5"] = attempt(lambda: filled(init.Constant(7), "stn_loc_bias", (5,), desc=False))
    for shape in ((1, 1, 3, 3), (2, 1, 4, 4), (1, 2, 5, 5), (1, 1, 6, 6), (1, 1, 2, 2)):
        found[f"bilinear {shape}"] = filled(init.Bilinear(), "a_weight", shape)
    for forget in (1.0, 2.5):
        found[f"lstm bias {forget}"] = attempt(lambda f=forget: filled(init.LSTMBias(f), "a_weight", (12,)))
        attrs = {"__init__": init.LSTMBias(forget).dumps()}
        found[f"lstm bias by attribute {forget}"] = filled(init.Zero(), "a_bias", (8,), attrs)
    found["constant array"] = filled(init.Constant(mx.nd.array(numbers(4, 3, seed=3))), "a_weight")
    mixed = init.Mixed(["b.*", ".*weight", "fc"], [init.Constant(2), init.Constant(3), init.Constant(4)])
    found["mixed"] = [
        attempt(lambda n=n: filled(mixed, n)) for n in ("b_weight", "a_weight", "fc_bias", "other", "xb_weight")
    ]
    found["mixed count"] = attempt(lambda: init.Mixed(["a"], []))
    saved = {
        "arg:a_weight": mx.nd.array(numbers(4, 3, seed=8)),
        "aux:m": mx.nd.array(numbers(4, 3, seed=9)),
        "p": mx.nd.array([1, 2]),
    }
    mx.nd.save(str(folder / "x.params"), saved)
    for source in (saved, str(folder / "x.params")):
        load = init.Load(source, default_init=init.Constant(6))
        found[f"load {type(source).__name__}"] = [
            attempt(lambda n=n: filled(load, n)) for n in ("a_weight", "m", "p", "z_weight")
        ]
    found["load without default"] = attempt(lambda: filled(init.Load(saved), "z_weight"))
    found["load a list"] = attempt(lambda: init.Load([1]))
    with logged() as lines:
        for one in (
            init.Constant(2).set_verbosity(True),
            init.Constant(2).set_verbosity(True, lambda x: f"sum {x.asnumpy().sum():.3f}"),
            init.Constant(2).set_verbosity(False),
            init.Constant(2),
        ):
            filled(one, "a_weight", (2, 8))
            filled(one, "a_bias")
            filled(one, "a_bias", (2, 8), attrs={"__init__": init.Constant(5).dumps()})
        filled(init.Load(saved, init.Zero(), verbose=True), "a_weight")
        filled(init.Load(saved, init.Zero(), verbose=True), "z_bias")
    found["logged"] = lines
    desc = init.InitDesc("n", {"a": "b"}, global_init=init.One())
    found["description"] = [str(desc), desc.attrs, desc.global_init.dumps(), init.InitDesc("n").attrs]
    found["dumped"] = [
        i.dumps()
        for i in (init.Uniform(0.5), init.Normal(0.5), init.Orthogonal(2.0, "normal"), init.Xavier("gaussian", "in", 2),
                  init.MSRAPrelu("out", 0.1), init.FusedRNN(init.Uniform(0.2), 2, 1, "gru", True, 3.0))
    ]  # fmt: skip
    return found
