"""The operators' table on a device: each example computed there, as the CPU computes it. No operator is named here.

Where there is a GPU, it is that; else a mock. (``pytest tests/table --on gpu`` has all of tests/table run on it.)"""

import json
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, nd
from hybrid.core.error import MXNetError
from hybrid.core.op import Example, Op
from hybrid.device.base import Device
from hybrid.device.mock import Mock
from hybrid.eager import array
from hybrid.execution import backends, on_device
from hybrid.execution.device_program import DeviceBackend
from hybrid.execution.program import Program
from tests import shares
from tests.table.examples import examples, graph_of
from tests.table.goldens import close

SHARE = 3


def same_on_device(example: Example, device: Device) -> None:
    """Fail unless the device computes what the CPU does, and has written the same to what the operator writes to."""
    graph, feeds = graph_of(example)
    here, there = ({k: v.copy() for k, v in feeds.items()} for _ in range(2))
    mx.random.seed(7)
    wants = Program(graph, native=False).run(here)
    backend = DeviceBackend(device)
    backends.register(backend)
    try:
        mx.random.seed(7)
        got = Program(graph).run(there)
    finally:
        backends.unregister(backend)
    for result, want in zip(got, wants, strict=True):
        close(result, want, example.op)
    for name, written in here.items():
        close(there[name], written, example.op)


def test_all_examples_are_the_same_on_the_device(any_device: Device) -> None:
    """And no memory of it is held afterwards."""
    rows = [(f"{e.op!r} {i}", e) for i, e in enumerate(examples())]
    looked = 0
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, example in shares.some(rows, lambda row: row[0], SHARE):
            looked += 1
            try:
                same_on_device(example, any_device)
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert looked > 300
    assert not wrong, "\n".join(wrong)
    if isinstance(any_device, Mock):
        import gc

        gc.collect()
        any_device.release_memory()
        assert any_device.counters.live_bytes < 4096, "what NumPy holds of failed reductions is a few bytes"


def test_most_of_the_core_stays_on_the_device(any_device: Device) -> None:
    """Primitives and compositions of floats: these are few that the CPU has to compute."""
    from hybrid.execution.on_device import apply_on_device
    from hybrid.ir.graph import Entry
    from hybrid.ir.infer import infer

    stays, leaves = set(), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for example in examples():
            if example.op.name.startswith("_onnx_") or not example.arrays or "rng" in example.op.needs:
                continue
            graph, feeds = graph_of(example)
            found = infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})
            node = graph.outputs[0].node
            specs = [found.spec(Entry(node, i)) for i in range(node.num_outputs)]
            if "subgraphs" in example.op.needs or any(not any_device.takes_dtype(a.dtype) for a in feeds.values()):
                continue
            arrays = [any_device.upload(a.copy()) for a in feeds.values()]
            why = apply_on_device(any_device, example.op, arrays, specs, name="node")[1]
            (stays.add if why is None else lambda n, why=why: leaves.setdefault(n, why))(example.op.name)
    share = len(stays - leaves.keys()) / len(stays | leaves.keys())
    assert share > 0.6, json.dumps(leaves, indent=1)


def test_most_gradients_stay_on_the_device(devices: Sequence[Mock], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of what networks are made of among them: products, normalization, convolution, pooling, moving things about."""
    left: set[str] = set()
    stayed: set[str] = set()
    inner = on_device.apply_on_device

    def noted(device: Device, op: Op, *args: Any, **kwargs: Any) -> Any:
        results, why = inner(device, op, *args, **kwargs)
        if op.name.startswith("_backward"):
            (stayed if why is None else left).add(op.name)
        return results, why

    monkeypatch.setattr(array, "apply_on_device", noted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for example in examples():
            if example.op.name.startswith("_onnx_") or {"rng", "subgraphs"} & {*example.op.needs}:
                continue
            with suppress(MXNetError):  # what has no gradient
                inputs = [nd.array(a, ctx=mx.gpu(), dtype=a.dtype) for a in example.arrays]
                for x in inputs:
                    if np.dtype(x.dtype).kind == "f":
                        x.attach_grad()
                with autograd.record():
                    made = array.invoke(example.op, inputs)
                first = made[0] if isinstance(made, list) else made
                if np.dtype(first.dtype).kind == "f":
                    first.backward()
    assert len(stayed - left) / len(stayed | left) > 0.75, left
    common = (
        "FullyConnected Convolution_data Convolution_weight Pooling batch_normalization normalization dot batch_dot "
    )
    common += "slice slice_axis transpose softmax pick SequenceMask"
    assert not {f"_backward_{n}" for n in common.split()} & left
    assert {f"_backward_{n}" for n in ("FullyConnected", "Pooling", "batch_normalization", "pick")} <= stayed


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int64", "uint8", "bool"])
def test_dtypes(any_device: Device, dtype: str) -> None:
    a = np.array([[1, 0, 3], [4, 5, 0]]).astype(dtype)
    ctx = mx.gpu()
    x = mx.nd.array(a, ctx=ctx, dtype=dtype)
    assert x.dtype == np.dtype(dtype)
    np.testing.assert_array_equal((x == x).asnumpy(), np.ones_like(a, dtype))
    np.testing.assert_array_equal(mx.nd.concat(x, x, dim=0).asnumpy(), np.concatenate([a, a]))
    np.testing.assert_array_equal(x.astype("float32").asnumpy(), a.astype("float32"))
