"""Tools that the surfaces about graphs share: Symbol JSON as data, changes to it, and the two engines side by side."""

from __future__ import annotations

import copy
import functools
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.core.attrs import dtype as read_dtype
from hybrid.core.error import InternalError, MXNetError
from hybrid.core.op import REGISTRY, Op
from hybrid.execution.program import Program
from hybrid.formats.params import load as load_params
from hybrid.ir import json as symbol_json
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.random import seed as draw_from
from tests.table.examples import examples, graph_of

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SMALL = 24_000
"""Bytes of a symbol that is worth starting from: larger ones cost time and say the same."""
RUNS = 200_000
"""Elements that a run may touch, so that cases cost milliseconds."""

NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "-2",
    "100",
    "1000000000",
    "2147483648",
    "-2147483649",
    "9223372036854775808",
    "1e30",
]
TUPLES = [
    "()",
    "(1,)",
    "(0,)",
    "(1, 1)",
    "(3, 3)",
    "(2, 2, 2)",
    "(-1, 0)",
    "(1000000000, 1000000000)",
    "(1, None)",
    "(1,",
    "[1,1]",
]
WORDS = [
    "None",
    "True",
    "False",
    "",
    "nan",
    "inf",
    "-inf",
    "float16",
    "float64",
    "int8",
    "int32",
    "bfloat16",
    "bool",
    "same",
]
VALUES = [*NUMBERS, *TUPLES, *WORDS]
TOLERANCE = {1: 0.5, 2: 2e-2, 4: 1e-4, 8: 1e-9}
"""Of the largest number of a result, by the bytes of its dtype: some rounding of each of some steps."""
SUMS = {"Convolution", "Deconvolution", "FullyConnected", "dot", "batch_dot", "_linalg_gemm", "_linalg_gemm2", "RNN"}
OF_SUMS = 12
"""Roundings of their largest result that sums of products may be off by: the bound of tests/native/test_accuracy.py, which is
that of Winograd's convolution, whose errors are those of the largest number of a tile."""
DTYPES = ["float32", "float32", "float16", "float64", "int8", "uint8", "int32", "int64", "bool"]
DIMS = [0, 1, 2, 3, 4, 5, 8, 17, 1000, 100_000, 2**31, 2**40]

Doc = dict[str, Any]
"""``symbol``: a Symbol JSON as data, ``feeds``: name -> [dtype, shape]."""


def _doc(symbol: Any, arrays: Mapping[str, np.ndarray]) -> Doc:
    return {"symbol": symbol, "feeds": {n: [a.dtype.name, list(a.shape)] for n, a in arrays.items()}}


@functools.cache
def one_node_docs() -> list[Doc]:
    """The examples of all operators."""
    found = []
    for example in examples():
        graph, feeds = graph_of(example)
        if all(a.dtype != object for a in feeds.values()):
            found.append(_doc(json.loads(symbol_json.dumps(graph)), feeds))
    return found


@functools.cache
def network_docs() -> list[Doc]:
    """The small networks among fixtures."""
    found = []
    for path in sorted([*FIXTURES.glob("json/*/*-symbol.json"), *FIXTURES.glob("models/*/*-symbol.json")]):
        if path.stat().st_size > SMALL:
            continue
        arrays: dict[str, np.ndarray] = {}
        params = sorted(path.parent.glob(path.name.replace("-symbol.json", "-0000.params")))
        held = load_params(params[0]) if params else {}
        for name, array in held.items() if isinstance(held, dict) else ():
            if isinstance(array, np.ndarray):
                arrays[name.removeprefix("arg:").removeprefix("aux:")] = array
        for name in (path.name.replace("-symbol.json", "-input.npz"), "inputs.npz"):
            if (path.parent / name).exists():
                with np.load(path.parent / name) as stored:
                    arrays |= {n: stored[n] for n in stored.files}
        found.append(_doc(json.loads(path.read_text()), arrays))
    return found


# -- changes ----------------------------------------------------------------------------------------------------------


def _node(rng: random.Random, doc: Doc) -> Any:
    return rng.choice(doc["symbol"]["nodes"])


def _attributes(rng: random.Random, doc: Doc) -> dict[str, Any]:
    node = _node(rng, doc)
    for key in ("attrs", "attr", "param"):
        if isinstance(node.get(key), dict):
            return node[key]
    return node.setdefault("attrs", {})


