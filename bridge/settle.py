"""Inputs of a model that is to be converted: a shape and a dtype for each, or words for what is missing or does not fit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import converters
from hybrid.core.error import MXNetError, without_given
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known, show
from hybrid.ir.declared import declared
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.elementwise import Elementwise
from hybrid.ops.expand import Pad
from hybrid.ops.rnn import RNN
from hybrid.ops.shape import Permutation
from hybrid.passes.strip_labels import label_names

from .fitting import OPEN, SIDES, cuts, fits, fitting_side, is_cut, misfits, other_sides, unrolled
from .models import Model, check_dtypes, check_params, check_sizes, split_inputs, without_params
from .paths import BadInput, listed
from .result import Progress

USUAL = {3: (1, 3, 128), 4: (1, 3, SIDES[0], SIDES[0]), 5: (1, 3, 16, 112, 112)}
"""Sizes for an example of an input of so many dimensions."""
STEPS = 16
"""Steps for an example of a sequence."""
LENGTHS = (64, 32, 16, 8, 4)
"""Sizes of open axes for a network that does not take the usual ones: a table of positions ends somewhere."""
SPACE = {3: ("LENGTH",), 4: ("HEIGHT", "WIDTH"), 5: ("DEPTH", "HEIGHT", "WIDTH")}
"""Words in the place of sizes of such an input, where the usual ones do not fit."""


CONVOLUTIONS = ("Convolution", "Convolution_v1")
STRIDING = (*CONVOLUTIONS, "Pooling", "Pooling_v1")
"""Layers that go over a picture in steps."""


def settle_inputs(
    model: Model, specs: dict[str, Spec], dynamic: Mapping[str, Mapping[int, str]], tell: Progress | None = None
) -> dict[str, Spec]:
    """Specs for all inputs. tell: hears of a search for sizes that fit, where these do not.

    Raises BadInput listing every missing parameter, unknown name and input without a shape."""
    assert model.graph is not None
    free, missing = split_inputs(model, specs)
    problems = list(dict.fromkeys(unknown_names(model, specs, dynamic)))
    if missing:
        raise without_params(model, missing, *problems)
    if problems:
        raise BadInput(*problems)
    ignored = set(label_names(model.graph))
    specs = with_sizes_beside(model, specs, free)
    try:
        inferred = model.infer(specs)
    except MXNetError as error:
        problems = channels_last(model, specs) or _ranks(model, specs) or misfits(model, specs, error)
        problems = problems or _unfit(model, specs, tell)
        if problems:
            raise BadInput(*problems) from error
        if converters.export.untranslatable(model.graph):
            return specs  # conversion lists all those nodes, which says more
        problems = check_dtypes(model, specs) or _other_sides(model, specs, error, tell) or [str(error)]
        raise BadInput(*problems) from error
    problems = check_sizes(model.graph, inferred)
    if problems:
        raise BadInput(*problems)
    nodes = {n.name: n for n in model.graph.variables()}
    out = dict(specs)
    lacking = [n for n in free if n not in ignored and inferred.spec(Entry(nodes[n])).shape is None and n not in out]
    beside = _told_by_others(model, specs, lacking)
    follow = [n for n, shape in beside.items() if is_known(shape)]  # as soon as the others are given
    for name in free:
        found = inferred.spec(Entry(nodes[name]))
        have = out.get(name, Spec())
        spec = Spec(have.shape if have.shape is not None else found.shape, have.dtype or found.dtype)
        if is_known(spec.shape) and name not in ignored:
            out[name] = spec
        elif name not in ignored and name not in follow and not converters.export.untranslatable(model.graph):
            said = _no_shape(model, name, beside.get(name, spec.shape), specs)
            problems += [p for p in (*model.unread, said) if p not in problems]
    for name, axes in dynamic.items():
        rank = len(out[name].shape or ()) if name in out else 0
        problems += [
            f"dynamic axis {a} of {name}: it has {rank} dimensions" for a in axes if name in out and not 0 <= a < rank
        ]
    if problems:
        raise BadInput(*problems)
    return out


def unknown_names(model: Model, specs: Mapping[str, Spec], dynamic: Mapping[str, Mapping[int, str]]) -> list[str]:
    """Words for names that something is said of and that are no inputs."""
    free = split_inputs(model, specs)[0]
    return list(dict.fromkeys(_unknown(model, n, free) for n in (*specs, *dynamic) if n not in free))


def freed(model: Model, names: Sequence[str]) -> tuple[Model, dict[str, Spec]]:
    """The model with parameters that have become inputs, and their shapes and dtypes. Raises BadInput for names that are none."""
    wrong = [n for n in names if n not in model.params]
    if wrong:
        known = held(model) or list(model.params)
        raise BadInput(*(f"free {n}: no parameter; there are {listed(known)}" for n in wrong))
    specs = {n: Spec(model.params[n].shape, model.params[n].dtype) for n in names}
    return replace(model, params={n: a for n, a in model.params.items() if n not in specs}), specs


def held(model: Model) -> list[str]:
    """Parameters that no operator takes as one: they stand where inputs do."""
    assert model.graph is not None
    readers = model.graph.uses()
    found = []
    for node in model.graph.variables():
        if node.name in model.params:
            reads = readers.get((id(node), 0), ())
            roles = [i < len(n := r.op.input_names()) and n[i] in r.op.parameters for r, i in reads if r.op is not None]
            if roles and not any(roles):
                found.append(node.name)
    return found


def held_inputs(model: Model) -> list[str]:
    """A remark on what the parameters hold and what may be meant as inputs: by its name, or since there are no others."""
    if model.graph is None or not model.params:
        return []
    ignored = set(label_names(model.graph))
    none = not [n for n in model.variables() if n not in ignored]
    names = [n for n in held(model) if none or re.fullmatch(r"data\d*|.*(begin_)?state(_?\d+)?|input\d*", n)]
    if not names:
        return []
    where = model.params_path or "the parameters given"
    return [f"{listed(names)}: taken from {where}, as parameters; an input instead by --free {names[0]}"]


def with_sizes_beside(model: Model, specs: dict[str, Spec], free: list[str]) -> dict[str, Spec]:
    """The specs, with shapes that files beside the model tell of inputs whose shape is not given."""
    out = dict(specs)
    for name, shape in model.sizes.items():
        if name in free and (name not in out or out[name].shape is None):
            out[name] = out[name]._replace(shape=shape) if name in out else Spec(shape)
    return out


def told_by_arrays(
    model: Model, given: Mapping[str, Spec], arrays: Mapping[str, Any], source: str, batch: int | None = None
) -> tuple[dict[str, Spec], list[str]]:
    """Specs of inputs whose sizes nothing but arrays tells, which are no inputs themselves, and a remark on each. given: what is
    said of inputs. source: where the arrays come from. batch: the first size, in place of theirs, which may count examples."""
    if model.graph is None or not any(n in arrays and n not in given for n in model.variables()):
        return {}, []
    model = model.inferring(given)
    assert model.graph is not None
    free, ignored = split_inputs(model, given)[0], set(label_names(model.graph))
    try:
        inferred = model.infer(with_sizes_beside(model, dict(given), free))
    except MXNetError:  # for who settles them to say
        return {}, []
    found = {}
    for node in model.graph.variables():
        name = node.name
        if name in arrays and name in free and name not in ignored and not is_known(inferred.spec(Entry(node)).shape):
            shape = np.shape(arrays[name])
            found[name] = Spec(shape if batch is None else (batch, *shape[1:]))
    return found, [
        f"input {n}: the shape {show(s.shape)} is from {source}; --input gives another" for n, s in found.items()
    ]


class Opened(NamedTuple):
    """Inputs of an imported network with the axes that its ONNX model leaves open."""

    specs: dict[str, Spec]
    """With a size to verify at for each of them."""
    dynamic: Mapping[str, Mapping[int, str]]
    vary: tuple[str, ...] = ()
    """Names of the axes that are open though nobody asked for it."""
    fixing: str = ""
    """Options that give them sizes."""

    @property
    def notes(self) -> list[str]:
        """A remark on these axes."""
        names = listed(dict.fromkeys(self.vary))
        said = (
            f"{names} may vary, as in the ONNX model that the symbol was imported from; {self.fixing} fixes the sizes"
        )
        return [said] if self.vary else []


def with_declared_axes(
    model: Model, specs: dict[str, Spec], dynamic: Mapping[str, Mapping[int, str]], batch: int | str | None = None
) -> Opened:
    """The specs and open axes, with those that the variables of inputs declare whose shape nobody gives. batch: a size for the
    first axis of all of them, or a name that somebody else gives to it."""
    assert model.graph is not None
    every = {n.name: own for n in model.graph.variables() if n.name not in model.params and (own := declared(n))}
    asked = {n: d for n, d in every.items() if (n not in specs or specs[n].shape is None) and not _all_sizes(d)}
    if not asked:
        return Opened(specs, dynamic)
    sizes: dict[str, int] = {}
    labels: dict[str, str] = {}
    for name, own in every.items():
        labels |= {d: dynamic[name][a] for a, d in enumerate(own) if isinstance(d, str) and a in dynamic.get(name, {})}
        given = specs[name].shape or () if name in specs else ()
        sizes |= {d: size for d, size in zip(own, given) if isinstance(d, str) and isinstance(size, int)}
    fixed = {*sizes} - {*labels}
    told = {name: _told_by_weights(model, name, own) for name, own in asked.items()}

    def opened(size: int | None) -> Opened | None:
        """With a size for open axes other than the first; None for the usual ones. None where not all sizes are told."""
        known, out, axes = dict(sizes), dict(specs), {n: dict(a) for n, a in dynamic.items()}
        vary, fixing = [], []
        for name, own in asked.items():
            shape: MaybeShape = tuple(
                d if isinstance(d, int) else known.get(d or "", UNKNOWN if size is None or not a else size)
                for a, d in enumerate(own)
            )
            channels = told[name]
            chosen = sizes_for(model, name, tuple(channels.get(a, d) for a, d in enumerate(shape)), out, OPEN)
            if not _all_sizes(chosen):
                return None
            if isinstance(batch, int) and not isinstance(own[0], int):
                chosen = (batch, *chosen[1:])
            out[name] = Spec(chosen, out[name].dtype if name in out else None)
            open_axes = {
                axis: axes.get(name, {}).get(axis) or labels.get(label or "") or label or f"{name}_{axis}"
                for axis, label in enumerate(own)
                if not isinstance(label, int)
                and label not in fixed
                and axis not in channels
                and (axis or batch is None)
            }
            known |= {d: s for d, s in zip(own, chosen) if isinstance(d, str) and isinstance(s, int)}
            if open_axes:
                axes[name] = open_axes
                vary += open_axes.values()
                fixing.append(f"--input {name}:{','.join(map(str, chosen))}")
        return Opened(out, axes, tuple(vary), " ".join(fixing))

    lengths = LENGTHS if any(not isinstance(d, int) for own in asked.values() for d in own[1:]) else ()
    for size in (None, *lengths):
        found = opened(size)
        if found is None:
            break  # who settles the inputs says which are wanted
        if fits(model, found.specs):
            return found
    return Opened(specs, dynamic)


def with_axes(spec: Spec, axes: Mapping[int, str]) -> Spec:
    """A spec of known sizes, with names in the place of those of some axes."""
    assert spec.shape is not None
    return Spec(tuple(axes.get(i, d) for i, d in enumerate(spec.shape)), spec.dtype)


def _all_sizes(shape: Sequence[object]) -> bool:
    return all(isinstance(d, int) for d in shape)


def _told_by_weights(model: Model, name: str, sizes: Sequence[object]) -> dict[int, int]:
    """Sizes of axes, other than the first, that are declared open and are as many as the first layer's weights take."""
    layer = first_layer(model, name)
    if layer is None or layer.op is None or layer.op.name == "Embedding":
        return {}
    known = _first_layer(model, name) or ()
    if len(known) != len(sizes):
        return {}
    return {a: d for a, d in enumerate(known) if a and not isinstance(sizes[a], int) and isinstance(d, int)}


