"""Whole conversions: a symbol to a verified ONNX file, and that file back."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bridge.convert import convert
from bridge.engines import EngineError
from bridge.importing import import_onnx
from bridge.job import NotEquivalent
from bridge.models import BadInput
from converters.error import ConversionError
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.core.shapes import is_known
from hybrid.ir import json as symbol_json
from hybrid.ir.graph import Entry
from hybrid.ir.infer import infer

from . import REFUSED, RIGHT
from .graphs import (
    RUNS,
    Doc,
    append,
    change_attribute,
    change_feed,
    copied,
    network_docs,
    nudge_attribute,
    one_node_docs,
    typed,
)

SURFACE = "conversions"
SECONDS = 30.0
CHANGES = [nudge_attribute, nudge_attribute, change_attribute, change_feed, change_feed, append, append]


def seeds() -> list[Any]:
    """One operator each, and a share of networks."""
    return [*one_node_docs(), *network_docs()]


def mutate(rng: random.Random, seed: Doc) -> bytes:
    """A symbol, what it is fed, and how it is to be converted."""
    doc = copied(seed)
    for change in rng.choices(CHANGES, k=rng.choice([1, 1, 2, 3])):
        change(rng, doc)
    doc["parameters"] = sorted(n for n in doc["feeds"] if rng.random() < 0.4)
    doc["opset"] = rng.choice([None, None, 13, 16, 18, 20, 21])
    doc["dynamic"] = rng.random() < 0.3
    doc["back"] = rng.random() < 0.3
    return json.dumps(doc).encode()


def judge(case: bytes) -> str:
    doc = json.loads(case)
    try:
        graph = symbol_json.loads(json.dumps(doc["symbol"]))
        names = {n.name for n in graph.variables()}
        given = {n: f for n, f in doc["feeds"].items() if n in names}
        found = infer(graph, {n: tuple(s) for n, (_, s) in given.items()}, {n: d for n, (d, _) in given.items()},
                      default_dtype=np.float32)  # fmt: skip
        if sum(int(np.prod(s, dtype=object)) for s in found.shapes.values() if is_known(s)) > RUNS:
            return REFUSED  # the other surfaces look at sizes
        specs = {n.name: found.spec(Entry(n)) for n in graph.variables()}
        rng = np.random.default_rng(0)
        parameters = {
            n: rng.uniform(0.1, 1, s.shape).astype(s.dtype)
            for n, s in specs.items()
            if n in doc["parameters"] and is_known(s.shape) and s.dtype is not None
        }
        inputs: dict[str, Any] = {
            n: Spec(s.shape, s.dtype) for n, s in specs.items() if n not in parameters and is_known(s.shape)
        }
        dynamic = {n: {0: "batch"} for n, s in inputs.items() if s.shape} if doc["dynamic"] else None
        return _converted(graph, parameters, inputs, dynamic, doc)
    except (MXNetError, BadInput, ConversionError, EngineError) as error:
        if "please report" in str(error) or (isinstance(error, MXNetError) and not typed(error)):
            raise
        return REFUSED


def _converted(graph: Any, parameters: Any, inputs: Any, dynamic: Any, doc: Doc) -> str:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "model.onnx"
        try:
            convert(graph, parameters, inputs=inputs, output=target, dynamic=dynamic, opset=doc["opset"])
        except NotEquivalent:
            assert not target.exists(), "a file was published that is not equivalent"
            return REFUSED
        assert target.is_file()
        if doc["back"]:
            try:
                import_onnx(target, output=Path(folder) / "again")
            except NotEquivalent:
                return REFUSED
        return RIGHT
