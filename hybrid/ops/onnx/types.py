"""Dtypes that ONNX's operators take, as its schemas name them together; see Standard.types."""

INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
NUMBERS = INTEGERS | FLOATS
PRECISE = FLOATS | {"int32", "int64", "uint32", "uint64"}
"""Numbers in which sums keep their places: "high-precision numeric"."""
INDICES = frozenset({"int32", "int64"})
BYTES = frozenset({"int8", "uint8"})
FEATURES = frozenset({"float32", "float64", "int32", "int64"})
"""Dtypes that the models of ai.onnx.ml compute with."""
WORDS = frozenset({"object"})
"""Strings, and values that are no tensors: sequences, optionals, maps."""
PLAIN = NUMBERS | {"bool"}
COMPLEX = frozenset({"complex64", "complex128"})
TENSORS = PLAIN | WORDS | COMPLEX
"""Dtypes that can be moved: all of ONNX's first versions, and bfloat16."""
FLOAT8 = frozenset({"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})
FLOAT6 = frozenset({"float6_e2m3fn", "float6_e3m2fn"})
TINY = FLOAT8 | FLOAT6 | {"float4_e2m1fn", "int2", "uint2", "int4", "uint4"}
"""Dtypes of quantised numbers that nothing computes with."""
STORED = (TENSORS | TINY | {"float8_e8m0fnu"}) - FLOAT6
"""Dtypes that can be stored, and so moved here, even where ONNX does not say so yet."""
