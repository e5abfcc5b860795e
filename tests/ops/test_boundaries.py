"""Numbers where one rule ends and another begins: at zero, at a limit, of none and of one; by NumPy and MXNet 1.9.1."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from converters import to_onnx
from hybrid import autograd, cpu, nd, sym
from hybrid.core.error import MXNetError
from hybrid.core.op import REGISTRY, Domain, lookup
from hybrid.core.shapes import UNKNOWN
from hybrid.eager.array import invoke
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.quantization import _smooth
from hybrid.ops.subgraph import homogeneous
from tests.grouped import run
from tests.table.goldens import run_onnx

SELU = 1.0507009873554805
Z = [[-1, 0, 2], [0, 0, 1]]
HEAD = [[2, 3, 4], [5, 6, 7]]
E1 = float(np.exp(-1))
INF = np.inf
NONE = np.zeros(0, np.float32)


def wide(values: Any) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else np.array(values, np.float32)


def computed(name: str, attrs: dict[str, Any], arrays: list[Any], native: bool | None = None) -> list[np.ndarray]:
    """All outputs of one operator, by NumPy unless asked otherwise."""
    op = lookup(name).bind(**attrs)
    names = op.input_names()
    node = Node(op, "node", [Entry(Node(None, n)) for n in names])
    graph = Graph(Entry(node, i) for i in range(node.num_visible_outputs))
    return Program(graph, native=bool(native)).run(dict(zip(names, map(wide, arrays), strict=True)))


# name, attributes, inputs, what comes out (None: not looked at)
VALUES: list[tuple[str, dict[str, Any], list[Any], list[Any]]] = [
    ("_np_sum", {"initial": 2.5}, [[[1, 2], [3, 5]]], [13.5]),
    ("_np_sum", {"initial": 2.5, "axis": (0,)}, [[[1, 2], [3, 5]]], [[6.5, 9.5]]),
    ("_np_prod", {"initial": 2.5, "axis": (1,)}, [[[1, 2], [3, 5]]], [[5, 37.5]]),
    ("_np_max", {"initial": 4.0, "axis": (0,)}, [[[1, 2], [3, 5]]], [[4, 5]]),
    ("_np_min", {"initial": 2.0, "axis": (1,)}, [[[1, 2], [3, 5]]], [[1, 2]]),
    # MXNet 1.9.1 on these: what it adds up takes inf - inf where a number follows
    ("nansum", {}, [[np.nan, INF, 2]], [[np.nan]]),
    ("nansum", {}, [[-INF, np.nan]], [[-INF]]),
    ("nansum", {"axis": 1}, [[[np.nan, 1], [INF, 2]]], [[1, np.nan]]),
    ("nansum", {}, [np.array([3, 4], np.int32)], [[7]]),
    *(("_np_trace", {"offset": k}, [np.arange(1, 13, dtype=np.float32).reshape(3, 4)],
       [np.trace(np.arange(1, 13).reshape(3, 4), k)]) for k in (-4, -3, -2, -1, 0, 1, 3, 4, 5)),
    ("_np_trace", {"offset": 2**62}, [[[1, 2], [3, 4]]], [0]),
    ("_np_trace", {"offset": -(2**62)}, [[[1, 2], [3, 4]]], [0]),
    ("_np_roll", {"shift": (1, -1), "axis": (-1, 0)}, [[[1, 2, 3], [4, 5, 6]]], [[[6, 4, 5], [3, 1, 2]]]),
    ("reverse", {"axis": (2, 0)}, [np.arange(8, dtype=np.float32).reshape(2, 2, 2)], [[[[5, 4], [7, 6]], [[1, 0],
     [3, 2]]]]),
    ("tile", {"reps": (2, 0, 3)}, [[1, 2]], [np.zeros((2, 0, 6))]),
    ("tile", {"reps": (0,)}, [[[1, 2]]], [np.zeros((1, 0))]),
    ("broadcast_like", {"lhs_axes": (), "rhs_axes": ()}, [[1, 2], [3, 4]], [[1, 2]]),
    # with topk=0 MXNet 1.9.1 does nothing at all
    ("_contrib_box_nms", {"topk": 0, "overlap_thresh": 0.5, "coord_start": 1, "score_index": 0},
     [[[0.1, 0, 0, 1, 1], [0.3, 2, 2, 3, 3], [0.2, 4, 4, 5, 5]]], [[[0.1, 0, 0, 1, 1], [0.3, 2, 2, 3, 3],
     [0.2, 4, 4, 5, 5]]]),
    ("_contrib_box_nms", {"topk": 1, "overlap_thresh": 0.5, "coord_start": 1, "score_index": 0},
     [[[0.1, 0, 0, 1, 1], [0.3, 2, 2, 3, 3]]], [[[0.3, 2, 2, 3, 3], [-1] * 5]]),
    ("reset_arrays", {"num_arrays": 1}, [[1, 2]], []),
    ("amp_multicast", {"num_outputs": 1}, [np.array([1, 2], np.float16)], [np.array([1, 2], np.float16)]),
    ("multi_lars", {"eta": 0.5, "eps": 0.25}, [[1, 2, 3, 4], [4, 0, 9, 16], [1, 4, 0, 4], [0.5, 0.5, 0.5, 0.25]],
     [[1 * 0.5 * 2 / (1 + 0.5 * 2 + 0.25), 2, 3, 4 * 0.5 * 4 / (2 + 0.25 * 4 + 0.25)]]),
    ("sgd_update", {"lr": 0.5, "clip_gradient": 0.0}, [[1, 2], [4, -8]], [[1, 2]]),
    ("sgd_update", {"lr": 0.5, "clip_gradient": 2.0}, [[1, 2], [4, -8]], [[0, 3]]),
    ("sgd_update", {"lr": 0.5, "clip_gradient": -2.0}, [[1, 2], [4, -8]], [[-1, 6]]),
    ("lamb_update_phase2", {"lr": 0.5, "lower_bound": 0.0}, [[1, 2], [2, 4], [-1], [4]], [[0, 0]]),
    ("lamb_update_phase2", {"lr": 0.5, "lower_bound": 16.0}, [[1, 2], [2, 4], [8], [4]], [[-3, -6]]),
    ("lamb_update_phase2", {"lr": 0.5, "upper_bound": 4.0}, [[1, 2], [2, 4], [8], [4]], [[0, 0]]),
    ("lamb_update_phase2", {"lr": 0.5, "upper_bound": 4.0}, [[1, 2], [2, 4], [8], [0]], [[0, 0]]),
    ("lamb_update_phase2", {"lr": 0.5, "upper_bound": 0.0}, [[1, 2], [2, 4], [8], [4]], [[0, 0]]),
    ("_plus_scalar", {"scalar": 2.0**63, "is_int": True}, [np.array([1, 2], np.int64)], [[1 - 2**63, 2 - 2**63]]),
    ("_plus_scalar", {"scalar": -INF, "is_int": True}, [np.array([1, 2], np.int64)], [[1 - 2**63, 2 - 2**63]]),
    ("_maximum_scalar", {"scalar": 2.0**62 + 2**10, "is_int": True}, [np.array([1, 2**62 + 2**11], np.int64)],
     [[2**62 + 2**10, 2**62 + 2**11]]),
    ("_shuffle", {}, [np.float32(3)], [3]),
    # a window of nothing but padding holds the least number of the dtype, in MXNet too
    ("Pooling", {"kernel": (1, 2), "pad": (0, 2), "stride": (1, 2)}, [np.array([[[[1, 2]]]], np.float16)],
     [[[[[-65504, 2, -65504]]]]]),
    ("Pooling", {"kernel": (1, 2), "stride": (1, 3), "pooling_convention": "full"}, [np.array([[[[1, 2, -3]]]], np.float16)],
     [[[[[2, -65504]]]]]),
    ("Pooling", {"kernel": (1, 2), "stride": (1, 2), "pooling_convention": "full", "output_size": "None"},
     [np.array([[[[1, 2, -3]]]], np.float16)], [[[[[2, -3]]]]]),
    ("Pooling", {"kernel": (1, 2), "global_pool": True, "pad": (0, 3)}, [np.array([[[[-1, -2, -3]]]], np.float16)], [[[[[-1]]]]]),
    ("scatter_nd", {"shape": (2, 3)}, [NONE, np.zeros((2, 0), np.float32)], [np.zeros((2, 3))]),
    ("_scatter_set_nd", {"shape": (2, 2)}, [[[1, 2], [3, 4]], NONE, np.zeros((2, 0), np.float32)], [[[1, 2], [3, 4]]]),
    ("fill_element_0index", {}, [np.zeros((0, 3), np.float32), NONE, NONE], [np.zeros((0, 3))]),
    ("_backward_sort", {"axis": 1}, [np.zeros((2, 0), np.float32)] * 2 + [[[1, 2, 3], [4, 5, 6]]], [np.zeros((2, 3))]),
    ("_contrib_box_encode", {}, [np.zeros((0, 3), np.float32)] * 2 + [np.zeros((0, 3, 4), np.float32)] * 2 + [[0] * 4, [1] * 4],
     [np.zeros((0, 3, 4))] * 2),
    ("CTCLoss", {}, [np.zeros((3, 0, 4), np.float32), np.zeros((0, 2), np.float32)], [NONE]),
    ("CTCLoss", {}, [np.zeros((3, 2, 4), np.float32), np.zeros((2, 0), np.float32)], [[3 * np.log(4)] * 2]),
    # MXNet 1.9.1 on these numbers: a topk of 0 is none, and pads may be wider than what a kernel adds
    ("_contrib_bipartite_matching", {"threshold": 0.1, "topk": 0}, [[[0.9, 0.8, 0.2], [0.7, 0.6, 0.3]]], [[0, 1], [0, 1, -1]]),
    ("Deconvolution", {"kernel": (2,), "pad": (2,), "num_filter": 1}, [[[[1, 2, 3, 4, 5, 6, 7, 8]]], [[[2, 3]]]],
     [[[[12, 17, 22, 27, 32]]]]),
    ("Deconvolution", {"kernel": (1, 2), "pad": (0, 2), "num_filter": 1},
     [[[[[1, 2, 3, 4], [5, 6, 7, 8]]]], [[[[2, 3]]]]], [[[[[12], [32]]]]]),
    # a probability below 1e-8 counts as that
    ("softmax_cross_entropy", {}, [[[0, 40, 0], [1, 2, 3]], [0, 1]],
     [[8 * np.log(10) + np.log(np.exp([-1, 0, 1]).sum())]]),
    # what is narrowed is narrowed last: squares of 525 are more than float16 holds, 2**24 + 1 than float32 does
    ("_npi_var", {"dtype": "float16"}, [np.array([600, 0, 0, 0, 0, 0, 0, 0], np.float64)], [np.float16(39375)]),
    ("_npi_std", {"dtype": "float16"}, [np.array([600, 0, 0, 0, 0, 0, 0, 0], np.float64)], [np.float16(np.sqrt(39375))]),
    ("_np_sum", {"dtype": "int32"}, [np.array([2**24 + 1, 2], np.float64)], [np.int32(2**24 + 3)]),
    ("_np_prod", {"dtype": "int32"}, [np.array([2**24 + 1, 2], np.float64)], [np.int32(2**25 + 2)]),
    ("_np_cumsum", {"dtype": "int32"}, [np.array([2**24 + 1, 2], np.float64)], [np.int32([2**24 + 1, 2**24 + 3])]),
    *(("_ravel_multi_index", {"shape": (5000, 5000)}, [np.array([[4999, 3], [4998, 7]], d)], [np.array([24999998, 15007], d)])
      for d in ("int64", "int32", "float64")),
    *(("_unravel_index", {"shape": (5000, 5000)}, [np.array([24999998, 15007], d)], [np.array([[4999, 3], [4998, 7]], d)])
      for d in ("int64", "int32", "float64")),
    # MXNet 1.9.1 on these numbers: places before the first are counted as C divides
    ("_unravel_index", {"shape": (3, 4)}, [[-5, -1, -13, 14]], [[[-1, 0, -3, 3], [-1, -1, -1, 2]]]),
    ("_unravel_index", {"shape": (2, 3, 4)}, [[-5, -14, 23]], [[[0, -1, 1], [-1, 0, 2], [-1, -2, 3]]]),
    ("_ravel_multi_index", {"shape": (3, 4)}, [[[-1, 2], [5, -3]]], [[1, 5]]),
    ("signsgd_update", {"lr": 0.5, "rescale_grad": -2.0, "clip_gradient": 0.1}, [[1, 2, 3], [2, -3, 0]], [[0.5, 2.5, 3]]),
    ("Deconvolution", {"kernel": (2, 2), "stride": (2, 2), "num_filter": 1, "target_shape": (0, 0)},
     [[[[[1, 2, 3], [4, 5, 6]]]], [[[[1, 2], [3, 4]]]]],
     [[[[[1, 2, 2, 4, 3, 6], [3, 4, 6, 8, 9, 12], [4, 8, 5, 10, 6, 12], [12, 16, 15, 20, 18, 24]]]]]),
    ("_npi_pad", {"pad_width": ((1, 0), (0, 0)), "constant_value": 2.7}, [np.array([[1, -1]], np.int32)],
     [np.array([[2, 2], [1, -1]], np.int32)]),
    # as NumPy counts, along axes in any order
    ("_contrib_index_array", {"axes": (2, 0)}, [np.zeros((2, 1, 3), np.float32)],
     [np.moveaxis(np.indices((2, 1, 3))[[2, 0]], 0, -1)]),
    ("argmax_channel", {}, [np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 7],
     [np.argmax(np.arange(24).reshape(2, 3, 4) % 7, 1)]),
    ("_scatter_set_nd", {"shape": (2, 5)}, [np.arange(10, dtype=np.float32).reshape(2, 5), [50, 60], [[1, 0], [4, -2]]],
     [[[0, 1, 2, 60, 4], [5, 6, 7, 8, 50]]]),
    # MXNet 1.9.1 on these numbers: no class twice in as many steps, and what lies behind the end of a label may be anything
    ("CTCLoss", {}, [[[[0.5, -1, 2]], [[1, 0.3, -0.7]]], [[1, 1]]], [[0]]),
    ("CTCLoss", {}, [[[[0.5, -1, 2]], [[1, 0.3, -0.7]]], [[1, 2]]], [[5.45967]]),
    ("CTCLoss", {"use_label_lengths": True}, [np.zeros((3, 1, 3), np.float32), [[1, 99]], [1]], [[1.5040774]]),
    ("_arange", {"start": 1, "stop": 7, "step": 2, "infer_range": True}, [], [[1, 3, 5]]),
    ("_arange", {"start": 1, "stop": 4, "infer_range": True, "repeat": 2}, [], [[1, 1, 2, 2, 3, 3]]),
    ("_backward_clip", {"a_min": 1, "a_max": 6},
     [np.array([1, 2, 3, 4, 5], np.int32), np.array([0, 1, 5, 6, 9], np.int32)], [[0, 2, 3, 4, 0]]),
    ("_contrib_quantized_elemwise_add", {"max_calib_range": 1.0},
     [np.array([100, -3], np.int8), np.array([27, 5], np.int8), [-1], [1], [-2], [2]], [None, [-3], [3]]),
    ("_contrib_quantized_elemwise_add", {"min_calib_range": -1.0},
     [np.array([100, -3], np.int8), np.array([27, 5], np.int8), [-1], [1], [-2], [2]], [None, [-3], [3]]),
    # MXNet 1.9.1: ranges that do not hold 0 are widened to it
    ("_contrib_quantized_concat", {"num_args": 2, "dim": 1},
     [np.array([[1, -2], [3, 100]], np.int8), np.array([[5], [-7]], np.int8), [1], [2], [0.5], [3]],
     [[[1, -1, 5], [2, 67, -7]], [0], [3]]),
    ("_sample_unique_zipfian", {"range_max": 5, "shape": (2, 0)}, [], [np.zeros((2, 0)), [0, 0]]),
    *(("_backward_Pooling" + end, {"kernel": (2, 2), "global_pool": True, "pool_type": "max"},
       [[[[[1, 2], [4, 8]]]], [[[[3, 1], [3, 3]]]], [[[[3]]]]], [[[[[wanted]]]]])
      for end, wanted in (("_pick", 1), ("_v1_pick", 13))),
    # chances are logarithms of the data as given, whatever it sums to
    ("_sample_multinomial", {"shape": (2,), "get_prob": True}, [[[0, 4, 0], [0, 0, 0.5]]],
     [[[1, 1], [2, 2]], np.log([[4, 4], [0.5, 0.5]])]),
    ("_contrib_allclose", {"rtol": 0.095, "atol": 0}, [[100], [110]], [1]),
    ("_contrib_allclose", {"rtol": 0.095, "atol": 0}, [[110], [100]], [0]),
    ("_contrib_allclose", {"rtol": 0, "atol": 1e-10}, [np.array([1.0]), np.array([1 + 1e-9])], [0]),
    ("ftrl_update", {"lr": 0.5, "lamda1": 2.0, "beta": 1.0}, [[0, 0, 0], [2, -2, 3], [0, 0, 0], [0, 0, 0]],
     [[0, 0, -1 / ((1 + 3) / 0.5)]]),
    ("_npi_insert_tensor", {"axis": 1}, [[[1, 2], [3, 4]], [[7], [8]], np.array(1)], [[[1, 7, 8, 2], [3, 7, 8, 4]]]),
    ("gather_nd", {}, [[[1, 2], [3, 4]], np.zeros((2, 0), np.float32)], [np.zeros(0)]),
    ("gather_nd", {}, [[[1, 2], [3, 4]], [[-1, 0], [-2, 1]]], [[3, 2]]),
    ("pick", {"axis": 0}, [[[1, 2], [3, 4]], [1, 0]], [[3, 2]]),
    ("pick", {"axis": 1}, [np.zeros((0, 3), np.float32), np.zeros(0, np.float32)], [np.zeros(0)]),
    ("softmax_cross_entropy", {}, [[[1, 2]], [1]], [[float(np.log(1 + np.exp(-1)))]]),
    ("_npi_bernoulli", {"prob": 0.0, "logit": None, "is_logit": False, "size": (3, 5)}, [], [np.zeros((3, 5))]),
    ("_npi_bernoulli", {"prob": 1.0, "logit": None, "is_logit": False, "size": (3, 5)}, [], [np.ones((3, 5))]),
    ("_npi_multinomial", {"n": 7, "pvals": (0.0, 1.0, 0.0)}, [], [[0, 7, 0]]),
    ("_npi_multinomial", {"n": 7, "pvals": (1.0 + 5e-13, 0.0)}, [], [[7, 0]]),
    ("_npi_multinomial", {"n": 7, "pvals": (0.0,)}, [], [[7]]),
    ("_npi_multinomial", {"n": 7, "pvals": (0.0, -0.5)}, [], [[0, 7]]),
    ("_npi_choice", {"a": 3, "size": (1,), "replace": False, "weighted": True}, [[0, 2, 0]], [[1]]),
    ("topk", {"k": 3, "ret_typ": "value"}, [[[1, 3, 3, 2], [4, 4, 0, 5]]], [[[3, 3, 2], [5, 4, 4]]]),
    ("_backward_SoftmaxOutput", {"normalization": "batch", "grad_scale": 6.0},
     [[[0.5, 0.25], [0.5, 0.75]], [0, 1, 1]], [[[-1, 0.5], [1, -0.5]]]),
    ("_backward_SoftmaxOutput", {"grad_scale": 2.0}, [[[0.5, 0.25], [0.5, 0.75]], [[0, 1], [0.5, 0]]], [[[1, -1.5], [0, 1.5]]]),
    ("_backward_MAERegressionOutput", {}, [[1, 2, 3], [2, 2, 2]], [[-1, -1, 1]]),
    ("topk", {"k": 4}, [[[1, 3, 3, 2], [4, 4, 0, 5]]], [[[1, 2, 3, 0], [3, 0, 1, 2]]]),
]  # fmt: skip


def test_values_at_boundaries() -> None:
    def check(row: tuple[str, dict[str, Any], list[Any], list[Any]]) -> None:
        name, attrs, arrays, wanted = row
        for native in (False, True):
            found = computed(name, attrs, arrays, native)
            for f, w in zip(found, wanted):
                if w is None:
                    continue
                w = np.asarray(w)
                assert f.shape == w.shape, f"{f.shape}, not {w.shape}"
                np.testing.assert_allclose(f, w, rtol=2e-6, atol=1e-6)

    run([(f"{number} {row[0]} {row[1]}", row) for number, row in enumerate(VALUES)], check)


# name, attributes, inputs, head, gradients of the inputs (None: not looked at)
GRADIENTS: list[tuple[str, dict[str, Any], list[Any], Any, list[Any]]] = [
    # places that float16 cannot hold
    ("topk", {"ret_typ": "value", "dtype": "float16"}, [np.arange(3000, dtype=np.float32)], [2], [2.0 * (np.arange(3000) == 2999)]),
    # the first three: MXNet 1.9.1 on these numbers
    ("LeakyReLU", {"act_type": "elu", "slope": 0.3}, [Z], HEAD, [[[0.6 * E1, 0.9, 4], [1.5, 1.8, 7]]]),
    ("LeakyReLU", {"act_type": "leaky", "slope": 0.3}, [Z], HEAD, [[[0.6, 0.9, 4], [1.5, 1.8, 7]]]),
    ("LeakyReLU", {"act_type": "prelu"}, [Z, [0.3, 0.5, 0.7]], HEAD, [[[0.6, 1.5, 4], [1.5, 3, 7]], [-2, 0, 0]]),
    ("LeakyReLU", {"act_type": "selu"}, [[0, 1]], [2, 3], [[2 * SELU * 1.6732632423543772, 3 * SELU]]),
    ("LeakyReLU", {"act_type": "rrelu", "lower_bound": 0.25, "upper_bound": 0.25}, [Z], HEAD, [[[0.5, 0.75, 4],
     [1.25, 1.5, 7]]]),
    ("hard_sigmoid", {"alpha": 0.25}, [[-2, -3, 0, 2, 5]], [2, 3, 4, 5, 6], [[0, 0, 1, 0, 0]]),
    # MXNet 1.9.1 on these numbers: of rank 3 without multi_output the first labels count, and all are counted
    *(("SoftmaxOutput", {"normalization": "valid", "use_ignore": True, "ignore_label": ignored},
       [np.zeros((2, 3, 4), np.float32), [[0, 1, 2], [1, 3, 1]]], np.zeros((2, 3, 4)),
       [(np.arange(24).reshape(2, 3, 4) < 12) / 36 - np.eye(24)[0].reshape(2, 3, 4) / 3, None]) for ignored in (1, 1.5)),
    # 2 to the power of a number that only infinity is beyond
    ("_npi_ldexp_scalar", {"scalar": 5000.0}, [[0.5, -2]], [1, -3], [[INF, -INF]]),
    ("CTCLoss", {}, [[[[0.5, -1, 2]], [[1, 0.3, -0.7]]], [[1, 1]]], [3], [np.zeros((2, 1, 3)), None]),
    ("CTCLoss", {}, [[[[0.5, -1, 2]], [[1, 0.3, -0.7]]], [[1, 2]]], [1],
     [[[[0.17529039, -0.96088743, 0.78559703]], [[0.59549725, 0.29571518, -0.89121246]]], None]),
    ("clip", {"a_min": -1, "a_max": 2}, [[-2, -1, 0, 2, 5]], [2, 3, 4, 5, 6], [[0, 3, 4, 5, 0]]),
    ("_npi_diff", {"n": 2}, [[1, 4]], np.zeros(0, np.float32), [[0, 0]]),
    ("_npi_diff", {"n": 2}, [[1, 4, 2]], [3], [[3, -6, 3]]),
    ("_npi_ediff1d", {}, [[5]], np.zeros(0, np.float32), [[0]]),
    ("_npi_ediff1d", {}, [[5, 7]], [3], [[-3, 3]]),
    ("LinearRegressionOutput", {}, [np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)], np.zeros((0, 3), np.float32),
     [np.zeros((0, 3)), None]),
    ("LinearRegressionOutput", {}, [np.zeros((3, 0), np.float32), np.zeros((3, 0), np.float32)], np.zeros((3, 0), np.float32),
     [np.zeros((3, 0)), None]),
    ("_backward_taken", {"axis": 1}, [[[1, 2, 3, 4], [5, 6, 7, 8]], [[3, 0], [1, 2]]], [[9, 8], [7, 6]],
     [[[8, 0, 0, 9], [0, 7, 6, 0]], None]),
    ("_backward_taken", {"axis": 0}, [[[1, 2], [5, 6]], [[1, 0]]], [[9, 8]], [[[0, 8], [9, 0]], None]),
    ("take", {}, [[[1, 2], [3, 4], [5, 6]], NONE], np.zeros((0, 2), np.float32), [np.zeros((3, 2)), None]),
    ("gather_nd", {}, [[[1, 2], [3, 4]], np.zeros((2, 0), np.float32)], NONE, [np.zeros((2, 2)), None]),
    ("LayerNorm", {}, [np.zeros((0, 3), np.float32), [1, 2, 3], [1, 2, 3]], np.zeros((0, 3), np.float32),
     [np.zeros((0, 3)), [0, 0, 0], [0, 0, 0]]),
    ("InstanceNorm", {}, [np.zeros((2, 0, 3), np.float32), NONE, NONE], np.zeros((2, 0, 3), np.float32),
     [np.zeros((2, 0, 3)), NONE, NONE]),
    ("InstanceNorm", {}, [np.zeros((0, 2, 3), np.float32), [1, 2], [1, 2]], np.zeros((0, 2, 3), np.float32),
     [np.zeros((0, 2, 3)), [0, 0], [0, 0]]),
    ("_np_trace", {"offset": 3}, [[[1, 2], [3, 4]]], 5, [[[0, 0], [0, 0]]]),
    ("_np_trace", {"offset": -1}, [[[1, 2], [3, 4]]], 5, [[[0, 0], [5, 0]]]),
    ("repeat", {"repeats": 2, "axis": 1}, [np.zeros((2, 3, 0), np.float32)], np.zeros((2, 6, 0), np.float32),
     [np.zeros((2, 3, 0))]),
    ("repeat", {"repeats": 2, "axis": 0}, [[[1, 2], [3, 4]]], [[1, 2], [3, 5], [7, 11], [13, 17]], [[[4, 7],
     [20, 28]]]),
    ("_np_roll", {"shift": (1, -1), "axis": (-1, 0)}, [[[1, 2, 3], [4, 5, 6]]], [[1, 2, 3], [4, 5, 6]], [[[5, 6, 4],
     [2, 3, 1]]]),
    # d std(x) / dx = (x - mean) / (std * (n - ddof)): mean 3, squares 4 + 1 + 9
    ("_npi_std", {"ddof": 1}, [[1, 2, 6]], 2, [[2 * v / (7**0.5 * 2) for v in (-2, -1, 3)]]),
    ("_npi_var", {"ddof": 1}, [[1, 2, 6]], 3, [[3 * 2 * v / 2 for v in (-2, -1, 3)]]),
    ("_npi_var", {}, [[1, 2, 6]], 3, [[3 * 2 * v / 3 for v in (-2, -1, 3)]]),
    ("norm", {"out_dtype": "float64"}, [[3, 4]], np.array([2.0]), [[1.2, 1.6]]),
    ("norm", {"ord": 1, "out_dtype": "float64"}, [[3, -4]], np.array([2.0]), [[2, -2]]),
    ("norm", {"ord": 1, "axis": (1,)}, [[[3, -4], [1, 2]]], [2, 3], [[[2, -2], [3, 3]]]),
    ("_np_sum", {"initial": 2.5, "axis": (0,)}, [[[1, 2], [3, 5]]], [2, 3], [[[2, 3], [2, 3]]]),
    ("MakeLoss", {"grad_scale": 6.0, "normalization": "valid", "valid_thresh": 9.0}, [[1, 2]], [1, 1], [[6, 6]]),
    ("MakeLoss", {"grad_scale": 6.0, "normalization": "valid", "valid_thresh": 1.0}, [[1, 2, 3]], [1, 1, 1],
     [[3, 3, 3]]),
    ("MakeLoss", {"grad_scale": 6.0, "normalization": "batch"}, [np.zeros((3, 2), np.float32)], np.ones((3, 2),
     np.float32),
     [np.full((3, 2), 2)]),
    ("SVMOutput", {"margin": 1.0, "use_linear": True}, [[[1, 2, -1]], [0]], [[1, 1, 1]], [[[0, 1, 0]], None]),
    ("SVMOutput", {"margin": 1.0}, [[[1, 2, -1]], [1]], [[1, 1, 1]], [[[4, 0, 0]], None]),
    ("SoftmaxOutput", {"normalization": "valid", "use_ignore": True, "ignore_label": 1}, [[[0, 0], [0, 0]],
     [1, 1]], HEAD, [[[0, 0], [0, 0]], None]),
    ("SoftmaxOutput", {"normalization": "valid", "use_ignore": True, "ignore_label": 1}, [[[0, 0], [0, 0]],
     [1, 0]], HEAD, [[[0, 0], [-0.5, 0.5]], None]),
    ("SoftmaxOutput", {"smooth_alpha": 0.25}, [[[3], [5]], [0, 0]], HEAD, [[[0.25], [0.25]], None]),
    ("SoftmaxOutput", {"smooth_alpha": 0.25}, [[[0, 0]], [0]], HEAD, [[[-0.25, 0.25]], None]),
    ("LinearRegressionOutput", {"grad_scale": 6.0}, [[[1, 2, 3], [4, 5, 6]], [[0, 0, 1], [0, 1, 0]]], HEAD,
     [[[2, 4, 4], [8, 8, 12]], None]),
    ("LinearRegressionOutput", {"grad_scale": 6.0}, [[1, 2], [3, 5]], [1, 1], [[-12, -18], None]),
    ("_split_v2", {"indices": (0,), "axis": 1}, [[[1, 2], [3, 4]]], [[5, 6], [7, 8]], [[[5, 6], [7, 8]]]),
    ("_rnn_param_concat", {"num_args": 3, "dim": 0}, [[1], [2, 3], [4]], [5, 6, 7, 8], [[5], [6, 7], [8]]),
    ("_np_atleast_2d", {"num_args": 1}, [[1, 2]], [[5, 6]], [[5, 6]]),
    ("amp_multicast", {"num_outputs": 1}, [[1, 2]], [5, 6], [[5, 6]]),
    ("tile", {"reps": (2, 1)}, [[1, 2]], [[3, 4], [5, 7]], [[8, 11]]),
]  # fmt: skip


def test_gradients_at_boundaries() -> None:
    def check(row: tuple[str, dict[str, Any], list[Any], Any, list[Any]]) -> None:
        name, attrs, arrays, head, wanted = row
        given = [nd.array(wide(a), dtype=wide(a).dtype) for a in arrays]
        for array in given:
            array.attach_grad()
        with autograd.record():
            y = invoke(lookup(name).bind(**attrs), given)
            y = y[0] if isinstance(y, (list, tuple)) else y
        head = wide(head)
        y.backward(
            nd.array(head if head.size == y.size else np.ones(y.shape, np.float32), dtype=head.dtype).reshape(y.shape)
        )
        for array, w in zip(given, wanted, strict=True):
            if w is not None:
                assert array.grad.shape == np.shape(w), f"{array.grad.shape}, not {np.shape(w)}"
                np.testing.assert_allclose(array.grad.asnumpy(), w, rtol=2e-6, atol=1e-6)

    run([(f"{number} {row[0]} {row[1]}", row) for number, row in enumerate(GRADIENTS)], check)


# name, attributes, inputs, words of the error that the numbers raise
REFUSED: list[tuple[str, dict[str, Any], list[Any], str]] = [
    ("_npi_svd", {}, [[[np.nan, 1], [1, 2]]], "no answer"),
    *(("_contrib_dgl_csr_neighbor_non_uniform_sample", {"num_args": 3, "max_num_vertices": 2},
       [np.array([[0, 1], [2, 0]], np.int64), chances, np.array([0], np.int64)], f"{len(chances)} probabilities for a graph of 2")
      for chances in ([0.5], [0.5, 0.2, 0.3])),
    ("_contrib_box_encode", {}, [[[1]], [[2]], [[[0, 0, 1, 1]]], [[[0, 0, 1, 1], [0, 0, 2, 2]]], [0] * 4,
     [1] * 4], "2 to 2 of 2 boxes"),
    ("_contrib_box_encode", {}, [[[1]], [[-1]], [[[0, 0, 1, 1]]], [[[0, 0, 1, 1], [0, 0, 2, 2]]], [0] * 4,
     [1] * 4], "-1 to -1 of 2"),
    ("_random_uniform", {"shape": (2, 0)}, [], "a 0 in it"),
    ("_random_uniform", {"shape": None}, [], "got no shape"),
    ("_zeros_without_dtype", {"shape": (0, 3)}, [], "none did"),
    ("_random_poisson", {"lam": 1e30, "shape": (2,)}, [], "give smaller parameters"),
    ("_contrib_ROIAlign", {"pooled_size": (1, 1), "spatial_scale": 1.0}, [np.ones((1, 1, 2, 3), np.float32),
     [[0, np.nan, 0, 1, 1]]],
     "the size of an image"),
    ("_contrib_ROIAlign", {"pooled_size": (1, 1), "spatial_scale": 1.0}, [np.ones((1, 1, 2, 3), np.float32), [[0, 0, 0, 1e9, 1]]],
     "the size of an image"),
    ("_contrib_RROIAlign", {"pooled_size": (1, 1), "spatial_scale": 1.0}, [np.ones((1, 1, 2, 3), np.float32),
     [[0, np.nan, 0, 1, 1, 30]]],
     "the size of an image"),
    ("_contrib_RROIAlign", {"pooled_size": (1, 1), "spatial_scale": 1.0}, [np.ones((1, 1, 2, 3), np.float32),
     [[0, 0, 0, 1e9, 1, 30]]],
     "the size of an image"),
    ("_contrib_MultiProposal", {"scales": (8.0,), "ratios": (1.0,), "rpn_post_nms_top_n": 1},
     [np.ones((1, 2, 2, 3), np.float32), np.zeros((1, 4, 2, 3), np.float32), [[48, 48, 1]]], "image of \\(3, 3\\)"),
    ("_contrib_MultiProposal", {"scales": (8.0,), "ratios": (1.0,), "rpn_post_nms_top_n": 1},
     [np.ones((1, 2, 2, 3), np.float32), np.zeros((1, 4, 2, 3), np.float32), [[32, 64, 1]]], "image of \\(2, 4\\)"),
    ("_npx_constraint_check", {"msg": "all above 0"}, [np.array([True, False])], "all above 0"),
    ("_npi_eigvals", {}, [[[0, -1], [1, 0]]], "complex eigenvalues"),
    ("_npi_eig", {}, [[[0, -1], [1, 0]]], "complex eigenvalues"),
    ("_npi_solve", {}, [[[1, 2], [2, 4]], [[1], [2]]], "no answer"),
    ("_linalg_potrf", {}, [[[1, 2], [2, 1]]], "got a matrix"),
    ("_npi_choice", {"a": 3, "size": (2,), "replace": False, "weighted": True}, [[0, 2, 0]], "without replace"),
    ("_npi_choice", {"a": 2, "size": (2,), "weighted": True}, [[2, -1]], "no 2 probabilities"),
    ("_npi_choice", {"a": 2, "size": (2,), "weighted": True}, [[0, 0]], "no 2 probabilities"),
    ("_npi_choice", {"a": 2, "size": (2,), "weighted": True}, [[1, 1, 1]], "no 2 probabilities"),
    ("_npi_choice", {"a": 2, "size": (2,), "weighted": True}, [[1, np.inf]], "no 2 probabilities"),
    ("_npi_multinomial", {"n": 7, "pvals": (0.75, -0.5, 0.75)}, [], "below 0 or sum"),
    ("_npi_multinomial", {"n": 7, "pvals": (0.75, 0.5, 0.0)}, [], "below 0 or sum"),
    ("_npi_boolean_mask_assign_tensor", {"start_axis": 0}, [[1, 2, 3], np.array([True, False, True]), [1, 2, 3]], "3"),
    ("gather_nd", {}, [[1, 2, 3], [[3]]], "coordinates"),
    ("gather_nd", {}, [[1, 2, 3], [[-4]]], "coordinates"),
    ("CTCLoss", {"use_label_lengths": True}, [np.zeros((3, 1, 4), np.float32), [[1, 2]],
     [3]], "label_lengths 3 to 3 of labels of 2"),
    ("CTCLoss", {}, [np.zeros((3, 1, 4), np.float32), [[4, 2]]], "label 4, wanted classes below 4"),
]  # fmt: skip


def test_numbers_that_mean_nothing_are_refused_in_words() -> None:
    def check(row: tuple[str, dict[str, Any], list[Any], str]) -> None:
        name, attrs, arrays, words = row
        with pytest.raises(MXNetError, match=words):
            computed(name, attrs, arrays)

    run([(f"{number} {row[0]}", row) for number, row in enumerate(REFUSED)], check)


def test_means_of_whole_blocks_of_pixels() -> None:
    """interp=3 (area) to a divisor of the size, each dtype in its own: OpenCV rounds halves to even, of 2 x 2 up."""
    rng = np.random.default_rng(3)
    for dtype, (height, width), (h, w) in (
        ("uint8", (6, 9), (2, 3)), ("uint8", (4, 6), (2, 3)), ("uint8", (4, 9), (2, 3)), ("int16", (6, 4), (2, 2)),
        ("uint16", (6, 9), (3, 3)), ("float32", (6, 9), (2, 3)), ("float64", (6, 8), (3, 2)),
    ):  # fmt: skip
        image = rng.uniform(0, 255, (height, width, 2)).astype(dtype)
        means = image.reshape(h, height // h, w, width // w, 2).astype(np.float64).mean((1, 3))
        if dtype[0] != "f":
            means = np.floor(means + 0.5) if (height, width) == (4, 6) else np.rint(means)
        (found,) = computed("_cvimresize", {"w": w, "h": h, "interp": 3}, [image])
        assert found.dtype == dtype
        np.testing.assert_allclose(
            found, means, rtol=1e-6 if dtype == "float32" else 2e-7, err_msg=f"{dtype} {height}x{width}"
        )


def test_how_a_picture_is_resized_follows_from_both_sizes() -> None:
    """interp=9: bicubic where both sides grow, area where both shrink, else linear, as mx.image has it."""
    image = np.random.default_rng(4).uniform(0, 255, (6, 8, 3)).astype(np.uint8)
    for height, width, method in (
        (7, 9, 2), (6, 9, 1), (7, 8, 1), (5, 9, 1), (7, 7, 1), (5, 7, 3), (6, 7, 1), (5, 8, 1), (12, 16, 2), (4, 5, 3),
    ):  # fmt: skip
        found, wanted = (
            computed("_cvimresize", {"w": width, "h": height, "interp": i}, [image])[0] for i in (9, method)
        )
        np.testing.assert_array_equal(found, wanted, err_msg=f"{height}x{width}")
        rest = [
            computed("_cvimresize", {"w": width, "h": height, "interp": i}, [image])[0] for i in {1, 2, 3} - {method}
        ]
        assert not any(np.array_equal(found, r) for r in rest), f"{height}x{width} tells nothing"
    # scale_width alone means nothing, as in MXNet
    resize = REGISTRY["_contrib_BilinearResize2D"]
    assert resize.bind(height=3, scale_width=2.0).infer_shape((2, 1, 4, 4)) == (2, 1, 3, 1)


def test_anchors_of_no_step_are_a_cell_apart() -> None:
    """steps of 0 or less: the picture divided into as many cells as data has."""
    x = [(c + 0.5) / 4 for c in range(4)]
    y = [(r + 0.5) / 2 for r in range(2)]
    width, height = 0.5 * 2 / 4 / 2, 0.5 / 2
    wanted = [[a - width, b - height, a + width, b + height] for b in y for a in x]
    for steps in ((0.0, 0.0), (-1.0, -1.0), (0.5, 0.25)):
        (found,) = computed(
            "_contrib_MultiBoxPrior", {"sizes": (0.5,), "steps": steps}, [np.zeros((1, 1, 2, 4), np.float32)]
        )
        np.testing.assert_allclose(found[0], wanted, rtol=1e-6, err_msg=str(steps))


def test_points_count_up_to_one_pixel_before_an_image_and_to_its_end() -> None:
    """ROIAlign by MXNet's rule: a point counts from -1 to the size, both inclusive, and takes the value of the nearest pixel."""
    data = np.array([[[[1, 2, 4], [8, 16, 32]]]], np.float32)
    attrs = {"pooled_size": (1, 1), "spatial_scale": 1.0, "sample_ratio": 1}
    for x, y, wanted in (
        (-1, 0, 1), (-1.001, 0, 0), (3, 0, 4), (3.001, 0, 0), (1, -1, 2), (1, -1.001, 0), (1, 2, 16), (1, 2.001, 0),
        (1.5, 0.5, 13.5),
    ):  # fmt: skip
        (found,) = computed("_contrib_ROIAlign", attrs, [data, [[0, x - 0.5, y - 0.5, x + 0.5, y + 0.5]]])
        np.testing.assert_allclose(found.ravel(), [wanted], rtol=1e-5, err_msg=f"{x}, {y}")


