"""Questions that MXNet cannot be asked: refusals in words of our own, and what is done where MXNet fails or draws otherwise."""

# ruff: noqa: E501  a row a line
import bz2
import itertools
import logging
import pickle
import random
import re
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.contrib import quantization
from hybrid.core.error import FormatError, MXNetError, OpError
from hybrid.executor_manager import DataParallelExecutorManager

from .modules import examples, net, ready, weights
from .questions import numbers

nd, sym, gluon = mx.nd, mx.sym, mx.gluon
DATA = Path(__file__).resolve().parents[2] / "fixtures" / "data"
Row = tuple[str, Callable[[], Any], type[Exception], str]


def refusals(rows: list[Row]) -> None:
    """Every call raises an error of its class that says what it should."""
    wrong = []
    for name, call, error, text in rows:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except Exception as got:
            if not isinstance(got, error) or not re.search(text, str(got)):
                wrong.append(f"{name}: {type(got).__name__} {got}")
        else:
            wrong.append(f"{name}: raised nothing")
    assert not wrong, "\n".join(wrong)


def close(got: Any, want: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    got = got.asnumpy() if hasattr(got, "asnumpy") else got
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def test_what_modules_refuse() -> None:
    chain, python = mx.mod.SequentialModule(), mx.mod.PythonLossModule(data_names=["x"])
    first = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc1")
    chain.add(mx.mod.Module(first, label_names=None))
    python.bind([("x", (4, 3))], [("softmax_label", (4,))])
    python.init_params()
    batch = next(examples(mx))
    bound = ready(mx)
    rows: list[Row] = [
        ("chain inputs", lambda: chain.bind([("data", (4, 5))], None, False, True), AssertionError, "for_training=True"),
        ("chain shared", lambda: chain.bind([("data", (4, 5))], shared_module=bound), AssertionError, "not supported"),
        ("python twice", lambda: mx.mod.PythonLossModule(data_names=["x", "y"]), AssertionError, "one input and one label"),
        ("python function", lambda: mx.mod.PythonLossModule(grad_func=3), AssertionError, "wanted a function"),
        ("python parts", lambda: python.get_outputs(False), AssertionError, "in one place"),
        ("python gradient parts", lambda: python.get_input_grads(False), AssertionError, "in one place"),
        ("python out_grads", lambda: python.backward([nd.ones((4, 3))]), AssertionError, "should be None"),
        ("requests", lambda: ready(mx, grad_req=["write"]), AssertionError, "got 1 for"),
        ("kind of requests", lambda: ready(mx, grad_req=3), ValueError, "grad_req must be"),
        ("states", lambda: bound.set_states(), AssertionError, "either"),
        ("empty", lambda: bound.forward([]), AssertionError, "empty data batch"),
        ("borrow", lambda: ready(mx).borrow_optimizer(bound), AssertionError, "no optimizer"),
        ("shared", lambda: ready(mx, for_training=True) and _shared(mx.mod.Module(net(mx))), AssertionError, "bound and initialized"),
        ("groups", lambda: mx.mod.Module(net(mx), group2ctxs={"a": "cpu"}), MXNetError, "wanted Contexts"),
        ("epochs", lambda: mx.model.FeedForward(net(mx)).fit(examples(mx)), AssertionError, "num_epoch"),
        ("epoch to save", lambda: mx.model.FeedForward(net(mx)).save("x"), AssertionError, "epoch to save"),
        ("labels", lambda: mx.model.FeedForward(net(mx), num_epoch=1).fit(numbers(4, 5), numbers(4, 2)), ValueError, "1D or 2D"),
        (
            "work",
            lambda: DataParallelExecutorManager(net(mx), [mx.cpu()], examples(mx), work_load_list=[1, 2]),
            AssertionError,
            "2 entries for 1",
        ),
    ]  # fmt: skip
    refusals(rows)
    bound.forward(batch, is_train=True)


def _shared(other: Any) -> None:
    mx.mod.Module(net(mx)).bind([("data", (4, 5))], [("softmax_label", (4,))], shared_module=other)


def test_what_cells_and_blocks_refuse(tmp_path: Path) -> None:
    rnn, contrib = gluon.rnn, gluon.contrib.rnn
    both = lambda: rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2))  # noqa: E731
    stack = rnn.SequentialRNNCell()
    stack.add(both())
    x = nd.array(numbers(2, 3, 4))
    old = mx.rnn.SequentialRNNCell()
    old.add(mx.rnn.BidirectionalCell(mx.rnn.RNNCell(2, prefix="l_"), mx.rnn.RNNCell(2, prefix="r_")))
    clipped = rnn.LSTM(2, state_clip_min=-1, state_clip_max=1)
    rows: list[Row] = [
        ("dropped states", lambda: contrib.VariationalDropoutCell(both(), drop_states=0.5), AssertionError, "BidirectionalCell doesn't"),
        ("dropped states of a stack", lambda: contrib.VariationalDropoutCell(stack, drop_states=0.5), AssertionError, "underneath"),
        ("stepped", lambda: stack(x[:, 0], []), AssertionError, "cannot be stepped"),
        ("stepped symbols", lambda: old(sym.var("x"), []), AssertionError, "cannot be stepped"),
        ("unfused", clipped._unfuse, AssertionError, "clipping"),
        ("unfused at 0", rnn.LSTM(2, state_clip_min=0)._unfuse, AssertionError, "clipping"),  # MXNet forgets the clipping
        ("unfused to 0", rnn.LSTM(2, state_clip_max=0)._unfuse, AssertionError, "clipping"),
        ("length of symbols", lambda: rnn.RNNCell(2).unroll(None, sym.var("x")), AssertionError, "length"),
        ("length of a list", lambda: rnn.RNNCell(2).unroll(2, [x[:, 0]]), AssertionError, "list of 1 steps"),
        ("kind of inputs", lambda: rnn.RNNCell(2).unroll(2, 3), ValueError, "NDArrays or Symbols"),
        ("dropout", lambda: mx.rnn.DropoutCell("x"), AssertionError, "must be a number"),
        ("even kernel", lambda: mx.rnn.ConvRNNCell((2, 3, 6, 6), 4, h2h_kernel=(2, 2)), AssertionError, "odd"),
        ("layout", lambda: mx.rnn.FusedRNNCell(2).unroll(3, sym.var("x"), layout="NCT"), AssertionError, "layout"),
        ("both around", lambda: mx.rnn.ZoneoutCell(old), AssertionError, "doesn't support zoneout"),
        ("deformable", lambda: gluon.contrib.cnn.DeformableConvolution(2, layout="NCW"), AssertionError, "NCHW"),
        ("deformable last", lambda: gluon.contrib.cnn.DeformableConvolution(2, layout="NHWC"), OpError, "only NCHW"),
        ("optimize_for", lambda: gluon.nn.Dense(2).optimize_for(3, backend="x"), ValueError, "must be one NDArray"),
        ("nothing", lambda: _hybrid()(None), ValueError, "one NDArray or one Symbol"),
        ("no model", lambda: gluon.nn.Dense(2).load(str(tmp_path / "none")), OSError, "none-model.json"),
        ("broken model", lambda: _broken(tmp_path, "{"), FormatError, "wanted what Block.save wrote"),
        ("other model", lambda: _broken(tmp_path, "{}"), FormatError, "other blocks"),
        ("names of files", lambda: _named(tmp_path), ValueError, "neither arg:NAME nor aux:NAME"),
        ("no names", lambda: _named(tmp_path, [nd.ones(1)]), ValueError, "no names"),
        ("shape of saved", lambda: gluon.Parameter("p", shape=(2,))._load_init(nd.ones(3), None), MXNetError, "shape incompatible"),
    ]  # fmt: skip
    refusals(rows)


