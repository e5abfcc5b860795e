"""Normalizations in the forms that MXNet lacks."""

from ...registry import passthrough

passthrough("BatchNormalization", "InstanceNormalization", "LRN", read=False)
passthrough("LayerNormalization", since=17, read=False)
passthrough("GroupNormalization", since=21)
passthrough("RMSNormalization", since=23)
