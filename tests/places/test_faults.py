"""Faults on one of several places, or on a device: they are told, nothing waits for ever, and what comes next is right."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon, nd, sym
from hybrid.core.error import OpError, OutOfMemory
from hybrid.device import registry
from hybrid.device.mock import Mock

PLACES = {"a": mx.cpu(0), "b": mx.cpu(1)}


def group(name: str) -> Any:
    return mx.AttrScope(ctx_group=name)


class Planted(mx.operator.CustomOp):
    """Twice its input, unless something is planted."""

    fails = ""

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        if Planted.fails == "forward":
            raise ValueError("planted")
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        if Planted.fails == "backward":
            raise ValueError("planted")
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@mx.operator.register("test_planted")
class PlantedProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Planted:
        return Planted()


def gradients(executor: Any) -> dict[str, np.ndarray]:
    executor.forward(is_train=True)
    executor.backward()
    return {name: array.asnumpy() for name, array in executor.grad_dict.items() if array is not None}


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_an_error_in_a_branch_on_another_place(where: str) -> None:
    """Told each time, with the name of the operator; the next run is that of an executor that never failed."""
    data = sym.var("data")
    with group("a"):
        one = sym.FullyConnected(data, num_hidden=5, name="one")
    with group("b"):
        two = sym.FullyConnected(sym.Custom(data, op_type="test_planted"), num_hidden=5, name="two")
    with group("a"):
        loss = sym.make_loss(one * two)
    made = [loss.simple_bind(mx.cpu(0), group2ctx=groups, data=(4, 5)) for groups in (PLACES, None)]
    for executor in made:
        for i, name in enumerate(sorted(executor.arg_dict)):
            executor.arg_dict[name][:] = (
                nd.arange(executor.arg_dict[name].size).reshape_like(executor.arg_dict[name]) + i
            )
    Planted.fails = where
    try:
        for _ in range(2):
            with pytest.raises(OpError, match=rf"test_planted\.{where} raised ValueError: planted"):
                gradients(made[0])
    finally:
        Planted.fails = ""
    nd.waitall()
    found, wanted = map(gradients, made)
    assert found.keys() == wanted.keys() and len(found) == 5
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_gradients_of_places_are_added_to_what_is_there() -> None:
    """grad_req="add", with a weight that both places use."""
    data, shared = sym.var("data"), sym.var("shared")
    ends = []
    for name in PLACES:
        with group(name):
            x = sym.tanh(sym.FullyConnected(data, shared, no_bias=True, num_hidden=5, name=f"{name}1"))
            ends.append(sym.FullyConnected(x, num_hidden=3, name=f"{name}2"))
    with group("a"):
        loss = sym.LinearRegressionOutput(ends[0] * ends[1], name="loss")
    found = []
    for groups, request in ((PLACES, "add"), (None, "add"), (PLACES, "write")):
        executor = loss.simple_bind(mx.cpu(0), group2ctx=groups, grad_req=request, data=(4, 5))
        numbers = np.random.RandomState(0)
        for name in sorted(executor.arg_dict):
            executor.arg_dict[name][:] = numbers.randn(*executor.arg_dict[name].shape)
        for array in executor.grad_dict.values():
            array[:] = 1
        for _ in range(3):
            last = gradients(executor)
        found.append(last)
    added, one_place, written = found
    for name, value in added.items():
        np.testing.assert_allclose(value, one_place[name], rtol=1e-6, err_msg=name)
        np.testing.assert_allclose(value, 1 + 3 * written[name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("hybrid", [False, True])
def test_gradients_are_gathered_over_batches_on_two_places(hybrid: bool) -> None:
    def trained(contexts: list[Any]) -> list[np.ndarray]:
        mx.random.seed(1)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(16, activation="tanh", in_units=8), gluon.nn.Dense(4, in_units=16))
        net.initialize(mx.init.Xavier(), ctx=contexts)
        if hybrid:
            net.hybridize()
        parameters = list(net.collect_params().values())
        for parameter in parameters:
            parameter.grad_req = "add"
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        data = nd.array(np.random.RandomState(2).randn(8, 8))
        for _ in range(3):
            for factor in (1, 2):
                parts = gluon.utils.split_and_load(data * factor, contexts)
                with autograd.record():
                    losses = [(net(part) ** 2).sum() for part in parts]
                autograd.backward(losses)
            trainer.step(8)
            for parameter in parameters:
                parameter.zero_grad()
        return [parameter.data(contexts[-1]).asnumpy() for parameter in parameters]

    for one, two in zip(trained([mx.cpu(0)]), trained([mx.cpu(0), mx.cpu(1)]), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("flags", [None, {}, {"static_alloc": True, "static_shape": True}])
def test_a_device_without_memory_enough(flags: dict[str, bool] | None, train: bool) -> None:
    """A batch that is too large is told of, and leaves nothing behind; smaller ones go on with the same numbers."""
    device = Mock(0, memory=6 << 20)
    with registry.using([device]):
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(256, activation="relu", in_units=256), gluon.nn.Dense(10, in_units=256))
        net.initialize(ctx=mx.gpu(0))
        if flags is not None:
            net.hybridize(**flags)

        def run(count: int) -> np.ndarray:
            data = nd.ones((count, 256), ctx=mx.gpu(0))
            if not train:
                return net(data).asnumpy()
            with autograd.record():
                result = net(data)
            result.backward()
            return result.asnumpy()

        for _ in range(4):
            before = run(8)
        gc.collect()
        free = device.memory_info()[0]
        for _ in range(3):
            with pytest.raises(
                OutOfMemory, match=r"gpu\(0\): out of memory: \d+ bytes wanted, \d+ of 6291456 are free"
            ):
                run(3000)
        for _ in range(4):  # a captured graph is captured anew
            np.testing.assert_array_equal(run(8), before)
        gc.collect()
        assert device.memory_info()[0] >= free


INTERRUPTED = """
    import os, signal, sys, time
    import numpy as np
    import hybrid as mx
    from hybrid import gluon

    class Slow(gluon.data.Dataset):
        def __len__(self):
            return 64
        def __getitem__(self, i):
            time.sleep(0.2)
            return np.zeros((64, 64, 64), np.float32), i

    if __name__ == "__main__":
        signal.signal(signal.SIGINT, signal.default_int_handler)
        loader = gluon.data.DataLoader(Slow(), 4, num_workers=2)
        batches = iter(loader)
        next(batches)
        print("running", flush=True)
        for _ in batches:
            pass
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="sends a signal to a group of processes")
def test_ctrl_c_in_a_terminal_ends_a_loader_and_its_workers(tmp_path: Path) -> None:
    """SIGINT to the whole group, as a terminal sends it: all end within seconds, with one traceback. Batches travel in memory
    without a name, which ends with them."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(INTERRUPTED), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(mx.__file__).parent.parent)}
    child = subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        assert child.stdout is not None and child.stdout.readline() == "running\n"
        os.killpg(child.pid, signal.SIGINT)
        _, told = child.communicate(timeout=30)
        assert child.returncode in (-signal.SIGINT, 1) and told.count("Traceback") == 1, told
        assert told.rstrip().endswith("KeyboardInterrupt")
        end = time.monotonic() + 10
        while time.monotonic() < end and _group_lives(child.pid):
            time.sleep(0.05)
        assert not _group_lives(child.pid)
    finally:
        if _group_lives(child.pid):
            os.killpg(child.pid, signal.SIGKILL)


def _group_lives(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True
