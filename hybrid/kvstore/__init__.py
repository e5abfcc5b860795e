"""Stores of arrays by key, which add up what several devices push. ``mx.kvstore``, ``mx.kv``."""

from . import base, dist, dist_async, horovod, kvstore, kvstore_server
from .base import KVStoreBase, create
from .kvstore import KVStore
from .kvstore_server import KVStoreServer

__all__ = [
    "KVStore",
    "KVStoreBase",
    "KVStoreServer",
    "base",
    "create",
    "dist",
    "dist_async",
    "horovod",
    "kvstore",
    "kvstore_server",
]
