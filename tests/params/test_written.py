"""Files that we write, held to the bytes that MXNet 1.9.1 writes for the same program (fixtures/make/writing.py)."""

import os
import runpy
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.formats import params
from tests.optimizer.test_optimizers import flat

FIXTURES = Path(__file__).parents[2] / "fixtures"
WANT = FIXTURES / "written"
WRITING = runpy.run_path(str(FIXTURES / "make" / "writing.py"))
FILES = sorted(path.name for path in WANT.iterdir() if path.suffix in (".params", ".json", ".rec", ".idx"))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    with mx.name.NameManager():  # names count from 0, as in a new process
        WRITING["write"](mx, str(folder))
    return folder


@pytest.mark.parametrize("name", [n for n in FILES if n not in ("birth.json", "np_shape.params")])
def test_the_same_program_writes_the_same_bytes(ours: Path, name: str) -> None:
    assert (ours / name).read_bytes() == (WANT / name).read_bytes()


def test_arrays_without_elements_or_dims_are_the_same_bytes(tmp_path: Path) -> None:
    held = {name: WRITING["values"](kind, *shape) for name, (kind, shape) in WRITING["EMPTY"].items()}
    params.save(tmp_path / "a.params", held)
    assert (tmp_path / "a.params").read_bytes() == (WANT / "np_shape.params").read_bytes()


def _updater(data: bytes) -> Any:
    made = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    made.set_states(data)
    return made


@pytest.mark.parametrize("name", ["shared-states.states", "shared-whole.states"])
def test_states_that_are_one_stay_one(ours: Path, name: str) -> None:
    """MXNet's file, ours, and MXNet's written again by us: the same numbers, and the same arrays are shared."""
    theirs = _updater((WANT / name).read_bytes())
    again = _updater(theirs.get_states(dump_optimizer="whole" in name))
    for got in (theirs, _updater((ours / name).read_bytes()), again):
        assert sorted(got.states) == [0, 1, 2, 3]
        assert all(a is b for a, b in zip(got.states[1], got.states[0], strict=True))
        assert got.states[3][0] is got.states[2][0]
        assert got.states[3][1] is got.states[0][1]
        for i, state in got.states.items():
            for a, b in zip(flat(state), flat(theirs.states[i]), strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-6)
        if "whole" in name:
            assert (type(got.optimizer), got.optimizer.lr, got.optimizer.wd) == (mx.optimizer.Adam, 0.25, 0.5)
            assert got.optimizer._index_update_count == {0: 1, 2: 1}


READ = """
import sys, mxnet as mx
for path in sys.argv[1:]:
    made = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    made.set_states(open(path, "rb").read())
    s = made.states
    assert sorted(s) == [0, 1, 2, 3] and s[1][0] is s[0][0] and s[1][1] is s[0][1], path
    assert s[3][0] is s[2][0] and s[3][1] is s[0][1], path
    want = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    want.set_states(open(sys.argv[1], "rb").read())
    for i in s:
        for a, b in zip(s[i], want.states[i]):
            assert a.dtype == b.dtype and abs(a.asnumpy() - b.asnumpy()).max() < 1e-6, path
    if "whole" in path:
        made(0, mx.nd.ones((3,)), mx.nd.ones((3,)))
        assert (made.optimizer.lr, made.optimizer.wd, made.optimizer._index_update_count[0]) == (0.25, 0.5, 2), path
"""


@pytest.mark.mxnet
def test_mxnet_reads_our_states(ours: Path) -> None:
    """MXNET_PYTHON names the Python of an environment with MXNet 1.9.1."""
    paths = [WANT / "shared-states.states", ours / "shared-states.states", ours / "shared-whole.states"]
    subprocess.run([os.environ["MXNET_PYTHON"], "-c", READ, *map(str, paths)], check=True)
