"""Test cases for two models, and the pairing of their outputs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import onnx

from converters.proto_nodes import reads, stored_tensors
from hybrid.core.attrs import is_float
from hybrid.core.error import MXNetError
from hybrid.core.op import Domain, Spec
from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known, show
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.passes.strip_labels import label_names

from .cut import nodes_inside
from .domains import Taken, numbers_taken
from .draws import EXPECTED, FREE, KINDS, Kind, Seen, Way, draw, is_free
from .engines import Engine, NativeEngine, OnnxEngine
from .half import HalfEngine
from .models import BadInput, Model, hold_dtypes
from .openings import as_example, sized, with_batch
from .paths import SizesWanted
from .result import DRAWN, Case
from .settle import example, of_one_place

T = TypeVar("T")

BATCH = 2
"""Batch of inputs that leave nothing else open."""
LEAST_DRAWS, MOST_DRAWS = 2, 64
"""The most further draws there are to look at every row of small tables: of large networks, and of small ones."""
BUDGET = 256 << 20
"""Bytes of tensors inside that these draws make at most."""
FURTHER = 100
"""Distance of their seeds from the one that was given."""


def taken(engine: Engine) -> dict[str, Spec]:
    """Inputs that an engine reads, with what its model says of them; no labels."""
    if isinstance(engine, OnnxEngine):
        return dict(engine.specs)
    if engine.model.graph is None:  # a runner
        return dict.fromkeys(engine.inputs, Spec())
    ignored = set(label_names(engine.model.graph))
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


class Cases:
    """Makes the cases of two engines: feeds for both of the arrays given, and seeded ones for the rest. An input that has another
    name on the right side is fed under both."""

    def __init__(
        self,
        left: Engine,
        right: Engine,
        specs: Mapping[str, Spec],
        arrays: Mapping[str, np.ndarray],
        *,
        like: Mapping[str, np.ndarray] | None = None,
        names: Mapping[str, str] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        files: Mapping[str, str] | None = None,
    ):
        """like: arrays whose values are drawn where an input has no domain. names: the right side's names of inputs, where
        pair_inputs is to be told. ranges: (low, high) of what is drawn; where that is not given and a graph's first operators say
        what they expect (pixels), that. files: the names of those that arrays come from. Labels that neither reads may be among the
        arrays; they are left out. Raises BadInput."""
        self.left, self.right, self.like = left, right, like
        self.told = {"names": names, "ranges": ranges, "files": files}
        self.second = pair_inputs(left, right, specs, names)
        self.first = {m: n for n, m in self.second.items()}
        self.wanted: dict[str, Spec] = {}
        for engine in (left, right):
            for name, spec in taken(engine).items():
                name = self.first.get(name, name)
                if name not in self.wanted or self.wanted[name].shape is None:
                    self.wanted[name] = spec
        self.labels = {
            n for e in (left, right) if e.model.graph is not None for n in label_names(e.model.graph)
        } - self.wanted.keys()
        twice = [
            f"{n} and {m} are one input, and both are given"
            for n, m in self.second.items()
            if n in specs and m in specs
        ]
        specs, self.arrays, self.sources = self._canonical(specs), self._canonical(arrays), self._canonical(files)
        limits = self._canonical(ranges)
        unknown = [n for n in (*specs, *limits) if n not in self.wanted]
        if unknown or twice:
            raise BadInput(
                *twice, *(f"got input {n!r}, wanted some of {', '.join(self.wanted) or 'none'}" for n in unknown)
            )
        self.whole: dict[str, str] = {}
        """By name the dtypes that files have integers in."""
        self._hold_dtypes()
        specs |= {n: Spec(a.shape, a.dtype) for n, a in self.arrays.items()}
        for name, spec in specs.items():
            self.wanted[name] = Spec(spec.shape, spec.dtype or self.wanted[name].dtype)
        self._choose_open_axes(specs)
        self._infer_shapes()
        self._want_shapes()
        self.wanted |= self._floats_of_another_size()
        self._want_places()
        self.asked = {n: Domain(*ends) for n, ends in limits.items()}
        self.drawn = {n: s for n, s in self.wanted.items() if n not in self.arrays}
        self.known = self._numbers_taken() if self.drawn else {}

    def _free(self) -> list[str]:
        """Inputs for which whole numbers are drawn of which nothing is known."""
        skip = {*self.asked, *(self.like or {})}
        return [n for n, s in self.drawn.items() if n not in skip and is_free(s.dtype, self.known.get(n, Taken()))]

    def _canonical(self, given: Mapping[str, T] | None) -> dict[str, T]:
        """Values given for inputs, by the left side's names."""
        return {self.first.get(n, n): v for n, v in (given or {}).items() if n not in self.labels}

    def _hold_dtypes(self) -> None:
        """Raise BadInput where an array that is given is of a dtype that a side cannot be run with; whole numbers that a file has
        as floats become integers for both where one takes these."""
        sides = [(self.left, {}), (self.right, self.second)]
        for engine, theirs in sorted(sides, key=lambda side: side[0].model.graph is not None):  # files say their dtypes
            if not isinstance(engine, HalfEngine):  # which rounds what it is given
                given = {theirs.get(n, n): a for n, a in self.arrays.items()}
                held = hold_dtypes(engine.model, given, {theirs.get(n, n): f for n, f in self.sources.items()})
                for name, array in self.arrays.items():
                    if held[theirs.get(name, name)] is not array:
                        self.whole[name] = array.dtype.name
                self.arrays = {n: held[theirs.get(n, n)] for n in self.arrays}

    def _floats_of_another_size(self) -> dict[str, Spec]:
        """Specs of inputs of which nobody says a dtype, where a network's parameters say that it is float16, bfloat16 or float64:
        the symbol of such a network takes no float32."""
        unsaid = {n for n, s in self.wanted.items() if s.dtype is None}
        found: dict[str, Spec] = {}
        for engine, theirs in ((self.left, {}), (self.right, self.second)):
            graph, names = engine.model.graph, {theirs.get(n, n): n for n in self.wanted}
            if graph is None or not unsaid:
                continue
            with suppress(MXNetError):
                inferred = engine.model.infer(
                    {m: Spec(self.wanted[n].shape) for m, n in names.items() if m in engine.inputs}
                )
                for variable in graph.variables():
                    name, dtype = names.get(variable.name), inferred.spec(Entry(variable)).dtype
                    if name in unsaid and dtype is not None and dtype != np.float32 and is_float(dtype):
                        found.setdefault(name, Spec(self.wanted[name].shape, dtype))
        return found

    def _choose_open_axes(self, specs: Mapping[str, Spec]) -> None:
        """Give axes that are left open a size where one can be chosen, or is that of an axis of the same name. specs: given."""
        given = {**specs, **{n: Spec(a.shape) for n, a in self.arrays.items()}}
        for engine, own, theirs in ((self.left, {}, {}), (self.right, self.second, self.first)):
            told = {own.get(n, n): s for n, s in given.items()}
            for name, spec in sized(engine.model, BATCH, told).items() if isinstance(engine, OnnxEngine) else ():
                name = theirs.get(name, name)
                have = self.wanted[name].shape
                if have is not None and any(isinstance(d, str) for d in have) and len(spec.shape or ()) == len(have):
                    self.wanted[name] = Spec(spec.shape, self.wanted[name].dtype)
        self.wanted |= {n: with_batch(s, BATCH) for n, s in self.wanted.items() if n not in self.arrays}

    def _infer_shapes(self) -> None:
        """Give inputs that both sides take, and of which nobody says a shape, those that follow from others in a graph, as of
        states from the sequence's."""
        shared = {n for n in self.wanted if n in self.left.inputs and self.second.get(n, n) in self.right.inputs}
        for engine, theirs in ((self.left, {}), (self.right, self.second)):
            graph = engine.model.graph
            if graph is None or all(s.shape is not None for s in self.wanted.values()):
                continue
            own = {theirs.get(n, n): n for n in self.wanted}
            with suppress(MXNetError):
                known = {m: self.wanted[n] for m, n in own.items() if self.wanted[n].shape is not None}
                inferred = engine.model.infer({m: s for m, s in known.items() if m in engine.inputs})
                for variable in graph.variables():
                    name, shape = own.get(variable.name), inferred.spec(Entry(variable)).shape
                    if name in shared and self.wanted[name].shape is None and is_known(shape):
                        self.wanted[name] = Spec(shape, self.wanted[name].dtype)

    def _want_shapes(self) -> None:
        """Raise BadInput where an input is to be drawn whose shape is not known."""
        open_dims = [
            n
            for n, s in self.wanted.items()
            if n not in self.arrays and (s.shape is None or any(isinstance(d, str) for d in s.shape))
        ]
        if not open_dims:
            return
        problems = []
        if set(self.left.inputs) != set(self.right.inputs):
            problems = [f"{e.model.name} takes {', '.join(e.inputs)}" for e in (self.left, self.right)]
        raise SizesWanted({n: self._example(n) for n in open_dims}, *problems)

    def _want_places(self) -> None:
        """Raise BadInput for sizes at which numbers say nothing of a network."""
        for engine, theirs in ((self.left, {}), (self.right, self.second)):
            own = {theirs.get(n, n): s for n, s in self.wanted.items()}
            if problems := of_one_place(engine.model, {n: s for n, s in own.items() if n in engine.inputs}):
                raise BadInput(*problems)

    def _example(self, name: str) -> str:
        """Sizes that an input may have, as they are written."""
        shape = self.wanted[name].shape
        for engine, theirs in ((self.left, {}), (self.right, self.second)):
            model, own = engine.model, theirs.get(name, name)
            if shape is None and model.graph is not None and own in model.variables():
                return example(model, own, specs=self.wanted)
        leading = {s.shape[0] for s in self.wanted.values() if s.shape and isinstance(s.shape[0], str)} - {"?"}
        return as_example(shape, leading)

    def _numbers_taken(self) -> dict[str, Taken]:
        """Numbers that inputs take by the graphs of both; of two ONNX models by the first that we can read."""
        found: dict[str, Taken] = {}
        sides = [(e, e.model) for e in (self.left, self.right) if e.model.graph is not None]
        if not sides and isinstance(self.left, OnnxEngine) and self.left.native_engine is not None:
            sides = [(self.left, self.left.native_engine.model)]
        for engine, model in sides:
            own, theirs = (self.first, self.second) if engine is self.right else ({}, {})
            specs = {theirs.get(n, n): s for n, s in self.wanted.items()}
            try:
                inferred = model.infer(specs if model is engine.model else _of_variables(model, specs))
            except MXNetError:
                if model is engine.model:
                    raise
                continue  # it runs elsewhere
            for name, numbers in numbers_taken(inferred, model.params).items():
                name = own.get(name, name)
                found[name] = found[name].both(numbers) if name in found else numbers
        return found

    def case(self, seed: int, way: Way = EXPECTED, seen: dict[str, Seen] | None = None) -> Case:
        """One of them. seen: rows of tables that were looked at, which are entered. Raises BadInput."""
        told: dict[str, str] = {}
        drawn = draw(self.drawn, self.known, seed, self.like, told, way=way, asked=self.asked, seen=seen)
        feeds = {**drawn, **self.arrays}
        for engine in (self.left, self.right):
            if isinstance(engine, HalfEngine):  # what is fed is the same number on both sides
                own = self.first if engine is self.right else {}
                for name, dtype in engine.rounded.items():
                    name = own.get(name, name)
                    feeds[name] = feeds[name].astype(dtype).astype(feeds[name].dtype)
        origins = {n: f"{DRAWN}, seed {seed}: {how}" for n, how in told.items()}
        origins |= {n: f"from {self.sources[n]}" if n in self.sources else "given" for n in self.arrays}
        for name, dtype in self.whole.items():
            origins[name] += f", whole numbers of {dtype} there"
        both = {m: feeds[n] for n, m in self.second.items() if n in feeds}
        milder, free = way.milder, self._free()
        if free and way.kind == "expected" and way.mild + 1 < len(FREE):
            milder = way._replace(mild=way.mild + 1)
        return Case(
            {**feeds, **both},
            None if not drawn else seed,
            origins=origins,
            names=self.second,
            kind=way.kind if drawn else "given",
            rows={n: (0, t.rows) for n, t in self.known.items() if t.rows and n in drawn},
            made_up=way.kind != "expected",
            limited=(", ".join(free), FREE[way.mild]) if free and way.kind == "expected" and way.mild else None,
            milder=None if milder is None else functools.partial(self.case, seed, milder),
        )

    def of_other_sizes(self, leading: bool, odd: bool = False, less: bool = False) -> Cases | None:
        """The same of another batch (leading), or of other sizes of every axis that both leave open; None where there is none.

        The axes of one name keep one size. odd: behind the first axis odd ones where the given are even. less: smaller pictures,
        None where there are none."""
        specs = self._other_sizes(leading, odd, less)
        if specs is None:
            return None
        try:
            made = Cases(self.left, self.right, specs, {}, like=self.like, **self.told)
            for engine in (self.left, self.right):
                if isinstance(engine, NativeEngine):
                    theirs = self.second if engine is self.right else {}
                    engine.model.infer(
                        {theirs.get(n, n): s for n, s in specs.items() if theirs.get(n, n) in engine.inputs}
                    )
        except (BadInput, MXNetError):
            return None
        return made

    def _other_sizes(self, leading: bool, odd: bool, less: bool) -> dict[str, Spec] | None:
        batch = next((s.shape[0] for s in self.wanted.values() if s.shape), None)
        sizes: dict[Any, int] = {}
        out, smaller = {}, False
        for name, spec in self.wanted.items():
            assert spec.shape is not None
            shape = []
            for axis, size in enumerate(spec.shape):
                label = self._label(name, axis)
                if label is None or (leading and (axis or size != batch)) or (not axis and size != batch):
                    shape.append(size)
                else:
                    key = (label, size) if label else "leading" if not axis else (name, axis)
                    shape.append(
                        sizes.setdefault(key, another(spec.shape, axis, less) + (odd and axis and size % 2 == 0))
                    )
                    smaller |= shape[-1] < size
            out[name] = Spec(tuple(shape), spec.dtype)
        return out if sizes and smaller >= less else None

    def _label(self, name: str, axis: int) -> str | None:
        """The name of an axis that both leave open; empty where it has none, and None where one of them has its size. All but the
        first axis are open only where an ONNX model says so."""
        label: str | None = None if axis else ""
        for engine in (self.left, self.right):
            own = self.second.get(name, name) if engine is self.right else name
            if not isinstance(engine, OnnxEngine) or own not in engine.specs:
                continue
            shape = engine.specs[own].shape
            size = "?" if shape is None else shape[axis] if axis < len(shape) else 0
            if not isinstance(size, str):
                return None
            label = label or ("" if size == "?" else size)
            if axis and not label:
                return None
        return label


