"""Emits `func`: calls between the functions of a kernel module."""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects import func
from xdsl.traits import SymbolTable

from opar.backend.codegen.context import Context
from opar.backend.codegen.table import Table
from opar.errors import UnsupportedError, at

TABLE = Table()
TABLE.structural(func.ReturnOp)


@TABLE.op(func.CallOp)
def emit_call(ctx: Context, op: func.CallOp) -> None:
    callee = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(callee, func.FuncOp) or callee.is_declaration:
        raise UnsupportedError(at(op, f"{op.callee} has no body in the kernel's module"))
    function = _function(ctx, callee, op)
    result = ctx.b.call(function, ctx.flat(op.arguments))
    types = ctx.component_types(op.result_types)
    if len(types) == 1:
        ctx.bind(op.results, [result])
    else:
        parts = [ctx.b.extract_value(result, i) for i in range(len(types))]
        ctx.bind(op.results, parts)


def _function(ctx: Context, callee: func.FuncOp, call: func.CallOp) -> ir.Function:
    """The LLVM function of `callee`, emitted at its first call."""
    name = f"opar.{callee.sym_name.data}"
    existing = ctx.module.globals.get(name)
    if existing is not None:
        if not existing.blocks or not existing.blocks[-1].is_terminated:
            raise UnsupportedError(at(call, "recursion is not supported in a kernel"))
        return existing
    types = ctx.component_types(callee.function_type.outputs)
    returned = (
        ir.VoidType() if not types else types[0] if len(types) == 1 else ir.LiteralStructType(types)
    )
    inputs = ctx.component_types(callee.function_type.inputs)
    function = ir.Function(ctx.module, ir.FunctionType(returned, inputs), name)
    function.linkage = "internal"
    inner = Context(function, ctx.target)
    inner.bind(callee.body.blocks[0].args, function.args)

    def leave(terminator) -> None:
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
