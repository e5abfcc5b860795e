"""Operators of ai.onnx.ml that prepare features and name classes. Maps are dicts, carried as base.hold carries them."""

from typing import Any, Literal

import numpy as np

from ...core.attrs import Arity, DType, kind_of
from ...core.boxed import box, unbox
from ...core.op import lookup, op
from ...core.shapes import UNKNOWN, show
from ..common import same, spread, want_rank, want_rank_from
from ..composing import cast, definite, known, of_floats
from .base import FLOAT32, INT64, OBJECT, Collected, Pointwise, Standard
from .ml_linear import constant, fused_rows, labels_of
from .types import FEATURES, WORDS

Array = np.ndarray
IN_TABLES = frozenset({"float32", "float64", "int32", "int64"})
"""Dtypes that compiled code finds among keys."""


def places_of(x: Array, keys: Array) -> Array:
    """Position of each element among the keys - the last of equal ones, NaN equal to NaN - or -1."""
    place = {}
    for i, key in enumerate(keys.reshape(-1).tolist()):
        place["nan" if key != key else key, type(key)] = i
    values, inverse = np.unique(x.reshape(-1), return_inverse=True)
    found = [place.get(("nan" if v != v else v, type(v)), -1) for v in values.tolist()]
    return np.array(found, np.int64)[inverse].reshape(x.shape)


class Mapping(Pointwise):
    """Base of what puts another value for each element. Shapes: X -> X."""

    exception = "works on tables and words"

    inputs = ("X",)

    def table(self, dtype: np.dtype) -> tuple[Array, Array, Any]:
        """(keys, values, what stands for others) for elements of a dtype."""
        raise NotImplementedError

    def dtype(self, x):
        return self.table(x)[1].dtype

    def meaning(self, x):
        keys, values, default = self.table(x.dtype)
        choice = np.empty(len(values) + 1, values.dtype)
        choice[:-1], choice[-1] = values, default
        found = np.empty(x.shape, values.dtype)  # also of no dimensions, where indexing gives a word itself
        found[...] = choice[places_of(x, keys.astype(x.dtype, copy=False))]
        return found

    def fused_form(self, F, x):
        if x.shape is None or x.dtype is None or x.dtype.name not in IN_TABLES:
            return None
        keys, values, default = self.table(x.dtype)
        if values.dtype.name not in IN_TABLES:
            return None
        choice = np.append(values, np.array(default, values.dtype))
        places = F._fused_places(x, constant(F, keys.reshape(-1).astype(x.dtype)))
        return F.take(constant(F, choice), places, mode="wrap")  # -1 is the last, for what is no key

    def gradient(self, F, dy, x, y):
        return None


@op("_onnx_ml_LabelEncoder")
class LabelEncoder(Mapping):
    """The value that belongs to each key, or the default. Shapes: X -> X, in the dtype of the values.
    Source: ONNX LabelEncoder (ai.onnx.ml 2 to newest)."""

    default_tensor: np.ndarray
    keys_tensor: np.ndarray
    values_tensor: np.ndarray

    types = {"X": FEATURES | WORDS | {"int16"}}

    def check(self):
        same = self.keys_tensor.size == self.values_tensor.size
        if not same:
            return f"got {self.keys_tensor.size} keys and {self.values_tensor.size} values, wanted as many"
        return super().check()

    def infer_type(self, X):
        if self.keys_tensor.dtype != X:
            raise self.error(f"got X of dtype {X}, wanted that of the keys, {self.keys_tensor.dtype}")
        return super().infer_type(X)

    def table(self, dtype):
        return self.keys_tensor, self.values_tensor.reshape(-1), self.default_tensor.reshape(-1)[0]

    def in_numbers(self):
        values, count = self.values_tensor.reshape(-1), self.values_tensor.size
        if values.dtype != OBJECT or self.keys_tensor.dtype == OBJECT:
            return None
        tables = {"values_tensor": np.arange(count), "default_tensor": np.array([count])}
        words = np.append(values, self.default_tensor.reshape(-1)[:1])
        return type(self).bind(keys_tensor=self.keys_tensor, **tables), (lookup("_fused_words").bind(words=words),)

    @classmethod
    def examples(cls, make):
        attrs = {"keys_tensor": make.array([1, 5, 3], "int64"), "values_tensor": make.array([0.5, 2, -1])}
        yield make(make.array([[3, 1, 2], [5, 5, 0]], "int64"), default_tensor=make.array([9]), **attrs)


