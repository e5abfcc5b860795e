"""Every tensor inside that two models share: how far apart it is in the whole models, and a closer look at where they part."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import onnx

from hybrid.core.error import MXNetError

from .compare import TOLERANCES, Difference, Tolerance, close_within, compare
from .engines import Arrays, Engine, EngineError, NativeEngine, OnnxEngine, Tensor, in_groups
from .measures import Details, examine
from .pairing import by_name
from .pictures import pictures_of
from .printable import printable
from .result import GROWN, Case, Layer, Neighbour, VerifyResult

SHOWN_BYTES = 128 << 20
"""Of tensors held at a time, on each side."""
UNKNOWN_SIZE = SHOWN_BYTES // 32
NEAR = 15
"""Nodes that are shown around the first difference, on each side."""
LONG = 60
MOST_FAULTS = 6
"""Nodes at fault that are looked at closely."""


def measure_layers(
    left: Engine,
    right: Engine,
    case: Case,
    paired: Sequence[tuple[Tensor, Tensor]],
    *,
    local: Mapping[str, Difference],
    limits: Callable[[str, str], Tolerance | None],
    closely: Collection[str] = (),
    kept: dict[str, np.ndarray | None] | None = None,
    tell: Callable[[str], None] = lambda _text: None,
) -> tuple[Layer, ...]:
    """The layers of two models on a case, in the order in which the left one makes them.

    paired: tensors that belong together. local: what is known of tensors computed by both from the
    same values, by either name. limits: the tolerance of a tensor, by both names. closely: tensors of the left side to be looked at
    closely; so is the first that differs. kept: gets the left side's values of the tensors that it names, which some of these are
    made from."""
    sizes = left.sizes(case.feeds) or right.sizes(case.feeds)
    near: set[str] = set(closely)
    layers: list[Layer] = []

    def size_of(pair: tuple[Tensor, Tensor]) -> int:
        return next((sizes[t.name] for t in pair if t.name in sizes), UNKNOWN_SIZE)

    groups = list(in_groups(paired, size_of, SHOWN_BYTES))

    def measure(index: int, wanted: Arrays) -> None:
        tell(f"measuring layer {len(layers) + 1} of {len(paired)}")
        made = _expose(right, case, [b.name for _, b in groups[index]])
        for mine, theirs in groups[index]:
            want, got = wanted.get(mine.name), made.get(theirs.name)
            found = None
            if want is not None and got is not None:
                found = brief(mine.name, got, want, limits(mine.name, theirs.name))
                if not found.equal and not any(x.accumulated and not x.accumulated.equal for x in layers):
                    near.add(mine.name)
                if mine.name in near:
                    found = dataclasses.replace(found, details=examine(got, want))
            own = local.get(mine.name, local.get(theirs.name))
            layers.append(Layer(mine.name, theirs.name, mine.node, mine.operator, found, own))
        for name in keeping.keys() & wanted.keys():
            keeping[name] = wanted[name]

    keeping = {} if kept is None else kept
    inside = {t.name for t in left.inner_tensors()} if keeping else set()
    names = [[a.name for a, _ in g] for g in groups]
    shown = [
        list(dict.fromkeys([*n, *(i for a, _ in g for i in a.inputs if i in keeping and i in inside)]))
        for n, g in zip(names, groups)
    ]
    if isinstance(left, NativeEngine) and len(groups) > 1:  # one run for all of them
        with contextlib.suppress(MXNetError):  # which says itself what it cannot show, group by group
            left.walk(case.feeds, shown, measure)
    for index in range(len(groups)):
        if len(layers) == sum(map(len, names[:index])):
            measure(index, _expose(left, case, shown[index]))
    return tuple(layers)


def brief(name: str, got: np.ndarray, want: np.ndarray, limits: Tolerance | None) -> Difference:
    """The difference of got from want, with few measures where atol alone allows it."""
    limits = limits or TOLERANCES.get(want.dtype.name)
    if limits is None or got.shape != want.shape or got.dtype != want.dtype or not want.size:
        return compare(name, got, want, limits)
    found = close_within(name, got, want, limits.atol if limits.scaled else 0.0)
    if found is None:
        return compare(name, got, want, limits)
    rule = limits.words(found.scale)
    return dataclasses.replace(found, limit=limits.limit(found.scale), tolerance=rule, settled_by="")


def without_rounding(layers: Iterable[Layer], outputs: Mapping[str, str]) -> tuple[Layer, ...]:
    """The layers of models that a judge found equivalent, those accepted that are further apart than the tolerance by rounding
    alone: where the node gives the same from the same values, as do all nodes before it, what is seen has grown
    before it. outputs: by name who settled them; theirs is the judge's word.

    The tolerance of one tensor counts by channel, and a channel may hold nothing but what is left of larger numbers. Where a
    layer that is not the same number by number was not compared alone, nothing after it is called rounding."""
    out, doubt = [], False
    for layer in layers:
        found, own = layer.accumulated, layer.local
        if found is not None and not found.equal:
            if layer.tensor in outputs:
                found = found.accept(outputs[layer.tensor])
            elif found.compared and not found.misplaced and own is not None and own.equal and not doubt:
                found = found.accept(GROWN)
            doubt = doubt or not found.equal
            layer = dataclasses.replace(layer, accumulated=found)
        if own is None and (found is None or found.max_abs > 0):  # within the tolerance, and yet what a fault may give
            doubt = True
        out.append(layer)
    return tuple(out)


def _paired(
    left: Engine, right: Engine, outputs: Sequence[tuple[str, str]], inside: Mapping[str, str]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Tensors of both sides that belong together, in the left side's order: outputs and those inside as they are paired, others by
    a name that each side has once."""
    theirs = by_name(right)
    partner = {**inside, **dict(outputs)}
    taken = set(partner.values())
    for name, tensor in by_name(left).items():
        match = partner.get(name, name if name not in taken else None)
        if match in theirs:
            yield tensor, theirs[match]


