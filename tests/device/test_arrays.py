"""Arrays on a device, and what moves between it and the host. All on mocks."""

import dataclasses
import gc
import pickle
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon, nd
from hybrid.core.error import OutOfMemory
from hybrid.device import registry
from hybrid.device.array import DeviceArray, DeviceError, LeavesDevice
from hybrid.device.base import COPY, STAGED
from hybrid.device.mock import Mock, mocks
from hybrid.eager.cached_op import CachedOp
from hybrid.execution import on_device
from hybrid.execution.on_device import DeviceFallback


def test_arrays_live_where_they_were_made(devices: Sequence[Mock]) -> None:
    x = nd.array([[1, 2], [3, 4]], ctx=mx.gpu(1))
    assert type(x._memory) is DeviceArray
    assert x._memory.device is devices[1]
    assert (x.context, (x + x).context, x[0].context, x.T.context) == (mx.gpu(1),) * 4
    with mx.gpu(1):
        for made in (
            nd.zeros(2),
            nd.ones((2, 2)),
            nd.arange(4),
            nd.random.uniform(shape=(2,)),
            nd.array([1]),
            nd.eye(2),
        ):
            assert made.context == mx.gpu(1)
            assert type(made._memory) is DeviceArray
    assert nd.zeros(2).context == mx.cpu()


def test_what_there_is(devices: Sequence[Mock]) -> None:
    assert mx.context.num_gpus() == mx.util.get_gpu_count() == 2 and [*mx.test_utils.list_gpus()] == [0, 1]
    free, total = mx.context.gpu_memory_info(0)
    x = nd.zeros((1000,), ctx=mx.gpu())
    assert mx.context.gpu_memory_info(0) == (free - 4000, total)
    assert mx.context.gpu_memory_info(1) == (total, total)
    del x
    with pytest.raises(mx.MXNetError, match=r"gpu\(2\): there are 2 GPUs"):
        nd.zeros(1, ctx=mx.gpu(2))
    with pytest.raises(mx.MXNetError, match=r"gpu\(7\)"):
        mx.context.gpu_memory_info(7)


def test_without_devices_they_are_refused() -> None:
    with registry.using([]):
        assert mx.context.num_gpus() == 0
        with pytest.raises(mx.MXNetError, match="CPUs only"), mx.gpu():
            nd.zeros(1)


def test_reading_and_writing(device: Mock) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = nd.array(a, ctx=mx.gpu())
    row, part = x[1], x[:, 1:3]
    np.testing.assert_array_equal(row.asnumpy(), a[1])
    np.testing.assert_array_equal(part.asnumpy(), a[:, 1:3])
    row[:] = -1  # a view, as on the CPU
    a[1] = -1
    np.testing.assert_array_equal(x.asnumpy(), a)
    x[:, 0] = nd.array([7, 8, 9])
    x[0, 1:] = np.float32(5)
    a[:, 0], a[0, 1:] = [7, 8, 9], 5
    np.testing.assert_array_equal(x.asnumpy(), a)
    x[:] = nd.array(a, ctx=mx.gpu()) * 2
    np.testing.assert_array_equal(x.asnumpy(), 2 * a)
    np.testing.assert_array_equal(x[np.array([2, 0])].asnumpy(), 2 * a[[2, 0]])
    with pytest.raises(IndexError):
        x[np.array([3])]
    assert float(x[2, 0].asscalar()) == 18
    assert f"{x[0, :2]}" == "\n[14. 10.]\n<NDArray 2 @gpu(0)>"
    x += 1
    np.testing.assert_array_equal(x.reshape((-1,))[:3].asnumpy(), 2 * a.reshape(-1)[:3] + 1)
    assert nd.array(a, ctx=mx.gpu()).astype("int32").dtype == np.int32


def test_mixed_devices_are_refused_in_mxnets_words(devices: Sequence[Mock]) -> None:
    x, y = nd.ones((2, 2), ctx=mx.gpu(0)), nd.ones((2, 2))
    wanted = (
        r"Operator elemwise_add require all inputs live on the same context. But the first argument is on gpu\(0\) while "
        r"the 2-th argument is on cpu\(0\)"
    )
    with pytest.raises(mx.MXNetError, match=wanted):
        nd.elemwise_add(x, y)
    for other in (y, nd.ones((2, 2), ctx=mx.gpu(1))):
        with pytest.raises(mx.MXNetError, match="same context"):
            nd.broadcast_mul(x, other)
        with pytest.raises(mx.MXNetError, match="same context"):
            nd.relu(x, out=other)
    net = gluon.nn.Dense(2, in_units=2)
    net.initialize(ctx=mx.gpu())
    net.hybridize()
    with pytest.raises((mx.MXNetError, ValueError, RuntimeError)):
        net(y)


