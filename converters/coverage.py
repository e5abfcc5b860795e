"""The tables of operators: what the engine has, what of it is written as ONNX, what of ONNX is read. Derived from the registries
and from the classes; nothing of it depends on what is compiled here.

``python -m converters.coverage > docs/operators.md`` writes it anew.
"""

from __future__ import annotations

import dis
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import onnx

import hybrid.native
from hybrid.core.error import MXNetError
from hybrid.core.examples import Maker
from hybrid.core.op import BACKWARD, FUSED, OPS, Op, Spec
from hybrid.core.unread import perhaps_unread
from hybrid.ir.compose import COMPOSITION, core_kind_of, parts
from hybrid.ir.differentiate import rule as gradient_rule
from hybrid.ops import absent
from hybrid.ops.binary import BinaryOp
from hybrid.ops.elementwise import Identity, IdentityLike, Unary
from hybrid.ops.shape import Reshaping
from hybrid.passes import elementwise_code

from . import oldest, ops  # noqa: F401  ops fills EXPORT
from .compositions import export_composition
from .registry import EXPORT, IMPORT, NOT_EXPORTED, NOT_IMPORTED
from .static_support import HOLE, refusals, results

YES, ZERO, NO, NONE = "yes", "zero", "no", "-"
"""Gradients: a rule; a rule that says that all are zero; none, asking for one is an error; nothing to have one for."""


class Row(NamedTuple):
    """One operator."""

    name: str
    aliases: tuple[str, ...]
    gradient: str
    kernel: str
    """Kernel of the compiled part: dtypes, "all" for all that there are, "chain" for chains of element-wise
    operators in float32, "nothing to do" where memory is only renamed; empty where NumPy is called back."""
    opsets: tuple[int, ...]
    """The oldest opset at which it is written, and where that is another, the one from which all is that ONNX has words for: its
    examples. Then those from which newer translations hold. Empty when there is none."""
    reason: str
    """Reason why there is none."""
    refused: tuple[str, ...]
    """Refusals of the translation, HOLE for values."""
    read: tuple[str, ...]
    """ONNX operators that become it, or end in it."""

    def as_dict(self) -> dict[str, Any]:
        return self._asdict()


def rows() -> list[Row]:
    """Every operator, by name."""
    kernels, readers = _kernels(), _readers()
    return [
        Row(
            name,
            cls.aliases,
            gradient_of(cls),
            _kernel(cls, kernels),
            opsets_of(name),
            NOT_EXPORTED.get(name, ""),
            _refused(name, cls),
            tuple(readers.get(name, ())),
        )
        for name, cls in sorted(OPS.items(), key=lambda item: item[0].lower())
    ]


def opsets_of(name: str) -> tuple[int, ...]:
    """Opsets from which an operator is written, oldest first; those of plugins as they are registered."""
    found = oldest.recorded().get(name, ())
    return tuple(sorted({*found, *(v for v in EXPORT.get(name, ()) if not found or v > found[-1])}))


def _refused(name: str, cls: type[Op]) -> tuple[str, ...]:
    """Refusals of the translations of an operator; where it is written as its composition, those of what that is made of too."""
    handlers = [h for h in EXPORT.get(name, {}).values() if h is not export_composition]
    inner = made_of(cls) if len(handlers) < len(EXPORT.get(name, {})) else ()
    own = [text for handler in handlers for text in refusals(handler, name)]
    return tuple(dict.fromkeys((*own, *(text for part in inner for text in _refused(part, OPS[part])))))


