"""What the steps of a schedule touch, in one iteration of the loops around them or in many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from opar.analysis.access import CONTENTS, Access
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import Root, RootKind
from opar.analysis.block_graph import BlockGraph
from opar.analysis.iterations import earlier_iterations, is_new_each_time, within_loops, without
from opar.analysis.values import is_within
from opar.backend.schedule import Alloc, Branch, Copy, Fill, Jump, Launch, Load, Schedule, Store
from opar.backend.step_loops import StepLoop
from opar.dialects import affine, scf

_TOUCHING = (Launch, Copy, Fill, Load, Store)

_COUNTED = (affine.ForOp, scf.ForOp)
_LOOPS = (*_COUNTED, scf.WhileOp)


class StepAccesses:
    """
    Accesses of steps. `origins[i]` is the operation of the IR that step i comes from.

    Regions name numbers of the IR. Seen from another iteration of a loop, the numbers computed in
    the loop may be any; a loop's own counter is smaller in earlier iterations.
    """

    def __init__(self, schedule: Schedule, origins: Sequence[Operation], accesses: AccessAnalysis):
        self.operations, self.origins, self.accesses = schedule.operations, origins, accesses
        self.present: list[list[Access]] = [
            list(self._present(op)) if isinstance(step, _TOUCHING) else []
            for step, op in zip(schedule.operations, origins, strict=True)
        ]
        """What each step touches in the present iteration."""
        self._allocs = {
            op: number
            for number, op in enumerate(origins)
            if isinstance(schedule.operations[number], Alloc)
        }
        self._structures: dict[StepLoop, list[Operation]] = {}
        self._graphs: dict[Operation, BlockGraph] = {}
        self._many: dict[tuple[int, StepLoop, bool], list[Access]] = {}

    def _present(self, op: Operation) -> Iterator[Access]:
        for access in self.accesses.accesses(op):
            if access.kind in CONTENTS:
                region = within_loops(access.region, self.accesses.host)
                if region is not None:
                    yield replace(access, region=region)

    def all_iterations(self, step: int, loop: StepLoop) -> list[Access]:
        """What a step touches in all iterations of a loop around it."""
        return self._in_many(step, loop, False)

    def earlier_iterations(self, step: int, loop: StepLoop) -> list[Access]:
        """What a step touched in the iterations of a loop around it that came before this one."""
        return self._in_many(step, loop, True)

    def _in_many(self, step: int, loop: StepLoop, earlier: bool) -> list[Access]:
        key = step, loop, earlier
        if key not in self._many:
            self._many[key] = list(self._find(step, loop, earlier))
        return self._many[key]

    def _find(self, step: int, loop: StepLoop, earlier: bool) -> Iterator[Access]:
        structures = self._structures_of(loop)
        host = self.accesses.host
        varies = self._varies(structures)
        for access in self.present[step]:
            if self._is_new(access.root, loop, structures):
                continue
            if earlier and len(structures) == 1 and isinstance(structures[0], _COUNTED):
                region = earlier_iterations(access.region, structures[0], host)
            else:
                region = without(access.region, host, varies)
            if region is not None:
                yield replace(access, region=region)

    # Loops of the IR

    def _structures_of(self, loop: StepLoop) -> list[Operation]:
        """The operations that a loop of steps comes from: several where they begin together."""
        if loop not in self._structures:
            found = dict.fromkeys(self._structure(end, loop) for end in sorted(loop.ends))
            self._structures[loop] = list(found)
        return self._structures[loop]

    def _structure(self, end: int, loop: StepLoop) -> Operation:
        """The loop of the IR, or the operation with several blocks, that a way back belongs to."""
        step, op = self.operations[end], self.origins[end]
        parent = op.parent_op()
        if isinstance(step, Branch) and isinstance(op, _LOOPS) and end + 1 in loop.heads:
            return op  # it runs at least once: an iteration begins behind the branch
        if isinstance(step, Jump) and isinstance(parent, _LOOPS):
            return parent
        while parent is not None and not any(
            op.parent in region.blocks and len(region.blocks) > 1 for region in parent.regions
        ):
            op, parent = parent, parent.parent_op()
        assert parent is not None
        return parent

    def _varies(self, structures: Sequence[Operation]) -> Callable[[SSAValue | None], bool]:
        """Whether a number may differ from one iteration to another."""

        def varies(value: SSAValue | None) -> bool:
            return value is None or any(
                is_within(value, op)
                and (isinstance(op, _LOOPS) or self._graph(op).recomputes(value))
                for op in structures
            )

        return varies

    def _graph(self, op: Operation) -> BlockGraph:
        if op not in self._graphs:
            self._graphs[op] = BlockGraph(op.regions[0])
        return self._graphs[op]

    def _is_new(self, root: Root, loop: StepLoop, structures: Sequence[Operation]) -> bool:
        """Whether each iteration allocates memory of its own, which no other sees."""
        if root.kind is not RootKind.ALLOCATION or not isinstance(root.key, SSAValue):
            return False
        owner = root.key.owner
        return (
            isinstance(owner, Operation)
            and self._allocs.get(owner) in loop.steps
            and all(is_new_each_time(root, op, self.accesses.aliases) for op in structures)
        )
