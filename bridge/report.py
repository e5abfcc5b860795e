"""Results as a person reads them: on a terminal, or in a Markdown or HTML file. Machines get ``as_dict`` as JSON instead."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from hybrid.execution.precision_report import PrecisionReport
from hybrid.formats.files import write

from .bench import BenchResult
from .compare import Difference
from .compiling import CompileResult
from .convert import ConvertResult
from .fallbacks import FallbackCount
from .importing import ImportResult
from .inspect import InspectResult, OperatorsResult
from .job import check_target
from .models import BadInput
from .printable import clean, printable
from .recorded import Recording
from .result import VerifyResult

PLAIN: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
"""Names of nodes and files are shown as they are: ``a[0]:x:`` is neither a style nor an emoji."""


STYLES = {"equivalent": "bold green", "says little": "bold yellow", "not equivalent": "bold red"}


def _shape(spec: Mapping[str, Any]) -> str:
    dims = spec.get("shape")
    shape = "shape unknown" if dims is None else " x ".join(map(str, dims)) or "scalar"
    return f"{spec.get('dtype') or 'dtype unknown'} {shape}"


def _facts(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def _size(count: int) -> str:
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _loads(lacking: Sequence[str]) -> str:
    return f"does not load: it lacks {', '.join(lacking)}" if lacking else "loads"


def _differences(differences: Sequence[Difference]) -> RenderableType:
    """The measures of all outputs, and the rules that they are held to."""
    table = Table(box=None, pad_edge=False)
    for column in ("output", "max abs", "needs atol", "max / scale", "cosine", "top-1", "verdict"):
        table.add_column(column, justify="left" if column in ("output", "verdict") else "right")
    for d in differences:
        told = f"equal by {d.settled_by}" if d.settled_by else "equal"
        verdict = Text(told, style="green") if d.equal else Text(d.reason, style="red")
        top1 = "" if d.top1 is None else f"{d.top1:.2%}"
        measures = (f"{d.max_abs:.2e}", f"{d.needs:.2e}", f"{d.max_rel:.2e}", f"{d.cosine:.7f}", top1)
        table.add_row(d.name, *(measures if d.compared else [""] * len(measures)), verdict)
    rules: dict[str, list[str]] = {}
    for d in differences:
        if d.tolerance:
            rules.setdefault(d.tolerance, []).append(d.name)
    lines = [Text(f"|a - b| may be {rule} of |a|: {', '.join(names)}", style="dim") for rule, names in rules.items()]
    return Group(table, *lines)


def _input(given: Mapping[str, Any]) -> str:
    """Shape, dtype and origin of an input, and its name in the second model where that is another."""
    second = f"; {given['second']} in the second" if "second" in given else ""
    return f"{_shape(given)}, {given['from']}{second}"


def _notes(warnings: Sequence[str]) -> list[RenderableType]:
    return [Text(f"note: {w}", style="yellow") for w in warnings]


def convert_table(result: ConvertResult) -> RenderableType:
    """The result of convert as a short table."""
    result = clean(result)
    rows = [(f"input {n}", _shape(s)) for n, s in result.inputs.items()]
    rows += [(f"output {n}", _shape(s)) for n, s in result.outputs.items()]
    if result.pruned:
        rows.append(("left out", f"{', '.join(result.pruned)} (not read at inference)"))
    rows += [
        ("operators", _counts(result.operators)),
        ("opset", str(result.opset)),
        ("parameters", f"{result.parameters:,}"),
        ("seconds", ", ".join(f"{k} {v:.2f}" for k, v in result.seconds.items())),
    ]
    parts: list[RenderableType] = [_facts(rows)]
    if result.verification is not None:
        parts += [Text(), _differences(result.verification.differences)]
    if result.unused:
        shown = ", ".join(result.unused[:5]) + (" ..." if len(result.unused) > 5 else "")
        parts.append(Text(f"note: {len(result.unused)} parameters are not in the graph: {shown}", style="yellow"))
    parts += _notes(result.warnings)
    parts.append(_verdict_line(result, ""))
    return Group(*parts)


def _verdict_line(result: ConvertResult | ImportResult, witness: str) -> Text:
    """The last line: the verdict and the files."""
    found, files = result.verification, " and ".join(result.files)
    verdict = "not verified" if found is None else f"{found.verdict}{witness if found.equivalent else ''}"
    style = "bold" if found is None else STYLES[found.verdict]
    return Text(f"{verdict}{f': wrote {files} ({_size(result.bytes)})' if files else ''}", style=style)


def import_table(result: ImportResult) -> RenderableType:
    """The result of import as a short table."""
    result = clean(result)
    rows = [(f"input {n}", _shape(s)) for n, s in result.inputs.items()]
    rows += [
        ("outputs", ", ".join(result.outputs)),
        ("operators", _counts(result.operators)),
        ("opset", str(result.opset)),
        ("parameters", f"{result.parameters:,}"),
        ("in MXNet 1.9.1", _loads(result.mxnet)),
        ("seconds", ", ".join(f"{k} {v:.2f}" for k, v in result.seconds.items())),
    ]
    parts: list[RenderableType] = [_facts(rows)]
    parts += [Text(f"repaired: {r}", style="yellow") for r in result.repairs]
    if result.verification is not None:
        parts += [Text(), _differences(result.verification.differences)]
    parts += _notes(result.warnings)
    parts.append(_verdict_line(result, f" to {result.witness}"))
    return Group(*parts)


def compile_table(result: CompileResult) -> RenderableType:
    """The result of compile as a short table."""
    result = clean(result)
    rows = [(f"input {n}", _shape(s)) for n, s in result.inputs.items()]
    rows += [
        ("outputs", ", ".join(result.outputs)),
        ("steps", f"{result.steps}, {result.packed} with packed weights, for CPU level {result.level}"),
        ("seconds", f"{result.seconds:.2f}"),
        ("file", f"{result.file}, {_size(result.bytes)}"),
    ]
    return _facts(rows)


def verify_table(result: VerifyResult) -> RenderableType:
    """The result of verify; where the models part, if they do."""
    result = clean(result)
    parts: list[RenderableType] = [
        Text(f"{result.a} against {result.b}, {len(result.runs)} run(s), {result.seconds:.2f} s")
    ]
    if result.runs:
        parts.append(
            _facts([(f"input {name}", _input(given)) for name, given in result.runs[0].get("inputs", {}).items()])
        )
    parts += [_differences(result.differences), *_notes(result.warnings)]
    found = result.divergence
    if found is not None:
        parts.append(
            Text(f"first difference at node {found.node} ({found.operator}), tensor {found.tensor}", style="bold red")
        )
        rows = [
            (kind, f"max abs {d.max_abs:.2e}, {d.reason or 'within tolerance'}" if d.compared else d.reason)
            for kind, d in (("accumulated", found.accumulated), ("local", found.local))
            if d is not None
        ]
        meaning = {
            "local": "this node computes something else from the same inputs",
            "accumulated": "the node is right by itself; what differs has grown before it (--atol, --rtol accept it), "
            "or swapped near ties if the node ranks or selects (try another --seed, and verify what it reads: --outputs)",
            "unknown": "the node could not be run alone",
        }
        rows.append(("so", meaning[found.kind]))
        rows += [(f"input {n}", ", ".join(f"{k} {v}" for k, v in s.items())) for n, s in found.inputs.items()]
        parts.append(_facts(rows))
    if result.repro:
        parts.append(Text(f"reproduction in {result.repro}"))
    if result.inner:
        parts.append(Text(f"{result.inner} tensors inside were computed by both from the same values"))
    parts.append(Text(result.verdict, style=STYLES[result.verdict]))
    return Group(*parts)


def recording_table(recording: Recording) -> RenderableType:
    """A recording: who made it, from which inputs, and where it is."""
    told = clean(recording.as_dict())
    rows = []
    for number, each in enumerate(told["runs"]):
        run = f" of run {number}" if len(told["runs"]) > 1 else ""
        rows += [(f"{kind[:-1]} {n}{run}", _shape(s)) for kind, named in each.items() for n, s in named.items()]
    rows += [("recorded by", printable(recording.by)), ("file", str(told["file"] or "none"))]
    return _facts(rows)


def inspect_table(result: InspectResult) -> RenderableType:
    """A model's inside and what keeps it from converting."""
    result = clean(result)
    rows = [(f"input {n}", _shape(s)) for n, s in result.inputs.items()]
    rows += [(f"output {n}", _shape(s)) for n, s in result.outputs.items()]
    if result.labels:
        rows.append(("labels", f"{', '.join(result.labels)} (not read at inference)"))
    rows += [
        ("parameters", f"{result.parameters:,} ({_size(result.parameter_bytes)}; {_counts(result.dtypes)})"),
        ("operators", _counts(result.operators)),
    ]
    rows.append(("in MXNet 1.9.1", _loads(result.mxnet)))
    if result.missing:
        rows.append(("missing", ", ".join(result.missing)))
    if result.unused:
        rows.append(("unused", ", ".join(result.unused)))
    parts: list[RenderableType] = [
        Text(f"{result.model} ({result.kind}, opset {result.opset})", style="bold"),
        _facts(rows),
    ]
    parts += [Text(f"to repair: {r}", style="yellow") for r in result.repairs]
    if result.problems:
        table = Table(title=f"{len(result.problems)} do not convert", title_justify="left", box=None, pad_edge=False)
        for column in ("node", "operator", "reason"):
            table.add_column(column, overflow="fold")
        for problem in result.problems:
            table.add_row(*problem)
        parts += [Text(), table]
    elif result.checked == "whole":
        parts.append(Text("every node converts", style="bold green"))
    elif result.checked:
        parts.append(Text("every operator is known; give input shapes (--input) to try every node", style="green"))
    if result.fallbacks is not None:
        parts += _fallbacks(result.fallbacks)
    return Group(*parts)


