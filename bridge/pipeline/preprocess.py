"""Pictures as they come from a decoder, made ready for a network inside the file: cast, resized, turned, normalised.

The steps are operators of the symbol, so that our engine and the file both compute them, and the ordinary verification compares
them.
Source of the order: MXNet's transforms (Resize, CenterCrop, ToTensor, Normalize) and ImageRecordIter, (x - mean) * scale / std.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import onnx

from converters.names import Names
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known, show
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.resample import LINEAR
from hybrid.passes.strip_labels import label_names

from ..fitting import fitting_side
from ..models import Model, split_inputs
from ..paths import BadInput, listed
from ..settle import channels_are_fixed, first_layer, unknown_names, with_sides, with_sizes_beside
from ..stems import PIXELS, TWICE, Known, Stem, expected, stem_of
from .nodes import apply

KEY = "gluonnx.preprocess"
NARROW = 8
"""Factor by which numbers that were made small before are narrower than those that a network expects, at least."""
UNCHANGED = 0.5
"""Steps that move no number from 0 to 255 by as much do nothing."""
LAYOUTS = ("NCHW", "NHWC")
Numbers = float | Sequence[float]
Dynamic = Mapping[str, Mapping[int, str]]
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Preprocess:
    """Steps between what the file takes and what the network gets, in this order: cast to float32, resize, crop, layout, bgr,
    unit, mean, scale, std, cast to the network's dtype. Steps that are not asked for are left out.

    mean, scale and std are numbers, or one for each channel in the order in which the network takes them (behind bgr); mean and std
    are of what unit makes: of 0 to 255 without it, of 0 to 1 with it.

    Examples
    --------
    >>> import gluonnx
    >>> gluonnx.Preprocess(layout="NHWC", uint8=True, resize=256, crop=(224, 224)).problems()
    []
    """

    layout: str | None = None
    """The order of axes that the file takes, NCHW or NHWC; by default that of the network."""
    uint8: bool = False
    """The file takes bytes."""
    bgr: bool = False
    """The file takes the channels in the other order than the network: blue, green, red for one that takes red, green, blue."""
    resize: int | tuple[int, int] | None = None
    """(height, width) that pictures of any size become, or the length of the shorter side, proportions kept, with crop. Bilinear
    between pixel centers, no smoothing, in float32: not rounded to bytes in between as image libraries do."""
    crop: tuple[int, int] | None = None
    """(height, width) of the middle that is kept."""
    unit: bool = False
    """0 to 255 become 0 to 1, as ToTensor makes them."""
    mean: Numbers | None = None
    scale: Numbers | None = None
    std: Numbers | None = None
    input: str | None = None
    """The input that takes pictures; by default the only one with four axes."""
    twice: bool = False
    """Insist on unit, mean, scale and std where the network does by itself what they do."""

    def __bool__(self) -> bool:
        return self != Preprocess(input=self.input, twice=self.twice)

    @property
    def only_bytes(self) -> bool:
        """True where the file takes bytes, and no other numbers than the network.

        Examples
        --------
        >>> import gluonnx
        >>> gluonnx.Preprocess(uint8=True).only_bytes, gluonnx.Preprocess(uint8=True, unit=True).only_bytes
        (True, False)
        """
        return self == Preprocess(uint8=True, input=self.input, twice=self.twice)

    def problems(self) -> list[str]:
        """Words for all that is wrong with it by itself."""
        out = []
        if self.layout not in (None, *LAYOUTS):
            out.append(f"layout: got {self.layout!r}, wanted {' or '.join(LAYOUTS)}")
        for name in ("mean", "scale", "std"):
            values = _numbers(getattr(self, name))
            if values is None:
                continue
            bad = [v for v in values if not math.isfinite(v) or (name != "mean" and v == 0)]
            if not values or bad:
                out.append(
                    f"{name}: got {getattr(self, name)}, wanted numbers{'' if name == 'mean' else ' other than 0'}"
                )
        counts = {len(v) for n in ("mean", "scale", "std") if (v := _numbers(getattr(self, n))) and len(v) > 1}
        if len(counts) > 1:
            out.append(
                f"mean, scale and std: got {' and '.join(map(str, sorted(counts)))} numbers, wanted as many of each"
            )
        for name in ("resize", "crop"):
            value = getattr(self, name)
            sizes = () if value is None else value if isinstance(value, tuple) else (value,)
            if any(not isinstance(n, int) or n < 1 for n in sizes) or (isinstance(value, tuple) and len(value) != 2):
                out.append(f"{name}: got {value}, wanted HEIGHTxWIDTH, both 1 or more")
        if out:
            return out
        if isinstance(self.resize, int) and self.crop is None:
            out.append(
                f"resize {self.resize} is of the shorter side, which leaves the other open: add the size that the network takes "
                f"(--crop 224x224), or give both sides (--resize {self.resize}x{self.resize})"
            )
        least = (self.resize, self.resize) if isinstance(self.resize, int) else self.resize
        if least is not None and self.crop is not None and (self.crop[0] > least[0] or self.crop[1] > least[1]):
            out.append(f"crop {_by(self.crop)} does not lie inside pictures of {_by(least)} (--resize)")
        return out


class Prepared(NamedTuple):
    """A model that takes pictures, with what is known of its inputs."""

    model: Model
    specs: dict[str, Spec]
    dynamic: Dynamic
    ranges: Ranges
    name: str
    """The input that takes pictures."""
    layout: str
    """The order of axes that it takes."""
    facts: dict[str, str]
    """Members of the file's metadata that say what it does: see taken_by."""


