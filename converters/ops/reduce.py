"""Reductions. onnxruntime's ReduceMax, ReduceMin, ArgMax and ArgMin miss NaN, depending on where it stands; MXNet finds it."""

import math

import numpy as np

from hybrid.core.shapes import UNKNOWN, is_known
from hybrid.ops.arg_extremes import ArgExtreme, NpArgExtreme
from hybrid.ops.common import axes_of
from hybrid.ops.reduce import NpReduction, Reduction

from ..guards import is_nan, may_hold_nan
from ..registry import exports, for_every_operator, imports
from .elementwise import holds_floats, is_short, is_whole


def _reduce(b, kind, x, axes):
    """Reduce<kind> keeping the axes; over no axes at all, which ONNX reads as all, x itself."""
    return b.reduce(kind, x, axes, keepdims=True) if axes else b.Identity(x)


def _product(b, x, axes):
    """Number of elements along axes: an int where it is known, else an int64 tensor of length 1."""
    sizes = [b.size(x, a) for a in axes]
    if all(isinstance(s, int) for s in sizes):
        return math.prod(sizes)
    return b.reduce("Prod", b.dims(*sizes), [0], keepdims=True)


def count_reduced(b, x, axes, dtype=None, less=0):
    """Number of elements that are reduced into one, less a number, as a Value of a dtype, x's if none is given. One of
    integers that does not hold it gets what is left of it, as in MXNet."""
    count, dtype = _product(b, x, axes), x.dtype if dtype is None else dtype
    if isinstance(count, int):
        return b.const(np.asarray(count - less).astype(dtype))
    count = b.squeeze(count, [0])
    return b.cast(b.Sub(count, less) if less else count, dtype)


def _sum_or_product(kind):
    """ReduceSum or ReduceProd. onnxruntime computes both of integers in float64 and stops at the largest integer, where
    MXNet's wrap round; in int64 that is exact up to 2**53, and casting back wraps round."""

    def translate(b, x, axes):
        if not is_whole(x):
            return _reduce(b, kind, x, axes)
        return b.cast(_reduce(b, kind, b.cast(x, np.int64), axes), x.dtype)

    return translate


_sum, _prod = _sum_or_product("Sum"), _sum_or_product("Prod")


def has_some(b, x, axes):
    """True when there is something along each of the axes, False when there is not, None where that shows when it runs."""
    sizes = [UNKNOWN if x.shape is None else x.shape[a] for a in axes]
    if any(s is not UNKNOWN and s == 0 for s in sizes):
        return False
    return None if any(s is UNKNOWN for s in sizes) else True


def _mean_of(b, total, count):
    """A sum over how many were added; over nothing NaN, or 0 of integers, by which onnxruntime refuses to divide."""
    if not is_whole(total) or (count.const is not None and count.const):
        return b.Div(total, count)
    none = b.Equal(count, 0)
    return b.Where(none, 0, b.Div(total, b.Where(none, 1, count)))


def _mean(b, x, axes):
    if has_some(b, x, axes) and not is_whole(x):
        return _reduce(b, "Mean", x, axes)  # which is 0 over nothing, where MXNet's is NaN
    return _mean_of(b, _sum(b, x, axes), count_reduced(b, x, axes))


def _extreme(kind):
    def translate(b, x, axes):
        y = _reduce(b, kind, x, axes)
        if is_whole(x) or not axes or not may_hold_nan(b, x):
            return y
        broken = _reduce(b, "Max", b.cast(is_nan(b, x), np.int32), axes)
        return b.Where(b.cast(broken, np.bool_), np.nan, y)

    return translate


def _without_nan(value, function):
    def translate(b, x, axes):
        return function(b, x if is_whole(x) else b.Where(b.IsNaN(x), value, x), axes)

    return translate


