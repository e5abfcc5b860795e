"""Every committed network in float16 and on 8-bit integers, and how far both are from it: docs/precision.md's tables.

Float16 is measured on the recorded inputs, and judged as ``gluonnx verify model-symbol.json model-fp16.onnx`` does. Integers are
calibrated on the numbers of the recorded inputs in other orders, and measured on the inputs themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

import bridge
from bridge.precision.accuracy import EXACT, measure
from converters.precision.retype import from_proto
from hybrid.core.op import Spec
from tests.models.networks import Network, networks

PAGE = Path(__file__).parents[2] / "docs" / "precision.md"
MARKER = "<!-- From here on written by python -m tests.precision -->"


class Half(NamedTuple):
    """A network in float16."""

    nodes: int
    stays: int
    size: float
    sqnr: float
    max_rel: float
    verdict: str
    """Of verify, the symbol against the file."""
    refused: str = ""


class Whole(NamedTuple):
    """A network on 8-bit integers."""

    integers: int
    stays: int
    sqnr: float
    fused: float
    max_rel: float
    refused: str = ""


class Single(NamedTuple):
    """A network of half precision in float32."""

    size: float
    sqnr: float
    refused: str = ""


def _worst(report: Any) -> tuple[float, float]:
    """Signal to noise of the worst of the outputs, and the greatest difference of any over its scale."""
    found = [a for a in report.outputs if a.scale]
    return min((a.sqnr for a in found), default=EXACT), max((a.max_rel for a in found), default=0.0)


def half(network: Network) -> Half:
    """The network in float16. Its reason where it is refused."""
    inputs = network.runs()[0][0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            result = bridge.convert_in(bridge.Half(), network.prefix, inputs=inputs, output=path, draws=("expected",))
        except (bridge.BadInput, bridge.NotEquivalent) as error:
            return Half(0, 0, 0, 0, 0, "", str(error))
        verdict = bridge.verify(network.prefix, path, inputs=inputs, draws=("expected",)).verdict
    report = result.accuracy
    assert report is not None
    before, after = report.bytes
    return Half(sum(result.operators.values()), len(report.stays), after / before, *_worst(report), verdict)


SETS = 8
FEWEST = 64
"""Elements of an input whose order does not matter to what it means: fewer may be sizes."""


def alike(inputs: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Sets of inputs that hold the same numbers in other orders."""
    rng = np.random.default_rng(0)
    return [
        {n: rng.permutation(a.reshape(-1)).reshape(a.shape) if a.size >= FEWEST else a for n, a in inputs.items()}
        for _ in range(SETS)
    ]


def whole(network: Network) -> Whole:
    """The network on 8-bit integers. Its reason where it is refused."""
    inputs = network.runs()[0][0]
    shapes = {n: Spec(a.shape, a.dtype) for n, a in inputs.items()}
    with tempfile.TemporaryDirectory() as folder:
        plain, path = Path(folder) / "plain.onnx", Path(folder) / "model.onnx"
        try:
            result = bridge.convert_in(
                bridge.Quantized(data=alike(inputs)), network.prefix, inputs=shapes, output=path, draws=("expected",)
            )
        except (bridge.BadInput, bridge.NotEquivalent) as error:
            return Whole(0, 0, 0, 0, 0, str(error))
        float32 = bridge.convert(network.prefix, inputs=shapes, output=plain, verify=False)
        before, after = (from_proto(onnx.load(p)) for p in (plain, path))
    report = result.accuracy
    assert report is not None
    feeds = [{n: a for n, a in inputs.items() if n in float32.inputs}]
    fed = {n: np.dtype(s["dtype"]) for n, s in result.inputs.items() if s["dtype"] != float32.inputs[n]["dtype"]}
    names = {o.name for o in before.model.graph.output}
    found = [measure(before, after, feeds, fed=fed, inside=False, plain=p) for p in (True, False)]
    outputs = [[a for a in layers if a.scale and a.tensor in names] for layers in found]
    sqnr, fused = (min((a.sqnr for a in layers), default=EXACT) for layers in outputs)
    return Whole(
        len(report.quantized), len(report.stays), sqnr, fused, max((a.max_rel for a in outputs[0]), default=0.0)
    )


