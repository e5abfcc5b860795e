"""Opsets 7 to 12: what is asked for in the newest form is written in that of the opset and means the same in onnxruntime, or is
refused with the opset that has it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import converters
from converters import oldest
from converters.builder import Builder, Value
from converters.error import Unsupported
from converters.onnx_types import code_of
from converters.registry import EXPORT, OLDEST, PASSTHROUGH
from hybrid.core.examples import Maker
from hybrid.core.op import OPS, Example
from hybrid.execution.program import Program
from tests import shares
from tests.grouped import run
from tests.models.networks import Network, agree, networks
from tests.table.examples import examples, graph_of
from tests.table.goldens import PARAMETERS, close
from tests.table.test_examples import run_oracle

OLDER = range(7, 13)
NAN, INF = np.nan, np.inf

Request = Callable[..., Any]


def written(request: Request, opset: int, arrays: tuple[np.ndarray, ...], *, shaped: bool = True) -> onnx.ModelProto:
    """The model of what is asked of a builder. shaped: False leaves all sizes open."""
    b = Builder(opset)
    b.enter("node")
    feeds = {f"x{i}": a for i, a in enumerate(arrays)}
    made = request(b, *(Value(k, v.shape if shaped else None, v.dtype) for k, v in feeds.items()))
    made = [b.rename(v) for v in (made if isinstance(made, tuple) else (made,))]
    for node in b.nodes:
        node.owner[0] = b.unique("node")
    dims = {k: list(v.shape) if shaped else [f"{k}_{a}" for a in range(v.ndim)] for k, v in feeds.items()}
    inputs = [helper.make_tensor_value_info(k, code_of(v.dtype), dims[k]) for k, v in feeds.items()]
    outputs = [helper.make_tensor_value_info(v.name, code_of(v.dtype), None) for v in made]
    stored = [onnx.numpy_helper.from_array(a, k) for k, a in b.initializers.items()]
    graph = helper.make_graph([n.proto() for n in b.nodes], "asked", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


def answers(model: onnx.ModelProto, arrays: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Results of onnxruntime; the model is checked in full, with the ranks of that."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, {f"x{i}": a for i, a in enumerate(arrays)})
    for info, result in zip(model.graph.output, results):
        info.CopyFrom(helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, [None] * result.ndim))
    onnx.checker.check_model(model, full_check=True)
    return results


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-3, 3, shape).astype(np.float32)


SPECIAL = np.array([-INF, -2.5, -1.5, -0.5, 0, 0.5, 0.49999997, 1.5, 2.5, 8388609, 3e9, INF, NAN], np.float32)
OTHERS = np.array([-INF, NAN, -1.5, 0, 0, INF, 0.5, 1.5, -2.5, 8388608, INF, INF, NAN], np.float32)
FAR = np.array([2**62 + 1, -(2**62) - 1, 2**53 + 1, 3, -7, 0], np.int64)
NEAR = np.array([2**62, -(2**62), 2**53, 3, 4, -1], np.int64)
SIGNED = np.array([7, -7, 7, -7, 6, -6, 0, 5], np.int32)
DIVISORS = np.array([3, 3, -3, -3, 3, -3, 4, -5], np.int32)

REQUESTS: dict[str, tuple[int, Request, tuple[np.ndarray, ...]]] = {
    "clip": (7, lambda b, x: b.Clip(x, -1.0, 2.0), (SPECIAL,)),
    "clip from below": (7, lambda b, x: b.Clip(x, None, 2.0), (floats(2, 5),)),
    "clip to what is computed": (
        8,
        lambda b, x, y: b.Clip(x, b.reduce("Min", y, None, keepdims=False), 2.0),
        (SPECIAL, floats(5)),
    ),
    "clip int64": (9, lambda b, x: b.Clip(x, 4, 2**62), (FAR,)),
    "clip float64": (7, lambda b, x: b.Clip(x, -1 / 3, 2 / 3), (np.linspace(-1, 1, 7),)),
    "squeeze, unsqueeze": (7, lambda b, x: b.Unsqueeze(b.Squeeze(x, [-2]), [0, -1]), (floats(2, 1, 3),)),
    "squeeze inside": (7, lambda b, x: b.Squeeze(b.Relu(b.Relu(x)), [-2, 0]), (floats(1, 2, 1, 3),)),
    "sum": (7, lambda b, x: b.reduce("Sum", x, [-1, 0], keepdims=False), (floats(2, 3, 4),)),
    "sum of nothing": (7, lambda b, x: b.node("ReduceSum", x, [], noop_with_empty_axes=1), (floats(2, 3),)),
    "largest of int8": (
        7,
        lambda b, x: b.reduce("Max", x, [1], keepdims=True),
        (np.array([[1, -3], [4, 9]], np.int8),),
    ),
    "split": (7, lambda b, x: b.split(x, [1, 3], -1), (floats(2, 4),)),
    "softmax of the middle": (7, lambda b, x: b.Softmax(x, axis=1), (floats(2, 3, 4),)),
    "softmax of the last": (7, lambda b, x: b.LogSoftmax(x), (floats(2, 3, 4),)),
    "flatten int32": (7, lambda b, x: b.Flatten(x, axis=2), (SIGNED.reshape(2, 2, 2, 1),)),
    "pad": (7, lambda b, x: b.Pad(x, [0, 1, 2, 0], 0.5), (floats(2, 3),)),
    "pad int32": (7, lambda b, x: b.Pad(x, [1, 2], 9), (SIGNED,)),
    "pad at edges": (7, lambda b, x: b.Pad(x, [0, 1, 0, 2], mode="edge"), (floats(2, 3),)),
    "slice": (7, lambda b, x: b.slice(x, [1, -3], [2**63 - 1, -1], [0, 2]), (floats(3, 2, 4),)),
    "slice backwards": (7, lambda b, x: b.slice(x, [-1, 0], [-(2**63), 3], [1, 0], [-2, 1]), (floats(3, 5),)),
    "slice with steps": (7, lambda b, x: b.slice(x, [1], [4], [-1], [2]), (floats(3, 5),)),
    "slice to what is computed": (10, lambda b, x: b.slice(x, [0], b.shape_of(x, 0), [1]), (floats(3, 5),)),
    "top": (7, lambda b, x: b.TopK(x, [2], outputs=2), (floats(3, 5),)),
    "least": (7, lambda b, x: b.TopK(x, [2], axis=0, largest=0, outputs=2), (floats(3, 5),)),
    "least of int32": (
        7,
        lambda b, x: b.TopK(x, [3], largest=0, outputs=2),
        (np.array([5, -(2**31), 2**31 - 1, 0], np.int32),),
    ),
    "top of what is computed": (10, lambda b, x: b.TopK(x, b.shape_of(x, 0), outputs=2), (floats(3, 5),)),
    "product": (7, lambda b, x, y: b.Gemm(x, y, transB=1, alpha=0.5), (floats(2, 3), floats(4, 3, seed=1))),
    "product of int64": (9, lambda b, x, y: b.MatMul(x, y), (FAR.reshape(2, 3), NEAR.reshape(3, 2))),
    "upsampling": (
        7,
        lambda b, x: b.Resize(
            x,
            None,
            np.array([1, 1, 2, 3], np.float32),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
        (floats(1, 2, 3, 2),),
    ),
    "resizing": (
        11,
        lambda b, x: b.Resize(
            x, None, None, [1, 2, 5, 4], mode="linear", coordinate_transformation_mode="align_corners"
        ),
        (floats(1, 2, 3, 2),),
    ),
    "scatter": (
        9,
        lambda b, x, i, u: b.ScatterElements(x, i, u, axis=1),
        (floats(2, 4), np.array([[0, -1], [1, 2]], np.int64), floats(2, 2, seed=1)),
    ),
    "scatter of slices": (
        9,
        lambda b, x, i, u: b.ScatterND(x, i, u),
        (floats(3, 4, 2), np.array([[0, -1], [2, 1]], np.int64), floats(2, 2, seed=1)),
    ),
    "columns before rows": (7, lambda b, x: b.DepthToSpace(x, blocksize=2, mode="CRD"), (floats(1, 8, 2, 3),)),
    "is NaN": (7, lambda b, x: b.IsNaN(x), (SPECIAL,)),
    "is infinite": (7, lambda b, x: b.IsInf(x), (SPECIAL,)),
    "is far below": (7, lambda b, x: b.IsInf(x, detect_positive=0), (SPECIAL,)),
    "equal": (7, lambda b, x, y: b.Equal(x, y), (SPECIAL, OTHERS)),
    "equal int64": (7, lambda b, x, y: b.Equal(x, y), (FAR, NEAR)),
    "at least": (7, lambda b, x, y: b.GreaterOrEqual(x, y), (SPECIAL, OTHERS)),
    "at most": (7, lambda b, x: b.LessOrEqual(x, 0.5), (SPECIAL,)),
    "less int64": (9, lambda b, x, y: b.Less(x, y), (FAR, NEAR)),
    "at most int64": (9, lambda b, x, y: b.LessOrEqual(x, y), (FAR, NEAR)),
    "chosen": (9, lambda b, x, y: b.Where(b.Greater(x, 0), x, y), (SPECIAL, OTHERS)),
    "chosen int64": (7, lambda b, x, y: b.Where(b.Equal(x, 3), x, y), (FAR, NEAR)),
    "chosen bools": (7, lambda b, x, y: b.Where(b.Equal(x, 3), b.Equal(y, 3), b.Equal(x, 0)), (FAR, NEAR)),
    "greater": (8, lambda b, x, y: b.Max(x, y), (floats(3, 1), floats(4, seed=1))),
    "greater of one shape": (7, lambda b, x, y: b.Max(x, y), (SPECIAL, OTHERS)),
    "greater than a number": (7, lambda b, x: b.Min(b.Max(x, -1.0), 1.0), (SPECIAL,)),
    "greater than a number in any shape": (7, lambda b, x: b.Max(b.Relu(b.Squeeze(x)), 1.0), (floats(1, 3),)),
    "lesser int64": (9, lambda b, x, y: b.Min(x, y), (FAR, NEAR)),
    "summed": (7, lambda b, x, y: b.Sum(x, y, x), (floats(3, 1), floats(4, seed=1))),
    "rounded": (7, lambda b, x: b.Round(x), (SPECIAL,)),
    "sign": (7, lambda b, x: b.Sign(x), (SPECIAL[:-1],)),
    "remainder": (7, lambda b, x, y: b.Mod(x, y), (SIGNED, DIVISORS)),
    "remainder of floats": (10, lambda b, x, y: b.Mod(x, y, fmod=1), (floats(6), floats(6, seed=1))),
    "range": (7, lambda b, x: b.Add(b.cast(b.Range(0, 6, 2), np.float32), x), (floats(3),)),
    "range to a size": (9, lambda b, x: b.Range(0, b.squeeze(b.shape_of(x, 1), [0]), 1), (floats(2, 5),)),
    "expanded": (7, lambda b, x: b.Expand(x, [2, 3, 4]), (floats(3, 1),)),
    "expanded to what is computed": (8, lambda b, x, y: b.Expand(x, b.shape_of(y)), (floats(3, 1), floats(2, 3, 4))),
    "sums so far": (7, lambda b, x: b.CumSum(x, b.const(np.array(1))), (floats(2, 3, 2),)),
    "sums to come": (7, lambda b, x: b.CumSum(x, b.const(np.array(-1)), exclusive=1, reverse=1), (floats(2, 3),)),
    "sums of int64": (9, lambda b, x: b.CumSum(x, b.const(np.array(0))), (FAR,)),
    "gathered": (
        9,
        lambda b, x, i: b.GatherElements(x, i, axis=-1),
        (floats(2, 3, 4), np.array([[[0, -1], [3, 1]]], np.int64)),
    ),
    "gathered with constants": (7, lambda b, x: b.GatherElements(x, b.const([[2, -1, 0]]), axis=0), (floats(3, 3),)),
    "gathered slices": (9, lambda b, x, i: b.GatherND(x, i), (floats(3, 4, 2), np.array([[0, -1], [2, 1]], np.int64))),
    "gathered in batches": (
        9,
        lambda b, x, i: b.GatherND(x, i, batch_dims=1),
        (floats(2, 4, 3), np.array([[[1], [-1]], [[0], [3]]], np.int64)),
    ),
    "pooled": (7, lambda b, x: b.MaxPool(x, kernel_shape=[2, 2], dilations=[1, 1], ceil_mode=0), (floats(1, 1, 4, 4),)),
    "concatenated": (7, lambda b, x, y: b.Concat(x, y, axis=-1), (floats(2, 1), floats(2, 3))),
    "hyperbolic": (9, lambda b, x: b.Sinh(x), (floats(4),)),
    "summed in terms": (12, lambda b, x, y: b.Einsum(x, y, equation="ij,jk->ik"), (floats(2, 3), floats(3, 2))),
}
"""By name: the oldest opset that says it, what is asked of the builder, and arrays."""


def differences(name: str) -> list[str]:
    """Faults of a request at each older opset."""
    oldest_opset, request, arrays = REQUESTS[name]
    wants = answers(written(request, 13, arrays), arrays)
    wrong = []
    for opset in OLDER:
        try:
            model = written(request, opset, arrays)
        except Unsupported as refusal:
            if opset >= oldest_opset:
                wrong.append(f"{opset}: {refusal}")
            elif "opset" not in str(refusal).split("at opset", 1)[-1] or (refusal.opset or 0) < oldest_opset:
                wrong.append(f"{opset}: {refusal}, wanted {oldest_opset} to be named")
            continue
        if opset < oldest_opset:
            wrong.append(f"{opset}: written, wanted a refusal")
        for got, want in zip(answers(model, arrays), wants, strict=True):
            if got.dtype != want.dtype or not _same(got, want):
                wrong.append(f"{opset}: {got}, wanted {want}")
    return wrong


def _same(got: np.ndarray, want: np.ndarray) -> bool:
    if got.dtype.kind == "f" and got.shape == want.shape:
        return np.allclose(got, want, rtol=3e-7, atol=1e-7, equal_nan=True)
    return np.array_equal(got, want)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_means_the_same_at_older_opsets(name: str) -> None:
    assert not differences(name)


OPEN = {"squeeze inside": 11, "softmax of the middle": 13, "gathered": 11, "slice backwards": 10, "expanded": 8}
"""Requests that need a rank or a size where the opset has no other form, and the first opset where they do not."""


@pytest.mark.parametrize("name", OPEN)
def test_a_size_that_only_the_run_shows_is_refused_with_the_opset_that_needs_none(name: str) -> None:
    _, request, arrays = REQUESTS[name]
    for opset in OLDER:
        if opset < OPEN[name]:
            with pytest.raises(Unsupported) as refusal:
                written(request, opset, arrays, shaped=False)
            assert refusal.value.opset
        else:
            model = written(request, opset, arrays, shaped=False)
            wants = answers(written(request, 13, arrays), arrays)
            assert all(map(_same, answers(model, arrays), wants))


@pytest.mark.parametrize(
    ("request_", "array", "opset", "words"),
    [
        (
            lambda b, x: b.slice(x, [0], b.shape_of(x, 0), [1]),
            floats(3, 5),
            9,
            "Slice with computed ends: .* needs opset 10",
        ),
        (lambda b, x: b.Less(x, 3), FAR, 8, "Less of int64: no form at opset 8, needs opset 9"),
        (
            lambda b, x: b.MaxPool(x, kernel_shape=[2], ceil_mode=1),
            floats(1, 1, 5),
            9,
            "ceil_mode = 1: .* needs opset 10",
        ),
        (lambda b, x: b.Unique(x), floats(3), 10, "defines no Unique at opset 10, needs opset 11"),
        (lambda b, x: b.MaxPool(x, kernel_shape=[2], outputs=2), floats(1, 1, 5), 7, "2 outputs: .* needs opset 8"),
        (lambda b, x: b.cast(x, object), floats(2), 8, "Cast to object: .* needs opset 9"),
        (lambda b, x: b.node("NoSuchThing", x), floats(2), 9, "defines no NoSuchThing at opset 9$"),
    ],
)
def test_a_refusal_names_what_is_missing_and_the_opset_that_has_it(
    request_: Request, array: np.ndarray, opset: int, words: str
) -> None:
    with pytest.raises(Unsupported, match=words):
        written(request_, opset, (array,))


# -- operators' own examples --------------------------------------------------------------------------------------------

EXAMPLES = [e for e in examples() if e.op.name in EXPORT]


def say_the_same(example: Example, opsets: range) -> None:
    """onnxruntime computes of the example, at each opset at which it is written, what the engine does."""
    graph, feeds = graph_of(example)
    stored = {k: v for k, v in feeds.items() if k in PARAMETERS}
    wants = Program(graph).run(feeds)
    for opset in opsets:
        try:
            inputs = {k: v for k, v in feeds.items() if k not in stored}
            model = converters.to_onnx(graph, stored, inputs, opset)
        except converters.UnsupportedModel as refusal:
            assert all("opset" in p.reason for p in refusal.problems), refusal
            continue
        assert [o.version for o in model.opset_import if not o.domain] == [opset]
        onnx.checker.check_model(model, full_check=True)
        cast = any(n.op_type == "Cast" for n in model.graph.node)
        for got, want in zip(run_oracle(model, feeds, example), wants, strict=True):
            if "rng" in example.op.needs:
                assert (got.shape, got.dtype) == (want.shape, want.dtype)
            else:
                close(got, want, example.op, float(np.finfo(np.float32).eps) if cast else None)


def test_examples_say_the_same_at_the_oldest_opset_of_their_operator() -> None:
    """A sixth of them here, all at every opset below."""
    rows = [(f"{i} {e.op!r}", e) for i, e in enumerate(EXAMPLES) if i % 6 == 0 and oldest.recorded()[e.op.name][0] < 13]
    assert len(rows) > 150
    run(rows, lambda e: say_the_same(e, range(oldest.recorded()[e.op.name][0], oldest.recorded()[e.op.name][0] + 1)))


@pytest.mark.slow
def test_examples_say_the_same_at_all_older_opsets() -> None:
    rows = [(f"{i} {e.op!r}", e) for i, e in enumerate(EXAMPLES)]
    run(shares.some(rows, lambda row: row[0], 4), lambda e: say_the_same(e, range(OLDEST, 13)))


AS_OF = 24
"""One of so many operators is tried anew here."""


def newer_than(name: str) -> bool:
    """True where an operator needs an opset that the oldest onnx that is supported lacks."""
    return oldest.recorded()[name][-1] > converters.newest_opset()


def stale(names: list[str]) -> dict[str, Any]:
    return {n: (found, oldest.recorded()[n]) for n in names if (found := oldest.tried(n)) != oldest.recorded()[n]}


def test_the_record_of_oldest_opsets_is_what_is_found() -> None:
    assert {*oldest.recorded()} == {n for n in EXPORT if n in OPS}, "run: python -m converters.oldest"
    some = [n for n in oldest.recorded() if zlib.crc32(n.encode()) % AS_OF == 0 and not newer_than(n)]
    assert len(some) > 15
    assert not stale(some), "run: python -m converters.oldest"


@pytest.mark.slow
def test_the_whole_record_of_oldest_opsets_is_what_is_found() -> None:
    some = shares.some((n for n in oldest.recorded() if not newer_than(n)), str, 4)
    assert not stale([*some]), "run: python -m converters.oldest"


def test_an_operator_counts_from_the_opset_of_which_all_its_examples_are() -> None:
    found = oldest.tried("LeakyReLU")
    assert found == (7, 9)  # gelu needs Erf
    first = next(iter(OPS["broadcast_maximum"].examples(Maker(OPS["broadcast_maximum"]))))
    assert [oldest.is_written(first, o) for o in (7, 8)] == [False, True]


def test_most_operators_are_written_at_older_opsets() -> None:
    own = [n for n in oldest.recorded() if n not in PASSTHROUGH and not n.startswith("_onnx_") and EXAMPLES]
    at = {o: sum(oldest.recorded()[n][-1] <= o for n in own) for o in OLDER}
    assert at[12] > 510
    assert at[11] > 500
    assert at[9] > 470
    assert at[7] > 330


# -- whole networks -------------------------------------------------------------------------------------------------------


@pytest.mark.models
@pytest.mark.share(2)
@pytest.mark.parametrize("opset", [7, 9, 10, 11, 12])
@pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in networks()])
def test_a_network_at_an_older_opset_gives_what_mxnet_gave(network: Network, opset: int) -> None:
    _at(network, opset)


@pytest.mark.parametrize("opset", [7, 11])
@pytest.mark.parametrize("name", ["resnet_v2", "mobilenet_v3"])
def test_classifiers_are_written_at_older_opsets(name: str, opset: int) -> None:
    assert _at(next(n for n in networks() if n.name == name), opset)


def _at(network: Network, opset: int) -> bool:
    """True where a network is written at an opset, and it is right."""
    import bridge

    inputs, outputs = network.runs()[0]
    model = bridge.open_model(network.prefix)
    try:
        made = converters.to_onnx(model.graph, model.params, inputs, opset)
    except converters.UnsupportedModel as refusal:
        assert all("opset" in p.reason for p in refusal.problems)
        return False
    onnx.checker.check_model(made, full_check=True)
    agree(
        bridge.run(made, {k: v for k, v in inputs.items() if k in {i.name for i in made.graph.input}}),
        outputs,
        network.limit,
    )
    return True
