"""Answers of MXNet 1.9.1's Gluon (fixtures/gluon), and the blocks it was asked about, built again here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hybrid as mx
from hybrid import autograd, gluon, nd

FOLDER = Path(__file__).parents[2] / "fixtures" / "gluon"
MEANINGLESS = {
    "SELU": ("grad-in/0", "MXNet's gradient of selu is wrong: finite differences of its own outputs disagree"),
    "AvgPool3D-ceil": (
        "grad-in/0",
        "MXNet divides by another window's size than forwards: finite differences disagree",
    ),
    "BatchNorm-fixed": ("after/batchnorm0_gamma", "MXNet writes 1 into a gamma that it does not use"),
    "BatchNormReLU-fixed": ("after/batchnormrelu0_gamma", "MXNet writes 1 into a gamma that it does not use"),
}
"""Arrays that are not compared, by case, and why."""
EPSILON = float(np.finfo(np.float32).eps)


class Case(NamedTuple):
    """One block; see fixtures/README.md."""

    said: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def array(self, name: str) -> nd.NDArray:
        return nd.array(self.arrays[name])

    def named(self, kind: str) -> dict[str, np.ndarray]:
        start = f"{kind}/"
        return {k.removeprefix(start): v for k, v in self.arrays.items() if k.startswith(start)}

    def inputs(self) -> list[nd.NDArray]:
        return [self.array(f"in/{i}") for i in range(len(self.said["inputs"]))]


def cases(family: str) -> list[Case]:
    with np.load(FOLDER / f"{family}.npz") as stored:
        arrays = {k: stored[k] for k in stored.files}
    out = []
    for said in json.loads((FOLDER / f"{family}.json").read_text())["cases"]:
        start = f"{said['id']}/"
        skipped = MEANINGLESS.get(said["id"], ("", ""))[0]
        own = {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start) and k != start + skipped}
        out.append(Case(said, own))
    return out


def build(spec: Any) -> Any:
    """The block that a specification describes; lists become tuples."""
    if isinstance(spec, list):
        return tuple(build(item) for item in spec)
    if not isinstance(spec, dict):
        return spec
    found: Any = gluon
    for part in spec["new"].split("."):
        found = getattr(found, part)
    block = found(*map(build, spec["args"]), **{k: build(v) for k, v in spec["kwargs"].items()})
    for child in spec["add"]:
        block.add(build(child))
    return block


def fresh(case: Case) -> Any:
    """The block, named as in a new program."""
    with mx.name.NameManager():
        return build(case.said["make"])


def arguments(call: Any, arrays: list[Any]) -> Any:
    if isinstance(call, dict) and set(call) == {"in"}:
        return arrays[call["in"]]
    if isinstance(call, list):
        return [arguments(item, arrays) for item in call]
    if isinstance(call, dict):
        return {key: arguments(item, arrays) for key, item in call.items()}
    return call


def invoke(block: Any, case: Case, arrays: list[Any]) -> Any:
    method, args, kwargs = case.said.get("call", ["__call__", [{"in": i} for i in range(len(arrays))], {}])
    return getattr(block, method)(*arguments(args, arrays), **arguments(kwargs, arrays))


def flat(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list | tuple):
        for item in nested:
            yield from flat(item)
    else:
        yield nested


def nodes(symbol: mx.Symbol) -> list[Any]:
    every = json.loads(symbol.tojson())["nodes"]
    return [
        [n["op"], n["name"], n.get("attrs", {}), [[every[i]["name"], k] for i, k, *_ in n["inputs"]]] for n in every
    ]


def close(got: nd.NDArray, want: np.ndarray, what: str, epsilons: float = 64) -> None:
    """Assert equality up to float32 rounding, over the array's scale."""
    value = got.asnumpy()
    assert value.shape == want.shape, what
    assert value.dtype == want.dtype, what
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    error = float(np.abs(value.astype(np.float64) - want).max(initial=0))
    assert error <= epsilons * EPSILON * scale, f"{what}: off by {error:.3g} of scale {scale:.3g}"


def loaded(case: Case) -> Any:
    """The block with the recorded parameters."""
    block = fresh(case)
    block.initialize()
    values = case.named("param")
    if values:
        with autograd.predict_mode():
            invoke(block, case, case.inputs())  # gives deferred parameters their shapes
    parameters = block.collect_params()
    assert list(parameters) == list(values)
    for name, value in values.items():
        parameters[name].set_data(nd.array(value))
    return block


def check_description(case: Case) -> None:
    """Printed form, names, parameters, and the symbol's operators, names and attributes."""
    said, block = case.said, fresh(case)
    assert repr(block) == said["repr"]
    assert block.prefix == said["prefix"]
    got = [[n, list(p.shape), np.dtype(p.dtype).name, p.grad_req] for n, p in block.collect_params().items()]
    assert got == said["params"]
    assert list(block._collect_params_with_prefix()) == said["structure"]
    if said.get("symbol"):
        with mx.name.NameManager():
            out = invoke(build(said["make"]), case, [mx.sym.var(f"data{i}") for i in range(len(said["inputs"]))])
        assert nodes(mx.sym.Group(list(flat(out)))) == said["symbol"]


def check_inference(case: Case, hybridize: bool) -> None:
    block = loaded(case)
    if hybridize:
        block.hybridize()
    outputs = list(flat(invoke(block, case, case.inputs())))
    assert repr(block) == case.said["repr_after"]
    assert len(outputs) == case.said["outputs"]
    for i, output in enumerate(outputs):
        close(output, case.arrays[f"out/{i}"], f"output {i}")


def check_training(case: Case, hybridize: bool) -> None:
    """Outputs, gradients of inputs and parameters, and states afterwards."""
    block, inputs = loaded(case), case.inputs()
    if hybridize:
        block.hybridize()
    smooth = [i for i, what in enumerate(case.said["inputs"]) if what[0] not in ("int", "sign", "values")]
    for i in smooth:
        inputs[i].attach_grad()
    with autograd.record():
        outputs = list(flat(invoke(block, case, inputs)))
    for i, output in enumerate(outputs):
        close(output, case.arrays[f"train/{i}"], f"output {i}")
    heads = case.named("head")
    autograd.backward([outputs[int(i)] for i in heads], [nd.array(head) for head in heads.values()])
    for i, want in case.named("grad-in").items():
        close(inputs[int(i)].grad, want, f"gradient of input {i}", 256)
    parameters = block.collect_params()
    for name, want in case.named("grad").items():
        close(parameters[name].grad(), want, f"gradient of {name}", 256)
    for name, want in case.named("after").items():
        close(parameters[name].data(), want, f"{name} afterwards")
