"""An exported MXNet model becomes a verified ONNX file: step by step, as bridge/conversion has them."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from converters.forms import USUAL, Forms

from .compare import Tolerance, as_tolerance
from .conversion.asked import Proof, Wanted
from .conversion.network import Network, opened, settled
from .conversion.proof import proved
from .conversion.writing import Made, as_onnx, check_model
from .draws import KINDS, Kind
from .faces.notebook import listener
from .inputs import Given
from .job import Clock, Verified, publish
from .models import describe, onnx_spec
from .pipeline.postprocess import Postprocess
from .pipeline.preprocess import Preprocess
from .provenance import add_to_file, provenance
from .recorded import Recording
from .result import Progress, VerifyResult, identify
from .targets.deployed import Outcome, facts_of
from .targets.writing import check_for_targets, run_on_targets, written_for


@dataclass(frozen=True, repr=False)
class ConvertResult(Verified):
    """The result of a conversion.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.convert("model", inputs={"data": (1, 3)})
    >>> result.opset, result.parameters, result.outputs
    (13, 8, {'top_fwd_output': {'shape': [1, 2], 'dtype': 'float32'}})
    >>> sorted(result.as_dict())[:3]
    ['bytes', 'files', 'inputs']
    """

    model: str
    """Its name."""
    files: tuple[str, ...]
    """Files written; empty when no output was asked for."""
    opset: int
    """That of the file."""
    inputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name, as far as they are known."""
    outputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name, as far as they are known."""
    operators: dict[str, int]
    """ONNX operators and how often each occurs."""
    parameters: int
    """Number of numbers in parameters that the graph reads."""
    bytes: int
    """Size of the files, or of the model where none was written."""
    verified: bool
    """True where it was held against the symbol."""
    verification: VerifyResult | None
    """The result of that; None without it."""
    pruned: tuple[str, ...]
    """Inputs of the symbol that inference does not read (labels)."""
    unused: tuple[str, ...]
    """Parameters in the file that the graph does not mention."""
    warnings: tuple[str, ...]
    """Remarks on the model and on the verification."""
    seconds: dict[str, float]
    """By step: read, convert, write, verify, targets."""
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Outputs that only training needs, and the labels that feed them."""
    read: tuple[str, ...] = ()
    """Files that the model was read from."""
    targets: tuple[Outcome, ...] = ()
    """Outcomes of the file on each of the targets that it was written for."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """Hashes of the files written, by their paths."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = dataclasses.replace(self, targets=())
        return {**Verified.as_dict(plain), "targets": [o.as_dict() for o in self.targets]}


