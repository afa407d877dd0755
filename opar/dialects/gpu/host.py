"""What touches neither a stream nor a thread id: device choice, page locking, printing, memory."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    StringAttr,
    UnrankedMemRefType,
    i8,
    i32,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr
from opar.dialects.gpu.effects import HostOrderEffect
from opar.dialects.signature import parse_typed_operands, print_typed_operands


class _RegisterEffect(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.WRITE, op.operands[0]),))


class _RegistrationOp(IRDLOperation):
    value = operand_def(UnrankedMemRefType)

    traits = traits_def(_RegisterEffect())

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(value, parser.parse_type()))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class HostRegisterOp(_RegistrationOp):
    """`gpu.host_register %m : memref<*xf32>`: the device may access this host memory."""

    name = "gpu.host_register"


@irdl_op_definition
class HostUnregisterOp(_RegistrationOp):
    """`gpu.host_unregister %m : memref<*xf32>`: ends what `gpu.host_register` began."""

    name = "gpu.host_unregister"


@irdl_op_definition
class SetDefaultDeviceOp(IRDLOperation):
    """`gpu.set_default_device %i`: the device that this thread of the host uses from now on."""

    name = "gpu.set_default_device"

    device = operand_def(i32)

    traits = traits_def(HostOrderEffect())

    def __init__(self, device: SSAValue):
        super().__init__(operands=[device])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        op = cls(parser.resolve_operand(parser.parse_unresolved_operand(), i32))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_operand(self.device)


@irdl_op_definition
class PrintfOp(IRDLOperation):
    """`gpu.printf "%d %f", %i, %v : index, f32`: print from a thread of a kernel."""

    name = "gpu.printf"

    format = prop_def(StringAttr)
    arguments = var_operand_def(IntegerType | IndexType | AnyFloat)

    traits = traits_def(HostOrderEffect())

    def __init__(self, format: str, arguments: Sequence[SSAValue] = ()):
        super().__init__(operands=[arguments], properties={"format": StringAttr(format)})

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        format = parser.parse_str_literal()
        attributes = parser.parse_optional_attr_dict()
        arguments: Sequence[SSAValue] = ()
        if parser.parse_optional_punctuation(",") is not None:
            arguments = parse_typed_operands(parser)
        op = cls(format, arguments)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.format)
        printer.print_op_attributes(self.attributes)
        if self.arguments:
            printer.print_string(",")
            print_typed_operands(printer, self.arguments)


@irdl_op_definition
class DynamicSharedMemoryOp(IRDLOperation):
    """
    `%m = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>`: the workgroup
    memory whose size the launch gives.
    """

    name = "gpu.dynamic_shared_memory"

    memref = result_def(MemRefType)

    traits = traits_def(Pure())

    def __init__(self) -> None:
        space = AddressSpaceAttr(AddressSpace.WORKGROUP)
        super().__init__(result_types=[MemRefType(i8, [DYNAMIC_INDEX], memory_space=space)])

    def verify_(self) -> None:
        if self.memref.type != type(self)().memref.type:
            raise VerifyException(
                f"returns memref<?xi8, #gpu.address_space<workgroup>>, not {self.memref.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)
