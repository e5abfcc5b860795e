"""Losses of classes."""

from ...registry import passthrough

passthrough("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", since=12)
