"""The indexes by which operators, and readings of ONNX operators, are found without importing all of them.

``python -m tests.house.index`` writes them anew.
"""

import importlib
import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

from hybrid.core import tables
from hybrid.formats.files import write

ROOT = Path(__file__).parents[2]
found: dict[tuple[int, str], set[Any]] = defaultdict(set)
"""By (table, module) the keys that it registers."""


def home() -> str:
    """The module that is being imported."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None else frame.f_globals["__name__"]


def note_who_writes() -> None:
    """Have all tables note who fills them from now on."""
    setdefault = tables.Table.setdefault

    def noting_item(self: Any, key: Any, value: Any) -> None:
        found[id(self), home()].add(key)
        dict.__setitem__(self, key, value)

    def noting_default(self: Any, key: Any, default: Any = None) -> Any:
        found[id(self), home()].add(key)
        return setdefault(self, key, default)

    tables.Table.__setitem__, tables.Table.setdefault = noting_item, noting_default  # type: ignore[method-assign]


def indexes() -> dict[str, str]:
    """The text of each index, by its path. No operator may have been imported before."""
    note_who_writes()
    texts = {}
    for package, owner, name in (
        ("hybrid.ops", "hybrid.core.op", "REGISTRY"),
        ("converters.ops", "converters.registry", "IMPORT"),
    ):
        importlib.import_module(package)
        table = getattr(importlib.import_module(owner), name)
        len(table)
        start = f"{package}."
        rows = {m.removeprefix(start): keys for (i, m), keys in found.items() if i == id(table) and m.startswith(start)}
        lines = [f"{module} {' '.join(sorted(map(tables.index_key, keys)))}\n" for module, keys in sorted(rows.items())]
        texts[f"{package.replace('.', '/')}/{tables.INDEX}"] = "".join(lines)
    return texts


if __name__ == "__main__":
    for path, text in indexes().items():
        write(ROOT / path, text)
