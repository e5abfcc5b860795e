"""Line that says what is being done, below the cell of a notebook: a bar that moves and words, gone when the cell has run."""

from __future__ import annotations

import sys
import time
from functools import cache
from html import escape
from typing import Any

from ..printable import printable
from ..result import Progress


def kernel() -> Any | None:
    """The shell of the kernel that this runs in, None outside of notebooks. Imports nothing: who runs in one has it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if getattr(shell, "kernel", None) is not None else None


def listener(progress: Progress | None) -> Progress:
    """Listener to what is being done: whom the caller names, else a line below the cell of a notebook, else nobody."""
    if progress is not None:
        return progress
    return line() if kernel() is not None else _nobody


@cache
def line() -> Line:
    """The line of this kernel: what one job begins, and another within it, is said in one place."""
    return Line()


def _nobody(_text: str) -> None: ...


class Line:
    """A line below the cell, there from the first text until the cell has run, updated in place."""

    def __init__(self) -> None:
        self.handle: Any = None
        self.since = 0.0

    def __call__(self, text: str) -> None:
        """Say what begins."""
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        if self.handle is None:
            self.since = time.monotonic()
        html = f"<progress></progress> {time.monotonic() - self.since:.0f} s <code>{escape(printable(text))}</code>"
        if self.handle is None:
            self.handle = display(HTML(html), display_id=True)
            shell = kernel()
            if shell is not None:
                shell.events.register("post_run_cell", self.end)
        else:
            self.handle.update(HTML(html))

    def end(self, *_: Any) -> None:
        """Take the line away: the result says all that stays."""
        from IPython.display import HTML  # type: ignore[import-not-found]

        shell = kernel()
        if shell is not None:
            shell.events.unregister("post_run_cell", self.end)
        self.handle.update(HTML(""))
        self.handle = None
