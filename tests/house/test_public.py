"""What is public has docstrings that hold: examples run and are nowhere missing, errors are named, defaults are the signature's."""

import doctest
import io
import os
from pathlib import Path

import pytest

from tests.house import public
from tests.house.public import Public
