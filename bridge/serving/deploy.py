"""A model becomes the files that something serves it from: converted and verified first, then laid out, then put in place."""

from __future__ import annotations

import functools
import inspect
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from dataclasses import replace as replaced
from pathlib import Path, PurePosixPath
from typing import Any

import onnx

from converters.reader import data_files
from hybrid.formats.files import move, open_file, replacing, scratch, write

from ..convert import ConvertResult, convert
from ..engines import OnnxEngine
from ..faces.notebook import listener
from ..job import check_target
from ..models import Model, describe, onnx_spec, open_model, specs_of_onnx
from ..paths import BadInput, listed
from ..pipeline.labels import as_metadata, doubles, labels_of
from ..pipeline.postprocess import Postprocess
from ..pipeline.preprocess import taken_by, takes_pixels
from ..precision.job import convert_in
from ..precision.wishes import Precision
from ..provenance import add_to_file, read_facts
from ..result import Progress, identify
from . import archives, programs, triton
from .package import Kind, Layout, Package, check_name, safe_name
from .packing import tarred, zipped

MODEL = "model.onnx"
TARGETS: dict[str, Kind] = {
    "triton": Kind(triton.layout, "a model repository of NVIDIA's Triton: NAME/config.pbtxt, NAME/VERSION/model.onnx"),
    "sagemaker": Kind(archives.sagemaker, "model.tar.gz of SageMaker, or what it holds", (".tar.gz", ".tgz")),
    "mms": Kind(archives.multi_model_server, ".mar of multi-model-server, or what it holds", (".mar",)),
    "python": Kind(programs.python, "a program in Python that runs the model"),
    "cpp": Kind(programs.cpp, "a program in C++ that runs the model"),
}
"""Targets by their names."""
FILE = re.compile(r"(.+?)((?:\.tar)?\.(?:gz|bz2|xz)|\.tgz|\.tar|\.zip|\.mar|\.onnx|\.py|\.cpp)", re.IGNORECASE)
"""Names that one means a file by."""


@dataclass(frozen=True)
class DeployResult:
    """The result of deploy.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.deploy("model", "triton", "repository", inputs={"data": (1, 3)})
    >>> result.to, result.name
    ('triton', 'model')
    >>> result.as_dict()["to"]
    'triton'
    """

    model: str
    """Its name."""
    to: str
    """The target, such as triton."""
    name: str
    """The model's name there."""
    place: str
    """The folder or archive written."""
    files: tuple[str, ...]
    """Those written, and of an archive that alone."""
    inputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name, as far as they are known."""
    outputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name, as far as they are known."""
    classes: tuple[str, ...]
    """Names of the classes."""
    verdict: str
    """As the model was verified: "equivalent", "says little", or "not verified"."""
    start: str
    """The command that uses the files."""
    warnings: tuple[str, ...]
    """Remarks on the model, and of the target."""
    read: tuple[str, ...] = ()
    """Files that the model was read from."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """Hashes of the files written, by their paths."""
    conversion: ConvertResult | None = field(default=None, repr=False)
    """The conversion, with its verification; None of an ONNX model, which is deployed as it is."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        out = asdict(replaced(self, conversion=None))
        del out["conversion"]
        found = None if self.conversion is None else self.conversion.verification
        return {**out, "verification": None if found is None else found.as_dict()}


