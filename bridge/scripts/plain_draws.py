"""Numbers that are drawn for an input, by its size and its range or by what it takes, and which draw is taken: the part of
bridge/draws.py and bridge/answers.py that record_with_mxnet.py has too. ``gluonnx record --script`` puts it into that program."""

# For old machines, as record_with_mxnet.py: Python 3.6, NumPy alone, and annotations as text where it knows no such.

import collections
import zlib

import numpy as np

KINDS = ("expected", "wide", "edges")
MADE_UP = ("wide", "edges")
"""Kinds of draws that nobody asked for, which an engine may refuse."""
WIDER = (10, 3)
"""Times that wide draws are as wide as what is expected: at first, and where that is too much for float32."""
LARGEST = (100, 10)
"""The same of the largest numbers among edges."""
NORMAL = "standard normal"
"""Words for numbers of an input that nothing is known of."""
VANISHED = 1e-4
"""Part of its usual largest number below which an output has vanished: what a sigmoid makes of -40 is a matter of how it rounds."""


class Way(collections.namedtuple("Way", ("kind", "mild"))):
    """The way in which inputs are drawn. kind: one of KINDS. mild: distance from what an engine might refuse or overflow at, 0 to
    2."""

    __slots__ = ()

    def __new__(cls, kind="expected", mild=0):
        return super().__new__(cls, kind, mild)

    @property
    def milder(self):
        """The next milder way; None where there is none."""
        most = {"expected": 0, "wide": 1, "edges": 2}[self.kind]
        return self._replace(mild=self.mild + 1) if self.mild < most else None


EXPECTED = Way()


class OlderGenerator(np.random.RandomState):
    """The part of NumPy's generators that is used here, for NumPy before 1.17: other numbers, drawn in the same way."""

    def random(self, size=None):
        """Evenly from 0 to 1."""
        return self.random_sample(size)

    def integers(self, low, high, size=None):
        """Whole numbers below high."""
        return self.randint(low, high, size)


def generator_of(key):
    """The generator of a seed in several parts."""
    if hasattr(np.random, "default_rng"):
        return np.random.default_rng(key)
    return OlderGenerator(np.array([part % 2**32 for part in key], np.uint32))


class Numbers:
    """The draw of one input; each method gives values, and words for them."""

    def __init__(self, name: str, shape: "tuple[int, ...]", dtype: np.dtype, seed: int, way: Way = EXPECTED) -> None:
        """seed: of the whole set of inputs."""
        self.name, self.shape, self.dtype, self.way = name, shape, dtype, way
        key = [seed, zlib.crc32(name.encode())]
        self.rng = generator_of(key if way.kind == "expected" else [*key, KINDS.index(way.kind), way.mild])

    def real(self, low: float, high: float) -> "tuple[np.ndarray, str]":
        """Evenly from low to high; at the edges every other number is one of the ends."""
        values = self.rng.uniform(low, high, self.shape)
        if self.way.kind != "edges":
            return values, f"evenly from {low:g} to {high:g}"
        ends = [low, high] + ([0.0] if low < 0 < high else [])
        return self.sprinkled(values, ends), ", ".join(f"{e:g}" for e in ends) + " and between"

    def whole(self, low: int, high: int) -> "tuple[np.ndarray, str]":
        """Whole numbers from low to high; at the edges these in turns."""
        if self.way.kind == "edges":
            return self.in_turns([low, high])
        return self.rng.integers(low, high + 1, self.shape), f"whole numbers from {low} to {high}"

    def in_turns(self, ends: "list[int]") -> "tuple[np.ndarray, str]":
        """These, so that few places have the first of them at least."""
        values = np.resize(ends, int(np.prod(self.shape))).reshape(self.shape)
        return values, f"of {', '.join(map(str, sorted(ends)))}"

    def normal(self) -> "tuple[np.ndarray, str]":
        """Standard normal numbers; wider ones; of several magnitudes with zeros."""
        values, mild = np.asarray(self.rng.standard_normal(self.shape)), min(self.way.mild, 1)
        if self.way.kind == "expected":
            return values, NORMAL
        if self.way.kind == "wide":
            return values * WIDER[mild], f"normal, {WIDER[mild]} times wider"
        most = LARGEST[mild]
        values = values * self.rng.choice([0, 1e-4, 1, most], self.shape)
        return self.padded(values), f"zeros, and normal numbers 1e-4 to {most} times as large"

    def sprinkled(self, values: np.ndarray, ends: "list[float]") -> np.ndarray:
        """Every other number, by lot, one of the ends."""
        return np.where(self.rng.random(self.shape) < 0.5, self.rng.choice(ends, self.shape), values)

    def padded(self, values: np.ndarray) -> np.ndarray:
        """Zeros in the last quarter of each row, as sequences and pictures are padded."""
        if values.ndim and values.shape[-1] >= 4:
            values[..., -(values.shape[-1] // 4) :] = 0
        return values


def first_that_runs(case, run, refusal, usual):
    """A case, or the first milder one, that is run; its outputs; and why there is none of them (None, None, words).

    case: has kind, made_up (true where it may be left out) and milder, which makes the case that it gives way to (None where there
    is none). run: outputs by name of a case. refusal: words for an error that run raises where a case is refused, and empty for any
    other error, which is raised again. usual: outputs for inputs as they are expected, beside which others may neither overflow
    nor vanish."""
    current, problem = case, ""
    while current is not None:
        try:
            outputs = run(current)
        except Exception as error:
            problem = refusal(error)
            if not problem or not (current.made_up or current.milder):
                raise
        else:
            problem = out_of_scale(outputs, usual) if current.kind in MADE_UP else ""
            if not problem:
                return current, outputs, ""
        current = None if current.milder is None else current.milder()
    return None, None, problem


def out_of_scale(outputs, usual):
    """Fault of numbers that are compared with those of usual inputs; empty when nothing is."""
    for name, array in outputs.items():
        if name not in usual or not array.size or not usual[name].size or not is_real(array):
            continue
        most, before = (float(np.abs(x.astype(np.float64)).max()) for x in (array, usual[name]))
        if np.isfinite(before) and not np.isfinite(most):
            return name + " overflows"
        if 0 < most < VANISHED * before:
            return name + " vanishes"
    return ""


def is_real(array):
    """True for arrays of floats, bfloat16 of ml_dtypes too, which NumPy does not call a float."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"