def told_beside(model: Model, given: Container[str]) -> list[str]:
    """A remark on each shape that was taken from a file beside the model, since nobody gave it. given: inputs of which one was."""
    free = model.variables()
    return [
        f"input {name}: the shape {show(model.sizes[name])} is from {file}; --input gives another"
        for name, file in model.sizes_from.items()
        if name in free and name not in given
    ]


def _ranks(model: Model, specs: Mapping[str, Spec]) -> list[str]:
    """Words for inputs that were given without the axis of the batch, by what their first layer takes."""
    problems = []
    for name, spec in specs.items():
        wanted, got = _first_layer(model, name), spec.shape
        if wanted is not None and got is not None and len(got) == len(wanted) - 1 and is_known(got):
            sizes = ",".join(map(str, _with_axis(model, name, got, len(wanted)) or example(model, name).split(",")))
            problems.append(
                f"input {name}: got shape {show(got)}, wanted {len(wanted)} dimensions, the batch first; try --input {name}:{sizes}"
            )
    return problems


def _with_axis(model: Model, name: str, got: tuple[int, ...], rank: int) -> list[int] | None:
    """The sizes with one axis more, so that a first convolution finds its channels: with the batch before them, with a second side
    like the one that is given, or turned, where channels stand last. None where none of these fits, and for other layers that do
    not take the batch alone."""
    layer = first_layer(model, name)
    weight = None if layer is None else _weight(model, layer)
    whole = [1, *got]
    if layer is None or weight is None or len(weight) != rank or rank < 3:
        return whole
    channels, place = _channels(layer, weight), rank - 1 if _last(layer) else 1
    turned = [1, *got[1:], got[0]] if _last(layer) else [1, got[-1], *got[:-1]]
    doubled = [got[0], *got[1:2], *got[1:]] if _last(layer) else [*got, got[-1]]
    tried = (
        (doubled, whole, turned) if got[0] == 1 else (whole, doubled, turned)
    )  # what is 1 is more likely a batch than a side
    return next((sizes for sizes in tried if sizes[place] == channels), None)


