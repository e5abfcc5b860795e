"""Non-linearities. Those that MXNet has are read in converters/ops/activation.py."""

from ...registry import itself

itself("Swish", since=24)
itself("SwiGLU", since=28)
itself("HardSwish", since=14)
itself("Celu", since=12)
itself("ThresholdedRelu", since=10)
itself("Shrink", since=9)
itself("Hardmax", since=13)
itself("PRelu", since=7, read=False)
itself("Selu", since=6, read=False)
itself("Gelu", since=20, read=False)
