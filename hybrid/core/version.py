"""The version of gluonnx, and where it lives."""

VERSION = "0.1.0"

REPOSITORY = "https://github.com/gluonnx/gluonnx"
