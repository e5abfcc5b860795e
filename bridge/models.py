"""Opens anything a user may hold in hand - an exported symbol with parameters, an ONNX file, objects - as one Model."""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx
from google.protobuf.message import DecodeError

import converters
import hybrid.formats.params
from converters.forms import PLAIN, Forms
from converters.importer import Imported, import_model
from converters.names import kept_names
from converters.onnx_types import declared_spec
from converters.reader import OnnxFile, data_files, read_model
from converters.writer import Converted
from hybrid.core.attrs import is_float, is_half
from hybrid.core.error import MXNetError
from hybrid.core.memory_budget import amount, memory_budget, size_of
from hybrid.core.op import Spec
from hybrid.core.precision import check_precision
from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known, show
from hybrid.formats import pairs
from hybrid.ir import json as symbol_json
from hybrid.ir.facts import Facts
from hybrid.ir.graph import Entry, Graph
from hybrid.ir.infer import Inference, infer
from hybrid.ir.weights import parameters_of
from hybrid.passes.strip_labels import label_names, strip_labels

from .archives import Unpacked, is_archive, sizes_beside
from .cut import cut_at
from .heads import without_training_heads
from .paths import (
    BadInput,
    file_of,
    files_of,
    is_onnx_file,
    listed,
    name_of,
    names_in,
    newest_params,
    symbol_files,
    symbols_of,
)
from .structural import is_structural, match


