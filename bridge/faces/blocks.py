"""Pieces that pages of results are made of, whatever face they get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..result import VerifyResult

Tone = Literal["", "good", "warn", "bad", "dim", "strong"]


@dataclass(frozen=True)
class Line:
    """A line of text."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Facts:
    """Names, and what there is to say of each."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Column:
    """The head of a column. right: its cells are numbers. fold: what is too long goes on in the next line. least: characters that
    it needs. spare: of columns that have no room the one with the highest number is left out first; 0 for one that stays."""

    name: str
    right: bool = False
    fold: bool = False
    least: int = 0
    spare: int = 0


@dataclass(frozen=True)
class Grid:
    """A table of text."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Line]]
    title: str = ""


@dataclass(frozen=True)
class Brief:
    """A verification where something else is told: its outputs, and all of it where there is room."""

    result: VerifyResult


Block = Line | Facts | Grid | Brief | VerifyResult | Any
"""A piece of a page; a verification is one that every face shows in its own way, and what Rich prints may be one too."""


@dataclass(frozen=True)
class Page:
    """The result of a command."""

    title: str
    blocks: Sequence[Block]
    verdict: str = ""
    """The outcome in a word or two."""
    tone: Tone = ""


TONES: dict[str, Tone] = {"equivalent": "good", "says little": "warn", "not equivalent": "bad"}
"""Tones of verdicts."""