def test_points_of_modulated_convolutions_fade_out_over_one_pixel() -> None:
    """One filter of one pixel, moved: bilinear between pixels, and zeros around the image."""
    data = np.array([[[[3, 5, 7]]]], np.float32)
    around = np.array([0, 3, 5, 7, 0])
    attrs = {"kernel": (1, 1), "num_filter": 1, "no_bias": True}
    for place in (-1.5, -1, -0.75, 0, 0.25, 1, 2, 2.5, 3, 3.25):
        move = np.zeros((1, 2, 1, 3), np.float32)
        move[0, 1] = place - np.arange(3)
        mask, weight = np.ones((1, 1, 1, 3), np.float32), np.ones((1, 1, 1, 1), np.float32)
        (found,) = computed("_contrib_ModulatedDeformableConvolution", attrs, [data, move, mask, weight])
        np.testing.assert_allclose(
            found.ravel(), [np.interp(place, range(-1, 4), around)] * 3, rtol=1e-6, err_msg=str(place)
        )


def test_gradients_of_parameters_are_sums_over_what_they_were_repeated_along() -> None:
    data = np.arange(1, 25, dtype=np.float32).reshape(2, 4, 3)
    for shape, axes in (
        ((4, 3), 0),
        ((1, 3), (0, 1)),
        ((4, 1), (0, 2)),
        ((2, 1, 3), 1),
        ((1,), (0, 1, 2)),
        ((2, 4, 3), ()),
    ):
        (found,) = computed("_backward_parameter", {}, [data, np.zeros(shape, np.float16)])
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found, data.sum(axes).reshape(shape))


