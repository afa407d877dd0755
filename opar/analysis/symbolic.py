"""
Index arithmetic as text of isl, and which elements an operation touches in terms of it.

A value is an expression over names. Names are *symbols*, numbers that are fixed while the function
runs (its arguments, sizes, results of operations that are not understood), or *variables*, which
take many values (thread and block ids, loop variables). Addition, multiplication, division and
remainder by constants, shifts, minima, maxima, casts and affine maps are understood; a value that
is not becomes a new name of its own, so a set can only grow by what is not known. Sums, and all of
`index`, are taken not to overflow; products and shifts of other integers only where they say `nsw`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
)
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from opar.analysis.arithmetic import add, ceil, floor, mod, mul, number, wrapped
from opar.dialects import affine, gpu, memref
from opar.dialects.arith import IndexCastUIOp
from opar.dialects.memref.layouts import Strided, strided


@dataclass
class Expressions:
    """
    Expressions for index and integer values. `unknown` makes the name of a value that is not
    understood; `definitions` has, for names made here, the constraint that ties them to others.
    """

    unknown: Callable[[SSAValue], str]
    known: dict[SSAValue, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    causes: dict[str, SSAValue] = field(default_factory=dict)
    """The values, not understood, that names stand for."""
    factors: set[str] = field(default_factory=set)
    """Expressions that would have to be numbers: factors, divisors and steps that are none."""
    _count: int = 0
    _sizes: dict[tuple[SSAValue, int], str] = field(default_factory=dict)

    def of(self, value: SSAValue) -> str:
        """The expression of `value`."""
        found = self.known.get(value)
        if found is None:
            found = self.known[value] = self._expression(value)
        return found

    def constant(self, value: SSAValue) -> int | None:
        """The number that `value` is, where its expression is one."""
        return number(self.of(value))

    def new(self, prefix: str = "m") -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{prefix}{self._count}"

    def _expression(self, value: SSAValue) -> str:
        if not isinstance(value, OpResult) or not isinstance(value.type, IndexType | IntegerType):
            return self.unknown(value)
        found = self._understood(value.op, value)
        if found is None:
            return self.unknown(value)
        known = number(found)
        return found if known is None else str(wrapped(known, _width(value)))

    def _understood(self, op: Operation, value: OpResult) -> str | None:
        match op:
            case arith.ConstantOp(value=IntegerAttr(value=literal)):
                return str(literal.data)
            case affine.ApplyOp():
                return self.map(op.map.data, op.mapOperands)[0]
            case affine.MinOp() | affine.MaxOp():
                results = self.map(op.map.data, op.arguments)
                return self._extreme(results, isinstance(op, affine.MinOp))
            case IndexCastUIOp() | arith.ExtUIOp() if _width(op.operands[0]) < _width(value):
                operand = self.of(op.operands[0])
                known = number(operand)
                if known is not None:
                    return str(known % (1 << _width(op.operands[0])))
                return self._unsigned(operand, [operand])
            case IndexCastUIOp() | arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
                operand = self.of(op.operands[0])
                narrow = _width(value) < _width(op.operands[0])
                return self._fitting(operand, _width(value)) if narrow else operand
            case arith.SelectOp():
                return self._select(op)
            case memref.DimOp():
                return self._dim(op)
            case memref.ExtractStridedMetaDataOp() if value.index > 0:
                return self._metadata(op, value)
        if len(op.operands) == 2 and op.name.startswith("arith."):
            a, b = (self.of(v) for v in op.operands)
            found = self._binary(op, a, b)
            if isinstance(op, arith.MuliOp | arith.ShLIOp) and found is not None:
                signed = arith.IntegerOverflowFlag.NSW in op.overflow_flags.data
                if not signed and not isinstance(value.type, IndexType):
                    return self._fitting(found, _width(value))
            return found
        return None

    def _select(self, op: arith.SelectOp) -> str:
        """One of two numbers, and which, where the condition says so."""
        name = self.new()
        cases: list[str] = []
        for value, holds in ((op.lhs, True), (op.rhs, False)):
            condition = self.condition(op.cond, holds)
            limit = "" if condition is None else f" and {condition}"
            cases.append(f"({name} = {self.of(value)}{limit})")
        self.definitions[name] = f"({' or '.join(cases)})"
        return name

    def _dim(self, op: memref.DimOp) -> str:
        """The size of a dimension; that of one value has one name."""
        dim = self.constant(op.index)
        source = op.source
        if dim is None or not isinstance(source.type, MemRefType):
            return self.unknown(op.result)
        shape = source.type.get_shape()
        if not 0 <= dim < len(shape):
            return self.unknown(op.result)
        if shape[dim] != DYNAMIC_INDEX:
            return str(shape[dim])
        if isinstance(source.owner, memref.AllocOp | memref.AllocaOp | gpu.AllocOp):
            return self.of(source.owner.dynamic_sizes[shape[:dim].count(DYNAMIC_INDEX)])
        if (source, dim) not in self._sizes:
            self._sizes[source, dim] = self.unknown(op.result)
        return self._sizes[source, dim]

    def _metadata(self, op: memref.ExtractStridedMetaDataOp, value: OpResult) -> str:
        layout = _layout(op.source)
        numbers = () if layout is None else (layout.offset, *layout.sizes, *layout.strides)
        found = numbers[value.index - 1] if layout is not None else None
        if found is not None:
            return str(found)
        offset = self._offset(op.source) if value.index == 1 else None
        return offset if offset is not None else self.unknown(value)

    def _offset(self, view: SSAValue) -> str | None:
        """The offset of a view, in elements, where the strides of what it is cut from are known."""
        layout = _layout(view)
        if layout is not None and layout.offset is not None:
            return str(layout.offset)
        if not isinstance(view.owner, memref.SubviewOp):
            return None
        op = view.owner
        total, source = self._offset(op.source), _layout(op.source)
        if total is None or source is None:
            return None
        starts = self.mixed(op.static_offsets, op.offsets)
        for start, stride in zip(starts, source.strides, strict=True):
            if stride is None:
                return None
            total = add(total, mul(start, str(stride)))
        return total

    def mixed(self, static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]) -> list[str]:
        """Offsets, sizes or strides of which some are numbers of the operation."""
        remaining = iter(dynamic)
        values = static.get_values()
        return [self.of(next(remaining)) if s == DYNAMIC_INDEX else str(s) for s in values]

    def _binary(self, op: Operation, a: str, b: str) -> str | None:
        x, y = number(a), number(b)
        match op:
            case arith.AddiOp():
                return add(a, b)
            case arith.SubiOp():
                return str(x - y) if x is not None and y is not None else f"({a} - {b})"
            case arith.MuliOp():
                if x is None and y is None:
                    self.factors |= {a, b}
                    return None
                return mul(a, b)
            case arith.ShLIOp() if y is not None and 0 <= y < 63:
                return mul(a, str(1 << y))
            case arith.MinSIOp():
                return self._extreme([a, b], True)
            case arith.MaxSIOp():
                return self._extreme([a, b], False)
            case arith.MinUIOp() | arith.MaxUIOp():
                return self._unsigned(self._extreme([a, b], isinstance(op, arith.MinUIOp)), [a, b])
            case arith.AndIOp() if y is not None and y > 0 and y & (y + 1) == 0:  # a mask
                return mod(a, y + 1)
        if y is None or y <= 0:
            self.factors.add(b)
            return None
        match op:
            case arith.FloorDivSIOp():
                return floor(a, y)
            case arith.CeilDivSIOp():
                return ceil(a, y)
            case arith.DivUIOp():
                return self._unsigned(floor(a, y), [a])
            case arith.CeilDivUIOp():
                return self._unsigned(ceil(a, y), [a])
            case arith.RemUIOp():
                return self._unsigned(mod(a, y), [a])
            case arith.DivSIOp() | arith.RemSIOp() if x is None or x >= 0:
                # Rounds towards zero: as the floor where the dividend is not negative.
                quotient = self.new()
                positive = f"({a} >= 0 and {quotient} = {floor(a, y)})"
                negative = f"({a} < 0 and {quotient} = {ceil(a, y)})"
                self.definitions[quotient] = f"({positive} or {negative})"
                if isinstance(op, arith.DivSIOp):
                    return quotient
                return f"({a} - {y} * {quotient})"
            case arith.ShRSIOp() if y < 63:
                return floor(a, 1 << y)
            case arith.ShRUIOp() if y < 63:
                return self._unsigned(floor(a, 1 << y), [a])
        return None

    def _unsigned(self, value: str, operands: Sequence[str]) -> str | None:
        """`value` of signed `operands` where none is negative, else anything."""
        known = [n for o in operands if (n := number(o)) is not None]
        if min(known, default=0) < 0:
            return None
        limits = [f"{o} >= 0" for o in operands if number(o) is None]
        return self._where(" and ".join(limits), value) if limits else value

    def _fitting(self, value: str, width: int) -> str:
        """`value` where an integer of `width` bits can be it, else anything."""
        limit = 1 << (width - 1)
        if number(value) is not None:
            return value
        return self._where(f"{-limit} <= {value} and {value} < {limit}", value)

    def _where(self, condition: str, value: str) -> str:
        """`value` where `condition` holds, else anything."""
        name = self.new()
        self.definitions[name] = f"(({condition} and {name} = {value}) or not ({condition}))"
        return name

    def _extreme(self, values: Sequence[str], least: bool) -> str:
        numbers = [number(v) for v in values]
        if None not in numbers:
            known = [n for n in numbers if n is not None]
            return str(min(known) if least else max(known))
        if len(values) == 1:
            return values[0]
        name = self.new()
        relation = "<=" if least else ">="
        one_of = " or ".join(f"{name} = {v}" for v in values)
        limits = " and ".join(f"{name} {relation} {v}" for v in values)
        self.definitions[name] = f"(({one_of}) and {limits})"
        return name

    def map(self, map: AffineMap, operands: Iterable[SSAValue]) -> list[str]:
        """The results of an affine map."""
        values = [self.of(v) for v in operands]
        return [self._affine(e, values, map.num_dims) for e in map.results]

    def _affine(self, expr: AffineExpr, values: Sequence[str], dims: int) -> str:
        match expr:
            case AffineConstantExpr(value=value):
                return str(value)
            case AffineDimExpr(position=position):
                return values[position]
            case AffineSymExpr(position=position):
                return values[dims + position]
            case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
                a, b = self._affine(lhs, values, dims), self._affine(rhs, values, dims)
                if kind is AffineBinaryOpKind.Add:
                    return add(a, b)
                x, y = number(a), number(b)
                if kind is AffineBinaryOpKind.Mul and (x is not None or y is not None):
                    return mul(a, b)
                if y is not None and y > 0:
                    operations = {
                        AffineBinaryOpKind.Mod: mod,
                        AffineBinaryOpKind.FloorDiv: floor,
                        AffineBinaryOpKind.CeilDiv: ceil,
                    }
                    if kind in operations:
                        return operations[kind](a, y)
        return self.new("u")

    def condition(self, value: SSAValue, holds: bool = True) -> str | None:
        """
        A constraint that is true wherever the boolean `value` is `holds`; None where nothing is
        known. It may also be true elsewhere.
        """
        if not isinstance(value, OpResult):
            return None
        op = value.op
        if isinstance(op, arith.CmpiOp):
            return self._comparison(op, holds)
        if isinstance(op, arith.AndIOp | arith.OrIOp):
            known = [c for v in op.operands if (c := self.condition(v, holds)) is not None]
            if isinstance(op, arith.AndIOp) == holds:
                return f"({' and '.join(known)})" if known else None
            return f"({' or '.join(known)})" if len(known) == 2 else None
        if isinstance(op, arith.XOrIOp) and self.constant(op.rhs) in (1, -1):
            return self.condition(op.lhs, not holds)
        return None

    def _comparison(self, op: arith.CmpiOp, holds: bool) -> str:
        a, b = self.of(op.lhs), self.of(op.rhs)
        predicate = op.predicate.value.data
        relation = ("=", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")[predicate]
        if not holds:
            opposite = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
            relation = opposite[relation]
        if predicate < 6:
            return f"({a} {relation} {b})"
        # Unsigned: a negative number counts as a very large one.
        large = b if relation.startswith("<") else a
        return f"({a} {relation} {b} or {large} < 0)"

    def affine_condition(self, op: affine.IfOp, holds: bool = True) -> str:
        """The condition of an `affine.if`, or its opposite."""
        found = op.condition.data
        values = [self.of(v) for v in op.args]
        relations = {
            AffineConstraintKind.ge: ">=",
            AffineConstraintKind.le: "<=",
            AffineConstraintKind.eq: "=",
        }
        constraints = [
            f"{self._affine(c.lhs, values, found.num_dims)} {relations[c.kind]} "
            f"{self._affine(c.rhs, values, found.num_dims)}"
            for c in found.constraints
        ]
        text = f"({' and '.join(constraints)})" if constraints else "(1 = 1)"
        return text if holds else f"(not {text})"


class HostExpressions(Expressions):
    """Expressions for the values of a host function: what is not understood has one name."""

    def __init__(self) -> None:
        super().__init__(self._symbol)
        self._named: dict[str, SSAValue] = {}

    def named(self, name: str) -> SSAValue | None:
        """The value that a symbol stands for; None if it is no value."""
        return self._named.get(name)

    def _symbol(self, value: SSAValue) -> str:
        name = f"s{len(self._named)}"
        self._named[name] = value
        return name


def _width(value: SSAValue) -> int:
    """The bits of an integer; an index counts as 64."""
    return value.type.width.data if isinstance(value.type, IntegerType) else 64


def _layout(value: SSAValue) -> Strided | None:
    return strided(value.type) if isinstance(value.type, MemRefType) else None
