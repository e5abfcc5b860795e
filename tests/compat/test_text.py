"""mx.contrib.text; what is expected was observed in MXNet 1.9.1."""

from collections import Counter

import pytest

import hybrid as mx
from hybrid.contrib.text.utils import count_tokens_from_str
from hybrid.contrib.text.vocab import Vocabulary

COUNTS = Counter(["b", "a", "b", "c", "c", "c", "d", "e", "e", "é"])


@pytest.mark.parametrize(
    ("arguments", "tokens"),
    [
        ({}, ["<unk>", "c", "b", "e", "a", "d", "é"]),
        ({"most_freq_count": 3}, ["<unk>", "c", "b", "e"]),
        ({"most_freq_count": 0}, ["<unk>"]),
        ({"min_freq": 2}, ["<unk>", "c", "b", "e"]),
        ({"min_freq": 2, "reserved_tokens": ["b"]}, ["<unk>", "b", "c", "e"]),
        (
            {"most_freq_count": 2, "unknown_token": "U", "reserved_tokens": ["<pad>", "<bos>"]},
            ["U", "<pad>", "<bos>", "c", "b"],
        ),
    ],
)
def test_tokens_are_numbered_by_frequency(arguments, tokens):
    vocabulary = Vocabulary(COUNTS, **arguments)
    assert vocabulary.idx_to_token == tokens
    assert vocabulary.token_to_idx == {token: index for index, token in enumerate(tokens)}
    assert len(vocabulary) == len(tokens)
    assert vocabulary.unknown_token == tokens[0]
    assert vocabulary.reserved_tokens == arguments.get("reserved_tokens")
    assert vocabulary.to_indices(tokens) == list(range(len(tokens)))
    assert vocabulary.to_indices("zzz") == 0
    assert vocabulary.to_tokens(list(range(len(tokens)))) == tokens


def test_a_counted_unknown_token_is_there_once():
    assert mx.contrib.text.vocab.Vocabulary(Counter({"<unk>": 5, "x": 1})).idx_to_token == ["<unk>", "x"]
    assert Vocabulary().idx_to_token == ["<unk>"]


@pytest.mark.parametrize("index", [99, 1.0, "c"])
def test_there_is_no_token_of_that_number(index):
    with pytest.raises(ValueError, match="is invalid"):
        Vocabulary(COUNTS).to_tokens(index)


@pytest.mark.parametrize(
    "arguments",
    [
        {"min_freq": 0},
        {"reserved_tokens": ["a", "a"]},
        {"reserved_tokens": ["<unk>"]},
        {"counter": ["a"]},
    ],
)
def test_arguments_that_make_no_sense(arguments):
    with pytest.raises(AssertionError, match="Vocabulary"):
        Vocabulary(**{"counter": COUNTS, **arguments})


def test_counting_tokens():
    text = " Life is great ! \n life is good . \n"
    assert count_tokens_from_str(text) == Counter(
        {"is": 2, "Life": 1, "great": 1, "!": 1, "life": 1, "good": 1, ".": 1}
    )
    assert count_tokens_from_str("A#b-A#", "#", "-", to_lower=True) == Counter({"a": 2, "b": 1})
    assert count_tokens_from_str("AisISbLIFEA", "IS", "LIFE", to_lower=True) == Counter({"ais": 1, "b": 1, "a": 1})
    known = Counter({"a": 2})
    assert count_tokens_from_str("a b", counter_to_update=known) is known
    assert known == Counter({"a": 3, "b": 1})
    empty: Counter[str] = Counter()
    assert count_tokens_from_str("a b", counter_to_update=empty) is empty
    assert empty == Counter({"a": 1, "b": 1})
    assert count_tokens_from_str("a.b|c", ".", "|") == Counter()