def _fallbacks(found: Sequence[FallbackCount]) -> list[RenderableType]:
    """A table of what NumPy computes, or a line that there is nothing."""
    if not found:
        return [Text("every step has a kernel", style="green")]
    total = sum(f.count for f in found)
    table = Table(box=None, pad_edge=False)
    for column in ("operator", "steps", "why"):
        table.add_column(column, overflow="fold")
    for f in found:
        table.add_row(Text(f.operator), str(f.count), Text(f.why))
    return [Text(), Text(f"computed by NumPy, of all steps: {total}", style="yellow"), table]


def operators_table(result: OperatorsResult) -> RenderableType:
    """The table of operators."""
    result = clean(result)
    table = Table(box=None, pad_edge=False)
    for column in ("operator", "other names", "gradient", "kernel", "ONNX", "refused", "from ONNX"):
        table.add_column(column, overflow="fold")
    for row in result.operators:
        said = ", ".join(map(str, row.opsets)) or f"no: {row.reason}"
        cells = (row.name, ", ".join(row.aliases), row.gradient, row.kernel, said, "; ".join(row.refused))
        table.add_row(*map(Text, cells), Text(", ".join(row.read)))
    if not result.absent:
        return table
    missing = Table(title=f"{len(result.absent)} are not here", title_justify="left", box=None, pad_edge=False)
    for column in ("operator", "why"):
        missing.add_column(column, overflow="fold")
    for name, reason in sorted(result.absent.items()):
        missing.add_row(Text(name), Text(reason))
    return Group(table, Text(), missing)


