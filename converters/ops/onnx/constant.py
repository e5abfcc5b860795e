"""Constants of the graph."""

import numpy as np

from ...error import Unsupported
from ...registry import exports, imports


@imports("Constant")
def import_constant(
    g,
    *,
    value=None,
    value_float=None,
    value_floats=None,
    value_int=None,
    value_ints=None,
    value_string=None,
    value_strings=None,
    sparse_value=None,
):
    found = [
        np.asarray(v, dtype)
        for v, dtype in (
            (value, None),
            (sparse_value, None),
            (value_float, np.float32),
            (value_floats, np.float32),
            (value_int, np.int64),
            (value_ints, np.int64),
            (value_string, object),
            (value_strings, object),
        )
        if v is not None
    ]
    if len(found) != 1:
        raise Unsupported(f"got {len(found)} values, wanted one")
    return g.const(found[0])


@exports("_onnx_Constant")
def export_onnx_constant(b, op):
    return b.const(op.value, name=f"{b.scope}_output")
