"""A folder with a model, what goes into it and what is expected of it, as ONNX's own tests are laid out."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

import converters
from converters.onnx_types import code_of
from hybrid.formats.files import write
from hybrid.ir.graph import Entry, Graph, Node

from ..cut import MADE
from ..engines import GIVEN, Arrays, Engine, NativeEngine, OnnxEngine, Tensor
from ..half import HalfEngine
from ..models import BadInput, Model, SymbolFiles
from ..paths import files_of
from .piece import Limit, Outcome, Piece

DATA = "test_data_set_0"
OURS = frozenset(
    (
        "model.onnx",
        "a-symbol.json",
        "a-0000.params",
        "a.onnx",
        "b-symbol.json",
        "b-0000.params",
        "README.md",
        "repro.py",
        DATA,
    )
)
"""Names in such a folder."""

SCRIPT = '''"""Runs model.onnx on what is in {data}; ends with 1 while it does not give what is expected there."""
import sys
from pathlib import Path
import numpy as np, onnx, onnxruntime

data = Path(__file__).parent / "{data}"
given, wanted = ([onnx.numpy_helper.to_array(onnx.load_tensor(data / f"{{kind}}_{{i}}.pb")) for i in range(count)]
                 for kind, count in (("input", {inputs}), ("output", 1)))
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(data.parent / "model.onnx", options, providers=["CPUExecutionProvider"])
got, want = session.run(None, {{i.name: array for i, array in zip(session.get_inputs(), given)}})[0], wanted[0]
same = got.shape == want.shape and np.allclose(got, want, atol={atol!r}, rtol={rtol!r}, equal_nan=True)
print("same" if same else f"differs: got {{got.ravel()[:5]}} ..., wanted {{want.ravel()[:5]}} ...")
sys.exit(not same)
'''


@dataclass
class Found:
    """A piece that fails, and where it was written."""

    piece: Piece
    values: Arrays
    outcome: Outcome
    limit: Limit
    tensor: Tensor
    words: tuple[str, ...]
    names: tuple[str, str]
    folder: Path = Path()
    files: list[str] = field(default_factory=list)

    def differs(self) -> str:
        """The difference in words."""
        got, want = self.outcome.got, self.outcome.want
        if not self.outcome.alike:
            return f"{got.dtype} {_shape(got)} for {want.dtype} {_shape(want)}"
        beyond = self.limit.beyond(got, want)
        place = self.outcome.worst()
        rule = f"atol {self.limit.atol:.2g} + rtol {self.limit.rtol:.2g}"
        worst = f"the worst at {place}: {got[place]:.7g} for {want[place]:.7g}"
        return f"{int(beyond.sum()):,} of {want.size:,} beyond {rule}, {worst}"


def _shape(array: np.ndarray) -> str:
    return "x".join(map(str, array.shape)) or "scalar"


def check_folder(folder: Path) -> Path:
    """The folder, if nothing but such files is in it. Raises BadInput."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: got a file, wanted a folder; give another one")
    foreign = sorted(p.name for p in files_of(folder) if p.name not in OURS) if folder.is_dir() else []
    if foreign:
        raise BadInput(
            f"{folder} holds other files ({', '.join(foreign[:3])}), which stay as they are; give an empty or a new folder"
        )
    return folder


def write_folder(folder: Path, found: Found) -> Found:
    """Write a piece that fails. Raises OSError."""
    piece, values = found.piece, found.values
    (folder / DATA).mkdir(parents=True, exist_ok=True)
    for old in (folder / DATA).glob("*put_*.pb"):
        old.unlink()
    for name in OURS - {DATA}:
        (folder / name).unlink(missing_ok=True)
    other = piece.theirs.get(piece.target, piece.target)
    given = piece.given_right(values)
    if isinstance(piece.right, HalfEngine):
        given = piece.right.narrow(given)
    files = _write_side(folder, "a", piece.left, piece.cut, values, piece.target, found.outcome.want)
    if isinstance(piece.right, OnnxEngine):
        model = _onnx_piece(piece.right, piece.cut_right, given, other, found.outcome.got)
    else:
        files += _write_side(folder, "b", piece.right, piece.cut_right, given, other, found.outcome.got)
        graph, params = _native_piece(piece.right, piece.cut_right, other)
        model = converters.to_onnx(graph, params, {n: given[n] for n in _inputs_of(graph, params) if n in given})
    unread = [n for n in given if n not in {i.name for i in model.graph.input}]  # the other side reads it
    model.graph.input.extend(
        onnx.helper.make_tensor_value_info(n, code_of(given[n].dtype), given[n].shape) for n in unread
    )
    write(folder / "model.onnx", model.SerializeToString())
    names = [i.name for i in model.graph.input]
    for i, name in enumerate(names):
        write(
            folder / DATA / f"input_{i}.pb",
            numpy_helper.from_array(np.ascontiguousarray(given[name]), name).SerializeToString(),
        )
    want = np.ascontiguousarray(found.outcome.want)
    write(folder / DATA / "output_0.pb", numpy_helper.from_array(want, model.graph.output[0].name).SerializeToString())
    write(
        folder / "repro.py", SCRIPT.format(data=DATA, inputs=len(names), atol=found.limit.atol, rtol=found.limit.rtol)
    )
    found = replace(found, folder=folder, files=["model.onnx", DATA, *files, "README.md", "repro.py"])
    write(folder / "README.md", _readme(found))
    return found