def _expose(engine: Engine, case: Case, names: Sequence[str]) -> Arrays:
    """Values of tensors, without those that the engine does not show."""
    try:
        return engine.expose(case.feeds, names)
    except (EngineError, MXNetError, KeyError):
        if len(names) < 2:
            return {}
        half = len(names) // 2
        return _expose(engine, case, names[:half]) | _expose(engine, case, names[half:])


def examine_alone(
    left: Engine, right: Engine, case: Case, pair: tuple[Tensor, Tensor], known: Mapping[str, np.ndarray | None]
) -> Details | None:
    """A close look at one node on the left side's values; None where it cannot be run alone. known: those of them that were
    shown, for the rest of which the whole model is run again."""
    mine, theirs = pair
    given = {n: v for n in mine.inputs if (v := case.feeds.get(n, known.get(n))) is not None}
    lacking = [n for n in dict.fromkeys(mine.inputs) if n not in given and left.parameter(n) is None]
    if lacking:
        given |= _expose(left, case, lacking)
    second = dict(zip(mine.inputs, theirs.inputs)) if len(mine.inputs) == len(theirs.inputs) else {}
    try:
        want = left.compute_alone(mine, given)
        got = right.compute_alone(theirs, {**given, **{second.get(n, n): v for n, v in given.items()}})
    except (EngineError, MXNetError, KeyError):
        return None
    return None if want is None or got is None else examine(got, want)