def _hybrid() -> Any:
    block = gluon.nn.Dense(2)
    block.hybridize()
    return block


def _broken(folder: Path, text: str) -> None:
    (folder / "b-model.json").write_text(text)
    gluon.nn.Dense(2).load(str(folder / "b"))


def _named(folder: Path, arrays: Any = None) -> None:
    nd.save(str(folder / "p"), {"fc1_bias": nd.ones(4)} if arrays is None else arrays)
    ready(mx).load_params(str(folder / "p"))


def test_what_data_and_tools_refuse(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    io, im, t = mx.io, mx.image, mx.test_utils
    (tmp_path / "empty").mkdir()
    (tmp_path / "i.csv").write_text("1,2\n3,x\n")
    (tmp_path / "l.csv").write_text("1,2\n\n3,99999999999\n")
    (tmp_path / "d.svm").write_text("1 0:1\n\n2 1:1\n")
    (tmp_path / "e.svm").write_text("1 0:1\n")
    (tmp_path / "t.svm").write_text("1 0:1 0:2\n")
    files = {
        "image": str(DATA / "train-images-idx3-ubyte"),
        "label": str(DATA / "train-labels-idx1-ubyte"),
        "silent": True,
    }
    rec, root = str(DATA / "images.rec"), str(DATA)
    one = {"path_root": root, "imglist": [[1, "a.png"]]}
    svm = {"data_libsvm": str(tmp_path / "d.svm"), "data_shape": (2,), "batch_size": 1}
    rows: list[Row] = [
        ("folder", lambda: io.CSVIter(data_csv=str(tmp_path / "empty"), data_shape=(2,), batch_size=1), MXNetError, "without files"),
        ("whole", lambda: io.CSVIter(data_csv=str(tmp_path / "i.csv"), data_shape=(2,), batch_size=1, dtype="int32"), FormatError, "line 2: .*whole"),
        ("large", lambda: io.CSVIter(data_csv=str(tmp_path / "l.csv"), data_shape=(2,), batch_size=1, dtype="int32"), FormatError, "line 3: .*from -2147"),
        ("svm dtype", lambda: io.LibSVMIter(**svm, dtype="int32"), MXNetError, "wanted float32"),
        ("svm labels", lambda: io.LibSVMIter(**svm, label_libsvm=str(tmp_path / "e.svm")), MXNetError, "2 rows of data, but 1"),
        ("svm twice", lambda: io.LibSVMIter(**{**svm, "data_libsvm": str(tmp_path / "t.svm")}), FormatError, "line 1: got an index twice"),
        ("svm part", lambda: io.LibSVMIter(**svm, num_parts=2, part_index=2), MXNetError, "part_index=2, num_parts=2"),
        ("mnist dtype", lambda: io.MNISTIter(**files, dtype="int8"), MXNetError, "wanted float32"),
        ("mnist kinds", lambda: io.MNISTIter(**{**files, "label": files["image"]}), FormatError, "."),
        ("prefetch", lambda: io.PrefetchingIter([]), AssertionError, "needs an iterator"),
        ("pads", lambda: _pads(io), AssertionError, "pad|mismatch"),
        ("augmented", lambda: next(im.ImageIter(1, (3, 4, 4), aug_list=[im.CastAug()], **one)), MXNetError, "augmenters gave images"),
        ("labels", lambda: next(im.ImageIter(1, (3, 4, 4), label_width=2, **one)), FormatError, "wanted label_width=2"),
        ("means", lambda: im.CreateAugmenter((3, 4, 4), mean=np.ones(2)), AssertionError, "1 or 3 numbers"),
        ("resize", lambda: im.CreateAugmenter((3, 4, 4), rand_resize=True), AssertionError, "needs rand_crop"),
        ("area", lambda: im.RandomSizedCropAug((4, 4), 0.5, (1, 1), other=3), AssertionError, "unexpected keyword"),
        ("angles", lambda: im.imrotate(nd.ones((3, 4, 4)), nd.ones(2)), TypeError, "scalar"),
        ("listed", lambda: next(_listed(tmp_path, rec)), FormatError, "not in path_imglist"),
        ("probabilities", lambda: t.chi_square_check(lambda n: np.ones(n), [0, 1], [1.0]), AssertionError, "1 probabilities for 2"),
        ("intervals", lambda: t.chi_square_check(lambda n: np.ones(n), [(1, 2), (0, 1)], [0.5, 0.5], 9), AssertionError, "ascending"),
        ("buckets", lambda: t.gen_buckets_probs_with_ppf(lambda p: p, 0), AssertionError, "nbuckets=0"),
        ("density", lambda: t.rand_ndarray((2, 3), "csr", density=1.5), ValueError, "between 0 and 1"),
        ("rows", lambda: t.rand_sparse_ndarray((2, 3), "row_sparse", rsp_indices=[0, 1, 0]), AssertionError, "3 indices for 2 rows"),
        ("collapse", lambda: t.collapse_sum_like(np.ones((2, 3)), (2, 2)), AssertionError, "cannot be broadcast"),
        ("sample", lambda: t.random_sample([1], 2), AssertionError, "k=2 of 1"),
        ("missing", lambda: t.get_zip_data(str(tmp_path), "url", "none.zip"), MXNetError, r"none\.zip is not there"),
        ("gone", lambda: t.get_bz2_data(str(tmp_path), "a", "url", "none.bz2"), MXNetError, r"none\.bz2 is not there"),
        ("store of a number", lambda: mx.kv.create("local").init(3.5, nd.ones(1)), AssertionError, "keys"),
        ("store without out", lambda: _store().pull("a", None), AssertionError, "wanted arrays in out"),
        ("ranges", lambda: quantization.calib_graph(net(mx), {}, {}, None, "none"), ValueError, "wanted naive, entropy or customize"),
        ("collector", lambda: quantization.quantize_graph(net(mx), {}, {}, calib_mode="customize"), ValueError, "wants a LayerOutputCollector"),
        ("customize", lambda: quantization.quantize_model(net(mx), {}, {}, calib_mode="customize"), ValueError, "customize"),
        ("optimizer class", lambda: mx.optimizer.register(3), AssertionError, "wanted a class"),
        ("prefix", lambda: t.download("http://x/none"), MXNetError, "unless the user says so"),
    ]  # fmt: skip
    refusals(rows)


def _store() -> Any:
    kv = mx.kv.create("local")
    kv.init("a", nd.ones(2))
    return kv


def _pads(io: Any) -> None:
    sizes = (7, 5)
    next(io.PrefetchingIter([io.NDArrayIter(numbers(n, 2), None, 8) for n in sizes]))


def _listed(folder: Path, rec: str) -> Any:
    (folder / "x.lst").write_text("77\t1.0\ta.png\n")
    return mx.io.ImageRecordIter(
        path_imgrec=rec, path_imglist=str(folder / "x.lst"), data_shape=(3, 8, 9), batch_size=1
    )


def test_records_are_cut_varied_and_relabelled(tmp_path: Path) -> None:
    """random_resized_crop, colours and a list of labels for a record file."""
    pytest.importorskip("PIL")
    rec = str(DATA / "images.rec")
    options = {"path_imgrec": rec, "data_shape": (3, 8, 9), "batch_size": 5}
    plain = next(mx.io.ImageRecordIter(**options))
    ids = sorted({int(k) for k in plain.label[0].asnumpy()})
    (tmp_path / "x.lst").write_text("".join(f"{h.id}\t{h.label * 10 + 0.5}\ta.png\n" for h, _ in _records(rec)))
    again = next(mx.io.ImageRecordIter(**options, path_imglist=str(tmp_path / "x.lst")))
    assert sorted(again.label[0].asnumpy()) == [i * 10 + 0.5 for i in ids]
    close(again.data[0], plain.data[0].asnumpy())
    for more in ({"brightness": 0.5}, {"contrast": 0.5}, {"saturation": 0.5}, {"pca_noise": 40.0}):
        varied = next(mx.io.ImageRecordIter(**options, **more)).data[0].asnumpy()
        assert np.abs(varied - plain.data[0].asnumpy()).max() > 1, more
    # a part of the whole picture, of all its area and its own proportions, is the picture made smaller
    picture = mx.image.imdecode(_records(rec)[0][1])
    ratio = picture.shape[1] / picture.shape[0]
    crop = {"random_resized_crop": True, "min_random_area": 1.0, "max_random_area": 1.0}
    whole = mx.io.ImageRecordIter(**options, **crop, min_aspect_ratio=ratio, max_aspect_ratio=ratio)
    want = mx.image.imresize(picture, 9, 8, 1).asnumpy().transpose(2, 0, 1)
    assert np.abs(next(whole).data[0].asnumpy()[0] - want).max() <= 2


def _records(rec: str) -> list[Any]:
    reader = mx.recordio.MXRecordIO(rec, "r")
    return [mx.recordio.unpack(record) for record in iter(reader.read, None)]


def test_masks_of_whole_sequences() -> None:
    """VariationalDropoutCell without drop_states: one mask for all steps, of inputs and of outputs, and what lengths cut off."""
    kinds = gluon.contrib.rnn.VariationalDropoutCell, gluon.rnn.ZoneoutCell
    for kind, rates in ((k, r) for k in kinds for r in itertools.product((0.0, 0.5), repeat=3 - kinds.index(k))):
        one = kind(gluon.rnn.LSTMCell(4, input_size=4), *rates)
        output, states = one(sym.var("x"), [sym.var("h"), sym.var("c")])
        drawn = sym.Group([output, *states]).tojson().count('"op": "Dropout"')  # a rate of 0 draws nothing
        parts = [1, 1, 1] if kind is kinds[0] else [1, 2]
        assert drawn == sum(n for n, rate in zip(parts, rates) if rate), (kind, rates)
    cell = gluon.contrib.rnn.VariationalDropoutCell(
        gluon.rnn.RNNCell(4, input_size=4), drop_inputs=0.5, drop_outputs=0.5
    )
    cell.initialize()
    x, lengths = nd.array(numbers(2, 5, 4, low=0.5, high=1.5)), nd.array([2, 5])
    mx.random.seed(3)
    with mx.autograd.record():
        outs, _ = cell.unroll(5, x, merge_outputs=True, valid_length=lengths)
    got = outs.asnumpy()
    zero = got == 0
    assert zero[0, 2:].all() and not zero[0, :2].all() and zero.any()
    np.testing.assert_array_equal(zero[1], np.repeat(zero[1][:1], 5, axis=0))
    plain, _ = cell.unroll(5, x, merge_outputs=True)
    assert not (plain.asnumpy() == 0).any()


def test_inputs_that_a_chain_of_modules_gives_gradients_for() -> None:
    """MXNet's SequentialModule forgets that it was asked for them."""
    first = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc1")
    second = sym.LinearRegressionOutput(
        sym.FullyConnected(sym.var("middle"), num_hidden=2, name="fc2"), sym.var("y"), name="out"
    )
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(first, label_names=None))
    chain.add(mx.mod.Module(second, data_names=["middle"], label_names=["y"]), take_labels=True, auto_wiring=True)
    chain.bind([mx.io.DataDesc("data", (4, 5))], [mx.io.DataDesc("y", (4, 2))], inputs_need_grad=True)
    own = {**weights(mx, first, data=(4, 5))[0], **weights(mx, second, middle=(4, 3), y=(4, 2))[0]}
    chain.init_params(arg_params=own, aux_params={})
    x, y = numbers(4, 5), numbers(4, 2, seed=3)
    chain.forward_backward(mx.io.DataBatch([nd.array(x)], [nd.array(y)]))
    w1, b1, w2, b2 = (own[n].asnumpy() for n in ("fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"))
    out = (x @ w1.T + b1) @ w2.T + b2
    close(chain.get_outputs()[0], out)
    close(chain.get_input_grads()[0], (out - y) / 2 @ w2 @ w1, rtol=1e-4)


