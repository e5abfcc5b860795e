"""Parts of Module, Monitor, FeedForward and drawings that the recorded programs do not show."""

import builtins
import logging
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import hybrid as mx
from hybrid.executor_manager import _split_input_slice
from tests.asked.test_here import refusals

SHAPES = ([("data", (4, 3))], [("softmax_label", (4,))])


def network(**settings: Any) -> mx.Symbol:
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc", **settings)
    return mx.sym.SoftmaxOutput(x, name="softmax")


def batch(size: int = 4, seed: int = 0) -> mx.io.DataBatch:
    random = np.random.RandomState(seed)
    data = random.uniform(-1, 1, (size, 3)).astype(np.float32)
    return mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array((data[:, 0] > 0).astype(np.float32))])


def trained(context: Any, batches: Any, **settings: Any) -> np.ndarray:
    """A weight after two steps."""
    module = mx.mod.Module(network(), context=context, **settings)
    module.bind(*SHAPES)
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 1.0})
    for own in batches:
        module.forward_backward(own)
        module.update()
    return module.get_params()[0]["fc_weight"].asnumpy()


def test_contexts_together_train_as_one_does() -> None:
    alone = trained(mx.cpu(), [batch(), batch(seed=1)])
    two = [mx.cpu(0), mx.cpu(1)]
    np.testing.assert_allclose(trained(two, [batch(), batch(seed=1)]), alone, rtol=1e-6)
    np.testing.assert_allclose(
        trained(two, [batch(), batch(seed=1)], work_load_list=[1, 3]), alone, rtol=1e-6, atol=1e-7
    )
    sliced = []
    for whole in (batch(), batch(seed=1)):
        parts = [mx.io.DataBatch([whole.data[0][i : i + 2]], [whole.label[0][i : i + 2]]) for i in (0, 2)]
        sliced.append(parts)
    np.testing.assert_allclose(trained(two, sliced), alone, rtol=1e-6)


def test_a_list_of_batches_is_measured_by_context() -> None:
    module = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind(*SHAPES)
    module.init_params(mx.init.One())
    whole = batch()
    parts = [mx.io.DataBatch([whole.data[0][i : i + 2]], [whole.label[0][i : i + 2]]) for i in (0, 2)]
    together, apart = mx.metric.create("ce"), mx.metric.create("ce")
    module.forward(whole, is_train=False)
    module.update_metric(together, whole.label)
    module.forward(parts, is_train=False)
    module.update_metric(apart, [p.label for p in parts], pre_sliced=True)
    assert together.get() == apart.get()


def test_groups_of_operators_may_be_given_places() -> None:
    groups = {"first": mx.cpu(0), "second": [mx.cpu(1)]}
    assert trained(mx.cpu(), [batch()], group2ctxs=groups).shape == (2, 3)
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        mx.mod.Module(network(), group2ctxs={"first": mx.gpu(0)})
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        mx.mod.Module(network(), context=mx.gpu(0))
    with pytest.raises(AssertionError, match="2 entries for 1 contexts"):
        mx.mod.Module(network(), group2ctxs=[{}, {}])


def test_fixed_and_multiplied_parameters() -> None:
    weight = mx.sym.var("fc_weight", lr_mult=0.0)
    module = mx.mod.Module(network(weight=weight))
    module.bind(*SHAPES, grad_req={"fc_weight": "write", "fc_bias": "null"})
    module.init_params(mx.init.One())
    module.init_optimizer()
    module.forward_backward(batch())
    module.update()
    arguments, _ = module.get_params()
    assert (arguments["fc_weight"].asnumpy() == 1).all()
    assert (arguments["fc_bias"].asnumpy() == 0).all()
    assert module._exec_group.grad_arrays[1] == [None]


def test_reshape_takes_no_other_features() -> None:
    module = mx.mod.Module(network())
    module.bind(*SHAPES)
    module.init_params()
    with pytest.raises(mx.MXNetError, match="fc_weight"):
        module.reshape([("data", (4, 5))], [("softmax_label", (4,))])


def test_iterator_that_gives_arrays_of_another_shape_than_it_says() -> None:
    module = mx.mod.Module(network())
    module.bind(*SHAPES)
    module.init_params()
    with pytest.raises((ValueError, mx.MXNetError)):
        module.forward(mx.io.DataBatch([mx.nd.zeros((4, 2))], [mx.nd.zeros(4)]))


def test_monitor_refuses_statistics_that_are_no_arrays() -> None:
    module = mx.mod.Module(network())
    module.bind(*SHAPES)
    module.init_params()
    monitor = mx.mon.Monitor(1, stat_func=lambda x: 3)
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(batch())
    with pytest.raises(AssertionError, match="stat_func gave int"):
        monitor.toc()
    assert mx.mon.Monitor(1).toc() == []


def test_monitors_of_several_devices() -> None:
    """All arrays of every executor, of the batches whose turn it is."""
    module = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind(*SHAPES)
    module.init_params()
    monitor = mx.mon.Monitor(2, monitor_all=False)
    module.install_monitor(monitor)
    held = [n for exe in module._exec_group.execs for n in (*exe.arg_dict, *exe.aux_dict)]
    for turn in (True, False, True):
        monitor.tic()
        module.forward(batch())
        seen = [name for _, name, _ in monitor.toc()]
        assert sorted(n for n in seen if n in held) == (sorted(held) if turn else [])
        assert len(set(seen)) > len(set(held)) if turn else not seen


