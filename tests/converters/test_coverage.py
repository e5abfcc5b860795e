"""docs/operators.md says what the registries and the classes say, and readings take what the schemas of the installed onnx have."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.defs import OpSchema

import converters
import hybrid
from converters import coverage, static_support
from converters.ops.onnx.ml_linear import TENSOR
from converters.registry import IMPORT, NOT_IMPORTED, ImportHandler, family_name, import_handler
from converters.static_support import HOLE, results
from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.examples import Maker
from hybrid.core.op import MISSING, OPS, REGISTRY, Op
from hybrid.ir.differentiate import rule as gradient_rule
from hybrid.ops.control import ControlFlow
from tests.grouped import over
from tests.table.goldens import cases
from tests.versions import needs_opset

OLDEST_READ = 7
"""The opset from which on every version of an operator has a reading."""

IGNORED = "consumed_inputs"  # of opset 1: hints for planning memory

DEPARTURES = {
    ("Clip", "m??"): "the first version says in words: the lowest and the largest float",
    ("Constant", "value"): "later versions have others beside it; a node with none is refused",
    ("Concat", "axis"): "the first version says in words: 1",
    ("GRU", "direction"): "the first version misspells it: foward",
    ("GridSample", "mode"): "bilinear, as version 16 calls it, is read as linear",
    ("LpPool", "kernel_shape"): "the first version leaves open what to pool by when it is not there",
    ("SequenceEmpty", "dtype"): "the schema says in words: float",
    ("Split", "axis"): "the first version leaves it open, the second says 0",
    ("RegexFullMatch", "pattern"): "there is nothing to match without",
    ("LabelEncoder", "classes_strings"): "there is nothing to encode by without",
    ("CategoryMapper", "cats_*"): "the text wants both lists",
    ("Linear*", "coefficients"): "there is no model without",
    ("SVM*", "coefficients"): "there is no model without",
    ("TreeEnsemble*", "nodes_*"): "there is no tree without",
    ("TreeEnsembleClassifier", "class_*"): "there are no leaves without",
    ("TreeEnsembleRegressor", "target_*"): "there are no leaves without",
    ("TreeEnsemble*", "n_targets"): "the schema leaves it open; one target is what a list without says",
}
"""(operator, attribute), where a reading wants an attribute or has a default other than the schema's, and why."""

SCHEMAS = sorted(
    (s for s in onnx.defs.get_all_schemas_with_history() if (s.domain, s.name) in IMPORT),
    key=lambda s: (s.domain, s.name, s.since_version),
)
ATTRIBUTES: dict[tuple[str, str], set[str]] = defaultdict(set)
for _schema in SCHEMAS:
    ATTRIBUTES[_schema.domain, _schema.name].update(_schema.attributes)


@functools.cache
def rows() -> tuple[coverage.Row, ...]:
    """The table, made once."""
    return tuple(coverage.rows())


def served() -> list[tuple[OpSchema, ImportHandler]]:
    """Every version of every operator that is read, with what reads it."""
    found = ((s, import_handler(s.domain, s.name, s.since_version)) for s in SCHEMAS)
    return [(s, reading) for s, reading in found if reading is not None]


def operator(schema: OpSchema) -> type[Op] | None:
    return OPS.get(family_name(schema.name, schema.domain))


def taken(schema: OpSchema, reading: ImportHandler) -> dict[str, Any]:
    """The attributes that a reading takes, with its defaults; MISSING for those without."""
    found: dict[str, Any] = {}
    if reading.everything:  # the operator of the family has them
        cls = operator(schema)
        assert cls is not None, f"{schema.name}: a reading that takes everything, and no operator to give it to"
        found = {f.name: f.default for f in cls.fields.values()}
        found |= {a: found[a.removesuffix(TENSOR)] for a in schema.attributes if a.removesuffix(TENSOR) in found}
    for name, parameter in inspect.signature(reading.handler).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            found[name] = MISSING if parameter.default is parameter.empty else parameter.default
    return found


