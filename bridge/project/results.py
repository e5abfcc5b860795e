"""Results of a check: of each file, and of all of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .. import exits
from ..result import VerifyResult
from .config import REASONS

Status = Literal[
    "ok", "changed", "differs", "interface", "drift", "unreached", "says-little", "missing", "unlisted", "bad", "failed"
]
"""The first of the reasons to fail (config.ALL_REASONS) that was found; bad: what was given cannot be used; failed: a runtime did
not run it."""
ALWAYS = ("differs", "says-little")
"""Reasons that are a file's status also where they are none to fail."""
UNKNOWN = "unknown"
"""Beside the reasons: nobody can see whether a file changed. An error for whoever asks for ``changed``, else a note."""
WORDS: Mapping[str, str] = {
    "ok": "ok",
    "changed": "CHANGED",
    "differs": "FAIL",
    "interface": "INTERFACE",
    "drift": "DRIFT",
    "unreached": "UNREACHED",
    "says-little": "says little",
    "missing": "MISSING",
    "unlisted": "UNLISTED",
    "bad": "ERROR",
    "failed": "ERROR",
}
EXITS: Mapping[str, int] = {
    "differs": exits.NOT_EQUIVALENT,
    "interface": exits.NOT_EQUIVALENT,
    "drift": exits.NOT_EQUIVALENT,
    "changed": exits.NOT_EQUIVALENT,
    "unreached": exits.SAYS_LITTLE,
    "bad": exits.BAD_INPUT,
    "missing": exits.BAD_INPUT,
    "unlisted": exits.BAD_INPUT,
    "failed": exits.RUNTIME,
    "says-little": exits.SAYS_LITTLE,
}


