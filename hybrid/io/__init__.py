"""Iterators over batches, from arrays and from files (``mx.io``): what Module trains on. Those over images load when used."""

import importlib
from typing import TYPE_CHECKING, Any

from .array import NDArrayIter
from .base import DataBatch, DataDesc, DataIter, PrefetchingIter, ResizeIter
from .files import CSVIter, LibSVMIter, MNISTIter, MXDataIter

if TYPE_CHECKING:
    from .detection import ImageDetRecordIter
    from .records import (
        ImageRecordInt8Iter,
        ImageRecordIter,
        ImageRecordIter_v1,
        ImageRecordUInt8Iter,
        ImageRecordUInt8Iter_v1,
    )

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "detection" if name == "ImageDetRecordIter" else "records"
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
