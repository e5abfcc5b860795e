"""Programs with Module, mx.rnn and mx.viz show here what they showed in MXNet; see fixtures/make/module.py."""

import importlib.util
import json
import os
import shutil
import subprocess
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from tests.house.docs import ROOT

FOLDER = ROOT / "fixtures" / "module"
RECORD = json.loads((FOLDER / "programs.json").read_text())


def load() -> ModuleType:
    """The script."""
    spec = importlib.util.spec_from_file_location("module_programs", ROOT / "fixtures" / "make" / "module.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


SCRIPT = load()

# Float32 is rounded differently where sums are added up in another order: 1e-7 of the largest summand a step. Three epochs
# of training on batch statistics (1 / sqrt(variance) enlarges errors) make 1e-5 of the largest number of an array of it.
TOLERANCE = 2e-5


def differences(got: Any, want: Any, path: str) -> list[str]:
    """Places at which two things that a program shows differ."""
    if isinstance(want, dict) and set(want) == {"array", "shape"}:
        array = np.array(want["array"]).reshape(want["shape"])
        if not isinstance(got, np.ndarray) or got.shape != array.shape:
            return [f"{path}: got {getattr(got, 'shape', got)}, wanted an array of shape {array.shape}"]
        worst = np.abs(got - array).max(initial=0)
        allowed = TOLERANCE * np.abs(array).max(initial=1e-6)
        return [] if worst <= allowed else [f"{path}: off by {worst}, at most {allowed}"]
    if isinstance(want, dict):
        if not isinstance(got, dict) or sorted(got) != sorted(want):
            return [f"{path}: got {sorted(got)}, wanted {sorted(want)}"]
        return [d for k in want for d in differences(got[k], want[k], f"{path}/{k}")]
    if isinstance(want, list):
        if not isinstance(got, list | tuple) or len(got) != len(want):
            return [f"{path}: got {got}, wanted {want}"]
        return [d for i, (g, w) in enumerate(zip(got, want)) for d in differences(g, w, f"{path}/{i}")]
    if isinstance(want, float):
        return [] if abs(got - want) <= TOLERANCE * abs(want) else [f"{path}: got {got}, wanted {want}"]
    return [] if got == want else [f"{path}:\n got    {got!r}\n wanted {want!r}"]


@pytest.mark.parametrize("name", SCRIPT.PROGRAMS)
def test_program_shows_what_it_showed_in_mxnet(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(), mx.name.NameManager():  # automatic names count from 0, whatever ran before
        warnings.simplefilter("ignore")
        shown = SCRIPT.PROGRAMS[name](mx, tmp_path)
    found = differences(shown, RECORD[name], name)
    assert not found, "\n".join(found)


def test_training_goes_on_from_a_checkpoint_that_mxnet_wrote(tmp_path: Path) -> None:
    for path in FOLDER.glob("mlp-*"):
        shutil.copy(path, tmp_path)
    shown = SCRIPT.resumed(mx, f"{tmp_path}/mlp", {"learning_rate": 0.3, "momentum": 0.9})
    recorded = {key: RECORD["checkpoints"][key] for key in shown}
    assert not differences(shown, recorded, "resumed")


READ = """
import importlib.util, json, sys, mxnet as mx
spec = importlib.util.spec_from_file_location("module_programs", sys.argv[1])
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
print(json.dumps(script.encoded(script.resumed(mx, sys.argv[2], {"learning_rate": 0.3, "momentum": 0.9}))))
"""


@pytest.mark.mxnet
def test_mxnet_goes_on_from_a_checkpoint_of_ours(tmp_path: Path) -> None:
    """MXNET_PYTHON names the Python of an environment with MXNet 1.9.1."""
    with warnings.catch_warnings(), mx.name.NameManager():  # automatic names count from 0, whatever ran before
        warnings.simplefilter("ignore")
        shown = SCRIPT.PROGRAMS["checkpoints"](mx, tmp_path)
    path = ROOT / "fixtures" / "make" / "module.py"
    command = [os.environ["MXNET_PYTHON"], "-c", READ, str(path), str(tmp_path / "mlp")]
    read = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    assert not differences({key: shown[key] for key in read}, read, "resumed")
