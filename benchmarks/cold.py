"""One engine from the start of a process to the first result of an ONNX file, for benchmarks/breadth.py: prints the most bytes that
the process held.

python benchmarks/cold.py hybrid|compiled|onnxruntime THREADS MODEL.onnx INPUTS.npz [MODEL.gluonnx]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np


def ours(threads: int, path: str, inputs: dict[str, np.ndarray]) -> None:
    """Import the file and run it."""
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from converters.importer import import_model
    from hybrid import native
    from hybrid.execution.program import Program

    native.set_num_threads(threads)
    found = import_model(path)
    program = Program(found.graph, found.params)
    program.run({n: a for n, a in inputs.items() if n in program.inputs})


def compiled(threads: int, path: str, inputs: dict[str, np.ndarray], file: str | None = None) -> None:
    """Start from the file that `gluonnx compile` wrote, beside it unless one is named."""
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from bridge import CompiledModel
    from hybrid import native

    native.set_num_threads(threads)
    CompiledModel(path, compiled=file or Path(path).with_suffix(".gluonnx")).run(inputs)


def theirs(threads: int, path: str, inputs: dict[str, np.ndarray]) -> None:
    """Make a session of the file and run it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    takes = {i.name for i in session.get_inputs()}
    session.run(None, {n: a for n, a in inputs.items() if n in takes})


def peak() -> int:
    """Bytes that this process has held at most."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines() if sys.platform == "linux" else ():
        if line.startswith("VmHWM:"):  # unlike getrusage's it starts anew with a program
            return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    kind, threads, model, data, *more = sys.argv[1:]
    with np.load(data) as stored:
        given = {name: stored[name] for name in stored.files}
    {"hybrid": ours, "compiled": compiled, "onnxruntime": theirs}[kind](int(threads), model, given, *more)
    print(peak())
