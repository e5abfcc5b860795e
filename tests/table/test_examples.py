"""Every operator's own examples: what each part of the product says of them has to agree. No operator is named here."""

import random
from collections.abc import Container

import numpy as np
import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as pybind
from onnx.reference import ReferenceEvaluator

import converters
from converters.registry import EXPORT, PASSTHROUGH
from hybrid.core.error import InternalError, MXNetError, OpError
from hybrid.core.op import FAMILY, Example
from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known, merge
from hybrid.execution.program import Program
from hybrid.ir import json as symbol_json
from hybrid.ir.graph import Entry
from hybrid.ir.infer import infer, node_shapes
from tests.grouped import each, run
from tests.table.examples import Numbered, examples, graph_of, numbered
from tests.table.goldens import PARAMETERS, close
from tests.table.options import chosen_otherwise
from tests.table.test_goldens import run_onnx

ALL = list(enumerate(examples()))
every = each(ALL, numbered)


@every
def test_attributes_and_symbol_json_survive(row: Numbered) -> None:
    example = row[1]
    assert type(example.op).bind(**example.op.dump()) == example.op
    graph, feeds = graph_of(example)
    text = symbol_json.dumps(graph)
    again = symbol_json.loads(text)
    assert symbol_json.dumps(again) == text
    assert [n.name for n in again.variables()] == list(feeds)
    assert again.outputs[0].node.op == example.op


def computes_what_it_infers(example: Example) -> None:
    """Fail unless the outputs have the dtypes and the shapes that inference says."""
    graph, feeds = graph_of(example)
    result = infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})
    for entry, got in zip(graph.outputs, Program(graph).run(feeds), strict=True):
        spec = result.spec(entry)
        assert got.dtype == spec.dtype
        assert spec.shape == got.shape if is_known(spec.shape) else merge(spec.shape, got.shape) == got.shape


@every
def test_computes_what_it_infers(row: Numbered) -> None:
    computes_what_it_infers(row[1])


def unknown_dims_never_become_wrong_ones(example: Example) -> None:
    """Whatever is inferred with one dim of the first input unknown is true of what is inferred with it."""
    graph, feeds = graph_of(example)
    if not feeds:
        return
    first = next(iter(feeds))
    shapes = {k: v.shape for k, v in feeds.items()}
    dtypes = {k: v.dtype for k, v in feeds.items()}
    full = infer(graph, shapes, dtypes)
    for axis in range(len(shapes[first])):
        partial = dict(shapes)
        partial[first] = tuple(UNKNOWN if i == axis else d for i, d in enumerate(shapes[first]))
        result = infer(graph, partial, dtypes)
        for entry in graph.outputs:
            merge(result.spec(entry).shape, full.spec(entry).shape)  # raises where they differ


ASSUMING = {
    "LeakyReLU": "a gamma of which nothing is known has a slope a channel, as in MXNet, not one for all",
    "_rnn_param_concat": "sizes that are not known are equal, as in MXNet",
}


@every
def test_shapes_given_at_any_place_lead_to_the_same(row: Numbered) -> None:
    """Of the inputs' and outputs' shapes any part may be known: what a node says then is true of what it says when all are."""
    example = row[1]
    unknown_dims_never_become_wrong_ones(example)
    if example.op.name in ASSUMING:
        return
    graph, feeds = graph_of(example)
    node = graph.outputs[0].node
    full = infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})
    ins, outs = (
        [full.spec(e).shape for e in node.inputs],
        [full.spec(Entry(node, i)).shape for i in range(len(node.outputs))],
    )
    rng = random.Random(repr(example.op))
    for _ in range(4):
        part = [_part(rng, s) for s in (*ins, *outs)]
        for whole, found in zip((*ins, *outs), node_shapes(node, part[: len(ins)], part[len(ins) :]), strict=True):
            merge(whole, found)  # raises where they differ


def _part(rng: random.Random, shape: MaybeShape) -> MaybeShape:
    """Some of the dims of a shape, all, or none and not even the rank."""
    if shape is None or rng.random() < 0.4:
        return None
    return tuple(UNKNOWN if rng.random() < 0.3 else d for d in shape)


