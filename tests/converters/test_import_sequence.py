"""Sequences, optionals and words, read and written."""

import itertools
import re

import numpy as np
import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as pybind
import pytest
from onnx import TensorProto, helper

from converters import to_onnx
from converters.error import UnsupportedModel
from converters.importer import from_onnx, import_model
from hybrid import nd, symbol
from hybrid.core.boxed import box, unbox
from hybrid.core.error import MXNetError, OpError
from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.gluon import SymbolBlock
from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Graph
from hybrid.ir.infer import infer
from tests.grouped import run

from .agreement import agree, by_onnxruntime, parsed

X = np.float32([[1, -2, 3], [4, 5, -6], [7, 8, 9]])


def words(*values: object) -> np.ndarray:
    return np.array(values, object)


# -- sequences --------------------------------------------------------------------------------------------------------


def test_every_position() -> None:
    text = """main (seq(float[?]) s, float[2] x, int64 i) => (seq(float[?]) inserted, seq(float[?]) erased, float[N] at, int64 n) {
        inserted = SequenceInsert (s, x, i)
        erased = SequenceErase (s, i)
        at = SequenceAt (s, i)
        n = SequenceLength (inserted)
    }"""
    many = [np.arange(k, dtype="f4") for k in (1, 2, 3)]
    agree(text, *({"s": many, "x": np.float32([7, 8]), "i": np.array(i)} for i in (0, 1, 2, -1, -3)))


def test_elements_are_of_the_kind_that_the_sequence_holds() -> None:
    """An element at a position known only when the model runs goes on as a tensor, into another sequence and out of it."""
    text = """main (seq(float[?]) s, int64 i, int64 j) => (seq(float[?]) more, float[N] y, optional(float[?]) z) {
        at = SequenceAt (s, i)
        more = SequenceConstruct (at, at)
        y = SequenceAt (more, j)
        z = Optional (y)
    }"""
    many = [np.arange(k, dtype="f4") for k in (1, 2, 3)]
    found = agree(text, {"s": many, "i": np.array(2), "j": np.array(1)})
    written = to_onnx(found.graph, found.params, found.inputs, 21)
    assert [o.type.WhichOneof("value") for o in written.graph.output] == [
        "sequence_type",
        "tensor_type",
        "optional_type",
    ]


def test_positions_outside_are_refused() -> None:
    insert, erase, at = (lookup(f"_onnx_Sequence{n}") for n in ("Insert", "Erase", "At"))
    one = box([X])
    for position in (2, -2):
        with pytest.raises(OpError, match=f"position {position} in a sequence of 1"):
            insert.bind(given=("position",)).compute(one, X, np.array(position))
    for position in (1, -2):
        with pytest.raises(OpError, match="position"):
            at.bind().compute(one, np.array(position))
    with pytest.raises(OpError, match="sequence of 0"):
        erase.bind().compute(box([]))
    with pytest.raises(OpError, match="wanted a sequence"):
        erase.bind().compute(X)
    assert len(unbox(insert.bind(given=("position",)).compute(one, X, np.array(1)))) == 2


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("split", ["", "2", "[1, 2]", "[3, 0]"])
def test_split_and_join(axis: int, split: str) -> None:
    sizes = {"": "", "2": "<int64 k = {2}>", "[1, 2]": "<int64[2] k = {1, 2}>", "[3, 0]": "<int64[2] k = {3, 0}>"}[
        split
    ]
    text = f"""main (float[N, 3] x, float[N, 3] y) => (seq(float[?, ?]) parts, float[A, B] again) {sizes} {{
        parts = SplitToSequence <axis = {axis}> (x{", k" if split else ""})
        more = SequenceInsert (parts, y)
        again = ConcatFromSequence <axis = {axis}> (more)
    }}"""
    agree(text, {"x": X, "y": X})


