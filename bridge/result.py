"""Inputs and results of a verification."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hybrid.core.attrs import is_float

from .compare import Difference
from .engines import Arrays

Progress = Callable[[str], None]
DRAWN = "drawn"
"""Beginning of the words for where an input comes from that was drawn."""
GROWN = "grown rounding"
"""Name of who settles a layer beyond the tolerance where its node, and every one before it, is right by itself."""
Verdict = Literal["equivalent", "says little", "not equivalent"]


RECORDED = {side: f" ({side} model, recorded)" for side in ("first", "second")}
"""Ends of the names of outputs that are held to a recording where two models are compared as well, by side."""


@dataclass(frozen=True)
class Divergence:
    """The first tensor that differs beyond tolerance, and whether its own node is to blame.

    Examples
    --------
    >>> import gluonnx
    >>> from gluonnx import mx
    >>> a = mx.sym.exp(mx.sym.var("x"), name="e")
    >>> b = mx.sym.sin(mx.sym.var("x"), name="e")
    >>> result = gluonnx.verify(a, b, inputs={"x": (2,)})
    >>> result.equivalent, result.divergence.node, result.divergence.kind
    (False, 'e', 'local')
    """

    tensor: str
    """The tensor's name."""
    node: str
    """The node that makes it."""
    operator: str
    """The node's operator."""
    accumulated: Difference
    """The difference in the whole model."""
    local: Difference | None
    """The difference when both sides' node gets the same inputs; None when it cannot be run alone."""
    inputs: dict[str, dict[str, Any]]
    """Statistics of the node's inputs."""
    second: str = ""
    """The tensor's name in the second model; empty where it is the same, or not known."""
    second_node: str = ""
    """The node's name in the second model, which may be another."""
    span: tuple[str, ...] = ()
    """All nodes of which this is the last, where only what they do together could be compared (the second model folds them)."""
    inexact: str = ""
    """Words for the distance of a runtime from float64 at this node, where the models agree; empty where that is not what it is."""

    @property
    def kind(self) -> str:
        """ "local" when the node itself computes something else, "accumulated" when earlier rounding grew, "inexact" when the
        models are the same there and a runtime rounds more than others do."""
        if self.inexact:
            return "inexact"
        return "unknown" if self.local is None else "accumulated" if self.local.equal else "local"


@dataclass(frozen=True)
class Layer:
    """One tensor inside that both models make."""

    tensor: str
    """Its name in the first model."""
    second: str
    """Its name in the second model."""
    node: str
    """The node that makes it."""
    operator: str
    """The node's operator."""
    accumulated: Difference | None
    """The difference in the whole model; None where it was not looked at."""
    local: Difference | None
    """The difference when both sides compute it from the same values; None where that was not, or cannot be, looked at."""


@dataclass(frozen=True)
class Neighbour:
    """A node near the first difference, by one of the tensors that it makes."""

    tensor: str
    node: str
    operator: str
    inputs: tuple[str, ...]
    attributes: dict[str, str]


