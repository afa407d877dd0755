"""Random loop nests, and an exact interpreter that runs all threads of a launch side by side."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from opar.dialects import affine, gpu, memref

Ints = np.ndarray
"""One int64 for each thread; one element for all threads where they agree."""

_ARITH = {
    arith.AddiOp: np.add,
    arith.MuliOp: np.multiply,
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
}


@dataclass
class Interpreter:
    """
    Runs a function of index arithmetic, loops, conditions and stores. `stores` counts the stores
    to each (buffer, subscripts); `launches` holds (grid, block) of each launch.
    """

    stores: Counter[tuple[str, tuple[int, ...]]] = field(default_factory=Counter)
    launches: list[tuple[list[int], list[int]]] = field(default_factory=list)
    values: dict[SSAValue, Ints] = field(default_factory=dict)

    def call(self, function: func.FuncOp, arguments: list[int]) -> None:
        """Run a function whose index arguments have these values, in order."""
        remaining = iter(arguments)
        for argument in function.body.block.args:
            if isinstance(argument.type, IndexType):
                self.values[argument] = np.array([next(remaining)])
        self.block(function.body.block, np.array([True]))

    def block(self, block: Block, active: np.ndarray) -> None:
        for op in block.ops:
            self.operation(op, active)

    def operation(self, op: Operation, active: np.ndarray) -> None:
        values = self.values
        match op:
            case arith.ConstantOp():
                if isinstance(op.value, IntegerAttr):
                    values[op.result] = np.array([op.value.value.data])
            case affine.ApplyOp():
                (values[op.result],) = self.map(op.map.data, op.mapOperands)
            case affine.MinOp() | affine.MaxOp():
                choose = np.minimum if isinstance(op, affine.MinOp) else np.maximum
                found = self.map(op.map.data, op.arguments)
                values[op.result] = found[0]
                for other in found[1:]:
                    values[op.result] = choose(values[op.result], other)
            case affine.DelinearizeIndexOp():
                rest = values[op.linear_index]
                for result, size in zip(
                    reversed(op.results[1:]), reversed(op.basis[1 - len(op.results) :]), strict=True
                ):
                    size = values[size] if isinstance(size, SSAValue) else np.array([size])
                    assert (np.broadcast_to(size, active.shape)[active] > 0).all()
                    size = np.maximum(size, 1)
                    values[result], rest = rest % size, rest // size
                values[op.results[0]] = rest
            case affine.IfOp():
                self.condition(op, active)
            case affine.ForOp():
                lower = np.max(np.broadcast_arrays(*self.map(
                    op.lower_bound_map.data, op.lower_bound_operands)), axis=0)  # fmt: skip
                upper = np.min(np.broadcast_arrays(*self.map(
                    op.upper_bound_map.data, op.upper_bound_operands)), axis=0)  # fmt: skip
                self.loop(op.body.block, 0, [(lower, upper, op.step.value.data)], active)
            case affine.ParallelOp():
                ranges = []
                for d, step in enumerate(op.step_values):
                    ends = []
                    for map, operands, bound, choose in (
                        (op.lower_bounds_map, op.lower_operands, op.lower_bound(d), np.max),
                        (op.upper_bounds_map, op.upper_operands, op.upper_bound(d), np.min),
                    ):
                        dims, symbols = map.data.num_dims, map.data.num_symbols
                        found = self.map(AffineMap(dims, symbols, bound), operands)
                        ends.append(choose(np.broadcast_arrays(*found), axis=0))
                    ranges.append((*ends, step))
                self.loop(op.body.block, 0, ranges, active)
            case gpu.LaunchOp():
                self.launch(op, active)
            case affine.StoreOp() | affine.VectorStoreOp():
                subscripts = self.map(op.map.data, op.indices)
                stored = op.value.type
                lanes = stored.get_shape()[0] if isinstance(stored, VectorType) else 1
                for lane in range(lanes):
                    moved = [*subscripts[:-1], subscripts[-1] + lane] if subscripts else []
                    self.store(op.memref, moved, active)
            case memref.StoreOp():
                self.store(op.memref, [values[v] for v in op.indices], active)
            case affine.YieldOp() | gpu.TerminatorOp() | func.ReturnOp():
                pass
            case _ if type(op) in _ARITH:
                a, b = (values[v] for v in op.operands)
                values[op.results[0]] = _ARITH[type(op)](a, b)
            case _ if op.name == "vector.broadcast":
                pass
            case _:
                raise AssertionError(f"no meaning given to {op}")

    def loop(
        self, body: Block, d: int, ranges: list[tuple[Ints, Ints, int]], active: np.ndarray
    ) -> None:
        if d == len(ranges):
            self.block(body, active)
            return
        current, upper, step = ranges[d]
        while (running := active & (current < upper)).any():
            self.values[body.args[d]] = current
            self.loop(body, d + 1, ranges, running)
            current = current + step

    def condition(self, op: affine.IfOp, active: np.ndarray) -> None:
        set_ = op.condition.data
        holds = active
        for constraint in set_.constraints:
            map = AffineMap(set_.num_dims, set_.num_symbols, (constraint.lhs, constraint.rhs))
            lhs, rhs = self.map(map, op.args)
            holds = holds & (lhs == rhs if constraint.kind.name == "eq" else lhs >= rhs)
        self.block(op.then_region.block, holds)
        if op.else_region.blocks:
            self.block(op.else_region.block, active & ~holds)

    def launch(self, op: gpu.LaunchOp, active: np.ndarray) -> None:
        assert active.shape == (1,)
        if not active[0]:
            return
        sizes = [int(self.values[v][0]) for v in (*op.grid_size, *op.block_size)]
        self.launches.append((sizes[:3], sizes[3:]))
        assert np.prod(sizes) <= 1 << 21, f"too large to run: {sizes}"
        ids = [i.ravel() for i in np.indices(sizes)]
        for argument, value in zip((*op.block_ids, *op.thread_ids), ids, strict=True):
            self.values[argument] = value
        self.block(op.body.block, np.ones(ids[0].shape, bool))

    def store(self, buffer: SSAValue, subscripts: list[Ints], active: np.ndarray) -> None:
        name = buffer.name_hint
        assert name is not None
        columns = [np.broadcast_to(s, active.shape)[active].tolist() for s in subscripts]
        rows = zip(*columns, strict=True) if columns else [()] * int(active.sum())
        self.stores.update((name, row) for row in rows)

    def map(self, map: AffineMap, operands: object) -> list[Ints]:
        numbers = [self.values[v] for v in operands]  # pyright: ignore
        return [evaluate(e, numbers, map.num_dims) for e in map.results]


def evaluate(expr: AffineExpr, operands: list[Ints], dims: int) -> Ints:
    """`expr` of `operands`, dimensions first."""
    match expr:
        case AffineConstantExpr(value=value):
            return np.array([value])
        case AffineDimExpr(position=position):
            return operands[position]
        case AffineSymExpr(position=position):
            return operands[dims + position]
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            a, b = evaluate(lhs, operands, dims), evaluate(rhs, operands, dims)
            match kind:
                case AffineBinaryOpKind.Add:
                    return a + b
                case AffineBinaryOpKind.Mul:
                    return a * b
                case AffineBinaryOpKind.Mod:
                    return a % b
                case AffineBinaryOpKind.FloorDiv:
                    return a // b
                case AffineBinaryOpKind.CeilDiv:
                    return -(-a // b)
    raise AssertionError(expr)


ARGUMENTS = 3


class NestGenerator:
    """Text of functions that store once at each iteration vector of a random nest."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.count = 0
        self.buffers: dict[str, int] = {}

    def function(self, name: str) -> str:
        """A function of `ARGUMENTS` index values, and of buffers."""
        self.buffers = {}
        self.count = 0
        host = self.random.random() < 0.25
        body = self.nest(self.random.randint(0, 5), ["%h"] if host else [])
        if host:
            if self.random.random() < 0.5:
                body = f"affine.if affine_set<(d0) : (d0 - 1 >= 0)>(%h) {{\n{body}\n}}"
            body = f"affine.for %h = 0 to 3 {{\n{body}\n}}"
        sizes = ", ".join(f"%n{i}: index" for i in range(ARGUMENTS))
        buffers = "".join(
            f", %{buffer}: memref<{'?x' * rank}f32>" for buffer, rank in self.buffers.items()
        )
        return f"func.func @{name}({sizes}{buffers}, %v: f32) {{\n{body}\nreturn\n}}"

    def nest(self, dims: int, around: list[str]) -> str:
        """Parallel loops of `dims` dimensions in one or several levels, with stores."""
        r = self.random
        here = r.randint(0 if dims == 0 else 1, dims)
        variables = [f"%i{self.count + d}" for d in range(here)]
        self.count += here
        extent = {1: 40, 2: 12, 3: 7}.get(dims, 4)
        lower = ", ".join(self.bound("max", around, -3, 3) for _ in variables)
        upper = ", ".join(self.bound("min", around, -1, extent) for _ in variables)
        steps = ", ".join(str(r.choice([1, 1, 1, 2, 3])) for _ in variables)
        inside = [*around, *variables]
        parts = []
        if dims > here or r.random() < 0.1:
            kind = r.random()
            if kind < 0.2:  # not perfectly nested
                parts.append(self.store(inside))
            elif kind < 0.4:  # still perfect: nothing with effects between the levels
                variable = f"%x{self.count}"
                self.count += 1
                parts.append(f"{variable} = affine.apply affine_map<()[s0] -> (s0 + 1)>()[%n0]")
                inside.append(variable) if r.random() < 0.5 else None
            inner = self.nest(dims - here, inside)
            if kind > 0.9:
                condition = "affine_set<()[s0] : (s0 - 2 >= 0)>()[%n1]"
                inner = f"affine.if {condition} {{\n{inner}\n}}"
            parts.append(inner)
        else:
            parts.append(self.store(inside))
        body = "\n".join(parts)
        header = f"({', '.join(variables)}) = ({lower}) to ({upper})"
        return f"affine.parallel {header}{f' step ({steps})' if here else ''} {{\n{body}\n}}"

    def bound(self, keyword: str, around: list[str], least: int, most: int) -> str:
        kind = self.random.random()
        if kind < 0.5:
            return self.term(around, least, most, constant=True)
        if kind < 0.8:
            return self.term(around, least, most)
        terms = ", ".join(self.term(around, least, most) for _ in range(self.random.randint(1, 3)))
        return f"{keyword}({terms})"

    def term(self, around: list[str], least: int, most: int, constant: bool = False) -> str:
        r = self.random
        number = r.randint(least, most)
        if constant:
            return str(number)
        if around and r.random() < 0.3:
            variable = r.choice(around)
            return r.choice([variable, f"{variable} + {number}", f"{variable} floordiv 2 + 2"])
        symbol = f"%n{r.randrange(ARGUMENTS)}"
        return r.choice([symbol, f"{symbol} - 1", f"{symbol} floordiv 2", f"-{symbol} + 4"])

    def store(self, variables: list[str]) -> str:
        """A store at the iteration vector, to a buffer of its own."""
        places = [v for v in variables if not v.startswith("%x")]
        if self.random.random() < 0.3:
            self.random.shuffle(places)
        buffer = f"b{len(self.buffers)}"
        self.buffers[buffer] = len(places)
        op = self.random.choice(["affine.store", "memref.store"])
        return f"{op} %v, %{buffer}[{', '.join(places)}] : memref<{'?x' * len(places)}f32>"
