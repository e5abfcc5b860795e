"""Seldom uses of blocks, parameters and data that MXNet does otherwise or not at all."""

import random
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon, image, nd
from hybrid.gluon import nn
from hybrid.gluon.parameter import ParameterError

X = np.linspace(-1, 2, 6).reshape(2, 3).astype(np.float32)


def test_hooks_may_take_themselves_and_others_away() -> None:
    """All that were there when the call began are called, in both kinds; MXNet fails."""
    for hybrid in (False, True):
        net = nn.HybridSequential()
        net.add(nn.Dense(2, in_units=3))
        net.initialize()
        if hybrid:
            net.hybridize()
        for register in ("register_forward_hook", "register_forward_pre_hook"):
            told: list[str] = []
            handles: dict[str, Any] = {}

            def hook(name: str, gone: tuple[str, ...], told: Any = told, handles: Any = handles) -> Any:
                def called(*_: Any) -> None:
                    told.append(name)
                    for other in gone:
                        handles[other].detach()

                return called

            for name, gone in (("a", ()), ("b", ("b",)), ("c", ("d",)), ("d", ()), ("e", ())):
                handles[name] = getattr(net, register)(hook(name, gone))
            for _ in range(3):
                net(nd.array(X))
                told.append("|")
            assert "".join(told) == "abcde|ace|ace|", (hybrid, register)
            for name in "ace":
                handles[name].detach()
            net(nd.array(X))
            assert told[-1] == "|"


def test_a_block_far_below_that_is_replaced_is_seen() -> None:
    """Wherever it is: the first child, a later one, or one of a later one."""

    def scale(factor: float) -> Any:
        return nn.HybridLambda(lambda F, x: x * factor)  # noqa: N803

    for place in range(3):
        inner, net = nn.HybridSequential(), nn.HybridSequential()
        inner.add(scale(2), scale(3))
        net.add(scale(5), inner, scale(7))
        net.hybridize()
        for _ in range(2):
            np.testing.assert_allclose(net(nd.array(X)).asnumpy(), X * 210, rtol=1e-6)
        holder, key, was = ((net, "0", 5), (inner, "1", 3), (net, "2", 7))[place]
        holder.register_child(scale(11), key)
        for _ in range(2):
            np.testing.assert_allclose(net(nd.array(X)).asnumpy(), X * (210 / was * 11), rtol=1e-6)


def test_options_of_hybridize_reach_every_block_below() -> None:
    leaf, middle, net = nn.Dense(2, in_units=3), nn.HybridSequential(), nn.HybridSequential()
    middle.add(leaf)
    net.add(middle)
    plain = {"static_alloc": False, "static_shape": False, "inline_limit": 2}
    for given, want in (
        ({}, plain),
        ({"precise": True, "static_alloc": True}, {**plain, "static_alloc": True, "precise": True}),
        ({"static_shape": True, "inline_limit": 5}, {**plain, "static_shape": True, "inline_limit": 5}),
        ({"forward_bulk_size": 0}, {**plain, "forward_bulk_size": 0}),
        ({"backward_bulk_size": 9}, {**plain, "backward_bulk_size": 9}),
    ):  # fmt: skip
        net.hybridize(**given)
        assert [dict(block._flags) for block in (net, middle, leaf)] == [want] * 3 and leaf._active
    net.hybridize(False)
    assert not (net._active or middle._active or leaf._active)


def test_nothing_is_loaded_when_something_does_not_fit() -> None:
    """MXNet loads what comes before."""
    held = {
        n: gluon.Parameter(n, shape=(2, 3), dtype=k) for n, k in (("a", "float32"), ("b", "float16"), ("c", "float32"))
    }
    parameters = gluon.ParameterDict()
    parameters.update(held)
    parameters.initialize(mx.init.Constant(2))
    good = {n: nd.array(X, dtype=p.dtype) for n, p in held.items()}
    for wrong, said in (
        ({"b": nd.array(X)}, "b: dtype incompatible expected float16 vs saved"),
        ({"b": nd.array(X.T, dtype="float16")}, r"b \(3, 2\) \(wanted \(2, 3\)\)"),
        ({"d": nd.array(X)}, "but not in the network: d"),
    ):
        with pytest.raises(ParameterError, match=said):
            parameters.load_dict({**good, **wrong})
        assert all((p.data().asnumpy() == 2).all() for p in held.values()), wrong
    with pytest.raises(ParameterError, match="missing in param_dict: b, c"):
        parameters.load_dict({"a": good["a"]})
    prefixed = gluon.ParameterDict("n_")
    prefixed.get("w", shape=(2, 3))
    with pytest.raises(ParameterError, match="missing in param_dict: w; "):
        prefixed.load_dict({}, restore_prefix="n_")
    parameters.load_dict(good)
    assert all((p.data().asnumpy() == X.astype(p.dtype)).all() for p in held.values())


