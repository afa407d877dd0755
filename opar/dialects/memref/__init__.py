"""
The `memref` dialect: https://mlir.llvm.org/docs/Dialects/MemRef/.

xDSL's operations where they read and print MLIR's syntax; defined here are those without it, and
those whose memory effects must name the memref that they act on.
"""

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.dialects.memref import (
    AllocaScopeOp,
    AllocaScopeReturnOp,
    AssumeAlignmentOp,
    DimOp,
    ExtractStridedMetaDataOp,
    GetGlobalOp,
    ViewOp,
)
from xdsl.ir import Dialect

from opar.dialects.memref.access import LoadOp, PrefetchOp, StoreOp
from opar.dialects.memref.allocation import AllocaOp, AllocOp, DeallocOp, ReallocOp
from opar.dialects.memref.atomics import AtomicRMWOp, AtomicYieldOp, GenericAtomicRMWOp
from opar.dialects.memref.copies import CopyOp, DmaStartOp, DmaWaitOp
from opar.dialects.memref.globals import GlobalOp
from opar.dialects.memref.queries import ExtractAlignedPointerAsIndexOp, RankOp
from opar.dialects.memref.reshapes import CollapseShapeOp, ExpandShapeOp, ReshapeOp
from opar.dialects.memref.subview import SubviewOp
from opar.dialects.memref.views import (
    CastOp,
    DistinctObjectsOp,
    MemorySpaceCastOp,
    ReinterpretCastOp,
    TransposeOp,
)

MemRef = Dialect(
    "memref",
    [
        AllocOp,
        AllocaOp,
        AllocaScopeOp,
        AllocaScopeReturnOp,
        AssumeAlignmentOp,
        AtomicRMWOp,
        AtomicYieldOp,
        CastOp,
        CollapseShapeOp,
        CopyOp,
        DeallocOp,
        DimOp,
        DistinctObjectsOp,
        DmaStartOp,
        DmaWaitOp,
        ExpandShapeOp,
        ExtractAlignedPointerAsIndexOp,
        ExtractStridedMetaDataOp,
        GenericAtomicRMWOp,
        GetGlobalOp,
        GlobalOp,
        LoadOp,
        MemorySpaceCastOp,
        PrefetchOp,
        RankOp,
        ReallocOp,
        ReinterpretCastOp,
        ReshapeOp,
        StoreOp,
        SubviewOp,
        TransposeOp,
        ViewOp,
    ],
    [],
)

__all__ = [
    "AllocOp",
    "AllocaOp",
    "AllocaScopeOp",
    "AllocaScopeReturnOp",
    "AssumeAlignmentOp",
    "AtomicRMWOp",
    "AtomicYieldOp",
    "CastOp",
    "CollapseShapeOp",
    "CopyOp",
    "DeallocOp",
    "DimOp",
    "DistinctObjectsOp",
    "DmaStartOp",
    "DmaWaitOp",
    "ExpandShapeOp",
    "ExtractAlignedPointerAsIndexOp",
    "ExtractStridedMetaDataOp",
    "GenericAtomicRMWOp",
    "GetGlobalOp",
    "GlobalOp",
    "LoadOp",
    "MemRef",
    "MemRefType",
    "MemorySpaceCastOp",
    "PrefetchOp",
    "RankOp",
    "ReallocOp",
    "ReinterpretCastOp",
    "ReshapeOp",
    "StoreOp",
    "SubviewOp",
    "TransposeOp",
    "UnrankedMemRefType",
    "ViewOp",
]
