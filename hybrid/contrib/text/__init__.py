"""``mx.contrib.text``: counting the tokens of a text, numbering them, and vectors that files have for them."""

from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
