"""The job that conversion and import have in common: files are written, verified, and only then appear."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hybrid.formats.files import move, scratch

from .models import BadInput
from .result import Progress, VerifyResult


class NotEquivalent(RuntimeError):
    """The converted model gives other numbers, or (strict) what it gives says little; nothing was written. ``result`` says which
    and from which node on, ``warnings`` has remarks on what was compared.

    Examples
    --------
    >>> import gluonnx
    >>> from gluonnx import mx
    >>> zeros = mx.sym.zeros_like(mx.sym.var("x"), name="zeros")
    >>> try:
    ...     gluonnx.convert(zeros, {}, inputs={"x": (2, 3)}, strict=True)
    ... except gluonnx.NotEquivalent as error:
    ...     print(error.result.verdict, error.result.little)
    says little ('zeros_output is one value everywhere',)
    """

    def __init__(self, result: VerifyResult, warnings: Sequence[str] = ()):
        self.result, self.warnings = result, tuple(warnings)
        if result.verdict != "not equivalent":
            super().__init__(f"says little: {'; '.join(result.little)}")
            return
        worst = next((d for d in result.differences if not d.equal), None)
        where = result.divergence
        if worst is None and where is not None:
            worst = where.accumulated
        at = ""
        if where is not None:
            what = f"the node that is inexact is {where.node} ({where.operator}): {where.inexact}"
            at = f"; {what if where.inexact else f'the first node that differs is {where.node} ({where.operator})'}"
        notes = "".join(f"; {w}" for w in self.warnings)
        super().__init__(f"not equivalent: {worst.name}: {worst.reason}{at}{notes}" if worst else "not equivalent")


class Verified:
    """Base of results that hold a verification."""

    def __repr__(self: Any) -> str:
        found = self.verification
        verdict = "not verified" if found is None else found.verdict
        files = f", {' and '.join(self.files)}" if self.files else ""
        return f"<{type(self).__name__} {self.model}: {verdict}, opset {self.opset}{files}>"

    def as_dict(self: Any) -> dict[str, Any]:
        """Plain values for JSON."""
        out = asdict(self)
        if self.verification is not None:
            out["verification"] = self.verification.as_dict()
        return out


class Clock:
    """Seconds by what they were spent on."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Note the time since the last lap under a name."""
        now = time.perf_counter()
        self.laps[name] = round(now - self._last, 4)
        self._last = now


def publish(
    write: Callable[[Path], list[Path]],
    verify: Callable[[list[Path]], VerifyResult] | None,
    place: Path | None,
    reads: Sequence[Path],
    *,
    strict: bool,
    warnings: Sequence[str],
    tell: Progress,
    clock: Clock,
    seal: Callable[[list[Path], VerifyResult | None], None] | None = None,
) -> tuple[list[Path], VerifyResult | None]:
    """Write files into a folder of their own, verify what they hold, and move them to their place beside it; gives where they are.

    write: writes into a folder, and gives the files. verify: None not to. place: a file in the folder where they belong; None to
    verify alone. reads: files that may not be overwritten. strict: what says little is refused too. warnings: for the error.
    seal: adds to the files what came of it. Raises NotEquivalent; then, as after any other error, nothing has appeared."""
    with scratch(place.parent) if place is not None else tempfile.TemporaryDirectory() as folder:
        tell("writing")
        written = write(Path(folder))
        clock.lap("write")
        result = None
        if verify is not None:
            result = verify(written)
            clock.lap("verify")
            if result.verdict == "not equivalent" or (strict and result.little):
                raise NotEquivalent(result, warnings)
        if place is None:
            return [], result
        if seal is not None:
            seal(written, result)
        files = [place.with_name(f.name) for f in written]
        for file in files:  # which files there are may only be known by now
            check_target(file, *reads)
        move(*zip(written, files))
    return files, result


def check_target(target: Path, *reads: Path | None) -> None:
    """Raise BadInput when no file can be written there, or when it would take the place of one of those that are read."""
    if not target.parent.is_dir():
        raise BadInput(f"{target.parent}: no such folder to write {target.name} to")
    if target.is_dir():
        raise BadInput(f"{target}: a folder; give the name of the file to write")
    if not os.access(target.parent, os.W_OK):
        raise BadInput(f"{target.parent}: nothing may be written to this folder; give another place for {target.name}")
    if not target.exists():
        return
    if not target.is_file():  # the finished file is renamed to its place, which would remove it
        raise BadInput(f"{target}: a device or a pipe, wanted a place for a file; give the name of the file to write")
    if any(path is not None and path.exists() and target.samefile(path) for path in reads):
        raise BadInput(f"{target}: read as well, so that writing it would destroy it; give another name to write to")
