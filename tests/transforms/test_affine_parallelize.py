"""No loop that `affine-parallelize` makes parallel has two iterations that touch one element."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap

import opar
from opar.dialects import affine
from tests.transforms.mapping_tools import evaluate


class LoopGenerator:
    """Text of functions of sequential affine loops over two buffers."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.count = 0

    def function(self) -> str:
        body = "\n".join(self.block([]))
        buffers = ", ".join(f"%{b}: memref<?x?xf32> {{llvm.noalias}}" for b in "ab")
        return f"func.func @f({buffers}, %n: index, %v: f32) {{\n{body}\nreturn\n}}"

    def block(self, around: list[str]) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 2)):
            kind = self.random.random()
            if len(around) < 3 and kind < 0.5:
                lines += self.loop(around)
            elif around and kind < 0.6:
                condition = "affine_set<(d0) : (d0 - 2 >= 0)>"
                lines += [f"affine.if {condition}({self.random.choice(around)}) {{"]
                lines += [self.access(around), "}"]
            else:
                lines.append(self.access(around))
        return lines

    def loop(self, around: list[str]) -> list[str]:
        r = self.random
        variable = self.name("i")
        lower, upper = str(r.randint(0, 2)), r.choice(["%n", *(str(n) for n in range(2, 7))])
        lines: list[str] = []
        if around and r.random() < 0.3:
            applied = self.name("t")
            map = f"affine_map<(d0) -> ({self.expression(['d0'])})>"
            lines.append(f"{applied} = affine.apply {map}({r.choice(around)})")
            lower = f"affine_map<(d0) -> (d0)>({applied})"
        if around and r.random() < 0.2:
            upper = f"min affine_map<(d0) -> (d0 + 3, 6)>({r.choice(around)})"
        header = f"affine.for {variable} = {lower} to {upper} step {r.choice([1, 1, 2, 3])} {{"
        return [*lines, header, *self.block([*around, variable]), "}"]

    def access(self, around: list[str]) -> str:
        place = f"%{self.random.choice('ab')}[{self.expression(around)}, {self.expression(around)}]"
        if self.random.random() < 0.5:
            return f"{self.name('v')} = affine.load {place} : memref<?x?xf32>"
        return f"affine.store %v, {place} : memref<?x?xf32>"

    def expression(self, around: list[str]) -> str:
        r = self.random
        if not around or r.random() < 0.1:
            return str(r.randint(0, 3))
        a, b, number = r.choice(around), r.choice(around), r.randint(2, 3)
        more = [f"{a} + {number}", f"{a} - 1", f"{a} * {number}", f"-{a} + 7", f"{a} + {b}"]
        return r.choice([a, a, a, *more, f"{a} mod {number}", f"{a} floordiv {number}"])

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"%{prefix}{self.count}"


Iteration = tuple[Operation, int]
"""A loop, and the value of its variable."""


@dataclass
class Trace:
    """Runs a function; `touched` has, for each element, its accesses: (writes, iterations)."""

    values: dict[SSAValue, int]
    around: list[Iteration] = field(default_factory=list)
    touched: dict[object, list[tuple[bool, tuple[Iteration, ...]]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def map(self, map: AffineMap, operands: Sequence[SSAValue]) -> list[int]:
        numbers = [np.array([self.values[v]]) for v in operands]
        return [int(evaluate(e, numbers, map.num_dims)[0]) for e in map.results]

    def block(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case affine.ForOp():
                    lower = self.map(op.lower_bound_map.data, op.lower_bound_operands)
                    upper = self.map(op.upper_bound_map.data, op.upper_bound_operands)
                    self.loop(op, range(max(lower), min(upper), op.step.value.data))
                case affine.ParallelOp():
                    lower = self.map(op.lower_bounds_map.data, op.lower_operands)
                    upper = self.map(op.upper_bounds_map.data, op.upper_operands)
                    self.loop(op, range(max(lower), min(upper), op.step_values[0]))
                case affine.IfOp():
                    if self.values[op.args[0]] >= 2:
                        self.block(op.then_region.block)
                case affine.ApplyOp():
                    (self.values[op.result],) = self.map(op.map.data, op.mapOperands)
                case affine.LoadOp() | affine.StoreOp():
                    element = (op.memref, *self.map(op.map.data, op.indices))
                    access = (isinstance(op, affine.StoreOp), tuple(self.around))
                    self.touched[element].append(access)
                case _:
                    assert isinstance(op, affine.YieldOp | func.ReturnOp), op

    def loop(self, op: affine.ForOp | affine.ParallelOp, values: range) -> None:
        body = op.body.block
        for value in values:
            self.values[body.args[0]] = value
            self.around.append((op, value))
            self.block(body)
            self.around.pop()


def first_difference(a: Sequence[Iteration], b: Sequence[Iteration]) -> Operation | None:
    """The outermost loop of which two accesses are in different iterations."""
    for (loop, i), (other, j) in zip(a, b, strict=False):
        if loop is not other:
            return None
        if i != j:
            return loop
    return None


def test_parallel_iterations_are_independent() -> None:
    seed = random.SystemRandom().getrandbits(32)
    print("loops from seed", seed)
    generator = LoopGenerator(seed)
    parallel = sequential = 0
    for _ in range(150):
        text = generator.function()
        module = opar.run_passes(opar.parse_module(text), "affine-parallelize")
        (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
        parallel += str(module).count("affine.parallel")
        sequential += str(module).count("affine.for")
        for n in (0, 3, 7):
            trace = Trace({function.body.block.args[2]: n})
            trace.block(function.body.block)
            for accesses in trace.touched.values():
                for k, (writes, iterations) in enumerate(accesses):
                    for also_writes, others in accesses[:k]:
                        if writes or also_writes:
                            loop = first_difference(iterations, others)
                            assert not isinstance(loop, affine.ParallelOp), f"{text}\n{module}"
    assert parallel > 50
    assert sequential > 50
