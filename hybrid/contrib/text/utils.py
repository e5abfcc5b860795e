"""Counting tokens."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    """Count the tokens of a text; added to counter_to_update, which is then what is given.

    Both delimiters are regular expressions, as in MXNet: what is between two matches is a token. to_lower: of the tokens."""
    tokens = filter(None, re.split(f"{token_delim}|{seq_delim}", source_str))
    if to_lower:
        tokens = map(str.lower, tokens)
    counter = Counter() if counter_to_update is None else counter_to_update
    counter.update(tokens)
    return counter
