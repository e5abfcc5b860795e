"""Samplers of np networks, and those of nd that ONNX builds from others: distributions in the engine and in onnxruntime."""

import math
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import converters
import hybrid as mx
from hybrid import autograd, nd
from hybrid.core.error import OpError
from hybrid.core.op import OPS, REGISTRY, Op, Spec
from hybrid.eager.array import invoke
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.np_random import Sampler

from .test_random import DISCRETE, N, assert_frequencies, erf, furthest


@pytest.fixture(autouse=True)
def seeded() -> None:
    mx.random.seed(11)


def graph_of(op: Op) -> Graph:
    return Graph([Entry(Node(op, "node", [Entry(Node(None, n)) for n in op.input_names()], op.dump()))])


def by_engine(op: Op, *arrays: Any) -> np.ndarray:
    return Program(graph_of(op)).run(dict(zip(op.input_names(), arrays)))[0]


def by_onnxruntime(op: Op, *arrays: Any) -> np.ndarray:
    ort.set_seed(5)
    feeds = dict(zip(op.input_names(), arrays))
    model = converters.to_onnx(graph_of(op), {}, feeds, 21)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    read = {i.name for i in model.graph.input}  # of some only the shape counts, which is known
    return ort.InferenceSession(model.SerializeToString(), options).run(None, {n: feeds[n] for n in read})[0]


RUNS = pytest.mark.parametrize("run", [by_engine, by_onnxruntime])

CONTINUOUS: dict[str, tuple[dict[str, float], Any]] = {
    "_npi_uniform": ({"low": -2, "high": 3}, lambda x: (x + 2) / 5),
    "_npi_uniform_n": ({"low": 3, "high": -2}, lambda x: (x + 2) / 5),
    "_npi_normal": ({"loc": 1, "scale": 2}, lambda x: 0.5 * (1 + erf((x - 1) / (2 * math.sqrt(2))))),
    "_npi_normal_n": ({"loc": 1, "scale": 2}, lambda x: 0.5 * (1 + erf((x - 1) / (2 * math.sqrt(2))))),
    "_npi_gumbel": ({"loc": 1, "scale": 2}, lambda x: np.exp(-np.exp(-(x - 1) / 2))),
    "_npi_logistic": ({"loc": 1, "scale": 2}, lambda x: 1 / (1 + np.exp(-(x - 1) / 2))),
    "_npi_exponential": ({"scale": 2.5}, lambda x: 1 - np.exp(-x / 2.5)),
    "_npi_rayleigh": ({"scale": 2.5}, lambda x: 1 - np.exp(-((x / 2.5) ** 2) / 2)),
    "_npi_weibull": ({"a": 2.5}, lambda x: 1 - np.exp(-(x**2.5))),
    "_npi_pareto": ({"a": 2.5}, lambda x: 1 - (1 + x) ** -2.5),
    "_npi_powerd": ({"a": 2.5}, lambda x: x**2.5),
    "_npi_gamma": ({"shape": 3, "scale": 2}, lambda x: 1 - np.exp(-x / 2) * (1 + x / 2 + (x / 2) ** 2 / 2)),
    "_random_gamma": ({"alpha": 0.5, "beta": 2}, lambda x: erf(np.sqrt(x / 2))),
    "_random_exponential": ({"lam": 2.5}, lambda x: 1 - np.exp(-x * 2.5)),
}


@RUNS
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name: str, run: Any) -> None:
    parameters, distribution = CONTINUOUS[name]
    size = {"size" if name.startswith("_npi") else "shape": (N,)}
    drawn = run(REGISTRY[name].bind(**parameters, **size))
    assert (drawn.shape, drawn.dtype) == ((N,), np.float32)
    assert furthest(drawn, distribution) < 1.95


@RUNS
@pytest.mark.parametrize("name", [n for n in CONTINUOUS if n.startswith("_npi")])
def test_distributions_of_arrays(name: str, run: Any) -> None:
    parameters, distribution = CONTINUOUS[name]
    arrays = [np.full(N, v, np.float32) for v in parameters.values()]
    drawn = run(REGISTRY[name].bind(**dict.fromkeys(parameters)), *arrays)
    assert furthest(drawn, distribution) < 1.95


