"""Docstrings of the functions of nd and sym: every parameter has a meaning, and the examples run."""

import doctest
import inspect
import io
import pickle
import pydoc
import subprocess
import sys

import pytest

import hybrid as mx
from hybrid.core import documents, later
from hybrid.core.examples import Maker
from hybrid.core.meanings import ATTRIBUTES, INPUTS
from hybrid.core.op import FAMILY, OPS
from tests.house import onnx_names
from tests.shares import some

FIRST = {n: next(iter(OPS[n].examples(Maker(OPS[n]))), None) for n in OPS}
NAMES = [n for n, found in FIRST.items() if found is not None and not any(a.dtype.kind == "O" for a in found.arrays)]


def share(names: list[str], count: int) -> list[str]:
    """The names in one share of so many."""
    return list(some(names, str, count))


def call_of(name: str, side: str) -> str:
    """The function of an operator as a program calls it."""
    return f"{side}.{name}" if name[0] != "_" else f"{side}._internal.{name}"


def run(text: str, name: str) -> None:
    """Run the example of a docstring."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert test.examples, text
    said = io.StringIO()
    found = doctest.DocTestRunner(verbose=False).run(test, out=said.write)
    assert found.failed == 0, said.getvalue()


def test_every_parameter_has_a_meaning() -> None:
    own = [n for n in OPS if not n.startswith(FAMILY)]
    parameters = [(n, p) for n in own for p in (*OPS[n].inputs, *OPS[n].fields)]
    without = [f"{n}: {p}" for n, p in parameters if not documents.meaning(OPS[n], p)]
    print(f"{len(parameters)} parameters of {len(own)} operators, {len(without)} without a meaning")
    assert not without, "say what they mean in core/meanings.py, or in Op.meanings:\n" + "\n".join(without)
    assert len(parameters) > 2000
    standard = [(n, p) for n in OPS if n.startswith(FAMILY) for p in (*OPS[n].inputs, *OPS[n].fields)]
    assert all("ONNX" in documents.meaning(OPS[n], p) or p == "given" for n, p in standard)


def test_meanings_are_sentences_of_something_there() -> None:
    classes = {c for n in OPS for c in OPS[n].__mro__}
    own = [(c, name, said) for c in classes for name, said in c.__dict__.get("meanings", {}).items()]
    told = [*ATTRIBUTES.items(), *INPUTS.items(), *((name, said) for _, name, said in own)]
    assert all(said[-1] == "." and len(said) < 140 for _, said in told), [s for _, s in told if s[-1] != "."]
    users = {c for n in OPS for c in [OPS[n]]}
    nowhere = [
        f"{c.__name__}.{n}"
        for c, n, _ in own
        if not any(issubclass(u, c) and n in (*u.inputs, *u.fields) for u in users)
    ]
    here = [OPS[n] for n in OPS if not n.startswith(FAMILY)]
    nowhere += [n for n in ATTRIBUTES if not any(n in c.fields for c in here)]
    nowhere += [n for n in INPUTS if not any(n in c.inputs for c in here)]
    assert not nowhere, nowhere


@pytest.mark.parametrize("name", share(NAMES, 16))
def test_examples_of_arrays_run(name: str) -> None:
    call = call_of(name, "mx.nd")
    run(documents.document(OPS[name], call, ()), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_all_examples_of_arrays_run(name: str) -> None:
    run(documents.document(OPS[name], call_of(name, "mx.nd"), ()), name)


@pytest.mark.parametrize("name", share(NAMES, 32))
def test_examples_of_symbols_run(name: str) -> None:
    run(documents.document(OPS[name], call_of(name, "mx.sym"), ()), name)


def test_help_says_what_parameters_mean() -> None:
    told = pydoc.render_doc(mx.nd.Convolution, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    for part in (
        "num_filter : int >= 1, required\n        Number of filters: channels of the output.",
        "stride : tuple of int >= 1, default ()",
        "layout : one of 'NCDHW'",
        "becomes Conv.",
        ">>> mx.nd.Convolution(data, weight, bias, kernel=(3, 3), num_filter=6, num_group=2).shape",
    ):
        assert part in told, told
    assert "mx.nd.contrib.box_nms(data" in str(mx.nd.contrib.box_nms.__doc__)
    assert "mx.sym.Convolution(data" in str(mx.sym.Convolution.__doc__)
    assert "https://onnx.ai/onnx/operators/onnx__IsInf.html" in str(mx.nd.onnx.IsInf.__doc__)


def test_a_text_is_made_when_it_is_read() -> None:
    made = []
    text = later.Later("a", lambda: made.append(1) or "whole\ntext")  # type: ignore[func-returns-value]
    assert not made
    assert str(text) == "whole\ntext" and text.split("\n") == ["whole", "text"] and "tex" in text and len(text) == 10
    assert f"{text}" == inspect.cleandoc(text) == pickle.loads(pickle.dumps(text)) == "whole\ntext"
    assert made == [1]


def test_nothing_is_put_together_before_somebody_reads() -> None:
    code = "import sys, hybrid as mx; mx.nd.relu(mx.nd.ones(2)); print('hybrid.core.meanings' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", share(sorted(OPS), 40))
def test_onnx_names_are_what_is_written(name: str) -> None:
    assert documents.onnx_names().get(name, "") == onnx_names.written_as(name), "python -m tests.house.onnx_names"


@pytest.mark.slow
def test_all_onnx_names_are_what_is_written() -> None:
    assert onnx_names.RECORD.read_text() == onnx_names.text()
