"""Things of the program itself, such as its best score, counters and means of weights, as numbers and arrays, and back.

Things that can be changed are given their content back in their place, so that the program's variables go on meaning them."""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.error import MXNetError
from ..eager.faces import dressed
from ..gluon import Block, Parameter, ParameterDict, Trainer
from ..ndarray import NDArray, array

DEPTH = 20
TRAINED = (Block, Parameter, ParameterDict, Trainer)
"""Kinds that have places of their own in a state."""
CONTAINERS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "deque": deque}


def taken(value: Any, where: str, arrays: dict[str, np.ndarray], depth: int = 0) -> Any:
    """A value as JSON, whose arrays go to ``arrays``. Raises MXNetError, naming the place, for what cannot be kept."""
    if depth > DEPTH:
        raise MXNetError(f"Training: {where}: got more than {DEPTH} things inside one another, or one inside itself")

    def inner(part: Any, name: Any) -> Any:
        return taken(part, f"{where}[{name!r}]", arrays, depth + 1)

    if value is None or (isinstance(value, bool | int | float | str) and type(value).__module__ == "builtins"):
        return value
    if isinstance(value, NDArray):
        return {"is": "NDArray", "array": _put(value.asnumpy(), arrays)}
    if isinstance(value, np.generic):
        return {"is": "number", "array": _put(np.asarray(value), arrays)}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return {"is": "ndarray", "array": _put(value, arrays)}
    if isinstance(value, dict):
        return {"is": "dict", "of": [[inner(k, k), inner(v, k)] for k, v in value.items()]}
    for name, kind in CONTAINERS.items():
        if isinstance(value, kind):
            parts: Any = sorted(value, key=repr) if kind is set else value  # pyright: ignore[reportCallIssue, reportArgumentType]
            return {"is": name, "of": [inner(part, i) for i, part in enumerate(parts)]}
    if isinstance(value, np.random.RandomState):
        return {"is": "RandomState", "of": inner(value.get_state(legacy=True), "state")}
    if isinstance(value, np.random.Generator):
        return {"is": "Generator", "of": inner(value.bit_generator.state, "state")}
    if isinstance(value, random.Random):
        return {"is": "Random", "of": inner(value.getstate(), "state")}
    if isinstance(value, TRAINED):
        raise MXNetError(
            f"Training: {where}: got a {type(value).__name__}; wanted networks as net, trainers as trainer (several in a list)"
        )
    if not hasattr(value, "__dict__") or isinstance(value, type) or (callable(value) and not vars(value)):
        raise MXNetError(
            f"Training: {where}: got a {type(value).__name__}, which cannot be kept; wanted numbers, texts, arrays, generators of "
            "random numbers, containers and objects of these"
        )
    held = {n: v for n, v in vars(value).items() if not (callable(v) and not hasattr(v, "get"))}
    return {
        "is": type(value).__qualname__,
        "of": [[n, taken(v, f"{where}.{n}", arrays, depth + 1)] for n, v in held.items()],
    }


def given_back(value: Any, held: Any, where: str, arrays: Mapping[str, np.ndarray]) -> Any:
    """Give what was taken back in the place of a value of now, which is changed where it can be.

    Raises MXNetError where it is another thing."""
    if not isinstance(held, dict):
        return held
    kind, of = held["is"], held.get("of", ())

    def inner(now: Any, part: Any, name: Any) -> Any:
        return given_back(now, part, f"{where}[{name!r}]", arrays)

    if "array" in held:
        content = arrays[held["array"]]
        if kind == "number":
            return content[()]
        alike = isinstance(value, NDArray if kind == "NDArray" else np.ndarray)
        if alike and tuple(value.shape) == content.shape and np.dtype(value.dtype) == content.dtype:
            value[...] = content
            return value
        return dressed(array(content, dtype=content.dtype)) if kind == "NDArray" else content.copy()
    if kind == "dict":
        now = value if isinstance(value, dict) else {}
        found = {}
        for key, part in of:
            name = inner(None, key, key)
            found[name] = inner(now.get(name), part, name)
        now.clear()
        now.update(found)
        return now
    if kind in CONTAINERS:
        parts = list(value) if isinstance(value, list | tuple | deque) else []
        parts += [None] * (len(of) - len(parts))
        content = [inner(parts[i], part, i) for i, part in enumerate(of)]
        if kind == "tuple" or not isinstance(value, CONTAINERS[kind]):
            return CONTAINERS[kind](content)
        now: Any = value
        now.clear()
        (now.update if kind == "set" else now.extend)(content)
        return value
    if kind == "RandomState" and isinstance(value, np.random.RandomState):
        value.set_state(inner(None, of, "state"))
    elif kind == "Generator" and isinstance(value, np.random.Generator):
        value.bit_generator.state = inner(None, of, "state")
    elif kind == "Random" and isinstance(value, random.Random):
        value.setstate(inner(None, of, "state"))
    elif type(value).__qualname__ == kind:
        for name, part in of:
            setattr(value, name, given_back(vars(value).get(name), part, f"{where}.{name}", arrays))
    else:
        raise MXNetError(
            f"Training: {where}: the state has a {kind} there, and this program a {type(value).__name__}; wanted one of the "
            "same kind, to give it back what it held"
        )
    return value


def _put(content: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    """Put an array among those of the state, under a name that equal ones share."""
    content = np.array(content, order="C")
    said = f"{content.dtype.str}{content.shape}".encode()
    name = hashlib.blake2b(said + content.tobytes(), digest_size=16).hexdigest()
    arrays[name] = content
    return name


def under(prefix: str, found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays whose names begin with a prefix, by what follows it."""
    return {n.removeprefix(prefix): a for n, a in found.items() if n.startswith(prefix)}
