"""The pass `gpu-manage-buffers`: memory on the GPU for what launches touch, and the copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func
from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from opar.analysis.accesses import Access, AccessAnalysis
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
from opar.errors import UnsupportedError, at


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
    3. Arguments that may overlap are copied as one, so that the copies agree.
    4. `opar.argument` and `opar.result` say whose contents a GPU buffer holds. A runtime that gets
       (or returns) memory the GPU can use binds the buffer to it and leaves the copies out.

    Memory that is on the GPU already (`gpu.alloc`, memory space 1) is left alone.

    Option `assume-noalias-args`: as for `gpu-async-dataflow`.
    Raises `UnsupportedError` for a launch operand of unknown origin, a layout other than the
    identity, and host accesses that share a loop or branch with launches on the same buffer.
    """

    name = "gpu-manage-buffers"

    assume_noalias_args: bool = False

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        accesses = AccessAnalysis(AliasAnalysis(self.assume_noalias_args))
        for function in op.walk():
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _FunctionBuffers(function, accesses).rewrite()


@dataclass(eq=False)
class _Buffer:
    """A host buffer and its copy on the GPU. Both are valid until one side writes."""

    root: Root
    host: SSAValue
    device: SSAValue
    on_host: bool = True
    """Whether the host buffer holds the newest contents."""
    on_device: bool = True
    host_used: bool = False
    freed: bool = False


def _on_device(value: SSAValue) -> bool:
    """Whether the type of `value` says that its memory is the GPU's."""
    space = value.type.memory_space if isinstance(value.type, MemRefType) else NoneAttr()
    return not isinstance(space, NoneAttr)


def _launches(op: Operation) -> Iterator[gpu.LaunchFuncOp]:
    for child in op.walk():
        if isinstance(child, gpu.LaunchOp):
            raise UnsupportedError(
                at(child, "gpu-manage-buffers needs outlined kernels: run gpu-kernel-outlining")
            )
        if isinstance(child, gpu.LaunchFuncOp):
            yield child


