"""Constraints on elements, as text, made to sets and maps of isl."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import islpy as isl

from opar.analysis.symbolic import Expressions

_NAME = re.compile(r"\b[a-z]\w*")
_WORDS = frozenset(("floor", "mod", "and", "or", "not"))

KERNEL_SYMBOL = re.compile(r"s\w*")
HOST_SYMBOL = re.compile(r"[smu]\w*")
"""Names of numbers that do not change while the body (the host function) runs."""


def integer_set(
    elements: Sequence[str], rank: int, expressions: Expressions, is_symbol: re.Pattern[str]
) -> isl.Set:
    """
    The elements e0, e1, ... that satisfy constraints. Names that match `is_symbol` are parameters
    of the set; the others take any value that their definitions allow.
    """
    dims = [f"e{d}" for d in range(rank)]
    symbols, condition = _condition(elements, dims, expressions, is_symbol)
    return isl.Set(f"[{', '.join(symbols)}] -> {{ [{', '.join(dims)}] : {condition} }}")


def symbols_of(set: isl.Set) -> list[str]:
    """The names of the parameters of a set, in order."""
    count = set.dim(isl.dim_type.param)
    return [set.get_dim_name(isl.dim_type.param, i) or "" for i in range(count)]


def integer_map(
    sources: Sequence[str], results: Sequence[str], expressions: Expressions
) -> isl.Map:
    """The map from names `sources` to expressions of them and of symbols of the host."""
    targets = [f"e{d}" for d in range(len(results))]
    equations = [f"{t} = {r}" for t, r in zip(targets, results, strict=True)]
    dims = [*sources, *targets]
    symbols, condition = _condition(equations, dims, expressions, HOST_SYMBOL)
    space = f"[{', '.join(sources)}] -> [{', '.join(targets)}]"
    return isl.Map(f"[{', '.join(symbols)}] -> {{ {space} : {condition} }}")


def _condition(
    elements: Sequence[str],
    dims: Sequence[str],
    expressions: Expressions,
    is_symbol: re.Pattern[str],
) -> tuple[list[str], str]:
    """The symbols of constraints, and the constraints with the definitions of all they use."""
    constraints = list(elements)
    used: set[str] = set()
    work = list(_names(constraints))
    while work:  # only what is used: another loop's bounds may hold for no value at all
        name = work.pop()
        if name not in used and name not in dims:
            used.add(name)
            definition = expressions.definitions.get(name)
            if definition is not None:
                constraints.append(definition)
                work += _names([definition])
    symbols = sorted(n for n in used if is_symbol.fullmatch(n))
    variables = sorted(used - set(symbols))
    condition = " and ".join(constraints) or "1 = 1"
    if variables:
        condition = f"exists ({', '.join(variables)} : {condition})"
    return symbols, condition


def _names(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for name in _NAME.findall(text):
            if name not in _WORDS:
                yield name
