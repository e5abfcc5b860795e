"""One engine in a process of its own, for benchmarks/sides.py: reads requests from its standard input and answers, JSON by line.

    python benchmarks/worker.py hybrid[-LEVEL]|mxnet|onnxruntime|openvino|pytorch THREADS

Runs in MXNet's own Python as well, where there is neither onnxruntime nor this package.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cold import peak
from networks import NETWORKS, TRAINING, build_block, fill
from precisions import bound
from pytorch import PyTorch

ROOT = Path(__file__).resolve().parents[1]
block = runpy.run_path(str(ROOT / "bridge" / "timing.py"))["block"]


class Gluon:
    """This package, or MXNet: called as a user calls it."""

    def __init__(self, kind: str, threads: int):
        package, _, level = kind.partition("-")
        self.mx = importlib.import_module(package)
        importlib.import_module(f"{package}.gluon")  # which this package imports when it is first used
        self.fused = {"static_alloc": True, "static_shape": True}
        if package == "hybrid":
            native = importlib.import_module("hybrid.native")
            native.set_num_threads(threads)
            if level:
                native.use(None if level == "none" else level)
        else:  # oneDNN's fused operators; threads are told by the environment
            self.fused["backend"] = "MKLDNN"
        self.call: Callable[[], Any] = lambda: None

    def load(
        self, prefix: str, onnx: str, runs: list[dict[str, np.ndarray]], names: Sequence[str] | None = None
    ) -> None:
        """An exported network. names: of its inputs, those of the runs if None."""
        parameters = Path(f"{prefix}-0000.params")
        more = {"ignore_extra": True} if self.mx.__name__ == "hybrid" else {}
        net = self.mx.gluon.SymbolBlock.imports(
            f"{prefix}-symbol.json", list(names or runs[0]), str(parameters) if parameters.exists() else None, **more
        )
        net.hybridize(**self.fused if len(runs) == 1 else {})
        sets = [[self.mx.nd.array(a, dtype=a.dtype) for a in inputs.values()] for inputs in runs]

        def call() -> Any:
            found = []
            for given in sets:
                out = net(*given)
                for one in out if isinstance(out, list | tuple) else (out,):
                    for array in one if isinstance(one, list | tuple) else (one,):  # an output may be a sequence
                        array.wait_to_read()
                    found.append(one)
            return found

        self.net, self.sets, self.call = net, sets, call

    def profile(self) -> list[dict[str, Any]] | None:
        """The steps of the program that the last call of a block ran, with the least of their seconds; None when NumPy ran it."""
        program = self.net._cached_op.program(False)
        given = self.sets[-1]
        arrays = [(p.data() if not isgiven else given[p]) for isgiven, p in self.net._cached_op_args]
        arrays = [a.asnumpy() for a in arrays]
        bound = program._specialize(arrays, {}).bound
        found = [bound.profile(arrays) for _ in range(5)]
        if found[0] is None:
            return None
        for step, *others in zip(*found, strict=True):
            step["seconds"] = min(s["seconds"] for s in (step, *others))
        return found[0]

    def differentiate(self, prefix: str, inputs: dict[str, np.ndarray]) -> None:
        """The gradients of all operands of an exported symbol."""
        symbol = self.mx.sym.load(f"{prefix}-symbol.json")
        self.call = lambda: bound(self.mx, symbol, inputs, True)[1]

    def blocks(self, name: str, batch: int, hybridize: bool) -> None:
        """A network as blocks; twenty calls at a time, waited for at their end only, as in the tutorials."""
        net = build_block(self.mx, NETWORKS[name], batch)
        if hybridize:
            net.hybridize()
        given = [self.mx.nd.array(a) for a in NETWORKS[name].inputs(batch).values()]

        def call() -> Any:
            for _ in range(20):
                out = net(*given)
            out.wait_to_read()
            return out

        self.call = call

    def train(self, name: str, batch: int) -> list[float]:
        """Training steps: forward, backward and update. Gives the losses of the first ones."""
        mx, job = self.mx, TRAINING[name]
        net = build_block(mx, job, batch)
        fill(net, mx.nd.array, job.scale)
        net.hybridize(static_alloc=True, static_shape=True)
        given = [mx.nd.array(a) for a in job.inputs(batch).values()]
        labels = mx.nd.array(np.random.default_rng(1).integers(0, 10, batch).astype(np.float32))
        entropy = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        entropy.hybridize(static_alloc=True, static_shape=True)
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3, "momentum": 0.9})

        def call() -> Any:
            with mx.autograd.record():
                loss = entropy(net(*given), labels)
            loss.backward()
            trainer.step(batch)
            mx.nd.waitall()
            return loss

        self.call = call
        return [float(call().mean().asscalar()) for _ in range(3)]

    def arrays(self, out: Any) -> list[np.ndarray]:
        """Results of a call as NumPy arrays; what is none of numbers is empty."""
        outputs = out if isinstance(out, list | tuple) else (out,)
        return of_numbers(o.asnumpy() if hasattr(o, "asnumpy") else o for o in outputs)


class OpenVINO:
    """OpenVINO's CPU plugin, in float32 as the others."""

    def __init__(self, threads: int):
        self.openvino: Any = importlib.import_module("openvino")
        self.threads = threads
        self.call: Callable[[], Any] = lambda: None

    def load(
        self, prefix: str, onnx: str, runs: list[dict[str, np.ndarray]], names: Sequence[str] | None = None
    ) -> None:
        """An ONNX file."""
        core = self.openvino.Core()
        told = {"INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        model = core.compile_model(onnx, "CPU", told)
        takes = {n for port in model.inputs for n in port.get_names()}
        feeds = [{n: a for n, a in inputs.items() if n in takes} for inputs in runs]
        request = model.create_infer_request()
        self.call = lambda: [out for given in feeds for out in request.infer(given).to_tuple()]

    def arrays(self, out: Any) -> list[np.ndarray]:
        """Results of a call as NumPy arrays."""
        return out


class Runtime:
    """onnxruntime at its best: all optimisations, one operator at a time on all threads, memory planned."""

    def __init__(self, threads: int):
        self.runtime: Any = importlib.import_module("onnxruntime")
        self.threads = threads
        self.call: Callable[[], Any] = lambda: None

    def load(
        self, prefix: str, onnx: str, runs: list[dict[str, np.ndarray]], names: Sequence[str] | None = None
    ) -> None:
        """An ONNX file."""
        options = self.runtime.SessionOptions()
        options.graph_optimization_level = self.runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.execution_mode = self.runtime.ExecutionMode.ORT_SEQUENTIAL
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.enable_mem_pattern = True
        session = self.runtime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
        takes = {i.name for i in session.get_inputs()}
        feeds = [{n: a for n, a in inputs.items() if n in takes} for inputs in runs]
        self.call = lambda: [out for given in feeds for out in session.run(None, given)]

    def arrays(self, out: Any) -> list[np.ndarray]:
        """Results of a call as NumPy arrays; what is none of numbers is empty."""
        return of_numbers(out)


def of_numbers(results: Iterable[Any]) -> list[np.ndarray]:
    """These, with an empty array for each that is none of numbers: words, sequences and maps."""
    return [a if isinstance(a, np.ndarray) and a.dtype != object else np.zeros(0) for a in results]


def read(path: str) -> dict[str, np.ndarray]:
    """Arrays of a file."""
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def answer(side: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked."""
    what = request.pop("do")
    if what == "load":
        files = [request["inputs"]] if isinstance(request["inputs"], str) else request["inputs"]
        runs = list(map(read, files))
        before, start = peak(), time.perf_counter()
        if request.get("gradient"):
            side.differentiate(request["prefix"], runs[0])
        else:
            side.load(request["prefix"], request["onnx"], runs, request.get("names"))
        loaded = time.perf_counter()
        results = side.arrays(side.call())
        done = time.perf_counter()
        if request.get("outputs"):
            np.savez(request["outputs"], *results)
        return {"load": loaded - start, "first": done - loaded, "before": before, "peak": peak()}
    if what == "run":
        return {
            "times": block(
                side.call, request["seconds"], time.process_time if request.get("cpu") else time.perf_counter
            )
        }
    if what == "profile":
        return {"profile": side.profile()}
    if what == "peak":
        return {"peak": peak()}
    return {"losses": getattr(side, what)(**request)}


def main() -> None:
    """Answer until there are no more requests."""
    kind, threads = sys.argv[1], int(sys.argv[2])
    # libraries print what they like to file 1; answers go where nothing else does
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if kind.startswith("hybrid"):
        sys.path.append(str(ROOT))
    side = {"onnxruntime": Runtime, "openvino": OpenVINO, "pytorch": PyTorch}.get(kind, partial(Gluon, kind))(threads)
    print(json.dumps({}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            reply = answer(side, json.loads(line))
        except Exception:
            reply = {"error": traceback.format_exc()}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
