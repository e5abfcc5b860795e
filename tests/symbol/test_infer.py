"""Symbol.infer_shape and infer_type: what they return and say. What is wanted was asked of MXNet 1.9.1."""

import copy

import numpy as np
import pytest

import hybrid as mx
from hybrid import sym


def network() -> mx.Symbol:
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc1")
    return sym.BatchNorm(net, name="bn")


def test_shapes() -> None:
    wanted = [(2, 4), (3, 4), (3,), (3,), (3,)], [(2, 3)], [(3,), (3,)]
    assert network().infer_shape(data=(2, 4)) == wanted
    assert network().infer_shape((2, 4)) == wanted
    assert network().infer_shape((2, 4), None, (3,)) == wanted


def test_unknown_shapes_warn() -> None:
    wanted = r"Cannot decide shape .* \(0s in shape means unknown dimensions\).*:\n\tdata: \(\)\n\tfc1_weight: \(\)"
    with pytest.warns(UserWarning, match=wanted):
        assert network().infer_shape() == (None, None, None)
    with pytest.warns(UserWarning, match=r"\tdata: \(0, 4\)$"):
        assert network().infer_shape(data=(0, 4)) == (None, None, None)


def test_partial_shapes() -> None:
    net = network()
    assert (
        net.infer_shape_partial() == ([(), (3, 0), (3,), (3,), (3,)], [()], [(3,), (3,)])
        or net.infer_shape_partial()[0][0] == ()
    )
    assert net.infer_shape_partial(data=(0, 4)) == ([(0, 4), (3, 4), (3,), (3,), (3,)], [(0, 3)], [(3,), (3,)])


def test_declared_shapes_and_types_give_way_to_given_ones() -> None:
    net = sym.var("x", shape=(2, 3), dtype="float16") + 1
    assert net.infer_shape() == ([(2, 3)], [(2, 3)], [])
    assert net.infer_shape(x=(4, 5)) == ([(4, 5)], [(4, 5)], [])
    assert net.infer_type() == ([np.float16], [np.float16], [])
    assert net.infer_type(x="float32") == ([np.float32], [np.float32], [])


def test_types() -> None:
    assert network().infer_type(data="float64")[0] == [np.float64] * 5
    half = network().infer_type(data=np.float16)
    assert half == (
        [np.float16, np.float16, np.float16, np.float32, np.float32],
        [np.float16],
        [np.float32, np.float32],
    )
    assert sym.Cast(sym.var("x"), dtype="int32").infer_type(x="float32") == ([np.float32], [np.int32], [])
    with pytest.warns(UserWarning, match="Cannot decide type .*:\n\tdata: None"):
        assert network().infer_type() == (None, None, None)
    assert network().infer_type_partial()[1] == [None]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda n: n.infer_shape(foo=(1, 2)), mx.MXNetError, "foo not found.*data, fc1_weight.*bn_moving_mean"),
        (lambda n: n.infer_shape((2, 4), data=(2, 4)), ValueError, "either by positional or kwargs"),
        (lambda n: n.infer_shape(data=3), TypeError, r"shapes \(tuple\), but 'data' is <class 'int'>"),
        (lambda n: n.infer_shape(data=[2, 4]), TypeError, "'data' is <class 'list'>"),
        (
            lambda n: n.infer_shape(data=(2, 4), fc1_weight=(3, 5)),
            mx.MXNetError,
            r"fc1.*\(3, 5\).*\(3, 4\)|fc1.*\(3, 4\).*\(3, 5\)",
        ),
        (lambda n: n.infer_shape(*[(1,)] * 9), mx.MXNetError, "got 9 shapes for 5 arguments"),
        (lambda n: n.infer_type(data="foo"), TypeError, "foo"),
        (lambda n: n.infer_type(foo="float32"), mx.MXNetError, "foo not found"),
        (lambda n: n.infer_type(data="float16", fc1_weight="float32"), mx.MXNetError, "fc1.*float16.*float32"),
    ],
)
def test_errors(call, error, match) -> None:
    with pytest.raises(error, match=match):
        call(network())


def test_outputs_alone_do_not_make_shapes_known() -> None:
    """The size of an output says nothing of what it is made of; in a group every argument has to be known."""
    x, y = sym.var("x"), sym.var("y")
    for net in (
        sym.reshape_like(x, y) + y,
        sym.Group([sym.one_hot(x, depth=3) * y, sym.relu(y)]),
        sym.BatchNorm(sym.broadcast_to(x, shape=(2, 3)) * y, name="bn"),
    ):
        assert net.infer_shape_partial(y=(2, 3))[1] == [(2, 3)] * len(net.list_outputs())
        with pytest.warns(UserWarning, match=r"\tx: \(\)"):
            assert net.infer_shape(y=(2, 3)) == (None, None, None)


def test_copies_have_attributes_of_their_own() -> None:
    """Attributes set on a copy, on what was composed of it, or in the dict that was handed in, are set there alone."""
    given = {"__mine__": "1"}
    x = sym.var("x", attr=given)
    net = sym.relu(x, name="r", attr=given)
    given["__mine__"] = "2"
    given["__other__"] = "3"
    assert (x.list_attr(), net.list_attr()) == ({"__mine__": "1"}, {"__mine__": "1"})
    x.list_attr()["__mine__"] = net.attr_dict()["r"]["__mine__"] = "4"
    assert (x.attr("__mine__"), net.attr("__mine__")) == ("1", "1")
    for twin in (copy.copy(net), copy.deepcopy(net), net(x=sym.var("z")), mx.sym.load_json(net.tojson())):
        twin._set_attr(mine="5", __lr_mult__="6")
        assert (twin.attr("mine"), twin.attr("__lr_mult__")) == ("5", "6")
        assert (net.list_attr(), x.list_attr()) == ({"__mine__": "1"}, {"__mine__": "1"})
    net._set_attr(mine="7")
    assert net.get_internals()["r_output"].attr("mine") == "7"  # which is the node itself


def test_what_is_given_in_order_belongs_to_arguments_alone() -> None:
    """States stand between the arguments among the inputs: shapes and dtypes in order pass over them."""
    x = mx.sym.BatchNorm(mx.sym.var("d"), name="bn")
    y = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
    assert y.list_inputs().index("fc_weight") != y.list_arguments().index("fc_weight")
    shapes = [(3, 6), (6,), (6,), (2, 6), (2,)]
    assert y.infer_shape(*shapes) == (shapes, [(3, 2)], [(6,), (6,)])
    assert y.infer_shape_partial(None, None, None, (2, 6))[0][3:] == [(2, 6), (2,)]
    wide = [np.float64] * 5
    assert y.infer_type(*wide) == (wide, [np.float64], [np.float64] * 2)
    assert y.infer_type_partial(None, None, None, np.float16)[0][3] is np.float16


@pytest.mark.parametrize("mode", ["rnn_tanh", "lstm", "gru"])
def test_layers_whose_batch_is_not_known_have_their_parameters(mode: str) -> None:
    """As in MXNet 1.9.1: the features say how many there are."""
    more = [mx.sym.var("c")] if mode == "lstm" else []
    net = mx.sym.RNN(*map(mx.sym.var, "dps"), *more, mode=mode, state_size=4, num_layers=1)
    count = {"rnn_tanh": 36, "gru": 108, "lstm": 144}[mode]
    for d in ((5, 0, 3), (0, 0, 3), (0, 2, 3)):
        arguments, (out,), _ = net.infer_shape_partial(d=d)
        assert arguments == [d, (count,), *[(1, d[1], 4)] * (1 + len(more))] and out == (*d[:2], 4)
