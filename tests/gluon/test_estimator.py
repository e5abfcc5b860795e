"""The Estimator: the loss curve of a small network is that of real MXNet 1.9.1, and handlers do what they say."""

import contextlib
import warnings
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon
from hybrid.gluon.contrib.estimator import (
    BatchProcessor,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochEnd,
    Estimator,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    ValidationHandler,
)

LOSS = gluon.loss.SoftmaxCrossEntropyLoss

# (training accuracy, training loss, validation accuracy, validation loss) after 4 epochs: MXNet 1.9.1 from this program
RECORDED = (1.0, 0.05850317132785676, 1.0, 0.019757763712682674)


def network() -> tuple[gluon.nn.HybridSequential, gluon.data.DataLoader]:
    rng = np.random.RandomState(3)
    x = rng.randn(32, 5).astype("float32")
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(x, (x.sum(1) > 0).astype("float32")), 8)
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():  # a Trainer sorts parameters by name, and dense9 comes behind dense10
        net.add(gluon.nn.Dense(8, activation="relu", in_units=5), gluon.nn.Dense(2, in_units=8))
    net.initialize()
    net[0].weight.set_data(mx.nd.array(rng.randn(8, 5)))
    net[1].weight.set_data(mx.nd.array(rng.randn(2, 8)))
    net.hybridize()
    return net, data


def estimator(net: gluon.nn.HybridSequential) -> Estimator:
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    return Estimator(net, LOSS(), trainer=trainer, context=mx.cpu())


def values(fitted: Estimator) -> list[float]:
    return [m.get()[1] for m in (*fitted.train_metrics, *fitted.val_metrics)]


def test_fits_as_mxnet_does(capsys: pytest.CaptureFixture[str]) -> None:
    net, data = network()
    fitted = estimator(net)
    fitted.fit(data, data, epochs=4)
    np.testing.assert_allclose(values(fitted), RECORDED, rtol=1e-3)
    assert [m.get()[0] for m in fitted.train_metrics] == ["training accuracy", "training softmaxcrossentropyloss"]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Training begin: using optimizer SGD with current learning rate 0.5000 "
    assert said[1:4] == ["Train for 4 epochs.", "[Epoch 0] Begin, current learning rate: 0.5000", "Validation Begin"]
    assert "training accuracy: 1.0000, training softmaxcrossentropyloss: 0.0585" in said[-1]


def test_batches_and_logging(capsys: pytest.CaptureFixture[str]) -> None:
    net, data = network()
    fitted = estimator(net)
    fitted.fit(data, batches=6, event_handlers=LoggingHandler(2, metrics=fitted.train_metrics))
    said = capsys.readouterr().out
    assert [line[:20] for line in said.splitlines() if "[Batch" in line] == [
        "[Epoch 0][Batch 0][S",
        "[Epoch 0][Batch 2][S",
        "[Epoch 1][Batch 0][S",
    ]
    assert "with 2 epochs" in said


def test_checkpoints_are_kept_and_resumed(tmp_path: Path) -> None:
    net, data = network()
    fitted = estimator(net)
    best = CheckpointHandler(
        str(tmp_path), monitor=fitted.val_metrics[0], save_best=True, mode="max", max_checkpoints=2, verbose=1
    )
    fitted.fit(data, data, epochs=4, event_handlers=best)
    names = {f"model-{n}.{kind}" for n in ("best", "epoch2batch12", "epoch3batch16") for kind in ("params", "states")}
    assert {p.name for p in tmp_path.iterdir()} == {"model-symbol.json", *names}

    net, _ = network()
    resumed = estimator(net)
    resumed.fit(data, epochs=6, event_handlers=CheckpointHandler(str(tmp_path), resume_from_checkpoint=True))
    assert resumed.max_epoch == 2 and (tmp_path / "model-epoch5batch24.params").exists()
    whole = estimator(network()[0])
    whole.fit(data, epochs=6)
    np.testing.assert_allclose(values(resumed)[:2], values(whole)[:2], rtol=1e-4)
    with pytest.raises(ValueError, match="maximum number of epochs 6 reached"):
        resumed.fit(data, epochs=6, event_handlers=CheckpointHandler(str(tmp_path), resume_from_checkpoint=True))


def test_stops_early() -> None:
    net, data = network()
    fitted = estimator(net)
    stop = EarlyStoppingHandler(fitted.train_metrics[0], patience=2, mode="max", baseline=2.0)
    fitted.fit(data, epochs=50, event_handlers=stop)
    assert stop.stopped_epoch == 1 and stop.current_epoch == 2


