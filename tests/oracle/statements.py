"""Random programs as trees of statements, and the IR that they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

import opar

Make = Callable[[Sequence[SSAValue], Sequence[Region], Sequence[Block]], Operation]


@dataclass(frozen=True)
class Body:
    """A block: arguments (name, type), statements, and the one that ends it."""

    statements: tuple[Statement, ...] = ()
    end: Statement | None = None
    arguments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Statement:
    """
    One operation. `text` is its MLIR with `{0}`, `{1}`, ... for the operands; operations with
    regions or successors have `make` instead. Values go by names; `targets` name blocks.
    """

    text: str = ""
    operands: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    bodies: tuple[Body, ...] = ()
    make: Make | None = None
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Argument:
    """
    An argument of a program and what it may be: a memref of some sizes (then `values` are the
    numbers of arguments whose memory it may be, itself first), or one of some numbers.
    """

    name: str
    type: str
    sizes: tuple[int, ...] | None = None
    values: tuple[int, ...] = ()
    noalias: bool = False


@dataclass(frozen=True)
class Program:
    """
    A function: its arguments, blocks by name, and the names of what it returns. `exact`: see
    `checks.not_minimal`.
    """

    arguments: tuple[Argument, ...] = ()
    blocks: dict[str, Body] = field(default_factory=dict)
    returned: tuple[str, ...] = ()
    exact: bool = False

    def statements(self) -> Iterator[Statement]:
        """All statements, outer ones first."""
        work = [s for body in self.blocks.values() for s in body.statements]
        while work:
            statement = work.pop(0)
            yield statement
            work += [s for body in statement.bodies for s in body.statements]

    def without(self, dropped: Callable[[Statement], bool]) -> Program:
        """The program without some statements."""
        blocks = {name: _without(body, dropped) for name, body in self.blocks.items()}
        return replace(self, blocks=blocks)


def _without(body: Body, dropped: Callable[[Statement], bool]) -> Body:
    kept = tuple(
        replace(s, bodies=tuple(_without(b, dropped) for b in s.bodies)) if s.bodies else s
        for s in body.statements
        if not dropped(s)
    )
    return replace(body, statements=kept)


@cache
def parsed_type(text: str) -> Attribute:
    """A type from its text."""
    module = opar.parse_module(f"func.func private @f({text})")
    function = next(iter(module.body.ops))
    assert isinstance(function, func.FuncOp)
    return function.function_type.inputs.data[0]


@cache
def _template(text: str, types: tuple[Attribute, ...]) -> tuple[Operation, Sequence[SSAValue]]:
    """An operation, and the values that stand for its operands."""
    names = ", ".join(f"%x{i}: {t}" for i, t in enumerate(types))
    filled = re.sub(r"\{(\d+)\}", r"%x\1", text)
    end = (
        ""
        if text.startswith(("func.return", "cf.", "scf.", "affine.", "async.yield"))
        else "return"
    )
    module = opar.parse_module(f"func.func @template({names}) {{\n{filled}\n{end}\n}}")
    function = next(iter(module.body.ops))
    assert isinstance(function, func.FuncOp)
    block = function.body.block
    assert block.first_op is not None
    return block.first_op, block.args


def stamped(text: str, operands: Sequence[SSAValue]) -> Operation:
    """A new operation from MLIR text; each text is parsed once."""
    template, stand_ins = _template(text, tuple(v.type for v in operands))
    return template.clone_without_regions(dict(zip(stand_ins, operands, strict=True)))


class Undefined(Exception):
    """A statement names a value that is not there: the program was cut too far."""


@dataclass
class _Builder:
    returned: Sequence[str]
    blocks: dict[str, Block] = field(default_factory=dict)

    def body(self, body: Body, names: dict[str, SSAValue], block: Block) -> None:
        """Fill `block`; `names` gets what is defined."""
        arguments = block.args[len(block.args) - len(body.arguments) :]
        for (name, _), argument in zip(body.arguments, arguments, strict=True):
            names[name] = argument
            argument.name_hint = name
        for statement in (*body.statements, *([body.end] if body.end is not None else ())):
            block.add_op(self.statement(statement, names))

    def statement(self, statement: Statement, names: dict[str, SSAValue]) -> Operation:
        if statement.text == "func.return":  # of what a smaller program still has
            return func.ReturnOp(*(names[n] for n in self.returned if n in names))
        try:
            operands = [names[n] for n in statement.operands]
        except KeyError as error:
            raise Undefined(str(error)) from None
        if statement.make is None:
            op = stamped(statement.text, operands)
        else:
            regions: list[Region] = []
            for body in statement.bodies:
                block = Block(arg_types=[parsed_type(t) for _, t in body.arguments])
                self.body(body, dict(names), block)
                regions.append(Region(block))
            op = statement.make(operands, regions, [self.blocks[t] for t in statement.targets])
        for name, result in zip(statement.results, op.results, strict=True):
            names[name] = result
            result.name_hint = name
        return op


def build(program: Program, name: str) -> func.FuncOp:
    """The function of a program. Raises `Undefined`. What the first block defines all may use."""
    types = [parsed_type(a.type) for a in program.arguments]
    builder = _Builder(program.returned)
    names: dict[str, SSAValue] = {}
    for label, body in program.blocks.items():
        given = () if builder.blocks else types
        block = Block(arg_types=[*given, *(parsed_type(t) for _, t in body.arguments)])
        builder.blocks[label] = block
        for argument, value in zip(program.arguments, block.args if given else (), strict=False):
            names[argument.name] = value
            value.name_hint = argument.name
    shared = names
    for label, body in program.blocks.items():
        builder.body(body, names, builder.blocks[label])
        names = dict(shared)
    region = Region(list(builder.blocks.values()))
    end = next(op for op in region.walk() if isinstance(op, func.ReturnOp))
    type = FunctionType.from_lists(types, [v.type for v in end.operands])
    function = func.FuncOp(name, type, region)
    if any(a.noalias for a in program.arguments):
        marks = [{"llvm.noalias": UnitAttr()} if a.noalias else {} for a in program.arguments]
        function.arg_attrs = ArrayAttr(DictionaryAttr(m) for m in marks)
    return function
