"""How values combine in reductions and atomic updates: MLIR's `arith::AtomicRMWKind`."""

from __future__ import annotations

from enum import IntEnum

from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException


class ReductionKind(IntEnum):
    """
    MLIR's `arith::AtomicRMWKind`, with the numbers of MLIR 22 (they changed with LLVM 22).

    `maximumf` and `minimumf` propagate NaN, `maxnumf` and `minnumf` prefer the number; the suffix
    `s` or `u` says how an integer is read; `assign` keeps any one of the values.
    """

    addf = 0
    addi = 1
    andi = 2
    assign = 3
    maximumf = 4
    maxnumf = 5
    maxs = 6
    maxu = 7
    minimumf = 8
    minnumf = 9
    mins = 10
    minu = 11
    mulf = 12
    muli = 13
    ori = 14
    xori = 15

    @property
    def is_float(self) -> bool:
        """Whether the kind combines floating-point values."""
        return self.name.endswith("f")


_SIGNEDNESS = {
    ReductionKind.maxs: Signedness.SIGNED,
    ReductionKind.mins: Signedness.SIGNED,
    ReductionKind.maxu: Signedness.UNSIGNED,
    ReductionKind.minu: Signedness.UNSIGNED,
}
_NOT_IN_LOOPS = {ReductionKind.maxnumf, ReductionKind.minnumf, ReductionKind.xori}


def verify_loop_reduction(kind: int, type: Attribute) -> None:
    """
    Whether `affine.parallel` can reduce values of `type` by `kind`, as MLIR has it: `maxs` and
    `mins` take signed integers (`si32`), `maxu` and `minu` unsigned ones, the other integer kinds
    integers of any sign but not `index`. Raises `VerifyException`.
    """
    if kind not in list(ReductionKind):
        raise VerifyException(f"{kind} is not a kind of reduction")
    kind = ReductionKind(kind)
    if kind in _NOT_IN_LOOPS:
        raise VerifyException(f"loops cannot reduce by '{kind.name}'")
    if kind is ReductionKind.assign:
        return
    if kind.is_float:
        fits = isinstance(type, AnyFloat)
    else:
        wanted = _SIGNEDNESS.get(kind)
        fits = isinstance(type, IntegerType) and wanted in (None, type.signedness.data)
    if not fits:
        raise VerifyException(f"a reduction '{kind.name}' cannot have a result of type {type}")
