"""From the IR of a host function to a `Schedule`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from opar.analysis.accesses import AccessAnalysis
from opar.backend import (
    build_async,
    build_control_flow,
    build_memory,
    build_operations,
    build_views,
)
from opar.backend.build_blocks import run_region
from opar.backend.build_order import order_by_streams, order_by_tokens, steps_of
from opar.backend.build_state import Builder, Held, check_number
from opar.backend.inline_calls import inline_calls
from opar.backend.schedule import Argument, Branch, Buffer, Jump, Result, Schedule
from opar.errors import EntryError, UnsupportedError, at, format_location

_HANDLERS = (
    build_operations.add,
    build_memory.add,
    build_views.add,
    build_control_flow.add,
    build_async.add,
)


def build_schedule(
    function: func.FuncOp, kernels: Mapping[str, str], accesses: AccessAnalysis
) -> tuple[Schedule, list[Operation]]:
    """
    The schedule of `function`, and the operation that each step comes from. `kernels` maps
    `module::function` to the name of the compiled kernel; `accesses` must know what was assumed
    about the arguments. The calls in `function` are replaced by what they run.

    Raises `UnsupportedError`, with the place, for an operation that the host cannot run.
    """
    inline_calls(function)
    builder = Builder(kernels, accesses, _HANDLERS)
    arguments = [
        _add_argument(builder, function, i, value)
        for i, value in enumerate(function.body.blocks[0].args)
    ]
    held = run_region(builder, function, function.body)
    results = tuple(
        _result(function, type, one)
        for type, one in zip(function.function_type.outputs, held, strict=True)
    )
    return _finish(builder, function, arguments, results), builder.origins


def _add_argument(builder: Builder, function: func.FuncOp, i: int, value: SSAValue) -> Argument:
    numbers = builder.numbers
    attributes = function.arg_attrs.data[i].data if function.arg_attrs is not None else {}
    name = value.name_hint or f"arg{i}"
    location = format_location(function.location)
    type = value.type
    if not isinstance(type, MemRefType):
        check_number(type, function)
        builder.give(value, Held(place=numbers.typed("argument", (), type, i)))
        return Argument(name, str(type), location=location)
    shape = tuple(None if s == DYNAMIC_INDEX else s for s in type.get_shape())
    sizes = tuple(
        numbers.scalar("size", (), (i, d), 64) if s is None else numbers.constant(s)
        for d, s in enumerate(shape)
    )
    strides, static = _argument_strides(builder, function, i, type, sizes)
    check_number(type.element_type, function)
    dtype = str(type.element_type)
    on_device = not isinstance(type.memory_space, NoneAttr)
    view = builder.new_buffer(Buffer(name, dtype, sizes, on_device, argument=i))
    builder.give(value, Held(view=replace(view, strides=strides)))
    noalias = isinstance(attributes.get("llvm.noalias"), UnitAttr)
    return Argument(name, dtype, shape, static, noalias=noalias, location=location)


def _argument_strides(
    builder: Builder, function: func.FuncOp, i: int, type: MemRefType, sizes: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int | None, ...] | None]:
    numbers = builder.numbers
    if isinstance(type.layout, NoneAttr):
        return numbers.contiguous(sizes), None
    if not isinstance(type.layout, StridedLayoutAttr):
        message = f"the layout of argument {i}, {type}, is not supported; use strided<...>"
        raise UnsupportedError(at(function, message))
    static = tuple(None if isinstance(s, NoneAttr) else s.data for s in type.layout.strides.data)
    places = tuple(
        numbers.scalar("stride", (), (i, d), 64) if s is None else numbers.constant(s)
        for d, s in enumerate(static)
    )
    return places, static


def _result(function: func.FuncOp, type: Attribute, held: Held) -> Result:
    if isinstance(type, MemRefType) and held.view is not None:
        check_number(type.element_type, function)
        return Result(str(type.element_type), view=held.view)
    if held.place is None:
        message = f"a result of type {type} cannot be returned to Python"
        raise EntryError(at(function, message))
    return Result(str(type), scalar=held.place)


def _finish(
    builder: Builder,
    function: func.FuncOp,
    arguments: Sequence[Argument],
    results: tuple[Result, ...],
) -> Schedule:
    """The schedule of all that was added."""
    builder.resolve_labels()
    jumps = any(isinstance(step, Jump | Branch) for step in builder.steps)
    order = order_by_tokens if jumps else order_by_streams
    ways: dict[int, set[bool]] = {}
    for buffer, writes in builder.touched:
        for source in builder.sources(buffer):
            number = builder.buffers[source].argument
            number = builder.buffers[source].stages if number is None else number
            if number is not None:
                ways.setdefault(number, set()).add(writes)
    return Schedule(
        function.sym_name.data,
        tuple(builder.numbers.scalars),
        tuple(
            replace(a, read=False in ways.get(i, ()), written=True in ways.get(i, ()))
            for i, a in enumerate(arguments)
        ),
        tuple(builder.buffers),
        tuple(order(builder.steps, builder.before)),
        results,
        tuple(steps_of(nodes, builder.node_flows) for nodes in builder.nodes),
    )
