"""The ONNX model of a network, checked before it is written."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime

import converters
from converters.onnx_types import code_of
from converters.writer import EXTERNAL_OVER, Converted

from ..models import BadInput
from ..opsets import check_opset, default_opset, newest, opens
from ..refusing import with_cut_points
from ..renaming import rename_inputs
from ..targets.writing import Written, translated
from .network import Network


@dataclass(frozen=True)
class Made:
    """A network as ONNX."""

    verified: Converted
    """The model that is run and compared."""
    saved: Converted
    """The model that is written: that one, but for an end that onnxruntime cannot run."""


def as_onnx(network: Network, how: Written, opset: int | str | None, keep_inputs: bool) -> Made:
    """The network, translated at the oldest opset that loses nothing, or at the one that is asked for.

    Raises BadInput for opsets that there are not, or that onnxruntime does not open, and converters.UnsupportedModel listing every
    node that has no translation."""
    check_opset(opset)
    verify = network.proof.wanted
    if verify and isinstance(opset, int) and not opens(opset):
        raise BadInput(
            f"onnxruntime {onnxruntime.__version__} opens no model of opset {opset} to verify it (the newest is {newest()}); "
            "choose an older opset, or leave verification out (--no-verify)"
        )
    most = newest() if verify else None
    how = dataclasses.replace(how, forms=network.forms)
    try:
        made = translated(how, network.model, network.shaped, most, default=default_opset(), keep_inputs=keep_inputs)
    except converters.UnsupportedModel as error:
        raise with_cut_points(error, network.model, network.specs, opset, check_model) from error
    rename_inputs(made.model.graph, network.names)
    return Made(made, made if network.detector is None else network.detector.finished(made))


def check_model(converted: Converted) -> None:
    """onnx.checker with shape inference. Large weights stand in as inputs: their values matter to neither. Models with control flow
    are checked without where inference fails: inside a body it takes constants of the graph around it for empty.

    Raises ConversionError."""
    unranked = [
        o.name
        for o in converted.model.graph.output
        if o.type.WhichOneof("value") == "tensor_type" and not o.type.tensor_type.HasField("shape")
    ]
    if unranked:
        raise converters.ConversionError(
            f"how many dimensions {', '.join(unranked)} has depends on sizes that are dynamic, and ONNX wants that to be known of "
            "an output; give sizes instead, or cut the network before (--outputs)"
        )
    model = onnx.ModelProto()
    model.CopyFrom(converted.listed)
    inputs = {i.name for i in model.graph.input}
    for name, array in converted.initializers.items():
        code = code_of(array.dtype)
        if array.nbytes <= EXTERNAL_OVER:
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array, order="C"), name))
        elif name not in inputs:
            model.graph.input.append(onnx.helper.make_tensor_value_info(name, code, array.shape))
    bodies = any(a.type == onnx.AttributeProto.GRAPH for n in model.graph.node for a in n.attribute)
    try:
        try:
            onnx.checker.check_model(model, full_check=True)
        except onnx.shape_inference.InferenceError:
            if not bodies:
                raise
            onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise converters.ConversionError(
            f"the converted model is not valid ONNX, a fault of gluonnx: {error}"
        ) from error
