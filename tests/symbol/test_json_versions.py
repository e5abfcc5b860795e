"""Files of MXNet 0.8 to 2.0, with the numbers that each version computed from them (fixtures/json)."""

import json
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid.ir.json import VERSION

FOLDER = Path(__file__).parents[2] / "fixtures" / "json"
FILES = [pytest.param(p, id=f"{p.parent.name}-{p.name.removesuffix('-symbol.json')}") for p in sorted(FOLDER.glob("*/*.json"))
         if p.name.endswith("-symbol.json")]  # fmt: skip
every_file = pytest.mark.parametrize("path", FILES)


def sibling(path: Path, suffix: str) -> Path:
    return path.with_name(path.name.removesuffix("-symbol.json") + suffix)


def computes(symbol: mx.Symbol, path: Path) -> None:
    """Assert that the symbol gives what the version that wrote the file computed."""
    outputs = sibling(path, "-output.npz")
    if not outputs.exists():
        # over everything, argmax ran in no version before 1.9; its numbers are those of 1.9.1
        assert path.name == "argmax_all-symbol.json"
        outputs = FOLDER / "1.9.1" / "argmax_all-output.npz"
    feeds = {k: mx.nd.array(v, dtype=v.dtype) for k, v in np.load(sibling(path, "-input.npz")).items()}
    stored = sibling(path, "-0000.params")
    arguments, states = mx.model.load_params(str(sibling(path, "")), 0) if stored.exists() else ({}, {})
    shapes = {k: v.shape for k, v in feeds.items()}
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", type_dict={k: v.dtype for k, v in feeds.items()}, **shapes)
    executor.copy_params_from(arguments, states)
    missing = set(symbol.list_inputs()) - set(feeds) - set(arguments) - set(states)
    assert all(name.endswith("label") for name in missing), missing
    results = executor.forward(**feeds)
    expected = {k: v for k, v in np.load(outputs).items() if k != "names"}
    assert len(results) == len(expected)
    for result, (key, array) in zip(results, sorted(expected.items())):
        assert result.shape == array.shape, key
        scale = float(np.abs(array).max()) or 1.0
        np.testing.assert_allclose(result.asnumpy(), array, rtol=0, atol=1e-5 * scale, err_msg=key)


@every_file
def test_computes_what_its_version_computed(path: Path) -> None:
    computes(mx.sym.load(path), path)


@every_file
def test_survives_a_round_trip(path: Path) -> None:
    symbol = mx.sym.load(path)
    text = symbol.tojson()
    again = mx.sym.load_json(text)
    assert again.tojson() == text
    assert again.list_inputs() == symbol.list_inputs()
    assert again.list_outputs() == symbol.list_outputs()
    assert again.attr_dict() == symbol.attr_dict()
    data = json.loads(text)
    assert data["attrs"]["mxnet_version"] == ["int", VERSION]
    computes(again, path)


AGED = json.loads((FOLDER / "0.8" / "birth.json").read_text())["made"]


@pytest.mark.parametrize("name", sorted(AGED))
def test_upgrades_old_attributes_as_mxnet_does(name: str) -> None:
    symbol = mx.sym.load(FOLDER / "0.8" / f"{name}-symbol.json")
    assert symbol.list_arguments() == AGED[name]["arguments"]
    assert symbol.list_auxiliary_states() == AGED[name]["auxiliary"]
    variables = set(symbol.list_inputs())
    found = {n: attrs for n, attrs in symbol.attr_dict().items() if n in variables}
    assert found == AGED[name]["attributes_after_upgrade"]
