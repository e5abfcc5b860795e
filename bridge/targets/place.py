"""Places where targets are installed: this Python, or another one that the user names.

GLUONNX_TARGET_PYTHON_OPENCV_4_6=/path/python, or in the gluonnx.toml of the folder one works in:

    [targets]
    "opencv-4.6" = "/path/python"
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ..paths import BadInput
from ..project.config import NAME, target_pythons
from .profile import Profile

SCRIPT = Path(__file__).parents[1] / "scripts" / "run_on_target.py"
VARIABLE = "GLUONNX_TARGET_PYTHON_"
PATIENCE = 60.0
"""Seconds that an interpreter may take to say what is installed."""


@dataclass(frozen=True)
class Place:
    """An interpreter that has a target, and which release."""

    python: str
    version: str
    package: str


def variable_of(name: str) -> str:
    """The environment variable that names the interpreter of a target."""
    return VARIABLE + "".join(c if c.isalnum() else "_" for c in name).upper()


def python_of(profile: Profile) -> tuple[str, str]:
    """The interpreter for a target, and who names it: the environment, a file, or nobody (then it is this one). Raises BadInput."""
    variable = variable_of(profile.name)
    told = os.environ.get(variable)
    if told:
        return told, variable
    named = target_pythons(Path(NAME))
    return (named[profile.name], NAME) if profile.name in named else (sys.executable, "")


@functools.lru_cache(maxsize=256)
def _versions(python: str, packages: tuple[str, ...]) -> dict[str, str]:
    try:
        said = subprocess.run(
            [python, str(SCRIPT), "--versions", *packages], capture_output=True, check=True, timeout=PATIENCE
        )
        return json.loads(said.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        detail = (getattr(error, "stderr", b"") or b"").decode(errors="replace").strip().splitlines()
        raise BadInput(f"{python}: {detail[-1] if detail else error}; wanted a Python interpreter") from None


def place_of(profile: Profile) -> Place | None:
    """The place where a target is installed; None where it is not. Raises BadInput for an interpreter that is named and has no such
    release, or is none."""
    if not profile.runs:
        return None
    python, who = python_of(profile)
    if not os.path.exists(python) and who:
        raise BadInput(f"{who}: {profile.name}: {python}: no such file, wanted a Python interpreter")
    found = _versions(python, (*profile.packages, *profile.needs))
    missing = [p for p in profile.needs if p not in found]
    for package in profile.packages:
        if package in found and profile.covers(found[package]) and not missing:
            return Place(python, found[package], package)
    if who:
        have = ", ".join(f"{p} {v}" for p, v in found.items()) or f"none of {', '.join(profile.packages)}"
        raise BadInput(f"{who}: {python} has {have}; {profile.name} wants {wanted(profile)}")
    return None


def wanted(profile: Profile) -> str:
    """Words for the releases that a profile is about."""
    first, beyond = profile.releases
    names = " or ".join(profile.packages[:1]) + "".join(f" with {p}" for p in profile.needs)
    return names + (f" from {first}" if first else "") + (f", before {beyond}" if beyond else "")


def how_to_install(profile: Profile) -> str:
    """Words for what a user does to have a target run here."""
    return f"not run here: {profile.install or profile.not_run}"