def test_auto_mode_goes_by_the_name_of_the_metric() -> None:
    fitted = estimator(network()[0])
    with pytest.warns(UserWarning, match="`greater` operator will be used to determine if training accuracy"):
        assert EarlyStoppingHandler(fitted.train_metrics[0]).monitor_op(2, 1)
    with pytest.warns(UserWarning, match="`less` operator"):
        assert EarlyStoppingHandler(fitted.train_metrics[1]).monitor_op(1, 2)


def test_validation_by_batches_and_own_handlers() -> None:
    net, data = network()
    fitted = estimator(net)
    seen: list[int] = []

    class Stop(EpochEnd):
        def epoch_end(self, estimator, *args, **kwargs):
            seen.append(len(evaluated))
            return len(seen) == 3

    evaluated: list[int] = []
    check = ValidationHandler(data, lambda **kwargs: evaluated.append(1), epoch_period=None, batch_period=2)
    fitted.fit(data, epochs=10, event_handlers=[check, Stop()])
    assert seen == [2, 4, 6]


def test_what_is_refused() -> None:
    net, data = network()
    with pytest.raises(ValueError, match="loss must be a Loss"):
        Estimator(net, "softmax")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Customized Batch Processor"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Estimator(net, LOSS(), batch_processor=object())
    with pytest.warns(UserWarning, match="default SGD optimizer with learning rate 0.001"):
        fitted = Estimator(net, LOSS(), batch_processor=BatchProcessor())
    with pytest.raises(ValueError, match="exactly one type of iteration"):
        fitted.fit(data)
    with pytest.raises(ValueError, match="only support input as Gluon DataLoader"):
        fitted.evaluate([])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="outside of the known training and validation metrics"):
        fitted.fit(data, epochs=1, event_handlers=LoggingHandler(metrics=[mx.metric.Accuracy()]))
    watching = GradientUpdateHandler()
    for metric, known in ((mx.metric.Accuracy(), False), (fitted.train_metrics[0], True), (None, True)):
        watching.own_metric = metric  # type: ignore[attr-defined]
        with contextlib.nullcontext() if known else pytest.raises(ValueError, match="outside of the known"):
            fitted.fit(data, batches=1, event_handlers=watching)


def test_handlers_of_ones_own_may_watch_any_metric() -> None:
    """As long as none is added to them."""
    net, data = network()
    fitted, own = estimator(net), mx.metric.Accuracy()
    fitted.evaluate(data, event_handlers=[MetricHandler([own]), LoggingHandler(metrics=[own])])
    assert own.num_inst == 32
    for metric in fitted.val_metrics:  # what was measured before says nothing of these data
        metric.sum_metric, metric.num_inst = 3.0, 4
    fitted.evaluate(data, event_handlers=[MetricHandler([own]), LoggingHandler(metrics=[own])])
    assert own.num_inst == 32 and [m.num_inst for m in fitted.val_metrics] == [0] * 2
    with pytest.raises(ValueError, match="outside of the known"):
        fitted.evaluate(data, event_handlers=[MetricHandler([own])])


def test_checkpoints_that_were_there_before_are_counted(tmp_path: Path) -> None:
    """MXNet forgets them when it resumes."""
    for epochs, options in ((2, {}), (5, {"resume_from_checkpoint": True, "max_checkpoints": 3})):
        fitted = estimator(network()[0])
        fitted.fit(network()[1], epochs=epochs, event_handlers=CheckpointHandler(str(tmp_path), "m", **options))
    assert sorted(p.name for p in tmp_path.glob("*.params")) == [
        f"m-epoch{i}batch{4 * i + 4}.params" for i in (2, 3, 4)
    ]


def test_modes_that_are_unknown_are_told_and_chosen_by_name() -> None:
    for name, better in (("f1", True), ("my F1 score", True), ("Accuracy", True), ("mse", False)):
        metric = mx.metric.MSE(name=name)
        with pytest.warns(Warning) as told:
            stop = EarlyStoppingHandler(metric, mode="best")
        assert [w.category for w in told] == [RuntimeWarning, UserWarning]
        assert "mode best is unknown, fallback to auto mode" in str(told[0].message)
        assert stop.monitor_op(2, 1) is better
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert EarlyStoppingHandler(metric, mode="min").monitor_op(1, 2)


def test_a_best_network_is_not_sought_where_nothing_is_measured(tmp_path: Path) -> None:
    fitted = estimator(network()[0])
    unmeasured = mx.metric.MSE()
    best = CheckpointHandler(str(tmp_path), monitor=unmeasured, save_best=True, mode="min")
    with pytest.warns(RuntimeWarning, match="Skipping save best because mse is not updated"):
        best.epoch_end(fitted)
    assert not list(tmp_path.glob("model-best*")) and list(tmp_path.glob("model-epoch0*"))


