"""Pictures as inputs of a model: read from files, in its size and layout, with the numbers that it expects."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from converters.error import ConversionError
from hybrid.core.attrs import is_float
from hybrid.core.error import FormatError, MXNetError
from hybrid.core.op import Domain, Spec
from hybrid.core.shapes import MaybeShape, show
from hybrid.formats.files import read
from hybrid.formats.images import FORMATS, decode
from hybrid.ir.graph import Entry
from hybrid.ops.resample import AREA, LINEAR, resize

from .inputs import Feeds, as_specs
from .models import BadInput, Model, names_to_fill, specs_of_onnx
from .paths import files_of, listed, no_file
from .pipeline.preprocess import taken_by, takes_pixels
from .stems import PIXELS, expected

MOST_SETS = 8
"""Batches that are made of a folder; what is left of it is left out."""
RGB, BGR = "RGB ", "BGR "
"""The order of colours, as it is said before the numbers that they are."""
IMAGENET = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]], np.float32)
"""Mean and deviation of red, green and blue between 0 and 1 by which networks for ImageNet are given pictures."""


def load_images(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    model: Model,
    *,
    inputs: Mapping[str, Any] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    together: bool = False,
    most: int | None = MOST_SETS,
    nested: bool = False,
) -> list[Feeds]:
    """Sets of arrays for a model, one batch of pictures each, with the files that they come from.

    paths: a picture or a folder of them, for the only input that takes pictures, or ``NAME=PATH`` for that one. inputs: shapes by
    name where the model leaves them open, with a text for an axis of any size. ranges: (low, high) that black and white become, by
    name; without it what the graph's first operators expect, else red, green and blue as networks for ImageNet have them; bytes
    stay bytes. A batch that the pictures do not fill begins again with the first. together: all in one batch where its size is
    open. most: batches that are made; None for as many as the pictures fill. nested: of a folder without pictures those of the
    folders in it.
    Raises BadInput, and MXNetError without Pillow.

    Examples
    --------
    >>> import gluonnx
    >>> from gluonnx import mx
    >>> from PIL import Image
    >>> Image.new("RGB", (8, 8), (255, 0, 0)).save("red.png")
    >>> model = gluonnx.open_model(mx.sym.Flatten(mx.sym.var("data")), {})
    >>> (feeds,) = gluonnx.load_images("red.png", model, inputs={"data": (1, 3, 4, 4)}, ranges={"data": (0, 1)})
    >>> feeds["data"].shape, feeds["data"][0, :, 0, 0].tolist()
    ((1, 3, 4, 4), [1.0, 0.0, 0.0])
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    specs = _specs(model, inputs or {})
    sets: list[Feeds] = []
    for text in given:
        name, path = _named(os.fspath(text), specs, model)
        files = picture_files(path, nested)
        said = taken_by(model.proto)
        said = said if said.get("input") == name else {}
        numbers = (
            PIXELS
            if takes_pixels(said) and name not in (ranges or {})
            else _numbers(model, name, specs[name], ranges or {})
        )
        batches = _batches(files, specs[name], name, numbers, together, most)
        for number, (array, used) in enumerate(batches):
            if number == len(sets):
                sets.append(Feeds())
            sets[number][name] = array
            sets[number].sources[name] = used
            if said.get("bgr"):
                turned(sets[number], name, (_layout(specs[name].shape) or "").index("C"))
    return [s for s in sets if len(s) == len(sets[0])]


def _specs(model: Model, inputs: Mapping[str, Any]) -> dict[str, Spec]:
    """Specs of a model's inputs, as far as they are known; those given come first."""
    specs, arrays = as_specs(inputs)
    told = {n: s for n, s in specs.items() if n not in arrays}
    if model.graph is None:
        own = specs_of_onnx(model.proto) if model.proto is not None else {}
    else:
        names = set(names_to_fill(model, told))
        sized = {n: s for n, s in told.items() if not any(isinstance(d, str) for d in s.shape or ())}
        inferred = model.infer({n: s for n, s in sized.items() if n in names})
        own = {n.name: inferred.spec(Entry(n)) for n in model.graph.variables() if n.name in names}
    return own | {n: Spec(s.shape, s.dtype or own.get(n, Spec()).dtype) for n, s in told.items()}


def _named(text: str, specs: Mapping[str, Spec], model: Model) -> tuple[str, Path]:
    """The input that pictures are for, and where they are."""
    name, equals, path = text.partition("=")
    if equals and name in specs:
        return name, Path(path)
    fitting = [n for n, s in specs.items() if _layout(s.shape) is not None]
    if len(fitting) == 1:
        return fitting[0], Path(text)
    shapes = ", ".join(f"{n} {'of no known size' if s.shape is None else show(s.shape)}" for n, s in specs.items())
    what = (
        f"which of {', '.join(fitting)} is meant: --image NAME=PATH"
        if fitting
        else "its shape: --input NAME:1,3,224,224"
    )
    raise BadInput(f"{text}: {model.name} takes {shapes}; say {what}")


def _layout(shape: MaybeShape) -> str | None:
    """The order of axes by where the channels are: NCHW or NHWC; None where the shape is of no pictures."""
    if shape is None or len(shape) != 4:
        return None
    if isinstance(shape[1], int) and shape[1] in (1, 3):
        return "NCHW"
    return "NHWC" if isinstance(shape[3], int) and shape[3] in (1, 3) else None