@pytest.mark.filterwarnings("ignore:.*FeedForward has been deprecated")
def test_feed_forward_of_arrays(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    random = np.random.RandomState(0)
    data = random.uniform(-1, 1, (64, 3)).astype(np.float32)
    labels = (data[:, 0] > 0).astype(np.float32)
    settings: dict[str, Any] = {"num_epoch": 5, "numpy_batch_size": 16, "learning_rate": 1.0}
    model = mx.model.FeedForward.create(network(), data, labels, eval_data=(data, labels), **settings)
    assert "Epoch[4] Validation-accuracy=" in caplog.text
    assert (model.predict(data).argmax(1) == labels).mean() > 0.9
    with pytest.raises(ValueError, match="y must be specified"):
        model.fit(data)
    with pytest.raises(TypeError, match="X must be DataIter"):
        model.predict([1, 2])
    with pytest.raises(ValueError, match="not equal"):
        model.fit(data, labels[1:])


def test_plot_network_draws_without_graphviz(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    original = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "graphviz":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    drawn = mx.viz.plot_network(network(), title="net", shape={"data": (2, 5)})
    assert ElementTree.fromstring(drawn._repr_svg_()).tag.endswith("svg")
    assert drawn.source.startswith('digraph "net" {') and "FullyConnected" in drawn.source
    assert drawn.render(str(tmp_path / "net")) == str(tmp_path / "net.svg")
    assert (tmp_path / "net.svg").read_text() == drawn._repr_svg_()
    with pytest.raises(mx.MXNetError, match=r"wanted svg.*pip install graphviz"):
        drawn.render(format="pdf")


@pytest.mark.parametrize("graphviz", [True, False])
def test_plot_network_draws_deep_networks_briefly(monkeypatch: pytest.MonkeyPatch, graphviz: bool) -> None:
    if not graphviz:
        monkeypatch.setitem(sys.modules, "graphviz", None)
    else:
        pytest.importorskip("graphviz")
    net = mx.gluon.model_zoo.vision.resnet18_v1(prefix="net_")(mx.sym.var("data"))
    whole, drawn = mx.viz.plot_network(net), mx.viz.plot_network(net, brief=True, node_attrs={"fontsize": "9"})
    assert type(drawn) is type(whole) and drawn.source.count("->") < whole.source.count("->") / 2
    assert (
        "Convolution ... Activation" in drawn.source
        and "7x7/2x2, 64" in drawn.source
        and "3 above, once more" in drawn.source
    )
    assert drawn.source.count("fontsize=9") + drawn.source.count('fontsize="9"') == drawn.source.count("label=") - (
        drawn.source.count("->")
    )
    shapes = mx.viz.plot_network(net, brief=True, shape={"data": (1, 3, 64, 64)})
    assert "64x16x16" in shapes.source and "512" in shapes.source


def test_plot_network_warns_of_names_that_are_there_twice() -> None:
    twice = mx.sym.var("x") + mx.sym.var("x")
    with pytest.warns(RuntimeWarning, match="Repeated names: x"):
        mx.viz.plot_network(twice)


def test_plot_network_tells_types_where_it_knows_no_shapes() -> None:
    split = mx.sym.split(mx.sym.var("data"), num_outputs=1, name="cut") * 2
    for given, label in (
        ({}, '""'), ({"dtype": {"data": "float32"}}, '"(float32)"'), ({"shape": {"data": (1, 3)}}, "3"),
        ({"shape": {"data": (1, 3)}, "dtype": {"data": "float16"}}, '"3(float16)"'),
    ):  # fmt: skip
        drawn = mx.viz.plot_network(split, save_format="png", **given)
        assert f"-> cut [label={label} " in drawn.source and drawn.format == "png"
    with pytest.warns(UserWarning, match="Cannot decide type"), pytest.raises(ValueError, match="type is incomplete"):
        mx.viz.plot_network(mx.sym.var("a") + mx.sym.var("b"), dtype={})


def test_executor_manager_does_what_training_loops_of_old_did() -> None:
    batches = mx.io.NDArrayIter(batch(8).data[0], batch(8).label[0], 4)
    manager = mx.model.DataParallelExecutorManager(network(), [mx.cpu(0), mx.cpu(1)], batches, None, None, None)
    weights = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    manager.set_params(weights, {})
    manager.load_data_batch(next(batches))
    manager.forward(is_train=True)
    manager.backward()
    found = sum(g.asnumpy() for g in manager.grad_arrays[0])
    module = mx.mod.Module(network())
    module.bind(*SHAPES)
    module.init_params(mx.init.One())
    batches.reset()
    module.forward_backward(next(batches))
    np.testing.assert_allclose(found, module._exec_group.grad_arrays[0][0].asnumpy(), rtol=1e-6)
    manager.copy_to(weights, {})
    assert (weights["fc_weight"].asnumpy() == 1).all()
    assert _split_input_slice(10, [1, 3]) == [slice(0, 2), slice(2, 10)]


def test_a_batch_without_labels_does_not_forget_them() -> None:
    """Labels come back with the next batch that has some, also where its shape is that of the one without."""
    random = np.random.RandomState(5)
    data = [mx.nd.array(random.uniform(-1, 1, (n, 3))) for n in (2, 4)]
    labels = [mx.nd.array([1, 0]), mx.nd.array([0, 1, 1, 0])]
    found = {}
    for way in ("plain", "other size", "same size", "list"):
        module = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)])
        module.bind([("data", (2, 3))], [("softmax_label", (2,))])
        module.init_params(mx.init.Constant(0.5))
        large, small = mx.io.DataBatch(data[1:], labels[1:]), mx.io.DataBatch(data[:1], labels[:1])
        if way == "other size":
            module.forward(mx.io.DataBatch([mx.nd.ones((6, 3))], None), is_train=False)
            assert module.label_shapes is None
        if way == "same size":
            module.forward(mx.io.DataBatch([mx.nd.ones((4, 3))], None), is_train=False)
        if way == "list":
            parts = [mx.io.DataBatch([data[1][i : i + 2]], [labels[1][i : i + 2]]) for i in (0, 2)]
            module.forward_backward(parts)
        else:
            module.forward_backward(large)
        gradient = sum(g.asnumpy() for g in module._exec_group.grad_arrays[0])
        assert [tuple(d.shape) for d in module.label_shapes] == [(4,)]
        metric = mx.metric.Accuracy()
        module.update_metric(metric, labels[1:])
        module.forward(small)
        module.update_metric(metric, labels[:1])
        found[way] = (gradient.tolist(), metric.get())
    assert len({str(f) for f in found.values()}) == 1, found
    chosen = np.eye(2)[[0, 1, 1, 0]]  # equal weights give each class a half
    np.testing.assert_allclose(found["list"][0], (0.5 - chosen).T @ data[1].asnumpy(), rtol=1e-5)


