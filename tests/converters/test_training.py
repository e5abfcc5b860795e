"""Training forms: outputs and statistics against Program(training=True), gradients of losses against those of the heads, and
onnxruntime on what is written."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import converters
from converters import training
from converters.error import Unsupported
from converters.training import training_form
from hybrid import symbol
from hybrid.core.error import MXNetError
from hybrid.execution.program import Program
from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Entry, Graph
from hybrid.ir.infer import infer
from tests.table.goldens import Case, cases, close
from tests.table.test_goldens import run_onnx
from tests.table.test_gradients import MEANINGLESS

Feeds = dict[str, np.ndarray]


def trained(graph: Graph, feeds: Mapping[str, np.ndarray], **options: Any) -> Graph:
    shapes, dtypes = {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()}
    return training_form(graph, infer(graph, shapes, dtypes), **options)


HEADS = {
    *("SoftmaxOutput", "LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput", "SVMOutput"),
    *("MakeLoss", "make_loss"),
}
LOSSES = [
    pytest.param(c, id=f"{c.operator}-{c.id}")
    for c in cases()
    if c.operator in HEADS
    and "grad" in c.data
    and (c.operator, c.id) not in MEANINGLESS
    and c.attrs.get("out_grad") != "True"
]


@pytest.mark.parametrize("case", LOSSES)
def test_losses_have_the_gradients_that_mxnet_starts_with(case: Case) -> None:
    feeds = dict(zip(case.names, case.arrays()))
    graph = trained(case.graph(), feeds)
    _, loss = graph.outputs
    assert loss.name == "node_loss_output"
    data = next(n for n in graph.variables() if n.name == "data")
    (found,) = gradients([(loss, None)], [data])
    assert found is not None
    used = {n.name for n in Graph([found]).variables()}
    (got,) = Program(Graph([found])).run({n: a for n, a in feeds.items() if n in used})
    want = case.data["grad"]["data"]
    if case.operator == "MAERegressionOutput":  # there the loss has a corner, and any slope between is one
        apart = np.abs(feeds["data"] - feeds["label"].reshape(want.shape)) > 0
        got = np.where(apart, got, want)
    close(got, want, case.op(), max(case.eps, float(np.finfo(np.float32).eps)))
    model = converters.to_onnx(case.graph(), {}, feeds, 21, training=True)
    for result, value in zip(run_onnx(model, feeds), Program(graph).run(feeds), strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-5, atol=1e-5 * max(1, float(np.abs(value).max(initial=0))))


@pytest.mark.parametrize("operator", sorted(HEADS))
def test_losses_of_other_dtypes(operator: str) -> None:
    """A loss is what it is of the same numbers in float32: in float32 for data of 16 bits, else in the dtype of the data, whatever
    the label is of."""
    several = [p.values[0] for p in LOSSES if p.values[0].operator == operator]
    several = [c for c in several if all(a.dtype == np.float32 for a in c.arrays())]
    for case in several[:: -(-len(several) // 3)]:
        feeds = {n: np.round(np.clip(a, -60, 60) * 8).astype(np.float32) / 8 for n, a in zip(case.names, case.arrays())}
        want = Program(trained(case.graph(), feeds)).run(feeds)[-1]
        for data, label in (
            ("float16", "float32"),
            ("float16", "float16"),
            ("float64", "float32"),
            ("float32", "float64"),
        ):
            given = {n: a.astype(data if n == "data" else label) for n, a in feeds.items()}
            try:
                graph = trained(case.graph(), given)
            except MXNetError:
                continue  # dtypes that have to be one
            for got in (
                Program(graph).run(given)[-1],
                run_onnx(converters.to_onnx(case.graph(), {}, given, training=True), given)[-1],
            ):
                assert got.dtype == ("float32" if data == "float16" else data), case.id
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=f"{case.id} {data} {label}")


NORMS = [
    pytest.param(c, id=f"{c.operator}-{c.id}")
    for c in cases()
    if c.operator in ("BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm")
    and {"train", "auxafter"} <= c.data.keys()
    and c.data["in"]["data"].dtype != np.float16  # MXNet's statistics have lost bits there, see BatchNorm.compute
    and c.id != "constant-data"  # a variance of 0 leaves nothing but the rounding of the mean
]


@pytest.mark.parametrize("case", NORMS)
def test_batch_norms_give_what_mxnet_gave_when_training(case: Case) -> None:
    """The outputs that training gave, and the statistics that it left (in the backward pass, for most)."""
    feeds = dict(zip(case.names, case.arrays()))
    graph = trained(case.graph(), feeds)
    moved = (
        [case.data["auxafter"][n] for n in case.op().mutates] if len(graph.outputs) > len(case.graph().outputs) else []
    )
    want = [*case.outputs("train"), *moved]
    model = converters.to_onnx(case.graph(), {}, feeds, 21, training=True)
    for got in (Program(graph).run(feeds), run_onnx(model, feeds)):
        for result, value in zip(got, want, strict=True):
            close(result, value, case.op(), float(np.finfo(np.float32).eps))


@pytest.mark.parametrize("fed", [False, True])
def test_statistics_that_two_norms_share_move_twice(fed: bool) -> None:
    """The last one first, as MXNet 1.9.1 moves them going backward. Seen: two outputs of one meaning, each with one step; and
    onnxruntime, which moved what it was fed, or has stored, along with them."""
    x = symbol.var("data")
    own = [symbol.var(f"bn_{n}") for n in ("gamma", "beta", "moving_mean", "moving_var")]
    one = symbol.BatchNorm(x, *own, name="one", fix_gamma=False)
    two = symbol.BatchNorm(symbol.sin(one) + x * x, *own, name="two", fix_gamma=False, momentum=0.7)
    graph = symbol.Group([one, two]).graph
    rng = np.random.default_rng(0)
    feeds = {n.name: rng.uniform(0.5, 2, 3).astype(np.float32) for n in graph.variables()}
    feeds["data"] = rng.uniform(-1, 1, (5, 3)).astype(np.float32)
    stored = {} if fed else {n: a for n, a in feeds.items() if n != "data"}
    given = {n: a.copy() for n, a in feeds.items() if n not in stored}
    model = converters.to_onnx(graph, stored, given, 17, training=True)
    assert [o.name for o in model.graph.output][2:] == ["bn_moving_mean_new_output", "bn_moving_var_new_output"]
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for _ in range(2):
        first, second, *moved = session.run(None, given)
        inner = np.sin(first) + feeds["data"] ** 2
        for got, name, of in zip(moved, ("bn_moving_mean", "bn_moving_var"), (np.mean, np.var)):
            later = 0.7 * feeds[name] + 0.3 * of(inner, axis=0)
            np.testing.assert_allclose(got, 0.9 * later + 0.1 * of(feeds["data"], axis=0), rtol=1e-5)
        scaled = (inner - inner.mean(0)) / np.sqrt(inner.var(0) + 1e-3)
        np.testing.assert_allclose(second, scaled * feeds["bn_gamma"] + feeds["bn_beta"], rtol=1e-4, atol=1e-5)
    assert all((given[n] == feeds[n]).all() for n in given)


def test_the_fraction_of_a_label_is_cut_off() -> None:
    """Also below 0, as MXNet's cast to int does. Seen: -0.5 counted as no class."""
    made = symbol.SoftmaxOutput(symbol.var("data"), name="softmax")
    data = np.random.default_rng(0).uniform(-1, 1, (4, 3)).astype(np.float32)
    losses = []
    for label in ([0.7, 1.2, 2.9, -0.5], [0, 1, 2, 0]):
        feeds = {"data": data, "softmax_label": np.array(label, np.float32)}
        losses.append(run_onnx(converters.to_onnx(made, {}, feeds, training=True), feeds)[1])
    assert losses[0] == losses[1]


