"""`gpu.launch_func`: the launch of a kernel by its symbol."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Self
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import (
    IndexType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnrankedMemRefType,
    i32,
    i64,
)
from xdsl.dialects.builtin import ModuleOp as BuiltinModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.async_interface import (
    AsyncOp,
    parse_async,
    print_async,
    resolve_all,
    token_types,
)
from opar.dialects.gpu.attributes import AsyncTokenType
from opar.dialects.gpu.binary import BinaryOp
from opar.dialects.gpu.effects import HOST_ORDER
from opar.dialects.gpu.kernels import FuncOp, ModuleOp

Dim3 = tuple[SSAValue, SSAValue, SSAValue]

CONTAINER_MODULE = "gpu.container_module"
"""The unit attribute of a `builtin.module` that holds kernels and launches them."""

_symbols: WeakKeyDictionary[Operation, dict[str, Operation]] = WeakKeyDictionary()


def _lookup(table: Operation, name: str) -> Operation | None:
    """
    The operation named `name` right inside `table`, remembered between calls: a program with as
    many kernels as launches would otherwise search all of them for each launch.
    """
    known = _symbols.setdefault(table, {})
    found = known.get(name)
    if (
        found is None
        or found.parent_op() is not table
        or not isinstance(symbol := found.get_attr_or_prop("sym_name"), StringAttr)
        or symbol.data != name
    ):
        known.clear()
        for op in table.regions[0].blocks[0].ops:
            if isinstance(symbol := op.get_attr_or_prop("sym_name"), StringAttr):
                known.setdefault(symbol.data, op)
        found = known.get(name)
    return found


class _LaunchEffect(MemoryEffect):
    """Reads and writes each memref operand; what the kernel really does needs an analysis."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        assert isinstance(op, LaunchFuncOp)
        effects = {EffectInstance(MemoryEffectKind.WRITE, resource=HOST_ORDER)}
        for operand in op.kernel_operands:
            if isinstance(operand.type, MemRefType | UnrankedMemRefType):
                effects.add(EffectInstance(MemoryEffectKind.READ, operand))
                effects.add(EffectInstance(MemoryEffectKind.WRITE, operand))
            elif operand.type.name == "llvm.ptr":
                effects.add(EffectInstance(MemoryEffectKind.READ))
                effects.add(EffectInstance(MemoryEffectKind.WRITE))
        return effects