def test_logs_of_an_epoch_go_by_any_metric_of_training(capsys: pytest.CaptureFixture[str]) -> None:
    fitted = estimator(network()[0])
    train, val = fitted.train_metrics, fitted.val_metrics
    for metrics, said in (
        ([val[0], train[0]], "[Epoch 0] Begin"),
        ([train[0], val[0]], "[Epoch 0] Begin"),
        (val, "Validation Begin"),
    ):
        LoggingHandler(metrics=metrics).epoch_begin(fitted)
        assert capsys.readouterr().out.startswith(said)


def test_a_loss_that_is_no_list_counts_its_examples() -> None:
    net, _ = network()
    fitted = estimator(net)
    before = net[0].weight.data().asnumpy()
    with mx.autograd.record():
        loss = (net(mx.nd.ones((4, 5))) * mx.nd.array([[1, -2]])).sum(axis=1)
    loss.backward()
    gradient = net[0].weight.grad().asnumpy()
    GradientUpdateHandler().batch_end(fitted, loss=loss)
    np.testing.assert_allclose(net[0].weight.data().asnumpy(), before - 0.5 * gradient / 4, rtol=1e-5, atol=1e-6)


def test_handlers_begin_every_fit_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counters, what was best, and what is logged are in a second fit as they were in the first."""
    net, data = network()
    fitted = estimator(net)
    scores, evaluated = [0.9, 0.9, 0.8, 0.3, 0.3, 0.2, 0], []

    class Score(mx.metric.EvalMetric):
        def update(self, labels, preds):
            pass

        def get(self):
            return self.name, scores[0]

    class Scored(EpochEnd):
        priority = 1

        def epoch_end(self, estimator, *args, **kwargs):
            scores.pop(0)

    score = Score("score")
    handlers = [
        Scored(),
        ValidationHandler(data, lambda **kwargs: evaluated.append(kwargs), epoch_period=2, batch_period=5),
        LoggingHandler(3, metrics=fitted.train_metrics),
        CheckpointHandler(
            str(tmp_path), "m", monitor=score, save_best=True, mode="max", epoch_period=3, batch_period=7
        ),
        EarlyStoppingHandler(score, patience=2, mode="max"),
    ]
    fitted._train_metrics.append(score)  # what handlers watch has to be known
    seen = []
    for _ in range(2):
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.fit(data, epochs=9, event_handlers=handlers)
        lines = [line.split(", training accuracy")[0] for line in capsys.readouterr().out.splitlines()]
        lines = [line.split("time/interval")[0].split(" in ")[0].split(" total ")[0] for line in lines]
        files = {path.name: path.unlink() for path in sorted(tmp_path.glob("m-*"))}
        seen.append((lines, files, len(evaluated), handlers[-1].stopped_epoch))
        evaluated.clear()
    assert seen[0] == seen[1]
    lines, files, evaluations, stopped = seen[0]
    assert stopped == 2 and evaluations == 2 + 1  # after 5 and 10 of 12 batches, and after 2 epochs
    assert list(files) == [
        *("m-best.params", "m-best.states"),
        *("m-epoch1batch6.params", "m-epoch1batch6.states", "m-epoch2batch12.params", "m-epoch2batch12.states"),
        "m-symbol.json",
    ]
    assert [line for line in lines if "Batch" in line] == [
        f"[Epoch {epoch}][Batch {batch}][Samples {samples}] "
        for epoch, batch, samples in ((0, 0, 8), (0, 3, 32), (1, 0, 40), (1, 3, 64), (2, 0, 72), (2, 3, 96))
    ]


def test_handlers_by_what_they_hear_and_in_their_order() -> None:
    """By the names that programs on MXNet call: those of the caller, and those that training and evaluation need besides."""
    h = mx.gluon.contrib.estimator
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    made = h.Estimator(net, mx.gluon.loss.L2Loss(), mx.metric.MSE(), trainer=trainer, context=mx.cpu())
    made.max_epoch, made.max_batch = 1, None
    own = h.EarlyStoppingHandler(made.val_metrics[0], mode="min")
    kinds = [type(x).__name__ for x in made._prepare_default_handlers(None, [own])]
    assert kinds[:2] == ["GradientUpdateHandler", "MetricHandler"] and kinds[-1] == "LoggingHandler" and len(kinds) == 5
    kinds = [type(x).__name__ for x in made._prepare_default_validation_handlers(None)]
    assert kinds == ["MetricHandler", "LoggingHandler"]

    class Both(h.TrainBegin, h.BatchEnd):
        pass

    class Last(h.EpochBegin, h.EpochEnd, h.TrainEnd, h.BatchBegin):
        pass

    both, last = Both(), Last()
    assert made._categorize_handlers([both, last]) == ([both], [last], [last], [both], [last], [last])
    with pytest.raises(AssertionError, match="CPUs only"):
        h.Estimator(net, mx.gluon.loss.L2Loss(), trainer=trainer, context=[mx.gpu(0)])
