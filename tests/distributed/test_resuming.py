"""Training that was killed goes on to the very bits of one that was not, in one process and in several."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import resuming
from hybrid.core.error import FormatError, MXNetError
from hybrid.formats.files import PART
from tests.distributed.launching import PROGRAMS, command, environment, needs_mpi
from tests.house.docs import ROOT

EVERY = 2


def train(ranks: int, form: str, folder: Path | str, out: Path, *left: int) -> int:
    words = command(ranks, "resuming.py", form, "dist_sync" if ranks else "none", folder, out, *left)
    if form == "module" and folder != "-":  # a program that nobody changed
        at = words.index(str(PROGRAMS / "resuming.py"))
        words[at:at] = ["--resume", str(folder), "--every", str(EVERY)]
    return subprocess.run(words, env=environment(), cwd=ROOT, capture_output=True, timeout=120).returncode


@pytest.mark.parametrize("form", ["gluon", "module"])
@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=needs_mpi)])
def test_bit_for_bit(ranks: int, form: str, tmp_path: Path) -> None:
    killed_after = 9
    assert train(ranks, form, "-", tmp_path / "whole") == 0
    assert train(ranks, form, tmp_path / "state", tmp_path / "rest", killed_after) != 0
    # rank 0 may have been killed while it wrote the next state: the whole one is there all the same, and what it left goes later
    assert [n for n in os.listdir(tmp_path / "state") if not PART.fullmatch(n)] == [resuming.NAME]
    assert not (tmp_path / "rest-0.npz").exists()
    assert train(ranks, form, tmp_path / "state", tmp_path / "rest") == 0
    assert os.listdir(tmp_path / "state") == [resuming.NAME]
    for rank in range(max(1, ranks)):
        with np.load(tmp_path / f"whole-{rank}.npz") as whole, np.load(tmp_path / f"rest-{rank}.npz") as rest:
            assert int(whole["done"]) == 20
            # the last state is that after the fourth batch of the second epoch, to which rank 0 may not have come when another dies
            assert int(rest["done"]) in ([20 - 9, 20 - 7] if ranks else [20 - 9])
            assert {n: a.tobytes() for n, a in whole.items() if n != "done"} == {
                n: a.tobytes() for n, a in rest.items() if n != "done"
            }


def _run(folder: Path, units: int = 3, every: int = 1) -> tuple[Any, resuming.Training]:
    net = mx.gluon.nn.Dense(units, in_units=2)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    return net, resuming.Training(folder, net=net, trainer=trainer, every=every)


def _train(net: Any, run: resuming.Training, epochs: int) -> list[tuple[int, float]]:
    seen = []
    for epoch in run.epochs(epochs):
        for x in run.batches([mx.nd.ones((1, 2)) * i for i in range(3)]):
            seen.append((epoch, float(x.sum().asscalar())))
            with mx.autograd.record():
                value = net(x).sum()
            value.backward()
            run._trainer.step(1)
    return seen


def test_more_epochs_go_on_behind_the_last(tmp_path: Path) -> None:
    net, run = _run(tmp_path)
    assert _train(net, run, 1) == [(0, 0), (0, 2), (0, 4)]
    assert not run.resumed
    again, rest = _run(tmp_path)
    np.testing.assert_array_equal(again.weight.data().asnumpy(), net.weight.data().asnumpy())
    assert rest.resumed
    assert [epoch for epoch, _ in _train(again, rest, 3)] == [1, 1, 1, 2, 2, 2]
    assert _train(*_run(tmp_path), epochs=3) == []


def test_states_of_others_are_refused(tmp_path: Path) -> None:
    _train(*_run(tmp_path), epochs=1)
    before = (tmp_path / resuming.NAME).read_bytes()
    with pytest.raises(MXNetError, match=re.escape("weight: got float32(3, 2), wanted float32(4, 2)")):
        _run(tmp_path, units=4)
    assert (tmp_path / resuming.NAME).read_bytes() == before
    (tmp_path / resuming.NAME).write_bytes(before[: len(before) // 2])
    with pytest.raises(FormatError, match="no state of training, or a damaged one"):
        _run(tmp_path)


def test_data_that_cannot_say_where_it_stands(tmp_path: Path) -> None:
    class Shuffled(mx.io.DataIter):
        pass

    net, run = _run(tmp_path)
    next(run.epochs(1))
    with pytest.raises(MXNetError, match="Shuffled cannot say where it stands in its data"):
        next(run.batches(Shuffled()))
    with pytest.raises(MXNetError, match="every=0"):
        resuming.Training(tmp_path, net=net, every=0)
    with pytest.raises(MXNetError, match="wanted net"):
        resuming.Training(tmp_path)


@pytest.mark.parametrize("how", ["pad", "discard", "roll_over"])
def test_a_shuffled_iterator_stands_where_it_stood(how: str) -> None:
    def make() -> Any:
        return mx.io.NDArrayIter(np.arange(10), np.arange(10) + 50, 4, shuffle=True, last_batch_handle=how)

    def epoch(data: Any) -> list[Any]:
        return [(b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in data]

    np.random.seed(1)
    first = make()
    for _ in range(3):
        epoch(first)
        first.reset()
    held, state = first._standing(), np.random.get_state()
    wanted = []
    for _ in range(2):
        wanted.append(epoch(first))
        first.reset()
    other = make()
    other._stand(held)
    np.random.set_state(state)
    found = []
    for _ in range(2):
        found.append(epoch(other))
        other.reset()
    assert found == wanted


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--resume"], "--resume : wanted a folder"),
        (["--every", "2", "x.py"], "wanted --resume FOLDER as well"),
        (["--resume", "a", "--every", "0", "x.py"], "--every 0: wanted a number of batches"),
        (["--resume", "a"], "wanted a script or a module"),
    ],
)
def test_arguments(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    from hybrid.__main__ import main

    monkeypatch.setattr(resuming.Settings, "folder", None)
    monkeypatch.setattr(resuming.Settings, "every", None)
    assert main(arguments) == 2
    assert says in capsys.readouterr().err