def test_gradients_of_contractions_over_axes_in_any_order() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((2, 3, 4), (4, 5, 2)))
    for left, right, said, first, second in (
        ((2, 0), (0, 2), "ijk,kli->jl", "jl,kli->ijk", "ijk,jl->kli"),
        ((0, 2), (2, 0), "ijk,kli->jl", "jl,kli->ijk", "ijk,jl->kli"),
        ((2,), (0,), "ijk,klm->ijlm", "ijlm,klm->ijk", "ijk,ijlm->klm"),
        ((-3,), (-1,), "ijk,lmi->jklm", "jklm,lmi->ijk", "ijk,jklm->lmi"),
    ):
        given = [nd.array(v) for v in (a, b)]
        for array in given:
            array.attach_grad()
        with autograd.record():
            y = invoke(lookup("_npi_tensordot").bind(a_axes_summed=left, b_axes_summed=right), given)
        wanted = np.einsum(said, a, b)
        head = rng.uniform(-1, 1, wanted.shape).astype(np.float32)
        y.backward(nd.array(head))
        np.testing.assert_allclose(y.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(given[0].grad.asnumpy(), np.einsum(first, head, b), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(given[1].grad.asnumpy(), np.einsum(second, a, head), rtol=1e-5, atol=1e-6)


def test_second_gradients_of_normalizations_by_statistics_that_are_given() -> None:
    """y = gamma (x - mean) s + beta: what the gradients of x and gamma, weighted with u and w, give x, gamma and the head."""
    rng = np.random.default_rng(6)
    x, head, u = (rng.uniform(-1, 1, (2, 3, 4)).astype(np.float32) for _ in range(3))
    gamma, beta, mean, w = (rng.uniform(-1, 1, 3).astype(np.float32) for _ in range(4))
    var = rng.uniform(0.5, 2, 3).astype(np.float32)
    s = (1 / np.sqrt(var + 1e-3))[:, None]
    for fixed in (False, True):
        given = [nd.array(v) for v in (x, gamma, beta, head)]
        for array in given:
            array.attach_grad()
        with autograd.record():
            y = nd.BatchNorm(
                *given[:3], nd.array(mean), nd.array(var), eps=1e-3, use_global_stats=True, fix_gamma=fixed
            )
            dx, dgamma = autograd.grad(y, given[:2], given[3], create_graph=True, retain_graph=True)
            z = (dx * nd.array(u)).sum() + (dgamma * nd.array(w)).sum()
        z.backward()
        g, kept = (np.ones((3, 1)), 0) if fixed else (gamma[:, None], 1)
        for array, wanted in zip(
            (given[0], given[1], given[3]),
            (
                kept * w[:, None] * head * s,
                kept * (u * head * s).sum((0, 2)),
                g * s * u + kept * w[:, None] * (x - mean[:, None]) * s,
            ),
            strict=True,
        ):
            np.testing.assert_allclose(array.grad.asnumpy(), wanted, rtol=1e-4, atol=1e-5, err_msg=f"fix_gamma={fixed}")


def test_images_without_channels_give_places_no_gradient() -> None:
    given = [nd.array(np.zeros((1, 0, 2, 3), np.float32)), nd.array(np.full((1, 2, 4, 5), 0.25, np.float32))]
    for array in given:
        array.attach_grad()
    with autograd.record():
        y = nd.BilinearSampler(*given)
    y.backward(nd.zeros(y.shape))
    assert y.shape == (1, 0, 4, 5)
    assert given[0].grad.shape == (1, 0, 2, 3)
    np.testing.assert_array_equal(given[1].grad.asnumpy(), np.zeros((1, 2, 4, 5)))


def test_what_labels_and_lengths_of_ctc_may_hold() -> None:
    """With the blank first classes are 1 to C - 1, with the blank last 0 to C - 2; all steps; labels of one at least."""
    shapes = [(5, 2, 4), (2, 3), (2,), (2,)]
    for blank, low, high in (("first", 1, 3), ("last", 0, 2)):
        one = lookup("CTCLoss").bind(blank_label=blank, use_data_lengths=True, use_label_lengths=True)
        assert one.domain("label", shapes) == Domain(low, high, True)
        assert one.domain("data_lengths", shapes) == Domain(5, 5, True)
        assert one.domain("label_lengths", shapes) == Domain(1, 3, True)
        assert one.domain("data", shapes) is None


def sorted_as_std(values: list[float], before: Any) -> list[int]:
    """std::sort of a few numbers: the insertion sort of libstdc++."""
    order: list[int] = []
    for item, value in enumerate(values):
        at = len(order)
        if order and before(value, values[order[0]]):
            at = 0
        else:
            while at and before(value, values[order[at - 1]]):
                at -= 1
        order.insert(at, item)
    return order


def test_the_order_of_what_is_no_number() -> None:
    """Up to 16 numbers as std::sort leaves them, in rows beside others; NaN beyond that is last, as NumPy has it."""
    rng = np.random.default_rng(8)
    for length in (2, 3, 5, 15, 16):
        rows = rng.integers(0, 4, (6, length)).astype(np.float32)
        rows[rng.uniform(size=rows.shape) < 0.3] = np.nan
        rows[4:] = np.arange(length) % 3
        for ascending in (True, False):
            before = (lambda a, b: a < b) if ascending else (lambda a, b: a > b)
            (found,) = computed("argsort", {"axis": -1, "is_ascend": ascending}, [rows])
            np.testing.assert_array_equal(found, [sorted_as_std(list(r), before) for r in rows], err_msg=str(length))
    long = np.arange(17, dtype=np.float32)[::-1].copy()
    long[[2, 9]] = np.nan
    (found,) = computed("argsort", {"axis": -1}, [long[None]])
    np.testing.assert_array_equal(found[0], np.argsort(long, kind="stable"))


def test_histograms_give_their_empty_bins_as_much_as_they_have() -> None:
    """1e-4 for each empty bin, taken from the others in equal parts; none where these would not keep anything of 1."""
    p = np.zeros(5, np.float32)
    assert _smooth(p) is None
    p[[1, 3]] = 4, 6
    np.testing.assert_allclose(_smooth(p), [1e-4, 4 - 1.5e-4, 1e-4, 6 - 1.5e-4, 1e-4], rtol=1e-6)
    for empty, some in ((9999, True), (10000, False), (10001, False)):
        p = np.zeros(empty + 1, np.float32)
        p[7] = 5
        found = _smooth(p)
        assert (found is not None) is some, empty
        if found is not None:
            np.testing.assert_allclose(found[7], 5 - 0.9999, rtol=1e-6)
            assert found[6] == np.float32(1e-4)


def test_what_does_not_lie_plainly_in_memory_is_not_updated_in_place() -> None:
    """False, and nothing done: turned, of another shape or dtype, empty, askew in memory, or over each other."""
    one = lookup("sgd_mom_update").bind(lr=0.5, momentum=0.5)

    def fresh(*shape: int, dtype: str = "float32") -> np.ndarray:
        return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)

    askew = np.frombuffer(bytearray(4 * 6 + 1), np.float32, 6, 1).reshape(2, 3)
    shared = np.arange(1, 13, dtype=np.float32)
    for name, weight, grad, state in (
        ("turned", fresh(3, 2).T, fresh(2, 3), fresh(2, 3)),
        ("a turned gradient", fresh(2, 3), fresh(3, 2).T, fresh(2, 3)),
        ("a turned state", fresh(2, 3), fresh(2, 3), fresh(3, 2).T),
        ("another shape", fresh(2, 3), fresh(3, 2), fresh(2, 3)),
        ("fewer", fresh(2, 3), fresh(1, 3), fresh(2, 3)),
        ("another dtype", fresh(2, 3), fresh(2, 3, dtype="float64"), fresh(2, 3)),
        ("empty", fresh(0, 3), fresh(0, 3), fresh(0, 3)),
        ("askew", fresh(2, 3), askew, fresh(2, 3)),
        ("over each other", shared[:6], fresh(6), shared[3:9]),
    ):
        before = [a.copy() for a in (weight, grad, state)]
        assert not one.compute_into([weight, grad, state], [weight]), name
        for a, b in zip((weight, grad, state), before):
            np.testing.assert_array_equal(a, b, err_msg=name)
        if name != "over each other" and weight.shape == grad.shape:
            found = one.compute(weight, grad, state)
            step = 0.5 * before[2] - 0.5 * before[1]
            np.testing.assert_allclose(found, before[0] + step, err_msg=name)
            np.testing.assert_allclose(state, step, err_msg=name)


def test_which_activations_do_not_care_about_units() -> None:
    """f(c x) = c f(x) for c above 0: tried, and said by what decides about scales."""
    x, c = np.linspace(-2, 2, 9, dtype=np.float32), np.float32(3)
    for name, attrs, wanted in (
        ("abs", {}, True), ("Activation", {"act_type": "relu"}, True), ("LeakyReLU", {"act_type": "leaky", "slope": 0.3}, True),
        ("Activation", {"act_type": "sigmoid"}, False), ("Activation", {"act_type": "tanh"}, False), ("square", {}, False),
        ("LeakyReLU", {"act_type": "elu"}, False),
        ("LeakyReLU", {"act_type": "gelu"}, False), ("Activation", {"act_type": "softrelu"}, False),
    ):  # fmt: skip
        one = lookup(name).bind(**attrs)
        assert homogeneous(one) is wanted, one
        first, second = (np.asarray(one.compute(v)).ravel()[:9] for v in (c * x, x))
        assert np.allclose(first, c * second, rtol=1e-5) is wanted, one


def test_gradients_of_products_with_a_number() -> None:
    given = [nd.array(3.0).reshape(()), nd.array([[1, 2], [5, 7]])]
    for array in given:
        array.attach_grad()
    with autograd.record():
        y = invoke(lookup("_npi_tensordot_int_axes").bind(axes=0), given)
    y.backward(nd.array([[2, 3], [4, 5]]))
    assert given[0].grad.asnumpy() == 2 * 1 + 3 * 2 + 4 * 5 + 5 * 7
    np.testing.assert_array_equal(given[1].grad.asnumpy(), [[6, 9], [12, 15]])


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.parametrize("piece", [1, 200])
def test_gradients_taken_in_pieces_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    """Of normalizations by their formula; of poolings each number by its window: none overlap, so each gets what its own gave."""
    monkeypatch.setattr("hybrid.ops.normalization_backward.PIECE", piece)
    monkeypatch.setattr("hybrid.ops.pooling.PIECE", piece)
    rng = np.random.default_rng(9)
    for name, shape, axes, groups, attrs in (
        ("LayerNorm", (7, 3, 4), (2,), 4, {}), ("BatchNorm", (3, 5, 16), (0, 2), 5, {"fix_gamma": False}),
        ("InstanceNorm", (6, 4, 9), (2,), 4, {}), ("BatchNorm", (3, 5, 2), (0, 2), 5, {"fix_gamma": False}),
    ):  # fmt: skip
        x, head = (rng.uniform(-1, 1, shape).astype(np.float32) for _ in range(2))
        gamma, beta = (rng.uniform(0.5, 1, groups).astype(np.float32) for _ in range(2))
        given = [nd.array(v) for v in (x, gamma, beta)]
        for array in given:
            array.attach_grad()
        rest = [nd.zeros(groups), nd.ones(groups)] * (name == "BatchNorm")
        with autograd.record():
            y = getattr(nd, name)(*given, *rest, eps=1e-3, **attrs)
        y.backward(nd.array(head))
        wide, scale = x.astype(np.float64), gamma if name == "LayerNorm" else gamma[:, None]
        h = (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + 1e-3)
        g = head * scale / np.sqrt(wide.var(axes, keepdims=True) + 1e-3)
        dx = g - g.mean(axes, keepdims=True) - h * (g * h).mean(axes, keepdims=True)
        kept = (0, 1) if name == "LayerNorm" else (0, 2)
        for array, wanted in zip(given, (dx, (head * h).sum(kept), head.sum(kept)), strict=True):
            np.testing.assert_allclose(array.grad.asnumpy(), wanted, rtol=1e-3, atol=2e-5, err_msg=f"{name} {shape}")
    x, head = (
        rng.permutation(40 * 12).astype(np.float32).reshape(40, 1, 4, 3),
        rng.uniform(-1, 1, (40, 1, 2, 1)).astype(np.float32),
    )
    windows = x.reshape(40, 2, 2, 3).reshape(40, 2, 6)
    spread = {
        "max": (windows == windows.max(-1, keepdims=True)) * head.reshape(40, 2, 1),
        "avg": np.broadcast_to(head.reshape(40, 2, 1) / 6, (40, 2, 6)),
        "sum": np.broadcast_to(head.reshape(40, 2, 1), (40, 2, 6)),
    }
    for kind, wanted in spread.items():
        data = nd.array(x)
        data.attach_grad()
        with autograd.record():
            y = nd.Pooling(data, kernel=(2, 3), stride=(2, 3), pool_type=kind)
        y.backward(nd.array(head))
        np.testing.assert_allclose(data.grad.asnumpy(), wanted.reshape(x.shape), rtol=1e-6, err_msg=kind)


def test_images_larger_than_what_is_taken_at_a_time() -> None:
    """Resized one by one, as np.interp has it along each axis; convolved apart for each channel, as sums of what is shifted."""
    rng = np.random.default_rng(10)
    x = rng.uniform(-1, 1, (3, 1, 3, 4)).astype(np.float32)
    (found,) = computed("_contrib_BilinearResize2D", {"height": 301, "width": 300}, [x])
    rows = np.apply_along_axis(lambda v: np.interp(np.linspace(0, 2, 301), range(3), v), 2, x)
    wanted = np.apply_along_axis(lambda v: np.interp(np.linspace(0, 3, 300), range(4), v), 3, rows)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    x, weight = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((2, 3, 190, 200), (6, 1, 1, 3)))
    (found,) = computed(
        "Convolution", {"kernel": (1, 3), "num_filter": 6, "num_group": 3, "no_bias": True}, [x, weight]
    )
    wide = x.repeat(2, axis=1)
    wanted = sum(wide[..., i : i + 198] * weight[:, 0, :, i, None] for i in range(3))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_as_many_proposals_are_looked_at_as_there_are_when_no_number_says_so() -> None:
    rng = np.random.default_rng(11)
    scores, moves = (
        rng.uniform(0, 1, (1, 4, 3, 4)).astype(np.float32),
        rng.uniform(-1, 1, (1, 8, 3, 4)).astype(np.float32),
    )
    attrs = {
        "scales": (1.0, 2.0),
        "ratios": (1.0,),
        "rpn_post_nms_top_n": 9,
        "threshold": 0.6,
        "rpn_min_size": 1,
        "output_score": True,
    }
    found = {
        n: computed("_contrib_Proposal", attrs | {"rpn_pre_nms_top_n": n}, [scores, moves, [[48, 64, 1]]])
        for n in (0, -1, 1, 24, 999)
    }
    for n in (-1, 24, 999):
        np.testing.assert_array_equal(found[n][0], found[0][0])
        np.testing.assert_array_equal(found[n][1], found[0][1])
    assert len(np.unique(found[1][0], axis=0)) == 1 < len(np.unique(found[0][0], axis=0))
    assert found[1][1][0] == found[0][1][0] == found[0][1].max()


