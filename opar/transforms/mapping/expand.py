"""
The body of a nest, expanded over several iterations of two of its loops: outer-loop vectorisation
and unroll-and-jam (Allen and Kennedy, 5.7 and 8.4).

One loop, the *vector* loop, becomes the lanes of vectors, `vectors` of them side by side; another,
the *row* loop, is unrolled `rows` times. A value that depends on neither exists once, one that
depends on the row loop once a row, one on the vector loop once a vector, one on both `rows` times
`vectors`. Loops inside are shared by all copies, so a reduction keeps its accumulators in
registers, and each accumulator sees its operands in the order that was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    FixedBitwidthType,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    VectorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from opar.dialects import affine
from opar.transforms.mapping.emit import Emitter
from opar.transforms.mapping.nest import Nest
from opar.transforms.mapping.strides import Dependence, depending_on, subscript_coefficients


def vectorisable(nest: Nest, variable: BlockArgument, step: int) -> Dependence | None:
    """
    What depends on the vector loop, or None where the body cannot be expanded over it: accesses
    that are not contiguous along it, control flow or indices that depend on it, operations other
    than arithmetic, affine accesses and loops.
    """
    if step != 1:
        return None
    depends = depending_on(variable, nest.body)
    return depends if _all_fit(nest.body.ops, depends) else None


def _all_fit(ops: Iterable[Operation], depends: Dependence) -> bool:
    for op in ops:
        if isinstance(op, affine.ForOp):
            bounds = (*op.lower_bound_operands, *op.upper_bound_operands)
            if any(v in depends for v in bounds) or not _all_fit(op.body.block.ops, depends):
                return False
        elif isinstance(op, affine.LoadOp | affine.StoreOp):
            if not _access_fits(op, depends):
                return False
        elif isinstance(op, affine.YieldOp | arith.ConstantOp):
            continue
        elif isinstance(op, affine.ApplyOp | affine.MinOp | affine.MaxOp):
            if any(v in depends for v in op.operands):
                return False
        elif op.name.partition(".")[0] in ("arith", "math") and not op.regions:
            in_vectors = any(v in depends for v in op.operands)
            if in_vectors and not _takes_vectors(op):
                return False
        else:
            return False
    return True


def _takes_vectors(op: Operation) -> bool:
    """Whether the operation can be on vectors of the types that it has."""
    types = [v.type for v in (*op.operands, *op.results)]
    if not all(isinstance(t, AnyFloat | IntegerType) for t in types):
        return False
    vectors = Block(arg_types=[VectorType(t, [2]) for t in types])
    on_vectors = type(op).create(
        operands=vectors.args[: len(op.operands)],
        result_types=[a.type for a in vectors.args[len(op.operands) :]],
        properties=op.properties.copy(),
    )
    try:
        on_vectors.verify()
    except VerifyException:  # xDSL's comparisons and selections are of scalars only
        return False
    finally:
        on_vectors.erase()
    return True


def _access_fits(op: affine.LoadOp | affine.StoreOp, depends: Dependence) -> bool:
    type = op.memref.type
    assert isinstance(type, MemRefType)
    if not isinstance(type.element_type, AnyFloat | IntegerType):
        return False
    if type.element_type.bitwidth not in (8, 16, 32, 64):
        return False  # in memory each takes whole bytes, in a vector they are packed
    moves = subscript_coefficients(op.indices, op.map.data, depends)
    if all(m == 0 for m in moves):
        return isinstance(op, affine.LoadOp)
    return all(m == 0 for m in moves[:-1]) and moves[-1] == 1 and _unit_stride(type)


def _unit_stride(type: MemRefType) -> bool:
    if isinstance(type.layout, NoneAttr):
        return True
    if not isinstance(type.layout, StridedLayoutAttr):
        return False
    stride = type.layout.strides.data[-1]
    return not isinstance(stride, NoneAttr) and stride.data == 1


def widest_bits(nest: Nest, depends: Dependence) -> int:
    """The width in bits of the widest number that becomes a vector."""
    bits = [8]
    for op in nest.body.walk():
        if any(v in depends for v in (*op.operands, *op.results)):
            types = [v.type for v in (*op.operands, *op.results)]
            bits += [t.bitwidth for t in types if isinstance(t, FixedBitwidthType)]
    return max(bits)


@dataclass
class Expansion:
    """
    One expansion. `lanes` is the length of a vector (None: no vectors, one scalar copy along that
    loop). `vector_start` and `row_start` hold the loop variables of the first copy.
    """

    on_vector: Dependence
    on_row: Dependence | None
    lanes: int | None
    vectors: int
    rows: int
    row_step: int
    vector_start: SSAValue
    row_start: SSAValue | None
    copies: dict[tuple[SSAValue, int, int], SSAValue] = field(default_factory=dict)

    def expand(self, ops: Sequence[Operation], out: Emitter) -> None:
        """Append the copies of `ops`."""
        for op in ops:
            if isinstance(op, affine.ForOp):
                self._loop(op, out)
            else:
                for r, u in self._places((*op.operands, *op.results)):
                    self._copy(op, r, u, out)

    def _places(self, values: Iterable[SSAValue]) -> list[tuple[int, int]]:
        """The copies of something that depends on `values`: (row, vector)."""
        values = list(values)
        rows = self.rows if self.on_row and any(v in self.on_row for v in values) else 1
        vectors = self.vectors if any(v in self.on_vector for v in values) else 1
        return [(r, u) for r in range(rows) for u in range(vectors)]

    def _key(self, value: SSAValue, r: int, u: int) -> tuple[SSAValue, int, int]:
        return (
            value,
            r if self.on_row and value in self.on_row else 0,
            u if value in self.on_vector else 0,
        )

    def _get(self, value: SSAValue, r: int, u: int, out: Emitter) -> SSAValue:
        """The copy of `value` for a row and a vector."""
        key = self._key(value, r, u)
        if key in self.copies:
            return self.copies[key]
        if self.on_row is not None and value is self.on_row.variable:
            assert self.row_start is not None
            return out.apply(AffineExpr.dimension(0) + r * self.row_step, [self.row_start], 1)
        if value is self.on_vector.variable:
            return self.vector_start  # only reached without vectors
        return value

    def _get_vector(self, value: SSAValue, r: int, u: int, out: Emitter) -> SSAValue:
        """As `_get`, spread over the lanes where it is one number."""
        found = self._get(value, r, u, out)
        if self.lanes is None or isinstance(found.type, VectorType):
            return found
        return out.add(vector.BroadcastOp(found, self._vector_type(found.type))).results[0]

    def _vector_type(self, type: Attribute) -> VectorType:
        assert self.lanes is not None
        return VectorType(type, [self.lanes])

    def _set(self, old: SSAValue, r: int, u: int, new: SSAValue) -> None:
        self.copies[self._key(old, r, u)] = new

    def _copy(self, op: Operation, r: int, u: int, out: Emitter) -> None:
        in_vectors = self.lanes is not None and any(
            v in self.on_vector for v in (*op.operands, *op.results)
        )
        if isinstance(op, affine.LoadOp | affine.StoreOp):
            self._access(op, r, u, in_vectors, out)
            return
        get = self._get_vector if in_vectors else self._get
        types = [self._vector_type(t) if in_vectors else t for t in op.result_types]
        new = type(op).create(
            operands=[get(v, r, u, out) for v in op.operands],
            result_types=types,
            properties=op.properties.copy(),
            attributes=op.attributes.copy(),
        )
        location = op.location
        out.add(new)
        new.location = location
        for old, value in zip(op.results, new.results, strict=True):
            value.name_hint = old.name_hint
            self._set(old, r, u, value)

    def _access(
        self,
        op: affine.LoadOp | affine.StoreOp,
        r: int,
        u: int,
        in_vectors: bool,
        out: Emitter,
    ) -> None:
        operands, map = self._subscripts(op, r, u, out)
        memref = self._get(op.memref, r, u, out)
        if isinstance(op, affine.StoreOp):
            get = self._get_vector if in_vectors else self._get
            value = get(op.value, r, u, out)
            kind = affine.VectorStoreOp if in_vectors else affine.StoreOp
            new: Operation = kind(value, memref, operands, map)
        elif in_vectors:
            assert isinstance(op.memref.type, MemRefType)
            type = self._vector_type(op.memref.type.element_type)
            new = affine.VectorLoadOp(memref, operands, type, map)
        else:
            new = affine.LoadOp(memref, operands, map)
        new.attributes |= op.attributes
        out.add(new)
        new.location = op.location
        if isinstance(op, affine.LoadOp):
            self._set(op.result, r, u, new.results[0])

    def _subscripts(
        self, op: affine.LoadOp | affine.StoreOp, r: int, u: int, out: Emitter
    ) -> tuple[list[SSAValue], AffineMapAttr]:
        """The operands and the map of an access, moved to a row and a vector."""
        map = op.map.data
        operands: list[SSAValue] = []
        moved: list[AffineExpr] = []
        for i, value in enumerate(op.indices):
            is_dim = i < map.num_dims
            expr = AffineExpr.dimension(i) if is_dim else AffineExpr.symbol(i - map.num_dims)
            if value is self.on_vector.variable:
                operands.append(self.vector_start)
                expr = expr + u * self.lanes if self.lanes is not None and u else expr
            elif self.on_row is not None and value is self.on_row.variable:
                assert self.row_start is not None
                operands.append(self.row_start)
                expr = expr + r * self.row_step if r else expr
            else:
                operands.append(self._get(value, r, u, out))
            moved.append(expr)
        results = tuple(
            e.replace_dims_and_symbols(moved[: map.num_dims], moved[map.num_dims :])
            for e in map.results
        )
        return operands, AffineMapAttr(AffineMap(map.num_dims, map.num_symbols, results))

    def _loop(self, op: affine.ForOp, out: Emitter) -> None:
        """One loop for all copies, with an iteration value for each copy of each it has."""
        old_body = op.body.block
        inits: list[SSAValue] = []
        slots: list[tuple[int, int, int]] = []
        for i, (init, argument) in enumerate(zip(op.inits, old_body.args[1:], strict=True)):
            for r, u in self._places((argument,)):
                get = self._get_vector if argument in self.on_vector else self._get
                inits.append(get(init, r, u, out))
                slots.append((i, r, u))
        variable = old_body.args[0]
        body = Block(arg_types=[variable.type, *(v.type for v in inits)])
        body.args[0].name_hint = variable.name_hint
        self.copies[self._key(variable, 0, 0)] = body.args[0]
        for (i, r, u), argument in zip(slots, body.args[1:], strict=True):
            argument.name_hint = old_body.args[1 + i].name_hint
            self._set(old_body.args[1 + i], r, u, argument)
        inside = Emitter(body, None, op)
        *ops, end = old_body.ops
        self.expand(ops, inside)
        yielded = [
            (self._get_vector if old_body.args[1 + i] in self.on_vector else self._get)(
                end.operands[i], r, u, inside
            )
            for i, r, u in slots
        ]
        body.add_op(affine.YieldOp.get(*yielded))
        lower = op.lower_bound_map.data, [self._get(v, 0, 0, out) for v in op.lower_bound_operands]
        upper = op.upper_bound_map.data, [self._get(v, 0, 0, out) for v in op.upper_bound_operands]
        new = affine.ForOp(lower, upper, Region(body), op.step.value.data, inits)
        out.add(new)
        new.location = op.location
        for (i, r, u), result in zip(slots, new.res, strict=True):
            self._set(op.res[i], r, u, result)
