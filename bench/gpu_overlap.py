"""
When the kernels of the seed program ran on the GPU: start and end of each, from CUPTI.

`python -m bench.gpu_overlap [N ...]` prints for each size the kernels of the third call in order
of their start, and which pairs overlapped. Needs a GPU and cupti-python.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import opar
from tests.programs import seed

Record = tuple[str, int, int, int]
"""Name, start and end in ns, stream."""


def record_kernels(run: Any) -> list[Record]:
    """
    Call `run` several times and return the kernels of the last call. CUPTI delays the first
    launches: it hands out its buffers then.
    """
    from cupti import cupti  # pyright: ignore[reportMissingImports]

    records: list[Record] = []

    def requested() -> tuple[int, int]:
        return 8 << 20, 0

    def completed(activities: list[Any]) -> None:
        for activity in activities:
            if activity.kind == cupti.ActivityKind.CONCURRENT_KERNEL:
                records.append((activity.name, activity.start, activity.end, activity.stream_id))

    cupti.activity_register_callbacks(requested, completed)
    cupti.activity_enable(cupti.ActivityKind.CONCURRENT_KERNEL)
    for _ in range(5):
        run()
    cupti.activity_flush_all(1)
    cupti.activity_disable(cupti.ActivityKind.CONCURRENT_KERNEL)
    return sorted(records, key=lambda r: r[1])[-len(records) // 5 :]


def overlap(a: Record, b: Record) -> int:
    """Nanoseconds that two kernels ran at the same time."""
    return max(0, min(a[2], b[2]) - max(a[1], b[1]))


def measure(size: int) -> None:
    """Print the kernels of one size."""
    program = opar.compile(seed(size, size, size), device="cuda")
    generator = np.random.default_rng()
    a, b = (generator.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    for _ in range(2):
        program(a, b)
    records = record_kernels(lambda: program(a, b))
    print(f"N = {size}: {program.schedule.streams} streams on {program.device.name}")
    first = records[0][1]
    for name, start, end, stream in records:
        times = f"{(start - first) / 1e3:9.1f} .. {(end - first) / 1e3:9.1f} us"
        print(f"  {name:<24} stream {stream:<4} {times}")
    shared, shorter = overlap(*records[:2]), min(r[2] - r[1] for r in records[:2])
    print(f"  the two products overlap for {shared / 1e3:.1f} us, {shared / shorter:.0%}")


def main(sizes: Sequence[str]) -> None:
    """Measure each of `sizes`."""
    for size in sizes:
        measure(int(size))


if __name__ == "__main__":
    main(sys.argv[1:] or ("128", "512", "1024"))
