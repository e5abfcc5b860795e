"""Record with MXNet itself what a model gives: run this on the machine that still has MXNet. It needs mxnet and numpy alone.

    python record_with_mxnet.py PREFIX --inputs in.npz -o out.npz
    python record_with_mxnet.py PREFIX --input data:1,3,224,224 --range data:0,255 -o out.npz

PREFIX: of PREFIX-symbol.json and PREFIX-0000.params, as save_checkpoint of a Module and export of a Gluon block write them, or the
symbol file itself. The .npz holds the inputs and the outputs; elsewhere, without MXNet, a model is held against it with

    gluonnx verify MODEL --expected out.npz

Numbers are drawn as gluonnx draws them where nothing is known of an input: as they are expected, wider, and at the edges, so that
bounds inside a network (the 6 of a relu6) are reached. gluonnx knows more of some inputs (which rows a table has): what
``gluonnx record`` has written can be given as --inputs, and is recorded again, all of its runs.

Runs on Python 3.6 and newer and MXNet 1.0 to 1.9, on the CPU, in inference. Labels are fed zeros, as no network reads them then.
"""

# For old machines: no annotations that need a newer Python, and nothing of the package that this file comes with.

import argparse
import datetime
import difflib
import hashlib
import json
import os
import platform
import re
import sys

# Before MXNet is loaded: 1.9.1 with oneDNN fuses an activation into its convolution also where both are outputs (--all), and then
# gives the convolution's numbers for both.
os.environ.setdefault("MXNET_SUBGRAPH_BACKEND", "NONE")

import mxnet as mx  # pyright: ignore[reportMissingImports]
import numpy as np
from plain_draws import EXPECTED, KINDS, MADE_UP, Numbers, Way, first_that_runs

ITSELF = mx.__name__ == "mxnet"
"""gluonnx is importable as mxnet, too, and its numbers are not MXNet's."""
RUN = re.compile(r"(\d+)/inputs/(.+)", re.DOTALL)
"""A member of a recording."""


def files_of(name, epoch, params):
    """The symbol file and the file of parameters (None where there is none) that a name means."""
    symbol = name if name.endswith(".json") else name + "-symbol.json"
    if not os.path.isfile(symbol):
        sys.exit(f"{symbol}: no such file; wanted a prefix, or a -symbol.json file")
    if params:
        return symbol, params
    folder = os.path.dirname(symbol) or "."
    prefix = re.sub(r"(-symbol)?\.json$", "", os.path.basename(symbol))
    found = {}
    for file in os.listdir(folder):
        match = re.match(re.escape(prefix) + r"-(\d+)\.params$", file)
        if match:
            found[int(match.group(1))] = os.path.join(folder, file)
    if epoch is not None and epoch not in found:
        sys.exit(f"{symbol}: no parameters of epoch {epoch} beside it; there are {sorted(found) or 'none'}")
    return symbol, found[epoch if epoch is not None else max(found)] if found else None


def parameters(path):
    """Arrays by bare name, and the names of those that are auxiliary."""
    loaded = mx.nd.load(path) if path else {}
    arrays, auxiliary = {}, set()
    for name, array in loaded.items() if isinstance(loaded, dict) else ():
        kind, _, bare = name.partition(":")
        if kind == "aux":
            auxiliary.add(bare)
        arrays[bare if kind in ("arg", "aux") else name] = array
    return arrays


def parse(texts, of):
    """NAME:NUMBER,... by name."""
    out = {}
    for text in texts:
        name, _, rest = text.rpartition(":")
        try:
            out[name] = tuple(of(part) for part in rest.split(","))
        except ValueError:
            sys.exit(f"{text!r}: wanted NAME:NUMBER,NUMBER,...")
        if not name:
            sys.exit(f"{text!r}: wanted NAME:NUMBER,NUMBER,...")
    return out


class Case:
    """Inputs of a run, drawn where no array is given."""

    def __init__(self, given, shapes, ranges, seed, way=EXPECTED):
        """given: arrays by name. shapes: of inputs, which are drawn where they are not among these."""
        self.given, self.shapes, self.ranges, self.seed, self.way = given, shapes, ranges, seed, way
        self.feeds, self.kind, self.made_up = dict(given), "given", way.kind in MADE_UP
        for name, shape in shapes.items():
            if name not in given:
                one = Numbers(name, shape, np.dtype(np.float32), seed, way)
                values, _ = one.real(*ranges[name]) if name in ranges else one.normal()
                self.feeds[name], self.kind = values.astype(np.float32), way.kind

    @property
    def milder(self):
        """The maker of the case that it gives way to; None where there is none."""
        milder = self.way.milder
        return None if milder is None else lambda: self.drawn(milder)

    def drawn(self, way):
        """The same, drawn in another way."""
        return Case(self.given, self.shapes, self.ranges, self.seed, way)