def gradient_of(cls: Any) -> str:
    """Classify the gradient of a class; with some attributes an operator may have less."""
    rule = cls.gradient
    if not cls.inputs:
        return NONE
    if rule is Op.gradient and core_kind_of(cls) is COMPOSITION:
        return _derived_gradient(cls)
    if rule is Op.gradient or (rule is Unary.gradient and cls.unary_function.derivative is None):  # type: ignore[attr-defined]
        return NO
    if cls.means(BinaryOp) and not (cls.arithmetic.left or cls.arithmetic.right):
        return ZERO
    done = {i.opname for i in dis.get_instructions(rule)}
    if not any(name.startswith("RETURN") for name in done):  # it only raises
        return NO
    return ZERO if done <= {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"} else YES


def _derived_gradient(cls: type[Op]) -> str:
    """Gradient that follows from a composition, of the examples that have one whatever the inputs."""
    found = set()
    for example in cls.examples(Maker(cls)):
        try:
            found.add(YES if gradient_rule(example.op).inputs else ZERO)
        except MXNetError:
            found.add(NO)
    return next((kind for kind in (YES, ZERO) if kind in found), NO)


def made_of(cls: type[Op]) -> tuple[str, ...]:
    """The operators that a composition is made of, in its examples, one step down."""
    found = [
        part.name
        for op, arrays in cls.examples(Maker(cls))
        for part in parts(op, [Spec(a.shape, a.dtype) for a in arrays])
    ]
    return tuple(dict.fromkeys(found))


# -- kernels ----------------------------------------------------------------------------------------------------------

LISTED = Path(hybrid.native.__file__).parent / "src" / "kernels" / "kernels.inc"
_KERNEL = re.compile(r'^KERNEL(?:_(ANY|NUMBERS))?\("(\w+)"(?:, "(\w+)")?', re.MULTILINE)
_SEVERAL = {"ANY": ["all"], "NUMBERS": ["bool", "float32", "float64", "int32", "int64", "int8", "uint8"]}


def _kernels() -> dict[str, list[str]]:
    """Dtypes by operator: from the list of the sources, which an installed package lacks; that goes by what is compiled."""
    found = defaultdict(list)
    if LISTED.is_file():
        for several, name, dtype in _KERNEL.findall(LISTED.read_text()):
            found[name] += _SEVERAL[several] if several else [dtype]
        return found
    for name, dtype in sorted(hybrid.native.kernels()):
        found[name].append(dtype)
    return {n: ["all"] if "opaque1" in dtypes else dtypes for n, dtypes in found.items()}


def _kernel(cls: type[Op], kernels: dict[str, list[str]]) -> str:
    if cls.name in kernels:
        return ", ".join(sorted(kernels[cls.name]))
    if cls.means(Reshaping, Identity, IdentityLike):
        return "nothing to do"
    return "chain" if f"{FUSED}chain" in kernels and elementwise_code.has_opcodes(cls) else ""


# -- reading ----------------------------------------------------------------------------------------------------------


def _readers() -> dict[str, list[str]]:
    """By operator: the ONNX operators that end in it."""
    found: dict[str, list[str]] = defaultdict(list)
    for (domain, name), versions in sorted(IMPORT.items()):
        label = f"{domain}.{name}" if domain else name
        for made in sorted({m for reading in versions.values() for m in results(reading.handler, name, domain)}):
            found[made].append(label)
    return found


def unread_operators() -> list[tuple[str, str]]:
    """Operators of the installed onnx that are neither read, nor defined by others, nor refused with a reason."""
    known = {*IMPORT, *NOT_IMPORTED}
    schemas: Any = onnx.defs.get_all_schemas()
    basic = {(s.domain, s.name) for s in schemas if not (s.has_function or s.has_context_dependent_function)}
    return sorted(basic - known)


# -- the document -----------------------------------------------------------------------------------------------------


def markdown() -> str:
    """The tables as docs/operators.md holds them."""
    table = rows()
    written, derived, zero = (
        sum(bool(r.opsets) for r in table), sum(r.gradient == YES for r in table), sum(r.gradient == ZERO for r in table),
    )  # fmt: skip
    lines = [
        "# Operators",
        "",
        "Written by `python -m converters.coverage > docs/operators.md`; a test compares it with the code. As JSON, for the",
        "installed version: `gluonnx inspect --operators --json`.",
        "",
        f"{len(table)} operators: all run in the engine, {derived} have a gradient ({zero} more have one that is zero everywhere),",
        f"{written} convert to ONNX.",
        "",
        "- *gradient*: `zero` if it is zero everywhere, `no` if asking for it is an error, `-` for operators without inputs.",
        "- *kernel*: whether a compiled kernel computes it, and for which dtypes of the first input (`all`: any). `chain`: fused",
        "  with other element-wise operators, in float32. `nothing to do`: the memory is reused. Empty: NumPy computes it.",
        "- *ONNX from opset*: the oldest opset that can express it. If there are several: the oldest for some attributes, the",
        "  oldest for all of them, and those with a better form. For opsets below 13 give `--opset`.",
        f"- *refused*: cases that do not convert, with `{HOLE}` for values. `gluonnx inspect` lists the nodes of a model that do",
        "  not convert, with reasons. A size that is needed as a number must not be dynamic either. Operators that are converted",
        "  as a combination of others ([core.md](core.md)) do not convert for all dtypes and sizes.",
        "- *from ONNX*: ONNX operators that become it, or a combination with it, on import.",
        "",
        "| operator | other names | gradient | kernel | ONNX from opset | refused | from ONNX |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table:
        said = ", ".join(map(str, row.opsets)) or f"no: {row.reason}"
        cells = (_code([row.name]), _code(row.aliases), row.gradient, row.kernel, said, "; ".join(row.refused))
        lines.append(f"| {' | '.join((*map(_cell, cells), _cell(_code(row.read))))} |")
    return "\n".join([*lines, *_absent(), *_read()]) + "\n"


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _absent() -> list[str]:
    """The table of MXNet's operators that are not defined here."""
    lines = [
        "",
        "## Operators of MXNet 1.9.1 that are not here",
        "",
        f"Those that MXNet registers, beside the parts of gradients (`{BACKWARD}...`), which are its own affair.",
        "",
        "| operator | why |",
        "|---|---|",
    ]
    return [*lines, *(f"| `{name}` | {_cell(reason)} |" for name, reason in sorted(absent.ABSENT.items()))]


def _read() -> list[str]:
    """The table of ONNX operators that are read."""
    lines = [
        "",
        "## ONNX operators",
        "",
        f"{len(IMPORT)} operators are read. A version of an operator is read by what holds from the newest opset not above it. "
        "Those that",
        "ONNX itself defines by others and that are not in the table are read as these. Operators that MXNet lacks, or has in a",
        "narrower form, become operators of the family `_onnx_` ([decision 0011](decisions/0011-the-family-onnx.md)).",
        "What of ONNX's own tests does not pass: [backend-suite.md](backend-suite.md).",
        "",
        "| domain | operator | read from opset |",
        "|---|---|---|",
    ]
    for domain, name in sorted({*IMPORT, *NOT_IMPORTED}):
        since = ", ".join(map(str, sorted(IMPORT.get((domain, name), ()))))
        lines.append(f"| {domain} | `{name}` | {since or f'no: {NOT_IMPORTED[domain, name]}'} |")
    return lines


if __name__ == "__main__":
    with perhaps_unread():
        print(markdown(), end="")
