"""Symbols: names, attributes, composition, indexing, files. What is wanted was asked of MXNet 1.9.1."""

import copy
import json
import operator
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd, sym


@pytest.fixture(autouse=True)
def fresh_names() -> Iterator[None]:
    with mx.name.NameManager():
        yield


def nodes(symbol: mx.Symbol) -> list[tuple[str, str, dict[str, str]]]:
    """(operator, name, attributes) of the nodes as written."""
    return [(n["op"], n["name"], n.get("attrs", {})) for n in json.loads(symbol.tojson())["nodes"]]


def last(symbol: mx.Symbol) -> tuple[str, str, dict[str, str]]:
    return nodes(symbol)[-1]


A, B = sym.var("a"), sym.var("b")


def dense(data: mx.Symbol = A, name: str = "fc1") -> mx.Symbol:
    return sym.FullyConnected(data, num_hidden=3, name=name)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: A + B, ("elemwise_add", "_plus0", {})),
        (lambda: A + 1, ("_plus_scalar", "_plusscalar0", {"scalar": "1"})),
        (lambda: 1 - A, ("_rminus_scalar", "_rminusscalar0", {"scalar": "1"})),
        (lambda: 2.5 / A, ("_rdiv_scalar", "_rdivscalar0", {"scalar": "2.5"})),
        (lambda: A % B, ("_mod", "_mod0", {})),
        (lambda: 2 % A, ("_rmod_scalar", "_rmodscalar0", {"scalar": "2"})),
        (lambda: A**B, ("_power", "_power0", {})),
        (lambda: A**2, ("_power_scalar", "_powerscalar0", {"scalar": "2"})),
        (lambda: 2**A, ("_rpower_scalar", "_rpower_scalar0", {"scalar": "2"})),
        (lambda: -A, ("_mul_scalar", "_mulscalar0", {"scalar": "-1.0"})),
        (lambda: A == B, ("_equal", "_equal0", {})),
        (lambda: A == 1, ("_equal_scalar", "_equal_scalar0", {"scalar": "1"})),
        (lambda: A >= 1, ("_greater_equal_scalar", "_greater_equal_scalar0", {"scalar": "1"})),
        (lambda: 1 < A, ("_greater_scalar", "_greater_scalar0", {"scalar": "1"})),  # noqa: SIM300
        (lambda: A != B, ("_not_equal", "_not_equal0", {})),
        (lambda: abs(A), ("abs", "abs0", {})),
        (lambda: A * np.float32(0.5), ("_mul_scalar", "_mulscalar0", {"scalar": "0.5"})),
        (lambda: sym.maximum(A, 1), ("_maximum_scalar", "_maximumscalar0", {"scalar": "1"})),
        (lambda: sym.maximum(A, B), ("_maximum", "_maximum0", {})),
        (lambda: sym.concat(A, B, dim=0), ("Concat", "concat0", {"dim": "0", "num_args": "2"})),
        (lambda: sym.Cast(A, dtype=np.float16), ("Cast", "cast0", {"dtype": "float16"})),
        (
            lambda: sym.slice_axis(A, axis=0, begin=0, end=None),
            ("slice_axis", "slice_axis0", {"axis": "0", "begin": "0", "end": "None"}),
        ),
        (lambda: sym.clip(A, 0, 1e-5), ("clip", "clip0", {"a_min": "0", "a_max": "1e-05"})),
        (lambda: A.reshape((2, -1)), ("Reshape", "reshape0", {"shape": "(2, -1)"})),
        (lambda: A.reshape(shape=(2, np.int64(3))), ("Reshape", "reshape0", {"shape": "(2, 3)"})),
        (lambda: A.astype("float16"), ("Cast", "cast0", {"dtype": "float16"})),
        (lambda: A.transpose((1, 0)), ("transpose", "transpose0", {"axes": "(1, 0)"})),
        (lambda: A.flatten(), ("Flatten", "flatten0", {})),
        (lambda: A.split(2), ("SliceChannel", "split0", {"num_outputs": "2"})),
        (lambda: sym.contrib.box_nms(A), ("_contrib_box_nms", "box_nms0", {})),
    ],
)
def test_functions_make_the_nodes_that_mxnet_makes(make, wanted) -> None:
    assert last(make()) == wanted


