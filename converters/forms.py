"""Forms of ONNX that a converted graph may use: the wishes that reach translations and rewritings alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

TENSORRT = "tensorrt-plugin"
NMS = ("onnx", "none", TENSORRT)
"""Ends of detection."""
QUANTIZED = ("integer", "qdq")
"""Forms that networks on 8-bit integers are written in."""
LOWERINGS = (
    "recurrences",
    "grus",
    "rnns",
    "states",
    "lengths",
    "starts",
    "pools",
    "maxima",
    "powers",
    "remainders",
    "nans",
    "infinities",
    "rounds",
    "batches",
    "sums",
    "gates",
    "reversals",
    "reductions",
    "products",
    "floats",
    "lookups",
    "layouts",
    "operands",
)
"""Lowerings, in the order in which they run."""


@dataclass(frozen=True)
class Forms:
    """The forms that a graph is written in. Translations find them as ``b.forms``, rewritings get them. Raises ValueError for words
    that are none of a form's.

    Examples
    --------
    >>> import gluonnx
    >>> wanted = gluonnx.Forms(keep_graph=True)
    >>> gluonnx.convert("model", output="model.onnx", inputs={"data": (1, 3)}, forms=wanted).verified
    True
    """

    keep_graph: bool = False
    """True: nothing is folded or left out, so that each node of the symbol is found again."""
    ties: bool = True
    """True: nodes that put equal numbers in order of position, which ONNX promises of its TopK and OpenVINO and MNN do not keep."""
    nan_guards: bool | None = True
    """Nodes that keep MXNet's answers where a tensor holds NaN, or an index lies beyond its table. True: wherever they could be
    asked. None: where they can matter: NaN that something inside may make (guards.py), and indexes, which MXNet moves into the
    table, ONNX counts from the end where they are negative. False: nowhere."""
    nms: str = "onnx"
    """The end of detection: "onnx", a NonMaxSuppression node; "none", decoded boxes and scores; "tensorrt-plugin",
    EfficientNMS_TRT (converters/detector.py)."""
    suppresses_at: bool = False
    """True: the NonMaxSuppression that will run suppresses at its threshold too, as OpenVINO's does; ONNX's does above it."""
    quantized: str = "integer"
    """The form of networks on 8-bit integers: "integer", ConvInteger and MatMulInteger, exact; "qdq", float32 between pairs
    of QuantizeLinear and DequantizeLinear, which deployment engines read: exact while sums stay below 2**24."""
    counted_pads: bool = True
    """True: AveragePool counts its padding (count_include_pad), which some engines overlook; False: a Pad before it does."""

    lowered: tuple[str, ...] = ()
    """Names of lowerings (converters/lowering): what few engines have, as what more of them have."""

    def __post_init__(self) -> None:
        wrong = [
            f"{name}: got {got!r}, wanted one of {', '.join(all)}"
            for name, got, all in (("nms", self.nms, NMS), ("quantized", self.quantized, QUANTIZED))
            if got not in all
        ]
        wrong += [
            f"lowered: got {n!r}, wanted some of {', '.join(LOWERINGS)}" for n in self.lowered if n not in LOWERINGS
        ]
        if wrong:
            raise ValueError("; ".join(wrong))


PLAIN = Forms()
"""Forms that mean what a translation means, to the last special case."""
USUAL = Forms(nan_guards=None)
"""Forms that are worth writing into a file that is to be run."""


def for_training(forms: Forms) -> Forms:
    """The forms of a graph that is to be trained, in which each parameter stays what it is."""
    return replace(forms, keep_graph=True)
