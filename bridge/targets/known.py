"""Facts about the tensors of a file, as checks of its nodes ask for them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper

from converters.onnx_types import declared_dims
from converters.proto_nodes import stored_tensors
from converters.schemas import schema_of

AI_ONNX = ("", "ai.onnx")
"""Names of ONNX's own domain."""


class Known:
    """Facts about a file's tensors: which are constants, their dtypes and shapes."""

    def __init__(self, model: onnx.ModelProto, constants: Iterable[str] = ()):
        """constants: names of tensors that are stored where the message does not hold them."""
        self.model, self.opset = model, next(o.version for o in model.opset_import if o.domain in AI_ONNX)
        graph = model.graph
        self.nodes = list(graph.node)
        self.stored = {i.name: i for i in graph.initializer}
        self.constants = {*self.stored, *constants}
        self.constants |= {o for n in self.nodes if n.op_type == "Constant" for o in n.output}
        self.fed = [i.name for i in graph.input if i.name not in self.constants]
        """The tensors that come from outside: what is stored may be listed as an input too."""
        self.ends = {i.name for i in (*graph.input, *graph.output)}
        """The tensors that come from outside and go there."""
        self.types: dict[str, int] = {n: i.data_type for n, i in self.stored.items()}
        self.shapes: dict[str, tuple[int | str, ...]] = {n: tuple(i.dims) for n, i in self.stored.items()}
        for info in (*graph.input, *graph.value_info, *graph.output):
            found = info.type.tensor_type
            self.types.setdefault(info.name, found.elem_type)
            if found.HasField("shape"):
                self.shapes[info.name] = declared_dims(found.shape)
        self.makers = {o: n for n in self.nodes for o in n.output if o}

    def attributes(self, node: onnx.NodeProto) -> dict[str, Any]:
        """The attributes of a node, with ONNX's defaults for those that are absent."""
        schema = schema_of(node.op_type, self.opset, node.domain)
        known = {} if schema is None else schema.attributes
        found = {n: _value(a.default_value) for n, a in known.items() if a.default_value.type}
        return found | {a.name: _value(a) for a in node.attribute}

    def numbers(self, name: str) -> np.ndarray | None:
        """A stored constant; None for what is computed, or stored elsewhere."""
        stored = self._tensors.get(name)
        return None if stored is None else onnx.numpy_helper.to_array(stored)

    @functools.cached_property
    def _tensors(self) -> dict[str, onnx.TensorProto]:
        return stored_tensors(self.model.graph)

    def dtype(self, name: str) -> str:
        """The name of a tensor's dtype as ONNX has it, in small letters: float, int64, ...; undefined where it is not known."""
        return onnx.TensorProto.DataType.Name(self.types.get(name, 0)).lower()

    def place(self, name: str) -> str:
        """The place of a tensor, as profiles have them."""
        if name in self.constants:
            return "stored"
        return "input" if name in self.fed else "output" if name in self.ends else "inside"

    def is_whole(self, name: str) -> bool:
        """True for a tensor of integers."""
        return self.dtype(name).startswith(("int", "uint"))

    def shape(self, name: str) -> tuple[int | str, ...] | None:
        """The shape of a tensor, sizes that are open by their names; None where it is not known."""
        return self.shapes.get(name)


def _value(attribute: AttributeProto) -> Any:
    found = helper.get_attribute_value(attribute)
    return found.decode() if isinstance(found, bytes) else found
