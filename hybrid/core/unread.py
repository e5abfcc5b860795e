"""Printing for somebody who may have seen enough, as ``head`` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def perhaps_unread() -> Iterator[None]:
    """End quietly what is printed within where nobody reads on; the exit status is still that of the work."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
