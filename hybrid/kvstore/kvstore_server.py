"""Servers of stores that join several processes; there are none here: each rank keeps the arrays (dist.py)."""

from typing import Any

from ..core.error import MXNetError


class KVStoreServer:
    """In MXNet the process that keeps the arrays of a distributed store, kvstore.

    Raises MXNetError that says what to start.

    Examples
    --------
    >>> from gluonnx import mx
    >>> try:
    ...     mx.kvstore.KVStoreServer(mx.kvstore.create("local"))
    ... except mx.MXNetError as error:
    ...     print(str(error).partition(";")[0])
    KVStoreServer: there are no server processes
    """

    def __init__(self, kvstore: Any) -> None:
        raise MXNetError(
            "KVStoreServer: there are no server processes; start workers only: mpirun -n N python -m hybrid"
        )
