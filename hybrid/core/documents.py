"""Docstrings of the functions of nd and sym, put together from the operators when somebody reads them.

Nothing here is written for one operator: the summary, shapes and source are its class's docstring, types, defaults and bounds its
fields, meanings those of meanings.py or of the class, the example the first of ``Op.examples`` as a call that runs.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .attrs import INT64, LARGEST_SIZE, Int, Kind, Optional, Tuple
from .error import OpError
from .examples import Maker
from .meanings import ATTRIBUTES, GIVEN, INPUTS
from .op import BOOLS, FAMILY, MISSING, Example, Field, Op
from .shapes import Undecided

WIDTH = 100
"""Characters of a line."""
METHOD = re.compile(r"(mx\.nd|mx\.sym)\.(?:NDArray|Symbol)\.")
"""The beginning of a call of a method, with the module that has the function."""
RAISES = """Raises
------
OpError
    Where inputs or attributes do not fit: what was got, what was wanted, and of a graph at which node."""
LITERAL = 12
"""Elements of an array that an example writes out; of longer ones it draws numbers of the same range."""
TAIL = {
    "out": "Array to write the result to, of its shape and dtype (a list for several); symbols ignore it.",
    "name": "Name of the node; made up from the operator's where it is not given. Arrays ignore it.",
    "attr": "Further attributes of the node, a dict of texts.",
}
"""Meanings of the frontends' own keywords."""
STANDARD = {
    "ms_": ("com.microsoft", "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.{}"),
    "ml_": ("ai.onnx.ml", "https://onnx.ai/onnx/operators/onnx_aionnxml_{}.html"),
    "training_": ("ai.onnx.preview.training", "https://onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_{}.html"),
    "": ("ai.onnx", "https://onnx.ai/onnx/operators/onnx__{}.html"),
}  # fmt: skip
"""By what a name of the family ``_onnx_`` goes on with: the domain, and the page that defines its operators."""


def meaning(cls: type[Op], name: str) -> str:
    """Meaning of an attribute or an input of an operator: the class's, or that of those above it, else that of the name. Empty
    where nobody has said it."""
    for owner in cls.__mro__:
        said = owner.__dict__.get("meanings", {})
        if name in said:
            return said[name]
    if cls.name.startswith(FAMILY):
        return GIVEN if name == "given" else f"As in ONNX's {standard(cls)[1]}."
    return (INPUTS if name in cls.inputs else ATTRIBUTES).get(name, "")


def standard(cls: type[Op]) -> tuple[str, str, str]:
    """Domain and name of the ONNX operator that one of the family ``_onnx_`` is, and the page that defines it."""
    rest = cls.name.removeprefix(FAMILY)
    prefix = next(p for p in STANDARD if rest.startswith(p))
    domain, page = STANDARD[prefix]
    name = rest.removeprefix(prefix)
    return domain, name, page.format(name)


@functools.cache
def onnx_names() -> dict[str, str]:
    """By operator the ONNX operators that its first example is written as, at the default opset (``python -m
    tests.house.onnx_names`` writes the file; conversion itself does not read it)."""
    lines = Path(__file__).with_name("onnx_names.txt").read_text(encoding="utf-8").splitlines()
    return {name: rest for name, _, rest in (line.partition(" ") for line in lines)}