def test_the_names_of_another_network_are_counted() -> None:
    """A network has hundreds of them; a block within a block of another prefix is missing by its whole name."""
    net = gluon.nn.HybridSequential(prefix="outer_")
    for i in range(9):
        net.add(gluon.nn.Dense(2, in_units=2, use_bias=False, prefix=f"inner{i}_"))
    net.initialize()
    given = {f"arg:other{i}": nd.array(X) for i in range(7)}
    for prefix in ("", "outer_"):
        with pytest.raises(ParameterError) as caught:
            net.collect_params().load_dict(given, restore_prefix=prefix)
        said = str(caught.value)
        assert "inner0_weight, inner1_weight, inner2_weight, inner3_weight, inner4_weight and 4 more" in said
        assert f"{prefix}other4 and 2 more" in said
        assert "inner5" not in said and len(said) < 400


def test_a_parameter_without_a_gradient_leaves_nothing_on_the_tape() -> None:
    held = gluon.Parameter("w", shape=(2, 3))
    held.initialize(mx.init.Constant(3))
    before = held.data()
    held.grad_req = "null"
    with autograd.record():
        out = held.data() * 2
    assert out._origin is None and held.data() is not before
    held.grad_req = "add"
    for times in (1, 2):
        with autograd.record():
            (held.data() * 2).sum().backward()
        np.testing.assert_array_equal(held.grad().asnumpy(), np.full((2, 3), 2.0 * times))


def test_what_loaders_make_of_bools_tuples_and_dicts() -> None:
    batchify = gluon.data.dataloader.default_batchify_fn
    for data, kind in (
        ([True, False, True], np.bool_),
        ([np.bool_(True), np.bool_(False)], np.bool_),
        ([3, 4], np.int64),
    ):
        made = batchify(data)
        assert np.dtype(made.dtype) == kind and made.asnumpy().tolist() == data
    with pytest.raises(TypeError, match="cannot make a batch of str such as 'a'"):
        batchify(["a", "b"])
    rows = gluon.data.ArrayDataset(X, X[:, 0])
    for workers in (0, 1):
        for made in (tuple, list):

            def batch(samples: Any, made: Any = made) -> Any:
                return made([nd.array([s[0] for s in samples]), (nd.array([s[1] for s in samples]), 7)])

            loader = gluon.data.DataLoader(
                rows, 2, batchify_fn=batch, num_workers=workers, thread_pool=True, pin_memory=True
            )
            ((first, (second, number)),) = list(loader)
            assert (first.context, second.context) == (mx.cpu_pinned(), mx.cpu_pinned()) and number == 7
            np.testing.assert_array_equal(first.asnumpy(), X)


def test_detection_augmenters_leave_the_labels_they_are_given_as_they_are() -> None:
    """MXNet's write into them."""
    made = [
        *image.CreateDetAugmenter((3, 8, 9), rand_crop=1, rand_pad=1, rand_mirror=True, min_object_covered=[0.01, 0.2]),
        image.DetHorizontalFlipAug(1), image.DetRandomPadAug(area_range=(2, 3)),
        image.DetRandomCropAug(0.01, area_range=(0.3, 0.9)),
    ]  # fmt: skip
    random.seed(4)
    label = np.array([[1, 0.1, 0.2, 0.6, 0.9], [0, 0.3, 0.1, 0.8, 0.5]], np.float32)
    for augmenter in made:
        for _ in range(3):
            given = label.copy()
            augmenter(nd.array(np.arange(20 * 30 * 3).reshape(20, 30, 3) % 251, dtype="uint8"), given)
            np.testing.assert_array_equal(given, label, err_msg=type(augmenter).__name__)


def test_an_area_in_which_no_pixel_lies_gives_the_middle() -> None:
    """MXNet fails at a part of no width."""
    picture = nd.array(np.arange(12 * 10 * 3).reshape(12, 10, 3) % 251, dtype="uint8")
    middle, box = image.center_crop(picture, (6, 5), 1)
    for area in ((0, 1e-6), (0.0, 0.0)):
        found, where = image.random_size_crop(picture, (6, 5), area, (1, 1), 1)
        assert where == box and (found.asnumpy() == middle.asnumpy()).all()


