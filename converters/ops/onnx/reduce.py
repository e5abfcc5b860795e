"""Reductions and running sums. What MXNet has is read in converters/ops/reduce.py."""

from ...error import Unsupported
from ...registry import PASSTHROUGH, exports, passthrough

REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")

passthrough("CumProd", since=26)
passthrough("LpNormalization")
passthrough("MeanVarianceNormalization", since=9, write=False)
passthrough("ArgMax", "ArgMin", since=12, read=False)


@exports("_onnx_MeanVarianceNormalization")
def export_onnx_mean_variance_normalization(b, op, x):
    """Floats of 16 bits are rounded once; onnxruntime cannot even load it for them."""
    wide = b.wide(x)
    return b.cast(b.MeanVarianceNormalization(wide, axes=list(op.axes)), x.dtype)


@exports("_onnx_CumSum")
def export_onnx_cum_sum(b, op, x, axis):
    """Before opset 14 it takes no floats of 16 bits."""
    wide = b.wide(x) if b.opset < 14 else x
    return b.cast(b.CumSum(wide, axis, exclusive=int(op.exclusive), reverse=int(op.reverse)), x.dtype)


@exports(*(f"_onnx_Reduce{kind}" for kind in REDUCTIONS))
def export_reduction(b, op, data, axes=None):
    """Before opset 18 (ReduceSum: 13) axes are an attribute, and none of them means all."""
    name = op.name.removeprefix("_onnx_")
    since = 13 if name == "ReduceSum" else 18
    if b.opset >= since:
        return b.passthrough("", name, op, [data] if axes is None else [data, axes])
    if axes is not None and axes.const is None:
        raise Unsupported(
            f"axes of {name} that are only known at run time need opset {since}; choose that or a newer one", since
        )
    listed = [] if axes is None else [int(v) for v in axes.const.reshape(-1)]
    if not listed and op.noop_with_empty_axes:
        raise Unsupported(f"{name} over no axes needs opset {since}; choose that or a newer one", since)
    return b.node(name, data, axes=listed or None, keepdims=int(op.keepdims))


PASSTHROUGH.update({f"_onnx_Reduce{kind}": ("", f"Reduce{kind}") for kind in REDUCTIONS})