def document(cls: type[Op], call: str, tail: tuple[str, ...]) -> str:
    """The docstring of a function of an operator. call: the function as it is called, ``mx.nd.Convolution``, or the method,
    ``mx.nd.NDArray.clip``, whose object is the first input; tail: its keywords beside inputs and attributes."""
    parts = [inspect.cleandoc(cls.__doc__ or cls.name)]
    of = METHOD.match(call)
    if of:
        where, name = of[1], call.rpartition(".")[2]
        parts.append(f"The method of ``{cls.inputs[0]}``: ``x.{name}(...)`` is ``{where}.{name}(x, ...)``.")
    parts.append("\n".join(_parameters(cls, tail, 1 if of else 0)))
    example = next(iter(cls.examples(Maker(cls))), None)
    if example is not None and len(example.arrays) != len(example.op.input_names()):
        example = None  # of the operator whose gradient this is
    parts += ["\n".join(_returns(example)), RAISES, "\n".join(_sources(cls, example))]
    if example is not None and not any(a.dtype.kind == "O" for a in example.arrays):  # no array of mx.nd holds words
        lines = example_of(cls, call, example)
        parts.append(
            "\n".join(["Examples", "--------", *(f">>> {x}" if i < len(lines) - 1 else x for i, x in enumerate(lines))])
        )
    return "\n\n".join(p for p in parts if p)


def _filled(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False)


def _parameters(cls: type[Op], tail: tuple[str, ...], skipped: int = 0) -> Iterator[str]:
    """The section of parameters, without so many of the inputs in front."""
    yield from ("Parameters", "----------")
    states = {*cls.mutates} if isinstance(cls.mutates, tuple) else ()  # a property where attributes decide
    for i, name in enumerate(cls.inputs):
        if i < skipped:
            continue
        kind = (
            "arrays, any number of them" if name.startswith("*") else "array, written to" if name in states else "array"
        )
        if i == 0 and cls.refuses:
            kind += " of numbers, no bools" if cls.refuses == BOOLS else " of floats"
        yield f"{name} : {kind}"
        yield from _filled(meaning(cls, name))
    for field in cls.fields.values():
        yield f"{field.name} : {_values(field.kind)}, {_default(field)}"
        yield from _filled(meaning(cls, field.name))
    for name in tail:
        if name not in cls.inputs and name not in cls.fields:
            yield f"{name} : optional"
            yield from _filled(TAIL[name])


def _default(field: Field) -> str:
    if field.default is MISSING:
        return "required"
    written = field.default is None or isinstance(field.default, np.dtype | np.ndarray)
    return f"default {field.kind.write(field.default) if written else repr(field.default)}"


def _values(kind: Kind) -> str:
    """The values that a kind takes, with bounds."""
    if isinstance(kind, Optional):
        return f"{_values(kind.kind)} or None"
    if isinstance(kind, Int) and kind.within != INT64:
        low, high = kind.within
        return f"int >= {low}" if high == LARGEST_SIZE else f"int from {low} to {high}"
    if isinstance(kind, Tuple):
        return f"tuple of {_values(kind.item)}"
    return kind.label


def _returns(example: Example | None) -> Iterator[str]:
    if example is not None:
        names = example.op.output_names()[: example.op.num_visible_outputs()]
        yield from ("Returns", "-------")
        yield f"{', '.join(names)} : {'array or symbol' if len(names) == 1 else f'list of {len(names)} arrays, or symbol'}"


def _sources(cls: type[Op], example: Example | None) -> Iterator[str]:
    yield from ("Notes", "-----")
    aliases = f", also called {', '.join(cls.aliases)}" if cls.aliases else ""
    if cls.name.startswith(FAMILY):
        domain, name, page = standard(cls)
        yield f"{name} of ONNX's domain {domain}{aliases}: {page}"
        return
    yield f"MXNet's operator {cls.name}{aliases}."
    if example is None:
        return  # the names are those that examples are written as
    written = onnx_names().get(cls.name)
    yield (
        f"In ONNX the example below becomes {written}."
        if written
        else "Not written as ONNX; docs/operators.md says why."
    )


# -- examples -------------------------------------------------------------------------------------------------------------