def test_gradients_that_are_added_up_are_trained(capsys: pytest.CaptureFixture[str]) -> None:
    """Only "null" is not to be trained, for a summary and in a graph's attributes."""
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    for requested, trained in (("add", 8), ("write", 8), ("null", 0)):
        net.collect_params().setattr("grad_req", requested)
        net.summary(nd.ones((1, 3)))
        assert f"   Trainable params: {trained}\n" in capsys.readouterr().out
        x, w = mx.sym.var("x"), mx.sym.var("w")
        w._set_attr(__grad_req__=requested)
        block = gluon.SymbolBlock(x * w, [x])
        assert block.params["w"].grad_req == ("null" if requested == "null" else "write")


def test_what_is_kept_beside_the_children(recwarn: pytest.WarningsRecorder) -> None:
    """Blocks in lists are warned of, unless the name begins with two underscores; options and hooks of hybridize."""
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=3))
    net.__kept = [nn.Dense(1)]
    net.collect_params()
    assert not recwarn
    net.layers = [nn.Dense(1)]
    net.collect_params()
    assert "layers" in str(recwarn.pop().message)
    del net.layers
    net.initialize()
    net.hybridize(some=3)
    assert net._backend_opts == {"some": 3} and not recwarn
    handle = net.register_forward_pre_hook(lambda *_: None)
    net.hybridize()
    assert "hook" in str(recwarn.pop().message)
    net.hybridize(False)
    handle.detach()
    net.hybridize()
    assert not recwarn


def test_options_of_optimize_for_are_those_of_hybridize(recwarn: pytest.WarningsRecorder) -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize()
    x = nd.array(X)
    want = net(x).asnumpy()
    plain = {"static_alloc": False, "static_shape": False, "inline_limit": 2}
    for given in (
        {}, {"static_alloc": True}, {"static_shape": True}, {"inline_limit": 7}, {"forward_bulk_size": 3},
        {"backward_bulk_size": 4},
    ):  # fmt: skip
        net.optimize_for(x, backend="any", **given)
        assert dict(net._flags) == {**plain, **given} and net._active
        np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-6)
    net.hybridize(False)
    net.optimize_for(mx.sym.var("x"), backend="any")
    assert net._active and net._cached_op is not None
    container = nn.Sequential()
    container.add(net)
    container.hybridize(False)
    assert not net._active


def test_a_block_is_quick_for_eight_shapes_at_most() -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    weight, bias = net.weight.data().asnumpy(), net.bias.data().asnumpy()
    for turn in range(2):
        for rows in range(1, 12):
            x = np.random.RandomState(rows).rand(rows, 3).astype(np.float32)
            for _ in range(3):
                np.testing.assert_allclose(net(nd.array(x)).asnumpy(), x @ weight.T + bias, rtol=1e-5)
            assert (rows, 3) in net._express and len(net._express) <= 8, (turn, rows)
            if rows == 8 and not turn:
                assert len(net._express) == 8


def test_nested_lists_are_put_together_as_they_were_taken_apart() -> None:
    regroup: Any = gluon.block._regroup
    assert regroup([1, None, 2, 3], [0, [-1, 2]]) == [1, [None, [2, 3]]]
    with pytest.raises(ValueError, match="traced with None"):
        regroup([1, 2], [0, -1])


def test_sequences_of_nothing_and_of_one_step() -> None:
    with pytest.raises(ValueError, match="NDArrays or Symbols"):
        gluon.rnn.RNNCell(2).unroll(0, [])
    cell = gluon.rnn.RNNCell(2, input_size=3)
    cell.initialize()
    x = nd.array(X.reshape(2, 1, 3))
    outs, _ = cell.unroll(1, x, merge_outputs=False)
    want, _ = cell(x[:, 0], cell.begin_state(2))
    np.testing.assert_array_equal(outs[0].asnumpy(), want.asnumpy())
    symbols, _ = cell.unroll(1, mx.sym.var("x"), merge_outputs=False)
    assert len(outs) == len(symbols) == 1
    given = {n: p.data() for n, p in cell.collect_params().items()}
    start = {n: nd.zeros((2, 2)) for n in symbols[0].list_arguments() if n != "x" and n not in given}
    np.testing.assert_allclose(symbols[0].eval(x=x, **given, **start)[0].asnumpy(), want.asnumpy(), rtol=1e-6)