def deploy(
    model: Any,
    to: str,
    place: str | os.PathLike[str],
    *,
    params: Any = None,
    name: str | None = None,
    labels: Sequence[str] = (),
    max_batch: int | None = None,
    replace: bool = False,
    precision: Precision | None = None,
    progress: Progress | None = None,
    **conversion: Any,
) -> DeployResult:
    """Lay a model out for what serves it.

    model: what convert takes, which is converted and verified first; or an ONNX model, which has to open in onnxruntime.
    to: one of TARGETS. place: the folder for the files, or the archive's name. name: that of the model there; by default its own.
    labels: names of classes, for an ONNX model that carries none. max_batch: the largest batch that Triton may make of requests, by
    default 8; refused where the batch axis is not open (batch="batch"). replace: put new files in the place of those that are
    there. precision: another than the network's own, as convert_in takes it. conversion: the rest of what convert takes.

    Nothing appears before all is ready. Raises BadInput, and what convert raises.
    progress: called with a text whenever something else begins.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.deploy("model", "triton", "repository", inputs={"data": (1, 3)})
    >>> [str(file) for file in result.files]
    ['repository/model/config.pbtxt', 'repository/model/1/model.onnx']
    """
    tell = listener(progress)
    if to not in TARGETS:
        raise BadInput(f"got {to!r}, wanted one of {', '.join(TARGETS)}")
    if max_batch is not None and max_batch < 1:
        raise BadInput(f"max batch: got {max_batch}, wanted 1 or more")
    kind, target = TARGETS[to], Path(place)
    archive = target.name.endswith(kind.archive) if kind.archive else False
    folder = target.parent if archive else target
    if not archive and not target.exists():
        _check_name(to, kind, target)
    _check_place(target, folder, archive)
    if to != "triton" and not archive and (others := triton.models_in(target)):
        raise BadInput(
            f"{target}: a repository of Triton's, with {listed(others)}, which would take what --to {to} writes for models of its "
            f"own; give another folder"
        )
    opened = open_model(model, params, foreign=True)
    if max_batch is not None:
        _check_batch(to, max_batch, opened, conversion)
    own = check_name(name) if name is not None else safe_name(opened.name)
    names = tuple(labels) or (labels_of(opened.proto) if opened.proto is not None else ())
    if to == "triton":
        triton.check_before(target / own, names, max_batch)
    elif (
        not replace
    ):  # of the others all names are known; weights beside the model are looked at again when they are there
        made_of = (
            {target.name: b""} if archive else kind.make(Package(own, {MODEL: Path()}, {}, {}, names), target).files
        )
        _refuse_there([folder / PurePosixPath(n) for n in made_of])
    with scratch(folder if folder.is_dir() else folder.parent) as work:
        warnings, verdict, made_of = _ready(opened, work / MODEL, tuple(labels), precision, conversion, tell)
        made = open_model(work / MODEL)
        assert made.proto is not None
        package = Package(
            own,
            {p.relative_to(work).as_posix(): p for p in (work / MODEL, *data_files(made.proto, work))},
            specs_of_onnx(made.proto),
            {o.name: onnx_spec(o) for o in made.proto.graph.output},
            labels_of(made.proto),
            _chosen(made.proto),
            max_batch,
            not opened.is_onnx,
            said["input"] if takes_pixels(said := taken_by(made.proto)) else None,
            _sizes_beside(opened, conversion),
        )
        if to != "triton" and package.beside and "the batch of the training" in (exactly := package.fixed_batch()):
            warnings.append(f"{exactly}; {package.how_to_open}")
        tell("laying out")
        layout = kind.make(package, target)
        if archive:
            packed = work / f"packed{''.join(PurePosixPath(target.name).suffixes[-2:])}"
            with replacing(packed) as file:
                (zipped if target.suffix == ".mar" else tarred)(file, layout.files)
            layout = Layout({target.name: packed}, layout.start, notes=layout.notes)
        files = _publish(layout, folder, work, opened.files(), replace)
    return DeployResult(
        model=opened.name,
        to=to,
        name=own,
        place=str(target),
        files=tuple(map(str, files)),
        inputs={n: describe(s) for n, s in package.inputs.items()},
        outputs={n: describe(s) for n, s in package.outputs.items()},
        classes=tuple(package.labels),
        verdict=verdict,
        start=layout.start,
        warnings=tuple(dict.fromkeys((*warnings, *layout.notes))),
        read=opened.read,
        sha256={f.path: f.sha256 for f in identify(files)},
        conversion=made_of,
    )


def _check_batch(to: str, max_batch: int, opened: Model, conversion: Mapping[str, Any]) -> None:
    """Raise BadInput, before the work, for a largest batch that nothing can come of. Whether the batch axis of what is made is
    open its layout says."""
    if to != "triton":
        raise BadInput(f"--max-batch {max_batch}: the batches that Triton makes of requests; --to {to} makes none")
    asked = ("dynamic", "batch", "preprocess", "free")
    if not opened.is_onnx and not any(conversion.get(name) for name in asked):
        raise BadInput(
            f"--max-batch {max_batch}: Triton makes batches of requests where the batch axis is open, and nothing leaves it open "
            "here; add --dynamic batch"
        )


def _sizes_beside(opened: Model, conversion: Mapping[str, Any]) -> frozenset[str]:
    """Inputs whose sizes files beside the symbol tell, and nobody else did."""
    given = conversion.get("inputs") or {}
    names = opened.sizes if isinstance(given, Mapping) and conversion.get("batch") is None else ()
    return frozenset(n for n in names if n not in given)


def _check_name(to: str, kind: Kind, target: Path) -> None:
    """Raise BadInput for a name of a file where a folder would be made."""
    named = FILE.fullmatch(target.name)
    if named is None:
        return
    others = [f"--to {n} writes one" for n, k in TARGETS.items() if k.archive and target.name.endswith(k.archive)]
    what = " or ".join(["a folder", *(f"NAME{end}" for end in kind.archive)])
    said = f"{target}: --to {to} writes {what}, and no {named[2]} file; give a folder, such as {target.with_name(named[1])}"
    raise BadInput("; ".join([said, *others]))


def _check_place(target: Path, folder: Path, archive: bool) -> None:
    """Raise BadInput where nothing can be put."""
    if archive:
        check_target(target)
        return
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: a file, wanted a folder to write to")
    inside = folder if folder.is_dir() else folder.parent
    if not inside.is_dir():
        raise BadInput(f"{folder}: there is no folder {inside} to make it in")
    if not os.access(inside, os.W_OK):
        raise BadInput(f"{inside}: nothing may be written to this folder")


