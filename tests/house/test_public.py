"""What is public has docstrings that hold: their examples run, errors are named, defaults are the signature's, and where examples
are missing is said and why."""

import doctest
import functools
import io
import random
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid.core.documents import RAISES
from tests.house import public
from tests.house.public import Public

WITHOUT: dict[str, int] = {}


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


@pytest.mark.parametrize("module", written())
def test_examples_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    for number, item in enumerate(written()[module]):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        if module in ("gluonnx", "mxnet.onnx"):
            export_model()
        for seed in (mx.random.seed, np.random.seed, random.seed):
            seed(0)
        test = doctest.DocTestParser().get_doctest(item.text, {"__name__": "__main__"}, str(item), None, None)
        doctest.DocTestRunner(verbose=False).run(test, out=said.write)
    assert not said.getvalue(), said.getvalue()