def test_what_an_operator_says_of_itself() -> None:
    """Positions on an axis; steps of a sequence; what goes through fused operators of integers without a calibrated range."""
    take = lookup("take").bind(axis=1)
    assert take.domain("indices", [(3, 4), (2,)]) == Domain(0, 3, True)
    assert take.domain("indices", [(3, 1), (2,)]) == Domain(0, 0, True)
    assert take.domain("indices", [(4, 0), (2,)]) is None
    recurrent = {"mode": "lstm", "state_size": 2, "num_layers": 2, "p": 0.5, "use_sequence_length": True}
    rnn = lookup("RNN").bind(**recurrent)
    rest = [(1,), (2, 3, 2), (2, 3, 2), (3,)]
    assert rnn.domain("sequence_length", [(5, 3, 2), *rest]) == Domain(1, 5, True)
    assert rnn.domain("sequence_length", [(UNKNOWN, 3, 2), *rest]) is None
    assert rnn.domain("sequence_length", [None, *rest]) is None
    assert rnn.domain("data", [(5, 3, 2), *rest]) is None
    assert (
        len(rnn.output_names()) == len(lookup("RNN").bind(**{**recurrent, "num_layers": 1}).output_names()) + 1
    )  # the seed of dropout
    assert len(lookup("RNN").bind(**{**recurrent, "p": 0}).output_names()) == len(rnn.output_names()) - 1
    bounds = {"lstm_state_clip_min": -0.25, "lstm_state_clip_max": 0.5}
    assert lookup("RNN").bind(**recurrent, **bounds).clip == (-0.25, 0.5)
    assert lookup("RNN").bind(**{**recurrent, **bounds, "mode": "gru"}).clip is None
    eight, four = np.dtype(np.int8), np.dtype(np.float32)
    for low, high, wanted in (
        (None, None, np.int32),
        (-1.0, None, np.int32),
        (None, 1.0, np.int32),
        (-1.0, 1.0, np.int8),
    ):
        one = lookup("_sg_mkldnn_selfatt_qk").bind(heads=2, quantized=True, min_calib_range=low, max_calib_range=high)
        assert one.infer_type(eight, four, four)[0] == wanted
    for attrs, count in (({}, 1), ({"quantized": True}, 3), ({"quantized": True, "enable_float_output": True}, 1)):
        number = 6 if attrs else 2
        assert len(lookup("_sg_mkldnn_fully_connected").bind(num_args=number, **attrs).output_names()) == count, attrs
    for rule in ("sgd", "adam"):
        step = lookup("_fused_update").bind(rule=rule)
        types = [np.dtype(np.float32)] * len(step.input_names())
        assert step.infer_type(*types)
        for at in range(len(types)):
            with pytest.raises(MXNetError, match="got float64, wanted float32"):
                step.infer_type(*(np.dtype(np.float64) if i == at else d for i, d in enumerate(types)))


