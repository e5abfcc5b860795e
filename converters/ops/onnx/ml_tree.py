"""Ensembles of trees."""

import numpy as np
from onnx import numpy_helper

from hybrid.ops.onnx.ml_tree import MODES

from ...error import Unsupported
from ...registry import ML, exports, imports
from .ml_linear import TENSOR, attributes_of, fields_of


@imports("TreeEnsembleClassifier", "TreeEnsembleRegressor", domain=ML)
def import_tree_ensemble_classifier(g, x, *, nodes_modes=(), **attributes):
    unknown = sorted(set(nodes_modes) - set(MODES))
    if unknown:
        raise Unsupported(f"got nodes_modes {', '.join(unknown)}, wanted {', '.join(MODES)}")
    return g.passthrough(
        x, nodes_modes=np.array([MODES.index(m) for m in nodes_modes], np.uint8), **fields_of(attributes)
    )


@exports("_onnx_ml_TreeEnsembleClassifier", "_onnx_ml_TreeEnsembleRegressor")
def export_onnx_ml_tree_ensemble_classifier(b, op, x):
    if b.opset >= 22:
        raise Unsupported("ai.onnx.ml has dropped it in the version that goes with opset 22; choose opset 21")
    name, attributes = op.name.removeprefix("_onnx_ml_"), attributes_of(op)
    if b.opset < 15 and any(n.endswith(TENSOR) for n in attributes):
        raise Unsupported("float64 numbers need opset 15")
    attributes["nodes_modes"] = [MODES[m] for m in op.nodes_modes]
    return b.node(name, x, outputs=op.num_visible_outputs(), domain=ML, dtype=b.results[0].dtype, **attributes)


@imports("TreeEnsemble", since=5, domain=ML)
def import_tree_ensemble(g, x, **attributes):
    return g.passthrough(x, **fields_of(attributes))


@exports("_onnx_ml_TreeEnsemble", since=22)
def export_onnx_ml_tree_ensemble(b, op, x):
    attributes = {}
    for name in op.fields:
        value = getattr(op, name)
        if isinstance(value, np.ndarray):
            tensor = name in ("nodes_modes", "nodes_splits", "leaf_weights", "membership_values", "nodes_hitrates")
            value = numpy_helper.from_array(value) if tensor else value.tolist() or None
        if name != "given":
            attributes[name] = value
    return b.node("TreeEnsemble", x, domain=ML, **attributes)
