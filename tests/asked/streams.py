"""Iterators and metrics at the borders of what they take: other layouts, sparse rows, parts, wide labels, shapes that nearly
fit."""

# ruff: noqa: B023, E501  calls are made at once
from __future__ import annotations

import numpy as np

from .questions import ask, attempt, numbers, plain


def _epochs(made, count=3, reset="reset"):
    """Contents of every batch of some epochs."""
    found = []
    for _ in range(count):
        batches = []
        for b in made:
            arrays = [a.asnumpy() for a in (*b.data, *(b.label or ()))]
            batches.append([arrays, b.pad, None if b.index is None else [int(i) for i in b.index]])
        found.append(batches)
        getattr(made, reset)()
    return found


def _described(made):
    return [
        [[d.name, list(d.shape), np.dtype(d.dtype).name, d.layout] for d in given]
        for given in (made.provide_data, made.provide_label)
    ]


@ask
def arrays_to_the_end(mx, folder):
    """Dense and csr, with every way to end an epoch."""
    found = {}
    for layout, shape in (("NTC", (7, 3, 2)), ("NC", (7, 3)), ("N", (7,))):  # of others MXNet counts the wrong axis
        for end in ("pad", "discard", "roll_over"):
            for label in (numbers(7), numbers(7, 2), None):
                for reset in ("reset", "hard_reset"):

                    def read(layout=layout, shape=shape, end=end, label=label, reset=reset):
                        data = {"b": numbers(*shape), "a": numbers(*shape, seed=3)}
                        made = mx.io.NDArrayIter(data, label, 3, last_batch_handle=end, layout=layout)
                        return [_epochs(made, 3, reset), _described(made), made.num_data]

                    kind = "none" if label is None else label.ndim
                    if reset == "reset" or end == "roll_over":
                        found[f"{layout} {end} {kind} {reset}"] = attempt(read)
    for end in ("discard", "pad"):

        def sparse(end=end):
            dense = numbers(7, 4) * (numbers(7, 4, seed=8) > 0)
            made = mx.io.NDArrayIter(
                mx.nd.array(dense).tostype("csr"), mx.nd.array(numbers(7)), 2, last_batch_handle=end
            )
            return [[[b.data[0].stype, b.data[0], b.label[0], b.pad] for b in made], [d.stype for _, d in made.data]]

        found[f"csr {end}"] = attempt(sparse)
    return found


@ask
def files_of_rare_numbers(mx, folder):
    """CSV files: labels of every shape, numbers that float32 does not hold, indices, what fills a batch up."""
    io, found = mx.io, {}
    rows = np.arange(1, 31).reshape(10, 3) / 4

    def written(name, lines):
        (folder / name).write_text("\n".join(lines) + "\n")
        return str(folder / name)

    data = written("d.csv", [",".join(f"{v:g}" for v in row) for row in rows])
    for shape in ((1,), (2,), (1, 1), (2, 2)):  # of (1, 2) MXNet gives the first number
        size = int(np.prod(shape))
        label = written(f"l{size}.csv", [",".join(str(i * 10 + j) for j in range(size)) for i in range(10)])
        for batch in (4, 5):
            for fill in (True, False):
                for given in ({"label_csv": label}, {}):

                    def csv(shape=shape, batch=batch, fill=fill, given=given):
                        made = io.CSVIter(
                            data_csv=data,
                            data_shape=(3,),
                            label_shape=shape,
                            batch_size=batch,
                            round_batch=fill,
                            **given,
                        )
                        return [
                            _epochs(made),
                            [[d.name, list(d.shape)] for d in (*made.provide_data, *made.provide_label)],
                        ]

                    if batch == 4 or shape == (1,):
                        found[f"csv {shape} {batch} {fill} {len(given)}"] = attempt(csv)
    for name, texts, kind in (
        ("large", ["1e30,-1e30", "1e-30,3.25", "16777217,0.1"], "float32"),
        ("whole", ["2147483647,-2147483648", "16777217,3", "7,0"], "int32"),
        ("long", ["9007199254740993,-9007199254740993", "3,4", "5,6"], "int64"),
    ):
        path = written(f"{name}.csv", texts)
        made = io.CSVIter(data_csv=path, data_shape=(2,), batch_size=2, dtype=kind)
        found[name] = [[b.data[0], b.label[0], b.pad] for b in made]
    together = io.PrefetchingIter([io.CSVIter(data_csv=data, data_shape=(3,), batch_size=4)])
    found["indices ahead"] = [[[int(i) for i in b.index], b.pad] for b in together]
    return found


