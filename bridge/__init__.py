"""The job: convert an exported MXNet model to ONNX, prove that both agree, look inside, run. Functions here, commands in cli."""

from .bench import BenchResult, bench
from .compare import TOLERANCES, Difference, Tolerance, compare
from .convert import ConvertResult, convert
from .engines import EngineError
from .importing import ImportResult, import_onnx
from .inspect import InspectResult, OperatorsResult, inspect, operators
from .job import NotEquivalent
from .models import BadInput, Model, open_model
from .result import Divergence, VerifyResult
from .run import precision_report, run
from .runtime import set_time_limit
from .verify import verify

__all__ = [
    "TOLERANCES",
    "BadInput",
    "BenchResult",
    "ConvertResult",
    "Difference",
    "Divergence",
    "EngineError",
    "ImportResult",
    "InspectResult",
    "Model",
    "NotEquivalent",
    "OperatorsResult",
    "Tolerance",
    "VerifyResult",
    "bench",
    "compare",
    "convert",
    "import_onnx",
    "inspect",
    "open_model",
    "operators",
    "precision_report",
    "run",
    "set_time_limit",
    "verify",
]