def read(path):
    """The sets of inputs in an .npz and how they were drawn: one set of arrays by name, or those of all runs of a recording."""
    with np.load(path) as stored:
        members = {name: RUN.match(name) for name in stored.files}
        if not any(members.values()):
            return [(dict(stored), "given")]
        runs = {}
        for name, match in members.items():
            if match:
                runs.setdefault(int(match.group(1)), {})[match.group(2)] = stored[name]
        facts = json.loads(str(stored["gluonnx"])) if "gluonnx" in members else {}
        kinds = facts.get("kinds") or []
        if len(kinds) != len(runs):
            kinds = ["given"] * len(runs)
        return [(runs[number], kind) for number, kind in zip(sorted(runs), kinds)]


def sets_of_inputs(arguments):
    """The cases that are recorded in any case, and those that are made up, each with the number of the one beside which it is
    looked at."""
    shapes, ranges = parse(arguments.input, int), parse(arguments.range, float)
    kinds = [kind for kind in arguments.draws.split(",") if kind]
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        sys.exit(f"--draws: got {', '.join(unknown)}, wanted some of {','.join(KINDS)}")
    sets = []
    for path in arguments.inputs:
        if not os.path.isfile(path):
            sys.exit(
                f"{path}: no such file; wanted an .npz of arrays named as the inputs, which np.savez({path!r}, data=array) writes; "
                "or let numbers be drawn: --input data:1,3,224,224 --range data:0,255"
            )
        sets += read(path)
    cases, further = [], []
    for given, kind in sets or [({}, "given")] * arguments.runs:
        case = Case(given, shapes, ranges, arguments.seed + len(cases))
        if case.kind == "given":
            case.kind, case.made_up = kind, kind in MADE_UP
        if case.made_up:
            further.append((case, 0))
            continue
        if case.kind != "given" and (sets or not cases) and set(case.feeds) != set(given):
            further += [(case.drawn(Way(each)), len(cases)) for each in kinds if each in MADE_UP]
        cases.append(case)
    if not cases:
        sys.exit("nothing to record but draws that were made up beside others; give the whole recording")
    return cases, further


def executor(symbol, stored, given):
    """The symbol bound to arrays: those given, those stored, and zeros for labels."""
    arguments, auxiliary = symbol.list_arguments(), symbol.list_auxiliary_states()
    unknown = sorted(set(given) - set(arguments))
    if unknown:
        free = [name for name in arguments if name not in stored]
        sys.exit(f"inputs {unknown}: the symbol has none of these names; it takes {free}")
    known = {name: array.shape for name, array in stored.items() if name in arguments}
    known.update({name: array.shape for name, array in given.items()})
    shapes, _, of_auxiliary = symbol.infer_shape_partial(**known)
    dtypes = {name: array.dtype for name, array in stored.items() if name in arguments}
    dtypes.update({name: array.dtype for name, array in given.items()})
    types = dict(zip(arguments, symbol.infer_type(**dtypes)[0] or [np.float32] * len(arguments)))
    args, missing = {}, []
    for name, shape in zip(arguments, shapes):
        if name in given:
            args[name] = mx.nd.array(given[name], dtype=given[name].dtype)
        elif name in stored:
            args[name] = stored[name]
        elif name.endswith("label") and shape and all(size > 0 for size in shape):
            args[name] = mx.nd.zeros(shape, dtype=types[name])
        else:
            missing.append((name, ",".join(map(str, shape)) if shape and min(shape) > 0 else "1,3,224,224"))
    if missing:
        wanted = " ".join(f"--input {name}:{sizes}" for name, sizes in missing)
        sys.exit(f"no value for {[name for name, _ in missing]}; give it in --inputs, or its shape as {wanted}")
    states = {
        name: stored[name] if name in stored else mx.nd.zeros(shape) for name, shape in zip(auxiliary, of_auxiliary)
    }
    return symbol.bind(mx.cpu(), args, aux_states=states, grad_req="null")


def named(texts, outputs):
    """Names of inner outputs that an option gives; with commas between them, where no output is called so as it stands."""
    found = []
    for text in texts:
        found += [text] if text in outputs else [part.strip() for part in text.split(",") if part.strip()]
    for name in found:
        if name not in outputs:
            close = difflib.get_close_matches(name, outputs, 3, 0.3) or outputs[-3:]
            sys.exit(f"--outputs {name}: the symbol has no output of that name; did you mean {' or '.join(close)}?")
    return found


