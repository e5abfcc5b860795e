"""Vectors of tokens, read from files: published ones (GloVe, fastText), one's own, and several side by side."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import ndarray as nd
from ... import registry
from ...base import data_dir
from ...formats import downloads
from ...ndarray import NDArray
from . import vocab

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "create",
    "get_pretrained_file_names",
    "register",
]

_ROOT = os.path.join(data_dir(), "embeddings")


class _TokenEmbedding(vocab.Vocabulary):
    """Base class, of programs too: a vocabulary with a vector for every token, row i of idx_to_vec for the token of number i.

    The unknown token has the vector that the file gives it, or what init_unknown_vec makes; reserved ones have zeros."""

    pretrained_file_name_sha1: ClassVar[dict[str, str]] = {}
    """SHA-1 of the published files, by their names."""
    pretrained_archive_name_sha1: ClassVar[dict[str, str]] = {}
    """SHA-1 of the archives that they are in."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._vec_len: Any = None
        self._idx_to_vec: Any = None

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        """The file that is to be fetched for one that is wanted."""
        return pretrained_file_name

    @classmethod
    def _get_pretrained_file_url(cls, pretrained_file_name: str) -> str:
        name = cls._get_download_file_name(pretrained_file_name)
        return f"{downloads.repository()}gluon/embeddings/{cls.__name__.lower()}/{name}"

    @classmethod
    def _get_pretrained_file(cls, embedding_root: Any, pretrained_file_name: str) -> str:
        """The path of a published file below embedding_root, which comes from the mirror that the user names when it is not there.

        Raises MissingFile that says what to put where."""
        folder = os.path.join(os.path.expanduser(embedding_root), cls.__name__.lower())
        path = os.path.join(folder, pretrained_file_name)
        if os.path.exists(path):
            return path
        url = cls._get_pretrained_file_url(pretrained_file_name)
        name = url.rpartition("/")[2]
        fetched = os.path.join(folder, name)
        digests = cls.pretrained_archive_name_sha1 or cls.pretrained_file_name_sha1
        if not os.path.exists(fetched):
            downloads.obtain(
                url, fetched, digests[name], missing=f"{path} (of {fetched}, SHA-1 {digests[name]}) is not there"
            )
        if name.endswith(".zip"):
            downloads.unpack(fetched, folder)
        return path

    @classmethod
    def _check_pretrained_file_names(cls, pretrained_file_name: str) -> None:
        """Raise KeyError for a file that was not published."""
        if pretrained_file_name not in cls.pretrained_file_name_sha1:
            raise KeyError(
                f"Cannot find pretrained file {pretrained_file_name} for token embedding {cls.__name__.lower()}; there are "
                f"{', '.join(cls.pretrained_file_name_sha1)}"
            )

    def _load_embedding(
        self, pretrained_file_path: Any, elem_delim: str, init_unknown_vec: Callable[..., Any], encoding: str = "utf8"
    ) -> None:
        """Read a token and its numbers from every line; one that comes again and a line of one number are skipped with a warning.

        Raises ValueError where there is no such file, AssertionError for lines that are none, or are not equally long."""
        path = os.path.expanduser(pretrained_file_path)
        if not os.path.isfile(path):
            raise ValueError(
                f"`pretrained_file_path` must be a valid path to the pre-trained token embedding file, got {path!r}"
            )
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        vectors: list[np.ndarray] = []
        unknown: np.ndarray | None = None
        seen: set[str] = set()
        with open(path, encoding=encoding) as file:
            for number, line in enumerate(file, 1):
                token, *texts = line.rstrip().split(elem_delim)
                if not texts:
                    raise AssertionError(
                        f"{path}, line {number}: got no numbers, wanted a token and its vector between {elem_delim!r}"
                    )
                vector = np.array([float(text) for text in texts], np.float32)
                if token == self.unknown_token and unknown is None:
                    unknown = vector
                elif token in seen:
                    warnings.warn(
                        f"{path}, line {number}: token {token} has a vector already, this one is skipped", stacklevel=3
                    )
                    continue
                elif len(vector) == 1:
                    warnings.warn(
                        f"{path}, line {number}: token {token} with one number is likely a header, and skipped",
                        stacklevel=3,
                    )
                    continue
                elif vectors and len(vector) != len(vectors[0]):
                    raise AssertionError(
                        f"{path}, line {number}: got {len(vector)} numbers for token {token}, wanted {len(vectors[0])} as before"
                    )
                else:
                    self._token_to_idx[token] = len(self._idx_to_token)
                    self._idx_to_token.append(token)
                    vectors.append(vector)
                seen.add(token)
        if not vectors:
            raise AssertionError(f"{path}: got no vectors")
        self._vec_len = len(vectors[0])
        table = np.zeros((len(self), self._vec_len), np.float32)
        table[len(self) - len(vectors) :] = vectors
        table[0] = init_unknown_vec(shape=self._vec_len).asnumpy() if unknown is None else unknown
        self._idx_to_vec = nd.array(table)

    def _index_tokens_from_vocabulary(self, vocabulary: vocab.Vocabulary) -> None:
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._unknown_token = vocabulary.unknown_token
        reserved = vocabulary.reserved_tokens
        self._reserved_tokens = None if reserved is None else list(reserved)

    def _set_idx_to_vec_by_embeddings(
        self, token_embeddings: list[_TokenEmbedding], vocab_len: int, vocab_idx_to_token: list[Any]
    ) -> None:
        """Take over the vectors of embeddings for the tokens of a vocabulary, side by side."""
        tables = [
            np.concatenate([e.idx_to_vec[:1].asnumpy(), e.get_vecs_by_tokens(vocab_idx_to_token[1:]).asnumpy()])
            if vocab_len > 1
            else e.idx_to_vec[:1].asnumpy()
            for e in token_embeddings
        ]
        self._idx_to_vec = nd.array(np.concatenate(tables, 1))
        self._vec_len = self._idx_to_vec.shape[1]

    def _build_embedding_for_vocabulary(self, vocabulary: vocab.Vocabulary | None) -> None:
        """Keep the tokens of a vocabulary only. Raises AssertionError for what is none."""
        if vocabulary is not None:
            _want_vocabulary(vocabulary)
            self._set_idx_to_vec_by_embeddings([self], len(vocabulary), vocabulary.idx_to_token)
            self._index_tokens_from_vocabulary(vocabulary)

    @property
    def vec_len(self) -> int:
        """Length of the vectors."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> NDArray:
        """The vectors (tokens, vec_len)."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: bool = False) -> NDArray:
        """The vector of a token, or (tokens, vec_len) of a list; unknown ones have that of the unknown token.

        lower_case_backup: look for a token that is not there in lower case."""
        wanted = tokens if isinstance(tokens, list) else [tokens]
        known = self._token_to_idx
        if lower_case_backup:
            numbers = [known[t] if t in known else known.get(t.lower(), 0) for t in wanted]
        else:
            numbers = [known.get(t, 0) for t in wanted]
        vectors = nd.Embedding(nd.array(numbers), self._idx_to_vec, *self._idx_to_vec.shape)
        return vectors if isinstance(tokens, list) else vectors[0]

    def update_token_vectors(self, tokens: Any, new_vectors: NDArray) -> None:
        """Replace the vectors of tokens, which must be there; one vector may be (vec_len,).

        Raises ValueError for an unknown token, AssertionError for vectors of another shape."""
        if self._idx_to_vec is None:
            raise AssertionError("The property `idx_to_vec` has not been properly set.")
        wanted = tokens if isinstance(tokens, list) else [tokens]
        if not isinstance(new_vectors, NDArray) or new_vectors.ndim not in ((1, 2) if len(wanted) == 1 else (2,)):
            raise AssertionError("`new_vectors` must be a 2-D NDArray, or a 1-D one if `tokens` is a singleton.")
        if new_vectors.ndim == 1:
            new_vectors = new_vectors.expand_dims(0)
        if new_vectors.shape != (len(wanted), self._vec_len):
            raise AssertionError(f"got vectors of shape {new_vectors.shape}, wanted {(len(wanted), self._vec_len)}")
        for token in wanted:
            if token not in self._token_to_idx:
                raise ValueError(
                    f"Token {token} is unknown. To update the embedding vector for an unknown token, please specify it explicitly "
                    f"as the `unknown_token` {self._idx_to_token[0]} in `tokens`. This is to avoid unintended updates."
                )
        self._idx_to_vec[nd.array([self._token_to_idx[t] for t in wanted])] = new_vectors


