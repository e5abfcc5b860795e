"""Samplers and Dropout. What MXNet has is read in converters/ops/random.py."""

from ...registry import passthrough

passthrough("Bernoulli", since=15)
passthrough("Multinomial", since=7, read=False)
passthrough("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", read=False)
passthrough("Dropout", since=12, read=False)
