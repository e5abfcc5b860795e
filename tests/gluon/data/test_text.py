"""Texts for language models; numbers are those of MXNet 1.9.1, which was told to trust the files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hybrid.core.error import FormatError
from hybrid.gluon.contrib.data import text

TRAIN = " = A title = \n\n the cat , the dog <unk> sat\n  \n The cat é ran away .\n a b c d e f g\n"
VALID = "the dog ran\nzebra cat the the\n"


def test_words_are_numbered_and_cut_into_sequences(tmp_path: Path) -> None:
    (tmp_path / "wiki.train.tokens").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "wiki.valid.tokens").write_text(VALID, encoding="utf-8")
    train = text.WikiText2(str(tmp_path), seq_len=5)
    pairs = [(x.asnumpy().tolist(), y.asnumpy().tolist()) for x, y in (train[i] for i in range(len(train)))]
    assert pairs == [
        ([2, 7, 20, 2, 1], [7, 20, 2, 1, 4]),
        ([4, 3, 5, 4, 14], [3, 5, 4, 14, 0]),
        ([0, 19, 1, 8, 3], [19, 1, 8, 3, 21]),
        ([21, 18, 10, 6, 1], [18, 10, 6, 1, 9]),
        ([9, 11, 12, 13, 15], [11, 12, 13, 15, 16]),
    ]
    assert train[0][0].dtype is train[0][1].dtype
    assert train[0][0].dtype.__name__ == "int32"
    assert train.vocabulary.idx_to_token[:7] == ["<unk>", "<eos>", "=", "cat", "the", ",", "."]
    assert train.frequencies["the"] == 2
    valid = text.WikiText103(tmp_path, "validation", train.vocabulary, 3)
    assert [x.asnumpy().tolist() for x, _ in (valid[0], valid[1])] == [[4, 14, 18], [1, 0, 3]]
    assert len(valid) == 2
    assert valid.vocabulary is train.vocabulary
    assert valid[0:2][1].asnumpy().tolist() == [[14, 18, 1], [0, 3, 4]]


def test_the_archive_is_read_where_it_lies(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "wikitext-2-v1.zip", "w") as files:
        files.writestr("wikitext-2/wiki.valid.tokens", VALID)
    assert len(text.WikiText2(tmp_path, "validation", seq_len=2)) == 4
    with pytest.raises(FormatError, match=r"holds no wiki\.test\.tokens"):
        text.WikiText2(tmp_path, "test")


def test_what_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no wiki\.train\.tokens or wikitext-103-v1\.zip"):
        text.WikiText103(tmp_path)
    (tmp_path / "wikitext-2-v1.zip").write_bytes(b"PK nothing")
    with pytest.raises(FormatError, match="damaged"):
        text.WikiText2(tmp_path)
    (tmp_path / "wiki.train.tokens").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="damaged"):
        text.WikiText2(tmp_path)
    (tmp_path / "wiki.train.tokens").write_text("a b\n")
    with pytest.raises(FormatError, match="3 words, too few for one of 4"):
        text.WikiText2(tmp_path, seq_len=3)
    assert len(text.WikiText2(tmp_path, seq_len=2)) == 1
    with pytest.raises(KeyError):
        text.WikiText2(tmp_path, "dev")
