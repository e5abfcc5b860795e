"""A symbol and parameters that were not written together are noticed; those of MXNet, and of other epochs, are taken."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import bridge
import hybrid as mx
from hybrid.core.error import MixedFiles

FIXTURES = Path(__file__).parents[2] / "fixtures"


def network(units: int = 2) -> mx.sym.Symbol:
    return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=units, name="fc")


def values(seed: float, units: int = 2) -> dict[str, mx.nd.NDArray]:
    return {"fc_weight": mx.nd.full((units, 3), seed), "fc_bias": mx.nd.full((units,), seed)}


def save(prefix: Path, epoch: int, seed: float, units: int = 2) -> None:
    mx.model.save_checkpoint(str(prefix), epoch, network(units), values(seed, units), {})


def test_checkpoints_of_several_epochs_are_known(tmp_path: Path) -> None:
    for epoch in (1, 2, 3):
        save(tmp_path / "net", epoch, epoch)
    for epoch in (1, 2, 3):
        _, arguments, _ = mx.model.load_checkpoint(str(tmp_path / "net"), epoch)
        assert arguments["fc_bias"].asnumpy().tolist() == [epoch] * 2
    for path in tmp_path.iterdir():  # under another name they still belong together
        path.rename(path.with_name(path.name.replace("net", "other")))
    mx.model.load_checkpoint(str(tmp_path / "other"), 2)


def test_files_of_two_networks_are_noticed(tmp_path: Path) -> None:
    save(tmp_path / "net", 1, 1.0)
    before = (tmp_path / "net-0001.params").read_bytes()
    save(tmp_path / "net", 1, 2.0, 4)
    new = tmp_path / "net-0001.params"
    new.rename(tmp_path / ".gluonnx-1-00000000-0123456789abcdef.whole")
    new.write_bytes(before)  # as if the process had been killed between the two
    files = [str(tmp_path / name) for name in ("net-symbol.json", "net-0001.params")]
    rescue = r"were not written together.*whole, in .*\.gluonnx-1-00000000-0123456789abcdef\.whole: rename that file"
    with pytest.warns(MixedFiles, match=rescue):
        mx.model.load_checkpoint(str(tmp_path / "net"), 1)
    with pytest.warns(MixedFiles):
        bridge.open_model(files[0], files[1])
    with pytest.warns(MixedFiles), pytest.raises(mx.base.MXNetError):
        mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    network(4).save(files[0])  # said to be meant
    mx.model.load_checkpoint(str(tmp_path / "net"), 1)


def test_of_one_network_the_parameters_just_replaced_still_belong_to_it(tmp_path: Path) -> None:
    """A process that is killed between the two files leaves the old parameters, which are those of a whole model."""
    first = []
    for seed in (1.0, 2.0, 3.0):
        save(tmp_path / "net", 1, seed)
        first.append((tmp_path / "net-0001.params").read_bytes())
    (tmp_path / "net-0001.params").write_bytes(first[1])
    mx.model.load_checkpoint(str(tmp_path / "net"), 1)
    (tmp_path / "net-0001.params").write_bytes(first[0])
    with pytest.warns(MixedFiles):
        mx.model.load_checkpoint(str(tmp_path / "net"), 1)


def test_a_new_network_forgets_what_the_old_one_knew(tmp_path: Path) -> None:
    save(tmp_path / "net", 1, 1.0)
    save(tmp_path / "net", 2, 1.0, 4)
    attrs = json.loads((tmp_path / "net-symbol.json").read_text())["attrs"]
    assert list(json.loads(attrs["gluonnx_params"][1])) == ["0002.params"]


def test_blocks_know_their_parameters(tmp_path: Path) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, in_units=3))
    net.initialize(mx.init.One())
    net.hybridize()
    net(mx.nd.ones((1, 3)))
    net.export(str(tmp_path / "net"))
    net.save(str(tmp_path / "whole"))
    mx.gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    net.load(str(tmp_path / "whole"))
    net.save_parameters(str(tmp_path / "whole-model.params"))
    net.load(str(tmp_path / "whole"))  # the very same bytes
    net[0].bias.set_data(mx.nd.ones((2,)))
    net.save_parameters(str(tmp_path / "whole-model.params"))
    with pytest.warns(MixedFiles):
        net.load(str(tmp_path / "whole"))


def test_the_mark_changes_nothing_else(tmp_path: Path) -> None:
    """The graph's text is that of a symbol saved alone but for one member, and parameters are what nd.save writes."""
    save(tmp_path / "net", 0, 1.0)
    network().save(tmp_path / "alone.json")
    mx.nd.save(str(tmp_path / "alone.params"), {f"arg:{k}": v for k, v in values(1.0).items()})
    marked, alone = (json.loads((tmp_path / name).read_text()) for name in ("net-symbol.json", "alone.json"))
    del marked["attrs"]["gluonnx_params"]
    assert marked == alone
    assert (tmp_path / "net-0000.params").read_bytes() == (tmp_path / "alone.params").read_bytes()