def _given(specs: Mapping[str, Spec]) -> str:
    """The inputs whose sizes are given, with these."""
    return listed([f"{n} {show(s.shape)}" for n, s in specs.items() if s.shape is not None and is_known(s.shape)])


def _unfit(model: Model, specs: Mapping[str, Spec], tell: Progress | None) -> list[str]:
    """Parameters that do not fit the inputs' sizes, and what is likely wrong."""
    problems = check_params(model, {n: s.shape for n, s in specs.items()})
    given = _given(specs)
    if problems and given:
        fitting = other_sides(model, specs, tell)
        problems.append(
            f"so {given} is not the size that the network was trained for, or the parameters are of another network: give that "
            f"size with --input (and --resize){f'; {fitting} would fit' if fitting else ''}"
        )
    return problems


def _other_sides(model: Model, specs: Mapping[str, Spec], error: MXNetError, tell: Progress | None) -> list[str]:
    """Words for pictures of a size that some layer does not take, with one that all of them do."""
    fitting = other_sides(model, specs, tell)
    given = _given(specs)
    return (
        [f"{given} is no size that the network takes ({without_given(error)}); {fitting} would fit"] if fitting else []
    )


def _unknown(model: Model, name: str, free: list[str]) -> str:
    if name in model.params and name not in model.extra_params():
        where = model.params_path or "the parameters given"
        return f"input {name}: {where} holds it as a parameter; --free {name} makes it an input"
    return f"unknown input {name}: the model takes {', '.join(free) or 'none'}"


