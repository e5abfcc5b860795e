"""The reference of the Python API, as pages of Markdown made of what is imported."""

from __future__ import annotations

import functools


@functools.cache
def pages() -> dict[str, str]:
    """Text by the name of the page."""
    return {}
