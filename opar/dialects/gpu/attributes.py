"""Attributes and types of the `gpu` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    NoneAttr,
    StringAttr,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Data,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    TypeAttribute,
)
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum


@irdl_attr_definition
class AsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """`!gpu.async.token`: stands for the completion of an asynchronous operation."""

    name = "gpu.async.token"

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return []


class Dimension(StrEnum):
    """A dimension of the launch grid; x varies fastest."""

    X = auto()
    Y = auto()
    Z = auto()


@irdl_attr_definition
class DimensionAttr(EnumAttribute[Dimension], SpacedOpaqueSyntaxAttribute):
    """`#gpu<dim x>`."""

    name = "gpu.dim"


class AllReduceOperation(StrEnum):
    """How a reduction over threads combines two values, with MLIR's names."""

    ADD = "add"
    MUL = "mul"
    MINUI = "minui"
    MINSI = "minsi"
    MINNUMF = "minnumf"
    MAXUI = "maxui"
    MAXSI = "maxsi"
    MAXNUMF = "maxnumf"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MINIMUMF = "minimumf"
    MAXIMUMF = "maximumf"


@irdl_attr_definition
class AllReduceOpAttr(EnumAttribute[AllReduceOperation], SpacedOpaqueSyntaxAttribute):
    """`#gpu<all_reduce_op add>`."""

    name = "gpu.all_reduce_op"


class ShuffleMode(StrEnum):
    """Which lane a shuffle reads: own xor offset, own - offset, own + offset, or offset."""

    XOR = "xor"
    UP = "up"
    DOWN = "down"
    IDX = "idx"


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """`#gpu<shuffle_mode xor>`."""

    name = "gpu.shuffle_mode"


class BroadcastType(StrEnum):
    """Which lane of a subgroup a broadcast reads."""

    FIRST_ACTIVE_LANE = "first_active_lane"
    SPECIFIC_LANE = "specific_lane"


@irdl_attr_definition
class BroadcastTypeAttr(EnumAttribute[BroadcastType], SpacedOpaqueSyntaxAttribute):
    """`#gpu<broadcast first_active_lane>`."""

    name = "gpu.broadcast"


class Processor(StrEnum):
    """What a dimension of a parallel loop is mapped to."""

    BLOCK_X = "block_x"
    BLOCK_Y = "block_y"
    BLOCK_Z = "block_z"
    THREAD_X = "thread_x"
    THREAD_Y = "thread_y"
    THREAD_Z = "thread_z"
    SEQUENTIAL = "sequential"


@irdl_attr_definition
class LoopDimMapAttr(ParametrizedAttribute):
    """
    `#gpu.loop_dim_map<processor = thread_x, map = (d0) -> (d0), bound = (d0) -> (d0)>`: how one
    dimension of an `scf.parallel` is mapped to a processor.
    """

    name = "gpu.loop_dim_map"

    processor: StringAttr
    map: AffineMapAttr
    bound: AffineMapAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("processor")
            parser.parse_punctuation("=")
            processor = StringAttr(parser.parse_str_enum(Processor).value)
            maps: list[Attribute] = []
            for keyword in ("map", "bound"):
                parser.parse_punctuation(",")
                parser.parse_keyword(keyword)
                parser.parse_punctuation("=")
                maps.append(AffineMapAttr(parser.parse_affine_map()))
        return [processor, *maps]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(
                f"processor = {self.processor.data}, "
                f"map = {self.map.data}, bound = {self.bound.data}"
            )


EnumT = TypeVar("EnumT", bound=StrEnum)


