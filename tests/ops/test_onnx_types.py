"""Operators of the family take the dtypes that ONNX's schemas allow, and say so when they infer."""

import numpy as np
import onnx
import pytest

from hybrid.core.attrs import DTYPE_FLAGS, dtype
from hybrid.core.error import OpError
from hybrid.core.op import FAMILY, OPS, lookup
from hybrid.ops.onnx.base import Standard
from hybrid.ops.onnx.types import STORED, WORDS
from tests.grouped import over

DOMAINS = {"ml": "ai.onnx.ml", "training": "ai.onnx.preview.training", "ms": "com.microsoft"}
SPELT = {"float": "float32", "double": "float64", "string": "object", "float8e4m3fn": "float8_e4m3fn",
         "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz",
         "float8e8m0": "float8_e8m0fnu", "float4e2m1": "float4_e2m1fn", "float6e2m3": "float6_e2m3fn",
         "float6e3m2": "float6_e3m2fn"}  # fmt: skip
OF_ANY_KIND = ("Optional", "OptionalHasElement", "OptionalGetElement")
"""Operators that take sequences as well as tensors of any dtype."""
OF_SEVERAL_ROLES = ("ml_FeatureVectorizer", "training_Adagrad", "training_Adam", "training_Momentum")
"""Operators whose inputs, any number, have several dtypes."""


def schema_of(name: str):
    """The newest schema of an operator of the family; None where onnx has none."""
    short, _, rest = name.removeprefix(FAMILY).partition("_")
    domain, name = (DOMAINS[short], rest) if short in DOMAINS else ("", name.removeprefix(FAMILY))
    try:
        return onnx.defs.get_schema(name, domain)
    except onnx.defs.SchemaError:
        return None


def family(name: str) -> type[Standard]:
    cls = OPS[name]
    assert issubclass(cls, Standard)
    return cls


def named(text: str) -> str:
    return SPELT.get(text[7:-1], text[7:-1]) if text.startswith("tensor(") else "object"


CHECKED = sorted(
    n for n, c in OPS.items() if n.startswith(FAMILY) and issubclass(c, Standard) and c.inputs and schema_of(n) is not None
    and n.removeprefix(FAMILY) not in (*OF_ANY_KIND, *OF_SEVERAL_ROLES)
)  # fmt: skip


@over("name", CHECKED)
def test_inputs_have_the_dtypes_of_the_schema(name):
    """The schema's dtypes, or all that can be stored where the operator only moves numbers; those of one type variable are one."""
    schema, cls = schema_of(name), family(name)
    assert schema is not None
    allowed = {c.type_param_str: {named(t) for t in c.allowed_type_strs} for c in schema.type_constraints}
    declared = {n: (group, set(kinds)) for group, kinds in cls.types.items() for n in group.split()}
    together: dict[str, set[str]] = {}
    for formal, given in zip(schema.inputs, cls.inputs):
        wanted = {d for d in allowed.get(formal.type_str, {named(formal.type_str)}) if d in DTYPE_FLAGS}
        group, kinds = declared[given]
        assert kinds >= wanted, given
        assert kinds - wanted <= (STORED if wanted & WORDS else set()), given
        if formal.type_str in allowed:
            together.setdefault(formal.type_str, set()).add(group)
    if name != "_onnx_CastLike":
        assert all(len(groups) == 1 for groups in together.values()), together
        shared = [v for v, groups in together.items() if any(groups & g for w, g in together.items() if w != v)]
        assert not shared, f"{shared} may be of different dtypes"


@over("name", sorted(n for n, c in OPS.items() if n.startswith(FAMILY) and getattr(c, "types", None)))
def test_other_dtypes_are_refused_by_name(name):
    from hybrid.core.examples import Maker

    cls = family(name)
    tried, examples = 0, list(cls.examples(Maker(cls)))[:2]
    for example in examples:
        dtypes = [a.dtype for a in example.arrays]
        example.op.infer_type(*dtypes)
        for place, given in enumerate(example.op.input_names()):
            kinds = next((k for group, k in cls.types.items() if given in group.split()), None)
            for other in ("bool", "uint8", "float16", "complex64", "int64"):
                if kinds is None or other in kinds:
                    continue
                wrong = [*dtypes[:place], dtype(other), *dtypes[place + 1 :]]
                with pytest.raises(OpError, match=f"got {given} of dtype {other}, wanted"):
                    example.op.infer_type(*wrong)
                tried += 1
    judged = [k for group, k in cls.types.items() if set(group.split()) & set(cls.inputs) and "*" not in group]
    assert tried or all(set(k) >= {"bool", "uint8", "float16", "complex64", "int64"} for k in judged) or not examples


def test_inputs_of_one_type_variable_have_one_dtype():
    clip = lookup("_onnx_Clip").bind(given=("min",))
    with pytest.raises(OpError, match="got input of dtype float32, min of dtype float64, wanted one dtype"):
        clip.infer_type(np.dtype(np.float32), np.dtype(np.float64))


def test_outputs_have_dtypes_of_the_schema_too():
    with pytest.raises(OpError, match="got output of dtype int64, wanted bfloat16 or float16"):
        lookup("_onnx_RandomNormalLike").bind().infer_type(np.dtype(np.int64))