def run_oracle(model: onnx.ModelProto, feeds: dict[str, np.ndarray], example: Example) -> list[np.ndarray]:
    """Results of onnxruntime; for operators of ONNX that it has no kernel for, of onnx's own evaluator."""
    standing = PASSTHROUGH.get(example.op.name)
    if standing is None:
        return run_onnx(model, feeds)
    try:
        return run_onnx(model, feeds)
    except (pybind.NotImplemented, pybind.InvalidGraph, pybind.Fail, pybind.InvalidArgument) as error:
        # it knows its gaps: not implemented, or an opset or a type that it does not take
        if standing[0] == "com.microsoft" or "Shape mismatch" in str(error):
            raise
        return ReferenceEvaluator(model).run(None, feeds)


def same_as_onnxruntime(example: Example, parameters: Container[str]) -> None:
    """Fail unless onnxruntime computes the same from the exported node, with inputs of these names stored in the model."""
    graph, feeds = graph_of(example)
    stored = {k: v for k, v in feeds.items() if k in parameters}
    try:
        model = converters.to_onnx(graph, stored, {k: v for k, v in feeds.items() if k not in stored})
    except converters.UnsupportedModel:
        # some parameters have to be known when the model is written; stored they all are
        assert not parameters
        return
    first, again = Program(graph).run(feeds), Program(graph).run(feeds)
    drawn = not all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(first, again))
    random = drawn or (
        "rng" in example.op.needs and "training" not in example.op.needs
    )  # two draws may be the same by chance
    for got, want in zip(run_oracle(model, feeds, example), first, strict=True):
        if random:
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
        else:
            close(got, want, example.op)


@each([row for row in ALL if row[1].op.name in EXPORT], numbered)
def test_onnxruntime_computes_the_same(row: Numbered) -> None:
    """With parameters stored in the model, and fed to it where there are any."""
    same_as_onnxruntime(row[1], PARAMETERS)
    if PARAMETERS & {*row[1].op.input_names()}:
        same_as_onnxruntime(row[1], frozenset())


def test_onnxruntime_computes_the_same_whatever_is_chosen() -> None:
    """Of MXNet's operators, whose translations read the attributes: those of ONNX's own stay as they are."""
    rows = [
        (f"{e.op!r} {attribute}", e)
        for attribute, e in chosen_otherwise()
        if e.op.name in EXPORT and FAMILY not in e.op.name
    ]
    assert len(rows) > 400
    run(rows, same_unless_refused)


def same_unless_refused(example: Example) -> None:
    """Fail unless onnxruntime computes the same from the exported node, or the operator refuses its inputs."""
    graph, feeds = graph_of(example)
    try:
        infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})
        same_as_onnxruntime(example, set())
    except InternalError:
        raise
    except OpError:
        return


OPSETS = (13, 17)
"""Older ones that many still ask for, before and after which translations change."""


def written(example: Example, opset: int | None, parameters: Container[str] = PARAMETERS) -> onnx.ModelProto | None:
    """The example at an opset, inputs of these names stored; None where that has no words for it, which it has to say."""
    graph, feeds = graph_of(example)
    stored = {k: v for k, v in feeds.items() if k in parameters}
    try:
        return converters.to_onnx(graph, stored, {k: v for k, v in feeds.items() if k not in stored}, opset)
    except converters.UnsupportedModel as refusal:
        assert opset is not None
        assert "opset" in str(refusal)
        return None


def test_older_opsets_say_the_same() -> None:
    """All examples of every operator whose first one is written otherwise at the oldest opset, or not at all."""
    groups: dict[str, list[Example]] = {}
    for _, example in ALL:
        if example.op.name in EXPORT:
            groups.setdefault(example.op.name, []).append(example)
    rows = []
    for name, several in groups.items():
        old, new = (written(several[0], opset) for opset in (OPSETS[0], None))
        if old is None or new is None or old.graph.node != new.graph.node:
            rows += [(f"{name} {i}", example) for i, example in enumerate(several)]
    assert len(rows) > 100
    run(rows, same_at_older_opsets)