def _nansum(b, x, axes):
    y = _without_nan(0, _sum)(b, x, axes)
    if is_whole(x) or not axes or has_some(b, x, range(x.rank)) is False:
        return y
    x = b.cast(x, np.float32) if x.dtype.itemsize < 4 else x  # IsInf takes no float16 at first
    followed, inner = None, b.cast(b.Not(b.IsNaN(x)), np.int32)
    for axis in reversed(axes):  # a number behind it along this axis, the axes within it counted together
        behind = b.Greater(b.CumSum(inner, b.const(axis), exclusive=1, reverse=1), 0)
        followed = behind if followed is None else b.Or(followed, behind)
        inner = b.reduce("Sum", inner, [axis], keepdims=True)
    lost = b.reduce("Sum", b.cast(b.And(b.IsInf(x), followed), np.int32), axes, keepdims=True)
    return b.Where(b.cast(lost, np.bool_), np.nan, y)


def _variance(b, x, axes, ddof=0, dtype=None):
    """dtype: that in which the squares are added up and divided, if not their own."""
    difference = b.Sub(x, _mean(b, x, axes))
    square = b.Mul(difference, difference)
    some = has_some(b, x, axes)
    if some and not ddof and not is_whole(x):
        return _mean(b, square, axes)
    square = square if dtype is None else b.cast(square, dtype)
    return _mean_of(b, _sum(b, square, axes), count_reduced(b, x, axes, dtype, ddof))


KINDS = {
    "sum": _sum,
    "mean": _mean,
    "prod": _prod,
    "max": _extreme("Max"),
    "min": _extreme("Min"),
    "nansum": _nansum,
    "nanprod": _without_nan(1, _prod),
    "square_sum": lambda b, x, axes: _sum(b, b.Mul(x, x), axes),
}


def _drop(b, y, axes, rank, keepdims, *, at_least_1d=True):
    """y, whose reduced axes have size 1, without them."""
    if keepdims:
        return y
    if at_least_1d and len(axes) == rank:
        return b.reshape(y, [1])
    return b.squeeze(y, axes)


def _reduction(b, op, data):
    axes = op.axes(data.rank)
    return _drop(b, KINDS[op.kind](b, data, axes), axes, data.rank, op.keepdims)


@exports("norm")
def export_norm(b, op, data):
    axes = axes_of(op, op.axis, data.rank)
    dtype = op.infer_type(data.dtype)
    x = b.Abs(b.cast(data, np.float64 if is_whole(data) or dtype.kind in "iu" else dtype))
    if op.ord == 1:
        y = _sum(b, x, axes)
    else:
        largest = _reduce(b, "Max", x, axes)
        infinite = _sum(b, b.cast(b.Equal(x, np.inf), np.int32), axes)
        nothing = b.LessOrEqual(largest, 0)  # of no numbers the largest is below any
        scale = b.Where(b.Or(nothing, b.Greater(infinite, 0)), 1, largest)
        scaled = b.Div(x, scale)
        y = b.Mul(scale, b.Sqrt(_sum(b, b.Mul(scaled, scaled), axes)))
        y = b.Where(b.Greater(infinite, 1), np.nan, y)
    y = b.to_integer(y, dtype) if dtype.kind in "iu" else y
    return _drop(b, y, axes, data.rank, op.keepdims)


@exports("moments")
def export_moments(b, op, data):
    axes = axes_of(op, op.axes, data.rank)
    return tuple(_drop(b, f(b, data, axes), axes, data.rank, op.keepdims) for f in (_mean, _variance))


@exports("multi_sum_sq")
def export_multi_sum_sq(b, op, *arrays):
    sums = [b.reshape(b.reduce("SumSquare", b.cast(x, np.float32), None, keepdims=False), [1]) for x in arrays]
    return b.Concat(*sums, axis=0)


def _arg_extreme(b, data, axis, *, largest):
    """The first place of the extreme, or of the first NaN, along axis, which stays with size 1; int64."""
    find = b.ArgMax if largest else b.ArgMin
    place = find(data, axis=axis, keepdims=1)
    if is_whole(data) or not may_hold_nan(b, data):
        return place
    broken = b.cast(is_nan(b, data), np.int32)
    return b.Where(b.cast(_reduce(b, "Max", broken, [axis]), np.bool_), b.ArgMax(broken, axis=axis, keepdims=1), place)


