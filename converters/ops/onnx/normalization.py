"""Normalizations in the forms that MXNet lacks."""

from ...registry import itself

itself("BatchNormalization", "InstanceNormalization", "LRN", read=False)
itself("LayerNormalization", since=17, read=False)
itself("GroupNormalization", since=21)
itself("RMSNormalization", since=23)
