"""`python -m tests.oracle --programs 100000`: the long run of `campaign`, on all cores."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from tests.oracle.campaign import BATCH, KINDS, described

MOST_SHOWN = 5


def _tasks(first: int, programs: int) -> Iterator[tuple[str, range]]:
    kinds = list(KINDS)
    for number, start in enumerate(range(0, programs, BATCH)):
        stop = min(start + BATCH, programs)
        yield kinds[number % len(kinds)], range(first + start, first + stop)


def main() -> int:
    """Returns how the process ends: 1 where a program failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 40), help="the first")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    console = Console()
    console.print(f"seeds from {options.seed}")
    failures = 0
    start = time.perf_counter()
    progress = Progress(
        *Progress.get_default_columns()[:2],
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    # New processes: a fork would share what isl holds.
    with progress, get_context("spawn").Pool(options.processes, maxtasksperchild=50) as pool:
        bar = progress.add_task("programs", total=options.programs)
        tasks = _tasks(options.seed, options.programs)
        for done, found in pool.imap_unordered(described, tasks):
            progress.advance(bar, done)
            for text in found[: max(0, MOST_SHOWN - failures)]:
                console.print(text, markup=False, highlight=False, soft_wrap=True)
            failures += len(found)
    seconds = time.perf_counter() - start
    console.print(f"{options.programs} programs, {failures} failed, {seconds:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
