"""Makes a program that fails small: statements go while it still fails."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.statements import Program, Statement


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """
    A smallest part of `program` for which `fails` holds, as removing any one statement more (with
    those that use what it defines) shows: delta debugging (Zeller and Hildebrandt, 2002).
    """
    size = max(1, len(list(program.statements())) // 2)
    while True:
        smaller = False
        start = 0
        while start < len(all := list(program.statements())):
            candidate = _without(program, all[start : start + size])
            if fails(candidate):
                program, smaller = candidate, True
            else:
                start += size
        if size == 1 and not smaller:
            return program
        size = max(1, size // 2)


def _without(program: Program, dropped: list[Statement]) -> Program:
    """The program without some statements and all that need them."""
    gone = {id(s) for s in dropped}
    names = {r for s in dropped for r in s.results}
    work = True
    while work:
        work = False
        for statement in program.statements():
            if id(statement) not in gone and names.intersection(statement.operands):
                gone.add(id(statement))
                names.update(statement.results)
                work = True
    return program.without(lambda s: id(s) in gone)
