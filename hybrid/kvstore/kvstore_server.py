"""Servers of stores that join several machines; there are none here."""

from typing import Any

from ..core.error import MXNetError


class KVStoreServer:
    """In MXNet the process that keeps the arrays of a distributed store. Raises MXNetError."""

    def __init__(self, kvstore: Any) -> None:
        raise MXNetError("KVStoreServer: this engine has no stores that join several machines")
