"""Samplers on trial, and texts for language models (``text``)."""

from ...data import sampler
from ...data.sampler import IntervalSampler
from . import text

__all__ = ["IntervalSampler", "sampler", "text"]
