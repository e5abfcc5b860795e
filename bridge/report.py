"""Pages of results, one for each command, in the face that is asked for: text, Markdown, HTML or JSON."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from hybrid.execution.precision_report import PrecisionReport
from hybrid.formats.files import write

from .bench import BenchResult
from .compiling import CompileResult
from .convert import ConvertResult
from .faces import data, html, markdown
from .faces.blocks import TONES, Block, Brief, Column, Facts, Grid, Line, Page
from .faces.text import PLAIN, render
from .faces.words import basis, beside, shape, spec
from .fallbacks import FallbackCount
from .importing import ImportResult
from .inspect import InspectResult, NodesResult, OperatorsResult
from .job import check_target
from .models import BadInput
from .paths import bytes_text, listed
from .pipeline.detections import ROWS
from .pipeline.labels import ranked
from .printable import clean, printable
from .recorded import Recording, own_version
from .result import VerifyResult
from .serving.deploy import DeployResult
from .sharing import shared_words, training_words
from .targets.deployed import AGREES, FITS, Outcome

__all__ = ["PLAIN"]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


SHOWN_PARAMETERS = 8
"""Names of parameters that a table shows of many."""


def _loads(lacking: Sequence[str], imported: bool = True) -> str:
    """Words for whether MXNet loads a symbol. imported: False for what a file would become, which is none yet."""
    if lacking and not imported:
        return f"would not load if it was imported, as it lacks {', '.join(lacking)}; gluonnx runs it"
    return f"does not load: it lacks {', '.join(lacking)}" if lacking else "loads"


def _notes(warnings: Sequence[str]) -> list[Block]:
    return [Line(f"note: {w}", "warn") for w in warnings]


def convert_table(result: ConvertResult, alone: bool = True) -> Page:
    """The result of convert as a short table. alone: False where what is around it says what was read, taken and written."""
    result = clean(result)
    rows = [("read", " and ".join(result.read))] if result.read and alone else []
    rows += [(f"{kind} {n}", spec(s)) for kind, n, s in _sides(result) if alone]
    if result.left_out:
        rows.append(("left out", _left_out(result.left_out)))
    if result.pruned:
        rows.append(("left out", f"{', '.join(result.pruned)} (not read at inference)"))
    rows += [
        ("operators", _counts(result.operators)),
        ("opset", str(result.opset)),
        ("parameters", f"{result.parameters:,}"),
        ("seconds", ", ".join(f"{k} {v:.2f}" for k, v in result.seconds.items())),
    ]
    rows += [(f"sha256 {name}", digest) for name, digest in result.sha256.items() if alone]
    parts: list[Block] = [Facts(rows)]
    if result.verification is not None:
        parts += [Line(""), *_compared(result), Brief(result.verification)]
    parts += outcome_lines(result.targets)
    if result.unused:
        shown = ", ".join(result.unused[:5]) + (" ..." if len(result.unused) > 5 else "")
        parts.append(Line(f"note: {len(result.unused)} parameters are not in the graph: {shown}", "warn"))
    parts += _accuracy(result, True, notes=alone)
    parts += _notes(result.warnings) if alone else []
    return _page(result, parts, _rewritten(result))


def _sides(result: ConvertResult) -> list[tuple[str, str, dict[str, Any]]]:
    sides = (("input", result.inputs), ("output", result.outputs))
    return [(kind, name, found) for kind, part in sides for name, found in part.items()]


def _compared(result: ConvertResult) -> list[Block]:
    """A line about what the verdict rests on, with the sizes of open axes; none where nothing was run."""
    if result.verification is None or not result.verification.runs:
        return []
    accuracy = getattr(result, "accuracy", None)
    before = "" if accuracy is None else f"before it became {accuracy.precision}: "
    recorded = beside(result.verification)
    line = Line(f"{before}{basis(result.verification, result.inputs, result.outputs)}")
    return [line, *([Line(recorded)] if recorded else [])]


PICTURES = re.compile(r"from (.+, (RGB|BGR) (from|as) .+)")
"""Origin of an input that pictures were read for, as it is told."""


def _pictures(result: ConvertResult) -> list[Block]:
    """Lines for inputs that got pictures: which in the first run, the order of their colours, and in how many more runs."""
    runs = result.verification.runs if result.verification is not None else ()
    found: dict[str, list[str]] = {}
    for each in runs:
        for name, given in each.get("inputs", {}).items():
            if match := PICTURES.fullmatch(str(given.get("from", ""))):
                found.setdefault(name, []).append(match[1])
    more = {name: f" (and {len(told) - 1} more runs of pictures)" for name, told in found.items() if told[1:]}
    return [Line(f"{name}: {told[0]}{more.get(name, '')}") for name, told in found.items()]


def _rewritten(result: ConvertResult) -> str:
    """Words behind a verdict that is of the file before it was rewritten: how far off the file itself is."""
    accuracy = getattr(result, "accuracy", None)
    if accuracy is None:
        return ""
    off = f"; as {accuracy.precision} {accuracy.apart}" if accuracy.apart else ""
    return f" before it became {accuracy.precision}{off}"


def _accuracy(result: ConvertResult | VerifyResult, whole: bool, notes: bool = True) -> list[Block]:
    """The cost of another precision; nothing where the network's own was kept. notes: False where its notes are said elsewhere."""
    accuracy = getattr(result, "accuracy", None)
    if accuracy is None:
        return []
    from .precision import pages

    accuracy = accuracy if notes else replace(accuracy, notes=())
    return pages.full(accuracy) if whole else pages.brief(accuracy)


