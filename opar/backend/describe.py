"""A schedule in text, for people."""

from __future__ import annotations

from collections.abc import Iterator

from opar.backend import schedule as s


def describe(schedule: s.Schedule) -> str:
    """The schedule as a table, one operation a line."""
    streams = f"{schedule.streams} stream{'s' if schedule.streams != 1 else ''}"
    if schedule.has_jumps and schedule.streams:
        streams = f"up to {streams}, chosen by the call"
    lines = [f"schedule @{schedule.entry}: {len(schedule.operations)} operations, {streams}"]
    recorded = schedule.recorded
    width = 8 if schedule.has_jumps else 6
    for i, op in enumerate(schedule.operations):
        stream = "host"
        if op.stream is not None:
            stream = "stream" if schedule.has_jumps else f"stream {op.stream}"
        line = f"  {i:>3}  {stream:<9}  {type(op).__name__.lower():<{width}} {detail(schedule, op)}"
        after = [str(d) for d in op.dependencies] + [f"t{r}" for r in op.registers]
        if after:
            line += f"  after {', '.join(after)}"
        if i in recorded:
            line += "  [event]"
        lines.append(f"{line}  {op.location}".rstrip())
    return "\n".join(lines)


def detail(schedule: s.Schedule, op: s.Operation) -> str:
    """What `op` works on: buffers with sizes, kernel with grid and block."""

    def show(place: int) -> str:
        return _show(schedule, place)

    def name(view: s.View) -> str:
        return schedule.buffers[view.buffer].name

    match op:
        case s.Alloc() | s.Free():
            buffer = schedule.buffers[op.buffer]
            sizes = "x".join(map(show, buffer.size))
            return f"{buffer.name}: {sizes + 'x' if sizes else ''}{buffer.dtype}"
        case s.Copy():
            return f"{name(op.source)} -> {name(op.target)}"
        case s.Fill():
            return f"{name(op.target)} = {show(op.value)}"
        case s.Launch():
            grid, block = ("x".join(map(show, sizes)) for sizes in (op.grid, op.block))
            names = [name(a) if isinstance(a, s.View) else show(a) for a in op.arguments]
            return f"{op.name}<{grid}, {block}>({', '.join(names)})"
        case s.Load():
            return f"${op.place} = {name(op.source)}[{', '.join(map(show, op.indices))}]"
        case s.Store():
            indices = ", ".join(map(show, op.indices))
            return f"{name(op.target)}[{indices}] = {show(op.value)}"
        case s.Compute():
            return ", ".join(f"${p} = {_expression(schedule, p)}" for p in op.places)
        case s.Move():
            return ", ".join(_moves(schedule, op))
        case s.Rebase():
            target = schedule.buffers[op.target].name
            return f"{target} = {name(op.source)} + {show(op.shift)} bytes"
        case s.Jump():
            return f"to {op.target}"
        case s.Branch():
            return f"to {op.target} unless {show(op.condition)}"
        case s.Assert():
            return f"{show(op.condition)}: {op.message}"
        case _:
            return op.name


def _show(schedule: s.Schedule, place: int) -> str:
    scalar = schedule.scalars[place]
    if scalar.operator == "constant":
        return str(scalar.immediate)
    return f"${place}"


def _expression(schedule: s.Schedule, place: int) -> str:
    scalar = schedule.scalars[place]
    return f"{scalar.operator}({', '.join(_show(schedule, p) for p in scalar.operands)})"


def _moves(schedule: s.Schedule, op: s.Move) -> Iterator[str]:
    for target, source in op.scalars:
        yield f"${target} = {_show(schedule, source)}"
    for target, source in op.buffers:
        yield f"{schedule.buffers[target].name} = {schedule.buffers[source].name}"
    for move in op.tokens:
        sources = [str(d) for d in move.steps] + [f"t{r}" for r in move.registers]
        yield f"t{move.target} = [{', '.join(sources)}]"
