"""Docstrings of what is public hold: their examples run, the errors they should name are named, defaults are the signature's."""

import contextlib
import doctest
import functools
import io
import random
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid import native
from hybrid.core.documents import RAISES
from tests.house import public
from tests.house.public import Public
from tests.undone import amp_undone, registered_undone

A_TYPE_OF_CTYPES = "mxnet.base.mx_float_p"
"""The one public name that can hold no docstring of its own."""


@functools.cache
def written() -> dict[str, list[Public]]:
    """By module what has an example that somebody wrote; test_operator_docs.py runs those that are made of operators."""
    found: dict[str, list[Public]] = {}
    seen = set()
    for item in public.public():
        made = RAISES in item.text
        if not made and ">>> " in item.text and item.text not in seen:
            seen.add(item.text)
            found.setdefault(item.module, []).append(item)
    return found


def export_model() -> None:
    """Write the network that the examples of bridge work upon (bridge/__init__.py) into the current folder."""
    net = mx.gluon.nn.Dense(2, in_units=3, prefix="top_")
    net.initialize()
    net.weight.set_data(mx.nd.array([[1, 2, 3], [-1, 0.5, 2]]))
    net.hybridize()
    net(mx.nd.ones((1, 3)))
    net.export("model")


COMPILED = ("gluonnx.compile", "gluonnx.CompiledModel", "gluonnx.CompileResult")
"""Names that there are with the compiled part alone."""


@pytest.mark.filterwarnings("ignore:.*deprecated")  # old names are shown too, and warn
@pytest.mark.parametrize("module", written())
def test_examples_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    for number, item in enumerate(written()[module]):
        if str(item) in COMPILED and native.level() is None:
            continue
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        if module in ("gluonnx", "mxnet.onnx", "mxnet.contrib.onnx"):
            export_model()
        for seed in (mx.random.seed, np.random.seed, random.seed):
            seed(0)
        test = doctest.DocTestParser().get_doctest(item.text, {"__name__": "__main__"}, str(item), None, None)
        with registered_undone(), amp_undone() if module == "mxnet.contrib.amp" else contextlib.nullcontext():
            doctest.DocTestRunner(verbose=False).run(test, out=said.write)
    assert not said.getvalue(), said.getvalue()


def test_everything_public_has_a_docstring_with_an_example() -> None:
    without = [str(item) for item in public.public() if not item.text or not public.has_example(item)]
    assert without == [A_TYPE_OF_CTYPES], "python -m tests.house.public MODULE says where these are"


def test_errors_are_named() -> None:
    found = {str(item): public.unnamed_errors(item) for item in public.public()}
    assert {name: errors for name, errors in found.items() if errors} == {}, "say when these are raised"


def test_defaults_and_types_are_those_of_the_signature() -> None:
    found = {str(item): public.wrong_defaults(item) for item in public.public()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_the_tests_see() -> None:
    def planted(size: int = 3, name: str = "a", flag: bool = True) -> None:
        """A function.

        Parameters
        ----------
        size : int, default 4
            Its size.
        name : bool, default 'a'
            Its name.
        flag : bool, default True
            Its flag."""
        if size < 0:
            raise ValueError("too small")

    class Shown:
        """A class.

        >>> Shown().used()"""

        def used(self) -> None:
            """Used in an example."""

        def unused(self) -> None:
            """Never used."""

    item = Public("here", "planted", planted)
    assert public.wrong_defaults(item) == ["size=3, not 4", "name='a' is no bool"]
    assert public.unnamed_errors(item) == ["ValueError"]
    assert not public.has_example(item)
    members = [Public("here", f"Shown.{name}", vars(Shown)[name], Shown) for name in ("used", "unused")]
    assert [public.has_example(m) for m in members] == [True, False]