def net() -> symbol.Symbol:
    """A little of everything that trains otherwise, under two heads."""
    data = symbol.var("data")
    x = symbol.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    x = symbol.LeakyReLU(symbol.BatchNorm(x, fix_gamma=False, name="bn"), act_type="rrelu", name="act")[0]
    x = symbol.Dropout(symbol.Flatten(x), p=0.25, name="drop")
    scores = symbol.FullyConnected(x, num_hidden=3, name="fc")
    return symbol.Group(
        [
            symbol.SoftmaxOutput(scores, name="softmax"),
            symbol.make_loss(symbol.mean(symbol.square(scores)), name="weight"),
        ]
    )


def drawn(graph: Graph, shapes: Mapping[str, tuple[int, ...]]) -> Feeds:
    rng, inference = np.random.default_rng(0), infer(graph, shapes, default_dtype=np.float32)
    found = {n.name: inference.spec(Entry(n)).shape for n in graph.variables()}
    feeds = {n: rng.uniform(0.5, 1.5, shape).astype(np.float32) for n, shape in found.items()}
    return feeds | {"softmax_label": rng.integers(0, 3, found["softmax_label"]).astype(np.float32)}


def test_a_network_trains_in_onnxruntime_as_here_but_for_chance() -> None:
    graph = net().graph
    feeds = drawn(graph, {"data": (5, 2, 6, 6)})
    form = trained(graph, feeds)
    names = [e.name for e in form.outputs]
    assert names == [
        *("softmax_output", "weight_loss", "softmax_loss_output", "weight_loss_output"),
        *("bn_moving_mean_new_output", "bn_moving_var_new_output"),
    ]
    inputs = {n: feeds[n] for n in ("data", "softmax_label")}
    model = converters.to_onnx(graph, {n: a for n, a in feeds.items() if n not in inputs}, inputs, training=True)
    kinds = {n.op_type: n for n in model.graph.node}
    assert [i.name for i in model.graph.input] == ["data", "softmax_label"]
    assert kinds["BatchNormalization"].attribute
    assert len(kinds["Dropout"].input) == 3
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    results, again = (dict(zip(names, session.run(None, inputs))) for _ in range(2))
    # what comes before anything random
    states = {n: feeds[n].copy() for n in ("bn_moving_mean", "bn_moving_var")}
    for name, value in zip(names, Program(form).run(feeds)):
        if "moving" in name:
            np.testing.assert_allclose(results[name], value, rtol=1e-5)
            assert np.abs(value - states[name.removesuffix("_new_output")]).max() > 1e-3
    assert np.abs(again["softmax_output"] - results["softmax_output"]).max() > 1e-4, "nothing is random"
    still = trained(graph, feeds, still=True)
    assert not {"_onnx_Dropout", "_random_uniform_like"} & {n.op.name for n in still.nodes if n.op is not None}


