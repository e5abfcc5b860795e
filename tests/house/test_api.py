"""MXNet 1.9.1's public names are here, or a reason says why not; docs/api.md says what is true."""

import subprocess
import sys

import pytest

from tests.house import api
from tests.house.docs import ROOT

NAMES = list(api.public())


def test_every_gap_has_a_reason() -> None:
    assert not api.unexplained(), "\n".join(api.unexplained())


def test_every_reason_has_a_gap() -> None:
    """A gap that has been closed leaves the list."""
    assert not api.outdated(), "\n".join(api.outdated())


def test_the_document_is_up_to_date() -> None:
    # in a process of its own: what other tests have imported shows as attributes of modules
    done = subprocess.run(
        [sys.executable, "-m", "tests.house.api"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == (ROOT / "docs/api.md").read_text(), "run python -m tests.house.api > docs/api.md"


@pytest.mark.parametrize(
    ("signature", "parameters"),
    [
        ("()", []),
        ("(self, x, *args, eps=1e-05, **kwargs)", ["self", "x", "*args", "eps", "**kwargs"]),
        ("(a=(1, 2), b={'x': [1, 2]}, c=<class 'int'>)", ["a", "b", "c"]),
    ],
)
def test_signatures_are_taken_apart(signature: str, parameters: list[str]) -> None:
    assert [p.name for p in api.parse(signature)] == parameters


def test_differences_are_seen() -> None:
    def differs(name: str, signature: str) -> str | None:
        return api.difference(api.Public("mxnet.test_utils", name, "function", signature))

    assert differs("same", "(a, b)") is None
    assert differs("same", "(b, a)") == "order a, b, not b, a"
    assert differs("same", "(a)") == "requires b"
    assert differs("same", "(a, b, c=1)") == "no parameter c"
    assert differs("rand_shape_2d", "(dim0=10, dim1=11)") == "dim1=10, not 11"
    assert len(NAMES) > 5000