def _chosen(proto: onnx.ModelProto) -> frozenset[str]:
    """Outputs that are the best of something, or their places."""
    makers = {o: node for node in proto.graph.node for o in node.output}
    stored = {i.name for i in proto.graph.initializer}
    found = set()
    for output in proto.graph.output:
        node = makers.get(output.name)
        while node is not None and node.op_type not in ("TopK", "ArgMax", "ArgMin"):
            inputs = [i for i in node.input if i and i not in stored]
            node = makers.get(inputs[0]) if len(inputs) == 1 else None
        if node is not None:
            found.add(output.name)
    return frozenset(found)


def _ready(
    opened: Model,
    path: Path,
    labels: tuple[str, ...],
    precision: Precision | None,
    conversion: Mapping[str, Any],
    tell: Progress,
) -> tuple[list[str], str, ConvertResult | None]:
    """Put the model at a path, with its weights; gives remarks, how it was verified, and the conversion where there was one."""
    if not opened.is_onnx:
        options = dict(conversion)
        if labels:
            wanted = options.get("postprocess") or Postprocess()
            options["postprocess"] = Postprocess(**{**asdict(wanted), "labels": labels})
        convert_to = convert if precision is None else functools.partial(convert_in, precision)
        result = convert_to(opened, output=path, progress=tell, **options)
        verdict = "not verified" if result.verification is None else result.verification.verdict
        accuracy = getattr(result, "accuracy", None)  # of a file in another precision
        return [*result.warnings, *(() if accuracy is None else accuracy.notes)], verdict, result
    usual = {n: p.default for n, p in inspect.signature(convert).parameters.items()}
    told = {**conversion, "precision": precision}
    if told.get("postprocess") == Postprocess(labels=labels):  # names alone, which any file can carry
        del told["postprocess"]
    given = [n for n, v in told.items() if n not in ("seed", "verify", "layers") and not _is_usual(v, usual.get(n))]
    if given:
        raise BadInput(
            f"{opened.name} is an ONNX model, which is deployed as it is: {listed(given)} belong to the conversion of an MXNet "
            "symbol; give the symbol"
        )
    if opened.path is None:
        raise BadInput(f"{opened.name}: wanted the path of an ONNX file")
    tell("opening the model in onnxruntime")
    OnnxEngine(opened).open()
    assert opened.proto is not None
    _copy(opened.path, path)
    for source in data_files(opened.proto, opened.path.parent):
        place = path.parent / source.relative_to(opened.path.parent)
        if ".." in place.parts or not place.resolve().is_relative_to(path.parent.resolve()):
            raise BadInput(f"{opened.place}: its weights are in {source}, outside of its folder; wanted them beside it")
        place.parent.mkdir(parents=True, exist_ok=True)
        _copy(source, place)
    if labels and labels != labels_of(opened.proto):
        if labels_of(opened.proto):
            raise BadInput(
                f"{opened.place} carries {len(labels_of(opened.proto))} names of classes already, and others are given"
            )
        add_to_file(path, as_metadata(labels))
    verdict = read_facts(opened.proto).get("verdict", "not verified")
    note = "opens in onnxruntime; that it gives the numbers of another model was not verified (gluonnx verify)"
    return [*([] if verdict == "equivalent" else [note]), *doubles(labels)], verdict, None


def _is_usual(value: Any, default: Any) -> bool:
    """True where an option says nothing that its default does not say."""
    return value is None or (isinstance(value, Sized) and not len(value)) or value is default or value == default


def _copy(source: Path, place: Path) -> None:
    with open_file(source) as content, replacing(place) as file:
        shutil.copyfileobj(content, file, 1 << 20)


def _publish(layout: Layout, folder: Path, work: Path, reads: Sequence[Path], replace: bool) -> list[Path]:
    """Move the files to their places; gives them. On an error none is there that was not before."""
    places = {n: folder / PurePosixPath(n) for n in layout.files if not (n in layout.kept and (folder / n).exists())}
    if not replace:
        _refuse_there(places.values())
    new = _folders(folder, places.values())
    try:
        for path in new:
            path.mkdir()
        pairs = []
        for number, (name, place) in enumerate(places.items()):
            check_target(place, *reads)
            content = layout.files[name]
            if isinstance(content, bytes):
                source = work / f"{number}.part"
                write(source, content)
            else:
                source = content
            pairs.append((source, place))
        move(*pairs)
    except BaseException:
        for path in reversed(new):
            with suppress(OSError):
                path.rmdir()
        raise
    return list(places.values())


def _refuse_there(places: Iterable[Path]) -> None:
    """Raise BadInput for files that are there already."""
    there = [str(p) for p in places if os.path.lexists(p)]
    if there:
        raise BadInput(f"{listed(there)}: there already; choose another place, or add --replace")


def _folders(top: Path, places: Any) -> list[Path]:
    """Folders that have to be made, outer ones first."""
    found: dict[Path, None] = {}
    for place in places:
        inner = [p for p in (place.parent, *place.parent.parents) if p == top or p.is_relative_to(top)]
        found |= dict.fromkeys(p for p in reversed(inner) if not p.exists())
    return sorted(found, key=lambda p: len(p.parts))
