"""Parameters and utilities: what differs from MXNet on purpose."""

from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, nd
from hybrid.gluon import utils


def test_set_data_initializes() -> None:
    parameter = gluon.Parameter("w", shape=(2, 0))
    parameter.set_data(nd.ones((2, 3)))
    assert parameter.shape == (2, 3)
    assert parameter.list_ctx() == [mx.cpu()]
    assert parameter.grad().shape == (2, 3)


def test_messages() -> None:
    with pytest.raises(mx.MXNetError, match=r"Parameter 'w' has not been initialized\."):
        gluon.Parameter("w").data()
    waiting = gluon.Parameter("w", shape=(0,), allow_deferred_init=True)
    waiting.initialize()
    with pytest.raises(
        gluon.DeferredInitializationError, match="not been initialized yet because initialization was deferred"
    ):
        waiting.data()
    waiting.shape = (2,)
    waiting._finish_deferred_init()
    with pytest.raises(
        RuntimeError, match=r"not initialized on context cpu\(3\)\. It was only initialized on \[cpu\(0\)\]"
    ):
        waiting.data(mx.cpu(3))
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        waiting.reset_ctx(mx.gpu(0))


def test_everything_that_does_not_fit_is_said_at_once_and_nothing_is_changed(tmp_path: Path) -> None:
    parameters = gluon.ParameterDict("n_")
    for name in "abc":
        parameters.get(name, shape=(2,), init="zeros")
    parameters.initialize()
    nd.save(tmp_path / "x", {"n_a": nd.ones(2), "n_b": nd.ones(3), "n_d": nd.ones(1)})
    with pytest.raises(gluon.ParameterError) as caught:
        parameters.load(tmp_path / "x")
    for word in ("n_b (3,) (wanted (2,))", "n_c", "n_d", str(tmp_path / "x")):
        assert word in str(caught.value)
    assert parameters["n_a"].data().asnumpy().max() == 0


def test_sparse_parameters() -> None:
    weight = gluon.Parameter("w", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse", init="ones")
    weight.initialize()
    weight._set_trainer(object())
    rows = weight.row_sparse_data(nd.array([1, 3]))
    assert rows.stype == "row_sparse"
    np.testing.assert_array_equal(rows.asnumpy(), [[0, 0], [1, 1], [0, 0], [1, 1]])
    assert weight.list_row_sparse_data(nd.array([0]))[0].asnumpy().sum() == 2
    assert weight.grad().stype == weight.list_grad()[0].stype == "row_sparse"
    assert weight._reduce().stype == "row_sparse"
    with pytest.raises(mx.MXNetError, match="More than one trainers"):
        weight._set_trainer(object())


def test_copies_that_differ_are_averaged() -> None:
    weight = gluon.Parameter("w", shape=(1,), init="zeros")
    weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    weight.data(mx.cpu(1))[:] = 3
    assert weight._reduce().asscalar() == 1.5


def test_constants_of_the_same_values_are_one() -> None:
    parameters = gluon.ParameterDict()
    one = parameters.get_constant("c", [[1, 2]])
    assert parameters.get_constant("c", np.array([[1, 2]])) is one
    with pytest.raises(AssertionError):
        parameters.get_constant("c", np.array([1, 2]))


def test_nothing_is_downloaded(tmp_path: Path) -> None:
    url = "https://example.org/files/model.params"
    with pytest.raises(mx.MXNetError, match=r"Put the file at .*model\.params"):
        utils.download(url, str(tmp_path))
    (tmp_path / "model.params").write_bytes(b"abc")
    digest = "a9993e364706816aba3e25717850c26c9cd0d89d"
    assert utils.download(url, str(tmp_path), sha1_hash=digest) == str(tmp_path / "model.params")
    with pytest.raises(mx.MXNetError, match="SHA-1"):
        utils.download(url, str(tmp_path), sha1_hash="0" * 40)
    with pytest.raises(mx.MXNetError, match="never uses the network"):
        utils.download(url, str(tmp_path), overwrite=True)
    with pytest.raises(AssertionError):
        utils.download("https://example.org/")
    with pytest.raises(AssertionError):
        utils.download(url, retries=-1)


def test_replace_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("new")
    (tmp_path / "b").write_text("old")
    utils.replace_file(tmp_path / "a", tmp_path / "b")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("b", "new")]
    (tmp_path / "a").write_text("new")
    with pytest.raises(OSError, match="failed"):
        utils.replace_file(tmp_path / "a", tmp_path / "nowhere" / "b")
    assert not (tmp_path / "a").exists()
