"""The pass `gpu-manage-buffers`: memory on the GPU for what launches touch, and the copies."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType, i64
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import (
    ARGUMENT_ATTRIBUTE,
    RESULT_ATTRIBUTE,
    AliasAnalysis,
    Root,
    RootKind,
    is_view,
    view_source,
)
from opar.dialects import gpu, memref
from opar.transforms.buffers.residency import Copy, Residency
from opar.transforms.buffers.twins import Twins
from opar.transforms.buffers.wanted import ALLOCATIONS, Wanted, contiguous


@dataclass(frozen=True)
class GpuManageBuffersPass(ModulePass):
    """
    Give each host buffer that a launch touches a buffer on the GPU, with the copies that keep the
    two equal where somebody looks.

    Before::

        func.func @f(%a: memref<4xf32>) -> memref<4xf32> {
          %r = memref.alloc() : memref<4xf32>
          gpu.launch_func @k::@k ... args(%a : memref<4xf32>, %r : memref<4xf32>)
          return %r : memref<4xf32>
        }

    After::

        func.func @f(%a: memref<4xf32>) -> memref<4xf32> {
          %da = gpu.alloc () {opar.argument = 0} : memref<4xf32>
          gpu.memcpy %da, %a
          %r = memref.alloc() : memref<4xf32>
          %dr = gpu.alloc () {opar.result = 0} : memref<4xf32>
          gpu.launch_func @k::@k ... args(%da : memref<4xf32>, %dr : memref<4xf32>)
          gpu.memcpy %r, %dr
          gpu.dealloc %da
          gpu.dealloc %dr
          return %r : memref<4xf32>
        }

    1. A buffer that only launches use is allocated on the GPU alone; others exist twice.
    2. Arguments and globals are copied in at the start of the function. Later copies go before the
       first host operation that looks at what a launch wrote, and before the first launch after
       the host wrote; an argument that a launch wrote is copied back before the return.
    3. This holds through branches, loops and blocks: a copy goes before a loop where it can. A
       memref that is one of several buffers (a choice, an argument of an iteration or block) gets
       a twin beside it; what the host looks at through it is copied around each such operation.
    4. Arguments that may overlap are copied as one, so that the copies agree.
    5. `opar.argument` and `opar.result` say whose contents a GPU buffer holds. A runtime that gets
       (or returns) memory the GPU can use binds the buffer to it and leaves the copies out.

    Memory that is on the GPU already (`gpu.alloc`, memory space 1) is left alone.

    Option `assume-noalias-args`: as for `gpu-async-dataflow`.
    Raises `UnsupportedError` for a launch operand of unknown origin, a layout whose elements are
    not side by side, arguments that calls in the module let overlap, and host accesses that share
    an operation of unknown control flow (`scf.parallel`) with launches on the same buffer.
    """

    name = "gpu-manage-buffers"

    assume_noalias_args: bool = False

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        accesses = AccessAnalysis(AliasAnalysis(self.assume_noalias_args))
        for function in op.walk():
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _FunctionBuffers(function, accesses).rewrite()


@dataclass
class _FunctionBuffers:
    function: func.FuncOp
    accesses: AccessAnalysis
    device: dict[Root, SSAValue] = field(default_factory=dict)
    host: dict[Root, SSAValue] = field(default_factory=dict)

    def rewrite(self) -> None:
        """Create the GPU buffers, redirect the launches to them, insert copies and frees."""
        wanted = Wanted(self.function, self.accesses.aliases)
        if not wanted.roots:
            return
        residency = Residency(wanted, self.accesses)
        residency.run()
        returns = [
            end
            for block in self.function.body.blocks
            if isinstance(end := block.last_op, func.ReturnOp)
        ]
        start = self.function.body.blocks[0].first_op
        assert start is not None
        for root, value in wanted.roots.items():
            self._create(root, value, start)
        if len(returns) == 1:
            self._mark_results(returns[0])
        copies = [(copy, self._insert_copy(copy)) for copy in residency.copies]
        twins = Twins(wanted, {self.host[root]: twin for root, twin in self.device.items()})
        for root, value in wanted.roots.items():
            twins.of[value] = self.device[root]
        for op in self.function.walk():
            if isinstance(op, memref.GetGlobalOp):  # each has a value of its own for the same root
                (root,) = self.accesses.aliases.roots(op.memref)
                if root in self.device:
                    twins.of[op.memref] = self.device[root]
        twins.rewrite()
        for copy, op in copies:
            if not isinstance(copy.what, Root):
                op.operands[int(not copy.to_device)] = twins.twin(op.src)
        for root in wanted.roots:
            if root not in twins.freed:
                self._free(root, returns)
            if root not in residency.host_used and root.kind is RootKind.ALLOCATION:
                _drop(self.host[root])

    def _create(self, root: Root, value: SSAValue, start: Operation) -> None:
        """Allocate the GPU copy of a buffer, and fill it where somebody else made the buffer."""
        type, owner = value.type, value.owner
        assert isinstance(type, MemRefType)
        place: Operation | None = start
        if root.kind is RootKind.GLOBAL:
            assert isinstance(owner, memref.GetGlobalOp)
            found = owner.clone()
            _insert([found], start, owner)
            value = found.results[0]
        elif isinstance(owner, Operation):
            place = owner.next_op
        assert place is not None
        sizes: list[SSAValue] = []
        if isinstance(owner, ALLOCATIONS):
            sizes = list(owner.dynamic_sizes)
        else:
            for dim, size in enumerate(type.get_shape()):
                if size == DYNAMIC_INDEX:
                    index = arith.ConstantOp.from_int_and_width(dim, IndexType())
                    dim_op = memref.DimOp(value, index)
                    _insert([index, dim_op], place, place)
                    sizes.append(dim_op.result)
        allocated = contiguous(type)
        assert allocated is not None
        alloc = gpu.AllocOp(allocated, dynamic_sizes=sizes)
        _insert([alloc], place, place)
        device: SSAValue = alloc.memref
        if allocated != type:
            cast = memref.CastOp(device, type)
            _insert([cast], place, place)
            device = cast.results[0]
        elif isinstance(value, BlockArgument):
            alloc.attributes[ARGUMENT_ATTRIBUTE] = IntegerAttr(value.index, i64)
        device.name_hint = f"{value.name_hint}_gpu" if value.name_hint else None
        if root.kind is not RootKind.ALLOCATION:
            _insert([gpu.MemcpyOp(device, value)], place, place)
        self.host[root], self.device[root] = value, device

    def _mark_results(self, end: func.ReturnOp) -> None:
        """Say which GPU buffers hold the contents of results."""
        for number, value in enumerate(end.operands):
            for root, host in self.host.items():
                device = self.device[root].owner
                is_own = value is host and isinstance(value.owner, ALLOCATIONS)
                if is_own and isinstance(device, gpu.AllocOp):
                    device.attributes.setdefault(RESULT_ATTRIBUTE, IntegerAttr(number, i64))

    def _insert_copy(self, copy: Copy) -> gpu.MemcpyOp:
        """Insert a copy; of a memref without memory of its own both operands are that for now."""
        if isinstance(copy.what, Root):
            pair = self.device[copy.what], self.host[copy.what]
            op = gpu.MemcpyOp(*(pair if copy.to_device else pair[::-1]))
        else:
            op = gpu.MemcpyOp(copy.what, copy.what)
        _insert([op], copy.before, copy.cause)
        return op

    def _free(self, root: Root, returns: list[func.ReturnOp]) -> None:
        """Free a GPU buffer that nobody frees where its block ends, or the function."""
        device = self.device[root]
        assert isinstance(device, OpResult)
        block = device.op.parent
        assert block is not None and block.last_op is not None
        if block is self.function.body.blocks[0]:
            ends: list[Operation] = [*returns]
        elif any(_is_passed_on(v) for v in (self.host[root], device)):
            ends = []  # it goes when the call ends
        else:
            ends = [block.last_op] if not block.last_op.successors else []
        for end in ends:
            _insert([gpu.DeallocOp(view_source(device))], end, end)


def _is_passed_on(value: SSAValue) -> bool:
    """Whether an operation makes another value of `value`."""
    return any(
        is_view(user) or user.name == "arith.select" or bool(user.successors) or _ends(user)
        for use in value.uses
        for user in (use.operation,)
    )


def _ends(op: Operation) -> bool:
    block = op.parent
    return block is not None and block.last_op is op


def _drop(host: SSAValue) -> None:
    """Erase a host allocation with its views and deallocations, if only they use it."""
    for user in [use.operation for use in host.uses]:
        if is_view(user):
            _drop(user.results[0])
        elif isinstance(user, memref.DeallocOp):
            user.detach()
            user.erase()
    if not host.uses and isinstance(host, OpResult):
        host.op.detach()
        host.op.erase()


def _insert(ops: list[Operation], before: Operation, cause: Operation) -> None:
    for op in ops:
        op.location = cause.location
    block: Block | None = before.parent
    assert block is not None
    block.insert_ops_before(ops, before)
