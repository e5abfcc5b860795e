"""Pooling over regions of interest in the form that MXNet lacks."""

from ...registry import passthrough

passthrough("RoiAlign", since=16)
