"""Fourier transforms and windows, read, run and written, with lengths and axes that are known, or only at run time."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from bridge.onnx_backend import prepare

from .agreement import agree

RNG = np.random.default_rng(0)


def model(
    op_type: str, given: dict[str, Any], stored: dict[str, Any], names: list[str], opset: int = 20, **attrs: Any
) -> Any:
    code = helper.np_dtype_to_tensor_dtype
    infos = [
        helper.make_tensor_value_info(n, code(a.dtype), [f"{n}{i}" for i in range(a.ndim)]) for n, a in given.items()
    ]
    for info, array in zip(infos, given.values()):
        if array.ndim > 1:  # whether numbers are complex is part of the model
            info.type.tensor_type.shape.dim[-1].dim_value = array.shape[-1]
    there = [n if n in given or n in stored else "" for n in names]
    while not there[-1]:
        there.pop()
    node = helper.make_node(op_type, there, ["y"], **attrs)
    kind = attrs.get("output_datatype", TensorProto.FLOAT)
    kept = [numpy_helper.from_array(np.asarray(a), n) for n, a in stored.items()]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", kind, None)], kept)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def complex_of(x: np.ndarray) -> np.ndarray:
    return x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("length", [None, 4, 9])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("inverse", [0, 1])
def test_dft(parts: int, length: int | None, stored: bool, inverse: int) -> None:
    names, extra = ["input", "dft_length", "axis"], {"axis": np.array(1)}
    extra |= {} if length is None else {"dft_length": np.array(length)}
    runs = [{"input": normal(2, n, 3, parts)} | ({} if stored else extra) for n in (6, 5)]
    fourier = np.fft.ifft if inverse else np.fft.fft
    wants = []
    for run in runs:
        y = fourier(complex_of(run["input"]), length, 1)
        wants.append([np.stack([y.real, y.imag], -1).astype(np.float32)])
    proto = model("DFT", runs[0], extra if stored else {}, names, inverse=inverse)
    agree(proto, *runs, wants=wants, rtol=1e-5, again=21)


@pytest.mark.parametrize("opset", [17, 20])
def test_dft_along_every_axis(opset: int) -> None:
    """An attribute before opset 20, an input since; written again as either."""
    x = normal(3, 4, 5, 2)
    for axis in (0, 1, 2, -2, -3, -4):
        y = np.fft.fft(complex_of(x), axis=axis % 4)
        want = np.stack([y.real, y.imag], -1).astype(np.float32)
        stored, attrs = ({}, {"axis": axis}) if opset == 17 else ({"axis": np.array(axis)}, {})
        for again in (17, 20):
            proto = model("DFT", {"input": x}, stored, ["input", "dft_length", "axis"], opset, **attrs)
            agree(proto, {"input": x}, wants=[[want]], rtol=1e-5, again=again)


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("length", [6, 7])
def test_one_side(opset: int, length: int) -> None:
    x = normal(2, length, 1)
    y = np.fft.rfft(x[..., 0], axis=1)
    half = np.stack([y.real, y.imag], -1).astype(np.float32)
    agree(model("DFT", {"input": x}, {}, ["input"], opset, onesided=1), {"input": x}, wants=[[half]], rtol=1e-5)
    size = {"dft_length": np.array(length)}
    proto = model("DFT", {"input": half}, size, ["input", "dft_length"], opset, onesided=1, inverse=1)
    agree(proto, {"input": half}, wants=[[x]], rtol=1e-5)
    with pytest.raises(Exception, match="wanted real"):
        prepare(model("DFT", {"input": half}, {}, ["input"], opset, onesided=1)).run([half])


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("stored", [False, True])
def test_stft(onesided: int, stored: bool) -> None:
    names = ["signal", "frame_step", "window", "frame_length"]
    extra = {"frame_step": np.array(3), "window": normal(5), "frame_length": np.array(5)}
    runs = [{"signal": normal(2, n, 1)} | ({} if stored else extra) for n in (17, 14)]
    agree(model("STFT", runs[0], extra if stored else {}, names, 17, onesided=onesided), *runs, rtol=1e-4)


@pytest.mark.parametrize("name", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_windows(name: str, periodic: int, kind: int) -> None:
    runs = [{"size": np.array(n)} for n in (10, 3)]
    agree(model(name, runs[0], {}, ["size"], 17, periodic=periodic, output_datatype=kind), *runs, rtol=1e-6)


def test_mel_weights() -> None:
    names = ["num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"]
    counts = [np.array(8), np.array(64), np.array(16000)]
    given = dict(zip(names, [*counts, np.float32(20), np.float32(8000)]))
    other = given | {"num_mel_bins": np.array(5), "upper_edge_hertz": np.float32(5000)}
    given, other = ({n: np.asarray(a) for n, a in run.items()} for run in (given, other))
    agree(model("MelWeightMatrix", given, {}, names, 17), given, other, rtol=1e-6)


def test_a_signal_without_an_axis_of_parts() -> None:
    """PyTorch's exporter writes (batch, length), which onnxruntime takes; written again, it is as the standard has it."""
    names = ["signal", "frame_step", "window", "frame_length"]
    window = np.hanning(6).astype(np.float32)
    stored = {"frame_step": np.array(4), "window": window}
    runs = [{"signal": normal(2, n)} for n in (22, 17)]
    proto = model("STFT", runs[0], stored, names)
    proto.graph.input[0].type.tensor_type.shape.dim[-1].dim_param = "samples"
    wants = []
    for run in runs:
        x = run["signal"]
        frames = np.stack([x[:, i : i + 6] * window for i in range(0, x.shape[1] - 5, 4)], 1)
        y = np.fft.rfft(frames)
        wants.append([np.stack([y.real, y.imag], -1).astype(np.float32)])
    found = agree(proto, *runs, wants=wants, rtol=1e-4, again=20)
    assert [r.split(",")[0] for r in found.repairs] == ["y: a signal without an axis for the parts of its numbers"]