def test_executors_of_buckets() -> None:
    """The old manager takes the symbol of a batch's bucket; parameters are the same arrays."""

    def generate(length: int) -> Any:
        summed = sym.sum(sym.reshape(sym.var("data"), (-1, length, 2)), axis=1)
        return sym.LinearRegressionOutput(sym.FullyConnected(summed, num_hidden=3, name="fc"), sym.var("y"), name="out")

    class Batches(mx.io.NDArrayIter):
        default_bucket_key = 4

    train = Batches(numbers(4, 8), numbers(4, 3), 4, label_name="y")
    manager = DataParallelExecutorManager(generate(4), [mx.cpu(0), mx.cpu(1)], train, sym_gen=generate)
    w, b = numbers(3, 2, seed=1), numbers(3, seed=2)
    manager.set_params({"fc_weight": nd.array(w), "fc_bias": nd.array(b)}, {})
    for length in (4, 2, 4):
        x, y = numbers(4, 2 * length, seed=length), numbers(4, 3, seed=9)
        shapes = {"provide_data": [("data", x.shape)], "provide_label": [("y", y.shape)]}
        manager.load_data_batch(mx.io.DataBatch([nd.array(x)], [nd.array(y)], bucket_key=length, **shapes))
        manager.forward(is_train=True)
        manager.backward()
        want = x.reshape(4, length, 2).sum(1) @ w.T + b
        close(np.concatenate([e.outputs[0].asnumpy() for e in manager.curr_execgrp.execs]), want)
        metric = mx.metric.MSE()
        manager.update_metric(metric, [nd.array(y)])
        assert np.isclose(metric.get()[1], ((want - y) ** 2).mean(), rtol=1e-4)
        grads = [g for grads in manager.curr_execgrp.grad_arrays for g in grads]
        close(grads[2].asnumpy() + grads[3].asnumpy(), (want - y).sum(0) / 3, rtol=1e-4)
    assert sorted(manager.execgrp_bucket) == [2, 4]
    with pytest.raises(NotImplementedError, match="bucketing"):
        manager.install_monitor(None)