def test_states_as_whole_arrays() -> None:
    """set_states takes an array of the whole batch, get_states gives it; an array of another shape is refused."""
    h, c = mx.sym.var("h", init=mx.init.Zero()), mx.sym.var("c", init=mx.init.Zero())
    symbol = mx.sym.var("data") + h + c * 2
    module = mx.mod.Module(symbol, label_names=None, state_names=["h", "c"], context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 3))], for_training=False)
    module.init_params()
    numbers = [np.arange(12, dtype=np.float32).reshape(4, 3) + 100 * i for i in (1, 2)]
    module.set_states([mx.nd.array(n) for n in numbers])
    for got, want in zip(module.get_states(), numbers, strict=True):
        np.testing.assert_array_equal(got.asnumpy(), want)
    for arrays, want in zip(module.get_states(False), numbers, strict=True):
        np.testing.assert_array_equal([a.asnumpy() for a in arrays], [want[:2], want[2:]])
    module.forward(mx.io.DataBatch([mx.nd.ones((4, 3))]))
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), 1 + numbers[0] + 2 * numbers[1])


class Adding(mx.kv.KVStore):
    """A store that leaves the update to those who ask."""

    def is_capable(self, capability: str) -> bool:
        return False


def test_stores_that_only_add_up() -> None:
    """Each context then updates its own weights by the sum; a store that is asked for compression says what it cannot do."""
    weights = {}
    for kind, store in (("adding", Adding()), ("local", mx.kv.create("local")), ("none", None)):
        module = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)] if store else mx.cpu())
        module.bind(*SHAPES)
        module.init_params(mx.init.One())
        optimizer = mx.optimizer.SGD(learning_rate=1.0, momentum=0.5, rescale_grad=0.25, param_idx2name={0: "own"})
        module.init_optimizer(store, optimizer)
        assert optimizer.idx2name == {0: "own"}
        assert module._update_on_kvstore is (kind == "local")
        for seed in (0, 1):
            module.forward_backward(batch(seed=seed))
            module.update()
        weights[kind] = module.get_params()[0]["fc_weight"].asnumpy()
    assert not np.allclose(weights["none"], 1)
    np.testing.assert_allclose(weights["adding"], weights["none"], rtol=1e-6)
    np.testing.assert_allclose(weights["local"], weights["none"], rtol=1e-6)
    module = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)], compression_params={"type": "2bit"})
    module.bind(*SHAPES)
    module.init_params()
    with pytest.raises(mx.MXNetError, match="Gradient compression"):
        module.init_optimizer("local")


class Lists(mx.io.DataIter):
    """Lists of batches, one for each context; or batches of a bucket each."""

    def __init__(self, batches: list[Any], shapes: Any = SHAPES) -> None:
        super().__init__(4)
        self.batches, self.provide_data, self.provide_label = batches, *shapes
        self.reset()

    def reset(self) -> None:
        self.left = list(self.batches)

    def next(self) -> Any:
        if not self.left:
            raise StopIteration
        return self.left.pop(0)


def test_iterators_of_lists_and_of_buckets_with_several_outputs() -> None:
    module = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind(*SHAPES)
    module.init_params(mx.init.Uniform(1))
    whole = [batch(), batch(seed=1)]
    parts = [[mx.io.DataBatch([b.data[0][i : i + 2]], [b.label[0][i : i + 2]]) for i in (0, 2)] for b in whole]
    assert module.score(Lists(parts), "ce") == module.score(Lists(whole), "ce")

    def generate(key: int) -> tuple[mx.Symbol, list[str], None]:
        x = mx.sym.var("data")
        return (x * 2 if key == 1 else mx.sym.Group([x * 2, x * 3])), ["data"], None

    buckets = mx.mod.BucketingModule(generate, 1)
    shapes = [("data", (2, 3))], None
    buckets.bind(*shapes)
    buckets.init_params()
    both = [
        mx.io.DataBatch([mx.nd.full((2, 3), key)], [], pad=0, bucket_key=key, provide_data=shapes[0]) for key in (1, 2)
    ]
    found = buckets.predict(Lists(both, shapes), merge_batches=False)
    assert [[float(o.asnumpy()[0, 0]) for o in outs] for outs in found] == [[2.0], [4.0, 6.0]]
    with pytest.raises(AssertionError, match="num of outputs is not the same"):
        buckets.predict(Lists(both, shapes))
    merged = buckets.predict(Lists(both[1:] * 2, shapes))
    assert [o.shape for o in merged] == [(4, 3), (4, 3)]


