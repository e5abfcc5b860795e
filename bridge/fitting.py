"""Sizes of inputs that a network takes, where its weights or its graph leave no choice: found by trying."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hybrid.core.error import MXNetError, without_given
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known, show
from hybrid.ir.graph import Entry, Node
from hybrid.ops.join import Splitting

from .models import Model
from .result import Progress

SIDES = (
    *(224, 112, 299, 256, 128, 64, 32, 28, 227, 96, 48, 24, 12, 160, 192, 320, 331, 384, 416, 512, 300, 448, 480, 608, 640),
    *(16, 20, 40, 56, 80, 100, 120, 144, 168, 200, 231, 240, 288, 400, 800, 1024),
)  # fmt: skip
"""Sides of square pictures that networks are trained on, the most usual first."""
OPEN = (96, 128, 64, *SIDES)
"""The same for sides that stay open, where a network of any size is as itself on a small picture: on 224 x 224, and the other sizes
that it is compared on, a comparison takes ten times as long."""
ALONE = 8
"""Number of the first of these that are tried as one side of a picture, beside the other one that was given."""


def fits(model: Model, specs: Mapping[str, Spec]) -> bool:
    """True where the graph and its parameters take these inputs, as far as they say something about them."""
    try:
        model.infer(specs)
    except MXNetError:
        return False
    return True


def fitting_side(
    model: Model, name: str, shape: MaybeShape, specs: Mapping[str, Spec], sides: Sequence[int] | None = None
) -> int | None:
    """The side of square pictures that fits, in the places of a shape's unknown sizes: the first of sides that does, or None.
    specs: what is known of other inputs. sides: those of SIDES by default."""
    sides = SIDES if sides is None else sides
    others = {n: s for n, s in specs.items() if n != name}
    if shape is None or not fits(model, others):  # it fits nothing, which says nothing about sides
        return sides[0]
    dtype = specs[name].dtype if name in specs else None
    for side in sides:
        sizes = tuple(side if d is UNKNOWN else d for d in shape)
        if fits(model, {**others, name: Spec(sizes, dtype)}):
            return side
    return None


@dataclass(frozen=True)
class Unrolled:
    """An axis of an input that the graph cuts into a number of pieces of size 1: that of the steps that it was unrolled for."""

    input: str
    axis: int
    steps: int
    node: str
    specs: Mapping[str, Spec]
    """Specs of all inputs with which it fits."""

    def _elsewhere(self, size: int | None) -> str:
        """Words for how a network of another length is come by."""
        length = "LENGTH" if size is None else str(size)
        return (
            f"convert the symbol made for that length, with the same parameters (unroll({length}, ...), or "
            f"sym_gen({length}) of a BucketingModule)"
        )

    def misfit(self, specs: Mapping[str, Spec]) -> str:
        """Words for sizes that do not fit it."""
        got, fitting = specs[self.input].shape, self.specs[self.input].shape
        assert got is not None and fitting is not None
        size = got[self.axis]
        return (
            f"{self.input} {show(got)}: the symbol is unrolled for {self.steps} steps ({self.node} cuts axis {self.axis} of "
            f"{self.input} into {self.steps} pieces of size 1) and takes no other number of them; give --input "
            f"{self.input}:{','.join(map(str, fitting))}, or for {size} steps {self._elsewhere(int(size))}"
        )

    def fixed(self, label: str) -> str:
        """Words for an axis that was to stay open."""
        return (
            f"dynamic axis {self.axis} of {self.input} ({label}): the symbol is unrolled for {self.steps} steps ({self.node} cuts "
            f"that axis into {self.steps} pieces of size 1), so that it cannot stay open; leave {self.input}:{self.axis}={label} "
            f"out, and for another length {self._elsewhere(None)}"
        )


def is_cut(node: Node) -> bool:
    """True for a node that cuts an axis into pieces of size 1, and so says how long it is."""
    return node.means(Splitting) and getattr(node.op, "squeeze_axis", False)


def cuts(model: Model) -> list[Node]:
    """The nodes that do."""
    assert model.graph is not None
    return [n for n in model.graph.nodes if is_cut(n)]


def unrolled(model: Model, specs: Mapping[str, Spec], error: MXNetError) -> Unrolled | None:
    """The axis whose size is not the number of steps that the graph is unrolled for, where this is why inference failed with that
    error; None where it is something else."""
    node = next((n for n in cuts(model) if n.name == error.node), None)
    if node is None:
        return None
    steps = node.num_outputs
    for name, axis, tried in _with_steps(specs, steps):
        if fits(model, tried):
            return Unrolled(name, axis, steps, node.name, tried)
    return None


def misfits(model: Model, specs: Mapping[str, Spec], error: MXNetError) -> list[str]:
    """Words for inputs of sizes that do not go together, by name, with some that do: the number of steps that the graph is unrolled
    for, what follows from another input, or the same with channels elsewhere; none where that is not why inference failed."""
    found = unrolled(model, specs, error)
    if found is not None:
        return [found.misfit(specs)]
    return _beside_others(model, specs, error) or _turned(model, specs, error)


def _written(name: str, sizes: Sequence[object]) -> str:
    return f"--input {name}:{','.join(map(str, sizes))}"


def _sized(specs: Mapping[str, Spec]) -> dict[str, tuple[int, ...]]:
    return {n: tuple(s.shape) for n, s in specs.items() if s.shape is not None and is_known(s.shape)}  # type: ignore[misc]


def _beside_others(model: Model, specs: Mapping[str, Spec], error: MXNetError) -> list[str]:
    """Words for inputs of other shapes than follow from one that is given, as those of a state do from the sequence's."""
    assert model.graph is not None
    known = _sized(specs)
    nodes = {n.name: n for n in model.graph.variables()}
    for kept in known if len(known) > 1 else ():
        try:
            inferred = model.infer({n: s for n, s in specs.items() if n == kept or n not in known})
        except MXNetError:
            continue
        wanted = {n: inferred.spec(Entry(nodes[n])).shape for n in known if n in nodes and n != kept}
        if all(shape is not None and is_known(shape) for shape in wanted.values()):
            return [
                f"input {n} {show(known[n])}: wanted {show(shape)} beside {kept} {show(known[kept])} ({without_given(error)}); "
                f"give {_written(n, shape or ())}, or leave it out"
                for n, shape in wanted.items()
                if shape != known[n]
            ]
    return []


