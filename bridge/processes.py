"""Processes that end with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress


def end_family(process: subprocess.Popen[bytes]) -> None:
    """End a process that was begun with ``start_new_session``, and what it has started; where there are no sessions (Windows) the
    process alone."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
