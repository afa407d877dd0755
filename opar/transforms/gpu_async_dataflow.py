"""The pass `gpu-async-dataflow`: tokens that follow the data."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from opar.analysis.accesses import COMMUTING_ATOMICS, AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.analysis.block_graph import successors
from opar.analysis.calls import call_tokens
from opar.analysis.control_flow import ControlFlow, Shape, Structure
from opar.analysis.dataflow import analyse
from opar.analysis.order import Order
from opar.dialects import async_, gpu, memref
from opar.errors import at
from opar.transforms.tokens.rewrite import REMARKS, TokenRewriter
from opar.transforms.tokens.rewrite_blocks import rewrite_blocks
from opar.transforms.tokens.slots import plan


@dataclass(frozen=True)
class GpuAsyncDataflowPass(ModulePass):
    """
    Make GPU operations asynchronous, each with tokens of exactly those operations that it has to
    wait for: a drop-in for MLIR's `gpu-async-region`, which threads one token in program order.

    Before::

        gpu.launch_func @k::@product ... args(%a, %b, %p)
        gpu.launch_func @k::@product ... args(%a, %b, %q)
        gpu.launch_func @k::@sum ... args(%p, %q, %s)
        return %s

    After::

        %0 = gpu.launch_func async @k::@product ... args(%a, %b, %p)
        %1 = gpu.launch_func async @k::@product ... args(%a, %b, %q)
        %2 = gpu.launch_func async [%0, %1] @k::@sum ... args(%p, %q, %s)
        gpu.wait [%2]
        return %s

    In program order:

    1. an asynchronous operation (launch, memcpy, memset, alloc, dealloc) gets the token of each
       earlier operation that it conflicts with (`opar.analysis.dependence`) and that no other of
       its dependencies already waits for; tokens that it had stay;
    2. any other operation runs on the host: a `gpu.wait` on what it conflicts with goes before it
       (a deallocation by the host moves to the end of its block first, so that the host does not
       wait for it in the middle);
    3. what is still running at the end of the function is waited for once, before the return
       and these deallocations;
    4. tokens go through control flow. Behind an `scf.if`, `affine.if`, `scf.index_switch` or
       `scf.execute_region` they are results. In an `scf.for`, `affine.for` or `scf.while` what an
       iteration needs of earlier ones is an iteration argument; iterations that do not conflict
       do not wait for each other, and a join stands for them behind the loop::

           %none = gpu.wait async
           %all = scf.for %i = ... iter_args(%before = %none) -> (!gpu.async.token) {
             %0 = gpu.launch_func async @k::@tile ... args(%a, %i)
             %1 = gpu.wait async [%before, %0]
             scf.yield %1
           }

       Out of an `async.execute` they come as `!async.value<!gpu.async.token>`, awaited where they
       are needed; one that nobody awaits waits for its own work at its end. Between the blocks of
       a function (`cf`) they are block arguments. Around other
       operations with regions, and for `single-use-tokens`, the host waits (there it awaits each
       `async.execute` at once).

    `opar-opt --remarks` (the logger `opar.remarks`) says for each edge which buffer, elements and
    hazard made it, and for each access that counts as one of a whole buffer, why.

    Operations with an explicit stream and `host_shared` allocations stay synchronous. A call is an
    operation of the host; what runs behind tokens that it returns is waited for by them.

    Options:

    - `single-use-tokens`: for MLIR's `gpu-to-llvm`, which gives each `gpu.wait async` a stream of
      its own and refuses an operation without exactly one dependency. Roots start at a
      `gpu.wait async`, joins are a `gpu.wait async [..]`, and of several users of one token all but
      the first go through a `gpu.wait async` of their own.
    - `assume-noalias-args`: the arguments of each function do not overlap; the caller checks it.
    - `commuting-atomics`: launches whose `memref.atomic_rmw` on an element have the same operator
      and unused results do not wait for each other. Sums of floats then depend on the order.
      The module is marked `opar.commuting_atomics`, for who checks the tokens.
    """

    name = "gpu-async-dataflow"

    single_use_tokens: bool = False
    assume_noalias_args: bool = False
    commuting_atomics: bool = False

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        accesses = AccessAnalysis(AliasAnalysis(self.assume_noalias_args), self.commuting_atomics)
        if self.commuting_atomics:
            op.attributes[COMMUTING_ATOMICS] = builtin.UnitAttr()
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                for scope in _scopes(function, self._flow()):
                    self._rewrite(scope, accesses)
                if self.single_use_tokens:
                    _await_executes(function)

        if REMARKS.isEnabledFor(logging.INFO):
            for access, reason in accesses.imprecision.reasons:
                REMARKS.info(at(access, reason))

    def _flow(self) -> ControlFlow:
        return ControlFlow(crossed_by_tokens=not self.single_use_tokens)

    def _rewrite(self, scope: Block | Structure, accesses: AccessAnalysis) -> None:
        flow = self._flow()
        is_block = isinstance(scope, Block)
        ends = {
            end
            for block in ((scope,) if is_block else scope.blocks)
            if (end := _sink_deallocations(block, flow)) and (is_block or not successors(block))
        }
        dependences = analyse(scope, accesses, flow)
        order = Order(ends, dependences, flow, _is_asynchronous)
        order.scope(scope)
        rewriter = TokenRewriter(
            dependences,
            order,
            plan(dependences, order, flow),
            flow,
            _is_asynchronous,
            self.single_use_tokens,
        )
        if isinstance(scope, Block):
            rewriter.rewrite(scope)
        else:
            rewrite_blocks(rewriter, scope)


def _await_executes(function: func.FuncOp) -> None:
    """Without tokens across `async.execute` each is awaited at once: it is one step of the host."""
    for op in list(function.walk()):
        if isinstance(op, async_.ExecuteOp) and op.parent is not None:
            following = op.next_op
            if not (isinstance(following, async_.AwaitOp) and following.operand is op.token):
                wait = async_.AwaitOp(op.token)
                wait.location = op.location
                op.parent.insert_op_after(wait, op)


def _scopes(op: Operation, flow: ControlFlow) -> Iterator[Block | Structure]:
    """The blocks below `op` at whose end nothing runs any more, inner ones first."""
    if isinstance(op, gpu.LaunchOp | gpu.ModuleOp):
        return
    structure = flow.structure(op)
    for region in op.regions:
        for block in region.blocks:
            for child in block.ops:
                yield from _scopes(child, flow)
            if structure is None:
                yield block
    if structure is not None and structure.shape is Shape.BLOCKS:
        yield structure


def _is_asynchronous(op: Operation) -> bool:
    """Whether `op` can run behind a token: the host need not wait for it."""
    if isinstance(op, gpu.AllocOp):
        return op.host_shared is None
    if isinstance(op, gpu.DeallocOp):
        roots = AliasAnalysis().roots(op.memref)
        owners = [r.value.owner for r in roots if r.value is not None]
        return not any(isinstance(o, gpu.AllocOp) and o.host_shared is not None for o in owners)
    if isinstance(op, gpu.LaunchFuncOp):
        return op.async_object is None
    return isinstance(op, gpu.AsyncOp) or bool(call_tokens(op))


def _sink_deallocations(block: Block, flow: ControlFlow) -> Operation | None:
    """
    Move the deallocations by the host behind everything else in their block; returns where `block`
    ends: the first of them, or the terminator.
    """
    for op in list(block.ops):
        inner = flow.structure(op)
        for below in inner.blocks if inner is not None else ():
            _sink_deallocations(below, flow)
    terminator = block.last_op
    if terminator is None or not terminator.has_trait(IsTerminator):
        return None
    end = terminator
    if any(_is_asynchronous(op) for op in flow.steps(block)):
        for op in list(block.ops):
            by_host = isinstance(op, gpu.DeallocOp) and not _is_asynchronous(op)
            if by_host or isinstance(op, memref.DeallocOp):
                op.detach()
                block.insert_op_before(op, terminator)
                end = op if end is terminator else end
    return end
