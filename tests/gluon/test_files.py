"""Files that MXNet wrote (fixtures/gluon/programs) load here, and what is written here is what MXNet writes."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, nd
from tests.gluon.stage import Stage, filled, network

FOLDER = Path(__file__).parents[2] / "fixtures" / "gluon" / "programs"
RUN = json.loads((FOLDER / "net.json").read_text())


def agrees(block: gluon.Block) -> None:
    np.testing.assert_allclose(block(nd.array(RUN["x"])).asnumpy(), RUN["y"], rtol=1e-6)


@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("name", ["net.params", "old.params"])
def test_parameters_of_mxnet_load(name: str, active: bool, tmp_path: Path) -> None:
    net = network(Stage(mx, tmp_path), prefix="net_")
    net.hybridize(active)
    if name == "old.params":  # full names, which load_parameters takes for names without the prefix
        net.collect_params().load(FOLDER / name)
    else:
        net.load_parameters(FOLDER / name)
    agrees(net)


def test_an_export_of_mxnet_loads() -> None:
    agrees(gluon.SymbolBlock.imports(FOLDER / "net-symbol.json", "data", FOLDER / "net-0007.params"))


def test_files_are_those_of_mxnet(tmp_path: Path) -> None:
    net = filled(Stage(mx, tmp_path))
    net.hybridize()
    agrees(net)
    net.save_parameters(tmp_path / "net.params")
    net.collect_params().save(tmp_path / "old.params")
    net.export(f"{tmp_path}/net", 7)
    for name in ("net.params", "old.params", "net-0007.params"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name
    ours, theirs = (json.loads((f / "net-symbol.json").read_text()) for f in (tmp_path, FOLDER))
    for node in (*ours["nodes"], *theirs["nodes"]):
        for entry in node["inputs"]:
            entry.pop()  # how often MXNet has composed something with an auxiliary state
    del ours["attrs"]["gluonnx_params"]  # what MXNet reads over: see hybrid/formats/pairs.py
    assert ours == theirs


READ = """
import sys, json, numpy, mxnet as mx
folder, x = sys.argv[1], mx.nd.array(json.loads(sys.argv[2]))
block = mx.gluon.SymbolBlock.imports(folder + "/net-symbol.json", ["data"], folder + "/net-0007.params")
print(json.dumps([block(x).asnumpy().tolist(), sorted(mx.nd.load(folder + "/net.params"))]))
"""


@pytest.mark.mxnet
def test_mxnet_reads_what_we_write(tmp_path: Path) -> None:
    """MXNET_PYTHON names the Python of an environment with MXNet 1.9.1."""
    net = filled(Stage(mx, tmp_path))
    net.hybridize()
    agrees(net)
    net.save_parameters(tmp_path / "net.params")
    net.export(f"{tmp_path}/net", 7)
    command = [os.environ["MXNET_PYTHON"], "-c", READ, str(tmp_path), json.dumps(RUN["x"])]
    y, names = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    np.testing.assert_allclose(y, RUN["y"], rtol=1e-6)
    assert names == sorted(nd.load(FOLDER / "net.params"))