def preprocessed(
    model: Model, wanted: Preprocess, specs: Mapping[str, Spec], dynamic: Dynamic, ranges: Ranges
) -> Prepared:
    """The model with the steps before its input. specs: what is given of the inputs, in the form in which the file takes them.
    dynamic, ranges: as convert takes them. What is drawn for the input are pixels where a step takes them for such.

    Raises BadInput for steps that do not go together, or not with the model."""
    problems = wanted.problems() or unknown_names(model, specs, dynamic)
    if problems:
        raise BadInput(*problems)
    name = _input(model, wanted, specs)
    given = specs.get(name, Spec())
    if wanted.uint8 and given.dtype is not None and given.dtype != np.uint8:
        raise BadInput(f"input {name}: got {given.dtype} with uint8; give its shape without a dtype")
    dtype = given.dtype or np.dtype(np.uint8 if wanted.uint8 else np.float32)
    if given.shape is not None and len(given.shape) != 4:
        raise BadInput(f"input {name}: got {show(given.shape)}, wanted the four axes of pictures")
    known = _known(model, name, specs)
    network = _layout_of(model, name, known.shape)
    layout = wanted.layout or network
    shape = _shape(model, wanted, name, given.shape, known.shape, network, layout, specs)
    problems += _other_layout(model, name, shape, layout, network if wanted.resize is wanted.crop is None else None)
    channels, axes = shape[layout.index("C")], dynamic.get(name, {})
    taken = _channels_taken(model, name)
    if layout.index("C") in axes and taken is not None:
        problems.append(channels_are_fixed(name, axes, layout.index("C"), 4, f"takes {taken}"))
    for step in ("mean", "scale", "std"):
        values = _numbers(getattr(wanted, step)) or ()
        if len(values) > 1 and len(values) != channels:
            said = f"{step}: got {len(values)} numbers for {channels} channels of {name} {show(shape)}, whose axes are {layout}"
            problems.append(said + ("; the shape to give is that of the file's input" if wanted.layout else ""))
    if wanted.resize is None and wanted.crop is not None:
        sizes = [shape[layout.index(axis)] for axis in "HW"]
        if not problems and any(c > s for c, s in zip(wanted.crop, sizes)):
            problems.append(f"crop {_by(wanted.crop)} does not lie inside {name} {show(shape)}")
    if wanted.bgr and channels < 2:
        problems.append(f"bgr turns the order of channels, and {name} {show(shape)} has one")
    again = again_done(model, name, wanted)
    if again and not wanted.twice:
        problems.append(f"{again}; leave that to the network, or insist with --twice (twice=True)")
    if problems:
        raise BadInput(*problems)
    made = _Steps(model, name, wanted, layout, network, channels)
    target = known.dtype or np.dtype(np.float32)
    outer = Node(None, name)
    entry = made.behind(Entry(outer), dtype, target)
    assert model.graph is not None

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        return [entry] if node.is_variable and node.name == name else None

    axes = dict(dynamic)
    if wanted.resize is not None and given.shape is None:
        named = axes.get(name, {})
        taken = set(named.values())
        sides = {layout.index(a): label for a, label in (("H", "height"), ("W", "width"))}
        axes[name] = {**{a: label for a, label in sides.items() if a not in named and label not in taken}, **named}
    limits = dict(ranges)
    if name not in limits:
        domain = PIXELS if takes_pixels(asdict(wanted)) else expected(model.graph, model.params).get(name)
        if domain is not None:
            limits[name] = (domain.low, domain.high)
    notes = (*model.notes, f"{again}, as was asked for") if again else model.notes
    sizes = {n: s for n, s in model.sizes.items() if n != name}
    graph = Graph(model.graph.rewritten(change))
    prepared = replace(model, graph=graph, params={**model.params, **made.params}, sizes=sizes, notes=notes)
    said = {n: v for n, v in asdict(wanted).items() if v not in (None, False)} | {"input": name}
    facts = {KEY: json.dumps(said, sort_keys=True)}
    return Prepared(prepared, {**specs, name: Spec(shape, dtype)}, axes, limits, name, layout, facts)