def test_labels_of_regressions_may_be_arranged_in_another_way() -> None:
    """As many numbers for each example, as in MXNet's regression_output-inl.h; what is not known may yet fit."""
    one = lookup("LinearRegressionOutput").bind()
    for data, label in (
        ((4, 3), (4, 3)), ((4, 3), (4, 3, 1)), ((4, 6), (4, 2, 3)), ((4, 1), (4,)), ((4,), (4,)), ((), ()),
        ((UNKNOWN, 3), (5, 3)), ((4, 3), (UNKNOWN, 3)),
    ):  # fmt: skip
        one.want_ignored(data, label)
    for data, label in (
        ((4, 3), (3, 4)), ((4, 3), (4, 2)), ((4, 3), (4,)), ((4, 3), (12,)), ((4, 3), ()), ((), (1,)),
        ((UNKNOWN, 3), (5, 3, 1)), ((4, 3), (UNKNOWN, 4)),
    ):  # fmt: skip
        with pytest.raises(MXNetError, match="wanted"):
            one.want_ignored(data, label)
    head = sym.LinearRegressionOutput(sym.var("data"), sym.var("label"))
    found = head.infer_shape_partial(data=(4, 0), label=(4, 3))  # a size of 0 is not known yet: one column or several
    assert found == ([(4, 0), (4, 3)], [(4, 0)], [])
    with pytest.raises(MXNetError, match="cannot decide the shapes of data"):
        head.simple_bind(cpu(), data=(4, 0), label=(4, 3))