class _KernelSymbol(SymbolUserOpInterface):
    """The kernel that a launch names exists, is a kernel, and takes these operands."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, LaunchFuncOp)
        module = op.container_module()
        if len(op.kernel.nested_references) != 1:
            raise VerifyException(f"names its kernel '@module::@function', not '{op.kernel}'")
        container_name = op.kernel.root_reference.data
        container = _lookup(module, container_name)
        if container is None:
            if op.is_nested_in_function():
                return
            raise VerifyException(f"kernel module '@{container_name}' does not exist")
        if isinstance(container, BinaryOp):
            return
        if not isinstance(container, ModuleOp):
            raise VerifyException(f"'@{container_name}' is a '{container.name}', not a gpu.module")
        kernel = _lookup(container, op.kernel_name)
        if kernel is None:
            if op.is_nested_in_function():
                return
            raise VerifyException(f"kernel '{op.kernel}' does not exist")
        if not isinstance(kernel, FuncOp):
            if "gpu.kernel" not in kernel.attributes:
                raise VerifyException(f"'{op.kernel}' is a '{kernel.name}', not a kernel")
            return
        if not kernel.is_kernel:
            raise VerifyException(f"'{op.kernel}' lacks the attribute 'gpu.kernel'")
        expected = kernel.function_type.inputs.data
        found = [operand.type for operand in op.kernel_operands]
        if len(found) != len(expected):
            raise VerifyException(
                f"kernel '{op.kernel}' takes {len(expected)} arguments, {len(found)} are given"
            )
        for index, (takes, given) in enumerate(zip(expected, found, strict=True)):
            if takes != given:
                raise VerifyException(
                    f"argument {index} of kernel '{op.kernel}' has type {takes}, {given} is given"
                )


@irdl_op_definition
class LaunchFuncOp(AsyncOp):
    """
    `%t = gpu.launch_func async [%d] @module::@kernel blocks in (%gx, %gy, %gz) threads in (%bx,
    %by, %bz) : i32 dynamic_shared_memory_size %s args(%a : type, ...)`.

    Sizes are all index (then no type is written), all i32 or all i64. Instead of tokens, the launch
    may have an `async_object`, the stream to use: `gpu.launch_func <%stream : type> @m::@k ...`.
    """

    name = "gpu.launch_func"

    async_dependencies = var_operand_def(AsyncTokenType)
    grid_size_x = operand_def()
    grid_size_y = operand_def()
    grid_size_z = operand_def()
    block_size_x = operand_def()
    block_size_y = operand_def()
    block_size_z = operand_def()
    cluster_size_x = opt_operand_def()
    cluster_size_y = opt_operand_def()
    cluster_size_z = opt_operand_def()
    dynamic_shared_memory_size = opt_operand_def(i32)
    kernel_operands = var_operand_def()
    async_object = opt_operand_def()
    kernel = prop_def(SymbolRefAttr)
    async_token = opt_result_def(AsyncTokenType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(_LaunchEffect(), _KernelSymbol())

    def __init__(
        self,
        kernel: SymbolRefAttr | FuncOp,
        grid_size: Sequence[SSAValue],
        block_size: Sequence[SSAValue],
        kernel_operands: Sequence[SSAValue] = (),
        *,
        cluster_size: Sequence[SSAValue] | None = None,
        dynamic_shared_memory_size: SSAValue | None = None,
        async_dependencies: Sequence[SSAValue] = (),
        is_async: bool = False,
        async_object: SSAValue | None = None,
    ):
        """A launch of a kernel, or of `@module::@function`; sizes are three values each."""
        if isinstance(kernel, FuncOp):
            module = kernel.parent_op()
            assert isinstance(module, ModuleOp)
            kernel = SymbolRefAttr(module.sym_name, [kernel.sym_name])
        super().__init__(
            operands=[
                async_dependencies,
                *grid_size,
                *block_size,
                *(cluster_size or (None, None, None)),
                dynamic_shared_memory_size,
                kernel_operands,
                async_object,
            ],
            properties={"kernel": kernel},
            result_types=[token_types(is_async)],
        )

    @property
    def grid_size(self) -> Dim3:
        """Blocks along x, y, z."""
        return self._sizes(0)

    @property
    def block_size(self) -> Dim3:
        """Threads of a block along x, y, z."""
        return self._sizes(3)

    def _sizes(self, first: int) -> Dim3:
        """Three of the operands behind the tokens, whose number has to be decoded."""
        start = len(self.async_dependencies) + first
        x, y, z = self.operands[start : start + 3]
        return x, y, z

    @property
    def cluster_size(self) -> Dim3 | None:
        """Blocks of a cluster along x, y, z, where there are clusters."""
        x, y, z = self.cluster_size_x, self.cluster_size_y, self.cluster_size_z
        return None if x is None or y is None or z is None else (x, y, z)

    @property
    def kernel_module_name(self) -> str:
        """The name of the `gpu.module`."""
        return self.kernel.root_reference.data

    @property
    def kernel_name(self) -> str:
        """The name of the `gpu.func`."""
        return (self.kernel.nested_references.data or (self.kernel.root_reference,))[-1].data

    def container_module(self) -> BuiltinModuleOp:
        """The module that holds launch and kernel. Raises `VerifyException` if there is none."""
        module = self.parent_op()
        while module is not None and not isinstance(module, BuiltinModuleOp):
            module = module.parent_op()
        if module is None:
            raise VerifyException("is outside of any module")
        if not isinstance(module.attributes.get(CONTAINER_MODULE), UnitAttr):
            raise VerifyException(
                f"the module around it lacks the attribute '{CONTAINER_MODULE}':"
                f" 'module attributes {{{CONTAINER_MODULE}}}'"
            )
        return module

    def is_nested_in_function(self) -> bool:
        """Whether other operations of the function are around it: MLIR then leaves it unchecked."""
        function = self.parent_op()
        return function is None or not isinstance(function.parent_op(), BuiltinModuleOp)

    def lookup_kernel(self) -> FuncOp | None:
        """The kernel that is launched, if it is a `gpu.func` of the module around this launch."""
        module = _lookup(self.container_module(), self.kernel_module_name)
        if not isinstance(module, ModuleOp):
            return None
        kernel = _lookup(module, self.kernel_name)
        return kernel if isinstance(kernel, FuncOp) else None

    def verify_(self) -> None:
        self.container_module()
        sizes = [*self.grid_size, *self.block_size]
        clusters = [self.cluster_size_x, self.cluster_size_y, self.cluster_size_z]
        if any(size is None for size in clusters) and any(size is not None for size in clusters):
            raise VerifyException("a cluster size is given along x, y and z, or not at all")
        sizes += [size for size in clusters if size is not None]
        types = {size.type for size in sizes}
        if len(types) != 1 or not types <= {IndexType(), i32, i64}:
            raise VerifyException(
                "grid, block and cluster sizes are all index, all i32 or all i64, not "
                + ", ".join(sorted(map(str, types)))
            )
        if self.async_object is not None and self.async_dependencies:
            raise VerifyException(
                "has both async dependencies and an explicit stream; give one of them"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_async(parser, "launch_func")
        async_object = None
        if parser.parse_optional_punctuation("<") is not None:
            async_object = _parse_typed(parser)
            parser.parse_punctuation(">")
        position = parser.pos
        kernel = parser.parse_attribute()
        if not isinstance(kernel, SymbolRefAttr):
            parser.raise_error("expected '@module::@kernel'", at_position=position)
        clusters = None
        if parser.parse_optional_keyword("clusters") is not None:
            clusters = _parse_sizes(parser)
        parser.parse_keyword("blocks")
        blocks = _parse_sizes(parser)
        parser.parse_keyword("threads")
        threads = _parse_sizes(parser)
        type: Attribute = IndexType()
        if parser.parse_optional_punctuation(":") is not None:
            type = parser.parse_type()
        shared_memory = None
        if parser.parse_optional_keyword("dynamic_shared_memory_size") is not None:
            shared_memory = parser.resolve_operand(parser.parse_unresolved_operand(), i32)
        operands: list[SSAValue] = []
        if parser.parse_optional_keyword("args") is not None:
            operands = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: _parse_typed(parser)
            )
        op = cls(
            kernel,
            resolve_all(parser, blocks, type),
            resolve_all(parser, threads, type),
            operands,
            cluster_size=None if clusters is None else resolve_all(parser, clusters, type),
            dynamic_shared_memory_size=shared_memory,
            async_dependencies=tokens,
            is_async=is_async,
            async_object=async_object,
        )
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        def typed(value: SSAValue) -> None:
            printer.print_operand(value)
            printer.print_string(" : ")
            printer.print_attribute(value.type)

        print_async(printer, self)
        if self.async_object is not None:
            printer.print_string(" ")
            with printer.in_angle_brackets():
                typed(self.async_object)
        printer.print_string(" ")
        printer.print_attribute(self.kernel)
        for keyword, sizes in (
            ("clusters", self.cluster_size),
            ("blocks", self.grid_size),
            ("threads", self.block_size),
        ):
            if sizes is not None:
                printer.print_string(f" {keyword} in ")
                with printer.in_parens():
                    printer.print_list(sizes, printer.print_operand)
        if not isinstance(self.grid_size_x.type, IndexType):
            printer.print_string(" : ")
            printer.print_attribute(self.grid_size_x.type)
        if self.dynamic_shared_memory_size is not None:
            printer.print_string(" dynamic_shared_memory_size ")
            printer.print_operand(self.dynamic_shared_memory_size)
        if self.kernel_operands:
            printer.print_string(" args")
            with printer.in_parens():
                printer.print_list(self.kernel_operands, typed)
        printer.print_op_attributes(self.attributes)


def _parse_typed(parser: Parser) -> SSAValue:
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(operand, parser.parse_type())


def _parse_sizes(parser: Parser) -> list[UnresolvedOperand]:
    parser.parse_keyword("in")
    position = parser.pos
    sizes = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_unresolved_operand
    )
    if len(sizes) != 3:
        parser.raise_error("'gpu.launch_func' takes three sizes", at_position=position)
    return sizes