def test_missing_inputs_become_variables_with_the_attributes_of_the_operator() -> None:
    assert nodes(dense()) == [
        ("null", "a", {}),
        ("null", "fc1_weight", {"num_hidden": "3"}),
        ("null", "fc1_bias", {"num_hidden": "3"}),
        ("FullyConnected", "fc1", {"num_hidden": "3"}),
    ]
    prelu = sym.LeakyReLU(A, act_type="prelu")
    assert nodes(prelu)[1] == (
        "null",
        "leakyrelu0_gamma",
        {"act_type": "prelu", "__init__": '["Constant", {"value": 0.25}]'},
    )
    assert sym.Concat(num_args=2).list_arguments() == ["concat0_arg0", "concat0_arg1"]
    assert sym.Concat(arg0=A, arg1=B, num_args=2).list_arguments() == ["a", "b"]
    assert sym.FullyConnected(A, B, None, 3, True).list_arguments() == ["a", "b"]


def test_lists() -> None:
    net = dense()
    assert net.name == "fc1"
    assert net.list_arguments() == net.list_inputs() == ["a", "fc1_weight", "fc1_bias"]
    assert net.list_outputs() == ["fc1_output"]
    assert net.list_auxiliary_states() == []
    assert net.get_internals().list_outputs() == ["a", "fc1_weight", "fc1_bias", "fc1_output"]
    children = net.get_children()
    assert children is not None
    assert children.list_outputs() == ["a", "fc1_weight", "fc1_bias"]
    assert A.get_children() is None


def test_auxiliary_states() -> None:
    net = sym.BatchNorm(dense(), name="bn")
    assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert net.list_arguments() == ["a", "fc1_weight", "fc1_bias", "bn_gamma", "bn_beta"]
    assert net.list_outputs() == ["bn_output"]
    assert net.get_internals().list_outputs()[-3:] == ["bn_moving_mean", "bn_moving_var", "bn_output"]
    assert net.attr_dict()["bn_moving_var"] == {"__init__": '["one", {}]'}
    assert net.attr_dict()["bn_moving_mean"] == {"__init__": '["zero", {}]'}


def test_printed_forms() -> None:
    assert repr(A) == "<Symbol a>"
    assert repr(dense()) == "<Symbol fc1>"
    assert repr(sym.Group([A, dense()])) == "<Symbol group [a, fc1]>"
    assert repr(sym.split(A, num_outputs=2, name="s")) == "<Symbol s>"


def test_indexing() -> None:
    parts = sym.SliceChannel(A, num_outputs=3, name="s")
    assert len(parts) == 3
    assert parts.list_outputs() == ["s_output0", "s_output1", "s_output2"]
    assert parts[1].list_outputs() == parts["s_output1"].list_outputs() == ["s_output1"]
    assert parts[::2].list_outputs() == ["s_output0", "s_output2"]
    assert [p.list_outputs()[0] for p in parts] == parts.list_outputs()
    with pytest.raises(IndexError):
        parts[3]
    with pytest.raises(mx.MXNetError, match="nonnegative"):
        parts[-1]
    with pytest.raises(ValueError, match='Cannot find output that matches name "x"'):
        parts["x"]
    with pytest.raises(TypeError, match="integer index"):
        parts[1.5]
    with pytest.raises(ValueError, match="multiple outputs"):
        sym.Group([A, A])["a"]


def test_groups() -> None:
    group = sym.Group([A, dense()])
    assert (group.name, len(group), group.list_outputs()) == (None, 2, ["a", "fc1_output"])
    assert group[1].name == "fc1"
    for wrong in ([], [1]):
        with pytest.raises(TypeError, match="Expected a list of symbols"):
            sym.Group(wrong)


def test_variables() -> None:
    v = sym.var("v", shape=(2, 0), lr_mult=2, wd_mult=0.5, dtype="float16", init="zeros", stype="row_sparse",
                attr={"k": "v"}, __foo__="x")  # fmt: skip
    written = {"__shape__": "(2, 0)", "__lr_mult__": "2", "__wd_mult__": "0.5", "__dtype__": "2", "__init__": "zeros",
               "__storage_type__": "1", "k": "v", "__foo__": "x"}  # fmt: skip
    assert nodes(v) == [("null", "v", written)]
    assert v.list_attr() == {**written, "lr_mult": "2", "wd_mult": "0.5"}
    assert v.attr("lr_mult") == v.attr("__lr_mult__") == "2"
    assert v.attr("nothing") is None
    assert [sym.var("v", dtype=d).attr("__dtype__") for d in ("float32", "float64", bool)] == ["0", "1", "7"]
    with pytest.raises(ValueError, match="double underscores"):
        sym.var("v", foo=1)
    with pytest.raises(ValueError, match="string"):
        sym.var("v", attr={"k": 1})
    with pytest.raises(TypeError, match="Expect a string"):
        sym.var(3)


def test_setting_attributes() -> None:
    v = sym.var("v")
    v._set_attr(foo="1", lr_mult="3")
    assert v.attr_dict() == {"v": {"foo": "1", "__lr_mult__": "3", "lr_mult": "3"}}
    with pytest.raises(ValueError, match="string"):
        v._set_attr(foo=1)
    net = dense()
    net._set_attr(num_hidden="5")
    assert net.infer_shape(a=(2, 4))[1] == [(2, 5)]


