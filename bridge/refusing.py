"""The end of a refusal: a command that works."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from converters.error import ConversionError, UnsupportedModel
from converters.export import untranslatable
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.core.shapes import is_known
from hybrid.ir.graph import Entry, Node

from .models import ONNX, Model
from .paths import BadInput
from .settle import example, settle_inputs

MOST = 3
"""Places to cut at that are proposed together."""


def with_cut_points(
    error: UnsupportedModel, model: Model, specs: Mapping[str, Spec], opset: int | str | None
) -> UnsupportedModel:
    """The error with a command that converts the network up to the nodes that do not convert, where there is one: it was tried."""
    assert model.graph is not None
    # without sizes more nodes fail than those that have no translation whatever the sizes are
    failing = {p.node for p in untranslatable(model.graph, opset if isinstance(opset, int) else None) or error.problems}
    nodes = [n for n in model.graph.nodes if n.op is not None and n.name in failing]
    before, heads = tensors_before(model, nodes)
    cuts = tuple(dict.fromkeys(e.name for e in before))[:MOST]
    others = tuple(dict.fromkeys(e.name for e in heads))  # outputs that do not follow from what fails stay
    for names in dict.fromkeys([tuple(dict.fromkeys((*others, *cuts))), others, *((c,) for c in cuts)]):
        if names and (inputs := _converts(model, names, specs, opset)) is not None:
            return UnsupportedModel(
                error.problems, hint=f"up to there it converts: {command_for(model, inputs, names)}"
            )
    return error


def command_for(model: Model, inputs: Mapping[str, Spec], outputs: Sequence[str], options: Sequence[str] = ()) -> str:
    """The command that converts a model up to these tensors."""
    words = ["gluonnx", "convert", str(model.path or "MODEL")]
    if model.path is not None and model.params_path is not None and model.path not in model.params_path.parents:
        words.append(str(model.params_path))
    words += [w for n, s in inputs.items() for w in ("--input", f"{n}:{','.join(map(str, s.shape or ()))}")]
    words += [w for n in outputs for w in ("--outputs", n)]
    return shlex.join([*words, *options])


def tensors_before(model: Model, failing: Sequence[Node]) -> tuple[list[Entry], list[Entry]]:
    """Tensors that nodes that fail read, of nodes that compute and do not follow from such; and the outputs that do not."""
    assert model.graph is not None
    wrong = {id(n) for n in failing}
    for node in model.graph.nodes:
        if any(id(e.node) in wrong for e in node.inputs):
            wrong.add(id(node))
    read = (e for node in failing for e in node.inputs)
    before, heads = (
        [e for e in entries if e.node.op is not None and id(e.node) not in wrong]
        for entries in (read, model.graph.outputs)
    )
    return before, heads


def _converts(
    model: Model, names: Sequence[str], specs: Mapping[str, Spec], opset: int | str | None
) -> dict[str, Spec] | None:
    """The inputs with which the network converts up to these tensors; None where it does not."""
    try:
        cut = model.select(list(names))
        assert cut.graph is not None
        known = {n.name: specs[n.name] for n in cut.graph.variables() if n.name in specs}
        try:
            settled = settle_inputs(cut, dict(known), {})
        except BadInput:
            made = {n: _made_up(model, n) for n in cut.variables() if n not in known}
            settled = settle_inputs(cut, known | made, {})
        ONNX.translated(cut, inputs=settled, opset=opset)
    except (BadInput, MXNetError, ConversionError):
        return None
    return {n: s for n, s in settled.items() if is_known(s.shape)}


def _made_up(model: Model, name: str) -> Spec:
    return Spec(tuple(int(d) for d in example(model, name).split(",")))
