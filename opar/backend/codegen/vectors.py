"""
Vectors of any rank as one LLVM vector, elements in row-major order: building and taking apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from llvmlite import ir

from opar.backend.codegen.types import I32


def positions(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices into `shape`, in row-major order; one empty index for rank 0."""
    return product(*(range(size) for size in shape))


def linear(position: Sequence[int], shape: Sequence[int]) -> int:
    """The place of an index in row-major order."""
    place = 0
    for index, size in zip(position, shape, strict=True):
        place = place * size + index
    return place


def lane(position: int) -> ir.Constant:
    """The constant that names a lane."""
    return ir.Constant(I32, position)


def shuffle(b: ir.IRBuilder, vector: ir.Value, lanes: Sequence[int]) -> ir.Value:
    """The vector of these lanes of `vector`."""
    if list(lanes) == list(range(vector.type.count)):
        return vector
    undefined = ir.Constant(vector.type, ir.Undefined)
    mask = ir.Constant(ir.VectorType(I32, len(lanes)), [lane(i) for i in lanes])
    return b.shuffle_vector(vector, undefined, mask)


def splat(b: ir.IRBuilder, scalar: ir.Value, count: int) -> ir.Value:
    """A vector of `count` times `scalar`."""
    type = ir.VectorType(scalar.type, count)
    first = b.insert_element(ir.Constant(type, ir.Undefined), scalar, lane(0))
    return shuffle(b, first, [0] * count) if count > 1 else first


def from_elements(b: ir.IRBuilder, elements: Sequence[ir.Value]) -> ir.Value:
    """A vector of scalars."""
    result: ir.Value = ir.Constant(ir.VectorType(elements[0].type, len(elements)), ir.Undefined)
    for position, element in enumerate(elements):
        result = b.insert_element(result, element, lane(position))
    return result


def concatenate(b: ir.IRBuilder, rows: Sequence[ir.Value]) -> ir.Value:
    """Vectors of one length, one after the other."""
    if len(rows) == 1:
        return rows[0]
    width, count = rows[0].type.count, len(rows) * rows[0].type.count
    result: ir.Value = ir.Constant(ir.VectorType(rows[0].type.element, count), ir.Undefined)
    for number, row in enumerate(rows):
        # Bring the row to the full length, then take its lanes in their place.
        wide = shuffle(b, row, [i % width for i in range(count)])
        first = number * width
        chosen = [count + i if first <= i < first + width else i for i in range(count)]
        mask = ir.Constant(ir.VectorType(I32, count), [lane(i) for i in chosen])
        result = b.shuffle_vector(result, wide, mask)
    return result


def broadcast_lanes(source: Sequence[int], target: Sequence[int]) -> list[int]:
    """
    For each element of shape `target`, the element of shape `source` that it repeats: leading
    dimensions are added, dimensions of size 1 are stretched.
    """
    missing = len(target) - len(source)
    return [
        linear(
            [0 if size == 1 else i for i, size in zip(index[missing:], source, strict=True)], source
        )
        for index in positions(target)
    ]


def count_of(shape: Sequence[int]) -> int:
    """How many elements a shape has."""
    return math.prod(shape)
