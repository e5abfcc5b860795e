"""``mx.name``: names for symbols that were not given one."""

from .core.name import NameManager, Prefix

__all__ = ["NameManager", "Prefix"]
