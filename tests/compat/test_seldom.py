"""Seldom uses of data sets, transforms, tools and files, each held to what follows from its description."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, image, nd, sym
from hybrid.contrib import quantization
from hybrid.executor import Executor
from hybrid.formats.params import CSR, RowSparse

DATA = Path(__file__).resolve().parents[2] / "fixtures" / "data"
transforms = gluon.data.vision.transforms


def test_folders_without_pictures_have_a_label_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, names in (("a", ()), ("b", ("1.png", "2.PNG")), ("c", ()), ("d", ("3.png",))):
        (tmp_path / "pictures" / folder).mkdir(parents=True)
        for name in names:
            shutil.copy(DATA / "a.png", tmp_path / "pictures" / folder / name)
    monkeypatch.setenv("HOME", str(tmp_path))
    found = gluon.data.vision.ImageFolderDataset("~/pictures")
    assert found.synsets == ["a", "b", "c", "d"]
    assert [(Path(p).name, label) for p, label in found.items] == [("1.png", 1), ("2.PNG", 1), ("3.png", 3)]
    assert {Path(p).parents[1] for p, _ in found.items} == {tmp_path / "pictures"}


def test_factors_of_transforms_are_never_below_nothing() -> None:
    for kind in (
        transforms.RandomBrightness,
        transforms.RandomContrast,
        transforms.RandomSaturation,
        transforms.RandomHue,
    ):
        assert [kind(amount)._args for amount in (0.25, 1, 1.5)] == [(0.75, 1.25), (0, 2), (0, 2.5)]


def test_the_middle_is_enlarged_by_the_method_that_is_asked_for() -> None:
    picture = nd.array(np.arange(7 * 9 * 3).reshape(7, 9, 3) * 37 % 251, dtype="uint8")
    shown = {}
    for method in (0, 1, 2):
        shown[method] = transforms.CenterCrop((14, 11), method)(picture).asnumpy()
        np.testing.assert_array_equal(shown[method], image.center_crop(picture, (14, 11), method)[0].asnumpy())
    assert (shown[0] != shown[1]).any() and (shown[1] != shown[2]).any()


def test_each_mask_of_a_variational_cell_has_its_own_rate() -> None:
    x = nd.ones((4, 50))
    for rates in ((0.5, 0, 0), (0, 0.5, 0), (0, 0, 0.5)):
        inner = gluon.rnn.RNNCell(40, input_size=50, activation="relu", i2h_bias_initializer="ones")
        cell = gluon.contrib.rnn.VariationalDropoutCell(inner, *rates)
        cell.initialize(mx.init.Constant(0.01))
        states = [nd.ones((4, 40))]
        mx.random.seed(3)
        with mx.autograd.train_mode():
            first, _ = cell(x, states)
            second, _ = cell(x, states)
        same = (first.asnumpy() == 0) == (second.asnumpy() == 0)
        dropped = float((first.asnumpy() == 0).mean())
        assert same.all() and (0.3 < dropped < 0.7 if rates[2] else dropped == 0), rates
        assert (first.asnumpy() == second.asnumpy()).all()
        assert len(np.unique(first.asnumpy()[0])) == (2 if rates[2] else 1)


def test_cells_with_channels_last_show_how_many_there_are() -> None:
    cell = gluon.contrib.rnn.Conv2DLSTMCell((6, 7, 3), 5, (3, 3), (3, 3), (1, 1), conv_layout="NHWC")
    assert repr(cell).startswith("Conv2DLSTMCell(3 -> 20, tanh, NHWC")
    first = gluon.contrib.rnn.Conv2DLSTMCell((3, 6, 7), 5, (3, 3), (3, 3), (1, 1))
    assert repr(first).startswith("Conv2DLSTMCell(3 -> 20, tanh, NCHW")


def test_buckets_with_other_keys_and_symbols_of_their_own(tmp_path: Path) -> None:
    def generate(key: Any) -> Any:
        layer = sym.FullyConnected(sym.sum(sym.var("data"), axis=1), num_hidden=3, name="fc")
        return layer * (2 if key == 3 else 1), ("data",), None

    for keys, whole in (((6, 3), True), ((6, "b"), False), (("a", 3), False)):
        made = mx.mod.BucketingModule(generate, keys[0])
        made.bind([("data", (4, 6, 5))])
        made.init_params()
        made.switch_bucket(keys[1], [("data", (4, 3, 5))])
        prefix = str(tmp_path / f"{keys[0]}{keys[1]}")
        made.save_checkpoint(prefix, 1)
        assert os.path.exists(f"{prefix}.buckets") == whole
        assert all(os.path.exists(f"{prefix}-{k}-symbol.json") for k in keys)
    arguments, states = made.get_params()
    own = {3: generate(6)[0] * 5}
    loaded = mx.mod.BucketingModule.load_dict(own, generate, 6, arguments, states)
    loaded.bind([("data", (4, 6, 5))], for_training=False)
    x = np.linspace(-1, 1, 60).reshape(4, 3, 5).astype(np.float32)
    batch = mx.io.DataBatch([nd.array(x)], bucket_key=3, provide_data=[("data", x.shape)])
    loaded.forward(batch, is_train=False)
    want = (x.sum(1) @ arguments["fc_weight"].asnumpy().T + arguments["fc_bias"].asnumpy()) * 5
    np.testing.assert_allclose(loaded.get_outputs()[0].asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_gradients_are_checked_as_each_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    product = sym.var("a") * sym.var("b")
    a, b, head = (np.linspace(i, i + 2, 6).reshape(2, 3) for i in (1, 3, 5))
    tools = mx.test_utils
    for requests in (["write", "add"], ["add", "write"], ["null", "write"]):
        tools.check_symbolic_backward(product, [a, b], [head], [head * b, head * a], grad_req=requests)
    for wrong in ([head * b, head * b], [head * a, head * a]):
        with pytest.raises(AssertionError):
            tools.check_symbolic_backward(product, [a, b], [head], wrong, grad_req=["write", "add"])
    calls: list[bool] = []
    forward, backward = Executor.forward, Executor.backward
    monkeypatch.setattr(
        Executor, "forward", lambda self, is_train=False, **k: (calls.append(is_train), forward(self, is_train, **k))[1]
    )
    monkeypatch.setattr(
        Executor, "backward", lambda self, *g, **k: (calls.append("backward"), backward(self, *g, **k))[1]
    )
    for kind, want in (("whole", [True, "backward"] * 4), ("forward", [False] * 4)):
        calls.clear()
        assert tools.check_speed(product, {"a": a, "b": b}, N=3, typ=kind) > 0 and calls == want


def test_mnist_is_found_in_the_folder_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for part in ("train", "t10k"):
        for kind in ("images-idx3", "labels-idx1"):
            content = (DATA / f"train-{kind}-ubyte").read_bytes()
            (tmp_path / "data" / f"{part}-{kind}-ubyte").write_bytes(content)
    labels = np.frombuffer((DATA / "train-labels-idx1-ubyte").read_bytes()[8:], np.uint8)
    pixels = np.frombuffer((DATA / "train-images-idx3-ubyte").read_bytes()[16:], np.uint8)
    if pixels.size != len(labels) * 28 * 28:  # those of the fixtures are smaller
        header = (2051).to_bytes(4, "big") + b"".join(n.to_bytes(4, "big") for n in (len(labels), 28, 28))
        pixels = np.arange(len(labels) * 784).astype(np.uint8)
        for part in ("train", "t10k"):
            (tmp_path / "data" / f"{part}-images-idx3-ubyte").write_bytes(header + pixels.tobytes())
    found = mx.test_utils.get_mnist()
    for part in ("train", "test"):
        assert found[f"{part}_label"].tolist() == labels.tolist()
        np.testing.assert_allclose(found[f"{part}_data"].ravel(), pixels / 255, rtol=1e-6)


def test_arguments_of_distributions_are_given_once() -> None:
    for functions in (nd, sym):
        for name, args, kwargs in (
            ("normal", (0,), {"loc": 1}),
            ("uniform", (0, 1), {"high": 2}),
            ("randint", (0, 5), {"low": 1}),
        ):
            with pytest.raises(TypeError, match="multiple values for argument"):
                getattr(functions.random, name)(*args, **kwargs)
        with pytest.raises(TypeError, match="misses argument 'high'"):
            functions.random.randint(3)


def test_both_directions_of_fused_parameters_are_named() -> None:
    class Told(mx.init.Initializer):
        def _init_weight(self, name: str, arr: Any) -> None:
            told.append(str(name))
            arr[:] = len(told)

    for mode, gates in (("lstm", ("_i", "_f", "_c", "_o")), ("gru", ("_r", "_z", "_o")), ("rnn_tanh", ("",))):
        told: list[str] = []
        op = mx.init.FusedRNN(None, 2, 2, mode, bidirectional=True)
        layer = {"lstm": gluon.rnn.LSTM, "gru": gluon.rnn.GRU, "rnn_tanh": gluon.rnn.RNN}[mode](
            2, 2, bidirectional=True, input_size=3
        )
        size = sum(int(np.prod(p.shape)) for p in layer.collect_params().values())
        packed = nd.zeros((size,))
        op(mx.init.InitDesc("rnn_parameters", {"__init__": op.dumps()}, global_init=Told()), packed)
        want = {
            f"{side}{k}_{source}{gate}_weight"
            for side in "lr"
            for k in (0, 1)
            for source in ("i2h", "h2h")
            for gate in gates
        }
        assert set(told) == want and len(told) == len(want), mode


def test_ranges_without_an_end_are_refused_at_either_end() -> None:
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    weights = {"fc_weight": nd.array(np.linspace(-1, 1, 12).reshape(3, 4)), "fc_bias": nd.array([1, 2, 3])}
    made, _, _, collector = quantization.quantize_graph(net, weights, {}, calib_mode="naive", quantize_mode="full")
    assert collector is not None
    data = np.linspace(-1, 2, 8).reshape(2, 4)
    for name in ("data", "fc_output"):
        collector.collect(name, nd.array(data))
    ranges = dict(collector.min_max_dict)
    assert ranges
    for bad in ((-np.inf, 1.0), (0.0, np.inf), (np.nan, 1.0), (0.0, np.nan)):
        for name in ranges:
            collector.min_max_dict = {**ranges, name: bad}
            with pytest.raises(ValueError, match=f"calibration: {name} goes from .* wanted finite"):
                quantization.calib_graph(made, weights, {}, collector, "naive")
    collector.min_max_dict = ranges
    quantization.calib_graph(made, weights, {}, collector, "naive")


def test_parts_of_sparse_arrays_have_to_fit() -> None:
    rows, values = np.array([3, 0]), np.arange(6.0).reshape(2, 3) + 1
    want = np.zeros((4, 3))
    want[rows] = values
    starts, columns, held = np.array([0, 2, 2, 3]), np.array([1, 3, 0]), np.array([5.0, 6, 7])
    table = np.zeros((3, 4))
    table[[0, 0, 2], columns] = held
    for kind in ("int64", "int32", "uint8", "uint64"):
        np.testing.assert_array_equal(RowSparse(values, rows.astype(kind), (4, 3)).todense(), want)
        np.testing.assert_array_equal(CSR(held, starts.astype(kind), columns.astype(kind), (3, 4)).todense(), table)
    for bad, said in (
        (lambda: RowSparse(values, rows.astype(float), (4, 3)), "row indices: got .* integers"),
        (lambda: RowSparse(values, rows, (3, 3)), "row indices: got one outside"),
        (lambda: RowSparse(values, rows * 0, (4, 3)), "row indices: got one twice"),
        (lambda: RowSparse(values, rows, (4, 2)), "row data"),
        (lambda: CSR(held, starts - [-1, 0, 0, 0], columns, (3, 4)), "indptr: got other bounds"),
        (lambda: CSR(held, starts - [1, 0, 0, 0], columns, (3, 4)), "indptr: got other bounds"),
        (lambda: CSR(held, starts - [0, -1, 0, 0], columns, (3, 4)), "indptr: got other bounds"),
        (lambda: CSR(held, starts - [0, 0, 0, 1], columns, (3, 4)), "indptr: got other bounds"),
        (lambda: CSR(held, starts, columns - [0, -1, 0], (3, 4)), "column indices: got one outside"),
        (lambda: CSR(held, starts, columns - [0, 0, 1], (3, 4)), "column indices: got one outside"),
        (lambda: CSR(held, starts, columns, (4, 4)), "indptr: got"),
    ):
        with pytest.raises(ValueError, match=said):
            bad()


def test_labels_of_files_are_described_in_their_own_dtype(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("1,2\n3,4\n")
    for kind in ("float32", "int32", "int64"):
        made = mx.io.CSVIter(tmp_path / "d.csv", (2,), tmp_path / "d.csv", (2,), batch_size=2, dtype=kind)
        assert [np.dtype(d.dtype).name for d in (*made.provide_data, *made.provide_label)] == [kind, kind]
        (batch,) = list(made)
        assert [a.dtype for a in (*batch.data, *batch.label)] == [np.dtype(kind).type] * 2
        made.debug_skip_load()
        made.reset()
        assert [next(made).data[0].asnumpy().tolist() for _ in range(3)] == [[[1, 2], [3, 4]]] * 3
