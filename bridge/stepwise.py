"""Networks that round to whole numbers inside, compared node by node: each on the values that ours has.

Where a float32 sum rounds otherwise, a number that lies between two steps of quantisation falls on the other one, and the next node
starts from a difference of a whole step. Outputs of such networks differ between any two runtimes (and between two versions of one)
by more than rounding, so they say little. What does say something is that every node gives the same from the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx

from .compare import Difference, Tolerance, compare
from .engines import Arrays, Model, NativeEngine, OnnxEngine
from .verify import Case, Progress, VerifyResult, with_warnings

ROUNDING = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinear", "QGemm", "DynamicQuantize")
"""How the names of operators start that round to whole numbers."""
MADE = "/made"
"""What stands after the name of a tensor that a node makes from given values."""


def rounds(proto: onnx.ModelProto) -> bool:
    """Whether the model rounds to whole numbers inside."""
    return any(n.op_type.startswith(ROUNDING) for n in proto.graph.node)


def settled(
    result: VerifyResult,
    native: NativeEngine,
    witness: OnnxEngine,
    cases: Sequence[Case],
    tolerance: Tolerance | None,
    tell: Progress,
) -> VerifyResult:
    """The result; where outputs differ and the model rounds to whole numbers inside, that of comparing node by node.

    Every output has to be among the tensors compared."""
    found = result.divergence
    if result.equivalent or found is None or found.kind == "local" or not rounds(witness.proto):
        return result
    tell("comparing node by node")
    compared = [d for case in cases for d in node_by_node(native, witness, case, tolerance)]
    if not all(d.equal for d in compared) or not {d.name for d in result.differences} <= {d.name for d in compared}:
        return result
    worst = next(d for d in result.differences if not d.equal)
    note = (
        f"the model rounds to whole numbers inside, which magnifies rounding ({worst.name}: {worst.reason}, from {found.node} "
        f"on); each of its {len(compared) // len(cases)} tensors is the same when computed from the same inputs"
    )
    return with_warnings(replace(result, equivalent=True, divergence=None), [note])


def node_by_node(
    native: NativeEngine, witness: OnnxEngine, case: Case, tolerance: Tolerance | None = None
) -> list[Difference]:
    """What each node of the witness's model gives from our values against our own result, for the tensors that both have.

    Raises EngineError when the witness does not run it."""
    theirs = {t.name for t in witness.inside()}
    names = [t.name for t in native.inside() if t.name in theirs]
    ours = {n: v for n, v in native.expose(case.feeds, names).items() if v.dtype != object}
    made = forced(witness, {**case.feeds, **ours}, list(ours))
    return [compare(name, value, made[name], tolerance) for name, value in ours.items()]


def forced(witness: OnnxEngine, values: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
    """What the nodes that make the tensors ``names`` give when all nodes read these values in place of what is computed."""
    given = set(names)
    model = onnx.ModelProto()
    model.CopyFrom(witness.whole())
    graph = model.graph
    for node in graph.node:
        node.output[:] = [f"{o}{MADE}" if o in given else o for o in node.output]
    infos = {i.name: i for i in graph.input}
    code = onnx.helper.np_dtype_to_tensor_dtype
    read = {n for node in graph.node for n in _reads(node)}
    graph.input.extend(
        onnx.helper.make_tensor_value_info(n, code(values[n].dtype), values[n].shape)
        for n in names
        if n not in infos and n in read
    )
    del graph.output[:]
    del graph.value_info[:]
    graph.output.extend(onnx.helper.make_empty_tensor_value_info(f"{n}{MADE}") for n in names)
    results = OnnxEngine(Model(witness.model.name, proto=model), plain=True).run_on(values)
    return {n.removesuffix(MADE): v for n, v in results.items()}


def _reads(node: onnx.NodeProto) -> set[str]:
    """Names that a node and its subgraphs read."""
    bodies = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    return set(node.input).union(
        *(_reads(n) for b in bodies for n in b.node), *({o.name for o in b.output} for b in bodies)
    )
