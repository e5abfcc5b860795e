"""Rarer uses of the small modules: loggers, schedules, symbols of what was recorded, draws, summaries, old operators."""

import logging
import math
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.core.error import MXNetError, OpError
from tests.asked.test_here import refusals

nd, sym = mx.nd, mx.sym


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def test_colours_and_files_of_loggers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logger = mx.log.get_logger("gluonnx-colours", level=mx.log.DEBUG)
    for level, start in (
        (10, "\x1b[34mD"),
        (20, "\x1b[32mI"),
        (30, "\x1b[31mW"),
        (40, "\x1b[31mE"),
        (50, "\x1b[31mC"),
        (15, "\x1b[34mU"),
    ):
        logger.log(level, "said %d", level)
        assert capsys.readouterr().err.startswith(start), level
    path = tmp_path / "log"
    path.write_text("before\n")
    mx.log.get_logger("gluonnx-append", str(path)).warning("more")
    assert path.read_text() == "before\nmore\n"
    with pytest.warns(DeprecationWarning):
        anew = mx.log.getLogger("gluonnx-anew", str(path), "w", mx.log.ERROR)
    anew.warning("not this")
    anew.error("new")
    assert path.read_text() == "new\n" and anew.level == logging.ERROR


def test_limits_of_schedules() -> None:
    s = mx.lr_scheduler
    warm = s.FactorScheduler(10, 0.5, base_lr=1.0, warmup_steps=4, warmup_begin_lr=0.2, warmup_mode="constant")
    assert [warm(n) for n in (0, 3, 4)] == [0.2, 0.2, 1.0]
    slow = s.MultiFactorScheduler([5], 0.5, base_lr=1.0, warmup_steps=4, warmup_begin_lr=0.2)
    assert [round(slow(n), 6) for n in (0, 1, 3, 4, 6)] == [0.2, 0.4, 0.8, 1.0, 0.5]
    assert s.MultiFactorScheduler([1, 2], 1.0, base_lr=0.7)(5) == 0.7
    assert s.FactorScheduler(1, 0.5, stop_factor_lr=0.25, base_lr=1.0)(3) == 0.25  # reached, and not gone below
    assert s.PolyScheduler(1, base_lr=0.5)(1) == 0 and s.CosineScheduler(1, base_lr=0.5, final_lr=0.125)(1) == 0.125
    refusals([
        ("equal steps", lambda: s.MultiFactorScheduler([1, 3, 3]), ValueError, "increasing"),
        ("one of many", lambda: s.MultiFactorScheduler([1, 3, 2, 9]), ValueError, "increasing"),
        ("no updates", lambda: s.PolyScheduler(0), ValueError, "strictly positive"),
        ("factor", lambda: s.MultiFactorScheduler([1], 1.01), ValueError, "no more than 1"),
    ])  # fmt: skip


def test_callbacks_and_monitors_without_much(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: Any
) -> None:
    caplog.set_level(logging.INFO)
    mx.callback.log_train_metric(1)(SimpleNamespace(nbatch=3, epoch=1, eval_metric=None))
    assert not caplog.records
    saved = []
    module = SimpleNamespace(save_checkpoint=lambda *given: saved.append(given[1]))
    for period, wanted in ((0, [1, 2, 3]), (1, [1, 2, 3]), (2, [2]), (-5, [1, 2, 3])):
        saved.clear()
        call = mx.callback.module_checkpoint(module, str(tmp_path / "m"), period)
        for epoch in range(3):
            call(epoch)
        assert saved == wanted, period
    clock = iter([10.0, 10.0, 10.0, 12.0, 12.0, 12.0])
    monkeypatch.setattr("hybrid.callback.time", SimpleNamespace(time=lambda: next(clock)))
    meter = mx.callback.Speedometer(8, 2)
    for count in (0, 2, 4):
        meter(SimpleNamespace(nbatch=count, epoch=0, eval_metric=None))
    monkeypatch.undo()
    said = [r.getMessage() for r in caplog.records]
    assert [line.split("Speed: ")[1] for line in said] == ["inf samples/sec", "8.00 samples/sec"]
    bad = mx.mon.Monitor(1, stat_func=lambda x: [x, 3])
    made = (sym.var("x") * 2).bind(mx.cpu(), {"x": nd.ones(2)})
    bad.install(made)
    bad.tic()
    made.forward()
    with pytest.raises(AssertionError, match="stat_func gave list"):
        bad.toc()