@op("_onnx_ml_CategoryMapper")
class CategoryMapper(Mapping):
    """Words as their numbers, numbers as their words. Shapes: X -> X. Source: ONNX CategoryMapper (ai.onnx.ml 1)."""

    cats_int64s: np.ndarray
    cats_strings: np.ndarray
    default_int64: int = -1
    default_string: str = "_Unused"

    types = {"X": WORDS | {"int64"}}

    def check(self):
        counts = len(self.cats_int64s), len(self.cats_strings)
        return (
            f"got {counts[0]} numbers and {counts[1]} words, wanted as many"
            if counts[0] != counts[1]
            else super().check()
        )

    def table(self, dtype):
        if dtype == OBJECT:
            return self.cats_strings, self.cats_int64s, self.default_int64
        return self.cats_int64s, self.cats_strings, self.default_string

    @classmethod
    def examples(cls, make):
        words = np.array(["a", "b"], object)
        yield make(make.array([3, 1], "int64"), cats_int64s=make.array([1, 2], "int64"), cats_strings=words)


@op("_onnx_ml_OneHotEncoder")
class OneHotEncoder(Standard):
    """1 at the place of each element's category. Shapes: X (...) -> (..., categories), float32. Floats are cut off to integers. One
    that is no category is all zeros, or without ``zeros`` an error. Source: ONNX OneHotEncoder (ai.onnx.ml 1)."""

    cats_int64s: np.ndarray | None = None
    cats_strings: np.ndarray | None = None
    zeros: bool = True

    exception = "works on tables and words"

    inputs = ("X",)
    types = {"X": FEATURES | WORDS}

    def _categories(self) -> Array:
        return labels_of(self.cats_int64s, self.cats_strings, 0)

    def shape(self, x):
        return (*x, len(self._categories()))

    def dtype(self, x):
        return FLOAT32

    def meaning(self, x):
        cats = self._categories()
        places = places_of(x if x.dtype == OBJECT else x.astype(np.int64), cats)
        if not self.zeros and (places < 0).any():
            raise self.error(f"got {x[places < 0][0]!r}, which is no category, wanted one or zeros=1")
        return (places[..., None] == np.arange(len(cats))).astype(np.float32)

    def fused_form(self, F, x):
        cats = self._categories()
        if not self.zeros or cats.dtype == object or x.shape is None or x.dtype is None or x.dtype.kind not in "fi":
            return None
        places = F._fused_places(F.Cast(x, dtype=INT64), constant(F, cats.astype(np.int64)))
        equal = F._npi_equal(F.expand_dims(places, axis=len(x.shape)), constant(F, np.arange(len(cats))))
        return F.Cast(equal, dtype=FLOAT32)

    def gradient(self, F, dy, x, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array([[3, 1, 2], [5, 5, 0]], "int64"), cats_int64s=make.array([1, 5, 3], "int64"))


@op("_onnx_ml_Binarizer")
class Binarizer(Pointwise):
    """1 where X is above a threshold, else 0. Shapes: X -> X. Source: ONNX Binarizer (ai.onnx.ml 1)."""

    threshold: float = 0.0

    exception = "works on tables and words"

    inputs = ("X",)
    types = {"X": FEATURES}

    def composition(self, F, x):
        return F.Cast(x > float(np.float32(self.threshold)), dtype=x.dtype) if known(x) and of_floats(x) else None

    def meaning(self, x):
        return (x > np.float32(self.threshold)).astype(x.dtype)

    def gradient(self, F, dy, x, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), threshold=0.25)


