"""Operator -> converter registry: from MXNet operators to the functions that write them as ONNX, and from ONNX operators to those
that read them. Functions are named for what they convert, so that they can be searched for and show in tracebacks.

    @exports("clip")
    def export_clip(b, op, data):
        return b.Clip(data, op.a_min, op.a_max)

``b`` is the Builder, ``op`` the typed operator, then one Value per input (op.input_names()); the result is a Value or a tuple of
them, one per output (those after the visible ones may be left out). A translation that depends on the opset is
registered once per ``since``; the newest not above the model's opset is taken. What ONNX cannot say has an entry in
NOT_EXPORTED with the reason, or raises Unsupported for the attributes in question.

    @imports("Clip", since=11)
    def import_clip(g, x, min=None, max=None):
        ...
        return g.clip(x, a_min=..., a_max=...)

``g`` is the Importer; then one Value per input, None for those left out; keyword-only parameters are the ONNX attributes by name,
with ONNX's defaults (those without a default are required). The newest ``since`` not above the model's opset is taken.

``passthrough("Gelu", since=20)`` says both for an operator of the family ``_onnx_``: it is read and written as it stands.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hybrid.core.op import FAMILY, Op
from hybrid.core.tables import Table

OLDEST = 7
"""The oldest opset that is written: the first whose operators broadcast as NumPy's do, and that onnxruntime reads."""

TRANSLATIONS = "converters.ops"
"""The package whose modules fill the tables."""

Handler = Callable[..., Any]
EXPORT: Table[str, dict[int, Handler]] = Table(TRANSLATIONS)
NOT_EXPORTED: Table[str, str] = Table(TRANSLATIONS)
EVERY: list[Callable[[str, type[Op]], None]] = []
"""Functions that say of any operator by its class how it is exported, called for all once all modules are there."""


def exports(*names: str, since: int = OLDEST) -> Callable[[Handler], Handler]:
    """Register a translation for MXNet operators (canonical names), valid from an opset on."""

    def register(handler: Handler) -> Handler:
        for name in names:
            versions = EXPORT.setdefault(name, {})
            if since in versions:
                raise TypeError(f"{name}: exported twice since opset {since}")
            versions[since] = handler
        return handler

    return register


CUSTOM: dict[str, Handler] = {}
"""Translations of operators that users have written in Python, by their op_type."""


def exports_custom(op_type: str) -> Callable[[Handler], Handler]:
    """Register a translation of a custom operator (``mx.operator.register(op_type)``): ``handler(b, op, *inputs)`` as for others,
    where ``op.texts`` holds the attributes as texts."""

    def register(handler: Handler) -> Handler:
        CUSTOM[op_type] = handler
        EXPORT.setdefault("Custom", {}).setdefault(OLDEST, _export_custom)
        return handler

    return register


def _export_custom(b: Any, op: Any, *inputs: Any) -> Any:
    from .error import Unsupported

    if op.op_type not in CUSTOM:
        raise Unsupported(
            f"{op.op_type!r} has no translation; register one with converters.registry.exports_custom({op.op_type!r}), in a file "
            "that commands take as --plugin (docs/plugins.md)"
        )
    return CUSTOM[op.op_type](b, op, *inputs)


def for_every_operator(tell: Callable[[str, type[Op]], None]) -> None:
    """Register a function that registers what it knows to translate, of a name and the operator."""
    EVERY.append(tell)


def one_to_one(**pairs: str) -> None:
    """Operators whose ONNX counterpart takes the same inputs and no attributes: MXNet name = ONNX name."""
    for name, onnx_name in pairs.items():
        exports(name)(_same(onnx_name))


def _same(onnx_name: str) -> Handler:
    def handler(b: Any, op: Any, *inputs: Any) -> Any:
        return b.node(onnx_name, *inputs)

    return handler


def not_exported(reason: str, *names: str) -> None:
    """Say why operators have no translation."""
    for name in names:
        NOT_EXPORTED[name] = reason


def export_handler(name: str, opset: int) -> Handler | None:
    """The translation of an operator at an opset; None when there is none (never an older meaning by accident)."""
    versions = [v for v in EXPORT.get(name, {}) if v <= opset]
    return EXPORT[name][max(versions)] if versions else None


# -- reading ----------------------------------------------------------------------------------------------------------

