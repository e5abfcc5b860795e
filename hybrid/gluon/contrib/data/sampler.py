"""Samplers that MXNet had on trial."""

from ...data.sampler import IntervalSampler

__all__ = ["IntervalSampler"]
