"""MXNet's Python API, ``hybrid``, under the name that programs give it: ``import gluonnx.mx as mx``; and its modules:
``from gluonnx.mx.gluon import nn``."""

import sys
from typing import TYPE_CHECKING

import hybrid
from hybrid.compat import give_modules_as

if TYPE_CHECKING:
    from hybrid import *  # noqa: F403

give_modules_as(__name__)
sys.modules[__name__] = hybrid