def example_of(cls: type[Op], call: str, example: Example) -> list[str]:
    """An example as lines of Python that make the arrays and call the function, and what the last of them shows."""
    op, arrays = example
    several = cls.inputs[:1] != () and cls.inputs[0].startswith("*")
    names = [f"x{i}" for i in range(len(arrays))] if several else [*op.input_names()]
    lines = ["from gluonnx import mx"]
    lines += [f"{name} = {_array(array)}" for name, array in zip(names, arrays)]
    # inputs that are left out in between go by name
    whole = several or [*cls.inputs[: len(names)]] == names
    given = names if whole else [f"{n}={n}" for n in names]
    skipped = {cls.count} if several and getattr(op, cls.count, None) == len(arrays) else set()
    attrs = [
        f"{f.name}={_attribute(f, getattr(op, f.name))}"
        for f in cls.fields.values()
        if f.name not in skipped
        and (f.default is MISSING or f.kind.write(getattr(op, f.name)) != f.kind.write(f.default))
    ]
    if METHOD.match(call):
        called = f"{names[0]}.{call.rpartition('.')[2]}({', '.join([*given[1:], *attrs])})"
    else:
        called = f"{call}({', '.join([*given, *attrs])})"
    if call.startswith("mx.sym"):
        symbols = {name: f'mx.sym.var("{name}")' for name in names}
        return [
            "from gluonnx import mx",
            *(f"{n} = {s}" for n, s in symbols.items()),
            f"y = {called}",
            "y.list_inputs()",
            repr(names),
        ]
    shapes = _shapes(op, arrays)
    if shapes is None:
        return [*lines, f"y = {called}", "type(y).__name__", "'list'" if op.num_visible_outputs() > 1 else "'NDArray'"]
    if op.num_visible_outputs() == 1:
        return [*lines, f"{called}.shape", repr(shapes[0])]
    return [*lines, f"[y.shape for y in {called}]", repr(shapes[: op.num_visible_outputs()])]


def _shapes(op: Op, arrays: tuple[np.ndarray, ...]) -> list[Any] | None:
    """Shapes of the outputs where they follow from those of the inputs by a rule that needs no more."""
    if op.data_dependent_shape or {"values", "subgraphs"} & {*op.needs}:
        return None
    try:
        found = op.infer_shape(*(a.shape for a in arrays))
    except (OpError, Undecided, ValueError, TypeError):
        return None
    shapes = found if isinstance(found, list) else [found]
    known = all(isinstance(s, tuple) and all(type(d) is int for d in s) for s in shapes)
    return shapes if known else None


def _attribute(field: Field, value: Any) -> str:
    if isinstance(value, np.dtype | np.ndarray):
        return repr(field.kind.write(value))
    return _python(value)


def _python(value: Any) -> str:
    """A value as Python reads it."""
    return re.sub(r"\b(nan|inf)\b", r'float("\1")', repr(value)) if not isinstance(value, str) else repr(value)


def _array(array: np.ndarray) -> str:
    """An array as Python: its numbers, or numbers drawn from their range."""
    kind = array.dtype.name
    dtype = "" if kind == "float32" else f', dtype="{kind}"'
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    file = kind == "uint8" and array.ndim == 1
    square = array.ndim > 1 and array.shape[-1] == array.shape[-2] <= 4 and array.size <= 2 * LITERAL
    # bytes and square matrices stay what they are, as not all of them can be decoded, or decomposed
    if array.size <= LITERAL or file or square or array.dtype.kind not in "fiu" or not finite.size:
        numbers = np.round(array.astype("float64"), 2) if array.dtype.kind == "f" else array
        return f"mx.nd.array({_python(numbers.tolist())}{dtype})"
    low, high = float(finite.min()), float(finite.max())
    if array.dtype.kind in "iu":
        wide = "int64" if kind == "int64" else "int32"
        drawn = f'mx.nd.random.randint({int(low)}, {int(high) + 1}, {array.shape}, dtype="{wide}")'
        return drawn if wide == kind else f'{drawn}.astype("{kind}")'
    if array.dtype.kind == "f" and np.array_equal(array, np.round(array)):
        return f'mx.nd.random.randint({int(low)}, {int(high) + 1}, {array.shape}).astype("{kind}")'
    return f"mx.nd.random.uniform({low:.1f}, {max(high, low + 0.1):.1f}, {array.shape}{dtype})"
