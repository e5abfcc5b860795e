"""The command ``gluonnx``. No logic: arguments to functions of this package, results to report, errors to exit codes.

Exit statuses: 0 done (equivalent), 1 not equivalent (of diff: any difference), 2 bad input or not supported, 3 a runtime failed, 4
the comparison says little (with --strict whenever an output alone says little; without it, when nothing before that output says
more), 70 a fault of gluonnx.
"""

from __future__ import annotations

import typer

from .command import (
    changing,
    checking,
    comparing,
    converting,
    recording,
    running,
    verifying,
)

app = typer.Typer(
    help="Run and convert Apache MXNet models with no MXNet installed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(converting.convert)
app.command("import")(converting.import_)
app.command()(verifying.verify)
app.command()(recording.record)
app.command()(checking.check)
app.command()(changing.diff)
app.command()(changing.reduce)
app.command()(comparing.matrix)
app.command()(running.inspect)
app.command()(running.run)
app.command("compile")(running.compile_)
app.command()(running.bench)


def main() -> None:
    """The entry point."""
    app(prog_name="gluonnx", windows_expand_args=False)
