"""Iterators over batches, from arrays and from files (``mx.io``): what Module trains on."""

from .array import NDArrayIter
from .base import DataBatch, DataDesc, DataIter, PrefetchingIter, ResizeIter

__all__ = [
    "DataBatch",
    "DataDesc",
    "DataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]
