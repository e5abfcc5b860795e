"""Training that was killed goes on to the very bits of one that was not, in one process and in several."""

from __future__ import annotations

import doctest
import errno
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import resuming
from hybrid.contrib.amp.loss_scaler import LossScaler
from hybrid.core.error import FormatError, MXNetError
from hybrid.core.resume import Settings
from hybrid.formats import files
from hybrid.formats.files import PART
from hybrid.resuming.training import NAME, Training
from tests import fresh
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
    # rank 0 may have been killed while it wrote the next state: the whole one is there all the same, and what it left goes with
    # one that is written a minute later
    assert [n for n in os.listdir(tmp_path / "state") if not PART.fullmatch(n)] == [NAME]
    assert not (tmp_path / "rest-0.npz").exists()
    assert train(ranks, form, tmp_path / "state", tmp_path / "rest") == 0
    assert [n for n in os.listdir(tmp_path / "state") if not PART.fullmatch(n)] == [NAME]
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
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(MXNetError, match=re.escape("weight: got float32(3, 2), wanted float32(4, 2)")):
        _run(tmp_path, units=4)
    assert (tmp_path / NAME).read_bytes() == before
    path = re.escape(str(tmp_path / NAME))
    for left in (len(before) // 2, 1, 0):  # a full disk leaves none
        (tmp_path / NAME).write_bytes(before[:left])
        with pytest.raises(
            FormatError, match=f"{path}: no state of training, or a damaged one .*; remove {path} to begin anew"
        ):
            _run(tmp_path)
        assert (tmp_path / NAME).stat().st_size == left
    with pytest.raises(MXNetError, match="is a file, wanted a folder to keep the state in"):
        _run(tmp_path / NAME)


def _left(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_place_that_cannot_be_written_is_told_before_it_trains(tmp_path: Path, monkeypatch: Any) -> None:
    _run(tmp_path / "made" / "here")
    assert _left(tmp_path / "made" / "here") == []  # it is tried, and nothing is left of that
    (tmp_path / "file").write_text("")
    with pytest.raises(
        MXNetError, match=r"file/state: nothing can be written there \(Not a directory\); wanted a folder"
    ):
        _run(tmp_path / "file" / "state")
    (tmp_path / "taken" / NAME).mkdir(parents=True)
    with pytest.raises(MXNetError, match=r"taken: nothing can be written there"):
        _run(tmp_path / "taken")
    net, run = _run(tmp_path)
    _train(net, run, 1)
    before = (tmp_path / NAME).read_bytes()
    _run(tmp_path)
    assert (tmp_path / NAME).read_bytes() == before

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "Replacement", full)
    with pytest.raises(MXNetError, match="No space left on device"):
        _run(tmp_path)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc, to which nobody can write")
def test_a_program_is_told_that_its_place_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(
        "import mxnet as mx\nnet = mx.gluon.nn.Dense(1, in_units=2)\nnet.initialize()\n"
        "run = mx.resuming.Training(net=net)\nprint('trains')\n"
    )
    done = fresh.run(["--resume", "/proc/nope", "kept.py"], tmp_path)
    assert done.returncode == 1 and not done.stdout
    assert "MXNetError: Training: /proc/nope: nothing can be written there (No such file" in done.stderr


@needs_mpi
def test_ranks_refuse_what_rank_0_finds(tmp_path: Path) -> None:
    """All of them, at once: none waits for another until it is killed."""
    (tmp_path / NAME).write_bytes(b"")
    assert train(2, "gluon", tmp_path, tmp_path / "out") not in (0, -9)
    assert _left(tmp_path) == [NAME] and not (tmp_path / NAME).stat().st_size
    assert train(2, "gluon", tmp_path / NAME / "state", tmp_path / "out") not in (0, -9)
    assert _left(tmp_path) == [NAME]


def test_data_that_cannot_say_where_it_stands(tmp_path: Path) -> None:
    class Shuffled:
        def reset(self) -> None:
            pass

    net, run = _run(tmp_path)
    next(run.epochs(1))
    with pytest.raises(MXNetError, match=r"Shuffled cannot say where it stands in its data.*state_dict\(\)"):
        next(run.batches(Shuffled()))  # type: ignore[arg-type]
    with pytest.raises(MXNetError, match="every=0"):
        resuming.Training(tmp_path, net=net, every=0)
    with pytest.raises(MXNetError, match="wanted net"):
        resuming.Training(tmp_path)


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, test in enumerate(doctest.DocTestFinder(exclude_empty=True).find(resuming.Training)):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert doctest.DocTestRunner().run(test).failed == 0


class _Two(mx.gluon.HybridBlock):
    """Of two inputs, one in a list and one that may be None; traced otherwise in training mode."""

    def __init__(self) -> None:
        super().__init__(prefix="two_")
        with self.name_scope():
            self.inner = mx.gluon.nn.HybridSequential()
            self.inner.add(mx.gluon.nn.Dense(4, activation="tanh"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(2))

    def hybrid_forward(self, F: Any, x: Any, other: Any) -> Any:  # noqa: N803
        return self.inner(x[0]) * (2 if mx.autograd.is_training() else 3)


def _of_two(folder: Path) -> tuple[Any, resuming.Training]:
    mx.random.seed(3)
    net = _Two()
    net.initialize()
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    return net, resuming.Training(folder, net=net, trainer=trainer, every=1)


def _train_two(net: Any, run: resuming.Training, batches: int = 99) -> int:
    done = 0
    for _ in run.epochs(2):
        for x in run.batches([mx.nd.ones((2, 3)) * i for i in range(3)]):
            if done == batches:
                return done
            done += 1
            with mx.autograd.record():
                value = net([x], None).sum()
            value.backward()
            run._trainer.step(2)
    return done


@pytest.mark.parametrize("batches", [2, 5, 99])
def test_exports_the_same_wherever_it_was_cut_off(batches: int, tmp_path: Path) -> None:
    """Behind the last epoch too, where nothing runs the network any more; what is declared of shapes stays as it was."""
    whole, run = _of_two(tmp_path / "other")
    assert _train_two(whole, run) == 6
    whole.export(str(tmp_path / "whole"), 2)
    _train_two(*_of_two(tmp_path / "state"), batches)
    for _ in range(2):  # a state that was written without a pass through the network tells it all the same
        net, rest = _of_two(tmp_path / "state")
        assert rest.resumed
        done = _train_two(net, rest)
        net.export(str(tmp_path / "rest"), 2)
        for end in ("-symbol.json", "-0002.params"):
            assert (tmp_path / f"rest{end}").read_bytes() == (tmp_path / f"whole{end}").read_bytes()
    assert done == 0
    assert '"(4, 0)"' in (tmp_path / "whole-symbol.json").read_text()
    net, _ = _of_two(tmp_path / "state")
    assert type(mx.contrib.amp.convert_hybrid_block(net)).__name__ == "SymbolBlock"
    net.hybridize(False)
    with pytest.raises(MXNetError, match="Please first call"):
        net.export(str(tmp_path / "rest"), 2)


def _cut_off(folder: Path, rows: int = 12, size: int = 2, batches: int = 99, **asks: Any) -> tuple[Any, int]:
    """Train for two epochs, or so many batches: (the trainer, batches done)."""
    net = mx.gluon.nn.Dense(1, in_units=2)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), asks.pop("optimizer", "adam"), asks)
    run = resuming.Training(folder, net=net, trainer=trainer, every=1)
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.ones((rows, 2))), size)
    done = 0
    for _ in run.epochs(2):
        for x in run.batches(loader):
            if done == batches:
                return trainer, done
            done += 1
            with mx.autograd.record():
                loss = net(x).sum()
            loss.backward()
            trainer.step(size)
    return trainer, done


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"size": 4},
            "after 4 batches in the midst of epoch 0 of data in which it has 6 batches, and this program's has 3",
        ),
        ({"size": 4, "rows": 24}, "data in which a batch has 2 examples, and this program's has 4"),
        ({"rows": 4}, "it has 6 batches, and this program's has 2"),
        ({"optimizer": "sgd"}, "the state is of the optimizer Adam, and this program has SGD"),
    ],
)
def test_another_program_is_refused(changed: dict[str, Any], says: str, tmp_path: Path) -> None:
    _cut_off(tmp_path, batches=4)
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(MXNetError, match=f"{re.escape(says)}.*remove .* to begin anew"):
        _cut_off(tmp_path, **changed)
    assert (tmp_path / NAME).read_bytes() == before
    assert _cut_off(tmp_path)[1] == 8


