"""Networks that round to whole numbers inside, compared node by node: each on the values that ours has.

Where a float32 sum rounds otherwise, a number that lies between two steps of quantisation falls on the other one, and the next node
starts from a difference of a whole step. Outputs of such networks differ between any two runtimes (and between two versions of one)
by more than rounding, so they say little. What does say something is that every node gives the same from the same inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx

from converters.kinds import code_of
from converters.nodes import reads

from .compare import Difference, Tolerance, compare
from .engines import Arrays, Model, NativeEngine, OnnxEngine
from .verify import Case, Progress, VerifyResult, check, with_warnings

ROUNDING = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinear", "QGemm", "DynamicQuantize")
"""How the names of operators start that round to whole numbers."""
WHOLE = ("QLinear", "QGemm", "MatMulNBits", "MatMulInteger", "ConvInteger")
"""How further names of operators start that compute with whole numbers."""
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
    """The result; where outputs differ though no node does by itself, what comparing without fused nodes says, and for models that
    round to whole numbers inside, what comparing node by node says.

    What onnxruntime fuses rounds elsewhere. In half precision and among whole numbers that is a step of them and no fault; in
    float32 the verdict stays, and a note tells. Node by node, every output has to be among the tensors compared."""
    found = result.divergence
    if result.equivalent or (found is not None and found.kind == "local"):
        return result
    worst = next(d for d in result.differences if not d.equal)
    if found is None and not witness.plain:
        tell("comparing without fused nodes")
        plain = OnnxEngine(witness.model, plain=True)
        again = check(native, plain, cases, tolerance=tolerance, progress=tell)
        if again.equivalent:
            note = (
                "both agree with onnxruntime's graph optimizations off; with them on, fused nodes round elsewhere "
                f"({worst.name}: {worst.reason})"
            )
            if coarse(witness.proto, native.dtypes(cases[0].feeds)):
                return with_warnings(replace(result, equivalent=True), [note])
            return with_warnings(result, [f"{note}; --atol and --rtol accept it"])
        found = again.divergence
    if found is None or found.kind == "local" or not rounds(witness.proto):
        return result
    tell("comparing node by node")
    compared = [d for case in cases for d in node_by_node(native, witness, case, tolerance)]
    if not all(d.equal for d in compared) or not {d.name for d in result.differences} <= {d.name for d in compared}:
        return result
    note = (
        f"the model rounds to whole numbers inside, which magnifies rounding ({worst.name}: {worst.reason}, from {found.node} "
        f"on); each of its {len(compared) // len(cases)} tensors is the same when computed from the same inputs"
    )
    return with_warnings(replace(result, equivalent=True, divergence=None), [note])


def coarse(proto: onnx.ModelProto, dtypes: Iterable[str]) -> bool:
    """Whether a model computes in half precision, or with whole numbers for weights or values."""
    return not {"float16", "bfloat16"}.isdisjoint(dtypes) or any(
        "quant" in n.op_type.lower() or n.op_type.startswith(WHOLE) for n in proto.graph.node
    )


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
    read = {n for node in graph.node for n in reads(node)}
    graph.input.extend(
        onnx.helper.make_tensor_value_info(n, code_of(values[n].dtype), values[n].shape)
        for n in names
        if n not in infos and n in read
    )
    del graph.output[:]
    del graph.value_info[:]
    graph.output.extend(onnx.helper.make_empty_tensor_value_info(f"{n}{MADE}") for n in names)
    results = OnnxEngine(Model(witness.model.name, proto=model), plain=True).run_on(values)
    return {n.removesuffix(MADE): v for n, v in results.items()}