def _no_shape(model: Model, name: str, shape: MaybeShape, specs: Mapping[str, Spec]) -> str:
    """Words for an input without a shape: one that the network takes, as far as it can be told."""
    assert model.graph is not None
    wanted = example(model, name, shape, specs)
    if "label" in name.lower() and any("loss" in e.name.lower() for e in model.graph.outputs):
        return (
            f"cannot tell the shape of {name}, a label that every output needs; cut the network before its losses "
            f"(--outputs NAME), or give it, for instance --input {name}:{wanted}"
        )
    return f"cannot tell the shape of input {name}; give it, for instance --input {name}:{wanted}"


def _told_by_others(model: Model, specs: Mapping[str, Spec], lacking: Sequence[str]) -> dict[str, MaybeShape]:
    """Shapes that follow for some of the inputs that lack one from what is proposed for the others, as those of a cell's state from
    the sequence's: what is proposed for all fits together then."""
    assert model.graph is not None
    sizes = {n: sizes_for(model, n, None, specs) for n in lacking if _first_layer(model, n) is not None}
    proposed = {n: Spec(shape) for n, shape in sizes.items() if _all_sizes(shape)}  # type: ignore[arg-type]
    if not proposed or len(proposed) == len(lacking):
        return {}
    try:
        inferred = model.infer({**specs, **proposed})
    except MXNetError:
        return {}
    nodes = {n.name: n for n in model.graph.variables()}
    return {n: inferred.spec(Entry(nodes[n])).shape for n in lacking if n not in proposed}


def proposed_sizes(model: Model, names: Sequence[str], specs: Mapping[str, Spec]) -> dict[str, tuple[int | str, ...]]:
    """Sizes that inputs may have together, as example writes those of one. specs: what is known of others."""
    beside = _told_by_others(model, specs, names)
    return {n: sizes_for(model, n, beside.get(n), specs) for n in names}


def example(model: Model, name: str, shape: MaybeShape = None, specs: Mapping[str, Spec] | None = None) -> str:
    """Sizes that an input may have, as they are written: those that are known, what its first layer takes, and usual ones; words
    in the place of sizes where the usual ones do not fit. specs: what is known of other inputs."""
    return ",".join(map(str, sizes_for(model, name, shape, specs)))


def tells(model: Model, name: str, shape: MaybeShape) -> bool:
    """True where the network itself tells something of the shape of an input, be it only the rank."""
    found = shape, _first_layer(model, name), _state(model, name), _lengths(model, name)
    return any(known is not None for known in found)


