"""Files of MXNet 0.8 to 2.0, with the numbers that each version computed from them (fixtures/json)."""

import json
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid.ir.json import VERSION

FOLDER = Path(__file__).parents[2] / "fixtures" / "json"
FILES = [pytest.param(p, id=f"{p.parent.name}-{p.name.removesuffix('-symbol.json')}") for p in sorted(FOLDER.glob("*/*.json"))
         if p.name.endswith("-symbol.json")]  # fmt: skip
every_file = pytest.mark.parametrize("path", FILES)


def sibling(path: Path, suffix: str) -> Path:
    return path.with_name(path.name.removesuffix("-symbol.json") + suffix)


def computes(symbol: mx.Symbol, path: Path) -> None:
    """Assert that the symbol gives what the version that wrote the file computed."""
    outputs = sibling(path, "-output.npz")
    if not outputs.exists():
        # over everything, argmax ran in no version before 1.9; its numbers are those of 1.9.1
        assert path.name == "argmax_all-symbol.json"
        outputs = FOLDER / "1.9.1" / "argmax_all-output.npz"
    feeds = {k: mx.nd.array(v, dtype=v.dtype) for k, v in np.load(sibling(path, "-input.npz")).items()}
    stored = sibling(path, "-0000.params")
    arguments, states = mx.model.load_params(str(sibling(path, "")), 0) if stored.exists() else ({}, {})
    shapes = {k: v.shape for k, v in feeds.items()}
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", type_dict={k: v.dtype for k, v in feeds.items()}, **shapes)
    executor.copy_params_from(arguments, states)
    missing = set(symbol.list_inputs()) - set(feeds) - set(arguments) - set(states)
    assert all(name.endswith("label") for name in missing), missing
    results = executor.forward(**feeds)
    expected = {k: v for k, v in np.load(outputs).items() if k != "names"}
    assert len(results) == len(expected)
    for result, (key, array) in zip(results, sorted(expected.items())):
        assert result.shape == array.shape, key
        scale = float(np.abs(array).max()) or 1.0
        np.testing.assert_allclose(result.asnumpy(), array, rtol=0, atol=1e-5 * scale, err_msg=key)


@every_file
def test_computes_what_its_version_computed(path: Path) -> None:
    computes(mx.sym.load(path), path)


@every_file
def test_survives_a_round_trip(path: Path) -> None:
    symbol = mx.sym.load(path)
    text = symbol.tojson()
    again = mx.sym.load_json(text)
    assert again.tojson() == text
    assert again.list_inputs() == symbol.list_inputs()
    assert again.list_outputs() == symbol.list_outputs()
    assert again.attr_dict() == symbol.attr_dict()
    data = json.loads(text)
    assert data["attrs"]["mxnet_version"] == ["int", VERSION]
    computes(again, path)


AGED = json.loads((FOLDER / "0.8" / "birth.json").read_text())["made"]


@pytest.mark.parametrize("name", sorted(AGED))
def test_upgrades_old_attributes_as_mxnet_does(name: str) -> None:
    symbol = mx.sym.load(FOLDER / "0.8" / f"{name}-symbol.json")
    assert symbol.list_arguments() == AGED[name]["arguments"]
    assert symbol.list_auxiliary_states() == AGED[name]["auxiliary"]
    variables = set(symbol.list_inputs())
    found = {n: attrs for n, attrs in symbol.attr_dict().items() if n in variables}
    assert found == AGED[name]["attributes_after_upgrade"]


# -- the forms one by one ------------------------------------------------------------------------------------------------------


def text_of(nodes: list[dict], heads: list[list[int]], version: int | None = 10901) -> str:
    stated = {} if version is None else {"attrs": {"mxnet_version": ["int", version]}}
    return json.dumps({"nodes": nodes, "arg_nodes": [], "heads": heads, **stated})


X = {"op": "null", "name": "x", "inputs": []}


def test_a_version_that_is_no_number_counts_as_none() -> None:
    """Files that say none are of 0.8 or before, when an axis of -1 meant all."""
    nodes = [X, {"op": "argmax", "name": "m", "inputs": [[0, 0]], "attr": {"axis": "-1"}}]
    none, new = (mx.sym.load_json(text_of(nodes, [[1, 0]], version)).tojson() for version in (None, 10901))
    assert none != new
    for version in (float("inf"), float("-inf"), float("nan"), "new", None, []):
        text = text_of(nodes, [[1, 0]], 777).replace("777", json.dumps(version))
        assert mx.sym.load_json(text).tojson() == none, version


