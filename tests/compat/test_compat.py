"""``import mxnet`` resolved to this package. In processes of their own: what is imported stays so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from hybrid.__main__ import _is_module
from tests.house.docs import ROOT


def python(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python on this checkout."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **environment}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=settings, capture_output=True, text=True, check=False
    )


SCRIPT = """
import sys
import mxnet as mx
import mxnet
from mxnet import autograd, gluon, nd, sym
from mxnet.gluon import nn
from mxnet.gluon.data.vision import transforms
from mxnet.ndarray import NDArray
from mxnet.base import MXNetError
import mxnet.ndarray as F
import mxnet.gluon.loss
import mxnet.contrib.onnx
import mxnet.onnx as onnx_mxnet
import mxnet.ndarray.contrib
import mxnet.symbol.random
import hybrid
print(sys.argv[1:], __name__)
for name in [n for n in sys.modules if n == "mxnet" or n.startswith("mxnet.")]:
    module = sys.modules[name]
    spec = getattr(module, "__spec__", None)
    assert spec is None or not spec.name.startswith("mxnet"), name
assert mx is hybrid and gluon is hybrid.gluon and mxnet.gluon.nn is nn and F is nd
assert NDArray is hybrid.nd.NDArray and MXNetError is hybrid.MXNetError
import helper_of_script
try:
    import mxnet.nothing_like_it
except ImportError as error:
    assert "mxnet.nothing_like_it" in str(error)
else:
    raise AssertionError
print(mx.nd.ones((2,)).sum().asscalar(), mx.__version__)
"""


def test_a_script_runs_with_mxnet_meaning_us(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "script.py").write_text(SCRIPT)
    (tmp_path / "sub" / "helper_of_script.py").write_text("import mxnet\n")
    done = python("-m", "hybrid", "sub/script.py", "--epochs", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["['--epochs', '3'] __main__", "2.0 1.9.1"]


def test_a_module_runs_too(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import sys, mxnet\nprint(mxnet.__version__, sys.argv[1:])\nsys.exit(5)\n")
    done = python("-m", "hybrid", "-m", "job", "a", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (5, "1.9.1 ['a']\n")
    assert _is_module("xml.dom.minidom")
    assert not [n for n in ("xml.dom.none", "xml.none.dom", "xml..dom", "", ".xml", "xml.") if _is_module(n)]


COMMANDS: list[tuple[tuple[str, ...], int, str]] = [
    ((), 2, "usage"),
    (("--help",), 0, "usage"),
    (("missing.py",), 2, "missing.py"),
    (("-m",), 2, "-m needs"),
    *((("-m", name), 2, f"no module named '{name}'") for name in ("nomod", "json.nomod", "os.nomod")),
]
SEVERAL = """
import contextlib, io, json, sys
from hybrid.__main__ import main
rows = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as wrong:
        status = main(arguments)
    rows.append((status, said.getvalue(), wrong.getvalue()))
print(json.dumps(rows))
"""


def test_the_command_line(tmp_path: Path) -> None:
    """All in one process: starting one takes longer than what it does."""
    done = python("-c", SEVERAL, json.dumps([c[0] for c in COMMANDS]), cwd=tmp_path)
    assert not done.stderr
    for (arguments, status, text), (found, said, wrong) in zip(COMMANDS, json.loads(done.stdout), strict=True):
        assert found == status, arguments
        shown, other = (wrong, said) if arguments and status else (said, wrong)
        assert text in shown and not other, arguments


def test_the_status_is_the_process_own(tmp_path: Path) -> None:
    done = python("-m", "hybrid", "missing.py", cwd=tmp_path)
    assert done.returncode == 2 and "missing.py" in done.stderr


def test_errors_of_the_script_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import mxnet as mx\nmx.nd.ones((2, 3)) + mx.nd.ones((4, 5))\n")
    done = python("-m", "hybrid", "script.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "broadcast_add" in done.stderr.splitlines()[-1]


def test_installing_twice_and_beside_another() -> None:
    code = "import hybrid; hybrid.install_as_mxnet(); hybrid.install_as_mxnet(); import mxnet; assert mxnet is hybrid"
    assert python("-c", code).returncode == 0
    code = (
        "import sys, types; sys.modules['mxnet'] = types.ModuleType('mxnet'); import hybrid; hybrid.install_as_mxnet()"
    )
    done = python("-c", code)
    assert "another mxnet has been imported already" in done.stderr
    assert done.returncode == 1
