"""Archives that Amazon's servers take: model.tar.gz of SageMaker, .mar of multi-model-server, with code that runs onnxruntime.

Sources: the four functions of https://github.com/aws/sagemaker-inference-toolkit, and the model archive of
https://github.com/awslabs/multi-model-server/blob/master/model-archiver/README.md."""

from __future__ import annotations

import json
from pathlib import Path

from .package import LABELS, Layout, Package, labels_file, template

REQUIREMENTS = b"onnxruntime\nnumpy\npillow\n"
"""Pillow is for requests that hold pictures, and loaded with the first."""


def sagemaker(package: Package, place: Path) -> Layout:
    """``model.onnx`` with ``code/inference.py``, in the place of an archive of SageMaker's MXNet containers."""
    files: dict[str, bytes | Path] = dict(package.files)
    files |= {f"code/{n}": template(n) for n in ("inference.py", "served_model.py")}
    files["code/requirements.txt"] = REQUIREMENTS
    if package.labels:
        files[LABELS] = labels_file(package.labels)
    start = "a container with the inference toolkit, such as SageMaker's for PyTorch (SAGEMAKER_PROGRAM=inference.py)"
    return Layout(files, start)


def multi_model_server(package: Package, place: Path) -> Layout:
    """Members of a .mar file: the model, a service, signature.json and synset.txt as MXNet's services had them."""
    files: dict[str, bytes | Path] = dict(package.files)
    files |= {n: template(n) for n in ("service.py", "served_model.py")}
    files["requirements.txt"] = REQUIREMENTS
    if package.labels:
        files["synset.txt"] = labels_file(package.labels)
    shapes = [
        {"data_name": n, "data_shape": [d if isinstance(d, int) else 0 for d in s.shape or ()]}
        for n, s in package.inputs.items()
    ]
    files["signature.json"] = _json({"inputs": shapes, "outputs": [{"data_name": n} for n in package.outputs]})
    files["MAR-INF/MANIFEST.json"] = _json(
        {
            "runtime": "python",
            "model": {"modelName": package.name, "handler": "service.py:handle"},
            "modelServerVersion": "1.0",
            "implementationVersion": "1.0",
            "specificationVersion": "1.0",
        }
    )
    start = f"multi-model-server --start --model-store {place.resolve().parent} --models {package.name}={place.name}"
    return Layout(files, start)


def _json(content: object) -> bytes:
    return f"{json.dumps(content, indent=2)}\n".encode()
