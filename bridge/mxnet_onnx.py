"""``mx.onnx`` as MXNet 1.9.1 has it, served by convert: programs that exported with MXNet go on to do so, verified."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from converters import UnsupportedModel
from converters.names import Names
from converters.oldest import recorded
from converters.registry import EXPORT, OLDEST
from hybrid.core.attrs import dtype as read_dtype
from hybrid.core.op import Spec
from hybrid.passes.strip_labels import label_names

from .cases import samplers
from .convert import convert
from .models import BadInput, Model, open_model
from .opsets import newest

__all__ = ["export_model", "get_operator_support"]
mx2onnx = sys.modules[__name__]
"""The package of MXNet that these functions come from."""


def export_model(
    sym: Any,
    params: Any,
    in_shapes: Sequence[Sequence[int]] | None = None,
    in_types: Any = np.float32,
    onnx_file_path: str = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[Sequence[Any]] | None = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Sequence[Sequence[int]] | None = None,
) -> str:
    """Write a model as ONNX, verified against onnxruntime before the file appears (with a warning, where it draws random numbers:
    not); gives the file's path.

    sym: a Symbol or the path of its JSON. params: a path, a dict, or a list of two dicts (arguments, auxiliary states).
    in_shapes: one for each input that is no parameter, in the order of ``list_inputs``; those of labels may be left out, and then
    labels are no inputs of the file. Inputs that nothing reads are. in_types: one dtype for all, or a list. dynamic: let all
    sizes vary, or with dynamic_input_shapes those that are None or a name there. verbose: log the nodes. run_shape_inference is
    accepted; shapes are always inferred. input_type and input_shape are older names.
    Raises BadInput for shapes that do not fit the inputs, UnsupportedModel listing every node that ONNX cannot say, NotEquivalent
    when the numbers differ. Source: MXNet mxnet.onnx.export_model.

    Examples
    --------
    >>> import gluonnx
    >>> from gluonnx import mx
    >>> files = "model-symbol.json", "model-0000.params"
    >>> mx.onnx.export_model(*files, [(1, 3)], "float32", "model.onnx")
    'model.onnx'
    """
    merged: Any = params
    if isinstance(params, list | tuple):
        merged = {k: v for part in params for k, v in part.items()}
    model = open_model(sym, merged)
    shapes = input_shape if in_shapes is None else in_shapes
    names = _inputs_of(model, None if shapes is None else len(shapes))
    types = in_types if input_type is None else input_type
    listed = list(types) if isinstance(types, list | tuple) else [types] * len(names)
    if shapes is None or len(shapes) != len(names) or len(listed) != len(names):
        got = "none" if shapes is None else f"{len(shapes)} shapes and {len(listed)} types"
        raise BadInput(
            f"export_model: got {got}, wanted one of each for the inputs {', '.join(names) or '(there are none)'}"
        )
    if dynamic and dynamic_input_shapes is not None and len(dynamic_input_shapes) != len(names):
        raise BadInput(
            f"export_model: got {len(dynamic_input_shapes)} dynamic_input_shapes, wanted one for each of {', '.join(names)}"
        )
    specs = {n: Spec(tuple(s), read_dtype(t)) for n, s, t in zip(names, shapes, listed)}
    target = os.fspath(onnx_file_path)
    axes = _axes(specs, dynamic_input_shapes) if dynamic else {}
    drawn = [f"{n.name} ({n.op.name})" for n in samplers(model.graph) if n.op] if model.graph is not None else []
    told = {"inputs": specs, "output": target, "verify": not drawn, "keep_inputs": True}
    try:
        result = convert(sym, merged, dynamic=axes, **told)
    except (BadInput, UnsupportedModel) as error:
        if not dynamic or dynamic_input_shapes is not None:
            raise
        # "all sizes vary" is MXNet's default and seldom true: most networks fix the channels
        batch = {n: {0: "batch"} for n in names if specs[n].shape}
        warnings.warn(f"not all sizes of {model.name} can vary, so only the first does: {error}", stacklevel=2)
        result = convert(sym, merged, dynamic=batch, **told)
    if drawn:
        warnings.warn(
            f"{model.name} draws random numbers, at {', '.join(drawn)}: two runs differ by themselves, so that the file was "
            "not verified",
            stacklevel=2,
        )
    if verbose:
        log = logging.getLogger(__name__)
        for operator, count in result.operators.items():
            log.info("%s: %d", operator, count)
    return target


def _inputs_of(model: Model, count: int | None) -> list[str]:
    """Inputs that are no parameters, in the symbol's order; labels among them where there are as many as are counted."""
    if model.graph is None:
        raise BadInput(f"{model.name} is ONNX already; export_model takes an MXNet symbol")
    labels = set(label_names(model.graph))
    found = model.variables()
    return found if len(found) == count else [n for n in found if n not in labels]


def _axes(specs: Mapping[str, Spec], given: Sequence[Sequence[Any]] | None) -> dict[str, dict[int, str]]:
    """Names of the sizes that may vary: all of them, or those that are None (or named) in given."""
    axes: dict[str, dict[int, str]] = {}
    names = Names(dim for dims in given or () for dim in dims if isinstance(dim, str))
    for i, (name, spec) in enumerate(specs.items()):
        dims = given[i] if given is not None else [None] * len(spec.shape or ())
        axes[name] = {
            axis: dim if isinstance(dim, str) else names.unique(f"{name}_{axis}")
            for axis, dim in enumerate(dims)
            if dim is None or isinstance(dim, str)
        }
    return {name: found for name, found in axes.items() if found}


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Names of the MXNet operators that can be written at an opset (None: the newest that the installed onnxruntime opens).

    Raises BadInput for an opset before the oldest that is written.

    Examples
    --------
    >>> from gluonnx import mx
    >>> "Convolution" in mx.onnx.get_operator_support(13)
    True
    """
    wanted = newest() if opset_version is None else int(opset_version)
    if wanted < OLDEST:
        raise BadInput(f"get_operator_support: got opset {wanted}, wanted {OLDEST} or newer")
    first = {name: min(versions) for name, versions in EXPORT.items()} | {n: v[0] for n, v in recorded().items()}
    return sorted(name for name, opset in first.items() if opset <= wanted)
