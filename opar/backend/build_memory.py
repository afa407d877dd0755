"""Steps of a schedule for what the host does with memory: loads, stores, copies, globals."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import cf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from opar.backend.build_operations import add_copy, allocate
from opar.backend.build_state import Builder, Held, check_number
from opar.backend.numbers import bits_of
from opar.backend.schedule import Assert, Buffer, Free, Load, Store
from opar.dialects import affine, memref
from opar.errors import UnsupportedError, at


def add(builder: Builder, op: Operation) -> bool:
    """Add the steps of an operation of the host on memory, or `cf.assert`; false for any other."""
    match op:
        case memref.LoadOp():
            indices = [builder.place(v) for v in op.indices]
            _add_load(builder, op, op.memref, indices, op.res)
        case affine.LoadOp():
            indices = builder.numbers.map_results(op.map.data, op.indices)
            _add_load(builder, op, op.memref, indices, op.result)
        case memref.StoreOp():
            indices = [builder.place(v) for v in op.indices]
            _add_store(builder, op, op.memref, indices, op.value)
        case affine.StoreOp():
            indices = builder.numbers.map_results(op.map.data, op.indices)
            _add_store(builder, op, op.memref, indices, op.value)
        case memref.AllocOp() | memref.AllocaOp():
            allocate(builder, op)
        case memref.DeallocOp():
            builder.step(op, Free, name="dealloc", buffer=builder.view(op.memref).buffer)
        case memref.CopyOp():
            add_copy(builder, op, "copy", op.source, op.destination)
        case memref.GetGlobalOp():
            _add_global(builder, op)
        case cf.AssertOp():
            condition = builder.place(op.arg)
            builder.host_step(op, Assert, name="assert", condition=condition, message=op.msg.data)
            # What follows runs only if it holds, as divisions that it guards.
            builder.numbers.conditional = True
        case memref.PrefetchOp() | affine.PrefetchOp():
            pass
        case _:
            return False
    return True


def _add_load(
    builder: Builder, op: Operation, source: SSAValue, indices: Sequence[int], result: SSAValue
) -> None:
    view = builder.view(source)
    check_number(result.type, op)
    builder.touch(view, writes=False)
    held = builder.register(result, op)
    assert held.place is not None
    builder.give(result, held)
    builder.host_step(op, Load, name="load", source=view, indices=tuple(indices), place=held.place)


def _add_store(
    builder: Builder, op: Operation, target: SSAValue, indices: Sequence[int], value: SSAValue
) -> None:
    view = builder.view(target)
    check_number(value.type, op)
    builder.touch(view, writes=True)
    place = builder.place(value)
    builder.host_step(op, Store, name="store", target=view, indices=tuple(indices), value=place)


def _add_global(builder: Builder, op: memref.GetGlobalOp) -> None:
    found = SymbolTable.lookup_symbol(op, op.name_)
    type = op.memref.type
    assert isinstance(type, MemRefType)
    if not isinstance(found, memref.GlobalOp) or found.initial_value is None:
        message = f"the global @{op.name_.string_value()} is defined elsewhere"
        raise UnsupportedError(at(op, message))
    if not isinstance(type.layout, NoneAttr):
        raise UnsupportedError(at(op, f"the layout of a global of {type} is not supported"))
    check_number(type.element_type, op)
    symbol = op.name_.string_value()
    known = [n for n, buffer in enumerate(builder.buffers) if buffer.symbol == symbol]
    sizes = tuple(builder.numbers.constant(s) for s in type.get_shape())
    if not known:
        dtype = str(type.element_type)
        content = _content(found.initial_value, dtype, type)
        name = builder.unique_name(symbol)
        builder.new_buffer(Buffer(name, dtype, sizes, False, symbol=symbol, content=content))
        known = [len(builder.buffers) - 1]
    builder.give(op.memref, Held(view=builder.whole(known[0])))


def _content(value: object, dtype: str, type: MemRefType) -> bytes | None:
    """The first bytes of a global; None where it is not initialised."""
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    elements = [
        bits_of(dtype, number) for number in value.iter_values() if not isinstance(number, tuple)
    ]
    count = 1
    for size in type.get_shape():
        count *= size
    return elements[0] * count if value.is_splat() else b"".join(elements)
