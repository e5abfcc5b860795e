"""The command ``gluonnx``. No logic: arguments to functions of this package, results to report, errors to exit codes.

Exit statuses: 0 done (equivalent), 1 not equivalent (of diff: any difference), 2 bad input or not supported, 3 a runtime failed, 4
the comparison says little (with --strict whenever an output alone says little; without it, when nothing before that output says
more), 70 a fault of gluonnx.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hybrid.core.version import VERSION

from .command.examples import epilog
from .exits import BAD_INPUT, INTERRUPTED

COMMANDS = {
    "convert": "converting.convert",
    "import": "converting.import_",
    "deploy": "deploying.deploy",
    "verify": "verifying.verify",
    "record": "recording.record",
    "check": "checking.check",
    "diff": "changing.diff",
    "reduce": "changing.reduce",
    "matrix": "comparing.matrix",
    "targets": "targeting.targets",
    "explain": "explaining.explain",
    "inspect": "running.inspect",
    "run": "running.run",
    "compile": "running.compile_",
    "bench": "running.bench",
}
"""The function of each command, by its module in bridge/command. A module is loaded when one of its commands is called: ``--help``
and ``--version`` load no onnx and no onnxruntime."""


class Commands(TyperGroup):
    """The commands of COMMANDS."""

    listing = False
    """True while they are listed, when what they are for is all that has to be known of them."""

    def main(self, args: Any = None, *rest: Any, standalone_mode: bool = True, **more: Any) -> Any:
        """Run a command line; what is wrong with one is said as any other error is, with --json as JSON."""
        if not standalone_mode:
            return super().main(args, *rest, standalone_mode=False, **more)
        given = [*(sys.argv[1:] if args is None else args)]
        options = given[: given.index("--")] if "--" in given else given
        try:
            status = super().main(args, *rest, standalone_mode=False, **more)
        except Exception as error:
            if type(error).__name__ == "Abort":  # asked for, at a prompt or by a key
                sys.exit(INTERRUPTED)
            if not hasattr(error, "format_message"):  # click's own have it, in whichever package they are
                raise
            status = getattr(error, "exit_code", BAD_INPUT)
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()  # type: ignore[attr-defined]  # it is the help
                sys.exit(status)
            from .command.shell import fail_of_usage
            from .usage import told

            fail_of_usage(told(error, given[0] if given and given[0] in COMMANDS else ""), "--json" in options, status)
        sys.exit(status if isinstance(status, int) else 0)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=purpose(cmd_name)) if self.listing else command(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self.listing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        self.listing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.listing = False


def command(name: str) -> Any:
    """The command of that name, its module loaded."""
    module, function = COMMANDS[name].split(".")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, epilog=epilog(name))(getattr(importlib.import_module(f"bridge.command.{module}"), function))
    return typer.main.get_command(alone)


def purpose(name: str) -> str:
    """The purpose of a command: its function's docstring, read without loading the module."""
    module, function = COMMANDS[name].split(".")
    tree = ast.parse((Path(__file__).parent / "command" / f"{module}.py").read_text(encoding="utf-8"))
    (found,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function)
    return inspect.cleandoc(ast.get_docstring(found) or "")


app = typer.Typer(
    cls=Commands,
    help="Run and convert Apache MXNet models with no MXNet installed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"gluonnx {VERSION}")
        raise typer.Exit


@app.callback()
def general(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Run and convert Apache MXNet models with no MXNet installed."""


def main() -> None:
    """The entry point."""
    app(prog_name="gluonnx", windows_expand_args=False)
