"""Options for many models, and the conversion of a list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..paths import BadInput
from ..printable import printable
from ..project.results import CheckResult
from ..result import Progress as Tell
from .options import General
from .shell import errors, print_result

On = Annotated[
    str | None,
    typer.Option(
        help="For many models: local or local:N for N processes on this machine, or the address of a Dask scheduler."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(help="For many models: the memory of each process, such as 2G; one that uses more is ended."),
]


@dataclass(frozen=True)
class Many:
    """Options that say how many models are worked on."""

    on: On = None
    memory: Memory = None

    def refuse(self, source: object) -> None:
        """Raise BadInput where they are given for one model."""
        for option, value in (("--on", self.on), ("--memory", self.memory)):
            if value is not None:
                raise BadInput(
                    f"{option}: {source} is one model; for many give a list (.txt), or a folder of models and a folder with -o"
                )


@contextmanager
def bar(as_json: bool) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on the terminal: how many are done; nothing in a pipe."""
    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield lambda _done, _of, _name: None
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None)
        yield lambda done, of, name: progress.update(task, completed=done, total=of, description=printable(name))


def check_on(
    on: str | None,
    memory: str | None,
    where: Path,
    only: list[Path] | tuple[Path, ...],
    fail_on: tuple[str, ...] | None,
    time_limit: float,
    tell: Tell,
) -> CheckResult:
    """Check a project with processes of its own. tell: hears of each model. Raises BadInput."""
    from ..many.checks import check_all
    from ..many.children import parse_size
    from ..many.work import workers

    with workers(on, None if memory is None else parse_size(memory)) as do:
        return check_all(
            where, only, fail_on, time_limit, do, lambda done, of, name: tell(f"{done} of {of} {name}".strip())
        )


def convert_list(
    context: Any, source: str, params: Path | None, output: Path | None, many: Many, general: General, verbose: bool
) -> None:
    """Convert the models of a list; what the command line says holds for all of them. context: the call (click's).

    Raises typer.Exit with the exit status."""
    from ..many.children import parse_size
    from ..many.lists import read_jobs, spelled
    from ..many.page import many_table
    from ..many.work import convert_all, workers

    as_json, report_to = general.as_json, general.report_to
    with errors(as_json, report_to, verbose), bar(as_json) as tell:
        if output is None:
            raise BadInput(f"{source}: a list of models; give the folder to write to with -o")
        if params is not None:
            raise BadInput(f"{params}: parameters for a whole list; give them in its lines, behind the model")
        memory = None if many.memory is None else parse_size(many.memory)
        common = spelled(context)
        jobs = read_jobs(context.command, Path(source), output, common)
        output.mkdir(parents=True, exist_ok=True)
        with workers(many.on, memory, output) as do:
            result = convert_all(jobs, output, common, do, tell)
    with errors(as_json):
        print_result(
            result.as_dict(),
            as_json,
            lambda: many_table(result, whole=True),
            report_to,
            lambda: many_table(result, verbose),
            result.exit_status,
        )
    if result.exit_status:
        raise typer.Exit(result.exit_status)