def convert(
    symbol: Any,
    params: Any = None,
    *,
    inputs: Given | None = None,
    output: str | os.PathLike[str] | None = None,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    opset: int | str | None = None,
    outputs: str | Sequence[str] | None = None,
    verify: bool = True,
    also: Given | Sequence[Given] = (),
    expected: str | os.PathLike[str] | Recording | None = None,
    seed: int = 0,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    draws: Sequence[Kind] = KINDS,
    tolerance: Tolerance | tuple[float, float] | None = None,
    external_data: bool | None = None,
    rename: Mapping[str, str] | None = None,
    free: str | Sequence[str] | None = None,
    training: bool = False,
    keep_inputs: bool = False,
    batch: int | str | None = None,
    targets: str | Sequence[str] | None = None,
    preprocess: Preprocess | None = None,
    postprocess: Postprocess | None = None,
    forms: Forms = USUAL,
    repro: str | os.PathLike[str] | None = None,
    strict: bool = False,
    layers: bool = False,
    progress: Progress | None = None,
) -> ConvertResult:
    """Convert a symbol with parameters to ONNX and prove with onnxruntime that the numbers stayed.

    symbol: a path, prefix, Symbol or SymbolBlock.
    params: a path or dict; by default the newest ``PREFIX-NNNN.params``.
    inputs: an .npz, or a shape, array or Spec by name, for what the model does not tell by itself.
    output: the file to write; it appears only when the models are equivalent.
    dynamic: names of axes that may vary, ``{"data": {0: "batch"}}``; verified at two sizes.
    also: further inputs to verify with, in place of the second size that is otherwise made up. ranges: (low, high) of draws by
    name. draws: the kinds of them: "expected" by the network, "wide", and "edges" of what it takes.
    expected: recorded outputs (bridge.record, record_with_mxnet.py) that both the symbol and the file have to give too.
    opset: 7 to the newest that onnx defines, or "newest", the newest at which onnxruntime has all kernels; by default the oldest
        from 13 on that loses nothing for this network (docs/decisions/0029-opsets.md).
    outputs: cut the graph at these. tolerance: (atol, rtol) in place of the dtype's.
    external_data: weights beside the file (by itself past 2 GB). rename: other names for inputs and outputs in the file, by those
    that they have. free: parameters that become inputs, of the shapes that are stored.
    training: the network as MXNet trains it, with losses, labels as inputs, and moving statistics (converters/training.py); what is
    random in it is left out of what is verified. keep_inputs: inputs stay where nothing reads them, and labels that have a shape.
    forms: those of ONNX that the file is written in. batch: the size of the batch axis of every input, or "batch" to leave it open.
    preprocess: what the file does with pictures before the network gets them; inputs, also and ranges are those of the file then.
    postprocess: what it makes of scores.
    targets: where the file is deployed, such as "openvino" (bridge/targets): it has the opset and the forms that these take, and is
    run on those that are installed; nothing is written where one refuses it or gives other numbers.
    repro: a folder for a minimal reproduction when the models differ. strict: also refuse when an output agrees and says little.
    layers: measure every tensor inside also when they agree.
    seed: of the numbers that are drawn. progress: called with a text whenever something else begins.

    Raises BadInput, converters.UnsupportedModel (listing every node), NotEquivalent, EngineError (of targets TargetFailed),
    hybrid's FormatError.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> result.verified, result.files, result.operators
    (True, ('model.onnx',), {'Gemm': 1})
    """
    tell = listener(progress)
    clock = Clock()
    how = written_for(targets, opset, forms)
    target = Path(output) if output is not None else None
    proof = Proof(verify, also, expected, seed, ranges, draws, tolerance, repro, strict, layers)
    wanted = Wanted(inputs, free, dynamic or {}, batch, rename or {}, training, preprocess, postprocess)
    tell("reading the model")
    network = settled(opened(symbol, params, outputs, target, external_data), wanted, proof, how.forms, tell)
    clock.lap("read")
    tell("converting")
    made = as_onnx(network, how, opset, keep_inputs)
    tell("checking")
    check_model(made.saved)
    check_for_targets(how, made.saved, network.model, network.shaped)
    clock.lap("convert")
    outcomes: list[Outcome] = []

    def compared(written: list[Path]) -> VerifyResult:
        found = proved(network, made, written[0], tell)
        if how.profiles and found.verdict != "not equivalent":
            clock.lap("verify")
            outcomes.extend(
                run_on_targets(
                    how, written[0], made.verified, network.model, network.specs, network.arrays,
                    seed=seed, names=network.names, ranges=network.proof.ranges, files=network.files,
                    tolerance=as_tolerance(tolerance), tell=tell,
                )
            )  # fmt: skip
            clock.lap("targets")
        return found

    def seal(written: list[Path], found: VerifyResult | None) -> None:
        facts = provenance(network.model, made.saved.opset, seed, found, facts_of(outcomes))
        add_to_file(written[0], {**facts, **network.facts})

    result, files = None, []
    if target is not None or verify:
        name = target.name if target is not None else "model.onnx"
        files, result = publish(
            lambda folder: made.saved.save(folder / name, external=external_data),
            compared if verify else None,
            target,
            network.model.files(),
            strict=strict,
            warnings=network.warnings,
            tell=tell,
            clock=clock,
            seal=seal,
        )
    return _told(network, made, result, files, outcomes, clock)


def _told(
    network: Network,
    made: Made,
    result: VerifyResult | None,
    files: Sequence[Path],
    outcomes: Sequence[Outcome],
    clock: Clock,
) -> ConvertResult:
    """The result: what was written, and what it was verified with."""
    model, graph = network.model, made.saved.model.graph
    unused = model.extra_params()
    inputs = {i.name: describe(onnx_spec(i)) for i in made.verified.model.graph.input}
    return ConvertResult(
        model=model.name,
        files=tuple(map(str, files)),
        opset=made.saved.opset,
        inputs=inputs,
        outputs={o.name: describe(onnx_spec(o)) for o in graph.output},
        operators=dict(Counter(n.op_type for n in graph.node).most_common()),
        parameters=sum(a.size for n, a in model.params.items() if n not in unused),
        bytes=sum(Path(f).stat().st_size for f in files) or made.verified.nbytes,
        verified=result is not None,
        verification=result,
        pruned=tuple(n for n in model.variables() if network.names.get(n, n) not in inputs),
        unused=tuple(unused),
        warnings=tuple(dict.fromkeys((*network.warnings, *(() if result is None else result.warnings)))),
        seconds=clock.laps,
        left_out=dict(model.left_out),
        read=model.read,
        targets=tuple(outcomes),
        sha256={f.path: f.sha256 for f in identify(files)},
    )