def bench_table(results: Sequence[BenchResult]) -> RenderableType:
    """Table of how fast models run, and the steps of those that were profiled."""
    results = clean(list(results))
    table = Table(box=None, pad_edge=False)
    for column in (
        "model",
        "inputs",
        "threads",
        *(f"{e} ms" for e in results[0].seconds),
        "ratio",
        "max rel",
        "verdict",
    ):
        table.add_column(column, justify="left" if column in ("model", "inputs", "verdict") else "right")
    for r in results:
        times = [f"{t['median'] * 1e3:.4g} ({t['low'] * 1e3:.4g}-{t['high'] * 1e3:.4g})" for t in r.seconds.values()]
        sizes = ", ".join(f"{n} {'x'.join(map(str, s)) or 'scalar'}" for n, s in r.inputs.items())
        wrong = next((d.reason for d in r.differences if not d.equal), "")
        verdict = Text(f"differs: {wrong}", style="red") if wrong else Text("equal", style="green")
        worst = max((d.max_rel for d in r.differences), default=0.0)
        table.add_row(Text(r.model), sizes, str(r.threads), *times, f"{r.ratio:.2f}", f"{worst:.1e}", verdict)
    parts: list[RenderableType] = [table]
    for r in results:
        if r.steps:
            parts += [Text(), _steps(r)]
        if r.precision is not None:
            parts += _precision(r.precision)
        if r.fallbacks:
            parts += _fallbacks(r.fallbacks)
        parts += _notes(r.warnings)
    return Group(*parts)


