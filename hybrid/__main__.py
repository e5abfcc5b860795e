"""``python -m hybrid script.py args...`` runs a program written for MXNet, with ``mxnet`` meaning this package."""

from __future__ import annotations

import ast
import importlib.util
import os
import runpy
import sys
from types import TracebackType

from .compat import install_as_mxnet
from .core.resume import Settings
from .core.unread import perhaps_unread

KEEPERS = {"fit", "Training", "resuming"}
"""Names of what keeps the state of training; a program that does not mention them keeps none."""
LOOKED_THROUGH = {*sys.stdlib_module_names, "mxnet", "numpy", "horovod"} - {"importlib", "runpy", "subprocess"}
"""Modules that train nothing but by the names that the program has for it."""
USAGE = "usage: python -m hybrid [--resume FOLDER [--every BATCHES]] [-m MODULE | SCRIPT] [ARGUMENT ...]"
HELP = f"""{USAGE}

Runs a Python program in which `import mxnet` means gluonnx. --resume: keep the state of training in a
folder, after every so many batches and at each epoch, and go on from what is there: of Module.fit by itself,
of a loop of its own where the program has mx.resuming.Training.

  python -m hybrid train.py --epochs 10
  python -m hybrid --resume state --every 500 train.py"""


def main(arguments: list[str]) -> int:
    """Run the script or module; what it raises or exits with goes on as in Python itself."""
    if not arguments or arguments[0] in ("-h", "--help"):
        with perhaps_unread():
            print(HELP)
        return 0 if arguments else 2
    wrong, arguments = _settings(arguments)
    if wrong is not None or not arguments:
        print(f"{USAGE}\nerror: {wrong or 'wanted a script or a module'}", file=sys.stderr)
        return 2
    if Settings.folder is not None and arguments[0] != "-m" and _trains_unkept(arguments[0]):
        print(
            f"{USAGE}\nerror: --resume {Settings.folder}: {arguments[0]} trains by a loop of its own, of which nothing would be "
            "kept. Add mx.resuming.Training\n(gluonnx explain training-unkept), or leave --resume out",
            file=sys.stderr,
        )
        return 2
    install_as_mxnet()
    sys.excepthook = _said_of_the_program
    status = _run(arguments)
    if status == 0 and Settings.folder is not None and not Settings.used and not Settings.told:
        print(
            "gluonnx: --resume: nothing was kept, for this program has neither Module.fit nor mx.resuming.Training",
            file=sys.stderr,
        )
    return status


def _settings(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Take --resume and --every off the arguments: (what is wrong with them, the others)."""
    while arguments and arguments[0].partition("=")[0] in ("--resume", "--every"):
        name, joined, value = arguments[0].partition("=")
        if not joined:
            value = arguments[1] if len(arguments) > 1 else ""
        if name == "--resume" and os.path.exists(value) and not os.path.isdir(value):
            return (
                f"--resume {value}: this is a file; wanted a folder before the script: --resume state SCRIPT",
                arguments,
            )
        if name == "--resume" and value and not value.startswith("-"):
            Settings.folder = value
        elif name == "--every" and value.isdigit() and int(value):
            Settings.every = int(value)
        else:
            return f"{name} {value}: wanted {'a folder' if name == '--resume' else 'a number of batches'}", arguments
        arguments = arguments[1 if joined else 2 :]
    if Settings.every is not None and Settings.folder is None:
        return "--every is how often --resume writes; wanted --resume FOLDER as well", arguments
    return None, arguments


def _trains_unkept(script: str) -> bool:
    """True when it is certain that a script trains and that nothing keeps its state: it has a backward pass, and neither it nor a
    module that it imports could name what does."""
    try:
        with open(script, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return False
    names: set[str] = set()
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # as getattr takes it
            names.add(node.value)
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            modules.add("." * node.level + (node.module or ""))
            names.update(alias.name for alias in node.names)
    names.update(part for module in modules for part in module.split("."))
    roots = {module.partition(".")[0] for module in modules}
    beside = os.path.dirname(os.path.abspath(script))
    own = any(os.path.exists(os.path.join(beside, root + end)) for root in roots for end in ("", ".py"))
    unseen = own or not roots <= LOOKED_THROUGH or names & {"exec", "eval", "__import__"}
    return "backward" in names and not unseen and not names & KEEPERS


def _said_of_the_program(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print what a program ended with as Python does where it is run by itself: without the calls that started it here."""
    inside = trace
    while inside is not None and inside.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        inside = inside.tb_next
    sys.__excepthook__(kind, error.with_traceback(inside or trace), inside or trace)


def _run(arguments: list[str]) -> int:
    """Run the script or module that the arguments begin with."""
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print(f"{USAGE}\nerror: -m needs the name of a module", file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        if not _is_module(arguments[1]):
            print(f"{USAGE}\nerror: no module named {arguments[1]!r}", file=sys.stderr)
            return 2
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    script = arguments[0]
    if script.startswith("-") or not os.path.isfile(script):
        print(f"{USAGE}\nerror: {script!r} is no script that can be read", file=sys.stderr)
        return 2
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")
    return 0


def _is_module(name: str) -> bool:
    """True when there is a module of that name; packages that it is in are imported, and what they raise goes on."""
    package = ""
    for part in name.split("."):
        package = f"{package}.{part}" if package else part
        try:
            if importlib.util.find_spec(package) is None:
                return False
        except ValueError:  # an empty part
            return False
        except ModuleNotFoundError as error:
            if error.name == package:
                return False
            raise
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