def test_attribute_scope() -> None:
    with mx.AttrScope(ctx_group="d", __q__="1"), mx.AttrScope(__r__="2"):
        z = sym.var("z")
        net = sym.FullyConnected(z, num_hidden=2, attr={"__w__": "1"}, name="ff")
    assert sym.var("after").list_attr() == {}
    assert z.list_attr() == {"__ctx_group__": "d", "ctx_group": "d", "__q__": "1", "__r__": "2"}
    hidden = {"__ctx_group__": "d", "__q__": "1", "__r__": "2", "__w__": "1"}
    assert nodes(net)[1] == ("null", "ff_weight", {**hidden, "num_hidden": "2"})
    assert net.attr("ctx_group") == "d"
    with pytest.raises(ValueError, match="string"):
        mx.AttrScope(a=1)


def test_names() -> None:
    with mx.name.Prefix("p_"):
        assert sym.FullyConnected(A, num_hidden=1).name == "p_fullyconnected0"
        assert sym.FullyConnected(A, num_hidden=1, name="q").name == "p_q"
        assert sym.var("x").name == "x"
    assert [sym.Activation(A, act_type="relu").name for _ in range(2)] == ["activation0", "activation1"]


def test_composition() -> None:
    first = dense(sym.var("data"))
    second = sym.Activation(dense(sym.var("data2"), "fc3"), act_type="relu", name="r")
    net = second(data2=first, name="composed")
    assert repr(net) == "<Symbol composed>"
    assert net.list_arguments() == ["data", "fc1_weight", "fc1_bias", "fc3_weight", "fc3_bias"]
    assert net.list_outputs() == ["composed_output"]
    assert second.list_arguments() == ["data2", "fc3_weight", "fc3_bias"]
    assert second(first).list_arguments() == net.list_arguments()
    with pytest.raises(mx.MXNetError, match="foo not found"):
        second(foo=first)
    with pytest.raises(TypeError, match="positional or keyword"):
        second(first, data2=first)
    with pytest.raises(TypeError, match="Symbol"):
        second(3)
    with pytest.raises(mx.MXNetError, match="single value"):
        second(data2=sym.Group([first, A]))


def test_what_only_arrays_can_do() -> None:
    for name in ("asnumpy", "asscalar", "wait_to_read", "detach", "backward", "copy", "as_in_context"):
        with pytest.raises(mx.error.NotImplementedForSymbol, match=f"Function {name} is not implemented for Symbol"):
            getattr(A, name)()
    with pytest.raises(mx.error.NotImplementedForSymbol, match='namely operator "bool"'):
        bool(A)
    with pytest.raises(mx.error.NotImplementedForSymbol, match=r'namely operator "\+="'):
        A.__iadd__(B)
    for name in ("shape", "T", "foo"):
        with pytest.raises(AttributeError, match=f"^'Symbol' object has no attribute '{name}'$"):
            getattr(A, name)
    with pytest.raises(TypeError, match="unhashable"):
        hash(A)
    with pytest.raises(TypeError, match="not supported"):
        A == "x"  # noqa: B015
    with pytest.raises(TypeError):
        A @ B


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: sym.FullyConnected(A), mx.MXNetError, "num_hidden .* required"),
        (lambda: sym.FullyConnected(A, num_hidden=1, foo=2), mx.MXNetError, "foo"),
        (lambda: sym.FullyConnected(A, num_hidden="x"), mx.MXNetError, "num_hidden='x' is not int"),
        (lambda: sym.Activation(A, act_type="foo"), mx.MXNetError, "act_type='foo' is not one of .*relu"),
        (lambda: sym.FullyConnected(3, num_hidden=1), AssertionError, "must be a Symbol"),
        (lambda: sym.FullyConnected(nd.ones(2), num_hidden=1), TypeError, "must be a Symbol"),
        (lambda: sym.FullyConnected(foo=A, num_hidden=1), mx.MXNetError, "foo not found.*data, weight, bias"),
        (lambda: sym.FullyConnected(sym.Group([A, B]), num_hidden=1), mx.MXNetError, "single value"),
        (lambda: sym.Concat(sym.split(A, num_outputs=2)), mx.MXNetError, "single value"),
        (lambda: sym.FullyConnected(A, A, A, 1, True, True, 7), TypeError, "takes 6 positional"),
        (lambda: sym.FullyConnected(A, data=A, num_hidden=1), TypeError, "multiple values for argument 'data'"),
    ],
)
def test_wrong_calls(make, error, match) -> None:
    with pytest.raises(error, match=match):
        make()