def _precision(cost: PrecisionReport) -> list[RenderableType]:
    """Costs of a precision, layer by layer."""
    cost = clean(cost)
    rows = [
        (printable(o.output), f"largest error {o.error:.2e} of its largest number, mean {o.mean:.2e}")
        for o in cost.outputs
    ]
    parts: list[RenderableType] = [
        Text(),
        Text(f"weights as {cost.precision}, beside float32 on these inputs"),
        _facts(rows),
    ]
    if not cost.layers:
        return [*parts, Text("no product has constant weights that are held so")]
    table = Table(box=None, pad_edge=False)
    for column in ("weights lose", "operator", "weights", "node"):
        table.add_column(column, justify="right" if column == "weights lose" else "left")
    for r in cost.layers:
        table.add_row(f"{r.error:.2e}", r.operator, "x".join(map(str, r.shape)), Text(r.node))
    return [*parts, table]


def _steps(result: BenchResult) -> RenderableType:
    """The steps of a profiled model, the slowest first."""
    assert result.peak is not None
    total = sum(s.seconds for s in result.steps)
    table = Table(
        title=f"{result.model}: {len(result.steps)} steps, {total * 1e3:.4g} ms one by one; "
        f"the machine reaches {result.peak.flops / 1e9:.0f} GF/s and {result.peak.bytes / 1e9:.1f} GB/s",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for column in ("us", "share", "operator", "kernel", "output", "GF/s", "GB/s", "of peak", "node"):
        table.add_column(column, justify="left" if column in ("operator", "kernel", "output", "node") else "right")
    for s in sorted(result.steps, key=lambda s: -s.seconds):
        sizes = "x".join(map(str, s.shape)) or "scalar"
        rates = (f"{s.gflops:.1f}", f"{s.gbytes:.1f}", f"{s.of_peak:.0%}") if s.gflops else ("", f"{s.gbytes:.1f}", "")
        table.add_row(
            f"{s.seconds * 1e6:.1f}", f"{s.share:.1%}", s.operator, Text(s.kernel), sizes, *rates, Text(s.node)
        )
    return table


def arrays(results: Mapping[str, Any], cost: PrecisionReport | None = None) -> RenderableType:
    """Outputs of a run by name, shape and range, and what a precision costs."""
    rows = []
    for name, value in results.items():
        span = f", {value.min():.6g} to {value.max():.6g}" if value.size and value.dtype.kind in "fiu" else ""
        rows.append((printable(name), f"{value.dtype} {' x '.join(map(str, value.shape)) or 'scalar'}{span}"))
    return _facts(rows) if cost is None else Group(_facts(rows), *_precision(cost))


def check_path(path: Path) -> None:
    """Raise BadInput when no report can be written there."""
    if path.suffix not in (".md", ".html"):
        raise BadInput(f"report {path}: wanted a file that ends in .md or .html")
    check_target(path)


def save(renderable: RenderableType, path: Path, command: str) -> None:
    """Write a report with the command that repeats it: HTML or Markdown, by the file's ending."""
    console = Console(record=True, file=io.StringIO(), width=120, **PLAIN)
    if path.suffix == ".html":
        console.print(Text(f"$ {printable(command)}\n", style="bold"))
    console.print(renderable)
    if path.suffix == ".html":
        text = console.export_html()
    else:
        body = "\n".join(line.rstrip() for line in console.export_text().splitlines())
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command + body)), default=0))  # names may hold fences
        text = f"# gluonnx\n\n{fence}bash\n{printable(command)}\n{fence}\n\n{fence}text\n{body}\n{fence}\n"
    write(path, text)


def show(renderable: RenderableType) -> None:
    """Print to standard output; in a pipe without colours and without folding to a guessed width."""
    console = Console(**PLAIN)
    if console.is_terminal:
        console.print(renderable)
        return
    console = Console(width=10_000, **PLAIN)
    with console.capture() as captured:
        console.print(renderable)
    for line in captured.get().splitlines():
        print(line.rstrip())
