"""The batch axis of a model: found among the axes of its inputs, fixed to a size, or left open."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN, show
from hybrid.ir.graph import Entry
from hybrid.passes.strip_labels import label_names

from .models import Model, split_inputs
from .paths import BadInput, listed
from .settle import with_sizes_beside

TIMED = (
    *("RNN", "_foreach", "SequenceLast", "SequenceMask", "SequenceReverse"),
    *("_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_encdec_qk"),
)
"""Operators that tell time from batch: their data has time along ``axis``, else along the first."""
BATCH = "batch"
"""The label of the batch axis where it stays open."""
MOST_CHOICES, MOST_TRIES = 4096, 16
"""Choices of axes that are looked at, and those that are tried, the likeliest first, for each axis of the first input."""
Axes = Mapping[str, Mapping[int, str]]


def with_batch_size(model: Model, specs: Mapping[str, Spec], size: int) -> dict[str, Spec]:
    """The specs with a batch size for inputs of which everything else is known: that is all that many symbols leave open."""
    out = dict(specs)
    for name, spec in _known(model, specs).items():
        shape = spec.shape
        if shape and shape[0] is UNKNOWN and not any(d is UNKNOWN for d in shape[1:]):
            out[name] = Spec((size, *shape[1:]), out.get(name, Spec()).dtype or spec.dtype)
    return out


def fixed_batch(
    model: Model, settled: Mapping[str, Spec], given: Mapping[str, Spec], dynamic: Axes, size: int
) -> dict[str, Spec]:
    """Specs of all inputs with a batch of that size. settled: their specs as they are. given: those that the user gave.

    Raises BadInput where the batch axis cannot be told, or something else was said of it."""
    if size < 1:
        raise BadInput(f"batch: got {size}, wanted 1 or more")
    axes = _axes(model, settled, size)
    problems = []
    for name, axis in axes.items():
        have = given[name].shape if name in given else None
        if have is not None and have[axis] != size:
            problems.append(f"batch {size}: {name} {show(have)} is given with a batch of {have[axis]}; say one of them")
        if axis in dynamic.get(name, {}):
            problems.append(
                f"batch {size}: the batch axis of {name} is dynamic as well ({dynamic[name][axis]}); say one of them"
            )
    if problems:
        raise BadInput(*problems)
    return {n: _with(s, axes[n], size) if n in axes else s for n, s in settled.items()}


def dynamic_batch(model: Model, settled: Mapping[str, Spec], dynamic: Axes) -> dict[str, dict[int, str]]:
    """The dynamic axes, and with them the batch axis of every input, all of one label. Raises BadInput where it cannot be told."""
    out = {n: dict(a) for n, a in dynamic.items()}
    for name, axis in _axes(model, settled, None).items():
        out.setdefault(name, {}).setdefault(axis, BATCH)
    return out


def _known(model: Model, specs: Mapping[str, Spec]) -> dict[str, Spec]:
    """Specs of the inputs, as far as the model and the files beside it tell them."""
    assert model.graph is not None
    ignored = set(label_names(model.graph))
    free = [n for n in split_inputs(model, specs)[0] if n not in ignored]
    beside = with_sizes_beside(model, dict(specs), free)
    try:
        inferred = model.infer(beside)
    except MXNetError:
        return beside
    nodes = {n.name: n for n in model.graph.variables()}
    return {n: inferred.spec(Entry(nodes[n])) for n in free}


def _axes(model: Model, settled: Mapping[str, Spec], size: int | None) -> dict[str, int]:
    """The batch axis of each input that has one: axes of one size, at another size of which the network still fits, and no longer
    takes another time. The first axes are tried first, and the second one of the first input where a node has time before it.
    size: the other size; None for one more."""
    sized = {n: s for n, s in settled.items() if s.shape}
    if not sized:
        raise BadInput("batch: the model has no input with an axis")
    first, *others = (s.shape or () for s in sized.values())
    assert model.graph is not None
    timed = any(n.op is not None and n.op.name in TIMED for n in model.graph.nodes)
    tries: list[tuple[int | None, ...]] = []
    for axis, count in enumerate(first[: 2 if timed else 1]):
        choices = [[*(i for i, d in enumerate(shape) if d == count), None] for shape in others]
        found = itertools.islice(itertools.product(*choices), MOST_CHOICES)
        tries += sorted(((axis, *rest) for rest in found), key=_likeliness)[:MOST_TRIES]
    for tried in tries:
        axes = {n: axis for n, axis in zip(sized, tried) if axis is not None}
        count = first[tried[0] or 0]
        if _fits(model, settled, axes, count + 1 if size is None or size == count else size):
            return axes
    raise BadInput(
        f"cannot tell the batch axis of {listed([f'{n} {show(s.shape)}' for n, s in sized.items()])}: with another size of the "
        f"same axes the network does not fit any more; name the axes, such as --dynamic {next(iter(sized))}:0=batch"
    )


def _likeliness(axes: tuple[int | None, ...]) -> tuple[int, int]:
    """The order of tries: inputs without a batch axis last, axes further behind later."""
    return sum(a is None for a in axes), sum(a or 0 for a in axes)


def _fits(model: Model, specs: Mapping[str, Spec], axes: Mapping[str, int], size: int) -> bool:
    assert model.graph is not None
    try:
        now = model.infer(specs)
        then = model.infer({n: _with(s, axes[n], size) if n in axes else s for n, s in specs.items()})
    except MXNetError:
        return False
    timed = [
        (n.inputs[0], getattr(n.op, "axis", 0)) for n in model.graph.nodes if n.op is not None and n.op.name in TIMED
    ]
    pairs = [((now.spec(e).shape or ())[axis:], (then.spec(e).shape or ())[axis:]) for e, axis in timed]
    return all(a[:1] == b[:1] for a, b in pairs)


def _with(spec: Spec, axis: int, size: int) -> Spec:
    assert spec.shape is not None
    return Spec((*spec.shape[:axis], size, *spec.shape[axis + 1 :]), spec.dtype)