def outcome_lines(outcomes: Sequence[Outcome]) -> list[Block]:
    """Lines for the targets that a file was written for."""
    return [Line(f"{o.target}: {o.words}", "good" if o.verdict in (AGREES, FITS) else "warn") for o in outcomes]


def _named(parameters: Sequence[str]) -> str:
    """Names of parameters, the count first where not all are said; --json has them all."""
    count = f"{len(parameters)} parameters: " if len(parameters) > SHOWN_PARAMETERS else ""
    return count + listed(parameters, SHOWN_PARAMETERS)


def _left_out(outputs: Mapping[str, Sequence[str]]) -> str:
    labels = dict.fromkeys(label for names in outputs.values() for label in names)
    return f"{', '.join(outputs)} ({'need' if len(outputs) > 1 else 'needs'} {', '.join(labels)})"


def _told(found: Mapping[str, Any]) -> str:
    """The dtype of an input or output where it is not what nearly all have."""
    dtype = found.get("dtype") or "float32"
    return "" if dtype == "float32" else f"{dtype} "


def convert_brief(result: ConvertResult) -> Page:
    """The result of convert in a line for each thing: what was read, inputs and outputs, notes, what was compared, the verdict."""
    result = clean(result)
    sides = [
        listed((f"{n} {_told(s)}{shape(s.get('shape'))}" for n, s in part.items()), 3)
        for part in (result.inputs, result.outputs)
    ]
    read = list(result.read)
    if len(read) > 1 and Path(read[0]) in Path(read[1]).parents:  # an archive, and what is in it
        read = [f"{read[0]} ({Path(read[1]).relative_to(read[0])})"]
    parts: list[Block] = [Line(f"read {' and '.join(read)}")] if read else []
    parts.append(Line(f"{sides[0] or 'no input'} -> {sides[1]}"))
    out = [_left_out(result.left_out)] if result.left_out else []
    out += [f"{listed(result.pruned)} (not read at inference)"] if result.pruned else []
    if out:
        parts.append(Line(f"left out: {'; '.join(out)}"))
    parts += outcome_lines(result.targets)
    notes = list(result.warnings)
    if result.unused:
        notes.append(f"{len(result.unused)} parameters are not in the graph: {listed(result.unused)}")
    checked = result.verification
    if checked is not None and checked.verdict == "says little":
        notes.sort(key=lambda words: not any(words.startswith(f"output {said}") for said in checked.little))
    if notes:
        more = f" (and {len(notes) - 1} more: -v)" if notes[1:] else ""
        parts.append(Line(f"note: {notes[0]}{more}", "warn"))
    parts += _pictures(result)
    parts += _compared(result)
    parts += _accuracy(result, False)
    return _page(result, parts, _rewritten(result))