def taken_by(proto: onnx.ModelProto | None) -> dict[str, Any]:
    """Steps that an ONNX file of this package does with pictures: the fields of Preprocess that are set, and its input; nothing
    where it does nothing, or does not say."""
    text = next((p.value for p in proto.metadata_props if p.key == KEY), "") if proto is not None else ""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def sample_of(said: Mapping[str, Any]) -> tuple[int, int] | None:
    """Height and width of a picture that a file which resizes pictures may be tried with: another size than it makes of it. None
    where it does not resize. said: as taken_by tells it."""
    sides = said.get("resize")
    sides = (sides, sides) if isinstance(sides, int) else sides
    if not isinstance(sides, list | tuple) or len(sides) != 2 or not all(isinstance(n, int) and n > 0 for n in sides):
        return None
    return sides[0] + sides[0] // 4 + 1, sides[1] + sides[1] // 2


def takes_pixels(said: Mapping[str, Any]) -> bool:
    """True where one of these steps takes numbers from 0 to 255. said: as taken_by tells it."""
    return any(said.get(step) not in (None, False) for step in ("uint8", "unit", "mean", "scale", "std"))


class _Steps:
    """The nodes between what the file takes and what the network takes."""

    def __init__(self, model: Model, name: str, wanted: Preprocess, layout: str, network: str, channels: int):
        assert model.graph is not None
        self.names = Names([o for n in model.graph.nodes for o in (n.name, *n.outputs)] + list(model.params))
        self.name, self.wanted, self.layout, self.network, self.channels = name, wanted, layout, network, channels
        self.params: dict[str, np.ndarray] = {}

    def apply(self, operator: str, word: str, *inputs: Entry, **attrs: Any) -> Entry:
        return apply(operator, self.names.unique(f"{self.name}_{word}"), *inputs, **attrs)

    def constant(self, word: str, values: np.ndarray) -> Entry:
        name = self.names.unique(f"{self.name}_{word}")
        self.params[name] = values
        return Entry(Node(None, name))

    def behind(self, x: Entry, dtype: np.dtype, target: np.dtype) -> Entry:
        """The tensor that the network gets, in its dtype."""
        wanted = self.wanted
        if dtype != np.float32:
            x = self.apply("Cast", "float32", x, dtype="float32")
        at = self.layout
        if isinstance(wanted.resize, int):
            x, at = self.turned(x, at, "NHWC"), "NHWC"
            x = self.apply("_image_resize", "resized", x, size=(wanted.resize,), keep_ratio=True, interp=LINEAR)
        elif wanted.resize is not None:
            x, at = self.turned(x, at, "NCHW"), "NCHW"
            height, width = wanted.resize
            x = self.apply(
                "_contrib_BilinearResize2D", "resized", x, height=height, width=width, mode="size", align_corners=False
            )
        if wanted.crop is not None and wanted.crop != wanted.resize:
            x, at = self.turned(x, at, "NCHW"), "NCHW"
            x = self.apply("Crop", "cropped", x, num_args=1, h_w=wanted.crop, center_crop=True)
        x = self.turned(x, at, self.network)
        axis = self.network.index("C")
        if wanted.bgr:
            # Split and Concat: more runtimes have them than steps of -1
            parts = self.apply("SliceChannel", "channels", x, num_outputs=self.channels, axis=axis).node
            turned = [Entry(parts, i) for i in reversed(range(self.channels))]
            x = self.apply("Concat", "reversed", *turned, num_args=self.channels, dim=axis)
        if wanted.unit:
            x = self.apply("_div_scalar", "unit", x, scalar=255.0)
        for step, word, scalar, columns in (
            ("mean", "centered", "_minus_scalar", "broadcast_sub"),
            ("scale", "scaled", "_mul_scalar", "broadcast_mul"),
            ("std", "normalized", "_div_scalar", "broadcast_div"),
        ):
            values = _numbers(getattr(wanted, step))
            if values is None:
                continue
            if len(values) == 1:
                x = self.apply(scalar, word, x, scalar=values[0])
            else:
                shape = tuple(self.channels if a == "C" else 1 for a in self.network)
                column = self.constant(step, np.array(values, np.float32).reshape(shape))
                x = self.apply(columns, word, x, column)
        return x if target == np.float32 else self.apply("Cast", target.name, x, dtype=target.name)

    def turned(self, x: Entry, at: str, to: str) -> Entry:
        return x if at == to else self.apply("transpose", to.lower(), x, axes=tuple(at.index(a) for a in to))


