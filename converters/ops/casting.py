"""Conversions of dtype."""

from ..registry import to_onnx


@to_onnx("Cast", "amp_cast")
def _(b, op, data):
    return _convert(b, data, op.infer_type(data.dtype))


def _convert(b, data, dtype):
    if data.dtype == dtype:
        return b.Identity(data)
    return b.to_integer(data, dtype) if dtype.kind in "iu" and data.dtype.kind not in "iub" else b.cast(data, dtype)


@to_onnx("amp_multicast")
def _(b, op, *arrays):
    return tuple(_convert(b, x, d) for x, d in zip(arrays, op.infer_type(*(x.dtype for x in arrays))))
