"""Exit statuses of all commands."""

from __future__ import annotations

from collections.abc import Mapping

NOT_EQUIVALENT, BAD_INPUT, RUNTIME, SAYS_LITTLE = 1, 2, 3, 4
INTERNAL = 70
"""A fault of ours: internal software error, as in sysexits.h."""
INTERRUPTED = 130
"""Ctrl-C: 128 and the number of SIGINT, as shells have it. It is the status of no model, and so stands for itself."""
MEANINGS: Mapping[int, str] = {
    0: "ok",
    INTERNAL: "internal error",
    NOT_EQUIVALENT: "not equivalent",
    BAD_INPUT: "bad input",
    RUNTIME: "runtime failed",
    SAYS_LITTLE: "says little",
}
"""Words for each; of several the first that occurs, but for 0, is that of all."""


def worst(statuses: set[int]) -> int:
    """The exit status of what consists of several things: 0 when all of them are 0."""
    return next((code for code in MEANINGS if code and code in statuses), max(statuses, default=0))
