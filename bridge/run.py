"""Runs a model on given inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from hybrid.core.op import Spec
from hybrid.core.precision import FLOAT32
from hybrid.execution.precision_report import PrecisionReport
from hybrid.passes.strip_labels import label_names

from .engines import Arrays, NativeEngine, OnnxEngine
from .inputs import Given, Inputs, as_specs, loaded, sources_of
from .models import ONNX, BadInput, Model, check_named, hold_dtypes, open_model, specs_of_onnx
from .opsets import default_opset, newest
from .paths import one_or_more


def run(
    model: Any,
    inputs: Given,
    *,
    params: Any = None,
    engine: Literal["native", "onnxruntime"] | None = None,
    outputs: str | Sequence[str] | None = None,
    precision: str = FLOAT32,
) -> Arrays:
    """Outputs by name.

    model: what open_model takes. inputs: an .npz, or arrays by name. engine: "native" or "onnxruntime"; by default the one that
    the model is for (symbols are converted in memory for the other, ONNX models are imported). outputs: cut the model at these.
    precision: of constant weights, "bfloat16" or "int8" on the native engine only, which is the default then.
    Raises BadInput, EngineError or hybrid's errors.

    Examples
    --------
    >>> import gluonnx
    >>> import numpy as np
    >>> gluonnx.run("model", {"data": np.float32([[1, 2, 3]])})
    {'top_fwd_output': array([[14.,  6.]], dtype=float32)}
    """
    if engine not in (None, "native", "onnxruntime"):
        raise BadInput(f"got engine {engine!r}, wanted native or onnxruntime")
    if check_named(precision) != FLOAT32:
        if engine == "onnxruntime":
            raise BadInput(f"got precision {precision!r} with engine onnxruntime, wanted native, which has it")
        engine = "native"
    opened = open_model(model, params)
    given = loaded(inputs, opened)
    feeds, files = _arrays(given), sources_of(given)
    if not opened.is_onnx:
        opened = opened.select(one_or_more(outputs)).inferring(feeds)
        native = NativeEngine(opened, feeds, precision)
        unknown = [n for n in feeds if n not in native.inputs]
        if unknown:
            labels = set(label_names(native.graph))
            takes = ", ".join(n for n in native.inputs if n not in labels)
            raise BadInput(*(f"unknown input {n}: the model takes {takes or 'none'}" for n in unknown))
        feeds = hold_dtypes(opened, feeds, files)
        if engine != "onnxruntime":
            return native.run(feeds)
        specs = {n: Spec(v.shape, v.dtype) for n, v in native.complete(feeds).items()}
        made = ONNX.translated(opened, inputs=specs, default=default_opset(), newest=newest())
        return OnnxEngine(Model(opened.name, proto=made.proto())).run(feeds)
    takes = specs_of_onnx(opened.proto)  # type: ignore[arg-type]  # is_onnx
    opened = opened.select(one_or_more(outputs))
    runtime = NativeEngine(opened.native, feeds, precision) if engine == "native" else OnnxEngine(opened)
    unknown = [n for n in feeds if n not in takes]
    if unknown:
        raise BadInput(*(f"unknown input {n}: the model takes {', '.join(takes)}" for n in unknown))
    if files:  # arrays of a program's own are held to dtypes and shapes at once where they are run
        feeds = hold_dtypes(opened, feeds, files)
    return runtime.run({n: a for n, a in feeds.items() if n in runtime.inputs})


def _arrays(inputs: Inputs) -> Arrays:
    return as_specs({k: np.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v) for k, v in inputs.items()})[1]


def precision_report(
    model: Any,
    inputs: Given,
    *,
    params: Any = None,
    outputs: str | Sequence[str] | None = None,
    precision: str,
) -> PrecisionReport:
    """Costs of a precision of constant weights on these inputs, beside weights as they are, on our engine.

    model, params, inputs, outputs: as run takes them. precision: "bfloat16" or "int8". The result has a row for
    each output (its greatest and mean difference, of its size) and for each layer whose weights are held so.
    Raises BadInput or hybrid's errors.

    Examples
    --------
    >>> import gluonnx
    >>> import numpy as np
    >>> data = np.float32([[1, 2, 3]])
    >>> report = gluonnx.precision_report("model", {"data": data}, precision="bfloat16")
    >>> type(report).__name__
    'PrecisionReport'
    """
    opened = open_model(model, params)
    feeds = _arrays(loaded(inputs, opened))
    opened = opened.select(one_or_more(outputs)).inferring(feeds)
    return NativeEngine(opened.native, feeds, check_named(precision)).precision_report(feeds)
