"""Where a thread is: ids and sizes of threads, blocks, clusters and subgroups, of type index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from opar.dialects.gpu.attributes import Dimension, DimensionAttr


def _index_attr(value: int | None) -> IntegerAttr[IndexType] | None:
    return None if value is None else IntegerAttr(value, IndexType())


class IdOp(IRDLOperation):
    """
    An operation that returns an index and nothing else. `upper_bound`, where given, is a constant
    that every value of the result is below (of a size: at most equal to).
    """

    upper_bound = opt_prop_def(IntegerAttr[IndexType])
    result = result_def(IndexType)

    traits = traits_def(Pure())

    @classmethod
    def _parse_upper_bound(cls, parser: Parser) -> dict[str, Attribute]:
        if parser.parse_optional_keyword("upper_bound") is None:
            return {}
        return {"upper_bound": IntegerAttr(parser.parse_integer(), IndexType())}

    def _print_upper_bound(self, printer: Printer) -> None:
        if self.upper_bound is not None:
            printer.print_string(f" upper_bound {self.upper_bound.value.data}")


class DimensionIdOp(IdOp):
    """
    An id or size along one dimension: `gpu.thread_id x upper_bound 32`.

    `DimensionIdOp("x")`; the dimension may be a letter, a `Dimension` or an attribute.
    """

    dimension = prop_def(DimensionAttr)

    def __init__(self, dimension: str | Dimension | DimensionAttr, upper_bound: int | None = None):
        if not isinstance(dimension, DimensionAttr):
            dimension = DimensionAttr(Dimension(dimension))
        super().__init__(
            properties={"dimension": dimension, "upper_bound": _index_attr(upper_bound)},
            result_types=[IndexType()],
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {
            "dimension": DimensionAttr(parser.parse_str_enum(Dimension))
        }
        properties |= cls._parse_upper_bound(parser)
        return cls.create(
            properties=properties,
            attributes=parser.parse_optional_attr_dict(),
            result_types=[IndexType()],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.dimension.data.value}")
        self._print_upper_bound(printer)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class ThreadIdOp(DimensionIdOp):
    """`gpu.thread_id x`: the thread's place in its block."""

    name = "gpu.thread_id"


@irdl_op_definition
class BlockIdOp(DimensionIdOp):
    """`gpu.block_id x`: the block's place in the grid."""

    name = "gpu.block_id"


@irdl_op_definition
class BlockDimOp(DimensionIdOp):
    """`gpu.block_dim x`: how many threads a block has."""

    name = "gpu.block_dim"


@irdl_op_definition
class GridDimOp(DimensionIdOp):
    """`gpu.grid_dim x`: how many blocks the grid has."""

    name = "gpu.grid_dim"


@irdl_op_definition
class GlobalIdOp(DimensionIdOp):
    """`gpu.global_id x`: the thread's place in the grid, block_id * block_dim + thread_id."""

    name = "gpu.global_id"


@irdl_op_definition
class ClusterIdOp(DimensionIdOp):
    """`gpu.cluster_id x`: the cluster's place in the grid."""

    name = "gpu.cluster_id"


@irdl_op_definition
class ClusterDimOp(DimensionIdOp):
    """`gpu.cluster_dim x`: how many clusters the grid has."""

    name = "gpu.cluster_dim"


@irdl_op_definition
class ClusterDimBlocksOp(DimensionIdOp):
    """`gpu.cluster_dim_blocks x`: how many blocks a cluster has."""

    name = "gpu.cluster_dim_blocks"


@irdl_op_definition
class ClusterBlockIdOp(DimensionIdOp):
    """`gpu.cluster_block_id x`: the block's place in its cluster."""

    name = "gpu.cluster_block_id"


class SubgroupPropertyOp(IdOp):
    """An id or size of the thread's subgroup (a warp on NVIDIA GPUs)."""

    PRINTS_TYPE: ClassVar[bool] = True

    def __init__(self, upper_bound: int | None = None):
        super().__init__(
            properties={"upper_bound": _index_attr(upper_bound)}, result_types=[IndexType()]
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties = cls._parse_upper_bound(parser)
        attributes = parser.parse_optional_attr_dict()
        result_types: Sequence[Attribute] = [IndexType()]
        if cls.PRINTS_TYPE:
            parser.parse_punctuation(":")
            result_types = [parser.parse_type()]
        return cls.create(properties=properties, attributes=attributes, result_types=result_types)

    def print(self, printer: Printer) -> None:
        self._print_upper_bound(printer)
        printer.print_op_attributes(self.attributes)
        if self.PRINTS_TYPE:
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)


@irdl_op_definition
class LaneIdOp(SubgroupPropertyOp):
    """`gpu.lane_id`: the thread's place in its subgroup."""

    name = "gpu.lane_id"
    PRINTS_TYPE: ClassVar[bool] = False


@irdl_op_definition
class SubgroupIdOp(SubgroupPropertyOp):
    """`gpu.subgroup_id : index`: the subgroup's place in its block."""

    name = "gpu.subgroup_id"


@irdl_op_definition
class NumSubgroupsOp(SubgroupPropertyOp):
    """`gpu.num_subgroups : index`: how many subgroups a block has."""

    name = "gpu.num_subgroups"


@irdl_op_definition
class SubgroupSizeOp(SubgroupPropertyOp):
    """`gpu.subgroup_size : index`: how many threads a subgroup has."""

    name = "gpu.subgroup_size"