def test_dropout_inside_of_a_network_drops() -> None:
    """Seen: onnxruntime took it out, whatever training_mode said."""
    x = symbol.Dropout(symbol.relu(symbol.var("data")), p=0.5)
    made = symbol.sum(x, axis=1)
    data = np.ones((400, 4), np.float32)
    (got,) = run_onnx(converters.to_onnx(made, {}, {"data": data}, training=True), {"data": data})
    assert set(np.unique(got)) == {0, 2, 4, 6, 8}
    assert abs(got.mean() - 4) < 0.5


@pytest.mark.parametrize("axes", [(), (1,)])
def test_dropout_drops_as_many_as_it_should(axes: tuple[int, ...]) -> None:
    data = np.ones((200, 50), np.float32)
    graph = symbol.Dropout(symbol.var("data"), p=0.3, axes=axes, name="drop").graph
    model = converters.to_onnx(graph, {}, {"data": data}, training=True)
    assert [n.op_type for n in model.graph.node].count("Dropout") == (0 if axes else 1)
    (got,) = run_onnx(model, {"data": data})
    assert set(np.unique(got)) == {np.float32(0), np.float32(1) / np.float32(0.7)}
    assert abs((got == 0).mean() - 0.3) < (0.2 if axes else 0.03)
    if axes:
        assert all(len(np.unique(row)) == 1 for row in got)


def test_slopes_are_drawn_between_their_bounds() -> None:
    data = -np.ones((100, 20), np.float32)
    graph = symbol.LeakyReLU(symbol.var("data"), act_type="rrelu", lower_bound=0.2, upper_bound=0.4, name="act")[
        0
    ].graph
    (got,) = run_onnx(converters.to_onnx(graph, {}, {"data": data}, training=True), {"data": data})
    assert -0.4 <= got.min() < -0.39
    assert -0.21 < got.max() <= -0.2