def test_attributes_under_any_of_their_names() -> None:
    """``param`` and ``attr`` before 0.9.5, ``attr`` to 1.0, ``attrs`` since; the later of these counts; values may be no texts."""
    for given in (
        {"param": {"axis": "1"}}, {"attr": {"axis": "1"}}, {"attrs": {"axis": "1"}}, {"attrs": {"axis": 1}},
        {"param": {"axis": "0"}, "attr": {"axis": "1"}}, {"attrs": {"axis": "0"}, "attr": {"axis": "1"}},
        {"param": {"axis": "0"}, "attrs": {"axis": "1"}}, {"param": None, "attrs": {"axis": "1"}},
    ):  # fmt: skip
        net = mx.sym.load_json(text_of([X, {"op": "argmax", "name": "m", "inputs": [[0, 0]], **given}], [[1, 0]]))
        assert net.attr("axis") == "1", given
        assert net.eval(x=mx.nd.array([[1, 5, 2], [9, 0, 3]]))[0].asnumpy().tolist() == [1, 0]


def test_of_two_spellings_the_old_one_counts_in_old_files() -> None:
    """In either order, of variables and of operators, as MXNet 1.9.1 answered for each version."""
    for version, wanted in ((None, "3"), (800, "3"), (905, "3"), (10100, "3"), (10901, "2")):
        for name in ("lr_mult", "wd_mult", "ctx_group"):
            both = [(name, "3"), (f"__{name}__", "2")]
            for pairs in (both, both[::-1]):
                attrs = "attrs" if (version or 0) > 1000 else "attr"
                nodes = [
                    {"op": "null", "name": "x", attrs: dict(pairs), "inputs": []},
                    {"op": "exp", "name": "e", attrs: dict(pairs), "inputs": [[0, 0]]},
                ]
                data = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0]]}
                data |= {} if version is None else {"attrs": {"mxnet_version": ["int", version]}}
                found = mx.sym.load_json(json.dumps(data)).attr_dict()
                assert [found[n][f"__{name}__"] for n in "xe"] == [wanted] * 2, (version, pairs)


def test_the_last_axis_was_none_before_0_9_5() -> None:
    for op, axis, version, want in (
        ("argmax", "-1", 904, [3]), ("argmax", "-1", None, [3]), ("argmin", "-1", 904, [4]), ("argmax", "-1", 905, [1, 0]),
        ("argmin", "-1", 905, [0, 1]), ("argmax", "1", 904, [1, 0]), ("argmin", "0", 800, [0, 1, 0]),
    ):  # fmt: skip
        rows = [X, {"op": op, "name": "m", "attr": {"axis": axis}, "inputs": [[0, 0]]}]
        net = mx.sym.load_json(text_of(rows, [[1, 0]], version))
        found = net.eval(x=mx.nd.array([[1, 5, 2], [9, 0, 3]]))[0].asnumpy().tolist()
        assert found == want, (op, axis, version)


def test_what_steers_training_is_told_from_what_operators_take() -> None:
    rows = [
        {"op": "null", "name": "x", "inputs": [], "attr": {"lr_mult": "3", "ctx_group": "a", "mine": "kept"}},
        {"op": "null", "name": "w", "inputs": []},
        {"op": "null", "name": "b", "inputs": [], "attr": {"__wd_mult__": "4"}},
        {"op": "FullyConnected", "name": "fc", "inputs": [[0, 0], [1, 0], [2, 0]],
         "attr": {"num_hidden": "2", "weight_lr_mult": "0.5", "bias_wd_mult": "7", "ctx_group": "g", "__free__": "1"}},
    ]  # fmt: skip
    found = mx.sym.load_json(text_of(rows, [[3, 0]])).attr_dict()
    assert found["x"]["__lr_mult__"] == "3" and found["x"]["__ctx_group__"] == "a" and found["x"]["mine"] == "kept"
    assert found["w"]["__lr_mult__"] == "0.5" and found["b"]["__wd_mult__"] == "7"
    fc = {k: v for k, v in found["fc"].items() if k.startswith("__") or k == "num_hidden"}
    assert fc == {"num_hidden": "2", "__ctx_group__": "g", "__free__": "1"}
    assert not any("lr_mult" in k or "wd_mult" in k for k in found["fc"])