def test_the_cell_inside_of_a_zoneout_cell_goes_on_counting() -> None:
    """Steps of a second sequence are named on, as in MXNet; that inside of another modifier begins again."""
    cell = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(3, prefix="c_"), 0.4, 0)
    for steps in ({"c_t0_out_output", "c_t1_out_output"}, {"c_t2_out_output", "c_t3_out_output"}):
        outputs, _ = cell.unroll(2, sym.var("data"))
        names = sym.Group(outputs).get_internals().list_outputs()
        assert {n for n in names if n.startswith("c_t") and n.endswith("out_output")} == steps


def test_cells_of_symbols_step_by_step() -> None:
    """A stack and a residual cell that are called, not unrolled, are their cells one after the other."""
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.RNNCell(3, prefix="a_"))
    stack.add(mx.rnn.ResidualCell(mx.rnn.RNNCell(3, prefix="b_")))
    states = [sym.var("s"), sym.var("t")]
    out, after = stack(sym.var("x"), states)
    group = sym.Group([out, *after])
    values = {n: numbers(*s, seed=i) for i, (n, s) in enumerate(zip(group.list_arguments(), _shapes(group)))}
    got = group.bind(mx.cpu(), {n: nd.array(v) for n, v in values.items()}).forward()

    def step(kind: str, x: Any, h: Any) -> Any:
        v = values
        return np.tanh(
            x @ v[f"{kind}_i2h_weight"].T
            + v[f"{kind}_i2h_bias"]
            + h @ v[f"{kind}_h2h_weight"].T
            + v[f"{kind}_h2h_bias"]
        )

    first = step("a", values["x"], values["s"])
    second = step("b", first, values["t"])
    for one, want in zip(got, (second + first, first, second), strict=True):
        close(one, want)


def _shapes(group: Any) -> Any:
    return group.infer_shape(x=(2, 4), s=(2, 3), t=(2, 3))[0]


def test_iterators_keep_their_places(tmp_path: Path) -> None:
    """A hard reset shuffles too; all arrays by number; keys of buckets; folders of files; what fills a loader's last batch."""
    io = mx.io
    np.random.seed(2)
    mixed = io.NDArrayIter(np.arange(10.0), np.arange(10) * 2.0, 5, shuffle=True)
    first = next(mixed).data[0].asnumpy().tolist()
    mixed.hard_reset()
    second = next(mixed)
    assert second.data[0].asnumpy().tolist() != first
    close(second.label[0], second.data[0].asnumpy() * 2)
    assert mixed.num_source == 2 and [a.shape for a in mixed.data_list] == [(10,), (10,)]
    mixed.default_bucket_key = 7  # type: ignore[attr-defined]
    assert io.ResizeIter(mixed, 2).default_bucket_key == 7
    (tmp_path / "parts").mkdir()
    for name, rows in (("b.csv", "5,6\n7,8\n"), ("a.csv", "1,2\n\n3,4\n")):
        (tmp_path / "parts" / name).write_text(rows)
    whole = io.CSVIter(data_csv=str(tmp_path / "parts"), data_shape=(2,), batch_size=2)
    assert [b.data[0].asnumpy().tolist() for b in whole] == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    whole.reset()
    whole.debug_skip_load()
    assert [next(whole).data[0].asnumpy()[0, 0] for _ in range(4)] == [1, 1, 1, 1]
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(numbers(5, 2, low=1, high=2), np.arange(1.0, 6)), 3)
    *_, last = mx.contrib.io.DataLoaderIter(loader)
    assert last.pad == 1 and last.label[0].asnumpy().tolist() == [4, 5, 0] and not last.data[0].asnumpy()[2].any()


def test_archives_are_unpacked(tmp_path: Path) -> None:
    t = mx.test_utils
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("in/b.txt", "content")
        archive.writestr("more/", "")
    t.get_zip_data(str(tmp_path), "url", "a.zip")
    assert (tmp_path / "in" / "b.txt").read_text() == "content"
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../evil.txt", "content")
    with pytest.raises(MXNetError, match="lies outside"):
        t.get_zip_data(str(tmp_path), "url", "evil.zip")
    (tmp_path / "c.bz2").write_bytes(bz2.compress(b"more"))
    t.get_bz2_data(str(tmp_path), "c", "url", "c.bz2")
    assert (tmp_path / "c").read_bytes() == b"more" and not (tmp_path / "c.bz2").exists()
    t.get_bz2_data(str(tmp_path), "c", "url", "c.bz2")
    (tmp_path / "d").mkdir()
    assert t.download("http://x/c", dirname=str(tmp_path)) == str(tmp_path / "c")
    mx.util.makedirs(str(tmp_path / "e" / "f"))
    assert (tmp_path / "e" / "f").is_dir()
    assert mx.util.set_module("there")(lambda: 0).__module__ == "there"


def test_mnist_in_two_iterators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    for part in ("train", "t10k"):
        for kind, source in (("images-idx3", "train-images-idx3-ubyte"), ("labels-idx1", "train-labels-idx1-ubyte")):
            (tmp_path / "data" / f"{part}-{kind}-ubyte").write_bytes((DATA / source).read_bytes())
    monkeypatch.chdir(tmp_path)
    train, test = mx.test_utils.get_mnist_iterator(2, (784,), num_parts=2, part_index=1)
    for part in (train, test):
        labels = [v for b in part for v in b.label[0].asnumpy()]
        assert len(set(labels)) == len(labels) == 4 and set(labels) < {5, 6, 7, 8, 9}
        part.reset()
        assert next(part).data[0].shape == (2, 20)
    train, _ = mx.test_utils.get_mnist_iterator(2, (1, 28, 28))
    assert next(train).data[0].ndim == 4


