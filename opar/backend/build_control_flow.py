"""Steps and jumps of a schedule for branches and loops of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue

from opar.backend.build_blocks import assign, give_all, registers_for, run_region
from opar.backend.build_scalars import is_number, width_of
from opar.backend.build_state import Builder, Held
from opar.backend.schedule import Assert
from opar.dialects import affine, memref, scf

_WIDE = 128
"""Bits of a loop's counter that must not wrap around."""


def add(builder: Builder, op: Operation) -> bool:
    """Add the steps of an operation with regions, or of a select of memrefs or tokens."""
    match op:
        case scf.IfOp():
            _add_if(builder, op, builder.place(op.cond), op.true_region, op.false_region)
        case affine.IfOp():
            condition = builder.numbers.affine_condition(op)
            _add_if(builder, op, condition, op.then_region, op.else_region)
        case scf.IndexSwitchOp():
            _add_switch(builder, op)
        case scf.ExecuteRegionOp():
            give_all(builder, op.results, run_region(builder, op, op.region))
        case memref.AllocaScopeOp():
            give_all(builder, op.results, run_region(builder, op, op.scope))
        case scf.ForOp():
            _add_for(builder, op)
        case affine.ForOp():
            _add_affine_for(builder, op)
        case scf.WhileOp():
            _add_while(builder, op)
        case arith.SelectOp() if not is_number(op.result.type):
            _add_select(builder, op)
        case _:
            return False
    return True


def _add_body(builder: Builder, block: Block) -> Operation:
    """Add all of a block but its terminator, which is returned."""
    last = block.last_op
    assert last is not None
    for op in block.ops:
        if op is not last:
            builder.add(op)
    return last


# Branches


def _add_if(builder: Builder, op: Operation, condition: int, then: Region, other: Region) -> None:
    results = [builder.register(value, op) for value in op.results]
    end = builder.label()
    otherwise = builder.label() if other.blocks else end
    builder.branch(condition, otherwise, op)
    with builder.conditional():
        last = _add_body(builder, then.block)
        assign(builder, last, results, last.operands)
        if other.blocks:
            builder.jump(end, last)
            builder.bind(otherwise, op)
            last = _add_body(builder, other.block)
            assign(builder, last, results, last.operands)
        builder.bind(end, op)
    give_all(builder, op.results, results)


def _add_select(builder: Builder, op: arith.SelectOp) -> None:
    result = builder.register(op.result, op)
    end, otherwise = builder.label(), builder.label()
    builder.branch(builder.place(op.cond), otherwise, op)
    assign(builder, op, [result], [op.lhs])
    builder.jump(end, op)
    builder.bind(otherwise, op)
    assign(builder, op, [result], [op.rhs])
    builder.bind(end, op)
    builder.give(op.result, result)


def _choose(
    builder: Builder,
    op: Operation,
    flag: SSAValue,
    cases: Sequence[int],
    run: Callable[[int | None], None],
) -> None:
    """Go on with `run(i)` for case i of `flag`, with `run(None)` for none; each ends in a jump."""
    numbers = builder.numbers
    width = width_of(flag.type)
    place = builder.place(flag)
    for i, case in enumerate(cases):
        following = builder.label()
        value = numbers.constant(case, width)
        builder.branch(numbers.scalar("cmpi.0", (place, value), width=1), following, op)
        run(i)
        builder.bind(following, op)
    run(None)


def _add_switch(builder: Builder, op: scf.IndexSwitchOp) -> None:
    results = [builder.register(value, op) for value in op.results]
    end = builder.label()

    def run(case: int | None) -> None:
        region = op.default_region if case is None else op.case_regions[case]
        last = _add_body(builder, region.block)
        assign(builder, last, results, last.operands)
        if case is not None:
            builder.jump(end, last)

    with builder.conditional():
        _choose(builder, op, op.arg, [int(n) for n in op.cases.get_values()], run)
        builder.bind(end, op)
    give_all(builder, op.results, results)


# Loops