def study(
    result: VerifyResult,
    left: Engine,
    right: Engine,
    case: Case,
    pairs: Sequence[tuple[str, str]],
    outputs: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    inside: Mapping[str, str],
    local: Mapping[str, Difference],
    limits: Callable[[str, str], Tolerance | None],
    settled: Mapping[str, str],
    tell: Callable[[str], None],
) -> VerifyResult:
    """The result of a comparison with what is looked at more closely: layers, outputs (got and want of each), the neighbourhood of
    the first difference, inputs as pictures. It costs about what locating does. inside: names of the right side's tensors by those
    of the left, where they are known. settled: outputs that are equal on this case, and who found it."""
    differences = tuple(
        dataclasses.replace(d, details=examine(*outputs[d.name])) if d.compared and d.name in outputs else d
        for d in result.differences
    )
    result = dataclasses.replace(result, differences=differences, pictures=pictures_of(case))
    found = result.divergence
    paired = {a.name: (a, b) for a, b in _paired(left, right, pairs, inside)}
    own = {b.name: a.name for a, b in paired.values()}
    first = None if found is None else paired.get(found.tensor, paired.get(own.get(found.tensor, "")))
    closely = [] if first is None else [first[0].name, *first[0].inputs]
    faults = result.faults[:MOST_FAULTS] if result.verdict == "not equivalent" else ()
    kept: dict[str, np.ndarray | None] = {n: None for a, _ in paired.values() if a.node in faults for n in a.inputs}
    layers = measure_layers(
        left, right, case, list(paired.values()), local=local, limits=limits, closely=closely, kept=kept, tell=tell
    )
    if result.verdict == "not equivalent":
        tell("looking at the nodes at fault")
        layers = tuple(
            _with_place(layer, examine_alone(left, right, case, paired[layer.tensor], kept))
            if layer.node in faults
            else layer
            for layer in layers
        )
    else:
        layers = without_rounding(layers, settled)
    result = dataclasses.replace(result, layers=layers)
    at = result.first
    if at is None:
        return result
    names = layers[at].tensor, layers[at].second
    return dataclasses.replace(result, around=(around(left, names[0]), around(right, names[1])))


def _with_place(layer: Layer, details: Details | None) -> Layer:
    own = layer.local
    if own is None or own.equal or details is None or not details.where:
        return layer
    return dataclasses.replace(layer, local=dataclasses.replace(own, details=details))


# -- the neighbourhood ----------------------------------------------------------------------------------------------------


def around(engine: Engine, tensor: str, count: int = NEAR) -> tuple[Neighbour, ...]:
    """Nodes nearest to the one that makes a tensor, in the order in which they are run: what it reads, what reads it, and so on."""
    tensors = engine.inner_tensors()
    maker = {t.name: i for i, t in reversed(list(enumerate(tensors)))}
    if tensor not in maker:
        return ()
    readers: dict[str, list[int]] = {}
    for i, t in enumerate(tensors):
        for name in t.inputs:
            readers.setdefault(name, []).append(i)
    start = maker[tensor]
    chosen, up, down = {start: None}, [start], [start]
    while len(chosen) < count and (up or down):
        up = [i for u in up for n in tensors[u].inputs if (i := maker.get(n, -1)) >= 0 and i not in chosen]
        down = [i for d in down for i in readers.get(tensors[d].name, ()) if i not in chosen]
        for i in (*up, *down):
            if len(chosen) < count:
                chosen[i] = None
        up, down = ([i for i in dict.fromkeys(x) if i in chosen] for x in (up, down))
    described = _attributes(engine)
    return tuple(
        Neighbour(t.name, t.node, t.operator, t.inputs, described.get(t.name, {}))
        for t in (tensors[i] for i in sorted(chosen))
    )


def _attributes(engine: Engine) -> dict[str, dict[str, str]]:
    """Attributes in words, by the name of each tensor."""
    found: dict[str, dict[str, str]] = {}
    if isinstance(engine, NativeEngine):
        for node in engine.graph.nodes:
            if node.op is not None:
                told = {k: _short(v) for k, v in node.attrs.items() if not k.startswith("__")}
                found |= {t: told for t in (node.outputs if not engine.model.names else ())}
                found |= {engine.model.names.get(t, t): told for t in node.outputs}
    elif isinstance(engine, OnnxEngine):
        for node in engine.proto.graph.node:
            told = {a.name: _short(_value(a)) for a in node.attribute}
            found |= dict.fromkeys(node.output, told)
    return found


def _value(attribute: onnx.AttributeProto) -> str:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, onnx.TensorProto):
        return f"tensor of {list(value.dims)}"
    if isinstance(value, onnx.GraphProto):
        return f"graph of {len(value.node)} nodes"
    if isinstance(value, float):
        return f"{value:g}"
    return str(list(value)) if isinstance(value, Iterable) and not isinstance(value, str) else str(value)


def _short(text: object) -> str:
    text = printable(str(text))
    return text if len(text) <= LONG else f"{text[:LONG]}..."
