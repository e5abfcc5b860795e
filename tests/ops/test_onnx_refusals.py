"""Refusals that mutated models found in operators of the family: by inference or with a word of its own, and never endless."""

import ml_dtypes
import numpy as np
import pytest

from hybrid.core.boxed import box
from hybrid.core.error import MXNetError, OpError
from hybrid.core.examples import Maker
from hybrid.core.op import REGISTRY, lookup
from hybrid.core.shapes import UNKNOWN
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.grouped import each

POOL = np.array([1, 2, 3, 4])
GRAMS = {
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 2,
    "ngram_indexes": np.array([3, 1, 0]),
    "pool_int64s": POOL,
}
TREE = {
    "tree_roots": np.array([0]), "nodes_featureids": np.array([0]), "nodes_modes": np.array([0], np.uint8),
    "nodes_splits": np.zeros(1, np.float32), "nodes_truenodeids": np.array([0]), "nodes_falsenodeids": np.array([1]),
    "nodes_trueleafs": np.array([1]), "nodes_falseleafs": np.array([1]), "leaf_targetids": np.array([0, 1]),
    "leaf_weights": np.ones(2, np.float32), "n_targets": 2,
}  # fmt: skip

REGRESSOR = [
    f"nodes_{n}" for n in ("falsenodeids", "featureids", "modes", "nodeids", "treeids", "truenodeids", "values")
] + [f"target_{n}" for n in ("ids", "nodeids", "treeids", "weights")]


def run(name, *arrays, **attrs):
    """The outputs of one operator as a graph, by NumPy and compiled, which say the same."""
    op = lookup(name).bind(**attrs)
    names = op.input_names()
    graph = Graph(
        Entry(Node(op, "node", [Entry(Node(None, n)) for n in names]), i) for i in range(op.num_visible_outputs())
    )
    found = [Program(graph, native=native).run(dict(zip(names, arrays))) for native in (False, True)]
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
    return found[0]


def infer(name, attrs, shapes, values):
    """The shapes that an operator infers, and itself; values: those of some inputs, by their places."""
    op = lookup(f"_onnx_{name}").bind(**attrs)
    known = [None] * len(shapes)
    for place, value in values.items():
        known[op.input_names().index(op.inputs[place])] = np.array(value)
    return op.infer_shape(*shapes, **({"values": known} if "values" in op.needs else {}))


