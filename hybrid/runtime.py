"""Features that this engine was built with, in the terms that MXNet reports its own build in, and the threads and the memory
that it uses. ``mx.runtime``."""

from __future__ import annotations

import importlib.util
from collections import OrderedDict
from typing import NamedTuple

from . import native
from .core.memory_budget import memory_budget, set_memory_budget, set_step_budget
from .core.precision import precision, set_precision
from .native import memory_stats, set_num_threads

__all__ = [
    "Feature",
    "Features",
    "feature_list",
    "get_num_threads",
    "memory_budget",
    "memory_stats",
    "precision",
    "set_memory_budget",
    "set_num_threads",
    "set_precision",
    "set_step_budget",
]

get_num_threads = native.threads

_NAMES = (
    *("CUDA", "CUDNN", "NCCL", "CUDA_RTC", "TENSORRT", "CPU_SSE", "CPU_SSE2", "CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2"),
    *("CPU_SSE4A", "CPU_AVX", "CPU_AVX2", "OPENMP", "SSE", "F16C", "JEMALLOC", "BLAS_OPEN", "BLAS_ATLAS", "BLAS_MKL"),
    *("BLAS_APPLE", "LAPACK", "MKLDNN", "OPENCV", "CAFFE", "PROFILER", "DIST_KVSTORE", "CXX14", "INT64_TENSOR_SIZE"),
    *("SIGNAL_HANDLER", "DEBUG", "TVM_OP"),
)


class Feature(NamedTuple):
    """Something that an MXNet may have been built with, and whether there is its like here.

    Examples
    --------
    >>> from gluonnx import mx
    >>> feature = mx.runtime.Features()["CUDA"]
    >>> feature.name, feature.enabled
    ('CUDA', False)
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """All of MXNet 1.9.1's features. What NumPy does inside (SSE, BLAS) is its own affair and counts as absent; images
    (OPENCV) are there when Pillow is; arrays may have any size (INT64_TENSOR_SIZE); runs can be profiled (PROFILER).

    Examples
    --------
    >>> from gluonnx import mx
    >>> [f.enabled for f in mx.runtime.feature_list() if f.name == "LAPACK"]
    [True]

    Source: MXNet runtime.feature_list."""
    there = {"LAPACK", "INT64_TENSOR_SIZE", "PROFILER"}
    if importlib.util.find_spec("PIL") is not None:
        there.add("OPENCV")
    return [Feature(name, name in there) for name in _NAMES]


class Features(OrderedDict[str, Feature]):
    """Feature by name; there is one instance.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.runtime.Features().is_enabled("cuda")
    False

    Source: MXNet runtime.Features."""

    instance: Features | None = None

    def __new__(cls) -> Features:
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            OrderedDict.__init__(cls.instance, [(f.name, f) for f in feature_list()])
        return cls.instance

    def __init__(self) -> None:
        """Filled once, by __new__."""

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """True when there is this feature, in whatever case it is written. Raises RuntimeError for an unknown name."""
        name = feature_name.upper()
        if name not in self:
            raise RuntimeError(f"Feature '{name}' is unknown, known features are: {list(self)}")
        return self[name].enabled
