"""
Errors that a user of opar can cause.

Each is a child of xDSL's `DiagnosticException`, so `opar-opt --verify-diagnostics` can check
its text, and each says where (`file:line:col`), which operation, what is wrong and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import DiagnosticException

if TYPE_CHECKING:
    from xdsl.dialects.builtin import LocationAttr
    from xdsl.ir import Operation


class OparError(DiagnosticException):
    """The base of every error that opar raises for what its user did."""


class SourceError(OparError):
    """The program text could not be parsed or does not verify."""


class UnsupportedError(OparError):
    """The program is valid MLIR, but holds something that opar does not compile."""


class TargetLimitError(OparError):
    """A kernel or a launch asks for more than the target has (threads, workgroup memory, ...)."""


class ArgumentError(OparError, ValueError):
    """An argument of a call does not fit the program: count, dtype, rank, shape or layout."""


class EntryError(OparError, LookupError):
    """The entry function does not exist, or cannot be an entry."""


class ScheduleError(OparError):
    """Two steps of a schedule conflict and nothing orders them: a race."""


class DeviceError(OparError, RuntimeError):
    """The requested device, its driver or a package that it needs is not there, or failed."""


class OptionError(OparError, ValueError):
    """An option has a value that is not one of those allowed."""


def format_location(location: LocationAttr) -> str:
    """`file:line:col` of a location, or the empty string where it is unknown."""
    from xdsl.dialects.builtin import FileLineColLoc  # costs 0.1 s, needed for errors only

    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}:{location.column.data}"
    return ""


def at(op: Operation, message: str) -> str:
    """`message` behind the location and the name of `op`, the form of all opar diagnostics."""
    where = format_location(op.location)
    prefix = f"{where}: " if where else ""
    return f"{prefix}'{op.name}': {message}"