def change_attribute(rng: random.Random, doc: Doc) -> None:
    attrs = _attributes(rng, doc)
    if attrs:
        attrs[rng.choice(sorted(attrs))] = rng.choice(VALUES)


def nudge_attribute(rng: random.Random, doc: Doc) -> None:
    """One digit of an attribute, which stays near to what makes sense."""
    attrs = _attributes(rng, doc)
    digits = [(k, i) for k, v in sorted(attrs.items()) for i, c in enumerate(str(v)) if c.isdigit()]
    if digits:
        key, place = rng.choice(digits)
        text = str(attrs[key])
        attrs[key] = text[:place] + rng.choice("0123456789") + text[place + 1 :]


def drop_attribute(rng: random.Random, doc: Doc) -> None:
    attrs = _attributes(rng, doc)
    if attrs:
        del attrs[rng.choice(sorted(attrs))]


def add_attribute(rng: random.Random, doc: Doc) -> None:
    node = _node(rng, doc)
    cls = REGISTRY.get(node.get("op") if isinstance(node.get("op"), str) else "")
    names = [
        *(cls.fields if cls else ()),
        "__shape__",
        "__dtype__",
        "num_args",
        "num_outputs",
        "lr_mult",
        "axis",
        "shape",
    ]
    _attributes(rng, doc)[rng.choice(names)] = rng.choice([*VALUES, 3, None, [1, 2], {"a": 1}, 1.5])


def change_operator(rng: random.Random, doc: Doc) -> None:
    _node(rng, doc)["op"] = rng.choice([*_OPERATORS, "null", "NoSuchOperator", ""])


def rewire(rng: random.Random, doc: Doc) -> None:
    nodes = doc["symbol"]["nodes"]
    node = _node(rng, doc)
    inputs = node.setdefault("inputs", [])
    if not isinstance(inputs, list):
        return
    target = [rng.randrange(-1, len(nodes) + 1), rng.choice([0, 0, 0, 1, 2, 7, -1, 10**9]), 0]
    if rng.random() < 0.7:
        target = [rng.randrange(max(1, nodes.index(node))), 0, 0]
    match rng.randrange(4):
        case 0:
            inputs.append(target)
        case 1 if inputs:
            del inputs[rng.randrange(len(inputs))]
        case 2 if inputs:
            rng.shuffle(inputs)
        case _ if inputs:
            inputs[rng.randrange(len(inputs))] = target


def change_name(rng: random.Random, doc: Doc) -> None:
    other = _node(rng, doc).get("name")
    _node(rng, doc)["name"] = rng.choice([other, other, "", "é\u202e\x1b[31m", "n" * 5000, "a/../b", None, 3])


def change_heads(rng: random.Random, doc: Doc) -> None:
    nodes = doc["symbol"]["nodes"]
    doc["symbol"]["heads"] = rng.choice(
        [
            [],
            [[rng.randrange(len(nodes)), rng.choice([0, 0, 1, 3, 10**9]), 0]],
            [[i, 0, 0] for i in range(len(nodes))],
            None,
        ]
    )


def change_feed(rng: random.Random, doc: Doc) -> None:
    """The shape or dtype of what is fed."""
    if not doc["feeds"]:
        return
    name = rng.choice(sorted(doc["feeds"]))
    dtype, shape = doc["feeds"][name]
    shape = list(shape)
    match rng.randrange(5):
        case 0:
            dtype = rng.choice(DTYPES)
        case 1 | 2 if shape:
            shape[rng.randrange(len(shape))] = rng.choice(DIMS[:8] if rng.random() < 0.9 else DIMS)
        case 3:
            shape.insert(rng.randrange(len(shape) + 1), rng.choice(DIMS[:5]))
        case _ if shape:
            del shape[rng.randrange(len(shape))]
    doc["feeds"][name] = [dtype, shape]


def drop_feed(rng: random.Random, doc: Doc) -> None:
    if doc["feeds"]:
        del doc["feeds"][rng.choice(sorted(doc["feeds"]))]


def append(rng: random.Random, doc: Doc) -> None:
    """Another operator behind the last one, with inputs of its own but for one or two."""
    other = copy.deepcopy(rng.choice(one_node_docs()))
    nodes, more = doc["symbol"]["nodes"], other["symbol"]["nodes"]
    before, tag = len(nodes), f"_{rng.randrange(1000)}"
    for node in more:
        node["inputs"] = [[r[0] + before, *r[1:]] for r in node["inputs"]]
        node["name"] += tag
    for _ in range(rng.randrange(1, 3)):
        if more[-1]["inputs"]:
            more[-1]["inputs"][rng.randrange(len(more[-1]["inputs"]))] = [before - 1, 0, 0]
    nodes += more
    doc["feeds"] |= {name + tag: feed for name, feed in other["feeds"].items()}
    doc["symbol"]["heads"] = [[len(nodes) - 1, 0, 0]]