def single(network: Network) -> Single | None:
    """The network in float32; None where nothing in it is of half precision."""
    inputs = network.runs()[0][0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            result = bridge.convert_in(bridge.Single(), network.prefix, inputs=inputs, output=path, draws=("expected",))
        except bridge.NotEquivalent as error:
            return Single(0, 0, str(error))
        except bridge.BadInput as error:
            return None if "nothing in it is float16" in str(error) else Single(0, 0, str(error))
    report = result.accuracy
    assert report is not None
    before, after = report.bytes
    return Single(after / before, _worst(report)[0])


# -- the page -------------------------------------------------------------------------------------------------------------


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _decibels(sqnr: float) -> str:
    return "exact" if sqnr >= EXACT else f"{sqnr:.0f}"


def _told(reason: str) -> str:
    return reason.replace("\n", "; ").replace("|", "/")


def tables(chosen: Sequence[Network]) -> str:
    """The tables of these networks, as Markdown."""
    halves = {n.name: half(n) for n in chosen}
    wholes = {n.name: whole(n) for n in chosen}
    singles = {n.name: found for n in chosen if (found := single(n)) is not None}
    done = [h for h in halves.values() if not h.refused]
    agreed = sum(h.verdict != "not equivalent" for h in done)
    lines = [
        "",
        "Float16 is measured on the recorded inputs. Integers are calibrated by minmax on 8 sets that hold the recorded numbers in",
        "other orders, and measured on the recorded inputs themselves; *fused* is the same with onnxruntime's integer kernels.",
        "",
        "### Float16",
        "",
    ]
    lines.append(
        f"{len(done)} of {len(halves)} networks; `gluonnx verify model-symbol.json model-fp16.onnx` finds {agreed} of them as "
        f"exact as float16 allows. The least signal to noise is {min((h.sqnr for h in done), default=0):.0f} dB."
    )
    lines += [
        "",
        _row(("network", "nodes", "in float32", "size", "SQNR dB", "max of scale", "verify")),
        _row(["---"] * 7),
    ]
    for name, h in halves.items():
        if h.refused:
            lines.append(_row((name, "refused", _told(h.refused), "", "", "", "")))
        else:
            lines.append(
                _row(
                    (
                        name,
                        str(h.nodes),
                        str(h.stays),
                        f"{h.size:.0%}",
                        _decibels(h.sqnr),
                        f"{h.max_rel:.1e}",
                        h.verdict,
                    )
                )
            )
    ready = [w for w in wholes.values() if not w.refused]
    lines += ["", "### 8-bit integers", ""]
    lines.append(
        f"{len(ready)} of {len(wholes)} networks; the others have nothing that could be quantised, or it is named what stops them. "
        f"The least signal to noise is {min((w.sqnr for w in ready), default=0):.0f} dB, with onnxruntime's fused kernels "
        f"{min((w.fused for w in ready), default=0):.0f} dB."
    )
    lines += ["", _row(("network", "on integers", "stay", "SQNR dB", "fused dB", "max of scale")), _row(["---"] * 6)]
    for name, w in wholes.items():
        if w.refused:
            lines.append(_row((name, "none", _told(w.refused), "", "", "")))
        else:
            lines.append(
                _row((name, str(w.integers), str(w.stays), _decibels(w.sqnr), _decibels(w.fused), f"{w.max_rel:.1e}"))
            )
    lines += ["", "### Float32 out of half precision", ""]
    lines += [_row(("network", "size", "SQNR dB")), _row(["---"] * 3)]
    for name, s in singles.items():
        lines.append(
            _row((name, "refused", _told(s.refused)) if s.refused else (name, f"{s.size:.0%}", _decibels(s.sqnr)))
        )
    return "\n".join([*lines, ""])


def page(chosen: Sequence[Network] | None = None) -> str:
    """docs/precision.md: what was written by hand, and the tables."""
    head = PAGE.read_text().partition(MARKER)[0]
    return f"{head}{MARKER}\n{tables(networks() if chosen is None else chosen)}"
