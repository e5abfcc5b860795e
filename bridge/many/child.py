"""python -m bridge.many.child: a process in which commands of gluonnx run one after the other.

A line of standard input is a JSON object ``{"command", "arguments", "folder"}``; the answer is a line of what standard output was:
``{"exit", "result"}``, where result is what the command gives with ``--json``. What a command prints beside that goes to standard
error. It ends with its input.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from typing import Any

from bridge.cli import command
from bridge.exits import INTERNAL


def run(name: str, arguments: list[str]) -> dict[str, Any]:
    """Exit status and result of a command. What nobody foresaw is a result as well: this process is to outlive its models."""
    sys.argv = ["gluonnx", name, *arguments]
    said = io.StringIO()
    status: Any = 0
    with contextlib.redirect_stdout(said):
        try:
            status = command(name).main(args=[*arguments, "--json"], prog_name=f"gluonnx {name}", standalone_mode=False)
        except SystemExit as end:
            status = end.code
        except Exception as error:  # of the command line: a wrong option, a plug-in that fails
            text = str(getattr(error, "message", "")) or f"{type(error).__name__}: {error}"
            return _failed(getattr(error, "exit_code", INTERNAL), text)
    try:
        result = json.loads(said.getvalue())
    except ValueError:
        return _failed(INTERNAL, f"no JSON: {said.getvalue()[:200]}")
    return {"exit": status if isinstance(status, int) else 0, "result": result}


def _failed(status: int, text: str) -> dict[str, Any]:
    return {"exit": status, "result": {"exit": status, "error": text, "problems": [text]}}


def main() -> None:
    """Answer until standard input ends."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # whatever writes to standard output by itself does not write into the answers
        for line in sys.stdin:
            asked = json.loads(line)
            os.chdir(asked["folder"])
            print(json.dumps(run(asked["command"], asked["arguments"])), file=answers, flush=True)


if __name__ == "__main__":
    main()
