"""A text classifier, imported, tuned and exported: two inputs of whole numbers, positions that end, weights that are shared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import bridge
import hybrid as mx
from bridge.domains import numbers_taken
from bridge.draws import draw
from bridge.inputs import parse_dynamic
from bridge.models import BadInput, open_model
from bridge.report import convert_brief, import_table, inspect_table
from hybrid import autograd, gluon, native, nd
from hybrid.core.error import MixedFiles, MXNetError
from hybrid.core.op import Spec
from hybrid.gluon.base_parameter import ParameterError
from hybrid.ir.infer import infer
from tests.bridge.text_classifier import PARAMETERS, POSITIONS, WORDS, classifier

NAMES = ["input_ids", "attention_mask"]
AXES = {n: {0: "batch", 1: "seq"} for n in NAMES}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    folder = tmp_path_factory.mktemp("text")
    onnx.save(classifier(), folder / "text.onnx")
    yield str(folder / "text"), bridge.import_onnx(folder / "text.onnx", output=folder / "text")


def block(prefix: str) -> gluon.SymbolBlock:
    return gluon.SymbolBlock.imports(f"{prefix}-symbol.json", NAMES, f"{prefix}-0000.params")


def whole(values: Any) -> nd.NDArray:
    return nd.array(np.asarray(values), dtype="int64")


class Tuned(gluon.HybridBlock):
    def __init__(self, body: gluon.SymbolBlock):
        super().__init__(prefix="tuned_")
        self.body = body

    def hybrid_forward(self, F: Any, ids: Any, mask: Any) -> Any:  # noqa: N803
        return F.softmax(self.body(ids, mask))


def tuned(prefix: str, folder: Path, dtype: str = "int64") -> str:
    net = Tuned(block(prefix))
    net.hybridize()
    net(nd.array([[1, 2, 3]], dtype=dtype), nd.ones((1, 3), dtype=dtype))
    net.export(str(folder / "tuned"))
    return str(folder / "tuned")


# -- what there is to see ------------------------------------------------------------------------------------------------------


def lines(page: Any) -> str:
    found = []
    for part in page.blocks:
        rows = getattr(part, "rows", None)
        found += [f"{n} {v}" for n, v in rows] if rows and len(rows[0]) == 2 else [getattr(part, "text", "")]
    return "\n".join(map(str, found))


def test_import_says_shapes_of_outputs_and_what_is_shared(imported: tuple[str, Any]) -> None:
    prefix, result = imported
    assert {n: len(readers) for n, readers in result.shared.items()} == {"norm_weight": 2, "norm_bias": 2}
    text = lines(import_table(result))
    assert "output logits float32 batch x 3" in text
    assert "shared norm_weight, norm_bias by /first/LayerNormalization_6, /second/LayerNormalization_10" in text
    for model in (f"{prefix}.onnx", prefix):  # of the file, and of what became of it
        found = bridge.inspect(model)
        assert found.shared == result.shared
        assert "shared norm_weight, norm_bias by" in lines(inspect_table(found))


def test_what_nothing_shares_is_not_said() -> None:
    x, w, scale = mx.sym.var("x"), mx.sym.var("w"), mx.sym.var("scale")
    net = mx.sym.FullyConnected(x, w, num_hidden=3, no_bias=True, name="once")
    params = {"w": nd.ones((3, 4)), "scale": nd.ones(1)}
    once = mx.sym.broadcast_add(mx.sym.broadcast_mul(net, scale), scale)  # a number twice, which is no weight
    assert not bridge.inspect(once, params).shared
    both = net + mx.sym.FullyConnected(x, w, num_hidden=3, no_bias=True, name="twice")
    assert bridge.inspect(both, params).shared == {"w": ("once", "twice")}


def test_summaries_of_the_symbol(imported: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """A list of sizes has no second axis; every weight counts, once, whether shapes are given or not."""
    symbol = mx.sym.load(f"{imported[0]}-symbol.json")
    for shape in ({n: (2, 8) for n in NAMES}, None):
        mx.viz.print_summary(symbol, shape=shape)
        out = capsys.readouterr().out
        assert f"Total params: {PARAMETERS}\n" in out
        counts = {line.split("(")[0]: line.split() for line in out.splitlines() if "LayerNorm)" in line}
        assert [v[-2] for v in counts.values()] == ["16", "0"]
        assert ("8x8" in out) == (shape is not None)


def test_summary_of_the_block(imported: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    net = block(imported[0])
    net.collect_params()["words"].grad_req = "null"
    net.summary(whole([[1, 2]]), whole([[1, 1]]))
    out = capsys.readouterr().out
    [row] = (line.split() for line in out.splitlines() if "/second/LayerNormalization_10 (LayerNorm)" in line)
    assert row[2:] == ["(1,", "2,", "8)", "16"]
    assert f"Total params: {PARAMETERS + 16}\n" in out
    assert f"Non-trainable params: {WORDS * 8}\n" in out
    assert "Shared params in forward computation graph: 16\n" in out
    assert f"Unique parameters in model: {PARAMETERS}\n" in out
    assert len({len(line) for line in out.splitlines() if set(line) in ({"-"}, {"="})}) == 1


def test_summary_counts_auxiliary_states_and_data_is_no_weight(capsys: pytest.CaptureFixture[str]) -> None:
    x = mx.sym.var("x", shape=(2, 3, 4, 4))
    y = mx.sym.BatchNorm(mx.sym.Convolution(x, num_filter=5, kernel=(1, 1), name="conv"), name="bn")
    net = gluon.SymbolBlock(y, [x])
    net.initialize()
    net.summary(nd.ones((2, 3, 4, 4)))
    out = capsys.readouterr().out
    assert "Total params: 40\n" in out and "Non-trainable params: 10\n" in out  # 15 + 5, and 4 x 5
    mx.viz.print_summary(y)  # MXNet's numbers: nothing is known of the channels
    assert "Total params: 5\n" in capsys.readouterr().out


# -- positions outside -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hybridized", (False, True))
def test_ids_outside_are_refused(imported: tuple[str, Any], hybridized: bool) -> None:
    net: Any = block(imported[0])
    if hybridized:
        net = Tuned(net)
        net.hybridize()
    mask = whole([[1, 1]])
    for _ in range(4):  # the first calls bind, later ones are short
        last, behind = net(whole([[1, WORDS - 1]]), mask), net(whole([[1, -1]]), mask)
        assert (last == behind).asnumpy().all()
        net(whole([[1, -WORDS]]), mask)
        for wrong in (WORDS, -WORDS - 1):
            with pytest.raises(
                MXNetError, match=f"/embedded/Gather_0.*{wrong}.*wanted -{WORDS} to {WORDS - 1}: words has"
            ):
                net(whole([[1, wrong]]), mask).wait_to_read()
    with autograd.record(), pytest.raises(MXNetError, match="wanted -20 to 19"):
        net(whole([[1, WORDS]]), mask).wait_to_read()
    assert net(nd.zeros((0, 2), dtype="int64"), nd.zeros((0, 2), dtype="int64")).shape == (0, 3)


def test_ids_outside_are_refused_by_run_and_by_the_exported_file(imported: tuple[str, Any], tmp_path: Path) -> None:
    prefix, _ = imported
    feeds = {"input_ids": np.array([[1, WORDS]]), "attention_mask": np.ones((1, 2), np.int64)}
    with pytest.raises(MXNetError, match="wanted -20 to 19"):
        bridge.run(prefix, feeds)
    bridge.convert(prefix, inputs={n: (2, 5) for n in NAMES}, dynamic=AXES, output=tmp_path / "again.onnx")
    written = onnx.load(tmp_path / "again.onnx")
    assert not {"Mod", "Clip"} & {n.op_type for n in written.graph.node}
    session = onnxruntime.InferenceSession(tmp_path / "again.onnx")
    with pytest.raises(Exception, match="out of data bounds"):
        session.run(None, feeds)
    feeds["input_ids"] %= WORDS
    [found] = session.run(None, feeds)
    assert np.allclose(np.asarray(found), next(iter(bridge.run(prefix, feeds).values())), atol=1e-5)


def test_a_round_trip_of_take_keeps_what_is_strict(imported: tuple[str, Any]) -> None:
    graph = json.loads(Path(f"{imported[0]}-symbol.json").read_text("utf-8"))
    [take] = (n for n in graph["nodes"] if n["op"] == "take")
    assert take["attrs"] == {"mode": "wrap", "__positions__": "strict"}  # MXNet 1.9.1 reads this, and goes round


def test_draws_stay_inside_where_positions_are_strict(imported: tuple[str, Any]) -> None:
    model = open_model(imported[0])
    taken = numbers_taken(model.infer({n: Spec((2, 8)) for n in NAMES}))
    accepted = taken["input_ids"].accepted
    assert accepted is not None and (accepted.low, accepted.high) == (-WORDS, WORDS - 1)


# -- masks -----------------------------------------------------------------------------------------------------------------------


def blocked(x: Any) -> Any:
    return mx.sym.broadcast_add(mx.sym.var("scores"), (1 - mx.sym.cast(x, "float32")) * -10000)


@pytest.mark.parametrize(
    "name, build, dtype, mask",
    [
        ("attention_mask", lambda x: mx.sym.cast(x, "float32") * 2, "int64", True),
        ("data1", blocked, "int64", True),
        ("data1", blocked, "float32", True),
        ("data1", lambda x: mx.sym.cast(x, "bool"), "int32", True),
        ("data1", lambda x: x == 0, "int64", True),
        ("data1", lambda x: 1 - mx.sym.cast(x, "float32"), "int64", False),  # of 1 - x alone nothing follows
        ("data1", lambda x: mx.sym.cast(x, "float32") * -10000, "int64", False),
        ("data1", lambda x: x + 1, "int64", False),
        ("image_mask", lambda x: x + 1, "float32", False),  # which may be added, as minus infinity
    ],
)
def test_masks_are_known(name: str, build: Any, dtype: str, mask: bool) -> None:
    found = numbers_taken(infer(build(mx.sym.var(name)).graph, {name: (3, 6)}, {name: dtype}))
    assert found[name].mask is mask
    told: dict[str, str] = {}
    values = draw({name: Spec((3, 6), np.dtype(dtype))}, found, 0, told=told)[name]
    assert (told[name] == "a mask of ones and zeros") is mask
    if mask:
        assert set(np.unique(values)) == {0, 1} and values[0].all() and values[:, 0].all()
        assert (np.diff(values.astype(int), axis=1) <= 0).all()  # padding is behind


def test_a_mask_that_is_no_row() -> None:
    spec, taken = Spec((), np.dtype("int64")), numbers_taken(infer(mx.sym.var("mask").graph, {}, {"mask": "int64"}))
    assert draw({"mask": spec}, taken)["mask"] == 1


# -- conversion of what was tuned --------------------------------------------------------------------------------------------


def test_an_exported_block_says_that_its_inputs_are_whole_numbers(imported: tuple[str, Any], tmp_path: Path) -> None:
    prefix = tuned(imported[0], tmp_path)
    assert {n: mx.sym.load(f"{prefix}-symbol.json").attr_dict()[n]["__dtype__"] for n in ("data0", "data1")} == {
        "data0": "6",
        "data1": "6",
    }
    result = bridge.convert(prefix, inputs={"data0": (2, 5), "data1": (2, 5)}, output=tmp_path / "tuned.onnx")
    assert [s["dtype"] for s in result.inputs.values()] == ["int64", "int64"] and not result.warnings
    assert "data0 int64 (2,5), data1 int64 (2,5) -> " in lines(convert_brief(result))
    again = gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["data0", "data1"], f"{prefix}-0000.params")
    one = nd.ones((1, 2))
    assert again(one, one).shape == (1, 3)  # what is given counts


def test_float32_is_not_said_and_ids_of_it_are_remarked(imported: tuple[str, Any], tmp_path: Path) -> None:
    prefix = tuned(imported[0], tmp_path, "float32")
    assert "__dtype__" not in mx.sym.load(f"{prefix}-symbol.json").attr_dict()["data0"]
    shapes: dict[str, Any] = {"data0": (2, 5), "data1": (2, 5)}
    result = bridge.convert(prefix, inputs=shapes, output=tmp_path / "tuned.onnx")
    note, cast = result.warnings
    assert note.startswith("input data0 is taken as float32, which nothing says") and "--input data0:2,5:int64" in note
    assert "makes it float32 at once" in cast and cast.endswith("--input data1:2,5:int64")
    for said in ("int64", "float32"):
        given = {n: Spec(s, np.dtype(said)) for n, s in shapes.items()}
        assert not bridge.convert(prefix, inputs=given, output=tmp_path / "tuned.onnx").warnings


def test_sizes_of_which_greater_ones_fail(imported: tuple[str, Any], tmp_path: Path) -> None:
    prefix, _ = imported
    for given, other in ((POSITIONS, POSITIONS // 2), (POSITIONS - 4, POSITIONS)):
        result = bridge.convert(
            prefix, inputs={n: (2, given) for n in NAMES}, dynamic=AXES, output=tmp_path / "again.onnx"
        )
        assert result.verification is not None
        [note] = result.verification.warnings
        assert note.startswith(f"seq: sizes above {POSITIONS} fail") and "/summed/Add_5" in note
        assert note.endswith(f"compared at {given} and {other}")
        sizes = {tuple(r["shapes"]["input_ids"]) for r in result.verification.runs}
        assert (2, given) in sizes and any(s[1] == other for s in sizes)
        assert result.outputs["logits"]["shape"] == ["batch", 3]
    assert not bridge.convert(
        prefix, inputs={n: (2, 5) for n in NAMES}, dynamic=AXES, output=tmp_path / "again.onnx"
    ).verification.warnings  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "size, apart",
    [
        (POSITIONS, {"input_ids": {1: "seq"}, "attention_mask": {1: "other"}}),
        (8, {"input_ids": {1: "seq"}}),
        (2, {"input_ids": {1: "seq"}}),
        (8, {"input_ids": {0: "batch"}}),
    ],
)
def test_sizes_that_do_not_go_together_are_refused(
    imported: tuple[str, Any], tmp_path: Path, size: int, apart: dict[str, dict[int, str]]
) -> None:
    """Even where a size of 1, which goes with any other, would do."""
    with pytest.raises(BadInput, match="one label"):
        bridge.convert(imported[0], inputs={n: (2, size) for n in NAMES}, dynamic=apart, output=tmp_path / "again.onnx")


def test_new_names_of_inputs_are_taken(imported: tuple[str, Any], tmp_path: Path) -> None:
    prefix, rename = tuned(imported[0], tmp_path), {"data0": "input_ids", "data1": "attention_mask"}
    arrays: dict[str, Any] = {"input_ids": np.array([[3, 4, 5]]), "attention_mask": np.array([[1, 1, 0]])}
    np.savez(tmp_path / "test.npz", **arrays)
    for inputs in (tmp_path / "test.npz", arrays, {"data0": (1, 3), "attention_mask": (1, 3)}):
        result = bridge.convert(
            prefix,
            inputs=inputs,
            rename=rename,
            dynamic=AXES,
            also=tmp_path / "test.npz",
            output=tmp_path / "tuned.onnx",
        )
        assert list(result.inputs) == NAMES
        assert result.inputs["input_ids"]["shape"] == ["batch", "seq"]
    with pytest.raises(BadInput, match="data0 and input_ids are one input"):
        bridge.convert(prefix, inputs={"data0": (1, 3), "input_ids": (1, 3)}, rename=rename, output=tmp_path / "t.onnx")
    with pytest.raises(BadInput, match="unknown input other"):
        bridge.convert(prefix, inputs={"other": (1, 3)}, rename=rename, output=tmp_path / "t.onnx")


def test_the_word_that_may_stand_alone() -> None:
    with pytest.raises(BadInput, match=r"data:1=seq, or batch; batch alone may stand without axes$"):
        parse_dynamic(["seq"], ["batch"])
    with pytest.raises(BadInput, match=r"data:0=batch$"):
        parse_dynamic(["seq"])


# -- blocks ------------------------------------------------------------------------------------------------------------------------


def test_inputs_that_are_forgotten_are_named(imported: tuple[str, Any], tmp_path: Path) -> None:
    plain = tuned(imported[0], tmp_path, "float32")
    for prefix, names in ((imported[0], NAMES), (plain, ["data0", "data1"])):
        with pytest.raises(ParameterError, match=f"{names[1]} must be named among the inputs") as caught:
            gluon.SymbolBlock.imports(f"{prefix}-symbol.json", names[:1], f"{prefix}-0000.params")
        assert f"{names}, ..." in str(caught.value) and "allow_missing" not in str(caught.value)
    arrays = nd.load(f"{plain}-0000.params")
    del arrays["arg:head_bias"]
    nd.save(f"{plain}-0000.params", arrays)
    with pytest.warns(MixedFiles), pytest.raises(ParameterError, match=r"head_bias; set allow_missing=True"):
        gluon.SymbolBlock.imports(f"{plain}-symbol.json", ["data0", "data1"], f"{plain}-0000.params")


def test_what_mxnet_says_of_two_inputs_and_of_biases_of_symbols() -> None:
    """HybridSequential takes one input, in MXNet too, and Xavier refuses a bias of which a symbol says nothing."""
    net = gluon.nn.HybridSequential()
    net.add(Pair(), gluon.nn.Dense(2))
    net.initialize()
    for _ in range(2):
        with pytest.raises(TypeError, match=r"hybrid_forward\(\) takes 3 positional arguments but 4 were given"):
            net(nd.ones((2, 3)), nd.ones((2, 3)))
        net.hybridize()
    x = mx.sym.var("x")
    head = gluon.SymbolBlock(mx.sym.FullyConnected(x, num_hidden=4, name="top"), [x])
    with pytest.raises(ValueError, match=r"cannot be applied to vector top_bias.*params\['top_bias'\]"):
        head.initialize(mx.init.Xavier())
        head(nd.ones((2, 3)))
    head = gluon.SymbolBlock(mx.sym.FullyConnected(x, num_hidden=4, name="top"), [x])
    head.collect_params()["top_bias"].init = mx.init.Zero()
    head.initialize(mx.init.Xavier())
    assert head(nd.ones((2, 3))).shape == (2, 4)


class Pair(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, a: Any, b: Any) -> Any:  # noqa: N803
        return a + b


@pytest.mark.skipif(native.level() is None, reason="NumPy has no programs to save")
def test_a_compiled_file_looks_and_takes_the_dtypes_of_the_symbol(imported: tuple[str, Any], tmp_path: Path) -> None:
    prefix, _ = imported
    file = tmp_path / "text.compiled"
    result = bridge.compile(prefix, inputs={n: (1, 2) for n in NAMES}, output=file)
    assert [s["dtype"] for s in result.inputs.values()] == ["int64", "int64"]
    model = bridge.CompiledModel(prefix, compiled=file)
    feeds = {"input_ids": np.array([[1, -1]]), "attention_mask": np.ones((1, 2), np.int64)}
    assert model.program is not None and model.program.arrange(feeds, frozenset()) is not None
    assert (model.run(feeds)["logits"] == bridge.run(prefix, feeds)["logits"]).all()
    with pytest.raises(MXNetError, match="wanted -20 to 19"):
        model.run({**feeds, "input_ids": np.array([[1, WORDS]])})


def test_what_is_shared_is_logged(imported: tuple[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "bridge")
    for read in (mx.contrib.onnx.import_model, mx.contrib.onnx.import_to_gluon):
        caplog.clear()
        read(f"{imported[0]}.onnx")
        assert caplog.messages == [
            "shared: norm_weight, norm_bias by /first/LayerNormalization_6, /second/LayerNormalization_10",
            "in training: trained, although the file does not say whether they are parameters: positions",
        ]