def sizes_for(
    model: Model,
    name: str,
    shape: MaybeShape = None,
    specs: Mapping[str, Spec] | None = None,
    usual_sides: Sequence[int] | None = None,
) -> tuple[int | str, ...]:
    """Sizes that an input may have, as example writes them. usual_sides: of pictures, those that are tried first before others."""
    assert model.graph is not None
    known = _own_shape(model, name, specs or {}) if shape is None else shape
    if known is None:
        known = _with_batch_of_others(model, name, specs or {})
    if known is None:
        return USUAL[4]
    if like := _like_another(model, name, known, specs or {}):
        return like
    rank, layer = len(known), first_layer(model, name)
    last = _last(layer) if layer is not None else rank > 1 and known[1] is UNKNOWN and known[-1] is not UNKNOWN
    space = range(1, rank - 1) if last else range(2, rank)
    usual = dict(enumerate(USUAL.get(rank, (1, *(16,) * (rank - 1)))))
    if rank not in SPACE:
        return tuple(usual[i] if d is UNKNOWN else d for i, d in enumerate(known))
    usual |= dict(zip(space, USUAL[rank][2:]))
    sides = [known[i] for i in space if known[i] is not UNKNOWN]
    if sides:  # one side is known: the others are like it
        usual |= dict.fromkeys(space, sides[0])
    told = dict(specs or {})
    if rank == 4 and not sides:
        open_ = tuple(usual[i] if i not in space and d is UNKNOWN else d for i, d in enumerate(known))
        side = fitting_side(model, name, open_, told, usual_sides)
        usual |= dict(zip(space, SPACE[rank])) if side is None else dict.fromkeys(space, side)
    return tuple(usual[i] if d is UNKNOWN else d for i, d in enumerate(known))


def _with_batch_of_others(model: Model, name: str, specs: Mapping[str, Spec]) -> MaybeShape:
    """The shape that the network takes, as far as it tells, with the batch of inputs that are given, or 1."""
    found = ((_first_layer(model, name), None), (_state(model, name), 1), (_lengths(model, name), 0))
    known, at = next(((shape, axis) for shape, axis in found if shape is not None), (None, None))
    if known is None:
        return None
    at = next((i for i, d in enumerate(known) if d is not UNKNOWN and d == 1), None) if at is None else at
    batches = set()
    for other, spec in specs.items():
        layer = None if other == name or not is_known(spec.shape) or not spec.shape else first_layer(model, other)
        if layer is not None and layer.op is not None and layer.op.name in (*CONVOLUTIONS, "FullyConnected"):
            batches.add(spec.shape[0])  # type: ignore[index]  # it is known
    return known if at is None or len(batches) != 1 else (*known[:at], *batches, *known[at + 1 :])


def _like_another(
    model: Model, name: str, known: Sequence[Any], specs: Mapping[str, Spec]
) -> tuple[int | str, ...] | None:
    """The shape of another picture that is given, as of the other camera, where the network takes it for this one too."""
    if len(known) not in SPACE or not any(d is UNKNOWN for d in known):
        return None
    for other, spec in specs.items():
        shape = spec.shape
        if other == name or shape is None or not is_known(shape) or len(shape) != len(known):
            continue
        alike = all(d is UNKNOWN or d == size for d, size in zip(known, shape))
        if alike and fits(model, {**specs, name: Spec(shape)}):
            return shape
    return None


def _lengths(model: Model, name: str) -> MaybeShape:
    """The shape of the lengths of sequences; None for an input that is none."""
    assert model.graph is not None
    readers = model.graph.uses()
    for node in model.graph.variables():
        for reader, position in readers.get((id(node), 0), ()) if node.name == name else ():
            names = reader.op.input_names() if reader.op is not None else ()
            if names[position : position + 1] == ("sequence_length",):
                return (1,)
    return None


def _own_shape(model: Model, name: str, specs: Mapping[str, Spec]) -> MaybeShape:
    """The shape that inference knows of an input, which the symbol may say itself."""
    assert model.graph is not None
    node = next((n for n in model.graph.variables() if n.name == name), None)
    try:
        return None if node is None else model.infer(specs).spec(Entry(node)).shape
    except MXNetError:  # what is known of the others does not fit, which somebody else says
        return None


def unvarying(model: Model, other: Mapping[str, Spec], dynamic: Mapping[str, Mapping[int, str]]) -> list[str]:
    """Words for dynamic axes that cannot vary, since the graph is unrolled for so many steps. other: the inputs with other sizes
    along dynamic axes."""
    if not cuts(model):
        return []
    try:
        model.infer(other)
    except MXNetError as error:
        found = unrolled(model, other, error)
        if found is not None and found.axis in (axes := dynamic.get(found.input, {})):
            return [found.fixed(axes[found.axis])]
    return []