@RUNS
@pytest.mark.parametrize("name", [n for n in DISCRETE if n != "randint"])
@pytest.mark.parametrize("form", ["_random_", "_sample_"])
def test_counts(name: str, form: str, run: Any) -> None:
    parameters, probabilities = DISCRETE[name]
    cls = REGISTRY[form + name]
    if form == "_random_":
        drawn = run(cls.bind(**{p.name: v for p, v in zip(cls.law.parameters, parameters)}, shape=(N,)))
    else:
        drawn = run(cls.bind(shape=(N,)), *(np.array([v], np.float32) for v in parameters))
    assert_frequencies(drawn, probabilities)


@RUNS
def test_no_dispersion_is_poisson(run: Any) -> None:
    drawn = run(REGISTRY["_random_generalized_negative_binomial"].bind(mu=3.5, alpha=0, shape=(N,)))
    assert_frequencies(drawn, DISCRETE["poisson"][1])


@RUNS
@pytest.mark.parametrize("is_logit", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bool", "uint8"])
def test_bernoulli(is_logit: bool, dtype: str, run: Any) -> None:
    attrs: dict[str, Any] = {"prob": None, "logit": None} | (
        {"logit": math.log(0.3 / 0.7)} if is_logit else {"prob": 0.3}
    )
    drawn = run(REGISTRY["_npi_bernoulli"].bind(**attrs, is_logit=is_logit, size=(N,), dtype=dtype))
    assert drawn.dtype == dtype
    assert_frequencies(drawn, [0.7, 0.3])
    given = np.array([0, 1, 0.5], np.float32) if not is_logit else np.array([-200, 200, 0], np.float32)
    drawn = run(REGISTRY["_npi_bernoulli"].bind(prob=None, logit=None, is_logit=is_logit, size=(N // 10, 3)), given)
    assert set(drawn[:, 0]) == {0}
    assert set(drawn[:, 1]) == {1}
    assert_frequencies(drawn[:, 2], [0.5, 0.5])


@RUNS
def test_choice(run: Any) -> None:
    cls, p = REGISTRY["_npi_choice"], np.array([0.1, 0, 0.6, 0.3], np.float32)
    assert_frequencies(run(cls.bind(a=5, size=(N,))), [0.2] * 5)
    assert_frequencies(run(cls.bind(a=None, size=(N,)), np.zeros((5, 2), np.float32)), [0.2] * 5)
    assert_frequencies(run(cls.bind(a=4, size=(N,), weighted=True), p), p)
    drawn = run(cls.bind(a=300, size=(10, 20), replace=False))
    assert len(np.unique(drawn)) == 200
    assert drawn.min() >= 0
    assert drawn.max() < 300


def orders(p: np.ndarray) -> dict[tuple[int, int], float]:
    """Probabilities of ordered pairs of draws without putting back."""
    return {(i, j): p[i] * p[j] / (1 - p[i]) for i in range(len(p)) for j in range(len(p)) if i != j}


@RUNS
def test_weighted_choice_without_putting_back(run: Any) -> None:
    p = np.array([0.5, 0.3, 0.2])
    op = REGISTRY["_npi_choice"].bind(a=3, size=(2,), replace=False, weighted=True)
    wanted = orders(p)
    if run is by_engine:
        program = Program(graph_of(op))
        pairs = [tuple(program.run({"input1": p})[0].tolist()) for _ in range(3000)]
    else:
        ort.set_seed(3)
        model = converters.to_onnx(graph_of(op), {}, {"input1": p}, 21)
        session = ort.InferenceSession(model.SerializeToString())
        pairs = [tuple(session.run(None, {"input1": p})[0].tolist()) for _ in range(3000)]
    places = {pair: i for i, pair in enumerate(wanted)}
    assert_frequencies(np.array([places[pair] for pair in pairs]), list(wanted.values()))


@RUNS
def test_multinomial_counts(run: Any) -> None:
    p = np.array([0.2, 0.5, 0.3])
    cls = REGISTRY["_npi_multinomial"]
    for drawn in (run(cls.bind(n=20, pvals=tuple(p), size=(N // 20,))), run(cls.bind(n=20, size=(N // 20,)), p)):
        assert set(drawn.sum(-1)) == {20}
        for column, share in enumerate(p):
            binomial = [math.comb(20, k) * share**k * (1 - share) ** (20 - k) for k in range(21)]
            counts = np.bincount(drawn[:, column], minlength=21)
            expected = len(drawn) * np.array(binomial)
            assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected) + 5)


def test_shuffled_rows_in_onnxruntime() -> None:
    op = REGISTRY["_shuffle"].bind()
    data = np.arange(200, dtype=np.float32).reshape(100, 2)
    rows = by_onnxruntime(op, data)
    assert not np.array_equal(rows, data)
    np.testing.assert_array_equal(rows[:, 0] + 1, rows[:, 1])
    np.testing.assert_array_equal(np.sort(rows[:, 0]), data[:, 0])


def test_two_nodes_draw_different_numbers_in_onnxruntime() -> None:
    op = REGISTRY["_npi_gumbel"].bind(loc=0, scale=1, size=(100,))
    graph = Graph([Entry(Node(op, n, [], op.dump())) for n in ("a", "b")])
    model = converters.to_onnx(graph, {}, {}, 21)
    first, second = ort.InferenceSession(model.SerializeToString()).run(None, {})
    assert not np.any(first == second)


SLOPES: dict[str, Any] = {
    "_npi_normal": lambda y, loc, scale: (1, (y - loc) / scale),
    "_npi_gumbel": lambda y, loc, scale: (1, (y - loc) / scale),
    "_npi_logistic": lambda y, loc, scale: (1, (y - loc) / scale),
    "_npi_normal_n": lambda y, loc, scale: (1, (y - loc) / scale),
    "_npi_exponential": lambda y, scale: (y / scale,),
    "_npi_rayleigh": lambda y, scale: (y / scale,),
    "_npi_weibull": lambda y, a: (-y * np.log(y) / a,),
    "_npi_pareto": lambda y, a: (-(y + 1) * np.log1p(y) / a,),
    "_npi_uniform": lambda y, low, high: (0, 0),
    "_npi_gamma": lambda y, shape, scale: (0, 0),
    "_npi_powerd": lambda y, a: (0,),
}


@pytest.mark.parametrize("name", SLOPES)
def test_gradients_of_parameters_are_those_of_mxnet(name: str) -> None:
    """MXNet 1.9.1 was asked for each of these formulas."""
    cls = REGISTRY[name]
    parameters = [nd.array([1.5, 2.0, 4.0]), nd.array([[2.0], [3.0]])][: len(cls.names)]
    for p in parameters:
        p.attach_grad()
    head = np.arange(1, 7).reshape(2, 3).astype(np.float32) if len(parameters) == 2 else np.float32([1, 2, 3])
    with autograd.record():
        y = invoke(cls.bind(**dict.fromkeys(cls.names)), parameters)
        y = y[0] if isinstance(y, list | tuple) else y
        loss = (y * nd.array(head)).sum()
    loss.backward()
    slopes = SLOPES[name](y.asnumpy().astype(np.float64), *(p.asnumpy() for p in parameters))
    for p, slope in zip(parameters, slopes):
        full = np.broadcast_to(head * slope, head.shape)
        axes = tuple(i for i in range(full.ndim) if p.ndim < full.ndim and i == 0) or tuple(
            i for i, d in enumerate(p.shape) if d == 1
        )
        want = full.sum(axes).reshape(p.shape)
        np.testing.assert_allclose(p.grad.asnumpy(), want, rtol=2e-5, atol=1e-6)


def test_a_scale_of_nothing_has_a_gradient_all_the_same() -> None:
    scale = nd.zeros((3,))
    scale.attach_grad()
    with autograd.record():
        y = invoke(REGISTRY["_npi_normal"].bind(loc=2.0, scale=None), [scale])
        y = y[0] if isinstance(y, list | tuple) else y
        y.sum().backward()
    assert y.asnumpy().tolist() == [2, 2, 2]
    assert np.all(np.isfinite(scale.grad.asnumpy()))
    assert np.all(scale.grad.asnumpy() != 0)


@pytest.mark.parametrize(
    ("name", "attrs", "arrays"),
    [
        ("_npi_normal", {"loc": 0, "scale": -1}, ()),
        ("_npi_normal", {"loc": None, "scale": None}, ([0.0], [-1.0])),
        ("_npi_normal", {"loc": None, "scale": 1, "size": (3,)}, ([0.0, 1.0],)),
        ("_npi_gamma", {"shape": 0, "scale": 1}, ()),
        ("_npi_gamma", {"shape": None, "scale": 1}, ([0.0],)),
        ("_npi_weibull", {"a": 0}, ()),
        ("_npi_pareto", {"a": None}, ([-1.0],)),
        ("_npi_bernoulli", {"prob": 1.5, "logit": None, "is_logit": False}, ()),
        ("_npi_bernoulli", {"prob": None, "logit": None, "is_logit": False}, ([-0.5],)),
        ("_npi_choice", {"a": 5, "size": (6,), "replace": False}, ()),
        ("_npi_choice", {"a": 2, "size": (2,), "weighted": True}, ([0.0, 0.0],)),
        ("_npi_choice", {"a": 2, "size": (2,), "weighted": True, "replace": False}, ([1.0, 0.0],)),
        ("_npi_choice", {"a": 3, "size": (2,), "weighted": True}, ([0.5, 0.5],)),
        ("_npi_choice", {"a": 0, "size": (2,)}, ()),
        ("_npi_multinomial", {"n": 5, "pvals": (0.6, 0.6, 0.1)}, ()),
        ("_npi_multinomial", {"n": -1, "pvals": (0.5, 0.5)}, ()),
    ],
)
def test_refusals(name: str, attrs: dict[str, Any], arrays: tuple[list[float], ...]) -> None:
    with pytest.raises(OpError):
        by_engine(REGISTRY[name].bind(**attrs), *(np.array(a, np.float32) for a in arrays))


def test_size_comes_before_the_shape_of_parameters_however_long_they_are() -> None:
    """In one exported model for all sizes; each sample is of its own parameters."""
    for name in ("_npi_normal_n", "_npi_uniform_n"):
        for size in ((5,), (5, 2)):
            op = REGISTRY[name].bind(size=size, **dict.fromkeys(REGISTRY[name].names))
            specs = {n: Spec(("n", 3), np.dtype(np.float32)) for n in op.input_names()}
            proto = converters.to_onnx(graph_of(op), {}, specs, 21)
            session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
            for count in (4, 1, 6):
                first = np.arange(count * 3, dtype=np.float32).reshape(count, 3) * 10
                second = np.full_like(first, 0.1) if name == "_npi_normal_n" else first + 1
                feeds = dict(zip(op.input_names(), (first, second)))
                drawn = session.run(None, feeds)[0], Program(graph_of(op)).run(feeds)[0]
                for got in drawn:
                    assert got.shape == (*size, count, 3), name
                    assert (np.abs(got - first - 0.5) < 1.5).all(), name


def test_one_number_is_a_size_too() -> None:
    """``size=()`` is no size left out: as in NumPy, parameters that are arrays do not broadcast to it; in front it adds nothing."""
    wrong, seen = [], 0
    for cls in (c for c in OPS.values() if issubclass(c, Sampler) and c.name != "_npi_bernoulli"):
        op = cls.bind(**dict.fromkeys(cls.names), size=())
        shapes = [(3,)] * len(op.input_names())
        seen += 1
        try:
            found = op.infer_shape(*shapes)
        except OpError as error:
            found = "broadcast" if "do not broadcast" in str(error) else str(error)
        first = found[0] if isinstance(found, list) else found
        if first != ((3,) if cls.in_front else "broadcast"):
            wrong.append(f"{op}: {found}")
    assert seen > 10
    assert not wrong, "\n".join(wrong)
