"""The pass `gpu-async-dataflow`: tokens that follow the data."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.analysis.dependence import Hazard, HazardKind, analyse, minimal
from opar.dialects import gpu, memref
from opar.errors import UnsupportedError, at

REMARKS = logging.getLogger("opar.remarks")
"""Where the pass says, at level INFO, which hazard made each edge."""

Conflicts = dict[int, list[Hazard]]


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

    For each block of a host function, in program order:

    1. an asynchronous operation (launch, memcpy, memset, alloc, dealloc) gets the token of each
       earlier operation that it conflicts with (`opar.analysis.dependence`) and that no other of
       its dependencies already waits for; tokens that it had stay;
    2. any other operation runs on the host: a `gpu.wait` on what it conflicts with goes before it
       (a deallocation by the host moves to the end of the block first, so that the host does not
       wait for it in the middle);
    3. what is still running at the end of the block is waited for once, before the terminator
       and these deallocations.

    `opar-opt --remarks` (the logger `opar.remarks`) says for each edge which buffer, elements and
    hazard made it.

    Operations with an explicit stream and `host_shared` allocations stay synchronous.

    Options:

    - `single-use-tokens`: for MLIR's `gpu-to-llvm`, which gives each `gpu.wait async` a stream of
      its own and refuses an operation without exactly one dependency. Roots start at a
      `gpu.wait async`, joins are a `gpu.wait async [..]`, and of several users of one token all but
      the first go through a `gpu.wait async` of their own.
    - `assume-noalias-args`: the arguments of each function do not overlap; the caller checks it.
    """

    name = "gpu-async-dataflow"

    single_use_tokens: bool = False
    assume_noalias_args: bool = False

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        aliases = AliasAnalysis(self.assume_noalias_args)
        accesses = AccessAnalysis(aliases)
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                for block in _host_blocks(function):
                    _BlockTokens(block, accesses, self.single_use_tokens).rewrite()


def _host_blocks(op: Operation) -> Iterator[Block]:
    """The blocks below `op` that run on the host, inner ones first."""
    if isinstance(op, gpu.LaunchOp | gpu.ModuleOp):
        return
    for region in op.regions:
        for block in region.blocks:
            for child in block.ops:
                if child.name == "async.execute":
                    message = "not supported by gpu-async-dataflow; run its body inline instead"
                    raise UnsupportedError(at(child, message))
                yield from _host_blocks(child)
            yield block


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
    return isinstance(op, gpu.AsyncOp)


