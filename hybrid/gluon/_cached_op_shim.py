"""TEMPORARY: stands in for hybrid.cached_op."""
from ..graph.executor import Program
from ..ndarray import NDArray
class CachedOp:
    def __init__(self, symbol, flags=()):
        self.program = Program(symbol.graph); self.names = symbol.list_inputs()
    def __call__(self, *inputs):
        out = self.program.run({n: a._array for n, a in zip(self.names, inputs)})
        out = [NDArray(o) for o in out]
        return out[0] if len(out) == 1 else out