def _input(model: Model, wanted: Preprocess, specs: Mapping[str, Spec]) -> str:
    """The input that takes pictures. Raises BadInput where it cannot be told."""
    assert model.graph is not None
    ignored = set(label_names(model.graph))
    free = [n for n in split_inputs(model, specs)[0] if n not in ignored]
    if wanted.input is not None:
        if wanted.input not in free:
            raise BadInput(
                f"no input {wanted.input!r} to prepare pictures for; the model takes {listed(free) or 'none'}"
            )
        return wanted.input
    if len(free) == 1:
        return free[0]
    shapes = {n: _known(model, n, specs).shape for n in free}
    fitting = [n for n in free if len(shapes[n] or specs.get(n, Spec()).shape or ()) == 4]
    if len(fitting) == 1:
        return fitting[0]
    raise BadInput(f"which of {listed(free) or 'no inputs'} takes pictures? say it with --preprocess-input NAME")


def _known(model: Model, name: str, specs: Mapping[str, Spec]) -> Spec:
    """Shape and dtype of an input as the network itself tells them, whatever is given for it."""
    assert model.graph is not None
    others = {n: s for n, s in specs.items() if n != name}
    beside = with_sizes_beside(model, others, [name])
    variable = next(n for n in model.graph.variables() if n.name == name)
    for known in (beside, others):
        try:
            return model.infer(known).spec(Entry(variable))
        except MXNetError:
            continue
    return Spec()


def _layout_of(model: Model, name: str, shape: MaybeShape) -> str:
    """The layout that the network takes, by its first convolution, or by where its channels are."""
    layer = first_layer(model, name)
    said = getattr(layer.op, "layout", None) if layer is not None else None
    if said:
        return "NHWC" if said.endswith("C") else "NCHW"
    sides = () if shape is None or len(shape) != 4 else (shape[1], shape[3])
    if (
        layer is None
        and all(isinstance(d, int) for d in sides)
        and sides[:1] not in ((1,), (3,))
        and sides[1:] in ((1,), (3,))
    ):
        return "NHWC"
    return "NCHW"


