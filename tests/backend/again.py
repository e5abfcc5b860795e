"""A backend that imports, exports and imports again, and wants the same bits of both: the suite as a test of the round trip."""

from typing import Any

import numpy as np
import onnx

from bridge.importing import rebuild
from bridge.onnx_backend import OnnxBackend, OnnxBackendRep
from converters.importer import Imported, import_model


class AgainRep(OnnxBackendRep):
    """Runs both, and compares."""

    def __init__(self, first: Imported):
        super().__init__(first)
        second = import_model(rebuild(first))
        self.again = OnnxBackendRep(second)
        self.kept = [n for n in first.inputs if n in second.inputs]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs. Raises AssertionError where a bit differs."""
        first = super().run(inputs)
        by_name = dict(zip(self._imported.inputs, inputs))
        second = self.again.run({n: v for n, v in by_name.items() if n in self.kept})
        for a, b in zip(first, second, strict=True):
            same(a, b)
        return first


def same(a: Any, b: Any) -> None:
    """Assert that two results are the same, bit for bit."""
    if isinstance(a, list):
        assert isinstance(b, list) and len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, np.ndarray):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    else:
        assert a == b


class Again(OnnxBackend):
    """See the module."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> OnnxBackendRep:
        """The model, imported and imported again."""
        return AgainRep(import_model(model))
