"""Recorded answers that may not change: changed symbols and ONNX models, with what was said of each when they were recorded.

    python -m tests.answers            (writes what is answered now, and prints what has changed)

The cases are those of tests/fuzz, chosen because each lets some expression of the product matter that no other test does (python -m
tests.undecided says what these are). An answer is no proof that it is right: NumPy and the compiled part agreed on it, no more. It
shows what a change of the code changes; a change that is meant is recorded anew and looked at in the diff.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

import converters
from converters.error import ConversionError
from converters.importer import import_model
from converters.onnx_types import KEY as KIND
from hybrid.core.error import MXNetError
from hybrid.core.memory_budget import set_step_budget
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN, is_known
from hybrid.execution.program import Program
from hybrid.ir import json as symbol_json
from hybrid.ir.graph import Entry, Graph
from hybrid.ir.infer import infer
from hybrid.random import seed as draw_from
from tests.fuzz.graphs import DTYPES, RUNS, arrays_for, comparable, decomposes, near, steady
from tests.fuzz.onnx_models import STEPS

FOLDER = Path(__file__).parent
SURFACES = ("symbols", "onnx")
Answer = dict[str, Any]


def answer(surface: str, case: Any, *, careful: bool = False) -> Answer:
    """Answer to a case now. careful: numbers only where rounding cannot change them, for recording."""
    before = set_step_budget(STEPS)
    try:
        return of_symbol(case, careful) if surface == "symbols" else of_onnx(case, careful)
    finally:
        set_step_budget(before)


def of_symbol(case: Mapping[str, Any], careful: bool) -> Answer:
    """Of a Symbol JSON that is read, written, inferred, run and exported."""
    found: Answer = {}
    try:
        graph = symbol_json.loads(json.dumps(case["symbol"]))
    except MXNetError as error:
        return {"read": _refusal(error)}
    found["read"] = digest(symbol_json.dumps(graph))
    names = {n.name for n in graph.variables()}
    given = {n: f for n, f in case["feeds"].items() if n in names}
    try:
        inferred = infer(graph, {n: tuple(s) for n, (_, s) in given.items()}, {n: d for n, (d, _) in given.items()},
                         default_dtype=np.float32)  # fmt: skip
    except MXNetError as error:
        return found | {"inferred": _refusal(error)}
    specs = {n.name: inferred.spec(Entry(n)) for n in graph.variables()}
    found["inferred"] = [_said(inferred.spec(e)) for e in graph.outputs]
    found["variables"] = digest([n, _said(s)] for n, s in sorted(specs.items()))
    sizes = [int(np.prod(s, dtype=object)) for s in inferred.shapes.values() if is_known(s)]
    if not all(is_known(s.shape) and s.dtype is not None for s in specs.values()) or sum(sizes) > RUNS:
        return found
    feeds = arrays_for({"feeds": {n: [str(s.dtype), list(s.shape or ())] for n, s in specs.items()}})
    found["ran"] = _ran(graph, feeds, {}, careful)
    found["exported"] = _exported(graph, specs, feeds, case)
    return found


def of_onnx(case: str, careful: bool) -> Answer:
    """Of an ONNX model that is imported, inferred and run."""
    try:
        made = import_model(zlib.decompress(base64.b85decode(case)))
    except (MXNetError, ConversionError) as error:
        return {"read": _refusal(error)}
    graph, params = made.graph, made.params
    found: Answer = {
        "read": digest(symbol_json.dumps(graph)),
        "parameters": digest([n, a.dtype.str, a.shape] for n, a in sorted(params.items())),
    }
    names = {n.name for n in graph.variables()}
    shapes: dict[str, Any] = {n: a.shape for n, a in params.items() if n in names}
    dtypes: dict[str, Any] = {n: a.dtype for n, a in params.items() if n in names}
    for name, spec in made.inputs.items():
        if name in names and spec.shape is not None:
            shapes[name] = tuple(d if isinstance(d, int) and d is not UNKNOWN else 3 for d in spec.shape)
        if name in names and spec.dtype is not None:
            dtypes[name] = spec.dtype
    try:
        inferred = infer(graph, shapes, dtypes, default_dtype=np.float32, values=params)
    except MXNetError as error:
        return found | {"inferred": _refusal(error)}
    found["inferred"] = [_said(inferred.spec(e)) for e in graph.outputs]
    fed = names - {*params}
    ready = all(n in dtypes and dtypes[n].name in DTYPES and is_known(shapes.get(n)) for n in fed)
    sizes = [int(np.prod(s, dtype=object)) for s in inferred.shapes.values() if is_known(s)]
    if not ready or sum(sizes) > RUNS or any(n.attrs.get(KIND) for n in graph.variables()):
        return found
    feeds = arrays_for({"feeds": {n: [dtypes[n].name, list(shapes[n])] for n in fed}})
    held = {n: a for n, a in params.items() if n in names}
    if any(n.op is not None and n.op.data_dependent_shape for n in graph.all_nodes()):
        return found | {"ran": _ran(graph, feeds, held, careful)}
    return found | {"ran": _ran(graph, {**held, **feeds}, {}, careful)}


def _ran(graph: Graph, feeds: Mapping[str, np.ndarray], constants: Mapping[str, np.ndarray], careful: bool) -> Any:
    """Results of both engines; where they may differ by rounding, shapes alone."""
    draw_from(5)
    found = []
    for native in (False, True):
        program = Program(graph, constants, native=native)
        try:
            found.append(program.run({n: feeds[n].copy() for n in program.inputs}))
        except MXNetError as error:
            return _refusal(error)
    whole = any(a.dtype.kind in "biu" for a in feeds.values())
    numbers = comparable(graph) and not (
        whole and any(n.op is not None and decomposes(n.op) for n in graph.all_nodes())
    )
    rows = []
    for entry, one, other in zip(graph.outputs, *found, strict=True):
        row = [str(one.dtype), list(one.shape)]
        exact = numbers and one.dtype.kind in "biuf" and near(one, other)
        if exact and (not careful or (not constants and steady(graph, feeds, entry, one))):
            row.append(figures(one))
        rows.append(row)
    return rows


def figures(array: np.ndarray) -> Any:
    """Of integers a digest; of floats how many are not finite, their mean size, and a sum to which each counts differently."""
    if array.dtype.kind in "biu":
        return digest(np.ascontiguousarray(array).astype(np.int64).tolist())
    flat = array.astype(np.float64).reshape(-1)
    finite = np.isfinite(flat)
    flat = np.where(finite, flat, 0)
    places = np.cos(1.3 * np.arange(flat.size))
    return (
        [int((~finite).sum()), *(float(f"{v:.6g}") for v in (np.abs(flat).mean(), (flat * places).mean()))]
        if flat.size
        else []
    )


def _exported(graph: Graph, specs: Mapping[str, Spec], feeds: Mapping[str, np.ndarray], case: Mapping[str, Any]) -> Any:
    parameters = {n: feeds[n] for n in specs if n in case["parameters"]}
    inputs: dict[str, Any] = {}
    for name, spec in specs.items():
        if name not in parameters:
            shape: Any = list(spec.shape or ())
            if case["dynamic"] and shape:
                shape[0] = "batch"
            inputs[name] = Spec(tuple(shape), spec.dtype) if not case["dynamic"] else tuple(shape)
    try:
        model = converters.to_onnx(graph, parameters, inputs, case["opset"])
    except (ConversionError, MXNetError) as error:
        return _refusal(error)
    return [" ".join(n.op_type for n in model.graph.node)[:200], digest(_lines(model))]


def _lines(model: onnx.ModelProto) -> Iterator[Any]:
    """A model in words: nodes, constants, inputs and outputs."""
    yield sorted((o.domain, o.version) for o in model.opset_import)
    for value in (*model.graph.input, *model.graph.output):
        yield (
            value.name,
            value.type.tensor_type.elem_type,
            [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim],
        )
    yield from _graph_lines(model.graph)


def _graph_lines(graph: onnx.GraphProto) -> Iterator[Any]:
    for tensor in graph.initializer:
        yield tensor.name, *_constant(numpy_helper.to_array(tensor))
    for node in graph.node:
        yield node.domain, node.op_type, list(node.input), list(node.output)
        for attribute in sorted(node.attribute, key=lambda a: a.name):
            if attribute.type == AttributeProto.GRAPH:
                yield from _graph_lines(attribute.g)
            elif attribute.type == AttributeProto.TENSOR:
                yield attribute.name, *_constant(numpy_helper.to_array(attribute.t))
            else:
                yield attribute.name, str(_rounded(onnx.helper.get_attribute_value(attribute)))


def _constant(array: np.ndarray) -> Iterator[Any]:
    yield str(array.dtype)
    yield list(array.shape)
    if array.dtype.kind in "biu":
        yield array.tolist()
    elif array.dtype.kind == "f" and array.size <= 8:
        yield _rounded(array.astype(np.float64).reshape(-1).tolist())


def _rounded(value: Any) -> Any:
    """Floats to four digits, in lists too."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return [_rounded(v) for v in value] if isinstance(value, list) else value