def test_copies(devices: Sequence[Mock]) -> None:
    x = nd.array([1, 2, 3], ctx=mx.gpu(0))
    there, back, on_host = x.as_in_context(mx.gpu(1)), x.copyto(mx.gpu(0)), x.as_in_context(mx.cpu())
    assert x.as_in_context(mx.gpu(0)) is x
    x[:] = 0
    for copied, ctx in ((there, mx.gpu(1)), (back, mx.gpu(0)), (on_host, mx.cpu())):
        assert copied.context == ctx
        np.testing.assert_array_equal(copied.asnumpy(), [1, 2, 3])
    there.copyto(x)
    np.testing.assert_array_equal(x.asnumpy(), [1, 2, 3])
    on_host.copyto(there)
    (on_host * 2).copyto(x)
    np.testing.assert_array_equal(x.asnumpy(), [2, 4, 6])


def test_gradients_come_back_from_another_device(devices: Sequence[Mock]) -> None:
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = (x * x).as_in_context(mx.gpu(1)) * 3
        z = y.as_in_context(mx.gpu(0)) + 1
    z.backward()
    assert x.grad.context == mx.cpu()
    np.testing.assert_array_equal(x.grad.asnumpy(), [6, 12, 18])


def test_files_and_pickles(device: Mock, tmp_path: Path) -> None:
    x = nd.array([[1, 2]], ctx=mx.gpu())
    nd.save(str(tmp_path / "x"), {"x": x})
    np.testing.assert_array_equal(nd.load(str(tmp_path / "x"))["x"].asnumpy(), [[1, 2]])
    again = pickle.loads(pickle.dumps(x))
    assert again.context == mx.gpu()
    np.testing.assert_array_equal(again.asnumpy(), [[1, 2]])
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize(ctx=mx.gpu())
    net.save_parameters(str(tmp_path / "net"))
    other = gluon.nn.Dense(2, in_units=3)
    other.load_parameters(str(tmp_path / "net"), ctx=mx.gpu())
    assert other.weight.data().context == mx.gpu()
    np.testing.assert_array_equal(other.weight.data().asnumpy(), net.weight.data().asnumpy())
    other.collect_params().reset_ctx(mx.cpu())
    assert other.weight.data().context == mx.cpu()
    np.testing.assert_array_equal(other.weight.data().asnumpy(), net.weight.data().asnumpy())


def test_memory_cannot_be_read_across(device: Mock) -> None:
    x = device.upload(np.ones(1, np.float32))
    for read in (np.asarray, np.array, float, bool, int, DeviceArray.tolist, DeviceArray.item):
        with pytest.raises(LeavesDevice):
            read(x)
    with pytest.raises(LeavesDevice):
        np.copyto(np.zeros(3), x)
    with pytest.raises(LeavesDevice):
        np.add(x, 1, out=np.zeros(3))
    host = np.zeros(3)
    with pytest.raises(LeavesDevice):
        host[:] = x
    with pytest.raises(mx.MXNetError):
        np.add(x, mocks(2)[1].upload(np.ones(3)))
    with pytest.raises(BufferError):
        nd.ones(2, ctx=mx.gpu()).__dlpack__()


def test_what_happens_is_counted(device: Mock) -> None:
    x = nd.array(np.ones((4, 4)), ctx=mx.gpu())
    before = dataclasses.replace(device.counters)
    y = nd.relu(x) + x
    assert device.counters.since(before).downloads == device.counters.since(before).uploads == 0
    y.asnumpy()
    done = device.counters.since(before)
    assert (done.uploads, done.downloads, done.downloaded_bytes) == (0, 1, 64)
    assert done.launches >= 2


def test_large_arrays_come_in_on_the_other_stream(device: Mock) -> None:
    a = np.arange(STAGED, dtype=np.float32)
    before = device._streams[COPY].time
    x = nd.array(a, ctx=mx.gpu())
    assert device._streams[COPY].time > before
    np.testing.assert_array_equal((x + 1).asnumpy(), a + 1)
    for _ in range(10):  # more than may be on their way
        x[:] = a * 3
    np.testing.assert_array_equal(x.asnumpy(), a * 3)


def test_a_race_is_an_error(device: Mock) -> None:
    x = device.upload(np.ones(STAGED, np.float32))
    np.negative(x)
    with pytest.raises(DeviceError, match="a race: stream copy"):
        device._write(x.memory, np.zeros(STAGED, np.float32), COPY)
    device.synchronize()
    device._write(x.memory, np.zeros(STAGED, np.float32), COPY)
    with pytest.raises(DeviceError, match="a race: stream compute"):
        np.negative(x)
    device._wait("compute", device._record(COPY))
    assert device.download(x)[0] == 0


