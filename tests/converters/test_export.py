"""Facts of an exported model beside its numbers: names, types, sizes, versions; the opset that is chosen; and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import converters
from converters import ConversionError, UnsupportedModel
from converters.export import convert, opsets_for, untranslatable
from converters.registry import NOT_EXPORTED
from hybrid import symbol as sym
from hybrid.core.op import Spec
from tests.versions import needs_opset

from .agreement import by_onnxruntime

NEWEST = onnx.defs.onnx_opset_version()
WEIGHTS = {
    "fc_weight": np.arange(-6, 6, dtype=np.float32).reshape(4, 3) / 4,
    "arg:fc_bias": np.float32([1, -2, 0.5, 3]),
    "aux:nobody_reads": np.float32([1, 2]),
}


def declared(infos: Any) -> dict[str, tuple[int, list[Any]]]:
    """Element type and sizes by name, in order; None for a size that has neither a number nor a name."""
    return {
        i.name: (
            i.type.tensor_type.elem_type,
            [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in i.type.tensor_type.shape.dim],
        )
        for i in infos
    }


def network() -> sym.Symbol:
    """Outputs that are turned, joined, cut to another type, an input, and listed twice; of a node's outputs the second one."""
    x, k = sym.var("x"), sym.var("k", dtype="int64")
    layer = sym.FullyConnected(x, num_hidden=4, name="fc", flatten=False)
    cut = sym.SliceChannel(layer, num_outputs=2, axis=2, name="cut")
    turned = sym.transpose(cut[1], axes=(1, 0, 2), name="turned")
    twice = sym.Concat(cut[1], cut[1], dim=0, name="twice")
    place = sym.argmax(cut[0], axis=2, name="place")
    shifted = sym.broadcast_add(k, k, name="shifted")
    return sym.Group([turned, twice, place, shifted, x, turned])


def test_names_types_and_sizes() -> None:
    model = converters.to_onnx(network(), WEIGHTS, {"x": ("n", "t", 3), "k": Spec((2, 1), np.dtype(np.int64))})
    onnx.checker.check_model(model, full_check=True)
    graph = model.graph
    f, i = TensorProto.FLOAT, TensorProto.INT64
    assert declared(graph.input) == {"x": (f, ["n", "t", 3]), "k": (i, [2, 1])}
    assert list(declared(graph.input)) == ["x", "k"]
    assert declared(graph.output) == {
        "turned_output": (f, ["t", "n", 2]),
        "twice_output": (f, [None, "t", 2]),
        "place_output": (f, ["n", "t"]),
        "shifted_output": (i, [2, 1]),
        "x_1": (f, ["n", "t", 3]),
        "turned_output_1": (f, ["t", "n", 2]),
    }
    names = [n.name for n in graph.node]
    assert len(set(names)) == len(names)
    assert {"fc", "cut", "turned", "twice", "place", "shifted"} <= set(names)
    assert all(
        n.split("/")[0] in {"fc", "cut", "turned", "twice", "place", "shifted", "x_2", "turned_output_2"} for n in names
    )
    assert {o for n in graph.node for o in n.output} >= {"fc_output", "cut_output0", "cut_output1"}
    stored = {t.name for t in graph.initializer}
    assert stored == {name for n in graph.node for name in n.input} & stored
    assert "fc_bias" in stored
    assert "nobody_reads" not in stored
    assert (model.producer_name, model.opset_import[0].version, len(model.opset_import)) == ("gluonnx", 13, 1)


