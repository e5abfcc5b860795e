"""Record with MXNet itself what a model gives: run this on the machine that still has MXNet. It needs mxnet and numpy alone.

    python record_with_mxnet.py PREFIX --inputs in.npz -o out.npz
    python record_with_mxnet.py PREFIX --input data:1,3,224,224 --range data:0,255 -o out.npz

PREFIX: of PREFIX-symbol.json and PREFIX-0000.params, as save_checkpoint of a Module and export of a Gluon block write them, or the
symbol file itself. The .npz holds the inputs and the outputs; elsewhere, without MXNet, a model is held against it with

    gluonnx verify MODEL --expected out.npz

Runs on Python 3.6 and newer and MXNet 1.0 to 1.9, on the CPU, in inference. Labels are fed zeros, as no network reads them then.
"""

# For old machines: no annotations that need a newer Python, and nothing of the package that this file comes with.

import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import sys
import zlib

# Before MXNet is loaded: 1.9.1 with oneDNN fuses an activation into its convolution also where both are outputs (--all), and then
# gives the convolution's numbers for both.
os.environ.setdefault("MXNET_SUBGRAPH_BACKEND", "NONE")

import mxnet as mx  # pyright: ignore[reportMissingImports]
import numpy as np


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


def drawn(name, shape, limits, seed):
    """Seeded numbers: evenly from a range, or else standard normal ones."""
    rng = np.random.RandomState((seed + zlib.crc32(name.encode())) % 2**32)
    values = rng.uniform(limits[0], limits[1], shape) if limits else rng.standard_normal(shape)
    return values.astype(np.float32)


def sets_of_inputs(arguments):
    """The inputs of each run."""
    shapes, ranges = parse(arguments.input, int), parse(arguments.range, float)
    sets = []
    for path in arguments.inputs:
        if not os.path.isfile(path):
            sys.exit(
                f"{path}: no such file; wanted an .npz of arrays named as the inputs, which np.savez({path!r}, data=array) writes; "
                "or let numbers be drawn: --input data:1,3,224,224 --range data:0,255"
            )
        with np.load(path) as stored:
            sets.append({name: stored[name] for name in stored.files})
    if not sets:
        sets = [{} for _ in range(arguments.runs)]
    for number, given in enumerate(sets):
        for name, shape in shapes.items():
            if name not in given:
                given[name] = drawn(name, shape, ranges.get(name), arguments.seed + number)
    return sets


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
            missing.append(name)
    if missing:
        sys.exit(f"no value for {missing}; give it in --inputs, or its shape as --input {missing[0]}:1,3,224,224")
    states = {
        name: stored[name] if name in stored else mx.nd.zeros(shape) for name, shape in zip(auxiliary, of_auxiliary)
    }
    return symbol.bind(mx.cpu(), args, aux_states=states, grad_req="null")


def digest(path):
    """sha256 of a file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    """Record, as the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="PREFIX, or PREFIX-symbol.json")
    parser.add_argument("--epoch", type=int, help="of the parameters; by default the newest")
    parser.add_argument("--params", help="the file of parameters, where it has another name")
    parser.add_argument("--inputs", action="append", default=[], help="an .npz of arrays by name; a run for each")
    parser.add_argument("--input", action="append", default=[], help="NAME:D1,D2,... of an input to draw")
    parser.add_argument("--range", action="append", default=[], help="NAME:LOW,HIGH of what is drawn")
    parser.add_argument("--runs", type=int, default=1, help="how many sets are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--outputs", action="append", default=[], help="inner outputs instead, such as fc1_output")
    parser.add_argument(
        "--all", action="store_true", help="every inner output: to find the first that is read otherwise"
    )
    parser.add_argument("-o", "--output", required=True, help="the .npz to write")
    arguments = parser.parse_args()

    path, params = files_of(arguments.model, arguments.epoch, arguments.params)
    symbol, stored = mx.sym.load(path), parameters(params)
    inner, heads = symbol.get_internals(), symbol.list_outputs()
    names = (
        [name for name in inner.list_outputs() if name not in symbol.list_inputs()]
        if arguments.all
        else arguments.outputs
    )
    if names:
        symbol = mx.sym.Group([inner[name] for name in names])
    members = {}
    for number, given in enumerate(sets_of_inputs(arguments)):
        try:
            bound = executor(symbol, stored, given)
        except mx.base.MXNetError as error:
            sizes = ", ".join(f"{name} {array.shape}" for name, array in sorted(given.items()))
            said = str(error).strip().split("\n")[0]
            sys.exit(
                f"MXNet does not take {sizes}: {said}; give the sizes that the network was trained for, (N, C, H, W) as a rule"
            )
        for name, array in given.items():
            members[f"{number}/inputs/{name}"] = array
        for name, array in zip(symbol.list_outputs(), bound.forward(is_train=False)):
            members[f"{number}/outputs/{name}"] = array.asnumpy()
    if not members:
        sys.exit("nothing to record; give --inputs FILE.npz or --input NAME:D1,D2,...")
    facts = {
        "format": 1,
        "by": "MXNet " + mx.__version__,
        "script": "record_with_mxnet.py",
        "date": datetime.datetime.utcnow().isoformat()[:19] + "+00:00",
        "model": re.sub(r"(-symbol)?\.json$", "", os.path.basename(path)),
        "files": {os.path.basename(file): digest(file) for file in (path, params) if file},
        "outputs": arguments.outputs or heads,
        "seed": arguments.seed,
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
    print(f"recorded by MXNet {mx.__version__} in {arguments.output}")


if __name__ == "__main__":
    main()
