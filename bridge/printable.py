"""Text that came with a file, made safe to print: names of nodes and tensors may hold anything.

An escape sequence would move the cursor, colour the screen or set the window's title; an override of the writing direction makes a
name read as another; a newline forges a line of the report."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")

_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories of characters that are not seen: controls, formats (bidi overrides, zero widths), surrogates, line separators."""


def printable(text: str, keep: str = "") -> str:
    r"""The text with what cannot be seen written as Python writes it (``\x1b``), but for the characters in ``keep``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if c not in keep and unicodedata.category(c) in _INVISIBLE else c for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def clean(value: T) -> T:
    """A result with every text in it made printable: of dataclasses, mappings, tuples and lists."""
    found: Any = value
    if isinstance(value, str):
        found = printable(value)
    elif is_dataclass(value) and not isinstance(value, type):
        found = replace(value, **{f.name: clean(getattr(value, f.name)) for f in fields(value)})
    elif isinstance(value, Mapping):
        found = {clean(k): clean(v) for k, v in value.items()}
    elif isinstance(value, tuple):
        items = map(clean, value)
        found = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    elif isinstance(value, list):
        found = [clean(v) for v in value]
    return found


def message(error: BaseException, full: bool = False) -> str:
    """The text of an error, over as many lines as it has problems: of many the first, with full all."""
    text = getattr(error, "full", str(error)) if full else str(error)
    for problem in getattr(error, "problems", ()):
        text = text.replace(str(problem), printable(str(problem)))
    return printable(text, keep="\n")
