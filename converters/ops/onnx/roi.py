"""Pooling over regions of interest in the form that MXNet lacks."""

from ...registry import itself

itself("RoiAlign", since=16)