def same_at_older_opsets(example: Example) -> None:
    """onnxruntime computes at each older opset that has words for the example what the engine does."""
    graph, feeds = graph_of(example)
    wants = Program(graph).run(feeds)
    for opset in OPSETS:
        model = written(example, opset)
        if model is None:
            continue
        assert [o.version for o in model.opset_import if not o.domain] == [opset]
        narrowed = any(n.op_type == "Cast" and n.attribute[0].i == onnx.TensorProto.FLOAT for n in model.graph.node)
        for got, want in zip(run_oracle(model, feeds, example), wants, strict=True):
            if "rng" in example.op.needs:
                assert (got.shape, got.dtype) == (want.shape, want.dtype)
            else:
                close(got, want, example.op, float(np.finfo(np.float32).eps) if narrowed else None)


WORDLESS = {
    (1, 1): "AveragePool BatchNormalization DequantizeLinear LpPool Reshape Resize Shape",
    (2, 1): "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare",
    (2, 2): "QuantizeLinear Trilu",
    (2, 0): "DFT",
    (4, 4): "ScatterElements ScatterND",
}
"""Number of examples that say what ONNX had no words for when it got the operator, with inputs fed and stored: attributes that are
younger, and axes that are no attributes."""


def test_operators_of_onnx_are_written_as_of_the_opset_that_has_them() -> None:
    """And mean the same where all inputs but the first are stored."""
    rows = []
    refused: dict[str, list[int]] = {}
    for _, example in ALL:
        name = example.op.name
        if not name.startswith("_onnx_") or name not in EXPORT:
            continue
        count = refused.setdefault(name, [0, 0])
        stored = frozenset(example.op.input_names()[1:])
        for since in sorted({max(since, 13) for since in EXPORT[name] if since <= converters.default_opset()}):
            count[0] += written(example, since) is None
            model = written(example, since, stored)
            count[1] += model is None
            if model is not None and "rng" not in example.op.needs:
                rows.append((f"{example.op!r} {since}", (example, model)))

    def same(row: tuple[Example, onnx.ModelProto]) -> None:
        graph, feeds = graph_of(row[0])
        for got, want in zip(run_oracle(row[1], feeds, row[0]), Program(graph).run(feeds), strict=True):
            close(got, want, row[0].op, float(np.finfo(np.float32).eps))

    run(rows, same)
    wordless = {f"_onnx_{name}": [*counts] for counts, names in WORDLESS.items() for name in names.split()}
    assert {name: count for name, count in refused.items() if any(count)} == wordless


FAR = {"int32": 2**24 + 1, "int64": 2**61 + 1}
"""From where on neighbours are one in float32, and in float64."""


def beyond_floats(number: int, example: Example, dtype: str) -> tuple[Example, list[np.ndarray]] | None:
    """An example with odd numbers that no float holds for its floats, if all that comes of them are some of them, or truths."""
    rng, single = np.random.default_rng(number), np.dtype(np.float32)
    arrays = tuple(
        np.array(FAR[dtype] + 2 * rng.integers(0, 9, a.shape), dtype) if a.dtype == single else a
        for a in example.arrays
    )
    changed = Example(example.op, arrays)
    graph, feeds = graph_of(changed)
    try:
        want = Program(graph).run(feeds)
    except MXNetError:
        return None
    given = np.concatenate([a.reshape(-1) for a in arrays if a.dtype == dtype] or [np.zeros(0, dtype)])
    moved = want[0].dtype == dtype and np.isin(want[0], [0, 1, *given]).all() and (want[0] > 1).any()
    return (changed, want) if moved or want[0].dtype == np.bool_ else None


def test_integers_that_floats_do_not_hold_are_written_as_they_are() -> None:
    """Operators that choose, move, compare or round: of int32 and int64, in onnxruntime to the last digit."""
    wrong, seen = [], set()
    for number, example in ALL:
        if example.op.name not in EXPORT or example.op.name in PASSTHROUGH or "rng" in example.op.needs:
            continue
        if not any(a.dtype == np.float32 for a in example.arrays):
            continue
        for dtype in ("int32", "int64"):
            found = beyond_floats(number, example, dtype)
            if found is None:
                continue
            graph, feeds = graph_of(found[0])
            for got, want in zip(run_onnx(converters.to_onnx(graph, {}, feeds), feeds), found[1], strict=True):
                if want.dtype.kind in "iub" and not np.array_equal(got, want):
                    wrong.append(f"{example.op} of {dtype}: {got}, wanted {want}")
            seen.add(example.op.name)
    assert len(seen) > 120
    assert not wrong, "\n".join(wrong)