@op("_onnx_ml_Scaler")
class Scaler(Pointwise):
    """(X - offset) * scale, both one number or one per feature. Shapes: X (..., F) -> X, float32.
    Source: ONNX Scaler (ai.onnx.ml 1)."""

    offset: np.ndarray | None = None
    scale: np.ndarray | None = None

    exception = "works on tables and words"

    inputs = ("X",)
    types = {"X": FEATURES}

    def dtype(self, x):
        return FLOAT32

    def composition(self, F, x):
        if not known(x):
            return None
        y = x if x.dtype == np.float64 else cast(F, x, x.dtype, FLOAT32)
        for function, value in ((F.broadcast_sub, self.offset), (F.broadcast_mul, self.scale)):
            if value is not None:
                number = F._onnx_Constant(value=kind_of(np.ndarray).write(value.astype(np.float32)))
                y = function(y, F.Cast(number, dtype=x.dtype) if x.dtype == np.float64 else number)
        return F.Cast(y, dtype=FLOAT32) if x.dtype == np.float64 else y

    def meaning(self, x):
        y = x if x.dtype == np.float64 else x.astype(np.float32)  # as onnxruntime: double is rounded at the end
        y = y if self.offset is None else y - self.offset.astype(np.float32)
        y = y if self.scale is None else y * self.scale.astype(np.float32)
        return y.astype(np.float32)

    def shape(self, x):
        for name in ("offset", "scale"):
            if (value := getattr(self, name)) is not None:
                spread(self, value.shape, x)
        return x

    def gradient(self, F, dy, x, y):
        if self.scale is not None:
            dy = F._npi_multiply(dy, F._onnx_Constant(value=kind_of(np.ndarray).write(self.scale.astype(np.float32))))
        return F._backward_cast_like(dy, x)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), offset=make.uniform(4), scale=make.uniform(4))


@op("_onnx_ml_Normalizer")
class Normalizer(Pointwise):
    """Each row divided by its maximum, by the sum of its absolute values (L1) or by its length (L2); one whose divisor is 0 stays.

    Shapes: X (N, C) or (C,) -> X, float32. Source: ONNX Normalizer (ai.onnx.ml 1)."""

    norm: Literal["MAX", "L1", "L2"] = "MAX"

    exception = "works on tables and words"

    inputs = ("X",)
    types = {"X": FEATURES}

    def dtype(self, x):
        return FLOAT32

    def composition(self, F, x):
        if not known(x) or not x.shape or 0 in definite(x.shape):
            return None
        x, last = cast(F, x, x.dtype, FLOAT32), len(x.shape) - 1
        if self.norm == "MAX":
            size = F.max(x, axis=last, keepdims=True)
        elif self.norm == "L1":
            size = F.sum(F.abs(x), axis=last, keepdims=True)
        else:
            size = F.sqrt(F.sum(F.square(x), axis=last, keepdims=True))
        return F.broadcast_div(x, size + (size == 0))

    def meaning(self, x):
        x = x.astype(np.float32)
        if self.norm == "MAX":
            size = x.max(-1, keepdims=True, initial=-np.inf)
        elif self.norm == "L1":
            size = np.abs(x).sum(-1, keepdims=True)
        else:
            size = np.sqrt((x * x).sum(-1, keepdims=True))
        return np.where(size == 0, x, x / np.where(size == 0, 1, size)).astype(np.float32, copy=False)

    def gradient(self, F, dy, x, y):
        raise self.error("has no gradient")

    @classmethod
    def examples(cls, make):
        for norm in ("MAX", "L1", "L2"):
            yield make(make.uniform(3, 4), norm=norm)


@op("_onnx_ml_Imputer")
class Imputer(Pointwise):
    """X with another value, one or one per feature, for every one that equals replaced_value (NaN equals NaN). The floats count for
    float X, else the integers. Shapes: X (..., F) -> X. Source: ONNX Imputer (ai.onnx.ml 1)."""

    imputed_value_floats: np.ndarray | None = None
    imputed_value_int64s: np.ndarray | None = None
    replaced_value_float: float = 0.0
    replaced_value_int64: int = 0

    exception = "works on tables and words"

    inputs = ("X",)
    types = {"X": FEATURES}

    def shape(self, x):
        for values in (self.imputed_value_floats, self.imputed_value_int64s):
            if values is not None and len(values):
                spread(self, values.shape, x)
        return x

    def meaning(self, x):
        floating = x.dtype.kind in "fV"
        values = self.imputed_value_floats if floating else self.imputed_value_int64s
        if values is None or not len(values):
            raise self.error(
                f"got X of dtype {x.dtype}, wanted imputed_value_{'floats' if floating else 'int64s'} with it"
            )
        if len(values) not in (1, x.shape[-1] if x.ndim else 1):
            raise self.error(f"got {len(values)} values for X of shape {show(x.shape)}, wanted one, or one per feature")
        old = np.float32(self.replaced_value_float) if floating else self.replaced_value_int64
        return np.where(np.isnan(x) if old != old else x == old, values.astype(x.dtype), x)

    def fused_form(self, F, x):
        if x.shape is None or x.dtype is None or x.dtype.name not in IN_TABLES:
            return None
        floating = x.dtype.kind == "f"
        values = self.imputed_value_floats if floating else self.imputed_value_int64s
        if values is None or len(values) not in (1, *x.shape[-1:]):
            return None
        old = np.float32(self.replaced_value_float) if floating else self.replaced_value_int64
        missing = F._npi_isnan(x) if old != old else F._npi_equal(x, constant(F, np.array([old], x.dtype)))
        return F._npi_where(missing, constant(F, values.astype(x.dtype)), x)

    def gradient(self, F, dy, x, y):
        return dy * F.broadcast_equal(x, y)

    @classmethod
    def examples(cls, make):
        yield make(
            make.array([[1, np.nan], [np.nan, 3]]), imputed_value_floats=make.array([7, 8]), replaced_value_float=np.nan
        )


