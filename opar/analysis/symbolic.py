"""
Index arithmetic as text of isl, and which elements an operation touches in terms of it.

A value is an expression over names. Names are *symbols*, numbers that are fixed while the function
runs (its arguments, sizes, results of operations that are not understood), or *variables*, which
take many values (thread and block ids, loop variables). Addition, multiplication, division and
remainder by constants, shifts, minima, maxima, casts and affine maps are understood; a value that
is not becomes a new name of its own, so a set can only grow by what is not known. Indices are taken
not to overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, IntegerType, MemRefType
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

from opar.dialects import affine, memref


@dataclass
class Expressions:
    """
    Expressions for index and integer values. `unknown` makes the name of a value that is not
    understood; `definitions` has, for names made here, the constraint that ties them to others.
    """

    unknown: Callable[[SSAValue], str]
    known: dict[SSAValue, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    def of(self, value: SSAValue) -> str:
        """The expression of `value`."""
        found = self.known.get(value)
        if found is None:
            found = self.known[value] = self._expression(value)
        return found

    def constant(self, value: SSAValue) -> int | None:
        """The number that `value` is, where its expression is one."""
        return _number(self.of(value))

    def new(self, prefix: str = "m") -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{prefix}{self._count}"

    def _expression(self, value: SSAValue) -> str:
        if not isinstance(value, OpResult) or not isinstance(value.type, IndexType | IntegerType):
            return self.unknown(value)
        op = value.op
        match op:
            case arith.ConstantOp(value=IntegerAttr(value=number)):
                return str(number.data)
            case affine.ApplyOp():
                return self.map(op.map.data, op.mapOperands)[0]
            case affine.MinOp() | affine.MaxOp():
                results = self.map(op.map.data, op.arguments)
                return self._extreme(results, isinstance(op, affine.MinOp))
            case arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
                return self.of(op.operands[0])
            case memref.DimOp():
                return self._dim(op)
        if op.name == "arith.index_castui" or isinstance(op, arith.ExtUIOp):
            return self.of(op.operands[0])
        if len(op.operands) == 2 and op.name.startswith("arith."):
            a, b = (self.of(v) for v in op.operands)
            found = self._binary(op, a, b)
            if found is not None:
                return found
        return self.unknown(value)

    def _dim(self, op: memref.DimOp) -> str:
        dim = self.constant(op.index)
        if dim is not None and isinstance(op.source.type, MemRefType):
            shape = op.source.type.get_shape()
            if 0 <= dim < len(shape) and shape[dim] != DYNAMIC_INDEX:
                return str(shape[dim])
        return self.unknown(op.result)

    def _binary(self, op: Operation, a: str, b: str) -> str | None:
        x, y = _number(a), _number(b)
        match op:
            case arith.AddiOp():
                return _add(a, b)
            case arith.SubiOp():
                return str(x - y) if x is not None and y is not None else f"({a} - {b})"
            case arith.MuliOp() if x is not None or y is not None:
                return _mul(a, b)
            case arith.ShLIOp() if y is not None and 0 <= y < 63:
                return _mul(a, str(1 << y))
            case arith.MinSIOp():
                return self._extreme([a, b], True)
            case arith.MaxSIOp():
                return self._extreme([a, b], False)
            case arith.MinUIOp() | arith.MaxUIOp():
                extreme = self._extreme([a, b], isinstance(op, arith.MinUIOp))
                return self._where(f"{a} >= 0 and {b} >= 0", extreme)
        if y is None or y <= 0:
            return None
        match op:
            case arith.FloorDivSIOp():
                return _floor(a, y)
            case arith.CeilDivSIOp():
                return _ceil(a, y)
            case arith.DivUIOp():
                return self._where(f"{a} >= 0", _floor(a, y))
            case arith.CeilDivUIOp():
                return self._where(f"{a} >= 0", _ceil(a, y))
            case arith.RemUIOp():
                return self._where(f"{a} >= 0", _mod(a, y))
            case arith.DivSIOp() | arith.RemSIOp() if x is None or x >= 0:
                # Rounds towards zero: as the floor where the dividend is not negative.
                quotient = self.new()
                positive = f"({a} >= 0 and {quotient} = {_floor(a, y)})"
                negative = f"({a} < 0 and {quotient} = {_ceil(a, y)})"
                self.definitions[quotient] = f"({positive} or {negative})"
                if isinstance(op, arith.DivSIOp):
                    return quotient
                return f"({a} - {y} * {quotient})"
            case arith.ShRSIOp() if y < 63:
                return _floor(a, 1 << y)
            case arith.ShRUIOp() if y < 63:
                return self._where(f"{a} >= 0", _floor(a, 1 << y))
        return None

    def _where(self, condition: str, value: str) -> str:
        """`value` where `condition` holds, else anything: unsigned operations on signed numbers."""
        if _number(value) is not None:
            return value
        name = self.new()
        self.definitions[name] = f"(({condition} and {name} = {value}) or not ({condition}))"
        return name

    def _extreme(self, values: Sequence[str], least: bool) -> str:
        numbers = [_number(v) for v in values]
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
                    return _add(a, b)
                x, y = _number(a), _number(b)
                if kind is AffineBinaryOpKind.Mul and (x is not None or y is not None):
                    return _mul(a, b)
                if y is not None and y > 0:
                    operations = {
                        AffineBinaryOpKind.Mod: _mod,
                        AffineBinaryOpKind.FloorDiv: _floor,
                        AffineBinaryOpKind.CeilDiv: _ceil,
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


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _add(a: str, b: str) -> str:
    x, y = _number(a), _number(b)
    if x is not None and y is not None:
        return str(x + y)
    if x == 0:
        return b
    return a if y == 0 else f"({a} + {b})"


def _mul(a: str, b: str) -> str:
    x, y = _number(a), _number(b)
    if x is not None and y is not None:
        return str(x * y)
    if x is None:
        a, b = b, a
    return b if a == "1" else f"({a} * {b})"


def _floor(a: str, divisor: int) -> str:
    x = _number(a)
    return str(x // divisor) if x is not None else f"floor(({a}) / {divisor})"


def _ceil(a: str, divisor: int) -> str:
    x = _number(a)
    return str(-(-x // divisor)) if x is not None else f"floor((({a}) + {divisor - 1}) / {divisor})"


def _mod(a: str, divisor: int) -> str:
    x = _number(a)
    return str(x % divisor) if x is not None else f"(({a}) mod {divisor})"


def coordinates(
    value: SSAValue, indices: Sequence[str] | None, expressions: Expressions
) -> tuple[SSAValue, list[str] | None]:
    """
    The buffer that a memref is a view of, and the element `indices` of the view as an element of
    the buffer; None where the view is not one of known offsets and strides.
    """
    found = list(indices) if indices is not None else None
    while isinstance(value, OpResult):
        op = value.op
        match op:
            case memref.CastOp() | memref.MemorySpaceCastOp():
                value = op.source
            case memref.SubviewOp():
                found = _through_subview(op, found, expressions)
                value = op.source
            case memref.CollapseShapeOp():
                found = _through_collapse(op, found)
                value = op.src
            case memref.ExpandShapeOp():
                found = _through_expand(op, found)
                value = op.src
            case _ if op.name == "memref.assume_alignment":
                value = op.operands[0]
            case _ if op.name in ("memref.transpose", "memref.reinterpret_cast", "memref.view"):
                found, value = None, op.operands[0]
            case _:
                break
    return value, found


def _through_subview(
    op: memref.SubviewOp, indices: list[str] | None, expressions: Expressions
) -> list[str] | None:
    if indices is None:
        return None
    offsets = _mixed(op.static_offsets.get_values(), op.offsets, expressions)
    sizes = _mixed(op.static_sizes.get_values(), op.sizes, expressions)
    strides = _mixed(op.static_strides.get_values(), op.strides, expressions)
    remaining = iter(indices)
    dropped = len(sizes) - len(indices)
    found: list[str] = []
    for offset, size, stride in zip(offsets, sizes, strides, strict=True):
        if dropped and size == "1":
            dropped -= 1
            found.append(offset)
            continue
        index = next(remaining, None)
        if index is None or _number(stride) is None:
            return None
        found.append(_add(offset, _mul(index, stride)))
    return None if dropped else found


def _mixed(
    static: Sequence[int], dynamic: Sequence[SSAValue], expressions: Expressions
) -> list[str]:
    remaining = iter(dynamic)
    return [expressions.of(next(remaining)) if s == DYNAMIC_INDEX else str(s) for s in static]


def _groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[list[int]]:
    return [[i.value.data for i in group] for group in op.reassociation]


def _through_collapse(op: memref.CollapseShapeOp, indices: list[str] | None) -> list[str] | None:
    """A collapsed index is taken apart by the sizes of the source."""
    assert isinstance(op.src.type, MemRefType)
    shape = op.src.type.get_shape()
    if indices is None:
        return None
    found: list[str] = []
    for index, group in zip(indices, _groups(op), strict=True):
        own: list[str] = []
        for position, d in enumerate(reversed(group)):
            if position == len(group) - 1:
                own.append(index)
            elif shape[d] == DYNAMIC_INDEX or shape[d] == 0:
                return None
            else:
                own.append(_mod(index, shape[d]))
                index = _floor(index, shape[d])
        found += reversed(own)
    return found


def _through_expand(op: memref.ExpandShapeOp, indices: list[str] | None) -> list[str] | None:
    """The indices of a group are put together by the sizes of the result."""
    assert isinstance(op.result.type, MemRefType)
    shape = op.result.type.get_shape()
    if indices is None:
        return None
    found: list[str] = []
    for group in _groups(op):
        total = "0"
        for d in group:
            if shape[d] == DYNAMIC_INDEX and d != group[0]:
                return None
            total = _add(_mul(total, str(shape[d])) if d != group[0] else "0", indices[d])
        found.append(total)
    return found
