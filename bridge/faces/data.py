"""Results for machines: one JSON object with a version, whose fields docs/report-schema.md tells."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from hybrid import native

SCHEMA = "gluonnx-report/1"


def facts(result: Mapping[str, Any], command: str, version: str, status: int = 0) -> dict[str, Any]:
    """A result with what an auditor asks: versions, machine, date, the command that gives it again. status: the exit status."""
    return {
        "schema": SCHEMA,
        "command": command,
        "exit": status,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": versions(version),
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "kernels": native.level(),
        },
        **result,
    }


def versions(own: str) -> dict[str, str]:
    """Versions of what computes."""
    import onnxruntime  # loaded by whatever has run a model

    return {
        "gluonnx": own,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "onnx": onnx.__version__,
        "onnxruntime": onnxruntime.__version__,
    }


def dumps(value: Any) -> str:
    """JSON text; numbers that JSON does not have are the strings "nan", "inf" and "-inf"."""
    return json.dumps(_plain(value), default=str, allow_nan=False)


def _plain(value: Any) -> Any:
    match value:
        case np.generic() | np.ndarray():  # else a number of NumPy's would become a string
            return _plain(value.tolist())
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(k): _plain(v) for k, v in value.items()}
        case list() | tuple():
            return [_plain(v) for v in value]
    return value
