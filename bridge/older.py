"""Files that were there before a command that ended in an error: a script that goes on would take one for what it asked for."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from .printable import printable

MOST = 10_000
"""Files of a folder that are looked at; one that holds more is left out."""


class Older:
    """Files and folders that were there before a command, which writes to their places when all has gone well."""

    def __init__(self, *places: Path | None) -> None:
        """places: see note."""
        self._found: dict[Path, Any] = {}
        self.note(*places)

    def note(self, *places: Path | None) -> None:
        """Remember what is at these places, before anything is written; None is a place that nobody has named."""
        for place in places:
            if place is not None and (state := _state(place)) is not None:
                self._found.setdefault(place, state)  # what is noted first was there before

    @property
    def kept(self) -> list[str]:
        """Those that are as they were."""
        return [str(place) for place, state in self._found.items() if _state(place) == state]


def words(kept: list[str]) -> list[str]:
    """A sentence for each of the files that are as they were."""
    return [f"{printable(name)}, which was there, is as it was" for name in kept]


def _state(place: Path) -> Any:
    """A file's number and when it was last written, or those of the files in a folder; None where there is none."""
    try:
        if place.is_file():
            found = place.stat()
            return found.st_ino, found.st_mtime_ns
        if not place.is_dir():
            return None
        inside = [*itertools.islice((p for p in place.rglob("*") if p.is_file()), MOST + 1)]
        return {str(p): _state(p) for p in inside} if 0 < len(inside) <= MOST else None
    except (OSError, ValueError):
        return None