def zeros(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("name", "arrays", "attrs", "words"),
    [
        ("_onnx_Expand", (zeros(3, 1), np.array(2)), {}, "got shape .*1 dimensions"),
        ("_onnx_Expand", (zeros(3, 1), np.ones(33, np.int64)), {}, "shape of 33 sizes, wanted 32"),
        ("_onnx_GatherND", (zeros(2, 3), zeros(2, 1, dtype=np.int64)), {"batch_dims": -1}, "wanted at least 0"),
        ("_onnx_ReverseSequence", (zeros(3), np.array([1, 1, 1])), {}, "wanted at least 2 dimensions"),
        ("_onnx_Pad", (zeros(2), np.array([1, 1]), zeros(3)), {"given": ("constant_value",)}, "wanted a single number"),
        ("_onnx_STFT", (zeros(2, 14, 0), np.array(3)), {}, "wanted 1 number for each place"),
        ("_onnx_STFT", (zeros(2, 14, 2), np.array(3)), {}, "wanted 1 number for each place"),
        ("_onnx_STFT", (zeros(2, 14, 1), np.array(3), zeros(0)), {"given": ("window",)}, "wanted at least 1"),
        ("_onnx_STFT", (zeros(2, 14, 1), np.array(3), np.array(0)), {"given": ("frame_length",)}, "wanted at least 1"),
        ("_onnx_ConvTranspose", (zeros(1, 2, 3, 3), zeros(2, 1, 2, 2)), {"output_shape": (2,)}, "wanted 2 sizes"),
        ("_onnx_ConstantOfShape", (np.array([2]),), {"value": zeros(2)}, "got value of 2 elements, wanted one"),
        ("_onnx_Resize", (zeros(1, 4), np.array([1, np.inf], np.float32)), {"given": ("scales",)}, "none infinite"),
        (
            "_onnx_Resize",
            (zeros(1, 4), zeros(0), np.array([1, 3])),
            {"given": ("roi", "sizes"), "coordinate_transformation_mode": "tf_crop_and_resize"},
            r"got roi of shape \(0,\)",
        ),
        (
            "_onnx_Resize",
            (zeros(1, 0), np.array([1, 3])),
            {"given": ("sizes",), "keep_aspect_ratio_policy": "not_larger"},
            "of which one scale is kept",
        ),
        ("_onnx_Attention", (zeros(1, 1, 2, 2),) * 3, {"softmax_precision": "int32"}, "wanted a dtype of floats"),
        ("_onnx_Resize", (zeros(1, 4), zeros(0, dtype=np.int64)), {"given": ("sizes",)}, "got neither scales nor sizes"),
        ("_onnx_ml_ArrayFeatureExtractor", (zeros(), np.array([[0, 1]])), {}, "wanted at least 1 dimensions"),
        ("_onnx_ml_SVMRegressor", (zeros(1, 1),), {"coefficients": np.ones(1), "kernel_params": np.ones(2)}, "gamma, coef0"),
        ("_onnx_ml_TreeEnsemble", (zeros(1, 1),), TREE | {"n_targets": 1}, "got leaf_targetids 0 to 1, wanted 0 to 0"),
        ("_onnx_ml_TreeEnsemble", (zeros(1, 1),), TREE | {"leaf_weights": np.ones(3, np.float32)}, "wanted equally many"),
        ("_onnx_ml_TreeEnsemble", (zeros(1, 1),), TREE | {"nodes_modes": np.array([9], np.uint8)}, "got nodes_modes 9 to 9"),
        ("_onnx_ml_TreeEnsemble", (zeros(1, 1),), TREE | {"nodes_modes": np.array([6], np.uint8)}, "wanted a set for each"),
        (
            "_onnx_ml_TreeEnsembleRegressor",
            (zeros(1, 1),),
            {n: np.zeros(1, np.int64) for n in REGRESSOR} | {"n_targets": 3, "base_values": zeros(2)},
            "got 2 base_values, wanted one for each of 3 results",
        ),
        *(
            (
                "_onnx_ms_GroupQueryAttention",
                (*[zeros(1, 2, 8)] * 3, np.array([1], np.int32), np.array(2, np.int32), zeros(1, 1, 2, size)),
                {"num_heads": 1, "kv_num_heads": 1, "given": ("key", "value", "attention_bias")},
                "wanted a last size of total_sequence_length 2",
            )
            for size in (1, 3)
        ),
        ("_onnx_TfIdfVectorizer", (POOL,), GRAMS | {"ngram_counts": (0, 5), "max_skip_count": 0}, "places in the pool"),
        ("_onnx_TfIdfVectorizer", (POOL,), GRAMS | {"ngram_counts": (-(1 << 62), 2), "max_skip_count": 0}, "wanted at least 0"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_words(name, arrays, attrs, words):
    with pytest.raises(OpError, match=words):
        run(name, *arrays, **attrs)


def test_tf_idf_skips_no_further_than_its_row_is_long():
    counted = [
        run("_onnx_TfIdfVectorizer", POOL, ngram_counts=(0, 2), max_skip_count=skip, **GRAMS)[0]
        for skip in (2, 2**31 - 1)
    ]
    np.testing.assert_array_equal(counted[0], counted[1])


@pytest.mark.parametrize("name", ["tile", "_onnx_Tile"])
def test_what_is_repeated_no_times_takes_no_memory_before(name):
    data, repeats = zeros(1, 3, 4), (3, 10**9, 0)
    attrs = {"reps": repeats} if name == "tile" else {}
    assert run(name, data, *([] if attrs else [np.array(repeats)]), **attrs)[0].shape == (3, 3 * 10**9, 0)


def test_what_is_resized_or_padded_to_nothing_takes_no_memory_before():
    (found,) = run("_onnx_Resize", zeros(3, 4), np.array([10**9, 0]), given=("sizes",), mode="linear")
    assert found.shape == (10**9, 0)
    (found,) = run("_onnx_Pad", zeros(3, 0), np.array([10**12, 0, 0, 0]), mode="edge")
    assert found.shape == (10**12 + 3, 0)


def test_uniform_numbers_up_to_nan_are_nan():
    (found,) = run("_onnx_RandomUniform", shape=(3,), high=float("nan"))
    assert np.isnan(found).all()


def test_steps_of_optimizers_divide_by_zero_as_numpy_does():
    x = np.ones(2, np.float32)
    for name, states, attrs in (
        ("Adagrad", 1, {"decay_factor": -0.5}), ("Adam", 2, {"alpha": 1.0}),
        ("Adam", 2, {"beta": 2.0}), ("Adam", 2, {"beta": 1e300}),
    ):  # fmt: skip
        found = run(
            f"_onnx_training_{name}", np.float32(0.1), np.array(2), x, x, *[x] * states, num_args=4 + states, **attrs
        )
        assert not np.isfinite(found[0]).all()


def test_the_least_number_is_no_missing_number_of_a_slice():
    """-2**63 as a step goes backwards, compiled too."""
    data, least = np.arange(6, dtype=np.float32), -(2**63)
    for attrs, wanted in (
        ({"begin": (None,), "end": (None,), "step": (least,)}, data[::least]),
        ({"begin": (least,), "end": (None,), "step": (-1,)}, data[least::-1]),
        ({"begin": (least,), "end": (3,)}, data[least:3]),
    ):
        np.testing.assert_array_equal(run("slice", data, **attrs)[0], wanted)


def test_an_error_of_a_step_of_a_compiled_program_has_a_cause_that_ends():
    """It was its own cause: who follows causes never came to an end."""
    data, indices = Entry(Node(None, "data")), Entry(Node(None, "indices"))
    gathered = Entry(Node(lookup("_onnx_GatherElements").bind(), "node", [data, indices]))
    graph = Graph([Entry(Node(lookup("relu").bind(), "after", [gathered]))])
    with pytest.raises(MXNetError) as caught:
        Program(graph).run({"data": zeros(2), "indices": np.array([7])})
    seen, error = set(), caught.value
    while error is not None:
        assert id(error) not in seen
        seen.add(id(error))
        error = error.__cause__


def test_a_resize_by_nothing_is_refused_whatever_is_known_of_its_input():
    resize = lookup("_onnx_Resize").bind(given=("sizes",))
    with pytest.raises(OpError, match="got neither scales nor sizes"):
        resize.infer_shape((UNKNOWN, 4), (0,), values=[None, np.zeros(0, np.int64)])


def test_labels_are_looked_up_among_keys_of_their_dtype():
    """onnx's checker, given others, ends the process."""
    encoder = lookup("_onnx_ml_LabelEncoder").bind(
        keys_tensor=np.array([1, 5]), values_tensor=np.ones(2, np.float32), default_tensor=np.ones(1, np.float32)
    )
    assert encoder.infer_type(np.dtype("int64")) == np.float32
    with pytest.raises(OpError, match="wanted that of the keys, int64"):
        encoder.infer_type(np.dtype("float32"))


def test_one_number_has_one_scale():
    with pytest.raises(OpError, match="3 scales or zero points for one number"):
        lookup("_onnx_QuantizeLinear").bind(given="(y_zero_point,)").infer_shape((), (), (3,))


def test_frames_are_a_step_apart():
    signal, window = np.zeros((2, 14, 1), np.float32), np.ones(5, np.float32)
    with pytest.raises(MXNetError, match="got frame_step 0, wanted at least 1"):
        run("_onnx_STFT", signal, np.array(0), window, given="(window,)")


def test_counts_of_mel_bins_are_single_numbers():
    numbers = [np.array(n) for n in (8, 16, 8192)]
    with pytest.raises(OpError):
        run(
            "_onnx_MelWeightMatrix",
            numbers[0],
            np.zeros(0, np.int64),
            numbers[2],
            np.float32(0) + np.zeros(()),
            np.array(4.0),
        )


def test_a_label_may_stand_alone():
    zipped = lookup("_onnx_ml_ZipMap").bind(classlabels_int64s=np.array(7))
    assert zipped.meaning(np.ones((2, 1), np.float32)).shape == ()


@pytest.mark.parametrize("name", ["_onnx_ArgMax", "_onnx_ArgMin"])
def test_of_nothing_none_is_the_largest(name):
    with pytest.raises(OpError, match="wanted an element along axis 3"):
        lookup(name).bind(axis=3).infer_shape((2, 1, 0, 0))


def test_positions_lie_in_the_caches_of_angles():
    x, cache = np.ones((2, 3, 4, 6), np.float32), np.ones((3, 3), np.float32)
    with pytest.raises(OpError, match="got position_ids 0 to 3, wanted 0 to 2"):
        run("_onnx_RotaryEmbedding", x, cache, cache, np.array([[0, 1, 2, 3]] * 2), given="(position_ids,)")


def test_rows_of_group_adagrad_are_those_of_a_matrix():
    with pytest.raises(OpError, match="weight of shape"):
        lookup("_contrib_group_adagrad_update").bind(lr=0.1).infer_shape((3, 2, 4), (3, 2, 4), (3, 1))


def test_optional_inputs_that_no_operator_has_are_refused():
    for name, cls in REGISTRY.items():
        for op in {found.op for found in cls.examples(Maker(cls))} if name.startswith("_onnx_") else ():
            with pytest.raises(OpError, match="got given="):
                cls.bind(**{**op.dump(), "given": (*op.given, "int8")})


@pytest.mark.parametrize("name", ["_onnx_Conv", "_onnx_ConvInteger", "_onnx_ConvTranspose"])
def test_convolutions_have_an_axis_to_go_along(name):
    with pytest.raises(OpError, match="wanted"):
        lookup(name).bind().infer_shape((3, 4), (4, 4))


@pytest.mark.parametrize("name", ["Adagrad", "Adam", "Momentum"])
def test_each_tensor_of_an_optimizer_has_a_gradient_and_states_of_its_shape(name):
    """Whichever of several tensors, and whichever of what belongs to it: nothing is broadcast."""
    cls = REGISTRY[f"_onnx_training_{name}"]
    attrs = {"alpha": 0.5, "beta": 0.5, "norm_coefficient": 0.1, "mode": "nesterov"} if name == "Momentum" else {}
    for tensors in (1, 2, 3):
        shapes = [(3,), (2, 4), (5,)][:tensors] * (2 + cls.states)
        op = cls.bind(num_args=2 + len(shapes), **attrs)
        assert op.infer_shape((), (), *shapes) == [*shapes[:tensors], *shapes[2 * tensors :]]
        for at, shape in enumerate(shapes):
            wrong = [*shapes[:at], (1,) * len(shape), *shapes[at + 1 :]]
            with pytest.raises((ValueError, MXNetError)):
                op.infer_shape((), (), *wrong)
            arrays = [np.full(s, 0.5 + i, np.float32) for i, s in enumerate(wrong)]
            with pytest.raises(MXNetError):
                run(cls.name, np.float32(0.1), np.array(2), *arrays, num_args=2 + len(shapes), **attrs)


U = UNKNOWN
JOINED = {"num_args": 8}
LINEAR = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "linear"}
GATED, DELTA = {"update_rule": "gated", "given": ("decay",)}, {"update_rule": "delta", "given": ("beta",)}
QUERY = {"num_heads": 4, "kv_num_heads": 2}
NOT_FITTING = [
    # (operator, attributes, shapes of its inputs, values of those that are known, what the refusal says)
    ("Attention", {}, [(2, 3, 8)] * 3, {}, "wanted q_num_heads and kv_num_heads with it"),
    ("Attention", {}, [(2, 4, 3, 4), (2, 0, 5, 4), (2, 0, 5, 3)], {}, "got 4 heads of Q and 0 of K"),
    ("Attention", {"given": ("attn_mask",)}, [(2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 3), (3, 6)], {}, "a last size of 5 keys"),
    ("RotaryEmbedding", {}, [(2, 4, 18), (2, 4, 3), (2, 4, 3)], {}, "wanted num_heads with it"),
    ("RotaryEmbedding", {"rotary_embedding_dim": 8}, [(2, 3, 4, 6), (2, 4, 4), (2, 4, 4)], {}, "got 8 features to turn of 6"),
    ("RotaryEmbedding", {"rotary_embedding_dim": -2}, [(2, 3, 4, 6), (2, 4, 3), (2, 4, 3)], {}, "got -2 features to turn"),
    ("LinearAttention", LINEAR, [(2, 3, 0), (2, 3, 4), (2, 3, 6)], {}, "got query of shape .*multiple of 4"),
    ("LinearAttention", LINEAR | GATED, [(2, 3, 8), (2, 3, 4), (2, 3, 6), (2, 3, 3)], {}, "got decay .*last size of 4 or 2"),
    ("LinearAttention", LINEAR | DELTA, [(2, 3, 8), (2, 3, 4), (2, 3, 6), (2, 3, 3)], {}, "got beta .*last size of 2 or 1"),
    ("ms_GroupQueryAttention", QUERY | {"given": ("key",)}, [(2, 1, 32), (2, 1, 16), (2,), ()], {}, "key or value alone"),
    ("ms_GroupQueryAttention", QUERY | {"given": ("value",)}, [(2, 1, 32), (2, 1, 16), (2,), ()], {}, "key or value alone"),
    ("ms_GroupQueryAttention", QUERY, [(2, 1, 0), (2,), ()], {}, "a last size that is a multiple of 8 heads"),
    ("ms_GroupQueryAttention", QUERY, [(2, 1, 20), (2,), ()], {}, "a last size that is a multiple of 8 heads"),
    ("ms_GroupQueryAttention", QUERY | {"given": ("attention_bias",)}, [(2, 1, 32), (2,), (), (2, 1, 5)], {}, "attention_bias"),
    ("ms_GroupQueryAttention", QUERY | {"given": ("attention_bias",)}, [(2, 1, 32), (2,), (), (2, 4, 3, 5)], {}, "broadcast"),
    ("GatherElements", {}, [(3, 4), (3,)], {}, "wanted one rank"),
    ("GatherND", {}, [(3, 4), ()], {}, "indices without dimensions"),
    ("GatherND", {}, [(3, 4), (2, 0)], {}, "wanted one coordinate at least"),
    ("GatherND", {"batch_dims": 1}, [(2, 3), (1,)], {}, "1 coordinates after 1 axes"),
    ("GatherND", {"batch_dims": 1}, [(2, 3), (2, 2)], {}, "2 coordinates after 1 axes"),
    ("ScatterND", {}, [(3, 4), (), (4,)], {}, "indices without dimensions"),
    ("TensorScatter", {"axis": 0}, [(2, 3, 4), (2, 3, 4)], {}, "got axis 0"),
    ("TensorScatter", {"axis": -3}, [(2, 3, 4), (2, 3, 4)], {}, "got axis -3"),
    ("TensorScatter", {}, [(2, 3, 4), (2, 4, 4)], {}, "got 4 steps of update for a cache of 3"),
    ("TensorScatter", {"given": ("write_indices",)}, [(2, 3, 4), (2, 3, 4), (3,)], {}, "differ"),
    ("Conv", {}, [(1, 2, 5, 5), (4, 2, 3, 0)], {}, "a kernel of at least one element"),
    ("Conv", {"strides": (1,)}, [(1, 2, 5, 5), (4, 2, 3, 3)], {}, r"got \(1,\) for 2 spatial axes"),
    ("Conv", {"pads": (1, 1)}, [(1, 2, 5, 5), (4, 2, 3, 3)], {}, r"got pads=\(1, 1\), wanted 4 numbers"),
    ("Conv", {}, [(1, 2, 5), (4, 2, 3, 3)], {}, "got 1 spatial axes for a kernel"),
    ("Conv", {"group": 2}, [(1, 4, 5), (5, 2, 3)], {}, "got 5 filters, wanted a multiple of group=2"),
    ("ConvTranspose", {"group": 2}, [(1, 5, 3), (5, 2, 3)], {}, "got 5 channels, wanted a multiple of group=2"),
    ("ConvTranspose", {}, [(1, 2, 3), (2, 1, 2, 2)], {}, "got 1 spatial axes for a kernel"),
    ("ConvTranspose", {"pads": (0, 2, 0, 1)}, [(1, 1, 4, 2), (1, 1, 1, 1)], {}, "cut off more than there is"),
    ("DeformConv", {}, [(1, 2, 5), (4, 2, 3), (1, 6, 3)], {}, "wanted two spatial axes"),
    ("DeformConv", {"group": 2}, [(1, 4, 5, 5), (5, 2, 3, 3), (1, 18, 3, 3)],
     {}, "got 5 channels, wanted a multiple of group=2"),
    ("DeformConv", {"offset_group": 3}, [(1, 4, 5, 5), (2, 4, 3, 3), (1, 54, 3, 3)], {}, "got 4 .* multiple of offset_group=3"),
    ("Col2Im", {}, [(1, 6, 9), (2,), (2,)], {1: [4, 4], 2: [2, 0]}, r"got block_shape \(2, 0\)"),
    ("NegativeLogLikelihoodLoss", {}, [(3,), (3,)], {}, "got input of 1 dimensions, wanted at least 2"),
    ("SoftmaxCrossEntropyLoss", {}, [(3,), (3,)], {}, "got scores of 1 dimensions, wanted at least 2"),
    ("GridSample", {}, [(2, 3, 4), (1, 5, 1)], {}, "differ"),
    ("NegativeLogLikelihoodLoss", {"given": ("weight",)}, [(2, 3), (2,), (4,)], {}, "differ"),
    ("SoftmaxCrossEntropyLoss", {"given": ("weights",)}, [(2, 3), (2,), (2,)], {}, "differ"),
    ("NegativeLogLikelihoodLoss", {}, [(2, 3, 4), (2, 3)], {}, "differ"),
    ("LinearAttention", LINEAR, [(2, 3, 8, 1), (2, 3, 4), (2, 3, 6)], {}, "query"),
    ("LinearAttention", LINEAR, [(2, 3, 8), (2, 3, 4), (2, 6)], {}, "value"),
    ("Det", {}, [(3,)], {}, "got 1 dimensions, wanted at least 2"),
    ("MatMulInteger", {}, [(), (3,)], {}, "wanted one dimension at least"),
    ("MatMulInteger", {}, [(2, 3), ()], {}, "wanted one dimension at least"),
    ("MatMulInteger", {}, [(2, 3), (2, 3)], {}, "wanted equal inner sizes"),
    ("ml_LinearRegressor", {"coefficients": np.ones(4)}, [(3, 5)], {}, r"got X of shape \(3, 5\), wanted 4 features"),
    ("BatchNormalization", {}, [(3,), *[(3,)] * 4], {}, "wanted at least 2 axes"),
    ("LayerNormalization", {"axis": 3}, [(2, 3, 4), (4,)], {}, "got axis=3 for 3 axes"),
    ("LayerNormalization", {"axis": -4}, [(2, 3, 4), (4,)], {}, "got axis=-4 for 3 axes"),
    ("TopK", {"axis": 1}, [(2, 3), ()], {1: 4}, "got K=4 for 3 numbers along axis 1"),
    ("TopK", {"axis": 1}, [(2, 3), ()], {1: -1}, "got K=-1 for 3 numbers"),
    ("MaxPool", {}, [(1, 2, 5)], {}, "kernel_shape is required"),
    ("AveragePool", {"kernel_shape": (2, 2)}, [(1, 2, 5)], {}, r"for kernel_shape=\(2, 2\), wanted 4 axes"),
    ("DequantizeLinear", {}, [(3,), (2,)], {}, r"differ"),
    ("Multinomial", {}, [(3, 0)], {}, "wanted one class at least"),
    ("Resize", {"given": ("scales",)}, [(2, 3), (2, 1)], {}, "got scales of shape"),
    ("Resize", {"given": ("scales",)}, [(2, 3), (3,)], {}, "got scales of shape"),
    ("Resize", {"given": ("sizes",), "axes": (1,)}, [(2, 3), (2,)], {}, r"got sizes of shape \(2,\), wanted \(1,\) for 1 axes"),
    ("Reshape", {}, [(2, 3), (3,)], {1: [2, 3, 0]}, "keeps dim 2 of data that has 2 dimensions"),
    ("Reshape", {}, [(2, 3), (2,)], {1: [-2, 3]}, "wanted sizes, 0 or -1"),
    ("Reshape", {}, [(2, 3), (2,)], {1: [-1, -1]}, "wanted at most one -1"),
    ("Squeeze", {"given": ("axes",)}, [(2, 1, 3), (2,)], {1: [1, 2]}, "cannot squeeze axis 2 of size 3"),
    ("Unsqueeze", {}, [(2, 3), (2,)], {1: [1, -3]}, "wanted each once"),
    ("Tile", {}, [(2, 3), (3,)], {1: [1, 2, 3]}, "wanted 2 numbers"),
    ("DFT", {}, [(2,)], {}, "got 1 dimensions, wanted 2 at least"),
    ("DFT", {"given": ("axis",)}, [(2, 5, 2), ()], {2: 2}, "got axis 2, which holds real and imaginary parts"),
    ("DFT", {"given": ("axis",)}, [(2, 5, 2), ()], {2: -1}, "which holds real and imaginary parts"),
    ("DFT", {}, [(2, 5, 3)], {}, "wanted 1 or 2 along the last axis"),
    ("HannWindow", {}, [(2,)], {0: [3, 4]}, "wanted one number of at least 0"),
    ("HannWindow", {}, [()], {0: -1}, "wanted one number of at least 0"),
    ("Slice", {}, [(4, 5), (1,), (2,)], {1: [0], 2: [1, 2]}, "wanted equal lengths"),
    ("Slice", {"given": ("axes",)}, [(4, 5), (2,), (2,), (1,)], {1: [0, 1], 2: [1, 2], 3: [0]}, "wanted equal lengths"),
    ("Slice", {"given": ("steps",)}, [(4, 5), (2,), (2,), (1,)], {1: [0, 1], 2: [1, 2], 4: [1]}, "wanted equal lengths"),
    ("Slice", {"given": ("steps",)}, [(4, 5), (2,), (2,), (2,)], {1: [0, 1], 2: [1, 2], 4: [1, 0]}, "wanted no zero"),
    ("Split", {"num_outputs": 2, "given": ("split",)}, [(6,), (3,)],
     {1: [1, 2, 3]}, "cannot cut an axis of size 6 into 2 pieces"),
    ("Split", {"num_outputs": 3, "given": ("split",)}, [(6,), (3,)], {1: [4, 3, -1]}, "cannot cut an axis of size 6"),
    ("Split", {"num_outputs": 3, "given": ("split",)}, [(6,), (3,)], {1: [1, 2, 4]}, "wanted the sum 6"),
    ("Pad", {}, [(2, 3), (3,)], {1: [1, 1, 1]}, "wanted two for each of 2 axes"),
    ("CenterCropPad", {}, [(2, 3), (1,)], {1: [4]}, "wanted 2 sizes"),
    ("Trilu", {}, [(3,)], {}, "wanted two at least"),
    ("GridSample", {}, [(1, 2, 4, 4), (1, 3, 2)], {}, "as many axes"),
    ("GridSample", {}, [(1, 2), (1, 0)], {}, "as many axes"),
    ("GridSample", {}, [(1, 2, 4, 4), (1, 3, 3, 3)], {}, "as many axes"),
    ("GridSample", {"mode": "cubic"}, [(1, 2, 4, 4, 4), (1, 3, 3, 3, 3)], {}, "got mode=cubic .*wanted 4 axes"),
    ("AffineGrid", {}, [(1, 2, 3), (4, 1)], {}, "got theta of shape"),
    ("AffineGrid", {}, [(2, 3), (4,)], {}, "got theta of shape"),
    ("AffineGrid", {}, [(1, 2, 3), (6,)], {}, "got theta of shape"),
    ("StringNormalizer", {}, [(1, 2, 3)], {}, "wanted"),
    ("StringNormalizer", {}, [(2, 3)], {}, "wanted"),
    ("TfIdfVectorizer", GRAMS | {"ngram_counts": (0, 2), "max_skip_count": 0}, [(1, 2, 3)], {}, "got 3 dimensions"),
    ("ml_TreeEnsemble", TREE | {"nodes_featureids": np.array([3])}, [(2, 3)], {}, "ask for features 3 to 3"),
    ("ml_TreeEnsemble", TREE | {"nodes_featureids": np.array([-1])}, [(2, 3)], {}, "ask for features -1 to -1"),
    ("ml_FeatureVectorizer", {"num_args": 2}, [(2, 3), (4,)], {}, "rows"),
    ("ms_QLinearConcat", JOINED | {"axis": 1}, [(), (), (2, 3, 4), (), (), (5, 3, 4), (), ()], {}, "differ"),
    ("ms_QLinearConcat", JOINED | {"axis": -2}, [(), (), (2, 3, 4), (), (), (2, 3, 5), (), ()], {}, "differ"),
    ("ms_QLinearConcat", JOINED | {"axis": 0}, [(), (), (2, 3, 4), (), (), (2, 3), (), ()], {}, "dimensions"),
    ("ms_QLinearConcat", JOINED | {"axis": 3}, [(), (), (2, 3, 4), (), (), (2, 3, 4), (), ()], {}, "axis 3"),
    ("ms_QLinearConcat", JOINED | {"axis": -4}, [(), (), (2, 3, 4), (), (), (2, 3, 4), (), ()], {}, "axis -4"),
]  # fmt: skip


@each(NOT_FITTING, lambda row: (row[0][:1], f"{row[0]} {row[4]}"))
def test_shapes_that_do_not_fit_are_refused_before_anything_is_computed(row):
    name, attrs, shapes, values, words = row
    with pytest.raises((OpError, ValueError), match=words):
        infer(name, attrs, shapes, values)


JUST_FITTING = [
    # (operator, attributes, shapes of its inputs, values of those that are known, the shapes that follow)
    ("Attention", {"given": ("attn_mask",)}, [(2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 3), (3, 5)], {}, (2, 4, 3, 3)),
    ("RotaryEmbedding", {"rotary_embedding_dim": 6}, [(2, 3, 4, 6), (2, 4, 3), (2, 4, 3)], {}, (2, 3, 4, 6)),
    ("RotaryEmbedding", {"rotary_embedding_dim": 4}, [(2, 3, 4, U), (2, 4, 2), (2, 4, 2)], {}, (2, 3, 4, U)),
    ("TensorScatter", {}, [(2, 3, 4), (2, 3, 4)], {}, (2, 3, 4)),
    ("GatherND", {"batch_dims": 1}, [(2, 3), (2, 1)], {}, (2,)),
    ("Conv", {"strides": (2,)}, [(1, 4, 3), (6, 4, 3)], {}, (1, 6, 1)),
    ("ConvTranspose", {"pads": (0, 1, 0, 1)}, [(1, 1, 4, 2), (1, 3, 1, 1)], {}, (1, 3, 4, 0)),
    ("Col2Im", {}, [(1, 6, 9), (2,), (2,)], {1: [4, 3], 2: [2, 1]}, (1, 3, 4, 3)),
    ("Col2Im", {}, [(1, 6, 9), (3,), (U,)], {}, (1, U, U, U, U)),
    ("MatMulInteger", {}, [(2, 3), (3, 5)], {}, (2, 5)),
    ("MatMulInteger", {}, [(4, 2, 3), (3, 5)], {}, (4, 2, 5)),
    ("MatMulInteger", {}, [(3,), (3, 5)], {}, (5,)),
    ("MatMulInteger", {}, [(2, 3), (3,)], {}, (2,)),
    ("MatMulInteger", {}, [(3,), (4, 3, 5)], {}, (4, 5)),
    ("MatMulInteger", {}, [(4, 2, 3), (3,)], {}, (4, 2)),
    ("MatMulInteger", {}, [(3,), (3,)], {}, ()),
    ("LayerNormalization", {"axis": -3, "num_outputs": 3}, [(2, 3, 4), (4,)], {}, (1, 1, 1)),
    ("LayerNormalization", {"axis": 2, "num_outputs": 2}, [(2, 3, 4), (4,)], {}, (2, 3, 1)),
    ("LayerNormalization", {"axis": 0, "num_outputs": 2}, [(), ()], {}, ()),
    ("TopK", {"axis": 1}, [(2, 3), ()], {1: 3}, (2, 3)),
    ("TopK", {"axis": 0}, [(2, 3), ()], {1: 0}, (0, 3)),
    ("Reshape", {}, [(3, 2), (2,)], {1: [3, 0]}, (3, 2)),
    ("Reshape", {}, [(2, 3, 4), (2,)], {1: [0, -1]}, (2, 12)),
    ("Reshape", {}, [(2, U, 4), (2,)], {1: [4, -1]}, (4, U)),
    ("Reshape", {}, [(2, 3), (U,)], {}, None),
    ("Reshape", {}, [(2, 3), (3,)], {}, (U, U, U)),
    ("Reshape", {}, [(U, 3), (2,)], {1: [-1, 2]}, (U, 2)),
    ("Slice", {}, [(4, 5), (U,), (U,)], {}, (U, U)),
    ("Expand", {}, [(2, 1), (U,)], {}, None),
    ("Expand", {}, [(2, 1), (3,)], {}, (U, 2, U)),
    ("Expand", {}, [(2, 1), (2,)], {1: [1, 5]}, (2, 5)),
    ("Squeeze", {"given": ("axes",)}, [(2, 1, U), (2,)], {1: [1, 2]}, (2,)),
    ("Squeeze", {"given": ("axes",)}, [(2, 1, 3), (1,)], {}, (U, U)),
    ("Squeeze", {"given": ("axes",)}, [(2, 1, 3), ()], {}, (U, U)),
    ("Squeeze", {"given": ("axes",)}, [(2, 1, 3), (U,)], {}, None),
    ("Unsqueeze", {}, [(2, 3), (2,)], {1: [1, -1]}, (2, 1, 3, 1)),
    ("Unsqueeze", {}, [(2, 3), (2,)], {}, (U, U, U, U)),
    ("Unsqueeze", {}, [(2, 3), ()], {}, (U, U, U)),
    ("Unsqueeze", {}, [(2, 3), (U,)], {}, None),
    ("ConstantOfShape", {}, [(U,)], {}, None),
    ("ConstantOfShape", {}, [(2,)], {}, (U, U)),
    ("ConstantOfShape", {}, [(2,)], {0: [4, 3]}, (4, 3)),
    ("Tile", {}, [(2, 3), (2,)], {}, (U, U)),
    ("DFT", {"given": ("axis",)}, [(2, 5, 2), ()], {2: -3}, (2, 5, 2)),
    ("DFT", {"given": ("axis",), "onesided": True}, [(2, 5, 1), ()], {2: 1}, (2, 3, 2)),
    ("DFT", {"given": ("dft_length",)}, [(2, 5, 2), ()], {}, (2, U, 2)),
    ("DFT", {"inverse": True, "onesided": True}, [(2, 5, 2)], {}, (2, 8, 1)),
    ("DFT", {}, [(5, U)], {}, (5, 2)),
    ("STFT", {"given": ("frame_length",)}, [(2, 14, 1), (), ()], {1: 4, 3: 5}, (2, 3, 3, 2)),
    ("STFT", {}, [(2, 14, 1), ()], {1: 4}, (2, 1, 8, 2)),
    ("STFT", {"given": ("window",), "onesided": False}, [(2, 14, 2), (), (20,)], {1: 4}, (2, 0, 20, 2)),
    ("STFT", {"given": ("window",), "onesided": False}, [(2, 14, 2), (), (1,)], {1: 13}, (2, 2, 1, 2)),
    ("HannWindow", {}, [()], {0: 0}, (0,)),
    ("HannWindow", {}, [()], {0: 6}, (6,)),
    ("HannWindow", {}, [()], {}, (U,)),
    ("MelWeightMatrix", {}, [()] * 5, {0: 5, 1: 9}, (5, 5)),
    ("MelWeightMatrix", {}, [()] * 5, {1: 8}, (5, U)),
    ("Split", {"num_outputs": 1, "given": ("split",)}, [(6,), (1,)], {1: [6]}, (6,)),
    ("Split", {"num_outputs": 1}, [(6, 2)], {}, (6, 2)),
    ("Split", {"num_outputs": 2, "given": ("split",)}, [(6, 2), (2,)], {1: [6, 0]}, (6, 2)),
    ("AffineGrid", {}, [(1, 3, 4), (5,)], {}, (1, U, U, U, 3)),
    ("AffineGrid", {}, [(1, U, U), (U,)], {}, None),
    ("AffineGrid", {}, [(1, 2, 3), (4,)], {1: [1, 2, 5, 6]}, (1, 5, 6, 2)),
    ("StringNormalizer", {}, [(0,)], {}, (U,)),
    ("StringNormalizer", {}, [(3,)], {}, (3,)),
    ("StringNormalizer", {}, [(1, 3)], {}, (1, 3)),
    ("StringNormalizer", {"stopwords": np.array(["a"], object)}, [(1, 3)], {}, (1, U)),
    ("ReduceSum", {"given": ("axes",), "keepdims": False}, [(2, 3, 4), (3,)], {}, ()),
    ("ReduceSum", {"given": ("axes",), "keepdims": False}, [(2, 3, 4), (4,)], {}, None),
    ("ReduceSum", {"given": ("axes",), "keepdims": False}, [(2, 3, 4), (0,)], {}, None),
    ("ReduceSum", {"given": ("axes",), "keepdims": False}, [(2, 3, 4), (1,)], {}, (U, U)),
    ("ReduceSum", {"given": ("axes",), "keepdims": True}, [(2, 3, 4), (1,)], {}, (U, U, U)),
    ("ArgMax", {}, [()], {}, ()),
    ("Resize", {"given": ("sizes",), "axes": (1,)}, [(2, 3), (1,)], {}, (2, U)),
    ("Resize", {"given": ("sizes",), "keep_aspect_ratio_policy": "not_larger"}, [(U, 3), (2,)], {3: [4, 5]}, (U, U)),
    ("Resize", {"given": ("scales", "sizes")}, [(2, 3), (0,), (2,)], {2: []}, (U, U)),
    ("Resize", {"given": ("scales", "sizes")}, [(2, 3), (0,), (2,)], {2: [], 3: [4, 5]}, (4, 5)),
    ("Resize", {"given": ("sizes",)}, [(U, 3), (2,)], {3: [4, 5]}, (4, 5)),
    ("Resize", {"given": ("scales",)}, [(U, 3), (2,)], {2: [1, 2]}, (U, 6)),
    ("Resize", {"given": ("sizes",), "axes": (2, 0)}, [(U, 3, U), (2,)], {3: [4, 5]}, (5, 3, 4)),
    ("Resize", {"given": ("scales",), "axes": (-1, 0)}, [(2, 3, U), (2,)], {2: [1, 1.5]}, (3, 3, U)),
    ("ms_QLinearConcat", JOINED | {"axis": -2}, [(), (), (2, 3, U), (), (), (2, 5, 4), (), ()], {}, (2, 8, 4)),
    ("ms_QLinearConcat", JOINED | {"axis": 2}, [(), (), (2, U, 3), (), (), (U, 5, 4), (), ()], {}, (2, 5, 7)),
    ("ml_LinearRegressor", {"coefficients": np.ones(4)}, [(4,)], {}, (1, 1)),
    ("ml_LinearRegressor", {"coefficients": np.ones(4), "targets": 2}, [(3, 2)], {}, (3, 2)),
    ("ml_SVMRegressor", {"coefficients": np.ones(4)}, [(4,)], {}, (1, 1)),
    ("ml_TreeEnsemble", TREE, [(3, 1)], {}, (3, 2)),
    ("ml_FeatureVectorizer", {"num_args": 2}, [(1, 3), (4,)], {}, (1, 7)),
    ("ml_FeatureVectorizer", {"num_args": 2, "inputdimensions": (2, 5)}, [(4, 3), (4, 4)], {}, (4, 7)),
    ("ml_ArrayFeatureExtractor", {}, [(5,), (2, 3)], {}, (1, 6)),
    ("ml_ArrayFeatureExtractor", {}, [(4, 2, 5), (2, 3)], {}, (4, 2, 6)),
    ("RNN", {"hidden_size": 3}, [(5, 2, 4), (1, 3, 4), (1, 3, 3)], {}, (5, 1, 2, 3)),
    ("RNN", {}, [(5, 2, 4), (1, U, 4), (1, U, U)], {}, (5, 1, 2, U)),
    ("MaxUnpool", {"kernel_shape": (2,), "strides": (3,)}, [(1, 2, 4), (1, 2, 4)], {}, (1, 2, 11)),
    ("MaxUnpool", {"kernel_shape": (2,)}, [(1, 2, 4), (1, 2, 4)], {}, (1, 2, 5)),
    ("MaxUnpool", {"kernel_shape": (2,), "given": ("output_shape",)}, [(1, 2, 4), (1, 2, 4), (3,)], {}, (U, U, U)),
    ("MaxPool", {"kernel_shape": (2,), "strides": (2,), "ceil_mode": True, "pads": (0, 1)}, [(1, 1, 4)], {}, (1, 1, 2)),
    ("MaxPool", {"kernel_shape": (2,), "strides": (2,), "ceil_mode": True}, [(1, 1, 5)], {}, (1, 1, 3)),
    ("MaxPool", {"kernel_shape": (2,), "strides": (2,), "ceil_mode": True, "auto_pad": "VALID"}, [(1, 1, 5)], {}, (1, 1, 2)),
]  # fmt: skip


@each(JUST_FITTING, lambda row: (row[0][:1], f"{row[0]} {row[1]} {row[2]}"))
def test_shapes_that_just_fit_are_known_as_far_as_they_follow(row):
    """Worked out by hand from what the standard says of each."""
    name, attrs, shapes, values, wanted = row
    found = infer(name, attrs, shapes, values)
    several = isinstance(found, list)
    assert str(found[-1] if several and name == "LayerNormalization" else found[0] if several else found) == str(wanted)


def test_attributes_that_fit_no_input_are_refused():
    for name, attrs, words in (
        ("DeformConv", {"strides": (1,)}, "got strides=.1,., wanted 2 sizes"),
        ("DeformConv", {"dilations": (1, 1, 1)}, "got dilations=.*, wanted 2 sizes"),
        ("DeformConv", {"pads": (0, 0, 0, -1)}, "got pads=.*, wanted 4 sizes"),
        ("DeformConv", {"pads": (0, 0)}, "got pads=.*, wanted 4 sizes"),
        ("Conv", {"pads": (0, -1)}, "got pads=.*, wanted positive ones"),
        ("Conv", {"pads": (0, 1, 1)}, "wanted two for every spatial axis"),
        ("Conv", {"pads": (0, 1), "strides": (1, 1)}, "wanted as many as there are spatial axes"),
        ("Conv", {"strides": (0, 1)}, "strides"),
        ("Conv", {"group": 0}, "group"),
        ("LRN", {"size": 0}, "got size=0, wanted at least 1"),
        ("RNN", {"clip": float("nan")}, "got clip=nan"),
        ("Celu", {"alpha": 0.0}, "got alpha=0"),
        ("ms_QLinearConcat", {"axis": 0, "num_args": 2}, "got 2 inputs, wanted 2 and 3 for each array"),
        ("ms_QLinearConcat", {"axis": 0, "num_args": 6}, "got 6 inputs"),
    ):
        with pytest.raises(OpError, match=words):
            lookup(f"_onnx_{name}").bind(**attrs)


def test_scales_of_powers_of_two_leave_the_dtype_open():
    kinds = np.dtype(np.uint8), np.dtype(ml_dtypes.float8_e8m0fnu)
    with pytest.raises(OpError, match="got x_scale of float8_e8m0fnu and no output_dtype"):
        lookup("_onnx_DequantizeLinear").bind().infer_type(*kinds)
    assert lookup("_onnx_DequantizeLinear").bind(output_dtype="float16").infer_type(*kinds) == np.float16


def test_parts_of_joined_quantised_arrays_are_single_numbers():
    op = lookup("_onnx_ms_QLinearConcat").bind(axis=0, num_args=8)
    shapes = [(), (), (3, 2), (), (), (1, 2), (), ()]
    assert op.infer_shape(*shapes) == (4, 2)
    for i in (0, 1, 3, 4, 6, 7):
        with pytest.raises(OpError, match=f"got input {i} of shape"):
            op.infer_shape(*shapes[:i], (2,), *shapes[i + 1 :])
    for other in ((1, 3), (1, 2, 1), (2,)):
        with pytest.raises(ValueError, match=r"differ|dimensions"):
            op.infer_shape(*shapes[:5], other, *shapes[6:])


def test_sequences_and_maps_where_tensors_are_wanted() -> None:
    """They have the dtype of words; it shows when it runs."""
    pad = lookup("_onnx_Pad").bind()
    for value in ([np.ones(2, np.float32)], {"a": 1.0}, None):
        with pytest.raises(OpError, match="got data that is a sequence, a map or nothing, wanted a tensor"):
            pad.compute(box(value), np.zeros(0, np.int64))


def test_one_number_of_any_rank_lends_it_to_nothing() -> None:
    """A scale of shape (1, 1, 1) is a scale."""
    gemm = lookup("_onnx_ms_QGemm").bind()
    a, b = np.array([[1, 2, 3], [4, 5, 6]], np.uint8), np.array([[1, -2], [3, 4], [-5, 6]], np.int8)
    zeros = np.array(1, np.uint8), np.array(0, np.int8)
    want = (a.astype(np.float32) - 1) @ b.astype(np.float32) * 0.5
    for shape in ((), (1,), (1, 1, 1)):
        scale = np.full(shape, 0.5, np.float32)
        found = gemm.compute(a, scale, zeros[0], b, np.float32(1).reshape(()), zeros[1])
        assert gemm.infer_shape(*(x.shape for x in (a, scale, zeros[0], b, np.float32(1), zeros[1]))) == found.shape
        np.testing.assert_array_equal(found, want)
