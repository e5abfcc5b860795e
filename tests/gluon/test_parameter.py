"""Parameters and utilities: what differs from MXNet on purpose."""

from collections import OrderedDict
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
    with pytest.raises(
        mx.MXNetError, match=r"model\.params is not there, and https://example.org/files/model.params is not downloaded"
    ):
        utils.download(url, str(tmp_path))
    (tmp_path / "model.params").write_bytes(b"abc")
    digest = "a9993e364706816aba3e25717850c26c9cd0d89d"
    assert utils.download(url, str(tmp_path), sha1_hash=digest) == str(tmp_path / "model.params")
    with pytest.raises(mx.MXNetError, match="SHA-1"):
        utils.download(url, str(tmp_path), sha1_hash="0" * 40)
    with pytest.raises(mx.MXNetError, match="unless the user says so"):
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


def test_shapes_contexts_and_dtypes_that_are_given_step_by_step() -> None:
    """A shape that is not known may stay so; one of another rank does not fit; all memory of the CPU is one place."""
    unknown = gluon.Parameter("w")
    unknown.shape = None
    assert unknown.shape is None
    unknown.shape = [2, 3]
    assert unknown.shape == (2, 3)
    for parameter, shape in ((gluon.Parameter("w", shape=(2,)), (2, 3)), (gluon.Parameter("w", shape=(0, 3)), (2,))):
        with pytest.raises(gluon.ParameterError, match="is incompatible with given shape"):
            parameter.shape = shape
    weight = gluon.Parameter("w", shape=(2,), init=mx.init.Constant(3))
    with pytest.raises(mx.MXNetError, match="has not been initialized"):
        weight._reduce()
    with pytest.raises(mx.MXNetError, match="has not been initialized"):
        weight.list_grad()
    weight.initialize(ctx=[mx.cpu(2), mx.cpu(1)])
    assert weight.data(mx.cpu_pinned(2)) is weight.list_data()[0]
    assert weight.data(mx.cpu_pinned(1)) is weight.list_data()[1]
    for elsewhere in (mx.gpu(1), mx.cpu(0)):
        with pytest.raises(mx.MXNetError, match="was not initialized on context"):
            weight.data(elsewhere)
    waiting = gluon.Parameter("w", shape=(0, 2), allow_deferred_init=True)
    waiting.initialize(ctx=mx.cpu(1))
    waiting.reset_ctx([mx.cpu(2), mx.cpu(3)])
    assert waiting.list_ctx() == [mx.cpu(2), mx.cpu(3)]
    waiting.shape = (3, 2)
    waiting._finish_deferred_init()
    assert [a.context for a in waiting.list_data()] == [mx.cpu(2), mx.cpu(3)]
    assert gluon.parameter.Constant("c", nd.array([3, 5], dtype="int32")).dtype == np.int32
    constant = gluon.parameter.Constant("c", nd.array([3, 5], dtype="int32"))
    constant.initialize()
    assert constant.data().dtype == np.int32
    assert constant.data().asnumpy().tolist() == [3, 5]
    constant.zero_grad()  # of which there is none


def test_values_from_files_take_the_place_that_the_parameter_has(tmp_path: Path) -> None:
    """Contexts it waits for, a copy of its own on each, no dtype of its own, rows of sparse files, and what is refused."""
    nd.save(tmp_path / "x", {"w": nd.array([[1, 2], [3, 4]])})
    nd.save(tmp_path / "half", {"w": nd.array([[1, 2], [3, 4]], dtype="float16")})
    nd.save(tmp_path / "rows", {"w": nd.array([[0, 0], [3, 4]]).tostype("row_sparse")})

    def loaded(file: str, initialize=None, ctx=None, attrs=None, **flags) -> gluon.Parameter:
        parameters = gluon.ParameterDict()
        weight = parameters.get("w", shape=(0, 2), allow_deferred_init=True, **(attrs or {}))
        if initialize is not None:
            weight.initialize(ctx=initialize)
        parameters.load(tmp_path / file, ctx, **flags)
        return weight

    assert loaded("x").list_ctx() == [mx.cpu()]
    assert loaded("x", initialize=mx.cpu(2)).list_ctx() == [mx.cpu(2)]
    two = loaded("x", ctx=[mx.cpu(1), mx.cpu(0)])
    two.data(mx.cpu(1))[:] = 7
    assert two.data(mx.cpu(0)).asnumpy().tolist() == [[1, 2], [3, 4]]
    assert [a.context for a in two.list_data()] == [mx.cpu(1), mx.cpu(0)]
    both = loaded("x", initialize=[mx.cpu(0), mx.cpu(1)], ctx=[mx.cpu(1), mx.cpu(0)])  # the order is no matter
    assert both.list_ctx() == [mx.cpu(0), mx.cpu(1)]
    with pytest.raises(
        gluon.ParameterError, match=r"cannot load on \[cpu\(1\)\] because it was previously initialized"
    ):
        loaded("x", initialize=mx.cpu(0), ctx=mx.cpu(1))
    open_dtype = loaded("half", attrs={"dtype": None})
    assert open_dtype.data().dtype == np.float16
    with pytest.raises(gluon.ParameterError, match=r"dtype incompatible expected .*float32.* vs saved .*float16"):
        loaded("half")
    assert loaded("half", cast_dtype=True).data().dtype == np.float32
    assert loaded("half", cast_dtype=True, dtype_source="saved").data().dtype == np.float16
    with pytest.raises(gluon.ParameterError, match="dtype_source must be 'current' or 'saved', got 'x'"):
        loaded("half", cast_dtype=True, dtype_source="x")
    assert loaded("x", dtype_source="x").data().dtype == np.float32  # without cast_dtype nobody asks for it
    dense = loaded("rows")
    assert dense.data().stype == "default"
    assert dense.data().asnumpy().tolist() == [[0, 0], [3, 4]]
    dense.data()[0] = 5
    assert dense.data().asnumpy().tolist() == [[5, 5], [3, 4]]


