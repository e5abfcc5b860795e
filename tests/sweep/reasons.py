"""Combinations where MXNet's answer is not the measure, and why. Everything else it answers is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .space import Point

Rule = tuple[Callable[[Point], bool], str]

def _is(point: Point, name: str) -> bool:
    return point.attrs.get(name) not in (None, "False", "None", "()")


def _spread(point: Point, name: str) -> bool:
    return any(n != "1" for n in point.attrs.get(name, "").strip("(),").replace(" ", "").split(",") if n)


OWN: Mapping[str, Sequence[Rule]] = {
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

STRICTER: Mapping[str, Sequence[Rule]] = {}
"""By operator: MXNet answers, and it is rejected here."""


def _narrow(point: Point) -> bool:
    wanted = point.attrs.get("dtype", "None")
    return wanted != "None" and np.dtype(wanted).itemsize > point.inputs[0].dtype.itemsize


COARSE: Mapping[str, Sequence[Rule]] = {
    **dict.fromkeys(
        ("softmax", "log_softmax", "softmin"), [(_narrow, "MXNet computes in the dtype of the data and widens afterwards")]
    ),
    "BatchNorm": [
        (
            lambda p: p.inputs[0].dtype == np.float16 and p.attrs.get("output_mean_var") == "True",
            "MXNet adds eps to the variance in float16",
        )
    ],
}
"""By operator: MXNet's numbers are only as good as the dtype of the first input, which is narrower than the output's."""


def reason(rules: Mapping[str, Sequence[Rule]], point: Point) -> str:
    """Why a combination stands in a table; '' when it does not."""
    return next((why for holds, why in rules.get(point.operator, ()) if holds(point)), "")
