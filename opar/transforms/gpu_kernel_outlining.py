"""The pass `gpu-kernel-outlining`: the bodies of launches become kernels."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func
from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from opar.dialects import affine, gpu, memref
from opar.errors import UnsupportedError, at

CONTAINER_ATTRIBUTE = "gpu.container_module"


@dataclass(frozen=True)
class GpuKernelOutliningPass(ModulePass):
    """
    Move the body of each `gpu.launch` into a kernel in a `gpu.module` of its own, and launch that.

    Before::

        func.func @f(%a: memref<4xf32>) {
          gpu.launch blocks(...) in (...) threads(...) in (...) {
            ... %a ...
            gpu.terminator
          }
        }

    After::

        func.func @f(%a: memref<4xf32>) {
          gpu.launch_func @f_kernel::@f_kernel blocks in (...) threads in (...)
            args(%a : memref<4xf32>)
        }
        gpu.module @f_kernel {
          gpu.func @f_kernel(%a: memref<4xf32>) kernel { ... %a ... gpu.return }
        }

    1. Constants, and index arithmetic on nothing else, are repeated in the kernel; other values
       from outside become parameters.
    2. Equal kernels are made once (`deduplicate`).
    3. Functions that the body calls, and constants (`memref.global`) that it reads, are copied
       into the module.
    4. Tokens, attributions, clusters, dynamic workgroup memory and the names given by `module(@m)`
       and `function(@f)` are kept. Constant sizes become `known_block_size` and `known_grid_size`.

    A kernel takes no name that one of those functions and constants has, as they meet in a module.

    Raises `UnsupportedError` for a launch within a launch, also through a call, for a call of a
    function without a body, for a `memref.global` that is no constant, and where the module that a
    launch names holds something else of the name of a function or constant that it needs.
    """

    name = "gpu-kernel-outlining"

    deduplicate: bool = True

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        launches = [
            (function, launch, _used_symbols(launch))  # all errors before any change
            for function in op.walk()
            if isinstance(function, func.FuncOp)
            for launch in _launches(function)
        ]
        for _, launch, used in launches:
            _check_names(launch, used)
        taken = frozenset(_name(symbol) for _, _, used in launches for symbol in used)
        outliners: dict[builtin.ModuleOp, _Outliner] = {}
        for function, launch, used in launches:
            module = _module_of(function)
            outliner = outliners.setdefault(module, _Outliner(module, self.deduplicate, taken))
            outliner.outline(function, launch, used)


def _launches(function: func.FuncOp) -> list[gpu.LaunchOp]:
    """The launches of a function, none of which holds another."""
    found: list[gpu.LaunchOp] = []
    for op in function.walk():
        if isinstance(op, gpu.LaunchOp):
            for inner in op.body.walk():
                if isinstance(inner, gpu.LaunchOp | gpu.LaunchFuncOp):
                    message = "a launch within a launch is not supported; launch both from the host"
                    raise UnsupportedError(at(inner, message))
            found.append(op)
    return found


def _module_of(op: Operation) -> builtin.ModuleOp:
    """The module around `op`: where launches find their kernels."""
    around = op.parent_op()
    while not isinstance(around, builtin.ModuleOp):
        assert around is not None
        around = around.parent_op()
    return around


def _name(symbol: Operation) -> str:
    assert isinstance(symbol, func.FuncOp | memref.GlobalOp)
    return symbol.sym_name.data


def _check_names(launch: gpu.LaunchOp, used: Sequence[Operation]) -> None:
    """Raise `UnsupportedError` where the module for `launch` holds others than `used`."""
    if launch.kernel_module is None:
        return
    wanted = launch.kernel_module.root_reference.data
    holder = SymbolTable.lookup_symbol(launch, wanted)
    if not isinstance(holder, gpu.ModuleOp):
        return
    for symbol in used:
        there = SymbolTable.lookup_symbol(holder, _name(symbol))
        if there is not None and not there.is_structurally_equivalent(symbol):
            message = (
                f"its body needs @{_name(symbol)}, but @{wanted} holds something else of that "
                "name; rename one of them"
            )
            raise UnsupportedError(at(launch, message))


@dataclass
class _Outliner:
    module: builtin.ModuleOp
    deduplicate: bool
    taken: frozenset[str]
    """Names that no kernel may take."""
    kernels: dict[tuple, list[gpu.FuncOp]] = field(default_factory=dict)
    """Kernels made so far, by a key that equal ones share."""
    names: dict[Operation, set[str]] = field(default_factory=dict)
    """The names in modules."""
    numbers: dict[tuple[Operation, str], int] = field(default_factory=dict)
    """The number that a name behind others of a module gets next."""

    def outline(
        self, function: func.FuncOp, launch: gpu.LaunchOp, used: Sequence[Operation]
    ) -> None:
        """Replace `launch` by a launch of a kernel that finds the symbols `used` beside it."""
        sunk, captured = _captured(launch)
        kernel = _make_kernel(f"{function.sym_name.data}_kernel", launch, sunk, captured)
        existing = None
        if launch.kernel_module is None and launch.kernel_function is None:
            existing = self._equal(kernel)
        if existing is None:
            self._place(kernel, launch, used)
        else:
            kernel.erase()
            kernel = existing
        call = gpu.LaunchFuncOp(
            kernel,
            launch.grid_size,
            launch.block_size,
            captured,
            cluster_size=launch.cluster_size,
            dynamic_shared_memory_size=launch.dynamic_shared_memory_size,
            async_dependencies=launch.async_dependencies,
            is_async=launch.async_token is not None,
        )
        call.location = launch.location
        call.attributes |= {
            name: value
            for name, value in launch.attributes.items()
            if name != "workgroup_attributions"
        }
        block = launch.parent
        assert block is not None
        block.insert_op_before(call, launch)
        if launch.async_token is not None and call.async_token is not None:
            launch.async_token.replace_all_uses_with(call.async_token)
        block.erase_op(launch)

    def _equal(self, kernel: gpu.FuncOp) -> gpu.FuncOp | None:
        """A kernel that does the same as `kernel`, which is remembered where there is none."""
        if not self.deduplicate:
            return None
        key = (kernel.function_type, tuple(_described(op) for op in kernel.body.walk()))
        candidates = self.kernels.setdefault(key, [])
        name = kernel.sym_name
        for candidate in candidates:
            kernel.sym_name = candidate.sym_name
            if candidate.is_structurally_equivalent(kernel):
                return candidate
        kernel.sym_name = name
        candidates.append(kernel)
        return None

    def _place(self, kernel: gpu.FuncOp, launch: gpu.LaunchOp, used: Sequence[Operation]) -> None:
        """Put `kernel` into a gpu.module, with the functions and constants that it uses."""
        if launch.kernel_function is not None:
            kernel.sym_name = launch.kernel_function.root_reference
        wanted = launch.kernel_module
        name = kernel.sym_name.data if wanted is None else wanted.root_reference.data
        holder = None if wanted is None else SymbolTable.lookup_symbol(self.module, name)
        if not isinstance(holder, gpu.ModuleOp):
            holder = gpu.ModuleOp(self._unused(name, self.module))
            holder.location = launch.location
            self.module.body.block.add_op(holder)
            self.module.attributes[CONTAINER_ATTRIBUTE] = UnitAttr()
        unused = self._unused(kernel.sym_name.data, holder, self.taken)
        kernel.sym_name = builtin.StringAttr(unused)
        for symbol in used:
            if _name(symbol) not in self._names_in(holder):
                holder.body.block.add_op(symbol.clone())
                self._names_in(holder).add(_name(symbol))
        holder.body.block.add_op(kernel)

    def _names_in(self, table: builtin.ModuleOp | gpu.ModuleOp) -> set[str]:
        if table not in self.names:
            found = (op.properties.get("sym_name") for op in table.body.block.ops)
            self.names[table] = {n.data for n in found if isinstance(n, builtin.StringAttr)}
        return self.names[table]

    def _unused(
        self, name: str, table: builtin.ModuleOp | gpu.ModuleOp, taken: Container[str] = ()
    ) -> str:
        """A name like `name` that nothing in `table` has; it counts as used from now on."""
        names = self._names_in(table)
        number = self.numbers.get((table, name), 0)
        candidate = name
        while candidate in taken or candidate in names:
            candidate = f"{name}_{number}"
            number += 1
        self.numbers[table, name] = number
        names.add(candidate)
        return candidate


def _described(op: Operation) -> tuple[object, ...]:
    """What equal operations share, operands left out."""
    attributes = (op.properties, op.attributes)
    sets = (frozenset(found.items()) for found in attributes)
    return op.name, *sets, tuple(r.type for r in op.results)


_SINKABLE = (arith.ConstantOp, arith.CmpiOp, arith.SelectOp, affine.ApplyOp)


def _captured(launch: gpu.LaunchOp) -> tuple[list[Operation], list[SSAValue]]:
    """Outside operations to repeat in the kernel, in order, and outside values to pass to it."""
    sunk: dict[Operation, None] = {}
    captured: dict[SSAValue, None] = {}

    def can_sink(value: SSAValue) -> bool:
        return (
            isinstance(value, OpResult)
            and isinstance(value.op, _SINKABLE)
            and all(can_sink(v) for v in value.op.operands)
        )

    def sink(op: Operation) -> None:
        for value in op.operands:
            assert isinstance(value, OpResult)
            sink(value.op)
        sunk[op] = None

    for value in _outside_values(launch.body):
        if can_sink(value):
            assert isinstance(value, OpResult)
            sink(value.op)
        else:
            captured[value] = None
    return list(sunk), list(captured)


def _outside_values(region: Region) -> Iterator[SSAValue]:
    for op in region.walk():
        for value in op.operands:
            owner = value.owner
            block = owner if isinstance(owner, Block) else owner.parent
            inside = (
                block is not None
                and (parent := block.parent) is not None
                and (parent is region or region.is_ancestor(parent))
            )
            if not inside:
                yield value


def _used_symbols(launch: gpu.LaunchOp) -> list[Operation]:
    """The functions that the body calls, directly or not, and the constants that they read."""
    found: dict[Operation, None] = {}
    work: list[Operation] = [launch]
    while work:
        for op in work.pop().walk():
            if isinstance(op, memref.GetGlobalOp):
                name = op.name_.root_reference.data
                constant = SymbolTable.lookup_symbol(launch, name)
                if not isinstance(constant, memref.GlobalOp) or constant.constant is None:
                    message = f"@{name} is no constant, so take it outside of the launch"
                    raise UnsupportedError(at(op, message))
                found[constant] = None
            if not isinstance(op, func.CallOp):
                continue
            callee = SymbolTable.lookup_symbol(launch, op.callee)
            if not isinstance(callee, func.FuncOp) or callee.is_declaration:
                message = f"{op.callee} has no body, so a kernel cannot call it"
                raise UnsupportedError(at(op, message))
            for inner in callee.walk():
                if isinstance(inner, gpu.LaunchOp | gpu.LaunchFuncOp):
                    message = f"{op.callee} launches a kernel, which a kernel cannot do"
                    raise UnsupportedError(at(op, message))
            if callee not in found:
                found[callee] = None
                work.append(callee)
    return list(found)


def _make_kernel(
    name: str, launch: gpu.LaunchOp, sunk: Sequence[Operation], captured: Sequence[SSAValue]
) -> gpu.FuncOp:
    kernel = gpu.FuncOp(
        name,
        ([v.type for v in captured], []),
        kernel=True,
        workgroup_attributions=[a.type for a in launch.workgroup_attributions],
        private_attributions=[a.type for a in launch.private_attributions],
        known_block_size=_constants(launch.block_size),
        known_grid_size=_constants(launch.grid_size),
    )
    kernel.location = launch.location
    entry = kernel.body.block
    mapped: dict[SSAValue, SSAValue] = {}
    for value, argument in zip(captured, entry.args, strict=False):
        argument.name_hint = value.name_hint
        mapped[value] = argument
    attributions = (*launch.workgroup_attributions, *launch.private_attributions)
    for old, new in zip(attributions, entry.args[len(captured) :], strict=True):
        mapped[old] = new
    entry.add_ops(_ids(launch, mapped))
    for op in sunk:
        entry.add_op(op.clone(mapped))
    _move_body(launch.body, kernel.body, mapped)
    return kernel


def _constants(sizes: Sequence[SSAValue]) -> list[int] | None:
    """The values of sizes, where all are constant and positive."""
    found = []
    for size in sizes:
        owner = size.owner
        if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr):
            return None
        found.append(owner.value.value.data)
    return found if all(n > 0 for n in found) else None


def _ids(launch: gpu.LaunchOp, mapped: dict[SSAValue, SSAValue]) -> list[Operation]:
    """Operations for those ids and sizes that the body uses."""
    kinds = [
        (gpu.BlockIdOp, launch.block_ids),
        (gpu.ThreadIdOp, launch.thread_ids),
        (gpu.GridDimOp, launch.grid_dims),
        (gpu.BlockDimOp, launch.block_dims),
        (gpu.ClusterIdOp, launch.cluster_ids or ()),
        (gpu.ClusterDimOp, launch.cluster_dims or ()),
    ]
    ops: list[Operation] = []
    for kind, arguments in kinds:
        for dimension, argument in zip("xyz", arguments, strict=False):
            if argument.uses:
                op = kind(dimension)
                op.location = launch.location
                op.result.name_hint = argument.name_hint
                mapped[argument] = op.result
                ops.append(op)
    return ops


def _move_body(source: Region, target: Region, mapped: dict[SSAValue, SSAValue]) -> None:
    """Move the blocks of a launch behind the prologue of a kernel."""
    for op in source.walk():
        for i, value in enumerate(op.operands):
            if value in mapped:
                op.operands[i] = mapped[value]
    for block in source.blocks:
        if isinstance(block.last_op, gpu.TerminatorOp):
            end = block.last_op
            result = gpu.ReturnOp()
            result.location = end.location
            block.erase_op(end)
            block.add_op(result)
    first = source.blocks[0]
    for op in list(first.ops):
        op.detach()
        target.block.add_op(op)
    for block in list(source.blocks)[1:]:
        source.detach_block(block)
        target.add_block(block)
