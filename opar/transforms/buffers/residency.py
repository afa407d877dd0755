"""
Where the newest contents of buffers are, and the copies that keep them where somebody looks.

A buffer that exists twice is *valid* on the host, on the GPU, or on both. Somebody who looks at one
side needs it valid there, else it is copied before; who writes makes the other side invalid. At
each place a buffer is valid where it is so on every way to the place (a forward data flow analysis,
as in Aho, Lam, Sethi, Ullman: Compilers, 9.2); where the ways have no side in common, all copy to
the GPU. What a loop needs on one side and does not write on the other is copied before it.

A memref that can be one of several buffers, or of one that other iterations allocated, is valid on
the GPU except within a single operation of the host: it is copied before and, if written, after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import Root, RootKind, view_source
from opar.analysis.block_graph import successors
from opar.analysis.control_flow import ControlFlow, Shape, Structure
from opar.dialects import gpu
from opar.errors import UnsupportedError, at
from opar.transforms.buffers.wanted import (
    ALLOCATIONS,
    BufferFlow,
    Wanted,
    handed_on,
    is_carrier,
    leaves_its_region,
    region_of,
    used_from_outside,
)

HOST, DEVICE = 1, 2

State = dict[Root, int]
"""The sides on which the buffers that can be named at a place are valid."""

Place = Block | str
"""A block, or what lies before or behind a structure."""


@dataclass(frozen=True)
class Copy:
    """Before operation `before`, copy `value` or the memory that its root names."""

    before: Operation
    what: Root | SSAValue
    to_device: bool
    cause: Operation


@dataclass
class Touched:
    """What an operation touches: roots, with whether it writes; memrefs of several roots too."""

    roots: dict[Root, bool]
    shared: dict[SSAValue, bool]


@dataclass
class Residency:
    """Finds the copies of a function; it changes nothing."""

    wanted: Wanted
    accesses: AccessAnalysis
    flow: ControlFlow = field(default_factory=BufferFlow)
    copies: list[Copy] = field(default_factory=list)
    host_used: set[Root] = field(default_factory=set)
    """Buffers that the host looks at."""
    _recording: bool = False
    _leaving: set[Root] = field(init=False)
    """Buffers that have other names too, in other blocks or iterations."""
    _touched: dict[Operation, dict[Root, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        aliases = self.accesses.aliases
        self._leaving = {r for r in self.wanted.roots if leaves_its_region(r, aliases)}

    def run(self) -> None:
        """Find `copies`, in the order in which they stand before an operation."""
        function = self.wanted.function
        both = HOST | DEVICE
        state = {r: both for r in self.wanted.roots if r.kind is not RootKind.ALLOCATION}
        structure = self.flow.structure(function)
        if structure is not None:
            self._structure(structure, state, True)
        elif len(function.body.blocks) == 1:
            self._block(function.body.block, state, True)
        else:
            message = "jumps other than those of cf are not supported"
            raise UnsupportedError(at(function, message))

    # Blocks and structures

    def _block(
        self, block: Block, state: State, record: bool, forced: Iterable[Root] = ()
    ) -> State:
        """What `state` becomes; at the end of the block `forced` buffers are on the GPU."""
        for op in block.ops:
            self._recording = record
            structure = self.flow.structure(op)
            if structure is not None:
                state = self._structure(structure, state, record)
            elif isinstance(op, gpu.LaunchFuncOp):
                self._launch(op, state)
            elif op is block.last_op and op.has_trait(IsTerminator):
                if isinstance(op, func.ReturnOp):
                    self._return(op, state)
                handed = handed_on(op, self.accesses.aliases) & state.keys()
                left = [r for r in handed if region_of(r) is block.parent]
                for root in (*forced, *left):
                    self._need(root, DEVICE, op, state)
                for root in self._no_more(block, op, left, state):
                    del state[root]
            else:
                self._step(op, state)
        return state

    def _no_more(
        self, block: Block, end: Operation, left: Iterable[Root], state: State
    ) -> list[Root]:
        """The buffers that what follows a block cannot name, or knows by other names too."""
        if end.successors or isinstance(end, func.ReturnOp):
            return [r for r in left if _block_of(r) is block]
        return [r for r in state if region_of(r) is block.parent]

    def _structure(self, structure: Structure, state: State, record: bool) -> State:
        """What `state` becomes behind a structure."""
        edges = self._edges(structure)
        entry: dict[Place, State] = {_BEFORE: state}
        forced: dict[Place, set[Root]] = {}
        if structure.is_loop:
            self._recording = record
            self._hoist(structure, state)
        changed = True
        while changed:
            changed = False
            for source, targets in edges.items():
                if source in entry:
                    left = self._leave(structure, source, entry, targets, forced, False)
                    for target in targets:
                        changed |= _arrive(entry, forced, target, left)
        if record:
            for source, targets in edges.items():
                if source in entry:
                    self._leave(structure, source, entry, targets, forced, True)
        return entry.get(_BEHIND, {})

    def _leave(
        self,
        structure: Structure,
        source: Place,
        entry: Mapping[Place, State],
        targets: Iterable[Place],
        forced: Mapping[Place, set[Root]],
        record: bool,
    ) -> State:
        """What is valid at the end of `source`."""
        needed = {r for target in targets for r in forced.get(target, ())}
        state = dict(entry[source])
        if isinstance(source, Block):
            return self._block(source, state, record, needed)
        self._recording = record
        for root in needed:
            self._need(root, DEVICE, structure.op, state)
        return state

    def _edges(self, structure: Structure) -> dict[Place, list[Place]]:
        """From where control gets to which places of a structure."""
        blocks = structure.blocks
        around: list[Place] = [] if structure.runs else [_BEHIND]
        match structure.shape:
            case Shape.BLOCKS:
                edges: dict[Place, list[Place]] = {_BEFORE: [blocks[0]]}
                for block in blocks:
                    edges[block] = list(dict.fromkeys(successors(block))) or [_BEHIND]
                return edges
            case Shape.WHILE:
                first, second = blocks
                return {_BEFORE: [first], first: [second, _BEHIND], second: [first]}
            case Shape.LOOP:
                return {_BEFORE: [*blocks, *around], blocks[0]: [blocks[0], _BEHIND]}
            case _:
                return {_BEFORE: [*blocks, *around], **{b: [_BEHIND] for b in blocks}}

    def _hoist(self, loop: Structure, state: State) -> None:
        """Copy before a loop what all its iterations need and none makes invalid."""
        needs: dict[int, set[Root]] = {HOST: set(), DEVICE: set()}
        writes: dict[int, set[Root]] = {HOST: set(), DEVICE: set()}
        for op in (op for block in loop.blocks for op in self.flow.steps(block)):
            side = DEVICE if isinstance(op, gpu.LaunchFuncOp) else HOST
            if side == HOST and is_carrier(op):
                continue
            found = self._touches(op, state)
            for root, written in found.roots.items():
                needs[side].add(root)
                writes[side] |= {root} if written else set()
            for value in found.shared:
                needs[DEVICE] |= self.accesses.aliases.roots(value)
        for side, other in ((DEVICE, HOST), (HOST, DEVICE)):
            for root in self.wanted.roots:
                if root in needs[side] and root not in writes[other]:
                    self._need(root, side, loop.op, state)

    # Operations

    def _launch(self, op: gpu.LaunchFuncOp, state: State) -> None:
        touched = self._roots(op)
        for root in touched:
            self._need(root, DEVICE, op, state)
        for root, written in touched.items():
            if written:
                self._written(root, DEVICE, state)

    def _step(self, op: Operation, state: State) -> None:
        """An operation of the host, with all that its regions hold."""
        for result in op.results:
            for root in self.accesses.aliases.roots(result) & self.wanted.roots.keys():
                if root.value is result and root.kind is RootKind.ALLOCATION:
                    state[root] = HOST | DEVICE if isinstance(op, ALLOCATIONS) else HOST
        if isinstance(op, ALLOCATIONS) or is_carrier(op):
            return
        inside = [child for child in op.walk() if isinstance(child, gpu.LaunchFuncOp)]
        launched = {root: w for launch in inside for root, w in self._roots(launch).items()}
        touched = self._touches(op, state)
        both = [root for root in (self._roots(op) if inside else ()) if root in launched]
        if both or (inside and touched.shared):
            what = f"access {both[0]}" if both else "access one of several buffers"
            message = f"the host and a launch both {what} within this operation"
            raise UnsupportedError(at(op, f"{message}; move one of them out"))
        for root in launched:
            self._need(root, DEVICE, op, state)
        self._by_host(op, touched, state)
        for root, written in launched.items():
            if written:
                self._written(root, DEVICE, state)

    def _return(self, op: func.ReturnOp, state: State) -> None:
        """Results, and arguments and globals that a launch wrote, are valid on the host."""
        for root in state:
            if root.kind is not RootKind.ALLOCATION:
                self._need(root, HOST, op, state)
        self._by_host(op, self._split(op, {}, state), state)

    def _by_host(self, op: Operation, touched: Touched, state: State) -> None:
        following = op.next_op
        for value, written in touched.shared.items():
            roots = self.accesses.aliases.roots(value)
            self.host_used |= roots
            for root in roots:
                self._need(root, DEVICE, op, state)
            agree = all(r in state and state[r] & HOST for r in roots) and not roots & self._leaving
            if not agree:
                self._copy(op, value, False, op)
            if written and following is not None:
                self._copy(following, value, True, op)
        for root in touched.roots:
            self.host_used.add(root)
            self._need(root, HOST, op, state)
        for root, written in touched.roots.items():
            if written:
                self._written(root, HOST, state)

    # What is touched

    def _touches(self, op: Operation, state: State) -> Touched:
        """What an operation touches, without the launches in it."""
        if isinstance(op, gpu.LaunchFuncOp):
            return Touched(self._roots(op), {})
        return self._split(op, self._roots(op), state)

    def _split(self, op: Operation, roots: dict[Root, bool], state: State) -> Touched:
        """Tells memrefs that name a buffer of their own from those that are one of several."""
        aliases = self.accesses.aliases
        shared: dict[SSAValue, bool] = {}
        direct: dict[Root, bool] = {}
        seen: set[Root] = set()
        for value in used_from_outside(op):
            found = aliases.roots(value) & self.wanted.roots.keys()
            seen |= found
            if isinstance(op, func.ReturnOp):
                roots = roots | {r: False for r in found}
            if len(aliases.roots(value)) > 1 or any(r not in state for r in found):
                if found & roots.keys():
                    shared[view_source(value)] = any(roots.get(r, False) for r in found)
            else:
                direct |= {r: roots[r] for r in found if r in roots}
        direct |= {r: w for r, w in roots.items() if r not in seen and r in state}
        return Touched(direct, shared)

    def _roots(self, op: Operation) -> dict[Root, bool]:
        """Buffers that `op` may touch, and whether it may write them."""
        if op not in self._touched:
            found: dict[Root, bool] = {}
            if isinstance(op, gpu.LaunchFuncOp) or not op.regions:
                accesses = list(self.accesses.accesses(op))
            else:
                accesses = [
                    access
                    for child in op.walk()
                    if not child.regions and not isinstance(child, gpu.LaunchFuncOp)
                    for access in self.accesses.accesses(child)
                ]
            may_alias = self.accesses.aliases.roots_may_alias
            for access in accesses:
                for root in self.wanted.roots:
                    if may_alias(access.root, root):
                        found[root] = found.get(root, False) or access.writes
            self._touched[op] = found
        return self._touched[op]

    # What is valid

    def _overlapping(self, root: Root, state: State) -> list[Root]:
        may_alias = self.accesses.aliases.roots_may_alias
        return [r for r in self.wanted.roots if r in state and may_alias(root, r)]

    def _written(self, root: Root, side: int, state: State) -> None:
        for other in self._overlapping(root, state):
            state[other] = side

    def _need(self, root: Root, side: int, op: Operation, state: State) -> None:
        """Make a buffer, and what may be the same memory, valid on a side before `op`."""
        for other in self._overlapping(root, state):
            if not state[other] & side:
                self._copy(op, other, side == DEVICE, op)
                state[other] |= side

    def _copy(
        self, before: Operation, what: Root | SSAValue, to_device: bool, cause: Operation
    ) -> None:
        if self._recording:
            self.copies.append(Copy(before, what, to_device, cause))


_BEFORE, _BEHIND = "before", "behind"


def _arrive(
    entry: dict[Place, State], forced: dict[Place, set[Root]], target: Place, left: State
) -> bool:
    """Note that `left` holds on one more way to `target`; whether that changed what holds there."""
    before = entry.get(target)
    if before is None:
        entry[target] = dict(left)
        return True
    now: State = {}
    for root, sides in before.items():
        if root in left:
            now[root] = sides & left[root]
            if not now[root]:
                forced.setdefault(target, set()).add(root)
                now[root] = DEVICE
    entry[target] = now
    return now != before


def _block_of(root: Root) -> Block | None:
    value = root.value
    return value.op.parent if isinstance(value, OpResult) else None
