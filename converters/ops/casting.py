"""Conversions of dtype."""

from ..registry import exports


@exports("Cast")
def export_cast(b, op, data):
    return _convert(b, data, op.infer_type(data.dtype))


def _convert(b, data, dtype):
    if data.dtype == dtype:
        return b.Identity(data)
    return b.to_integer(data, dtype) if dtype.kind in "iu" and data.dtype.kind not in "iub" else b.cast(data, dtype)
