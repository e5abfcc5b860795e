"""Steps behind a network, computed inside the file: scores become probabilities, the best class, the best K of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np

from converters.names import Names, kept_names, name_outputs
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN, MaybeShape, show
from hybrid.ir.graph import Entry, Graph, Node

from ..models import Model
from ..paths import BadInput, listed
from .detections import ROWS, detector_of, is_of_rows
from .nodes import apply

KEY = "gluonnx.postprocess"
SOFTMAXES = (
    "SoftmaxOutput",
    "softmax",
    "SoftmaxActivation",
    "log_softmax",
    "softmin",
    "_onnx_Softmax",
    "_onnx_LogSoftmax",
)
"""Operators behind which scores are probabilities, or their logarithms, already."""


@dataclass(frozen=True)
class Postprocess:
    """Steps behind an output, in this order. softmax alone takes the output's place; argmax adds ``NAME_class`` and top_k
    ``NAME_scores`` and ``NAME_classes``, in the place of the output.

    Examples
    --------
    >>> import gluonnx
    >>> gluonnx.Postprocess(softmax=True, top_k=5).top_k
    5
    """

    softmax: bool = False
    """Scores become probabilities, along axis."""
    argmax: bool = False
    """The class of the largest score, int64; of equal ones the first."""
    top_k: int | None = None
    """So many of the largest scores in order, and their classes, int64."""
    labels: tuple[str, ...] = ()
    """Names of the classes, for the file's metadata."""
    output: str | None = None
    """The output that holds scores; by default the only one, or the only one with an axis as long as there are labels."""
    axis: int | None = None
    """The axis along which the classes are; by default the only one as long as there are labels, or else 1; of three axes it has to
    be said then."""

    @property
    def computes(self) -> bool:
        """True where outputs become others, rather than get names of their classes alone.

        Examples
        --------
        >>> import gluonnx
        >>> gluonnx.Postprocess(labels=("cat", "dog")).computes, gluonnx.Postprocess(top_k=1).computes
        (False, True)
        """
        return self.softmax or self.argmax or self.top_k is not None

    def __bool__(self) -> bool:
        return self.computes or bool(self.labels)


def as_facts(wanted: Postprocess) -> dict[str, str]:
    """The member of a file's metadata that says what it does behind its network; none where it does nothing there."""
    steps = {n: v for n, v in asdict(wanted).items() if n != "labels" and v not in (None, False)}
    return {KEY: json.dumps(steps, sort_keys=True)} if steps.keys() & {"softmax", "argmax", "top_k"} else {}


def placed(model: Model, wanted: Postprocess, specs: Mapping[str, Spec]) -> Postprocess:
    """The steps with the output and the axis that hold scores, where nobody says them and only one axis of one output, but for the
    first, which is the batch as a rule, is as long as there are names of classes."""
    assert model.graph is not None
    output, axis = wanted.output, wanted.axis
    if not wanted.labels or (output is not None and axis is not None):
        return wanted
    if not wanted.computes and axis is None and detector_of(model, specs, output) is not None:
        return wanted
    own = None if output is None else _output(model, wanted, specs)
    found = [each for each in _of_classes(model, wanted, specs) if own in (None, each.output)]
    if len(found) != 1 or is_of_rows(entry := model.graph.outputs[found[0].output]):
        return wanted
    [(_, place, rank)] = found
    several, usual = len(model.graph.outputs) > 1, axis is None and place == 1 and rank != 3
    return replace(wanted, output=entry.name if several else output, axis=axis if usual else place)


CHOOSING = {"topk", "sort", "argsort", "argmax", "argmin", "argmax_channel", "_npi_argmax", "_npi_argmin"}
"""Operators that give some of what they are given, or its places, in an order of their own."""


class _Classes(NamedTuple):
    """An axis that is as long as there are names of classes."""

    output: int
    """The place of its output."""
    axis: int
    rank: int


def _of_classes(model: Model, wanted: Postprocess, specs: Mapping[str, Spec]) -> list[_Classes]:
    """The axes, but for the first, that are as long as there are names; where one is said, that of each output."""
    assert model.graph is not None
    inferred = model.infer(specs)
    shapes = [inferred.spec(entry).shape or () for entry in model.graph.outputs]
    return [
        _Classes(output, axis, len(shape))
        for output, shape in enumerate(shapes)
        for axis, size in enumerate(shape)
        if size == len(wanted.labels)
        and not _is_chosen(model.graph.outputs[output])
        and (axis > 0 if wanted.axis is None else wanted.axis in (axis, axis - len(shape)))
    ]


def _is_chosen(entry: Entry) -> bool:
    """True for the best of something, or their places: as many as were asked for, and not a score of each class."""
    node = entry.node
    while node.op is not None and node.op.name not in CHOOSING and len(node.inputs) == 1:
        node = node.inputs[0].node
    return node.op is not None and node.op.name in CHOOSING


def note_of_labels(model: Model, wanted: Postprocess, specs: Mapping[str, Spec]) -> list[str]:
    """A remark on the output of several that names of classes are for, ahead of the steps behind it; none for detectors, which name
    the classes of boxes."""
    assert model.graph is not None
    outputs = model.graph.outputs
    if not wanted.labels or len(outputs) == 1:
        return []
    if not wanted.computes and wanted.axis is None and detector_of(model, specs, wanted.output) is not None:
        return []
    place = _output(model, wanted, specs)
    others = {outputs[each.output].name for each in _of_classes(model, wanted, specs) if each.output != place}
    also = f", and not for {listed(sorted(others))}, which holds as many (--postprocess-output)" if others else ""
    return [f"labels: {len(wanted.labels)} names for the classes of {outputs[place].name}{also}"]


