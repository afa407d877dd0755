"""The Python side of `affine`, `memref` and `scf`: constructors, loop bounds, effects, scopes."""

from __future__ import annotations

import pytest
from xdsl.dialects import func
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import (
    AffineMapAttr,
    IndexType,
    MemRefType,
    ModuleOp,
    VectorType,
    f32,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.traits import (
    EffectInstance,
    MemoryEffectKind,
    get_effects,
    is_side_effect_free,
)
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from opar.dialects import affine, memref, scf
from opar.dialects.memref.layouts import Strided, strided
from opar.dialects.parsing import parse_module, verify

INDEX = IndexType()
BUFFER = MemRefType(f32, [4])
MAP = AffineMapAttr(AffineMap.identity(1))
READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


def values(*types: object) -> list[SSAValue]:
    return list(test_dialect.TestOp(result_types=list(types)).results)  # pyright: ignore[reportArgumentType]


def body(*types: object) -> Region:
    return Region(Block(arg_types=list(types)))  # pyright: ignore[reportArgumentType]


def operations(text: str) -> dict[str, Operation]:
    """The last operation of each name in `text`, the body of a function."""
    module = parse_module(
        "func.func @f(%n: index, %m: memref<8x8xf32>, %f: f32) {" + text + "\nreturn }"
    )
    verify(module)
    return {op.name: op for op in module.walk()}


def parallel(text: str) -> affine.ParallelOp:
    op = operations(text)["affine.parallel"]
    assert isinstance(op, affine.ParallelOp)
    return op


@pytest.mark.parametrize(
    ("loop", "ranges"),
    [
        ("() = () to ()", ()),
        ("(%i) = (0) to (10)", ((0, 10, 1),)),
        ("(%i, %j) = (2, -1) to (10, 0) step (3, 4)", ((2, 10, 3), (-1, 0, 4))),
        ("(%i) = (max(0, 5, 3)) to (min(10, 8))", ((5, 8, 1),)),
        ("(%i) = (0) to (0)", ((0, 0, 1),)),
        ("(%i) = (0) to (%n)", None),
        ("(%i, %j) = (0, 0) to (4, min(8, %n))", None),
    ],
)
def test_constant_ranges(loop: str, ranges: object) -> None:
    assert parallel(f"affine.parallel {loop} {{ }}").constant_ranges() == ranges


def test_bounds_of_each_dimension() -> None:
    loop = parallel(
        "affine.parallel (%i, %j) = (max(0, %n), 1) to (symbol(%n), min(%n + 2, 9)) { }"
    )
    d0, s0 = AffineExpr.dimension(0), AffineExpr.symbol(0)
    assert loop.num_dims == len(loop.induction_variables) == 2
    assert loop.lower_bound(0) == (AffineConstantExpr(0), d0)
    assert loop.lower_bound(1) == (AffineConstantExpr(1),)
    assert loop.upper_bound(0) == (s0,)
    assert loop.upper_bound(1) == (d0 + 2, AffineConstantExpr(9))
    assert [v.name_hint for v in loop.lower_operands] == ["n"]
    assert [v.name_hint for v in loop.upper_operands] == ["n", "n"]
    assert loop.step_values == (1, 1)


def test_constructors_build_what_verifies() -> None:
    n, m, f, v = (block := Block(arg_types=[INDEX, BUFFER, f32, VectorType(f32, [2])])).args
    dim, zero = AffineDimExpr(0), AffineConstantExpr(0)
    block.add_ops(
        [
            affine.ForOp(0, (AffineMap(1, 0, (dim,)), [n]), body(INDEX), 2),
            affine.ParallelOp([[zero]], [[dim, zero]], body(INDEX), [3], upper_space=(1, [n])),
            affine.ApplyOp([n], MAP),
            affine.MinOp([n], MAP),
            affine.MaxOp([n], MAP),
            affine.LoadOp(m, [n]),
            affine.StoreOp(f, m, [n]),
            affine.VectorLoadOp(m, [n], VectorType(f32, [2])),
            affine.VectorStoreOp(v, m, [n]),
            affine.PrefetchOp(m, [n]),
            affine.DelinearizeIndexOp(n, [n, 4]),
            affine.LinearizeIndexOp([n, n], [4, n], disjoint=True),
            memref.AllocOp([n], [], MemRefType(f32, [-(2**63)]), 16),
            memref.LoadOp(m, [n]),
            memref.StoreOp(f, m, [n]),
            memref.CopyOp(m, m),
            memref.AtomicRMWOp(affine.ReductionKind.addf, f, m, [n]),
            memref.SubviewOp(
                m, [1], [2], [1], parse_type("memref<2xf32, strided<[1], offset: 1>>")
            ),
            memref.CollapseShapeOp(m, [[0]], BUFFER),
            memref.ExpandShapeOp(m, [[0, 1]], [2, 2], MemRefType(f32, [2, 2])),
            memref.DeallocOp(m),
            scf.ForOp(n, n, n, [], body(INDEX)),
            scf.ParallelOp([n], [n], [n], body(INDEX)),
            scf.ForallOp([0], [n], [1], body(INDEX)),
            func.ReturnOp(),
        ]
    )
    function = func.FuncOp("f", ([a.type for a in block.args], []), Region(block))
    verify(ModuleOp([function]))


def parse_type(text: str) -> MemRefType:
    function = next(iter(parse_module(f"func.func private @f({text})").ops))
    assert isinstance(function, func.FuncOp)
    type = function.function_type.inputs.data[0]
    assert isinstance(type, MemRefType)
    return type


def test_effects_name_the_memref() -> None:
    a, b, n, f = values(BUFFER, BUFFER, INDEX, f32)
    vector = values(VectorType(f32, [2]))[0]
    update = {(READ, a), (WRITE, a)}
    expected: list[tuple[Operation, set[tuple[MemoryEffectKind, SSAValue]]]] = [
        (affine.LoadOp(a, [n]), {(READ, a)}),
        (affine.StoreOp(f, a, [n]), {(WRITE, a)}),
        (affine.VectorLoadOp(a, [n], VectorType(f32, [2])), {(READ, a)}),
        (affine.VectorStoreOp(vector, a, [n]), {(WRITE, a)}),
        (memref.LoadOp(a, [n]), {(READ, a)}),
        (memref.StoreOp(f, a, [n]), {(WRITE, a)}),
        (memref.CopyOp(a, b), {(READ, a), (WRITE, b)}),
        (memref.AtomicRMWOp(affine.ReductionKind.addf, f, a, [n]), update),
        (memref.GenericAtomicRMWOp(a, [n], body(f32)), update),
        (memref.DeallocOp(a), {(MemoryEffectKind.FREE, a)}),
    ]
    for op, effects in expected:
        assert get_effects(op) == {EffectInstance(kind, value) for kind, value in effects}, op.name
    alloc = memref.AllocOp([], [], BUFFER)
    assert get_effects(alloc) == {EffectInstance(MemoryEffectKind.ALLOC, alloc.memref)}


def test_loops_have_the_effects_of_their_bodies() -> None:
    ops = operations(
        """
        affine.parallel (%i, %j) = (0, 0) to (8, 8) {
          affine.store %f, %m[%i, %j] : memref<8x8xf32>
        }
        affine.for %i = 0 to 8 { }
        scf.execute_region { memref.store %f, %m[%n, %n] : memref<8x8xf32> scf.yield }
        """
    )
    stored = ops["affine.store"].operands[1]
    for name in ("affine.parallel", "scf.execute_region"):
        assert EffectInstance(WRITE, stored) in (get_effects(ops[name]) or ())
    assert is_side_effect_free(ops["affine.for"])


def test_prefetch_is_kept_but_touches_no_buffer() -> None:
    (a, n) = values(BUFFER, INDEX)
    for op in (affine.PrefetchOp(a, [n]), memref.PrefetchOp(a, [n])):
        assert not is_trivially_dead(op)
        assert all(effect.value is None for effect in get_effects(op) or ())


def test_subscripts_take_several_results_of_one_operation() -> None:
    """mlir-opt prints these but cannot read them back."""
    ops = operations(
        """
        affine.for %i = 0 to 8 {
          %d:2 = affine.delinearize_index %i into (4, 2) : index, index
          %0 = affine.load %m[%d#1, %d#0 + %d#1] : memref<8x8xf32>
        }
        """
    )
    load = ops["affine.load"]
    assert isinstance(load, affine.LoadOp)
    assert [v.index for v in load.indices] == [1, 0]  # pyright: ignore[reportAttributeAccessIssue]


def test_scopes() -> None:
    ops = operations(
        """
        affine.for %i = 0 to 8 {
          %x = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
          %y = arith.addi %i, %n : index
          %z = arith.addi %n, %n : index
        }
        """
    )
    loop = ops["affine.for"]
    assert isinstance(loop, affine.ForOp)
    scope = affine.affine_scope(ops["affine.apply"])
    variable, apply = loop.induction_variable, ops["affine.apply"].results[0]
    first, second = (op.results[0] for op in loop.body.block.ops if op.name == "arith.addi")
    assert affine.is_induction_variable(variable)
    for value, dim, symbol in (
        (variable, True, False),
        (apply, True, False),
        (first, False, False),
        (second, True, True),
    ):
        assert affine.is_valid_dim(value, scope) is dim
        assert affine.is_valid_symbol(value, scope) is symbol


@pytest.mark.parametrize(
    ("type", "layout"),
    [
        ("memref<f32>", Strided((), (), 0)),
        ("memref<4x8xf32>", Strided((4, 8), (8, 1), 0)),
        ("memref<?x8xf32>", Strided((None, 8), (8, 1), 0)),
        ("memref<4x?x2xf32>", Strided((4, None, 2), (None, 2, 1), 0)),
        ("memref<4x4xf32, strided<[?, 2], offset: ?>>", Strided((4, 4), (None, 2), None)),
        ("memref<4xf32, affine_map<(d0) -> (d0 + 1)>>", None),
    ],
)
def test_strided(type: str, layout: Strided | None) -> None:
    assert strided(parse_type(type)) == layout
