"""Whatever runs a model behind one face: our engine compiled and plain, onnxruntime at any level and on any provider, OpenVINO,
onnx's own evaluator, a recording, a Python function.

A Runner gives outputs for inputs; an Engine (engines.py) shows what is inside too, so that a difference can be located. Both can be
a side of a verification and a row of a matrix."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import onnx
import onnxruntime

from converters.error import ConversionError
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec

from .engines import (
    Arrays,
    Engine,
    EngineError,
    NativeEngine,
    OnnxEngine,
    Part,
    ReferenceEngine,
    Tensor,
    tensors,
)
from .exact import Exact
from .models import FORMATS, ONNX, BadInput, Model, open_with
from .recorded import Recording, load_recording
from .runtime import LEVELS
from .settle import settle_inputs

SPECS = (
    "gluonnx, gluonnx:plain (NumPy), gluonnx:float64, onnxruntime, onnxruntime:LEVEL (none, basic, extended, all), "
    "onnxruntime:PROVIDER, openvino, openvino:DEVICE, reference (onnx's own evaluator)"
)
"""Names of runners, as a command takes them."""


@runtime_checkable
class Runner(Protocol):
    """Protocol of something that runs a model."""

    label: str
    inputs: tuple[str, ...]
    """Names of what it takes."""

    def run(self, feeds: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The outputs by name."""
        ...


