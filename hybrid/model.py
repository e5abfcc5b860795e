"""MXNet's module of that name: checkpoints, and what trained networks before Module did."""

# ruff: noqa: F401  names with an underscore are for programs with a loop of their own
from .callback import BatchEndParam
from .checkpoint import load_checkpoint, load_params, save_checkpoint
from .executor_manager import DataParallelExecutorManager
from .feed_forward import FeedForward
from .kvstore.base import choose as _create_kvstore
from .module.stores import init_store as _initialize_kvstore
from .module.stores import update_here as _update_params
from .module.stores import update_on_store as _update_params_on_kvstore

__all__ = [
    "BatchEndParam",
    "DataParallelExecutorManager",
    "FeedForward",
    "load_checkpoint",
    "load_params",
    "save_checkpoint",
]
