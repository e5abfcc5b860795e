"""Gates, reductions to one and reversed slices in the forms that OpenCV and MNN get right; what profiles say of the others."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import converters
import hybrid as mx
from bridge.targets.check import problems
from bridge.targets.profile import profile_of
from converters.forms import LOWERINGS, Forms
from hybrid.core.op import Spec

sym = mx.sym


def written(
    net: Any, shape: tuple[int, ...], opset: int, *lowered: str
) -> tuple[onnx.ModelProto, np.ndarray, np.ndarray]:
    """The model in a form, and what it and the symbol give."""
    data = np.random.default_rng(3).normal(0, 3, shape).astype(np.float32)
    model = converters.to_onnx(net, {}, {"x": Spec(shape, np.dtype(np.float32))}, opset, forms=Forms(lowered=lowered))
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return model, session.run(None, {"x": data})[0], net.eval(x=mx.nd.array(data))[0].asnumpy()


def kinds(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


@pytest.mark.parametrize("opset", [10, 13])
def test_a_gate_of_hard_swishs_slope_is_taken_apart(opset: int) -> None:
    x = sym.Variable("x")
    net = sym.relu(x) * sym.hard_sigmoid(x, alpha=1 / 6, beta=0.5)
    model, got, want = written(net, (2, 3, 4), opset, "gates")
    assert "HardSigmoid" not in kinds(model)
    assert "Clip" in kinds(model)
    np.testing.assert_array_max_ulp(got, want, 2)
    usual, *_ = written(sym.hard_sigmoid(x), (2, 3, 4), opset, "gates")
    assert kinds(usual) == ["HardSigmoid"]


@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [
        ((None, None, None, None), (None,) * 4, (1, -1, 1, 1)),
        ((None, -2, 1, None), (None, 0, 4, None), (1, -1, 1, -2)),
        ((1, 3, 0, 8), (0, None, 5, 1), (-1, -1, 2, -3)),
    ],
)
def test_slices_that_run_backwards_are_gathered(begin: Any, end: Any, step: Any) -> None:
    net = sym.slice(sym.Variable("x"), begin=begin, end=end, step=step)
    model, got, want = written(net, (2, 4, 6, 9), 13, "reversals")
    assert "Gather" in kinds(model)
    assert want.size
    np.testing.assert_array_equal(got, want)
    assert problems(profile_of("mnn"), model) == []
    plain, got, _ = written(net, (2, 4, 6, 9), 13)
    assert kinds(plain) == ["Slice"]
    np.testing.assert_array_equal(got, want)
    (told,) = problems(profile_of("mnn"), plain)
    assert "a negative step, which it crashes on" in str(told)


@pytest.mark.parametrize("kind", ["sum", "max"])
def test_whole_numbers_are_reduced_to_one_without_naming_axes(kind: str) -> None:
    net = getattr(sym, kind)(sym.cast(sym.Variable("x"), dtype="int32"), axis=(0, 1), keepdims=True)
    model, got, want = written(net, (4, 5), 13, "reductions")
    (node,) = (n for n in model.graph.node if n.op_type.startswith("Reduce"))
    assert len(node.input) == 1
    assert [a.name for a in node.attribute] == ["keepdims"]
    np.testing.assert_array_equal(got, want)
    assert problems(profile_of("opencv"), model) == []
    plain, _, _ = written(net, (4, 5), 13)
    assert "it crashes on" in str(problems(profile_of("opencv"), plain))


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_nodes_that_read_nothing_stay(lowering: str) -> None:
    net = sym.Group([sym.Variable("x") * 2, sym.onnx.RandomUniform(shape=(4, 5), name="drawn")])
    spec = Spec((2, 3), np.dtype(np.float32))
    model = converters.to_onnx(net, {}, {"x": spec}, 13, forms=Forms(lowered=(lowering,)))
    assert any(not n.input for n in model.graph.node)