@dataclass(frozen=True, repr=False)
class Model:
    """An opened model, of whatever format: a graph with parameters and what follows from them (``facts``).

    One that was opened from ONNX has its message (``proto``), and is read as a graph when somebody asks (``native``).

    Examples
    --------
    >>> import gluonnx
    >>> model = gluonnx.open_model("model")
    >>> model.kind, model.is_onnx, [path.name for path in model.files()], model.extra_params()
    ('symbol', False, ['model-symbol.json', 'model-0000.params'], [])
    >>> model.variables(), sorted(model.params), list(model.left_out)
    (['data'], ['top_bias', 'top_weight'], [])
    """

    name: str
    """The name that results call it by."""
    graph: Graph | None = None
    """The graph; None of an ONNX model."""
    params: Mapping[str, np.ndarray] = field(default_factory=dict)
    """By bare name, ``arg:`` and ``aux:`` taken off; usually memory-mapped."""
    proto: onnx.ModelProto | None = None
    """Without the weights when it was opened from a path."""
    path: Path | None = None
    """The file that it was read from; None for one in memory. Of an ONNX model in an archive one that is there for as long as the
    model is."""
    params_path: Path | None = None
    """The file of the parameters, where that is another."""
    file: OnnxFile | None = field(default=None, repr=False)
    """The ONNX file, with its weights mapped; None for one that came as a message."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of tensors of the graph in the ONNX model that it was read from, where they differ."""
    cast: tuple[str, ...] = ()
    """Parameters that were stored in another dtype than the graph computes them in (see with_dtypes_of_graph)."""
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Shapes of inputs that files beside the symbol tell (see archives.sizes_beside)."""
    sizes_from: Mapping[str, str] = field(default_factory=dict)
    """The file that tells each."""
    unread: tuple[str, ...] = ()
    """Words for what of these files could not be read."""
    notes: tuple[str, ...] = ()
    """Remarks on how it was read, for results to tell."""
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Outputs that only training needs, and the labels that feed them (see inferring)."""
    archive: Unpacked | None = None
    """The archive that an ONNX model is in."""

    def __repr__(self) -> str:
        count = f", {len(self.params)} parameters" if self.graph is not None else ""
        return f"<Model {self.name}: {self.kind}{count}{f', {self.place}' if self.place is not None else ''}>"

    @property
    def place(self) -> Path | None:
        """The file that people know it by: the archive that it is in, or its own; None for one in memory.

        Examples
        --------
        >>> import gluonnx
        >>> gluonnx.open_model("model").place.name
        'model-symbol.json'
        """
        return self.path if self.archive is None else self.archive.path

    @property
    def is_onnx(self) -> bool:
        """True where it was opened from ONNX."""
        return self.graph is None

    @property
    def kind(self) -> str:
        """The name of its format."""
        return ONNX.name if self.is_onnx else SYMBOL.name

    def files(self) -> list[Path]:
        """Those that it is read from (an archive, rather than what is in it); of an ONNX model also those with its weights."""
        if self.archive is not None:
            return [self.archive.path]
        found = [p for p in (self.path, self.params_path) if p is not None and self.path not in p.parents]
        if self.path is not None and self.proto is not None:
            found += data_files(self.proto, self.path.parent)  # weights that are left in the file itself name it too
        return list(dict.fromkeys(found))

    @property
    def read(self) -> tuple[str, ...]:
        """Paths of the symbol, or of the archive that it is in, and of the parameters, for people to read.

        Examples
        --------
        >>> import gluonnx
        >>> gluonnx.open_model("model").read
        ('model-symbol.json', 'model-0000.params')
        """
        return tuple(str(p) for p in (self.place, self.params_path) if p is not None)

    def variables(self) -> list[str]:
        """Names of the graph's variables that no parameter fills, in order."""
        assert self.graph is not None
        names = dict.fromkeys(n.name for n in self.graph.variables())
        return [n for n in names if n not in self.params]

    def extra_params(self) -> list[str]:
        """Parameters that the graph does not mention."""
        if self.graph is None:
            return []
        names = {n.name for n in self.graph.variables()}
        return [n for n in self.params if n not in names]

    @functools.cached_property
    def imported(self) -> Imported:
        """An ONNX model, read: its graph, and everything else that is known of it. Raises converters.UnsupportedModel listing
        every node that cannot be read.

        Examples
        --------
        >>> import gluonnx
        >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
        >>> sorted(gluonnx.open_model("model.onnx").imported.params)
        ['top_bias', 'top_weight']
        """
        return import_model(next(source for source in (self.file, self.path, self.proto) if source is not None))

    @functools.cached_property
    def native(self) -> Model:
        """The model with a graph, which our engine runs and which can be translated: itself, or an ONNX model as it is read.

        Examples
        --------
        >>> import gluonnx
        >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
        >>> model = gluonnx.open_model("model.onnx")
        >>> model.kind, model.native.kind, model.native.variables()
        ('onnx', 'symbol', ['data'])
        """
        if not self.is_onnx:
            return self
        found = self.imported
        named = names_of(found)
        return Model(self.name, found.graph, found.params, path=self.path, names=named, archive=self.archive)

    @functools.cached_property
    def facts(self) -> Facts:
        """Shapes and dtypes of the graph's tensors, inferred once for each set of sizes, whoever asks.

        Examples
        --------
        >>> import gluonnx
        >>> from hybrid.core.op import Spec
        >>> model = gluonnx.open_model("model")
        >>> found = model.facts.infer({"data": Spec((4, 3))})
        >>> [found.spec(output).shape for output in model.graph.outputs]
        [(4, 2)]
        """
        assert self.graph is not None
        return Facts(self.graph, self.params)

    def infer(self, specs: Mapping[str, Spec]) -> Inference:
        """Shapes and dtypes of all tensors, from the parameters and what specs say of the inputs; float32 where nothing decides.

        Raises OpError, with the node's name, when they do not fit the graph.

        Examples
        --------
        >>> import gluonnx
        >>> from hybrid.core.op import Spec
        >>> model = gluonnx.open_model("model")
        >>> found = model.infer({"data": Spec((4, 3))})
        >>> [(found.spec(output).shape, found.spec(output).dtype.name) for output in model.graph.outputs]
        [((4, 2), 'float32')]
        """
        return self.facts.infer(specs)

    def inferring(self, named: Mapping[str, Any] | None = None) -> Model:
        """The model without the outputs that only training needs (``left_out``). named: inputs, which are no labels then.

        Examples
        --------
        >>> import gluonnx
        >>> from gluonnx import mx
        >>> x, label = mx.sym.var("x"), mx.sym.var("label")
        >>> loss = mx.sym.MakeLoss(mx.sym.softmax_cross_entropy(x, label), name="loss")
        >>> model = gluonnx.open_model(mx.sym.Group([mx.sym.softmax(x, name="softmax"), loss]), {})
        >>> model.variables()
        ['x', 'label']
        >>> model.inferring().variables(), model.inferring().left_out
        (['x'], {'loss_output': ('label',)})
        """
        if self.graph is None:
            return self
        graph, left_out = without_training_heads(self.graph, self.params, named or {})
        return replace(self, graph=graph, left_out=left_out) if left_out else self

    def select(self, outputs: list[str] | None) -> Model:
        """The model cut at the named outputs (``fc1_output``, or ``fc1`` for a node's first); a text may hold several, with
        commas. Raises BadInput.

        Examples
        --------
        >>> import gluonnx
        >>> from gluonnx import mx
        >>> hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc1")
        >>> model = gluonnx.open_model(mx.sym.relu(hidden, name="relu1"), {})
        >>> [output.name for output in model.select(["fc1"]).graph.outputs]
        ['fc1_output']
        """
        if not outputs:
            return self
        if self.graph is None:
            assert self.proto is not None
            outputs = names_in(outputs, {o for node in self.proto.graph.node for o in (node.name, *node.output)})
            whole = self.proto if self.path is None else onnx.load(os.fspath(self.path))
            return replace(self, proto=_cut(whole, self.name, outputs), path=None, file=None)
        internals = {e.name: e for e in self.graph.internals().outputs}
        internals |= {new: internals[old] for old, new in self.names.items() if old in internals}
        by_node = {n.name: Entry(n) for n in self.graph.nodes}
        outputs = names_in(outputs, internals.keys() | by_node.keys())
        unknown = [o for o in outputs if o not in internals and o not in by_node]
        if unknown:
            computed = [n for n, e in internals.items() if e.node.op is not None] or list(internals)
            raise BadInput(*(_no_output(name, "the graph", computed) for name in unknown))
        graph = Graph(internals.get(o, by_node.get(o)) for o in outputs)  # type: ignore[misc]  # each is in one of them
        return replace(self, graph=graph)