ML, TRAINING, MS = "ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft"
"""The domains beside the standard's own; the last is onnxruntime's, of which onnx has no schemas."""
_FAMILIES = {"": FAMILY, ML: "_onnx_ml_", TRAINING: "_onnx_training_", MS: "_onnx_ms_"}
STANDARD = frozenset(_FAMILIES)
"""Domains that are not a user's."""

IMPORT: Table[tuple[str, str], dict[int, ImportHandler]] = Table(TRANSLATIONS)
"""By (domain, operator): the functions that read it, by the opset from which they hold."""
NOT_IMPORTED: Table[tuple[str, str], str] = Table(TRANSLATIONS)
"""Operators of the ONNX standard that are not read, with the reason."""
PASSTHROUGH: Table[str, tuple[str, str]] = Table(TRANSLATIONS)
"""Operators of the family by name: the (domain, operator) that they are."""


_TYPES = {int: "INT", float: "FLOAT", str: "STRING", tuple: "FLOATS"}


class ImportHandler(NamedTuple):
    """A function that reads an ONNX operator, and what its signature says."""

    handler: Handler
    attributes: frozenset[str]
    """Attributes it takes."""
    required: frozenset[str]
    types: dict[str, str]
    """The types of attributes as their defaults tell them, for operators that onnx has no schemas of."""
    everything: bool
    """True when it takes attributes of any name."""
    least: int
    """Least number of inputs,"""
    most: int | None
    """and at most; None for any number."""

    @classmethod
    def of(cls, handler: Handler) -> ImportHandler:
        parameters = list(inspect.signature(handler).parameters.values())[1:]
        named = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        return cls(
            handler,
            frozenset(p.name for p in named),
            frozenset(p.name for p in named if p.default is p.empty),
            {p.name: _TYPES[type(p.default)] for p in named if type(p.default) in _TYPES},
            any(p.kind is p.VAR_KEYWORD for p in parameters),
            sum(p.default is p.empty for p in positional),
            None if variadic else len(positional),
        )


def imports(*names: str, since: int = 1, domain: str = "") -> Callable[[Handler], Handler]:
    """Register a function that reads ONNX operators of a domain, valid from an opset (of that domain) on."""

    def register(handler: Handler) -> Handler:
        reading = ImportHandler.of(handler)
        for name in names:
            versions = IMPORT.setdefault((domain, name), {})
            if since in versions:
                raise TypeError(f"{name}: imported twice since opset {since}")
            versions[since] = reading
        return handler

    return register


def family_name(name: str, domain: str = "") -> str:
    """Name of the operator of the family that stands for an ONNX operator."""
    return _FAMILIES.get(domain, f"{FAMILY}{domain.replace('.', '_')}_") + name


def passthrough(*names: str, since: int = 1, domain: str = "", read: bool = True, write: bool = True) -> None:
    """Operators of the family that are read, from an opset on, as they stand, and written so (unless ``read`` or ``write`` is off
    because a translation of its own is registered)."""
    for name in names:
        if read:
            imports(name, since=since, domain=domain)(_keep)
        own = family_name(name, domain)
        first = not PASSTHROUGH.taken(own)
        PASSTHROUGH.setdefault(own, (domain, name))
        if write and first:
            exports(own, since=max(OLDEST, since if not domain else 1))(functools.partial(_write, domain, name))


def _keep(g: Any, *inputs: Any, **attributes: Any) -> Any:
    return g.passthrough(*inputs, **attributes)


def _write(domain: str, name: str, b: Any, op: Any, *inputs: Any) -> Any:
    return b.passthrough(domain, name, op, inputs)


def not_imported(reason: str, *names: str, domain: str = "") -> None:
    """Say why ONNX operators are not read."""
    for name in names:
        NOT_IMPORTED[domain, name] = reason


def import_handler(domain: str, name: str, opset: int) -> ImportHandler | None:
    """Find the function that reads an ONNX operator at an opset; None when there is none (never an older meaning by
    accident)."""
    versions = [v for v in IMPORT.get((domain, name), {}) if v <= opset]
    return IMPORT[domain, name][max(versions)] if versions else None


def earlier_import_handler(domain: str, name: str, opset: int, attributes: Iterable[str]) -> ImportHandler | None:
    """Find the newest function that reads an ONNX operator with these attributes at an older opset; None when none does."""
    readings = IMPORT.get((domain, name), {})
    fitting = [v for v, reading in readings.items() if v < opset and reading.attributes.issuperset(attributes)]
    return readings[max(fitting)] if fitting else None
