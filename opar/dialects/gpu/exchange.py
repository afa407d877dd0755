"""Exchange of values between the lanes of a subgroup."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import (
    IntegerAttr,
    i1,
    i32,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.attributes import (
    BroadcastType,
    BroadcastTypeAttr,
    ShuffleMode,
    ShuffleModeAttr,
)
from opar.dialects.gpu.operand_checks import is_power_of_two, verify_number


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """
    `%r, %valid = gpu.shuffle xor %v, %offset, %width : f32`: the value of another lane among
    `width` lanes, and whether that lane is one of them.
    """

    name = "gpu.shuffle"

    value = operand_def()
    offset = operand_def(i32)
    width = operand_def(i32)
    mode = prop_def(ShuffleModeAttr)
    shuffle_result = result_def()
    valid = result_def(i1)

    traits = traits_def(NoMemoryEffect())

    def __init__(self, value: SSAValue, offset: SSAValue, width: SSAValue, mode: ShuffleMode | str):
        super().__init__(
            operands=[value, offset, width],
            properties={"mode": ShuffleModeAttr(ShuffleMode(mode))},
            result_types=[value.type, i1],
        )

    def verify_(self) -> None:
        verify_number(self.value.type, vector=True)
        if self.value.type != self.shuffle_result.type:
            raise VerifyException(
                f"shuffles {self.value.type} but returns {self.shuffle_result.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        mode = parser.parse_str_enum(ShuffleMode)
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        offset = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        width = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.resolve_operand(value, parser.parse_type()),
            parser.resolve_operand(offset, i32),
            parser.resolve_operand(width, i32),
            mode,
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.mode.data.value} ")
        printer.print_list((self.value, self.offset, self.width), printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class RotateOp(IRDLOperation):
    """
    `%r, %valid = gpu.rotate %v, 3, 16 : f32`: the value of lane (own + offset) mod width, in each
    `width` lanes.
    """

    name = "gpu.rotate"

    value = operand_def()
    offset = prop_def(IntegerAttr)
    width = prop_def(IntegerAttr)
    rotate_result = result_def()
    valid = result_def(i1)

    traits = traits_def(NoMemoryEffect())

    def __init__(self, value: SSAValue, offset: int, width: int):
        super().__init__(
            operands=[value],
            properties={"offset": IntegerAttr(offset, i32), "width": IntegerAttr(width, i32)},
            result_types=[value.type, i1],
        )

    def verify_(self) -> None:
        verify_number(self.value.type, vector=True)
        if self.value.type != self.rotate_result.type:
            raise VerifyException(
                f"rotates {self.value.type} but returns {self.rotate_result.type}"
            )
        offset, width = self.offset.value.data, self.width.value.data
        if not is_power_of_two(width):
            raise VerifyException(f"width {width} is not a power of two")
        if not 0 <= offset < width:
            raise VerifyException(f"offset {offset} is not in [0, {width})")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        offset = parser.parse_integer()
        parser.parse_punctuation(",")
        width = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(value, parser.parse_type()), offset, width)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(f", {self.offset.value.data}, {self.width.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class SubgroupBroadcastOp(IRDLOperation):
    """
    `%r = gpu.subgroup_broadcast %v, specific_lane %lane : f32`: the value of one lane, the same in
    all lanes.
    """

    name = "gpu.subgroup_broadcast"

    src = operand_def()
    lane = opt_operand_def(i32)
    broadcast_type = prop_def(BroadcastTypeAttr)
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, src: SSAValue, lane: SSAValue | None = None):
        kind = BroadcastType.FIRST_ACTIVE_LANE if lane is None else BroadcastType.SPECIFIC_LANE
        super().__init__(
            operands=[src, lane],
            properties={"broadcast_type": BroadcastTypeAttr(kind)},
            result_types=[src.type],
        )

    def verify_(self) -> None:
        if self.src.type != self.result.type:
            raise VerifyException(f"broadcasts {self.src.type} but returns {self.result.type}")
        needs_lane = self.broadcast_type.data is BroadcastType.SPECIFIC_LANE
        if needs_lane != (self.lane is not None):
            raise VerifyException("a lane is given for a 'specific_lane' broadcast and no other")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        src = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        kind = parser.parse_str_enum(BroadcastType)
        lane = parser.parse_optional_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.resolve_operand(src, parser.parse_type()),
            None if lane is None else parser.resolve_operand(lane, i32),
        )
        op.broadcast_type = BroadcastTypeAttr(kind)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.src)
        printer.print_string(f", {self.broadcast_type.data.value}")
        if self.lane is not None:
            printer.print_string(" ")
            printer.print_operand(self.lane)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
