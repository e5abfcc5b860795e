"""Judges combinations: what MXNet recorded, what the engine's NumPy rules give, what onnxruntime makes of the exported node."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

import converters
from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.op import OPS
from hybrid.execution.program import Program
from hybrid.ir.graph import Graph
from hybrid.ir.infer import infer

from ..table.goldens import PARAMETERS, Anything, Case, close, run_onnx
from . import spaces
from .reasons import COARSE, COARSE_ONNXRUNTIME, OWN, STRICTER, epsilon, reason
from .space import Point

FOLDER = Path(__file__).parents[2] / "fixtures" / "sweep"
OPSETS = (13, 17, 21, 24)
"""The last is the newest that the oldest onnxruntime in use loads; see tests/table."""

RIGHT, REFUSED, INVALID, WRONG = "right", "refused", "invalid", "wrong"


class Verdict(NamedTuple):
    """Outcome of a combination."""

    point: Point
    word: str
    """RIGHT: all witnesses agree at every opset that does not refuse. REFUSED: no opset can say it. INVALID: the operator
    rejects it, as MXNet does. WRONG: anything else."""
    detail: str = ""
    witnessed: bool = True
    """True where MXNet's numbers are among the oracles; where it does not run the combination, engine and onnxruntime are."""
    since: int = OPSETS[0]
    """The first opset at which it is right."""


@functools.cache
def _recorded(family: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    path = FOLDER / f"{family}.json"
    with np.load(path.with_suffix(".npz")) as numbers:
        return json.loads(path.read_text(encoding="utf-8")), dict(numbers)


def recorded(family: str) -> dict[str, dict[str, Any]]:
    """MXNet's answers by operator and key."""
    return {operator: rows for operator, rows in _recorded(family)[0].items() if operator != "birth"}


def points(operators: frozenset[str] | None = None) -> Iterator[tuple[str, Point]]:
    """All combinations, each with its family."""
    for family, declared in spaces.load().items():
        for operator, several in declared.items():
            if operators is None or operator in operators:
                for space in several:
                    yield from ((family, point) for point in space.points())


def _answer(family: str, point: Point) -> str | list[Any]:
    """MXNet's outputs, or its error."""
    table, numbers = _recorded(family)
    row = table[point.operator][point.key]
    if isinstance(row, str):
        return row
    outputs: list[Any] = []
    undefined = row.get("undefined", ()) if isinstance(row, dict) else ()
    for i, text in enumerate(row["out"] if isinstance(row, dict) else row):
        spec, _, start = text.partition("@")
        known = Anything.of(spec)
        if start and f"out/{i}" not in undefined:
            flat = numbers[known.dtype.name][int(start) : int(start) + int(np.prod(known.shape))]
            outputs.append(flat.reshape(known.shape))
        else:
            outputs.append(known)
    return outputs


def case_of(point: Point, answer: list[Any] | None) -> Case:
    """The combination as a recorded case: with MXNet's outputs, where they are given."""
    case = Case(point.operator, point.key, point.attrs, tuple(map(str, range(len(point.inputs)))), {}, {}, False)
    names = case.op().input_names()
    if len(names) != len(point.inputs):
        raise MXNetError(f"{point.operator}: takes {', '.join(names)}, was given {len(point.inputs)} arrays")
    known = {n: a for n, a in zip(names, point.inputs)}
    open_ = {i: out for i, out in enumerate(answer or ()) if isinstance(out, Anything)}
    out = {str(i): array for i, array in enumerate(answer or ()) if i not in open_}
    return case._replace(names=names, data={"in": known, "out": out}, undefined=open_)


def judge(family: str, point: Point, opsets: Sequence[int] = OPSETS) -> Verdict:
    """The verdict on a combination, exported at some opsets."""
    answer = _answer(family, point)
    own = reason(OWN, point)
    witness = None if isinstance(answer, str) or own else answer
    verdict = functools.partial(Verdict, point, witnessed=witness is not None)
    try:
        case = case_of(point, witness)
        feeds = dict(zip(case.names, case.arrays()))
        graph = case.graph()
        inferred = infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})
    except MXNetError as error:
        if isinstance(answer, str) or own or reason(STRICTER, point):
            return verdict(INVALID, str(error))
        return verdict(WRONG, f"MXNet runs what is rejected here: {error}")
    except Exception as error:  # a fault, whatever it is
        return verdict(WRONG, f"inference: {type(error).__name__}: {error}")
    specs = [inferred.spec(entry) for entry in graph.outputs]
    op = case.op()
    eps = epsilon(COARSE, point)
    try:
        got = _numpy(graph, feeds)
        for result, spec in zip(got, specs, strict=True):
            assert result.dtype == spec.dtype, f"dtype {result.dtype}, inferred {spec.dtype}"
            assert OPS[point.operator].data_dependent_shape or result.shape == spec.shape, (
                f"{result.shape} not {spec.shape}"
            )
        drawn = "rng" in op.needs and "training" not in op.needs
        if drawn:  # whatever MXNet drew, and twice the same by chance
            assert witness is None or [(a.shape, a.dtype) for a in got] == [(a.shape, a.dtype) for a in witness]
            wants = [Anything(a.shape, a.dtype) for a in got]
        else:
            wants = case.outputs() if witness is not None else got
        for result, want in zip(got, wants, strict=True):
            close(result, want, op, eps)
    except MXNetError as error:
        if witness is None or reason(STRICTER, point):
            return verdict(INVALID, str(error))
        return verdict(WRONG, f"engine: {error}")
    except Exception as error:
        return verdict(WRONG, f"engine: {type(error).__name__}: {_short(error)}")
    try:
        for result, want in zip(Program(graph).run(feeds), wants, strict=True):
            close(result, want, op, eps)
    except Exception as error:
        return verdict(WRONG, f"compiled: {type(error).__name__}: {_short(error)}")
    return _exported(case, feeds, wants, max(eps, epsilon(COARSE_ONNXRUNTIME, point)), opsets, verdict)


def _numpy(graph: Graph, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    before = native.use(None)
    try:
        return Program(graph).run(feeds)
    finally:
        native.use(before)


def _exported(
    case: Case, feeds: dict[str, np.ndarray], wants: list[Any], eps: float, opsets: Sequence[int], verdict: Any
) -> Verdict:
    stored = {n: a for n, a in feeds.items() if n in PARAMETERS}
    fed = {n: a for n, a in feeds.items() if n not in PARAMETERS}
    refusals: dict[str, None] = {}
    right = []
    for opset in opsets:
        try:
            model = converters.to_onnx(case.graph(), stored, fed, opset)
        except converters.UnsupportedModel as error:
            refusals.update(dict.fromkeys(problem.reason for problem in error.problems))
            continue
        except Exception as error:
            return verdict(WRONG, f"export at {opset}: {type(error).__name__}: {_short(error)}")
        narrowed = any(n.op_type == "Cast" and n.attribute[0].i == onnx.TensorProto.FLOAT for n in model.graph.node)
        coarse = max(eps, float(np.finfo(np.float32).eps)) if narrowed else eps
        try:
            for result, want in zip(run_onnx(model, feeds), wants, strict=True):
                close(result, want, case.op(), coarse)
        except Exception as error:
            return verdict(WRONG, f"onnxruntime at {opset}: {type(error).__name__}: {_short(error)}")
        right.append(opset)
    if right:
        return verdict(RIGHT, since=min(right))
    return verdict(REFUSED, "; ".join(refusals))


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