def test_pieces_have_to_add_up() -> None:
    """Sizes that fall short of the axis, or go beyond it, or of which one is below 0, are refused as onnxruntime does."""
    sequence = """main (float[3, 4] x) => (float[A, B] y) <int64[2] k = {SIZES}, int64 i = {0}> {
        parts = SplitToSequence <axis = 0> (x, k)
        y = SequenceAt (parts, i)
    }"""
    split = "main (float[3, 4] x) => (float[A, B] y) <int64[2] k = {SIZES}> { y, z = Split <axis = 0> (x, k) }"
    for text in (sequence, split):
        for sizes in ("1, 1", "1, 3", "4, -1"):
            model = parsed(text.replace("SIZES", sizes))
            with pytest.raises((pybind.Fail, pybind.RuntimeException, pybind.InvalidArgument)):
                by_onnxruntime(model, {"x": np.zeros((3, 4), np.float32)})
            with pytest.raises((MXNetError, UnsupportedModel)):
                found = import_model(model)
                Program(found.graph, found.params).run({"x": np.zeros((3, 4), np.float32)})
        agree(text.replace("SIZES", "1, 2"), {"x": np.arange(12, dtype=np.float32).reshape(3, 4)})


@pytest.mark.parametrize("sizes", ["1, 2, 1", "2, 1, 1", "1, 3, 0", "0, 1, 3"])
def test_pieces_of_several_sizes(sizes: str) -> None:
    """Each by its place, of sizes that the model states and of an axis that is known."""
    for place in range(3):
        text = f"""main (float[2, 4] x) => (float[A, B] y) <int64[3] k = {{{sizes}}}, int64 i = {{{place}}}> {{
            parts = SplitToSequence <axis = 1> (x, k)
            y = SequenceAt (parts, i)
        }}"""
        agree(text, {"x": np.arange(8, dtype=np.float32).reshape(2, 4)})


def test_split_without_the_axis_and_join_along_a_new_one() -> None:
    text = """main (float[N, 3] x) => (float[3, N] y, int64 n) {
        parts = SplitToSequence <axis = 0, keepdims = 0> (x)
        n = SequenceLength (parts)
        y = ConcatFromSequence <axis = 1, new_axis = 1> (parts)
    }"""
    agree(text, {"x": X}, {"x": X[:1]})


def test_what_is_split_and_joined_has_gradients() -> None:
    """A sequence that is made and taken apart within the graph leaves no trace."""
    text = """main (float[N, 3] x, float[M, 3] y) => (float[A, 3] z) {
        zero = Constant <value = int64 {0}> ()
        both = SequenceConstruct (x, y)
        more = SequenceInsert (both, y, zero)
        last = SequenceErase (more)
        first = SequenceAt (last, zero)
        joined = ConcatFromSequence <axis = 0> (more)
        twice = Concat <axis = 0> (joined, first)
        z = Mul (twice, twice)
    }"""
    found = agree(text, {"x": X, "y": X[:2]}, {"x": X[:1], "y": X[1:]})
    assert not any("Sequence" in n.op.name for n in found.graph.nodes if n.op)
    variables = {n.name: n for n in found.graph.variables()}
    made = gradients([(found.graph.outputs[0], None)], [variables["x"], variables["y"]])
    dx, dy = Program(Graph(e for e in made if e)).run({"x": X, "y": X[:2]})
    np.testing.assert_allclose(dx, 2 * X)
    np.testing.assert_allclose(dy, 6 * X[:2])


def test_a_sequence_holds_what_was_put_in() -> None:
    """Also when the memory of what was put in serves others by then."""
    text = """main (float[N, 3] x) => (float[N, 3] y, seq(float[?, 3]) s) {
        a = Relu (x) s = SequenceConstruct (a, x) b = Neg (x) c = Relu (b) y = Add (c, b)
    }"""
    found = import_model(parsed(text))
    program = Program(found.graph)
    x = X.copy()
    for _ in range(3):
        y, s = program.run({"x": x})
        x[:] += 1
        one, other = unbox(s)
        np.testing.assert_array_equal(other, x - 1)
        np.testing.assert_array_equal(one, np.maximum(x - 1, 0))
        np.testing.assert_array_equal(y, np.maximum(1 - x, 0) + (1 - x))