def _arg(b, op, data):
    at_least_1d = not isinstance(op, NpArgExtreme)
    if op.axis is not None and data.rank:  # a number has the axes 0 and -1, too
        axis = op.axis % data.rank
        return _drop(
            b, _arg_extreme(b, data, axis, largest=op.largest), [axis], data.rank, op.keepdims, at_least_1d=at_least_1d
        )
    y = _arg_extreme(b, b.reshape(data, [-1]), 0, largest=op.largest)
    return b.reshape(y, [1] * data.rank) if op.keepdims else y if at_least_1d else b.squeeze(y, [0])


@exports("argmax_channel")
def export_argmax_channel(b, op, data):
    return _drop(b, _arg_extreme(b, data, 1, largest=True), [1], data.rank, False)


def _np_reduction(b, op, a):
    axes = op.axes(a.rank)
    wanted = op.infer_type(a.dtype)
    some = has_some(b, a, range(a.rank))
    initial = getattr(op, "initial", None)
    if op.kind in ("max", "min"):
        x = b.cast(a, np.int32) if a.dtype.kind == "b" else a
        y = KINDS[op.kind](b, x, axes)
        if initial is not None:
            y = b.Max(y, initial) if op.kind == "max" else b.Min(y, initial)
    elif op.kind in ("any", "all"):
        # how many there are that hold, or that do not: onnxruntime has no largest of nothing
        holds = b.cast(a, np.bool_)
        counts = b.cast(holds if op.kind == "any" else b.Not(holds), np.int64)
        y = b.cast(_reduce(b, "Sum", counts, axes), np.bool_)
        y = y if op.kind == "any" else b.Not(y)
    elif op.kind in ("var", "std"):
        y = _variance(b, a, axes, op.ddof, wanted if is_whole(a) and wanted.kind == "f" else None)
        if op.kind == "std":
            y = b.Sqrt(b.cast(y, np.float64) if is_whole(y) else y)
    elif op.kind in ("mean", "prod") and some is False:
        y = _sum(b, b.cast(a, op.working(a.dtype)), axes)  # these of MXNet's are 0 over nothing
    elif op.kind == "mean" and wanted.kind in "iu" and not is_whole(a):
        total = b.to_integer(_sum(b, b.cast(a, op.working(a.dtype)), axes), wanted)
        y = _mean_of(b, total, count_reduced(b, a, axes, wanted))
    elif op.kind == "mean" and op.working(a.dtype).kind == "f":
        y = _reduce(b, "Mean", b.cast(a, op.working(a.dtype)), axes)
    else:
        x = b.cast(a, op.working(a.dtype))
        y = KINDS[op.kind](b, x, axes)
        if op.kind == "prod" and some is None:
            y = b.Where(b.Equal(count_reduced(b, x, axes), 0), 0, y)
        if initial is not None:
            y = b.Add(y, initial) if op.kind == "sum" else b.Mul(y, initial)
    y = b.to_integer(y, wanted) if wanted.kind in "iu" and not is_whole(y) else b.cast(y, wanted)
    return _drop(b, y, axes, a.rank, op.keepdims, at_least_1d=False)


@for_every_operator
def export_reductions(name, cls):
    """Register sums and their kin, and the places of extremes."""
    if issubclass(cls, Reduction):
        exports(name)(_reduction)
    elif issubclass(cls, NpReduction):
        exports(name)(_np_reduction)
    elif issubclass(cls, ArgExtreme):
        exports(name)(_arg)


# -- reading -------------------------------------------------------------------------------------------------------------


def _reduce_over(g, one_dim, no_dims, x, axes, keepdims):
    """MXNet's reduction of x over axes (None means all): over all of them no_dims gives () and one_dim (1,)."""
    whole = axes is None or len({a % max(1, len(x.shape)) for a in axes}) == len(x.shape)
    return g.apply(no_dims if whole and not keepdims else one_dim, x, axis=axes, keepdims=keepdims)


def _has_elements(x, axes):
    """True when there is surely something to reduce along axes; MXNet refuses arrays without elements."""
    if any(d is not UNKNOWN and d == 0 for d in x.shape):
        return False
    return all(d is not UNKNOWN for i, d in enumerate(x.shape) if axes is None or i in axes or i - len(x.shape) in axes)


