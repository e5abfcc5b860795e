"""The outside of a command: what it prints, progress while it works, errors as messages and exit statuses."""

from __future__ import annotations

import platform
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

import bridge
import converters
from hybrid.core.error import InternalError, MXNetError
from hybrid.core.unread import perhaps_unread

from .. import report
from ..exits import BAD_INPUT, INTERNAL, INTERRUPTED, NOT_EQUIVALENT, RUNTIME, SAYS_LITTLE
from ..faces.data import dumps, facts
from ..older import Older, words
from ..paths import BadInput
from ..printable import message, printable
from ..recorded import own_version
from ..result import Progress as Tell
from ..result import VerifyResult
from ..troubles import more

INTERRUPTION = "interrupted: what was not finished was not written"


def print_result(
    data: dict[str, Any],
    as_json: bool,
    text: Any,
    report_to: Path | None = None,
    shown: Any = None,
    status: int = 0,
) -> None:
    """Print a result, as JSON or as text, and write the report that is asked for. shown: what is printed, where that is less than
    the report has. status: the exit status that the command goes on to end with."""
    if report_to is not None:
        report.save(text(), report_to, _command(), data, status)
    with perhaps_unread():
        if as_json:
            _print_json(data, status)
        else:
            report.show((shown or text)())


def _command() -> str:
    return shlex.join(["gluonnx", *sys.argv[1:]])


def _print_json(data: dict[str, Any], status: int) -> None:
    print(dumps(facts(data, _command(), own_version(), status)))


def fail_of_usage(text: str, as_json: bool, status: int) -> None:
    """Print what is wrong with a command line."""
    _fail(text, more(BadInput(text)), as_json, status)


@contextmanager
def progress(as_json: bool) -> Iterator[Tell]:
    """A line on the terminal that says what is being done and for how long; nothing in a pipe."""
    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield lambda _text: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting")
        yield lambda text: progress.update(task, description=printable(text))


@contextmanager
def errors(
    as_json: bool, report_to: Path | None = None, verbose: bool = False, writes: Sequence[Path | None] = ()
) -> Iterator[Older]:
    """Errors become a message and an exit status. verbose: of many problems all are printed. writes: places that the command writes
    to when all goes well; what is there and still is after an error is named. Gives these, to add what is only known later."""
    older = Older(*writes, report_to)
    try:
        if report_to is not None:
            report.check_path(report_to)  # before the work rather than after it
        yield older
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except KeyboardInterrupt:
        _fail(INTERRUPTION, "", as_json, INTERRUPTED, kept=older.kept)
        raise typer.Exit(INTERRUPTED) from None
    except bridge.NotEquivalent as error:
        found = error.result
        status = status_of(found, strict=True)
        told = {"error": str(error), "problems": [str(error)], "see": more(error)}
        kept = [place for place in older.kept if place != str(report_to)]  # which says this, and so is written
        data = {**told, **({"kept": kept} if kept else {}), "verification": found.as_dict()}
        print_result(data, as_json, lambda: report.verify_table(found), report_to, status=status)
        if not as_json:
            _fail(f"{message(error)}; nothing was written", more(error), as_json, status, kept=kept)
        raise typer.Exit(status) from None
    except Exception as error:
        text, status = _message_and_status(error, verbose)
        problems = [p._asdict() if hasattr(p, "_asdict") else str(p) for p in getattr(error, "problems", ())] or [text]
        if report_to is not None:
            _report_error(text, status, problems, more(error), report_to)
        _fail(text, more(error), as_json, status, problems, older.kept)
        raise typer.Exit(status) from None


def _report_error(text: str, status: int, problems: list[Any], see: str, report_to: Path) -> None:
    """Write the report of a command that ended in an error, where one can be written."""
    told = {"error": text, "problems": problems, "see": see}
    with suppress(BadInput, OSError):  # the error may be that there is no place for it
        report.check_path(report_to)
        report.save(report.error_page(text, status), report_to, _command(), told, status)


def _message_and_status(error: Exception, verbose: bool = False) -> tuple[str, int]:
    """The message and the exit status for an error that ends a command."""
    match error:
        case bridge.EngineError():
            return message(error), RUNTIME
        case InternalError():
            pass
        case BadInput() | converters.ConversionError() | MXNetError() | OSError():
            return message(error, verbose), BAD_INPUT
        case MemoryError():
            return f"out of memory ({str(error) or 'no details'}); give smaller input shapes", BAD_INPUT
    return _internal(error), INTERNAL  # a fault of ours, whatever it is


def status_of(result: VerifyResult, strict: bool) -> int:
    """The exit status of a verification."""
    if result.verdict == "not equivalent":
        return NOT_EQUIVALENT
    return SAYS_LITTLE if result.verdict == "says little" or (strict and result.little) else 0


def _internal(error: Exception) -> str:
    """The message for an exception that nobody foresaw; the traceback goes to a file."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}: {printable(str(error))[:200]} ({Path(where.filename).name}, line {where.lineno})"
    facts = (
        f"gluonnx {own_version()}, Python {platform.python_version()}, NumPy {np.__version__}, onnx {onnx.__version__}"
    )
    with tempfile.NamedTemporaryFile("w", prefix="gluonnx-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(f"{facts}\n{shlex.join(sys.argv)}\n\n{''.join(traceback.format_exception(error))}")
    return f"internal error: {said}; this is a fault of gluonnx: please report it with {file.name} and, if you can, the model"


def _fail(
    text: str, see: str, as_json: bool, status: int, problems: list[Any] | None = None, kept: Sequence[str] = ()
) -> None:
    """see: the command that says more of such errors, where there is one. kept: files that are as they were."""
    if as_json:
        told = {"error": text, "problems": problems or [text], "see": see}
        with perhaps_unread():
            _print_json({**told, "kept": [*kept]} if kept else told, status)
    else:
        left = "".join(f"\n{line}" for line in words([*kept]))
        told = Text.assemble(("error:", "bold red"), f" {text}", (f"\nfor more: {see}" if see else "", "dim"), left)
        Console(stderr=True, soft_wrap=True, **report.PLAIN).print(told)
