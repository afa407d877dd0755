"""The Python side of `gpu` and `async`: constructors, dependencies, effects, symbols."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, builtin
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import IndexType, MemRefType, SymbolRefAttr, UnitAttr, f32, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import (
    EffectInstance,
    MemoryEffectKind,
    SymbolTable,
    get_effects,
    is_side_effect_free,
)
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.exceptions import VerifyException

from opar.dialects import async_, gpu
from opar.dialects.parsing import parse_module, verify

INDEX = IndexType()
BUFFER = MemRefType(f32, [4])


def values(*types: object) -> list[SSAValue]:
    return list(test_dialect.TestOp(result_types=list(types)).results)  # pyright: ignore[reportArgumentType]


def one() -> SSAValue:
    return arith.ConstantOp.from_int_and_width(1, INDEX).result


def async_operations() -> list[gpu.AsyncOp]:
    """One of each class, with attributes, and all that it can have besides tokens."""
    n, a, b, v, stream_size = values(INDEX, BUFFER, BUFFER, f32, i32)
    operations: list[gpu.AsyncOp] = [
        gpu.WaitOp(),
        gpu.AllocOp(MemRefType(f32, [-1]), [n], host_shared=True),
        gpu.DeallocOp(a),
        gpu.MemcpyOp(a, b),
        gpu.MemsetOp(a, v),
        gpu.LaunchOp((n, n, n), (n, n, n), cluster_size=(n, n, n)),
        gpu.LaunchFuncOp(
            SymbolRefAttr("m", ["k"]),
            (n, n, n),
            (n, n, n),
            (a, v),
            cluster_size=(n, n, n),
            dynamic_shared_memory_size=stream_size,
        ),
    ]
    for op in operations:
        op.attributes["note"] = UnitAttr()
    return operations


NAMES = [type(op).__name__ for op in async_operations()]


@pytest.mark.parametrize("index", range(len(NAMES)), ids=NAMES)
def test_make_asynchronous(index: int) -> None:
    op = async_operations()[index]
    operands, results, properties = list(op.operands), list(op.results), dict(op.properties)
    sizes = properties.pop("operandSegmentSizes", None)
    tokens = values(gpu.AsyncTokenType(), gpu.AsyncTokenType())

    token = op.make_asynchronous(tokens)
    assert list(op.async_dependencies) == tokens
    assert list(op.operands) == tokens + operands
    assert list(op.results) == [*results, token] and op.async_token is token
    assert token.index == len(results) and token.op is op
    assert {k: v for k, v in op.properties.items() if k != "operandSegmentSizes"} == properties
    assert all(len(list(t.uses)) == 1 for t in tokens)

    assert op.make_asynchronous([]) is token
    assert list(op.operands) == operands and not any(t.uses for t in tokens)
    assert op.properties.get("operandSegmentSizes") == sizes


def test_launch_arguments() -> None:
    n = one()
    shared = MemRefType(f32, [8], memory_space=gpu.AddressSpaceAttr(gpu.AddressSpace.WORKGROUP))
    launch = gpu.LaunchOp((n, n, n), (n, n, n), workgroup_attributions=[shared])
    assert [a.index for a in launch.block_ids + launch.thread_ids] == list(range(6))
    assert [a.index for a in launch.grid_dims + launch.block_dims] == list(range(6, 12))
    assert launch.cluster_ids is None and launch.cluster_size is None
    assert [a.type for a in launch.workgroup_attributions] == [shared]
    assert launch.private_attributions == ()


def test_kernel_arguments() -> None:
    kernel = gpu.FuncOp(
        "k",
        ([BUFFER, f32], []),
        kernel=True,
        workgroup_attributions=[BUFFER],
        private_attributions=[MemRefType(f32, [1])],
        known_block_size=(32, 1, 1),
    )
    kernel.body.block.add_op(gpu.ReturnOp())
    gpu.ModuleOp("m", [kernel]).verify()
    assert kernel.is_kernel
    assert [a.type for a in kernel.parameters] == [BUFFER, f32]
    assert [a.index for a in kernel.workgroup_attributions] == [2]
    assert [a.index for a in kernel.private_attributions] == [3]
    assert kernel.argument_attribute(0, "llvm.noalias") is None
    kernel.set_argument_attribute(0, "llvm.noalias", UnitAttr())
    assert kernel.argument_attribute(0, "llvm.noalias") == UnitAttr()
    assert kernel.argument_attribute(1, "llvm.noalias") is None


def effects(op: Operation) -> set[tuple[MemoryEffectKind, object]]:
    found = get_effects(op)
    assert found is not None
    return {(e.kind, e.value) for e in found if e.resource == EffectInstance(e.kind).resource}


def test_effects_are_on_values() -> None:
    read, write = MemoryEffectKind.READ, MemoryEffectKind.WRITE
    n, a, b, v = values(INDEX, BUFFER, BUFFER, f32)
    alloc = gpu.AllocOp(BUFFER)
    assert effects(alloc) == {(MemoryEffectKind.ALLOC, alloc.memref)}
    assert effects(gpu.DeallocOp(a)) == {(MemoryEffectKind.FREE, a)}
    assert effects(gpu.MemcpyOp(a, b)) == {(write, a), (read, b)}
    assert effects(gpu.MemsetOp(a, v)) == {(write, a)}
    sizes = (n, n, n)
    launch_func = gpu.LaunchFuncOp(SymbolRefAttr("m", ["k"]), sizes, sizes, (a, v))
    assert effects(launch_func) == {(read, a), (write, a)}
    launch = gpu.LaunchOp(sizes, sizes)
    launch.body.block.add_ops([gpu.MemsetOp(a, v), gpu.TerminatorOp()])
    assert effects(launch) == {(write, a)}
    assert effects(gpu.BarrierOp()) == {(read, None), (write, None)}
    assert is_side_effect_free(gpu.ThreadIdOp("x"))
    body = Region(Block([gpu.MemsetOp(a, v), async_.YieldOp()]))
    assert effects(async_.ExecuteOp(body)) == {(write, a)}


def test_what_dead_code_elimination_may_remove() -> None:
    (token,) = values(gpu.AsyncTokenType())
    n = one()
    assert is_trivially_dead(gpu.WaitOp([token], is_async=True))
    assert not is_trivially_dead(gpu.WaitOp([token]))
    assert not is_trivially_dead(gpu.PrintfOp("x"))
    assert not is_trivially_dead(gpu.BarrierOp())
    launch = gpu.LaunchFuncOp(SymbolRefAttr("m", ["k"]), (n, n, n), (n, n, n))
    assert not is_trivially_dead(launch)


LAUNCHES = """
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @k(%a: f32) kernel {
      gpu.return
    }
  }
  func.func @f(%n: index, %a: f32) {
    gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%a : f32)
    return
  }
}
"""


def test_kernel_lookup() -> None:
    module = parse_module(LAUNCHES)
    verify(module)
    (launch,) = [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]
    (kernel,) = [op for op in module.walk() if isinstance(op, gpu.FuncOp)]
    assert launch.lookup_kernel() is kernel
    assert SymbolTable.lookup_symbol(launch, launch.kernel) is kernel
    assert (launch.kernel_module_name, launch.kernel_name) == ("m", "k")
    # What was found before is looked for again once it was renamed or removed.
    kernel.sym_name = builtin.StringAttr("renamed")
    assert launch.lookup_kernel() is None
    again = gpu.LaunchFuncOp(kernel, launch.grid_size, launch.block_size, launch.kernel_operands)
    assert again.kernel == SymbolRefAttr("m", ["renamed"])
    launch.kernel = again.kernel
    assert launch.lookup_kernel() is kernel
    kernel_module = kernel.parent_op()
    assert kernel_module is not None
    kernel_module.detach()
    assert launch.lookup_kernel() is None


def test_symbol_with_dots() -> None:
    module = parse_module(LAUNCHES.replace("@k", '@"a.b c"').replace("@m", "@m.n"))
    verify(module)
    (launch,) = [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]
    assert (launch.kernel_module_name, launch.kernel_name) == ("m.n", "a.b c")
    verify(parse_module(str(module)))


def test_launch_outside_of_a_module() -> None:
    n = one()
    launch = gpu.LaunchFuncOp(SymbolRefAttr("m", ["k"]), (n, n, n), (n, n, n))
    with pytest.raises(VerifyException, match="outside of any module"):
        launch.verify()


def test_locations() -> None:
    module = parse_module(LAUNCHES, "launches.mlir")
    places = {op.name: str(op.location) for op in module.walk()}
    assert places["gpu.func"] == 'loc("launches.mlir":4:5)'
    assert places["gpu.launch_func"] == 'loc("launches.mlir":9:5)'
