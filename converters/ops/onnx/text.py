"""Words and pictures."""

import numpy as np

from ...registry import from_onnx, itself, to_onnx

itself("StringConcat", "StringSplit", "RegexFullMatch", "ImageDecoder", since=20)


@from_onnx("StringNormalizer", since=10)
def _(g, x, *, case_change_action="NONE", is_case_sensitive=0, locale="", stopwords=()):
    return g.itself(
        x,
        case_change_action=case_change_action,
        is_case_sensitive=is_case_sensitive,
        locale=locale,
        stopwords=np.array(stopwords, object),
    )


@to_onnx("_onnx_StringNormalizer")
def _(b, op, x):
    return b.node(
        "StringNormalizer",
        x,
        case_change_action=op.case_change_action,
        is_case_sensitive=int(op.is_case_sensitive),
        locale=op.locale or None,
        stopwords=op.stopwords.tolist() or None,
        dtype=np.dtype(object),
    )


_POOLS = {"pool_int64s": np.int64, "pool_strings": object, "ngram_indexes": np.int64, "weights": np.float32}


@from_onnx("TfIdfVectorizer", since=9)
def _(g, x, **attributes):
    return g.itself(x, **{n: np.array(v, _POOLS[n]) if n in _POOLS else v for n, v in attributes.items()})


@to_onnx("_onnx_TfIdfVectorizer")
def _(b, op, x):
    attributes = {name: getattr(op, name) for name in op.fields if name != "given"}
    attributes = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in attributes.items()}
    return b.node("TfIdfVectorizer", x, dtype=np.dtype(np.float32), **attributes)
