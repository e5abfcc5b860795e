"""``mx.attribute``: attributes for every symbol made inside a ``with`` block."""

from .core.attribute import AttrScope

__all__ = ["AttrScope"]
