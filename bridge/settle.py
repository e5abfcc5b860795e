"""Inputs of a model that is to be converted: a shape and a dtype for each, or words for what is missing or does not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import converters
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known, show
from hybrid.ir.graph import Entry, Node
from hybrid.ops.elementwise import Elementwise
from hybrid.passes.strip_labels import label_names

from .models import Model, check_dtypes, check_params, check_sizes, missing_words, split_inputs
from .paths import BadInput, listed

USUAL = {3: (1, 3, 128), 4: (1, 3, 224, 224), 5: (1, 3, 16, 112, 112)}
"""Sizes for an example of an input of so many dimensions."""


def settle_inputs(model: Model, specs: dict[str, Spec], dynamic: Mapping[str, Mapping[int, str]]) -> dict[str, Spec]:
    """Specs for all inputs. Raises BadInput listing every missing parameter, unknown name and input without a shape."""
    assert model.graph is not None
    free, missing = split_inputs(model, specs)
    problems = missing_words(model, missing)
    problems += [_unknown(model, n, free) for n in (*specs, *dynamic) if n not in free]
    if problems:
        raise BadInput(*dict.fromkeys(problems))
    ignored = set(label_names(model.graph))
    specs = with_sizes_beside(model, specs, free)
    try:
        inferred = model.infer(specs)
    except MXNetError as error:
        problems = channels_last(model, specs) or _ranks(model, specs) or _unfit(model, specs)
        if problems:
            raise BadInput(*problems) from error
        if converters.export.untranslatable(model.graph):
            return specs  # conversion lists all those nodes, which says more
        raise BadInput(*(check_dtypes(model, specs) or [str(error)])) from error
    problems = check_sizes(model.graph, inferred)
    if problems:
        raise BadInput(*problems)
    nodes = {n.name: n for n in model.graph.variables()}
    out = dict(specs)
    for name in free:
        found = inferred.spec(Entry(nodes[name]))
        have = out.get(name, Spec())
        spec = Spec(have.shape if have.shape is not None else found.shape, have.dtype or found.dtype)
        if is_known(spec.shape) and name not in ignored:
            out[name] = spec
        elif name not in ignored and not converters.export.untranslatable(model.graph):
            problems += [p for p in (*model.unread, _no_shape(model, name, spec.shape)) if p not in problems]
    for name, axes in dynamic.items():
        rank = len(out[name].shape or ()) if name in out else 0
        problems += [
            f"dynamic axis {a} of {name}: it has {rank} dimensions" for a in axes if name in out and not 0 <= a < rank
        ]
    if problems:
        raise BadInput(*problems)
    return out


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


def _ranks(model: Model, specs: Mapping[str, Spec]) -> list[str]:
    """Words for inputs that were given without the axis of the batch, by what their first layer takes."""
    problems = []
    for name, spec in specs.items():
        wanted, got = _first_layer(model, name), spec.shape
        if wanted is not None and got is not None and len(got) == len(wanted) - 1 and is_known(got):
            sizes = ",".join(map(str, (1, *got)))
            problems.append(
                f"input {name}: got shape {show(got)}, wanted {len(wanted)} dimensions, the batch first; try --input {name}:{sizes}"
            )
    return problems


def _unfit(model: Model, specs: Mapping[str, Spec]) -> list[str]:
    """Parameters that do not fit the inputs' sizes, and what is likely wrong."""
    problems = check_params(model, {n: s.shape for n, s in specs.items()})
    given = listed([f"{n} {show(s.shape)}" for n, s in specs.items() if s.shape is not None and is_known(s.shape)])
    if problems and given:
        problems.append(
            f"so {given} is not the size that the network was trained for, or the parameters are of another network: give that "
            "size with --input (and --resize)"
        )
    return problems


def _unknown(model: Model, name: str, free: list[str]) -> str:
    if name in model.params and name not in model.extra_params():
        where = model.params_path or "the parameters given"
        return f"input {name}: {where} holds it as a parameter; --free {name} makes it an input"
    return f"unknown input {name}: the model takes {', '.join(free) or 'none'}"


