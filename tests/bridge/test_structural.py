# ruff: noqa: N803 - Gluon names the argument F
"""Parameters with the names of Block.save_parameters, matched to a symbol or refused."""

from pathlib import Path

import numpy as np
import pytest

import bridge
import hybrid as mx
from hybrid.formats import params
from hybrid.gluon import nn

PREFIX = Path(__file__).parents[2] / "fixtures/sagemaker/structure"


def test_a_file_of_save_parameters_as_mxnet_wrote_it() -> None:
    model = bridge.open_model(PREFIX)
    with np.load(PREFIX.with_suffix(".npz")) as recorded:
        (got,) = bridge.run(model, {"data": recorded["inputs/data"]}).values()
        np.testing.assert_allclose(got, recorded["outputs/0"], rtol=1e-5, atol=1e-4)
    result = bridge.convert(PREFIX, inputs={"data": (2, 3, 8, 8)})
    assert result.verified
    assert "33 parameters have names of save_parameters and were matched by kind, shape and order" in result.warnings[0]
    assert not result.unused


@pytest.mark.parametrize("name", ["resnet18_v1", "mobilenetv2_0.25"])
def test_networks_of_the_model_zoo(name: str, tmp_path: Path) -> None:
    """Residual connections and branches: every array arrives where export puts it."""
    net = mx.gluon.model_zoo.vision.get_model(name, classes=10)
    net.initialize()
    net.hybridize()
    net(mx.nd.zeros((1, 3, 32, 32)))
    net.export(str(tmp_path / "m"))
    net.save_parameters(str(tmp_path / "s.params"))
    want, got = bridge.open_model(tmp_path / "m"), bridge.open_model(tmp_path / "m-symbol.json", tmp_path / "s.params")
    assert got.params.keys() == want.params.keys()
    for key, array in want.params.items():
        np.testing.assert_array_equal(got.params[key], array, err_msg=key)


class Branches(nn.HybridBlock):
    """Two layers of one kind and shape beside each other, whose names number them or not."""

    def __init__(self, prefixes: tuple[str | None, str | None]):
        super().__init__()
        with self.name_scope():
            self.one = nn.Dense(3, in_units=3, prefix=prefixes[0])
            self.two = nn.Dense(3, in_units=3, prefix=prefixes[1])

    def hybrid_forward(self, F, x):
        return self.two(x) - self.one(x)


def saved(net: nn.HybridBlock, folder: Path, width: int = 3) -> tuple[Path, Path]:
    """Files of the symbol and of save_parameters."""
    net.initialize(mx.init.Normal(1))
    net.hybridize()
    net(mx.nd.ones((2, width)))
    net.export(str(folder / "m"))
    net.save_parameters(str(folder / "s.params"))
    return folder / "m-symbol.json", folder / "s.params"


def test_layers_beside_each_other(tmp_path: Path) -> None:
    """The graph has them in another order than the block; numbers in their names say which was made first."""
    symbol, file = saved(Branches((None, None)), tmp_path)
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    want = bridge.run(tmp_path / "m", {"data": x}).values()
    np.testing.assert_array_equal([*bridge.run(symbol, {"data": x}, params=file).values()], [*want])


def test_what_is_in_doubt_is_refused_by_name(tmp_path: Path) -> None:
    symbol, file = saved(Branches(("key_", "query_")), tmp_path)
    with pytest.raises(bridge.BadInput) as caught:
        bridge.open_model(symbol, file)
    said = str(caught.value)
    assert "names of Block.save_parameters, and it is not clear which is which" in said
    assert "query_fwd" in said and "key_fwd" in said and "each may be any of one, two" in said
    arrays = params.load(file)
    assert isinstance(arrays, dict)
    fewer = {n: a for n, a in arrays.items() if not n.startswith("two")}
    with pytest.raises(bridge.BadInput, match=r"bias, weight: the symbol has 2 such layers \(.*\), the file 1 \(one\)"):
        bridge.open_model(symbol, fewer)


def test_blocks_in_sequence_follow_each_other(tmp_path: Path) -> None:
    """A file that has a sequential block's layers in another order is not matched to it."""
    net = nn.HybridSequential()
    with net.name_scope():
        for width in (4, 4, 5):
            net.add(nn.Dense(width, in_units=4))
    symbol, file = saved(net, tmp_path, 4)
    arrays = params.load(file)
    assert isinstance(arrays, dict)
    moved = {n.translate(str.maketrans("12", "21")): a for n, a in arrays.items()}
    with pytest.raises(bridge.BadInput, match="do not follow each other"):
        bridge.open_model(symbol, dict(sorted(moved.items())))
