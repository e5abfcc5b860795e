"""Recorded truth: inputs of a model and the outputs that somebody computed from them, in one .npz.

Members are ``0/inputs/NAME`` and ``0/outputs/NAME``, ``1/...`` for the next run (``inputs/NAME`` and ``outputs/NAME`` do for one
run, and names alone where the model knows them), and ``gluonnx``, a JSON text that says who
recorded them, when and from which files. record_with_mxnet.py writes the same with MXNet itself, which is then the one that says
what is right: what our engine and our converter both misread shows beside it, and nowhere else."""

from __future__ import annotations

import ast
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import onnxruntime

from hybrid.formats.files import replacing

from .answers import first_that_runs
from .cases import Cases, further_cases
from .draws import KINDS, Kind, Seen
from .engines import Arrays, Engine, engine_for
from .inputs import (
    FACTS,
    MEMBER,
    Feeds,
    Inputs,
    as_specs,
    is_recording,
    load_arrays,
    load_feeds,
    recorded_runs,
    save_arrays,
    sources_of,
)
from .job import check_target
from .models import BadInput, Model, described, names_to_fill, open_model
from .paths import files_of
from .printable import printable
from .result import Case
from .run import run
from .scripts.plain_draws import MADE_UP

FORMAT = 1
SCRIPTS = Path(__file__).parent / "scripts"
LONGEST_FACTS = 1 << 22  # bytes


class RecordedRun(NamedTuple):
    """One run: what went in and what came out, by name."""

    inputs: Arrays
    outputs: Arrays


