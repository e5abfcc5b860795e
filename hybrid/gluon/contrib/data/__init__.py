"""Samplers on trial."""

from ...data import sampler
from ...data.sampler import IntervalSampler

__all__ = ["IntervalSampler", "sampler"]