def test_copies() -> None:
    net = sym.Group([dense(), A + 1])
    for twin in (copy.deepcopy(net), copy.copy(net), pickle.loads(pickle.dumps(net))):
        assert twin.tojson() == net.tojson()
    twin = copy.deepcopy(net)
    twin[0]._set_attr(__x__="1")
    assert net[0].attr("__x__") is None


def test_mixed_precision_casts_are_not_written() -> None:
    net = sym.FullyConnected(sym.amp_cast(A, dtype="float16"), num_hidden=2, name="f")
    assert [op for op, _, _ in nodes(net)] == ["null", "null", "null", "FullyConnected"]
    assert "amp_cast" in net.tojson(remove_amp_cast=False)
    assert "amp_cast" in pickle.loads(pickle.dumps(net)).tojson(remove_amp_cast=False)


def test_files(tmp_path) -> None:
    net = dense()
    path = tmp_path / "net-symbol.json"
    net.save(path)
    net.save(str(path))
    assert [p.name for p in tmp_path.iterdir()] == ["net-symbol.json"]
    text = path.read_text()
    for again in (
        sym.load(path),
        sym.load(str(path)),
        sym.load_json(text),
        sym.load_json(text.encode()),
        sym.load_json(path),
    ):
        assert again.tojson() == net.tojson()
    for wrong in (sym.load, sym.load_json, net.save):
        with pytest.raises(TypeError, match="string"):
            wrong(3)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "Git LFS pointer.*git lfs pull"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"", "empty file"),
        (b"\x12\x01\0\0\0\0\0\0" + bytes(40), "a .params file"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"{}", "no MXNet symbol"),
        (b"[1, 2]", "no MXNet symbol"),
        (b'{"nodes": [', "not JSON"),
        (b'\xef\xbb\xbf{"nodes": [', "not JSON"),
        (b"{" * 100_000, "not JSON"),
    ],
)
def test_other_files_are_recognised(content: bytes, match: str, tmp_path) -> None:
    path = tmp_path / "net-symbol.json"
    path.write_bytes(content)
    with pytest.raises(mx.error.FormatError, match=match) as caught:
        sym.load(path)
    assert str(path) in str(caught.value)


def graph(*items: dict, heads: list | None = None) -> str:
    return json.dumps({"nodes": list(items), "arg_nodes": [], "heads": heads or [[len(items) - 1, 0, 0]]})


X = {"op": "null", "name": "x", "inputs": []}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (graph({"op": "relu", "name": "r", "inputs": [[0, 0, 0]]}), "cycle through r"),
        (graph(X, {"op": "relu", "name": "r", "inputs": [[7, 0, 0]]}), "r.*refers to node 7"),
        (graph(X, {"op": "relu", "name": "r", "inputs": [[-1, 0, 0]]}), "r.*refers to node -1"),
        (graph(X, {"op": "relu", "name": "r", "inputs": [[0, 5, 0]]}), "reads output 5 of x"),
        (graph(X, heads=[[0, 3, 0]]), "reads output 3 of x"),
        (graph(X, heads=[[9, 0, 0]]), "heads.*node 9"),
        (graph(X, {"op": "relu", "name": "r", "inputs": [[0]]}), r"reference \[0\]"),
        (graph(X, {"op": "relu", "name": "r", "inputs": "x"}), "references are str"),
        (graph(X, {"name": "r", "inputs": []}), "node 1: wanted an object with op and name"),
        (graph(X, {"op": "relu", "name": "r", "attrs": [1], "inputs": [[0, 0, 0]]}), "attrs is list"),
        (graph(X, {"op": "Foo", "name": "f", "inputs": []}, {"op": "Bar", "name": "b", "inputs": []},
               heads=[[1, 0, 0], [2, 0, 0]]), "(?s)f: unknown operator 'Foo'.*b: unknown operator 'Bar'"),
        (graph(X, {"op": "FullyConnected", "name": "f", "inputs": [[0, 0, 0]]}), "f: .*num_hidden"),
        (graph(X, {"op": "relu", "name": "r", "inputs": [[0, 0, 0], [0, 0, 0]]}), "r: .*got 2 inputs, wanted 1"),
        (graph(X, {"op": "clip", "name": "r", "attrs": {"foo": "1"}, "inputs": [[0, 0, 0]]}), "r: .*foo"),
    ],
)  # fmt: skip
def test_broken_graphs(text: str, match: str) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        sym.load_json(text)


