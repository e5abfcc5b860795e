"""Cost of importing, and modules that it loads."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bridge
import hybrid
from hybrid.core.version import VERSION
from tests.house.docs import ROOT

MEASURE = """
import sys, time
start = time.process_time()
import numpy
middle = time.process_time()
import hybrid
end = time.process_time()
print(middle - start, end - middle)
"""


def python(code: str, **environment: str) -> str:
    """Output of a fresh interpreter."""
    settings = {**os.environ, **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, env=settings, check=True, capture_output=True, text=True).stdout


def test_import_is_quick(tmp_path: Path) -> None:
    """hybrid adds at most 0.15 s of CPU time to NumPy's own import, or on a slow machine as long as NumPy takes."""
    compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""} if sys.dont_write_bytecode else {}
    numpy = hybrid = math.inf
    for _ in range(8):  # the first may compile
        times = map(float, python(MEASURE, **compiled).split())
        numpy, hybrid = map(min, zip((numpy, hybrid), times))
        if hybrid < 0.15:
            break
    assert hybrid < max(0.15, numpy), (
        f"import hybrid takes {hybrid:.3f} s after import numpy, which takes {numpy:.3f} s"
    )


def test_the_engine_loads_numpy_only() -> None:
    """Neither ONNX nor what only the commands need, nor anything heavy of the standard library."""
    code = "import sys, numpy; before = set(sys.modules); import hybrid; print(*set(sys.modules) - before)"
    loaded = {name.split(".")[0] for name in python(code).split()}
    assert not loaded - sys.stdlib_module_names - {"hybrid"}
    assert not loaded & {"asyncio", "multiprocessing", "unittest", "http", "xml", "sqlite3", "tkinter"}


def test_operators_are_loaded_when_they_are_asked_for() -> None:
    """Files of operators that nobody names stay where they are; an index only makes finding them quick."""
    code = """
import sys, hybrid as mx
from hybrid.core.op import OPS, find
before = [n for n in sys.modules if n.startswith("hybrid.ops.")]
find("Pooling")
print(before, "hybrid.ops.pooling" in sys.modules, "hybrid.ops.linalg" in sys.modules, "hybrid.ops.onnx" in sys.modules)
OPS.fill._index = {}
print(find("_linalg_potrf").name, find("no such operator"), len(OPS) > 600)
"""
    first, second = python(code).splitlines()
    assert first == "[] True False False"
    assert second == "_linalg_potrf None True"


def test_indexes_say_where_everything_is() -> None:
    """hybrid/ops/index.txt and converters/ops/index.txt: ``python -m tests.house.index`` writes them."""
    wanted = json.loads(python("from tests.house import index; import json; print(json.dumps(index.indexes()))"))
    wrong = [path for path, text in wanted.items() if Path(ROOT, path).read_text(encoding="utf-8") != text]
    assert not wrong, f"{', '.join(wrong)}: run python -m tests.house.index"


def test_readings_are_loaded_when_they_are_asked_for() -> None:
    code = """
import sys, converters.ops
from converters.registry import EXPORT, import_handler
print(import_handler("", "Relu", 14) is not None, "converters.ops.linalg" in sys.modules, "export" in sys.modules)
print("erf" in EXPORT.keys(), "converters.ops.linalg" in sys.modules, "_linalg_trmm" in EXPORT)
"""
    assert python(code).splitlines() == ["True False False", "True True True"]


def test_the_family_is_loaded_when_a_graph_has_one_of_it() -> None:
    """Neither the passes nor lowering load ONNX's operators."""
    code = """
import sys, hybrid as mx
x = mx.sym.Variable("x")
mx.sym.tanh(mx.sym.dot(x, x) + 1).eval(x=mx.nd.ones((3, 3)))
print("hybrid.execution.lower" in sys.modules or not mx.native.LEVELS, "hybrid.ops.onnx" in sys.modules)
"""
    assert python(code).split() == ["True", "False"]


def test_converters_load_no_runtime() -> None:
    assert python("import sys, converters; print('onnxruntime' in sys.modules)").strip() == "False"


def test_the_face_loads_what_is_asked_for() -> None:
    """Neither importing gluonnx nor help, the version and words for a shell's completion load ONNX or a runtime."""
    code = f"""
import contextlib, io, os, sys
import gluonnx
def clean():
    return not {{n.split(".")[0] for n in sys.modules}} & {{"onnx", "onnxruntime", "converters"}}
assert clean(), "import gluonnx"
from bridge.cli import main
for arguments in ([], ["--help"], ["-h"], ["--version"]):
    sys.argv = ["gluonnx", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        main()
    assert clean(), arguments
    assert "convert" in said.getvalue() or {VERSION!r} in said.getvalue()
sys.argv = ["gluonnx"]
os.environ |= {{"_GLUONNX_COMPLETE": "complete_bash", "COMP_WORDS": "gluonnx ver", "COMP_CWORD": "1"}}
with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
    main()
assert said.getvalue().split() == ["verify"], said.getvalue()
assert clean(), "completion"
print(gluonnx.BadInput.__name__, gluonnx.mx.__name__, gluonnx.convert.__module__)
"""
    assert python(code).split() == ["BadInput", "hybrid", "bridge.convert"]


def test_the_face_shows_what_the_packages_offer() -> None:
    import gluonnx.mx

    assert set(gluonnx.__all__) == {*bridge.__all__, "__version__", "mx"}
    assert gluonnx.mx is hybrid
    assert gluonnx.verify is bridge.verify
    assert set(gluonnx.__all__) <= set(dir(gluonnx))
    with pytest.raises(AttributeError, match="module 'gluonnx' has no attribute 'nothing'"):
        _ = gluonnx.nothing
    said = subprocess.run([sys.executable, "-m", "gluonnx", "--version"], cwd=ROOT, capture_output=True, text=True)
    assert (said.stdout, said.returncode) == (f"gluonnx {VERSION}\n", 0)


def test_modules_of_the_face_are_those_of_the_engine() -> None:
    """Read a second time under the name gluonnx.mx, their classes would know nothing of the first ones."""
    code = """
from gluonnx.mx import autograd
from gluonnx.mx.gluon import nn
import gluonnx.mx.gluon.data.vision as vision
import gluonnx.mx.io.io, hybrid.gluon.data.vision, hybrid.io, sys
assert autograd is hybrid.autograd and nn is hybrid.gluon.nn and vision is hybrid.gluon.data.vision
assert sys.modules["gluonnx.mx.io.io"] is hybrid.io and nn.__spec__.name == "hybrid.gluon.nn"
net = nn.Dense(2)
net.initialize()
print(net(gluonnx.mx.nd.ones((1, 3))).shape)
try:
    import gluonnx.mx.nothing
except ModuleNotFoundError as error:
    print(error)
"""
    assert python(code).splitlines() == ["(1, 2)", "No module named 'gluonnx.mx.nothing'"]
