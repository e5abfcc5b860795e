"""Public architectures with random weights as ONNX files, written on the spot in the node forms of torch's exporter.

Widths, heads and vocabularies are those of the published networks; ``layers`` makes deep ones shorter, and what was built says so.
float16 has weights and tensors of that dtype from the start. int8 is what onnxruntime's quantiser makes of float32: the dynamic
one of networks of matrix products, the static one (QDQ) of convolutional ones, calibrated with the inputs that are then run.
The former with weights of seven bits: with eight onnxruntime adds pairs of products in 16 bits where the CPU has no VNNI, and some
sums come out wrong by a third.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import language, vision
from .net import Net

Arrays = dict[str, np.ndarray]
DTYPES = ("float32", "float16", "int8")


@dataclass(frozen=True)
class Architecture:
    """One of them."""

    write: Callable[[Net, int], None]
    """Adds it to a net, with so many layers."""
    inputs: Callable[..., Arrays]
    """From a generator, layers, dtype and sizes to arrays."""
    runs: tuple[dict[str, int], ...]
    """Sizes that change from call to call; the first are those of the fixed call."""
    layers: int = 1
    """Of the published network."""
    size: str = ""
    """The size, where there is more to say of it."""
    static: bool = False
    """True where INT8 is made by the static quantiser."""
    steady: tuple[str, ...] | None = None
    """Outputs that rounding moves a little only; others hold what is chosen by comparisons. None: all."""
    grown: dict[str, tuple[dict[str, int], ...]] = field(default_factory=dict)
    """Sizes by what grows in them."""

    def words(self, layers: int) -> str:
        """Words for what is built, where that is not the whole published network."""
        depth = min(layers, self.layers)
        short = f"{depth} of {self.layers} layers" if self.layers > 1 else ""
        return ", ".join(filter(None, (short, self.size)))

    def build(self, dtype: str, layers: int, path: Path) -> None:
        """Write the ONNX file."""
        depth = min(layers, self.layers)
        net = Net(np.float16 if dtype == "float16" else np.float32)
        self.write(net, depth)
        target = path.with_suffix(".float.onnx") if dtype == "int8" else path
        net.save(path.stem, target)
        if dtype == "int8":
            quantise(target, path, self.feeds("float32", depth)[0] if self.static else None)
            target.unlink()

    def feeds(self, dtype: str, layers: int, runs: tuple[dict[str, int], ...] | None = None) -> list[Arrays]:
        """Seeded inputs, of the sizes that change if no others are given."""
        kind = np.dtype(np.float16 if dtype == "float16" else np.float32)
        found = []
        for sizes in runs or self.runs:
            found.append(self.inputs(np.random.default_rng(1), layers=min(layers, self.layers), dtype=kind, **sizes))
        return found


def quantise(source: Path, target: Path, calibration: Arrays | None) -> None:
    """Write an INT8 model; with inputs to calibrate by, QDQ of the static quantiser, else that of the dynamic one."""
    from onnx import load
    from onnxruntime import quantization

    logging.getLogger().setLevel(logging.ERROR)  # both advise to preprocess, which torch's exports need not
    with contextlib.redirect_stdout(io.StringIO()):
        if calibration is None:
            quantization.quantize_dynamic(source, target, reduce_range=True)
            return

        class Reader(quantization.CalibrationDataReader):
            def __init__(self) -> None:
                self.left = [calibration]

            def get_next(self) -> Any:
                return self.left.pop() if self.left else None

        after = [n.name for n in load(str(source)).graph.node if "/post" in n.name or n.op_type == "Identity"]
        quantization.quantize_static(source, target, Reader(), nodes_to_exclude=after)


def _floats(name: str, *shape: int | str) -> Callable[..., Arrays]:
    """One input of normally distributed numbers; words are sizes."""

    def inputs(random: np.random.Generator, layers: int, dtype: np.dtype, **sizes: int) -> Arrays:
        return {
            name: random.standard_normal([s if isinstance(s, int) else sizes[s] for s in shape], np.float32).astype(
                dtype
            )
        }

    return inputs


def _bert(random: np.random.Generator, layers: int, dtype: np.dtype, batch: int, length: int) -> Arrays:
    return language.bert_inputs(random, batch, length)


def _dlrm(random: np.random.Generator, layers: int, dtype: np.dtype, batch: int) -> Arrays:
    return language.dlrm_inputs(random, batch, dtype)


def _diffusion(random: np.random.Generator, layers: int, dtype: np.dtype, batch: int, side: int) -> Arrays:
    return {
        "sample": random.standard_normal((batch, 640, side, side)).astype(dtype),
        "timestep": random.integers(0, 1000, batch).astype(dtype),
        "encoder_hidden_states": random.standard_normal((batch, 77, 768)).astype(dtype),
    }


def _sizes(**lists: tuple[int, ...]) -> tuple[dict[str, int], ...]:
    """Sizes out of one list for each."""
    return tuple(dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True))


ARCHITECTURES = {
    "bert-base": Architecture(
        language.bert,
        _bert,
        _sizes(batch=(1, 2, 1, 3), length=(128, 64, 32, 17)),
        layers=12,
        grown={
            "batch": _sizes(batch=(1, 2, 4, 8), length=(32,) * 4),
            "length": _sizes(batch=(1,) * 5, length=(16, 32, 64, 128, 256)),
        },
    ),
    "gpt2-decode": Architecture(
        language.gpt2,
        language.gpt2_inputs,
        _sizes(batch=(1, 1, 1, 2), past=(128, 129, 130, 64)),
        layers=12,
        size="one token",
        grown={
            "batch": _sizes(batch=(1, 2, 4, 8), past=(64,) * 4),
            "length": _sizes(batch=(1,) * 4, past=(32, 128, 512, 1000)),
        },
    ),
    "vit-b16": Architecture(
        vision.vit,
        _floats("pixel_values", "batch", 3, 224, 224),
        _sizes(batch=(1, 2, 3)),
        layers=12,
        grown={"batch": _sizes(batch=(1, 2, 4))},
    ),
    "whisper-encoder": Architecture(
        language.whisper_encoder,
        _floats("input_features", "batch", 80, "frames"),
        _sizes(batch=(1, 1, 2), frames=(3000, 1000, 600)),
        layers=6,
        size="base",
    ),
    "whisper-decoder": Architecture(
        language.whisper_decoder,
        language.whisper_decoder_inputs,
        _sizes(batch=(1, 1, 2), past=(64, 65, 32)),
        layers=6,
        size="base, one token",
    ),
    "yolov8n": Architecture(
        vision.yolo,
        _floats("images", "batch", 3, "height", "width"),
        _sizes(batch=(1, 2, 1), height=(640, 320, 416), width=(640, 320, 320)),
        static=True,
        steady=("predictions",),
        grown={"batch": _sizes(batch=(1, 2, 4), height=(320,) * 3, width=(320,) * 3)},
    ),
    "mask-rcnn": Architecture(
        vision.maskrcnn,
        _floats("image", 1, 3, "height", "width"),
        _sizes(height=(256, 320, 256), width=(320, 256, 256)),
        layers=6,
        size="blocks a stage at most; 256x320, 100 proposals",
        static=True,
        steady=("objectness", "feature"),
    ),
    "dlrm": Architecture(
        language.dlrm, _dlrm, _sizes(batch=(1, 128, 37)), grown={"batch": _sizes(batch=(1, 8, 64, 512))}
    ),
    "conformer-m": Architecture(
        language.conformer,
        _floats("features", "batch", "frames", 80),
        _sizes(batch=(1, 2, 1), frames=(400, 203, 333)),
        layers=16,
        grown={"length": _sizes(batch=(1,) * 4, frames=(100, 200, 400, 800))},
    ),
    "unet": Architecture(
        vision.unet,
        _floats("image", "batch", 3, "height", "width"),
        _sizes(batch=(1, 2, 1), height=(256, 128, 192), width=(256, 128, 160)),
        size="base width 32, 256x256",
        static=True,
    ),
    "diffusion": Architecture(
        vision.diffusion,
        _diffusion,
        _sizes(batch=(1, 2, 1), side=(32, 16, 24)),
        layers=2,
        size="640 channels, 32x32",
    ),
}
