"""A target that is none: OpenCV's way in, with onnx's evaluator behind it, or with what goes wrong."""

from __future__ import annotations

import sys
from pathlib import Path

MODULE = """
import os, time
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

__version__ = "5.0.0"
MODE = "{mode}"


class error(Exception):
    pass


def setNumThreads(count):
    print("what engines print", flush=True)


def Mat(array, wrap_channels):
    return array


class Net:
    def __init__(self, path):
        self.evaluator, self.feeds = ReferenceEvaluator(path), dict()

    def setInput(self, array, name):
        self.feeds[name] = array

    def forward(self, names):
        if MODE == "crash":
            os.kill(os.getpid(), 11)
        if MODE == "late":
            time.sleep(60)
        if MODE == "fail":
            raise error("no memory for blob 3")
        found = self.evaluator.run(names, self.feeds)
        if MODE == "differ":
            return [f + np.float32(0.25) for f in found]
        if MODE == "column":
            return [f.reshape(-1, 1).astype(np.float64) for f in found]
        return found[:-1] if MODE == "fewer" else found


class dnn:
    @staticmethod
    def readNetFromONNX(path):
        if MODE == "refuse":
            raise error("Can't create layer of type Softmax")
        if MODE == "exit":
            raise SystemExit(3)
        return Net(path)
"""
NAME = "opencv_python_headless"


def interpreter(folder: Path, mode: str, version: str = "5.0.1") -> str:
    """A Python in which OpenCV of that version is installed, that does what the mode says."""
    (folder / "cv2.py").write_text(MODULE.format(mode=mode))
    facts = folder / f"{NAME}-{version}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: opencv-python-headless\nVersion: {version}\n")
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return str(script)
