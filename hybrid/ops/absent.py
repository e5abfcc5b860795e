"""Operators that MXNet 1.9.1 registers and that are not defined here, each with its reason: docs/operators.md lists them, and
tests/house/test_complete.py wants every operator of MXNet either here or in the registry."""

_ADDRESS = "calls a C or Python function by its address in the process that built the graph; use mx.operator.Custom"
_PATH = "reads a picture from a path when it runs, so that a model could name any file; mx.image.imread reads it"

ABSENT: dict[str, str] = {
    "_CachedOp": "a hybridized block while it runs: it points to a graph in memory, and no file contains it",
    "_CachedOpThreadSafe": "a hybridized block of the C++ interface while it runs, which no file contains",
    "_CustomFunction": "an autograd.Function while it is recorded, which no file contains; here a step of the tape",
    "_NDArray": _ADDRESS,
    "_Native": _ADDRESS,
    "_NoGradient": "marks in a backward graph under construction that there is no gradient; MXNet cannot run it either",
    "_cvimread": _PATH,
    "_npi_cvimread": _PATH,
    "_imdecode": "decodes a picture and subtracts a mean in the first interface to arrays; mx.image.imdecode is there",
    "_set_value": "writes a number into an array that exists, a statement and no value; x[:] = number does it",
}
