"""gluonnx: run and convert Apache MXNet models with no MXNet installed. What ``bridge`` offers, and MXNet's Python API as ``mx``.

    import gluonnx
    gluonnx.convert("model", inputs={"data": (1, 3, 224, 224)}, output="model.onnx")

    from gluonnx import mx
    net = mx.gluon.nn.Dense(10)

Names load when they are first asked for: importing this needs neither onnx nor onnxruntime."""

import importlib
from typing import TYPE_CHECKING, Any

import bridge
from hybrid.core import version

if TYPE_CHECKING:
    from bridge import *  # noqa: F403

    from . import mx

__version__ = version.VERSION
__all__ = ["__version__", "mx"]
__all__ += bridge.__all__


if not TYPE_CHECKING:  # a checker knows the names, and those that there are not

    def __getattr__(name: str) -> Any:
        if name == "mx":
            return importlib.import_module("gluonnx.mx")
        if name in bridge.__all__:
            return getattr(bridge, name)
        raise AttributeError(f"module 'gluonnx' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