def test_functions_that_give_their_inputs_back() -> None:
    class Same(mx.autograd.Function):
        def forward(self, x: Any, y: Any) -> Any:
            return x, x * y

        def backward(self, dx: Any, dxy: Any) -> Any:
            return dx * 10 + dxy * self.by, dxy * 100

    x, y = nd.array([1.0, 2.0]), nd.array([3.0, 5.0])
    y.attach_grad()
    for both in (False, True):
        if both:
            x.attach_grad()
        with mx.autograd.record():
            call = Same()
            call.by = 7  # type: ignore[attr-defined]
            first, second = call(x, y)
            total = first * 2 + second
        total.backward()
        assert first is not x and first.asnumpy().tolist() == [1, 2] and second.asnumpy().tolist() == [3, 10]
        assert y.grad.asnumpy().tolist() == [100, 100]
    assert x.grad.asnumpy().tolist() == [27, 27]
    with mx.autograd.record():
        z = x * y
    grads = mx.autograd.grad(z, [x], create_graph=True, retain_graph=False)
    assert grads[0].asnumpy().tolist() == [3, 5]
    for name in ("forward", "backward"):
        with pytest.raises(NotImplementedError):
            getattr(mx.autograd.Function(), name)(x)
    with mx.autograd.record():
        w = Same()
        w.by = 1  # type: ignore[attr-defined]
        made = w(x, y)[1] * 2
    with pytest.raises(MXNetError, match="a step that is no operator"):
        mx.autograd.get_symbol(made)
    with mx.autograd.record():  # a constant beside a variable, one step used twice
        e = nd.exp(x)
        made = (e + nd.array([4.0, 5.0])) * (e - nd.array([1.0, 2.0]))
    symbol = mx.autograd.get_symbol(made)
    names = symbol.list_arguments()
    assert len(names) == len(set(names)) == 3
    operators = [n.op.name for n in symbol.graph.nodes if n.op is not None]
    assert operators.count("exp") == 1
    given = [x, nd.array([4.0, 5.0]), nd.array([1.0, 2.0])]
    found = symbol.bind(mx.cpu(), dict(zip(names, given))).forward()[0]
    np.testing.assert_allclose(found.asnumpy(), made.asnumpy(), rtol=1e-6)


