"""Attribute kinds: what is written reads back, whatever MXNet version wrote it; what is none is refused."""

import copy
import math
import pickle
import re
import typing
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.core import shapes
from hybrid.core.attrs import (
    LONGEST,
    Count,
    Counts,
    Several,
    Size,
    Sizes,
    declare_dtype,
    declared_dtype,
    dtype,
    dtype_flag,
    is_float,
    kind_of,
)
from hybrid.core.documents import document
from hybrid.core.error import OpError
from hybrid.core.functions import attribute_text, signature
from hybrid.core.op import REGISTRY, Op, lookup, op
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


@each(cases(), lambda case: ("all", "-".join(case.label())))
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


# -- texts and values to the letter ------------------------------------------------------------------------------------------------


def test_what_each_kind_writes_and_reads() -> None:
    nested = tuple[tuple[int, ...], ...]
    for annotation, value, text, others in (
        (int, -3, "-3", ["-3L", " -3 ", "-03"]),
        (float, 2.0, "2", ["2.0", "2.", "2f", "2.0F", "2e0", "+2"]),
        (float, -0.0, "-0.0", ["-0"]),
        (float, 1e15, "1000000000000000.0", ["1e15"]),
        (float, 999999999999999.0, "999999999999999", []),
        (float, 0.1, "0.1", ["1e-1", ".1"]),
        (float, math.inf, "inf", ["Infinity", "+inf"]),
        (bool, True, "True", ["true", "1"]),
        (bool, False, "False", ["false", "0"]),
        (tuple[int, ...], (3,), "(3,)", ["3", "(3)", "[3]", "(3L,)", "3,"]),
        (tuple[int, ...], (3, -4), "(3, -4)", ["3,-4", "[3, -4]", "(3,-4,)"]),
        (tuple[int, ...], (), "()", ["[]", ""]),
        (tuple[float, ...], (0.5, 2.0), "(0.5, 2)", ["[0.5,2.0]"]),
        (tuple[int | None, ...], (None, 3), "(None, 3)", ["[None,3]"]),
        (nested, ((1, 2), (3,)), "((1, 2), (3,))", ["[[1, 2], [3]]", "((1,2),3)"]),
        (int | None, None, "None", [""]),
        (int | None, 4, "4", []),
        (tuple[int, ...] | None, None, "None", [""]),
        (np.dtype, np.dtype("float16"), "float16", ["half", "f2", "<f2"]),
        (np.dtype, np.dtype("int64"), "int64", ["i8", "int"]),
        (Literal["avg", "max"], "max", "max", []),
        (tuple[str, ...], ("a", "b.c:d-1"), "(a, b.c:d-1)", ["a,b.c:d-1"]),
        (tuple[str, ...], ("a b", "c,"), '["a b", "c,"]', []),
    ):  # fmt: skip
        kind = kind_of(annotation)
        assert kind.write(kind.read(value)) == text
        for each_text in (text, *others):
            got = kind.read(each_text)
            assert repr(got) == repr(value), (annotation, each_text)
    choice = kind_of(Literal["int32", "int64"])
    assert [choice.read(v) for v in ("int32", np.int64, np.int32)] == ["int32", "int64", "int32"]


def test_arrays_of_every_dtype_to_the_bit() -> None:
    kind = kind_of(np.ndarray)
    arrays = [
        np.array([[1, -2], [3, 4]], np.int8), np.array(7, np.int64), np.array([0.1, -np.inf, np.pi], np.float32),
        np.array([1 + 2j, -0.5j], np.complex64), np.array([1 / 3, -2.5, 1e30]).astype(dtype("bfloat16")),
        np.array(["a", "b, [c]"], object), np.array([True, False]), np.zeros((2, 0), np.float16),
    ]  # fmt: skip
    for array in arrays:
        again = kind.read(kind.write(array))
        assert (again.dtype, again.shape) == (array.dtype, array.shape)
        assert not again.flags.writeable
        if array.dtype == object:
            assert again.tolist() == array.tolist()
        else:
            assert again.tobytes() == array.tobytes()
    assert kind.write(arrays[0]) == "int8(2, 2) [1, -2, 3, 4]"
    assert kind.write(arrays[1]) == "int64() [7]"
    assert kind.write(arrays[3]) == "complex64(2) [1.0, 2.0, -0.0, -0.5]"
    assert kind.read("int32(2,3) [1, 2, 3, 4, 5, 6]").tolist() == [[1, 2, 3], [4, 5, 6]]
    fortran = np.array([[1, 2], [3, 4]], order="F")
    assert kind.write(fortran) == "int64(2, 2) [1, 2, 3, 4]"
    for wrong in ("int32(2) [1]", "int32(2) [1, 2", "int32 [1]", "int3(1) [1]", "int32(2) {}"):
        with pytest.raises(ValueError):
            kind.read(wrong)


