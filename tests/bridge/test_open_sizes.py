"""Sizes of open axes that a file is tried at: odd ones too, and what is said where a network takes multiples alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import onnxruntime
import pytest

import bridge
import hybrid as mx

OPEN = {"data": {2: "h", 3: "w"}}


def hourglass(halvings: int) -> mx.sym.Symbol:
    """Halves a picture so often, doubles it again, and puts that beside the picture."""
    data = mx.sym.var("data")
    x = data
    for i in range(halvings):
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"down{i}")
    for i in range(halvings):
        x = mx.sym.UpSampling(x, scale=2, sample_type="nearest", name=f"up{i}")
    return mx.sym.concat(data, x, dim=1, name="beside")


@pytest.mark.parametrize(("halvings", "side"), [(1, 10), (2, 12), (3, 24)])
def test_multiples_that_a_network_takes_are_told(halvings: int, side: int, tmp_path: Path) -> None:
    inputs = {"data": (1, 3, side, side)}
    found = bridge.convert(hourglass(halvings), inputs=inputs, dynamic=OPEN, output=tmp_path / "m.onnx")
    step = 2**halvings
    said = f"h, w: multiples of {step} work; other sizes, such as {side + 1}, fail, in the network as in the file ("
    assert any(w.startswith(said) for w in (*found.warnings, *found.verification.warnings)), found
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    session.run(None, {"data": np.ones((1, 3, side + step, side + 2 * step), np.float32)})
    with pytest.raises(Exception, match="beside"):
        session.run(None, {"data": np.ones((1, 3, side + 1, side), np.float32)})


def test_large_pictures_are_tried_at_smaller_ones_of_the_same_divisors(tmp_path: Path) -> None:
    """An odd side, or one of the multiples that a network takes; a greater one where it is another network on a smaller."""
    inputs = {"data": (1, 3, 96, 160)}
    found = bridge.convert(hourglass(4), inputs=inputs, dynamic=OPEN, output=tmp_path / "m.onnx")
    assert (1, 3, 64, 96) in [run["shapes"]["data"] for run in found.verification.runs]
    said = "h, w: multiples of 16 work; other sizes, such as 97, fail"
    assert any(w.startswith(said) for w in (*found.warnings, *found.verification.warnings)), found
    net = mx.sym.Pooling(mx.sym.var("data"), kernel=(3, 3), stride=(2, 2), pool_type="max", name="pool")
    found = bridge.convert(net, inputs=inputs, dynamic=OPEN, output=tmp_path / "m.onnx")
    assert (1, 3, 65, 97) in [run["shapes"]["data"] for run in found.verification.runs]
    shapes = [run["shapes"]["data"] for run in bridge.verify(net, tmp_path / "m.onnx", inputs=inputs).runs]
    assert (1, 3, 65, 97) in shapes
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(48, 48), pool_type="max", name="wide")
    found = bridge.convert(net, inputs=inputs, dynamic=OPEN, output=tmp_path / "m.onnx")
    assert (1, 3, 193, 321) in [run["shapes"]["data"] for run in found.verification.runs]


def test_an_imported_network_of_any_size_is_compared_on_small_pictures(tmp_path: Path) -> None:
    """Nothing says that it was trained on 224 x 224, on which a comparison takes ten times as long."""
    net = mx.sym.Pooling(mx.sym.var("data"), kernel=(3, 3), stride=(2, 2), pool_type="max", name="pool")
    for made, sides in ((net, [96, 65]), (hourglass(5), [96, 64]), (mx.sym.Pooling(net, kernel=(60, 60)), [128, 257])):
        file = tmp_path / "m.onnx"
        bridge.convert(made, inputs={"data": (1, 3, 160, 160)}, dynamic=OPEN, output=file, verify=False)
        bridge.import_onnx(file, output=tmp_path / "m", verify=False)
        found = bridge.convert(tmp_path / "m", output=tmp_path / "again.onnx")
        assert list(dict.fromkeys(run["shapes"]["data"][2] for run in found.verification.runs)) == sides
        (tmp_path / "again.onnx").unlink()


def test_a_network_that_takes_all_sizes_is_tried_at_odd_ones(tmp_path: Path) -> None:
    net = mx.sym.Pooling(mx.sym.var("data"), kernel=(3, 3), stride=(2, 2), pool_type="max")
    found = bridge.convert(net, inputs={"data": (1, 3, 8, 12)}, dynamic=OPEN, output=tmp_path / "m.onnx")
    assert (1, 3, 17, 25) in [run["shapes"]["data"] for run in found.verification.runs]
    assert not found.warnings and not found.verification.warnings
    shapes = [
        run["shapes"]["data"] for run in bridge.verify(net, tmp_path / "m.onnx", inputs={"data": (1, 3, 8, 12)}).runs
    ]
    assert (1, 3, 17, 25) in shapes


def test_two_files_are_tried_at_even_sizes_where_odd_ones_fail(tmp_path: Path) -> None:
    inputs = {"data": (1, 3, 8, 12)}
    for name in ("a.onnx", "b.onnx"):
        bridge.convert(hourglass(1), inputs=inputs, dynamic=OPEN, output=tmp_path / name, verify=False)
    found = bridge.verify(tmp_path / "a.onnx", tmp_path / "b.onnx", inputs=inputs)
    assert (1, 3, 16, 24) in [run["shapes"]["data"] for run in found.runs]
    found = bridge.verify(hourglass(1), tmp_path / "b.onnx", inputs=inputs)
    assert (1, 3, 16, 24) in [run["shapes"]["data"] for run in found.runs]


def test_a_side_that_has_to_be_even_is_told_alone() -> None:
    data = mx.sym.var("data")
    net = mx.sym.UpSampling(
        mx.sym.Pooling(data, kernel=(2, 2), stride=(2, 2), pool_type="avg"), scale=2, sample_type="nearest"
    )
    net = mx.sym.concat(mx.sym.sum(net, axis=2), mx.sym.sum(data, axis=2), dim=1)  # what is left of them is their width
    found = bridge.convert(net, inputs={"data": (1, 3, 8, 12)}, dynamic=OPEN)
    said = (*found.warnings, *found.verification.warnings)
    assert any(w.startswith("w: multiples of 2 work; other sizes, such as 13, fail") for w in said), said


def test_a_size_of_1_that_a_run_refuses_gives_way_to_a_longer_one(tmp_path: Path) -> None:
    """Inference takes it: which rows are picked, only a run looks at. A size that somebody gives stays."""
    text = (
        '<ir_version: 8, opset_import: ["": 17]> net (float[n, 4] x) => (float[m, 4] y) '
        "<int64[3] rows = {0, ROW, 0}> { y = Gather <axis = 0> (x, rows) }"
    )
    for row, sizes in ((1, [2, 3]), (7, [8, 9])):
        (tmp_path / "m.onnx").write_bytes(onnx.parser.parse_model(text.replace("ROW", str(row))).SerializeToString())
        bridge.import_onnx(tmp_path / "m.onnx", output=tmp_path / "m", verify=False)
        found = bridge.convert(tmp_path / "m", output=tmp_path / "again.onnx")
        assert list(dict.fromkeys(run["shapes"]["x"][0] for run in found.verification.runs)) == sizes
        assert any(
            w.startswith("n: a size of 1 is refused (") and f"compared at {sizes[0]} and others" in w
            for w in found.verification.warnings
        )
        (tmp_path / "again.onnx").unlink()
    with pytest.raises((bridge.EngineError, mx.MXNetError)):
        bridge.convert(tmp_path / "m", inputs={"x": (1, 4)}, output=tmp_path / "again.onnx")


@pytest.mark.parametrize("rows", [10, 24, 40])
def test_positions_that_are_counted_end_with_their_table(rows: int, tmp_path: Path) -> None:
    """No length is tried that goes beyond an imported table of positions, where onnxruntime refuses the file."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]> net (int64[b, n] ids) => (float[b, n, 4] y) {
        shape = Shape (ids)
        one = Constant <value = int64 {1}> ()
        zero = Constant <value = int64 {0}> ()
        length = Gather (shape, one)
        counted = Range (zero, length, one)
        places = Gather (positions, counted)
        words = Gather (table, ids)
        y = Add (words, places)
    }""")
    rng = np.random.default_rng(0)
    for name, many in (("positions", rows), ("table", 30)):
        values = rng.standard_normal((many, 4)).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    onnx.save(model, tmp_path / "net.onnx")
    bridge.import_onnx(tmp_path / "net.onnx", output=tmp_path / "net")
    found = bridge.convert(tmp_path / "net-symbol.json", output=tmp_path / "back.onnx")
    lengths = {run["shapes"]["ids"][1] for run in found.verification.runs}
    assert found.verification.equivalent and len(lengths) == 2 and max(lengths) <= rows
    for static in (None, False, True):  # and none is run: positions went round
        net = mx.gluon.SymbolBlock.imports(
            f"{tmp_path / 'net'}-symbol.json", ["ids"], f"{tmp_path / 'net'}-0000.params"
        )
        if static is not None:
            net.hybridize(static_alloc=static, static_shape=static)
        for length in (3, 5, rows - 1, rows, rows + 1, 4, rows + 2, 2 * rows):  # sizes that vary are run in another way
            ids = mx.nd.zeros((2, length), dtype="int64")
            if length <= rows:
                assert net(ids).shape == (2, length, 4)
            else:
                with pytest.raises(
                    mx.MXNetError, match=f"got positions 0 to {length - 1}, wanted no more than {rows - 1}"
                ):
                    net(ids).wait_to_read()
