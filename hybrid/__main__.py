"""``python -m hybrid script.py args...`` runs a program written for MXNet, with ``mxnet`` meaning this package."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys

from .compat import install_as_mxnet

USAGE = "usage: python -m hybrid [-m MODULE | SCRIPT] [ARGUMENT ...]"


def main(arguments: list[str]) -> int:
    """Run the script or module; what it raises or exits with goes on as in Python itself."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"{USAGE}\n\nRuns a Python program in which `import mxnet` means gluonnx.")
        return 0 if arguments else 2
    install_as_mxnet()
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