def test_states_that_are_no_numbers_are_clipped_where_it_is_asked_for() -> None:
    """Of zero weights the state is half of what it was."""
    for keep, want in ((False, [0.0, 0.1, np.nan, -0.05]), (True, [0.0, 0.1, -0.05, -0.05])):
        lstm = gluon.rnn.LSTM(4, input_size=3, state_clip_min=-0.05, state_clip_max=0.1, state_clip_nan=keep)
        lstm.initialize(mx.init.Zero())
        held = nd.array([[[0.0, 0.9, np.nan, -0.4]]])
        out, (_, state) = lstm(nd.zeros((1, 1, 3)), [nd.zeros((1, 1, 4)), held])
        np.testing.assert_allclose(state.asnumpy()[0, 0], want, rtol=1e-6)
        np.testing.assert_allclose(out.asnumpy()[0, 0], np.tanh(want) / 2, rtol=1e-6)


def test_similarity_along_another_axis() -> None:
    loss: Any = gluon.loss.CosineEmbeddingLoss()
    other = X[::-1] ** 2
    want = (X * other).sum(0) / np.sqrt((X**2).sum(0) * (other**2).sum(0))
    got = loss._cosine_similarity(nd, nd.array(X), nd.array(other), axis=0).asnumpy()
    np.testing.assert_allclose(got, want.reshape(3, 1), rtol=1e-5)


def test_states_dropped_through_a_stack_of_cells() -> None:
    single = gluon.rnn.SequentialRNNCell()
    single.add(gluon.rnn.RNNCell(2))
    with pytest.raises(ValueError, match="must also be HybridBlock"):
        gluon.contrib.rnn.VariationalDropoutCell(single, drop_states=0.5)
    stack = gluon.rnn.HybridSequentialRNNCell()
    stack.add(gluon.rnn.RNNCell(2, input_size=3))
    stack.add(gluon.rnn.RNNCell(2, input_size=2))
    stack.initialize()
    x = nd.array(np.linspace(-1, 1, 12).reshape(2, 2, 3))
    want, _ = stack.unroll(2, x, merge_outputs=True)
    dropped = gluon.contrib.rnn.VariationalDropoutCell(stack, drop_states=0.5)
    got, _ = dropped.unroll(2, x, merge_outputs=True)
    np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-6)


def test_names_that_a_module_has_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gluon.contrib.nothing
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mx.contrib.nothing
    with pytest.raises(AssertionError, match="not found in symbol/ndarray"):
        nn.HybridLambda("save")
    for given in ({"adj": 1}, {"layout": "NHWC"}):
        for kind in ("DeformableConvolution", "ModulatedDeformableConvolution"):
            with pytest.raises(mx.MXNetError, match=f"{kind}: got layout=.*only NCHW"):
                getattr(gluon.contrib.cnn, kind)(2, **given)
            with pytest.raises(mx.MXNetError, match="Other: got layout="):
                getattr(gluon.contrib.cnn, kind)(2, op_name="Other", **given)
    with pytest.raises(NotImplementedError, match="state_info"):
        gluon.rnn.RecurrentCell().state_info(batch_size=3)
    mode = mx.autograd.is_training()
    mx.contrib.autograd.TrainingStateScope(not mode).__exit__(None, None, None)  # never entered
    assert mx.autograd.is_training() is mode
    with pytest.raises(mx.MXNetError):
        gluon.utils.download("http://x/nothing")


def test_what_an_import_lacks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is there, but needs one that is not, is no missing attribute."""

    def fail(path: str) -> Any:
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")

    monkeypatch.setattr(mx.contrib.importlib, "import_module", fail)
    with pytest.raises(ModuleNotFoundError, match="onnx"):
        mx.contrib.__getattr__("onnx")


def test_an_input_that_is_read_as_weights_may_change_from_call_to_call() -> None:
    """Programs keep what follows from weights, and nothing of an input."""

    class Product(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:  # noqa: N803
            return F.FullyConnected(x, w, no_bias=True, num_hidden=3)

    net = Product()
    net.hybridize()
    x = nd.ones((2, 4))
    for factor in range(5):
        np.testing.assert_array_equal(net(x, factor * nd.ones((3, 4))).asnumpy(), np.full((2, 3), 4 * factor))
