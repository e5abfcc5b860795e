"""Run an ONNX model with somebody else's engine: a program for the interpreter that has it. It needs that engine and numpy alone.

    python run_on_target.py --versions opencv-python-headless opencv-python
    python run_on_target.py opencv            # then a line of JSON for the model, and one for each set of inputs

The lines and their answers, as bridge/targets/process.py writes and reads them:

    {"model": "m.onnx", "folder": "scratch", "inputs": {"data": [[1, 3, 8, 8], "float32"]}, "outputs": {"y": [1, 10]}}
    {"ok": true, "default": "bfloat16"} or {"refused": "words of the engine"}
    {"in": "in.npz", "out": "out.npz"}
    {"ok": true} or {"failed": "words of the engine"}

"default" is the precision that the engine would choose by itself on this machine, where it lets one choose and says it.
Arrays are called i0, i1, ... in the order of the inputs, and arr_0, arr_1, ... in that of the outputs. One thread, on the CPU, in
float32 where the engine lets one choose. Runs on Python 3.8 and newer.
"""

# For any machine: nothing of the package that this file comes with, and no package before its adapter is asked for.

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  after the threads of its libraries are limited

LINES = 12
"""Lines of a converter's own words that are told."""


class Refused(Exception):
    """Words of an engine that does not take the model."""


def onnxruntime(model, asked):
    """The model in onnxruntime, with all of its optimizations: a function from arrays by name to the outputs in order."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(list(asked["outputs"]), feeds)


def reference(model, asked):
    """The model in onnx's own evaluator: a function from arrays by name to the outputs in order."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)
    return lambda feeds: evaluator.run(list(asked["outputs"]), feeds)


def openvino(model, asked):
    """The model in OpenVINO: a function from arrays by name to the outputs in order."""
    try:
        from openvino import Core  # pyright: ignore[reportMissingImports]
    except ImportError:  # before 2023.1
        from openvino.runtime import Core  # pyright: ignore[reportMissingImports]

    core = Core()
    compiled = core.compile_model(
        core.read_model(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}
    )
    ports = [next(p for p in compiled.outputs if name in p.names) for name in asked["outputs"]]

    def run(feeds):
        found = compiled(feeds)
        return [np.array(found[p]) for p in ports]

    with contextlib.suppress(RuntimeError):  # a release without the property says nothing of it
        short = str(core.get_property("CPU", "INFERENCE_PRECISION_HINT").get_type_name())
        run.default = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}.get(short, short)
    return run


def opencv(model, asked):
    """The model in OpenCV's dnn module: a function from arrays by name to the outputs in order."""
    import cv2  # pyright: ignore[reportMissingImports]

    cv2.setNumThreads(1)
    net = cv2.dnn.readNetFromONNX(model)
    # 4.x knows no 64-bit integers and reads those of a model as 32-bit ones, or as floats where it computes with them
    narrow = int(cv2.__version__.split(".")[0]) < 5
    names = list(asked["outputs"])

    def run(feeds):
        for name, array in feeds.items():
            if narrow and array.dtype != np.float32:
                array = array.astype(np.float32)
            array = np.ascontiguousarray(array)
            # three dimensions are an image of channels to its Python, unless one says that they are not
            net.setInput(cv2.Mat(array, wrap_channels=False) if array.ndim == 3 else array, name)
        found = net.forward(names)
        return list(found)

    return run