def test_absurd_shapes_allocate_nothing() -> None:
    huge = sym.var("x", shape=(2**29, 2**29)) + 1
    assert huge.infer_shape() == ([(2**29, 2**29)], [(2**29, 2**29)], [])
    with pytest.raises(mx.MXNetError, match="more than any array can have"):
        (sym.var("x", shape=(2**40, 2**40)) + 1).infer_shape()
    text = graph({**X, "attrs": {"__shape__": "(4, oops)"}}, {"op": "relu", "name": "r", "inputs": [[0, 0, 0]]})
    with pytest.raises(mx.MXNetError, match=r"variable x: __shape__='.4, oops.'"):
        sym.load_json(text).infer_shape(x=(1,))


def test_numpy_cannot_compute_with_symbols() -> None:
    """A clear refusal instead of arrays nested without end."""
    for compute in (np.exp, np.array, lambda s: np.array([s])):
        with pytest.raises(mx.base.NotImplementedForSymbol, match="only available in NDArray"):
            compute(mx.sym.var("x"))
    assert isinstance(np.float32(2) * mx.sym.var("x"), mx.sym.Symbol)


def test_text_with_half_a_character_is_refused_in_words() -> None:
    nodes = '{"nodes": [{"op": "null", "name": "\ud800", "inputs": []}], "arg_nodes": [0], "heads": [[0, 0, 0]]}'
    with pytest.raises(mx.error.FormatError, match="is not text"):
        mx.sym.load_json(nodes)


# -- what symbols compute --------------------------------------------------------------------------------

PLAIN = np.array([[[1.0, 2, 3], [4, 5, 6]]], np.float32)
OTHER = np.array([[[3.0, 2, 1], [0.5, 5, 2]]], np.float32)


def value(symbol: mx.Symbol) -> list:
    """Value of the symbol for a = PLAIN and b = OTHER."""
    given_ones = {n: nd.array({"a": PLAIN, "b": OTHER}[n]) for n in symbol.list_arguments()}
    return [y.asnumpy() for y in symbol.eval(mx.cpu(), **given_ones)]


def test_functions_and_signs_of_two_symbols_or_numbers() -> None:
    a, b = sym.var("a"), sym.var("b")
    signs = {
        "+": (operator.add, np.add), "-": (operator.sub, np.subtract), "*": (operator.mul, np.multiply),
        "/": (operator.truediv, np.divide), "%": (operator.mod, np.mod), "**": (operator.pow, np.power),
        "==": (operator.eq, np.equal), "!=": (operator.ne, np.not_equal), ">": (operator.gt, np.greater),
        ">=": (operator.ge, np.greater_equal), "<": (operator.lt, np.less), "<=": (operator.le, np.less_equal),
        "pow": (sym.pow, np.power), "power": (sym.power, np.power), "maximum": (sym.maximum, np.maximum),
        "minimum": (sym.minimum, np.minimum), "hypot": (sym.hypot, np.hypot),
    }  # fmt: skip
    for name, (function, plain) in signs.items():
        for left, right, x, y in (
            (a, b, PLAIN, OTHER), (b, a, OTHER, PLAIN), (a, a, PLAIN, PLAIN), (a, 3, PLAIN, 3), (3, a, 3, PLAIN),
            (a, 2.5, PLAIN, 2.5),
            (0.5, b, 0.5, OTHER),
        ):  # fmt: skip
            (got,) = value(function(left, right))
            np.testing.assert_allclose(got, plain(x, y).astype(np.float32), rtol=1e-6, err_msg=name)
    for function, plain in ((sym.pow, 9), (sym.maximum, 3), (sym.minimum, 2), (sym.hypot, 13**0.5)):
        assert function(3, 2) == plain
    (minus,), (size,) = value(-a), value(abs(a - 3))
    assert minus.tolist() == (-PLAIN).tolist() and size.tolist() == np.abs(PLAIN - 3).tolist()