def _shape(
    model: Model,
    wanted: Preprocess,
    name: str,
    given: MaybeShape,
    known: MaybeShape,
    network: str,
    layout: str,
    specs: Mapping[str, Spec],
) -> tuple[int, ...]:
    """The shape that the file takes, of which H and W are an example where they are dynamic. Raises BadInput."""
    if given is not None and is_known(given):
        return tuple(given)
    if known is not None and len(known) != 4:
        raise BadInput(
            f"input {name} takes {show(known)}, wanted the four axes of pictures; --preprocess-input names another"
        )
    sizes: dict[str, Any] = dict(zip(network, known or (UNKNOWN,) * 4))
    if sizes["C"] is UNKNOWN:
        sizes["C"] = _channels(model, wanted, name)
    if sizes["N"] is UNKNOWN:
        sizes["N"] = 1
    sample = sample_of({"resize": wanted.resize})
    if sample is not None:
        sizes |= dict(zip("HW", sample))
    if any(d is UNKNOWN for d in sizes.values()):
        sizes["C"] = 3 if sizes["C"] is UNKNOWN else sizes["C"]
        side = fitting_side(model, name, tuple(sizes[a] for a in network), specs)
        words = {"H": "HEIGHT", "W": "WIDTH"} if side is None else {"H": side, "W": side}
        example = ",".join(str(words[a] if sizes[a] is UNKNOWN else sizes[a]) for a in layout)
        raise BadInput(
            f"cannot tell the size of the pictures that {name} takes; give it, for instance --input {name}:{example}"
        )
    return tuple(int(sizes[a]) for a in layout)


def _channels(model: Model, wanted: Preprocess, name: str) -> Any:
    """As many channels as the first convolution takes, or numbers are given."""
    found = _channels_taken(model, name)
    counts = [len(v) for n in ("mean", "scale", "std") if (v := _numbers(getattr(wanted, n))) and len(v) > 1]
    return found if found is not None else counts[0] if counts else UNKNOWN


def _channels_taken(model: Model, name: str) -> int | None:
    """As many channels as the first convolution takes; None where there is none."""
    layer = first_layer(model, name)
    if layer is None or layer.op is None or not layer.op.name.startswith("Convolution"):
        return None
    weight = model.params[layer.inputs[1].node.name]
    last = (getattr(layer.op, "layout", None) or "NCHW").endswith("C")
    return int(weight.shape[-1 if last else 1]) * getattr(layer.op, "num_group", 1)


def _other_layout(model: Model, name: str, shape: Sequence[int], layout: str, network: str | None) -> list[str]:
    """Words for a shape of the file's input that has its channels where another layout has them, or others than the network.
    network: its layout, where sides go into it as they are."""
    wanted = _channels_taken(model, name)
    got, other = shape[layout.index("C")], "NCHW" if layout == "NHWC" else "NHWC"
    if wanted is None or got == wanted or not isinstance(got, int):
        return []
    if shape[other.index("C")] != wanted:
        sizes = {axis: wanted if axis == "C" else size for axis, size in zip(layout, shape)}
        if network is not None and is_known(tuple(sizes.values())):
            inside, sides = tuple(sizes[axis] for axis in network), [network.index(axis) for axis in "HW"]
            sizes = dict(zip(network, with_sides(model, name, inside, {name: Spec(inside)}, sides)))
        fitting = ",".join(str(sizes[axis]) for axis in layout)
        return [
            f"{name} {show(tuple(shape))}: {got} channels, and the network takes {wanted}; try --input {name}:{fitting}"
        ]
    turned = ",".join(str(shape[other.index(axis)]) for axis in layout)
    return [
        f"{name} {show(tuple(shape))}: the file takes {layout}, and so this has {got} channels, where the network takes {wanted}; "
        f"shapes are given as the file takes them: --input {name}:{turned}"
    ]


# -- what networks do by themselves ----------------------------------------------------------------------------------------


