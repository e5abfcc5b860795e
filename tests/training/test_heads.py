"""Networks with several loss heads learn what they learn in MXNet, in all ways of training them, compiled and in NumPy alone:
fixtures/make/heads.py ran there, and runs here."""

import contextlib
import importlib.util
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

import hybrid as mx
from tests.house.docs import ROOT
from tests.table.training import numpy_alone

_SPEC = importlib.util.spec_from_file_location("heads", ROOT / "fixtures" / "make" / "heads.py")
assert _SPEC is not None and _SPEC.loader is not None
heads: ModuleType = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(heads)

WAYS: dict[str, Callable[[str], dict[str, np.ndarray]]] = {
    "bound": lambda name: heads.bound(mx, name),
    "imperative": lambda name: heads.recorded(mx, name, hybridize=False),
    "hybridized": lambda name: heads.recorded(mx, name, hybridize=True),
    "module": lambda name: heads.fitted(mx, name),
}
# Sums of a few dozen float32 products, three steps of them, added up in other orders: some epsilons of an array's scale.
TOLERANCE = 5e-6
with np.load(heads.FILE) as stored:
    RECORDED = {k: stored[k] for k in stored.files if k != "birth"}


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", heads.NETWORKS)
def test_heads_learn_what_they_learn_in_mxnet(name: str, way: str, compiled: bool) -> None:
    if way == "imperative" and name == "sparse_code":
        pytest.skip("mx.nd has no name for the running mean")
    with contextlib.nullcontext() if compiled else numpy_alone():
        got = WAYS[way](name)
    wanted = {k.split("/", 1)[1]: a for k, a in RECORDED.items() if k.startswith(f"{name}/")}
    fitted = {k for k in wanted if k.startswith("fitted/")}
    assert fitted and (way != "module" or got.keys() == fitted)
    assert way != "bound" or got.keys() == wanted.keys() - fitted
    for key, array in got.items():
        scale = float(np.abs(wanted[key]).max(initial=0))
        np.testing.assert_allclose(array, wanted[key], rtol=0, atol=TOLERANCE * max(scale, 0.01), err_msg=key)