@pytest.mark.parametrize("how", ["asnumpy", "wait_to_read", "waitall", "asscalar"])
def test_errors_come_late(device: Mock, how: str) -> None:
    x = nd.ones(1, ctx=mx.gpu())
    device.fail_later()
    y = nd.exp(x)  # of which nothing is heard here,
    z = y * 2
    with pytest.raises(DeviceError, match=r"CUDA: an illegal memory access was encountered \(gpu\(0\)\)"):
        nd.waitall() if how == "waitall" else getattr(z, how)()
    assert nd.relu(x).asscalar() == 1  # and which a mock forgets


def test_memory_that_runs_out(device: Mock) -> None:
    with registry.using(mocks(1, 1 << 20)):
        kept = nd.zeros((200_000,), ctx=mx.gpu())
        with pytest.raises(
            OutOfMemory, match=r"gpu\(0\): out of memory: 800000 bytes wanted, 2485\d\d of 1048576 are free"
        ):
            nd.exp(kept)
        del kept
        assert nd.zeros((200_000,), ctx=mx.gpu())[0].asscalar() == 0


def test_the_cpu_takes_over_with_one_warning(device: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device, "_warned", set())
    x = nd.array([[[0.9, 0, 0, 1, 1], [0.8, 0, 0, 1, 1]]], ctx=mx.gpu())
    with pytest.warns(
        DeviceFallback, match=r"box_nms runs on the CPU, its arrays are copied from gpu\(0\) and back"
    ) as seen:
        y = nd.contrib.box_nms(x, score_index=0, coord_start=1)
        nd.contrib.box_nms(x * 1, score_index=0, coord_start=1)
    assert len(seen) == 1
    assert y.context == mx.gpu()
    np.testing.assert_array_equal(y.asnumpy()[0, :, 0], np.float32([0.9, -1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nd.random.normal(shape=(2,), ctx=mx.gpu())  # which the CPU draws everywhere


def test_seeds_mean_the_same_everywhere(device: Mock) -> None:
    def drawn(ctx: mx.Context) -> list[np.ndarray]:
        mx.random.seed(3)
        with autograd.train_mode():
            return [
                nd.random.normal(shape=(5,), ctx=ctx).asnumpy(),
                nd.Dropout(nd.ones((4, 4), ctx=ctx)).asnumpy(),
                nd.shuffle(nd.arange(9, ctx=ctx)).asnumpy(),
            ]

    for here, there in zip(drawn(mx.cpu()), drawn(mx.gpu()), strict=True):
        np.testing.assert_array_equal(here, there)


def test_sparse_arrays_and_numpy_arrays(device: Mock) -> None:
    x = nd.array([[0, 1], [0, 0], [2, 3]], ctx=mx.gpu())
    rows = x.tostype("row_sparse")
    np.testing.assert_array_equal(rows.asnumpy(), x.asnumpy())
    np.testing.assert_array_equal(rows.tostype("default").asnumpy(), x.asnumpy())
    a = mx.np.array([[1.0, 2.0], [3.0, 4.0]], ctx=mx.gpu())
    assert repr(a + 1) == "array([[2., 3.],\n       [4., 5.]], ctx=gpu(0))"
    assert mx.np.dot(a, a).ctx == mx.gpu()
    assert a[1, 0] == 3
    np.testing.assert_array_equal(a[a > 2].asnumpy(), [3, 4])


def test_nothing_is_left(device: Mock) -> None:
    x = nd.array(np.ones((64, 1024), np.float32), ctx=mx.gpu())
    for _ in range(5):
        x = (nd.exp(x) - 1)[:].reshape((-1, 1024)) * 0.5
    x.attach_grad()
    with autograd.record():
        loss = (x * x).sum()
    loss.backward()
    assert device.counters.live_bytes >= 3 * x.size
    del x, loss
    gc.collect()
    device.synchronize()
    device.release_memory()
    assert device.counters.live_bytes == 0


def test_a_gpu_and_a_cpu_of_one_number_have_programs_of_their_own(devices: Sequence[Mock]) -> None:
    """Each holds what follows from its own weights: nothing is brought anew when calls take turns."""
    net = mx.gluon.nn.Dense(4, in_units=3)
    contexts = [mx.cpu(1), mx.gpu(1)]
    net.initialize(ctx=contexts)
    net.hybridize()
    for i, array in enumerate(net.weight.list_data()):
        array[:] = i + 1
    for _ in range(2):
        assert [net(nd.ones((2, 3), ctx=c)).asnumpy()[0, 0] for c in contexts] == [3, 6]
    op = net._cached_op
    assert isinstance(op, CachedOp)
    assert len({id(op.program(False, c.queue)) for c in contexts}) == 2