def _no_output(name: str, where: str, known: list[str]) -> str:
    parts = [n for n in known if name.lower() in n.lower()]
    close = parts[-3:] or difflib.get_close_matches(name, known, 3, 0.3) or known[-3:]
    return f"no output {name!r} in {where}; did you mean {' or '.join(close)}? (inspect --nodes lists all)"


def _cut(whole: onnx.ModelProto, name: str, outputs: list[str]) -> onnx.ModelProto:
    """The ONNX model that makes these tensors: by their names, those that MXNet gives a node's first (``fc1_output``), or those of
    nodes. Raises BadInput."""
    maker = {o: node for node in whole.graph.node for o in node.output if o}
    by_node = {node.name: node.output[0] for node in whole.graph.node if node.name}
    found = {o: next((n for n in (o, f"{o}_output", by_node.get(o)) if n in maker), None) for o in outputs}
    problems = [_no_output(o, f"{name} (ONNX)", list(maker)) for o, tensor in found.items() if tensor is None]
    if problems:
        raise BadInput(*problems)
    return cut_at(whole, [tensor for tensor in found.values() if tensor])


class Format(Protocol):
    """A way in which models are kept. A further one is a class with these members, and its place in FORMATS."""

    name: str

    def recognises(self, source: Any) -> bool:
        """True for an object, or the path of a file, that is of this format."""
        ...

    def load(self, source: Any, params: Any = None, foreign: bool = False) -> Model:
        """The model that it holds; see open_model."""
        ...

    @property
    def translated(self) -> Callable[..., Any]:
        """Gives a model in this format, whatever it was opened from: what ``save(path)`` writes, which gives the files."""
        ...


class SymbolFormat:
    """MXNet's: Symbol JSON with a file of parameters beside it; a Symbol, Graph or block in memory."""

    name = "symbol"

    def recognises(self, source: Any) -> bool:
        if not isinstance(source, Path):
            return isinstance(_graph_of(source), Graph)
        if source.suffix == ".onnx":
            return False
        with open(source, "rb") as file:
            return source.suffix == ".json" or file.read(64).lstrip()[:1] == b"{"

    def load(self, source: Any, params: Any = None, foreign: bool = False) -> Model:
        if not isinstance(source, Path):
            collect = getattr(source, "collect_params", None)
            if params is None and collect is not None:
                params = {k: v.data() for k, v in collect().items()}
            arrays, path = _read_params(params)
            name = getattr(source, "name", None) or "model"
            graph = strip_labels(_graph_of(source))
            return with_dtypes_of_graph(Model(name, graph, arrays, params_path=path, names=kept_names(graph)))
        graph = strip_labels(symbol_json.loads(source.read_bytes(), source=str(source), foreign=foreign))
        arrays, path = _read_params(params if params is not None else newest_params(source))
        if path is not None:
            pairs.check(source, path)
        arrays, notes = _by_names_of_graph(graph, arrays)
        name = name_of(source)
        alone = len(symbols_of(source.parent)) == 1
        sizes, unread, told_by = sizes_beside(source.parent) if alone else ({}, (), {})
        named = kept_names(graph)
        return with_dtypes_of_graph(
            Model(
                name,
                graph,
                arrays,
                None,
                source,
                path,
                names=named,
                sizes=sizes,
                unread=unread,
                sizes_from=told_by,
                notes=notes,
            )
        )

    def translated(self, model: Model) -> SymbolFiles:
        return SymbolFiles(model.native)


