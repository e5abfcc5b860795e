"""Features, labels and maps of ai.onnx.ml."""

import numpy as np
from onnx import numpy_helper

from ...error import Unsupported
from ...onnx_types import dtype_of
from ...registry import ML, exports, imports
from .ml_linear import attributes_of, fields_of, models

models("CategoryMapper", "OneHotEncoder", "Binarizer", "Scaler", "Normalizer", "Imputer", "ZipMap", "CastMap")

_LISTS = {"object": "string", "int64": "int64", "float32": "float"}
"""Suffixes of the names of lists, by dtype; those of others are tensors."""


def _one(what, **given):
    """The array of what is given as a list or a tensor. Raises Unsupported when nothing or more than one is."""
    found = [np.asarray(v, k) for k, v in given.items() if v is not None and len(v)]
    if len(found) != 1:
        raise Unsupported(f"got {len(found)} lists of {what}, wanted one")
    return found[0].reshape(-1)


@imports("LabelEncoder", since=2, domain=ML)
def import_label_encoder_since_2(
    g,
    x,
    *,
    keys_strings=None,
    keys_int64s=None,
    keys_floats=None,
    keys_tensor=None,
    values_strings=None,
    values_int64s=None,
    values_floats=None,
    values_tensor=None,
    default_string="_Unused",
    default_int64=-1,
    default_float=-0.0,
    default_tensor=None,
):
    keys = (
        keys_tensor
        if keys_tensor is not None
        else _one("keys", object=keys_strings, int64=keys_int64s, float32=keys_floats)
    )
    values = values_tensor
    if values is None:
        values = _one("values", object=values_strings, int64=values_int64s, float32=values_floats)
    default = default_tensor
    if default is None:
        kind = values.dtype.kind
        default = np.array(
            [default_string if kind == "O" else default_float if kind == "f" else default_int64], values.dtype
        )
    return g.passthrough(x, keys_tensor=keys, values_tensor=values, default_tensor=default)


@imports("LabelEncoder", domain=ML)
def import_label_encoder_first(g, x, *, classes_strings, default_int64=-1, default_string="_Unused"):
    if x.dtype is None:
        raise Unsupported(f"needs to know whether {x.name} holds words or numbers")
    words, places = np.array(classes_strings, object), np.arange(len(classes_strings))
    if x.dtype == np.dtype(object):
        return g.passthrough(x, keys_tensor=words, values_tensor=places, default_tensor=np.array([default_int64]))
    return g.passthrough(x, keys_tensor=places, values_tensor=words, default_tensor=np.array([default_string], object))


@exports("_onnx_ml_LabelEncoder")
def export_onnx_ml_label_encoder(b, op, x):
    attributes = {}
    for name, array in (("keys", op.keys_tensor), ("values", op.values_tensor), ("default", op.default_tensor)):
        kind = _LISTS.get(array.dtype.name)
        if kind is None and b.opset < 20:
            raise Unsupported(f"{name} of dtype {array.dtype} need opset 20")
        if kind is None:
            attributes[f"{name}_tensor"] = numpy_helper.from_array(array.reshape(-1))
        elif name == "default":
            attributes[f"default_{kind}"] = array.reshape(-1)[0] if kind == "string" else array.reshape(-1)[0].item()
        else:
            attributes[f"{name}_{kind}s"] = array.reshape(-1).tolist()
    return b.node("LabelEncoder", x, domain=ML, dtype=op.values_tensor.dtype, **attributes)


@imports("FeatureVectorizer", domain=ML)
def import_feature_vectorizer(g, *inputs, inputdimensions=()):
    return g.passthrough(*inputs, inputdimensions=inputdimensions)


@exports("_onnx_ml_FeatureVectorizer")
def export_onnx_ml_feature_vectorizer(b, op, *inputs):
    return b.node("FeatureVectorizer", *inputs, domain=ML, inputdimensions=list(op.inputdimensions) or None)


@imports("ArrayFeatureExtractor", domain=ML)
def import_array_feature_extractor(g, x, y):
    return g.passthrough(x, y)


@exports("_onnx_ml_ArrayFeatureExtractor")
def export_onnx_ml_array_feature_extractor(b, op, x, y):
    return b.node("ArrayFeatureExtractor", x, y, domain=ML)


@imports("DictVectorizer", domain=ML)
def import_dict_vectorizer(g, x, **attributes):
    if x.kind is None or x.kind.WhichOneof("value") != "map_type":
        raise Unsupported(f"needs to know what the map {x.name} holds")
    code = x.kind.map_type.value_type.tensor_type.elem_type
    return g.passthrough(x, values=dtype_of(code), **fields_of(attributes))


@exports("_onnx_ml_DictVectorizer")
def export_onnx_ml_dict_vectorizer(b, op, x):
    attributes = attributes_of(op)
    del attributes["values"]
    return b.node("DictVectorizer", x, domain=ML, dtype=op.values, **attributes)
