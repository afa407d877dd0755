"""
`python -m tests.oracle --programs 100000`: many random programs, on all cores. Their tokens are
checked; with `--run cpu` or `--run cuda` the programs also run there.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from tests.oracle.pool import all_of, tasks

MOST_SHOWN = 5


def main() -> int:
    """Returns how the process ends: 1 where a program failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 40), help="the first")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument(
        "--run", choices=("cpu", "cuda"), default="", help="run the programs there, too"
    )
    options = parser.parse_args()
    console = Console()
    console.print(f"seeds from {options.seed}")
    failures = 0
    counts: Counter[str] = Counter()
    start = time.perf_counter()
    progress = Progress(
        *Progress.get_default_columns()[:2],
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    with progress:
        bar = progress.add_task("programs", total=options.programs)
        work = tasks(options.seed, options.programs, options.run)
        for done, found, became in all_of(work, options.processes, tokens=True):
            progress.advance(bar, done)
            for text in found[: max(0, MOST_SHOWN - failures)]:
                console.print(text, markup=False, highlight=False, soft_wrap=True)
            failures += len(found)
            counts += became
    seconds = time.perf_counter() - start
    for what, count in counts.most_common():
        console.print(f"{count:8} {what}")
    console.print(f"{options.programs} programs, {failures} failed, {seconds:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
