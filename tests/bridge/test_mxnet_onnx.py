"""mx.onnx and mx.contrib.onnx as MXNet 1.9.1 has them."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import hybrid as mx
from bridge import BadInput, convert, mxnet_onnx
from converters import UnsupportedModel
from hybrid.core.op import Spec
from tests.house.docs import ROOT

FOLDER = ROOT / "fixtures" / "models" / "alexnet"
FILES = str(FOLDER / "model-symbol.json"), str(FOLDER / "model-0000.params")


def data() -> np.ndarray:
    return np.load(FOLDER / "inputs.npz")["data"]


def check(path: str, feed: np.ndarray) -> None:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"data": feed})
    block = mx.gluon.SymbolBlock.imports(FILES[0], ["data", "softmax_label"], FILES[1])
    want = block(mx.nd.array(feed), mx.nd.zeros(len(feed)))
    np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-4, atol=1e-5)


def test_signature() -> None:
    names = " ".join(inspect.signature(mx.onnx.export_model).parameters)
    assert names == (
        "sym params in_shapes in_types onnx_file_path verbose dynamic dynamic_input_shapes run_shape_inference input_type "
        "input_shape"
    )


@pytest.mark.parametrize("loaded", [False, True])
def test_export(tmp_path: Path, loaded: bool) -> None:
    target = str(tmp_path / "a.onnx")
    sym, params = FILES
    if loaded:
        symbol, arguments, states = mx.model.load_checkpoint(str(FOLDER / "model"), 0)
        sym, params = symbol, [arguments, states]
    assert mx.onnx.export_model(sym, params, [data().shape], np.float32, target) == target
    check(target, data())
    assert mx.contrib.onnx.get_model_metadata(target)["input_tensor_data"] == [("data", data().shape)]


def test_dynamic(tmp_path: Path) -> None:
    target = str(tmp_path / "a.onnx")
    with pytest.warns(UserWarning, match="only the first does"):
        mx.onnx.export_model(*FILES, [data().shape], np.float32, target, dynamic=True)
    check(target, np.concatenate([data(), data(), data()]))
    named = [("some", None, *data().shape[2:])]
    with pytest.raises(BadInput):  # the channels cannot vary, and were asked to by name
        mx.onnx.export_model(*FILES, [data().shape], np.float32, target, dynamic=True, dynamic_input_shapes=named)
    mx.contrib.onnx.export_model(
        *FILES, [data().shape], np.float32, target, dynamic=True, dynamic_input_shapes=[("n", *data().shape[1:])]
    )
    assert onnx.load(target).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"


def test_operator_support() -> None:
    newest, old = mx.onnx.get_operator_support(), mx.onnx.get_operator_support(13)
    assert {"Convolution", "RNN"} <= set(old) <= set(newest)
    assert "_contrib_BilinearResize2D" in mx.onnx.get_operator_support(11)
    assert "_contrib_BilinearResize2D" not in mx.onnx.get_operator_support(10)
    with pytest.raises(BadInput, match="wanted 7"):
        mx.onnx.get_operator_support(6)


def test_wrong_shapes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="inputs data"):
        mx.onnx.export_model(*FILES, [(1, 3), (2, 3), (1,)], np.float32, str(tmp_path / "a.onnx"))
    for vary in ([], [("n",)] * 2):
        with pytest.raises(BadInput, match=f"got {len(vary)} dynamic_input_shapes, wanted one for each of data"):
            mx.onnx.export_model(
                *FILES, [data().shape], np.float32, str(tmp_path / "a.onnx"), dynamic=True, dynamic_input_shapes=vary
            )
    assert not list(tmp_path.iterdir())
    with pytest.raises(BadInput, match="MXNet symbol already"):
        mx.contrib.onnx.get_model_metadata(FILES[0])


def two_inputs() -> tuple[mx.sym.Symbol, dict[str, np.ndarray]]:
    """A layer of x, less y; a label that nothing reads, and a state."""
    x = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    x = mx.sym.BatchNorm(x, name="bn", fix_gamma=False, eps=0.5)
    net = mx.sym.SoftmaxOutput(mx.sym.broadcast_sub(x, mx.sym.var("y")), name="softmax")
    names = {
        "fc_weight": (2, 3),
        "fc_bias": (2,),
        **{f"bn_{n}": (2,) for n in ("gamma", "beta", "moving_mean", "moving_var")},
    }
    rng = np.random.default_rng(0)
    return net, {n: rng.uniform(0.5, 2, s).astype(np.float32) for n, s in names.items()}


def test_parameters_shapes_and_types_in_every_form(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    net, params = two_inputs()
    split = [{n: mx.nd.array(a) for n, a in params.items() if ("moving" in n) == moving} for moving in (False, True)]
    shapes = [(4, 3), (4, 2)]
    target = tmp_path / "net.onnx"
    x = np.float32([[1, -2, 3], [0.5, 4, -1], [2, 2, 0], [-3, 1, 1]])
    y = np.arange(8, dtype=np.float32).reshape(4, 2) / 8
    layer = (x @ params["fc_weight"].T + params["fc_bias"] - params["bn_moving_mean"]) / np.sqrt(
        params["bn_moving_var"] + 0.5
    )
    scores = layer * params["bn_gamma"] + params["bn_beta"] - y
    want = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    for given, options in (
        (params, {"in_shapes": shapes}),
        (split, {"in_shapes": shapes, "in_types": [np.float32, "float32"]}),
        (tuple(split), {"input_shape": shapes, "input_type": np.float32, "in_types": np.float64}),
        (params, {"in_shapes": shapes, "input_shape": [(9, 9)], "input_type": (np.float32, np.float32)}),
    ):
        target.unlink(missing_ok=True)
        assert mx.onnx.export_model(net, given, onnx_file_path=target, **options) == str(target)
        session = ort.InferenceSession(str(target), providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(session.run(None, {"x": x, "y": y})[0], want, rtol=1e-5)
        found = mx.contrib.onnx.get_model_metadata(target)
        assert found == {
            "input_tensor_data": [("x", (4, 3)), ("y", (4, 2))],
            "output_tensor_data": [("softmax_output", (4, 2))],
        }
    for options, said in (
        ({}, "got none, wanted one of each for the inputs x, y"),
        ({"in_shapes": shapes[:1]}, "got 1 shapes and 2 types, wanted"),
        ({"in_shapes": shapes, "in_types": [np.float32]}, "got 2 shapes and 1 types, wanted"),
        ({"in_shapes": shapes, "in_types": [np.float32] * 3}, "got 2 shapes and 3 types, wanted"),
    ):
        with pytest.raises(BadInput, match=said):
            mx.onnx.export_model(net, params, onnx_file_path=target, **options)
    with pytest.raises(BadInput, match=r"wanted one of each for the inputs \(there are none\)"):
        mx.onnx.export_model(mx.sym.zeros((2,)), {}, [(1,)], onnx_file_path=target)
    with pytest.raises(BadInput, match="is ONNX already; export_model takes an MXNet symbol"):
        mx.onnx.export_model(str(target), None, shapes)
    with caplog.at_level("INFO"):
        mx.onnx.export_model(net, params, shapes, onnx_file_path=target)
        assert not caplog.messages
        mx.onnx.export_model(net, params, shapes, onnx_file_path=target, verbose=True)
    kinds = [n.op_type for n in onnx.load(target).graph.node]
    assert sorted(caplog.messages) == sorted(f"{k}: {kinds.count(k)}" for k in set(kinds))


def test_which_sizes_vary(tmp_path: Path) -> None:
    net, params = two_inputs()
    target, shapes = str(tmp_path / "net.onnx"), [(4, 3), (4, 2)]

    def dims(**options: object) -> list[list[object]]:
        mx.onnx.export_model(net, params, shapes, onnx_file_path=target, dynamic=True, **options)
        return [
            [d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for i in onnx.load(target).graph.input
        ]

    assert dims(dynamic_input_shapes=[("n", 3), ("n", 2)]) == [["n", 3], ["n", 2]]
    assert dims(dynamic_input_shapes=[(4, 3), (4, 2)]) == [[4, 3], [4, 2]]
    # a name that is made up is none of those given: axes of one name have one size
    free = mxnet_onnx._axes({n: Spec((4, 3)) for n in ("x", "y")}, [("y_1", None), ("x_1", None)])
    assert free["x"][0] == "y_1" and free["y"][0] == "x_1"
    assert len({free[n][axis] for n in free for axis in (0, 1)}) == 4
    with pytest.warns(UserWarning, match="not all sizes of .* can vary, so only the first does"):
        assert dims() == [["batch", 3], ["batch", 2]]
    whole = str(tmp_path / "all.onnx")
    mx.onnx.export_model(mx.sym.relu(mx.sym.var("x")), {}, [(4, 3)], onnx_file_path=whole, dynamic=True)
    assert [d.dim_param for d in onnx.load(whole).graph.input[0].type.tensor_type.shape.dim] == ["x_0", "x_1"]


def test_stored_tensors_are_no_inputs_of_a_file(tmp_path: Path) -> None:
    """Before IR 4 they are listed among them."""
    info = onnx.helper.make_tensor_value_info
    inputs = [info("x", 1, ["n", 3]), info("w", 1, [3])]
    stored = [onnx.numpy_helper.from_array(np.float32([1, 2, 3]), "w")]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Mul", ["x", "w"], ["y"])], "g", inputs, [info("y", 1, ["n", 3])], stored
    )
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 8)], ir_version=3),
        tmp_path / "m.onnx",
    )
    found = mx.contrib.onnx.get_model_metadata(str(tmp_path / "m.onnx"))
    assert found == {"input_tensor_data": [("x", (0, 3))], "output_tensor_data": [("y", (0, 3))]}


def test_what_cannot_be_written_is_refused_at_once_where_nothing_varies(tmp_path: Path) -> None:
    target = tmp_path / "net.onnx"
    noisy = mx.sym._image_random_hue(mx.sym.var("x"), min_factor=0.5, max_factor=1.5)
    for options in ({}, {"dynamic": True, "dynamic_input_shapes": [("n", 4, 3)]}):
        with pytest.raises(UnsupportedModel, match="random"), warnings.catch_warnings():
            warnings.simplefilter("error")
            mx.onnx.export_model(noisy, {}, [(4, 4, 3)], onnx_file_path=target, **options)
    assert not target.exists()


def test_each_input_has_its_own_type(tmp_path: Path) -> None:
    """In the order of the inputs, which is that in which the symbol reads them; one type is for all."""
    at, x, y = (mx.sym.var(n) for n in ("at", "x", "y"))
    net = mx.sym.broadcast_add(mx.sym.Cast(mx.sym.take(x, at), dtype="float64"), y)
    target = str(tmp_path / "net.onnx")
    shapes, types = [(5, 3), (4,), (1, 3)], [np.float16, "int32", np.float64]
    order = net.list_inputs()
    assert order == ["x", "at", "y"]
    for dynamic in (False, True):
        options = {"dynamic": True, "dynamic_input_shapes": [(5, 3), ("n",), (1, 3)]} if dynamic else {}
        mx.onnx.export_model(net, {}, shapes, types, target, **options)
        kinds = {i.name: i.type.tensor_type for i in onnx.load(target).graph.input}
        tensor = onnx.TensorProto
        assert {n: k.elem_type for n, k in kinds.items()} == {
            "x": tensor.FLOAT16,
            "at": tensor.INT32,
            "y": tensor.DOUBLE,
        }
        assert (kinds["at"].shape.dim[0].dim_param == "n") == dynamic
        table, rows, more = np.arange(15).reshape(5, 3) / 4, np.array([4, 0, 2, 2]), np.array([[1, -2, 3]])
        feeds = {"x": table.astype(np.float16), "at": rows.astype(np.int32), "y": more.astype(np.float64)}
        (got,) = ort.InferenceSession(target, providers=["CPUExecutionProvider"]).run(None, feeds)
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, table[rows] + more)
    whole = mx.sym.broadcast_sub(mx.sym.var("a"), mx.sym.var("b"))
    for given, code in ((np.float64, tensor.DOUBLE), ("int32", tensor.INT32), (None, tensor.FLOAT)):
        options = {} if given is None else {"in_types": given}
        mx.onnx.export_model(whole, {}, [(2, 3), (2, 1)], onnx_file_path=target, **options)
        assert [i.type.tensor_type.elem_type for i in onnx.load(target).graph.input] == [code, code]


def test_blocks_of_onnx_files_take_inputs_in_the_order_of_the_file_and_compute_in_its_dtype(tmp_path: Path) -> None:
    x, y = np.array([[1, 2, 4], [-3, 0.5, 8]]), np.array([[5, -1, 2], [0.25, 3, -6]])
    w, k = np.array([[2, -1, 0.5]]), np.array([0.1, 10, -4])
    for dtype, name in ((np.float32, "float"), (np.float64, "double"), (np.float16, "float16")):
        text = f"""<ir_version: 8, opset_import: ["": 17]>
        net ({name}[2, 3] first, {name}[2, 3] unread, {name}[2, 3] second) => ({name}[2, 3] out)
        {{ a = Mul (second, w)  b = Sub (a, first)  out = Add (b, k) }}"""
        proto = onnx.parser.parse_model(text)
        stored = {"w": w.astype(dtype), "k": k.astype(dtype)}
        proto.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in stored.items())
        onnx.save(proto, tmp_path / "net.onnx")
        want = (y.astype(dtype) * stored["w"] - x.astype(dtype)) + stored["k"]
        for source in (str(tmp_path / "net.onnx"), tmp_path / "net.onnx"):
            block = mx.contrib.onnx.import_to_gluon(source)
            got = block(mx.nd.array(x, dtype=dtype), mx.nd.array(y, dtype=dtype))
            assert got.dtype == dtype
            np.testing.assert_array_equal(got.asnumpy(), want)
            symbol, arguments, states = mx.contrib.onnx.import_model(source)
            assert {n: a.dtype for n, a in arguments.items()} == {"w": dtype, "k": dtype} and states == {}
            assert {n: a.asnumpy().tolist() for n, a in arguments.items()} == {n: a.tolist() for n, a in stored.items()}
            assert set(symbol.list_inputs()) == {"first", "second", "w", "k"}
        found = mx.contrib.onnx.get_model_metadata(tmp_path / "net.onnx")
        assert [n for n, _ in found["input_tensor_data"]] == ["first", "unread", "second"]


def test_models_that_draw_random_numbers_are_written_and_not_verified(tmp_path: Path) -> None:
    drawn = mx.sym.var("data") + mx.sym.random.uniform(2, 3, shape=(3, 4), name="noise")
    with pytest.warns(UserWarning, match=r"noise \(_random_uniform\).* not verified"):
        path = mx.onnx.export_model(drawn, {}, [(3, 4)], np.float32, str(tmp_path / "drawn.onnx"))
    (found,) = ort.InferenceSession(path).run(None, {"data": np.zeros((3, 4), np.float32)})
    assert ((found >= 2) & (found < 3)).all() and np.unique(found).size == 12


def test_inputs_that_nothing_reads_stay_inputs(tmp_path: Path) -> None:
    """As MXNet 1.9.1 writes them: Crop by h_w, what only a size is read of, labels where their shapes are given."""
    a, b = mx.sym.var("a"), mx.sym.var("b")
    target = str(tmp_path / "a.onnx")
    loss = mx.sym.SoftmaxOutput(b, name="softmax")
    for net, shapes, names in (
        (mx.sym.Crop(a, b, num_args=2, h_w=(2, 2)), [(1, 1, 4, 4), (1, 1, 3, 3)], ["a", "b"]),
        (mx.sym.slice_like(a, b), [(3, 3), (2, 2)], ["a", "b"]),
        (mx.sym.zeros_like(a) + b, [(2,), (2,)], ["a", "b"]),
        (loss, [(3, 2)], ["b"]),
        (loss, [(3, 2), (3,)], ["b", "softmax_label"]),
        (loss + a, [(3, 2), (3,), (3, 2)], ["b", "softmax_label", "a"]),
    ):
        mx.onnx.export_model(net, {}, shapes, onnx_file_path=target)
        model = onnx.load(target)
        assert [i.name for i in model.graph.input] == names
        sizes = [tuple(d.dim_value for d in i.type.tensor_type.shape.dim) for i in model.graph.input]
        assert sizes == shapes
    convert(loss, {}, inputs={"b": (3, 2)}, output=target)
    assert [i.name for i in onnx.load(target).graph.input] == ["b"]