def declared(attribute: OpSchema.Attribute) -> Any:
    """The default that a schema gives; MISSING, or None for none."""
    if attribute.required:
        return MISSING
    return onnx.helper.get_attribute_value(attribute.default_value) if attribute.default_value.type else None


def plain(value: Any) -> Any:
    """A default in a form to compare: types as ONNX's codes, numbers as they are stored, nothing as None."""
    if isinstance(value, np.dtype):
        return onnx.helper.np_dtype_to_tensor_dtype(value)
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, float):
        return float(np.float32(value))
    if not isinstance(value, str | bool | int) and hasattr(value, "__len__"):
        value = tuple(map(plain, value))
    return None if value in ((), "") else value


def test_the_table_is_up_to_date() -> None:
    said = (Path(__file__).parents[2] / "docs" / "operators.md").read_text()
    assert said == coverage.markdown(), "run: python -m converters.coverage > docs/operators.md"


def test_every_row_has_a_translation_or_a_reason() -> None:
    assert not [row.name for row in rows() if bool(row.opsets) == bool(row.reason)]


@over("name", [n for n, cls in OPS.items() if cls.inputs and not issubclass(cls, ControlFlow)])
def test_gradients_are_what_the_rules_say(name: str) -> None:
    """An operator has a gradient when it has one with some attributes, and none when it is refused with all."""
    found = set()
    for example in OPS[name].examples(Maker(OPS[name])):
        try:
            found.add(coverage.YES if gradient_rule(example.op).inputs else coverage.ZERO)
        except MXNetError:
            found.add(coverage.NO)
    said = coverage.gradient_of(OPS[name])
    assert not found or said in found or (said == coverage.YES and found == {coverage.ZERO})
    assert said != coverage.ZERO or coverage.YES not in found


def test_kernels_that_are_compiled_are_listed() -> None:
    said = {row.name for row in rows() if row.kernel not in ("", "chain", "nothing to do")}
    assert {n for n, _ in native.kernels() if n in OPS} <= said


@pytest.mark.slow
def test_refusals_of_recorded_cases_are_listed() -> None:
    """Refusals in the table are those of the translations, in other words than of dynamic sizes and opsets."""
    said = {row.name: row.refused for row in rows()}
    seen = set()
    for case in cases():
        name = REGISTRY[case.operator].name
        if not said[name]:
            continue
        try:
            converters.to_onnx(case.graph(), {}, dict(zip(case.names, case.arrays())), 15)
        except converters.UnsupportedModel as error:
            for problem in error.problems:
                patterns = [".*".join(map(re.escape, text.split(HOLE))) for text in said[name]]
                assert any(re.fullmatch(p, problem.reason) for p in patterns), (case.operator, case.id, problem.reason)
                seen.add(name)
    assert seen


def test_refusals_are_those_of_the_operator() -> None:
    """Several operators may share a translation that refuses something to one of them."""
    said = {row.name: row.refused for row in rows()}
    assert any("pooling_convention=full" in text for text in said["Pooling_v1"])
    assert not any("pooling_convention=full" in text for text in said["Pooling"])
    assert any(HOLE in text for text in said["_random_randint"])
    assert not said["FullyConnected"]


@pytest.mark.parametrize(
    ("onnx_name", "operators"),
    [
        ("Add", {"broadcast_add", "elemwise_add", "_plus_scalar"}),
        ("LSTM", {"RNN"}),
        ("If", {"_cond"}),
        ("Sum", {"add_n"}),
    ],
)
def test_readings_are_followed_to_what_they_end_in(onnx_name: str, operators: set[str]) -> None:
    read = {row.name: row.read for row in rows()}
    assert all(onnx_name in read[name] for name in operators)


def test_every_reading_ends_in_an_operator() -> None:
    """But those that give what is there already, or are spelt out as other ONNX operators."""
    nothing = [
        name
        for (domain, name), versions in IMPORT.items()
        if not domain and not any(results(r.handler, name, domain) for r in versions.values())
    ]
    assert set(nothing) == {"Constant", "SimplifiedLayerNormalization"}