def _no_shape(model: Model, name: str, shape: MaybeShape) -> str:
    """Words for an input without a shape: one that the network takes, as far as it can be told."""
    assert model.graph is not None
    if "label" in name.lower() and any("loss" in e.name.lower() for e in model.graph.outputs):
        return (
            f"cannot tell the shape of {name}, a label that every output needs; cut the network before its losses "
            f"(--outputs NAME), or give it, for instance --input {name}:{example(model, name, shape)}"
        )
    return f"cannot tell the shape of input {name}; give it, for instance --input {name}:{example(model, name, shape)}"


def example(model: Model, name: str, shape: MaybeShape = None) -> str:
    """Sizes that an input may have, as they are written: those that are known, what its first layer takes, and usual ones."""
    assert model.graph is not None
    wanted = None if shape is not None else _first_layer(model, name)
    if shape is None:
        shape = wanted
    if shape is None:
        return "1,3,224,224"
    usual = USUAL.get(len(shape), (1, *(16,) * (len(shape) - 1)))
    known = [d for d in shape[2:] if d is not UNKNOWN]
    if known and len(known) < len(shape[2:]):  # one side is known: the other is like it
        usual = (*usual[:2], *(known[0],) * (len(shape) - 2))
    return ",".join(str(u if d is UNKNOWN else d) for d, u in zip(shape, usual))


def _first_layer(model: Model, name: str) -> MaybeShape:
    """The shape that the first layer with weights behind an input takes; None where it tells nothing."""
    layer = first_layer(model, name)
    if layer is None:
        return None
    op, weight = layer.op, _weight(model, layer)
    kind = op.name if op is not None else ""
    if kind in ("Convolution", "Convolution_v1") and weight is not None:
        sizes = USUAL.get(len(weight), ())[2:]
        channels = _channels(layer, weight)
        return (1, *sizes, channels) if _last(layer) else (1, channels, *sizes)
    if kind == "FullyConnected" and weight is not None:
        return (1, weight[1])
    if kind == "Embedding":
        return (1, 16)
    return None


def first_layer(model: Model, name: str) -> Node | None:
    """The first node with weights that an input arrives at by way of operators that leave its shape as it is."""
    assert model.graph is not None
    readers = model.graph.uses()
    todo = [(id(n), 0) for n in model.graph.variables() if n.name == name]
    while todo:
        key = todo.pop(0)
        for node, position in readers.get(key, ()):
            if node.op is None or position:
                continue
            if any(e.node.is_variable and e.node.name in model.params for e in node.inputs[1:2]) and (
                node.op.input_names()[1:2] == ("weight",)
            ):
                return node
            if isinstance(node.op, Elementwise) or node.op.name.startswith("BatchNorm"):
                todo.append((id(node), 0))
    return None


def _weight(model: Model, node: Node) -> tuple[int, ...] | None:
    array = model.params.get(node.inputs[1].node.name)
    return None if array is None else array.shape


def _last(node: Node) -> bool:
    """True where a convolution takes its channels last."""
    return (getattr(node.op, "layout", None) or "NCHW").endswith("C")


def _channels(node: Node, weight: tuple[int, ...]) -> int:
    return (weight[-1] if _last(node) else weight[1]) * getattr(node.op, "num_group", 1)


def channels_last(model: Model, specs: Mapping[str, Spec]) -> list[str]:
    """Words for images that were given with their channels where the first convolution does not take them."""
    problems = []
    for name, spec in specs.items():
        layer, shape = first_layer(model, name), spec.shape
        if shape is None or not is_known(shape) or layer is None or layer.op is None:
            continue
        weight = _weight(model, layer)
        if layer.op.name not in ("Convolution", "Convolution_v1") or weight is None or len(shape) != len(weight):
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
            said += f"; try --input {name}:{','.join(map(str, fitting))}"
        problems.append(said)
    return problems
