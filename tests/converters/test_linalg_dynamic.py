"""Sums over named axes and diagonals as ONNX, against the engine, with dynamic sizes."""

import numpy as np
import pytest

import converters

from .test_detection_dynamic import check, graph_of

SQUARE = {"A": ("n", "m", "m")}
CASES = {
    "einsum": (
        "_npi_einsum",
        {"num_args": 2, "subscripts": "...ij,...jk->...ik"},
        {"arg0": ("n", "m", 3), "arg1": ("n", 3, "k")},
    ),
    "einsum-diagonal": ("_npi_einsum", {"num_args": 1, "subscripts": "...ii->i..."}, {"arg0": ("n", "m", "m")}),
    "tensordot": (
        "_npi_tensordot",
        {"a_axes_summed": (-1, 0), "b_axes_summed": (1, 0)},
        {"a": ("m", "n", 3), "b": ("m", 3, "k")},
    ),
    "tensordot-outer": ("_npi_tensordot_int_axes", {"axes": 0}, {"a": ("m", 2), "b": ("k",)}),
    "syrk": ("_linalg_syrk", {"alpha": 0.5}, {"A": ("n", "m", "k")}),
    **{f"makediag{i}": ("_linalg_makediag", {"offset": i}, {"A": ("n", "m")}) for i in (-1, 0, 2)},
    **{f"extractdiag{i}": ("_linalg_extractdiag", {"offset": i}, SQUARE) for i in (-1, 0, 2)},
    "sumlogdiag": ("_linalg_sumlogdiag", {}, SQUARE),
    "det": ("_linalg_det", {}, SQUARE),
    "det-single": ("_linalg_det", {}, {"A": ("m", "m")}),
}


@pytest.mark.parametrize("name, attrs, axes", CASES.values(), ids=CASES)
def test_dynamic_sizes(name, attrs, axes):
    graph = graph_of(name, attrs)
    model = converters.to_onnx(graph, {}, axes)
    for seed, sizes in enumerate([{"n": 1, "m": 4, "k": 2}, {"n": 3, "m": 5, "k": 6}]):
        rng = np.random.default_rng(seed)
        feeds = {k: rng.uniform(0.1, 1.3, [sizes.get(d, d) for d in v]).astype(np.float32) for k, v in axes.items()}
        check(graph, model, feeds)