def test_dtypes_by_name_type_and_code() -> None:
    """Codes are mshadow's type flags, in files since MXNet 0.8."""
    codes = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool", "int16", "uint16", "uint32",
             "uint64", "bfloat16"]  # fmt: skip
    for code, name in enumerate(codes):
        assert (dtype_flag(name), declare_dtype(name), dtype(name).name) == (code, str(code), name)
        assert dtype(dtype(name)) == dtype(name)
    for given_form, name in ((float, "float64"), (int, "int64"), (bool, "bool"), (np.float16, "float16"), ("double", "float64"),
                             ("single", "float32"), ("u1", "uint8"), (">f4", None), (np.dtype(">i4"), "int32")):  # fmt: skip
        if name is None:
            with pytest.raises(ValueError, match="is not known"):
                dtype(given_form)
        else:
            assert dtype(given_form).name == name and dtype(given_form).isnative
    assert declare_dtype("complex64") == "complex64"
    for wrong, said in (
        ("float99", "dtype 'float99' is not known"), (3.5, "3.5 is not a dtype"), (np.longdouble, "is not known"),
        (np.dtype("M8[s]"), "is not known"), ("x" * 99, f"dtype '{'x' * 40}' is not known"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(said)):
            dtype(wrong)
    with pytest.raises(ValueError, match="complex64 has no code in MXNet"):
        dtype_flag("complex64")
    for name, plain, small in (
        ("float16", True, True), ("float32", True, True), ("float64", True, True), ("bfloat16", True, True),
        ("int32", False, False), ("bool", False, False), ("complex64", False, False), ("float8_e4m3fn", False, True),
    ):  # fmt: skip
        assert (is_float(dtype(name)), is_float(dtype(name), small=True)) == (plain, small), name


def test_zero_and_minus_zero_are_two() -> None:
    """They are equal, so that a table of instances would take one for the other."""
    cls = REGISTRY["_mul_scalar"]
    signs = [math.copysign(1, cls.bind(scalar=s).scalar) for s in (0.0, -0.0, "0", "-0.0", 0.0, -0.0)]
    assert signs == [1, -1, 1, -1, 1, -1]
    assert cls.bind(scalar=2.0) is cls.bind(scalar="2") is cls.bind(scalar=2)
    assert cls.bind(scalar=2.0) != cls.bind(scalar=3.0)


# -- shapes of which not all is known --------------------------------------------------------------------------------

U = shapes.UNKNOWN


def test_shapes_that_are_known_in_part() -> None:
    for a, b, want in (
        (None, None, None), (None, (2, U), (2, U)), ((2, U), None, (2, U)), ((2, U), (U, 3), (2, 3)), ((U,), (U,), (U,)),
        ((), (), ()), ((2, 3), (2, 3), (2, 3)), ((2,), (3,), "differ"), ((2,), (2, 2), "rank"), ((0,), (1,), "differ"),
    ):  # fmt: skip
        if isinstance(want, str):
            with pytest.raises(ValueError, match=want):
                shapes.merge(a, b)
        else:
            assert shapes.identical(shapes.merge(a, b), want)
    assert shapes.identical(shapes.merge_all([None, (U, U, 4), (2, U, U)]), (2, U, 4)) and shapes.merge_all([]) is None
    for a, b, same, fitting in (
        ((2, U), (2, U), True, True), ((2, U), (2, 3), False, True), ((2, 3), (2, 4), False, False), ((2,), (2, 1), False, False),
        ((U, 3), (2, U), False, True), ((), (), True, True),
    ):  # fmt: skip
        assert (shapes.identical(a, b), shapes.compatible(a, b)) == (same, fitting), (a, b)
    assert (shapes.identical(None, None), shapes.identical(None, ()), shapes.identical((), None)) == (
        True,
        False,
        False,
    )
    for shape, array, fits in (
        (None, (2,), True), ((U, 3), (7, 3), True), ((U, 3), (7, 4), False), ((U,), (7, 3), False), ((), (), True),
        ((2,), (), False),
    ):  # fmt: skip
        assert shapes.fits(shape, array) == fits
    for given_shapes, want in (
        ([(2, 3), (3,)], (2, 3)), ([(2, 1), (1, 3)], (2, 3)), ([(U, 3), (2, 1)], (2, 3)), ([(U,), (1,)], (U,)),
        ([(1,), (1,)], (1,)), ([(4, 1, 3), (2, 1), ()], (4, 2, 3)), ([(U,), (U,)], (U,)), ([(0,), (1,)], (0,)),
        ([(2,), (3,)], None), ([(0,), (2,)], None),
    ):  # fmt: skip
        if want is None:
            with pytest.raises(ValueError, match="do not broadcast"):
                shapes.broadcast(*given_shapes)
        else:
            assert shapes.identical(shapes.broadcast(*given_shapes), want), given_shapes
    assert [shapes.show(s) for s in (None, (), (2,), (2, U, 7))] == ["unknown", "()", "(2,)", "(2, ?, 7)"]
    assert [shapes.is_known(s) for s in (None, (), (0, 2), (U,), (2, U))] == [False, True, True, False, False]
    for legacy, shape in (((0, 3), (U, 3)), ((-1, 3), (U, 3)), ((), None), ((2,), (2,))):
        assert shapes.identical(shapes.from_legacy(legacy), shape)
        assert shapes.to_legacy(shape) == tuple(0 if d == -1 else d for d in legacy)
    assert shapes.from_legacy(None) is None
    assert shapes.identical(shapes.of_rank(2), (U, U)) and len(shapes.of_rank(64)) == 64 and shapes.of_rank(0) == ()
    for rank in (-1, 65):
        with pytest.raises(ValueError, match="wanted 0 to 64"):
            shapes.of_rank(rank)


def test_a_size_that_is_not_known_takes_no_part_in_decisions() -> None:
    for made in (U + 2, 2 + U, U - 1, 1 - U, U // 2, 7 // U, U % 3, 3 % U, -U, U * 3, 3 * U, U * U):
        assert made is U
    assert (U * 0, 0 * U) == (0, 0)
    for decide in (
        lambda: U == 3,
        lambda: U != 3,
        lambda: U < 3,
        lambda: U >= 3,
        lambda: bool(U),
        lambda: int(U),
        lambda: [1][U],
    ):
        with pytest.raises(shapes.Undecided):
            decide()
    same = shapes.UNKNOWN
    assert (same == U, same != U, U == "n", U != "n", U == (2,)) == (True, False, False, True, False)
    assert pickle.loads(pickle.dumps(U)) is U and copy.deepcopy(U) is U and {U: 1}[U] == 1 and repr(U) == "?"


def test_which_annotations_are_kinds() -> None:
    """Those of one kind and None, in either order; tuples of any length; nothing else."""
    for annotation in (typing.Optional[int], None | int, int | None):  # noqa: UP045
        kind = kind_of(annotation)
        assert (kind.read(None), kind.read("7"), kind.write(None), kind.label) == (None, 7, "None", "int or None")
    assert kind_of(None | tuple[int, ...]).read("(2,)") == (2,)
    for annotation in (
        tuple[int, int], tuple[int], int | str, int | str | None, dict[str, int], list[int], object, None, bytes | None,
    ):  # fmt: skip
        with pytest.raises(TypeError, match="no attribute kind for annotation"):
            kind_of(annotation)


def test_edges_of_texts_and_values() -> None:
    whole, flag, words, numbers = (kind_of(a) for a in (int, bool, tuple[str, ...], tuple[int, ...]))
    assert [whole.read(v) for v in ("True", "False", True, False)] == [1, 0, 1, 0]
    assert [flag.read(v) for v in (True, False, 1, 0, 1.0, np.int64(0))] == [True, False, True, False, True, False]
    assert all(type(flag.read(v)) is bool for v in (1, 0.0, np.bool_(1)))
    for wrong in (2, -1, 0.5, "2", "TRUE"):
        with pytest.raises(ValueError):
            flag.read(wrong)
    for value, text in (
        (("a", "b"), "(a, b)"),
        (("a", "b c"), '["a", "b c"]'),
        (("", "b"), '["", "b"]'),
        (("a",), "(a,)"),
    ):
        assert words.write(value) == text
        assert words.read(text) == value
    assert numbers.read("()") == numbers.read("") == ()
    assert numbers.read([1] * LONGEST) == numbers.read(f"({'1,' * LONGEST})") == (1,) * LONGEST
    for wrong in ([1] * (LONGEST + 1), f"({'1,' * (LONGEST + 1)})"):
        with pytest.raises(ValueError):
            numbers.read(wrong)


def test_dtypes_that_variables_declare(monkeypatch) -> None:
    for text, name in (
        (None, None), ("-1", None), ("0", "float32"), ("1", "float64"), ("12", "bfloat16"), ("13", None), ("99", None),
        ("float8_e5m2", "float8_e5m2"),
    ):  # fmt: skip
        assert declared_dtype(text) == name
    assert [declare_dtype(d) for d in ("float64", np.uint8, "complex64")] == ["1", "3", "complex64"]
    import ml_dtypes

    monkeypatch.delattr(ml_dtypes, "float4_e2m1fn")
    with pytest.raises(ValueError, match="float4_e2m1fn needs a newer ml_dtypes"):
        dtype("float4_e2m1fn")
    assert dtype("bfloat16").name == "bfloat16"


def test_what_an_operator_may_be_registered_as() -> None:
    """Each name once, and attributes of annotations that are kinds, with defaults that these take."""
    before = dict(REGISTRY)
    with pytest.raises(TypeError, match=r"relu: registered twice, by hybrid\.ops\.\w+ and tests\.graph"):
        op("relu")(type("Again", (Op,), {"__module__": "tests.graph"}))
    for notes, said in (
        ({"size": "int"}, "annotations must be objects"),
        ({"size": bytes}, "no attribute kind for annotation"),
    ):
        with pytest.raises(TypeError, match=rf"Odd\.size: {said}"):
            op("_odd")(type("Odd", (Op,), {"__annotations__": notes}))
    with pytest.raises(TypeError, match=r"Odd\.size: "):
        op("_odd")(type("Odd", (Op,), {"__annotations__": {"size": int}, "size": "many"}))
    assert before == REGISTRY


def test_operators_are_their_attributes() -> None:
    """Equal ones of equal attributes, of any spelling; -0.0 is another number; what is none of an operator's names is refused."""
    clip = REGISTRY["clip"]
    one, other = clip.bind(a_min=0.0, a_max=1.0), clip.bind(a_min=-0.0, a_max=1.0)
    assert (math.copysign(1, one.a_min), math.copysign(1, other.a_min)) == (1, -1)
    assert one != other and one == clip.bind(a_min="0", a_max="1") and hash(one) == hash(clip.bind(a_min=0, a_max=1.0))
    assert one != "clip" and one != REGISTRY["relu"].bind() and one != (one._key,)
    with pytest.raises(OpError, match="did you mean Convolution"):
        lookup("Convolutio")
    shown = {"x" * 99: f"'{'x' * 99}'", "x" * 100: f"'{'x' * 100}'...", "[" + "1" * 98: f"'[{'1' * 98}'"}
    for value, text in shown.items():
        with pytest.raises(OpError, match=re.escape(f"attribute shape={text} is not")):
            REGISTRY["Reshape"].bind(shape=value)
    for count in (19, 20):
        text = repr(["ab"] * count)
        with pytest.raises(OpError) as caught:
            REGISTRY["Reshape"].bind(shape=["ab"] * count)
        assert f"shape={text if len(text) < 120 else text[:110] + '...'} is not" in str(caught.value)


def test_values_that_follow_before_anything_runs() -> None:
    """Of an operator with one output that needs and changes nothing else, when all inputs are known."""
    two, shapes_ = [np.array([3, 1]), np.array([2, 5])], [(2,), (2,)]
    np.testing.assert_array_equal(lookup("elemwise_add").bind().infer_value(two, shapes_), [5, 6])
    assert lookup("elemwise_add").bind().infer_value([two[0], None], shapes_) is None
    floats = [a.astype(np.float32) for a in two]
    assert lookup("sgd_mom_update").bind(lr=0.5).infer_value([*floats, floats[0]], [*shapes_, (2,)]) is None
    np.testing.assert_array_equal(floats, two)
    assert lookup("SliceChannel").bind(num_outputs=2, axis=0).infer_value(two[:1], [(2,)]) is None
    assert lookup("Dropout").bind(mode="always").infer_value(floats[:1], [(2,)]) is None


def test_what_a_class_may_say_of_its_attributes() -> None:
    """None before the kind, a bare ClassVar, an attribute called as a keyword of the frontend's, no docstring."""
    name = "_backward_of_a_test"

    @op(name)
    class Thing(Op):
        limit: None | int = None  # noqa: RUF036  as somebody may write it
        table: typing.ClassVar = {"a": 1}
        out: float = 2.0

        inputs = ("data",)

    try:
        assert list(Thing.fields) == ["limit", "out"]
        assert [Thing.bind(limit=v).limit for v in ("None", "3", None, 4)] == [None, 3, None, 4]  # type: ignore[attr-defined]
        assert list(signature(Thing, ("out", "name")).parameters) == ["data", "limit", "out", "name"]
        told = document(Thing, "nd.thing", ()).splitlines()
        assert told[0] == name and told[2:5] == ["Parameters", "----------", "data : array"]
    finally:
        del REGISTRY[name]
