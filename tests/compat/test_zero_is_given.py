"""Arguments that are 0, False, "" or empty are given: they do not mean the default, which None does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
import hybrid as mx
from bridge.command.options import as_limits
from hybrid import autograd, gluon, image, nd
from hybrid.core.op import lookup
from hybrid.formats import images
from hybrid.gluon.contrib.estimator import EarlyStoppingHandler
from hybrid.gluon.data.vision import transforms


def test_prefixes_of_cells() -> None:
    """Without a prefix parameters have the bare names."""
    cells: list[Any] = [
        mx.rnn.LSTMCell(3, prefix=""),
        mx.rnn.FusedRNNCell(3, mode="gru", prefix=""),
        mx.rnn.ConvLSTMCell((1, 2, 4, 4), 3, prefix=""),
    ]
    outputs = [
        cells[0](mx.sym.var("x"), cells[0].begin_state())[0],
        cells[1].unroll(2, mx.sym.var("x"), layout="TNC")[0],
        cells[2](mx.sym.var("x"), cells[2].begin_state())[0],
    ]
    names = [{n for n in y.list_arguments() if n.endswith(("weight", "parameters"))} for y in outputs]
    assert names == [{"i2h_weight", "h2h_weight"}, {"parameters"}, {"i2h_weight", "h2h_weight"}]


def test_what_a_variable_says_of_itself() -> None:
    for zero in (0, 0.0, False):
        said = mx.sym.var("x", lr_mult=zero, wd_mult=zero).list_attr()
        assert said["__lr_mult__"] == said["__wd_mult__"] == str(zero)
    said = mx.sym.var("x", shape=(), init="", stype="default", dtype="float32").list_attr()
    assert said == {"__shape__": "()", "__init__": "", "__storage_type__": "0", "__dtype__": "0"}


def test_a_vocabulary_that_is_empty() -> None:
    """It is one, which knows no word; another is not made."""
    with pytest.raises(AssertionError, match="Unknown token a"):
        mx.rnn.encode_sentences([["a"]], vocab={})
    given: dict[str, int] = {}
    coded, found = mx.rnn.encode_sentences([["a", "b"]], vocab=given, unknown_token="?", start_label=4)
    assert found is given
    assert (found, coded) == ({"?": 5}, [[4, 5]])


def test_tolerances_and_densities() -> None:
    tools = mx.test_utils
    assert (tools.get_atol(0), tools.get_rtol(0), tools.get_etol(0)) == (0, 0, 0)
    assert (tools.get_atol(0.0, np.dtype("float16")), tools.get_rtol(0.0, np.dtype("float16"))) == (0, 0)
    with pytest.raises(AssertionError):
        tools.assert_almost_equal(np.ones(1, np.float32), np.full(1, 1 + 1e-6, np.float32), rtol=0, atol=0)
    for stype in ("csr", "row_sparse"):
        assert not tools.rand_sparse_ndarray((9, 7), stype, density=0)[0].asnumpy().any()
    usual = bridge.TOLERANCES["float32"]
    assert as_limits(0.0, None, False) == (0, usual.rtol, False)
    assert as_limits(None, 0.0, False) == (usual.atol, 0, False)
    assert as_limits(0.0, 0.0, True) == (0, 0, True)


def test_what_a_gradient_keeps() -> None:
    """retain_graph=False is said; without it create_graph decides."""
    x = nd.array([2.0])
    x.attach_grad()
    for options, again in (({}, False), ({"retain_graph": False}, False), ({"retain_graph": True}, True)):
        with autograd.record():
            y = x * x * x
        (first,) = autograd.grad(y, [x], **options)
        assert first.asscalar() == 12
        if again:
            y.backward()
        else:
            with pytest.raises(mx.MXNetError, match="retain_graph"):
                y.backward()


@pytest.mark.parametrize("training", [True, False, None])
def test_how_a_module_runs(training: bool | None) -> None:
    """Bound for training it may be told to infer, and the other way round."""
    drop = mx.sym.Dropout(mx.sym.var("data"), p=0.5)
    for bound in (True, False):
        module = mx.mod.Module(drop, label_names=None)
        module.bind([("data", (20, 30))], for_training=bound)
        module.init_params()
        module.forward(mx.io.DataBatch([nd.ones((20, 30))]), is_train=training)
        values = {*np.unique(module.get_outputs()[0].asnumpy()).tolist()}
        assert values == ({0, 2} if (bound if training is None else training) else {1}), (bound, training)


def test_steps_that_are_left_apart() -> None:
    """merge_outputs=False gives the steps, whatever the form of the input."""
    for cell in (gluon.rnn.LSTMCell(3, input_size=4), gluon.rnn.ZoneoutCell(gluon.rnn.RNNCell(3, input_size=4), 0.5),
                 gluon.rnn.ResidualCell(gluon.rnn.RNNCell(4, input_size=4)),
                 gluon.rnn.BidirectionalCell(gluon.rnn.RNNCell(3, input_size=4), gluon.rnn.RNNCell(2, input_size=4))):  # fmt: skip
        cell.initialize()
        width = {"ResidualCell": 4, "BidirectionalCell": 5}.get(type(cell).__name__, 3)
        for merge, kind in ((False, list), (True, nd.NDArray)):
            given = nd.ones((2, 5, 4)) if not merge else [nd.ones((2, 4)) for _ in range(5)]
            outputs: Any = cell.unroll(5, given, merge_outputs=merge)[0]
            first: Any = outputs if merge else outputs[0]
            assert first.shape == ((2, 5, width) if merge else (2, width))
            assert (isinstance(outputs, kind), len(outputs)) == (True, 2 if merge else 5), (cell, merge)
            cell.reset()


def test_numbers_of_operators() -> None:
    assert lookup("_npi_eye").bind(N=3, M=0).compute().shape == (3, 0)
    assert lookup("_npi_eye").bind(N=3).compute().shape == (3, 3)
    odd = np.array([np.nan, np.inf, -np.inf, 5], np.float32)
    assert lookup("_npi_nan_to_num").bind(nan=2.0, posinf=0.0, neginf=0.0).compute(odd).tolist() == [2, 0, 0, 5]
    assert lookup("_npi_nan_to_num").bind(nan=0.0, posinf=0.0).compute(odd).tolist()[:2] == [0, 0]
    rows = np.arange(12, dtype="float32").reshape(3, 4)
    with pytest.raises(mx.MXNetError, match="begin=0 and end=0"):
        lookup("slice_axis").bind(axis=1, begin=0, end=0).infer_shape((3, 4))
    assert nd.slice(nd.array(rows), begin=(2, 3), end=(0, 0), step=(-1, -1)).asnumpy().tolist() == [
        [11, 10, 9],
        [7, 6, 5],
    ]


def test_a_checkpoint_of_epoch_0(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning):
        model = mx.model.FeedForward(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), num_epoch=7)
    model.arg_params, model.aux_params = {"fc_weight": nd.ones((2, 3)), "fc_bias": nd.zeros(2)}, {}
    model.save(str(tmp_path / "m"), epoch=0)
    model.save(str(tmp_path / "m"))
    assert sorted(p.name for p in tmp_path.glob("*.params")) == ["m-0000.params", "m-0007.params"]


def test_a_baseline_of_0() -> None:
    metric = mx.metric.Accuracy()
    assert EarlyStoppingHandler(metric, baseline=0, mode="max").best == 0
    assert EarlyStoppingHandler(metric, baseline=0.0, mode="min").best == 0
    assert EarlyStoppingHandler(metric, mode="max").best == -np.inf


def test_no_augmenters_and_no_interpolation(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 3), np.uint8)
    (tmp_path / "a.png").write_bytes(images.encode(pixels, ".png"))
    label: Any = [2, 5, 1, 0.1, 0.2, 0.5, 0.6]
    given: dict[str, Any] = {"path_root": str(tmp_path), "imglist": [[label, "a.png"]]}
    iterator = image.ImageDetIter(1, (3, 4, 6), aug_list=[], **given)
    np.testing.assert_array_equal(next(iterator).data[0].asnumpy()[0].transpose(1, 2, 0), pixels)
    assert iterator.auglist == []
    nearest = transforms.CropResize(1, 0, 4, 4, (8, 8), interpolation=0)(nd.array(pixels, dtype="uint8")).asnumpy()
    np.testing.assert_array_equal(nearest, pixels[:, 1:5].repeat(2, 0).repeat(2, 1))
    smooth = transforms.CropResize(1, 0, 4, 4, (8, 8))(nd.array(pixels, dtype="uint8")).asnumpy()
    assert (smooth != nearest).any()


def test_seeds_of_0(tmp_path: Path) -> None:
    """seed_aug=0 alone says what is drawn; without it seed does."""
    pytest.importorskip("PIL")
    path = str(tmp_path / "p.rec")
    record = mx.recordio.MXRecordIO(path, "w")
    pixels = np.random.default_rng(0).integers(0, 256, (30, 30, 3), np.uint8)
    for i in range(3):
        record.write(mx.recordio.pack_img((0, float(i), i, 0), pixels, img_fmt=".png"))
    record.close()

    def drawn(**seeds: int) -> bytes:
        given: dict[str, Any] = {"path_imgrec": path, "data_shape": (3, 4, 5), "batch_size": 3, "rand_crop": True}
        return next(mx.io.ImageRecordIter(**given, **seeds)).data[0].asnumpy().tobytes()

    assert drawn(seed=5, seed_aug=0) == drawn(seed=9, seed_aug=0) == drawn(seed=0)
    assert drawn(seed=5) == drawn(seed=9, seed_aug=5) != drawn(seed=9)


def test_forget_gates_of_0() -> None:
    """A forget_bias of 0 is filled in, whatever the initializer of the other biases says."""

    class Sevens(mx.init.Initializer):
        def _init_weight(self, name: Any, arr: nd.NDArray) -> None:
            arr[:] = 7

        _init_bias = _init_weight

    for bias in (0.0, 2.0):
        packed = nd.zeros(4 * 2 * (3 + 2 + 2))
        mx.init.FusedRNN(Sevens(), 2, 1, "lstm", forget_bias=bias)._init_weight(mx.init.InitDesc("parameters"), packed)
        gates = packed.asnumpy()[-16:].reshape(2, 4, 2)  # input and hidden; i, f, c, o
        assert (gates == np.array([7, bias, 7, 7])[:, None]).all(), bias


def test_batches_that_are_not_made_ahead() -> None:
    """prefetch=0 takes from the sampler what is asked for and no more, and a pass begun meanwhile stays the next one."""

    class Counting(gluon.data.SequentialSampler):
        taken = begun = 0

        def __iter__(self) -> Any:
            self.begun += 1
            for i in super().__iter__():
                self.taken += 1
                yield [i]

    for prefetch, ahead in ((0, 0), (None, 4), (3, 3)):
        sampler = Counting(9)
        loader = gluon.data.DataLoader(
            list(range(9)), batch_sampler=sampler, num_workers=2, prefetch=prefetch, thread_pool=True
        )
        loader.refresh()
        assert sampler.taken == ahead, prefetch
        batches = iter(loader)
        next(batches)
        assert sampler.taken == ahead + 1, prefetch
    sampler = Counting(3)
    loader = gluon.data.DataLoader(list(range(3)), batch_sampler=sampler, auto_reload=True)
    for number, _ in enumerate(loader):
        if number == 1:
            loader.refresh()
            begun = loader._iter
    assert loader._iter is begun


def test_no_epochs_and_names_of_nothing() -> None:
    network = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="softmax")
    with pytest.warns(DeprecationWarning):
        model = mx.model.FeedForward(network, num_epoch=0, numpy_batch_size=2)
    model.fit(np.ones((4, 3), np.float32), np.zeros(4))
    assert model.arg_params is None  # no epoch has ended
    with pytest.warns(DeprecationWarning):
        bare = mx.model.FeedForward(mx.sym.exp(mx.sym.var("data")), arg_params={})
    np.testing.assert_allclose(bare.predict(np.zeros((2, 3), np.float32)), 1)
    assert bare.predict(np.zeros((2, 3), np.float32), num_batch=0) == []