def test_padding_by_extremes_has_no_gradient() -> None:
    for mode in ("maximum", "minimum"):
        data = nd.array([1, 5, 2])
        data.attach_grad()
        with autograd.record():
            y = invoke(lookup("_npi_pad").bind(mode=mode, pad_width=((1, 1),)), [data])
        np.testing.assert_array_equal(y.asnumpy(), np.pad([1, 5, 2], 1, mode))
        with pytest.raises(MXNetError, match="no gradient"):
            y.backward()
            data.grad.asnumpy()


def test_attributes_that_go_first_by_position() -> None:
    """MXNet's order where it is not that of the alphabet or of the table: what stands in ``leading`` comes first, in that order."""
    seen = 0
    for cls in {id(c): c for c in REGISTRY.values()}.values():
        if cls.positional_first:
            seen += 1
            assert [*cls.fields][: len(cls.positional_first)] == [n for n in cls.positional_first if n in cls.fields], (
                cls.name
            )
    assert seen >= 8
    a, b, c = (nd.array(np.arange(4.0).reshape(2, 2) + k) for k in range(3))
    found = nd.linalg.gemm(a, b, c, True, False, 2.0, -1.0).asnumpy()
    np.testing.assert_allclose(found, 2 * a.asnumpy().T @ b.asnumpy() - c.asnumpy())


