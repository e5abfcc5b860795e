"""gluonnx: the engine. ``import hybrid as mx``."""

from . import ops  # noqa: F401  fills the operator tables
