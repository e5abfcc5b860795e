"""Blocks: what the programs recorded in MXNet (test_programs) cannot show, because it is otherwise here or not there at all."""

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, nd, sym
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
