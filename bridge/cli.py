"""The command ``gluonnx``. No logic: arguments to functions of this package, results to report, errors to exit codes.

Exit statuses: 0 done (equivalent), 1 not equivalent, 2 bad input or not supported, 3 a runtime failed, 4 the comparison says little
(with --strict whenever an output alone says little; without it, when nothing before that output says more), 70 a fault of gluonnx.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import onnx
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

import bridge
import converters
from hybrid.core.error import InternalError, MXNetError
from hybrid.core.precision import FLOAT32
from hybrid.formats.files import replacing

from . import report
from .compare import Tolerance
from .compiling import compiled_file
from .inputs import load_feeds, parse_dynamic, parse_inputs, parse_names, parse_ranges, save_arrays
from .job import check_target
from .models import Model, names_to_fill
from .paths import BadInput, file_of
from .printable import message, printable
from .result import Progress as Tell
from .result import VerifyResult
from .runtime import TIME_LIMIT

NOT_EQUIVALENT, BAD_INPUT, RUNTIME, SAYS_LITTLE = 1, 2, 3, 4
INTERNAL = 70
"""Exit status of an internal software error, as in sysexits.h."""

app = typer.Typer(
    help="Run and convert Apache MXNet models with no MXNet installed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
InputOption = Annotated[
    list[str] | None, typer.Option("--input", help="NAME:D1,D2,...[:DTYPE], such as data:1,3,224,224. May be repeated.")
]
FeedsOption = Annotated[Path | None, typer.Option("--inputs", help="Arrays by name (.npz), or the one input's (.npy).")]
AlsoOption = Annotated[
    list[Path] | None, typer.Option(help="Further inputs (.npz) to verify with, of other sizes. May be repeated.")
]
OutputsOption = Annotated[
    list[str] | None, typer.Option("--outputs", help="Cut the graph here, such as fc1_output. May be repeated.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the inputs that are drawn.")]
Atol = Annotated[
    float | None,
    typer.Option(help="|a - b| may be atol + rtol |a| (atol 1e-5 with --rtol alone); then outputs alone decide."),
]
Rtol = Annotated[float | None, typer.Option(help="See --atol (1e-4 with --atol alone); then outputs alone decide.")]
Scaled = Annotated[
    bool, typer.Option("--scaled", help="--atol counts times the output's largest number, as it does by default.")
]
Repro = Annotated[Path | None, typer.Option(help="Folder for a minimal reproduction when the models differ.")]

Precision = Annotated[
    str,
    typer.Option(
        help="As what our engine holds constant weights of products: float32, bfloat16 or int8. The error is told."
    ),
]

Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit status 4 when an output agrees but says little: constant, saturated, empty."),
]


def _set_time_limit(seconds: float) -> float:
    try:
        bridge.set_time_limit(seconds)
    except ValueError:
        raise typer.BadParameter(f"got {seconds:g}, wanted a positive number of seconds") from None
    return seconds


TimeLimit = Annotated[
    float,
    typer.Option(
        callback=_set_time_limit,
        help="Seconds that onnxruntime may take to open a model, or to run it once; inf for no limit.",
    ),
]
Report = Annotated[Path | None, typer.Option("--report", help="Also write what is printed to a .md or .html file.")]


@app.command()
def convert(
    symbol: Annotated[str, typer.Argument(help="PREFIX-symbol.json, or PREFIX.")],
    params: Annotated[Path | None, typer.Argument(help="By default the newest PREFIX-NNNN.params.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="By default PREFIX.onnx.")] = None,
    input: InputOption = None,
    inputs: FeedsOption = None,
    dynamic: Annotated[
        list[str] | None, typer.Option(help="NAME:AXIS=LABEL,..., such as data:0=batch. May be repeated.")
    ] = None,
    opset: Annotated[
        int | None, typer.Option(help="13 to the newest that onnx defines; by default 21 or less.")
    ] = None,
    outputs: OutputsOption = None,
    verify: Annotated[bool, typer.Option(help="Compare with onnxruntime before the file appears.")] = True,
    also: AlsoOption = None,
    external_data: Annotated[
        bool | None,
        typer.Option("--external-data/--no-external-data", help="Weights beside the file; by itself past 2 GB."),
    ] = None,
    training: Annotated[
        bool,
        typer.Option(
            "--training", help="As it trains: losses are outputs, labels inputs, BatchNorm and Dropout train."
        ),
    ] = False,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    repro: Repro = None,
    strict: Strict = False,
    time_limit: TimeLimit = TIME_LIMIT,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Convert an exported symbol with its parameters to ONNX; the file appears only when both give the same numbers."""
    with _errors(as_json, report_to), _progress(as_json) as tell:
        model = bridge.open_model(symbol, params, foreign=True)
        specs = _read_inputs(model, input, inputs)
        target = output if output is not None else (model.path or Path(model.name)).with_name(f"{model.name}.onnx")
        for place in (target, target.with_name(f"{target.name}.data"))[: 2 if external_data else 1]:
            check_target(place, inputs, *also or ())
        result = bridge.convert(
            model,
            inputs=specs,
            output=target,
            dynamic=parse_dynamic(dynamic or ()),
            opset=opset,
            outputs=outputs,
            verify=verify,
            also=_read_further_inputs(model, specs, also),
            seed=seed,
            tolerance=_tolerance(atol, rtol, scaled),
            external_data=external_data,
            training=training,
            repro=repro,
            strict=strict,
            progress=tell,
        )
    with _errors(as_json):
        _print(result.as_dict(), as_json, lambda: report.convert_table(result), report_to)