def _page(result: ConvertResult | ImportResult, parts: Sequence[Block], witness: str) -> Page:
    """A page that ends in a line with the verdict and the files."""
    found, files = result.verification, " and ".join(result.files)
    verdict = "not verified" if found is None else f"{found.verdict}{witness if found.equivalent else ''}"
    tone = "strong" if found is None else TONES[found.verdict]
    last = Line(f"{verdict}{f': wrote {files} ({bytes_text(result.bytes)})' if files else ''}", tone)
    return Page(result.model, (*parts, last), verdict, tone)


def import_table(result: ImportResult) -> Page:
    """The result of import as a short table."""
    result = clean(result)
    rows = [(f"input {n}", spec(s)) for n, s in result.inputs.items()]
    rows += [(f"output {n}", spec(s)) for n, s in result.outputs.items()]
    rows += [
        ("operators", _counts(result.operators)),
        ("opset", str(result.opset)),
        ("parameters", f"{result.parameters:,}"),
        *_shared(result.shared),
        *[("in training" if not i else "", line) for i, line in enumerate(training_words(result.training))],
        ("in MXNet 1.9.1", _loads(result.mxnet)),
        ("seconds", ", ".join(f"{k} {v:.2f}" for k, v in result.seconds.items())),
    ]
    parts: list[Block] = [Facts(rows)]
    parts += [Line(f"repaired: {r}", "warn") for r in result.repairs]
    if result.verification is not None:
        parts += [Line(""), Brief(result.verification)]
    parts += _notes(result.warnings)
    return _page(result, parts, f" to {result.witness}")