class _KeywordAttr(Data[EnumT]):
    """An attribute that prints as `#gpu.name<keyword>`."""

    keywords: ClassVar[type[StrEnum]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> EnumT:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(cls.keywords)  # pyright: ignore[reportReturnType]

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


class AddressSpace(StrEnum):
    """Where a buffer of a kernel lives: seen by the device, by a block, or by one thread."""

    GLOBAL = auto()
    WORKGROUP = auto()
    PRIVATE = auto()


@irdl_attr_definition
class AddressSpaceAttr(_KeywordAttr[AddressSpace]):
    """`#gpu.address_space<workgroup>`, the memory space of a memref in a kernel."""

    name = "gpu.address_space"
    keywords: ClassVar[type[StrEnum]] = AddressSpace


class MappingId(StrEnum):
    """A physical (x, y, z) or linear dimension that an `scf.forall` is mapped to."""

    X = "x"
    Y = "y"
    Z = "z"
    LINEAR_DIM_0 = "linear_dim_0"
    LINEAR_DIM_1 = "linear_dim_1"
    LINEAR_DIM_2 = "linear_dim_2"
    LINEAR_DIM_3 = "linear_dim_3"
    LINEAR_DIM_4 = "linear_dim_4"
    LINEAR_DIM_5 = "linear_dim_5"
    LINEAR_DIM_6 = "linear_dim_6"
    LINEAR_DIM_7 = "linear_dim_7"
    LINEAR_DIM_8 = "linear_dim_8"
    LINEAR_DIM_9 = "linear_dim_9"


@irdl_attr_definition
class BlockMappingAttr(_KeywordAttr[MappingId]):
    """`#gpu.block<x>`."""

    name = "gpu.block"
    keywords: ClassVar[type[StrEnum]] = MappingId


@irdl_attr_definition
class ThreadMappingAttr(_KeywordAttr[MappingId]):
    """`#gpu.thread<x>`."""

    name = "gpu.thread"
    keywords: ClassVar[type[StrEnum]] = MappingId


@irdl_attr_definition
class WarpMappingAttr(_KeywordAttr[MappingId]):
    """`#gpu.warp<x>`."""

    name = "gpu.warp"
    keywords: ClassVar[type[StrEnum]] = MappingId


@irdl_attr_definition
class WarpgroupMappingAttr(_KeywordAttr[MappingId]):
    """`#gpu.warpgroup<x>`."""

    name = "gpu.warpgroup"
    keywords: ClassVar[type[StrEnum]] = MappingId


@irdl_attr_definition
class LaneMappingAttr(_KeywordAttr[MappingId]):
    """`#gpu.lane<linear_dim_0>`."""

    name = "gpu.lane"
    keywords: ClassVar[type[StrEnum]] = MappingId


@irdl_attr_definition
class MemorySpaceMappingAttr(_KeywordAttr[AddressSpace]):
    """`#gpu.memory_space<workgroup>`."""

    name = "gpu.memory_space"
    keywords: ClassVar[type[StrEnum]] = AddressSpace


@irdl_attr_definition
class MappingMaskAttr(Data[int]):
    """`#gpu.mask<0x33>`: which of up to 64 units take part; bit i is unit i."""

    name = "gpu.mask"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> int:
        with parser.in_angle_brackets():
            return parser.parse_integer(allow_boolean=False, allow_negative=False)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


@irdl_attr_definition
class SelectObjectAttr(ParametrizedAttribute):
    """`#gpu.select_object<0 : i64>`: which object of a `gpu.binary` is launched."""

    name = "gpu.select_object"

    target: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is None:
            return [NoneAttr()]
        target = parser.parse_attribute()
        parser.parse_punctuation(">")
        return [target]

    def print_parameters(self, printer: Printer) -> None:
        if not isinstance(self.target, NoneAttr):
            with printer.in_angle_brackets():
                printer.print_attribute(self.target)


@irdl_attr_definition
class ObjectAttr(ParametrizedAttribute):
    """
    `#gpu.object<TARGET, FORMAT = "...">`: a kernel module compiled for a target. The format keyword
    (`offload`, `assembly`, `bin`, `fatbin`) is kept as it is written; none means `fatbin`.
    """

    name = "gpu.object"

    target: Attribute
    format: StringAttr
    properties: Attribute
    object: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        format_name, properties = "", NoneAttr()
        with parser.in_angle_brackets():
            target = parser.parse_attribute()
            parser.parse_punctuation(",")
            while (key := parser.parse_optional_identifier()) is not None:
                parser.parse_punctuation("=")
                if key == "properties":
                    properties = parser.parse_attribute()
                elif key == "kernels":
                    parser.raise_error("the kernel table of a gpu.object is not supported")
                else:
                    format_name = key
                    break
                parser.parse_punctuation(",")
            content = parser.parse_attribute()
        return [target, StringAttr(format_name), properties, content]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.target)
            printer.print_string(", ")
            if not isinstance(self.properties, NoneAttr):
                printer.print_string("properties = ")
                printer.print_attribute(self.properties)
                printer.print_string(", ")
            if self.format.data:
                printer.print_string(f"{self.format.data} = ")
            printer.print_attribute(self.object)