@dataclass(frozen=True)
class Recording:
    """Runs of a model that somebody recorded.

    Examples
    --------
    >>> import gluonnx
    >>> import numpy as np
    >>> recording = gluonnx.record("model", {"data": np.float32([[1, 2, 3]])})
    >>> recording.by_mxnet, len(recording.runs)
    (False, 1)
    >>> recording.save("expected.npz")
    >>> recording.by.split()[0], recording.label.startswith("a recording (gluonnx")
    ('gluonnx', True)
    >>> recording.kinds, recording.drawn, len(recording.asked)
    (('given',), False, 1)
    >>> recording.as_dict()["runs"][0]["outputs"]
    {'top_fwd_output': {'shape': [1, 2], 'dtype': 'float32'}}
    """

    runs: tuple[RecordedRun, ...]
    """Inputs and outputs of each run, by name."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """``by`` (who recorded: a runtime and its version), ``date``, ``model``, ``files`` (sha256 by name), ..."""
    path: Path | None = None
    """The file; None for one in memory."""
    sides: tuple[str, ...] = ("first", "second")
    """Sides of a comparison of two models that are held to it too; one is left out where it is held to it by itself."""

    @property
    def by(self) -> str:
        """Name of the one who is right here."""
        return str(self.facts.get("by") or "not said by whom")

    @property
    def label(self) -> str:
        """Its name in reports."""
        return f"{self.path.name if self.path else 'a recording'} ({self.by})"

    @property
    def by_mxnet(self) -> bool:
        """True where MXNet itself computed the outputs."""
        return self.by.startswith("MXNet")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The way in which each run's inputs were drawn ("expected", "wide", "edges"), "given" where none was; a recording that
        does not say it has "given" throughout."""
        said = self.facts.get("kinds")
        if isinstance(said, list | tuple) and len(said) == len(self.runs):
            return tuple(map(str, said))
        return ("given",) * len(self.runs)

    @property
    def drawn(self) -> bool:
        """True where all inputs were drawn, so that they can be drawn again."""
        return "given" not in self.kinds

    @property
    def asked(self) -> tuple[RecordedRun, ...]:
        """The runs that somebody asked for, without the draws that were made up besides."""
        return tuple(r for r, kind in zip(self.runs, self.kinds) if kind not in MADE_UP)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the .npz to a path."""
        arrays: dict[str, np.ndarray] = {}
        for number, each in enumerate(self.runs):
            for kind, named in zip(RecordedRun._fields, each):
                arrays |= {f"{number}/{kind}/{name}": array for name, array in named.items()}
        arrays[FACTS] = np.array(json.dumps(dict(self.facts), default=str))
        with replacing(path) as file:
            save_arrays(file, arrays)

    def as_dict(self) -> dict[str, Any]:
        """Contents without the numbers."""
        return {
            "model": str(self.facts.get("model") or ""),
            "file": self.path and str(self.path),
            "runs": [{kind: described(named) for kind, named in zip(RecordedRun._fields, each)} for each in self.runs],
            "by": self.by,
            "facts": dict(self.facts),  # by themselves: date and machine are those of the recording
        }


def load_recording(path: str | os.PathLike[str] | Recording) -> Recording:
    """The recording in an .npz. A file of other names is one of outputs alone, of one run, whose inputs somebody else has.

    Raises BadInput for what is neither.
    path: the .npz.

    Examples
    --------
    >>> import gluonnx
    >>> import numpy as np
    >>> _ = gluonnx.record("model", {"data": np.float32([[1, 2, 3]])}, "expected.npz")
    >>> gluonnx.load_recording("expected.npz").by_mxnet
    False
    """
    if isinstance(path, Recording):
        return path
    path = Path(path)
    if path.suffix == ".npy":
        raise BadInput(
            f"{path}: one array without a name, wanted an .npz of recorded outputs (gluonnx record writes it)"
        )
    arrays = load_arrays(path, ["the recorded outputs"], [FACTS])
    found = recorded_runs(arrays)
    if not found:
        if not arrays:
            raise BadInput(f"{path}: holds no outputs, wanted 0/outputs/NAME, as gluonnx record writes them")
        return Recording((RecordedRun({}, arrays),), _facts(path), path)
    strange = [name for name in arrays if MEMBER.fullmatch(name) is None]
    if sum(len(held) for kinds in found.values() for held in kinds.values()) < len(arrays) - len(strange):
        raise BadInput(
            f"{path}: got arrays of one run both with its number and without, wanted one way; record it again"
        )
    if strange:
        raise BadInput(
            f"{path}: got {', '.join(map(printable, strange[:5]))} beside recorded runs, wanted members like 0/inputs/data and "
            "0/outputs/softmax_output alone; record it again (gluonnx record, record_with_mxnet.py)"
        )
    runs = {n: RecordedRun(kinds.get("inputs", {}), kinds.get("outputs", {})) for n, kinds in found.items()}
    if sorted(runs) != list(range(len(runs))):
        raise BadInput(
            f"{path}: got runs {', '.join(map(str, sorted(runs)))}, wanted 0, 1, ... without gaps; record it again"
        )
    lacking = [f"run {n}" for n, each in sorted(runs.items()) if not each.outputs]
    if lacking:
        raise BadInput(f"{path}: {', '.join(lacking)} without outputs, wanted some for each; record it again")
    return Recording(tuple(runs[n] for n in sorted(runs)), _facts(path), path)


def _facts(path: Path) -> dict[str, Any]:
    """Facts that the file says of itself; nothing where it says nothing. Raises BadInput."""
    with zipfile.ZipFile(path) as archive:
        if f"{FACTS}.npy" not in archive.namelist():
            return {}
        entry = archive.getinfo(f"{FACTS}.npy")
        try:
            if entry.file_size > LONGEST_FACTS:
                raise ValueError(f"{entry.file_size} bytes")
            with archive.open(entry) as member:
                found = json.loads(str(np.lib.format.read_array(member, allow_pickle=False)))
            if not isinstance(found, dict):
                raise ValueError(f"a {type(found).__name__}")
        except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
            raise BadInput(f"{path}: member {FACTS!r} is no JSON object ({error}); record it again") from None
    if not isinstance(found.get("format", FORMAT), int) or found.get("format", FORMAT) > FORMAT:
        raise BadInput(
            f"{path}: a recording of format {found['format']}, wanted {FORMAT} or older; install a newer gluonnx"
        )
    return found


def script_for_mxnet() -> str:
    """The program for the machine that has MXNet, in one file: with the draws, which are those of this package."""
    script, draws = (SCRIPTS / f"{name}.py" for name in ("record_with_mxnet", "plain_draws"))
    text = draws.read_text(encoding="utf-8")
    own = text.split("\n", ast.parse(text).body[1].lineno - 1)[-1]  # without its docstring
    return re.sub(
        r"^from plain_draws import .*\n", lambda _: own, script.read_text(encoding="utf-8"), flags=re.MULTILINE
    )


def hashes(files: Iterable[Path]) -> dict[str, str]:
    """sha256 of files by their names."""
    found = {}
    for path in files:
        with open(path, "rb") as file:
            digest = hashlib.sha256()
            while piece := file.read(1 << 20):
                digest.update(piece)
        found[path.name] = digest.hexdigest()
    return found


def own_version() -> str:
    """The version of this package."""
    try:
        return importlib.metadata.version("gluonnx")
    except importlib.metadata.PackageNotFoundError:
        return "from a checkout"


def feeds_of(given: Any, model: Model) -> list[dict[str, Any]]:
    """Sets of inputs: arrays, shapes or Specs by name, or from files: .npz, .npy, a recording (its inputs), a folder of such.

    given: one of these, a list of them, or None for one set that is to be drawn. Raises BadInput."""
    if given is None:
        return [{}]
    if isinstance(given, Recording):
        return [dict(each.inputs) for each in given.runs]
    if isinstance(given, Mapping):
        return [Feeds(given, sources_of(given))]
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        if path.is_dir():
            files = [p for p in files_of(path) if p.suffix in (".npz", ".npy")]
            if not files:
                raise BadInput(f"{path}: a folder without .npz or .npy files, wanted one set of inputs a file")
            return [each for file in files for each in feeds_of(file, model)]
        if is_recording(path):
            return feeds_of(load_recording(path), model)
        return [load_feeds(path, names_to_fill(model))]
    if isinstance(given, Sequence):
        return [each for one in given for each in feeds_of(one, model)]
    raise BadInput(f"inputs: got {type(given).__name__}, wanted arrays by name, a file, or a list of these")


def record(
    model: Any,
    inputs: Inputs | str | os.PathLike[str] | Sequence[Any] | Recording | None = None,
    output: str | os.PathLike[str] | None = None,
    *,
    params: Any = None,
    engine: Literal["native", "onnxruntime"] | None = None,
    outputs: str | Sequence[str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    seed: int = 0,
    runs: int = 1,
    draws: Sequence[Kind] = KINDS,
) -> Recording:
    """Run a model and keep what went in and what came out, for ``verify(..., expected=)`` to hold later models against.

    What is drawn is drawn in the ways that a verification draws: as the network expects its inputs, wider, and at the edges, so
    that bounds inside (the 6 of a relu6) are reached.

    model: what open_model takes. inputs: arrays or shapes by name, an .npz, a folder of them, an earlier recording (of which the
    inputs are taken), or a list of these, a run each; what is not given is drawn. output: the .npz to write. engine, outputs: as
    run takes them. ranges: (low, high) of what is drawn, by name. runs: how many sets are drawn, where all is. draws: the kinds
    of draws, "expected" (which there is always), "wide" and "edges".
    Raises BadInput, EngineError or hybrid's errors.
    seed: of the numbers that are drawn.

    Examples
    --------
    >>> import gluonnx
    >>> import numpy as np
    >>> recording = gluonnx.record("model", {"data": np.float32([[1, 2, 3]])}, "expected.npz")
    >>> len(recording.runs)
    1
    """
    opened = open_model(model, params)
    read = [Path(inputs)] if isinstance(inputs, str | os.PathLike) else []
    if output is not None:
        check_target(Path(output), *opened.files(), *(p for p in read if not is_recording(p)))
    sets = feeds_of(inputs, opened)
    if runs > 1 and len(sets) == 1 and not as_specs(sets[0])[1]:
        sets = sets * runs
    own = engine_for(opened.inferring(dict.fromkeys(n for each in sets for n in each)), sets[0])

    def fed(case: Case) -> Arrays:
        return {n: a for n, a in case.feeds.items() if n in own.inputs}

    def ran(case: Case) -> Arrays:
        return dict(run(opened, fed(case), engine=engine, outputs=outputs))

    recorded, kinds = [], []
    found: dict[Any, tuple[Cases, int, dict[str, Seen]]] = {}
    for number, given in enumerate(sets):
        specs, arrays = as_specs(given)
        cases = Cases(own, own, specs, arrays, ranges=ranges, files=sources_of(given))
        key = number if arrays else tuple((n, s.shape) for n, s in sorted(specs.items()))
        seen = found.setdefault(key, (cases, seed + number, {}))[2] if cases.drawn else {}
        case = cases.case(seed + number, seen=seen)
        recorded.append(RecordedRun(fed(case), ran(case)))
        kinds.append(case.kind)
    for cases, first, seen in found.values():  # of several sets of the same sizes once
        for each in further_cases(cases, first, seen, draws):
            answer, _ = first_that_runs(own.label, each, ran, recorded[first - seed].outputs)
            if answer is not None:
                recorded.append(RecordedRun(fed(answer[0]), answer[1]))
                kinds.append(each.kind)
    facts = _own_facts(opened, own, engine, seed)
    facts |= {"kinds": kinds, "ranges": {n: list(map(float, ends)) for n, ends in (ranges or {}).items()}}
    kept = Recording(tuple(recorded), facts, None if output is None else Path(output))
    if output is not None:
        kept.save(output)
    return kept


def _own_facts(model: Model, own: Engine, engine: str | None, seed: int) -> dict[str, Any]:
    """Facts of a recording of ours."""
    native = engine == "native" or (engine is None and not model.is_onnx)
    return {
        "format": FORMAT,
        "by": f"gluonnx {own_version()}" if native else f"onnxruntime {onnxruntime.__version__}",
        "script": "gluonnx record",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "model": model.name,
        "files": hashes(model.files()),
        "seed": seed,
        "gluonnx": own_version(),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def with_facts(recording: Recording, **facts: Any) -> Recording:
    """The recording, saying these too."""
    return replace(recording, facts={**recording.facts, **facts})