class OutputsOnly:
    """A runner as a side of a verification that shows nothing inside: the outputs decide."""

    def __init__(self, runner: Runner, name: str = ""):
        self.runner, self.label = runner, runner.label
        self.model = Model(name or runner.label)
        self.inputs, self.outputs = tuple(runner.inputs), tuple(getattr(runner, "outputs", ()))

    def run(self, feeds: Mapping[str, np.ndarray]) -> Arrays:
        """The outputs by name. Raises EngineError with what the runner raised."""
        try:
            found = self.runner.run({n: a for n, a in feeds.items() if not self.inputs or n in self.inputs})
        except (BadInput, EngineError, MXNetError):
            raise
        except Exception as error:  # a function of somebody else's raises whatever it likes
            raise EngineError(f"{self.label} failed: {type(error).__name__}: {error}") from error
        return tensors(found.items())

    def inner_tensors(self) -> list[Tensor]:
        return []

    def expose(self, feeds: Mapping[str, np.ndarray], names: Iterable[str]) -> Arrays:
        wanted = set(names)
        return {n: a for n, a in self.run(feeds).items() if n in wanted} if wanted else {}

    def walk(
        self, feeds: Mapping[str, np.ndarray], groups: Sequence[Sequence[str]], visit: Callable[[int, Arrays], None]
    ) -> None:
        raise EngineError(f"{self.label} shows nothing inside")

    def parameter(self, name: str) -> np.ndarray | None:
        return None

    def free_memory(self) -> None:
        pass

    def compute_alone(self, tensor: Tensor, given: Mapping[str, np.ndarray]) -> np.ndarray | None:
        return None

    def run_forced(self, cut: frozenset[str], values: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        raise EngineError(f"{self.label} shows nothing inside")

    def exact(
        self,
        cut: frozenset[str],
        values: Mapping[str, np.ndarray],
        name: str,
        jitter: tuple[float, int] | None = None,
        halved: bool = False,
    ) -> np.ndarray | None:
        return None

    def exact_by_oracle(
        self, cut: frozenset[str], values: Mapping[str, np.ndarray], name: str, halved: bool = False
    ) -> np.ndarray | None:
        return None

    def part(self, cut: frozenset[str], names: Sequence[str]) -> Part | None:
        return None

    def sizes(self, feeds: Mapping[str, np.ndarray]) -> dict[str, int]:
        return {}

    def precision(self, feeds: Mapping[str, np.ndarray]) -> dict[str, str]:
        return {}


class Function:
    """A Python function from arrays by name to outputs: by name, one array, or several in order."""

    def __init__(self, function: Callable[[dict[str, np.ndarray]], Any], inputs: Iterable[str] = (), label: str = ""):
        """inputs: the names of what it takes; none for all that there is."""
        self.function, self.inputs = function, tuple(inputs)
        self.label = label or getattr(function, "__name__", type(function).__name__)

    def run(self, feeds: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The outputs; those without names are called output0, output1, ..."""
        found = self.function(dict(feeds))
        if isinstance(found, Mapping):
            return {n: _array(v) for n, v in found.items()}
        several = found if isinstance(found, list | tuple) else [found]
        return {f"output{i}": _array(v) for i, v in enumerate(several)}


def _array(value: Any) -> np.ndarray:
    """The numbers of an array of any framework."""
    value = value.detach() if hasattr(value, "detach") else value
    return value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)


class Recorded:
    """A recording, which knows the outputs of the inputs that it holds."""

    def __init__(self, recording: Recording):
        self.recording, self.label = recording, recording.label
        self.inputs = tuple(recording.runs[0].inputs)
        self.outputs = tuple(recording.runs[0].outputs)

    def run(self, feeds: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The outputs recorded for these inputs. Raises EngineError where there are none."""
        for run in self.recording.runs:
            if all(
                n in feeds and np.array_equal(a, feeds[n], equal_nan=a.dtype.kind in "fc")
                for n, a in run.inputs.items()
            ):
                return run.outputs
        raise EngineError(f"{self.label} has no run on these inputs; give its own (--inputs)")


class Double:
    """A graph in float64, node by node: apart from rounding the truth that runners are measured by."""

    label = "float64"

    def __init__(self, model: Model, named: Mapping[str, Any] | None = None):
        self.engine = NativeEngine(model, named)
        self.inputs, self.outputs = self.engine.inputs, self.engine.outputs

    def run(self, feeds: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The outputs. Raises MXNetError where an operator does not compute in float64."""
        exact = Exact(self.engine.graph, self.engine.model.params)
        return dict(zip(self.outputs, exact.run(self.engine.complete(feeds))))


class OpenVinoEngine(OnnxEngine):
    """OpenVINO on an ONNX model, in float32."""

    label = "OpenVINO"

    def __init__(self, model: Model, device: str = "CPU", **settings: Any):
        super().__init__(model, **settings)
        self.device = device
        self._library = _optional("openvino", "OpenVINO")

    def _open(self, source: str | bytes, own: bool = False) -> Any:
        core = self._library.Core()
        try:
            read = core.read_model(source if isinstance(source, str) else bytes(source))
            return core.compile_model(read, self.device, {"INFERENCE_PRECISION_HINT": "f32"})
        except RuntimeError as error:
            raise EngineError(f"OpenVINO refused {self.model.name}: {str(error).strip().splitlines()[-1]}") from error

    @staticmethod
    def _run(session: Any, feeds: Mapping[str, np.ndarray]) -> Arrays:
        names = {n for port in session.inputs for n in port.names}
        try:
            found = session({n: a for n, a in feeds.items() if n in names})
        except RuntimeError as error:
            raise EngineError(f"OpenVINO failed: {str(error).strip().splitlines()[-1]}") from error
        return {n: np.array(found[i]) for i, port in enumerate(session.outputs) for n in sorted(port.names)}

    def run_unchecked(self, feeds: Mapping[str, np.ndarray]) -> Arrays:
        """The outputs of the model: a port has the names of all tensors that OpenVINO found to be the same, such as what a cast
        that it took out was given."""
        found = super().run_unchecked(feeds)
        return {name: found[name] for name in self.outputs if name in found}


def _optional(package: str, name: str) -> Any:
    """A package that need not be there. Raises BadInput that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise BadInput(f"{name} is not installed ({error}); pip install {package}") from None


def runner_for(model: Model, spec: str, specs: Mapping[str, Spec] | None = None) -> Engine:
    """The runner of that name (SPECS) on a model. specs: shapes of inputs, where a symbol has to become ONNX for it.

    Raises BadInput for other names, and where a package or provider is missing."""
    name, _, option = spec.partition(":")
    if name == "gluonnx":
        if option in ("", "plain"):
            engine = NativeEngine(model.native, specs, plain=option == "plain")
            engine.label = "gluonnx (NumPy)" if option else "gluonnx"
            return engine
        if option == "float64":
            return OutputsOnly(Double(model.native, specs), model.name)
    elif name in ("onnxruntime", "openvino", "reference"):
        onnx_model = _as_onnx(model, specs or {})
        if name == "openvino":
            return OpenVinoEngine(onnx_model, option.upper() or "CPU")
        if name == "reference" and not option:
            return ReferenceEngine(onnx_model)
        if name == "onnxruntime":
            return _onnxruntime(onnx_model, option)
    raise BadInput(f"got runner {spec!r}, wanted one of {SPECS}, or an .npz of recorded outputs")


def _onnxruntime(model: Model, option: str) -> OnnxEngine:
    if option in ("", *LEVELS):
        engine = OnnxEngine(model, level=option or "all")
    else:
        there = onnxruntime.get_available_providers()
        wanted = [p for p in there if option.lower() in (p.lower(), p.lower().removesuffix("executionprovider"))]
        if not wanted:
            raise BadInput(
                f"got onnxruntime:{option}, wanted a level ({', '.join(LEVELS)}) or a provider: {', '.join(there)}"
            )
        engine = OnnxEngine(model, provider=wanted[0])
    engine.label = f"onnxruntime ({option})" if option else "onnxruntime"
    return engine


def _as_onnx(model: Model, specs: Mapping[str, Spec]) -> Model:
    """The model as ONNX: itself, or a symbol as convert writes it. Raises BadInput where shapes are missing."""
    if model.is_onnx:
        return model
    settled = settle_inputs(model, dict(specs), {})
    try:
        made = ONNX.translated(model, inputs=settled)
    except ConversionError as error:
        raise BadInput(f"{model.name} cannot become ONNX: {str(error).splitlines()[0]}") from error
    proto: onnx.ModelProto = made.proto()
    return Model(model.name, proto=proto)


def is_runner(source: Any) -> bool:
    """True for a runner, a recording, or a function that is no model of ours."""
    if isinstance(source, Recording) or (isinstance(source, Runner) and not isinstance(source, type)):
        return True
    return callable(source) and not any(f.recognises(source) for f in FORMATS)


def as_side(source: Any, inputs: Iterable[str] = ()) -> Engine:
    """A runner, recording or function as a side of a verification. inputs: names of what a function takes."""
    if isinstance(source, Recording):
        return OutputsOnly(Recorded(source))
    if hasattr(source, "inner_tensors"):
        return source
    return OutputsOnly(source if isinstance(source, Runner) else Function(source, inputs))


def opened(source: Any, params: Any = None) -> Model | Engine:
    """A model, or what runs by itself as a side: a runner, a function, a recording (.npz)."""
    if isinstance(source, str | Path) and Path(source).suffix == ".npz":
        return as_side(load_recording(source))
    if is_runner(source):
        return as_side(source)
    return source if isinstance(source, Model) else open_with(source, params)