class SymbolFiles:
    """A model that is to be written as MXNet keeps it."""

    def __init__(self, model: Model):
        self.model = model

    def save(self, prefix: Path) -> list[Path]:
        """Write ``PREFIX-symbol.json`` and ``PREFIX-0000.params``; gives both."""
        graph, params = self.model.graph, self.model.params
        assert graph is not None
        auxiliary = {n.name for n in graph.auxiliary_states()}
        paths = symbol_files(prefix)
        named = {f"{'aux' if n in auxiliary else 'arg'}:{n}": a for n, a in params.items()}
        pairs.save({str(paths[0]): functools.partial(symbol_json.dumps, graph)}, paths[1], named)
        return paths


class OnnxFormat:
    """ONNX: a file, with its weights in it or beside it; a ModelProto or bytes in memory."""

    name = "onnx"

    def recognises(self, source: Any) -> bool:
        return isinstance(source, Path | onnx.ModelProto | bytes)  # what is wrong with a file its reader says

    def load(self, source: Any, params: Any = None, foreign: bool = False) -> Model:
        if isinstance(source, onnx.ModelProto):
            return Model(source.graph.name or "model", proto=source)
        if params is not None and not isinstance(source, bytes):
            raise BadInput(f"{source}: an ONNX file holds its parameters; do not give {params}")
        file = read_model(source)
        if isinstance(source, bytes):  # the whole message is what engines take
            return Model("model", proto=onnx.load_from_string(source), file=file)
        return Model(Path(source).stem, proto=file.proto, path=Path(source), file=file)

    def translated(
        self,
        model: Model,
        *,
        inputs: Mapping[str, Any],
        opset: int | str | None = None,
        default: int | None = None,
        newest: int | None = None,
        keep_inputs: bool = False,
        forms: Forms = PLAIN,
    ) -> Converted:
        """inputs, opset, default, newest, keep_inputs, forms: as converters.convert takes them.

        Raises converters.UnsupportedModel listing every node that ONNX cannot say."""
        native = model.native
        return converters.convert(
            native.graph, native.params, inputs, opset, default=default, newest=newest, facts=native.facts,
            keep_inputs=keep_inputs, forms=forms,
        )  # fmt: skip


SYMBOL, ONNX = SymbolFormat(), OnnxFormat()
FORMATS: tuple[Format, ...] = (SYMBOL, ONNX)
"""All formats, in the order in which they are asked whether they recognise something."""


def open_model(source: Any, params: Any = None, *, foreign: bool = False) -> Model:
    """A Model from a path (``x-symbol.json``, ``x.onnx``, the prefix ``x``, a folder with one model, which may be a repository of
    Triton, or an archive: ``.tar.gz``, ``.tgz``, ``.tar``, ``.zip``, ``.mar``), a Symbol, Graph, ModelProto or block.

    params: a path, a dict of arrays, or None to take the newest ``PREFIX-NNNN.params`` beside a symbol file.
    foreign: keep operators that are not known, so that they can be listed.
    Raises BadInput or hybrid's FormatError and OpError.
    source: a path, a prefix, a Symbol, a block, or an ONNX model.

    Examples
    --------
    >>> import gluonnx
    >>> model = gluonnx.open_model("model")
    >>> model.kind, model.variables()
    ('symbol', ['data'])
    """
    if isinstance(source, Model):
        return source
    if isinstance(source, str | os.PathLike):
        source = file_of(Path(source))
        if is_archive(source):
            return _from_archive(source, params, foreign)
    for format in FORMATS:
        if format.recognises(source):
            return format.load(source, params, foreign)
    raise BadInput(f"got {type(source).__name__}, wanted a path, a Symbol, a SymbolBlock or an ONNX ModelProto")


