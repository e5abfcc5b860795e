"""Shape, slicing, indexing, ordering and sequence operators with dynamic axes: one ONNX model for every size."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import converters
from converters.builder import Builder
from hybrid.core.op import REGISTRY
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.grouped import over
from tests.table.goldens import close
from tests.table.test_goldens import run_onnx

SIZES = ({"n": 2, "t": 3, "h": 6, "w": 4}, {"n": 5, "t": 7, "h": 9, "w": 12}, {"n": 1, "t": 2, "h": 4, "w": 8})


class Row(NamedTuple):
    operator: str
    attrs: dict[str, Any]
    inputs: tuple[Sequence[Any], ...]
    """Shapes, with names for dynamic axes."""
    whole: int = 0
    """Bound of inputs after the first where it is not 0: they are whole numbers below it."""


def row(operator: str, *inputs: Sequence[Any], whole: int = 0, **attrs: Any) -> Row:
    return Row(operator, attrs, inputs, whole)


B, BT, IMG = ("n", 6), ("n", "t", 8), ("n", 3, "h", "w")
ROWS = [
    row("Reshape", ("n", 3, 4), shape=(0, -1)),
    row("Reshape", ("n", 3, 4), shape=(-1, 4)),
    row("Reshape", ("n", 3, 4), shape=(-1,)),
    row("Reshape", ("n", 3, 4), shape=(0, 0, 2, -1)),
    row("Reshape", ("n", 3, 4), shape=(-3, -2)),
    row("Reshape", ("n", 3, 4), shape=(0, -3)),
    row("Reshape", ("n", 6, 4), shape=(0, -4, 3, -1, 0)),
    row("Reshape", ("n", 3, 4), shape=(-2, 1)),
    row("Reshape", ("n", 3, 4), shape=(1, 0, -1)),
    row("Reshape", ("w", 3, 4), shape=(4, -1, 0)),
    row("Reshape", BT, shape=(0, 0, -4, 2, -1)),
    row("Reshape", BT, shape=(0, 0, 2, 4)),
    row("Reshape", BT, shape=(-3, 0)),
    row("Reshape", BT, shape=(0, -3)),
    row("Reshape", BT, shape=(-1, 8)),
    row("Reshape", BT, shape=(0, -1, 4)),
    row("Reshape", BT, shape=(-2, 1, 1)),
    row("Reshape", BT, shape=(1, 0, -1, 4)),
    row("Reshape", BT, shape=(0, -4, 1, -1, -2)),
    row("Reshape", IMG, shape=(0, 0, -1)),
    row("Reshape", IMG, shape=(0, -1, 1, 1)),
    row("Reshape", IMG, shape=(-3, -2)),
    row("Reshape", IMG, shape=(0, 0, -3)),
    row("Reshape", IMG, shape=(0, 3, -3)),
    row("Reshape", IMG, shape=(0, -4, 1, 3, -2)),
    row("Reshape", IMG, shape=(1, 0, -1, 0), reverse=True),
    row("Reshape", ("n", "t", "h"), shape=(-3, 0)),
    row("Reshape", ("n", "t", "h"), shape=(0, -4, 1, -1, -2)),
    row("Reshape", ("n", 3, 4), shape=(-1, 0), reverse=True),
    row("Reshape", ("n", 3, 4), shape=(0, -1), reverse=True),
    row("Reshape", BT, shape=(-1, 0), reverse=True),
    row("Reshape", BT, shape=(0, 0, 2, -1, -4), reverse=True),
    row("Reshape", ("n", 3, "w"), shape=(1, -3, 0), reverse=True),
    row("Reshape", ("w", 3), shape=(-4, -1, 4, 0)),
    row("Reshape", ("w", "t"), shape=(-4, -1, 4, 0)),
    row("Reshape", ("w", "t"), shape=(-4, 2, -1, -2)),
    row("Reshape", ("n", 3, 4), target_shape=(0, 12)),
    row("Reshape", ("n", 3, 4), target_shape=(0, 0), keep_highest=True),
    row("_np_reshape", ("n", 3, 4), newshape=(-1, 6)),
    row("_npx_reshape", ("n", 3, 4), newshape=(-2, -1)),
    row("_npx_reshape", BT, newshape=(-2, -2, 2, 4)),
    row("_npx_reshape", BT, newshape=(-5, -4)),
    row("_npx_reshape", BT, newshape=(-2, -2, -6, 4, -1)),
    row("_npx_reshape", IMG, newshape=(-4, 1)),
    row("Flatten", IMG),
    row("Flatten", ("n",)),
    row("expand_dims", BT, axis=1),
    row("squeeze", ("n", 1, "t"), axis=(1,)),
    row("reshape_like", ("n", 12), ("n", 3, 4)),
    row("reshape_like", ("n", "t", 8), ("n", "t", 2, 4)),
    row("reshape_like", (24, "h"), ("n", "h"), lhs_begin=1, rhs_begin=1),
    row("reshape_like", ("n", "t", 8), ("h", "t", 2, 4), lhs_begin=1, rhs_begin=1),
    row("transpose", BT, axes=(1, 0, 2)),
    row("transpose", IMG),
    row("SwapAxis", BT, dim1=0, dim2=2),
    row("_np_moveaxis", BT, source=(0,), destination=(-1,)),
    row("reverse", BT, axis=(1,)),
    row("reverse", IMG, axis=(2, 3)),
    row("diag", ("n", 3, 4), axis1=1, axis2=2),
    row("diag", (3, "t", 4), axis1=2, axis2=0, k=1),
    row("broadcast_to", ("n", 1, 4), shape=(0, 3, 4)),
    row("_npi_broadcast_to", ("n", 1), shape=(3, -2, 4)),
    row("broadcast_axis", ("n", 1, "t"), axis=(1,), size=(4,)),
    row("broadcast_like", (1, 8), ("n", 8)),
    row("broadcast_like", ("n", 1, 8), ("n", "t", 8)),
    row("broadcast_like", ("n", 1), ("t", 5), lhs_axes=(1,), rhs_axes=(0,)),
    row("tile", BT, reps=(2, 1, 3)),
    row("tile", ("n", "t"), reps=(2, 3, 1)),
    row("repeat", BT, repeats=3, axis=0),
    row("repeat", BT, repeats=2, axis=1),
    row("repeat", IMG, repeats=2, axis=2),
    row("repeat", BT, repeats=2, axis=-1),
    row("repeat", BT, repeats=2),
    row("Pad", IMG, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 3, 0), constant_value=1.5),
    row("Pad", IMG, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 3, 0)),
    row("Pad", IMG, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 5, 0)),
    row("Concat", ("n", 3, "h", "w"), ("n", 2, "h", "w")),
    row("Concat", ("n", "t"), ("n", "h"), dim=-1),
    row("_npi_concatenate", ("n", "t"), ("n", "h"), axis=None),
    row("_npi_vstack", ("t",), ("t",)),
    row("_npi_hstack", ("t",), ("h",)),
    row("_npi_column_stack", ("t",), ("t", 2)),
    row("_npi_dstack", ("n", "t"), ("n", "t")),
    row("_npi_dsplit", ("n", "t", 4), indices=(0, 1)),
    row("_npi_pad", ("n", "t"), pad_width=((1, 2), (0, 1)), mode="edge"),
    row("_npi_pad", ("n", "t"), pad_width=((1, 2), (0, 1)), mode="maximum"),
    row("_npi_pad", ("n", 3), pad_width=((0, 0), (2, 4)), mode="symmetric"),
    row("_npi_rot90", ("n", "t", 2)),
    row("_npi_rot90", ("n", "t", 2), k=-1, axes=(0, 2)),
    row("_np_roll", ("n", 5), shift=(2,), axis=(1,)),
    row("_np_diagonal", ("n", 3, 4), axis1=1, axis2=2),
    row("_npi_tril", ("n", 3, 4)),
    row("_npi_flip", ("n", "t"), axis=None),
    row("stack", BT, BT, axis=1),
    row("SliceChannel", ("n", 4, "t"), num_outputs=2),
    row("SliceChannel", ("w", 3), num_outputs=4, axis=0),
    row("SliceChannel", ("n", 4, "t"), num_outputs=4, squeeze_axis=True),
    row("_split_v2", ("n", "w"), indices=(0, 1, 3), axis=1),
    row("_split_v2", ("n", "w"), indices=(), sections=4, axis=1),
    row("_split_v2", ("n", "t"), indices=(), sections=2, axis=1),
    row("_split_v2", ("h", "t"), indices=(), sections=4, axis=0),
    row("slice", BT, begin=(0, 1), end=(1, None)),
    row("slice", BT, begin=(None, None), end=(None, None), step=(-1, 2)),
    row("slice", BT, begin=(None, -2, 3), end=(None, -1, 0), step=(None, None, -1)),
    row("slice", BT, begin=(-2, -3), end=(None, None), step=(-1, -1)),
    row("slice", BT, begin=(-1, -2), end=(None, -9), step=(-1, -1)),
    row("slice_axis", BT, axis=1, begin=0, end=1),
    row("slice_axis", BT, axis=1, begin=-2, end=None),
    row("slice_axis", BT, axis=1, begin=1, end=None),
    row("slice_axis", BT, axis=-1, begin=1, end=-1),
    row("slice_like", ("n", "h", "w"), ("n", 2, 3)),
    row("slice_like", (9, 12, 4), ("h", "w"), axes=(0, 1)),
    row("slice_like", (9, "w"), ("h", 3, 5), axes=(0,)),
    row("Crop", IMG, h_w=(2, 3), offset=(1, 1)),
    row("Crop", IMG, h_w=(2, 3), center_crop=True),
    row("Crop", (2, 3, 20, 20), ("n", 1, "h", "w"), center_crop=True),
    row("Crop", (2, 3, 20, 20), ("n", 1, "h", "w"), offset=(3, 4)),
    row("Crop", ("n", 3, "h", "w"), ("n", 1, 3, 2), center_crop=True),
    row("take", ("n", 5), ("t",), whole=9),
    row("take", ("n", 5), ("t", 2), whole=9, axis=1, mode="wrap"),
    row("take", ("t", "n"), ("h",), whole=9, axis=1),
    row("take", ("t", "n"), ("h",), whole=9, mode="wrap"),
    row("Embedding", ("n", "t"), (5, 4), input_dim=5, output_dim=4),
    row("pick", ("n", 5), ("n",), whole=7),
    row("pick", ("n", "t", 5), ("n", 5), whole=9, axis=1, mode="wrap", keepdims=True),
    row("gather_nd", ("n", 4), (1, "t"), whole=1),
    row("gather_nd", (4, 4, "n"), (2, "t"), whole=4),
    row("scatter_nd", ("n",), (2, "n"), whole=12, shape=(12, 12)),
    row("one_hot", ("n", "t"), depth=4),
    row("topk", ("n", "w"), k=3),
    row("topk", ("n", "w"), k=0, ret_typ="both", is_ascend=True),
    row("topk", ("n", "w"), k=2, ret_typ="mask"),
    row("topk", ("n", "w"), k=2, ret_typ="mask", axis=None),
    row("topk", ("n", "w"), k=0, ret_typ="value", axis=None),
    row("sort", ("n", "w"), axis=0),
    row("argsort", ("n", "w"), is_ascend=False),
    row("_ravel_multi_index", (2, "n"), shape=(3, 4)),
    row("_unravel_index", ("n",), shape=(3, 4)),
    row("_contrib_index_array", ("n", "t", 2)),
    row("_contrib_index_array", ("n", "t", 2), axes=(1, 0)),
    row("_contrib_boolean_mask", ("n", 3), ("n",), whole=2),
    row("_np_cumsum", ("n", "t"), axis=1),
    row("_np_cumsum", ("n", "t")),
    row("SequenceMask", BT),
    row("SequenceMask", ("t", "n", 8), ("n",), whole=4, use_sequence_length=True, value=-2.0),
    row("SequenceMask", ("n", "t"), ("n",), whole=4, use_sequence_length=True, axis=1),
    row("SequenceLast", ("t", "n", 8), axis=0),
    row("SequenceLast", ("t", "n", 8), ("n",), whole=3, use_sequence_length=True),
    row("SequenceLast", ("n", "t", 8), ("n",), whole=9, use_sequence_length=True, axis=1),
    row("SequenceReverse", ("t", "n", 8)),
    row("SequenceReverse", ("t", "n", 8), ("n",), whole=9, use_sequence_length=True),
]  # fmt: skip


def name_of(r: Row) -> str:
    shapes = "-".join("x".join(map(str, s)) for s in r.inputs)
    return f"{r.operator}-{shapes}-" + ",".join(f"{k}={v}" for k, v in r.attrs.items()).replace(" ", "")


def graph_of(r: Row) -> Graph:
    cls, attrs = REGISTRY[r.operator], dict(r.attrs)
    if cls.inputs[0].startswith("*"):
        attrs[cls.count] = len(r.inputs)
    op = cls.bind(**attrs)
    node = Node(op, "node", [Entry(Node(None, f"in{i}")) for i in range(len(r.inputs))], op.dump())
    return Graph(Entry(node, i) for i in range(node.num_visible_outputs))


def feeds_of(r: Row, sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    feeds = {}
    for i, shape in enumerate(r.inputs):
        dims = [sizes.get(d, d) for d in shape]
        lonely = r.operator in ("Embedding", "one_hot", "_ravel_multi_index", "_unravel_index") and i == 0
        whole = r.whole if i else 6 if lonely else 0
        numbers = rng.integers(0, whole, dims) if whole else rng.permuted(np.arange(np.prod(dims)))
        feeds[f"in{i}"] = numbers.reshape(dims).astype("float32")
    if r.operator == "scatter_nd":  # every place once
        feeds["in1"] = np.stack([np.arange(sizes["n"])] * 2).astype("float32")
    return feeds


@pytest.mark.parametrize("r", [pytest.param(r, id=name_of(r)) for r in ROWS])
@over("opset", [13, 21])
def test_one_model_serves_every_size(r: Row, opset: int) -> None:
    graph = graph_of(r)
    inputs = {f"in{i}": shape for i, shape in enumerate(r.inputs)}
    model = converters.to_onnx(graph, {}, inputs, opset)
    for seed, sizes in enumerate(SIZES):
        feeds = feeds_of(r, sizes, seed)
        want = Program(graph).run(feeds)
        for got, expected in zip(run_onnx(model, feeds), want, strict=True):
            close(got, expected, graph.outputs[0].node.op)


@pytest.mark.parametrize(
    ("shape", "codes"),
    [
        (("n", 3, 4), (0, -1)),
        (("n", 3, 4), (0, -4, 3, -1, 0)),
        (("n", "t", 8), (0, 0, 2, 4)),
        (("n", "t", 8), (-3, 0)),
        (("n", 3, "h", "w"), (0, 0, -1)),
    ],
)
def test_reshape_needs_no_run_time_shape_where_numbers_suffice(shape: Sequence[Any], codes: Sequence[int]) -> None:
    model = converters.to_onnx(graph_of(row("Reshape", shape, shape=codes)), {}, {"in0": shape})
    assert [n.op_type for n in model.graph.node] == ["Reshape"]


def test_a_reshaped_dynamic_axis_keeps_its_name() -> None:
    model = converters.to_onnx(graph_of(row("Reshape", BT, shape=(0, 0, 2, -1))), {}, {"in0": BT})
    dims = model.graph.output[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in dims] == ["n", "t", 2, 4]


@pytest.mark.parametrize(
    ("r", "reason"),
    [
        (row("squeeze", ("n", 1, 3)), "give squeeze an axis"),
        (row("diag", ("n", "t")), "needs the size of axis 0"),
        (row("_slice_assign_scalar", ("n", 3), begin=(0,), end=(1,), scalar=1.0), "needs the size of axis 0"),
        (
            row("_image_adjust_lighting", (4, 5, "n"), alpha=(0.1, 0.2, 0.3)),
            "needs sizes of its inputs that are dynamic",
        ),
    ],
    ids=["squeeze", "diag", "slice-assign", "lighting"],
)
def test_what_needs_a_size_says_so(r: Row, reason: str) -> None:
    with pytest.raises(converters.UnsupportedModel, match=reason):
        converters.to_onnx(graph_of(r), {}, {f"in{i}": shape for i, shape in enumerate(r.inputs)})


def test_constants_are_moved_when_converting() -> None:
    """Reshaping a parameter leaves no node behind."""
    b = Builder(21)
    weight = b.const(np.arange(6, dtype="float32"))
    assert b.reshape(weight, [2, 3]).const.shape == (2, 3)
    assert not b.nodes