@ask
def metrics_at_the_borders(mx, folder):
    """Shapes that nearly fit, classes by other numbers, axes, several outputs, what is ignored."""
    m, nd, found = mx.metric, mx.nd, {}

    def tried(metric, *pairs):
        def run():
            for label, pred in pairs:
                metric.update([nd.array(x) for x in label], [nd.array(x) for x in pred])
            return [list(map(list, metric.get_name_value())), list(map(list, metric.get_global_name_value()))]

        return attempt(run)

    scores = np.abs(numbers(6, 3, seed=2)) + 0.1
    scores /= scores.sum(1, keepdims=True)
    two = np.abs(numbers(6, 2, seed=4))
    classes = np.array([0, 2, 1, 1, 0, 2])
    for shape in ((6,), (6, 1), (3, 2), (2, 3), (5,), (7,)):
        label = np.resize(classes, shape)
        for name, make in {
            "acc": m.Accuracy, "top": lambda: m.TopKAccuracy(2), "ce": m.CrossEntropy, "nll": lambda: m.NegativeLogLikelihood(0.1),
            "perplexity": lambda: m.Perplexity(1), "pcc": m.PCC,
        }.items():  # fmt: skip
            if name != "pcc" or shape[0] == 6:  # of others MXNet takes as many as there are
                found[f"{name} {shape}"] = tried(make(), ([label], [scores]))
        for name in ("mae", "mse", "rmse"):
            for pred in ((6,), (6, 1), (6, 2), (3, 2)):
                found[f"{name} {shape} {pred}"] = tried(m.create(name), ([label * 1.5], [numbers(*pred)]))
        for average in ("macro", "micro"):
            found[f"pearson {shape} {average}"] = tried(
                m.PearsonCorrelation(average=average), ([numbers(*shape)], [numbers(*shape, seed=1)])
            )
    for name, values in {"0 1": [0, 1, 1, 0, 1, 0], "0 2": [0, 2, 2, 0, 2, 0], "1 2": [1, 2, 2, 1, 2, 1], "-1 1": [-1, 1, 1, -1, 1, 1],
                         "1": [1] * 6, "0": [0] * 6, "three": [0, 1, 2, 0, 1, 1]}.items():  # fmt: skip
        for average in ("macro", "micro"):
            for make in (m.F1, m.MCC):
                found[f"{make.__name__} {name} {average}"] = tried(
                    make(average=average), ([values], [two]), ([values[::-1]], [two * two])
                )
    cube = np.abs(numbers(2, 3, 3, seed=6)) + 0.05
    for axis in (-1, 1, 2, 0):
        for ignored in (None, 1):
            found[f"perplexity of axis {axis} {ignored}"] = tried(
                m.Perplexity(ignored, axis),
                ([classes.reshape(2, 3)], [cube]),
                ([classes[:2], classes[2:4]], [scores[:2], scores[2:4]]),
            )
        found[f"accuracy of axis {axis}"] = tried(m.Accuracy(axis), ([classes.reshape(2, 3)], [cube]))
    for outputs, labels in (
        (None, None),
        (["p", "q"], None),
        (["q"], ["b"]),
        (["p", "q"], ["a", "b"]),
        (["r"], ["a"]),
        (["q", "p"], ["a", "b"]),
    ):
        made = m.CompositeEvalMetric([m.Accuracy(), m.CrossEntropy()], output_names=outputs, label_names=labels)
        alone = m.Accuracy(output_names=outputs, label_names=labels)

        def named(metric):
            metric.update_dict(
                {"a": nd.array(classes), "b": nd.array(classes[::-1].copy())},
                {"p": nd.array(scores), "q": nd.array(scores[::-1].copy())},
            )
            return metric.get_name_value()

        found[f"named {outputs} {labels}"] = [attempt(lambda: named(made)), attempt(lambda: named(alone))]
    both = m.create(["acc", m.np(lambda label, pred: float(np.abs(pred).max()), "most"), ["ce", "f1"]])
    found["nested"] = tried(both, ([classes % 2], [two / two.sum(1, keepdims=True)]))
    for extra in (False, True):

        def judge(label, pred):
            return (float(label.sum()), 3) if pred.ndim > 1 else float(pred[0])

        found[f"own {extra}"] = tried(
            m.np(judge, allow_extra_outputs=extra), ([classes], [scores]), ([classes], [scores, two[:, 0]])
        )
    loss = m.Loss()
    loss.update(None, [nd.array(scores), nd.array(two)])
    loss.update(None, nd.array(two))
    found["loss"] = [loss.get(), loss.num_inst]
    for name, metric in {
        "acc": m.Accuracy(),
        "f1": m.F1(average="micro"),
        "pcc": m.PCC(),
        "pearson": m.PearsonCorrelation(average="micro"),
    }.items():
        told = []
        for turn in range(4):
            label, pred = (
                (numbers(6), numbers(6, seed=turn)) if name == "pearson" else (classes % 2, two + turn * numbers(6, 2))
            )
            metric.update([nd.array(label)], [nd.array(pred)])
            told.append([metric.get(), metric.get_global()])
            if turn == 1:
                metric.reset_local()
                told.append([metric.get(), metric.get_global()])
        metric.reset()
        told.append([metric.get(), metric.get_global()])
        found[f"{name} over time"] = told
    return plain(found)