def test_gradients_where_sizes_bend() -> None:
    """Of sums of sizes, and of sizes, at 0: MXNet takes the sign, which is 0 there."""
    values = np.array([[0, -2, 3], [0, 0, -1], [4, 0, 0]], np.float32)
    for call, head in (
        (lambda x: nd.norm(x, ord=1, axis=1), np.array([2, 3, -5], np.float32)), (lambda x: nd.abs(x), values + 1),
        (lambda x: nd.norm(x, ord=1, axis=0, keepdims=True), np.array([[2, 3, -5]], np.float32)),
        (lambda x: nd.norm(x, ord=1), np.array([7], np.float32)),
    ):  # fmt: skip
        x = nd.array(values)
        x.attach_grad()
        with autograd.record():
            y = call(x)
        y.backward(nd.array(head))
        shaped = head[:, None] if head.shape == (3,) else head
        np.testing.assert_array_equal(x.grad.asnumpy(), np.sign(values) * shaped)


@pytest.mark.parametrize("opset", [13, 17])
def test_infinities_that_numbers_follow_in_onnx(opset: int) -> None:
    """MXNet's nansum loses an infinity before another number, in the order of memory."""
    graph = Graph([Entry(Node(lookup("nansum").bind(axis=(1, 2)), "node", [Entry(Node(None, "data"))]))])
    x = np.array([[[np.nan, INF], [2, np.nan]], [[2, np.nan], [np.nan, INF]], [[np.nan, 3], [INF, np.nan]]], np.float32)
    (got,) = run_onnx(to_onnx(graph, {}, {"data": x}, opset), {"data": x})
    np.testing.assert_array_equal(got, Program(graph).run({"data": x})[0])
    np.testing.assert_array_equal(got, [np.nan, INF, INF])


