"""``mx.contrib.text``: counting the tokens of a text, and numbering them. Embeddings read from files are not there."""

from . import utils, vocab

__all__ = ["utils", "vocab"]