def test_numbers_of_all_those_outputs() -> None:
    x = np.random.default_rng(3).uniform(-2, 2, (2, 5, 3)).astype(np.float32)
    k = np.array([[3], [-4]])
    model = converters.to_onnx(network(), WEIGHTS, {"x": ("n", "t", 3), "k": k})
    layer = x @ WEIGHTS["fc_weight"].T + WEIGHTS["arg:fc_bias"]
    first, second = layer[..., :2], layer[..., 2:]
    wants = [
        second.swapaxes(0, 1),
        np.concatenate([second, second]),
        first.argmax(2).astype(np.float32),
        k + k,
        x,
        second.swapaxes(0, 1),
    ]
    for got, want in zip(by_onnxruntime(model, {"x": x, "k": k}), wants, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("opset", range(7, NEWEST + 1))
def test_versions_go_together(opset: int) -> None:
    model = converters.to_onnx(sym.var("x") * 2, {}, {"x": (3,)}, opset)
    assert model.ir_version == helper.find_min_ir_version_for([helper.make_opsetid("", opset)])
    assert [(o.domain, o.version) for o in model.opset_import] == [("", opset)]


@pytest.mark.parametrize("opset", [6, NEWEST + 1])
def test_opsets_that_are_not_written(opset: int) -> None:
    with pytest.raises(ConversionError, match=f"got opset {opset}, wanted 7 to {NEWEST} "):
        converters.to_onnx(sym.var("x") * 2, {}, {"x": (3,)}, opset)


@needs_opset(25)
def test_the_opset_that_is_chosen() -> None:
    """The default; a newer one where an operator of ONNX's own is itself only there; the default where that loses another."""
    x = sym.var("x")
    plain, swish, gelu = x * 2, sym._onnx_Swish(x, alpha=0.5), sym._onnx_Gelu(x, approximate="tanh")
    drawn = swish + sym._random_uniform(low=2, high=3, shape=(3,))
    assert opsets_for(plain.graph) == [21]
    assert opsets_for(plain.graph, 17) == [17]
    assert opsets_for(plain.graph, 17, 15) == [15]
    assert opsets_for(swish.graph) == [24, 21]
    assert opsets_for(swish.graph, 17, 22) == [17]
    assert opsets_for(gelu.graph, 17) == [20, 17]
    assert opsets_for(gelu.graph, 17, 20) == [20, 17]
    assert opsets_for(gelu.graph, 17, 19) == [17]

    def chosen(symbol: sym.Symbol, **options: Any) -> int:
        return convert(symbol, {}, {"x": (3,)}, **options).proto().opset_import[0].version

    assert [chosen(s, opset="newest") for s in (plain, swish, gelu, drawn)] == [21, 24, 21, 21]
    assert [chosen(s, opset="newest", default=17) for s in (plain, swish, gelu, drawn)] == [17, 24, 20, 17]
    assert [chosen(s, opset="newest", default=17, newest=18) for s in (plain, swish, gelu)] == [17, 17, 17]
    assert [chosen(s) for s in (plain, swish, gelu, drawn)] == [13, 24, 20, 21]
    assert [chosen(s, newest=18) for s in (plain, swish, gelu)] == [13, 18, 18]
    assert chosen(gelu, opset=18, default=21) == 18


def test_dtypes_of_inputs() -> None:
    """As declared by the call, else by the variable, else by what the call says of all, else float32."""
    total = sym.var("x") * 2
    halves = np.float16([1.5, 2.5])
    for given, options, want in (
        (halves, {}, TensorProto.FLOAT16),
        (Spec((2,), np.dtype(np.float64)), {}, TensorProto.DOUBLE),
        ((np.int64(2),), {}, TensorProto.FLOAT),
        ((2,), {"default_dtype": np.float16}, TensorProto.FLOAT16),
        (Spec((2,), np.dtype(np.float32)), {"default_dtype": np.float16}, TensorProto.FLOAT),
    ):
        made = convert(total, None, {"x": given}, **options).proto().graph
        assert declared(made.input) == {"x": (want, [2])}
        assert list(declared(made.output).values()) == [(want, [2])]
    (info,) = declared(converters.to_onnx(sym.var("x", dtype="int32") * 2, {}, {"x": (2,)}).graph.input).values()
    assert info == (TensorProto.INT32, [2])


def test_variables_of_one_name_are_one_input() -> None:
    x = np.float32([1, 2, -3])
    model = converters.to_onnx(sym.var("x") * 2 - sym.var("x") * sym.var("w"), {"w": np.float32([1, 3, 5])}, {"x": x})
    assert [i.name for i in model.graph.input] == ["x"]
    np.testing.assert_array_equal(by_onnxruntime(model, {"x": x})[0], np.float32([1, -2, 9]))


def test_no_two_tensors_go_by_one_name() -> None:
    """Inputs and parameters may be called as nodes, what these make and what is made on the way, before them and after."""
    x, other = np.float32([[1, -2, 3]]), np.float32([[4, 5, -6]])
    names = ("a", "a_output", "a_output_1", "b_output", "b_output_1", "parts", "parts_output0", "parts_output2", "total",
             "total_output", "a/Mul_output", "b/const", "a/const", "const/const", "parts/Split")  # fmt: skip
    wrong = []
    for name in names:
        mine = sym.var(name)
        a = sym.LeakyReLU(sym.var("x") * 2.5, slope=0.5, name="a")
        b = sym.broadcast_sub(a * 3, mine, name="b")
        parts = sym.SliceChannel(b, num_outputs=3, axis=1, name="parts")
        total = sym.broadcast_add(parts[0], parts[2], name="total")
        first = np.where(x > 0, x, x / 2) * np.float32(2.5)
        second = first * 3 - other
        late = [total, a, a, parts[1], mine]
        want = [second[:, :1] + second[:, 2:], first, first, second[:, 1:2], other]
        for turned, stored in ((False, False), (True, False), (False, True), (True, True)):
            group = sym.Group(late[::-1] if turned else late)
            feeds = {"x": x} if stored else {"x": x, name: other}
            try:
                model = converters.to_onnx(group, {name: other} if stored else {}, feeds)
                made = [o for n in model.graph.node for o in n.output]
                held = [v.name for v in (*model.graph.input, *model.graph.initializer)]
                assert len({*made, *held}) == len(made) + len(held), (made, held)
                assert name in held
                for got, right in zip(by_onnxruntime(model, feeds), want[::-1] if turned else want, strict=True):
                    np.testing.assert_allclose(got, right, rtol=1e-6)
            except Exception as error:
                wrong.append(f"{name}, {turned=}, {stored=}: {error}")
    assert not wrong, "\n".join(wrong)


def test_what_names_no_input_or_no_size_is_told() -> None:
    total = sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc") + sym.var("y")
    params = {"fc_weight": WEIGHTS["fc_weight"][:2], "fc_bias": np.float32([1, 2])}
    with pytest.raises(ConversionError, match=r"got input 'z', wanted some of x, y$"):
        converters.to_onnx(total, params, {"z": (2, 3)})
    with pytest.raises(ConversionError, match=r"cannot tell the shape of (b|a) .*, (b|a) .*; give shapes for them"):
        converters.to_onnx(sym.Group([sym.var("a") * 2, sym.exp(sym.var("b"))]), {}, {})
    with pytest.raises(ConversionError, match="fc"):
        converters.to_onnx(total, params, {"x": (2, 5)})


def test_every_node_without_translation_is_listed_once() -> None:
    x = sym.var("x")
    bright = sym._image_random_brightness(x, min_factor=0.5, max_factor=1.5, name="bright")
    hue = sym._image_random_hue(bright, min_factor=0.5, max_factor=1.5, name="hue")
    both = sym.Group([hue, sym.relu(hue), sym.Dropout(bright, mode="always", p=1, name="none")])
    with pytest.raises(UnsupportedModel) as found:
        converters.to_onnx(both, {}, {"x": (4, 4, 3)})
    problems = {p.node: (p.operator, p.reason) for p in found.value.problems}
    assert len(found.value.problems) == 3
    assert problems["bright"] == ("_image_random_brightness", NOT_EXPORTED["_image_random_brightness"])
    assert problems["hue"] == ("_image_random_hue", NOT_EXPORTED["_image_random_hue"])
    assert "p=1" in problems["none"][1]
    assert "3 nodes" in str(found.value)
    assert [p.node for p in untranslatable(both.graph)] == ["bright", "hue"]
    assert untranslatable(sym.relu(x).graph) == []


UNKNOWN = Spec(None, None)
"""An input of which nothing is known."""


def refusals() -> list[tuple[str, Callable[[], sym.Symbol], dict[str, Any], int | None, str]]:
    """Exports that are refused, beside others: name, symbol, inputs, opset, a part of the reason (empty where it is written)."""
    x, y, z = sym.var("x"), sym.var("y"), sym.var("z")
    return [
        (
            "sizes without output",
            lambda: sym.Deconvolution(x, y, kernel=(2, 2), num_filter=1, no_bias=True, pad=(1, 1)),
            {"x": ("n", 1, 1, "w"), "y": (1, 1, 2, 2)},
            None,
            "without elements",
        ),
        (
            "range",
            lambda: sym.broadcast_add(sym.arange(0, infer_range=True), x),
            {"x": ("n",)},
            None,
            "infer_range=True",
        ),
        ("range that is added", lambda: sym.arange(0, infer_range=True) + x, {"x": ("n",)}, None, ""),
        ("range of a known size", lambda: sym.arange(0, infer_range=True) + x, {"x": (3,)}, None, ""),
        (
            "background",
            lambda: sym._contrib_MultiBoxDetection(x, y, z),
            {"x": (1, 1, 2), "y": (1, 8), "z": (1, 2, 4)},
            None,
            "background only",
        ),
        ("all dropped", lambda: sym.Dropout(x, p=1, mode="always"), {"x": (2, 3)}, None, "p=1"),
        ("some dropped", lambda: sym.Dropout(x, p=0.5, mode="always"), {"x": (2, 3)}, None, ""),
        (
            "integers",
            lambda: sym._random_randint(low=0, high=2**60, dtype="int64", shape=(3,)),
            {},
            None,
            "cannot tell so many",
        ),
        ("integers enough", lambda: sym._random_randint(low=0, high=2**40, dtype="int64", shape=(3,)), {}, None, ""),
        (
            "p of a pool",
            lambda: sym.Pooling(x, pool_type="lp", p_value=2, kernel=(2, 2)),
            {"x": (1, 1, 4, 3)},
            None,
            "",
        ),
        (
            "lists of an old opset",
            lambda: sym._onnx_Pad(x, y, mode="wrap"),
            {"x": (3,), "y": np.array([1, 1])},
            18,
            "choose opset 19",
        ),
        ("wrap", lambda: sym._onnx_Pad(x, y, mode="wrap"), {"x": (3,), "y": np.array([1, 1])}, 19, ""),
        (
            "crop",
            lambda: sym._onnx_Resize(
                X=x, scales=y, given=("scales",), mode="nearest", coordinate_transformation_mode="tf_half_pixel_for_nn"
            ),
            {"x": (1, 1, 2, 3), "y": Spec((4,), np.dtype("float32"))},
            18,
            "tf_half_pixel_for_nn",
        ),
        (
            "crop before",
            lambda: sym._onnx_Resize(
                X=x, scales=y, given=("scales",), mode="nearest", coordinate_transformation_mode="tf_half_pixel_for_nn"
            ),
            {"x": (1, 1, 2, 3), "y": Spec((4,), np.dtype("float32"))},
            17,
            "",
        ),
        (
            "reduced by axes that change",
            lambda: sym._onnx_ReduceMax(x, y, given=("axes",)),
            {"x": (2, 3), "y": Spec((1,), np.dtype("int64"))},
            17,
            "need opset 18",
        ),
        (
            "reduced then",
            lambda: sym._onnx_ReduceMax(x, y, given=("axes",)),
            {"x": (2, 3), "y": Spec((1,), np.dtype("int64"))},
            18,
            "",
        ),
        (
            "over nothing",
            lambda: sym._onnx_ReduceMax(x, noop_with_empty_axes=True),
            {"x": (2, 3)},
            17,
            "over no axes needs opset 18",
        ),
        ("over nothing then", lambda: sym._onnx_ReduceMax(x, noop_with_empty_axes=True), {"x": (2, 3)}, 18, ""),
        (
            "attribute of a newer opset",
            lambda: sym._onnx_Shape(x, start=1),
            {"x": (2, 3)},
            13,
            "attribute start: no form at opset 13, needs opset 15",
        ),
        ("attribute at its opset", lambda: sym._onnx_Shape(x, start=1), {"x": (2, 3)}, 15, ""),
        ("operator of a newer opset", lambda: sym._onnx_Trilu(x), {"x": (2, 3)}, 13, "opset 13"),
        ("operator at its opset", lambda: sym._onnx_Trilu(x), {"x": (2, 3)}, 14, ""),
        ("pieces", lambda: sym._onnx_Split(x, num_outputs=2, axis=0), {"x": ("n", 2)}, 17, "needs the size of axis 0"),
        ("pieces then", lambda: sym._onnx_Split(x, num_outputs=2, axis=0), {"x": ("n", 2)}, 18, ""),
        (
            "axis of a transform",
            lambda: sym._onnx_DFT(input=x, axis=y, given=("axis",)),
            {"x": (1, 4, 2), "y": Spec((), np.dtype("int64"))},
            19,
            "needs opset 20",
        ),
    ]


def test_what_is_refused_and_what_beside_it_is_not() -> None:
    wrong = []
    for name, make, inputs, opset, reason in refusals():
        try:
            converters.to_onnx(make(), {}, inputs, opset)
        except UnsupportedModel as error:
            if not reason or reason not in str(error):
                wrong.append(f"{name}: {error}")
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        else:
            wrong += [f"{name}: written"] if reason else []
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_celu_of_dtypes_that_onnx_has_not(dtype: type) -> None:
    """Before opset 28 ONNX has it in float32 alone: it is written out."""
    x = np.array([-3, -0.5, -0.01, 0, 0.25, 2], dtype)
    model = converters.to_onnx(sym._onnx_Celu(sym.var("x"), alpha=0.75), {}, {"x": x}, 21)
    (got,) = by_onnxruntime(model, {"x": x})
    wide = x.astype(np.float64)
    want = np.maximum(wide, 0) + np.minimum(0, 0.75 * (np.exp(wide / 0.75) - 1))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=1e-6 if dtype == np.float64 else 2e-3, atol=1e-7)