# -- sequences that are made within the graph --------------------------------------------------------------------------


def said(found: object) -> str:
    """The operators of what has been read, without those that make constants."""
    names = [n.op.name for n in found.graph.nodes if n.op is not None]
    return " ".join(n.removeprefix("_onnx_") for n in names if n != "_onnx_Constant")


THREE = "s = SequenceConstruct (x, y, z)"
"""Of which the pieces have 1, 2 and 4 rows."""
KNOWN = [
    # at, insert and erase by positions that the file says
    *((f"{THREE} p = Constant <value = int64 {{{i}}}> () r = SequenceAt (s, p)", "") for i in (0, 2, -1, -3)),
    *(
        (
            f"{THREE} p = Constant <value = int64 {{{i}}}> () t = SequenceInsert (s, w, p) r = ConcatFromSequence <axis = 0> (t)",
            "Concat",
        )
        for i in (0, 1, 3, -1, -3)
    ),
    (f"{THREE} t = SequenceInsert (s, w) r = ConcatFromSequence <axis = 0> (t)", "Concat"),
    *(
        (
            f"{THREE} p = Constant <value = int64 {{{i}}}> () t = SequenceErase (s, p) r = ConcatFromSequence <axis = 0> (t)",
            "Concat",
        )
        for i in (0, 1, 2, -1, -3)
    ),
    (f"{THREE} t = SequenceErase (s) r = ConcatFromSequence <axis = 0> (t)", "Concat"),
    (f"{THREE} t = SequenceErase (s) last = SequenceErase (t) r = SequenceLength (last)", ""),
    (f"{THREE} t = SequenceInsert (s, w) r = SequenceLength (t)", ""),
    (
        "e = SequenceEmpty () t = SequenceInsert (e, w) last = SequenceInsert (t, x) r = ConcatFromSequence <axis = 0> (last)",
        "Concat",
    ),
    ("e = SequenceEmpty () r = SequenceLength (e)", ""),
    # at positions that come when it runs
    (f"{THREE} r = SequenceAt (s, i)", "SequenceConstruct SequenceAt"),
    (
        f"{THREE} t = SequenceInsert (s, w, i) r = ConcatFromSequence <axis = 0> (t)",
        "SequenceConstruct SequenceInsert ConcatFromSequence",
    ),
    (
        f"{THREE} t = SequenceErase (s, i) r = ConcatFromSequence <axis = 0> (t)",
        "SequenceConstruct SequenceErase ConcatFromSequence",
    ),
    (f"{THREE} t = SequenceErase (s, i) r = SequenceLength (t)", "SequenceConstruct SequenceErase SequenceLength"),
    # joined along a new axis: arrays that have axes
    ("s = SequenceConstruct (y, y2) r = ConcatFromSequence <axis = 0, new_axis = 1> (s)", "stack"),
    ("s = SequenceConstruct (y, y2) r = ConcatFromSequence <axis = -1, new_axis = 1> (s)", "stack"),
    (
        "s = SequenceConstruct (i, i) r = ConcatFromSequence <axis = 0, new_axis = 1> (s)",
        "SequenceConstruct ConcatFromSequence",
    ),
    ("s = SequenceConstruct (y, u) r = ConcatFromSequence <axis = 0> (s)", "Concat"),
    ("s = SequenceConstruct (y, any) r = ConcatFromSequence <axis = 0> (s)", "SequenceConstruct ConcatFromSequence"),
    (
        "s = SequenceConstruct (v, v2) r = ConcatFromSequence <axis = 0> (s)",
        "SequenceConstruct ConcatFromSequence",
    ),
    # taken into pieces
    ("s = SplitToSequence <axis = 0> (z) r = ConcatFromSequence <axis = 1> (s)", "slice_axis " * 4 + "Concat"),
    ("s = SplitToSequence <axis = -1> (z) r = ConcatFromSequence <axis = 0> (s)", "slice_axis " * 3 + "Concat"),
    (
        "s = SplitToSequence <axis = 0, keepdims = 0> (z) r = ConcatFromSequence <axis = 1, new_axis = 1> (s)",
        "slice_axis squeeze " * 4 + "stack",
    ),
    (
        "k = Constant <value = int64 {2}> () s = SplitToSequence (z, k) r = ConcatFromSequence <axis = 1> (s)",
        "slice_axis slice_axis Concat",
    ),
    (
        "k = Constant <value_ints = [1, 3]> () s = SplitToSequence (z, k) r = ConcatFromSequence <axis = 0> (s)",
        "slice_axis slice_axis Concat",
    ),
    (
        "k = Constant <value_ints = [4, 0]> () s = SplitToSequence (z, k) r = ConcatFromSequence <axis = 0> (s)",
        "SplitToSequence ConcatFromSequence",
    ),
    ("s = SplitToSequence <keepdims = 0> (v3) r = SequenceLength (s)", "SplitToSequence SequenceLength"),
    ("s = SplitToSequence (v3) r = SequenceLength (s)", ""),
    ("s = SplitToSequence <axis = 0> (u) r = SequenceLength (s)", "SplitToSequence SequenceLength"),
    ("s = SplitToSequence (f) r = SequenceLength (s)", "SplitToSequence SequenceLength"),
    ("s = SplitToSequence (v) r = SequenceLength (s)", "SplitToSequence SequenceLength"),
    ("s = SplitToSequence <axis = 1> (n) r = SequenceLength (s)", "SplitToSequence SequenceLength"),
    ("s = SplitToSequence (z, i) r = SequenceLength (s)", "SplitToSequence SequenceLength"),
    ("s = SplitToSequence (any) r = SequenceLength (s)", "SplitToSequence SequenceLength"),
    ("s = SplitToSequence (most) r = SequenceLength (s)", ""),
    ("s = SplitToSequence (more) r = SequenceLength (s)", "SplitToSequence SequenceLength"),
]


