"""
The `scf` dialect with MLIR's own syntax: https://mlir.llvm.org/docs/Dialects/SCFDialect/.

Fields are named as in xDSL's dialect. Effects are those of what the regions hold.
"""

from xdsl.ir import Dialect

from opar.dialects.scf.branches import ExecuteRegionOp, IfOp, IndexSwitchOp
from opar.dialects.scf.for_op import ForOp
from opar.dialects.scf.forall_op import ForallOp, InParallelOp
from opar.dialects.scf.parallel_op import ParallelOp, ReduceOp, ReduceReturnOp
from opar.dialects.scf.regions import ConditionOp, YieldOp
from opar.dialects.scf.while_op import WhileOp

Scf = Dialect(
    "scf",
    [
        ConditionOp,
        ExecuteRegionOp,
        ForOp,
        ForallOp,
        IfOp,
        InParallelOp,
        IndexSwitchOp,
        ParallelOp,
        ReduceOp,
        ReduceReturnOp,
        WhileOp,
        YieldOp,
    ],
    [],
)

__all__ = [
    "ConditionOp",
    "ExecuteRegionOp",
    "ForOp",
    "ForallOp",
    "IfOp",
    "InParallelOp",
    "IndexSwitchOp",
    "ParallelOp",
    "ReduceOp",
    "ReduceReturnOp",
    "Scf",
    "WhileOp",
    "YieldOp",
]
