"""The opset that is written: the oldest from 13 on that loses nothing for the graph at hand, "newest", or what is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import converters
from converters.builder import Builder, Value
from converters.error import ConversionError
from converters.export import convert, ir_version
from converters.registry import EXPORT
from hybrid.core.op import OPS, Spec
from hybrid.ir.graph import Entry, Graph, Node
from tests.versions import needs_opset

IMAGE, ROWS = (1, 4, 8, 8), (2, 3, 4)


def graph(name: str, **attrs: Any) -> Graph:
    op = OPS[name].bind(**attrs)
    node = Node(op, "node", [Entry(Node(None, n)) for n in op.input_names()], op.dump())
    return Graph([Entry(node)])


def opset_of(model: onnx.ModelProto) -> int:
    return next(o.version for o in model.opset_import if not o.domain)


CASES: list[tuple[int, str, str, dict[str, Any], dict[str, tuple[int, ...]]]] = [
    (13, "a convolution", "Convolution", {"kernel": (3, 3), "num_filter": 2}, {"data": IMAGE}),
    (17, "a layer's norm", "LayerNorm", {}, {"data": ROWS}),
    (13, "along another axis", "LayerNorm", {"axis": 1}, {"data": ROWS}),
    (13, "gelu, which came with 20", "LeakyReLU", {"act_type": "gelu"}, {"data": ROWS}),
    (16, "sampling", "BilinearSampler", {}, {"data": IMAGE, "grid": (1, 2, 5, 5)}),
    (14, "triangles", "_npi_tril", {}, {"data": (3, 3)}),
    (18, "bits, which no older opset knows", "_npi_bitwise_and", {}, {"lhs": (3,), "rhs": (3,)}),
]


@needs_opset(18)
@pytest.mark.parametrize(("opset", "what", "name", "attrs", "shapes"), CASES, ids=[c[1] for c in CASES])
def test_the_oldest_opset_that_loses_nothing_is_written(
    opset: int, what: str, name: str, attrs: dict[str, Any], shapes: dict[str, tuple[int, ...]]
) -> None:
    dtype = np.dtype(np.int32 if "bit" in what else np.float32)
    model = converters.to_onnx(graph(name, **attrs), {}, {k: Spec(v, dtype) for k, v in shapes.items()})
    assert opset_of(model) == opset
    assert model.ir_version == ir_version(opset)
    onnx.checker.check_model(model, full_check=True)


@pytest.mark.parametrize(("dtype", "opset", "casts"), [("int8", 14, 0), ("float32", 13, 0), ("int32", 13, 0)])
def test_a_cast_that_a_newer_kernel_saves_is_not_written(dtype: str, opset: int, casts: int) -> None:
    inputs = {n: Spec((3,), np.dtype(dtype)) for n in ("lhs", "rhs")}
    model = converters.to_onnx(graph("elemwise_add"), {}, inputs)
    assert opset_of(model) == opset
    assert sum(n.op_type == "Cast" for n in model.graph.node) == casts
    asked = converters.to_onnx(graph("elemwise_add"), {}, inputs, 13)
    assert any(n.op_type == "Cast" for n in asked.graph.node) == (opset > 13)


def test_a_wish_beyond_the_newest_that_can_be_read_is_not_granted() -> None:
    inputs = {"data": Spec(ROWS, np.dtype(np.float32))}
    assert [convert(graph("LayerNorm"), {}, inputs, newest=n).opset for n in (16, 17, 18)] == [13, 17, 17]


def test_newest_is_the_newest_that_loses_no_kernel() -> None:
    inputs = {"data": Spec(ROWS, np.dtype(np.float32))}
    for name in ("LayerNorm", "Flatten"):
        assert opset_of(converters.to_onnx(graph(name), {}, inputs, "newest")) == converters.default_opset()
    assert convert(graph("Flatten"), {}, inputs, "newest", default=15).opset == 15


@pytest.mark.parametrize("opset", [6, converters.newest_opset() + 1, "latest"])
def test_another_opset_is_refused_with_those_there_are(opset: Any) -> None:
    with pytest.raises(
        ConversionError, match=f"got opset {opset!r}, wanted (7 to {converters.newest_opset()}|a number)"
    ):
        converters.to_onnx(graph("Flatten"), {}, {"data": ROWS}, opset)


@pytest.mark.parametrize(
    ("opset", "version", "listed"), [(7, 3, True), (8, 3, True), (9, 4, False), (11, 6, False), (12, 7, False)]
)
def test_files_of_an_opset_have_the_form_that_came_with_it(opset: int, version: int, listed: bool) -> None:
    weight = np.ones((2, 12), np.float32)
    model = converters.to_onnx(
        graph("FullyConnected", num_hidden=2, no_bias=True), {"weight": weight}, {"data": ROWS}, opset
    )
    assert (model.ir_version, opset_of(model)) == (version, opset)
    assert [i.name for i in model.graph.input][:1] == ["data"]
    assert ("weight" in {i.name for i in model.graph.input}) == listed
    onnx.checker.check_model(model, full_check=True)


def test_wishes_of_nodes_that_are_left_out_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def export(b: Builder, op: Any, data: Value) -> Value:
        small = b.cast(data, np.int8)
        b.Add(small, small)  # which nothing reads
        return b.Neg(data)

    monkeypatch.setitem(EXPORT, "negative", {7: export})
    assert opset_of(converters.to_onnx(graph("negative"), {}, {"data": ROWS})) == 13
    monkeypatch.setitem(EXPORT, "negative", {7: lambda b, op, x: b.cast(b.Add(s := b.cast(x, np.int8), s), np.float32)})
    assert opset_of(converters.to_onnx(graph("negative"), {}, {"data": ROWS})) == 14


def test_a_newer_translation_is_a_wish_up_to_the_welcome_opset(monkeypatch: pytest.MonkeyPatch) -> None:
    for since, opset in ((15, 15), (17, 17), (18, 13)):
        monkeypatch.setitem(EXPORT, "negative", {7: lambda b, op, x: b.Neg(x), since: lambda b, op, x: b.Neg(x)})
        assert opset_of(converters.to_onnx(graph("negative"), {}, {"data": ROWS})) == opset


@needs_opset(28)
def test_newest_goes_on_to_the_opset_that_a_refusal_names() -> None:
    """int64 is shifted from opset 28 on, which the newest that loses no kernel lies before."""
    shifted = graph("_onnx_BitShift", direction="RIGHT")
    inputs = {n.name: Spec((2,), np.dtype(np.int64)) for n in shifted.variables()}
    assert opset_of(converters.to_onnx(shifted, {}, inputs, "newest")) == 28