def test_dropout_in_a_loop() -> None:
    def step(x: Any, states: Any) -> Any:
        y = symbol.Dropout(x + states[0], p=0.5, name="drop")
        return y, [states[0] + 1]

    out, _ = symbol.contrib.foreach(step, symbol.var("data"), [symbol.var("state")])
    feeds = {"data": np.zeros((3, 400), np.float32), "state": np.ones((400,), np.float32)}
    (got,) = run_onnx(converters.to_onnx(out, {}, feeds, training=True), feeds)
    assert [sorted(np.unique(row)) for row in got] == [[0, 2], [0, 4], [0, 6]]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (symbol.SoftmaxOutput(symbol.var("data"), out_grad=True, name="head"), "out_grad=True"),
        (symbol.Dropout(symbol.var("data"), p=1.0, name="drop"), "p=1"),
    ],
)
def test_what_has_no_training_form_is_refused_with_the_reason(made: symbol.Symbol, reason: str) -> None:
    with pytest.raises(converters.UnsupportedModel, match=reason) as caught:
        converters.to_onnx(made, {}, {"data": (4, 3)}, training=True)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    "attrs",
    [
        {"mode": "gru", "bidirectional": True},
        {"mode": "lstm", "projection_size": 2, "state_outputs": True},
        {"mode": "rnn_tanh", "state_outputs": True, "use_sequence_length": True},
        {"mode": "lstm", "bidirectional": True, "state_outputs": True, "num_layers": 2},
    ],
    ids=lambda a: "-".join(map(str, a.values())),
)
def test_dropout_between_recurrent_layers(attrs: dict[str, Any]) -> None:
    """With next to nothing dropped, the layers one by one are those of the whole; dropped for good, they vary."""
    rng, results = np.random.default_rng(0), []
    for p in (1e-7, 0.5):
        attrs = {"state_size": 3, "num_layers": 3, **attrs, "p": p}
        names = ["data", "parameters", "state", *(["state_cell"] if attrs["mode"] == "lstm" else [])]
        names += ["sequence_length"] if attrs.get("use_sequence_length") else []
        graph = symbol.RNN(**{n: symbol.var(n) for n in names}, **attrs, name="rnn").graph
        inference = infer(graph, {"data": (4, 2, 5)}, default_dtype=np.float32)
        feeds = {n.name: rng.uniform(-0.7, 0.7, inference.spec(Entry(n)).shape).astype("f4") for n in graph.variables()}
        feeds |= {n: np.float32([2, 4]) for n in names if n == "sequence_length"}
        model = converters.to_onnx(graph, {}, feeds, training=True)
        assert [n.op_type for n in model.graph.node].count("Dropout") == attrs["num_layers"] - 1
        results.append((run_onnx(model, feeds), Program(graph).run(feeds)))
    (got, want), (dropped, whole) = results
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert np.abs(dropped[0] - whole[0]).max() > 1e-3
    assert [a.shape for a in dropped] == [a.shape for a in whole]


SCORES = np.random.default_rng(1).uniform(-2, 2, (4, 3)).astype(np.float32)
BLOCK = np.random.default_rng(2).uniform(-2, 2, (2, 3, 5)).astype(np.float32)
CLASSES, PLACES = np.float32([2, 0, 1, 2]), np.float32([[0, 1, 2, 1, 0], [2, 2, 1, 0, 1]])
TARGETS = np.random.default_rng(3).uniform(0.1, 0.9, (4, 3)).astype(np.float32)
SHARES = TARGETS / TARGETS.sum(1, keepdims=True)


