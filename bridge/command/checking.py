"""``gluonnx check``."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from hybrid.formats.files import write

from ..job import check_target
from ..models import BadInput
from ..project import github, junit, page
from ..project.check import check as check_project
from ..project.config import ALL_REASONS, as_reasons
from ..project.table import check_table
from ..runtime import TIME_LIMIT
from .many_options import Memory, On, check_on
from .options import AsJson, TimeLimit
from .shell import errors, print_result, progress


def check(
    where: Annotated[
        Path, typer.Argument(metavar="[CONFIG|DIR]", help="A gluonnx.toml, a folder with one, or a folder of models.")
    ] = Path("."),
    only: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE...]", help="Check only the models that these files belong to.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write the baselines again, and say what has changed.")
    ] = False,
    report_to: Annotated[
        Path | None, typer.Option("--report", help="A folder: index.html, and a page for each comparison.")
    ] = None,
    junit_to: Annotated[Path | None, typer.Option("--junit", help="Also as JUnit XML.")] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(help=f"Some of {', '.join(ALL_REASONS)}; by default those in the file, or all but the last two."),
    ] = None,
    on_github: Annotated[
        bool, typer.Option("--github", help="Also annotations, and the step's summary in GITHUB_STEP_SUMMARY.")
    ] = False,
    time_limit: TimeLimit = TIME_LIMIT,
    on: On = None,
    memory: Memory = None,
    as_json: AsJson = False,
) -> None:
    """Check all models of a project against their baselines (gluonnx.toml), or those of a folder against each other."""
    with errors(as_json, writes=[report_to, junit_to]), progress(as_json) as tell:
        if on_github and as_json:
            raise BadInput("--github writes to standard output, where --json is one object: give one of them")
        if report_to is not None:
            page.check_folder(report_to)
        if junit_to is not None and junit_to.parent != report_to:  # that folder will be there
            check_target(junit_to)
        if (on is not None or memory is not None) and (update or report_to is not None):
            raise BadInput("--update and --report want the numbers in this process; leave --on and --memory out")
        reasons = None if fail_on is None else as_reasons(fail_on)
        if on is None and memory is None:
            result = check_project(where, only=only or (), update=update, fail_on=reasons, progress=tell)
        else:
            result = check_on(on, memory, where, only or (), reasons, time_limit, tell)
        index = None if report_to is None else page.save(result, report_to, shlex.join(["gluonnx", *sys.argv[1:]]))
        if junit_to is not None:
            write(junit_to, junit.junit(result))
        summary = os.environ.get("GITHUB_STEP_SUMMARY") if on_github else None
        if summary:
            before = Path(summary).read_text(encoding="utf-8") if Path(summary).exists() else ""
            write(summary, before + github.markdown(result))
    with errors(as_json):
        print_result(result.as_dict(), as_json, lambda: check_table(result, index), status=result.exit_status)
    for line in github.commands(result) if on_github else ():
        print(line)
    if not result.ok:
        raise typer.Exit(result.exit_status)