@dataclass(frozen=True)
class FileResult:
    """One file of a model, and how far it is from what it is held to.

    Examples
    --------
    >>> import gluonnx
    >>> file = gluonnx.FileResult("net", "net.onnx", "ok", largest=3e-6, before=2e-6)
    >>> file.changed
    ()
    >>> file.change
    '+50 % since the baseline'
    >>> file.beside
    ()
    >>> file.as_dict()["verification"] is None
    True
    """

    model: str
    """Its name in the project."""
    file: str
    """Path of the file that is held to it."""
    status: Status
    """"ok"; the first reason to fail that was found: "differs", "interface" (inputs or outputs are not those of the baseline),
    "drift" (much further off than it was, or weights of another dtype), "unreached" (files differ where no input tells them apart),
    "says-little" or "changed" (the same numbers of other contents); "missing", "unlisted" (no model that the project names), "bad"
    (what was given cannot be used) or "failed" (a runtime did not run it)."""
    detail: str = ""
    """Words for what is wrong; empty where nothing is."""
    largest: float | None = None
    """The greatest difference, over its output's scale."""
    before: float | None = None
    """The same when the baseline was written; None where nobody noted it."""
    result: VerifyResult | None = None
    """The verification; None where there was none."""
    seconds: float = 0.0
    """Seconds that it took."""
    again: bool = False
    """True where an earlier run found this, and nothing that it depends on has changed."""
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words by what was found that can be a reason to fail, whether it is one here or not; "unknown" where the baseline has no
    facts by which "changed" is found."""
    notes: tuple[str, ...] = ()
    """Words for what else is to be known of the verdict."""

    @property
    def changed(self) -> tuple[str, ...]:
        """Words for files that hold something else than those that the baseline is of."""
        return self.reasons.get("changed", ())

    @property
    def change(self) -> str:
        """The change of the greatest difference since the baseline, in words; empty where there is none to be told."""
        if self.before is None or self.largest is None or self.before == self.largest:
            return ""
        if not self.before:
            return "0 when the baseline was written"
        times = self.largest / self.before
        return (
            f"{times:.2g} times that of the baseline"
            if times >= 10
            else f"{(times - 1) * 100:+.0f} % since the baseline"
        )

    @property
    def beside(self) -> tuple[str, ...]:
        """Words for what is to be known beside the verdict and its detail."""
        said = (words for reason, found in self.reasons.items() if reason != self.status for words in found)
        return tuple(words for words in (*said, *self.notes) if words not in self.detail)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {
            k: getattr(self, k) for k in ("model", "file", "status", "detail", "largest", "before", "seconds", "again")
        }
        told |= {"changed": list(self.changed), "notes": list(self.notes)}
        told["reasons"] = {reason: list(words) for reason, words in self.reasons.items()}
        return {**told, "verification": None if self.result is None else self.result.as_dict()}


@dataclass(frozen=True)
class CheckResult:
    """The check of a project.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> result = gluonnx.check(".")
    >>> result.ok, result.exit_status, result.summary
    (True, 0, '1 of 1 ok')
    >>> [result.fails(file) for file in result.files], result.as_dict()["alone"]
    ([False], [])
    >>> result.notes
    ('no gluonnx.toml here: models were found by their names and compared with each other, and no baseline was used',)
    >>> result.remarks == result.notes
    True
    """

    files: tuple[FileResult, ...]
    """Results of the files."""
    fail_on: tuple[str, ...] = REASONS
    """Statuses that are a reason to fail, beside bad and failed."""
    updated: tuple[str, ...] = ()
    """Words for each baseline that was, or was not, written anew."""
    alone: tuple[str, ...] = ()
    """Files of the folder that nothing was compared with."""
    seconds: float = 0.0
    """Seconds that it took."""
    remarks: tuple[str, ...] = ()
    """Words for what is to be known of the whole, as where there was no gluonnx.toml."""
    unlisted: tuple[str, ...] = ()
    """Models below the gluonnx.toml that it does not name, which were not checked."""

    def fails(self, file: FileResult) -> bool:
        """True where a file is a reason to fail."""
        return file.status in self.fail_on or file.status in ("bad", "failed")

    @property
    def exit_status(self) -> int:
        """0 where nothing is a reason to fail, else as the commands have it."""
        return exits.worst({EXITS[f.status] for f in self.files if self.fails(f)})

    @property
    def ok(self) -> bool:
        """True where nothing is a reason to fail."""
        return not self.exit_status

    @property
    def notes(self) -> tuple[str, ...]:
        """Words for what is to be known beside the verdicts: of baselines that were written, of files that have changed."""
        return (
            *self.remarks,
            *self.updated,
            *(f"{f.model}: {f.file}: {words}" for f in self.files for words in f.beside),
        )

    @property
    def summary(self) -> str:
        """One line: how many of how many are well."""
        again = sum(f.again for f in self.files)
        well = sum(f.status == "ok" for f in self.files)
        return f"{well} of {len(self.files)} ok" + (f", {again} of them from before" if again else "")

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "ok": self.ok,
            "exit": self.exit_status,
            "fail_on": list(self.fail_on),
            "files": [f.as_dict() for f in self.files],
            "updated": list(self.updated),
            "alone": list(self.alone),
            "unlisted": list(self.unlisted),
            "remarks": list(self.remarks),
            "seconds": self.seconds,
        }


def with_reasons(files: Sequence[FileResult], reasons: Sequence[str]) -> tuple[FileResult, ...]:
    """The results, each with the status that it has where these are reasons to fail."""
    kept = ("missing", "unlisted", "bad", "failed")
    return tuple(f if f.status in kept and UNKNOWN not in f.reasons else _with_status(f, reasons) for f in files)


def _with_status(file: FileResult, reasons: Sequence[str]) -> FileResult:
    wrong = [r for r in file.reasons if r in reasons] or [r for r in file.reasons if r in ALWAYS]
    if not wrong and "changed" in reasons and UNKNOWN in file.reasons:
        return replace(file, status="bad", detail="; ".join(file.reasons[UNKNOWN]))
    if not wrong:
        return replace(file, status="ok", detail="")
    status: Any = wrong[0]
    return replace(file, status=status, detail="; ".join(file.reasons[status]))
