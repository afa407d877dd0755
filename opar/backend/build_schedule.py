"""From the IR of a host function to a `Schedule`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import ARGUMENT_ATTRIBUTE, RESULT_ATTRIBUTE, Root
from opar.analysis.dependence import minimal
from opar.backend.build_scalars import ScalarBuilder, width_of
from opar.backend.codegen.abi import flatten
from opar.backend.schedule import (
    Alloc,
    Argument,
    Buffer,
    Copy,
    Fill,
    Free,
    Launch,
    Result,
    Schedule,
    View,
    Wait,
)
from opar.backend.schedule import Operation as Step
from opar.dialects import gpu, memref
from opar.errors import EntryError, UnsupportedError, at, format_location
from opar.transforms.gpu_assign_streams import STREAM_ATTRIBUTE


def type_name(type: Attribute) -> str:
    """`f32`, `i64`, `index`, ... : the MLIR name of a number type."""
    return str(type)


def build_schedule(
    function: func.FuncOp, kernels: Mapping[str, str], accesses: AccessAnalysis
) -> tuple[Schedule, list[Operation]]:
    """
    The schedule of `function`, and the operation that each step comes from. The body is
    straight-line code of launches, copies, allocations, waits and index arithmetic. `kernels` maps
    `module::function` to the name of the compiled kernel; `accesses` must know what was assumed
    about the arguments.

    Raises `UnsupportedError`, with the place, for any other operation.
    """
    builder = _Builder(function, kernels, accesses)
    builder.add_arguments()
    for op in function.body.block.ops:
        builder.add(op)
    return builder.schedule(), builder.origins


class _Builder:
    def __init__(self, function: func.FuncOp, kernels: Mapping[str, str], accesses: AccessAnalysis):
        if len(function.body.blocks) != 1:
            raise UnsupportedError(at(function, "a function of several blocks is not supported"))
        self.function = function
        self.kernels = kernels
        self.accesses = accesses
        self.numbers = ScalarBuilder()
        self.arguments: list[Argument] = []
        self.buffers: list[Buffer] = []
        self.steps: list[Step] = []
        self.origins: list[Operation] = []
        self.tokens: list[tuple[int, ...]] = []
        self.results: tuple[Result, ...] = ()
        self.views: dict[SSAValue, View] = {}
        self.done_by: dict[SSAValue, frozenset[int]] = {}
        self.nodes: dict[SSAValue, frozenset[int]] = {}
        self.ancestors: list[int] = []
        self.tails: dict[int, int] = {}
        self.complete = 0
        self.touched: dict[Root, set[bool]] = {}

    # Arguments and buffers

    def add_arguments(self) -> None:
        for i, value in enumerate(self.function.body.block.args):
            attributes = (
                self.function.arg_attrs.data[i].data if self.function.arg_attrs is not None else {}
            )
            name = value.name_hint or f"arg{i}"
            location = format_location(self.function.location)
            type = value.type
            if not isinstance(type, MemRefType):
                self._check_number(type, self.function)
                self.arguments.append(Argument(name, type_name(type), location=location))
                self.numbers.places[value] = self.numbers.scalar("argument", (), i, width_of(type))
                continue
            shape = tuple(None if s == DYNAMIC_INDEX else s for s in type.get_shape())
            sizes = tuple(
                self.numbers.scalar("size", (), (i, d), 64)
                if s is None
                else self.numbers.constant(s)
                for d, s in enumerate(shape)
            )
            strides, static = self._argument_strides(i, type, sizes)
            self._check_number(type.element_type, self.function)
            dtype = type_name(type.element_type)
            self.arguments.append(
                Argument(
                    name,
                    dtype,
                    shape,
                    static,
                    noalias=isinstance(attributes.get("llvm.noalias"), UnitAttr),
                    location=location,
                )
            )
            on_device = not isinstance(type.memory_space, NoneAttr)
            self.buffers.append(Buffer(name, dtype, sizes, on_device, argument=i))
            self.views[value] = View(
                len(self.buffers) - 1, self.numbers.constant(0), sizes, strides
            )

    def _argument_strides(
        self, i: int, type: MemRefType, sizes: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int | None, ...] | None]:
        if isinstance(type.layout, NoneAttr):
            return self.numbers.contiguous(sizes), None
        if not isinstance(type.layout, StridedLayoutAttr):
            message = f"the layout of argument {i}, {type}, is not supported; use strided<...>"
            raise UnsupportedError(at(self.function, message))
        static = tuple(
            None if isinstance(s, NoneAttr) else s.data for s in type.layout.strides.data
        )
        places = tuple(
            self.numbers.scalar("stride", (), (i, d), 64) if s is None else self.numbers.constant(s)
            for d, s in enumerate(static)
        )
        return places, static

    def _check_number(self, type: Attribute, op: Operation) -> None:
        if isinstance(type, IndexType | AnyFloat):
            return
        if (
            isinstance(type, IntegerType)
            and type.width.data in (1, 8, 16, 32, 64)
            and type.signedness.data is Signedness.SIGNLESS
        ):
            return
        raise UnsupportedError(at(op, f"values of type {type} cannot be passed from Python"))

    def allocate(self, op: Operation, value: SSAValue, sizes: Sequence[SSAValue]) -> int:
        type = value.type
        assert isinstance(type, MemRefType)
        if not isinstance(type.layout, NoneAttr):
            raise UnsupportedError(at(op, f"allocating {type}: only the identity layout can be"))
        dynamic = iter(sizes)
        places = tuple(
            self.numbers.places[next(dynamic)] if s == DYNAMIC_INDEX else self.numbers.constant(s)
            for s in type.get_shape()
        )
        on_device = isinstance(op, gpu.AllocOp)
        stages, result = (
            attribute.value.data if isinstance(attribute, IntegerAttr) else None
            for attribute in (
                op.attributes.get(ARGUMENT_ATTRIBUTE),
                op.attributes.get(RESULT_ATTRIBUTE),
            )
        )
        name = self.unique_name(value.name_hint or "buffer")
        dtype = type_name(type.element_type)
        self.buffers.append(Buffer(name, dtype, places, on_device, None, stages, result))
        number = len(self.buffers) - 1
        self.views[value] = View(
            number, self.numbers.constant(0), places, self.numbers.contiguous(places)
        )
        return number

    def unique_name(self, hint: str) -> str:
        """A name for a buffer that no other has."""
        names = {buffer.name for buffer in self.buffers}
        number = 1
        name = hint
        while name in names:
            name = f"{hint}_{number}"
            number += 1
        return name

    # Steps

    def add(self, op: Operation) -> None:
        self._note_accesses(op)
        if self.numbers.add(op):
            return
        if isinstance(op, memref.DimOp):
            self._add_dim(op)
        elif isinstance(op, memref.CastOp):
            self.views[op.dest] = self.views[op.source]
        elif isinstance(op, memref.AllocOp | memref.AllocaOp):
            buffer = self.allocate(op, op.memref, op.dynamic_sizes)
            self._step(op, Alloc, name="alloc", buffer=buffer)
        elif isinstance(op, memref.DeallocOp):
            self._step(op, Free, name="dealloc", buffer=self.views[op.memref].buffer)
        elif isinstance(op, memref.CopyOp):
            source, target = self.views[op.source], self.views[op.destination]
            self._step(op, Copy, name="copy", source=source, target=target)
        elif isinstance(op, gpu.AsyncOp):
            self._add_gpu(op)
        elif isinstance(op, func.ReturnOp):
            self.results = tuple(self._result(v, op) for v in op.arguments)
        else:
            message = "on the host, between kernels, this operation is not supported"
            raise UnsupportedError(at(op, message))

    def _note_accesses(self, op: Operation) -> None:
        """Note how arguments are used, other than by the copies that only stage them."""
        if isinstance(op, gpu.AllocOp | gpu.DeallocOp):
            return
        if isinstance(op, gpu.MemcpyOp) and self.buffers[self.views[op.dst].buffer].on_device:
            return
        for access in self.accesses.accesses(op):
            self.touched.setdefault(access.root, set()).add(access.writes)

    def _add_dim(self, op: memref.DimOp) -> None:
        dim = self.numbers.constant_at(self.numbers.places[op.index])
        if dim is None:
            raise UnsupportedError(at(op, "the dimension must be a constant on the host"))
        sizes = self.views[op.source].sizes
        if not 0 <= dim < len(sizes):
            raise UnsupportedError(at(op, f"dimension {dim} is out of range of the memref"))
        self.numbers.places[op.result] = sizes[dim]

    def _add_gpu(self, op: Operation) -> None:
        if isinstance(op, gpu.WaitOp):
            if op.async_token is None:
                self._step(op, Wait, name="wait")
            else:
                self.done_by[op.async_token] = self._done_by(op)
                self.nodes[op.async_token] = self._nodes(op)
        elif isinstance(op, gpu.AllocOp):
            buffer = self.allocate(op, op.memref, op.dynamic_sizes)
            self._step(op, Alloc, name="alloc", buffer=buffer)
        elif isinstance(op, gpu.DeallocOp):
            self._step(op, Free, name="dealloc", buffer=self.views[op.memref].buffer)
        elif isinstance(op, gpu.MemcpyOp):
            source, target = self.views[op.src], self.views[op.dst]
            self._step(op, Copy, name="memcpy", source=source, target=target)
        elif isinstance(op, gpu.MemsetOp):
            target, value = self.views[op.dst], self.numbers.places[op.value]
            self._step(op, Fill, name="memset", target=target, value=value)
        elif isinstance(op, gpu.LaunchFuncOp):
            self._add_launch(op)
        else:
            raise UnsupportedError(at(op, "run gpu-kernel-outlining before compiling"))

    def _add_launch(self, op: gpu.LaunchFuncOp) -> None:
        symbol = "::".join(
            (op.kernel.root_reference.data, *(s.data for s in op.kernel.nested_references))
        )
        if symbol not in self.kernels:
            raise UnsupportedError(at(op, f"kernel @{symbol} has no body to compile"))
        if op.async_object is not None:
            raise UnsupportedError(at(op, "an explicit stream cannot be run; use async tokens"))
        if op.cluster_size is not None:
            raise UnsupportedError(at(op, "thread block clusters are not supported"))
        shared = op.dynamic_shared_memory_size
        self._step(
            op,
            Launch,
            name=op.kernel.nested_references.data[-1].data,
            kernel=self.kernels[symbol],
            grid=tuple(self.numbers.places[v] for v in op.grid_size),
            block=tuple(self.numbers.places[v] for v in op.block_size),
            shared=None if shared is None else self.numbers.places[shared],
            arguments=tuple(a for v in op.kernel_operands for a in self._flatten(v)),
        )

    def _flatten(self, value: SSAValue) -> list[View | int]:
        """`value` in the order of the kernel parameters that it becomes."""
        view = self.views.get(value)
        if view is None:
            return [self.numbers.places[value]]
        found: list[View | int] = []
        for parameter in flatten(value.type):
            match parameter.kind:
                case "pointer":
                    found.append(view)
                case "size":
                    found.append(view.sizes[parameter.dim or 0])
                case "stride":
                    found.append(view.strides[parameter.dim or 0])
        return found

    def _taken(self, op: Operation) -> list[SSAValue]:
        return [v for v in op.operands if isinstance(v.type, gpu.AsyncTokenType)]

    def _done_by(self, op: Operation) -> frozenset[int]:
        """The steps that are complete once all tokens that `op` takes are."""
        return frozenset(i for v in self._taken(op) for i in self.done_by.get(v, ()))

    def _nodes(self, op: Operation) -> frozenset[int]:
        """The steps whose tokens `op` takes, directly or through joins."""
        return frozenset(i for v in self._taken(op) for i in self.nodes.get(v, ()))

    def _step(self, op: Operation, kind: type[Step], **fields: object) -> None:
        """Append a step with the tokens and the stream of `op`."""
        number = len(self.steps)
        before = self._done_by(op)
        token = op.async_token if isinstance(op, gpu.AsyncOp) else None
        attribute = op.attributes.get(STREAM_ATTRIBUTE)
        stream = attribute.value.data if isinstance(attribute, IntegerAttr) else 0
        on_host = kind is Wait or not isinstance(op, gpu.AsyncOp)
        queued = kind not in (Wait, Alloc, Free) and not on_host
        # Complete before this step anyway: what the host waited for, and what its stream ran.
        ordered = self.complete
        if queued and (tail := self.tails.get(stream)) is not None:
            ordered |= self.ancestors[tail] | 1 << tail
        needed = [i for i in minimal(before, self.ancestors) if not ordered >> i & 1]
        self.origins.append(op)
        self.steps.append(
            kind(
                location=format_location(op.location),
                stream=None if on_host else stream,
                dependencies=tuple(needed) if queued or on_host else (),
                blocking=not on_host and token is None,
                **fields,  # pyright: ignore[reportArgumentType]
            )
        )
        self.ancestors.append(ordered)
        for i in before:
            self.ancestors[number] |= self.ancestors[i] | 1 << i
        if kind is Wait:
            self.complete |= self.ancestors[number]
        if queued:
            self.tails[stream] = number
            if token is None:
                self.complete |= self.ancestors[number] | 1 << number
        self.tokens.append(tuple(sorted(self._nodes(op))))
        if token is not None:
            # The host allocates at once, and frees after the last step: neither is waited for.
            self.done_by[token] = frozenset((number,)) if queued else before
            self.nodes[token] = frozenset((number,))

    def _result(self, value: SSAValue, op: Operation) -> Result:
        if isinstance(value.type, MemRefType):
            self._check_number(value.type.element_type, op)
            return Result(type_name(value.type.element_type), view=self.views[value])
        if value not in self.numbers.places:
            raise EntryError(at(op, f"a result of type {value.type} cannot be returned to Python"))
        return Result(type_name(value.type), scalar=self.numbers.places[value])

    def schedule(self) -> Schedule:
        """The finished schedule."""
        for i, value in enumerate(self.function.body.block.args):
            ways: set[bool] = set()
            if isinstance(value.type, MemRefType):
                for root in self.accesses.aliases.roots(value):
                    ways |= self.touched.get(root, set())
            self.arguments[i] = replace(self.arguments[i], read=False in ways, written=True in ways)
        return Schedule(
            self.function.sym_name.data,
            tuple(self.numbers.scalars),
            tuple(self.arguments),
            tuple(self.buffers),
            tuple(self.steps),
            self.results,
            tuple(self.tokens),
        )
