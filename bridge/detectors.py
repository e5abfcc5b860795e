"""Detectors that are converted without their suppression, or with TensorRT's in its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from converters.detector import PLUGIN, Suppression, before_suppression, with_plugin
from converters.forms import PLAIN, TENSORRT, Forms
from converters.writer import Converted
from hybrid.core.op import Spec

from .models import Model
from .paths import BadInput

FACT = "gluonnx.suppression"
"""The member of a file's metadata that says how the symbol would have chosen among boxes and scores."""


@dataclass(frozen=True)
class Detector:
    """The end of a detector's suppression: what was put in its place."""

    suppression: Suppression
    plugin: bool
    """True: TensorRT's plugin stands in its place."""

    def finished(self, converted: Converted) -> Converted:
        """The model that is written, of the one that ends before suppression, which is verified."""
        return with_plugin(converted, self.suppression) if self.plugin else converted

    @property
    def facts(self) -> dict[str, str]:
        """Members of the file's metadata."""
        return {FACT: json.dumps(asdict(self.suppression))}

    @property
    def note(self) -> str:
        """A sentence for the user on what was left out."""
        chosen = self.suppression
        what = f"{chosen.node} ({chosen.operator})"
        if self.plugin:
            return (
                f"{PLUGIN} stands for {what} and runs in TensorRT alone: boxes and scores before it were verified, "
                "the node itself was not run"
            )
        among = "of all classes" if chosen.class_agnostic else "within a class"
        return (
            f"ends in boxes and scores before {what}, which takes scores from {chosen.score_threshold:g} on, "
            f"suppresses overlaps from {chosen.iou_threshold:g} on {among}, and keeps {chosen.most} at most"
        )


def without_suppression(
    model: Model, forms: Forms, specs: Mapping[str, Spec], *, training: bool = False, recorded: bool = False
) -> tuple[Model, Forms, Detector]:
    """The model that ends in boxes and scores, the forms that it is written in, and what became of its suppression.

    specs: of all inputs. Raises BadInput for what does not go together, converters.ConversionError where the network does not
    end in suppression."""
    if training or recorded:
        other = "--training" if training else "recorded outputs (--expected)"
        raise BadInput(f"--nms {forms.nms} is for a file that is deployed, with other outputs: convert without {other}")
    assert model.graph is not None
    cut = before_suppression(model.graph, model.infer(specs))
    return (
        replace(model, graph=cut.graph),
        replace(forms, nms=PLAIN.nms),
        Detector(cut.suppression, forms.nms == TENSORRT),
    )