def test_every_onnx_operator_is_read_or_refused_with_a_reason() -> None:
    assert not coverage.unread_operators()
    assert not {*IMPORT} & {*NOT_IMPORTED}


def test_every_version_has_a_reading() -> None:
    unread = [
        s for s in SCHEMAS if s.since_version >= OLDEST_READ and not import_handler(s.domain, s.name, s.since_version)
    ]
    assert not [f"{s.domain} {s.name} {s.since_version}" for s in unread]


def test_readings_take_the_attributes_of_every_version() -> None:
    lacking = [
        f"{schema.domain} {schema.name} {schema.since_version}: {', '.join(lost)}"
        for schema, reading in served()
        if (lost := sorted({*schema.attributes} - {*taken(schema, reading), IGNORED}))
    ]
    assert not lacking


@needs_opset(28)
def test_readings_take_no_attribute_that_no_version_has() -> None:
    """A keyword that a handler means for itself would be an attribute that a file can set."""
    invented = [
        f"{schema.name} {schema.since_version}: {', '.join(more)}"
        for schema, reading in served()
        if (more := sorted(reading.attributes - ATTRIBUTES[schema.domain, schema.name]))
    ]
    assert not invented


def test_defaults_are_those_of_the_schema() -> None:
    wrong, used = [], set()
    for schema, reading in served():
        own = taken(schema, reading)
        for name, attribute in schema.attributes.items():
            if name not in own or plain(own[name]) == plain(declared(attribute)):
                continue
            reason = next((k for k in DEPARTURES if fnmatch(schema.name, k[0]) and fnmatch(name, k[1])), None)
            used.add(reason)
            if reason is None:
                said = f"{name}={plain(own[name])!r}, wanted {plain(declared(attribute))!r}"
                wrong.append(f"{schema.domain} {schema.name} {schema.since_version}: {said}")
    assert not wrong
    assert not {*DEPARTURES} - used, "departures that are none"


def test_readings_take_as_many_inputs_as_every_version_has() -> None:
    wrong = []
    for schema, reading in served():
        variadic = bool(schema.inputs) and schema.inputs[-1].option == OpSchema.FormalParameterOption.Variadic
        least, most = reading.least, reading.most
        cls = operator(schema)
        if reading.everything and cls is not None and cls.inputs[:1] != () and not cls.inputs[0].startswith("*"):
            optional = getattr(cls, "optional", ())
            needed = [i for i, n in enumerate(cls.inputs, 1) if n not in optional]
            least, most = max(needed, default=0), len(cls.inputs)
        if least > schema.min_input or (most is not None and (variadic or most < schema.max_input)):
            wanted = f"{schema.min_input} to {'any number' if variadic else schema.max_input}"
            wrong.append(f"{schema.domain} {schema.name} {schema.since_version}: {least} to {most}, wanted {wanted}")
    assert not wrong


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
def test_a_file_cannot_choose_the_operator(name: str) -> None:
    """Seen: what a handler kept for itself in a keyword was an attribute."""
    reading = import_handler("", name, 13 if name == "Softmax" else 11)
    assert reading is not None
    assert reading.attributes == {"axis"}


