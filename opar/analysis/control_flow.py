"""
Structured control flow of the host as the dependence analysis sees it: which blocks of an operation
run, how often, and which operations lie in them.

| shape | operations | runs |
|---|---|---|
| BRANCHES | `scf.if`, `affine.if`, `scf.index_switch` | at most one of the blocks |
| ONCE | `scf.execute_region` of one block | the block |
| EXECUTE | `async.execute` | the block, at some time before it is awaited |
| LOOP | `scf.for`, `affine.for` | the block, any number of times |
| WHILE | `scf.while` | both blocks in turn, the first once more than the second |
| BLOCKS | a function of several blocks | what the jumps at their ends say |

Loops that hold no asynchronous operation are no structure: the host runs them as one operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from opar.analysis.block_graph import BlockGraph
from opar.analysis.calls import call_tokens
from opar.dialects import affine, async_, gpu, scf


class Shape(Enum):
    """See the module."""

    BRANCHES = "branches"
    ONCE = "once"
    EXECUTE = "execute"
    LOOP = "loop"
    WHILE = "while"
    BLOCKS = "blocks"


@dataclass(frozen=True)
class Structure:
    """`runs`: one of `blocks` runs for certain."""

    op: Operation
    shape: Shape
    blocks: tuple[Block, ...]
    runs: bool

    @property
    def is_loop(self) -> bool:
        """Whether a block can run more than once."""
        return self.shape in (Shape.LOOP, Shape.WHILE)


@dataclass
class ControlFlow:
    """
    The structures of a function, found once each; to be asked before the function changes. Without
    `crossed_by_tokens` there are none: each operation with regions is one step of the host.
    """

    crossed_by_tokens: bool = True
    _structures: dict[Operation, Structure | None] = field(default_factory=dict)
    _graphs: dict[Operation, BlockGraph] = field(default_factory=dict)

    def structure(self, op: Operation) -> Structure | None:
        """How `op` runs its blocks; None for an operation that is one step of the host."""
        if not op.regions:
            return None
        if op not in self._structures:
            self._structures[op] = self._find(op) if self.crossed_by_tokens else None
        return self._structures[op]

    def _find(self, op: Operation) -> Structure | None:
        if not isinstance(op, func.FuncOp):
            return _structure(op)
        if len(op.body.blocks) < 2 or not self.graph(op).is_understood:
            return None
        return Structure(op, Shape.BLOCKS, self.graph(op).blocks, True)

    def graph(self, function: Operation) -> BlockGraph:
        """The blocks of a function that has some."""
        if function not in self._graphs:
            self._graphs[function] = BlockGraph(function.regions[0])
        return self._graphs[function]

    def enclosing(self, op: Operation) -> Iterator[Structure]:
        """The structures around `op`, innermost first, up to an operation that is none."""
        parent = op.parent_op()
        while parent is not None and (found := self.structure(parent)) is not None:
            yield found
            parent = parent.parent_op()

    def steps(self, block: Block) -> Iterator[Operation]:
        """The operations in `block`, and in structures in it, that are no structures themselves."""
        for op in block.ops:
            inner = self.structure(op)
            if inner is None:
                yield op
            else:
                for below in inner.blocks:
                    yield from self.steps(below)


def _structure(op: Operation) -> Structure | None:
    match op:
        case scf.IfOp() | affine.IfOp():
            blocks = _single_blocks(op)
            return Structure(op, Shape.BRANCHES, blocks, len(blocks) == 2)
        case scf.IndexSwitchOp():
            return Structure(op, Shape.BRANCHES, _single_blocks(op), True)
        case scf.ExecuteRegionOp() if len(op.region.blocks) == 1:
            return Structure(op, Shape.ONCE, _single_blocks(op), True)
        case async_.ExecuteOp():
            return Structure(op, Shape.EXECUTE, _single_blocks(op), True)
        case scf.ForOp() | affine.ForOp() if _holds_asynchronous(op):
            return Structure(op, Shape.LOOP, _single_blocks(op), _runs(op))
        case scf.WhileOp() if _holds_asynchronous(op):
            return Structure(op, Shape.WHILE, _single_blocks(op), True)
        case _:
            return None


def _single_blocks(op: Operation) -> tuple[Block, ...]:
    return tuple(region.block for region in op.regions if region.blocks)


def _holds_asynchronous(op: Operation) -> bool:
    """Whether an operation that can have a token lies within `op`, kernels left out."""
    if isinstance(op, gpu.LaunchOp | gpu.ModuleOp):
        return False
    return any(
        isinstance(child, gpu.AsyncOp | async_.ExecuteOp)
        or bool(call_tokens(child))
        or _holds_asynchronous(child)
        for region in op.regions
        for block in region.blocks
        for child in block.ops
    )


def _runs(op: scf.ForOp | affine.ForOp) -> bool:
    """Whether a loop is known to run at least once."""
    if isinstance(op, affine.ForOp):
        bounds = op.constant_range
        return bounds is not None and bounds[0] < bounds[1]
    lower, upper = _constant(op.lb), _constant(op.ub)
    if op.unsigned_cmp is not None:
        return lower == 0 and upper is not None and upper > 0
    return lower is not None and upper is not None and lower < upper


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None