def test_inputs_that_a_file_leaves_out_are_variables() -> None:
    """Auxiliary states before 0.9, and what else a writer left to the loader; how they start is noted on them."""
    rows = [X, {"op": "BatchNorm", "name": "bn", "param": {"eps": "0.01", "fix_gamma": "False"}, "inputs": [[0, 0]]}]
    for version in (None, 900, 10901):
        net = mx.sym.load_json(text_of(rows, [[1, 0]], version))
        assert net.list_arguments() == ["x", "bn_gamma", "bn_beta"]
        assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
        arrays = {
            "x": [[1.0], [3.0]],
            "bn_gamma": [2.0],
            "bn_beta": [0.5],
            "bn_moving_mean": [1.0],
            "bn_moving_var": [3.99],
        }
        (y,) = net.eval(**{n: mx.nd.array(v) for n, v in arrays.items()})
        np.testing.assert_allclose(y.asnumpy(), [[0.5], [2.5]], rtol=1e-5)


def test_nodes_in_any_order_and_references_of_two_or_three_numbers() -> None:
    rows = [
        {"op": "elemwise_sub", "name": "d", "inputs": [[2, 1], [1, 0, 0]]},
        {"op": "null", "name": "y", "inputs": []},
        {"op": "SliceChannel", "name": "s", "attrs": {"num_outputs": "2", "axis": "1"}, "inputs": [[3, 0]]},
        X,
    ]
    net = mx.sym.load_json(text_of(rows, [[0, 0], [2, 0, 0]]))
    assert net.list_outputs() == ["d_output", "s_output0"]
    given = {"x": mx.nd.array([[1, 2, 3, 4]]), "y": mx.nd.array([[10, 20]])}
    assert [o.asnumpy().tolist() for o in net.eval(**given)] == [[[-7, -16]], [[1, 2]]]
    for heads, said in (
        ([], "heads: empty"), ([[9, 0]], "refers to node 9 output 0"), ([[0, -1]], "output -1"), ([[0]], "wanted .node, output"),
        ([[0, 1]], "heads reads output 1 of d, which has 1"), ([[2, 2]], "heads reads output 2 of s, which has 2"),
    ):  # fmt: skip
        with pytest.raises(mx.MXNetError, match=said):
            mx.sym.load_json(text_of(rows, heads))
    with pytest.raises(mx.MXNetError, match="a cycle through"):
        mx.sym.load_json(
            text_of(
                [{"op": "relu", "name": "a", "inputs": [[1, 0]]}, {"op": "relu", "name": "b", "inputs": [[0, 0]]}],
                [[0, 0]],
            )
        )


def test_what_is_written_to_the_letter() -> None:
    """As MXNet 1.9.1 lays it out: rows count all outputs, references to a state count who has changed it before."""
    x = mx.sym.var("x")
    one = mx.sym.BatchNorm(x, name="one", moving_mean=mx.sym.var("mean"))
    two = mx.sym.BatchNorm(one, name="two", moving_mean=mx.sym.var("m2"))
    parts = mx.sym.split(two, num_outputs=2, name="s")
    data = json.loads(mx.sym.Group([parts[1], mx.sym.relu(parts[0], name="r")]).tojson())
    names = [n["name"] for n in data["nodes"]]
    assert names == ["x", "one_gamma", "one_beta", "mean", "one_moving_var", "one", "two_gamma", "two_beta", "m2", "two_moving_var",
                     "two", "s", "r"]  # fmt: skip
    assert data["arg_nodes"] == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert data["node_row_ptr"] == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 17, 18]
    assert data["heads"] == [[11, 1, 0], [12, 0, 0]]
    by_name = {n["name"]: n for n in data["nodes"]}
    assert by_name["one"]["inputs"] == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 1], [4, 0, 1]]
    assert by_name["s"] == {"op": "SliceChannel", "name": "s", "attrs": {"num_outputs": "2"}, "inputs": [[10, 0, 0]]}
    assert by_name["r"] == {"op": "relu", "name": "r", "inputs": [[11, 0, 0]]}
    shared = mx.sym.var("state")
    twice = [mx.sym.BatchNorm(x, name=n, moving_mean=shared) for n in ("p", "q")]
    again = {n["name"]: n["inputs"][3][2] for n in json.loads(mx.sym.Group(twice).tojson())["nodes"] if n["inputs"]}
    assert again == {"p": 1, "q": 2}
    assert (
        mx.sym.relu(x, name="r").tojson()
        == """{
  "nodes": [
    {
      "op": "null", 
      "name": "x", 
      "inputs": []
    }, 
    {
      "op": "relu", 
      "name": "r", 
      "inputs": [[0, 0, 0]]
    }
  ], 
  "arg_nodes": [0], 
  "node_row_ptr": [0, 1, 2], 
  "heads": [[1, 0, 0]], 
  "attrs": {"mxnet_version": ["int", 10901]}
}"""
    )


