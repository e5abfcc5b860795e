"""Values beyond the recorded cases: places counted from behind, labels of no class, numbers as large and small as there are."""

from typing import Any

import numpy as np
import pytest

import converters
import hybrid as mx
from hybrid import nd
from hybrid.core.op import REGISTRY, Example
from hybrid.execution.program import Program
from tests.table.examples import graph_of
from tests.table.rules import gradient_graph, has_rule
from tests.table.test_goldens import run_onnx

rng = np.random.default_rng(12)


def gradient(name: str, data: np.ndarray, where: np.ndarray, attrs: dict[str, Any]) -> np.ndarray:
    """Of data, when the head of an operator that reads it at places is not the same everywhere."""
    x = nd.array(data, dtype=data.dtype)
    x.attach_grad()
    with mx.autograd.record():
        y = getattr(nd, name)(x, nd.array(where, dtype="int32"), **attrs)
        (y * nd.arange(1, y.size + 1).reshape(y.shape).astype(data.dtype)).sum().backward()
    return x.grad.asnumpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "shape", "where", "attrs"),
    [
        ("gather_nd", (3, 4), (2, 5), {}),
        ("gather_nd", (3, 4, 2), (1, 5), {}),
        ("take", (3, 4), (6,), {"axis": 0, "mode": "wrap"}),
        ("take", (4, 3), (2, 2), {"axis": 1, "mode": "wrap"}),
        ("pick", (5, 3), (5,), {"axis": 1, "mode": "wrap"}),
    ],
)
def test_places_counted_from_behind_get_their_gradients(
    name: str, shape: tuple[int, ...], where: tuple[int, ...], attrs: dict[str, Any], dtype: str
) -> None:
    places, data = rng.integers(0, 3, where), rng.normal(size=shape).astype(dtype)
    axes = np.array(shape[: where[0]]).reshape(-1, 1) if name == "gather_nd" else shape[attrs["axis"]]
    behind = np.where(rng.integers(0, 2, where), places - axes, places)
    assert (behind < 0).any()
    np.testing.assert_array_equal(gradient(name, data, behind, attrs), gradient(name, data, places, attrs))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_labels_that_no_class_has_count_as_the_nearest(dtype: str) -> None:
    data = nd.array(rng.normal(size=(4, 3)), dtype=dtype)
    found = []
    for labels in ([-2, 0, 3, 9], [0, 0, 2, 2]):
        data.attach_grad()
        with mx.autograd.record():
            y = nd.softmax_cross_entropy(data, nd.array(labels, dtype=dtype))
        y.backward()
        found.append((y.asnumpy(), data.grad.asnumpy()))
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("dtype", "scale"), [("float32", 1e-30), ("float32", 1e30), ("float64", 1e-200), ("float64", 1e200)]
)
@pytest.mark.parametrize("attrs", [{}, {"ord": 1}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}], ids=str)
def test_norms_neither_overflow_nor_vanish(attrs: dict[str, Any], dtype: str, scale: float) -> None:
    x = rng.normal(size=(2, 3, 4)).astype(dtype)
    want = nd.norm(nd.array(x, dtype=dtype), **attrs).asnumpy()
    got = nd.norm(nd.array(x * scale, dtype=dtype), **attrs).asnumpy()
    np.testing.assert_allclose(got / scale, want, rtol=1e-5 if dtype == "float32" else 1e-13)


def test_regions_of_no_image_are_nothing_everywhere() -> None:
    """MXNet's ROIPooling gives 0 for a negative index and no gradient; its others read stray memory."""
    data = rng.normal(size=(2, 4, 6, 6)).astype(np.float32)
    regions = np.array([[-1, 0, 0, 3, 3], [1, 1, 0, 4, 5], [-7, 0, 0, 3, 3], [-0.5, 1, 1, 4, 3]], np.float32)
    turned = np.concatenate([regions, np.float32([[0], [10], [20], [30]])], 1)
    one = {"pooled_size": 2, "output_dim": 1, "group_size": 2, "spatial_scale": 1.0}
    wrong = []
    for name, attrs, rois in (
        ("ROIPooling", {"pooled_size": (2, 2), "spatial_scale": 1.0}, regions),
        ("_contrib_ROIAlign", {"pooled_size": (2, 2), "spatial_scale": 1.0}, regions),
        ("_contrib_PSROIPooling", one, regions),
        ("_contrib_DeformablePSROIPooling", {**one, "no_trans": True, "sample_per_part": 2}, regions),
        ("_contrib_RROIAlign", {"pooled_size": (2, 2), "spatial_scale": 1.0}, turned),
    ):
        op = REGISTRY[name].bind(**attrs)
        graph, feeds = graph_of(Example(op, (data, rois)))
        (got,) = Program(graph).run(feeds)[:1]
        (theirs,) = run_onnx(converters.to_onnx(graph, {}, feeds), feeds)[:1]
        if got[[0, 2]].any() or not got[[1, 3]].any() or not np.allclose(got, theirs, atol=1e-5):
            wrong.append(f"{name}: {got.tolist()} and in onnxruntime {theirs.tolist()}")
        if has_rule(op):
            have, back = gradient_graph(op, tuple(feeds), [0])
            head = np.zeros_like(got)
            head[[0, 2]] = 1
            used = {n.name for n in back.variables()}
            found = Program(back).run({n: v for n, v in {**feeds, "head0": head}.items() if n in used})
            if dict(zip(have, found))["data"].any():
                wrong.append(f"{name}: a gradient of what is not there")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_gradient_of_elu_where_there_is_no_number(dtype: str) -> None:
    for hybridized in (False, True):
        layer = mx.gluon.nn.ELU()
        if hybridized:
            layer.hybridize()
        x = nd.array([np.nan, -1, 2], dtype=dtype)
        x.attach_grad()
        with mx.autograd.record():
            y = layer(x)
        y.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), [np.nan, np.exp(-1), 1], rtol=1e-3)