@app.command("import")
def import_(
    model: Annotated[Path, typer.Argument(help="An ONNX file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The prefix; by default the file's name, if nothing is there.")
    ] = None,
    input: InputOption = None,
    inputs: FeedsOption = None,
    verify: Annotated[bool, typer.Option(help="Compare with onnxruntime before the files appear.")] = True,
    also: AlsoOption = None,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    repro: Repro = None,
    strict: Strict = False,
    time_limit: TimeLimit = TIME_LIMIT,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Read an ONNX model as a symbol with parameters; the files appear only when both give the same numbers."""
    with _errors(as_json, report_to), _progress(as_json) as tell:
        opened = bridge.open_model(model)
        if not opened.is_onnx:
            raise BadInput(f"{model}: an MXNet symbol already; import takes an ONNX file")
        if output is None:
            there = [
                p
                for p in (f"{model.with_suffix('')}-{end}" for end in ("symbol.json", "0000.params"))
                if Path(p).exists()
            ]
            if there:  # maybe what the ONNX file was converted from
                raise BadInput(
                    f"{' and '.join(there)}: there already; give a prefix with -o, the same one to write over them"
                )
        specs = _read_inputs(opened, input, inputs)
        result = bridge.import_onnx(
            model,
            output=output if output is not None else model.with_suffix(""),
            inputs=specs,
            verify=verify,
            also=_read_further_inputs(opened, specs, also),
            seed=seed,
            tolerance=_tolerance(atol, rtol, scaled),
            repro=repro,
            strict=strict,
            progress=tell,
        )
    with _errors(as_json):
        _print(result.as_dict(), as_json, lambda: report.import_table(result), report_to)


@app.command()
def verify(
    a: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    b: Annotated[str, typer.Argument(help="The other one.")],
    params: Annotated[Path | None, typer.Option(help="Parameters of the symbol(s); by default the newest.")] = None,
    input: InputOption = None,
    inputs: FeedsOption = None,
    map: Annotated[
        list[str] | None,
        typer.Option(help="NAME=NAME: the first model's name of an input and the second's. May be repeated."),
    ] = None,
    range: Annotated[
        list[str] | None, typer.Option(help="NAME:LOW,HIGH of drawn numbers, such as data:0,255. May be repeated.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="How many sets of drawn inputs.")] = 1,
    outputs: OutputsOption = None,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    repro: Repro = None,
    strict: Strict = False,
    time_limit: TimeLimit = TIME_LIMIT,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Compare two models on the same inputs; when they differ, name the first node that does."""
    with _errors(as_json, report_to), _progress(as_json) as tell:
        first = bridge.open_model(a, None if str(a).endswith(".onnx") else params)
        second = bridge.open_model(b, None if str(b).endswith(".onnx") else params)
        specs = _read_inputs(first, input, inputs)
        result = bridge.verify(
            first,
            second,
            inputs=specs,
            names=parse_names(map or ()),
            ranges=parse_ranges(range or ()),
            files={} if inputs is None else {n: inputs.name for n, v in specs.items() if isinstance(v, np.ndarray)},
            seed=seed,
            runs=runs,
            tolerance=_tolerance(atol, rtol, scaled),
            outputs=outputs,
            repro=repro,
            progress=tell,
        )
    with _errors(as_json):
        _print(result.as_dict(), as_json, lambda: report.verify_table(result), report_to)
    status = _status(result, strict)
    if status:
        raise typer.Exit(status)


@app.command()
def inspect(
    model: Annotated[str | None, typer.Argument(help="A symbol file, prefix or ONNX file.")] = None,
    params: Annotated[Path | None, typer.Argument(help="By default the newest PREFIX-NNNN.params.")] = None,
    input: InputOption = None,
    opset: Annotated[int | None, typer.Option(help="The opset to judge convertibility by.")] = None,
    operators: Annotated[
        bool,
        typer.Option("--operators", help="The table of operators instead: of the model's, or of all without a model."),
    ] = False,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Show inputs, outputs, parameters, operators, and every node that does not convert with the reason."""
    if operators:
        with _errors(as_json, report_to):
            table = bridge.operators(model)
            _print(table.as_dict(), as_json, lambda: report.operators_table(table), report_to)
        return
    with _errors(as_json, report_to):
        if model is None:
            raise BadInput(
                "no model; give a symbol file, a prefix or an ONNX file, or --operators for the table of all"
            )
        result = bridge.inspect(model, params, inputs=parse_inputs(input or ()), opset=opset)
    with _errors(as_json):
        _print(result.as_dict(), as_json, lambda: report.inspect_table(result), report_to)
    if result.problems:
        raise typer.Exit(BAD_INPUT)


@app.command()
def run(
    model: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    params: Annotated[Path | None, typer.Argument(help="By default the newest PREFIX-NNNN.params.")] = None,
    inputs: FeedsOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write outputs here (.npz).")] = None,
    engine: Annotated[str | None, typer.Option(help="native or onnxruntime; by default what the model is for.")] = None,
    outputs: OutputsOption = None,
    precision: Precision = FLOAT32,
    compiled: Annotated[
        bool,
        typer.Option("--compiled", help="By our engine, from the file that gluonnx compile wrote beside the model."),
    ] = False,
    time_limit: TimeLimit = TIME_LIMIT,
    as_json: AsJson = False,
) -> None:
    """Run a model on arrays from a file."""
    with _errors(as_json), _progress(as_json) as tell:
        if compiled and (engine or outputs or precision != FLOAT32):
            raise BadInput(
                "--compiled runs the whole model by our engine: give no --engine, --outputs or --precision with it"
            )
        opened = bridge.open_model(model, params)
        names = list(bridge.inspect(opened).inputs)
        if inputs is None:
            raise BadInput(f"give --inputs FILE.npz with arrays named {', '.join(names)}")
        if output is not None:
            check_target(output, inputs, *opened.files())
        tell(f"running {opened.name}")
        feeds = load_feeds(inputs, names)
        asked: Any = {"engine": engine, "outputs": outputs, "precision": precision}  # run checks them
        if compiled:
            results: Any = bridge.CompiledModel(model, params, compiled=compiled_file(file_of(Path(model)))).run(feeds)
        else:
            results = bridge.run(opened, feeds, **asked)
        cost = None
        if precision != FLOAT32:
            cost = bridge.precision_report(opened, feeds, outputs=outputs, precision=precision)
        if output is not None:
            with replacing(output) as file:
                save_arrays(file, results)
    facts = {n: {"shape": list(v.shape), "dtype": v.dtype.name} for n, v in results.items()}
    with _errors(as_json):
        told = {"outputs": facts, "file": output and str(output)} | (
            {} if cost is None else {"precision": cost.as_dict()}
        )
        _print(told, as_json, lambda: report.arrays(results, cost))


@app.command("compile")
def compile_(
    model: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    params: Annotated[Path | None, typer.Argument(help="By default the newest PREFIX-NNNN.params.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="By default MODEL.gluonnx.")] = None,
    input: InputOption = None,
    inputs: FeedsOption = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Save what our engine makes of a model for given sizes, on this machine: the next process maps it and starts."""
    with _errors(as_json), _progress(as_json) as tell:
        opened = bridge.open_model(model, params)
        tell(f"compiling {opened.name}")
        specs = _read_inputs(opened, input, inputs)
        result = bridge.compile(model, params=params, inputs=specs, output=output, seed=seed)
    with _errors(as_json):
        _print(result.as_dict(), as_json, lambda: report.compile_table(result))


@app.command()
def bench(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Symbol files, prefixes or ONNX files.")],
    params: Annotated[Path | None, typer.Option(help="Parameters of the symbol(s); by default the newest.")] = None,
    input: InputOption = None,
    inputs: FeedsOption = None,
    batch: Annotated[int | None, typer.Option(min=1, help="The first size of every input.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Of both engines; by default as many as ours uses.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long each engine runs.")] = 2.0,
    profile: Annotated[bool, typer.Option("--profile", help="Also the time of every step.")] = False,
    precision: Precision = FLOAT32,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    time_limit: TimeLimit = TIME_LIMIT,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Measure models on our engine and on onnxruntime, in turns; a ratio over 1 says that ours is faster."""
    with _errors(as_json, report_to), _progress(as_json) as tell:
        results = []
        for name in models:
            model = bridge.open_model(name, None if name.endswith(".onnx") else params)
            results.append(
                bridge.bench(
                    model,
                    inputs=_read_inputs(model, input, inputs),
                    batch=batch,
                    threads=threads,
                    seconds=seconds,
                    profile=profile,
                    seed=seed,
                    tolerance=_tolerance(atol, rtol, scaled),
                    precision=precision,
                    progress=tell,
                )
            )
    with _errors(as_json):
        _print({"models": [r.as_dict() for r in results]}, as_json, lambda: report.bench_table(results), report_to)
    if not all(r.equivalent for r in results):
        raise typer.Exit(NOT_EQUIVALENT)


def _read_inputs(model: Model, input: list[str] | None, inputs: Path | None) -> dict[str, Any]:
    """Read --input and --inputs: specs and arrays by name."""
    specs: dict[str, Any] = dict(parse_inputs(input or ()))
    return specs if inputs is None else specs | load_feeds(inputs, names_to_fill(model, specs))


def _read_further_inputs(model: Model, specs: dict[str, Any], also: list[Path] | None) -> list[dict[str, Any]]:
    """Read --also: sets of arrays by name."""
    return [load_feeds(path, names_to_fill(model, specs)) for path in also or ()]


def _tolerance(atol: float | None, rtol: float | None, scaled: bool) -> Tolerance | None:
    if atol is None and rtol is None:
        return None
    usual = bridge.TOLERANCES["float32"]  # what is not given stays as it is
    return Tolerance(usual.atol if atol is None else atol, usual.rtol if rtol is None else rtol, scaled)


def _print(data: dict[str, Any], as_json: bool, text: Any, report_to: Path | None = None) -> None:
    if report_to is not None:
        report.save(text(), report_to, shlex.join(["gluonnx", *sys.argv[1:]]))
    try:
        if as_json:
            print(json.dumps(data, default=str))
        else:
            report.show(text())
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough, as `head` does; the exit status is still that of the work
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _progress(as_json: bool) -> Iterator[Tell]:
    """A line on the terminal that says what is being done and for how long; nothing in a pipe."""
    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield lambda _text: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting")
        yield lambda text: progress.update(task, description=printable(text))


@contextmanager
def _errors(as_json: bool, report_to: Path | None = None) -> Iterator[None]:
    """Errors become a message and an exit status."""
    try:
        if report_to is not None:
            report.check_path(report_to)  # before the work rather than after it
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except bridge.NotEquivalent as error:
        found = error.result
        data = {"error": str(error), "verification": found.as_dict()}
        _print(data, as_json, lambda: report.verify_table(found), report_to)
        if not as_json:
            _fail(f"{message(error)}; nothing was written", as_json)
        raise typer.Exit(_status(found, strict=True)) from None
    except Exception as error:
        text, status = _message_and_status(error)
        problems = getattr(error, "problems", ())
        _fail(text, as_json, [p._asdict() if hasattr(p, "_asdict") else str(p) for p in problems])
        raise typer.Exit(status) from None


def _message_and_status(error: Exception) -> tuple[str, int]:
    """The message and the exit status for an error that ends a command."""
    match error:
        case bridge.EngineError():
            return message(error), RUNTIME
        case InternalError():
            pass
        case BadInput() | converters.ConversionError() | MXNetError() | OSError():
            return message(error), BAD_INPUT
        case MemoryError():
            return f"out of memory ({str(error) or 'no details'}); give smaller input shapes", BAD_INPUT
    return _internal(error), INTERNAL  # a fault of ours, whatever it is


def _status(result: VerifyResult, strict: bool) -> int:
    """The exit status of a verification."""
    if result.verdict == "not equivalent":
        return NOT_EQUIVALENT
    return SAYS_LITTLE if result.verdict == "says little" or (strict and result.little) else 0


def _version() -> str:
    try:
        return importlib.metadata.version("gluonnx")
    except importlib.metadata.PackageNotFoundError:
        return "from a checkout"


def _internal(error: Exception) -> str:
    """The message for an exception that nobody foresaw; the traceback goes to a file."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}: {printable(str(error))[:200]} ({Path(where.filename).name}, line {where.lineno})"
    facts = f"gluonnx {_version()}, Python {platform.python_version()}, NumPy {np.__version__}, onnx {onnx.__version__}"
    with tempfile.NamedTemporaryFile("w", prefix="gluonnx-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(f"{facts}\n{shlex.join(sys.argv)}\n\n{''.join(traceback.format_exception(error))}")
    return f"internal error: {said}; this is a fault of gluonnx: please report it with {file.name} and, if you can, the model"


def _fail(text: str, as_json: bool, problems: list[Any] | None = None) -> None:
    if as_json:
        print(json.dumps({"error": text, "problems": problems or []}))
    else:
        Console(stderr=True, soft_wrap=True, **report.PLAIN).print(Text.assemble(("error:", "bold red"), f" {text}"))


def main() -> None:
    """The entry point."""
    app(prog_name="gluonnx", windows_expand_args=False)