@dataclass(frozen=True)
class ModelFile:
    """A file that a model was read from."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class VerifyResult:
    """The result of verify: a verdict over every output of every run, and over every tensor inside that both models name.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> result = gluonnx.verify("model", "model.onnx", inputs={"data": (1, 3)})
    >>> result.equivalent, [d.name for d in result.differences], result.first is None
    (True, ['top_fwd_output'], True)
    >>> result.as_dict()["verdict"]
    'equivalent'
    """

    a: str
    """Name of the first model."""
    b: str
    """Name of the second."""
    verdict: Verdict
    """"says little": the outputs agree, and so would those of another model; nothing before them says more. Or the models are known
    to differ where no input reaches (``unreached``)."""
    runs: tuple[dict[str, Any], ...]
    """Per run: input shapes, seed, where the inputs come from, and differences by output."""
    differences: tuple[Difference, ...]
    """The worst of each output over the runs."""
    run_of: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    """By output the place among the runs of the one that its worst difference is of."""
    divergence: Divergence | None = None
    """The first node that computes something else; where none does by itself, the first tensor that differs."""
    faults: tuple[str, ...] = ()
    """All nodes that compute something else from the same values."""
    located: tuple[Divergence, ...] = ()
    """The same with what is known of each, in order."""
    inner: int = 0
    """Number of tensors that were computed by both from the same values."""
    recorded: tuple[str, ...] = ()
    """Sentences for tensors inside that were recorded too: how many of them a model has, and how many agree."""
    recording: str = ""
    """Recorded outputs that both were held against as well, in differences that are named so; empty where there were none."""
    little: tuple[str, ...] = ()
    """Outputs whose agreement says little by itself, and why."""
    unreached: tuple[str, ...] = ()
    """Attributes and parameters that differ between the models where no input that was tried tells them apart, in words; then the
    verdict is "says little"."""
    layers: tuple[Layer, ...] = ()
    """Tensors inside, in the order in which they are made."""
    causes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By node at fault what differs between the models there, in words."""
    around: tuple[tuple[Neighbour, ...], tuple[Neighbour, ...]] = ((), ())
    """Nodes around the first difference, of each side."""
    files: tuple[tuple[ModelFile, ...], tuple[ModelFile, ...]] = ((), ())
    """Files that each side was read from."""
    pictures: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict, repr=False)
    """Small PNG images of inputs that look like images."""
    warnings: tuple[str, ...] = ()
    """Remarks on what was compared, and how."""
    seconds: float = 0.0
    """Seconds that it took."""
    between: Verdict | None = field(default=None, kw_only=True)
    """The verdict over both models beside each other, where both were held to a recording as well; None elsewhere."""
    repro: str | None = None
    """Folder of the minimal reproduction; None where none was written."""

    @property
    def equivalent(self) -> bool:
        """True where the verdict is "equivalent"."""
        return self.verdict == "equivalent"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without pictures."""
        out = {**asdict(replace(self, pictures={})), "equivalent": self.equivalent}
        del out["pictures"], out["run_of"]  # the inputs can be drawn again; runs are told with the differences
        if self.divergence is not None:
            out["divergence"]["kind"] = self.divergence.kind
        for entry, found in zip(out["located"], self.located):
            entry["kind"] = found.kind
        for entry, d in zip(out["differences"], self.differences):
            entry["run"] = self.run_of.get(d.name)
        return out

    @property
    def first(self) -> int | None:
        """The place among the layers of the first difference; None where there is none, or it is not among them."""
        tensor = None if self.divergence is None else self.divergence.tensor
        by_name = (i for i, layer in enumerate(self.layers) if tensor in (layer.tensor, layer.second))
        apart = (i for i, layer in enumerate(self.layers) if layer.accumulated and not layer.accumulated.equal)
        return next(by_name, next(apart, None)) if self.verdict == "not equivalent" else None

    def place(self, node: str) -> str:
        """Words for the elements of a node's output that differ; empty where that is not known.

        Examples
        --------
        >>> import gluonnx
        >>> from gluonnx import mx
        >>> import numpy as np
        >>> dense = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, no_bias=True, name="fc")
        >>> model = gluonnx.open_model(dense, {"fc_weight": np.ones((4, 3), "float32")})
        >>> other = gluonnx.open_model(dense, {"fc_weight": np.float32([[1] * 3, [1] * 3, [2] * 3, [1] * 3])})
        >>> gluonnx.verify(model, other, inputs={"data": (8, 3)}).place("fc")
        'column 2 of 4 (all 8 elements)'
        """
        for layer in self.layers:
            if layer.node != node:
                continue
            first = self.divergence is not None and layer.node == self.divergence.node
            looked = (layer.local, layer.accumulated) if first else (layer.local,)
            for found in looked:
                if found is not None and found.details is not None and found.details.where:
                    return found.details.where
        return ""

    def __str__(self) -> str:
        from .faces.text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from .faces.html import as_fragment

        return as_fragment(self)


@dataclass
class Case:
    """One run: feeds by input name, and how they were made."""

    feeds: Arrays
    seed: int | None = None
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    """Words for where each input comes from."""
    names: dict[str, str] = field(default_factory=dict)
    """Names that the second model has for inputs of the first, where they are others."""
    kind: str = "given"
    """The way its numbers were drawn: "expected", "wide" or "edges"; "given" where none were."""
    rows: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By input that picks rows of a table: how many of them this case and those before it have looked at, and of how many."""
    made_up: bool = False
    """True where an engine may refuse it: then it gives way to a milder one, or to none."""
    milder: Callable[[], Case | None] | None = None
    """Maker of the case that it gives way to."""
    limited: tuple[str, int] | None = None
    """Inputs of whole numbers of which an engine has refused larger ones, and the largest that was drawn then."""

    def __post_init__(self) -> None:
        self.shapes = {k: v.shape for k, v in self.feeds.items() if k not in self.names.values()}

    def remarks(self) -> list[str]:
        """Words for numbers that were given and are none: what follows from NaN is NaN on both sides, whatever they do; and for
        whole numbers that had to be small."""
        found = []
        if self.limited is not None:
            names, most = self.limited
            told = f"from 0 to {most}" if most else "0"
            found.append(
                f"whole numbers of {names} are {told}: an engine has refused larger ones; give some that go together (--inputs "
                "FILE.npz)"
            )
        for name in self.shapes:
            array, origin = self.feeds[name], self.origins.get(name, "given")
            odd = not_finite(array) if self.kind == "given" or not origin.startswith(DRAWN) else {}
            if odd:
                told = " and ".join(f"{count} {word}" for word, count in odd.items())
                found.append(
                    f"input {name} ({origin}) holds {told} of {array.size} numbers: what comes of these says nothing of the models"
                )
        return found

    def described(self) -> dict[str, dict[str, Any]]:
        """Shape, dtype and origin of each input, and its name in the second model where that is another."""
        found: dict[str, dict[str, Any]] = {}
        for name in self.shapes:
            array = self.feeds[name]
            found[name] = {
                "shape": list(array.shape),
                "dtype": array.dtype.name,
                "from": self.origins.get(name, "given"),
            }
            if name in self.names:
                found[name]["second"] = self.names[name]
            if name in self.rows:
                found[name]["rows"] = list(self.rows[name])
        return found


