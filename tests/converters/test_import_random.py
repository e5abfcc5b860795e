"""Random programs of bodies in bodies and functions, that all take what is around them: read as onnxruntime reads them, with the
gradients that finite differences have."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from converters.importer import import_model
from hybrid.execution.program import Program
from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Graph

from .agreement import agree, parsed

HEAD = '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>'
ROUGH = 1e-6  # the step of finite differences in float64


class Writer:
    """Writes models of tensors of shape (3,) as ONNX's text."""

    def __init__(self, seed: int, dtype: str):
        self.random, self.dtype = random.Random(seed), dtype
        self.count = 0
        self.functions: list[tuple[str, int]] = []

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def one(self, names: Sequence[str]) -> str:
        return self.random.choice(names)

    def nodes(self, seen: Sequence[str], depth: int, count: int) -> tuple[list[str], list[str]]:
        """Nodes that read what is seen and each other, and the names of what they make."""
        lines: list[str] = []
        made: list[str] = []
        for _ in range(count):
            kinds = [self.plain] * 5 + [self.call] * bool(self.functions)
            kinds += [self.choice, self.choice, self.loop, self.scan] if depth else []
            more, names = self.random.choice(kinds)([*seen, *made], depth - 1)
            lines += more
            made += names
        return lines, made

    def plain(self, seen: Sequence[str], _: int) -> tuple[list[str], list[str]]:
        y, op = self.new(), self.one(["Add", "Mul", "Sub", "Neg", "Sin", "Tanh"])
        inputs = [self.one(seen) for _ in range(2 if op in ("Add", "Mul", "Sub") else 1)]
        return [f"{y} = {op} ({', '.join(inputs)})"], [y]

    def call(self, seen: Sequence[str], _: int) -> tuple[list[str], list[str]]:
        y, (name, count) = self.new(), self.random.choice(self.functions)
        return [f"{y} = local.{name} ({', '.join(self.one(seen) for _ in range(count))})"], [y]

    def choice(self, seen: Sequence[str], depth: int) -> tuple[list[str], list[str]]:
        y, z, condition, total, bound = (self.new() for _ in range(5))
        lines = [f"{condition} = Constant <value = bool {{{self.random.randint(0, 1)}}}> ()"]
        if self.random.random() < 0.8:
            lines = [f"{total} = ReduceSum <keepdims = 0> ({self.one(seen)})"]
            lines += [f"{bound} = Constant <value = {self.dtype} {{0.1}}> ()", f"{condition} = Less ({total}, {bound})"]
        branches = []
        for which in ("then_branch", "else_branch"):
            body, inner = self.nodes(seen, depth, self.random.randint(1, 4))
            stored, same = self.new(), self.new()
            body.append(f"{same} = Identity ({self.one([*seen, *inner])})")
            first = self.one([*inner, stored])
            branches.append(
                f"{which} = {self.new()} () => ({self.dtype}[3] {first}, {self.dtype}[3] {same}) "
                f"<{self.dtype}[3] {stored} = {{{self.random.random():.3f}, 1, 2}}> {{ {' '.join(body)} }}"
            )
        return [*lines, f"{y}, {z} = If ({condition}) < {', '.join(branches)} >"], [y, z]

    def loop(self, seen: Sequence[str], depth: int) -> tuple[list[str], list[str]]:
        y, z, rows, most, step, going, on, state, row, number = (self.new() for _ in range(10))
        body, inner = self.nodes([*seen, state], depth, self.random.randint(1, 4))
        body += [f"{on} = Identity ({going})", f"{number} = Cast <to = {1 if self.dtype == 'float' else 11}> ({step})"]
        body.append(f"{row} = Mul ({self.one([*seen, *inner, state])}, {number})")
        t = self.dtype
        return [
            f"{most} = Constant <value = int64 {{{self.random.randint(1, 3)}}}> ()",
            f"{y}, {rows} = Loop ({most}, , {self.one(seen)}) <body = {self.new()} (int64 {step}, bool {going}, {t}[3] {state}) "
            f"=> (bool {on}, {t}[3] {self.one(inner)}, {t}[3] {row}) {{ {' '.join(body)} }}>",
            f"{z} = ReduceMean <axes = [0], keepdims = 0> ({rows})",
        ], [y, z]

    def scan(self, seen: Sequence[str], depth: int) -> tuple[list[str], list[str]]:
        y, z, rows, axes, one, other, many, state, piece, row = (self.new() for _ in range(10))
        body, inner = self.nodes([*seen, state, piece], depth, self.random.randint(1, 4))
        body.append(f"{row} = Add ({self.one([*seen, *inner, piece])}, {self.one([*inner, state])})")
        directions = [self.random.randint(0, 1) for _ in range(2)]
        t = self.dtype
        return [
            f"{axes} = Constant <value_ints = [0]> ()",
            f"{one} = Unsqueeze ({self.one(seen)}, {axes})",
            f"{other} = Unsqueeze ({self.one(seen)}, {axes})",
            f"{many} = Concat <axis = 0> ({one}, {other}, {one})",
            f"{y}, {rows} = Scan <num_scan_inputs = 1, scan_input_directions = [{directions[0]}], "
            f"scan_output_directions = [{directions[1]}], body = {self.new()} ({t}[3] {state}, {t}[3] {piece}) "
            f"=> ({t}[3] {self.one(inner)}, {t}[3] {row}) {{ {' '.join(body)} }}> ({self.one(seen)}, {many})",
            f"{z} = ReduceMean <axes = [0], keepdims = 0> ({rows})",
        ], [y, z]

    def model(self) -> str:
        functions = []
        for number in range(self.random.randint(0, 3)):
            inputs = [f"f{i}" for i in range(self.random.randint(1, 3))]
            kept, self.count = self.count, self.random.randint(0, 3)  # names that are taken elsewhere
            body, made = self.nodes(inputs, 1, self.random.randint(1, 4))
            self.count = max(kept, self.count)
            functions.append(
                f'<domain: "local", opset_import: ["" : 17, "local" : 1]> f{number} ({", ".join(inputs)}) => ({made[-1]}) '
                f"{{ {' '.join(body)} }}"
            )
            self.functions.append((f"f{number}", len(inputs)))
        body, made = self.nodes(["x", "w"], 2, self.random.randint(2, 6))
        t = self.dtype
        main = f"main ({t}[3] x) => ({t}[3] {made[-1]}) <{t}[3] w = {{0.3, -0.7, 1.1}}> {{ {' '.join(body)} }}"
        return " ".join((HEAD, main, *functions))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    runs = [{"x": np.float32(x)} for x in ([0.5, -0.2, 0.1], [-0.9, 0.3, -0.4])]
    agree(Writer(seed, "float").model(), *runs, rtol=2e-5, again=13 + seed % 9)


@pytest.mark.parametrize("seed", range(12, 24))
def test_gradients_of_random_programs(seed: int) -> None:
    found = import_model(parsed(Writer(seed, "double").model()))
    variables = {n.name: n for n in found.graph.variables()}
    values = {"x": np.array([0.5, -0.2, 0.1]), "w": np.array([0.3, -0.7, 1.1])}
    values = {n: values.get(n, found.params.get(n)) for n in variables}
    wanted = [n for n in ("x", "w") if n in variables]
    made = gradients([(found.graph.outputs[0], None)], [variables[n] for n in wanted])
    program = Program(found.graph)
    for name, entry in zip(wanted, made):
        slopes = []
        for index in range(3):
            ends = []
            for step in (ROUGH, -ROUGH):
                moved = values[name].copy()
                moved[index] += step
                ends.append(program.run({**values, name: moved})[0].sum())
            slopes.append((ends[0] - ends[1]) / (2 * ROUGH))
        got = np.zeros(3)
        if entry is not None:
            graph = Graph([entry])
            read = {n.name for n in graph.variables()}
            (got,) = Program(graph).run({n: a for n, a in values.items() if n in read})
        np.testing.assert_allclose(got, slopes, rtol=1e-4, atol=1e-5)