def test_a_cast_keeps_contexts_and_how_gradients_arrive() -> None:
    weight = gluon.Parameter("w", shape=(2,), init="ones", grad_req="add")
    weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    weight.cast("float64")
    assert [a.dtype for a in (*weight.list_data(), *weight.list_grad())] == [np.float64] * 4
    for factor in (3, 4):
        with mx.autograd.record():
            losses = [(factor * weight.data(c) * (1 + i)).sum() for i, c in enumerate(weight.list_ctx())]
        mx.autograd.backward(losses)
    assert [g.asnumpy().tolist() for g in weight.list_grad()] == [[7, 7], [14, 14]]
    assert [g.context for g in weight.list_grad()] == weight.list_ctx()


def test_rows_of_sparse_parameters_on_every_context_and_what_they_need() -> None:
    weight = gluon.Parameter("w", shape=(3, 2), stype="row_sparse")
    trainer = object()
    weight._set_trainer(trainer)
    weight._set_trainer(trainer)
    with pytest.raises(mx.MXNetError, match="has not been initialized"):
        weight.row_sparse_data(nd.array([1]))
    weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    for i, array in enumerate(weight._data):
        array[:] = nd.array([[1, 2], [3, 4], [5, 6]]) + 10 * i
    rows = weight.list_row_sparse_data(nd.array([2]))
    assert [r.asnumpy().tolist() for r in rows] == [[[0, 0], [0, 0], [5, 6]], [[0, 0], [0, 0], [15, 16]]]
    assert weight.row_sparse_data(nd.array([0], ctx=mx.cpu(1))).asnumpy().tolist() == [[11, 12], [0, 0], [0, 0]]
    with pytest.raises(TypeError, match="row_id must have NDArray type"):
        weight.row_sparse_data([2])
    with pytest.raises(mx.MXNetError, match=r"via row_sparse_data\(\) because its storage type is default"):
        gluon.Parameter("d", shape=(3, 2)).row_sparse_data(nd.array([1]))
    weight._set_trainer(None)
    with pytest.raises(mx.MXNetError, match="when no Trainer is created with it"):
        weight.row_sparse_data(nd.array([1]))
    weight._set_trainer(object())


def test_what_a_dict_of_parameters_finds_and_refuses() -> None:
    shared = gluon.ParameterDict("n_")
    own = gluon.ParameterDict("n_", shared=shared)
    assert own  # as MXNet's, also when it is empty
    first = own.get("w", shape=(2, 0), dtype=None)
    assert shared.get("w", shape=(5,)) is not first
    assert own.get("w") is first
    assert own.get("b", shape=(4,)) is not shared.get("b", shape=(4,))
    assert own.get("c") is not shared.get("c")
    assert gluon.ParameterDict("n_", shared=shared).get("c") is shared.get("c")
    for kept in ({"init": None}, {"shape": None}, {"dtype": None}, {"shape": (0, 3)}, {"shape": (2, 0)}):
        assert own.get("w", **kept) is first
    assert first.shape == (2, 3)
    assert own.get("w", dtype="float16").dtype == "float16"
    assert own.get("w", dtype=np.float16) is first
    half = own.get("h", shape=(2, 3), dtype="float16", init="zeros")
    assert own.get("h", dtype=None, init=None, shape=None) is half
    for wrong in ({"shape": 3}, {"shape": (2,)}, {"shape": (2, 4)}, {"dtype": "float32"}, {"init": "ones"}):
        with pytest.raises(gluon.ParameterError, match=f"desired attribute does not match .*'{next(iter(wrong))}'"):
            own.get("h", **wrong)
    parameters = gluon.ParameterDict()
    parameters.get("a", shape=(2,))
    parameters.get("b", shape=(3,))
    parameters.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    assert set(parameters.list_ctx()) == {mx.cpu(0), mx.cpu(1)} and len(parameters.list_ctx()) == 2


