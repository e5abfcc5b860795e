"""Test cases for two models, and the pairing of their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hybrid.core.op import Domain, Spec
from hybrid.core.shapes import MaybeShape
from hybrid.ir.graph import Graph, Node
from hybrid.passes.strip_labels import label_names

from .engines import Engine, NativeEngine, OnnxEngine
from .inputs import domains, draw, intersect
from .models import BadInput
from .result import Case


def _example(shape: MaybeShape) -> str:
    """Sizes that fit a shape, as they are written."""
    return "1,3,224,224" if shape is None else ",".join("1" if isinstance(d, str) else str(d) for d in shape)


def make_case(
    left: Engine,
    right: Engine,
    specs: Mapping[str, Spec],
    arrays: Mapping[str, np.ndarray],
    seed: int,
    like: Mapping[str, np.ndarray] | None = None,
) -> Case:
    """Feeds for both engines: the arrays given, and seeded ones for the rest (with values of those in ``like``).

    Labels that neither reads may be among the arrays; they are left out."""
    wanted: dict[str, Spec] = {}
    known: dict[str, Domain] = {}
    labels: set[str] = set()
    for engine in (left, right):
        if isinstance(engine, OnnxEngine):
            for name, spec in engine.specs.items():
                if name not in wanted or wanted[name].shape is None:
                    wanted[name] = spec
        else:
            ignored = set(label_names(engine.model.graph))  # type: ignore[arg-type]
            for name in engine.inputs:
                if name not in ignored:
                    wanted.setdefault(name, Spec())
            labels |= ignored
    labels -= wanted.keys()
    specs = {n: s for n, s in specs.items() if n not in labels}
    arrays = {n: a for n, a in arrays.items() if n not in labels}
    unknown = [n for n in specs if n not in wanted]
    if unknown:
        raise BadInput(*(f"got input {n!r}, wanted some of {', '.join(wanted) or 'none'}" for n in unknown))
    for name, spec in specs.items():
        wanted[name] = Spec(spec.shape, spec.dtype or wanted[name].dtype)
    open_dims = [
        n
        for n, s in wanted.items()
        if n not in arrays and (s.shape is None or any(isinstance(d, str) for d in s.shape))
    ]
    if open_dims:
        problems = [
            f"give the shape of input {n}, for instance --input {n}:{_example(wanted[n].shape)}" for n in open_dims
        ]
        if set(left.inputs) != set(right.inputs):
            problems += [f"{e.model.name} takes {', '.join(e.inputs)}" for e in (left, right)]
        raise BadInput(*problems)
    for model in (left.model, right.model):
        if model.graph is not None:
            found = domains(model.infer(wanted))
            known |= {n: intersect(known[n], d) if n in known else d for n, d in found.items()}
    drawn = draw({n: s for n, s in wanted.items() if n not in arrays}, known, seed, like)
    return Case({**drawn, **arrays}, None if not drawn else seed)


RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""ONNX operators that draw random numbers."""


def samplers(graph: Graph) -> Iterator[Node]:
    """Nodes that draw random numbers in inference too, those of bodies included."""
    for node in graph.all_nodes():
        op = node.op
        if op is not None and "rng" in op.needs and ("training" not in op.needs or getattr(op, "mode", "") == "always"):
            yield node


def refuse_random(*engines: Engine) -> None:
    """Raise BadInput naming the nodes that draw random numbers: two runs of such a model never agree, and if they seem to
    (because what is drawn hardly matters) that proves nothing."""
    found = [
        f"{n.name} ({n.op.name})" for e in engines if isinstance(e, NativeEngine) for n in samplers(e.graph) if n.op
    ]
    if not any(isinstance(e, NativeEngine) for e in engines):
        nodes = (n for e in engines if isinstance(e, OnnxEngine) for n in e.proto.graph.node)
        found = [f"{n.name or n.output[0]} ({n.op_type})" for n in nodes if n.op_type in RANDOM]
    if found:
        raise BadInput(
            f"the model draws random numbers, at {', '.join(dict.fromkeys(found))}: runs differ by themselves, so nothing can "
            "be said of equivalence; leave verification out (--no-verify), or convert and verify at outputs before these nodes "
            "(--outputs)"
        )


def pair_outputs(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Outputs that belong together: by name where the names agree, else by position. Raises BadInput."""
    if set(first) == set(second):
        return [(n, n) for n in first]
    if len(first) != len(second):
        raise BadInput(f"got {len(first)} outputs ({', '.join(first)}) against {len(second)} ({', '.join(second)})")
    return list(zip(first, second))
