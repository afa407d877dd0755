"""Kernels as Python functions: each thread runs on its own and notes the cells that it touches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from opar.dialects import affine, gpu, memref, scf
from tests.oracle.memory import View
from tests.oracle.scalars import (
    NAMES,
    affine_results,
    condition,
    expression,
    map_results,
    wrapped,
)
from tests.oracle.views import is_memref, view

Sizes = tuple[int, int, int]
Thread = Callable[..., tuple[int, int]]


@dataclass(frozen=True)
class Touched:
    """Cells that a launch read and wrote; `raced`: some thread wrote what another touched."""

    reads: int
    writes: int
    raced: bool


@dataclass
class Kernel:
    """A kernel that can run, one thread after the other."""

    thread: Thread

    def __call__(
        self, cells: list[int], grid: Sizes, block: Sizes, arguments: Sequence[object]
    ) -> Touched:
        reads = writes = 0
        raced = False
        for ids in product(*map(range, grid[::-1]), *map(range, block[::-1])):
            r, w = self.thread(cells, ids[2::-1], ids[:2:-1], grid, block, *arguments)
            raced |= bool(w & (reads | writes) | r & writes)
            reads |= r
            writes |= w
        return Touched(reads, writes, raced)


def compile_kernel(function: gpu.FuncOp) -> Kernel:
    """The kernel `function` as Python. Raises `NotImplementedError` for what is not understood."""
    writer = _Writer()
    parameters = [writer.new(a) for a in function.body.blocks[0].args]
    head = ", ".join(["M", "bid", "tid", "grid", "block", *parameters])
    writer.lines = [f"def thread({head}):", "  R = W = 0"]
    writer.block(function.body.blocks[0])
    writer.add("return R, W")
    names = {**NAMES, **writer.objects}
    exec("\n".join(writer.lines), names)
    return Kernel(names["thread"])


_IDS = {
    "gpu.thread_id": "tid[{0}]",
    "gpu.block_id": "bid[{0}]",
    "gpu.block_dim": "block[{0}]",
    "gpu.grid_dim": "grid[{0}]",
    "gpu.global_id": "bid[{0}] * block[{0}] + tid[{0}]",
}

_ATOMIC = {
    1: "{0} + {1}",
    6: "max({0}, {1})",
    8: "min({0}, {1})",
    10: "{0} * {1}",
    11: "{0} | {1}",
    12: "{0} & {1}",
}
"""By the number of `arith.AtomicRMWKind`."""


@dataclass
class _Writer:
    lines: list[str] = field(default_factory=list)
    names: dict[SSAValue, str] = field(default_factory=dict)
    objects: dict[str, object] = field(default_factory=dict)
    depth: int = 1

    def add(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def new(self, value: SSAValue) -> str:
        self.names[value] = name = f"v{len(self.names)}"
        return name

    def of(self, values: Iterable[SSAValue]) -> list[str]:
        return [self.names[v] for v in values]

    def object(self, value: object) -> str:
        name = f"o{len(self.objects)}"
        self.objects[name] = value
        return name

    def block(self, block: Block, results: Sequence[str] = ()) -> None:
        """The operations of a block; what it yields goes to `results`."""
        for op in block.ops:
            if op.name in ("scf.yield", "affine.yield"):
                if results:
                    self.add(f"{', '.join(results)} = {', '.join(self.of(op.operands))}")
            elif op.name not in ("gpu.return", "memref.dealloc"):
                self.operation(op)
        self.add("pass")

    def nested(self, head: str, block: Block, results: Sequence[str]) -> None:
        self.add(head)
        self.depth += 1
        self.block(block, results)
        self.depth -= 1

    def operation(self, op: Operation) -> None:
        operands = self.of(op.operands)
        if op.name in _IDS and isinstance(op, gpu.DimensionIdOp):
            d = "xyz".index(str(op.dimension.data))
            self.add(f"{self.new(op.results[0])} = {_IDS[op.name].format(d)}")
            return
        text = expression(op, operands)
        if text is not None:
            self.add(f"{self.new(op.results[0])} = {text}")
            return
        match op:
            case memref.LoadOp():
                self._load(op.memref, self.of(op.indices), op.res)
            case memref.StoreOp():
                self._store(op.memref, self.of(op.indices), self.names[op.value])
            case affine.LoadOp():
                self._load(op.memref, affine_results(op, self.of(op.indices)), op.result)
            case affine.StoreOp():
                indices = affine_results(op, self.of(op.indices))
                self._store(op.memref, indices, self.names[op.value])
            case memref.AtomicRMWOp():
                self._atomic(op)
            case scf.IfOp() | affine.IfOp():
                self._if(op, operands)
            case scf.ForOp() | affine.ForOp():
                self._for(op)
            case _ if op.results and is_memref(op.results[0]) and operands:
                make = self.object(lambda *given, op=op: view(op, given))
                self.add(f"{self.new(op.results[0])} = {make}({', '.join(operands)})")
            case _:
                raise NotImplementedError(str(op))

    def _cell(self, memref: SSAValue, indices: Sequence[str]) -> None:
        self.add(f"x = {self.names[memref]}.cell({', '.join(indices)})")

    def _load(self, memref: SSAValue, indices: Sequence[str], result: SSAValue) -> None:
        self._cell(memref, indices)
        self.add(f"R |= 1 << x; {self.new(result)} = M[x]")

    def _store(self, memref: SSAValue, indices: Sequence[str], value: str) -> None:
        self._cell(memref, indices)
        self.add(f"W |= 1 << x; M[x] = {value}")

    def _atomic(self, op: memref.AtomicRMWOp) -> None:
        self._cell(op.memref, self.of(op.indices))
        before = self.new(op.results[0])
        after = _ATOMIC[op.kind.value.data].format(before, self.names[op.value])
        self.add(f"R |= 1 << x; W |= 1 << x; {before} = M[x]")
        self.add(f"M[x] = {wrapped(after, op.results[0].type)}")

    def _if(self, op: scf.IfOp | affine.IfOp, operands: Sequence[str]) -> None:
        results = [self.new(r) for r in op.results]
        test = operands[0] if isinstance(op, scf.IfOp) else condition(op, operands)
        self.nested(f"if {test}:", op.regions[0].block, results)
        if op.regions[1].blocks:
            self.nested("else:", op.regions[1].block, results)

    def _for(self, op: scf.ForOp | affine.ForOp) -> None:
        bounds, inits = loop_bounds(op, self.of(op.operands))
        variable, *arguments = [self.new(a) for a in op.regions[0].block.args]
        if arguments:
            self.add(f"{', '.join(arguments)} = {', '.join(inits)}")
        self.nested(f"for {variable} in range({bounds}):", op.regions[0].block, arguments)
        for result, argument in zip(op.results, arguments, strict=True):
            self.add(f"{self.new(result)} = {argument}")


def loop_bounds(op: scf.ForOp | affine.ForOp, operands: Sequence[str]) -> tuple[str, list[str]]:
    """The arguments of `range` for a loop, and its initial values."""
    if isinstance(op, scf.ForOp):
        return ", ".join(operands[:3]), list(operands[3:])
    lowers, uppers = len(op.lower_bound_operands), len(op.upper_bound_operands)
    lower = _bound(op.lower_bound_map, operands[:lowers], "max")
    upper = _bound(op.upper_bound_map, operands[lowers : lowers + uppers], "min")
    assert isinstance(op.step, IntegerAttr)
    return f"{lower}, {upper}, {op.step.value.data}", list(operands[lowers + uppers :])


def _bound(map: AffineMapAttr, operands: Sequence[str], chosen: str) -> str:
    results = map_results(map.data, operands)
    return results[0] if len(results) == 1 else f"{chosen}({', '.join(results)})"


def element_type(type: Attribute) -> Attribute:
    """The type of the elements of a memref."""
    assert isinstance(type, MemRefType)
    return type.element_type


__all__ = ["Kernel", "Touched", "View", "compile_kernel", "loop_bounds"]
