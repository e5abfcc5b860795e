"""Applies one operator to arrays: its NumPy meaning, checked against what inference said, with errors that name the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import rng as generators
from ..core.error import InternalError, MXNetError, OpError, OutOfMemory, at_node
from ..core.fp_warnings import ignoring_fp_warnings
from ..core.memory_budget import beyond, size_of
from ..core.op import Op, Spec
from ..core.shapes import Undecided, fits, is_known, show
from ..ir.graph import Entry, Graph, Node, SubgraphFunction
from ..ir.infer import Inference, infer
from .hooks import HOOKS, compute_of

LARGE = 1 << 12
"""Bytes of a tensor below which no budget need be asked."""


def apply(
    op: Op,
    arrays: Sequence[np.ndarray],
    specs: Sequence[Spec],
    *,
    name: str,
    training: bool = False,
    subgraphs: Sequence[SubgraphFunction] = (),
    rng: np.random.Generator | None = None,
) -> tuple[np.ndarray, ...]:
    """One operator applied to arrays: all its outputs, checked against what inference said of them.

    They share memory with no input unless the operator is a view. ``name`` is the node's, for errors; rng is this thread's
    generator when none is given. Raises MXNetError (or what the operator raised, when that derives from it)."""
    return apply_tracked(op, arrays, specs, name, training, None, subgraphs, rng)[0]


def apply_tracked(
    op: Op,
    arrays: Sequence[np.ndarray],
    specs: Sequence[Spec],
    name: str,
    training: bool,
    out: np.ndarray | None,
    subgraphs: Sequence[SubgraphFunction],
    rng: np.random.Generator | None,
) -> tuple[tuple[np.ndarray, ...], bool]:
    """See apply; and whether compute handed out memory of an input, so that it had to be copied."""
    options: dict[str, Any] = {}
    if op.needs:
        if "training" in op.needs:
            options["training"] = training
        if "rng" in op.needs:
            options["rng"] = rng or generators.generator()
        if "shape" in op.needs:
            options["shape"] = specs[0].shape
        if "specs" in op.needs:
            options["specs"] = specs
        if "subgraphs" in op.needs:
            options["subgraphs"] = subgraphs
    if out is not None:
        options["out"] = out
    else:
        _afford(op, arrays, specs, name)
    try:
        compute = compute_of(op) if HOOKS else op.compute
        results = ignoring_fp_warnings(lambda: compute(*arrays, **options))  # type: ignore[call-arg]
    except Exception as error:
        raise failure(op, arrays, name, error) from error
    results = tuple(map(np.asarray, results)) if isinstance(results, tuple | list) else (np.asarray(results),)
    copied = False
    if not op.view and out is None:
        shared = [_aliases(r, arrays) for r in results]
        copied = True in shared
        if copied:
            results = tuple(np.array(r) if s else r for r, s in zip(results, shared))
    if len(results) != len(specs):
        raise at_node(InternalError, name, op.name, f"computed {len(results)} results, wanted {len(specs)}")
    for result, spec in zip(results, specs):
        shape, dtype = spec
        if not fits(shape, result.shape) or (dtype is not None and result.dtype != dtype):
            if (misfit := _misfit(op, arrays, name)) is not None:
                raise misfit
            # where values decide about it, or about its inputs, it is from its readers that inference knows the shape
            decided = (dtype is None or result.dtype == dtype) and (
                op.data_dependent_shape or _matches_inference(op, arrays, results, name)
            )
            blame = (
                "the values do not fit the rest of the graph"
                if decided
                else "this is a bug in the operator, please report it"
            )
            raise at_node(
                MXNetError if decided else InternalError,
                name,
                op.name,
                f"computed {result.dtype}{show(result.shape)} where inference said {spec.dtype}{show(spec.shape)}; {blame}",
            )
    return results, copied


def _afford(op: Op, arrays: Sequence[np.ndarray], specs: Sequence[Spec], name: str) -> None:
    """Raise OutOfMemory where the results would take more than the budget, as far as that follows from inference or from the values
    of the inputs."""
    if "subgraphs" not in op.needs and not all(is_known(s.shape) for s in specs):
        options = {"values": arrays} if "values" in op.needs else {}
        try:
            found = op.infer_shape(*(a.shape for a in arrays), **options)
        except Undecided:
            return
        except Exception as error:
            # a ValueError as inference would have said, had it known what the run knows
            plain = isinstance(error, ValueError) and not isinstance(error, MXNetError)
            raise failure(op, arrays, name, op.error(str(error)) if plain else error) from error
        shapes = found if isinstance(found, list) else [found]
        specs = [Spec(a, b.dtype) for a, b in zip(shapes, specs)]
    _afford_outputs(name, op, specs)


def afford_all(graph: Graph, inference: Inference) -> None:
    """Raise OutOfMemory, naming the node, where one of a graph's tensors would take more than the budget."""
    for node in graph.nodes:
        if node.op is not None:
            for i in range(node.num_outputs):
                _afford_outputs(node.name, node.op, [inference.spec(Entry(node, i))])


