"""Every recorded case against every oracle: inference, NumPy, and onnxruntime on the exported node."""

from collections.abc import Sequence

import numpy as np
import onnx
import pytest

import converters
from converters.registry import EXPORT, NOT_EXPORTED
from hybrid.core.op import OPS
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph
from hybrid.ir.infer import infer

from .. import shares
from ..grouped import each
from .goldens import PARAMETERS, Case, cases, close, run_onnx, same
from .rules import gradient_graph

ALL = list(cases())
every = each(ALL, Case.label)
EXPORTED = [c for c in ALL if c.operator in EXPORT and not c.beyond_onnx]
OPSET = 21
OTHERS = (13, 17, 24)
"""Further opsets, at which an operator's first case of a share is written, and each other of it at one."""
SHARE = 4
"""Of an operator's cases one in so many is written at another opset, or with parameters that are fed."""
FIRST = {c.operator: c for c in reversed([*shares.some(EXPORTED, lambda c: " ".join(c.label()), SHARE)])}


def infers_what_mxnet_gave(case: Case, graph: Graph, feeds: dict[str, np.ndarray]) -> None:
    result = infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})
    got = [(s.shape, s.dtype) for s in map(result.spec, graph.outputs)]
    want = [(a.shape, a.dtype) for a in case.outputs()]
    for (shape, dtype), (want_shape, want_dtype) in zip(got, want, strict=True):
        assert dtype == want_dtype, f"inferred {dtype}, wanted {want_dtype}"
        # an output whose shape the data decides may stay unknown
        assert OPS[case.operator].data_dependent_shape or shape == want_shape, f"inferred {shape}, wanted {want_shape}"


@every
def test_computes_what_mxnet_gave(case: Case) -> None:
    """Inferred, compiled, and by the rule in NumPy, which no program asks where there is a kernel."""
    feeds, graph = dict(zip(case.names, case.arrays())), case.graph()
    infers_what_mxnet_gave(case, graph, feeds)
    wants, op = case.outputs(), case.op()
    for index, (result, want) in enumerate(zip(Program(graph).run(feeds), wants, strict=True)):
        close(case.turned(index, result), want, op, case.eps)
    if not op.needs and not op.mutates:
        with np.errstate(all="ignore"):
            found = op.compute(*case.arrays())
        for index, (result, want) in enumerate(zip(found if isinstance(found, tuple | list) else [found], wants)):
            close(case.turned(index, np.asarray(result)), want, op, case.eps)
    for name, before in zip(case.names, case.arrays()):
        same(feeds[name], before, f"inference changed its input {name}")


def pass_back(case: Case, feeds: dict[str, np.ndarray]) -> None:
    """Run the backward part with gradients of ones; it may write to feeds."""
    _, graph = gradient_graph(case.op(), case.names, [0])
    used = {n.name for n in graph.variables()}
    Program(graph, training=True).run(
        {k: v for k, v in feeds.items() if k in used} | {"head0": np.ones_like(feeds["data"])}
    )


@each([c for c in ALL if {"train", "auxafter"} & c.data.keys()], Case.label)
def test_trains_as_mxnet_did(case: Case) -> None:
    feeds = dict(zip(case.names, case.arrays()))
    got = Program(case.graph(), training=True).run(feeds)
    for result, want in zip(got, case.outputs("train")):
        close(result, want, case.op())
    if case.moves_backward:
        for name, before in case.data["aux"].items():
            np.testing.assert_array_equal(feeds[name], before, err_msg=f"the forward pass changed {name}")
        pass_back(case, feeds)
    for name, want in case.data.get("auxafter", {}).items():
        close(feeds[name], want, case.op())


def check_export(case: Case, opset: int, parameters: set[str]) -> None:
    feeds = dict(zip(case.names, case.arrays()))
    params = {n: a for n, a in feeds.items() if n in parameters}
    inputs = {n: a for n, a in feeds.items() if n not in parameters}
    try:
        model = converters.to_onnx(case.graph(), params, inputs, opset)
    except converters.UnsupportedModel as error:
        if all("at opset" in p.reason for p in error.problems):
            return  # refused with the reason, as it should be; the other opsets show that the translation is right
        raise
    narrowed = any(n.op_type == "Cast" and n.attribute[0].i == onnx.TensorProto.FLOAT for n in model.graph.node)
    for result, want in zip(run_onnx(model, feeds), case.outputs(), strict=True):
        close(result, want, case.op(), max(case.eps, float(np.finfo(np.float32).eps) if narrowed else 0))


def check_export_together(some: Sequence[Case]) -> None:
    """As check_export, all cases in one model: to make a session takes ten times as long as to run it."""
    outputs: list[Entry] = []
    params: dict[str, np.ndarray] = {}
    inputs: dict[str, np.ndarray] = {}
    for number, case in enumerate(some):
        outputs += case.graph(f"_{number}").outputs
        for name, array in zip(case.names, case.arrays()):
            (params if name in PARAMETERS else inputs)[f"{name}_{number}"] = array
    model = converters.to_onnx(Graph(outputs), params, inputs, OPSET)
    results = iter(run_onnx(model, params | inputs))
    for case in some:
        for want in case.outputs():
            close(next(results), want, case.op(), case.eps)


@each(EXPORTED, Case.label, check_export_together)
def test_exports_to_what_mxnet_gave(case: Case) -> None:
    check_export(case, OPSET, PARAMETERS)


@pytest.mark.slow
@each(EXPORTED, Case.label, share=SHARE)
def test_exports_at_other_opsets_to_what_mxnet_gave(case: Case) -> None:
    failed = {}
    first = FIRST.get(case.operator, case).id == case.id
    for opset in OTHERS if first else shares.one(OTHERS, " ".join(case.label())):
        try:
            check_export(case, opset, PARAMETERS)
        except Exception as error:
            failed[opset] = f"{type(error).__name__}: {error}"
    assert not failed, "\n".join(f"opset {opset}: {error}" for opset, error in failed.items())


@pytest.mark.slow
@each([c for c in EXPORTED if set(c.names) & (PARAMETERS - {"parameters"})], Case.label, share=SHARE)
def test_exports_with_parameters_as_inputs(case: Case) -> None:
    check_export(case, converters.default_opset(), {"parameters"})


def test_every_operator_is_exported_or_says_why_not() -> None:
    assert not set(EXPORT) & set(NOT_EXPORTED)
    assert set(OPS) == set(EXPORT) | set(NOT_EXPORTED)
