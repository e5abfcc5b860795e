"""ONNX files in half precision, imported as symbols in float32."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx

from converters.precision.retype import WIDENED, from_proto, retype

from ..faces.notebook import listener
from ..half import widen_half
from ..importing import ImportResult, import_onnx
from ..inputs import Given, as_specs, loaded
from ..job import NotEquivalent, check_target
from ..models import BadInput, open_onnx
from ..paths import symbol_files
from ..result import Progress
from ..verify import verify as verify_models
from .survey import halves


def import_widened(
    model: Any,
    *,
    output: str | os.PathLike[str] | None = None,
    inputs: Given | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    seed: int = 0,
    verify: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> ImportResult:
    """Read an ONNX model in float16 or bfloat16 as a symbol in float32: casts between them go, and weights are what they were.

    First the model in float32 is held against the file, as exactly as half precision allows; then it is imported, and verified as
    any import is (verify=False leaves out both). model, output, inputs, ranges, seed, progress and further options are those of
    bridge.import_onnx, without expected. Raises what that raises, NotEquivalent also where float32 gives other numbers, and
    BadInput where nothing in the model is of half precision.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert_in(gluonnx.Half(), "model", inputs={"data": (1, 3)}, output="half.onnx")
    >>> result = gluonnx.import_widened("half.onnx", output="again")
    >>> list(result.outputs)
    ['top_fwd_output']
    """
    tell = listener(progress)
    if options.get("expected") is not None:
        raise BadInput("recorded outputs are those of the file's own precision: leave out --expected, or --fp32")
    held = open_onnx(model)
    if output is not None:
        for place in symbol_files(output):
            check_target(place, *held.files())
    before = from_proto(onnx.load(held.path) if held.path is not None else held.proto)  # type: ignore[arg-type]
    count = halves(before)
    if not count:
        raise BadInput(f"{held.name}: nothing in it is float16 or bfloat16; leave out --fp32")
    tell("writing it in float32")
    specs, arrays = as_specs(loaded(inputs, held))
    given: dict[str, Any] = {**{n: s.shape for n, s in specs.items()}, **widen_half(arrays)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{held.name}.onnx"
        retype(before, WIDENED, turned=None).converted.save(path)
        note = f"{count} tensors of half precision became float32"
        if verify:
            tell("comparing with the file in half precision")
            found = verify_models(
                held, path, inputs=given, ranges=ranges, seed=seed, draws=("expected",), progress=tell
            )
            if found.verdict == "not equivalent":
                raise NotEquivalent(found, ["this is the model in float32 against the file in half precision"])
            note += "; the file gives the same numbers, as exactly as half precision allows"
        told = {"output": output, "inputs": given, "ranges": ranges, "seed": seed, "verify": verify}
        result = import_onnx(path, progress=progress, **told, **options)
    return replace(result, warnings=(*result.warnings, note))
