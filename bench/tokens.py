"""
The cost of `gpu-async-dataflow`, analysis included, by shape and number of launches:
`python -m bench.tokens [--shapes NAME ...] [--repeat R] [N ...]`.
"""

from __future__ import annotations

import argparse
import gc
import math
import time
from collections.abc import Sequence
from pathlib import Path

import opar
from bench.token_shapes import SHAPES
from opar.dialects.parsing import new_context
from opar.transforms.gpu_async_dataflow import GpuAsyncDataflowPass


def measure(text: str, repeat: int) -> tuple[float, float, float]:
    """The least CPU and wall seconds of `repeat` runs, and the most memory a run took, in MiB."""
    cpu: list[float] = []
    wall: list[float] = []
    memory: list[float] = []
    for _ in range(repeat):
        module = opar.parse_module(text)
        ctx = new_context()
        gc.collect()
        before = _reset_peak()
        times = time.process_time(), time.perf_counter()
        GpuAsyncDataflowPass().apply(ctx, module)
        cpu.append(time.process_time() - times[0])
        wall.append(time.perf_counter() - times[1])
        memory.append(_status("VmHWM") - before)
    return min(cpu), min(wall), max(memory)


def _reset_peak() -> float:
    """Let Linux forget the peak of this process's memory; what it has now, in MiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def main(
    counts: Sequence[int] = (1000, 10000), shapes: Sequence[str] = (), repeat: int = 3
) -> None:
    """Print the cost of each shape for each number of launches, and how it grows."""
    for name in shapes or SHAPES:
        found: list[float] = []
        for count in counts:
            cpu, wall, memory = measure(SHAPES[name](count), repeat)
            found.append(cpu)
            times = f"{cpu:.2f} s CPU, {wall:.2f} s wall"
            print(f"tokens of {count} launches, {name}: {times}, {memory:.0f} MiB", flush=True)
        if len(counts) > 1:
            growth = math.log(found[-1] / found[0]) / math.log(counts[-1] / counts[0])
            print(f"tokens, {name}: growth exponent {growth:.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("counts", type=int, nargs="*", default=[1000, 10000])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=[])
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    main(given.counts, given.shapes, given.repeat)