def _first_layer(model: Model, name: str) -> MaybeShape:
    """The shape that the first layer with weights behind an input takes, as far as it tells; None where it tells nothing."""
    layer = first_layer(model, name)
    if layer is None:
        steps = _steps(model, name)
        return _behind_turn(model, name) if steps is None else steps
    return _taken_by(model, name, layer)


def _behind_turn(model: Model, name: str) -> MaybeShape:
    """The shape that an input has by the recurrence that reads it, or by the first layer or recurrence behind a transpose of it.
    None where there is none, or it tells nothing."""
    assert model.graph is not None
    start = next((n for n in model.graph.variables() if n.name == name), None)
    found = None if start is None else _behind(model, (id(start), 0), lambda _, node: node.means(Permutation, RNN))
    layer = found
    while layer is not None and layer.means(Permutation, Pad):  # a border leaves channels as they are
        layer = _behind(model, (id(layer), 0), lambda m, node: _has_weight(m, node) or node.means(Pad, RNN))
    if found is None or layer is None:
        return None
    made = _sequence(model, layer) if layer.means(RNN) else _taken_by(model, name, layer)
    if made is None or layer is found:
        return made
    try:
        order = [*found.op.order(len(made))]  # type: ignore[union-attr]  # it is a permutation
    except (MXNetError, ValueError):  # of another rank
        return None
    return tuple(made[order.index(i)] for i in range(len(made)))


def _state(model: Model, name: str) -> MaybeShape:
    """The shape of a recurrence's state; None for an input that is none."""
    assert model.graph is not None
    readers = model.graph.uses()
    for node in model.graph.variables():
        for reader, position in readers.get((id(node), 0), ()) if node.name == name else ():
            op: Any = reader.op
            if reader.means(RNN) and op.input_names()[position] in op.state_names:
                units = op.state_size if op.input_names()[position] == "state_cell" else op.result_size
                return (op.num_layers * op.directions, 1, units)
    return None


def _sequence(model: Model, node: Node) -> MaybeShape:
    """The shape that a recurrence takes, as far as the size of its parameters tells."""
    op: Any = node.op
    arrays = [model.params.get(n.name) for n in Graph([node.inputs[1]]).variables()]
    total = sum(a.size for a in arrays if a is not None)
    fixed = op.parameter_count(0)
    features, left = divmod(total - fixed, op.parameter_count(1) - fixed)
    return None if any(a is None for a in arrays) or left or features < 1 else (STEPS, 1, features)


def _taken_by(model: Model, name: str, layer: Node) -> MaybeShape:
    """The shape that a layer with weights takes, as far as it tells; None where it tells nothing. name: of the input before it."""
    op, weight = layer.op, _weight(model, layer)
    kind = op.name if op is not None else ""
    if kind in ("Convolution", "Convolution_v1") and weight is not None:
        sizes = (UNKNOWN,) * (len(weight) - 2)
        channels = _channels(layer, weight)
        return (1, *sizes, channels) if _last(layer) else (1, channels, *sizes)
    if kind == "FullyConnected" and weight is not None:
        return (1, weight[1])
    if kind == "Embedding":
        steps = _steps(model, name)
        return (1, 16) if steps is None else steps
    return None


def _steps(model: Model, name: str) -> MaybeShape:
    """The shape that an input has by the steps that it, or what an Embedding makes of it, is cut into; None where it is not."""
    assert model.graph is not None
    start = next(((id(n), 0) for n in model.graph.variables() if n.name == name), None)
    table = None if start is None else _behind(model, start, _has_weight)
    looked_up = table is not None and table.op is not None and table.op.name == "Embedding"
    start = (id(table), 0) if looked_up else start
    cut = None if start is None else _behind(model, start, lambda _, node: is_cut(node))
    axis = getattr(cut.op, "axis", None) if cut is not None else None
    if cut is None or axis not in (0, 1):
        return None
    steps = (cut.num_outputs, 1) if axis == 0 else (1, cut.num_outputs)
    if looked_up:
        return steps
    layer = _behind(model, (id(cut), 0), _has_weight)
    weight = None if layer is None else _weight(model, layer)
    wide = layer is not None and layer.op is not None and layer.op.name == "FullyConnected"
    return (*steps, weight[1]) if wide and weight is not None else None


def first_layer(model: Model, name: str) -> Node | None:
    """The first node with weights that an input arrives at by way of operators that leave its shape as it is."""
    assert model.graph is not None
    found = (_behind(model, (id(n), 0), _has_weight) for n in model.graph.variables() if n.name == name)
    return next((n for n in found if n is not None), None)


