"""A check as JUnit XML, which CI systems show as tests: a suite for each model, a case for each file."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import groupby

from ..printable import printable
from .results import CheckResult, FileResult


def junit(result: CheckResult) -> str:
    """The XML."""
    root = ET.Element("testsuites", name="gluonnx", time=f"{result.seconds:.3f}")
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for model, group in groupby(result.files, key=lambda f: f.model):
        suite = ET.SubElement(root, "testsuite", name=_text(model))
        counts = dict.fromkeys(totals, 0)
        seconds = 0.0
        for file in group:
            kind = _case(suite, file, result.fails(file))
            counts["tests"] += 1
            seconds += file.seconds
            if kind:
                counts[{"failure": "failures", "error": "errors"}.get(kind, kind)] += 1
        for name, count in counts.items():
            suite.set(name, str(count))
            totals[name] += count
        suite.set("time", f"{seconds:.3f}")
    for name, count in totals.items():
        root.set(name, str(count))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(suite: ET.Element, file: FileResult, fails: bool) -> str:
    """Add the case of a file; gives what it is besides passed."""
    case = ET.SubElement(
        suite, "testcase", classname=_text(file.model), name=_text(file.file), time=f"{file.seconds:.3f}"
    )
    if file.status == "ok":
        return ""
    kind = "error" if file.status in ("bad", "failed") else "failure" if fails else "skipped"
    said = ET.SubElement(case, kind, message=_text(file.detail))
    if kind != "skipped":
        said.set("type", file.status)
        said.text = _text(file.detail)
    return kind


def _text(text: str) -> str:
    """The text without what XML has no way to hold: names of nodes may be anything."""
    return printable(text)