def _turned(model: Model, specs: Mapping[str, Spec], error: MXNetError) -> list[str]:
    """Words for pictures whose channels are first where they are to be last, or the other way round."""
    for name, shape in _sized(specs).items():
        if len(shape) != 4:
            continue
        n, a, b, c = shape
        for got, tried in (("NCHW", (n, b, c, a)), ("NHWC", (n, c, a, b))):
            if tried != shape and fits(model, {**specs, name: Spec(tried, specs[name].dtype)}):
                return [
                    f"input {name} {show(shape)} does not fit ({without_given(error)}); is it {got}? try {_written(name, tried)}"
                ]
    return []


def other_sides(model: Model, specs: Mapping[str, Spec], tell: Progress | None = None) -> str:
    """An option with sides of pictures that fit, where those that are given do not: both other, or for the most usual one of them
    alone; empty where none of SIDES does. tell: called before the search, which may take a while for a network of many layers."""
    for name, shape in _sized(specs).items():
        if len(shape) != 4 or not fits(model, {n: s for n, s in specs.items() if n != name}):
            continue  # what does not fit without it is no matter of its sides
        if tell is not None:
            tell(f"looking for a size of {name} that fits")
        high, wide = (1, 2) if shape[1] not in (1, 3) and shape[3] in (1, 3) else (2, 3)
        for number, side in enumerate(SIDES):
            for axes in (*(((high,), (wide,)) if number < ALONE else ()), (high, wide)):
                tried = tuple(side if i in axes else d for i, d in enumerate(shape))
                if tried != shape and fits(model, {**specs, name: Spec(tried, specs[name].dtype)}):
                    return _written(name, tried)
    return ""


def _with_steps(specs: Mapping[str, Spec], steps: int) -> Iterator[tuple[str, int, dict[str, Spec]]]:
    """The specs with another size in one place, by input and axis; then with that in all places of one size, such as those of a
    mask beside the data."""
    known = {n: tuple(s.shape) for n, s in specs.items() if s.shape is not None and is_known(s.shape)}
    places = [(n, a) for n, shape in known.items() for a, size in enumerate(shape) if size != steps]
    for name, axis in places:
        yield name, axis, {**specs, name: _put(specs[name], {axis}, steps)}
    for size in dict.fromkeys(known[n][a] for n, a in places):
        alike = [(n, a) for n, a in places if known[n][a] == size]
        if len(alike) > 1:
            changed = {n: _put(specs[n], {a for m, a in alike if m == n}, steps) for n, _ in alike}
            yield *alike[0], {**specs, **changed}


def _put(spec: Spec, axes: set[int], size: int) -> Spec:
    shape: Sequence[int] = spec.shape  # type: ignore[assignment]  # it is known where this is called
    return Spec(tuple(size if i in axes else d for i, d in enumerate(shape)), spec.dtype)
