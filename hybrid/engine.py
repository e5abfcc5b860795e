"""``mx.engine``: how many operations are handed over at a time."""

from .execution.scheduler import bulk, set_bulk_size

__all__ = ["bulk", "set_bulk_size"]