def nest(rng: random.Random, doc: Doc) -> None:
    """The symbol as a subgraph, of itself or of control flow."""
    inner = {k: copy.deepcopy(v) for k, v in doc["symbol"].items() if k in ("nodes", "heads", "arg_nodes")}
    for _ in range(rng.choice([1, 1, 2, 5, 60])):
        inner = {"nodes": [{"op": "_cond", "name": "c", "inputs": [], "subgraphs": [inner]}], "heads": [[0, 0, 0]]}
    _node(rng, doc)["subgraphs"] = rng.choice([[inner], [inner, inner], [inner] * 3, inner, [None]])


def lengthen(rng: random.Random, doc: Doc) -> None:
    """A long chain behind the last node."""
    if rng.random() < 0.9:
        return
    nodes = doc["symbol"]["nodes"]
    for _ in range(rng.choice([100, 100, 100, 1500])):
        nodes.append({"op": "relu", "name": f"long{len(nodes)}", "inputs": [[len(nodes) - 1, 0, 0]]})
    doc["symbol"]["heads"] = [[len(nodes) - 1, 0, 0]]


def change_structure(rng: random.Random, doc: Doc) -> None:
    """Any member of the JSON becomes something else."""
    at: Any = doc["symbol"]
    for _ in range(rng.randrange(1, 6)):
        keys: list[Any] = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = rng.choice(keys)
        if not isinstance(at[key], dict | list) or rng.random() < 0.2:
            at[key] = rng.choice([None, 0, -1, 1.5, "x", [], {}, [[0, 0]], True, 10**400, float("nan"), "\ud800"])
            return
        at = at[key]


_OPERATORS = sorted(n for n in REGISTRY if not n.startswith(("_fused_", "_backward_")))
CHANGES: list[tuple[Callable[[random.Random, Doc], None], int]] = [
    (change_attribute, 6),
    (nudge_attribute, 8),
    (drop_attribute, 2),
    (add_attribute, 3),
    (change_operator, 3),
    (rewire, 4),
    (change_name, 1),
    (change_heads, 1),
    (change_feed, 10),
    (drop_feed, 2),
    (append, 6),
    (nest, 1),
    (lengthen, 1),
    (change_structure, 1),
]


def copied(doc: Doc) -> Doc:
    return copy.deepcopy(doc)


def changed(rng: random.Random, seed: Doc) -> Doc:
    """A copy with one to four changes. What an earlier change has broken a later one may not find: then it is left."""
    doc = copied(seed)
    changes, weights = zip(*CHANGES)
    for change in rng.choices(changes, weights, k=rng.choice([1, 1, 2, 3, 4])):
        try:
            change(rng, doc)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):
            break
    return doc


# -- both engines -----------------------------------------------------------------------------------------------------


class Disagreement(AssertionError):
    """Two answers that ought to be one, or an answer where the other is an error."""


def typed(error: Exception) -> bool:
    """True where an error is one of the allowed: raised on purpose, and no bug by its own words."""
    return isinstance(error, MXNetError) and not isinstance(error, InternalError) and "please report" not in str(error)


def arrays_for(doc: Doc) -> dict[str, np.ndarray]:
    """Numbers for the feeds, the same for the same names and shapes. Raises MXNetError for those that are too large here."""
    feeds = {}
    for name, (dtype, shape) in doc["feeds"].items():
        size = int(np.prod(shape, dtype=object)) if shape else 1
        if size > RUNS:
            raise MXNetError(f"{name}: {size} elements")
        if min(shape, default=0) < 0:
            raise MXNetError(f"{name}: shape {shape}")
        rng = np.random.default_rng([len(name), size])
        kind = read_dtype(dtype)
        values = rng.integers(0, 4, shape) if kind.kind in "iub" else rng.uniform(-2, 2, shape)
        feeds[name] = np.asarray(values).astype(kind)
    return feeds


