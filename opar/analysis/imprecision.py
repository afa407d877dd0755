"""Why the elements that an access touches are not known: what remarks say to their reader."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from opar.analysis.aliasing import Root
from opar.analysis.sources import VIEWS
from opar.analysis.symbolic import Expressions

_NAME = re.compile(r"\b[a-z]\w*")


@dataclass
class Imprecision:
    """For operations, why they count as touching a whole buffer, each reason once."""

    reasons: dict[tuple[Operation, str], None] = field(default_factory=dict)

    def note(self, op: Operation, reason: str) -> None:
        """Remember why `op` counts as touching all of a buffer."""
        self.reasons[op, reason] = None

    def index(self, op: Operation, indices: Iterable[str], expressions: Expressions) -> None:
        """Note each value that makes an index of `op` unknown."""
        for value in _causes(indices, expressions):
            self.note(op, f"any element may be meant: an index depends on {name_of(value)}")

    def view(self, op: Operation, value: SSAValue) -> None:
        """Note that `op` touches a view whose elements are not known."""
        through: list[str] = []
        while isinstance(value, OpResult) and value.op.name in VIEWS:
            through.append(value.op.name)
            value = value.op.operands[0]
        how = f" through {', '.join(dict.fromkeys(through))}" if through else ""
        self.note(op, f"any element may be meant: those of {name_of(value)}{how} are not known")

    def several(self, op: Operation, value: SSAValue, roots: Iterable[Root]) -> None:
        """Note that the memory of `value` comes from one of several places."""
        names = ", ".join(sorted(map(str, roots)))
        self.note(op, f"any element may be meant: {name_of(value)} may be any of {names}")


def name_of(value: SSAValue) -> str:
    """A value in words: its name, where it has one, and what makes it."""
    name = f"%{value.name_hint}" if value.name_hint else ""
    if isinstance(value, BlockArgument):
        return name or f"argument {value.index} of a block"
    assert isinstance(value, OpResult)
    return f"{name} ({value.op.name})" if name else f"a result of {value.op.name}"


def _causes(texts: Iterable[str], expressions: Expressions) -> Iterable[SSAValue]:
    """The values that are not understood among those that expressions are made of."""
    found: dict[SSAValue, None] = {}
    seen: set[str] = set()
    work = list(texts)
    while work:
        for name in _NAME.findall(work.pop()):
            if name in seen:
                continue
            seen.add(name)
            if name in expressions.causes:
                found[expressions.causes[name]] = None
            work += [expressions.definitions[name]] if name in expressions.definitions else []
    return found