def _by_mxnet(kind, g, x, axes, keepdims):
    """A reduction as MXNet's operators, where those mean the same; else None."""
    if kind == "Sum":
        return _reduce_over(g, "sum", "_np_sum", x, axes, keepdims)
    if kind == "Mean" and holds_floats(x):
        return _reduce_over(g, "mean", "_npi_mean", x, axes, keepdims)
    if kind == "Prod":
        return _reduce_over(g, "prod", "_np_prod", x, axes, keepdims)
    if kind == "L1":
        return _reduce_over(g, "sum", "_np_sum", g.abs(x), axes, keepdims)
    if kind == "SumSquare" and not is_short(x):
        return _reduce_over(g, "sum", "_np_sum", g.square(x), axes, keepdims)
    if kind == "L2" and holds_floats(x) and not is_short(x):
        return g.sqrt(_reduce_over(g, "sum", "_np_sum", g.square(x), axes, keepdims))
    if kind == "LogSum" and holds_floats(x) and not is_short(x):
        return g.log(_reduce_over(g, "sum", "_np_sum", x, axes, keepdims))
    if kind in ("Max", "Min") and x.dtype.kind != "b" and _has_elements(x, axes):
        return _reduce_over(g, kind.lower(), f"_np_{kind.lower()}", x, axes, keepdims)
    return None


def _read_reduction(kind, g, x, listed, keepdims):
    axes = tuple(listed) or None
    found = None if x.dtype is None or x.shape is None else _by_mxnet(kind, g, x, axes, bool(keepdims))
    if found is not None:
        return found
    return g.apply(
        f"_onnx_Reduce{kind}",
        *([x] if axes is None else [x, g.const(axes, np.int64)]),
        keepdims=bool(keepdims),
        given=() if axes is None else ("axes",),
    )


# what is done to each element where no axis goes
_POINTWISE = {"L1": "abs", "L2": "abs", "LogSum": "log", "SumSquare": "square"}


def _register(kind, since):
    @imports(f"Reduce{kind}")
    def import_reduction_with_axes_as_attribute(g, x, *, axes=(), keepdims=1):
        return _read_reduction(kind, g, x, axes, keepdims)

    @imports(f"Reduce{kind}", since=since)
    def import_reduction(g, x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
        if axes is not None and not axes.fixed:
            nothing = is_known(axes.shape) and axes.shape == (0,)
            if x.dtype is None or not nothing:
                return g.passthrough(x, axes, keepdims=bool(keepdims), noop_with_empty_axes=bool(noop_with_empty_axes))
            axes = None
        listed = () if axes is None else axes.ints()
        if listed or not noop_with_empty_axes:
            return _read_reduction(kind, g, x, listed, keepdims)
        if kind == "LogSumExp" or (kind == "LogSum" and not holds_floats(x)):
            return g.passthrough(x, keepdims=bool(keepdims), noop_with_empty_axes=True)
        return g.apply(_POINTWISE.get(kind, "identity"), x)


for _kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"):
    _register(_kind, 13 if _kind == "Sum" else 18)


def _read_place(name):
    @imports(name)
    def import_name_first(g, x, *, axis=0, keepdims=1):
        if not x.shape:
            return g.apply(f"_onnx_{name}", x, axis=axis, keepdims=bool(keepdims))
        return g.apply(f"_npi_{name.lower()}", x, axis=axis, keepdims=bool(keepdims))

    @imports(name, since=12)
    def import_name_since_12(g, x, *, axis=0, keepdims=1, select_last_index=0):
        if select_last_index or not x.shape:
            return g.passthrough(x, axis=axis, keepdims=bool(keepdims), select_last_index=bool(select_last_index))
        return g.apply(f"_npi_{name.lower()}", x, axis=axis, keepdims=bool(keepdims))


for _name in ("ArgMax", "ArgMin"):
    _read_place(_name)


@imports("CumSum", since=11)
def import_cum_sum(g, x, axis, *, exclusive=0, reverse=0):
    if axis.fixed and not exclusive and not reverse and x.dtype is not None and not is_short(x):
        return g.apply("_np_cumsum", x, axis=int(axis.item()))
    return g.passthrough(x, axis, exclusive=bool(exclusive), reverse=bool(reverse))