LARGE = 64
"""Sides of pictures from which on another size is a smaller one, which is sooner compared."""
MULTIPLES = 32
"""Powers of two up to which a size and another one have the same divisors."""


def another(shape: Sequence[int], axis: int, less: bool = True) -> int:
    """Another size of an axis: of the first one more, of others twice as many; of the sides of pictures about three quarters, where
    less is asked for and these are large."""
    size = int(shape[axis])
    if not axis:
        return size + 1
    if not less or len(shape) < 4 or size < LARGE:
        return size * 2
    step = min(size & -size, MULTIPLES)
    return max(size * 3 // 4 // step, 1) * step


def _of_variables(model: Model, specs: Mapping[str, Spec]) -> dict[str, Spec]:
    """The specs of what a graph reads."""
    assert model.graph is not None
    names = {n.name for n in model.graph.variables()}
    return {n: s for n, s in specs.items() if n in names}


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
    """One case, as the models expect its inputs; the rest as Cases takes it."""
    return Cases(left, right, specs, arrays, like=like, names=names, ranges=ranges, files=files).case(seed)


def make_cases(
    left: Engine,
    right: Engine,
    specs: Mapping[str, Spec],
    arrays: Mapping[str, np.ndarray],
    seed: int,
    *,
    runs: int = 1,
    kinds: Sequence[Kind] = KINDS,
    **told: Any,
) -> list[Case]:
    """The cases of a verification: so many draws as the models expect them, one of another size where both take it, and those of
    further_cases. Of arrays that are given nothing is made up but what they leave open. told: the rest of what Cases takes."""
    cases, seen = Cases(left, right, specs, arrays, **told), {}
    out = [cases.case(seed + i, seen=seen) for i in range(max(1, runs))]
    if cases.drawn and not cases.arrays:
        out += another_size(cases, seed + 1, seen)
    return out + further_cases(cases, seed, seen, kinds)


def another_size(cases: Cases, seed: int, seen: dict[str, Seen]) -> list[Case]:
    """A case of another size of all axes that both sides leave open, odd ones first, and smaller pictures before greater; it gives
    way to one of another batch alone."""
    ways = ((False, True, True), (False, False, True), (False, True), (False, False), (True, False))
    found = [c for c in (cases.of_other_sizes(*way) for way in ways) if c is not None]
    return [_made_up(found, seed, seen)] if found else []


def _made_up(sizes: Sequence[Cases], seed: int, seen: dict[str, Seen] | None = None) -> Case:
    """A case of the first of these sizes, which gives way to one of the next."""
    case = sizes[0].case(seed, seen=seen)
    case.kind, case.made_up = "another size", True
    case.milder = functools.partial(_made_up, sizes[1:], seed) if sizes[1:] else None
    return case


def further_cases(cases: Cases, seed: int, seen: dict[str, Seen], kinds: Sequence[Kind] = KINDS) -> list[Case]:
    """Draws of the other kinds, and as many more as it takes until small tables have been looked at row by row, within reason."""
    if not cases.drawn:
        return []
    out = [cases.case(seed, Way(kind), seen) for kind in kinds if kind != "expected"]
    most = MOST_DRAWS
    if isinstance(cases.left, NativeEngine):
        size = sum(cases.left.sizes(out[0].feeds).values()) if out and not cases.second else 0
        most = max(LEAST_DRAWS, min(MOST_DRAWS, BUDGET // max(size, 1)))
    for number in range(most):
        if not any(s.incomplete for s in seen.values()):
            break
        out.append(cases.case(seed + FURTHER + number, seen=seen))
    return out


RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""ONNX operators that draw random numbers."""


def samplers(graph: Graph) -> Iterator[Node]:
    """Nodes that draw random numbers in inference too, those of bodies included."""
    return (n for n in graph.all_nodes() if n.op is not None and n.op.draws(training=False))


def _drawing(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Nodes that draw random numbers from which an output follows, those of bodies included."""
    read = {o.name for o in graph.output}
    constant = stored_tensors(graph)
    for node in reversed(graph.node):
        if not read.intersection(node.output):
            continue
        read.update(reads(node))
        for inner in (node, *nodes_inside(node)):
            if inner.op_type in RANDOM:
                yield inner
            elif inner.op_type == "Dropout" and len(inner.input) > 2 and inner.input[2]:
                training = constant.get(inner.input[2])
                if training is not None and onnx.numpy_helper.to_array(training).any():
                    yield inner


def refuse_random(*engines: Engine) -> None:
    """Raise BadInput naming the nodes that draw random numbers: two runs of such a model never agree, and if they seem to
    (because what is drawn hardly matters) that proves nothing."""
    found = [
        f"{n.name} ({n.op.name})" for e in engines if isinstance(e, NativeEngine) for n in samplers(e.graph) if n.op
    ]
    if not any(isinstance(e, NativeEngine) for e in engines):
        nodes = (n for e in engines if isinstance(e, OnnxEngine) for n in reversed([*_drawing(e.proto.graph)]))
        found = [f"{n.name or n.output[0]} ({n.op_type})" for n in nodes]
    refuse_drawing(
        found,
        "leave verification out (--no-verify), or convert and verify at outputs before these nodes (--outputs)",
    )


def refuse_drawing(nodes: Iterable[str], advice: str) -> None:
    """Raise BadInput with advice naming the nodes that draw random numbers, if there are any."""
    names = ", ".join(dict.fromkeys(nodes))
    if names:
        raise BadInput(
            f"the model draws random numbers, at {names}: runs differ by themselves, so nothing can be said of equivalence; "
            f"{advice}"
        )


def pair_outputs(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Outputs that belong together: by name where the names agree, else by position. Raises BadInput."""
    if set(first) == set(second):
        return [(n, n) for n in first]
    if len(first) != len(second):
        said = f"got {len(first)} outputs ({', '.join(first)}) against {len(second)} ({', '.join(second)})"
        both = [n for n in first if n in second]
        if both:  # a file that was made with --outputs, beside the whole network
            said += f"; compare those that both have: --outputs {','.join(both)} (outputs={both!r})"
        raise BadInput(said)
    return list(zip(first, second))
