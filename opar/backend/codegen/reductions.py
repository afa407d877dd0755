"""How two values combine, by the names that `vector`, `gpu` and `affine` have for it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from llvmlite import ir

from opar.backend.codegen.context import Context
from opar.backend.codegen.floats import compute, truncate
from opar.backend.codegen.types import BF16, constant, element_of, int_width, is_float
from opar.dialects.reduction_kind import ReductionKind
from opar.errors import UnsupportedError

_KINDS = {
    "addf": "add",
    "addi": "add",
    "andi": "and",
    "maxs": "maxsi",
    "maxu": "maxui",
    "mins": "minsi",
    "minu": "minui",
    "mulf": "mul",
    "muli": "mul",
    "ori": "or",
    "xori": "xor",
}

INTEGER_INTRINSICS = {"minsi": "smin", "maxsi": "smax", "minui": "umin", "maxui": "umax"}
"""Names of LLVM's integer intrinsics, without their prefix."""

FLOAT_INTRINSICS = {
    "minimumf": "minimum",
    "maximumf": "maximum",
    "minnumf": "minnum",
    "maxnumf": "maxnum",
}
"""Names of LLVM's float intrinsics, without their prefix."""


def common_name(kind: ReductionKind) -> str:
    """The name that `vector` and `gpu` have for a kind of reduction of `affine` and `memref`."""
    return _KINDS.get(kind.name, kind.name)


def combine(
    ctx: Context, kind: str, lhs: ir.Value, rhs: ir.Value, fastmath: Sequence[str] = ()
) -> ir.Value:
    """
    `lhs` and `rhs` combined: add, mul, and, or, xor, minsi, maxsi, minui, maxui, minimumf,
    maximumf, minnumf or maxnumf. bf16 is computed in f32.
    """
    b = ctx.b
    if is_float(lhs.type):
        narrow = element_of(lhs.type) == BF16
        lhs, rhs = compute(ctx, lhs), compute(ctx, rhs)
        if kind == "add":
            result = b.fadd(lhs, rhs, flags=fastmath)
        elif kind == "mul":
            result = b.fmul(lhs, rhs, flags=fastmath)
        elif kind in FLOAT_INTRINSICS:
            name = f"llvm.{FLOAT_INTRINSICS[kind]}"
            result = ctx.intrinsic(name, [lhs, rhs], fastmath=fastmath)
        else:
            raise UnsupportedError(f"'{kind}' does not combine floats")
        return truncate(ctx, result, BF16) if narrow else result
    match kind:
        case "add":
            return b.add(lhs, rhs)
        case "mul":
            return b.mul(lhs, rhs)
        case "and":
            return b.and_(lhs, rhs)
        case "or":
            return b.or_(lhs, rhs)
        case "xor":
            return b.xor(lhs, rhs)
        case _ if kind in INTEGER_INTRINSICS:
            return ctx.intrinsic(f"llvm.{INTEGER_INTRINSICS[kind]}", [lhs, rhs])
    raise UnsupportedError(f"'{kind}' does not combine integers")


def identity(kind: str, type: ir.Type) -> ir.Constant:
    """The value that changes nothing when it is combined with another."""
    if is_float(type):
        value = {"add": -0.0, "mul": 1.0, "minimumf": math.inf, "maximumf": -math.inf}.get(kind)
        value = math.nan if value is None and kind in FLOAT_INTRINSICS else value
    else:
        width = int_width(type)
        value = {
            "add": 0,
            "or": 0,
            "xor": 0,
            "maxui": 0,
            "mul": 1,
            "and": -1,
            "minui": -1,
            "minsi": (1 << (width - 1)) - 1,
            "maxsi": 1 << (width - 1),
        }.get(kind)
    if value is None:
        raise UnsupportedError(f"'{kind}' has no neutral value of this type")
    return constant(type, value)
