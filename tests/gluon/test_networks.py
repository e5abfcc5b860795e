"""Whole networks of MXNet 1.9.1 (fixtures/models): as a SymbolBlock, and as a checkpoint bound to arrays."""

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, nd
from tests.models.networks import Network, agree, networks

ALL = pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in networks()])


def array(value: np.ndarray) -> mx.nd.NDArray:
    return nd.array(value, dtype=value.dtype)


@ALL
def test_symbol_block(network: Network) -> None:
    birth = network.birth
    block = gluon.SymbolBlock.imports(
        f"{network.prefix}-symbol.json",
        [*birth["inputs"], *birth["labels"]],
        f"{network.prefix}-0000.params",
        ignore_extra="extra" in network.name,
    )
    for run, (inputs, outputs) in enumerate(network.runs()):
        shapes = labels(network, run, inputs)
        given = [array(inputs[n]) if n in inputs else nd.zeros(shapes[n]) for n in (*birth["inputs"], *birth["labels"])]
        got = block(*given)
        got = got if isinstance(got, list) else [got]
        agree(dict(zip(outputs, (g.asnumpy() for g in got), strict=True)), outputs, network.limit)


def labels(network: Network, run: int, inputs: dict[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Shapes of the labels: recorded where they cannot be inferred."""
    recorded = {n: tuple(s) for n, s in network.birth["label_shapes"][run].items()}
    symbol = mx.sym.load(f"{network.prefix}-symbol.json")
    stored = nd.load(f"{network.prefix}-0000.params")
    shapes = {n.split(":", 1)[-1]: a.shape for n, a in stored.items()} if isinstance(stored, dict) else {}
    shapes = {n: s for n, s in shapes.items() if n in symbol.list_inputs() and n not in network.birth["labels"]}
    known = shapes | {n: a.shape for n, a in inputs.items()} | recorded
    found = dict(zip(symbol.list_arguments(), symbol.infer_shape_partial(**known)[0]))
    return {n: found[n] for n in network.birth["labels"]}


@ALL
def test_checkpoint(network: Network) -> None:
    if network.birth["how"] != "mx.model.save_checkpoint":
        return  # test_symbol_block has them
    symbol = mx.sym.load(f"{network.prefix}-symbol.json")
    stored = nd.load(f"{network.prefix}-0000.params")
    arguments, states = mx.model.load_params(network.prefix, 0) if isinstance(stored, dict) else ({}, {})
    for run, (inputs, outputs) in enumerate(network.runs()):
        shapes = {n: a.shape for n, a in inputs.items()} | {
            n: tuple(s) for n, s in network.birth["label_shapes"][run].items()
        }
        arguments = {n: a for n, a in arguments.items() if n not in network.birth["labels"]}  # one file stores a label
        types = {n: a.dtype for n, a in {**inputs, **arguments, **states}.items()}
        executor = symbol.simple_bind(mx.cpu(), grad_req="null", type_dict=types, **shapes)
        executor.copy_params_from(arguments, states, allow_extra_params="extra" in network.name)
        results = executor.forward(**{n: a for n, a in inputs.items() if n in executor.arg_dict})
        agree(dict(zip(outputs, (r.asnumpy() for r in results), strict=True)), outputs, network.limit)