def test_names_of_buckets_that_are_no_numbers(tmp_path: Any) -> None:
    def generate(key: str) -> tuple[mx.Symbol, list[str], list[str]]:
        return network(), ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(generate, "long")
    module.bind(*SHAPES)
    module.init_params(mx.init.Constant(0.25))
    module.switch_bucket("short", *SHAPES)
    module.init_params(mx.init.Constant(3))  # they are there already
    module.save_checkpoint(str(tmp_path / "n"), 3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["n-0003.params", "n-long-symbol.json", "n-short-symbol.json"]
    module.bind([("data", (2, 3))], [("softmax_label", (2,))], force_rebind=True)
    assert (module.get_params()[0]["fc_weight"].asnumpy() == 0.25).all()
    module.bind([("data", (9, 3))], [("softmax_label", (9,))])  # bound already
    assert module.data_shapes[0].shape == (2, 3)
    with pytest.warns(UserWarning, match="set_params call ignored"):
        module.set_params({"fc_bias": mx.nd.array([7, 8])}, {}, allow_missing=True, force_init=False)
    assert (module.get_params()[0]["fc_bias"].asnumpy() == 0).all()
    found = mx.mod.BucketingModule.load_dict(None, generate, "long", module.get_params()[0], None)
    found.bind(*SHAPES, for_training=False)
    one = batch()
    one.bucket_key, one.provide_data, one.provide_label = "long", *SHAPES
    found.forward(one)
    assert found.get_outputs()[0].shape == (4, 2)
    assert not mx.mod.BucketingModule.load_dict(None, generate, "long").params_initialized


def test_warnings_go_to_the_logger_of_the_module() -> None:
    lines: list[str] = []

    class Own(logging.Logger):
        def warning(self, msg: Any, *args: Any, **more: Any) -> None:
            lines.append(msg % args)

    kinds = {
        "module": lambda log: mx.mod.Module(network(), logger=log),
        "buckets": lambda log: mx.mod.BucketingModule(
            lambda key: (network(), ["data"], ["softmax_label"]), 1, logger=log
        ),
        "chain": lambda log: mx.mod.SequentialModule(logger=log).add(mx.mod.Module(network()), take_labels=True),
        "python": lambda log: mx.mod.PythonLossModule(logger=log),
    }
    for kind, make in kinds.items():
        module = make(Own("own"))
        module.bind(*SHAPES)
        module.bind(*SHAPES)
        assert lines == ["Already bound, ignoring bind()"], kind
        lines.clear()


def test_what_modules_cannot_do(tmp_path: Any) -> None:
    bound = mx.mod.Module(network())
    bound.bind(*SHAPES)
    bound.init_params()
    fresh = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    two = mx.mod.Module(mx.sym.var("a") + mx.sym.var("b"), ["a", "b"], None)
    two.bind([("a", (2, 3)), ("b", (2, 3))])
    two.init_params()
    chain = mx.mod.SequentialModule().add(mx.mod.Module(network()), take_labels=True)
    chain.bind(*SHAPES)
    chain.init_params()
    for name, key in (("no", "arg:"), ("kind", "other:x"), ("list", None)):
        held = {key: mx.nd.ones(1)} if key else [mx.nd.ones(1)]
        mx.nd.save(str(tmp_path / name), held)
    lone = mx.io.DataBatch([mx.nd.ones((2, 3))], [])
    unlike = [mx.io.DataBatch([mx.nd.ones((n, 3))], [mx.nd.zeros(n)]) for n in (2, 3)]
    abstract, without = mx.mod.BaseModule(), [mx.io.DataDesc("data", (4, 3), layout="C")]
    refusals([
        ("no axis", lambda: mx.mod.Module(network()).bind(without), AssertionError, "no input has a batch axis"),
        ("too few", lambda: two.forward(lone), (ValueError, AssertionError), "b|1 arrays"),
        ("unlike", lambda: bound.forward(unlike), AssertionError, "same shape"),
        ("names", lambda: mx.mod.Module(network()).bind([("x", (4, 3))], SHAPES[1]), ValueError, "data_shapes don't match names"),
        ("shared kind", lambda: fresh.bind(*SHAPES, shared_module=chain), AssertionError, "must be a Module"),
        ("shared fewer", lambda: fresh.bind(*SHAPES, shared_module=bound), AssertionError, "bound to 1 contexts, not 2"),
        ("no name", lambda: bound.load_params(str(tmp_path / "no")), ValueError, "'arg:' is neither"),
        ("no kind", lambda: bound.load_params(str(tmp_path / "kind")), ValueError, "'other:x' is neither"),
        ("no names", lambda: bound.load_params(str(tmp_path / "list")), ValueError, "have no names"),
        ("input grads", chain.get_input_grads, AssertionError, "inputs_need_grad=True"),
        ("states", lambda: chain.set_states([1]), AssertionError, "SequentialModule has no states"),
        ("value", lambda: chain.set_states(value=2), AssertionError, "has no states"),
        ("unbound", lambda: mx.mod.SequentialModule().get_states(), AssertionError, ""),
        ("load_dict", lambda: mx.mod.BucketingModule.load_dict(sym_gen=len), AssertionError, "default_bucket_key"),
        *((f"abstract {call}", lambda call=call: getattr(abstract, call)(), NotImplementedError, "") for call in (
            "get_params", "init_params", "get_outputs", "get_input_grads", "update", "init_optimizer",
        )),
        *((f"abstract {name}", lambda name=name: getattr(abstract, name), NotImplementedError, "") for name in (
            "data_names", "output_names", "data_shapes", "label_shapes", "output_shapes",
        )),
        *((f"abstract {call}", lambda call=call: getattr(abstract, call)(1), NotImplementedError, "") for call in (
            "forward", "install_monitor", "bind",
        )),
        ("abstract metric", lambda: abstract.update_metric(1, 2), NotImplementedError, ""),
        ("abstract backward", lambda: abstract.backward(), NotImplementedError, ""),
    ])  # fmt: skip
    assert chain.get_states() == [] and chain.set_states() is None
    with pytest.warns(UserWarning, match="label_shapes don't match names"):
        mx.mod.Module(network()).bind(SHAPES[0], [("y", (4,))])
    fresh.bind(*SHAPES)
    fresh.init_params()
    fresh.init_optimizer(None)
    with pytest.warns(UserWarning, match="not updated in the KVStore"):
        fresh.prepare(batch(), sparse_row_id_fn=lambda b: {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh.prepare(batch())
        fresh.init_optimizer("local", force_init=True)
        fresh.prepare(batch(), sparse_row_id_fn=lambda b: {})


def test_out_grads_as_one_array_and_batches_of_other_classes() -> None:
    """A batch of another class needs only data; one gradient needs no list."""
    x = mx.sym.var("data")
    module = mx.mod.Module(x * x, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (2, 3))], inputs_need_grad=True)
    module.init_params()
    values = np.arange(12, dtype=np.float32).reshape(4, 3) - 5
    heads = np.arange(12, dtype=np.float32).reshape(4, 3) % 5
    module.forward(SimpleNamespace(data=[mx.nd.array(values)], label=None), is_train=True)
    module.backward(mx.nd.array(heads))
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), values**2)
    np.testing.assert_array_equal(module.get_input_grads()[0].asnumpy(), 2 * values * heads)


