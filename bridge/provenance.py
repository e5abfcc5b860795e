"""Facts about a conversion that the ONNX file carries in its metadata: from what it was made, by what, and how it was verified.

They are added behind what was verified, of which no byte changes; and they hold nothing that another run of the same conversion
would say otherwise (no dates, no times), so that files stay the same byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx

from converters.writer import DATA_KEY
from hybrid.formats.files import append

from .compare import SCALED
from .models import Model
from .recorded import own_version
from .result import VerifyResult, identify

PREFIX = "gluonnx."
"""Beginning of the names of such members of a model's metadata."""


def provenance(
    model: Model, opset: int, seed: int, result: VerifyResult | None, more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Facts about a conversion by name. result: None where nothing was verified. more: further ones."""
    import onnxruntime

    found = {"version": own_version(), "source": model.name, "opset": str(opset)}
    for kind, path in (("symbol", model.place), ("params", model.params_path)):
        if path is not None:  # parameters in an archive have no hash of their own beside that of the archive
            found |= {kind: path.name, **{f"{kind}.sha256": f.sha256 for f in identify([path])}}
    found["verdict"] = "not verified" if result is None else result.verdict
    if result is not None:
        rules = (SCALED.sub(" of a channel's largest number", d.tolerance) for d in result.differences if d.tolerance)
        found |= {"tolerance": "; ".join(dict.fromkeys(rules)) or "the same numbers", "seed": str(seed)}
        found["outputs"] = str(len(result.differences))
        found["inside"] = str(result.inner)
        found |= {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__, "numpy": np.__version__}
    return {f"{PREFIX}{name}": value for name, value in {**found, **(more or {})}.items()}


def add_to_file(path: Path, facts: dict[str, str]) -> None:
    """Add facts to the metadata of an ONNX file that has not appeared yet."""
    tail = onnx.ModelProto()
    for name, value in facts.items():
        tail.metadata_props.add(key=name, value=value)
    append(path, tail.SerializeToString())  # a message that follows another adds its members to that


def read_facts(proto: onnx.ModelProto) -> dict[str, str]:
    """Facts that a file carries, by their names without the prefix."""
    return {
        p.key.removeprefix(PREFIX): p.value
        for p in proto.metadata_props
        if p.key.startswith(PREFIX) and p.key != DATA_KEY
    }
