"""Errors of helpers that know no operation, put at the one that is being emitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.ir import Operation

from opar.errors import UnsupportedError, at


class AtOperation(UnsupportedError):
    """An `UnsupportedError` whose message already says where."""


@contextmanager
def located(op: Operation) -> Iterator[None]:
    """Give an `UnsupportedError` raised inside the location and name of `op`, once."""
    try:
        yield
    except AtOperation:
        raise
    except UnsupportedError as error:
        raise AtOperation(at(op, str(error))) from None
