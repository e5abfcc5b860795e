"""Ensembles of trees."""

import numpy as np
from onnx import numpy_helper

from hybrid.ops.onnx.ml_tree import MODES

from ...error import Unsupported
from ...registry import ML, from_onnx, to_onnx
from .ml_linear import TENSOR, attributes_of, fields_of


@from_onnx("TreeEnsembleClassifier", "TreeEnsembleRegressor", domain=ML)
def _(g, x, *, nodes_modes=(), **attributes):
    unknown = sorted(set(nodes_modes) - set(MODES))
    if unknown:
        raise Unsupported(f"got nodes_modes {', '.join(unknown)}, wanted {', '.join(MODES)}")
    return g.itself(x, nodes_modes=np.array([MODES.index(m) for m in nodes_modes], np.uint8), **fields_of(attributes))


@to_onnx("_onnx_ml_TreeEnsembleClassifier", "_onnx_ml_TreeEnsembleRegressor")
def _(b, op, x):
    if b.opset >= 22:
        raise Unsupported("ai.onnx.ml has dropped it in the version that goes with opset 22; choose opset 21")
    name, attributes = op.name.removeprefix("_onnx_ml_"), attributes_of(op)
    if b.opset < 15 and any(n.endswith(TENSOR) for n in attributes):
        raise Unsupported("float64 numbers need opset 15")
    attributes["nodes_modes"] = [MODES[m] for m in op.nodes_modes]
    return b.node(name, x, outputs=op.num_visible_outputs(), domain=ML, dtype=b.results[0].dtype, **attributes)


@from_onnx("TreeEnsemble", since=5, domain=ML)
def _(g, x, **attributes):
    return g.itself(x, **fields_of(attributes))


@to_onnx("_onnx_ml_TreeEnsemble", since=22)
def _(b, op, x):
    attributes = {}
    for name in op.fields:
        value = getattr(op, name)
        if isinstance(value, np.ndarray):
            tensor = name in ("nodes_modes", "nodes_splits", "leaf_weights", "membership_values", "nodes_hitrates")
            value = numpy_helper.from_array(value) if tensor else value.tolist() or None
        if name != "given":
            attributes[name] = value
    return b.node("TreeEnsemble", x, domain=ML, **attributes)
