"""Models of ai.onnx.ml, read, run and written: random ones against onnxruntime; what the standard says where that differs."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

import converters
from bridge.onnx_backend import prepare
from converters.error import UnsupportedModel
from converters.importer import import_model

from .agreement import agree, by_onnxruntime, parsed

ML = "ai.onnx.ml"
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
X = np.round(np.random.default_rng(0).normal(size=(9, 4)), 1).astype(np.float32)
GAPS = np.where(np.random.default_rng(1).random(X.shape) < 0.25, np.nan, X)


def model(op_type: str, x: Any, *outputs: tuple[str, Any], version: int = 3, **attrs: Any) -> onnx.ModelProto:
    """One node; outputs are (name, element type)."""
    code = TensorProto.STRING if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype)
    node = helper.make_node(op_type, ["x"], [n for n, _ in outputs], domain=ML, **attrs)
    info = helper.make_tensor_value_info("x", code, ["n", *x.shape[1:]])
    infos = [helper.make_tensor_value_info(n, t, None) for n, t in outputs]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, version)]
    return helper.make_model(helper.make_graph([node], "graph", [info], infos), opset_imports=opsets, ir_version=8)


def check(op_type: str, x: np.ndarray, *outputs: Any, again: int | None = 21, **attrs: Any) -> None:
    """The node at all rows and at some; what is written again says all that it said."""
    proto = model(op_type, x, *outputs, **attrs)
    found = agree(proto, {"x": x}, {"x": x[:4]}, rtol=2e-5, again=again)
    written = converters.to_onnx(found.graph, found.params, found.inputs, again)
    said = {a.name: helper.get_attribute_value(a) for n in proto.graph.node for a in n.attribute}
    says = {
        a.name: helper.get_attribute_value(a) for n in written.graph.node if n.op_type == op_type for a in n.attribute
    }
    if "keys_tensor" not in says and "classes_strings" not in said:  # tables have another form in each version
        for name, value in said.items():
            default = onnx.defs.get_schema(op_type, 5, ML).attributes[name].default_value
            got = says.get(name, helper.get_attribute_value(default) if default.name else None)
            assert got == value or str(got) == str(value), name


def floats(rng: np.random.Generator, *shape: int) -> list[float]:
    return [float(v) for v in rng.normal(size=shape).astype(np.float32).ravel()]


def trees(
    leaf: str, ids: list[int], *, seed: int = 0, positive: bool = False, modes: Any = MODES, wide: bool = False
) -> dict[str, Any]:
    """Three random trees, every leaf of which gives something for each of ids."""
    rng, found = np.random.default_rng(seed), {}
    node_names = (
        "treeids",
        "nodeids",
        "featureids",
        "truenodeids",
        "falsenodeids",
        "modes",
        "values",
        "missing_value_tracks_true",
    )
    nodes: list[list[Any]] = []
    leaves: list[list[Any]] = []

    def grow(tree: int, depth: int) -> int:
        number, at = sum(n[0] == tree for n in nodes), len(nodes)
        nodes.append([tree, number, 0, 0, 0, "LEAF", 0.0, 0])
        if not depth or rng.random() < 0.2:
            low = 0 if positive else -1
            leaves.extend([tree, number, i, float(np.float32(rng.uniform(low, 1)))] for i in ids)
            return number
        value = float(np.float32(np.round(rng.normal(), 1)))
        nodes[at][2:] = [int(rng.integers(4)), 0, 0, str(rng.choice(modes)), value, int(rng.integers(2))]
        nodes[at][3], nodes[at][4] = grow(tree, depth - 1), grow(tree, depth - 1)
        return number

    for tree in range(3):
        grow(tree, 3)
    found |= {f"nodes_{n}": list(v) for n, v in zip(node_names, zip(*nodes))}
    found |= {f"{leaf}_{n}": list(v) for n, v in zip(("treeids", "nodeids", "ids", "weights"), zip(*leaves))}
    found["nodes_hitrates"] = floats(rng, len(nodes))
    if wide:
        for name in ("nodes_values", f"{leaf}_weights", "nodes_hitrates"):
            found[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(found.pop(name)))
    return found


LABELS = ("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)
WORDS = ("label", TensorProto.STRING), ("scores", TensorProto.FLOAT)
Y = ("y", TensorProto.FLOAT)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("wide", [False, True])
def test_tree_regressors(aggregate: str, wide: bool) -> None:
    bases = floats(np.random.default_rng(5), 2)
    base = {"base_values_as_tensor": numpy_helper.from_array(np.array(bases))} if wide else {"base_values": bases}
    for seed, x in enumerate((X, GAPS)):
        attrs = trees("target", [0, 1], seed=seed, wide=wide)
        check(
            "TreeEnsembleRegressor",
            x.astype(np.float64) if wide else x,
            Y,
            n_targets=2,
            aggregate_function=aggregate,
            **attrs,
            **base,
        )


@pytest.mark.parametrize("post", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
def test_tree_classifiers(post: str) -> None:
    positive = post == "PROBIT"
    for x in (X, GAPS):
        attrs = trees("class", [0, 1, 2], positive=positive)
        check("TreeEnsembleClassifier", x, *LABELS, post_transform=post, classlabels_int64s=[4, 1, 7], **attrs)
        check("TreeEnsembleClassifier", x, *WORDS, post_transform=post, classlabels_strings=["a", "b", "c"], **attrs)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("only", [0, 1])
def test_tree_classifiers_of_two_classes_one_of_which_has_scores(post: str, positive: bool, only: int) -> None:
    for seed in range(3):
        attrs = trees("class", [only], seed=seed, positive=positive)
        base = {"base_values": [0.25]} if only == 0 and seed else {}
        check("TreeEnsembleClassifier", X, *LABELS, post_transform=post, classlabels_int64s=[3, 9], **attrs, **base)


def test_of_two_classes_with_scores_the_greater_wins() -> None:
    """onnxruntime takes the second whenever its score is above 0; the standard says the top class."""
    seen = set()
    for seed in range(6):
        attrs = trees("class", [0, 1], seed=seed, positive=True)
        labels, scores = prepare(model("TreeEnsembleClassifier", X, *LABELS, classlabels_int64s=[3, 9], **attrs)).run(
            [X]
        )
        assert labels.tolist() == [(3, 9)[i] for i in scores.argmax(1)]
        seen |= set(labels.tolist())
    assert seen == {3, 9}


def test_whose_base_value_it_is_has_to_be_said() -> None:
    attrs = trees("class", [1])
    with pytest.raises(UnsupportedModel, match="whose it is"):
        import_model(model("TreeEnsembleClassifier", X, *LABELS, classlabels_int64s=[3, 9], base_values=[0.5], **attrs))


def test_tree_ensembles_with_members() -> None:
    tensors = {
        "nodes_splits": np.float32([0.5, 0, 0.1]),
        "nodes_modes": np.uint8([0, 6, 6]),
        "membership_values": np.float32([1, 2, np.nan, -1, 5, np.nan]),
        "leaf_weights": np.float32([1, 10, 100, 1000]),
        "nodes_hitrates": np.float32([9, 4, 5]),
    }
    attrs = {n: numpy_helper.from_array(a) for n, a in tensors.items()}
    attrs |= {"tree_roots": [0], "nodes_featureids": [0, 1, 1], "n_targets": 2, "leaf_targetids": [0, 1, 0, 1]}
    attrs |= {
        "nodes_truenodeids": [1, 0, 2],
        "nodes_falsenodeids": [2, 1, 3],
        "nodes_trueleafs": [0, 1, 1],
        "nodes_falseleafs": [0, 1, 1],
        "nodes_missing_value_tracks_true": [0, 1, 0],
    }
    x = np.float32([[0, 1], [0, 3], [0, 2], [1, -1], [1, 5], [1, 7]])
    check("TreeEnsemble", x, Y, version=5, again=23, **attrs)
    whole = dict(attrs, post_transform=2)
    (got,) = prepare(model("TreeEnsemble", x, Y, version=5, **whole)).run([x])
    np.testing.assert_allclose(got[1], [0.5, 1 / (1 + np.exp(-10))], rtol=1e-6)


@pytest.mark.parametrize("post", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_linear_classifiers(post: str) -> None:
    rng = np.random.default_rng(2)
    for rows, labels in ((3, [4, 1, 7]), (2, [0, 1]), (1, [0, 5])):
        attrs = {"coefficients": floats(rng, rows, 4), "intercepts": floats(rng, rows), "version": 1}
        check("LinearClassifier", X, *LABELS, classlabels_ints=labels, post_transform=post, **attrs)
    words = ["no", "yes, or so"]
    check(
        "LinearClassifier",
        X,
        *WORDS,
        version=1,
        classlabels_strings=words,
        coefficients=floats(rng, 4),
        intercepts=[0.1],
    )


def test_linear_classifiers_without_intercepts_are_written_with_some() -> None:
    """The schema takes none for 0, onnxruntime refuses a file without."""
    rng = np.random.default_rng(2)
    for rows, labels in ((3, [4, 1, 7]), (2, [0, 1])):
        weights = floats(rng, rows, 4)
        bare = model("LinearClassifier", X, *LABELS, version=1, classlabels_ints=labels, coefficients=weights)
        symbol, args, auxiliaries = converters.from_onnx(bare)
        assert not args and not auxiliaries
        written = converters.to_onnx(symbol.graph, {}, {"x": X})
        found = by_onnxruntime(written, {"x": X})
        scores = X @ np.float32(weights).reshape(rows, 4).T
        np.testing.assert_array_equal(found[0], np.take(labels, scores.argmax(1)))
        np.testing.assert_allclose(found[1], scores, rtol=1e-5)


def test_linear_regressors() -> None:
    rng = np.random.default_rng(3)
    check("LinearRegressor", X, Y, version=1, coefficients=floats(rng, 2, 4), intercepts=floats(rng, 2), targets=2)
    check("LinearRegressor", X, Y, version=1, coefficients=floats(rng, 4))


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vector_machines(kernel: str) -> None:
    rng = np.random.default_rng(4)
    attrs = {"kernel_type": kernel, "kernel_params": [0.4, 0.3, 3.0], "version": 1}
    for one_class in (0, 1):
        vectors = {
            "coefficients": floats(rng, 5),
            "support_vectors": floats(rng, 5, 4),
            "n_supports": 5,
            "rho": floats(rng, 1),
        }
        check("SVMRegressor", X, Y, one_class=one_class, **vectors, **attrs)
    for per, labels in (([2, 3, 1], [5, 2, 8]), ([2, 2], [5, 2])):
        pairs, count = len(per) * (len(per) - 1) // 2, sum(per)
        vectors = {
            "coefficients": floats(rng, len(per) - 1, count),
            "support_vectors": floats(rng, count, 4),
            "vectors_per_class": per,
        }
        chances = {"prob_a": [-abs(v) for v in floats(rng, pairs)], "prob_b": floats(rng, pairs)}
        for more in ({}, chances):
            check(
                "SVMClassifier", X, *LABELS, classlabels_ints=labels, rho=floats(rng, pairs), **vectors, **more, **attrs
            )


def test_linear_support_vector_machines() -> None:
    rng = np.random.default_rng(5)
    params = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}
    check("SVMRegressor", X, Y, version=1, coefficients=floats(rng, 4), rho=[0.3], **params)
    check(
        "SVMClassifier",
        X,
        *LABELS,
        version=1,
        classlabels_ints=[1, 2, 3],
        coefficients=floats(rng, 3, 4),
        rho=[0.3],
        **params,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64])
def test_models_that_reckon_in_float32_take_other_numbers(dtype: Any) -> None:
    """As if they were cast before; so does onnxruntime what is written, which has kernels of float32 alone."""
    rng, x = np.random.default_rng(8), np.array([[3, -2, 1, 4], [0, 5, -3, 2], [1, 1, 2, -4]], dtype)
    x = x + (0.25 if dtype == np.float64 else 0)
    params = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0], "rho": [0.3], "version": 1}
    for op_type, outputs, attrs in (
        ("LinearClassifier", LABELS, {"coefficients": floats(rng, 3, 4), "intercepts": floats(rng, 3),
                                      "classlabels_ints": [4, 1, 7]}),
        ("LinearRegressor", [Y], {"coefficients": floats(rng, 2, 4), "intercepts": floats(rng, 2), "targets": 2}),
        ("SVMClassifier", LABELS, {"coefficients": floats(rng, 3, 4), "classlabels_ints": [1, 2, 3], **params}),
        ("SVMRegressor", [Y], {"coefficients": floats(rng, 4), **params}),
    ):  # fmt: skip
        attrs = {"version": 1, **attrs}
        narrow = x.astype(np.float32)
        wants = by_onnxruntime(model(op_type, narrow, *outputs, **attrs), {"x": narrow})
        agree(model(op_type, x, *outputs, **attrs), {"x": x}, wants=[wants], rtol=2e-5)
        found = import_model(model(op_type, x, *outputs, **attrs))
        written = converters.to_onnx(found.graph, found.params, {"x": x})
        for got, want in zip(by_onnxruntime(written, {"x": x}), wants, strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5)
            assert got.dtype == want.dtype


# -- features --------------------------------------------------------------------------------------------------------------

WHOLE = np.random.default_rng(6).integers(-2, 3, (5, 3))
TEXTS = np.array([["a", "b"], ["c", "zz"]] * 3, object)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizers(norm: str) -> None:
    for x in (np.concatenate([X, 0 * X[:1]]), WHOLE, WHOLE.astype(np.int32), X.astype(np.float64)):
        check("Normalizer", x, Y, version=1, norm=norm)


def test_scalers_imputers_and_thresholds() -> None:
    for x in (X[:, :3], WHOLE, X[:, :3].astype(np.float64)):
        check("Scaler", x, Y, version=1, offset=[1.0, 2.0, 0.5], scale=[0.3, 0.2, 1.5])
        check("Scaler", x, Y, version=1, offset=[1.0], scale=[0.3])
    check("Binarizer", X, Y, version=1, threshold=0.3)
    nan = float("nan")
    check("Imputer", GAPS, Y, version=1, imputed_value_floats=[7.0, 8.0, 9.0, 1.0], replaced_value_float=nan)
    check("Imputer", X, Y, version=1, imputed_value_floats=[7.0], replaced_value_float=0.5)
    check("Imputer", WHOLE, ("y", TensorProto.INT64), version=1, imputed_value_int64s=[7, 8, 9], replaced_value_int64=1)


def test_one_hot() -> None:
    for x in (WHOLE, WHOLE.astype(np.float32) + 0.25):
        check("OneHotEncoder", x, Y, version=1, cats_int64s=[-1, 0, 2, 1])
    check("OneHotEncoder", TEXTS, Y, version=1, cats_strings=["c", "a", "b, of course"])
    with pytest.raises(Exception, match="no category"):
        prepare(model("OneHotEncoder", TEXTS, Y, version=1, cats_strings=["c"], zeros=0)).run([TEXTS])


KEYS = {
    "strings": (TEXTS, ["b", "a"]),
    "int64s": (WHOLE, [0, 2]),
    "floats": (np.float32([[0.5, -0.0], [7, np.nan]]), [0.5, 0.0]),
}
VALUES = {
    "strings": (["x", "y"], TensorProto.STRING),
    "int64s": ([1, 2], TensorProto.INT64),
    "floats": ([0.5, 2.0], TensorProto.FLOAT),
}


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("version", [2, 4])
def test_label_encoders(keys: str, values: str, version: int) -> None:
    (x, from_what), (to_what, kind) = KEYS[keys], VALUES[values]
    attrs = {f"keys_{keys}": from_what, f"values_{values}": to_what, "version": version}
    check("LabelEncoder", x, ("y", kind), again=18 if version == 2 else 21, **attrs)


def test_label_encoders_of_tensors_and_old_ones() -> None:
    tensors = {"keys": np.array([np.nan, 0.5]), "values": np.array([1.5, 2.5]), "default": np.array([9.0])}
    attrs = {f"{n}_tensor": numpy_helper.from_array(a) for n, a in tensors.items()}
    check("LabelEncoder", np.array([0.5, np.nan, 3, 0.5, 1]), ("y", TensorProto.DOUBLE), version=4, **attrs)
    check("LabelEncoder", TEXTS, ("y", TensorProto.INT64), version=1, classes_strings=["b", "a"], default_int64=-3)
    places = np.array([0, 1, 2, -1, 0])
    check("LabelEncoder", places, ("y", TensorProto.STRING), version=1, classes_strings=["b", "a"], default_string="?")
    cats = {"cats_strings": ["b", "a"], "cats_int64s": [5, 6], "version": 1}
    check("CategoryMapper", TEXTS, ("y", TensorProto.INT64), default_int64=-3, **cats)
    check("CategoryMapper", np.array([5, 6, 7, 5, 5]), ("y", TensorProto.STRING), default_string="?", **cats)


def test_of_equal_keys_the_last_counts() -> None:
    """As the standard says; onnxruntime takes the first."""
    (got,) = prepare(model("LabelEncoder", WHOLE, Y, version=2, keys_int64s=[1, 1], values_floats=[3.0, 4.0])).run(
        [WHOLE]
    )
    assert set(got[WHOLE == 1].tolist()) == {4.0}


# -- maps ------------------------------------------------------------------------------------------------------------------


def of_map(op_type: str, key: int, value: int, kind: int, **attrs: Any) -> Any:
    node = helper.make_node(op_type, ["x"], ["y"], domain=ML, **attrs)
    info = helper.make_value_info("x", helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, [])))
    graph = helper.make_graph([node], "graph", [info], [helper.make_tensor_value_info("y", kind, None)])
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(ML, 1)], ir_version=8
    )


def test_maps_become_tensors() -> None:
    text, whole, number = TensorProto.STRING, TensorProto.INT64, TensorProto.FLOAT
    cases = [
        (
            of_map("DictVectorizer", text, number, number, string_vocabulary=["c", "b", "a"]),
            {"a": 1.5, "c": 2.0},
            [[2, 0, 1.5]],
        ),
        (of_map("DictVectorizer", whole, text, text, int64_vocabulary=[3, 2]), {3: "x"}, [["x", ""]]),
        (of_map("CastMap", whole, number, number), {3: 1.5, 1: 2.25}, [[2.25, 1.5]]),
        (
            of_map("CastMap", whole, number, number, map_form="SPARSE", max_map=4),
            {3: 1.5, 1: 2.25},
            [[0, 2.25, 0, 1.5]],
        ),
        (of_map("CastMap", whole, number, whole, cast_to="TO_INT64"), {3: 1.5, 1: 2.25}, [[2, 1]]),
        (of_map("CastMap", whole, number, text, cast_to="TO_STRING"), {3: 1.5}, [["1.500000"]]),
        (of_map("CastMap", whole, text, number), {3: "1.5", 1: "7"}, [[7, 1.5]]),
    ]
    for proto, given, want in cases:
        (got,) = prepare(proto).run([given])
        assert got.tolist() == want
        code = proto.graph.output[0].type.tensor_type.elem_type
        assert got.dtype == (object if code == text else helper.tensor_dtype_to_np_dtype(code))
    with pytest.raises(Exception, match="not in the vocabulary"):
        prepare(cases[0][0]).run([{"q": 1.0}])


def test_rows_become_maps() -> None:
    proto = model("ZipMap", X[:, :3], ("y", TensorProto.FLOAT), version=1, classlabels_strings=["a", "b", "c"])
    row = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    proto.graph.output[0].CopyFrom(helper.make_value_info("y", helper.make_sequence_type_proto(row)))
    (got,) = prepare(proto).run([X[:2, :3]])
    assert got == [dict(zip("abc", map(float, r))) for r in X[:2, :3]]


# -- features --------------------------------------------------------------------------------------------------------------


def test_features_are_joined_and_taken_out() -> None:
    rng = np.random.default_rng(9)
    one, two = rng.normal(size=(4, 2)).astype(np.float32), rng.normal(size=(4, 5)).astype(np.float32)
    proto = parsed("""<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 1]>
        g (float[n, 2] a, float[n, 5] b, int64[k] i) => (float[n, 7] y, float[n, k] z) {
            y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [2, 5]> (a, b)
            z = ai.onnx.ml.ArrayFeatureExtractor (b, i)
        }""")
    for rows, places in ((4, [4, 0, 2]), (2, [1])):
        feeds = {"a": one[:rows], "b": two[:rows], "i": np.array(places)}
        wants = [np.concatenate([feeds["a"], feeds["b"]], 1), feeds["b"][:, places]]
        agree(proto, feeds, wants=[wants])
        for got, want in zip(by_onnxruntime(proto, feeds), wants, strict=True):
            np.testing.assert_array_equal(got, want)


def test_lists_without_elements_are_lists_that_are_not_given() -> None:
    """Some exporters write all lists that there are."""
    proto = model("LabelEncoder", WHOLE, Y, version=2, keys_int64s=[5, 6], values_floats=[1.5, 2.5])
    for name, kind in (("keys_strings", AttributeProto.STRINGS), ("values_int64s", AttributeProto.INTS)):
        proto.graph.node[0].attribute.append(helper.make_attribute(name, [], attr_type=kind))
    x = np.array([[6, 5, 7]])
    (got,) = prepare(proto).run([x])
    assert got.tolist() == [[2.5, 1.5, 0]]
    joined = parsed("""<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 1]>
        g (float[n, 2] a) => (float[n, 2] y) { y = ai.onnx.ml.FeatureVectorizer (a) }""")
    found = import_model(joined)
    written = converters.to_onnx(found.graph, found.params, {"a": X[:, :2].astype(np.float32)}, 17)
    assert not written.graph.node[0].attribute


def test_maps_become_tensors_when_written_again() -> None:
    text, whole, number = TensorProto.STRING, TensorProto.INT64, TensorProto.FLOAT
    for proto, given, want in (
        (
            of_map("DictVectorizer", text, number, number, string_vocabulary=["c", "b", "a"]),
            {"a": 1.5, "c": 2.0},
            [[2, 0, 1.5]],
        ),
        (of_map("DictVectorizer", whole, text, text, int64_vocabulary=[3, 2]), {3: "x"}, [["x", ""]]),
        (
            of_map("CastMap", whole, number, number, map_form="SPARSE", max_map=4),
            {3: 1.5, 1: 2.25},
            [[0, 2.25, 0, 1.5]],
        ),
    ):
        found = import_model(proto)
        model = converters.to_onnx(found.graph, found.params, {}, 17)
        assert model.graph.input[0].type == proto.graph.input[0].type
        assert model.graph.output[0].type.tensor_type.elem_type == proto.graph.output[0].type.tensor_type.elem_type
        results = prepare(model).run([given])
        if "x" not in given.values():  # whose bindings have no maps from numbers to words
            results = [*results, *by_onnxruntime(model, {"x": given})]
        assert all(np.asarray(got).tolist() == want for got in results)


# -- what is refused, and from which opset on --------------------------------------------------------------------------------


def test_what_tables_have_to_be_told() -> None:
    for keys, values, message in (
        ({}, {"values_floats": [1.0, 2.0]}, "got 0 lists of keys, wanted one"),
        (
            {"keys_int64s": [1, 2], "keys_floats": [1.0, 2.0]},
            {"values_floats": [1.0, 2.0]},
            "got 2 lists of keys, wanted one",
        ),
        ({"keys_int64s": [1, 2]}, {}, "got 0 lists of values, wanted one"),
        ({"keys_int64s": [1, 2]}, {"values_floats": [1.0, 2.0], "values_strings": ["a", "b"]}, "got 2 lists of values"),
    ):
        with pytest.raises(UnsupportedModel, match=message):
            import_model(model("LabelEncoder", WHOLE, Y, version=2, **keys, **values))
    old = model("LabelEncoder", WHOLE, Y, version=1, classes_strings=["a", "b"])
    old.graph.input[0].type.tensor_type.ClearField("elem_type")
    with pytest.raises(UnsupportedModel, match="needs to know whether x holds words or numbers"):
        import_model(old)
    proto = of_map(
        "DictVectorizer", TensorProto.STRING, TensorProto.FLOAT, TensorProto.FLOAT, string_vocabulary=["c", "b"]
    )
    proto.graph.input[0].type.Clear()
    with pytest.raises(UnsupportedModel, match="needs to know what the map x holds"):
        import_model(proto)
    proto.graph.input[0].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, [3]))
    with pytest.raises(UnsupportedModel, match="got X of dtype float32, wanted object"):
        import_model(proto)
    modes = trees("target", [0])
    modes["nodes_modes"] = ["SIDEWAYS", *modes["nodes_modes"][1:-1], "APART"]
    with pytest.raises(UnsupportedModel, match="got nodes_modes APART, SIDEWAYS, wanted BRANCH_LEQ"):
        import_model(model("TreeEnsembleRegressor", X, Y, **modes))


def test_what_older_and_newer_opsets_of_tables_take() -> None:
    """Tables of 64 bits and of other dtypes came with opset 20, trees of float64 with 15; with 22 trees have another operator."""
    shorts = np.array([5, 6], np.int16)
    for tensors, dtype, least in (
        ({"keys_tensor": numpy_helper.from_array(shorts), "values_floats": [1.5, 2.5]}, np.int16, 20),
        ({"keys_int64s": [5, 6], "values_tensor": numpy_helper.from_array(np.array([1.5, 2.5]))}, np.int64, 20),
        ({"keys_int64s": [5, 6], "values_floats": [1.5, 2.5]}, np.int64, 13),
    ):
        x = np.array([6, 7, 5], dtype)
        default = (
            {"default_tensor": numpy_helper.from_array(np.array([-1.0]))}
            if "values_tensor" in tensors
            else {"default_float": -1.0}
        )
        found = import_model(model("LabelEncoder", x, ("y", 0), version=4, **tensors, **default))
        for opset in (13, 19, 20, 21):
            if opset < least:
                with pytest.raises(UnsupportedModel, match="need opset 20"):
                    converters.to_onnx(found.graph, found.params, {"x": x}, opset)
                continue
            written = converters.to_onnx(found.graph, found.params, {"x": x}, opset)
            (got,) = prepare(written).run([x])
            assert got.tolist() == [2.5, -1.0, 1.5], opset
    for wide, refused in ((False, (22,)), (True, (13, 14, 22))):
        x = X.astype(np.float64) if wide else X
        attrs = trees("target", [0], wide=wide)
        found = import_model(model("TreeEnsembleRegressor", x, Y, **attrs))
        (want,) = prepare(model("TreeEnsembleRegressor", x, Y, **attrs)).run([x])
        for opset in (13, 14, 15, 21, 22):
            if opset in refused:
                with pytest.raises(UnsupportedModel, match="need opset 15" if opset < 15 else "choose opset 21"):
                    converters.to_onnx(found.graph, found.params, {"x": x}, opset)
                continue
            written = converters.to_onnx(found.graph, found.params, {"x": x}, opset)
            np.testing.assert_allclose(by_onnxruntime(written, {"x": x})[0], want, rtol=1e-5, atol=1e-6)
