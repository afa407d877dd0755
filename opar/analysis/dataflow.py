"""
Conflicts between the operations of a function, found in program order through branches and loops.

For each root the accesses that later ones can still conflict with are kept; a write that covers
them takes their place, as every later conflict with them is then implied by one with it. So the
work grows with the number of live accesses of a root, not with the square of the operations.

- The branches of an operation do not see each other; what was covered in one may come back after.
- The body of a loop is walked once. It sees, beside what came before the loop, what its own
  operations did in *earlier iterations*, as nodes of their own; code behind the loop sees what
  they did in *all iterations*. Regions that depend on the loop variable are the union over those
  iterations (`opar.analysis.iterations`), so tiles that no two iterations share do not conflict.
- The blocks of a function see what ran before they were entered as nodes of their own, too. Blocks
  that can run again see everything of each other, with regions for whatever values the numbers have
  that are computed there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from xdsl.ir import Block, Operation, OpResult

from opar.analysis.access import Access
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import UNKNOWN, Root, RootKind
from opar.analysis.block_graph import BlockGraph
from opar.analysis.calls import call_tokens
from opar.analysis.control_flow import ControlFlow, Shape, Structure
from opar.analysis.dependence import Hazard, HazardKind, hazard, replaces
from opar.analysis.iterations import (
    all_iterations,
    earlier_iterations,
    is_new_each_time,
    without,
)
from opar.analysis.live import Entry, LiveAccesses, State
from opar.analysis.values import is_token
from opar.dialects import gpu


@dataclass(frozen=True)
class Node:
    """
    Executions of `op` that another operation can wait for: the last one before it (all of them
    where `op` is in a loop that the other is not in) or, with `loop`, those in all earlier
    iterations of a loop that both are in. With a function of several blocks as `loop`, those before
    the block that the other is in was entered.
    """

    op: Operation
    loop: Operation | None = None


Conflicts = dict[int, list[Hazard]]


@dataclass
class Dependences:
    """
    The conflicts in a block and the structures in it. Nodes are numbered in program order; those of
    a block are a `span` of numbers, and so are those for earlier iterations of a loop.

    `conflicts[op]` maps each node that `op` conflicts with to the hazards between them. Conflicts
    that a chain of others implies may be missing.
    """

    nodes: list[Node] = field(default_factory=list)
    number: dict[Operation, int] = field(default_factory=dict)
    earlier: dict[Operation, dict[int, int]] = field(default_factory=dict)
    """For each loop or function: the node of an operation in it -> that of earlier executions."""
    spans: dict[Block | Operation, range] = field(default_factory=dict)
    conflicts: dict[Operation, Conflicts] = field(default_factory=dict)


def analyse(scope: Block | Structure, accesses: AccessAnalysis, flow: ControlFlow) -> Dependences:
    """All hazards between the operations in a block or in BLOCKS, structures in it included."""
    walk = _Walk(accesses, flow)
    if isinstance(scope, Structure):
        walk.blocks(scope)
    else:
        walk.block(scope)
    return walk.found


@dataclass
class _Scope:
    """What changed since a block was entered: the nodes are numbered from `first`."""

    first: int
    added: list[Entry] = field(default_factory=list)
    covered: list[Entry] = field(default_factory=list)


@dataclass
class _Walk:
    accesses: AccessAnalysis
    flow: ControlFlow
    found: Dependences = field(default_factory=Dependences)
    live: dict[Root, LiveAccesses] = field(default_factory=dict)
    scopes: list[_Scope] = field(default_factory=list)

    def block(self, block: Block) -> None:
        start = len(self.found.nodes)
        for op in block.ops:
            inner = self.flow.structure(op)
            if inner is None:
                self._step(op)
            elif inner.is_loop:
                self._loop(inner)
            else:
                self._branches(inner)
        self.found.spans[block] = range(start, len(self.found.nodes))

    def _node(self, op: Operation, loop: Operation | None = None) -> int:
        self.found.nodes.append(Node(op, loop))
        return len(self.found.nodes) - 1

    def _step(self, op: Operation) -> None:
        number = self.found.number[op] = self._node(op)
        conflicts: Conflicts = {}
        touched = self.accesses.accesses(op)
        for access in touched:
            for root in self._overlapping(access.root):
                live = self.live[root]  # where an access of another root is says nothing
                for entry in live.near(access.region) if root == access.root else live:
                    found = hazard(entry.access, access)
                    if found is not None:
                        conflicts.setdefault(entry.number, []).append(found)
        for access in touched:
            self._record(number, access)
        for token in op.operands:
            if is_token(token) and isinstance(token, OpResult):
                before = self.found.number.get(token.op)
                if before is not None:
                    conflicts.setdefault(before, []).append(Hazard(HazardKind.TOKEN))
        self.found.conflicts[op] = conflicts

    def _overlapping(self, root: Root) -> list[Root]:
        """The roots with live accesses whose memory can overlap that of `root`."""
        if root.kind is RootKind.ALLOCATION:
            near = (root, UNKNOWN) if self.accesses.aliases.is_exposed(root) else (root,)
            return [r for r in near if r in self.live]
        return [r for r in self.live if self.accesses.aliases.roots_may_alias(root, r)]

    def _record(self, number: int, access: Access) -> None:
        live = self.live.setdefault(access.root, LiveAccesses())
        if access.writes:
            for entry in live.near(access.region):
                # Accesses of one operation are unordered among themselves.
                if entry.number != number and replaces(access, entry.access):
                    self._cover(entry)
        self._add(Entry(number, access))

    def _add(self, entry: Entry) -> None:
        root = entry.access.root
        self.live.setdefault(root, LiveAccesses()).add(entry)
        if self.scopes:
            self.scopes[-1].added.append(entry)

    def _cover(self, entry: Entry) -> None:
        if self.scopes:
            entry.state = State.COVERED
            self.scopes[-1].covered.append(entry)
        else:
            entry.state = State.GONE

    # Branches and loops

    @contextmanager
    def _scope(self) -> Iterator[_Scope]:
        """A part of the program that may not run: what it covers of before comes back after it."""
        scope = _Scope(len(self.found.nodes))
        self.scopes.append(scope)
        yield scope
        self.scopes.pop()
        scope.added = [e for e in scope.added if e.state is State.LIVE]
        for entry in scope.covered:
            entry.state = State.LIVE if entry.number < scope.first else State.GONE
        scope.covered = [e for e in scope.covered if e.number < scope.first]

    def _branches(self, inner: Structure) -> None:
        scopes: list[_Scope] = []
        for block in inner.blocks:
            with self._scope() as scope:
                self.block(block)
            for entry in scope.added:
                entry.state = State.COVERED
            scopes.append(scope)
        for scope in scopes:
            for entry in scope.added:
                entry.state = State.LIVE
            if self.scopes:
                self.scopes[-1].added += scope.added
        if inner.runs and scopes:
            self._cover_again(scopes)

    def _cover_again(self, scopes: Sequence[_Scope]) -> None:
        """What every one of `scopes`, of which one runs, has covered is covered behind them."""
        for entry in scopes[0].covered:
            if all(entry in other.covered for other in scopes[1:]):
                self._cover(entry)

    def _loop(self, inner: Structure) -> None:
        loop = inner.op
        before = [op for block in inner.blocks for op in self.flow.steps(block)]
        start = len(self.found.nodes)
        earlier = {op: self._node(op, loop) for op in before}
        self.found.spans[loop] = range(start, len(self.found.nodes))
        entries = [e for op in before for e in self._earlier_entries(op, earlier[op], loop)]
        for entry in entries:
            self.live.setdefault(entry.access.root, LiveAccesses()).add(entry)
        with self._scope() as scope:
            for block in inner.blocks:
                # What the second block of `scf.while` covers comes back: the last round lacks it.
                with self._scope() as part:
                    self.block(block)
                scope.added += part.added
                scope.covered += part.covered if inner.shape is Shape.LOOP else ()
        self.found.earlier[loop] = {self.found.number[op]: n for op, n in earlier.items()}
        for entry in entries:
            entry.state = State.GONE
        for entry in scope.added:
            self._leave_loop(entry, loop)
        if inner.shape is Shape.LOOP and inner.runs:
            self._cover_again([scope])

    def _earlier_entries(self, op: Operation, number: int, loop: Operation) -> Iterator[Entry]:
        for access in self.accesses.accesses(op):
            if not is_new_each_time(access.root, loop, self.accesses.aliases):
                region = earlier_iterations(access.region, loop, self.accesses.host)
                if region is not None:
                    yield Entry(number, replace(access, region=region))

    def _leave_loop(self, entry: Entry, loop: Operation) -> None:
        entry.state = State.GONE
        if is_new_each_time(entry.access.root, loop, self.accesses.aliases):
            return
        region = all_iterations(entry.access.region, loop, self.accesses.host)
        if region is not None:
            self._add(Entry(entry.number, replace(entry.access, region=region)))

    # Blocks of a function

    def blocks(self, scope: Structure) -> None:
        """Walk the blocks of a function, each with what may have run before it."""
        function = scope.op
        ops = [
            op
            for block in scope.blocks
            for op in self.flow.steps(block)
            if isinstance(op, gpu.AsyncOp) or call_tokens(op) or self.accesses.accesses(op)
        ]
        start = len(self.found.nodes)
        earlier = {op: self._node(op, function) for op in ops}
        self.found.spans[function] = range(start, len(self.found.nodes))
        graph = self.flow.graph(function)
        leaving: dict[Block, list[Entry]] = {}
        for block in scope.blocks:
            self.live = {}
            for entry in self._entering(block, graph, earlier, leaving):
                self.live.setdefault(entry.access.root, LiveAccesses()).add(entry)
            self.block(block)
            leaving[block] = [
                self._left(entry, block, graph, earlier)
                for of_root in self.live.values()
                for entry in of_root
            ]
        self.found.earlier[function] = {self.found.number[op]: n for op, n in earlier.items()}

    def _entering(
        self,
        block: Block,
        graph: BlockGraph,
        earlier: Mapping[Operation, int],
        leaving: Mapping[Block, Sequence[Entry]],
    ) -> Iterator[Entry]:
        """What may have run before `block` is entered."""
        seen: set[tuple[int, Access]] = set()
        again = graph.cycle[block]
        for op, number in earlier.items() if again else ():
            if graph.block_of(op) in again:
                for access in self.accesses.accesses(op):
                    yield Entry(number, self._any_time(access, graph))
        for inside in again or (block,):
            for before in graph.predecessors[inside]:
                for entry in leaving[before] if before not in again else ():
                    if (key := (entry.number, entry.access)) not in seen:
                        seen.add(key)
                        yield Entry(*key)

    def _left(
        self, entry: Entry, block: Block, graph: BlockGraph, earlier: Mapping[Operation, int]
    ) -> Entry:
        """`entry`, live at the end of `block`, as the next block sees it."""
        node = self.found.nodes[entry.number]
        if node.loop is not None:
            return entry
        access = self._any_time(entry.access, graph) if graph.repeats(block) else entry.access
        return Entry(earlier[node.op], access)

    def _any_time(self, access: Access, graph: BlockGraph) -> Access:
        """What `access` can be at any of its executions."""
        region = without(
            access.region, self.accesses.host, lambda v: v is None or graph.recomputes(v)
        )
        return replace(access, region=region)