def open_onnx(source: Any) -> Model:
    """The ONNX model that open_model finds; a symbol is refused. Raises BadInput or hybrid's FormatError."""
    model = open_model(source)
    if not model.is_onnx:
        raise BadInput(
            f"{source}: an MXNet symbol already; import takes an ONNX file, convert makes one of this"
            if isinstance(source, str | os.PathLike)
            else f"got {type(source).__name__}, wanted an ONNX model: a path, bytes or a ModelProto"
        )
    return model


def open_with(source: Any, params: Any) -> Model:
    """The model of one of several sources, with the parameters that are given for those of them that hold none."""
    return open_model(source, None if params is None or holds_parameters(source) else params)


def holds_parameters(source: Any) -> bool:
    """True for what is ONNX, by a path, an archive or in memory: there are no others for it."""
    if isinstance(source, Model):
        return source.is_onnx
    if not isinstance(source, str | os.PathLike):
        return isinstance(source, onnx.ModelProto | bytes)
    if is_onnx_file(source):
        return True
    path = Path(source)
    return path.is_file() and is_archive(path) and open_model(path).is_onnx


def _from_archive(path: Path, params: Any, foreign: bool) -> Model:
    """The model of the one symbol in an archive, whose files are called as if the archive was a folder, or of its ONNX model, with
    the weights beside that."""
    archive = Unpacked(path)
    folder, inside = archive.folder, archive.model()
    name = name_of(path)
    try:
        if inside.suffix == ".onnx":
            _unpack_weights(archive, inside)
            model = ONNX.load(inside, params)
            return replace(model, name=name or model.name, archive=archive, notes=(*model.notes, *archive.notes))
        if params is None:
            alone = files_of(inside.parent, "*.params")
            params = newest_params(inside) or (alone[0] if len(alone) == 1 else None)
        model = SYMBOL.load(inside, params, foreign)
    except (BadInput, MXNetError) as error:
        archive.close()
        raise BadInput(str(error).replace(str(folder), str(path))) from error
    archive.close()
    read = model.params_path
    if read is not None and read.is_relative_to(folder):
        read = path / read.relative_to(folder)
    return replace(model, path=path, params_path=read, name=name or model.name, notes=(*model.notes, *archive.notes))


def _unpack_weights(archive: Unpacked, model: Path) -> None:
    """Unpack the files with the weights of an unpacked ONNX model. Raises BadInput where the archive lacks one."""
    try:
        found = data_files(onnx.load(model, load_external_data=False), model.parent)
    except DecodeError:  # its reader says what it is
        return
    names = {os.path.relpath(p, archive.folder).replace(os.sep, "/") for p in found}
    if names:
        archive.add(names)
    lacking = [n for n in sorted(names) if n.startswith("../") or not (archive.folder / n).is_file()]
    if lacking:
        raise BadInput(
            f"{archive.path}: its model {model.relative_to(archive.folder).as_posix()} has weights in {listed(lacking)}, which the "
            "archive does not hold; pack all files of the model"
        )


def _graph_of(source: Any) -> Any:
    return source if isinstance(source, Graph) else getattr(source, "graph", None)


def with_dtypes_of_graph(model: Model) -> Model:
    """The model with parameters in the dtypes that the graph computes in, where those stored contradict it.

    A network that casts to float16 inside is often stored in float32; Module binds what the graph says and casts what it loads."""
    assert model.graph is not None
    floats = {n: a for n, a in model.params.items() if is_float(a.dtype)}
    named = {getattr(n.op, "dtype", None) for n in model.graph.nodes if n.op is not None}
    if len({a.dtype for a in floats.values()} | {d for d in named if isinstance(d, np.dtype) and is_float(d)}) < 2:
        return model
    stored = {n: a.dtype for n, a in model.params.items()}
    try:
        infer(model.graph, {}, stored, default_dtype=np.float32)
        return model
    except MXNetError:
        pass
    try:
        found = infer(model.graph, {}, {n: d for n, d in stored.items() if n not in floats}, default_dtype=np.float32)
    except MXNetError:
        return model  # the graph contradicts itself; who runs or converts it says where
    wanted = {n.name: found.spec(Entry(n)).dtype for n in model.graph.variables()}
    cast = {n: a.astype(d) for n, a in floats.items() if (d := wanted.get(n)) is not None and d != a.dtype}
    return replace(model, params={**model.params, **cast}, cast=tuple(cast))


