"""`gpu.launch`: a kernel written where it is launched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    IndexType,
    IntegerAttr,
    SymbolRefAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.async_interface import (
    AsyncOp,
    binds_results,
    parse_async,
    print_async,
    resolve_all,
    token_types,
)
from opar.dialects.gpu.attributes import AddressSpace, AsyncTokenType
from opar.dialects.gpu.attributions import (
    parse_attributions,
    print_attributions,
    verify_attributions,
)

Dim3 = tuple[SSAValue, SSAValue, SSAValue]
ArgumentDim3 = tuple[BlockArgument, BlockArgument, BlockArgument]

_INDEX = IndexType()


@irdl_op_definition
class LaunchOp(AsyncOp):
    """
    `gpu.launch blocks(%bx, %by, %bz) in (%gx = %0, ...) threads(...) in (...) { ... }`: run the
    body once for each thread.

    The body's arguments are block ids, thread ids, grid size and block size (three each), with
    clusters then cluster ids and cluster size, and after them the workgroup and private
    attributions.
    """

    name = "gpu.launch"

    async_dependencies = var_operand_def(AsyncTokenType)
    grid_size_x = operand_def(IndexType)
    grid_size_y = operand_def(IndexType)
    grid_size_z = operand_def(IndexType)
    block_size_x = operand_def(IndexType)
    block_size_y = operand_def(IndexType)
    block_size_z = operand_def(IndexType)
    cluster_size_x = opt_operand_def(IndexType)
    cluster_size_y = opt_operand_def(IndexType)
    cluster_size_z = opt_operand_def(IndexType)
    dynamic_shared_memory_size = opt_operand_def(i32)
    kernel_module = opt_prop_def(FlatSymbolRefAttrConstr, prop_name="module")
    kernel_function = opt_prop_def(FlatSymbolRefAttrConstr, prop_name="function")
    num_workgroup_attributions = opt_attr_def(IntegerAttr, attr_name="workgroup_attributions")
    async_token = opt_result_def(AsyncTokenType)
    body = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        grid_size: Sequence[SSAValue],
        block_size: Sequence[SSAValue],
        body: Region | None = None,
        *,
        cluster_size: Sequence[SSAValue] | None = None,
        dynamic_shared_memory_size: SSAValue | None = None,
        workgroup_attributions: Sequence[Attribute] = (),
        private_attributions: Sequence[Attribute] = (),
        module: str | None = None,
        function: str | None = None,
        async_dependencies: Sequence[SSAValue] = (),
        is_async: bool = False,
    ):
        """
        A launch; sizes are three index values each. Without `body`, one whose entry block has the
        right arguments and no operations (also no terminator). The attributions are types; a
        given `body` must already have arguments for them.
        """
        if body is None:
            ids = 12 if cluster_size is None else 18
            body = Region(
                Block(arg_types=[_INDEX] * ids + [*workgroup_attributions, *private_attributions])
            )
        super().__init__(
            operands=[
                async_dependencies,
                *grid_size,
                *block_size,
                *(cluster_size or (None, None, None)),
                dynamic_shared_memory_size,
            ],
            properties={
                "module": None if module is None else SymbolRefAttr(module),
                "function": None if function is None else SymbolRefAttr(function),
            },
            attributes={
                "workgroup_attributions": IntegerAttr(len(workgroup_attributions), i64),
            },
            result_types=[token_types(is_async)],
            regions=[body],
        )

    @property
    def grid_size(self) -> Dim3:
        """Blocks along x, y, z."""
        return self.grid_size_x, self.grid_size_y, self.grid_size_z

    @property
    def block_size(self) -> Dim3:
        """Threads of a block along x, y, z."""
        return self.block_size_x, self.block_size_y, self.block_size_z

    @property
    def cluster_size(self) -> Dim3 | None:
        """Blocks of a cluster along x, y, z, where there are clusters."""
        x, y, z = self.cluster_size_x, self.cluster_size_y, self.cluster_size_z
        return None if x is None or y is None or z is None else (x, y, z)

    def _arguments(self, first: int) -> ArgumentDim3:
        x, y, z = self.body.blocks[0].args[first : first + 3]
        return x, y, z

    @property
    def block_ids(self) -> ArgumentDim3:
        """The body's arguments that hold the block id."""
        return self._arguments(0)

    @property
    def thread_ids(self) -> ArgumentDim3:
        """The body's arguments that hold the thread id."""
        return self._arguments(3)

    @property
    def grid_dims(self) -> ArgumentDim3:
        """The body's arguments that hold the grid size."""
        return self._arguments(6)

    @property
    def block_dims(self) -> ArgumentDim3:
        """The body's arguments that hold the block size."""
        return self._arguments(9)

    @property
    def cluster_ids(self) -> ArgumentDim3 | None:
        """The body's arguments that hold the cluster id, where there are clusters."""
        return None if self.cluster_size_x is None else self._arguments(12)

    @property
    def cluster_dims(self) -> ArgumentDim3 | None:
        """The body's arguments that hold the cluster size, where there are clusters."""
        return None if self.cluster_size_x is None else self._arguments(15)

    @property
    def num_ids(self) -> int:
        """How many of the body's arguments are ids and sizes."""
        return 12 if self.cluster_size_x is None else 18

    @property
    def workgroup_count(self) -> int:
        """How many workgroup attributions there are."""
        count = self.num_workgroup_attributions
        return 0 if count is None else count.value.data

    @property
    def workgroup_attributions(self) -> tuple[BlockArgument, ...]:
        """The buffers that the threads of a block share."""
        first = self.num_ids
        return tuple(self.body.blocks[0].args[first : first + self.workgroup_count])

    @property
    def private_attributions(self) -> tuple[BlockArgument, ...]:
        """The buffers of each thread."""
        return tuple(self.body.blocks[0].args[self.num_ids + self.workgroup_count :])

    def verify_(self) -> None:
        given = [self.cluster_size_x, self.cluster_size_y, self.cluster_size_z]
        if any(size is None for size in given) and any(size is not None for size in given):
            raise VerifyException("a cluster size is given along x, y and z, or not at all")
        if self.async_dependencies and self.async_token is None:
            raise VerifyException("a launch with async dependencies must be 'async'")
        if not self.body.blocks:
            return
        arguments = self.body.blocks[0].args
        expected = self.num_ids + self.workgroup_count
        if len(arguments) < expected:
            raise VerifyException(
                f"the body has {len(arguments)} arguments, but ids, sizes and workgroup"
                f" attributions need {expected}"
            )
        if any(argument.type != _INDEX for argument in arguments[: self.num_ids]):
            raise VerifyException(
                f"the first {self.num_ids} arguments of the body are of type index"
            )
        verify_attributions(self.workgroup_attributions, AddressSpace.WORKGROUP)
        verify_attributions(self.private_attributions, AddressSpace.PRIVATE)
        for block in self.body.blocks:
            last = block.last_op
            if last is not None and not last.successors and not isinstance(last, TerminatorOp):
                raise VerifyException(
                    f"the body ends in '{last.name}', not in 'gpu.terminator' or a branch"
                )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        is_named = binds_results(parser, "launch")
        is_async, tokens = parse_async(parser, "launch")
        if is_named and not is_async:
            parser.raise_error(
                "'gpu.launch' returns a token only with the keyword 'async':"
                " '%token = gpu.launch async blocks...'",
                at_position=position,
            )
        if tokens and not is_async:
            parser.raise_error(
                "'gpu.launch' with async dependencies needs the keyword 'async':"
                " '%token = gpu.launch async [...] blocks...'",
                at_position=position,
            )
        clusters = None
        if parser.parse_optional_keyword("clusters") is not None:
            clusters = _parse_sizes(parser)
        parser.parse_keyword("blocks")
        blocks = _parse_sizes(parser)
        parser.parse_keyword("threads")
        threads = _parse_sizes(parser)
        arguments = [*blocks.ids, *threads.ids, *blocks.dims, *threads.dims]
        if clusters is not None:
            arguments += [*clusters.ids, *clusters.dims]
        shared_memory = None
        if parser.parse_optional_keyword("dynamic_shared_memory_size") is not None:
            shared_memory = parser.resolve_operand(parser.parse_unresolved_operand(), i32)
        module = _parse_symbol(parser, "module")
        function = _parse_symbol(parser, "function")
        workgroup, workgroup_attrs = parse_attributions(parser, "workgroup", cls.name)
        private, private_attrs = parse_attributions(parser, "private", cls.name)
        if workgroup_attrs or private_attrs:
            parser.raise_error("the attributions of 'gpu.launch' have no attributes")
        body = parser.parse_region(
            [argument.resolve(_INDEX) for argument in arguments] + workgroup + private
        )
        op = cls(
            resolve_all(parser, blocks.sizes, _INDEX),
            resolve_all(parser, threads.sizes, _INDEX),
            body,
            cluster_size=None if clusters is None else resolve_all(parser, clusters.sizes, _INDEX),
            dynamic_shared_memory_size=shared_memory,
            workgroup_attributions=[argument.type for argument in workgroup],
            module=module,
            function=function,
            async_dependencies=tokens,
            is_async=is_async,
        )
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        print_async(printer, self)
        if self.cluster_size is not None and self.cluster_ids and self.cluster_dims:
            printer.print_string(" clusters")
            _print_sizes(printer, self.cluster_ids, self.cluster_dims, self.cluster_size)
        printer.print_string(" blocks")
        _print_sizes(printer, self.block_ids, self.grid_dims, self.grid_size)
        printer.print_string(" threads")
        _print_sizes(printer, self.thread_ids, self.block_dims, self.block_size)
        if self.dynamic_shared_memory_size is not None:
            printer.print_string(" dynamic_shared_memory_size ")
            printer.print_operand(self.dynamic_shared_memory_size)
        for keyword, symbol in (
            ("module", self.kernel_module),
            ("function", self.kernel_function),
        ):
            if symbol is not None:
                printer.print_string(f" {keyword}(")
                printer.print_attribute(symbol)
                printer.print_string(")")
        print_attributions(printer, "workgroup", self.workgroup_attributions)
        print_attributions(printer, "private", self.private_attributions)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)
        printer.print_op_attributes(
            self.attributes, reserved_attr_names=("workgroup_attributions",)
        )


