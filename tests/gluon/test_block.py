"""Blocks: what the programs recorded in MXNet (test_programs) cannot show, because it is otherwise here or not there at all."""

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, native, nd, sym
from hybrid.core.attrs import dtype as read_dtype
from hybrid.eager.cached_op import CachedOp
from hybrid.gluon.utils import HookHandle
from tests.gluon.stage import Stage, layers, network

Dense, Norm, Sequential = layers(Stage(mx, Path()))


def tower() -> tuple[Any, Any]:
    """A network and a block inside a block of it."""
    inner = Sequential()
    inner.add(Dense(3, 3))
    net = Sequential()
    net.add(inner, Dense(2, 3))
    net.initialize()
    return net, inner


def test_a_change_deep_inside_is_seen() -> None:
    """MXNet would go on with the graph that it traced before."""
    net, inner = tower()
    net.hybridize()
    x = nd.ones((1, 3))
    before = net(x).asnumpy()
    added = Dense(3, 3)
    added.initialize()
    inner.add(added)
    changed = net(x).asnumpy()
    net.hybridize(False)
    np.testing.assert_array_equal(changed, net(x).asnumpy())
    assert not np.array_equal(before, changed)


def test_blocks_made_elsewhere_do_not_trace_anew() -> None:
    traces = []

    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            traces.append(x)
            return x + 1

    net = Net()
    net.hybridize()
    for size in (1, 2, 3):
        net(nd.ones(size))
        tower()
    assert len(traces) == 1


def test_export_is_of_the_network_as_it_is(tmp_path: Path) -> None:
    net, inner = tower()
    net.hybridize()
    net(nd.ones((1, 3)))
    inner.add(Dense(3, 3))
    with pytest.raises(mx.MXNetError, match="run forward"):
        net.export(f"{tmp_path}/n")


def test_export_before_a_hybridized_call_is_whole(tmp_path: Path) -> None:
    """Deferred initialization traces too; MXNet then writes a symbol without parameters."""
    dense = Dense(2)
    dense.initialize()
    dense(nd.ones((1, 3)))
    dense.export(f"{tmp_path}/d")
    assert len(nd.load(f"{tmp_path}/d-0000.params")) == 2


def test_a_layer_used_twice_counts_twice(capsys: pytest.CaptureFixture[str]) -> None:
    """MXNet counts it four times."""
    shared = Dense(4, 4, prefix="s_")
    net = Sequential()
    net.add(Dense(4, 4), shared, shared)
    net.initialize()
    net.summary(nd.ones((1, 4)))
    lines = capsys.readouterr().out.splitlines()
    sums = [line for line in lines if ":" in line]
    assert [int(line.rsplit(" ", 1)[1]) for line in sums] == [60, 60, 0, 20, 40]
    assert not any(block._forward_hooks for block in (net, shared))


def test_inputs_of_another_structure() -> None:
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, y: Any = None, z: Any = None) -> Any:  # noqa: N803
            return x if y is None else x + y

    net = Net()
    net.hybridize()
    a = nd.ones(1)
    assert net(a, a).asscalar() == 2
    assert net(a, a, None).asscalar() == 2
    with pytest.raises(ValueError, match=r"Stored format = \[0, 0\], input format = \[0, 0, 0\]"):
        net(a, a, a)
    with pytest.raises(ValueError, match="of type <class 'int'>"):
        net(a, 3)
    net.hybridize()
    assert net(a, None).asscalar() == 1


def test_backends_are_ignored_aloud() -> None:
    net, _ = tower()
    with pytest.warns(UserWarning, match="'MKLDNN' is ignored"):
        net.hybridize(backend="MKLDNN")
    with pytest.warns(UserWarning, match="'MKLDNN' is ignored"):
        net.optimize_for(nd.ones((1, 3)), backend="MKLDNN")
    assert net(nd.ones((1, 3))).shape == (1, 2)


def test_hybridizing_hooked_blocks_warns() -> None:
    net, inner = tower()
    with net.register_forward_hook(lambda *_: None), pytest.warns(UserWarning, match="forward hook/pre-hook"):
        net.hybridize()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.hybridize()
    assert isinstance(inner.register_forward_pre_hook(print), HookHandle)


