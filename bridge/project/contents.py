"""Contents of a model's files, kept beside a baseline's numbers: inputs and outputs, operations, and a digest of each weight.

Formatting, doc strings, the order of nodes and the names of tensors inside are none of it: a file that was written in another way
and says the same has the same contents."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from converters.error import ConversionError
from hybrid.core.attrs import HALVES
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.ir.graph import Entry

from ..change.diff import value_text
from ..change.network import Network, network_of
from ..engines import EngineError
from ..models import BadInput, Model, describe, onnx_spec, split_inputs

CONTENTS = "contents"
"""The fact of a baseline that has the contents of each file of its model."""
MOST = 1 << 18
"""Characters of what is kept for a file; of one with more its inputs and outputs are."""
MOST_UNPACKED = 1 << 26
"""Bytes that what is read of a baseline may unpack to; what claims more was not written here."""
TOLD = 4
"""Differences that are told one by one."""
STORED = ("float64", "float32", *HALVES, "int8", "uint8")
"""Dtypes that weights are stored in: other integers are shapes and indices."""

Contents = Mapping[str, Any]


def contents_of(model: Model, specs: Mapping[str, Spec]) -> dict[str, Any]:
    """Contents, as plain values. specs: the inputs for which a symbol's outputs are inferred. Empty where they cannot be seen."""
    try:
        network = network_of(model)
        return {"interface": _interface(model, specs), **_operations(network)}
    except (BadInput, MXNetError, ConversionError, EngineError, OSError):
        return {}


def packed(contents: Contents) -> str:
    """Contents in few characters."""

    def text(of: Contents) -> str:
        return base64.b85encode(zlib.compress(json.dumps(of, sort_keys=True).encode(), 9)).decode("ascii")

    found = text(contents)
    return found if len(found) <= MOST else text({"interface": contents["interface"]})


