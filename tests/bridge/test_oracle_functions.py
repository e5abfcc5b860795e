"""Functions of onnx's evaluator that bridge.oracle_functions has in their place: the error function to the last digits of the dtype
that is given, picks along an axis of any size."""

import math
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import bridge
import hybrid as mx
from bridge.engines import ReferenceEngine
from bridge.models import Model

X = np.array([[-6.5, -5.1, -4.9], [-1e-9, 0.7, 8]])


def gelu(x: float) -> float:
    return x * 0.5 * math.erfc(-x / math.sqrt(2))


def gelu_by_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(
    ("node", "function"),
    [("Erf (x)", math.erf), ("Gelu (x)", gelu), ('Gelu <approximate = "tanh"> (x)', gelu_by_tanh)],
)
def test_error_functions_are_of_the_dtype_of_what_they_are_given(node, function, dtype) -> None:
    name = {8: "double", 4: "float", 2: "float16"}[np.dtype(dtype).itemsize]
    text = f'<ir_version: 9, opset_import: ["": 20]> net ({name}[2, 3] x) => ({name}[2, 3] y) {{ y = {node} }}'
    x = X.astype(dtype)
    found = ReferenceEngine(Model("net", proto=onnx.parser.parse_model(text))).run_unchecked({"x": x})["y"]
    wanted = np.vectorize(function, otypes=["d"])(x.astype(np.float64))
    assert found.dtype == dtype
    rtol, atol = (1e-13, 0) if dtype == np.float64 and function is not gelu_by_tanh else (0, 4 * np.finfo(dtype).eps)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol, atol)


@pytest.mark.parametrize(("shape", "picked"), [((2, 100, 3), (2, 70, 3)), ((2, 100, 3), (1, 5, 2)), ((70, 4), (70, 4))])
@pytest.mark.parametrize("axis", [1, 0, -1])
def test_elements_are_picked_along_axes_of_more_than_64(
    shape: tuple[int, ...], picked: tuple[int, ...], axis: int
) -> None:
    """Indices may be negative, and fewer than there are along other axes."""
    rng = np.random.default_rng(0)
    x, size = rng.standard_normal(shape), shape[axis]
    places = rng.integers(-size, size, picked)
    given, made = (",".join(map(str, s)) for s in (shape, picked))
    head = f'<ir_version: 9, opset_import: ["": 20]> net (double[{given}] x, int64[{made}] i) => (double[{made}] y)'
    text = f"{head} {{ y = GatherElements <axis = {axis}> (x, i) }}"
    model = Model("net", proto=onnx.parser.parse_model(text))
    want = np.empty(picked)
    for at in np.ndindex(picked):
        source = list(at)
        source[axis] = places[at]
        want[at] = x[tuple(source)]
    np.testing.assert_array_equal(ReferenceEngine(model).run_unchecked({"x": x, "i": places})["y"], want)


GRIDS = np.load(Path(__file__).parents[2] / "fixtures" / "torch_grids.npz")


