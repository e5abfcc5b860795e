"""gluon.Trainer: the same numbers as MXNet 1.9.1's, its errors, and its files."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon
from hybrid.core.error import FormatError, MXNetError

FIXTURES = Path(__file__).parents[2] / "fixtures"
TABLE = json.loads((FIXTURES / "optimizer" / "trainer.json").read_text())
CASES = TABLE["cases"]


def program() -> Any:
    """The script that recorded the fixture; its function train runs on either engine."""
    spec = importlib.util.spec_from_file_location("make_trainer", FIXTURES / "make" / "trainer.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", [pytest.param(c, id="-".join(map(str, c["case"]))) for c in CASES])
def test_trains_as_mxnet_does(case: dict[str, Any], tmp_path: Path) -> None:
    got = program().train(mx, *case["case"], tmp_path)
    for mine, want in zip(got, case["values"], strict=True):
        np.testing.assert_allclose(mine, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c['case'][0]}-{i}") for i, c in enumerate(TABLE["sparse"])])
def test_sparse_gradients_as_in_mxnet(case: dict[str, Any]) -> None:
    got = program().by_rows(mx, *case["case"])
    np.testing.assert_allclose(got, case["values"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c['case'][0]}-{i}") for i, c in enumerate(TABLE["schedules"])])
def test_schedules_as_in_mxnet(case: dict[str, Any]) -> None:
    got, left = program().rates(mx, *case["case"])
    assert got == case["values"][0]
    assert left == case["values"][1]


def test_schedules_that_cannot_be() -> None:
    for name, args, attrs, wrong in (
        ("LRScheduler", (), {"warmup_begin_lr": 1}, "Base lr has to be higher"),
        ("LRScheduler", (), {"warmup_steps": -1}, "positive or 0"),
        ("LRScheduler", (), {"warmup_mode": "x"}, "Supports only linear and constant"),
        ("FactorScheduler", (0,), {}, "greater or equal than 1"),
        ("FactorScheduler", (1, 2), {}, "Factor must be no more than 1"),
        ("MultiFactorScheduler", ([3, 3],), {}, "increasing"),
        ("PolyScheduler", (0,), {}, "strictly positive"),
    ):
        with pytest.raises(ValueError, match=wrong):
            getattr(mx.lr_scheduler, name)(*args, **attrs)
    with pytest.raises(AssertionError):
        mx.lr_scheduler.MultiFactorScheduler([])
    with pytest.raises(NotImplementedError):
        mx.lr_scheduler.LRScheduler()(1)


def parameters(count: int = 2, contexts: int = 1, **attrs: Any) -> list[gluon.Parameter]:
    params = [gluon.Parameter(f"p{i}", shape=(2,), **attrs) for i in range(count)]
    for param in params:
        param.initialize(init=mx.init.One(), ctx=[mx.cpu(i) for i in range(contexts)])
    return params


def backward(*params: gluon.Parameter) -> None:
    with autograd.record():
        losses = [param.data(c).sum() for param in params for c in param.list_ctx()]
    for loss in losses:
        loss.backward()


def test_stale_gradients() -> None:
    used, unused = parameters()
    trainer = gluon.Trainer([used, unused], "sgd", {"learning_rate": 0.5})
    backward(used)
    with pytest.raises(UserWarning, match="Gradient of Parameter `p1` on context cpu\\(0\\) has not been updated"):
        trainer.step(1)
    trainer.step(1, ignore_stale_grad=True)
    assert used.data().asnumpy().tolist() == [0.5, 0.5]
    assert unused.data().asnumpy().tolist() == [1, 1]
    trainer.step(1, ignore_stale_grad=True)
    assert used.data().asnumpy().tolist() == [0.5, 0.5]
    with pytest.raises(UserWarning, match="`p0`"):
        trainer.step(1)


def test_what_it_takes() -> None:
    one, two = parameters()
    with pytest.raises(ValueError, match="list or dict of Parameters, got <class 'int'>"):
        gluon.Trainer(3, "sgd")
    with pytest.raises(ValueError, match="got list of <class 'int'>"):
        gluon.Trainer([3], "sgd")
    with pytest.raises(AssertionError, match="optimizer_params must be None"):
        gluon.Trainer([one], mx.optimizer.SGD(), {"learning_rate": 1})
    trainer = gluon.Trainer({"b": two, "a": one}, mx.optimizer.SGD(learning_rate=0.25))
    assert [p.name for p in trainer._params] == ["p0", "p1"]
    assert trainer.learning_rate == 0.25
    trainer.set_learning_rate(1.0)
    assert trainer.optimizer.lr == 1.0
    apart = parameters(1, 2)
    with pytest.raises(AssertionError, match="All Parameters must be initialized on the same set of contexts"):
        gluon.Trainer([one, *apart], "sgd")


def test_a_scheduler_decides_the_rate() -> None:
    (param,) = parameters(1)
    scheduler = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0)
    trainer = gluon.Trainer([param], "sgd", {"lr_scheduler": scheduler})
    with pytest.raises(UserWarning, match="LRScheduler of the optimizer has already been defined"):
        trainer.set_learning_rate(1)
    for want in (1.0, 0.5, 0.25):
        backward(param)
        trainer.step(1)
        assert trainer.learning_rate == want


def test_parts_of_a_step_are_for_weights_outside_the_store() -> None:
    trainer = gluon.Trainer(parameters(1, 2), "sgd")
    for call in (trainer.allreduce_grads, lambda: trainer.update(1)):
        with pytest.raises(AssertionError, match="when parameters are updated on kvstore is not supported"):
            call()


def test_files_of_states(tmp_path: Path) -> None:
    (param,) = parameters(1)
    trainer = gluon.Trainer([param], "adam")
    backward(param)
    trainer.step(1)
    trainer.save_states(str(tmp_path / "states"))
    again = gluon.Trainer([param], "sgd")
    again.load_states(str(tmp_path / "states"))
    assert type(again.optimizer) is mx.optimizer.Adam
    assert again.optimizer.param_dict == {0: param}
    (tmp_path / "states").write_bytes(b"cos\nsystem\n(S'ls'\ntR.")
    with pytest.raises(FormatError, match=r"they call os\.system"):
        again.load_states(str(tmp_path / "states"))


@pytest.mark.parametrize("contexts", [1, 2])
def test_sparse_gradients_change_their_rows_only(contexts: int) -> None:
    param = gluon.Parameter("weight", shape=(4, 2), grad_stype="row_sparse")
    param.initialize(init=mx.init.One(), ctx=[mx.cpu(i) for i in range(contexts)])
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1, "momentum": 0.5, "wd": 0.1})
    for rows in ([0, 1], [1]):
        with autograd.record():
            losses = [mx.nd.take(param.data(c), mx.nd.array(rows, ctx=c)).sum() for c in param.list_ctx()]
        for loss in losses:
            loss.backward()
        trainer.step(contexts)
    first = 1 - 1.1
    want = [first, first - 0.5 * 1.1 - (1 + 0.1 * first), 1, 1]
    for context in param.list_ctx():
        np.testing.assert_allclose(param.data(context).asnumpy()[:, 0], want, rtol=1e-6, atol=1e-6)


def test_a_store_that_sparse_weights_need() -> None:
    param = gluon.Parameter("weight", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse")
    param.initialize(init=mx.init.One())
    trainer = gluon.Trainer([param], "sgd", update_on_kvstore=False)
    with pytest.raises(ValueError, match="sparse weights are present"):
        trainer.step(1)


def test_a_gradient_that_has_not_come_since_the_last_step_is_told() -> None:
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = mx.nd.ones((4, 3))
    for _ in range(2):
        with mx.autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(4)
        before = net.weight.data().asnumpy()
        with pytest.raises(UserWarning, match=r"stale|backward"):
            trainer.step(4)
        trainer.step(4, ignore_stale_grad=True)
        np.testing.assert_array_equal(net.weight.data().asnumpy(), before)


class _Adding(mx.kv.KVStoreBase):
    """A store that cannot update weights: it adds gradients up, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        self.asked.append(("broadcast", key))

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        self.asked.append(("pushpull", key, priority))
        total = sum(v.asnumpy() for v in value)
        for target in value if out is None else out:
            target[:] = total

    @staticmethod
    def is_capable(capability: str) -> bool:
        return False

    @property
    def type(self) -> str:
        return "adding"


