"""Arithmetic, reductions, products, losses and samplers read from ONNX: every form of every opset, at two sizes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from bridge.onnx_backend import prepare, run_model
from converters.error import UnsupportedModel
from converters.importer import Imported, import_model
from tests.grouped import over
from tests.versions import OLD_RUNTIME, old_runtime

from .agreement import agree

RNG = np.random.default_rng(7)


def single(
    op_type: str, arrays: list[Any], opset: int, constant: tuple[int, ...] = (), outputs: int = 1, **attrs: Any
) -> onnx.ModelProto:
    """One node; sizes are free but those of axes and shapes, inputs in ``constant`` are stored (as numbers of the
    structure, not as weights)."""
    code = helper.np_dtype_to_tensor_dtype
    infos, nodes = [], []
    for i, array in enumerate(arrays):
        if array is None:
            continue
        if i in constant:
            nodes.append(helper.make_node("Constant", [], [f"x{i}"], value=numpy_helper.from_array(array)))
        else:
            row = array.ndim == 1 and array.dtype == np.int64 and op_type.startswith(("Reduce", "ConstantOfShape"))
            dims = list(array.shape) if row else [f"x{i}_{a}" for a in range(array.ndim)]
            infos.append(helper.make_tensor_value_info(f"x{i}", code(array.dtype), dims))
    inputs = ["" if a is None else f"x{i}" for i, a in enumerate(arrays)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, inputs, results, **attrs)
    graph = helper.make_graph([*nodes, node], "g", infos, [helper.make_empty_tensor_value_info(r) for r in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model) if opset > 6 else model


def feeds(arrays: list[Any], constant: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    return {f"x{i}": a for i, a in enumerate(arrays) if a is not None and i not in constant}


def uniform(*shape: int, low: float = 0.5, high: float = 2.0, dtype: Any = "float32") -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(dtype)


def names(found: Imported) -> list[str]:
    """The operators of a graph that are no constants."""
    return [n.op.name for n in found.graph.nodes if n.op is not None and n.op.name != "_onnx_Constant"]


def both(
    op_type: str, one: list[Any], other: list[Any], opset: int, constant: tuple[int, ...] = (), **options: Any
) -> Imported:
    """agree, on two sets of inputs; what is constant is taken from the first."""
    rtol, again = options.pop("rtol", 1e-5), options.pop("again", 21)
    return agree(
        single(op_type, one, opset, constant, **options),
        feeds(one, constant),
        feeds(other, constant),
        rtol=rtol,
        again=again,
    )


# -- element by element --------------------------------------------------------------------------------------------------

SPECIAL = np.array([0, -0.0, 1, -1, 0.5, -2.5, 1.5, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.parametrize(
    "op_type",
    [
        *("Abs", "Ceil", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Softplus"),
        *(
            pytest.param("Sqrt", marks=old_runtime("takes the root of infinity for no number")),
            "Tanh",
            pytest.param("Erf", marks=old_runtime("has 1 for the error function of what is no number")),
            "IsNaN",
            "IsInf",
            "Elu",
            "Selu",
            "LeakyRelu",
            "HardSigmoid",
            "ThresholdedRelu",
            "Shrink",
        ),
    ],
)
def test_functions_of_one_element(op_type: str) -> None:
    both(op_type, [SPECIAL], [uniform(6, low=-3)], 21)


@pytest.mark.parametrize(
    "op_type", ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Equal", "Less", "GreaterOrEqual"]
)
@over("constant", [(), (0,), (1,)])
@over("left, right", [((2, 3), (2, 3)), ((2, 3), ()), ((), (2, 3)), ((3, 1), (1, 4)), ((3,), (1, 1)), ((0, 3), (3,))])
def test_arithmetic(op_type: str, constant: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...]) -> None:
    one, other = [uniform(*left), uniform(*right)], [uniform(*left), uniform(*right)]
    both(op_type, one, other, 21, constant)


@pytest.mark.parametrize(
    ("op_type", "own"), [("Add", "_plus_scalar"), ("Sub", "_rminus_scalar"), ("Div", "_rdiv_scalar")]
)
def test_numbers_are_attributes(op_type: str, own: str) -> None:
    arrays = [np.asarray(np.float32(0.1)), uniform(2, 3)]
    assert names(both(op_type, arrays, arrays, 21, (0,))) == [own]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Equal", "Greater"])
def test_whole_numbers(op_type: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    one = RNG.integers(limits.min, limits.max, (4, 5), dtype)
    divisors = np.array([1, 2, 3, 7, 5 if dtype == "uint8" else -5], dtype)
    both(op_type, [one, divisors], [one[:2], divisors], 21)
    largest = np.asarray(np.iinfo(dtype).max, dtype)  # which no float says exactly where it has 64 bits
    both(op_type, [one, largest], [one[:2], largest], 21, (1,))


@pytest.mark.parametrize("broadcast", [{"broadcast": 1, "axis": 0}, {"broadcast": 1, "axis": 1}, {"broadcast": 1}, {}])
@pytest.mark.parametrize("opset", [1, 6])
def test_the_older_broadcasting(broadcast: dict[str, int], opset: int) -> None:
    a = uniform(2, 3, 4)
    shape = {0: (2,), 1: (3, 4)}.get(broadcast.get("axis", -1), (4,) if broadcast else (2, 3, 4))
    b = uniform(*shape)
    aligned = b.reshape(2, 1, 1) if broadcast.get("axis") == 0 else b
    for op_type, function in (("Sub", np.subtract), ("Greater", np.greater), ("Pow", np.power)):
        attrs: dict[str, Any] = dict(broadcast)
        model = single(op_type, [a, b], opset, **attrs)
        np.testing.assert_allclose(run_model(model, [a, b])[0], function(a, aligned), rtol=1e-6)


def test_a_power_has_the_dtype_of_the_base() -> None:
    for exponent in (np.int64(2), np.float32(0.5), np.int32(-1)):
        both("Pow", [uniform(2, 3), np.asarray(exponent)], [uniform(4, 1), np.asarray(exponent)], 15)
    whole = np.array([[-3, -1, 0, 2], [1, 5, 7, -2]])
    both("Pow", [whole, np.array([0, 1, 2, 3])], [whole[:1], np.array([3, 2, 1, 0])], 15)
    (got,) = run_model(single("Pow", [whole, np.array(-1)], 15), [whole, np.array(-1)])
    np.testing.assert_array_equal(got, [[0, -1, 0, 0], [1, 0, 0, 0]])


def test_remainders_of_whole_numbers_are_exact() -> None:
    # onnxruntime goes by way of float64
    a, b = np.array([2**62 + 1, -(2**62) - 1]), np.array([2**31, 2**31])
    np.testing.assert_array_equal(run_model(single("Mod", [a, b], 13, (), fmod=1), [a, b])[0], [1, -1])


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (None, 0.5), (0.1, None), (2, -2), (None, None)])
@pytest.mark.parametrize("constant", [(), (1, 2)])
def test_clip(low: float | None, high: float | None, constant: tuple[int, ...]) -> None:
    bounds = [None if v is None else np.asarray(v, np.float32) for v in (low, high)]
    both("Clip", [SPECIAL, *bounds], [uniform(6, low=-3), *bounds], 13, constant)


def test_clip_of_older_opsets_has_attributes() -> None:
    both("Clip", [SPECIAL], [uniform(6, low=-3)], 7, min=-0.5, max=0.6)
    (got,) = run_model(single("Clip", [SPECIAL], 1, max=0.25), [SPECIAL])
    np.testing.assert_array_equal(got, np.clip(SPECIAL, np.finfo(np.float32).min, np.float32(0.25)))
    for dtype in ("int8", "uint8", "int32", "int64"):
        x = RNG.integers(0, 100, (3, 4)).astype(dtype)
        both("Clip", [x, np.asarray(20, dtype), np.asarray(60, dtype)], [x[:1], *[np.asarray(9, dtype)] * 2], 12)


@pytest.mark.parametrize("shape", [(4,), (3, 1), (1,), (), (2, 3, 4), (1, 3, 1)])
def test_slopes_broadcast_to_the_data(shape: tuple[int, ...]) -> None:
    x, slope = uniform(2, 3, 4, low=-2), uniform(*shape)
    both("PRelu", [x, slope], [-x, slope], 16)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_slopes_along_any_axis_of_equal_sizes(rank: int) -> None:
    """Sizes that are known and the same do not say which axis slopes belong to."""
    for slopes in (s for r in range(rank + 1) for s in itertools.product([1, 3], repeat=r)):
        infos = [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [3] * rank), ("slope", slopes))
        ]
        out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3] * rank)]
        graph = helper.make_graph([helper.make_node("PRelu", ["x", "slope"], ["y"])], "g", infos, out)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)])
        given = [{"x": uniform(*[3] * rank, low=-2), "slope": uniform(*slopes)} for _ in range(2)]
        agree(model, *given)


def test_slopes_of_older_opsets_belong_to_channels() -> None:
    x, slope = uniform(2, 3, 4, low=-2), uniform(3)
    want = np.where(x < 0, x * slope[:, None], x)
    np.testing.assert_allclose(run_model(single("PRelu", [x, slope], 6), [x, slope])[0], want, rtol=1e-6)


# -- reductions ----------------------------------------------------------------------------------------------------------

KINDS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", [None, [0], [-1, 0], [0, 1, 2]])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions(kind: str, axes: list[int] | None, keepdims: int) -> None:
    one, other = uniform(2, 3, 4), uniform(3, 1, 2)
    old: dict[str, Any] = {} if axes is None else {"axes": axes}
    both(f"Reduce{kind}", [one], [other], 11, keepdims=keepdims, again=13, **old)
    listed = [] if axes is None else [np.array(axes)]
    for constant in ((), (1,)):
        both(f"Reduce{kind}", [one, *listed], [other, *listed], 18, constant if listed else (), keepdims=keepdims)
    if not OLD_RUNTIME:  # which reduces, and then misses the rest
        both(f"Reduce{kind}", [one], [other], 18, noop_with_empty_axes=1, keepdims=keepdims)


def test_reductions_by_axes_that_change() -> None:
    x = uniform(2, 3, 4)
    model = single("ReduceSum", [x, np.array([0])], 13, keepdims=0)
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "axes"
    program = prepare(model)
    for axes in ([0], [2, 1], [-1]):
        np.testing.assert_allclose(program.run([x, np.array(axes)])[0], x.sum(tuple(axes)), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
@pytest.mark.parametrize("kind", ["Sum", "Mean", "Max", "Min", "Prod", "L1", "SumSquare"])
def test_reductions_in_other_dtypes(kind: str, dtype: str) -> None:
    x = RNG.integers(-3, 4, (3, 4)).astype(dtype)
    both(f"Reduce{kind}", [x, np.array([1])], [x[:2], np.array([0])], 18, rtol=1e-12)
    for keepdims in (0, 1):  # written where axes are an attribute, too
        both(f"Reduce{kind}", [x], [x[:2]], 11, keepdims=keepdims, axes=[1], again=13, rtol=1e-12)
        both(f"Reduce{kind}", [x], [x[:2]], 11, keepdims=keepdims, again=13, rtol=1e-12)


def test_reductions_of_nothing_and_of_truth() -> None:
    nothing = np.zeros((0, 3), np.float32)
    for kind, want in (
        ("Max", -np.inf),
        ("Min", np.inf),
        ("Sum", 0),
        ("Prod", 1),
        ("LogSum", -np.inf),
        ("LogSumExp", -np.inf),
    ):
        (got,) = run_model(single(f"Reduce{kind}", [nothing, np.array([0])], 18), [nothing, np.array([0])])
        np.testing.assert_array_equal(got, np.full((1, 3), want, np.float32))
    truth = np.array([[True, False], [False, False]])
    both("ReduceMax", [truth, np.array([1])], [~truth, np.array([0])], 20)
    both("ReduceMin", [truth, np.array([1])], [~truth, np.array([0])], 20)


def test_extremes_find_what_is_not_a_number() -> None:
    # onnxruntime finds it in some places only
    x = np.array([[1, np.nan, 2], [3, 4, 5]], np.float32)
    for kind in ("Max", "Min"):
        (got,) = run_model(single(f"Reduce{kind}", [x, np.array([1])], 18, keepdims=0), [x, np.array([1])])
        np.testing.assert_array_equal(np.isnan(got), [True, False])


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_places_of_extremes(op_type: str, last: int) -> None:
    x = np.array([[2, 5, 5, 0], [1, 1, 7, 7], [3, 3, 3, 3]], np.float32)
    for axis, keepdims in ((0, 1), (-1, 0)):
        both(op_type, [x], [x[:2]], 13, axis=axis, keepdims=keepdims, select_last_index=last)


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_running_sums(exclusive: int, reverse: int) -> None:
    axis = np.asarray(1)
    for constant in ((), (1,)):
        both("CumSum", [uniform(2, 3), axis], [uniform(1, 5), axis], 14, constant, exclusive=exclusive, reverse=reverse)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("opset", [9, 11, 13])
def test_softmax_of_older_opsets_sums_over_all_that_follow(op_type: str, axis: int, opset: int) -> None:
    both(op_type, [uniform(2, 3, 4, low=-2)], [uniform(5, 1, 2, low=-2)], opset, axis=axis)


@pytest.mark.parametrize("opset", [11, 13])
def test_hardmax_takes_the_first_of_equals(opset: int) -> None:
    x = np.array([[[1, 3], [3, 0]], [[2, 2], [2, 2]]], np.float32)
    (got,) = run_model(single("Hardmax", [x], opset, axis=1), [x])
    flat = [[[0, 1], [0, 0]], [[1, 0], [0, 0]]]
    np.testing.assert_array_equal(got, flat if opset == 11 else [[[0, 1], [1, 0]], [[1, 1], [0, 0]]])


# -- products ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        *(((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4))),
        *(((1, 2, 3), (5, 3, 4)), ((7, 1, 2, 3), (5, 3, 4)), ((0, 3), (3, 2))),
    ],
)
def test_matrix_products(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    both("MatMul", [uniform(*left), uniform(*right)], [uniform(*left), uniform(*right)], 13)
    both("MatMul", [uniform(*left), uniform(*right)], [uniform(*left), uniform(*right)], 13, (1,))


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("plus", [None, (4,), (2, 4), (2, 1), (), (1,)])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, 2.0)])
def test_gemm(a: int, b: int, plus: tuple[int, ...] | None, alpha: float, beta: float) -> None:
    arrays = [uniform(*((3, 2) if a else (2, 3))), uniform(*((4, 3) if b else (3, 4)))]
    arrays += [] if plus is None else [uniform(*plus)]
    both("Gemm", arrays, [np.asarray(x * 2) for x in arrays], 13, transA=a, transB=b, alpha=alpha, beta=beta)
    if plus is not None:
        (got,) = run_model(single("Gemm", arrays, 6, broadcast=1, transA=a, transB=b), arrays)
        want = (arrays[0].T if a else arrays[0]) @ (arrays[1].T if b else arrays[1]) + arrays[2]
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_a_dense_layer_is_one() -> None:
    x, weight, bias = uniform(2, 3), uniform(4, 3), uniform(4)
    assert names(both("Gemm", [x, weight, bias], [x, weight, bias], 13, (1, 2), transB=1)) == ["FullyConnected"]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        *(("ij,jk->ik", [(2, 3), (3, 4)]), ("bA,Ac", [(2, 3), (3, 4)]), ("...ii->...i", [(2, 3, 3)]), ("ii", [(3, 3)])),
        *(
            (" bij , bjk -> bik", [(5, 2, 3), (5, 3, 4)]),
            ("ij->", [(2, 3)]),
            ("...ij,...jk->...ik", [(5, 2, 3), (5, 3, 4)]),
        ),
        *(("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 2)]), ("i,j->ji", [(2,), (3,)])),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    both("Einsum", [uniform(*s) for s in shapes], [uniform(*s) for s in shapes], 12, equation=equation)


def test_determinants() -> None:
    both("Det", [uniform(3, 3, low=-1)], [uniform(2, 2, low=-1)], 11)
    both("Det", [uniform(2, 1, 3, 3, low=-1)], [uniform(1, 4, 2, 2, low=-1)], 11)


# -- losses --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignored", [None, 1, -100])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rest", [(), (3,), (2, 2)])
def test_losses(reduction: str, ignored: int | None, weighted: bool, rest: tuple[int, ...]) -> None:
    def arrays(batch: int) -> list[np.ndarray]:
        labels = RNG.integers(0, 5, (batch, *rest))
        labels.flat[0] = 2 if ignored is None else ignored
        return [uniform(batch, 5, *rest, low=-2), labels, *([uniform(5)] if weighted else [])]

    attrs: dict[str, Any] = {"reduction": reduction} | ({} if ignored is None else {"ignore_index": ignored})
    both("NegativeLogLikelihoodLoss", arrays(4), arrays(2), 13, **attrs)
    both("SoftmaxCrossEntropyLoss", arrays(4), arrays(2), 13, outputs=2, **attrs)


def test_a_label_that_is_no_class_is_an_error() -> None:
    arrays = [uniform(2, 3), np.array([0, 3])]
    with pytest.raises(Exception, match="got class 3, wanted 0 to 2"):
        run_model(single("NegativeLogLikelihoodLoss", arrays, 13), arrays)


# -- made from nothing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_ranges(dtype: str) -> None:
    for start, limit, delta in ((1, 10, 3), (10, 1, -3), (5, 5, 1), (0, 1, 2)):
        one = [np.asarray(v, dtype) for v in (start, limit, delta)]
        both("Range", one, [np.asarray(v, dtype) for v in (0, 4, 1)], 11, rtol=1e-6)


def test_a_range_without_a_step_is_an_error() -> None:
    arrays = [np.asarray(v) for v in (0, 4, 0)]
    with pytest.raises(Exception, match="delta"):
        run_model(single("Range", arrays, 11), arrays)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis: int) -> None:
    indices = np.array([[0, 3, -1], [2, -4, 7]])
    depth, values = np.asarray(4), np.array([5, 2], np.float32)
    for constant in ((), (1, 2)):
        both("OneHot", [indices, depth, values], [indices[:1], depth, values], 11, constant, axis=axis)
        # before opset 11 negative indices are nowhere (onnxruntime wraps them all the same)
        arrays = [indices, depth, values]
        program = prepare(single("OneHot", arrays, 9, constant, axis=axis))
        got = program.run(feeds(arrays, constant))[0]
        places = np.expand_dims(indices, axis) == np.arange(4).reshape({-1: (4,), 0: (4, 1, 1), 1: (4, 1)}[axis])
        np.testing.assert_array_equal(got, np.where(places, np.float32(2), np.float32(5)))


def test_arrays_of_one_number() -> None:
    both("EyeLike", [uniform(3, 4)], [uniform(2, 2)], 9, k=1, dtype=TensorProto.INT64)
    both("ConstantOfShape", [np.array([2, 3])], [np.array([0, 4])], 9)
    value = numpy_helper.from_array(np.array([7]))
    both("ConstantOfShape", [np.array([2, 3])], [np.array([1, 1])], 9, value=value)


# -- samplers and Dropout ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op_type", "attrs"),
    [
        ("RandomNormal", {"shape": [200, 50], "mean": 2.0, "scale": 3.0}),
        ("RandomUniform", {"shape": [200, 50], "low": 2.0 - 27**0.5, "high": 2.0 + 27**0.5}),
    ],
)
def test_samplers(op_type: str, attrs: dict[str, Any]) -> None:
    data = np.zeros((200, 50), np.float32)
    like = {k: v for k, v in attrs.items() if k != "shape"}
    free, shaped = single(op_type, [], 13, **attrs), single(f"{op_type}Like", [data], 13, **like)
    for model, arrays in ((free, []), (shaped, [data])):
        (got,) = run_model(model, arrays)
        assert (got.shape, got.dtype) == ((200, 50), np.float32)
        assert abs(got.mean() - 2) < 0.15
        assert abs(got.std() - 3) < 0.1
    seeded = prepare(single(op_type, [], 13, **attrs, seed=3.0))
    np.testing.assert_array_equal(seeded.run([])[0], seeded.run([])[0])


def test_classes_are_drawn_by_their_probability() -> None:
    rows = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-30]], np.float32)) + 3
    (got,) = run_model(single("Multinomial", [rows], 13, sample_size=8000, dtype=TensorProto.INT64), [rows])
    shares = np.stack([np.bincount(row, minlength=3) / 8000 for row in got])
    np.testing.assert_allclose(shares, [[0.1, 0.2, 0.7], [0.5, 0.5, 0]], atol=0.03)
    p = np.full((100, 80), 0.3, np.float32)
    assert abs(run_model(single("Bernoulli", [p], 15), [p])[0].mean() - 0.3) < 0.03


@pytest.mark.parametrize("opset", [6, 7, 10, 12, 22])
def test_dropout_passes_everything_and_is_mxnets(opset: int) -> None:
    x = uniform(2, 3)
    attrs: dict[str, Any] = {} if opset >= 12 else {"ratio": 0.3}
    found = import_model(single("Dropout", [x], opset, **attrs))
    assert names(found) == ["Dropout"]
    assert found.graph.outputs[0].node.attrs.get("p", "0.5") == ("0.5" if opset >= 12 else str(float(np.float32(0.3))))
    y, mask = run_model(single("Dropout", [x], opset, outputs=2, **attrs), [x])
    np.testing.assert_array_equal(y, x)
    assert mask.dtype == (bool if opset >= 10 else np.float32)
    assert mask.all()


def test_dropout_that_the_model_turns_on() -> None:
    x, ratio = uniform(100, 100), np.asarray(np.float32(0.25))
    for mode, share in ((True, 0.25), (False, 0.0)):
        arrays = [x, ratio, np.asarray(mode)]
        y, mask = run_model(single("Dropout", arrays, 13, outputs=2), arrays)
        assert abs(1 - mask.mean() - share) < 0.03
        np.testing.assert_allclose(y, np.where(mask, x / np.float32(1 - share), 0), rtol=1e-6)
        (alone,) = run_model(single("Dropout", arrays, 13, (1, 2)), arrays[:1])
        assert abs((alone == 0).mean() - share) < 0.03


# -- what is wrong is said -----------------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(UnsupportedModel, match="axis 3"):
        import_model(single("Softmax", [uniform(2, 3)], 11, axis=3))
    with pytest.raises(UnsupportedModel, match="shape"):
        import_model(
            helper.make_model(
                helper.make_graph(
                    [helper.make_node("MatMul", ["a", "b"], ["y"])],
                    "g",
                    [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "ab"],
                    [helper.make_empty_tensor_value_info("y")],
                ),
                opset_imports=[helper.make_opsetid("", 13)],
            )
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_power_whose_exponent_has_no_known_dtype_may_be_whole(dtype: str) -> None:
    """NumPy says that float64 equals None, which is what a dtype is that is not known."""
    x, y = np.array([[1.5, 2.5, -3.0]], dtype), np.array([[2, -1, 3]])
    proto = helper.make_model(
        helper.make_graph(
            [helper.make_node("Pow", ["x", "y"], ["z"])],
            "g",
            [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), [1, 3]),
             helper.make_tensor_value_info("y", TensorProto.UNDEFINED, [1, 3])],
            [helper.make_empty_tensor_value_info("z")],
        ),
        opset_imports=[helper.make_opsetid("", 15)],
    )  # fmt: skip
    (got,) = run_model(proto, [x, y])
    assert got.dtype == x.dtype
    np.testing.assert_allclose(got, x**y, rtol=1e-6)


@pytest.mark.skipif(not hasattr(TensorProto, "FLOAT8E8M0"), reason="an older onnx has no such floats")
@pytest.mark.parametrize(
    ("to", "attrs", "want"),
    [
        ("FLOAT8E8M0", {"round_mode": "down"}, [2, 8]),
        ("FLOAT8E8M0", {"round_mode": "nearest"}, [2, 8]),
        ("FLOAT8E8M0", {"round_mode": "up"}, [4, 16]),
        ("FLOAT8E8M0", {}, [4, 16]),
        ("FLOAT8E4M3FN", {"saturate": 1}, [2.5, 448]),
        ("FLOAT8E4M3FN", {"saturate": 0}, [2.5, np.nan]),
        ("FLOAT8E4M3FN", {}, [2.5, 448]),
    ],
)
def test_how_floats_of_8_bits_round_is_handed_on(to: str, attrs: dict[str, Any], want: list[float]) -> None:
    x = np.float32([2.5, 9 if to == "FLOAT8E8M0" else 1000])
    nodes = [
        helper.make_node("Cast", ["x"], ["small"], to=getattr(TensorProto, to), **attrs),
        helper.make_node("Cast", ["small"], ["y"], to=TensorProto.FLOAT),
    ]
    x_info, y_info = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy")
    proto = helper.make_model(
        helper.make_graph(nodes, "g", [x_info], [y_info]), opset_imports=[helper.make_opsetid("", 24)]
    )
    (got,) = run_model(proto, [x])
    np.testing.assert_array_equal(got, np.float32(want))