def test_arrays_at_their_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = nd.array([[1.0, 2.0]])
    assert nd.linspace(0, 1, 5, dtype=None).dtype == np.float64 and nd.linspace(0, 1, 5).dtype == np.float32
    for call, error, text in (
        (lambda: nd.concatenate([one, 3.0]), OpError, "at least one NDArray"),
        (lambda: nd.moveaxis(one, [0, 5], [0, 1]), ValueError, "Source should verify"),
        (lambda: nd.from_numpy(np.zeros(2, "V3")), ValueError, "is not supported"),
        (lambda: nd.load(3), TypeError, "string or path"),
        (lambda: nd.save(str(tmp_path / "x"), {"a": one, 3: one}), TypeError, "data|name|str"),
        (lambda: nd.zeros((2,), wrong=1), OpError, "wrong"),
        (lambda: nd.zeros((2,), __half=1), OpError, "__half"),
    ):
        with pytest.raises((error, ValueError, TypeError, MXNetError), match=text):
            call()
    assert nd.zeros((2,), __layout__="N", __other__="x").shape == (2,)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="only C-contiguous, writable"):
        nd.from_numpy(frozen)
    copied = nd.from_numpy(frozen, zero_copy=False)
    copied[:] = 7
    assert frozen.tolist() == [0, 1, 2]
    wide = np.arange(6.0).reshape(2, 3)
    taken = nd.from_dlpack(wide[:, ::2])  # not contiguous: a copy
    taken[:] = 0
    assert wide[0].tolist() == [0, 1, 2]
    shared = nd.from_dlpack(wide)
    shared[:] = 9
    assert (wide == 9).all()
    capsule = nd.from_dlpack(nd.to_dlpack_for_read(one))
    assert capsule.asnumpy().tolist() == [[1, 2]]
    released = []
    monkeypatch.setattr("hybrid.formats.params.release", lambda arrays: released.extend(a.nbytes for a in arrays))
    half = np.zeros((1 << 22) // 2, np.float32)  # 8 MiB
    for arrays, wanted in (
        ([half, half], []),
        ([half, half, np.zeros(1, np.float32)], [4]),
        ([half] * 4, [half.nbytes]),
    ):
        released.clear()
        assert len(mx.ndarray.wrap(arrays)) == len(arrays)
        assert released == wanted
    assert mx.ndarray.wrap({"a": None, "b": wide})["a"] is None
    x = nd.array([2.0, 3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Dropout(x, p=0.5, mode="training") * x
    y.backward(train_mode=False)
    assert x.grad.shape == (2,)


class Doubled(mx.operator.CustomOp):
    """Twice the left, and left and right added; gradients of its own."""

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], "inplace", in_data[0] * 2)
        self.assign(out_data[0], "add", in_data[1])
        self.assign(out_data[0], "null", in_data[1] * 99)


@mx.operator.register("rare_doubled")
class DoubledProp(mx.operator.CustomOpProp):
    """One setting, which must be a number."""

    def __init__(self, size: str = "1") -> None:
        super().__init__()
        self.size = int(size)

    def list_arguments(self) -> list[str]:
        return ["left", "right"]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return Doubled()


@mx.operator.register("rare_shapeless")
class Shapeless(DoubledProp):
    """Gives one list of shapes only."""

    def infer_shape(self, in_shape: Any) -> Any:
        return (in_shape,)


def test_custom_operators_by_name_and_to_a_place() -> None:
    a, b, out = nd.array(values(2, 3)), nd.array(values(2, 3, seed=1)), nd.zeros((2, 3))
    want = a.asnumpy() * 2 + b.asnumpy()
    for made in (
        nd.Custom(a, b, op_type="rare_doubled"),
        nd.Custom(right=b, left=a, op_type="rare_doubled"),
        nd.Custom(a, right=b, op_type="rare_doubled", size=3),
        nd.Custom(a, b, op_type="rare_doubled", out=out),
    ):
        np.testing.assert_allclose(made.asnumpy(), want, rtol=1e-6)
    np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-6)
    base, old = mx.operator.CustomOp(), mx.operator.CustomOpProp()
    for call in (lambda: base.forward(True, [], [], [], []), lambda: base.backward([], [], [], [], [], [])):
        assert call() is None
    assert isinstance(old.create_operator(mx.cpu(), [], []), mx.operator.CustomOp)
    assert old.infer_storage_type(["csr"]) == (["csr"], ["default"], [])
    assert old.infer_storage_type_backward(["a"], ["b", "c"], ["d"], ["e"], []) == (
        ["default"], ["default"] * 2, ["default"], ["default"], [],
    )  # fmt: skip
    x = sym.var("x")
    refusals([
        ("twice", lambda: nd.Custom(a, b, left=a, op_type="rare_doubled"), OpError, "got 2 inputs"),
        ("another", lambda: nd.Custom(a, other=b, op_type="rare_doubled"), OpError, "wanted left, right"),
        ("the same", lambda: nd.Custom(a, left=b, op_type="rare_doubled"), OpError, "wanted left, right"),
        ("too many symbols", lambda: sym.Custom(x, x, x, op_type="rare_doubled"), OpError, "got 3 inputs, wanted 2"),
        ("lists", lambda: nd.Custom(a, b, op_type="rare_shapeless"), (OpError, ValueError), "got 1 lists, wanted 2 or 3"),
    ])  # fmt: skip
    several = mx.operator.get_operator_arguments("Concat")
    assert several.types[0] == "NDArray-or-Symbol[]" and several.names[0] == "data"
    assert mx.operator.get_operator_arguments("FullyConnected").types[:3] == ["NDArray-or-Symbol"] * 3


def test_operators_of_old() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = [mx.operator.NumpyOp(), mx.operator.NDArrayOp(False), mx.operator.NDArrayOp()]
        with pytest.raises(NotImplementedError, match="Must override"):
            mx.operator.PythonOp()(sym.var("x"))
    for op in kinds[:1]:  # by itself it hands on its input, and its gradient is one
        made = op(sym.var("x"), name="same").bind(mx.cpu(), {"x": nd.array([2.0, 3.0])}, {"x": nd.zeros(2)})
        assert made.forward(is_train=True)[0].asnumpy().tolist() == [2, 3]
        made.backward([nd.array([5.0, 7.0])])
        assert made.grad_dict["x"].asnumpy().tolist() == [1, 1]
    assert kinds[2].declare_backward_dependency([0], [1, 2], [3]) == [0, 1, 2, 3]
    assert kinds[1].declare_backward_dependency([0], [1, 2], [3]) == [1, 2, 3]


