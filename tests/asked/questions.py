"""Tools that the questions of this folder share. A question is a function of (mx, folder) that gives numbers, texts, arrays and
lists and dicts of them; fixtures/make/asked.py asks them in MXNet 1.9.1, test_asked.py here. They draw no random numbers."""

from __future__ import annotations

import contextlib
import logging
import re
import warnings

import numpy as np

QUESTIONS = {}


def ask(function):
    """Register a question as <file>/<function>."""
    QUESTIONS[f"{function.__module__.rpartition('.')[2]}/{function.__name__}"] = function
    return function


def numbers(*shape, seed=0, low=-1.0, high=1.0):
    """Numbers that differ everywhere, float32."""
    random = np.random.RandomState(seed + 31 * len(shape) + sum(shape))
    return random.uniform(low, high, shape).astype(np.float32)


def plain(value):
    """NDArrays, and dicts and lists of them, as NumPy arrays."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.asnumpy() if hasattr(value, "asnumpy") else value


def attempt(call):
    """Result of a call, or the class of what it raises."""
    try:
        return plain(call())
    except Exception as error:
        return {"raises": [c.__name__ for c in type(error).__mro__ if c is not object]}


def answered(call):
    """Result of a call, or that it was refused, to which any answer is right: what MXNet lacks may be here."""
    found = attempt(call)
    return {"refused": found["raises"][0]} if isinstance(found, dict) and "raises" in found else found


def cell(call):
    """Result of a call as a short text: dtype, shape where it has not one dim, numbers to five places; or that it was refused."""
    found = answered(call)
    if isinstance(found, dict):
        return found
    if isinstance(found, list):
        return [cell(lambda part=part: part) for part in found]
    if not isinstance(found, np.ndarray):
        return f"{type(found).__name__} {_digits(found)}" if isinstance(found, (int, float, np.generic)) else str(found)
    shape = "" if found.ndim == 1 else str(list(found.shape)).replace(" ", "")
    return " ".join([found.dtype.name + shape, *map(_digits, found.ravel().tolist())])


def _digits(value):
    if isinstance(value, (bool, np.bool_)):
        return "01"[bool(value)]
    if not isinstance(value, (float, np.floating)):
        return str(value)
    rounded = f"{value:.5f}" if abs(value) < 1e6 else f"{value:.4e}"
    return rounded.removeprefix("-") if rounded.strip("-0.") == "" else rounded


@contextlib.contextmanager
def numpy_mode(mx):
    """MXNet's NumPy mode, within it only."""
    mx.util.set_np()
    try:
        yield mx.np
    finally:
        mx.util.reset_np()


@contextlib.contextmanager
def logged():
    """The lines that are logged meanwhile; times and speeds are replaced by #."""
    lines, logger = [], logging.getLogger()

    class Keeper(logging.Handler):
        def emit(self, record):
            lines.append(re.sub(r"(Time cost=|Speed: )[\d.]+", r"\1#", record.getMessage()))

    keeper, level = Keeper(), logger.level
    logger.addHandler(keeper)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(keeper)
        logger.setLevel(level)


def digest(flat):
    """Four sums over many numbers, to each of which every one counts differently."""
    place = np.arange(1.0, flat.size + 1)
    return (
        np.array([(flat * np.cos(place * turn)).sum() for turn in (0.0, 1.0, 2.3, 0.37 / flat.size)]) / flat.size**0.5
    )


def encoded(value):
    """As JSON holds it: arrays with their shape and dtype, long ones as four sums, numbers to eight digits."""
    if isinstance(value, dict):
        return {str(k): encoded(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [encoded(v) for v in value]
    if isinstance(value, np.ndarray):
        flat = value.ravel()
        if value.size > 12 and np.isfinite(flat).all():
            flat = digest(flat.astype(np.float64))
        digits = [float(f"{v:.8g}") if flat.dtype.kind == "f" else v for v in flat.tolist()]
        return {"array": digits, "shape": list(value.shape), "dtype": value.dtype.name}
    if isinstance(value, np.generic):
        return encoded(value.item())
    if isinstance(value, float):
        return float(f"{value:.8g}")
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def answer(question, mx, folder):
    """Answer to a question, encoded."""
    with warnings.catch_warnings(), mx.name.NameManager():  # automatic names count from 0, whatever ran before
        warnings.simplefilter("ignore")
        return encoded(plain(question(mx, folder)))
