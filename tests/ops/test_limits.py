"""Limits of operators: what lies one step beyond is refused in words, and what lies just before is taken."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from tests.grouped import run

F32 = np.dtype(np.float32)
Shapes = list[tuple[int, ...]]


class Edge(NamedTuple):
    """An operator with attributes that do (``fits``: shapes and what follows) and with what does not (``beyond``)."""

    operator: str
    attrs: dict[str, Any]
    fits: tuple[Shapes, Any] | None
    beyond: list[tuple[dict[str, Any], Shapes, str]]
    """Other attributes, shapes, and words of the refusal."""
    dtype: Any = F32


def answered(operator: str, attrs: dict[str, Any], shapes: Shapes, dtype: Any = F32) -> list[tuple[int, ...]]:
    """Shapes of the outputs. Raises OpError where the attributes, shapes or dtypes are refused."""
    op = lookup(operator).bind(**attrs)
    names = op.input_names()
    node = Node(op, "node", [Entry(Node(None, n)) for n in names])
    graph = Graph(Entry(node, i) for i in range(node.num_visible_outputs))
    dtypes = [np.dtype(d) for d in dtype] if isinstance(dtype, tuple) else [np.dtype(dtype)] * len(names)
    found = infer(graph, dict(zip(names, shapes, strict=True)), dict(zip(names, dtypes, strict=True)))
    return [found.spec(e).shape for e in graph.outputs]


CONV = {"kernel": (3, 2), "num_filter": 4, "num_group": 2, "no_bias": True}
DEFORM = {"kernel": (2, 3), "num_filter": 4, "num_group": 2, "num_deformable_group": 2, "no_bias": True}
COL = {"output_size": (4, 3), "kernel": (2, 2), "stride": (2, 1)}
BOXES = {"id_index": 0, "score_index": 1, "coord_start": 2}
CHAIN = {"num_args": 2, "code": "$0 $1 add relu"}
CROP = {"x": 1, "y": 2, "width": 3, "height": 2}

EDGES = [
    Edge("argmax", {"axis": 1}, ([(0, 2, 3)], [(0, 3)]), [({}, [(2, 0, 3)], "wanted an element"),
          ({"axis": None}, [(3, 0)], "wanted an element")]),
    Edge("argmin", {"axis": -1, "keepdims": True}, ([(0, 2)], [(0, 1)]), [({}, [(2, 0)], "wanted an element")]),
    Edge("argmax_channel", {}, ([(0, 2)], [(0,)]), [({}, [(2, 0)], "along axis 1"), ({}, [(2,)], "axis 1")]),
    Edge("sum", {"axis": (0, -1)}, ([(2, 3, 4)], [(3,)]), [({"axis": (1, -2)}, [(2, 3, 4)], "each once"),
          ({"axis": (3,)}, [(2, 3, 4)], "axis 3"),
          ({"axis": (-4,)}, [(2, 3, 4)], "axis -4")]),
    Edge("_npi_bitwise_and", {}, ([(2, 1), (3,)], [(2, 3)]), [({}, [(2, 2), (3,)], "")], np.int32),
    Edge("LeakyReLU", {"act_type": "prelu"}, ([(2, 3, 4), (3,)], [(2, 3, 4)]),
         [({}, [(2, 3, 4), (2,)], "one slope a channel"), ({}, [(2, 3, 4), (3, 1)], "got gamma"),
          ({}, [(2, 3, 4), (4,)], "gamma")]),
    Edge("LeakyReLU", {"act_type": "prelu"}, ([(4,), (4,)], [(4,)]), [({}, [(4,), (2,)], "gamma"), ({}, [(4,), ()], "gamma")]),
    Edge("LeakyReLU", {"act_type": "prelu"}, ([(2, 3), (1,)], [(2, 3)]), []),
    *(Edge(name, {}, ([(4, 2, 3, 3)], wanted), [({}, [(2, 3, 4)], "square"), ({}, [(3,)], "at least 2")]) for name, wanted in (
        ("_linalg_det", [(4, 2)]), ("_linalg_sumlogdiag", [(4, 2)]), ("_linalg_slogdet", [(4, 2), (4, 2)]),
        ("_linalg_inverse", [(4, 2, 3, 3)]), ("_linalg_potrf", [(4, 2, 3, 3)]), ("_linalg_potri", [(4, 2, 3, 3)]),
        ("_linalg_syevd", [(4, 2, 3, 3), (4, 2, 3)]), ("_linalg_extractdiag", [(4, 2, 3)]), ("_backward_triangle", [(4, 2, 3, 3)]),
    )),
    Edge("_linalg_det", {}, ([(3, 3)], [(1,)]), []),
    Edge("_linalg_slogdet", {}, ([(3, 3)], [(1,), (1,)]), []),
    Edge("_npi_rot90", {"axes": None}, ([(2, 3, 4)], [(3, 2, 4)]), []),
    Edge("_npi_lcm", {}, None, [({}, [(2,), (2,)], "wanted integers")]),
    Edge("_npi_bitwise_xor_scalar", {"scalar": 3}, None, [({}, [(2,)], "wanted integers")], np.float64),
    Edge("_npi_subtract", {}, None, [({}, [(2,), (2,)], "cast them")], bool),
    Edge("_backward_reshape_like", {}, ([(2, 6), (3, 4)], [(3, 4)]), [({}, [(2, 6), (3, 5)], "as many elements")]),
    Edge("_backward_sum_like", {}, ([(2, 3, 4), (3, 1)], [(3, 1)]), [({}, [(2, 3, 4), (2, 1)], "to broadcast"),
          ({}, [(4,), (1, 4)], "to broadcast")]),
    Edge("_backward_broadcast_like", {}, ([(3, 1), (2, 3, 4)], [(2, 3, 4)]),
         [({}, [(3, 2), (2, 3, 4)], "to broadcast"), ({}, [(1, 4), (4,)], "to broadcast")]),
    Edge("Convolution", CONV, ([(2, 4, 3, 2), (4, 2, 3, 2)], [(2, 4, 1, 1)]),
         [({"kernel": (1,) * 4}, [(1,) * 6, (4, 2, 1, 1, 1, 1)], "1 to 3"),
          ({"kernel": (3, 0)}, [(2, 4, 3, 2)] * 2, ""),
          ({"kernel": ()}, [(2, 4)] * 2, "1 to 3"),
          ({"stride": (2,)}, [(2, 4, 3, 2)] * 2, "stride.*2 sizes"), ({"stride": (2, 0)}, [(2, 4, 3, 2)] * 2, ""),
          ({"dilate": (2, 1, 1)}, [(2, 4, 3, 2)] * 2, "dilate.*2 sizes"),
          ({"pad": (1,)}, [(2, 4, 3, 2)] * 2, "pad.*2 sizes"),
          ({"pad": (1, -1)}, [(2, 4, 3, 2)] * 2, ""), ({"num_filter": 5}, [(2, 4, 3, 2)] * 2, "positive multiple"),
          ({"layout": "NCW"}, [(2, 4, 3, 2)] * 2, "4 letters"), ({}, [(2, 3, 3, 2), (4, 2, 3, 2)], ""),
          ({}, [(2, 4, 2, 2), (4, 2, 3, 2)], "window of"),
          ({"dilate": (1, 2)}, [(2, 4, 3, 2), (4, 2, 3, 2)], "window of")]),
    Edge("Deconvolution", CONV | {"stride": (1, 3), "adj": (0, 2)}, ([(2, 4, 2, 3), (4, 2, 3, 2)], [(2, 4, 4, 10)]),
         [({"adj": (0, 3)}, [(2, 4, 2, 3), (4, 2, 3, 2)], "less than stride"),
          ({"adj": (1, 2)}, [(2, 4, 2, 3), (4, 2, 3, 2)], "less than stride"),
          ({"adj": (2,)}, [(2, 4, 2, 3), (4, 2, 3, 2)], "adj.*2 sizes"),
          ({"target_shape": (4,)}, [(2, 4, 2, 3), (4, 2, 3, 2)], "target_shape.*2 sizes"),
          ({"target_shape": (5, 7)}, [(2, 4, 2, 3), (4, 2, 3, 2)], "wanted at most"),
          ({"layout": "NHWC"}, [(2, 4, 2, 3), (4, 2, 3, 2)], "channels first"),
          ({"num_filter": 3}, [(2, 4, 2, 3), (4, 2, 3, 2)], "positive multiple"),
          ({"num_group": 3, "num_filter": 3}, [(2, 4, 2, 3), (4, 1, 3, 2)], "multiple of num_group=3"),
          ({"pad": (3, 0)}, [(2, 4, 2, 3), (4, 2, 3, 2)], "cuts off more")]),
    Edge("Deconvolution", CONV | {"pad": (2, 0)}, ([(2, 4, 2, 3), (4, 2, 3, 2)], [(2, 4, 0, 4)]), []),
    Edge("Deconvolution", CONV | {"stride": (3, 3), "target_shape": (6, 8)}, ([(2, 4, 2, 3), (4, 2, 3, 2)], [(2, 4, 6, 8)]), []),
    Edge("im2col", {"kernel": (2, 3), "stride": (1, 2)}, ([(2, 3, 2, 5)], [(2, 18, 2)]),
         [({}, [(2, 3, 1, 5)], "window of"),
          ({}, [(2, 3, 5)], "4 dimensions")]),
    Edge("col2im", COL, ([(1, 8, 4)], [(1, 2, 4, 3)]),
         [({"output_size": (4,)}, [(1, 8, 4)], "2 sizes"), ({}, [(1, 8, 5)], "got 5 columns, wanted 4"),
          ({}, [(1, 6, 4)], "multiple of the 4"), ({"output_size": (1, 3)}, [(1, 8, 4)], "window of"),
          ({}, [(8, 4)], "3 dim")]),
    Edge("_zeros", {"shape": (2, 3)}, ([], [(2, 3)]), []),
    Edge("_arange", {"start": 1, "stop": 6, "step": 2}, ([], [(3,)]),
         [({"step": 0}, [], "step 0"), ({"step": -2}, [], "invalid range"), ({"stop": 0}, [], "invalid range"),
          ({"stop": float("inf")}, [], "finite"), ({"repeat": 0}, [], "")]),
    Edge("_arange", {"start": 5, "stop": 5}, ([], [(0,)]), []),
    Edge("_npi_arange", {"start": 5, "stop": 1, "step": 1}, ([], [(0,)]), [({"stop": float("nan")}, [], "finite")]),
    Edge("_npi_indices", {"dimensions": (0, 2)}, ([], [(2, 0, 2)]), [({"dimensions": (2, -1)}, [], "no negative")]),
    Edge("_npi_logspace", {"start": 0, "stop": 1, "num": 0}, ([], [(0,)]), [({"num": -1}, [], "0 or more")]),
    Edge("_npi_identity", {"shape": (2, 3)}, ([], [(2, 3)]),
         [({"shape": (2,)}, [], "two sizes"), ({"shape": (2, -1)}, [], "two")]),
    Edge("_npi_hanning", {"M": 0}, ([], [(0,)]), [({"M": None}, [], "required")]),
    Edge("_contrib_DeformableConvolution", DEFORM, ([(1, 4, 3, 4), (1, 24, 2, 2), (4, 2, 2, 3)], [(1, 4, 2, 2)]),
         [({"kernel": (2,)}, [(1, 4, 3), (1, 24, 2), (4, 2, 2)], "two sizes"),
          ({"num_filter": 3}, [(1, 4, 3, 4), (1, 24, 2, 2), (4, 2, 2, 3)], "positive multiple"),
          ({}, [(1, 5, 3, 4), (1, 24, 2, 2), (4, 2, 2, 3)], "multiple"),
          ({"num_deformable_group": 3}, [(1, 4, 3, 4), (1, 36, 2, 2), (4, 2, 2, 3)], "num_deformable_group=3, wanted a multiple"),
          ({}, [(0, 4, 3, 4), (0, 24, 2, 2), (4, 2, 2, 3)], "an element")]),
    Edge("_contrib_ModulatedDeformableConvolution", DEFORM,
          ([(1, 4, 3, 4), (1, 24, 2, 2), (1, 12, 2, 2), (4, 2, 2, 3)], [(1, 4, 2, 2)]),
         [({"num_deformable_group": 3}, [(1, 6, 3, 4), (1, 36, 2, 2), (1, 18, 2, 2), (4, 3, 2, 3)], "wanted a multiple"),
          ({}, [(1, 4, 3, 4), (1, 24, 2, 2), (1, 10, 2, 2), (4, 2, 2, 3)], "")]),
    Edge("_random_pdf_normal", {}, ([(2, 3), (2,), (2,)], [(2, 3)]), [({}, [(2,), (2, 3), (2, 3)], "no fewer axes"),
          ({}, [(3, 2), (2,), (2,)], "")]),
    Edge("_random_pdf_dirichlet", {}, ([(2, 5, 3), (2, 3)], [(2, 5)]), [({}, [(3,), (2, 3)], "no fewer axes"),
          ({}, [(2, 5, 4), (2, 3)], "")]),
    Edge("_contrib_MultiBoxPrior", {"sizes": (0.5, 0.3), "ratios": (1, 2, 3)}, ([(1, 2, 3, 4)], [(1, 48, 4)]),
         [({"sizes": ()}, [(1, 2, 3, 4)], "at least one"), ({"ratios": ()}, [(1, 2, 3, 4)], "at least one"),
          ({"steps": (0.1,)}, [(1, 2, 3, 4)], "two numbers"), ({"offsets": (0.5,) * 3}, [(1, 2, 3, 4)], "two numbers"),
          ({"steps": (0.1, -1)}, [(1, 2, 3, 4)], "both y and x"), ({}, [(1, 2, 3)], "4 dimensions")]),
    Edge("_contrib_MultiBoxPrior", {}, None, [({}, [(1, 2, 3, 4)], "float32")], np.float64),
    Edge("_contrib_box_nms", BOXES, ([(2, 3, 6)], [(2, 3, 6)]),
         [({}, [(6,)], "at least 2"), ({}, [(3, 5)], "coord_start 2"), ({"score_index": 6}, [(3, 6)], "score_index 6"),
          ({"id_index": 6}, [(3, 6)], "id_index"), ({"coord_start": -1}, [(3, 6)], "coord_start -1"),
          ({"score_index": -1}, [(3, 6)], "score_index -1")]),
    Edge("_contrib_box_iou", {}, ([(2, 3, 4), (5, 4)], [(2, 3, 5)]), [({}, [(2, 5), (5, 4)], "lhs.*4 numbers"),
          ({}, [(2, 4), (5, 3)], "rhs.*4 numbers"),
          ({}, [(4,), (5, 4)], "lhs"),
          ({}, [(2, 4), (4,)], "rhs")]),
    Edge("_contrib_MultiBoxTarget", {}, ([(1, 6, 4), (2, 3, 5), (2, 3, 6)], [(2, 24), (2, 24), (2, 6)]),
         [({}, [(1, 6, 4), (2, 3, 4), (2, 3, 6)], "at least 5"), ({}, [(1, 6, 4), (2, 3, 5), (2, 3, 5)], ""),
          ({}, [(1, 0, 4), (2, 3, 5), (2, 3, 0)], "an element"),
          ({"variances": (1, 2, 3)}, [(1, 6, 4), (2, 3, 5), (2, 3, 6)], "four")]),
    Edge("_contrib_bipartite_matching", {"threshold": 0.1}, ([(2, 3)], [(2,), (3,)]), [({}, [(3,)], "at least 2")]),
    Edge("broadcast_to", {"shape": (2, 0, 4)}, ([(2, 3, 1)], [(2, 3, 4)]),
         [({}, [(2, 3, 2)], "axis 2"), ({}, [(2, 3)], "wanted 3")]),
    Edge("_npi_broadcast_to", {"shape": (5, -2, 4)}, ([(3, 1)], [(5, 3, 4)]), [({}, [(1, 2, 3, 4)], "at most 3")]),
    Edge("broadcast_axis", {"axis": (0, -1), "size": (2, 4)}, ([(1, 3, 1)], [(2, 3, 4)]),
         [({"size": (2,)}, [(1, 3, 1)], "equal lengths"), ({}, [(1, 3, 4)], "axis 2"),
          ({"axis": (0, 3)}, [(1, 3, 1)], "axis 3")]),
    Edge("broadcast_like", {"lhs_axes": (1,), "rhs_axes": (-1,)}, ([(2, 1), (3, 4, 5)], [(2, 5)]),
         [({"rhs_axes": None}, [(2, 1), (3, 4, 5)], "equally many"),
          ({"rhs_axes": (0, 1)}, [(2, 1), (3, 4, 5)], "equal lengths"),
          ({"lhs_axes": None, "rhs_axes": None}, [(2, 1), (3, 4, 5)], "equally many"),
          ({}, [(2, 3), (3, 4, 5)], "axis 1")]),
    Edge("tile", {"reps": (2, 0)}, ([(3, 4)], [(6, 0)]), [({"reps": (2, -1)}, [(3, 4)], "no negative")]),
    Edge("repeat", {"repeats": 2, "axis": -2}, ([(3, 4)], [(6, 4)]),
         [({"axis": 2}, [(3, 4)], "axis 2"), ({"repeats": -1}, [(3,)], "")]),
    Edge("Pad", {"mode": "reflect", "pad_width": (0, 0, 0, 0, 2, 1, 0, 3)}, ([(1, 2, 3, 4)], [(1, 2, 6, 7)]),
         [({}, [(1, 2, 2, 4)], "cannot reflect 2"), ({}, [(1, 2, 3, 3)], "cannot reflect 3"),
          ({"pad_width": (0, 0, 0, 0, 1, 1)}, [(1, 2, 3)], "8 or 10"),
          ({"pad_width": (0,) * 7 + (-1,)}, [(1, 2, 3, 4)], ""),
          ({"pad_width": (0, 0, 1, 0, 2, 1, 0, 3)}, [(1, 2, 3, 4)], "first two"), ({}, [(1, 2, 3)], "4 dim"),
          ({"mode": "edge"}, [(1, 2, 0, 4)], "an element")]),
    Edge("Pad", {"mode": "edge", "pad_width": (0,) * 9 + (2,)}, ([(1, 2, 0, 3, 1)], [(1, 2, 0, 3, 3)]), []),
    Edge("_npi_pad", {"pad_width": ((1, 0), (0, 2)), "mode": "edge"}, ([(1, 3)], [(2, 5)]),
         [({"pad_width": ((1, 0), (2,))}, [(1, 3)], "pairs"), ({"pad_width": ((1, 0), (0, -2))}, [(1, 3)], "pairs"),
          ({}, [(0, 3)], "an element"), ({}, [(1, 3, 2)], "2 dim")]),
    Edge("_fused_scaled", {"num_group": 2, "transposed": True}, ([(4, 3, 2), (6,)], [(4, 3, 2)]),
         [({}, [(3, 3, 2), (6,)], "multiple of 2 groups"), ({}, [(4, 3, 2), (3,)], "same number"),
          ({}, [(4, 3, 2), (6, 1)], "scale")]),
    Edge("_fused_chain", CHAIN, ([(2, 1), (3,)], [(2, 3)]),
         [({"code": "$0 add"}, [(2,), (2,)], "too few operands"),
          ({"code": "$0 $2 add"}, [(2,), (2,)], "none of 2 inputs"),
          ({"code": "$0 $x add"}, [(2,), (2,)], "none of 2"),
          ({"code": "$0 foo"}, [(2,), (2,)], "no opcode and no number"),
          ({"code": "$0 $1"}, [(2,), (2,)], "one result"), ({"code": "1.5"}, [(2,), (2,)], "of inputs")]),
    Edge("_fused_chain", {"num_args": 1, "code": "$0 0.5 mul"}, None,
         [({}, [(2,)], "0.5, wanted floats"), ({"code": "$0 300 add"}, [(2,)], "300"),
          ({"code": "$0 exp"}, [(2,)], "exp, wanted floats")], np.uint8),
    Edge("_image_flip_left_right", {}, ([(2, 3, 1)], [(2, 3, 1)]),
         [({}, [(2, 3, 2)], "1 or 3 channels"), ({}, [(1, 2, 3, 3)], "3 dim")]),
    Edge("_image_normalize", {"mean": (0.5,), "std": (1, 2, 3)}, ([(2, 3, 4, 5)], [(2, 3, 4, 5)]),
         [({}, [(2, 4, 5)], "1 or 3 channels"), ({}, [(1, 4, 5)], "std.*for 1 channels"),
          ({"mean": (1, 2)}, [(3, 4, 5)], "mean")]),
    Edge("_image_crop", CROP, ([(4, 4, 3)], [(2, 3, 3)]),
         [({}, [(3, 4, 3)], r"y \+ height = 4"), ({}, [(4, 3, 3)], r"x \+ width = 4"),
          ({"width": 0}, [(4, 4, 3)], "at least 1"),
          ({"height": 0}, [(4, 4, 3)], "at least 1"), ({"x": -1}, [(4, 4, 3)], "at least 0"),
          ({"y": -1}, [(4, 4, 3)], "at least 0")]),
    Edge("_image_resize", {"size": (3,), "keep_ratio": True}, ([(2, 6, 4, 1)], [(2, 4, 3, 1)]),
         [({"size": ()}, [(6, 4, 1)], "got size"), ({"size": (1, 2, 3)}, [(6, 4, 1)], "got size"),
          ({"size": (0,)}, [(6, 4, 1)], "got size"),
          ({"interp": 6}, [(6, 4, 1)], "0 to 5"), ({"interp": -1}, [(6, 4, 1)], "0 to 5"), ({}, [(6, 0, 1)], "")]),
    Edge("_image_resize", {"size": (3, 5)}, None, [({}, [(6, 4, 1)], "cast them")], np.int64),
    Edge("_image_random_brightness", {"min_factor": 0.5, "max_factor": 0.5}, ([(4, 5, 3)], [(4, 5, 3)]),
         [({"min_factor": 0.6}, [(4, 5, 3)], "got factors"), ({"min_factor": -0.1}, [(4, 5, 3)], "at least 0"),
          ({"max_factor": float("inf")}, [(4, 5, 3)], "got factors")]),
    Edge("_image_adjust_lighting", {"alpha": (1, 2, 3)}, ([(4, 5, 3)], [(4, 5, 3)]),
         [({"alpha": (1, 2)}, [(4, 5, 3)], "3 numbers")]),
    Edge("take", {"axis": -1}, ([(2, 3), (0, 5)], [(2, 0, 5)]),
         [({}, [(2, 0), (1,)], "an element"), ({"axis": 2}, [(2, 3), (1,)], "axis 2")]),
    Edge("take", {"axis": 1}, ([(2, 0), (0,)], [(2, 0)]), []),
    Edge("batch_take", {}, ([(2, 3), (2,)], [(2,)]),
         [({}, [(2, 3, 1), (2,)], "2 dim"), ({}, [(2, 0), (2,)], "an element"),
          ({}, [(2, 3), (3,)], "")], (F32, np.int32)),
    Edge("batch_take", {}, None, [({}, [(2, 3), (2,)], "wanted int32")], (F32, np.int64)),
    Edge("pick", {"axis": 0, "keepdims": True}, ([(2, 3), (3,)], [(1, 3)]),
         [({"axis": None}, [(2, 3), (3,)], "wants an axis"),
          ({}, [(0, 3), (3,)], "an element")]),
    Edge("gather_nd", {}, ([(2, 3), (2, 5)], [(5,)]),
         [({}, [(2, 3), ()], "first axis"), ({}, [(2, 3), (3, 5)], "3 coordinates")]),
    Edge("scatter_nd", {"shape": (4, 3)}, ([(5, 3), (1, 5)], [(4, 3)]), [({}, [(5, 3), ()], "got indices"),
          ({}, [(5,), (3, 5)], "got indices"),
          ({}, [(5, 2), (1, 5)], "")]),
    Edge("fill_element_0index", {}, ([(2, 3), (2,), (2,)], [(2, 3)]),
         [({}, [(2,), (2,), (2,)], "2 dim"), ({}, [(2, 3), (3,), (2,)], ""),
          ({}, [(2, 3), (2,), (3,)], "")]),
    Edge("_ravel_multi_index", {"shape": (4, 5)}, ([(2, 3)], [(3,)]), [({}, [(2,)], "2 dim"), ({}, [(3, 3)], "")]),
    Edge("_unravel_index", {"shape": (4, 5)}, ([(3,)], [(2, 3)]),
         [({}, [(3, 1)], "1 dimension"), ({"shape": ()}, [(3,)], "")]),
    Edge("_contrib_index_copy", {}, ([(5, 3), (2,), (2, 3)], [(5, 3)]), [({}, [(5, 3), (2, 1), (2, 3)], "1 dimension"),
          ({}, [(5, 3), (2,), (3, 3)], "")], (F32, np.int32, F32)),
    Edge("_contrib_boolean_mask", {}, None,
         [({}, [(), ()], "wanted rows"), ({"axis": 1}, [(2, 3), (2,)], "wants 0"), ({}, [(2, 3), (3,)], "")]),
    Edge("_npi_hsplit", {"indices": (0, 1)}, ([(3,)], [(1,), (2,)]),
         [({}, [()], "without dimensions"), ({"indices": (1,)}, [(3,)], "0 first"),
          ({"indices": (0, 4)}, [(3,)], "cannot cut"),
          ({"indices": ()}, [(3,)], "one of indices")]),
    Edge("_npi_dsplit", {"indices": (), "sections": 3}, ([(1, 2, 4)], [(1, 2, 2), (1, 2, 1), (1, 2, 1)]),
         [({}, [(2, 4)], "axis 2")]),
    Edge("SliceChannel", {"num_outputs": 2, "axis": -2}, ([(2, 4, 3)], [(2, 2, 3)] * 2),
         [({}, [(2, 3, 3)], "2 equal pieces"), ({"squeeze_axis": True}, [(2, 4, 3)], "pieces of size 1"),
          ({"num_outputs": 0}, [(2, 4, 3)], "")]),
    Edge("stack", {"num_args": 2, "axis": -3}, ([(2, 3)] * 2, [(2, 2, 3)]),
         [({"axis": 3}, [(2, 3)] * 2, "axis 3"), ({}, [(2, 3), (2, 2)], "")]),
    Edge("_npi_tensordot", {"a_axes_summed": (0, 2), "b_axes_summed": (-2, -3)}, ([(2, 3, 4), (4, 2, 5)], [(3, 5)]),
         [({"a_axes_summed": (0,)}, [(2, 3, 4), (4, 2, 5)], "as many"),
          ({"a_axes_summed": (0, 3)}, [(2, 3, 4), (4, 2, 5)], "axis 3")]),
    Edge("_npi_tensordot_int_axes", {"axes": 2}, ([(2, 3, 4), (3, 4, 5)], [(2, 5)]),
         [({"axes": -1}, [(2, 3), (3, 4)], "axes=-1"), ({"axes": 3}, [(2, 3, 4), (3, 4)], "axes=3"),
          ({}, [(2, 3, 4), (4, 3)], "")]),
    Edge("_npi_tensordot_int_axes", {"axes": 0}, ([(2, 3), (4,)], [(2, 3, 4)]), []),
    Edge("_linalg_extracttrian", {"offset": -2}, ([(2, 3, 3)], [(2, 1)]),
         [({"offset": 3}, [(2, 3, 3)], "an offset within"),
          ({}, [(2, 3, 4)], "square"),
          ({}, [(3,)], "at least 2")]),
    Edge("_linalg_maketrian", {"offset": 1}, ([(2, 6)], [(2, 4, 4)]), [({}, [(2, 5)], "elements along the last")]),
    Edge("_linalg_trmm", {"rightside": True}, ([(3, 3), (4, 3)], [(4, 3)]),
         [({}, [(3, 3), (1, 4, 3)], "as many dim"), ({}, [(3, 3), (3, 4)], ""),
          ({}, [(3,), (3,)], "at least 2")]),
    Edge("_linalg_gelqf", {}, ([(3, 3)], [(3, 3), (3, 3)]), [({}, [(4, 3)], "at most as many rows")]),
    Edge("_linalg_syrk", {"transpose": True}, ([(2, 3, 4)], [(2, 4, 4)]), [({}, [(3,)], "at least 2")]),
    Edge("dot", {"transpose_a": True}, ([(4, 2, 3), (4, 5)], [(2, 3, 5)]),
         [({}, [(), (4, 5)], "without dim"), ({}, [(4, 2), ()], "without dim")]),
    Edge("_linalg_gemm2", {"axis": 0}, ([(3, 2, 4), (4, 2, 5)], [(3, 2, 5)]),
         [({"axis": 2}, [(3, 2, 4), (4, 2, 5)], "another than the last"),
          ({"axis": -1}, [(3, 4), (4, 5)], "another than the last"),
          ({}, [(3, 4), (1, 4, 5)], "as many")]),
    Edge("_npi_matmul", {}, ([(4,), (2, 4, 5)], [(2, 5)]),
         [({}, [(), (4,)], "without dim"), ({}, [(4,), ()], "without dim")]),
    Edge("khatri_rao", {"num_args": 2}, ([(2, 3), (4, 3)], [(8, 3)]),
         [({}, [(2, 3), (3,)], "2 dim"), ({}, [(2, 3), (4, 2)], "")]),
    Edge("diag", {"k": 3, "axis1": 0, "axis2": 2}, ([(2, 5, 3)], [(5, 0)]), []),
    Edge("diag", {"k": -2, "axis1": 0, "axis2": 2}, ([(2, 5, 3)], [(5, 0)]),
         [({"k": -3}, [(2, 5, 3)], "no diagonal k=-3"),
          ({"k": 4}, [(2, 5, 3)], "no diagonal k=4"),
          ({"axis2": -3}, [(2, 5, 3)], "two different")]),
    Edge("_np_diagonal", {"offset": 9}, ([(2, 3)], [(0,)]), [({}, [(3,)], "at least 2")]),
    Edge("_np_diag", {"k": -1}, ([(2,)], [(3, 3)]), [({}, [(1, 2, 3)], "1 or 2 dim"), ({}, [()], "1 or 2 dim")]),
    Edge("_npi_tril", {"k": 1}, ([(3,)], [(3, 3)]), [({}, [()], "without dim")]),
    Edge("_np_roll", {"shift": (2,), "axis": (0, -1)}, ([(2, 3)], [(2, 3)]),
         [({"shift": (1, 2, 3)}, [(2, 3)], "equal lengths"), ({"shift": ()}, [(2, 3)], "equal lengths"),
          ({"shift": None}, [(2, 3)], "equal"),
          ({"shift": (1, 2), "axis": None}, [(2, 3)], "without axis"), ({"axis": (2,)}, [(2, 3)], "axis 2")]),
    Edge("_npi_rot90", {"axes": (-1, 0), "k": 3}, ([(2, 3, 4)], [(4, 3, 2)]),
         [({"axes": (1, -2)}, [(2, 3, 4)], "two different"), ({"axes": (0, 1, 2)}, [(2, 3, 4)], "two different"),
          ({}, [(3,)], "two different")]),
]  # fmt: skip


def check_edge(edge: Edge) -> None:
    """Fail unless what fits is taken, with the outputs it says, and what lies beyond refused in words."""
    if edge.fits is not None:
        shapes, wanted = edge.fits
        found = answered(edge.operator, edge.attrs, shapes, edge.dtype)
        assert wanted is None or found == wanted, f"{found}, wanted {wanted}"
    for attrs, shapes, words in edge.beyond:
        try:
            found = answered(edge.operator, edge.attrs | attrs, shapes, edge.dtype)
        except ValueError as error:
            assert isinstance(error, OpError), f"{attrs} {shapes}: {error!r}"
            assert re.search(words, str(error)), f"{attrs} {shapes}: {error}, wanted {words!r}"
        else:
            raise AssertionError(f"{attrs} {shapes} gave {found}")


def test_what_lies_beyond_is_refused_and_what_lies_before_is_taken() -> None:
    run([(f"{number} {edge.operator}", edge) for number, edge in enumerate(EDGES)], check_edge)
