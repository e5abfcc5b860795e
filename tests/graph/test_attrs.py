"""Attribute kinds: what is written reads back, whatever MXNet version wrote it; what is none is refused."""

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.core.attrs import LONGEST, Count, Counts, Several, Size, Sizes, kind_of
from hybrid.core.error import OpError
from hybrid.core.functions import attribute_text
from hybrid.core.op import REGISTRY
from tests.grouped import each
from tests.table.goldens import Case, cases

INTS = st.integers(-(2**62), 2**62)
VALUES = {
    int: INTS,
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    str: st.text(),
    tuple[int, ...]: st.lists(INTS, max_size=5).map(tuple),
    tuple[float, ...]: st.lists(st.floats(allow_nan=False), max_size=4).map(tuple),
    tuple[int | None, ...]: st.lists(st.none() | INTS, max_size=4).map(tuple),
    int | None: st.none() | INTS,
    float | None: st.none() | st.floats(allow_nan=False),
    tuple[int, ...] | None: st.none() | st.lists(INTS, max_size=4).map(tuple),
    Literal["avg", "max"]: st.sampled_from(["avg", "max"]),
    np.dtype: st.sampled_from(
        [np.dtype(t) for t in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")]
    ),
}


@pytest.mark.parametrize("annotation", VALUES, ids=str)
@given(data=st.data())
def test_texts_read_back(annotation, data) -> None:
    kind = kind_of(annotation)
    value = data.draw(VALUES[annotation])
    assert kind.read(value) == value
    if annotation is str:
        assert kind.write(value) == value
        return
    for text in (kind.write(value), attribute_text(value), f" {kind.write(value)} "):
        assert kind.read(text) == value
        assert str(kind.read(text)) == str(value)  # -0.0 equals 0.0


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, "2L", 2), (int, "-1", -1), (int, "True", 1), (float, "1e-05", 1e-5), (float, "0.5f", 0.5), (float, "-inf", -math.inf),
        (bool, "True", True), (bool, "0", False), (bool, "false", False), (tuple[int, ...], "(2L, 2L)", (2, 2)),
        (tuple[int, ...], "[3,3]", (3, 3)), (tuple[int, ...], "(2,)", (2,)), (tuple[int, ...], "2", (2,)),
        (tuple[int, ...], "()", ()),
        (tuple[int, ...], "[]", ()), (tuple[int | None, ...], "(None, 3)", (None, 3)), (int | None, "None", None),
        (np.dtype, "float16", np.dtype("float16")),
    ],
)  # fmt: skip
def test_texts_of_other_versions(annotation, text, value) -> None:
    got = kind_of(annotation).read(text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("annotation", "wrong"),
    [
        (int, "x"), (int, "1.5"), (int, 1.5), (int, ""), (int, "1_000"), (float, "x"), (float, ""), (bool, "yes"),
        (bool, "2"), (bool, 2), (bool, -1), (bool, 0.5),
        (bool, []), (tuple[int, ...], "(1, 2"), (tuple[int, ...], "(1; 2)"), (tuple[int, ...], "(1,,2)"), (tuple[int, ...], "1.5"),
        (Literal["avg", "max"], "min"), (np.dtype, "float99"), (str, 3), (int | None, "x"),
    ],
)  # fmt: skip
def test_what_is_none_is_refused(annotation, wrong) -> None:
    with pytest.raises((ValueError, TypeError)):
        kind_of(annotation).read(wrong)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"), (None, "None"), (3, "3"), (1.0, "1.0"), (1e-5, "1e-05"), ((3, 3), "(3, 3)"),
        ([3, 3], "[3, 3]"), ((2,), "(2,)"),
        (np.int64(4), "4"), (np.float32(0.5), "0.5"), ((np.int64(1), np.int32(2)), "(1, 2)"), (np.float16, "float16"),
        (np.dtype("int8"), "int8"), ("float16", "float16"), ((), "()"), ((None, 2), "(None, 2)"), (np.bool_(True), "True"),
    ],
)  # fmt: skip
def test_values_are_written_as_mxnet_writes_them(value, text: str) -> None:
    assert attribute_text(value) == text