def test_a_sequence_that_is_known_is_taken_apart() -> None:
    """By which operators, and what comes out; unused values leave nothing behind."""
    rng = np.random.default_rng(3)
    shapes = {"x": (1, 3), "y": (2, 3), "y2": (2, 3), "z": (4, 3), "w": (3, 3), "v3": (3,), "n": (0, 3), "most": (256,)}
    shapes["more"] = (257,)
    kinds = {n: f"float[{', '.join(map(str, s))}] {n}" for n, s in shapes.items()}
    feeds = {n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()}
    for name, kind, value in (
        ("i", "int64", np.array(1)),
        ("u", "float[a, 3]", feeds["z"]),
        ("any", "float[]", feeds["z"]),
        ("f", "float[a, 3]", feeds["y"]),
        ("v", "string[2, 1]", words("a", "bc").reshape(2, 1)),
        ("v2", "string[1, 1]", words("d").reshape(1, 1)),
    ):
        kinds[name], feeds[name] = f"{kind} {name}", value

    def check(row: tuple[str, str]) -> None:
        body, wanted = row
        read = [
            n for n in kinds if n in re.findall(r"\w+", body.replace("value = int64", "").replace("value_ints", ""))
        ]
        made = "int64 r" if "SequenceLength" in body else "int64[?] r" if "(i, i)" in body else "float[?, ?] r"
        made = made.replace("float", "string") if "(v, v2)" in body else made
        text = f"main ({', '.join(kinds[n] for n in read)}) => ({made}) {{ {body} }}"
        found = agree(text, {n: feeds[n] for n in read}, again=None if "any" in read else 21)
        assert said(found) == wanted
        wide = {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in feeds.items() if n in read}
        if (
            wanted and wanted != "SplitToSequence SequenceLength" and not re.search("float|Empty", body)
        ):  # a dtype that NumPy says is None
            assert said(agree(text.replace("float", "double"), wide, again=None)) == wanted

    run([(body, (body, wanted.strip())) for body, wanted in KNOWN], check)


