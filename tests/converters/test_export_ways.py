"""Operators written where a size, a dtype or an attribute leaves the usual way: run by onnxruntime, with what may be free
left free, against the engine, or NumPy where a row says what is wanted; and by which of ONNX's operators, where a row says that."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import converters
import hybrid as mx
from converters.importer import import_model
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.graph.control import apply, foreach, one, outputs, variable, while_loop
from tests.grouped import run
from tests.table.test_goldens import run_onnx

from .agreement import parsed, same
from .test_detection_dynamic import graph_of
from .test_import_table import floats, ints


class Row(NamedTuple):
    """An operator on arrays."""

    name: str
    inputs: Sequence[np.ndarray]
    attributes: Mapping[str, Any]
    free: Mapping[int, str]
    """Of inputs, the names of their axes, those of a known size as "."."""
    stored: Sequence[int]
    opset: int
    want: Callable[..., Any] | None
    holds: str
    """ONNX operators, one of which begins with - for none of it."""
    rtol: float


def row(
    name: str,
    *inputs: np.ndarray,
    free: Mapping[int, str] | None = None,
    stored: Sequence[int] = (),
    opset: int = 17,
    want: Callable[..., Any] | None = None,
    holds: str = "",
    rtol: float = 2e-6,
    **attributes: Any,
) -> Row:
    return Row(name, inputs, attributes, free or {}, stored, opset, want, holds, rtol)


def check(r: Row) -> None:
    graph = graph_of(r.name, r.attributes)
    names = [v.name for v in graph.variables()]
    arrays = dict(zip(graph.outputs[0].node.op.input_names(), r.inputs, strict=True))
    params = {n: arrays[n] for i, n in enumerate(names) if i in r.stored}
    feeds = {n: arrays[n] for n in names if n not in params}
    said = {}
    for i, name in enumerate(names):
        if name not in params:
            axes = r.free.get(i, "." * arrays[name].ndim)
            dims = tuple(n if a == "." else a for a, n in zip(axes, arrays[name].shape, strict=True))
            said[name] = converters.export.Spec(dims, arrays[name].dtype)
    model = converters.to_onnx(graph, params, said, r.opset)
    kinds = [n.op_type for n in model.graph.node]
    for kind in r.holds.split():
        assert (kind.lstrip("-") in kinds) is not kind.startswith("-"), f"{kind}: {kinds}"
    if r.want is None:
        wants = Program(graph, params).run(feeds)
    else:
        wants = r.want(*r.inputs)
        wants = list(wants) if isinstance(wants, tuple) else [wants]
        for got, want in zip(Program(graph, params).run(feeds), wants, strict=True):
            same(got, want, r.rtol)
    for got, want in zip(run_onnx(model, feeds), wants, strict=True):
        same(got, np.asarray(want), r.rtol)


X, CUBE = floats(3, 4), floats(2, 3, 4)
HALF = X.astype(np.float16)


def made() -> Iterator[Row]:
    """Arrays made, repeated and padded."""
    for dtype, frees in (("float32", ({}, {0: "n."})), ("float16", ({0: "nm"},)), ("int32", ({0: ".m"},))):
        x = np.zeros((3, 4), dtype)
        for free in frees:
            counted = np.arange(12).astype(dtype)
            yield row(
                "_contrib_arange_like",
                x,
                free=free,
                want=lambda x, c=counted: c.reshape(3, 4) * 2 + 1,
                start=1.0,
                step=2.0,
            )
            yield row("_contrib_arange_like", x, free=free, want=lambda x, c=counted: (c // 3).reshape(3, 4), repeat=3)
            for axis in (0, 1, -1, -2):
                size = x.shape[axis]
                yield row("_contrib_arange_like", x, free=free, axis=axis, want=lambda x, c=counted, n=size: c[:n])
    yield row("repeat", np.array(2.5, "f4"), repeats=3, want=lambda x: np.repeat(x, 3))
    yield row("tile", np.array(2.5, "f4"), reps=(), want=lambda x: x)
    yield row("tile", np.array(2.5, "f4"), reps=(2, 3), want=lambda x: np.tile(x, (2, 3)))
    yield row("_npi_pad", X, pad_width=((0, 0), (0, 0)), mode="maximum", want=lambda x: x)
    yield row("_npi_pad", X, pad_width=((0, 0), (2, 1)), mode="maximum", free={0: "nm"},
              want=lambda x: np.pad(x, ((0, 0), (2, 1)), "maximum"))  # fmt: skip
    yield row(
        "_npi_pad", X, pad_width=((1, 0), (2, 0)), mode="minimum", want=lambda x: np.pad(x, ((1, 0), (2, 0)), "minimum")
    )
    yield row("_npi_pad", X, pad_width=((1, 2), (3, 3)), mode="reflect", want=lambda x: np.pad(x, ((1, 2), (3, 3)), "reflect"),
              holds="Pad")  # fmt: skip
    for mode in ("reflect", "symmetric"):
        wide = lambda x, m=mode: np.pad(x, ((3, 5), (0, 7)), m)  # noqa: E731
        yield row("_npi_pad", X, pad_width=((3, 5), (0, 7)), mode=mode, want=wide, holds="-Pad Gather")


def placed() -> Iterator[Row]:
    """Elements by their positions."""
    for mode, move in (("clip", lambda i, n: np.clip(i, 0, n - 1)), ("wrap", lambda i, n: i % n)):
        for where in (np.array(-2, "f4"), np.float32([[0, -1, 9], [3, 2, -5]])):
            for axis in (0, -1):
                for free in ({}, {0: "nm"}):
                    size = X.shape[axis]
                    taken = lambda x, i, a=axis, n=size, f=move: x.take(f(i.astype(int), n), a)  # noqa: E731
                    yield row("take", X, where, axis=axis, mode=mode, free=free, want=taken)
    for axis, free in itertools.product((0, 1, 2, -1, -2), ({}, {0: "nml"})):
        for place in (np.array(-2), np.array([1]), np.array([2, -1])):
            block = list(CUBE.shape)
            block[axis] = 1 if place.size == 1 and place.ndim else 2
            several = np.moveaxis(floats(*block), axis, 0) if not place.ndim else floats(*block)
            into = lambda x, v, i, a=axis: np.insert(x, i if i.ndim else int(i), v, a)  # noqa: E731
            yield row("_npi_insert_tensor", CUBE, several, place, axis=axis, free=free, want=into)
    nothing = np.zeros((0, 4), np.float32)
    for free in ({}, {0: "n."}):
        yield row("take", nothing, np.zeros((0,), "f4"), mode="wrap", free=free, want=lambda x, i: x)
    index = np.float32([3, 0, -7])
    pick = lambda x, i: x[np.arange(3), np.clip(i.astype(int), 0, 3)]  # noqa: E731
    for free in ({}, {0: "nm"}):
        yield row("pick", X, index, axis=1, mode="clip", free=free, want=pick)
        yield row(
            "pick", X, index, axis=-1, mode="clip", keepdims=True, free=free, want=lambda x, i: pick(x, i)[:, None]
        )
    yield row("pick", X[0], np.float32([2]), axis=0, mode="clip", want=lambda x, i: x[2:3])
    mark = np.array([[True, False, True, True]] * 2 + [[False] * 4])
    yield row(
        "_npi_boolean_mask_assign_scalar",
        X,
        mark,
        value=2.5,
        start_axis=0,
        want=lambda x, m: np.where(m, np.float32(2.5), x),
    )
    yield row("_npi_boolean_mask_assign_scalar", CUBE, mark[0, :3], value=2.5, start_axis=1,
              want=lambda x, m: np.where(m[:, None], np.float32(2.5), x))  # fmt: skip
    deep = floats(2, 3, 4, 5)
    marks = np.array([[True, False, True, False], [False] * 4, [True, True, False, True]])
    value = floats(2, 5, 5)

    def assigned(data: np.ndarray, mask: np.ndarray, value: np.ndarray) -> np.ndarray:
        out = data.copy()
        out[:, mask] = value
        return out

    yield row("_npi_boolean_mask_assign_tensor", deep, marks, value, start_axis=1, want=assigned)
    more = floats(2, 3, 4, 2, 5)
    yield row("_npi_boolean_mask_assign_tensor", more, np.array([[True, False, True, False]] * 2 + [[True] * 4]),
              floats(2, 8, 2, 5), start_axis=1, want=assigned)  # fmt: skip
    two = np.array([True, False, True, True])

    def behind(data: np.ndarray, mask: np.ndarray, value: np.ndarray) -> np.ndarray:
        out = data.copy()
        out[:, :, mask] = value
        return out

    yield row("_npi_boolean_mask_assign_tensor", deep, two, floats(2, 3, 3, 5), start_axis=2, want=behind)
    yield row("_npi_boolean_mask_assign_tensor", more, two, floats(2, 3, 3, 2, 5), start_axis=2, want=behind)
    for free in ({}, {0: "nm"}):
        for part in ({"start": 1, "stop": None, "step": 2}, {"start": None, "stop": None, "step": -1},
                     {"start": -2, "stop": None, "step": None}, {"start": 3, "stop": 0, "step": -2}):  # fmt: skip
            cut = slice(*part.values())
            given = {n: v for n, v in part.items() if v is not None}
            yield row("_npi_delete", X, free=free, axis=1, want=lambda x, c=cut: np.delete(x, c, 1), **given)
        yield row("_npi_delete", X, free=free, int_ind=5, want=lambda x: np.delete(x, 5))
        yield row("_npi_delete", X, free=free, int_ind=-1, axis=0, want=lambda x: np.delete(x, -1, 0))
        yield row("_npi_delete", X, free=free, int_ind=-3, axis=-1, want=lambda x: np.delete(x, -3, 1))
    yield row("_npi_delete", X[0], int_ind=2, want=lambda x: np.delete(x, 2))


def reduced() -> Iterator[Row]:
    """Sums and norms."""
    for name, f, initial in (
        ("_np_sum", np.sum, 2.5),
        ("_np_prod", np.prod, 2.5),
        ("_np_max", np.max, 0.5),
        ("_np_min", np.min, 0.5),
    ):
        for start in (-9.0, initial):
            for free in ({}, {0: "nm."}):
                yield row(
                    name,
                    CUBE,
                    free=free,
                    axis=(1,),
                    initial=start,
                    want=lambda x, f=f, s=start: f(x, 1, initial=s),
                    rtol=1e-5,
                )
    matrices = floats(2, 3, 4)
    for order, axes in (
        (1, (0, 1)),
        (-1, (0, 1)),
        (1, (1, 0)),
        (-1, (2, 0)),
        (2, (0, 1)),
        (-2, (1, 2)),
        (2, (2, 0)),
        ("nuc", (2, 0)),
    ):
        for keepdims in (False, True):
            kind = {"nuc": {"flag": 2}}.get(order, {"flag": 4, "ord": order})
            yield row("_npi_norm", matrices, **kind, axis=axes, keepdims=keepdims, rtol=1e-4,
                      want=lambda x, o=order, a=axes, k=keepdims: np.linalg.norm(x, o, a, k))  # fmt: skip
    for order in (0, 1, 3, 0.5):
        yield row(
            "_npi_norm", X, ord=order, axis=(1,), flag=4, rtol=1e-5, want=lambda x, o=order: np.linalg.norm(x, o, 1)
        )
    for values in (np.float32([1, -2, 3, 0.5]), np.float32([[1, 5], [-3, 2]])):
        yield row("_histogram", values, bin_cnt=3, range=(-2.0, 4.0), want=lambda x: histogram(x, 3, (-2.0, 4.0)))
    whole = ints(3, 1, 1, 0, 5)
    yield row("_npi_bincount", whole, minlength=8, has_weights=False, want=lambda x: np.bincount(x, minlength=8))
    yield row("_npi_bincount", whole, minlength=2, has_weights=False, free={0: "n"}, want=lambda x: np.bincount(x))
    for a_min, a_max in ((0.25, 0.25), (-0.5, 0.75), (0.5, -0.5)):
        bounds = lambda x, a=a_min, b=a_max: np.where(x > b, b, np.where(x < a, a, x)).astype(x.dtype)  # noqa: E731
        yield row("clip", X, a_min=a_min, a_max=a_max, want=bounds)
    yield row("_npi_around", ints(125, -135, 144, 6), decimals=1, want=lambda x: x)
    yield row("_npi_around", ints(125, -135, 144, 6), decimals=-1, want=lambda x: (x / 10).astype(int) * 10)
    yield row(
        "_npi_around", X * 100, decimals=-1, want=lambda x: np.round(x / np.float32(10)) * np.float32(10), rtol=1e-5
    )
    bad = [X, np.float32([1, np.inf]), np.float32([np.nan])]
    for arrays in (bad[:1], bad, [X, X * 2], bad[::-1]):
        good = np.float32([all(np.isfinite(a).all() for a in arrays)])
        yield row("multi_all_finite", *arrays, num_arrays=len(arrays), want=lambda *_, g=good: g)
    yield row("add_n", X, num_args=1, want=lambda x: x)
    for dtype in ("i4", "f4"):
        yield row("add_n", *((X * n).astype(dtype) for n in (3, 5, 7)), num_args=3, want=lambda a, b, c: a + b + c)


def dirichlet(x: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    scale = math.gamma(alpha.sum()) / np.prod([math.gamma(v) for v in alpha])
    return np.float32(scale * np.prod(x ** (alpha - 1.0), -1)).reshape(x.shape[:-1] or (1,))


def like_rows(x: np.ndarray, y: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    return x[: y.shape[0] if 0 in axes else None, : y.shape[1] if 1 in axes or -1 in axes else None]


def histogram(x: np.ndarray, count: int, bounds: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    counts, edges = np.histogram(x, count, bounds)
    return counts.astype(np.int64), edges.astype(np.float32)


def windows() -> Iterator[Row]:
    """Pooling, convolutions and resizing."""
    image = floats(2, 3, 7, 8)
    for kind in ("max", "avg", "sum", "lp"):
        powers = ({"p_value": 1}, {"p_value": 2}, {"p_value": 3}) if kind == "lp" else ({},)
        for power in powers:
            how = {"pool_type": kind, **power, "rtol": 1e-4}
            for layout in (None, "NHWC"):
                x = image if layout is None else image.transpose(0, 2, 3, 1).copy()
                free = {0: "n.hw"} if layout is None else {0: "nhw."}
                lay = {} if layout is None else {"layout": layout}
                yield row("Pooling", x, global_pool=True, kernel=(1, 1), free=free, **lay, **how)
                yield row("Pooling", x, kernel=(3, 2), stride=(2, 3), pad=(1, 0), free=free, **lay, **how)
            for convention in ("valid", "full"):
                for free in ({}, {0: "n.hw"}) if kind in ("max", "avg") else ({},):
                    if not free or convention == "valid" or kind != "avg":  # how much is counted depends on the size
                        yield row("Pooling", image, kernel=(3, 2), stride=(2, 3), pad=(1, 1), pooling_convention=convention,
                                  free=free, **how)  # fmt: skip
                    yield row(
                        "Pooling", image, kernel=(2, 2), stride=(2, 2), pooling_convention=convention, free=free, **how
                    )
                    yield row(
                        "Pooling", image, kernel=(3, 3), stride=(1, 2), pooling_convention=convention, free=free, **how
                    )
                yield row(
                    "Pooling", image, kernel=(2, 3), stride=(3, 4), pad=(1, 2), pooling_convention=convention, **how
                )
                yield row("Pooling", image, kernel=(1, 2), stride=(4, 3), pooling_convention=convention, **how)
    for include in (False, True):
        for convention in ("valid", "full", "same"):
            how = {"pool_type": "avg", "count_include_pad": include, "pooling_convention": convention, "rtol": 1e-5}
            for kernel, stride, pad in (
                ((3, 2), (2, 3), (1, 1)),
                ((2, 2), (4, 3), (1, 1)),
                ((1, 2), (3, 3), (0, 1)),
                ((3, 3), (2, 2), (0, 2)),
            ):
                if convention == "same" and any(pad):
                    continue
                yield row("Pooling", image, kernel=kernel, stride=stride, pad=pad, **how)
                if convention == "valid":
                    yield row("Pooling", image, kernel=kernel, stride=stride, pad=pad, free={0: "n.hw"}, **how)
    for grid in ((1, 1), (7, 4), (3, 4), (2, 3), (1, 3), (3, 1), (7, 8)):
        yield row("_contrib_AdaptiveAvgPooling2D", image, output_size=grid, rtol=1e-5,
                  want=lambda x, g=grid: adaptive(x, g))  # fmt: skip
    columns = floats(2, 24, 20)
    for opset in (13, 18):
        yield row("col2im", columns, output_size=(5, 7), kernel=(2, 3), opset=opset)
        yield row("col2im", floats(2, 24, 6), output_size=(5, 7), kernel=(2, 3), stride=(3, 2), pad=(1, 0), opset=opset)
    small, weight = floats(2, 3, 4, 5), floats(3, 2, 3, 2)
    for target in ((8, 10), (9, 10), (8, 9)):
        yield row("Deconvolution", small, weight, kernel=(3, 2), stride=(2, 2), num_filter=2, target_shape=target, no_bias=True,
                  rtol=1e-5)  # fmt: skip
    for scale, kind in ((2, "nearest"), (3, "nearest")):
        other = floats(2, 2, 4, 5)
        for free in ({}, {0: "n.hw"}):
            yield row("UpSampling", small, scale=scale, sample_type=kind, num_args=1, free=free,
                      want=lambda x, s=scale: x.repeat(s, 2).repeat(s, 3))  # fmt: skip
        yield row("UpSampling", small, other, scale=scale, sample_type=kind, num_args=2, multi_input_mode="concat",
                  want=lambda x, y, s=scale: np.concatenate([x, y], 1).repeat(s, 2).repeat(s, 3))  # fmt: skip
        half = floats(2, 3, 8, 10)
        yield row("UpSampling", half, small, scale=scale, sample_type=kind, num_args=2, multi_input_mode="sum",
                  want=lambda x, y, s=scale: x.repeat(s, 2).repeat(s, 3) + y.repeat(2 * s, 2).repeat(2 * s, 3))  # fmt: skip


def adaptive(x: np.ndarray, grid: tuple[int, int]) -> np.ndarray:
    """Means of the cells that begin at the floor and end at the ceiling of their share."""
    out = np.zeros((*x.shape[:2], *grid), x.dtype)
    for i, j in np.ndindex(*grid):
        (top, bottom), (left, right) = (
            (k * n // g, -(-(k + 1) * n // g)) for k, n, g in zip((i, j), x.shape[2:], grid)
        )
        out[:, :, i, j] = x[:, :, top:bottom, left:right].mean((2, 3))
    return out


def pictures() -> Iterator[Row]:
    """Pictures with their channels last."""
    rng = np.random.default_rng(8)
    for dtype in (np.uint8, np.uint16, np.float32):
        picture = rng.integers(0, 250, (8, 12, 3)).astype(dtype)
        for method, size in ((1, (8, 12)), (3, (8, 12)), (3, (4, 6)), (3, (2, 4)), (3, (8, 6)), (3, (5, 7)), (0, (5, 7)),
                             (1, (11, 7)), (2, (5, 7)), (3, (11, 17))):  # fmt: skip
            yield row("_cvimresize", picture, h=size[0], w=size[1], interp=method, rtol=1e-5)
    for dtype in ("uint8", "float32"):
        gray, color = (rng.integers(0, 250, (4, 5, n)).astype(dtype) for n in (1, 3))
        for x in (gray, color):
            yield row("_image_adjust_lighting", x, alpha=(0.3, -0.2, 0.1), rtol=1e-5)
            yield row("_image_resize", x, size=(7, 6), interp=1, rtol=1e-5)
            yield row("_image_resize", x, size=(7, 6), interp=0, rtol=1e-5)
        yield row("_image_adjust_lighting", gray, alpha=(0.3, -0.2, 0.1), want=lambda x: x)
        yield row("_image_crop", color, x=1, y=2, width=3, height=1, want=lambda x: x[2:3, 1:4])
        yield row("_image_crop", color[None], x=1, y=2, width=3, height=1, want=lambda x: x[:, 2:3, 1:4])
        yield row("_image_flip_left_right", color, want=lambda x: x[:, ::-1])
        yield row("_image_flip_top_bottom", color, want=lambda x: x[::-1])
        for border in (0, 1, 2, 4):
            yield row("_cvcopyMakeBorder", color, top=1, bot=2, left=3, right=0, type=border, rtol=0)
        yield row("_cvcopyMakeBorder", color, top=1, bot=2, left=3, right=0, type=0, values=(7.0, 8.0, 9.0),
                  want=lambda x: np.stack([np.pad(x[..., i], ((1, 2), (3, 0)), constant_values=7 + i) for i in (0, 1, 2)], 2),
                  )  # fmt: skip


def detected() -> Iterator[Row]:
    """Boxes, their overlaps and what suppresses them."""
    rng = np.random.default_rng(9)
    low = rng.integers(0, 8, (2, 6, 2)) / 8
    boxes = np.concatenate([low, low + rng.integers(1, 5, (2, 6, 2)) / 8], axis=-1).astype(np.float32)
    scores = rng.permutation(12).reshape(2, 6, 1).astype(np.float32) / 16
    kinds = rng.integers(0, 2, (2, 6, 1)).astype(np.float32)
    rows = np.concatenate([kinds, scores, boxes], axis=-1)
    for free in ({}, {0: "nm."}):
        for topk in (-1, 0, 3, 6, 7):
            yield row("_contrib_box_nms", rows, topk=topk, id_index=0, overlap_thresh=0.3, free=free)
        for forms in (("corner", "center"), ("center", "corner")):
            yield row("_contrib_box_nms", rows, in_format=forms[0], out_format=forms[1], overlap_thresh=0.3, free=free)
            yield row("_contrib_box_nms", rows[..., 1:], in_format=forms[0], out_format=forms[1], overlap_thresh=0.3, score_index=0,
                      coord_start=1, free=free)  # fmt: skip
            bare = rows[..., 2:]
            yield row("_contrib_box_nms", bare, in_format=forms[0], out_format=forms[1], overlap_thresh=0.3, score_index=3,
                      coord_start=0, free=free)  # fmt: skip
    yield row("_contrib_box_nms", rows[0], overlap_thresh=0.3, id_index=0)
    yield row("_contrib_box_nms", rows[:, :0], overlap_thresh=0.3, id_index=0, want=lambda x: x)
    yield row("_contrib_box_nms", rows[:0], overlap_thresh=0.3, want=lambda x: x)
    for format_ in ("corner", "center"):
        yield row("_contrib_box_iou", boxes, boxes[0], format=format_, rtol=1e-5)
        yield row("_contrib_box_iou", boxes[0], boxes[1], format=format_, rtol=1e-5)
        yield row("_contrib_box_iou", boxes[0], boxes, format=format_, rtol=1e-5)
    for clip in (-1.0, 0.0, 0.125):
        yield row("_contrib_box_decode", floats(2, 6, 4), boxes[:1], clip=clip, rtol=1e-5)
    anchors = boxes[:1]
    chances = rng.random((2, 3, 6)).astype(np.float32)
    offsets = floats(2, 24) / 4
    for dtype in ("f4", "f2"):
        given = [v.astype(dtype) for v in (chances, offsets, anchors)]
        for more in (
            {},
            {"nms_topk": 3},
            {"nms_topk": 6},
            {"nms_topk": 7},
            {"threshold": -1.0},
            {"threshold": -0.5},
            {"force_suppress": True},
        ):
            if dtype == "f2" and more:
                continue
            yield row(
                "_contrib_MultiBoxDetection",
                *given,
                **{"nms_threshold": 0.4, **more},
                rtol=1e-5 if dtype == "f4" else 2e-3,
            )
    for steps in ((-1.0, -1.0), (0.25, 0.125)):
        for free in ({}, {0: "n.hw"}):
            yield row(
                "_contrib_MultiBoxPrior",
                floats(1, 2, 3, 5),
                sizes=(0.3, 0.4),
                ratios=(1.0, 2.0),
                steps=steps,
                free=free,
                rtol=1e-5,
            )


def products() -> Iterator[Row]:
    """Pieces, parts, matrices and probabilities."""
    for free in ({}, {0: "n.."}, {0: "nmk"}):
        for squeeze in (False, True):
            one = floats(2, 1, 4)
            yield row("SliceChannel", one, num_outputs=1, axis=1, squeeze_axis=squeeze, free=free,
                      want=lambda x, s=squeeze: x[:, 0] if s else x)  # fmt: skip
            yield row("SliceChannel", floats(2, 3, 4), num_outputs=3, axis=-2, squeeze_axis=squeeze, free=free,
                      want=lambda x, s=squeeze: tuple(x[:, i] if s else x[:, i : i + 1] for i in range(3)))  # fmt: skip
            yield row("_split_v2", floats(2, 3, 4), indices=(0, 1, 2), axis=1, squeeze_axis=squeeze, free=free,
                      want=lambda x, s=squeeze: tuple(x[:, i] if s else x[:, i : i + 1] for i in range(3)))  # fmt: skip
    for turn in (-1, 0, 1, 2, 3, 5):
        yield row("_npi_rot90", CUBE, k=turn, axes=(2, 0), want=lambda x, t=turn: np.rot90(x, t, (2, 0)))
    yield row("_npi_flip", X, axis=(), want=lambda x: x)
    for k in (-1, 0, 2):
        yield row("_npi_tril", X[0], k=k, opset=17, want=lambda x, k=k: np.tril(np.broadcast_to(x, (4, 4)), k))
    data1, data2 = floats(2, 3, 5, 6), floats(2, 3, 5, 6) + 1
    for reach, pad, kernel, multiply in ((0, 0, 1, True), (0, 1, 1, False), (1, 0, 1, True), (1, 1, 3, True)):
        yield row(
            "Correlation",
            data1,
            data2,
            kernel_size=kernel,
            max_displacement=reach,
            pad_size=pad,
            is_multiply=multiply,
            rtol=1e-5,
        )
    yield row("Correlation", data1, data2, kernel_size=1, max_displacement=0, pad_size=0, is_multiply=True, rtol=1e-5,
              want=lambda a, b: (a * b).mean(1, keepdims=True))  # fmt: skip
    grid = floats(2, 2, 3, 4)
    for opset in (13, 15, 16, 19, 20, 21):
        yield row(
            "BilinearSampler", data1, grid, opset=opset, rtol=2e-5, holds="GridSample" if opset >= 16 else "-GridSample"
        )
    parameters = np.abs(floats(3)) + 0.5
    sample = np.float32([0.2, 0.3, 0.5])
    yield row("_random_pdf_dirichlet", sample, parameters, rtol=1e-4, want=dirichlet)
    yield row("_random_pdf_dirichlet", np.stack([sample, sample[::-1]])[None], parameters[None],
              rtol=1e-4, want=lambda x, a: dirichlet(x, a[0]))  # fmt: skip
    chances = np.random.default_rng(11).permutation(12).reshape(3, 4)
    for dtype in ("f4", "f8", "f2"):
        for ascend in (False, True):
            yield row("_contrib_bipartite_matching", chances.astype(dtype), threshold=5.0, is_ascend=ascend)
            yield row(
                "_contrib_bipartite_matching", chances.astype(dtype)[None], threshold=5.0, is_ascend=ascend, topk=2
            )
    wide = np.float64([[2**53 - 1, 2**53], [2**53 - 2, 2**53 - 3]])
    yield row("_contrib_bipartite_matching", wide, threshold=1.0)
    for name in ("_linalg_maketrian", "_linalg_extracttrian"):
        for lower in (True, False):
            x = np.arange(1, 13, dtype=np.float32).reshape(2, 6) if name == "_linalg_maketrian" else floats(2, 3, 3)
            yield row(name, x, lower=lower)
    square = floats(2, 3, 3) / 4 + np.eye(3, dtype=np.float32) * 2
    for lower, transpose, rightside in (
        (True, False, False),
        (False, False, False),
        (True, True, True),
        (False, True, False),
    ):
        yield row(
            "_linalg_trmm", square, floats(2, 3, 3), lower=lower, transpose=transpose, rightside=rightside, rtol=1e-5
        )
        yield row(
            "_linalg_trsm", square, floats(2, 3, 3), lower=lower, transpose=transpose, rightside=rightside, rtol=1e-4
        )
    for begin, end, step in (
        ((None, -2), (None, None), (1, 1)),
        ((3, 0), (0, 4), (-2, 3)),
        ((-9, 1), (None, 3), (-1, 1)),
        ((-3, None), (None, 1), (-1, -1)),
    ):
        cuts = tuple(slice(*p) for p in zip(begin, end, step))
        for free in ({}, {0: "nm"}):
            yield row("slice", X, begin=begin, end=end, step=step, free=free, want=lambda x, c=cuts: x[c])
    for axes in ((1,), (-1, 0), (0, 1), (1, 0)):
        smaller = floats(2, 3)
        for free in ({}, {1: "ab"}):
            yield row("slice_like", X, smaller, axes=axes, free=free, want=lambda x, y, a=axes: like_rows(x, y, a))
    for shape, codes, free in (
        ((0, 6), (-1, 3), {}),
        ((4, 6), (2, -1, 3), {0: "nm"}),
        ((4, 6), (-4, 2, -1, 0), {0: "n."}),
        ((4, 6), (-3,), {0: "nm"}),
        ((4, 6, 2), (-3, 0), {0: "nmk"}),
        ((4, 6, 2), (0, -3), {0: "nmk"}),
        ((4, 6, 2), (-3, -3), {}),
        ((2, 3, 4, 5), (-3, -3), {0: "nmkl"}),
        ((2, 3, 4, 5), (-3, 2, -1), {0: "nmkl"}),
    ):
        x = floats(*shape)
        if codes == (-3, -3) and len(shape) == 3:
            continue
        for opset in (13, 14):
            yield row("Reshape", x, shape=codes, free=free, opset=opset)
    for begin, end, first, last, lhs, rhs in (
        (1, 2, 1, 3, (2, 6, 5), (7, 3, 2)),
        (0, 1, 0, 2, (6, 5), (3, 2, 9)),
        (1, 3, 0, 1, (2, 3, 4), (12, 5)),
    ):
        for free in ({}, {0: "abc"[: len(lhs)]}, {0: "abc"[: len(lhs)], 1: "def"[: len(rhs)]}):
            wanted = (*lhs[:begin], *rhs[first:last], *lhs[end:])
            yield row("reshape_like", floats(*lhs), floats(*rhs), lhs_begin=begin, lhs_end=end, rhs_begin=first, rhs_end=last,
                      free=free, want=lambda x, y, z=wanted: x.reshape(z))  # fmt: skip
    for op_shape, free in (((3, 1, 4, 1), {0: "n.m."}), ((3, 1, 4, 1), {})):
        yield row("squeeze", floats(*op_shape), axis=(3, 1), free=free, want=lambda x: x[:, 0, :, 0])
        yield row("squeeze", floats(*op_shape), axis=(-1,), free=free, want=lambda x: x[..., 0])
    yield row("_npi_pinv_scalar_rcond", floats(2, 3, 4), rcond=0.01, rtol=2e-4, want=lambda x: np.linalg.pinv(x, 0.01))
    for shape in ((0, 3), (3, 0), (2, 0, 3), (2, 3, 0)):
        yield row("_npi_pinv_scalar_rcond", np.zeros(shape, np.float32), rcond=0.01, want=lambda x: x.swapaxes(-1, -2))
    yield row("im2col", floats(2, 3, 5, 6), kernel=(2, 3), stride=(2, 1), pad=(1, 0))
    for flatten in (True, False):
        for shape in ((3, 4), (2, 3, 4)):
            x, rows = floats(*shape), floats(5, 12 if flatten and len(shape) > 2 else 4)
            yield row("FullyConnected", x, rows, num_hidden=5, no_bias=True, flatten=flatten, rtol=1e-5,
                      want=lambda x, w, f=flatten: (x.reshape(len(x), -1) if f else x) @ w.T)  # fmt: skip
    for left, right in (
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((4,), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
    ):
        yield row("_np_dot", floats(*left), floats(*right), rtol=1e-5, want=np.dot)


def quantised() -> Iterator[Row]:
    """Integers beside ranges that are stored or fed, with sizes that may be free."""
    rng = np.random.default_rng(13)
    both = lambda low, high: (np.float32([low]), np.float32([high]))  # noqa: E731
    for kind in ("uint8", "int8"):
        info = np.iinfo(kind)
        image = rng.integers(info.min, info.max + 1, (2, 3, 4, 5)).astype(kind)
        kernels = rng.integers(-128, 128, (6, 3, 2, 2)).astype(np.int8)
        bias = rng.integers(-128, 128, 6).astype(np.int8)
        for free in ({}, {1: "oikl"}):
            yield row("_contrib_quantized_conv", image, kernels, bias, *both(-1, 2), *both(-0.5, 0.4), *both(-3, 0.2),
                      kernel=(2, 2), num_filter=6, free=free, rtol=0)  # fmt: skip
            rows, dense = image.reshape(8, 15), rng.integers(-128, 128, (6, 15)).astype(np.int8)
            free = {1: "oi"} if free else {}
            yield row("_contrib_quantized_fully_connected", rows, dense, bias, *both(-1, 2), *both(-0.5, 0.4), *both(-3, 0.2),
                      num_hidden=6, free=free, rtol=0)  # fmt: skip
        for height in (256, 257):  # whose sum float32 holds, and does not
            large = rng.integers(info.max - 3, info.max + 1, (1, 2, height, 257)).astype(kind)
            yield row("_contrib_quantized_pooling", large, *both(-1, 2), pool_type="avg", global_pool=True, rtol=0,
                      holds="GlobalAveragePool" if height == 256 else "-GlobalAveragePool")  # fmt: skip
        for free in ({0: "n.hw"}, {0: "n.h."}):
            yield row(
                "_contrib_quantized_pooling", image, *both(-1, 2), pool_type="avg", global_pool=True, free=free, rtol=0
            )
        yield row("_contrib_quantized_pooling", image, *both(-1, 2), pool_type="max", global_pool=True, rtol=0)
    eights = [rng.integers(-128, 128, (2, n)).astype(np.int8) for n in (3, 4)]
    shorter = rng.integers(0, 256, (2, 4)).astype(np.uint8)
    for stored in ((2, 3, 4, 5), (), (2, 3)):
        for second, kind in ((eights[1], "int8"), (shorter, "uint8")):
            yield row(
                "_contrib_quantized_concat",
                eights[0],
                second,
                *both(-2, 1),
                *both(-2, 1),
                num_args=2,
                dim=1,
                stored=stored,
                rtol=0,
            )
            yield row("_contrib_quantized_concat", eights[0], second, *both(-2, 1), *both(-1, 4), num_args=2, dim=-1, stored=stored,
                      rtol=0)  # fmt: skip
            assert second.dtype == kind
    yield row(
        "_contrib_quantized_concat",
        eights[0],
        *both(-2, 1),
        num_args=1,
        dim=1,
        want=lambda x, a, b: (x, a * 0 - 2, b),
        rtol=0,
    )
    parts = [floats(3), floats(3) + 1, floats(3) / 2, np.abs(floats(3)) + 0.5]
    batch = rng.integers(-128, 128, (2, 3, 4)).astype(np.int8)
    for stored in ((1, 2, 3, 4, 5, 6), (1, 2, 3, 4), (5, 6), (1, 2, 5, 6)):
        for low, high in ((-3.0, 1.0), (-1.0, 3.0)):
            yield row("_contrib_quantized_batch_norm", batch, *parts, *both(-2, 1), min_calib_range=low, max_calib_range=high,
                      stored=stored, rtol=0)  # fmt: skip


def regions() -> Iterator[Row]:
    """Regions of three pictures that are wider than high, some over every border, one of no picture; at opsets with and without
    operators of ONNX for them."""
    rng = np.random.default_rng(17)
    corners = [
        [0, 1, 2, 13, 7],
        [2, -3, -2, 9, 12],
        [1, 6, 3, 25, 9],
        [-1, 0, 0, 8, 8],
        [2, 12, 1, 17, 5],
        [1, 4, 4, 4, 4],
    ]
    boxes = np.float32(corners) + np.float32([0, 0.25, -0.125, 0.375, 0.25])
    turned = np.concatenate([boxes[:, :3], np.abs(boxes[:, 3:]), np.float32([[30, -75, 90, 0, 10, 180]]).T], 1)
    turned[5, 1:5] = (6, 4, 1.25, 0.5)  # less than a pixel, which counts as one
    for dtype, opset, free in (("f4", 17, {}), ("f4", 22, {0: "n.hw"}), ("f2", 22, {}), ("f8", 22, {0: "n.hw"})):
        rtol = {"f4": 2e-5, "f2": 4e-3, "f8": 1e-6}[dtype]
        image, boxes_, turned_ = (
            v.astype(dtype) for v in (rng.uniform(-2, 2, (3, 12, 5, 9)), boxes.astype(dtype), turned.astype(dtype))
        )
        how = {"opset": opset, "free": free, "rtol": rtol, "spatial_scale": 0.5}
        yield row("ROIPooling", image, boxes_, pooled_size=(2, 3), **how)
        for more in (
            {"sample_ratio": 2},
            {"sample_ratio": 3, "aligned": True},
            {"aligned": True},
            {},
            {"sample_ratio": 2, "position_sensitive": True},
        ):
            yield row("_contrib_ROIAlign", image, boxes_, pooled_size=(2, 3), **more, **how)
        for cells, groups in ((2, 2), (3, 2), (2, 0)):
            yield row("_contrib_PSROIPooling", image, boxes_, output_dim=3, pooled_size=cells, group_size=groups, **how)
        shifts = rng.uniform(-1, 1, (6, 2, 2, 2)).astype(dtype)
        parts = {"output_dim": 3, "pooled_size": 3, "group_size": 2, "part_size": 2, "sample_per_part": 2}
        yield row("_contrib_DeformablePSROIPooling", image, boxes_, shifts, **parts, trans_std=0.25, **how)
        yield row("_contrib_DeformablePSROIPooling", image, boxes_, no_trans=True, **parts, **how)
        for ratio in (2, -1):
            yield row("_contrib_RROIAlign", image, turned_, pooled_size=(2, 3), sampling_ratio=ratio, **how)


def seldom() -> Iterator[Row]:
    """Sizes and attributes that few networks have."""
    whole = np.arange(-5, 7, dtype=np.int32).reshape(3, 4)
    for name in ("broadcast_mod", "broadcast_div"):
        yield row(name, whole, ints(2, 0, -3, 1, dtype=np.int32), stored=[1])
    yield row("_contrib_div_sqrt_dim", np.zeros((3, 0), np.int32))
    # grown where one of two sizes is free
    for dtype in ("float32", "int64"):
        pictures = [(9 * floats(2, 3, *s)).astype(dtype) for s in ((2, 3), (4, 6))]
        for free in ("...w", "..h."):
            how = {"scale": 4, "sample_type": "nearest", "num_args": 2}
            yield row("UpSampling", *pictures, free={0: free, 1: free.upper()}, **how)
    boxes = floats(2, 3, 4, 5)
    yield row("_contrib_MultiBoxPrior", boxes, free={0: "..hw"}, sizes=(0.3, 0.5), ratios=(1, 2), steps=(0.0, 0.0))
    yield row("_contrib_MultiBoxPrior", boxes, free={0: "...w"}, sizes=(0.3, 0.5), steps=(0.5, 0.25))
    regions_ = np.float32([[0, 0, 1, 7, 6], [1, 2, 2, 9, 5], [1, 3, 1, 4, 1]])
    for ratio in (0, -1):  # as many samples as a cell is long
        yield row(
            "_contrib_ROIAlign",
            floats(2, 3, 6, 8),
            regions_,
            pooled_size=(2, 3),
            spatial_scale=0.75,
            sample_ratio=ratio,
        )
    # as many as the places of three axes, beside one that has moved
    yield row(
        "Reshape", floats(2, 3, 4, 5), free={0: "nmkp"}, shape=(-1, 0), reverse=True, want=lambda x: x.reshape(24, 5)
    )
    yield row(
        "Reshape", floats(2, 3, 4, 5), free={0: "nmk."}, shape=(-1, 0), reverse=True, want=lambda x: x.reshape(24, 5)
    )
    yield row("Pooling", floats(1, 2, 5, 5), kernel=(1, 1), stride=(3, 3), pool_type="sum", pooling_convention="full")
    yield row("_npi_pad", floats(3, 4), pad_width=((1, 0), (0, 2)), mode="reflect", free={0: "n."})


TABLES = [regions, quantised, products, made, placed, reduced, windows, pictures, detected, seldom]


@pytest.mark.parametrize("table", TABLES, ids=lambda f: f.__name__)
def test_written_operators_compute_the_same(table: Callable[[], Iterator[Row]]) -> None:
    rows = list(table())
    run([(f"{i} {r.name} {dict(r.attributes)} {dict(r.free)}", r) for i, r in enumerate(rows)], check)


def test_conditions_may_be_truths_and_loops_of_one_result() -> None:
    """A condition in bool, beside those in float32; a loop of states alone, and one of one state that a branch chooses."""
    for relation, bound in (("_npi_greater_scalar", 0.5), ("_greater_scalar", 0.5)):
        asked, a, b = variable("asked"), variable("a"), variable("b")
        node = apply(
            "_cond",
            *map(variable, ("asked", "a", "b")),
            name="choice",
            subgraphs=(
                Graph([one(relation, asked, scalar=bound)]),
                Graph([one("elemwise_add", a, b)]),
                Graph([one("elemwise_mul", a, b)]),
            ),
            num_args=6,
            num_outputs=1,
            cond_input_locs=(0,),
            then_input_locs=(1, 2),
            else_input_locs=(1, 2),
        )
        x, y = floats(3), floats(3) + 1
        for number, want in ((1, x + y), (0, x * y)):
            feeds = {"asked": np.float32([number]), "a": x, "b": y}
            (got,) = run_onnx(converters.to_onnx(outputs(node), {}, feeds, 17), feeds)
            np.testing.assert_allclose(got, want, rtol=1e-6)
        i = variable("i-0")
        condition = one(relation.replace("greater", "less" if "npi" in relation else "lesser"), i, scalar=5)
        doubled = one("_mul_scalar", i, scalar=2, name="twice")
        loop = while_loop(Graph([condition]), Graph([doubled]), ["i"], (0,), states=(0,), steps=6, count=0)
        for start, want in ((1, 8), (3, 6), (5, 5), (0.0625, 4)):
            feeds = {"i": np.float32([start])}
            (got,) = run_onnx(converters.to_onnx(loop, {}, feeds, 17), feeds)
            assert got.tolist() == [want]


def test_what_a_loop_stacks_is_filled_up_with_rows_of_zeros() -> None:
    """Rows of two dimensions; as many steps as it takes, and the most there may be."""
    i, m = variable("i-0"), variable("m-0")
    condition = Graph([one("_lesser_scalar", variable("c-0"), scalar=5)])
    body = Graph([one("_plus_scalar", m, scalar=1), one("_mul_scalar", i, scalar=2, name="twice"), one("_copy", m)])
    loop = while_loop(condition, body, ["i", "m"], (1, 0), states=(1, 0), steps=4, count=1)
    x = floats(2, 3)
    for start, steps in ((1, 3), (0.5, 4), (7, 0)):
        feeds = {"i": np.float32([start]), "m": x}
        got = run_onnx(converters.to_onnx(loop, {}, feeds, 17), feeds)
        np.testing.assert_array_equal(got[0], np.stack([x + 1] * steps + [0 * x] * (4 - steps)))
        assert got[1].tolist() == [start * 2**steps]
        np.testing.assert_array_equal(got[2], x)


def test_a_loop_of_no_known_rank_is_refused() -> None:
    """Stacked outputs of Scan, and those filled up to the most steps, have to have a rank."""
    text = """<ir_version: 8, opset_import: ["" : 17]> main (float[n] x, int64[k] s) => (float[?] y) { y = Reshape (x, s) }"""
    found = import_model(parsed(text))
    d, state = variable("d-0"), variable("s-0")
    body = Graph([one("elemwise_add", d, state), one("elemwise_mul", d, state, name="next")])
    each = foreach(body, ["d", "s"], (0,), (1,))
    data = found.graph.outputs[0]
    node = each.outputs[0].node
    joined = Node(node.op, node.name, [data, variable("z")], node.attrs, node.subgraphs)
    with pytest.raises(converters.UnsupportedModel, match="rank"):
        converters.to_onnx(
            Graph([Entry(joined, 0)]),
            {},
            {"x": ("n",), "z": (2,), "s": converters.export.Spec(("k",), np.dtype("int64"))},
            17,
        )


def test_sizes_that_readers_decide() -> None:
    """Zeros of a size that follows from what reads them broadcast; ones need it known."""
    x = mx.sym.var("x")
    feeds = {"x": X}
    for fill, known in ((mx.sym.zeros, False), (mx.sym.zeros, True), (mx.sym.ones, True)):
        graph = (x + fill(shape=(0, 4))).graph
        (got,) = run_onnx(converters.to_onnx(graph, {}, feeds if known else {"x": ("n", 4)}, 17), feeds)
        np.testing.assert_array_equal(got, X if fill is mx.sym.zeros else X + 1)
    for fill in (mx.sym.ones, lambda shape: mx.sym.full(shape, 2.5)):
        with pytest.raises(converters.UnsupportedModel, match="the size is decided by readers and dynamic"):
            converters.to_onnx((x + fill(shape=(0, 4))).graph, {}, {"x": ("n", 4)}, 17)


def test_dropout_drops_whole_rows_of_the_axes_that_it_is_told() -> None:
    """mode=always draws one number for all of the axes, negative ones too; what is kept is scaled by 1 / (1 - p)."""
    x = np.abs(floats(12, 10, 8)) + 0.5
    for axes, like in (((1, -1), (0,)), ((-3,), (1, 2)), ((0, 1), (2,)), ((), (0, 1, 2))):
        graph = graph_of("Dropout", {"p": 0.25, "mode": "always", "axes": axes})
        for said in (x, ("a", "b", "c")):
            (got,) = run_onnx(converters.to_onnx(graph, {}, {"data": said}, 17), {"data": x})
            kept = got != 0
            np.testing.assert_allclose(got[kept], (x / 0.75)[kept], rtol=1e-6)
            others = tuple(a for a in range(3) if a not in like)
            assert (kept.all(others) | ~kept.any(others)).all()
            assert len(set(kept.ravel())) == 2 or kept.mean(others).size <= 12
    with pytest.raises(converters.UnsupportedModel, match="p=1 leaves nothing but NaN"):
        converters.to_onnx(graph_of("Dropout", {"p": 1.0, "mode": "always"}), {}, {"data": x}, 17)


def test_shuffles_and_draws_have_the_shapes_asked_for() -> None:
    for shape, said in (((6, 2), ("n", 2)), ((6,), ("n",)), ((6, 2, 3), (6, 2, 3)), ((), ())):
        x = np.arange(max(1, math.prod(shape)), dtype=np.float32).reshape(shape)
        (got,) = run_onnx(converters.to_onnx(graph_of("_shuffle", {}), {}, {"data": said}, 17), {"data": x})
        assert got.shape == shape
        assert sorted(map(str, got.reshape(len(got), -1).tolist() if shape else [got.item()])) == sorted(
            map(str, x.reshape(len(x), -1).tolist() if shape else [x.item()])
        )
    graph = graph_of("_npi_choice", {"a": None, "size": (400,), "replace": True})
    name = graph.variables()[0].name
    model = converters.to_onnx(graph, {}, {name: converters.export.Spec(("n",), np.dtype("int64"))}, 17)
    for count in (3, 11):
        (got,) = run_onnx(model, {name: np.arange(count)})
        assert set(got.tolist()) == set(range(count))
    chances = np.zeros((2, 3, 4), np.float32)
    chances[:, :, 2] = 1
    chances[1, :, :3] = (0, 1, 0)
    for said in ((2, 3, 4), ("a", "b", 4)):
        for get_prob in (False, True):
            graph = graph_of("_sample_multinomial", {"shape": (5,), "get_prob": get_prob})
            for probabilities in (chances, chances[0], chances[1, 0]):
                named = said[3 - probabilities.ndim :]
                found = run_onnx(converters.to_onnx(graph, {}, {"data": named}, 17), {"data": probabilities})
                want = np.broadcast_to(probabilities.argmax(-1)[..., None], (*probabilities.shape[:-1], 5))
                np.testing.assert_array_equal(found[0], want)
                assert len(found) == 1 + get_prob
                if get_prob:
                    np.testing.assert_array_equal(found[1], np.zeros(want.shape, np.float32))


def test_what_is_not_written_says_why() -> None:
    shorts, bytes_ = np.dtype("uint16"), np.dtype("uint8")
    spec = converters.export.Spec
    for name, attributes, said, message in (
        (
            "_image_resize",
            {"size": (4, 5), "interp": 3},
            spec((7, "w", 3), bytes_),
            "images of unknown size; give the shape",
        ),
        (
            "_image_resize",
            {"size": (4, 5), "interp": 3},
            spec(("h", 7, 3), bytes_),
            "images of unknown size; give the shape",
        ),
        (
            "_image_resize",
            {"size": (4, 5), "interp": 2},
            spec((7, "w", 3), np.dtype("float32")),
            "interp=2 with images of unknown",
        ),
        (
            "_contrib_box_nms",
            {},
            spec((2, 5, "k"), np.dtype("float32")),
            "needs the size of axis -1",
        ),
        ("_cvimresize", {"h": 2, "w": 2, "interp": 3}, spec((34, 34, 1), shorts), "means of 289 uint16 pixels"),
        (
            "Pooling",
            {"kernel": (1, 1), "stride": (3, 3), "pool_type": "avg", "pooling_convention": "full"},
            spec((1, 2, "h", 5), np.dtype("float32")),
            "needs the size of axis 2 of data",
        ),
        (
            "_random_randint",
            {"low": 0, "high": 2**52 + 1, "shape": (3,), "dtype": "int64"},
            None,
            "cannot tell so many integers apart",
        ),
    ):
        graph = graph_of(name, attributes)
        inputs = {} if said is None else {graph.variables()[0].name: said}
        with pytest.raises(converters.UnsupportedModel, match=message):
            converters.to_onnx(graph, {}, inputs, 17)
    rng = np.random.default_rng(2)
    for dtype, size in ((shorts, 32), (bytes_, 34)):
        picture = rng.integers(0, 250, (size, size, 1)).astype(dtype)
        graph = graph_of("_cvimresize", {"h": 2, "w": 2, "interp": 3})
        (got,) = run_onnx(
            converters.to_onnx(graph, {}, {graph.variables()[0].name: picture}, 17),
            {graph.variables()[0].name: picture},
        )
        means = picture.reshape(2, size // 2, 2, size // 2, 1).mean((1, 3))
        assert np.abs(got - means).max() <= 0.5
    converters.to_onnx(
        graph_of("_random_randint", {"low": 0, "high": 2**52, "shape": (3,), "dtype": "int64"}), {}, {}, 17
    )


def test_slices_without_elements_are_not_given_to_onnxruntime() -> None:
    """It ends the process on them; of no slices, and along no axis, it finds what there is."""
    for axis, shape, told in (
        (0, (4, 0), True),
        (-2, (4, 0, 3), False),
        (-1, (0, 2), True),
        (0, (0, 3), False),
        (None, (4, 0), False),
    ):
        net = mx.sym.onnx.Unique(mx.sym.var("x"), **({} if axis is None else {"axis": axis}))
        if told:
            with pytest.raises(converters.UnsupportedModel, match="slices without elements along an axis"):
                converters.to_onnx(net, {}, {"x": shape})
        else:
            model = converters.to_onnx(net, {}, {"x": shape})
            assert [n.op_type for n in model.graph.node] == ["Unique"]