def test_methods_compute_what_their_functions_do() -> None:
    a = sym.var("a")
    for made, want in (
        (a.reshape((3, 2)), PLAIN.reshape(3, 2)), (a.reshape(shape=(0, -1)), PLAIN.reshape(1, 6)),
        (a.flatten(), PLAIN.reshape(1, 6)), (a.expand_dims(1), PLAIN[:, None]), (a.expand_dims(axis=-1), PLAIN[..., None]),
        (a.squeeze(), PLAIN[0]), (a.squeeze(axis=0), PLAIN[0]), (a.squeeze(0).diag(), [1, 5]), (a.squeeze(0).diag(1), [2, 6]),
        (a.squeeze(0).diag(k=-1), [4]), (a.transpose(), PLAIN.T), (a.transpose(axes=(1, 0, 2)), PLAIN.transpose(1, 0, 2)),
        (a.sum(axis=1), PLAIN.sum(1)), (a.max(axis=2, keepdims=True), PLAIN.max(2, keepdims=True)),
        (a.slice_axis(axis=2, begin=1, end=3), PLAIN[..., 1:]), (a.clip(2, 4), PLAIN.clip(2, 4)),
        (a.tile((1, 2, 1)), np.tile(PLAIN, (1, 2, 1))), (a.broadcast_to((2, 2, 3)), np.broadcast_to(PLAIN, (2, 2, 3))),
        (a.swapaxes(1, 2), PLAIN.swapaxes(1, 2)), (a.as_nd_ndarray(), PLAIN),
        (a.flatten(inplace=True), PLAIN.reshape(1, 6)), (a.expand_dims(1, True), PLAIN[:, None]), (a.squeeze(0, True), PLAIN[0]),
        (a.squeeze(axis=None, inplace=True), PLAIN[0]),
        (sym.moveaxis(a, 2, 0) if hasattr(sym, "moveaxis") else a, np.moveaxis(PLAIN, 2, 0) if hasattr(sym, "moveaxis") else PLAIN),
    ):  # fmt: skip
        (got,) = value(made)
        assert got.tolist() == np.asarray(want).tolist()
    (whole,) = value((a * 1.5).astype("int32"))
    assert whole.dtype == np.int32 and whole.tolist() == (PLAIN * 1.5).astype(int).tolist()
    counts, edges = value(sym.histogram(a, 3, (0, 6)))
    assert (counts.tolist(), edges.tolist()) == ([1, 2, 3], [0, 2, 4, 6])
    edges = sym.var("b").reshape((-1,)).slice_axis(axis=0, begin=1, end=3)  # 2, 1
    counts, _ = value(sym.histogram(a, sym.reverse(edges, axis=0)))
    assert counts.tolist() == [2]
    for call, error, said in (
        (lambda: sym.histogram(a, 3), ValueError, "null range is not supported"),
        (lambda: sym.histogram(a, 2.5), TypeError, "either an integer or an NDArray"),
        (lambda: a.gradient(["a"]), mx.MXNetError, "not implemented"),
        (lambda: sym.Group([a, sym.var("b")])._set_attr(x="1"), mx.MXNetError, "a group of symbols has no attributes"),
        (lambda: (a + 1)(a, a), mx.MXNetError, "got 2 symbols for 1 arguments"),
        (lambda: sym.Group([]), TypeError, "Expected a list of symbols"),
    ):
        with pytest.raises(error, match=said):
            call()


def test_backends_are_none_whatever_they_are_given() -> None:
    y = sym.var("a") * 2
    for given in (
        {}, {"args": {"a": nd.ones((2,))}, "aux": {}}, {"ctx": mx.cpu(), "shape_dict": {"a": (2,)}, "type_dict": {"a": "float32"}},
        {"stype_dict": {"a": "default"}, "skip_infer": True, "own": 3},
    ):  # fmt: skip
        with pytest.warns(UserWarning, match="there is no backend 'other'"):
            assert y.optimize_for("other", **given).tojson() == y.tojson()


def test_variables_are_replaced_where_they_are_read() -> None:
    """By place and by name, one for the other, several times; the original stays."""
    a, b = sym.var("a"), sym.var("b")
    net = sym.elemwise_sub(a * 2, b, name="d")
    for made, want in (
        (net(b, a), OTHER * 2 - PLAIN), (net(a=b), OTHER), (net(b=a), PLAIN), (net(a=a * 3, b=b + 1), PLAIN * 6 - OTHER - 1),
        (net(a + b), (PLAIN + OTHER) * 2 - OTHER), (net(a=net), (PLAIN * 2 - OTHER) * 2 - OTHER), (net, PLAIN * 2 - OTHER),
    ):  # fmt: skip
        np.testing.assert_allclose(value(made)[0], want, rtol=1e-6)
    assert net(b, a, name="other").name == "other" and net.name == "d"


def test_inputs_by_the_names_that_mxnet_gives_them() -> None:
    """Operators of any number of inputs call them arg0, arg1, ...; after those by position come the next ones."""
    a, b, c = (sym.var(n) for n in "abc")
    for made in (
        sym.Concat(a, b, c, name="k", dim=0),
        sym.Concat(a, arg2=c, arg1=b, name="k", dim=0),
        sym.Concat(arg1=b, arg2=c, arg0=a, name="k", dim=0),
        sym.Concat(a, b, arg2=c, name="k", dim=0, attr={"__mine__": "x"}),
    ):
        assert made.list_arguments() == ["a", "b", "c"]
        given = {n: mx.nd.array([[i, i + 10]]) for i, n in enumerate("abc")}
        assert made.eval(**given)[0].asnumpy().tolist() == [[0, 10], [1, 11], [2, 12]]
    assert made.attr("__mine__") == "x"
    for wrong, said in (
        (lambda: sym.Concat(a, arg2=c), "got inputs arg2, wanted arg1"),
        (lambda: sym.Concat(a, data=c), "got inputs data, wanted arg1"),
        (lambda: sym.Concat(arg1=a, arg2=c), "got inputs arg1, arg2, wanted arg0, arg1"),
        (lambda: sym.Concat(a, b, c, num_args=2), "got 3 inputs, wanted 2"),
        (lambda: sym.Concat(a, b, num_args=3), None),
        (lambda: sym.relu(a, b), "takes 1 positional"),
    ):
        if said is None:
            assert len(wrong().list_arguments()) == 3
            continue
        with pytest.raises((mx.MXNetError, TypeError), match=said):
            wrong()


