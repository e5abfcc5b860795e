"""Conversions of dtype. Where MXNet has both dtypes its own Cast stands for ONNX's, written in converters/ops/casting.py."""

from onnx import TensorProto

from hybrid.core.attrs import MXNET_DTYPES

from ...error import Unsupported
from ...onnx_types import dtype_of
from ...registry import exports, imports, passthrough

passthrough("BitCast", since=26)
passthrough("CastLike", since=15)


def _by_mxnet(source, target):
    """True when MXNet's Cast means the same: not for dtypes it has not, nor where it rounds twice (wide numbers to
    bfloat16), nor for floats that only a uint64 can hold."""
    if source is None or source.name not in MXNET_DTYPES or target.name not in MXNET_DTYPES:
        return False
    if target.name == "bfloat16":
        return source.itemsize <= 2 or source.name == "float32"
    return target.name != "uint64" or source.kind in "iub"


@imports("Cast")
def import_cast_first(g, x, *, to):
    code = dict(TensorProto.DataType.items()).get(to)
    if code is None:
        raise Unsupported(f"got to={to!r}, wanted the name of an element type")
    return _cast(g, x, code)


@imports("Cast", since=6)
def import_cast_since_6(g, x, *, to, saturate=1, round_mode="up"):
    return _cast(g, x, to, saturate, round_mode)


def _cast(g, x, to, saturate=1, round_mode="up"):
    target = dtype_of(to)
    if _by_mxnet(x.dtype, target):
        return g.Cast(x, dtype=target)
    return g.apply("_onnx_Cast", x, to=target, saturate=bool(saturate), round_mode=round_mode)


@exports("_onnx_Cast")
def export_onnx_cast(b, op, x):
    return b.passthrough("", "Cast", op, [x])
