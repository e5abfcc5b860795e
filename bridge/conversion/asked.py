"""Wishes for a conversion, in groups, as ``bridge.convert`` takes them one by one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..compare import Tolerance
from ..draws import KINDS, Kind
from ..inputs import Given
from ..pipeline.postprocess import Postprocess
from ..pipeline.preprocess import Dynamic, Preprocess
from ..recorded import Recording


@dataclass(frozen=True)
class Wanted:
    """The inputs of the network that is converted, and what is put around it."""

    inputs: Given | None = None
    free: str | Sequence[str] | None = None
    dynamic: Dynamic = field(default_factory=dict)
    batch: int | str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    training: bool = False
    preprocess: Preprocess | None = None
    postprocess: Postprocess | None = None


@dataclass(frozen=True)
class Proof:
    """The way in which the written file is compared with the network."""

    wanted: bool = True
    """False: it is not."""
    also: Given | Sequence[Given] = ()
    expected: str | os.PathLike[str] | Recording | None = None
    seed: int = 0
    ranges: Mapping[str, tuple[float, float]] | None = None
    draws: Sequence[Kind] = KINDS
    tolerance: Tolerance | tuple[float, float] | None = None
    repro: str | os.PathLike[str] | None = None
    strict: bool = False
    layers: bool = False
