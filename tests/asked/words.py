"""Vectors of tokens from files, and what is refused."""

from __future__ import annotations

import warnings
from collections import Counter

from .questions import ask, attempt, plain

LINES = "2 3\na 1 2 3\nb 4 5 6.5\na 7 7 7\n<unk> 0.1 0.2 0.3\nC -1 -2 -3e-2\n"


def shown(embedding, *tokens):
    """All there is to see of it."""
    return {
        "length": len(embedding),
        "tokens": embedding.idx_to_token,
        "numbers": embedding.token_to_idx,
        "vector": embedding.vec_len,
        "table": embedding.idx_to_vec.asnumpy(),
        "unknown": embedding.unknown_token,
        "reserved": embedding.reserved_tokens,
        "some": embedding.get_vecs_by_tokens(["a", "c", "none"]).asnumpy(),
        "lower": embedding.get_vecs_by_tokens(["A", "c", "C"], lower_case_backup=True).asnumpy(),
        "one": embedding.get_vecs_by_tokens("b").asnumpy(),
    }


def custom(mx, folder, content, name="v.txt", **options):
    (folder / name).write_text(content)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = mx.contrib.text.embedding.CustomEmbedding(str(folder / name), **options)
    return made, len([w for w in told if issubclass(w.category, UserWarning)])


@ask
def own_files(mx, folder):
    words = mx.contrib.text.vocab.Vocabulary(Counter(["b", "b", "b", "d", "a", "a"]), reserved_tokens=["<pad>"])
    found = {}
    for name, content, options in (
        ("plain", LINES, {}),
        ("tabs", LINES.replace(" ", "\t"), {"elem_delim": "\t"}),
        ("without the unknown one", LINES.replace("<unk> ", "u "), {"init_unknown_vec": mx.nd.ones}),
        ("other unknown one", LINES, {"unknown_token": "b"}),
        ("of a vocabulary", LINES, {"vocabulary": words}),
    ):
        made, told = custom(mx, folder, content, **options)
        found[name] = [shown(made), told]
    return plain(found)


@ask
def several(mx, folder):
    e = mx.contrib.text.embedding
    first, _ = custom(mx, folder, LINES)
    second, _ = custom(mx, folder, "a 1 1\nd 2 2\n", "w.txt", init_unknown_vec=mx.nd.ones)
    words = mx.contrib.text.vocab.Vocabulary(Counter(["b", "b", "b", "d", "a", "a"]))
    made = e.CompositeEmbedding(words, [first, second])
    found = [shown(made), shown(e.CompositeEmbedding(words, second))]
    made.update_token_vectors("a", mx.nd.array([9, 8, 7, 6, 5]))
    made.update_token_vectors(["b", "<unk>"], mx.nd.ones((2, 5)) * 3)
    found.append(shown(made))
    found.append([attempt(lambda: made.update_token_vectors("zz", mx.nd.ones(5)))])
    found.append([attempt(lambda: made.update_token_vectors(["a", "b"], mx.nd.ones((2, 4))))])
    found.append([attempt(lambda: made.update_token_vectors(["a", "b"], mx.nd.ones(5)))])
    return plain(found)


@ask
def names_and_refusals(mx, folder):
    e = mx.contrib.text.embedding
    found = {"names": e.get_pretrained_file_names(), "glove": e.get_pretrained_file_names("glove")}
    found["bad"] = [
        attempt(lambda: e.get_pretrained_file_names("x")),
        attempt(lambda: e.create("x")),
        attempt(lambda: e.create("glove", pretrained_file_name="x")),
        attempt(lambda: e.CustomEmbedding("none.txt")),
        attempt(lambda: custom(mx, folder, "a 1 2\nb 1\nc 1 2 3\n")),
        attempt(lambda: custom(mx, folder, "a 1 2\nb\n")),
        attempt(lambda: custom(mx, folder, "a 1 x\n")),
        attempt(lambda: custom(mx, folder, LINES, vocabulary=["a"])),
        attempt(lambda: e.CompositeEmbedding(["a"], [])),
        attempt(lambda: e.CompositeEmbedding(mx.contrib.text.vocab.Vocabulary(), [3])),
    ]
    return found


@ask
def registered(mx, folder):
    e = mx.contrib.text.embedding

    @e.register
    class Own(e._TokenEmbedding):
        pretrained_file_name_sha1 = {"own.txt": ""}

        def __init__(self, pretrained_file_name="own.txt", **kwargs):
            super().__init__(**kwargs)
            (folder / pretrained_file_name).write_text(LINES)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._load_embedding(str(folder / pretrained_file_name), " ", mx.nd.zeros)

    made = e.create("own")
    return plain([shown(made), type(made).__name__, e.get_pretrained_file_names("own")])
