"""The classes of onnx's backend suite. It computes what it expects when it is loaded, for five seconds: what it computed is kept
for the processes that come after."""

import os
import pickle
import sys
import unittest
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test import BackendTest, loader

from bridge.onnx_backend import OnnxBackend

VERSIONS = f"{sys.implementation.cache_tag}.onnx-{onnx.__version__}.numpy-{np.__version__}"
FILE = Path(__file__).parent / "__pycache__" / f"suite.{VERSIONS}.pickle"
"""Beside what Python makes of these sources, and like it made anew where it is missing."""

_compute = getattr(loader, "load_node_model_tests", None)  # older suites read files, which takes no time


def classes(backend: type[OnnxBackend], module: str) -> dict[str, type[unittest.TestCase]]:
    """The test classes by category, as of the module of this name."""
    if _compute is not None:
        loader.load_node_model_tests = _cases_of_nodes
    with warnings.catch_warnings():  # of what the suite computes
        warnings.simplefilter("ignore")
        return BackendTest(backend, module).test_cases


def _cases_of_nodes() -> list[Any]:
    if FILE.exists():
        return pickle.loads(FILE.read_bytes())
    assert _compute is not None
    cases = _compute()
    if not sys.dont_write_bytecode:
        FILE.parent.mkdir(exist_ok=True)
        unfinished = FILE.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(pickle.dumps(cases))
        unfinished.replace(FILE)  # whole, whoever else writes it
    return cases