def digest(path):
    """sha256 of a file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def said(error):
    """The first line of an error."""
    return str(error).strip().split("\n")[0]


def refusal(error):
    """Words for what MXNet does not take; empty for any other error."""
    return f"MXNet does not take it ({said(error)})" if isinstance(error, mx.base.MXNetError) else ""


def main():
    """Record, as the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="PREFIX, or PREFIX-symbol.json")
    parser.add_argument("--epoch", type=int, help="of the parameters; by default the newest")
    parser.add_argument("--params", help="the file of parameters, where it has another name")
    parser.add_argument(
        "--inputs",
        action="append",
        default=[],
        help="an .npz of arrays by name, a run for each; or an earlier recording",
    )
    parser.add_argument("--input", action="append", default=[], help="NAME:D1,D2,... of an input to draw")
    parser.add_argument("--range", action="append", default=[], help="NAME:LOW,HIGH of what is drawn")
    parser.add_argument("--runs", type=int, default=1, help="how many sets are drawn")
    parser.add_argument("--draws", default=",".join(KINDS), help="kinds of draws, by default " + ",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--outputs", action="append", default=[], help="inner outputs instead, such as fc1_output, with commas"
    )
    parser.add_argument(
        "--all", action="store_true", help="every inner output: to find the first that is read otherwise"
    )
    parser.add_argument("-o", "--output", required=True, help="the .npz to write")
    arguments = parser.parse_args()

    path, params = files_of(arguments.model, arguments.epoch, arguments.params)
    symbol, stored = mx.sym.load(path), parameters(params)
    inner, heads = symbol.get_internals(), symbol.list_outputs()
    arguments.outputs = named(arguments.outputs, inner.list_outputs())
    names = (
        [name for name in inner.list_outputs() if name not in symbol.list_inputs()]
        if arguments.all
        else arguments.outputs
    )
    if names:
        symbol = mx.sym.Group([inner[name] for name in names])

    def run(case):
        outputs = executor(symbol, stored, case.feeds).forward(is_train=False)
        return {name: array.asnumpy() for name, array in zip(symbol.list_outputs(), outputs)}

    cases, further = sets_of_inputs(arguments)
    recorded, kinds = [], []
    for case in cases:
        try:
            recorded.append((case.feeds, run(case)))
        except mx.base.MXNetError as error:
            sizes = ", ".join(f"{name} {array.shape}" for name, array in sorted(case.feeds.items()))
            sys.exit(
                f"MXNet does not take {sizes}: {said(error)}; give the sizes that the network was trained for, (N, C, H, W) as a "
                "rule"
            )
        kinds.append(case.kind)
    for case, number in further:
        chosen, outputs, why = first_that_runs(case, run, refusal, recorded[number][1])
        if chosen is None:
            print(f"the draw of {case.kind} was left out: {why}")
            continue
        recorded.append((chosen.feeds, outputs))
        kinds.append(chosen.kind)
    members = {
        f"{number}/{kind}/{name}": array
        for number, both in enumerate(recorded)
        for kind, arrays in zip(("inputs", "outputs"), both)
        for name, array in arrays.items()
    }
    if not members:
        sys.exit("nothing to record; give --inputs FILE.npz or --input NAME:D1,D2,...")
    by = "MXNet " + mx.__version__ if ITSELF else "gluonnx in the place of MXNet"
    facts = {
        "format": 1,
        "by": by,
        "script": "record_with_mxnet.py",
        "date": datetime.datetime.utcnow().isoformat()[:19] + "+00:00",
        "model": re.sub(r"(-symbol)?\.json$", "", os.path.basename(path)),
        "files": {os.path.basename(file): digest(file) for file in (path, params) if file},
        "outputs": arguments.outputs or heads,
        "seed": arguments.seed,
        "kinds": kinds,
        "ranges": parse(arguments.range, float),
        "subgraph_backend": os.environ["MXNET_SUBGRAPH_BACKEND"],
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    members["gluonnx"] = np.array(json.dumps(facts))
    np.savez(arguments.output, **members)
    for name in sorted(members):
        if "/outputs/" in name:
            print(f"{name}: {members[name].dtype} {members[name].shape}")
    print(f"recorded by {by} in {arguments.output}")
    if not ITSELF:
        print(
            "gluonnx ran here and not MXNet: this says nothing of how gluonnx reads the model. Run the script with plain "
            "`python`, where MXNet is installed",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