@pytest.mark.filterwarnings("ignore:.*FeedForward has been deprecated")
def test_feed_forward_at_its_edges(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of labels, labels that the symbol does not have, no parameters yet, pairs and other lists, a logger, empty data."""
    data = np.random.RandomState(1).uniform(-1, 1, (8, 3)).astype(np.float32)
    labels = (data[:, 0] > 0).astype(np.float32)
    own = {"fc_weight": mx.nd.array([[1, 2, 3], [3, 1, -2]]), "fc_bias": mx.nd.array([0.5, -0.5])}

    def model(**more: Any) -> Any:
        given = {"num_epoch": 1, "numpy_batch_size": 4, "learning_rate": 0.5, "arg_params": dict(own), "aux_params": {}}
        return mx.model.FeedForward(network(), **{**given, **more})

    ends = []
    for given in (labels, labels[:, None], mx.nd.array(labels), mx.nd.array(labels[:, None])):
        np.random.seed(3)
        made = model()
        made.fit(data, given)
        ends.append(made.arg_params["fc_weight"].asnumpy().tolist())
    assert all(e == ends[0] for e in ends[1:]) and ends[0] != own["fc_weight"].asnumpy().tolist()
    scores = np.exp(data @ own["fc_weight"].asnumpy().T + own["fc_bias"].asnumpy())
    want = scores / scores.sum(1, keepdims=True)
    np.testing.assert_allclose(model().predict(data), want, rtol=1e-5)
    extra = mx.io.NDArrayIter(data, {"softmax_label": labels, "other": labels * 2}, 4)
    np.testing.assert_allclose(model().predict(extra), want, rtol=1e-5)
    for call in (model().fit, model().score):  # labels are told apart by their place
        with pytest.raises(
            ValueError, match=r"gives the labels \['other', 'softmax_label'\], of which the symbol takes"
        ):
            call(extra)
    fitted = model()
    fitted.fit(mx.io.NDArrayIter(data, {"softmax_label": labels, "zoo": labels * 2}, 4))
    alone = model()
    alone.fit(mx.io.NDArrayIter(data, labels, 4))
    np.testing.assert_array_equal(fitted.arg_params["fc_weight"].asnumpy(), alone.arg_params["fc_weight"].asnumpy())
    lines: list[str] = []

    class Own(logging.Logger):
        def info(self, msg: Any, *args: Any, **more: Any) -> None:
            lines.append(msg % args)

    for evaluated in ((data, labels), [data, labels], mx.io.NDArrayIter(data, labels, 4)):
        seen: list[Any] = []
        model().fit(
            data,
            labels,
            eval_data=evaluated,
            logger=Own("own"),
            eval_end_callback=lambda p, seen=seen: seen.append(p.nbatch),
        )
        assert len(seen) == 1
    assert lines[0].startswith("Start training with") and any("Time cost" in line for line in lines)
    fresh = mx.model.FeedForward(network(), num_epoch=1, numpy_batch_size=4)
    for call in (fresh.predict, fresh.score):
        with pytest.raises(mx.MXNetError, match="no parameters yet"):
            call(mx.io.NDArrayIter(data, labels, 4))
    mx.model.FeedForward(network(), num_epoch=3).save(str(tmp_path / "n"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["n-0003.params", "n-symbol.json"]
    seen = []
    for given in ((data, labels), [data.tolist(), labels.tolist()], (mx.io.NDArrayIter(data, labels, 4), None)):
        made = model()
        made.fit(data, labels, eval_data=given, eval_batch_end_callback=lambda p: seen.append(p.eval_metric.num_inst))
    assert seen == [4, 8] * 3
    for wrong in ((data,), [data, labels, labels], data, 3):
        made = model()
        with pytest.raises(TypeError, match="eval_data must be DataIter"):
            made.fit(data, labels, eval_data=wrong)
        assert made.arg_params["fc_weight"].asnumpy().tolist() == own["fc_weight"].asnumpy().tolist()
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    both = mx.sym.Group([mx.sym.SoftmaxOutput(x, mx.sym.var(f"{n}_label"), name=n) for n in ("one", "two")])
    pair = mx.io.NDArrayIter(data, {"one_label": labels, "two_label": 1 - labels}, 4)
    double = mx.model.FeedForward(both, num_epoch=1, numpy_batch_size=4, arg_params=dict(own), learning_rate=0.5)
    double.fit(pair, eval_metric="ce")
    weight, bias = (own[n].asnumpy() for n in ("fc_weight", "fc_bias"))
    for part in (data[:4], data[4:]):
        shown = np.exp(part @ weight.T + bias)
        push = (2 * shown / shown.sum(1, keepdims=True) - 1) / 4
        weight, bias = weight - 0.5 * push.T @ part, bias - 0.5 * push.sum(0)
    np.testing.assert_allclose(double.arg_params["fc_weight"].asnumpy(), weight, rtol=1e-5)
    np.testing.assert_allclose(double.arg_params["fc_bias"].asnumpy(), bias, rtol=1e-5)
    assert [p.shape for p in double.predict(pair)] == [(8, 2), (8, 2)]
    x = np.random.RandomState(0).rand(8, 3).astype(np.float32)
    loss = mx.sym.MakeLoss(mx.sym.square(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")))
    for nothing in (None, []):  # MXNet knows the latter alone
        alone = mx.io.NDArrayIter(x, None, 4)
        monkeypatch.setattr(type(alone), "provide_label", nothing)
        made = mx.model.FeedForward(loss, num_epoch=2, learning_rate=0.1, initializer=mx.init.One())
        made.fit(alone, eval_metric=mx.metric.Loss())
        np.testing.assert_allclose(made.arg_params["fc_weight"].asnumpy(), [[0.5803, 0.4564, 0.4632]] * 2, atol=1e-4)
        monkeypatch.undo()
    half = mx.sym.Cast(mx.sym.amp_cast(mx.sym.var("data"), dtype="float16"), dtype="float32", name="back")
    for keep in (True, False):
        net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(half, num_hidden=2, name="fc"), name="softmax")
        mx.model.FeedForward(net, num_epoch=1, arg_params=dict(own)).save(
            str(tmp_path / "amp"), 2, remove_amp_cast=not keep
        )
        assert ("amp_cast" in (tmp_path / "amp-symbol.json").read_text()) == keep
    again = mx.model.FeedForward.load(str(tmp_path / "amp"), 2, ctx=mx.cpu(1), numpy_batch_size=4)
    assert (again.ctx, again.begin_epoch) == ([mx.cpu(1)], 2)
    empty = Lists([])
    with pytest.raises(ValueError, match="gives no batches"):
        model().fit(empty)
    created = mx.model.FeedForward.create(
        network(), Lists([batch(), batch(seed=1)]), num_epoch=1, eval_data=Lists([batch()]), eval_metric="ce",
        logger=Own("own"), initializer=mx.init.One(), learning_rate=0.1,
    )  # fmt: skip
    assert created.num_epoch == 1 and sum(line.startswith("Start training") for line in lines) == 4


def test_executor_managers_over_buckets_and_slices() -> None:
    batches = mx.io.NDArrayIter(batch(8).data[0], batch(8).label[0], 4)
    devices = [mx.cpu(0), mx.cpu(1)]
    plain = mx.model.DataParallelExecutorManager(network(), devices, batches)
    own = {"fc_weight": mx.nd.array([[1, 2, 3], [3, 1, -2]]), "fc_bias": mx.nd.array([0.5, -0.5])}
    plain.set_params(own, {})
    monitor = mx.mon.Monitor(1, pattern="softmax_output")
    plain.install_monitor(monitor)
    monitor.tic()
    whole = next(batches)
    plain.load_data_batch(whole)
    plain.forward()
    assert [name for _, name, _ in monitor.toc()] == ["softmax_output"] * 2
    found = []
    for labels, sliced in ((whole.label, False), ([[whole.label[0][:2]], [whole.label[0][2:]]], True)):
        metric = mx.metric.CrossEntropy()
        plain.update_metric(metric, labels, sliced)
        found.append(metric.get()[1])
    assert found[0] == found[1]
    bucketed = mx.model.DataParallelExecutorManager(network(), devices, batches, sym_gen=lambda key: network())
    with pytest.raises(NotImplementedError, match="bucketing"):
        bucketed.install_monitor(monitor)
    bucketed.set_params(own, {})
    one = mx.io.DataBatch(
        [whole.data[0][:2]], [whole.label[0][:2]], bucket_key=7,
        provide_data=[("data", (2, 3))], provide_label=[("softmax_label", (2,))],
    )  # fmt: skip
    bucketed.load_data_batch(one)
    bucketed.forward()
    plainly = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    logger = logging.getLogger("of the manager")
    without = mx.model.DataParallelExecutorManager(
        plainly, devices, mx.io.NDArrayIter(whole.data[0], None, 4), logger=logger, sym_gen=lambda key: plainly
    )
    assert without.logger is logger and plain.logger is logging and without.param_names == ["fc_weight", "fc_bias"]
    without.set_params(own, {})
    for labels in (None, []):
        without.load_data_batch(mx.io.DataBatch([whole.data[0][:2]], None, bucket_key=str(labels),
                                                provide_data=[("data", (2, 3))], provide_label=labels))  # fmt: skip
        without.forward()
        outputs = without.curr_execgrp.get_outputs()[0].asnumpy()
        np.testing.assert_allclose(
            outputs, whole.data[0][:2].asnumpy() @ own["fc_weight"].asnumpy().T + own["fc_bias"].asnumpy(), rtol=1e-5
        )
    np.testing.assert_allclose(
        bucketed.curr_execgrp.get_outputs()[0].asnumpy(), plain.execgrp.get_outputs()[0].asnumpy()[:2], rtol=1e-6
    )


def test_what_executors_watch_and_reshape() -> None:
    """With monitor_all the inputs of every operator, constants too; losses need no head wherever they stand among the outputs."""
    x = mx.sym.var("x")
    seen: dict[str, Any] = {}
    made = (mx.sym.exp(x, name="e") + mx.sym.ones((2, 2), name="one")).bind(
        mx.cpu(), {"x": mx.nd.array([[1, 2], [3, 4]])}
    )
    made.set_monitor_callback(lambda name, array: seen.setdefault(name, array.asnumpy().tolist()), monitor_all=True)
    made.forward()
    assert seen["x"] == [[1, 2], [3, 4]] == seen["e_input0"]
    assert seen["one_output"] == [[1, 1], [1, 1]]
    assert any(v == seen["e_output"] for k, v in seen.items() if k.endswith("_lhs"))
    pair = mx.sym.Group([x * 2, mx.sym.make_loss(x * x)])
    for order in (0, 1):
        symbol = mx.sym.Group([pair[order], pair[1 - order]])
        made = symbol.bind(mx.cpu(), {"x": mx.nd.array([3.0])}, {"x": mx.nd.zeros(1)})
        made.forward(is_train=True)
        with pytest.raises(mx.MXNetError, match="head_gradient is required"):
            made.backward()
        made.backward([mx.nd.array([5.0]), None] if order == 0 else [None, mx.nd.array([5.0])])
        assert made.grad_dict["x"].asnumpy().tolist() == [2 * 5 + 2 * 3]
    same = mx.sym.Group([x]).bind(mx.cpu(), {"x": mx.nd.array([3.0])}, {"x": mx.nd.zeros(1)})
    same.forward(is_train=True)
    with pytest.raises(mx.MXNetError, match="head_gradient is required"):
        same.backward()
    same.backward(mx.nd.array([4.0]))
    assert same.grad_dict["x"].asnumpy().tolist() == [4]
    bound = (x + mx.sym.var("y")).simple_bind(mx.cpu(), x=(2, 3), y=(2, 3))
    moved = bound.reshape(x=(3, 2), y=(3, 2))  # as many numbers
    assert [a.shape for a in moved.arg_arrays] == [(3, 2)] * 2
    with pytest.raises(mx.MXNetError, match="grow"):
        bound.reshape(x=(7, 1), y=(7, 1))
    constant = mx.sym.Group([mx.sym.ones((2,)) * 3]).bind(mx.cpu(), {})
    constant.forward(is_train=True)
    constant.backward([mx.nd.ones(2)])


def test_chains_and_modules_with_empty_names() -> None:
    """None stands for no names; a chain keeps what a description says, and labels when its first layer takes them."""
    bare = mx.mod.Module(mx.sym.ones((2, 3)) * mx.sym.var("w", shape=(2, 3)), None, None)
    with pytest.raises((AssertionError, ValueError)):
        bare.bind([])
    chain = mx.mod.SequentialModule().add(mx.mod.Module(network()), take_labels=True)
    chain.add(mx.mod.Module(mx.sym.var("p") * 2, ["p"], None), auto_wiring=True)
    chain.bind(*SHAPES, for_training=False)
    chain.init_params(mx.init.One())
    chain.forward(batch())
    assert chain.label_shapes == SHAPES[1]
    np.testing.assert_allclose(chain.get_outputs()[0].asnumpy(), np.full((4, 2), 1.0))
    half = mx.mod.SequentialModule().add(mx.mod.Module(mx.sym.exp(mx.sym.var("q")), ["q"], None), auto_wiring=True)
    half.bind([mx.io.DataDesc("given", (3, 2), np.float16, "TN")], for_training=False)
    (wired,) = half._modules[0].data_shapes
    assert (wired.name, wired.shape, wired.dtype, wired.layout) == ("q", (3, 2), np.float16, "TN")
    fitted = mx.mod.Module(network())
    fitted.fit(
        Lists([batch(), batch(seed=1)]),
        num_epoch=1,
        eval_metric=mx.metric.Accuracy(),
        optimizer_params={"learning_rate": 0.1},
    )
    assert fitted.for_training
    with pytest.raises(mx.MXNetError, match="wanted Contexts"):
        mx.mod.Module(network(), group2ctxs=[{"a": mx.cpu(1), "b": [mx.cpu(0), "cpu"]}])
    mx.mod.Module(network(), group2ctxs=[None])
    with pytest.raises(mx.MXNetError, match="wanted Contexts"):
        mx.mod.Module(network(), group2ctxs=[None, {"a": 3}], context=[mx.cpu(0), mx.cpu(1)])


def test_parts_that_do_not_fit_where_they_are_computed_with() -> None:
    """Lists of batches against shares of work, too few labels, inputs without a batch axis in lists, labels in some parts only."""
    uneven = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1, 3])
    uneven.bind(*SHAPES)
    uneven.init_params()
    whole = batch()
    parts = [mx.io.DataBatch([whole.data[0][i : i + 2]], [whole.label[0][i : i + 2]]) for i in (0, 2)]
    with pytest.raises(ValueError, match=r"data: got shape \(2, 3\), wanted \(1, 3\) as bound"):
        uneven.forward(parts)
    x, y, z = (mx.sym.var(n) for n in "xyz")
    both = mx.sym.Group(
        [mx.sym.LinearRegressionOutput(x, y, name="a"), mx.sym.LinearRegressionOutput(x * 2, z, name="b")]
    )
    two = mx.mod.Module(both, ["x"], ["y", "z"])
    two.bind([("x", (2, 3))], [("y", (2, 3)), ("z", (2, 3))], grad_req={"x": "write", "nowhere": "add"})
    two.init_params()
    data = [mx.nd.array(np.arange(6).reshape(2, 3) + 10 * i) for i in range(3)]
    with pytest.raises(ValueError, match=r"got 1 arrays, wanted 2 \(y, z\)"):
        two.forward(mx.io.DataBatch(data[:1], data[1:2]))
    two.forward(
        mx.io.DataBatch(data[:1], data[1:2]), is_train=False
    )  # a loss that has none gives its outputs all the same
    assert [y.asnumpy().max() for y in two.get_outputs()] == [5, 10]
    with pytest.raises(ValueError, match="Data provided by data_shapes don't match names specified by data_names"):
        two.forward(mx.io.DataBatch([], data[1:]), is_train=False)
    two.forward(mx.io.DataBatch(data[:1], data[1:]), is_train=True)
    metric = mx.metric.MAE()
    two.update_metric(metric, data[1:])
    assert metric.get()[1] == (10 + (20 - np.arange(6)).mean()) / 2
    silent = mx.metric.Loss()
    two.update_metric(silent, None)
    assert silent.get()[1] == np.arange(6).mean() * 1.5
    scaled = mx.mod.Module(mx.sym.broadcast_mul(x, y), ["x", "y"], None, context=[mx.cpu(0), mx.cpu(1)])
    desc = [("x", (2, 3)), mx.io.DataDesc("y", (1, 3), layout="C")]
    scaled.bind(desc, for_training=False)
    scaled.init_params()
    rows = [mx.nd.array(np.arange(6).reshape(2, 3) + 10 * i) for i in range(2)]
    by = mx.nd.array([[1, 2, 3]])
    scaled.forward([mx.io.DataBatch([r, by], []) for r in rows])
    want = np.concatenate([r.asnumpy() for r in rows]) * [1, 2, 3]
    np.testing.assert_array_equal(scaled.get_outputs()[0].asnumpy(), want)
    assert [tuple(d.shape) for d in scaled.data_shapes] == [(4, 3), (1, 3)]
    even = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    even.bind(*SHAPES)
    even.init_params(mx.init.One())
    even.forward(parts, is_train=True)
    held = [a.asnumpy().tolist() for _, a in even._exec_group.label_arrays[0]]
    even.forward(
        [mx.io.DataBatch(parts[0].data, [9 + parts[0].label[0]]), mx.io.DataBatch(parts[1].data, [])], is_train=True
    )
    assert [
        a.asnumpy().tolist() for _, a in even._exec_group.label_arrays[0]
    ] == held  # labels of a part alone are not taken


def test_a_monitor_shows_numbers_as_they_print(caplog: pytest.LogCaptureFixture) -> None:
    """Of a float32 the digits of a float32, behind names that begin at one column."""
    monitor = mx.mon.Monitor(1, stat_func=lambda array: array.max())
    monitor.tic()
    monitor.stat_helper("act_output", mx.nd.array([0.1, -2]))
    monitor.stat_helper("fc", mx.nd.array([3]))
    with caplog.at_level("INFO"):
        monitor.toc_print()
    assert [r.getMessage() for r in caplog.records] == [
        f"Batch:       1 {'act_output':30s} 0.1\t",
        f"Batch:       1 {'fc':30s} 3.0\t",
    ]


class Lengths(mx.io.DataIter):
    """Batches of two lengths, each step an input of its own, as MXNet's first recurrent examples have them."""

    default_bucket_key = 3
    batch_size = 4

    def __init__(self) -> None:
        super().__init__(4)
        self.left: list[int] = []
        self.provide_data, self.provide_label = self.described(3)

    def described(self, length: int) -> tuple[list, list]:
        return [(f"t{i}", (4, 2)) for i in range(length)], [("softmax_label", (4,))]

    def reset(self) -> None:
        self.left = [3, 2, 3, 2]

    def next(self) -> mx.io.DataBatch:
        if not self.left:
            raise StopIteration
        length = self.left.pop()
        x = np.random.RandomState(length).uniform(-1, 1, (length, 4, 2))
        data, label = self.described(length)
        y = mx.nd.array(x.sum((0, 2)) > 0)
        return mx.io.DataBatch([*map(mx.nd.array, x)], [y], 0, None, length, data, label)


@pytest.mark.filterwarnings("ignore:.*FeedForward has been deprecated")
def test_feed_forward_takes_a_symbol_for_each_bucket() -> None:
    def network(length: int) -> mx.Symbol:
        weight, bias = mx.sym.var("top_weight"), mx.sym.var("top_bias")
        steps = [mx.sym.FullyConnected(mx.sym.var(f"t{i}"), weight, bias, num_hidden=2) for i in range(length)]
        return mx.sym.SoftmaxOutput(mx.sym.add_n(*steps), name="softmax")

    model = mx.model.FeedForward(network, num_epoch=30, learning_rate=0.5, initializer=mx.init.Normal(0.1))
    assert model.symbol is None and model.sym_gen is network
    model.fit(Lengths(), eval_data=Lengths(), eval_metric=(found := mx.metric.create("acc")))
    assert found.get()[1] == 1
    assert model.symbol.list_arguments() == network(3).list_arguments()
    assert {n: a.shape for n, a in model.arg_params.items()} == {"top_weight": (2, 2), "top_bias": (2,)}
