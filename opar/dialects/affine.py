"""
The `affine` dialect with MLIR's own syntax: https://mlir.llvm.org/docs/Dialects/Affine/.

`affine.apply` and `affine.yield` are xDSL's. The other operations are defined here, with the
properties of MLIR's generic form, memory effects and MLIR's checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.affine import ApplyOp, YieldOp
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, IndexType, MemRefType, VectorType
from xdsl.ir import Attribute, Dialect, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from opar.dialects.affine_loops import (
    ForOp,
    ParallelOp,
    ReductionKind,
    ensure_yield,
    parse_optional_arrow_types,
    verify_yield,
)
from opar.dialects.affine_syntax import (
    parse_dims_and_symbols,
    parse_map_and_operands,
    parse_subscripts,
    print_dims_and_symbols,
    print_map_and_operands,
    print_subscripts,
)


class _MemrefEffect(MemoryEffect):
    kind: MemoryEffectKind

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, LoadOp | StoreOp | VectorLoadOp | VectorStoreOp)
        return {EffectInstance(cls.kind, op.memref)}


class ReadsMemref(_MemrefEffect):
    """Reads the memref operand."""

    kind = MemoryEffectKind.READ


class WritesMemref(_MemrefEffect):
    """Writes the memref operand."""

    kind = MemoryEffectKind.WRITE


class _MinMaxOp(IRDLOperation):
    arguments = var_operand_def(IndexType())
    result = result_def(IndexType())
    map = prop_def(AffineMapAttr)

    traits = traits_def(Pure())

    def __init__(self, map_operands: Sequence[SSAValue | Operation], affine_map: AffineMapAttr):
        super().__init__(
            operands=[map_operands],
            properties={"map": affine_map},
            result_types=[IndexType()],
        )

    def verify_(self) -> None:
        _verify_operand_count(self.map, self.arguments)
        if not self.map.data.results:
            raise VerifyException("the map must have at least one result")

    @classmethod
    def parse(cls, parser: Parser):
        map, operands = parse_map_and_operands(parser)
        op = cls(operands, map)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_map_and_operands(printer, self.map, self.arguments)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class MinOp(_MinMaxOp):
    """The least of the results of a map: `affine.min affine_map<(d0) -> (d0, 8)>(%i)`."""

    name = "affine.min"


@irdl_op_definition
class MaxOp(_MinMaxOp):
    """The greatest of the results of a map: `affine.max affine_map<(d0) -> (d0, 8)>(%i)`."""

    name = "affine.max"


@irdl_op_definition
class IfOp(IRDLOperation):
    """
    Runs one of two regions: `affine.if #set(%d)[%s] -> (f32) { ... } else { ... }`.

    The condition is an integer set over the operands, dimensions then symbols.
    """

    name = "affine.if"

    args = var_operand_def(IndexType())
    res = var_result_def()
    condition = prop_def(AffineSetAttr)
    then_region = region_def("single_block")
    else_region = region_def()

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    def __init__(
        self,
        condition: AffineSetAttr,
        args: Sequence[SSAValue],
        then_region: Region,
        else_region: Region | None = None,
        result_types: Sequence[Attribute] = (),
    ):
        super().__init__(
            operands=[args],
            result_types=[result_types],
            properties={"condition": condition},
            regions=[then_region, else_region or Region()],
        )
        if not result_types:
            ensure_yield(self.then_region)
            if self.else_region.blocks:
                ensure_yield(self.else_region)

    def verify_(self) -> None:
        condition = self.condition.data
        expected = condition.num_dims + condition.num_symbols
        if len(self.args) != expected:
            raise VerifyException(f"the set takes {expected} operands, got {len(self.args)}")
        if self.res and not self.else_region.blocks:
            raise VerifyException("an operation with results needs an else region")
        for region in self.regions:
            if region.blocks:
                verify_yield(region, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        position = parser.pos
        condition = parser.parse_attribute()
        if not isinstance(condition, AffineSetAttr):
            parser.raise_error("expected an affine set", position)
        dims, symbols = parse_dims_and_symbols(parser)
        if (len(dims), len(symbols)) != (condition.data.num_dims, condition.data.num_symbols):
            parser.raise_error("the operands do not match the dimensions and symbols", position)
        types = parse_optional_arrow_types(parser)
        then_region = parser.parse_region()
        else_region = Region()
        if parser.parse_optional_keyword("else") is not None:
            else_region = parser.parse_region()
        op = cls(condition, [*dims, *symbols], then_region, else_region, types)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.condition)
        print_dims_and_symbols(printer, self.args, self.condition.data.num_dims)
        if self.res:
            printer.print_string(" -> (")
            printer.print_list(self.result_types, printer.print_attribute)
            printer.print_string(")")
        for keyword, region in ((" ", self.then_region), (" else ", self.else_region)):
            if region.blocks:
                printer.print_string(keyword)
                printer.print_region(region, print_block_terminators=bool(self.res))
        printer.print_op_attributes(self.attributes)


class _AccessOp(IRDLOperation):
    """Common to loads and stores: `indices` are the operands of `map`, dimensions then symbols."""

    if TYPE_CHECKING:
        memref: SSAValue
        indices: Sequence[SSAValue]
        map: AffineMapAttr

    def _verify_access(self) -> None:
        assert isinstance(self.memref.type, MemRefType)
        rank = self.memref.type.get_num_dims()
        if len(self.map.data.results) != rank:
            raise VerifyException(
                f"the map has {len(self.map.data.results)} results, the memref {rank} dimensions"
            )
        _verify_operand_count(self.map, self.indices)

    def _print_access(self, printer: Printer) -> None:
        printer.print_ssa_value(self.memref)
        print_subscripts(printer, self.map.data, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)


def _parse_access(
    parser: Parser,
) -> tuple[SSAValue, AffineMapAttr, list[SSAValue], dict[str, Attribute], MemRefType]:
    unresolved = parser.parse_unresolved_operand()
    map, indices = parse_subscripts(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, MemRefType):
        parser.raise_error("expected a memref type", position)
    memref = parser.resolve_operand(unresolved, type)
    return memref, AffineMapAttr(map), indices, attributes, type


def _map_or_identity(map: AffineMapAttr | None, memref: SSAValue) -> AffineMapAttr:
    if map is not None:
        return map
    assert isinstance(memref.type, MemRefType)
    return AffineMapAttr(AffineMap.identity(memref.type.get_num_dims()))


@irdl_op_definition
class LoadOp(_AccessOp):
    """One element at an affine place: `affine.load %m[%i + 1, symbol(%n)] : memref<?x?xf32>`."""

    name = "affine.load"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    result = result_def()
    map = prop_def(AffineMapAttr)

    traits = traits_def(ReadsMemref())

    def __init__(
        self, memref: SSAValue, indices: Sequence[SSAValue], map: AffineMapAttr | None = None
    ):
        assert isinstance(memref.type, MemRefType)
        super().__init__(
            operands=[memref, indices],
            result_types=[memref.type.element_type],
            properties={"map": _map_or_identity(map, memref)},
        )

    def verify_(self) -> None:
        self._verify_access()
        assert isinstance(self.memref.type, MemRefType)
        if self.result.type != self.memref.type.element_type:
            raise VerifyException("the result must have the element type of the memref")

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        memref, map, indices, attributes, _ = _parse_access(parser)
        op = cls(memref, indices, map)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self._print_access(printer)


@irdl_op_definition
class StoreOp(_AccessOp):
    """Write one element at an affine place: `affine.store %v, %m[%i] : memref<4xf32>`."""

    name = "affine.store"

    value = operand_def()
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    map = prop_def(AffineMapAttr)

    traits = traits_def(WritesMemref())

    def __init__(
        self,
        value: SSAValue,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        map: AffineMapAttr | None = None,
    ):
        super().__init__(
            operands=[value, memref, indices],
            properties={"map": _map_or_identity(map, memref)},
        )

    def verify_(self) -> None:
        self._verify_access()
        assert isinstance(self.memref.type, MemRefType)
        if self.value.type != self.memref.type.element_type:
            raise VerifyException("the value must have the element type of the memref")

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref, map, indices, attributes, type = _parse_access(parser)
        op = cls(parser.resolve_operand(value, type.element_type), memref, indices, map)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        self._print_access(printer)


@irdl_op_definition
class VectorLoadOp(_AccessOp):
    """Elements from an affine place on: `affine.vector_load %m[%i] : memref<8xf32>, vector<4xf32>`.

    The vector lies along the innermost dimensions of the memref.
    """

    name = "affine.vector_load"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    result = result_def(VectorType)
    map = prop_def(AffineMapAttr)

    traits = traits_def(ReadsMemref())

    def __init__(
        self,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        result_type: VectorType,
        map: AffineMapAttr | None = None,
    ):
        super().__init__(
            operands=[memref, indices],
            result_types=[result_type],
            properties={"map": _map_or_identity(map, memref)},
        )

    def verify_(self) -> None:
        self._verify_access()
        _verify_vector(self.memref.type, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> VectorLoadOp:
        memref, map, indices, attributes, _ = _parse_access(parser)
        op = cls(memref, indices, _parse_vector_type(parser), map)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self._print_access(printer)
        printer.print_string(", ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class VectorStoreOp(_AccessOp):
    """Write a vector from an affine place on, along the innermost dimensions of the memref:
    `affine.vector_store %v, %m[%i] : memref<8xf32>, vector<4xf32>`."""

    name = "affine.vector_store"

    value = operand_def(VectorType)
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    map = prop_def(AffineMapAttr)

    traits = traits_def(WritesMemref())

    def __init__(
        self,
        value: SSAValue,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        map: AffineMapAttr | None = None,
    ):
        super().__init__(
            operands=[value, memref, indices],
            properties={"map": _map_or_identity(map, memref)},
        )

    def verify_(self) -> None:
        self._verify_access()
        _verify_vector(self.memref.type, self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> VectorStoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref, map, indices, attributes, _ = _parse_access(parser)
        type = _parse_vector_type(parser)
        op = cls(parser.resolve_operand(value, type), memref, indices, map)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        self._print_access(printer)
        printer.print_string(", ")
        printer.print_attribute(self.value.type)


def _parse_vector_type(parser: Parser) -> VectorType:
    parser.parse_punctuation(",")
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, VectorType):
        parser.raise_error("expected a vector type", position)
    return type


def _verify_vector(memref: Attribute, vector: Attribute) -> None:
    assert isinstance(memref, MemRefType) and isinstance(vector, VectorType)
    if memref.element_type != vector.element_type:
        raise VerifyException("the memref and the vector must have the same element type")


def _verify_operand_count(map: AffineMapAttr, operands: Sequence[SSAValue]) -> None:
    expected = map.data.num_dims + map.data.num_symbols
    if len(operands) != expected:
        raise VerifyException(f"the map takes {expected} operands, got {len(operands)}")


Affine = Dialect(
    "affine",
    [
        ApplyOp,
        ForOp,
        IfOp,
        LoadOp,
        MaxOp,
        MinOp,
        ParallelOp,
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
    "ForOp",
    "IfOp",
    "LoadOp",
    "MaxOp",
    "MinOp",
    "ParallelOp",
    "ReductionKind",
    "StoreOp",
    "VectorLoadOp",
    "VectorStoreOp",
    "YieldOp",
]