def _write_side(
    folder: Path, name: str, engine: Engine, cut: frozenset[str], values: Arrays, target: str, made: np.ndarray
) -> list[str]:
    """Write a side's piece as it is: a symbol with its parameters, or an ONNX model; gives the names of the files."""
    if isinstance(engine, OnnxEngine):
        write(folder / f"{name}.onnx", _onnx_piece(engine, cut, values, target, made).SerializeToString())
        return [f"{name}.onnx"]
    graph, params = _native_piece(engine, cut, target)
    return [p.name for p in SymbolFiles(Model(name, graph, params)).save(folder / name)]


def _native_piece(engine: Engine, cut: frozenset[str], target: str) -> tuple[Graph, Arrays]:
    """The piece of a symbol, its inputs under the names that the tensors have, and its parameters."""
    assert isinstance(engine, NativeEngine)
    part = engine.part(cut, [target]).graph

    def rename(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if node.op is None and node.name.startswith(GIVEN):
            return [Entry(Node(None, node.name.removeprefix(GIVEN)))]
        return None

    graph = part.rewrite(rename)
    stored = {n.name for n in graph.variables()} - {
        n.name.removeprefix(GIVEN) for n in part.variables() if n.name.startswith(GIVEN)
    }
    return graph, {n: np.asarray(engine.model.params[n]) for n in engine.model.params if n in stored}


def _inputs_of(graph: Graph, params: Arrays) -> list[str]:
    return [n.name for n in graph.variables() if n.name not in params]


def _onnx_piece(
    engine: OnnxEngine, cut: frozenset[str], values: Arrays, target: str, made: np.ndarray
) -> onnx.ModelProto:
    """The piece of an ONNX model, its output under the name that the tensor has."""
    model = engine.piece(cut, values, [target])
    read = {n for node in model.graph.node for n in node.input}
    for node in model.graph.node:
        node.output[:] = [o.removesuffix(MADE) if o.removesuffix(MADE) not in read else o for o in node.output]
    [output] = model.graph.output
    name = output.name.removesuffix(MADE)
    output.CopyFrom(
        onnx.helper.make_tensor_value_info(output.name if name in read else name, code_of(made.dtype), made.shape)
    )
    return model


def _readme(found: Found) -> str:
    piece = found.piece
    mine, theirs = piece.operators()
    a, b = found.names
    swapped = piece.left.model.name != a and piece.left.model.name == b
    one, two = (b, a) if swapped else (a, b)
    given = "\n".join(f"- `{n}` {v.dtype} {_shape(v)}" for n, v in found.values.items())
    causes = (
        "".join(f"- {w}\n" for w in found.words) or "- nothing was found by comparing the models without running them\n"
    )
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, onnx {onnx.__version__}"
    versions += f", onnxruntime {onnxruntime.__version__}"
    files = ", ".join(f"`{f}`" for f in found.files if f.startswith("a"))
    return f"""# {found.tensor.node} ({found.tensor.operator}) differs

{found.differs()}

`model.onnx` is what makes `{found.tensor.name}` in {two} ({piece.right.label}, {theirs} operators);
`{DATA}` holds what goes in and what {one} ({piece.left.label}, {mine} operators) makes of it: {files}.

Inputs:

{given}

What differs between the models there:

{causes}
Show it (onnx, numpy and onnxruntime are enough; ends with 1 while the difference is there):

    python repro.py

Made by `gluonnx reduce`, {versions}.
"""
