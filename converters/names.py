"""Names that nothing else has."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """Names that are taken."""

    def __init__(self, taken: Iterable[str] = ()):
        self.taken = set(taken)
        self._next: dict[str, int] = {}
        """The number to try first for a name that is taken."""

    def unique(self, name: str) -> str:
        """The name, or the name with a number when it is taken; from now on it is."""
        candidate, count = name, self._next.get(name, 1)
        while candidate in self.taken or not candidate:
            candidate, count = f"{name}_{count}", count + 1
        self.taken.add(candidate)
        self._next[name] = count
        return candidate