def _afford_outputs(node: str, op: Op, specs: Sequence[Spec]) -> None:
    """Raise OutOfMemory, naming the node, where these take more than the budget."""
    size = sum(size_of(*s) for s in specs)
    if size >= LARGE and (said := beyond(size)):
        shapes = ", ".join(show(s.shape) for s in specs)
        raise at_node(OutOfMemory, node, op.name, f"its output of shape {shapes} {said}")


def failure(op: Op, arrays: Sequence[np.ndarray], name: str, error: Exception) -> MXNetError:
    """The error for an operator's compute that has raised: with the operator's name and what it was given."""
    given = f"inputs: {', '.join(f'{a.dtype}{show(a.shape)}' for a in arrays)}"
    if isinstance(error, MXNetError):
        return at_node(type(error), name, op.name, str(error), given)
    if isinstance(error, MemoryError):
        said = f"memory does not suffice: {error} ({given}); give smaller inputs"
        return at_node(OutOfMemory, name, op.name, said)
    if isinstance(error, np.linalg.LinAlgError):
        return at_node(OpError, name, op.name, f"got a matrix that has no answer ({error}; {given})")
    misfit = _misfit(op, arrays, name)
    if misfit is not None:
        return misfit
    said = (
        f"{type(error).__name__}: {error} ({given}); inference let these inputs pass, so this is a bug in the operator, please "
        "report it"
    )
    return at_node(InternalError, name, op.name, said)


def _misfit(op: Op, arrays: Sequence[np.ndarray], name: str) -> MXNetError | None:
    """The error of inference for arrays, of which it may have known less before they were there."""
    try:
        _infer(op, arrays, name)
    except InternalError:
        return None
    except MXNetError as error:
        return error
    return None


def _matches_inference(op: Op, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray], name: str) -> bool:
    """True where results are what inference says of an operator that is given these arrays and has no readers."""
    try:
        specs = _infer(op, arrays, name)
    except MXNetError:
        return False
    return all(fits(s.shape, r.shape) for s, r in zip(specs, results))


def _infer(op: Op, arrays: Sequence[np.ndarray], name: str) -> list[Spec]:
    """Infer the outputs of an operator that is given these arrays. Raises MXNetError where it refuses them."""
    variables = [Node(None, f"input{i}") for i in range(len(arrays))]
    given = {v.name: a for v, a in zip(variables, arrays)}
    node = Node(op, name, [Entry(v) for v in variables])
    found = infer(
        Graph([Entry(node)]),
        {n: a.shape for n, a in given.items()},
        {n: a.dtype for n, a in given.items()},
        values=given,
    )
    return [found.spec(Entry(node, i)) for i in range(node.num_outputs)]


def _aliases(result: np.ndarray, arrays: Sequence[np.ndarray]) -> bool:
    """True where a result is one of the arrays, a view of one, or of what one is a view of.

    The base of a view is always the array that owns the memory, or that was made of a foreign buffer."""
    base = result.base
    if base is None:
        return any(result is a for a in arrays)
    return any(result is a or base is a or base is a.base for a in arrays)


def evaluate(graph: Graph, inference: Inference, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a graph that runs once: node by node, without a plan. feeds: what its variables hold.

    Raises what apply raises."""
    last = {(id(e.node), e.index): n for n in graph.nodes for e in n.inputs}
    kept = {(id(e.node), e.index) for e in graph.outputs}
    values: dict[tuple[int, int], np.ndarray] = {}
    for node in graph.nodes:
        if node.op is None:
            values[id(node), 0] = feeds[node.name]
            continue
        arrays = [values[id(e.node), e.index] for e in node.inputs]
        specs = [inference.spec(Entry(node, i)) for i in range(node.num_outputs)]
        for i, result in enumerate(apply(node.op, arrays, specs, name=node.name)):
            values[id(node), i] = result
        for entry in node.inputs:
            key = id(entry.node), entry.index
            if last[key] is node and key not in kept:
                values.pop(key, None)
    return [values[id(e.node), e.index] for e in graph.outputs]
