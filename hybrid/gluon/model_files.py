"""``Block.save`` and ``Block.load``: the names of all blocks and the graphs they were traced to, as JSON.

Blocks are told apart by their class and by the order in which a walk meets them, so a network that is to be loaded must
have been made as the saved one was.
"""

from __future__ import annotations

import itertools
import json
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Protocol

from .. import ndarray, symbol
from ..core.error import FormatError
from ..formats import pairs
from ..formats.files import read


class Stored(Protocol):
    """A block as the files hold it: name, children, parameters and trace."""

    _children: OrderedDict[str, Any]

    @property
    def name(self) -> str: ...

    def _trace_description(self) -> dict[str, Any]: ...

    def _parameters_to_save(self) -> dict[str, ndarray.NDArray]: ...

    def load_parameters(self, filename: Any) -> None: ...


def save(block: Stored, prefix: str) -> None:
    """Write ``PREFIX-model.json`` and ``PREFIX-model.params``."""
    structure: dict[str, Any] = {}
    _describe(block, itertools.count(), structure)
    descriptions = {f"{prefix}-model.json": lambda more: json.dumps({**structure, "attrs": more})}
    pairs.save(descriptions, f"{prefix}-model.params", ndarray.to_stored(block._parameters_to_save()))


def _key(block: Stored, numbers: Iterator[int]) -> str:
    return f"{type(block).__name__.lower()}{next(numbers)}"


def _describe(block: Stored, numbers: Iterator[int], structure: dict[str, Any]) -> None:
    own: dict[str, Any] = {"orig_name": block.name}
    structure[_key(block, numbers)] = own
    own.update(block._trace_description())
    own["children"] = {child.name: key for key, child in block._children.items()}
    for child in block._children.values():
        _describe(child, numbers, own)


def load(block: Stored, prefix: str) -> None:
    """Read what save wrote. Raises FormatError for a file that is none, or of another network."""
    path = f"{prefix}-model.json"
    try:
        _restore(block, itertools.count(), json.loads(read(path)))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: {error}; wanted what Block.save wrote") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            f"{path}: speaks of other blocks ({type(error).__name__} {error}); make the network as the saved one was"
        ) from error
    pairs.check(path, f"{prefix}-model.params")
    block.load_parameters(f"{prefix}-model.params")


def _restore(block: Any, numbers: Iterator[int], structure: dict[str, Any]) -> None:
    own = structure[_key(block, numbers)]
    block._name = own["orig_name"]
    if own.get("hybridized"):
        inputs = [symbol.load_json(text) for text in own["inputs"]]
        block._restore_trace(inputs, symbol.load_json(own["symbol"]), own["in_format"], own["out_format"])
    parameters = block.params
    renamed = {f"{block.name}_{n[len(parameters.prefix) :]}": p for n, p in parameters.items()}
    parameters._params = OrderedDict(renamed)
    for child in block._children.values():
        _restore(child, numbers, own)
    block._children = OrderedDict((own["children"][child.name], child) for child in block._children.values())
