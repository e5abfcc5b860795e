"""The smallest model that shows a difference of two: nodes first, then the batch, then sizes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..cases import make_case, pair_outputs
from ..compare import Tolerance, as_tolerance
from ..engines import Arrays, Engine, NativeEngine, engine_for
from ..faces.notebook import listener
from ..inputs import Inputs, as_specs
from ..locate import first_divergence
from ..models import BadInput, described, names_of_two, open_with
from ..nodewise import NodewiseResult, node_by_node
from ..result import Case, Divergence, Progress
from .causes import causes
from .piece import Limit, Outcome, Piece, shrink, usual_limit
from .repro import Found, check_folder, write_folder


@dataclass(frozen=True)
class ReduceResult:
    """The result of reduce: a tensor that both models make from the same values, and differently.

    Examples
    --------
    >>> import gluonnx
    >>> from gluonnx import mx
    >>> x = mx.sym.var("x")
    >>> a, b = (mx.sym.relu(f(x, name="e"), name="r") for f in (mx.sym.exp, mx.sym.sin))
    >>> result = gluonnx.reduce(a, b, "repro", inputs={"x": (2,)})
    >>> result.as_dict()["node"]
    'e'
    """

    a: str
    """Name of the first model."""
    b: str
    """Name of the second."""
    folder: str
    """The folder written."""
    files: tuple[str, ...]
    """Names of what is in it."""
    tensor: str
    """The tensor's name."""
    node: str
    """The node that makes it."""
    operator: str
    """The node's operator."""
    operators: tuple[int, int]
    """Numbers of operators that are left of both models."""
    inputs: dict[str, dict[str, Any]]
    """Shape and dtype of what the piece is given, by name."""
    differs: str
    """The difference in words."""
    causes: tuple[str, ...] = ()
    """Differences of the models there, in words."""
    seconds: float = 0.0
    """Seconds that it took."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        given = ", ".join(f"{n} {'x'.join(map(str, s['shape'])) or 'scalar'}" for n, s in self.inputs.items())
        return "\n".join((
            f"{self.node} ({self.operator}): {self.differs}",
            *(f"  {c}" for c in self.causes),
            f"{self.operators[0]} operators of {self.a} and {self.operators[1]} of {self.b}, on {given}",
            f"wrote {', '.join(self.files)} to {self.folder}; python {self.folder}/repro.py shows it",
        ))  # fmt: skip


def reduce(
    a: Any,
    b: Any,
    output: str | os.PathLike[str],
    *,
    inputs: Inputs | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    params: Any = None,
    seed: int = 0,
    tolerance: Tolerance | tuple[float, float] | None = None,
    progress: Progress | None = None,
) -> ReduceResult:
    """Find the smallest part of two models that gives different numbers, and write it to a folder as ONNX's own tests are laid out.

    a, b, inputs, ranges, params, seed, tolerance: as verify takes them. output: a folder that does not exist, is empty, or holds
    what reduce wrote before. It gets model.onnx (b's part, or the ONNX model's where b is a symbol), test_data_set_0 with what
    goes in and what the other side gives, that other side as files, README.md and repro.py, which needs onnxruntime only and
    ends with 1 while the difference is there. Raises BadInput where there is no difference, or the folder holds something else.
    progress: called with a text whenever something else begins.

    Examples
    --------
    >>> import gluonnx
    >>> from gluonnx import mx
    >>> x = mx.sym.var("x")
    >>> a, b = (mx.sym.relu(f(x, name="e"), name="r") for f in (mx.sym.exp, mx.sym.sin))
    >>> result = gluonnx.reduce(a, b, "repro", inputs={"x": (2,)})
    >>> result.node, result.operators
    ('e', (1, 1))
    """
    start = time.perf_counter()
    tell = listener(progress)
    folder = check_folder(Path(output))
    first, second = (open_with(m, params) for m in (a, b))
    specs, arrays = as_specs(inputs)
    left, right = engine_for(first, specs), engine_for(second, specs)
    case = make_case(left, right, specs, arrays, seed, ranges=ranges)
    limits = as_tolerance(tolerance)
    piece, values, outcome, limit = _find(left, right, case, limits, tell)
    words = _causes(piece)
    found = _write(folder, piece, values, outcome, limit, words, names_of_two(first, second), tell)
    return _result(found, names_of_two(first, second), time.perf_counter() - start)


def write_repro(folder: Path, left: Engine, right: Engine, divergence: Divergence, case: Case) -> Path:
    """Write the folder for a divergence that is known. Raises OSError, and BadInput for a folder that holds something else."""
    check_folder(folder)
    left, right = _ours_first(left, right)
    theirs, _ = pair_tensors(left, right, case)
    back = {t: n for n, t in theirs.items()}
    target = divergence.tensor if divergence.tensor in theirs else back.get(divergence.tensor, "")
    if not target:
        raise BadInput(f"{divergence.tensor} has no partner in the other model")
    piece, values, outcome, limit = _cut(left, right, theirs, case, target, None, lambda _text: None)
    names = names_of_two(left.model, right.model)
    _write(folder, piece, values, outcome, limit, _causes(piece), names, lambda _text: None)
    return folder


def _ours_first(left: Engine, right: Engine) -> tuple[Engine, Engine]:
    """The sides with a symbol first: what runs in onnxruntime is what the folder holds as a model."""
    return (right, left) if isinstance(right, NativeEngine) and not isinstance(left, NativeEngine) else (left, right)


def pair_tensors(
    left: Engine, right: Engine, case: Case, reference: Engine | None = None
) -> tuple[dict[str, str], NodewiseResult]:
    """Tensors and inputs of the right side by those of the left, and the comparison node by node that paired those inside: by name,
    or by what they hold."""
    mine, known = ({t.name for t in e.inner_tensors()} for e in (left, right))
    inputs = {n: case.names.get(n, n) for n in case.feeds}
    inputs |= {m: n for n, m in case.names.items()}
    inputs = {n: m for n, m in inputs.items() if n in left.inputs and m in right.inputs}
    pairs = pair_outputs(list(left.outputs), list(right.outputs))
    outputs = {a: b for a, b in pairs if a in mine and b in known}
    inner = node_by_node(left, right, case, [*outputs.items()], reference or left)
    taken = set(outputs.values())
    inside = inner.pairs_from(left)
    return inputs | {n: m for n, m in inside.items() if m not in taken} | outputs, inner


def _find(
    left: Engine, right: Engine, case: Case, tolerance: Tolerance | None, tell: Progress
) -> tuple[Piece, Arrays, Outcome, Limit]:
    """The smallest failing piece. Raises BadInput where the models agree."""
    left, right = _ours_first(left, right)
    tell("comparing node by node")
    theirs, inner = pair_tensors(left, right, case)
    targets = [f.tensor for f in inner.faults]
    if not targets:
        tell("looking for the first tensor that differs")
        found = first_divergence(left, right, case, tolerance)
        targets = [found.tensor] if found is not None and found.tensor in theirs else []
    targets += [a for a in left.outputs if a in theirs]
    for target in dict.fromkeys(targets):
        try:
            return _cut(
                left, right, theirs, case, target, tolerance, tell, sure=target in {f.tensor for f in inner.faults}
            )
        except BadInput:
            continue
    one, other = names_of_two(left.model, right.model)
    raise BadInput(f"{one} and {other} give the same numbers on these inputs; give others (--inputs, --seed)")


def _cut(
    left: Engine,
    right: Engine,
    theirs: Mapping[str, str],
    case: Case,
    target: str,
    tolerance: Tolerance | None,
    tell: Progress,
    sure: bool = True,
) -> tuple[Piece, Arrays, Outcome, Limit]:
    """The shortest piece before a tensor that fails, made small. sure: the node alone is known to compute something else, however
    little. Raises BadInput where nothing fails."""
    order = [t.name for t in left.inner_tensors() if t.name in theirs]
    place = order.index(target)
    feeds = {n: v for n, v in case.feeds.items() if n in left.inputs or n not in case.names.values()}

    def tried(back: int) -> tuple[Piece, Arrays, Outcome] | None:
        tell(f"{target}: {back} tensors before it")
        piece = Piece(left, right, theirs, order[: max(place - back + 1, 0)], target)
        reads = piece.reads(feeds)
        values = {n: feeds[n] for n in reads if n in feeds}
        inside = [n for n in reads if n not in feeds]
        values |= left.expose(case.feeds, inside) if inside else {}
        outcome = piece.try_run(values)
        return None if outcome is None else (piece, values, outcome)

    found = tried(1)
    if found is not None and sure and found[2].alike:
        limit = usual_limit(found[2], tolerance)
        if not found[2].fails(limit):
            apart = np.abs(found[2].got.astype(np.float64) - found[2].want.astype(np.float64)).max(initial=0)
            limit = Limit(float(apart) / 4, 0.0)
        if found[2].fails(limit):
            return (found[0], *shrink(*found, limit, tell), limit)
    back, last = 1, 0
    while found is None or not found[2].fails(usual_limit(found[2], tolerance)):
        if back > place:
            raise BadInput(f"no piece of the models before {target} differs by itself")
        last, back = back, min(2 * back, place + 1)
        found = tried(back)
    while back - last > 1:  # the shortest that fails
        middle = (back + last) // 2
        shorter = tried(middle)
        if shorter is not None and shorter[2].fails(usual_limit(shorter[2], tolerance)):
            back, found = middle, shorter
        else:
            last = middle
    limit = usual_limit(found[2], tolerance)
    return (found[0], *shrink(*found, limit, tell), limit)


def _causes(piece: Piece) -> tuple[str, ...]:
    """The differences of the models at the operators of a piece."""
    tensors = [t for t in piece.left.inner_tensors() if t.name == piece.target]
    found = causes(piece.left.model, piece.right.model, [t.node for t in tensors])
    return tuple(w for words in found.values() for w in words)


def _write(
    folder: Path,
    piece: Piece,
    values: Arrays,
    outcome: Outcome,
    limit: Limit,
    words: Sequence[str],
    names: tuple[str, str],
    tell: Progress,
) -> Found:
    tell("writing")
    [tensor] = [t for t in piece.left.inner_tensors() if t.name == piece.target][:1]
    found = Found(piece, values, outcome, limit, tensor, tuple(words), names)
    return write_folder(folder, found)


def _result(found: Found, names: tuple[str, str], seconds: float) -> ReduceResult:
    return ReduceResult(
        *names,
        folder=str(found.folder),
        files=tuple(found.files),
        tensor=found.tensor.name,
        node=found.tensor.node,
        operator=found.tensor.operator,
        operators=found.piece.operators(),
        inputs=described(found.values),
        differs=found.differs(),
        causes=found.words,
        seconds=seconds,
    )
