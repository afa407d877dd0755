"""Arithmetic on expressions that are text of isl; on numbers it is done at once."""

from __future__ import annotations


def wrapped(value: int, width: int) -> int:
    """The signed number that the lowest bits of `value` are."""
    limit = 1 << (width - 1)
    return (value + limit) % (2 * limit) - limit


def number(text: str) -> int | None:
    """The number that an expression is, if it is one."""
    try:
        return int(text)
    except ValueError:
        return None


def add(a: str, b: str) -> str:
    """a + b."""
    x, y = number(a), number(b)
    if x is not None and y is not None:
        return str(x + y)
    if x == 0:
        return b
    return a if y == 0 else f"({a} + {b})"


def mul(a: str, b: str) -> str:
    """a * b, of which one is a number."""
    x, y = number(a), number(b)
    if x is not None and y is not None:
        return str(x * y)
    if x is None:
        a, b = b, a
    return b if a == "1" else f"({a} * {b})"


def floor(a: str, divisor: int) -> str:
    """a / divisor, rounded down."""
    x = number(a)
    return str(x // divisor) if x is not None else f"floor(({a}) / {divisor})"


def ceil(a: str, divisor: int) -> str:
    """a / divisor, rounded up."""
    x = number(a)
    return str(-(-x // divisor)) if x is not None else f"floor((({a}) + {divisor - 1}) / {divisor})"


def mod(a: str, divisor: int) -> str:
    """The remainder of `floor`."""
    x = number(a)
    return str(x % divisor) if x is not None else f"(({a}) mod {divisor})"
