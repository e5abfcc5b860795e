"""Compiles a model into a file beside it, from which the next process starts without reading, rewriting or packing anything."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.core.error import FormatError, InternalError, MXNetError
from hybrid.execution.saved import NotAlone, SavedProgram, save
from hybrid.formats.compiled import Mapped, Writer, checksum

from .paths import BadInput, SizesWanted, file_of, name_of, newest_params

if TYPE_CHECKING:
    from hybrid.core.op import Spec

    from .engines import NativeEngine
    from .inputs import Given
    from .models import Model

END = ".gluonnx"
"""End of the name of a compiled file."""
CODE = (Path(__file__).parent, Path(__file__).parent.with_name("converters"))
"""Folders of code that decides, with the engine's, what a model computes."""
SETTLED = 2_000_000_000
"""Nanoseconds after which a file system's clock has moved on: what is written later has another time."""


@dataclass(frozen=True)
class CompileResult:
    """The result of compile.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.compile("model", inputs={"data": (1, 3)}, output="model.compiled")
    >>> result.bytes > 0, result.as_dict()["outputs"]
    (True, {'top_fwd_output': {'shape': [1, 2], 'dtype': 'float32'}})
    """

    model: str
    """Its name."""
    file: str
    """The path written."""
    inputs: dict[str, dict[str, Any]]
    """Sizes and dtypes that it was compiled for."""
    outputs: dict[str, dict[str, Any]]
    """Sizes and dtypes of what it gives."""
    level: str
    """The CPU level of the kernels."""
    steps: int
    """Number of steps."""
    packed: int
    """Steps whose weights lie in the file as their kernels read them."""
    bytes: int
    """Size of the file."""
    seconds: float
    """Seconds that it took."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def compile(
    model: str | os.PathLike[str],
    *,
    inputs: Given | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    params: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> CompileResult:
    """Write what a second start of a model needs: its steps for these sizes, and its weights as kernels read them.

    model: a path; params: another than the newest file of parameters. inputs: a shape, array or Spec by name, where the
    model leaves sizes open. Outputs that only training needs are left out, unless their labels are among these. output: by default
    ``MODEL.gluonnx``. The file appears only when it gives the same bits as the model on seeded inputs; it is for this version of
    gluonnx and this CPU, and ``CompiledModel`` notices when it is not.
    Raises BadInput, or MXNetError naming the steps that cannot be saved.
    seed: of the numbers that are drawn. ranges: (low, high) of them, by name.

    Raises SizesWanted, a BadInput, where inputs have open sizes, InternalError where two compilations differ.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.compile("model", inputs={"data": (1, 3)}, output="model.compiled")
    >>> list(result.outputs)
    ['top_fwd_output']
    """
    from converters.names import unique
    from hybrid.core.op import Domain, Spec
    from hybrid.formats.files import move, scratch
    from hybrid.ir.graph import Entry
    from hybrid.ir.strict import picks

    from .domains import numbers_taken
    from .draws import draw
    from .engines import NativeEngine
    from .inputs import as_specs, loaded, sources_of
    from .job import check_target
    from .models import describe, described, hold_dtypes, open_model, specs_of_onnx
    from .openings import as_example, batches_of, filled, labels_of
    from .settle import example

    start = time.perf_counter()
    opened = open_model(os.fspath(model), params)
    assert opened.place is not None
    target = compiled_file(opened.place) if output is None else Path(output)
    check_target(target, *opened.files())
    files = [_seen(path, opened.place.parent) for path in opened.files()]
    given = loaded(inputs, opened)
    specs, arrays = as_specs(given)
    opened = opened.inferring(specs)
    arrays = hold_dtypes(opened, arrays, sources_of(given))
    specs |= {n: Spec(a.shape, a.dtype) for n, a in arrays.items()}
    native = NativeEngine(opened.native, {**specs, **arrays})
    labels = _labels(native)
    declared = specs_of_onnx(opened.proto) if opened.proto is not None else _said(opened, specs, native.inputs)
    wanted: dict[str, Any] = {n: s for n, s in declared.items() if n in native.inputs and n not in labels}
    if unknown := [n for n in (*specs, *(ranges or {})) if n not in declared]:
        raise BadInput(*(f"got input {n!r}, wanted some of {', '.join(wanted) or 'none'}" for n in unknown))
    wanted = {n: specs.get(n) or s for n, s in wanted.items()}
    for name, spec in wanted.items():
        if spec is not None and spec.dtype is None and (own := declared[name]) is not None:
            wanted[name] = spec._replace(dtype=own.dtype)
    if lacking := [
        n for n, s in wanted.items() if s is None or s.shape is None or any(type(d) is not int for d in s.shape)
    ]:
        shapes = {n: wanted[n].shape if wanted[n] else None for n in lacking}
        if opened.graph is not None:
            raise SizesWanted({n: example(opened, n, specs=specs) for n in lacking})
        known = {n: s for n, s in declared.items() if s is not None}
        sizes, leading = labels_of(known, specs), batches_of(known)
        raise SizesWanted({n: as_example(filled(Spec(s), sizes).shape, leading) for n, s in shapes.items()})
    inferred = opened.native.infer(wanted)
    for variable in inferred.graph.variables():  # what a symbol says of its inputs itself
        name, spec = variable.name, wanted.get(variable.name)
        if spec is not None and spec.dtype is None:
            wanted[name] = spec._replace(dtype=inferred.spec(Entry(variable)).dtype)
    known = numbers_taken(inferred, opened.native.params)
    asked = {n: Domain(*ends) for n, ends in (ranges or {}).items()}
    feeds = {**draw({n: s for n, s in wanted.items() if n not in arrays}, known, seed, asked=asked), **arrays}
    complete = native.complete(feeds)
    normal = native.program.run(complete)
    ordered = [complete[n] if n in complete else native.program.constants[n] for n in native.program.names]
    bound = native.program.prepare(tuple(x for a in ordered for x in (a.shape, a.dtype))).bound
    writer = Writer()
    description = save(bound, ordered, native.inputs, unique(native.outputs), writer, CODE)
    description |= {"files": files, "declared": [*declared], "labels": sorted(labels), "symbol": not opened.is_onnx}
    arrays_of = dict(zip(native.program.names, ordered))
    looked = [(p.positions, arrays_of[p.table].shape[p.axis]) for p in picks(native.program.graph)]
    description["looked"] = [[n, size] for n, size in looked if n in native.inputs]
    with scratch(target.parent) as folder:
        made = folder / target.name
        size = writer.write(made, description)
        found = SavedProgram(Mapped(made), CODE).run([complete[n] for n in native.inputs])
        if not all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(found, normal, strict=True)):
            raise InternalError(
                f"{opened.name}: the compiled file gives other numbers; please report it with the model"
            )
        move((made, target))
    return CompileResult(
        opened.name,
        str(target),
        {n: describe(Spec(complete[n].shape, complete[n].dtype)) for n in wanted},
        described({n: array for (n, _, _), array in zip(description["gives"], found, strict=True)}),
        description["build"]["level"],
        len(description["steps"]),
        sum(map(bool, description["packed"])),
        size,
        round(time.perf_counter() - start, 4),
    )


class CompiledModel:
    """A model that starts from the file that `compile` wrote for it.

    model: a path; params: as compile takes it. compiled: the file, by default the one beside the model. It is used where it
    is whole, was compiled by this version of gluonnx for this CPU, and from the files that are there now: where not, one that
    was named raises FormatError, and in the place of the one beside the model the model itself is read, with a warning in
    the log. Inputs of other sizes than it was compiled for are run by the model itself too.

    Examples
    --------
    >>> import gluonnx
    >>> import numpy as np
    >>> _ = gluonnx.compile("model", inputs={"data": (1, 3)}, output="model.compiled")
    >>> model = gluonnx.CompiledModel("model", compiled="model.compiled")
    >>> model.run({"data": np.float32([[1, 2, 3]])})
    {'top_fwd_output': array([[14.,  6.]], dtype=float32)}
    >>> model.model.kind, sorted(model.native.inputs)
    ('symbol', ['data'])
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        params: str | os.PathLike[str] | None = None,
        *,
        compiled: str | os.PathLike[str] | None = None,
    ):
        self.path = file_of(Path(model))
        self.params = params
        self.program: SavedProgram | None = None
        """The program of the file; None where it is not used."""
        file = compiled_file(self.path) if compiled is None else Path(compiled)
        try:
            self.program = self._load(file)
        except (MXNetError, OSError) as error:
            if compiled is not None:
                raise
            import logging

            logging.getLogger("bridge.compiling").warning("%s; the model itself is read", error)

    def _load(self, file: Path) -> SavedProgram:
        mapped = Mapped(file)
        try:
            files, self._declared = mapped.description["files"], frozenset(mapped.description["declared"])
            self._labels = frozenset(mapped.description["labels"])
            self._looked = [(str(n), int(size)) for n, size in mapped.description["looked"]]
            paths = self._files([name for name, *_ in files], bool(mapped.description["symbol"]))
            same = len(paths) == len(files) and all(map(_is_same, paths, files))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{file}: it does not say of which model it is") from error
        if not same:
            raise FormatError(
                f"{file}: it was compiled from other files than {', '.join(map(str, paths))}; compile it anew"
            )
        return SavedProgram(mapped, CODE)

    def _files(self, names: Sequence[str], symbol: bool) -> list[Path]:
        """The files of the model as they are found now; names: of those that it had. symbol: whether it was one."""
        if not symbol:
            return [self.path, *(self.path.parent / n for n in names[1:])]
        params = newest_params(self.path) if self.params is None else Path(self.params)
        return [self.path] if params is None else [self.path, params]

    @functools.cached_property
    def model(self) -> Model:
        """The model itself, read."""
        from .models import open_model

        return open_model(self.path, self.params)

    @functools.cached_property
    def native(self) -> NativeEngine:
        """The model itself on our engine, without the outputs that only training needs."""
        from .engines import NativeEngine

        return NativeEngine(self.model.inferring().native)

    def _run_itself(self, feeds: Mapping[str, np.ndarray], inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Outputs by the model itself. inputs: the feeds as they were given, which may know their files."""
        from .engines import NativeEngine
        from .inputs import sources_of
        from .models import hold_dtypes

        engine = self.native
        if not {*feeds} <= {*engine.inputs}:
            engine = NativeEngine(self.model.inferring(feeds).native)
        if unknown := [n for n in feeds if n not in engine.inputs]:
            takes = ", ".join(sorted(engine.inputs))
            raise BadInput(*(f"unknown input {n}: the model takes {takes}" for n in unknown))
        feeds = hold_dtypes(self.model if self.model.is_onnx else engine.model, feeds, sources_of(inputs))
        return engine.run(feeds)

    def _outside(self, feeds: Mapping[str, np.ndarray]) -> bool:
        """True for positions that pick nothing, which the model itself refuses in words."""
        from hybrid.ir.strict import outside

        return any(outside(feeds[n], size) for n, size in self._looked)

    def run(self, inputs: Mapping[str, Any] | str | os.PathLike[str]) -> dict[str, np.ndarray]:
        """Outputs by name. inputs: arrays by name, or an .npz.

        Raises BadInput naming every unknown or missing input, or one of a dtype that the model does not take, or hybrid's
        errors."""
        if isinstance(inputs, str | os.PathLike):
            from .inputs import loaded

            inputs = loaded(inputs, self.native.model)
        feeds = {n: np.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v) for n, v in inputs.items()}
        if self.program is not None:
            if not self._declared.issuperset(
                feeds
            ):  # a label, with which more is an output, or what is unknown there too
                return self._run_itself(feeds, inputs)
            arrays = self.program.arrange(feeds, self._labels)
            if arrays is not None and not (self._looked and self._outside(feeds)):
                try:
                    return dict(zip([n for n, _, _ in self.program.gives], self.program.run(arrays)))
                except NotAlone:
                    pass
        return self._run_itself(feeds, inputs)


def compiled_file(model: Path) -> Path:
    """The place of a model's compiled file: beside it."""
    return model.with_name(f"{name_of(model)}{END}")


def _said(model: Model, specs: dict[str, Spec], names: Sequence[str]) -> dict[str, Spec | None]:
    """Specs of a symbol's inputs as far as it, or a file beside it, says whole shapes; None for the others."""
    from hybrid.core.shapes import is_known
    from hybrid.ir.graph import Entry

    from .settle import with_sizes_beside

    assert model.graph is not None
    try:
        inferred = model.infer(with_sizes_beside(model, specs, list(names)))
    except MXNetError:  # which is said when it is compiled
        return dict.fromkeys(names)
    found = {n.name: inferred.spec(Entry(n)) for n in model.graph.variables()}
    return {n: found[n] if is_known(found[n].shape) else None for n in names}


def _labels(native: NativeEngine) -> frozenset[str]:
    from hybrid.passes.strip_labels import label_names

    return frozenset(label_names(native.graph))


def _seen(path: Path, folder: Path) -> list[Any]:
    """Name, state and checksum of a file, by which it is known again. The state is what the system says of it; none of a file
    that was changed a moment ago, for it may change once more without its time being another."""
    found = os.stat(path)
    state = _state(found)
    settled = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > SETTLED
    seen = checksum(path)
    if _state(os.stat(path)) != state:
        raise MXNetError(f"{path}: was changed while it was read")
    return [os.path.relpath(path, folder), state if settled else None, seen]


def _state(found: os.stat_result) -> list[int]:
    """Facts that change with a file: nobody sets the time at which its state was changed."""
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _is_same(path: Path, seen: Sequence[Any]) -> bool:
    """True for the file that was seen: in the state that it had then, or with the same content."""
    _, state, content = seen
    found = os.stat(path)
    if state is not None and _state(found) == state:
        return True
    return checksum(path) == content
