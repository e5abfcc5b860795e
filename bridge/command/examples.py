"""Examples at the end of each command's help.

Tests run all of them, in a folder that holds a small network as ``model-symbol.json``,
``model-0000.params`` and ``model.onnx``, another one as ``other.onnx``, ``inputs.npz`` and a ``gluonnx.toml``."""

from __future__ import annotations

EXAMPLES = {
    "convert": (
        "gluonnx convert model-symbol.json --input data:1,1,28,28 -o lenet.onnx",
        "gluonnx convert model --input data:1,1,28,28 --dynamic data:0=batch --report report.html -o lenet.onnx",
    ),
    "import": (
        "gluonnx import model.onnx -o net",
        "gluonnx import model.onnx -o net --for-mxnet",
    ),
    "deploy": (
        "gluonnx deploy model.onnx served --to triton",
        "gluonnx deploy model.onnx program --to python",
    ),
    "verify": (
        "gluonnx verify model-symbol.json model.onnx",
        "gluonnx verify model-symbol.json model.onnx --runs 3 --report report.html",
    ),
    "record": (
        "gluonnx record model-symbol.json --input data:1,1,28,28 -o lenet.npz",
        "gluonnx record model.onnx --inputs inputs.npz -o lenet.npz",
    ),
    "check": (
        "gluonnx check",
        "gluonnx check --report out --junit junit.xml",
    ),
    "diff": (
        "gluonnx diff model.onnx other.onnx",
        "gluonnx diff model.onnx other.onnx --report diff.html",
    ),
    "reduce": (
        "gluonnx reduce model.onnx other.onnx -o smallest",
        "gluonnx reduce model.onnx other.onnx --inputs inputs.npz -o smallest",
    ),
    "matrix": (
        "gluonnx matrix model-symbol.json model.onnx --input data:1,1,28,28",
        "gluonnx matrix model.onnx --runners gluonnx,onnxruntime:none,onnxruntime:all",
    ),
    "targets": (
        "gluonnx targets",
        "gluonnx targets tensorrt-10",
    ),
    "explain": (
        "gluonnx explain shape-of-input",
        "gluonnx explain opset",
    ),
    "inspect": (
        "gluonnx inspect model-symbol.json --input data:1,1,28,28",
        "gluonnx inspect model.onnx --nodes",
    ),
    "run": (
        "gluonnx run model-symbol.json --inputs inputs.npz",
        "gluonnx run model.onnx --inputs inputs.npz -o outputs.npz",
    ),
    "compile": (
        "gluonnx compile model-symbol.json --input data:1,1,28,28",
        "gluonnx compile model.onnx --inputs inputs.npz -o fast.gluonnx",
    ),
    "bench": (
        "gluonnx bench model.onnx --seconds 0.1",
        "gluonnx bench model-symbol.json --input data:1,1,28,28 --seconds 0.1 --threads 1",
    ),
}
"""Two of each command. Exit status 0, but of ``diff``, which says by 1 that it found differences."""


def epilog(command: str) -> str:
    """The end of a command's help; an empty line stands for a new one."""
    return "\n\n".join(("Examples:", *EXAMPLES[command]))