@each(cases(), Case.label)
def test_dumped_attributes_bind_the_same_instance(case: Case) -> None:
    cls = REGISTRY[case.operator]
    instance = cls.bind(**case.attrs)
    assert cls.bind(**instance.dump()) == instance
    assert cls.bind(**case.attrs) is instance
    assert hash(cls(**instance.dump())) == hash(instance)
    with pytest.raises(AttributeError, match="immutable"):
        instance.anything = 1


@pytest.mark.parametrize("value", [np.zeros((2, 3)), np.array(3), np.zeros((0, 2), np.int32), np.array(["a"], object)])
def test_arrays_as_text(value: np.ndarray) -> None:
    kind = kind_of(np.ndarray)
    again = kind.read(kind.write(value))
    np.testing.assert_array_equal(again, value, strict=True)


def test_a_damaged_array_is_refused_at_once() -> None:
    # a pattern that could share out the digits in many ways would take years
    with pytest.raises(ValueError):
        kind_of(np.ndarray).read(f"int64({'1' * 60}x) [1]")


@pytest.mark.parametrize(
    ("annotation", "wrong"),
    [
        (int, str(2**63)), (int, -(2**63) - 1), (int, "9" * 100_000), (tuple[int, ...], f"({2**63},)"), (int, math.inf),
        (Count, "0"), (Count, -1), (Count, 2**31), (Size, "-1"), (Several, "100000"), (Counts, "(3, 0)"), (Sizes, (1, -1)),
        (Count | None, "0"),
    ],
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused(annotation, wrong) -> None:
    with pytest.raises((ValueError, OverflowError)):
        kind_of(annotation).read(wrong)


@pytest.mark.parametrize(
    "text", ["S5", "O", "datetime64", "m8", "f4,i4", "(2,)f4", ">f4", "V8", "x" * 10**6, "[('a','f4')]", "U"]
)
def test_dtype_texts_are_names_and_nothing_else_that_numpy_reads(text: str) -> None:
    with pytest.raises(ValueError, match="dtype"):
        kind_of(np.dtype).read(text)


def test_dtypes_are_those_of_this_machine() -> None:
    assert kind_of(np.dtype).read(np.dtype(">f4")).isnative


@pytest.mark.parametrize(
    "text",
    [
        f"({','.join('1' * (LONGEST + 2))})", "(" * 10**6, f"{'(' * 10**6}{')' * 10**6}", "," * 10**6, f"[{'1,(' * 10**5}",
        f"({'1 ' * 10**6})",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "annotation", [tuple[int, ...], tuple[float, ...], tuple[str, ...], np.ndarray, int, float, bool, Count]
)
def test_texts_of_any_length_and_depth_are_refused_at_once(annotation, text: str) -> None:
    """A reader that looks ahead from every comma would take minutes."""
    if annotation == tuple[str, ...] and kind_of(annotation).read("x") and text.startswith(("((", "[1", "(1 ")):
        return  # words, if odd ones
    with pytest.raises(ValueError):
        kind_of(annotation).read(text)


@pytest.mark.parametrize("annotation", [tuple[str, ...], np.ndarray])
def test_json_nested_deeper_than_python_goes_is_refused(annotation) -> None:
    text = f'["a", {"[" * 10**5}{"]" * 10**5}]'
    with pytest.raises(ValueError):
        kind_of(annotation).read(text if annotation == tuple[str, ...] else f"int64(1) {text}")


def test_what_attributes_are_refused_for_is_said_briefly() -> None:
    with pytest.raises(OpError) as caught:
        REGISTRY["Reshape"].bind(shape="9" * 10**6)
    assert len(str(caught.value)) < 400
