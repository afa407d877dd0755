"""
Which memory of a function can be reached from where no value of the function leads to it.

Memory *escapes* where a memref of it goes into an operation that neither just reads or writes its
elements nor carries it to a value that the alias analysis follows (`opar.analysis.sources`): a call
of an unknown function, a store of the memref itself, a cast to a pointer. What did not escape is
out of reach of unknown operations, and no unknown memref is a view of it. To return a memref is no
escape: nothing of the function runs after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    IndexType,
    IntegerType,
    MemRefType,
    UnrankedMemRefType,
    VectorType,
)
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, get_effects

from opar.analysis.sources import CARRIERS, STRUCTURES, VIEWS, holds_memref
from opar.dialects import async_, gpu, memref

_NUMBERS = (
    IndexType,
    IntegerType,
    AnyFloat,
    ComplexType,
    VectorType,
    gpu.AsyncTokenType,
    async_.TokenType,
)


def escaping_values(
    function: func.FuncOp | gpu.FuncOp,
    keeps: Callable[[Operation, int], bool | None],
) -> Iterator[SSAValue]:
    """
    The memrefs that escape where they are used in `function`. `keeps(op, n)` says of launches and
    calls whether what they run lets operand n escape; None of all other operations.
    """
    for op in function.walk():
        carried = [n for n, v in enumerate(op.operands) if holds_memref(v.type)]
        if not carried or _is_understood(op):
            continue
        for n in carried:
            if not keeps(op, n):
                yield op.operands[n]


def _is_understood(op: Operation) -> bool:
    if op.name in VIEWS or isinstance(op, CARRIERS):
        return True
    if op.has_trait(IsTerminator):
        return isinstance(op.parent_op(), STRUCTURES)
    if isinstance(op, gpu.LaunchFuncOp | func.CallOp | memref.ExtractAlignedPointerAsIndexOp):
        return False
    return (
        get_effects(op) is not None
        and all(isinstance(r.type, _NUMBERS) for r in op.results)
        and not any(_holds_memrefs(v) for v in op.operands)
    )


def _holds_memrefs(value: SSAValue) -> bool:
    """Whether the elements of a memref are themselves no numbers."""
    type = value.type
    return isinstance(type, MemRefType | UnrankedMemRefType) and not isinstance(
        type.element_type, _NUMBERS
    )
