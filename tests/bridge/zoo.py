"""Large networks with sane random weights, converted at their normal size: no false alarm, and what verification costs.

    python -m tests.bridge.zoo [NAME...]

NAME: models of hybrid.gluon.model_zoo, or folders that hold model-symbol.json and inputs.npz. Weights are He-normal, running
statistics and scales near those of a network that was trained. Each runs in a process of its own; prints a line for each with
verdict, time and peak memory, beside those of a conversion without verification. Returns 1 when one is refused."""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import bridge
import hybrid as mx

NAMES = ("resnet50_v1", "resnet101_v1", "resnet152_v1", "inceptionv3", "mobilenet0.5", "densenet121")


def shape_of(name: str) -> tuple[int, ...]:
    """The input that a network is made for."""
    side = 299 if name.startswith("inception") else 224
    return (1, 3, side, side)


def sane(net: Any, name: str) -> None:
    """Give a network weights as He draws them, and statistics as training leaves them."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for key, parameter in net.collect_params().items():
        shape = parameter.shape
        if key.endswith("running_mean"):
            value = rng.normal(0, 0.1, shape)
        elif key.endswith("running_var"):
            value = rng.uniform(0.5, 1.5, shape)
        elif key.endswith("gamma"):
            value = rng.uniform(0.8, 1.2, shape)
        elif len(shape) > 1:
            value = rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
        else:
            value = rng.normal(0, 0.1, shape)
        parameter.set_data(mx.nd.array(value.astype(np.float32)))


def exported(name: str, folder: Path) -> str:
    """The prefix of a network's files."""
    net = mx.gluon.model_zoo.vision.get_model(name)
    net.initialize()
    net.hybridize()
    net(mx.nd.zeros(shape_of(name)))
    sane(net, name)
    net(mx.nd.zeros(shape_of(name)))
    net.export(str(folder / "model"))
    return str(folder / "model")


def _export(name: str, folder: str) -> None:
    exported(name, Path(folder))


def _convert(prefix: str, inputs: Any, verify: bool, found: Any) -> None:
    """Send (verdict, details, seconds, GB)."""
    start = time.perf_counter()
    try:
        result = bridge.convert(prefix, inputs=inputs, verify=verify, output=f"{prefix}.onnx")
        said = result.verification
        line = (said.verdict, _told(said)) if said is not None else ("not verified", "")
    except bridge.NotEquivalent as error:
        line = "REFUSED", f"{error}; {_told(error.result)}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    found.send((*line, time.perf_counter() - start, peak))


def _told(result: bridge.VerifyResult) -> str:
    worst = max(result.differences, key=lambda d: d.max_rel)
    by = f", by {worst.settled_by}" if worst.settled_by else ""
    return f"{result.inner} tensors inside, outputs {worst.max_rel:.1e} apart{by}"


def _apart(target: Any, *arguments: Any) -> Any:
    """Value that a function sends from a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments, sender) if target is _convert else arguments)
    process.start()
    sender.close()
    try:
        return receiver.recv() if target is _convert else None
    except EOFError:
        return "DIED", "", 0.0, 0.0
    finally:
        process.join()


def main() -> int:
    """Convert all networks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    refused = 0
    for name in parser.parse_args().names:
        with tempfile.TemporaryDirectory() as folder:
            if Path(name).is_dir():
                prefix, inputs = str(Path(name) / "model"), dict(np.load(Path(name) / "inputs.npz"))
            else:
                _apart(_export, name, folder)
                prefix, inputs = f"{folder}/model", {"data": shape_of(name)}
            verdict, told, seconds, peak = _apart(_convert, prefix, inputs, True)
            _, _, plain, small = _apart(_convert, prefix, inputs, False)
        refused += verdict != "equivalent"
        print(
            f"{Path(name).name}: {verdict} ({told}); {seconds:.1f} s, {peak:.2f} GB; unverified {plain:.1f} s, {small:.2f} GB",
            flush=True,
        )
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
