"""The smallest programs of what random ones have found."""

from __future__ import annotations

import pytest
from xdsl.dialects import func

import opar
from opar.dialects import gpu
from tests.oracle.checks import missing
from tests.oracle.interpreter import Interpreter
from tests.oracle.memory import Memory
from tests.oracle.recorder import Kernels

LINE = "memref<16xi32>"


def check(text: str, *numbers: int, options: str = "") -> None:
    """The order of what runs after the pass; the first arguments are numbers, the rest buffers."""
    module = opar.parse_module(text)
    opar.run_passes(module, f"gpu-async-dataflow{{{options}}}" if options else "gpu-async-dataflow")
    function = next(op for op in module.body.ops if isinstance(op, func.FuncOp))
    memory = Memory()
    count = len(function.function_type.inputs.data) - len(numbers)
    buffers = [memory.allocate((16,), range(16)) for _ in range(count)]
    trace = Interpreter(function, memory, [*numbers, *buffers], Kernels()).run()
    assert not list(missing(trace)), str(module)


def test_two_operations_of_a_branch_in_an_execute_that_nobody_awaits() -> None:
    text = f"""
func.func @f(%c: i1, %k: i32, %a: {LINE} {{llvm.noalias}}, %b: {LINE} {{llvm.noalias}}) {{
  %e = async.execute {{
    scf.if %c {{
      gpu.memset %a, %k : {LINE}, i32
      gpu.memset %b, %k : {LINE}, i32
    }}
    async.yield
  }}
  return
}}"""
    check(text, 1, 7)
    check(text, 0, 7)


def test_a_token_out_of_an_affine_if_without_else() -> None:
    text = f"""
func.func @f(%n: index, %k: i32, %a: {LINE}) {{
  affine.if affine_set<(d0) : (d0 mod 2 == 0)>(%n) {{
    gpu.memset %a, %k : {LINE}, i32
  }}
  gpu.memset %a, %k : {LINE}, i32
  return
}}"""
    check(text, 0, 7)
    check(text, 1, 7)


def test_single_use_tokens_beside_an_execute() -> None:
    text = f"""
func.func @f(%k: i32, %a: {LINE}) {{
  %e = async.execute {{
    gpu.memset %a, %k : {LINE}, i32
    async.yield
  }}
  gpu.memset %a, %k : {LINE}, i32
  return
}}"""
    check(text, 7, options="single-use-tokens=true")


def test_an_allocation_of_another_block_is_one_root() -> None:
    """It gets a token and so is another value; what one view was found to be of holds no more."""
    text = f"""
func.func @f(%c: i1, %k: i32) {{
  %a = gpu.alloc() : {LINE}
  %b = arith.select %c, %a, %a : {LINE}
  gpu.memset %b, %k : {LINE}, i32
  cf.br ^end
^end:
  gpu.memset %b, %k : {LINE}, i32
  gpu.memset %a, %k : {LINE}, i32
  return
}}"""
    check(text, 1, 7, options="single-use-tokens=true")


def test_an_execute_in_a_branch_not_taken_has_awaited_nothing() -> None:
    text = f"""
func.func @f(%c: i1, %k: i32, %a: {LINE} {{llvm.noalias}}, %b: {LINE} {{llvm.noalias}}) {{
  %zero = arith.constant 0 : index
  gpu.memset %b, %k : {LINE}, i32
  scf.if %c {{
    %v = memref.load %b[%zero] : {LINE}
    %e = async.execute {{
      gpu.memset %a, %k : {LINE}, i32
      async.yield
    }}
    async.await %e : !async.token
  }}
  gpu.memset %a, %k : {LINE}, i32
  gpu.memset %b, %k : {LINE}, i32
  return
}}"""
    check(text, 0, 7)
    check(text, 1, 7)


def test_a_load_of_a_loop_in_an_execute() -> None:
    """It has no token of its own: the end of the whole `async.execute` is awaited."""
    text = f"""
func.func @f(%k: i32, %a: {LINE} {{llvm.noalias}}, %b: {LINE} {{llvm.noalias}}) {{
  %zero = arith.constant 0 : index
  %e = async.execute {{
    affine.for %i = 2 to 4 {{
      gpu.memset %b, %k : {LINE}, i32
      %v = memref.load %a[%zero] : {LINE}
    }}
    async.yield
  }}
  gpu.memset %a, %k : {LINE}, i32
  return
}}"""
    check(text, 7)


@pytest.mark.parametrize("inside", ["", "scf.if %c"])
def test_a_host_store_in_two_executes_that_nobody_awaits(inside: str) -> None:
    text = f"""
func.func @f(%c: i1, %k: i32, %a: {LINE} {{llvm.noalias}}, %b: {LINE} {{llvm.noalias}}) {{
  %i = arith.constant 5 : index
  %b0 = gpu.alloc () : {LINE}
  %outer = async.execute {{
    {inside or "scf.execute_region"} {{
      %inner = async.execute {{
        memref.store %k, %a[%i] : {LINE}
        memref.store %k, %b0[%i] : {LINE}
        async.yield
      }}
      scf.yield
    }}
    async.yield
  }}
  gpu.memcpy %b, %a : {LINE}, {LINE}
  gpu.memset %b0, %k : {LINE}, i32
  return
}}"""
    check(text, 1, 7)
    check(text, 0, 7)


def test_a_host_store_in_two_executes_of_an_iteration() -> None:
    text = f"""
func.func @f(%n: index, %k: i32, %a: {LINE} {{llvm.noalias}}, %b: {LINE} {{llvm.noalias}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {{
    gpu.memcpy %b, %a : {LINE}, {LINE}
    %outer = async.execute {{
      %inner = async.execute {{
        memref.store %k, %a[%i] : {LINE}
        async.yield
      }}
      async.yield
    }}
  }}
  return
}}"""
    check(text, 3, 7)


def test_arguments_that_overlap_do_so_anywhere() -> None:
    text = f"""
module attributes {{gpu.container_module}} {{
gpu.module @k {{
  gpu.func @copy(%a: {LINE}, %b: {LINE}, %i: index) kernel {{
    %v = memref.load %a[%i] : {LINE}
    memref.store %v, %b[%i] : {LINE}
    gpu.return
  }}
}}
func.func @f(%a: {LINE}, %b: {LINE}, %c: {LINE} {{llvm.noalias}}) {{
  %one = arith.constant 1 : index
  %i = arith.constant 9 : index
  gpu.launch_func @k::@copy blocks in (%one, %one, %one) threads in (%one, %one, %one)
      args(%c : {LINE}, %a : {LINE}, %i : index)
  gpu.launch_func @k::@copy blocks in (%one, %one, %one) threads in (%one, %one, %one)
      args(%b : {LINE}, %c : {LINE}, %one : index)
  return
}}
}}"""
    module = opar.parse_module(text)
    opar.run_passes(module, "gpu-async-dataflow")
    first, second = (op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp))
    assert second.async_dependencies == (first.async_token,)