def test_what_is_known_of_expressions() -> None:
    """Words, functions, conditions and returns that the source of a translation is followed through."""

    def f(a: Any) -> Any:
        return a

    def g(a: Any) -> Any:
        return a

    module = SimpleNamespace(f=f, word="inner", number=5)
    scope = {"op": static_support._Named("A"), "w": "word", "n": 5, "f": f, "g": g, "m": module}
    made = {
        "both": [ast.parse(t, mode="eval").body for t in ("'x'", "'y'")],
        "loop": [ast.parse("loop", mode="eval").body],
    }
    frame = static_support._Frame(scope, made)
    wrong = []

    def told(kind: str, text: str, want: Any) -> None:
        found = getattr(frame, kind)(ast.parse(text, mode="eval").body)
        if kind == "functions":
            found = [(x.func, x.args) if isinstance(x, functools.partial) else x for x in found]
        if found != want:
            wrong.append(f"{kind} of {text}: {found}, wanted {want}")

    for text, words in (
        ("'a'", ["a"]), ("5", []), ("w", ["word"]), ("n", []), ("unknown", []), ("both", ["x", "y"]), ("loop", []),
        ("m.word", ["inner"]), ("m.number", []), ("m.gone", []), ("unknown.word", []), ("op.name", ["A"]),
        ("'a' if n else w", ["a", "word"]), ("('a', w, 5, both)", ["a", "word", "x", "y"]),
        ("f'{both}-{w}-{both}'", [f"{a}-word-{b}" for a in "xy" for b in "xy"]), ("f'{n}a'", []),
        ("'AB'.lower()", ["ab"]), ("both.upper()", []), ("f('a')", []), ("('A' if n else 'B').lower()", ["a", "b"]),
    ):  # fmt: skip
        told("words", text, words)
    for text, sure in (
        ("op.name == 'A'", True), ("op.name == 'B'", False), ("op.name in ('A', 'B')", True), ("op.name in ('B', 'C')", False),
        ("op.name != 'A'", None), ("op.name not in ('A', 'B')", None), ("op.name == 'A' and n", None),
        ("n and op.name == 'B'", False),
        ("op.name == 'B' or n", None), ("both == 'x'", None), ("op.name == n", None), ("'A' == op.name == 'A'", None), ("n", None),
    ):  # fmt: skip
        told("sure", text, sure)
    for text, functions in (
        ("f", [f]), ("n", []), ("m.f", [f]), ("m.number", []), ("f if n else g", [f, g]),
        ("functools.partial(f, 'a', w)", [(f, ("a", "word"))]),
        ("functools.partial(n, 'a')", []), ("functools.partial(m.f)", [(f, ())]), ("other.whole(f)", []), ("f(1)", []), ("[f]", []),
    ):  # fmt: skip
        told("functions", text, functions)
    for text, value in (("w", "word"), ("both", None), ("f", f), ("f if n else g", None), ("5", None), ("'a'", "a")):
        told("value", text, value)
    assert not wrong, "\n".join(wrong)
    body = ast.parse(
        """
def inner():
    return 1
a = b = c.d = first
x, y = second
if op.name == 'A':
    return one
else:
    return two
if n:
    return three
else:
    e = third
    return four
for i in w:
    return five
while n:
    return six
with w:
    return seven
return
return eight
"""
    ).body
    frame = static_support._Frame(scope, {})
    assert [ast.unparse(n) for n in frame.ends(body)] == ["one", "three", "four", "five", "six", "seven", "eight"]
    assert {n: [ast.unparse(e) for e in made] for n, made in frame.made.items()} == {
        "a": ["first"], "b": ["first"], "c": ["first"], "x": ["second"], "y": ["second"], "e": ["third"],
    }  # fmt: skip


def test_kernels_of_a_package_without_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what is compiled, where the list of the sources is not there; and what is said of each operator."""
    monkeypatch.setattr(coverage, "LISTED", Path("/nowhere/kernels.inc"))
    compiled = {
        ("sin", "float64"),
        ("sin", "float32"),
        ("transpose", "opaque1"),
        ("transpose", "float32"),
        ("transpose", "opaque4"),
        ("dot", "int8"),
    }
    monkeypatch.setattr(hybrid.native, "kernels", lambda: compiled)
    found = coverage._kernels()
    assert found == {"sin": ["float32", "float64"], "transpose": ["all"], "dot": ["int8"]}
    told = coverage._kernel(OPS["sin"], {"sin": ["int8", "float64", "float32"]})
    assert told == "float32, float64, int8"
    chain = {f"{coverage.FUSED}chain": ["float32"]}
    assert [coverage._kernel(OPS["sin"], k) for k in (chain, {})] == ["chain", ""]
    assert [coverage._kernel(OPS["Reshape"], k) for k in (chain, {})] == ["nothing to do"] * 2
    assert [coverage._kernel(OPS["topk"], k) for k in (chain, {})] == ["", ""]