def test_data_that_ends_early_is_refused(tmp_path: Path) -> None:
    _, run = _run(tmp_path)
    for _ in run.epochs(1):
        for i, _ in run.enumerate(iter([mx.nd.ones(2)] * 5)):
            if i == 4:
                break
        break
    again = _run(tmp_path)[1]
    next(again.epochs(1))
    with pytest.raises(MXNetError, match="it has 4 batches or more, and this program's has 2"):
        next(again.batches(iter([mx.nd.ones(2)] * 2)))


def test_batches_may_change_between_epochs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _cut_off(tmp_path, batches=6)  # the last state is that of the beginning of the second epoch
    assert _cut_off(tmp_path, size=4)[1] == 3
    assert "an epoch has 3 batches from here on, and had 6" in caplog.text


def test_other_settings_hold_and_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _cut_off(tmp_path, batches=4, learning_rate=0.1, wd=0.5)
    assert _cut_off(tmp_path, batches=1, learning_rate=0.1, wd=0.5)[0].learning_rate == 0.1
    assert "from here on" not in caplog.text
    trainer, _ = _cut_off(tmp_path, learning_rate=0.2, wd=0.25)
    assert (trainer.learning_rate, trainer.optimizer.wd) == (0.2, 0.25)
    assert "learning_rate=0.2 from here on, as this program asks; it was 0.1" in caplog.text
    assert "wd=0.25 from here on" in caplog.text
    caplog.clear()
    assert _cut_off(tmp_path, learning_rate=0.2, wd=0.25)[0].learning_rate == 0.2
    assert "from here on" not in caplog.text


