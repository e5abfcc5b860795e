"""Inputs that operators have no answer for are refused before anything runs, as in MXNet 1.9.1, by NumPy and compiled alike."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from converters import convert
from converters.error import ConversionError
from converters.registry import EXPORT
from hybrid.core.error import InternalError, MXNetError, OpError
from hybrid.core.examples import Maker
from hybrid.core.op import REGISTRY, WHOLE, Op, Spec
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from hybrid.ops.elementwise import Unary
from tests.fuzz import operators
from tests.fuzz.operators import Trial, verdict
from tests.grouped import over
from tests.table.examples import graph_of

FLOATS_ALONE = (
    "BatchNorm", "BatchNorm_v1", "BilinearSampler", "CTCLoss", "Correlation", "Dropout", "GroupNorm", "InstanceNorm",
    "L2Normalization", "LRN", "LayerNorm", "LeakyReLU", "LinearRegressionOutput", "LogisticRegressionOutput",
    "MAERegressionOutput", "Pooling", "Pooling_v1", "ROIPooling", "SVMOutput", "SoftmaxActivation", "SoftmaxOutput",
    "SpatialTransformer", "_contrib_AdaptiveAvgPooling2D", "_contrib_BatchNormWithReLU", "_contrib_BilinearResize2D",
    "_contrib_DeformableConvolution", "_contrib_DeformablePSROIPooling", "_contrib_ModulatedDeformableConvolution",
    "_contrib_MultiBoxDetection", "_contrib_MultiBoxTarget", "_contrib_PSROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign",
    "_contrib_SyncBatchNorm", "_contrib_bipartite_matching", "_contrib_box_decode", "_contrib_box_encode", "_contrib_box_iou",
    "_contrib_box_nms", "_linalg_det", "_linalg_extractdiag", "_linalg_extracttrian", "_linalg_gelqf", "_linalg_inverse",
    "_linalg_makediag", "_linalg_maketrian", "_linalg_potrf", "_linalg_potri", "_linalg_slogdet",
    "_linalg_sumlogdiag", "_linalg_syevd", "_linalg_trmm", "_linalg_trsm", "_npi_cholesky", "adam_update", "all_finite",
    "multi_all_finite", "sgd_update", "signsgd_update", "softmax_cross_entropy",
)  # fmt: skip
"""Of which MXNet 1.9.1, asked for each dtype, computes floats and refuses integers and bools."""
NO_BOOLS = (
    "_hypot", "_npi_arctan2", "_npi_around", "_npi_copysign", "_npi_hypot", "_npi_ldexp", "_npi_mod", "_npi_std", "_npi_subtract",
    "_npi_var", "broadcast_hypot", "broadcast_sub", "elemwise_sub",
    "moments",
    *(n for n, o in REGISTRY.items() if n == o.name and issubclass(o, Unary) and not o.unary_function.predicate and n[0] != "_"),
)  # fmt: skip
"""Operators that refuse bools alone."""


def example(name: str) -> tuple[Op, tuple[np.ndarray, ...]]:
    found = next(iter(REGISTRY[name].examples(Maker(REGISTRY[name]))))
    return found.op, found.arrays


@over("name", (*FLOATS_ALONE, *NO_BOOLS))
def test_dtypes_without_a_kernel_in_mxnet_are_refused_when_inferring(name: str) -> None:
    op, arrays = example(name)
    for dtype in ("bool",) if name in NO_BOOLS else ("bool", "int8", "int32", "int64", "uint8"):
        given = [a.astype(dtype) if a.dtype == arrays[0].dtype else a for a in arrays]
        graph, feeds = graph_of(operators.Example(op, tuple(given)))
        with pytest.raises(OpError, match="cast"):
            infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})


def test_quantized_layers_take_integers_though_their_layers_refuse_them() -> None:
    assert REGISTRY["Pooling"].refuses == REGISTRY["BatchNorm"].refuses == WHOLE
    assert not REGISTRY["_contrib_quantized_pooling"].refuses and not REGISTRY["_contrib_quantized_batch_norm"].refuses


@pytest.mark.slow
def test_every_forward_operator_holds_the_contract_in_every_dtype() -> None:
    """Inputs of each example alone, or all of one dtype together, in each dtype that mutations choose from."""
    found = []
    for case in itertools.islice(in_dtypes(), 0, None, EACH):
        finding = verdict(case)[1]
        found += [f"{finding.kind}: {finding.text}\n{case}"] if finding else []
    assert not found, "\n".join(found)


EACH = 31
"""Of so many one is tried: all of them take minutes."""


def in_dtypes() -> Iterator[Trial]:
    for group in operators.seeds():
        if group[0].name.startswith(("_onnx_", "_backward_")):
            continue
        for seed in group:
            first = seed.arrays[0].dtype if seed.arrays else None
            chosen = [{i} for i in range(len(seed.arrays))]
            chosen.append({i for i, a in enumerate(seed.arrays) if a.dtype == first})
            for dtype, places in itertools.product(operators.DTYPES, chosen):
                with np.errstate(over="ignore", invalid="ignore"):
                    arrays = tuple(a.astype(dtype) if i in places else a for i, a in enumerate(seed.arrays))
                yield Trial(seed.name, seed.attrs, arrays, False, f"{places} as {dtype}")


@pytest.mark.slow
def test_translations_do_not_fail_for_dtypes_that_inference_accepts() -> None:
    failed = []
    for case in itertools.islice(in_dtypes(), 0, None, 5):
        if case.name not in EXPORT:
            continue
        try:
            graph, feeds = graph_of(operators.Example(REGISTRY[case.name].bind(**case.attrs), case.arrays))
            convert(graph, {}, {k: Spec(v.shape, v.dtype) for k, v in feeds.items()})
        except (MXNetError, ConversionError) as error:
            failed += [f"{case}: {error}"] if "please report" in str(error) else []
    assert not failed, "\n".join(failed)


# -- sizes, ranks, attributes ---------------------------------------------------------------------------------------------

EMPTY = [
    ("Pad", [(1, 2, 3, 0)], {"mode": "edge", "pad_width": (0, 0, 0, 0, 1, 2, 2, 1)}),
    ("_cvcopyMakeBorder", [(4, 0, 3)], {"top": 1, "bot": 2, "left": 0, "right": 3, "type": 1}),
    ("_contrib_BilinearResize2D", [(1, 2, 0, 4)], {"height": 5, "width": 6}),
    (
        "_contrib_DeformableConvolution",
        [(0, 0, 5, 5), (0, 18, 3, 3), (3, 0, 3, 3), (3,)],
        {"kernel": (3, 3), "num_filter": 3},
    ),
    ("_contrib_MultiBoxTarget", [(1, 0, 4), (1, 1, 5), (1, 3, 0)], {}),
    ("_contrib_ROIAlign", [(2, 3, 0, 8), (2, 5)], {"pooled_size": (2, 3), "spatial_scale": 1}),
    ("_contrib_RROIAlign", [(2, 0, 8, 8), (2, 6)], {"pooled_size": (2, 3), "spatial_scale": 1}),
    ("_contrib_box_encode", [(1, 2), (1, 2), (1, 2, 4), (1, 0, 4), (4,), (4,)], {}),
    ("_contrib_ifft", [(3, 0)], {}),
    ("_image_resize", [(0, 6, 4, 1)], {"size": (3,), "keep_ratio": True}),
    ("_npi_choice", [(0, 2)], {"a": None, "size": (4,)}),
    ("_sample_multinomial", [(2, 0)], {}),
    ("pick", [(3, 0), (3,)], {}),
    ("take", [(0, 3), (2,)], {}),
]  # of which there is nothing to take, repeat or interpolate; MXNet takes no such arrays
UNFIT = [
    ("CTCLoss", [(2,), (2, 3), (6,)], {"use_data_lengths": True}),
    ("Crop", [(1, 2, 6, 5), (2, 3, 2)], {"num_args": 2}),
    ("SequenceMask", [(2,), (4,)], {"use_sequence_length": True}),
    ("_contrib_box_iou", [(4,), (4,)], {}),
    ("_fused_conv", [(1, 3, 9), (16, 3, 3, 3)], {"kernel": (3, 3), "num_filter": 16, "channels": 3, "blocked": False}),
    ("_npi_einsum", [(1, 3)], {"num_args": 1, "subscripts": "ii"}),
    ("_npi_hsplit", [(2, 6)], {"indices": (1, 2)}),
    ("_npi_hstack", [(2, 2, 3), (2,)], {"num_args": 2}),
    ("_split_v2", [(6, 2)], {"indices": (2, 4), "axis": 0}),
    ("khatri_rao", [(3,), (3,)], {"num_args": 2}),
]  # at which NumPy stumbled after inference had let them pass, or which it answered in another shape


@pytest.mark.parametrize(("name", "shapes", "attrs"), EMPTY + UNFIT, ids=[m[0] for m in EMPTY + UNFIT])
def test_sizes_and_ranks_without_an_answer_are_refused_when_inferring(name: str, shapes: list, attrs: dict) -> None:
    op = REGISTRY[name].bind(**attrs)
    with pytest.raises(OpError) as caught:
        infer(graph_of(operators.Example(op, tuple(np.zeros(s, np.float32) for s in shapes)))[0],
              dict(zip(op.input_names(), shapes)), dict.fromkeys(op.input_names(), "float32"))  # fmt: skip
    assert "does not take such inputs" not in str(caught.value), "that is how Python's own exceptions are told"


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("Correlation", {"pad_size": -1}),
        ("LRN", {"nsize": 3, "alpha": "-inf"}),
        ("_contrib_Proposal", {"feature_stride": 0}),
        ("_contrib_ROIAlign", {"pooled_size": (2, 2), "spatial_scale": "inf"}),
        ("ROIPooling", {"pooled_size": (2, 2), "spatial_scale": 2}),
        ("_histogram", {"bin_cnt": 0, "range": (0, 1)}),
        ("_image_random_color_jitter", {"brightness": "inf", "contrast": 0, "saturation": 0, "hue": 0}),
        ("_npi_choice", {"a": 0, "size": (2,)}),
        ("_npi_identity", {"shape": (1, -1)}),
        ("_random_randint", {"low": 0, "high": 3, "dtype": "float32"}),
        ("_unravel_index", {"shape": ()}),
        ("_fused_pool", {"kernel": (2, 2), "layout": "NHWC"}),
    ],
)
def test_attributes_that_mean_nothing_are_refused(name: str, attrs: dict) -> None:
    with pytest.raises(OpError, match=name):
        REGISTRY[name].bind(**attrs)


@pytest.mark.parametrize("k", [100, -100, 2**31 - 1, -(2**31), 2**62])
@pytest.mark.parametrize("name", ["_np_diag", "_np_diagonal"])
def test_diagonals_beyond_the_matrix_are_empty_however_far(name: str, k: int) -> None:
    """NumPy's own ``diagonal`` ends the process for -2**31."""
    op = REGISTRY[name].bind(**{"offset" if name == "_np_diagonal" else "k": k})
    assert op.compute(np.ones((3, 4), np.float32)).shape == (0,)
    assert op.infer_shape((3, 4)) == (0,)


