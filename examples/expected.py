"""
What each example computes, with numpy: for `NAME.mlir` a function `NAME` of the arguments that
gives the results, and after them the new contents of the arguments that are written.

Computed in the dtype of the arguments: pass float64 arrays for a reference.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def two_products_and_sum(a: Array, b: Array, c: Array, d: Array) -> list[Array]:
    """A*B + C*D."""
    return [a @ b + c @ d]


def fan_of_eight(a: Array, *bs: Array) -> list[Array]:
    """The sum of A*B0 .. A*B7."""
    return [sum((a @ b for b in bs), np.zeros_like(a))]


def diamond(x: Array, y: Array) -> list[Array]:
    """t = x*x; (t + 1) - t*y."""
    t = x @ x
    return [(t + 1) - t @ y]


def chain(x: Array, y: Array) -> list[Array]:
    """(2*(x + 1))**2, written to y."""
    return [(2 * (x + 1)) ** 2]


def jacobi(u: Array) -> list[Array]:
    """Eight times the mean of three neighbours, the ends fixed."""
    u = u.copy()
    for _ in range(8):
        u[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3
    return [u]