def _add_for(builder: Builder, op: scf.ForOp) -> None:
    numbers = builder.numbers
    type = op.lb.type
    lower, upper, step = (builder.place(v) for v in (op.lb, op.ub, op.step))
    known = numbers.constant_at(step)
    if known is None or known <= 0:
        zero = numbers.constant(0, width_of(type))
        predicate = "cmpi.1" if op.unsigned_cmp is not None else "cmpi.4"
        positive = numbers.scalar(predicate, (step, zero), width=1)
        message = "the step of the loop is not positive"
        builder.host_step(op, Assert, name="for", condition=positive, message=message)
    variable, *arguments = op.body.block.args
    plain = isinstance(type, IndexType) and op.unsigned_cmp is None
    if plain:
        held = builder.register(variable, op)
        builder.give(variable, held)
    else:  # a counter that can go beyond the upper bound
        extend = "arith.extui" if op.unsigned_cmp is not None else "cast"
        lower, upper, step = (
            numbers.scalar(extend, (place,), width=_WIDE) for place in (lower, upper, step)
        )
        held = Held(place=numbers.scalar("register", width=_WIDE))
    counter = held.place
    assert counter is not None
    registers = registers_for(builder, arguments, op)
    inits = zip(registers, [builder.get(v) for v in op.iter_args], strict=True)
    builder.assign(op, [(held, Held(place=lower)), *inits])

    def begin() -> None:
        if not plain:
            place = numbers.scalar("cast", (counter,), width=width_of(type))
            builder.give(variable, Held(place=place))

    _add_counted(builder, op, counter, upper, step, op.body.block, registers, begin)


def _add_affine_for(builder: Builder, op: affine.ForOp) -> None:
    numbers = builder.numbers
    lower, upper = (
        numbers.extreme(operator, numbers.map_results(map.data, operands))
        for operator, map, operands in (
            ("affine.max", op.lower_bound_map, op.lower_bound_operands),
            ("affine.min", op.upper_bound_map, op.upper_bound_operands),
        )
    )
    step = numbers.constant(op.step.value.data)
    variable, *arguments = op.body.block.args
    (counter,) = registers_for(builder, [variable], op)
    registers = registers_for(builder, arguments, op)
    builder.assign(
        op,
        [
            (counter, Held(place=lower)),
            *zip(registers, [builder.get(v) for v in op.inits], strict=True),
        ],
    )
    assert counter.place is not None
    _add_counted(builder, op, counter.place, upper, step, op.body.block, registers, lambda: None)


def _add_counted(
    builder: Builder,
    op: Operation,
    counter: int,
    upper: int,
    step: int,
    body: Block,
    registers: Sequence[Held],
    begin: Callable[[], None],
) -> None:
    """The loop behind the assignment of the first values; its results are the registers."""
    numbers = builder.numbers
    head, end = builder.label(), builder.label()
    builder.bind(head, op)
    builder.branch(numbers.scalar("cmpi.2", (counter, upper), width=1), end, op)
    with builder.conditional():
        begin()
        last = _add_body(builder, body)
        width = numbers.scalars[counter].width
        following = numbers.scalar("arith.addi", (counter, step), width=width)
        yielded = zip(registers, [builder.get(v) for v in last.operands], strict=True)
        builder.assign(last, [(Held(place=counter), Held(place=following)), *yielded])
        builder.jump(head, last)
    builder.bind(end, op)
    give_all(builder, op.results, registers)


def _add_while(builder: Builder, op: scf.WhileOp) -> None:
    before, after = op.before_region.block, op.after_region.block
    arguments = registers_for(builder, before.args, op)
    results = registers_for(builder, after.args, op)
    head, end = builder.label(), builder.label()
    assign(builder, op, arguments, op.arguments)
    builder.bind(head, op)
    with builder.conditional():
        condition = _add_body(builder, before)
        assert isinstance(condition, scf.ConditionOp)
        assign(builder, condition, results, condition.args)
        builder.branch(builder.place(condition.condition), end, condition)
        last = _add_body(builder, after)
        assign(builder, last, arguments, last.operands)
        builder.jump(head, last)
        builder.bind(end, op)
    give_all(builder, op.results, results)