@op("_onnx_ml_FeatureVectorizer")
class FeatureVectorizer(Standard):
    """Features side by side, each input's cut off or filled with zeros to its size in inputdimensions.

    Shapes: any number of (N, C) or (C,), which count as (1, C) -> (N, sum of sizes), float32.
    Source: ONNX FeatureVectorizer (ai.onnx.ml 1)."""

    inputdimensions: tuple[int, ...] = ()
    num_args: Arity

    exception = "works on tables and words"

    inputs = ("*X",)

    def _widths(self, shapes: Any) -> tuple[Any, ...]:
        return self.inputdimensions or tuple(s[-1] for s in shapes)

    def shape(self, *shapes):
        for shape in shapes:
            want_rank(self, shape, 1, 2, what="X")
        rows = same(self, "rows", *(s[0] if len(s) == 2 else 1 for s in shapes))
        return (rows, sum(self._widths(shapes)))

    def check(self):
        sizes = self.inputdimensions
        if sizes and (len(sizes) != self.num_args or min(sizes) < 0):
            return f"got inputdimensions {sizes}, wanted a size for each of {self.num_args} inputs"
        return super().check()

    def dtype(self, *dtypes):
        return FLOAT32

    def meaning(self, *arrays):
        parts = []
        for x, width in zip(arrays, self._widths([a.shape for a in arrays])):
            x = np.atleast_2d(x).astype(np.float32)[:, :width]
            parts.append(np.pad(x, ((0, 0), (0, width - x.shape[1]))))
        return np.concatenate(parts, axis=1)

    def fused_form(self, F, *arrays):
        rows = [fused_rows(F, x) for x in arrays]
        if any(r is None for r in rows):
            return None
        parts = []
        for x, part, width in zip(arrays, rows, self._widths([x.shape for x in arrays])):
            if not isinstance(x.shape[-1], int) or x.shape[-1] < width:
                return None
            parts.append(part if x.shape[-1] == width else F.slice_axis(part, axis=1, begin=0, end=width))
        return F.Concat(*parts, dim=1)

    def gradient(self, F, dy, *arrays):
        raise self.error("has no gradient")

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 2), make.uniform(3, 4), inputdimensions=(2, 4))


@op("_onnx_ml_ArrayFeatureExtractor")
class ArrayFeatureExtractor(Standard):
    """The features at some places of the last axis. Shapes: X (..., F), Y any, of k places -> (..., k), or (1, k) for X (F,).
    Source: ONNX ArrayFeatureExtractor (ai.onnx.ml 1)."""

    exception = "works on tables and words"

    inputs = ("X", "Y")
    types = {"X": FEATURES | WORDS, "Y": {"int64"}}

    def shape(self, x, y):
        want_rank_from(self, x, 1, what="X")
        count: Any = 1
        for d in y:
            count = count * d
        return (*(x[:-1] or (1,)), count)

    def meaning(self, x, y):
        if ((y < 0) | (y >= x.shape[-1])).any():
            raise self.error(f"got places {y.reshape(-1).tolist()} of {x.shape[-1]} features")
        return np.atleast_2d(x[..., y.reshape(-1)])

    def gradient(self, F, dy, *arrays):
        raise self.error("has no gradient")

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.array([[2, 0]], "int64"))


# -- maps ------------------------------------------------------------------------------------------------------------------