def _read_params(params: Any) -> tuple[dict[str, np.ndarray], Path | None]:
    if params is None:
        return {}, None
    path = None
    if isinstance(params, str | os.PathLike):
        path = Path(params)
        if not path.exists():
            raise BadInput(f"{path}: no such parameter file")
        params = hybrid.formats.params.load(path)
        if params == []:
            params = {}  # how a file without any parameter reads
        if not isinstance(params, dict):
            raise BadInput(
                f"{path}: holds a list of {len(params)} unnamed arrays, wanted named parameters (arg:..., aux:...)"
            )
    if not isinstance(params, Mapping):
        raise BadInput(
            f"params: got {type(params).__name__}, wanted a path or a dict of arrays, as in {{**arg_params, **aux_params}}"
        )
    out = {}
    for name, value in params.items():
        if value is None:  # MXNet wrote an array that was never given a shape
            continue
        dense = value.todense() if hasattr(value, "todense") else value
        dense = dense.asnumpy() if hasattr(dense, "asnumpy") else dense
        out[name.removeprefix("arg:").removeprefix("aux:")] = np.asarray(dense)
    return out, path


def _by_names_of_graph(graph: Graph, arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Parameters by the names that the graph has for them, and a remark on those of Block.save_parameters, which have others."""
    if not is_structural(list(arrays)) or {n.name for n in graph.variables()} & {*arrays}:
        return arrays, ()
    found = match(graph, arrays)
    shown = ", ".join(f"{theirs} is {mine}" for mine, theirs in list(found.items())[:3])
    note = (
        f"{len(found)} parameters have names of save_parameters and were matched by kind, shape and order: {shown}, ..."
    )
    return {mine: arrays[theirs] for mine, theirs in found.items()}, (note,)


class NoParams(BadInput):
    """Raised for a symbol without a file of its parameters. symbol: its file, None where it has none; missing: names of the
    parameters; further: other problems."""

    def __init__(self, symbol: Path | None, missing: Sequence[str], *further: str):
        self.symbol, self.missing = symbol, tuple(missing)
        found = f"no .params file was found beside {'the symbol' if symbol is None else symbol}"
        said = self.words(found, "give it with --params FILE")
        super().__init__(said, *(f"missing parameter {n}" for n in missing), *further)

    def words(self, found: str, do: str) -> str:
        """The refusal in words. found: that something was not found; do: what to do about it."""
        return f"{found}, and {listed(self.missing, 3)} {'is' if len(self.missing) == 1 else 'are'} missing; {do}"


def without_params(model: Model, missing: Sequence[str], *further: str) -> BadInput:
    """The error for missing parameters, the reason first. further: other problems, to be said with them."""
    if model.params_path is None and not model.params:
        return NoParams(model.path, missing, *further)
    where = model.params_path or "the parameters given"
    extra = model.extra_params()
    others = [f"in {where} are {len(extra)} other parameters: {listed(extra)}"] if extra else []
    return BadInput(*others, *(f"missing parameter {n}: neither in {where} nor an input" for n in missing), *further)


def names_of_two(a: Model, b: Model) -> tuple[str, str]:
    """The names of two models, with those of their files where they would be one."""
    if a.name != b.name:
        return a.name, b.name
    names = [m.place.name if m.place is not None else m.name for m in (a, b)]
    if names[0] == names[1]:
        names = [str(m.place) if m.place is not None else m.name for m in (a, b)]
    return names[0], names[1]


def names_to_fill(model: Model, named: Mapping[str, Any] | None = None) -> list[str]:
    """The inputs that a file of arrays has to fill: labels that nothing reads at inference are not among them. named: as
    split_inputs takes them."""
    if model.graph is None:
        return list(specs_of_onnx(model.proto)) if model.proto is not None else []
    model = model.inferring(named)
    assert model.graph is not None
    free, labels = split_inputs(model, named or {})[0], set(label_names(model.graph))
    return [n for n in free if n not in labels] or free


def split_inputs(model: Model, named: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """(inputs, missing parameters) among the variables that nothing fills.

    A variable that says that it is a parameter, or stands where an operator takes one (weight, bias, gamma, ...), is missing,
    unless the user named it as an input; any other is an input."""
    assert model.graph is not None
    stored = parameters_of(model.graph)
    inputs, missing = [], []
    for name in model.variables():
        (missing if name in stored and name not in named else inputs).append(name)
    return inputs, missing


def check_params(model: Model, shapes: Mapping[str, MaybeShape]) -> list[str]:
    """Everything that is wrong with the parameters given the inputs' shapes: those whose shapes the graph contradicts."""
    assert model.graph is not None
    try:
        inferred = infer(model.graph, shapes)
    except MXNetError:
        return []  # the graph itself does not fit the inputs; conversion says where
    problems = []
    for node in model.graph.variables():
        stored = model.params.get(node.name)
        wanted = inferred.spec(Entry(node)).shape
        if stored is not None and is_known(wanted) and stored.shape != wanted:
            problems.append(f"parameter {node.name}: got shape {show(stored.shape)}, wanted {show(wanted)}")
    return problems


def check_named(precision: str) -> str:
    """The precision of that name. Raises BadInput for any other name."""
    try:
        return check_precision(precision, "precision")
    except ValueError as error:
        raise BadInput(str(error)) from None


def check_dtypes(model: Model, specs: Mapping[str, Spec], sources: Mapping[str, str] | None = None) -> list[str]:
    """Inputs of a dtype that the network cannot be run with, beside its parameters and the other inputs; NumPy's own float64, most
    of the time. Most symbols say no dtype, so what is refused is what inference refuses. sources: files that arrays come from."""
    if all(s.dtype is None for s in specs.values()):
        return []
    with suppress(MXNetError):
        model.infer(specs)
        return []
    fitting = {n: Spec(s.shape) for n, s in specs.items()}
    try:
        usual = model.infer(fitting)
    except MXNetError:
        return []  # it is not the dtypes
    assert model.graph is not None
    variables = {n.name: Entry(n) for n in model.graph.variables() if n.name in specs}
    problems = []
    # those of the dtype that is usual here go first, so that they are not blamed for what another one brings
    for name in sorted(variables, key=lambda n: specs[n].dtype != usual.spec(variables[n]).dtype):
        got = specs[name].dtype
        if got is None:
            continue
        try:
            model.infer({**fitting, name: specs[name]})
            fitting[name] = specs[name]
        except MXNetError:
            wanted = model.infer(fitting).spec(variables[name]).dtype
            problems.append(_of_dtype(name, got, wanted, (sources or {}).get(name)))
    return problems


def _of_dtype(name: str, got: Any, wanted: Any, source: str | None) -> str:
    """Words for an array of another dtype than the model takes."""
    if source is None:
        said = f"input {name}: got {got}, wanted {wanted}; convert it, as in array.astype({str(wanted)!r}), or give its shape "
        said += "without a dtype"
    else:
        said = f"{source}: {name} is {got}, the model takes {wanted}; save it as array.astype({str(wanted)!r})"
        said += " (what NumPy makes is float64 where nothing else is said)" if got == np.float64 else ""
    if is_half(got):
        said += f"; verify compares a {got} ONNX file with this model as it is, and rounds what goes into it"
    return said


def hold_dtypes(
    model: Model, arrays: Mapping[str, np.ndarray], sources: Mapping[str, str] | None = None
) -> dict[str, np.ndarray]:
    """The arrays as the model takes them: floats of a file that are whole numbers, as MXNet has positions, as the integers that it
    takes. Raises BadInput for those of another dtype that it cannot be run with. sources: files that they come from."""
    sources, arrays = sources or {}, dict(arrays)
    if model.graph is not None:
        names = {n.name for n in model.graph.variables()}
        specs = {n: Spec(a.shape, a.dtype) for n, a in arrays.items() if n in names}
        problems = check_dtypes(model, specs, sources)
        if problems and any(n in sources and is_float(arrays[n].dtype) for n in specs):
            usual = model.infer({n: Spec(s.shape) for n, s in specs.items()})
            declared = {n.name: usual.spec(Entry(n)) for n in model.graph.variables() if n.name in specs}
            whole, parts = _in_integers(arrays, declared, sources)
            arrays |= whole
            if whole or parts:
                specs = {n: Spec(arrays[n].shape, arrays[n].dtype) for n in specs}
                problems = [*parts.values()] or check_dtypes(model, specs, sources)
    else:
        declared = {} if model.proto is None else specs_of_onnx(model.proto)
        whole, parts = _in_integers(arrays, declared, sources)
        arrays |= whole
        problems = [
            parts.get(n) or _of_dtype(n, a.dtype, wanted, sources.get(n))
            for n, a in arrays.items()
            if n in declared and (wanted := declared[n].dtype) is not None and wanted != a.dtype
        ]
    if problems:
        raise BadInput(*problems)
    return arrays


def _in_integers(
    arrays: Mapping[str, np.ndarray], declared: Mapping[str, Spec], sources: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Floats of files, of inputs that take integers, as these; and a problem for those that are no whole numbers; by name."""
    found, problems = {}, {}
    for name, array in arrays.items():
        wanted = declared[name].dtype if name in declared else None
        if name not in sources or wanted is None or wanted.kind not in "iu" or not is_float(array.dtype):
            continue
        whole, why = as_whole(array, wanted)
        if whole is None:
            problems[name] = f"{sources[name]}: {name} is {array.dtype}, the model takes {wanted}, and {why}"
        else:
            found[name] = whole
    return found, problems


def as_whole(array: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray | None, str]:
    """Floats as integers of a dtype; None, and words for the first number that is none of these, where there is one."""
    wide = array.astype(np.float64)
    limits = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):  # NaN
        fits = (wide == np.rint(wide)) & (wide >= float(limits.min)) & (wide < float(limits.max) + 1)
    if fits.all():
        return array.astype(dtype), ""
    first = tuple(int(i) for i in np.argwhere(~fits)[0])
    number, whole = wide[first], bool(wide[first] == np.rint(wide[first]))
    place = ", ".join(map(str, first))
    return (
        None,
        f"{number:g} at ({place}) is {f'beyond {dtype}' if whole and np.isfinite(number) else 'no whole number'}",
    )


def check_sizes(graph: Graph, inference: Inference) -> list[str]:
    """Tensors that cannot be computed here because they do not fit into memory: an absurd attribute or input shape."""
    return too_large(
        (f"node {n.name} ({n.op.name})", inference.spec(Entry(n, i)))
        for n in graph.nodes
        if n.op is not None
        for i in range(n.num_outputs)
    )


def too_large(tensors: Iterable[tuple[str, Spec]]) -> list[str]:
    """A problem for every tensor (what it is, its spec) that alone takes more than the memory budget."""
    budget = memory_budget()
    return [
        f"{what}: {show(spec.shape)} takes {amount(size_of(*spec))}, and the memory budget is {amount(budget)}; give smaller sizes"
        for what, spec in tensors
        if size_of(*spec) > budget
    ]


def names_of(found: Imported) -> dict[str, str]:
    """Names of the graph's tensors in the ONNX model."""
    return {entry.name: name for name, entry in found.tensors.items()}


def in_own_dtypes(specs: Mapping[str, Spec], declared: Mapping[str, Spec]) -> dict[str, Spec]:
    """The specs; one that says a shape alone has the dtype that is declared."""
    return {
        n: s._replace(dtype=declared[n].dtype) if s.dtype is None and n in declared else s for n, s in specs.items()
    }


def without_open_axes(specs: Mapping[str, Spec]) -> dict[str, Spec]:
    """Those of the specs, as specs_of_onnx gives them, whose shapes leave nothing open."""
    return {n: s for n, s in specs.items() if s.shape is not None and not any(isinstance(d, str) for d in s.shape)}


def specs_of_onnx(proto: onnx.ModelProto) -> dict[str, Spec]:
    """Shape and dtype of every input that is not an initializer, as onnx_spec gives them."""
    stored = {i.name for i in proto.graph.initializer}
    return {info.name: onnx_spec(info) for info in proto.graph.input if info.name not in stored}


def onnx_spec(info: onnx.ValueInfoProto) -> Spec:
    """A declared tensor's shape and dtype; dims without a value are strings (their name or ``?``)."""
    return declared_spec(info.type)


def described(arrays: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Shapes and dtypes of arrays by name, as reports and JSON hold them."""
    return {n: {"shape": list(a.shape), "dtype": a.dtype.name} for n, a in arrays.items()}


def describe(spec: Spec) -> dict[str, Any]:
    """A shape and dtype as reports and JSON hold them; None where not known."""
    shape = None if spec.shape is None else ["?" if d is UNKNOWN else d for d in spec.shape]
    return {"shape": shape, "dtype": None if spec.dtype is None else spec.dtype.name}