@pytest.mark.parametrize("opset", [13, 21])
def test_places_of_extremes_of_vectors_in_onnx(opset: int) -> None:
    """NumPy's functions give a scalar for a vector, MXNet's legacy ones one element."""
    x = np.array([3, -7, 5, 5, -7], np.float32)
    for name, keepdims in itertools.product(("argmax", "argmin", "_npi_argmax", "_npi_argmin"), (False, True)):
        for axis in (0, -1, None):
            node = Node(lookup(name).bind(axis=axis, keepdims=keepdims), "node", [Entry(Node(None, "x"))])
            graph = Graph([Entry(node)])
            want = Program(graph).run({"x": x})[0]
            assert want.shape == (() if name[0] == "_" and not keepdims else (1,)), (name, axis)
            (got,) = run_onnx(to_onnx(graph, {}, {"x": x}, opset), {"x": x})
            assert (got.shape, got.tolist()) == (want.shape, want.tolist()), (name, axis, keepdims)


def test_constants_are_float32_in_gradients_of_double_too() -> None:
    """As in MXNet 1.9.1, where they are parameters of type float."""
    x, head = np.array([-0.7, 0.4, 1.9]), np.array([1.0, -3.0, 0.7])
    single = {n: float(np.float32(v)) for n, v in {"a": 0.3, "b": 0.7, "alpha": 0.1, "low": -0.7, "high": 0.4}.items()}
    for name, attrs, wanted in (
        ("_contrib_quadratic", {"a": 0.3, "b": 0.7, "c": 9.0}, head * (2 * single["a"] * x + single["b"])),
        ("hard_sigmoid", {"alpha": 0.1, "beta": 0.5}, head * single["alpha"]),
        # -0.7 lies below the float32 that is nearest to it, and so does 0.4
        ("clip", {"a_min": -0.7, "a_max": 0.4}, head * ((x >= single["low"]) & (x <= single["high"]))),
    ):
        data = nd.array(x, dtype="float64")
        data.attach_grad()
        with autograd.record():
            y = invoke(lookup(name).bind(**attrs), [data])
        y.backward(nd.array(head, dtype="float64"))
        np.testing.assert_allclose(data.grad.asnumpy(), wanted, rtol=1e-15, err_msg=name)


def test_the_scale_of_regions_is_float32_in_double_too() -> None:
    """The number is MXNet 1.9.1's."""
    data, rois = np.arange(49.0).reshape(1, 1, 7, 7) ** 2, np.array([[0.0, 3, 5, 43, 51]])
    for native in (False, True):
        attrs = {"pooled_size": (1, 1), "spatial_scale": 0.1, "sample_ratio": 2}
        found = computed("_contrib_ROIAlign", attrs, [data, rois], native)[0]
        np.testing.assert_allclose(found, [[[[552.3600147897005]]]], rtol=1e-14)


def test_one_slope_serves_a_number_without_axes() -> None:
    for number, wanted, slope in ((-2.0, -0.5, -2.0), (3.0, 3.0, 0.0)):
        data, gamma = nd.array(np.array(number, np.float32)), nd.array([0.25])
        for x in (data, gamma):
            x.attach_grad()
        with autograd.record():
            y = invoke(lookup("LeakyReLU").bind(act_type="prelu"), [data, gamma])
        y.backward()
        assert (y.shape, y.asscalar(), gamma.grad.asnumpy().tolist()) == ((), wanted, [slope])
