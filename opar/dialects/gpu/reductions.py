"""Reductions over the threads of a block or subgroup."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import (
    FunctionType,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.attributes import (
    AllReduceOpAttr,
    AllReduceOperation,
)
from opar.dialects.gpu.operand_checks import is_power_of_two, verify_number
from opar.dialects.gpu.sync import YieldOp

_FLOAT_ONLY = frozenset(
    (
        AllReduceOperation.MINNUMF,
        AllReduceOperation.MAXNUMF,
        AllReduceOperation.MINIMUMF,
        AllReduceOperation.MAXIMUMF,
    )
)
_INTEGER_ONLY = frozenset(
    (
        AllReduceOperation.MINSI,
        AllReduceOperation.MINUI,
        AllReduceOperation.MAXSI,
        AllReduceOperation.MAXUI,
        AllReduceOperation.AND,
        AllReduceOperation.OR,
        AllReduceOperation.XOR,
    )
)


def _verify_reduction(op: AllReduceOperation, type: Attribute) -> None:
    element = type.element_type if isinstance(type, VectorType) else type
    if (op in _FLOAT_ONLY and isinstance(element, IntegerType)) or (
        op in _INTEGER_ONLY and not isinstance(element, IntegerType)
    ):
        raise VerifyException(f"reduction '{op.value}' does not work on {type}")


def _parse_reduction(parser: Parser) -> dict[str, Attribute]:
    position = parser.pos
    keyword = parser.parse_optional_identifier()
    if keyword is None:
        return {}
    if keyword not in [operation.value for operation in AllReduceOperation]:
        known = ", ".join(operation.value for operation in AllReduceOperation)
        parser.raise_error(
            f"'{keyword}' is not a reduction; those are {known}", at_position=position
        )
    return {"op": AllReduceOpAttr(AllReduceOperation(keyword))}


def _parse_function_type(parser: Parser, name: str) -> FunctionType:
    parser.parse_punctuation(":")
    position = parser.pos
    type = parser.parse_function_type()
    if len(type.inputs) != 1 or len(type.outputs) != 1:
        parser.raise_error(f"'{name}' has one operand and one result", at_position=position)
    return type


def _print_function_type(printer: Printer, operand: SSAValue, result: SSAValue) -> None:
    printer.print_string(" : ")
    printer.print_function_type([operand.type], [result.type])


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """
    `%r = gpu.all_reduce add %v uniform {} : (f32) -> f32`: the reduction of the values of all
    threads of the block; instead of a name, the region may say how two values combine.
    """

    name = "gpu.all_reduce"

    value = operand_def()
    op = opt_prop_def(AllReduceOpAttr)
    uniform = opt_prop_def(UnitAttr)
    result = result_def()
    body = region_def()

    traits = traits_def(IsolatedFromAbove(), NoMemoryEffect())

    def __init__(
        self,
        value: SSAValue,
        op: AllReduceOperation | str | None = None,
        body: Region | None = None,
        *,
        uniform: bool = False,
    ):
        super().__init__(
            operands=[value],
            properties={
                "op": None if op is None else AllReduceOpAttr(AllReduceOperation(op)),
                "uniform": UnitAttr() if uniform else None,
            },
            result_types=[value.type],
            regions=[body or Region()],
        )

    def verify_(self) -> None:
        type = self.result.type
        verify_number(type, vector=False)
        if self.value.type != type:
            raise VerifyException(f"reduces {self.value.type} but returns {type}")
        if bool(self.body.blocks) == (self.op is not None):
            raise VerifyException("a reduction is given by a name or by a region, one of them")
        if self.op is not None:
            _verify_reduction(self.op.data, type)
            return
        arguments = [argument.type for argument in self.body.blocks[0].args]
        if arguments != [type, type]:
            raise VerifyException(f"the region of a reduction of {type} takes two of them")
        yields = [b.last_op for b in self.body.blocks if isinstance(b.last_op, YieldOp)]
        if not yields or any([v.type for v in end.values] != [type] for end in yields):
            raise VerifyException(f"the region of a reduction of {type} yields one")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties = _parse_reduction(parser)
        value = parser.parse_unresolved_operand()
        if parser.parse_optional_keyword("uniform") is not None:
            properties["uniform"] = UnitAttr()
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        type = _parse_function_type(parser, cls.name)
        return cls.create(
            operands=[parser.resolve_operand(value, type.inputs.data[0])],
            result_types=type.outputs.data,
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        if self.op is not None:
            printer.print_string(f" {self.op.data.value}")
        printer.print_string(" ")
        printer.print_operand(self.value)
        if self.uniform is not None:
            printer.print_string(" uniform")
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)
        _print_function_type(printer, self.value, self.result)


@irdl_op_definition
class SubgroupReduceOp(IRDLOperation):
    """
    `%r = gpu.subgroup_reduce add %v uniform cluster(size = 8, stride = 2) : (f32) -> f32`: the
    reduction of the values of a subgroup, or of each cluster of lanes in it.
    """

    name = "gpu.subgroup_reduce"

    value = operand_def()
    op = prop_def(AllReduceOpAttr)
    uniform = opt_prop_def(UnitAttr)
    cluster_size = opt_prop_def(IntegerAttr)
    cluster_stride = opt_prop_def(IntegerAttr)
    result = result_def()

    traits = traits_def(NoMemoryEffect())

    def __init__(
        self,
        value: SSAValue,
        op: AllReduceOperation | str,
        *,
        uniform: bool = False,
        cluster_size: int | None = None,
        cluster_stride: int = 1,
    ):
        super().__init__(
            operands=[value],
            properties={
                "op": AllReduceOpAttr(AllReduceOperation(op)),
                "uniform": UnitAttr() if uniform else None,
                "cluster_size": None if cluster_size is None else IntegerAttr(cluster_size, i32),
                "cluster_stride": IntegerAttr(cluster_stride, i32),
            },
            result_types=[value.type],
        )

    @property
    def stride(self) -> int:
        """The distance between lanes of one cluster."""
        return 1 if self.cluster_stride is None else self.cluster_stride.value.data

    def verify_(self) -> None:
        type = self.result.type
        verify_number(type, vector=True)
        if self.value.type != type:
            raise VerifyException(f"reduces {self.value.type} but returns {type}")
        _verify_reduction(self.op.data, type)
        size = None if self.cluster_size is None else self.cluster_size.value.data
        if size is None and self.stride != 1:
            raise VerifyException("a cluster stride needs a cluster size")
        for what, number in (("size", size), ("stride", self.stride)):
            if number is not None and not is_power_of_two(number):
                raise VerifyException(f"cluster {what} {number} is not a power of two")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        properties = _parse_reduction(parser)
        if not properties:
            parser.raise_error("expected the name of a reduction", at_position=position)
        value = parser.parse_unresolved_operand()
        if parser.parse_optional_keyword("uniform") is not None:
            properties["uniform"] = UnitAttr()
        stride = 1
        if parser.parse_optional_keyword("cluster") is not None:
            with parser.in_parens():
                parser.parse_keyword("size")
                parser.parse_punctuation("=")
                properties["cluster_size"] = IntegerAttr(parser.parse_integer(), i32)
                if parser.parse_optional_punctuation(",") is not None:
                    parser.parse_keyword("stride")
                    parser.parse_punctuation("=")
                    stride = parser.parse_integer()
        properties["cluster_stride"] = IntegerAttr(stride, i32)
        attributes = parser.parse_optional_attr_dict()
        type = _parse_function_type(parser, cls.name)
        return cls.create(
            operands=[parser.resolve_operand(value, type.inputs.data[0])],
            result_types=type.outputs.data,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.op.data.value} ")
        printer.print_operand(self.value)
        if self.uniform is not None:
            printer.print_string(" uniform")
        if self.cluster_size is not None:
            printer.print_string(f" cluster(size = {self.cluster_size.value.data}")
            if self.stride != 1:
                printer.print_string(f", stride = {self.stride}")
            printer.print_string(")")
        printer.print_op_attributes(self.attributes)
        _print_function_type(printer, self.value, self.result)
