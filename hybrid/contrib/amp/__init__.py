"""``mx.contrib.amp``: mixed precision, which this engine has not; programs that do without it find it switched off."""

from . import amp
from .amp import init

__all__ = ["amp", "init"]