def test_attributes_one_by_one() -> None:
    x = sym.var("x", __mine__="1", __other__="2", lr_mult=3.0)
    assert x.list_attr() == {"__mine__": "1", "__other__": "2", "__lr_mult__": "3.0", "lr_mult": "3.0"}
    parts = sym.split(x, num_outputs=2, name="s")
    assert [p.attr("_value_index") for p in parts] == ["0", "1"]
    assert parts.attr("_value_index") is None and parts.attr("num_outputs") == "2"
    assert sym.Symbol(()).list_attr() == {}
    net = sym.FullyConnected(x, num_hidden=3, name="f", attr={"__mine__": "y"})
    net._set_attr(num_hidden="7", __note__="z", wd_mult="0.5")
    assert net.infer_shape(x=(2, 5))[0] == [(2, 5), (7, 5), (7,)]
    assert {k: net.attr(k) for k in ("num_hidden", "__mine__", "__note__", "__wd_mult__", "wd_mult")} == {
        "num_hidden": "7", "__mine__": "y", "__note__": "z", "__wd_mult__": "0.5", "wd_mult": "0.5"}  # fmt: skip
    net._set_attr(__note__="w")
    assert net.attr("__note__") == "w" and net.infer_shape(x=(2, 5))[1] == [(2, 7)]
    with pytest.raises(mx.MXNetError, match="num_hidden"):
        net._set_attr(num_hidden="many")
    with pytest.raises(ValueError, match="string values"):
        net._set_attr(num_hidden=7)
    with pytest.raises(mx.MXNetError, match="group"):
        sym.Group([net, x])._set_attr(__note__="w")


def test_composing_keeps_what_nodes_are() -> None:
    """Names are given to the node of the symbol itself, if it is one node; outputs and bodies stay."""
    x, y = sym.var("x"), sym.var("y")
    parts = sym.split(sym.exp(x, name="e"), num_outputs=2, axis=0, name="s")
    made = parts(x=y, name="t")
    assert made.list_outputs() == ["t_output0", "t_output1"] and made.list_arguments() == ["y"]
    assert "e_output" in made.get_internals().list_outputs()
    assert parts(x=y).list_outputs() == ["s_output0", "s_output1"]
    group = sym.Group([sym.exp(x, name="e"), sym.sin(x, name="o")])
    assert group(x=y, name="t").list_outputs() == ["e_output", "o_output"]
    loop, _ = sym.contrib.foreach(lambda d, s: (d * s, d + s), x, y)
    values = {"x": mx.nd.array([[1, 2], [3, 4], [5, 6]]), "y": mx.nd.array([1, 10])}
    want = [[1, 20], [6, 48], [25, 96]]
    for again in (loop, loop(x=sym.var("x"), name="again"), copy.copy(loop), copy.deepcopy(loop), loop(y=sym.var("y"))):
        assert again.eval(**values)[0].asnumpy().tolist() == want
    assert loop(x=sym.var("x"), name="again").name == "again"
    twin = copy.deepcopy(parts)
    values = {"x": mx.nd.array([[1, 2], [3, 4]])}
    assert [o.asnumpy().tolist() for o in twin.eval(**values)] == [o.asnumpy().tolist() for o in parts.eval(**values)]
    for args, kwargs in (((x, 3), {}), ((3,), {}), ((), {"x": 3}), ((), {"x": None})):
        with pytest.raises(TypeError, match="Compose expect"):
            sym.elemwise_add(x, y)(*args, **kwargs)


def test_types_that_stay_unknown_are_named() -> None:
    x, y = sym.var("x"), sym.var("y", dtype="float64")
    net = sym.Group([sym.relu(x), sym.relu(y)])
    with pytest.warns(UserWarning, match=r"(?s)^((?!\ty:).)*\tx: None((?!\ty:).)*$"):
        assert net.infer_type() == (None, None, None)
    assert net.infer_type(x="float16") == ([np.float16, np.float64], [np.float16, np.float64], [])
    assert net.infer_type_partial() == ([None, np.float64], [None, np.float64], [])


