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


def test_a_parameter_without_a_gradient_leaves_nothing_on_the_tape() -> None:
    held = gluon.Parameter("w", shape=(2, 3))
    held.initialize(mx.init.Constant(3))
    before = held.data()
    held.grad_req = "null"
    with autograd.record():
        out = held.data() * 2
    assert out._node is None and held.data() is not before
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
