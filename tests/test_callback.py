"""Callbacks of training loops: what they log and save."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hybrid as mx


def at(nbatch: int, metric: Any = None, epoch: int = 0) -> SimpleNamespace:
    return SimpleNamespace(epoch=epoch, nbatch=nbatch, eval_metric=metric, locals=None)


def accuracy() -> mx.metric.Accuracy:
    metric = mx.metric.Accuracy()
    metric.update([mx.nd.array([0, 1])], [mx.nd.array([[1, 0], [1, 0]])])
    return metric


def test_speedometer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    metric, meter = accuracy(), mx.callback.Speedometer(10, 2)
    for batch in range(3):
        meter(at(batch, metric))
    (line,) = caplog.messages
    assert line.startswith("Epoch[0] Batch [0-2]\tSpeed: ")
    assert line.endswith(" samples/sec\taccuracy=0.500000")
    assert metric.num_inst == 0
    mx.callback.Speedometer(10, 1, auto_reset=False)(at(0))
    meter(at(4))
    assert caplog.messages[-1].startswith("Iter[0] Batch [4]\tSpeed: ")


def test_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    metric = accuracy()
    mx.callback.ProgressBar(10, 20)(at(5))
    mx.callback.LogValidationMetricsCallback()(at(0, metric, 3))
    mx.callback.log_train_metric(2, auto_reset=True)(at(2, metric))
    mx.callback.log_train_metric(2)(at(3, metric))
    assert caplog.messages == [
        f"[{'=' * 10}{'-' * 10}] 50%\r",
        "Epoch[3] Validation-accuracy=0.500000",
        "Iter[0] Batch[2] Train-accuracy=0.500000",
    ]
    assert metric.num_inst == 0


def test_checkpoints(tmp_path: Path) -> None:
    save = mx.callback.do_checkpoint(str(tmp_path / "net"), period=2)
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    for epoch in range(4):
        save(epoch, symbol, {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones((2,))}, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net-0002.params", "net-0004.params", "net-symbol.json"]
    calls: list[Any] = []
    module = SimpleNamespace(save_checkpoint=lambda *args: calls.append(args))
    for epoch in range(2):
        mx.callback.module_checkpoint(module, "net", 2, True)(epoch)
        mx.callback.module_checkpoint(module, "other", 1)(epoch, symbol, {}, aux={})  # as fit calls it
    assert calls == [("other", 1, False), ("net", 2, True), ("other", 2, False)]
