"""Samplers and Dropout. What MXNet has is read in converters/ops/random.py."""

from ...registry import itself

itself("Bernoulli", since=15)
itself("Multinomial", since=7, read=False)
itself("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", read=False)
itself("Dropout", since=12, read=False)
