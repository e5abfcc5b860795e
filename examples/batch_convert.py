"""Convert all models of a folder at once, go on after a break, and say what came of each.

    python examples/batch_convert.py                                      # four small ones
    python examples/batch_convert.py MODELS -o OUT --each "--batch 8" --on local:4

The list is models.txt, the ONNX files lie in OUT; the exit status is the command's."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures/models"
SMALL = ("lenet", "mobile_face", "logistic_regression", "text_cnn")


def write_list(file, symbols, options):
    """Write the list that `gluonnx convert` reads: a model a line, with options of its own."""
    lines = []
    for symbol in symbols:
        inputs = symbol.with_name("inputs.npz")  # what the model takes, where somebody kept it
        known = f"--inputs {inputs}" if inputs.exists() else ""
        output = f"{symbol.parent.name}/{symbol.name.removesuffix('-symbol.json')}"
        lines.append(f"{symbol} {known} {options} -o {output}")
    file.write_text("\n".join(lines) + "\n")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path, nargs="?", help="with models, also further down")
    options.add_argument("-o", "--output", type=Path, default=Path("converted"))
    options.add_argument("--each", default="", help="options of gluonnx convert for every model")
    options.add_argument("--on", help="local:N, or the address of a scheduler of Dask")
    given = options.parse_args()

    chosen = sorted(given.folder.rglob("*-symbol.json")) if given.folder else None
    symbols = chosen or [FIXTURES / name / "model-symbol.json" for name in SMALL]
    write_list(Path("models.txt"), symbols, given.each)

    command = [sys.executable, "-m", "gluonnx", "convert", "models.txt", "-o", given.output]
    command += ["--json", *(["--on", given.on] if given.on else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if not done.stdout.startswith("{"):
        raise SystemExit(done.returncode)  # the list is wrong; the command has said how
    for model in json.loads(done.stdout)["models"]:
        said = f"{model['status']:20} {model['output']:28} {model['seconds']:5.1f} s"
        print(said, "from before" if model["again"] else model["detail"])
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