def postprocessed(model: Model, wanted: Postprocess, specs: Mapping[str, Spec]) -> Model:
    """The model with the steps behind its output. Raises BadInput for steps that do not go together, or not with the model."""
    assert model.graph is not None
    if wanted.argmax and wanted.top_k is not None:
        raise BadInput("got argmax and top-k, wanted one of them: top-k 1 gives the best class too, with its score")
    if wanted.top_k is not None and wanted.top_k < 1:
        raise BadInput(f"top-k: got {wanted.top_k}, wanted 1 or more")
    graph = model.graph
    if wanted.labels and not wanted.computes and wanted.axis is None:
        found = detector_of(model, specs, wanted.output)
        if found is not None:
            _hold_names(wanted.labels, *found)
            return model
    place = _output(model, wanted, specs)
    entry = graph.outputs[place]
    if is_of_rows(entry):
        raise BadInput(
            f"{entry.name} holds {ROWS}, and softmax, argmax and top-k want scores of classes: leave them out (--labels alone "
            "names the classes), or name another output with --postprocess-output"
        )
    shape = model.infer(specs).spec(entry).shape
    axis = _axis(entry, shape, wanted)
    count = UNKNOWN if shape is None else shape[axis]
    problems = []
    if wanted.labels and count is not UNKNOWN and count != len(wanted.labels):
        problems.append(f"labels: got {len(wanted.labels)} names for {count} classes of {entry.name} {show(shape)}")
    if wanted.top_k is not None and count is not UNKNOWN and wanted.top_k > count:
        problems.append(f"top-k: got {wanted.top_k}, and {entry.name} {show(shape)} has {count} classes")
    if wanted.softmax and entry.node.op is not None and entry.node.op.name in SOFTMAXES:
        problems.append(
            f"softmax: {entry.name} comes out of {entry.node.op.name} already, and would be flattened by a second one"
        )
    if problems:
        raise BadInput(*problems)
    if not wanted.computes:
        return model
    names = Names([o for n in graph.nodes for o in (n.name, *n.outputs)] + list(model.params))
    base = kept_names(graph).get(entry.name, entry.name).removesuffix("_output")
    ends: dict[Entry, str] = {}
    if wanted.softmax:
        entry = apply("softmax", names.unique(f"{base}_softmax"), entry, axis=axis)
    behind = [entry]
    if wanted.argmax:
        # by way of int64: argmax itself counts in float32
        behind = [apply("_npi_argmax", names.unique(f"{base}_argmax"), entry, axis=axis)]
        ends = {behind[0]: names.unique(f"{base}_class")}
    elif wanted.top_k is not None:
        best = apply(
            "topk", names.unique(f"{base}_topk"), entry, axis=axis, k=wanted.top_k, ret_typ="both", dtype="int64"
        )
        behind = [best, Entry(best.node, 1)]
        ends = dict(zip(behind, (names.unique(f"{base}_scores"), names.unique(f"{base}_classes"))))
    made = Graph([*graph.outputs[:place], *behind, *graph.outputs[place + 1 :]])
    made = name_outputs(made, ends) if ends else made
    return replace(model, graph=made, names=kept_names(made))


def _hold_names(labels: Sequence[str], head: Node, count: int | None) -> None:
    """Raise BadInput for other names than a detector has classes."""
    if count is not None and count != len(labels):
        kind = "" if head.op is None else head.op.name
        raise BadInput(
            f"labels: got {len(labels)} names for {count} classes that {head.name} ({kind}) tells apart; the background is none of "
            "them, so it gets no line"
        )


def _output(model: Model, wanted: Postprocess, specs: Mapping[str, Spec]) -> int:
    """The place of the output that is meant: where names are all that is asked for, the first that holds as many classes."""
    assert model.graph is not None
    outputs = model.graph.outputs
    kept = kept_names(model.graph)
    if wanted.output is None:
        if len(outputs) == 1:
            return 0
        usual = 1 if wanted.axis is None else None
        fitting = [each.output for each in _of_classes(model, wanted, specs) if usual in (None, each.axis)]
        if fitting and not wanted.computes:
            return fitting[0]
        inferred = model.infer(specs)
        told = ", ".join(f"{e.name} {show(inferred.spec(e).shape)}" for e in outputs)
        if wanted.labels and not fitting:
            raise BadInput(
                f"labels: got {len(wanted.labels)} names, and no output has as many classes: {told}; say which holds scores with "
                "--postprocess-output, and along which axis with --class-axis"
            )
        raise BadInput(
            f"which output holds scores? say it with --postprocess-output, or leave the others out with --outputs; there are {told}"
        )
    for place, entry in enumerate(outputs):
        if wanted.output in (entry.name, kept.get(entry.name), entry.node.name):
            return place
    raise BadInput(f"no output {wanted.output!r}; there are {_names(outputs)}")


def _names(outputs: Sequence[Entry]) -> str:
    return listed([e.name for e in outputs])


def _axis(entry: Entry, shape: MaybeShape, wanted: Postprocess) -> int:
    """The axis along which the classes are."""
    rank = None if shape is None else len(shape)
    if wanted.axis is not None:
        if rank is not None and not -rank <= wanted.axis < rank:
            raise BadInput(f"class-axis: got {wanted.axis}, and {entry.name} {show(shape)} has {rank} axes")
        return wanted.axis if rank is None else int(np.arange(rank)[wanted.axis])
    if rank is None or rank < 2 or rank == 3:
        raise BadInput(f"along which axis of {entry.name} {show(shape)} are the classes? say it with --class-axis")
    return 1