def again_done(model: Model, name: str, wanted: Preprocess) -> str:
    """Words for steps that do what the network does to its input by itself; empty where none does.

    By itself: constants that are subtracted and multiplied with first, however that is written (bridge/stems.py), or a BatchNorm
    that has seen such numbers in training. Nothing goes before a network that subtracts a mean, for that is one of numbers as it
    takes them; where it does nothing but multiply, what multiplies is done again, and (x - mean) here is not. Where a BatchNorm
    has seen other numbers than pixels, steps are there to make them, and a step does its work again if bytes do not come near
    those: an eighth as wide, or elsewhere."""
    asked = [step for step in ("unit", "mean", "scale", "std") if getattr(wanted, step) not in (None, False)]
    own = _own_scaling(model, name) if asked else None
    if own is None:
        return ""
    stem, least, most = own
    mean, scale, std = (
        np.array(_numbers(getattr(wanted, s)) or d) for s, d in (("mean", 0.0), ("scale", 1.0), ("std", 1.0))
    )
    ends = [(end / (255.0 if wanted.unit else 1.0) - mean) * scale / std for end in (0.0, 255.0)]
    if all(np.all(abs(end - byte) < UNCHANGED) for end, byte in zip(ends, (0.0, 255.0))):
        return ""
    low, high = np.minimum(*ends), np.maximum(*ends)
    narrow = bool(np.all(high - low < (most - least) / NARROW))
    moved = stem.centered and bool(np.all(abs((low + high) - (least + most)) > (most - least) / 2))
    scales = stem.seen is not None or not np.allclose(abs(stem.factor), 1)
    if stem.seen is None or (least, most) == (PIXELS.low, PIXELS.high):
        moved, narrow = moved or stem.centered, narrow or stem.centered or scales
    again = [s for s in asked if (moved if s == "mean" else narrow)]
    if not again:
        return ""
    gets = f"{low.min():.3g} to {high.max():.3g}"
    done = "that is done twice, and " if scales or "mean" in again else ""
    return (
        f"the network prepares {name} by itself, as {stem.words(name)}, and expects numbers from {least:.4g} to {most:.4g}: with "
        f"{' and '.join(again)} {done}it gets numbers from {gets}"
    )


def _own_scaling(model: Model, name: str) -> tuple[Stem, float, float] | None:
    """Steps by which the network makes small numbers by itself, and of which; None where it makes none, or they are not known."""
    assert model.graph is not None
    variable = next(n for n in model.graph.variables() if n.name == name)
    stem = stem_of(Known(model.graph, model.params), variable)
    domain = None if stem is None else stem.expects
    return None if stem is None or domain is None or domain.high <= TWICE else (stem, domain.low, domain.high)


def _numbers(value: Numbers | None) -> tuple[float, ...] | None:
    if value is None:
        return None
    return (float(value),) if isinstance(value, int | float | np.number) else tuple(float(v) for v in value)


def _by(sizes: tuple[int, int]) -> str:
    return "x".join(map(str, sizes))


# -- as they are written ---------------------------------------------------------------------------------------------------


def parse_numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    """``123.68,116.28,103.53`` -> three numbers. Raises BadInput."""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise BadInput(
            f"--{option} {text!r}: wanted a number, or one for each channel, such as 123.68,116.28,103.53"
        ) from None


def parse_size(option: str, text: str | None) -> tuple[int, int] | None:
    """``224x320`` -> (224, 320): height, width. Raises BadInput."""
    match = None if text is None else re.fullmatch(r"(\d{1,9})x(\d{1,9})", text.strip().lower())
    if text is not None and match is None:
        raise BadInput(f"--{option} {text!r}: wanted HEIGHTxWIDTH, such as 224x224")
    return None if match is None else (int(match[1]), int(match[2]))


def parse_resize(text: str | None) -> int | tuple[int, int] | None:
    """``256`` -> 256, the shorter side; ``256x256`` -> (256, 256). Raises BadInput."""
    if text is not None and re.fullmatch(r"\d{1,9}", text.strip()):
        return int(text)
    return parse_size("resize", text)