def test_pieces_of_given_sizes_keep_their_axis() -> None:
    text = """main (float[4, 3] z) => (float[?, 3] r) { k = Constant <value = int64 {3}> ()
        s = SplitToSequence <axis = 0, keepdims = 0> (z, k) r = ConcatFromSequence <axis = 0> (s) }"""
    z = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = agree(text, {"z": z}, wants=[[z]], again=None)
    assert said(found) == "slice_axis slice_axis Concat"


def test_places_outside_a_sequence_that_is_known_are_errors_when_it_runs() -> None:
    for node in ("r = SequenceAt (s, p)", "t = SequenceErase (s, p) r = SequenceLength (t)"):
        for place in (3, -4):
            text = f"""main (float[1, 3] x, float[2, 3] y, float[4, 3] z) => ({"int64 r" if "Length" in node else "float[?, ?] r"})
                {{ {THREE} p = Constant <value = int64 {{{place}}}> () {node} }}"""
            found = import_model(parsed(text))
            feeds = {"x": X[:1], "y": X[:2], "z": X[[0, 1, 2, 0]]}
            with pytest.raises(MXNetError, match=f"position {place} in a sequence of 3"):
                Program(found.graph).run(feeds)


# -- optionals --------------------------------------------------------------------------------------------------------


def test_optionals() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18]> main (float[N, 3] x, seq(float[N, 3]) s)
        => (bool a, bool b, bool c, float[N, 3] y, float[N, 3] z) {
        some = Optional (x)
        many = Optional (s)
        none = Optional <type: type_proto = seq(float)> ()
        a = OptionalHasElement (some)
        b = OptionalHasElement (none)
        c = OptionalHasElement ()
        y = OptionalGetElement (some)
        t = OptionalGetElement (many)
        zero = Constant <value = int64 {0}> ()
        z = SequenceAt (t, zero)
    }"""
    want = [np.array(True), np.array(False), np.array(False), X, X]
    agree(text, {"x": X, "s": [X]}, wants=[want])


def test_what_is_no_optional_is_its_own_element() -> None:
    """As opset 18 says: a tensor, and a sequence."""
    text = """<ir_version: 8, opset_import: ["" : 18]> main (float[N, 3] x, seq(float[N, 3]) s) => (float[N, 3] y, float[N, 3] z) {
        e = OptionalGetElement (x) y = Neg (e)
        t = OptionalGetElement (s) zero = Constant <value = int64 {0}> () z = SequenceAt (t, zero)
    }"""
    agree(text, {"x": X, "s": [X * 2]}, wants=[[-X, X * 2]])


def test_optional_inputs() -> None:
    text = """main (optional(float[N, 3]) o) => (bool b, float[N, 3] y) {
        b = OptionalHasElement (o)
        y = If (b) <
            then_branch = yes () => (float[N, 3] p) { p = OptionalGetElement (o) },
            else_branch = no () => (float[N, 3] p) { p = Constant <value = float[1, 3] {1, 2, 3}> () }
        >
    }"""
    wants = [[np.array(True), X], [np.array(False), np.float32([[1, 2, 3]])]]
    agree(text, {"o": X}, {"o": None}, wants=wants)


def test_an_empty_optional_has_no_element() -> None:
    with pytest.raises(MXNetError, match="ask OptionalHasElement first"):
        lookup("_onnx_OptionalGetElement").bind().compute(box(None))


# -- words ------------------------------------------------------------------------------------------------------------


def one_node(
    op: str, inputs: dict[str, np.ndarray], outputs: int, opset: int = 20, **attributes: object
) -> onnx.ModelProto:
    node = helper.make_node(op, list(inputs), [f"y{i}" for i in range(outputs)], **attributes)
    code = {"O": TensorProto.STRING, "i": TensorProto.INT64}
    infos = [
        helper.make_tensor_value_info(n, code[a.dtype.kind], [1 if d == 1 and a.ndim == 2 else None for d in a.shape])
        for n, a in inputs.items()
    ]
    results = [helper.make_empty_tensor_value_info(n) for n in node.output]
    model = helper.make_model(
        helper.make_graph([node], "main", infos, results), opset_imports=[helper.make_opsetid("", opset)]
    )
    model.ir_version = 9
    return onnx.shape_inference.infer_shapes(model)


def test_strings_are_joined() -> None:
    x, y = words("a", "", "é").reshape(3, 1), words("b", " ")
    agree(one_node("StringConcat", {"x": x, "y": y}, 1), {"x": x, "y": y})


@pytest.mark.parametrize(
    "options", [{}, {"delimiter": " "}, {"delimiter": ","}, {"delimiter": ", "}, {"maxsplit": 1}], ids=str
)
def test_strings_are_split(options: dict) -> None:
    x = words("a, b", "  c  d ", ",,", "e").reshape(2, 2)
    agree(one_node("StringSplit", {"x": x}, 2, **options), {"x": x})


def test_nothing_is_split() -> None:
    """onnxruntime counts no substring of an empty string, Python and the reference evaluator one where there is a delimiter."""
    x = words("", "a")
    want = [words("", "a").reshape(2, 1), np.array([1, 1])]
    agree(one_node("StringSplit", {"x": x}, 2, delimiter=","), {"x": x}, wants=[want])
    agree(one_node("StringSplit", {"x": x}, 2), {"x": x}, wants=[[want[0], np.array([0, 1])]])


SAMPLES = words(
    *(
        "",
        "a",
        "b",
        "ab",
        "abb",
        "A",
        "1",
        "12",
        "a1",
        "a_b",
        "a b",
        "a\n",
        "\n",
        "é",
        "]",
        "-",
        "a.b",
        "f@x.org",
        "\t",
        "\v",
    )
)
PATTERNS = [
    *("a*", "[ab]+", ".", ".*", "a$", "^a", r"\w+", r"\W", r"\d+", r"\s", r"\S+", "a|b|ab", "(a|ab)(b|bcd)?", "(?i)a+"),
    *("(?s).", "[^a]", "[]]", r"[\]-]", "[a-]+", r"a\b.*", r"a\B.*", "[[:alpha:]]+", "[[:space:]]", "ab{2}", "a{,2}"),
    *(
        r"\x61",
        r"\x{e9}",
        r"\141",
        "(?:a)(?P<n>b)",
        "a+?",
        r"\Aa\z",
        "(?i:A)b",
        r"[\w.@-]+",
        "()",
        "|a",
        "(^a)",
        r"[^\n]",
    ),
    *("a{1,}", r"[\x00-\x7f]+", "[a&&b]", "[[a]"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_re2_makes_of_them(pattern: str) -> None:
    agree(one_node("RegexFullMatch", {"x": SAMPLES}, 1, pattern=pattern), {"x": SAMPLES})


REFUSED = ["a**", "a++", "(?=a)", r"\1", r"\Z", "[a", "(a", "a)", "*a", r"\e", "x{2}{5}", "(?P=n)", r"\pL", "[a--b]"]


@pytest.mark.parametrize("pattern", REFUSED)
def test_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(OpError, match="is not read"):
        lookup("_onnx_RegexFullMatch").bind(pattern=pattern)


@pytest.mark.parametrize("action", ["NONE", "LOWER", "UPPER"])
@pytest.mark.parametrize("sensitive", [0, 1])
@pytest.mark.parametrize("stops", [(), ("monday", "Tuesday"), ("monday", "sunday, really", "")], ids=str)
def test_words_are_normalised(action: str, sensitive: int, stops: tuple[str, ...]) -> None:
    options = {"stopwords": stops} if stops else {}
    options |= {"case_change_action": action, "is_case_sensitive": sensitive, "locale": "C"}
    for x in (words("Monday", "tuesday", "", "sunday, really"), words("monday"), words("Tuesday", "x").reshape(1, 2)):
        agree(one_node("StringNormalizer", {"x": x}, 1, 10, **options), {"x": x})


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("lengths", [(1, 1), (1, 3), (2, 3), (3, 3)])
@pytest.mark.parametrize("skip", [0, 1, 5])
def test_grams_are_counted(mode: str, lengths: tuple[int, int], skip: int) -> None:
    rng = np.random.default_rng(5)
    options = {
        "mode": mode,
        "min_gram_length": lengths[0],
        "max_gram_length": lengths[1],
        "max_skip_count": skip,
        "ngram_counts": [0, 4, 8],
        "ngram_indexes": [6, 4, 3, 5, 0, 1, 2],
        "weights": [1.0, 2.0, 3.0, 0.5, 4.0, 5.0, 6.0],
    }
    pool = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 5]
    x = rng.integers(2, 9, (3, 12))
    agree(one_node("TfIdfVectorizer", {"x": x}, 1, 9, pool_int64s=pool, **options), {"x": x}, {"x": x[:1]})
    letters = x[0].astype(str).astype(object)
    agree(
        one_node("TfIdfVectorizer", {"x": letters}, 1, 9, pool_strings=list(map(str, pool)), **options), {"x": letters}
    )


def test_a_block_takes_and_gives_lists() -> None:
    text = """main (seq(float[?, 3]) s, int64 k) => (float[A, 3] y, seq(float[?, 3]) t) {
        y = SequenceAt (s, k) t = SequenceErase (s, k)
    }"""
    outputs, *_ = from_onnx(parsed(text))
    block = SymbolBlock(outputs, [symbol.var("s"), symbol.var("k")])
    y, t = block([nd.array(X), X[:1]], nd.array(np.array(1), dtype="int64"))
    np.testing.assert_array_equal(y.asnumpy(), X[:1])
    assert [a.asnumpy().tolist() for a in t] == [X.tolist()]


def test_sequences_of_other_kinds_than_floats() -> None:
    whole = np.array([5, 7])
    agree(
        """main (int64[2] x, int64 i) => (seq(int64[2]) e, seq(int64[2]) y, int64[2] z, int64[2] at) {
            e = SequenceEmpty <dtype = 7> ()
            y = SequenceInsert (e, x)
            o = SequenceInsert (e, x, i)
            z = SequenceAt (o, i)
            zero = Constant <value = int64 {0}> ()
            at = SequenceAt (y, zero)
        }""",
        {"x": whole, "i": np.array(0)},
    )
    text = """main (string[2] x, string[3] z) => (string[5] y) {
        s = SequenceConstruct (x, z)
        y = ConcatFromSequence <axis = 0> (s)
    }"""
    found = agree(text, {"x": words("a", ""), "z": words("c", "de", "f")})
    assert found.graph.outputs[0].node.op.name == "_onnx_ConcatFromSequence"


MAKERS = {
    "construct": "q = SequenceConstruct (x, x)",
    "empty": "e = SequenceEmpty <dtype = {code}> () q = SequenceInsert (e, x, o)",
    "given": "q = Identity (s)",
    "insert": "q = SequenceInsert (s, x, i)",
    "insert at the end": "q = SequenceInsert (s, x)",
    "erase": "q = SequenceErase (s, i)",
    "split": "q = SplitToSequence <axis = 0> (x, i)",
    "optional": "u = Optional (s) q = OptionalGetElement (u)",
    "map": "q = SequenceMap <body = m (e) => (z) {{ z = Identity (e) }}> (s)",
    "the second of a map": "p, q = SequenceMap <body = m ({type}[?] e) => (w, z) {{ z = Identity (e) w = Shape (e) }}> (s)",
    "map of a map": "p = SequenceMap <body = m (e) => (w) {{ w = Shape (e) }}> (s) "
    "q = SequenceMap <body = m (e, f) => (z) {{ z = Identity (e) }}> (s, p)",
    "map beside a tensor": "q = SequenceMap <body = m (e, f) => (z) {{ z = Concat <axis = 0> (e, f) }}> (s, x)",
    "map of what lies around": "q = SequenceMap <body = m ({type}[?] e) => (z) {{ z = SequenceAt (s, i) }}> (s)",
    "if": "q = If (b) <then_branch = t () => (v) {{ v = SequenceErase (s) }}, "
    "else_branch = f () => (w) {{ w = SequenceConstruct (x) }}>",
    "loop": "p, q = Loop <body = l (n, c, {type}[?] k, r) => (d, a, z) {{ d = Identity (c) a = Neg (k) z = SequenceErase (r) }}> "
    "(n, b, x, s)",
}
"""Sequences q of elements of a type, however they come about; nothing in the file says their type but what they are made from."""
READERS = {
    "at": "y = SequenceAt (q, o)",
    "join": "y = ConcatFromSequence <axis = 0> (q)",
    "more": "more = SequenceInsert (q, x, o) y = SequenceAt (more, o)",
    "fewer": "fewer = SequenceErase (q, i) y = SequenceAt (fewer, o)",
    "map": "mapped = SequenceMap <body = m2 (e2) => (z2) {{ z2 = Identity (e2) }}> (q) y = SequenceAt (mapped, o)",
    "optional": "v2 = Optional (q) u2 = OptionalGetElement (v2) y = SequenceAt (u2, o)",
}


def test_what_reads_a_sequence_knows_its_elements_dtype() -> None:
    failed = []
    for (code, kind, dtype), (maker, make), (reader, read) in itertools.product(
        ((7, "int64", np.int64), (11, "double", np.float64)), MAKERS.items(), READERS.items()
    ):
        names = {"code": code, "type": kind, "seq": f"seq({kind}[?])"}
        head = '<ir_version: 8, opset_import: ["" : 18]> main '
        given = f"(seq({kind}[?]) s, {kind}[N] x, int64 i, int64 o, bool b, int64 n) => (y) {{ "
        try:
            found = import_model(parsed(head + given + f"{make} {read}".format(**names) + " }"))
        except UnsupportedModel as error:
            failed.append(f"{maker} of {kind}, {reader}: {error}")
            continue
        known = infer(found.graph, {}, {k: v.dtype for k, v in found.inputs.items()}).spec(found.graph.outputs[0])
        if known.dtype != dtype:
            failed.append(f"{maker} of {kind}, {reader}: {known.dtype}")
    assert not failed


@pytest.mark.parametrize(
    ("attributes", "split", "message"),
    [
        ("", "0", "got split=0, wanted 1 at least"),
        ("<axis = 2>", "1", "got axis 2 for 2 dimensions"),
        ("<axis = -3>", "1", "got axis -3 for 2"),
    ],
)
def test_splits_that_cannot_be_are_refused_when_they_run(attributes: str, split: str, message: str) -> None:
    """A branch that is never taken may hold them."""
    text = f"""main (float[3, 3] x) => (float[?, 3] y) {{
        s = Constant <value = int64 {{{split}}}> () z = Constant <value = int64 {{0}}> ()
        all = SplitToSequence {attributes} (x, s) y = SequenceAt (all, z) }}"""
    found = import_model(parsed(text))
    with pytest.raises(OpError, match=message):
        Program(found.graph, found.params).run({"x": X})
