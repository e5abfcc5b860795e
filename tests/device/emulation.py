"""A mock device that runs our CUDA kernels: their text compiled as C++ (cuda_on_cpu.h)."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.device import kernels
from hybrid.device.array import DeviceArray
from hybrid.device.base import COMPUTE
from hybrid.device.mock import Mock

HEADER = Path(__file__).parent / "cuda_on_cpu.h"
TOGETHER = "\n".join(
    text
    for name, text in vars(kernels).items()
    if isinstance(text, str) and name.isupper() and name not in ("CHAIN", "_PRODUCT")
)
"""All kernels whose text is always the same, which are compiled at once."""
FOLDER = Path(tempfile.mkdtemp(prefix="gluonnx-kernels-"))


@functools.cache
def compiled(source: str) -> Any:
    """The kernels as functions of a library, run_<name>: grid, threads, and their own parameters."""
    text = f'#include "{HEADER}"\n{source}\n'
    for name, parameters in re.findall(r"__global__ void (\w+)\(([^)]*)\)", source):
        names = ", ".join(p.split()[-1] for p in parameters.split(","))
        text += (
            f'extern "C" void run_{name}(unsigned gx, unsigned gy, unsigned gz, unsigned threads, {parameters}) '
            f"{{ launch(gx, gy, gz, threads, [&] {{ {name}({names}); }}); }}\n"
        )
    path = FOLDER / hashlib.sha1(text.encode()).hexdigest()
    path.with_suffix(".cc").write_text(text)
    flags = ["-std=c++20", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-pthread"]
    command = ["g++", *flags, str(path.with_suffix(".cc")), "-o", str(path.with_suffix(".so"))]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return ctypes.CDLL(str(path.with_suffix(".so")))


_TYPES = {"int32": ctypes.c_int32, "int64": ctypes.c_int64, "float32": ctypes.c_float}


class Emulated(Mock):
    """A mock with kernels."""

    kind = "emulated"

    def __init__(self, number: int = 0):
        super().__init__(number)
        self.ran: list[str] = []
        """Names of the kernels that have run."""

    @property
    def has_kernels(self) -> bool:
        return True

    def kernel(self, source: str, name: str) -> Callable[..., None]:
        run = getattr(compiled(TOGETHER if source in TOGETHER else source), f"run_{name}")

        def launch(
            grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any], shared_bytes: int = 0
        ) -> None:
            self.counters.launches += 1
            self.ran.append(name)
            given = []
            for value in arguments:
                if isinstance(value, DeviceArray):
                    self._use(COMPUTE, [value.memory.block])
                    given.append(ctypes.c_void_p(value.memory.held.ctypes.data))
                else:
                    given.append(_TYPES[np.asarray(value).dtype.name](value))
            run(*(*grid, 1, 1)[:3], block[0], *given)

        return launch
