"""The pass `gpu-assign-streams`: which stream runs each operation."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, OpResult
from xdsl.passes import ModulePass

from opar.dialects import gpu

STREAM_ATTRIBUTE = "opar.stream"
"""On an asynchronous operation: the number of the stream that runs it, from 0."""


@dataclass(frozen=True)
class GpuAssignStreamsPass(ModulePass):
    """
    Put a stream number (`opar.stream`) on each asynchronous operation.

    Before::

        %0 = gpu.launch_func async @k::@product ...
        %1 = gpu.launch_func async @k::@product ...
        %2 = gpu.launch_func async [%0, %1] @k::@sum ...

    After::

        %0 = gpu.launch_func async @k::@product ... {opar.stream = 0 : i64}
        %1 = gpu.launch_func async @k::@product ... {opar.stream = 1 : i64}
        %2 = gpu.launch_func async [%0, %1] @k::@sum ... {opar.stream = 0 : i64}

    An operation continues a stream whose last operation it waits for anyway, directly or through
    others (the lowest such number, a direct dependency first), else it opens a new stream. So the
    order within a stream adds no constraint that the tokens do not have, and an event is needed
    only for a dependency on another stream. An allocation takes the stream of its first user, a
    deallocation that of its last dependency: neither opens a stream or keeps others from one.
    """

    name = "gpu-assign-streams"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                assign_streams(function)


def assign_streams(function: func.FuncOp) -> None:
    """Put a stream number on each asynchronous operation of `function`."""
    for block in _blocks_with_tokens(function):
        _assign(block)


def _blocks_with_tokens(function: func.FuncOp) -> dict[Block, None]:
    """The blocks of `function` that hold an asynchronous operation."""
    return {
        block: None
        for op in function.walk()
        if isinstance(op, gpu.AsyncOp)
        and op.async_token is not None
        and (block := op.parent) is not None
    }


def _assign(block: Block) -> None:
    operations = [
        op for op in block.ops if isinstance(op, gpu.AsyncOp) and op.async_token is not None
    ]
    number: dict[Operation, int] = {op: i for i, op in enumerate(operations)}
    ancestors: list[int] = []
    stream_of: dict[int, int] = {}
    tails: list[int] = []
    for i, op in enumerate(operations):
        direct = [
            number[token.op]
            for token in op.async_dependencies
            if isinstance(token, OpResult) and token.op in number
        ]
        below = 0
        for p in direct:
            below |= ancestors[p] | 1 << p
        ancestors.append(below)
        if isinstance(op, gpu.AllocOp) and not direct:
            continue
        if isinstance(op, gpu.DeallocOp):
            stream_of[i] = max((stream_of.get(p, 0) for p in direct[-1:]), default=0)
            continue
        stream = _continued_stream(direct, below, stream_of, tails)
        tails[stream : stream + 1] = [i]
        stream_of[i] = stream
        for p in direct:
            stream_of.setdefault(p, stream)
    for i, op in enumerate(operations):
        op.attributes[STREAM_ATTRIBUTE] = IntegerAttr(stream_of.get(i, 0), i64)


def _continued_stream(
    direct: list[int], below: int, stream_of: dict[int, int], tails: list[int]
) -> int:
    """The stream that an operation joins: `len(tails)` for a new one."""
    for p in direct:
        stream = stream_of.get(p)
        if stream is not None and tails[stream] == p:
            return stream
    for stream, tail in enumerate(tails):
        if below >> tail & 1:
            return stream
    return len(tails)
