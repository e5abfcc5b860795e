"""The table that ``Block.summary`` prints."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple, Protocol

from ..ndarray import NDArray
from .parameter_dict import ParameterDict
from .utils import HookHandle


class Layer(Protocol):
    """A block as far as the table asks it and hooks into it."""

    _active: bool
    _is_container: bool

    @property
    def name(self) -> str: ...

    @property
    def params(self) -> ParameterDict: ...

    def _summary_nodes(self, given: Any, output: Any) -> Sequence[tuple[str, str, Sequence[Any]]]: ...

    def apply(self, fn: Callable[[Any], Any]) -> Any: ...

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle: ...

    def __call__(self, *args: Any) -> Any: ...


class _Row(NamedTuple):
    layer: str
    shape: str
    parameters: int = 0
    trainable: int = 0
    shared: int = 0

    def text(self, width: int) -> str:
        return f"{self.layer:>{width}}  {self.shape:>42} {self.parameters:>15}"


def _shapes(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_shapes(v) for v in value]
    return value.shape if isinstance(value, NDArray) else value


def _shape_text(value: Any) -> str:
    shapes = _shapes(value)
    return str(shapes)[1:-1] if isinstance(shapes, list) else str(shapes)


def _row(layer: str, shape: str, sizes: Sequence[tuple[Any, int]], seen: Container[Any]) -> _Row:
    """A line for a layer with parameters of these sizes. seen: parameters of lines before it."""
    return _Row(
        layer,
        shape,
        sum(size for _, size in sizes),
        sum(size for p, size in sizes if p.grad_req != "null"),
        sum(size for p, size in sizes if p in seen),
    )


def print_summary(block: Layer, inputs: tuple[Any, ...]) -> None:
    """Run the block once on inputs and print a line for every use of every layer but containers, then the sums.

    A block that is a graph has a line for each node that computes; MXNet prints one for all of it.

    MXNet counts a layer that is registered twice four times: it hooks itself to it twice, and both hooks see both uses.
    Raises AssertionError when the block or a child is hybridized."""
    rows = [_Row("Input", _shape_text(inputs))]
    seen: set[Any] = set()
    handles = []

    def record(layer: Layer, given: Any, output: Any) -> None:
        nodes = layer._summary_nodes(given, output)
        if nodes:
            for name, shape, weights in nodes:
                sizes = [(p, p.data().size) for p in weights]
                rows.append(_row(name, shape, sizes, seen))
                seen.update(p for p, _ in sizes)
            return
        sizes = [(p, p.data().size) for p in layer.params.values()]
        rows.append(_row(f"{type(layer).__name__}-{len(rows)}", _shape_text(output), sizes, seen))
        seen.update(p for p, _ in sizes)

    def watch(layer: Layer) -> None:
        if layer._active:
            raise AssertionError(f'"{layer.name}" must not be hybridized to print summary.')
        if not layer._is_container:
            handles.append(layer.register_forward_hook(record))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    total, trainable, shared = (sum(getattr(r, f) for r in rows) for f in ("parameters", "trainable", "shared"))
    width = max(20, *(len(r.layer) for r in rows))
    print("-" * (60 + width))
    print(f"{'Layer (type)':>{width}}  {'Output Shape':>42} {'Param #':>15}")
    print("=" * (60 + width))
    for row in rows:
        print(row.text(width))
    print("=" * (60 + width))
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {total}")
    print(f"   Trainable params: {trainable}")
    print(f"   Non-trainable params: {total - trainable}")
    print(f"Shared params in forward computation graph: {shared}")
    print(f"Unique parameters in model: {total - shared}")
    print("-" * (60 + width))