def _shared(shared: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Rows for weights that several nodes share."""
    return [("shared" if not i else "", line) for i, line in enumerate(shared_words(shared))]


def compile_table(result: CompileResult) -> Page:
    """The result of compile as a short table."""
    result = clean(result)
    rows = [(f"input {n}", spec(s)) for n, s in result.inputs.items()]
    rows += [
        ("outputs", ", ".join(result.outputs)),
        ("steps", f"{result.steps}, {result.packed} with packed weights, for CPU level {result.level}"),
        ("seconds", f"{result.seconds:.2f}"),
        ("file", f"{result.file}, {bytes_text(result.bytes)}"),
    ]
    return Page(f"{result.file}", (Facts(rows),), "compiled")


def _sources(read: Sequence[str]) -> str:
    """Files that a model was read from: of an archive which of the parameters in it."""
    first, *others = read
    inside = [str(Path(p).relative_to(first)) for p in others if Path(first) in Path(p).parents]
    return f"{first} ({listed(inside)})" if inside else " and ".join(read)


def _classes(names: Sequence[str]) -> list[tuple[str, str]]:
    """A row for names of classes; none where there are none."""
    return [("classes", f"{len(names)}: {listed(names, 5)}")] if names else []


def deploy_table(result: DeployResult) -> Page:
    """The result of deploy: what is where, and what uses it."""
    result = clean(result)
    rows = [("read", _sources(result.read))] if result.read else []
    rows += [(f"input {n}", spec(s)) for n, s in result.inputs.items()]
    rows += [(f"output {n}", spec(s)) for n, s in result.outputs.items()]
    rows += _classes(result.classes)
    rows += [("file", f) for f in result.files] + [("next", result.start)]
    compared = [] if result.conversion is None else _compared(result.conversion)
    tone = TONES.get(result.verdict, "strong")
    last = Line(f"{result.verdict}: {result.name} is ready for {result.to} in {result.place}", tone)
    return Page(result.name, (Facts(rows), *compared, *_notes(result.warnings), last), result.verdict, tone)


def deploy_page(result: DeployResult) -> Page:
    """The result of deploy with all that proves it: hashes of the files, and what convert's report has."""
    table = deploy_table(result)
    *parts, last = table.blocks
    parts += [Line(""), Facts([(f"sha256 {printable(name)}", digest) for name, digest in result.sha256.items()])]
    if result.conversion is not None:
        *more, _ = convert_table(result.conversion, False).blocks  # of whose file the place is a scratch one
        parts += [Line(""), *more]
    return replace(table, blocks=(*parts, last))


def verify_table(result: VerifyResult) -> Page:
    """The result of verify; where the models part, if they do."""
    title = f"{printable(result.a)} against {printable(result.b)}"
    return Page(title, (result, *_accuracy(result, True)), result.verdict, TONES[result.verdict])


def recording_table(recording: Recording) -> Page:
    """A recording: who made it, from which inputs, and where it is."""
    told = clean(recording.as_dict())
    rows = []
    for number, each in enumerate(told["runs"]):
        run = f" of run {number}" if len(told["runs"]) > 1 else ""
        rows += [(f"{kind[:-1]} {n}{run}", spec(s)) for kind, named in each.items() for n, s in named.items()]
    rows += [("recorded by", printable(recording.by)), ("file", str(told["file"] or "none"))]
    return Page("recording", (Facts(rows),), "recorded")


def inspect_table(result: InspectResult) -> Page:
    """A model's inside and what keeps it from converting."""
    result = clean(result)
    rows = [("read", _sources(result.read))] if result.read else []
    sizes = {n: f", as {file} says" for n, file in result.sizes_from.items()}
    said = bool(result.sizes_wanted)  # below, in one line
    rows += [(f"input {n}", f"{spec(s, quiet=said)}{sizes.get(n, '')}") for n, s in result.inputs.items()]
    meant = dict.fromkeys(result.detections, f", {ROWS}")
    rows += [(f"output {n}", f"{spec(s, quiet=said)}{meant.get(n, '')}") for n, s in result.outputs.items()]
    if result.left_out:
        rows.append(("left out", _left_out(result.left_out)))
    if result.labels:
        rows.append(("labels", f"{', '.join(result.labels)} (not read at inference)"))
    rows += [
        ("parameters", f"{result.parameters:,} ({bytes_text(result.parameter_bytes)}; {_counts(result.dtypes)})"),
        *_shared(result.shared),
        ("operators", _counts(result.operators)),
    ]
    rows.append(("in MXNet 1.9.1", _loads(result.mxnet, result.kind != "onnx")))
    rows += _classes(result.classes)
    rows += [(f"made: {name}", value) for name, value in result.provenance.items()]
    if result.missing:
        rows.append(("missing", _named(result.missing)))
    if result.unused:
        rows.append(("unused", _named(result.unused)))
    parts: list[Block] = [
        Line(f"{result.model} ({result.kind}, opset {result.opset})", "strong"),
        Facts(rows),
    ]
    parts += [Line(f"to repair: {r}", "warn") for r in result.repairs]
    parts += _notes(result.warnings)
    verdict, tone = "", ""
    if result.problems:
        title = f"{len(result.problems)} do not convert"
        columns = [Column(name, fold=True) for name in ("node", "operator", "reason")]
        parts += [Line(""), Grid(columns, result.problems, title)]
        verdict, tone = title, "bad"
    elif result.checked == "whole":
        verdict, tone = "every node converts", "good"
        parts.append(Line(verdict, tone))
    elif result.checked:
        verdict, tone = "every operator is known", "good"
        parts.append(Line(verdict if said else f"{verdict}; give input shapes (--input) to try every node", "good"))
    parts += _wanted(result.sizes_wanted, "to try every node")
    if result.fallbacks is not None:
        parts += _fallbacks(result.fallbacks)
    return Page(result.model, parts, verdict, tone)


def _wanted(sizes: Mapping[str, str], why: str) -> list[Line]:
    """A line on inputs whose sizes nothing says, and what to give."""
    if not sizes:
        return []
    given = " ".join(f"--input {n}:{s}" for n, s in sizes.items())
    return [Line(f"nothing says the sizes of {listed(sizes)}: give them {why}, such as {given}", "warn")]


def _fallbacks(found: Sequence[FallbackCount]) -> list[Block]:
    """A table of what NumPy computes, or a line that there is nothing."""
    if not found:
        return [Line("every step has a kernel", "good")]
    total = sum(f.count for f in found)
    columns = [Column(name, fold=True) for name in ("operator", "steps", "why")]
    table = Grid(columns, [(f.operator, str(f.count), f.why) for f in found])
    return [Line(""), Line(f"computed by NumPy, of all steps: {total}", "warn"), table]


def nodes_table(result: NodesResult) -> Page:
    """The table of a model's nodes."""
    result = clean(result)
    columns = [
        *(Column("output"), Column("shape"), Column("parameters", right=True), Column("operator"), Column("node"))
    ]
    rows = [
        (
            o,
            "" if result.sizes_wanted and s.get("shape") is None else shape(s.get("shape")),
            "" if i or not n["parameters"] else f"{n['parameters']:,}",
            n["operator"],
            n["node"],
        )
        for n in result.nodes
        for i, (o, s) in enumerate(n["outputs"].items())
    ]
    total = f"{result.parameters:,} parameters"
    if result.auxiliary:
        total += f", {result.auxiliary:,} of them running means and variances (mx.viz.print_summary leaves these out)"
    told = _wanted(result.sizes_wanted, "for the shapes")
    return Page(result.model, [Grid(columns, rows), Line(total, "dim"), *told])


def operators_table(result: OperatorsResult) -> Page:
    """The table of operators."""
    result = clean(result)
    heads = ("operator", "other names", "gradient", "kernel", "ONNX", "refused", "from ONNX")
    rows = []
    for row in result.operators:
        said = ", ".join(map(str, row.opsets)) or f"no: {row.reason}"
        cells = (row.name, ", ".join(row.aliases), row.gradient, row.kernel, said, "; ".join(row.refused))
        rows.append((*cells, ", ".join(row.read)))
    longest = max((len(row.name) for row in result.operators), default=0)
    needs = ((min(longest, 30), 0), (20, 4), (8, 1), (12, 3), (12, 0), (20, 5), (16, 2))
    columns = [Column(name, fold=True, least=least, spare=spare) for name, (least, spare) in zip(heads, needs)]
    parts: list[Block] = [Grid(columns, rows)]
    if result.absent:
        columns = [Column(name, fold=True) for name in ("operator", "why")]
        parts += [Line(""), Grid(columns, sorted(result.absent.items()), f"{len(result.absent)} are not here")]
    return Page("Operators", parts)


def bench_table(results: Sequence[BenchResult]) -> Page:
    """Table of how fast models run, and the steps of those that were profiled."""
    results = clean(list(results))
    heads = ("model", "inputs", "threads", *(f"{e} ms" for e in results[0].seconds), "ratio", "max rel", "verdict")
    columns = [Column(name, right=name not in ("model", "inputs", "verdict")) for name in heads]
    rows: list[Sequence[str | Line]] = []
    for r in results:
        times = [f"{t['median'] * 1e3:.4g} ({t['low'] * 1e3:.4g}-{t['high'] * 1e3:.4g})" for t in r.seconds.values()]
        sizes = ", ".join(f"{n} {'x'.join(map(str, s['shape'])) or 'scalar'}" for n, s in r.inputs.items())
        wrong = next((d.reason for d in r.differences if not d.equal), "")
        verdict = Line(f"differs: {wrong}", "bad") if wrong else Line("equal", "good")
        worst = max((d.max_rel for d in r.differences), default=0.0)
        rows.append((r.model, sizes, str(r.threads), *times, f"{r.ratio:.2f}", f"{worst:.1e}", verdict))
    parts: list[Block] = [Grid(columns, rows)]
    for r in results:
        if r.steps:
            parts += [Line(""), _steps(r)]
        if r.precision is not None:
            parts += _precision(r.precision)
        if r.fallbacks:
            parts += _fallbacks(r.fallbacks)
        parts += _notes(r.warnings)
    same = all(r.equivalent for r in results)
    title = ", ".join(dict.fromkeys(r.model for r in results))
    return Page(title, parts, "equal" if same else "differs", "good" if same else "bad")


def _precision(cost: PrecisionReport) -> list[Block]:
    """Costs of a precision, layer by layer."""
    cost = clean(cost)
    rows = [
        (printable(o.output), f"largest error {o.error:.2e} of its largest number, mean {o.mean:.2e}")
        for o in cost.outputs
    ]
    parts: list[Block] = [
        Line(""),
        Line(f"weights as {cost.precision}, beside float32 on these inputs"),
        Facts(rows),
    ]
    if not cost.layers:
        return [*parts, Line("no product has constant weights that are held so")]
    columns = [Column("weights lose", right=True), Column("operator"), Column("weights"), Column("node")]
    cells = [(f"{r.error:.2e}", r.operator, "x".join(map(str, r.shape)), r.node) for r in cost.layers]
    return [*parts, Grid(columns, cells)]


def _steps(result: BenchResult) -> Grid:
    """The steps of a profiled model, the slowest first."""
    assert result.peak is not None
    total = sum(s.seconds for s in result.steps)
    title = (
        f"{result.model}: {len(result.steps)} steps, {total * 1e3:.4g} ms one by one; "
        f"the machine reaches {result.peak.flops / 1e9:.0f} GF/s and {result.peak.bytes / 1e9:.1f} GB/s"
    )
    heads = ("us", "share", "operator", "kernel", "output", "GF/s", "GB/s", "of peak", "node")
    columns = [Column(name, right=name not in ("operator", "kernel", "output", "node")) for name in heads]
    rows = []
    for s in sorted(result.steps, key=lambda s: -s.seconds):
        sizes = "x".join(map(str, s.shape)) or "scalar"
        rates = (f"{s.gflops:.1f}", f"{s.gbytes:.1f}", f"{s.of_peak:.0%}") if s.gflops else ("", f"{s.gbytes:.1f}", "")
        rows.append((f"{s.seconds * 1e6:.1f}", f"{s.share:.1%}", s.operator, s.kernel, sizes, *rates, s.node))
    return Grid(columns, rows, title)


def arrays(
    results: Mapping[str, Any],
    cost: PrecisionReport | None = None,
    labels: Sequence[str] = (),
    rows_of: Sequence[str] = (),
    pictures: Mapping[str, str] | None = None,
) -> Page:
    """Outputs of a run by name, shape and range, the names of their classes (of those in rows_of, the detections), and what a
    precision costs. pictures: what was read for inputs, and how, in words."""
    rows = [(f"input {printable(name)}", printable(text)) for name, text in (pictures or {}).items()]
    for name, value in results.items():
        span = f", {value.min():.6g} to {value.max():.6g}" if value.size and value.dtype.kind in "fiu" else ""
        rows.append((printable(name), f"{value.dtype} {' x '.join(map(str, value.shape)) or 'scalar'}{span}"))
    for name, text in ranked(results, labels, rows_of):
        what = "found in" if name.partition("[")[0] in rows_of else "classes of"
        rows.append((f"{what} {printable(name)}", printable(text)))
    return Page("Outputs", [Facts(rows), *([] if cost is None else _precision(cost))])


Face = Callable[[Page, Mapping[str, Any]], str]
FACES: dict[str, Face] = {".html": html.page, ".md": markdown.page, ".json": lambda _page, facts: data.dumps(facts)}
"""Makers of a report from a page and the facts that belong to it, by the ending of the file."""


def check_path(path: Path) -> None:
    """Raise BadInput when no report can be written there."""
    if path.suffix not in FACES:
        *most, last = FACES
        raise BadInput(f"report {path}: wanted a file that ends in {', '.join(most)} or {last}")
    check_target(path)


def save(page: Page, path: Path, command: str, result: Mapping[str, Any] | None = None, status: int = 0) -> None:
    """Write a report, with the command that repeats it: HTML, Markdown or JSON, by the file's ending. result: the same for
    machines. status: the exit status."""
    write(path, FACES[path.suffix](page, data.facts(result or {}, command, own_version(), status)))


def error_page(text: str, status: int) -> Page:
    """The page of a command that ended in an error."""
    kinds = {2: "bad input", 3: "a runtime failed", 70: "internal error"}
    verdict = kinds.get(status, "error")
    return Page(f"exit status {status}", [Line(line) for line in text.splitlines()], verdict, "bad")


def show(page: Any) -> None:
    """Print to standard output; in a pipe without colours, and as wide as COLUMNS says: without it nothing is folded."""
    console = Console(**PLAIN)
    if console.is_terminal:
        console.print(render(page), crop=False)
        return
    width = shutil.get_terminal_size((10_000, 25)).columns
    console = Console(width=max(20, width), legacy_windows=False, **PLAIN)
    with console.capture() as captured:
        console.print(render(page), crop=False)
    for line in captured.get().splitlines():
        print(line.rstrip())
