"""Test cases for two models, and the pairing of their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from hybrid.core.op import Domain, Spec
from hybrid.core.shapes import UNKNOWN, MaybeShape, show
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.passes.strip_labels import label_names

from .engines import Engine, NativeEngine, OnnxEngine
from .inputs import domains, draw, expected, intersect
from .models import BadInput
from .result import Case

T = TypeVar("T")


def _example(shape: MaybeShape) -> str:
    """Sizes that fit a shape, as they are written."""
    return "1,3,224,224" if shape is None else ",".join("1" if isinstance(d, str) else str(d) for d in shape)


def taken(engine: Engine) -> dict[str, Spec]:
    """Inputs that an engine reads, with what its model says of them; no labels."""
    if isinstance(engine, OnnxEngine):
        return dict(engine.specs)
    ignored = set(label_names(engine.model.graph))  # type: ignore[arg-type]
    return {n: Spec() for n in engine.inputs if n not in ignored}


def pair_inputs(
    left: Engine, right: Engine, specs: Mapping[str, Spec], names: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Names that the right side has for inputs of the left, where they are others: as told by names, else by position where as many
    are left on both sides and their shapes fit, else by the only shape that fits.

    Inputs that one side alone has stay alone when the other side has none left. Raises BadInput for names that there are not, and
    where several pairs are possible, or none."""
    mine, theirs = taken(left), taken(right)
    names = dict(names or {})
    problems = [
        f"--map {first}={second}: {engine.model.name} has no input {name}; it takes {', '.join(own) or 'none'}"
        for first, second in names.items()
        for engine, name, own in ((left, first, mine), (right, second, theirs))
        if name not in own
    ]
    if problems:
        raise BadInput(*problems)
    told = {*names, *names.values()}
    rest = [n for n in mine if n not in theirs and n not in told]
    others = [n for n in theirs if n not in mine and n not in told]
    if rest and others:
        shapes = _shapes(left, rest, specs), _shapes(right, others, specs)
        fits = [[may_be_one(shapes[0][n], shapes[1][m]) for m in others] for n in rest]
        if len(rest) == len(others) and all(row[i] for i, row in enumerate(fits)):
            names |= dict(zip(rest, others))
        elif all(sum(row) == 1 for row in fits) and all(sum(column) == 1 for column in zip(*fits)):
            names |= {n: others[row.index(True)] for n, row in zip(rest, fits)}
        else:
            sides = (
                f"{e.model.name} takes {', '.join(f'{n} {show(shape[n])}' for n in only)}"
                for e, only, shape in ((left, rest, shapes[0]), (right, others, shapes[1]))
            )
            raise BadInput(
                f"these inputs do not pair: {'; '.join(sides)}. Say which are one: --map {rest[0]}={others[0]}"
            )
    for name, second in names.items():
        for engine, foreign in ((left, second), (right, name)):
            if name != second and foreign in {t.name for t in engine.inner_tensors()} | set(engine.inputs):
                raise BadInput(
                    f"input {name} of {left.model.name} is {second} in {right.model.name}, and {engine.model.name} has another "
                    f"tensor of the name {foreign}; rename one of them"
                )
    return {n: m for n, m in names.items() if n != m}


def _shapes(engine: Engine, names: Sequence[str], specs: Mapping[str, Spec]) -> dict[str, MaybeShape]:
    """Shapes of inputs as they are given, else as the model has them."""
    own = taken(engine)
    inferred = None if engine.model.graph is None else engine.model.infer({n: s for n, s in specs.items() if n in own})
    found: dict[str, MaybeShape] = {}
    for name in names:
        shape = specs[name].shape if name in specs else own[name].shape
        if shape is None and inferred is not None:
            [variable] = (n for n in inferred.graph.variables() if n.name == name)
            shape = inferred.spec(Entry(variable)).shape
        found[name] = shape
    return found


def may_be_one(a: MaybeShape, b: MaybeShape) -> bool:
    """True where two shapes can be of one array, as far as they are known."""
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(
        UNKNOWN is x or UNKNOWN is y or isinstance(x, str) or isinstance(y, str) or x == y for x, y in zip(a, b)
    )


def make_case(
    left: Engine,
    right: Engine,
    specs: Mapping[str, Spec],
    arrays: Mapping[str, np.ndarray],
    seed: int,
    like: Mapping[str, np.ndarray] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    files: Mapping[str, str] | None = None,
) -> Case:
    """Feeds for both engines: the arrays given, and seeded ones for the rest (with values of those in ``like``). An input that has
    another name on the right side is fed under both.

    names: the right side's names of inputs, where pair_inputs is to be told. ranges: (low, high) of what is drawn; where that is
    not given and a graph's first operators say what they expect (pixels), that. files: the names of those that arrays come from.
    Labels that neither reads may be among the arrays; they are left out. Raises BadInput."""
    second = pair_inputs(left, right, specs, names)
    first = {m: n for n, m in second.items()}
    wanted: dict[str, Spec] = {}
    for engine in (left, right):
        for name, spec in taken(engine).items():
            name = first.get(name, name)
            if name not in wanted or wanted[name].shape is None:
                wanted[name] = spec
    labels = {n for e in (left, right) if e.model.graph is not None for n in label_names(e.model.graph)} - wanted.keys()
    twice = [f"{n} and {m} are one input, and both are given" for n, m in second.items() if n in specs and m in specs]

    def canonical(given: Mapping[str, T] | None) -> dict[str, T]:
        """Values given for inputs, by the left side's names."""
        return {first.get(n, n): v for n, v in (given or {}).items() if n not in labels}

    specs, arrays, sources, limits = canonical(specs), canonical(arrays), canonical(files), canonical(ranges)
    unknown = [n for n in (*specs, *limits) if n not in wanted]
    if unknown or twice:
        raise BadInput(*twice, *(f"got input {n!r}, wanted some of {', '.join(wanted) or 'none'}" for n in unknown))
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
    hard: dict[str, Domain] = {}
    soft: dict[str, Domain] = {}
    for engine in (left, right):
        if engine.model.graph is not None:
            own, theirs = (first, second) if engine is right else ({}, {})
            found = engine.model.infer({theirs.get(n, n): s for n, s in wanted.items()})
            for name, domain in domains(found).items():
                name = own.get(name, name)
                hard[name] = intersect(hard[name], domain) if name in hard else domain
            soft |= {own.get(n, n): d for n, d in expected(engine.model.graph).items()}
    asked = {n: Domain(*ends) for n, ends in limits.items()}
    known = soft | hard | {n: intersect(hard[n], d) if n in hard else d for n, d in asked.items()}
    told: dict[str, str] = {}
    drawn = draw({n: s for n, s in wanted.items() if n not in arrays}, known, seed, like, told)
    feeds = {**drawn, **arrays}
    origins = {n: f"drawn, seed {seed}: {how}" for n, how in told.items()}
    origins |= {n: f"from {sources[n]}" if n in sources else "given" for n in arrays}
    both = {m: feeds[n] for n, m in second.items() if n in feeds}
    return Case({**feeds, **both}, None if not drawn else seed, origins=origins, names=second)


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
