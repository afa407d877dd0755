"""
The cost of `gpu-async-dataflow` for thousands of launches on tiles of one buffer.
`python -m bench.tokens [N ...]`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence

import opar
from bench.timing import seconds
from opar.dialects.parsing import new_context
from opar.transforms.gpu_async_dataflow import GpuAsyncDataflowPass

TYPE = "memref<1024x1024xf32>"
KERNEL = f"""
gpu.module @k {{
  gpu.func @tile(%a: {TYPE}, %row: index, %column: index) kernel
      attributes {{known_block_size = array<i32: 8, 8, 1>}} {{
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %i = arith.addi %x, %row : index
    %j = arith.addi %y, %column : index
    %v = memref.load %a[%i, %j] : {TYPE}
    memref.store %v, %a[%i, %j] : {TYPE}
    gpu.return
  }}
}}"""

SHAPES: dict[str, Callable[[int], tuple[int, int]]] = {
    "chain": lambda i: (0, 0),
    "grid": lambda i: (i // 128 % 128, i % 128),
    "random": lambda i: (random.randrange(128), random.randrange(128)),
}


def program(count: int, tile: Callable[[int], tuple[int, int]]) -> str:
    """`count` launches, launch i on tile `tile(i)` of 128 x 128."""
    lines = ["module attributes {gpu.container_module} {", KERNEL, "func.func @f() {"]
    lines += [f"%a = memref.alloc() : {TYPE}", "%one = arith.constant 1 : index"]
    lines += [f"%c{i} = arith.constant {8 * i} : index" for i in range(128)]
    lines.append("%eight = arith.constant 8 : index")
    for i in range(count):
        row, column = tile(i)
        lines.append(
            "gpu.launch_func @k::@tile blocks in (%one, %one, %one) threads in "
            f"(%eight, %eight, %one) args(%a : {TYPE}, %c{row} : index, %c{column} : index)"
        )
    return "\n".join([*lines, "return", "}", "}"])


def main(counts: Sequence[int] = (1000, 4000)) -> None:
    """Print the seconds of the pass for each shape and number of launches."""
    for name, tile in SHAPES.items():
        for count in counts:
            module = opar.parse_module(program(count, tile))
            ctx = new_context()
            time = seconds(lambda m=module, c=ctx: GpuAsyncDataflowPass().apply(c, m))
            print(f"tokens of {count} launches, {name}: {time:.2f} s")


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or (1000, 4000))
