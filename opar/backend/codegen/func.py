"""Emits `func`: calls between the functions of a kernel module."""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects import func
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from opar.backend.codegen.abi import mangle
from opar.backend.codegen.context import Context
from opar.backend.codegen.table import Table
from opar.errors import UnsupportedError

TABLE = Table()
TABLE.structural(func.ReturnOp)


@TABLE.op(func.CallOp)
def emit_call(ctx: Context, op: func.CallOp) -> None:
    callee = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(callee, func.FuncOp) or callee.is_declaration:
        raise UnsupportedError(
            f"{op.callee} is not a func.func with a body in the gpu.module of the kernel"
        )
    function = _function(ctx, callee)
    result = ctx.b.call(function, ctx.flat(op.arguments))
    types = ctx.component_types(op.result_types)
    if len(types) == 1:
        ctx.bind(op.results, [result])
    else:
        parts = [ctx.b.extract_value(result, i) for i in range(len(types))]
        ctx.bind(op.results, parts)


def _function(ctx: Context, callee: func.FuncOp) -> ir.Function:
    """The LLVM function of `callee`, emitted at its first call."""
    name = f"opar.{mangle(callee.sym_name.data)}"
    if name in ctx.callers:
        raise UnsupportedError("recursion is not supported in a kernel")
    existing = ctx.module.globals.get(name)
    if existing is not None:
        return existing
    types = ctx.component_types(callee.function_type.outputs)
    returned = (
        ir.VoidType() if not types else types[0] if len(types) == 1 else ir.LiteralStructType(types)
    )
    inputs = ctx.component_types(callee.function_type.inputs)
    function = ir.Function(ctx.module, ir.FunctionType(returned, inputs), name)
    function.linkage = "internal"
    inner = Context(function, ctx.target, ctx.callers | {name})
    inner.bind(callee.body.blocks[0].args, function.args)

    def leave(terminator: Operation) -> None:
        values = inner.flat(terminator.operands)
        if not values:
            inner.b.ret_void()
        elif len(values) == 1:
            inner.b.ret(values[0])
        else:
            inner.b.ret(_packed(inner, returned, values))

    inner.emit_blocks(callee.body, leave)
    return function


def _packed(ctx: Context, type: ir.Type, values: list[ir.Value]) -> ir.Value:
    whole: ir.Value = ir.Constant(type, ir.Undefined)
    for i, value in enumerate(values):
        whole = ctx.b.insert_value(whole, value, i)
    return whole
