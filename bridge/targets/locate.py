"""The first node that a target refuses, crashes on or computes otherwise: the file is cut after more and more nodes, by halves."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx

from hybrid.formats.files import write

from ..engines import EngineError
from ..models import onnx_spec, specs_of_onnx
from ..runtime import RunFailed, Settings, open_session
from .place import Place
from .process import TargetRunner
from .profile import Profile

MOST = 256 << 20
"""Bytes of a file beyond which nothing is cut."""
PATIENCE = 120.0
"""Seconds after which the search ends without a result."""
APART = 2e-3
"""The difference, of a tensor's largest number, that counts as another number."""


def first_failing(
    profile: Profile, place: Place, path: Path, feeds: Mapping[str, np.ndarray], differs: bool
) -> onnx.NodeProto | None:
    """The node after which a target, which fails on the whole file, fails on what was cut; None where none is found.

    differs: it gives other numbers than onnxruntime does; else it does not run."""
    if path.stat().st_size > MOST:
        return None
    whole = onnx.shape_inference.infer_shapes(onnx.load(path))
    end = time.monotonic() + PATIENCE
    nodes = [n for n in whole.graph.node if n.op_type != "Constant"]
    good, bad = 0, len(nodes)  # the first so many run, the first so many do not
    while bad - good > 1:
        if time.monotonic() > end:
            return None
        middle = (good + bad) // 2
        part = _cut_after(whole, nodes[:middle])
        if part is None or _runs(profile, place, part, feeds, differs):
            good = middle
        else:
            bad = middle
    return nodes[bad - 1]


def _cut_after(whole: onnx.ModelProto, nodes: list[onnx.NodeProto]) -> onnx.ModelProto | None:
    """The model of these nodes, of which what none of them reads is an output; None where a type is not known."""
    known = {v.name: v for v in (*whole.graph.value_info, *whole.graph.output)}
    constants = [n for n in whole.graph.node if n.op_type == "Constant"]
    read = {i for n in nodes for i in n.input}
    ends = [o for n in nodes for o in n.output if o and o not in read]
    if not ends or any(o not in known for o in ends):
        return None
    part = onnx.ModelProto()
    part.CopyFrom(whole)
    for field in ("node", "output", "value_info", "initializer", "input"):
        part.graph.ClearField(field)
    part.graph.node.extend(constants + nodes)
    part.graph.output.extend(known[o] for o in ends)
    part.graph.initializer.extend(i for i in whole.graph.initializer if i.name in read)
    part.graph.input.extend(i for i in whole.graph.input if i.name in read)
    return part if part.graph.input else None


def _runs(
    profile: Profile, place: Place, part: onnx.ModelProto, feeds: Mapping[str, np.ndarray], differs: bool
) -> bool:
    """True where a target runs a model, and (differs) gives the numbers that onnxruntime gives."""
    inputs = specs_of_onnx(part)
    given = {n: a for n, a in feeds.items() if n in inputs}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.onnx"
        write(path, part.SerializeToString())
        outputs = {o.name: onnx_spec(o) for o in part.graph.output}
        with TargetRunner(profile, place, path, inputs, outputs, PATIENCE) as runner:
            try:
                found = runner.run(given)
            except EngineError:
                return False
    if not differs:
        return True
    try:
        right = dict(open_session(part.SerializeToString(), Settings(plain=True)).run(given))
    except RunFailed:
        return True  # nobody says what is right
    return all(_near(found[n], np.asarray(a)) for n, a in right.items())


def _near(got: np.ndarray, want: np.ndarray) -> bool:
    if got.shape != want.shape:
        return False
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    finite = np.isfinite(want)
    scale = float(np.abs(want[finite]).max(initial=0)) or 1.0
    return bool(np.array_equal(np.isfinite(got), finite) and np.abs(got - want)[finite].max(initial=0) <= APART * scale)