def test_training_is_watched_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A monitor of FeedForward and of fit; the collector of outputs; a store of a program's own kind."""
    caplog.set_level(logging.INFO)
    symbol = net(mx)
    own, aux = weights(mx, symbol, data=(4, 5), softmax_label=(4,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mx.model.FeedForward(symbol, num_epoch=1, arg_params=own, aux_params=aux, numpy_batch_size=4)
    model.fit(examples(mx), monitor=mx.mon.Monitor(2, pattern="fc2_output"))
    assert len([m for m in caplog.messages if "fc2_output" in m]) == 2
    caplog.clear()
    module = mx.mod.Module(symbol)
    module.fit(examples(mx), num_epoch=1, monitor=mx.mon.Monitor(1, pattern="fc2_output"))
    assert len([m for m in caplog.messages if "fc2_output" in m]) == 3
    test = mx.kv.create("teststore")
    out = [nd.zeros(2), nd.zeros(2)]
    test.broadcast(0, nd.array([3, 4]), out)
    assert [o.asnumpy().tolist() for o in out] == [[3, 4]] * 2
    assert (test.type, test.rank, test.num_workers) == ("teststore", 0, 1)


def test_blocks_in_integers_have_a_scale_for_each_output_where_that_is_asked() -> None:
    """The second output is a hundred times the first, so that of one scale for both little is left of the first."""
    dense = gluon.nn.Dense(2, in_units=3, use_bias=False)
    dense.initialize()
    dense.weight.set_data(nd.array([[0.011, -0.023, 0.017], [1.1, 2.3, -1.7]]))
    x = nd.array(numbers(6, 3))
    want = dense(x).asnumpy()
    errors = {
        kind: np.abs(
            quantization.quantize_net_v2(
                dense, "int8", quantize_granularity=kind, calib_data=[x], calib_mode="naive"
            )(x).asnumpy() - want
        )[:, 0].max() / np.abs(want[:, 0]).max()
        for kind in ("tensor-wise", "channel-wise")
    }  # fmt: skip
    assert errors["channel-wise"] < 0.02 < errors["tensor-wise"], errors


def test_quantising_stops_after_enough_examples() -> None:
    x = numbers(12, 3)
    x[6:] *= 100
    sym_ = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    params = {"fc_weight": nd.array(numbers(2, 3)), "fc_bias": nd.array(numbers(2))}
    found = []
    for most in (None, 4, 6):
        data = mx.io.NDArrayIter(x, None, 3)
        lines = SimpleNamespace(info=lambda *a: found.append(a[1]), debug=lambda *a: None)
        made, *_ = quantization.quantize_model(
            sym_, params, {}, label_names=None, calib_mode="naive", calib_data=data, num_calib_examples=most, logger=lines
        )  # fmt: skip
        ends = next(d for n, d in made.attr_dict().items() if n == "data_quantize")
        seen = x if most is None else x[:6]
        close(float(ends["max_calib_range"]), seen.max(), rtol=1e-4)
        close(float(ends["min_calib_range"]), seen.min(), rtol=1e-4)
        data.reset()
        quantization.quantize_model_mkldnn(
            sym_, params, {}, label_names=None, calib_mode="naive", calib_data=data, num_calib_examples=3, logger=lines
        )  # fmt: skip
    assert found == [12, 3, 6, 3, 6, 3]
    # a scale that is fixed at 1 is written as ones, where it is among the parameters
    norm, offsets = sym.BatchNorm(sym.var("data"), name="bn", fix_gamma=True), {"bn_beta": nd.ones(3)}
    states = {"bn_moving_mean": nd.zeros(3), "bn_moving_var": nd.ones(3)}
    for more in ({}, {"bn_gamma": nd.array([2, 3, 4])}):
        _, kept, _, _ = quantization.quantize_graph(norm, {**offsets, **more}, states, calib_mode="none")
        assert {n: a.asnumpy().tolist() for n, a in kept.items()} == {n: [1, 1, 1] for n in (*more, *offsets)}
    zeros, _ = quantization._thresholds({"a": (np.ones(5), np.linspace(-0.0, 0, 6), 0.0, 0.0, 0.0)}, "int8"), None
    assert zeros == {"a": (0.0, 1.0)}


def test_optimizers_called_by_hand() -> None:
    """update without an Updater, gradients without rows, halves with masters, copies by pickle, one name twice."""
    start, grads = numbers(3, 2), [numbers(3, 2, seed=i) for i in (1, 2)]
    want, momentum = start.astype(np.float64), 0.0
    weight, made = nd.array(start), mx.optimizer.create("nag", momentum=0.5, learning_rate=0.1)
    state = made.create_state(0, weight)
    for grad in grads:
        made.update(0, weight, nd.array(grad), state)
        momentum = 0.5 * momentum - 0.1 * grad
        want = want + 0.5 * momentum - 0.1 * grad
    close(weight, want)
    for name in ("sgd", "adam", "ftrl", "adagrad"):
        still = nd.array(start)
        if name != "ftrl":  # which updates all rows
            mx.optimizer.get_updater(mx.optimizer.create(name))(0, nd.zeros((3, 2)).tostype("row_sparse"), still)
            close(still, start, rtol=0, atol=0)
    half = nd.array(start, dtype="float16")
    large = mx.optimizer.create("lbsgd", momentum=0.5, multi_precision=True, learning_rate=0.1)
    mom, master = large.create_state(0, half)
    assert (mom.dtype, master.dtype) == (np.float32, np.float32) and not mom.asnumpy().any()
    close(master, half.asnumpy().astype(np.float32))
    again = pickle.loads(pickle.dumps(mx.optimizer.Adam(beta1=0.7, param_dict={0: gluon.Parameter("p", shape=(1,))})))
    assert again.beta1 == 0.7 and again.param_dict == {} and again._get_lrs([0]) == [0.001]
    with pytest.warns(UserWarning, match="overriding existing optimizer"):
        mx.optimizer.register(type("Adam", (mx.optimizer.Adam,), {}))
    mx.optimizer.Optimizer.opt_registry["adam"] = mx.optimizer.Adam


def test_estimators_by_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Training by batches goes on from the last checkpoint for those that are left; nothing to watch is told."""
    e = gluon.contrib.estimator
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(numbers(12, 4), np.arange(12, dtype=np.float32) % 3), 4)

    def made() -> Any:
        block = gluon.nn.Dense(3, in_units=4, prefix="d_")
        block.initialize()
        block.weight.set_data(nd.array(numbers(3, 4)))
        block.bias.set_data(nd.array(numbers(3)))
        trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.3, "momentum": 0.5})
        return e.Estimator(net=block, loss=gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)

    by_batch: dict[str, Any] = {"epoch_period": None, "batch_period": 1}
    through = made()
    through.fit(data, batches=6)
    first = made()
    first.fit(data, batches=3, event_handlers=[e.CheckpointHandler(str(tmp_path / "c"), "m", **by_batch)])
    second = made()
    handler = e.CheckpointHandler(str(tmp_path / "c"), "m", resume_from_checkpoint=True, **by_batch)
    second.fit(data, batches=6, event_handlers=[handler])
    close(second.net.weight.data(), through.net.weight.data().asnumpy())
    assert handler.trained_batch == 2 and handler.saved_checkpoints[-1] == "m-epoch1batch5", handler.saved_checkpoints
    with pytest.raises(ValueError, match="maximum number of batches 6 reached"):
        made().fit(
            data,
            batches=6,
            event_handlers=[e.CheckpointHandler(str(tmp_path / "c"), "m", resume_from_checkpoint=True, **by_batch)],
        )
    with pytest.raises(AssertionError, match="same type of period"):
        made().fit(
            data, batches=6, event_handlers=[e.CheckpointHandler(str(tmp_path / "c"), "m", resume_from_checkpoint=True)]
        )
    scratch = made()
    scratch.fit(
        data,
        batches=2,
        event_handlers=[e.CheckpointHandler(str(tmp_path / "n"), "m", resume_from_checkpoint=True, **by_batch)],
    )
    assert "No checkpoint found, training from scratch for 2 batches" in capsys.readouterr().out
    watched = mx.metric.Accuracy()
    stop = e.EarlyStoppingHandler(watched, mode="max", patience=1)
    with pytest.warns(RuntimeWarning, match="accuracy is not updated"):
        assert not stop.epoch_end(None)
    for mode, better in (("max", (0.6, 0.5)), ("min", (0.5, 0.6)), ("auto", (0.6, 0.5))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stop = e.EarlyStoppingHandler(watched, mode=mode, min_delta=0.05, patience=2)
        told = []
        for value in (better[1], better[0], better[0], better[0]):
            watched.reset()
            watched.sum_metric, watched.num_inst = value * 10, 10
            told.append(stop.epoch_end(None))
        assert (told, stop.stopped_epoch, stop.best) == ([False, False, False, True], 3, better[0]), mode
    with pytest.raises(ValueError, match="handlers must be an EventHandler"):
        made().fit(data, epochs=1, event_handlers=[3])
    with pytest.warns(UserWarning, match="already fully initialized"):
        e.Estimator(made().net, gluon.loss.L2Loss(), initializer=mx.init.Zero(), trainer=made().trainer)
    fresh = gluon.nn.Dense(2, in_units=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        e.Estimator(fresh, gluon.loss.L2Loss(), initializer=mx.init.Constant(0.5))
    assert set(fresh.weight.data().asnumpy().ravel()) == {0.5}


def test_descriptions_say_where_examples_stand_and_of_which_dtype() -> None:
    """A batch in the layout TNC is divided along its second axis; indices may be whole numbers."""
    x, y, w = numbers(3, 4, 5), numbers(3, 4, 2, seed=1), numbers(2, 5, seed=2)
    scores = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, flatten=False, name="fc")
    out = sym.LinearRegressionOutput(scores, sym.var("y"), name="out")
    module = mx.mod.Module(out, label_names=["y"], context=[mx.cpu(0), mx.cpu(1)])
    described = (mx.io.DataDesc(n, a.shape, layout="TNC") for n, a in (("data", x), ("y", y)))
    module.bind(*([d] for d in described))
    module.init_params(arg_params={"fc_weight": nd.array(w)}, aux_params={})
    module.forward(mx.io.DataBatch([nd.array(x)], [nd.array(y)]), is_train=True)
    for k, (parts,) in enumerate(zip(*module.get_outputs(merge_multi_context=False))):
        close(parts, x[:, 2 * k : 2 * k + 2] @ w.T)
    table = sym.Embedding(sym.var("data", dtype="int32"), input_dim=6, output_dim=2, name="e")
    looked = mx.mod.Module(table, label_names=None)
    looked.bind([mx.io.DataDesc("data", (3,), "int32", "N")], for_training=False)
    looked.init_params(arg_params={"e_weight": nd.array(numbers(6, 2))}, aux_params={})
    looked.forward(mx.io.DataBatch([nd.array([5, 0, 2], dtype="int32")]))
    close(looked.get_outputs()[0], numbers(6, 2)[[5, 0, 2]])
    assert looked._exec_group.execs[0].arg_dict["data"].dtype == np.int32


def test_cells_of_symbols_that_mxnet_cannot_be_asked_of() -> None:
    """In MXNet every cell with weights counts as one whose parameters were given, and rnn_unroll hands on a name that nothing takes."""
    r = mx.rnn

    def stack(*cells: Any, **given: Any) -> Any:
        made = r.SequentialRNNCell(**given)
        for cell in cells:
            made.add(cell)
        return made

    both = r.BidirectionalCell(r.RNNCell(2, prefix="l_"), r.RNNCell(2, prefix="r_"))
    for around in (stack(r.RNNCell(2), both), stack(both, r.RNNCell(2))):
        with pytest.raises(AssertionError, match="BidirectionalCell doesn't support zoneout"):
            r.ZoneoutCell(around)
    with pytest.raises(AssertionError, match="FusedRNNCell doesn't support zoneout"):
        r.ZoneoutCell(stack(r.RNNCell(2), r.FusedRNNCell(2)))
    assert r.ZoneoutCell(stack(r.RNNCell(2), r.GRUCell(3))).state_shape == [(0, 2), (0, 3)]
    for inner in (r.LSTMCell(2), stack(r.RNNCell(2), r.GRUCell(3)), r.BidirectionalCell(r.RNNCell(2), r.RNNCell(2))):
        assert len(r.ResidualCell(inner).begin_state()) == len(inner.state_info)
        with pytest.raises(AssertionError, match="Call the modifier cell instead"):
            inner.begin_state()
    given = r.RNNParams("z_")
    given.get("more")
    inner = r.RNNCell(2, prefix="a_")
    outer = stack(inner, params=given)
    names = {"a_i2h_weight", "a_h2h_weight", "a_i2h_bias", "a_h2h_bias", "z_more"}
    assert set(inner.params._params) == set(outer.params._params) == set(given._params) == names
    own = stack(r.RNNCell(2, prefix="a_"))
    assert set(own.params._params) == names - {"z_more"}
    with pytest.raises(AssertionError, match="Either specify params for SequentialRNNCell or child cells, not both"):
        stack(r.RNNCell(2, params=r.RNNParams("q_")), params=r.RNNParams("z_"))
    pair = r.BidirectionalCell(r.RNNCell(2, prefix="l_"), r.RNNCell(2, prefix="r_"), params=given)
    assert all("z_more" in cell.params._params for cell in pair._cells)
    with pytest.warns(UserWarning, match="rnn_unroll is deprecated"):
        outputs, _ = r.rnn_unroll(r.RNNCell(2, prefix="c_"), 3, input_prefix="in_")
    own_names = [f"c_{a}_{b}" for a in ("i2h", "h2h") for b in ("weight", "bias")]
    assert {*sym.Group(outputs).list_arguments()} == {*(f"in_t{i}_data" for i in range(3)), *own_names}
    for layout, shape, begin in (("TNC", (3, 5, 7), None), ("NTC", (5, 3, 7), [sym.var("s", shape=(5, 2))])):
        with pytest.warns(UserWarning, match="rnn_unroll is deprecated"):
            outputs, _ = r.rnn_unroll(r.RNNCell(2, prefix="c_"), 3, sym.var("x"), begin_state=begin, layout=layout)
        group = sym.Group(outputs)
        assert group.infer_shape(x=shape)[1] == [(5, 2)] * 3
        assert ("s" in group.list_arguments()) is bool(begin)


def test_layers_that_know_how_many_channels_come() -> None:
    """MXNet forgets in_channels of the second convolution."""
    cnn = gluon.contrib.cnn
    for kind in (cnn.DeformableConvolution, cnn.ModulatedDeformableConvolution):
        made = kind(6, (3, 2), groups=2, in_channels=4, prefix="d_")
        assert made.deformable_conv_weight.shape == (6, 2, 3, 2)
        assert made.offset_weight.shape == (kind._per_tap * 6, 2, 3, 2)
    known = cnn.DeformableConvolution(6, (3, 2), groups=2, in_channels=4)
    assert repr(known) == "DeformableConvolution(2 -> 6, kernel_size=(3, 2), stride=(1, 1), groups=2)"


def test_boxes_that_cannot_be_are_told_and_nothing_is_changed() -> None:
    """MXNet fails on its own warning."""
    im, x, label = mx.image, nd.array(numbers(5, 4, 3)), numbers(2, 5, low=0, high=1)
    flat = np.float32([[1, 0.5, 0.5, 0.5, 0.5], [2, 0.25, 0.25, 0.75, 1], [3, 0.25, 0.5, 0.75, 0.5]])
    assert im.DetRandomCropAug()._objects_inside(flat, 0, 0, 0.5, 1)[:, 0].tolist() == [2]  # and NumPy says nothing
    for kind, given, words in (
        (im.DetRandomCropAug, {"area_range": (0.9, 0.2)}, "area_range: (0.9, 0.2)"),
        (im.DetRandomCropAug, {"area_range": (0.0, 0.0)}, "area_range: (0.0, 0.0)"),
        (im.DetRandomCropAug, {"area_range": (-2.0, -1.0)}, "area_range: (-2.0, -1.0)"),
        (im.DetRandomCropAug, {"aspect_ratio_range": (2.0, 1.0)}, "aspect_ratio_range: (2.0, 1.0)"),
        (im.DetRandomCropAug, {"aspect_ratio_range": 0}, "aspect_ratio_range: (0, 0)"),
        (
            im.DetRandomCropAug,
            {"aspect_ratio_range": (0.0, 1.0), "area_range": (0.9, 0.2)},
            "area_range: (0.9, 0.2) and aspect_ratio_range: (0.0, 1.0)",
        ),
        (im.DetRandomPadAug, {"area_range": (0.5, 1.0)}, "area_range: (0.5, 1.0)"),
        (im.DetRandomPadAug, {"area_range": (3.0, 2.0)}, "area_range: (3.0, 2.0)"),
        (im.DetRandomPadAug, {"aspect_ratio_range": (2.0, 1.0)}, "aspect_ratio_range: (2.0, 1.0)"),
        (im.DetRandomPadAug, {"aspect_ratio_range": (0.0, 1.0)}, "aspect_ratio_range: (0.0, 1.0)"),
    ):
        with pytest.warns(UserWarning, match=f"^Skip {kind.__name__} due to invalid {re.escape(words)}$"):
            made = kind(**given)
        got, kept = made(x, label)
        assert got is x and kept is label, words
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert im.DetRandomCropAug(area_range=(0.2, 0.2), aspect_ratio_range=1).enabled
        assert im.DetRandomPadAug(area_range=(2, 2), aspect_ratio_range=1).enabled
    x, borders = nd.array(numbers(5, 4, 3, low=1, high=9).astype(np.uint8), dtype="uint8"), []
    for value in (7, (7, 7, 7)):  # of a number MXNet reads what lies behind it too
        random.seed(5)
        borders.append(im.DetRandomPadAug(pad_val=value)(x, label)[0].asnumpy())
    assert borders[0].shape != x.shape and (borders[0] == borders[1]).all()
    with pytest.raises(FormatError, match="inconsistent with annotation width 4"):
        im.ImageDetIter(
            1, (3, 4, 4), imglist=[[np.float32([2, 4, 0.1, 0.2, 0.5, 0.6, 1, 2, 3, 4]), "a.png"]], path_root=str(DATA)
        )


def test_vectors_of_parameters_of_another_size() -> None:
    cell = mx.rnn.FusedRNNCell(2, mode="gru", prefix="f_")
    whole = 6 * (3 + 2 + 2)
    assert len(cell.unpack_weights({"f_parameters": nd.array(numbers(whole))})) == 12
    for size in (whole - 1, whole + 5):
        with pytest.raises(
            ValueError, match=f"Invalid parameters size for FusedRNNCell: got {size}, wanted {size // 6 * 6}"
        ):
            cell.unpack_weights({"f_parameters": nd.array(numbers(size))})


def test_what_reaches_into_sequences() -> None:
    """Layouts of inputs and outputs that differ, groups of symbols, states without a layout, stacks with a cell of two ways."""
    from hybrid.gluon.rnn.sequences import _format_sequence

    rnn, contrib = gluon.rnn, gluon.contrib.rnn
    x = numbers(2, 3, 4)
    whole, axis, functions, batch = _format_sequence(None, nd.array(x), "NTC", None, in_layout="TNC")
    assert (axis, functions, batch) == (1, nd, 2)
    close(whole, x.swapaxes(0, 1))
    parts, axis, _, _ = _format_sequence(2, nd.array(x), "NTC", False, in_layout="TNC")
    assert axis == 1 and len(parts) == 2
    close(parts[1], x[1])
    for unroll in (rnn.RNNCell(2).unroll, mx.rnn.RNNCell(2).unroll):
        with pytest.raises(AssertionError, match="unroll doesn't allow grouped symbol"):
            unroll(2, sym.Group([sym.var("a"), sym.var("b")]))

    class Counter(rnn.HybridRecurrentCell):
        def state_info(self, batch_size: int = 0) -> Any:
            return [{"shape": (batch_size, 2)}, None][: 1 + (batch_size == 0)]

        def _alias(self) -> str:
            return "counter"

        def hybrid_forward(self, F: Any, x: Any, states: Any) -> Any:  # noqa: N803
            return x + states[0], [states[0] + 1]

    counter = Counter(prefix="k_")
    one, other = counter.begin_state(func=lambda name, **info: (name, info))
    assert (one, other) == (("k_begin_state_0", {"shape": (0, 2)}), ("k_begin_state_1", {}))
    (state,) = counter.begin_state(3, func=sym.zeros)
    assert state.attr("__layout__") is None and state.infer_shape()[1] == [(3, 2)]
    out, (last,) = counter.unroll(3, nd.array(x[:, :, :2]), merge_outputs=True)
    close(out, x[:, :, :2] + np.arange(3).reshape(1, 3, 1))
    close(last, np.full((2, 2), 3))
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.RNNCell(2))
    stack.add(rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2)))
    with pytest.raises(
        AssertionError, match="Bidirectional SequentialRNNCell doesn't support variational state dropout"
    ):
        contrib.VariationalDropoutCell(stack, drop_states=0.5)
    for name in ("state_info", "hybrid_forward"):
        with pytest.raises(NotImplementedError, match=f"must define {name}"):
            getattr(rnn.HybridRecurrentCell(), name)(*(() if name == "state_info" else (nd, x, [])))
    cell = rnn.RNNCell(2, input_size=4)
    cell.initialize()
    big = nd.ones((50, 3, 4))
    for inputs, outputs in ((0.5, 0), (0, 0.5)):
        with mx.autograd.record():
            y, _ = contrib.rnn_cell.dynamic_unroll(cell, big, cell.begin_state(50), inputs, outputs, layout="NTC")
        zeros = y.asnumpy() == 0
        assert len(np.unique(y.asnumpy()[:, 0, 0])) > 1  # all samples are alike
        assert (zeros == zeros[:, :1]).all()
        assert bool(zeros.mean() > 0.2) is bool(outputs)
    without = gluon.loss.L2Loss(weight=None)
    close(without(nd.array([[1.0, 2]]), nd.array([[4.0, 0]])), [6.5])
    with pytest.raises(NotImplementedError, match="must define hybrid_forward"):
        gluon.loss.Loss(None, 0)(nd.ones(1))


def test_groups_in_loops_and_choices_and_what_loops_refuse() -> None:
    x, w = numbers(4, 2, 3), numbers(2, 3, seed=5)
    a, b, p = (sym.var(n) for n in "abp")
    outs, state = sym.contrib.foreach(lambda v, s: (sym.split(v * s, num_outputs=3, axis=1), s + 1), a, b)
    got = sym.Group([*outs, state]).bind(mx.cpu(), {"a": nd.array(x), "b": nd.array(w)}).forward()
    held = x * (w + np.arange(4, dtype=np.float32).reshape(4, 1, 1))
    for out, want in zip(got, (*np.split(held, 3, axis=2), w + 4), strict=True):
        close(out, want)
    for value in (0, 1):
        chosen = sym.contrib.cond(p, lambda: sym.split(a, num_outputs=3, axis=1), lambda: [b, b * 2, b * 3])
        got = (
            sym.Group(list(chosen))
            .bind(mx.cpu(), {"p": nd.array([value]), "a": nd.array(w), "b": nd.array(x[0])})
            .forward()
        )
        for out, want in zip(got, np.split(w, 3, axis=1) if value else [x[0], x[0] * 2, x[0] * 3], strict=True):
            close(out, want)
    weight, nothing = nd.array(w), nd.zeros((0, 2, 3))
    refusals([
        ("a group to choose by", lambda: sym.contrib.cond(sym.split(p, num_outputs=2), lambda: a, lambda: b), ValueError, "pred should always be a single output"),
        ("no data", lambda: nd.contrib.foreach(lambda v, s: (s, s), [], weight), ValueError, "at least one array"),
        ("other shapes", lambda: nd.contrib.while_loop(lambda i: i < 3, lambda i: ([i] if i.asscalar() > 1 else [weight], [i + 1]), [nd.array([0])], 5), ValueError, r"(?s)Shapes of 1-th elements .*Step 0, shape is \(2, 3\)\n.*Step 2, shape is \(1,\)"),
        ("a word's number", lambda: mx.contrib.text.vocab.Vocabulary().to_tokens([0, "a"]), ValueError, "Token index a"),
    ])  # fmt: skip
    assert nd.contrib.foreach(lambda v, s: ([v, s], s), nothing, weight) == ([], weight)
    drawn = nd.contrib.rand_zipfian(nd.array([1, 5]), 7, 20, ctx=mx.cpu(1))
    assert [d.context for d in drawn] == [mx.cpu(1)] * 3
    classes = drawn[0].asnumpy()
    for given, got in (([1, 5], drawn[1]), (classes, drawn[2])):
        close(got, np.log((np.array(given) + 2.0) / (np.array(given) + 1.0)) / np.log(21) * 7)


def test_a_scale_that_is_a_symbol_is_the_number() -> None:
    arrays = [nd.array(numbers(2, 3, seed=i, low=0.1)) for i in range(4)]
    rest = {"lr": 0.1, "eta": 0.5, "wd": 0.01}
    want = nd.contrib.adamw_update(*[v.copy() for v in arrays], rescale_grad=0.25, **rest)
    names = [sym.var(n) for n in "abcd"]
    for scale, given in ((0.25, {}), (sym.var("scale"), {"scale": nd.array([0.25])})):
        made = sym.contrib.adamw_update(*names, rescale_grad=scale, **rest)
        held = {n: v.copy() for n, v in zip("abcd", arrays)}
        states = {n: held.pop(n) for n in made.list_auxiliary_states()}
        got = made.bind(mx.cpu(), {**held, **given}, aux_states=states).forward()[0]
        close(got, want.asnumpy())


def test_pictures_in_methods_that_suit_and_from_paths_alone(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    im, x = mx.image, nd.array(numbers(6, 7, 3, low=0, high=250).astype(np.uint8), dtype="uint8")
    for w, h, method in ((9, 8, 2), (5, 4, 3), (9, 4, 1), (5, 8, 1), (7, 8, 1), (9, 6, 1), (7, 4, 1), (5, 6, 1)):
        assert (im.imresize(x, w, h, 9).asnumpy() == im.imresize(x, w, h, method).asnumpy()).all(), (w, h)
    random.seed(4)
    drawn = [random.randint(0, 4) for _ in range(6)]
    random.seed(4)
    for method in drawn:
        assert (im.imresize(x, 4, 5, 10).asnumpy() == im.imresize(x, 4, 5, method).asnumpy()).all()
    alone = im.ImageIter(1, (3, 4, 4), imglist=[[5, str(DATA / "a.png")]], inter_method=1)
    assert alone.path_root is None and [b.label[0].asnumpy().tolist() for b in alone] == [[5]]
    with pytest.raises(MXNetError, match=r"Broken image filename: .*a.png, buf must be of type bytes") as caught:
        alone.imdecode("words")
    assert type(caught.value) is MXNetError
    with pytest.raises(FormatError, match="Broken image"):
        alone.imdecode(b"words")

    class Once(im.ImageIter):
        left = 1

        def check_valid_image(self, data: Any) -> None:
            self.left -= 1
            if self.left < 0:
                raise RuntimeError("not this one")

    once = Once(2, (3, 4, 4), imglist=[[5, "a.png"], [6, "a.png"]], path_root=str(DATA), inter_method=1)
    assert list(once) == []  # what is left over cannot be filled up
    with pytest.raises(MXNetError, match=r"Imread: .*none.png' couldn't open file: No such file"):
        im.imread(str(tmp_path / "none.png"))


def test_boxes_without_area_after_augmenting_are_left_out() -> None:
    pytest.importorskip("PIL")
    im = mx.image
    label = np.float32([2, 5, 1, 0.2, 0.3, 0.7, 0.9])
    for start in (np.nan, np.inf):
        with pytest.raises(FormatError, match="wanted the sizes of its header and of an object"):
            im.ImageDetIter(1, (3, 4, 4), imglist=[[np.float32([start, *label[1:]]), "a.png"]], path_root=str(DATA))

    class Change(im.DetAugmenter):
        def __init__(self, place: int, value: float):
            super().__init__()
            self.place, self.value = place, value

        def __call__(self, src: Any, label: Any) -> Any:
            label = label.copy()
            label[0, self.place] = self.value
            return src, label

    for place, value, count in (
        (0, -1, 1),
        (0, 0, 2),
        (3, 0.2, 1),
        (4, 0.3, 1),
        (3, 0.1, 1),
        (3, 0.21, 2),
        (4, 0.31, 2),
    ):
        augmenters = [im.DetBorrowAug(im.ForceResizeAug((4, 4), 1)), Change(place, np.float32(value))]
        two = [[label, "a.png"], [label, "a.png"]]
        made = im.ImageDetIter(1, (3, 4, 4), imglist=two, path_root=str(DATA), aug_list=augmenters)
        assert len(list(made)) == (2 if count == 2 else 0), (place, value)


def test_blocks_of_nested_inputs_and_outputs() -> None:
    """Groups of outputs go in as they come; what stood for None must stay None."""

    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, parts: Any, extra: Any, more: Any = None) -> Any:  # noqa: N803
            first, (second, third) = parts
            total = first + 2 * second + 3 * third
            return [total if extra is None else total + extra, [first, F.split(total, num_outputs=2, axis=1)]]

    net = Net()
    a, b, c, d = (nd.array(numbers(1, 4, seed=i)) for i in range(4))
    plain = net([a, [b, c]], None)
    net.hybridize()
    for got, want in zip(_flat(net([a, [b, c]], None)), _flat(plain), strict=True):
        close(got, want.asnumpy())
    with pytest.raises(ValueError):
        net([a, [b, c]], d)
    symbolic = net([sym.var("a"), [sym.var("b"), sym.var("c")]], sym.var("d"))
    total, (first, halves) = symbolic
    assert first.name == "a" and len(halves) == 2 and sorted(total.list_arguments()) == list("abcd")


def _flat(nested: Any) -> list[Any]:
    return [v for part in nested for v in _flat(part)] if isinstance(nested, list | tuple) else [nested]
