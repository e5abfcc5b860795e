"""Lists of models to convert: a text file with one a line, or a folder of models."""

from __future__ import annotations

import copy
import os
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..job import check_target
from ..paths import SYMBOLS, BadInput, file_of, files_below, files_of, no_file, symbols_of
from ..plugins import find_plugin
from ..usage import told as told_of
from .children import Task
from .notes import NOTES, read_with

OF_ALL = ("as_json", "report_to", "verbose", "on", "memory")
"""Options, by their names in Python, that are for the whole list and not for one model."""


@dataclass(frozen=True)
class Job:
    """A model to convert. arguments: those of ``gluonnx convert``, without the output and without the options for all models.
    reads: files that it is made from. output: where it is to be, from the folder that is written to."""

    where: str
    source: str
    arguments: tuple[str, ...]
    plugins: tuple[str, ...]
    reads: tuple[Path, ...]
    output: str

    def task(self, common: Sequence[str], out: Path, folder: str) -> Task:
        """The task for a process; what stands in its line goes before what is common to all models."""
        told = (*common, *self.arguments, "-o", str(out / self.output))
        return Task("convert", told, folder, self.plugins)


def is_list(source: str, output: Path | None) -> bool:
    """True for what ``gluonnx convert`` takes for many models: a text file, or, where a folder is to be written, a folder with more
    than one."""
    path = Path(source)
    if path.suffix == ".txt":
        return os.path.isfile(path)  # of names that no system takes there is none either
    return output is not None and not output.suffix and os.path.isdir(path) and len(files_below(path, SYMBOLS)[0]) > 1


def spelled(context: Any) -> list[str]:
    """The options that a command was called with, as one writes them; without its arguments, and without those for all models.

    context: that of the call (click's)."""
    return [word for words in options_of(context, (*OF_ALL, "output")) for word in words]


def options_of(context: Any, without: Collection[str] = ()) -> list[tuple[str, ...]]:
    """Each option that a command was called with, as one writes it. without: names of some to leave out."""
    found: list[tuple[str, ...]] = []
    for param in context.command.params:
        source = context.get_parameter_source(param.name)
        if param.param_type_name != "option" or param.name in without or source is None:
            continue
        if source.name != "COMMANDLINE":
            continue
        value = context.params[param.name]
        if param.is_flag:
            found.append((param.opts[0] if value else param.secondary_opts[0],))
        else:
            for each in value if param.multiple else [value]:
                found.append((param.opts[0], str(getattr(each, "value", each))))
    return found


def read_jobs(command: Any, source: Path, output: Path, common: Sequence[str]) -> list[Job]:
    """The models of a list, in its order, or those of a folder, by their names. command: ``gluonnx convert``, for what its options
    mean. common: options for all. Raises BadInput with everything that is wrong, before anything is done."""
    jobs: list[Job] = []
    problems: list[str] = []
    command = _running_nothing(command)
    for where, words, folder in _lines(source, problems):
        try:
            jobs.append(_job(command, where, words, folder, common))
        except BadInput as error:
            problems += (f"{where}: {p}" for p in error.problems)
    if not jobs and not problems:
        problems.append(f"{source}: no models in it; wanted lines PATH [OPTIONS of gluonnx convert]")
    first: dict[str, Job] = {}
    read = {path.resolve(): job for job in jobs for path in job.reads}
    for job in jobs:
        same = first.setdefault(job.output.casefold(), job)  # some file systems take both for one
        if same is not job:
            problems.append(
                f"{job.where}: {job.source} would be written to {job.output}, as {same.where} is; add -o NAME to one of them"
            )
        target = output / job.output
        if (owner := read.get(target.resolve())) is not None:
            problems.append(f"{job.where}: {target} is read as well ({owner.where}); give another folder with -o")
        elif target.is_dir() or (target.parent.is_dir() and output.is_dir()):
            try:
                check_target(target)
            except BadInput as error:
                problems += (f"{job.where}: {p}" for p in error.problems)
    if output.exists() and not output.is_dir():
        problems.append(f"{output}: a file, wanted a folder to write to")
    if problems:
        raise BadInput(*problems)
    return jobs


def _running_nothing(command: Any) -> Any:
    """The command, but that it runs no plug-in when it reads its options: each is for the process of its models, and two may have
    operators of one name."""
    found = copy.copy(command)
    found.params = [copy.copy(param) for param in command.params]
    for param in found.params:
        if param.name == "plugin":
            param.callback = None
    return found


def _lines(source: Path, problems: list[str]) -> Iterator[tuple[str, list[str], str]]:
    """Place, words, and the folder of the output, of each model."""
    if source.is_dir():
        for path in symbols_of(source, deep=True):
            inside = path.relative_to(source)
            if NOTES not in inside.parts:
                yield inside.as_posix(), [str(path)], inside.parent.as_posix()
        return
    try:
        text = source.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        problems.append(f"{source}: not text in UTF-8; wanted lines PATH [OPTIONS of gluonnx convert]")
        return
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            problems.append(f"{source}, line {number}: {error}")
            continue
        if words:
            yield f"{source}, line {number}", words, ""


def _job(command: Any, where: str, words: list[str], folder: str, common: Sequence[str]) -> Job:
    """One model. Raises BadInput."""
    try:
        context = command.make_context("convert", [*common, *words])
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        raise BadInput(told_of(error)) from None
    told = context.params
    for name in OF_ALL:
        if context.get_parameter_source(name).name == "COMMANDLINE":
            raise BadInput(f"{_option(command, name)} is for the whole list: give it on the command line")
    path = Path(told["symbol"])
    if path.suffix == ".txt":
        raise BadInput(f"{path}: a list in a list; wanted a model")
    file = file_of(path)
    params = told["params"] or told["params_option"]
    if params is not None and not params.is_file():
        raise BadInput(f"{params}: no such parameter file")
    named = Path(told["output"] or f"{_name(file)}.onnx")
    if named.is_absolute() or ".." in named.parts:
        raise BadInput(f"-o {named}: wanted a name in the folder that is written to")
    named = Path(folder) / (named if named.suffix else named.with_name(f"{named.name}.onnx"))
    given = _files([w for w in (*common, *words) if w != told["symbol"]])
    missing = [
        f"{o}: no such file"
        for option in ("inputs", "expected")
        if (o := told.get(option)) is not None and not o.exists()
    ]
    missing += [no_file(o) for o in told.get("also") or () if not o.exists()]
    for plugin in told["plugin"] or ():
        try:
            find_plugin(plugin)
        except BadInput as error:
            missing += error.problems
    if missing:
        raise BadInput(*missing)
    reads: dict[Path, None] = dict.fromkeys([*read_with(file, params), *given])
    return Job(where, str(path), tuple(words), tuple(told["plugin"] or ()), tuple(reads), named.as_posix())


def _option(command: Any, name: str) -> str:
    return next(p.opts[0] for p in command.params if p.name == name)


def _name(file: Path) -> str:
    """The name of a model, by its file."""
    name = file.name
    for end in ("-symbol.json", ".json", ".tar.gz", ".tgz", ".tar", ".zip"):
        if name.endswith(end):
            return name[: -len(end)]
    return file.stem


def _files(words: Sequence[str]) -> list[Path]:
    """The files among the words of a command line, and those in its folders; also behind NAME=."""
    found: list[Path] = []
    for word in words:
        for text in dict.fromkeys((word, word.rpartition("=")[2])):
            path = Path(text)
            try:
                found += [path] if path.is_file() else [p for p in files_of(path) if p.is_file()]
            except OSError:
                continue  # no path at all
    return found
