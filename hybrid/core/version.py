"""The version of gluonnx."""

VERSION = "0.1.0"
