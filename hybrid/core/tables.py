"""Tables that modules fill when they are imported: each is imported when one of its entries is first asked for."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Sequence, ValuesView
from pathlib import Path
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")
INDEX = "index.txt"
"""Name of the file in a package that says which of its modules has which entries (``python -m tests.house.index`` writes it)."""


class Table(dict[K, V]):
    """A dict that is whole for whoever asks, though it is filled late. What writes to it asks nothing."""

    fill: Callable[[Any], None] | Modules
    """Imports the modules that have the entry of a key, or all of them for None. The package of these modules sets it, which is
    itself imported when something is first asked for, if it is named."""

    def __init__(self, package: str | None = None) -> None:
        super().__init__()
        self._asked: set[Any] = set()
        self.fill = functools.partial(self._fill_first, package)

    def _fill_first(self, package: str | None, key: Any) -> None:
        if package is not None and package not in sys.modules:
            importlib.import_module(package)
            self.fill(key)

    def __contains__(self, key: Any) -> bool:
        if key not in self._asked:
            if not (dict.__contains__(self, key) and isinstance(self.fill, Modules) and self.fill.begun(key)):
                self.fill(key)
            self._asked.add(key)
        return dict.__contains__(self, key)

    def taken(self, key: Any) -> bool:
        """As ``in``, for who registers the key: what fills the table is not asked again while it does."""
        begun = not isinstance(self.fill, Modules) or self.fill.begun(key)
        return dict.__contains__(self, key) if begun else key in self

    def __getitem__(self, key: K) -> V:
        if key in self:
            return dict.__getitem__(self, key)
        raise KeyError(key)

    def get(self, key: Any, default: Any = None) -> Any:
        return dict.__getitem__(self, key) if key in self else default

    def __iter__(self) -> Iterator[K]:
        self.fill(None)
        return dict.__iter__(self)

    def __len__(self) -> int:
        self.fill(None)
        return dict.__len__(self)

    def __eq__(self, other: object) -> bool:
        self.fill(None)
        return dict.__eq__(self, other)

    __hash__ = None  # type: ignore[assignment]

    def keys(self) -> KeysView[K]:
        self.fill(None)
        return dict.keys(self)

    def values(self) -> ValuesView[V]:
        self.fill(None)
        return dict.values(self)

    def items(self) -> ItemsView[K, V]:
        self.fill(None)
        return dict.items(self)


class Modules:
    """The modules of a package, subpackages' too, which fill a table: to be its ``fill``. The index only says where to look first:
    what it does not know may be in any of them."""

    def __init__(self, package: str, paths: Iterable[str]):
        self._package, self._paths = package, [*paths]
        self._index: dict[str, list[str]] | None = None
        self._whole = False

    def __call__(self, key: Any) -> None:
        if self._whole:
            return
        for name in self._homes(key) or self.names():
            importlib.import_module(f"{self._package}.{name}")

    def begun(self, key: Any) -> bool:
        """True when all modules that the index names for a key have been imported, or are just being."""
        return self._whole or all(f"{self._package}.{name}" in sys.modules for name in self._homes(key))

    def _homes(self, key: Any) -> Sequence[str]:
        if self._index is None:
            self._index = read_index(Path(self._paths[0], INDEX))
        return self._index.get(index_key(key), ())

    def names(self) -> Iterator[str]:
        """All modules there are."""
        import pkgutil

        start = f"{self._package}."
        for module in pkgutil.walk_packages(self._paths, start):
            yield module.name.removeprefix(start)
        self._whole = True


def index_key(key: Any) -> str:
    """A key as an index has it."""
    return ":".join(key) if isinstance(key, tuple) else str(key)


def read_index(path: Path) -> dict[str, list[str]]:
    """By key the modules that have it, from lines of a module and its keys."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        module, *keys = line.split()
        for key in keys:
            found.setdefault(key, []).append(module)
    return found