def test_text_of_a_graph_with_several_outputs_and_attributes() -> None:
    x = sym.var("x")
    conv = sym.Convolution(x, num_filter=4, kernel=(3, 3), no_bias=True, name="c")
    group = sym.Group([conv, sym.split(conv, num_outputs=2, name="s")[1]])
    assert sym.load_json(bytearray(group.tojson().encode())).tojson() == group.tojson()
    assert group.debug_str().splitlines() == [
        "Symbol Outputs:", "\toutput[0]=c(0)", "\toutput[1]=s(1)", "Variable:x", "Variable:c_weight", "-" * 20,
        "Op:Convolution, Name=c", "Inputs:", "\targ[0]=x(0) version=0", "\targ[1]=c_weight(0) version=0", "Attrs:",
        "\tkernel=(3, 3)", "\tno_bias=True", "\tnum_filter=4", "-" * 20, "Op:SliceChannel, Name=s", "Inputs:", "\targ[0]=c(0)",
        "Attrs:", "\tnum_outputs=2",
    ]  # fmt: skip


def test_scopes_may_be_entered_again() -> None:
    """One object, in other surroundings and within itself: what was in force comes back each time, and nothing of what was around
    it before stays in it."""
    autograd = mx.autograd

    def modes() -> tuple[bool, bool]:
        return autograd.is_recording(), autograd.is_training()

    def attributes() -> dict[str, str]:
        return sym.var("x").list_attr()

    def name() -> str:
        return sym.exp(sym.var("x")).name

    surroundings = (
        (modes, [autograd.record(), autograd.pause(), autograd.train_mode()]),
        (attributes, [mx.AttrScope(__a__="1"), mx.AttrScope(__b__="2"), mx.AttrScope(__a__="3")]),
        (mx.current_context, [mx.cpu(1), mx.cpu(2)]),
    )  # fmt: skip
    scope: Any
    for ask, scopes in surroundings:
        alone = []
        for scope in scopes:
            with scope:
                alone.append(ask())
        outside = ask()
        for scope, own in zip(scopes, alone):
            for other, around in zip(scopes, alone):
                with other:
                    assert ask() == around
                    with scope:
                        inside = ask()
                        with other, scope:
                            pass
                        assert ask() == inside, (ask, scope, other)
                    assert ask() == around, (ask, scope, other)
                assert ask() == outside
            with scope:
                assert ask() == own, (ask, scope)
            assert ask() == outside
    one = mx.AttrScope(__a__="1")
    with mx.AttrScope(__b__="1"), one, mx.AttrScope(__b__="2"), one:
        assert attributes() == {"__a__": "1", "__b__": "2"}
    for section, within in ((mx.contrib.autograd.train_section(), True), (mx.contrib.autograd.test_section(), False)):
        for around in (autograd.pause(), autograd.record(), autograd.pause(), autograd.record()):
            with around:
                before = modes()
                with section:
                    assert modes() == (within, within)
                assert modes() == before
    names, prefixed = mx.name.NameManager(), mx.name.Prefix("p_")
    with names:
        first = name()
        with prefixed:
            assert name() == "p_exp0" and sym.exp(sym.var("x"), name="v").name == "p_v"
            with names:
                second = name()
            assert name() == "p_exp1"
        third = name()
    assert (first, second, third) == ("exp0", "exp1", "exp2")
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend((mx.name.Prefix.current, mx.name.NameManager.current)))
    thread.start()  # in a thread of its own, which nobody has asked for a name before
    thread.join()
    assert found[0] is found[1] and type(found[0]) is mx.name.NameManager


def test_attributes_around_are_texts_every_one() -> None:
    with mx.AttrScope(__a__="1", __b__="2"):
        assert sym.var("x").list_attr() == {"__a__": "1", "__b__": "2"}
    for wrong in ({"__a__": "1", "__b__": 2}, {"__a__": 1, "__b__": "2"}, {"__a__": None}):
        with pytest.raises(ValueError, match="string"):
            mx.AttrScope(**wrong)


def test_only_variables_are_told_how_to_begin() -> None:
    """A slope that is computed keeps the attributes that it has, in JSON too."""
    slope = sym.exp(sym.var("g"), name="e")
    made = sym.LeakyReLU(sym.var("x"), slope, act_type="prelu", name="p")
    assert "__init__" not in made.attr_dict().get("e", {}) and "__init__" not in made.attr_dict().get("g", {})
    alone = sym.LeakyReLU(sym.var("x"), act_type="prelu", name="p")
    assert alone.attr_dict()["p_gamma"]["__init__"] == '["Constant", {"value": 0.25}]'
    old = json.loads(made.tojson())
    del old["attrs"]  # as before 0.9
    read = sym.load_json(json.dumps(old))
    assert "__init__" not in read.attr_dict().get("e", {})