def unpacked(text: object) -> dict[str, Any]:
    """Contents that packed gave; empty for what is none, as in a baseline by an older gluonnx."""
    if not isinstance(text, str):
        return {}
    try:
        opened = zlib.decompressobj()
        plain = opened.decompress(base64.b85decode(text), MOST_UNPACKED)
        found = json.loads(plain) if opened.eof else {}
    except (ValueError, zlib.error, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# -- what there is ----------------------------------------------------------------------------------------------------------


def _interface(model: Model, specs: Mapping[str, Spec]) -> dict[str, list[list[Any]]]:
    """Names, dtypes and shapes of inputs and outputs, in order."""
    if model.proto is not None:
        stored = {i.name for i in model.proto.graph.initializer}
        graph = model.proto.graph
        told = {"inputs": [i for i in graph.input if i.name not in stored], "outputs": graph.output}
        return {side: [_tensor(i.name, onnx_spec(i)) for i in infos] for side, infos in told.items()}
    assert model.graph is not None
    inputs, _ = split_inputs(model, specs)
    try:
        inferred = model.infer({n: s for n, s in specs.items() if n in inputs})
        of: Any = inferred.spec
    except MXNetError:  # names are told all the same
        of = lambda _entry: Spec()  # noqa: E731
    variables = {n.name: n for n in model.graph.variables()}
    return {
        "inputs": [_tensor(n, of(Entry(variables[n]))) for n in inputs],
        "outputs": [_tensor(e.name, of(e)) for e in model.graph.outputs],
    }


def _tensor(name: str, spec: Spec) -> list[Any]:
    """An input or output; axes that are open have no name: that of a batch means nothing."""
    found = describe(spec)
    shape = found["shape"]
    return [name, found["dtype"], None if shape is None else [d if isinstance(d, int) else "?" for d in shape]]


def _operations(network: Network) -> dict[str, Any]:
    """Operations by name with what they read, and weights."""
    places = {o: f"{op.name}:{i}" for op in network.operations for i, o in enumerate(op.outputs) if o}
    operations = {}
    read: dict[str, None] = {}
    for op in network.operations:
        attributes = {n: _value(v) for n, v in op.attributes.items()}
        attributes |= {n: _body(b) for n, b in op.bodies.items()}
        outside = [n for b in op.bodies.values() for n in b.reads_outside()]
        read |= dict.fromkeys((*op.inputs, *outside, *(n for b in op.bodies.values() for n in b.stored)))
        operations[op.name] = [op.operator, attributes, [places.get(n, n) for n in op.inputs]]
    read |= dict.fromkeys(network.outputs)
    weights = {}
    for name in read:
        if name in network.stored:
            array = network.array(name)
            weights[name] = [array.dtype.name, list(array.shape), network.digest(name).hex()[:16]]
    return {
        "operations": operations,
        "weights": weights,
        "ends": [places.get(n, n) for n in network.outputs],
        "notes": dict(network.notes),
    }


def _value(value: Any) -> str:
    """An attribute as text; of a large one a digest."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"{value_text(value)} {_digest(np.ascontiguousarray(value).tobytes())}"
    text = value_text(value)
    return text if len(text) <= 200 else f"{text[:100]}... {_digest(text.encode())}"


def _body(network: Network) -> str:
    """A digest of a graph inside an operation."""
    return _digest(json.dumps(_operations(network), sort_keys=True).encode())


def _digest(told: bytes) -> str:
    return hashlib.blake2b(told, digest_size=8).hexdigest()


# -- what has changed -------------------------------------------------------------------------------------------------------


def changed_operations(old: Contents, new: Contents) -> list[str]:
    """Words for operations, attributes and versions that are others."""
    if "operations" not in old or "operations" not in new:
        return []
    words = [
        f"{name} {old['notes'].get(name, 'none')} -> {new['notes'].get(name, 'none')}"
        for name in dict.fromkeys((*old["notes"], *new["notes"]))
        if old["notes"].get(name) != new["notes"].get(name)
    ]
    mine, theirs = old["operations"], new["operations"]
    alone = [f"{name} ({op[0]}) is gone" for name, op in mine.items() if name not in theirs]
    alone += [f"{name} ({op[0]}) is new" for name, op in theirs.items() if name not in mine]
    wiring = []
    for name, (operator, attributes, inputs) in mine.items():
        if name not in theirs:
            continue
        other, others, reads = theirs[name]
        if operator != other:
            words.append(f"{name}: {operator} became {other}")
            continue
        words += [
            f"{name} ({operator}): {key} {attributes.get(key, 'none')} -> {others.get(key, 'none')}"
            for key in dict.fromkeys((*attributes, *others))
            if attributes.get(key) != others.get(key)
        ]
        if inputs != reads:
            wiring.append(
                f"{name} ({operator}) reads {', '.join(reads) or 'nothing'}, not {', '.join(inputs) or 'nothing'}"
            )
    words += alone or wiring  # what reads those that are new follows from them
    if not words and old["ends"] != new["ends"] and not changed_interface(old, new):
        words.append(f"the outputs are {', '.join(new['ends'])}, not {', '.join(old['ends'])}")
    return words


def changed_weights(old: Contents, new: Contents) -> list[str]:
    """Words for weights that are others."""
    mine, theirs = old.get("weights", {}), new.get("weights", {})
    words = []
    for name, before in mine.items():
        after = theirs.get(name)
        if after is None:
            words.append(f"{name} is gone")
        elif before[0] != after[0]:
            words.append(f"{name}: {before[0]} -> {after[0]}")
        elif before[1] != after[1]:
            words.append(f"{name}: shape {_shape(before[1])} -> {_shape(after[1])}")
        elif before != after:
            words.append(name)
    return [*words, *(f"{name} is new" for name in theirs if name not in mine)]


def changed_precision(old: Contents, new: Contents) -> str:
    """Words for weights that are stored in another dtype; empty where they are not."""
    if "weights" not in old or "weights" not in new:
        return ""
    before, after = _dtypes(old["weights"]), _dtypes(new["weights"])
    if set(before) == set(after) or not before or not after:
        return ""
    return f"weights are {_counts(after)}, and were {_counts(before)} when the baseline was written"


def stores_halves(contents: Contents) -> bool:
    """True where weights are stored in half precision."""
    return any(dtype in HALVES for dtype in _dtypes(contents.get("weights", {})))


def _dtypes(weights: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """Numbers of weights by dtype."""
    found: dict[str, int] = {}
    for dtype, shape, _ in weights.values():
        if shape and dtype in STORED:
            found[dtype] = found.get(dtype, 0) + 1
    return found


def _counts(found: Mapping[str, int]) -> str:
    if len(found) == 1:
        return next(iter(found))
    return " and ".join(f"{dtype} ({count})" for dtype, count in found.items())


def changed_interface(old: Contents, new: Contents) -> list[str]:
    """Words for inputs and outputs that have another name, dtype or shape."""
    mine, theirs = old.get("interface"), new.get("interface")
    if not mine or not theirs:
        return []
    return [
        *_changed_tensors("input", mine["inputs"], theirs["inputs"], ordered=False),
        *_changed_tensors("output", mine["outputs"], theirs["outputs"], ordered=True),
    ]


def _changed_tensors(kind: str, old: list[list[Any]], new: list[list[Any]], ordered: bool) -> list[str]:
    """Words for tensors of one kind. ordered: their order counts, as that of outputs does for whoever reads them by place."""
    names, others = [t[0] for t in old], [t[0] for t in new]
    if set(names) == set(others):
        now = {t[0]: t for t in new}
        words = [text for t in old if (text := _changed_tensor(f"{kind} {t[0]}", t, now[t[0]]))]
        if ordered and names != others:
            words.append(f"the {kind}s are in another order: {', '.join(others)}, not {', '.join(names)}")
        return words
    if len(names) == len(others):
        words = []
        for before, after in zip(old, new):
            if before[0] != after[0]:
                words.append(f"{kind} {before[0]} is called {after[0]}")
            words += [text] if (text := _changed_tensor(f"{kind} {before[0]}", before, after)) else []
        return words
    gone = [f"{kind} {n} is gone" for n in names if n not in others]
    return [*gone, *(f"{kind} {n} is new" for n in others if n not in names)]


def _changed_tensor(what: str, old: Sequence[Any], new: Sequence[Any]) -> str:
    """Words for a tensor's dtype and shape, as far as both are known."""
    parts = []
    if old[1] and new[1] and old[1] != new[1]:
        parts.append(f"{old[1]} -> {new[1]}")
    if old[2] is not None and new[2] is not None and list(old[2]) != list(new[2]):
        parts.append(f"shape {_shape(old[2])} -> {_shape(new[2])}")
    return f"{what}: {', '.join(parts)}" if parts else ""


def _shape(dims: Sequence[Any]) -> str:
    return f"({','.join(map(str, dims))})"


def few(words: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = [f"and {len(words) - TOLD} more"] if len(words) > TOLD else []
    return "; ".join([*words[:TOLD], *more])


def outputs_of(model: Model) -> list[str]:
    """Names of a model's outputs."""
    if model.graph is not None:
        return [e.name for e in model.graph.outputs]
    return [] if model.proto is None else [o.name for o in model.proto.graph.output]
