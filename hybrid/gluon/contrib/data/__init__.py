"""Samplers that MXNet had on trial (``mx.gluon.contrib.data``). Its text corpora are not here: they only downloaded."""

from . import sampler
from .sampler import IntervalSampler

__all__ = ["IntervalSampler", "sampler"]
