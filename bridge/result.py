"""Inputs and results of a verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from .compare import Difference
from .engines import Arrays

Progress = Callable[[str], None]
Verdict = Literal["equivalent", "says little", "not equivalent"]


@dataclass(frozen=True)
class Divergence:
    """The first tensor that differs beyond tolerance, and whether its own node is to blame."""

    tensor: str
    node: str
    operator: str
    accumulated: Difference
    """The difference in the whole model."""
    local: Difference | None
    """The difference when both sides' node gets the same inputs; None when it cannot be run alone."""
    inputs: dict[str, dict[str, Any]]
    """Statistics of the node's inputs."""

    @property
    def kind(self) -> str:
        """ "local" when the node itself computes something else, "accumulated" when earlier rounding grew."""
        return "unknown" if self.local is None else "accumulated" if self.local.equal else "local"


@dataclass(frozen=True)
class Layer:
    """One tensor inside that both models make."""

    tensor: str
    second: str
    """Its name in the second model."""
    node: str
    operator: str
    accumulated: Difference | None
    """The difference in the whole model; None where it was not looked at."""
    local: Difference | None
    """The difference when both sides compute it from the same values; None where that was not, or cannot be, looked at."""


@dataclass(frozen=True)
class VerifyResult:
    """The result of verify: a verdict over every output of every run, and over every tensor inside that both models name."""

    a: str
    b: str
    verdict: Verdict
    """"says little": the outputs agree, and so would those of another model; nothing before them says more."""
    runs: tuple[dict[str, Any], ...]
    """Per run: input shapes, seed, where the inputs come from, and differences by output."""
    differences: tuple[Difference, ...]
    """The worst of each output over the runs."""
    divergence: Divergence | None = None
    """The first node that computes something else; where none does by itself, the first tensor that differs."""
    faults: tuple[str, ...] = ()
    """All nodes that compute something else from the same values."""
    inner: int = 0
    """Number of tensors that were computed by both from the same values."""
    little: tuple[str, ...] = ()
    """Outputs whose agreement says little by itself, and why."""
    layers: tuple[Layer, ...] = ()
    """Tensors inside, in the order in which they are made."""
    causes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By node at fault what differs between the models there, in words."""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    repro: str | None = None

    @property
    def equivalent(self) -> bool:
        return self.verdict == "equivalent"

    def as_dict(self) -> dict[str, Any]:
        out = {**asdict(self), "equivalent": self.equivalent}
        if self.divergence is not None:
            out["divergence"]["kind"] = self.divergence.kind
        return out


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
    """How its numbers were drawn: "expected", "wide" or "edges"; "given" where none were."""
    rows: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By input that picks rows of a table: how many of them this case and those before it have looked at, and of how many."""
    made_up: bool = False
    """True where an engine may refuse it: then it gives way to a milder one, or to none."""
    milder: Callable[[], Case | None] | None = None
    """What makes the case that it gives way to."""

    def __post_init__(self) -> None:
        self.shapes = {k: v.shape for k, v in self.feeds.items() if k not in self.names.values()}

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


def with_names(result: VerifyResult, a: str, b: str, seconds: float) -> VerifyResult:
    """The result, with the names of the models and the time it took."""
    return replace(result, a=a, b=b, seconds=seconds)


def with_warnings(result: VerifyResult, notes: Sequence[str]) -> VerifyResult:
    """The result, with further warnings before its own."""
    return replace(result, warnings=(*notes, *result.warnings))
