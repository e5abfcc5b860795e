"""The version of gluonnx, and where it lives."""

VERSION = "0.1.0"

REPOSITORY = "https://github.com/gluonnx/gluonnx"
SITE = "https://gluonnx.github.io/gluonnx"
"""The pages that mkdocs makes of docs/ (mkdocs.yml)."""