@pytest.mark.parametrize("case", [name.removeprefix("output/") for name in GRIDS if name.startswith("output/")])
def test_grids_are_sampled_in_float64_as_torch_does_it(case: str) -> None:
    """By the evaluator, and by our operator, forward and backward; but on the very edges, where there are two slopes."""
    axes, mode, padding, align = case.split()
    data, grid, want = (GRIDS[n] for n in (f"data/{axes}", f"grid/{axes}", f"output/{case}"))
    sides = ",".join("s" * (int(axes) - 2))
    given = f"double[n,c,{sides}] x, double[n,{sides},d] grid"
    head = f'<ir_version: 9, opset_import: ["": 20]> net ({given}) => (double[n,c,{sides}] y)'
    said = f'mode = "{mode}", padding_mode = "{padding}", align_corners = {align}'
    model = onnx.parser.parse_model(f"{head} {{ y = GridSample <{said}> (x, grid) }}")
    found = ReferenceEngine(Model("net", proto=model)).run_unchecked({"x": data, "grid": grid})["y"]
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-13)
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": align == "1"}
    x, points = mx.nd.array(data, dtype="float64"), mx.nd.array(grid, dtype="float64")
    x.attach_grad(), points.attach_grad()
    with mx.autograd.record():
        made = mx.nd._internal._onnx_GridSample(x, points, **attrs)
        (made * made).sum().backward()
    np.testing.assert_allclose(made.asnumpy(), want, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(x.grad.asnumpy(), GRIDS[f"by data/{case}"], rtol=1e-11, atol=1e-12)
    off = ~(abs(grid) == 1).any(-1, keepdims=True)
    np.testing.assert_allclose(points.grad.asnumpy() * off, GRIDS[f"by grid/{case}"] * off, rtol=1e-10, atol=1e-11)


def test_a_network_that_is_all_in_the_tail_of_gelu_converts(tmp_path: Path) -> None:
    """onnxruntime's own rounds the error function before it adds 1; float64 says by how much, and not that the models differ."""
    network = mx.sym.LeakyReLU(mx.sym.var("data"), act_type="gelu", name="gelu")
    data = np.linspace(-5.3, 3, 64, dtype=np.float32).reshape(2, 32)
    data[0, :30] = np.linspace(-5.4, -4.9, 30)
    found = bridge.convert(network, {}, inputs={"data": data}, output=tmp_path / "m.onnx")
    assert found.verified


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_channel_is_normalized_of_any_number_of_samples(size: int) -> None:
    """onnx's own evaluator leaves those out that come after as many as there are samples."""
    x = np.random.default_rng(0).standard_normal((2, 5, 3, 2)) * 3
    node = f"LRN <size = {size}, alpha = 2.0, beta = 0.5, bias = 1.5> (x)"
    text = f'<ir_version: 9, opset_import: ["": 20]> net (double[2,5,3,2] x) => (double[2,5,3,2] y) {{ y = {node} }}'
    want = np.empty_like(x)
    for c in range(5):
        near = [k for k in range(c - (size - 1) // 2, c + math.ceil((size - 1) / 2) + 1) if 0 <= k < 5]
        want[:, c] = x[:, c] / np.sqrt(1.5 + 2 / size * sum(x[:, k] ** 2 for k in near))
    found = ReferenceEngine(Model("net", proto=onnx.parser.parse_model(text))).run_unchecked({"x": x})["y"]
    np.testing.assert_allclose(found, want, 1e-12)


def test_normalization_that_onnxruntime_rounds_much_is_equivalent(tmp_path: Path) -> None:
    """It adds a square to a running sum and takes another one away, which leaves few digits behind a large one."""
    head = '<ir_version: 9, opset_import: ["": 17]> net (float[2,4,9,7] x) => (float[2,4,9,7] y)'
    text = f"{head} {{ y = LRN <size = 3, alpha = 3.0, beta = 0.5, bias = 1.0> (x) }}"
    onnx.save(onnx.parser.parse_model(text), tmp_path / "net.onnx")
    x = np.random.default_rng(0).standard_normal((2, 4, 9, 7)).astype(np.float32)
    x[:, 0] *= 60
    x[:, 2:] *= 5
    found = bridge.import_onnx(tmp_path / "net.onnx", inputs={"x": x}, output=tmp_path / "out")
    assert found.verification is not None and found.verification.equivalent


@pytest.mark.parametrize("placed", ["align_corners", "half_pixel"])
def test_cubic_interpolation_is_of_the_dtype_of_what_it_is_given(placed: str) -> None:
    attributes = f'mode = "cubic", coordinate_transformation_mode = "{placed}", cubic_coeff_a = -0.75'
    head = '<ir_version: 9, opset_import: ["": 17]> net (double[1,1,1,12] x, int64[4] sizes) => (double[1,1,1,25] y)'
    model = onnx.parser.parse_model(f"{head} {{ y = Resize <{attributes}> (x, , , sizes) }}")
    x = np.random.default_rng(0).standard_normal((1, 1, 1, 12))
    found = ReferenceEngine(Model("net", proto=model)).run_unchecked({"x": x, "sizes": np.array([1, 1, 1, 25])})["y"]
    for i in range(25):
        at = i * 11 / 24 if placed == "align_corners" else (i + 0.5) * 12 / 25 - 0.5
        first, want = math.floor(at), 0.0
        for k in range(first - 1, first + 3):
            d = abs(at - k)
            near, far = (1.25 * d - 2.25) * d * d + 1, ((-0.75 * d + 3.75) * d - 6) * d + 3
            want += x[0, 0, 0, min(max(k, 0), 11)] * (near if d <= 1 else far)
        assert found[0, 0, 0, i] == pytest.approx(want, rel=1e-12, abs=1e-12)
