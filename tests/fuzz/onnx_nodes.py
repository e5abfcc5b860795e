"""ONNX models of one node, drawn from what the schema and the reading of its operator say: every rank, dtype and attribute."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, TypeProto, helper, numpy_helper

import converters.ops  # noqa: F401  fills the registry
from converters.error import ConversionError
from converters.onnx_types import CODES, kind_of
from converters.registry import IMPORT
from converters.schemas import schema_of

from .onnx_models import judge as judge

SURFACE = "onnx-nodes"
Reading = tuple[str, str, int]
"""Domain, operator and the opset from which it holds."""
NUMBERS = [0, 1, 1, 1, 2, 2, 3, 4, -1, -1, -2, -3, 5, 7, 100]
FLOATS = [0.0, 1.0, 1.0, -1.0, 0.5, 2.0, 1e30, float("nan"), float("inf")]
WORDS = ["", "linear", "nearest", "cubic", "constant", "reflect", "edge", "wrap", "SAME_UPPER", "VALID", "NOTSET", "mean", "none",
         "sum", "bidirectional", "reverse", "forward", "Tanh", "Relu", "ij,jk->ik", "...i->i", "DCR", "asymmetric", "half_pixel",
         "align_corners", "max", "avg", "tf_crop_and_resize", "softmax", "zeros", "TF", "[a-z]+", "right"]  # fmt: skip
DTYPES = ["float", "double", "float16", "int64", "int32", "uint8", "int8", "bool", "string", "bfloat16"]
SIZES = [0, 1, 1, 2, 2, 3, 4, 5]


def seeds() -> list[Reading]:
    """All readings there are."""
    return sorted((domain, name, since) for (domain, name), found in IMPORT.items() for since in found)


def mutate(rng: random.Random, seed: Reading) -> bytes:
    """A model whose one node has inputs and attributes of the forms that are allowed it, and now and then others."""
    return _model(rng, *seed).SerializeToString()


def _model(rng: random.Random, domain: str, name: str, since: int) -> ModelProto:
    later = [v for v in IMPORT[domain, name] if v > since]
    newest = min(later) - 1 if later else max(since, 22 if not domain else since)
    opset = rng.choice([since, newest, rng.randint(since, newest)])
    schema = schema_of(name, opset, domain)
    graph = onnx.GraphProto(name=rng.choice(["m", "m", "m", "mxnet_converted_model"]))
    outputs = [f"y{i}" for i in range(rng.choice([1, 1, 1, 2, 3]))]
    node = graph.node.add(op_type=name, domain=domain, output=outputs)
    shape = tuple(rng.choice(SIZES) for _ in range(rng.choice([0, 1, 2, 2, 3, 4, 4, 5])))
    bound: dict[str, str] = {}
    for i, kind in enumerate(_kinds(rng, schema, domain, name, since, bound)):
        node.input.append(f"x{i}" if kind else "")
        if kind:
            _give(rng, graph, f"x{i}", kind, shape)
    node.attribute.extend(_attributes(rng, schema, domain, name, since, len(node.input)))
    graph.output.extend(helper.make_value_info(o, TypeProto()) for o in outputs)
    opsets = [helper.make_opsetid("", opset if not domain else 21)]
    opsets += [helper.make_opsetid(domain, opset)] if domain else []
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _kinds(rng: random.Random, schema: Any, domain: str, name: str, since: int, bound: dict[str, str]) -> list[str]:
    """The types of the inputs, empty for those left out; most of them as the schema wants."""
    if schema is None:
        found = IMPORT[domain, name][since]
        count = rng.randint(found.least, found.least + 4 if found.most is None else found.most)
        one = rng.choice(DTYPES[:2])
        return [
            "" if i >= found.least and rng.random() < 0.3 else f"tensor({rng.choice([one, one, one, *DTYPES])})"
            for i in range(count)
        ]
    allowed = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    options = onnx.defs.OpSchema.FormalParameterOption
    kinds = []
    for formal in schema.inputs:
        for _ in range(rng.choice([1, 2, 3]) if formal.option == options.Variadic else 1):
            if formal.option == options.Optional and rng.random() < 0.5:
                kinds.append("")
                continue
            given = bound.setdefault(formal.type_str, rng.choice(allowed.get(formal.type_str, [formal.type_str])))
            kinds.append(f"tensor({rng.choice(DTYPES)})" if rng.random() < 0.02 else given)
    while kinds and not kinds[-1]:
        kinds.pop()
    return kinds


def _give(rng: random.Random, graph: onnx.GraphProto, name: str, kind: str, shape: tuple[int, ...]) -> None:
    """Add an initializer or an input of that type: of the shape, of one axis, of none or of another."""
    try:
        declared = kind_of(kind)
    except ConversionError:
        declared = kind_of("tensor(float)")
    if not declared.HasField("tensor_type"):
        graph.input.append(helper.make_value_info(name, declared))
        return
    other = tuple(rng.choice(SIZES) for _ in range(rng.choice([0, 1, 1, 2, 3])))
    mine = rng.choice([shape, shape, shape, (len(shape),), (2 * len(shape),), (), (1,), other])
    code = declared.tensor_type.elem_type
    if rng.random() < 0.5:
        graph.initializer.append(_stored(rng, name, code, mine))
        return
    dims = None if rng.random() < 0.1 else [rng.choice([d, d, d, d, "n"]) for d in mine]
    graph.input.append(helper.make_tensor_value_info(name, code, dims))


def _stored(rng: random.Random, name: str, code: int, shape: tuple[int, ...]) -> onnx.TensorProto:
    size = int(np.prod(shape))
    if code == onnx.TensorProto.STRING:
        return helper.make_tensor(name, code, shape, [rng.choice(WORDS).encode() for _ in range(size)])
    numbers = [rng.choice(NUMBERS) for _ in range(size)]
    kind = {v: k for k, v in CODES.items()}.get(code, "float32")
    if kind.startswith(("float", "int", "bool", "uint")) and kind in np.sctypeDict:
        return numpy_helper.from_array(np.array(numbers).astype(kind).reshape(shape), name)
    return helper.make_tensor(name, onnx.TensorProto.FLOAT, shape, [float(n) for n in numbers])


def _attributes(
    rng: random.Random, schema: Any, domain: str, name: str, since: int, inputs: int
) -> list[AttributeProto]:
    if schema is None:
        wanted = _signature(domain, name, since)
    else:
        wanted = {n: (a.type.name, a.required) for n, a in schema.attributes.items()}
    taken = [(n, kind) for n, (kind, required) in wanted.items() if rng.random() < (0.98 if required else 0.4)]
    return [_attribute(rng, n, kind, inputs) for n, kind in sorted(taken)]


def _signature(domain: str, name: str, since: int) -> dict[str, tuple[str, bool]]:
    """The attributes that a reading takes by keyword: their forms by their defaults, and whether they are required."""
    found = IMPORT[domain, name][since]
    return {n: (found.types.get(n, "INT").replace("FLOATS", "INTS"), n in found.required) for n in found.attributes}


def _attribute(rng: random.Random, name: str, kind: str, inputs: int) -> AttributeProto:
    """An attribute of the type, and now and then of another."""
    kind = (
        rng.choice(["INT", "FLOAT", "STRING", "INTS", "FLOATS", "STRINGS", "TENSOR", "GRAPH"])
        if rng.random() < 0.03
        else kind
    )
    some = range(rng.choice([0, 1, 1, 2, 2, 3, 4, 4, 6, 8]))
    match kind:
        case "INT":
            return helper.make_attribute(name, rng.choice([*NUMBERS, 0, 1]))
        case "FLOAT":
            return helper.make_attribute(name, rng.choice(FLOATS))
        case "STRING":
            return helper.make_attribute(name, rng.choice(WORDS))
        case "INTS" | "FLOATS" | "STRINGS":
            values = {"INTS": NUMBERS, "FLOATS": FLOATS, "STRINGS": WORDS}[kind]
            drawn = [rng.choice(values) for _ in some]
            return helper.make_attribute(name, drawn, attr_type=getattr(AttributeProto, kind))
        case "TENSOR":
            shape = tuple(rng.choice(SIZES) for _ in range(rng.choice([0, 1, 1, 2])))
            return helper.make_attribute(name, _stored(rng, "", rng.choice([1, 1, 6, 7, 8, 9, 11]), shape))
        case "GRAPH":
            count = max(0, inputs + rng.choice([-2, -1, 0, 0, 1]))
            names = [f"{name}{i}" for i in range(count)]
            ends = [*names, *names][: max(1, count + rng.choice([-1, 0, 0, 1]))] or ["x0"]
            body = helper.make_graph(
                [helper.make_node("Identity", [e], [f"{e}_{i}"]) for i, e in enumerate(ends)],
                name,
                [helper.make_value_info(n, rng.choice([TypeProto(), kind_of("tensor(float)")])) for n in names],
                [helper.make_value_info(f"{e}_{i}", TypeProto()) for i, e in enumerate(ends)],
            )
            return helper.make_attribute(name, body)
    return helper.make_attribute(name, kind_of("tensor(float)"))
