"""Combinations where MXNet's answer is not the measure, and why. Everything else it answers is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .space import Point

Rule = tuple[Callable[[Point], bool], str]


def _spread(point: Point, name: str) -> bool:
    return any(n != "1" for n in point.attrs.get(name, "").strip("(),").replace(" ", "").split(",") if n)


OWN: Mapping[str, Sequence[Rule]] = {
    "amp_cast": [
        (
            lambda p: p.attrs["dtype"] == "int32" and p.inputs[0].dtype == np.float32,
            "oneDNN rounds where MXNet's own kernel truncates, as Cast does",
        )
    ],
    "Deconvolution": [
        (
            lambda p: p.inputs[0].dtype == np.float64 and _spread(p, "dilate"),
            "only oneDNN, which has no float64, gets a stride with a dilation right",
        )
    ],
    "Pooling": [
        (
            lambda p: (
                p.inputs[0].ndim == 5
                and p.attrs.get("pool_type") == "avg"
                and p.attrs.get("pooling_convention") == "full"
                and "kernel=(1, 1, 1)" in p.key
            ),
            "a window that lies beyond the padding is 0 / 0, and 0 everywhere else",
        )
    ],
}
"""By operator: MXNet answers with what nobody can want (memory that it never wrote, a kernel that is wrong). Engine and
onnxruntime are the witnesses."""

STRICTER: Mapping[str, Sequence[Rule]] = {
    "_contrib_BilinearResize2D": [
        (lambda p: p.inputs[0].shape[2:] == (1, 1), "MXNet takes a size of 0, which says unknown, and fills nothing")
    ],
    "_contrib_index_array": [(lambda p: True, "MXNet takes axes that are not there, and reads beyond its memory")],
    "_unravel_index": [(lambda p: p.inputs[0].ndim > 1, "MXNet answers with meaningless numbers")],
}
"""By operator: MXNet answers, and it is rejected here."""


def _narrow(point: Point) -> bool:
    wanted = point.attrs.get("dtype", "None")
    return wanted != "None" and np.dtype(wanted).itemsize > point.inputs[0].dtype.itemsize


def _is_double(point: Point) -> bool:
    return point.inputs[0].dtype == np.float64


COARSE: Mapping[str, Sequence[tuple[Callable[[Point], bool], str, str]]] = {
    **dict.fromkeys(
        ("softmax", "log_softmax", "softmin"),
        (
            (
                lambda p: p.inputs[0].dtype == np.float16 and _narrow(p),
                "float16",
                "MXNet computes in the dtype of the data and widens afterwards",
            ),
            (lambda p: p.inputs[0].dtype == np.float32 and _narrow(p), "float32", "the same"),
        ),
    ),
    "BatchNorm": [
        (
            lambda p: p.inputs[0].dtype == np.float16 and p.attrs.get("output_mean_var") == "True",
            "float16",
            "MXNet adds eps to the variance in float16",
        )
    ],
    "_contrib_BilinearResize2D": [(_is_double, "float32", "MXNet's weights are float32")],
    "SpatialTransformer": [(_is_double, "float32", "MXNet's grid is float32")],
    "_contrib_box_decode": [(_is_double, "float32", "MXNet's attributes are float32")],
    "Pooling_v1": [(_is_double, "float32", "MXNet multiplies by a float32 reciprocal")],
}
"""By operator: MXNet's numbers are only as good as a narrower dtype than their own."""

COARSE_ONNXRUNTIME: Mapping[str, Sequence[tuple[Callable[[Point], bool], str, str]]] = {
    **dict.fromkeys(
        ("_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_encdec_qk"),
        ((_is_double, "float32", "fuses a division into MatMul, as a float32 factor"),),
    ),
    "_contrib_ROIAlign": [(_is_double, "float32", "divides by the number of samples in float32")],
}
"""By operator: the same of onnxruntime's, although the model says what is meant in full."""


def epsilon(table: Mapping[str, Sequence[tuple[Callable[[Point], bool], str, str]]], point: Point) -> float:
    """The epsilon that the numbers are good to, where it is not that of their dtype; else 0."""
    kind = next((kind for holds, kind, _ in table.get(point.operator, ()) if holds(point)), None)
    return float(np.finfo(kind).eps) if kind else 0.0


def reason(rules: Mapping[str, Sequence[Rule]], point: Point) -> str:
    """Reason for which a combination stands in a table; '' when it does not."""
    return next((why for holds, why in rules.get(point.operator, ()) if holds(point)), "")