def _said(spec: Spec) -> str:
    return f"{spec.dtype} {spec.shape}"


def _refusal(error: Exception) -> str:
    return type(error).__name__


def digest(what: Any) -> str:
    """Eight letters of a text or of anything that JSON can say."""
    text = what if isinstance(what, str) else json.dumps(list(what), default=str)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def alike(now: Any, then: Any) -> bool:
    """True where answers are the same but for the rounding of their figures."""
    if isinstance(now, dict) and isinstance(then, dict):
        return now.keys() == then.keys() and all(alike(now[k], then[k]) for k in now)
    if isinstance(now, list) and isinstance(then, list):
        if len(now) == len(then) == 3 and isinstance(now[1], float):
            size = max(abs(now[1]), abs(then[1]), 1e-30)
            return now[0] == then[0] and all(abs(a - b) <= 5e-3 * size for a, b in zip(now[1:], then[1:], strict=True))
        if len(then) == 2 and len(now) == 3 and isinstance(then[0], str):
            return now[:2] == then  # figures that were not sure are not held
        return len(now) == len(then) and all(map(alike, now, then))
    return bool(now == then)


def recorded(surface: str) -> list[tuple[Any, Answer]]:
    """The cases of a surface, with their answers."""
    lines = (FOLDER / f"{surface}.jsonl").read_text().splitlines()
    return [(row["case"], row["answer"]) for row in map(json.loads, lines)]


def write(surface: str, rows: Sequence[tuple[Any, Answer]]) -> None:
    """Record cases with their answers."""
    text = "".join(json.dumps({"case": case, "answer": said}) + "\n" for case, said in rows)
    (FOLDER / f"{surface}.jsonl").write_text(text)