def _has_weight(model: Model, node: Node) -> bool:
    """True for a node whose second input is a weight among the parameters."""
    assert node.op is not None
    held = any(e.node.is_variable and e.node.name in model.params for e in node.inputs[1:2])
    return held and node.op.input_names()[1:2] == ("weight",)


def _behind(model: Model, key: tuple[int, int], wanted: Callable[[Model, Node], bool]) -> Node | None:
    """The first node that is wanted which an entry arrives at by way of operators that leave its shape as it is."""
    assert model.graph is not None
    readers = model.graph.uses()
    todo = [(key, False)]
    while todo:
        key, padded = todo.pop(0)
        for node, position in readers.get(key, ()):
            if node.op is None or (position and not node.op.name.startswith("broadcast_")):
                continue
            if not position and wanted(model, node) and (not padded or node.op.name.startswith("Convolution")):
                return node
            if isinstance(node.op, Elementwise) or node.op.name.startswith("BatchNorm") or _with_constant(model, node):
                todo.append(((id(node), 0), padded))
            elif node.op.name == "Pad" and not any(getattr(node.op, "pad_width", ())[:4]):
                # of the sides, not of batch and channels
                todo.append(((id(node), 0), True))
    return None


def _with_constant(model: Model, node: Node) -> bool:
    """True for arithmetic with a parameter for each channel, or one number for all: pictures less their mean."""
    assert node.op is not None
    if not node.op.name.startswith("broadcast_") or len(node.inputs) != 2:
        return False
    sides = [_held(model, e) for e in node.inputs]
    return any(a is not None and sum(d > 1 for d in a.shape) <= 1 for a in sides)


def _held(model: Model, entry: Entry) -> np.ndarray | None:
    """The parameter that an entry holds, behind operators that pass it on."""
    while entry.node.op is not None and isinstance(entry.node.op, Elementwise) and len(entry.node.inputs) == 1:
        entry = entry.node.inputs[0]
    return model.params.get(entry.node.name) if entry.node.op is None else None


def _weight(model: Model, node: Node) -> tuple[int, ...] | None:
    array = model.params.get(node.inputs[1].node.name)
    return None if array is None else array.shape


def _last(node: Node) -> bool:
    """True where a convolution takes its channels last."""
    return (getattr(node.op, "layout", None) or "NCHW").endswith("C")


def _channels(node: Node, weight: tuple[int, ...]) -> int:
    return (weight[-1] if _last(node) else weight[1]) * getattr(node.op, "num_group", 1)


def with_sides(
    model: Model, name: str, shape: tuple[int, ...], specs: Mapping[str, Spec], sides: Sequence[int]
) -> tuple[int, ...]:
    """The shape of a picture, with sides that the network takes where it does not take these and some are found."""
    if len(shape) != 4 or fits(model, {**specs, name: Spec(shape, specs[name].dtype)}):
        return shape
    side = fitting_side(model, name, tuple(UNKNOWN if i in sides else d for i, d in enumerate(shape)), specs)
    return shape if side is None else tuple(side if i in sides else d for i, d in enumerate(shape))


def channels_last(model: Model, specs: Mapping[str, Spec]) -> list[str]:
    """Words for images that were given with their channels where the first convolution does not take them."""
    problems = []
    for name, spec in specs.items():
        layer, shape = first_layer(model, name), spec.shape
        if shape is None or not is_known(shape) or layer is None or layer.op is None:
            continue
        weight = _weight(model, layer)
        if layer.op.name not in CONVOLUTIONS or weight is None or len(shape) != len(weight):
            continue
        wanted, last = _channels(layer, weight), _last(layer)
        got, other = (shape[-1], shape[1]) if last else (shape[1], shape[-1])
        if got == wanted:
            continue
        said = f"{name} {show(shape)}: {got} channels, and the first convolution ({layer.name}) wants {wanted}"
        if other == wanted:
            turned = (shape[0], *shape[2:], wanted) if last else (shape[0], wanted, *shape[1:-1])
            order = "NCHW" if last else "NHWC"
            said += f"; is it {order}? try --input {name}:{','.join(map(str, turned))}"
        else:
            fitting = (*shape[:-1], wanted) if last else (shape[0], wanted, *shape[2:])
            fitting = with_sides(model, name, fitting, specs, (1, 2) if last else (2, 3))
            said += f"; try --input {name}:{','.join(map(str, fitting))}"
        problems.append(said)
    return problems


