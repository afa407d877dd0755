"""
Streams against one stream: W independent N x N products and their pairwise sums, from arrays on the
GPU, host time of a whole call. `python -m bench.gpu_streams`. The schedule with all operations on
stream 0 stands for what program order gives.
"""

from __future__ import annotations

import numpy as np

import opar
from bench.timing import medians
from opar.transforms.gpu_assign_streams import GpuAssignStreamsPass
from opar.transforms.opar_pipeline import OparPipelinePass
from tests.programs import product

CASES = ((128, 2), (128, 8), (512, 2), (512, 8), (1024, 2), (1024, 4))


def products_and_sums(n: int, width: int) -> str:
    """`width` products of the arguments, then a tree of pairwise sums into the last argument."""
    type = f"memref<{n}x{n}xf32>"
    lines = [f"func.func @f(%a: {type}, %b: {type}, %out: {type}) {{"]
    lines.append("  %zero = arith.constant 0.0 : f32")
    level = [f"%p{i}" for i in range(width)]
    lines += [f"  {name} = memref.alloc() : {type}" for name in level]
    lines += [product("%a", "%b", name, n, n, n) for name in level]
    count = 0
    while len(level) > 1:
        left, right = level.pop(0), level.pop(0)
        target = "%out" if not level else f"%s{(count := count + 1)}"
        if level:
            lines.append(f"  {target} = memref.alloc() : {type}")
        lines.append(f"""  affine.parallel (%i, %j) = (0, 0) to ({n}, {n}) {{
    %x = affine.load {left}[%i, %j] : {type}
    %y = affine.load {right}[%i, %j] : {type}
    %z = arith.addf %x, %y : f32
    affine.store %z, {target}[%i, %j] : {type}
  }}""")
        level.append(target)
    return "\n".join([*lines, "  return", "}"])


def measure(n: int, width: int) -> str:
    """The figures of one case: medians of 51 calls in turn."""
    from tests.test_concurrency import from_gpu, to_gpu

    passes = ",".join(
        str(p.spec())
        for p in OparPipelinePass("cuda", assume_noalias_args=True).passes()
        if not isinstance(p, GpuAssignStreamsPass)
    )
    text = products_and_sums(n, width)
    streams = opar.compile(text, device="cuda")
    single = opar.compile(text, device="cuda", pipeline=passes)
    assert streams.schedule.streams >= width and single.schedule.streams == 1
    generator = np.random.default_rng()
    a, b = (generator.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    arrays = to_gpu(a), to_gpu(b), to_gpu(np.full((n, n), np.nan, np.float32))
    many, one = medians(lambda: streams(*arrays), lambda: single(*arrays), repeat=51)
    reference = width * (a.astype(np.float64) @ b.astype(np.float64))
    error = np.linalg.norm(from_gpu(arrays[2]) - reference) / np.linalg.norm(reference)
    assert error < 1e-5, error
    return f"{width} streams {many * 1e6:.0f} us, one {one * 1e6:.0f} us, ratio {many / one:.2f}"


def main() -> None:
    """Print microseconds a call for each case."""
    for n, width in CASES:
        print(f"N = {n}, W = {width}: {measure(n, width)}")


if __name__ == "__main__":
    main()
