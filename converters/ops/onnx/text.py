"""Words and pictures."""

import numpy as np

from ...registry import from_onnx, itself, to_onnx

itself("StringConcat", "StringSplit", "RegexFullMatch", "ImageDecoder", since=20)


def _texts(values):
    return np.array(values, object)


@from_onnx("StringNormalizer", since=10)
def _(g, x, *, case_change_action="NONE", is_case_sensitive=0, locale="", stopwords=()):
    return g.itself(
        x,
        case_change_action=case_change_action,
        is_case_sensitive=is_case_sensitive,
        locale=locale,
        stopwords=_texts(stopwords),
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


@from_onnx("TfIdfVectorizer", since=9)
def _(g, x, *, pool_strings=None, **attributes):
    return g.itself(x, pool_strings=None if pool_strings is None else _texts(pool_strings), **attributes)


@to_onnx("_onnx_TfIdfVectorizer")
def _(b, op, x):
    attributes = {name: getattr(op, name) for name in op.fields if name not in ("given", "pool_strings")}
    attributes = {name: list(v) if isinstance(v, tuple) else v for name, v in attributes.items()}
    pool = None if op.pool_strings is None else op.pool_strings.tolist()
    return b.node("TfIdfVectorizer", x, pool_strings=pool, dtype=np.dtype(np.float32), **attributes)
