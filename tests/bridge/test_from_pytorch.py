"""Graphs as PyTorch's exporters write them, read, and written again: what whole networks of theirs have shown."""

from pathlib import Path

import numpy as np
import onnx.parser
from onnx import ModelProto, numpy_helper

import bridge

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


def parsed(text: str, **weights: np.ndarray) -> ModelProto:
    """A model of opset 17, with weights."""
    model = onnx.parser.parse_model(f"{HEAD}\n{text}")
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in weights.items())
    onnx.checker.check_model(model, full_check=True)
    return model


def there_and_back(model: ModelProto, folder: Path) -> ModelProto:
    """The model read, compared, converted again, compared, and opened."""
    bridge.import_onnx(model, output=folder / "read")
    bridge.convert(folder / "read", output=folder / "back.onnx")
    return onnx.load(folder / "back.onnx")


def test_a_transposed_array_times_a_vector_stays_what_it_is_in_onnxruntime(tmp_path: Path) -> None:
    """onnxruntime makes of Transpose and MatMul one product that is wrong where the right one is a vector."""
    text = """net (float[b, 4, 3] x, float[4] w) => (float[b, 3] y, float[b, 3] z) {
        t = Transpose <perm = [0, 2, 1]> (x)
        y = MatMul (t, v)
        z = MatMul (t, w)
    }"""
    back = there_and_back(parsed(text, v=np.arange(4, dtype=np.float32)), tmp_path)
    ranks = {t.name: len(t.dims) for t in back.graph.initializer}
    assert 1 not in {ranks.get(n.input[1]) for n in back.graph.node if n.op_type == "MatMul"}


def test_two_states_that_are_the_same_zeros(tmp_path: Path) -> None:
    """An LSTM's first states are two nodes in one model and one in the other: nothing is put in the place of one of them."""
    text = """net (float[b, t, 3] x) => (float[t, d, b, n] y) {
        size = Shape <start = 0, end = 1> (x)
        two = Constant <value_ints = [2]> ()
        four = Constant <value_ints = [4]> ()
        dims = Concat <axis = 0> (two, size, four)
        h0 = ConstantOfShape (dims)
        c0 = ConstantOfShape (dims)
        given = Transpose <perm = [1, 0, 2]> (x)
        y, h, c = LSTM <hidden_size = 4, direction = "bidirectional"> (given, w, r, b, , h0, c0)
    }"""
    rng = np.random.default_rng(0)
    shapes = {"w": (2, 16, 3), "r": (2, 16, 4), "b": (2, 32)}
    weights = {n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()}
    assert [n.op_type for n in there_and_back(parsed(text, **weights), tmp_path).graph.node].count("LSTM") == 1


def test_a_table_that_is_an_input_has_more_rows_in_another_run(tmp_path: Path) -> None:
    """Boxes pick pictures of the batch, which is the table, and each run has another one."""
    text = """net (float[b, 3] x, int64[n] i) => (float[n, 3] y) {
        two = Constant <value_float = 2.0> ()
        twice = Mul (x, two)
        y = Gather (twice, i)
    }"""
    there_and_back(parsed(text), tmp_path)


def test_the_logarithm_of_a_sigmoid_is_right_where_onnxruntime_flushes_it_to_0(tmp_path: Path) -> None:
    """torch's logsigmoid: below -17 onnxruntime's Sigmoid is 0, and its logarithm infinite."""
    text = """net (float[2, 40] x) => (float[2, 40] y) {
        three = Constant <value_float = 3.0> ()
        t = Mul (x, three)
        s = Sigmoid (t)
        y = Log (s)
    }"""
    there_and_back(parsed(text), tmp_path)


def test_positions_end_before_the_usual_length(tmp_path: Path) -> None:
    """A table of 32 positions, of which relative ones are cut out: longer sequences do not fit."""
    text = """net (float[b, t, 4] x) => (float[b, t, 4] y) {
        size = Shape <start = 1, end = 2> (x)
        begin = Sub (n, size)
        end = Add (n, size)
        some = Slice (table, begin, end)
        mean = ReduceMean <axes = [0], keepdims = 1> (some)
        two = Constant <value_ints = [2]> ()
        four = Constant <value_ints = [4]> ()
        dims = Concat <axis = 0> (two, size, four)
        halves = Reshape (some, dims)
        half, other = Split <axis = 0> (halves)
        added = Add (x, half)
        y = Add (added, mean)
    }"""
    table = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    there_and_back(parsed(text, table=table, n=np.array([16])), tmp_path)


def test_two_lengths_whose_sum_is_limited(tmp_path: Path) -> None:
    """Keys that are remembered and new ones: each length has room in the table of positions, twice both of them have not."""
    text = """net (float[b, t, 4] x, float[b, p, 4] kept) => (float[b, k, 4] y) {
        both = Concat <axis = 1> (kept, x)
        size = Shape <start = 1, end = 2> (both)
        zero = Constant <value_ints = [0]> ()
        some = Slice (table, zero, size)
        y = Add (both, some)
    }"""
    table = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    there_and_back(parsed(text, table=table), tmp_path)