def picture_files(path: Path, nested: bool = False) -> list[Path]:
    """The picture, or the pictures of a folder by name. nested: of a folder without any those of the folders in it.

    Raises BadInput."""
    if path.is_dir():
        found = _pictures_in(path)
        if not found and nested:
            found = [f for folder in (p for p in files_of(path) if p.is_dir()) for f in _pictures_in(folder)]
        if not found:
            raise BadInput(f"{path}: a folder without pictures; wanted some of {', '.join(FORMATS)}")
        return found
    if not path.is_file():
        raise BadInput(no_file(path, "wanted a picture or a folder of them"))
    return [path]


def _pictures_in(folder: Path) -> list[Path]:
    return [p for p in files_of(folder) if p.suffix.lower() in FORMATS and p.is_file()]


def _numbers(model: Model, name: str, spec: Spec, ranges: Mapping[str, tuple[float, float]]) -> Domain | None:
    """Numbers that black and white become; None for those of ImageNet."""
    if name in ranges:
        return Domain(*ranges[name])
    if spec.dtype is not None and not is_float(spec.dtype):
        return PIXELS
    try:
        native = model.native
    except (MXNetError, ConversionError):
        return None
    return None if native.graph is None else expected(native.graph, native.params).get(name)


def _batches(
    files: Sequence[Path], spec: Spec, name: str, numbers: Domain | None, together: bool, most: int | None
) -> list[tuple[np.ndarray, str]]:
    """Batches of pictures, with the names of their files."""
    layout, shape = _layout(spec.shape), spec.shape
    if layout is None or shape is None:
        raise BadInput(
            f"input {name}: got pictures for {show(shape)}, wanted 4 axes, of which the second or last is 1 or 3"
        )
    sizes = [shape[layout.index(axis)] for axis in "NCHW"]
    batch, channels, high, wide = (s if isinstance(s, int) else None for s in sizes)
    if batch is None:
        batch = len(files) if together else 1
    count = -(-len(files) // batch)
    count = count if most is None else min(most, count)
    chosen = [files[i % len(files)] for i in range(count * batch)]
    pictures: list[np.ndarray] = []
    resized: dict[str, None] = {}
    for file in dict.fromkeys(chosen):
        pixels = _pixels(file, 1 if channels == 3 else 0)
        high, wide = high or pixels.shape[0], wide or pixels.shape[1]
        if pixels.shape[:2] != (high, wide):
            resized[f"{pixels.shape[0]}x{pixels.shape[1]}"] = None
        pictures.append(_as_numbers(_resized(pixels, high, wide), numbers, spec.dtype or np.dtype(np.float32)))
    by_file = dict(zip(dict.fromkeys(chosen), pictures))
    said = f", resized from {listed(resized, 3)} to {high}x{wide} (height x width)" if resized else ""
    out = []
    for start in range(0, len(chosen), batch):
        used = chosen[start : start + batch]
        array = np.stack([by_file[f] for f in used])
        out.append(
            (
                np.ascontiguousarray(array.transpose(0, 3, 1, 2)) if layout == "NCHW" else array,
                _told(used, numbers, array.shape[3]) + said,
            )
        )
    return out


def _pixels(file: Path, color: int) -> np.ndarray:
    """The picture's bytes, (height, width, channels)."""
    try:
        pixels = decode(read(file), color)
    except FormatError as error:
        raise BadInput(f"{file}: {error}") from None
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def _resized(pixels: np.ndarray, high: int, wide: int) -> np.ndarray:
    """The picture in another size, whatever its sides are to each other."""
    if pixels.shape[:2] == (high, wide):
        return pixels
    smaller = high < pixels.shape[0] and wide < pixels.shape[1]
    return resize(pixels, wide, high, AREA if smaller else LINEAR).reshape(high, wide, -1)


def _as_numbers(pixels: np.ndarray, numbers: Domain | None, dtype: np.dtype) -> np.ndarray:
    """The picture in the numbers that a network expects."""
    if numbers is None:
        mean, deviation = IMAGENET if pixels.shape[2] == 3 else IMAGENET.mean(axis=1, keepdims=True)
        return ((pixels / np.float32(255) - mean) / deviation).astype(dtype)
    if tuple(numbers[:2]) == tuple(PIXELS[:2]):
        return pixels.astype(dtype)
    return (numbers.low + pixels * ((numbers.high - numbers.low) / 255)).astype(dtype)


def _told(files: Sequence[Path], numbers: Domain | None, channels: int) -> str:
    """Origin of a batch, in words, with the order of colours where there are some."""
    names = [f"{f.parent.name}/{f.name}" if f.parent.name else f.name for f in files]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    how = "as networks for ImageNet have them" if numbers is None else f"from {numbers.low:g} to {numbers.high:g}"
    return f"{shown}, {RGB if channels == 3 else ''}{how}"


def turned(feeds: Feeds, name: str, axis: int) -> None:
    """Turn the order of colours of an input's pictures, and what is said of it."""
    feeds[name] = np.ascontiguousarray(np.flip(feeds[name], axis))
    feeds.sources[name] = feeds.sources[name].replace(f", {RGB}", f", {BGR}")
