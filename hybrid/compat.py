"""``import mxnet as mx`` for programs written for MXNet: every module named mxnet is one of these, under a second name; so is every
module named ``gluonnx.mx``."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from .shown import show

_HERE = __package__ or "hybrid"
_LOADED_WITH_MXNET = ("ndarray", "symbol", "gluon")
"""Modules that are in ``sys.modules`` once mxnet is imported: libraries that know several frameworks (einops) look for them there
before they ask of which one an array is."""
_RENAMED = {
    ".ndarray.ndarray": ".ndarray",
    ".symbol.symbol": ".symbol",
    ".io.io": ".io",
    ".image.image": ".image",
}
"""Modules of MXNet that are called otherwise here, beyond what ``hybrid.X`` for ``mxnet.X`` says."""


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a package of another name and its modules here, and "loads" them by handing out the modules that there are."""

    def __init__(self, package: str):
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if self.package == "mxnet" and fullname in ("horovod", "horovod.mxnet"):
            return _horovod(fullname, self)
        if fullname != self.package and not fullname.startswith(f"{self.package}."):
            return None
        found = _find(fullname, self.package)
        return None if found is None else importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        found = _find(spec.name, self.package)
        if spec.name == "mxnet":
            import multiprocessing.pool  # noqa: F401  MXNet imports it, and programs use it without importing it themselves
        # the import system is about to write a spec and a loader of its own into it
        spec.loader_state = {k: getattr(found, k, None) for k in ("__spec__", "__loader__", "__path__", "__package__")}
        return found

    def exec_module(self, module: ModuleType) -> None:
        state = module.__spec__.loader_state if module.__spec__ is not None else None
        fullname = module.__name__ if module.__spec__ is None else module.__spec__.name
        for name, value in (state or {}).items():
            setattr(module, name, value if name != "__path__" or value is not None else [])
        if self.package == "mxnet":
            show(fullname, module)
        if fullname == "mxnet":
            for name in _LOADED_WITH_MXNET:
                importlib.import_module(f"mxnet.{name}")


def _horovod(fullname: str, finder: _Finder) -> importlib.machinery.ModuleSpec | None:
    """Horovod's face for MXNet, which is ours: its own needs the real MXNet. Where it is installed, its other faces stay."""
    if fullname == "horovod" and importlib.machinery.PathFinder.find_spec(fullname) is not None:
        return None
    return importlib.machinery.ModuleSpec(fullname, finder, is_package=True)


def _find(fullname: str, package: str) -> Any:
    """The module here that ``fullname`` means, or None."""
    inner = fullname.removeprefix(package)
    own = _HERE + _RENAMED.get(inner, inner)
    if fullname in ("horovod", "horovod.mxnet"):
        own = f"{_HERE}.horovod"
    try:
        return importlib.import_module(own)
    except ModuleNotFoundError as error:
        if error.name is None or not own.startswith(error.name):
            raise
    parent, _, name = fullname.rpartition(".")
    held = _find(parent, package) if parent else None
    part = getattr(held, name, None)
    return part if hasattr(part, "__name__") and not callable(part) else None


def install_as_mxnet() -> None:
    """Make ``import mxnet``, and every module of it, mean this package from now on. Doing it again changes nothing.

    Raises ImportError when the real MXNet has been imported already: one process cannot have both under one name.

    Examples
    --------
    >>> import sys
    >>> import hybrid
    >>> before = [*sys.meta_path]
    >>> hybrid.install_as_mxnet()  # "import mxnet as mx" gives this package now
    >>> "mxnet" in {getattr(finder, "package", None) for finder in sys.meta_path}
    True
    >>> sys.meta_path[:] = before  # and now it does not
    """
    present = sys.modules.get("mxnet")
    if present is not None and present is not sys.modules[_HERE]:
        where = getattr(present, "__file__", None) or "somewhere else"
        raise ImportError(
            f"install_as_mxnet: another mxnet has been imported already, from {where}; call this before anything imports it"
        )
    give_modules_as("mxnet")


def give_modules_as(package: str) -> None:
    """Make every import of a module of that package give the one here: there is one of each, whatever it is imported as.

    Without this, ``from gluonnx.mx.gluon import nn`` would read the files again, into classes that know nothing of the first."""
    if not any(isinstance(f, _Finder) and f.package == package for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder(package))