def mnn(model, asked):
    """The model in MNN, converted by what its package holds: a function from arrays by name to the outputs in order."""
    import MNN.expr  # pyright: ignore[reportMissingImports]
    import MNN.nn  # pyright: ignore[reportMissingImports]

    made = os.path.join(asked["folder"], "model.mnn")
    # not its command mnnconvert, which sends a log of the conversion to its makers, and waits where there is no network
    words = ["-f", "ONNX", "--modelFile", model, "--MNNModel", made, "--bizCode", "x"]
    said = _called([sys.executable, "-c", "import sys, MNN, _tools; _tools.mnnconvert(sys.argv)", *words])
    if not os.path.exists(made):
        raise Refused(said)
    names = list(asked["inputs"])
    runtime = MNN.nn.create_runtime_manager(({"precision": "high", "backend": 0, "numThread": 1},))
    runtime.set_hint(3, 0)  # WINOGRAD_MEMORY_LEVEL: no large tiles, which round convolutions to 3 digits
    net = MNN.nn.load_module_from_file(made, names, list(asked["outputs"]), runtime_manager=runtime)
    kinds = {"float32": MNN.expr.float, "int32": MNN.expr.int, "uint8": MNN.expr.uint8, "int8": MNN.expr.int8}

    def run(feeds):
        given = []
        for name in names:
            array = feeds[name]
            array = array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
            place = MNN.expr.placeholder(list(array.shape), MNN.expr.NCHW, kinds[array.dtype.name])
            place.write(np.ascontiguousarray(array))
            given.append(place)
        found = net.forward(given)
        return [np.array(MNN.expr.convert(f, MNN.expr.NCHW).read()) for f in found]

    return run


def ncnn(model, asked):
    """The model in ncnn, converted by pnnx: a function from arrays by name to the outputs in order."""
    import ncnn  # pyright: ignore[reportMissingImports]

    folder = asked["folder"]
    kinds = {"float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8"}
    sizes = [f"[{','.join(map(str, shape))}]{kinds[dtype]}" for shape, dtype in asked["inputs"].values()]
    made = {n: os.path.join(folder, f"model.{n}") for n in ("pnnx.param", "pnnx.bin", "ncnn.param", "ncnn.bin")}
    said = _called(
        [_inside("pnnx", "pnnx"), model, "inputshape=" + ",".join(sizes), "fp16=0", "optlevel=2"]
        + [f"{n.replace('.', '')}={path}" for n, path in made.items()]
        + [f"pnnxpy={folder}/model_pnnx.py", f"ncnnpy={folder}/model_ncnn.py", f"pnnxonnx={folder}/model.pnnx.onnx"],
        folder,
    )
    if not os.path.exists(made["ncnn.param"]):
        raise Refused(said)
    with open(made["ncnn.param"], encoding="utf-8") as file:
        kinds_made = [line.split()[0] for line in file if line.strip()]
    unknown = sorted({kind for kind in kinds_made if "." in kind})
    if unknown:
        raise Refused("no layers of ncnn for " + ", ".join(unknown))
    net = ncnn.Net()
    net.opt.num_threads = 1
    net.opt.use_vulkan_compute = False
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    if net.load_param(made["ncnn.param"]) or net.load_model(made["ncnn.bin"]):
        raise Refused("ncnn loads no network from what pnnx has made: " + said)

    # ncnn has no batch: pnnx says in the program that it writes which axis of an input it took for one, 233 where none
    with open(os.path.join(folder, "model_ncnn.py"), encoding="utf-8") as file:
        told = re.findall(r'ex\.input\("(in\d+)".*batch_index=(\d+)', file.read())
    batches = {name: int(axis) for name, axis in told}

    def run(feeds):
        with net.create_extractor() as extractor:
            for number, array in enumerate(feeds.values()):
                array = array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
                axis = batches.get(f"in{number}", 0)
                if axis < array.ndim and array.ndim > 1 and array.shape[axis] == 1:
                    array = array.squeeze(axis)
                if extractor.input(f"in{number}", ncnn.Mat(np.ascontiguousarray(array)).clone()):
                    raise RuntimeError(f"no input in{number}")
            found = []
            for number in range(len(asked["outputs"])):
                status, mat = extractor.extract(f"out{number}")
                if status:
                    raise RuntimeError(f"out{number} is not computed (status {status})")
                found.append(np.array(mat))
            return found

    return run