def test_draws_to_a_place_and_as_symbols() -> None:
    low, high = nd.array([0.0, 100.0]), nd.array([1.0, 101.0])
    out = nd.zeros((2, 4))
    mx.nd.random.uniform(low, high, shape=4, out=out)
    assert (np.floor(out.asnumpy()) == [[0] * 4, [100] * 4]).all()
    single = nd.zeros((3, 5))
    mx.nd.random.normal(50, 0.5, out=single)
    assert (np.abs(single.asnumpy() - 50) < 5).all() and len(np.unique(single.asnumpy())) > 10
    drawn = mx.sym.random.uniform(3, 4, shape=(2, 2), ctx=mx.cpu(1))
    assert drawn.list_attr().get("ctx") == "cpu(1)"
    assert drawn.eval()[0].shape == (2, 2)
    picked = mx.nd.random.multinomial(nd.array([[0, 1.0], [1.0, 0]]), shape=3, dtype="float32")
    assert picked.dtype == np.float32 and picked.asnumpy().tolist() == [[1] * 3, [0] * 3]
    assert mx.nd.random.multinomial(nd.array([0, 1.0])).dtype == np.int32
    names = ["low", "high", "shape", "dtype", "ctx", "out"]
    with pytest.raises(TypeError, match="positional arguments"):
        mx.nd.random.uniform(0, 1, (2,), "float32", None, None, 7)
    assert mx.nd.random.uniform(0, 1, (2,), "float64", mx.cpu(1), None).context == mx.cpu(1), names
    with pytest.raises(AssertionError, match="same type"):
        mx.nd.random.gamma(low, 2.0)


