"""Losses of classes."""

from ...registry import itself

itself("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", since=12)