def entropies(scores: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Cross entropy of every row: scores (n, classes), label (n,)."""
    likely = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    return -likely[np.arange(len(label)), label.astype(int)]


def losses() -> list[tuple[str, symbol.Symbol, np.ndarray, np.ndarray | None, float]]:
    """Heads with data, labels and the figure that they are known by."""
    data = symbol.var("data")
    head = lambda **attrs: symbol.SoftmaxOutput(data, name="head", **attrs)  # noqa: E731
    each = entropies(SCORES, CLASSES)
    of_places = entropies(BLOCK.swapaxes(1, 2).reshape(10, 3), PLACES.ravel())
    all_classes = np.stack([entropies(SCORES, np.full(4, c)) for c in range(3)])
    smooth = 0.7 * each + 0.15 * (all_classes.sum(0) - each)
    kept = CLASSES != 2
    gaps = SCORES - TARGETS
    signs = np.where(CLASSES[:, None] == np.arange(3), -1, 1)
    short = np.maximum(signs * SCORES + 0.75, 0)
    svm = lambda **attrs: symbol.SVMOutput(data, margin=0.75, regularization_coefficient=0.5, name="head", **attrs)  # noqa: E731
    positive = np.abs(SCORES)
    positive[1, 2] = 1
    passed = (positive > 1).sum()
    outside = np.float32([-1, 3, 1, 2])
    whole = np.log(np.exp(SCORES).sum(1))
    apart = np.where([True, True, False, False], whole, entropies(SCORES, np.float32([0, 0, 1, 2])))
    astray = np.where(PLACES == 0, -1, np.where(PLACES == 1, 3, PLACES))
    wholes = np.log(np.exp(BLOCK).sum(1)).ravel()
    of_astray = np.where(PLACES.ravel() == 2, of_places, wholes)
    shares = np.abs(BLOCK.swapaxes(1, 2)) / 4
    many = np.float32([[2, 0], [1, 2], [0, 1], [2, 2]])
    each_of_many = entropies(SCORES, np.float32([2, 0, 1, 2]))
    flat = BLOCK.reshape(2, 15)
    of_images = entropies(flat, np.float32([14, 3]))
    make = lambda **attrs: symbol.MakeLoss(data, grad_scale=3.0, name="head", **attrs)  # noqa: E731
    return [
        ("plain", head(), SCORES, CLASSES, each.sum()),
        ("scaled", head(grad_scale=2.5), SCORES, CLASSES, 2.5 * each.sum()),
        ("of a batch", head(normalization="batch", grad_scale=2.5), SCORES, CLASSES, 2.5 * each.mean()),
        ("ignored", head(use_ignore=True, ignore_label=2), SCORES, CLASSES, each[kept].sum()),
        ("ignore off", head(ignore_label=2), SCORES, CLASSES, each.sum()),
        ("of the valid", head(use_ignore=True, ignore_label=2, normalization="valid"), SCORES, CLASSES, each[kept].mean()),
        ("smooth", head(smooth_alpha=0.3), SCORES, CLASSES, smooth.sum()),
        ("places", head(multi_output=True), BLOCK, PLACES, of_places.sum() / 5),
        ("valid places", head(multi_output=True, normalization="valid", use_ignore=True), BLOCK, PLACES, of_places.mean()),
        ("rows kept", head(preserve_shape=True), BLOCK.swapaxes(1, 2), PLACES, of_places.sum()),
        ("shares", head(), SCORES, SHARES, (SHARES * all_classes.T).sum()),
        ("no class", head(), SCORES, outside, apart.sum()),
        ("no class at places", head(multi_output=True), BLOCK, astray, of_astray.sum() / 5),
        ("labels of one column", head(), SCORES, CLASSES[:, None], each.sum()),
        ("rows of two axes", head(multi_output=True), SCORES, CLASSES, each.sum()),
        ("rows of two axes of a batch", head(multi_output=True, normalization="batch"), SCORES, CLASSES, each.mean()),
        ("more labels than rows", head(), SCORES, many, each_of_many.sum()),
        ("more labels than rows in one axis", head(normalization="batch"), SCORES, many.ravel(), each_of_many.sum() / 8),
        ("images", head(), BLOCK, np.float32([14, 3]), of_images.sum()),
        ("images and more labels", head(), BLOCK, np.float32([[14, 3], [7, 7]]), of_images.sum()),
        ("one class", head(smooth_alpha=0.3), SCORES[:, :1], np.zeros(4, np.float32), 0.0),
        ("shares of rows kept", head(preserve_shape=True), BLOCK.swapaxes(1, 2), shares,
         (np.log(np.exp(BLOCK).sum(1))).sum() - (BLOCK.swapaxes(1, 2) * shares).sum()),
        ("shares of images", head(), BLOCK, shares.swapaxes(1, 2),
         np.log(np.exp(flat).sum(1)).sum() - (BLOCK * shares.swapaxes(1, 2)).sum()),
        ("shares of places", head(multi_output=True), BLOCK, shares.swapaxes(1, 2),
         np.log(np.exp(BLOCK).sum(1)).sum() - (BLOCK * shares.swapaxes(1, 2)).sum()),
        ("squares", symbol.LinearRegressionOutput(data, grad_scale=2, name="head"), SCORES, TARGETS, (gaps**2).mean(1).sum()),
        ("gaps", symbol.MAERegressionOutput(data, grad_scale=2, name="head"), SCORES, TARGETS, 2 * abs(gaps).mean(1).sum()),
        ("logistic", symbol.LogisticRegressionOutput(data, name="head"), SCORES, TARGETS,
         (np.log1p(np.exp(SCORES)) - SCORES * TARGETS).mean(1).sum()),
        ("hinge", svm(use_linear=True), SCORES, CLASSES, 0.5 * short.sum()),
        ("squared hinge", svm(), SCORES, CLASSES, 0.5 * (short**2).sum()),
        ("made", make(), SCORES, None, 3 * SCORES.sum()),
        ("made of a batch", make(normalization="batch"), SCORES, None, 3 * SCORES.sum() / 4),
        ("made of the valid", make(normalization="valid", valid_thresh=1), positive, None, 3 * positive.sum() / passed),
        ("made at once", symbol.make_loss(data, name="head"), SCORES, None, SCORES.sum()),
    ]  # fmt: skip


def test_losses_are_the_figures_they_are_known_by() -> None:
    """Of gradients alone a loss is known but for what is added to it."""
    wrong = []
    for name, head, data, label, want in losses():
        for dtype in (np.float32, np.float16):
            feeds = {"data": data.astype(dtype)} | ({} if label is None else {"head_label": label.astype(dtype)})
            model = converters.to_onnx(head, {}, feeds, training=True)
            loss = run_onnx(model, feeds)[1]
            tolerance = 1e-5 if dtype == np.float32 else 4e-3
            shown = [o.name for o in model.graph.output][1:]
            if (
                shown != ["head_loss_output"]
                or loss.shape != (1,)
                or not np.isclose(loss[0], want, rtol=tolerance, atol=tolerance)
            ):
                wrong.append(f"{name} in {np.dtype(dtype)}: {shown} {loss!r}, wanted {want}")
            if np.asarray(loss).dtype != np.float32:
                wrong.append(f"{name} in {np.dtype(dtype)}: of {loss.dtype}, which holds no sums")
    assert not wrong, "\n".join(wrong)


def test_sizes_that_a_training_form_needs() -> None:
    data = symbol.var("data")
    smooth = symbol.SoftmaxOutput(data, smooth_alpha=0.1, name="head")
    layers = symbol.RNN(data, state_size=3, num_layers=2, mode="gru", p=0.5, name="rnn")

    def step(x: Any, states: Any) -> Any:
        y = symbol.BatchNorm(x + states[0], name="bn")
        return y, [states[0] + y]

    looped, _ = symbol.contrib.foreach(step, data, [symbol.var("state")])
    feeds = {"data": (2, 4, 3), "state": (4, 3)}
    for made, inputs, reason in (
        (smooth, {"data": ("n", "c"), "head_label": ("n",)}, "the number of classes is dynamic"),
        (smooth, {"data": ("n", 5), "head_label": ("n",)}, ""),
        (smooth, {"data": ("n", 3, "w"), "head_label": ("n",)}, "the number of classes is dynamic"),
        (symbol.BatchNorm(data, name="bn"), {}, "its rank is not known; give the shapes of all inputs"),
        (layers, {}, "number of features has to be known"),
        (layers, {"data": (4, 2, "f")}, "number of features has to be known"),
        (looped, feeds, "inside of control flow"),
    ):
        try:
            converters.to_onnx(made, {}, inputs, training=True)
        except converters.ConversionError as error:
            assert reason, error
            assert reason in str(error)
        else:
            assert not reason


def test_what_trains_as_it_infers() -> None:
    """Statistics that are kept, dropout of nothing, slopes that are not drawn, layers without dropout between them."""
    rng = np.random.default_rng(0)
    data = symbol.var("data")
    feeds: Feeds = {"data": rng.uniform(-1, 1, (4, 3)).astype(np.float32)}
    stats = {
        f"bn_{n}": rng.uniform(0.5, 2, 3).astype(np.float32) for n in ("gamma", "beta", "moving_mean", "moving_var")
    }
    norm = symbol.BatchNorm(data, use_global_stats=True, fix_gamma=False, name="bn", eps=0.25)
    made = symbol.LeakyReLU(symbol.Dropout(norm, p=0.0, name="drop"), act_type="elu", slope=0.5, name="act")
    model = converters.to_onnx(made, stats, feeds, training=True)
    assert [o.name for o in model.graph.output] == ["act_output"]
    gamma, beta, mean, var = stats.values()
    want = (feeds["data"] - mean) / np.sqrt(var + 0.25) * gamma + beta
    np.testing.assert_allclose(run_onnx(model, feeds)[0], np.where(want < 0, 0.5 * np.expm1(want), want), rtol=1e-5)
    layers = {p: symbol.RNN(data, state_size=3, num_layers=3, mode="gru", p=p, name="rnn").graph for p in (0.0, 0.5)}
    counts = []
    for p, still in ((0.0, False), (0.5, True), (0.5, False)):
        shapes = {"data": np.zeros((4, 2, 5), np.float32)}
        nodes = trained(layers[p], shapes, still=still).nodes
        counts.append([n.op.name for n in nodes if n.op is not None].count("RNN"))
    assert counts == [1, 1, 3]
    form = training._form(SimpleNamespace(name="Custom", needs=("training",)), False)
    assert form is not None
    with pytest.raises(Unsupported, match="it has no form in ONNX for training"):
        form(None, [])
    assert training._form(SimpleNamespace(name="sin", needs=()), False) is None


def test_norms_along_the_last_axis_and_such_as_share_one_statistic() -> None:
    rng = np.random.default_rng(0)
    data = symbol.var("data")
    feeds: Feeds = {"data": rng.uniform(-1, 1, (4, 5, 3)).astype(np.float32)}
    own = {n: rng.uniform(0.5, 2, 3).astype(np.float32) for n in ("gamma", "beta", "mean", "first", "second")}
    gamma, beta, mean = (symbol.var(n) for n in ("gamma", "beta", "mean"))
    last = {"axis": -1, "fix_gamma": False, "eps": 0.25}
    one = symbol.BatchNorm(data, gamma, beta, mean, symbol.var("first"), name="one", momentum=0.75, **last)
    two = symbol.BatchNorm(one * 2, gamma, beta, mean, symbol.var("second"), name="two", momentum=0.5, **last)
    model = converters.to_onnx(symbol.Group([one, two]), own, feeds, training=True)
    names = [o.name for o in model.graph.output]
    assert names == ["one_output", "two_output", "mean_new_output", "first_new_output", "second_new_output"]
    got = dict(zip(names, run_onnx(model, feeds)))

    def normal(x: np.ndarray) -> np.ndarray:
        return (x - x.mean((0, 1))) / np.sqrt(x.var((0, 1)) + 0.25) * own["gamma"] + own["beta"]

    x, inner = feeds["data"], 2 * normal(feeds["data"])
    moved = 0.5 * own["mean"] + 0.5 * inner.mean((0, 1))  # going backward, the second moves first
    want = {
        "one_output": normal(x),
        "two_output": normal(inner),
        "mean_new_output": 0.75 * moved + 0.25 * x.mean((0, 1)),
        "first_new_output": 0.75 * own["first"] + 0.25 * x.var((0, 1)),
        "second_new_output": 0.5 * own["second"] + 0.5 * inner.var((0, 1)),
    }
    for name in names:
        np.testing.assert_allclose(got[name], want[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_control_flow_trains_in_every_branch_and_has_no_losses() -> None:
    x, flag = symbol.var("data"), symbol.var("flag")
    made = symbol.contrib.cond(
        flag, lambda: symbol.Dropout(x, p=0.5, name="yes"), lambda: symbol.Dropout(x * 3, p=0.5, name="no")
    )
    data = np.full((400,), 2, np.float32)
    for on, most in ((1, 4), (0, 12)):
        feeds = {"data": data, "flag": np.float32([on])}
        (got,) = run_onnx(converters.to_onnx(made, {}, feeds, training=True), feeds)
        assert sorted(np.unique(got)) == [0, most]

    def step(scores: Any, states: Any) -> Any:
        return symbol.SoftmaxOutput(scores, states[0], name="head"), states

    out, _ = symbol.contrib.foreach(step, x, [symbol.var("label")])
    feeds = {"data": np.stack([SCORES, SCORES / 2]), "label": CLASSES}
    model = converters.to_onnx(out, {}, feeds, training=True)
    (got,) = run_onnx(model, {n: feeds[n] for n in (i.name for i in model.graph.input)})
    grown = np.exp(feeds["data"])
    np.testing.assert_allclose(got, grown / grown.sum(2, keepdims=True), rtol=1e-5)