def said_of(rows: list, heads: object = None, **more) -> str:
    """Fault that is found in a graph of these nodes, "" if none."""
    try:
        mx.sym.load_json(
            json.dumps({"nodes": rows, "heads": [[len(rows) - 1, 0, 0]] if heads is None else heads, **more})
        )
    except mx.MXNetError as error:
        return str(error)
    return ""


def test_structures_that_are_no_graphs() -> None:
    """Each is refused for what it is, and nothing else is said."""
    relu = {"op": "relu", "name": "r", "inputs": [[0, 0, 0]]}
    for text, said in (
        ('{"nodes": 3, "heads": [[0, 0]]}', "got nodes, heads, wanted"), ('{"nodes": []}', "got nodes, wanted"),
        ('{"heads": []}', "got heads, wanted"), (json.dumps(dict.fromkeys("abcdefg", 1)), "got a, b, c, d, e, f, wanted"),
        ("[1]", "got list, wanted"),
    ):  # fmt: skip
        with pytest.raises(mx.error.FormatError, match=said):
            mx.sym.load_json(text)
    for ref in (
        {"0": 0, "1": 0},
        "00",
        0,
        None,
        [0],
        [0] * 4,
        [0, 0.0],
        [0.0, 0],
        ["0", 0],
        [0, 0, None],
        [True, 0],
        [0, 0, "1"],
    ):
        assert "node 1 (r): reference" in said_of([X, {**relu, "inputs": [ref]}]), ref
        assert "heads: reference" in said_of([X, relu], [ref]), ref
    for node in (["relu", "r"], "relu", None, 3, {"op": 3, "name": "r"}, {"op": "relu", "name": 3}, {"op": None, "name": "r"},
                 {"op": "relu"}, {"name": "r"}):  # fmt: skip
        said = said_of([X, node], [])
        assert "node 1: wanted an object with op and name" in said and "heads: empty" not in said, node
    assert "heads: empty" in said_of([X], [])
    assert "references are dict" in said_of([X, {**relu, "inputs": {"a": 1}}])
    for count, more in ((1, ""), (20, ""), (21, " and 1 more"), (23, " and 3 more")):
        said = said_of([X, *({**relu, "name": f"r{i}", "inputs": [[99, 0]]} for i in range(count))])
        assert said.count("refers to node 99") == min(count, 20) and said.endswith(f"nodes are 0 to {count}{more}")


