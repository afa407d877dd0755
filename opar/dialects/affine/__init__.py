"""
The `affine` dialect with MLIR's own syntax: https://mlir.llvm.org/docs/Dialects/Affine/.

`affine.yield` is xDSL's. The other operations are defined here, with the properties of MLIR's
generic form, memory effects and MLIR's checks. Semi-affine expressions (products of two variables,
division by a variable) are refused when they are parsed.
"""

from xdsl.dialects.affine import YieldOp
from xdsl.ir import Dialect

from opar.dialects.affine.dma import DmaStartOp, DmaWaitOp
from opar.dialects.affine.for_op import ForOp
from opar.dialects.affine.if_op import IfOp
from opar.dialects.affine.linearize import DelinearizeIndexOp, LinearizeIndexOp
from opar.dialects.affine.load_store import LoadOp, PrefetchOp, StoreOp
from opar.dialects.affine.maps import ApplyOp, MaxOp, MinOp
from opar.dialects.affine.parallel_op import ParallelOp
from opar.dialects.affine.scopes import (
    affine_scope,
    is_induction_variable,
    is_top_level,
    is_valid_dim,
    is_valid_symbol,
)
from opar.dialects.affine.vector_access import VectorLoadOp, VectorStoreOp
from opar.dialects.reduction_kind import ReductionKind

Affine = Dialect(
    "affine",
    [
        ApplyOp,
        DelinearizeIndexOp,
        DmaStartOp,
        DmaWaitOp,
        ForOp,
        IfOp,
        LinearizeIndexOp,
        LoadOp,
        MaxOp,
        MinOp,
        ParallelOp,
        PrefetchOp,
        StoreOp,
        VectorLoadOp,
        VectorStoreOp,
        YieldOp,
    ],
    [],
)

__all__ = [
    "Affine",
    "ApplyOp",
    "DelinearizeIndexOp",
    "DmaStartOp",
    "DmaWaitOp",
    "ForOp",
    "IfOp",
    "LinearizeIndexOp",
    "LoadOp",
    "MaxOp",
    "MinOp",
    "ParallelOp",
    "PrefetchOp",
    "ReductionKind",
    "StoreOp",
    "VectorLoadOp",
    "VectorStoreOp",
    "YieldOp",
    "affine_scope",
    "is_induction_variable",
    "is_top_level",
    "is_valid_dim",
    "is_valid_symbol",
]
