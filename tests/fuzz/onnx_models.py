"""ONNX models: read as graphs of MXNet's operators, inferred, run by both engines."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

import converters
from converters.error import ConversionError
from converters.importer import import_model
from converters.onnx_types import KEY as KIND
from hybrid.core.error import MXNetError
from hybrid.core.memory_budget import set_step_budget
from hybrid.core.op import Example, Spec
from hybrid.core.shapes import UNKNOWN, is_known
from hybrid.execution.program import Program
from hybrid.ir.infer import infer
from tests.table.examples import examples, graph_of

from . import REFUSED, RIGHT
from .graphs import DTYPES, FIXTURES, RUNS, arrays_for, comparable, compared, typed

SURFACE = "onnx"
SMALL = 24_000
STEPS = 100
"""Steps that a loop may take."""
OPSETS = (13, 17, 21)
NUMBERS = [0, 1, -1, 2, 3, 7, -2, 64, 1000, 10**9, 2**31, -(2**31), 2**63 - 1, -(2**63)]
FLOATS = [0.0, 1.0, -1.0, 0.5, 1e30, -1e30, float("nan"), float("inf")]


def seeds() -> list[str | int]:
    """The examples of all operators, as numbers, which are exported when they are wanted; the small models among fixtures."""
    paths = sorted(str(p.relative_to(FIXTURES)) for p in FIXTURES.glob("onnx/*/*.onnx") if p.stat().st_size <= SMALL)
    return [*range(len(_examples())), *paths * 3]


@functools.cache
def _examples() -> list[Example]:
    return list(examples())


@functools.lru_cache(4096)
def _model(seed: str | int) -> bytes:
    """The model of a seed; of an operator that has no translation the first fixture."""
    if isinstance(seed, str):
        return (FIXTURES / seed).read_bytes()
    graph, feeds = graph_of(_examples()[seed])
    specs = {n: Spec(a.shape, a.dtype) for n, a in feeds.items()}
    try:
        return converters.convert(graph, {}, specs, OPSETS[seed % 3]).proto().SerializeToString()
    except ConversionError:
        return _model("onnx/keras_cnn/model.onnx")


def mutate(rng: random.Random, seed: str | int) -> bytes:
    """A model with one to three changes, now and then of its bytes."""
    model = onnx.load_from_string(_model(seed))
    for change in rng.choices(*zip(*CHANGES), k=rng.choice([1, 1, 1, 2, 3])):
        try:
            change(rng, model)
        except (ValueError, TypeError, IndexError, AttributeError, KeyError, OverflowError):
            continue  # there is nothing such to change
    data = model.SerializeToString()
    if rng.random() < 0.1:
        place, span = rng.randrange(len(data)), rng.choice([1, 1, 2, 50])
        noise = rng.randbytes(rng.choice([0, 1, span]))
        data = data[:place] + (noise + data[place + span :] if rng.random() < 0.8 else b"")
    return data


# -- changes ----------------------------------------------------------------------------------------------------------


def _graphs(graph: GraphProto) -> list[GraphProto]:
    found = [graph]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                found += _graphs(attribute.g)
    return found


def _graph(rng: random.Random, model: ModelProto) -> GraphProto:
    return rng.choice(_graphs(model.graph))


def _node(rng: random.Random, model: ModelProto) -> NodeProto:
    nodes = [*_graph(rng, model).node, *(n for f in model.functions for n in f.node)]
    return rng.choice(nodes)


def change_attribute(rng: random.Random, model: ModelProto) -> None:
    attribute = rng.choice(_node(rng, model).attribute)
    kind = attribute.type
    if rng.random() < 0.1:
        attribute.type = rng.randrange(0, 15)
    elif kind == AttributeProto.INT:
        attribute.i = rng.choice([*NUMBERS, attribute.i + 1, attribute.i - 1])
    elif kind == AttributeProto.FLOAT:
        attribute.f = rng.choice(FLOATS)
    elif kind == AttributeProto.STRING:
        attribute.s = rng.choice(
            [b"", b"linear", b"SAME_UPPER", b"\xff\xfe", attribute.s + b"x", b"NOTSET", b"constant"]
        )
    elif kind == AttributeProto.INTS:
        _change_list(rng, attribute.ints, NUMBERS)
    elif kind == AttributeProto.FLOATS:
        _change_list(rng, attribute.floats, FLOATS)
    elif kind == AttributeProto.TENSOR:
        _change_tensor(rng, attribute.t)


def _change_list(rng: random.Random, values: Any, choices: list[Any]) -> None:
    match rng.randrange(4):
        case 0:
            values.append(rng.choice(choices))
        case 1 if values:
            del values[rng.randrange(len(values))]
        case 2 if values:
            place = rng.randrange(len(values))
            values[place] = values[place] + rng.choice([-1, 1])
        case _ if values:
            values[rng.randrange(len(values))] = rng.choice(choices)


def drop_attribute(rng: random.Random, model: ModelProto) -> None:
    attributes = _node(rng, model).attribute
    del attributes[rng.randrange(len(attributes))]


def copy_attribute(rng: random.Random, model: ModelProto) -> None:
    """One of another node, or the same twice."""
    _node(rng, model).attribute.append(rng.choice(_node(rng, model).attribute))


def change_operator(rng: random.Random, model: ModelProto) -> None:
    _node(rng, model).op_type = rng.choice([*_operators(), "NoSuchOperator", ""])


def change_domain(rng: random.Random, model: ModelProto) -> None:
    _node(rng, model).domain = rng.choice(["", "ai.onnx", "com.microsoft", "ai.onnx.ml", "org.example"])


def rewire(rng: random.Random, model: ModelProto) -> None:
    node = _node(rng, model)
    graph = _graph(rng, model)
    names = ["", "nowhere", *(t.name for t in graph.initializer), *(i.name for i in graph.input)]
    names += [o for n in graph.node for o in n.output]
    values = node.input if rng.random() < 0.85 else node.output
    match rng.randrange(4):
        case 0:
            values.append(rng.choice(names))
        case 1 if values:
            del values[rng.randrange(len(values))]
        case _ if values:
            values[rng.randrange(len(values))] = rng.choice(names)


def drop_node(rng: random.Random, model: ModelProto) -> None:
    nodes = _graph(rng, model).node
    del nodes[rng.randrange(len(nodes))]


def copy_node(rng: random.Random, model: ModelProto) -> None:
    """Another time, at the end or inside of a branch, under names of its own or the same."""
    node = NodeProto()
    node.CopyFrom(_node(rng, model))
    if rng.random() < 0.7:
        for i, name in enumerate(node.output):
            node.output[i] = f"{name}_again"
    _graph(rng, model).node.append(node)


def append(rng: random.Random, model: ModelProto) -> None:
    """Another operator behind an output: of creation and shape, where sizes are data."""
    graph = model.graph
    names = [o for n in graph.node for o in n.output] + [i.name for i in graph.input]
    number = f"appended{rng.randrange(10**6)}"
    sizes = [rng.choice([1, 2, 3, 5, -1, 0, 10**5, 10**9, 2**62]) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    graph.initializer.append(helper.make_tensor(f"{number}_sizes", TensorProto.INT64, [len(sizes)], sizes))
    kind = rng.choice(
        ["ConstantOfShape", "Expand", "Tile", "Reshape", "Range", "OneHot", "Resize", "Pad", "Identity", "Slice"]
    )
    data = rng.choice(names)
    inputs = {
        "ConstantOfShape": [f"{number}_sizes"],
        "Identity": [data],
        "Range": [rng.choice([data, f"{number}_sizes"]) for _ in range(3)],
        "OneHot": [data, f"{number}_sizes", f"{number}_sizes"],
        "Resize": [data, "", "", f"{number}_sizes"],
        "Slice": [data, f"{number}_sizes", f"{number}_sizes"],
    }.get(kind, [data, f"{number}_sizes"])
    graph.node.append(helper.make_node(kind, inputs, [number], name=number))
    graph.output.append(helper.make_tensor_value_info(number, TensorProto.FLOAT, None))


def _change_tensor(rng: random.Random, tensor: TensorProto) -> None:
    match rng.randrange(5):
        case 0:
            tensor.data_type = rng.choice([0, 1, 2, 3, 6, 7, 9, 10, 11, 16, 17, 22, 99])
        case 1:
            _change_list(rng, tensor.dims, NUMBERS)
        case 2 if tensor.raw_data:
            data = bytearray(tensor.raw_data)
            data[rng.randrange(len(data))] = rng.randrange(256)
            tensor.raw_data = bytes(data)
        case 3 if tensor.raw_data:
            tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data))]
        case 4 if tensor.int64_data:
            _change_list(rng, tensor.int64_data, NUMBERS)
        case _:
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=rng.choice(["x", "../x", "/etc/passwd", ""]))


def change_initializer(rng: random.Random, model: ModelProto) -> None:
    _change_tensor(rng, rng.choice(_graph(rng, model).initializer))


def change_value(rng: random.Random, model: ModelProto) -> None:
    """The declared type of an input or output."""
    graph = _graph(rng, model)
    info = rng.choice([*graph.input, *graph.input, *graph.output, *graph.value_info])
    kind = info.type.tensor_type
    match rng.randrange(6):
        case 0:
            kind.elem_type = rng.choice([0, 1, 6, 7, 9, 10, 11, 99])
        case 1:
            kind.shape.dim.add().dim_value = rng.choice([1, 2, 3])
        case 2 if kind.shape.dim:
            del kind.shape.dim[rng.randrange(len(kind.shape.dim))]
        case 3:
            kind.shape.dim[rng.randrange(len(kind.shape.dim))].dim_param = rng.choice(["N", "batch", ""])
        case 4:
            kind.shape.dim[rng.randrange(len(kind.shape.dim))].dim_value = rng.choice(
                [0, 1, 2, 3, 5, 8, 1000, 2**40, -1]
            )
        case 5:
            info.name = rng.choice(["", "nowhere", graph.output[0].name])


def change_opset(rng: random.Random, model: ModelProto) -> None:
    model.opset_import[0].version = rng.choice([0, 1, 6, 7, 9, 11, 13, 15, 18, 20, 21, 22, 23, 24, 99, -1])


def change_outputs(rng: random.Random, model: ModelProto) -> None:
    outputs = model.graph.output
    names = [o for n in model.graph.node for o in n.output]
    if rng.random() < 0.5:
        outputs.append(helper.make_tensor_value_info(rng.choice(names), rng.choice([1, 7, 9]), None))
    else:
        del outputs[rng.randrange(len(outputs))]


def nest(rng: random.Random, model: ModelProto) -> None:
    """The whole graph as the branch of an If, perhaps in one another."""
    for _ in range(rng.choice([1, 1, 2, 4, 40])):
        inner = GraphProto()
        inner.CopyFrom(model.graph)
        del inner.input[:]
        made = [o.name for o in inner.output]
        node = helper.make_node("If", ["condition"], [f"{n}_out" for n in made], then_branch=inner, else_branch=inner)
        del model.graph.node[:], model.graph.initializer[:]
        if not any(i.name == "condition" for i in model.graph.input):
            model.graph.input.append(helper.make_tensor_value_info("condition", TensorProto.BOOL, []))
        model.graph.node.append(node)
        for out in model.graph.output:
            out.name += "_out"
        if model.ByteSize() > SMALL:
            break


_OPERATORS: list[str] = []


def _operators() -> list[str]:
    if not _OPERATORS:
        _OPERATORS.extend(sorted({s.name for s in onnx.defs.get_all_schemas() if s.domain == ""}))
    return _OPERATORS


Change = Callable[[random.Random, ModelProto], None]
CHANGES: list[tuple[Change, int]] = [
    (change_attribute, 14),
    (drop_attribute, 2),
    (copy_attribute, 2),
    (change_operator, 2),
    (change_domain, 1),
    (rewire, 4),
    (drop_node, 1),
    (copy_node, 1),
    (append, 4),
    (change_initializer, 6),
    (change_value, 8),
    (change_opset, 3),
    (change_outputs, 1),
    (nest, 1),
]

# -- judging ----------------------------------------------------------------------------------------------------------


def judge(case: bytes) -> str:
    before = set_step_budget(STEPS)  # a loop goes on for as long as the model says, and a changed one may say for ever
    try:
        found = import_model(case)
        return RIGHT if _runs(found) else REFUSED
    except (MXNetError, ConversionError) as error:
        if isinstance(error, MXNetError) and not typed(error):
            raise
        return REFUSED
    finally:
        set_step_budget(before)


def _runs(found: Any) -> bool:
    """True where inference and both engines have an answer, the same. Raises MXNetError where all refuse."""
    graph = found.graph
    shapes: dict[str, Any] = {n: a.shape for n, a in found.params.items()}
    dtypes: dict[str, Any] = {n: a.dtype for n, a in found.params.items()}
    for name, spec in found.inputs.items():
        if spec.shape is not None:
            # an axis that is left open has 3
            shapes[name] = tuple(d if isinstance(d, int) and d is not UNKNOWN else 3 for d in spec.shape)
        if spec.dtype is not None:
            dtypes[name] = spec.dtype
    names = {n.name for n in graph.variables()}
    shapes, dtypes = ({n: v for n, v in d.items() if n in names} for d in (shapes, dtypes))
    inferred = infer(graph, shapes, dtypes, default_dtype=np.float32, values=found.params)
    if any(n.attrs.get(KIND) for n in graph.variables()):
        return True  # sequences and optional values: nothing to draw
    if not all(
        n in shapes and is_known(shapes[n]) and n in dtypes and dtypes[n].name in DTYPES
        for n in names - {*found.params}
    ):
        return True
    size = sum(int(np.prod(s, dtype=object)) for s in inferred.shapes.values() if is_known(s))
    if size > RUNS:
        return True
    doc = {"feeds": {n: [dtypes[n].name, list(shapes[n])] for n in names if n not in found.params}}
    feeds = {**found.params, **arrays_for(doc)}
    whole = Program(graph, {n: a for n, a in found.params.items() if n in names})
    if any(n.op is not None and n.op.data_dependent_shape for n in graph.all_nodes()):
        whole.run(arrays_for(doc))
        return True
    return compared(graph, feeds, comparable(graph))