def test_a_rate_that_the_program_itself_changes_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    net, run = _run(tmp_path)
    run._trainer.set_learning_rate(0.025)
    _train(net, run, 1)
    assert _run(tmp_path)[1]._trainer.learning_rate == 0.025
    assert "from here on" not in caplog.text


def test_another_schedule_stands_where_training_does(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def schedule(factor: float) -> Any:
        return mx.lr_scheduler.FactorScheduler(2, factor, base_lr=1.0)

    _cut_off(tmp_path, batches=4, learning_rate=1.0, lr_scheduler=schedule(0.5))
    trainer, _ = _cut_off(tmp_path, batches=0, learning_rate=1.0, lr_scheduler=schedule(0.5))
    assert (trainer.optimizer.num_update, trainer.learning_rate) == (4, 0.5)
    assert "from here on" not in caplog.text
    trainer, _ = _cut_off(tmp_path, batches=0, learning_rate=1.0, lr_scheduler=schedule(0.25))
    assert (trainer.optimizer.num_update, trainer.learning_rate) == (4, 0.25)
    assert "lr_scheduler" in caplog.text


def test_other_epochs_are_refused(tmp_path: Path) -> None:
    net, run = _run(tmp_path)
    _train(net, run, 3)
    with pytest.raises(MXNetError, match="the state is after 3 epochs, and this program trains 2"):
        next(_run(tmp_path)[1].epochs(2))
    with pytest.raises(MXNetError, match="this program begins with epoch 4"):
        next(_run(tmp_path)[1].epochs(9, begin=4))
    again = _run(tmp_path)[1]
    next(again.epochs(4))
    list(again.batches([]))
    with pytest.raises(MXNetError, match="batches was called before in epoch 3"):
        list(again.batches([]))


def test_a_state_needs_what_it_was_of(tmp_path: Path) -> None:
    net, run = _run(tmp_path)
    run._trainer._amp_loss_scaler = LossScaler()
    run._trainer._amp_loss_scaler._next_loss_scale = 8.0
    _train(net, run, 1)
    with pytest.raises(MXNetError, match="too; give Training the trainer, which"):
        resuming.Training(tmp_path, net=net)
    with pytest.raises(MXNetError, match="the state has a scale of losses"):
        _run(tmp_path)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    trainer._amp_loss_scaler = LossScaler()
    resuming.Training(tmp_path, net=net, trainer=trainer)
    assert trainer._amp_loss_scaler._next_loss_scale == 8.0


def test_layers_that_wait_for_their_shapes(tmp_path: Path) -> None:
    """They are compared as others are, and so are layers that the state does not have."""

    def start(*units: int) -> resuming.Training:
        net = mx.gluon.nn.HybridSequential()
        net.add(*map(mx.gluon.nn.Dense, units))
        net.initialize()
        run = resuming.Training(tmp_path, net=net, trainer=mx.gluon.Trainer(net.collect_params(), "sgd"))
        for _ in run.epochs(1):
            for x in run.batches([mx.nd.ones((1, 2))]):
                net(x)
        return run

    start(3, 1)
    assert start(3, 1).resumed
    wanted = re.escape("0.weight: got float32(3, 2), wanted float32(4, 0)")
    with pytest.raises(MXNetError, match=f"{NAME}: the state of another network; (.|\n)*{wanted}"):
        start(4, 1)
    with pytest.raises(MXNetError, match=re.escape("2.weight: got nothing, wanted float32(5, 0)")):
        start(3, 1, 5)
    net = mx.gluon.nn.Dense(1, in_units=1)
    net.initialize()
    list(resuming.Training(tmp_path / "other", net=net).epochs(1))
    with pytest.raises(MXNetError, match="has not been initialized; call initialize"):
        resuming.Training(tmp_path / "other", net=mx.gluon.nn.Dense(1, in_units=1))


def _fit(epochs: int, rows: int = 6, size: int = 2) -> tuple[Any, int]:
    """Fit a module: (it, the batches that it took)."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="top")
    module = mx.mod.Module(mx.sym.LinearRegressionOutput(net, name="out"), label_names=["out_label"])
    data = mx.io.NDArrayIter(np.ones((rows, 2)), np.ones(rows), batch_size=size, label_name="out_label")
    seen: list[Any] = []
    module.fit(data, eval_metric="mse", num_epoch=epochs, batch_end_callback=seen.append)
    return module, len(seen)


def test_each_fit_of_a_program_has_a_state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "folder", str(tmp_path))
    monkeypatch.setattr(Settings, "used", False)
    for taken in ([6, 6], [0, 0]):  # the second time all is done
        monkeypatch.setattr(Settings, "trainings", 0)
        assert [_fit(2)[1], _fit(2)[1]] == taken
    assert sorted(os.listdir(tmp_path)) == ["training-2.npz", "training.npz"]


def test_a_fit_on_other_data_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "folder", str(tmp_path))
    monkeypatch.setattr(Settings, "used", False)
    monkeypatch.setattr(Settings, "every", 2)

    def cut_off(run: Any, *state: Any) -> None:
        save(run, *state)
        raise KeyboardInterrupt

    save = Training._save
    monkeypatch.setattr(Settings, "trainings", 0)
    monkeypatch.setattr(resuming.Training, "_save", cut_off)
    with pytest.raises(KeyboardInterrupt):
        _fit(1)
    monkeypatch.setattr(resuming.Training, "_save", save)
    for other, says in (
        ({"rows": 8}, "other data: NDArrayIter: got a place in 6 examples, wanted one in 8; remove .* to begin anew"),
        ({"size": 3}, "a batch has 2 examples, and this program's has 3"),
    ):
        monkeypatch.setattr(Settings, "trainings", 0)
        with pytest.raises(MXNetError, match=f"training.npz: the state is .*{says}"):
            _fit(1, **other)
    monkeypatch.setattr(Settings, "trainings", 0)
    assert _fit(1)[1] == 1


def test_an_iterator_over_other_examples_stands_nowhere() -> None:
    def make(rows: int, size: int, how: str = "pad") -> Any:
        return mx.io.NDArrayIter(np.arange(rows), batch_size=size, last_batch_handle=how)

    with pytest.raises(MXNetError, match="got a place in 10 examples, wanted one in 8"):
        make(8, 4)._stand(make(10, 4)._standing())
    other = make(10, 5)
    other._stand(make(10, 4)._standing())
    assert [b.data[0].asnumpy().tolist() for b in other] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    rolled = make(10, 4, "roll_over")
    list(rolled)
    rolled.reset()
    with pytest.raises(MXNetError, match="got a place in batches of 4, wanted one in batches of 5"):
        make(10, 5, "roll_over")._stand(rolled._standing())


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


LOOP = """
import mxnet as mx{imports}
net = mx.gluon.nn.Dense(1, in_units=1)
net.initialize()
trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
for _ in range(3):
    with mx.autograd.record():
        loss = net(mx.nd.ones((1, 1)))
    loss.backward()
    trainer.step(1)
    print("stepped")
"""


def test_a_program_of_which_nothing_is_kept_is_told_before_it_trains(tmp_path: Path) -> None:
    (tmp_path / "seen.py").write_text(LOOP.format(imports=""))
    done = fresh.run(["--resume", "state", "seen.py"], tmp_path)
    assert done.returncode == 2 and "seen.py trains by a loop of its own" in done.stderr and not done.stdout
    assert not (tmp_path / "state").exists()
    (tmp_path / "helper.py").write_text("")  # which might keep it
    (tmp_path / "unseen.py").write_text(LOOP.format(imports=", helper"))
    done = fresh.run(["--resume", "state", "unseen.py"], tmp_path)
    assert done.returncode == 0 and done.stdout == "stepped\n" * 3
    assert (
        done.stderr.count("this program trains, and nothing of it is kept") == 1
        and "nothing was kept" not in done.stderr
    )
    (tmp_path / "none.py").write_text("import mxnet as mx")
    done = fresh.run(["--resume", "state", "none.py"], tmp_path)
    assert done.returncode == 0 and "nothing was kept" in done.stderr
    done = fresh.run(["--resume", "state", "--epochs", "3"], tmp_path)
    assert done.returncode == 2 and "nothing was kept" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--resume"], "--resume : wanted a folder"),
        (["--every", "2", "x.py"], "wanted --resume FOLDER as well"),
        (["--resume", "a", "--every", "0", "x.py"], "--every 0: wanted a number of batches"),
        (["--resume", "a"], "wanted a script or a module"),
        (["--resume=a", "--every=2"], "wanted a script or a module"),
        (["--resume", __file__, "--epochs", "3"], "this is a file; wanted a folder before the script"),
        (["--resume", "--every", "3", "x.py"], "--resume --every: wanted a folder"),
    ],
)
def test_arguments(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    from hybrid.__main__ import main

    monkeypatch.setattr(Settings, "folder", None)
    monkeypatch.setattr(Settings, "every", None)
    assert main(arguments) == 2
    assert says in capsys.readouterr().err
