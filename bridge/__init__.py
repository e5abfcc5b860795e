"""The job: convert an exported MXNet model to ONNX, prove that both agree, look inside, run. Functions here, commands in cli.

Examples of docstrings work upon ``model-symbol.json`` and ``model-0000.params``, a network that was exported into the folder they
run in: one dense layer, ``data`` of shape (1, 3) to an output of shape (1, 2)."""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from converters.forms import Forms

    from .bench import BenchResult, bench
    from .change.diff import Change, DiffResult, diff
    from .change.reduce import ReduceResult, reduce
    from .compare import TOLERANCES, Difference, Tolerance, compare
    from .compiling import CompiledModel, CompileResult, compile
    from .convert import ConvertResult, convert
    from .engines import EngineError
    from .images import load_images
    from .importing import ImportResult, import_onnx
    from .inspect import InspectResult, OperatorsResult, inspect, operators
    from .job import NotEquivalent
    from .matrix import MatrixResult, matrix
    from .models import Model, open_model
    from .paths import BadInput
    from .pipeline.postprocess import Postprocess
    from .pipeline.preprocess import Preprocess
    from .precision.job import convert_in
    from .precision.widening import import_widened
    from .precision.wishes import Half, Quantized, Single
    from .project.check import check
    from .project.results import CheckResult, FileResult
    from .recorded import Recording, load_recording, record
    from .result import Divergence, VerifyResult
    from .run import precision_report, run
    from .runtime import set_time_limit
    from .serving.deploy import DeployResult, deploy
    from .targets.deployed import Outcome, TargetFailed, TargetsResult, verify_targets
    from .verify import verify

FROM = {
    "BadInput": "paths",
    "BenchResult": "bench",
    "Change": "change.diff",
    "CheckResult": "project.results",
    "CompileResult": "compiling",
    "CompiledModel": "compiling",
    "ConvertResult": "convert",
    "DeployResult": "serving.deploy",
    "DiffResult": "change.diff",
    "Difference": "compare",
    "Divergence": "result",
    "EngineError": "engines",
    "FileResult": "project.results",
    "Forms": "convert",
    "Half": "precision.wishes",
    "ImportResult": "importing",
    "InspectResult": "inspect",
    "MatrixResult": "matrix",
    "Model": "models",
    "NotEquivalent": "job",
    "OperatorsResult": "inspect",
    "Outcome": "targets.deployed",
    "Postprocess": "pipeline.postprocess",
    "Preprocess": "pipeline.preprocess",
    "Quantized": "precision.wishes",
    "Recording": "recorded",
    "ReduceResult": "change.reduce",
    "Single": "precision.wishes",
    "TOLERANCES": "compare",
    "TargetFailed": "targets.deployed",
    "TargetsResult": "targets.deployed",
    "Tolerance": "compare",
    "VerifyResult": "result",
    "bench": "bench",
    "check": "project.check",
    "compare": "compare",
    "compile": "compiling",
    "convert": "convert",
    "convert_in": "precision.job",
    "deploy": "serving.deploy",
    "diff": "change.diff",
    "import_onnx": "importing",
    "import_widened": "precision.widening",
    "inspect": "inspect",
    "load_images": "images",
    "load_recording": "recorded",
    "matrix": "matrix",
    "open_model": "models",
    "operators": "inspect",
    "precision_report": "run",
    "record": "recorded",
    "reduce": "change.reduce",
    "run": "run",
    "set_time_limit": "runtime",
    "verify": "verify",
    "verify_targets": "targets.deployed",
}
"""Modules of the names to be had here, loaded when one is first asked for: a model that was compiled needs no ONNX."""

__all__ = [
    "TOLERANCES",
    "BadInput",
    "BenchResult",
    "Change",
    "CheckResult",
    "CompileResult",
    "CompiledModel",
    "ConvertResult",
    "DeployResult",
    "DiffResult",
    "Difference",
    "Divergence",
    "EngineError",
    "FileResult",
    "Forms",
    "Half",
    "ImportResult",
    "InspectResult",
    "MatrixResult",
    "Model",
    "NotEquivalent",
    "OperatorsResult",
    "Outcome",
    "Postprocess",
    "Preprocess",
    "Quantized",
    "Recording",
    "ReduceResult",
    "Single",
    "TargetFailed",
    "TargetsResult",
    "Tolerance",
    "VerifyResult",
    "bench",
    "check",
    "compare",
    "compile",
    "convert",
    "convert_in",
    "deploy",
    "diff",
    "import_onnx",
    "import_widened",
    "inspect",
    "load_images",
    "load_recording",
    "matrix",
    "open_model",
    "operators",
    "precision_report",
    "record",
    "reduce",
    "run",
    "set_time_limit",
    "verify",
    "verify_targets",
]


def __getattr__(name: str) -> Any:
    # nothing of hybrid, which loads NumPy: pytest loads the plugin in here at every start, whatever it tests
    if name not in FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{FROM[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """A package whose functions keep their places when modules of their names are loaded."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, getattr(value, name) if name in FROM and isinstance(value, ModuleType) else value)


sys.modules[__name__].__class__ = _Package
