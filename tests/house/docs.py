"""Code blocks of the Markdown files, so that what is written is what runs.

A block is named by a comment on the line before it, ``<!-- name -->``, or ``<!-- name: argument -->``. From a shell:
``python -m tests.house.docs README.md NAME`` prints the block of that name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?:^<!-- ([\w-]+)(?:: (.+?))? -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One fenced block."""

    name: str
    argument: str
    language: str
    text: str


def blocks(path: Path) -> list[Block]:
    """All fenced blocks of a file, in order; those without a comment have an empty name."""
    return [Block(*(part or "" for part in found)) for found in BLOCK.findall(path.read_text(encoding="utf-8"))]


def block(path: Path, name: str) -> Block:
    """The one block of that name."""
    (found,) = (b for b in blocks(path) if b.name == name)
    return found


def pairs(parts: Iterable[Block]) -> Iterator[tuple[Block, str | None]]:
    """Blocks, each with what a block named ``output`` right behind it says that it prints; None where there is none."""
    parts = list(parts)
    for part, following in zip(parts, [*parts[1:], None]):
        if part.name != "output":
            yield part, following.text if following is not None and following.name == "output" else None


def says(expected: str, printed: str) -> bool:
    """True where something printed what a document shows; ``...`` stands for anything there, also for several lines."""
    shown, found = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (expected, printed))
    return re.fullmatch(".*?".join(map(re.escape, shown.split("..."))), found, re.DOTALL) is not None


if __name__ == "__main__":
    print(block(Path(sys.argv[1]), sys.argv[2]).text, end="")
