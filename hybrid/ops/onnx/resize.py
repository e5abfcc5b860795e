"""Resize: tensors of another size along any axes, every new element a weighted sum of old ones. Separable: axis after axis."""

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.op import Domain, op
from ...core.shapes import UNKNOWN, show
from ..adjoint import linear
from ..common import axis_of, narrow, widen
from .base import Standard, ints
from .types import FLOATS, TENSORS


class Line(NamedTuple):
    """Resizing along one axis."""

    axis: int
    places: np.ndarray
    """Old elements that each new one is made of, (new, taps), all within the axis,"""
    weights: np.ndarray | None
    """and with what weights; None for one tap of weight 1."""
    outside: np.ndarray | None
    """True for the new ones that lie outside and get extrapolation_value instead; None for none."""


def cubic(t: np.ndarray, a: float) -> np.ndarray:
    """The cubic convolution kernel with coefficient a. Source: Keys, "Cubic convolution interpolation", 1981."""
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


@linear(0, extrapolation_value=0)
@op("_onnx_Resize")
class Resize(Standard):
    """X with other sizes along ``axes`` (all of them when left out): sizes, or the old ones times scales rounded down.

    Where a new element lies among the old ones coordinate_transformation_mode says; mode: the nearest one by nearest_mode,
    linear or cubic interpolation between the neighbours, the outermost element repeated beyond the ends (exclude_outside:
    without those, the other weights made to sum to 1). antialias: downwards the kernel is stretched over all elements that a
    new one covers.
    tf_crop_and_resize: only the part roi (starts, then ends, as parts of each axis), extrapolation_value beyond the ends.
    Shapes: X any, roi (2 axes,), scales and sizes (axes,) -> X with the new sizes.
    Integers are computed in float32 (64 bits: float64), cut to what they hold and their fractions cut off (antialias:
    rounded), which the standard leaves open and onnxruntime does. In align_corners the sizes are those of the result, whole
    numbers, as the standard's formula, onnxruntime and torch have them; onnx's evaluator takes old size times scale.
    Source: ONNX Resize (opset 19; older ones are brought to that form)."""

    antialias: bool = False
    axes: tuple[int, ...] | None = None
    coordinate_transformation_mode: Literal[
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
        "tf_half_pixel_for_nn",
    ] = "half_pixel"  # fmt: skip
    cubic_coeff_a: float = -0.75
    exclude_outside: bool = False
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: Literal["stretch", "not_larger", "not_smaller"] = "stretch"
    mode: Literal["nearest", "linear", "cubic"] = "nearest"
    nearest_mode: Literal["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] = "round_prefer_floor"

    exception = "samples between pixels in ways that its attributes choose"

    inputs = ("X", "roi", "scales", "sizes")
    types = {"X": TENSORS, "roi": FLOATS - {"bfloat16"}, "scales": {"float32"}, "sizes": {"int64"}}
    optional = ("roi", "scales", "sizes")
    needs = ("values",)
    data_dependent_shape = True

    def domain(self, name, shapes):
        return None if name == "X" else Domain(1, 3, integer=name == "sizes")

    def along(self, rank):
        """The axes that scales and sizes are of."""
        return range(rank) if self.axes is None else [axis_of(self, a, rank) for a in self.axes]

    @property
    def cropped(self) -> bool:
        """True when roi counts."""
        return self.coordinate_transformation_mode == "tf_crop_and_resize"

    def goals(self, shape, scales, sizes) -> dict[int, tuple]:
        """By axis (new size, scale), from the values of the inputs."""
        axes = list(self.along(len(shape)))
        if sizes is not None and sizes.size:
            new = ints(sizes)
            self._want(len(new) == len(axes), "sizes", sizes, len(axes))
            if self.keep_aspect_ratio_policy == "stretch":
                return {
                    a: (n, np.float32(n) / np.float32(shape[a]) if shape[a] else np.float32(1))
                    for a, n in zip(axes, new)
                }
            pick = min if self.keep_aspect_ratio_policy == "not_larger" else max
            if any(shape[a] == 0 for a in axes):
                raise self.error(
                    f"got X of shape {show(shape)}, wanted something along the axes of which one scale is kept"
                )
            scale = pick(n / shape[a] for a, n in zip(axes, new))
            return {a: (math.floor(scale * shape[a] + 0.5), scale) for a in axes}
        if scales is None or not scales.size:
            raise self.error("got neither scales nor sizes, wanted one of them")
        self._want(scales.size == len(axes), "scales", scales, len(axes))
        if not ((scales > 0) & np.isfinite(scales)).all():
            raise self.error(f"got scales {scales.tolist()}, wanted positive ones, none infinite")
        # a sentence of the standard multiplies by the extent of roi too, which neither its shape inference nor anybody else does
        return {a: (math.floor(np.float32(shape[a]) * s), s) for a, s in zip(axes, scales.astype(np.float32))}

    def _want(self, right, name, values, count):
        if not right:
            raise self.error(f"got {name} {values.tolist()}, wanted {count} numbers, one for each axis")

    def shape(self, x, roi, scales, sizes, *, values):
        count = len(self.along(len(x)))
        for name, shape, wanted in (("roi", roi, 2 * count), ("scales", scales, count), ("sizes", sizes, count)):
            empty = () if name == "roi" and self.cropped else (0,)
            if shape is not None and (
                len(shape) != 1 or (shape[0] is not UNKNOWN and shape[0] not in (*empty, wanted))
            ):
                raise self.error(f"got {name} of shape {show(shape)}, wanted ({wanted},) for {count} axes")
        if any(v is None for v, s in zip(values[2:], (scales, sizes)) if s is not None):
            changed = set(self.along(len(x)))
            return tuple(UNKNOWN if a in changed else d for a, d in enumerate(x))
        scales, sizes = values[2:]
        if not any(v is not None and v.size for v in (scales, sizes)):
            raise self.error("got neither scales nor sizes, wanted one of them")
        out = list(x)
        together = self.keep_aspect_ratio_policy != "stretch" and any(x[a] is UNKNOWN for a in self.along(len(x)))
        for i, axis in enumerate(self.along(len(x))):
            if together:
                out[axis] = UNKNOWN
            elif x[axis] is not UNKNOWN:
                known = tuple(0 if d is UNKNOWN else d for d in x)
                out[axis] = self.goals(known, scales, sizes)[axis][0]
            elif sizes is not None and sizes.size:
                out[axis] = int(sizes[i])
        return tuple(out)

    # -- where new elements lie ------------------------------------------------------------------------------------------

    def coordinates(self, old: int, new: int, scale: float, start: float, end: float, dtype: type) -> np.ndarray:
        """The position among the old elements of every new one, in dtype (nearest ones are found in float32, as elsewhere)."""
        mode, at = self.coordinate_transformation_mode, np.arange(new, dtype=dtype)
        scale = dtype(scale)
        half = dtype(0.5)
        if mode == "align_corners":
            return at * dtype(old - 1) / dtype(new - 1) if new > 1 else np.zeros(new, dtype)
        if mode == "asymmetric":
            return at / scale
        if mode == "tf_half_pixel_for_nn":
            return (at + half) / scale
        if mode == "tf_crop_and_resize":
            start, end, last = dtype(start), dtype(end), dtype(old - 1)
            return (
                start * last + at * (end - start) * last / dtype(new - 1)
                if new > 1
                else np.full(new, half * (start + end) * last)
            )
        if mode == "pytorch_half_pixel" and new <= 1:
            return np.zeros(new, dtype)
        found = (at + half) / scale - half
        if mode == "half_pixel_symmetric":
            found += dtype(old / 2) * (1 - dtype(new) / (scale * dtype(old)))
        return found

    def lines(self, shape, roi, scales, sizes, *, single: bool = False) -> Iterator[Line]:
        """Yield a Line for every axis that changes; single: with positions in float32 whatever the mode."""
        goals = self.goals(shape, scales, sizes)
        exact = self.mode != "nearest" and not self.cropped and not single
        for i, (axis, (new, scale)) in enumerate(goals.items()):
            start, end = (float(roi[i]), float(roi[len(goals) + i])) if self.cropped and roi is not None else (0.0, 1.0)
            old = shape[axis]
            if new == old and scale == 1 and (start, end) == (0.0, 1.0):
                continue
            if exact and sizes is not None and sizes.size and self.keep_aspect_ratio_policy == "stretch":
                scale = new / old if old else 1.0
            at = self.coordinates(old, new, scale, start, end, np.float64 if exact else np.float32)
            outside = (at < 0) | (at > old - 1) if self.cropped else None
            yield Line(
                axis,
                *self._taps(at, old, float(scale) or 1.0),
                outside if outside is not None and outside.any() else None,
            )

    def _taps(self, at, old, scale):
        """(places, weights) of every new element."""
        if self.mode == "nearest":
            near = np.floor(at)
            if self.nearest_mode != "floor":
                part = at - near  # exact, which adding 0.5 is not
                compare = {"round_prefer_floor": part > 0.5, "round_prefer_ceil": part >= 0.5, "ceil": part > 0}
                near += compare[self.nearest_mode]
            return near.astype(np.int64).clip(0, max(0, old - 1))[:, None], None
        at = at.astype(np.float64)
        stretch = min(scale, 1.0) if self.antialias else 1.0
        reach = math.ceil((1 if self.mode == "linear" else 2) / stretch)
        places = np.floor(at).astype(np.int64)[:, None] + np.arange(1 - reach, reach + 1)
        distance = (places - at[:, None]) * stretch
        weights = np.maximum(0, 1 - np.abs(distance)) if self.mode == "linear" else cubic(distance, self.cubic_coeff_a)
        if self.exclude_outside:
            weights = np.where((places >= 0) & (places < old), weights, 0)
        if self.exclude_outside or stretch < 1:
            weights = weights / weights.sum(1, keepdims=True)
        return places.clip(0, max(0, old - 1)), weights

    # -- the values ------------------------------------------------------------------------------------------------------

    def meaning(self, x, roi, scales, sizes):
        wanted = list(x.shape)
        for axis, (new, _) in self.goals(x.shape, scales, sizes).items():
            if not x.shape[axis] and new:
                raise self.error(f"got X of shape {show(x.shape)}, wanted something along axis {axis} to be resized")
            wanted[axis] = new
        if 0 in wanted:
            return np.empty(wanted, x.dtype)  # without what along other axes lies between
        y = x
        if self.mode != "nearest":
            wide = np.float64 if x.dtype.itemsize == 8 else np.float32
            y = widen(x).astype(wide, copy=False)
        outside = []
        for line in self.lines(
            x.shape, roi, scales, sizes, single=x.dtype.kind in "iu"
        ):  # whose fractions are cut off: as others do
            y = self._along(y, line)
            if line.outside is not None:
                outside.append((line.axis, line.outside))
        if y is x:
            y = x.copy()
        limits = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        if self.mode != "nearest" and limits:
            y = (np.rint(y) if self.antialias else y).clip(limits.min, limits.max)
        y = narrow(y, x.dtype)
        beyond: Any = self.extrapolation_value
        if limits and outside:
            beyond = int(np.clip(beyond, limits.min, limits.max))
        for axis, where in outside:
            y[(*(slice(None),) * axis, where)] = beyond
        return y

    def _along(self, x, line):
        if line.weights is None:
            return np.take(x, line.places[:, 0], line.axis)
        after = (1,) * (x.ndim - line.axis - 1)
        weights = line.weights.astype(x.dtype)
        if line.places.shape[1] > 8:  # many taps: a product with a matrix
            return np.moveaxis(
                np.tensordot(self.matrix(line, x.shape[line.axis]).astype(x.dtype), x, (1, line.axis)), 0, line.axis
            )
        total = np.take(x, line.places[:, 0], line.axis)
        total *= weights[:, 0].reshape(-1, *after)
        for i in range(1, weights.shape[1]):
            term = np.take(x, line.places[:, i], line.axis)
            term *= weights[:, i].reshape(-1, *after)
            total += term
        return total

    @staticmethod
    def matrix(line: Line, old: int) -> np.ndarray:
        """Contributions of each old element to each new one, (new, old)."""
        out = np.zeros((len(line.places), old))
        weights = np.ones(line.places.shape) if line.weights is None else line.weights
        np.add.at(out, (np.arange(len(out))[:, None], line.places), weights)
        return out

    def adjoint(self, of, dy, x, *rest):
        given = dict(zip(self.input_names()[1:], rest))
        lines = list(self.lines(x.shape, *(given.get(n) for n in self.optional)))
        for line in lines:
            if line.outside is not None:
                dy = dy.copy()
                dy[(*(slice(None),) * line.axis, line.outside)] = 0
        for line in lines:
            matrix = self.matrix(line, x.shape[line.axis]).astype(dy.dtype)
            dy = np.moveaxis(np.tensordot(matrix, dy, (0, line.axis)), 0, line.axis)
        return dy

    @classmethod
    def examples(cls, make):
        x, scales = make.uniform(1, 1, 4, 5), make.array([1, 1, 0.6, 1.7])
        yield make(x, scales, given=("scales",))
        yield make(x, scales, given=("scales",), mode="cubic", exclude_outside=True)
        yield make(
            x,
            make.array([1, 1, 7, 3], "int64"),
            given=("sizes",),
            mode="linear",
            coordinate_transformation_mode="align_corners",
        )
        yield make(
            x, make.array([0, 0, 0.4, 0.1, 1, 1, 1.2, 0.8]), make.array([1, 1, 3, 3], "int64"), given=("roi", "sizes"),
            mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=0.5,
        )  # fmt: skip
        yield make(x, make.array([3], "int64"), given=("sizes",), axes=(-1,), mode="linear", antialias=True)
