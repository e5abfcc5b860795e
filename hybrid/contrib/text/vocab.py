"""Numbers for tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

__all__ = ["Vocabulary"]


class Vocabulary:
    """Tokens by number: the unknown one is 0, then the reserved ones, then those of counter, most frequent first.

    Equally frequent ones are in alphabetical order. Those less frequent than min_freq are left out, and so are all but the
    first most_freq_count (not counting those before them). Raises AssertionError for arguments that contradict each other.
    """

    def __init__(
        self,
        counter: Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: Sequence[Hashable] | None = None,
    ):
        if min_freq <= 0:
            raise AssertionError(f"Vocabulary: min_freq must be positive, got {min_freq}")
        special = [unknown_token, *(reserved_tokens or ())]
        if len(set(special)) < len(special):
            raise AssertionError(f"Vocabulary: unknown and reserved tokens must differ from each other, got {special}")
        if counter is not None and not isinstance(counter, Counter):
            raise AssertionError(f"Vocabulary: counter must be a collections.Counter, got {type(counter).__name__}")
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else list(reserved_tokens)
        frequent = sorted((counter or {}).items(), key=lambda item: (-item[1], item[0]))
        tokens = [token for token, count in frequent if count >= min_freq and token not in special]
        self._idx_to_token = [*special, *tokens[:most_freq_count]]
        self._token_to_idx = {token: index for index, token in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The number of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens in order."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Hashable:
        """The token that stands for all others."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """Tokens that were given numbers without being counted."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """The number of a token, or a list of those of a list; 0 for unknown ones."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, 0) for token in tokens]
        return self._token_to_idx.get(tokens, 0)

    def to_tokens(self, indices: int | list[int]) -> Any:
        """The token that has a number, or a list of those of a list. Raises ValueError for a number there is not."""
        for index in indices if isinstance(indices, list) else [indices]:
            if not isinstance(index, int) or index >= len(self):
                raise ValueError(f"Token index {index} in the provided `indices` is invalid.")
        return [self._idx_to_token[i] for i in indices] if isinstance(indices, list) else self._idx_to_token[indices]