def test_nodes_that_leave_things_out() -> None:
    """No list of inputs is none; attributes may be lists; what cannot be typed is said of all nodes together."""
    rows = [{"op": "null", "name": "x"}, {"op": "_ones", "name": "o", "attrs": {"shape": [2, 3]}},
            {"op": "Concat", "name": "c", "attrs": {"dim": 0}, "inputs": [[0, 0], [1, 0]]},
            {"op": "sum", "name": "s", "attrs": {"axis": [0, -1], "keepdims": True}, "inputs": [[2, 0]]}]  # fmt: skip
    net = mx.sym.load_json(text_of(rows, [[3, 0]]))
    assert net.eval(x=mx.nd.array([[1, 2, 3]]))[0].asnumpy().tolist() == [[12]]
    assert net.attr_dict()["s"] == {"axis": "[0, -1]", "keepdims": "True"}
    two = [X, {"op": "Concat", "name": "c", "attrs": {"num_args": "5"}, "inputs": [[0, 0], [0, 0]]},
           {"op": "SliceChannel", "name": "s", "attrs": {"num_outputs": str((1 << 16) + 1)}, "inputs": [[0, 0]]},
           {"op": "elemwise_add", "name": "e", "inputs": [[0, 0]] * 3}]  # fmt: skip
    said = said_of(two, [[1, 0], [2, 0], [3, 0]])
    for words in (
        "node c: Concat: got 2 inputs, wanted 5",
        "node s: SliceChannel: attribute num_outputs='65537' is not int (wanted 1 to 65536)",
        "node e: elemwise_add: got 3 inputs, wanted 2 (lhs, rhs)",
    ):
        assert words in said
    two[2]["attrs"] = {"num_outputs": str(1 << 16)}
    two[1]["attrs"], two[3]["inputs"] = {"num_args": "2"}, [[0, 0]] * 2
    assert said_of(two, [[1, 0], [2, 65535], [3, 0]]) == ""
    assert "reads output 65536 of s" in said_of(two, [[2, 65536]])


def test_minus_one_was_the_way_to_say_all_for_two_operators_alone() -> None:
    """argmax and argmin before 0.9.5; sums over the last axis have always been that."""
    data = np.array([[1, 9, 3], [12, 5, 6]], np.float32)
    for version, everything in ((904, True), (905, False), (None, True), (10901, False)):
        for name, whole, last in (("argmax", 3, [1, 0]), ("argmin", 0, [0, 1]), ("sum", None, [13, 23])):
            node = {"op": name, "name": "a", "attrs": {"axis": "-1"}, "inputs": [[0, 0]]}
            net = mx.sym.load_json(text_of([X, node], [[1, 0]], version))
            (got,) = net.eval(x=mx.nd.array(data))
            assert got.asnumpy().tolist() == ([whole] if everything and whole is not None else last), (version, name)
        node = {"op": "argmax", "name": "a", "attrs": {"axis": "1"}, "inputs": [[0, 0]]}
        net = mx.sym.load_json(text_of([X, node], [[1, 0]], version))
        assert net.eval(x=mx.nd.array(data))[0].asnumpy().tolist() == [1, 0]


def test_what_attributes_say_of_variables() -> None:
    """weight_lr_mult speaks of the variable named weight, if that is one; made variables know what their node has been told."""
    attrs = {
        "num_hidden": "2",
        "weight_lr_mult": "3",
        "bias_wd_mult": "0",
        "foo_lr_mult": "5",
        "lr_mult": "7",
        "__mine__": "m",
    }
    rows = [X, {"op": "null", "name": "v"}, {"op": "exp", "name": "w", "inputs": [[1, 0]]},
            {"op": "FullyConnected", "name": "f", "attrs": attrs, "inputs": [[0, 0], [2, 0]]}]  # fmt: skip
    found = mx.sym.load_json(text_of(rows, [[3, 0]])).attr_dict()
    node = {
        "num_hidden": "2",
        "weight_lr_mult": "3",
        "foo_lr_mult": "5",
        "__lr_mult__": "7",
        "lr_mult": "7",
        "__mine__": "m",
    }
    assert found["f"] == node
    told = {"num_hidden": "2", "__lr_mult__": "7", "lr_mult": "7", "__mine__": "m"}
    assert found["f_bias"] == {**told, "__wd_mult__": "0", "wd_mult": "0"}
    assert "w" not in found and "v" not in found
    rows[3]["inputs"] = [[0, 0], [1, 0]]
    found = mx.sym.load_json(text_of(rows, [[3, 0]])).attr_dict()
    assert found["v"] == {"__lr_mult__": "3", "lr_mult": "3"} and "weight_lr_mult" not in found["f"]
    # a gamma that is computed is initialised by nobody
    rows = [X, {"op": "null", "name": "v"}, {"op": "exp", "name": "g", "inputs": [[1, 0]]},
            {"op": "BatchNorm", "name": "n", "inputs": [[0, 0], [2, 0]]}]  # fmt: skip
    net = mx.sym.load_json(text_of(rows, [[3, 0]], 800))
    assert net.list_arguments() == ["x", "v", "n_beta"]
    assert "g" not in net.attr_dict() and "v" not in net.attr_dict() and "__init__" in net.attr_dict()["n_moving_var"]
