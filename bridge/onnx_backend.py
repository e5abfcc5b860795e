"""ONNX's backend interface on our engine: ``onnx_backend.prepare(model).run(inputs)``.

Source: onnx.backend.base. ``python -m tests.backend`` runs the suite that the onnx package ships on it (tests/backend)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from converters.importer import Imported, import_model
from hybrid.core.boxed import box, unbox
from hybrid.execution.program import Program


class OnnxBackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, imported: Imported):
        self._imported = imported
        self._program = Program(imported.graph, imported.params)
        self._outputs = namedtupledict("Outputs", list(imported.outputs))

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, in order and by name. inputs: arrays in the model's order (fewer where inputs have a stored value), or by
        name; sequences are lists, optionals without value None, maps dicts; NumPy scalars count as arrays. By name also values in
        place of stored parameters.

        Raises ValueError for inputs that are too many or unknown, MXNetError when they do not fit the model."""
        names = tuple(self._imported.inputs)
        if not isinstance(inputs, Mapping):
            inputs = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
            if len(inputs) > len(names):
                raise ValueError(f"got {len(inputs)} inputs, wanted {len(names)} ({', '.join(names)})")
            inputs = dict(zip(names, inputs))
        unknown = [n for n in inputs if n not in names and n not in self._imported.params]
        if unknown:
            raise ValueError(f"got inputs {', '.join(unknown)}, wanted some of {', '.join(names)}")
        read = {*self._program.inputs, *self._program.constants}
        feeds = {n: _to_executor(v) for n, v in inputs.items() if n in read}
        results = self._program.run(feeds)
        return self._outputs(*map(_from_executor, results))


class OnnxBackend(Backend):
    """See onnx.backend.base.Backend."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """True when every node of the model can be read."""
        from converters import ConversionError

        try:
            import_model(model)
        except ConversionError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> OnnxBackendRep:
        """The model, ready to run. Raises ValueError for another device than CPU, UnsupportedModel listing every node that cannot
        be read."""
        if not cls.supports_device(device):
            raise ValueError(f"got device {device!r}, wanted CPU")
        return OnnxBackendRep(import_model(model))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """prepare and run at once."""
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """One node, applied to arrays in the order of its inputs; at the newest opset, or the one given as opset_version."""
        given = [n for n in node.input if n]
        arrays = [np.asarray(a) for a in inputs]
        code = onnx.helper.np_dtype_to_tensor_dtype
        infos = [onnx.helper.make_tensor_value_info(n, code(a.dtype), a.shape) for n, a in zip(given, arrays)]
        results = [onnx.helper.make_empty_tensor_value_info(n) for n in node.output if n]
        opset = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        graph = onnx.helper.make_graph([node], "node", infos, results)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
        return cls.run_model(model, arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True where models run there: on the CPU only."""
        return device.partition(":")[0] == "CPU"


def _to_executor(value: Any) -> np.ndarray:
    """An input as the executor carries it."""
    if value is None or isinstance(value, Mapping):
        return box(value)
    if isinstance(value, list):
        return box([_to_executor(v) for v in value])
    return np.asarray(value)


def _from_executor(array: np.ndarray) -> Any:
    """An output as users see it."""
    if array.dtype == object and not array.ndim and not isinstance(unbox(array), str):
        value = unbox(array)
        return [_from_executor(v) for v in value] if isinstance(value, list) else value
    return array


prepare = OnnxBackend.prepare
run_model = OnnxBackend.run_model
run_node = OnnxBackend.run_node
supports_device = OnnxBackend.supports_device
is_compatible = OnnxBackend.is_compatible
