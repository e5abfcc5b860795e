"""A model repository of NVIDIA's Triton Inference Server, with its backend onnxruntime.

Source: https://github.com/triton-inference-server/server/blob/main/docs/user_guide/model_repository.md and model_configuration.md
beside it; the fields are those of model_config.proto."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from converters.reader import read_model
from hybrid.core.attrs import is_float
from hybrid.core.op import Spec
from hybrid.core.shapes import show

from ..models import onnx_spec, specs_of_onnx
from ..paths import BadInput, listed, served_in
from .package import LABELS, Layout, Package, labels_file

CONFIG, MODEL = "config.pbtxt", "model.onnx"
MAX_BATCH = 8
"""The largest batch of requests where nobody says another one."""
TYPES = {
    "bool": "TYPE_BOOL",
    "float16": "TYPE_FP16",
    "bfloat16": "TYPE_BF16",
    "float32": "TYPE_FP32",
    "float64": "TYPE_FP64",
    "object": "TYPE_STRING",
    "str": "TYPE_STRING",
    **{f"{sign}int{bits}": f"TYPE_{sign.upper()}INT{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""Triton's data types, by the dtype's name."""
Specs = Mapping[str, Spec]


def models_in(place: Path) -> list[str]:
    """Names of models in a folder that is a model repository; none in any other one."""
    served = served_in(place) if place.is_dir() else {}
    return [name for name, model in served.items() if model is not None or (place / name / CONFIG).is_file()]


def layout(package: Package, place: Path) -> Layout:
    """``NAME/config.pbtxt``, labels beside it, and ``NAME/VERSION/model.onnx``, of the version that follows those which are there.

    What is there belongs to all versions and stays as it is. Raises BadInput where it would not fit the new version."""
    folder = place / package.name
    versions = _versions(folder)
    batch, note = _batch(package)
    if package.max_batch is not None and not batch:
        raise BadInput(f"--max-batch {package.max_batch}: {note}")
    most = (package.max_batch or MAX_BATCH) if batch else 0
    files: dict[str, bytes | Path] = {}
    kept = []
    if versions:
        _check_older(folder, versions[-1], package)
        kept = [f"{package.name}/{n}" for n in (CONFIG, LABELS) if (folder / n).is_file()]
        note = _kept_configuration(folder / CONFIG, package.max_batch) if (folder / CONFIG).is_file() else note
    notes = [note] if note else []
    named = [n for n in package.outputs if _is_of_classes(package, n, most)]
    if named and len(package.outputs) > 1:
        notes.append(f"{LABELS} names the classes of {listed(named)}")
    elif package.labels and not named:
        maps = [n for n, s in package.outputs.items() if _is_of_pixels(package, s)]
        why = (
            f"{maps[0]} holds a score of each of {len(package.labels)} classes for every pixel, and Triton names classes of whole "
            "pictures alone"
            if maps
            else f"no output holds a score for each of {len(package.labels)} names, so Triton gives none out"
        )
        notes.append(f"{LABELS} is for clients: {why}")
    files[f"{package.name}/{CONFIG}"] = config(package, most).encode()
    if package.labels:
        files[f"{package.name}/{LABELS}"] = labels_file(package.labels)
    version = versions[-1] + 1 if versions else 1
    files |= {f"{package.name}/{version}/{name}": path for name, path in package.files.items()}
    return Layout(files, f"tritonserver --model-repository {place.resolve()}", kept, notes)


def check_before(folder: Path, labels: Sequence[str], max_batch: int | None) -> None:
    """Raise BadInput, before anything is made, for what the folder of a model says of all its versions otherwise."""
    if not _versions(folder):
        return
    problems = _other_labels(folder, labels)
    if problems:
        raise BadInput(*problems)
    if (folder / CONFIG).is_file():
        _kept_configuration(folder / CONFIG, max_batch)


def _other_labels(folder: Path, labels: Sequence[str]) -> list[str]:
    """Words for names of classes that are not those which are there."""
    path = folder / LABELS
    if not labels or not path.is_file() or path.read_bytes() == labels_file(labels):
        return []
    return [f"{path} holds other names of classes, for all versions; deploy under another name (--name)"]


def config(package: Package, max_batch: int) -> str:
    """The text of config.pbtxt. max_batch: 0 for a model whose first axes are no batch, and which is served as it is."""
    lines = [
        f"name: {_quoted(package.name)}",
        'backend: "onnxruntime"',
        f"max_batch_size: {max_batch}",
    ]
    for name, spec in package.inputs.items():
        lines += ["input [", *_tensor(name, spec, max_batch), "]"]
    for name, spec in package.outputs.items():
        labelled = [f"    label_filename: {_quoted(LABELS)}"] if _is_of_classes(package, name, max_batch) else []
        lines += ["output [", *_tensor(name, spec, max_batch, labelled), "]"]
    lines += ["dynamic_batching {", "}"] if max_batch else []
    return "\n".join([*lines, "instance_group [", "  {", "    count: 1", "    kind: KIND_AUTO", "  }", "]", ""])


