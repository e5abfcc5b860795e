"""LeNet learns what it learned in MXNet, in all three ways of training it: fixtures/make/lenet.py ran there, and runs here."""

import functools
import importlib.util
import json
from types import ModuleType

import numpy as np
import pytest

import hybrid as mx
from tests.house.docs import ROOT

FOLDER = ROOT / "fixtures" / "training"

# Losses are means over 32 examples of float32 logarithms. The two engines add up the products of convolutions and dense
# layers (up to 800 of them) in different orders, so that gradients differ by some 1e-7 of themselves; 30 steps of momentum
# 0.9, each of which remembers about ten, add up such differences to 2e-6. Five times that is allowed. A rate off by 0.2 % shows as
# 4e-3, a momentum of 0.901 as 6e-3, no weight decay as 3e-3, and one off by a tenth as 4e-4.
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def lenet() -> ModuleType:
    """The script."""
    spec = importlib.util.spec_from_file_location("lenet", ROOT / "fixtures" / "make" / "lenet.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.mark.parametrize("way", ["imperative", "hybridized", "module"])
def test_losses_are_those_of_mxnet(lenet: ModuleType, way: str) -> None:
    weights = {k: v.asnumpy() for k, v in mx.nd.load(str(FOLDER / "lenet-0000.params")).items()}
    recorded = json.loads((FOLDER / "lenet.json").read_text())[way]
    train = (
        lenet.train_module if way == "module" else functools.partial(lenet.train_gluon, hybridize=way == "hybridized")
    )
    losses = train(mx, weights)
    assert len(losses) == lenet.STEPS
    np.testing.assert_allclose(losses, recorded, rtol=TOLERANCE)
    assert losses[-1] < losses[0] / 2
