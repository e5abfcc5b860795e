"""Layers of gluon.nn and gluon.contrib.nn, against MXNet's recorded answers."""

import warnings

import pytest

import hybrid as mx
from hybrid import gluon, nd
from hybrid.gluon import nn
from tests.gluon import recorded
from tests.gluon.recorded import Case

CASES = recorded.cases("nn")
ALL = pytest.mark.parametrize("case", [pytest.param(c, id=c.said["id"]) for c in CASES])
TRAINED = pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.said["id"]) for c in CASES if c.said.get("train", True)]
)
MODE = pytest.mark.parametrize("hybridize", [False, True], ids=["imperative", "hybrid"])


@ALL
def test_description(case: Case) -> None:
    recorded.check_description(case)


@MODE
@ALL
@pytest.mark.filterwarnings("ignore:All children of this Sequential")
def test_inference(case: Case, hybridize: bool) -> None:
    recorded.check_inference(case, hybridize)


@MODE
@TRAINED
@pytest.mark.filterwarnings("ignore:All children of this Sequential")
def test_training(case: Case, hybridize: bool) -> None:
    recorded.check_training(case, hybridize)


@pytest.mark.parametrize("kind", [nn.Sequential, nn.HybridSequential])
def test_containers(kind: type) -> None:
    net = kind(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3), nn.Dropout(0.2))
        net.add(nn.Dense(2))
    assert [c.prefix for c in net] == ["net_dense0_", "net_dropout0_", "net_dense1_"]
    assert len(net) == 3
    assert net[0] is next(iter(net)) and net[-1].prefix == "net_dense1_"
    part = net[1:]
    assert type(part) is kind and part.prefix == "net_" and part[1] is net[2]
    lines = ("(0): Dense(None -> 3, linear)", "(1): Dropout(p = 0.2, axes=())", "(2): Dense(None -> 2, linear)")
    assert repr(net) == "\n  ".join((f"{kind.__name__}(", *lines)) + "\n)"
    with pytest.raises(IndexError):
        net[3]


def test_sequential_of_hybrid_blocks_warns() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(1))
    with pytest.warns(UserWarning, match="Consider using HybridSequential"):
        net.hybridize()
    net.add(nn.Lambda("tanh"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.hybridize()


def test_hybrid_sequential_takes_hybrid_blocks_only() -> None:
    with pytest.raises(ValueError, match="must also be HybridBlock, but Lambda"):
        nn.HybridSequential().add(nn.Lambda("tanh"))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.LeakyReLU(-1), AssertionError, "no less than 0"),
        (lambda: nn.Lambda("nothing_so_named"), AssertionError, "not found in ndarray"),
        (lambda: nn.HybridLambda("nothing_so_named"), AssertionError, "not found in symbol/ndarray"),
        (lambda: nn.Lambda(3), ValueError, "Unrecognized function in lambda: 3"),
        (lambda: nn.Conv2D(4, 3, layout="NCW"), AssertionError, "NCHW"),
        (lambda: nn.Conv1D(4, (3, 3)), AssertionError, "kernel_size must be a number or a list of 1 ints"),
        (lambda: nn.MaxPool2D(layout="NCW"), AssertionError, "NCHW"),
        (lambda: nn.GlobalMaxPool3D(layout="NCHW"), AssertionError, "NCDHW"),
        (lambda: nn.ReflectionPad2D((1, 1)), AssertionError, "8 ints"),
        (lambda: gluon.contrib.nn.PixelShuffle2D((1, 2, 3)), AssertionError, "wrong length 3"),
    ],
)
def test_what_layers_refuse(make, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_functions_as_layers() -> None:
    x = nd.array([[-1.0, 2.0]])
    assert (nn.Lambda(lambda a: a * 2)(x).asnumpy() == [[-2, 4]]).all()
    net = nn.HybridLambda(lambda F, a: F.relu(a))  # noqa: N803
    net.hybridize()
    assert (net(x).asnumpy() == [[0, 2]]).all()
    assert repr(net) == "HybridLambda(<lambda>)"


def test_dropout_keeps_the_mean_and_shares_axes() -> None:
    mx.random.seed(3)
    net = nn.Dropout(0.25, axes=(1,))
    x = nd.ones((4000, 3))
    assert (net(x).asnumpy() == 1).all()
    with mx.autograd.record():
        y = net(x).asnumpy()
    assert {round(float(v), 4) for v in y.ravel()} == {0.0, 1.3333}
    assert (y == y[:, :1]).all()
    assert abs(y.mean() - 1) < 0.05


def test_batch_norm_stays_float32_when_cast_to_half() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=2), nn.BatchNorm(in_channels=2))
    net.cast("float16")
    assert net[0].weight.dtype == "float16"
    assert net[1].gamma.dtype == "float32"


def test_shapes_come_from_the_first_input() -> None:
    net = nn.Conv2D(4, 3, groups=2, use_bias=False, layout="NHWC")
    assert net.weight.shape == (4, 3, 3, 0)
    assert repr(nn.Conv2D(4, 3)) == "Conv2D(None -> 4, kernel_size=(3, 3), stride=(1, 1))"
    dense = nn.Dense(3)
    dense.initialize()
    dense(nd.ones((2, 5)))
    assert repr(dense) == "Dense(5 -> 3, linear)" and dense.weight.shape == (3, 5)