def _want_vocabulary(vocabulary: Any) -> None:
    if not isinstance(vocabulary, vocab.Vocabulary):
        raise AssertionError(
            f"The argument `vocabulary` must be an instance of mxnet.contrib.text.vocab.Vocabulary, got {type(vocabulary).__name__}"
        )


def register(embedding_cls: type) -> type:
    """Register a class under its name in lower case, by which create finds it. Decorator."""
    return registry.get_register_func(_TokenEmbedding, "token embedding")(embedding_cls)


def create(embedding_name: str, **kwargs: Any) -> Any:
    """The embedding of a registered class ("glove", "fasttext"); kwargs are its arguments."""
    return registry.get_create_func(_TokenEmbedding, "token embedding")(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Names of the published files of an embedding, or a dict of those of all. Raises KeyError for one that is not registered."""
    known = registry.get_registry(_TokenEmbedding)
    names = {name: list(kind.pretrained_file_name_sha1) for name, kind in known.items()}  # type: ignore[attr-defined]
    if embedding_name is None:
        return names
    if embedding_name not in names:
        raise KeyError(f"Cannot find `embedding_name` {embedding_name}. There are {', '.join(names)}.")
    return names[embedding_name]


@register
class GloVe(_TokenEmbedding):
    """Vectors of words by Pennington, Socher and Manning (2014), from embedding_root/glove/pretrained_file_name.

    vocabulary: keep its tokens only. Raises KeyError for a file that was not published, MissingFile that says what to put where."""

    pretrained_archive_name_sha1: ClassVar[dict[str, str]] = {
        "glove.42B.300d.zip": "f8e722b39578f776927465b71b231bae2ae8776a",
        "glove.6B.zip": "b64e54f1877d2f735bdd000c1d7d771e25c7dfdc",
        "glove.840B.300d.zip": "8084fbacc2dee3b1fd1ca4cc534cbfff3519ed0d",
        "glove.twitter.27B.zip": "dce69c404025a8312c323197347695e81fd529fc",
    }
    pretrained_file_name_sha1: ClassVar[dict[str, str]] = {
        "glove.42B.300d.txt": "876767977d6bd4d947c0f84d44510677bc94612a",
        "glove.6B.50d.txt": "21bf566a9d27f84d253e0cd4d4be9dcc07976a6d",
        "glove.6B.100d.txt": "16b1dbfaf35476790bd9df40c83e2dfbd05312f1",
        "glove.6B.200d.txt": "17d0355ddaa253e298ede39877d1be70f99d9148",
        "glove.6B.300d.txt": "646443dd885090927f8215ecf7a677e9f703858d",
        "glove.840B.300d.txt": "294b9f37fa64cce31f9ebb409c266fc379527708",
        "glove.twitter.27B.25d.txt": "767d80889d8c8a22ae7cd25e09d0650a6ff0a502",
        "glove.twitter.27B.50d.txt": "9585f4be97e286339bf0112d0d3aa7c15a3e864d",
        "glove.twitter.27B.100d.txt": "1bbeab8323c72332bd46ada0fc3c99f2faaa8ca8",
        "glove.twitter.27B.200d.txt": "7921c77a53aa5977b1d9ce3a7c4430cbd9d1207a",
    }

    def __init__(
        self,
        pretrained_file_name: str = "glove.840B.300d.txt",
        embedding_root: Any = _ROOT,
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ):
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        self._load_embedding(self._get_pretrained_file(embedding_root, pretrained_file_name), " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        """The archive of that corpus, which holds vectors of several lengths."""
        corpus = pretrained_file_name.split(".")[1]
        return next(name for name in cls.pretrained_archive_name_sha1 if name.split(".")[1] == corpus)


def _fasttext() -> list[tuple[str, str, str]]:
    """Name, SHA-1 of the vectors and of their archive, of all that fastText published and MXNet knows."""
    lines = Path(__file__).with_name("fasttext.txt").read_text().splitlines()
    return [(name, vectors, archive) for name, vectors, archive in (line.split() for line in lines)]


@register
class FastText(_TokenEmbedding):
    """Vectors of words by Bojanowski, Grave, Joulin and Mikolov (2016), from embedding_root/fasttext/pretrained_file_name.

    vocabulary: keep its tokens only. Raises KeyError for a file that was not published, MissingFile that says what to put where."""

    pretrained_archive_name_sha1: ClassVar[dict[str, str]] = {
        f"{name}.zip": archive for name, _, archive in _fasttext()
    }
    pretrained_file_name_sha1: ClassVar[dict[str, str]] = {f"{name}.vec": vectors for name, vectors, _ in _fasttext()}

    def __init__(
        self,
        pretrained_file_name: str = "wiki.simple.vec",
        embedding_root: Any = _ROOT,
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ):
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        self._load_embedding(self._get_pretrained_file(embedding_root, pretrained_file_name), " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        return pretrained_file_name.rpartition(".")[0] + ".zip"


class CustomEmbedding(_TokenEmbedding):
    """Vectors of a file whose lines are a token and its numbers, separated by elem_delim. vocabulary: keep its tokens only.

    Raises ValueError where there is no such file, AssertionError for lines that are none, or are not equally long."""

    def __init__(
        self,
        pretrained_file_path: Any,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The vectors of one or several embeddings, side by side, for the tokens of a vocabulary.

    Raises AssertionError for what is no vocabulary or no embedding."""

    def __init__(self, vocabulary: vocab.Vocabulary, token_embeddings: Any):
        _want_vocabulary(vocabulary)
        parts = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        if not all(isinstance(part, _TokenEmbedding) for part in parts):
            raise AssertionError(
                "The argument `token_embeddings` must be a token embedding or a list of token embeddings."
            )
        self._index_tokens_from_vocabulary(vocabulary)
        self._set_idx_to_vec_by_embeddings(parts, len(self), self.idx_to_token)