@dataclass
class _BlockTokens:
    """Rewrites one block; operations are numbered in program order, sets of them are bit masks."""

    block: Block
    accesses: AccessAnalysis
    single_use: bool
    tokens: dict[int, SSAValue] = field(default_factory=dict)
    complete: int = 0
    """Operations that are complete when the host gets to the present place."""
    used: set[SSAValue] = field(default_factory=set)
    """Tokens that an operation other than `gpu.wait` has taken (`single_use`)."""

    def rewrite(self) -> None:
        """Add the tokens and waits."""
        end = self._sink_deallocations()
        self.operations = operations = list(self.block.ops)
        dependences = analyse(operations, self.accesses)
        # ancestors[i]: complete once operation i is.
        self.ancestors = [0] * len(operations)
        for i, op in enumerate(operations):
            hazards = dependences.conflicts[i]
            if isinstance(op, gpu.WaitOp):
                self._keep_wait(i, op, hazards)
            elif _is_asynchronous(op):
                self._make_asynchronous(i, op, hazards)
            else:
                conflicting = [
                    p
                    for p, found in hazards.items()
                    if any(h.kind is not HazardKind.TOKEN for h in found)
                ]
                if op is end:
                    conflicting = self._running_at_end(operations[-1])
                self._host_wait(op, conflicting, hazards)

    def _sink_deallocations(self) -> Operation | None:
        """
        Move the deallocations by the host behind everything else; returns where the block ends:
        the first of them, or the terminator.
        """
        terminator = self.block.last_op
        if terminator is None or not terminator.has_trait(IsTerminator):
            return None
        end = terminator
        if any(_is_asynchronous(op) for op in self.block.ops):
            for op in list(self.block.ops):
                by_host = isinstance(op, gpu.DeallocOp) and not _is_asynchronous(op)
                if by_host or isinstance(op, memref.DeallocOp):
                    op.detach()
                    self.block.insert_op_before(op, terminator)
                    end = op if end is terminator else end
        return end

    def _running(self, candidates: Iterable[int]) -> list[int]:
        """Those of `candidates` that have a token and may still run, without implied ones."""
        running = [p for p in candidates if p in self.tokens and not self.complete >> p & 1]
        return minimal(running, self.ancestors)

    def _running_at_end(self, terminator: Operation) -> list[int]:
        """
        What the block must wait for: all that it started. A function may hand tokens to its caller
        instead; what a loop or branch hands on is complete, as later blocks know nothing of it.
        """
        handed = 0
        for i, token in self.tokens.items():
            if isinstance(terminator, func.ReturnOp) and token in terminator.operands:
                handed |= self.ancestors[i] | 1 << i
        return [i for i in self.tokens if not handed >> i & 1]

    def _keep_wait(self, i: int, op: gpu.WaitOp, given: Conflicts) -> None:
        below = self._below(given)
        if op.async_token is None:
            self.complete |= below
        else:
            self.tokens[i] = op.async_token
            self.ancestors[i] = below | self.complete

    def _below(self, operations: Iterable[int]) -> int:
        mask = 0
        for p in operations:
            mask |= self.ancestors[p] | 1 << p
        return mask

    def _make_asynchronous(self, i: int, op: Operation, hazards: Conflicts) -> None:
        assert isinstance(op, gpu.AsyncOp)
        given = list(op.async_dependencies)
        needed = self._running(hazards)
        self._remark(op, hazards, needed)
        added = [self.tokens[p] for p in needed if self.tokens[p] not in given]
        dependencies = given + added
        if self.single_use:
            dependencies = [self._one_token(dependencies, op)]
        new = op.with_dependencies(dependencies)
        self.block.insert_op_before(new, op)
        token = new.async_token
        assert token is not None
        for old_result, new_result in zip(op.results, new.results, strict=False):
            new_result.name_hint = old_result.name_hint
            old_result.replace_all_uses_with(new_result)
        self.block.erase_op(op)
        self.tokens[i] = token
        self.ancestors[i] = self._below(needed) | self._below(
            [p for p in hazards if p in self.tokens and self.tokens[p] in given]
        )
        self.ancestors[i] |= self.complete

    def _host_wait(self, op: Operation, conflicting: Sequence[int], hazards: Conflicts) -> None:
        needed = self._running(conflicting)
        if not needed:
            return
        self._remark(op, hazards, needed)
        tokens = [self.tokens[p] for p in needed]
        if self.single_use and len(tokens) > 1:
            tokens = [self._join(tokens, op)]
        self._insert_wait(tokens, op, is_async=False)
        self.complete |= self._below(needed)

    def _remark(self, op: Operation, hazards: Conflicts, needed: Sequence[int]) -> None:
        """Say for each edge why it is there."""
        if not REMARKS.isEnabledFor(logging.INFO):
            return
        for p in needed:
            reasons = dict.fromkeys(str(h) for h in hazards.get(p, ()))
            why = "; ".join(reasons) or "it is still running at the end"
            earlier = at(self.operations[p], "").rstrip(": ")
            REMARKS.info(at(op, f"waits for {earlier}: {why}"))

    def _one_token(self, tokens: list[SSAValue], op: Operation) -> SSAValue:
        """A token that stands for all of `tokens` and that no other operation takes."""
        if len(tokens) == 1 and tokens[0] not in self.used:
            self.used.add(tokens[0])
            return tokens[0]
        joined = self._join(tokens, op)
        self.used.add(joined)
        return joined

    def _join(self, tokens: list[SSAValue], op: Operation) -> SSAValue:
        token = self._insert_wait(tokens, op, is_async=True).async_token
        assert token is not None
        return token

    def _insert_wait(self, tokens: list[SSAValue], op: Operation, is_async: bool) -> gpu.WaitOp:
        wait = gpu.WaitOp(tokens, is_async=is_async)
        wait.location = op.location
        self.block.insert_op_before(wait, op)
        return wait
