"""Agreement that reading a model has to keep: of an ONNX model and inputs every way through the product gives what
onnxruntime gives for the model itself, or onnx's own evaluator where onnxruntime has no kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime.capi.onnxruntime_pybind11_state as pybind
from onnx.reference import ReferenceEvaluator

import converters
from bridge.onnx_backend import OnnxBackendRep
from converters.importer import Imported, import_model
from hybrid import native
from hybrid.core.op import Spec
from hybrid.ir import json as symbol_json


def parsed(text: str) -> onnx.ModelProto:
    """A model from ONNX's text form; opset 17 when the text says none."""
    head = "" if text.lstrip().startswith("<") else '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>'
    return onnx.parser.parse_model(head + text)


def by_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Results of onnxruntime for a model, without its own rewriting."""
    return in_onnxruntime(model)(feeds)


def in_onnxruntime(model: onnx.ModelProto) -> Callable[[Mapping[str, Any]], list[Any]]:
    """The model in onnxruntime, to be run as often as wanted: to make a session takes ten times as long as to run it."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except pybind.NotImplemented:  # an older one has fewer kernels
        evaluator = ReferenceEvaluator(model)
        return lambda feeds: list(evaluator.run(None, dict(feeds)))
    wanted = {i.name for i in session.get_inputs()}
    return lambda feeds: session.run(None, {k: v for k, v in feeds.items() if k in wanted})


@contextmanager
def on_numpy() -> Iterator[None]:
    """No compiled kernels."""
    before = native.use(None)
    try:
        yield
    finally:
        native.use(before)


def same(got: Any, want: Any, rtol: float = 0.0) -> None:
    """Fail unless both are the same: arrays by shape, dtype and numbers, lists element by element."""
    if isinstance(want, list) or want is None:
        assert type(got) is type(want)
        assert want is None or len(got) == len(want)
        for one, other in zip(got or (), want or ()):
            same(one, other, rtol)
        return
    want = np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if not want.dtype.hasobject and got.tobytes() == want.tobytes():
        return
    if rtol and want.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(got, want)


def agree(
    model: str | onnx.ModelProto,
    *runs: Mapping[str, Any],
    wants: Sequence[Sequence[Any]] | None = None,
    rtol: float = 0.0,
    again: int | None = 21,
) -> Imported:
    """Read a model and run it on inputs by name, once for each of ``runs``; fail unless the results are those of onnxruntime, or
    ``wants`` where it does not take the model, on kernels and on NumPy, and, on NumPy, stay so to the last digit after a trip
    through Symbol JSON and one through ONNX.

    again: the opset at which it is written again; None not to."""
    proto = parsed(model) if isinstance(model, str) else model
    found = import_model(proto)
    names_differ(found)
    program = OnnxBackendRep(found)
    text = symbol_json.dumps(found.graph)
    loaded = OnnxBackendRep(found._replace(graph=symbol_json.loads(text)))
    written = None if again is None else _written(found, again)
    reread = None if written is None else import_model(written)
    once_more = None if reread is None else OnnxBackendRep(reread)
    theirs = in_onnxruntime(proto) if wants is None else None
    theirs_again = None if written is None or wants is not None else in_onnxruntime(written)
    for number, feeds in enumerate(runs):
        expected = wants[number] if theirs is None else theirs(feeds)
        for one, other in zip(program.run(dict(feeds)), expected, strict=True):
            same(one, other, rtol)
        with on_numpy():  # graphs that differ in form may run on other kernels, which round otherwise
            results = program.run(dict(feeds))
            for one, other in zip(results, expected, strict=True):
                same(one, other, rtol)
            for one, other in zip(loaded.run(dict(feeds)), results, strict=True):
                same(one, other)
            if reread is not None:
                left = {k: v for k, v in feeds.items() if k in reread.inputs}
                for one, other in zip(once_more.run(left), results, strict=True):
                    same(one, other)
                if theirs_again is not None:
                    for one, other in zip(theirs_again(left), expected, strict=True):
                        same(np.asarray(one) if isinstance(other, np.ndarray) else one, other, rtol)
    return found


def names_differ(found: Imported) -> None:
    """Fail if two nodes of the outermost graph go by one name."""
    names = [n.name for n in found.graph.nodes]
    assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)


def _written(found: Imported, opset: int) -> onnx.ModelProto:
    names = {n.name for n in found.graph.variables()}
    inputs = {n: Spec(s.shape, s.dtype) for n, s in found.inputs.items() if n in names and s.shape is not None}
    model = converters.to_onnx(found.graph, found.params, inputs, opset)
    onnx.checker.check_model(model, full_check=True)
    return model
