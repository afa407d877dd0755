"""The state of emitting one function: values, blocks and the walk over regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from opar.backend.codegen import memref_value
from opar.backend.codegen.diagnostics import located
from opar.backend.codegen.memref_value import MemRefValue
from opar.backend.codegen.table import emitter
from opar.backend.codegen.target import TargetRecord
from opar.backend.codegen.types import I64, byte_size, element_of, llvm_type, stored_type
from opar.errors import UnsupportedError, at

Lowered = ir.Value | MemRefValue
"""What an SSA value of a kernel becomes."""


class _AlignmentAssumption(ir.Instruction):
    """`llvm.assume` with an operand bundle, which llvmlite cannot write."""

    def __init__(self, block: ir.Block, assume: ir.Function, pointer: ir.Value, alignment: int):
        super().__init__(block, ir.VoidType(), "call", [assume, pointer])
        self._alignment = alignment

    def descr(self, buf: list[str]) -> None:
        assume, pointer = self.operands
        buf.append(
            f"call void {assume.get_reference()}(i1 true) "
            f'["align"({pointer.type} {pointer.get_reference()}, i64 {self._alignment})]\n'
        )


class Context:
    """
    Emits the operations of one function.

    An emit function reads its operands with `value` or `memref`, builds instructions with `b`,
    and gives each result its value with `set`. Values that cross blocks (loop-carried values,
    block arguments, results of regions) travel as flat lists of LLVM values, because a memref is
    several: `flat` takes SSA values apart and `bind` puts them together again.
    """

    def __init__(
        self, function: ir.Function, target: TargetRecord, callers: frozenset[str] = frozenset()
    ):
        self.function = function
        self.target = target
        self.callers = callers
        """The names of the functions that are being emitted around this one, and its own."""
        self.module: ir.Module = function.module
        self.entry: ir.Block = function.append_basic_block("entry")
        self.b = ir.IRBuilder(self.entry)
        self.ids: dict[tuple[str, int], ir.Value] = {}
        """Block and thread ids and dimensions that are not read from registers."""
        self.known_block_size: tuple[int, int, int] | None = None
        """The size of the blocks that run this function, where its kernel says so."""
        self._values: dict[SSAValue, Lowered] = {}
        self._blocks: dict[Block, ir.Block] = {}
        self._phis: dict[Block, list[ir.PhiInstr]] = {}

    # Values

    def set(self, result: SSAValue, value: Lowered) -> None:
        """Record what `result` becomes."""
        self._values[result] = value

    def value(self, operand: SSAValue) -> ir.Value:
        """The LLVM value of an operand that is not a memref."""
        value = self._values[operand]
        assert isinstance(value, ir.Value)
        return value

    def memref(self, operand: SSAValue) -> MemRefValue:
        """The memref that an operand is."""
        value = self._values[operand]
        assert isinstance(value, MemRefValue)
        return value

    def component_types(self, types: Iterable[Attribute]) -> list[ir.Type]:
        """`component_types` for the target of this function."""
        return component_types(types, self.target)

    def flat(self, operands: Iterable[SSAValue]) -> list[ir.Value]:
        """The LLVM values that `operands` are made of, in order."""
        parts: list[ir.Value] = []
        for operand in operands:
            value = self._values[operand]
            if isinstance(value, MemRefValue):
                assert isinstance(operand.type, MemRefType)
                parts += memref_value.components(value, operand.type)
            else:
                parts.append(value)
        return parts

    def bind(self, results: Iterable[SSAValue], parts: Sequence[ir.Value]) -> None:
        """Give `results` the values made of `parts`; the inverse of `flat`."""
        remaining = iter(parts)
        for result in results:
            if isinstance(result.type, MemRefType):
                count = memref_value.component_count(result.type)
                own = [next(remaining) for _ in range(count)]
                self.set(result, memref_value.rebuild(self.b, result.type, own))
            else:
                self.set(result, next(remaining))

    def hardware_id(self, kind: str, dim: int) -> ir.Value:
        """An i64 id or size; `kind` is `thread_id`, `block_id`, `block_dim` or `grid_dim`."""
        if self.known_block_size is not None:
            size = self.known_block_size[dim]
            if kind == "block_dim":
                return ir.Constant(I64, size)
            if kind == "thread_id" and size == 1:
                return ir.Constant(I64, 0)
        known = self.ids.get((kind, dim))
        return self.target.hardware_id(self, kind, dim) if known is None else known

    # Instructions that llvmlite's builder lacks

    def intrinsic(
        self,
        name: str,
        operands: Sequence[ir.Value],
        *,
        result: ir.Type | None = None,
        overloads: Sequence[ir.Type] | None = None,
        fastmath: Sequence[str] = (),
    ) -> ir.Value:
        """
        Call the intrinsic `name`, overloaded on the first operand's type unless `overloads` says
        otherwise; `result` is that same type by default.
        """
        if overloads is None:
            overloads = [operands[0].type]
        returned: ir.Type = operands[0].type if result is None else result
        symbol = ".".join([name, *(_suffix(type) for type in overloads)])
        callee = self.declare(symbol, returned, [operand.type for operand in operands])
        return self.b.call(callee, operands, fastmath=list(fastmath))

    def declare(self, name: str, result: ir.Type, operands: Sequence[ir.Type]) -> ir.Function:
        """The external function `name` of the module, declared at its first use."""
        existing = self.module.globals.get(name)
        if existing is not None:
            return existing
        return ir.Function(self.module, ir.FunctionType(result, operands), name)

    def alloca(self, type: ir.Type, align: int) -> ir.Value:
        """Stack memory of the function, allocated once at its entry."""
        with self.b.goto_block(self.entry):
            slot = self.b.alloca(type)
            slot.align = align
            slot.type = ir.PointerType()  # llvmlite's is typed, and would refuse elements
        return slot

    def assume_aligned(self, pointer: ir.Value, alignment: int) -> None:
        """Promise LLVM that `pointer` is a multiple of `alignment` bytes."""
        assume = self.module.declare_intrinsic("llvm.assume")
        self.b._insert(_AlignmentAssumption(self.b.block, assume, pointer, alignment))

    def private_memory(self, type: MemRefType, alignment: int = 1) -> ir.Value:
        """Stack memory for a memref of a static shape."""
        element = memref_value.element_type(type)
        stored = stored_type(element)
        count = max(math.prod(type.get_shape()), 1)
        return self.alloca(ir.ArrayType(stored, count), max(alignment, byte_size(stored)))

    # Operations and regions

    def emit_op(self, op: Operation) -> None:
        """Emit one operation; `UnsupportedError` with its location if there is no way to."""
        emit = emitter(op.name)
        if emit is None:
            raise UnsupportedError(at(op, "not supported in a kernel"))
        with located(op):
            emit(self, op)

    def emit_single_block(self, region: Region, arguments: Sequence[ir.Value]) -> Operation:
        """
        Emit a region of one block with its arguments bound to `arguments`; returns the
        terminator, which the caller interprets.
        """
        block = region.block
        self.bind(block.args, arguments)
        terminator = block.last_op
        assert terminator is not None
        for op in block.ops:
            if op is not terminator:
                self.emit_op(op)
        return terminator

    def emit_blocks(self, region: Region, leave: Callable[[Operation], object]) -> None:
        """
        Emit a region of any number of blocks, its entry in the current LLVM block, whose
        arguments the caller has bound. `leave` emits each terminator that is not a branch.
        """
        entry = self.b.block
        blocks = _reverse_post_order(region)
        for block in blocks[1:]:
            self._blocks[block] = self.function.append_basic_block()
        for block in blocks[1:]:
            self.b.position_at_end(self._blocks[block])
            types = self.component_types(argument.type for argument in block.args)
            self._phis[block] = [self.b.phi(type) for type in types]
        self.b.position_at_end(entry)
        for block in blocks:
            if block is not blocks[0]:
                self.b.position_at_end(self._blocks[block])
                self.bind(block.args, self._phis[block])
            for op in block.ops:
                if op is block.last_op and not op.name.startswith(("cf.", "ub.")):
                    leave(op)
                else:
                    self.emit_op(op)

    def edge(self, block: Block, operands: Sequence[SSAValue]) -> ir.Block:
        """The LLVM block of `block`, with `operands` as its arguments from the current block."""
        for phi, part in zip(self._phis[block], self.flat(operands), strict=True):
            phi.add_incoming(part, self.b.block)
        return self._blocks[block]


def component_types(types: Iterable[Attribute], target: TargetRecord) -> list[ir.Type]:
    """
    The types of the LLVM values that SSA values of `types` are made of, in order.

    Raises `UnsupportedError` for a type that kernels do not have.
    """
    flat: list[ir.Type] = []
    for type in types:
        if isinstance(type, MemRefType):
            memref_value.element_type(type)
            flat.append(ir.PointerType(addrspace=target.address_space(type.memory_space)))
            flat += [I64] * (memref_value.component_count(type) - 1)
        else:
            flat.append(llvm_type(type))
    return flat


def _suffix(type: ir.Type) -> str:
    """How an intrinsic's name spells an overload."""
    element = element_of(type)
    spelled = element.intrinsic_name
    return f"v{type.count}{spelled}" if isinstance(type, ir.VectorType) else spelled


def _reverse_post_order(region: Region) -> list[Block]:
    """The blocks that the entry of `region` reaches, each after all that dominate it."""
    entry = region.blocks[0]
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(entry.last_op.successors if entry.last_op else ()))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            last = following.last_op
            stack.append((following, iter(last.successors if last else ())))
    return order[::-1]