@dataclass
class _FunctionBuffers:
    function: func.FuncOp
    accesses: AccessAnalysis
    buffers: dict[Root, _Buffer] = field(default_factory=dict)
    device_values: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def rewrite(self) -> None:
        """Create the GPU buffers, redirect the launches to them, insert copies and frees."""
        launches = [op for op in _launches(self.function) if self._host_operands(op)]
        if not launches:
            return
        if len(self.function.body.blocks) != 1:
            message = "a function of several blocks is not supported; use structured control flow"
            raise UnsupportedError(at(self.function, message))
        self.block = self.function.body.block
        terminator = self.block.last_op
        assert terminator is not None and terminator.has_trait(IsTerminator)
        self.terminator = terminator
        self.staged_until: Operation | None = None
        operations = list(self.block.ops)
        for launch in launches:
            for i in self._host_operands(launch):
                self._create_buffer(launch, launch.kernel_operands[i])
        # What each operation touches is asked before the launches are redirected.
        touched = [(op, self._touched(self.accesses.accesses(op))) for op in operations]
        self.launched = {
            launch: self._touched(self.accesses.accesses(launch)) for launch in launches
        }
        for launch in launches:
            for i in self._host_operands(launch):
                operand = launch.kernel_operands[i]
                launch.operands[launch.operands.index(operand)] = self._device_value(operand)
        for op, roots in touched:
            self._keep_equal(op, roots)
        self._finish()

    def _host_operands(self, launch: gpu.LaunchFuncOp) -> list[int]:
        """The memref operands of `launch` that name host memory."""
        found = []
        for i, operand in enumerate(launch.kernel_operands):
            if not isinstance(operand.type, MemRefType) or _on_device(operand):
                continue
            roots = self.accesses.aliases.roots(operand)
            if all(_is_gpu_alloc(r) for r in roots):
                continue
            if len(roots) != 1 or not self.accesses.aliases.is_root(view_source(operand)):
                message = f"cannot tell which buffer operand #{i} of the kernel is"
                raise UnsupportedError(at(launch, f"{message}; pass one allocation or argument"))
            found.append(i)
        return found

    def _create_buffer(self, launch: Operation, operand: SSAValue) -> None:
        (root,) = self.accesses.aliases.roots(operand)
        if root in self.buffers:
            return
        host = root.value
        assert host is not None and isinstance(host.type, MemRefType)
        if not isinstance(host.type.layout, NoneAttr):
            message = f"a buffer of type {host.type} cannot be copied to the GPU"
            raise UnsupportedError(at(launch, f"{message}: only the identity layout can"))
        place = self._place_of_allocation(host)
        sizes: list[SSAValue] = []
        owner = host.owner
        if isinstance(owner, memref.AllocOp | memref.AllocaOp):
            sizes = list(owner.dynamic_sizes)
        else:
            for dim, size in enumerate(host.type.get_shape()):
                if size == builtin.DYNAMIC_INDEX:
                    index = arith.ConstantOp.from_int_and_width(dim, builtin.IndexType())
                    dim_op = memref.DimOp(host, index)
                    self._insert([index, dim_op], place, launch)
                    sizes.append(dim_op.result)
        alloc = gpu.AllocOp(host.type, dynamic_sizes=sizes)
        self._insert([alloc], place, launch)
        buffer = _Buffer(root, host, alloc.memref)
        self.buffers[root] = buffer
        if root.kind is RootKind.ARGUMENT:
            number = self.block.args.index(host)
            alloc.attributes[ARGUMENT_ATTRIBUTE] = IntegerAttr(number, i64)
        if root.kind is not RootKind.ALLOCATION:
            buffer.host_used = True
            self._insert([gpu.MemcpyOp(alloc.memref, host)], place, launch)
        alloc.memref.name_hint = f"{host.name_hint}_gpu" if host.name_hint else None
        self.device_values[host] = alloc.memref

    def _place_of_allocation(self, host: SSAValue) -> Operation:
        """The operation before which the GPU copy of `host` is allocated."""
        if isinstance(host, OpResult):
            after = host.op.next_op
            assert after is not None
            return after
        if self.staged_until is None:
            self.staged_until = self.block.first_op
        assert self.staged_until is not None
        return self.staged_until

    def _device_value(self, value: SSAValue) -> SSAValue:
        """The GPU counterpart of a host memref: its views are repeated on the GPU buffer."""
        found = self.device_values.get(value)
        if found is None:
            assert isinstance(value, OpResult) and is_view(value.op)
            source = self._device_value(value.op.operands[0])
            view = value.op.clone({value.op.operands[0]: source})
            block = value.op.parent
            assert block is not None
            block.insert_op_after(view, value.op)
            found = self.device_values[value] = view.results[0]
        return found

    def _keep_equal(self, op: Operation, touched: dict[Root, bool]) -> None:
        """Copy what `op` needs before it, and note what it makes out of date."""
        if op is self.terminator:
            self._copy_out(op)
            return
        inside = [
            child
            for child in op.walk()
            if isinstance(child, gpu.LaunchFuncOp) and child in self.launched
        ]
        for launch in inside:
            for root, writes in self.launched[launch].items():
                self._need(root, op, on_device=True)
                if writes:
                    self._invalidate(root, on_device=False)
        if op in self.launched or is_view(op):
            return
        if inside:
            touched = self._touched_by_host(op)
            for root in touched.keys() & {r for launch in inside for r in self.launched[launch]}:
                message = f"the host and a launch both access {root} within this operation"
                raise UnsupportedError(at(op, f"{message}; move one of them out"))
        for root, writes in touched.items():
            buffer = self.buffers[root]
            if isinstance(op, memref.DeallocOp):
                self._free(buffer, op)
            elif buffer.host.owner is not op:
                buffer.host_used = True
                self._need(root, op, on_device=False)
                if writes:
                    self._invalidate(root, on_device=True)

    def _touched(self, accesses: tuple[Access, ...]) -> dict[Root, bool]:
        """Managed roots that `accesses` may touch, and whether they may write them."""
        found: dict[Root, bool] = {}
        for access in accesses:
            for root in self.buffers:
                if self.accesses.aliases.roots_may_alias(access.root, root):
                    found[root] = found.get(root, False) or access.writes
        return found

    def _touched_by_host(self, op: Operation) -> dict[Root, bool]:
        """`_touched` by all operations within `op` that are no launches."""
        return self._touched(
            tuple(
                access
                for child in op.walk()
                if child not in self.launched and not child.regions
                for access in self.accesses.accesses(child)
            )
        )

    def _overlapping(self, root: Root) -> list[_Buffer]:
        may_alias = self.accesses.aliases.roots_may_alias
        return [b for r, b in self.buffers.items() if may_alias(root, r)]

    def _invalidate(self, root: Root, on_device: bool) -> None:
        for buffer in self._overlapping(root):
            if on_device:
                buffer.on_device = False
            else:
                buffer.on_host = False

    def _need(self, root: Root, op: Operation, on_device: bool) -> None:
        """Make the wanted side of `root` hold the newest contents before `op`."""
        for buffer in self._overlapping(root):
            if on_device and not buffer.on_device:
                self._insert([gpu.MemcpyOp(buffer.device, buffer.host)], op, op)
                buffer.on_device = True
            elif not on_device and not buffer.on_host:
                self._insert([gpu.MemcpyOp(buffer.host, buffer.device)], op, op)
                buffer.on_host = True

    def _copy_out(self, terminator: Operation) -> None:
        """Before the return: results, and arguments and globals that a launch wrote."""
        for number, value in enumerate(terminator.operands):
            if not isinstance(value.type, MemRefType):
                continue
            for root in self.accesses.aliases.roots(value):
                buffer = self.buffers.get(root)
                if buffer is None:
                    continue
                buffer.host_used = True
                if buffer.host is value and root.kind is RootKind.ALLOCATION:
                    alloc = buffer.device.owner
                    assert isinstance(alloc, gpu.AllocOp)
                    alloc.attributes.setdefault(RESULT_ATTRIBUTE, IntegerAttr(number, i64))
                self._need(root, terminator, on_device=False)
        for root in self.buffers:
            if root.kind is not RootKind.ALLOCATION:
                self._need(root, terminator, on_device=False)

    def _free(self, buffer: _Buffer, op: Operation) -> None:
        buffer.freed = True
        self._insert([gpu.DeallocOp(buffer.device)], op, op)

    def _finish(self) -> None:
        """Free what nobody freed, and drop host buffers that nobody uses."""
        for buffer in self.buffers.values():
            if not buffer.freed:
                self._insert([gpu.DeallocOp(buffer.device)], self.terminator, self.terminator)
            if not buffer.host_used and buffer.root.kind is RootKind.ALLOCATION:
                self._drop_host(buffer.host)

    def _drop_host(self, host: SSAValue) -> None:
        """Erase a host allocation with its views and deallocations, if only they use it."""
        users = [use.operation for use in host.uses]
        for user in users:
            if is_view(user):
                self._drop_host(user.results[0])
            elif isinstance(user, memref.DeallocOp):
                user.detach()
                user.erase()
        if not host.uses and isinstance(host, OpResult):
            host.op.detach()
            host.op.erase()

    def _insert(self, ops: list[Operation], before: Operation, cause: Operation) -> None:
        for op in ops:
            op.location = cause.location
        block: Block | None = before.parent
        assert block is not None
        block.insert_ops_before(ops, before)


def _is_gpu_alloc(root: Root) -> bool:
    return root.value is not None and isinstance(root.value.owner, gpu.AllocOp)
