"""What the command lines make of errors: one message on standard error and exit 1."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException

INTERRUPTED = 130
"""The exit status of a program ended by Ctrl-C, as in a shell."""


def guard(tool: Callable[[], object]) -> None:
    """
    Run `tool` and write what it printed. Exit 1 with one message for what the user did wrong or
    the system refused; without one where the reader of the output has left; 130 on Ctrl-C.
    """
    # A closed stream is None: what reads or prints then finds nothing there.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 (open until the end)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    try:
        tool()
        sys.stdout.flush()
    except (DiagnosticException, ArgSpecParseError) as error:
        _fail(str(error))
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename or 'standard output'}: {error.strerror}")
    except RecursionError:
        _fail("the program nests too deeply")
    except MemoryError as error:
        _fail(f"out of memory: {error}" if str(error) else "out of memory")
    except KeyboardInterrupt:
        _drop_output()
        sys.exit(INTERRUPTED)


def _fail(message: str) -> None:
    print(f"error: {message}", file=sys.stderr)
    _drop_output()
    sys.exit(1)


def _drop_output() -> None:
    """Let the flush at exit go nowhere, where standard output no longer takes anything."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
