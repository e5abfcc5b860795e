"""Programs that nobody here wrote, in a side environment: their modules, one job each, their own tests.

python -m tests.clients DIR [CLIENT ...] [--install] [--only imports job tests] [--json] [--document] [--floors]

DIR is a side environment (Python 3.11 with NumPy 1.23.5 and real MXNet 1.9.1); ``--install`` makes it. The clients' own tests are
looked for in DIR/src/<client>, trees of their repositories at the version of the table; MXNet's examples, which CLIENT may name as
``examples``, in DIR/src/mxnet/example. Exit status 1 when less is reached than
floors.json says."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from pathlib import Path

from . import examples, measure
from .table import BENEATH, CLIENTS, Client

FLOORS = Path(__file__).parent / "floors.json"
PARTS = ("imports", "job", "tests")


def install(folder: Path, clients: list[Client]) -> list[str]:
    """Make the side environment for these clients; what could not be installed is told."""
    venv.create(folder, with_pip=True)
    failed = []
    for requirement in (*BENEATH, *(client.requirement for client in clients)):
        command = [
            str(measure.python(folder)),
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--ignore-requires-python",
            requirement,
        ]
        if requirement not in BENEATH[:3]:
            command.insert(-1, "--no-build-isolation")
        if subprocess.run(command, check=False).returncode:
            failed.append(requirement)
    return failed


def measured(client: Client, folder: Path, parts: tuple[str, ...]) -> dict:
    """The figures of a client, on both engines: what floors.json holds, and the reasons of what is missing."""
    figures: dict = {"client": client.name, "version": client.requirement.partition("==")[2], "reasons": {}}
    if "imports" in parts:
        mine, real = (measure.modules(client, folder, engine) for engine in measure.ENGINES)
        figures["modules"] = mine["modules"] - len(mine["failed"])
        figures["modules real"] = real["modules"] - len(real["failed"])
        figures["reasons"] |= {k: v for k, v in mine["failed"].items() if k not in real["failed"]}
    if "job" in parts and client.job is not None:
        mine, real = (measure.job(client, folder, engine) for engine in measure.ENGINES)
        wrong = measure.differing(mine["numbers"], real["numbers"])
        figures["numbers"] = len({name for name, _ in real["numbers"]} - set(wrong))
        figures["numbers real"] = len({name for name, _ in real["numbers"]})
        figures["reasons"] |= {f"job: {name}": mine["failed"] or "another number" for name in wrong}
        if real["failed"]:
            figures["reasons"]["job on real MXNet"] = real["failed"]
    if "tests" in parts and client.tests:
        real = {k for k, v in measure.tests(client, folder, "real").items() if v == measure.PASSED}
        mine = measure.tests(client, folder, "ours", {k.partition(" ")[0] for k in real})
        figures["tests"] = sum(mine.get(k) == measure.PASSED for k in real)
        figures["tests real"] = len(real)
        figures["reasons"] |= {k: mine.get(k, "not reached") for k in sorted(real) if mine.get(k) != measure.PASSED}
    return figures


def missed(figures: list[dict], floors: dict[str, dict[str, int]]) -> list[str]:
    """List what is below its floor, in words."""
    return [
        f"{row['client']}: {row[part]} {part}, at least {floor} before"
        for row in figures
        for part, floor in floors.get(row["client"], {}).items()
        if part in row and row[part] < floor
    ]


def raised(figures: list[dict], floors: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Floors as these figures have them; none is lowered."""
    new = {client: dict(parts) for client, parts in floors.items()}
    for row in figures:
        for part in ("modules", "numbers", "tests"):
            if part in row:
                new.setdefault(row["client"], {})[part] = max(row[part], new.get(row["client"], {}).get(part, 0))
    return new


def document(figures: list[dict]) -> str:
    """The table as Markdown, with what remains beneath."""
    lines = [
        "# Third-party programs",
        "",
        "Packages and programs that others wrote for MXNet, run with `import mxnet` meaning gluonnx, nothing",
        "in them changed. Each cell says how much of what works on real MXNet 1.9.1 works here too, in the",
        "same environment:",
        "",
        "- *modules*: how many import;",
        "- *numbers*: results of one job on random data, such as training a network, that agree to 1e-3;",
        "- *tests*: how many of the package's own tests pass.",
        "",
        "Written by `python -m tests.clients DIR --document`.",
        "",
        "| program | version | modules | numbers | tests |",
        "|---|---|---|---|---|",
    ]
    for row in figures:
        cells = (
            f"{row[p]} of {row[p + ' real']}" if row.get(p, 0) > 0 else "-" for p in ("modules", "numbers", "tests")
        )
        lines.append(f"| {row['client']} | {row['version']} | {' | '.join(cells)} |")
    remaining = [
        f"- {row['client']}, {what}: {' '.join(why.split())}" for row in figures for what, why in row["reasons"].items()
    ]
    return "\n".join([*lines, "", "## What remains", "", *(remaining or ["Nothing."])]) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help="all by default")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--install", action="store_true", help="make the environment first")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--document", action="store_true", help="print docs/clients.md")
    parser.add_argument("--floors", action="store_true", help="raise floors.json to what is reached")
    options = parser.parse_intermixed_args(argv)  # clients may stand behind --install
    names = options.clients or [*CLIENTS, examples.NAME]
    clients = [CLIENTS[name] for name in names if name != examples.NAME]
    if options.install and (failed := install(options.folder, clients)):
        print(f"not installed: {', '.join(failed)}", file=sys.stderr)
    if not measure.python(options.folder).exists():
        parser.error(
            f"{options.folder} is no environment; python -m tests.clients {options.folder} --install makes one"
        )
    figures = [measured(client, options.folder, tuple(options.only)) for client in clients]
    if examples.NAME in names and "tests" in options.only:
        figures.append(examples.measured(options.folder))
    floors = json.loads(FLOORS.read_text())
    if options.floors:
        FLOORS.write_text(json.dumps(raised(figures, floors), indent=1) + "\n")
    print(json.dumps(figures, indent=1) if options.json else document(figures), end="")
    below = missed(figures, floors)
    for line in below:
        print(f"BELOW ITS FLOOR: {line}", file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
