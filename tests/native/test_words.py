"""Classifiers that name classes by words, and maps of their scores: numbers compiled, words made of them last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import native
from hybrid.core.attrs import kind_of
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.execution.stages import Staged
from hybrid.ir.graph import Entry, Graph, Node

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

NAMES = np.array(["low", "mid", "high"], object)
RNG = np.random.default_rng(3)
WEIGHTS = {
    "coefficients": RNG.normal(size=12).astype(np.float32),
    "intercepts": RNG.normal(size=3).astype(np.float32),
    "post_transform": "SOFTMAX",
}


def node(name: str, data: Entry, label: str = "", **attrs: Any) -> Entry:
    return Entry(Node(lookup(name).bind(**attrs), label or name, [data]))


def classifier(name: str = "LinearClassifier", **attrs: Any) -> Graph:
    """Scaled rows, classified: the words, copied, and maps of the normalised scores; and the scores."""
    x = node("_onnx_ml_Normalizer", Entry(Node(None, "x")), norm="L2")
    made = node(f"_onnx_ml_{name}", x, "classes", classlabels_strings=NAMES, **(attrs or WEIGHTS))
    scores = Entry(made.node, 1)
    shares = node("_onnx_ml_Normalizer", scores, "shares", norm="L1")
    return Graph([node("_copy", made), node("_onnx_ml_ZipMap", shares, classlabels_strings=NAMES), scores])


def rows(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 4)).astype(np.float32)


def same(got: list[np.ndarray], want: list[np.ndarray]) -> None:
    """Words and scores are, and the maps say of each word the same share."""
    assert [(a.shape, a.dtype) for a in got] == [(a.shape, a.dtype) for a in want]
    assert got[0].tolist() == want[0].tolist()
    for one, other in zip(got[1][()], want[1][()], strict=True):
        assert one[()] == pytest.approx(other[()], rel=1e-5)
        assert list(one[()]) == list(other[()]) == NAMES.tolist()
    np.testing.assert_allclose(got[2], want[2], rtol=1e-5)


def machine() -> dict[str, Any]:
    """Attributes of a support vector machine of three classes."""
    numbers = {
        "coefficients": RNG.normal(size=12),
        "support_vectors": RNG.normal(size=24),
        "rho": RNG.normal(size=3),
        "prob_a": [-1.0, -2.0, -1.5],
        "prob_b": [0.0, 0.1, 0.2],
        "kernel_params": [0.5, 0, 3],
    }
    attrs: dict[str, Any] = {n: np.array(v, np.float32) for n, v in numbers.items()}
    return attrs | {"vectors_per_class": np.array([1, 3, 2]), "kernel_type": "RBF"}


@pytest.mark.parametrize("name", ["LinearClassifier", "SVMClassifier"])
def test_words_are_made_of_compiled_numbers(name: str) -> None:
    graph = classifier(name, **(machine() if name == "SVMClassifier" else {}))
    program, meaning = Program(graph), Program(graph, native=False)
    for count in (5, 1, 5, 8, 1):
        given = {"x": rows(count, count)}
        same(program.run(given), meaning.run(given))
        bound = program._specialize([given["x"]], {}).bound
        assert isinstance(bound, Staged)
        assert {f.operator for f in bound.fallbacks()} == {"_fused_words", "_onnx_ml_ZipMap"}


def test_the_short_way_gives_what_the_long_one_gives() -> None:
    """Results of each call are its own, and do not change with the next."""
    graph = classifier()
    program, meaning = Program(graph), Program(graph, native=False)
    x = rows(6)
    long = program.run({"x": x})
    shortcut = program._specialize([x], {}).bound.shortcut([None], [None])
    assert shortcut is not None and shortcut.positions == (0,) and shortcut.boxes == [1]
    first, second = shortcut.results([x]), shortcut.results([rows(6, 1)])
    same(first, long)
    same(second, meaning.run({"x": rows(6, 1)}))
    assert first[0].tolist() != second[0].tolist()


def test_blocks_give_lists_of_maps_however_often_they_are_called() -> None:
    x = mx.sym.var("x")
    written = {n: kind_of(np.ndarray).write(v) for n, v in WEIGHTS.items() if isinstance(v, np.ndarray)}
    names = kind_of(np.ndarray).write(NAMES)
    made = mx.sym._onnx_ml_LinearClassifier(x, classlabels_strings=names, post_transform="SOFTMAX", **written)
    maps = mx.sym._onnx_ml_ZipMap(made[1], classlabels_strings=names)
    net = mx.gluon.SymbolBlock([made[0], maps], [x])
    plain = [net(mx.nd.array(rows(3, seed))) for seed in range(4)]
    net.hybridize()
    for _ in range(2):
        for seed, (labels, want) in enumerate(plain):
            got = net(mx.nd.array(rows(3, seed)))
            assert type(got) is list and type(got[1]) is list and len(got[1]) == 3
            assert got[0].asnumpy().tolist() == labels.asnumpy().tolist()
            for one, other in zip(got[1], want, strict=True):
                assert one.asnumpy()[()] == pytest.approx(other.asnumpy()[()], rel=1e-5)
    assert net._express and all(net._express.values())


def test_words_for_numbers() -> None:
    """A table from numbers to words, with one for what is no key."""
    keys = np.array([4, 9, -1])
    attrs: dict[str, Any] = {"keys_tensor": keys, "values_tensor": NAMES, "default_tensor": np.array(["none"], object)}
    twice = node("_npi_multiply_scalar", Entry(Node(None, "x")), scalar=2)
    graph = Graph([node("_onnx_ml_LabelEncoder", node("Cast", twice, dtype="int64"), **attrs)])
    program, x = Program(graph), np.array([[2, 4.5], [-0.5, 7]], np.float32)
    for _ in range(2):
        (got,) = program.run({"x": x})
        assert got.dtype == object and got.tolist() == [["low", "mid"], ["high", "none"]]
    bound = program._specialize([x], {}).bound
    assert [f.operator for f in bound.fallbacks()] == ["_fused_words"]


def test_places_without_a_word_are_refused() -> None:
    op = lookup("_fused_words").bind(words=NAMES)
    assert op.compute(np.array([[2, -3]])).tolist() == [["high", "low"]]
    assert op.compute(np.array(1)).tolist() == "mid" and op.compute(np.array(1)).shape == ()
    for wrong in (3, -4):
        with pytest.raises(OpError, match=r"(to 3|-4 to 0) of 3 words"):
            op.compute(np.array([0, wrong]))
