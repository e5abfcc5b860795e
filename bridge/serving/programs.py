"""Programs that run a model with onnxruntime, in Python and in C++, to begin one's own with."""

from __future__ import annotations

from pathlib import Path

from .archives import REQUIREMENTS
from .package import LABELS, Layout, Package, labels_file, template


def python(package: Package, place: Path) -> Layout:
    """``run.py`` beside the model: a picture or arrays in, classes or arrays out."""
    files = dict(package.files) | {n: template(n) for n in ("run.py", "served_model.py")}
    files["requirements.txt"] = REQUIREMENTS
    given = "PICTURE or INPUTS.npz" if package.takes_pictures else "INPUTS.npz"
    return Layout(files | _labels(package), f"python {place / 'run.py'} {given}")


def cpp(package: Package, place: Path) -> Layout:
    """``main.cpp`` with ``CMakeLists.txt`` beside the model: .npy files or a .ppm picture in, classes or .npy files out."""
    files = dict(package.files) | {n: template(n) for n in ("main.cpp", "CMakeLists.txt")}
    built = f"cmake -S {place} -B {place / 'build'} -DONNXRUNTIME_ROOT=... && cmake --build {place / 'build'}"
    return Layout(files | _labels(package), built)


def _labels(package: Package) -> dict[str, bytes | Path]:
    return {LABELS: labels_file(package.labels)} if package.labels else {}
