"""Cells of the matrix of targets: a network converted for a target, and what came of the file there."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from pathlib import Path
from typing import Any

import onnx

import bridge
from bridge.engines import NativeEngine
from bridge.inputs import as_specs
from bridge.targets.check import lacking
from bridge.targets.deployed import Outcome, on_target
from bridge.targets.place import place_of
from bridge.targets.profile import Profile
from converters.error import UnsupportedModel
from hybrid.core.error import MXNetError
from tests.models.networks import Network

from .page import BY_US
from .rebuilt import Rebuilt

LIMIT = 240.0
"""Seconds that a target may take."""
Cell = dict[str, Any]


def measured(network: Network | Rebuilt, profile: Profile) -> Cell:
    """The record of a network that is converted for a target, and run there."""
    with _Written(network, profile) as written:
        return written.measured()


def up_to_date(network: Network | Rebuilt, profile: Profile, known: Cell | None, runs: bool) -> Cell:
    """The cell as it is, where the file is still the one that it was measured with, and the target the same release; else measured
    anew, or, unless it runs, marked with the digest of today's file."""
    place = place_of(profile)
    with _Written(network, profile) as written:
        if written.refusal is not None:
            now = written.refusal | ({"release": known["release"]} if place is None and known is not None else {})
            return known if known is not None and _told(known) == now else now
        if known is None:
            return written.measured()
        if known.get("file") == written.digest and (place is None or known["release"] == written.release):
            return known if "now" not in known else {k: v for k, v in known.items() if k != "now"}
        if place is not None and runs:
            return written.measured()
        return known if known.get("now") == written.digest else known | {"now": written.digest}


def _told(known: Cell) -> Cell:
    return {k: v for k, v in known.items() if k not in ("target", "network")}


class _Written:
    """A network's file for a target, in a folder of its own; or why its profile refuses it."""

    def __init__(self, network: Network | Rebuilt, profile: Profile):
        self.profile, self.place = profile, place_of(profile)
        self.release = "" if self.place is None else f"{self.place.package} {self.place.version}"
        self.model = bridge.open_model(network.prefix)
        self.feeds = network.runs()[0][0]
        if profile.batch is not None:
            fewer = {n: a[: profile.batch] for n, a in self.feeds.items()}
            with contextlib.suppress(MXNetError):  # not every first axis is a batch
                self.model.inferring(as_specs(fewer)[0]).infer(as_specs(fewer)[0])
                self.feeds = fewer
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "model.onnx"
        self.opset, self.refusal, self.digest = 0, None, ""

    def __enter__(self) -> _Written:
        try:
            made = bridge.convert(
                self.model, inputs=self.feeds, output=self.path, targets=self.profile.name, verify=False
            )
        except UnsupportedModel as error:
            counts = lacking(error.problems)
            first = {p.operator: p.reason for p in reversed(error.problems)}
            reason = str(first[next(iter(counts))])
            self.refusal = {"verdict": BY_US, "release": self.release, "operators": dict(counts), "reason": reason}
            return self
        self.opset, self.digest = made.opset, digest_of(onnx.load(self.path))
        return self

    def __exit__(self, *_error: object) -> None:
        self._folder.cleanup()

    def measured(self) -> Cell:
        """The record: of the recorded inputs, and of drawn ones."""
        if self.refusal is not None:
            return self.refusal
        found = self._run()
        return {
            "verdict": found.verdict,
            "release": self.release,
            "opset": self.opset,
            "file": self.digest,
            "error": found.error,
            "rounding": found.rounding,
            "operators": {found.operator: 1} if found.operator else {},
            "node": found.node,
            "reason": "" if found.good else found.reason,
            "seconds": round(found.seconds, 2),
        }

    def _run(self) -> Outcome:
        proto = bridge.open_model(self.path).proto
        assert proto is not None
        specs, arrays = as_specs(dict(self.feeds))
        left = NativeEngine(self.model.inferring(specs), specs)
        used = {n: s for n, s in specs.items() if n in left.inputs}
        given = {n: a for n, a in arrays.items() if n in left.inputs}
        return on_target(
            self.profile, self.place, left, self.path, proto, (), used, arrays=given, drawn=True, time_limit=LIMIT
        )


def digest_of(model: onnx.ModelProto) -> str:
    """The digest of what a file says: nodes, attributes, sizes, whole numbers, single floats. Other floats count by their shape,
    since what is folded of weights is rounded otherwise on other CPUs; metadata not at all."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for name in ("metadata_props", "producer_version", "producer_name", "doc_string"):
        bare.ClearField(name)
    kinds = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE
    for tensor in bare.graph.initializer:
        if tensor.data_type in kinds and list(tensor.dims) != [1] * len(tensor.dims):
            for name in ("raw_data", "float_data", "double_data", "int32_data"):
                tensor.ClearField(name)
    return hashlib.sha256(bare.SerializeToString(deterministic=True)).hexdigest()[:16]
