"""Detection heads as ONNX, against the engine, with dynamic sizes and crowded random boxes (ties, empty, swapped corners)."""

import numpy as np
import pytest

import converters
from hybrid.core.op import REGISTRY
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.table.test_goldens import run_onnx


def graph_of(name, attrs):
    op = REGISTRY[name].bind(**attrs)
    node = Node(op, "node", [Entry(Node(None, n)) for n in op.input_names()], op.dump())
    return Graph(Entry(node, i) for i in range(node.num_visible_outputs))


def check(graph, model, feeds):
    for got, want in zip(run_onnx(model, feeds), Program(graph).run(feeds), strict=True):
        assert got.dtype == want.dtype
        scale = max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * scale)


def boxes_of(rng, *shape):
    """Corners on a coarse grid, so that overlaps tie with thresholds, some of them empty or swapped."""
    low = rng.integers(0, 8, (*shape, 2)) / 10
    return np.concatenate([low, low + rng.integers(-1, 5, (*shape, 2)) / 10], axis=-1).astype(np.float32)


@pytest.mark.parametrize(
    "attrs",
    [
        {"sizes": (0.3, 0.4), "ratios": (1, 2, 0.5)},
        {"sizes": (0.8,), "clip": True, "steps": (0.2, 0.3), "offsets": (0.25, 0.75)},
        {"steps": (1, 1), "offsets": (0, 0)},
    ],
    ids=["sizes", "steps", "offset0"],
)
@pytest.mark.parametrize("axes", [("n", 2, "h", "w"), (1, 2, 3, "w"), ("n", 2, 3, 5)], ids=str)
def test_anchors(attrs, axes):
    graph = graph_of("_contrib_MultiBoxPrior", attrs)
    model = converters.to_onnx(graph, {}, {"data": axes})
    for sizes in ({"n": 1, "h": 3, "w": 5}, {"n": 2, "h": 4, "w": 3}):
        shape = [sizes.get(a, a) for a in axes]
        check(graph, model, {"data": np.zeros(shape, np.float32)})


@pytest.mark.parametrize(
    "attrs",
    [
        {"nms_threshold": 0.45, "nms_topk": 10},
        {"force_suppress": True, "nms_threshold": 0.25},
        {"nms_threshold": 0.2, "threshold": 0.4},
        {"nms_threshold": 2, "threshold": -2},
    ],
    ids=["topk", "force", "threshold", "off"],
)
def test_detections(attrs):
    graph = graph_of("_contrib_MultiBoxDetection", {"variances": (0.1, 0.1, 0.2, 0.2), **attrs})
    axes = {"cls_prob": ("n", 4, "a"), "loc_pred": ("n", "4a"), "anchor": (1, "a", 4)}
    model = converters.to_onnx(graph, {}, axes)
    for seed, (batch, count) in enumerate([(1, 40), (3, 7), (2, 60)]):
        rng = np.random.default_rng(seed)
        scores = (rng.integers(0, 20, (batch, 4, count)) / 20).astype(np.float32)
        offsets = np.where(rng.random((batch, count * 4)) < 0.8, 0, rng.normal(size=(batch, count * 4)))
        check(
            graph,
            model,
            {"cls_prob": scores, "loc_pred": offsets.astype(np.float32), "anchor": boxes_of(rng, 1, count)},
        )


@pytest.mark.parametrize(
    "attrs",
    [
        {"overlap_thresh": 0.5, "id_index": 0, "topk": 12},
        {"overlap_thresh": 0.25, "id_index": 0, "background_id": 1, "valid_thresh": 0.3},
        {"overlap_thresh": 0.0, "force_suppress": True, "id_index": 0},
        {"overlap_thresh": 0.3, "in_format": "center", "out_format": "corner"},
        {"overlap_thresh": 1.5, "out_format": "center"},
    ],
    ids=["topk", "background", "force", "center", "off"],
)
@pytest.mark.parametrize("lead", [(), (2,), (2, 2)], ids=str)
def test_suppression(attrs, lead):
    graph = graph_of("_contrib_box_nms", attrs)
    names = ("p", "q")[: len(lead)]
    model = converters.to_onnx(graph, {}, {"data": (*names, "n", 7)})
    for seed, count in enumerate([30, 5]):
        rng = np.random.default_rng(seed)
        rows = np.concatenate(
            [
                rng.integers(-1, 3, (*lead, count, 1)),
                rng.integers(-1, 9, (*lead, count, 1)) / 10,
                boxes_of(rng, *lead, count),
                rng.random((*lead, count, 1)),
            ],
            axis=-1,
        )
        check(graph, model, {"data": rows.astype(np.float32)})


def test_a_negative_threshold_is_refused():
    with pytest.raises(converters.UnsupportedModel, match="negative"):
        converters.to_onnx(graph_of("_contrib_box_nms", {"overlap_thresh": -0.5}), {}, {"data": (4, 6)})


def test_overlaps():
    graph = graph_of("_contrib_box_iou", {})
    model = converters.to_onnx(graph, {}, {"lhs": ("n", 3, 4), "rhs": ("m", 4)})
    for seed, (n, m) in enumerate([(2, 5), (1, 3)]):
        rng = np.random.default_rng(seed)
        check(graph, model, {"lhs": boxes_of(rng, n, 3), "rhs": boxes_of(rng, m)})


@pytest.mark.parametrize(
    "attrs", [{}, {"iou_loss": True, "rpn_pre_nms_top_n": 20, "threshold": 0.4}], ids=["plain", "iou"]
)
@pytest.mark.parametrize("axes", [("n", 4, 5), ("n", "h", "w")], ids=str)
def test_proposals(attrs, axes):
    check_proposals(attrs, axes)


def test_proposals_of_all_anchors_where_one_size_is_free():
    check_proposals({"rpn_pre_nms_top_n": 0}, ("n", 4, "w"))


def check_proposals(attrs, axes):
    small = {"scales": (1, 2), "ratios": (0.5, 1), "rpn_post_nms_top_n": 30, "rpn_min_size": 20, "output_score": True}
    graph = graph_of("_contrib_MultiProposal", {**small, **attrs})
    batch, *cells = axes
    inputs = {"cls_prob": (batch, 8, *cells), "bbox_pred": (batch, 16, *cells), "im_info": (batch, 3)}
    model = converters.to_onnx(graph, {}, inputs)
    for seed, sizes in enumerate([{"n": 1, "h": 4, "w": 5}, {"n": 3, "h": 6, "w": 3}]):
        rng = np.random.default_rng(seed)
        feeds = {k: rng.uniform(-0.4, 1, [sizes.get(a, a) for a in v]).astype(np.float32) for k, v in inputs.items()}
        high, wide = feeds["cls_prob"].shape[2:]
        feeds["im_info"] = np.float32([[high * 16 - i, wide * 16 - 20 * i, 1 + i / 2] for i in range(sizes["n"])])
        check(graph, model, feeds)