def not_finite(array: np.ndarray) -> dict[str, int]:
    """Counts of the numbers that are NaN, and of those that are infinite, by these words; none of other arrays than floats."""
    if not is_float(array.dtype):
        return {}
    with np.errstate(invalid="ignore"):
        counts = {"NaN": int(np.isnan(array).sum()), "infinite": int(np.isinf(array).sum())}
    return {word: count for word, count in counts.items() if count}


def with_names(
    result: VerifyResult,
    a: str,
    b: str,
    seconds: float,
    files: tuple[tuple[ModelFile, ...], tuple[ModelFile, ...]] = ((), ()),
) -> VerifyResult:
    """The result, with the names of the models, the time it took, and the files they were read from."""
    return replace(result, a=a, b=b, seconds=seconds, files=files)


def identify(paths: Iterable[Path]) -> tuple[ModelFile, ...]:
    """Files by their hashes."""
    found = []
    for path in dict.fromkeys(p for p in paths if p.is_file()):
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        found.append(ModelFile(str(path), path.stat().st_size, digest.hexdigest()))
    return tuple(found)


def with_warnings(result: VerifyResult, notes: Sequence[str]) -> VerifyResult:
    """The result, with further warnings before its own."""
    return replace(result, warnings=(*notes, *result.warnings))