def test_a_store_that_cannot_update_is_only_asked_to_add() -> None:
    first, second = parameters(2, 2)
    store = _Adding()
    trainer = gluon.Trainer([first, second], "sgd", {"learning_rate": 0.25}, kvstore=store)
    backward(first, second)
    trainer.step(2)
    assert [p.data(c).asnumpy().tolist() for p in (first, second) for c in p.list_ctx()] == [[0.75, 0.75]] * 4
    assert store.asked == [("broadcast", 0), ("broadcast", 1), ("pushpull", 0, 0), ("pushpull", 1, -1)]
    refused = gluon.Trainer([first, second], "sgd", kvstore=_Adding(), update_on_kvstore=True)
    with pytest.raises(ValueError, match="Please set update_on_kvstore=False when training with"):
        refused.step(1)
    alone = gluon.Trainer(parameters(1), "sgd", {"learning_rate": 0.5}, kvstore=None, update_on_kvstore=True)
    backward(*alone._params)
    alone.step(1)  # no store, so here
    assert alone._params[0].data().asnumpy().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("order", [1, -1])
def test_one_sparse_parameter_among_dense_ones_decides(order: int) -> None:
    """Sparse gradients are added up in the store and used outside it; sparse weights are updated in a store, also one that is
    given; stores of other kinds add up no sparse gradients."""

    def mixed(**attrs: Any) -> list[gluon.Parameter]:
        params = [gluon.Parameter("dense", shape=(2,)), gluon.Parameter("rows", shape=(2, 2), **attrs)][::order]
        for param in params:
            param.initialize(init=mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
        return params

    trainer = gluon.Trainer(mixed(grad_stype="row_sparse"), "sgd", {"learning_rate": 0.5})
    backward(*trainer._params)
    trainer.allreduce_grads()  # not refused
    trainer.update(1)
    assert all((p.data(c).asnumpy() == 0).all() for p in trainer._params for c in p.list_ctx())
    with pytest.raises(ValueError, match="multi-device training with sparse gradients"):
        gluon.Trainer(mixed(grad_stype="row_sparse"), "sgd", kvstore=_Adding()).step(1)
    with pytest.raises(ValueError, match="sparse weights are present"):
        gluon.Trainer(mixed(stype="row_sparse"), "sgd", update_on_kvstore=False).step(1)
    store = mx.kv.create("device")
    trainer = gluon.Trainer(mixed(stype="row_sparse"), "sgd", {"learning_rate": 0.25}, kvstore=store)
    with autograd.record():
        losses = [p._data[i].sum() for p in trainer._params for i in range(2)]
    autograd.backward(losses)
    trainer.step(1)
    assert trainer._kvstore is store
    assert all((a.asnumpy() == 0.5).all() for p in trainer._params for a in p._data)


def test_values_that_are_set_between_steps_count_wherever_weights_are_updated() -> None:
    for contexts, on_store in ((1, None), (2, False), (2, True)):
        first, second = parameters(2, contexts)
        trainer = gluon.Trainer([first, second], "sgd", {"learning_rate": 0.5}, update_on_kvstore=on_store)
        for _ in range(2):
            backward(first, second)
            trainer.step(contexts)
            first.set_data(mx.nd.array([4, 8]))
        backward(first, second)
        trainer.step(contexts)
        for context in first.list_ctx():
            assert first.data(context).asnumpy().tolist() == [3.5, 7.5]
            assert second.data(context).asnumpy().tolist() == [-0.5, -0.5]


def test_updates_that_are_asked_for_by_themselves_may_leave_stale_gradients_alone() -> None:
    used, unused = parameters(2, 2)
    trainer = gluon.Trainer([used, unused], "sgd", {"learning_rate": 0.5}, update_on_kvstore=False)
    backward(used)
    trainer.allreduce_grads()
    with pytest.raises(UserWarning, match="`p1`"):
        trainer.update(2)
    trainer.update(2, ignore_stale_grad=True)
    assert [p.data(mx.cpu(1)).asnumpy().tolist() for p in (used, unused)] == [[0.5, 0.5], [1, 1]]


def test_a_loss_scaler_skips_steps_that_overflow_and_compression_is_refused() -> None:
    class Scaler:
        def __init__(self) -> None:
            self.answers = [True, False]

        def has_overflow(self, params: Any) -> bool:
            assert [p.name for p in params] == ["p0"]
            return self.answers.pop(0)

    (param,) = parameters(1)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5})
    trainer._amp_loss_scaler = Scaler()
    for want in (1, 0.5):
        backward(param)
        trainer.step(1)
        assert param.data().asnumpy().tolist() == [want] * 2
    for given in ({"compression_params": {"type": "2bit", "threshold": 0.5}}, {}):
        params = parameters(1, 2)
        trainer = gluon.Trainer(params, "sgd", **given)
        backward(*params)
        if given:
            with pytest.raises(MXNetError, match="Gradient compression"):
                trainer.step(1)
        else:
            trainer.step(1)
    assert gluon.Trainer([], "sgd")._contexts == []
