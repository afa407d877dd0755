"""Where kernels are: `gpu.module` and `gpu.func`, and how their arguments are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoMemoryEffect,
    NoTerminator,
    Pure,
    ReturnLike,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.attributes import AddressSpace
from opar.dialects.gpu.attributions import (
    arguments_of,
    parse_attributions,
    parse_named_parameters,
    print_attributions,
    verify_attributions,
)
from opar.dialects.signature import (
    parameter_attributes,
    parse_results,
    parse_typed_operands,
    print_arguments,
    print_results,
    print_typed_operands,
)


@irdl_op_definition
class ModuleOp(IRDLOperation):
    """
    `gpu.module @name <offloading handler> [targets] { ... }`: kernels and what they call, compiled
    together for the device.
    """

    name = "gpu.module"

    sym_name = prop_def(SymbolNameConstraint())
    targets = opt_prop_def(ArrayAttr)
    offloading_handler = opt_prop_def(Attribute, prop_name="offloadingHandler")
    body = region_def("single_block")

    traits = traits_def(
        IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable(), NoMemoryEffect()
    )

    def __init__(
        self,
        name: str | StringAttr,
        body: Region | Sequence[Operation] = (),
        *,
        targets: ArrayAttr | None = None,
        attributes: dict[str, Attribute] | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name) if isinstance(name, str) else name,
                "targets": targets,
            },
            attributes=attributes,
            regions=[body if isinstance(body, Region) else Region(Block(body))],
        )

    def verify_(self) -> None:
        if self.body.block.args:
            raise VerifyException("the body of a gpu.module has no block arguments")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        handler: Attribute | None = None
        if parser.parse_optional_punctuation("<") is not None:
            handler = parser.parse_attribute()
            parser.parse_punctuation(">")
        targets = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_attribute
        )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        op = cls(
            name,
            body,
            targets=None if targets is None else ArrayAttr(targets),
            attributes=dict(attributes.data) if attributes else None,
        )
        if handler is not None:
            op.offloading_handler = handler
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        if self.offloading_handler is not None:
            printer.print_string(" ")
            with printer.in_angle_brackets():
                printer.print_attribute(self.offloading_handler)
        if self.targets is not None:
            printer.print_string(" ")
            printer.print_attribute(self.targets)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


@irdl_op_definition
class FuncOp(IRDLOperation):
    """
    `gpu.func @name(%a : type, ...) workgroup(...) private(...) kernel attributes {...} { ... }`.

    The entry block's arguments are the function's parameters, then the workgroup attributions
    (buffers that the threads of a block share), then the private ones (a buffer for each thread).
    """

    name = "gpu.func"

    function_type = prop_def(FunctionType)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    known_block_size = opt_prop_def(DenseArrayBase)
    known_grid_size = opt_prop_def(DenseArrayBase)
    known_cluster_size = opt_prop_def(DenseArrayBase)
    workgroup_attrib_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    private_attrib_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    sym_name = attr_def(SymbolNameConstraint())
    kernel = opt_attr_def(UnitAttr, attr_name="gpu.kernel")
    num_workgroup_attributions = opt_attr_def(IntegerAttr, attr_name="workgroup_attributions")
    body = region_def()

    traits = traits_def(
        IsolatedFromAbove(), HasParent(ModuleOp), SymbolOpInterface(), NoMemoryEffect()
    )

    def __init__(
        self,
        name: str | StringAttr,
        function_type: FunctionType | tuple[Sequence[Attribute], Sequence[Attribute]],
        body: Region | None = None,
        *,
        kernel: bool = False,
        workgroup_attributions: Sequence[Attribute] = (),
        private_attributions: Sequence[Attribute] = (),
        known_block_size: Sequence[int] | None = None,
        known_grid_size: Sequence[int] | None = None,
        arg_attrs: ArrayAttr | None = None,
        attributes: dict[str, Attribute] | None = None,
    ):
        """
        A function; without `body`, one whose entry block has the right arguments and no
        operations. The attributions are types; a given `body` must already have arguments for them.
        """
        if not isinstance(function_type, FunctionType):
            function_type = FunctionType.from_lists(*function_type)
        if body is None:
            types = [*function_type.inputs, *workgroup_attributions, *private_attributions]
            body = Region(Block(arg_types=types))
        super().__init__(
            properties={
                "function_type": function_type,
                "arg_attrs": arg_attrs,
                "known_block_size": _size_attr(known_block_size),
                "known_grid_size": _size_attr(known_grid_size),
            },
            attributes={
                "sym_name": StringAttr(name) if isinstance(name, str) else name,
                "gpu.kernel": UnitAttr() if kernel else None,
                "workgroup_attributions": IntegerAttr(len(workgroup_attributions), i64),
                **(attributes or {}),
            },
            regions=[body],
        )

    @property
    def is_kernel(self) -> bool:
        """Whether the host can launch it."""
        return self.kernel is not None

    @property
    def parameters(self) -> tuple[BlockArgument, ...]:
        """The block arguments that a launch passes."""
        return tuple(self.body.blocks[0].args[: len(self.function_type.inputs)])

    @property
    def workgroup_count(self) -> int:
        """How many workgroup attributions there are."""
        count = self.num_workgroup_attributions
        return 0 if count is None else count.value.data

    @property
    def workgroup_attributions(self) -> tuple[BlockArgument, ...]:
        """The buffers that the threads of a block share."""
        first = len(self.function_type.inputs)
        return tuple(self.body.blocks[0].args[first : first + self.workgroup_count])

    @property
    def private_attributions(self) -> tuple[BlockArgument, ...]:
        """The buffers of each thread."""
        first = len(self.function_type.inputs) + self.workgroup_count
        return tuple(self.body.blocks[0].args[first:])

    def argument_attribute(self, index: int, name: str) -> Attribute | None:
        """The attribute `name` of parameter `index`, such as `llvm.noalias`."""
        if self.arg_attrs is None:
            return None
        return self.arg_attrs.data[index].data.get(name)

    def set_argument_attribute(self, index: int, name: str, value: Attribute) -> None:
        """Give parameter `index` the attribute `name`."""
        count = len(self.function_type.inputs)
        old = self.arg_attrs.data if self.arg_attrs else (DictionaryAttr({}),) * count
        new = list(old)
        new[index] = DictionaryAttr({**old[index].data, name: value})
        self.arg_attrs = ArrayAttr(new)

    def verify_(self) -> None:
        if self.is_kernel and self.function_type.outputs.data:
            raise VerifyException("a kernel returns no values")
        if not self.body.blocks:
            raise VerifyException("a gpu.func needs a body")
        types = [argument.type for argument in self.body.blocks[0].args]
        inputs = self.function_type.inputs.data
        if len(types) < len(inputs) + self.workgroup_count:
            raise VerifyException(
                f"the body has {len(types)} arguments, but {len(inputs)} parameters and"
                f" {self.workgroup_count} workgroup attributions need them"
            )
        for index, (expected, found) in enumerate(zip(inputs, types, strict=False)):
            if expected != found:
                raise VerifyException(
                    f"argument {index} of the body has type {found}, the function type says"
                    f" {expected}"
                )
        for attributes, count, what in (
            (self.arg_attrs, len(inputs), "arguments"),
            (self.res_attrs, len(self.function_type.outputs), "results"),
        ):
            if attributes is not None and len(attributes) != count:
                raise VerifyException(
                    f"there are attributes for {len(attributes)} {what}, but {count} {what}"
                )
        verify_attributions(self.workgroup_attributions, AddressSpace.WORKGROUP)
        verify_attributions(self.private_attributions, AddressSpace.PRIVATE)
        for name in ("known_block_size", "known_grid_size", "known_cluster_size"):
            size = self.properties.get(name)
            if isinstance(size, DenseArrayBase) and (size.elt_type != i32 or len(size) != 3):
                raise VerifyException(f"{name} is a dense array of three i32")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        parameters = parse_named_parameters(parser, cls.name)
        results, res_attrs = parse_results(parser)
        workgroup, workgroup_attrs = parse_attributions(parser, "workgroup", cls.name)
        private, private_attrs = parse_attributions(parser, "private", cls.name)
        kernel = parser.parse_optional_keyword("kernel") is not None
        written = parser.parse_optional_attr_dict_with_keyword(
            ("sym_name", "function_type", "arg_attrs", "res_attrs", "workgroup_attributions")
        )
        body = parser.parse_region([*arguments_of(parameters), *workgroup, *private])
        op = cls(
            name,
            ([parameter.type for parameter in parameters], results),
            body,
            kernel=kernel,
            workgroup_attributions=[argument.type for argument in workgroup],
            arg_attrs=parameter_attributes(parameters),
        )
        for key, value in (
            ("res_attrs", res_attrs),
            ("workgroup_attrib_attrs", workgroup_attrs),
            ("private_attrib_attrs", private_attrs),
        ):
            if value is not None:
                op.properties[key] = value
        for key, value in (written.data if written else {}).items():
            target = op.properties if key.startswith("known_") else op.attributes
            target[key] = value
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        print_arguments(printer, self.parameters, self.arg_attrs)
        print_results(printer, self.function_type.outputs.data, self.res_attrs)
        print_attributions(
            printer, "workgroup", self.workgroup_attributions, self.workgroup_attrib_attrs
        )
        print_attributions(printer, "private", self.private_attributions, self.private_attrib_attrs)
        if self.is_kernel:
            printer.print_string(" kernel")
        known = {k: v for k, v in self.properties.items() if k.startswith("known_")}
        printer.print_op_attributes(
            {**self.attributes, **known},
            reserved_attr_names=("sym_name", "gpu.kernel", "workgroup_attributions"),
            print_keyword=True,
        )
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


def _size_attr(size: Sequence[int] | None) -> DenseArrayBase | None:
    return None if size is None else DenseArrayBase.from_list(i32, list(size))


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`gpu.return %v : type`: the end of a `gpu.func`."""

    name = "gpu.return"

    operands_ = var_operand_def()

    traits = traits_def(HasParent(FuncOp), IsTerminator(), ReturnLike(), Pure())

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])

    def verify_(self) -> None:
        function = self.parent_op()
        if not isinstance(function, FuncOp):
            return
        found = [value.type for value in self.operands]
        expected = list(function.function_type.outputs)
        if found != expected:
            raise VerifyException(
                f"returns ({', '.join(map(str, found))}), but the function's results are"
                f" ({', '.join(map(str, expected))})"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        op = cls(parse_typed_operands(parser))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        print_typed_operands(printer, self.operands)
