"""The networks of model_zoo.vision, against digests of MXNet's own (fixtures/gluon/zoo.json) and exported networks."""

import hashlib
import json
import zlib
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, nd
from hybrid.gluon.model_zoo import model_store, vision
from tests.gluon import recorded

RECORDED = json.loads((recorded.FOLDER / "zoo.json").read_text())["networks"]
with np.load(recorded.FOLDER / "zoo.npz") as _stored:
    OUTPUTS = {k: _stored[k] for k in _stored.files}
SMALL = ("mobilenetv2_0.25", "squeezenet1.1")


def digest(thing: object) -> str:
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()


def test_all_are_there() -> None:
    assert sorted(vision.MODELS) == sorted(RECORDED)


@pytest.mark.parametrize("name", list(RECORDED))
def test_same_as_mxnet(name: str) -> None:
    """Operators, attributes, names, parameters, structure and printed form."""
    want = RECORDED[name]
    with mx.name.NameManager():
        net = vision.get_model(name)
        graph = recorded.nodes(net(mx.sym.var("data")))
    parameters = [[n, list(p.shape), p.grad_req] for n, p in net.collect_params().items()]
    assert len(graph) == want["nodes"]
    assert digest(parameters) == want["params"]
    assert digest(list(net._collect_params_with_prefix())) == want["structure"]
    assert digest(repr(net)) == want["repr"]
    assert digest(graph) == want["symbol"]


@pytest.mark.parametrize("name", SMALL)
def test_runs_and_saves(name: str, tmp_path: Path) -> None:
    mx.random.seed(2)
    net = vision.get_model(name, classes=7)
    net.initialize(mx.init.Xavier())
    x = nd.random.uniform(shape=(1, 3, 224, 224))
    first = net(x)
    assert first.shape == (1, 7)
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), first.asnumpy(), rtol=1e-4, atol=1e-5)
    net.save_parameters(str(tmp_path / "net.params"))
    other = vision.get_model(name, classes=7)
    other.load_parameters(str(tmp_path / "net.params"))
    np.testing.assert_allclose(other(x).asnumpy(), first.asnumpy(), rtol=1e-4, atol=1e-5)


def test_thumbnails() -> None:
    net = vision.get_resnet(2, 18, classes=10, thumbnail=True)
    net.initialize()
    assert net(nd.ones((1, 3, 32, 32))).shape == (1, 10)


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match=r"Model x is not supported\. Available options are\n\talexnet\n\tdensenet121"):
        vision.get_model("x")
    with pytest.raises(AssertionError, match="Invalid resnet version: 3"):
        vision.get_resnet(3, 18)
    with pytest.raises(AssertionError, match="Invalid number of layers: 19"):
        vision.get_resnet(1, 19)
    with pytest.raises(AssertionError, match="Unsupported SqueezeNet version 2"):
        vision.SqueezeNet("2")
    with pytest.raises(KeyError):
        vision.get_vgg(12)
    with pytest.raises(ValueError, match="Pretrained model for x is not available"):
        model_store.short_hash("x")


def test_pretrained_reads_a_local_file_or_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "mobilenetv2_0.25"
    file = tmp_path / RECORDED[name]["file"]
    with pytest.raises(FileNotFoundError, match=rf"{file.name} .*, and https:.*{file.stem}\.zip is not downloaded"):
        vision.get_model(name, pretrained=True, root=str(tmp_path))
    source = vision.get_model(name)
    source.initialize()
    source(nd.ones((1, 3, 32, 32)))
    source.save_parameters(str(file))
    with pytest.raises(ValueError, match="is not the file that MXNet published"):
        vision.get_model(name, pretrained=True, root=str(tmp_path))
    found = hashlib.sha1(file.read_bytes()).hexdigest()
    file.rename(tmp_path / f"{name}-{found[:8]}.params")
    monkeypatch.setitem(model_store._model_sha1, name, found)
    net = vision.get_model(name, pretrained=True, root=str(tmp_path))
    weights = [b.collect_params().values() for b in (net, source)]
    assert all((a.data().asnumpy() == b.data().asnumpy()).all() for a, b in zip(*weights, strict=True))
    model_store.purge(str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", list(RECORDED))
def test_file_names(name: str) -> None:
    assert f"{name}-{model_store.short_hash(name)}.params" == RECORDED[name]["file"]


def fill(net: gluon.Block) -> None:
    """The parameters that fixtures/make/gluon.py gave MXNet's network."""
    for name, parameter in net.collect_params().items():
        source = np.random.RandomState(zlib.crc32(name.removeprefix(net.prefix).encode()))
        if name.endswith(("gamma", "running_var")):
            value = source.uniform(0.5, 1.5, parameter.shape)
        else:
            spread = 0.1 if len(parameter.shape) == 1 else (2 / np.prod(parameter.shape[1:])) ** 0.5
            value = source.standard_normal(parameter.shape) * spread
        parameter.set_data(nd.array(value))


@pytest.mark.parametrize("hybridize", [False, True], ids=["imperative", "hybrid"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.slow] * (n == "densenet121"))  # 120 layers take seconds
        for n in sorted({name.split("/")[0] for name in OUTPUTS})
    ],
)
def test_outputs_and_gradients(name: str, hybridize: bool) -> None:
    with mx.name.NameManager():
        net = vision.get_model(name, classes=10)
    net.initialize()
    image = nd.array(np.random.RandomState(1).standard_normal((2, 3, 224, 224)))
    net(image)
    fill(net)
    net.hybridize(hybridize)
    recorded.close(net(image), OUTPUTS[f"{name}/out"], "output")
    if f"{name}/train" not in OUTPUTS:
        return
    with mx.autograd.record():
        scores = net(image)
        loss = (scores * scores).sum()
    loss.backward()
    recorded.close(scores, OUTPUTS[f"{name}/train"], "output in training", 1024)
    last = list(net.collect_params(".*weight").values())[-1]
    recorded.close(last.grad(), OUTPUTS[f"{name}/grad"], f"gradient of {last.name}", 1024)


def test_every_network_reads_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name that MXNet published it under, in the folder and on the context that are given; it has what else is given."""
    wanted: list[tuple] = []
    monkeypatch.setattr(gluon.HybridBlock, "load_parameters", lambda net, path, ctx=None: wanted.append((path, ctx)))
    monkeypatch.setattr(model_store, "get_model_file", lambda name, root: f"{root}/{name}")
    for name in RECORDED:
        if name.startswith(("resnet", "vgg", "densenet")) and not name.endswith(
            ("18_v1", "18_v2", "11", "11_bn", "121")
        ):
            continue  # by the same lines
        net = vision.get_model(name, pretrained=True, root=str(tmp_path), ctx=mx.cpu(1), prefix="own_", classes=7)
        assert net.prefix == "own_" and list(net.collect_params().values())[-1].shape[0] == 7, name
        assert wanted.pop() == (f"{tmp_path}/{name}", mx.cpu(1)), name
    assert not wanted
    assert vision.get_mobilenet(0.5).prefix.startswith("mobilenet") and not wanted


def test_purging_takes_all_parameter_files_and_nothing_else(tmp_path: Path) -> None:
    for name in ("a.params", "b.params", "c.json"):
        (tmp_path / name).write_text("x")
    model_store.purge(str(tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]
