"""Products of one row, and a step of decoding like GPT-2's (12 layers of 768, 128 tokens before it).

With weights as float32, bfloat16 and int8, beside onnxruntime in float32 and its MatMulNBits (int8 in blocks of 32,
activations too). CPU time of one thread, the least of many calls in turns, and
the largest error by the largest number of the first output.

    python benchmarks/decoding.py [--seconds 2] [decode] [768x3072] [4096x4096]"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

import converters
from hybrid import native
from hybrid.core.precision import PRECISIONS
from hybrid.execution.program import Program

WIDTH, HEADS, LAYERS, PAST = 768, 12, 12, 128
BLOCK = 32
PRODUCT = "agraph (float[1,{k}] x) => (float[1,{n}] y) <float[{k},{n}] w> {{ y = MatMul(x, w) }}"
LAYER = """
    a{i} = LayerNormalization<axis=-1>(x{i}, g{i}, b{i})
    p{i} = MatMul(a{i}, wqkv{i})
    q{i}, k{i}, v{i} = Split<axis=2, num_outputs=3>(p{i})
    rq{i} = Reshape(q{i}, heads)
    rk{i} = Reshape(k{i}, heads)
    rv{i} = Reshape(v{i}, heads)
    tq{i} = Transpose<perm=[0, 2, 1, 3]>(rq{i})
    tk{i} = Transpose<perm=[0, 2, 1, 3]>(rk{i})
    tv{i} = Transpose<perm=[0, 2, 1, 3]>(rv{i})
    nk{i} = Concat<axis=2>(pk{i}, tk{i})
    nv{i} = Concat<axis=2>(pv{i}, tv{i})
    kt{i} = Transpose<perm=[0, 1, 3, 2]>(nk{i})
    s{i} = MatMul(tq{i}, kt{i})
    c{i} = Mul(s{i}, scale)
    m{i} = Softmax<axis=-1>(c{i})
    o{i} = MatMul(m{i}, nv{i})
    to{i} = Transpose<perm=[0, 2, 1, 3]>(o{i})
    ro{i} = Reshape(to{i}, whole)
    wo_{i} = MatMul(ro{i}, wo{i})
    y{i} = Add(x{i}, wo_{i})
    d{i} = LayerNormalization<axis=-1>(y{i}, g{i}, b{i})
    e{i} = MatMul(d{i}, wi{i})
    f{i} = Gelu(e{i})
    h{i} = MatMul(f{i}, wf{i})
    x{j} = Add(y{i}, h{i})"""

Case = tuple[onnx.ModelProto, dict[str, np.ndarray]]


def weights(rng: np.random.Generator, name: str, *shape: int) -> onnx.TensorProto:
    """Weights whose products keep the size of what they are given."""
    size = shape[0] ** -0.5 if len(shape) == 2 else 1
    return numpy_helper.from_array(rng.normal(0, size, shape).astype(np.float32), name)


def product(k: int, n: int) -> Case:
    """One row times a matrix."""
    rng = np.random.default_rng(0)
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> ' + PRODUCT.format(k=k, n=n))
    model.graph.initializer.append(weights(rng, "w", k, n))
    return model, {"x": rng.normal(size=(1, k)).astype(np.float32)}


def decoding() -> Case:
    """One token through all layers."""
    rng = np.random.default_rng(0)
    depth = WIDTH // HEADS
    caches = [f"p{c}{i}" for i in range(LAYERS) for c in "kv"]
    results = [f"float[1, {HEADS}, {PAST + 1}, {depth}] n{c[1:]}" for c in caches]
    given = [f"float[1, {HEADS}, {PAST}, {depth}] {c}" for c in caches]
    text = "".join(LAYER.format(i=i, j=i + 1) for i in range(LAYERS))
    head = f"decode (float[1, 1, {WIDTH}] x0, {', '.join(given)}) => (float[1, 1, {WIDTH}] x{LAYERS}, {', '.join(results)})"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> {head} {{{text}\n}}')
    stored = model.graph.initializer
    stored.append(numpy_helper.from_array(np.array([1, 1, HEADS, depth]), "heads"))
    stored.append(numpy_helper.from_array(np.array([1, 1, WIDTH]), "whole"))
    stored.append(numpy_helper.from_array(np.array(depth**-0.5, np.float32), "scale"))
    for i in range(LAYERS):
        shapes = {"g": (WIDTH,), "b": (WIDTH,), "wqkv": (WIDTH, 3 * WIDTH), "wo": (WIDTH, WIDTH)}
        shapes |= {"wi": (WIDTH, 4 * WIDTH), "wf": (4 * WIDTH, WIDTH)}
        stored.extend(weights(rng, f"{name}{i}", *shape) for name, shape in shapes.items())
    feeds = {c: rng.normal(size=(1, HEADS, PAST, depth)).astype(np.float32) for c in caches}
    return model, {"x0": rng.normal(size=(1, 1, WIDTH)).astype(np.float32), **feeds}


def in_blocks(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with MatMulNBits of 8 bits for products with stored matrices, activations in int8."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    stored = {t.name: t for t in made.graph.initializer}
    for node in made.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in stored:
            continue
        tensor = stored[node.input[1]]
        matrix = numpy_helper.to_array(tensor)
        k, n = matrix.shape
        blocks = matrix.T.reshape(n, k // BLOCK, BLOCK)
        scales = np.abs(blocks).max(-1, keepdims=True) / 127
        made.graph.initializer.remove(tensor)
        made.graph.initializer.append(
            numpy_helper.from_array((np.rint(blocks / scales) + 128).astype(np.uint8), tensor.name)
        )
        made.graph.initializer.append(numpy_helper.from_array(scales.reshape(n, -1), f"{tensor.name}_scales"))
        node.op_type, node.domain = "MatMulNBits", "com.microsoft"
        node.input.append(f"{tensor.name}_scales")
        attributes = {"K": k, "N": n, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        node.attribute.extend(onnx.helper.make_attribute(name, value) for name, value in attributes.items())
    made.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return made


def theirs(model: onnx.ModelProto) -> Any:
    """A session of onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def least(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The least CPU time of each call, in turns."""
    found = dict.fromkeys(calls, float("inf"))
    end = time.process_time() + seconds * len(calls)
    while time.process_time() < end:
        for name, call in calls.items():
            for _ in range(3):
                start = time.process_time()
                call()
                found[name] = min(found[name], time.process_time() - start)
    return found


def measure(name: str, case: Case, seconds: float, as_json: bool) -> None:
    """Print a line for each side."""
    model, feeds = case
    symbol, *stored = converters.from_onnx(model)
    params = {n: a.asnumpy() if hasattr(a, "asnumpy") else a for part in stored for n, a in part.items()}
    calls: dict[str, Callable[[], Any]] = {}
    for precision in PRECISIONS:
        program = Program(symbol.graph, params, precision=precision, keep=True)
        calls[precision] = lambda program=program: program.run(feeds)
    for label, session in (("onnxruntime", theirs(model)), ("onnxruntime int8", theirs(in_blocks(model)))):
        calls[label] = lambda session=session: session.run(None, feeds)
    want = calls["onnxruntime"]()[0]
    for label, took in least(calls, seconds).items():
        error = np.abs(calls[label]()[0].reshape(want.shape) - want).max() / np.abs(want).max()
        if as_json:
            print(json.dumps({"case": name, "side": label, "us": took * 1e6, "error": float(error)}), flush=True)
            continue
        print(f"{name:10} {label:17} {took * 1e6:10.1f} us   error {error:.1e}", flush=True)


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["768x3072", "4096x4096", "decode"])
    parser.add_argument("--seconds", type=float, default=2.0, help="of each side")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    native.set_num_threads(1)
    for name in options.cases:
        case = decoding() if name == "decode" else product(*map(int, name.split("x")))
        measure(name, case, options.seconds, options.json)


if __name__ == "__main__":
    main()
