"""Medians of many runs, two things in turn so that a drift of the machine hits both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(run: Callable[[], object]) -> float:
    """The wall time of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(*runs: Callable[[], object], repeat: int) -> list[float]:
    """The median seconds of each of `runs`, called in turn `repeat` times after a warm-up."""
    for run in runs:
        run()
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeat):
        for run, found in zip(runs, times, strict=True):
            found.append(seconds(run))
    return [statistics.median(found) for found in times]
