"""Functions that return before they are complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.ir import (
    Attribute,
    Operation,
    Region,
    SSAValue,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoMemoryEffect,
    Pure,
    ReturnLike,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from opar.dialects.async_.types import (
    TokenType,
    ValueType,
    check_types,
    unwrap,
)
from opar.dialects.signature import (
    parameter_attributes,
    parse_parameters,
    parse_results,
    parse_typed_operands,
    print_arguments,
    print_results,
    print_typed_operands,
)


@irdl_op_definition
class FuncOp(IRDLOperation):
    """`async.func @f(%a: f32) -> (!async.token, !async.value<f32>) { ... }`: a coroutine."""

    name = "async.func"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    body = region_def()

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoMemoryEffect())

    def __init__(
        self,
        name: str,
        function_type: FunctionType | tuple[Sequence[Attribute], Sequence[Attribute]],
        body: Region,
        visibility: StringAttr | None = None,
        *,
        arg_attrs: ArrayAttr | None = None,
        res_attrs: ArrayAttr | None = None,
    ):
        if not isinstance(function_type, FunctionType):
            function_type = FunctionType.from_lists(*function_type)
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": function_type,
                "sym_visibility": visibility,
                "arg_attrs": arg_attrs,
                "res_attrs": res_attrs,
            },
            regions=[body],
        )

    @property
    def returned_types(self) -> list[Attribute]:
        """The types that the body returns: the results without the token and `async.value`."""
        return [unwrap(t) for t in self.function_type.outputs if not isinstance(t, TokenType)]

    def verify_(self) -> None:
        results = self.function_type.outputs.data
        if not results:
            raise VerifyException("an async.func returns at least a token or a value")
        for index, type in enumerate(results):
            if not isinstance(type, TokenType | ValueType):
                raise VerifyException(f"result {index} is {type}, not an async token or value")
            if isinstance(type, TokenType) and index:
                raise VerifyException(f"the token is result {index}; it has to be the first")
        if self.body.blocks:
            check_types(
                "the body takes",
                [argument.type for argument in self.body.blocks[0].args],
                "the function type says",
                self.function_type.inputs.data,
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        visibility = parser.parse_optional_visibility_keyword()
        name = parser.parse_symbol_name().data
        parameters = parse_parameters(parser)
        results, res_attrs = parse_results(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword(
            ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")
        )
        arguments = [p.argument for p in parameters if p.argument is not None]
        op = cls(
            name,
            ([parameter.type for parameter in parameters], results),
            parser.parse_optional_region(arguments) or Region(),
            visibility,
            arg_attrs=parameter_attributes(parameters),
            res_attrs=res_attrs,
        )
        op.attributes |= attributes.data if attributes else {}
        return op

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(f" {self.sym_visibility.data}")
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        is_declaration = not self.body.blocks
        arguments = self.function_type.inputs.data if is_declaration else self.body.blocks[0].args
        print_arguments(printer, arguments, self.arg_attrs)
        print_results(printer, self.function_type.outputs.data, self.res_attrs)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        if not is_declaration:
            printer.print_string(" ")
            printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`async.return %v : f32`: the end of an `async.func`."""

    name = "async.return"

    values = var_operand_def()

    traits = traits_def(HasParent(FuncOp), IsTerminator(), ReturnLike(), Pure())

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])

    def verify_(self) -> None:
        if isinstance(function := self.parent_op(), FuncOp):
            found = [value.type for value in self.values]
            check_types("returns", found, "the results hold", function.returned_types)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        op = cls(parse_typed_operands(parser))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        print_typed_operands(printer, self.values)


class _Callee(SymbolUserOpInterface):
    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, FuncOp):
            raise VerifyException(f"'{op.callee}' is not an async.func")
        type = callee.function_type
        check_types("passes", [v.type for v in op.arguments], "the callee takes", type.inputs.data)
        check_types("gets", op.result_types, "the callee returns", type.outputs.data)


@irdl_op_definition
class CallOp(IRDLOperation):
    """`%t, %r = async.call @f(%a) : (f32) -> (!async.token, !async.value<f32>)`."""

    name = "async.call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def()
    res = var_result_def(TokenType | ValueType)

    traits = traits_def(_Callee())

    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $res)"

    def __init__(
        self, callee: str, arguments: Sequence[SSAValue], result_types: Sequence[Attribute]
    ):
        super().__init__(
            operands=[arguments],
            properties={"callee": SymbolRefAttr(callee)},
            result_types=[result_types],
        )
