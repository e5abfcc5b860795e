"""A target's process: it opens one model and runs it; whatever it does, it ends alone.

Engines crash (OpenCV 5.0 with SIGSEGV on some of our networks), print, leave threads busy, and some want another NumPy than ours.
So each runs in an interpreter of its own (place.py), on bridge/scripts/run_on_target.py, which says how the two speak."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from hybrid.core.op import Spec
from hybrid.formats.files import replacing

from ..engines import EngineError
from ..inputs import save_arrays
from ..processes import end_family
from .place import SCRIPT, Place
from .profile import Profile

TIME_LIMIT = 300.0
"""Seconds that a target may take to open a model, or to run it once."""
MOST = 400
"""Characters of what an engine says that are told."""


class Refused(EngineError):
    """The target does not take the model, or this input."""


class Crashed(EngineError):
    """The target's process has ended by itself."""


class Late(EngineError):
    """The target has taken too long."""


class TargetRunner:
    """A file on a target: a runner, as runners.py knows them. Its process begins with the first run, and anew with other sizes."""

    def __init__(
        self,
        profile: Profile,
        place: Place,
        path: str | os.PathLike[str],
        inputs: Mapping[str, Spec],
        outputs: Mapping[str, Spec],
        time_limit: float = TIME_LIMIT,
    ):
        """path: an ONNX file. inputs, outputs: what it declares."""
        self.profile, self.place, self.path, self.limit = profile, place, Path(path), time_limit
        self.label = f"{profile.name} ({place.package} {place.version})"
        self.inputs, self.outputs, self._specs = tuple(inputs), tuple(outputs), outputs
        self.default = ""  # the precision that it would choose by itself on this machine, where it says so
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._sizes: Any = None
        self._said: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def run(self, feeds: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The outputs by name. Raises Refused, Crashed, Late."""
        given = {n: np.ascontiguousarray(feeds[n]) for n in self.inputs}
        sizes = {n: [list(a.shape), a.dtype.name] for n, a in given.items()}
        if sizes != self._sizes or self._process is None:
            self._open(sizes)
        assert self._folder is not None
        places = {"in": f"{self._folder.name}/in.npz", "out": f"{self._folder.name}/out.npz"}
        with replacing(places["in"]) as file:
            save_arrays(file, {f"i{i}": a for i, a in enumerate(given.values())})
        self._ask(places)
        with np.load(places["out"]) as stored:
            found = [stored[f"arr_{i}"] for i in range(len(stored.files))]
        if len(found) != len(self.outputs):
            raise Refused(f"{self.label} gives {len(found)} outputs, and the file has {len(self.outputs)}")
        return {n: self._as_declared(a, self._specs[n]) for n, a in zip(self.outputs, found)}

    def _as_declared(self, array: np.ndarray, spec: Spec) -> np.ndarray:
        """The output in the dtype and shape of the file, where the target has its own; what cannot be that stays as it is."""
        if not self.profile.own_types:
            return array
        shape = spec.shape
        if shape is not None and all(isinstance(d, int) for d in shape) and array.size == int(np.prod(shape)):
            array = array.reshape(shape)
        if spec.dtype is not None and array.dtype != spec.dtype:
            made = array.astype(spec.dtype)
            if spec.dtype.kind == "f" or np.array_equal(made, array):
                return made
        return array

    def _open(self, sizes: Any) -> None:
        self.close()
        self._folder = tempfile.TemporaryDirectory(prefix="gluonnx-target-")
        self._process = subprocess.Popen(
            [self.place.python, str(SCRIPT), self.profile.adapter],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            start_new_session=True,  # what it starts in turn ends with it
        )
        self._sizes, self._said = sizes, queue.SimpleQueue()
        threading.Thread(target=_listen, args=(self._process.stdout, self._said), daemon=True).start()
        outputs = {n: None if s.shape is None else [str(d) for d in s.shape] for n, s in self._specs.items()}
        asked = {"model": str(self.path.resolve()), "folder": self._folder.name, "inputs": sizes, "outputs": outputs}
        self.default = str(self._ask(asked).get("default", ""))

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """A good answer, waited for. Raises Refused, Crashed, Late."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(self._line())
        except (BrokenPipeError, EOFError, ValueError):
            status = process.wait()
            self.close()
            raise Crashed(f"{self.label} crashed with {_ending(status)}") from None
        except TimeoutError:
            self.close()
            raise Late(f"{self.label} took more than {self.limit:g} s and was ended") from None
        if "ok" not in answer:
            said = " ".join(str(answer.get("refused") or answer.get("failed")).split())
            if answer.get("refused"):
                self.close()
            raise Refused(f"{self.label} says: {said if len(said) <= MOST else said[:MOST] + ' ...'}")
        return answer

    def _line(self) -> bytes:
        """The next line of the answers. Raises TimeoutError, and EOFError where there is none."""
        try:
            line = self._said.get(timeout=self.limit)
        except queue.Empty:
            raise TimeoutError from None
        if not line.endswith(b"\n"):
            raise EOFError
        return line

    def close(self) -> None:
        """End the process, and what it has started."""
        process, self._process = self._process, None
        if process is not None:
            end_family(process)
            process.wait()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> TargetRunner:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None:
            self.close()


def _listen(pipe: IO[bytes], said: queue.SimpleQueue[bytes]) -> None:
    """Hand on the lines of a pipe, and an empty one at its end; then close it, which nobody else can while this waits for a line.
    A thread can wait for a queue everywhere, for a pipe it cannot (Windows)."""
    with pipe, contextlib.suppress(OSError):
        for line in pipe:
            said.put(line)
    said.put(b"")


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"