def open_channels(model: Model, specs: Mapping[str, Spec], dynamic: Mapping[str, Mapping[int, str]]) -> list[str]:
    """Words for axes that are left open where the first convolution takes as many channels as its weights have."""
    problems = []
    for name, axes in dynamic.items():
        layer, shape = first_layer(model, name), specs[name].shape if name in specs else None
        if layer is None or layer.op is None or layer.op.name not in CONVOLUTIONS or shape is None:
            continue
        weight = _weight(model, layer)
        if weight is None or len(shape) != len(weight):
            continue
        axis = len(shape) - 1 if _last(layer) else 1
        if axis in axes:
            problems.append(
                channels_are_fixed(name, axes, axis, len(shape), f"{layer.name} takes {_channels(layer, weight)}")
            )
    return problems


def channels_are_fixed(name: str, axes: Mapping[int, str], channels: int, rank: int, who: str) -> str:
    """Words for the axis of channels that is left open, with the axes that were meant, as far as the labels tell. who: the layer
    and how many it takes."""
    said = (
        f"dynamic {name}:{channels}={axes[channels]}: axis {channels} is the channels, of which the first layer {who}"
    )
    space = [a for a in range(1, rank) if a != channels]
    labels = [axes[a] for a in sorted(axes) if a]
    if len(labels) == len(space) and not axes[channels].lower().startswith("c"):  # one for each side, and an axis off
        meant = dict(zip(space, labels))
    else:
        meant = {a: label for a, label in axes.items() if a in space}
    if not meant:
        return f"{said}; leave it out: the sides are axes {' and '.join(map(str, space))}"
    meant = {**{a: label for a, label in axes.items() if a == 0}, **meant}
    return f"{said}; did you mean {name}:{','.join(f'{a}={label}' for a, label in sorted(meant.items()))}?"


def of_one_place(model: Model, specs: Mapping[str, Spec]) -> list[str]:
    """Words for sizes at which every convolution of a network sees one place, the rest of its window being border: that is another
    network, of which most weights are read by none, and all that have the same in the middle agree. specs: of all inputs."""
    given = [n for n, s in specs.items() if s.shape is not None and len(s.shape) > 2 and _one_place(s.shape)]
    if model.graph is None or not given:
        return []
    windows = {n: tuple(getattr(n.op, "kernel", ())) for n in model.graph.nodes if n.op and n.op.name in CONVOLUTIONS}
    seen = [n for n, window in windows.items() if math.prod(window) > 1]
    if len(seen) < 2:  # of a single one that may be what somebody tries
        return []
    try:
        inferred = model.infer(specs)
    except MXNetError:
        return []
    for node in seen:
        shape = inferred.spec(node.inputs[0]).shape
        if shape is None or any(side != 1 for side in (shape[1:-1] if _last(node) else shape[2:])):
            return []
    window = " x ".join(map(str, windows[seen[0]]))
    told = f"all {len(seen)} convolutions see one place of it, and borders around ({seen[0].name} has a window of {window})"
    return [
        f"{n} {show(specs[n].shape)}: {told}: equal numbers would say nothing of their other weights; give the size of the "
        f"training, such as --input {n}:{example(model, n)}"
        for n in given
        if first_layer(model, n) is not None
    ]


def _one_place(shape: tuple[Any, ...]) -> bool:
    """True for a picture of one place, wherever its channels are."""
    return all(side == 1 for side in shape[2:]) or all(side == 1 for side in shape[1:-1])


def smaller_than_a_cell(model: Model, specs: Mapping[str, Spec]) -> list[str]:
    """A remark where a layer steps over more than is left of a picture: a smaller picture cannot be told from its border there,
    which a network that pools globally takes without a word. specs: of all inputs."""
    if model.graph is None:
        return []
    try:
        inferred = model.infer(specs)
    except MXNetError:
        return []
    for node in model.graph.nodes:
        op = node.op
        stride = tuple(getattr(op, "stride", None) or ()) if op is not None else ()
        if op is None or op.name not in STRIDING or getattr(op, "global_pool", False):
            continue
        shape = inferred.spec(node.inputs[0]).shape or ()
        sides = shape[1:-1] if _last(node) else shape[2:]
        if len(sides) == len(stride) and any(s > d for s, d in zip(stride, sides) if isinstance(d, int)):
            given = [f"{n} {show(s.shape)}" for n, s in specs.items() if len(s.shape or ()) == len(shape)]
            left, steps = (" x ".join(map(str, each)) for each in (sides, stride))
            return [
                f"{listed(given)}: {node.name} ({op.name}) steps by {steps} over the {left} that is left of it: less than one cell "
                "of the last layers, which see little but borders; give the size of the training"
            ]
    return []
