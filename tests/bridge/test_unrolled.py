"""Networks unrolled for a number of steps: another number is refused with the reason, and with what works."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app

STEPS = 5


def weights(net, **shapes):
    """The network with drawn parameters."""
    found = dict(zip(net.list_arguments(), net.infer_shape(**shapes)[0]))
    rng = np.random.default_rng(0)
    return bridge.open_model(net, {n: rng.normal(size=s).astype("f") for n, s in found.items() if n not in shapes})


def cells(embedded: bool = False, layout: str = "NTC"):
    """LSTM and GRU over data of STEPS steps; embedded: of words."""
    data = mx.sym.var("data")
    if embedded:
        data = mx.sym.Embedding(data, input_dim=7, output_dim=3, name="words")
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.LSTMCell(4, prefix="a_"))
    stack.add(mx.rnn.GRUCell(4, prefix="b_"))
    outputs, _ = stack.unroll(STEPS, inputs=data, layout=layout)
    net = mx.sym.FullyConnected(outputs[-1], num_hidden=2, name="last")
    shape = (2, STEPS) if embedded else (2, STEPS, 3) if layout == "NTC" else (STEPS, 2, 3)
    return weights(net, data=shape)


def masked():
    """Data and a mask, both cut into steps."""
    data, mask = mx.sym.var("data"), mx.sym.var("mask")
    parts = [mx.sym.SliceChannel(x, num_outputs=STEPS, axis=1, squeeze_axis=True) for x in (data, mask)]
    steps = [mx.sym.broadcast_mul(d, mx.sym.expand_dims(m, axis=1)) for d, m in zip(*parts)]
    net = mx.sym.FullyConnected(mx.sym.add_n(*steps), num_hidden=2, name="last")
    return weights(net, data=(2, STEPS, 3), mask=(2, STEPS))


@pytest.mark.parametrize(
    ("model", "wrong", "right"),
    [
        (cells, {"data": (1, 10, 3)}, "data:1,5,3"),
        (cells, {"data": (1, 7, 3)}, "data:1,5,3"),  # which 5 does not divide
        (lambda: cells(layout="TNC"), {"data": (10, 1, 3)}, "data:5,1,3"),
        (lambda: cells(embedded=True), {"data": (1, 10)}, "data:1,5"),
        (masked, {"data": (1, 10, 3), "mask": (1, 10)}, "data:1,5,3"),
    ],
)
def test_another_length_names_the_one_there_is(model, wrong, right: str) -> None:
    with pytest.raises(bridge.BadInput) as found:
        bridge.convert(model(), inputs=wrong)
    said = str(found.value)
    assert "the symbol is unrolled for 5 steps (" in said and "no other number" in said
    assert f"give --input {right}, or for " in said and "sym_gen(" in said
    shapes = {n: tuple(5 if d in (10, 7) else d for d in shape) for n, shape in wrong.items()}
    assert bridge.convert(model(), inputs=shapes).verified


def test_what_is_wrong_otherwise_is_not_put_down_to_the_steps() -> None:
    with pytest.raises(bridge.BadInput) as found:
        bridge.convert(cells(), inputs={"data": (1, 5, 4)})
    assert "unrolled" not in str(found.value)


@pytest.mark.parametrize(
    ("model", "shapes", "axes"),
    [
        (cells, {"data": (1, 5, 3)}, {"data": {1: "time"}}),
        (cells, {"data": (1, 5, 3)}, {"data": {0: "batch", 1: "time"}}),
        (masked, {"data": (1, 5, 3), "mask": (1, 5)}, {"data": {1: "time"}, "mask": {1: "time"}}),
    ],
)
@pytest.mark.parametrize("verify", [True, False])
def test_the_axis_of_the_steps_cannot_stay_open(model, shapes, axes, verify: bool) -> None:
    with pytest.raises(
        bridge.BadInput, match=r"dynamic axis 1 of data \(time\): .* unrolled for 5 steps .* leave data:1=time"
    ):
        bridge.convert(model(), inputs=shapes, dynamic=axes, verify=verify)


def test_the_batch_can() -> None:
    assert bridge.convert(cells(), inputs={"data": (1, 5, 3)}, batch="batch").inputs["data"]["shape"] == ["batch", 5, 3]


@pytest.mark.parametrize(
    ("model", "proposed"),
    [(cells, "data:1,5,3"), (lambda: cells(layout="TNC"), "data:5,1,3"), (lambda: cells(embedded=True), "data:1,5")],
)
def test_the_shape_that_is_proposed_has_its_length(model, proposed: str) -> None:
    with pytest.raises(bridge.BadInput, match=rf"--input {proposed}$"):
        bridge.convert(model())


def test_all_commands_say_it(tmp_path: Path) -> None:
    prefix = tmp_path / "net"
    model = cells()
    bridge.convert(model, inputs={"data": (1, 5, 3)}, output=tmp_path / "net.onnx")
    params = {f"arg:{n}": mx.nd.array(a) for n, a in model.params.items()}
    mx.nd.save(f"{prefix}-0000.params", params)
    (tmp_path / "net-symbol.json").write_text(mx.sym.Symbol(model.graph.outputs).tojson())
    call, wrong = CliRunner().invoke, ("--input", "data:1,10,3")
    for words in (
        ("convert", prefix, "-o", tmp_path / "m.onnx"),
        ("verify", prefix, tmp_path / "net.onnx"),
        ("inspect", prefix),
    ):
        told = call(app, [*map(str, words), *wrong])
        assert told.exit_code == 2
        assert "unrolled for 5 steps" in re.sub(r"\s+", " ", told.output), told.output