class _Sizes:
    """`(%id, %id, %id) in (%dim = %size, %dim = %size, %dim = %size)`."""

    def __init__(
        self,
        ids: Sequence[Parser.UnresolvedArgument],
        dims: Sequence[Parser.UnresolvedArgument],
        sizes: Sequence[UnresolvedOperand],
    ):
        self.ids, self.dims, self.sizes = ids, dims, sizes


def _parse_sizes(parser: Parser) -> _Sizes:
    def identifier() -> Parser.UnresolvedArgument:
        return parser.parse_argument(expect_type=False)

    def assignment() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
        dim = identifier()
        parser.parse_punctuation("=")
        return dim, parser.parse_unresolved_operand()

    position = parser.pos
    ids = parser.parse_comma_separated_list(parser.Delimiter.PAREN, identifier)
    parser.parse_keyword("in")
    pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, assignment)
    if len(ids) != 3 or len(pairs) != 3:
        parser.raise_error("'gpu.launch' takes three ids and three sizes", at_position=position)
    return _Sizes(ids, [dim for dim, _ in pairs], [size for _, size in pairs])


def _print_sizes(
    printer: Printer, ids: Sequence[SSAValue], dims: Sequence[SSAValue], sizes: Sequence[SSAValue]
) -> None:
    def assignment(pair: tuple[SSAValue, SSAValue]) -> None:
        printer.print_ssa_value(pair[0])
        printer.print_string(" = ")
        printer.print_operand(pair[1])

    with printer.in_parens():
        printer.print_list(ids, printer.print_ssa_value)
    printer.print_string(" in ")
    with printer.in_parens():
        printer.print_list(zip(dims, sizes, strict=True), assignment)


def _parse_symbol(parser: Parser, keyword: str) -> str | None:
    if parser.parse_optional_keyword(keyword) is None:
        return None
    with parser.in_parens():
        return parser.parse_symbol_name().data


@irdl_op_definition
class TerminatorOp(IRDLOperation):
    """`gpu.terminator`: the end of the body of a `gpu.launch`."""

    name = "gpu.terminator"

    traits = traits_def(HasParent(LaunchOp), IsTerminator(), Pure())

    def __init__(self) -> None:
        super().__init__()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls()
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