@pytest.mark.parametrize(
    "mark", ['["str", "x"]', '["str", "{\\"0000.params\\": 3}"]', '["str", "[]"]', '["int", 3]', "3"]
)
def test_a_damaged_mark_is_none(tmp_path: Path, mark: str) -> None:
    save(tmp_path / "net", 0, 1.0)
    text = (tmp_path / "net-symbol.json").read_text()
    start = text.index('"gluonnx_params": ') + len('"gluonnx_params": ')
    (tmp_path / "net-symbol.json").write_text(text[:start] + mark + text[text.index("\n", start) :])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, arguments, _ = mx.model.load_checkpoint(str(tmp_path / "net"), 0)
    np.testing.assert_array_equal(arguments["fc_weight"].asnumpy(), np.ones((2, 3)))


def test_two_descriptions_of_one_file_and_damaged_marks(tmp_path: Path) -> None:
    """Each description knows the parameters; a mark that is no dict of texts says nothing; another waiting file is no rescue."""
    from hybrid.formats import pairs

    names = [tmp_path / "net-symbol.json", tmp_path / "net-model.json"]
    texts = {path: (lambda mark, i=i: json.dumps({"number": i, "attrs": mark})) for i, path in enumerate(names)}
    target = tmp_path / "net-0001.params"
    pairs.save(texts, target, {"a": np.arange(3.0)})
    assert [json.loads(path.read_text())["number"] for path in names] == [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in names:
            pairs.check(path, target)
    whole = target.read_bytes()
    target.write_bytes(whole[:-1] + b"\1")
    (tmp_path / ".gluonnx-1-00000000-0123456789abcdef.whole").write_bytes(b"of others")
    for path in names:
        with pytest.warns(MixedFiles, match="were not written together") as seen:
            pairs.check(path, target)
        assert "rename that file" not in str(seen[0].message)
    (tmp_path / ".gluonnx-2-00000000-0123456789abcdef.whole").write_bytes(whole)
    with pytest.warns(MixedFiles, match=r"\.gluonnx-2-00000000.*rename that file"):
        pairs.check(names[0], target)
    pairs.save(
        texts, target, {"a": np.arange(4.0)}
    )  # the ones just replaced are those with a fault: both are known now
    marked = names[0].read_text()
    known = json.loads(json.loads(marked)["attrs"][pairs.MARK][1])
    assert list(known) == ["0001.params"] and len(known["0001.params"].split()) == 2
    (tmp_path / "gone.params").unlink(missing_ok=True)
    names[0].write_text(texts[names[0]]({pairs.MARK: ["str", json.dumps({**known, "0009.params": "x"})]}))
    pairs.save({names[0]: texts[names[0]]}, target, {"a": np.arange(5.0)})
    kept = json.loads(json.loads(names[0].read_text())["attrs"][pairs.MARK][1])
    assert list(kept) == ["0001.params"]  # nothing of that name stands beside it any more
    for broken in ({"0001.params": 3}, {"0001.params": "x", "0002.params": ["y"]}, ["0001.params"]):
        names[0].write_text(texts[names[0]]({pairs.MARK: ["str", json.dumps(broken)]}))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pairs.check(names[0], target)
