"""Options for files in another precision, and what is wished for with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..paths import BadInput
from ..precision.wishes import DRAWN, Half, Precision, Quantized, Single

GROUP = "Precision"

Fp16 = Annotated[bool, typer.Option("--fp16", help="Write float16 where its range allows.", rich_help_panel=GROUP)]
Fp16Io = Annotated[bool, typer.Option("--fp16-io", help="Also make inputs and outputs float16.", rich_help_panel=GROUP)]
Fp32 = Annotated[
    bool, typer.Option("--fp32", help="Write float32 from a float16 or AMP network.", rich_help_panel=GROUP)
]
Quantize = Annotated[
    str | None,
    typer.Option(
        "--quantize",
        metavar="EXAMPLES",
        help="8-bit integers as QuantizeLinear and DequantizeLinear, calibrated on a folder of images, an .npz of arrays "
        f"(N, ...) or a folder of .npz; the word {DRAWN} lets numbers be drawn.",
        rich_help_panel=GROUP,
    ),
]
Method = Annotated[
    str,
    typer.Option("--calibration", help="Ranges of activations: minmax, percentile or entropy.", rich_help_panel=GROUP),
]
Percentile = Annotated[
    float,
    typer.Option(help="The share of numbers within the range of --calibration percentile.", rich_help_panel=GROUP),
]
Activations = Annotated[
    str,
    typer.Option(help="uint8 with any zero point, or int8 with zero point 0 (TensorRT).", rich_help_panel=GROUP),
]
Weights = Annotated[
    str | None,
    typer.Option(
        help="int8, uint8 (the same numbers, exact in onnxruntime on any CPU) or int7; by default as the activations.",
        rich_help_panel=GROUP,
    ),
]
KeepFloat = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-float", metavar="NODE|OP",
        help="A node or an ONNX operator that stays in float32. May be repeated, or with commas.",
        rich_help_panel=GROUP,
    ),
]  # fmt: skip
Least = Annotated[
    float | None,
    typer.Option(
        "--least",
        metavar="DB",
        help="The least signal to noise (dB) of 8-bit layers and outputs; 10 by default.",
        rich_help_panel=GROUP,
    ),
]
Data = Annotated[
    str | None,
    typer.Option(
        "--examples",
        metavar="EXAMPLES",
        help="Examples to measure --fp16 and --fp32 on, as for --quantize.",
        rich_help_panel=GROUP,
    ),
]
Truth = Annotated[
    Path | None,
    typer.Option(
        help="True classes of the examples (.txt, .npz), for top-1 and top-5; not needed for folders by class.",
        rich_help_panel=GROUP,
    ),
]


@dataclass(frozen=True)
class Asked:
    """Options of files in another precision."""

    fp16: Fp16 = False
    fp16_io: Fp16Io = False
    fp32: Fp32 = False
    quantize: Quantize = None
    calibration: Method = "minmax"
    percentile: Percentile = 99.99
    activations: Activations = "uint8"
    weights: Weights = None
    keep_float: KeepFloat = None
    least: Least = None
    examples: Data = None
    truth: Truth = None


def wishes_of(asked: Asked) -> Precision | None:
    """The precision that is wanted; None for the network's own. Raises BadInput for what does not go together."""
    kinds = [
        n
        for n, on in (("--fp16", asked.fp16), ("--fp32", asked.fp32), ("--quantize", asked.quantize is not None))
        if on
    ]
    if len(kinds) > 1:
        raise BadInput(f"{' and '.join(kinds)}: one precision a file; convert once for each")
    problems = []
    if asked.fp16_io and not asked.fp16:
        problems.append("--fp16-io: goes with --fp16")
    if asked.keep_float and not (asked.fp16 or asked.quantize):
        problems.append("--keep-float: goes with --fp16 or --quantize")
    if asked.examples and asked.quantize:
        problems.append("--examples: --quantize names what it is measured on itself")
    if not kinds and (asked.examples or asked.truth):
        problems.append("--examples and --truth: go with --fp16, --fp32 or --quantize")
    if asked.quantize is None:
        changed = {
            "--calibration": asked.calibration != "minmax", "--percentile": asked.percentile != 99.99,
            "--activations": asked.activations != "uint8", "--weights": asked.weights is not None,
            "--least": asked.least is not None,
        }  # fmt: skip
        problems += [f"{name}: goes with --quantize" for name, given in changed.items() if given]
    if problems:
        raise BadInput(*problems)
    keep, data = tuple(asked.keep_float or ()), asked.examples or DRAWN
    if asked.fp16:
        return Half(data=data, labels=asked.truth, io=asked.fp16_io, keep=keep)
    if asked.fp32:
        return Single(data=data, labels=asked.truth)
    if asked.quantize is None:
        return None
    return Quantized(
        data=asked.quantize,
        labels=asked.truth,
        method=asked.calibration,  # type: ignore[arg-type]  # it is checked there
        percentile=asked.percentile,
        activations=asked.activations,
        weights=asked.weights or "",
        keep=keep,
        least=10.0 if asked.least is None else asked.least,
    )
