"""Linear models and support vector machines of ai.onnx.ml, and how all models of that domain are read and written."""

import numpy as np
from onnx import numpy_helper

from ...registry import ML, exports, imports

TENSOR = "_as_tensor"
"""Suffix of the names of attributes that are tensors, where there are lists too."""


def fields_of(attributes):
    """The operator's fields from its ONNX attributes: lists are arrays, and what is a list or a tensor has one name."""
    found = {}
    for name, value in attributes.items():
        if isinstance(value, tuple):
            if not value:  # as if it were not there
                continue
            kind = object if isinstance(value[0], str) else np.float32 if isinstance(value[0], float) else np.int64
            value = np.array(value, kind)
        found[name.removesuffix(TENSOR)] = value
    return found


def attributes_of(op):
    """The ONNX attributes from the operator's fields; float64 arrays are tensors."""
    found = {}
    for name in op.fields:
        value = getattr(op, name)
        if value is None or name == "given":
            continue
        if isinstance(value, np.ndarray):
            if value.dtype == np.float64:
                found[name + TENSOR] = numpy_helper.from_array(value)
            elif value.size:
                found[name] = value.tolist()
        else:
            found[name] = int(value) if isinstance(value, bool) else value
    return found


def models(*names):
    """Operators of ai.onnx.ml whose fields are their attributes, but for the names of tensors."""
    imports(*names, domain=ML)(_read)
    exports(*(f"_onnx_ml_{n}" for n in names))(_write)


_NARROW = ("LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor")
"""Those that compute in float32 whatever X is, as onnxruntime, which lacks kernels for the rest."""


def _read(g, x, **attributes):
    return g.passthrough(x, **fields_of(attributes))


def _write(b, op, x):
    name = op.name.removeprefix("_onnx_ml_")
    if name in _NARROW:
        x = b.cast(x, np.float32)
    attributes = attributes_of(op)
    if name == "LinearClassifier":  # onnxruntime and onnx want some, though the schema does not
        attributes.setdefault("intercepts", [0.0] * (op.coefficients.size // op.features()))
    return b.node(name, x, outputs=op.num_visible_outputs(), domain=ML, dtype=b.results[0].dtype, **attributes)


models(*_NARROW)