@op("_onnx_ml_ZipMap")
class ZipMap(Collected):
    """Each row as a map from labels to its numbers. Shapes: X (N, C) or (C,) -> a sequence of N maps.
    Source: ONNX ZipMap (ai.onnx.ml 1)."""

    classlabels_int64s: np.ndarray | None = None
    classlabels_strings: np.ndarray | None = None

    exception = "works on tables and words"
    dresses = True

    inputs = ("X",)
    types = {"X": {"float32"}}

    def shape(self, x):
        return ()

    def dtype(self, x):
        return OBJECT

    def meaning(self, x):
        rows = x if x.ndim == 2 else np.atleast_2d(x)
        labels = self.memo.get(rows.shape[1])
        if labels is None:
            labels = labels_of(self.classlabels_int64s, self.classlabels_strings, rows.shape[1]).tolist()
            self.memo[rows.shape[1]] = labels
        if len(labels) != rows.shape[1]:
            raise self.error(f"got {rows.shape[1]} numbers for {len(labels)} labels")
        maps = np.fromiter([dict(zip(labels, row)) for row in rows.tolist()], object, len(rows))
        return box([maps[i, ...] for i in range(len(rows))])  # boxes, without a call for each

    def compute(self, x):
        return self.meaning(x)  # nothing is left out here, or refused for being a sequence

    def gradient(self, F, dy, x, y):
        raise self.error("has no gradient")


@op("_onnx_ml_DictVectorizer")
class DictVectorizer(Collected):
    """The values of a map in the order of a vocabulary, 0 for keys that are not there. Shapes: a map -> (1, vocabulary).
    values is the dtype, which the map of a model declares. Source: ONNX DictVectorizer (ai.onnx.ml 1)."""

    int64_vocabulary: np.ndarray | None = None
    string_vocabulary: np.ndarray | None = None
    values: DType = FLOAT32

    exception = "works on tables and words"

    inputs = ("X",)
    types = {"X": WORDS}

    def _words(self) -> list[Any]:
        return labels_of(self.int64_vocabulary, self.string_vocabulary, 0).tolist()

    def shape(self, x):
        return (1, len(self._words()))

    def dtype(self, x):
        return self.values

    def meaning(self, x):
        words, given = self._words(), unbox(x)
        unknown = [k for k in given if k not in words]
        if unknown:
            raise self.error(f"got key {unknown[0]!r}, which is not in the vocabulary")
        found = np.empty((1, len(words)), self.values)
        found[0] = [given.get(w, "" if self.values == OBJECT else 0) for w in words]
        return found

    def gradient(self, F, dy, x, y):
        return None


@op("_onnx_ml_CastMap")
class CastMap(Collected):
    """The values of a map by ascending key (DENSE), or each at the place that its key says, of max_map (SPARSE).

    Shapes: a map from integers -> (1, its size or max_map). Source: ONNX CastMap (ai.onnx.ml 1)."""

    cast_to: Literal["TO_FLOAT", "TO_STRING", "TO_INT64"] = "TO_FLOAT"
    map_form: Literal["DENSE", "SPARSE"] = "DENSE"
    max_map: int = 1

    exception = "works on tables and words"

    inputs = ("X",)
    types = {"X": WORDS}
    data_dependent_shape = True

    def shape(self, x):
        return (1, UNKNOWN if self.map_form == "DENSE" else self.max_map)

    def dtype(self, x):
        return {"TO_FLOAT": FLOAT32, "TO_STRING": OBJECT, "TO_INT64": INT64}[self.cast_to]

    def _cast(self, value: Any) -> Any:
        if self.cast_to == "TO_STRING":
            return value if isinstance(value, str) else f"{value:f}"
        return float(value) if self.cast_to == "TO_FLOAT" else int(value)

    def meaning(self, x):
        given = dict(sorted(unbox(x).items()))
        if self.map_form == "DENSE":
            values = [self._cast(v) for v in given.values()]
        else:
            if any(not 0 <= k < self.max_map for k in given):
                raise self.error(f"got keys {list(given)}, wanted 0 to {self.max_map - 1}")
            blank = "" if self.cast_to == "TO_STRING" else 0
            values = [self._cast(given[k]) if k in given else blank for k in range(self.max_map)]
        found = np.empty((1, len(values)), self.dtype(None))
        found[0] = values
        return found

    def gradient(self, F, dy, x, y):
        return None
