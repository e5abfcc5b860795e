"""Words and pictures."""

import numpy as np

from ...registry import exports, imports, passthrough

passthrough("StringConcat", "StringSplit", "RegexFullMatch", "ImageDecoder", since=20)


@imports("StringNormalizer", since=10)
def import_string_normalizer(g, x, *, case_change_action="NONE", is_case_sensitive=0, locale="", stopwords=()):
    return g.passthrough(
        x,
        case_change_action=case_change_action,
        is_case_sensitive=is_case_sensitive,
        locale=locale,
        stopwords=np.array(stopwords, object),
    )


@exports("_onnx_StringNormalizer")
def export_onnx_string_normalizer(b, op, x):
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


@imports("TfIdfVectorizer", since=9)
def import_tf_idf_vectorizer(g, x, **attributes):
    return g.passthrough(x, **{n: np.array(v, _POOLS[n]) if n in _POOLS else v for n, v in attributes.items()})


@exports("_onnx_TfIdfVectorizer")
def export_onnx_tf_idf_vectorizer(b, op, x):
    attributes = {name: getattr(op, name) for name in op.fields if name != "given"}
    attributes = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in attributes.items()}
    return b.node("TfIdfVectorizer", x, dtype=np.dtype(np.float32), **attributes)
