"""Steps by which a network scales pictures itself, however they are written: not done twice, and pixels are drawn for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bridge
import hybrid as mx
from bridge.pipeline.preprocess import Preprocess
from bridge.stems import PIXELS, expected

S = mx.sym
MEANS = np.array([123.68, 116.28, 103.53], np.float32)
PARAMS = {"c": MEANS.reshape(1, 3, 1, 1), "d": np.full((1, 3, 1, 1), 58, np.float32), "row": MEANS}
PARAMS |= {f"bn_{n}": np.full(3, v, np.float32) for n, v in (("gamma", 1), ("beta", 0), ("moving_mean", 120))}
PARAMS["bn_moving_var"] = np.full(3, 3600, np.float32)
EDGE = {"mode": "edge", "pad_width": (0, 0, 0, 0, 1, 1, 1, 1)}


def column(row: mx.sym.Symbol) -> mx.sym.Symbol:
    return S.expand_dims(S.expand_dims(S.expand_dims(row, axis=1), axis=1), axis=0)


FORMS: dict[str, Callable[..., mx.sym.Symbol]] = {
    "around the constant": lambda x, c, d, row: S.broadcast_sub(x, S.BlockGrad(c)) / 58,
    "around both": lambda x, c, d, row: S.Pad(S.broadcast_minus(S.identity(x), S.Cast(c, dtype="float32")) / 58, **EDGE),
    "padded first": lambda x, c, d, row: S.broadcast_div(S.broadcast_sub(S.Pad(x, **EDGE), c), d),
    "turned first": lambda x, c, d, row: S.broadcast_sub(S.transpose(x, axes=(0, 1, 3, 2)), c) / 58,
    "reciprocal": lambda x, c, d, row: S.broadcast_mul(S.broadcast_sub(x, c), 1 / d),
    "two products": lambda x, c, d, row: S.broadcast_sub(S.broadcast_mul(x, 1 / d), c / d),
    "other side": lambda x, c, d, row: S.broadcast_sub(c, x) / -58,
    "added": lambda x, c, d, row: S.broadcast_add(-c, x) * 0.017,
    "row": lambda x, c, d, row: S.broadcast_sub(x, column(row)) / 58,
    "cut": lambda x, c, d, row: S.broadcast_sub(x, S.slice(c, begin=(0, 0, 0, 0), end=(1, 3, 1, 1))) / 58,
    "mean alone": lambda x, c, d, row: S.broadcast_sub(x, c),
    "scalars": lambda x, c, d, row: S.identity(x / 127.5) - 1,
    "channels apart": lambda x, c, d, row: S.concat(
        *((S.slice_axis(x, axis=1, begin=i, end=i + 1) - m) / 58 for i, m in enumerate((123, 116, 103))), dim=1
    ),
    "channels turned": lambda x, c, d, row: S.broadcast_sub(S.reverse(x, axis=1), c) / 58,
    "read for its size": lambda x, c, d, row: S.Crop(S.UpSampling((x - 120) / 58, scale=2, sample_type="nearest"), x, num_args=2),
    "statistics": lambda x, c, d, row: S.BatchNorm(x, name="bn"),
    "statistics of a moved one": lambda x, c, d, row: S.BatchNorm(S.Cast(x, dtype="float32") + 1, name="bn"),
    "transforms": lambda x, c, d, row: S.image.normalize(x / 255, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
}  # fmt: skip


NUMPY: dict[str, Callable[..., mx.sym.Symbol]] = {
    "constants": lambda x, c, d: (x - c) / d,
    "scalars": lambda x, c, d: x / 127.5 - 1,
    "other side": lambda x, c, d: -(c - x) * 0.017,
}


def made(form: Callable[..., mx.sym.Symbol]) -> bridge.Model:
    x = S.var("x")
    net = S.Flatten(form(x, S.var("c"), S.var("d"), S.var("row")))
    names = net.list_inputs()
    return bridge.open_model(net, {n: v for n, v in PARAMS.items() if n in names})


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_pixels_are_expected_however_a_network_scales_them(form: Callable[..., mx.sym.Symbol]) -> None:
    model = made(form)
    assert model.graph is not None
    assert expected(model.graph, model.params)["x"] == PIXELS


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_pixels_are_expected_by_the_file_as_well(form: Callable[..., mx.sym.Symbol], tmp_path: Path) -> None:
    """ONNX operators, with constants that the conversion folded."""
    bridge.convert(made(form), inputs={"x": (1, 3, 6, 6)}, output=tmp_path / "m.onnx", verify=False)
    native = bridge.open_model(tmp_path / "m.onnx").native
    assert native.graph is not None
    assert expected(native.graph, native.params)["x"] == PIXELS


@pytest.mark.parametrize("form", NUMPY.values(), ids=NUMPY)
def test_pixels_are_expected_by_numpy_networks(form: Callable[..., mx.sym.Symbol]) -> None:
    x, c, d = (S.var(n).as_np_ndarray() for n in "xcd")
    assert expected(form(x, c, d).graph, PARAMS)["x"] == PIXELS


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_steps_before_a_network_that_scales_by_itself_are_refused(form: Callable[..., mx.sym.Symbol]) -> None:
    with pytest.raises(
        bridge.BadInput, match=r"the network prepares x by itself, as .* with unit (that is done twice, and )?it gets"
    ):
        bridge.convert(
            made(form), inputs={"x": (1, 3, 6, 6)}, preprocess=Preprocess(unit=True, uint8=True), verify=False
        )


@pytest.mark.parametrize(
    "form",
    [
        lambda x, c, d, row: S.relu(x - 3),
        lambda x, c, d, row: S.broadcast_sub(x, S.square(x)),
        lambda x, c, d, row: S.broadcast_sub(x, c) / 58 + x,
        lambda x, c, d, row: S.abs(x),
        lambda x, c, d, row: S.broadcast_mul(x, S.Dropout(d, p=0.5, mode="always")),
    ],
)
def test_what_does_more_than_scale_says_nothing_of_numbers(form: Callable[..., mx.sym.Symbol]) -> None:
    model = made(form)
    assert model.graph is not None
    assert expected(model.graph, model.params) == {}


def test_pixels_are_drawn_for_a_network_that_subtracts_a_constant_behind_an_operator() -> None:
    found = bridge.convert(made(FORMS["around the constant"]), inputs={"x": (1, 3, 6, 6)})
    assert found.verification is not None
    assert found.verification.runs[0]["inputs"]["x"]["from"].endswith("evenly from 0 to 255")