def test_norms_of_nothing_are_zero() -> None:
    """As MXNet 1.9.1 has them, where NumPy looks for a least number."""
    for order in (1, -1, 2, -2):
        y = REGISTRY["_npi_norm"].bind(ord=order, axis=(2, 1)).compute(np.zeros((2, 0, 4), np.float32))
        np.testing.assert_array_equal(y, np.zeros(2, np.float32))


def test_an_even_larger_reach_of_lrn_takes_no_memory() -> None:
    x = np.random.default_rng(1).uniform(-1, 1, (1, 5, 2, 2)).astype(np.float32)
    far, all_of_them = (REGISTRY["LRN"].bind(nsize=n, alpha=n) for n in (2**31 - 1, 9))
    np.testing.assert_allclose(far.compute(x)[0], all_of_them.compute(x)[0], rtol=1e-6)


# -- what the data decide -------------------------------------------------------------------------------------------------

ROIS = np.array([[0, 1, 1, 6, 7], [2, 0, 2, 3, 3]], np.float32)
DECIDED = [
    ("CTCLoss", [np.zeros((6, 2, 5)), np.full((2, 3), 7)], {}),
    ("CTCLoss", [np.zeros((6, 2, 5)), np.ones((2, 3)), np.array([9, 1])], {"use_label_lengths": True}),
    ("_contrib_DeformablePSROIPooling", [np.zeros((2, 8, 8, 8)), ROIS],
     {"spatial_scale": 1, "output_dim": 2, "group_size": 2, "pooled_size": 3, "no_trans": True}),
    ("_contrib_ROIAlign", [np.zeros((3, 2, 8, 8)), ROIS * 1e30], {"pooled_size": (2, 2), "spatial_scale": 1}),
    ("_contrib_RROIAlign", [np.zeros((2, 3, 8, 8)), np.insert(ROIS, 5, 30, 1)], {"pooled_size": (2, 2), "spatial_scale": 1}),
    ("_contrib_box_encode",
     [np.ones((1, 2)), np.array([[0, 5]]), np.ones((1, 2, 4)), np.ones((1, 3, 4)), np.zeros(4), np.ones(4)], {}),
    ("_contrib_index_copy", [np.zeros((4, 3)), np.array([0, 4], np.int32), np.ones((2, 3))], {}),
    ("scatter_nd", [np.zeros(2), np.array([[0, 3], [1, 1]])], {"shape": (3, 4)}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arrays", "attrs"), DECIDED, ids=[d[0] for d in DECIDED])
def test_positions_outside_are_refused_by_both_when_they_run(name: str, arrays: list, attrs: dict) -> None:
    """MXNet reads foreign memory there, or ends the process."""
    given = tuple(a if a.dtype == np.int32 else a.astype(np.float32) for a in arrays)
    op = REGISTRY[name].bind(**attrs)
    outcome, finding = verdict(Trial(name, op.dump(), given, False, "a position outside"))
    assert (outcome, finding) == ("values", None)


def test_matches_of_what_was_not_matched_may_be_anything() -> None:
    op, (samples, matches, *rest) = example("_contrib_box_encode")
    wanted = op.compute(samples, matches, *rest)
    got = op.compute(samples, np.where(samples > 0.5, matches, 1e6), *rest)
    assert all(np.array_equal(a, b) for a, b in zip(got, wanted))


# -- labels ---------------------------------------------------------------------------------------------------------------

LABELS = [
    ("SoftmaxOutput", {}, (4, 5), [(4,), (4, 5)], [(3,), (4, 1), (5,), (2, 2)]),
    ("SoftmaxOutput", {}, (4, 5, 2), [(4, 5), (4, 5, 2)], [(4,), (4, 2)]),
    ("SoftmaxOutput", {"multi_output": True}, (2, 3, 4), [(2, 4), (2, 1, 4), (2, 3, 4)], [(8,), (4, 2)]),
    ("SoftmaxOutput", {"multi_output": True}, (2, 3, 4, 5), [(2, 4, 5), (2, 20)], [(2, 5, 4)]),
    ("SoftmaxOutput", {"preserve_shape": True}, (2, 3, 4), [(2, 3), (2, 3, 4)], [(6,), (2, 4)]),
    *(
        row
        for name in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput")
        for row in (
            (name, {}, (4,), [(4,), (4, 1)], [(3,), (2, 2)]),
            (name, {}, (4, 1), [(4,), (4, 1)], [(5,), (1, 4)]),
            (name, {}, (4, 2), [(4, 2)], [(4,), (8,), (2, 4), (4, 1)]),
            (name, {}, (4, 2, 3), [(4, 6), (4, 2, 3)], [(4, 2), (24,)]),
        )
    ),
    ("SVMOutput", {}, (4, 5), [(4,)], [(4, 1), (4, 5), (5,), (2, 2)]),
    ("SVMOutput", {}, (4, 3, 2), [(4, 3)], [(4,), (4, 2), (12,)]),
    ("SVMOutput", {}, (4,), [], [(4,)]),
]
"""An operator, its data, and the labels that MXNet 1.9.1 takes and refuses for it (asked of it)."""


@pytest.mark.parametrize(("name", "attrs", "data", "fine", "wrong"), LABELS)
def test_labels_go_with_data_as_mxnet_wants_them(name: str, attrs: dict, data: tuple, fine: list, wrong: list) -> None:
    """By infer_shape and simple_bind; a stored model that only predicts may hold the label of another batch."""
    made = getattr(mx.sym, name)(mx.sym.var("data"), mx.sym.var("label"), **attrs)
    for label in fine:
        assert made.infer_shape(data=data, label=label)[1] == [data]
    for label in wrong:
        with pytest.raises(MXNetError, match="label"):
            made.infer_shape(data=data, label=label)
        with pytest.raises(MXNetError, match="label"):
            made.simple_bind(mx.cpu(), data=data, label=label)


# -- graphs ---------------------------------------------------------------------------------------------------------------


def test_one_tensor_for_two_inputs_of_different_ranks_ends_inference() -> None:
    tensor = Node(REGISTRY["relu"].bind(), "relu", [Entry(Node(None, "data"))])
    graph = Graph([Entry(Node(REGISTRY["_onehot_encode"].bind(), "node", [Entry(tensor), Entry(tensor)]))])
    with pytest.raises(OpError, match=r"node.*rank"):
        infer(graph, {"data": (2, 3, 4)}, {})


def test_what_is_too_small_when_it_runs_is_refused_in_words() -> None:
    """The length along an axis is not known before, and the part of it that is wanted is not there."""
    x, mask = Node(None, "data"), Node(None, "mask")
    chosen = Node(REGISTRY["_contrib_boolean_mask"].bind(), "chosen", [Entry(x), Entry(mask)])
    graph = Graph([Entry(Node(REGISTRY["slice_axis"].bind(axis=0, begin=-3, end=None), "part", [Entry(chosen)]))])
    feeds = {"data": np.ones((4, 2), np.float32), "mask": np.array([1, 0, 0, 1], np.float32)}
    for native in (False, True):
        with pytest.raises(MXNetError, match=r"part.*axis of size 2") as caught:
            Program(graph, native=native).run(dict(feeds))
        assert not isinstance(caught.value, InternalError)


def test_words_are_refused_but_by_what_moves_them() -> None:
    accepted = []
    for name, cls in REGISTRY.items():
        if name != cls.name or cls.inputs[:1] == ("*data",) or name.startswith(("_onnx_", "_backward_", "_fused_")):
            continue
        for one in cls.examples(Maker(cls)):
            words = tuple(np.array(["a"] * a.size, object).reshape(a.shape) for a in one.arrays)
            if words and not (cls.objects or cls.view or cls.only_moves_data):
                with pytest.raises(OpError):
                    infer(
                        graph_of(operators.Example(one.op, words))[0], {}, dict.fromkeys(one.op.input_names(), "object")
                    )
                dtypes = {n: a.dtype for n, a in zip(one.op.input_names(), one.arrays)}
                for place in [*dtypes][1:]:
                    with pytest.raises(OpError):
                        infer(graph_of(one)[0], {}, dtypes | {place: "object"})
            else:
                accepted.append(name)
            break
    assert {"take", "where", "tile", "broadcast_to"} <= set(accepted)


@pytest.mark.parametrize(
    "name", [n for n, cls in REGISTRY.items() if n.startswith(("multi_", "preloaded_")) and n.endswith("update")]
)
def test_updates_of_several_weights_refuse_integers(name: str) -> None:
    op = REGISTRY[name].bind(lrs=(0.1,), wds=(0.0,)) if name.startswith("multi_") else REGISTRY[name].bind()
    count = len(op.input_names())
    with pytest.raises(OpError, match="wanted floats"):
        op.want_dtype([np.dtype("int64")] + [None] * (count - 1))


def test_one_number_is_quantized():
    node = Node(REGISTRY["_contrib_quantize_v2"].bind(), "node", [Entry(Node(None, "data"))])
    graph = Graph(Entry(node, i) for i in range(3))
    found = Program(graph).run({"data": np.array(0.5, np.float32)})
    assert found[0].shape == () and found[0].dtype == np.int8 and found[0] == 127


def test_a_matrix_without_an_answer_is_the_inputs_fault() -> None:
    graph, feeds = graph_of(Maker(REGISTRY["_npi_norm"])(np.full((2, 3, 3), np.nan, np.float32), ord=2.0, axis=(1, 2)))
    with pytest.raises(OpError, match="no answer"):
        Program(graph, native=False).run(feeds)


def test_softmax_activation_wants_rows() -> None:
    with pytest.raises(OpError, match="wanted rows"):
        REGISTRY["SoftmaxActivation"].bind().infer_shape(())


ROWS_OF = {"use_sequence_length": True}
HELD: list[tuple[str, dict[str, Any], list[tuple[int, ...]], dict[str, tuple[float, float, bool]]]] = [
    ("_random_pdf_poisson", {}, [(2, 3), (2,)], {"sample": (0, 5, True)}),
    ("_random_pdf_negative_binomial", {}, [(2, 3), (2,), (2,)], {"sample": (0, 5, True)}),
    ("_contrib_MultiBoxDetection", {}, [(2, 3, 8), (2, 32), (1, 8, 4)], {"cls_prob": (0, 1, False), "anchor": (0, 1, False)}),
    ("_contrib_box_nms", {}, [(2, 6, 7)], {"data": (0, 1, False)}),
    ("_contrib_box_iou", {}, [(2, 3, 4), (5, 4)], {"lhs": (0, 1, False), "rhs": (0, 1, False)}),
    ("_contrib_hawkesll", {}, [(2, 3), (3,), (3,), (2, 3), (2, 7), (2, 7), (2,), (2,)],
     {"lda": (0.1, 2, False), **dict.fromkeys(("alpha", "beta", "state", "lags"), (0, 1, False)), "marks": (0, 2, True),
      "valid_length": (0, 7, True), "max_time": (50, 100, False)}),
    ("take", {"axis": 1}, [(4, 6, 3), (2,)], {"indices": (0, 5, True)}),
    ("take", {"axis": -3}, [(4, 6, 3), (2,)], {"indices": (0, 3, True)}),
    ("Embedding", {"input_dim": 7, "output_dim": 4}, [(2, 3), (7, 4)], {"data": (0, 6, True)}),
    ("_contrib_quantized_embedding", {"input_dim": 7, "output_dim": 4}, [(2, 3), (7, 4), (1,), (1,)], {"data": (0, 6, True)}),
    ("batch_take", {}, [(3, 6), (3,)], {"indices": (0, 5, True)}),
    ("pick", {"axis": 0}, [(3, 6), (6,)], {"index": (0, 2, True)}),
    ("gather_nd", {}, [(7, 5, 2), (2, 5)], {"indices": (0, 4, True)}),
    ("scatter_nd", {"shape": (4, 6)}, [(3,), (2, 3)], {"indices": (0, 3, True)}),
    ("fill_element_0index", {}, [(3, 6), (3,), (3,)], {"rhs": (0, 5, True)}),
    ("one_hot", {"depth": 6}, [(2, 3)], {"indices": (0, 5, True)}),
    ("_unravel_index", {"shape": (3, 5)}, [(2,)], {"data": (0, 14, True)}),
    ("_contrib_index_copy", {}, [(5, 3), (2,), (2, 3)], {"index_vector": (0, 4, True)}),
    ("_contrib_boolean_mask", {}, [(4, 3), (4,)], {"index": (0, 1, True)}),
    ("_contrib_box_encode", {}, [(1, 2), (1, 2), (1, 5, 4), (1, 7, 4), (4,), (4,)],
     {"samples": (-1, 1, True), "matches": (0, 6, True)}),
    ("_npi_delete", {"axis": 1}, [(4, 6), (2,)], {"obj": (0, 5, True)}),
    ("_npi_percentile", {"axis": (0,)}, [(2, 3), (3,)], {"q": (0, 100, False)}),
    ("softmax", {"use_length": True, "axis": 1}, [(3, 5, 2), (3, 2)], {"length": (1, 5, True)}),
    ("softmax", {"use_length": True}, [(3, 5, 2), (3, 5)], {"length": (1, 2, True)}),
    ("softmax_cross_entropy", {}, [(4, 6), (4,)], {"label": (0, 5, True)}),
    ("SoftmaxOutput", {}, [(4, 6), (4,)], {"label": (0, 5, True)}),
    ("SequenceMask", ROWS_OF, [(5, 2, 3), (2,)], {"sequence_length": (1, 5, True)}),
    ("SequenceMask", {**ROWS_OF, "axis": 1}, [(2, 7, 3), (2,)], {"sequence_length": (1, 7, True)}),
    ("SequenceLast", {**ROWS_OF, "axis": 1}, [(2, 7, 3), (2,)], {"sequence_length": (1, 7, True)}),
    ("SequenceReverse", ROWS_OF, [(5, 2, 3), (2,)], {"sequence_length": (1, 5, True)}),
    ("_contrib_count_sketch", {"out_dim": 5}, [(3, 6), (1, 6), (1, 6)], {"h": (0, 4, True)}),
    ("BilinearSampler", {}, [(2, 3, 4, 5), (2, 2, 3, 3)], {"grid": (-1.2, 1.2, False)}),
    ("_contrib_edge_id", {}, [(3, 3), (4,), (4,)], {"u": (0, 2, True), "v": (0, 2, True)}),
    ("_sparse_retain", {}, [(5, 3), (2,)], {"indices": (0, 4, True)}),
    *((name, {"spatial_scale": 1, **attrs}, [(n, 8, 9, 7), (6, 5)], {"rois": (0, 0, True)})
      for name, attrs in (("ROIPooling", {"pooled_size": (2, 3)}), ("_contrib_ROIAlign", {"pooled_size": (2, 3)}),
                          ("_contrib_PSROIPooling", {"output_dim": 2, "pooled_size": 2}))
      for n in (1, 3)),
]  # fmt: skip
"""Domains of the inputs of operators, from their definition: positions below a size, lengths up to one, shares, classes."""


@pytest.mark.parametrize("row", HELD, ids=lambda row: row[0])
def test_what_inputs_may_hold(row: Any) -> None:
    name, attrs, shapes, wanted = row
    one = REGISTRY[name].bind(**attrs)
    found = {n: one.domain(n, shapes) for n in one.input_names()}
    assert {n: d[:3] for n, d in found.items() if d is not None} == wanted
    for n in wanted:  # nothing is said where nothing is known
        assert one.domain(n, [None] * len(shapes)) in (None, found[n])