def test_summaries_of_groups_and_long_names(capsys: pytest.CaptureFixture[str]) -> None:
    """(channels * filters // groups) * kernel and biases: 6*9//3*3*3 + 9, 9*4*9, 4*... as MXNet counts."""
    data = sym.var("data")
    net = sym.Convolution(data, num_filter=9, kernel=(3, 3), num_group=3, name="a")
    net = sym.Convolution(net, num_filter=4, kernel=(3, 3), no_bias=True, name="b" * 60)
    net = sym.FullyConnected(net, num_hidden=5, name="c")
    mx.viz.print_summary(net, {"data": (2, 6, 9, 9)}, line_length=80)
    out = capsys.readouterr().out
    assert "Total params: " in out
    rows = {line.split("(")[0].strip(): line for line in out.split("\n") if "(Conv" in line or "(Fully" in line}
    assert [int(v) for v in rows["a"].split() if v.isdigit()] == [6 * 9 // 3 * 9 + 9]
    assert max(map(len, out.split("\n"))) <= 80 and "b" * 32 in out and "b" * 50 not in out
    total = int(out.split("Total params: ")[1].split()[0])
    assert total == (6 * 9 // 3 * 9 + 9) + 9 * 4 * 9 + (4 + 1) * 5
    for flag in ("1", "true", "True", True):
        bare = sym.FullyConnected(data, num_hidden=5, no_bias=flag, name="c")
        mx.viz.print_summary(bare, {"data": (2, 6)})
        assert "Total params: 30" in capsys.readouterr().out, flag


def test_small_things() -> None:
    util, base = mx.util, mx.base
    from hybrid.base import classproperty, data_dir, data_dir_default

    assert data_dir() == data_dir_default() == str(Path.home() / ".mxnet")

    class Made:
        @classproperty
        @classmethod
        def kind(cls) -> str:
            return cls.__name__

        @classproperty
        @staticmethod
        def three() -> int:
            return 3

    assert (Made.kind, Made().three) == ("Made", 3)

    def function() -> None:
        """Anything."""

    assert util.set_module("other")(function).__module__ == "other"
    assert util.set_module(None)(function).__module__ == "other"
    refusals([
        ("memory", lambda: util.get_gpu_memory(3), MXNetError, "3|GPU"),
        ("arrays without shapes", lambda: util.set_np(False, True), ValueError, "Shape semantics is required"),
        ("include", mx.libinfo.find_include_path, MXNetError, "C headers"),
        ("conf", lambda: mx.libinfo.find_conf_path("own"), MXNetError, r"own\.conf"),
        ("loc", lambda: mx.init.Initializer()._init_loc_bias("n", nd.zeros(5)), AssertionError, "wanted 6 numbers"),
    ])  # fmt: skip
    assert issubclass(base.MXNetError, RuntimeError)
    for kind, one, other in ((mx.init.Uniform, 0.1, 0.2), (mx.init.Normal, 0.1, 0.2), (mx.init.Constant, 1, 2)):
        assert kind(one) == kind(one) and kind(one) != kind(other)
    assert mx.init.Uniform(0.1) != mx.init.Normal(0.1)
    bias = nd.ones((8,))
    mx.init.Zero()(mx.init.InitDesc("b_bias", {"__init__": mx.init.LSTMBias(3.0).dumps()}), bias)
    assert bias.asnumpy().tolist() == [0, 0, 3, 3, 0, 0, 0, 0]
    with pytest.warns(DeprecationWarning):
        stn, plain = nd.zeros(6), nd.full((2, 3), 7)
        mx.init.One()("stn_loc_bias", stn)
        mx.init.One()("stn_loc_weight", plain)
    assert stn.asnumpy().tolist() == [1, 0, 0, 0, 1, 0] and (plain.asnumpy() == 0).all()
    with pytest.warns(DeprecationWarning):
        mx.init.One()("stn_loc_gamma", plain)
    assert (plain.asnumpy() == 1).all()
    fused = mx.init.FusedRNN(None, 2, 1, "rnn_tanh")
    for size in (2 * 2 + 2 * 2 + 1, 2 * 2 + 2 * 2):  # no whole number of features, and none
        with pytest.raises(ValueError, match="packed parameters"):
            fused(mx.init.InitDesc("p_weight"), nd.zeros(size))
    assert math.isnan(mx.metric.Loss().get()[1])


def test_drawings_with_types_own_operators_and_weights() -> None:
    pytest.importorskip("graphviz")
    dense = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    typed = mx.viz.plot_network(sym.exp(dense, name="e"), shape={"data": (3, 4)}, dtype={"data": np.float16}).source
    assert "2(float16)" in typed and "4(float16)" in typed and "fc_weight" not in typed
    with_weights = mx.viz.plot_network(dense, hide_weights=False).source
    assert "fc_weight" in with_weights and "fc_bias" in with_weights
    own = sym.Custom(sym.var("a"), sym.var("b"), op_type="rare_doubled", name="named")
    assert "label=rare_doubled" in mx.viz.plot_network(own).source
    with pytest.raises((ValueError, MXNetError)):
        mx.viz.plot_network(sym.var("x") + sym.var("y"), dtype={"nothing": np.float16})
    several = sym.var("x") + sym.var("x") + sym.var("a") + sym.var("a")
    with pytest.warns(RuntimeWarning, match="Repeated names: a,x"):
        mx.viz.plot_network(several)


def test_numbers_of_words_pass_over_the_number_of_padding() -> None:
    """As MXNet 1.9.1 numbers them."""
    sentences = [["a", "b"], ["c", "a"]]
    for invalid, want in ((0, [[1, 2], [3, 1]]), (1, [[0, 2], [3, 0]]), (-1, [[0, 1], [2, 0]])):
        coded, vocab = mx.rnn.encode_sentences(sentences, invalid_label=invalid, start_label=0)
        assert coded == want and vocab["\n"] == invalid and len(set(vocab.values())) == 4


def test_parameters_without_kinds_are_told_by_the_symbol(tmp_path: Path) -> None:
    """Files of names alone, such as Gluon's, go with a symbol that says which are states."""
    net = sym.FullyConnected(sym.BatchNorm(sym.var("data"), name="bn"), num_hidden=2, name="fc")
    (tmp_path / "m-symbol.json").write_text(net.tojson())
    names = [n for n in net.list_inputs() if n != "data"]
    nd.save(str(tmp_path / "m-0003.params"), {n: nd.full((2,), i) for i, n in enumerate(names)})
    _, arguments, states = mx.model.load_checkpoint(str(tmp_path / "m"), 3)
    assert [*states] == net.list_auxiliary_states() and [*arguments] == net.list_arguments()[1:]
    assert states["bn_moving_var"].asnumpy().tolist() == [names.index("bn_moving_var")] * 2


def test_names_with_colons_survive_modules(tmp_path: Path) -> None:
    net = sym.FullyConnected(sym.var("data"), sym.var("dense:0"), sym.var("dense:1:b"), num_hidden=2, name="fc")
    first, second = (mx.mod.Module(net, ["data"], None) for _ in range(2))
    for module in (first, second):
        module.bind([("data", (1, 3))], for_training=False)
    want = {"dense:0": nd.array(values(2, 3)), "dense:1:b": nd.array(values(2, seed=1))}
    first.init_params(arg_params=want)
    first.save_params(str(tmp_path / "x.params"))
    second.init_params(arg_params={n: nd.zeros(v.shape) for n, v in want.items()})
    second.load_params(str(tmp_path / "x.params"))
    got = second.get_params()[0]
    assert [*got] == [*want]
    for name in want:
        np.testing.assert_array_equal(got[name].asnumpy(), want[name].asnumpy())


def test_what_is_ready_takes_no_arguments() -> None:
    """An object, or all of one as text, is what is asked for already."""
    create = mx.registry.get_create_func(mx.metric.EvalMetric, "metric")
    ready = mx.metric.Accuracy()
    assert create(ready) is ready and create(metric=ready) is ready
    for first in (ready, '["acc", {}]', '{"metric": "acc"}'):
        for args, kwargs in (((3,), {}), ((), {"axis": 0}), ((3,), {"axis": 0})):
            with pytest.raises(AssertionError, match="metric is already an instance"):
                create(first, *args, **kwargs)
    with pytest.raises(AssertionError, match="metric is already an instance"):
        create(metric=ready, axis=0)
    with pytest.raises(ValueError, match="Shape semantics is required"):
        mx.util.set_np(False, True)
    mx.util.set_np(False, False)


def test_modules_that_lack_a_package_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is no module is an AttributeError; a module of ours that does not load is none."""

    def refuse(path: str) -> Any:
        raise ModuleNotFoundError("No module named 'absent'", name="absent")

    monkeypatch.setattr(mx.importlib, "import_module", refuse)
    with pytest.raises(ModuleNotFoundError, match="absent"):
        mx.__getattr__("visualization")
    monkeypatch.undo()
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        mx.__getattr__("absent")


def test_arrays_and_schedules_made_with_every_argument() -> None:
    for made in (
        mx.nd.arange(3, ctx=mx.cpu(1)), mx.nd.linspace(0, 1, 3, ctx=mx.cpu(1)), mx.nd.eye(2, ctx=mx.cpu(1)),
        mx.nd.arange(1, 3, infer_range=False, ctx=mx.cpu(1)),
    ):  # fmt: skip
        assert made.context == mx.cpu(1)
    for given in (None, False):
        assert mx.nd.arange(3, infer_range=given).asnumpy().tolist() == [0, 1, 2]
    for mode, want in (("linear", [0.05, 0.275, 0.455, 0.5]), ("constant", [0.05, 0.05, 0.05, 0.5])):
        schedule = mx.lr_scheduler.PolyScheduler(100, 0.5, 2, 0.1, 10, 0.05, mode)
        assert [schedule(i) for i in (0, 5, 9, 10)] == pytest.approx(want)
    with pytest.raises(ValueError, match="linear and constant"):
        mx.lr_scheduler.PolyScheduler(100, warmup_mode="other")
    x = mx.nd.array([1.0])
    x.attach_grad()
    (name,) = mx.autograd.get_symbol(x).list_outputs()
    assert mx.autograd.get_symbol(x).list_arguments() == [name]
    parts = mx.sym.split_v2(mx.sym.var("a"), 2, axis=1, squeeze_axis=True)
    assert parts.infer_shape(a=(3, 2, 4))[1] == [(3, 4), (3, 4)]
    assert mx.sym.split_v2(mx.sym.var("a"), (1,), 1).infer_shape(a=(3, 3, 4))[1] == [(3, 1, 4), (3, 2, 4)]
