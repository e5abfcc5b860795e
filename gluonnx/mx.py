"""MXNet's Python API, ``hybrid``, under the name that programs give it: ``import gluonnx.mx as mx``."""

import sys
from typing import TYPE_CHECKING

import hybrid

if TYPE_CHECKING:
    from hybrid import *  # noqa: F403

sys.modules[__name__] = hybrid