def _tensor(name: str, spec: Spec, max_batch: int, more: list[str] | None = None) -> list[str]:
    if spec.dtype is None or spec.dtype.name not in TYPES:
        raise BadInput(f"{name} is {spec.dtype}, which Triton does not have; wanted one of {', '.join(TYPES)}")
    if spec.shape is None:
        raise BadInput(f"how many axes {name} has is not said in the model, and Triton wants that to be known")
    dims = [d if isinstance(d, int) else -1 for d in spec.shape[1 if max_batch else 0 :]]
    if 0 in dims:
        raise BadInput(f"{name} {show(spec.shape)} is empty, which Triton does not take")
    out = [f"    name: {_quoted(name)}", f"    data_type: {TYPES[spec.dtype.name]}"]
    # a tensor without axes of its own is one of a single number that is taken off again
    out += [f"    dims: [ {', '.join(map(str, dims or [1]))} ]", *([] if dims else ["    reshape { shape: [ ] }"])]
    return ["  {", *out, *(more or []), "  }"]


def _is_of_classes(package: Package, output: str, max_batch: int) -> bool:
    """True for an output of scores, as many as there are names."""
    spec = package.outputs[output]
    if output in package.chosen:
        return False
    dims = (spec.shape or ())[1 if max_batch else 0 :]
    known = all(isinstance(d, int) for d in dims)
    scores = spec.dtype is not None and is_float(spec.dtype)
    return bool(package.labels) and known and int(np.prod(dims)) == len(package.labels) and scores


def _is_of_pixels(package: Package, spec: Spec) -> bool:
    """True for scores of each class for every pixel: (N, classes, H, W)."""
    scores = spec.dtype is not None and is_float(spec.dtype)
    return scores and spec.shape is not None and len(spec.shape) == 4 and spec.shape[1] == len(package.labels)


def _kept_configuration(path: Path, max_batch: int | None) -> str:
    """A remark on the configuration that is there. Raises BadInput where it says another batch than is asked for."""
    said = re.search(r"^[ \t]*max_batch_size[ \t]*:[ \t]*(\d+)", path.read_text("utf-8", "replace"), re.MULTILINE)
    have = int(said[1]) if said else 0  # what Triton takes for one that is not said
    if max_batch is not None and have != max_batch:
        raise BadInput(
            f"--max-batch {max_batch}: {path} says {have}, for all versions, and stays as it is; change it there, or deploy under "
            "another name (--name)"
        )
    return f"{path} stays as it is, for all versions"


def _batch(package: Package) -> tuple[bool, str]:
    """True where the first axis of all is one batch of any size; else a remark why not, and what to do."""
    inputs, outputs = package.inputs, package.outputs
    firsts = {n: (s.shape or (0,))[0] for n, s in (*inputs.items(), *outputs.items())}
    wanted = next((firsts[n] for n in inputs), 0)
    fixed = [n for n, d in firsts.items() if isinstance(d, int)]
    if fixed and (exactly := package.fixed_batch()):
        return False, f"{exactly}, and Triton makes no batches of requests; {package.how_to_open}"
    if fixed:
        spec = (inputs.get(fixed[0]) or outputs[fixed[0]]).shape
        why = f"the first axis of {fixed[0]} is fixed to {firsts[fixed[0]]}" if spec else f"{fixed[0]} has no axis"
        advice = f"; {package.how_to_open}" if not any(isinstance(firsts[n], str) for n in inputs) else ""
        return False, f"Triton makes no batches of requests, since {why}{advice}"
    other = [n for n, d in firsts.items() if d != wanted and not (n in outputs and d == "?")]
    if other:
        return (
            False,
            f"Triton makes no batches of requests, since the first axis of {other[0]} is not that of the others",
        )
    return True, ""


def _versions(folder: Path) -> list[int]:
    """Numbers of the versions of a model that are there, in order."""
    if not folder.is_dir():
        return []
    return sorted(int(p.name) for p in folder.iterdir() if p.name.isdecimal() and p.name.isascii() and p.is_dir())


def _check_older(folder: Path, version: int, package: Package) -> None:
    """Raise BadInput unless the version before takes and gives the same: config.pbtxt is that of all versions."""
    path = folder / str(version) / MODEL
    if not path.is_file():
        raise BadInput(f"{folder} is there already and holds no {version}/{MODEL}; deploy under another name (--name)")
    older = read_model(path).proto
    takes, gives = specs_of_onnx(older), {o.name: onnx_spec(o) for o in older.graph.output}
    problems = []
    for what, old, new in (("inputs", takes, package.inputs), ("outputs", gives, package.outputs)):
        if _shown(old) != _shown(new):
            problems.append(
                f"{what} of version {version} in {folder} are {', '.join(_shown(old))}, and these are {', '.join(_shown(new))}: "
                f"all versions of a model take and give the same; deploy under another name (--name), or remove {folder} first"
            )
    problems += _other_labels(folder, package.labels)
    if problems:
        raise BadInput(*problems)


def _shown(specs: Specs) -> list[str]:
    """Names with what a configuration says of them: an open axis is one whatever it is called."""
    return sorted(
        f"{n} {s.dtype} {show(None if s.shape is None else tuple(d if isinstance(d, int) else '?' for d in s.shape))}"
        for n, s in specs.items()
    )


def _quoted(text: str) -> str:
    """A string as protobuf's text format has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if ord(c) >= 32 else f"\\{ord(c):03o}" for c in escaped) + '"'