def test_hooks_see_operators_and_results_stay() -> None:
    net, _ = tower()
    net.hybridize()
    x = nd.ones((1, 3))
    wanted = net(x).asnumpy()
    seen: dict[str, np.ndarray] = {}
    net.register_op_hook(lambda name, operator, array: seen.update({name: array.asnumpy()}), monitor_all=True)
    np.testing.assert_array_equal(net(x).asnumpy(), wanted)
    names = [f"{net._children[k].name}" for k in net._children]
    assert all(any(key.startswith(n) or "fwd" in key for key in seen) for n in names)
    np.testing.assert_array_equal(list(seen.values())[-1], wanted)


def test_names_nest_when_a_block_is_traced_inside_itself() -> None:
    class Twice(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, depth: Any = None) -> Any:  # noqa: N803
            return F.relu(x) if depth is None else F.exp(self(x))

    assert Twice(prefix="t_")(sym.var("x"), []).name == "t_exp0"
    assert mx.name.NameManager.current.get(None, "unprefixed").startswith("unprefixed")


def test_a_failed_trace_leaves_no_scope_behind() -> None:
    class Fails(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            raise KeyError("inside")

    net = Fails(prefix="f_")
    net.hybridize()
    for _ in range(2):
        with pytest.raises(KeyError, match="inside"):
            net(nd.ones(1))
    assert not Dense(1).prefix.startswith("f_")


def test_network_of_programs_is_seen_by_both_modes() -> None:
    net = network(Stage(mx, Path()))
    net.initialize()
    x = nd.array(np.random.default_rng(0).normal(size=(2, 4)))
    plain = net(x).asnumpy()
    net.hybridize(static_alloc=True, static_shape=True)
    np.testing.assert_allclose(net(x).asnumpy(), plain, rtol=1e-6)


def test_blocks_are_not_copied_by_accident() -> None:
    handle = HookHandle()
    again = copy.copy(handle)
    again.detach()
    assert again._id is None


class Summed(gluon.HybridBlock):
    """The sum of what is given, times an own parameter; y and z may be left out."""

    def __init__(self, **attrs: Any):
        super().__init__(**attrs)
        self.scale = self.params.get("scale", shape=(0,), dtype=None, allow_deferred_init=True)
        self.spare = self.params.get("spare", shape=(2,))

    def hybrid_forward(self, F: Any, x: Any, y: Any = None, z: Any = None, *, scale: Any, spare: Any) -> Any:  # noqa: N803
        given = [a for a in (x, y, z) if a is not None]
        total = F.concat(*given, dim=1) if len(given) > 1 else given[0]
        rows = F.FullyConnected(total, F.expand_dims(scale, 0), num_hidden=1, no_bias=True)
        return F.broadcast_add(rows, total)


@pytest.mark.filterwarnings("ignore:Parameter .* is not used")
def test_shapes_and_dtypes_follow_from_all_inputs_that_are_given() -> None:
    net = Summed(prefix="s_")
    net.infer_shape(nd.ones((2, 3)), None, nd.ones((2, 4)))
    assert (net.scale.shape, net.spare.shape) == ((7,), (2,))
    with pytest.raises(ValueError, match=r"All args are None .* Received args=\(None,\)"):
        Summed().infer_shape(None)
    net = Summed()
    net.infer_type(nd.ones((2, 3), dtype="float64"), nd.ones((2, 3), dtype="float64"))
    assert read_dtype(net.scale.dtype) == np.float64
    assert read_dtype(net.spare.dtype) == np.float32

    class Open(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="open_")
            self.one = self.params.get("one", shape=(0, 2), allow_deferred_init=True)

        def hybrid_forward(self, F: Any, x: Any, one: Any) -> Any:  # noqa: N803
            return F.sum(F.broadcast_add(x, F.sum(one, axis=0, keepdims=True)))

    with pytest.raises(ValueError, match=r"Cannot decide shape .* open_one: \(0, 2\)"):
        Open().infer_shape(nd.ones((3, 2)))

    class Stray(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return x + sym.var("stray") if F is sym else x

    net = Stray()
    net.hybridize()
    with pytest.raises(AssertionError, match="Unknown input to HybridBlock: stray"):
        net(nd.ones(2))


@pytest.mark.filterwarnings("ignore:there are no graph backends here")
def test_what_stands_in_for_nones_and_contexts() -> None:
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, y: Any = None, z: Any = None, w: Any = None) -> Any:  # noqa: N803
            return x * 2 if y is None else x + y

    net = Net()
    a, b = nd.array([3.0]), nd.array([5.0])
    assert net(a, nd.array([4.0], ctx=mx.cpu(1))).asscalar() == 7  # only a graph wants one context
    net.hybridize()
    assert net(a).asscalar() == 6
    assert net(a, None, None).asscalar() == 6
    for wrong in ((a, b), (a, None, b), (a, b, None)):
        with pytest.raises(ValueError, match=r"Stored format = \[0\]"):
            net(*wrong)
    with pytest.raises(ValueError, match="Find multiple contexts in the input"):
        net(a, b.as_in_context(mx.cpu(1)))
    with pytest.raises(ValueError, match="Found multiple contexts in the input"):
        net.optimize_for(a, b.as_in_context(mx.cpu(1)), backend="x", clear=True)
    with pytest.raises(ValueError, match="there must be one NDArray or one Symbol"):
        net.optimize_for([], backend="x")
    with pytest.raises(ValueError, match='Must specify "backend"'):
        net.optimize_for(a)


def test_a_list_of_one_output_stays_a_list() -> None:
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return [x * 3]

    net = Net()
    net.hybridize()
    for _ in range(3):
        (out,) = net(nd.array([2.0, 5.0]))
        assert out.asnumpy().tolist() == [6, 15]


def test_a_forward_of_its_own_is_never_passed_by() -> None:
    """Calls after the first take a shorter way to the graph, which is only for blocks that do nothing else, and not in training."""

    class Doubling(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return super().forward(x * 2)

        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return x + 1

    net = Doubling()
    net.hybridize()
    assert [net(nd.array([3.0])).asscalar() for _ in range(4)] == [7] * 4
    drops = gluon.nn.Dropout(0.5)
    drops.hybridize()
    x = nd.ones((64,))
    with mx.autograd.train_mode():
        for _ in range(3):
            assert 0 < (drops(x).asnumpy() == 0).sum() < 64
    for _ in range(3):
        assert (drops(x).asnumpy() == 1).all()


class Repeated:
    """A network that is called again and again, and what it has to give by NumPy."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.first, self.other = (rng.uniform(-2, 2, s).astype(np.float32) for s in ((4, 3), (5, 3)))
        self.net = gluon.nn.HybridSequential()
        self.net.add(gluon.nn.Dense(2, in_units=3), gluon.nn.BatchNorm(in_channels=2, momentum=1.0))
        self.net.initialize()
        self.weight = rng.uniform(-1, 1, (2, 3)).astype(np.float32)
        self.net[0].weight.set_data(nd.array(self.weight))
        self.net.hybridize()

    def want(self, x: np.ndarray, training: bool = False) -> np.ndarray:
        dense, norm = self.net[0], self.net[1]
        y = x.astype(np.float64) @ dense.weight.data().asnumpy().T + dense.bias.data().asnumpy()
        mean, var = (y.mean(0), y.var(0)) if training else (np.zeros(2), np.ones(2))
        return (y - mean) / np.sqrt(var + 1e-5) * norm.gamma.data().asnumpy() + norm.beta.data().asnumpy()

    def check(self, where: str, x: np.ndarray, training: bool = False, factor: float = 1) -> None:
        found, want = self.net(nd.array(x)).asnumpy(), factor * self.want(x, training)
        np.testing.assert_allclose(found, want, rtol=2e-5, atol=2e-5, err_msg=where)

    def again(self, where: str) -> None:
        for _ in range(3):
            self.check(where, self.first)
            self.check(where, self.other)

    def outcome(self, x: nd.NDArray) -> Any:
        try:
            y = self.net(x)
            return y.dtype, y.context, np.allclose(y.asnumpy(), self.want(x.asnumpy()), rtol=2e-5, atol=1e-5)
        except Exception as error:
            return type(error)


def test_after_many_calls_modes_are_not_passed_over() -> None:
    """Here and below: equal calls take a shorter way, which has to be left when anything else is asked for."""
    made = Repeated()
    made.again("at first")
    with mx.autograd.train_mode():
        made.check("training, not recorded", made.first, training=True)
        made.check("of another shape", made.other, training=True)
    made.again("after training")
    for training in (True, False):
        x = nd.array(made.first)
        x.attach_grad()
        with mx.autograd.record(train_mode=training):
            y = made.net(x)
        np.testing.assert_allclose(y.asnumpy(), made.want(made.first, training), rtol=2e-5, atol=1e-5)
        y.backward(nd.array([[0, 1]] * 4))
        slopes = x.grad.asnumpy()
        if training:
            assert abs(slopes.sum(0)).max() < 1e-5  # a shift of all rows changes nothing
        else:
            np.testing.assert_allclose(slopes, np.tile(made.weight[1] / np.sqrt(1 + 1e-5), (4, 1)), rtol=1e-5)
        made.again("after recording")


def test_after_many_calls_changed_parameters_count() -> None:
    made = Repeated()
    dense, norm = made.net
    for name, change in {
        "set_data": lambda: dense.weight.set_data(nd.array(made.weight * 2)),
        "written in place": lambda: dense.bias.data().__setitem__(slice(None), nd.array([0.5, -3])),
        "+=": lambda: norm.beta.data().__iadd__(3),
        "initialized again": lambda: norm.gamma.initialize(mx.init.Constant(0.5), force_reinit=True),
        "a part of it": lambda: dense.weight.data()[1:].__setitem__(slice(None), 7),
        "of NumPy's": lambda: dense.weight.set_data(made.weight - 1),
        "cast": lambda: (made.net.cast("float64"), made.net.cast("float32")),
    }.items():
        made.again(f"before {name}")
        change()
        made.again(name)


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
def test_after_many_calls_kernels_that_are_gone_count() -> None:
    made, run = Repeated(), CachedOp.__call__
    made.again("before")
    with pytest.MonkeyPatch.context() as patched:
        slow: list[int] = []
        patched.setattr(CachedOp, "__call__", lambda self, *args, **more: (slow.append(1), run(self, *args, **more))[1])
        made.again("as before")
        assert not slow
        before = native.use(None)
        made.again("without kernels")
        native.use(before)
        assert len(slow) == 6
        made.again("with kernels")


def test_after_many_calls_odd_inputs_are_what_they_were_before_any() -> None:
    made, fresh = Repeated(), Repeated()
    odd = [nd.array(made.first, dtype=dtype) for dtype in ("float64", "float16", "int32")]
    odd += [nd.array(made.first, ctx=mx.cpu(1)), nd.array(made.first[:, :2])]
    expected = [fresh.outcome(x) for x in odd]
    assert [isinstance(e, type) for e in expected] == [True, True, True, False, True]
    assert expected[3] == (np.float32, mx.cpu(1), True)
    for x, want in zip(odd, expected):
        made.again("before")
        assert made.outcome(x) == want


def test_after_many_calls_hooks_and_another_structure_count() -> None:
    made = Repeated()
    net, said = made.net, []
    for register in (net.register_forward_pre_hook, net.register_forward_hook):
        made.again("without a hook")
        handle = register(lambda block, *given: said.append("hook"))
        made.again("with a hook")
        assert said == ["hook"] * 6
        handle.detach()
        said.clear()
        made.again("without")
        assert not said
    called = []
    dense = type(net[0])
    with pytest.MonkeyPatch.context() as patched:
        forward = dense.hybrid_forward
        patched.setattr(dense, "hybrid_forward", lambda *args, **more: (called.append(1), forward(*args, **more))[1])
        net.hybridize(False)
        made.again("not hybridized")
        assert len(called) == 6
    net.hybridize()
    made.again("hybridized again")
    outer = gluon.nn.HybridSequential()
    outer.add(net)
    outer.hybridize()
    for factor in (1, 2, 4):  # the block inside changes, which the outer one is told by nobody
        for x in (made.first, made.other) * 3:
            np.testing.assert_allclose(outer(nd.array(x)).asnumpy(), factor * made.want(x), rtol=2e-5, atol=5e-5)
        net.add(gluon.nn.HybridLambda(lambda F, x: x * 2))  # noqa: N803
    made = Repeated()
    net = made.net
    made.again("another")
    net.add(gluon.nn.HybridLambda(lambda F, x: x * 2))  # noqa: N803
    for _ in range(3):
        made.check("with one more", made.first, factor=2)
    net.register_op_hook(lambda name, op, array: said.append(op))
    for _ in range(3):
        made.check("watched", made.first, factor=2)
    assert len(said) == 3 * 3


def test_hooks_are_called_in_order_and_see_every_output() -> None:
    def cut(F: Any, x: Any) -> Any:  # noqa: N803
        return F.split(x, num_outputs=2, axis=1, name="cut")

    said: list[Any] = []
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.HybridLambda(cut))
    for word in ("a", "b"):
        net.register_forward_pre_hook(lambda block, inputs, word=word: said.append((f"before {word}", len(inputs))))
        net.register_forward_hook(lambda block, inputs, out, word=word: said.append((f"after {word}", len(out))))
    x = nd.array([[1.0, 2, 3, 4]])
    net(x)
    assert said == [("before a", 1), ("before b", 1), ("after a", 2), ("after b", 2)]
    seen: list[Any] = []
    outer = gluon.nn.Sequential()  # a plain Block passes hooks on to all children
    parts = [gluon.nn.HybridLambda(cut) for _ in range(2)]
    outer.add(*parts)
    for part in parts:
        part.hybridize()
    outer.register_op_hook(
        lambda name, op, array: seen.append((name.split("_")[-1], op, array.asnumpy().tolist())), True
    )
    for part in parts:
        seen.clear()
        assert [a.asnumpy().tolist() for a in part(x)] == [[[1, 2]], [[3, 4]]]
        assert [s[0] for s in seen] == ["data", "output0", "output1"]
        assert [s[2] for s in seen] == [[[1, 2, 3, 4]], [[1, 2]], [[3, 4]]]
    outer.register_op_hook(lambda name, op, array: seen.append(name))
    seen.clear()
    parts[0](x)
    assert len(seen) == 2  # outputs alone

    class Loop(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return F.contrib.foreach(lambda a, s: (a + s, a + s), x, F.zeros((2,)))[0]

    loop = Loop()
    loop.hybridize()
    told: list[str] = []
    loop.register_op_hook(lambda name, op, array: told.append(op))
    assert loop(nd.ones((3, 2))).asnumpy().tolist() == [[1, 1], [2, 2], [3, 3]]
    assert told[-1] == "_foreach"  # as a whole


def test_blocks_in_lists_are_told_of_unless_all_are_children() -> None:
    class Holds(gluon.Block):
        def __init__(self, registered: int):
            super().__init__()
            self.held = [Dense(1), [Dense(2)], {"c": Dense(3)}]
            for block in [self.held[0], self.held[1][0], self.held[2]["c"]][:registered]:
                self.register_child(block)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Holds(3).collect_params()
    for registered in (0, 1, 2):
        with pytest.warns(UserWarning, match=r'"Holds\.held" is an unregistered container'):
            Holds(registered).collect_params()


def test_parameter_files_of_blocks_without_any_and_of_single_layers(tmp_path: Path) -> None:
    empty, full, some = (str(tmp_path / n) for n in ("empty", "full", "some"))
    gluon.nn.Activation("relu").save_parameters(empty)
    gluon.nn.Activation("relu").load_parameters(empty)
    layer = gluon.nn.Dense(2, in_units=3, bias_initializer=mx.init.Constant(4))
    layer.initialize(mx.init.Constant(3))
    with pytest.raises(gluon.ParameterError, match="weight"):
        layer.load_parameters(empty)
    layer.save_parameters(full)
    with pytest.raises(gluon.ParameterError, match="weight"):
        gluon.nn.Activation("relu").load_parameters(full)
    nd.save(some, {"bias": nd.array([1, 2]), "other": nd.array([1])})
    other = gluon.nn.Dense(2, in_units=3)
    with pytest.raises(gluon.ParameterError, match="weight"):
        other.load_parameters(some)
    nd.save(some, {"bias": nd.array([1, 2])})
    with pytest.raises(gluon.ParameterError, match="weight"):
        other.load_parameters(some)
    with pytest.warns(UserWarning, match="load_params is deprecated"):
        other.load_params(some, ctx=[mx.cpu(1), mx.cpu(0)], allow_missing=True)
    assert other.bias.list_ctx() == [mx.cpu(1), mx.cpu(0)]
    assert other.bias.data(mx.cpu(1)).asnumpy().tolist() == [1, 2]
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=3))
    nd.save(some, {"0.bias": nd.array([1, 2]), "0.weight": nd.array([[1, 2, 3], [4, 5, 6]]), "1.bias": nd.array([9])})
    with pytest.raises(gluon.ParameterError, match=r"1\.bias"), pytest.warns(UserWarning):
        net.load_params(some)
    with pytest.warns(UserWarning, match="deprecated"):
        net.load_params(some, ignore_extra=True)
    assert net(nd.array([[1, 1, 2]])).asnumpy().tolist() == [[10, 23]]


def test_saved_models_of_plain_blocks_and_of_several_inputs(tmp_path: Path) -> None:
    class Net(gluon.HybridBlock):
        alive = True

        def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:  # noqa: N803
            assert self.alive  # once saved, the graph is in the file
            return x - 2 * y

    x, y = nd.array([[1.0, 2, 3]]), nd.array([[5.0, 7, 11]])

    class Outer(gluon.Block):
        def __init__(self, inner: Any):
            super().__init__(prefix="outer_")
            self.inner, self.dense = inner, gluon.nn.Dense(2, in_units=3, prefix="dense_")

        def forward(self, x: Any, y: Any) -> Any:
            return self.dense(self.inner(x, y))

    net = Outer(Net(prefix="net_"))
    net.initialize(mx.init.Normal(1))
    net.inner.hybridize()
    wanted = net(x, y).asnumpy()
    net.save(str(tmp_path / "m"))
    Net.alive = False
    again = Outer(Net(prefix="net_"))
    again.load(str(tmp_path / "m"))
    np.testing.assert_array_equal(again(x, y).asnumpy(), wanted)


def test_files_of_which_some_names_say_where_parameters_are(tmp_path: Path) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(1, in_units=2, use_bias=False))
    nd.save(tmp_path / "p", {"bias": nd.array([1]), "0.weight": nd.array([[3, 4]])})
    with pytest.raises(gluon.ParameterError, match="bias"):
        net.load_parameters(tmp_path / "p")
    net.load_parameters(tmp_path / "p", ignore_extra=True)
    assert net(nd.array([[1, 1]])).asnumpy().tolist() == [[7]]


def test_precise_graphs_are_asked_for_all_the_way_down() -> None:
    net, inner = tower()
    net.hybridize(precise=True)
    assert all(("precise", True) in block._flags for block in (net, inner, *inner._children.values()))
    x = nd.array([[1.0, 2, 3]])
    net(x)
    assert net._cached_op.flags["precise"] is True
    net.hybridize()
    net(x)
    assert not net._cached_op.flags.get("precise", False)


def test_summaries_of_what_is_no_array(capsys: pytest.CaptureFixture[str]) -> None:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.dense = gluon.nn.Dense(4, in_units=3)

        def hybrid_forward(self, F: Any, x: Any, y: Any = None) -> Any:  # noqa: N803
            return [self.dense(x), y]

    net = Net()
    net.initialize()
    net.summary(nd.ones((2, 3)), None)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "Input (2, 3), None 0" in lines and "Dense-1 (2, 4) 16" in lines and "Net-2 (2, 4), None 0" in lines
