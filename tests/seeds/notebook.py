"""Runs a program of cells as a notebook would: ``python notebook.py PROGRAM``.

Cells start at lines ``# %%``. The value of a cell's last line is printed when it is an expression with one, as pages with
code show it.
"""

import ast
import sys


def main(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    scope = {"__name__": "__main__"}
    starts = [i for i, line in enumerate(lines) if line.startswith("# %%")] or [0]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        body = ast.parse("\n" * start + "\n".join(lines[start:end]), path).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), path, "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), path, "eval"), scope)
            if value is not None:
                print(repr(value))


if __name__ == "__main__":
    main(sys.argv[1])
