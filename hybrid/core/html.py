"""Objects as notebooks show them (``_repr_html_``): tables and trees, without a style of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST = 60
"""Rows of a table; of more the first and the last are shown."""


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of texts."""

    def row(cells: Iterable[object], tag: str = "td") -> str:
        made = "".join(f'<{tag} style="text-align:left">{escape(str(c))}</{tag}>' for c in cells)
        return f"<tr>{made}</tr>"

    shown = [row(r) for r in rows]
    if len(shown) > MOST:
        left = len(shown) - MOST
        shown[MOST // 2 : len(shown) - MOST // 2] = [f'<tr><td colspan="{len(columns)}">... {left} more ...</td></tr>']
    head, body = row(columns, "th"), "".join(shown)
    return f"<table><caption>{escape(caption)}</caption><thead>{head}</thead><tbody>{body}</tbody></table>"


def tree(title: str, children: Sequence[str], open_: bool = False) -> str:
    """A line with what is within it, which are trees or lines; it opens at a click."""
    if not children:
        return f"<div><code>{escape(title)}</code></div>"
    within = f'<div style="margin-left:1.5em">{"".join(children)}</div>'
    return f"<details{' open' if open_ else ''}><summary><code>{escape(title)}</code></summary>{within}</details>"