def tract(model, asked):
    """The model in tract, whose inputs are told their sizes: a function from arrays by name to the outputs in order."""
    import tract  # pyright: ignore[reportMissingImports]

    kinds = {"float32": "f32", "float16": "f16", "float64": "f64", "int64": "i64", "int32": "i32"}
    kinds.update({"int8": "i8", "uint8": "u8", "bool": "bool"})
    loaded = tract.onnx().load(model)
    for number, (shape, dtype) in enumerate(asked["inputs"].values()):
        loaded.set_input_fact(number, ",".join([*map(str, shape), kinds[dtype]]))
    ready = loaded.into_model().into_runnable()
    return lambda feeds: [o.to_numpy() for o in ready.run(list(feeds.values()))]


def onnx2torch(model, asked):
    """The model as a module of PyTorch: a function from arrays by name to the outputs in order."""
    import onnx
    import torch  # pyright: ignore[reportMissingImports]
    from onnx2torch import convert  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    net = convert(model).eval()
    # it gives one thing for each node that makes outputs: a tensor, or a tuple of all outputs of the node
    makers = {
        name: (node.output[0], place) for node in onnx.load(model).graph.node for place, name in enumerate(node.output)
    }
    nodes = list(dict.fromkeys(makers[name][0] for name in asked["outputs"] if name in makers))

    def run(feeds):
        with torch.no_grad():
            found = net(*[torch.from_numpy(np.array(a)) for a in feeds.values()])
        parts = dict(zip(nodes, found if len(nodes) > 1 else [found]))
        chosen = [(parts[makers[name][0]], makers[name][1]) for name in asked["outputs"]]
        return [(part[place] if isinstance(part, tuple) else part).numpy() for part, place in chosen]

    return run


ADAPTERS = {f.__name__: f for f in (onnxruntime, reference, openvino, opencv, mnn, ncnn, tract, onnx2torch)}


def _inside(package, name):
    """A program that a package holds. The package is not imported: pnnx would import PyTorch."""
    found = importlib.util.find_spec(package)
    folders = found.submodule_search_locations if found is not None else None
    if not folders:
        raise Refused(f"the package {package} is not installed beside it")
    return os.path.join(folders[0], name)


def _called(words, folder=None):
    """The last lines of what a program says. Raises Refused with them when a signal ended it."""
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    lines = [line for line in done.stdout.decode(errors="replace").splitlines() if line.strip()]
    said = "\n".join(lines[-LINES:])
    if done.returncode < 0:
        raise Refused(f"{os.path.basename(words[0])} crashed with signal {-done.returncode}: {said}")
    return said


def _said(error):
    """Words of an exception: those of the engine, without the end of a traceback."""
    return f"{str(error).strip() or type(error).__name__}"


def versions(names):
    """The versions of packages by name, of those that are installed."""
    from importlib import metadata

    found = {}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def serve(adapter, lines, answer):
    """Open the model that the first line names, and run it on what the others do."""
    asked = json.loads(next(lines))
    try:
        run = ADAPTERS[adapter](asked["model"], asked)
    except Exception as error:  # whatever an engine raises
        answer({"refused": _said(error), "kind": type(error).__name__})
        return
    default = getattr(run, "default", "")
    answer({"ok": True, "default": default} if default else {"ok": True})
    for line in lines:
        places = json.loads(line)
        with np.load(places["in"]) as stored:
            feeds = {name: stored[f"i{number}"] for number, name in enumerate(asked["inputs"])}
        try:
            found = run(feeds)
        except Exception as error:
            answer({"failed": _said(error), "kind": type(error).__name__})
            continue
        np.savez(places["out"], *map(np.asarray, found))  # arr_0, arr_1, ...
        answer({"ok": True})


def main():
    """The command line: versions, or an adapter that answers line by line."""
    if sys.argv[1] == "--versions":
        print(json.dumps(versions(sys.argv[2:])))
        return
    # engines print what they like: the answers go where standard output was, and nothing else does
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(told):
        answers.write(json.dumps(told) + "\n")
        answers.flush()

    serve(sys.argv[1], iter(sys.stdin.readline, ""), answer)


if __name__ == "__main__":
    main()
