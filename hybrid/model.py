"""MXNet's module of that name: checkpoints, and what trained networks before Module did."""

from .callback import BatchEndParam
from .checkpoint import load_checkpoint, load_params, save_checkpoint
from .executor_manager import DataParallelExecutorManager
from .feed_forward import FeedForward

__all__ = [
    "BatchEndParam",
    "DataParallelExecutorManager",
    "FeedForward",
    "load_checkpoint",
    "load_params",
    "save_checkpoint",
]
