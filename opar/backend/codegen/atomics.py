"""Atomic updates: LLVM's instruction where there is one, else a compare-and-swap loop."""

from __future__ import annotations

from llvmlite import ir

from opar.backend.codegen.context import Context
from opar.backend.codegen.reductions import combine
from opar.backend.codegen.types import BF16, F16, byte_size, is_float
from opar.errors import UnsupportedError

_INTEGERS = {
    "add": "add",
    "and": "and",
    "assign": "xchg",
    "maxsi": "max",
    "maxui": "umax",
    "minsi": "min",
    "minui": "umin",
    "or": "or",
    "xor": "xor",
}
_FLOATS = {
    "add": "fadd",
    "assign": "xchg",
    "maximumf": "fmaximum",
    "maxnumf": "fmax",
    "minimumf": "fminimum",
    "minnumf": "fmin",
}


def update(ctx: Context, kind: str, pointer: ir.Value, value: ir.Value) -> ir.Value:
    """
    Combine `value` into the element at `pointer`, atomically and unordered with other memory;
    returns what was there. `kind` is a name of `combine`, or `assign`.
    """
    type = value.type
    if isinstance(type, ir.IntType) and type.width not in (8, 16, 32, 64):
        raise UnsupportedError(f"atomic updates of i{type.width} are not supported")
    narrow = type in (F16, BF16)
    name = (_FLOATS if is_float(type) else _INTEGERS).get(kind)
    if name is None or (narrow and kind != "assign"):
        return _compare_and_swap(ctx, kind, pointer, value)
    if narrow:
        bits = ir.IntType(16)
        old = ctx.b.atomic_rmw(name, pointer, ctx.b.bitcast(value, bits), "monotonic")
        return ctx.b.bitcast(old, type)
    return ctx.b.atomic_rmw(name, pointer, value, "monotonic")


def _compare_and_swap(ctx: Context, kind: str, pointer: ir.Value, value: ir.Value) -> ir.Value:
    b = ctx.b
    type = value.type
    bits = ir.IntType(8 * byte_size(type))
    before, loop, end = b.block, *(ctx.function.append_basic_block(n) for n in ("swap", "end"))
    first = b.load(pointer, align=byte_size(type), typ=bits)
    b.branch(loop)
    b.position_at_end(loop)
    expected = b.phi(bits)
    expected.add_incoming(first, before)
    combined = combine(ctx, kind, b.bitcast(expected, type), value)
    pair = b.cmpxchg(pointer, expected, b.bitcast(combined, bits), "monotonic")
    expected.add_incoming(b.extract_value(pair, 0), b.block)
    b.cbranch(b.extract_value(pair, 1), end, loop)
    b.position_at_end(end)
    return b.bitcast(expected, type)
