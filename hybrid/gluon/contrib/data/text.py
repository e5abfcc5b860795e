"""Texts for language models from local files. What is missing comes from the mirror that the user names (MXNET_GLUON_REPO),
checked by its SHA-1; without one the error says what belongs where."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .... import ndarray as nd
from ....base import data_dir
from ....contrib.text.utils import count_tokens_from_str
from ....contrib.text.vocab import Vocabulary
from ....core.error import FormatError
from ....formats.files import read
from ...data.dataset import _Labelled

__all__ = ["WikiText2", "WikiText103"]

_ROOT = str(Path(data_dir(), "datasets"))
_END = "<eos>"
_FILES = {"train": "wiki.train.tokens", "validation": "wiki.valid.tokens", "test": "wiki.test.tokens"}


class _WikiText(_Labelled):
    """Articles as sequences of numbers of words, each with the same sequence one word later."""

    _namespace: str
    _archive: str
    _sha1: str

    def __init__(self, root: Any, segment: str, vocab: Vocabulary | None, seq_len: int):
        self._root, self._seq_len = os.path.expanduser(root), seq_len
        self._vocab = vocab
        text = self._text(_FILES[segment])
        self._counter = count_tokens_from_str(text)
        if not self._vocab:
            self._vocab = Vocabulary(counter=self._counter, reserved_tokens=[_END])
        words = [word for line in map(str.split, text.splitlines()) if line for word in (*line, _END)]
        numbers = np.array(self._vocab.to_indices(words), np.int32)
        count = max(len(numbers) - 1, 0) // seq_len * seq_len
        if not count:
            raise FormatError(
                f"{self._root}: {_FILES[segment]} has {len(words)} words, too few for one of {seq_len + 1}"
            )
        self._data, self._label = (
            nd.array(numbers[i : count + i].reshape(-1, seq_len), dtype="int32") for i in range(2)
        )

    def _text(self, name: str) -> str:
        """The contents of a file, or of its like in the archive. Raises MissingFile, or FormatError for what is damaged."""
        path = os.path.join(self._root, name)
        try:
            if os.path.exists(path):
                return read(path).decode("utf-8")
            path = archive = self._obtain(self._namespace, self._archive, self._sha1, name)
            with zipfile.ZipFile(archive) as files:
                inside = [member for member in files.namelist() if member.rpartition("/")[2] == name]
                if not inside:
                    raise FormatError(f"{archive}: holds no {name}")
                return files.read(inside[0]).decode("utf-8")
        except (UnicodeDecodeError, zipfile.BadZipFile, EOFError, zlib.error) as error:
            raise FormatError(f"{path}: {error}; the file is damaged, fetch it again") from error

    @property
    def vocabulary(self) -> Any:
        """The numbers of the words."""
        return self._vocab

    @property
    def frequencies(self) -> Counter[str]:
        """Occurrences of each word in the file."""
        return self._counter


class WikiText2(_WikiText):
    """Two million words of Wikipedia (Merity et al., 2016), in sequences of seq_len that run on over the ends of sentences.

    root holds wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens, or the archive wikitext-2-v1.zip. segment: "train",
    "validation" or "test". vocab: by default one of the words of this file, with "<eos>", which ends every line.
    Raises FileNotFoundError that names a missing file, FormatError for a broken one."""

    _namespace = "wikitext-2"
    _archive = "wikitext-2-v1.zip"
    _sha1 = "3c914d17d80b1459be871a5039ac23e752a53cbe"

    def __init__(
        self,
        root: Any = os.path.join(_ROOT, "wikitext-2"),  # noqa: B008  shown in the signature, and not changed
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
    ):
        super().__init__(root, segment, vocab, seq_len)


class WikiText103(_WikiText):
    """A hundred million words of Wikipedia, in the files of WikiText2 and the archive wikitext-103-v1.zip."""

    _namespace = "wikitext-103"
    _archive = "wikitext-103-v1.zip"
    _sha1 = "0aec09a7537b58d4bb65362fee27650eeaba625a"

    def __init__(
        self,
        root: Any = os.path.join(_ROOT, "wikitext-103"),  # noqa: B008  shown in the signature, and not changed
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
    ):
        super().__init__(root, segment, vocab, seq_len)
