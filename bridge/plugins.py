"""Files of users that teach gluonnx their own operators (docs/plugins.md)."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

from .paths import BadInput, no_file


def _file(name: str) -> Path | None:
    """The file that a plug-in is; None for a module. Raises BadInput for a file that is not there."""
    path = Path(name)
    if path.suffix != ".py" and not path.exists():
        return None
    if not path.is_file():
        raise BadInput(f"plugin {no_file(name)}")
    return path


def find_plugin(name: str) -> None:
    """Look whether there is such a file or module, and run nothing. Raises BadInput."""
    if _file(name) is not None:
        return
    try:
        found = importlib.util.find_spec(name.partition(".")[0])  # of what is inside its package would be run
    except ValueError:
        found = None
    if found is None:
        raise BadInput(f"plugin {name}: neither a Python file (.py) nor a module that is installed")


def load_plugin(name: str) -> None:
    """Run a Python file, or import a module: what it registers is known from then on. It is a program and may do anything, so name
    only those that you would run. Raises BadInput for one that fails."""
    try:
        if (path := _file(name)) is not None:
            module = f"gluonnx_plugin_{path.stem}"
            spec = importlib.util.spec_from_file_location(module, path)
            if spec is None or spec.loader is None:
                raise BadInput(f"plugin {name}: wanted a Python file (.py) or the name of a module")
            made = importlib.util.module_from_spec(spec)
            sys.modules[module] = made
            spec.loader.exec_module(made)
        else:
            importlib.import_module(name)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"plugin {name}: {type(error).__name__}: {error}") from error