def compared(graph: Graph, feeds: Mapping[str, np.ndarray], numbers: bool) -> bool:
    """Run by NumPy and compiled, and compare; whether they gave an answer and no typed error. Raises Disagreement."""
    found: list[Any] = []
    for native in (False, True):
        program = Program(graph, native=native)
        draw_from(5)  # what is drawn may be refused by what reads it: by both or by none
        try:
            found.append(program.run({n: feeds[n].copy() for n in program.inputs}))  # which updates may write to
        except MXNetError as error:
            if not typed(error):
                raise
            found.append(error)
    one, other = found
    if isinstance(one, Exception) or isinstance(other, Exception):
        if not (isinstance(one, Exception) and isinstance(other, Exception)):
            who, error = ("NumPy", one) if isinstance(one, Exception) else ("the compiled part", other)
            raise Disagreement(f"only {who} refuses: {error}")
        return False
    for entry, a, b in zip(graph.outputs, one, other, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise Disagreement(f"{entry.name}: {a.dtype}{a.shape} by NumPy, {b.dtype}{b.shape} compiled")
        if numbers and not near(a, b) and steady(graph, feeds, entry, a):
            raise Disagreement(f"{entry.name} differs: {a.reshape(-1)[:8]} by NumPy, {b.reshape(-1)[:8]} compiled")
    return True


def steady(graph: Graph, feeds: Mapping[str, np.ndarray], entry: Entry, wanted: np.ndarray) -> bool:
    """True where an output stays the same, by NumPy, when what is fed and what every step gives are moved by their rounding: only
    then may two engines be asked for one answer. What a mutation leaves of a network may divide by what rounding leaves of 0."""
    program = Program(Graph([entry]), native=False)
    for seed in range(4):
        shaken = _Shaken(seed)
        moved = {n: feeds[n].copy() for n in program.inputs}
        for array in moved.values():
            shaken.move(array, summed=False)
        try:
            result = program.run(moved, shaken)[0]
        except MXNetError:
            return False  # values that it refuses are near
        if shaken.overflowed or not near(result, wanted, 1 / 16):
            return False
    return True


class _Shaken:
    """Observes a run, in which it moves what every step gives."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.infinite: set[int] = set()
        self.overflowed = False
        """True where a sum of finite numbers was none: with which sign, or NaN, is a matter of its order."""

    def __call__(self, node: Node, results: Sequence[np.ndarray]) -> None:
        summed = node.op is not None and node.op.name in SUMS
        if not all(np.isfinite(r).all() for r in results if r.dtype.kind == "f"):
            self.infinite.add(id(node))
            if summed and not any(id(e.node) in self.infinite for e in node.inputs):
                self.overflowed = True
        for result in results:
            self.move(result, summed)

    def move(self, array: np.ndarray, summed: bool) -> None:
        """Move each number by a rounding of its own, or of the largest beside it."""
        if array.dtype.kind != "f" or not array.size or not array.flags.writeable:
            return
        eps, signs = np.finfo(array.dtype).eps, self.rng.choice([-1, 1], array.shape)
        with np.errstate(all="ignore"):
            if summed:
                largest = np.abs(array[np.isfinite(array)]).max(initial=0.0)
                moved = array + (OF_SUMS * eps * largest * signs).astype(array.dtype)
            else:
                moved = array * (1 + 4 * eps * signs).astype(array.dtype)
        array[...] = np.where(np.isfinite(moved), moved, array)


def near(a: np.ndarray, b: np.ndarray, share: float = 1.0) -> bool:
    """True where two results are the same but for rounding, of which a share is allowed: so much of the largest number."""
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "OSU" or not a.size:
        return True
    if a.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(x)
    if (finite != np.isfinite(y)).any():
        return False
    # which of inf, -inf and nan comes of sums that overflow is a matter of their order
    scale = np.abs(x[finite]).max(initial=0.0)
    with np.errstate(all="ignore"):
        return bool((np.abs(x - y)[finite] <= share * TOLERANCE[a.dtype.itemsize] * (scale + 1e-6)).all())


def comparable(graph: Graph) -> bool:
    """True where numbers have to agree: nothing random, and nothing where a rounding changes who is greatest."""
    return not any(n.op is not None and ("rng" in n.op.needs or n.op.is_ordering) for n in graph.all_nodes())


def decomposes(op: Op) -> bool:
    """True for LAPACK's functions: of whole numbers, whose matrices may be of less than full rank, they give what rounding on the
    machine at hand makes of it."""
    return type(op).__module__.rpartition(".")[2] in ("np_linalg", "np_norm", "linalg_decompositions")