def test_verbose_initialisation_tells_of_every_array(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for verbose, told in ((False, []), (True, ["Initialized w_weight as"])):
        caplog.clear()
        gluon.nn.Dense(2, in_units=3, use_bias=False, prefix="w_").initialize(mx.init.Constant(2), verbose=verbose)
        assert [" ".join(r.getMessage().split()[:3]) for r in caplog.records] == told


def test_contexts_norms_and_handles() -> None:
    assert [utils.shape_is_known(s) for s in (None, (), (2, 0), (-1, 0), (2, 3))] == [False] * 4 + [True]
    with pytest.raises(AssertionError, match="cannot be less than 0, while received -1"):
        utils.shape_is_known((2, -1))
    arrays = [nd.array([[0, 0], [3, 0]]).tostype("row_sparse"), nd.array([[0, 4], [0, 0]])]
    assert utils.clip_global_norm(arrays, 1) == 5
    np.testing.assert_allclose(arrays[0].asnumpy(), [[0, 0], [0.6, 0]], rtol=1e-6)
    np.testing.assert_allclose(arrays[1].asnumpy(), [[0, 0.8], [0, 0]], rtol=1e-6)
    parts = utils.split_and_load(np.arange(6.0).reshape(3, 2), [mx.cpu(1), mx.cpu(0)], even_split=False)
    assert [(p.context, p.asnumpy().tolist()) for p in parts] == [
        (mx.cpu(1), [[0, 1], [2, 3]]),
        (mx.cpu(0), [[4, 5]]),
    ]
    hooks: OrderedDict = OrderedDict()
    handle = utils.HookHandle()
    handle.detach()  # attached to nothing
    assert handle.__getstate__() == (None, None)
    handle.attach(hooks, print)
    kept, number = handle.__getstate__()
    assert kept is hooks and number == id(print)
    other = utils.HookHandle()
    other.__setstate__((hooks, number))
    other.detach()
    assert not hooks
    other.__setstate__((None, number))
    other.detach()


def test_where_a_download_would_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default in the folder the program runs in; path may be a file; no digest is right for every file; 0 tries are enough."""
    monkeypatch.chdir(tmp_path)
    url = "https://example.org/files/model.params"
    with pytest.raises(mx.MXNetError, match=r"/model\.params is not there"):
        utils.download(url)
    (tmp_path / "model.params").write_bytes(b"abc")
    (tmp_path / "named").write_bytes(b"abc")
    assert utils.download(url, retries=0) == "model.params"
    assert utils.download(url, "named") == "named"
    assert utils.download("https://example.org/", "named") == "named"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert utils.download(url, "~/named") == str(tmp_path / "named")
    with pytest.raises(OSError, match="Moving downloaded temp file"):
        utils.replace_file(tmp_path / "gone", tmp_path / "named")


def test_words_that_parameters_do_not_know() -> None:
    weight = gluon.Parameter("w", shape=(2,))
    for word in ("always", "", None, "Write"):
        with pytest.raises(AssertionError, match=r"grad_req must be one of 'write', 'add', or 'null', but got "):
            weight.grad_req = word
        with pytest.raises(AssertionError, match="grad_req must be one of"):
            gluon.Parameter("w", grad_req=word)
    assert weight.grad_req == "write"
    for what in ("stype", "grad_stype"):
        with pytest.raises(AssertionError, match=rf"^{what} for Parameter 'w' must be one of .* but got 'dense'"):
            gluon.Parameter("w", **{what: "dense"})
    fixed = gluon.Parameter("w", shape=(2,), differentiable=False, grad_req="add")
    assert fixed.grad_req == "null"
    fixed.grad_req = "write"
    assert fixed.grad_req == "null"
    weight.initialize()
    for request in ("add", "null", "write"):
        weight.grad_req = request
        if request == "null":
            with pytest.raises(mx.MXNetError, match="because grad_req='null'"):
                weight.grad()
        else:
            assert weight.grad().asnumpy().tolist() == [0, 0]


def test_what_is_asked_of_a_dict_of_parameters_is_done_to_all() -> None:
    given = gluon.ParameterDict("p_")
    several = [given.get(n, shape=(2,)) for n in "abc"]
    given.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    assert set(given.list_ctx()) == {mx.cpu(0), mx.cpu(1)}
    with mx.autograd.record():
        total = sum(p.data(c).sum() * 3 for p in several for c in (mx.cpu(0), mx.cpu(1)))
    total.backward()
    grads = [g for p in several for g in p.list_grad()]
    assert [g.asnumpy().tolist() for g in grads] == [[3, 3]] * 6
    given.zero_grad()
    assert [g.asnumpy().tolist() for g in grads] == [[0, 0]] * 6
    given.setattr("lr_mult", 0.5)
    given.setattr("grad_req", "add")
    assert [(p.lr_mult, p.grad_req) for p in several] == [(0.5, "add")] * 3
    given.reset_ctx(mx.cpu(2))
    assert [p.list_ctx() for p in several] == [[mx.cpu(2)]] * 3
    given.initialize(mx.init.Zero(), force_reinit=True)
    assert [p.data().asnumpy().tolist() for p in several] == [[0, 0]] * 3
