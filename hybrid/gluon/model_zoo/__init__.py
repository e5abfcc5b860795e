"""Networks that are known by name."""

from . import model_store, vision

__all__ = ["model_store", "vision"]
